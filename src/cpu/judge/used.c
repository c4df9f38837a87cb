/*
 * used.c - has a thread really used the value that it loaded?
 *
 * Of a load that nvcc may have invented (invented.c), each element has a trace (flow_trace): the
 * registers that may hold something computed from it, and the statements that read or overwrite
 * them. Those statements and the load get another handler, which first follows the value: a bit
 * for each register and lane says that what it holds depends on what the lane loaded there last. A
 * selp passes on the operand that it takes, an and.pred one operand where the other is true, and so
 * on. Where a marked value takes effect, or comes to a result that is surely used, the thread has
 * used the load; until it loads there again.
 *
 * Misses, each of which leaves a pair possible: branches, calls and warp operations have no other
 * handler (the engine knows them by theirs), so their operands count only if a statement before
 * them is sure to reach them; what trace.c misses; a load in a function that calls itself, when the
 * inner one has loaded in between.
 * Costs: a look-up for each execution of such a load and its statements; for each running warp and
 * element a word for each register, and a bit for each thread that has used it.
 */
#include "cpu/judge/judge.h"
#include "flow/flow.h"

#include <stdlib.h>

#define NEAR_WARPS 256u

/* An element of a load, and where its value may be. */
struct judge_trace {
	struct cpu_site *load;
	unsigned elem;
	uint32_t nregs;
	uint64_t *used; /* bits by actor */
	size_t words;
	struct judge_marks *near[NEAR_WARPS]; /* looked up last, by the warp's number */
	struct judge_trace *next;	      /* of the same load */
};

/* By which rule the result depends on operands 1 and 2. */
enum rule {
	RULE_NEVER,  /* not known, or the statement only overwrites */
	RULE_ANY,    /* on each operand */
	RULE_SELECT, /* on the one that operand 3 takes */
	RULE_SIGN,   /* on operand 3 only: slct */
	RULE_AND,    /* predicates: on one where the other is true */
	RULE_OR,     /* predicates: where it is false */
	RULE_BITS,   /* and, or, mul: where the other operand, by its value, doesn't decide alone */
	RULE_JOIN    /* setp.and with operand 3: where that doesn't decide alone */
};

enum { NO_REG = -1 };

/* What a statement does in a trace: indexes into its registers. */
struct step {
	struct judge_trace *trace;
	const struct ptx_stmt *s;
	enum rule rule;
	bool is_last, is_pure, is_test, is_bool[2];
	int8_t from[3];		/* operands 1 to 3 */
	uint32_t reads, writes; /* sets of registers, the guard's too */
};

struct judge_note {
	const struct cpu_inst *in;
	cpu_exec *fn; /* its own handler */
	BASE_VEC(struct step) steps;
	struct judge_trace *loads; /* of the elements that it loads */
	UT_hash_handle hh;
};

struct marks_key {
	const struct cpu_warp *warp;
	struct judge_trace *trace;
};

/* The marks of a warp. */
struct judge_marks {
	struct marks_key key;
	struct judge_marks **near; /* where the trace may have it at hand */
	uint32_t depth;		   /* of the call that loaded: marks of another one don't count */
	uint32_t lanes[FLOW_TRACE_REGS];
	struct judge_marks *next; /* of the block */
	UT_hash_handle hh;
};

/* All marks of a block. */
struct judge_marked {
	const struct cpu_cta *cta;
	struct judge_marks *first;
	UT_hash_handle hh;
};

/* A race of a load that its thread may use yet. */
struct judge_pending {
	struct {
		uint64_t actor;
		const struct cpu_site *load;
	} key;
	struct judge_pair *pair;
	unsigned elems;		   /* a use of any of these makes it sure */
	struct oracle_side *sides; /* two; NULL: not kept */
	UT_hash_handle hh;
};

/* Of so many the sides are kept, so that the report can name a thread that has used the value. */
#define MAX_SIDES 65536u

