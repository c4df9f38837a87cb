/*
 * cpu.h - the front header of src/cpu: a CUDA device made of host code.
 *
 *   ptx_parse -> cpu_module_load (link, decode) -> cpu_submit (work) -> cpu_wait
 *
 * A machine has one or more virtual devices, which share the host's address
 * space: a global address is a host address, so managed and pinned memory need
 * no translation. Work (kernels, copies, memsets, host functions) is a graph
 * of operations: each starts when all that it depends on have ended; the caller builds streams,
 * events and CUDA graphs from that. Operations that may run at the same time are interleaved at
 * random by the seed.
 *
 * The machine works while some host thread waits for it (cpu_wait and the
 * like), in that thread; when there has been no call for CPU_GRACE_MS although there is work, and
 * not because the program was kept from running, a thread of its own continues. So a program that
 * only launches and waits has one schedule per seed, and one that polls memory still ends.
 *
 * Every function here may be called from any host thread. This room doesn't know CUDA's API
 * (src/cudart does).
 */
#ifndef COLLIDER_CPU_H
#define COLLIDER_CPU_H

#include "base/base.h"
#include "ptx/ptx.h"
#include "race/shuffle/blocks.h"
#include "cpu/objects.h"

struct cpu_machine;
struct cpu_module;
struct cpu_kernel;
struct cpu_op;

#define CPU_GRACE_MS 200

/* ---- the machine --------------------------------------------------------- */

enum cpu_model { CPU_MODEL_SC, CPU_MODEL_WEAK, CPU_MODEL_A1 };

/* Is every access judged (events/events.c), and how are fence.sc ordered? docs/soundness.md. */
enum cpu_oracle { CPU_ORACLE_OFF, CPU_ORACLE_PROGRAM, CPU_ORACLE_EXECUTION };

/* Runs of arithmetic: by the handlers of alu/, as machine code, as both with a comparison. */
enum cpu_jit { CPU_JIT_OFF, CPU_JIT_ON, CPU_JIT_VERIFY };

struct cpu_options {
	uint64_t seed;
	unsigned threads;    /* host threads that execute blocks of launches that are apart.c's */
	uint32_t apart_from; /* ... with so many threads of their own; 0: as are worth it */
	uint64_t apart_patience; /* ... instructions after which blocks take turns; 0: order.c's */
	unsigned devices;	 /* virtual devices, at least 1 */
	unsigned sms;		 /* multiprocessors of each; 0: the default (CPU_SMS) */
	enum cpu_model model;
	uint64_t memory;	/* bytes of each device; 0: the default (CPU_MEMORY) */
	bool prints_stats;	/* the caller prints cpu_get_stats at the end */
	enum cpu_oracle oracle; /* whether accesses are judged, and how fence.sc orders */
	bool sees_host;	  /* the oracle sees host code's loads and stores: events/host_access.c */
	bool steps_aside; /* a full oracle judges no more, and the machine goes on */
	/* sees_host, from the first managed or pinned memory on, unless the program has handlers of
	 * the signals that this needs. */
	bool is_host_auto;
	/* Each instruction's races are reported, not one for those of a line, and however many
	 * fence.sc's there are. */
	bool is_exact;
	bool is_host_apart; /* each host thread is an actor of the oracle: events/host.c */
	/* Bytes for what launches have left, so that one that finds the same leaves it at once
	 * (repeat.c); 0: each launch is executed. tries_repeats: that one, too, and what it leaves
	 * is compared. */
	uint64_t repeat_bytes;
	bool tries_repeats;
	/* The machine's own memory lies where other machines have none, so that theirs can be
	 * placed at its addresses (cpu_mem_place). */
	bool is_guest;
	/* The oracle judges no weak access of a variable that this list doesn't have (--variable),
	 * which outlives the machine; NULL: all. */
	const char *variable;
	/* steer.c, of checked launches: from this turn on (the first is 1) nothing is drawn; 0:
	 * never. Places of race/shuffle/place.h, or NULL; with one worker only. */
	uint64_t calm_from;
	const char *delay, *only;
	uint32_t oracle_actors, oracle_records; /* limits, for tests; 0: those of oracle.h */
	enum cpu_jit jit;
};

