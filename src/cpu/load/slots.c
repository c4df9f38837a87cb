/*
 * slots.c - which slot of the frame each PTX register lives in.
 *
 * PTX has an unlimited number of registers; a frame with all of them would not fit any cache.
 * Linear scan: each register's interval of instructions, in text order, covers all places where it
 * is live or written; registers of a class whose intervals don't overlap share a slot. An interval
 * that ends at an instruction and one that starts there do overlap: what an instruction writes
 * never lies on what it reads, unless the program says so.
 *
 * Liveness of a single thread is enough: lanes that run other blocks have columns of their own. A
 * guarded write leaves the old value in place, so it ends no live range (flow/live.c). Vector
 * registers, .reg parameters and the registers of a wgmma are live everywhere.
 * Misses: holes in an interval stay unused (a value that is live across a loop it isn't used in).
 * Cost: linear, except for one pass over the live sets of all blocks.
 *
 * What is live at the start lies in an interval from place 0, so those registers (and the one that
 * the first instruction writes) are all that a new warp could read from an old one's frame. Of a
 * function, whose frame is used by call after call, they are looked for more closely.
 */
#include "cpu/load/load.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

struct span {
	uint32_t from, to; /* places; from NONE: never used */
};

struct scan {
	struct flow *fl;
	const struct ptx_func *f;
	struct span *spans;    /* by register */
	uint32_t *killed;      /* by register: block + 1 that wrote it last without a guard */
	bool *is_unset;	       /* by lane register: it may be read before a write */
	uint32_t *first, *end; /* by block: places [first, end] */
	uint32_t at, nplaces;
	bool is_guarded;
	uint32_t block;
};

enum cpu_class cpu_class_of(enum ptx_type t)
{
	if (t == PTX_TYPE_PRED)
		return CPU_PRED;
	switch (ptx_type_bytes(t)) {
	case 1:
	case 2:
		return CPU_B16;
	case 8:
		return CPU_B64;
	case 16:
		return CPU_B128;
	default:
		return CPU_B32;
	}
}

static void cover(struct span *s, uint32_t from, uint32_t to)
{
	if (s->from == NONE || from < s->from)
		s->from = from;
	if (s->to == NONE || to > s->to)
		s->to = to;
}

static void touch(uint32_t reg, bool is_write, void *arg)
{
	struct scan *sc = arg;

	if (reg >= sc->f->nregs)
		return;
	cover(&sc->spans[reg], sc->at, sc->at);
	if (!is_write && sc->killed[reg] != sc->block + 1) {
		cover(&sc->spans[reg], sc->first[sc->block], sc->at);
		sc->is_unset[reg] |= !sc->block;
	}
	if (is_write && !sc->is_guarded)
		sc->killed[reg] = sc->block + 1;
}

/* At least covers operands whose role the table doesn't know. */
static void touch_all(struct scan *sc, const struct ptx_opnd *o, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (o[i].kind == PTX_OPND_REG && o[i].reg < sc->f->nregs)
			cover(&sc->spans[o[i].reg], sc->at, sc->at);
		else if (o[i].kind >= PTX_OPND_ADDR && o[i].kind <= PTX_OPND_PAIR)
			touch_all(sc, o[i].sub, o[i].nsub);
}

/* A matrix product reads and writes its registers at any time. */
static void keep_product(struct scan *sc, const struct ptx_stmt *s)
{
	if (s->form->op != PTX_OP_WGMMA_MMA_ASYNC && s->form->op != PTX_OP_WGMMA_MMA_ASYNC_SP)
		return;
	for (unsigned i = 0; i < 2 && i < s->nops; i++)
		for (unsigned k = 0; s->ops[i].kind == PTX_OPND_VEC && k < s->ops[i].nsub; k++) {
			const struct ptx_opnd *o = &s->ops[i].sub[k];
			if (o->kind == PTX_OPND_REG && o->reg < sc->f->nregs)
				cover(&sc->spans[o->reg], 0, sc->nplaces - 1);
		}
}

/* Places of blocks: each instruction is one, an empty block shares the next one's. */
static void number_places(struct scan *sc)
{
	uint32_t at = 0;

	for (uint32_t b = 0; b < sc->fl->nblocks; b++) {
		struct flow_block *bl = &sc->fl->blocks[b];
		sc->first[b] = at;
		for (struct ptx_stmt *s = bl->first; s; s = s == bl->last ? NULL : s->next)
			at += s->kind == PTX_STMT_INST;
		sc->end[b] = at > sc->first[b] ? at - 1 : at;
	}
	sc->nplaces = at + 1;
}

