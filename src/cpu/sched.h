/*
 * sched.h - what the files that run warps and order work share: warp.c,
 * control.c, barrier.c, collective.c, special.c, stack.c, block.c, queue.c,
 * engine.c, transfer.c. No other file includes it.
 *
 *   engine.c    which thread works, which wait
 *   op.c        operations: what may start, what has ended; host functions
 *   stop.c      what ends them early: faults, stopped kernels, deadlocks
 *   transfer.c  copies, fills, values: operations that are actors themselves
 *   grid.c      grids: made of launches, cut off from judging, freed
 *   block.c     blocks and clusters: made, placed on multiprocessors, ended
 *   apart.c     launches whose blocks don't communicate, on several workers
 *   order.c     of these, atomics and strong accesses in the order of blocks
 *   spare.c     their memory, from one launch to the next
 *   repeat.c    launches whose results are those of an earlier one
 *   queue.c     the actors that are ready, the warps that sleep; one decision
 *   warp.c      one turn of one warp
 *   steer.c     a schedule that is said: turns in order, threads that wait
 *   deadlock.c  proofs that all that runs waits forever
 *
 * An *actor* is what the scheduler chooses among: a warp, the asynchronous
 * copies of a block, a transfer. A *turn* is what an actor does when chosen.
 */
#ifndef COLLIDER_CPU_SCHED_H
#define COLLIDER_CPU_SCHED_H

#include <pthread.h>

#include "cpu/machine.h"

/* ---- actors and queues (queue.c) ------------------------------------------- */

enum cpu_actor_kind { CPU_ACTOR_WARP, CPU_ACTOR_ASYNC, CPU_ACTOR_OP };

struct cpu_actor {
	uint8_t kind;
	uint8_t list; /* 0: not queued, else the queue's number + 1 */
	uint32_t pos; /* in it */
};

struct cpu_queue {
	struct cpu_actor **v;
	size_t n, cap;
};

/* FNV-1a's. */
#define CPU_HASH_START 0xcbf29ce484222325ull

/* What a worker has done of a launch whose blocks don't communicate (apart.c): of its groups that
 * have ended, the clock's advance times their blocks, the longest, the sum of their hashes. */
struct cpu_apart_share {
	uint64_t ns, longest, hashes;
	/* With several workers, its own: units it has and has had, blocks that didn't trigger. */
	struct cpu_unit *resident, *idle;
	uint64_t started, done, triggered;
	uint64_t next, end; /* units that it has taken, but hasn't started yet */
};

/* The type of struct cpu_worker.priv. A round serves each ready actor once, in random order:
 * queue[0] is still to be served in the running round, queue[1] has been or came later. */
struct cpu_worker_priv {
	struct cpu_worker *k;
	struct cpu_engine *e;
	struct cpu_queue queue[2];
	BASE_VEC(struct cpu_warp *) heap; /* warps that sleep, the earliest first */
	uint64_t hash;			  /* FNV-1a over the decisions */
	uint64_t decisions;
	uint64_t issued;		   /* instructions that have not advanced the clock yet */
	uint32_t nblocks;		   /* resident on this worker */
	BASE_VEC(struct cpu_unit *) ended; /* whose threads are gone, until cpu_engine_reap */
	uint64_t events, quiet;		   /* deadlock.c: the last ones; decisions up to then */
	unsigned tries;			   /* proofs since then */
	uint64_t placed;		   /* e->placing when it last looked for blocks to start */
	/* apart.c: blocks of the group that it executes, its instructions before; how many times
	 * as long turns are; 0: as ever. */
	uint32_t ngroup;
	uint64_t group_start;
	bool is_first; /* is it known that all groups before its own have ended? */
	/* order.c: its first unit, tickets that it has taken. */
	uint64_t group;
	uint32_t ntickets;
	uint32_t longer;
	struct cpu_apart_share share;
	bool is_calm; /* steer.c: turns are in order from now on */
	/* workers.c: its thread, and what wakes it. */
	pthread_t thread;
	pthread_mutex_t sleep_lock;
	pthread_cond_t sleep;
	bool is_asleep;
	uint32_t first_round;			 /* the engine's when it was started */
	_Alignas(CPU_LINES) _Atomic uint64_t at; /* its group's first unit, or one before it */
};

