// heap.cu - memory that malloc and new give in a kernel, and objects that one thread makes for all.
#include <new>
#pragma nv_diag_suppress 177,550 // not all kernels use all variables
#define t threadIdx.x
#define b blockIdx.x
#define g (blockIdx.x * blockDim.x + threadIdx.x)

// Each thread has its own.
// prove: each_its_own race-free
__global__ void each_its_own(int *out, int n)
{
	int *p = (int *)malloc(n * sizeof(int));
	if (!p)
		return;
	for (int i = 0; i < n; i++)
		p[i] = i * g;
	out[g] = p[n - 1];
	free(p);
}
// prove: each_new race-free
__global__ void each_new(int *out)
{
	int *p = new int[8], *q = new int;
	*q = 0;
	for (int i = 0; i < 8; i++)
		p[i] = *q += g;
	out[g] = p[out[g] & 7];
	delete[] p;
	delete q;
}
// What is on the heap says nothing about other arrays.
// prove: each_and_one true racy --block-dim=64
__global__ void each_and_one(int *out)
{
	int *p = new int[8];
	p[t & 7] = g;
	out[t & 7] = p[t & 7];
	delete[] p;
}
// prove: either_side potential racy --block-dim=64
__global__ void either_side(int *out, const int *in)
{
	int *own = new int[8], *p = in[g] ? own : out;
	p[t & 7] = g;
}
// A list that a thread builds for itself.
struct node {
	node *next;
	int value;
};
// prove: list potential free
__global__ void list(int *out, int n)
{
	node *first = nullptr;
	for (int i = 0; i < n; i++) {
		node *x = new node;
		x->next = first;
		x->value = i;
		first = x;
	}
	int sum = 0;
	for (node *x = first; x; x = x->next)
		sum += x->value;
	out[g] = sum;
}

// One thread's memory, for its block.
#define OF_BLOCK(BEFORE, AT, AFTER, WHO)                                                           \
	__shared__ int *data;                                                                      \
	if (t == 0)                                                                                \
		data = (int *)malloc(blockDim.x * 4 * sizeof(int));                                \
	BEFORE;                                                                                    \
	if (data == nullptr)                                                                       \
		return;                                                                            \
	int *p = data;                                                                             \
	for (int i = 0; i < 4; i++)                                                                \
		p[AT] = g;                                                                         \
	AFTER;                                                                                     \
	if (WHO)                                                                                   \
		free(data);
// prove: of_block race-free --block-dim=64
__global__ void of_block() { OF_BLOCK(__syncthreads(), i *blockDim.x + t, __syncthreads(), t == 0) }
// prove: of_block_overlap potential racy --block-dim=64
__global__ void of_block_overlap() { OF_BLOCK(__syncthreads(), i + t, __syncthreads(), t == 0) }
// prove: of_block_freed_early potential racy --block-dim=64
__global__ void of_block_freed_early()
{
	OF_BLOCK(__syncthreads(), i *blockDim.x + t, , t == 0)
}
// prove: of_block_read_early true racy --block-dim=64
__global__ void of_block_read_early()
{
	OF_BLOCK(, i *blockDim.x + t, __syncthreads(), t == 0)
}
// prove: of_block_freed_by_two potential racy --block-dim=64
__global__ void of_block_freed_by_two()
{
	OF_BLOCK(__syncthreads(), i *blockDim.x + t, __syncthreads(), t < 2)
}
// One pointer for all blocks: the grid's threads have one array.
__device__ int *of_grid;
// prove: of_all true racy --block-dim=64 --grid-dim=2
__global__ void of_all(int *out)
{
	if (g == 0)
		of_grid = new int[1024];
	__syncthreads();
	of_grid[t] = b;
}
// The pointer is handed to the next block.
// prove: handed_to_next true racy --block-dim=64 --grid-dim=2
__global__ void handed_to_next(int **table)
{
	int *own = new int[64];
	table[g] = own;
	own[0] = 1;
	int *other = table[(g + 64) % 128];
	if (other)
		other[0] = 2;
}