static void cover_block(struct scan *sc, uint32_t b, uint64_t *seen, size_t words)
{
	struct flow_block *bl = &sc->fl->blocks[b];
	const uint64_t *live = flow_live_out(sc->fl, b);

	sc->block = b;
	sc->at = sc->first[b];
	for (struct ptx_stmt *s = bl->first; s; s = s == bl->last ? NULL : s->next) {
		if (s->kind != PTX_STMT_INST)
			continue;
		sc->is_guarded = s->pred != PTX_NO_REG;
		touch_all(sc, s->ops, s->nops);
		keep_product(sc, s);
		ptx_each_reg(s, touch, sc);
		sc->at++;
	}
	/* live through the block: from its start, unless an earlier block has said so */
	for (size_t w = 0; w < words; w++) {
		uint64_t bits = live[w] & ~seen[w];
		seen[w] |= bits;
		for (; bits; bits &= bits - 1) {
			uint32_t r = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);
			if (sc->killed[r] != b + 1) {
				cover(&sc->spans[r], sc->first[b], sc->first[b]);
				sc->is_unset[r] |= !b;
			}
		}
	}
}

/* A register lives to the end of the last block that it is live out of. */
static void cover_ends(struct scan *sc, uint64_t *seen, size_t words)
{
	memset(seen, 0, words * sizeof(*seen));
	for (uint32_t b = sc->fl->nblocks; b-- > 0;) {
		const uint64_t *live = flow_live_out(sc->fl, b);
		for (size_t w = 0; w < words; w++) {
			uint64_t bits = live[w] & ~seen[w];
			seen[w] |= bits;
			for (; bits; bits &= bits - 1) {
				uint32_t r = (uint32_t)(w * 64) + (uint32_t)__builtin_ctzll(bits);
				cover(&sc->spans[r], sc->end[b], sc->end[b]);
			}
		}
	}
}

/* A call sets the arguments; what a function returns it needn't have set. */
static void cover_params(struct scan *sc, const struct ptx_param *p, bool is_unset)
{
	for (; p; p = p->next)
		if (p->reg < sc->f->nregs) {
			cover(&sc->spans[p->reg], 0, sc->nplaces - 1);
			sc->is_unset[p->reg] = is_unset;
		}
}

/* ---- vector registers -------------------------------------------------------------- */

/* Numbers the components of vector registers after the registers; returns how many there are of
 * both. */
static uint32_t number_comps(struct base_arena *arena, const struct ptx_func *f,
			     struct cpu_slots *sl)
{
	uint32_t n = f->nregs;

	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_REG)
			continue;
		for (const struct ptx_regdecl *d = s->regs; d; d = d->next) {
			if (d->vec < 2)
				continue;
			if (!sl->vec) {
				sl->vec = BASE_NEWN(arena, uint8_t, f->nregs + 1u);
				sl->comps = BASE_NEWN(arena, uint32_t, f->nregs + 1u);
				memset(sl->vec, 1, f->nregs + 1u);
			}
			for (uint32_t r = d->first; r < d->first + d->count; r++) {
				sl->vec[r] = d->vec;
				sl->comps[r] = n;
				n += d->vec;
			}
		}
	}
	return n;
}

/* ---- the scan ------------------------------------------------------------------------ */

struct pool { /* free slots of one class */
	uint32_t *v;
	uint32_t n, made;
};

static const uint8_t class_words[CPU_CLASSES] = {0, 1, 1, 2, 4};

/* Lane registers in the order of their starts: heads by place, linked through next. */
static void link_by(const struct span *spans, uint32_t n, bool by_end, uint32_t *head,
		    uint32_t *next, uint32_t nplaces)
{
	memset(head, 0xff, sizeof(*head) * nplaces);
	for (uint32_t r = n; r-- > 0;) {
		if (spans[r].from == NONE)
			continue;
		uint32_t at = by_end ? spans[r].to : spans[r].from;
		next[r] = head[at];
		head[at] = r;
	}
}

