/*
 * machine.h - inside src/cpu: the SIMT machine's structures, shared by its files.
 *
 *   struct cpu_func   one PTX function, decoded once: an array of struct cpu_inst
 *   struct cpu_grid   one kernel launch     struct cpu_cluster, cpu_cta: its blocks
 *   struct cpu_warp   32 lanes              struct cpu_split: lanes that run together
 *
 * A register is a *slot*: an array of 32 lanes in the frame of the running function (a predicate:
 * one word, a bit per lane), so an operation is one loop that the compiler turns into vector code.
 * Lanes in different functions use the same frame memory at the same time: frames of equal depth
 * start at the same place and all functions that can meet share one layout (struct cpu_layout), so
 * lanes never overlap, and splits can part and merge without moving registers.
 */
#ifndef COLLIDER_CPU_MACHINE_H
#define COLLIDER_CPU_MACHINE_H

#include <stdatomic.h>

#include "base/random.h"
#include "cpu/cpu.h"
#include "cpu/inst.h"
#include "cpu/proven.h"

struct cpu_warp;
struct cpu_cta;
struct cpu_inst;
struct cpu_worker;

/* ---- address windows ------------------------------------------------------ */

/*
 * Generic addresses of what is not global lie between 2^47 and 2^48, where no host address is.
 * A shared address (32 bits used) is rank * CPU_RANK + offset: the window of a block lies in that
 * of its cluster, so the address of a block's own variable has its rank in bits 24 and up, and
 * means the same in .shared::cta and .shared::cluster (PTX ISA, state spaces; the place of the rank
 * is that of compute capability 9.0 and 10.0, whose programs clear bit 24 to reach the first block
 * of a pair). An offset alone is the block's own in .shared::cta; elsewhere it is of block 0.
 */
#define CPU_WIN_SHARED	0x900000000000ull
#define CPU_WIN_LOCAL	0xa00000000000ull
#define CPU_WIN_PARAM	0xb00000000000ull /* kernel parameters (cvta.param) */
#define CPU_WIN_CODE	0xc00000000000ull /* functions whose address is taken */
#define CPU_WIN_SIZE	0x100000000000ull
#define CPU_RANK	0x1000000u
#define CPU_SHARED_BASE 1024u /* first shared address of a program, as on sm_90 */

/* ---- the grid ------------------------------------------------------------------- */

/*
 * What cooperative groups keep for a grid: two 32-bit words, size and barrier. Programs find it by
 * %envreg1 (high half of the address) and %envreg2, which the PTX ISA leaves to the driver.
 */
#define CPU_GRID_WORKSPACE 64u

struct cpu_grid {
	struct cpu_machine *m;
	struct cpu_op *op;
	struct cpu_kernel *kernel;
	struct cpu_func *func;
	const uint8_t *params; /* parameter block */
	uint32_t nparam_bytes;
	unsigned device;
	uint64_t id;				/* %gridid, from 1 */
	uint32_t grid[3], block[3], cluster[3]; /* cluster 1,1,1 when there is none */
	uint32_t nthreads, nwarps;		/* of one block */
	uint32_t shared_static, shared_dyn;
	uint64_t nblocks, started, ended;
	bool is_cooperative, has_cluster;
	uint32_t actor, actor_stride;  /* events/events.c: of its first thread; between blocks */
	struct cpu_events *events;     /* the machine's, or NULL: this grid isn't judged */
	struct cpu_proven_run *proven; /* events/proven.c: as a whole; NULL: it isn't */
	bool has_judges;    /* events/judges.c: each worker judges the blocks that it executes */
	uint64_t workspace; /* cooperative: CPU_GRID_WORKSPACE bytes of device memory, from 0 */
	struct cpu_grid_priv *priv; /* engine.c's own */
};

