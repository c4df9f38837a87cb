/*
 * list.h - a list of oracle events as data and as text, and its verdict by both readings.
 *
 * The text is what the *.litmus files hold and what a failed comparison prints; litmus.c explains
 * it. Actors are numbers of the list's own (naive.h): thread t of block b of grid g is
 * g * LIST_GRID + b * stride + t; others count from 1.
 */
#ifndef COLLIDER_TESTS_CPU_LIST_H
#define COLLIDER_TESTS_CPU_LIST_H

#include "naive.h"

#include <stdio.h>

#define LIST_GRID    4096u /* grids are numbered from 1 */
#define LIST_GRIDS   4u
#define LIST_MEMORY  0x1000u /* location x is LIST_MEMORY + (x - 'a') * LIST_SPACING */
#define LIST_SPACING 64u
#define LIST_LABEL   16

/* Accesses of one `key` are executions of one instruction, and findings name the first of them;
 * 0: an instruction of its own. */
struct list {
	size_t n;
	struct list_event e[NAIVE_EVENTS];
	uint64_t addresses[NAIVE_EVENTS][ORACLE_LANES];
	char labels[NAIVE_EVENTS][LIST_LABEL];
	struct oracle_grid grids[LIST_GRIDS];
};

/* What the oracle said; second of each pair acted later. */
struct list_verdict {
	uint32_t npairs;
	struct naive_pair pairs[NAIVE_OPS * 64];
	bool is_coarse; /* the order of fence.sc's has become that of execution */
	bool is_part;	/* an access has raced too often, its later races may be missing */
	bool is_broken; /* full, dropped, or a finding of no known event */
};

void list_init(struct list *l);
/* Appends an event of that type; NULL: no room. A GRID's geometry is grids[number - 1]. */
struct list_event *list_add(struct list *l, enum event_type type);
/* Events point into their list: call after a copy or a removal. */
void list_fix(struct list *l);
void list_remove(struct list *l, size_t i);

/* Feeds the list to a new oracle; is_tiny as in its options. */
void list_judge(const struct list *l, enum oracle_sc sc, bool is_tiny, struct list_verdict *out);
/* NULL: oracle, tiny and not, and naive agree (or naive has no verdict); else what they differ in,
 * static. */
const char *list_compare(const struct list *l, enum oracle_sc sc);
/* ... where no fence.sc is placed after others by communication alone. Races may be missed
 * then (*is_coarse); NULL: each that is reported is one. */
const char *list_compare_coarse(const struct list *l, bool *is_coarse);
/* Removes what isn't needed for a difference. */
void list_shrink(struct list *l, enum oracle_sc sc);

/* One line of text to an event or several; false: not understood. `at` a line of a litmus file. */
bool list_parse_line(struct list *l, char *line);
void list_print(const struct list *l, FILE *f);

#endif
