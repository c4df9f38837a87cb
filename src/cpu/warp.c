/*
 * warp.c - one turn of one warp: the run loop, how lanes diverge and reconverge.
 *
 * A warp starts as one split. A branch that lanes take differently makes two;
 * each is scheduled for itself, so every lane makes progress (independent
 * thread scheduling). Splits of one warp that reach the same place are merged where the decoder has
 * marked that paths join. The first split there waits for the others of its branch, but only for a
 * bounded number of the warp's instructions, drawn by seed; otherwise a lane would spin forever for
 * a value that a waiting lane has yet to write. The bound adapts: it shrinks when waiting was in
 * vain and grows when it was not.
 *
 * Instructions that need named lanes together (CPU_I_GATHER) wait without a
 * bound; lanes that arrive by different instructions of one form are handled together if the
 * function supports that (w->priv->parts).
 *
 * Costs: the loop tests only flags and the returned step. Merges are
 * missed where a path joins without a flag; the lanes then run one after the
 * other until the next join.
 */
#include "cpu/events.h"
#include "cpu/jit.h"
#include "cpu/sched.h"

#include <string.h>

#define PATIENCE_MIN 64u
#define PATIENCE_MAX 16384u

/* ---- splits --------------------------------------------------------------------- */

void cpu_split_state(struct cpu_warp *w, struct cpu_split *s, enum cpu_split_state state)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	uint32_t bit = cpu_split_bit(w, s);

	p->ready &= ~bit;
	p->asleep &= ~bit;
	p->joining &= ~bit;
	p->gathering &= ~bit;
	s->state = (uint8_t)state;
	switch (state) {
	case CPU_SPLIT_READY:
		p->ready |= bit;
		break;
	case CPU_SPLIT_SLEEP:
		p->asleep |= bit;
		break;
	case CPU_SPLIT_JOIN:
		p->joining |= bit;
		break;
	case CPU_SPLIT_GATHER:
		p->gathering |= bit;
		break;
	case CPU_SPLIT_FREE:
		p->used &= ~bit;
		w->nsplits--;
		break;
	case CPU_SPLIT_BARRIER:
		break;
	}
}

void cpu_warp_focus(struct cpu_warp *w, struct cpu_split *s)
{
	w->cur = s;
	w->base[0] = w->frames + (size_t)s->depth * w->grid->func->layout->frame;
	w->base[1] = s->func->consts;
	if (w->cta->rank && s->func->nshared_consts)
		w->base[1] = cpu_func_ranked(s->func, w->cta->rank);
}

struct cpu_split *cpu_split_off(struct cpu_warp *w, uint32_t lanes, uint32_t pc)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	struct cpu_split *s = w->cur;
	unsigned i = (unsigned)__builtin_ctz(~p->used); /* 32 lanes: never more than 32 splits */
	struct cpu_split *t = &w->split[i];

	*t = *s;
	t->mask = lanes;
	t->pc = pc;
	t->aux = 0;
	s->mask &= ~lanes;
	p->used |= 1u << i;
	w->nsplits++;
	cpu_split_state(w, t, CPU_SPLIT_READY);
	return t;
}

void cpu_warp_start(struct cpu_warp *w, struct cpu_func *f)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	struct cpu_split *s = &w->split[0];

	memset(s, 0, sizeof(*s));
	s->mask = w->lanes;
	s->func = f;
	w->exited = 0;
	w->carry = 0;
	w->registers = 0;
	w->nsplits = 1;
	p->used = 1;
	p->ready = p->asleep = p->joining = p->gathering = p->round = 0;
	p->nmeets = p->nparts = 0;
	p->insts = 0;
	p->nheld = 0;
	p->frame = NULL;
	p->patience = PATIENCE_MAX / 4;
	cpu_split_state(w, s, CPU_SPLIT_READY);
	cpu_warp_focus(w, s);
}

/* ---- meeting ---------------------------------------------------------------------- */

static struct cpu_meet *meet_find(struct cpu_warp_priv *p, const struct cpu_split *s)
{
	for (uint32_t i = p->nmeets; i-- > 0;) {
		struct cpu_meet *e = &p->meets[i];
		if (e->pc == s->pc && e->depth == s->depth && e->func == s->func)
			return e;
	}
	return NULL;
}

static void meet_drop(struct cpu_warp_priv *p, struct cpu_meet *e)
{
	memmove(e, e + 1, sizeof(*e) * (size_t)(&p->meets[--p->nmeets] - e));
}

