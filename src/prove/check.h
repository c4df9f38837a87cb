/*
 * check.h - private to src/prove: the check of one kernel, shared by kernel.c, pairs.c, alarm.c,
 * remedy.c, tries.c and contract.c.
 */
#ifndef COLLIDER_PROVE_CHECK_H
#define COLLIDER_PROVE_CHECK_H

#include "prove/names.h"
#include "prove/phase.h"
#include "prove/prove.h"
#include "prove/replay.h"
#include "prove/work.h"

/* Steps of long replays where the kernel has a true alarm. */
#define CHECK_LONG_MORE (8u << 20)

/* Pairs of parameters that the contract names. */
#define CHECK_DISJOINT 8
#define CHECK_COUNTERS 8

/*
 * What the check of a kernel knows, by how long it holds: two accesses (pair), their threads so far
 * apart (level), one way in which these are in the same phase (way). Each is set as a whole where
 * it begins. A trial (remedy.c, benign.c, check_lockstep) asks about pairs again, without alarms.
 */
struct check_pair {
	const struct ev_access *a, *b;
	/* Nothing orders them: a write and a copy without a fence of proxies, or surfaces. */
	bool in_any_order;
	bool is_forced; /* no offsets to compare */
	/* The pointers were read from these places (ev_root), or NULL: it is one array where the
	 * places are one. are_slots_apart: and only there. */
	const struct ex *slot[2];
	bool are_slots_apart;
	bool is_new;	       /* malloc gave both, to threads of the block that uses them */
	bool is_of_block;      /* the pointer is one in each block, where places are compared */
	bool is_split_cluster; /* GRID: of different clusters only; CLUSTER: of one */
	bool has_failed;       /* it isn't proven */
	bool needs_more;       /* CHECK_BRIEF_LOOK: the solver had too little time */
};

struct check_level {
	enum race_level apart;
	enum smt_warp warp;
	bool is_partial; /* the same bytes are no conflict: morally strong */
	enum race_class cls;
	bool in_any_order; /* what orders the two doesn't count: a read-only load, no fence */
	bool is_done;	   /* the pair has its alarm */
	bool is_tried;	   /* prove_tries_first was asked */
};

/* Sums, of 64 bits and without wrapping, that are all equal where the pair's offsets overlap. */
#define CHECK_LEVELS 10
struct check_equal {
	const struct ex *sum[CHECK_LEVELS][2]; /* of each thread */
	unsigned n;
};

struct check_way {
	const struct phase_case *phase; /* NULL: no phases are compared */
	/* Lanes of one tile, or of two (prove_phase_tile): their masks are equal, or not. */
	enum { CHECK_NO_TILE, CHECK_ONE_TILE, CHECK_TWO_TILES } tile;
	uint32_t other_loop; /* the two are in different iterations of this one; or IR_NONE */
	const struct check_equal *equal; /* asked about instead of the offsets; or NULL */
};

struct check_trial {
	bool is_on;
	bool is_hasty;		  /* little patience for bit-vectors */
	bool is_quick;		  /* the solver isn't asked */
	bool has_more;		  /* only assumptions were added: what raced in a launch races */
	bool is_refuted;	  /* a launch that races was found */
	struct rows_needs *needs; /* NULL, or asks only what rows.c lacks */
};

/* Of the kernel: what may still be tried, or was tried in vain. */
struct check_effort {
	unsigned searches;
	unsigned refusals;   /* bit-vectors that gave up on a better model */
	unsigned ordered;    /* searches near a launch in which something may order the two */
	uint64_t steps_left; /* of prove_tries_first */
	uint64_t eager_left; /* of these, before the solver is asked */
	uint64_t near_left;  /* of prove_tries_near */
	uint64_t long_left;  /* of replays of launches with many steps */
	uint64_t hasty_at; /* then a kernel with alarms has little patience for others; 0: never */
	/* Where a remedy is looked for, too (limit_patience): what a query may take; from when on
	 * it is a third, if the solver gave up on one before. 0: no limit */
	uint64_t query_ms, hurried_at;
};

