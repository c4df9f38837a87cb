/*
 * replay.c - a launch executed with concrete numbers, to confirm or deny an alarm (replay.h).
 *
 * Every step runs with the meaning of ex_fold, values are numbers or "unknown": what is loaded from
 * shared or global memory, unmodelled functions, other lanes' values. A thread that branches on an
 * unknown value is lost there. As no known value depends on another thread, threads run one by one.
 * Both threads must reach their access, after the same barriers when they share a CTA; all other
 * threads of their CTAs must pass those barriers or end before. Then the race happens for any
 * contents of memory.
 *
 * Misses: alarms that need particular contents of memory; they stay potential.
 * Costs: 10 ns a step; at most MAX_STEPS.
 */
#include "prove/replay.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STEPS  (2u << 20)
#define MAX_EVENTS 4096
#define MAX_BARS   4096
/* Of a search: blocks, and accesses of one thread. */
#define SEARCH_CTAS   4
#define SEARCH_STEPS  (1u << 19)
#define SEARCH_EVENTS 64

struct value {
	uint64_t v;
	bool known;
};

struct event {
	uint64_t addr;
	uint32_t phase;
	bool is_order_before, is_warp_before; /* in this phase */
	bool is_order_ever;
	unsigned which; /* bit 0: access a, bit 1: access b */
};

struct thread {
	struct event *events;
	uint32_t nevents, max_events;
	uint32_t bars[MAX_BARS];
	uint32_t nbars;
	bool is_lost, is_trapped, has_order;
	bool is_vague; /* one of the two accesses had an address or guard that isn't known */
};

struct run {
	struct ev *e;
	const struct smt_model *m;
	const struct ev_access *a, *b;
	struct value *reg;
	unsigned char *mem, *mem_known;
	uint64_t *object_at; /* in mem, by object */
	uint64_t mem_bytes, budget;
	struct base_arena arena;
};

/* Objects and pointers lie far apart: an address says what it points into. */
static uint64_t object_base(const struct run *r, uint32_t o)
{
	bool is_shared = r->e->ir->objects.v[o].kind == IR_OBJ_SHARED ||
			 r->e->ir->objects.v[o].kind == IR_OBJ_DYNAMIC;

	return is_shared ? (uint64_t)(o + 1) << 20 : (uint64_t)(o + 1) << 44;
}

static uint64_t pointer_base(uint64_t off)
{
	return 1ull << 63 | (off + 1) << 46;
}

static struct value param(const struct run *r, uint64_t off, unsigned bytes)
{
	for (uint32_t i = 0; i < r->m->nparams; i++)
		if (r->m->param[i].off == off && r->m->param[i].bytes == bytes)
			return (struct value){r->m->param[i].value, true};
	if (bytes == 8)
		return (struct value){pointer_base(off), true};
	return (struct value){0, true};
}

static struct value special(const struct run *r, uint64_t which, const uint32_t *tid,
			    const uint32_t *ctaid)
{
	unsigned d = (unsigned)which % 3;
	uint32_t v = which >= EX_NCTAID_X  ? r->m->nctaid[d]
		     : which >= EX_NTID_X  ? r->m->ntid[d]
		     : which >= EX_CTAID_X ? ctaid[d]
					   : tid[d];

	return (struct value){v, true};
}

/* The object of private memory or of the parameters that an address points into. */
static uint32_t private_object(const struct run *r, uint64_t addr, uint64_t *at)
{
	uint64_t o = (addr >> 44) - 1;

	if (addr >> 44 == 0 || o >= r->e->ir->objects.n || object_base(r, (uint32_t)o) > addr)
		return IR_NONE;
	*at = addr - object_base(r, (uint32_t)o);
	uint8_t kind = r->e->ir->objects.v[o].kind;
	return kind == IR_OBJ_LOCAL || kind == IR_OBJ_PARAM ? (uint32_t)o : IR_NONE;
}

static struct value load_private(const struct run *r, uint32_t o, uint64_t at, unsigned n)
{
	const struct ir_object *obj = &r->e->ir->objects.v[o];
	struct value v = {0, true};

