/*
 * check.cu - the checks of `collide` as functions: __collider_checkN_VS.
 *
 * One call takes a group of up to four items (race/record.h): draws, sleeps, reads again with all
 * loads in flight, compares, compares lanes, reports. N is the number of items; V says what is
 * read: 4 or 8 bytes each, or m for mixed sizes; S says where: g global, s shared (32-bit
 * addresses), x generic addresses, of which those that point to the thread's own stack are left
 * out.
 *
 * Compiled to PTX when Collider is built. src/instrument pastes the functions that a module calls,
 * local to it: they contain the hash of the module's site table. The rules of report.cu hold here
 * too: strong (relaxed) accesses only, nothing orders memory, and no lane waits for one that has
 * not arrived. A lane's partners are those that are active at the call, with the same site (for the
 * case that ptxas made one call of two).
 *
 * Rare cases are calls (check_cold.cu): ptxas makes a copy of each of these functions for each
 * kernel, so they must be small.
 *
 * Costs: what a call costs beside the inlined check is in docs/results.
 */
#include "check_parts.h"

/* ---- reading again ------------------------------------------------------------------ */

/* `now` keeps its value where the access did not happen, so it compares equal. */
#define READ(now, type, reg, space, addr, at, ok)                                                  \
	asm volatile("{\n\t.reg .pred dev_p;\n\tsetp.ne.u32 dev_p, %2, 0;\n\t"                     \
		     "@dev_p ld.relaxed.sys" space "." type " %0, [%1];\n\t}"                      \
		     : "+" reg(now)                                                                \
		     : addr(at), "r"((uint32_t)(ok)))

template <int V, int S> DEV_FN void dev_read(uint64_t *now, uint64_t at, uint32_t item, bool ok)
{
	uint32_t at32 = (uint32_t)at;

#define READ_S(type, reg, value)                                                                   \
	do {                                                                                       \
		if (S == 'g')                                                                      \
			READ(value, type, reg, ".global", "l", at, ok_);                           \
		else if (S == 's')                                                                 \
			READ(value, type, reg, ".shared", "r", at32, ok_);                         \
		else                                                                               \
			READ(value, type, reg, "", "l", at, ok_);                                  \
	} while (0)
	if (V == 4) {
		uint32_t word = (uint32_t)*now;
		bool ok_ = ok;
		READ_S("b32", "r", word);
		*now = word;
	} else if (V == 8) {
		bool ok_ = ok;
		READ_S("b64", "l", *now);
	} else {
		uint32_t bytes = item & RACE_ITEM_PAIR ? 8u : RACE_ITEM_WIDTH(item);
		bool ok_ = ok && bytes == 1;
		READ_S("u8", "l", *now);
		ok_ = ok && bytes == 2;
		READ_S("u16", "l", *now);
		ok_ = ok && bytes == 4;
		READ_S("u32", "l", *now);
		ok_ = ok && bytes == 8;
		READ_S("b64", "l", *now);
	}
}

template <int S> DEV_FN bool dev_happened(uint64_t at)
{
	uint32_t local;

	if (S == 's')
		return (uint32_t)at != RACE_CHECK_NO_SHARED;
	if (S == 'g')
		return at != 0;
	asm("{\n\t.reg .pred dev_p;\n\tisspacep.local dev_p, %1;\n\tselp.u32 %0, 1, 0, dev_p;\n\t}"
	    : "=r"(local)
	    : "l"(at));
	return at != 0 && !local;
}

/* ---- a group --------------------------------------------------------------------------- */

template <int N> struct items {
	uint64_t at[N], was[N], now[N];
	bool ok[N];
};

template <int N> struct box {
	uint64_t v[3 * N];
};

/* In memory, for the functions that are called when it matters: as arguments they would take 30
 * registers. */
template <int N> DEV_FN box<N> dev_box(const items<N> &t)
{
	box<N> b;

#pragma unroll
	for (int i = 0; i < N; i++) {
		b.v[3 * i] = t.at[i];
		b.v[3 * i + 1] = t.was[i];
		b.v[3 * i + 2] = t.now[i];
	}
	return b;
}

template <int N, int V, int S>
DEV_FN uint64_t dev_check(uint32_t state, uint64_t what64, items<N> &t)
{
	uint32_t what = (uint32_t)what64, shape = (uint32_t)(what64 >> 32);
	uint32_t changed = 0;

	if (what & RACE_CHECK_FOLLOWS) {
		if (!(state & RACE_STATE_DRAWN))
			return state;
	} else {
		uint32_t random;

		if (!dev_is_drawn(&state, what, &random))
			return state;
		dev_sleep(random, what, state);
	}
#pragma unroll
	for (int i = 0; i < N; i++) {
		t.ok[i] = dev_happened<S>(t.at[i]);
		t.now[i] = t.was[i];
		dev_read<V, S>(&t.now[i], t.at[i], shape >> (8 * i) & 0xffu, t.ok[i]);
	}
	uint32_t count = RACE_CHECK_COUNT(what);
	if (!(what & RACE_CHECK_SURE)) {
		count = 0;
#pragma unroll
		for (int i = 0; i < N; i++)
			count += t.ok[i] && (i == 0 || shape >> (8 * i) & RACE_ITEM_STEP);
	}
	dev_count(&state, count);
#pragma unroll
	for (int i = 0; i < N; i++)
		changed |= (uint32_t)(t.was[i] != t.now[i]) << i;
	if (changed || ((what & RACE_CHECK_LANES) && dev_wanted(shape))) {
		uint32_t ok = 0;
#pragma unroll
		for (int i = 0; i < N; i++)
			ok |= (uint32_t)t.ok[i] << i;
		__collider_items(dev_table(), what64, RACE_FOUND(changed, ok, (uint32_t)N),
				 dev_box(t).v);
	}
	return (uint64_t)changed << 32 | state;
}

/* Parameters are separate: an array would be one of bytes, in memory. */
#define P(i, A, W) A a##i, W w##i
#define TAKE(i)	   t.at[i] = a##i, t.was[i] = w##i
#define P1(A, W)   P(0, A, W)
#define P2(A, W)   P1(A, W), P(1, A, W)
#define P4(A, W)   P2(A, W), P(2, A, W), P(3, A, W)
#define TAKE1	   TAKE(0)
#define TAKE2	   TAKE1, TAKE(1)
#define TAKE4	   TAKE2, TAKE(2), TAKE(3)
#define CHECK(N, v, V, s, A, W)                                                                    \
	extern "C" __device__ __noinline__ uint64_t __collider_check##N##_##v##s(                  \
		uint32_t state, uint64_t what, P##N(A, W))                                         \
	{                                                                                          \
		items<N> t;                                                                        \
		TAKE##N;                                                                           \
		return dev_check<N, V, #s[0]>(state, what, t);                                     \
	}
#define CHECKS(v, V, s, A, W)                                                                      \
	CHECK(1, v, V, s, A, W)                                                                    \
	CHECK(2, v, V, s, A, W)                                                                    \
	CHECK(4, v, V, s, A, W)

CHECKS(4, 4, g, uint64_t, uint32_t)
CHECKS(8, 8, g, uint64_t, uint64_t)
CHECKS(m, 0, g, uint64_t, uint64_t)
CHECKS(4, 4, s, uint32_t, uint32_t)
CHECKS(m, 0, s, uint32_t, uint64_t)
CHECKS(m, 0, x, uint64_t, uint64_t)
