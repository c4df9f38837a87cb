/*
 * sides.c - both accesses of a record that has two sides (race/history.h).
 *
 * This access is the finding's own; the earlier one's thread comes from its history word, its place
 * in the source from the site that was left beside the word. That may be unknown (0): the two are
 * not written at once. Numbers of threads and blocks are as the hardware has them.
 */
#include "race/race.h"

#include "race/history.h"

#include <string.h>

static uint32_t ways_of(enum race_access access)
{
	switch (access) {
	case RACE_ACCESS_STORE:
		return RACE_SIDE_WRITES;
	case RACE_ACCESS_ATOMIC:
		return RACE_SIDE_READS | RACE_SIDE_WRITES;
	case RACE_ACCESS_LOAD:
	case RACE_ACCESS_NC_LOAD:
		return RACE_SIDE_READS;
	default:
		return 0;
	}
}

/* A linear number as coordinates; a size of 0 counts as 1. */
static void place_of(uint64_t n, const uint32_t size[3], uint32_t place[3])
{
	for (unsigned i = 0; i < 3; i++) {
		uint32_t s = size[i] ? size[i] : 1;
		place[i] = (uint32_t)(i < 2 ? n % s : n);
		n /= s;
	}
}

static uint32_t linear(const uint32_t place[3], const uint32_t size[3])
{
	return (place[2] * size[1] + place[1]) * size[0] + place[0];
}

/* What the two have in common, and where they are in the grid. */
static void side_place(const struct race_record *rec, const uint32_t threads[3],
		       struct race_side *s)
{
	const uint32_t c[3] = {rec->cluster & 0xff, rec->cluster >> 8 & 0xff, rec->cluster >> 16};
	const uint32_t grid[3] = {rec->grid_x, rec->grid_yz & 0xffff, rec->grid_yz >> 16};
	uint32_t cluster[3], clusters[3];

	for (unsigned i = 0; i < 3; i++) {
		cluster[i] = s->block[i] / (c[i] ? c[i] : 1);
		clusters[i] = grid[i] / (c[i] ? c[i] : 1);
	}
	s->cluster = linear(cluster, clusters);
	s->warp = linear(s->thread, threads) / 32;
	s->address = rec->address;
	s->grid = rec->grid;
	s->proxy = RACE_PROXY_GENERIC;
}

void race_sides_fill(struct base_arena *a, const struct race_record *rec, int device,
		     const struct race_finding *earlier, uint32_t earlier_flags, uint32_t own_flags,
		     struct race_finding *f)
{
	const struct race_finding *of[2] = {f, earlier};
	const uint32_t flags[2] = {own_flags, earlier_flags};
	uint64_t shape = rec->now[1];
	const uint32_t threads[3] = {(uint32_t)(shape & 0xffff), (uint32_t)(shape >> 16 & 0xffff),
				     (uint32_t)(shape >> 32 & 0xffff)};
	const uint32_t grid[3] = {rec->grid_x, rec->grid_yz & 0xffff, rec->grid_yz >> 16};
	struct shadow_word was = shadow_decode(rec->was[0], RACE_ACTOR_BITS(rec->was[1]));
	uint32_t size = threads[0] * threads[1] * threads[2];

	f->sides = BASE_NEWN(a, struct race_side, 2);
	for (unsigned i = 0; i < 2; i++) {
		struct race_side *s = &f->sides[i];
		s->func = of[i]->func;
		s->func_shown = s->kernel = of[i]->func_shown;
		s->file = of[i]->file;
		s->line = of[i]->line;
		s->col = of[i]->col;
		s->inlined = of[i]->inlined;
		s->ninlined = of[i]->ninlined;
		s->access = of[i]->access;
		s->space = of[i]->space;
		s->width = of[i]->width;
		s->vec = of[i]->vec;
		s->bytes = of[i]->width * of[i]->vec;
		s->text = of[i]->nsites ? of[i]->sites[0].text : "";
		s->ptx_line = of[i]->nsites ? of[i]->sites[0].ptx_line : 0;
		s->is_near = of[i]->is_near;
		s->update = of[i]->update;
		s->strength = (enum race_strength)RACE_SITE_STRENGTH(flags[i]);
		s->scope = (enum race_scope)RACE_SITE_SCOPE(flags[i]);
		s->flags = ways_of(s->access);
		s->device = device;
	}
	memcpy(f->sides[0].thread, rec->thread, sizeof(rec->thread));
	memcpy(f->sides[0].block, rec->block, sizeof(rec->block));
	place_of(size ? was.thread % size : 0, threads, f->sides[1].thread);
	place_of(size ? was.thread / size : 0, grid, f->sides[1].block);
	side_place(rec, threads, &f->sides[0]);
	side_place(rec, threads, &f->sides[1]);
	f->met.name = "";
	/* They are no values. */
	memset(f->first.was, 0, sizeof(f->first.was));
	memset(f->first.now, 0, sizeof(f->first.now));
}