/* Of the kernel: what its proof had to assume, which becomes part of the contract. */
struct check_assumed {
	/* arrays that are apart: by the places of their parameters, and others */
	uint64_t disjoint[CHECK_DISJOINT][2];
	unsigned ndisjoint;
	bool has_others_disjoint, has_slots_disjoint;
	bool has_counts; /* tickets that are taken in a loop differ */
	bool has_sums;	 /* ... and so do as many numbers as were added */
	bool has_long;	 /* one of 64 bits whose answers are places stays far from their end */
	bool has_claims; /* what threads claim nothing else writes to */
	/* what holds 0 before the launch: counters of blocks, flags, locks; at is NULL: no more */
	struct check_zero {
		const struct ev_access *at;
		bool counts;
	} zero[CHECK_COUNTERS];
};

/* Launches in which a pair surely races: an assumption that one of them keeps doesn't help. */
#define CHECK_RACES 24
struct check_race {
	const struct ev_access *a, *b;
	const struct smt_model *m;
};

/* How much is asked about a pair (looks.c): arithmetic alone; the solver for a moment, or as long
 * as it has time. */
enum check_look { CHECK_LONG_LOOK, CHECK_BRIEF_LOOK, CHECK_FIRST_LOOK };

struct kernel_task;
struct contract;

struct check {
	const struct kernel_task *task;
	struct ev *e;
	struct ex_pool *pool;
	struct smt *smt;
	struct names names;
	struct phases phases[IR_RANKS];
	uint32_t cluster[3]; /* blocks of a cluster; 0: the kernel doesn't say */
	const struct prove_options *o;
	struct race_proof *k;
	struct base_arena *arena;
	uint64_t deadline;
	struct places **places; /* by access, as far as asked for: places.c; or NULL */

	struct ranks *ranks; /* ranks/: the block, run with letters; NULL: not asked for yet */
	bool has_ranks;	     /* something is proven by that, if all other pairs are */

	bool has_lanes;	     /* prove_meet_has_lanes */
	bool *is_open;	     /* by access: some pair with it isn't proven */
	bool is_set_up_open; /* an alarm says that an mbarrier may be used before it is set up */
	bool has_unordered;  /* ... that pairs which nothing orders aren't apart */
	bool is_full;	     /* alarms of some pairs were left out, as too many */
	bool *is_unstable;   /* ... as benign.c found before; NULL: that isn't known */
	struct order *order; /* order.c; NULL: not looked for yet */
	bool is_by_powers;   /* powers_are_proven */
	struct check_assumed assumed;
	struct check_effort effort;
	struct check_trial trial;
	enum check_look look;
	struct check_race race[CHECK_RACES]; /* the latest ones */
	unsigned nraces;		     /* in all */
	struct check_pair pair;
	struct check_level level;
	struct check_way way;
};

/*
 * A query's limit. Those of integers that prove something do it in half of their milliseconds, of
 * bit-vectors in a quarter (docs/results/prover.md). CHECK_BETTER: for a model that the integers
 * have already, but can't be replayed. An option that gives a kernel more than CHECK_USUAL_MS gives
 * its queries more. False: the deadline has passed.
 */
#define CHECK_USUAL_MS 10000
enum check_patience { CHECK_QUERY, CHECK_BETTER };
static inline bool check_limit(struct smt_query *q, enum check_patience how, uint64_t deadline)
{
	uint64_t now = prove_now_ms(), left = deadline > now ? deadline - now : 0;
	uint64_t most = how == CHECK_BETTER ? 50 : q->use_bits ? 2750 : 550;

	if (left > CHECK_USUAL_MS)
		most = most * left / CHECK_USUAL_MS;
	q->work_ms = (unsigned)(left < most ? left : most);
	return left > 0;
}
static inline bool check_is_of_surface(const struct check *c)
{
	return c->pair.a->mem->is_surface && c->pair.b->mem->is_surface;
}

/* May the two conflict at all: does one write? */
bool prove_may_conflict(const struct ev_access *a, const struct ev_access *b);
/* Is the pair proven, at all levels and in all ways? Alarms are raised unless c->trial.is_on. */
bool prove_one_pair(struct check *c, const struct ev_access *a, const struct ev_access *b);
/* ... at these levels (enum race_level), whatever orders the two? */
bool prove_pair_in_any_order(struct check *c, const struct ev_access *a, const struct ev_access *b,
			     const bool *level);
/* An alarm that nothing replays concerns all: no access of the kernel counts as proven. */
void prove_nothing_is_proven(struct check *c);

/* Does the solver say, soon, that these sums are never all equal in two threads? */
bool prove_are_never_equal(struct check *c, const uint8_t *counters, const struct check_equal *e);

