/*
 * base.h - the front header of src/base: memory, vectors, text, diagnostics.
 *
 * Memory is named by lifetime: an arena lives as long as the kind of work it
 * serves (module, kernel, launch) and is freed once, at the end of that work.
 * A diagnostic is data (struct base_diag in a sink); the caller decides where
 * it is printed. Nothing in this folder knows about PTX or races.
 */
#ifndef COLLIDER_BASE_H
#define COLLIDER_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- arena.c ---------------------------------------------------------- */

struct base_chunk;

/* A bump allocator. Zero-initialised is valid and empty. */
struct base_arena {
	struct base_chunk *head; /* newest chunk */
	char *cur, *end;	 /* free part of the newest chunk */
	size_t total;		 /* bytes handed out, for statistics */
};

/* Slow path of base_alloc: starts a new chunk. Never NULL (memory.c). */
void *base_alloc_slow(struct base_arena *a, size_t size, size_t align);

/* Returns `size` bytes aligned to 16, not cleared, owned by the arena. */
static inline void *base_alloc(struct base_arena *a, size_t size)
{
	size = (size + 15) & ~(size_t)15;
	if ((size_t)(a->end - a->cur) < size)
		return base_alloc_slow(a, size, 16);
	void *p = a->cur;
	a->cur += size;
	a->total += size;
	return p;
}