	if (obj->kind == IR_OBJ_PARAM)
		return param(r, obj->off + at, n);
	if (at + n > obj->bytes || n > 8)
		return (struct value){0, false};
	for (unsigned i = 0; i < n; i++) {
		v.known &= r->mem_known[r->object_at[o] + at + i];
		v.v |= (uint64_t)r->mem[r->object_at[o] + at + i] << (8 * i);
	}
	return v;
}

static void store_private(struct run *r, uint32_t o, uint64_t at, unsigned n, struct value v)
{
	const struct ir_object *obj = &r->e->ir->objects.v[o];

	if (obj->kind != IR_OBJ_LOCAL || at + n > obj->bytes)
		return;
	for (unsigned i = 0; i < n; i++) {
		r->mem[r->object_at[o] + at + i] = (unsigned char)(i < 8 ? v.v >> (8 * i) : 0);
		r->mem_known[r->object_at[o] + at + i] = v.known && i < 8;
	}
}

static void forget_private(struct run *r)
{
	memset(r->mem_known, 0, r->mem_bytes);
}

static void note(struct run *r, struct thread *t, uint32_t step, uint64_t addr, bool order,
		 bool warp)
{
	struct event ev = {.addr = addr, .phase = t->nbars, .is_order_before = order};

	ev.which = (r->a->index == step ? 1u : 0) | (r->b->index == step ? 2u : 0);
	ev.is_warp_before = warp;
	ev.is_order_ever = t->has_order;
	if (ev.which && t->events && t->nevents < t->max_events)
		t->events[t->nevents++] = ev;
}

static void do_access(struct run *r, struct thread *t, uint32_t index, bool order, bool warp)
{
	const struct ir_step *st = &r->e->ir->steps.v[index];
	struct value a = r->reg[st->src[0]], guard = {1, true}, got = {0, false};
	uint64_t at = 0;

	if (st->pred != IR_NONE) {
		guard = r->reg[st->pred];
		guard.v ^= st->is_pred_not;
	}
	a.v += (uint64_t)st->mem->off;
	if (r->e->ir->width.v[st->src[0]] == 32)
		a.v &= UINT32_MAX;
	uint32_t o = a.known ? private_object(r, a.v, &at) : IR_NONE;
	bool is_read = st->mem->kind == RACE_OP_READ;
	if (o != IR_NONE && is_read)
		got = load_private(r, o, at, st->mem->bytes);
	if (st->dst != IR_NONE)
		r->reg[st->dst] = got;
	if (guard.known && !(guard.v & 1))
		return;
	if (o != IR_NONE && !is_read) {
		struct value v =
			st->src[1] == IR_NONE ? (struct value){0, false} : r->reg[st->src[1]];
		v.known &= guard.known && st->mem->kind == RACE_OP_WRITE;
		store_private(r, o, at, st->mem->bytes, v);
	} else if (!a.known && !is_read) {
		forget_private(r);
	}
	if (o == IR_NONE && a.known && guard.known)
		note(r, t, index, a.v, order, warp);
	else if (index == r->a->index || index == r->b->index)
		t->is_vague = true;
}

static void do_value(struct run *r, const struct ir_step *st, const uint32_t *tid,
		     const uint32_t *ctaid)
{
	struct value x[3] = {{0, true}, {0, true}, {0, true}}, v = {0, false};
	unsigned wa = st->w;

	for (unsigned i = 0; i < 3 && st->src[i] != IR_NONE; i++)
		x[i] = r->reg[st->src[i]];
	if (st->src[0] != IR_NONE)
		wa = r->e->ir->width.v[st->src[0]];
	switch ((enum ir_kind)st->kind) {
	case IR_CONST:
		v = (struct value){st->imm, true};
		break;
	case IR_SPEC:
		v = special(r, st->imm, tid, ctaid);
		break;
	case IR_ADDR:
		v = (struct value){object_base(r, (uint32_t)st->imm) & ex_mask(st->w), true};
		if (st->w < 64 && object_base(r, (uint32_t)st->imm) >> 32)
			v.known = false;
		break;
	case IR_COPY:
		v = x[0];
		break;
	case IR_VALUE:
		if (st->op == EX_ITE) {
			v = x[0].v & 1 ? x[1] : x[2];
			v.known &= x[0].known;
		} else {
			v.known = x[0].known && x[1].known &&
				  ex_fold((enum ex_op)st->op, st->w, wa, x[0].v, x[1].v, &v.v);
			/* a zero decides an and whatever the other side is */
			if (st->op == EX_AND &&
			    ((x[0].known && !x[0].v) || (x[1].known && !x[1].v)))
				v = (struct value){0, true};
		}
		break;
	default:
		break;
	}
	r->reg[st->dst] = v;
}