/* alarm.c: what to say. */
void prove_alarm_place(struct check *c, const struct ptx_stmt *s, const char **file,
		       uint32_t *line);
const char *prove_alarm_object(struct check *c, const struct ev_access *a);
void prove_alarm_problem(enum race_problem_kind kind, const struct ptx_stmt *at, const char *text,
			 void *check);
/* The variables at an access, to be watched in a replay. */
void prove_alarm_watch(struct check *c, const struct ev_access *a, struct replay_watch *w);
struct race_alarm *prove_alarm_find(struct check *c);
/* Of the pair in hand; m, met: NULL where there is no launch. */
struct alarm_facts {
	const struct smt_model *m;
	const struct replay_meeting *met;
	bool is_true, is_exited, is_benign;
	const char *reason;
};
void prove_alarm_raise(struct check *c, const struct alarm_facts *f);
void alarm_merge(struct check *c, bool (*fn)(const struct race_alarm *, void *), void *arg);

/* tries.c: small launches before the solver is asked, and near to its model. True: the pair races
 * in *m, within the contract. */
void prove_tries_open(struct check *c);
bool prove_tries_first(struct check *c, const struct replay_pair *p, bool is_eager,
		       struct smt_model *m, struct replay_meeting *met);
bool prove_tries_near(struct check *c, const struct replay_pair *p, struct smt_model *m,
		      struct replay_meeting *met);
/* The pair in hand races in *m. */
void prove_tries_note(struct check *c, const struct smt_model *m);
/* Does one of the launches in which it was seen to race keep to the assumptions as they are now? */
bool prove_tries_known(const struct check *c);

/* quick.c: can the pair touch the same memory, by its roots? Sets how c->pair is compared. */
bool prove_quick_may_alias(struct check *c);
/* ... in threads so far apart as c->level says? */
bool prove_quick_may_at_level(struct check *c);
/* Can the two accesses not overlap, as simple arithmetic shows? False: ask the solver. */
bool prove_quick_is_apart(struct check *c, const uint8_t *counters);
/* Do both threads have the same value? */
bool quick_is_shared(const struct check *c, const struct ex *v, const uint8_t *counters);
/* linear.c: the same by the bits of the offsets and guards. */
bool linear_is_apart(struct check *c, const uint8_t *counters);
/* places.c: ... by all bytes that the threads of a block of known size touch. */
bool places_are_apart(struct check *c, const uint8_t *counters);
/* digits.c: by numbers times digits of the positions; is_alone: of one thread, which does both. */
bool digits_are_apart(struct check *c, const uint8_t *counters, bool is_alone);
/* Is v, of both accesses, another in each thread? */
bool digits_differ(struct check *c, const uint8_t *counters, const struct ex *v);
/* split.c: does fn say so for each value of the strides that are powers of two? */
typedef bool split_fn(struct check *c, const uint8_t *counters);
bool split_is_apart(struct check *c, const uint8_t *counters, split_fn *fn);
/* ranks/: by places that a block's threads work out together? Holds where all pairs are proven. */
bool ranks_are_apart(struct check *c);
/* meet.c: is the counter, to which this atomic operation of the kernel adds, one for all threads of
 * the level, that nothing else writes to? By the contract it doesn't come around. */
bool meet_has_own_counter(struct check *c, const struct ir_access *mem);
/* Do so many threads surely add the constant step of t to `at` that the counter comes around to a
 * number that it gave, or over what it is to stay below? Then no launch keeps to the contract. */
bool meet_overflows(struct check *c, const struct ev_access *at, const struct ev_assume *t);
/* Answers of one counter differ (tickets). Do the guards of the pair in hand say that both threads
 * got the same number? */
bool meet_tickets_deny(struct check *c);
/* Is v, which both offsets have, an answer that differs in two threads? */
bool meet_is_ticket(struct check *c, const struct ex *v);
/* The second access's offset, where its answer is called as the one of the first access is, if the
 * two differ like those of one instruction. */
const struct ex *meet_same_ticket(struct check *c, const struct ex *off);
/* In the open query: where `guard` holds v, which comes from such a counter, is below 2^48, if it
 * has 64 bits, and `step` doesn't look as if two numbers were in one word. */
void meet_hold_modest(struct check *c, const struct ex *guard, const struct ex *v,
		      const struct ex *step);
/* Is the write of a variable of the block's surely in another phase than the atomic operation? */
bool meet_is_other_phase(const struct check *c, const struct ev_access *x,
			 const struct ev_access *at);
