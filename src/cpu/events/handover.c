/*
 * handover.c - what is missing between two accesses that race (race/layout/missing.def).
 *
 * Notes what looks like a hand-over: a strong read that saw a strong write of another warp, where
 * the value decides something. If an access before that write races with one after that read, the
 * hand-over was to order the two, and the oracle's clocks say which half of it is missing: does the
 * reader know the access, or would it after a fence; has the writer released anything since? Of
 * copies it notes when they were issued, which phase they completed, and when each site was
 * executed last: an access before the issue, of memory that an earlier copy had filled, means that
 * the copy came too early; of other memory, that the access was to wait for it.
 *
 * Words only: no verdict depends on this. So all tables have fixed sizes and forget what collides.
 * Misses: what was handed over by way of a third block; flags whose reader is of another launch.
 * Costs: two places of tables for each strong access, one for each warp's access where its block
 * has asynchronous copies; 1 MiB, of which a run touches what it uses.
 */
#include "cpu/async/async.h"
#include "cpu/events/internal.h"
#include "flow/flow.h"

#include <string.h>

#define FLAGS  1024u
#define TAKES  1024u
#define WAYS   4u
#define FENCES 4096u
#define READS  4096u
#define TIMES  4096u
#define COPIES 4096u
#define WAITS  1024u
#define FILLS  4096u
#define LINE   128u /* bytes */

#define BIT(x) (1u << RACE_MISSING_##x)

#define WRITERS 8u

/* A strong write. */
struct writer {
	uint32_t actor, epoch, fenced; /* epochs: of the write; after its thread's last fence */
	uint8_t scope, fence;	       /* of that fence; 0: none */
	bool is_release;
};

/* The last strong write of an address and those that it has read, one after the other. */
struct flag {
	uint64_t address;
	uint32_t n, first; /* writes so far; the first that the last one follows */
	struct writer last[WRITERS];
};

struct fenced {
	uint32_t actor, epoch;
	uint8_t scope;
};

/* A read that saw it. */
struct take {
	uint64_t address;
	uint32_t n; /* writes of the flag until then */
	uint32_t reader, epoch;
	uint8_t scope;
	bool waits; /* it was repeated, or changes nothing unless it is its turn */
	struct cpu_site *site;
};

struct read {
	uint32_t actor;
	const struct cpu_site *site;
	uint64_t address;
};

struct seen {
	const struct cpu_site *site;
	uint32_t warp;
	uint64_t event;
};

struct copy {
	uint32_t actor;
	uint64_t issued; /* event */
	uint64_t mbarrier, phase;
};

struct waited {
	uint32_t warp;
	uint64_t mbarrier, phase, event;
};

/* A line of memory that a copy has written. */
struct filled {
	uint64_t line;	/* 0: none */
	uint64_t event; /* of the first one */
};

struct events_handovers {
	struct flag flags[FLAGS];
	struct take takes[TAKES][WAYS];
	uint8_t next[TAKES];
	struct fenced fences[FENCES];
	struct read reads[READS];
	struct seen times[TIMES];
	struct copy copies[COPIES];
	struct waited waits[WAITS][WAYS];
	uint8_t next_wait[WAITS];
	struct filled fills[FILLS];
	bool has_fills;
};

static uint32_t hash(uint64_t x)
{
	return (uint32_t)(x * 0x9e3779b97f4a7c15ull >> 40);
}

static struct events_handovers *tables(struct cpu_events *x)
{
	if (!x->handovers)
		x->handovers = base_calloc(1, sizeof(*x->handovers));
	return x->handovers;
}

/* ---- flags ----------------------------------------------------------------------------------- */

static const struct ptx_stmt *stmt_of(const struct cpu_site *s)
{
	const struct ptx_stmt *st = s->func ? s->func->stmts[s->pc] : NULL;

	return st && st->kind == PTX_STMT_INST && st->nops ? st : NULL;
}

