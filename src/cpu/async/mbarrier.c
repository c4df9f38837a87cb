/*
 * mbarrier.c - mbarrier objects: init, arrive, expect_tx, test_wait, try_wait ...
 *
 * The state is the 64 bits at the mbarrier's address, in a layout of ours:
 *
 *   0..19 pending arrivals | 20..39 expected arrivals | 40..60 tx-count (signed)
 *   61 parity of the phase | 62..63 10 binary: alive
 *
 * so a word of zeros is no mbarrier, and most other words are refused, too. A token that arrive
 * returns is the state before the arrival. Every change is one compare and exchange: blocks of a
 * cluster may run on different host threads. A phase ends when nothing is pending and the tx-count
 * is 0; then pending is expected again and the parity flips (PTX ISA 9.7.13.15).
 *
 * try_wait polls: it blocks for a while, and returns false after a number of turns drawn by seed
 * (one in TRY_TURNS), like a time limit in virtual time. The hint is ignored.
 * Misses: use of a word as mbarrier whose top two bits happen to be 10.
 */
#include "cpu/async/async.h"
#include "cpu/events.h"
#include "cpu/memory/resolve.h"

#include <stdio.h>
#include <stdlib.h>

#define COUNT_BITS 20
#define COUNT_MAX  ((1u << COUNT_BITS) - 1)
#define TX_MAX	   ((int32_t)COUNT_MAX)
#define TRY_TURNS  12
#define MAX_STATE  160 /* bytes; put_state's text is shorter */

struct state {
	uint32_t pending, expected, parity;
	int32_t tx;
};

static const char *const not_alive = "the mbarrier is not initialised";

static uint64_t pack(struct state s)
{
	return (uint64_t)s.pending | (uint64_t)s.expected << 20 |
	       ((uint64_t)(uint32_t)s.tx & 0x1fffff) << 40 | (uint64_t)s.parity << 61 | 2ull << 62;
}

static struct state unpack(uint64_t word)
{
	int32_t tx = (int32_t)(word >> 40 & 0x1fffff);

	return (struct state){
		.pending = (uint32_t)(word & COUNT_MAX),
		.expected = (uint32_t)(word >> 20 & COUNT_MAX),
		.parity = (uint32_t)(word >> 61 & 1),
		.tx = tx >= 1 << 20 ? tx - (1 << 21) : tx,
	};
}

static bool is_alive(uint64_t word)
{
	return word >> 62 == 2;
}

static const char *change(uint64_t *word, const struct cpu_mbar_change *c)
{
	if (!is_alive(*word))
		return not_alive;
	struct state s = unpack(*word);
	if (c->more > COUNT_MAX - s.pending)
		return "the mbarrier's pending count overflows";
	s.pending += c->more;
	if (c->tx > TX_MAX - s.tx || c->tx < -TX_MAX - s.tx)
		return "the mbarrier's tx-count overflows";
	s.tx += c->tx;
	if (c->arrive > s.pending)
		return "more arrivals than the mbarrier's phase expects";
	s.pending -= c->arrive;
	if (c->drop > s.expected)
		return "arrive_drop of more than the mbarrier expects";
	s.expected -= c->drop;
	if (!s.pending && !s.tx) {
		if (c->is_incomplete)
			return "an arrival with .noComplete ends the mbarrier's phase";
		s.parity ^= 1;
		s.pending = s.expected;
	}
	*word = pack(s);
	return NULL;
}

/* "is in a phase of parity 0: 1 of 2 arrivals missing": what a wait for it lacks. */
static void put_state(struct state s, char *out, size_t size)
{
	int n = snprintf(out, size, "is in a phase of parity %u: ", s.parity);

	if (s.pending)
		n += snprintf(out + n, size - (size_t)n, "%u of %u arrivals missing", s.pending,
			      s.expected);
	else
		n += snprintf(out + n, size - (size_t)n, "no arrival of %u missing", s.expected);
	if (s.tx)
		snprintf(out + n, size - (size_t)n,
			 s.tx > 0 ? ", %d bytes of copies expected that haven't come"
				  : ", %d bytes of copies more than expect_tx said",
			 abs(s.tx));
}

