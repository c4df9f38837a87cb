/*
 * proven.c - kernels put to a proof, for the launches that a program makes of them (cpu/proven.h).
 *
 * The prover is `collider` itself, in a process of its own (base/child.c): it gets the PTX and one
 * launch, as --record-launches has it, and answers whether every pair of the kernel's accesses is
 * proven, whether these are all that the kernel does, and to which array each one belongs. It keeps
 * what it has proven on disk. The launch waits for it. All questions about a kernel that found
 * nothing take no longer, together, than its launches so far take to check, this one included; and
 * no longer than GUESS_MS while that is known from the text alone, which may say a hundred times
 * what is executed (threads that end early). A kernel isn't asked about where there is less than
 * WORTH to save, nor where its text says that no proof can stand for all of its checks. What isn't
 * proven in time isn't proven.
 *
 * A proof holds for one launch: its dimensions, its scalars, which pointers are of one allocation
 * and how far apart. Where launches differ in some scalars it is asked for with these unknown,
 * which then speaks of all values. What else it takes for granted is tested when the kernel starts:
 * its arrays are allocations, or variables, that don't overlap; and at each access, that it stays
 * within its array.
 *
 * Misses: launches of graphs whose parameters have changed since, kernels of several texts.
 * Costs: a look through the kernel's proofs for each launch.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/child.h"
#include "base/table.h"
#include "cpu/proven.h"
#include "cudart/report/collider.h"
#include "flow/flow.h"
#include "instrument/instrument.h"
#include "race/file/shm_write.h"

#define WORTH	 750000u /* instructions of warps: a tenth of a second or less */
#define PER_MS	 10000u	 /* of these, for a millisecond of the prover's time */
#define MOST_MS	 10000u
#define GUESS_MS 250u /* while no launch has ended that says how much is executed */
#define CHECKS	 4u   /* instructions of checks for one of the program's */
#define ASKS	 6u   /* so often a kernel is put to it */
#define AGAIN	 4u   /* ... with so many times the work, after it gave up for want of time */

/* Where an access of the kernel belongs. */
struct site {
	uint32_t nth, param;
	const char *variable; /* NULL: what the pointer at `param` leads to */
};

/* Launches that are one to a proof, and the proof, if there is one. */
struct shape {
	struct shape *next;
	uint32_t block[3], grid[3];
	struct rt_words words;
	bool *is_any; /* by word: a number that may be any */
	bool is_proven, is_late;
	uint64_t work; /* of the kernel, for which it was asked about */
	struct site *site;
	struct cpu_proven_site *found; /* the same for the machine; extents by first use */
	uint32_t nsites;
};

struct proofs {
	const struct rt_kern *kern; /* the key */
	uint64_t weight;	    /* of its text, with checks (flow_weight) */
	uint64_t submitted, ended;  /* threads of launches that weren't judged as a whole */
	uint64_t insts;		    /* of warps, that the latter executed */
	uint64_t spent;		    /* of that, what questions were given that found nothing */
	unsigned asked, failed;
	bool is_read, is_hopeless;
	bool is_narrow; /* no proof was found that speaks of all values of scalars */
	struct shape *shapes;
	UT_hash_handle hh;
};

static char *prover;
static bool proves_all;
static uint64_t guess_ms = GUESS_MS;
static struct proofs *all;
static struct race_kernel_count *latest; /* of the kernel that was last judged as a whole */
/* The list's; and of the one thread that asks. A thread with the latter takes the former. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, asking = PTHREAD_MUTEX_INITIALIZER;

/* ---- is it worth asking? ------------------------------------------------------------------- */

static const struct ptx_func *text_of(const struct rt_kern *k, size_t *part)
{
	const struct rt_image *im = k->image;

	for (*part = 0; *part < im->parts.n && im->parts.n == im->sources.n; ++*part)
		ptx_each_item(im->parts.v[*part], it)
		{
			if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto &&
			    ptx_str_is(it->func->name, k->name))
				return it->func;
		}
	return NULL;
}

