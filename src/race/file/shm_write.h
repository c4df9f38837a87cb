/*
 * shm_write.h - the program's side of the shared file (race/file/shm.h): what the agent and the CPU
 * device write there.
 *
 * Works in the user's process: nothing here exits, and nothing allocates. Claims are made
 * without a lock (several processes write), each writer owns what it claimed.
 */
#ifndef COLLIDER_RACE_FILE_SHM_WRITE_H
#define COLLIDER_RACE_FILE_SHM_WRITE_H

#include <stdbool.h>
#include <stddef.h>

#include "race/detector.h"
#include "race/gap.h"
#include "race/shuffle/image.h"
#include "race/file/shm.h"

/* Maps the file of `collider run`, or creates one. False (with a message): there is none. */
bool race_shm_open(void);
/* The file, after race_shm_open; NULL before. */
struct race_shm *race_shm_get(void);
/* This process made the file, and so must report what is in it. */
bool race_shm_is_own(void);
/* After fork, in the child. */
void race_shm_disown(void);
void race_shm_state(enum race_agent_state state);
/* Next free region or NULL; `number` of the context in this process. */
struct race_region *race_shm_region(uint32_t number);
/*
 * Appends a chunk: `n` bytes of `data` (NULL: zeroes), then `m` of `more` (may be NULL). Returns
 * its payload in the file, 8-byte aligned, or NULL when the heap is full.
 */
void *race_shm_chunk(enum race_chunk_kind kind, uint64_t hash, const void *data, size_t n,
		     const void *more, size_t m);
/* The payload of the first such chunk, of any process, and its size; NULL: there is none. */
void *race_shm_find(enum race_chunk_kind kind, uint64_t hash, size_t *bytes);
/* Is there such a chunk, of any process? */
bool race_shm_has(enum race_chunk_kind kind, uint64_t hash);

/*
 * Copies the site table that lies at `bytes` (at most `room` of them) under the symbol `name`, if
 * the file doesn't have it yet. A note says if it is damaged or if there is no room. Two threads
 * must not copy the same table at the same time.
 */
void race_shm_sites(const char *name, const char *bytes, size_t room);

/* The machine that --hirace asked for, RACE_HISTORY_MACHINE bytes; NULL: that of the modules. */
const void *race_shm_machine(void);

/* Payload of RACE_CHUNK_KERNEL; the name follows. */
struct race_kernel_count {
	uint64_t count; /* launches; atomic */
	uint32_t instrumented;
	/* Where a run leaves launches out (race_choice_take): */
	uint32_t is_judged; /* 0: not known yet; 1, 2: its name is, is not, among those to be */
	uint64_t started, checked;
	uint64_t first, last;	     /* numbers of checked launches, from 1 */
	uint32_t why;		     /* RACE_LEFT_* */
	uint32_t cuts;		     /* launches that the oracle judged in part */
	uint64_t cut_blocks, cut_of; /* of the first: how many of its blocks had begun */
	/* Launches that a proof speaks of, so that they were judged as a whole; those of them, and
	 * races with them, that should have been judged access by access. Atomic. */
	uint64_t proven, left;
	uint64_t sampled; /* launches left out after a thousand that were clean; atomic */
};
/* Appends a kernel's counter; NULL: the heap is full. */
struct race_kernel_count *race_shm_kernel(const char *name, bool is_instrumented);

/* One of the lists of names; NULL: the run has none, or its list is empty. */
const char *race_choice_list(enum race_choice_list_id id);
/* Does the run leave launches out? After race_shm_open. */
bool race_choice_is_on(void);
uint64_t race_choice_budget(void); /* ns; UINT64_MAX: no limit */
/* A launch of a kernel: its number, from 1, and what leaves it out (RACE_LEFT_*); 0: nothing. */
struct race_choice_answer {
	uint64_t number;
	uint32_t why;
};
/*
 * Is the next launch of this kernel to be checked? Counts it. is_outside: race_nvtx_is_outside, in
 * the thread that launches. spent_ns: the time that checked launches have taken so far. What became
 * of it, which may be something else, is noted then. Both are called by one thread at a time for a
 * kernel.
 */
struct race_choice_answer race_choice_ask(struct race_kernel_count *k, const char *name,
					  bool is_outside, uint64_t spent_ns);
void race_choice_note(struct race_kernel_count *k, struct race_choice_answer a);
/* A launch of a kernel without checks: counts it as left out, if that is what the lists say. */
void race_choice_pass(struct race_kernel_count *k, const char *name);
/* Both at once, for a device that can end a launch's judging: until when it is judged, as in
 * cpu_choose_fn. A kernel's first launch is never left out by the budget. */
uint64_t race_choice_take(struct race_kernel_count *k, const char *name, bool is_outside,
			  uint64_t spent_ns);
