/*
 * trampolines.c - calls of functions that can't be listened to are counted, if they may order
 * something.
 *
 * The place of such a function leads to a second jump, by a table of its own (jumps_*.c).
 */
#include "agent/forward/forward.h"

/* The code of the second jumps, its end, and their table. */
extern char *const forward_counted[3];
extern unsigned forward_calls; /* hidden, as all that isn't exported by name */
unsigned forward_calls;

void forward_count(void **slot)
{
	size_t at = (size_t)(slot - forward_table);
	void **table = (void **)(void *)forward_counted[2];
	size_t each = (size_t)(forward_counted[1] - forward_counted[0]) /
		      (size_t)(forward_table_end - forward_table);

	table[at] = *slot;
	__atomic_store_n(slot, forward_counted[0] + each * at, __ATOMIC_RELEASE);
}

unsigned forward_unheard(void)
{
	return __atomic_load_n(&forward_calls, __ATOMIC_RELAXED);
}