/* Which way a block goes on; IR_NONE: the thread ends here, in whatever way. */
static uint32_t next_block(struct run *r, struct thread *t, uint32_t b)
{
	const struct ir_block *x = &r->e->ir->blocks.v[b];
	struct value c = {0, true};

	if (x->end == IR_TRAP)
		t->is_trapped = true;
	if (!x->nsucc)
		return IR_NONE;
	if (x->end == IR_JUMP)
		return x->succ[0];
	c = r->reg[x->cond];
	if (!c.known || (x->end == IR_SWITCH && c.v >= x->nsucc)) {
		if (x->succ[0] == x->succ[1] && x->end == IR_BRANCH)
			return x->succ[0];
		t->is_lost = true;
		return IR_NONE;
	}
	if (x->end == IR_SWITCH)
		return x->succ[c.v];
	return (c.v & 1) != x->is_cond_not ? x->succ[0] : x->succ[1];
}

/* Runs one thread until it ends, is lost, or has passed `until` barriers. */
static void run_thread(struct run *r, struct thread *t, const uint32_t *tid, const uint32_t *ctaid,
		       uint32_t until)
{
	const struct ir *ir = r->e->ir;
	bool order = false, warp = false;
	uint32_t b = 0;

	memset(r->reg, 0, ir->width.n * sizeof(*r->reg));
	forget_private(r);
	while (b != IR_NONE && t->nbars < until) {
		const struct ir_block *x = &ir->blocks.v[b];
		for (uint32_t i = x->first; i < x->first + x->n; i++) {
			const struct ir_step *st = &ir->steps.v[i];
			if (!r->budget--) {
				r->budget = 0;
				t->is_lost = true;
				return;
			}
			if (st->kind == IR_ACCESS) {
				do_access(r, t, i, order, warp);
			} else if (st->kind == IR_BARRIER) {
				if (t->nbars == MAX_BARS) {
					t->is_lost = true;
					return;
				}
				t->bars[t->nbars++] = i;
				order = warp = false;
			} else if (st->kind == IR_ORDER || st->kind == IR_UNKNOWN) {
				order = t->has_order = true;
			} else if (st->kind == IR_ASSUME) {
				struct value v = r->reg[st->src[0]];
				if (!v.known ||
				    !v.v) { /* outside the contract, or not known to be in it */
					t->is_lost = true;
					return;
				}
			} else if (st->kind == IR_WARP_BARRIER) {
				/* it may hand on what another lane has acquired */
				warp = order = t->has_order = true;
			} else if (st->dst != IR_NONE) {
				do_value(r, st, tid, ctaid);
			}
		}
		b = next_block(r, t, b);
	}
}

/* Do all threads of a CTA pass the first n barriers that `like` passes (or end normally)? */
static bool all_pass(struct run *r, const uint32_t *ctaid, const struct thread *like, uint32_t n,
		     bool *has_order)
{
	struct thread *t = base_alloc(&r->arena, sizeof(*t));
	uint32_t tid[3];

	for (tid[2] = 0; n && tid[2] < r->m->ntid[2]; tid[2]++) {
		for (tid[1] = 0; tid[1] < r->m->ntid[1]; tid[1]++) {
			for (tid[0] = 0; tid[0] < r->m->ntid[0]; tid[0]++) {
				memset(t, 0, sizeof(*t));
				run_thread(r, t, tid, ctaid, n);
				*has_order |= t->has_order;
				if (t->is_lost || t->is_trapped ||
				    memcmp(t->bars, like->bars, t->nbars * sizeof(*t->bars)) != 0)
					return false;
			}
		}
	}
	return true;
}