void cpu_sched_push(struct cpu_worker *k, struct cpu_actor *a);
void cpu_sched_remove(struct cpu_worker *k, struct cpu_actor *a);
/* Something of the warp became ready (or it sleeps until another time). */
void cpu_sched_wake(struct cpu_warp *w);
void cpu_sched_drop_warp(struct cpu_warp *w);
/* One decision: an actor's turn. False: nothing is ready, and nothing sleeps. */
bool cpu_sched_step(struct cpu_worker *k);
/* Mixes a decision into the hash. */
static inline void cpu_sched_note(struct cpu_worker_priv *p, uint64_t what)
{
	p->hash = (p->hash ^ what) * 0x100000001b3ull;
}

/* ---- warps (warp.c) ----------------------------------------------------------- */

/* Where the lanes of a divergent branch reconverge. */
struct cpu_meet {
	struct cpu_func *func;
	uint32_t pc;
	uint32_t lanes;
	uint32_t depth;
};

#define CPU_MEETS 12

/* Lanes that take part in one collective from another instruction of the same form. */
struct cpu_part {
	struct cpu_split *split;
	const struct cpu_inst *in;
	uint8_t *base[2];
};

/* Splits are numbered by their place in w->split; the masks hold a bit per split. */
struct cpu_warp_priv {
	struct cpu_actor actor;
	struct cpu_warp *w;
	uint32_t used, ready, asleep, joining, gathering;
	uint32_t round;	    /* ready ones that have not run in this round */
	uint32_t heap;	    /* place in the worker's heap + 1; 0: not there */
	uint64_t wake;	    /* of the split that wakes first */
	uint64_t insts;	    /* turns and instructions executed: JOIN's time */
	uint64_t join_wake; /* of the joining split that gives up first */
	uint32_t patience;  /* how long a split waits in JOIN, at most */
	uint32_t nmeets;
	struct cpu_meet meets[CPU_MEETS];
	/* While a collective executes: the lanes that are elsewhere. */
	uint32_t nparts;
	struct cpu_part *parts;
	struct cpu_proof_warp *proof; /* deadlock.c */
	uint32_t delayed;	      /* steer.c: lanes that have been */
	/* events/used.c: registers that hold values in doubt; the frame that was looked at last */
	uint32_t nheld;
	struct events_frame *frame;
};

static inline struct cpu_warp_priv *cpu_wp(const struct cpu_warp *w)
{
	return w->priv;
}

static inline uint32_t cpu_split_bit(const struct cpu_warp *w, const struct cpu_split *s)
{
	return 1u << (s - w->split);
}

/* Lanes that exist and have not exited. */
static inline uint32_t cpu_alive(const struct cpu_warp *w)
{
	return w->lanes & ~w->exited;
}

/* popcount without the instruction, which the baseline lacks. */
static inline uint32_t cpu_popcount(uint32_t x)
{
	x -= x >> 1 & 0x55555555u;
	x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
	x = (x + (x >> 4)) & 0x0f0f0f0fu;
	return x * 0x01010101u >> 24;
}

void cpu_split_state(struct cpu_warp *w, struct cpu_split *s, enum cpu_split_state state);
/* Lanes of one branch that part here and should meet at (func, pc, depth). */
void cpu_meet_expect(struct cpu_warp *w, struct cpu_func *func, uint32_t pc, uint32_t depth,
		     uint32_t lanes);
/* The same for the lanes of the current split that part at its instruction. */
void cpu_meet_after(struct cpu_warp *w, const struct cpu_inst *in, uint32_t lanes);
/* These lanes leave their function: no split waits for them at its joins. */
void cpu_meet_leave(struct cpu_warp *w, uint32_t depth, uint32_t lanes);
/* The split has reached its pc: merges it with those that are there. False: it waits (JOIN). */
bool cpu_meet_arrive(struct cpu_warp *w, struct cpu_split *s);
void cpu_warp_start(struct cpu_warp *w, struct cpu_func *f);

