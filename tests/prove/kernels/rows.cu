// Rows and planes whose sizes are parameters: as long as nothing wraps, and its twins.
#define SIZES(w, h, n)                                                                             \
	__requires(w >= 0);                                                                        \
	__requires(h >= 0);                                                                        \
	__requires((long)w * h <= 2147483647);                                                     \
	__requires((long)w * h * n <= 2147483647)

// prove: planes race-free --block-dim=16,16 --grid-dim=7,7,8
__global__ void planes(float *out, const float *in, int w, int h)
{
	SIZES(w, h, 8);
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < w && y < h)
		out[(blockIdx.z * h + y) * w + x] = in[x];
}

// The pitch is the number of rows.
// prove: planes_turned potential racy --block-dim=16,16 --grid-dim=7,7,8
__global__ void planes_turned(float *out, const float *in, int w, int h)
{
	SIZES(w, h, 8);
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x < w && y < h)
		out[(blockIdx.z * h + y) * h + x] = in[x];
}

// One column too many.
// prove: planes_wide true --block-dim=16,16 --grid-dim=7,7,8
__global__ void planes_wide(float *out, const float *in, int w, int h)
{
	SIZES(w, h, 8);
	int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
	if (x <= w && y < h)
		out[(blockIdx.z * h + y) * w + x] = in[x];
}

// prove: tiles race-free --block-dim=16,16 --grid-dim=4,4
__global__ void tiles(float *out, int w)
{
	__requires(w >= 64 && w <= 8192);
	out[w * 16 * blockIdx.y + 16 * blockIdx.x + w * threadIdx.y + threadIdx.x] = 1;
}

// Rows of three tiles for four of them.
// prove: tiles_narrow true --block-dim=16,16 --grid-dim=4,4
__global__ void tiles_narrow(float *out, int w)
{
	__requires(w >= 48 && w <= 8192);
	out[w * 16 * blockIdx.y + 16 * blockIdx.x + w * threadIdx.y + threadIdx.x] = 1;
}

// Rows behind the one that is read.
// prove: below race-free --block-dim=64 --grid-dim=4
__global__ void below(float *a, int n, int t)
{
	__requires(n >= 0 && t >= 0 && (long)n * n <= 2147483647);
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n - 1 - t)
		a[n * (i + t + 1) + t] = a[n * t + t];
}

// ... with that row itself.
// prove: below_and_own true --block-dim=64 --grid-dim=4
__global__ void below_and_own(float *a, int n, int t)
{
	__requires(n >= 0 && t >= 0 && (long)n * n <= 2147483647);
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n - t)
		a[n * (i + t) + t] = a[n * t + t];
}

// A thread's rows lie between those of its neighbours: a counter is a part of the row's number.
// prove: strips race-free --block-dim=16,8 --grid-dim=12,3
__global__ void strips(float *a, int pitch)
{
	__requires(pitch >= 192 && pitch <= 1048576);
	a += (blockIdx.y * 64 + threadIdx.y) * pitch + blockIdx.x * 16 + threadIdx.x;
	for (int i = 0; i < 8; i++)
		a[i * 8 * pitch] = i;
}

// One row too many.
// prove: strips_high true --block-dim=16,8 --grid-dim=12,3
__global__ void strips_high(float *a, int pitch)
{
	__requires(pitch >= 192 && pitch <= 1048576);
	a += (blockIdx.y * 64 + threadIdx.y) * pitch + blockIdx.x * 16 + threadIdx.x;
	for (int i = 0; i < 9; i++)
		a[i * 8 * pitch] = i;
}

// The last row first; columns from the right.
// prove: upwards race-free --block-dim=16,8 --grid-dim=8,4
__global__ void upwards(float *a, int n, int pitch)
{
	__requires(n >= 32 && n <= 1024 && pitch >= 128 && pitch <= 65536);
	int y = blockIdx.y * 8 + threadIdx.y, x = blockIdx.x * 16 + threadIdx.x;
	a[(n - 1 - y) * pitch + 127 - x] = 1;
}

// prove: upwards_narrow true --block-dim=16,8 --grid-dim=8,4
__global__ void upwards_narrow(float *a, int n, int pitch)
{
	__requires(n >= 32 && n <= 1024 && pitch >= 127 && pitch <= 65536);
	int y = blockIdx.y * 8 + threadIdx.y, x = blockIdx.x * 16 + threadIdx.x;
	a[(n - 1 - y) * pitch + 127 - x] = 1;
}

// Up in one index, down in the other.
// prove: crossed true --block-dim=16,8 --grid-dim=8,4
__global__ void crossed(float *a, int n, int pitch)
{
	__requires(n >= 32 && n <= 1024 && pitch >= 128 && pitch <= 65536);
	int y = blockIdx.y * 8 + threadIdx.y, x = blockIdx.x * 16 + threadIdx.x;
	a[(n - 1 - y) * pitch + x] = 1;
	a[y * pitch + x] = 1;
}

// The first tile of rows is read, those below it are written.
// prove: rows_below race-free --block-dim=16,16 --grid-dim=8
__global__ void rows_below(float *a, int pitch)
{
	__requires(pitch >= 16 && pitch <= 65536);
	a[((blockIdx.x + 1) * 16 + threadIdx.y) * pitch + threadIdx.x] = a[threadIdx.y * pitch + threadIdx.x];
}

