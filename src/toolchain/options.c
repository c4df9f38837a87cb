/*
 * options.c - Collider's own options: on the nvcc line and in COLLIDER_TOOL_OPTIONS.
 *
 * One table gives each switch its name; the same names without dashes, joined by ':', travel to
 * the cicc and ptxas that nvcc starts. `root=PATH` ends the list, because a path may hold a ':'.
 *
 * nvcc 13 has a --sanitize=NAME of its own (memcheck, threadsteer): a list without any of our
 * names is nvcc's and passes through.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"
#include "instrument/instrument.h"

#include <stdlib.h>
#include <string.h>

#define INLINE_MAX 1000000

const char tool_nvcc_usage[] =
	"  --sanitize=LIST       detectors, separated by commas: collide (default), none\n"
	"  --keep-races          compile at cicc's -O0, so that no racy access is optimised away\n"
	"  --no-invented-reads   switch off cicc's transformations that read more than the source\n"
	"  --trap                stop at a race when no agent is loaded\n"
	"  --raise-target        also instrument code for targets below sm_70, by raising them\n"
	"  --call-free           report without a function call\n"
	"  --inline-checks=N     inline the checks of functions with up to N groups of accesses\n"
	"  --no-fit              don't check which block sizes the instrumented kernels accept\n"
	"  --no-lineinfo         don't add -lineinfo\n"
	"  --gpu-only            link the static CUDA runtime and add no PTX: not for the CPU "
	"device\n"
	"  --host                check host code, too (when linking as well)\n"
	"  --host-filter=LIST    ... in source files that match one of these patterns only\n"
	"  --strict              fail where code can't be instrumented\n"
	"  --collider-verbose    say what was instrumented\n";

static const struct {
	const char *name;
	size_t at;
} switches[] = {
#define SWITCH(name, field)                                                                        \
	{                                                                                          \
		name, offsetof(struct tool_options, field)                                         \
	}
	SWITCH("keep-races", keep_races),
	SWITCH("no-invented-reads", no_invented_reads),
	SWITCH("trap", trap),
	SWITCH("raise-target", raise_target),
	SWITCH("call-free", call_free),
	SWITCH("no-fit", no_fit),
	SWITCH("no-lineinfo", no_lineinfo),
	SWITCH("gpu-only", gpu_only),
	SWITCH("host", host),
	SWITCH("strict", strict),
	SWITCH("collider-verbose", verbose),
#undef SWITCH
};

static const struct {
	const char *name;
	unsigned bit;
} detectors[] = {
	{"none", INST_SANITIZE_NONE},
	{"collide", INST_SANITIZE_COLLIDE},
};

static bool *switch_at(struct tool_options *o, size_t i)
{
	return (bool *)((char *)o + switches[i].at);
}

static bool take_switch(struct tool_options *o, const char *name)
{
	for (size_t i = 0; i < BASE_COUNTOF(switches); i++) {
		if (!strcmp(switches[i].name, name)) {
			*switch_at(o, i) = true;
			return true;
		}
	}
	return false;
}

/* The index in detectors[] of a name of n bytes, or -1. */
static int find_detector(const char *s, size_t n)
{
	for (size_t i = 0; i < BASE_COUNTOF(detectors); i++) {
		if (strlen(detectors[i].name) == n && !memcmp(detectors[i].name, s, n))
			return (int)i;
	}
	return -1;
}

/* Names that nvcc has for its own --sanitize. */
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

/* A comma list of detectors: 1 taken, 0 none of it is ours, -1 some of it is (said). */
static int take_list(struct tool_options *o, const char *list)
{
	unsigned bits = 0, known = 0;
	const char *bad = NULL;
	size_t bad_n = 0;

	for (const char *p = list;; p++) {
		size_t n = strcspn(p, ",");
		int i = find_detector(p, n);
		if (i >= 0) {
			bits |= detectors[i].bit;
			known++;
		} else if (!bad) {
			bad = p;
			bad_n = n;
		}
		p += n;
		if (!*p)
			break;
	}
	if (bad && !known && is_nvccs(list))
		return 0;
	if (bad) {
		base_say("--sanitize: found '%.*s', expected collide or none", (int)bad_n, bad);
		return -1;
	}
	o->sanitize = bits;
	return 1;
}

/* An option with a value; 1, 0, -1 as in tool_options_take. */
static int take_value(struct tool_options *o, const char *arg)
{
	static const char inlined[] = "inline-checks=";
	char *end;

	if (!strncmp(arg, inlined, sizeof(inlined) - 1)) {
		const char *v = arg + sizeof(inlined) - 1;
		long n = strtol(v, &end, 10);
		if (!*v || *end || n < 0 || n > INLINE_MAX) {
			base_say("--inline-checks: found '%s', expected a number from 0 to %d", v,
				 INLINE_MAX);
			return -1;
		}
		o->inline_groups = n ? (int)n : -1;
		return 1;
	}
	return 0;
}

int tool_options_take(struct tool_options *o, const char *arg)
{
	if (strncmp(arg, "--", 2) != 0)
		return 0;
	arg += 2;
	if (!strncmp(arg, "sanitize=", 9))
		return take_list(o, arg + 9);
	if (!strncmp(arg, "host-filter=", 12)) {
		o->host_filter = arg + 12;
		return 1;
	}
	int got = take_value(o, arg);
	return got ? got : take_switch(o, arg);
}

int tool_options_init(struct tool_options *o, struct base_arena *a)
{
	const char *env = getenv(TOOL_ENV_OPTIONS);

	memset(o, 0, sizeof(*o));
	o->sanitize = INST_SANITIZE_COLLIDE;
	if (!env)
		return BASE_EXIT_OK;
	while (*env) {
		if (!strncmp(env, "root=", 5)) {
			o->root = base_strdup(a, env + 5);
			break;
		}
		size_t n = strcspn(env, ":");
		char *word = base_strndup(a, env, n);
		bool ok = !strncmp(word, "sanitize=", 9)
				  ? take_list(o, word + 9) == 1
				  : !n || take_value(o, word) == 1 || take_switch(o, word);
		if (!ok) {
			base_say("%s: found '%s', expected one of Collider's nvcc options",
				 TOOL_ENV_OPTIONS, word);
			return BASE_EXIT_USAGE;
		}
		env += n + (env[n] == ':');
	}
	return BASE_EXIT_OK;
}

char *tool_options_encode(const struct tool_options *o, struct base_arena *a)
{
	struct tool_options copy = *o;
	struct base_buf b = {0};
	const char *sep = "";

	base_buf_puts(&b, "sanitize=");
	for (size_t i = 0; i < BASE_COUNTOF(detectors); i++) {
		if (detectors[i].bit ? !(o->sanitize & detectors[i].bit) : o->sanitize != 0)
			continue;
		base_buf_printf(&b, "%s%s", sep, detectors[i].name);
		sep = ",";
	}
	for (size_t i = 0; i < BASE_COUNTOF(switches); i++) {
		if (*switch_at(&copy, i))
			base_buf_printf(&b, ":%s", switches[i].name);
	}
	if (o->inline_groups)
		base_buf_printf(&b, ":inline-checks=%d",
				o->inline_groups < 0 ? 0 : o->inline_groups);
	if (o->root)
		base_buf_printf(&b, ":root=%s", o->root);
	char *s = base_strndup(a, b.p, b.n);
	base_buf_free(&b);
	return s;
}

bool tool_is_disabled(void)
{
	const char *v = getenv("COLLIDER_DISABLE");

	return v && *v && strcmp(v, "0") != 0;
}
