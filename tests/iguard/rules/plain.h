/*
 * plain.h - iGUARD's Table 2 a second time, as plainly as possible (SOSP'21, section 6.4).
 *
 * Written from the paper alone; shares no code with src/iguard. Every thread, block and counter is
 * a whole number, locks are a set of names, nothing is packed, and nothing wraps unless `is_narrow`
 * gives the counters the published widths.
 */
#ifndef COLLIDER_TESTS_IGUARD_RULES_PLAIN_H
#define COLLIDER_TESTS_IGUARD_RULES_PLAIN_H

#include <stdbool.h>

enum plain_type { PLAIN_LOAD, PLAIN_STORE, PLAIN_ATOMIC };

struct plain_thread {
	unsigned thread, warp, block;
	unsigned dev_fence, blk_fence, blk_bar, warp_bar; /* so far */
	unsigned active;				  /* lanes together with this one */
	unsigned locks;
};

struct plain_side {
	unsigned thread, warp, block;
	unsigned dev_fence, blk_fence, blk_bar, warp_bar; /* when it accessed */
};

struct plain_entry {
	bool is_valid, is_modified, is_atomic, is_block_scope, is_dev_shared, is_blk_shared;
	struct plain_side writer, accessor;
	unsigned locks;
};

/* The rule that holds: "", "R1" to "R5". `earlier`: the thread that accessed before, as it is now.
 * */
const char *plain_check(const struct plain_entry *e, const struct plain_thread *me,
			enum plain_type type, const struct plain_thread *earlier, bool is_narrow);
void plain_update(struct plain_entry *e, const struct plain_thread *me, enum plain_type type,
		  bool is_block_scope);

#endif
