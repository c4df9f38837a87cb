/*
 * internal.h - what the files of this folder share.
 */
#ifndef COLLIDER_CPU_EVENTS_INTERNAL_H
#define COLLIDER_CPU_EVENTS_INTERNAL_H

#include <pthread.h>
#include "base/table.h"

#include "cpu/sched.h"
#include "cpu/events.h"
#include "oracle/oracle.h"
#include "race/file/pair.h"

/* What findings need from a launch, kept forever: the launch on the other side of a race may have
 * ended. */
struct events_grid {
	uint64_t id;
	const char *kernel;
	uint32_t grid[3], block[3], cluster[3];
	/* Numbers in the grid of the units that run, by their numbers among these; NULL: all. */
	const uint64_t *chosen;
	uint64_t nchosen;
	uint32_t order;	 /* of struct cpu_launch */
	uint32_t origin; /* of struct cpu_work */
	uint32_t stream; /* plus 1 */
	bool is_graph;
	bool is_doubtful; /* launches that were left out may order it: plain.c */
	struct race_shuffle_keys shuffle_keys;
};

/* A launch that was left out, and that a host thread doesn't know to have ended: plain.c. */
struct events_plain {
	uint64_t key; /* of its operation */
	uint32_t stream;
	bool is_graph;
};

/* An mbarrier in use: the number of its open phase. */
struct events_mbar {
	uint64_t address;
	uint64_t phase;
	uint64_t early; /* when it was first used without having been initialised; 0: it wasn't */
	UT_hash_handle hh;
};

/* A host thread that is an actor of its own. */
struct events_thread {
	uint64_t self; /* pthread_self */
	uint32_t actor;
	UT_hash_handle hh;
};

/* Which of a device's operations have ended, for threads that wait for all of them. */
struct events_idle {
	BASE_VEC(uint64_t) ended; /* since `all` */
	uint64_t all;		  /* an operation after those that ended before; 0: none */
};

/* Operations of the oracle that the machine doesn't have. */
#define EVENTS_KEY_FN	(1ull << 63) /* | id: what a host function starts after */
#define EVENTS_KEY_IDLE (1ull << 62) /* | number: events_idle.all */
/* A running block's shared memory. */
struct events_block {
	uint64_t base;
	uint32_t bytes, number;
	const struct cpu_grid *grid;
};

/* The memory at an address. */
struct events_memory {
	enum race_memory kind;
	const char *name; /* the variable's, mangled, or "" */
	uint64_t base, bytes;
	uint64_t shift; /* from the host's address to the one shown */
	uint64_t grid;	/* shared memory: whose */
	uint32_t block;
};

/*
 * Polling: a strong read that is repeated while its thread does nothing but read, and no thread
 * writes there, is one event for the oracle: it would read from the same write, in the same epoch.
 * Threads and lines of memory are hashed; in a collision the read is an event again.
 */
#define EVENTS_POLLS 65536u
#define EVENTS_LINES 4096u

struct events_poll {
	const struct cpu_inst *inst;
	uint64_t address, version; /* version: of the line's writes */
	uint32_t actor, nevents;
	uint32_t saw; /* weak model: the number that it read */
};

struct events_frame;
struct events_frames;
struct events_loads;
struct flow;
struct flow_trace;

struct events_pair {
	struct {
		const struct cpu_site *site[2];
		uint64_t kind;
	} key;
	struct race_pair *kept; /* in the shared file; NULL: there was no room */
	uint32_t asked;		/* sightings that were asked what is missing */
	bool is_possible;
	bool is_same; /* stores that have left equal values in each sighting */
	UT_hash_handle hh;
};

