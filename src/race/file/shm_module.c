/*
 * shm_module.c - the file shared with `collider run`, for the loaders of modules on a device:
 * regions, site tables, kernels' counters, knobs.
 *
 * Separate from shm_write.c, which is also linked into the runtime of host code: that has no device
 * and needs none of this. Called under the caller's lock where shm_write.h says so. Allocates only
 * for --sample and --replay.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#include "race/file/maps.h"
#include "race/race.h"
#include "race/site/replay.h"
#include "race/site/sample.h"
#include "race/layout/iguard.h"
#include "race/layout/watch.h"
#include "race/layout/history.h"
#include "race/file/shm_write.h"
#include "race/site/site.h"

static struct race_sample sample; /* --sample: the tables of this process */

struct race_region *race_shm_region(uint32_t number)
{
	struct race_shm *shm = race_shm_get();
	uint32_t i = __atomic_fetch_add(&shm->nregions, 1, __ATOMIC_RELAXED);
	struct race_region *r;

	if (i >= RACE_REGIONS)
		return NULL;
	r = (struct race_region *)(void *)((char *)shm + RACE_SHM_REGION0) + i;
	r->pid = (uint32_t)getpid();
	r->context = number;
	race_maps_attach(r);
	__atomic_store_n(&r->state, RACE_REGION_OPEN, __ATOMIC_RELEASE);
	return r;
}

/* Its groups take part in the choice of --sample. */
static void sample_table(const struct race_sites *t)
{
	struct race_site s;
	unsigned char *leads = calloc(t->h.nsites + 1u, 1);

	for (uint32_t i = 0; leads && race_sites_get(t, i, &s); i++)
		leads[i] = i == 0 || (s.flags & RACE_SITE_LEADS);
	if (leads)
		race_sample_add(&sample, t->h.hash, leads, t->h.nsites, race_shm_get()->seed);
	free(leads);
}

/* What a run that chooses among sites needs of a new table. */
static void choose_from(const char *bytes, size_t n)
{
	struct race_sites t;

	if (race_sites_decode(bytes, n, &t))
		return;
	if (race_shm_get()->sites)
		sample_table(&t);
	race_replay_sites(&t);
	race_sites_close(&t);
}

