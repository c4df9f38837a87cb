/*
 * judge.h - the front header of src/judge: launches of another machine, executed once more on the
 * CPU device under the oracle.
 *
 * A *capsule* is one launch as data: its PTX, parameters and dimensions, and the memory that it
 * read, as it was before the launch. A device's run records it (record.c), a file keeps it
 * (capsule_write.c, capsule_read.c), and a trial executes it with some seed and memory model
 * (execute.c), in a child process of its own (pool.c). What a trial finds goes to the shared file
 * of race/file, as the findings of all other runs.
 *
 * All of the memory is the capsule's: a trial that reads what the recorded launch didn't read
 * stops there, and what it found until then is true.
 */
#ifndef COLLIDER_JUDGE_H
#define COLLIDER_JUDGE_H

#include "base/base.h"
#include "cpu/cpu.h"

/* ---- capsules ------------------------------------------------------------------ */

/* An object of the program's text, without checks. */
struct judge_text {
	const char *file, *text;
	size_t bytes;
	struct ptx_module *parsed; /* NULL: each trial reads it */
};

/* Bytes from `addr` on, as they were before the launch. */
struct judge_page {
	uint64_t addr;
	uint32_t bytes;
	const uint8_t *data;
};

/* A variable, or a function that pointers may name (bytes 0). */
struct judge_place {
	uint32_t part, nth; /* as in struct cpu_places */
	const char *name;
	uint64_t addr, bytes;
};

struct judge_texture {
	uint64_t handle;
	struct cpu_texture t;
};

#define JUDGE_COOPERATIVE  1u
#define JUDGE_PROGRAMMATIC 2u
#define JUDGE_FLAGS	   3u

/* Zero-initialised is valid and empty; all that it points to lives in the arena. */
struct judge_capsule {
	struct base_arena arena;
	const char *program; /* that made the launch, with its arguments */
	const char *kernel;  /* mangled */
	uint64_t number;     /* of the launch, in the order in which they were recorded */
	uint32_t device, sms;
	uint64_t seed;				/* of the machine that recorded it */
	uint32_t model;				/* enum cpu_model, the same */
	uint32_t grid[3], block[3], cluster[3]; /* cluster 0: the launch requests none */
	uint64_t shared;			/* dynamic */
	uint32_t flags;				/* JUDGE_* */
	uint32_t page;				/* bytes of the pages of its memory */
	const uint8_t *params;
	uint32_t nparam_bytes;
	const uint64_t *chosen; /* as in struct cpu_launch; NULL: all */
	uint64_t nchosen;
	BASE_VEC(struct judge_text) texts;
	BASE_VEC(struct cpu_mem_info) memory; /* allocations that were live, by rising addresses */
	BASE_VEC(struct judge_page) pages;    /* that were read, by rising addresses */
	BASE_VEC(struct judge_place) places;
	BASE_VEC(struct judge_texture) textures;
};

/* Frees it; it is empty again. */
void judge_capsule_free(struct judge_capsule *c);

/* A sum of all but the number, to recognise the same launch. */
uint64_t judge_capsule_sum(const struct judge_capsule *c);
/* Writes the file, whole or not at all. Returns 0 or an errno value. */
int judge_capsule_write(const struct judge_capsule *c, const char *path);

/*
 * Reads one. Returns NULL, or what is wrong in a few words ("not a capsule", "cut off"); it is
 * empty then. Whatever the bytes are, a capsule that was read holds no number that leads outside
 * of it.
 */
const char *judge_capsule_read(struct judge_capsule *c, const char *path);
/* The same from memory. */
const char *judge_capsule_parse(struct judge_capsule *c, const void *data, size_t bytes);

/* ---- record.c: from a machine's launches to files --------------------------------- */

struct judge_recorder;

struct judge_record_options {
	const char *folder; /* exists; all strings are copied */
	const char *program;
	uint64_t bytes; /* of one launch's memory, at most: larger ones are left out */
};

struct judge_record_counts {
	uint64_t written, same; /* same: as an earlier one, to the last byte */
	uint64_t beside;	/* left out: something else ran meanwhile */
	uint64_t large;		/* left out: more memory than options allow */
	uint64_t failed;	/* files that couldn't be written */
	int error;		/* errno of the first of these */
};

/* Follows the machine's memory (cpu_set_pager) from now on: judged launches of kernels that
 * judge_record_kernel has named become files. Lives as long as the machine. */
struct judge_recorder *judge_record(struct cpu_machine *m, const struct cpu_options *options,
				    const struct judge_record_options *opt);
/* The texts of a kernel's module, which outlive the recorder; before its launch. */
void judge_record_kernel(struct judge_recorder *rec, const struct cpu_kernel *k,
			 const struct judge_text *texts, size_t n);