struct cpu_cluster {
	struct cpu_grid *grid;
	uint32_t size; /* blocks */
	uint32_t id[3];
	struct cpu_cta *ctas[CPU_CLUSTER_MAX];
	struct cpu_cluster_barrier *barrier; /* barrier.c */
	bool uses_reserved; /* a thread has read where the system's shared memory lies */
};

#define CPU_BARRIERS 16

struct cpu_cta {
	struct cpu_grid *grid;
	struct cpu_cluster *cluster; /* never NULL */
	uint32_t rank, id[3];	     /* rank: in the cluster */
	uint64_t linear;	     /* ctaid.x + ... */
	uint32_t actor, sm;	     /* actor: events/events.c, of its first thread */
	uint8_t *shared; /* what address CPU_SHARED_BASE is; the system's part lies before it */
	uint32_t shared_bytes;
	struct cpu_warp *warps;
	uint32_t nwarps, nlive;	       /* warps with a lane that has not exited */
	struct cpu_barriers *barriers; /* barrier.c */
	struct cpu_async *async;       /* async.c: copies in flight, NULL when none was issued */
	struct cpu_l1 *l1;	       /* weak model: the block's cache; NULL otherwise */
	struct cpu_events *events;     /* that judge it, if its grid is judged: cpu_events_at */
	struct events_copies *copies;  /* events/copies.c; NULL: none yet */
};

/* The shared address of the block's offset 0. */
static inline uint32_t cpu_shared_start(const struct cpu_cta *cta)
{
	return cta->rank * CPU_RANK;
}

/* Does a host address lie in the shared memory of this block, the system's part included? */
static inline bool cpu_is_shared_of(const struct cpu_cta *cta, const uint8_t *host)
{
	return (uintptr_t)host - ((uintptr_t)cta->shared - CPU_SHARED_BASE) <
	       (uint64_t)cta->shared_bytes + CPU_SHARED_BASE;
}

enum cpu_split_state {
	CPU_SPLIT_FREE,
	CPU_SPLIT_READY,
	CPU_SPLIT_SLEEP,   /* until w->..clock reaches .wake */
	CPU_SPLIT_BARRIER, /* barrier.c wakes it */
	CPU_SPLIT_GATHER,  /* waits for the other lanes of its member mask */
	CPU_SPLIT_JOIN	   /* waits, for a bounded time, for others to merge with */
};

/* Lanes of a warp that execute together. */
struct cpu_split {
	uint32_t mask;
	uint8_t state;	/* enum cpu_split_state */
	uint16_t depth; /* of calls; frame number */
	struct cpu_func *func;
	uint32_t pc;	  /* index in func->code */
	uint32_t members; /* GATHER: the lanes it waits for */
	uint64_t wake;	  /* SLEEP, JOIN: on the machine's clock */
	uint64_t aux;	  /* barrier.c, collective.c */
};

struct cpu_return {
	struct cpu_func *func;
	uint32_t pc;
};

struct cpu_warp {
	uint8_t *base[2]; /* frame of the current split, constants of its function */
	struct cpu_split *cur;
	struct cpu_cta *cta;
	struct cpu_grid *grid;
	struct cpu_worker *worker; /* that executes it at the moment */
	uint32_t index;		   /* in the block; %warpid */
	uint32_t lanes;		   /* that exist (the last warp may be short) */
	uint32_t exited;
	uint32_t nsplits;
	struct cpu_split split[CPU_WARP];
	uint32_t carry;	    /* CC.CF, a bit per lane */
	uint16_t registers; /* of a thread, by setmaxnreg; 0: as at launch */
	/* By depth: registers, return addresses, .param areas, frames of .local variables. */
	uint8_t *frames;
	uint32_t depth_cap;
	struct cpu_return (*ret)[CPU_WARP];
	uint8_t *params;	  /* [depth][lane][layout->param] */
	uint32_t (*fp)[CPU_WARP]; /* local address of the frame, by depth and lane */
	uint32_t sp[CPU_WARP];	  /* local address of the next free byte */
	uint8_t *local; /* 32 stacks of local_stride bytes; pages are allocated on access */
	uint32_t local_stride;
	uint32_t nevents; /* events/events.c: events that were more than a read */
	void *priv;	  /* warp.c's own */
};

