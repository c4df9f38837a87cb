/*
 * lookup.c - cuGetProcAddress: where the driver answers with one of the functions that we answer,
 * the caller gets ours.
 *
 * The CUDA runtime asks for every function in this way, so this is what it loads code by. The
 * driver gives the addresses of its exports. Where it should give another one for such a name
 * (of a version to come, with other parameters), that stays, and what is loaded by it runs as it
 * is.
 */
#include <stdint.h>

#include "agent/forward/forward.h"

static CUresult (*real_v1)(const char *, void **, int, cuuint64_t);
static CUresult (*real_v2)(const char *, void **, int, cuuint64_t,
			   CUdriverProcAddressQueryResult *);

static void *ours_of(const struct forward_hook *hooks, void *p)
{
	for (; hooks->name; hooks++)
		if (*hooks->real == p)
			return hooks->ours;
	return NULL;
}

static void put_ours(void **answer)
{
	void *p = ours_of(forward_load_hooks, *answer);

	if (!p)
		p = ours_of(forward_lookup_hooks, *answer);
	if (p)
		*answer = p;
}

static CUresult hook_v1(const char *name, void **answer, int version, cuuint64_t flags)
{
	CUresult r = real_v1(name, answer, version, flags);

	if (r == CUDA_SUCCESS && answer && *answer)
		put_ours(answer);
	return r;
}

static CUresult hook_v2(const char *name, void **answer, int version, cuuint64_t flags,
			CUdriverProcAddressQueryResult *status)
{
	CUresult r = real_v2(name, answer, version, flags, status);

	if (r == CUDA_SUCCESS && answer && *answer)
		put_ours(answer);
	return r;
}

const struct forward_hook forward_lookup_hooks[] = {
	{"cuGetProcAddress", (void *)hook_v1, (void **)&real_v1},
	{"cuGetProcAddress_v2", (void *)hook_v2, (void **)&real_v2},
	{NULL, NULL, NULL},
};
