/*
 * lookup.c - cuGetProcAddress: where the driver answers with one of its exports, the caller gets
 * ours, which jumps by the table: to load/, to the agent (events.c), or to the driver's.
 *
 * The CUDA runtime asks for every function in this way, so this is what it loads code and launches
 * by. The driver gives the addresses of its exports. Where it should give another one (of a version
 * to come, with other parameters), that stays, and what is done by it goes unseen.
 */
#include <stdint.h>

#include "agent/forward/forward.h"

static CUresult (*real_v1)(const char *, void **, int, cuuint64_t);
static CUresult (*real_v2)(const char *, void **, int, cuuint64_t,
			   CUdriverProcAddressQueryResult *);

static void put_ours(void **answer)
{
	void *p = forward_entry(*answer);

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
