// waits.h - waits between a read and the use of its value (followed.cu).

K(wait_volatile)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		acc += s[OTHER];
		while (((volatile int *)word)[200] != 7)
			;
	}
	if (t < keep * 33)
		out[t] = acc;
}

K(wait_atomic)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		acc += s[OTHER];
		while (atomicAdd(word + 200, 0) != 7)
			;
	}
	out[t] = acc;
}

K(wait_barrier)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	__syncthreads();
	__threadfence();
	__syncthreads();
	if (keep)
		out[t] = v;
}

K(wait_inner_loop)
{
	__shared__ float s[T];
	BEGIN
	float acc = 0;
#pragma unroll 1
	for (int k = 0; k < n; k++) {
		s[t] = in[t] + k;
		float v = s[OTHER];
		int left = t % 4;
#pragma unroll 1
		while (left-- > 0)
			acc += 1;
		acc += v;
	}
	if (t < keep * 33)
		out[t] = acc;
}

K(wait_others)
{
	__shared__ float s[T];
	BEGIN
	s[t] = in[t];
	float v = s[OTHER];
	__syncwarp();
	__nanosleep(10);
	unsigned who = __ballot_sync(~0u, t > 5);
	if (who >> (t % 32) & keep)
		out[t] = v;
}

#define WAITS                                                                                      \
	TWIN(wait_volatile), ONE(wait_atomic), TWIN(wait_barrier), TWIN(wait_inner_loop),          \
		TWIN(wait_others),
