/*
 * check_ahead.cu - checks of warp-wide and asynchronous accesses as functions: of what ahead.c,
 * matrix.c and fragment.c of src/instrument put before such an instruction, all in one call.
 *
 *	__collider_check_rows_S      ldmatrix: 16 bytes of this lane
 *	__collider_check_copy_N      cp.async of N bytes: its source, its destination
 *	__collider_check_matrix_S    wmma.load.a and .b: the pieces of this lane
 *	__collider_check_matrices_S  the same of up to four
 *	__collider_check_load_*, __collider_check_store_*
 *	                             wmma.load.c and wmma.store, of that shape and type: the
 *	                             elements of this lane
 *
 * S as in check.cu. Each makes accesses of ours to the same bytes, sleeps, reads them again,
 * compares and reports; see those files for why, and for what that misses. An instruction whose
 * guard is false has the address RACE_AHEAD_NONE. All lanes of the warp are here, except for
 * copies: the original needs them, too.
 *
 * The first accesses are weak, as the original's are; what reads this text knows by the function's
 * name that they are ours.
 *
 * Costs: one copy for each kernel that calls it (ptxas), 60 to 200 instructions.
 */
#include "check_parts.h"

DEV_FN uint32_t dev_lane(void)
{
	uint32_t lane;

	DEV_SREG32(lane, "%laneid");
	return lane;
}

/* ---- accesses where `ok` ------------------------------------------------------------ */

#define IF_OK  "{\n\t.reg .pred dev_p;\n\tsetp.ne.u32 dev_p, %0, 0;\n\t@dev_p "
#define OK(ok) "r"((uint32_t)(ok))

/* 16 bytes; `strong` is "" or ".relaxed.sys". */
#define LOAD16(strong, space, v, reg, at, ok)                                                      \
	asm volatile("{\n\t.reg .pred dev_p;\n\tsetp.ne.u32 dev_p, %3, 0;\n\t"                     \
		     "@dev_p ld" strong space ".v2.b64 {%0, %1}, [%2];\n\t}"                       \
		     : "+l"((v)[0]), "+l"((v)[1])                                                  \
		     : reg(at), OK(ok))
#define LOAD1(strong, space, type, v, value, reg, at, ok)                                          \
	asm volatile("{\n\t.reg .pred dev_p;\n\tsetp.ne.u32 dev_p, %2, 0;\n\t"                     \
		     "@dev_p ld" strong space "." type " %0, [%1];\n\t}"                           \
		     : "+" value(v)                                                                \
		     : reg(at), OK(ok))
#define STORE1(strong, space, type, v, value, reg, at, ok)                                         \
	asm volatile(IF_OK "st" strong space "." type " [%1], %2;\n\t}" ::OK(ok), reg(at), value(v))

#define IN_SPACE(S, LOAD, strong, ...)                                                             \
	do {                                                                                       \
		if (S == 'g')                                                                      \
			LOAD(strong, ".global", __VA_ARGS__, "l", at, ok);                         \
		else if (S == 's')                                                                 \
			LOAD(strong, ".shared", __VA_ARGS__, "r", (uint32_t)at, ok);               \
		else                                                                               \
			LOAD(strong, "", __VA_ARGS__, "l", at, ok);                                \
	} while (0)

template <int S> DEV_FN void dev_load16(uint64_t v[2], uint64_t at, bool ok)
{
	IN_SPACE(S, LOAD16, "", v);
}

template <int S> DEV_FN void dev_reload16(uint64_t v[2], uint64_t at, bool ok)
{
	IN_SPACE(S, LOAD16, ".relaxed.sys", v);
}

template <int S> DEV_FN void dev_load8(uint64_t *v, uint64_t at, bool ok)
{
	IN_SPACE(S, LOAD1, "", "b64", *v, "l");
}

template <int S> DEV_FN void dev_reload8(uint64_t *v, uint64_t at, bool ok)
{
	IN_SPACE(S, LOAD1, ".relaxed.sys", "b64", *v, "l");
}

