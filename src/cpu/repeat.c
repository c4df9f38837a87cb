/*
 * repeat.c - launches that find what an earlier one found: its results are copied.
 *
 * Benchmarks launch a kernel a hundred times to take its time, on input that doesn't change. What a
 * launch leaves in memory follows from its parameters, the memory that it reads and the schedule.
 * So a launch is *kept*: the contents of the allocations that it used, before and after it. Where a
 * later one that nothing checks has the same kernel, shape and parameters, and finds the contents
 * of before, those of after are put there: what the schedule of the kept one would do.
 *
 * The contents of an allocation have a number (struct space_range), a new one whenever a kernel, a
 * copy or a fill may write there. Equal numbers are equal contents; with different ones bytes are
 * compared. A launch that wrote what was there already leaves the number, and what is only written
 * may be found as it was left: so most repeated launches are a comparison of a few numbers. That is
 * all that is left for allocations whose contents are too large to keep: neither are their bytes
 * compared, nor put there.
 *
 * Not kept: launches beside other work, those that read a clock or %gridid, call printf or malloc,
 * or use memory that host code may write meanwhile (managed, pinned). One that is checked is kept
 * for later ones that aren't, unless the oracle saw a race: then the schedule decided about its
 * results.
 *
 * Costs: a copy of what a launch uses, at most cpu_options.repeat_bytes in all; kernels whose
 * launches don't repeat are kept four times, then one launch in 2, 4, ... 1,024.
 */
#include "base/table.h"
#include "cpu/repeat.h"
#include "cpu/sched.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_KEYS   4096
#define MAX_OF_KEY 8 /* contents for which one launch is kept */
#define MISSES	   4 /* in a row, until a kernel is kept less often */
#define MAX_SAID   10
#define MAX_USED   256 /* allocations that a launch uses */

/* Contents that several launches found or left. */
struct image {
	uint64_t content, bytes;
	uint32_t refs;
	UT_hash_handle hh;
	uint8_t data[];
};

/* An allocation that a launch used. */
struct used {
	uint64_t base, end;
	uint64_t before, after; /* numbers of contents */
	/* NULL if there was no room; now: also if it left what it found. */
	struct image *was, *now;
	bool is_written, is_read;
};
struct used_vec {
	struct used *v;
	size_t n, cap;
};

/* By what launches are distinguished, before their parameters. */
struct form {
	struct cpu_kernel *kernel;
	uint64_t shared_dyn, settings;
	uint32_t device, grid[3], block[3], cluster[3];
	uint32_t is_cooperative, unused;
};

struct key;

struct kept {
	struct kept *next; /* of the same key */
	struct kept *newer, *older;
	struct key *key;
	struct used_vec used;
	uint64_t ns; /* on the machine's clock */
};

struct key {
	struct kept *kept;
	uint32_t n;
	UT_hash_handle hh;
	size_t bytes;
	uint8_t form[]; /* struct form, parameters */
};

struct cpu_repeats {
	uint64_t limit, bytes; /* of images */
	struct image *images;
	struct key *keys;
	struct kept *newest, *oldest;
	bool is_trial; /* execute what would be copied, and compare */
	uint32_t nsaid;
	/* The launch that runs and may be kept; op NULL: there is none. */
	struct cpu_op *op;
	struct kept *expected; /* is_trial: what it should leave */
	uint64_t starts;
	struct base_buf form;
	struct used_vec used;
	bool is_spoilt;
	pthread_mutex_t use_lock; /* workers without the engine's lock (apart.c) */
};

/* ---- images ------------------------------------------------------------------------------- */

static void image_put(struct cpu_repeats *r, struct image *im)
{
	if (!im || --im->refs)
		return;
	r->bytes -= im->bytes;
	HASH_DEL(r->images, im);
	free(im);
}

