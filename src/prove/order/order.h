/*
 * order.h - private to src/prove/order: what orders two accesses beside barriers of all threads.
 *
 * flags.c knows counters of blocks, sent.c flags that one block sets for others, locks.c critical
 * sections, claims.c places that one thread has, leaders.c those that lanes share out, draws.c
 * those that a block draws together, named.c numbered barriers of some warps, paired.c two of these
 * in loops, mbarriers.c mbarriers and the copies that complete on them, proxies.c fences of
 * proxies, surfaces.c what no order helps, answers.c what is assumed of counters. They share the
 * questions of ask.c: does one thing surely come before another, in the thread or by the block's
 * barriers?
 */
#ifndef COLLIDER_PROVE_ORDER_ORDER_H
#define COLLIDER_PROVE_ORDER_ORDER_H

#include "prove/check.h"

/* A place in the code: a step, and the block that it is in. */
struct order_at {
	uint32_t block, step;
};

static inline struct order_at order_of(const struct ev_access *a)
{
	return (struct order_at){a->block, a->index};
}

/* A shared variable that one thread sets and all read after a barrier. */
struct order_link {
	const struct ev_access *set, *get;
};

#define ORDER_MAX_LINKS 8

struct order_links {
	struct order_link v[ORDER_MAX_LINKS];
	uint32_t n;
};

/* Of a wait: a strong read, and an acquiring fence after it (or the read itself). */
struct order_seen {
	const struct ev_access *read;
	struct order_at fence;
	const struct ex *holds; /* of what was read, as the values are at the fence */
};

/* ---- ask.c ---- */

/* The place of a step that is reached; block is IR_NONE where it isn't. */
struct order_at order_place(const struct ir *ir, uint32_t step);
/* May control come from after x to y, not by way of the block `but` (IR_NONE: any way)? */
bool order_leads_to(const struct check *c, struct order_at x, struct order_at y, uint32_t but);
/* Has each thread that comes to y done x before, in the same iteration of loops around both? */
bool order_comes_first(struct check *c, struct order_at x, struct order_at y);
bool order_reaches_gpu(uint64_t scope);
/* The fences of both directions and all blocks: calls fn with each that control reaches. */
typedef void order_fence_fn(struct check *c, struct order_at fence, void *arg);
void order_each_fence(struct check *c, order_fence_fn *fn, void *arg);

/* Two threads of one block, or one of which two things are said. */
struct order_question {
	const struct ex *guard; /* holds of thread 0, which comes to `block`; NULL: nothing */
	uint32_t block;
	const struct ex *other; /* holds of thread 1, which comes to other_block; NULL: nothing */
	uint32_t other_block;
	const struct ex *denied[2]; /* is false of thread 0, of thread 1 */
	bool is_first;		    /* thread 1 is the block's first one */
	bool are_two;		    /* different threads */
	bool is_one;		    /* the same thread */
	bool are_apart;		    /* ... of different blocks */
	enum smt_warp warp;
	/* The first in thread 0, the other in thread 1: are the same, or aren't. NULL: any. */
	const struct ex *value[2];
	bool are_same;
	const struct ev_access *bytes[2]; /* they access a common byte; NULL: that isn't said */
	const struct order_links *links;
	const struct phase_case *way;
};

bool order_is_never(struct check *c, const struct order_question *q);
/*
 * May two threads of a block do the access and come to the block without a barrier between the two?
 * Where not, and control leads from one to the other only, barriers order them so.
 */
bool order_may_meet(struct check *c, const struct ev_access *a, uint32_t block);
/* Do all threads of a block that come there have one number: is it one thread, once? */
bool order_is_one_thread(struct check *c, const struct ex *guard, uint32_t block);
/* Does the block's first thread come to `block`, once, whenever some thread does the access? */
bool order_is_surely_done(struct check *c, const struct ev_access *by, uint32_t block);
/* What a load or an atomic without an answer of its own gives. */
const struct ex *order_loaded(struct check *c, const struct ev_access *a);
/* The access of an atomic, if it is one. */
const struct ev_access *order_access_of(const struct check *c, const struct ir_access *mem);
/* No condition of its own beside that of its block. */
bool order_is_whole(const struct check *c, const struct ev_access *a);
/* Strong, as all blocks see it, in global memory, of 4 or 8 bytes. */
bool order_is_strong(const struct check *c, const struct ev_access *a);
/* What a kernel's atomics add, put or compare; NULL: it isn't one of those. */
const struct ev_assume *order_ticket_of(const struct check *c, const struct ir_access *mem);
/* Does it read and leave what is there? */
bool order_is_poll(const struct check *c, const struct ev_access *x);
bool order_may_touch(struct check *c, const struct ev_access *a, const struct ev_access *b);
/* Shared variables of the kernel that are links. */
void order_find_links(struct check *c, struct order_links *out);