/* ---- what a call found ---------------------------------------------------------------- */

#define LOADED ((uint64_t)RACE_ITEM_LOAD | 2u << RACE_ITEM_WIDTH_AT)
#define STORED ((uint64_t)RACE_ITEM_STORE | 2u << RACE_ITEM_WIDTH_AT)

/* Items: address, value before, value now of each. `shape` has a byte for each. */
template <int N>
DEV_FN void dev_found(uint32_t what, uint64_t shape, uint32_t happened,
		      const uint64_t (&item)[3 * N])
{
	uint32_t changed = 0;

#pragma unroll
	for (int i = 0; i < N; i++)
		changed |= (uint32_t)(item[3 * i + 1] != item[3 * i + 2]) << i;
	if (changed || ((what & RACE_CHECK_LANES) && dev_wanted((uint32_t)shape)))
		__collider_items(dev_table(), (what & ~RACE_CHECK_SURE) | shape << 32,
				 RACE_FOUND(changed, happened, (uint32_t)N), item);
}

#define ITEM(item, i, at, was, now)                                                                \
	(item)[3 * (i)] = (at), (item)[3 * (i) + 1] = (was), (item)[3 * (i) + 2] = (now)

/* ---- ldmatrix ----------------------------------------------------------------------------- */

template <int S> DEV_FN uint64_t dev_rows(uint32_t state, uint64_t what64, uint64_t at)
{
	uint32_t what = (uint32_t)what64, random;
	uint64_t was[2] = {0, 0}, now[2] = {0, 0}, item[6];

	if (!dev_is_drawn(&state, what, &random))
		return state;
	bool ok = at != (S == 's' ? RACE_CHECK_NO_SHARED : RACE_AHEAD_NONE) &&
		  dev_lane() < RACE_AHEAD_LANES(what64);
	dev_load16<S>(was, at, ok);
	dev_sleep(random, what, state);
	dev_reload16<S>(now, at, ok);
	dev_count(&state, ok);
	ITEM(item, 0, at, was[0], now[0]);
	ITEM(item, 1, at + 8, was[1], now[1]);
	dev_found<2>(what, RACE_ITEM_EACH(LOADED | RACE_ITEM_PAIR), 0, item);
	return state;
}

#define ROWS(s, A)                                                                                 \
	extern "C" __device__ __noinline__ uint64_t __collider_check_rows_##s(uint32_t state,      \
									      uint64_t what, A at) \
	{                                                                                          \
		return dev_rows<#s[0]>(state, what, at);                                           \
	}
ROWS(s, uint32_t)
ROWS(x, uint64_t)

/* ---- wmma.load.a and .b --------------------------------------------------------------------- */

/* Where piece number c of the matrix begins. False: after the last, or not aligned. */
DEV_FN bool dev_piece(uint64_t *at, uint64_t what, uint32_t c, uint64_t base, uint32_t stride)
{
	uint32_t line = RACE_MATRIX_LINE(what), bytes = RACE_MATRIX_PIECE(what);

	*at = base + ((uint64_t)(c >> line) * stride << RACE_MATRIX_ELEM(what)) +
	      (uint64_t)(c & ((1u << line) - 1u)) * bytes;
	return c < RACE_MATRIX_PIECES(what) && base != RACE_AHEAD_NONE &&
	       ((uint32_t)*at & (bytes - 1u)) == 0;
}