/* atomicAdd(x, 0) and the like: a read, as programs mean it. */
static bool changes_nothing(const struct cpu_site *s)
{
	const struct ptx_stmt *st = stmt_of(s);
	const struct ptx_opnd *last = st ? &st->ops[st->nops - 1] : NULL;

	return last && last->kind == PTX_OPND_INT && !last->imm &&
	       (ptx_form_has(st->form, PTX_MOD_ADD) || ptx_form_has(st->form, PTX_MOD_OR));
}

static bool is_cas(const struct cpu_site *s)
{
	return stmt_of(s) && ptx_form_has(stmt_of(s)->form, PTX_MOD_CAS);
}

static void take_add(struct cpu_events *x, uint32_t actor, const struct oracle_acc *acc,
		     const struct flag *from, bool is_repeated)
{
	struct events_handovers *h = x->handovers;
	uint32_t at = hash(actor >> 5) % TAKES;
	/* The oracle has its sites as pointers to const. */
	struct cpu_site *s = (struct cpu_site *)(uintptr_t)acc->inst;

	h->takes[at][h->next[at]++ % WAYS] =
		(struct take){.address = from->address,
			      .n = from->n,
			      .reader = actor,
			      .epoch = oracle_epoch(x->o, actor),
			      .scope = acc->scope,
			      .waits = is_repeated || acc->kind == RACE_OP_READ || is_cas(s) ||
				       changes_nothing(s),
			      .site = s};
}

static const struct writer *last_of(const struct flag *f)
{
	return &f->last[(f->n - 1) % WRITERS];
}

static void write_add(struct cpu_events *x, struct flag *f, uint32_t actor,
		      const struct oracle_acc *acc, uint64_t address)
{
	const struct fenced *last = &x->handovers->fences[hash(actor) % FENCES];
	bool has_fence = last->actor == actor;

	if (f->address != address)
		f->n = f->first = 0;
	if (!(acc->kind & RACE_OP_READ))
		f->first = f->n;
	f->address = address;
	f->last[f->n++ % WRITERS] =
		(struct writer){.actor = actor,
				.epoch = oracle_epoch(x->o, actor),
				.fenced = has_fence ? last->epoch : 0,
				.fence = has_fence ? last->scope : (uint8_t)RACE_SCOPE_NONE,
				.scope = acc->scope,
				.is_release = race_is_release((enum race_strength)acc->strength)};
}

void events_flag(struct cpu_events *x, uint32_t actor, const struct oracle_acc *acc,
		 uint64_t address)
{
	struct events_handovers *h = tables(x);
	struct flag *f = &h->flags[hash(address) % FLAGS];
	struct read *r = &h->reads[hash(actor) % READS];

	if (acc->flags & (ORACLE_MBARRIER | ORACLE_INSERTED) || !acc->inst)
		return;
	bool is_read = acc->kind & RACE_OP_READ;
	if (is_read && !(acc->flags & ORACLE_RED)) {
		if (f->address == address && f->n && last_of(f)->actor >> 5 != actor >> 5)
			take_add(x, actor, acc, f,
				 r->actor == actor && r->site == acc->inst &&
					 r->address == address);
		*r = (struct read){actor, acc->inst, address};
	}
	if (acc->kind & RACE_OP_WRITE && !(is_read && changes_nothing(acc->inst)))
		write_add(x, f, actor, acc, address);
}

/* The lanes of `mask`, that update the address of one of them, whose flag was just noted: as if one
 * by one. Of their writes the last ones remain, and none takes from another warp. */
static void flags_next(struct cpu_events *x, uint32_t warp, uint32_t mask,
		       const struct oracle_acc *acc, uint64_t address)
{
	struct events_handovers *h = x->handovers;
	struct flag *f = &h->flags[hash(address) % FLAGS];
	uint32_t n = (uint32_t)__builtin_popcount(mask);

	CPU_EACH_LANE (l, acc->flags & ORACLE_RED ? 0 : mask)
		h->reads[hash(warp + l) % READS] = (struct read){warp + l, acc->inst, address};
	for (; n > WRITERS; n--, f->n++)
		mask &= mask - 1;
	CPU_EACH_LANE (l, mask)
		write_add(x, f, warp + l, acc, address);
}