static struct proofs *proofs_of(const struct rt_kern *k)
{
	struct proofs *p;
	size_t part;

	HASH_FIND_PTR(all, &k, p);
	if (p)
		return p;
	p = base_calloc(1, sizeof(*p));
	p->kern = k;
	const struct ptx_func *f = text_of(k, &part);
	p->is_hopeless = !f || k->image->parts.n != 1;
	p->weight = f ? flow_weight(f) : 0;
	HASH_ADD_KEYPTR(hh, all, &p->kern, sizeof(p->kern), p);
	return p;
}

typedef void text_fn(const char *file, const char *text, size_t size, struct base_buf *out);

/* The module of the kernel's text, as its compiler left it, as `put` puts it. False: there is
 * none. */
static bool put_plain(const struct rt_kern *k, text_fn *put, struct base_buf *out)
{
	size_t part;

	rt_images_lock();
	const struct rt_source *s = text_of(k, &part) ? &k->image->sources.v[part] : NULL;
	if (s)
		put(s->file, s->text, s->size, out);
	rt_images_unlock();
	return out->n != 0;
}

static void look_at(const struct ptx_func *f, uint64_t *weight, bool *has_other)
{
	*weight = flow_weight(f);
	ptx_each_stmt(f, s) *has_other |= s->kind == PTX_STMT_INST && flow_why_checked(s);
}

/* What the kernel's text says without our checks: *weight, and whether no proof can stand for all
 * of them. */
static bool is_text_hopeless(const struct rt_kern *k, uint64_t *weight)
{
	struct base_buf plain = {0};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct ptx_module *m = NULL;
	bool is_there = false, has_other = false;
	size_t part;
	const struct ptx_func *f = k->image->is_instrumented ? NULL : text_of(k, &part);

	if (f) {
		look_at(f, weight, &has_other);
		return has_other;
	}
	if (put_plain(k, inst_bare, &plain))
		m = ptx_parse(&arena, "a launch", plain.p, plain.n, &sink);
	if (m && !sink.errors)
		ptx_each_item(m, it)
		{
			if (it->kind != PTX_ITEM_FUNC || it->func->is_proto ||
			    !ptx_str_is(it->func->name, k->name))
				continue;
			is_there = true;
			look_at(it->func, weight, &has_other);
		}
	base_buf_free(&plain);
	base_sink_free(&sink);
	base_arena_free(&arena);
	return !is_there || has_other;
}

static uint64_t threads_of(const struct cpu_launch *l)
{
	uint64_t n = 1;

	for (unsigned i = 0; i < 3; i++)
		n *= (uint64_t)l->block[i] * l->grid[i];
	return n;
}

/* Instructions of warps for which the kernel has been launched: of launches that have ended as they
 * were counted, which is nothing where a result was copied; of others as many in proportion, or by
 * the text. */
static uint64_t work_of(const struct proofs *p)
{
	uint64_t rest = p->submitted > p->ended ? p->submitted - p->ended : 0;
	double each = p->ended ? (double)p->insts / (double)p->ended : (double)p->weight / CPU_WARP;

	return p->insts + (uint64_t)((double)rest * each);
}

/* What is left of it to be spent on a question. */
static uint64_t left_of(const struct proofs *p)
{
	const uint64_t most = (uint64_t)(p->ended ? MOST_MS : guess_ms) * PER_MS;
	uint64_t work = work_of(p);

	if (proves_all)
		return (uint64_t)MOST_MS * PER_MS;
	work = work > p->spent ? work - p->spent : 0;
	return work < most ? work : most;
}

/* A launch has ended that was judged access by access. */
static void was_checked(void *arg, void *tag, const struct cpu_launch *l, uint64_t insts)
{
	const struct rt_kern *k = tag;
	struct proofs *p;

	(void)arg;
	pthread_mutex_lock(&lock);
	HASH_FIND_PTR(all, &k, p);
	if (p) {
		p->ended += threads_of(l);
		p->insts += insts;
	}
	pthread_mutex_unlock(&lock);
}

