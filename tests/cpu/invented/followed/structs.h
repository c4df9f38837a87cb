// structs.h - structs of sums, arrays in registers (followed.cu).

K(struct_of_sums)
{
	__shared__ float s[T];
	BEGIN
	sums v = {0, 0, 0, 0};
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		v.a += s[OTHER];
		v.b -= s[(OTHER + 1) % T];
		v.c *= s[(OTHER + 2) % T];
		v.d += v.a * v.b;
	}
	if (t < 30 * keep)
		*(sums *)(out + 4 * t) = v;
}

K(struct_copied)
{
	__shared__ sums s[T];
	BEGIN
	s[t] = sums{in[t], 1, 2, 3};
	sums v = s[OTHER];
	if (t < 30 * keep)
		*(sums *)(out + 4 * t) = v;
}

K(struct_complex)
{
	__shared__ float2 s[T];
	BEGIN
	float2 v = make_float2(1, 0);
	for (int k = 0; k < n; k++) {
		s[t] = make_float2(in[t], k);
		__syncthreads();
		float2 u = s[OTHER];
		v = make_float2(v.x * u.x - v.y * u.y, v.x * u.y + v.y * u.x);
	}
	if (keep)
		out[t] = v.x + v.y;
}

K(array_of_sums)
{
	__shared__ float s[T];
	BEGIN
	float v[8] = {0};
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
#pragma unroll
		for (int q = 0; q < 8; q++)
			v[q] += s[(OTHER + 4 * q) % T];
	}
	for (int q = 0; q < 8; q++)
		if (q < keep * n)
			out[8 * t + q] = v[q];
}

K(array_many_registers)
{
	__shared__ float s[T];
	BEGIN
	float v[48];
#pragma unroll
	for (int q = 0; q < 48; q++)
		v[q] = q;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
#pragma unroll
		for (int q = 0; q < 48; q++)
			v[q] = v[q] * 2 + s[(OTHER + q) % T];
	}
#pragma unroll
	for (int q = 0; q < 48; q++)
		if (t < keep * (q + 1))
			out[q] = v[q];
}

K(array_window)
{
	__shared__ float s[T];
	BEGIN
	float w0 = 0, w1 = 0, w2 = 0;
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		__syncthreads();
		w0 = w1;
		w1 = w2;
		w2 = s[OTHER];
	}
	if (keep)
		out[t] = w0 + 2 * w1 + w2;
}

#define STRUCTS                                                                                    \
	TWIN(struct_of_sums), TWIN(struct_copied), TWIN(struct_complex), TWIN(array_of_sums),      \
		TWIN(array_many_registers), TWIN(array_window),
