// beside.cu - launches of a kernel that is proven, beside what accesses its memory while they run.
//
//     beside FORM [ROUNDS]
//
// Each form races; with "_apart" behind its name it does the same to other elements, or in an order
// that makes it none. Whether a launch is proven or checked, the race must be found and the twin must
// not (beside.sh). Exit code 77: this device can't do it. The proof of `add` is about one launch.
#include <cstdio>
#include <cstdlib>
#include <cstring>

static const int BLOCKS = 32, THREADS = 128, N = BLOCKS * THREADS;
static int rounds = 2000;
static bool is_apart;

#define TRY(call)                                                                                  \
	do {                                                                                       \
		cudaError_t e_ = (call);                                                           \
		if (e_ == cudaErrorNotSupported) {                                                 \
			printf("%s: not supported\n", #call);                                      \
			exit(77);                                                                  \
		}                                                                                  \
		if (e_ != cudaSuccess) {                                                           \
			printf("%s: %s\n", #call, cudaGetErrorString(e_));                         \
			exit(2);                                                                   \
		}                                                                                  \
	} while (0)

// Each round loads and stores: nothing stays in a register.
template <int STEP> __global__ void add(int *p, int from, int v, int rounds)
{
	int i = (blockIdx.x * blockDim.x + threadIdx.x) * STEP + from;

	for (int r = 0; r < rounds; r++) {
		p[i] = p[i] + v;
		asm volatile("" ::: "memory");
	}
}

// The next launch may begin while this one goes on.
__global__ void add_first(int *p, int v, int rounds)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

#if __CUDA_ARCH__ >= 900
	asm volatile("griddepcontrol.launch_dependents;");
#endif
	for (int r = 0; r < rounds; r++) {
		p[i] = p[i] + v;
		asm volatile("" ::: "memory");
	}
}

__global__ void add_second(int *p, int v, int rounds, int waits)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;

#if __CUDA_ARCH__ >= 900
	if (waits)
		asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
	for (int r = 0; r < rounds; r++) {
		p[i] = p[i] + v;
		asm volatile("" ::: "memory");
	}
}

// Where off isn't 0 the first array's accesses are to the second one.
__global__ void slip(int *out, int off, int rounds)
{
	__shared__ int a[THREADS], b[THREADS];
	int t = threadIdx.x;

	a[t] = b[t] = 0;
	__syncthreads();
	for (int r = 0; r < rounds; r++) {
		a[t + off] = a[t + off] + 1;
		b[THREADS - 1 - t] = b[THREADS - 1 - t] + 2;
		asm volatile("" ::: "memory");
	}
	__syncthreads();
	out[blockIdx.x * THREADS + t] = a[t] + b[t];
}

static int *zeros(size_t n)
{
	int *p;

	TRY(cudaMalloc(&p, n * sizeof(int)));
	TRY(cudaMemset(p, 0, n * sizeof(int)));
	TRY(cudaDeviceSynchronize()); /* streams don't wait for it */
	return p;
}

