/*
 * launched.c - a launch's parameters as words, and its line of JSON (launched.h).
 *
 * Launches are distinguished by a 64-bit hash.
 *
 * Misses: a number that happens to be the address of an array is taken for a pointer, and then
 * isn't known to prove. Costs: a question for each word of 8 bytes that could be an address; a
 * megabyte of address space for the hashes.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/child.h"
#include "base/json.h"
#include "race/launched.h"

#define STRUCT_MOST 4096u
#define SLOTS	    (2 * RACE_LINES_MOST)
#define HEAD_BYTES  160u /* of a line, beside its kernel's name and its words */
#define WORD_BYTES  160u

/* ---- words ----------------------------------------------------------------------------------- */

size_t race_param_words_most(uint32_t bytes)
{
	return bytes <= 8 ? 1 : (bytes < STRUCT_MOST ? bytes : STRUCT_MOST) / 4 + 3;
}

static struct race_param_word *add_word(struct race_param_words *w, uint32_t off, uint32_t bytes,
					const unsigned char *p)
{
	struct race_param_word *to = &w->v[w->n++];

	*to = (struct race_param_word){.off = off, .bytes = bytes};
	memcpy(&to->value, p, bytes);
	return to;
}

/* The word is a pointer into that array. */
static void set_array(struct race_param_words *w, struct race_param_word *to, uint64_t base,
		      uint64_t size)
{
	unsigned i = 0;

	while (i < w->narrays && w->base[i] != base)
		i++;
	if (i == RACE_LAUNCHED_ARRAYS)
		return;
	w->narrays += i == w->narrays;
	w->base[i] = base;
	to->array = i + 1;
	to->at = to->value - base;
	to->size = size;
}

void race_param_words_add(struct race_param_words *w, uint32_t off, uint32_t bytes,
			  const void *param)
{
	const unsigned char *p = param;

	for (uint32_t k = 0, n; k < bytes && k < STRUCT_MOST; k += n) {
		uint64_t v = 0, base, size;
		bool is_pointer = false;
		if (k + 8 <= bytes && !(k % 8)) {
			memcpy(&v, p + k, 8);
			is_pointer = v && w->find(w->arg, v, &base, &size);
		}
		n = bytes <= 8 ? bytes : is_pointer ? 8 : bytes - k < 4 ? 1 : 4;
		struct race_param_word *to = add_word(w, off + k, n, p + k);
		if (is_pointer)
			set_array(w, to, base, size);
	}
}

/* ---- a line ---------------------------------------------------------------------------------- */

size_t race_launched_most(const struct race_launched *l)
{
	size_t word = WORD_BYTES + (l->holds ? RACE_CONTENTS_TEXT : 0);

	return HEAD_BYTES + base_json_quoted_most(l->kernel) + l->nwords * word;
}

size_t race_launched_line(const struct race_launched *l, const bool *is_any, char *out)
{
	const char *comma = "";
	char *p = out;

	p += sprintf(p, "{\"kernel\":");
	p += base_json_quoted(p, l->kernel);
	p += sprintf(p, ",\"block\":[%u,%u,%u],\"grid\":[%u,%u,%u],\"params\":[", l->block[0],
		     l->block[1], l->block[2], l->grid[0], l->grid[1], l->grid[2]);
	for (size_t i = 0; i < l->nwords; i++) {
		const struct race_param_word *w = &l->word[i];
		if (is_any && is_any[i])
			continue;
		p += sprintf(p, "%s{\"offset\":%u,\"bytes\":%u,\"value\":%llu", comma, w->off,
			     w->bytes, (unsigned long long)w->value);
		if (w->array)
			p += sprintf(p, ",\"array\":%u,\"at\":%llu,\"size\":%llu", w->array,
				     (unsigned long long)w->at, (unsigned long long)w->size);
		if (w->array && l->holds)
			p += race_contents_line(&l->holds[i], p);
		p += sprintf(p, "}");
		comma = ",";
	}
	p += sprintf(p, "]}\n");
	return (size_t)(p - out);
}

uint64_t race_launched_hash(const struct race_launched *l)
{
	uint64_t h = base_hash(l->kernel, strlen(l->kernel), BASE_FNV_INIT);

	h = base_hash(l->block, sizeof(l->block), h);
	h = base_hash(l->grid, sizeof(l->grid), h);
	for (size_t i = 0; i < l->nwords; i++) {
		const struct race_param_word *w = &l->word[i];
		uint64_t v[3] = {w->off, w->array, w->array ? w->at : w->value};
		h = base_hash(v, sizeof(v), h);
		if (l->holds)
			h = base_hash(&l->holds[i], sizeof(l->holds[i]), h);
	}
	return h;
}

/* ---- what was written ------------------------------------------------------------------------ */

enum race_lines_as race_lines_add(struct race_lines *s, uint64_t hash)
{
	size_t i = hash % SLOTS;

	hash += !hash; /* 0 is a free slot */
	if (!s->slot)
		s->slot = calloc(SLOTS, sizeof(*s->slot));
	if (!s->slot)
		return RACE_LINES_FULL;
	for (; s->slot[i]; i = (i + 1) % SLOTS)
		if (s->slot[i] == hash)
			return RACE_LINES_BEFORE;
	if (s->n == RACE_LINES_MOST)
		return RACE_LINES_FULL;
	s->n++;
	s->slot[i] = hash;
	return RACE_LINES_NEW;
}

void race_lines_undo(struct race_lines *s, uint64_t hash)
{
	size_t i = hash % SLOTS;

	hash += !hash;
	while (s->slot[i] != hash)
		i = (i + 1) % SLOTS;
	s->slot[i] = 0; /* the end of its chain: no hash came after it */
	s->n--;
}

/* Takes back the part of the lines that was written last, if nothing was written since. */
static void take_back(int fd, off_t part)
{
	off_t end = lseek(fd, 0, SEEK_CUR);
	struct stat st;

	if (end >= part && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == end)
		(void)!ftruncate(fd, end - part);
}

int race_launched_append(const char *path, const char *lines, size_t n)
{
	int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK;
	int fd = open(path, flags, 0666);
	ssize_t done = fd < 0 ? -1 : base_write_unseen(fd, lines, n);
	int err = done == (ssize_t)n ? 0 : done < 0 ? errno : ENOSPC;

	if (err && done > 0)
		take_back(fd, done);
	if (fd >= 0)
		close(fd);
	return err;
}

const char *race_unnoted_text(enum race_unnoted why)
{
	static const char *const text[] = {
		[RACE_UNNOTED_MANY] = "65,536 others are, or there was no memory",
		[RACE_UNNOTED_LAYOUT] = "the driver doesn't say how their parameters lie",
		[RACE_UNNOTED_MEMORY] = "the driver didn't say what their pointers lead to",
		[RACE_UNNOTED_DEVICES] = "one call launched them on several devices",
		[RACE_UNNOTED_OLD] = "cuLaunch and its like set parameters one by one",
		[RACE_UNNOTED_FILE] = "the file can't be written",
		[RACE_UNNOTED_TEXT] = "of their kernel no PTX for this GPU was found",
	};

	return text[why];
}
