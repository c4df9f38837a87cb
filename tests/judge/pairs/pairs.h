/*
 * pairs.h - programs of pairs: a racy kernel and its twin that is right, chosen by name.
 *
 * PROGRAM NAME runs the racy kernel of that name, PROGRAM NAME.fixed its twin, "all" and
 * "all.fixed" all of them in turn; without an argument it lists the names. Exit code 3: they ran,
 * so that it can be seen that the code is the program's own. Each kernel is a template of what
 * orders it: that is left out where ORDER is false.
 */
#include <cstdio>
#include <cstring>
#include <cstdint>
#include <cstdlib>
#include <cuda_runtime.h>

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		cudaError_t e_ = (x);                                                              \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%s: %s\n", #x, cudaGetErrorString(e_));                   \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

struct pair {
	const char *name;
	void (*racy)(), (*fixed)();
};

/* A grid's size: as on a GPU, or small (PAIRS_SMALL), for where all of it is executed. */
static inline int size(int large, int small)
{
	return getenv("PAIRS_SMALL") ? small : large;
}

template <typename T> static T *device(size_t n)
{
	T *p;

	CHECK(cudaMalloc(&p, n * sizeof(T)));
	CHECK(cudaMemset(p, 0, n * sizeof(T)));
	return p;
}

static int run_pairs(int argc, char **argv, const pair *pairs, size_t n)
{
	bool found = argc < 2;

	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(pairs[i].name);
		if (argc < 2) {
			puts(pairs[i].name);
			continue;
		}
		bool is_all = !strcmp(argv[1], "all"), is_fixed = !strcmp(argv[1], "all.fixed");
		bool is_this = !strncmp(argv[1], pairs[i].name, len);
		if (is_all || (is_this && !argv[1][len]))
			pairs[i].racy();
		else if (is_fixed || (is_this && !strcmp(argv[1] + len, ".fixed")))
			pairs[i].fixed();
		else
			continue;
		CHECK(cudaDeviceSynchronize());
		found = true;
	}
	return found ? 3 : 2;
}

#define PAIRS(...)                                                                                 \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		static const pair all[] = {__VA_ARGS__};                                           \
		return run_pairs(argc, argv, all, sizeof(all) / sizeof(*all));                     \
	}
#define PAIR(name)                                                                                 \
	{                                                                                          \
#name, name < false>, name < true>                                                 \
	}

static __device__ inline uint32_t smem(const void *p)
{
	return (uint32_t)__cvta_generic_to_shared(p);
}
