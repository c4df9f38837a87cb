// bfs.fixed.cu - a vertex is claimed by compare-and-swap, and the frontier is counted atomically.
// expect: nothing
// seeds: 2
// twin: bfs.cu

#include "example.h"

static const int VERTICES = 1 << 14;
static const int DEGREE = 8;
static const int THREADS = 128;
static const int ROUNDS = 10;

__global__ void expand(const int *edges, int *level, const int *front, int nfront, int *next,
		       int *nnext, int depth)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

	if (i >= nfront)
		return;
	for (int k = 0; k < DEGREE; k++) {
		int v = edges[front[i] * DEGREE + k];

		if (atomicCAS(&level[v], -1, depth) < 0)
			next[atomicAdd(nnext, 1)] = v;
	}
}

int main()
{
	std::vector<int> edges(VERTICES * DEGREE), want(VERTICES, -1), front(VERTICES), got;
	uint32_t seed = 5;
	int depth, nfront, zero = 0;

	for (int &e : edges)
		e = (int)(example_random(&seed) % VERTICES);
	int *d_edges = example_upload(edges);
	want[0] = 0;
	std::vector<int> start(want);
	int *d_level = example_upload(start);
	int *d_front = example_upload(front);
	int *d_next = example_upload(front);
	int *d_nnext = nullptr;
	CHECK(cudaMalloc(&d_nnext, sizeof(int)));
	for (size_t head = 0, tail = 1; head < tail; head++)
		for (int k = 0; k < DEGREE; k++) {
			int u = front[head], v = edges[u * DEGREE + k];

			if (want[v] < 0) {
				want[v] = want[u] + 1;
				front[tail++] = v;
			}
		}
	for (int round = 0; round < ROUNDS; round++) {
		CHECK(cudaMemcpy(d_level, start.data(), VERTICES * sizeof(int),
				 cudaMemcpyHostToDevice));
		CHECK(cudaMemcpy(d_front, &zero, sizeof(int), cudaMemcpyHostToDevice));
		depth = 0;
		nfront = 1;
		while (nfront > 0) {
			CHECK(cudaMemcpy(d_nnext, &zero, sizeof(int), cudaMemcpyHostToDevice));
			expand<<<(nfront + THREADS - 1) / THREADS, THREADS>>>(
				d_edges, d_level, d_front, nfront, d_next, d_nnext, ++depth);
			CHECK(cudaGetLastError());
			CHECK(cudaMemcpy(&nfront, d_nnext, sizeof(int), cudaMemcpyDeviceToHost));
			std::swap(d_front, d_next);
		}
	}
	got = example_download(d_level, VERTICES);
	CHECK(cudaFree(d_edges));
	CHECK(cudaFree(d_level));
	CHECK(cudaFree(d_front));
	CHECK(cudaFree(d_next));
	CHECK(cudaFree(d_nnext));
	return example_finish(got == want, example_checksum(got));
}
