/*
 * internal.h - what the files of src/instrument share. An access is one load or store at work, with
 * its site; events (event.c) are accesses and what synchronises, in the order of the text.
 */
#ifndef COLLIDER_INST_INTERNAL_H
#define COLLIDER_INST_INTERNAL_H

#include "flow/flow.h"
#include "instrument/callee.h"
#include "instrument/instrument.h"
#include "race/shuffle/blocks.h"
#include "race/rules.h"
#include "race/file/shm.h"
#include "race/site/site.h"
#include "race/site/site_build.h"

#define INST_CLUSTER_SM 90 /* the registers about clusters */

#define INST_MAX_VEC   8
#define INST_MAX_GROUP 8
/* Bytes of values a group keeps in registers per lane: more costs occupancy. */
#define INST_GROUP_BYTES 128

/* One element of an access. */
struct inst_elem {
	struct ptx_opnd op; /* the user's register (loaded or stored) or immediate */
	bool checked;	    /* false: sink, duplicate, or value never used */
	bool speculated;    /* load: nvcc may have invented it */
	bool changed;	    /* .op is a register that is written before the check */
	struct flow_demand_info demand;
	uint32_t was, now; /* registers: value seen, value re-read */
	uint32_t spec;	   /* speculated: predicate "this value changed" until its use */
	uint32_t early;	   /* speculated: predicate "used before the check ran", or PTX_NO_REG */
	/* Speculated and checked by call: in place of spec, a word and its bits. */
	uint32_t mask, mask_bits;
};

struct inst_access {
	struct ptx_stmt *stmt;
	const struct ptx_opnd *where; /* its address operand */
	struct inst_access *next;     /* in its group */
	enum race_access kind;
	enum ptx_space space;
	bool is_copy;		 /* one side of an asynchronous copy */
	bool needs_private_test; /* generic, origin not known */
	bool base_changed;	 /* its base register is written before the check */
	bool guard_changed;	 /* its guard, the same */
	bool rises_with_lane;	 /* store: affine in tid.x with a stride of at least its width */
	uint8_t vec, width;	 /* elements, bytes of one */
	uint8_t step;		 /* from an element's address to the next one's; 0: the width */
	uint8_t bits;		 /* size in which elements are compared: 16, 32, 64, 128 */
	enum ptx_type type;	 /* of the re-read */
	struct inst_elem *elem;	 /* vec of them */
	uint32_t site;
	bool leads;		     /* the first of its group */
	enum race_strength strength; /* of events only; 0: weak */
	enum race_scope scope;
	/* Made when the code is emitted: */
	struct ptx_opnd addr;  /* for the re-read; its base is a copy */
	struct ptx_opnd guard; /* copy of the guard, or SINK */
	struct ptx_opnd low;   /* store with a register base: the low word of it */
};

/* Where the accesses of a group come from. */
enum inst_ahead {
	INST_AHEAD_NOT,	     /* they are the user's */
	INST_AHEAD_ROWS,     /* ours, the same bytes as the warp-wide load after the check */
	INST_AHEAD_TILE,     /* ours, the same words as the warp-wide store after the check */
	INST_AHEAD_COPY,     /* ours, the same as the asynchronous copy after the check */
	INST_AHEAD_STORE,    /* ours, the same as the asynchronous store after the check */
	INST_AHEAD_MATRIX,   /* ours, the bytes of the matrix that is loaded after the check */
	INST_AHEAD_FRAGMENT, /* ours, the same elements as the wmma.store after the check */
	INST_AHEAD_TMEM,   /* ours, a part of the tensor memory that is accessed after the check */
	INST_AHEAD_TENSOR, /* the same for a tensor copy, by call */
	INST_AHEAD_BULK	   /* ours, a window of the bulk copy after the check */
};

struct inst_group {
	struct inst_group *next;
	struct inst_access *first, *last;
	struct ptx_stmt *flush; /* the check goes before this statement; NULL: end of the body */
	uint32_t n, bytes;
	uint32_t depth; /* nesting of { } at the flush */
	bool has_load;
	bool is_pruned; /* checked only where cx->within is false */
	enum inst_ahead ahead;
};

struct inst_plan {
	struct inst_group *first, *last;
	uint32_t ngroups;
	bool has_pruned;
};

/* A literal that depends on the site table's hash and is filled in once that is known. */
enum inst_late_kind { INST_LATE_HASH, INST_LATE_KEY, INST_LATE_SLOT, INST_LATE_RECORD };
struct inst_late {
	char *text;   /* INST_LATE_DIGITS characters, "0x" and hex digits; NULL: */
	int64_t *off; /* an address's offset: that of the key's place among used values */
	enum inst_late_kind kind;
	uint32_t site;
	enum race_kind race;
};
#define INST_LATE_DIGITS 18

