/*
 * record.c - launches of a machine as capsules, while they run.
 *
 * The machine says when a page is accessed first (struct cpu_pager): it is copied then,
 * before the access, and its content is kept if the launch has read of it by its end. So a capsule
 * holds what the launch found, and nothing that it didn't read. A launch beside which anything else
 * ran gets no file: a page that is copied later might hold what the other has written meanwhile.
 *
 * A launch that is the same as an earlier one, to the last byte that it read, gets none either.
 *
 * Misses: host code that writes managed or pinned memory while the launch reads it.
 * Costs: a copy of each 4 KiB that a launch accesses; compressing what it read.
 */
#include "base/table.h"
#include "judge/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE	   4096u
#define NAME_CHARS 60
#define MAX_FILES  1000000u

struct kernel {
	const struct cpu_kernel *k;
	const struct judge_text *texts;
	size_t n;
	UT_hash_handle hh;
};

/* A page that the launch has accessed. */
struct copied {
	uint64_t addr;
	struct judge_page page;
	bool is_read;
	UT_hash_handle hh;
};

struct seen {
	uint64_t sum;
	UT_hash_handle hh;
};

struct judge_recorder {
	struct cpu_machine *m;
	struct cpu_options options;
	struct judge_record_options opt;
	pthread_mutex_t lock; /* of `kernels`, which the program's threads add to */
	struct kernel *kernels;
	struct judge_record_counts counts;
	struct seen *seen;
	uint64_t number;
	unsigned files;
	/* The launch that runs. */
	struct judge_capsule now;
	struct copied *copied;
	uint64_t bytes;
	bool is_large;
};

/* ---- what is there when a launch begins --------------------------------------------- */

static struct kernel *kernel_of(struct judge_recorder *rec, const struct cpu_kernel *k)
{
	struct kernel *x;

	pthread_mutex_lock(&rec->lock);
	HASH_FIND_PTR(rec->kernels, &k, x);
	pthread_mutex_unlock(&rec->lock);
	return x;
}

void judge_record_kernel(struct judge_recorder *rec, const struct cpu_kernel *k,
			 const struct judge_text *texts, size_t n)
{
	struct kernel *x;

	pthread_mutex_lock(&rec->lock);
	HASH_FIND_PTR(rec->kernels, &k, x);
	if (!x) {
		x = base_calloc(1, sizeof(*x));
		x->k = k;
		HASH_ADD_PTR(rec->kernels, k, x);
	}
	/* (Another kernel may be where an unloaded one was.) */
	x->texts = texts;
	x->n = n;
	pthread_mutex_unlock(&rec->lock);
}

/* Memory that the program gave the machine has the machine's own beside it: reports, counters. */
static void add_memory(void *arg, const struct cpu_mem_info *info)
{
	struct judge_recorder *rec = arg;

	if (!info->bytes || info->is_registered)
		return;
	base_vec_push(&rec->now.memory, *info);
}

static void add_place(void *arg, const struct cpu_placed *p)
{
	struct judge_recorder *rec = arg;
	struct judge_place place = {.part = p->part,
				    .nth = p->nth,
				    .name = base_strdup(&rec->now.arena, p->name),
				    .addr = p->addr,
				    .bytes = p->bytes};

	base_vec_push(&rec->now.places, place);
}

static void add_texture(void *arg, uint64_t handle, const struct cpu_texture *t)
{
	struct judge_recorder *rec = arg;

	base_vec_push(&rec->now.textures, ((struct judge_texture){handle, *t}));
}

static void *copy_of(struct base_arena *a, const void *p, size_t n)
{
	void *q = base_alloc(a, n + 1);

	if (n)
		memcpy(q, p, n);
	return q;
}

static void take_launch(struct judge_recorder *rec, const struct cpu_run *run,
			const struct kernel *k)
{
	const struct cpu_launch *l = run->launch;
	struct judge_capsule *c = &rec->now;
	struct cpu_kernel_info info;

	cpu_kernel_get_info(l->kernel, &info);
	c->program = rec->opt.program;
	c->kernel = base_strdup(&c->arena, info.name);
	c->number = ++rec->number;
	c->device = run->device;
	c->sms = rec->options.sms;
	c->seed = rec->options.seed;
	c->model = rec->options.model;
	memcpy(c->grid, l->grid, sizeof(c->grid));
	memcpy(c->block, l->block, sizeof(c->block));
	memcpy(c->cluster, l->cluster, sizeof(c->cluster));
	c->shared = l->shared_dyn;
	c->flags = (l->is_cooperative ? JUDGE_COOPERATIVE : 0) |
		   (l->is_programmatic ? JUDGE_PROGRAMMATIC : 0);
	c->page = PAGE;
	c->nparam_bytes = cpu_kernel_param_bytes(l->kernel);
	c->params = copy_of(&c->arena, l->params, c->nparam_bytes);
	c->nchosen = l->chosen ? l->nchosen : 0;
	c->chosen =
		l->chosen ? copy_of(&c->arena, l->chosen, l->nchosen * sizeof(*l->chosen)) : NULL;
	for (size_t i = 0; i < k->n; i++)
		base_vec_push(&c->texts, k->texts[i]);
	cpu_mem_each(rec->m, add_memory, rec);
	cpu_module_each_place(cpu_kernel_module(l->kernel), add_place, rec);
	cpu_texture_each(rec->m, add_texture, rec);
}