static cudaStream_t stream()
{
	cudaStream_t s;

	TRY(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
	return s;
}

static void two_streams(int *p)
{
	cudaStream_t s = stream(), t = stream();

	/* What ran in the default stream before is at its end. */
	TRY(cudaDeviceSynchronize());
	if (is_apart) {
		add<2><<<BLOCKS, THREADS, 0, s>>>(p, 0, 1, rounds);
		add<2><<<BLOCKS, THREADS, 0, t>>>(p, 1, 2, rounds);
	} else {
		add<1><<<BLOCKS, THREADS, 0, s>>>(p, 0, 1, rounds);
		add<1><<<BLOCKS, THREADS, 0, t>>>(p, 0, 2, rounds);
	}
}

// The streams come when launches have run as proven ones.
static void late(int *p)
{
	for (int i = 0; i < 20; i++) {
		add<1><<<BLOCKS, THREADS>>>(p, 0, 1, 2);
		add<2><<<BLOCKS, THREADS>>>(p, 0, 1, 2);
	}
	two_streams(p);
}

static void slip_form(int *p)
{
	for (int i = 0; i < 3; i++)
		slip<<<BLOCKS, THREADS>>>(p, is_apart ? 0 : THREADS, rounds);
}

// Freed in another stream than it is used in, and allocated again there.
static void reuse(int *)
{
	cudaStream_t s = stream(), t = stream();
	cudaEvent_t e;
	int *p, *q;

	TRY(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
	TRY(cudaMallocAsync(&p, N * sizeof(int), s));
	TRY(cudaStreamSynchronize(s));
	add<1><<<BLOCKS, THREADS, 0, s>>>(p, 0, 1, rounds);
	TRY(cudaEventRecord(e, s));
	if (is_apart)
		TRY(cudaStreamWaitEvent(t, e, 0));
	TRY(cudaFreeAsync(p, t));
	TRY(cudaMallocAsync(&q, N * sizeof(int), t));
	if (p != q)
		exit(77);
	add<1><<<BLOCKS, THREADS, 0, t>>>(q, 0, 2, rounds);
}

// The host writes while the launch runs, what it writes or the other half: once before it asks
// whether the launch is over, which would order what comes after.
static void host_writes(int *m)
{
	static volatile int *v;
	cudaStream_t s = stream();
	int r = 0;

	for (int i = 0; i < 2 * N; i++)
		m[i] = 0;
	v = m + (is_apart ? N : 0);
	add<1><<<BLOCKS, THREADS, 0, s>>>(m, 0, 1, 4 * rounds);
	do
		for (int i = 0; i < N; i += 7)
			v[i] = r << 16;
	while (r++ < 200000 && cudaStreamQuery(s) == cudaErrorNotReady);
	TRY(cudaStreamSynchronize(s));
}

static void managed(int *)
{
	int can = 0, *m;

	TRY(cudaDeviceGetAttribute(&can, cudaDevAttrConcurrentManagedAccess, 0));
	if (!can)
		exit(77);
	TRY(cudaMallocManaged(&m, 2 * N * sizeof(int)));
	host_writes(m);
}

static void pinned(int *)
{
	int *m;

	TRY(cudaMallocHost(&m, 2 * N * sizeof(int)));
	host_writes(m);
}

static void graph(int *p)
{
	cudaGraph_t g;
	cudaGraphExec_t e;
	int from[2] = {0, is_apart}, v[2] = {1, 2};

	TRY(cudaGraphCreate(&g, 0));
	for (int i = 0; i < 2; i++) {
		void *args[] = {&p, &from[i], &v[i], &rounds};
		cudaKernelNodeParams k = {};
		cudaGraphNode_t node;
		k.func = is_apart ? (void *)add<2> : (void *)add<1>;
		k.gridDim = BLOCKS;
		k.blockDim = THREADS;
		k.kernelParams = args;
		TRY(cudaGraphAddKernelNode(&node, g, NULL, 0, &k));
	}
	TRY(cudaGraphInstantiate(&e, g, 0));
	for (int i = 0; i < 3; i++)
		TRY(cudaGraphLaunch(e, stream()));
	TRY(cudaDeviceSynchronize());
}

static void programmatic(int *p)
{
	cudaDeviceProp prop;
	cudaLaunchConfig_t c = {};
	cudaLaunchAttribute a = {};

	TRY(cudaGetDeviceProperties(&prop, 0));
	if (prop.major < 9)
		exit(77);
	a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	a.val.programmaticStreamSerializationAllowed = 1;
	c.gridDim = BLOCKS;
	c.blockDim = THREADS;
	c.attrs = &a;
	c.numAttrs = 1;
	for (int i = 0; i < 3; i++) {
		add_first<<<BLOCKS, THREADS>>>(p, 1, rounds);
		TRY(cudaLaunchKernelEx(&c, add_second, p, 2, rounds, (int)is_apart));
		TRY(cudaDeviceSynchronize());
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(int *);
	} forms[] = {{"streams", two_streams}, {"late", late},	     {"slip", slip_form},
		     {"reuse", reuse},	       {"managed", managed}, {"pinned", pinned},
		     {"graph", graph},	       {"programmatic", programmatic}};
	size_t n = argc > 1 ? strcspn(argv[1], "_") : 0;

	if (argc > 2)
		rounds = atoi(argv[2]);
	is_apart = n && !strcmp(argv[1] + n, "_apart");
	for (const auto &f : forms) {
		if (n != strlen(f.name) || strncmp(f.name, argv[1], n) != 0)
			continue;
		f.run(zeros(2 * N));
		TRY(cudaDeviceSynchronize());
		printf("%s\n", argv[1]);
		return 0;
	}
	return 2;
}