#define CPU_SMS		  16u
#define CPU_MEMORY	  (16ull << 30)
#define CPU_SM_THREADS	  2048u
#define CPU_SM_CTAS	  32u
#define CPU_SHARED_STATIC (48u << 10)  /* shared memory of a block without opting in */
#define CPU_SHARED_OPTIN  (227u << 10) /* at most */
#define CPU_SHARED_SM	  (228u << 10)
#define CPU_WARP	  32u
#define CPU_CLUSTER_MAX	  16u
#define CPU_SM_VERSION	  90u /* the version that the device reports: 9.0 */

struct cpu_machine *cpu_machine_new(const struct cpu_options *opt);
/* Does not wait: what still runs is dropped. */
void cpu_machine_free(struct cpu_machine *m);
/* Memory is short: nothing more is judged (base_reserve calls this, whatever locks are held). */
void cpu_machine_short(struct cpu_machine *m);
/* After fork, in the child: locks and threads of the parent are forgotten, nothing runs. */
void cpu_machine_forked(struct cpu_machine *m);

/* ---- faults --------------------------------------------------------------- */

enum cpu_fault_kind {
	CPU_FAULT_NONE,
	CPU_FAULT_ADDRESS, /* out of bounds, freed, or no memory at all */
	CPU_FAULT_MISALIGNED,
	CPU_FAULT_UNSUPPORTED, /* an instruction the device does not execute */
	CPU_FAULT_TRAP,	       /* trap, brkpt */
	CPU_FAULT_ASSERT,
	CPU_FAULT_ILLEGAL,   /* undefined use: bad barrier count, bad mask, bad call target */
	CPU_FAULT_STACK,     /* call depth or local memory exhausted */
	CPU_FAULT_DEADLOCK,  /* every thread waits and nothing can wake one */
	CPU_FAULT_RESOURCES, /* host memory exhausted */
	CPU_FAULT_UNKNOWN    /* there is memory, whose contents the pager can't give (pages.c) */
};

/* The first fault of a device; it is sticky: later work of the device fails with it. */
struct cpu_fault {
	enum cpu_fault_kind kind;
	char text[512]; /* one line: what, thread, block, kernel, file:line, PTX text */
	/* The instruction that caused it, as a race's side names it; "" and 0 if there is none. */
	char func[256];
	uint32_t ptx_line;
};

/* The device's sticky fault (kind NONE if there is none). */
void cpu_fault_get(struct cpu_machine *m, unsigned device, struct cpu_fault *out);
void cpu_fault_clear(struct cpu_machine *m, unsigned device);

/*
 * Notifications; to be set before the first work: `progress` after each batch of work, `fault` at a
 * device's first fault. Called by the thread that executes, with locks of the machine held: they
 * may call cpu_get_oracle_stats and must not wait.
 */
typedef void cpu_progress_fn(void *arg);
typedef void cpu_fault_fn(void *arg, unsigned device, const struct cpu_fault *f);
void cpu_listen(struct cpu_machine *m, cpu_progress_fn *progress, cpu_fault_fn *fault, void *arg);
/* `quiet`: a kernel is about to start, and no other runs on any device. With locks held, too. */
typedef void cpu_quiet_fn(void *arg);
void cpu_listen_quiet(struct cpu_machine *m, cpu_quiet_fn *quiet, void *arg);

struct cpu_launch;

/*
 * A launch with a plain kernel is about to start: until when is it checked? 0: not at all;
 * UINT64_MAX: to its end. spent_ns: how long the machine has worked while checked launches ran.
 * With locks held, too. `cut`: that time has come, when so many of the launch's blocks had begun.
 * The oracle judges nothing more of it; the checks in its code stay. Not with several workers.
 */