/* M matrices of one shape and stride, the sites of each after those of the one before. */
template <int S, int M>
DEV_FN uint64_t dev_matrices(uint32_t state, uint64_t what64, const uint64_t (&base)[M],
			     uint32_t stride)
{
	uint32_t what = (uint32_t)what64, random, happened = 0;
	uint32_t sites = RACE_MATRIX_PIECES(what64) > 32u ? 2u : 1u;
	bool is_whole = RACE_MATRIX_PIECE(what64) == 16u, ok[2 * M];
	uint64_t at[2 * M], was[2 * M][2], now[2 * M][2];

	if (!dev_is_drawn(&state, what, &random))
		return state;
#pragma unroll
	for (int i = 0; i < 2 * M; i++) {
		ok[i] = dev_piece(&at[i], what64, dev_lane() + 32u * (i % 2), base[i / 2], stride);
		happened += ok[i];
		was[i][0] = was[i][1] = now[i][0] = now[i][1] = 0;
		dev_load16<S>(was[i], at[i], ok[i] && is_whole);
		dev_load8<S>(&was[i][0], at[i], ok[i] && !is_whole);
	}
	dev_sleep(random, what, state);
#pragma unroll
	for (int i = 0; i < 2 * M; i++) {
		dev_reload16<S>(now[i], at[i], ok[i] && is_whole);
		dev_reload8<S>(&now[i][0], at[i], ok[i] && !is_whole);
	}
	dev_count(&state, happened);
#pragma unroll
	for (int m = 0; m < M; m++) {
		uint64_t item[12];
#pragma unroll
		for (int k = 0; k < 2; k++) {
			const int i = 2 * m + k;
			ITEM(item, 2 * k, at[i], was[i][0], now[i][0]);
			ITEM(item, 2 * k + 1, at[i] + 8, was[i][1], now[i][1]);
		}
		dev_found<4>(what + sites * m,
			     RACE_ITEM_EACH(LOADED | RACE_ITEM_PAIR) | RACE_ITEM_STEP << 16, 0,
			     item);
	}
	return state;
}

#define MATRIX(s)                                                                                  \
	extern "C" __device__ __noinline__ uint64_t __collider_check_matrix_##s(                   \
		uint32_t state, uint64_t what, uint64_t base, uint32_t stride)                     \
	{                                                                                          \
		const uint64_t bases[1] = {base};                                                  \
		return dev_matrices<#s[0], 1>(state, what, bases, stride);                         \
	}                                                                                          \
	extern "C" __device__ __noinline__ uint64_t __collider_check_matrices_##s(                 \
		uint32_t state, uint64_t what, uint64_t a, uint64_t b, uint64_t c, uint64_t d,     \
		uint32_t stride)                                                                   \
	{                                                                                          \
		const uint64_t bases[4] = {a, b, c, d};                                            \
		return dev_matrices<#s[0], 4>(state, what, bases, stride);                         \
	}
MATRIX(g)
MATRIX(s)
MATRIX(x)

/* ---- cp.async -------------------------------------------------------------------------------- */