/* Did the change after state `was` end the phase? */
static bool has_ended(const uint8_t *at, uint64_t was)
{
	uint64_t now = __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_RELAXED);

	return unpack(now).parity != unpack(was).parity;
}

/* ---- instructions ------------------------------------------------------------- */

struct bar {
	struct cpu_addr addr;
	uint8_t space, sem, scope;
	uint8_t is_drop, is_expect, is_incomplete, is_try, is_parity;
	int8_t tx_sign;
};

/* Does the whole warp mean one object, as it mostly does? */
static bool is_one(const uint64_t addr[CPU_WARP], uint32_t mask)
{
	uint64_t differs = 0;

	for (unsigned l = 1; l < CPU_WARP; l++)
		differs |= addr[l] ^ addr[0];
	return mask == UINT32_MAX && !differs;
}

/* The objects of the lanes of mask, on the host; false: a fault was raised. */
static bool locate(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
		   uint8_t *at[CPU_WARP])
{
	const struct bar *b = in->aux;
	struct cpu_range r = {
		.space = (enum ptx_space)b->space, .bytes = 8, .align = 8, .is_write = true};
	uint64_t addr[CPU_WARP];

	cpu_addresses(w, &b->addr, addr);
	if (is_one(addr, mask)) {
		r.addr = addr[0];
		at[0] = cpu_resolve(w, in, 0, &r);
		for (unsigned l = 1; l < CPU_WARP; l++)
			at[l] = at[0];
		return at[0] != NULL;
	}
	CPU_EACH_LANE (l, mask) {
		r.addr = addr[l];
		at[l] = cpu_resolve(w, in, l, &r);
		if (!at[l])
			return false;
	}
	return true;
}

static uint64_t state_at(const uint8_t *at)
{
	return __atomic_load_n((const uint64_t *)(const void *)at, __ATOMIC_ACQUIRE);
}

/* A lane's object isn't initialised (yet). So that the oracle sees the init, too, the lanes wait
 * for it for a while: then this is a race that it reports. Otherwise it is a fault, as without the
 * oracle. */
static bool waits_for_init(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			   uint8_t *const at[CPU_WARP])
{
	const uint8_t *last = NULL;

	if (!cpu_event_takes(w, in))
		return false;
	CPU_EACH_LANE (l, mask) {
		if (at[l] != last && !is_alive(state_at(at[l])))
			return cpu_event_early(w, in, l, at[l]);
		last = at[l]; /* mostly all lanes have one object */
	}
	return false;
}

static enum cpu_step exec_init(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const uint32_t *count = cpu_u32(w, in->src[0]);
	uint8_t *at[CPU_WARP];

	if (!locate(w, in, mask, at))
		return CPU_FAULTED;
	CPU_EACH_LANE (l, mask) {
		if (!count[l] || count[l] > COUNT_MAX)
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "mbarrier.init with a count of %u (1 to %u)", count[l],
					 COUNT_MAX);
		cpu_model_bypass(w, l, at[l], 8);
		uint64_t word = pack((struct state){.pending = count[l], .expected = count[l]});
		__atomic_store_n((uint64_t *)(void *)at[l], word, __ATOMIC_RELEASE);
		cpu_event_mbarrier(w, in, l, at[l], &(struct cpu_mbar_use){.what = CPU_MBAR_INIT});
	}
	return CPU_OK;
}

static enum cpu_step exec_inval(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint8_t *at[CPU_WARP];

	if (!locate(w, in, mask, at))
		return CPU_FAULTED;
	CPU_EACH_LANE (l, mask) {
		uint64_t was = __atomic_exchange_n((uint64_t *)(void *)at[l], 0, __ATOMIC_ACQ_REL);
		if (!is_alive(was))
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "%s", not_alive);
		cpu_event_mbarrier(w, in, l, at[l], &(struct cpu_mbar_use){.what = CPU_MBAR_OTHER});
	}
	return CPU_OK;
}