/* control.c */
enum cpu_step cpu_exec_bra(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask);
/* collective.c, barrier.c: can this function work with w->priv->parts? */
bool cpu_exec_takes_parts(cpu_exec *fn);
enum cpu_step cpu_exec_warp_sync(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask);
/* Are all lanes of a whole warp here, and named? Then nothing is to be waited for. */
static inline bool cpu_is_gathered(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	if (mask != UINT32_MAX || in->gather == CPU_GATHER_ALL)
		return mask == UINT32_MAX;

	const uint32_t *v = cpu_u32(w, in->src[in->gather]);
	uint32_t all = UINT32_MAX;

	for (unsigned l = 0; l < CPU_WARP; l++)
		all &= v[l];
	return all == UINT32_MAX;
}

/* barrier.c. Rises with each barrier of the block that completes. */
uint64_t cpu_barrier_phase(const struct cpu_cta *cta);
/* waiting.c: who waits at which of the barriers */
void cpu_barrier_describe(const struct cpu_cta *cta, char *text, size_t n);

/* stack.c */
/* Room for frames up to `depth`; false: too deep or no memory. */
bool cpu_stack_frames(struct cpu_warp *w, uint32_t depth);
/* Room for `bytes` more of local memory above sp for these lanes. */
bool cpu_stack_local(struct cpu_warp *w, uint32_t lanes, uint32_t bytes);
bool cpu_stack_init(struct cpu_warp *w);
void cpu_stack_free(struct cpu_warp *w);

/* ---- deadlock.c --------------------------------------------------------------------- */

/* Between two batches of turns: begins a proof that all that runs waits forever, or evaluates
 * one. */
void cpu_deadlock_look(struct cpu_engine *e);
/* Around each instruction of w->cur while worker->proof isn't NULL. False: it has faulted. */
bool cpu_proof_before(struct cpu_warp *w, const struct cpu_inst *in);
void cpu_proof_after(struct cpu_warp *w);
/* A proof that has failed needs neither. worker->proof isn't NULL. */
bool cpu_proof_goes_on(const struct cpu_worker *k);
/* Blocks are about to end. */
void cpu_proof_end(struct cpu_worker *k);
/* special.c */
bool cpu_exec_is_clock(const struct cpu_inst *in);

/* ---- steer.c -------------------------------------------------------------------- */

/* Before a decision: is the machine calm from now on? */
void cpu_steer_look(struct cpu_worker *k);
/* The place in a queue, which isn't empty, of the actor that comes first then. */
uint32_t cpu_steer_next(const struct cpu_queue *q);
/* A warp starts: lanes that are left out or delayed. */
void cpu_steer_start(struct cpu_warp *w);
/* Before an access of a line that cpu_steer_names names. False: the split has gone to sleep. */
bool cpu_steer_access(struct cpu_warp *w, const struct cpu_inst *in);

/* ---- blocks (block.c) ------------------------------------------------------------ */

struct cpu_block {
	struct cpu_cta cta; /* first: a cta's address is its block's */
	struct cpu_actor async;
	bool has_triggered; /* griddepcontrol.launch_dependents */
};

static inline struct cpu_block *cpu_block_of(struct cpu_cta *cta)
{
	return (struct cpu_block *)(void *)cta;
}

/* A cluster with its blocks: what is placed and ended as one. */
struct cpu_unit {
	struct cpu_cluster cluster; /* first */
	struct cpu_unit *next, *prev;
	struct cpu_worker *worker;
	uint64_t index;	 /* of the cluster in the grid */
	uint64_t number; /* among those that run: differs where the launch names these */
	struct cpu_block *blocks;
	uint64_t bytes; /* while it is spare */
};