struct cpu_site {
	const struct cpu_func *func; /* NULL: unloaded, or an operation; the words are there then */
	uint32_t pc;
	bool is_ready; /* the words are there */
	bool is_host;
	bool is_near;	   /* the line is its neighbour's */
	bool is_graph;	   /* of a node of a graph */
	bool is_free;	   /* frees memory */
	bool is_proven;	   /* a whole launch: proven.c */
	bool is_host_code; /* a load or store of host code: events_host_site */
	uint8_t access;	   /* enum race_access */
	uint8_t width, vec;
	uint8_t flag;		 /* of a strong read: 1: its value decides something, 2: not */
	uint8_t update;		 /* enum race_update */
	uint32_t invented;	 /* bytes of a load that may be read by no thread of the source */
	bool is_data;		 /* a volatile load on whose value nothing is decided */
	bool is_seed;		 /* a load that only begins a compare-and-swap loop */
	bool is_other;		 /* a weak access of a variable that wasn't asked for: asked.c */
	uint32_t nproducts;	 /* a wgmma: executions that were judged */
	uint32_t nelems, *elems; /* used.c: where these are followed, by element */
	const char *name, *file, *text;
	uint32_t line, col, ptx_line;
	struct race_inlined_site *frames; /* innermost first */
	uint32_t nframes;
};

struct race_inlined_site {
	const char *func, *file;
	uint32_t line, col;
};

struct events_op_site {
	uint64_t key; /* kind and stream */
	struct cpu_site site;
	UT_hash_handle hh;
};

/* An instruction of host code. */
struct events_host_site {
	uint64_t key; /* pc << 2 | enum race_op_kind */
	struct cpu_site site;
	UT_hash_handle hh;
};

struct cpu_events {
	struct cpu_machine *m;
	struct oracle *o;
	/* judges.c. Of a worker's own: the launch, NULL between launches, its key and first actor;
	 * accesses that have been counted. Of the machine's: accesses that those have judged. */
	struct cpu_op *judges;
	uint64_t judged, counted, njudged;
	uint32_t nthreads;    /* the machine's: threads of such launches, except for one each */
	bool is_done_judging; /* its blocks of the launch have ended, and the oracle knows that */
	uint32_t actor;
	/* The store that is the event now, if its values are known; NULL: another event. */
	struct cpu_warp *storing;
	const struct cpu_acc *stored;
	uint32_t storing_mask;		  /* its lanes */
	const uint64_t *storing_at;	  /* on the host */
	bool has_same;			  /* pairs of equal stores are counted (oracle_storing) */
	struct events_volatile *lockstep; /* volatile.c; NULL: no volatile access yet */
	pthread_mutex_t lock;
	struct base_arena arena;
	/* host.c. All host threads, or those that have none of their own. */
	uint32_t host;
	uint64_t serial;	       /* of this judge: identifies a thread's actor */
	struct events_thread *threads; /* host threads that are actors of their own */
	struct events_idle *idle;      /* by device */
	uint64_t nidle;
	/* host_access.c */
	struct events_host_site *host_sites;
	uint64_t inflight; /* operations that have not ended */
	uint64_t nhost_accesses;
	uint64_t nop_accesses;			/* of operations of the host */
	uint64_t nregistered, registered_bytes; /* memory of the program's that isn't watched */
	bool is_armed;				/* memory is protected */
	bool is_host_tried;			/* cpu_host_start has been called, or refused */
	bool is_host_off;			/* nothing is protected any more */
	bool has_handlers;			/* is_host_auto: the program's own keep it off */
	bool is_host_dear;			/* is_host_auto: there were too many accesses */
	uint64_t host_last, host_ns;		/* host_access.c: of the last one; all together */
	uint64_t range_ns, range_limit;		/* of judging copies, fills and frees */
	bool has_ranges_left;			/* some were not judged, for want of time */
	bool is_blind;	 /* something was missed: no race of host code is reported any more */
	bool has_shared; /* there was memory that host code may access */
	BASE_VEC(struct events_grid) grids; /* by id, rising */
	BASE_VEC(uint64_t) live;	    /* those of them that run */
	BASE_VEC(struct events_plain) plains;
	bool has_plain;				       /* some launch was left out */
	uint64_t nunreported;			       /* races in doubt, which were not reported */
	struct events_ids *ids;			       /* ids.c; NULL: not the weak model */
	BASE_VEC(struct events_block) blocks, tensors; /* tensors: their tensor memory */
	BASE_VEC(struct cpu_module *) modules;
	struct events_poll polls[EVENTS_POLLS];
	uint64_t written[EVENTS_LINES]; /* writes to lines of this hash */
	uint64_t written_all;		/* writes of unknown place */
	uint64_t patterns;		/* asked.c: those that matched */
	uint64_t nothers;		/* events of accesses that weren't asked for */
	bool has_fence_sc;		/* some thread has executed one */
	uint64_t repeated;		/* reads that were no event again */
	struct events_frame *frames;	/* used.c */
	struct events_frames *blocks_frames;
	struct events_loads *loads; /* loads.c; NULL: none was in doubt */
	struct events_mbar *mbars;
	struct events_handovers *handovers; /* handover.c; NULL: none yet */
	struct events_pair *pairs, *pair_last;
	struct events_op_site *op_sites;
	struct events_proven *proven; /* proven_sides.c: by grid; the first ended first */
	struct events_proven *proven_first, *proven_last;
	uint64_t nproven, proven_bytes; /* of those with notes */
	cpu_pair_fn *fn;
	void *arg;
};

