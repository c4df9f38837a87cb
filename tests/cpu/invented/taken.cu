/*
 * taken.cu - loads that nvcc moves above their condition: who really uses the value?
 *
 * Thread 0 writes, and no barrier follows. In a kernel used_* other threads use what they load: a race. Its
 * twin kept_* has the same shape, but only the writer's thread, or none, meets the condition: in the
 * source nobody else reads, whatever nvcc makes of it. `taken LIST` prints the names, `taken NAME` runs one,
 * `taken ALL` all, one after the other.
 */
#include <cstdio>
#include <cstring>

#define N 64

/* WHO is the condition under which a thread takes the value: others of the racy kernel, the
 * writer alone in its twin. */
#define OTHERS (t > 5)
#define WRITER (t == 0)

#define ARGS  int *out, const int *in, int *g, int never
#define BEGIN unsigned t = threadIdx.x

#define SHARED(type, name, n)                                                                      \
	__shared__ type name[n];                                                                   \
	if (t < (n) && t == 0)                                                                     \
		for (int i_ = 0; i_ < (n); i_++)                                                   \
	name[i_] = (type)(in[i_] + 1)

/* The body is compiled twice. */
#define TWINS(name, ...)                                                                           \
	template <int RACY> __device__ __forceinline__ void name##_body(ARGS)                      \
	{                                                                                          \
		BEGIN;                                                                             \
		const bool who = RACY ? OTHERS : WRITER;                                           \
		(void)who;                                                                         \
		__VA_ARGS__                                                                        \
	}                                                                                          \
	__global__ void used_##name(ARGS)                                                          \
	{                                                                                          \
		name##_body<1>(out, in, g, never);                                                 \
	}                                                                                          \
	__global__ void kept_##name(ARGS)                                                          \
	{                                                                                          \
		name##_body<0>(out, in, g, never);                                                 \
	}

TWINS(select, {
	SHARED(int, s, 1);
	out[t] = who ? s[0] : 0;
})
// Five bytes become a vector of eight; the sixth is another thread's.
TWINS(joined_bytes, {
	const unsigned char *p = (const unsigned char *)__builtin_assume_aligned(g + 2 * t, 8);
	int a = p[0], b = p[1], c = p[2], d = p[3] + p[4];
	((unsigned char *)g)[8 * ((t + 33) % N) + (RACY ? 3 : 5)] = 1;
	out[4 * t] = a;
	out[4 * t + 1] = b;
	out[4 * t + 2] = c;
	out[4 * t + 3] = d;
})
// Three of four.
TWINS(joined_shorts, {
	const short *p = (const short *)__builtin_assume_aligned(g + 2 * t, 8);
	int a = p[0], b = p[1] + p[2];
	((short *)g)[4 * ((t + 33) % N) + (RACY ? 1 : 3)] = 1;
	out[2 * t] = a;
	out[2 * t + 1] = b;
})
TWINS(accumulate, {
	SHARED(int, s, 1);
	int acc = in[t] & 7;
	if (who)
		acc += s[0];
	out[t] = acc;
})
TWINS(and_last, {
	SHARED(int, s, 1);
	if (who && s[0])
		out[t] = 1;
})
TWINS(second_warp, {
	SHARED(int, s, 1);
	if ((RACY ? t == 40 : t == 0) && s[0])
		out[t] = 1;
})
TWINS(or_first, {
	SHARED(int, s, 1);
	if (!who || s[0] > 1)
		out[t] = 1;
})
TWINS(inner_select, {
	SHARED(int, s, 1);
	out[t] = t < 60 ? (who ? s[0] : 1) : 2;
})
TWINS(outer_select, {
	SHARED(int, s, 1);
	out[t] = who ? (t < 60 ? s[0] : 1) : 2;
})
TWINS(two_selects, {
	SHARED(int, s, 1);
	int v = who ? s[0] : 0;
	int w = who ? s[0] * 3 : 1;
	out[t] = v;
	out[t + N] = w;
})
TWINS(later_block, {
	SHARED(int, s, 1);
	int v = who ? s[0] : 0;
	int n = in[t];
	if (in[t + 1] > 3)
		for (int i = 0; i < n; i++)
			out[t + N] += i * n;
	out[t] = v;
})
TWINS(loop_sum, {
	SHARED(int, s, 4);
	int acc = 0;
	for (int i = 0; i < 4; i++)
		if (who)
			acc += s[i];
	out[t] = acc;
})
TWINS(long_loop, {
	SHARED(int, s, 1);
	int acc = 0;
	for (int i = 0; i < (in[t] & 3) + 2; i++)
		acc = acc * 5 + (who ? s[0] : i);
	out[t] = acc;
})
TWINS(minimum, {
	SHARED(int, s, 1);
	int acc = in[t];
	if (who && s[0] < acc)
		acc = s[0];
	out[t] = acc;
})
TWINS(index, {
	SHARED(int, s, 1);
	out[t] = in[who ? s[0] & 15 : 3];
})
TWINS(negated, {
	SHARED(int, s, 1);
	out[t] = !who ? 7 : -s[0];
})
TWINS(compared, {
	SHARED(int, s, 1);
	out[t] = who && s[0] > 3 ? in[t] : in[t + 1];
})
TWINS(three_conditions, {
	SHARED(int, s, 1);
	if (who && t < 50 && s[0])
		out[t] = 1;
})
TWINS(either, {
	SHARED(int, s, 1);
	out[t] = (who && s[0]) || in[t] > 5;
})
TWINS(bytes_as_word, {
	SHARED(unsigned char, s, 8);
	out[t] = who ? *(int *)s : 0;
})
TWINS(halves_as_word, {
	SHARED(unsigned short, s, 4);
	out[t] = who ? *(int *)s : in[t];
})
TWINS(real, {
	SHARED(float, s, 1);
	float acc = (float)in[t];
	if (who)
		acc += s[0];
	out[t] = (int)acc;
})
TWINS(doubles, {
	SHARED(double, s, 1);
	double acc = in[t];
	if (who)
		acc = acc * 2 + s[0];
	out[t] = (int)acc;
})
TWINS(wide, {
	SHARED(long long, s, 1);
	long long v = who ? s[0] : 5;
	out[t] = (int)(v >> 3);
})
TWINS(pair, {
	SHARED(int, s, 2);
	int2 v = who ? *(int2 *)s : make_int2(1, 2);
	out[t] = v.x * v.y;
})
TWINS(four, {
	SHARED(float, s, 4);
	float4 v = make_float4(0, 0, 0, 0);
	if (who)
		v = *(float4 *)s;
	out[t] = (int)(v.x + v.y * v.z - v.w);
})
TWINS(neighbours, {
	SHARED(int, s, 2);
	int a = in[t];
	int b = in[t + 1];
	if (who) {
		a += s[0];
		b += s[1];
	}
	out[t] = a;
	out[t + N] = b;
})
TWINS(ballot, {
	SHARED(int, s, 1);
	out[t] = (int)__ballot_sync(~0u, who && s[0]);
})
TWINS(shuffle, {
	SHARED(int, s, 1);
	int v = who ? s[0] : 0;
	out[t] = __shfl_down_sync(~0u, v, 1);
})
TWINS(global, {
	if (t == 0)
		g[0] = in[0] + 1;
	out[t] = who ? g[0] : 0;
})
TWINS(global_flag, {
	if (t == 0)
		g[0] = in[0] + 1;
	int acc = in[t];
	if (who && g[0])
		acc++;
	out[t] = acc;
})
TWINS(clamped, {
	SHARED(int, s, 1);
	int v = in[t];
	if (who)
		v = max(v, min(s[0], 100));
	out[t] = v;
})
TWINS(hoisted, {
	SHARED(int, s, 1);
	for (int i = 0; i < (in[t] & 3) + 1; i++) {
		int v = in[i + t];
		if (who)
			v ^= s[0];
		out[t * 4 + i] = v;
	}
})

