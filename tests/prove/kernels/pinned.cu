/*
 * pinned.cu - parameters that an assumption gives a number: rows of a known pitch, as literals.
 *
 * Each kernel of the block 16 x 8 has an index in which the pitch is a factor. Written as a number
 * or pinned by __requires they are one kernel; a pitch that is too small races in either form.
 */

#define COLUMN (int)(blockIdx.x * 16 + threadIdx.x)
#define ROW    (int)(blockIdx.y * 8 + threadIdx.y)

// prove: row_number race-free --block-dim=16,8 --grid-dim=64,32
__global__ void row_number(float *y)
{
	y[ROW * 1024 + COLUMN] = 1.0f;
}

// prove: row_pinned race-free --block-dim=16,8 --grid-dim=64,32
__global__ void row_pinned(float *y, int pitch)
{
	__requires(pitch == 1024);
	y[ROW * pitch + COLUMN] = 1.0f;
}

// prove: row_short true --block-dim=16,8 --grid-dim=64,32
__global__ void row_short(float *y, int pitch)
{
	__requires(pitch == 1008);
	y[ROW * pitch + COLUMN] = 1.0f;
}

// prove: row_option race-free --block-dim=16,8 --grid-dim=64,32 --param=2=1024
// prove: row_option race-free --block-dim=16,8 --grid-dim=64,32 --assume=pitch==1024
// prove: row_option race-free --block-dim=16,8 --grid-dim=64,32 --assume=pitch>=1024&&pitch<=4096
// prove: row_option true --block-dim=16,8 --grid-dim=64,32 --param=2=512
__global__ void row_option(float *y, int pitch)
{
	y[ROW * pitch + COLUMN] = 1.0f;
}

// prove: both_parts race-free --block-dim=16,8 --grid-dim=64,32
__global__ void both_parts(float *y, int width, int height)
{
	__requires(width == 1024 && height == 256);
	for (int z = 0; z < 12; z++)
		y[(z * height + ROW) * width + COLUMN] = 1.0f;
}

// prove: both_numbers race-free --block-dim=16,8 --grid-dim=64,32
__global__ void both_numbers(float *y)
{
	for (int z = 0; z < 12; z++)
		y[(z * 256 + ROW) * 1024 + COLUMN] = 1.0f;
}

// prove: planes_short true --block-dim=16,8 --grid-dim=64,32
__global__ void planes_short(float *y, int width, int height)
{
	__requires(width == 1024 && height == 4);
	for (int z = 0; z < 12; z++)
		y[(z * height + ROW) * width + COLUMN] = 1.0f;
}

// prove: strips race-free --block-dim=16,8 --grid-dim=64,32
__global__ void strips(float *y, int pitch)
{
	__requires(pitch == 1024);
	int first = blockIdx.y * 32 + threadIdx.y;
	float *at = y + first * pitch + COLUMN;

	for (int i = 0; i < 4; i++)
		at[i * 8 * pitch] = 1.0f;
}

// prove: strips_meet true --block-dim=16,8 --grid-dim=64,32
__global__ void strips_meet(float *y, int pitch)
{
	__requires(pitch == 1024);
	int first = blockIdx.y * 32 + threadIdx.y;
	float *at = y + first * pitch + COLUMN;

	for (int i = 0; i < 5; i++)
		at[i * 8 * pitch] = 1.0f;
}

// prove: step_pinned race-free --block-dim=64 --grid-dim=16
__global__ void step_pinned(float *y, int width, int n)
{
	__requires(width == 1024);
	__requires(n == 1024);
	int x = blockIdx.x * blockDim.x + threadIdx.x;

	y[x] = 0.0f;
	for (int r = 1; r < n; r++)
		y[r * width + x] = 1.0f;
}

// prove: moved race-free --block-dim=64 --grid-dim=16
__global__ void moved(float *y, int width, int rows)
{
	__requires(width == 1024 && rows == 40);
	y += blockIdx.x * blockDim.x + threadIdx.x;
	for (int r = 0; r < rows; r++) {
		*y = 1.0f;
		y += width;
	}
}

// prove: low_half race-free --block-dim=16,8 --grid-dim=64,32
__global__ void low_half(float *y, unsigned pitch)
{
	__requires(pitch == 1024u);
	y[__umul24(ROW, pitch) + COLUMN] = 1.0f;
}

// prove: band race-free --block-dim=64 --grid-dim=1
__global__ void band(float *y, int k)
{
	__requires(k >= 64 && k < 128);
	y[threadIdx.x] = y[threadIdx.x + k];
}

// prove: band_open true --block-dim=64 --grid-dim=1
__global__ void band_open(float *y, int k)
{
	__requires(k >= 63 && k < 128);
	y[threadIdx.x] = y[threadIdx.x + k];
}

// What no thread can break is checked once, for the launch.
// prove: shared_word true --block-dim=64 --grid-dim=16,32
__global__ void shared_word(int *y, int width)
{
	__shared__ int s[64];

	__requires(width == 512);
	s[threadIdx.x] = width;
	y[(blockIdx.y * 16 + blockIdx.x) * 64 + threadIdx.x] = s[threadIdx.x ^ 1];
}

// prove: shared_bound true --block-dim=64 --grid-dim=16,32
__global__ void shared_bound(int *y, int a, int b)
{
	__shared__ int s[64];

	__requires(a > b && gridDim.x * a < 1000000 && b > 0);
	s[threadIdx.x] = a;
	y[(blockIdx.y * 16 + blockIdx.x) * 64 + threadIdx.x] = s[threadIdx.x ^ 1];
}

// an assumption about the thread may be broken by others: the launch above has too many to look at
// prove: own_thread potential racy --block-dim=64 --grid-dim=16,32
__global__ void own_thread(int *y, int a)
{
	__shared__ int s[64];

	__requires(threadIdx.x + a < 1000);
	s[threadIdx.x] = a;
	y[(blockIdx.y * 16 + blockIdx.x) * 64 + threadIdx.x] = s[threadIdx.x ^ 1];
}

// prove: excluded_now race-free excludes=1 --block-dim=64 --grid-dim=1
__global__ void excluded_now(int *y, int mode)
{
	__requires(mode == 2);
	y[threadIdx.x] = 1;
	if (mode == 1)
		y[0] = 2;
}

// prove: contradicts vacuous
__global__ void contradicts(int *y, int n)
{
	__requires(n > 4);
	__requires(n < 4);
	y[threadIdx.x / n] = 1;
}
