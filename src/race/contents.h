/*
 * contents.h - what an array of integers holds as a launch begins, as far as prove makes use of it:
 * how many of its first elements rise, how many are all different, and how large they are
 * (contents.c).
 *
 * The facts are said of elements of 4 bytes and of 8 alike: a recorder doesn't know which they are.
 */
#ifndef COLLIDER_RACE_CONTENTS_H
#define COLLIDER_RACE_CONTENTS_H

#include <stddef.h>
#include <stdint.h>

enum race_contents_size { RACE_CONTENTS_4, RACE_CONTENTS_8, RACE_CONTENTS_SIZES };

struct race_contents {
	/* None of so many first elements is less than the one before it, as signed numbers. */
	uint64_t sorted[RACE_CONTENTS_SIZES];
	/* Of so many first elements no two are equal. */
	uint64_t injective[RACE_CONTENTS_SIZES];
	/* So many first elements are `least` to `most`, as signed numbers. */
	uint64_t within[RACE_CONTENTS_SIZES];
	int64_t least[RACE_CONTENTS_SIZES], most[RACE_CONTENTS_SIZES];
};

static inline unsigned race_contents_bytes(enum race_contents_size s)
{
	return s == RACE_CONTENTS_4 ? 4 : 8;
}

/*
 * Looks at the array. Where p isn't aligned to an element nothing is said of it. Of more than
 * RACE_CONTENTS_MOST elements that neither rise nor fall, or where *left is used up, fewer are
 * looked at; *left counts the elements that may be kept yet.
 */
#define RACE_CONTENTS_MOST (1u << 22)
void race_contents_find(const void *p, uint64_t bytes, uint64_t *left, struct race_contents *out);
/* As members of a JSON object, ,"sorted":[N,N],"injective":[N,N],"within":[N,N],"least":[N,N],
 * "most":[N,N], in no more than RACE_CONTENTS_TEXT bytes. Returns how many, without a NUL. */
#define RACE_CONTENTS_TEXT 320u
size_t race_contents_line(const struct race_contents *c, char *out);

#endif
