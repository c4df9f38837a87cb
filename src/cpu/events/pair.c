/*
 * pair.c - racing pairs of accesses for the report.
 *
 * A pair of sites is reported once, in an order that doesn't depend on the schedule: a kernel's
 * before the host's, then the access that reads, otherwise the one that comes first in the source.
 * Further sightings are counted.
 */
#include "cpu/load/load.h"
#include "cpu/repeat.h"
#include "cpu/memory/space.h"
#include "cpu/events/internal.h"
#include "race/record.h"

#include <stdlib.h>
#include <string.h>

#define ASK_MAX 1024u /* a warp has 31 with itself before its first with another one */

/* The bytes of a pair being written. */
struct writer {
	struct cpu_events *x;
	struct race_pair pair;
	struct events_memory memory;
	struct base_buf frames, strings;
};

static uint32_t string(struct writer *wr, const char *s)
{
	if (!s || !*s)
		return 0;
	uint32_t at = (uint32_t)wr->strings.n;
	base_buf_put(&wr->strings, s, strlen(s) + 1);
	return at;
}

struct events_grid *events_grid_of(const struct cpu_events *x, uint64_t id)
{
	size_t lo = 0, hi = x->grids.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (x->grids.v[mid].id < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < x->grids.n && x->grids.v[lo].id == id ? &x->grids.v[lo] : NULL;
}

/* The number in the grid of a unit (cluster) that runs. */
static uint32_t unit_of(const struct events_grid *g, uint32_t number)
{
	return number < g->nchosen ? (uint32_t)g->chosen[number] : number;
}

/* Coordinates of block `number` (clusters contiguous) and of a thread. */
static void coordinates(const struct events_grid *g, const struct race_place *p, uint32_t block[3],
			uint32_t thread[3])
{
	uint32_t size = g->cluster[0] * g->cluster[1] * g->cluster[2];
	uint32_t unit = unit_of(g, p->cta / size), rank = p->cta % size;
	uint32_t t = p->warp * CPU_WARP + p->lane;

	for (unsigned i = 0; i < 3; i++) {
		uint32_t n = g->grid[i] / g->cluster[i];
		block[i] = unit % n * g->cluster[i] + rank % g->cluster[i];
		unit /= n;
		rank /= g->cluster[i];
	}
	race_shuffle_block(g->order, &g->shuffle_keys, g->id, g->grid, g->cluster, block);
	thread[0] = t % g->block[0];
	thread[1] = t / g->block[0] % g->block[1];
	thread[2] = t / g->block[0] / g->block[1];
}

static uint8_t side_flags(const struct oracle_side *o, const struct cpu_site *s)
{
	return (uint8_t)((o->flags & ORACLE_VOLATILE ? RACE_SIDE_VOLATILE : 0) |
			 (o->flags & ORACLE_MBARRIER ? RACE_SIDE_MBARRIER : 0) |
			 (s->is_host ? RACE_SIDE_HOST : 0) | (s->is_free ? RACE_SIDE_FREES : 0) |
			 (!s->is_host &&
					  (s->access == RACE_ACCESS_COPY ||
					   s->access == RACE_ACCESS_PRODUCT) &&
					  o->proxy != RACE_PROXY_TENSORMAP
				  ? RACE_SIDE_ASYNC
				  : 0) |
			 (o->kind & RACE_OP_READ ? RACE_SIDE_READS : 0) |
			 (o->kind & RACE_OP_WRITE ? RACE_SIDE_WRITES : 0));
}

static void put_side(struct writer *wr, struct race_pair_side *out, const struct oracle_side *o)
{
	const struct cpu_site *s = o->inst;
	const struct events_grid *g = events_grid_of(wr->x, o->place.grid);

	*out = (struct race_pair_side){
		.address = o->address + wr->memory.shift,
		.grid = o->place.grid,
		.func = string(wr, s->name),
		.file = string(wr, s->file),
		.text = string(wr, s->text),
		.line = s->line,
		.col = s->col,
		.ptx_line = s->ptx_line,
		.bytes = o->bytes,
		.frame = (uint32_t)(wr->frames.n / sizeof(struct race_frame)),
		.nframes = s->nframes,
		.access = s->access,
		.space = !o->bytes				 ? RACE_SPACE_REGISTERS
			 : o->flags & ORACLE_SHARED		 ? RACE_SPACE_SHARED
			 : wr->memory.kind == RACE_MEMORY_TENSOR ? RACE_SPACE_TENSOR
								 : RACE_SPACE_GLOBAL,
		.width = s->width,
		.vec = s->vec ? s->vec : 1,
		.strength = o->strength,
		.scope = o->scope,
		.proxy = o->proxy,
		.flags = side_flags(o, s),
		.device = (int32_t)o->place.device, /* RACE_HOST: -1 */
		.cluster = o->place.cluster,
		.warp = o->place.warp,
		.update = s->update,
		.is_near = s->is_near,
		.is_seed = s->is_seed,
	};
	/* What uses a register of a product may be any instruction. */
	if (out->space == RACE_SPACE_REGISTERS && s->access != RACE_ACCESS_PRODUCT)
		out->access = out->width = 0;
	/* A fetch's vector is what it returns, not what it reads. */
	if (o->proxy == RACE_PROXY_TEXTURE) {
		out->width = (uint8_t)o->bytes;
		out->vec = 1;
	}
	if (s->is_graph || (g && g->is_graph))
		out->flags |= RACE_SIDE_GRAPH;
	if (g) {
		out->kernel = string(wr, g->kernel);
		out->launch = g->origin;
		out->stream = g->stream;
		out->cluster = unit_of(g, o->place.cluster);
		coordinates(g, &o->place, out->block, out->thread);
	}
	for (uint32_t i = 0; i < s->nframes; i++) {
		struct race_frame fr = {.func = string(wr, s->frames[i].func),
					.file = string(wr, s->frames[i].file),
					.line = s->frames[i].line,
					.col = s->frames[i].col};
		base_buf_put(&wr->frames, &fr, sizeof(fr));
	}
}

static void put_memory(struct writer *wr)
{
	const struct events_memory *o = &wr->memory;
	const struct events_grid *g = events_grid_of(wr->x, o->grid);
	struct race_place p = {.cta = o->block};
	uint32_t thread[3];

	wr->pair.memory = o->kind;
	wr->pair.base = o->base;
	wr->pair.bytes = o->bytes;
	wr->pair.name = string(wr, o->name);
	if (g)
		coordinates(g, &p, wr->pair.owner, thread);
}

static enum race_kind kind_of(enum oracle_kind k)
{
	switch (k) {
	case ORACLE_RACE:
		return RACE_KIND_UNORDERED;
	case ORACLE_RACE_SCOPE:
		return RACE_KIND_SCOPE;
	case ORACLE_RACE_SIZE:
		return RACE_KIND_MIXED_SIZE;
	case ORACLE_RACE_PROXY:
		return RACE_KIND_PROXY;
	case ORACLE_RACE_NC:
		return RACE_KIND_READ_ONLY;
	case ORACLE_BAR_COUNT:
		return RACE_KIND_BARRIER_COUNT;
	}
	return RACE_KIND_UNORDERED;
}

/* The bytes of a's load, as a set, that b's access meets. */
static uint32_t bytes_met(const struct oracle_side *a, const struct oracle_side *b)
{
	const struct cpu_site *s = a->inst;
	unsigned n = (unsigned)s->width * (s->vec ? s->vec : 1u);
	uint32_t met = 0;

	for (unsigned i = 0; i < n && i < 32; i++)
		met |= (uint32_t)(a->address + i - b->address < b->bytes) << i;
	return met;
}

/* Do both access some byte that the source accesses? */
static bool is_written_down(const struct oracle_side *a, const struct oracle_side *b)
{
	const struct cpu_site *s = a->inst;

	if (!s->invented || !s->width || !b->bytes)
		return !s->invented;
	return bytes_met(a, b) & ~s->invented;
}

static struct race_pair *pair_write(struct writer *wr, const struct oracle_side *a,
				    const struct oracle_side *b)
{
	struct cpu_events *x = wr->x;
	struct base_buf all = {0};
	struct race_pair *kept;

	put_memory(wr);
	put_side(wr, &wr->pair.side[0], a);
	put_side(wr, &wr->pair.side[1], b);
	wr->pair.nframes = (uint32_t)(wr->frames.n / sizeof(struct race_frame));
	wr->pair.strings = (uint32_t)wr->strings.n;
	base_buf_put(&all, &wr->pair, sizeof(wr->pair));
	if (wr->frames.n)
		base_buf_put(&all, wr->frames.p, wr->frames.n);
	base_buf_put(&all, wr->strings.p, wr->strings.n);
	kept = x->fn(x->arg, (const struct race_pair *)(const void *)all.p, all.n);
	base_buf_free(&all);
	base_buf_free(&wr->frames);
	base_buf_free(&wr->strings);
	return kept;
}

static struct race_pair *pair_add(struct cpu_events *x, const struct oracle_finding *f,
				  const struct oracle_side *a, const struct oracle_side *b,
				  bool is_possible)
{
	struct writer wr = {.x = x};

	base_buf_put(&wr.strings, "", 1);
	events_memory_at(x, f->address, &wr.memory);
	wr.pair = (struct race_pair){.count = 1,
				     .address = f->address + wr.memory.shift,
				     .kind = kind_of(f->kind),
				     .is_possible = is_possible,
				     .missing = events_missing(x, f),
				     .apart = events_apart(x, f),
				     .device = (int32_t)f->second.place.device};
	return pair_write(&wr, a, b);
}

/* Does a come before b in a report? */
static bool is_first(const struct oracle_side *a, const struct oracle_side *b)
{
	const struct cpu_site *s = a->inst, *t = b->inst;
	bool reads_a = a->kind == RACE_OP_READ, reads_b = b->kind == RACE_OP_READ;
	int c;

	/* An operation of the host has no place in the source. */
	if (s->is_host != t->is_host)
		return t->is_host;
	if (reads_a != reads_b)
		return reads_a;
	c = strcmp(s->file, t->file);
	c = c ? c : strcmp(s->name, t->name);
	if (c)
		return c < 0;
	if (s->line != t->line)
		return s->line < t->line;
	return s->ptx_line <= t->ptx_line;
}

/* Who accessed, and where; false: in a launch that the record's words don't fit. */
static bool put_actor(struct cpu_events *x, struct race_pair_side *out, const struct oracle_side *o,
		      uint64_t shift)
{
	const struct events_grid *g = events_grid_of(x, o->place.grid);

	if (o->place.grid != out->grid || !g)
		return false;
	out->address = o->address + shift;
	out->cluster = unit_of(g, o->place.cluster);
	out->warp = o->place.warp;
	coordinates(g, &o->place, out->block, out->thread);
	return true;
}

/* This sighting is shown in place of the first one, whose thread may not have used its value; where
 * both are of one launch and one object. */
static void show_sighting(struct cpu_events *x, struct race_pair *kept, const struct oracle_side *a,
			  const struct oracle_side *b)
{
	uint64_t address = a->address > b->address ? a->address : b->address;
	struct race_pair next = *kept;
	struct writer wr = {.x = x};
	struct race_place place;
	const struct events_grid *g;
	uint32_t thread[3];

	events_memory_at(x, address, &wr.memory);
	place = (struct race_place){.cta = wr.memory.block};
	g = events_grid_of(x, wr.memory.grid);
	if (wr.memory.kind != kept->memory || wr.memory.bytes != kept->bytes ||
	    (!g && wr.memory.base != kept->base) ||
	    !put_actor(x, &next.side[0], a, wr.memory.shift) ||
	    !put_actor(x, &next.side[1], b, wr.memory.shift))
		return;
	next.address = address + wr.memory.shift;
	next.base = wr.memory.base;
	if (g)
		coordinates(g, &place, next.owner, thread);
	*kept = next;
}

void events_pair_sure(struct cpu_events *x, struct events_pair *p, const struct oracle_side *a,
		      const struct oracle_side *b)
{
	if (p->is_possible && p->kept) {
		if (a)
			show_sighting(x, p->kept, a, b);
		p->kept->is_possible = 0;
	}
	p->is_possible = false;
}

/* Another sighting of a possible pair: has that thread used what it loaded? */
static void ask_for_use(struct cpu_events *x, struct events_pair *p, const struct oracle_side *a,
			const struct oracle_side *b)
{
	if (!p->is_possible)
		return;
	const struct oracle_side *load = is_written_down(a, b) ? b : a;
	struct events_sighting seen = {p, bytes_met(load, load == a ? b : a), {*a, *b}};

	if (events_is_used(x, load, &seen))
		events_pair_sure(x, p, a, b);
}

/*
 * Two stores of one value? The second one is the event, before it is executed: the memory still has
 * what the first one left, unless that is of a lane before it in the same instruction.
 */
static bool is_same_value(struct cpu_events *x, const struct oracle_finding *f)
{
	const struct oracle_side *a = &f->first, *b = &f->second;
	const struct cpu_site *s = a->inst, *t = b->inst;
	const struct cpu_acc *acc = x->stored;
	struct cpu_warp *w = x->storing;
	uint32_t lane, other;

	if (!w && a->kind == RACE_OP_WRITE && b->kind == RACE_OP_WRITE && !t->is_host &&
	    a->address == b->address && a->bytes == b->bytes)
		return events_proven_left_same(x, b);
	if (!w || a->kind != RACE_OP_WRITE || b->kind != RACE_OP_WRITE || s->is_host ||
	    t->is_host || s->access != RACE_ACCESS_STORE || s->width != acc->width ||
	    a->address != b->address || a->bytes != b->bytes || b->bytes != acc->width)
		return false;
	lane = b->actor - events_actor(w);
	other = a->actor - events_actor(w);
	if (lane >= CPU_WARP)
		return false;
	const uint8_t *value = cpu_slot(w, acc->value);
	const void *was = (const void *)(uintptr_t)b->address;
	if (s == t && other < lane && x->storing_mask >> other & 1 &&
	    x->storing_at[other] == b->address)
		was = value + other * acc->reg;
	return !memcmp(value + lane * acc->reg, was, acc->width);
}

static void note_value(struct cpu_events *x, struct events_pair *p, const struct oracle_finding *f)
{
	p->is_same = p->is_same && is_same_value(x, f);
	if (p->kept)
		p->kept->is_same = p->is_same;
}

/* Which races of host code are reported: see host_access.c. */
static bool is_to_report(struct cpu_events *x, const struct oracle_finding *f,
			 const struct cpu_site *s, const struct cpu_site *t)
{
	if (s->is_other || t->is_other || (x->has_plain && events_is_doubtful(x, f)))
		return false;
	if (!s->is_host_code && !t->is_host_code)
		return true;
	return s->is_host_code != t->is_host_code && !x->is_blind && f->kind != ORACLE_RACE_SIZE;
}

/* Either order finds the same pair: the lower address first. */
static void set_key(struct events_pair *p, const struct oracle_finding *f, bool is_possible)
{
	bool is_swapped = (uintptr_t)f->second.inst > (uintptr_t)f->first.inst;

	p->key.site[0] = is_swapped ? f->first.inst : f->second.inst;
	p->key.site[1] = is_swapped ? f->second.inst : f->first.inst;
	p->key.kind = (uint64_t)f->kind << 1 | is_possible;
}

/* NULL: it wasn't found before. Often it is the one that was found last. */
static struct events_pair *pair_of(struct cpu_events *x, const struct events_pair *key)
{
	struct events_pair *p = x->pair_last;