static inline void events_lock(struct cpu_events *x)
{
	pthread_mutex_lock(&x->lock);
}

static inline void events_unlock(struct cpu_events *x)
{
	pthread_mutex_unlock(&x->lock);
}

/* volatile.c: something may have ordered the warp's lanes; a volatile access of one element. */
struct oracle_acc;
void events_volatile_order(struct cpu_events *x, const struct cpu_warp *w);
void events_volatile_access(struct cpu_events *x, const struct cpu_warp *w, uint32_t mask,
			    const uint64_t *at, const struct oracle_acc *a);
/* copies.c: the lanes of a store of shared memory whose accesses count: those that store another
 * thread's element again don't. Called with the lock held, before the store. _end: of the block. */
uint32_t events_first_copies(struct cpu_warp *w, const struct cpu_inst *in,
			     const struct cpu_acc *acc, uint32_t mask, const uint64_t *at);
void events_copies_end(struct cpu_cta *cta);
/* A block begins, whose threads may have the numbers of earlier ones. */
void events_volatile_begin(struct cpu_events *x, const struct cpu_cta *cta);
void events_volatile_free(struct cpu_events *x);

/* Actor of lane 0 of a warp. */
static inline uint32_t events_actor(const struct cpu_warp *w)
{
	return w->cta->actor + w->index * CPU_WARP;
}

/* A thread writes to these bytes (at most 64, aligned to their number), or anywhere. */
static inline void events_wrote(struct cpu_events *x, uint64_t address)
{
	x->written[(address >> 6) % EVENTS_LINES]++;
}

static inline void events_wrote_all(struct cpu_events *x)
{
	x->written_all++;
}

#define EVENTS_LINES_EACH 64u /* of a longer piece it isn't worth while */

/* ... or to a piece of memory. */
static inline void events_wrote_piece(struct cpu_events *x, uint64_t address, uint64_t bytes)
{
	uint64_t line = address >> 6, end = (address + bytes + 63) >> 6;

	if (end - line > EVENTS_LINES_EACH)
		events_wrote_all(x);
	else
		for (; line < end; line++)
			events_wrote(x, line << 6);
}

/* Is the strong read of the lane a repetition? */
bool events_is_repeated(struct cpu_events *x, const struct cpu_warp *w, const struct cpu_inst *in,
			unsigned lane, uint64_t address, uint32_t saw);

/* async.c: the mbarrier at an address, made when it is new. Lock held. */
struct events_mbar *events_mbar_at(struct cpu_events *x, uint64_t address);

/* host.c, lock held. */
bool events_host_init(struct cpu_events *x);
void events_host_free(struct cpu_events *x);
/* The actor of the calling host thread. */
uint32_t events_self(struct cpu_events *x);
/* An operation of the device has ended. */
void events_ended(struct cpu_events *x, unsigned device, uint64_t id);

