/*
 * collider.c - the CPU device's side of the file shared with `collider run`.
 *
 * Each device that is used gets a region, which kernels may use. An instrumented module finds both
 * through its knobs, written when it is loaded, before any kernel of it can run; its site tables
 * are copied from the module's memory then. Kernels write records into the
 * region themselves, and count in a struct race_rt there; what the oracle has
 * judged is written after each batch of work. So the counters in the file are always current,
 * however the program ends; they are exact if no stream has work left.
 *
 * At exit, work that has not been waited for is given LAST_WAIT_S to end, as on the GPU. Without
 * `collider run` the report goes to stderr at exit, by a forked child (the renderers may end their
 * process).
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cudart/report/collider.h"
#include "race/file/host.h"
#include "race/file/pair.h"
#include "race/race.h"
#include "race/file/shm_write.h"
#include "race/layout/history.h"
#include "race/site/site.h"
#include "report/report.h"
#include "race/file/nvtx.h"

#define LAST_WAIT_S 10

struct context {
	struct race_region *region;
	struct race_rt *rt; /* in the region; NULL: races on this device go unchecked */
	bool is_tried;
	_Atomic uint64_t launches; /* submitted */
	uint64_t exact_at;	   /* launches at the last exact snapshot */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the innermost one */
static struct context contexts[RT_DEVICES];
/* The first context's: one machine has all devices, so all of them use its table of watchpoints. */
static struct race_watch_table *watch;
static struct race_mirror *mirror; /* NULL: host code has no checks, or no detector asks for it */
static bool is_open;
static pid_t owner;

/* ---- after each batch of work ---------------------------------------------------------- */

/* The counts of threads that stepped aside are those of the process: they are in the region of its
 * first device. */
static void update_history(void)
{
	uint64_t threads, accesses;

	rt_history_counts(&threads, &accesses);
	for (unsigned d = 0; d < RT_DEVICES; d++) {
		struct race_region *region = contexts[d].region;
		if (!region || !region->has_history)
			continue;
		region->threads_aside = threads;
		region->accesses_aside = accesses;
		return;
	}
}

/* Lock held. */
static void update_counts(void)
{
	update_history();
	rt_oracle_update();
}

/* After each batch of the machine's work. The machine's locks are held, so this lock is only tried:
 * a thread that holds it updates the counters itself. */
