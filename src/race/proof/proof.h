/*
 * proof.h - what collider prove found out about a kernel, as data.
 *
 * src/prove fills it in, src/report turns it into words (proof_text.c, proof_json.c), src/cli adds
 * what a run on the CPU device confirmed. Strings live in the arena of struct race_proofs.
 */
#ifndef COLLIDER_RACE_PROOF_H
#define COLLIDER_RACE_PROOF_H

#include "race/race.h"

enum race_verdict {
	RACE_VERDICT_FREE,
	RACE_VERDICT_SINGLE, /* race-free, but only as one thread, or one block, runs it */
	RACE_VERDICT_BENIGN, /* race-free up to stores of equal values (--benign=same-value) */
	RACE_VERDICT_TRUE,
	RACE_VERDICT_POTENTIAL,
	RACE_VERDICT_UNPROVEN,
	RACE_VERDICT_VACUOUS,
	RACE_VERDICT_COUNT
};

enum race_problem_kind {
	RACE_PROBLEM_UNPROVEN, /* not modelled, or the solver gave up */
	RACE_PROBLEM_VACUOUS,  /* an assumption that contradicts others or the launch */
	/* These leave the verdict as it is: */
	RACE_PROBLEM_EXCLUDED, /* an access that the assumptions exclude */
	RACE_PROBLEM_SINGLE,   /* one thread or block is proven; what is known of more */
	RACE_PROBLEM_BARRIER   /* a barrier that some threads or blocks skip */
};

/* Of whom a proof of RACE_VERDICT_SINGLE speaks. */
enum race_single { RACE_SINGLE_NOT, RACE_SINGLE_BLOCK, RACE_SINGLE_THREAD };

/* What made a kernel unproven, for the columns of the summary. */
enum race_problem_cause { RACE_CAUSE_OTHER, RACE_CAUSE_TIMEOUT, RACE_CAUSE_CRASH };

/* Why a kernel's verdict is "could not prove" or "vacuous", or what the verdict doesn't cover. */
struct race_problem {
	enum race_problem_kind kind;
	enum race_problem_cause cause;
	const char *text;
	const char *file; /* of the source; "" = unknown */
	uint32_t line, ptx_line;
};

/* A variable of the program at an alarm's accesses; for a global one side 1 says the same. */
struct race_alarm_var {
	const char *name;
	bool is_global;	   /* the same in all threads: parameters, dimensions */
	bool is_signed;	   /* the values */
	bool is_known[2];  /* else any value, or not present */
	bool is_approx[2]; /* the analysis doesn't know it exactly (the paper underlines it) */
	bool is_control, is_data; /* it determines whether the access is reached, its index */
	uint64_t value[2];	  /* sign-extended */
};

#define RACE_ALARM_VARS 32

struct race_alarm_side {
	uint8_t kind;	  /* enum race_op_kind */
	uint8_t strength; /* enum race_strength */
	uint16_t bytes;
	const char *file; /* "" = unknown */
	uint32_t line, col, ptx_line;
	const char *text;  /* the PTX instruction */
	const char *index; /* the element, as an expression, or "" */
	uint32_t tid[3], ctaid[3];
	uint64_t offset; /* in the object */
	uint32_t phase;	 /* barriers before, in the launch that was replayed */
	bool is_approx_index, is_approx_path;
};

/* How far apart the two threads are at most. THREAD: one does both, a read-only load
 * and a write. */
enum race_level {
	RACE_LEVEL_THREAD,
	RACE_LEVEL_WARP,
	RACE_LEVEL_BLOCK,
	RACE_LEVEL_CLUSTER,
	RACE_LEVEL_GRID
};

struct race_alarm_param {
	uint64_t off, value; /* in the parameter block */
	uint32_t bytes;
	const char *name; /* of an alarm's: "" where it isn't known */
};

/* What memory holds in the launch: the solver's choice for an array that the kernel only reads. */
struct race_alarm_content {
	uint64_t param, at,
		value; /* the pointer's place in the parameter block, byte in its array */
	uint32_t bytes;
	bool is_signed;	  /* value is that of a number with a sign */
	const char *name; /* of the parameter, or "" */
};