/* Units of an ended grid, for the next launch of that kernel with such blocks. */
#define CPU_SPARE_LISTS 16
struct cpu_spare {
	struct cpu_func *func;
	uint32_t nthreads, size, shared;
	struct cpu_unit *units[CPU_SPARE_LISTS]; /* by the worker that had them */
	uint32_t n;				 /* units; 0: the place is free */
	uint64_t bytes, used;			 /* the last grid */
};
#define CPU_SPARES	8
#define CPU_SPARE_BYTES (256ull << 20)

/* The system's part of each block's shared memory: from address 0 to the program's first. */
#define CPU_SHARED_RESERVED CPU_SHARED_BASE

#define CPU_WINDOW 8

struct cpu_grid_priv {
	struct cpu_grid *next; /* of the device's running grids */
	struct cpu_unit *resident, *idle;
	uint64_t nunits, fetched, started, done;
	uint64_t window[CPU_WINDOW]; /* units that may start next */
	uint32_t nwindow;
	uint32_t *tids; /* [warp][x, y, z][lane] */
	uint64_t triggered;
	bool is_over;	  /* faulted or dropped */
	bool had_turn;	  /* its time had come (--budget) when a block of it had begun */
	bool is_admitted; /* cooperative: all of it fits */
	bool is_rest; /* of a grid whose code would have turned block numbers into logical ones */
	int priority;
};

struct cpu_sm {
	uint32_t threads, ctas;
	uint64_t shared;
};

struct cpu_device {
	struct cpu_sm *sms;
	struct cpu_grid *grids; /* that have blocks to start or running */
	struct cpu_grid *last;	/* of these, if there are any */
	struct cpu_fault fault;
	uint64_t nops; /* that have not ended */
};

/* grid.c: is something wrong with a launch? *fault says what was found and expected. */
bool cpu_grid_refuses(struct cpu_engine *e, const struct cpu_launch *l, struct cpu_fault *fault);
struct cpu_grid *cpu_grid_new(struct cpu_op *op);
void cpu_grid_free(struct cpu_grid *g);

/* Starts as many blocks as fit on those of the device's multiprocessors that are the worker's. */
void cpu_block_place(struct cpu_worker *k, unsigned device);
/* A thread has read where the system's part of shared memory lies: it is there from now on. */
void cpu_block_use_reserved(struct cpu_cluster *c);
/* Takes a cluster that hasn't started out of the grid; *first: its first block. False: none is
 * left, or chance. */
bool cpu_block_cancel(struct cpu_warp *w, uint32_t first[3]);
/* A block of a group holds a multiprocessor from now on, as those of other launches do. */
void cpu_block_hold(struct cpu_sm *s, const struct cpu_grid *g);
/* Starts n units of a grid that is apart, from that one on. */
void cpu_block_start_from(struct cpu_worker *k, struct cpu_grid *g, uint64_t first, uint64_t n);
/* The unit's blocks have no live thread (or the grid is over). */
void cpu_block_end(struct cpu_unit *u);
/* A list of them. */
void cpu_units_free(struct cpu_unit *u);

/* spare.c: keeps the units of a grid that has ended as it should; some for a grid that starts, of
 * those that the worker had if there are any, or NULL; frees those of a module (NULL: all). */
void cpu_spare_put(struct cpu_engine *e, const struct cpu_grid *g, struct cpu_unit *units);
struct cpu_unit *cpu_spare_take(struct cpu_worker *k, struct cpu_grid *g);
void cpu_spares_clear(struct cpu_engine *e, const struct cpu_module *mod);

/* ---- operations (op.c, engine.c) --------------------------------------------------------- */

enum cpu_op_state { CPU_OP_WAITING, CPU_OP_RUNNING, CPU_OP_ENDED };