void events_flags(struct cpu_events *x, uint32_t warp, uint32_t mask, const struct oracle_acc *acc,
		  const uint64_t *at)
{
	bool is_update = acc->kind == RACE_OP_RMW && !(acc->flags & ORACLE_MBARRIER) && acc->inst &&
			 !(acc->flags & ORACLE_INSERTED) && !changes_nothing(acc->inst);

	while (mask) {
		uint32_t l = (uint32_t)__builtin_ctz(mask), next;
		events_flag(x, warp + l, acc, at[l]);
		mask &= mask - 1;
		for (next = l + 1; is_update && next < CPU_WARP; next++)
			if (!(mask >> next & 1) || at[next] != at[l])
				break;
		if (!is_update || next == l + 1)
			continue;
		uint32_t others = (uint32_t)((1ull << next) - (2ull << l));
		flags_next(x, warp, others, acc, at[l]);
		mask &= ~others;
	}
}

void events_fenced(struct cpu_events *x, uint32_t warp, uint32_t mask, uint8_t scope)
{
	struct events_handovers *h = tables(x);

	CPU_EACH_LANE (l, mask)
		h->fences[hash(warp + l) % FENCES] =
			(struct fenced){warp + l, oracle_epoch(x->o, warp + l), scope};
}

/* Does what the read returns decide anything? Unknown where the module is gone. */
static bool is_decisive(struct cpu_site *s)
{
	const struct ptx_stmt *st = s->func ? s->func->stmts[s->pc] : NULL;
	struct base_arena scratch = {0};

	if (s->flag || !st || st->kind != PTX_STMT_INST)
		return s->flag != 2;
	s->flag = 2;
	for (unsigned i = 0; i < st->nops && s->flag == 2; i++)
		if (st->ops[i].kind == PTX_OPND_REG && ptx_stmt_role(st, i) == PTX_ROLE_DST &&
		    !flow_is_only_place(flow_build(&scratch, s->func->part, s->func->ptx),
					st->ops[i].reg))
			s->flag = 1;
	base_arena_free(&scratch);
	return s->flag != 2;
}

/* ---- what a hand-over lacks ------------------------------------------------------------------ */

static bool is_one_block(const struct race_place *a, const struct race_place *b)
{
	return a->device == b->device && a->grid == b->grid && a->cta == b->cta;
}

/* Was it from the block of the first access to that of the second; within a block: from warp to
 * warp? */
static bool is_between(const struct writer *w, const struct race_place *writer,
		       const struct race_place *reader, const struct oracle_finding *f)
{
	const struct race_place *a = &f->first.place, *b = &f->second.place;

	if (!is_one_block(writer, a) || !is_one_block(reader, b))
		return false;
	if (is_one_block(a, b) && (writer->warp != a->warp || reader->warp != b->warp))
		return false;
	return w->actor != f->first.actor || w->epoch >= f->first.epoch;
}

static uint32_t lack_of(struct cpu_events *x, const struct take *t, const struct writer *w,
			const struct oracle_finding *f)
{
	struct race_place writer = oracle_place(x->o, w->actor);
	struct race_place reader = oracle_place(x->o, t->reader);
	enum race_scope need = race_scope_between(&writer, &reader);
	const struct fenced *last = &x->handovers->fences[hash(t->reader) % FENCES];
	bool is_own = w->actor == f->first.actor;
	bool has_fence = is_own ? w->fenced > f->first.epoch : w->fence && w->fenced == w->epoch;

	if (!is_between(w, &writer, &reader, f) || !is_decisive(t->site))
		return 0;
	if (need > w->scope || need > t->scope)
		return BIT(FLAG_SCOPE);
	switch (oracle_knows(x->o, t->reader, f->first.actor, f->first.epoch)) {
	case ORACLE_PENDING:
		return last->actor == t->reader && last->epoch > t->epoch ? BIT(FENCE_SCOPE)
									  : BIT(ACQUIRE);
	case ORACLE_KNOWN:
		return t->reader != f->second.actor ? BIT(AFTER) : 0;
	case ORACLE_UNKNOWN:
		break;
	}
	if (has_fence && w->fence < need)
		return BIT(FENCE_SCOPE);
	if (has_fence || w->is_release)
		return is_own ? 0 : BIT(BEFORE);
	return BIT(RELEASE);
}