static void used_free(struct cpu_repeats *r, struct used_vec *u)
{
	for (size_t i = 0; i < u->n; i++) {
		image_put(r, u->v[i].was);
		image_put(r, u->v[i].now);
	}
	base_vec_free(u);
	*u = (struct used_vec){0};
}

static void unlink_age(struct cpu_repeats *r, struct kept *k)
{
	*(k->newer ? &k->newer->older : &r->newest) = k->older;
	*(k->older ? &k->older->newer : &r->oldest) = k->newer;
	k->newer = k->older = NULL;
}

static void link_newest(struct cpu_repeats *r, struct kept *k)
{
	k->older = r->newest;
	*(r->newest ? &r->newest->newer : &r->oldest) = k;
	r->newest = k;
}

static void kept_free(struct cpu_repeats *r, struct kept *k)
{
	struct kept **at = &k->key->kept;

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	if (!--k->key->n) {
		HASH_DEL(r->keys, k->key);
		free(k->key);
	}
	unlink_age(r, k);
	used_free(r, &k->used);
	free(k);
}

/* The contents of [base, end) as they are now; NULL: they don't fit, or there is no memory. */
static struct image *image_get(struct cpu_repeats *r, uint64_t content, uint64_t base, uint64_t end)
{
	uint64_t bytes = end - base;
	struct image *im;

	HASH_FIND(hh, r->images, &content, sizeof(content), im);
	if (im) {
		im->refs++;
		return im;
	}
	while (r->bytes + bytes > r->limit && r->oldest && bytes <= r->limit)
		kept_free(r, r->oldest);
	if (r->bytes + bytes > r->limit || !(im = malloc(sizeof(*im) + bytes)))
		return NULL;
	im->content = content;
	im->bytes = bytes;
	im->refs = 1;
	memcpy(im->data, (const void *)(uintptr_t)base, bytes);
	r->bytes += bytes;
	HASH_ADD(hh, r->images, content, sizeof(im->content), im);
	return im;
}

static bool is_as(const struct image *im, const struct used *u)
{
	return !memcmp(im->data, (const void *)(uintptr_t)u->base, u->end - u->base);
}

/* ---- a launch that may be one of these ------------------------------------------------------- */

/* Is it executed for what it leaves in memory only? */
static bool is_unchecked(const struct cpu_op *op)
{
	return !op->grid->events && !op->work.launch.kernel->info.is_instrumented;
}

/* One that is checked may be kept for later ones that aren't. */
static bool may_keep(const struct cpu_engine *e, const struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;

	return !l->is_programmatic && !op->proven && (l->plain || is_unchecked(op)) &&
	       cpu_engine_is_alone(e);
}

/* The kernel without checks stands for both. */
static struct cpu_kernel *kernel_of(const struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;

	return l->plain ? l->plain : l->kernel;
}

static void form_make(struct base_buf *out, const struct cpu_op *op)
{
	const struct cpu_launch *l = &op->work.launch;
	struct form f;

	memset(&f, 0, sizeof(f));
	f.kernel = kernel_of(op);
	f.shared_dyn = l->shared_dyn;
	f.settings = atomic_load(&op->m->settings);
	f.device = op->work.device;
	f.is_cooperative = l->is_cooperative;
	memcpy(f.grid, l->grid, sizeof(f.grid));
	memcpy(f.block, l->block, sizeof(f.block));
	memcpy(f.cluster, l->cluster, sizeof(f.cluster));
	out->n = 0;
	base_buf_put(out, (const char *)&f, sizeof(f));
	base_buf_put(out, op->copy, l->kernel->nparam_bytes);
}

/* Kernels whose launches don't repeat aren't tried each time. */
static bool is_worth(const struct cpu_kernel *k)
{
	uint64_t more = k->repeat_misses > MISSES ? k->repeat_misses - MISSES : 0;

	return !(k->repeat_launches & ((1ull << (more < 10 ? more : 10)) - 1));
}

/*
 * Do these contents lead to the same results? What was only written may be as it was left, too: the
 * same bytes are written again.
 */
