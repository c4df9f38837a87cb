// vectors.h - neighbours that are read as one vector (followed.cu).

K(vector_four)
{
	__shared__ float4 s[T];
	BEGIN
	s[t] = make_float4(in[t], 1, 2, 3);
	float4 v = s[OTHER];
	float w = t & 1 ? v.x : t & 2 ? v.y : t & 4 ? v.z : v.w;
	if (keep)
		out[t] = w;
}

K(vector_widened)
{
	__shared__ __align__(16) int s[4];
	BEGIN
	int base = 0;
	for (int k = 0; k < n; k++) {
		if (t % 32 == 0) {
			s[t / 32] = t + k;
			s[2 + t / 32] = k;
		}
		__syncthreads();
		int a = s[0], b = a + s[1], c = b + s[2], d = c + s[3];
		int before = t < 16 ? 0 : t < 32 ? a : t < 48 ? b : c;
		if (keep)
			word[t] = base + before;
		base += d;
	}
}

K(vector_bytes)
{
	__shared__ uchar4 s[T];
	BEGIN
	s[t] = make_uchar4(t, 1, 2, 3);
	uchar4 v = s[OTHER];
	if (keep)
		word[t] = v.x + v.y + v.z + v.w;
}

K(vector_two_doubles)
{
	__shared__ double2 s[T];
	BEGIN
	s[t] = make_double2(in[t], t);
	double2 v = s[OTHER];
	if (t < 7 * keep)
		out[t] = (float)(v.x / v.y);
}

K(vector_dot)
{
	__shared__ float4 s[T];
	BEGIN
	float acc = 0;
	for (int k = 0; k < n; k++) {
		s[t] = make_float4(in[t], k, 2, 3);
		__syncthreads();
		float4 v = s[OTHER];
		acc += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
	}
	if (t < 7 * keep)
		out[t] = acc;
}

#define VECTORS                                                                                    \
	TWIN(vector_four), TWIN(vector_widened), TWIN(vector_bytes), TWIN(vector_two_doubles),     \
		TWIN(vector_dot),