static uint32_t warp_of(const struct smt_model *m, const uint32_t *tid)
{
	return ((tid[2] * m->ntid[1] + tid[1]) * m->ntid[0] + tid[0]) / 32;
}

static bool is_legal(const struct run *r)
{
	const struct smt_model *m = r->m;
	const struct ex_launch *l = &r->e->pool->launch;
	uint64_t threads = 1;

	for (unsigned d = 0; d < 3; d++) {
		threads *= m->ntid[d];
		if (!m->ntid[d] || !m->nctaid[d] || m->ntid[d] > l->max[d] ||
		    m->nctaid[d] > l->max[3 + d] || (uint64_t)m->ntid[d] * m->nctaid[d] > INT32_MAX)
			return false;
		for (unsigned t = 0; t < 2; t++)
			if (m->tid[t][d] >= m->ntid[d] || m->ctaid[t][d] >= m->nctaid[d])
				return false;
	}
	return threads <= 1024;
}

/* Where in its object an access lies, and whether it is inside. */
static bool is_inside(const struct run *r, const struct ev_access *x, uint64_t addr, uint64_t *off)
{
	if (x->root.kind == EV_ROOT_PARAM) {
		struct value p = param(r, x->root.id, 8);
		*off = addr - p.v;
		return *off < 1ull << 42;
	}
	if (x->root.kind != EV_ROOT_OBJECT)
		return false;
	const struct ir_object *o = &r->e->ir->objects.v[x->root.id];
	*off = addr - object_base(r, (uint32_t)x->root.id);
	return *off < (o->bytes && o->kind != IR_OBJ_DYNAMIC ? o->bytes : 1ull << 19);
}

struct match {
	const struct event *x, *y;
	bool is_ordered;
};

/* Had thread t ended after its event x when another was in a later phase? */
static bool has_left(const struct thread *t, const struct event *x, const struct event *other)
{
	return !t->is_lost && !t->is_trapped && t->nbars == x->phase && x->phase < other->phase;
}

static void find_match(const struct run *r, bool same_cta, struct thread *const *t,
		       struct match *out, bool same_warp)
{
	out->x = NULL;
	for (uint32_t i = 0; i < t[0]->nevents; i++) {
		const struct event *x = &t[0]->events[i];
		for (uint32_t k = 0; k < t[1]->nevents && (x->which & 1); k++) {
			const struct event *y = &t[1]->events[k];
			bool meets = !same_cta || x->phase == y->phase || has_left(t[0], x, y) ||
				     has_left(t[1], y, x);
			if (!(y->which & 2) || !meets)
				continue;
			if (x->addr >= y->addr + r->b->mem->bytes ||
			    y->addr >= x->addr + r->a->mem->bytes)
				continue;
			bool ordered = same_cta ? x->is_order_before || y->is_order_before
						: x->is_order_ever || y->is_order_ever;
			ordered |= same_warp && (x->is_warp_before || y->is_warp_before);
			if (out->x && ordered)
				continue;
			*out = (struct match){x, y, ordered};
			if (!ordered)
				return;
		}
	}
}

static enum replay_answer judge(struct run *r, bool same_cta, struct thread *const *t,
				struct replay_meeting *out)
{
	struct match m = {0};
	const uint32_t *tid0 = r->m->tid[0], *tid1 = r->m->tid[1];
	bool same_warp = same_cta && warp_of(r->m, tid0) == warp_of(r->m, tid1), order = false;