struct inst_ctx {
	struct ptx_module *m;
	const struct inst_options *opt;
	struct inst_stats *stats;
	struct base_sink *sink;
	struct base_arena scratch;	      /* one function's analyses; emptied after each */
	const struct inst_detector *detector; /* at work, with its templates: */
	struct ptx_templates *ts;
	struct ptx_templates *module_ts;
	struct race_site_builder *sites;
	struct ptx_str k;		/* "const" or "global": where the knobs lie */
	BASE_VEC(struct ptx_str) files; /* by .file number */
	struct inst_loc_index *locs;	/* for the inlined-at chains of one function */
	BASE_VEC(struct inst_late) late;
	struct ptx_opnd hash;	       /* operand with a late text */
	const struct ptx_func *tensor; /* __collider_tensor, in modules with tensor copies */
	bool reads_ids;		       /* some function reads %ctaid or %clusterid */
	const struct ptx_func *block;  /* __collider_block, in such modules */
	struct ptx_templates *prune_ts, *doubt_ts, *shuffle_ts, *nap_ts;
	bool elects;			    /* some function has elect.sync: nap/nap.c */
	uint32_t shuffle_flags, shuffle_id; /* race/shuffle/blocks.h */
	bool is_large;			    /* the module: see INST_LARGE_MODULE */
	bool has_calls;			    /* some function has checks by call */
	bool verifies;			    /* each pass: see inst_verifies */
	bool wants_scratch;  /* some kernel: words of shared memory in global memory */
	bool is_host_marked; /* RACE_HISTORY_HOST_SYMBOL was considered */
	unsigned lent;	     /* detectors at work for others (race_detectors_for), as a set */
	bool is_followed;    /* some function has checks of the detector at work */
	struct ptx_templates *called_ts;
	BASE_VEC(struct inst_called) called;
	BASE_VEC(struct inst_called_name) called_names; /* called.c, to find them by name */
	BASE_VEC(const char *)
	checks; /* ends of names: the functions of check.cu that are called */
	BASE_VEC(uint64_t) order_names;
	BASE_VEC(struct inst_named) named; /* callee.c: the functions, by name */
	bool are_named;
	enum inst_answer may_launch;
	/* event.c's own: to which memory less than a word is written, by the function bytes_of. */
	uint8_t writes_bytes, bytes_here;
	const struct ptx_func *bytes_of;

	/* The function at work. */
	struct ptx_func *f;
	uint32_t func_name; /* string in the site table */
	const struct inst_limit *limit;
	struct inst_size size; /* as the function was; sites and groups of those before it */
	struct inst_plan *plan;
	struct flow *fl;
	bool call_free;
	bool by_call;			 /* checks are calls (call.c) */
	bool no_calls;			 /* nothing is called where that can be avoided */
	bool is_called;			 /* ... and the check of the current group is one */
	uint32_t rng, cnt;		 /* registers */
	uint32_t mask, clock, always;	 /* registers of the draw */
	uint32_t nlaunched;		 /* kernels so far, with this one */
	uint32_t within;		 /* predicate: the launch keeps to prune's contract */
	uint32_t const_left;		 /* bytes, in .const, that nothing of the module needs */
	uint32_t plain_bytes;		 /* of those, of variables for prune/launch.c */
	struct inst_launches *launches;	 /* prune/launch.c, of each kernel so far */
	uint32_t used_base, found;	 /* or PTX_NO_REG: call.c, capture.c */
	struct inst_uses *uses;		 /* of values that the compiler may have read early */
	bool waits;			 /* one of its loops waits for another block */
	const struct ptx_func *flags_of; /* site.c: the function that has_flags is about */
	bool has_flags;
	BASE_VEC(struct ptx_stmt *) polls; /* the heads of those loops */
};

/* pipeline.c. Does the verifier accept the module, and has its version all opcodes? If not, nothing
 * is said about a front end's text: that is ptxas's to accept or to refuse. What we put beside an
 * opcode that is newer than the version isn't in that version, either. */
bool inst_is_sound(const struct ptx_module *m);
/* Verifies the result of a pass. f: the function it ran on; NULL: the module. False: ptx_verify has
 * found errors (in the sink). */
bool inst_pass_end(struct ptx_module *m, enum inst_pass pass, struct ptx_func *f,
		   struct base_sink *sink);

/* event.c: accesses of any strength, and what synchronises, in the order of the text. */
enum inst_event_kind {
	INST_EVENT_ACCESS,
	INST_EVENT_FENCE,
	INST_EVENT_BLOCK, /* a barrier of all threads of the block */
	INST_EVENT_WARP,  /* bar.warp.sync */
	INST_EVENT_CALL,  /* a function that is followed, with inst_events.follows_calls */
	INST_EVENT_COPIES /* a commit of cp.async, a wait for them, an arrive that they trigger */
};

