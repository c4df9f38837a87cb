/*
 * instrument.h - the front header of src/instrument: PTX in, checked PTX out.
 *
 * pipeline.c reads as the list of what happens to a module. Everything is done
 * on the IR; PTX text comes only from templates (*.ptxt) that src/ptx reads.
 */
#ifndef COLLIDER_INSTRUMENT_H
#define COLLIDER_INSTRUMENT_H

#include "ptx/ptx.h"
#include "race/detector.h"
#include "race/plain.h"

/* Functions of the size of a radix sort's kernels stay inlined: a call costs more at run time. In a
 * module with more than INST_LARGE_MODULE loads and stores the time of ptxas matters more. */
#define INST_INLINE_GROUPS 160
/* Under -rdc all functions stay and are capped together, which makes ptxas slower. */
#define INST_RDC_GROUPS	  64
#define INST_LARGE_MODULE 2000
#define INST_LARGE_GROUPS 24
/* Functions with more accesses than INST_MANY_SITES, one in fewer than INST_SITE_LINES lines,
 * call, too: an inlined check has 40 lines and more, so their text would become about four times
 * as long. */
#define INST_MANY_SITES 200
#define INST_SITE_LINES 14

/* A register budget of one kernel, from assembling the original (toolchain). */
struct inst_limit {
	const char *kernel; /* name in the PTX */
	unsigned maxnreg;   /* put ".maxnreg N"; 0: none needed */
	bool skip;	    /* leave this kernel unchanged: nothing fits */
	const char *why;    /* with skip: the reason, for the footer */
	bool call_free;	    /* report without calling __collider_report */
	bool no_calls;	    /* checks are inlined; only what is rare is called */
};

/* The passes over a module; the choices of --dump are in the same order. */
enum inst_pass {
	INST_PASS_NONE,
#define PASS(id, ...) INST_PASS_##id,
#include "base/passes.def"
	INST_PASSES
};

/* ---- what --prune leaves out: found by src/cli with collider prove, a plain list ---- */

/* A number of a launch: blockDim x y z, gridDim x y z, a parameter of 32 bits by index from 0 (not
 * negative, or the condition fails), or a constant. */
enum inst_prune_kind { INST_PRUNE_CONST, INST_PRUNE_DIM, INST_PRUNE_PARAM };

struct inst_prune_number {
	enum inst_prune_kind kind;
	uint64_t n; /* the constant, the dimension 0..5, the parameter */
};

enum inst_prune_cmp {
	INST_PRUNE_EQ,
	INST_PRUNE_NE,
	INST_PRUNE_LT,
	INST_PRUNE_LE,
	INST_PRUNE_GT,
	INST_PRUNE_GE,
	INST_PRUNE_CMPS
};

/* (a * b) or (a % b), compared with (c * d), in 64 bits without sign. */
struct inst_prune_term {
	enum inst_prune_cmp cmp;
	bool is_rem;
	struct inst_prune_number a, b, c, d;
};

#define INST_PRUNE_TERMS 24

struct inst_prune_site {
	uint32_t ptx_line;
	bool is_shared;	     /* else global */
	bool is_conditional; /* only where all terms hold */
};

/* Instruction `nth` of the body, from 0, accesses memory behind pointer `array` of the kernel. */
struct inst_prune_test {
	uint32_t nth, array;
};

/* One kernel. */
struct inst_prune {
	const char *kernel; /* its name in the PTX */
	uint32_t nterms;
	struct inst_prune_term term[INST_PRUNE_TERMS];
	BASE_VEC(struct inst_prune_site) sites;
	/* Where all terms hold and accesses stay in their arrays, nothing of it needs a check.
	 * Then its pointers, by their place in the parameter block, and its accesses to global
	 * memory. */
	bool is_whole;
	uint32_t narrays;
	uint64_t array[RACE_PLAIN_ARRAYS];
	BASE_VEC(struct inst_prune_test) tests;
};

struct inst_prunes {
	struct base_arena arena;
	bool is_late;	  /* with more time more may be found */
	bool lacks_notes; /* ... once there are notes of a kernel's launches, for which it asks */
	BASE_VEC(struct inst_prune) kernels;
};

/* What a detector's checks made of one function. */
struct inst_size {
	struct ptx_str name;
	uint32_t statements; /* instructions and labels, checks included */
	uint32_t lines, lines_after;
	uint32_t sites, groups;
};

