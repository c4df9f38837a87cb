/*
 * past.c - launches that were judged, set against other launches and the program's copies, sets and
 * frees.
 *
 * Where nothing in the API orders two of them (struct race_judge_order) and they have memory in
 * common, one more trial executes the first again, and then the second, each from its own memory as
 * it was before it, without an order between them (execute.c): what the oracle finds between the
 * two is a race of the program. Two calls are set against one another in the same way. All that
 * these trials need is here, so the program doesn't wait for them.
 *
 * Misses: launches that weren't judged, or whose blocks that were don't meet the other; what was
 * judged long ago (PASTS, PAGES).
 * Costs: the pages that launches have read are kept, PAGES bytes at most.
 */
#include "judge/serve.h"

#include <stdlib.h>
#include <string.h>

#define PASTS	   32u
#define PAGES	   (256ull << 20)
#define OPERATIONS 512u
#define EACH	   2u /* trials of the same two kernels, or of a kernel and a kind of call */
#define EACH_TWO   8u /* ... of two kinds of calls */

/* Who was set against whom, by a sum of their names. */
struct judge_met {
	uint64_t key;
	unsigned n;
	UT_hash_handle hh;
};

static bool is_before(const struct race_judge_order *a, const struct race_judge_order *b)
{
	return b->before[a->stream % RACE_JUDGE_STREAMS] >= a->nth;
}

/* b is a programmatic launch that may begin before a has ended. */
static bool is_early(const struct race_judge_order *a, const struct race_judge_order *b)
{
	return a->nth && a->stream == b->stream && b->early == a->nth;
}

static bool is_ordered(const struct race_judge_order *a, const struct race_judge_order *b)
{
	return !a->nth || !b->nth || a->stream == b->stream || is_before(a, b) || is_before(b, a);
}

static bool meets(uint64_t a, uint64_t an, uint64_t b, uint64_t bn)
{
	return a < b + bn && b < a + an;
}

static bool has_common(const struct judge_past *a, const struct judge_past *b)
{
	for (size_t i = 0; i < a->capsule.memory.n; i++)
		for (size_t k = 0; k < b->capsule.memory.n; k++) {
			const struct cpu_mem_info *x = &a->capsule.memory.v[i];
			const struct cpu_mem_info *y = &b->capsule.memory.v[k];
			if (meets(x->base, x->bytes, y->base, y->bytes))
				return true;
		}
	return false;
}

static bool has_range(const struct judge_past *a, const struct race_judge_operation *op)
{
	for (size_t i = 0; i < a->capsule.memory.n; i++) {
		const struct cpu_mem_info *x = &a->capsule.memory.v[i];
		if (meets(x->base, x->bytes, op->dst.addr, race_judge_extent(op, &op->dst)) ||
		    meets(x->base, x->bytes, op->src.addr, race_judge_extent(op, &op->src)))
			return true;
	}
	return false;
}

/* Not too often: is it worth a trial? */
static bool is_new(struct judge_server *s, const char *a, const char *b, uint32_t kind,
		   unsigned each)
{
	uint64_t key = base_hash(&kind, sizeof(kind), BASE_FNV_INIT);
	struct judge_met *m;

	key = base_hash(a, strlen(a) + 1, key);
	key = base_hash(b, strlen(b) + 1, key);
	HASH_FIND(hh, s->met, &key, sizeof(key), m);
	if (!m) {
		m = base_calloc(1, sizeof(*m));
		m->key = key;
		HASH_ADD(hh, s->met, key, sizeof(m->key), m);
	}
	return m->n++ < each;
}

static void add_pair(struct judge_server *s, struct judge_past *a, struct judge_past *b,
		     const struct race_judge_operation *op)
{
	struct judge_launch *l = base_calloc(1, sizeof(*l));

	l->q.units = l->q.unit_blocks = 1;
	l->first = a;
	l->second = b;
	a->uses++;
	if (b)
		b->uses++;
	if (op)
		l->operation = *op;
	l->t = (struct judge_trial){.capsule = &a->capsule,
				    .jit = CPU_JIT_OFF,
				    .name = "",
				    .oracle = s->opt->oracle,
				    .seed = a->seed,
				    .blocks = a->blocks,
				    .stream = a->order.stream,
				    .second = b ? &b->capsule : NULL,
				    .second_blocks = b ? b->blocks : 0,
				    .is_early = b && is_early(&a->order, &b->order),
				    .second_stream =
					    b ? b->order.stream : l->operation.order.stream,
				    .operation = b ? NULL : &l->operation,
				    .first = a->is_alone ? &a->operation : NULL};
	base_vec_push(&s->launches, l);
}

/* ---- two calls ------------------------------------------------------------------- */

static bool meet_at(const struct race_judge_operation *a, const struct race_judge_place *p,
		    const struct race_judge_operation *b, const struct race_judge_place *q)
{
	return meets(p->addr, race_judge_extent(a, p), q->addr, race_judge_extent(b, q));
}

/* Does one write where the other is? (Rows may still lie between one another.) */
static bool conflict(const struct race_judge_operation *a, const struct race_judge_operation *b)
{
	return meet_at(a, &a->dst, b, &b->dst) || meet_at(a, &a->dst, b, &b->src) ||
	       meet_at(a, &a->src, b, &b->dst);
}

