/* histogram.c - a PTX kernel run and judged by libcollider-ptx: two threads count into one word. */
#include <collider/ptx.h>
#include <stdio.h>
#include <string.h>

static const char text[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
			   ".visible .entry count(.param .u64 bin) {\n"
			   ".reg .b32 %n;\n.reg .b64 %p;\nld.param.u64 %p, [bin];\n"
			   "ld.global.u32 %n, [%p];\nadd.u32 %n, %n, 1;\nst.global.u32 [%p], %n;\n"
			   "ret;\n}\n";

static void show(void *arg, const struct collider_ptx_finding *f)
{
	printf("%s\n", f->line);
	++*(int *)arg;
}

int main(void)
{
	int found = 0, rc;
	unsigned bin = 0, *p = &bin;
	const void *arguments[] = {&p};
	struct collider_ptx_options o = {
		.size = sizeof(o), .judges = true, .on_finding = show, .arg = &found};
	struct collider_ptx_launch l = {.size = sizeof(l), .grid = {2}, .block = {32}};
	struct collider_ptx *device = NULL;
	struct collider_ptx_module *module;
	struct collider_ptx_kernel *kernel;

	rc = collider_ptx_open(&o, &device) ||
	     collider_ptx_load(device, "count.ptx", text, strlen(text), &module) ||
	     collider_ptx_find_kernel(module, "count", &kernel) ||
	     collider_ptx_share(device, &bin, sizeof(bin)) ||
	     collider_ptx_run(kernel, &l, arguments, 1);
	if (rc)
		fprintf(stderr, "%s\n", collider_ptx_error());
	collider_ptx_close(device);
	return rc ? 2 : found ? 1 : 0;
}