/* host_access.c, lock held. */
void events_mem_init(struct cpu_events *x);
/* An operation has been submitted; a host thread has learnt that something has ended. */
void events_mem_submitted(struct cpu_events *x);
void events_mem_settle(struct cpu_events *x);
/* Are accesses of host code judged, and were all so far? */
bool events_sees_host(const struct cpu_events *x);
/* Fills the words of a site of host code. */
void events_host_fill(struct cpu_events *x, struct cpu_site *s);
/* elf_symbol.c: the function of a file at an offset, "" if it isn't known. */
const char *cpu_elf_symbol(struct base_arena *a, const char *file, uint64_t offset);

/* plain.c, lock held. */
void events_plain_start(struct cpu_events *x, const struct cpu_op *op);
bool events_grid_is_doubtful(struct cpu_events *x, uint32_t actor);
void events_grid_ended(struct cpu_events *x, uint64_t id);
bool events_is_doubtful(struct cpu_events *x, const struct oracle_finding *f);
/* site.c: what is known about a launch; NULL: nothing. */
struct events_grid *events_grid_of(const struct cpu_events *x, uint64_t id);

/* proven_sides.c, lock held: a launch that is proven starts; has ended. */
void events_proven_start(struct cpu_events *x, struct cpu_op *op);
void events_proven_end(struct cpu_events *x, struct cpu_op *op);
void events_proven_free(struct cpu_events *x);
/* The finding, with the threads of proven launches in its sides; *out may be made for it. */
const struct oracle_finding *events_proven_sides(const struct cpu_events *x,
						 const struct oracle_finding *f,
						 struct oracle_finding *out);
bool events_proven_left_same(const struct cpu_events *x, const struct oracle_side *s);
/* Two accesses have raced: is one of a whole launch? */
void events_proven_raced(struct cpu_events *x, const struct cpu_site *a, const struct cpu_site *b);

/* proven.c: is the launch one that nothing but the API orders with others, and is no more asked for
 * than its races? Has its kernel loads whose races count only if their values are used? */
bool events_may_be_whole(const struct cpu_op *op);
bool events_has_invented(struct cpu_events *x, struct cpu_func *f);

/* ids.c. */
bool events_ids_init(struct cpu_events *x);
void events_ids_free(struct cpu_events *x);
/* A number for a strong write, to be given to bytes at once. */
uint32_t events_id_new(struct cpu_events *x);
/* Records a strong access in the weak model, lock held: its bytes have the numbers `ids` before it;
 * `id`: its own, if it writes. */
void events_strong(struct cpu_events *x, uint32_t actor, struct oracle_acc *acc, uint64_t address,
		   const uint32_t *ids, uint32_t id);
/* Records an access that goes to memory itself, in any model; lock held, and released in
 * between. */
void events_direct(struct cpu_events *x, uint32_t actor, struct oracle_acc *acc, uint64_t address);
/* The same of many units of acc->bytes bytes side by side, `bytes` in all; more than one are
 * weak. */
void events_direct_units(struct cpu_events *x, uint32_t actor, struct oracle_acc *acc,
			 uint64_t address, uint64_t bytes);
/* place.c, with the lock held */
void events_block_add(struct cpu_events *x, const struct cpu_cta *cta, uint64_t number);
void events_block_remove(struct cpu_events *x, const struct cpu_cta *cta);
/* The block begins, or ends, to use tensor memory there. */
void events_tensor_add(struct cpu_events *x, const struct cpu_cta *cta, uint64_t base,
		       uint32_t bytes);
void events_tensor_remove(struct cpu_events *x, uint64_t base);
void events_module_remove(struct cpu_events *x, const struct cpu_module *mod);
void events_memory_at(const struct cpu_events *x, uint64_t host, struct events_memory *out);

/* invented.c: makes the sites of the loads that the compiler may have invented. */
void events_invented_find(struct cpu_events *x, struct cpu_func *f);
/* asked.c: does the access belong to a variable that wasn't asked for? */
struct ptx_stmt;
bool events_is_other(struct cpu_events *x, struct cpu_func *f, struct flow *fl,
		     const struct ptx_stmt *s);
void events_others_note(const struct cpu_func *f, uint64_t n);
/* Is nothing ordered by such an access? Then it need be no event. */
bool events_drops_others(const struct cpu_events *x);
/* used.c, lock held: the function's statements follow the values of its loads in doubt. */
void events_used_follow(struct cpu_events *x, struct cpu_func *f, struct flow *fl,
			const struct flow_trace *t);
