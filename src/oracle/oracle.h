/*
 * oracle.h - which accesses of an executed schedule raced, by the PTX memory model.
 *
 * The oracle knows nothing about the emulator: it receives events in the order in which they took
 * effect (program order within an actor) and keeps clocks, a shadow of memory and findings. Not
 * thread-safe: one caller at a time. The terms are those of PTX ISA 9.0, chapter 8:
 *
 *   actor      what acts: a thread of a grid, a pseudo-thread (asynchronous copy), a host thread,
 *              an operation of the host (copy, fill). A number; equal actor = program order.
 *   place      race/rules.h; threads of one block have equal (device, grid, cta).
 *
 * The rules, as the oracle and every other reading of its events take them. "->" is base causality.
 *
 *  R1 Reads-from. A read or RMW reads each byte from the latest write to it in event order (weak
 *     or strong), unless the event names the write that it saw. R *reads W* only if R has exactly
 *     W's bytes (address and size) and all of them come from W.
 *  R2 Observation. W obs R if R reads W, both are strong and morally strong, or R is an RMW of
 *     W's own thread and W is weak (no mbarrier.init); through RMWs Z: W obs Z and Z obs R. (Who
 *     observes such a weak write by a strong read races with it, but what follows that read
 *     doesn't.) A failed compare-and-swap is a READ with its strength. `red` (ORACLE_RED) passes
 *     chains on, but is not a read: it neither acquires, alone or by a later fence, nor observes.
 *  R3 Release patterns of t on M = (address, size): (1) a releasing WRITE or RMW on M; (2) a
 *     releasing WRITE or RMW of t on M, then a strong write of t on M; (3) a releasing fence of
 *     t, then any strong write of t on M. Acquire patterns: (1) an acquiring read of M; (2) a
 *     strong read of M, then an acquiring operation of t on M; (3) a strong read of M, then an
 *     acquiring fence of t. Writes that are weak belong to no pattern.
 *  R4 X synchronises with Y: a write of X obs a read of Y, and the scopes of X's first and Y's
 *     last operation include each other's threads. X's first operation and all before it -> all
 *     after Y's last operation and that operation itself.
 *  R5 Barriers: every arrival that releases -> every departure that acquires, of the same
 *     generation. A relaxed arrival is a strong write to the barrier: it ends the release
 *     patterns that an earlier fence has begun (scope: the fence's). An mbarrier's arrivals and
 *     waits are strong writes and reads of it, and those of one phase that are morally strong
 *     observe each other: patterns (1) to (3) of R3, both ways. fence.mbarrier_init begins a
 *     release pattern for the weak writes of its thread with ORACLE_MBARRIER before it
 *     (mbarrier.init), and for nothing else: not for what came before these. (Such a pattern
 *     forces no fence.sc.)
 *  R6 fence.sc, ORACLE_SC_EXECUTION: a fence -> every later morally strong one.
 *     ORACLE_SC_PROGRAM: F1 -> F2 if morally strong and F1 -> A, B -> F2 (or A, B in program
 *     order with them) for some accesses A, B (actors may differ from F1's and F2's) of a common
 *     byte where A communicates before B: the closure, byte by byte, of reads-from, coherence and
 *     from-reads, coherence being the order of events. So a write is after all earlier accesses,
 *     a read after the last write and all before that. An RMW, red included, writes. Weak
 *     accesses and those of other proxies count. With has_late_writes an access that races with
 *     an earlier write also counts as communicating before it, if the writer has executed no
 *     fence.sc since: it may have read what was there before, as its value can show.
 *  R7 Proxies: X -> Y orders X before Y if both are generic; or both have the same other proxy
 *     and the same block (an operation's or pseudo-thread's block is its issuer's); or X only
 *     reads and Y writes (what was read stays read), except for an ordinary read of shared
 *     memory that the async proxy writes, which needs an mbarrier on the path, X -> arrival ->
 *     wait for it -> Y; or a proxy fence of a suitable kind is on the path: X -> fence -> Y, for
 *     the tensormap proxy in two halves: X -> release -> acquire -> Y, where Y reads the map that
 *     the acquire names: starts at its address. This holds for X and Y of one actor, too.
 *     Completions (ORACLE_JOIN_*, mbarrier, ends and starts of operations) count as proxy fences
 *     of all kinds for what the completed copy did.
 *  R8 X is ordered before Y: same actor and proxy; or X -> Y by R7; or X obs Z and (Z -> Y, or
 *     same actor).
 *  R9 Race: overlap, different actors or proxies, one writes, not ordered, not morally strong.
 *  R10 An ORACLE_NC read and a write of its grid are a finding in any order. So is a read of the
 *     texture proxy after a write of its grid (CUDA programming guide, textures and surfaces:
 *     what the same launch wrote there is undefined); a write after it is judged by R9. No proxy
 *     fence helps the texture proxy (R7).
 *
 * Of the races of an access with earlier ones at least one is reported (of each byte's class), and
 * never a false one. An access that a weak, covering, ordered one has superseded is forgotten. So
 * one race may go unreported: of an access before a weak write that its thread's own RMW reads,
 * with an access of a thread that has observed the RMW. In each execution in which the RMW is
 * observed the order of these two is the same.
 */