/* ---- which launch it is -------------------------------------------------------------------- */

static bool is_alike(const struct race_param_word *a, const struct race_param_word *b)
{
	return a->off == b->off && a->bytes == b->bytes && a->array == b->array && a->at == b->at &&
	       (a->array || a->value == b->value);
}

static bool has_dims(const struct shape *s, const struct cpu_launch *l)
{
	return !memcmp(s->block, l->block, sizeof(s->block)) &&
	       !memcmp(s->grid, l->grid, sizeof(s->grid));
}

/* The launch differs from the shape in scalars at most; is_any gets these, too. */
static bool is_near(const struct shape *s, const struct cpu_launch *l, const struct rt_words *w,
		    bool *is_any)
{
	if (!has_dims(s, l) || s->words.n != w->n)
		return false;
	for (size_t i = 0; i < w->n; i++) {
		const struct race_param_word *a = &s->words.v[i], *b = &w->v[i];
		is_any[i] = s->is_any[i] || !is_alike(a, b);
		if (is_any[i] && (a->off != b->off || a->bytes != b->bytes || a->array || b->array))
			return false;
	}
	return true;
}

static struct shape *shape_of(const struct proofs *p, const struct cpu_launch *l,
			      const struct rt_words *w)
{
	for (struct shape *s = p->shapes; s; s = s->next) {
		bool is_it = has_dims(s, l) && s->words.n == w->n;
		for (size_t i = 0; i < w->n && is_it; i++) {
			struct race_param_word a = s->words.v[i];
			if (s->is_any[i] && !a.array && !w->v[i].array)
				a.value = w->v[i].value;
			is_it = is_alike(&a, &w->v[i]);
		}
		if (is_it)
			return s;
	}
	return NULL;
}

static struct shape *shape_new(const struct cpu_launch *l, const struct rt_words *w)
{
	struct shape *s = base_calloc(1, sizeof(*s));

	memcpy(s->block, l->block, sizeof(s->block));
	memcpy(s->grid, l->grid, sizeof(s->grid));
	s->is_any = base_calloc(w->n + 1, sizeof(*s->is_any));
	for (size_t i = 0; i < w->n; i++)
		base_vec_push(&s->words, w->v[i]);
	return s;
}

static void shape_free(struct shape *s)
{
	base_vec_free(&s->words);
	free(s->is_any);
	free(s->site);
	free(s->found);
	free(s);
}

/* ---- the answer ----------------------------------------------------------------------------- */

/* "site 17 param 8", "site 3 var table" */
static bool read_site(const char *line, struct site *out)
{
	char word[8], what[512];

	if (sscanf(line, "site %u %7s %511s", &out->nth, word, what) != 3)
		return false;
	out->variable = strcmp(word, "var") ? NULL : strdup(what);
	out->param = out->variable ? 0 : (uint32_t)strtoul(what, NULL, 10);
	return true;
}

static int by_nth(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	return (x->nth > y->nth) - (x->nth < y->nth);
}

static bool read_answer(char *text, struct shape *s)
{
	BASE_VEC(struct site) sites = {0};
	char *line = strsep(&text, "\n");

	s->is_late = line && !strcmp(line, "late");
	if (!line || strcmp(line, "proven") != 0)
		return false;
	while ((line = strsep(&text, "\n")) && *line) {
		struct site one;
		if (!read_site(line, &one)) {
			base_vec_free(&sites);
			return false;
		}
		base_vec_push(&sites, one);
	}
	if (sites.n)
		qsort(sites.v, sites.n, sizeof(*sites.v), by_nth);
	s->site = sites.v;
	s->nsites = (uint32_t)sites.n;
	s->found = base_calloc(sites.n + 1, sizeof(*s->found));
	return true;
}