	find_match(r, same_cta, t, &m, same_warp);
	if (!m.x) {
		out->why = t[0]->is_lost || t[1]->is_lost
				   ? "a branch or address depends on values that are not modelled"
				   : "the model could not be replayed";
		return t[0]->is_lost || t[1]->is_lost ? REPLAY_UNSURE : REPLAY_DENIES;
	}
	out->phase[0] = m.x->phase;
	out->phase[1] = m.y->phase;
	if (!is_inside(r, r->a, m.x->addr, &out->offset[0]) ||
	    !is_inside(r, r->b, m.y->addr, &out->offset[1])) {
		out->why = "the address lies outside its array";
		return REPLAY_UNSURE;
	}
	if (!all_pass(r, r->m->ctaid[0], t[0], m.x->phase, &order) ||
	    (same_cta && !all_pass(r, r->m->ctaid[1], t[1], m.y->phase, &order)) ||
	    (!same_cta && !all_pass(r, r->m->ctaid[1], t[1], m.y->phase, &order))) {
		out->why = "other threads may not pass the barriers before it";
		return REPLAY_UNSURE;
	}
	if (m.is_ordered || (!same_cta && order)) {
		out->why = "a fence, atomic or other synchronisation may order the two";
		return REPLAY_ORDERED;
	}
	return REPLAY_RACES;
}

static void open_run(struct run *r)
{
	const struct ir *ir = r->e->ir;

	r->budget = MAX_STEPS;
	r->reg = BASE_NEWN(&r->arena, struct value, ir->width.n + 1);
	r->object_at = BASE_NEWN(&r->arena, uint64_t, ir->objects.n + 1);
	for (size_t i = 0; i < ir->objects.n; i++) {
		r->object_at[i] = r->mem_bytes;
		if (ir->objects.v[i].kind == IR_OBJ_LOCAL)
			r->mem_bytes += ir->objects.v[i].bytes;
	}
	r->mem = base_zalloc(&r->arena, r->mem_bytes + 16);
	r->mem_known = base_zalloc(&r->arena, r->mem_bytes + 16);
}

static struct thread *new_thread(struct run *r, uint32_t max_events)
{
	struct thread *t = BASE_NEW(&r->arena, struct thread);

	t->events = BASE_NEWN(&r->arena, struct event, max_events);
	t->max_events = max_events;
	return t;
}

enum replay_answer replay_run(struct ev *e, const struct smt_model *m, bool is_same_cta,
			      const struct ev_access *a, const struct ev_access *b,
			      struct replay_meeting *out)
{
	struct run r = {.e = e, .m = m, .a = a, .b = b};
	struct thread *t[2];
	enum replay_answer answer;

	memset(out, 0, sizeof(*out));
	if (!is_legal(&r)) {
		out->why = "the solver's launch is outside CUDA's limits";
		return REPLAY_DENIES;
	}
	open_run(&r);
	for (unsigned i = 0; i < 2; i++) {
		t[i] = new_thread(&r, MAX_EVENTS);
		run_thread(&r, t[i], m->tid[i], m->ctaid[i], UINT32_MAX);
	}
	answer = judge(&r, is_same_cta, t, out);
	base_arena_free(&r.arena);
	return answer;
}

/* ---- searching a launch -------------------------------------------------------------- */

/* An access of some thread of the launch, for sorting. */
struct seen {
	uint64_t addr;
	uint32_t group, tid[3], ctaid[3]; /* group: the CTA, or 0 for the grid */
	uint32_t phase;
	unsigned which;
	bool is_ordered, has_ended; /* the thread ended in this phase */
};