static bool is_input(const struct used *u, uint64_t content)
{
	return content == u->before || (!u->is_read && content == u->after);
}

/* Is what the launch left there, or can it be put there? */
static bool has_results(const struct used *u, uint64_t content)
{
	return content == u->after || u->after == u->before || u->now;
}

/* Are these the bytes that it found, or may find? */
static bool has_input(const struct used *u, uint64_t *content)
{
	*content = u->before;
	if (u->was && is_as(u->was, u))
		return true;
	*content = u->after;
	return !u->is_read && u->now && is_as(u->now, u);
}

/* The same by comparing bytes; the contents get their number. */
static bool finds_bytes(struct cpu_machine *m, const struct used *u)
{
	uint64_t content;

	if (!has_input(u, &content) || !has_results(u, content))
		return false;
	cpu_space_set_content(m, u->base, content);
	return true;
}

/* Does the launch find what the kept one found? compare: bytes may be compared. */
static bool finds(struct cpu_machine *m, const struct kept *k, unsigned device, bool compare)
{
	for (size_t i = 0; i < k->used.n; i++) {
		const struct used *u = &k->used.v[i];
		struct cpu_space_view v;
		if (!cpu_space_view(m, device, u->base, &v) || v.base != u->base || v.end != u->end)
			return false;
		if (!compare && !(is_input(u, v.content) && has_results(u, v.content)))
			return false;
	}
	for (size_t i = 0; compare && i < k->used.n; i++) {
		const struct used *u = &k->used.v[i];
		struct cpu_space_view v;
		if (!cpu_space_view(m, device, u->base, &v) ||
		    (!(is_input(u, v.content) && has_results(u, v.content)) && !finds_bytes(m, u)))
			return false;
	}
	return true;
}

static struct kept *find_kept(struct cpu_machine *m, const struct key *key, const struct cpu_op *op)
{
	for (struct kept *k = key->kept; k; k = k->next)
		if (finds(m, k, op->work.device, false))
			return k;
	if (!is_worth(kernel_of(op)))
		return NULL;
	for (struct kept *k = key->kept; k; k = k->next)
		if (finds(m, k, op->work.device, true))
			return k;
	return NULL;
}

/* The first few times that something differs with --repeats=try. */
__attribute__((format(printf, 2, 0))) static void say(const struct cpu_op *op, const char *fmt)
{
	char text[512];

	if (op->m->engine->repeats->nsaid++ == MAX_SAID)
		base_say("--repeats=try: no more is said about that");
	if (op->m->engine->repeats->nsaid > MAX_SAID)
		return;
	snprintf(text, sizeof(text), fmt, op->grid->func->name);
	base_say("--repeats=try: %s", text);
}

/* --repeats=try: equal numbers must be equal contents. */
static void check_numbers(const struct kept *k, const struct cpu_op *op)
{
	for (size_t i = 0; i < k->used.n; i++) {
		const struct used *u = &k->used.v[i];
		uint64_t content;
		bool is_known = u->was && (u->now || u->after == u->before);
		if (is_known && !has_input(u, &content))
			say(op, "the input of %s is not that of the launch whose results would "
				"have been copied");
		else if (is_known)
			cpu_space_set_content(op->m, u->base, content);
	}
}

static void put_results(struct cpu_engine *e, const struct kept *k, unsigned device)
{
	for (size_t i = 0; i < k->used.n; i++) {
		const struct used *u = &k->used.v[i];
		struct cpu_space_view v;
		if (!u->now || !cpu_space_view(e->m, device, u->base, &v) || v.content == u->after)
			continue;
		memcpy((void *)(uintptr_t)u->base, u->now->data, u->end - u->base);
		cpu_space_set_content(e->m, u->base, u->after);
	}
	e->workers[0].clock += k->ns;
	e->stats.repeats++;
}