#ifndef COLLIDER_ORACLE_ORACLE_H
#define COLLIDER_ORACLE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "race/rules.h"

struct oracle;

#define ORACLE_MAX_ACTORS (1u << 30) /* beyond this: oracle_is_full, and nothing more is judged */
#define ORACLE_NO_ACTOR	  UINT32_MAX
#define ORACLE_LANES	  32u

enum oracle_sc { ORACLE_SC_PROGRAM, ORACLE_SC_EXECUTION };

struct oracle_options {
	enum oracle_sc sc;
	uint32_t max_actors;  /* 0: ORACLE_MAX_ACTORS */
	uint32_t max_forced;  /* fence.sc's placed after others by communication, and one for each
				 256 accesses; from then on each comes after all earlier ones, and
				 those of a warp's lanes after each other; 0: 2^14 */
	uint32_t max_records; /* of a word; then its oldest are dropped and counted; 0: 2^20 */
	bool is_one_host;     /* one host thread, which submits every operation before it starts:
				 what it has seen the end of can be forgotten */
	bool has_late_writes; /* until a fence.sc of its thread a weak write may take effect later
				 than its event: see R6 */
	bool is_tiny;	      /* tests: few records of a word are treated as if they were many */
};

/* NULL: out of memory. */
struct oracle *oracle_new(const struct oracle_options *opt);
void oracle_free(struct oracle *o);
/* Too many actors, or out of memory: the run must be refused. */
bool oracle_is_full(const struct oracle *o);
/* Makes it full: there is no memory for more. Only sets a flag. */
void oracle_stop(struct oracle *o);

/* ---- what events have ----------------------------------------------------------------- */

enum {
	ORACLE_RED = 1 << 0,	  /* RMW that returns nothing */
	ORACLE_NC = 1 << 1,	  /* ld.nc: memory that must not change in this grid */
	ORACLE_INSERTED = 1 << 2, /* of the instrumentation: ignored */
	ORACLE_VOLATILE = 1 << 3, /* for the finding's text; pass RACE_RELAXED, RACE_SCOPE_SYS */
	ORACLE_SAW = 1 << 4,	  /* a read that names what it saw: `saw`, 0: no strong write */
	ORACLE_SHARED = 1 << 5,	  /* the bytes are of shared memory (for proxy fences) */
	ORACLE_MBARRIER = 1 << 6, /* for the finding's text: init, arrive ... of an mbarrier */
	ORACLE_SAW_LAST = 1 << 7  /* no later event names this `saw` (oracle_drop_id) */
};

enum {
	ORACLE_PROXY_GLOBAL = 1 << 0, /* generic - async, global memory */
	ORACLE_PROXY_SHARED = 1 << 1, /* generic - async, shared memory */
	ORACLE_PROXY_TMAP = 1 << 2,   /* generic - tensormap, the acquiring half */
	ORACLE_PROXY_TMAP_RELEASE = 1 << 3,
	ORACLE_PROXY_ALL = 15
};

enum {
	ORACLE_BAR_RELEASE = 1 << 0, /* the arrival releases (all but .relaxed) */
	ORACLE_BAR_LEAVES = 1 << 1   /* the lanes will leave too (sync, not arrive) */
};

enum oracle_join {
	ORACLE_JOIN_ALL, /* wait_group: reads and writes of the copy */
	ORACLE_JOIN_READ /* wait_group.read: its reads only */
};