/* Changes a lane's object; *was gets the state before. False: a fault was raised. Only one thread
 * executes when a caller needs to know whether the change ended the phase. */
static bool change_at(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane, uint8_t *at,
		      const struct cpu_mbar_change *c, uint64_t *was)
{
	const struct bar *b = in->aux;
	const char *why = cpu_mbarrier_apply(at, c, was);

	if (why) {
		char state[MAX_STATE] = "";
		if (is_alive(*was))
			put_state(unpack(*was), state, sizeof(state));
		cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL, "%s%s%s", why,
			  is_alive(*was) ? ": it " : "", state);
		return false;
	}
	cpu_event_mbarrier(w, in, lane, at,
			   &(struct cpu_mbar_use){c->arrive ? CPU_MBAR_ARRIVE : CPU_MBAR_OTHER,
						  b->sem, b->scope, has_ended(at, *was)});
	return true;
}

/* arrive, arrive_drop, with and without expect_tx. */
static enum cpu_step exec_arrive(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct bar *b = in->aux;
	const uint32_t *count = cpu_u32(w, in->src[0]);
	uint8_t *at[CPU_WARP];
	uint64_t *state = NULL, was;

	if (!locate(w, in, mask, at))
		return CPU_FAULTED;
	if (waits_for_init(w, in, mask, at))
		return CPU_RETRY;
	if (b->sem != PTX_SEM_RELAXED)
		cpu_release(w, mask, (enum ptx_scope)b->scope);
	if (in->dst[0] != CPU_NOSLOT)
		state = cpu_u64(w, in->dst[0]);
	CPU_EACH_LANE (l, mask) {
		uint32_t arrivals = b->is_expect ? 1 : count[l];
		struct cpu_mbar_change c = {
			.tx = b->is_expect ? (int32_t)count[l] : 0,
			.arrive = arrivals,
			.drop = b->is_drop ? arrivals : 0,
			.is_incomplete = b->is_incomplete,
		};
		if (count[l] > COUNT_MAX || !arrivals)
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "count %u is out of range (1 to %u)", count[l], COUNT_MAX);
		if (!change_at(w, in, l, at[l], &c, &was))
			return CPU_FAULTED;
		if (state)
			state[l] = was;
	}
	return CPU_OK;
}

/* expect_tx, complete_tx. */
static enum cpu_step exec_tx(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct bar *b = in->aux;
	const uint32_t *count = cpu_u32(w, in->src[0]);
	uint8_t *at[CPU_WARP];
	uint64_t was;

	if (!locate(w, in, mask, at))
		return CPU_FAULTED;
	if (waits_for_init(w, in, mask, at))
		return CPU_RETRY;
	CPU_EACH_LANE (l, mask) {
		struct cpu_mbar_change c = {.tx = b->tx_sign * (int32_t)count[l]};
		if (count[l] > COUNT_MAX)
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "tx-count %u is out of range (at most %u)", count[l],
					 COUNT_MAX);
		if (!change_at(w, in, l, at[l], &c, &was))
			return CPU_FAULTED;
	}
	return CPU_OK;
}

static bool is_over(const struct bar *b, uint64_t now, uint64_t asked)
{
	uint32_t parity = b->is_parity ? (uint32_t)asked & 1 : unpack(asked).parity;

	return unpack(now).parity != parity;
}

static enum cpu_step exec_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct bar *b = in->aux;
	uint8_t *at[CPU_WARP];
	uint32_t done = 0;

	if (!locate(w, in, mask, at))
		return CPU_FAULTED;
	if (waits_for_init(w, in, mask, at))
		return CPU_RETRY;
	uint64_t now = 0;
	const uint8_t *last = NULL;
	CPU_EACH_LANE (l, mask) {
		uint64_t asked =
			b->is_parity ? cpu_u32(w, in->src[0])[l] : cpu_u64(w, in->src[0])[l];
		if (at[l] != last) { /* lanes of one object see one state of it */
			last = at[l];
			now = state_at(last);
			if (!is_alive(now))
				return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "%s", not_alive);
		}
		if (is_over(b, now, asked))
			done |= 1u << l;
	}
	if (!done && b->is_try && cpu_random_below(w->worker, TRY_TURNS))
		return CPU_RETRY;
	cpu_event_mbarrier_wait(w, in, mask, done, at,
				&(struct cpu_mbar_use){.sem = b->sem, .scope = b->scope});
	if (done && b->sem != PTX_SEM_RELAXED)
		cpu_acquire(w, done, (enum ptx_scope)b->scope);
	cpu_set_pred(w, in->dst[0], done, mask);
	return done == mask ? CPU_OK : CPU_YIELD;
}