typedef uint64_t cpu_choose_fn(void *arg, const struct cpu_launch *l, uint64_t spent_ns);
typedef void cpu_cut_fn(void *arg, void *tag, uint64_t blocks, uint64_t of);
void cpu_listen_choose(struct cpu_machine *m, cpu_choose_fn *choose, cpu_cut_fn *cut, void *arg);

/*
 * How the API orders launches (past.c), whether or not anything is judged: `start` when a kernel
 * starts, with a bit for each of the CPU_PAST last grids, by %gridid: neither this one nor that one
 * is ordered before the other, and of these, other kernels or functions of the host perhaps ordered
 * that one before this one, or its strong writes only, through memory; `forget` when memory begins
 * to be used for something new. From the call on, operations are followed. With locks held, too;
 * arg is shared.
 */
#define CPU_PAST 1024u
enum cpu_order { CPU_ORDER_NONE, CPU_ORDER_PERHAPS, CPU_ORDER_SEEN, CPU_ORDERS };
typedef void cpu_past_fn(void *arg, uint64_t grid, const uint64_t rows[CPU_ORDERS][CPU_PAST / 64]);
typedef void cpu_forget_fn(void *arg, uint64_t address, uint64_t bytes);
void cpu_listen_past(struct cpu_machine *m, cpu_past_fn *start, cpu_forget_fn *forget, void *arg);

/* ---- memory (space.c) ------------------------------------------------------ */

enum cpu_mem_kind { CPU_MEM_DEVICE, CPU_MEM_MANAGED, CPU_MEM_HOST, CPU_MEM_MODULE };

struct cpu_mem_info {
	uint64_t base, bytes;
	enum cpu_mem_kind kind;
	unsigned device;
	uint64_t generation; /* of the allocation; never reused */
	bool is_registered;  /* the program's own memory */
	bool is_heap;	     /* by malloc of a kernel */
};

/*
 * Allocates `bytes` (0 gives a distinct address, too), aligned to at least 256, not zeroed: fresh
 * DEVICE memory is filled with a pattern by seed. Returns NULL when the device's memory is
 * exhausted. Host code may access DEVICE memory only through copies: the pages are readable and
 * writable, so the program's API must enforce that.
 */
void *cpu_mem_alloc(struct cpu_machine *m, unsigned device, uint64_t bytes, enum cpu_mem_kind kind);
/* Registers host memory of the program with the device (pinned). False: overlaps another. */
bool cpu_mem_register(struct cpu_machine *m, void *p, uint64_t bytes);
/* The same for memory that only inserted instructions access: the oracle has nothing to forget
 * there. */
bool cpu_mem_register_ours(struct cpu_machine *m, void *p, uint64_t bytes);
bool cpu_mem_unregister(struct cpu_machine *m, void *p);
/* False: not the start of a live allocation. Freed memory stays unusable for a while, so that a
 * later use of it is reported. */
bool cpu_mem_free(struct cpu_machine *m, void *p);
/* The allocation that holds the address; false: none. */
bool cpu_mem_find(struct cpu_machine *m, uint64_t addr, struct cpu_mem_info *out);
void cpu_mem_usage(struct cpu_machine *m, unsigned device, uint64_t *used, uint64_t *total);
/* Where the host finds the byte at addr, whether or not host code's accesses are watched. */
uint64_t cpu_mem_host(struct cpu_machine *m, uint64_t addr);
/* The addresses that all memory allocated here lies in. */
void cpu_mem_region(const struct cpu_machine *m, uint64_t *first, uint64_t *bytes);
/* May kernels of `device` use memory of `peer`? Off until enabled. */
void cpu_mem_set_peer(struct cpu_machine *m, unsigned device, unsigned peer, bool is_on);

/*
 * Memory of another machine, at its own addresses: the caller has mapped the bytes there, and they
 * outlive this machine. False: some of it is there already.
 */
bool cpu_mem_place(struct cpu_machine *m, const struct cpu_mem_info *at);
/* Calls fn for each live allocation, by rising addresses. fn may not allocate or free. */
void cpu_mem_each(struct cpu_machine *m, void (*fn)(void *arg, const struct cpu_mem_info *info),
		  void *arg);