static bool begin(void *arg, const struct cpu_run *run)
{
	struct judge_recorder *rec = arg;
	const struct kernel *k = kernel_of(rec, run->launch->kernel);

	if (!k)
		return false;
	take_launch(rec, run, k);
	rec->bytes = 0;
	rec->is_large = false;
	return true;
}

/* ---- while it runs ------------------------------------------------------------------ */

static bool touch(void *arg, uint64_t addr, uint64_t bytes, bool is_read)
{
	struct judge_recorder *rec = arg;
	struct copied *x;

	HASH_FIND(hh, rec->copied, &addr, sizeof(addr), x);
	if (!x && rec->bytes + bytes > rec->opt.bytes)
		rec->is_large = true;
	if (!x && rec->is_large)
		return true;
	if (!x) {
		x = BASE_NEW(&rec->now.arena, struct copied);
		x->addr = addr;
		x->page = (struct judge_page){
			.addr = addr,
			.bytes = (uint32_t)bytes,
			.data = copy_of(&rec->now.arena,
					(const void *)(uintptr_t)cpu_mem_host(rec->m, addr),
					bytes)};
		HASH_ADD(hh, rec->copied, addr, sizeof(addr), x);
		rec->bytes += bytes;
	}
	x->is_read |= is_read;
	return true;
}

/* ---- its end ------------------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
	const struct judge_page *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* What lies in the capsule's allocations: a grid's own workspace, say, doesn't. */
static bool is_listed(const struct judge_capsule *c, const struct judge_page *p)
{
	for (size_t i = 0; i < c->memory.n; i++)
		if (p->addr - c->memory.v[i].base < c->memory.v[i].bytes)
			return true;
	return false;
}

static void keep_pages(struct judge_recorder *rec)
{
	struct copied *x, *next;

	HASH_ITER(hh, rec->copied, x, next)
	{
		HASH_DEL(rec->copied, x);
		if (x->is_read && is_listed(&rec->now, &x->page))
			base_vec_push(&rec->now.pages, x->page);
	}
	if (rec->now.pages.n)
		qsort(rec->now.pages.v, rec->now.pages.n, sizeof(rec->now.pages.v[0]), by_address);
}

/* True: no earlier launch was the same. */
static bool is_new(struct judge_recorder *rec)
{
	uint64_t sum = judge_capsule_sum(&rec->now);
	struct seen *s;

	HASH_FIND(hh, rec->seen, &sum, sizeof(sum), s);
	if (s)
		return false;
	s = base_calloc(1, sizeof(*s));
	s->sum = sum;
	HASH_ADD(hh, rec->seen, sum, sizeof(s->sum), s);
	return true;
}

/* Other processes may write into the folder, too. */
int judge_capsule_keep(struct judge_capsule *c, const char *folder, unsigned *number)
{
	char name[NAME_CHARS + 1];
	size_t n = 0;

	for (; c->kernel[n] && n < NAME_CHARS; n++)
		name[n] = c->kernel[n] == '/' || c->kernel[n] == '.' ? '_' : c->kernel[n];
	name[n] = 0;
	while (++*number < MAX_FILES) {
		const char *path =
			base_printf(&c->arena, "%s/%04u-%s.capsule", folder, *number, name);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno == EEXIST)
			continue;
		if (fd < 0)
			return errno;
		close(fd);
		int err = judge_capsule_write(c, path);
		if (err)
			unlink(path);
		return err;
	}
	return EEXIST;
}

static void end(void *arg, const struct cpu_run *run, bool is_alone)
{
	struct judge_recorder *rec = arg;
	int err = 0;

	(void)run;
	keep_pages(rec);
	if (!is_alone) {
		rec->counts.beside++;
	} else if (rec->is_large) {
		rec->counts.large++;
	} else if (!is_new(rec)) {
		rec->counts.same++;
	} else if (!(err = judge_capsule_keep(&rec->now, rec->opt.folder, &rec->files))) {
		rec->counts.written++;
	} else {
		rec->counts.failed++;
		rec->counts.error = rec->counts.error ? rec->counts.error : err;
	}
	judge_capsule_free(&rec->now);
}

/* -------------------------------------------------------------------- */

struct judge_recorder *judge_record(struct cpu_machine *m, const struct cpu_options *options,
				    const struct judge_record_options *opt)
{
	struct judge_recorder *rec = base_calloc(1, sizeof(*rec));
	const struct cpu_pager pager = {
		.page = PAGE, .touch = touch, .begin = begin, .end = end, .arg = rec};

	rec->m = m;
	rec->options = *options;
	rec->opt = *opt;
	rec->opt.folder = strdup(opt->folder);
	rec->opt.program = strdup(opt->program);
	pthread_mutex_init(&rec->lock, NULL);
	cpu_set_pager(m, &pager);
	return rec;
}

struct judge_record_counts judge_record_count(struct judge_recorder *rec)
{
	return rec->counts;
}