/* The allocation that an instruction used last; true while the map of memory has that version. */
struct cpu_hit {
	uint64_t base, bytes, version, delta;
	uint32_t use; /* the device, and how it is used (resolve.c) */
};
#define CPU_HITS 64

/* Memory around an access: [base, base + bytes), on the host delta further on. A part of the map
 * with that version, used so (1 + struct cpu_hit's use), or the block's own shared memory (0). */
struct cpu_near {
	uint64_t base, bytes, delta, version;
	uint32_t use;
};

/* Where the lanes of an access are, kept for others of its group (alu/ldst.c, load/spreads.c). */
struct cpu_spread {
	const struct cpu_spread_use *first; /* whose it is; NULL: nothing is kept */
	const struct cpu_warp *w;
	uint32_t mask, kind, groups;
	bool has_addr;	    /* `addr` is filled in: it needn't be where lanes are side by side */
	uint8_t access;	    /* struct cpu_near's use without the device */
	uint64_t lo, bytes; /* from the least address past the greatest one */
	/* An access `apart` bytes on, of all lanes, is in the same memory if apart + below < room;
	 * room 0: not known. host: of the least address. */
	uint64_t below, room, version, host;
	uint64_t addr[CPU_WARP];
};

/* What one worker writes often begins at such an address, with nothing of other workers up to the
 * next: bytes of a cache line, and of the one that the host fetches beside it. */
#define CPU_LINES 128u

/* One host thread that executes warps. */
struct cpu_worker {
	_Alignas(CPU_LINES) struct cpu_machine *m;
	uint64_t rng;	/* state of cpu_random */
	uint64_t clock; /* ns of the machine, advanced as warps execute */
	uint64_t warp_insts, thread_insts, waited; /* executed; of CPU_TRIED */
	uint64_t jit_made;     /* instructions that have become machine code (jit/run.c) */
	uint32_t jit_wait;     /* visits of places without code until one is looked at */
	struct cpu_warp *warp; /* being executed */
	void *priv;
	struct cpu_proof *proof;       /* deadlock.c: one is being tried; NULL: none */
	struct cpu_touch *touch;       /* touch.h: what it accesses is noted; NULL: it isn't */
	struct cpu_deferred *deferred; /* deferred.h: its updates are; NULL: they aren't */
	struct cpu_events *judge;      /* events/judges.c: of its own; NULL: none yet */
	bool is_beside;		       /* apart.c: others execute the same launch meanwhile */
	bool has_order;		       /* ... with atomics that are executed in groups' order */
	struct cpu_hit hits[CPU_HITS]; /* resolve.c, by instruction; zero at the start */
	struct cpu_spread spreads[CPU_SPREADS];
};

/* Every decision of the schedule draws from here. */
static inline uint64_t cpu_random(struct cpu_worker *k)
{
	return base_random(&k->rng);
}

/* Uniform in 0..n-1 (n > 0). */
static inline uint32_t cpu_random_below(struct cpu_worker *k, uint32_t n)
{
	return base_random_below(&k->rng, n);
}

/* recheck.c: how copies compare; fn NULL: they don't. */
struct cpu_copies {
	cpu_change_fn *fn;
	void *arg;
	uint32_t delay, sample;
	struct cpu_copy_stats stats;
};

/* The callbacks for notifications, called by the thread that executes; NULL: none. */
struct cpu_listener {
	cpu_progress_fn *progress;
	cpu_fault_fn *fault;
	void *arg;
	cpu_quiet_fn *quiet;
	void *quiet_arg;
	cpu_choose_fn *choose;
	cpu_cut_fn *cut;
	void *choose_arg;
	cpu_proven_fn *proven;
	cpu_left_fn *left;
	cpu_checked_fn *checked;
	void *proven_arg;
	cpu_past_fn *past; /* NULL: the order of launches isn't followed */
	cpu_forget_fn *forget;
	void *past_arg;
};

