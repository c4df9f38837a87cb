/*
 * history.h - history words for a program that runs with detector hirace, or entries for iguard.
 */
#ifndef SOUNDNESS_HISTORY_H
#define SOUNDNESS_HISTORY_H

#include "cpu/cpu.h"

#define HISTORY_PARTS 9u

struct race_history;

struct history {
	void *part[HISTORY_PARTS];
	uint64_t bytes[HISTORY_PARTS];
};

/* False: no address space. To be ended in any case, after the machine's end. is_by_marks: the order
 * of launches is what they find of each other's beginnings and ends, as on a GPU. */
bool history_begin(struct history *h, struct cpu_machine *m, struct race_history *block,
		   uint64_t runtime, bool is_guard, bool is_by_marks);
void history_end(struct history *h);

#endif
