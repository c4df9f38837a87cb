// launches.cu - races of launches, copies and frees, with the words that advice must have and must
// not have.
#include <cuda_runtime.h>

// case streams by oracle unless hirace watch: cudaStreamWaitEvent\(\) not: __syncthreads, griddepcontrol, atomic
__global__ void streams_put(int *p)
{
	p[threadIdx.x] = (int)threadIdx.x;
}

__global__ void streams_take(int *p, int *q)
{
	q[threadIdx.x] = p[31 - threadIdx.x];
}

// case graph by oracle unless hirace watch: cudaGraphAddDependencies not: griddepcontrol, EventRecord
__global__ void graph_put(int *p)
{
	p[threadIdx.x] = (int)threadIdx.x;
}

__global__ void graph_take(int *p, int *q)
{
	q[threadIdx.x] = p[31 - threadIdx.x];
}

// case programmatic by oracle unless hirace watch: griddepcontrol\.wait not: Event, into one stream
__global__ void programmatic_put(int *p)
{
	asm volatile("griddepcontrol.launch_dependents;");
	p[threadIdx.x] = (int)threadIdx.x;
}

__global__ void programmatic_take(int *p, int *q)
{
	q[threadIdx.x] = p[31 - threadIdx.x];
}

// case copied by oracle unless hirace watch: copy into the kernel's stream not: __syncthreads, griddepcontrol, launch both
__global__ void copied(int *p)
{
	p[threadIdx.x] = 3;
}

// case freed by oracle unless hirace watch: free it in the stream that uses it last not: __syncthreads, griddepcontrol
__global__ void freed(int *p)
{
	p[threadIdx.x] = 4;
}

// case devices by oracle unless hirace watch: devices' streams need an order not: __syncthreads, into one stream
__global__ void devices_add(int *p)
{
	p[threadIdx.x] += 1;
}

static void run_streams(int *p, int *q, cudaStream_t one, cudaStream_t two)
{
	streams_put<<<1, 32, 0, one>>>(p);
	streams_take<<<1, 32, 0, two>>>(p, q);
	cudaDeviceSynchronize();
	copied<<<1, 32, 0, one>>>(p);
	cudaMemcpyAsync(q, p, 128, cudaMemcpyDeviceToDevice, two);
	cudaDeviceSynchronize();
}

static void run_graph(int *p, int *q)
{
	cudaKernelNodeParams first = {}, second = {};
	cudaGraphNode_t a, b;
	cudaGraphExec_t exec;
	cudaGraph_t graph;
	void *of_first[] = {&p}, *of_second[] = {&p, &q};

	first.func = (void *)graph_put;
	first.kernelParams = of_first;
	second.func = (void *)graph_take;
	second.kernelParams = of_second;
	first.gridDim = second.gridDim = dim3(1);
	first.blockDim = second.blockDim = dim3(32);
	cudaGraphCreate(&graph, 0);
	cudaGraphAddKernelNode(&a, graph, NULL, 0, &first);
	cudaGraphAddKernelNode(&b, graph, NULL, 0, &second);
	cudaGraphInstantiate(&exec, graph, 0);
	cudaGraphLaunch(exec, 0);
	cudaDeviceSynchronize();
}

static void run_programmatic(int *p, int *q, cudaStream_t s)
{
	cudaLaunchAttribute attribute = {};
	cudaLaunchConfig_t config = {};

	attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
	attribute.val.programmaticStreamSerializationAllowed = 1;
	config.gridDim = dim3(1);
	config.blockDim = dim3(32);
	config.stream = s;
	config.attrs = &attribute;
	config.numAttrs = 1;
	programmatic_put<<<1, 32, 0, s>>>(p);
	cudaLaunchKernelEx(&config, programmatic_take, p, q);
	cudaDeviceSynchronize();
}

static void run_freed(cudaStream_t one, cudaStream_t two)
{
	int *p;

	cudaMallocAsync(&p, 128, one);
	cudaStreamSynchronize(one);
	freed<<<1, 32, 0, one>>>(p);
	cudaFreeAsync(p, two);
	cudaDeviceSynchronize();
}

static void run_devices(void)
{
	int *p;

	cudaMallocManaged(&p, 128);
	cudaDeviceSynchronize();
	devices_add<<<1, 32>>>(p);
	cudaSetDevice(1);
	devices_add<<<1, 32>>>(p);
	cudaDeviceSynchronize();
	cudaSetDevice(0);
	cudaDeviceSynchronize();
}

int main()
{
	cudaStream_t one, two;
	int *p, *q;

	cudaMalloc(&p, 4096);
	cudaMalloc(&q, 4096);
	cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking);
	cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking);
	cudaDeviceSynchronize();
	run_streams(p, q, one, two);
	run_graph(p, q);
	run_programmatic(p, q, one);
	run_devices();
	run_freed(one, two); /* the kernel may come too late, which stops the device */
	return 0;
}
