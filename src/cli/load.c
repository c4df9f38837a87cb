/*
 * load.c - collider run --load: whether GPU code is instrumented as it is loaded, and what was.
 */
#include "cli/cli.h"
#include "agent/spawn.h"
#include "image/kept.h"
#include "race/detector.h"
#include "race/race.h"
#include "toolchain/toolchain.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

static void say_not(const struct option_set *set, const char *why)
{
	base_say("GPU code isn't instrumented as it is loaded: %s", why);
	if (option_text(set, OPTION_RECORD_LAUNCHES))
		base_say("nor are launches recorded");
}

/* COLLIDER_TOOL_OPTIONS for the process that puts the checks in; NULL with a message. */
static const char *options_of(struct option_set *set)
{
	struct tool_load_asked asked = {
		.detectors = (unsigned)option_list(set, OPTION_DETECTOR) & RACE_DETECT_PUT,
		.leaves_plain = option_is(set, OPTION_IGUARD_KERNELS, "strong"),
		.kernels = option_text(set, OPTION_KERNEL_NAME),
		.others = option_text(set, OPTION_KERNEL_NAME_EXCLUDE),
		.prune = option_text(set, OPTION_PRUNE),
		.limit_ms = option_int(set, OPTION_LOAD_LIMIT)};

	return tool_load_options(&asked, &set->arena);
}

/* What the library is handed. NULL: a message has said why not. */
static const char *make_given(struct option_set *set, bool is_asked, const char *driver,
			      const char *agent)
{
	struct base_arena *a = &set->arena;
	const char *options = options_of(set);
	const char *cache = image_cache_folder(a, "loaded");
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n < 0 ? 0 : n] = 0;
	const char *key = options && *self ? tool_load_key(self, a) : NULL;
	if (!key) {
		say_not(set, "see above (--load=off doesn't try)");
		return NULL;
	}
	return base_printf(a, "%s\n%s\n%s\n" COLLIDER_VERSION " %s\n%s\n%s%s\n%s", driver, self,
			   cache ? cache : "", key, options,
			   option_flag(set, OPTION_ANY_PTX) ? "a" : "", is_asked ? "d" : "", agent);
}

/* One more for the program's environment. */
static void add_variable(struct option_set *set, struct spawn_request *req, const char *text)
{
	size_t n = 0;

	while (req->environment && req->environment[n])
		n++;
	char **all = BASE_NEWN(&set->arena, char *, n + 2);
	if (n)
		memcpy(all, req->environment, n * sizeof(*all));
	all[n] = (char *)(uintptr_t)text;
	req->environment = all;
}

/* By which it finds its judge. */
static void add_beside(struct option_set *set, struct spawn_request *req)
{
	const char *judge = cli_beside_choose(set);

	if (!judge)
		return;
	add_variable(set, req, judge);
	req->beside = cli_beside_start;
}

void cli_load_choose(struct option_set *set, bool is_asked, struct spawn_request *req)
{
	const char *why = NULL;
	bool is_on = !option_is(set, OPTION_LOAD, "off") &&
		     (option_list(set, OPTION_DETECTOR) & RACE_DETECT_PUT);

	bool is_seen = cli_beside_is_on(set) || option_text(set, OPTION_RECORD_LAUNCHES);

	if (!is_on && !is_seen)
		return;
	const char *driver = spawn_find_driver(&set->arena);
	if (!driver)
		return;
	if (spawn_has_rights(set->args.v[0])) {
		say_not(set, "the program runs with another user's rights, so that nothing is "
			     "preloaded");
		return;
	}
	req->forward = spawn_find_forward(&set->arena, driver, &why);
	if (!req->forward) {
		say_not(set, why);
		return;
	}
	req->given = is_on ? make_given(set, is_asked, driver, req->agent) : NULL;
	req->is_lazy = req->given != NULL;
	if (req->is_lazy)
		req->environment = cli_python_environment(&set->arena, options_of(set), req->agent);
	/* Nothing hangs on when code is loaded that gets no checks. */
	if (!(option_list(set, OPTION_DETECTOR) & RACE_DETECT_PUT))
		req->is_lazy = option_text(set, OPTION_RECORD_LAUNCHES) != NULL;
	if (!req->given && is_seen)
		req->given = base_printf(&set->arena, "%s\n\n\n\n\n\n%s", driver, req->agent);
	if (!req->given)
		req->forward = NULL;
	else
		add_beside(set, req);
	const char *file = option_text(set, OPTION_RECORD_LAUNCHES);
	if (req->forward && file)
		add_variable(set, req, cli_recorded_variable(&set->arena, file));
}

/* None of a GPU program's code has checks: what would help. */
static const char *why_no_checks(const struct race_load *l, bool is_on)
{
	if (!is_on)
		return "no GPU code of the program has checks: it wasn't built with `collider "
		       "nvcc`, and code isn't instrumented as it is loaded";
	if (l->failed)
		return "no GPU code of the program has checks: what it loaded could not be "
		       "instrumented (see the notes)";
	return "no GPU code of the program has checks: it holds no PTX for this GPU, as "
	       "-gencode arch=compute_90,code=sm_90 and closed libraries leave it out "
	       "(docs/load-time.md)";
}

void cli_load_note(struct race_results *r, const struct race_shm *shm,
		   const struct spawn_request *req)
{
	const struct race_load *l = &shm->load;
	struct base_buf b = {0};

	if (!req->cudart && r->agent_state == RACE_AGENT_ATTACHED && !r->why_nothing &&
	    !r->modules && !r->tables && r->host_launches_plain && !l->replaced &&
	    !req->choice.is_on)
		r->why_nothing = why_no_checks(l, req->forward != NULL);
	if (!l->replaced && !l->failed)
		return;
	base_buf_printf(&b, "GPU code instrumented as it was loaded: %u of %u images in %.2f s",
			l->replaced, l->images, 1e-9 * (double)l->ns);
	if (l->kept)
		base_buf_printf(&b, ", %u kept from earlier runs", l->kept);
	if (l->late)
		base_buf_printf(&b, "; more of %u is being proven for later runs", l->late);
	race_note_add(r, b.p, b.n);
	base_buf_free(&b);
}