struct cpu_op {
	struct cpu_actor actor; /* transfers; first */
	struct cpu_machine *m;
	struct cpu_work work;
	_Atomic uint32_t refs;
	_Atomic int state; /* enum cpu_op_state */
	uint32_t npending; /* dependencies that have not ended (or triggered) */
	uint64_t id;
	BASE_VEC(struct cpu_op *) after; /* wait for this one */
	BASE_VEC(struct cpu_op *)
	before; /* what a programmatic launch started before; references */
	struct cpu_grid *grid;
	struct cpu_grid *rest; /* the blocks that run the plain kernel, after --budget; or NULL */
	uint64_t done[3];      /* transfers: byte or element, row, slice */
	_Atomic uint64_t time; /* of its end */
	uint64_t due;	       /* held back until then */
	void *copy;	       /* parameters or immediate bytes, owned */
	struct cpu_proven_run *proven; /* events/proven.c; NULL: the launch isn't proven */
	struct cpu_recheck *recheck;   /* recheck.c; NULL: it compares nothing */
	uint32_t events_actor;	       /* events/events.c: the actor of a copy or fill */
	uint64_t events_grid;	       /* events/events.c: a judged grid's id; 0: it is none */
	uint64_t taken_back;	       /* the id of its grid, which was not what was proven; 0 */
	BASE_VEC(uint64_t)
	events_before;	       /* events/events.c: ids of what a programmatic launch came before */
	struct cpu_past *past; /* past.c; NULL: nothing is before it */
	uint64_t number;       /* past.c: in the order of submission, from 1; 0: it has none */
	uint64_t insts_before; /* of a kernel: its first worker's when it started */
	bool is_watched;       /* events/events.c: has been started */
	bool has_triggered;    /* its programmatic dependents have been released */
	bool is_finishing;     /* a kernel that is done, but came early */
	bool is_finished;      /* cpu_op_finish has been called */
	_Atomic bool is_wrong; /* cpu_op_take_back has been called */
	_Atomic bool is_stopped; /* cpu_op_stop has been called */
	_Atomic int how;	 /* enum cpu_end, once it has ended */
	uint64_t *chosen;	 /* of the launch; owned */
	char *why;		 /* cpu_op_why; owned */
};

/* A host thread in wait_until. */
struct cpu_waiter {
	struct cpu_waiter *next;
	bool (*is_done)(struct cpu_engine *e, const void *arg);
	const void *arg;
};

/* grace.c: looks at whether the program does something else. */
struct cpu_grace {
	uint64_t since, looked; /* ms, host's clock: when it last did; the last look that counted */
	uint64_t spent_ns;	/* of all other threads, at that look */
	unsigned looks;		/* that counted */
};

/* apart.c: the launch whose blocks don't communicate, while it runs, alone. */
struct cpu_apart {
	struct cpu_grid *grid;	 /* NULL: there is none */
	bool is_beside;		 /* on several workers, which execute without the lock */
	_Atomic bool is_wrong;	 /* ... but must not be */
	_Atomic bool is_open;	 /* the others have been called */
	_Atomic uint64_t ticket; /* order.c: where on the host; 0: there has been none */
	uint64_t first;		 /* units before it have ended as another grid */
	/* The first worker's, before and after. */
	uint64_t rng, hash, clock, rng_before, rng_after;
	uint64_t units;			 /* of a group */
	uint32_t longer;		 /* turns, times; 0: as ever */
	uint64_t blocks;		 /* that the engine had started before */
	struct cpu_touches *touches;	 /* NULL: not needed yet */
	struct cpu_deferreds *deferreds; /* likewise */
	struct cpu_apart_count *counts;	 /* of workers, before */
	/* Apart from what all look at: the next group's unit; units of groups that have ended. */
	_Alignas(CPU_LINES) _Atomic uint64_t next;
	_Alignas(CPU_LINES) _Atomic uint64_t done;
};

typedef void cpu_item_fn(void *arg, uint64_t i);

/* Work that is handed out to workers, item by item (cpu_workers_each). */
struct cpu_shared {
	cpu_item_fn *fn;
	void *arg;
	uint64_t n;
	_Atomic uint64_t next;
};

