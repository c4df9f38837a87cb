/*
 * pointers.cu - pointers that are chosen, kept in structures, tables and variables.
 */

struct Wide {
	int n;
	float *p[42];
};
struct Rows {
	float *p[4];
};

// prove: wide_member race-free --block-dim=256 --grid-dim=64
__global__ void wide_member(Wide q)
{
	q.p[7][threadIdx.x + blockIdx.x * blockDim.x] = q.p[9][threadIdx.x] + q.n;
}

// prove: wide_member_racy true --block-dim=256 --grid-dim=64
__global__ void wide_member_racy(Wide q)
{
	q.p[7][threadIdx.x + blockIdx.x] = q.p[9][threadIdx.x] + q.n;
}

// prove: member_by_block race-free --block-dim=256 --grid-dim=64
__global__ void member_by_block(Rows q)
{
	if (blockIdx.x < 4)
		q.p[blockIdx.x][threadIdx.x] = q.p[blockIdx.x][threadIdx.x] * 2;
}

// prove: member_by_half true --block-dim=256 --grid-dim=64
__global__ void member_by_half(Rows q)
{
	if (blockIdx.x < 4)
		q.p[blockIdx.x / 2][threadIdx.x] = 4.2f;
}

// prove: member_by_thread race-free --block-dim=4 --grid-dim=1
__global__ void member_by_thread(Rows q, int n)
{
	for (int i = 0; i < n; i++)
		q.p[threadIdx.x][i] = i;
}

// The pointer of each block's tensor, and how much of it there is, in a table by value.
struct Table {
	float *address[2][60];
	int size[60];
	unsigned char tensor[200];
};
// prove: table potential --block-dim=128 --grid-dim=200
// prove: table race-free --block-dim=128 --grid-dim=200 --level=block
__global__ void table(Table t, float scale)
{
	int k = t.tensor[blockIdx.x], n = t.size[k];
	float *in = t.address[0][k], *out = t.address[1][k];
	for (int i = threadIdx.x; i < n; i += blockDim.x)
		out[i] = in[i] * scale;
}

// prove: chosen race-free --block-dim=256 --grid-dim=64
__global__ void chosen(float *a, float *b, int n)
{
	float *z = n > 3 ? a : b;
	z[threadIdx.x + blockIdx.x * blockDim.x] = 1;
}

// prove: chosen_by_thread race-free --block-dim=64 --grid-dim=1
__global__ void chosen_by_thread(float *a, float *b)
{
	float *z = threadIdx.x & 1 ? a : b;
	z[threadIdx.x / 2] = 1;
}

// prove: chosen_by_thread_racy true --block-dim=64 --grid-dim=1
__global__ void chosen_by_thread_racy(float *a, float *b)
{
	float *z = threadIdx.x & 1 ? a : b;
	z[threadIdx.x / 4] = 1;
}

// A choice between the two kinds of memory, and what may be read from where.
// prove: chosen_space true --block-dim=64 --grid-dim=4
__global__ void chosen_space(float *a, int n)
{
	__shared__ float s[64];
	float *z = n > 3 ? a : s;
	z[threadIdx.x] = 1;
	a[64 + threadIdx.x] = s[63 - threadIdx.x];
}

__device__ float *kept;
// prove: by_variable race-free --block-dim=64 --grid-dim=16
__global__ void by_variable(float *o)
{
	kept[threadIdx.x + blockIdx.x * blockDim.x] = 1;
	o[threadIdx.x + blockIdx.x * blockDim.x] = 2;
}

// The kernel itself sets the variable: nothing is known of it.
// prove: variable_is_set potential --block-dim=64 --grid-dim=1
__global__ void variable_is_set(float *o)
{
	if (threadIdx.x == 0)
		kept = o;
	__syncthreads();
	kept[threadIdx.x] = 1;
}

struct Mesh {
	float *x, *y;
	int n;
};
// prove: structure race-free --block-dim=64
__global__ void structure(Mesh *m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < m->n)
		m->x[i] = m->y[i] + m->y[i + 1];
}

// prove: structure_racy potential --block-dim=64
__global__ void structure_racy(Mesh *m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < m->n)
		m->x[i] = m->x[i + 1];
}

