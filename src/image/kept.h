/*
 * kept.h - instrumented code that is kept on disk, by what it was made from.
 *
 * An entry is one file: a head, what was said when it was made, the code. It is written under
 * another name and renamed, and it carries a sum of its content, so that what a full disk or a
 * power failure has cut off is none. Reading (read.c) needs the C library only: it happens in
 * the user's process.
 */
#ifndef COLLIDER_IMAGE_KEPT_H
#define COLLIDER_IMAGE_KEPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum image_outcome {
	IMAGE_REPLACED = 1, /* the code follows */
	IMAGE_AS_IT_IS,	    /* to be loaded unchanged: nothing is wrong with that */
	IMAGE_FAILED	    /* to be loaded unchanged; what was said says why */
};

struct image_kept {
	uint64_t magic;
	uint32_t version;
	uint32_t outcome; /* enum image_outcome */
	uint64_t said;	  /* bytes of text, lines, after this head */
	uint64_t code;	  /* bytes, from image_kept_code_at on */
	uint32_t maxreg;  /* text: the cap that its functions need; 0: none */
	uint32_t late;	  /* more will be proven: to be made again for the n-th time (later.c) */
	uint64_t sum;	  /* image_sum of all before and after it */
};

#define IMAGE_KEPT_MAGIC   0x54504b52444c4c43ull
#define IMAGE_KEPT_VERSION 1u

/* Where the code begins in an entry with so many bytes of text: aligned, in the file and where that
 * is mapped. */
static inline uint64_t image_kept_code_at(uint64_t said)
{
	return (sizeof(struct image_kept) + said + 63u) & ~63ull;
}

/* A hash of n bytes; `h` continues an earlier one. Fast, 64 bits. */
uint64_t image_sum(const void *data, size_t n, uint64_t h);

/* Bytes of the machine code at `elf`, as its own tables say; 0: it is none. most: 0: not known. */
size_t image_elf_size(const void *elf, size_t most);

/* Maps an entry that is open as `fd`: read-only, whole and sound, or NULL. */
const struct image_kept *image_kept_map(int fd, size_t *size);

/* write.c: the bytes of an entry. */
struct base_buf;
void image_kept_make(struct base_buf *out, enum image_outcome outcome, unsigned maxreg,
		     const char *said, const void *code, size_t ncode);
/* Marks it: with more time more would have been proven; `nth`: which process tries, from 1. */
void image_kept_set_late(struct base_buf *entry, unsigned nth);
/* The sum of an entry of `size` bytes. */
uint64_t image_kept_sum(const struct image_kept *k, size_t size);
/* Removes the entries of a folder that were used longest ago while all take more than `most`. */
void image_kept_trim(const char *folder, uint64_t most);

/* The user's folder of caches, `name` in it: created if missing, closed to others. malloc'd path
 * in the arena, or NULL: there is none, or others may write to it. */
struct base_arena;
char *image_cache_folder(struct base_arena *a, const char *name);
/* Where the text is kept that machine code was made of by our stand-in for ptxas, as a program that
 * runs has asked it; NULL: nowhere. */
char *image_origin(struct base_arena *a, const void *elf, size_t size);
/* text.c: a file with this text, which a program has made, for places in it; NULL: it has lines of
 * a source (.loc), or can't be kept. */
const char *image_keep_text(const char *text, size_t size, struct base_arena *a);
/* The same for a module that was parsed from it: gives its instructions their lines in that file,
 * as .file and .loc, which stay when it is printed. */
struct ptx_module;
void image_give_lines(struct ptx_module *m, const char *text, size_t size);

#endif
