/*
 * case.h - a PTX file of cases/ with what its comments say: buffers, launches, expectations.
 *
 * Lines of the PTX file that start with one of these comments, in their order:
 *
 *   // buffer NAME TYPE COUNT [= VALUES]   device memory, before each run; missing values are 0
 *   // launch KERNEL [grid=X[,Y[,Z]]] [block=X[,Y[,Z]]] [cluster=X] [shared=BYTES] [cooperative]
 *              [-- ARGUMENT...]            ARGUMENT: a buffer's name (its address, NAME+OFFSET) or
 *                                          VALUE:TYPE; launches follow each other, as in one stream
 *   // expect NAME[I] = VALUES             elements I, I+1, ... after the run
 *   // expect NAME = VALUES
 *   // expect-some NAME[I] = VALUES        in at least one of the runs
 *   // expect-all-or NAME[I] = VALUES or VALUES   one of the two lists, in every run
 *   // expect-fault KIND [TEXT]            the run ends with this fault, its message holds TEXT
 *   // judge clean|racy|some               a race in no run; one in each; in one of them
 *   // expect-print TEXT                   the printf output holds TEXT (\n for a newline)
 *   // expect-race KIND TAG TAG            the oracle reports this pair in every run; TAG: the
 *                                          statement marked `// race: TAG`; reports no other pair
 *   // expect-possible KIND TAG TAG        the same of a race that is only possible
 *   // expect-no-race                      the oracle reports none
 *   // tensormap NAME BUFFER W,H W,H [S]   a buffer with a tensor map: 32-bit elements, all, box,
 *                                          swizzle (number of CUtensorMapSwizzle)
 *   // im2col NAME BUFFER C,W,N C,P         a tensor map of pixels: channels, width, images;
 *                                          channels and pixels of a copy; with a 1 or 2 at the
 *                                          end: of im2col::w, ::w::128 (swizzle 64B)
 *   // multicast NAME BUFFER...           an address that stands for these buffers, up to four
 *   // texture NAME BUFFER W,H             a 2D texture object (surface: a surface object) of a
 *                                          buffer's 32-bit texels, clamped; as argument: its number
 *   // seeds N                             runs per model (default 3)
 *   // models sc weak a1                   default: all three
 *
 * VALUES: numbers of the buffer's type, separated by blanks; V*N repeats; iota is 0 1 2 ... up to
 * the end; A..B counts. TYPE: u8 s8 u16 s16 u32 s32 u64 s64 f32 f64, x32 and x64 for hexadecimal
 * output. KIND: address misaligned unsupported trap assert illegal stack deadlock resources.
 *
 * Who runs the file gives buffers their memory: cpu_run on the CPU device, tests/gpu/cases by the
 * driver's API.
 */
#ifndef COLLIDER_TESTS_CASE_H
#define COLLIDER_TESTS_CASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "race/file/pair.h"

#define MAX_NAMED   32
#define MAX_LINES   256
#define MAX_MEMBERS 4

struct buffer {
	char name[32], type[8];
	size_t count, size;
	unsigned char *init;		/* what it holds before each run */
	unsigned char *mem;		/* where it is in this run, perhaps on a GPU */
	struct buffer *of[MAX_MEMBERS]; /* multicast; NULL: no more */
};

enum expect_kind { EXPECT, EXPECT_SOME, EXPECT_EITHER, EXPECT_PRINT };

struct expect {
	enum expect_kind kind;
	unsigned line;
	struct buffer *buffer;
	size_t at, n, n2;
	unsigned char *values, *values2;
	const char *text;
	bool seen;
};

/* A pair that the oracle must report: its kind and the lines of both statements. */
struct race {
	const char *kind, *tags[2];
	uint32_t lines[2];
	unsigned line;
	bool is_possible; /* is expected to be no more than that */
	bool is_told;	  /* in this run, as `pair` */
	struct race_pair pair;
};

struct tensormap {
	struct buffer *map, *of;
	uint32_t size[3], box[2], swizzle, wide;
	bool is_pixels; /* box: channels, pixels */
};

struct texture {
	struct buffer *self, *of;
	uint32_t size[2];
	bool is_surface;
	uint64_t handle; /* in this run */
};

struct launch {
	char kernel[800];
	uint32_t grid[3], block[3], cluster[3];
	uint64_t shared;
	bool is_cooperative;
	char *args[MAX_NAMED];
	unsigned nargs, line;
};

struct test {
	const char *file;
	struct base_arena arena;
	struct buffer buffers[MAX_NAMED];
	struct launch launches[MAX_NAMED];
	struct expect expects[MAX_LINES];
	struct race races[MAX_NAMED];
	struct tensormap maps[MAX_NAMED];
	struct texture textures[MAX_NAMED];
	unsigned nraces, nmaps, ntextures;
	bool has_verdict; /* the oracle's is expected */
	unsigned nbuffers, nlaunches, nexpects, nseeds;
	unsigned models; /* bit set of enum cpu_model */
	const char *fault_kind, *fault_text;
	enum { JUDGE_NOT, JUDGE_CLEAN, JUDGE_RACY, JUDGE_SOME } judge;
	unsigned failures, runs, ntold /* of this run */, racy_runs;
};

/*
 * Reads the comments of `text`, the contents of the file t->file, into *t: zeroed but for what the
 * file need not say. A comment that isn't understood ends the process with 2. What *t points to is
 * in its arena.
 */
void case_parse(struct test *t, const char *text);
/* Ends the process with 2, naming a line of the file. */
_Noreturn void case_bad(const struct test *t, unsigned line, const char *what, const char *found);
/* The bytes of a TYPE; 0: there is no such. */
size_t case_type_size(const char *type);
/* Stores the number `text` as a TYPE. */
void case_put_value(unsigned char *to, const char *type, const char *text);
/* Prints a blank and the value. */
void case_print_value(const unsigned char *from, const char *type);
/* The buffer of this name, `n` bytes long, or NULL. */
struct buffer *case_buffer(struct test *t, const char *name, size_t n);

#endif