/* ---- memory that comes as it is used (pages.c) ---------------------------------- */

struct cpu_run;

/*
 * Called by the thread that executes, which may hold locks of the machine: no other work of the
 * machine goes on meanwhile. Only with one worker.
 */
struct cpu_pager {
	uint32_t page; /* bytes: a power of two, at least 4096 */
	/* A kernel, or a copy of it, accesses addr, where there is no memory. True: there is now
	 * (cpu_mem_place). NULL: never. */
	bool (*missing)(void *arg, uint64_t addr);
	/*
	 * It is about to access these bytes, or others of their page: a page, or the part of it
	 * that is one allocation. Called before the first access at all, before the first that may
	 * read what is there, and again when more memory is placed in the page. When it returns
	 * the bytes must hold what the access shall find. False: they can't; the kernel's device
	 * stops with CPU_FAULT_UNKNOWN.
	 */
	bool (*touch)(void *arg, uint64_t addr, uint64_t bytes, bool is_read);
	/* A judged kernel starts: shall its memory be followed? Pages count as not yet accessed.
	 * Then `end` is called when it has ended; is_alone: nothing else ran meanwhile. NULL:
	 * memory is followed all the time. */
	bool (*begin)(void *arg, const struct cpu_run *run);
	void (*end)(void *arg, const struct cpu_run *run, bool is_alone);
	void *arg;
};
/* Before the first work. The struct is copied. */
void cpu_set_pager(struct cpu_machine *m, const struct cpu_pager *pager);

/* ---- what kernels call (syscalls.c) ------------------------------------------ */

/* Bytes of a device's heap for malloc in kernels, of which an allocation costs its size, rounded up
 * to 16, and 16 more; the default is CPU_HEAP. False: a kernel that may call malloc or free has
 * been launched on the device, so that its heap can't change. */
bool cpu_heap_set_limit(struct cpu_machine *m, unsigned device, uint64_t bytes);
/* Frees what kernels have allocated; the limit is the default again. No kernel runs on the
 * device. */
void cpu_heap_reset(struct cpu_machine *m, unsigned device);
#define CPU_HEAP (8ull << 20)
/* Where the text of printf goes (and of failed assertions: is_error), whole calls at once, in their
 * order; NULL: stdout and stderr. Called by the threads that execute blocks, one at a time. */
typedef void cpu_print_fn(struct cpu_machine *m, bool is_error, const char *text, size_t n);
void cpu_set_printf(struct cpu_machine *m, cpu_print_fn *fn);

/* ---- modules (load.c) ------------------------------------------------------- */

/*
 * Links `n` parsed modules (one, or all objects of an -rdc program), lays out their variables in
 * the device's memory and decodes their functions. The parsed modules and their text must outlive
 * the result. An unsupported instruction is no error here: it faults when it is executed; a symbol
 * that a function names and no part defines refuses the kernels that call it (cpu_kernel_refused).
 * Errors (doubly defined symbol, bad initialiser) go to `sink`; returns NULL then.
 */
struct cpu_module *cpu_module_load(struct cpu_machine *m, unsigned device,
				   struct ptx_module *const *parts, unsigned n,
				   struct base_sink *sink);
/*
 * The text without checks of a module that has been loaded with them: the same variables, at the
 * same addresses, and functions whose addresses mean the same. Its kernels make no event of the
 * oracle. To be unloaded before `of`; NULL as above, or when the two have not the same variables.
 */
struct cpu_module *cpu_module_load_plain(struct cpu_module *of, struct ptx_module *const *parts,
					 unsigned n, struct base_sink *sink);
/*
 * The same for a module that another machine has loaded: its variables and functions have the
 * addresses that they have there. `part` numbers the texts, `nth` the variables of one name in one
 * text, both from 0; 0: the other machine's address isn't known, or it has no such variable, which
 * gets a place and its initial value here. A variable that has one holds what is in memory there.
 */