static struct judge_note *note_of(struct cpu_judge *x, const struct cpu_inst *in)
{
	struct judge_note **near = &x->near[(uintptr_t)in / sizeof(*in) % JUDGE_NOTES], *n = *near;

	if (n && n->in == in)
		return n;
	HASH_FIND_PTR(x->notes, &in, n);
	if (n)
		*near = n;
	return n;
}

static struct judge_pending *pending_of(struct cpu_judge *x, const struct cpu_site *load,
					uint32_t actor)
{
	struct judge_pending key = {.key = {actor, load}}, *p;

	HASH_FIND(hh, x->pending, &key.key, sizeof(key.key), p);
	return p;
}

static void pending_drop(struct cpu_judge *x, struct judge_pending *p)
{
	/* Sites are const to whoever asks by an access; this one is of our arena. */
	struct cpu_site *load = (struct cpu_site *)(uintptr_t)p->key.load;

	HASH_DEL(x->pending, p);
	load->npending--;
	if (p->key.actor / 64 < load->npending_words)
		load->pending[p->key.actor / 64] &= ~(1ull << p->key.actor % 64);
	free(p->sides);
	free(p);
}

/* False: no memory. */
static bool pending_mark(struct cpu_judge *x, struct cpu_site *load, uint32_t actor)
{
	size_t at = actor / 64;

	if (at >= load->npending_words) {
		size_t words = at + 64 + load->npending_words;
		uint64_t *bits = base_alloc(&x->arena, words * sizeof(*bits));
		if (!bits)
			return false;
		memset(bits, 0, words * sizeof(*bits));
		if (load->npending_words)
			memcpy(bits, load->pending, load->npending_words * sizeof(*bits));
		load->pending = bits;
		load->npending_words = words;
	}
	load->pending[at] |= 1ull << actor % 64;
	return true;
}

/* The lanes of `mask` that have such a race; lane 0 is `first`, a multiple of 32. */
static uint32_t pending_lanes(const struct cpu_site *load, uint32_t first, uint32_t mask)
{
	size_t at = first / 64;

	return at < load->npending_words ? (uint32_t)(load->pending[at] >> first % 64) & mask : 0;
}

static struct judge_marks **near_of(struct judge_trace *t, const struct cpu_warp *w)
{
	return &t->near[judge_actor(w) / CPU_WARP % NEAR_WARPS];
}

static struct judge_marks *marks_of(struct cpu_judge *x, const struct cpu_warp *w,
				    struct judge_trace *t)
{
	struct judge_marks **near = near_of(t, w), *m = *near;

	if (m && m->key.warp == w)
		return m;
	const struct marks_key key = {w, t};
	HASH_FIND(hh, x->marks, &key, sizeof(key), m);
	if (m)
		*near = m;
	return m;
}

static struct judge_marked *marked_of(struct cpu_judge *x, const struct cpu_cta *cta)
{
	struct judge_marked *b;

	HASH_FIND_PTR(x->marked, &cta, b);
	return b;
}

/* NULL: no memory. */
static struct judge_marks *marks_add(struct cpu_judge *x, const struct cpu_warp *w,
				     struct judge_trace *t)
{
	struct judge_marked *b = marked_of(x, w->cta);
	struct judge_marks *m = x->free_marks;

	if (m) {
		x->free_marks = m->next;
		memset(m, 0, sizeof(*m));
	} else {
		m = calloc(1, sizeof(*m));
	}
	if (!b && m) {
		b = calloc(1, sizeof(*b));
		if (b) {
			b->cta = w->cta;
			HASH_ADD_PTR(x->marked, cta, b);
		}
	}
	if (!b || !m) {
		free(m);
		return NULL;
	}
	m->key.warp = w;
	m->key.trace = t;
	m->near = near_of(t, w);
	m->next = b->first;
	b->first = m;
	HASH_ADD(hh, x->marks, key, sizeof(m->key), m);
	return m;
}

