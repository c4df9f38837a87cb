/*
 * internal.h - inside src/judge: memory at another machine's addresses (memory.c), images of GPU
 * code (image.c).
 */
#ifndef COLLIDER_JUDGE_INTERNAL_H
#define COLLIDER_JUDGE_INTERNAL_H

#include "judge/judge.h"
#include "race/judge/wire.h"

/* Whole pages of the system's. */
struct judge_hull {
	uint64_t from, to;
};

struct judge_mapped {
	BASE_VEC(struct judge_hull) hulls;
};

/* Maps the pages of [addr, addr + bytes) that no earlier call has mapped, as zeros. False:
 * something of this process is there already, at *clash. */
bool judge_map(struct judge_mapped *m, uint64_t addr, uint64_t bytes, uint64_t *clash);

/* pool.c: a pair that the trial has found, for the shared file; arg: the trial. And what became of
 * it, for the report. */
struct race_pair *judge_write_pair(void *arg, const struct race_pair *pair, size_t bytes);
void judge_note(const struct judge_trial *t, const struct judge_outcome *o);
/* image.c: what a program has loaded as one module; zero-initialised is empty. */
struct judge_image {
	struct base_arena arena;
	BASE_VEC(struct judge_text) texts;
	struct base_buf lines; /* wire.h */
};
/* Adds an image as a GPU of version sm would run it; is_part: one object of several. NULL, or why
 * it can't be judged. */
const char *judge_image_add(struct judge_image *im, const void *bytes, size_t n, unsigned sm,
			    bool is_part);
/* Parses its texts here, once for all trials. */
void judge_image_parse(struct judge_image *im);
void judge_image_free(struct judge_image *im);
/* compare.c: adds these bytes of this process's memory, and of the launch's after it. */
void judge_compare(const struct judge_source *live, uint64_t addr, uint64_t bytes,
		   struct judge_compared *c);
/* tally.c: what was judged, by kernel; then lines for the report. */
struct judge_tally;
void judge_tally_add(struct judge_tally **all, const char *kernel,
		     const struct race_judge_done *done, uint64_t accesses, const char *why);
/* A launch's memory was compared; is_by_order: schedules differ in it. */
void judge_tally_compared(struct judge_tally *all, const char *kernel,
			  const struct judge_compared *c, bool is_by_order);
/* Has a launch of the kernel been judged? */
bool judge_tally_has(struct judge_tally *all, const char *kernel);
/* held: how long each launching thread was held up, in ns; it is sorted. */
void judge_tally_say(struct judge_tally **all, uint64_t *held, size_t n);
/* record.c: FOLDER/0001-KERNEL.capsule, with the next number that is free. 0 or an errno value. */
int judge_capsule_keep(struct judge_capsule *c, const char *folder, unsigned *number);

#endif
