// Functions with branches of many forms, for flow_cases --built: compiled without optimisation each must be
// recognised, compiled with it none. The assembly is written as programs write it, with labels of its own.

struct two {
	int a, b;
};

__device__ int called(const int *p, int n)
{
	if (n < 0)
		return 0;
	return p[n] + (n ? p[0] : p[1]);
}

__global__ void branch(int *p, int c)
{
	int v = 0;
	if (c)
		v = p[1];
	__syncthreads();
	if (c)
		p[threadIdx.x + 8] = v;
}

__global__ void leave(int *p, int n)
{
	if (threadIdx.x >= n)
		return;
	p[threadIdx.x] = p[threadIdx.x + n];
}

__global__ void loop(int *p, int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++) {
		if (p[i] < 0)
			continue;
		sum += p[i];
		if (sum > 100)
			break;
	}
	while (p[n] != 5)
		;
	do
		sum += called(p, sum);
	while (sum < 7);
	p[n + 1] = sum;
}

__global__ void choose(two *p, int c)
{
	two v = c > 3 && p[0].a && p[1].b ? p[2] : p[3];
	switch (c) {
	case 0: v.a++; break;
	case 1: v.b = p[7].a; break;
	case 2: v.a = p[8].b; // on
	case 3: v.b += v.a; break;
	case 9: return;
	default: v.a = max(v.a, c ? p[5].a : 2);
	}
	p[4] = v;
}

__global__ void assembly(unsigned *p, int c)
{
	__shared__ unsigned s;
	if (c)
		s = 1;
	asm volatile("{\n .reg .pred %%q;\n .reg .b32 %%t;\nAGAIN:\n ld.volatile.shared.u32 %%t, [%0];\n"
		     " setp.ne.u32 %%q, %%t, 1;\n @%%q bra AGAIN;\n}" ::"l"(__cvta_generic_to_shared(&s)) : "memory");
	if (c > 1)
		p[threadIdx.x] = s;
}

// Nothing is left between its branches once it is optimised, and each of its ways ends by a return.
__global__ void ways(int *p, int c)
{
	if (c == 1) {
		p[1] = 1;
		return;
	}
	if (c == 2) {
		p[2] = 1;
		return;
	}
	p[3] = c;
}