	if (p && !memcmp(&p->key, &key->key, sizeof(key->key)))
		return p;
	HASH_FIND(hh, x->pairs, &key->key, sizeof(key->key), p);
	if (p)
		x->pair_last = p;
	return p;
}

/* Such a pair's sightings, of one instruction, need only be counted while its values are equal. */
static bool is_counted_same(const struct oracle_finding *f)
{
	const struct cpu_site *s = f->first.inst;

	return f->kind == ORACLE_RACE && s == f->second.inst && s->access == RACE_ACCESS_STORE &&
	       f->first.kind == RACE_OP_WRITE && f->second.kind == RACE_OP_WRITE &&
	       f->first.bytes == s->width && f->second.bytes == s->width;
}

void events_storing(struct cpu_events *x, const void *inst, uint32_t mask, const uint64_t *at)
{
	const struct cpu_acc *acc = x->stored;
	struct cpu_warp *w = x->storing;
	uint32_t first = (uint32_t)__builtin_ctz(mask);
	struct oracle_stored s = {inst, events_actor(w), mask, true, true};
	const uint8_t *value = cpu_slot(w, acc->value);

	CPU_EACH_LANE (l, mask) {
		const uint8_t *v = value + l * acc->reg;
		s.is_there &= !memcmp(v, (const void *)(uintptr_t)at[l], acc->width);
		s.is_one &= at[l] == at[first] && !memcmp(v, value + first * acc->reg, acc->width);
	}
	oracle_storing(x->o, &s);
}

uint64_t *events_count_repeats(void *arg, const struct oracle_finding *f, bool *is_same)
{
	struct cpu_events *x = arg;
	struct oracle_finding with_threads;
	struct events_pair key = {0}, *p;

	f = events_proven_sides(x, f, &with_threads);
	const struct cpu_site *s = f->first.inst, *t = f->second.inst;
	cpu_repeat_spoil(x->m);
	/* What is reported of host code can change, and where launches are left out. */
	if (!x->fn || !s || !t || s->is_host_code || t->is_host_code || x->has_plain)
		return NULL;
	set_key(&key, f, false);
	p = pair_of(x, &key);
	/* For an invented load each sighting may be the one whose value is used, until one was. */
	if (!p && (s->invented || t->invented)) {
		set_key(&key, f, true);
		p = pair_of(x, &key);
	}
	if (!p || !p->kept || p->is_possible || p->asked <= ASK_MAX)
		return NULL;
	/* Of equal stores each sighting may be the one with another value. */
	if (p->is_same && (f == &with_threads || !is_counted_same(f)))
		return NULL;
	x->has_same |= p->is_same;
	*is_same = p->is_same;
	return &p->kept->count;
}

/* Further sightings may show how far apart two threads can be, and what is missing. */
static void sighting_ask(struct cpu_events *x, struct events_pair *p,
			 const struct oracle_finding *f)
{
	if (p->asked > ASK_MAX)
		return;
	p->asked++;
	p->kept->apart |= events_apart(x, f);
	p->kept->missing |= events_missing(x, f);
}

/* Called with the lock held, by the oracle. */
void events_on_race(void *arg, const struct oracle_finding *f)
{
	struct cpu_events *x = arg;
	struct events_pair key = {0}, *p;
	struct oracle_finding with_threads;

	if (x->judges) {
		cpu_judges_leave(x->judges);
		return;
	}
	f = events_proven_sides(x, f, &with_threads);
	const struct oracle_side *a = &f->second, *b = &f->first;
	cpu_repeat_spoil(x->m);
	if (!x->fn || !a->inst || !b->inst || !is_to_report(x, f, a->inst, b->inst))
		return;
	events_proven_raced(x, a->inst, b->inst);
	bool is_possible = !is_written_down(a, b) || !is_written_down(b, a);
	set_key(&key, f, is_possible);
	p = pair_of(x, &key);
	/* Of millions of sightings the order of the two matters only where they may be shown. */
	if (!p || p->is_possible) {
		/* The oracle has its sites as pointers to const; here their words may be
		 * filled in. */
		events_site_fill(x, (struct cpu_site *)(uintptr_t)a->inst);
		events_site_fill(x, (struct cpu_site *)(uintptr_t)b->inst);
		if (!is_first(a, b)) {
			const struct oracle_side *other = a;
			a = b;
			b = other;
		}
	}
	if (p) {
		if (p->kept) {
			p->kept->count++;
			sighting_ask(x, p, f);
		}
		if (p->is_same)
			note_value(x, p, f);
		ask_for_use(x, p, a, b);
		return;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	p->key = key.key;
	p->kept = pair_add(x, f, a, b, is_possible);
	p->is_possible = is_possible;
	p->is_same = true;
	note_value(x, p, f);
	ask_for_use(x, p, a, b);
	HASH_ADD(hh, x->pairs, key, sizeof(p->key), p);
}

/* Of the kinds of the oracle's pairs none: they are kept apart by this number. */
#define KIND_REGISTERS UINT64_MAX

void events_registers_found(struct cpu_events *x, enum race_kind kind,
			    const struct oracle_side *first, const struct oracle_side *second)
{
	struct events_pair key = {.key = {{first->inst, second->inst}, KIND_REGISTERS - kind}}, *p;
	struct writer wr = {.x = x};

	cpu_repeat_spoil(x->m);
	if (!x->fn)
		return;
	HASH_FIND(hh, x->pairs, &key.key, sizeof(key.key), p);
	if (p) {
		if (p->kept)
			p->kept->count++;
		return;
	}
	p = calloc(1, sizeof(*p));
	if (!p)
		return;
	events_site_fill(x, (struct cpu_site *)(uintptr_t)first->inst);
	events_site_fill(x, (struct cpu_site *)(uintptr_t)second->inst);
	base_buf_put(&wr.strings, "", 1);
	wr.pair = (struct race_pair){
		.count = 1, .kind = kind, .device = (int32_t)second->place.device};
	p->key = key.key;
	p->kept = pair_write(&wr, first, second);
	HASH_ADD(hh, x->pairs, key, sizeof(p->key), p);
}
