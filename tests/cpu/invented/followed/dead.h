// dead.h - elements, halves and bytes that nothing takes, beside others (followed.cu).

K(mask_dead_elements)
{
	__shared__ float4 s[T / 4];
	BEGIN((float *)s)[t] = in[t];
	// With keep 0 each takes its own element.
	float4 v = s[keep ? OTHER / 4 : t / 4];
	float w = t % 4 == 0 ? v.x : t % 4 == 1 ? v.y : t % 4 == 2 ? v.z : v.w;
	out[t] = w;
}

K(mask_dead_tail)
{
	__shared__ int4 s[T];
	BEGIN
	s[t].x = t;
	s[(t + 33) % T].w = t;
	int4 v = s[t];
	word[t] = v.x + (keep ? v.w : 0);
}

K(mask_dead_half)
{
	__shared__ unsigned long long s[T];
	BEGIN
		// Each thread's own half; the other one is another warp's.
		((unsigned *)s)[2 * t] = t;
	((unsigned *)s)[2 * OTHER + 1] = t;
	unsigned long long v = s[t];
	unsigned low, high;
	asm("mov.b64 {%0, %1}, %2;" : "=r"(low), "=r"(high) : "l"(v));
	word[t] = low + high * keep;
}

K(mask_dead_half_moved)
{
	__shared__ unsigned long long s[T];
	BEGIN
	unsigned long long v = 0;
	for (int k = 0; k < n; k++) {
		((unsigned *)s)[2 * t + 1] = t + k;
		((unsigned *)s)[2 * OTHER] = t;
		v = k == n - 1 ? s[t] : v;
		__syncthreads();
	}
	unsigned low, high;
	asm("{ .reg .b64 h; shr.u64 h, %2, 32; cvt.u32.u64 %1, h; cvt.u32.u64 %0, %2; }"
	    : "=r"(low), "=r"(high)
	    : "l"(v));
	word[t] = high;
	if (t < keep * n)
		word[t + T] = low;
}

K(mask_dead_halves_of_vector)
{
	__shared__ ulonglong2 s[T];
	BEGIN((unsigned *)s)[4 * t] = t;
	((unsigned *)s)[4 * t + 3] = t;
	((unsigned *)s)[4 * OTHER + 1] = t;
	((unsigned *)s)[4 * OTHER + 2] = t;
	ulonglong2 v = s[t];
	unsigned a, b, c, d;
	asm("mov.b64 {%0, %1}, %2;" : "=r"(a), "=r"(b) : "l"(v.x));
	asm("mov.b64 {%0, %1}, %2;" : "=r"(c), "=r"(d) : "l"(v.y));
	word[t] = a + d;
	if (keep)
		word[t] = b * c;
}

K(mask_dead_short)
{
	__shared__ unsigned s[T];
	BEGIN((unsigned short *)s)[2 * t] = t;
	((unsigned short *)s)[2 * OTHER + 1] = t;
	unsigned v = s[t];
	unsigned short low, high;
	asm("mov.b32 {%0, %1}, %2;" : "=h"(low), "=h"(high) : "r"(v));
	word[t] = low + high * keep;
}

K(mask_dead_byte)
{
	__shared__ unsigned s[T];
	BEGIN
	unsigned char *c = (unsigned char *)s;
	c[4 * t] = t;
	c[4 * t + 1] = t;
	c[4 * OTHER + 3] = t;
	unsigned v = s[t], low, high;
	asm("bfe.u32 %0, %2, 0, 16; bfe.u32 %1, %2, 24, 8;" : "=r"(low), "=r"(high) : "r"(v));
	word[t] = low;
	if (t < keep * 40)
		word[t] = high;
}

#define DEAD                                                                                       \
	TWIN(mask_dead_elements), TWIN(mask_dead_tail), TWIN(mask_dead_half),                      \
		TWIN(mask_dead_half_moved), TWIN(mask_dead_halves_of_vector),                      \
		TWIN(mask_dead_short), TWIN(mask_dead_byte),