/* Updates of one element beside counters, whose values decide something too, need no fence. */
static bool is_update(const struct oracle_finding *f)
{
	const struct cpu_site *s = f->first.inst, *t = f->second.inst;

	return s->update && t->update;
}

/* Of all writes that the read has seen, one after the other. */
static uint32_t take_lacks(struct cpu_events *x, const struct take *t,
			   const struct oracle_finding *f)
{
	const struct flag *flag = &x->handovers->flags[hash(t->address) % FLAGS];
	uint32_t first = flag->first, missing = 0;

	if (flag->address != t->address || t->n > flag->n)
		return 0;
	if (flag->n > WRITERS && first < flag->n - WRITERS)
		first = flag->n - WRITERS;
	for (uint32_t i = first; i < t->n; i++)
		missing |= lack_of(x, t, &flag->last[i % WRITERS], f);
	return missing;
}

static uint32_t flags_missing(struct cpu_events *x, const struct oracle_finding *f)
{
	const struct events_grid *g = events_grid_of(x, f->second.place.grid);
	const struct race_place *p = &f->second.place;
	uint32_t block = f->second.actor - p->warp * CPU_WARP - p->lane, missing = 0;
	uint32_t n = g ? (g->block[0] * g->block[1] * g->block[2] + CPU_WARP - 1) / CPU_WARP : 0;

	for (uint32_t w = 0; w < n; w++) {
		const struct take *t = x->handovers->takes[hash((block >> 5) + w) % TAKES];
		for (unsigned i = 0; i < WAYS; i++)
			if (t[i].site && t[i].reader >> 5 == (block >> 5) + w &&
			    (t[i].waits || !is_update(f)))
				missing |= take_lacks(x, &t[i], f);
	}
	return missing;
}

/* ---- copies ---------------------------------------------------------------------------------- */

void events_executed(struct cpu_events *x, const struct cpu_site *site, uint32_t warp)
{
	tables(x)->times[hash((uintptr_t)site ^ warp) % TIMES] =
		(struct seen){site, warp, oracle_get_stats(x->o).events};
}

void events_copy_issued(struct cpu_events *x, uint32_t actor)
{
	tables(x)->copies[actor % COPIES] =
		(struct copy){.actor = actor, .issued = oracle_get_stats(x->o).events};
}

void events_copy_completed(struct cpu_events *x, uint32_t actor, uint64_t mbarrier, uint64_t phase)
{
	struct copy *c = &tables(x)->copies[actor % COPIES];

	if (c->actor == actor) {
		c->mbarrier = mbarrier;
		c->phase = phase;
	}
}

void events_phase_waited(struct cpu_events *x, uint32_t actor, uint64_t mbarrier, uint64_t phase)
{
	struct events_handovers *h = tables(x);
	uint32_t at = hash(actor >> 5) % WAITS;

	h->waits[at][h->next_wait[at]++ % WAYS] =
		(struct waited){actor >> 5, mbarrier, phase, oracle_get_stats(x->o).events};
}

static struct filled *fill_of(struct events_handovers *h, uint64_t line)
{
	return &h->fills[hash(line) % FILLS];
}

void events_copy_wrote(struct cpu_events *x, uint64_t address, uint64_t bytes)
{
	struct events_handovers *h = tables(x);
	uint64_t first = address / LINE, last = (address + bytes - 1) / LINE;

	h->has_fills = true;
	for (uint64_t line = first; line <= last && line - first < FILLS; line++) {
		struct filled *f = fill_of(h, line);
		if (f->line != line)
			*f = (struct filled){line, oracle_get_stats(x->o).events};
	}
}

