/*
 * internal.h - inside src/judge: memory at another machine's addresses (memory.c).
 */
#ifndef COLLIDER_JUDGE_INTERNAL_H
#define COLLIDER_JUDGE_INTERNAL_H

#include "judge/judge.h"

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
/* record.c: FOLDER/0001-KERNEL.capsule, with the next number that is free. 0 or an errno value. */
int judge_capsule_keep(struct judge_capsule *c, const char *folder, unsigned *number);

#endif