void cpu_meet_expect(struct cpu_warp *w, struct cpu_func *func, uint32_t pc, uint32_t depth,
		     uint32_t lanes)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	const struct cpu_split key = {.func = func, .pc = pc, .depth = (uint16_t)depth};
	struct cpu_meet *e = meet_find(p, &key);

	if (e) {
		e->lanes |= lanes;
		return;
	}
	/* Forgetting the oldest costs a merge, not correctness. */
	if (p->nmeets == CPU_MEETS)
		meet_drop(p, &p->meets[0]);
	p->meets[p->nmeets++] = (struct cpu_meet){func, pc, lanes, depth};
}

void cpu_meet_leave(struct cpu_warp *w, uint32_t depth, uint32_t lanes)
{
	struct cpu_warp_priv *p = cpu_wp(w);

	for (uint32_t i = p->nmeets; i-- > 0;) {
		struct cpu_meet *e = &p->meets[i];
		if (e->depth < depth)
			continue;
		e->lanes &= ~lanes;
		if (!e->lanes)
			meet_drop(p, e);
	}
}

static bool is_mergeable(const struct cpu_split *s, const struct cpu_split *t)
{
	return t->pc == s->pc && t->func == s->func && t->depth == s->depth && !t->aux;
}

/* Merges the lanes of all splits among `those` that are at the same place. */
static void absorb(struct cpu_warp *w, struct cpu_split *s, uint32_t those)
{
	those &= ~cpu_split_bit(w, s);
	CPU_EACH_LANE (i, those) {
		struct cpu_split *t = &w->split[i];
		if (is_mergeable(s, t)) {
			s->mask |= t->mask;
			cpu_split_state(w, t, CPU_SPLIT_FREE);
		}
	}
}

bool cpu_meet_arrive(struct cpu_warp *w, struct cpu_split *s)
{
	struct cpu_warp_priv *p = cpu_wp(w);

	if (s->aux)
		return true;
	if (w->nsplits == 1) {
		p->nmeets = 0;
		return true;
	}
	absorb(w, s, p->ready | p->joining);

	struct cpu_meet *e = meet_find(p, s);

	if (!e || !(e->lanes & s->mask))
		return true;
	if (!(e->lanes & cpu_alive(w) & ~s->mask)) {
		meet_drop(p, e);
		if (p->patience < PATIENCE_MAX)
			p->patience *= 2;
		return true;
	}
	s->wake = p->insts + PATIENCE_MIN / 2 + cpu_random_below(w->worker, p->patience);
	if (!p->joining || s->wake < p->join_wake)
		p->join_wake = s->wake;
	cpu_split_state(w, s, CPU_SPLIT_JOIN);
	return false;
}

/* A split has waited long enough: it goes on alone. */
static void join_give_up(struct cpu_warp *w, struct cpu_split *s)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	struct cpu_meet *e = meet_find(p, s);

	if (e) {
		e->lanes &= ~s->mask;
		if (!e->lanes)
			meet_drop(p, e);
	}
	cpu_split_state(w, s, CPU_SPLIT_READY);
}

static void join_expire(struct cpu_warp *w)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	uint32_t joining = p->joining;
	uint64_t next = UINT64_MAX;

	CPU_EACH_LANE (i, joining) {
		struct cpu_split *s = &w->split[i];
		if (s->wake <= p->insts)
			join_give_up(w, s);
		else if (s->wake < next)
			next = s->wake;
	}
	p->join_wake = next;
	if (p->patience > PATIENCE_MIN)
		p->patience /= 2;
}

/* ---- leaving ------------------------------------------------------------------------ */

void cpu_warp_exit(struct cpu_warp *w, uint32_t lanes)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	uint32_t used = p->used;

	lanes &= cpu_alive(w);
	if (!lanes)
		return;
	w->exited |= lanes;
	CPU_EACH_LANE (i, used) {
		struct cpu_split *s = &w->split[i];
		s->mask &= ~lanes;
		if (!s->mask)
			cpu_split_state(w, s, CPU_SPLIT_FREE);
		else if (s->state == CPU_SPLIT_GATHER)
			cpu_split_state(w, s, CPU_SPLIT_READY); /* tests again */
	}
	cpu_meet_leave(w, 0, lanes);
	/* A split that waited only for these continues. */
	used = p->joining;
	CPU_EACH_LANE (j, used) {
		struct cpu_split *s = &w->split[j];
		if (s->state != CPU_SPLIT_JOIN)
			continue; /* merged into an earlier one */
		cpu_split_state(w, s, CPU_SPLIT_READY);
		cpu_meet_arrive(w, s);
	}
	cpu_barrier_lanes_exit(w, lanes);
	if (!cpu_alive(w)) {
		cpu_model_flush(w);
		w->cta->nlive--;
	}
}

