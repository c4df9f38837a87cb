/*
 * launch.c - a launch of a program, from its message to what is said of it.
 *
 * Which trials there are is race/judge/choice.c's to decide, one after the other: each is asked for
 * when the one before has ended.
 */
#include "base/clock.h"
#include "judge/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define BUSY_SHARE 8u /* of the time in which others have the processor: this part counts */

/* ---- its trials ----------------------------------------------------------------------- */

static bool is_early(enum judge_end end)
{
	return end != JUDGE_WHOLE && end != JUDGE_WAITS;
}

static uint64_t units_of(const struct race_judge_launch *h, uint32_t *unit_blocks)
{
	uint64_t n = 1;

	*unit_blocks = 1;
	for (unsigned i = 0; i < 3; i++) {
		uint32_t each = h->cluster[0] && h->cluster[i] ? h->cluster[i] : 1;
		n *= h->grid[i] / each;
		*unit_blocks *= each;
	}
	return n ? n : 1;
}

/* Of a time what counts as such on a machine that is busy with other things: what trials have had
 * of a processor in it, and a share of the rest, so that there is an end. */
static uint64_t counted_ns(uint64_t ns, uint64_t had)
{
	had += ns / BUSY_SHARE;
	return had < ns ? had : ns;
}

/* What the launch's trial has had of a processor. */
static uint64_t had_of(const struct judge_launch *l)
{
	clockid_t clock;

	return l->pid && !clock_getcpuclockid(l->pid, &clock) ? base_clock_ns(clock) : 0;
}

