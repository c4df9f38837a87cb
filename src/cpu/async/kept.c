/*
 * kept.c - operations under way that have ended: their memory, kept for the next ones.
 *
 * A block issues the same few kinds again and again; each kind has a list of its own (transfers,
 * products, operations of tcgen05). Memory comes back to the system when the block ends.
 */
#include "cpu/async/async.h"

#include <stdlib.h>
#include <string.h>

/* They are freed by their first member. */
#define LINKED(type) _Static_assert(!offsetof(struct type, next), "a list of kept ones")
LINKED(cpu_transfer);
LINKED(cpu_product);
LINKED(cpu_tc_op);

void *cpu_kept_take(struct cpu_kept **list, size_t bytes)
{
	struct cpu_kept *k = *list;

	if (!k)
		return malloc(bytes);
	*list = k->next;
	return k;
}

void cpu_kept_put(struct cpu_kept **list, void *op)
{
	struct cpu_kept *k = op;

	k->next = *list;
	*list = k;
}

void cpu_kept_free(void *first)
{
	/* The links are of the kind's own type. */
	for (void *op = first, *next; op; op = next) {
		memcpy(&next, op, sizeof(next));
		free(op);
	}
}