static void assign(struct cpu_slots *sl, const struct span *spans, uint32_t n, uint32_t nplaces)
{
	uint32_t *starts = base_malloc(sizeof(uint32_t) * nplaces),
		 *next = base_malloc(sizeof(uint32_t) * (n + 1u));
	uint32_t *ends = base_malloc(sizeof(uint32_t) * nplaces),
		 *next_end = base_malloc(sizeof(*next) * (n + 1u));
	struct pool pools[CPU_CLASSES] = {0};
	uint32_t words = 0;

	for (int c = 0; c < CPU_CLASSES; c++)
		pools[c].v = base_malloc(sizeof(uint32_t) * (n + 1u));
	link_by(spans, n, false, starts, next, nplaces);
	link_by(spans, n, true, ends, next_end, nplaces);
	for (uint32_t at = 0; at < nplaces; at++) {
		for (uint32_t r = starts[at]; r != NONE; r = next[r]) {
			struct pool *p = &pools[sl->cls[r]];
			sl->slot[r] = p->n ? p->v[--p->n] : p->made++;
			words += class_words[sl->cls[r]];
		}
		if (words > sl->max_words)
			sl->max_words = words;
		for (uint32_t r = ends[at]; r != NONE; r = next_end[r]) {
			struct pool *p = &pools[sl->cls[r]];
			p->v[p->n++] = sl->slot[r];
			words -= class_words[sl->cls[r]];
		}
	}
	for (int c = 0; c < CPU_CLASSES; c++) {
		sl->count[c] = pools[c].made;
		free(pools[c].v);
	}
	free(starts);
	free(ends);
	free(next);
	free(next_end);
}

static void measure(struct scan *sc, struct flow *fl)
{
	size_t words = (sc->f->nregs + 63u) / 64u;
	uint64_t *seen = base_calloc(words + 1, sizeof(*seen));

	number_places(sc);
	for (uint32_t b = 0; b < fl->nblocks; b++)
		cover_block(sc, b, seen, words);
	cover_ends(sc, seen, words);
	cover_params(sc, sc->f->params, false);
	cover_params(sc, sc->f->rets, true);
	free(seen);
}

/* ======================================================================== */

struct cpu_slots *cpu_slots_make(struct base_arena *arena, struct flow *fl)
{
	const struct ptx_func *f = fl->f;
	struct cpu_slots *sl = BASE_NEW(arena, struct cpu_slots);
	uint32_t n = number_comps(arena, f, sl);
	struct scan sc = {.fl = fl, .f = f};

	sc.spans = base_malloc(sizeof(*sc.spans) * (n + 1u));
	memset(sc.spans, 0xff, sizeof(*sc.spans) * (n + 1u));
	sc.killed = base_calloc(f->nregs + 1u, sizeof(*sc.killed));
	sc.is_unset = base_calloc(n + 1u, sizeof(*sc.is_unset));
	sc.first = base_malloc(sizeof(*sc.first) * 2 * (fl->nblocks + 1u));
	sc.end = sc.first + fl->nblocks + 1u;
	measure(&sc, fl);

	sl->slot = base_alloc(arena, sizeof(*sl->slot) * (n + 1u));
	sl->cls = base_alloc(arena, n + 1u);
	for (uint32_t r = 0; r < n; r++)
		sl->slot[r] = CPU_NOSLOT;
	for (uint32_t r = 0; r < f->nregs; r++) {
		sl->cls[r] = (uint8_t)cpu_class_of((enum ptx_type)f->reg_type[r]);
		for (uint32_t c = 0; sl->vec && sl->vec[r] > 1 && c < sl->vec[r]; c++) {
			sl->cls[sl->comps[r] + c] = sl->cls[r];
			if (sc.spans[r].from != NONE)
				cover(&sc.spans[sl->comps[r] + c], 0, sc.nplaces - 1);
			sc.is_unset[sl->comps[r] + c] = true;
		}
		if (sl->vec && sl->vec[r] > 1)
			sc.spans[r].from = NONE;
	}
	assign(sl, sc.spans, n, sc.nplaces);
	sl->first = BASE_NEWN(arena, uint32_t, n + 1u);
	for (uint32_t r = 0; r < n; r++)
		if (sc.spans[r].from == 0 && (f->is_entry || sc.is_unset[r]))
			sl->first[sl->nfirst++] = r;
	free(sc.spans);
	free(sc.killed);
	free(sc.is_unset);
	free(sc.first);
	return sl;
}