struct cpu_places {
	uint64_t (*variable)(void *arg, unsigned part, const char *name, unsigned nth,
			     uint64_t bytes);
	uint64_t (*function)(void *arg, unsigned part, const char *name);
	void *arg;
};
struct cpu_module *cpu_module_load_at(struct cpu_machine *m, unsigned device,
				      struct ptx_module *const *parts, unsigned n,
				      const struct cpu_places *places, struct base_sink *sink);
/* These addresses: of the program's own variables, and of functions that pointers may name. */
struct cpu_placed {
	unsigned part, nth;
	const char *name;
	uint64_t addr, bytes; /* bytes 0: a function */
};
void cpu_module_each_place(struct cpu_module *mod, void (*fn)(void *arg, const struct cpu_placed *),
			   void *arg);
void cpu_module_unload(struct cpu_module *mod);
/* Makes the managed variables of `mod` those of `of`, the same parts loaded on another device:
 * there is one of each for the whole program. Before the first launch of mod's kernels; `of` must
 * outlive mod. An initialiser that holds a managed variable's address keeps the old one. */
void cpu_module_share_managed(struct cpu_module *mod, const struct cpu_module *of);

/* A variable of .global or .const space; false: there is none. The address is writable by the
 * host while no kernel runs. */
bool cpu_module_symbol(struct cpu_module *mod, const char *name, uint64_t *addr, uint64_t *bytes);
/* A .entry function, or NULL. */
struct cpu_kernel *cpu_module_kernel(struct cpu_module *mod, const char *name);
/* Calls fn for every .global/.const variable (to find those with a prefix). */
void cpu_module_each_symbol(struct cpu_module *mod,
			    void (*fn)(const char *name, uint64_t addr, uint64_t bytes, void *arg),
			    void *arg);

struct cpu_kernel_info {
	const char *name;
	uint32_t regs;		/* estimate of registers a thread would use: 16..255 */
	uint32_t shared_static; /* bytes */
	uint32_t local;		/* bytes of a thread */
	uint32_t consts;	/* bytes of the module's .const variables */
	uint32_t max_threads;	/* .maxntid or 1024 */
	uint32_t reqntid[3];	/* 0: not given */
	uint32_t cluster[3];	/* .reqnctapercluster; 0: not given */
	uint32_t nparams;
	bool is_instrumented; /* contains inserted instructions */
};
void cpu_kernel_get_info(const struct cpu_kernel *k, struct cpu_kernel_info *out);
struct cpu_module *cpu_kernel_module(const struct cpu_kernel *k);
/*
 * Why the kernel can't be launched, in one line with its place (a function that it calls is not
 * defined, variables that don't fit); NULL: it can. Lives as long as the module; cpu_submit refuses
 * the launch with the same text. *is_incomplete (may be NULL): another object might define what is
 * missing.
 */
const char *cpu_kernel_refused(struct cpu_kernel *k, bool *is_incomplete);
/* Offset and size of parameter i in the parameter block; false: no such parameter. */
bool cpu_kernel_param(const struct cpu_kernel *k, uint32_t i, uint32_t *offset, uint32_t *bytes);
/* Whole size of the parameter block. */
uint32_t cpu_kernel_param_bytes(const struct cpu_kernel *k);
/* Blocks that fit on one multiprocessor at the same time; __launch_bounds__ don't count, as in
 * CUDA's occupancy calculator: a launch checks them itself. */
uint32_t cpu_kernel_occupancy(const struct cpu_kernel *k, uint32_t threads, uint64_t shared_dyn);

/* ---- work (engine.c) ---------------------------------------------------------- */