static void on_progress(void *arg)
{
	(void)arg;
	if (pthread_mutex_trylock(&lock))
		return;
	update_counts();
	for (unsigned d = 0; d < rt.ndevices; d++)
		if (contexts[d].rt)
			__atomic_store_n(&contexts[d].region->checked, cpu_get_checked(rt.m, d),
					 __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

static void on_fault(void *arg, unsigned device, const struct cpu_fault *f)
{
	struct race_fault out = {.device = (int32_t)device,
				 .ptx_line = f->ptx_line,
				 .func = (uint32_t)strlen(f->text) + 1};
	char text[sizeof(f->text) + sizeof(f->func)];
	size_t n = strlen(f->func) + 1;

	(void)arg;
	race_host_mirror_end(mirror);
	memcpy(text, f->text, out.func);
	memcpy(text + out.func, f->func, n);
	race_shm_chunk(RACE_CHUNK_FAULT, 0, &out, sizeof(out), text, out.func + n);
}

/* ---- setting up ------------------------------------------------------------------- */

static void set_up(struct context *c, unsigned device)
{
	static uint32_t number;

	c->is_tried = true;
	if (!is_open)
		return;
	c->region = race_shm_region(number++);
	if (!c->region) {
		race_shm_gap_note(RACE_GAP_FORGOTTEN,
				  "more than %u devices; races in the later ones go unchecked",
				  RACE_REGIONS);
		return;
	}
	c->region->device = (int32_t)device;
	snprintf(c->region->device_name, sizeof(c->region->device_name), "%s",
		 "Collider CPU device");
	struct race_rt *r = &c->region->rt;
	r->records = (uint64_t)(uintptr_t)c->region->records;
	r->maps = (uint64_t)(uintptr_t)&c->region->maps;
	if (!cpu_mem_register_ours(rt.m, r, sizeof(*r)) ||
	    !cpu_mem_register_ours(rt.m, c->region->records, RACE_REGION_MAPPED)) {
		race_shm_gap_note(
			RACE_GAP_FORGOTTEN,
			"no memory for the reports of device %u; races in it go unchecked", device);
		return;
	}
	if (!mirror &&
	    RACE_RUN_DETECTORS(race_shm_get()->flags) & race_detectors_with(RACE_SEES_HOST))
		mirror = race_host_mirror();
	if (mirror && cpu_mem_register_ours(rt.m, mirror, sizeof(*mirror)))
		r->mirror = (uint64_t)(uintptr_t)mirror;
	watch = watch ? watch : &r->watch;
	watch->records[c->region->context] = r->records;
	__atomic_store_n(&c->region->is_live, 1, __ATOMIC_RELEASE);
	c->rt = r;
}

uint32_t rt_collider_number(unsigned device)
{
	const struct race_region *r = contexts[device].region;

	return r ? r->context : 0;
}

/* The device's context, set up on first use. Lock held. */
static struct context *context_of(unsigned device)
{
	struct context *c = &contexts[device];

	if (!c->is_tried)
		set_up(c, device);
	return c;
}

/* ---- modules ------------------------------------------------------------------------- */

struct found {
	struct {
		uint64_t at, bytes;
	} blocks[RACE_DETECTORS_PUT]; /* at 0: the module has none */
	struct race_shuffle_image order;
	const struct rt_image *image;
	bool is_judged;
	enum race_shuffle_verdict verdict;
};

static void look_at_symbol(const char *name, uint64_t addr, uint64_t bytes, void *arg)
{
	unsigned marked = race_detector_marked(name, strlen(name));
	struct found *f = arg;

	for (unsigned id = 0; id < RACE_DETECTORS_PUT; id++) {
		if (!(marked & 1u << id))
			continue;
		f->blocks[id].at = addr;
		f->blocks[id].bytes = bytes;
	}
	if (strncmp(name, RACE_SHUFFLE_PREFIX, strlen(RACE_SHUFFLE_PREFIX)) == 0) {
		race_shuffle_table(&f->order, (const void *)(uintptr_t)addr, (size_t)bytes);
	} else if (is_open && strncmp(name, RACE_SITES_PREFIX, strlen(RACE_SITES_PREFIX)) == 0) {
		race_shm_sites(name, (const char *)(uintptr_t)addr, (size_t)bytes);
	}
}

/* Does all of the image follow the order of blocks that the knobs request? */
static enum race_shuffle_verdict judge_order(uint32_t id, void *arg)
{
	struct found *f = arg;

	(void)id; /* all parts of an image are examined, whatever they were linked from */
	if (f->is_judged)
		return f->verdict;
	for (size_t i = 0; i < f->image->parts.n; i++) {
		ptx_each_item(f->image->parts.v[i], it)
		{
			if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto)
				race_shuffle_function(&f->order, it->func->name.p,
						      it->func->name.n);
		}
	}
	f->is_judged = true;
	f->verdict = race_shuffle_judge(&f->order);
	return f->verdict;
}

/* Fills in the runtime block of each detector that the module has; false: of none. */
static bool fill_blocks(const struct context *c, struct found *f, bool *has_any, bool *has_history)
{
	struct race_fill fill = {.rt = (uint64_t)(uintptr_t)c->rt,
				 .context = c->region ? c->region->context : 0,
				 .watch = (uint64_t)(uintptr_t)watch,
				 .order = judge_order,
				 .arg = f};
	bool is_patched = false;

	for (unsigned id = 0; id < RACE_DETECTORS_PUT; id++) {
		if (!f->blocks[id].at)
			continue;
		*has_any = true;
		if (f->blocks[id].bytes < race_detectors[id].block_bytes) {
			race_shm_gap_note(RACE_GAP_NOT_INSTRUMENTED,
					  "a module was instrumented by another version of "
					  "Collider; races in it go unchecked");
		} else if (c->rt) {
			void *block = (void *)(uintptr_t)f->blocks[id].at;
			const struct race_words *words = race_words_of(id);
			if (words) {
				rt_history_module(block, race_words_id(words));
				*has_history = true;
				c->region->has_history = 1;
			}
			race_shm_block((enum race_detector_id)id, block, &fill);
			is_patched = true;
		}
	}
	return is_patched;
}

bool rt_collider_module(unsigned device, const struct rt_image *im, struct cpu_module *mod,
			bool *has_history)
{
	struct found f = {.image = im};
	bool has_any = false;
	unsigned found = 0; /* detectors, as a set */

	pthread_mutex_lock(&lock);
	struct context *c = context_of(device);
	cpu_module_each_symbol(mod, look_at_symbol, &f);
	bool is_patched = fill_blocks(c, &f, &has_any, has_history);
	for (unsigned id = 0; id < RACE_DETECTORS_PUT; id++)
		found |= f.blocks[id].at ? 1u << id : 0;
	if (c->region && race_shm_lacks_causes(found))
		__atomic_fetch_add(&c->region->no_causes, 1, __ATOMIC_RELAXED);
	race_shuffle_judge(&f.order);
	if (c->region)
		__atomic_fetch_add(has_any ? &c->region->modules : &c->region->plain_modules, 1,
				   __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	return is_patched;
}

void rt_collider_failed(const char *why)
{
	if (!is_open)
		return;
	__atomic_fetch_add(&race_shm_get()->failed_modules, 1, __ATOMIC_RELAXED);
	race_shm_gap(RACE_GAP_NOT_LOADED, "", why, 1);
}

void rt_collider_patterns(uint64_t patterns)
{
	if (is_open && patterns)
		__atomic_fetch_or(&race_shm_get()->patterns, patterns, __ATOMIC_RELAXED);
}

/* ---- the order of blocks --------------------------------------------------------------- */

static bool reads_knob(const struct ptx_func *f, size_t offset)
{
	ptx_each_stmt(f, s)
	{
		const struct ptx_opnd *a = s->kind == PTX_STMT_INST ? ptx_address(s) : NULL;
		if (a && a->nsub && a->sub[0].kind == PTX_OPND_SYM && a->off == (int64_t)offset &&
		    ptx_str_is(a->sub[0].text, RACE_KNOBS_SYMBOL))
			return true;
	}
	return false;
}

/* Kernels whose loops wait read another knob than the others. */
static bool is_waiting(const struct rt_kern *k)
{
	for (size_t i = 0; i < k->image->parts.n; i++) {
		ptx_each_item(k->image->parts.v[i], it)
		{
			if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto &&
			    ptx_str_is(it->func->name, k->name))
				return reads_knob(it->func,
						  offsetof(struct race_knobs, shuffle_waiting));
		}
	}
	return false;
}

void rt_collider_shuffle(struct rt_kern *k, unsigned device, struct cpu_launch *launch)
{
	uint64_t at, bytes;
	struct race_knobs knobs;

	if (!k->image->is_instrumented || !race_shm_get()->order || !k->image->on[device] ||
	    !cpu_module_symbol(k->image->on[device], RACE_KNOBS_SYMBOL, &at, &bytes) ||
	    bytes < sizeof(knobs))
		return;
	memcpy(&knobs, (const void *)(uintptr_t)at, sizeof(knobs));
	if (k->order == RT_SHUFFLE_UNKNOWN)
		k->order = is_waiting(k) ? RT_SHUFFLE_WAITING : RT_SHUFFLE_PLAIN;
	launch->order = k->order == RT_SHUFFLE_WAITING ? knobs.shuffle_waiting : knobs.order;
	launch->shuffle_keys.a[0] = knobs.order_a[0];
	launch->shuffle_keys.a[1] = knobs.order_a[1];
	launch->shuffle_keys.b = knobs.order_b;
}

/* ---- launches ------------------------------------------------------------------------- */

/* The kernel's counter, and the call that launches it; kernels of equal name share the counter,
 * whatever image they are in. The images' lock is held. */
void rt_collider_kernel(struct rt_kern *k)
{
	if (!is_open)
		return;
	const char *script = rt_script_last();
	if (race_launch_is_wanted(&k->launches))
		race_launch_note(&k->launches, k->name, *script ? script : NULL);
	if (k->is_counted)
		return;
	for (struct rt_image *im = rt_image_first(); im && !k->count; im = im->next) {
		for (struct rt_kern *o = im->kerns; o && !k->count; o = o->next) {
			if (o->count && im->is_instrumented == k->image->is_instrumented &&
			    strcmp(o->name, k->name) == 0)
				k->count = o->count;
		}
	}
	if (!k->count)
		k->count = race_shm_kernel(k->name, k->image->is_instrumented);
	k->is_counted = true;
}

static uint64_t launched; /* atomic */

uint64_t rt_collider_launches(void)
{
	return __atomic_load_n(&launched, __ATOMIC_RELAXED);
}

void rt_collider_launched(unsigned device, struct rt_kern *k)
{
	__atomic_fetch_add(&launched, 1, __ATOMIC_RELAXED);
	if (!is_open)
		return;
	if (k && k->count)
		__atomic_fetch_add(&k->count->count, 1, __ATOMIC_RELAXED);
	if (!k || !k->image->has_history)
		rt_note_unseen(RACE_HISTORY_GRID_ORDERS);
	pthread_mutex_lock(&lock);
	struct context *c = context_of(device);
	atomic_fetch_add(&c->launches, 1);
	rt_oracle_launched(1);
	if (c->region) {
		__atomic_fetch_add(&c->region->host_launches, 1, __ATOMIC_RELAXED);
		if (!k || !k->image->is_instrumented)
			__atomic_fetch_add(&c->region->host_launches_plain, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&c->region->exact, 0, __ATOMIC_RELAXED);
	}
	pthread_mutex_unlock(&lock);
}

/* Until when is a launch checked that is about to start? With the machine's locks held. */
static uint64_t choose(void *arg, const struct cpu_launch *l, uint64_t spent_ns)
{
	struct rt_kern *k = l->tag;
	uint64_t until = race_choice_take(k->count, k->name, l->is_outside, spent_ns);

	(void)arg;
	if (until)
		return until;
	/* It may order threads of others, and no detector sees how. */
	rt_note_unseen(RACE_HISTORY_GRID_ORDERS);
	rt_oracle_launched(-1);
	return 0;
}

static void cut(void *arg, void *tag, uint64_t blocks, uint64_t of)
{
	struct rt_kern *k = tag;

	(void)arg;
	/* Nor are the blocks without checks seen, which may order those with. */
	rt_note_unseen(RACE_HISTORY_GRID_ORDERS);
	if (k->count)
		race_choice_cut(k->count, blocks, of);
}

/* ---- the order of streams ------------------------------------------------------------------- */

static void count_hold(unsigned device, size_t offset)
{
	pthread_mutex_lock(&lock);
	struct race_region *region = context_of(device)->region;
	if (region)
		__atomic_fetch_add((uint64_t *)(void *)((char *)&region->holds + offset), 1,
				   __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
}

static bool shuffles_streams(void)
{
	return is_open && (race_shm_get()->flags & RACE_RUN_STREAMS);
}

uint64_t rt_collider_hold(struct rt_stream *s, unsigned device, bool is_programmatic)
{
	uint64_t ns = 0;

	if (!shuffles_streams())
		return 0;
	if (s->is_legacy || is_programmatic) {
		count_hold(device, offsetof(struct race_holds,
					    skipped[s->is_legacy ? RACE_HOLD_NULL_STREAM
								 : RACE_HOLD_PROGRAMMATIC]));
		return 0;
	}
	ns = race_hold_ns(race_shm_get()->seed, s->id, s->launches++);
	count_hold(device,
		   ns ? offsetof(struct race_holds, held) : offsetof(struct race_holds, passed));
	return ns;
}

void rt_collider_captured(unsigned device)
{
	if (shuffles_streams())
		count_hold(device, offsetof(struct race_holds, skipped[RACE_HOLD_CAPTURED]));
}

/* ---- counts ---------------------------------------------------------------------------- */

/* References to the newest operation of each stream. Returns how many; *ops is malloc'd. */
static size_t last_ops(unsigned device, struct cpu_op ***ops)
{
	BASE_VEC(struct cpu_op *) found = {0};

	rt_lock();
	struct rt_stream *s = rt.dev[device].legacy;
	if (s && s->last)
		base_vec_push(&found, cpu_op_get(s->last));
	for (s = rt.dev[device].streams; s; s = s->next) {
		if (s->last)
			base_vec_push(&found, cpu_op_get(s->last));
	}
	rt_unlock();
	*ops = found.v;
	return found.n;
}

/* Without working on them: the first that goes on says no. */
static bool are_ended(unsigned device)
{
	struct rt_stream *s;
	bool is_all;

	rt_lock();
	s = rt.dev[device].legacy;
	is_all = !s || !s->last || cpu_op_time(s->last);
	for (s = rt.dev[device].streams; s && is_all; s = s->next)
		is_all = !s->last || cpu_op_time(s->last);
	rt_unlock();
	return is_all;
}

static bool work_on(unsigned device, uint64_t deadline)
{
	struct cpu_op **ops;
	size_t n = last_ops(device, &ops);
	bool is_all = true;

	for (size_t i = 0; i < n; i++) {
		bool is_ended = cpu_op_time(ops[i]) != 0;
		while (!is_ended && base_now_ns() < deadline)
			is_ended = cpu_op_query(ops[i]);
		is_all = is_all && is_ended;
		cpu_op_put(ops[i]);
	}
	free(ops);
	return is_all;
}

/* Until something is submitted, what was idle is: programs wait for each of many streams. */
bool rt_collider_is_idle(unsigned device, uint64_t deadline)
{
	static _Atomic uint64_t idle_at[RT_DEVICES]; /* + 1 */
	uint64_t submitted = rt_host_count(device) + 1;

	if (atomic_load(&idle_at[device]) == submitted)
		return true;
	if (!are_ended(device) && (!deadline || !work_on(device, deadline)))
		return false;
	atomic_store(&idle_at[device], submitted);
	return true;
}

static void bring_up_to_date(unsigned device, uint64_t deadline)
{
	struct context *c = &contexts[device];
	uint64_t launches = atomic_load(&c->launches);
	struct cpu_fault f;

	pthread_mutex_lock(&lock);
	update_counts();
	rt_origin_update();
	pthread_mutex_unlock(&lock);
	if (!c->rt || (launches == c->exact_at && c->region->exact))
		return;
	bool is_exact = rt_collider_is_idle(device, deadline);
	cpu_fault_get(rt.m, device, &f);
	pthread_mutex_lock(&lock);
	update_counts();
	rt_origin_update();
	if (f.kind != CPU_FAULT_NONE && !c->region->error)
		c->region->error = (uint32_t)rt_fault_error(f.kind);
	is_exact = is_exact && !c->region->error && launches == atomic_load(&c->launches);
	if (is_exact)
		c->exact_at = launches;
	__atomic_store_n(&c->region->exact, is_exact, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&lock);
}

void rt_collider_synced(unsigned device)
{
	if (!is_open || owner != getpid())
		return;
	bring_up_to_date(device, 0);
	rt_host_synced(device);
}

/* ---- start and end -------------------------------------------------------------------------- */

static bool is_used(void)
{
	bool is_any = rt_oracle_is_on();

	for (unsigned d = 0; d < RT_DEVICES; d++)
		is_any |= contexts[d].region && contexts[d].region->modules;
	return is_any;
}

/* What was executed less often than the program asked for. */
static void note_repeats(void)
{
	struct cpu_stats s;

	cpu_get_stats(rt.m, &s);
	if (s.repeats && !rt.options.tries_repeats && !race_shm_is_own())
		race_shm_note(
			"%llu of the launches without checks found what an earlier launch had "
			"found, and were given what it had left (--repeats)",
			(unsigned long long)s.repeats);
}

static void at_exit(void)
{
	uint64_t deadline = base_now_ns() + LAST_WAIT_S * 1000000000ull;

	if (owner != getpid())
		return;
	for (unsigned d = 0; d < rt.ndevices; d++)
		bring_up_to_date(d, deadline);
	note_repeats();
	rt_capsules_end();
	/* If nothing was instrumented, there is no report. */
	if (race_shm_is_own() && is_used())
		rep_own(race_shm_get());
}

static void after_fork_child(void)
{
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	race_shm_disown();
	race_host_forget();
	rt_origin_forked();
	is_open = false; /* CUDA does not work in the child */
}

/* The entry that NVTX's headers look for in the library that their variable names. */
__attribute__((visibility("default"))) int InitializeInjectionNvtx2(race_nvtx_tables_fn *tables);

int InitializeInjectionNvtx2(race_nvtx_tables_fn *tables)
{
	return race_nvtx_listen(tables);
}

void rt_collider_start(void)
{
	if (!race_shm_open())
		return;
	is_open = true;
	owner = getpid();
	__atomic_fetch_add(&race_shm_get()->nprocesses, 1, __ATOMIC_RELAXED);
	race_shm_state(RACE_AGENT_ATTACHED);
	rt_oracle_start();
	cpu_listen(rt.m, on_progress, on_fault, NULL);
	rt_origin_start();
	if (race_choice_budget() != UINT64_MAX)
		cpu_event_limit(rt.m, race_choice_budget() / 2);
	if (race_choice_is_on())
		cpu_listen_choose(rt.m, choose, cut, NULL);
	if (atexit(at_exit) != 0)
		race_shm_note("no exit handler; counts may be incomplete");
	pthread_atfork(NULL, NULL, after_fork_child);
}