static enum cpu_step exec_pending_count(struct cpu_warp *w, const struct cpu_inst *in,
					uint32_t mask)
{
	uint32_t *d = cpu_u32(w, in->dst[0]);
	const uint64_t *state = cpu_u64(w, in->src[0]);

	CPU_LANES(l, mask, d[l] = (uint32_t)(state[l] & COUNT_MAX));
	return CPU_OK;
}

/* ---- binding -------------------------------------------------------------------- */

static struct bar *new_bar(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in,
			   unsigned addr)
{
	const struct ptx_form *f = s->form;
	struct bar *b = cpu_dec_alloc(d, sizeof(*b));

	b->addr = cpu_dec_addr(d, s, &s->ops[addr]);
	b->space = f->space;
	b->sem = f->sem;
	b->scope = f->scope == PTX_SCOPE_NONE ? PTX_SCOPE_CTA : f->scope;
	in->aux = b;
	in->flags |= CPU_I_MEMORY;
	return b;
}

static enum cpu_bound bind_arrive(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	bool has_state = s->nops && s->ops[0].kind != PTX_OPND_ADDR;
	unsigned at = has_state ? 1 : 0;

	if (s->nops <= at)
		return cpu_dec_unsupported(d, in, "operands of mbarrier.arrive");
	struct bar *b = new_bar(d, s, in, at);
	b->is_drop = s->form->op == PTX_OP_MBARRIER_ARRIVE_DROP;
	b->is_expect = ptx_form_has(s->form, PTX_MOD_EXPECT_TX);
	b->is_incomplete = ptx_form_has(s->form, PTX_MOD_NOCOMPLETE);
	in->dst[0] = has_state ? cpu_dec_dst(d, &s->ops[0]) : CPU_NOSLOT;
	in->src[0] = s->nops > at + 1 ? cpu_dec_src(d, &s->ops[at + 1], PTX_TYPE_U32)
				      : cpu_dec_const(d, 1, CPU_B32);
	in->fn = exec_arrive;
	return CPU_BOUND;
}

static enum cpu_bound bind_wait(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct bar *b = new_bar(d, s, in, 1);

	b->is_try = s->form->op == PTX_OP_MBARRIER_TRY_WAIT;
	b->is_parity = ptx_form_has(s->form, PTX_MOD_PARITY);
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	in->src[0] = cpu_dec_src(d, &s->ops[2], b->is_parity ? PTX_TYPE_U32 : PTX_TYPE_B64);
	if (b->is_try)
		in->flags |= CPU_I_PARTS;
	in->fn = exec_wait;
	return CPU_BOUND;
}

static enum cpu_bound bind_tx(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	struct bar *b = new_bar(d, s, in, 0);

	b->tx_sign = s->form->op == PTX_OP_MBARRIER_EXPECT_TX ? 1 : -1;
	in->src[0] = cpu_dec_src(d, &s->ops[1], PTX_TYPE_U32);
	in->fn = exec_tx;
	return CPU_BOUND;
}

/* ---- public ------------------------------------------------------------------------ */

