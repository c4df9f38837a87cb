/*
 * tables.c - the driver's private functions, which libraries of NVIDIA's ask for by the table
 * (cuGetExportTable).
 *
 * What is called by one isn't seen. Code that is loaded so and launched by the driver's other
 * functions is counted then, as not instrumented; what is launched so, too, would be missed. None
 * of the tables below was seen to be used for either by libraries of CUDA 12 and 13. Any other one
 * makes the run partial, by a line that names who has it.
 */
#include <stdio.h>
#include <string.h>

#include "agent/forward/forward.h"
#include "agent/load/load.h"
#include "race/file/shm_write.h"
#include "race/gap.h"

#define NOTES_MAX 64u

CUresult (*load_real_table)(const void **, const CUuuid *);

/* What asks for it, as seen on an H100, driver 580. */
static const unsigned char known[][16] = {
	{0},
};

static bool is_known(const CUuuid *id)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!memcmp(id->bytes, known[i], sizeof(known[i])))
			return true;
	return false;
}

/* Each table once, whoever asks. */
static bool is_new(const CUuuid *id)
{
	static CUuuid seen[NOTES_MAX];
	static uint32_t nseen;
	uint32_t n = __atomic_load_n(&nseen, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < NOTES_MAX; i++)
		if (!memcmp(&seen[i], id, sizeof(*id)))
			return false;
	n = __atomic_fetch_add(&nseen, 1, __ATOMIC_ACQ_REL);
	if (n < NOTES_MAX)
		seen[n] = *id;
	return n < NOTES_MAX;
}

static void note(const CUuuid *id, const void *caller)
{
	const char *name = load_file_of(caller);
	const unsigned char *b = (const unsigned char *)id->bytes;

	race_shm_gap_note(RACE_GAP_NOT_INSTRUMENTED,
			  "%.100s has private functions of the driver (%02x%02x%02x%02x-%02x%02x-"
			  "%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x): what it loads and launches "
			  "by them isn't seen",
			  name ? name : "a program", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
			  b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

CUresult load_hook_table(const void **table, const CUuuid *id)
{
	const void *caller = forward_caller(__builtin_return_address(0));
	CUresult r = load_real_table(table, id);

	if (r == CUDA_SUCCESS && id && !is_known(id) && is_new(id) && load_is_on())
		note(id, caller);
	return r;
}
