// bfs.cu - breadth-first search, one launch per level. The length of the next frontier is counted
// without atomics, and two threads may find the same vertex unvisited.
// detector: collide
// expect collide: clobbered-read|lost-update|intra-warp|intra-warp-same at count
// expect collide: clobbered-read at visited
// expect oracle: unordered at count
// expect oracle: unordered at visited
// may: mark
// may: push
// never: edge
// seeds: 2
// twin: bfs.fixed.cu

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
		int v = edges[front[i] * DEGREE + k]; // quiet: edge

		if (level[v] < 0) {	   // race: visited
			level[v] = depth;  // race: mark
			int slot = *nnext; // race: count
			*nnext = slot + 1; // race: count
			next[slot] = v;	   // race: push
		}
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
	/* A race may push a vertex once per edge: room for that, so that it stays the only bug. */
	int *d_front = example_upload(std::vector<int>(edges.size()));
	int *d_next = example_upload(std::vector<int>(edges.size()));
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
