/*
 * planted.cu - kernels whose race happens at some executions only.
 *
 *	planted list                          their names
 *	planted GRADE NAMES [fixed] [big]     runs these ("all", or names and commas)
 *
 * An execution is a block's turn of the kernel's loop (planted.h). GRADE says which are hit: 0 all of
 * every second block, 1 one of 1,024, 2 one of 10,240 (big: of 1,048,576), 3 one of 1,024 with 4,000
 * turns of an empty loop between what races, 4 those of 0 in the last of 1,000 launches, 5 all of one
 * block of 1,024. fixed: none.
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "blocks.h"
#include "grids.h"

template <class K> __global__ void planted(plan p)
{
	int sum = 0;

	for (int i = 0; i < p.turns; i++)
		K::turn(p, i, is_hit(p, i), sum);
	p.sink[ME] = sum;
}

static const struct {
	int blocks, turns, launches;
} grades[GRADES] = { /* in the order of enum grade */
	{64, 16, 1}, {64, 16, 1}, {160, 64, 1}, {64, 16, 1}, {4, 2, 1000}, {1024, 2, 1}};

template <class E> static void make(E **at, size_t n)
{
	cudaMalloc(at, n * sizeof(E));
	cudaMemset(*at, 0, n * sizeof(E));
}

template <class K> static void run(plan p, int launches)
{
	size_t n = (size_t)p.blocks * THREADS;

	make(&p.a, n);
	make(&p.b, n);
	make(&p.sink, n);
	make(&p.bytes, n);
	make(&p.halves, n);
	make(&p.count, p.blocks + TURNS);
	for (; p.launch < launches; p.launch++) {
		p.is_last = p.launch == launches - 1;
		planted<K><<<p.blocks, THREADS>>>(p);
	}
	cudaDeviceSynchronize();
	cudaFree(p.a);
	cudaFree(p.b);
	cudaFree(p.sink);
	cudaFree(p.bytes);
	cudaFree(p.halves);
	cudaFree(p.count);
}

static const struct {
	const char *name;
	void (*run)(plan, int);
} kernels[] = {
#define KERNEL(name) {#name, run<name>},
	KERNEL(tile_kept) KERNEL(tile_early) KERNEL(lanes) KERNEL(reduction_step)
	KERNEL(wrong_buffer) KERNEL(tree) KERNEL(warp_tail) KERNEL(scan) KERNEL(scan_totals)
	KERNEL(transpose) KERNEL(gemm) KERNEL(halo) KERNEL(in_place) KERNEL(path)
	KERNEL(wavefront) KERNEL(bins) KERNEL(bins_cleared) KERNEL(bins_read) KERNEL(bitonic)
	KERNEL(odd_even) KERNEL(votes) KERNEL(broadcast) KERNEL(done) KERNEL(queue)
	KERNEL(queue_end) KERNEL(compact) KERNEL(pivot) KERNEL(dot) KERNEL(scratch) KERNEL(named)
	KERNEL(async_early) KERNEL(async_reuse) KERNEL(reverse) KERNEL(shift)
	KERNEL(exchange_global) KERNEL(element_written) KERNEL(element_read) KERNEL(other_array)
	KERNEL(byte) KERNEL(half) KERNEL(vector) KERNEL(off_by_one) KERNEL(chunk) KERNEL(stencil)
	KERNEL(gather) KERNEL(counter) KERNEL(block_atomic) KERNEL(counter_read) KERNEL(column)
	KERNEL(maximum) KERNEL(bitmap) KERNEL(visited) KERNEL(relax) KERNEL(hash_insert)
	KERNEL(hash_value) KERNEL(lock_missing) KERNEL(lock_wrong) KERNEL(lock_early)
	KERNEL(flag_no_fence) KERNEL(flag_narrow) KERNEL(flag_weak) KERNEL(flag_late)
	KERNEL(reader_no_fence) KERNEL(reader_early) KERNEL(others_data) KERNEL(last_block)
};

static bool is_wanted(const char *names, const char *name)
{
	size_t n = strlen(name);

	if (!strcmp(names, "all"))
		return true;
	for (const char *p = names; (p = strstr(p, name)); p += n)
		if ((p == names || p[-1] == ',') && (!p[n] || p[n] == ','))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	plan p = {};

	if (argc < 3) {
		for (const auto &k : kernels)
			puts(k.name);
		return 0;
	}
	p.grade = atoi(argv[1]) % GRADES;
	p.blocks = grades[p.grade].blocks;
	p.turns = grades[p.grade].turns;
	for (int i = 3; i < argc; i++) {
		p.is_fixed |= !strcmp(argv[i], "fixed");
		if (p.grade == GRADE_RARE && !strcmp(argv[i], "big"))
			p.blocks = 16384;
	}
	for (const auto &k : kernels)
		if (is_wanted(argv[2], k.name))
			k.run(p, grades[p.grade].launches);
	printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
	return cudaGetLastError() != cudaSuccess;
}
