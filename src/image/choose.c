/*
 * choose.c - which of an image's texts is the program that a device would run.
 *
 * The driver takes machine code if some is for the device: of the same major version and no newer
 * minor one (sm_90a and the like: of that version only), the highest of these. Text beside it is
 * the same program only if it was compiled for the same architecture, by the entries' headers.
 * Without machine code the driver compiles the text with the highest target up to the device's.
 */
#include "image/choose.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

#define SUFFIXES (FATBIN_FLAG_ARCH | FATBIN_FLAG_FAMILY)

/* Could machine code, or text, of `sm` with these flags run on the device? */
static bool is_fit(unsigned sm, uint64_t flags, bool is_code, unsigned device)
{
	if (flags & FATBIN_FLAG_ARCH)
		return sm == device;
	if (is_code || flags & FATBIN_FLAG_FAMILY)
		return sm / 10 == device / 10 && sm <= device;
	return sm <= device;
}

static char suffix_of(uint64_t flags)
{
	return flags & FATBIN_FLAG_ARCH ? 'a' : flags & FATBIN_FLAG_FAMILY ? 'f' : 0;
}

/* Which of two of one version the driver would prefer: the more special one. */
static unsigned rank_of(const struct fatbin_entry *e)
{
	return e->sm * 4u + (e->flags & FATBIN_FLAG_ARCH     ? 2u
			     : e->flags & FATBIN_FLAG_FAMILY ? 1u
							     : 0);
}

/* What is found in one walk. */
struct found {
	struct fatbin_entry code, text; /* the best ones; kind 0: none */
	bool has_code, has_text;
};

static bool walk(const char *data, size_t size, unsigned device, struct found *f)
{
	struct fatbin_entry e;
	const char *at;
	size_t left;

	memset(f, 0, sizeof(*f));
	if (!fatbin_entry_first(data, size, &at, &left))
		return false;
	while (left) {
		if (!fatbin_entry_next(&at, &left, &e))
			return false;
		if (e.kind == FATBIN_KIND_CODE && is_fit(e.sm, e.flags, true, device) &&
		    (!f->has_code || rank_of(&e) > rank_of(&f->code))) {
			f->code = e;
			f->has_code = true;
		}
		if (e.kind == FATBIN_KIND_PTX && is_fit(e.sm, e.flags, false, device) &&
		    (!f->has_text || rank_of(&e) > rank_of(&f->text))) {
			f->text = e;
			f->has_text = true;
		}
	}
	return true;
}

/* The text of the same architecture as the machine code. */
static bool find_same(const char *data, size_t size, struct found *f)
{
	struct fatbin_entry e;
	const char *at;
	size_t left;

	if (!fatbin_entry_first(data, size, &at, &left))
		return false;
	while (left && fatbin_entry_next(&at, &left, &e)) {
		if (e.kind != FATBIN_KIND_PTX || rank_of(&e) != rank_of(&f->code))
			continue;
		f->text = e;
		return true;
	}
	return false;
}

/* Options that the entry says ptxas was called with. */
static void read_options(const struct fatbin_entry *e, struct image_text *out)
{
	static const char maxreg[] = "-maxrregcount";
	char words[512];
	size_t n = e->noptions < sizeof(words) - 1 ? e->noptions : sizeof(words) - 1;

	memcpy(words, e->options, n);
	words[n] = 0;
	snprintf(out->name, sizeof(out->name), "%.*s", (int)(e->nname < 127 ? e->nname : 127),
		 e->name);
	const char *at = strstr(words, maxreg);
	if (at)
		out->maxreg = (unsigned)strtoul(at + sizeof(maxreg), NULL, 10);
	out->has_lineinfo = strstr(words, "-lineinfo") || strstr(words, "--generate-line-info");
	out->is_debug = strstr(words, "-g ") || strstr(words, "--device-debug");
}

static enum image_choice take_text(char *text, size_t size, struct image_text *out)
{
	char suffix;
	unsigned sm;

	out->text = text;
	out->size = size;
	if (!ptx_read_head(text, &sm, &suffix)) {
		out->why = "not PTX";
		return IMAGE_DAMAGED;
	}
	if (!out->suffix)
		out->suffix = suffix;
	return IMAGE_TEXT;
}

static enum image_choice choose_fatbin(const char *data, size_t size, unsigned device, bool is_any,
				       struct image_text *out)
{
	struct found f;

	out->why = "a damaged fat binary";
	if (!walk(data, size, device, &f))
		return IMAGE_DAMAGED;
	out->why = NULL;
	bool is_same = f.has_code && f.has_text && find_same(data, size, &f);
	if (f.has_code && (is_same || !f.has_text))
		out->code = fatbin_unpack(&f.code, &out->code_size, &out->why);
	if (!f.has_text)
		return IMAGE_NONE;
	if (f.has_code && !is_same && !is_any) {
		char code = suffix_of(f.code.flags), text = suffix_of(f.text.flags);
		snprintf(out->why_room, sizeof(out->why_room),
			 "its machine code is for sm_%u%.*s, and its PTX, for sm_%u%.*s, may be "
			 "another program (--any-ptx takes it)",
			 f.code.sm, code != 0, &code, f.text.sm, text != 0, &text);
		out->why = out->why_room;
		return IMAGE_OTHER;
	}
	out->sm = is_same ? f.code.sm : device;
	out->suffix = suffix_of(f.text.flags);
	read_options(&f.text, out);
	char *text = fatbin_unpack(&f.text, &out->size, &out->why);
	return text ? take_text(text, out->size, out) : IMAGE_DAMAGED;
}

/* ------------------------------------------------------------------------ */

enum image_choice image_choose(const char *data, size_t size, unsigned sm, bool is_any,
			       struct image_text *out)
{
	memset(out, 0, sizeof(*out));
	if (fatbin_is(data, size))
		return choose_fatbin(data, size, sm, is_any, out);
	char *text = malloc(size + 1), suffix;
	unsigned target;
	out->why = "out of memory";
	if (!text)
		return IMAGE_DAMAGED;
	memcpy(text, data, size);
	text[size] = 0;
	out->why = NULL;
	out->sm = sm;
	enum image_choice c = take_text(text, strlen(text), out);
	if (c != IMAGE_TEXT || !ptx_read_head(text, &target, &suffix))
		return IMAGE_NONE;
	uint64_t flags = suffix == 'a' ? FATBIN_FLAG_ARCH : suffix == 'f' ? FATBIN_FLAG_FAMILY : 0;
	return is_fit(target, flags, false, sm) ? IMAGE_TEXT : IMAGE_NONE;
}

void image_text_free(struct image_text *t)
{
	free(t->text);
	free(t->code);
	t->text = t->code = NULL;
}