/*
 * The same for the judge beside a GPU, which counts all launches that it can follow, has a budget
 * of its own and reports what it judged itself: what leaves the next launch out (RACE_LEFT_*), 0:
 * nothing. *listed: of the kernel, 0 at first, as is_judged above.
 */
uint32_t race_choice_beside(uint32_t *listed, const char *name, bool is_outside);
/* May a kernel's next launch have another answer than the one before it? */
bool race_choice_changes(void);
/* The judging of a launch has ended when so many of its blocks had begun. */
void race_choice_cut(struct race_kernel_count *k, uint64_t blocks, uint64_t of);
/* May its launches be left out at all? If not, nothing needs to be prepared for that. */
bool race_choice_concerns(const char *name);

/* What a run knows about a module whose runtime block it fills in. */
struct race_fill {
	uint64_t rt; /* address of its struct race_rt */
	/* Of the context: its number, and the struct race_watch_table that it uses. */
	uint32_t context;
	uint64_t watch;
	enum race_detector_id detector; /* race_shm_block sets it: whose block it is */
	/* What was determined about the image's order of blocks; `id` as in its order table. */
	enum race_shuffle_verdict (*order)(uint32_t id, void *arg);
	void *arg;
};
/* Of a module's detectors (a set), does one with words work in this run, and none that knows causes
 * (base/detectors.def)? What it leaves undecided remains so then. */
bool race_shm_lacks_causes(unsigned detectors);
/*
 * Sets what `collider run` requests in a module's runtime block of detector `id`; `block` is a copy
 * of it, or the block itself. Fields that only the instrumenter determines are not changed.
 */
void race_shm_block(enum race_detector_id id, void *block, const struct race_fill *fill);
/* The same for each layout that a row of base/detectors.def names. */
void race_shm_knobs(struct race_knobs *k, const struct race_fill *fill);
struct race_history;
void race_shm_history(struct race_history *h, const struct race_fill *fill);
struct race_watch;
void race_shm_watch(struct race_watch *w, const struct race_fill *fill);

struct race_transfer;
struct race_transfer_counts;
/* Where the program called from: return addresses, the innermost first, or lines of a script,
 * "file TAB line TAB function NL" each (NULL: none). */
struct race_stack {
	void *const *pcs;
	int n;
	const char *script;
};

/*
 * Appends a copy or fill that raced (transfer.h), called with the stack `pcs`, the innermost of n
 * frames first; `api` is the function's name, NULL = unknown. Returns where its count is kept from
 * now on; NULL: the heap is full.
 */
uint64_t *race_transfer_report(const struct race_transfer *t, const char *api,
			       struct race_stack stack);
/* Appends the call that asked for the operation `origin` of a pair (RACE_CHUNK_ORIGIN). */
void race_origin_report(uint32_t origin, struct race_stack stack);
/* script.c: the calling thread's Python frames as such lines, the innermost first; false: none. It
 * waits for Python's lock for a short time only, and no lock of ours may be held. */
#define RACE_SCRIPT_BYTES 4096u
bool race_script(char text[RACE_SCRIPT_BYTES]);
/*
 * The calls that launched a kernel, for findings that don't know their launch. Zeroed at first; one
 * for each kernel, of which one thread at a time may use it.
 */
#define RACE_LAUNCH_PLACES 4u
struct race_launches {
	uint64_t seen[RACE_LAUNCH_PLACES]; /* hashes of their stacks */
	uint32_t n;
	uint32_t count;
};
/* Is the stack of this launch to be noted? All of the first 1,024 launches are looked at, then one
 * in 64, until RACE_LAUNCH_PLACES are known. */
bool race_launch_is_wanted(struct race_launches *l);
/* Called at such a launch of `kernel` (mangled), from the lines `script` (race_stack; NULL: the
 * program's calls are taken): appends its stack if it is new (RACE_CHUNK_LAUNCH). */
void race_launch_note(struct race_launches *l, const char *kernel, const char *script);
/* Appends the counters of this process; NULL: the heap is full. */
struct race_transfer_counts *race_transfer_counts_new(void);

/* Payload of RACE_CHUNK_GAP: a kernel (mangled, "" = none) and what happened ("" = as gaps.def has
 * it) follow, each with its NUL. One of UNMATCHED that counts nothing is none: it has matched. */
struct race_gap_count {
	uint64_t count; /* as the gap's noun says; atomic */
	uint32_t why;	/* enum race_gap_why */
	uint32_t what;	/* offset of that string after this struct */
};
/* Notes a gap, which counts `n` more. Returns the count, to be raised later; NULL: no file, or the
 * heap is full. Looks through the file: not for hot paths. */
uint64_t *race_shm_gap(enum race_gap_why why, const char *kernel, const char *what, uint64_t n);
/* The same without a kernel, and a line on stderr. */
void race_shm_gap_note(enum race_gap_why why, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A line on stderr with "collider: " before it; base_say would allocate. */
void race_shm_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* A note for the report and a line on stderr. */
void race_shm_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* The note alone. */
void race_shm_remark(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