bool cpu_repeat_start(struct cpu_engine *e, struct cpu_op *op)
{
	struct cpu_repeats *r = e->repeats;
	struct cpu_kernel *kernel = kernel_of(op);
	struct kept *k = NULL;
	struct key *key;

	if (!r)
		return false;
	/* Each allocation that a launch uses is looked up once more, so that cpu_repeat_use sees
	 * it. */
	atomic_fetch_add(&e->m->space_version, 2);
	if (!may_keep(e, op))
		return false;
	kernel->repeat_launches++;
	form_make(&r->form, op);
	HASH_FIND(hh, r->keys, r->form.p, r->form.n, key);
	if (key)
		k = find_kept(e->m, key, op);
	if (k && !is_unchecked(op))
		return false;
	if (k) {
		kernel->repeat_misses = 0;
		unlink_age(r, k);
		link_newest(r, k);
		if (!r->is_trial) {
			put_results(e, k, op->work.device);
			return true;
		}
		check_numbers(k, op);
	} else if (!is_worth(kernel)) {
		return false;
	}
	r->op = op;
	r->expected = k;
	r->starts = e->starts;
	r->is_spoilt = false;
	return false;
}

/* ---- while it runs --------------------------------------------------------------------------- */

void cpu_repeat_spoil(struct cpu_machine *m)
{
	if (m->engine->repeats)
		m->engine->repeats->is_spoilt = true;
}

static void use_allocation(struct cpu_machine *m, unsigned device, uint64_t addr, enum cpu_use use)
{
	struct cpu_repeats *r = m->engine->repeats;
	bool is_write = use != CPU_USE_READ;
	struct cpu_space_view v;
	struct used *u;
	size_t i = 0;

	if (!cpu_space_view(m, device, addr, &v))
		return;
	bool is_kept = r->op && !r->expected && !r->is_spoilt && v.base != r->op->grid->workspace;
	if (is_kept && v.is_shared)
		r->is_spoilt = true;
	if (!is_kept || r->is_spoilt) {
		if (is_write)
			cpu_space_new_content(m, v.base);
		return;
	}
	while (i < r->used.n && r->used.v[i].base != v.base)
		i++;
	if (i == r->used.n) {
		struct used new = {.base = v.base,
				   .end = v.end,
				   .before = v.content,
				   .was = image_get(r, v.content, v.base, v.end)};
		r->is_spoilt = i == MAX_USED;
		base_vec_push(&r->used, new);
	}
	u = &r->used.v[i];
	u->is_read |= use != CPU_USE_STORE;
	if (is_write && !u->is_written) {
		u->is_written = true;
		u->after = cpu_space_new_content(m, v.base);
	} else if (is_write && r->is_spoilt) {
		cpu_space_new_content(m, v.base);
	}
}

void cpu_repeat_use(struct cpu_machine *m, unsigned device, uint64_t addr, enum cpu_use use)
{
	struct cpu_repeats *r = m->engine->repeats;

	if (!r || use == CPU_USE_INSERTED)
		return;
	pthread_mutex_lock(&r->use_lock);
	use_allocation(m, device, addr, use);
	pthread_mutex_unlock(&r->use_lock);
}

/* ---- its end --------------------------------------------------------------------------------- */

/* What it wrote has the number that it was given, or the earlier one if nothing changed. */
static bool number_results(struct cpu_machine *m, struct cpu_repeats *r, unsigned device)
{
	for (size_t i = 0; i < r->used.n; i++) {
		struct used *u = &r->used.v[i];
		struct cpu_space_view v;
		if (!cpu_space_view(m, device, u->base, &v) || v.base != u->base ||
		    v.end != u->end || v.content != (u->is_written ? u->after : u->before))
			return false;
		if (!u->is_written || (u->was && is_as(u->was, u))) {
			cpu_space_set_content(m, u->base, u->before);
			u->after = u->before;
		} else {
			u->now = image_get(r, u->after, u->base, u->end);
		}
	}
	return true;
}