/* ... whose phase is one of several, as a loop with barriers is around it? */
bool meet_is_set_again(const struct check *c, const struct ev_access *at);
/* rows.c: by strides that parameters give; or what is missing for that, as assumptions. */
#define ROWS_MAX_NEEDS 24
struct rows_needs {
	const char *text[ROWS_MAX_NEEDS];
	unsigned n;
};
bool rows_are_apart(struct check *c, const uint8_t *counters);
bool rows_find_needs(struct check *c, const uint8_t *counters, struct rows_needs *needs);
/* rounds.c: ... in each iteration of loops that have few, and each band of threads? */
bool rounds_are_apart(struct check *c, const uint8_t *counters, split_fn *fn);
/* bands.c: where the thread's number chooses values, for each of the choices. */
bool bands_are_apart(struct check *c, const uint8_t *counters, split_fn *fn);
/* meet.c: in the open query, what barriers of some lanes order, and tickets that differ. */
void prove_meet_hold(struct check *c);
/* Is there a barrier of some lanes that orders? Then the lanes of a warp are asked about apart. */
bool prove_meet_has_lanes(const struct check *c);
/* Is there a launch in which the two, of one thread, are surely unordered? That is an alarm. */
void prove_show_own_copy(struct check *c, const struct ev_access *copy,
			 const struct ev_access *own);
/* meet.c: what a thread accesses while its own copy is under way must be elsewhere, or that is a
 * problem. */
void prove_meet_own_copies(struct check *c);
/* Is a copy that is under way in one iteration of a loop apart from the other access there? */
bool meet_late_is_apart(struct check *c, const uint8_t *counters);
/* value/boxes.c: finds bytes of tensor copies' boxes; true: some more, so that the kernel is to be
 * evaluated again. Says which weren't found; names in the contract what was. */
bool prove_boxes_find(struct ev *e);
void prove_boxes_check(struct ev *e);
void prove_boxes_say(struct check *c);
/* order/order.c: which counters, flags, locks and named barriers are there? Before the pairs are
 * asked about. */
void order_find(struct check *c);
/* Does one of them order the pair in hand? */
bool order_is_kept(struct check *c);
/* In the open query, which threads have places for themselves. */
void order_hold(struct check *c);
/* order/products.c: is one of the pair a matrix product, and the other after a wait for it? */
bool products_are_over(struct check *c, const uint8_t *counters);
/* What no pair says of bulk copies and mbarriers: a thread's own accesses, inits. After the
 * pairs. */
void order_check_copies(struct check *c);
/* Reports what the code assumes of atomics' answers and no two threads can be given. */
void order_check_assumed(struct check *c);
/* extents.c: which accesses a launch may leave unchecked, and whether those to shared memory stay
 * within their variables. After all pairs. */
void extents_find(struct check *c);
/* outside.c: accesses that the contract rules out, as they can't be within their array. Says
 * so, as proofs that take it for inside are worth nothing, nor are alarms of no launch. Asked where
 * there is no alarm, or one that may be of none. After all pairs. */
void prove_find_outside(struct check *c, const struct contract *contract);
/* contract.c */
void prove_say_contract(struct check *c);
/* pins.c: parameters that the assumptions give a number or bounds, for ex_pool. */
uint32_t prove_pins_find(const struct ev *e, struct ex_pin *out);
/* powers.c: is the kernel proven for each value of a parameter that is assumed to be a power of
 * two? Before the pairs are asked about. */
bool powers_are_proven(struct check *c);
/* ... for each of the few values that the assumptions leave a parameter? Where the pairs aren't. */
bool powers_few_are_proven(struct check *c);
/* In place of the pairs, then. */
void powers_skip_pairs(struct check *c);
/* With which assumption that a parameter is a power of two would it be proven? Or NULL. */
const char *powers_find(struct check *c);
/* ... that it is one of few numbers, or a power of two? Costs an analysis where it doesn't help. */
const char *powers_find_few(struct check *c, const struct names_param *p, uint64_t end);
/* remedy.c: assumptions that take alarms away. */
void prove_remedy_find(struct check *c);
/* What each array is accessed with, as text. */
void prove_write_protocol(struct check *c);