/* The words of a copy, as pairs where there are two. `reach`: bytes that are read. */
template <int W>
DEV_FN uint64_t dev_copy(uint32_t state, uint64_t what64, uint32_t to, uint64_t from,
			 uint32_t reach)
{
	const int N = W == 4 ? 2 : 1; /* items of each side */
	const uint32_t pair = W == 1 ? 0 : RACE_ITEM_PAIR;
	const uint64_t source = RACE_ITEM_EACH(LOADED | pair) & (N == 2 ? 0xffffu : 0xffu);
	const uint64_t sides = source | (RACE_ITEM_EACH(STORED | pair) & (N == 2 ? 0xffffu : 0xffu))
						<< (8 * N);
	const uint64_t head = (uint64_t)(RACE_ITEM_STEP | RACE_ITEM_LANES) << (8 * N);
	uint32_t what = (uint32_t)what64, random, word[4] = {0, 0, 0, 0}, now[4], back[4];
	uint64_t item[6 * N];

	if (!dev_is_drawn(&state, what, &random))
		return state;
	bool is_copied = to != RACE_CHECK_NO_SHARED && (reach & 3u) == 0 && reach <= 4u * W;
#pragma unroll
	for (int i = 0; i < W; i++)
		LOAD1("", ".global", "b32", word[i], "r", "l", from + 4 * i,
		      is_copied && reach > 4u * i);
#pragma unroll
	for (int i = 0; i < W; i++) {
		STORE1("", ".shared", "b32", word[i], "r", "r", to + 4 * i, is_copied);
		now[i] = back[i] = word[i];
	}
	dev_sleep(random, what, state);
#pragma unroll
	for (int i = 0; i < W; i++)
		LOAD1(".relaxed.sys", ".global", "b32", now[i], "r", "l", from + 4 * i,
		      is_copied && reach > 4u * i);
#pragma unroll
	for (int i = 0; i < W; i++)
		LOAD1(".relaxed.sys", ".shared", "b32", back[i], "r", "r", to + 4 * i, is_copied);
	dev_count(&state, is_copied ? 1u + (reach != 0) : 0);
#pragma unroll
	for (int i = 0; i < N; i++) {
		const int hi = W == 1 ? 0 : 2 * i + 1;
#define WORDS(v) ((uint64_t)(W == 1 ? 0 : (v)[hi]) << 32 | (v)[2 * i])
		ITEM(item, i, from + 8 * i, WORDS(word), WORDS(now));
		ITEM(item, N + i, (uint64_t)to + 8 * i, WORDS(word), WORDS(back));
	}
	dev_found<2 * N>(what, sides | head, is_copied ? (1u << 2 * N) - 1u : 0, item);
	/* A thread that reads the destination without having waited reads the dirty value. Strong,
	 * so that ptxas keeps it though the copy writes the same place. */
#pragma unroll
	for (int i = 0; i < W; i++)
		STORE1(".relaxed.sys", ".shared", "b32", word[i] ^ 0x0badbeefu, "r", "r",
		       to + 4 * i, is_copied);
	return state;
}

#define COPY(bytes)                                                                                \
	extern "C" __device__ __noinline__ uint64_t __collider_check_copy_##bytes(                 \
		uint32_t state, uint64_t what, uint32_t to, uint64_t from, uint32_t reach)         \
	{                                                                                          \
		return dev_copy<bytes / 4>(state, what, to, from, reach);                          \
	}
COPY(4)
COPY(8)
COPY(16)

/* ---- wmma.load.c and wmma.store ------------------------------------------------------- */

/* Generic addresses, so that there is one function for each shape and type. */
template <int B> DEV_FN void dev_load_elem(uint64_t *v, uint64_t at, bool ok)
{
	if (B == 2)
		LOAD1("", "", "u16", *v, "l", "l", at, ok);
	else if (B == 4)
		LOAD1("", "", "u32", *v, "l", "l", at, ok);
	else
		LOAD1("", "", "b64", *v, "l", "l", at, ok);
}

template <int B> DEV_FN void dev_reload_elem(uint64_t *v, uint64_t at, bool ok)
{
	if (B == 2)
		LOAD1(".relaxed.sys", "", "u16", *v, "l", "l", at, ok);
	else if (B == 4)
		LOAD1(".relaxed.sys", "", "u32", *v, "l", "l", at, ok);
	else
		LOAD1(".relaxed.sys", "", "b64", *v, "l", "l", at, ok);
}

template <int B> DEV_FN void dev_store_elem(uint64_t v, uint64_t at, bool ok)
{
	if (B == 2)
		STORE1("", "", "u16", v, "l", "l", at, ok);
	else if (B == 4)
		STORE1("", "", "u32", v, "l", "l", at, ok);
	else
		STORE1("", "", "b64", v, "l", "l", at, ok);
}