static inline int64_t race_alarm_number(const struct race_alarm_content *c)
{
	unsigned gap = c->is_signed && c->bytes < 8 ? 64 - 8 * c->bytes : 0;

	return (int64_t)(c->value << gap) >> gap;
}

#define RACE_ALARM_CONTENTS 16

/* What a run of the launch on the CPU device under the oracle showed (--confirm). */
enum race_filled {
	RACE_FILLED_ZEROS,
	RACE_FILLED_CONTENTS, /* the alarm's contents, zeros elsewhere */
	RACE_FILLED_MIXED,    /* word i is RACE_MIXED_WORD(i) */
	RACE_FILLED_COUNTED   /* word i of 32 bits is i: sorted, and each element another */
};
#define RACE_MIXED_FACTOR  2654435761u
#define RACE_MIXED_WORD(i) (((uint32_t)(i) + 1) * RACE_MIXED_FACTOR >> 24)
enum race_confirmed { RACE_NOT_TRIED, RACE_CONFIRMED, RACE_NOT_CONFIRMED };

struct race_alarm {
	bool is_true;
	bool is_benign;	       /* both store the same value: excused by --benign=same-value */
	bool has_equal_values; /* it would be, as far as the stores show by themselves */
	enum race_class cls;   /* RACE, VOLATILE, READ_ONLY or LOCKSTEP */
	uint32_t stands_for;   /* pairs of accesses: several of LOCKSTEP are one */
	enum race_level level;
	bool is_exited; /* one thread has ended; no later barrier orders its accesses */
	bool has_launch;
	bool is_within; /* the launch keeps to all that is assumed, but for race_proof.rests_on */
	const char *object; /* what both access */
	const char *reason; /* why it is only potential, or "" */
	const char *order;  /* the operation that may order the two ("line 12: atom..."), or "" */
	struct race_alarm_side side[2];
	uint32_t ntid[3], nctaid[3];
	uint32_t nparams, nvars;
	struct race_alarm_param param[64];
	struct race_alarm_var var[RACE_ALARM_VARS];
	uint32_t ncontents;
	struct race_alarm_content content[RACE_ALARM_CONTENTS];
	enum race_confirmed confirmed;
	uint32_t seed;		 /* of the schedule in which it was confirmed */
	enum race_filled filled; /* what arrays held when it was confirmed */
	const char *reproducer;	 /* a file, or "" */
};

/* What the contract says that a launch's numbers don't show: a run is of the contract only where it
 * keeps that, too. */
enum race_rests {
	/* A parameter's array, of elements of 32 bits or more, is sorted, or has none twice. */
	RACE_RESTS_SORTED = 1,
	RACE_RESTS_INJECTIVE = 2,
	RACE_RESTS_THREADS = 4, /* the kernel's code asks its threads: each of them must run */
	RACE_RESTS_OTHER = 8	/* what no run is tested for */
};

/* A kernel has at most so many alarms; what is found beyond is left out. */
#define RACE_PROOF_ALARMS 64

struct race_proof_counts {
	uint32_t accesses, pairs; /* that may conflict */
	uint32_t cases;		  /* of pairs: ways to be concurrent */
	uint32_t quick;		  /* cases decided by arithmetic, without the solver */
	uint32_t by_trying;	  /* pairs that race in a small launch: no query either */
	uint32_t queries;
	uint32_t recalled;			/* of them answered from the cache */
	uint32_t by_integers, by_bits, gave_up; /* queries answered, not answered */
	uint32_t replays, failed_replays;
	uint32_t memory_kb; /* the most that the analysis needed */
};

/* An assumption that removes alarms, ready to paste after --assume. */
struct race_remedy {
	const char *assume;
	uint32_t alarms; /* that it removes */
	bool is_all;	 /* with it the kernel is proven */
	int seen;	 /* in the recorded launches: 1 holds in all, 0 does not, -1 unknown */
};