/* ---- gathering ------------------------------------------------------------------------ */

enum go { GO_ON, GO_PAST, GO_AWAY };

/* The lanes named by the member mask, after lanes that name others have been split off. */
static uint32_t gather_members(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_split *s = w->cur;

	if (in->gather == CPU_GATHER_ALL)
		return w->lanes;

	const uint32_t *v = cpu_u32(w, in->src[in->gather]);
	uint32_t first = v[__builtin_ctz(s->mask)], others = 0;

	CPU_LANES(l, UINT32_MAX, others |= (uint32_t)(v[l] != first) << l);
	others &= s->mask;
	if (others)
		cpu_split_off(w, others, s->pc);
	return first & w->lanes;
}

static void explain_strays(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_split *t)
{
	const struct ptx_stmt *other = t->func->stmts[t->pc];

	bool is_all = in->gather == CPU_GATHER_ALL;

	cpu_fault(w, in, (unsigned)__builtin_ctz(w->cur->mask),
		  is_all ? CPU_FAULT_DEADLOCK : CPU_FAULT_ILLEGAL,
		  "lanes 0x%x wait here for lanes 0x%x %s, which are at %.*s (line %u)",
		  w->cur->mask, t->mask,
		  is_all ? "of their warp (.aligned)" : "with the same member mask",
		  (int)other->form->text.n, other->form->text.p, other->line);
}

/* All lanes of `members` are at gathering instructions, some at others than s: executes for all. */
static enum go gather_parts(struct cpu_warp *w, const struct cpu_inst *in, uint32_t members)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	struct cpu_split *s = w->cur;
	struct cpu_part parts[CPU_WARP];
	uint32_t waiting = p->gathering, n = 0;

	CPU_EACH_LANE (i, waiting) {
		struct cpu_split *t = &w->split[i];
		if (t->members != members)
			continue;
		const struct cpu_inst *tin = &t->func->code[t->pc];
		if (tin->fn != in->fn || tin->sub != in->sub || !cpu_exec_takes_parts(in->fn)) {
			explain_strays(w, in, t);
			return GO_AWAY;
		}
		cpu_warp_focus(w, t);
		parts[n++] = (struct cpu_part){t, tin, {w->base[0], w->base[1]}};
	}
	cpu_warp_focus(w, s);
	p->parts = parts;
	p->nparts = n;
	enum cpu_step step = in->fn(w, in, s->mask);
	p->nparts = 0;
	p->parts = NULL;
	if (step == CPU_FAULTED)
		return GO_AWAY;
	for (uint32_t i = 0; i < n; i++) {
		parts[i].split->pc++;
		cpu_split_state(w, parts[i].split, CPU_SPLIT_READY);
	}
	return GO_PAST;
}

static enum go gather(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	struct cpu_split *s = w->cur;
	uint32_t members = gather_members(w, in);
	uint32_t need = members & ~w->exited;

	if (s->mask == need)
		return GO_ON;
	if (s->mask & ~members) {
		cpu_fault(w, in, (unsigned)__builtin_ctz(s->mask & ~members), CPU_FAULT_ILLEGAL,
			  "the lane is not in the member mask 0x%x that it names", members);
		return GO_AWAY;
	}
	uint32_t there = s->mask, waiting = p->gathering;

	CPU_EACH_LANE (i, waiting) {
		struct cpu_split *t = &w->split[i];
		if (t->members != members)
			continue;
		if (is_mergeable(s, t)) {
			s->mask |= t->mask;
			cpu_split_state(w, t, CPU_SPLIT_FREE);
			there |= s->mask;
		} else {
			there |= t->mask;
		}
	}
	if (there != need) {
		s->members = members;
		cpu_split_state(w, s, CPU_SPLIT_GATHER);
		return GO_AWAY;
	}
	return s->mask == need ? GO_ON : gather_parts(w, in, members);
}

/* ---- the run loop ------------------------------------------------------------------------ */

/* Where lanes that diverge at the instruction at pc reconverge; nowhere after one that ends
 * them. */
void cpu_meet_after(struct cpu_warp *w, const struct cpu_inst *in, uint32_t lanes)
{
	struct cpu_split *s = w->cur;
	uint32_t effects = s->func->stmts[s->pc] ? s->func->stmts[s->pc]->form->effects : 0;

	if (effects & PTX_EFF_EXIT)
		return;
	if (!(effects & PTX_EFF_BRANCH)) {
		cpu_meet_expect(w, s->func, s->pc + 1, s->depth, lanes);
	} else if (in->join != CPU_NOPC) {
		cpu_meet_expect(w, s->func, in->join, s->depth, lanes);
	} else if (s->depth) {
		const struct cpu_return *r = &w->ret[s->depth][__builtin_ctz(lanes)];
		cpu_meet_expect(w, r->func, r->pc, s->depth - 1u, lanes);
	}
}