/* ---- loads and uses -------------------------------------------------------------------------- */

/* The bits of a warp's lanes, whose lane 0 is `first`. Without memory nobody has used anything. */
static void set_used(struct judge_trace *t, uint32_t first, uint32_t mask, bool is_used)
{
	size_t at = first / 64;
	uint64_t low = (uint64_t)mask << first % 64;
	uint64_t high = first % 64 > 32 ? (uint64_t)mask >> (64 - first % 64) : 0;

	if (!is_used) {
		if (at < t->words)
			t->used[at] &= ~low;
		if (at + 1 < t->words)
			t->used[at + 1] &= ~high;
		return;
	}
	if (at + 1 >= t->words) {
		size_t words = at + 64;
		uint64_t *bits = realloc(t->used, words * sizeof(*bits));
		if (!bits)
			return;
		memset(bits + t->words, 0, (words - t->words) * sizeof(*bits));
		t->used = bits;
		t->words = words;
	}
	t->used[at] |= low;
	t->used[at + 1] |= high;
}

static void has_loaded(struct cpu_judge *x, struct judge_trace *t, const struct cpu_warp *w,
		       uint32_t mask)
{
	struct judge_marks *m = marks_of(x, w, t);

	if (!m)
		m = marks_add(x, w, t);
	if (!m)
		return;
	if (m->depth != w->cur->depth)
		memset(m->lanes, 0, sizeof(m->lanes));
	m->depth = w->cur->depth;
	for (uint32_t i = 0; i < t->nregs; i++)
		m->lanes[i] &= ~mask;
	m->lanes[0] |= mask;
	set_used(t, judge_actor(w), mask, false);
	if (!t->load->npending)
		return;
	mask = pending_lanes(t->load, judge_actor(w), mask);
	CPU_EACH_LANE (l, mask) {
		struct judge_pending *p = pending_of(x, t->load, judge_actor(w) + l);
		if (p)
			pending_drop(x, p);
	}
}

static void has_used(struct cpu_judge *x, struct judge_trace *t, const struct cpu_warp *w,
		     uint32_t mask)
{
	set_used(t, judge_actor(w), mask, true);
	if (!t->load->npending)
		return;
	mask = pending_lanes(t->load, judge_actor(w), mask);
	CPU_EACH_LANE (l, mask) {
		struct judge_pending *p = pending_of(x, t->load, judge_actor(w) + l);
		if (p && p->elems >> t->elem & 1) {
			judge_pair_sure(x, p->pair, p->sides, p->sides ? p->sides + 1 : NULL);
			pending_drop(x, p);
		}
	}
}

/* ---- what a result depends on ---------------------------------------------------------------- */

/* Lanes of `mask` in which operand `other` (0 or 1) of and, or, mul leaves the result open. */
static uint32_t left_open(struct cpu_warp *w, const struct cpu_inst *in, const struct step *st,
			  unsigned other, uint32_t mask)
{
	const struct ptx_form *f = st->s->form;
	unsigned bytes = ptx_type_bytes(f->types[0]);
	uint64_t ones = bytes >= 8 ? UINT64_MAX : (1ull << 8 * bytes) - 1;
	uint32_t open = 0;

	if (!st->is_bool[other] && !st->is_test)
		return mask;
	if (f->op == PTX_OP_MIN || f->op == PTX_OP_MAX || bytes > 8)
		return 0;
	CPU_EACH_LANE (l, mask) {
		uint64_t v = bytes == 8	  ? cpu_u64(w, in->src[other])[l]
			     : bytes == 4 ? cpu_u32(w, in->src[other])[l]
					  : cpu_u16(w, in->src[other])[l];
		bool is_open = f->op == PTX_OP_OR   ? (v & ones) == 0
			       : st->is_bool[other] ? (v & ones) != 0
						    : (v & ones) == ones;
		open |= (uint32_t)is_open << l;
	}
	return open;
}