/* An instruction of the kernel's own body all of whose pairs are proven. */
struct race_proven_site {
	uint32_t ptx_line;
	bool is_shared;
};

/* An access of a kernel that may go unchecked: instruction `nth` of its body, from 0, in global
 * memory: behind the pointer at `param` among the parameters, or of a variable. */
struct race_free_site {
	uint32_t nth;
	uint64_t param;
	const char *variable; /* "": none */
};

/* Launches of one shape that the program made: how many, and what is known of them. */
struct race_proof_launch {
	uint32_t ntid[3], nctaid[3], n;
	const char *scalars; /* "n = 1024, m = 1 to 7", or "" */
	enum race_verdict verdict;
};

struct race_proof {
	const char *name, *name_shown; /* mangled, demangled */
	enum race_verdict verdict;
	enum race_single single; /* the proof is for one block or thread only */
	BASE_VEC(struct race_alarm) alarms;
	BASE_VEC(struct race_problem) problems;
	BASE_VEC(const char *) contract; /* sentences */
	BASE_VEC(const char *) protocol; /* lines, with --protocol */
	BASE_VEC(struct race_remedy) remedies;
	BASE_VEC(struct race_proven_site) sites; /* none where anything couldn't be analysed */
	/* With prove_options.wants_extents. Is every access to shared memory proven to stay within
	 * its variable? Is the kernel no more than weak accesses and barriers of its own, all of
	 * whose pairs are proven, and its contract, with stays_if, what a launch can be tested
	 * for? Then frees are its accesses to global memory; else why not. */
	bool stays_shared, is_whole;
	const char *stays_if; /* they do where this holds (--assume); NULL, "": always */
	const char *why_checked;
	BASE_VEC(struct race_free_site) frees;
	BASE_VEC(struct race_proof_launch) launches; /* where recorded ones are asked about */
	const char *others; /* then: what is known of other launches, or NULL, "" */
	/* Over all its accesses: does reaching one depend on an approximated value, does an
	 * index? */
	bool has_class, is_approx_path, is_approx_index;
	uint8_t free_dims;     /* bit d: blockDim x y z, gridDim x y z may have any value */
	bool has_launches;     /* only recorded ones are asked about */
	bool has_scalars;      /* values of parameters were given */
	uint32_t fixed_dim[6]; /* the others: what the contract says */
	struct race_proof_counts counts;
	uint64_t ms; /* processor time, for the user only */
	bool is_cached;
	bool is_settled;   /* with more time it would be the same */
	bool may_hold_any; /* a run of its launches that shows a race is of the contract, where the
			    * alarm's launch is, and arrays hold what rests_on asks for */
	uint8_t rests_on;  /* enum race_rests: bits */
	/* Proven by what arrays held as the launches started, which the contract names. */
	bool rests_on_contents;
};

struct race_proofs {
	struct base_arena arena;
	const char *file;
	BASE_VEC(struct race_proof) kernels;
	struct race_proofs *also; /* others whose strings these have, too, in the arena; or NULL */
};

const char *race_verdict_name(enum race_verdict v); /* "race-free", "true-alarm", ... */
const char *race_level_name(enum race_level l);	    /* "warp", "block", ... */
/* "CIDI", "CDDI", ...: reached and exact, in the FaialAA paper's words (section 3.2). */
const char *race_alarm_class(const struct race_alarm *a);
/* The same of a whole kernel (the paper's table 4); "" when it was not analysed. */
const char *race_proof_class(const struct race_proof *k);
/* helps.c: what usually helps against the alarm of k, in lines; "" where that isn't certain. */
const char *race_proof_helps(struct base_arena *a, const struct race_proof *k,
			     const struct race_alarm *al);
/* Is it proven with an assumption that was found? */
bool race_proof_has_remedy(const struct race_proof *k);
/* The exit code for the results: 10 before 11 before 12 before 13 before 14 before 0. */
int race_proof_exit_code(const struct race_proofs *r);
void race_proof_free(struct race_proof *k);
void race_proofs_free(struct race_proofs *r);

#endif