struct cpu_machine {
	struct cpu_options opt;
	struct cpu_space *space;   /* space.c */
	struct cpu_engine *engine; /* engine.c */
	struct cpu_heap *heap;	   /* syscalls.c: device malloc */
	struct cpu_textures *textures;
	struct cpu_steer *steer;   /* steer.c; NULL: nothing is delayed or left out */
	struct cpu_events *events; /* events/events.c: the oracle's side; NULL: not judged */
	_Atomic uint64_t grids;	   /* the last %gridid */
	_Atomic uint64_t settings; /* changes of textures and of peers' access (repeat.c) */
	struct cpu_copies copies;
	struct cpu_listener listener;
	struct cpu_pasts *pasts;   /* past.c; NULL: no listener asks */
	_Atomic uint64_t *checked; /* by device: cpu_get_checked */
	/* Of the map of memory (space.c): odd while it is changed; a launch adds 2 (repeat.c). */
	_Atomic uint64_t space_version;
	struct cpu_pages *pages; /* pages.c; NULL: no pager */
	/* Added to the address of memory that host code may access (space.c: mapped twice) it is
	 * where the machine accesses it; 0: there is no such memory. */
	uint64_t alias;
	_Atomic bool has_host_memory; /* there has been memory that host code may access */
};

/* ---- slots ------------------------------------------------------------------------ */

static inline void *cpu_slot(struct cpu_warp *w, uint32_t ref)
{
	return w->base[ref >> 31] + (ref & ~CPU_SLOT_CONST);
}

static inline uint16_t *cpu_u16(struct cpu_warp *w, uint32_t ref)
{
	return (uint16_t *)cpu_slot(w, ref);
}

static inline uint32_t *cpu_u32(struct cpu_warp *w, uint32_t ref)
{
	return (uint32_t *)cpu_slot(w, ref);
}

static inline uint64_t *cpu_u64(struct cpu_warp *w, uint32_t ref)
{
	return (uint64_t *)cpu_slot(w, ref);
}

static inline float *cpu_f32(struct cpu_warp *w, uint32_t ref)
{
	return (float *)cpu_slot(w, ref);
}

static inline double *cpu_f64(struct cpu_warp *w, uint32_t ref)
{
	return (double *)cpu_slot(w, ref);
}

static inline uint32_t *cpu_pred(struct cpu_warp *w, uint32_t ref)
{
	return (uint32_t *)cpu_slot(w, ref);
}

/* Writes the lanes of `mask` of a predicate. */
static inline void cpu_set_pred(struct cpu_warp *w, uint32_t ref, uint32_t value, uint32_t mask)
{
	if (ref != CPU_NOSLOT) {
		uint32_t *p = cpu_pred(w, ref);
		*p = (*p & ~mask) | (value & mask);
	}
}

/*
 * For each lane l of mask: statement. The full warp is a loop of its own, without the test, so
 * that it becomes plain vector code; lanes are independent of each other (slots that are read and
 * written are the same or disjoint), which the pragma says.
 */
#if defined(__clang__)
#define CPU_VECTORIZE _Pragma("clang loop vectorize(assume_safety)")
#else
#define CPU_VECTORIZE _Pragma("GCC ivdep")
#endif
#define CPU_LANES(l, mask, ...)                                                                    \
	do {                                                                                       \
		if ((mask) == UINT32_MAX) {                                                        \
			CPU_VECTORIZE                                                              \
			for (unsigned l = 0; l < CPU_WARP; l++) {                                  \
				__VA_ARGS__;                                                       \
			}                                                                          \
		} else {                                                                           \
			CPU_VECTORIZE                                                              \
			for (unsigned l = 0; l < CPU_WARP; l++) {                                  \
				if ((mask) >> l & 1u) {                                            \
					__VA_ARGS__;                                               \
				}                                                                  \
			}                                                                          \
		}                                                                                  \
	} while (0)