/* What the prover needs of the program's environment, to NULL. */
static char **environment(struct base_arena *a)
{
	static const char *const names[] = {"PATH", "HOME", "XDG_CACHE_HOME", "TMPDIR"};
	char **env = BASE_NEWN(a, char *, BASE_COUNTOF(names) + 1);
	size_t n = 0;

	for (size_t i = 0; i < BASE_COUNTOF(names); i++) {
		const char *v = getenv(names[i]);
		if (v)
			env[n++] = base_printf(a, "%s=%s", names[i], v);
	}
	return env;
}

static bool write_question(int fd, const struct rt_kern *k, const struct cpu_launch *l,
			   const struct shape *s)
{
	struct base_buf line = {0};
	size_t done = 0;

	bool has_text = put_plain(k, inst_bare_line, &line);
	rt_launches_put(l, &s->words, s->is_any, NULL, &line);
	while (done < line.n) {
		ssize_t n = write(fd, line.p + done, line.n - done);
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	bool ok = has_text && done == line.n;
	base_buf_free(&line);
	return ok;
}

/* Asks for a proof of the shape, which gets it. */
static void ask(const struct rt_kern *k, const struct cpu_launch *l, struct shape *s)
{
	int in = memfd_create("collider-launch", MFD_CLOEXEC);
	int out = memfd_create("collider-proof", MFD_CLOEXEC);
	struct base_arena a = {0};
	char limit[24];

	snprintf(limit, sizeof(limit), "%llu", (unsigned long long)(s->work / PER_MS));
	char *argv[] = {"collider-prove-launch", limit, NULL};
	if (in >= 0 && out >= 0 && write_question(in, k, l, s) &&
	    base_child_run(prover, argv, environment(&a), in, out) == 0) {
		off_t n = lseek(out, 0, SEEK_END);
		char *text = base_zalloc(&a, (size_t)(n > 0 ? n : 0) + 1);
		if (n > 0 && pread(out, text, (size_t)n, 0) == n)
			s->is_proven = read_answer(text, s);
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	base_arena_free(&a);
}

/* ---- a launch to come ----------------------------------------------------------------------- */

/* An earlier launch had other scalars: `s` is to speak of all values of these. False: none had, or
 * such a proof was not found. */
static bool widen(const struct proofs *p, const struct cpu_launch *l, struct shape *s)
{
	for (const struct shape *o = p->is_narrow ? NULL : p->shapes; o; o = o->next)
		if (is_near(o, l, &s->words, s->is_any))
			return true;
	memset(s->is_any, 0, s->words.n * sizeof(*s->is_any));
	return false;
}

/* False: it has been asked about, or isn't worth it. With the lock. */
static bool is_to_ask(struct proofs *p, const struct cpu_launch *l, const struct rt_words *w)
{
	const struct shape *s = shape_of(p, l, w);

	p->submitted += threads_of(l);
	uint64_t left = left_of(p);
	if (s && s->is_late && left / AGAIN > s->work)
		s = NULL;
	return !s && p->asked < ASKS && p->failed < 2 && left >= WORTH;
}

static void keep(struct proofs *p, struct shape *s)
{
	pthread_mutex_lock(&lock);
	p->asked++;
	p->failed += !s->is_proven && !s->is_late;
	p->spent += s->is_proven ? 0 : s->work;
	s->next = p->shapes;
	p->shapes = s;
	pthread_mutex_unlock(&lock);
}

static void ask_all(struct proofs *p, const struct rt_work *work, const struct rt_words *w)
{
	const struct cpu_launch *l = &work->cpu.launch;
	struct shape *s = shape_new(l, w);
	bool is_wide = widen(p, l, s);

	pthread_mutex_lock(&lock);
	uint64_t left = left_of(p);
	pthread_mutex_unlock(&lock);
	s->work = is_wide && !proves_all ? left / 2 : left;
	ask(work->kern, l, s);
	if (is_wide && !s->is_proven) {
		uint64_t spent = s->work;
		shape_free(s);
		s = shape_new(l, w);
		s->work = proves_all ? left : left - spent;
		ask(work->kern, l, s);
		p->is_narrow = true;
		p->spent += spent;
	}
	if (s->is_proven) {
		rt_images_lock();
		s->is_proven = rt_kern_plain(work->kern, work->cpu.device) != NULL;
		rt_images_unlock();
	}
	keep(p, s);
}

/* The first time that the kernel seems to be worth it. */
static bool is_text_promising(struct proofs *p)
{
	uint64_t plain = 0;
	bool is_hopeless = is_text_hopeless(p->kern, &plain);

	pthread_mutex_lock(&lock);
	p->is_read = true;
	p->is_hopeless |= is_hopeless;
	p->weight = plain * CHECKS < p->weight ? plain * CHECKS : p->weight;
	bool is = !p->is_hopeless && left_of(p) >= WORTH;
	pthread_mutex_unlock(&lock);
	return is;
}

void rt_proven_launch(const struct rt_work *work)
{
	struct rt_words w = {0};

	if (!prover || rt.is_forked || !work->kern || work->cpu.launch.is_cooperative ||
	    work->cpu.launch.is_programmatic)
		return;
	rt_launches_words(&work->cpu.launch, &w);
	/* How long a proof takes must not decide what runs meanwhile. */
	cpu_grace_pause(rt.m);
	pthread_mutex_lock(&asking);
	pthread_mutex_lock(&lock);
	struct proofs *p = proofs_of(work->kern);
	bool asks = !p->is_hopeless && is_to_ask(p, &work->cpu.launch, &w);
	bool is_first = asks && !p->is_read;
	pthread_mutex_unlock(&lock);
	if (is_first)
		asks = is_text_promising(p);
	if (asks)
		ask_all(p, work, &w);
	pthread_mutex_unlock(&asking);
	cpu_grace_resume(rt.m);
	base_vec_free(&w);
}

/* ---- a launch that starts ------------------------------------------------------------------- */

/* Where the accesses of a site belong in this launch. */
static bool find_extent(const struct rt_kern *k, unsigned device, const struct site *s,
			const struct rt_words *w, struct cpu_extent *out)
{
	if (s->variable)
		return k->image->on[device] && cpu_module_symbol(k->image->on[device], s->variable,
								 &out->base, &out->bytes);
	for (size_t i = 0; i < w->n; i++) {
		const struct race_param_word *x = &w->v[i];
		if (x->off != s->param || !x->array)
			continue;
		*out = (struct cpu_extent){x->value - x->at, x->size};
		return true;
	}
	return false;
}

/* Is the first of these in that extent what the prover had for one array with the other, too? */
static bool is_one_array(const struct site *a, const struct site *b)
{
	if (a->variable && b->variable)
		return !strcmp(a->variable, b->variable);
	return !a->variable && !b->variable;
}

/* The number of the extent, which the kernel knows as `s`; CPU_EXTENTS: there are too many, or it
 * overlaps another one. first: of each extent, a site. */
static uint32_t add_extent(struct cpu_proven *p, const struct cpu_extent *e, const struct site *s,
			   const struct site *first[CPU_EXTENTS])
{
	uint32_t i = 0;

	for (; i < p->nextents; i++) {
		const struct cpu_extent *o = &p->extent[i];
		if (o->base == e->base && o->bytes == e->bytes)
			return is_one_array(first[i], s) ? i : CPU_EXTENTS;
		if (o->base < e->base + e->bytes && e->base < o->base + o->bytes)
			return CPU_EXTENTS;
	}
	if (i < CPU_EXTENTS) {
		first[i] = s;
		p->extent[p->nextents++] = *e;
	}
	return i;
}

/* False: it isn't as the proof has it, or that couldn't be tested at an access: where one
 * instruction goes to either of two arrays, an address doesn't say which of them was meant. */
static bool find_extents(const struct rt_kern *k, unsigned device, struct shape *s,
			 const struct rt_words *w, struct cpu_proven *out)
{
	const struct site *first[CPU_EXTENTS];

	for (uint32_t i = 0; i < s->nsites; i++) {
		struct cpu_extent e;
		if (!find_extent(k, device, &s->site[i], w, &e))
			return false;
		uint32_t n = add_extent(out, &e, &s->site[i], first);
		if (n == CPU_EXTENTS)
			return false;
		s->found[i] = (struct cpu_proven_site){s->site[i].nth, n};
		if (i && s->found[i - 1].nth == s->found[i].nth && s->found[i - 1].extent != n)
			return false;
	}
	return true;
}

static bool is_proven(void *arg, void *tag, const struct cpu_launch *l, unsigned device,
		      struct cpu_proven *out)
{
	struct rt_kern *k = tag;
	struct rt_words w = {0};
	struct proofs *p = NULL;
	bool is = false;

	(void)arg;
	if (!k || !k->plain[device])
		return false;
	rt_launches_words(l, &w);
	pthread_mutex_lock(&lock);
	HASH_FIND_PTR(all, &k, p);
	struct shape *s = p ? shape_of(p, l, &w) : NULL;
	if (s && s->is_proven && !p->is_hopeless && find_extents(k, device, s, &w, out)) {
		out->kernel = k->plain[device];
		out->site = base_calloc(s->nsites + 1, sizeof(*out->site));
		memcpy(out->site, s->found, s->nsites * sizeof(*out->site));
		out->nsites = s->nsites;
		p->submitted -= threads_of(l) < p->submitted ? threads_of(l) : p->submitted;
		is = true;
	}
	pthread_mutex_unlock(&lock);
	base_vec_free(&w);
	if (is && k->count) {
		__atomic_fetch_add(&k->count->proven, 1, __ATOMIC_RELAXED);
		latest = k->count;
	}
	return is;
}

/* A launch that leaves its arrays once is taken back. Others of the kernel aren't tried. */
static void has_left(void *arg, void *tag, bool is_judged)
{
	const struct rt_kern *k = tag;
	struct race_kernel_count *count = k ? k->count : latest;
	struct proofs *p;

	(void)arg;
	if (count && is_judged)
		__atomic_fetch_sub(&count->proven, 1, __ATOMIC_RELAXED);
	else if (count)
		__atomic_fetch_add(&count->left, 1, __ATOMIC_RELAXED);
	if (!is_judged)
		return;
	pthread_mutex_lock(&lock);
	HASH_FIND_PTR(all, &k, p);
	if (p)
		p->is_hopeless = true;
	pthread_mutex_unlock(&lock);
}

void rt_proven_forget(const struct rt_kern *k)
{
	struct proofs *p;

	pthread_mutex_lock(&lock);
	HASH_FIND_PTR(all, &k, p);
	if (p) {
		HASH_DEL(all, p);
		for (struct shape *s = p->shapes, *next; s; s = next) {
			next = s->next;
			shape_free(s);
		}
		free(p);
	}
	pthread_mutex_unlock(&lock);
}

void rt_proven_start(const char *path, bool is_for_all, int64_t guess)
{
	unsigned others = race_detectors_with(RACE_DEFAULT) | RACE_DETECT_JUDGE;

	/* A run with other detectors, or of some variables, is to have their answer. */
	if (!path || rt.options.oracle == CPU_ORACLE_OFF || rt.options.variable ||
	    race_choice_is_on() || rt.detectors & ~others)
		return;
	prover = strdup(path);
	proves_all = is_for_all;
	guess_ms = guess < 0 ? GUESS_MS : (uint64_t)guess;
	cpu_listen_proven(rt.m, is_proven, has_left, was_checked, NULL);
}
