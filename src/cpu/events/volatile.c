/*
 * volatile.c - code that counts on lockstep: volatile accesses of lanes of one warp.
 *
 * Two volatile accesses of the same bytes are morally strong, so the memory model calls them no
 * race, and they are every polled flag. But where a lane reads what another lane of its warp
 * writes, with nothing between that may order the two, the program counts on lanes that run in
 * lockstep, which they don't: an unordered volatile conflict, a class of its own.
 *
 * A warp has a clock, which whatever may order its lanes moves on: __syncwarp, barriers, fences,
 * atomics, other strong accesses, and each volatile load on whose value something may be decided
 * (flow_is_data). For each location the lanes that have read and written it at the warp's clock are
 * kept, of one warp. A location that any such load has polled is left out from then on, and so are
 * two writes, which right code makes of equal values.
 *
 * The instructions of such a pair are marked: from then on the machine parts the lanes there at
 * random (warp.c), so that the results show it as well.
 *
 * Misses: locations that share one of the 8,192 cells, or a clock; lanes that some other lanes'
 * synchronisation comes between; other memory models than sc.
 * Costs: a look-up for each lane of a volatile access of one element.
 */
#include "cpu/events/internal.h"

#include <stdlib.h>

#define CELLS  8192u
#define CLOCKS 1024u

struct cell {
	uint64_t address;
	uint32_t actor, clock;	   /* of the warp's lane 0 */
	uint32_t readers, writers; /* lanes */
	const struct cpu_site *reader, *writer;
	bool is_polled; /* by any thread */
	uint8_t bytes;
};

struct events_volatile {
	uint32_t clock[CLOCKS];
	struct cell cells[CELLS];
};

static uint32_t *clock_of(struct events_volatile *v, const struct cpu_warp *w)
{
	return &v->clock[events_actor(w) / CPU_WARP % CLOCKS];
}

void events_volatile_order(struct cpu_events *x, const struct cpu_warp *w)
{
	if (x->lockstep)
		++*clock_of(x->lockstep, w);
}

void events_volatile_begin(struct cpu_events *x, const struct cpu_cta *cta)
{
	for (uint32_t i = 0; x->lockstep && i < cta->nwarps; i++)
		x->lockstep->clock[(cta->actor / CPU_WARP + i) % CLOCKS]++;
}

void events_volatile_free(struct cpu_events *x)
{
	free(x->lockstep);
	x->lockstep = NULL;
}

/* The location's cell at this clock; a location that is polled keeps that. */
static struct cell *cell_at(struct events_volatile *v, const struct cpu_warp *w, uint64_t address,
			    uint32_t bytes)
{
	struct cell *c = &v->cells[(address >> 2) % CELLS];
	uint32_t actor = events_actor(w), clock = *clock_of(v, w);
	bool is_polled = c->is_polled && c->address == address;

	if (c->address != address || c->actor != actor || c->clock != clock || c->bytes != bytes)
		*c = (struct cell){.address = address,
				   .actor = actor,
				   .clock = clock,
				   .is_polled = is_polled,
				   .bytes = (uint8_t)bytes};
	return c;
}

static struct oracle_side side_of(const struct cpu_events *x, const struct cell *c,
				  const struct cpu_site *site, unsigned lane, bool is_write,
				  uint8_t flags)
{
	return (struct oracle_side){.inst = site,
				    .actor = c->actor + lane,
				    .place = oracle_place(x->o, c->actor + lane),
				    .address = c->address,
				    .bytes = c->bytes,
				    .kind = is_write ? RACE_OP_WRITE : RACE_OP_READ,
				    .strength = RACE_RELAXED,
				    .scope = RACE_SCOPE_SYS,
				    .proxy = RACE_PROXY_GENERIC,
				    .flags = flags};
}

/* Other schedules part the lanes there, so that it shows in what the program computes. */
static void mark(const struct cpu_site *s)
{
	struct cpu_inst *in = s->func ? &s->func->code[s->pc] : NULL;

	if (in)
		in->flags = (uint16_t)((in->flags | CPU_I_APART) & ~(unsigned)CPU_I_PLAIN);
}

/* This lane meets one of `others`, which came before. */
static void report(struct cpu_events *x, const struct cell *c, const struct cpu_site *site,
		   unsigned lane, bool is_write, uint32_t others, uint8_t flags)
{
	unsigned other = (unsigned)__builtin_ctz(others);
	struct oracle_finding f = {
		.kind = ORACLE_RACE,
		.first = side_of(x, c, is_write ? c->reader : c->writer, other, !is_write, flags),
		.second = side_of(x, c, site, lane, is_write, flags),
		.address = c->address,
		.count = 1,
	};

	/* What a worker's judge finds is looked for once more. */
	if (!x->judges) {
		mark(f.first.inst);
		mark(f.second.inst);
	}
	events_on_race(x, &f);
}

void events_volatile_access(struct cpu_events *x, const struct cpu_warp *w, uint32_t mask,
			    const uint64_t *at, const struct oracle_acc *a)
{
	const struct cpu_site *site = a->inst;
	bool is_write = a->kind == RACE_OP_WRITE;
	bool is_polling = !is_write && !site->is_data;

	if (!x->lockstep)
		x->lockstep = calloc(1, sizeof(*x->lockstep));
	if (!x->lockstep || !mask || a->bytes > 8)
		return;
	CPU_EACH_LANE (l, mask) {
		struct cell *c = cell_at(x->lockstep, w, at[l], a->bytes);
		uint32_t others = (is_write ? c->readers : c->writers) & ~(1u << l);

		c->is_polled = c->is_polled || is_polling;
		if (others && !c->is_polled)
			report(x, c, site, l, is_write, others, a->flags);
		if (is_write) {
			c->writers |= 1u << l;
			c->writer = site;
		} else if (!is_polling) {
			c->readers |= 1u << l;
			c->reader = site;
		}
	}
	if (is_polling)
		events_volatile_order(x, w);
}
