/*
 * rules.h - the PTX memory model's rules about two operations, as pure functions.
 *
 * PTX ISA 9.0, chapter 8: scopes (8.5), strong operations (8.4), conflict and data race (8.6.1,
 * 8.7.1), morally strong (8.6). Ordering itself (causality) is oracle/oracle.c's; here is what
 * it and every other detector ask about a pair.
 */
#ifndef COLLIDER_RACE_RULES_H
#define COLLIDER_RACE_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* Who performs an operation. The host and its copies are in no grid. */
struct race_place {
	uint32_t device;       /* RACE_HOST: host code */
	uint32_t cluster, cta; /* linear numbers within the grid */
	uint32_t warp, lane;
	uint64_t grid; /* number of the launch on all devices; 0: a copy or fill of the device */
};

#define RACE_HOST UINT32_MAX

/* In the order of inclusion. */
enum race_scope {
	RACE_SCOPE_NONE,
	RACE_SCOPE_CTA,
	RACE_SCOPE_CLUSTER,
	RACE_SCOPE_GPU,
	RACE_SCOPE_SYS
};

enum race_strength {
	RACE_WEAK,
	RACE_RELAXED, /* strong, no order; volatile and mmio are relaxed.sys */
	RACE_ACQUIRE,
	RACE_RELEASE,
	RACE_ACQ_REL,
	RACE_SC /* fences only */
};

enum race_proxy { RACE_PROXY_GENERIC, RACE_PROXY_ASYNC, RACE_PROXY_TENSORMAP, RACE_PROXY_TEXTURE };

enum race_op_kind { RACE_OP_READ = 1, RACE_OP_WRITE = 2, RACE_OP_RMW = 3 };

/* A memory operation or a fence, as far as the rules about pairs go. */
struct race_op {
	struct race_place place;
	uint32_t actor; /* thread or pseudo-thread; equal: related in program order */
	uint8_t strength, scope, proxy; /* enum race_strength, race_scope, race_proxy */
	uint8_t kind;			/* enum race_op_kind; 0: a fence */
	bool is_volatile;
	uint64_t address, bytes;
};

/* Does a scope, as seen from `from`, include the thread at `to`? (8.5) */
bool race_scope_includes(enum race_scope scope, const struct race_place *from,
			 const struct race_place *to);
/* Same thread, or both strong with scopes that include each other's thread; same proxy; and, if
 * both access memory, exactly the same bytes. (8.6) */
bool race_is_morally_strong(const struct race_op *a, const struct race_op *b);
bool race_overlaps(const struct race_op *a, const struct race_op *b);
/* Overlap, and one of them writes. (8.6.1) */
bool race_conflicts(const struct race_op *a, const struct race_op *b);

static inline bool race_is_acquire(enum race_strength s)
{
	return s == RACE_ACQUIRE || s == RACE_ACQ_REL || s == RACE_SC;
}

static inline bool race_is_release(enum race_strength s)
{
	return s == RACE_RELEASE || s == RACE_ACQ_REL || s == RACE_SC;
}

#endif
