/*
 * remedy.h - private to src/prove: the search for assumptions that take alarms away (remedy.c).
 */
#ifndef COLLIDER_PROVE_REMEDY_H
#define COLLIDER_PROVE_REMEDY_H

#include "prove/check.h"

#define MAX_TRIES 64

struct remedy_pair {
	const struct ev_access *a, *b;
};

struct finder {
	struct check *c;
	BASE_VEC(struct remedy_pair) pairs;
	size_t failed; /* the pair that kept its alarm at the latest try */
	unsigned tries;
	uint64_t deadline, end; /* of the search, of the kernel */
	uint64_t try_ms;	/* of one try; 0: no limit */
	uint64_t last;		/* of what makes a remedy that was found a better one; 0: end */
	bool has_all;
	bool has_few;	 /* one was found that others may be as good as */
	bool has_shapes; /* remedy_try_shapes was asked */
};

/* Is there time, and reason, for one more? */
bool remedy_may_try(const struct finder *f);
/* Does an assumption, which some launch keeps to, take the alarms from all pairs? *is_refuted:
 * there is a launch that keeps to it and races, so that no weaker one helps. */
bool remedy_removes_all(struct finder *f, const struct ev_assume *as, bool *is_refuted);
/* Tries an assumption. True: with it nothing is left to find. */
bool remedy_try(struct finder *f, const char *text);

/* In all launches that were recorded: 1, not: 0, unknown: -1. */
int remedy_is_seen(const struct check *c, const struct ev_assume *as);

/* Elements of a block in x and y, as the indices show, or 0: one for each thread (tile), all that
 * lie before the next block's (wide). */
struct remedy_tiles {
	uint32_t tile[2], wide[2];
};
/* exact.c: equations of these scalars, sizes of rows first, with what the dimensions show */
void remedy_try_exact(struct finder *f, const struct remedy_tiles *t,
		      const struct names_param *const *p, unsigned n, unsigned npitches);
/* One that takes all alarms away, which is known; false: no launch keeps to it. */
bool remedy_add(struct finder *f, const char *text);
/* rows.c: the scalars of the offsets and conditions, sizes of rows (pitches) first */
unsigned remedy_scalars(struct finder *f, const struct names_param **out, unsigned most,
			unsigned *npitches);
/* The scalar that an offset has in a product with something that isn't a number; NULL: none. */
const struct names_param *remedy_pitch_in(const struct finder *f, const struct ex *v,
					  bool is_factor, unsigned depth);
/* Rows of a matrix with blocks that are a part of the tile high. True: nothing is left to find. */
bool remedy_try_rows(struct finder *f, const uint32_t *tile, uint32_t part);
/* A tile's size in a dimension; the elements from one block to the next. 0: no index shows it. */
uint32_t remedy_tile_of(const struct finder *f, unsigned d);
uint32_t remedy_width_of(const struct finder *f, unsigned d);
/* a shape of rows with these tiles; what rows.c lacks of all pairs */
void remedy_try_shapes(struct finder *f, const uint32_t *tile);
void remedy_try_needs(struct finder *f);
/* bounds of all scalars, which let no product of them wrap; is_quick: without the solver */
void remedy_try_small(struct finder *f, bool is_quick);

/* values.c: what indices need that are read from memory */
void remedy_try_values(struct finder *f);

#endif
