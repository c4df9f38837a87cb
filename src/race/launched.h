/*
 * launched.h - launches that a program made, as --record-launches writes them on either device and
 * `collider prove --launches` reads them.
 *
 * A line of JSON for each launch: {"kernel":...,"block":[x,y,z],"grid":[x,y,z],"params":[{"offset":
 * ...,"bytes":...,"value":...}]}. A word of the parameters that lies in an allocation is a pointer:
 * beside its value stand the number of that array in this launch, the place in it and its size. The
 * text of a kernel, {"ptx":...}, comes before its first launch. Nothing here allocates but
 * race_lines_add, which may fail: it runs in the user's process.
 */
#ifndef COLLIDER_RACE_LAUNCHED_H
#define COLLIDER_RACE_LAUNCHED_H

#include "race/contents.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the environment of a program on a GPU: `collider`, a line end, the file. */
#define RACE_LAUNCHED_ENV "COLLIDER_LAUNCHES"

/* A number, or a pointer into `array` (from 1; 0: none) of this launch. */
struct race_param_word {
	uint32_t off, bytes, array;
	uint64_t value, at, size; /* the place in the array, and its size */
};

/* What allocation an address lies in. False: none. */
typedef bool race_memory_fn(void *arg, uint64_t address, uint64_t *base, uint64_t *bytes);

/* The arrays that a launch is given, in the order of their pointers; later ones are numbers. */
#define RACE_LAUNCHED_ARRAYS 64

/* The words of one launch, as they are read: memory for them is the caller's. */
struct race_param_words {
	struct race_param_word *v;
	size_t n;
	race_memory_fn *find;
	void *arg;
	uint64_t base[RACE_LAUNCHED_ARRAYS];
	unsigned narrays;
};

/* How many words a parameter of so many bytes has, at most. */
size_t race_param_words_most(uint32_t bytes);
/* Adds those of the parameter at `off`; p: its bytes. Numbers of up to 8 bytes as they are; of a
 * structure its words of 4 bytes, pointers of 8; no more than its first 4,096 bytes. */
void race_param_words_add(struct race_param_words *w, uint32_t off, uint32_t bytes, const void *p);

struct race_launched {
	const char *kernel;
	uint32_t block[3], grid[3];
	const struct race_param_word *word;
	size_t nwords;
	const struct race_contents *holds; /* by word: what its array holds; NULL: it isn't known */
};

/* Its line, without the words that may be anything (NULL: all are there), into at least
 * race_launched_most bytes. Returns how many there are, without a NUL. */
size_t race_launched_line(const struct race_launched *l, const bool *is_any, char *out);
size_t race_launched_most(const struct race_launched *l);
/* What makes it another one: not where its arrays lie, but what they hold. */
uint64_t race_launched_hash(const struct race_launched *l);

/* Lines that were written, by their hashes. {0} is empty. */
struct race_lines {
	uint64_t *slot;
	size_t n;
};
#define RACE_LINES_MOST 65536u
enum race_lines_as {
	RACE_LINES_NEW,
	RACE_LINES_BEFORE,
	RACE_LINES_FULL /* or there is no memory */
};
enum race_lines_as race_lines_add(struct race_lines *s, uint64_t hash);
/* Takes the hash out that was added last: its line could not be made. */
void race_lines_undo(struct race_lines *s, uint64_t hash);

/* Appends lines in one write, so that several processes may share the file. 0, or errno's. */
int race_launched_append(const char *path, const char *lines, size_t n);

/* Why a launch isn't there. */
enum race_unnoted {
	RACE_UNNOTED_MANY,    /* RACE_LINES_MOST others are */
	RACE_UNNOTED_LAYOUT,  /* how its parameters lie isn't known */
	RACE_UNNOTED_MEMORY,  /* the driver didn't say what its pointers lead to, or no memory */
	RACE_UNNOTED_DEVICES, /* of several devices by one call */
	RACE_UNNOTED_OLD,     /* by cuLaunch and the like, whose parameters are set one by one */
	RACE_UNNOTED_FILE,    /* the file can't be written */
	RACE_UNNOTED_TEXT,    /* it is there, but no PTX of its kernel */
	RACE_UNNOTED_KINDS
};

/* Counted in the file that a run and its launcher share; all atomic. */
struct race_recorded {
	uint64_t launches, lines;
	uint64_t unnoted[RACE_UNNOTED_KINDS];
};
/* The reason in words: "12 launches weren't recorded: ...", of which this is the end. */
const char *race_unnoted_text(enum race_unnoted why);

#endif