/* A thread does b, and what it read for s before is over. */
const struct ex *order_guard_after(struct check *c, const struct order_seen *s,
				   const struct ev_access *b);
/* The thread that does b itself read and fenced before, and what it read `holds`. */
bool order_is_after_own(struct check *c, const struct order_seen *s, const struct ev_access *b);
/* The block's first thread did, and a barrier lies between. */
bool order_is_after_first(struct check *c, const struct order_seen *s,
			  const struct order_links *links, const struct ev_access *b);
/* Is all that a block does of `a` released by its one `sent`? */
bool order_is_before(struct check *c, const struct ev_access *sent, const struct ev_access *a);

/* That its array holds 0 before the launch becomes part of the contract. False: that has so many
 * already that nothing may rest on it. */
bool order_assume_zero(struct check *c, const struct ev_access *a, bool counts);

/* ---- the kinds; each is found once and asked about c->pair ---- */

struct flags *flags_look(struct check *c, const struct order_links *links);
bool flags_order(struct check *c, struct flags *f);
struct sent *sent_look(struct check *c, const struct order_links *links);
bool sent_order(struct check *c, const struct sent *s);
struct locks *locks_look(struct check *c);
bool locks_order(struct check *c, const struct locks *all);
struct claims *claims_look(struct check *c);
/* In the open query. */
void claims_hold(struct check *c, const struct claims *all);
struct leaders *leaders_look(struct check *c);
/* In the open query. */
void leaders_hold(struct check *c, const struct leaders *all);
struct draws *draws_look(struct check *c);
/* In the open query. */
void draws_hold(struct check *c, const struct draws *all);
struct named *named_look(struct check *c);
bool named_order(struct check *c, const struct named *n);
struct paired *paired_look(struct check *c);
bool paired_order(struct check *c, const struct paired *p);
struct mbarriers *mbarriers_look(struct check *c);
bool mbarriers_order(struct check *c, const struct mbarriers *m);
/* What a thread accesses while its own bulk copy is under way must be elsewhere, or that is a
 * problem. m: NULL where nothing is known of mbarriers. */
void mbarriers_own_copies(struct check *c, const struct mbarriers *m);
/* What ordinary accesses write reaches a bulk copy over fences of proxies, or that is a problem. */
void proxies_check(struct check *c);
/* Reports assumptions that the answers of atomics deny where two threads come there. */
bool answers_are_possible(struct check *c);
/* Surfaces that are read after the launch has written them, whatever orders the two. */
void surfaces_check(struct check *c);
/* Is there something that may order two accesses, beside barriers of all threads? */
bool order_has_any(const struct check *c);
/* Has each way from a write a fence of proxies, before anything hands the write on? */
bool proxies_are_fenced(struct check *c, const struct ev_access *write);
/* An mbarrier that is set up while another thread uses it is a problem, where no alarm is. */
void mbarriers_set_up(struct check *c);

/* ---- products.c ---- */

/* Is it what a matrix product reads? */
bool products_is_one(const struct ev_access *a);
/* So many iterations of the outermost loop around the product after its own a thread may come to a
 * step before it has waited for it; -1: it never does. False: that isn't known. */
bool products_until(const struct check *c, const struct ev_access *a, uint32_t target, int *most);
/* The outermost loop around a block, or IR_NONE. */
uint32_t order_outer_loop(const struct check *c, uint32_t block);

/* ---- named.c, for paired.c ---- */

/* The threads of which `guard` holds as they come to a block outside of loops. */
struct order_who {
	const struct ex *guard;
	uint32_t block;
};

bool named_is_arrival(const struct ir_step *st);
/* Those that come to a block. */
struct order_who named_who(const struct check *c, uint32_t block);
/* Do they all have numbers from lo on, below end, in their block? */
bool named_is_among(struct check *c, const struct order_who *w, uint64_t lo, uint64_t end);
/* All threads of a warp are of them, or none. */
bool named_is_by_warps(struct check *c, const struct order_who *w);
/* No thread is of both. */
bool named_is_never_both(struct check *c, const struct order_who *x, const struct order_who *y);

#endif