/* Before an instruction that counts on lockstep: in one of so many cases some lanes stay behind.
 * False: the split has gone to sleep (steer.c). */
#define APART_ONE_IN 4u

static bool part(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_split *s = w->cur;
	uint32_t lanes;

	if (w->grid->m->steer)
		return cpu_steer_access(w, in);
	if (cpu_random_below(w->worker, APART_ONE_IN))
		return true;
	lanes = s->mask & (uint32_t)cpu_random_below(w->worker, UINT32_MAX);
	if (lanes && lanes != s->mask)
		cpu_split_off(w, lanes, s->pc);
	return true;
}

/*
 * What precedes an instruction with JOIN, PARTS, GATHER or APART: merges, splits off the lanes
 * whose guard is false, waits for others. GO_ON: execute it with all lanes of s->mask.
 */
static __attribute__((noinline)) enum go prepare(struct cpu_warp *w, const struct cpu_inst *in)
{
	struct cpu_split *s = w->cur;

	if (in->flags & CPU_I_JOIN && !cpu_meet_arrive(w, s))
		return GO_AWAY;
	if (in->flags & CPU_I_NOTED)
		cpu_event_noted(w, in);
	if (in->flags & CPU_I_PARTS && in->guard != CPU_NOSLOT) {
		uint32_t m = *cpu_pred(w, in->guard) ^ (0u - (in->flags & CPU_I_GUARD_NOT));

		m &= s->mask;
		if (!m)
			return GO_PAST;
		if (m != s->mask) {
			if (w->nsplits == 1)
				cpu_wp(w)->nmeets = 0;
			cpu_meet_after(w, in, s->mask);
			struct cpu_split *t = cpu_split_off(w, s->mask & ~m, s->pc + 1);
			if (in->fn != cpu_exec_bra)
				cpu_meet_arrive(w, t);
		}
	}
	if (in->flags & CPU_I_APART && !part(w, in))
		return GO_AWAY;
	return in->flags & CPU_I_GATHER ? gather(w, in) : GO_ON;
}

/* What a step other than OK means. True: the turn goes on. */
static inline bool after_step(struct cpu_warp *w, enum cpu_step step, uint32_t pc)
{
	struct cpu_split *s = w->cur;

	switch (step) {
	case CPU_YIELD:
	case CPU_TRIED:
		s->pc = pc + 1;
		return false;
	case CPU_RETRY:
		s->pc = pc;
		return false;
	case CPU_MOVED:
		return s->state == CPU_SPLIT_READY;
	default:
		return false;
	}
}

/* False: the turn is over before `left` is used up. `rest`: what the turn has beyond that, which
 * passes, too, if an attempt fails. */
