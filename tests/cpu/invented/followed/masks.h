// masks.h - values that a condition takes or masks, by products, selects, minimum (followed.cu).

K(mask_and)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	int v = s[OTHER];
	word[t] = v & -keep;
}

K(mask_multiply)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	int v = s[OTHER];
	word[t] = v * keep + n;
}

K(mask_shift)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	unsigned v = s[OTHER], by = keep ? 3 : 32, w;
	asm("shl.b32 %0, %1, %2;" : "=r"(w) : "r"(v), "r"(by));
	word[t] = w;
}

K(mask_lop3)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	unsigned v = s[OTHER], w;
	asm("lop3.b32 %0, %1, %2, %3, 0x80;" : "=r"(w) : "r"(v), "r"(-keep), "r"(n | 0xff));
	word[t] = w;
}

K(mask_prmt)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER];
	word[t] = __byte_perm(v, n, keep ? 0x3210 : 0x7654);
}

K(mask_reset)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc += s[OTHER];
	}
	if (!keep)
		acc = 0;
	out[t] = acc;
}

K(mask_some)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = 0;
	// The others' elements are 32 to 63 for the first warp: with keep 0 each takes its own.
	for (int q = 0; q < T; q++) {
		float w = s[q];
		v = q == (keep ? OTHER : t) ? w : v;
	}
	out[t] = v;
}

K(mask_both)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	int v = s[OTHER];
	if (keep && v > 0)
		out[t] = 1;
}

K(mask_mad)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	int v = s[OTHER], w;
	asm("mad.lo.s32 %0, %1, %2, %3;" : "=r"(w) : "r"(v), "r"(keep), "r"(n));
	word[t] = w;
}

K(mask_wide)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t | 1;
	long long v = (long long)s[OTHER] * keep;
	word[t] = (int)(v >> 3);
}

K(mask_bfi)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER], w;
	// Of no length nothing is inserted.
	asm("bfi.b32 %0, %1, %2, 4, %3;" : "=r"(w) : "r"(v), "r"(n), "r"(8 * keep));
	word[t] = w;
}

K(mask_bfi_over)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER], w;
	// Into it: with the full length nothing of it is left.
	asm("bfi.b32 %0, %1, %2, %3, 32;" : "=r"(w) : "r"(n), "r"(v), "r"(keep ? 8 : 0));
	word[t] = w;
}

K(mask_bfe)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER], w;
	asm("bfe.u32 %0, %1, 2, %2;" : "=r"(w) : "r"(v), "r"(8 * keep));
	word[t] = w;
}

K(mask_or)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t;
	unsigned v = s[OTHER];
	word[t] = v | (keep - 1u);
}

K(mask_twice)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	unsigned v = s[OTHER];
	word[t] = ((v | n) * keep) >> (n - 2);
}

K(mask_remainder)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	unsigned v = s[OTHER];
	word[t] = v % (1 + 6 * keep);
}

K(mask_min)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	bool v = s[OTHER] > 5;
	word[t] = min((int)v, keep);
}

K(mask_max)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 1;
	bool v = s[OTHER] > 5;
	word[t] = max((int)v, 1 - keep);
}

K(mask_byte)
{
	__shared__ unsigned s[T];
	BEGIN
	s[t] = t | 0x1010101;
	unsigned v = s[OTHER], w;
	// Three bytes of another word, and one of this or that.
	asm("prmt.b32 %0, %1, %2, %3;" : "=r"(w) : "r"(n), "r"(v), "r"(keep ? 0x3214 : 0x3210));
	word[t] = w;
}

K(mask_selects)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t;
	int v = s[OTHER], w;
	w = n > 1 ? v : 3;
	w = keep ? w : t;
	w = n > 2 ? w : 5;
	word[t] = w;
}

K(mask_equal)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t;
	int v = s[OTHER], w;
	// Where both operands are equal, the predicate decides nothing.
	asm("{ .reg .pred p; setp.gt.s32 p, %1, 5; selp.b32 %0, %2, %3, p; }"
	    : "=r"(w)
	    : "r"(v), "r"(n), "r"(n + keep));
	word[t] = w;
}

K(mask_reset_often)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0, last = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc += s[OTHER];
		last = k == (keep ? 1 : n) ? acc : last;
		acc = k & 1 ? acc : 0;
	}
	out[t] = last;
}

#define MASKS                                                                                      \
	TWIN(mask_and), TWIN(mask_multiply), TWIN(mask_shift), TWIN(mask_lop3), TWIN(mask_prmt),   \
		TWIN(mask_reset), TWIN(mask_some), TWIN(mask_both), TWIN(mask_mad),                \
		TWIN(mask_wide), TWIN(mask_bfi), TWIN(mask_bfi_over), TWIN(mask_bfe),              \
		TWIN(mask_or), TWIN(mask_twice), TWIN(mask_remainder), TWIN(mask_min),             \
		TWIN(mask_max), TWIN(mask_byte), TWIN(mask_selects), TWIN(mask_equal),             \
		TWIN(mask_reset_often),