/* The last one: also .shared::cluster, with inst_events.follows_cluster. */
enum inst_event_space { INST_IN_GLOBAL, INST_IN_SHARED, INST_IN_GENERIC, INST_IN_GENERIC_SHARED };

struct inst_event {
	struct inst_event *next;
	struct ptx_stmt *stmt;
	enum inst_event_kind kind;
	/* Of accesses: */
	struct inst_access *access; /* with its site */
	enum inst_event_space space;
	enum race_strength strength;
	enum race_scope scope;
	bool reads, writes;
	bool is_seen;	  /* a read whose value is kept */
	bool is_place;	  /* ... and chooses a place, no more (flow_is_only_place) */
	bool is_seed;	  /* a weak load that begins a compare-and-swap loop, no more
			 * (flow_is_seed) */
	bool is_judged;	  /* ... and is judged, but not stored */
	bool is_pruned;	  /* checked only where cx->within is false */
	bool is_lockstep; /* a volatile load that may count on lockstep (lockstep.c) */
	/* Words of 4 bytes from the address, bits of sets: surely accessed, perhaps. */
	uint8_t sure, maybe;
	uint8_t narrow; /* bytes of an access of fewer than 4; else 0 */
	uint8_t lanes;	/* of ldmatrix, stmatrix: the first ones, which name rows; else 0 */
	const struct ptx_opnd *cut;	/* of a cp.async's source: what may shorten it, or NULL */
	bool is_copy;			/* a cp.async's write */
	uint32_t op;			/* of INST_EVENT_COPIES: of race/layout/copies.h */
	const struct inst_lines *lines; /* of wmma.load, wmma.store: the matrix; else NULL */
	bool is_partial; /* of a word, bytes alone are in doubt: it is never more than looked at */
	/* Of hirace's groups: the next access of this one's, its number of words and how far one is
	 * from the next in words; is_grouped: the group's first access checks this one. */
	struct inst_event *with;
	unsigned nwords, far;
	bool is_grouped;
	/* Of a load that the compiler may have invented (use.c): where its value is taken. */
	struct inst_use *uses;
	uint32_t note;	  /* register: the address of a load that has no check yet, or none */
	bool is_selected; /* the only use has the whole condition: the load itself has no check */
	bool is_noted;	  /* a use may be reached without a note that is still good */
	bool is_lost;	  /* some use is reached only past what orders */
	struct inst_held *held; /* elements of a load that are held (doubt/doubt.c) */
};

/* An element of a load, or a half of it: its register and words. */
struct inst_held {
	struct inst_held *next;
	uint32_t reg;
	uint8_t words;
	bool is_high; /* the high half of a register that is taken apart */
};

/* A use that takes the loaded value, if register pred (or PTX_NO_REG) is `sense`. */
struct inst_use {
	struct inst_use *next;
	struct inst_event check; /* the load as a sure access, before the statement */
	uint32_t pred;
	bool sense;
	uint8_t tried; /* an operand, if nothing masks it; 0: always */
};

/* What a detector sees besides the launch at work; INST_SEES_OVERLAP: launches that overlap, and it
 * knows at the entry of a kernel whether another one runs. */
enum inst_sees { INST_SEES_ALL, INST_SEES_OVERLAP, INST_SEES_LAUNCH };

struct inst_events {
	struct inst_event *first, *last;
	uint32_t naccesses;
	bool has_narrow, has_shared, has_barrier;
	bool has_narrow_global, has_narrow_shared; /* accesses of bytes that may be there */
	bool has_order; /* there are fences, acquires, releases, strong reads, partial masks */
	bool has_lanes; /* masks that may be partial: lanes have rows (race/layout/lanes.h) */
	bool has_pruned;
	bool has_alone; /* pruned ones only while the launch runs alone */
	bool is_unsure; /* something else orders threads, too */
	bool is_apart;	/* launches of it say nothing about order in time: RACE_HISTORY_APART */
	bool informs;	/* host code may learn from it while it runs */
	bool has_release, has_system; /* fences or releases; strong writes of system scope */
	bool orders_kernels, observes_kernels, shows_kernels; /* flow.h; or it isn't known */
	/* has_order by relaxed accesses of global and shared memory alone, and no barriers: of what
	 * orders threads, only the strong writes that strong reads have seen are ordered. */
	bool only_observes;
	bool has_fence, has_warp, has_exit; /* bar.warp.sync; `exit`, also in what it calls */
	bool has_generic; /* accesses of generic addresses that may be shared memory's */
	bool has_update;  /* atomics whose result is used */
	/* cp.async's writes are under way until they are waited for: all that may wait for them is
	 * seen. Else they count as the thread's own at once. */
	bool has_copies, is_blind, tracks_copies;
	/* Set before: the caller looks at cp.async itself, so they aren't counted as unchecked. */
	bool follows_copies;
	bool follows_cluster; /* likewise, at accesses of .shared::cluster */
	bool follows_calls;   /* likewise, at calls of functions that have a variant */
	bool ignores_calls;   /* likewise: who calls what isn't known yet */
	enum inst_sees sees;  /* likewise */
};

