// For -G builds: every variable in memory, DWARF sections, generic addresses everywhere.
struct point {
	float x, y;
	__device__ float dot(const point &o) const
	{
		return x * o.x + y * o.y;
	}
};

template <int N> __device__ float sum(const float (&a)[N])
{
	float s = 0;

	for (float v : a)
		s += v;
	return s;
}

__global__ void debugged(point *p, float *out, int n)
{
	__shared__ float tile[32];
	float local[4] = {1, 2, 3, 4};
	auto add = [&](float v) { return v + local[n & 3]; };
	int i = threadIdx.x;

	tile[i] = p[i].dot(p[(i + 1) % n]);
	__syncthreads();
	switch (n % 5) {
	case 0:
		local[0] = add(tile[31 - i]);
		break;
	case 1:
		local[1] = 5;
	case 2:
		local[2] -= 1;
		break;
	default:
		local[3] = sum(local);
	}
	out[i] = sum(local);
}