/* N elements of B bytes in this lane, numbers in a matrix of that many columns. */
template <int N, int B, int COLS, bool LOADS>
DEV_FN uint64_t dev_fragment(uint32_t state, uint64_t what64, uint64_t base, uint32_t stride,
			     const uint32_t (&number)[N], uint64_t (&was)[N])
{
	uint32_t what = (uint32_t)what64, random, shift = B == 2 ? 1 : B == 4 ? 2 : 3;
	uint64_t at[N], now[N], window = 0, kind = LOADS ? RACE_ITEM_LOAD : RACE_ITEM_STORE;
	bool ok = base != RACE_AHEAD_NONE;

	if (!dev_is_drawn(&state, what, &random))
		return state;
	if (RACE_FRAGMENT_IS_SHARED(what64)) {
		uint64_t place = base;
		asm("cvta.shared.u64 %0, %1;" : "=l"(base) : "l"(place));
		window = base - place;
	}
#pragma unroll
	for (int i = 0; i < N; i++) {
		uint32_t row = number[i] / COLS, col = number[i] % COLS;
		if (RACE_FRAGMENT_IS_COL(what64))
			at[i] = base + (((uint64_t)col * stride + row) << shift);
		else
			at[i] = base + (((uint64_t)row * stride + col) << shift);
		if (LOADS)
			dev_load_elem<B>(&was[i], at[i], ok);
		else
			dev_store_elem<B>(was[i], at[i], ok);
	}
	dev_sleep(random, what, state);
#pragma unroll
	for (int i = 0; i < N; i++) {
		now[i] = was[i];
		dev_reload_elem<B>(&now[i], at[i], ok);
	}
	dev_count(&state, ok ? N : 0);
	const int n = N < 4 ? N : 4; /* RACE_CHECK_ITEMS */
#pragma unroll
	for (int k = 0; k < N; k += n) {
		uint64_t item[3 * n];
#pragma unroll
		for (int i = 0; i < n; i++)
			ITEM(item, i, at[k + i] - window, was[k + i], now[k + i]);
		dev_found<n>(what, RACE_ITEM_EACH(kind | shift << RACE_ITEM_WIDTH_AT), 0, item);
	}
	return state;
}

/* The numbers of this lane's elements: PTX says that wmma.load.c places elements as wmma.store
 * does. The tables are in the module (fragment.c). */
#define NUMBERS8(n, shape, type, reg, cols)                                                        \
	asm volatile("wmma.load.c.sync.aligned.row." shape ".global." type                         \
		     " {%0, %1, %2, %3, %4, %5, %6, %7}, [__collider_numbers4], " #cols ";"        \
		     : reg((n)[0]), reg((n)[1]), reg((n)[2]), reg((n)[3]), reg((n)[4]),            \
		       reg((n)[5]), reg((n)[6]), reg((n)[7]))
#define NUMBERS4H(n, shape, type, reg, cols)                                                       \
	asm volatile("wmma.load.c.sync.aligned.row." shape ".global." type                         \
		     " {%0, %1, %2, %3}, [__collider_numbers2], " #cols ";"                        \
		     : reg((n)[0]), reg((n)[1]), reg((n)[2]), reg((n)[3]))
#define NUMBERS2(n, shape, type, reg, cols)                                                        \
	asm volatile("wmma.load.c.sync.aligned.row." shape ".global." type                         \
		     " {%0, %1}, [__collider_numbers4], " #cols ";"                                \
		     : reg((n)[0]), reg((n)[1]))
#define NUMBERS2D(n, shape, type, reg, cols)                                                       \
	asm volatile("wmma.load.c.sync.aligned.row." shape ".global." type                         \
		     " {%0, %1}, [__collider_numbers8], " #cols ";"                                \
		     : reg((n)[0]), reg((n)[1]))

DEV_FN uint32_t dev_bits(float v)
{
	return __float_as_uint(v);
}
DEV_FN uint32_t dev_bits(uint32_t v)
{
	return v;
}
DEV_FN uint32_t dev_bits(double v)
{
	return (uint32_t)__double_as_longlong(v);
}