/* exits.c. Does the operand, or a part of it, name a special register that begins with one of n
 * names? */
bool inst_names_special(const struct ptx_opnd *o, const char *const *names, size_t n);

void inst_plan_events(struct inst_ctx *cx, struct inst_events *ev);
/* Has a kernel with these events nothing but weak accesses and barriers of the whole block, which
 * each thread waits at or ends without an access since its last one? */
bool inst_is_plain_kernel(struct inst_ctx *cx, const struct inst_events *ev);
/* For wide.c: an event of a statement, without more; after the others; is a plain access followed
 * (not where --prune has proven that no other access races with it); may memory of the space be
 * another thread's, too? */
struct inst_event *inst_new_event(struct inst_ctx *cx, enum inst_event_kind kind,
				  struct ptx_stmt *s);
void inst_add_event(struct inst_events *ev, struct inst_event *e);
bool inst_is_event_left(struct inst_ctx *cx, struct inst_events *ev, struct inst_event *e);
bool inst_is_followed_space(uint8_t space);
/* wide.c: is the statement an access that is planned there? Then its events; what any statement
 * does to the thread's cp.async. */
bool inst_is_wide(const struct inst_events *ev, const struct ptx_stmt *s);
void inst_plan_wide(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s);
void inst_plan_copies(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *s);
/* What may order threads, or comes before something that is not known. */
#define INST_ORDERS                                                                                \
	(PTX_EFF_ATOMIC | PTX_EFF_BARRIER | PTX_EFF_FENCE | PTX_EFF_CONVERGENT | PTX_EFF_CALL |    \
	 PTX_EFF_ASYNC | PTX_EFF_WAIT | PTX_EFF_WARP_SYNC | PTX_EFF_COLLECTIVE_MEM |               \
	 PTX_EFF_SLEEP | PTX_EFF_SIDE | PTX_EFF_UNKNOWN)
/* use.c: loads that the compiler may have invented are checked where their value is taken.
 * needs: flow. Then all of that but what is noted at the load, with its address: put(arg, e, at)
 * puts the check of e at e->stmt. Before all else at these places; `top`: the body's start. */
void inst_plan_uses(struct inst_ctx *cx, struct inst_events *ev);
typedef void inst_put_check(void *arg, const struct inst_event *e, struct ptx_opnd at);
void inst_put_uses(struct inst_ctx *cx, struct inst_events *ev, struct ptx_stmt *top,
		   inst_put_check *put, void *arg);
void inst_note_load(struct inst_ctx *cx, const struct inst_event *e, struct ptx_opnd at);
void inst_note_nothing(struct inst_ctx *cx, const struct inst_event *e);
/* lockstep.c: marks the loads that may count on lockstep (is_lockstep). needs: flow. */
void inst_find_lockstep(struct inst_ctx *cx, struct inst_events *ev);
/* exits.c: may a thread leave the kernel before a barrier that others wait at, with accesses since
 * its last one? needs: flow. */
bool inst_parts_at_exits(struct inst_ctx *cx, const struct inst_events *ev);
/* unequal.c: notes that a kernel is judged in part, if threads of a block may pass different
 * numbers of barriers, and one that leaves earlier has accesses since its last one. needs: flow. */
void inst_note_unequal(struct inst_ctx *cx, const struct inst_events *ev);
/* May the statement order the thread's accesses with another one's? */
bool inst_may_order(const struct ptx_stmt *s);
/* event.c: does code of the module write less than a word of 4 bytes to the memory that is loaded
 * from? If not, what races with a byte of a word races with all of them. */
bool inst_writes_bytes(struct inst_ctx *cx, const struct ptx_stmt *load);
/* Does something use each byte of the loaded element, or, where none writes bytes, each word? */
bool inst_is_whole(struct inst_ctx *cx, const struct ptx_stmt *load, uint32_t reg);
/* doubt/doubt.c: races of such loads are held until their values are used. Of a detector: its
 * letter, the registers with the thread's number and state, what a check of an event is given, its
 * address before it, the block's table, and the end of what a launch that leaves the read out skips
 * (or NULL). */