#define BOTH(name)                                                                                 \
	{"used_" #name, used_##name},                                                              \
	{                                                                                          \
		"kept_" #name, kept_##name                                                         \
	}
static const struct {
	const char *name;
	void (*kernel)(ARGS);
} KERNELS[] = {
	BOTH(select),	   BOTH(accumulate),	BOTH(and_last),
	BOTH(or_first),	   BOTH(inner_select),	BOTH(outer_select),
	BOTH(two_selects), BOTH(later_block),	BOTH(loop_sum),
	BOTH(long_loop),   BOTH(minimum),	BOTH(index),
	BOTH(negated),	   BOTH(compared),	BOTH(three_conditions),
	BOTH(either),	   BOTH(bytes_as_word), BOTH(halves_as_word),
	BOTH(real),	   BOTH(doubles),	BOTH(wide),
	BOTH(pair),	   BOTH(four),		BOTH(neighbours),
	BOTH(ballot),	   BOTH(shuffle),	BOTH(global),
	BOTH(global_flag), BOTH(clamped),	BOTH(hoisted),
	BOTH(second_warp), BOTH(joined_bytes), BOTH(joined_shorts),
};

int main(int argc, char **argv)
{
	int host[4 * N];

	for (int i = 0; i < 4 * N; i++)
		host[i] = i % 9 + 1;
	for (const auto &k : KERNELS) {
		int *out, *in, *g; // each kernel's own

		if (argc > 1 && !strcmp(argv[1], "LIST"))
			puts(k.name);
		if (argc < 2 || (strcmp(argv[1], "ALL") && strcmp(argv[1], k.name)))
			continue;
		cudaMalloc(&out, sizeof(host));
		cudaMalloc(&in, sizeof(host));
		cudaMalloc(&g, 8 * N);
		cudaMemset(g, 0, 8 * N);
		cudaMemcpy(in, host, sizeof(host), cudaMemcpyHostToDevice);
		k.kernel<<<1, N>>>(out, in, g, 0);
		if (cudaDeviceSynchronize() != cudaSuccess)
			return 1;
	}
	return 0;
}