/* The same, cleared to zero. */
void *base_zalloc(struct base_arena *a, size_t size);
/* Copies n bytes and adds a NUL. */
char *base_strndup(struct base_arena *a, const char *s, size_t n);
char *base_strdup(struct base_arena *a, const char *s);
/* printf into the arena. */
char *base_printf(struct base_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Frees all chunks; the arena is empty and usable again. */
void base_arena_free(struct base_arena *a);
/* The same, but the newest chunk is kept for what comes next: fresh memory is cleared by the
 * kernel, which costs as much as parsing into it. */
void base_arena_reset(struct base_arena *a);

#define BASE_NEW(arena, type)	  ((type *)base_zalloc((arena), sizeof(type)))
#define BASE_NEWN(arena, type, n) ((type *)base_zalloc((arena), sizeof(type) * (size_t)(n)))
#define BASE_COUNTOF(a)		  (sizeof(a) / sizeof((a)[0]))

/* ---- memory.c: when there is none ------------------------------------------ */

/* As the C library's, but never NULL: see memory.c for what happens instead. Freed with free. */
void *base_malloc(size_t bytes) __attribute__((returns_nonnull, malloc));
void *base_calloc(size_t n, size_t size) __attribute__((returns_nonnull, malloc));
void *base_realloc(void *old, size_t bytes) __attribute__((returns_nonnull));
/* align 0: malloc's */
void *base_aligned(size_t align, size_t bytes) __attribute__((returns_nonnull, malloc));
/* Says so and ends the process with BASE_EXIT_INTERNAL: for tools. */
_Noreturn void base_out_of_memory(size_t wanted);
/* From now on base_out_of_memory runs no exit handlers and does not flush buffered output: for a
 * child that a user's process has forked. */
void base_end_quietly(void);

/* In a user's process: holds that many bytes of address space back for the first allocation that
 * fails. when_short is called then, in the thread whose allocation failed, whatever locks that
 * holds: it may only set flags. Call once. */
void base_reserve(size_t bytes, void (*when_short)(void));
/* Has the reserve been used? Then the boundary of an API refuses new work, unless base_rearm gets
 * the reserve back. */
bool base_is_short(void);
bool base_rearm(void);

/* ---- vec.h-like growable arrays (malloc-backed; free with base_vec_free) - */

#define BASE_VEC(type)                                                                             \
	struct {                                                                                   \
		type *v;                                                                           \
		size_t n, cap;                                                                     \
	}

/* Grows a vector's storage to hold at least `want` elements. */
void base_vec_grow(void **v, size_t *cap, size_t want, size_t elem_size);

#define base_vec_reserve(vec, want)                                                                \
	do {                                                                                       \
		if ((vec)->cap < (size_t)(want))                                                   \
			base_vec_grow((void **)&(vec)->v, &(vec)->cap, (size_t)(want),             \
				      sizeof((vec)->v[0]));                                        \
	} while (0)
#define base_vec_push(vec, x)                                                                      \
	do {                                                                                       \
		base_vec_reserve((vec), (vec)->n + 1);                                             \
		(vec)->v[(vec)->n++] = (x);                                                        \
	} while (0)
#define base_vec_free(vec)                                                                         \
	do {                                                                                       \
		base_vec_free_((void **)&(vec)->v);                                                \
		(vec)->n = (vec)->cap = 0;                                                         \
	} while (0)
void base_vec_free_(void **v);

/* ---- text.c: a growing byte buffer ------------------------------------- */

/* The text is followed by a NUL that isn't counted, so it can be parsed. */
struct base_buf {
	char *p;
	size_t n, cap;
};

/* Makes room for `extra` more bytes after b->n. */
void base_buf_room(struct base_buf *b, size_t extra);
void base_buf_put(struct base_buf *b, const void *s, size_t n);
void base_buf_puts(struct base_buf *b, const char *s);
void base_buf_printf(struct base_buf *b, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void base_buf_vprintf(struct base_buf *b, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));
void base_buf_free(struct base_buf *b);

/* Bytes of the well-formed UTF-8 character at s, of n bytes at most; 0: there is none (RFC 3629,
 * section 4). */
size_t base_utf8_length(const unsigned char *s, size_t n);

/* ---- glob.c: patterns, in which only `*` is special --------------------- */

/* Does the pattern match the whole text? */
bool base_glob(const char *pattern, const char *text);
/* ... a part of it? `^` and `$` at the pattern's ends tie it to those of the text. */
bool base_glob_part(const char *pattern, const char *text);
/* ... a path, or its last part? */
bool base_glob_file(const char *pattern, const char *path);

/* ---- file.c ------------------------------------------------------------ */

/* Reads a whole file ("-" is standard input) into malloc'd memory with a NUL
 * after it. Returns 0, or an errno value; EFBIG: more than 1 GiB; EPIPE: a pipe to which no program
 * wrote for five seconds. */
int base_read_file(const char *path, char **data, size_t *size);
/* Writes to a temporary file beside `path` and renames it, so that a reader
 * sees the old content or the new, never half ("-" is standard output).
 * Returns 0, or an errno value; nothing is left behind on failure. To what is no regular file it
 * writes; EPIPE: a pipe that no program has read for five seconds. */
int base_write_file(const char *path, const void *data, size_t size);
/* What an errno value of these two says. */
const char *base_file_error(int err);

/* FNV-1a, 64 bit, of n bytes; `h` continues an earlier one, start with BASE_FNV_INIT. */
#define BASE_FNV_INIT 0xcbf29ce484222325ull
uint64_t base_hash(const void *data, size_t n, uint64_t h);

/* ---- diag.c ------------------------------------------------------------ */

/* A half-open place in a source text; line and col start at 1, 0 = unknown. */
struct base_span {
	uint32_t line, col;
};

enum base_severity { BASE_NOTE, BASE_WARNING, BASE_ERROR };

struct base_diag {
	enum base_severity severity;
	struct base_span at;
	const char *file; /* NULL: not about a file */
	char *text;	  /* "found X, expected Y" */
};

/* Collects diagnostics. Zero-initialised is valid. At most `limit` errors are
 * kept (0: 20); later ones are only counted. */
struct base_sink {
	BASE_VEC(struct base_diag) diags;
	unsigned errors, warnings, limit;
};

void base_report(struct base_sink *s, enum base_severity sev, const char *file, struct base_span at,
		 const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Prints "file:line:col: error: text" lines. */
void base_sink_print(const struct base_sink *s, FILE *out);
void base_sink_free(struct base_sink *s);

/* One line on stderr, "collider: ...", for tools; never exits. */
void base_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* ---- exit codes (documented in docs/exit-codes.md) --------------------- */

enum base_exit {
	BASE_EXIT_OK = 0,
	BASE_EXIT_INPUT = 1,		/* the input is wrong: not PTX, truncated, unreadable */
	BASE_EXIT_USAGE = 2,		/* the command line is wrong */
	BASE_EXIT_ENV = 3,		/* something required is missing: toolkit, GPU, CUPTI */
	BASE_EXIT_TRUE_ALARM = 10,	/* prove: a kernel has a true alarm */
	BASE_EXIT_UNPROVEN = 11,	/* prove: a kernel not analysed or proven, or vacuous */
	BASE_EXIT_POTENTIAL_ALARM = 12, /* prove: potential alarms only */
	BASE_EXIT_SAME_VALUE = 13,	/* prove: race-free up to stores of equal values */
	BASE_EXIT_SINGLE = 14,		/* prove: race-free for one thread or one block only */
	BASE_EXIT_UNCONFIRMED = 71,	/* run --verify: the oracle denies a report of a detector */
	BASE_EXIT_UNJUDGED = 72,  /* run --detector=oracle: the run is beyond the oracle's limits */
	BASE_EXIT_UNCHECKED = 73, /* run --fail-unchecked: nothing was checked */
	BASE_EXIT_PARTIAL = 74,	  /* run --fail-partial: not all of the run was checked */
	BASE_EXIT_INTERNAL = 70	  /* our bug, or out of memory */
};

#endif
