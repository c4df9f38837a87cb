/*
 * reader.c - host code that meets a kernel: reader MODE race|wait. Also compiled as C++.
 *
 * The kernel (kernel.cu) fills memory that the host reads, writes, copies or polls meanwhile; with
 * `wait` the host waits for it first. A line that races ends in the mode's name as a comment.
 */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N 4096u

#ifdef __cplusplus
extern "C"
#endif
	void
	start_fill(unsigned *data, unsigned n, cudaStream_t stream);

static void check(cudaError_t e)
{
	if (e == cudaSuccess)
		return;
	fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(e));
	exit(3);
}

static unsigned sum(const unsigned *data)
{
	unsigned s = 0;

	for (unsigned i = N; i-- > 0;)
		s += data[i]; /* race: read */
	return s;
}

static void scribble(unsigned *data)
{
	for (unsigned i = N; i-- > 0;)
		data[i] = 7; /* race: write */
}

static unsigned copied(const unsigned *data)
{
	static unsigned to[N];
	unsigned s = 0;

	memcpy(to, data, sizeof(to)); /* race: memcpy */
	for (unsigned i = 0; i < N; i++)
		s += to[i];
	return s;
}

static unsigned polled(volatile unsigned *data)
{
	unsigned tries = 0;

	while (data[0] == 0 && ++tries < 100000) /* race: volatile */
		(void)cudaStreamQuery(0);
	return data[0]; /* race: volatile */
}

static unsigned atomic(unsigned *data)
{
	unsigned tries = 0;

	while (__atomic_load_n(data, __ATOMIC_ACQUIRE) == 0 && ++tries < 100000)
		(void)cudaStreamQuery(0);
	return __atomic_load_n(data, __ATOMIC_ACQUIRE);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	unsigned *data, *pinned, *device, result = 0;
	cudaStream_t stream;

	check(cudaMallocManaged((void **)&data, N * sizeof(*data), cudaMemAttachGlobal));
	check(cudaHostAlloc((void **)&pinned, N * sizeof(*pinned), cudaHostAllocDefault));
	check(cudaMalloc((void **)&device, N * sizeof(*device)));
	check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
	memset(data, 0, N * sizeof(*data));
	memset(pinned, 0, N * sizeof(*pinned));
	if (!strcmp(mode, "copy")) {
		start_fill(device, N, stream);
		check(cudaMemcpyAsync(pinned, device, N * sizeof(*pinned), cudaMemcpyDeviceToHost,
				      stream));
	} else {
		start_fill(strcmp(mode, "pinned") ? data : pinned, N, stream);
	}
	if (argc > 2 && !strcmp(argv[2], "wait"))
		check(cudaStreamSynchronize(stream));
	if (!strcmp(mode, "read"))
		result = sum(data);
	else if (!strcmp(mode, "pinned") || !strcmp(mode, "copy"))
		result = sum(pinned);
	else if (!strcmp(mode, "write"))
		scribble(data);
	else if (!strcmp(mode, "memcpy"))
		result = copied(data);
	else if (!strcmp(mode, "volatile"))
		result = polled(data);
	else if (!strcmp(mode, "atomic"))
		result = atomic(data);
	check(cudaStreamSynchronize(stream));
	printf("%u\n", result);
	check(cudaFree(data));
	check(cudaFreeHost(pinned));
	return 0;
}
