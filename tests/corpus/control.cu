// Indirect and virtual calls, recursion, a dense switch (brx.idx), loops with many exits.
struct shape {
	__device__ virtual float area(float x) const = 0;
	__device__ virtual ~shape()
	{
	}
};
struct square : shape {
	__device__ float area(float x) const override
	{
		return x * x;
	}
};
struct circle : shape {
	float k = 3.14159f;
	__device__ float area(float x) const override
	{
		return k * x * x;
	}
};

typedef float (*binary)(float, float);
__device__ __noinline__ float add(float a, float b)
{
	return a + b;
}
__device__ __noinline__ float mul(float a, float b)
{
	return a * b;
}
__device__ binary ops[2] = {add, mul};

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
	if (m == 0)
		return n + 1;
	return n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1));
}

struct big {
	double v[5];
	char c;
};
__device__ __noinline__ big by_value(big b, short s)
{
	b.v[s & 3] += b.c;
	return b;
}

__device__ __noinline__ unsigned decode(unsigned op, unsigned v)
{
	switch (op) {
	case 0:
		return v + 1;
	case 1:
		return v * 7 + op;
	case 2:
		return v ^ 0x5a5a;
	case 3:
		return v >> 3;
	case 4:
		return __brev(v);
	case 5:
		return v / 10;
	case 6:
		return __popc(v);
	case 7:
		return v % 13;
	case 8:
		return v << 2 | v >> 30;
	case 9:
		return ~v;
	case 10:
		return __clz(v);
	default:
		return 0;
	}
}

__global__ void calls(float *out, unsigned *codes, int n)
{
	int i = threadIdx.x;
	square s;
	circle c;
	const shape *p = i % 2 ? (const shape *)&s : (const shape *)&c;
	big b = {{1, 2, 3, 4, 5}, 6};
	float v = p->area(out[i]) + ops[n & 1](out[i], 2.0f);

	v += (float)by_value(b, (short)n).v[2] + ackermann(2, i % 3);
	for (int k = 0; k < n; k++) {
		unsigned x = decode(codes[k], k);

		codes[k] = x;
		if (x == 77)
			goto out;
		if (x % 16 == 3)
			continue;
		if (x % 16 == 9)
			break;
		v += x;
	}
	v *= 2;
out:
	out[i] = v;
}