// Two rows of a table in memory may be one array, and may hold the table itself.
// prove: rows potential --block-dim=64
__global__ void rows(float **row)
{
	row[blockIdx.x][threadIdx.x] += 1;
}

struct Node {
	Node *next;
	float v;
};
// prove: nodes potential --block-dim=64
__global__ void nodes(Node *n)
{
	n[blockIdx.x * blockDim.x + threadIdx.x].next->v = 1;
}

// Arrays of pointers on the stack: what is behind them is known where the index is bounded.
// prove: stack_table true --block-dim=64
__global__ void stack_table(float *o, int n)
{
	__shared__ float one[64], two[64];
	float *b[2] = {one, two}, sum = 0;
	for (int i = 0; i < n; i++) {
		sum += b[i & 1][63 - threadIdx.x];
		one[threadIdx.x] = i;
		__syncthreads();
	}
	o[blockIdx.x * 64 + threadIdx.x] = sum;
}

// prove: stack_table_other race-free --block-dim=64
__global__ void stack_table_other(float *o, int n)
{
	__shared__ float one[65], two[65], three[65];
	float *b[2] = {one, two}, sum = 0;
	one[threadIdx.x] = two[threadIdx.x] = 0;
	__syncthreads();
	for (int i = 0; i < n; i++) {
		sum += b[i & 1][63 - threadIdx.x];
		three[threadIdx.x] = i;
	}
	sum += three[threadIdx.x];
	o[blockIdx.x * 64 + threadIdx.x] = sum;
}

// prove: stack_table_any true --block-dim=64 --grid-dim=1
__global__ void stack_table_any(float *o, int n)
{
	__shared__ float one[64], two[64];
	float *b[2] = {one, two};
	o[threadIdx.x] = b[n][63 - threadIdx.x];
	one[threadIdx.x] = two[threadIdx.x] = 1;
}

// A pointer to shared memory that lies in shared memory.
// prove: shared_pointer potential --block-dim=64 --grid-dim=1
__global__ void shared_pointer(float *o)
{
	__shared__ float tile[64];
	__shared__ float *row;
	if (threadIdx.x == 0)
		row = tile;
	__syncthreads();
	o[threadIdx.x] = row[63 - threadIdx.x];
	tile[threadIdx.x] = 1;
}

// Values of 64 bits that two ways make are no addresses.
// prove: minimum race-free --block-dim=256 --grid-dim=1
__global__ void minimum(const double *in, double *out, int width)
{
	__shared__ double val[256];
	int t = threadIdx.x;
	double *mine = &val[t];
	*mine = in[t];
	__syncthreads();
	for (int d = 1; d < width; d *= 2) {
		double o = *mine;
		if (t % 8 + d < 8)
			o = mine[d];
		__syncthreads();
		if (o < *mine)
			*mine = o;
		__syncthreads();
	}
	out[t] = *mine;
}

// prove: minimum_racy true --block-dim=256 --grid-dim=1
__global__ void minimum_racy(const long long *in, long long *out, int width)
{
	__shared__ long long val[256];
	int t = threadIdx.x;
	long long *mine = &val[t];
	*mine = in[t];
	__syncthreads();
	for (int d = 1; d < width; d *= 2) {
		long long o = *mine;
		if (t % 8 + d < 8)
			o = mine[d];
		*mine = o + *mine;
		__syncthreads();
	}
	out[t] = *mine;
}

// prove: sorted_on_stack race-free --block-dim=64 --grid-dim=16
__global__ void sorted_on_stack(const double *in, double *out)
{
	double a[6];
	for (int i = 0; i < 6; i++)
		a[i] = in[(blockIdx.x * 64 + threadIdx.x) * 6 + i];
	for (int i = 0; i < 6; i++)
		for (int j = i + 1; j < 6; j++)
			if (a[j] < a[i]) {
				double t = a[i];
				a[i] = a[j];
				a[j] = t;
			}
	for (int i = 0; i < 6; i++)
		out[(blockIdx.x * 64 + threadIdx.x) * 6 + i] = a[i];
}

struct beside { unsigned d, v[5]; };

