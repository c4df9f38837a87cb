/*
 * rules.h - the PTX memory model's rules about two operations, as pure functions.
 *
 * PTX ISA 9.0, chapter 8: scopes (8.5), strong operations (8.4), conflict and data race (8.6.1,
 * 8.7.1), morally strong (8.6). Ordering itself (causality) belongs to oracle/oracle.c; this is
 * what it and every other detector need to know about a pair, and the only place that knows these
 * rules.
 *
 * The inline functions take a pair in parts, for callers that keep its parts in forms of their own
 * (the oracle numbers its threads); those below take two whole operations.
 */
#ifndef COLLIDER_RACE_RULES_H
#define COLLIDER_RACE_RULES_H

#include <stdbool.h>
#include <stdint.h>

/* The thread that performs an operation. The host and its copies belong to no grid. */
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

/* A memory operation or a fence, as far as the rules about pairs need it. */
struct race_op {
	struct race_place place;
	uint32_t actor; /* thread or pseudo-thread; equal: related in program order */
	uint8_t strength, scope, proxy; /* enum race_strength, race_scope, race_proxy */
	uint8_t kind;			/* enum race_op_kind; 0: a fence */
	bool is_volatile;
	uint64_t address, bytes;
};

/* How an operation is performed: what moral strength depends on, for each side. */
struct race_manner {
	uint8_t strength, scope, proxy; /* enum race_strength, race_scope, race_proxy */
};

/* Why two operations of different threads are not morally strong: the first reason that holds. */
enum race_moral {
	RACE_MORALLY_STRONG,
	RACE_MORAL_WEAK,  /* one of them is weak */
	RACE_MORAL_SCOPE, /* a scope doesn't include the other's thread */
	RACE_MORAL_BYTES, /* not exactly the same bytes */
	RACE_MORAL_PROXY  /* different proxies */
};

/* Does each of two scopes include the other's thread? `between`: race_scope_between of the
 * threads. */
static inline bool race_scopes_meet(enum race_scope between, uint8_t a, uint8_t b)
{
	return between <= a && between <= b;
}

/* For two operations of different threads (8.6). has_same_bytes: true if one is a fence. */
static inline enum race_moral race_moral_of(struct race_manner a, struct race_manner b,
					    enum race_scope between, bool has_same_bytes)
{
	if (a.strength == RACE_WEAK || b.strength == RACE_WEAK)
		return RACE_MORAL_WEAK;
	if (!race_scopes_meet(between, a.scope, b.scope))
		return RACE_MORAL_SCOPE;
	if (!has_same_bytes)
		return RACE_MORAL_BYTES;
	return a.proxy == b.proxy ? RACE_MORALLY_STRONG : RACE_MORAL_PROXY;
}

/* Does one of two accesses (enum race_op_kind) write? Then they conflict where they overlap. */
static inline bool race_kinds_conflict(uint8_t a, uint8_t b)
{
	return (a | b) & RACE_OP_WRITE;
}

/* The narrowest scope with which two threads include each other. */
enum race_scope race_scope_between(const struct race_place *a, const struct race_place *b);
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