struct inst_options {
	unsigned sanitize;  /* the detectors: a set of race/detector.h */
	int inline_groups;  /* more groups: check by call; 0: the limits above; -1: all do */
	unsigned group_max; /* accesses checked together, 1..8; 0: 8 */
	bool trap;	    /* --trap: brkpt when there is no agent */
	bool raise_target;  /* raise .target below sm_70 */
	bool call_free;	    /* never call; report inline */
	bool relocatable;   /* -rdc: other objects bring the same symbols */
	/* Lists of patterns: kernels that alone get checks, and functions that get none; NULL: all
	 * get them. See select.c. */
	const char *kernel_name, *kernel_name_exclude;
	/* Patterns likewise: only accesses of these variables and parameters are checked. */
	const char *variable;
	/* Called for each function that got checks, unless it is NULL. */
	void (*on_size)(void *arg, const struct inst_size *size);
	void *on_size_arg;
	const struct inst_prune *prunes; /* accesses that need no check, by kernel */
	size_t nprunes;
	bool all_loads;	   /* check loads of shared memory that barriers keep apart, too */
	bool leaves_plain; /* iguard leaves kernels to hirace that the two judge alike (iguard.c) */
	bool prune_alone;  /* global ones only while the launch runs alone (--prune=proved-alone) */
	bool plain;	   /* a kernel's own code once more, for proven launches (race/plain.h) */
	/* The text's hash: the launches of kernels that aren't proven are to be noted
	 * (race/noted.h); 0: none. */
	uint64_t noted;
	bool samples;	      /* and for those that a sample leaves out, where that costs little */
	uint32_t shared_room; /* static shared memory a block may have; 0: what all targets allow */
	enum inst_pass dump;  /* the pass whose result is printed to stderr */
	const struct inst_limit *limits;
	size_t nlimits;
	const char
		*text_file; /* where accesses without a line are: the text itself; NULL: unknown */
};

struct option_set;
struct base_buf;
/*
 * options.c: takes the options that were given, not the defaults; texts are copied to the arena.
 * And writes those that aren't 0 as an option list (option_read_own), but for --prune, of which
 * prune_alone is a part.
 */
void inst_options_read(struct inst_options *o, const struct option_set *s, struct base_arena *a);
void inst_options_write(struct base_buf *out, const struct inst_options *o);

/* What was done, for messages and tests. */
struct inst_stats {
	uint32_t kernels, functions;
	uint32_t sites; /* accesses instrumented */
	uint32_t groups;
	uint32_t by_call; /* kernels and functions whose checks are calls */
	uint32_t skipped_private, skipped_dead, undisturbed, strong, unsupported, unknown;
	uint32_t speculated;
	uint32_t pruned;   /* accesses without a check, or with one outside of a contract only */
	uint32_t noted;	   /* kernels whose launches are noted */
	uint32_t left_out; /* kernels and functions, by name */
	uint32_t left_out_accesses;
	uint64_t patterns; /* of --variable that match an access (race_variable_patterns) */
	bool already;	   /* carried Collider's marker: left alone */
	bool too_old;	   /* .target below sm_70: left alone */
	bool idle;	   /* nothing to check: no instruction was put in */
};

/*
 * Instruments the module in place. Returns 0, or a base_exit code with the reason in `sink`;
 * on failure the module must not be printed. A module that already carries the marker, or whose
 * target is too old, is left as it is (stats say so).
 */
int inst_run(struct ptx_module *m, const struct inst_options *opt, struct inst_stats *stats,
	     struct base_sink *sink);

/*
 * Is there nothing to check: no instruction that accesses memory which threads share, and none that
 * the table doesn't know? Under -rdc only a module without functions is idle: others may call its
 * functions. Such a module gets no code and needs no registers; where it has functions, the
 * detectors' blocks mark it, so that a run doesn't take it for one that was built without checks.
 */
bool inst_is_idle(const struct ptx_module *m, bool is_relocatable);

/* Text to text: parse, instrument, print. `out` is only written on success. */
int inst_text(const char *file, const char *text, size_t size, const struct inst_options *opt,
	      struct base_buf *out, struct inst_stats *stats, struct base_sink *sink);

/*
 * Are passes verified? Yes in debug builds, and wherever COLLIDER_VERIFY is set (the tests set it).
 * A pass that leaves a defect ends the run with exit code 70.
 */
bool inst_verifies(void);

/*
 * select.c: the option by which a function stays without checks, or NULL. `name` as in the PTX.
 * And a pattern for such an option that matches this function, in the arena.
 */
const char *inst_left_out(const struct inst_options *opt, const char *name, bool is_entry);
char *inst_pattern_of(struct base_arena *a, const char *name);

/* The detectors whose checks a module has: a set of race/detector.h. */
unsigned inst_detectors_of(const struct ptx_module *m);

/*
 * strip.c: removes all that inst_run has inserted, for whatever detectors. The rest assembles to
 * the original's machine code, unless the toolchain has capped a kernel's registers (.maxnreg
 * stays). False if something of ours is used in a way that none of our passes generates (the
 * reason is in `sink`).
 */
bool inst_strip(struct ptx_module *m, struct base_sink *sink);
/*
 * bare.c: appends a module's text as its compiler left it (or as it is, if what was inserted
 * can't be removed); and the same as a line of JSON, {"ptx":...}, as --record-launches has it.
 */
void inst_bare(const char *file, const char *text, size_t size, struct base_buf *out);
void inst_bare_line(const char *file, const char *text, size_t size, struct base_buf *out);

#endif