/* The value of a predicate operand, its `!` applied. */
static uint32_t taken(struct cpu_warp *w, uint32_t slot, const struct ptx_opnd *o)
{
	return *cpu_pred(w, slot) ^ (o->flags & PTX_OPND_NOT ? UINT32_MAX : 0);
}

/* Lanes of `mask` whose result depends on what was loaded, before the statement executes. */
static uint32_t dependent(struct cpu_warp *w, const struct cpu_inst *in, const struct step *st,
			  const uint32_t *lanes, uint32_t mask)
{
	const struct ptx_opnd *o = st->s->ops;
	uint32_t any = 0, p, q;
	uint32_t a = st->from[0] == NO_REG ? 0 : lanes[st->from[0]];
	uint32_t b = st->from[1] == NO_REG ? 0 : lanes[st->from[1]];
	uint32_t c = st->from[2] == NO_REG ? 0 : lanes[st->from[2]];

	for (uint32_t left = st->reads; left; left &= left - 1)
		any |= lanes[__builtin_ctz(left)];
	any &= mask;
	if (!any)
		return 0;
	switch (st->rule) {
	case RULE_ANY:
		return any;
	case RULE_SELECT:
		p = taken(w, in->src[2], &o[3]);
		return mask & ((a & p) | (b & ~p) | c);
	case RULE_SIGN:
		return mask & c;
	case RULE_AND:
		p = taken(w, in->src[0], &o[1]);
		q = taken(w, in->src[1], &o[2]);
		return mask & ((a & b) | (a & q) | (b & p));
	case RULE_OR:
		p = taken(w, in->src[0], &o[1]);
		q = taken(w, in->src[1], &o[2]);
		return mask & ((a & b) | (a & ~q) | (b & ~p));
	case RULE_BITS:
		return mask & ((a & b) | c | (a ? left_open(w, in, st, 1, a & ~b & mask) : 0) |
			       (b ? left_open(w, in, st, 0, b & ~a & mask) : 0));
	case RULE_JOIN:
		p = taken(w, in->src[2], &o[3]);
		p ^= ptx_form_has(st->s->form, PTX_MOD_OR) ? UINT32_MAX : 0;
		return mask & (a | b) & p;
	case RULE_NEVER:
		break;
	}
	return 0;
}

static void take_step(struct cpu_judge *x, struct cpu_warp *w, const struct cpu_inst *in,
		      const struct step *st, uint32_t mask)
{
	struct judge_marks *m = marks_of(x, w, st->trace);

	if (!m || m->depth != w->cur->depth)
		return;
	uint32_t dep = dependent(w, in, st, m->lanes, mask);
	if (st->is_last && dep)
		has_used(x, st->trace, w, dep);
	for (uint32_t left = st->writes; left; left &= left - 1) {
		uint32_t *to = &m->lanes[__builtin_ctz(left)];
		*to = (*to & ~mask) | (st->is_pure ? dep : 0);
	}
}

static enum cpu_step exec_noted(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_judge *x = w->grid->m->judge; /* it has the note, whatever is judged */

	judge_lock(x);
	struct judge_note *n = note_of(x, in);
	if (!cpu_judge_of(w)) {
		cpu_exec *plain = n->fn;
		judge_unlock(x);
		return plain(w, in, mask);
	}
	for (size_t i = 0; i < n->steps.n; i++)
		take_step(x, w, in, &n->steps.v[i], mask);
	for (struct judge_trace *t = n->loads; t; t = t->next)
		has_loaded(x, t, w, mask);
	cpu_exec *fn = n->fn;
	judge_unlock(x);
	return fn(w, in, mask);
}

/* ---- making notes ---------------------------------------------------------------------------- */

static struct judge_note *note_add(struct cpu_judge *x, struct cpu_inst *in)
{
	struct judge_note *n = note_of(x, in);

	if (n)
		return n;
	n = base_calloc(1, sizeof(*n));
	n->in = in;
	n->fn = in->fn;
	in->fn = exec_noted;
	HASH_ADD_PTR(x->notes, in, n);
	return n;
}