struct inst_doubt {
	char detector;
	uint32_t me, state;
	void *arg;
	int64_t (*what)(void *arg, const struct inst_event *e);
	struct ptx_opnd (*address)(void *arg, const struct inst_event *e);
	struct ptx_opnd (*table)(void *arg, struct ptx_stmt *at);
	struct ptx_label *(*skip)(void *arg, const struct inst_event *e);
	/* doubt.c's: NULL: nothing is held; registers: places with a read, uses that are due, where
	 * the places are. */
	struct inst_doubt_plan *plan;
	uint32_t live, due, places;
};
/* Reads the templates; false: they are wrong. Then of a function, after inst_plan_uses; at its
 * entry; and all the rest, before the code around events. */
bool inst_read_doubt(struct inst_ctx *cx);
void inst_plan_doubt(struct inst_ctx *cx, struct inst_events *ev, struct inst_doubt *d);
void inst_begin_doubt(struct inst_ctx *cx, struct inst_doubt *d, struct ptx_stmt *top);
void inst_put_doubt(struct inst_ctx *cx, const struct inst_events *ev, const struct inst_doubt *d);
/* After the barrier s, before the thread's numbers are moved on at `at`. */
void inst_settle_after(struct inst_ctx *cx, const struct inst_doubt *d, const struct ptx_stmt *s,
		       struct ptx_stmt *at);
/* What a call of a function without a variant may order, and whether it returns. */
void inst_join_call(struct inst_ctx *cx, struct inst_events *ev, const struct ptx_stmt *s);
/* After a strong read, with only_observes: the bit of its location. `at`: its address; is_flagged:
 * the set has RACE_READ_FLAG, too. */
void inst_observe(struct inst_ctx *cx, const struct inst_event *e, struct ptx_opnd at,
		  bool is_flagged);
/* Counts the accesses of a function that isn't followed. */
void inst_count_unfollowed(struct inst_ctx *cx);

/* called/called.c: functions that are called, and kernels that call them. */
struct inst_called {
	struct ptx_item *item;
	struct ptx_func *f;	  /* as the program has it */
	struct ptx_func *variant; /* of a kernel: itself; NULL: what it calls isn't followed */
	/* What it does, with all that it calls; flags that choose a form of words or clocks are
	 * those of all functions that have a caller or a callee in common with it. */
	struct inst_events all;
	bool is_left;	 /* by --kernel-name and the like */
	bool is_open;	 /* it may be called in other ways, too */
	bool is_lost;	 /* it can have no variant */
	bool is_reached; /* from the kernel of which inst_next_callee was last asked */
};
/* Makes variants of the functions that detectors with words follow, and lets kernels and variants
 * call them. Changes nothing where no kernel calls one. */
bool inst_begin_called(struct inst_ctx *cx);
void inst_end_called(struct inst_ctx *cx);
/* The function at work, if it is a kernel that calls variants or a variant; or NULL. */
const struct inst_called *inst_called_here(const struct inst_ctx *cx);
/* The function that a call calls, if that is a variant; or NULL. */
const struct inst_called *inst_callee(const struct inst_ctx *cx, const struct ptx_stmt *s);
/* Adds what belongs to the function at work because it calls or is called. */
void inst_join_called(const struct inst_ctx *cx, struct inst_events *ev);
/* The variants that the function at work calls, and those that they call, one after the other
 * (after: NULL, or the last one). */
const struct inst_called *inst_next_callee(struct inst_ctx *cx, const struct inst_called *after);
/* Has it a variant? And is it called by variants only, so that nothing ever runs its own body? */
bool inst_has_variant(const struct inst_ctx *cx, const struct ptx_func *f);
bool inst_is_replaced(const struct inst_ctx *cx, const struct ptx_func *f);
/* A function's name as the program has it; and the function of which the one at work is a variant,
 * or itself. */
struct ptx_str inst_name_of(struct ptx_str name);
struct ptx_func *inst_original(const struct inst_ctx *cx);

/* What a kernel and the variants that it calls share, in the thread's own memory: a frame, of which
 * the variants get the address. Between calls they keep it in registers. */
struct inst_frame {
	const struct inst_called *called; /* NULL: nothing is called */
	char detector;			  /* the letter in the names of ours */
	uint32_t at;			  /* register: its address */
	uint32_t me, cnt;		  /* registers that calls change */
};
/* At the kernel's entry; ends: what a variant that ends a thread asks for, 1 or 0. At a variant's:
 * the registers are filled. */
void inst_frame_of_kernel(struct inst_ctx *cx, struct inst_frame *fr, struct ptx_opnd stamps,
			  struct ptx_opnd table, bool ends, struct ptx_stmt *top);
void inst_frame_of_variant(struct inst_ctx *cx, struct inst_frame *fr, struct ptx_opnd stamps,
			   struct ptx_opnd table, struct ptx_stmt *top);
