/*
 * image.h - may the blocks of a loaded image be shuffled? (the tables of blocks.h, read)
 *
 * For the loaders of modules: they pass all tables that the image contains, then the name of each
 * function in it, and get a verdict.
 */
#ifndef COLLIDER_RACE_SHUFFLE_IMAGE_H
#define COLLIDER_RACE_SHUFFLE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "race/shuffle/blocks.h"

enum race_shuffle_verdict {
	RACE_SHUFFLE_KEEP,    /* not to be shuffled */
	RACE_SHUFFLE_WAITING, /* all its kernels count as waiting ones */
	RACE_SHUFFLE_FREE
};

struct race_shuffle_image {
	uint64_t *names; /* malloc'd; sorted at the first query */
	size_t n, cap;
	uint64_t flags;
	bool is_sorted, is_foreign;
};

/* A table of `bytes` bytes. An incomplete hash counts as an unknown function. */
void race_shuffle_table(struct race_shuffle_image *im, const void *table, size_t bytes);
/* A function of the image, after the tables. Collider's own functions and ptxas's are ignored. */
void race_shuffle_function(struct race_shuffle_image *im, const char *name, size_t n);
/* Ends the image and frees what it holds. */
enum race_shuffle_verdict race_shuffle_judge(struct race_shuffle_image *im);

#endif