/* NAME: shape and type. T: of the registers with numbers; REGS of them for N elements. */
#define TAKE_NUMBERS(N, B, REGS, NUMBERS, T, reg, shape, type, cols)                               \
	T register_[REGS];                                                                         \
	uint32_t number[N];                                                                        \
	NUMBERS(register_, shape, type, reg, cols);                                                \
	_Pragma("unroll") for (int i = 0; i < N; i++) number[i] =                                  \
		B == 2 ? dev_bits(register_[i / 2]) >> (i % 2 ? 16 : 0) & 0xffffu                  \
		       : dev_bits(register_[i * REGS / N]);

#define FRAGMENT(name, N, B, REGS, NUMBERS, T, reg, shape, type, cols, W, VALUES, ...)             \
	extern "C" __device__ __noinline__ uint64_t __collider_check_load_##name(                  \
		uint32_t state, uint64_t what, uint64_t base, uint32_t stride)                     \
	{                                                                                          \
		TAKE_NUMBERS(N, B, REGS, NUMBERS, T, reg, shape, type, cols)                       \
		uint64_t was[N] = {};                                                              \
		return dev_fragment<N, B, cols, true>(state, what, base, stride, number, was);     \
	}                                                                                          \
	extern "C" __device__ __noinline__ uint64_t __collider_check_store_##name(                 \
		uint32_t state, uint64_t what, uint64_t base, uint32_t stride, VALUES)             \
	{                                                                                          \
		TAKE_NUMBERS(N, B, REGS, NUMBERS, T, reg, shape, type, cols)                       \
		const W value[REGS] = {__VA_ARGS__};                                               \
		uint64_t was[N];                                                                   \
		_Pragma("unroll") for (int i = 0; i < N; i++) was[i] =                             \
			B == 2 ? value[i / 2] >> (i % 2 ? 16 : 0) & 0xffffu : value[i * REGS / N]; \
		return dev_fragment<N, B, cols, false>(state, what, base, stride, number, was);    \
	}

#define TWO(W)	 W v0, W v1
#define FOUR(W)	 TWO(W), W v2, W v3
#define EIGHT(W) FOUR(W), W v4, W v5, W v6, W v7

#define OF_F32(name, shape, cols)                                                                  \
	FRAGMENT(name##_f32, 8, 4, 8, NUMBERS8, float, "=f", shape, "f32", cols, uint32_t,         \
		 EIGHT(uint32_t), v0, v1, v2, v3, v4, v5, v6, v7)
#define OF_S32(name, shape, cols)                                                                  \
	FRAGMENT(name##_s32, 8, 4, 8, NUMBERS8, uint32_t, "=r", shape, "s32", cols, uint32_t,      \
		 EIGHT(uint32_t), v0, v1, v2, v3, v4, v5, v6, v7)
#define OF_F16(name, shape, cols)                                                                  \
	FRAGMENT(name##_f16, 8, 2, 4, NUMBERS4H, uint32_t, "=r", shape, "f16", cols, uint32_t,     \
		 FOUR(uint32_t), v0, v1, v2, v3)
#define OF_EACH(name, shape, cols)                                                                 \
	OF_F32(name, shape, cols)                                                                  \
	OF_S32(name, shape, cols)                                                                  \
	OF_F16(name, shape, cols)

OF_EACH(m16n16k16, "m16n16k16", 16)
OF_EACH(m8n32k16, "m8n32k16", 32)
OF_EACH(m32n8k16, "m32n8k16", 8)
OF_F32(m16n16k8, "m16n16k8", 16)
FRAGMENT(m8n8k32_s32, 2, 4, 2, NUMBERS2, uint32_t, "=r", "m8n8k32", "s32", 8, uint32_t,
	 TWO(uint32_t), v0, v1)
FRAGMENT(m8n8k128_s32, 2, 4, 2, NUMBERS2, uint32_t, "=r", "m8n8k128", "s32", 8, uint32_t,
	 TWO(uint32_t), v0, v1)
FRAGMENT(m8n8k4_f64, 2, 8, 2, NUMBERS2D, double, "=d", "m8n8k4", "f64", 8, uint64_t, TWO(uint64_t),
	 v0, v1)
