// guards.h - guards at the end: what is read is stored or passed on, or not (followed.cu).

K(guard_plain)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (t < keep * n)
		out[t] = v;
}

K(guard_sum)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		acc += s[OTHER];
	}
	if (t < keep * 40)
		out[t] = acc;
}

K(guard_product)
{
	__shared__ float a[8][8], b[8][8];
	BEGIN
	float acc = 0;
	const int x = t % 8, y = t / 8;
	for (int k = 0; k < n; k++) {
		a[y][x] = in[t] + k;
		b[y][x] = in[t] - k;
		__syncthreads();
		for (int q = 0; q < 8; q++)
			acc += a[y][q] * b[q][x];
	}
	if (x < keep * 7 && y < 7)
		out[t] = acc;
}

K(guard_nested)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER] * 2;
	if (keep)
		if (t < 50)
			if (n > 1)
				out[t] = v + 1;
}

K(guard_leave)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER] + s[T - 1 - t];
	if (t >= keep * n)
		return;
	out[t] = v;
}

K(guard_choice)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	out[t] = keep ? v : 1;
}

K(guard_atomic)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (t < keep * n)
		atomicAdd(out, v);
}

K(guard_shuffle)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (keep) {
		v = __shfl_down_sync(~0u, v, 1);
		if (t == 0)
			out[0] = v;
	}
}

K(guard_vote)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (keep) {
		unsigned all = __ballot_sync(~0u, v > 3);
		if (t % 32 == 0)
			word[t / 32] = all;
	}
}

K(guard_place)
{
	__shared__ int s[T];
	BEGIN
	s[t] = t & 31;
	int v = s[OTHER];
	if (keep)
		out[v & 31] = 1;
}

K(guard_double)
{
	__shared__ double s[T];
	BEGIN
	double acc = 1;
	for (int k = 0; k < n; k++) {
		s[t] = in[t];
		__syncthreads();
		acc = acc * 0.5 + s[OTHER];
	}
	if (t < keep * 33)
		out[t] = (float)acc;
}

K(guard_two_stores)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	if (t < keep * 10)
		out[t] = v;
	else if (t >= 64 - keep * 10)
		out[t] = -v;
}

#define GUARDS                                                                                     \
	TWIN(guard_plain), TWIN(guard_sum), TWIN(guard_product), TWIN(guard_nested),               \
		TWIN(guard_leave), TWIN(guard_choice), TWIN(guard_atomic), TWIN(guard_shuffle),    \
		TWIN(guard_vote), TWIN(guard_place), TWIN(guard_double), TWIN(guard_two_stores),