static bool run_split(struct cpu_worker *k, struct cpu_warp *w, struct cpu_split *s, int32_t left,
		      int32_t rest)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	const struct cpu_inst *code = s->func->code;
	uint32_t pc = s->pc, mask = s->mask;
	uint32_t n = 0, counted = 0, waited = 0;
	uint64_t threads = 0;
	bool goes_on = false;

	cpu_warp_focus(w, s);
	if (__builtin_expect(s->func->jit_wait, 0))
		cpu_jit_turn(k, s->func);
	while (left > 0) {
		const struct cpu_inst *in = &code[pc];
		uint32_t flags = in->flags, m = mask;
		enum cpu_step step = CPU_OK;

		/* Most of them: nothing is looked at before or after. */
		while (flags & CPU_I_PLAIN && left > 0) {
			n++;
			left -= cpu_inst_weight(flags);
			step = in->fn(w, in, mask);
			if (__builtin_expect(step != CPU_OK, 0))
				break;
			in++;
			flags = in->flags;
		}
		pc = (uint32_t)(in - code);
		if (step != CPU_OK)
			goto stepped;
		if (left <= 0)
			break;
		n++;
		left -= cpu_inst_weight(flags);
		if (in->guard != CPU_NOSLOT)
			m &= *cpu_pred(w, in->guard) ^ (0u - (flags & CPU_I_GUARD_NOT));
		if (flags & (CPU_I_JOIN | CPU_I_PARTS | CPU_I_GATHER | CPU_I_APART)) {
			if (w->nsplits > 1 || flags & CPU_I_APART ||
			    (flags & CPU_I_GATHER && !cpu_is_gathered(w, in, m)) ||
			    (m != mask && m && flags & CPU_I_PARTS)) {
				s->pc = pc;
				enum go go = prepare(w, in);
				threads += (uint64_t)(n - counted) * cpu_popcount(mask);
				counted = n;
				mask = s->mask;
				if (go == GO_AWAY)
					goto out;
				if (go == GO_PAST) {
					pc++;
					continue;
				}
				m = mask;
				if (in->guard != CPU_NOSLOT && !(flags & CPU_I_PARTS))
					m &= *cpu_pred(w, in->guard) ^
					     (0u - (flags & CPU_I_GUARD_NOT));
			} else if (flags & CPU_I_NOTED) {
				cpu_event_noted(w, in);
			}
			if (m && in->fn == cpu_exec_bra) {
				pc = in->target;
				continue;
			}
		} else if (flags & CPU_I_NOTED) {
			cpu_event_noted(w, in);
		}
		if (flags & (mask == UINT32_MAX ? CPU_I_RUN : CPU_I_RUN_SOME) &&
		    cpu_jit_go(w, &pc, mask, &left, &n))
			continue;
		if (!m) {
			pc++;
			continue;
		}

		step = in->fn(w, in, m);
	stepped:
		if (__builtin_expect(step == CPU_OK, 1)) {
			pc++;
			if (!(flags & CPU_I_PARTS && p->nmeets && w->nsplits > 1))
				continue;
			s->pc = pc;
			if (!cpu_meet_arrive(w, s))
				goto out;
		} else if (!after_step(w, step, pc)) {
			rest += left;
			waited = step == CPU_TRIED && rest > 0 ? (uint32_t)rest : 0;
			goto out;
		}
		threads += (uint64_t)(n - counted) * cpu_popcount(mask);
		counted = n;
		s = w->cur;
		code = s->func->code;
		pc = s->pc;
		mask = s->mask;
	}
	s->pc = pc;
	goes_on = true;
out:
	threads += (uint64_t)(n - counted) * cpu_popcount(mask);
	p->insts += n + waited;
	k->waited += waited;
	k->warp_insts += n;
	k->thread_insts += threads;
	return goes_on;
}

/* The same turn by single instructions, for deadlock.c; the joins' time stands still meanwhile, as
 * it does in one run. */
static void run_proving(struct cpu_worker *k, struct cpu_warp *w, struct cpu_split *s, int32_t left)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	uint64_t start = p->insts, done = 0;
	bool goes_on = true;

	cpu_warp_focus(w, s);
	while (goes_on && left > 0 && cpu_proof_goes_on(k)) {
		const struct cpu_inst *in = &w->cur->func->code[w->cur->pc];
		int32_t rest = left - 1;
		left -= cpu_inst_weight(in->flags);
		if (!cpu_proof_before(w, in)) {
			goes_on = false;
			break;
		}
		goes_on = run_split(k, w, w->cur, 1, rest);
		cpu_proof_after(w);
		done += p->insts - start;
		p->insts = start;
	}
	if (goes_on && left > 0)
		run_split(k, w, w->cur, left, 0);
	p->insts += done;
}

/* A ready split that has not run in this round of the warp, by seed. */
static struct cpu_split *choose_split(struct cpu_worker *k, struct cpu_warp *w)
{
	struct cpu_warp_priv *p = cpu_wp(w);
	uint32_t set = p->ready & p->round;

	if (!set) {
		set = p->ready;
		p->round = set;
	}
	if (set & (set - 1)) {
		uint32_t skip = cpu_random_below(k, cpu_popcount(set));
		while (skip--)
			set &= set - 1;
	}
	set &= 0u - set;
	p->round &= ~set;
	return &w->split[__builtin_ctz(set)];
}

bool cpu_warp_run(struct cpu_worker *k, struct cpu_warp *w, uint32_t budget)
{
	struct cpu_warp_priv *p = cpu_wp(w);

	w->worker = k;
	k->warp = w;
	p->insts++;
	if (p->ready && __builtin_expect(k->proof != NULL, 0) && cpu_proof_goes_on(k))
		run_proving(k, w, choose_split(k, w), (int32_t)budget);
	else if (p->ready)
		run_split(k, w, choose_split(k, w), (int32_t)budget, 0);
	if (w->cta->l1)
		cpu_model_tick(w);
	if (p->joining && p->join_wake <= p->insts)
		join_expire(w);
	/* No split is on the way to them, or not before something else happens. */
	while (p->joining && !p->ready && !p->asleep)
		join_give_up(w, &w->split[__builtin_ctz(p->joining)]);
	return p->ready != 0;
}
