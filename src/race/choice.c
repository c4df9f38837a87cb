/*
 * choice.c - which launches are checked (choice.h).
 *
 * With a budget, a kernel's first launches go before its later ones: the first may use all of it,
 * up to the 10th three quarters, up to the 100th a half, up to the 1,000th a quarter, those after
 * it an eighth. So a kernel that is launched for the first time at the end of a long run finds time
 * left. Launches are checked as a whole, so the last one may use more than what is left.
 */
#include "base/base.h"
#include "race/choice.h"
#include "race/shm_write.h"

#include <string.h>

static const struct race_choice *asked(void)
{
	const struct race_shm *shm = race_shm_get();

	return shm && shm->choice.is_on ? &shm->choice : NULL;
}

bool race_choice_is_on(void)
{
	return asked() != NULL;
}

/* Eighths of the budget for a kernel's launch of this number, from 1. */
static uint64_t eighths(uint64_t number)
{
	return number == 1 ? 8 : number < 10 ? 6 : number < 100 ? 4 : number < 1000 ? 2 : 1;
}

static bool is_named(const char *name)
{
	size_t n = 0;
	const char *list = race_shm_find(RACE_CHUNK_CHOICE, 0, &n);
	const char *without = list ? list + strlen(list) + 1 : NULL;

	if (!list)
		return true;
	return (!*list || race_name_is_listed(list, name)) &&
	       (!*without || !race_name_is_listed(without, name));
}

bool race_choice_concerns(const char *name)
{
	const struct race_choice *c = asked();

	return c && (c->skip || c->count != UINT64_MAX || c->budget_ns != UINT64_MAX ||
		     !is_named(name));
}

static uint32_t reason(struct race_kernel_count *k, const char *name, uint64_t number,
		       uint64_t spent_ns)
{
	struct race_choice *c = &race_shm_get()->choice;

	if (!k->is_judged)
		k->is_judged = is_named(name) ? 1 : 2;
	if (k->is_judged == 2)
		return RACE_LEFT_NAME;
	uint64_t seen = __atomic_fetch_add(&c->seen, 1, __ATOMIC_RELAXED);
	if (seen < c->skip)
		return RACE_LEFT_SKIP;
	if (c->count != UINT64_MAX && seen - c->skip >= c->count)
		return RACE_LEFT_COUNT;
	if (c->budget_ns != UINT64_MAX && spent_ns / 8 >= c->budget_ns / 64 * eighths(number))
		return RACE_LEFT_BUDGET;
	return 0;
}

bool race_choice_take(struct race_kernel_count *k, const char *name, uint64_t spent_ns)
{
	if (!asked() || !k)
		return true;
	uint64_t number = __atomic_add_fetch(&k->started, 1, __ATOMIC_RELAXED);
	uint32_t why = reason(k, name, number, spent_ns);
	if (why) {
		k->why |= why;
		return false;
	}
	k->checked++;
	k->first = k->first ? k->first : number;
	k->last = number;
	return true;
}