void cpu_mbarrier_lacks(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane, char *out,
			size_t size)
{
	const struct bar *b = in->aux;
	uint64_t addr[CPU_WARP];
	struct cpu_window win;
	char state[MAX_STATE];

	*out = 0;
	cpu_addresses(w, &b->addr, addr);
	if (addr[lane] % 8 ||
	    !cpu_window_find(w, in, (enum ptx_space)b->space, addr[lane], 8, false, &win))
		return;
	uint64_t word = state_at((const uint8_t *)(uintptr_t)(addr[lane] + win.delta));
	if (!is_alive(word))
		return;
	put_state(unpack(word), state, sizeof(state));
	snprintf(out, size, " (its mbarrier %s)", state);
}

const char *cpu_mbarrier_apply(uint8_t *at, const struct cpu_mbar_change *c, uint64_t *was)
{
	uint64_t *word = (uint64_t *)(void *)at;
	uint64_t old = __atomic_load_n(word, __ATOMIC_ACQUIRE), now;

	do {
		now = old;
		const char *why = change(&now, c);
		if (why && was)
			*was = old;
		if (why)
			return why;
	} while (!__atomic_compare_exchange_n(word, &old, now, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	if (was)
		*was = old;
	return NULL;
}

const char *cpu_mbarrier_change(uint8_t *at, const struct cpu_mbar_change *c, bool *ended)
{
	uint64_t was = 0;
	const char *why = cpu_mbarrier_apply(at, c, &was);

	*ended = !why && has_ended(at, was);
	return why;
}

bool cpu_mbarrier_signal(struct cpu_transfer *t, unsigned lane, uint32_t mbar,
			 const struct cpu_mbar_change *c)
{
	uint8_t *p =
		cpu_resolve_async(t->warp->cta, t->in, PTX_SPACE_SHARED_CLUSTER, mbar, 8, 8, true);
	if (!p)
		return false;
	uint64_t was = 0;
	const char *why = cpu_mbarrier_apply(p, c, &was);
	if (!why)
		cpu_event_complete(t, lane, p, has_ended(p, was));
	if (why)
		cpu_fault(t->warp, t->in, lane, CPU_FAULT_ILLEGAL,
			  "%s, when a copy completes on it", why);
	return !why;
}

/* Operands that each form has. */
static unsigned least_operands(enum ptx_op op)
{
	switch (op) {
	case PTX_OP_MBARRIER_TEST_WAIT:
	case PTX_OP_MBARRIER_TRY_WAIT:
		return 3;
	case PTX_OP_MBARRIER_INIT:
	case PTX_OP_MBARRIER_EXPECT_TX:
	case PTX_OP_MBARRIER_COMPLETE_TX:
	case PTX_OP_MBARRIER_PENDING_COUNT:
		return 2;
	case PTX_OP_MBARRIER_INVAL:
		return 1;
	default:
		return 0;
	}
}

cpu_binder cpu_bind_mbarrier;

enum cpu_bound cpu_bind_mbarrier(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	if (s->nops < least_operands(s->form->op))
		return cpu_dec_unsupported(d, in, "operands of an mbarrier's operation");
	switch (s->form->op) {
	case PTX_OP_MBARRIER_INIT:
		new_bar(d, s, in, 0);
		in->src[0] = cpu_dec_src(d, &s->ops[1], PTX_TYPE_U32);
		in->fn = exec_init;
		return CPU_BOUND;
	case PTX_OP_MBARRIER_INVAL:
		new_bar(d, s, in, 0);
		in->fn = exec_inval;
		return CPU_BOUND;
	case PTX_OP_MBARRIER_ARRIVE:
	case PTX_OP_MBARRIER_ARRIVE_DROP:
		return bind_arrive(d, s, in);
	case PTX_OP_MBARRIER_EXPECT_TX:
	case PTX_OP_MBARRIER_COMPLETE_TX:
		return bind_tx(d, s, in);
	case PTX_OP_MBARRIER_TEST_WAIT:
	case PTX_OP_MBARRIER_TRY_WAIT:
		return bind_wait(d, s, in);
	case PTX_OP_MBARRIER_PENDING_COUNT:
		in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
		in->src[0] = cpu_dec_src(d, &s->ops[1], PTX_TYPE_B64);
		in->fn = exec_pending_count;
		return CPU_BOUND;
	default:
		return CPU_NOT_MINE;
	}
}
