/*
 * options.c - Collider's own options: on the nvcc line and in COLLIDER_TOOL_OPTIONS.
 *
 * Their names, types and values are base/options.def's; the map below assigns a field to each, but
 * to the instrumenter's (instrument/options.c). They reach the cicc and ptxas that nvcc starts as
 * an option list of the command TOOL.
 *
 * nvcc 13 has a --sanitize=NAME of its own (memcheck, threadsteer): a list of these names alone is
 * nvcc's and passes through.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "base/option.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	enum option_id id;
	size_t at; /* of a bool in struct tool_options */
} switches[] = {
	{OPTION_KEEP_RACES, offsetof(struct tool_options, keep_races)},
	{OPTION_NO_INVENTED_READS, offsetof(struct tool_options, no_invented_reads)},
	{OPTION_NO_FIT, offsetof(struct tool_options, no_fit)},
	{OPTION_NO_LINEINFO, offsetof(struct tool_options, no_lineinfo)},
	{OPTION_GPU_ONLY, offsetof(struct tool_options, gpu_only)},
	{OPTION_HOST, offsetof(struct tool_options, host)},
	{OPTION_STRICT, offsetof(struct tool_options, strict)},
	{OPTION_SAMPLES, offsetof(struct tool_options, samples)},
	{OPTION_COLLIDER_VERBOSE, offsetof(struct tool_options, verbose)},
};

static bool *switch_at(struct tool_options *o, size_t i)
{
	return (bool *)((char *)o + switches[i].at);
}

void tool_options_prune(struct tool_options *o, const char *value)
{
	o->prune_timed = !strcmp(value, "auto");
	o->prune_global = !strcmp(value, "proved-global");
	o->inst.prune_alone = !strcmp(value, "proved-alone");
	o->prune = strcmp(value, "none") != 0;
}

/* Takes the options that were given, not the defaults. */
static void take_given(struct tool_options *o, const struct option_set *s, struct base_arena *a)
{
	for (size_t i = 0; i < BASE_COUNTOF(switches); i++)
		if (option_source(s, switches[i].id) != OPTION_FROM_DEFAULT)
			*switch_at(o, i) = option_flag(s, switches[i].id);
	inst_options_read(&o->inst, s, a);
	if (option_source(s, OPTION_PRUNE) != OPTION_FROM_DEFAULT)
		tool_options_prune(o, option_text(s, OPTION_PRUNE));
	if (option_source(s, OPTION_LONG_BUILD) != OPTION_FROM_DEFAULT)
		o->long_build_ms = option_int(s, OPTION_LONG_BUILD);
	if (s->cmd == OPTION_CMD_TOOL)
		o->load_limit_ms = option_int(s, OPTION_LOAD_LIMIT);
	if (option_text(s, OPTION_ROOT))
		o->root = base_strdup(a, option_text(s, OPTION_ROOT));
	if (option_text(s, OPTION_HOST_FILTER))
		o->host_filter = base_strdup(a, option_text(s, OPTION_HOST_FILTER));
}

/* Does the list hold only names of nvcc's own --sanitize? */
static bool is_nvccs(const char *list)
{
	static const char *const names[] = {"memcheck", "threadsteer"};

	for (const char *p = list;; p++) {
		size_t n = strcspn(p, ",");
		bool is_one = false;
		for (size_t i = 0; i < BASE_COUNTOF(names); i++)
			is_one = is_one || (strlen(names[i]) == n && !memcmp(names[i], p, n));
		if (!is_one)
			return false;
		p += n;
		if (!*p)
			return true;
	}
}

int tool_options_take(struct tool_options *o, const char *arg, struct base_arena *a)
{
	static const char sanitize[] = "--sanitize=";
	struct base_sink sink = {0};
	struct option_set s;

	if (strncmp(arg, "--", 2) != 0)
		return 0;
	if (!strncmp(arg, sanitize, sizeof(sanitize) - 1) && is_nvccs(arg + sizeof(sanitize) - 1))
		return 0;
	option_init(&s, OPTION_CMD_NVCC);
	int took = option_take(&s, arg, &sink);
	if (took > 0)
		take_given(o, &s, a);
	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	option_free(&s);
	return took;
}

int tool_options_init(struct tool_options *o, struct base_arena *a)
{
	const char *env = getenv(TOOL_ENV_OPTIONS);
	struct base_sink sink = {0};
	struct option_set s;

	memset(o, 0, sizeof(*o));
	option_init(&s, OPTION_CMD_TOOL);
	o->inst.sanitize = option_list(&s, OPTION_SANITIZE);
	o->long_build_ms = option_int(&s, OPTION_LONG_BUILD);
	tool_options_prune(o, option_text(&s, OPTION_PRUNE));
	int rc = env ? option_read_own(&s, TOOL_ENV_OPTIONS, env, &sink) : BASE_EXIT_OK;
	if (!rc)
		take_given(o, &s, a);
	base_sink_print(&sink, stderr);
	base_sink_free(&sink);
	option_free(&s);
	return rc;
}

char *tool_options_encode(const struct tool_options *o, struct base_arena *a)
{
	struct tool_options copy = *o;
	struct base_buf b = {0};

	inst_options_write(&b, &o->inst);
	for (size_t i = 0; i < BASE_COUNTOF(switches); i++)
		if (*switch_at(&copy, i))
			option_encode_one(&b, switches[i].id, "1");
	option_encode_one(&b, OPTION_PRUNE,
			  !o->prune		? "none"
			  : o->prune_global	? "proved-global"
			  : o->inst.prune_alone ? "proved-alone"
			  : o->prune_timed	? "auto"
						: "proved");
	option_encode_one(&b, OPTION_LONG_BUILD,
			  base_printf(a, "%lldms", (long long)o->long_build_ms));
	if (o->load_limit_ms)
		option_encode_one(&b, OPTION_LOAD_LIMIT,
				  base_printf(a, "%lldms", (long long)o->load_limit_ms));
	if (o->root)
		option_encode_one(&b, OPTION_ROOT, o->root);
	char *text = base_strndup(a, b.p, b.n);
	base_buf_free(&b);
	return text;
}

bool tool_is_disabled(void)
{
	const char *v = getenv("COLLIDER_DISABLE");

	return v && *v && strcmp(v, "0") != 0;
}

bool tool_is_on(const struct tool_options *o)
{
	return !tool_is_disabled() && o->inst.sanitize != 0;
}