/* Memory of a trial without a kernel; ranges that touch are one. */
static void add_range(struct judge_capsule *c, uint64_t base, uint64_t bytes)
{
	struct cpu_mem_info m = {.base = base, .bytes = bytes, .kind = CPU_MEM_DEVICE};

	if (!base || !bytes)
		return;
	for (size_t i = 0; i < c->memory.n;) {
		const struct cpu_mem_info *x = &c->memory.v[i];
		if (m.base > x->base + x->bytes || x->base > m.base + m.bytes) {
			i++;
			continue;
		}
		uint64_t end = m.base + m.bytes, other = x->base + x->bytes;
		m.base = m.base < x->base ? m.base : x->base;
		m.bytes = (end > other ? end : other) - m.base;
		c->memory.v[i] = c->memory.v[--c->memory.n];
		i = 0;
	}
	base_vec_push(&c->memory, m);
}

static void add_ranges(struct judge_capsule *c, const struct race_judge_operation *op)
{
	add_range(c, op->dst.addr, race_judge_extent(op, &op->dst));
	add_range(c, op->src.addr, race_judge_extent(op, &op->src));
}

static void try_two(struct judge_server *s, const struct race_judge_operation *a,
		    const struct race_judge_operation *b)
{
	if (is_ordered(&a->order, &b->order) || !conflict(a, b) ||
	    !is_new(s, "", "", a->kind << 8 | b->kind, EACH_TWO))
		return;
	struct judge_past *p = base_calloc(1, sizeof(*p));
	p->order = a->order;
	p->operation = *a;
	p->is_alone = true;
	p->capsule.kernel = "";
	p->capsule.sms = 1;
	p->capsule.page = RACE_JUDGE_PAGE;
	add_ranges(&p->capsule, a);
	add_ranges(&p->capsule, b);
	add_pair(s, p, NULL, b);
}

/* ------------------------------------------------------------------------ */

static uint64_t bytes_of(const struct judge_capsule *c)
{
	uint64_t all = 0;

	for (size_t i = 0; i < c->pages.n; i++)
		all += c->pages.v[i].bytes;
	return all;
}

static void free_past(struct judge_server *s, size_t i)
{
	struct judge_past *p = s->pasts.v[i];

	s->past_bytes -= bytes_of(&p->capsule);
	judge_capsule_free(&p->capsule);
	free(p);
	memmove(&s->pasts.v[i], &s->pasts.v[i + 1], (s->pasts.n - i - 1) * sizeof(s->pasts.v[0]));
	s->pasts.n--;
}

/* The oldest that no trial needs. */
static void make_room(struct judge_server *s)
{
	for (size_t i = 0; i < s->pasts.n && (s->pasts.n >= PASTS || s->past_bytes > PAGES);)
		if (s->pasts.v[i]->uses)
			i++;
		else
			free_past(s, i);
}

static void try_launches(struct judge_server *s, struct judge_past *q, struct judge_past *p)
{
	if (is_early(&p->order, &q->order)) {
		struct judge_past *first = p;
		p = q;
		q = first;
	}
	/* (The second one waits for all of the first.) */
	bool is_wanted =
		is_early(&q->order, &p->order) ? q->is_whole : !is_ordered(&p->order, &q->order);
	if (is_wanted && has_common(p, q) &&
	    is_new(s, q->capsule.kernel, p->capsule.kernel, UINT32_MAX, EACH))
		add_pair(s, q, p, NULL);
}

static void try_with(struct judge_server *s, struct judge_past *p,
		     const struct race_judge_operation *op)
{
	if (!is_ordered(&p->order, &op->order) && has_range(p, op) &&
	    is_new(s, p->capsule.kernel, "", op->kind, EACH))
		add_pair(s, p, NULL, op);
}

void judge_past_add(struct judge_server *s, struct judge_launch *l)
{
	if (!l->head.order.nth || !l->good_blocks || l->head.order.stream >= RACE_JUDGE_STREAMS)
		return;
	make_room(s);
	struct judge_past *p = base_calloc(1, sizeof(*p));
	p->order = l->head.order;
	p->seed = l->good_seed;
	p->blocks = l->good_blocks;
	p->is_whole = l->o.end == JUDGE_WHOLE && l->o.blocks == l->o.of;
	p->capsule = l->capsule;
	memset(&l->capsule, 0, sizeof(l->capsule));
	for (size_t i = 0; i < s->pasts.n; i++)
		try_launches(s, s->pasts.v[i], p);
	for (size_t i = 0; i < s->operations.n; i++)
		try_with(s, p, &s->operations.v[i]);
	s->past_bytes += bytes_of(&p->capsule);
	base_vec_push(&s->pasts, p);
}

void judge_past_operation(struct judge_server *s, const struct race_judge_operation *op)
{
	if (op->order.stream >= RACE_JUDGE_STREAMS)
		return;
	if (s->operations.n == OPERATIONS) {
		memmove(s->operations.v, s->operations.v + OPERATIONS / 2,
			OPERATIONS / 2 * sizeof(*op));
		s->operations.n = OPERATIONS / 2;
	}
	for (size_t i = 0; i < s->operations.n; i++)
		try_two(s, &s->operations.v[i], op);
	base_vec_push(&s->operations, *op);
	for (size_t i = 0; i < s->pasts.n; i++)
		try_with(s, s->pasts.v[i], op);
}

void judge_past_ended(struct judge_launch *l)
{
	l->first->uses--;
	if (l->second)
		l->second->uses--;
	if (l->first->is_alone) {
		judge_capsule_free(&l->first->capsule);
		free(l->first);
	}
}

void judge_past_free(struct judge_server *s)
{
	struct judge_met *m, *next;

	while (s->pasts.n)
		free_past(s, s->pasts.n - 1);
	HASH_ITER(hh, s->met, m, next)
	{
		HASH_DEL(s->met, m);
		free(m);
	}
	base_vec_free(&s->pasts);
	base_vec_free(&s->operations);
}
