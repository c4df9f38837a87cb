/*
 * kernel_times.c - the time that a program's kernels take, by CUPTI: sums of their records.
 *
 * Preloaded into the program that hecbench.py runs. At the end of the process two numbers are
 * written to the file that $KERNEL_TIMES names: nanoseconds, and how many launches there were; then
 * a line for each of the first KERNELS_MOST kernels: nanoseconds, launches, the first one's
 * nanoseconds, the name. Without that variable it does nothing.
 */
#include <cupti.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER	     (4u << 20)
#define KERNELS_MOST 256u

struct times {
	unsigned long long ns, launches, first_ns;
	char name[256]; /* cut off */
};

static struct times all, kernels[KERNELS_MOST];
static unsigned nkernels;

static void CUPTIAPI give_buffer(uint8_t **buffer, size_t *size, size_t *most)
{
	*buffer = aligned_alloc(8, BUFFER);
	*size = *buffer ? BUFFER : 0;
	*most = 0;
}

/* NULL: there are too many. */
static struct times *find_kernel(const char *name)
{
	char cut[sizeof(kernels->name)];
	unsigned i = 0;

	snprintf(cut, sizeof(cut), "%s", name ? name : "");
	while (i < nkernels && strcmp(kernels[i].name, cut) != 0)
		i++;
	if (i == KERNELS_MOST)
		return NULL;
	if (i == nkernels)
		memcpy(kernels[nkernels++].name, cut, sizeof(cut));
	return &kernels[i];
}

static void add(struct times *t, unsigned long long ns)
{
	if (!t)
		return;
	if (!t->launches++)
		t->first_ns = ns;
	t->ns += ns;
}

static void CUPTIAPI take_buffer(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
				 size_t used)
{
	CUpti_Activity *record = NULL;

	(void)context, (void)stream, (void)size;
	while (cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) {
		if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
			continue;
		const CUpti_ActivityKernel9 *k = (const void *)record;
		add(&all, k->end - k->start);
		add(find_kernel(k->name), k->end - k->start);
	}
	free(buffer);
}

static void write_sums(void)
{
	FILE *f;

	cuptiActivityFlushAll(1);
	if (!(f = fopen(getenv("KERNEL_TIMES"), "w")))
		return;
	fprintf(f, "%llu %llu\n", all.ns, all.launches);
	for (unsigned i = 0; i < nkernels; i++)
		fprintf(f, "%llu %llu %llu %s\n", kernels[i].ns, kernels[i].launches,
			kernels[i].first_ns, kernels[i].name);
	fclose(f);
}

__attribute__((constructor)) static void start(void)
{
	if (!getenv("KERNEL_TIMES"))
		return;
	if (cuptiActivityRegisterCallbacks(give_buffer, take_buffer) == CUPTI_SUCCESS &&
	    cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS)
		atexit(write_sums);
}