uint64_t judge_launch_had(const struct judge_server *s)
{
	struct rusage r;
	uint64_t had = 0;

	if (!getrusage(RUSAGE_CHILDREN, &r))
		had = (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000000 +
		      (uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) * 1000;
	for (size_t i = 0; i < s->launches.n; i++)
		had += had_of(s->launches.v[i]);
	return had;
}

/* What the choice goes by: times, and what others have shown. */
static void ask_now(const struct judge_server *s, struct judge_launch *l)
{
	struct race_judge_question *q = &l->q;
	uint64_t now = base_now_ns();

	q->spent_ns = s->spent + (s->running ? now - s->busy_since : 0);
	q->program_ns = now - s->program_began;
	q->waited_ns = 0;
	if (s->waits_since)
		q->waited_ns =
			1 + counted_ns(now - s->waits_since, judge_launch_had(s) - s->had_before);
	/* (Two of the past are worth what a kernel's first trial is.) */
	q->is_known = !l->first && judge_tally_has(s->tally, l->capsule.kernel);
}

bool judge_launch_next(struct judge_server *s, struct judge_launch *l)
{
	ask_now(s, l);
	const struct race_judge_decision d = race_judge_decide(s->opt->policy, &l->q);
	l->done.why = d.why;
	l->is_over = d.why != RACE_JUDGE_TRY;
	if (l->is_over)
		return false;
	if (l->first) {
		l->t.limit_ms = d.limit_ns / 1000000 + 1;
		return true;
	}
	l->t = (struct judge_trial){.capsule = &l->capsule,
				    .jit = CPU_JIT_OFF,
				    .name = "",
				    .oracle = s->opt->oracle,
				    .seed = l->head.seed + d.seed,
				    .blocks = d.units * l->q.unit_blocks,
				    .limit_ms = d.limit_ns / 1000000 + 1,
				    .is_verified = (l->head.flags & RACE_JUDGE_HAS_AFTER) != 0};
	l->units = d.units;
	return true;
}

uint64_t judge_launch_latest(const struct judge_launch *l)
{
	return l->began + l->t.limit_ms * 1000000;
}

void judge_launch_hurry(const struct judge_server *s, struct judge_launch *l, uint64_t now)
{
	uint64_t until, ran, latest = judge_launch_latest(l);

	if (s->opt->policy->mode != RACE_JUDGE_AUTO)
		return;
	ask_now(s, l);
	ran = counted_ns(now - l->began, had_of(l));
	until = now + race_judge_left_at_end(s->opt->policy, &l->q, ran);
	l->until = latest < until ? latest : until;
}

/* What differs in the same way in all schedules is no matter of their order. */
static void compare(struct judge_launch *l, const struct judge_compared *c)
{
	if (!c->bytes)
		return;
	if (!l->compared.bytes)
		l->compared = *c;
	l->is_by_order = l->is_by_order || c->at != l->compared.at || c->here != l->compared.here;
}

void judge_launch_tried(struct judge_launch *l)
{
	struct race_judge_question *q = &l->q;
	const struct judge_outcome *o = &l->o;

	l->accesses += o->oracle.accesses;
	compare(l, &o->compared);
	q->last_ns = base_now_ns() - l->began;
	q->last_seeds = l->units == q->last_units ? q->last_seeds + 1 : 1;
	q->last_units = l->units;
	q->last_waits = o->end == JUDGE_WAITS;
	q->last_failed = is_early(o->end);
	if (o->end == JUDGE_WHOLE || o->end == JUDGE_WAITS || o->end == JUDGE_LATE) {
		l->good_blocks = o->blocks;
		l->good_seed = l->t.seed;
	}
	q->launch_ns += q->last_ns;
	q->trials++;
	l->is_over = l->first != NULL;
	l->done = (struct race_judge_done){.blocks = o->blocks,
					   .of = o->of,
					   .ns = q->launch_ns,
					   .trials = q->trials,
					   .end = o->end,
					   .is_unknown = o->end == JUDGE_UNKNOWN};
}

/* ---- its capsule ------------------------------------------------------------------------ */

static int by_address(const void *a, const void *b)
{
	const struct judge_page *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_base(const void *a, const void *b)
{
	const struct cpu_mem_info *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

/* What was asked for is what its capsule holds. */
static void keep(struct judge_server *s, struct judge_launch *l)
{
	struct judge_capsule *c = &l->capsule;
	struct judge_kept_page *k, *next;

	HASH_ITER(hh, l->pages, k, next)
	{
		HASH_DEL(l->pages, k);
		base_vec_push(&c->pages, k->page);
	}
	if (!c->memory.n)
		return;
	if (c->pages.n)
		qsort(c->pages.v, c->pages.n, sizeof(c->pages.v[0]), by_address);
	qsort(c->memory.v, c->memory.n, sizeof(c->memory.v[0]), by_base);
	int err = s->opt->folder ? judge_capsule_keep(c, s->opt->folder, &s->files) : 0;
	if (err)
		base_say("--capsules: %s: %s", s->opt->folder, strerror(err));
	s->kept += s->opt->folder && !err;
}

/* ---- its message -------------------------------------------------------------------------- */

_Static_assert((int)RACE_JUDGE_TEX_SIGNED == CPU_TEX_SIGNED &&
		       (int)RACE_JUDGE_TEX_UNSIGNED == CPU_TEX_UNSIGNED &&
		       (int)RACE_JUDGE_TEX_FLOAT == CPU_TEX_FLOAT,
	       "as the program's half numbers them");

static void put_textures(struct judge_capsule *c, const char *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct race_judge_texture x;
		memcpy(&x, bytes + i * sizeof(x), sizeof(x));
		struct cpu_texture t = {.address = x.address,
					.width = x.width,
					.height = x.height,
					.depth = x.depth,
					.pitch = x.pitch,
					.slice = x.slice,
					.channels = (uint8_t)x.channels,
					.bits = (uint8_t)x.bits,
					.type = (uint8_t)x.type,
					.is_surface = (x.flags & RACE_JUDGE_TEX_SURFACE) != 0,
					.is_layered = (x.flags & RACE_JUDGE_TEX_LAYERED) != 0,
					.is_array = (x.flags & RACE_JUDGE_TEX_ARRAY) != 0};
		struct cpu_sampling d = {.mode = {x.mode[0], x.mode[1], x.mode[2]},
					 .is_linear = (x.flags & RACE_JUDGE_TEX_LINEAR) != 0,
					 .is_normalized =
						 (x.flags & RACE_JUDGE_TEX_NORMALIZED) != 0,
					 .is_element = (x.flags & RACE_JUDGE_TEX_INTEGERS) != 0,
					 .is_wide_element = true};
		memcpy(d.border, x.border, sizeof(d.border));
		/* (One that the CPU device can't have is missing, and the kernel stops at it.) */
		if (t.is_surface || cpu_texture_sample(&t, &d) == CPU_SAMPLING_GOOD)
			base_vec_push(&c->textures, ((struct judge_texture){x.handle, t}));
	}
}

static void fill(struct judge_server *s, struct judge_launch *l, const char *bytes,
		 const struct judge_module *m)
{
	const struct race_judge_launch *h = &l->head;
	struct judge_capsule *c = &l->capsule;

	c->program = s->opt->program;
	c->kernel = base_strndup(&c->arena, bytes, h->kernel);
	c->number = h->number;
	c->device = h->device;
	c->sms = h->sms;
	c->seed = h->seed;
	memcpy(c->grid, h->grid, sizeof(c->grid));
	memcpy(c->block, h->block, sizeof(c->block));
	memcpy(c->cluster, h->cluster, sizeof(c->cluster));
	c->shared = h->shared;
	c->flags = h->flags & RACE_JUDGE_COOPERATIVE ? JUDGE_COOPERATIVE : 0;
	c->page = RACE_JUDGE_PAGE;
	c->nparam_bytes = h->params;
	uint8_t *params = base_alloc(&c->arena, h->params + 1u);
	memcpy(params, bytes + h->kernel, h->params);
	judge_maps_put(s->maps, 0, params, h->params);
	put_textures(c, bytes + h->kernel + h->params, h->textures);
	c->params = params;
	for (size_t i = 0; i < m->image.texts.n; i++)
		base_vec_push(&c->texts, m->image.texts.v[i]);
}

struct judge_launch *judge_launch_new(struct judge_server *s, const struct base_buf *b)
{
	struct race_judge_launch head;
	struct judge_module *m;

	if (b->n < sizeof(head))
		return NULL;
	memcpy(&head, b->p, sizeof(head));
	if (head.textures > RACE_JUDGE_TEXTURES ||
	    (uint64_t)head.kernel + head.params +
			    head.textures * sizeof(struct race_judge_texture) !=
		    b->n - sizeof(head))
		return NULL;
	struct judge_launch *l = base_calloc(1, sizeof(*l));
	l->head = head;
	l->done = (struct race_judge_done){.why = RACE_JUDGE_FAILED, .end = JUDGE_REFUSED};
	l->o.end = JUDGE_REFUSED;
	l->q.units = units_of(&head, &l->q.unit_blocks);
	l->q.block_threads = head.block[0] * head.block[1] * head.block[2];
	l->q.earlier = head.earlier;
	l->q.is_proven = (head.flags & RACE_JUDGE_IS_PROVEN) != 0;
	HASH_FIND(hh, s->modules, &head.module, sizeof(head.module), m);
	if (m && m->image.texts.n) {
		judge_image_parse(&m->image);
		fill(s, l, b->p + sizeof(head), m);
	} else {
		snprintf(l->o.why, sizeof(l->o.why), "its module has no PTX");
		l->is_over = true;
	}
	return l;
}

void judge_launch_end(struct judge_server *s, struct judge_launch *l)
{
	struct judge_outcome *o = &l->o;

	if (l->first) {
		judge_past_ended(l);
		free(l);
		return;
	}
	if (l->done.trials)
		keep(s, l);
	else if (!*o->why)
		snprintf(o->why, sizeof(o->why), "%s",
			 race_judge_why_text((enum race_judge_why)l->done.why));
	base_vec_push(&s->held, l->head.held_ns);
	judge_tally_add(&s->tally, l->capsule.kernel ? l->capsule.kernel : "?", &l->done,
			l->accesses, o->why);
	if (l->compared.bytes)
		judge_tally_compared(s->tally, l->capsule.kernel, &l->compared, l->is_by_order);
	l->done.number = l->head.number;
	l->done.asked = l->asked;
	l->done.asked_bytes = l->asked_bytes;
	l->done.spent_ns = l->q.spent_ns;
	s->judged++;
	s->is_gone =
		s->is_gone || !race_judge_send(s->fd, RACE_JUDGE_DONE, l->head.number, &l->done,
					       sizeof(l->done), o->why, strlen(o->why));
	judge_past_add(s, l);
	judge_capsule_free(&l->capsule);
	free(l);
}