struct judge_record_counts judge_record_count(struct judge_recorder *rec);

/* ---- execute.c: one launch in this process ----------------------------------------- */

/* Memory that the capsule doesn't hold, as it was before the launch, and what lies where. */
struct judge_source {
	/* The allocation with this address; false: there is none; bytes 0: it was made after the
	 * launch. */
	bool (*memory)(void *arg, uint64_t addr, struct cpu_mem_info *out);
	/* Puts the content of these bytes, of one allocation, to `to`. False: it can't be had. */
	bool (*page)(void *arg, uint64_t addr, uint64_t bytes, void *to);
	/* The same as it was after the launch; NULL: that isn't known. */
	bool (*after)(void *arg, uint64_t addr, uint64_t bytes, void *to);
	/* The address of a variable, or of a function (bytes 0); 0: it isn't known. */
	uint64_t (*place)(void *arg, const char *name, unsigned nth, uint64_t bytes);
	uint32_t page_bytes;
	void *arg;
};

struct race_judge_operation;

struct judge_trial {
	const struct judge_capsule *capsule;
	const struct judge_source *live; /* NULL: all is in the capsule */
	const char *name;		 /* of its file, for reports; of a program that runs: "" */
	uint64_t seed;
	enum cpu_model model;
	enum cpu_jit jit;
	enum cpu_oracle oracle;
	uint64_t limit_ms;     /* 0: none */
	const int *is_stopped; /* not 0 (atomic): it is to stop as if its time was over; or NULL */
	/* Blocks that run, of those of the capsule: race_judge_pick. 0: all. */
	uint64_t blocks;
	/* With no order between the two, another launch (or NULL), or an operation (or NULL). */
	const struct judge_capsule *second;
	uint64_t second_blocks;
	bool is_verified; /* live: what it has written is compared with what the launch has */
	bool is_early; /* the second is a programmatic launch after the first, all of which runs */
	const struct race_judge_operation *operation;
	/* What comes in the launch's place; NULL: the launch. The capsule's memory is there. */
	const struct race_judge_operation *first;
	uint32_t stream, second_stream; /* for reports */
};

enum judge_end {
	JUDGE_WHOLE,   /* all chosen blocks ran to their end */
	JUDGE_WAITS,   /* they wait for blocks that weren't chosen */
	JUDGE_LATE,    /* the time was over */
	JUDGE_UNKNOWN, /* it read memory that the capsule doesn't hold */
	JUDGE_FAULT,   /* the kernel stopped by itself: an address, a trap, a deadlock */
	JUDGE_REFUSED, /* it can't be executed here at all */
	JUDGE_DIED,    /* the child that executed it did: pool.c */
	JUDGE_ENDS
};

/* What a whole grid has left in memory, beside what the launch has. Words of 4 bytes. */
struct judge_compared {
	uint64_t bytes;	 /* compared; 0: nothing was */
	uint64_t differ; /* words */
	uint64_t close;	 /* of these: numbers in floating point that are nearly the same */
	/* The first that isn't, or else the first. */
	uint64_t at;
	uint32_t here, there;
};

struct judge_outcome {
	enum judge_end end;
	uint64_t blocks, of; /* that were to run, and of the grid */
	char why[400];	     /* in one line; "" after JUDGE_WHOLE */
	uint64_t ns;
	struct cpu_stats stats;
	struct cpu_oracle_stats oracle;
	struct judge_compared compared;
};

/* Executes it; call it once in a process. Pairs of accesses that raced go to fn. */
void judge_execute(const struct judge_trial *t, cpu_pair_fn *fn, void *arg,
		   struct judge_outcome *out);

/* ---- serve.c: the launches of a program that runs ---------------------------------------- */

struct race_judge_policy;

struct judge_serve {
	const struct race_judge_policy *policy;
	enum cpu_oracle oracle;
	const char *program;
	const char *folder; /* launches are kept there as capsules; NULL: they aren't */
	int control;	    /* the socket for modules; -1: they come with the launches */
};

/* Judges what comes over the socket (race/judge/wire.h) until its other end is closed; what is
 * found goes to the shared file, as below. Returns how many launches there were. */
uint64_t judge_serve(int fd, const struct judge_serve *opt);

/* ---- pool.c: many trials, each in a child -------------------------------------------- */

/* One more has ended; called in the order of their ends. */
typedef void judge_done_fn(void *arg, const struct judge_trial *t, const struct judge_outcome *o);

/*
 * Executes the trials, `jobs` at once (0: one for each processor). Pairs and counters go to the
 * shared file (race_shm_open, before), gaps as far as one trial shows them. A child that hangs is
 * ended a while after its limit.
 */
void judge_run(const struct judge_trial *trials, size_t n, unsigned jobs, judge_done_fn *done,
	       void *arg);

#endif