// A pointer that lies on the stack above an array which a loop fills.
__device__ __forceinline__ void turn(unsigned *vector, const unsigned *matrix)
{
	unsigned result[5] = {0};
	for (int i = 0; i < 5; i++)
		for (int k = 0; k < 5; k++)
			result[k] ^= vector[i] & matrix[i * 5 + k];
	for (int i = 0; i < 5; i++)
		vector[i] = result[i];
}

template <typename T> __device__ __forceinline__ void turn_all(T *state, const unsigned *matrix, unsigned n)
{
	while (n) {
		for (unsigned t = 0; t < (n & 3); t++)
			turn(state->v, matrix);
		n >>= 2;
	}
	state->d += n;
}

// prove: above_array race-free
__global__ void above_array(beside *all, const unsigned *matrix)
{
	turn_all(&all[blockIdx.x * blockDim.x + threadIdx.x], matrix, 5);
}

// prove: above_array_shared true
__global__ void above_array_shared(beside *all, const unsigned *matrix)
{
	turn_all(&all[threadIdx.x / 2], matrix, 5);
}

// prove: counter_bounds race-free --block-dim=256 --grid-dim=64
__global__ void counter_bounds(float *out) // i's own bounds keep blocks apart
{
	for (int n = 0; n < 32; n++)
		for (int i = threadIdx.x; i < 3136; i += 256)
			out[(n * 64 + blockIdx.x) * 3136 + i] = 0;
}

// prove: counter_bounds_less true --block-dim=256 --grid-dim=64
__global__ void counter_bounds_less(float *out)
{
	for (int n = 0; n < 32; n++)
		for (int i = threadIdx.x; i < 3136; i += 256)
			out[(n * 64 + blockIdx.x) * 3135 + i] = 0;
}

// Rows of a sparse matrix: no two have a common element where the array of their starts is sorted.
// prove: rows_sorted race-free
__global__ void rows_sorted(float *val, const int *ptr, int rows)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	collider_assume(rows > 0 && rows < 1 << 30);
	collider_sorted(ptr, rows + 1);
	if (r < rows)
		for (int i = ptr[r]; i < ptr[r + 1]; i++)
			val[i] *= 2;
}
// prove: rows_unsorted potential
__global__ void rows_unsorted(float *val, const int *ptr, int rows)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	if (r < rows)
		for (int i = ptr[r]; i < ptr[r + 1]; i++)
			val[i] *= 2;
}
// prove: rows_sorted_too_far potential
__global__ void rows_sorted_too_far(float *val, const int *ptr, int rows)
{
	int r = blockIdx.x * blockDim.x + threadIdx.x;
	collider_assume(rows > 0 && rows < 1 << 30);
	collider_sorted(ptr, rows + 1);
	if (r < rows)
		for (int i = ptr[r]; i <= ptr[r + 1]; i++)
			val[i] *= 2;
}

// The same by a table of the module,
__constant__ int places[1024];
// prove: through_table race-free --block-dim=256 --grid-dim=4 --assume=injective(places)
__global__ void through_table(float *out)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	out[places[i]] = i;
}
// prove: through_table_unsaid potential --block-dim=256 --grid-dim=4
__global__ void through_table_unsaid(float *out)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	out[places[i]] = i;
}
// prove: through_table_twice potential racy --block-dim=256 --grid-dim=4 --assume=injective(places)
__global__ void through_table_twice(float *out)
{
	int i = blockIdx.x * 256 + threadIdx.x;
	out[places[i / 2]] = i;
}
// and one that the kernel itself writes: what it holds then nobody said.
__device__ int own_table[1024];
// prove: through_own_table potential racy --block-dim=256 --grid-dim=1 --assume=injective(own_table)
__global__ void through_own_table(float *out, const int *at)
{
	own_table[threadIdx.x] = at[threadIdx.x];
	__syncthreads();
	out[own_table[threadIdx.x]] = 1;
}