/* Around the call s. */
void inst_frame_call(struct inst_ctx *cx, const struct inst_frame *fr, struct ptx_stmt *s);
/* Before a way out of a variant: if that leads back to its caller, keeps what the caller takes. */
bool inst_frame_returns(struct inst_ctx *cx, const struct inst_frame *fr, struct ptx_stmt *s);
/* Code at `at` that only threads of kernels with `ends` run; it ends at the label. */
struct ptx_label *inst_frame_ends(struct inst_ctx *cx, const struct inst_frame *fr,
				  struct ptx_stmt *at);

/* select.c: is this plain access to be checked, by --variable? If not it is counted. */
bool inst_is_chosen(struct inst_ctx *cx, const struct ptx_stmt *s);
/* site.c: is it in a collider_data_race() of the program? Notes that it isn't checked. */
bool inst_is_meant(struct inst_ctx *cx, const struct ptx_stmt *s);

/* block_table.c: a table of the block for its static shared memory. */
struct inst_block_table {
	uint32_t tracked;      /* bytes, a multiple of 16, from the lowest of the variables on */
	uint32_t bytes;	       /* of the table */
	struct ptx_var **vars; /* the kernel's */
	unsigned nvars;
	bool has_vars; /* the kernel has variables there, dynamic ones among them */
};
typedef uint32_t inst_table_bytes_fn(uint32_t tracked, bool arg);
/* False: there is nothing to keep, or no room. */
bool inst_plan_block_table(struct inst_ctx *cx, struct inst_block_table *t,
			   inst_table_bytes_fn *bytes_for, bool arg);

/* follow.c. Code at `at` that only lanes run for which the guarded s executes begins and ends so;
 * NULL: s has no guard. */
struct ptx_label *inst_skip_unless(struct inst_ctx *cx, const struct ptx_stmt *s,
				   struct ptx_stmt *at);
void inst_end_skip(struct inst_ctx *cx, struct ptx_label *over, struct ptx_stmt *at);
/* Does the program's own code have this instruction? */
bool inst_has_op(const struct ptx_func *f, enum ptx_op op);
/* Falling off the end of a body is a ret, and what is put after its last statement needs a
 * place. */
void inst_end_body(struct inst_ctx *cx);
/* Where code with branches or calls is put before s: of a call, before its arguments are stored. */
struct ptx_stmt *inst_before_arguments(struct ptx_stmt *s);
/* Is a kernel left here, by the program's own instruction? */
bool inst_leaves(const struct ptx_stmt *s);
/* Adds the register `cnt` to the counters where the kernel is left; before one such statement. */
void inst_flush_counts(struct inst_ctx *cx, uint32_t cnt);
void inst_flush_count_at(struct inst_ctx *cx, uint32_t cnt, struct ptx_stmt *s);
/* Runs the detector's pass over a kernel or a variant (called/called.c). */
bool inst_follow_kernel(struct inst_ctx *cx, struct ptx_func *f);
/* The same, also for functions that are called. */
bool inst_follow_function(struct inst_ctx *cx, struct ptx_func *f);

/* pipeline.c: does the function branch there? */
bool inst_is_target(const struct ptx_func *f, const struct ptx_label *l);

/* pipeline.c: the loads and stores of memory that threads may share. */
uint32_t inst_accesses_of(const struct ptx_func *f);
/* f is the function at work. False: it stays as it was (counted). */
bool inst_begin_function(struct inst_ctx *cx, struct ptx_func *f);
/* The function stays as it was: `why` is named in the report. True. */
bool inst_leave_function(struct inst_ctx *cx, struct ptx_func *f, const char *why);
/* Will inst_begin_function leave it as it was? */
bool inst_is_left(const struct inst_ctx *cx, const struct ptx_func *f);
/* One pass over the function at work, and what follows each: --dump, and the verifier. */
bool inst_function_pass(struct inst_ctx *cx, enum inst_pass pass);

/* collide/, for other detectors, too: the first statement of the body that is not a declaration; p
 * or !p as a guard; an access of words that are all compared; the lanes whose address an ldmatrix
 * takes; the operand of cp.async that shortens its source (src-size or ignore-src), or NULL; the
 * entry in the footer for the destination of a bulk copy that isn't checked; the logarithm of a
 * power of two. */
struct ptx_stmt *inst_body_start(struct ptx_func *f);
struct ptx_opnd inst_sense(struct ptx_opnd p, bool positive);
struct inst_access *inst_new_access(struct inst_ctx *cx, struct ptx_stmt *s,
				    const struct ptx_opnd *where, enum race_access kind,
				    enum ptx_space space, unsigned words);
unsigned inst_rows_lanes(const struct ptx_form *fm);
const struct ptx_opnd *inst_copy_cut(const struct ptx_stmt *s);
void inst_count_destination(struct inst_ctx *cx, const struct ptx_form *fm);
unsigned inst_log2(unsigned n);