struct cpu_engine {
	struct cpu_machine *m;
	const struct cpu_begin *begin; /* begin.h; NULL: there is no listener */
	struct cpu_apart apart;
	struct cpu_waiter *waiters;
	_Atomic uint32_t nwaiters;
	bool has_news; /* an operation has ended since waiters were last looked at */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* an operation ended, work came, a thread stopped working */
	_Atomic int wanted;	/* threads that want the lock while another works */
	/* A thread works: with several workers the others may execute. */
	bool is_working;
	bool is_replayable;
	_Atomic bool is_closing;
	bool has_background;
	pthread_t background;
	pthread_cond_t nudge; /* for that one alone: work came while it slept, or it shall end */
	bool is_asleep;	      /* it wants to know at once */
	uint64_t last_worked; /* ms, host's clock */
	unsigned npauses;     /* cpu_grace_pause */
	struct cpu_device *devices;
	struct cpu_worker *workers;
	struct cpu_spare spares[CPU_SPARES]; /* spare.c */
	uint64_t spare_bytes;
	pthread_mutex_t spare_lock;
	uint32_t nworkers, sms;
	BASE_VEC(struct cpu_op *) startable;
	BASE_VEC(struct cpu_op *) polls; /* wait for a value in memory */
	BASE_VEC(struct cpu_op *) held;	 /* kernels that could start, but wait (work.hold) */
	uint64_t nhost;			 /* host functions that run */
	uint64_t npolled;
	uint64_t nops; /* not ended */
	uint64_t ids;
	uint64_t placing;	 /* counts what may let blocks start */
	uint32_t nthreads;	 /* of workers that have been started */
	_Atomic uint32_t nbusy;	 /* of these, that execute */
	_Atomic uint32_t round;	 /* counts what they are called for */
	_Atomic bool is_pausing; /* they must stop after their turn */
	_Atomic bool is_sharing; /* ... and are called for this: */
	struct cpu_shared shared;
	_Atomic bool awaits; /* the thread that works sleeps until they stop, or have ended */
	uint32_t spins;	     /* looks before one sleeps: 0 where there are fewer processors */
	pthread_mutex_t fault_lock;
	_Atomic bool has_fault; /* a new one, not acted upon yet */
	_Atomic bool has_stop;	/* a kernel is to be stopped */
	/* How long it has worked while checked launches ran, for the listener `choose` (op.c). */
	uint64_t spent_ns, timed_since, nchecked;
	bool is_timed;
	struct cpu_repeats *repeats; /* repeat.c; NULL: launches are not kept */
	uint64_t starts;	     /* of kernels, copies, fills and host functions */
	struct cpu_stats stats;
};

/* op.c, with the lock held */

/* The time from here on counts, or no longer, as that of checked launches. */
void cpu_time_checked(struct cpu_engine *e);
/* Checked launches whose time is over are judged no more. */
void cpu_ops_cut(struct cpu_engine *e);
/* Ends the judging of the grid, as if its threads ended here. False: not yet possible. */
bool cpu_grid_cut(struct cpu_grid *g);
/* Has the launch blocks that have not begun, and a plain kernel that they can take? */
bool cpu_grid_has_rest(const struct cpu_op *op);
/* Do its blocks not communicate, so that blocks of the kernel without checks can wait for others'
 * ends (grid.c)? */
bool cpu_grid_may_wait(const struct cpu_op *op);
/* The blocks of a cut launch that have not begun, as a grid of its plain kernel; NULL: they remain
 * where they are. */
struct cpu_grid *cpu_grid_rest(struct cpu_op *op);
/* All blocks of the grid have ended: its launch has, too, unless it has another part. */
void cpu_grid_ended(struct cpu_grid *g);
/* Blocks of a cluster. */
static inline uint32_t cpu_grid_unit(const struct cpu_grid *g)
{
	return g->cluster[0] * g->cluster[1] * g->cluster[2];
}

static inline bool cpu_op_is_ended(const struct cpu_op *op)
{
	return atomic_load(&op->state) == CPU_OP_ENDED;
}