/* The engine knows some instructions by their handlers: those keep them. */
static bool can_be_noted(const struct ptx_stmt *s)
{
	const uint32_t known = PTX_EFF_BRANCH | PTX_EFF_CALL | PTX_EFF_EXIT | PTX_EFF_CONVERGENT |
			       PTX_EFF_WARP_SYNC | PTX_EFF_BARRIER;

	return !(s->form->effects & known);
}

static enum rule rule_of(const struct ptx_stmt *s)
{
	bool is_pred = s->form->types[0] == PTX_TYPE_PRED;

	switch (s->form->op) {
	case PTX_OP_SELP:
		return s->nops == 4 ? RULE_SELECT : RULE_NEVER;
	case PTX_OP_SLCT:
		return RULE_SIGN;
	case PTX_OP_AND:
		return is_pred ? RULE_AND : RULE_BITS;
	case PTX_OP_OR:
		return is_pred ? RULE_OR : RULE_BITS;
	case PTX_OP_MIN:
	case PTX_OP_MAX:
	case PTX_OP_MUL:
	case PTX_OP_MAD:
		return RULE_BITS;
	case PTX_OP_SETP:
	case PTX_OP_SET:
		if (s->nops < 4)
			return RULE_ANY;
		return ptx_form_has(s->form, PTX_MOD_XOR) ? RULE_ANY : RULE_JOIN;
	default:
		return RULE_ANY;
	}
}

struct registers {
	const struct flow_trace *flow;
	uint32_t reads, writes;
};

static void look_at_register(uint32_t reg, bool is_write, void *arg)
{
	struct registers *r = arg;

	for (uint32_t i = 0; i < r->flow->nregs; i++)
		if (r->flow->regs[i] == reg)
			*(is_write ? &r->writes : &r->reads) |= 1u << i;
}

static int8_t register_of(const struct flow_trace *f, const struct ptx_stmt *s, unsigned op)
{
	for (uint32_t i = 0; op < s->nops && s->ops[op].kind == PTX_OPND_REG && i < f->nregs; i++)
		if (f->regs[i] == s->ops[op].reg)
			return (int8_t)i;
	return NO_REG;
}

static void add_step(struct cpu_judge *x, struct cpu_func *f, struct judge_trace *t,
		     const struct flow_trace *flow, const struct flow_step *from)
{
	struct ptx_stmt *s = from->at;
	struct registers r = {.flow = flow};
	struct step st = {.trace = t,
			  .s = s,
			  .is_pure = from->is_pure,
			  .is_last = from->is_last,
			  .is_test = from->is_test,
			  .is_bool = {from->is_bool[0], from->is_bool[1]}};

	if (!can_be_noted(s))
		return;
	ptx_each_reg(s, look_at_register, &r);
	for (unsigned i = 0; i < 3; i++)
		st.from[i] = register_of(flow, s, i + 1);
	st.reads = r.reads;
	st.writes = r.writes;
	st.rule = from->is_pure ? rule_of(s) : from->is_last ? RULE_ANY : RULE_NEVER;
	/* The last one: what comes before it reads a special register for it. */
	for (uint32_t pc = f->ninsts; pc-- > 0;)
		if (f->stmts[pc] == s) {
			base_vec_push(&note_add(x, &f->code[pc])->steps, st);
			return;
		}
}

void judge_used_watch(struct cpu_judge *x, struct flow *fl, struct cpu_site *site, unsigned elem,
		      uint32_t reg)
{
	struct cpu_func *f = (struct cpu_func *)site->func;
	struct flow_trace *flow = flow_trace(fl, f->stmts[site->pc], reg);
	struct judge_trace *t;

	if (!flow)
		return;
	t = BASE_NEW(&x->arena, struct judge_trace);
	*t = (struct judge_trace){.load = site, .elem = elem, .nregs = flow->nregs};
	for (uint32_t i = 0; i < flow->nsteps; i++)
		add_step(x, f, t, flow, &flow->steps[i]);
	struct judge_note *n = note_add(x, &f->code[site->pc]);
	t->next = n->loads;
	n->loads = t;
	site->is_noted = true;
}

