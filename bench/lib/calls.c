/*
 * calls.c - what a test pays for the C library: a device from its opening to its closing, with a
 * small text and a launch of one warp in between, and a launch alone. Processor time, the least of
 * five.
 */
#include <collider/ptx.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

#define DEVICES	 200
#define LAUNCHES 4000

static const char text[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
			   ".visible .entry count(.param .u64 bin)\n{\n.reg .b64 %p;\n"
			   "ld.param.u64 %p, [bin];\nred.relaxed.gpu.global.add.u32 [%p], 1;\n"
			   "ret;\n}\n";

struct device {
	struct collider_ptx *d;
	struct collider_ptx_kernel *count;
	unsigned bin;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int launch(struct device *x)
{
	struct collider_ptx_launch l = {.size = sizeof(l), .block = {32}};
	unsigned *p = &x->bin;
	const void *arguments[] = {&p};

	return collider_ptx_run(x->count, &l, arguments, 1);
}

static int open_device(struct device *x, bool judges)
{
	struct collider_ptx_options o = {.size = sizeof(o), .judges = judges};
	struct collider_ptx_module *m;
	int rc = collider_ptx_open(&o, &x->d);

	x->bin = 0;
	if (!rc)
		rc = collider_ptx_load(x->d, "calls.ptx", text, strlen(text), &m);
	if (!rc)
		rc = collider_ptx_find_kernel(m, "count", &x->count);
	return rc ? rc : collider_ptx_share(x->d, &x->bin, sizeof(x->bin));
}

int main(void)
{
	for (int judges = 0; judges < 2; judges++) {
		double least[2] = {1e30, 1e30};
		int rc = 0;
		for (int round = 0; round < 5; round++) {
			struct device x = {0};
			double start = now_us();
			for (int i = 0; i < DEVICES && !rc; i++) {
				rc = open_device(&x, judges);
				rc = rc ? rc : launch(&x);
				collider_ptx_close(x.d);
			}
			double each = (now_us() - start) / DEVICES;
			least[0] = each < least[0] ? each : least[0];
			rc = rc ? rc : open_device(&x, judges);
			start = now_us();
			for (int i = 0; i < LAUNCHES && !rc; i++)
				rc = launch(&x);
			each = (now_us() - start) / LAUNCHES;
			least[1] = each < least[1] ? each : least[1];
			if (!rc)
				collider_ptx_close(x.d);
		}
		if (rc) {
			fprintf(stderr, "%s\n", collider_ptx_error());
			return 1;
		}
		printf("%s: open to close %.0f us, a launch %.1f us\n", judges ? "judged" : "plain",
		       least[0], least[1]);
	}
	return 0;
}