/* With two references, the caller's and the engine's until it ends. NULL: no memory. */
struct cpu_op *cpu_op_new(struct cpu_machine *m, const struct cpu_work *work);
/* `op` waits for `dep` (which may be NULL). */
void cpu_op_depend(struct cpu_op *op, struct cpu_op *dep);
/* The operation has ended; its dependents become startable. */
void cpu_op_end(struct cpu_op *op);
/* A kernel's blocks have ended. A launch that came early ends after those it came before. */
void cpu_op_end_kernel(struct cpu_op *op);
/* Blocks of the launch that waited for others' ends can begin: its grid is that of the rest. */
void cpu_op_start_rest(struct cpu_op *op);
/* A proven launch isn't what was proven (events/proven.c): its threads are stopped before the next
 * turn. Then it starts again. */
void cpu_op_take_back(struct cpu_op *op);
void cpu_op_again(struct cpu_op *op);
/* A block of it has triggered or ended. */
void cpu_grid_triggered(struct cpu_grid *g);
/* All blocks of the launch have triggered or ended. */
void cpu_op_trigger(struct cpu_op *op);
/* Each starts what it can. True: something did. */
bool cpu_ops_start(struct cpu_engine *e);
/* ... of what has been held back for long enough; is_idle: nothing else can be done, so time is
 * skipped. */
bool cpu_ops_start_held(struct cpu_engine *e, bool is_idle);
/* Ends kernels that are to be stopped. */
void cpu_ops_stop(struct cpu_engine *e);
/* Ends waits for values that are there. True: one has ended. */
bool cpu_ops_poll(struct cpu_engine *e);
/* stop.c: has the device had a fault? Drops what runs on those. */
static inline bool cpu_device_is_faulted(const struct cpu_engine *e, unsigned device)
{
	return e->devices[device].fault.kind != CPU_FAULT_NONE;
}
void cpu_faults_act(struct cpu_engine *e);
/* Nothing is ready and nothing sleeps. True: blocks are resident, so that is for ever. */
bool cpu_deadlock_find(struct cpu_engine *e);

/* apart.c */

/* May the grid, which is to be judged and isn't listed yet, be so by each worker for itself? */
bool cpu_apart_may_have_judges(struct cpu_engine *e, const struct cpu_op *op);
/* The launch isn't what it was taken for: it is repeated, on one worker, or taken back. */
void cpu_apart_left(struct cpu_op *op);
/* The grid is freed; `counts`: and isn't made once more. */
void cpu_apart_end_judges(struct cpu_engine *e, bool counts);

/* The kernel starts, its grid isn't listed yet. Are its blocks executed apart? */
bool cpu_apart_begin(struct cpu_engine *e, struct cpu_op *op);
/* One worker: starts its next group of blocks, when its last one has ended. */
void cpu_apart_place(struct cpu_worker *k);
/* order.c. Has each block of the worker's group, which has ended, taken one number, if it takes
 * any? */
bool cpu_apart_has_tickets(const struct cpu_worker *k);
/* order.c. Has the worker's group executed so many instructions that its end is doubted? */
bool cpu_apart_is_long(const struct cpu_worker *k);
/* One worker: may the launch still become one like all others? */
bool cpu_apart_may_open(const struct cpu_engine *e);
/* ... It does, if its group takes long. */
void cpu_apart_look(struct cpu_engine *e);
/* apart.c's part of that: it isn't apart any more. */
void cpu_apart_open(struct cpu_engine *e);
/* The worker's group has ended. */
void cpu_apart_group_ended(struct cpu_worker *k);
/* Several workers, without the lock: at most n turns of this one. False: it has nothing to do, or
 * must stop. */
bool cpu_apart_turns(struct cpu_worker *k, unsigned n);
/* Have all groups ended there, or is it to be taken back? */
bool cpu_apart_is_over(const struct cpu_apart *a);
/* Is a worker to leave the launch as it is, for now or for ever? */
bool cpu_apart_must_stop(const struct cpu_engine *e);
/* How many groups there are. */
uint64_t cpu_apart_groups(const struct cpu_apart *a);
/* Ends the launch on several workers, or takes it back to repeat it on one. False: it goes on. Only
 * the thread that works for the machine calls this. */
