/*
 * strides.cu - loops that take every so-manieth row: what an iteration that goes on says of the next
 * one's row, and what is chosen within a row by conditions on memory.
 */

// ---- the loop's end bounds the row: block b has rows b * 2048 to b * 2048 + 2047

#define OWN_ROWS(rows, width, place)                                                                           \
	int i = threadIdx.x;                                                                                   \
	do {                                                                                                   \
		int x = in[i], at = 0;                                                                         \
		for (int j = 0; j < n; j++) {                                                                  \
			int y = in[j], pick = (y > x) * 8 + (y > 2 * x) * 4 + (y > 3 * x) * 2;                 \
			if (y < at)                                                                            \
				out[(blockIdx.x * 2048 + i) * width + place] = j;                              \
			at = y;                                                                                \
		}                                                                                              \
		i += 512;                                                                                      \
	} while (i < rows)

// prove: own_rows race-free --block-dim=512 --grid-dim=8
__global__ void own_rows(int *out, const int *in, int n) { OWN_ROWS(2048, 16, pick + 1); }
// prove: just_apart race-free --block-dim=512 --grid-dim=8
__global__ void just_apart(int *out, const int *in, int n) { OWN_ROWS(2048, 15, pick + 1); }
// The last place is the next row's first one.
// prove: next_row potential racy --block-dim=512 --grid-dim=8
__global__ void next_row(int *out, const int *in, int n) { OWN_ROWS(2048, 14, pick + 1); }
// Row 2048 is the next block's first one.
// prove: one_row_more potential racy --block-dim=512 --grid-dim=8
__global__ void one_row_more(int *out, const int *in, int n) { OWN_ROWS(2049, 16, pick + 1); }

// ---- an iteration is the first one, or the one before went on

// prove: ends_behind race-free --block-dim=256 --grid-dim=4
__global__ void ends_behind(int *out)
{
	int i = threadIdx.x;
	do {
		out[blockIdx.x * 1000 + i] = i;
		i += 256;
	} while (i < 1000);
}
// prove: ends_too_late true racy --block-dim=256 --grid-dim=4
__global__ void ends_too_late(int *out)
{
	int i = threadIdx.x;
	do {
		out[blockIdx.x * 1000 + i] = i;
		i += 256;
	} while (i <= 1000);
}
// The first iteration isn't bound by the end.
// prove: starts_late true racy --block-dim=256 --grid-dim=4
__global__ void starts_late(int *out)
{
	int i = threadIdx.x;
	do {
		out[blockIdx.x * 200 + i] = i;
		i += 256;
	} while (i < 200);
}
// The test is of the number that this iteration had, not of the next one's.
// prove: tests_the_last race-free --block-dim=256 --grid-dim=4
__global__ void tests_the_last(int *out)
{
	int i = threadIdx.x, now;
	do {
		out[blockIdx.x * 1256 + i] = i;
		now = i;
		i += 256;
	} while (now < 1000);
}
// prove: tests_the_last_racy true racy --block-dim=256 --grid-dim=4
__global__ void tests_the_last_racy(int *out)
{
	int i = threadIdx.x, now;
	do {
		out[blockIdx.x * 1000 + i] = i;
		now = i;
		i += 256;
	} while (now < 1000);
}
// Down, too.
// prove: goes_down race-free --block-dim=256 --grid-dim=4
__global__ void goes_down(int *out)
{
	int i = threadIdx.x + 768;
	do {
		out[blockIdx.x * 1024 + i] = i;
		i -= 256;
	} while (i >= 0);
}
// prove: goes_below true racy --block-dim=256 --grid-dim=4
__global__ void goes_below(int *out)
{
	int i = threadIdx.x + 768;
	do {
		out[blockIdx.x * 1024 + 1024 + i] = i;
		i -= 256;
	} while (i >= -256);
}

// ---- a race that is seen at once, behind more pairs on places from memory than there is time for

#define MANY_PLACES(own)                                                                                       \
	__shared__ int s[256];                                                                                 \
	int t = threadIdx.x;                                                                                   \
	ADD8(0) ADD8(8) ADD8(16) ADD8(24) s[own] = t; __syncthreads();                                         \
	out[t] = s[t];
#define ADD(k)	p[at[t + (k) * 256] + (k)] += at[t] * (k);
#define ADD8(k) ADD(k) ADD(k + 1) ADD(k + 2) ADD(k + 3) ADD(k + 4) ADD(k + 5) ADD(k + 6) ADD(k + 7)

// prove: behind_many_apart unproven free --block-dim=256 --grid-dim=1 --prove-timeout=1
__global__ void behind_many_apart(int *p, const int *at, int *out) { MANY_PLACES(t) }
// prove: behind_many true racy --block-dim=256 --grid-dim=1 --prove-timeout=1
__global__ void behind_many(int *p, const int *at, int *out) { MANY_PLACES(t / 2) }