/* lines.c: the m, n and k of a matrix's form, and how it spells them ("m16n8k16"). */
bool inst_find_shape(const struct ptx_form *fm, unsigned mnk[3], struct ptx_str *spelled);
/* What a wmma.load or wmma.store accesses: lines, a stride apart; as pieces, line after line. */
struct inst_lines {
	unsigned elems, bits;	/* of a line; of an element */
	unsigned bytes;		/* of a line, a power of two */
	unsigned piece, pieces; /* bytes of one, 16 or 8; of the whole matrix, 64 at most */
	bool is_factor;		/* it is A or B */
};
/* False: another instruction, or a shape that isn't known. */
bool inst_find_lines(const struct ptx_form *fm, struct inst_lines *x);

/* splice.c: a function of our own in place of a call of it. Parameters are taken from `args`;
 * results are left in `outs` (registers, 8 bytes each). The function must not call another. */
void inst_splice(struct inst_ctx *cx, const struct ptx_func *callee, struct ptx_stmt *at,
		 const struct ptx_opnd *args, const struct ptx_opnd *outs);

/* site.c */
void inst_read_files(struct inst_ctx *cx);
void inst_read_locs(struct inst_ctx *cx);
void inst_forget_locs(struct inst_ctx *cx);
uint32_t inst_add_site(struct inst_ctx *cx, const struct inst_access *a);
void inst_unchecked(struct inst_ctx *cx, struct ptx_str what, enum race_unchecked_why why,
		    bool name_function);

/* waits.c: fills cx->polls with the heads of loops that wait for another block; true: there are
 * some. needs: flow.  Keeps everything, except for cx->shuffle_flags. */
bool inst_find_waits(struct inst_ctx *cx);
/* May a loop wait by calling this function? */
bool inst_is_strong_function(const struct ptx_func *f);

/* shuffle.c: examines the whole module before anything is changed; false: a defect of ours. */
bool inst_shuffle_begin(struct inst_ctx *cx);
void inst_shuffle_function(struct inst_ctx *cx);
/* Where a record is written, %nsmid stands for the shape of clusters: inserts how the target
 * computes it. is_ours: the whole function is Collider's. Sets cx->f. */
void inst_fill_clusters(struct inst_ctx *cx, struct ptx_func *f, bool is_ours);
/* The declaration of the object's order table. */
struct ptx_str inst_shuffle_table(struct inst_ctx *cx);

/* prune/prune.c: reads its templates; false: they are wrong. Then: is the access left without a
 * check (counted), or checked only outside of a contract? */
bool inst_read_prune(struct inst_ctx *cx);
enum inst_pruned { INST_PRUNED_NOT, INST_PRUNED_WITHIN, INST_PRUNED_ALWAYS };
enum inst_pruned inst_prune_of(struct inst_ctx *cx, const struct ptx_stmt *s, enum inst_sees sees);
/* The contract of the function at work as a predicate (cx->within), before `top`. */
uint32_t inst_put_within(struct inst_ctx *cx, struct ptx_stmt *top);
/* Code at `at` that only launches outside of the contract run; it ends at the label. */
struct ptx_label *inst_skip_within(struct inst_ctx *cx, struct ptx_stmt *at);
/* The same up to a label that is there. */
void inst_put_skip_within(struct inst_ctx *cx, struct ptx_stmt *at, struct ptx_label *to);

/* What is proven of the function at work; NULL: nothing. */
const struct inst_prune *inst_prunes_of(const struct inst_ctx *cx);

/* prune/plain.c. Are all accesses of the kernel left out within the contract, and is one detector
 * at work? Then: a copy of the body after it, without checks, and its label; NULL: it can't be
 * copied. `before` (or NULL) hears of each instruction, and may put some at the body's end. And
 * the ways out of a copy, one after the other (from: NULL, or the last one). */
bool inst_is_all_pruned(const struct inst_ctx *cx, const struct inst_events *ev);
bool inst_can_copy(const struct inst_ctx *cx);
typedef void inst_copied_fn(struct inst_ctx *cx, const struct ptx_stmt *s, void *arg);
struct ptx_label *inst_copy_body(struct inst_ctx *cx, inst_copied_fn *before, void *arg);
struct ptx_stmt *inst_next_way_out(const struct ptx_label *copy, struct ptx_stmt *from);

/* nap/nap.c. Once for a module; and `ns` nanoseconds of delay for the lanes for which it is_due
 * (inst_none(): for all). */
bool inst_begin_nap(struct inst_ctx *cx);
void inst_emit_nap(struct inst_ctx *cx, struct ptx_opnd is_due, struct ptx_opnd ns,
		   struct ptx_stmt *at);
/* A function of ours without its sleeps: what it waited for is tried again at once. */
void inst_stay_awake(struct ptx_func *f);

