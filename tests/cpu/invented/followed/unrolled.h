// unrolled.h - loops that are unrolled (followed.cu).

K(unrolled_sum)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float acc = 0;
#pragma unroll 16
	for (int q = 0; q < T; q++)
		acc += s[q];
	if (t < keep * 20)
		out[t] = acc;
}

K(unrolled_pair)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
#pragma unroll 2
	for (int k = 0; k < 2 * n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc += s[OTHER];
	}
	if (t < keep * 20)
		out[t] = acc;
}

K(unrolled_tree)
{
	__shared__ float s[2 * T];
	BEGIN
	s[t] = in[t];
	s[t + T] = 0;
	float v = s[t];
#pragma unroll
	for (int d = 32; d >= 4; d /= 2)
		v += s[t + d];
	if (t == 64 - keep * 60)
		out[0] = v;
}

K(unrolled_rows)
{
	__shared__ float s[8][9];
	BEGIN
	s[t / 8][t % 8] = in[t];
	float acc = 0;
#pragma unroll
	for (int q = 0; q < 8; q++)
		acc += s[q][t % 8] * q;
	if (keep)
		out[t] = acc;
}

K(unrolled_guarded)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float acc = 0;
#pragma unroll 4
	for (int q = 0; q < 8; q++)
		if (t + 8 * q < n * 20)
			acc += s[(t + 8 * q + 32) % T];
	if (keep)
		out[t] = acc;
}

#define UNROLLED                                                                                   \
	TWIN(unrolled_sum), TWIN(unrolled_pair), TWIN(unrolled_tree), TWIN(unrolled_rows),         \
		TWIN(unrolled_guarded),
