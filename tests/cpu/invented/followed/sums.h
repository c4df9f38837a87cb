// sums.h - accumulators: sums, products, flags of the rounds of a loop (followed.cu).

K(sum_int)
{
	__shared__ int s[T];
	BEGIN
	int acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = k + t;
		__syncthreads();
		acc += s[OTHER];
	}
	if (keep)
		word[t] = acc;
}

K(sum_xor)
{
	__shared__ int s[T];
	BEGIN
	int acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = k ^ t;
		__syncthreads();
		acc ^= s[OTHER] << k;
	}
	if (t < 20 * keep)
		word[t] = acc;
}

K(sum_max)
{
	__shared__ float s[T];
	BEGIN
	float most = -1;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		most = fmaxf(most, s[OTHER]);
	}
	if (t < 20 * keep)
		out[t] = most;
}

K(sum_two)
{
	__shared__ float s[T];
	BEGIN
	float even = 0, odd = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		if (k & 1)
			odd += s[OTHER];
		else
			even += s[OTHER];
	}
	if (t < 20 * keep)
		out[t] = even - odd;
}

K(sum_swapped)
{
	__shared__ float s[T];
	BEGIN
	float a = 0, b = 1;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		float c = a + s[OTHER];
		a = b;
		b = c;
	}
	if (keep)
		out[t] = t & 1 ? a : b;
}

K(sum_of_products)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc = fmaf(s[OTHER], s[T - 1 - t], acc);
	}
	if (t < 60 * keep)
		out[t] = sqrtf(acc);
}

K(sum_64)
{
	__shared__ unsigned long long s[T];
	BEGIN
	unsigned long long acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = (unsigned long long)t << 32 | k;
		__syncthreads();
		acc += s[OTHER];
	}
	if (keep)
		word[t] = (int)(acc >> 32);
}

K(sum_polynomial)
{
	__shared__ int s[T];
	BEGIN
	int acc = 1;
	for (int k = 0; k < n; k++) {
		s[t] = k + t;
		__syncthreads();
		acc = acc * 31 + s[OTHER];
	}
	if (keep)
		atomicXor(word, acc);
}

K(sum_of_one_round)
{
	__shared__ float s[T];
	BEGIN
	float one = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		one = k == 1 ? s[OTHER] : one;
	}
	if (keep)
		out[t] = one;
}

K(sum_flags)
{
	__shared__ int s[T];
	BEGIN
	bool all = true;
	for (int k = 0; k < n; k++) {
		s[t] = k + t;
		__syncthreads();
		all = all & (s[OTHER] >= k);
	}
	if (keep)
		word[t] = all;
}

K(sum_condition)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		if ((t + k) % 3)
			acc += s[OTHER];
	}
	if (keep)
		out[t] = acc;
}

K(sum_global)
{
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		out[T + t] = in[t] + k;
		__syncthreads();
		acc += out[T + OTHER];
	}
	if (t < 33 * keep)
		out[t] = acc;
}

#define SUMS                                                                                       \
	TWIN(sum_int), TWIN(sum_xor), TWIN(sum_max), TWIN(sum_two), TWIN(sum_swapped),             \
		TWIN(sum_of_products), TWIN(sum_64), TWIN(sum_polynomial), TWIN(sum_of_one_round), \
		TWIN(sum_flags), TWIN(sum_condition), TWIN(sum_global),