/* benign.c: are both stores of the same bytes, with values that are proven equal? */
typedef bool benign_ask(struct check *c, const void *arg);
bool benign_is_same(struct check *c, benign_ask *ask, const void *arg);
/* Would that option excuse them, as one value for all threads shows at once? */
bool benign_would_be(const struct check *c);
/* Which loads may see a value that is written in their phase? Before the pairs are asked about. */
void benign_find_unstable(struct check *c);

/* solve/hold.c: what holds in thread t at a block, where `guard` lets it come; for both threads. */
void prove_hold_side(struct check *c, const struct ex *guard, uint32_t block, unsigned t);
void prove_hold_both(struct check *c, uint32_t a, uint32_t b);
/* Is an access within its array? NULL: the array's size isn't known; it is of variables. */
const struct ex *prove_is_inside(struct check *c, const struct ev_access *x);
/* By the contract it is. */
void prove_hold_inside(struct check *c, const struct ev_access *x, unsigned t);
/* looks.c: all pairs; c->is_open says which accesses aren't proven. */
void prove_all_pairs(struct check *c);
/* lockstep.c: alarms that are none if the lanes of a warp execute in step become one. */
void check_lockstep(struct check *c);

/* What is known of a kernel before its analysis ends, which may be killed: `others` is set where
 * only they are missing. */
struct kernel_early {
	void (*fn)(const struct race_proof *k, void *arg);
	void *arg;
};

/* kernel.c: analyses one kernel into *k; strings in arena. early may be NULL. */
void prove_kernel(struct ptx_module *m, struct ptx_func *f, const struct prove_options *o,
		  struct base_arena *arena, struct race_proof *k, const struct kernel_early *early);

struct launch_reads {
	bool is_read[6];
	/* Nothing says how many threads of a block, blocks of a grid there are: one by default. */
	bool is_one_thread, is_one_block;
};

/* One contract of a kernel, to be analysed: some launches of it, or any; in which time. */
struct kernel_task {
	struct ptx_module *m;
	struct ptx_func *f;
	const struct prove_options *o;
	struct launch_reads reads; /* the dimensions that count as read */
	struct base_arena *arena;
	struct race_proof *k; /* the answer */
	uint64_t deadline;
	struct kernel_trial *trial;	  /* NULL, or only: is there a pair that isn't proven? */
	const struct kernel_early *early; /* or NULL */
};

/* Milliseconds of processor time for one try: what helps is mostly proven in 200. */
#define REMEDY_TRY_MS 400
enum kernel_answer { KERNEL_OPEN, KERNEL_REFUTED, KERNEL_PROVEN };

/* An analysis that ends at the first pair that isn't proven. is_quick: without the solver; then
 * contradictory assumptions prove anything. */
struct kernel_trial {
	bool is_quick, has_failed, is_refuted;
	bool is_patient;		 /* bit-vectors have as much time as without a trial */
	const struct race_proof *alarms; /* of the kernel: their pairs are asked about first */
};

/* Analyses it into t->k. *names, if any: the parameters' names, as long as the arena. */
void kernel_analyse(const struct kernel_task *t, struct names *names);
/* Is all of the kernel proven with one more assumption, whose values are put in its expressions?
 * is_quick: as far as that is known without the solver. */
enum kernel_answer kernel_try_with(const struct kernel_task *t, const char *assume,
				   uint64_t deadline, bool is_quick);
/* How many alarms it has then; SIZE_MAX: that isn't known in time. */
size_t kernel_count_with(const struct kernel_task *t, const char *assume, uint64_t deadline);
/* An answer that says nothing yet. */
void kernel_open_proof(const struct kernel_task *t);

/* launches.c: was a launch of the kernel recorded? Analyses it for all that were. */
bool launches_has(const struct prove_options *o, const char *kernel);
void launches_check(const struct kernel_task *t);

/* wire.c: a kernel's result as bytes and back. Returns false when the bytes are cut off. */
void prove_wire_write(const struct race_proof *k, struct base_buf *out);
struct wire_job {
	const char *text; /* the PTX, of `size` bytes */
	size_t size;
	const char *kernel; /* mangled */
	const struct prove_options *o;
};
/* The result of an earlier run; false: there is none, or o->cache is NULL. */
bool prove_wire_recall(struct base_arena *arena, const struct wire_job *j, struct race_proof *k);
/* Keeps a result as prove_wire_write made it; limit_ms: one that more than that time might change,
 * or 0. Fails silently. */
void prove_wire_keep(const struct wire_job *j, const char *p, size_t n, unsigned limit_ms);
bool prove_wire_read(struct base_arena *arena, const char *p, size_t n, struct race_proof *k);

