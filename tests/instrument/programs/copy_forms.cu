// copy_forms.cu - cp.async in every form: sizes, src-size from 0 to all, ignore-src with a pointer to
// nowhere. Each copied byte and each zero is compared on the host, so a dirty value that stayed would
// show. -DRACY: the copies are not waited for, so they race with the next round, too.
// expect: clobbered-read at use
// also built, in soak: --inline-checks=0

#include "example.h"

static const int BLOCKS = 4;
static const int THREADS = 64;
static const int ROUNDS = 12;
static const int WORDS = 4;

#ifdef RACY
#define WAIT()
#else
#define WAIT() asm volatile("cp.async.wait_all;" ::: "memory")
#endif

#define SMEM(p) ((unsigned)__cvta_generic_to_shared(p))
#define GMEM(p) (__cvta_generic_to_global(p))
#define COPY(n, to, from)                                                                          \
	asm volatile("cp.async.ca.shared.global [%0], [%1], " #n ";" ::"r"(SMEM(to)),              \
		     "l"(GMEM(from))                                                               \
		     : "memory")
#define COPY_SIZE(n, to, from, size)                                                               \
	asm volatile("cp.async.ca.shared.global [%0], [%1], " #n ", %2;" ::"r"(SMEM(to)),          \
		     "l"(from), "r"(size)                                                          \
		     : "memory")
#define COPY_IGNORE(n, to, from, ignore)                                                           \
	asm volatile("{.reg .pred p; setp.ne.u32 p, %2, 0;\n"                                      \
		     "cp.async.ca.shared.global [%0], [%1], " #n ", p;}" ::"r"(SMEM(to)),          \
		     "l"(from), "r"(ignore)                                                        \
		     : "memory")

__global__ void forms(const unsigned *in, unsigned *out)
{
	__shared__ __align__(16) unsigned tile[THREADS][WORDS];
	int t = threadIdx.x, i = (blockIdx.x * THREADS + t) * WORDS;
	unsigned *to = tile[t];

	for (int r = 0; r < ROUNDS; r++) {
		unsigned size = (t + r) % 17;
		const unsigned *from = in + i;
		unsigned long long g = (unsigned long long)GMEM(from);

		for (int w = 0; w < WORDS; w++)
			to[w] = 0x11111111u * r; // race: copy
		switch (r % 6) {
		case 0:
			COPY(16, to, from); // race: copy
			break;
		case 1:
			COPY(8, to, from);	   // race: copy
			COPY(4, to + 2, from + 2); // race: copy
			if (t % 2)
				COPY(4, to + 3, from + 3); // race: copy
			break;
		case 2:					       // any size, also no multiple of 4
			COPY_SIZE(16, to, size ? g : 8, size); // race: copy
			break;
		case 3:
			COPY_SIZE(8, to, g, t % 3 * 4); // race: copy
			COPY_SIZE(8, to + 2, g + 8, 8); // race: copy
			break;
		case 4:
			COPY_IGNORE(16, to, t % 2 ? 16 : g, t % 2); // race: copy
			break;
		case 5:
			COPY_SIZE(4, to, g, 4 * (t % 2)); // race: copy
			COPY_IGNORE(4, to + 1, g + 4, 0); // race: copy
			COPY_IGNORE(8, to + 2, 8ull, 1);  // race: copy
			break;
		}
		WAIT();
		for (int w = 0; w < WORDS; w++)
			out[r * BLOCKS * THREADS * WORDS + i + w] = to[w]; // race: use
	}
}

/* What byte b of lane t's 16 must be: of the source, zero, or what was there before. */
static unsigned char want_byte(const unsigned char *in, int r, int t, int b)
{
	int size = (t + r) % 17;
	bool copied = true, kept = false;

	switch (r % 6) {
	case 1:
		kept = b >= 12 && t % 2 == 0;
		break;
	case 2:
		copied = b < size;
		break;
	case 3:
		copied = b >= 8 || b < t % 3 * 4;
		break;
	case 4:
		copied = t % 2 == 0;
		break;
	case 5:
		copied = b < 8 && (b >= 4 || t % 2);
		break;
	}
	return kept ? (unsigned char)(0x11 * r) : copied ? in[b] : 0;
}

int main()
{
	size_t n = (size_t)BLOCKS * THREADS * WORDS;
	std::vector<unsigned> in(n), want(n * ROUNDS), got;
	uint32_t seed = 7;

	for (unsigned &x : in)
		x = example_random(&seed);
	for (int r = 0; r < ROUNDS; r++)
		for (size_t lane = 0; lane < n / WORDS; lane++)
			for (int b = 0; b < 16; b++)
				((unsigned char *)&want[r * n + lane * WORDS])[b] =
					want_byte((unsigned char *)&in[lane * WORDS], r,
						  (int)(lane % THREADS), b);
	unsigned *d_in = example_upload(in), *d_out = example_upload(want);
	forms<<<BLOCKS, THREADS>>>(d_in, d_out);
	CHECK(cudaGetLastError());
	got = example_download(d_out, want.size());
	return example_finish(got == want, example_checksum(got));
}
