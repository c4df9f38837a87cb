/*
 * proof.c - names, exit codes and clean-up of what collider prove found (proof.h).
 */
#include "race/proof/proof.h"

#include <string.h>

const char *race_verdict_name(enum race_verdict v)
{
	static const char *const names[] = {
		[RACE_VERDICT_FREE] = "race-free",
		[RACE_VERDICT_SINGLE] = "race-free-single",
		[RACE_VERDICT_BENIGN] = "race-free-up-to-same-value",
		[RACE_VERDICT_TRUE] = "true-alarm",
		[RACE_VERDICT_POTENTIAL] = "potential-alarm",
		[RACE_VERDICT_UNPROVEN] = "could-not-prove",
		[RACE_VERDICT_VACUOUS] = "vacuous",
	};
	_Static_assert(BASE_COUNTOF(names) == RACE_VERDICT_COUNT, "a name for each verdict");

	return names[v];
}

const char *race_level_name(enum race_level l)
{
	static const char *const names[] = {
		[RACE_LEVEL_THREAD] = "thread", [RACE_LEVEL_WARP] = "warp",
		[RACE_LEVEL_BLOCK] = "block",	[RACE_LEVEL_CLUSTER] = "cluster",
		[RACE_LEVEL_GRID] = "grid",
	};

	return names[l];
}

static const char *const class_names[] = {"CIDI", "CIDD", "CDDI", "CDDD"};

const char *race_alarm_class(const struct race_alarm *a)
{
	bool cd = a->side[0].is_approx_path || a->side[1].is_approx_path;
	bool dd = a->side[0].is_approx_index || a->side[1].is_approx_index;

	return class_names[2 * cd + dd];
}

const char *race_proof_class(const struct race_proof *k)
{
	return k->has_class ? class_names[2 * k->is_approx_path + k->is_approx_index] : "";
}

bool race_proof_has_remedy(const struct race_proof *k)
{
	for (size_t i = 0; i < k->remedies.n; i++)
		if (k->remedies.v[i].is_all)
			return true;
	return false;
}

int race_proof_exit_code(const struct race_proofs *r)
{
	static const int codes[] = {
		[RACE_VERDICT_FREE] = BASE_EXIT_OK,
		[RACE_VERDICT_SINGLE] = BASE_EXIT_SINGLE,
		[RACE_VERDICT_BENIGN] = BASE_EXIT_SAME_VALUE,
		[RACE_VERDICT_TRUE] = BASE_EXIT_TRUE_ALARM,
		[RACE_VERDICT_POTENTIAL] = BASE_EXIT_POTENTIAL_ALARM,
		[RACE_VERDICT_UNPROVEN] = BASE_EXIT_UNPROVEN,
		[RACE_VERDICT_VACUOUS] = BASE_EXIT_UNPROVEN,
	};
	int worst = BASE_EXIT_OK;

	for (size_t i = 0; i < r->kernels.n; i++) {
		int c = codes[r->kernels.v[i].verdict];
		if (worst == BASE_EXIT_OK || (c != BASE_EXIT_OK && c < worst))
			worst = c;
	}
	return worst;
}

void race_proof_free(struct race_proof *k)
{
	base_vec_free(&k->alarms);
	base_vec_free(&k->problems);
	base_vec_free(&k->contract);
	base_vec_free(&k->protocol);
	base_vec_free(&k->remedies);
	base_vec_free(&k->sites);
	base_vec_free(&k->frees);
	base_vec_free(&k->launches);
}

void race_proofs_free(struct race_proofs *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		race_proof_free(&r->kernels.v[i]);
	base_vec_free(&r->kernels);
	if (r->also)
		race_proofs_free(r->also);
	base_arena_free(&r->arena);
}
