/*
 * plain.c - iGUARD's Table 2 a second time, row by row.
 */
#include "plain.h"

static bool is_equal(unsigned a, unsigned b, unsigned bits, bool is_narrow)
{
	return is_narrow ? a % (1u << bits) == b % (1u << bits) : a == b;
}

const char *plain_check(const struct plain_entry *e, const struct plain_thread *me,
			enum plain_type type, const struct plain_thread *earlier, bool is_narrow)
{
	const struct plain_side *md = type == PLAIN_LOAD ? &e->writer : &e->accessor;
	bool is_curr_atomic = type == PLAIN_ATOMIC;
	bool is_blk_bar = is_equal(md->blk_bar, me->blk_bar, 8, is_narrow);
	bool is_warp_bar = is_equal(md->warp_bar, me->warp_bar, 8, is_narrow);
	bool is_dev_fence = is_equal(md->dev_fence, earlier->dev_fence, 6, is_narrow);
	bool is_blk_fence = is_equal(md->blk_fence, earlier->blk_fence, 6, is_narrow);
	bool is_dev_shared = e->is_dev_shared || e->accessor.block != me->block;
	bool is_blk_shared = e->is_blk_shared ||
			     (e->accessor.block == me->block && e->accessor.warp != me->warp);
	bool is_shared = is_dev_shared || is_blk_shared;

	if (!e->is_valid)
		return ""; /* P1 */
	if (!e->is_modified && type == PLAIN_LOAD)
		return ""; /* P2 */
	if (!is_shared && me->thread == md->thread)
		return ""; /* P3 */
	if (!is_shared && me->warp == md->warp &&
	    (!is_warp_bar || (me->active >> md->thread % 32 & 1)))
		return ""; /* P4 */
	if (!is_dev_shared && md->block == me->block && !is_blk_bar)
		return ""; /* P5 */
	if (e->is_atomic && is_curr_atomic && (md->block == me->block || !e->is_block_scope))
		return ""; /* P6 */
	if (e->is_atomic && e->is_block_scope && e->writer.block != me->block)
		return "R1";
	if (md->warp == me->warp && is_dev_fence && is_blk_fence && !is_shared &&
	    md->block == me->block)
		return "R2";
	if (is_dev_fence && is_blk_fence && !is_dev_shared)
		return "R3";
	if (md->block != me->block && is_dev_fence)
		return "R4";
	if ((e->locks || me->locks) && (e->locks & me->locks) == 0)
		return "R5";
	return "";
}

void plain_update(struct plain_entry *e, const struct plain_thread *me, enum plain_type type,
		  bool is_block_scope)
{
	struct plain_side now = {me->thread,	me->warp,    me->block,	  me->dev_fence,
				 me->blk_fence, me->blk_bar, me->warp_bar};

	if (e->is_valid && e->accessor.block != me->block)
		e->is_dev_shared = true;
	else if (e->is_valid && e->accessor.warp != me->warp)
		e->is_blk_shared = true;
	e->is_valid = true;
	e->accessor = now;
	e->locks = me->locks;
	if (type == PLAIN_LOAD)
		return;
	e->writer = now;
	e->is_modified = true;
	if (type == PLAIN_ATOMIC) {
		e->is_atomic = true;
		e->is_block_scope = is_block_scope;
	}
}