/*
 * Threads of a grid: the actor of thread (block b, warp w, lane l) is
 * first + b * stride + w * 32 + l, where stride is oracle_stride(block_threads). The block's
 * place: device, grid, cta = b, cluster = b / cluster_blocks unless cluster_of is given.
 */
struct oracle_grid {
	uint64_t grid; /* number of the launch, not 0 */
	uint32_t device, blocks, block_threads, cluster_blocks /* from 1 */;
	const uint32_t *cluster_of; /* blocks long, or NULL; copied */
};

/* ---- actors ------------------------------------------------------------------------------ */

uint32_t oracle_stride(uint32_t block_threads);
/* Returns the grid's first actor, a multiple of 32, or ORACLE_NO_ACTOR when full. Its threads know
 * nothing until oracle_op_start. */
uint32_t oracle_grid(struct oracle *o, const struct oracle_grid *g);
/* A pseudo-thread of the issuer, with the issuer's place: it knows what the issuer has done so
 * far. */
uint32_t oracle_fork(struct oracle *o, uint32_t issuer);
/* The same of all lanes of a warp in `mask`: it knows what each of them has done so far. */
uint32_t oracle_fork_lanes(struct oracle *o, uint32_t warp, uint32_t mask);
/* One that does nothing itself and knows nothing of its issuer: an actor that joins it, or waits
 * for an arrival of it, gets all that it has joined up to then. It may arrive repeatedly. */
uint32_t oracle_collect(struct oracle *o, uint32_t issuer);
/* The actor continues after the pseudo-thread's reads, or after all that it did (not after what its
 * issuer did). These must be complete: after the first join the pseudo-thread reads no more, after
 * ORACLE_JOIN_ALL or an arrival at an mbarrier it does nothing more. */
void oracle_join(struct oracle *o, uint32_t actor, uint32_t pseudo, enum oracle_join what);
/* The same of each lane, after all that the n pseudo-threads did. */
void oracle_join_lanes(struct oracle *o, uint32_t warp, uint32_t mask, const uint32_t *pseudo,
		       uint32_t n);
void oracle_block_end(struct oracle *o, uint32_t actor);
struct race_place oracle_place(const struct oracle *o, uint32_t actor);

/* ---- memory -------------------------------------------------------------------------------- */

/* What the caller knows of how lanes lie: nothing, or that all 32 access one address, or are side
 * by side. */
enum oracle_shape { ORACLE_ANYHOW, ORACLE_ONE_PLACE, ORACLE_SIDE_BY_SIDE };

/* What all lanes of one access have in common. */
struct oracle_acc {
	const void *inst;
	uint8_t kind, strength, scope, proxy, flags; /* as in the event */
	uint8_t shape; /* enum oracle_shape, of oracle_access_warp's addresses */
	uint32_t bytes;
	uint64_t id, saw;
};

/* Lane l of the warp that starts at actor `warp` accesses addresses[l], for l in mask, in
 * that order. */
void oracle_access_warp(struct oracle *o, uint32_t warp, uint32_t mask,
			const struct oracle_acc *acc, const uint64_t *addresses);
/* Lanes are about to access these words strongly, one after the other: what is known of them is
 * fetched into the cache meanwhile. It changes nothing. */
void oracle_fetch_strong(struct oracle *o, uint32_t mask, const uint64_t *addresses,
			 uint32_t bytes);
void oracle_access(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
		   uint64_t address);
/* The same of many units of acc->bytes bytes, side by side: `bytes` in all. Pieces of a copy, or of
 * a matrix, are so one kind of access, whatever their lengths. */
void oracle_access_units(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
			 uint64_t address, uint64_t bytes);
/* Copies and fills: a weak generic access of any length. */
void oracle_access_range(struct oracle *o, uint32_t actor, const void *inst, uint8_t kind,
			 uint64_t address, uint64_t bytes);
/*
 * All accesses of an operation that has started, weak and within [address, address + bytes), which
 * `make` makes by oracle_access_range: later, before another access takes effect, or never, if
 * nothing can race with them. False: they must be made now, as the operation doesn't come after
 * all that was done, or something runs beside it. `arg` must live until the oracle has forgotten
 * the operation (oracle_has_op), or oracle_flush_late, by which they are made at once.
 */
bool oracle_access_late(struct oracle *o, uint32_t actor, uint64_t address, uint64_t bytes,
			void (*make)(void *arg, uint32_t actor), void *arg);
