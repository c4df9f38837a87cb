/*
 * prove_launch.c - what the CPU device asks of a prover: may a launch go unchecked (cudart)?
 *
 * Called by the name collider-prove-launch, with the time limit in ms. Descriptor 3 holds a text
 * and one launch as --record-launches writes them; 4 gets the answer in lines: "proven", then for
 * each access to global memory "site N param OFFSET" or "site N var NAME", N being the number of
 * the instruction in the kernel's body; or "late", when the time was too short; or why not.
 */
#include "cli/cli.h"
#include "cli/prove.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIMIT_MB 1024

static bool is_late(const struct race_proof *k)
{
	for (size_t i = 0; i < k->problems.n; i++)
		if (k->problems.v[i].cause == RACE_CAUSE_TIMEOUT)
			return true;
	return k->counts.gave_up != 0;
}

static void put_answer(const struct race_proof *k, struct base_buf *out)
{
	out->n = 0;
	/* A launch's own dimensions are known: what it hangs on more isn't asked. */
	if (k->verdict == RACE_VERDICT_FREE && k->is_whole && k->stays_if && *k->stays_if) {
		base_buf_puts(out, "accesses to shared memory may leave their variables\n");
		return;
	}
	if (k->verdict != RACE_VERDICT_FREE || !k->is_whole) {
		base_buf_printf(out, "%s\n", is_late(k) ? "late" : k->why_checked);
		return;
	}
	base_buf_puts(out, "proven\n");
	for (size_t i = 0; i < k->frees.n; i++) {
		const struct race_free_site *s = &k->frees.v[i];
		if (*s->variable)
			base_buf_printf(out, "site %u var %s\n", s->nth, s->variable);
		else
			base_buf_printf(out, "site %u param %llu\n", s->nth,
					(unsigned long long)s->param);
	}
}

int cli_prove_launch(int argc, char **argv)
{
	struct prove_options o = {.counters_wrap = true,
				  .no_assumes = true,
				  .any_contents = true,
				  .wants_extents = true,
				  .only_launched = true,
				  .is_of_launches_alone = true,
				  .keeps_late = true,
				  .memory_mb = LIMIT_MB};
	struct prove_texts texts = {0};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct base_buf out = {0};
	struct race_proofs r;
	int rc = prove_read_launches("/dev/fd/3", &o, &texts, &arena);

	o.timeout_ms = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 0;
	for (unsigned l = RACE_LEVEL_WARP; l <= RACE_LEVEL_GRID; l++)
		o.level[l] = true;
	prove_use_cache(&o, &arena);
	if (!rc && (!o.timeout_ms || texts.n != 1 || o.nlaunches != 1))
		rc = BASE_EXIT_USAGE;
	if (!rc)
		rc = prove_text("a launch", texts.v[0], strlen(texts.v[0]), &o, &r, &sink);
	if (!rc) {
		for (size_t i = 0; i < r.kernels.n; i++)
			put_answer(&r.kernels.v[i], &out);
		rc = out.n && write(4, out.p, out.n) == (ssize_t)out.n ? 0 : BASE_EXIT_ENV;
		race_proofs_free(&r);
	}
	base_buf_free(&out);
	base_vec_free(&texts);
	base_sink_free(&sink);
	base_arena_free(&arena);
	return rc;
}