void judge_used_first(struct cpu_judge *x, const struct cpu_warp *w, const struct cpu_inst *in,
		      uint32_t mask)
{
	struct judge_note *n = note_of(x, in);

	for (struct judge_trace *t = n ? n->loads : NULL; t; t = t->next)
		has_loaded(x, t, w, mask);
}

/* ---- questions ------------------------------------------------------------------------------- */

static void keep_sides(const struct cpu_judge *x, struct judge_pending *p,
		       const struct judge_sighting *seen)
{
	if (!p->sides && HASH_COUNT(x->pending) <= MAX_SIDES)
		p->sides = malloc(sizeof(seen->side));
	if (p->sides)
		memcpy(p->sides, seen->side, sizeof(seen->side));
}

bool judge_is_used(struct cpu_judge *x, const struct oracle_side *load,
		   const struct judge_sighting *seen)
{
	const struct cpu_site *s = load->inst;
	uint32_t actor = load->actor;
	struct judge_note *n = s->is_noted && s->func ? note_of(x, &s->func->code[s->pc]) : NULL;
	struct judge_pending *p;

	if (!n)
		return false;
	for (const struct judge_trace *t = n->loads; t; t = t->next)
		if (seen->elems >> t->elem & 1 && actor / 64 < t->words &&
		    t->used[actor / 64] >> actor % 64 & 1)
			return true;
	p = pending_of(x, s, actor);
	if (!p) {
		p = calloc(1, sizeof(*p));
		if (!p)
			return false;
		p->key.actor = actor;
		p->key.load = s;
		if (!pending_mark(x, (struct cpu_site *)(uintptr_t)s, actor)) {
			free(p);
			return false;
		}
		HASH_ADD(hh, x->pending, key, sizeof(p->key), p);
		((struct cpu_site *)(uintptr_t)s)->npending++;
	}
	p->pair = seen->pair;
	p->elems = seen->elems;
	keep_sides(x, p, seen);
	return false;
}

static void marked_drop(struct cpu_judge *x, struct judge_marked *b)
{
	while (b->first) {
		struct judge_marks *m = b->first;
		b->first = m->next;
		HASH_DEL(x->marks, m);
		if (*m->near == m)
			*m->near = NULL;
		m->next = x->free_marks;
		x->free_marks = m;
	}
	HASH_DEL(x->marked, b);
	free(b);
}

void judge_used_block_end(struct cpu_judge *x, const struct cpu_cta *cta)
{
	struct judge_marked *b = marked_of(x, cta);

	if (b)
		marked_drop(x, b);
}

void judge_notes_drop(struct cpu_judge *x, const struct cpu_func *f)
{
	struct judge_note *n, *next;

	memset(x->near, 0, sizeof(x->near));
	HASH_ITER(hh, x->notes, n, next)
	{
		if (f && (n->in < f->code || n->in >= f->code + f->ninsts))
			continue;
		HASH_DEL(x->notes, n);
		for (struct judge_trace *t = n->loads; t; t = t->next)
			free(t->used);
		base_vec_free(&n->steps);
		free(n);
	}
}

void judge_used_free(struct cpu_judge *x)
{
	struct judge_pending *p, *next;
	struct judge_marked *b, *last;

	judge_notes_drop(x, NULL);
	HASH_ITER(hh, x->pending, p, next)
	{
		pending_drop(x, p);
	}
	HASH_ITER(hh, x->marked, b, last)
	{
		marked_drop(x, b);
	}
	while (x->free_marks) {
		struct judge_marks *m = x->free_marks;
		x->free_marks = m->next;
		free(m);
	}
}