void oracle_flush_late(struct oracle *o);
/* No copy of the named write is left: no later event will name it in `saw`. */
void oracle_drop_id(struct oracle *o, uint64_t id);
void oracle_forget(struct oracle *o, uint64_t address, uint64_t bytes);
void oracle_heap_free(struct oracle *o, uint32_t actor, uint64_t address, uint64_t bytes);
void oracle_heap_alloc(struct oracle *o, uint32_t actor, uint64_t address, uint64_t bytes);

/* ---- fences, barriers ------------------------------------------------------------------------ */

/* strength: RACE_ACQUIRE, RELEASE, ACQ_REL or SC. */
void oracle_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t strength, uint8_t scope);
/* fence.mbarrier_init: an event FENCE with ORACLE_MBARRIER. Releases only the thread's earlier
 * inits. */
void oracle_init_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t scope);
/* kinds: ORACLE_PROXY_*. maps: with ORACLE_PROXY_TMAP the address of the map that each lane's
 * fence names (mask 0: the one address); else NULL. */
void oracle_proxy_fence(struct oracle *o, uint32_t warp, uint32_t mask, uint8_t kinds,
			const uint64_t *maps);
/*
 * Barriers (bar, barrier, barrier.cluster): key names the barrier object for good (block and
 * number, cluster), generation counts its uses. Arrivals of a generation come before its
 * departures. oracle_leave is for lanes that acquire; a departure that doesn't (.relaxed wait)
 * makes no call.
 */
struct oracle_arrival {
	uint64_t key, generation;
	uint32_t expected; /* threads; differing from the generation's first is a finding */
	uint8_t flags;	   /* ORACLE_BAR_* */
	const void *inst;
};
void oracle_arrive(struct oracle *o, uint32_t warp, uint32_t mask, const struct oracle_arrival *a);
void oracle_leave(struct oracle *o, uint32_t warp, uint32_t mask, uint64_t key,
		  uint64_t generation);
void oracle_warp_sync(struct oracle *o, uint32_t warp, uint32_t mask);
/*
 * mbarriers: arrivals count for phase `phase` of the object at `address`; strength RACE_RELEASE
 * releases, RACE_RELAXED passes on what earlier fences released. An arrival of a pseudo-thread
 * (complete_tx, cp.async.mbarrier.arrive) carries that copy alone: its reads and writes. A wait
 * that succeeded acquires (RACE_ACQUIRE; RACE_RELAXED: at the next acquiring fence, or wait for the
 * object) what arrived in the phase whose completion it saw. The object's own eight
 * bytes are accessed by separate oracle_access calls: init is a weak write, all else a relaxed.sys
 * RMW with ORACLE_MBARRIER. oracle_forget of the address forgets the phases.
 */
void oracle_mbarrier_arrive(struct oracle *o, uint32_t actor, uint64_t address, uint64_t phase,
			    uint8_t strength, uint8_t scope);
void oracle_mbarrier_wait(struct oracle *o, uint32_t actor, uint64_t address, uint64_t phase,
			  uint8_t strength, uint8_t scope);

/* ---- what threads know ----------------------------------------------------------------------- */

enum oracle_known {
	ORACLE_UNKNOWN,
	ORACLE_PENDING, /* it would be known after an acquiring fence */
	ORACLE_KNOWN
};

/* Does thread `reader` come after accesses of `actor` in that epoch? */
enum oracle_known oracle_knows(struct oracle *o, uint32_t reader, uint32_t actor, uint32_t epoch);
/* A thread's epoch now: the number of its publications (fence, arrival, release), plus 1; 0: its
 * block has ended. */
uint32_t oracle_epoch(struct oracle *o, uint32_t actor);

/* ---- operations of the host ------------------------------------------------------------------ */

/* A host thread becomes an actor. */
uint32_t oracle_host(struct oracle *o);
/* The operation `key` starts after all that the host thread knows and has done now. */
void oracle_op_submit(struct oracle *o, uint32_t host, uint64_t key);
/* ... and after the end of operation `before`, which must have ended when oracle_op_start is called
 * (an unknown one is ignored). */
void oracle_op_depend(struct oracle *o, uint64_t key, uint64_t before);
/* A grid's operation: `first` from oracle_grid. Others: ORACLE_NO_ACTOR. Returns the actor:
 * `first`, or a new one for a copy, fill or host function. */