struct cpu_launch {
	struct cpu_kernel *kernel;
	uint32_t grid[3], block[3], cluster[3]; /* cluster 0,0,0: the launch requests none */
	uint64_t shared_dyn;
	const void *params; /* cpu_kernel_param_bytes bytes; copied by cpu_submit */
	bool is_cooperative;
	bool is_programmatic; /* may start at griddepcontrol.launch_dependents of its predecessor */
	/* How the kernel's code turns block ids into logical ones, for the oracle's reports. */
	uint32_t order; /* enum race_shuffle */
	struct race_shuffle_keys shuffle_keys;
	/* The kernel of the text without checks, run instead if the listener `choose` says so.
	 * NULL: there is no choice. */
	struct cpu_kernel *plain;
	/* For cpu_listen_past, of an instrumented kernel: that of the text without checks. NULL: it
	 * may do anything. */
	struct cpu_kernel *text;
	/*
	 * Only these run, of the grid's blocks or, where there are clusters, clusters: numbers in
	 * the grid, x first, rising; copied by cpu_submit. NULL: all. Every prefix of an execution
	 * is one of the program's, so what is found is true; but those that run may wait for others
	 * (CPU_END_WAITS).
	 */
	const uint64_t *chosen;
	uint64_t nchosen;
	void *tag;	   /* for `choose` and `cut` */
	bool is_outside;   /* for `choose`: what the program's thread knew as it submitted */
	uint64_t until_ns; /* what `choose` said */
	bool is_plain;
};

/* Up to three dimensions; a 1D copy has height = depth = 1. Pitches in bytes. */
struct cpu_copy {
	uint64_t dst, src;
	uint64_t dst_pitch, src_pitch; /* between rows */
	uint64_t dst_slice, src_slice; /* between slices */
	uint64_t width, height, depth; /* bytes, rows, slices */
	bool is_taken;		       /* the bytes at src are taken by cpu_submit */
};

struct cpu_fill {
	uint64_t dst, pitch, slice;
	uint64_t width, height, depth; /* elements, rows, slices */
	uint32_t value, size;	       /* size of an element: 1, 2, 4 */
};

enum cpu_work_kind {
	CPU_WORK_EMPTY, /* a join or an event: ends when all it depends on have ended */
	CPU_WORK_KERNEL,
	CPU_WORK_COPY,
	CPU_WORK_FILL,
	CPU_WORK_HOST,	     /* calls fn(arg) in a thread of its own */
	CPU_WORK_WAIT_VALUE, /* until the 4 or 8 bytes at addr compare with value */
	CPU_WORK_WRITE_VALUE,
	CPU_WORK_EXTERNAL /* ends when cpu_op_finish is called */
};

enum cpu_wait_cmp { CPU_WAIT_GEQ, CPU_WAIT_EQ, CPU_WAIT_AND, CPU_WAIT_NOR };

struct cpu_work {
	enum cpu_work_kind kind;
	unsigned device;
	uint32_t stream; /* the caller's number of the stream, for reports and %gridid's order */
	uint32_t origin; /* the caller's number of the place that requested it; 0: unknown */
	bool is_graph;	 /* a node of a graph asked for it */
	int priority;	 /* lower is more urgent; it only biases the scheduler */
	/* Memory that the operation frees: it must not be used beside or after it. 0: none. */
	uint64_t frees, free_bytes;
	uint64_t hold; /* ns that a kernel waits for when all it depends on has ended */
	union {
		struct cpu_launch launch;
		struct cpu_copy copy;
		struct cpu_fill fill;
		struct {
			void (*fn)(void *arg);
			void *arg;
		} host;
		struct {
			uint64_t addr, value;
			uint32_t size; /* 4 or 8 */
			enum cpu_wait_cmp cmp;
		} value;
	};
};

/*
 * Submits one operation, which starts when the `n` operations in deps (NULL entries are skipped)
 * have ended. Returns it with a reference that the caller drops by cpu_op_put. NULL: a launch that
 * the device refuses (too many threads, too much shared memory, grid of 0, a cooperative grid that
 * does not fit; *fault says which).
 */
struct cpu_op *cpu_submit(struct cpu_machine *m, const struct cpu_work *work,
			  struct cpu_op *const *deps, size_t n, struct cpu_fault *fault);
struct cpu_op *cpu_op_get(struct cpu_op *op);
void cpu_op_put(struct cpu_op *op);
/* Has it ended (well or not)? Does a bounded amount of the machine's work if it hasn't. */
bool cpu_op_query(struct cpu_op *op);
/* Works for `ns` of the machine's clock, or until there is nothing to do. False: another thread is
 * working. */
