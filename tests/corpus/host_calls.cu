// printf, assert, malloc, free, memcpy, memset, trap, __builtin_unreachable, alloca.
#include <cassert>
#include <cstdio>

struct node {
	node *next;
	double value;
	char name[13];
};

__global__ void list(int n, double *out)
{
	node *head = nullptr;

	assert(n > 0 && "needs a length");
	for (int i = 0; i < n; i++) {
		node *p = (node *)malloc(sizeof(node));

		if (p == nullptr) {
			printf("%s: thread %d of %u: no room for %f\n", __func__, i, blockDim.x,
			       1.5);
			__trap();
		}
		memset(p, i, sizeof(*p));
		p->next = head;
		head = p;
	}
	char *tmp = (char *)alloca((size_t)n);
	double sum = 0;
	while (head) {
		node *p = head, copy;

		head = p->next;
		memcpy(&copy, p, sizeof(copy));
		memcpy(tmp, p->name, n < 13 ? n : 13);
		sum += copy.value + tmp[n / 2];
		free(p);
	}
	int *dynamic = new int[n];
	dynamic[n - 1] = (int)sum;
	out[threadIdx.x] = dynamic[n - 1] + sum;
	delete[] dynamic;
	if (sum < 0)
		__brkpt();
}
