/*
 * order_image.h - may the blocks of a loaded image be shuffled? (the tables of order.h, read)
 *
 * For whoever loads modules: hands over all tables that the image carries, then the name of each
 * function in it, and gets a verdict.
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
	uint64_t *names; /* malloc'd; sorted from the first question on */
	size_t n, cap;
	uint64_t flags;
	bool is_sorted, is_foreign;
};

/* A table of `bytes` bytes. What is cut off is a function that nobody knows. */
void race_order_table(struct race_order_image *im, const void *table, size_t bytes);
/* A function of the image, after the tables. Collider's own and ptxas's are passed over. */
void race_order_function(struct race_order_image *im, const char *name, size_t n);
/* Ends the image and frees what it holds. */
enum race_order_verdict race_order_judge(struct race_order_image *im);

#endif