bool cpu_run_for(struct cpu_machine *m, uint64_t ns);
/* Waits for its end, working on the machine meanwhile. */
void cpu_op_wait(struct cpu_op *op);
/* The same for that time at most (the host's, ms). False: it hasn't ended. */
bool cpu_op_wait_for(struct cpu_op *op, uint64_t ms);
/* Ends a CPU_WORK_EXTERNAL. */
void cpu_op_finish(struct cpu_op *op);
/* When it ended, on the machine's clock (ns); 0: not yet. */
uint64_t cpu_op_time(const struct cpu_op *op);
/* How it ended, or that it hasn't. */
enum cpu_end {
	CPU_END_NOT,
	CPU_END_WHOLE,	 /* all of its blocks that were chosen, or all that it had to do */
	CPU_END_FAULT,	 /* by a fault of the device, or it never started because of one */
	CPU_END_STOPPED, /* a kernel, by cpu_op_stop */
	CPU_END_WAITS	 /* a kernel whose blocks all wait for blocks that weren't chosen */
};
enum cpu_end cpu_op_how(const struct cpu_op *op);
/* What its threads wait for, in one line, after CPU_END_WAITS; else "". */
const char *cpu_op_why(const struct cpu_op *op);
/* Ends a kernel as if its threads had never got further; from any thread, or a signal handler.
 * Does not wait: what is executed in parallel goes on for a turn. */
void cpu_op_stop(struct cpu_op *op);

/* A kernel that runs, for struct cpu_pager. */
struct cpu_run {
	const struct cpu_launch *launch; /* params: as the kernel finds them */
	unsigned device;
	uint64_t grid;		 /* %gridid */
	uint32_t stream, origin; /* of struct cpu_work */
};
/* Between the two calls the program's thread is in its caller's code, which seeks a proof or does
 * something else without the machine: that doesn't go on by itself, however long it takes. */
void cpu_grace_pause(struct cpu_machine *m);
void cpu_grace_resume(struct cpu_machine *m);
/* Waits until the device (or UINT_MAX: every device) has no work left. */
void cpu_wait_idle(struct cpu_machine *m, unsigned device);

/* What ran, for the report's footer. */
struct cpu_stats {
	uint64_t thread_insts, warp_insts; /* executed */
	uint64_t launches, blocks;
	uint64_t repeats;  /* of the launches: those that were not executed, as repeat.c says */
	uint64_t switches; /* decisions of the scheduler */
	uint64_t beside, taken_back; /* launches by several threads; of these, repeated by one */
	bool is_replayable;	     /* no decision depended on the time of day */
};
void cpu_get_stats(struct cpu_machine *m, struct cpu_stats *out);
/* Checks of instrumented kernels so far, those of threads that have not ended included. */
uint64_t cpu_get_checked(const struct cpu_machine *m, unsigned device);
/* FNV-1a over all decisions of the scheduler: equal for equal schedules. */
uint64_t cpu_schedule_hash(struct cpu_machine *m);

/* ---- copies and fills that compare their memory (recheck.c) ------------------------------- */

/* Device memory of a copy or fill changed before the operation was over. */
struct cpu_change {
	unsigned device;
	uint32_t stream, origin; /* of struct cpu_work */
	bool is_source;		 /* else its destination */
	uint32_t width;		 /* bytes of was and now, at most 4 */
	uint64_t address, at;	 /* of the first change; from the operation's first byte */
	uint64_t bytes;		 /* of the operation */
	uint64_t was, now;
};
/* Called by the thread that executes, with locks of the machine held; once for an operation's
 * source and once for its destination. */
typedef void cpu_change_fn(void *arg, const struct cpu_change *c);

/* From now on copies and fills compare, after a delay of up to `delay` ns of the machine's clock;
 * one in `sample` does (0, 1: all). Before the first work. */
void cpu_check_copies(struct cpu_machine *m, uint32_t delay, uint32_t sample, cpu_change_fn *fn,
		      void *arg);