static int by_address(const void *x, const void *y)
{
	const struct seen *a = x, *b = y;

	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	if (a->is_ordered != b->is_ordered) /* what nothing may order comes first */
		return a->is_ordered ? 1 : -1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

struct search {
	struct run r;
	BASE_VEC(struct seen) seen;
	bool is_same_cta;
};

static void search_thread(struct search *s, const uint32_t *tid, const uint32_t *ctaid,
			  uint32_t cta)
{
	struct thread *t = new_thread(&s->r, SEARCH_EVENTS);

	run_thread(&s->r, t, tid, ctaid, UINT32_MAX);
	for (uint32_t i = 0; i < t->nevents; i++) {
		struct seen x = {.addr = t->events[i].addr, .which = t->events[i].which};
		memcpy(x.tid, tid, sizeof(x.tid));
		memcpy(x.ctaid, ctaid, sizeof(x.ctaid));
		x.group = s->is_same_cta ? cta : 0;
		x.phase = t->events[i].phase;
		x.has_ended = !t->is_lost && !t->is_trapped && t->nbars == x.phase;
		x.is_ordered =
			s->is_same_cta ? t->events[i].is_order_before : t->events[i].is_order_ever;
		base_vec_push(&s->seen, x);
	}
}

/* Each thread of at most SEARCH_CTAS blocks. */
static void search_launch(struct search *s)
{
	const struct smt_model *m = s->r.m;
	uint32_t tid[3], ctaid[3], ctas = 0;

	for (ctaid[2] = 0; ctaid[2] < m->nctaid[2]; ctaid[2]++)
		for (ctaid[1] = 0; ctaid[1] < m->nctaid[1]; ctaid[1]++)
			for (ctaid[0] = 0; ctaid[0] < m->nctaid[0]; ctaid[0]++) {
				if (++ctas > (s->is_same_cta ? 1 : SEARCH_CTAS))
					return;
				for (uint32_t i = 0; i < m->ntid[0] * m->ntid[1] * m->ntid[2];
				     i++) {
					tid[0] = i % m->ntid[0];
					tid[1] = i / m->ntid[0] % m->ntid[1];
					tid[2] = i / m->ntid[0] / m->ntid[1];
					search_thread(s, tid, ctaid, ctas);
				}
			}
}

static bool is_pair(const struct search *s, const struct seen *x, const struct seen *y)
{
	const struct run *r = &s->r;
	bool same_cta = !memcmp(x->ctaid, y->ctaid, sizeof(x->ctaid));

	if (!(x->which & 1) || !(y->which & 2) || same_cta != s->is_same_cta)
		return false;
	if (same_cta && !memcmp(x->tid, y->tid, sizeof(x->tid)))
		return false;
	if (same_cta && x->phase != y->phase && !(x->has_ended && x->phase < y->phase) &&
	    !(y->has_ended && y->phase < x->phase))
		return false;
	return x->group == y->group && x->addr < y->addr + r->b->mem->bytes &&
	       y->addr < x->addr + r->a->mem->bytes;
}

bool replay_search(struct ev *e, struct smt_model *m, bool is_same_cta, const struct ev_access *a,
		   const struct ev_access *b, struct replay_meeting *out)
{
	struct search s = {.r = {.e = e, .m = m, .a = a, .b = b}, .is_same_cta = is_same_cta};
	struct smt_model try = *m;
	unsigned tries = 0;
	bool found = false;

	memset(out, 0, sizeof(*out));
	memset(try.tid, 0, sizeof(try.tid));
	memset(try.ctaid, 0, sizeof(try.ctaid));
	s.r.m = &try;
	if (!is_legal(&s.r))
		return false;
	open_run(&s.r);
	s.r.budget = SEARCH_STEPS;
	search_launch(&s);
	if (s.seen.n)
		qsort(s.seen.v, s.seen.n, sizeof(*s.seen.v), by_address);
	/* Equal or overlapping addresses are neighbours; widths are at most 16 bytes. */
	for (size_t i = 0; i < s.seen.n && !found && tries < 8; i++) {
		for (size_t k = i; k-- > 0 && i - k < 64 && !found && tries < 8;) {
			const struct seen *x = &s.seen.v[i], *y = &s.seen.v[k];
			if (!is_pair(&s, x, y)) {
				const struct seen *t = x;
				x = y;
				y = t;
			}
			if (!is_pair(&s, x, y))
				continue;
			memcpy(try.tid[0], x->tid, sizeof(x->tid));
			memcpy(try.tid[1], y->tid, sizeof(y->tid));
			memcpy(try.ctaid[0], x->ctaid, sizeof(x->ctaid));
			memcpy(try.ctaid[1], y->ctaid, sizeof(y->ctaid));
			tries++;
			found = replay_run(e, &try, is_same_cta, a, b, out) == REPLAY_RACES;
		}
	}
	if (found)
		*m = try;
	base_vec_free(&s.seen);
	base_arena_free(&s.r.arena);
	return found;
}
