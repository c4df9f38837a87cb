/*
 * watch_internal.h - what the files of detector `watch` share.
 */
#ifndef COLLIDER_INST_WATCH_INTERNAL_H
#define COLLIDER_INST_WATCH_INTERNAL_H

#include "instrument/follower.h"

#include "race/layout/watch.h"

/* An access of a group. */
struct inst_watch_item {
	const struct inst_event *e;
	bool looks;    /* else another item's look is at its slot, too */
	bool has_word; /* its look is beside it */
	bool has_at;   /* and so are these, else they are computed where they are needed */
	struct ptx_opnd word, at, w;
};

/* Weak accesses with nothing between them that may acquire or release, nor a label or a branch. */
struct inst_watch_group {
	struct inst_watch_item item[RACE_WATCH_GROUP];
	unsigned planned, n; /* items; those that were put so far */
	unsigned nchecks;    /* to be counted at the end */
	bool has_shared;     /* an item is of the block's table */
};

struct inst_watch {
	struct inst_follow f;
	uint32_t table, mask, held, next; /* registers; f has the others */
	/* For shared memory: the block's own table, or the device's for blocks without one and
	 * the block's key in it; else PTX_NO_REG. */
	uint32_t block, blocks, key;
	/* Where blocks may see each other's shared memory: the block's rank in its cluster, and
	 * the key is the cluster's; else PTX_NO_REG. */
	uint32_t rank;
	bool is_across; /* watchpoints stand across __syncwarp() */
	struct ptx_stmt *top;
	struct inst_watch_group group;
	/* Loaded since the last statement that ends groups: do watchpoints stand in the block's
	 * table? */
	bool has_standing;
	struct ptx_opnd standing;
};

/* Registers of one access. */
struct inst_watch_look {
	struct ptx_opnd at, tab, m, w, hit;
};

/* watch.c. Collide counts launches and accesses then. */
bool inst_watch_is_beside(const struct inst_ctx *cx);
/* What a call says of an access. Its address without the offset, put before `at`; the same as 64
 * bits, of the window where it is shared memory. Its table, chosen and counted beside it; `over`:
 * where an address of another space goes. */
uint64_t inst_watch_what(const struct inst_watch *k, const struct inst_event *e);
struct ptx_opnd inst_watch_base(struct inst_watch *k, const struct inst_event *e,
				struct ptx_stmt *at, bool *is_narrow);
struct ptx_opnd inst_watch_address(struct inst_watch *k, const struct inst_event *e,
				   struct ptx_stmt *at);
struct inst_watch_look inst_watch_table(struct inst_watch *k, const struct inst_event *e,
					struct ptx_label *over, bool counts);
void inst_watch_count(struct inst_watch *k, struct ptx_stmt *at, struct ptx_opnd guard, unsigned n);
struct ptx_opnd inst_watch_guard(const struct inst_watch *k, const struct inst_event *e);
/* May a statement release what the thread did before? */
bool inst_watch_may_release(const struct ptx_stmt *s);

/* One look, and a watchpoint if it is drawn. */
void inst_watch_put_access(struct inst_watch *k, const struct inst_event *e);

/* issued.c: before a copy or a matrix instruction; else nothing. */
void inst_watch_put_issued(struct inst_watch *k, struct ptx_stmt *s);

/* cluster.c. Does the text show that blocks of the kernel may see the shared memory of others?
 * Then: begins it; chooses the table of an access as inst_watch_table does. */
bool inst_watch_sees_cluster(const struct inst_ctx *cx);
void inst_watch_begin_cluster(struct inst_watch *k, struct ptx_stmt *top);
void inst_watch_owner(struct inst_watch *k, const struct inst_event *e,
		      const struct inst_watch_look *l, struct ptx_label *over);
/* watch.c. The table of blocks that have none of their own, as a register. */
void inst_watch_put_blocks(struct inst_watch *k, struct ptx_stmt *top);

/* group.c. Before an access to shared memory: a register, negative where watchpoints stand in the
 * block's table. Is the access one for a group? Then: puts its look; and ends the group before s,
 * if s isn't to lie within it. e: the event of s, or a later one. */
struct ptx_opnd inst_watch_standing(struct inst_watch *k, const struct inst_event *e);
bool inst_watch_joins(const struct inst_watch *k, const struct inst_event *e);
void inst_watch_join(struct inst_watch *k, const struct inst_event *e);
void inst_watch_end_group(struct inst_watch *k, struct ptx_stmt *s, const struct inst_event *e);

#endif
