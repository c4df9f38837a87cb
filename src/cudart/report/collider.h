/*
 * collider.h - inside src/cudart: what is written to the file shared with `collider run`.
 */
#ifndef COLLIDER_CUDART_COLLIDER_H
#define COLLIDER_CUDART_COLLIDER_H

#include "cudart/state/link.h"

/* Opens the shared file and announces the CPU device; once, when the machine starts. */
void rt_collider_start(void);
/* A module was loaded: writes its knobs, copies its site tables. True: it is instrumented;
 * has_history: with a detector that has words. */
bool rt_collider_module(unsigned device, const struct rt_image *im, struct cpu_module *mod,
			bool *has_history);
/* Sets in a launch how the kernel orders its blocks. The images' lock is held. */
void rt_collider_shuffle(struct rt_kern *k, unsigned device, struct cpu_launch *launch);
/* Makes the kernel's counter before its first launch. The images' lock is held. */
void rt_collider_kernel(struct rt_kern *k);
/* Have all streams of the device finished? Works on them until `deadline` (0: doesn't). The
 * lock is not held. */
bool rt_collider_is_idle(unsigned device, uint64_t deadline);
/* How many operations have been submitted to the device. */
uint64_t rt_host_count(unsigned device);

/* reserve.c: zeroes for a detector's tables, known to the device as its memory, until the process
 * ends. NULL: no address space. */
void *rt_reserve(uint64_t bytes);
/* Releases the pages: they read as zeroes. p may be NULL. */
void rt_clear(void *p, uint64_t bytes);

/* Kernels launched so far. */
uint64_t rt_collider_launches(void);
/* An image can't be used: `why` for the report. The images' lock is held. */
void rt_collider_failed(const char *why);
/* These patterns of --variable match an access (race_variable_patterns). */
void rt_collider_patterns(uint64_t patterns);
/* The number of a device's region among those of the process (race_region.context). */
uint32_t rt_collider_number(unsigned device);

/* oracle.c: once, where the run has an oracle; copies its counts (the shared file's lock is held);
 * a launch more, or less, that it judges; is there one? */
void rt_oracle_start(void);
void rt_oracle_update(void);
void rt_oracle_launched(int more);
bool rt_oracle_is_on(void);

/* history.c: fills in the block of a module with detector hirace, or iguard; notes what may order
 * threads of a kernel without being seen (RACE_HISTORY_*_ORDERS); counts what stepped aside. */
struct race_history;
void rt_history_module(struct race_history *block, enum race_words_id id);
/* Is the text without checks asked for, which says whether its launches may order others? */
bool rt_history_asks_text(const struct rt_kern *k);
void rt_note_unseen(uint32_t who);
/* Memory that host code and kernels share. */
void rt_history_shared(uint64_t at, uint64_t bytes);
void rt_history_counts(uint64_t *threads, uint64_t *accesses);
/* A kernel starts and no other runs: what is left of earlier ones is given back. The machine's
 * locks are held. */
void rt_on_quiet(void *arg);

/* origin.c: the Python lines (race_script) of this thread's last launch, copy or fill; "": none. */
const char *rt_script_last(void);
/* origin.c: the call `number` is wanted in the report. */
void rt_origin_report(uint32_t number);
/* origin.c: copies and fills are checked from now on; their counts go to the shared file; after
 * fork, in the child. */
void rt_origin_start(void);
void rt_origin_update(void);
void rt_origin_forked(void);

#endif