// prove: rows_within true --block-dim=16,16 --grid-dim=8
__global__ void rows_within(float *a, int pitch)
{
	__requires(pitch >= 16 && pitch <= 65536);
	a[((blockIdx.x + 1) * 15 + threadIdx.y) * pitch + threadIdx.x] = a[threadIdx.y * pitch + threadIdx.x];
}

// Tiles of a diagonal, each further right and up than the one before; what lies above a tile is
// read. That is nobody's tile, as neither rows nor columns alone say.
#define DIAGONAL(width)                                                                            \
	__requires(cols >= 257 && cols <= 8192 && i >= 1 && i <= 8192);                            \
	int bx = blockIdx.x, at = cols * 16 * (i - 1 - bx) + width * bx + threadIdx.x + 1;         \
	int up = a[at];                                                                            \
	for (int y = 1; y <= 16; y++)                                                              \
	a[at + y * cols] = up

// prove: diagonal race-free --block-dim=16 --grid-dim=16
__global__ void diagonal(int *a, int cols, int i)
{
	DIAGONAL(16);
}

// prove: diagonal_narrow true --block-dim=16 --grid-dim=16
__global__ void diagonal_narrow(int *a, int cols, int i)
{
	DIAGONAL(15);
}

// Planes of a pixel, nine for each, which two loops put down; the thread's first pixel is a sum.
#define PLANES(step)                                                                               \
	__requires(w >= 1 && h >= 1 && (long)w * h <= 65536 && n <= 100000);                       \
	for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) {                \
		int x = i % w, t = i / w, y = t % h, c = t / h;                                    \
		float *p = out + (c * step * h + y) * w + x;                                       \
		for (int k = 0; k < 3; k++)                                                        \
			for (int j = 0; j < 3; j++, p += h * w)                                    \
				*p = i;                                                            \
	}

// prove: put_down race-free --block-dim=256 --grid-dim=64
__global__ void put_down(float *out, int n, int h, int w)
{
	PLANES(9)
}

// prove: put_near true racy --block-dim=256 --grid-dim=64
__global__ void put_near(float *out, int n, int h, int w)
{
	PLANES(8)
}

// ---- two bands, one behind the other: who writes past a band's last row is in the next one
#define BAND 16 /* columns */

struct band {
	int next, end, stride;

	__device__ void open(int first, int rows)
	{
		int x = (int)threadIdx.x, at = x / 2 + (x & 1) * BAND * rows;
		bool is_in = x < 2 * BAND;
		next = is_in ? at + BAND * first : 0;
		end = is_in ? at + BAND * rows : 0;
		stride = is_in ? BAND : 0;
	}
	__device__ void put(int *out, bool looks)
	{
		if (!looks || next != end) {
			out[next] = 1;
			next += stride;
		}
	}
};

// prove: band_ends race-free --block-dim=64 --grid-dim=1,3
__global__ void band_ends(int *out)
{
	band w;
	w.open(24 * (int)blockIdx.y, 64);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 8; i++)
			w.put(out, true);
}
// Blocks that begin behind the end never come to it.
// prove: band_behind true racy --block-dim=64 --grid-dim=1,4
__global__ void band_behind(int *out)
{
	band w;
	w.open(24 * (int)blockIdx.y, 64);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 8; i++)
			w.put(out, true);
}
// One row in two, from the second on: the end is another row.
// prove: band_skips true racy --block-dim=64 --grid-dim=1,2
__global__ void band_skips(int *out)
{
	band w;
	w.open(48 * (int)blockIdx.y + 1, 64);
	w.stride *= 2;
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 8; i++)
			w.put(out, true);
}
// prove: band_two_a_look race-free --block-dim=64 --grid-dim=1,3
__global__ void band_two_a_look(int *out)
{
	band w;
	w.open(24 * (int)blockIdx.y, 64);
	for (int k = 0; k < 12; k++)
		if (w.next != w.end)
			for (int i = 0; i < 2; i++)
				w.put(out, false);
}
// The end is after the first of the two.
// prove: band_two_a_late_look true racy --block-dim=64 --grid-dim=1,3
__global__ void band_two_a_late_look(int *out)
{
	band w;
	w.open(24 * (int)blockIdx.y, 63);
	for (int k = 0; k < 12; k++)
		if (w.next != w.end)
			for (int i = 0; i < 2; i++)
				w.put(out, false);
}
// A row between two loops isn't looked at, and is the end.
// prove: band_hops true racy --block-dim=64 --grid-dim=1,3
__global__ void band_hops(int *out)
{
	band w;
	w.open(27 * (int)blockIdx.y, 62);
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 8; i++)
			w.put(out, true);
		w.next += w.stride;
	}
}
// prove: band_looks_away true racy --block-dim=64 --grid-dim=1,3
__global__ void band_looks_away(int *out)
{
	band w;
	w.open(24 * (int)blockIdx.y, 64);
	for (int k = 0; k < 3; k++)
		for (int i = 0; i < 8; i++)
			w.put(out, i & 1);
}
// prove: band_after_all true racy --block-dim=64 --grid-dim=1,3
__global__ void band_after_all(int *out)
{
	band w;
	w.open(24 * (int)blockIdx.y, 64);
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 8; i++)
			w.put(out, true);
		w.end += BAND;
	}
}