// Places that a scan of counts gives: each thread has so many from its place on.
// prove: counted_parts race-free
__global__ void counted_parts(float *out, const int *first, const int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	collider_apart(first[i], count[i]);
	for (int k = 0; k < count[i]; k++)
		out[first[i] + k] = i;
}
// prove: counted_parts_unsaid potential
__global__ void counted_parts_unsaid(float *out, const int *first, const int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	for (int k = 0; k < count[i]; k++)
		out[first[i] + k] = i;
}
// One too many, one too early, two for one part, threads of which nothing is said:
// prove: counted_parts_and_one potential racy
__global__ void counted_parts_and_one(float *out, const int *first, const int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	collider_apart(first[i], count[i]);
	for (int k = 0; k <= count[i]; k++)
		out[first[i] + k] = i;
}
// prove: counted_parts_early potential racy
__global__ void counted_parts_early(float *out, const int *first, const int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	collider_apart(first[i], count[i]);
	for (int k = -1; k < count[i]; k++)
		out[first[i] + k] = i;
}
// prove: counted_parts_shared vacuous --block-dim=256
__global__ void counted_parts_shared(float *out, const int *first)
{
	int i = threadIdx.x / 2;
	collider_apart(first[i], 2);
	for (int k = 0; k < 2; k++)
		out[first[i] + k] = i;
}
// prove: counted_parts_of_some potential racy
__global__ void counted_parts_of_some(float *out, const int *first, const int *count, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	if (i & 1)
		collider_apart(first[i], count[i]);
	for (int k = 0; k < count[i]; k++)
		out[first[i] + k] = i;
}

// An address that is rounded: the 64-bit number that is added to it is no array.
#define ROUNDED(ADDRESS, P, Q)                                                                     \
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
	char *p = (char *)(ADDRESS) + n;                                                           \
	P[i] = 1;                                                                                  \
	Q[i + 1] = 2;
// prove: rounded_down potential racy
__global__ void rounded_down(char *a, char *o, long long n) { ROUNDED((size_t)a & ~15ull, p, a) }
// prove: rounded_up potential racy
__global__ void rounded_up(char *a, char *o, size_t n) { ROUNDED((size_t)a + 127 & ~127ull, p, a) }
// prove: rounded_by_number potential racy
__global__ void rounded_by_number(char *a, char *o, size_t n, size_t to)
{
	ROUNDED(((size_t)a + to - 1) / to * to, p, a)
}
// prove: rounded_untagged potential racy
__global__ void rounded_untagged(char *a, char *o, size_t n) { ROUNDED((size_t)a << 16 >> 16, p, a) }
// prove: rounded_of_halves potential racy
__global__ void rounded_of_halves(char *a, char *o, size_t n)
{
	unsigned high = (size_t)a >> 32, low = (size_t)a;
	ROUNDED((size_t)high << 32 | low, p, a)
}
// prove: rounded_loaded potential racy
__global__ void rounded_loaded(char *a, const long long *from)
{
	long long n = from[0];
	ROUNDED((size_t)a & ~15ull, p, a)
}
// prove: rounded_not race-free
__global__ void rounded_not(char *a, char *o, size_t n) { ROUNDED(a + (n & ~15ull) * 4, a, o) }
// prove: rounded_element race-free
__global__ void rounded_element(long long *a, long long *o, size_t n)
{
	size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
	a[(n & ~15ull) + i] = o[(n / 4 * 4) + i + 1];
}

// Two pointers of a structure in memory, of which either may be either.
struct Pair {
	float *x, *y;
};
#define EITHER(P, Q)                                                                               \
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
	float *p = pair->x, *q = pair->y;                                                          \
	if (n & 1) {                                                                               \
		float *was = p;                                                                    \
		p = q;                                                                             \
		q = was;                                                                           \
	}                                                                                          \
	P[i] = Q[i + 1];
// prove: either_of_pair race-free
__global__ void either_of_pair(const Pair *pair, int n) { EITHER(p, q) }
// prove: either_and_first true
__global__ void either_and_first(const Pair *pair, int n) { EITHER(p, pair->x) }
// prove: either_and_second true
__global__ void either_and_second(const Pair *pair, int n) { EITHER(p, pair->y) }
// prove: second_and_either true
__global__ void second_and_either(const Pair *pair, int n) { EITHER(pair->y, q) }
// prove: first_and_either true
__global__ void first_and_either(const Pair *pair, int n) { EITHER(pair->x, q) }