static void keep(struct cpu_repeats *r, uint64_t ns)
{
	struct kept *k = base_calloc(1, sizeof(*k)), **last;
	struct key *key;

	HASH_FIND(hh, r->keys, r->form.p, r->form.n, key);
	if (!key) {
		if (HASH_COUNT(r->keys) == MAX_KEYS)
			kept_free(r, r->oldest);
		key = base_calloc(1, sizeof(*key) + r->form.n);
		key->bytes = r->form.n;
		memcpy(key->form, r->form.p, r->form.n);
		HASH_ADD(hh, r->keys, form, key->bytes, key);
	}
	if (key->n == MAX_OF_KEY) {
		for (last = &key->kept; (*last)->next;)
			last = &(*last)->next;
		kept_free(r, *last);
	}
	k->key = key;
	k->used = r->used;
	k->ns = ns;
	k->next = key->kept;
	key->kept = k;
	key->n++;
	link_newest(r, k);
	r->used = (struct used_vec){0};
}

/* --repeats=try: is memory as the results would have been, and if so, give it their numbers. */
static void check_results(struct cpu_engine *e, const struct cpu_op *op, const struct kept *k)
{
	for (size_t i = 0; i < k->used.n; i++) {
		const struct used *u = &k->used.v[i];
		const struct image *left = u->after == u->before ? u->was : u->now;
		if (left && is_as(left, u))
			cpu_space_set_content(e->m, u->base, u->after);
		else if (left)
			say(op, "%s left other results than those that would have been copied");
	}
}

void cpu_repeat_end(struct cpu_engine *e, const struct cpu_op *op)
{
	struct cpu_repeats *r = e->repeats;
	struct cpu_kernel *kernel = kernel_of(op);
	unsigned device = op->work.device;

	if (!r || r->op != op)
		return;
	r->op = NULL;
	bool is_well = !r->is_spoilt && r->starts == e->starts && !op->grid->priv->is_over &&
		       e->devices[device].fault.kind == CPU_FAULT_NONE;
	if (r->expected) {
		e->stats.repeats++;
		if (is_well)
			check_results(e, op, r->expected);
		return;
	}
	/* A launch that read a clock or the like will do so again; a checked one may have raced. */
	if (r->is_spoilt && is_unchecked(op))
		kernel->repeat_misses += MISSES;
	if (kernel->repeat_misses < 2 * MISSES + 10)
		kernel->repeat_misses++;
	if (is_well && number_results(e->m, r, device))
		keep(r, e->workers[0].clock - op->grid->started);
	used_free(r, &r->used);
}

/* ---- life ---------------------------------------------------------------------------------- */

void cpu_repeats_init(struct cpu_engine *e)
{
	const struct cpu_options *o = &e->m->opt;

	if (!o->repeat_bytes || !(e->repeats = calloc(1, sizeof(*e->repeats))))
		return;
	pthread_mutex_init(&e->repeats->use_lock, NULL);
	e->repeats->limit = o->repeat_bytes;
	e->repeats->is_trial = o->tries_repeats;
}

void cpu_repeats_forked(struct cpu_engine *e)
{
	pthread_mutex_init(&e->repeats->use_lock, NULL);
}

void cpu_repeats_forget(struct cpu_machine *m, const struct cpu_module *mod)
{
	struct cpu_repeats *r = m->engine->repeats;

	if (!r)
		return;
	for (struct kept *k = r->newest, *next; k; k = next) {
		next = k->older;
		const struct form *f = (const void *)k->key->form;
		if (!mod || f->kernel->mod == mod)
			kept_free(r, k);
	}
}

void cpu_repeats_free(struct cpu_engine *e)
{
	struct cpu_repeats *r = e->repeats;

	if (!r)
		return;
	cpu_repeats_forget(e->m, NULL);
	used_free(r, &r->used);
	base_buf_free(&r->form);
	pthread_mutex_destroy(&r->use_lock);
	free(r);
	e->repeats = NULL;
}