struct cpu_copy_stats {
	uint64_t checked, sampled; /* operations that compared, and that were not drawn */
	uint64_t bytes;
};
struct cpu_copy_stats cpu_get_copy_stats(const struct cpu_machine *m);

/* ---- the oracle's findings (events/site.c) ------------------------------------- */

/*
 * Two accesses that nothing orders, as the shared file has them (race/file/pair.h): `bytes` of
 * struct race_pair with its strings after it, for the first sighting of a pair of instructions.
 * Returns where the pair is kept from now on (its count and is_possible are updated by plain
 * stores), or NULL. Called by the thread that executes, with locks of the machine held.
 */
struct race_pair;
typedef struct race_pair *cpu_pair_fn(void *arg, const struct race_pair *pair, size_t bytes);
void cpu_on_pair(struct cpu_machine *m, cpu_pair_fn *fn, void *arg);

/*
 * Loads and stores of host code (sees_host). Memory that both sides may use is read- and
 * write-protected while work is under way; events/host_signal.c handles the faults. The program's
 * calls that concern those signals go through these functions, which behave like the C library's.
 */
struct sigaction;
/* Is the signal ours? Then stores the program's own action in *old and replaces it; otherwise
 * nothing is done. */
bool cpu_host_sigaction(int sig, const struct sigaction *act, struct sigaction *old);
/* Must no thread block this signal? */
bool cpu_host_needs_signal(int sig);
/* Where a system call finds the program's bytes at p; p itself if they are not protected. */
void *cpu_host_pointer(const void *p);
/* Code of Collider's in the program: what it accesses is accessed by its callers. */
void cpu_host_ours(const void *begin, const void *end);
/* The program lets the device use the program's own memory, which can't be protected: accesses of
 * host code to it aren't seen, so no access of host code is judged from now on. bytes: its size,
 * for the report. */
void cpu_host_unseen(struct cpu_machine *m, uint64_t bytes);
/* The program has started a thread. */
void cpu_host_thread(void);

/*
 * What orders host threads, for a machine with is_host_apart (otherwise these do nothing).
 * `object`: any number that identifies a lock, a condition or similar, such as a host address.
 * release: a thread that acquires the object later comes after what the calling thread has done;
 * is_whole: earlier releases of the object are no longer needed, as the thread has acquired it (a
 * mutex).
 */
void cpu_host_release(struct cpu_machine *m, uint64_t object, bool is_whole);
void cpu_host_acquire(struct cpu_machine *m, uint64_t object);
/* The calling thread has joined this one (pthread_self of it): it comes after all that it did. */
void cpu_host_joined(struct cpu_machine *m, uint64_t thread);

/* Copies, fills and frees are judged until that has taken so many ns. */
void cpu_event_limit(struct cpu_machine *m, uint64_t ns);

struct cpu_oracle_stats {
	uint64_t accesses, words, shadow_bytes, clock_bytes;
	uint64_t dropped, raced_out; /* as in struct oracle_stats */
	uint64_t host_accesses;	     /* of host code */
	uint64_t op_accesses;	     /* of copies, fills and other operations of the host */
	uint64_t
		patterns; /* of cpu_options.variable that match an access: race_variable_patterns */
	uint64_t unreported; /* races in doubt as a launch between was left out: events/plain.c */
	uint64_t registered, registered_bytes; /* calls of cpu_host_unseen, and their sum */
	uint32_t actors;
	uint64_t running; /* operations that have not ended */
	bool sees_host;	  /* accesses of host code are judged, and all so far were */
	/* Why they aren't with is_host_auto: the program's own handlers, too many accesses. */
	bool has_handlers, is_host_dear;
	bool has_shared;      /* there is memory that host code and kernels can access */
	bool is_sc_coarse;    /* as in struct oracle_stats */
	bool is_full;	      /* too many threads, or no memory: later events were not judged */
	bool has_ranges_left; /* copies, fills or frees after cpu_event_limit */
};
/* All zero when there is no oracle. */
void cpu_get_oracle_stats(struct cpu_machine *m, struct cpu_oracle_stats *out);

#endif