bool cpu_apart_settle(struct cpu_engine *e);
/* The grid is removed, to be made once more. */
void cpu_apart_give_up(struct cpu_engine *e);
/* The grid ends, for whatever reason. */
void cpu_apart_end(struct cpu_engine *e);
/* A launch of the kernel took so many instructions of warps: whether the next is worth waking
 * workers follows from it. */
void cpu_apart_note(struct cpu_kernel *k, uint64_t insts, uint64_t blocks);
/* What workers have of the grid becomes the grid's. No worker executes. */
void cpu_apart_gather(struct cpu_engine *e);
void cpu_apart_free(struct cpu_engine *e);

static inline bool cpu_grid_is_apart(const struct cpu_engine *e, const struct cpu_grid *g)
{
	return e->apart.grid == g;
}

/* engine.c */

/* For faults of host code: stops the machine between two instructions of its threads; may not be
 * called by a thread that holds the lock. */
void cpu_engine_hold(struct cpu_machine *m);
void cpu_engine_let_go(struct cpu_machine *m);
/* Does the calling thread hold the lock? */
bool cpu_engine_is_held(const struct cpu_machine *m);
/* Does each host thread that waits, but the calling one, wait for something that is still to
 * come? */
bool cpu_engine_all_wait(struct cpu_engine *e);
/* Takes the lock if workers execute without it. */
void cpu_engine_enter(struct cpu_engine *e);
void cpu_engine_leave(struct cpu_engine *e);
/* Ends the blocks of the worker that are over, starts others, ends grids. The lock is held. */
void cpu_engine_reap(struct cpu_worker *k);

/* grace.c: from `since` on the program has not worked for the machine. Have its threads slept, or
 * done something else, for long enough by now? Asked about every CPU_GRACE_MS / 4. */
void cpu_grace_begin(struct cpu_grace *g, uint64_t since);
bool cpu_grace_is_over(struct cpu_engine *e, struct cpu_grace *g);

/* workers.c: a turn of all workers. False: no worker has anything ready. */
bool cpu_workers_step(struct cpu_engine *e);
/* Until all have stopped executing. */
void cpu_workers_pause(struct cpu_engine *e);
void cpu_workers_resume(struct cpu_engine *e);
/* Calls fn(arg, i) once for each i < n, by all workers at the same time, none of which executes
 * anything. For the thread that works, with the lock. */
void cpu_workers_each(struct cpu_engine *e, uint64_t n, cpu_item_fn *fn, void *arg);
void cpu_workers_join(struct cpu_engine *e);
/* A thread of the machine's own, which takes no signals of the program. 0, or an errno value. */
int cpu_thread_start(pthread_t *t, void *(*fn)(void *), void *arg);
void cpu_engine_wait(struct cpu_engine *e, uint64_t ms);
/* An operation came or ended; the lock is held. */
void cpu_engine_changed(struct cpu_engine *e);
/* Does nothing run on the machine? Then nothing but a launch that is about to begin, which isn't
 * listed yet, changes memory. */
bool cpu_engine_is_alone(const struct cpu_engine *e);

/* transfer.c: does a piece; true: the transfer is complete. */
bool cpu_transfer_step(struct cpu_worker *k, struct cpu_op *op);
/* recheck.c: a copy or fill starts; what it did (`at` of its bytes); does it end now, or compare
 * first? A turn of the comparison; false: there is none to be made. */
void cpu_recheck_start(struct cpu_worker *k, struct cpu_op *op);
void cpu_recheck_keep(struct cpu_op *op, uint64_t src, uint64_t dst, uint64_t at, uint64_t n);
bool cpu_recheck_wait(struct cpu_worker *k, struct cpu_op *op, bool is_end);
bool cpu_recheck_step(struct cpu_worker *k, struct cpu_op *op, bool *is_end);
bool cpu_value_holds(const struct cpu_op *op);
void cpu_value_write(const struct cpu_op *op);

#endif