/* ---- launch.c: the dimensions ---- */

#define MAX_BLOCK_THREADS 1024

/* CUDA's, of blockDim x y z, gridDim x y z. */
extern const uint32_t launch_limits[6];
uint64_t prove_launch_max_threads(const struct ir *ir);

void prove_launch_reads_of(const struct ir *ir, const struct prove_options *o,
			   struct launch_reads *out);
/* The same when the kernel is evaluated: takes back what only a library reads. True: something. */
bool prove_launch_refine(const struct ev *e, const struct prove_options *o,
			 struct launch_reads *reads);
/* Dimensions that aren't read are 1; the others have CUDA's limits, the kernel's, or what the
 * options say. */
void prove_launch_find(const struct ir *ir, const struct prove_options *o, const char *kernel,
		       const struct launch_reads *reads, struct ex_launch *l);
/* Are two launches of one kernel, with equal dimensions and arrays? */
bool launch_is_alike(const struct prove_launch *a, const struct prove_launch *b);
/* Do launches of one kernel differ in which pointers are of one array, or have too many? */
bool launch_may_alias(const struct prove_launch *l, size_t n);
/* Is a statement from a header of the toolkit, or below one of the -isystem folders? */
bool prove_launch_is_library(const struct ir *ir, const struct prove_options *o,
			     const struct ptx_stmt *at);
bool prove_launch_is_library_place(const struct ir *ir, const struct prove_options *o,
				   const struct ptx_loc *l);

/* ---- contract.c: the launch contract, and whether any launch keeps to it ---- */

#define CONTRACT_EXCLUDED "the assumptions keep this access from being reached: it is not checked"

/* Called for each finding; text lives in the arena, at may be NULL. */
typedef void contract_fn(enum race_problem_kind kind, const struct ptx_stmt *at, const char *text,
			 void *arg);

struct contract {
	struct ev *e;
	struct smt *smt;
	const struct prove_options *o;
	struct base_arena *arena;
	struct names *names;
	struct race_proof_counts *counts;
	uint64_t deadline;		/* of prove_now_ms */
	struct ex_pin pin[EX_MAX_PINS]; /* what the assumptions say of parameters */
	uint32_t npins;
	bool has_contents; /* ... or of what arrays held (contents.c) */
	contract_fn *say;
	void *arg;
};

/* contract_ask.c: a launch whose first and last threads keep to all, or one thread at a place. */
struct contract_question {
	const bool *is_out; /* assumptions left out, or NULL */
	bool is_launch, use_none;
	uint32_t block;
	const struct ex *guard, *holds; /* one thread: control comes there, and this holds */
};
/* SMT_IMPOSSIBLE, SMT_POSSIBLE or SMT_GAVE_UP. */
enum smt_answer prove_contract_ask(struct contract *c, const struct contract_question *q);
/* Dimensions of the options that no launch of this kernel can have are reported. True: none. */
bool prove_contract_check_launch(struct contract *c, const struct ir *ir);
/* --param as assumptions. False: a value that its parameter can't hold was reported. */
bool prove_contract_add_params(struct contract *c);
/* --assume. False: an expression that this kernel can't have was reported. */
bool prove_contract_add_assumes(struct contract *c);
/* launches.c; --launches: the launches of this kernel that were recorded. False: there is none. */
bool prove_contract_add_launches(struct contract *c, const char *kernel);
/* contents.c; what their arrays hold. `hold`: in expressions, of launches of one kernel. */
void prove_contents_hold(struct ex_pool *pool, const struct prove_options *o);
void prove_contract_add_contents(struct contract *c, const struct prove_launch *const *l, size_t n);
/* Is there surely a launch that keeps to all assumptions? With an access: may some thread come to
 * it? Reports nothing. */
bool prove_contract_has_launch(struct contract *c, const struct ev_access *a);
/* Is it of every two threads, and surely broken by two neighbours where both come to it? */
bool prove_contract_denies(struct contract *c, const struct ev_assume *as);
/*
 * Reports assumptions that contradict each other or the launch, and assumptions that never hold
 * where control reaches them. False: no launch keeps to the contract, so nothing can be proven.
 */
bool prove_contract_check(struct contract *c);
/* Reports accesses that only the assumptions keep from being reached. */
void prove_contract_check_accesses(struct contract *c);

#endif