// An object in shared memory that the first thread makes, with functions that a table gives.
struct stack {
	__device__ virtual void push(int v) = 0;
	__device__ virtual int at(int i) = 0;
};
struct small_stack : stack {
	int *data;
	int top;
	__device__ small_stack(int *d) : data(d), top(-1) {}
	__device__ small_stack(int n) : data(new int[n]), top(-1) {}
	__device__ void push(int v) override { data[atomicAdd(&top, 1) + 1] = v; }
	__device__ int at(int i) override { return data[i]; }
};
#define PLACED(BARRIER, PUSH, AT)                                                                  \
	__shared__ __align__(8) unsigned char room[sizeof(small_stack)];                           \
	__shared__ int data[1024];                                                                 \
	__shared__ small_stack *s;                                                                 \
	if (t == 0)                                                                                \
		s = new (room) small_stack(data);                                                  \
	BARRIER;                                                                                   \
	if (!(t & 1))                                                                              \
		PUSH;                                                                              \
	__syncthreads();                                                                           \
	out[g] = AT;
// prove: placed race-free --block-dim=256
__global__ void placed(int *out) { PLACED(__syncthreads(), s->push(t), s->at(t / 2)) }
// prove: placed_no_barrier true racy --block-dim=256
__global__ void placed_no_barrier(int *out) { PLACED(, s->push(t), s->at(t / 2)) }
// prove: placed_at_once potential racy --block-dim=256
__global__ void placed_at_once(int *out)
{
	PLACED(__syncthreads(), (s->push(t), out[g] = s->at(0)), s->at(t / 2))
}
// prove: placed_plain potential racy --block-dim=256
__global__ void placed_plain(int *out)
{
	PLACED(__syncthreads(), s->data[s->top + 1] = t, s->at(t / 2))
}
// One object for the grid, which the host keeps.
// prove: pushed race-free --block-dim=256 --grid-dim=8
__global__ void pushed(small_stack **s)
{
	if (t == 0)
		(*s)->push(b);
}
// prove: pushed_and_read potential racy --block-dim=256 --grid-dim=8
__global__ void pushed_and_read(small_stack **s, int *out)
{
	if (t == 0)
		(*s)->push(b);
	out[g] = (*s)->at(0);
}
// prove: pushed_and_moved true --block-dim=256 --grid-dim=8
__global__ void pushed_and_moved(small_stack **s)
{
	if (t == 0)
		(*s)->push(b);
	if (g == 9)
		(*s)->top = 0;
}
// An address that goes by way of an atomic sum.
#define BY_SUM(OWN)                                                                                \
	__shared__ unsigned long long at;                                                          \
	int *p = nullptr;                                                                          \
	if (t == 0)                                                                                \
		at = 0;                                                                            \
	__syncthreads();                                                                           \
	if (t == 5) {                                                                              \
		p = (int *)malloc(64);                                                             \
		atomicAdd(&at, (unsigned long long)p);                                             \
	}                                                                                          \
	__syncthreads();                                                                           \
	if (t == 1)                                                                                \
		*(int *)at = 1;                                                                    \
	OWN;                                                                                       \
	if (t == 5)                                                                                \
		*p = 2;
// prove: sum_ordered single --block-dim=256
__global__ void sum_ordered()
{
	BY_SUM(__syncthreads())
}
// prove: sum_unordered potential racy --block-dim=256
__global__ void sum_unordered()
{
	BY_SUM()
}
// The same of an address in shared memory, by an exchange.
#define BY_EXCHANGE(OWN)                                                                           \
	__shared__ unsigned long long at;                                                          \
	__shared__ int d[4];                                                                       \
	if (t == 0)                                                                                \
		at = 0;                                                                            \
	__syncthreads();                                                                           \
	if (t == 5)                                                                                \
		atomicExch(&at, (unsigned long long)&d[1]);                                        \
	__syncthreads();                                                                           \
	if (t == 1)                                                                                \
		*(int *)at = 1;                                                                    \
	OWN;                                                                                       \
	if (t == 5)                                                                                \
		d[1] = 2;
// prove: exchanged_ordered single --block-dim=256
__global__ void exchanged_ordered()
{
	BY_EXCHANGE(__syncthreads())
}
// prove: exchanged_unordered potential racy --block-dim=256
__global__ void exchanged_unordered()
{
	BY_EXCHANGE()
}