/* Lanes execute a load in doubt, at these addresses. */
void events_used_load(struct cpu_events *x, const struct cpu_warp *w, const struct cpu_site *site,
		      uint32_t mask, const uint64_t *at);
/* A race of a load, in the order of the record's sides; the bytes of the load that it is about. */
struct events_sighting {
	struct events_pair *pair;
	uint32_t bytes;
	struct oracle_side side[2];
};
/* Has the load's thread used one of the bytes that it loaded at that address last? If not, the
 * pair is made sure when it does. */
bool events_is_used(struct cpu_events *x, const struct oracle_side *load,
		    const struct events_sighting *seen);
void events_used_block_end(struct cpu_events *x, const struct cpu_cta *cta);
void events_used_free(struct cpu_events *x);
/* line.c: the site of the first instruction of a site's line, with the same inlined call; itself
 * where no line is known. For oracle_group_lines. */
const void *events_line_of(void *arg, const void *site);
/* site.c: made once for an instruction; makes the list of sites of a function, and finds its
 * invented loads. */
struct cpu_site *events_site_new(struct cpu_events *x, struct cpu_func *f, uint32_t pc);
void events_sites_make(struct cpu_events *x, struct cpu_func *f);
/* The load of a possible pair was used, in the sighting of these sides; NULL: that isn't known. */
void events_pair_sure(struct cpu_events *x, struct events_pair *p, const struct oracle_side *a,
		      const struct oracle_side *b);

/* handover.c, lock held. A strong access, before it is the oracle's; a fence, after it. */
void events_flag(struct cpu_events *x, uint32_t actor, const struct oracle_acc *acc,
		 uint64_t address);
void events_flags(struct cpu_events *x, uint32_t warp, uint32_t mask, const struct oracle_acc *acc,
		  const uint64_t *at);
void events_fenced(struct cpu_events *x, uint32_t warp, uint32_t mask, uint8_t scope);
/* A warp executes an access, in a block with copies; the copies. */
void events_executed(struct cpu_events *x, const struct cpu_site *site, uint32_t warp);
void events_copy_issued(struct cpu_events *x, uint32_t actor);
/* After the oracle has had the write. */
void events_copy_wrote(struct cpu_events *x, uint64_t address, uint64_t bytes);
/* A block's shared memory is new. */
void events_copies_forget(struct cpu_events *x, uint64_t address, uint64_t bytes);
void events_copy_completed(struct cpu_events *x, uint32_t actor, uint64_t mbarrier, uint64_t phase);
void events_phase_waited(struct cpu_events *x, uint32_t actor, uint64_t mbarrier, uint64_t phase);
/* Bits of what is missing (enum race_missing), and of how far apart the two are. */
uint32_t events_missing(struct cpu_events *x, const struct oracle_finding *f);
uint32_t events_apart(struct cpu_events *x, const struct oracle_finding *f);

/* site.c: called for every racing pair (oracle_on_race). */
void events_on_race(void *arg, const struct oracle_finding *f);
/* events.c: with an oracle of those options, of which the machine's own decide the rest;
 * events_on_race gets its races. NULL: no memory. events_free frees the oracle and what every such
 * holds; cpu_event_free frees the machine's. */
struct cpu_events *events_new(struct cpu_machine *m, struct oracle_options opt);
void events_free(struct cpu_events *x);
/* Of a store by lanes of x->storing, one element each: which values are equal (oracle_storing). */
void events_storing(struct cpu_events *x, const void *inst, uint32_t mask, const uint64_t *at);
/* Where the pair's sightings are counted, if that is all there is to do (oracle_count_repeats). */
uint64_t *events_count_repeats(void *arg, const struct oracle_finding *f, bool *is_same);
/* A thread uses registers of a matrix product (first) that is not finished. Lock held. */
void events_registers_found(struct cpu_events *x, enum race_kind kind,
			    const struct oracle_side *first, const struct oracle_side *second);
/* Fills the words of a site. */
void events_site_fill(struct cpu_events *x, struct cpu_site *s);

#endif