uint32_t oracle_op_start(struct oracle *o, uint64_t key, uint32_t first);
/* The operation's threads and their copies have all ended, whether or not they were waited for; its
 * clock is the join of theirs. */
void oracle_op_end(struct oracle *o, uint64_t key);
void oracle_host_wait(struct oracle *o, uint32_t host, uint64_t key);
/* Has it ended, and is all that it did before what the host thread does now? */
bool oracle_host_knows(struct oracle *o, uint32_t host, uint64_t key);
/* Is the operation still there? An old one has been forgotten with all that the host knew. */
bool oracle_has_op(const struct oracle *o, uint64_t key);

/* ---- findings -------------------------------------------------------------------------------- */

enum oracle_kind {
	ORACLE_RACE,	   /* unordered, and at least one side is weak */
	ORACLE_RACE_SCOPE, /* both strong: a scope doesn't include the other thread */
	ORACLE_RACE_SIZE,  /* both strong: not the same bytes */
	ORACLE_RACE_PROXY, /* ordered, but no proxy fence between */
	ORACLE_RACE_NC,	 /* a read-only load of memory that the same grid writes, ordered or not */
	ORACLE_BAR_COUNT /* arrivals of one generation expect different counts */
};

struct oracle_side {
	const void *inst;
	uint32_t actor;
	struct race_place place;
	uint64_t address;
	uint32_t bytes; /* 0: a range longer than 2^32 */
	uint8_t kind, strength, scope, proxy, flags;
	uint32_t epoch; /* of `first`: its thread's, for oracle_knows */
};

/* The first example of a pair of instructions; `second` acted later. */
struct oracle_finding {
	enum oracle_kind kind;
	struct oracle_side first, second;
	uint64_t address; /* first common byte */
	uint64_t count;	  /* how often the pair was seen */
	uint64_t event;	  /* number of the event (from 1) that found it first */
};

size_t oracle_findings(const struct oracle *o);
const struct oracle_finding *oracle_get(const struct oracle *o, size_t i);
/* Called at each racing pair, before deduplication; NULL: no call. */
void oracle_on_race(struct oracle *o, void (*fn)(void *arg, const struct oracle_finding *f),
		    void *arg);
/*
 * `where` is called when a pair of instructions races again, after on_race. It returns the number
 * that counts the pair's sightings from now on, without another call, and that must outlive the
 * oracle; NULL: on_race is called for each. *is_same, false before: only sightings of one value are
 * counted so, those with which oracle_storing says it.
 */
void oracle_count_repeats(struct oracle *o,
			  uint64_t *(*where)(void *arg, const struct oracle_finding *f,
					     bool *is_same));

/* What lanes of a warp are about to store: is it one value for one place, and is it what is there
 * already? Holds until the next call; NULL: it isn't known. */
struct oracle_stored {
	const void *inst;
	uint32_t warp, mask; /* actor of lane 0, and which lanes */
	bool is_one, is_there;
};
void oracle_storing(struct oracle *o, const struct oracle_stored *s);

/*
 * Instructions with one representative, those of a line, are one in what is counted and forgotten
 * after many races: pairs of their accesses that are alike otherwise. Called once for each
 * instruction, with the argument of oracle_on_race. Without it each is its own.
 */
void oracle_group_lines(struct oracle *o, const void *(*line_of)(void *arg, const void *inst));

struct oracle_stats {
	/* words, shadow_bytes: the maximum number with a shadow at a time, and the maximum memory
	 * for them, including chains and releases of strong writes. */
	uint64_t events, accesses, words, shadow_bytes, clock_bytes;
	/* Records, entries of logs (form_log.c) and observations (chain.c) that accesses were
	 * compared with: work. */
	uint64_t looked;
	/* 0: the verdict is complete. Accesses forgotten because a word had too many; accesses that
	 * have raced so often that later races of their lines' pairs are not reported, and those
	 * of them that may race in other pairs, too. */
	uint64_t dropped, raced_out, missed;
	uint32_t actors;   /* of grids and operations: without host threads and unused numbers */
	bool is_sc_coarse; /* max_forced was reached: races around a fence.sc may be missed */
};
struct oracle_stats oracle_get_stats(const struct oracle *o);

#endif