/* The same without vector code, in the order of lanes: for memory and what has side effects. */
#define CPU_EACH_LANE(l, mask)                                                                     \
	for (uint32_t l##_left = (mask), l = 0;                                                    \
	     l##_left && (l = (uint32_t)__builtin_ctz(l##_left), 1); l##_left &= l##_left - 1)

/* ---- faults (fault.c) ---------------------------------------------------------------- */

/* Ends the grid: the first fault of the device is kept, with thread `lane` of w, block, kernel,
 * file, line and the instruction's text. Returns CPU_FAULTED. */
enum cpu_step cpu_fault(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
			enum cpu_fault_kind kind, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The same from a copy or fill of the host. */
void cpu_fault_op(struct cpu_machine *m, unsigned device, enum cpu_fault_kind kind, const char *fmt,
		  ...) __attribute__((format(printf, 4, 5)));
/* tid of a lane. */
void cpu_lane_tid(const struct cpu_warp *w, unsigned lane, uint32_t tid[3]);

/* ---- memory.c, space.c, model.c: accesses -------------------------------------------- */

enum cpu_acc_kind { CPU_ACC_LOAD, CPU_ACC_STORE, CPU_ACC_ATOMIC };

/* What is known about an access when it is decoded. */
struct cpu_acc {
	uint8_t kind;		   /* enum cpu_acc_kind */
	uint8_t space;		   /* enum ptx_space: GENERIC, GLOBAL, SHARED, ... */
	uint8_t sem, scope, proxy; /* enum ptx_* */
	bool is_nc;		   /* ld.nc */
	uint8_t width, vec, each;  /* bytes of an element, elements, bytes of one's register */
	uint8_t reg;		   /* of a store of one element: `each`, or 0 */
	uint32_t value;		   /* ... and its slot */
	const uint32_t *values;	   /* of a store: the slots of its elements, or NULL */
};

/* The 32 addresses of an address operand. */
void cpu_addresses(struct cpu_warp *w, const struct cpu_addr *a, uint64_t addr[CPU_WARP]);

/* The kind of memory that host bytes belong to: private memory (local, const) has no model. */
enum cpu_place { CPU_PLACE_PRIVATE, CPU_PLACE_SHARED, CPU_PLACE_GLOBAL };

/* Bytes of the program's memory that a lane is about to access. */
struct cpu_range {
	enum ptx_space space; /* generic ones are decoded */
	uint64_t addr, bytes;
	uint32_t align;		  /* the address is a multiple of it; 0: any */
	bool is_write, is_atomic; /* written: not const and parameter memory; for messages */
};

/* One element of a lane at its place on the host. */
struct cpu_elem {
	unsigned lane;
	enum cpu_place place;
	uint32_t bytes;
	uint8_t *host;
};

/*
 * Where the range of lane `lane` lies on the host, once bounds and alignment are checked. NULL: a
 * fault was raised. Memory models are bypassed: the pointer is the memory itself, valid until the
 * lane's next instruction. Atomics and async copies use this.
 */
uint8_t *cpu_resolve(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		     const struct cpu_range *r);
/* Of a running copy that has no warp any more: `cta` may be NULL (global only). NULL: fault raised
 * against the copy's grid. */
uint8_t *cpu_resolve_async(struct cpu_cta *cta, const struct cpu_inst *in, enum ptx_space space,
			   uint64_t addr, uint64_t bytes, uint32_t align, bool is_write);
/* The same for units of 16 bytes of a matrix, at n addresses in .shared: where each is on the host.
 * False: a fault was raised. */
#define CPU_UNIT 16u
bool cpu_resolve_units(struct cpu_cta *cta, const struct cpu_inst *in, const uint32_t *at,
		       uint32_t n, const uint8_t **unit);
/* Is a generic address in that space, as seen by the warp's block (isspacep)? */
bool cpu_is_space(struct cpu_warp *w, uint64_t addr, enum ptx_space space);

/*
 * Loads or stores `bytes` per lane as the memory model says: data of lane l at
 * data + l * bytes. For collective accesses (ldmatrix, wmma.load, ...); ld and st have their own
 * fast paths to the same rules.
 */
enum cpu_step cpu_access(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
			 uint32_t mask, const uint64_t addr[CPU_WARP], uint32_t bytes, void *data);

/* Memory effects of synchronisation: what lanes wrote becomes visible to / stale copies are
 * dropped for the scope. Fences are both; barriers release on arrival, acquire on departure. */
void cpu_release(struct cpu_warp *w, uint32_t mask, enum ptx_scope scope);
void cpu_acquire(struct cpu_warp *w, uint32_t mask, enum ptx_scope scope);
/* Before an atomic, async or other access that goes to memory past the caches: writes of these
 * lanes to those bytes are made visible, the block's cached copy is dropped. */
void cpu_model_bypass(struct cpu_warp *w, unsigned lane, uint8_t *host, uint64_t bytes);
/* A chance, drawn by seed, that a pending write of a warp reaches memory; by the run loop. */
void cpu_model_tick(struct cpu_warp *w);
/* All writes of an ending warp or block become visible. */
void cpu_model_flush(struct cpu_warp *w);
void cpu_model_cta_init(struct cpu_cta *cta);
void cpu_model_cta_free(struct cpu_cta *cta);

/* space.c: the machine's memory. */
bool cpu_space_init(struct cpu_machine *m);
void cpu_space_free(struct cpu_machine *m);
/* After fork, in the child. */
void cpu_space_forked(struct cpu_machine *m);
/* The device heap of malloc and free is created at its first use; cpu_space_free calls this. */
void cpu_heap_free(struct cpu_machine *m);
/* A kernel that may call malloc or free is launched: from now on the device's heap keeps its
 * size. */
void cpu_heap_use(struct cpu_machine *m, unsigned device);
bool cpu_syscall_is_heap(cpu_syscall *fn);

/* syscalls.c: functions that CUDA programs call without defining: vprintf, malloc, free,
 * __assertfail, cudaCGGetIntrinsicHandle... . NULL: not one. Arguments are at `args` in the .param
 * area of the callee's depth, results at `rets`. Called by control.c. */
cpu_syscall *cpu_syscall_find(const char *name, uint32_t *args, uint32_t *rets);
/* The purpose of a function of the toolkit's device runtime that the CPU device lacks; NULL: the
 * name is none of those. */
const char *cpu_syscall_lacks(const char *name, size_t n);

/* ---- warp.c, control.c, barrier.c: execution -------------------------------------------- */

/* Executes the warp for at most `budget` instructions of one ready split; returns false when
 * nothing of it can run now. */
bool cpu_warp_run(struct cpu_worker *k, struct cpu_warp *w, uint32_t budget);
/* Fault, or end of the grid: the warp's lanes have exited. */
void cpu_warp_exit(struct cpu_warp *w, uint32_t lanes);
/* Removes `lanes` from the current split into a new one at the given pc; the current one keeps
 * the rest. */
struct cpu_split *cpu_split_off(struct cpu_warp *w, uint32_t lanes, uint32_t pc);
/* Sets base[] from cur. */
void cpu_warp_focus(struct cpu_warp *w, struct cpu_split *s);
/* Barrier hooks used by warp.c. */
void cpu_barrier_lanes_exit(struct cpu_warp *w, uint32_t lanes);
void cpu_barriers_init(struct cpu_cta *cta);
void cpu_barriers_free(struct cpu_cta *cta);
void cpu_cluster_barrier_init(struct cpu_cluster *c);
void cpu_cluster_barrier_free(struct cpu_cluster *c);

/* ---- async.c: copies as actors of their own ------------------------------------------------ */

/* Copies in flight of this block? */
bool cpu_async_pending(const struct cpu_cta *cta);
/* What keeps the wait `in` of a lane from its end, for a message: " (its mbarrier is in a phase of
 * parity 0: 1 of 1 arrivals missing)"; "" where that isn't known. */
void cpu_mbarrier_lacks(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane, char *out,
			size_t size);
/* Does a piece of one copy, chosen by seed; false when there is none. The engine calls it between
 * the turns of warps. */
bool cpu_async_step(struct cpu_worker *k, struct cpu_cta *cta);
/* The block ends: its copies are finished first (global) or dropped (its own shared memory). */
void cpu_async_free(struct cpu_cta *cta);

/* async/tmem.c: lanes are about to exit. False: they are the block's last ones and leave tensor
 * memory allocated, a fault was raised. */
bool cpu_tmem_exit(struct cpu_warp *w, uint32_t mask);

/* ---- exec/texture.c: the table of textures and surfaces; false: no memory ------------------- */

bool cpu_textures_init(struct cpu_machine *m);
/* steer.c. False: no memory. */
bool cpu_steer_init(struct cpu_machine *m);
void cpu_steer_free(struct cpu_machine *m);
/* Is some thread to be delayed at this line? Then cpu_steer_access comes before its accesses. */
bool cpu_steer_names(const struct cpu_machine *m, uint32_t line);
void cpu_textures_free(struct cpu_machine *m);

/* ---- deadlock.c: while worker->proof isn't NULL ---------------------------------------------- */

/* An instruction accesses shared or global memory; an atomic has changed memory. */
void cpu_proof_read(struct cpu_warp *w, const struct cpu_inst *in, uint64_t addr, bool is_global);
void cpu_proof_fail(struct cpu_worker *k);

/* ---- engine.c ------------------------------------------------------------------------------ */

bool cpu_engine_init(struct cpu_machine *m);
void cpu_engine_free(struct cpu_machine *m);
/* The device's first fault, from fault.c. Thread-safe. */
void cpu_engine_fault(struct cpu_machine *m, unsigned device, const struct cpu_fault *f);
/* All that runs waits for blocks that the launch left out: it ends. False: it leaves none out. */
bool cpu_engine_waits(struct cpu_grid *g, const char *why);
void cpu_engine_forget(struct cpu_machine *m, const struct cpu_module *mod); /* is unloaded */
/* The launch's programmatic dependents may start (griddepcontrol.launch_dependents). */
void cpu_engine_launch_dependents(struct cpu_grid *g);
/* Have all grids before this one ended (griddepcontrol.wait)? */
bool cpu_engine_dependencies_done(const struct cpu_grid *g);

/* ---- load.c: modules ------------------------------------------------------------------------ */

/* What a kernel may do, as its text says (load/traits.c). */
struct cpu_traits {
	/* The blocks of a launch don't wait for each other: it has neither strong accesses of
	 * global memory but relaxed ones, wider fences than a block's, asynchronous copies, nor
	 * malloc, free or calls by pointers. Where it prints, a launch on several workers is taken
	 * back. */
	bool is_apart;
	/* Results of these atomics are used, or they aren't updates: groups of blocks come to them
	 * in their order. */
	bool has_order;
	/* ... it has strong loads and stores of global memory, too, or one of these. */
	bool has_strong;
	/* One atomic by which each block seems to take a number, once; NULL: none (order.c). */
	const struct ptx_stmt *ticket;
	/* is_apart, but a block might wait for a later one, or for other work (order.c). */
	bool may_wait;
	/* It has such atomics. Without has_order no thread has their results; then they leave the
	 * same in any order if all are of integers, of one operation and type; ordered: they don't.
	 * Narrow:
	 * of a scope in which not all blocks are. */
	bool has_updates, has_ordered_updates, has_narrow_updates;
	/* Threads of a block may wait for each other by shared memory: it has strong loads of it,
	 * or exchanges values there. */
	bool may_spin;
	bool has_calls;
	/* It may acquire what the host releases: it has a scope of the system. */
	bool has_system;
	/* It may acquire or release what it shares with other kernels (relaxed operations alone
	 * don't); or may see what they write strongly; others may see that of it. */
	bool may_order, may_observe, may_show;
	uint64_t weight; /* of its text (flow_weight) */
};

struct cpu_kernel {
	struct cpu_module *mod;
	struct cpu_func *func;
	struct cpu_kernel_info info;
	uint32_t nparam_bytes;
	uint32_t *param_offset, *param_bytes;
	bool is_heap_known, uses_heap; /* kernel.c */
	bool has_traits;	       /* kernel.c */
	struct cpu_traits traits;
	uint32_t apart_misses; /* apart.c: launches whose blocks met */
	bool has_waited;       /* order.c: a block waited for another one, or for other work */
	uint32_t judge_misses; /* apart.c: launches in which workers' judges found something */
	uint64_t last_insts, last_blocks;	 /* apart.c: its last launch; 0: there was none */
	uint64_t repeat_launches, repeat_misses; /* repeat.c: all; kept ones that didn't repeat */
};

/* The function with this address in CPU_WIN_CODE, or NULL. */
struct cpu_func *cpu_func_at(struct cpu_module *mod, uint64_t address);
/* Why a function without code has none. */
const char *cpu_func_refused(const struct cpu_func *f);
/* May the kernel call malloc or free? */
bool cpu_kernel_uses_heap(struct cpu_kernel *k);
/* What it may do, found in its text at the first call; thread-safe. The kernel's. */
const struct cpu_traits *cpu_kernel_traits(struct cpu_kernel *k);
/* apart.c: a thread does what no other worker may do beside it, and that can't be undone, or what
 * another one may have disturbed. False: it is not to, or doesn't count, as the launch is taken
 * back and repeated on one worker. */
bool cpu_apart_is_alone(const struct cpu_worker *k);
/* load/traits.c: a load or store that groups of blocks may come to in their order. */
bool cpu_is_ordered(const struct ptx_form *f);
/* order.c: before an atomic or strong load of a worker that has_order: all groups before its own
 * have ended when this returns. False: the launch is taken back, and it isn't to be executed beside
 * what others still do. */
bool cpu_apart_await_order(struct cpu_worker *k);
/* A block takes its number, at once: of `bytes` at `host`. False: as above. */
bool cpu_apart_ticket(struct cpu_worker *k, uint64_t host, unsigned bytes, uint64_t *value);
/* Strong stores by these lanes, of elements side by side, are carried out in the order of groups.
 * False: they aren't, and are to await it. */
bool cpu_apart_store(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		     uint32_t mask, const uint64_t addr[CPU_WARP]);
/* Decodes the kernel and all that it can call, once, before the first block of a grid; thread-safe.
 * False: host memory is exhausted or the kernel is too large. */
bool cpu_kernel_ready(struct cpu_kernel *k);
/* Many threads will execute it, on several workers: runs are found now (jit/run.c). */
void cpu_kernel_is_hot(struct cpu_kernel *k);
/* After fork, in the child: what was being decoded has no code and is decoded again. */
void cpu_load_forked(void);

/* decode.c: f's constants for a block of that rank, from 1, in a cluster; the module's memory. */
uint8_t *cpu_func_ranked(struct cpu_func *f, uint32_t rank);

/* decode.c: makes f->code; called by load.c once all symbols have addresses. */
bool cpu_decode(struct cpu_func *f, struct base_arena *arena, struct base_sink *sink);

#endif
