/*
 * caller.c - for programs that call ptxas themselves while they run: Triton, XLA.
 *
 * They find our stand-in for it in the mirror of the toolkit (mirror.c). Such programs keep what
 * they have compiled, by what `ptxas --version` says: so that line ends with a sum of our options
 * and our version, and code with other checks, or none, isn't taken for ours.
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

char *tool_load_toolkit(struct base_arena *a)
{
	struct tool_options o;
	struct tool_kit k;

	return tool_begin(&o, &k, a) == 0 ? tool_mirror_get(&k, a) : NULL;
}

uint64_t tool_load_sum(const char *options, struct base_arena *a)
{
	const char *self = tool_self(a);
	uint64_t h = base_hash(COLLIDER_VERSION, sizeof(COLLIDER_VERSION), BASE_FNV_INIT);
	struct stat st;

	h = base_hash(options, strlen(options), h);
	if (self && stat(self, &st) == 0) {
		const int64_t facts[] = {st.st_size, st.st_mtim.tv_sec, st.st_mtim.tv_nsec};
		h = base_hash(facts, sizeof(facts), h);
	}
	return h;
}

bool tool_asks_version(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--version") || !strcmp(argv[i], "-V"))
			return true;
	return false;
}

int tool_say_version(const struct tool_kit *k, int argc, char **argv, struct base_arena *a)
{
	const char *options = getenv(TOOL_ENV_OPTIONS);
	struct tool_strings args = {0};

	base_vec_push(&args, k->ptxas);
	for (int i = 1; i < argc; i++)
		base_vec_push(&args, argv[i]);
	base_vec_push(&args, NULL);
	int rc = tool_run(k->ptxas, args.v, NULL);
	base_vec_free(&args);
	if (!rc)
		printf("Collider " COLLIDER_VERSION ", %016" PRIx64 "\n",
		       tool_load_sum(options ? options : "", a));
	return tool_finish(rc);
}
