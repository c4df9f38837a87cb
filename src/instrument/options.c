/*
 * options.c - the instrumenter's options, from rows of base/options.def to struct inst_options and
 * back. A new one is a row of the table here and a field; all that instrument (the command, the
 * toolchain's stages, the CPU device) have it then.
 */
#include "instrument/instrument.h"

#include "base/option.h"

#include <string.h>

#define SWITCH(id, field)                                                                          \
	{                                                                                          \
		OPTION_##id, offsetof(struct inst_options, field), true                            \
	}
#define TEXT(id, field)                                                                            \
	{                                                                                          \
		OPTION_##id, offsetof(struct inst_options, field), false                           \
	}

static const struct {
	enum option_id id;
	size_t at; /* of a bool, or of a text */
	bool is_switch;
} rows[] = {
	SWITCH(TRAP, trap),
	SWITCH(RAISE_TARGET, raise_target),
	SWITCH(CALL_FREE, call_free),
	SWITCH(ALL_LOADS, all_loads),
	TEXT(KERNEL_NAME, kernel_name),
	TEXT(KERNEL_NAME_EXCLUDE, kernel_name_exclude),
	TEXT(VARIABLE, variable),
};

#define NOT_INLINED (-1) /* --inline-checks=0; a field of 0 leaves it to the limits */

static bool is_given(const struct option_set *s, enum option_id id)
{
	return option_source(s, id) != OPTION_FROM_DEFAULT;
}

void inst_options_read(struct inst_options *o, const struct option_set *s, struct base_arena *a)
{
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++) {
		char *at = (char *)o + rows[i].at;
		if (!is_given(s, rows[i].id))
			continue;
		if (rows[i].is_switch)
			*(bool *)(void *)at = option_flag(s, rows[i].id);
		else
			*(const char **)(void *)at = base_strdup(a, option_text(s, rows[i].id));
	}
	if (is_given(s, OPTION_SANITIZE))
		o->sanitize = option_list(s, OPTION_SANITIZE);
	if (is_given(s, OPTION_INLINE_CHECKS)) {
		int n = (int)option_int(s, OPTION_INLINE_CHECKS);
		o->inline_groups = n ? n : NOT_INLINED;
	}
	if (is_given(s, OPTION_PRUNE))
		o->prune_alone = option_is(s, OPTION_PRUNE, "proved-alone");
	if (is_given(s, OPTION_IGUARD_KERNELS))
		o->leaves_plain = option_is(s, OPTION_IGUARD_KERNELS, "strong");
}

static void put_detectors(struct base_buf *out, unsigned set)
{
	struct base_buf list = {0};

	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		if (set & 1u << i)
			base_buf_printf(&list, "%s%s", list.n ? "," : "", race_detectors[i].name);
	if (!list.n)
		base_buf_puts(&list, "none");
	base_buf_put(&list, "", 1);
	option_encode_one(out, OPTION_SANITIZE, list.p);
	base_buf_free(&list);
}

void inst_options_write(struct base_buf *out, const struct inst_options *o)
{
	char number[16];

	put_detectors(out, o->sanitize);
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++) {
		const char *at = (const char *)o + rows[i].at;
		const char *text = rows[i].is_switch
					   ? (*(const bool *)(const void *)at ? "1" : NULL)
					   : *(const char *const *)(const void *)at;
		if (text)
			option_encode_one(out, rows[i].id, text);
	}
	if (o->leaves_plain)
		option_encode_one(out, OPTION_IGUARD_KERNELS, "strong");
	snprintf(number, sizeof(number), "%d", o->inline_groups < 0 ? 0 : o->inline_groups);
	if (o->inline_groups)
		option_encode_one(out, OPTION_INLINE_CHECKS, number);
}
