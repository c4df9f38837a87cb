/*
 * follower.h - what detectors share that follow all events of a kernel (event.c): a detector fills
 * in struct inst_follower; the walk over the kernel is done once. For those that keep words of each
 * location (hirace, iguard) so are what an access comes with, and functions that are called; one
 * without (watch) is asked at each statement.
 */
#ifndef COLLIDER_INST_FOLLOWER_H
#define COLLIDER_INST_FOLLOWER_H

#include "instrument/detector.h"

#include "race/layout/history.h"

/* The offset of a field of the runtime block, as a template's text. */
#define BLOCK(field) inst_num((int64_t)offsetof(struct race_history, field))

struct inst_follow;

struct inst_follower {
	/* Before the events are known: which of them it wants, and whether it works beside a
	 * detector that counts. Or NULL. */
	void (*choose)(struct inst_follow *k);
	/* At each statement of the program; e: the access there, or the next one. A detector has
	 * this, and what comes before plan_groups, or the rest. */
	void (*put_statement)(struct inst_follow *k, struct ptx_stmt *s,
			      const struct inst_event *e);
	enum inst_sees sees;
	bool is_flagged; /* what strong reads have seen is noted with RACE_READ_FLAG */
	/* With the events known, before anything is put in: what of the detector the kernel needs;
	 * it may change how an access counts. */
	void (*plan)(struct inst_follow *k);
	/* The registers; then all else at the entry of a kernel, after its launch is counted, or of
	 * a variant (called/called.c). */
	void (*new_registers)(struct inst_follow *k);
	void (*begin_kernel)(struct inst_follow *k, struct ptx_stmt *top);
	/* After that: which accesses are checked together. Or NULL. */
	void (*plan_groups)(struct inst_follow *k);
	/* All accesses of such a group, at its first. */
	void (*put_group)(struct inst_follow *k, const struct inst_event *e);
	/* The check of one access. at: its address, for nothing where its guard is false. */
	void (*put_check)(struct inst_follow *k, const struct inst_event *e, struct ptx_opnd at);
	/* Is an access one that orders, in a kernel with such? Then, beside it: what it orders;
	 * `at` is a generic address. */
	bool (*orders)(const struct inst_follow *k, const struct inst_event *e);
	void (*order_access)(struct inst_follow *k, const struct inst_event *e, struct ptx_opnd at);
	/* After a read that orders, before the latter. Or NULL. */
	void (*put_again)(struct inst_follow *k, const struct inst_event *e, struct ptx_opnd at);
	/* Around a fence or a barrier; after a call of a variant (or NULL). */
	void (*put_around)(struct inst_follow *k, const struct inst_event *e);
	void (*put_called)(struct inst_follow *k, const struct inst_event *e);
	/* Before each way out of a kernel; before one by which a thread ends in a variant. */
	void (*put_ends)(struct inst_follow *k);
	void (*put_thread_end)(struct inst_follow *k, struct ptx_stmt *s);
	/* What a check is given: site, access and words; the block's table, where it is needed. */
	int64_t (*what)(struct inst_follow *k, const struct inst_event *e);
	struct ptx_opnd (*table)(struct inst_follow *k, struct ptx_stmt *at);
};

/* A kernel or variant at work; first in what a detector has of its own. */
struct inst_follow {
	struct inst_ctx *cx;
	const struct inst_follower *by;
	struct inst_events ev;
	/* Registers: the thread's numbers; the address of its stamps or state; that of the block's
	 * table, where it has one; accesses checked. */
	uint32_t me, state, table, cnt;
	bool has_scratch;		/* words of shared memory in global memory */
	struct ptx_label *unchecked;	/* the code without checks (prune/plain.c), or NULL */
	struct inst_launches *launches; /* which launches need it all (prune/launch.c), or NULL */
	struct ptx_label *plain;	/* what those that need none run, or NULL */
	struct inst_frame frame;	/* of kernels that call variants, and of these */
	bool is_variant;
	bool is_left;	/* by plan: another detector has all that this one would find here */
	bool is_beside; /* another detector counts launches and accesses */
	struct inst_doubt doubt;
};

/* The pass over the function at work; `k` is zero. */
void inst_follow(struct inst_ctx *cx, struct inst_follow *k, const struct inst_follower *by);

/* The address of an access as a register of so many bits: that for nothing where its guard is
 * false. */
struct ptx_opnd inst_access_address(struct inst_follow *k, const struct inst_event *e,
				    unsigned bits);
/* The check of an access with lines (wmma), by call; at: as inst_access_address has it. */
void inst_put_matrix(struct inst_follow *k, const struct inst_event *e, struct ptx_opnd at);
/* The check of a cp.async's write. */
void inst_put_copy(struct inst_follow *k, const struct inst_event *e, struct ptx_opnd at);
/* Around bar.warp.sync; when: RACE_LANES_*. */
void inst_put_lanes(struct inst_follow *k, struct ptx_opnd mask, uint32_t when,
		    struct ptx_stmt *where);
/* The lowest of the shared variables that have a table: its address in register `first`. */
void inst_put_lowest(struct inst_ctx *cx, const struct inst_block_table *t, struct ptx_opnd first,
		     struct ptx_stmt *top);
/* For inst_detector: a module's begin, its functions, its end. */
bool inst_begin_follower(struct inst_ctx *cx, const char *ptx, size_t size);
bool inst_end_follower(struct inst_ctx *cx);

#endif
