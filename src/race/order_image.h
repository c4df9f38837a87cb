/*
 * order_image.h - may the blocks of a loaded image be shuffled? (the tables of order.h, read)
 *
 * For the loaders of modules: they pass all tables that the image contains, then the name of each
 * function in it, and get a verdict.
 */
#ifndef COLLIDER_RACE_ORDER_IMAGE_H
#define COLLIDER_RACE_ORDER_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "race/order.h"

enum race_order_verdict {
	RACE_ORDER_KEEP,    /* not to be shuffled */
	RACE_ORDER_WAITING, /* all its kernels count as waiting ones */
	RACE_ORDER_SHUFFLE
};

struct race_order_image {
	uint64_t *names; /* malloc'd; sorted at the first query */
	size_t n, cap;
	uint64_t flags;
	bool is_sorted, is_foreign;
};

/* A table of `bytes` bytes. An incomplete hash counts as an unknown function. */
void race_order_table(struct race_order_image *im, const void *table, size_t bytes);
/* A function of the image, after the tables. Collider's own functions and ptxas's are ignored. */
void race_order_function(struct race_order_image *im, const char *name, size_t n);
/* Ends the image and frees what it holds. */
enum race_order_verdict race_order_judge(struct race_order_image *im);

#endif