void events_copies_forget(struct cpu_events *x, uint64_t address, uint64_t bytes)
{
	struct events_handovers *h = x->handovers;

	if (!h || !h->has_fills)
		return;
	for (uint64_t line = address / LINE; line <= (address + bytes - 1) / LINE; line++)
		if (fill_of(h, line)->line == line)
			fill_of(h, line)->line = 0;
}

/* Had a copy filled the memory before that event? */
static bool was_filled(const struct cpu_events *x, uint64_t address, uint64_t event)
{
	const struct filled *f = fill_of(x->handovers, address / LINE);

	return f->line == address / LINE && f->event < event;
}

/* Has the thread's warp waited since the copy's issue, for an earlier phase of its mbarrier? */
static bool has_phase_wrong(const struct cpu_events *x, const struct copy *c, uint32_t actor)
{
	const struct waited *w = x->handovers->waits[hash(actor >> 5) % WAITS];
	bool is_wrong = false;

	for (unsigned i = 0; i < WAYS; i++) {
		if (w[i].warp != actor >> 5 || w[i].mbarrier != c->mbarrier)
			continue;
		if (w[i].phase >= c->phase)
			return false;
		is_wrong = is_wrong || w[i].event > c->issued;
	}
	return is_wrong && c->mbarrier;
}

static uint32_t copy_missing(struct cpu_events *x, const struct oracle_finding *f, bool is_second)
{
	const struct oracle_side *copy = is_second ? &f->second : &f->first;
	const struct oracle_side *other = is_second ? &f->first : &f->second;
	const struct copy *c = &x->handovers->copies[copy->actor % COPIES];
	uint32_t warp = other->actor & ~31u;
	const struct seen *s = &x->handovers->times[hash((uintptr_t)other->inst ^ warp) % TIMES];
	bool is_before = is_second && c->actor == copy->actor && s->site == other->inst &&
			 s->warp == warp && s->event < c->issued;

	if (!(copy->kind & RACE_OP_WRITE))
		return is_before ? BIT(READY) : BIT(REUSE);
	if (is_before && was_filled(x, f->address, s->event))
		return BIT(REFILL);
	return c->actor == copy->actor && has_phase_wrong(x, c, other->actor) ? BIT(PHASE)
									      : BIT(WAIT);
}

/* ======================================================================== */

uint32_t events_missing(struct cpu_events *x, const struct oracle_finding *f)
{
	const struct cpu_site *s = f->first.inst, *t = f->second.inst;
	bool is_copy[2] = {s->access == RACE_ACCESS_COPY, t->access == RACE_ACCESS_COPY};

	if (!x->handovers || s->is_host || t->is_host || s->is_host_code || t->is_host_code ||
	    f->kind == ORACLE_RACE_PROXY)
		return 0;
	if (is_copy[0] != is_copy[1])
		return copy_missing(x, f, is_copy[1]);
	if (is_copy[0] || f->first.place.device != f->second.place.device)
		return 0;
	return flags_missing(x, f);
}

uint32_t events_apart(struct cpu_events *x, const struct oracle_finding *f)
{
	const struct cpu_site *s = f->first.inst, *t = f->second.inst;
	const struct race_place *a = &f->first.place, *b = &f->second.place;
	const struct events_grid *g = events_grid_of(x, a->grid), *h = events_grid_of(x, b->grid);

	if (s->is_host || t->is_host || s->is_host_code || t->is_host_code)
		return 1u << RACE_APART_HOST;
	if (a->device != b->device)
		return 1u << RACE_APART_DEVICES;
	if (a->grid != b->grid)
		return 1u << (g && h && g->stream == h->stream ? RACE_APART_STREAM
							       : RACE_APART_LAUNCHES);
	if (a->cta != b->cta)
		return 1u << (a->cluster == b->cluster ? RACE_APART_CLUSTER : RACE_APART_BLOCKS);
	return 1u << (a->warp == b->warp ? RACE_APART_LANES : RACE_APART_WARPS);
}