// Pointers whose initialiser says where they lead.
__device__ float named[1024], *to_named = named, *into_named = named + 1, *to_any, *to_other;
__constant__ float *const table_of_named[2] = {named, named + 2};
#define NAMED(P, Q)                                                                                \
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
	P[i] = Q[i + 1];
// prove: named_itself potential racy
__global__ void named_itself() { NAMED(to_named, named) }
// prove: named_twice potential racy
__global__ void named_twice() { NAMED(to_named, into_named) }
// prove: named_in_table potential racy
__global__ void named_in_table() { NAMED(table_of_named[0], table_of_named[1]) }
// prove: not_named race-free
__global__ void not_named() { NAMED(to_any, to_other) }
// prove: not_named_at_all race-free
__global__ void not_named_at_all() { NAMED(to_any, named) }

// A pointer from memory, and a number of bytes that has as many bits.
struct Buffer {
	char *bytes;
	float *x, *y;
};
#define BYTES(P, Q)                                                                                \
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
	char *p = buffer->bytes + n;                                                               \
	P[i] = 1;                                                                                  \
	Q[i + 1] = 2;
// prove: bytes_from potential racy
__global__ void bytes_from(const Buffer *buffer, size_t n) { BYTES(p, buffer->bytes) }
// prove: floats_from race-free
__global__ void floats_from(const Buffer *buffer, size_t n) { BYTES((buffer->x + n), buffer->y) }

// Of structures that a number chooses, two may be one.
#define ONE_OF(P, Q)                                                                               \
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                        \
	P[i] = Q[i + 1];
struct Buffers {
	Buffer *of[4];
};
// prove: one_of_memory potential racy
__global__ void one_of_memory(Buffer *const *b, int k) { ONE_OF(b[k]->x, b[0]->x) }
// prove: one_of_params potential racy
__global__ void one_of_params(Buffers b, int k) { ONE_OF(b.of[k]->x, b.of[0]->x) }
// prove: one_of_both potential racy
__global__ void one_of_both(Buffer *const *b, int k) { ONE_OF(b[k]->x, b[k + 1]->x) }
// prove: one_of_itself race-free
__global__ void one_of_itself(Buffer *const *b, int k) { ONE_OF(b[k]->x, b[k]->y) }

/* A pointer that a loop moves on by another step each time stays in its array. */
// prove: moved_by_steps race-free
__global__ void moved_by_steps(int n, int length, const float *x, float *r)
{
	for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
		float s = 0;
		x += i * length;
		for (int k = length - 1; k >= 0; k--)
			s += x[k];
		r[i] = s;
	}
}

/* What is written there is another's. */
// prove: moved_by_steps_racy true
__global__ void moved_by_steps_racy(int n, int length, float *x, float *r)
{
	for (int i = blockDim.x * blockIdx.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
		x += i * length;
		r[i] = x[length];
		*x = 0;
	}
}

/* The step leads to the other array. */
// prove: moved_to_another_racy potential racy
__global__ void moved_to_another_racy(int n, float *x, float *r)
{
	float *p = x;

	for (int i = threadIdx.x; i < n; i += blockDim.x) {
		r[i] = p[0];
		p = i ? p + n : r;
	}
}

// Of a difference of two arrays 32 bits are left: the arrays may be so near.
// prove: near_by_words potential racy --block-dim=64 --grid-dim=2
__global__ void near_by_words(int *a, int *b)
{
	int way = (int)((unsigned)(unsigned long long)b - (unsigned)(unsigned long long)a);
	if (threadIdx.x == 0)
		*(int *)((char *)a + way + 4 * blockIdx.x) = 1;
	if (threadIdx.x == 1)
		b[blockIdx.x + 1] = 2;
}

// prove: near_by_number potential racy --block-dim=64 --grid-dim=2
__global__ void near_by_number(int *a, int *b)
{
	int way = (int)((char *)b - (char *)a);
	if (threadIdx.x == 0)
		*(int *)((char *)a + way + 4ll * blockIdx.x) = 1;
	if (threadIdx.x == 1)
		b[blockIdx.x + 1] = 2;
}

