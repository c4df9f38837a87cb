/*
 * again.c - the whole kernel once more, with one assumption beside the others (check.h).
 *
 * Costs: an analysis; with a trial one that ends at the first pair that isn't proven.
 */
#include "prove/check.h"

/* Analyses the kernel into now.k with one more assumption. */
static void analyse_with(struct kernel_task now, const char *assume, struct base_arena *arena)
{
	struct prove_options o = *now.o;
	const char **all = BASE_NEWN(arena, const char *, o.nassumes + 1);

	for (size_t i = 0; i < o.nassumes; i++)
		all[i] = o.assumes[i];
	all[o.nassumes++] = assume;
	o.assumes = all;
	o.wants_remedies = o.wants_protocol = false;
	now.o = &o;
	now.arena = arena;
	kernel_open_proof(&now);
	kernel_analyse(&now, NULL);
}

enum kernel_answer kernel_try_with(const struct kernel_task *t, const char *assume,
				   uint64_t deadline, bool is_quick)
{
	struct base_arena arena = {0};
	struct race_proof k;
	struct kernel_task now = *t;
	struct kernel_trial trial = {.is_quick = is_quick, .alarms = t->k};

	if (prove_now_ms() >= deadline)
		return KERNEL_OPEN;
	now.k = &k;
	now.deadline = deadline;
	now.trial = &trial;
	analyse_with(now, assume, &arena);
	bool is_proven = k.verdict == RACE_VERDICT_FREE && !k.problems.n && !trial.has_failed &&
			 prove_now_ms() < deadline;
	race_proof_free(&k);
	base_arena_free(&arena);
	return is_proven ? KERNEL_PROVEN : trial.is_refuted ? KERNEL_REFUTED : KERNEL_OPEN;
}

static size_t count_unproven(const struct race_proof *k)
{
	size_t n = 0;

	for (size_t i = 0; i < k->problems.n; i++)
		n += k->problems.v[i].kind == RACE_PROBLEM_UNPROVEN;
	return n;
}

size_t kernel_count_with(const struct kernel_task *t, const char *assume, uint64_t deadline)
{
	struct base_arena arena = {0};
	struct race_proof k;
	struct kernel_task now = *t;

	now.k = &k;
	now.deadline = deadline;
	analyse_with(now, assume, &arena);
	bool is_known = count_unproven(&k) <= count_unproven(t->k) && prove_now_ms() < deadline;
	size_t n = is_known ? k.alarms.n : SIZE_MAX;
	race_proof_free(&k);
	base_arena_free(&arena);
	return n;
}