/* module.c */
bool inst_add_sites(struct inst_ctx *cx);
void inst_drop_unused(struct inst_ctx *cx); /* unused.c */
/* The first variable or function; inserts before `at`: a declaration; one that only marks a module,
 * by its name. */
struct ptx_item *inst_first_code(struct ptx_module *m);
void inst_add_raw(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str text);
void inst_add_mark(struct inst_ctx *cx, struct ptx_item *at, const char *symbol);
/* Where .const has no room for that many more bytes, runtime blocks lie in .global (cx->k). What
 * room is left then: cx->const_left. */
void inst_choose_space(struct inst_ctx *cx, size_t bytes);
/* A runtime block that begins with knobs, so many bytes; that of a detector with history. */
void inst_add_knobs(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str symbol, size_t bytes,
		    uint32_t sample, uint32_t flags);
void inst_add_history_block(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str symbol);
/* Adds functions from PTX that the build made; the items move into the module. Returns the last
 * one, or NULL. */
const struct ptx_func *inst_add_functions(struct inst_ctx *cx, struct ptx_item *at, const char *ptx,
					  size_t size);
/* The same where they aren't passed the site table's hash, but name it: puts it there; in one
 * function: replaces the number that stands for it by a late literal. */
bool inst_add_hashed_functions(struct inst_ctx *cx, struct ptx_item *at, const char *ptx,
			       size_t size);
void inst_put_hash(struct inst_ctx *cx, const struct ptx_func *f);
struct ptx_opnd inst_late_opnd(struct inst_ctx *cx, enum inst_late_kind kind, uint32_t site,
			       enum race_kind race);

void inst_late_offset(struct inst_ctx *cx, int64_t *off, uint32_t site, enum race_kind race);

/* tried.c: code before a pure statement, and a predicate; nothing (inst_none): not known. Does its
 * result change with operand i (is_bool: a condition as a number)? And does it leave what its
 * register doesn't hold, if the guard is true? */
struct ptx_opnd inst_tried(struct inst_ctx *cx, struct ptx_stmt *s, unsigned i, bool is_bool);
/* How: not at all; by executing it again, which may miss a change; by the other operand. */
enum inst_trying { INST_TRY_NOT, INST_TRY_AGAIN, INST_TRY_EXACTLY };
enum inst_trying inst_how_tried(const struct inst_ctx *cx, const struct ptx_stmt *s, unsigned i);
enum inst_half { INST_WHOLE, INST_LOW, INST_HIGH }; /* of 8 bytes, but for whole */
struct ptx_opnd inst_tried_guard(struct inst_ctx *cx, struct ptx_stmt *s, enum inst_half half);
/* Do two operands differ, one of which is a register? */
struct ptx_opnd inst_differ(struct inst_ctx *cx, const struct ptx_opnd *a, const struct ptx_opnd *b,
			    enum inst_half half, struct ptx_stmt *at);
/* Is the register n, or isn't it? By its bits. */
struct ptx_opnd inst_compared(struct inst_ctx *cx, const struct ptx_opnd *o, int64_t n,
			      bool is_equal, struct ptx_stmt *at);

/* emit.c: short ways to use a template. */
struct ptx_str inst_num(int64_t n); /* valid until 16 more calls */
/* The offset of a knob, as a template's text. */
#define KNOB(field) inst_num((int64_t)offsetof(struct race_knobs, field))
#define RT(field)   inst_num((int64_t)offsetof(struct race_rt, field))
struct ptx_opnd inst_reg(const struct inst_ctx *cx, uint32_t reg);
/* A declaration or a directive (module.ptxt). */
struct ptx_str inst_module_text(struct inst_ctx *cx, const char *name, unsigned ntexts,
				const struct ptx_str *texts);
/* A type's name as a template's text. */
struct ptx_str inst_type_of(enum ptx_type t);
/* A new register of that type. */
struct ptx_opnd inst_fresh(struct inst_ctx *cx, enum ptx_type t);
struct ptx_opnd inst_int(const struct inst_ctx *cx, int64_t v);
struct ptx_opnd inst_none(void); /* no guard */
void inst_emit(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
	       const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes);
void inst_emit_label(struct inst_ctx *cx, struct ptx_stmt *at, struct ptx_label *l);

/* inst_emit(cx, at, "name", T("const", ...), H(reg, ...)); NT: no texts, NH: no holes. */
#define T(...)                                                                                     \
	(unsigned)(sizeof((struct ptx_str[]){__VA_ARGS__}) / sizeof(struct ptx_str)),              \
		(struct ptx_str[])                                                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define NT 0, NULL
#define H(...)                                                                                     \
	(unsigned)(sizeof((struct ptx_opnd[]){__VA_ARGS__}) / sizeof(struct ptx_opnd)),            \
		(struct ptx_opnd[])                                                                \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define NH 0, NULL

#endif
