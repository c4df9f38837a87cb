/*
 * loops.c - host code to be timed; compiled as it is (PREFIX=plain_) and with checks (host_).
 *
 * Each returns something that depends on all it did. One call is one pass over BENCH_N elements or
 * a like amount of work.
 */
#include "loops.h"

#define GLUE(a, b)  a##b
#define NAMED(a, b) GLUE(a, b)
#define PIECE(name) double NAMED(PREFIX, name)(struct bench_data * d)

/* ---- arrays ------------------------------------------------------------------ */

PIECE(saxpy)
{
	for (size_t i = 0; i < BENCH_N; i++)
		d->c[i] = 2.5f * d->a[i] + d->b[i];
	return (double)d->c[BENCH_N / 2];
}

PIECE(dot)
{
	double s = 0;

	for (size_t i = 0; i < BENCH_N; i++)
		s += (double)d->a[i] * (double)d->b[i];
	return s;
}

PIECE(stencil)
{
	for (size_t i = 1; i + 1 < BENCH_N; i++)
		d->c[i] = 0.25f * d->a[i - 1] + 0.5f * d->a[i] + 0.25f * d->a[i + 1];
	return (double)d->c[BENCH_N / 2];
}

PIECE(matmul)
{
	enum { M = 40 };

	for (size_t i = 0; i < M; i++)
		for (size_t j = 0; j < M; j++) {
			float s = 0;
			for (size_t k = 0; k < M; k++)
				s += d->a[i * M + k] * d->b[k * M + j];
			d->c[i * M + j] = s;
		}
	return (double)d->c[M];
}

PIECE(histogram)
{
	for (size_t i = 0; i < 256; i++)
		d->v[i] = 0;
	for (size_t i = 0; i < BENCH_N; i++)
		d->v[d->bytes[i]]++;
	return d->v[3];
}

PIECE(prefix)
{
	unsigned s = 0;

	for (size_t i = 0; i < BENCH_N; i++) {
		s += d->u[i];
		d->v[i] = s;
	}
	return s;
}

PIECE(transpose)
{
	for (size_t i = 0; i < 256; i++)
		for (size_t j = 0; j < 256; j++)
			d->c[j * 256 + i] = d->a[i * 256 + j];
	return (double)d->c[257];
}

PIECE(filter)
{
	size_t n = 0;

	for (size_t i = 0; i < BENCH_N; i++)
		if (d->u[i] & 64)
			d->v[n++] = d->u[i];
	return (double)n;
}

PIECE(reduce_bytes)
{
	unsigned h = 5381;

	for (size_t i = 0; i < BENCH_N; i++)
		h = h * 33 + d->bytes[i];
	return h;
}

/* Shell sort of an eighth. */
PIECE(sort)
{
	const size_t n = BENCH_N / 8;

	for (size_t i = 0; i < n; i++)
		d->v[i] = d->u[i];
	for (size_t gap = n / 2; gap; gap /= 2)
		for (size_t i = gap; i < n; i++) {
			unsigned x = d->v[i];
			size_t j = i;
			for (; j >= gap && d->v[j - gap] > x; j -= gap)
				d->v[j] = d->v[j - gap];
			d->v[j] = x;
		}
	return d->v[n / 2];
}

/* ---- pointers ------------------------------------------------------------------ */

/* The nodes' own order is random. */
PIECE(list)
{
	uint64_t s = 0;

	for (const struct bench_node *p = d->nodes; p; p = p->next)
		s += p->key;
	return (double)s;
}

PIECE(tree)
{
	uint64_t found = 0;

	for (size_t i = 0; i < BENCH_N / 8; i++) {
		uint64_t key = d->u[i];
		const struct bench_node *p = d->root;
		while (p && p->key != key)
			p = key < p->key ? p->left : p->right;
		found += p ? p->value : 1;
	}
	return (double)found;
}

PIECE(hash)
{
	uint64_t found = 0;

	for (size_t i = 0; i < BENCH_N; i++) {
		uint64_t key = d->u[i];
		struct bench_node *p = d->table[key * 0x9e3779b97f4a7c15ull >> 50];
		while (p && p->key != key)
			p = p->left;
		if (p) {
			p->value++;
			found++;
		}
	}
	return (double)found;
}

static uint64_t walk(struct bench_node *p)
{
	return p ? p->value + walk(p->right) : 0;
}

/* Depth first over pieces of the tree. */
static uint64_t visit(struct bench_node *p, unsigned depth)
{
	if (!p || !depth)
		return 0;
	p->value ^= depth;
	return p->value + visit(p->left, depth - 1) + visit(p->right, depth - 1);
}

PIECE(graph)
{
	return (double)visit(d->root, 16) + (double)walk(d->root);
}

/* Sift-downs in a heap of pointers. */
PIECE(heap)
{
	const size_t n = BENCH_N / 4;
	uint64_t s = 0;

	for (size_t top = n / 2; top-- > 0;) {
		size_t i = top;
		for (size_t k = 2 * i + 1; k < n; k = 2 * i + 1) {
			struct bench_node *x;
			if (k + 1 < n &&
			    (!d->table[k] ||
			     (d->table[k + 1] && d->table[k + 1]->key > d->table[k]->key)))
				k++;
			if (!d->table[k] || (d->table[i] && d->table[i]->key >= d->table[k]->key))
				break;
			x = d->table[i];
			d->table[i] = d->table[k];
			d->table[k] = x;
			i = k;
		}
	}
	for (size_t i = 0; i < n; i++)
		s += d->table[i] ? d->table[i]->key : 0;
	return (double)s;
}

/* Down the tree by the bits of a byte string. */
PIECE(trie)
{
	uint64_t s = 0;

	for (size_t i = 0; i < BENCH_N / 8; i++) {
		const struct bench_node *p = d->root;
		for (unsigned byte = d->bytes[i], k = 0; p && k < 8; k++)
			p = byte >> k & 1 ? p->right : p->left;
		s += p ? p->value & 1 : 2;
	}
	return (double)s;
}