/* The `sample` knob of a module whose tables are known. */
static uint32_t sample_knob(void)
{
	struct race_shm *shm = race_shm_get();
	uint32_t limit, used;

	if (!shm->sites || shm->sample == RACE_SAMPLE_NEVER)
		return shm->sample;
	limit = race_sample_limit(&sample, shm->sites);
	if (shm->sites_limit && shm->sites_limit < limit)
		limit = shm->sites_limit;
	used = __atomic_load_n(&shm->sites_limit_used, __ATOMIC_RELAXED);
	while (limit > used && !__atomic_compare_exchange_n(&shm->sites_limit_used, &used, limit, 0,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	return RACE_SAMPLE_SITES | limit;
}

void race_shm_sites(const char *name, const char *bytes, size_t room)
{
	struct race_shm *shm = race_shm_get();
	static uint64_t seen[64]; /* tables sampled lately: an image is loaded for each context */
	static unsigned nseen;

	struct race_site_blob blob;

	if (room < sizeof(blob))
		return;
	memcpy(&blob, bytes, sizeof(blob));
	if (blob.magic != RACE_SITE_MAGIC || blob.stored_bytes > room - sizeof(blob)) {
		race_shm_note("%.64s is damaged; its races will be shown without lines", name);
		return;
	}
	bool is_new = true;
	for (unsigned i = 0; i < 64 && i < nseen; i++)
		is_new = is_new && seen[i] != blob.hash;
	if ((shm->sites || race_shm_has(RACE_CHUNK_REPLAY, 0)) && is_new) {
		seen[nseen++ % 64] = blob.hash;
		choose_from(bytes, sizeof(blob) + blob.stored_bytes);
	}
	if (!race_shm_has(RACE_CHUNK_SITES, blob.hash) &&
	    !race_shm_chunk(RACE_CHUNK_SITES, blob.hash, bytes, sizeof(blob) + blob.stored_bytes,
			    NULL, 0))
		race_shm_note("the shared file is full; races of %.64s will be shown without lines",
			      name);
}

struct race_kernel_count *race_shm_kernel(const char *name, bool is_instrumented)
{
	struct race_kernel_count count = {.instrumented = is_instrumented};
	size_t n = strlen(name);

	return race_shm_chunk(RACE_CHUNK_KERNEL, base_hash(name, n, BASE_FNV_INIT), &count,
			      sizeof(count), name, n + 1);
}

/* nanosleep sleeps up to twice its argument. */
static uint32_t half(uint32_t ns)
{
	return ns / 2 + (ns & 1);
}

/* Sets the order of blocks (--shuffle) in the knobs of an image with this verdict. */
static void set_order(struct race_knobs *k, enum race_shuffle_verdict verdict)
{
	struct race_shm *shm = race_shm_get();
	uint32_t order = shm->order & ~(uint32_t)RACE_SHUFFLE_ALL;
	uint32_t waiting = shm->order & RACE_SHUFFLE_ALL ? order : RACE_SHUFFLE_PLAIN;
	struct race_shuffle_keys keys = race_shuffle_keys(shm->seed);

	k->order_a[0] = keys.a[0];
	k->order_a[1] = keys.a[1];
	k->order_b = keys.b;
	k->order = verdict == RACE_SHUFFLE_FREE ? order : waiting;
	k->shuffle_waiting = waiting;
	if (verdict == RACE_SHUFFLE_KEEP)
		k->order = k->shuffle_waiting = RACE_SHUFFLE_PLAIN;
	if (order && verdict == RACE_SHUFFLE_KEEP)
		race_shm_note(
			"the blocks of a module keep their order: not all of its code was "
			"instrumented, or it reads block ids in a way that can't be replaced");
	else if (order && !waiting && verdict == RACE_SHUFFLE_WAITING)
		race_shm_note(
			"the blocks of a module keep their order: its kernels share functions "
			"with one that waits for other blocks (--shuffle=all)");
}

/* How often checks happen, and how long they wait. */
static void set_rates(struct race_knobs *k, const struct race_fill *fill, uint32_t one_in)
{
	const struct race_shm *shm = race_shm_get();

	k->rt = fill->rt;
	k->rsleep = half(shm->rdelay);
	k->wsleep = half(shm->wdelay);
	k->sample = one_in;
	k->seed = shm->seed;
	k->dense = shm->dense ? shm->dense : RACE_DENSE_ALL;
	k->sparse = shm->dense && shm->dense < UINT32_MAX / RACE_SPARSEST
			    ? shm->dense * RACE_SPARSEST
			    : UINT32_MAX;
}

void race_shm_knobs(struct race_knobs *k, const struct race_fill *fill)
{
	const struct race_shm *shm = race_shm_get();

	set_rates(k, fill, sample_knob());
	if (k->sample == RACE_SAMPLE_NEVER)
		k->looks = 0;
	else if (k->sample > 1 || k->dense == RACE_DENSE_ALL)
		k->looks = RACE_DENSE_ALL;
	else
		k->looks = 32u - (uint32_t)__builtin_clz(k->dense);
	k->window = shm->window ? shm->window & RACE_WINDOW_ALL : RACE_WINDOW_ALL;
	set_order(k, fill->order(k->shuffle_id, fill->arg));
}

const void *race_shm_machine(void)
{
	size_t n = 0;
	const void *p = race_shm_find(RACE_CHUNK_MACHINE, 0, &n);

	return n == RACE_HISTORY_MACHINE ? p : NULL;
}

/* Only the caller knows where the words are; without words no check may count. */
void race_shm_history(struct race_history *h, const struct race_fill *fill)
{
	uint32_t flags = race_shm_get()->flags;

	if (!(race_words_of(fill->detector)->traits & RACE_WORDS_LENT))
		h->modes = RACE_RUN_IGUARD(flags);
	else
		h->modes = RACE_RUN_WANTS(flags, fill->detector) ? 0 : RACE_HISTORY_FOR_IGUARD;
	if (h->tables)
		h->knobs.rt = fill->rt;
}

static uint32_t first_draw(const struct race_knobs *k)
{
	uint64_t n = 2ull * (k->sample ? k->sample : 1u);

	if (k->dense == RACE_DENSE_ALL)
		n /= RACE_WATCH_THIN;
	return n < RACE_WATCH_FAR / RACE_WATCH_THIN ? (uint32_t)n
						    : RACE_WATCH_FAR / RACE_WATCH_THIN;
}

/* rsleep: at once; wsleep: at the end of a watchpoint. Where a check sleeps beside it a watchpoint
 * stands through those delays, and needs none at once. --sample chooses places for collide;
 * watchpoints are drawn everywhere then. --replay chooses places for watch: all accesses there. */
void race_shm_watch(struct race_watch *w, const struct race_fill *fill)
{
	const struct race_shm *shm = race_shm_get();

	if (!RACE_RUN_WANTS(shm->flags, fill->detector))
		return;
	set_rates(&w->knobs, fill, shm->sites ? 0 : shm->sample);
	if (race_replay_fill(w)) {
		w->knobs.sample = 0;
		w->knobs.dense = RACE_DENSE_ALL;
		w->knobs.sparse = UINT32_MAX;
	}
	w->first = first_draw(&w->knobs);
	w->context = fill->context;
	w->table = fill->watch;
	w->knobs.wsleep = w->knobs.rsleep;
	w->knobs.window = shm->window ? shm->window & RACE_WINDOW_ALL : RACE_WINDOW_ALL;
	if (w->knobs.flags & RACE_KNOB_BESIDE &&
	    RACE_RUN_DETECTORS(shm->flags) & race_detectors_with(RACE_SLEEPS))
		w->knobs.rsleep = w->knobs.wsleep = 0;
}

bool race_shm_lacks_causes(unsigned detectors)
{
	const struct race_shm *shm = race_shm_get();
	unsigned at_work = detectors & RACE_RUN_DETECTORS(shm ? shm->flags : 0);
	unsigned causes = race_detectors_with(RACE_CAUSES);

	return at_work & race_detectors_with_words() & ~causes && !(at_work & causes);
}

void race_shm_block(enum race_detector_id id, void *block, const struct race_fill *from)
{
	struct race_fill fill = *from;

	fill.detector = id;
	switch (id) {
/* clang-format off */
#define DETECTOR(name, word, strengths, spaces, traits, marker, layout, keeps, pass) \
	case RACE_DETECTOR_##name: \
		race_shm_##layout(block, &fill); \
		break;
#include "base/detectors.def"
	/* clang-format on */
	default:
		break;
	}
}

/* ---- which launches are checked -------------------------------------------------------------- */

/*
 * With a budget, a kernel's first launches go before its later ones: the first may use all of it,
 * up to the 10th three quarters, up to the 100th a half, up to the 1,000th a quarter, those after
 * it an eighth. So a kernel that is launched for the first time at the end of a long run finds time
 * left. On a GPU launches are checked as a whole, so the last one may use more than what is left.
 * On the CPU device the judging of a launch ends an eighth after the budget, and a kernel's first
 * launch is always judged, if only for an eighth.
 */

static const struct race_choice *asked(void)
{
	const struct race_shm *shm = race_shm_get();

	return shm && shm->choice.is_on ? &shm->choice : NULL;
}

bool race_choice_is_on(void)
{
	return asked() != NULL;
}

uint64_t race_choice_budget(void)
{
	const struct race_choice *c = asked();

	return c ? c->budget_ns : UINT64_MAX;
}

/* Eighths of the budget for a kernel's launch of this number, from 1. */
static uint64_t eighths(uint64_t number)
{
	return number == 1 ? 8 : number < 10 ? 6 : number < 100 ? 4 : number < 1000 ? 2 : 1;
}

const char *race_choice_list(enum race_choice_list_id id)
{
	size_t n = 0;
	const char *list = race_shm_find(RACE_CHUNK_CHOICE, 0, &n), *end = list ? list + n : NULL;

	for (unsigned i = 0; i < (unsigned)id && list && list < end; i++)
		list += strlen(list) + 1;
	return list && list < end && *list ? list : NULL;
}

static bool is_named(const char *name)
{
	const char *list = race_choice_list(RACE_CHOICE_KERNELS);
	const char *without = race_choice_list(RACE_CHOICE_KERNELS_EXCLUDE);

	return (!list || race_name_is_listed(list, name)) &&
	       (!without || !race_name_is_listed(without, name));
}

/* Are this process' launches checked? Its program's name is the last part of its file's. */
static bool is_target(const struct race_choice *c)
{
	static uint64_t known; /* 2 * the process that asked, + the answer */
	uint64_t pid = (uint64_t)getpid(), is = __atomic_load_n(&known, __ATOMIC_RELAXED);
	char exe[512];

	if (is >> 1 == pid)
		return is & 1;
	const char *list = race_choice_list(RACE_CHOICE_PROCESSES);
	is = !c->root || c->root == pid;
	ssize_t m = list ? readlink("/proc/self/exe", exe, sizeof(exe) - 1) : 0;
	if (m > 0) {
		exe[m] = 0;
		const char *slash = strrchr(exe, '/');
		is = is && race_name_is_listed(list, slash ? slash + 1 : exe);
	}
	__atomic_store_n(&known, pid << 1 | is, __ATOMIC_RELAXED);
	return is;
}

bool race_choice_concerns(const char *name)
{
	const struct race_choice *c = asked();

	return c &&
	       (c->skip || c->count != UINT64_MAX || c->budget_ns != UINT64_MAX ||
		race_choice_list(RACE_CHOICE_NVTX_INCLUDE) ||
		race_choice_list(RACE_CHOICE_NVTX_EXCLUDE) || !is_named(name) || !is_target(c));
}

/* By all but the budget. `all`: launches that are counted, of c. */
static uint32_t reason_of(uint32_t *listed, const char *name, bool is_outside, uint64_t *all)
{
	const struct race_choice *c = &race_shm_get()->choice;

	if (!*listed)
		*listed = is_named(name) ? 1 : 2;
	if (*listed == 2)
		return RACE_LEFT_NAME;
	if (!is_target(c))
		return RACE_LEFT_PROCESS;
	if (is_outside)
		return RACE_LEFT_RANGE;
	uint64_t seen = __atomic_fetch_add(all, 1, __ATOMIC_RELAXED);
	if (seen < c->skip)
		return RACE_LEFT_SKIP;
	return c->count != UINT64_MAX && seen - c->skip >= c->count ? RACE_LEFT_COUNT : 0;
}

static uint32_t reason(struct race_kernel_count *k, const char *name, bool is_outside,
		       uint64_t number, uint64_t spent_ns)
{
	struct race_choice *c = &race_shm_get()->choice;
	uint32_t why = reason_of(&k->is_judged, name, is_outside, &c->seen);

	if (why)
		return why;
	if (c->budget_ns != UINT64_MAX && spent_ns / 8 >= c->budget_ns / 64 * eighths(number))
		return RACE_LEFT_BUDGET;
	return 0;
}

struct race_choice_answer race_choice_ask(struct race_kernel_count *k, const char *name,
					  bool is_outside, uint64_t spent_ns)
{
	struct race_choice_answer a = {
		.number = __atomic_add_fetch(&k->started, 1, __ATOMIC_RELAXED)};

	a.why = reason(k, name, is_outside, a.number, spent_ns);
	return a;
}

uint32_t race_choice_beside(uint32_t *listed, const char *name, bool is_outside)
{
	if (!asked())
		return 0;
	return reason_of(listed, name, is_outside, &race_shm_get()->choice.seen_beside);
}

bool race_choice_changes(void)
{
	const struct race_choice *c = asked();

	if (!c)
		return false;
	if (race_choice_list(RACE_CHOICE_NVTX_INCLUDE) ||
	    race_choice_list(RACE_CHOICE_NVTX_EXCLUDE))
		return true;
	uint64_t seen = __atomic_load_n(&c->seen_beside, __ATOMIC_RELAXED);
	return (c->skip && seen <= c->skip) ||
	       (c->count != UINT64_MAX && seen - c->skip <= c->count);
}

void race_choice_pass(struct race_kernel_count *k, const char *name)
{
	if (k && !k->is_judged)
		k->is_judged = is_named(name) ? 1 : 2;
	if (!k || k->is_judged != 2)
		return;
	__atomic_add_fetch(&k->started, 1, __ATOMIC_RELAXED);
	k->why |= RACE_LEFT_NAME;
}

void race_choice_note(struct race_kernel_count *k, struct race_choice_answer a)
{
	k->why |= a.why;
	if (a.why)
		return;
	k->checked++;
	k->first = k->first ? k->first : a.number;
	k->last = a.number;
}

uint64_t race_choice_take(struct race_kernel_count *k, const char *name, bool is_outside,
			  uint64_t spent_ns)
{
	const struct race_choice *c = asked();
	struct race_choice_answer a;

	if (!c || !k)
		return UINT64_MAX;
	a = race_choice_ask(k, name, is_outside, spent_ns);
	if (a.number == 1 && a.why == RACE_LEFT_BUDGET)
		a.why = 0;
	race_choice_note(k, a);
	if (a.why || c->budget_ns == UINT64_MAX)
		return a.why ? 0 : UINT64_MAX;
	return (spent_ns > c->budget_ns ? spent_ns : c->budget_ns) + c->budget_ns / 8;
}

void race_choice_cut(struct race_kernel_count *k, uint64_t blocks, uint64_t of)
{
	if (k->cuts++)
		return;
	k->cut_blocks = blocks;
	k->cut_of = of;
}