// prove: near_within race-free --block-dim=64 --grid-dim=2
__global__ void near_within(int *a, int *b, unsigned n, unsigned m)
{
	int way = (int)((n & 0xffff) - (m & 0xffff));
	if (threadIdx.x == 0)
		*(int *)((char *)a + 4 * way + 4 * blockIdx.x) = 1;
	if (threadIdx.x == 1)
		b[blockIdx.x + 1] = 2;
}

// What is added leads from one array into the other.
// prove: there_and_back potential racy --block-dim=64 --grid-dim=1
__global__ void there_and_back(int *a, int *b, int n)
{
	long long there = b - a;
	int *p = a;
	for (int i = 0; i < n; i++) {
		p += there;
		there = -there;
		p[threadIdx.x] = i;
		b[threadIdx.x + 1] = 3;
		__syncthreads();
	}
}

// prove: on_and_on potential racy --block-dim=64 --grid-dim=1
__global__ void on_and_on(char *a, char *b, int n)
{
	char *p = a;
	for (int i = 0; i < n; i++) {
		p += b - a;
		p[threadIdx.x] = i;
		b[threadIdx.x + 1] = 3;
		__syncthreads();
	}
}

// A number of elements, there and back, stays in the array.
// prove: steps_back race-free --block-dim=64 --grid-dim=1
__global__ void steps_back(int *a, int *b, int n, long long there)
{
	int *p = a;
	for (int i = 0; i < n; i++) {
		p += there;
		there = -there;
		p[threadIdx.x] = i;
		b[threadIdx.x + 1] = 3;
		__syncthreads();
	}
}

// Handed on from pointer to pointer: the third iteration is in the other array.
// prove: handed_on potential racy --block-dim=64 --grid-dim=1
__global__ void handed_on(int *a, int *b, int n)
{
	int *p = a, *q = a, *r = a;
	for (int i = 0; i < n; i++) {
		p[threadIdx.x] = i;
		b[threadIdx.x + 1] = 3;
		p = q;
		q = r;
		r = b;
		__syncthreads();
	}
}

// prove: handed_on_within race-free --block-dim=64 --grid-dim=1
__global__ void handed_on_within(int *a, int *b, int n)
{
	int *p = a, *q = a, *r = a;
	for (int i = 0; i < n; i++) {
		p[threadIdx.x] = i;
		b[threadIdx.x + 1] = 3;
		p = q;
		q = r;
		r = a + i * 64;
		__syncthreads();
	}
}

// prove: handed_on_sometimes potential racy --block-dim=64 --grid-dim=1
__global__ void handed_on_sometimes(int *a, int *b, const int *c, int n)
{
	int *p = a, *q = a;
	for (int i = 0; i < n; i++) {
		p[threadIdx.x] = i;
		b[threadIdx.x + 1] = 3;
		p = c[i] ? q + 1 : p + 1;
		if (c[i + 1])
			q = b + 4;
		__syncthreads();
	}
}

// A number that becomes the way to the other array.
// prove: sometimes_there potential racy --block-dim=64 --grid-dim=1
__global__ void sometimes_there(int *a, int *b, int n)
{
	long long there = 0;
	int *p = a;
	for (int i = 0; i < n; i++) {
		p[threadIdx.x + there] = i;
		b[threadIdx.x + 1] = 3;
		there = i & 1 ? 0 : b - a;
		__syncthreads();
	}
}

// prove: shared_there potential racy --block-dim=64 --grid-dim=1
__global__ void shared_there(int n)
{
	__shared__ int a[64], b[65];
	long long there = b - a;
	int *p = a;
	for (int i = 0; i < n; i++) {
		p += there;
		there = -there;
		p[threadIdx.x] = i;
		b[threadIdx.x + 1] = 3;
		__syncthreads();
	}
}

// Between two halves of one array.
// prove: halves_there race-free --block-dim=64 --grid-dim=1
__global__ void halves_there(int n)
{
	__shared__ int a[128], b[65];
	int *p = a, *q = a + 64;
	long long there = q - p;
	for (int i = 0; i < n; i++) {
		p += there;
		there = -there;
		p[threadIdx.x] = i;
		b[threadIdx.x + 1] = 3;
		__syncthreads();
	}
}
