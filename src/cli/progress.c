/*
 * progress.c - one line on the terminal while a program runs: launches, accesses judged or checked,
 * findings, time, and GPU code that is being instrumented.
 *
 * Only where standard error is a terminal and the report goes there; a log never has it. It is
 * written over itself twice a second and removed before the report. What the program writes to the
 * same terminal meanwhile may follow it on its line. Findings are counted as the report shows them,
 * when there are new records; spawn.c asks less often if that takes long.
 */
#include "cli/cli.h"
#include "race/file/pair.h"
#include "race/race.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define FIRST_NS 1000000000ull /* a short run needs none */

static bool is_shown;

/* Records at the last count, and the findings that they were. */
static uint64_t recorded, found;

struct sums {
	uint64_t launches, judged, checked, records;
};

static void add_chunk(struct sums *s, const struct race_chunk *c)
{
	const void *payload = c + 1;

	if (c->kind == RACE_CHUNK_ORACLE && c->bytes >= sizeof(struct race_oracle))
		s->judged += ((const struct race_oracle *)payload)->accesses;
	else if (c->kind == RACE_CHUNK_PAIR)
		s->records++;
}

/* What the file says now; others write it meanwhile. */
static struct sums sum_up(const struct race_shm *shm)
{
	const char *heap = (const char *)shm + RACE_SHM_HEAP;
	const struct race_region *r =
		(const struct race_region *)(const void *)((const char *)shm + RACE_SHM_REGION0);
	uint64_t used = __atomic_load_n(&shm->heap_used, __ATOMIC_ACQUIRE), room;
	struct sums s = {0};

	for (uint32_t i = 0; i < RACE_REGIONS && i < shm->nregions; i++) {
		if (__atomic_load_n(&r[i].state, __ATOMIC_ACQUIRE) == RACE_REGION_FREE)
			continue;
		s.launches += r[i].host_launches;
		s.checked += r[i].checked;
		for (uint32_t k = 0; k < RACE_SLOTS; k++)
			s.records += r[i].records[k].kind != 0;
	}
	for (uint64_t at = 0; at + sizeof(struct race_chunk) <= used; at += room) {
		const struct race_chunk *c = (const struct race_chunk *)(const void *)(heap + at);
		room = c->room;
		if (room < sizeof(*c) || room > used - at)
			break;
		if (__atomic_load_n(&c->bytes, __ATOMIC_ACQUIRE))
			add_chunk(&s, c);
	}
	return s;
}

void cli_progress(void *arg, const struct race_shm *shm, uint64_t ns)
{
	struct sums s;

	if (ns < FIRST_NS)
		return;
	s = sum_up(shm);
	if (s.records != recorded)
		found = cli_count_shown(arg, shm);
	recorded = s.records;
	fprintf(stderr,
		"\r\033[Kcollider: %" PRIu64 " launches, %" PRIu64 " accesses %s, %" PRIu64
		" findings, %" PRIu64 " s",
		s.launches, s.judged ? s.judged : s.checked, s.judged ? "judged" : "checked", found,
		ns / 1000000000);
	uint32_t busy = __atomic_load_n(&shm->load.busy, __ATOMIC_RELAXED);
	if (busy)
		fprintf(stderr, "; %" PRIu32 " image%s of GPU code being instrumented", busy,
			busy == 1 ? "" : "s");
	fflush(stderr);
	is_shown = true;
}

void cli_progress_end(void)
{
	if (is_shown)
		fputs("\r\033[K", stderr);
	is_shown = false;
}
