/*
 * prove_confirm.c - runs the launches of alarms on the CPU device under the oracle (prove.h).
 *
 * prove doesn't know the CPU device; this file connects the two. Each alarm with a launch of at
 * most MAX_THREADS threads runs in a child process with a time limit: the same PTX, arrays of zeros
 * for the pointers, the model's scalars. The oracle judges by happens-before, so one run is enough
 * where values don't decide. If it finds the alarm's two instructions unordered, the alarm is
 * confirmed. A potential alarm that is confirmed stays potential: it raced with arrays of zeros,
 * which the analysis did not assume.
 *
 * A reproducer is a small program with a main() that includes the source and makes the same launch.
 *
 * Misses: structures as parameters (they are zero); launches that need clusters or cooperation.
 * Costs: a process and a CPU device for each alarm.
 */
#include "cli/prove.h"
#include "cpu/cpu.h"
#include "race/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS  4096
#define SECONDS	     20
#define ARRAY_BYTES  ((size_t)16 << 20)
#define DEVICE_BYTES ((uint64_t)2 << 30)

enum { SAID_CONFIRMED = 40, SAID_NOT, SAID_NOTHING };

struct watch {
	const struct race_alarm *a;
	bool is_found, is_near; /* near: the same instructions, other threads */
};

/* Are the two threads as far apart as the alarm says? */
static bool is_level(const struct race_pair *p, enum race_level level)
{
	bool same_block = !memcmp(p->side[0].block, p->side[1].block, sizeof(p->side[0].block));
	bool same_warp = same_block && p->side[0].warp == p->side[1].warp;

	return level == RACE_LEVEL_WARP ? same_warp : same_block == (level == RACE_LEVEL_BLOCK);
}

/*
 * Are the two sides the alarm's instructions, in either order? The oracle reports a pair of
 * instructions once, for the first threads that it sees; if these are not the alarm's, the alarm
 * stays unconfirmed.
 */
static struct race_pair *on_pair(void *arg, const struct race_pair *p, size_t bytes)
{
	struct watch *w = arg;
	uint32_t x = w->a->side[0].ptx_line, y = w->a->side[1].ptx_line;

	bool is_it = (p->side[0].ptx_line == x && p->side[1].ptx_line == y) ||
		     (p->side[0].ptx_line == y && p->side[1].ptx_line == x);
	w->is_found |= is_it && is_level(p, w->a->level);
	w->is_near |= is_it;
	struct race_pair *copy = malloc(bytes);
	if (copy)
		memcpy(copy, p, bytes);
	return copy;
}

static const struct race_alarm_param *value_of(const struct race_alarm *a, uint32_t off,
					       uint32_t bytes)
{
	for (uint32_t i = 0; i < a->nparams; i++)
		if (a->param[i].off == off && a->param[i].bytes == bytes)
			return &a->param[i];
	return NULL;
}

/* Pointers get arrays of zeros; everything else the model's values, or zero. */
static bool fill_params(struct cpu_machine *m, struct cpu_kernel *k, const struct race_alarm *a,
			unsigned char *block)
{
	uint32_t off, n;

	for (uint32_t i = 0; i < a->nparams; i++)
		if (a->param[i].off + a->param[i].bytes <= cpu_kernel_param_bytes(k))
			memcpy(block + a->param[i].off, &a->param[i].value,
			       a->param[i].bytes > 8 ? 8 : a->param[i].bytes);
	for (uint32_t i = 0; cpu_kernel_param(k, i, &off, &n); i++) {
		if (n != 8 || value_of(a, off, n))
			continue;
		void *p = cpu_mem_alloc(m, 0, ARRAY_BYTES, CPU_MEM_DEVICE);
		if (!p)
			return false;
		memset(p, 0, ARRAY_BYTES);
		memcpy(block + off, &p, sizeof(p));
	}
	return true;
}

/* In the child: runs the launch. */
static int run_launch(const char *text, size_t size, const char *kernel, const struct race_alarm *a)
{
	struct cpu_options o = {.seed = 1,
				.threads = 1,
				.devices = 1,
				.sms = CPU_SMS,
				.memory = DEVICE_BYTES,
				.oracle = CPU_ORACLE_PROGRAM};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct watch w = {.a = a};
	struct cpu_fault fault;
	struct ptx_module *m = ptx_parse(&arena, "confirm", text, size, &sink);
	struct cpu_machine *machine = m ? cpu_machine_new(&o) : NULL;
	struct cpu_module *mod = machine ? cpu_module_load(machine, 0, &m, 1, &sink) : NULL;
	struct cpu_kernel *k = mod ? cpu_module_kernel(mod, kernel) : NULL;

	if (!k)
		return SAID_NOTHING;
	unsigned char *block = base_zalloc(&arena, cpu_kernel_param_bytes(k) + 8u);
	struct cpu_work work = {.kind = CPU_WORK_KERNEL};
	work.launch.kernel = k;
	memcpy(work.launch.grid, a->nctaid, sizeof(a->nctaid));
	memcpy(work.launch.block, a->ntid, sizeof(a->ntid));
	work.launch.params = block;
	work.launch.shared_dyn = CPU_SHARED_STATIC / 2;
	if (!fill_params(machine, k, a, block))
		return SAID_NOTHING;
	cpu_on_pair(machine, on_pair, &w);
	struct cpu_op *op = cpu_submit(machine, &work, NULL, 0, &fault);
	if (!op)
		return SAID_NOTHING;
	cpu_op_wait(op);
	cpu_fault_get(machine, 0, &fault);
	if (w.is_found)
		return SAID_CONFIRMED;
	return fault.kind == CPU_FAULT_NONE && !w.is_near ? SAID_NOT : SAID_NOTHING;
}

/* ---- the reproducer ------------------------------------------------------------------------ */

/* The parameter's type and number of a demangled name: "void k<4>(float*, int)". */
static const char *signature(const char *shown, const char **args)
{
	const char *name = !strncmp(shown, "void ", 5) ? shown + 5 : shown;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		depth += *p == '<';
		depth -= *p == '>';
		if (*p == '(' && !depth) {
			*args = p;
			return name;
		}
	}
	return NULL;
}

static bool write_reproducer(const struct race_proof *k, const struct race_alarm *a,
			     const char *source, const char *path)
{
	const char *args = NULL, *name = signature(k->name_shown, &args);
	struct base_buf b = {0};
	char *real = realpath(source, NULL);
	int err;

	if (!name || !real || strstr(k->name_shown, "(anonymous")) {
		free(real);
		return false;
	}
	base_buf_printf(&b,
			"// A launch that races, found by collider prove: lines %u and %u.\n"
			"//   collider nvcc -o race %s && collider run --seed=1 "
			"--detector=oracle ./race\n"
			"#define main collider_main_of_the_program\n"
			"#include \"%s\"\n"
			"#undef main\n"
			"#include <cstdio>\n#include <cstring>\n\n"
			"int main()\n{\n"
			"\tvoid (*kernel)%s = %.*s;\n"
			"\tcudaFuncAttributes attributes;\n"
			"\tunsigned char block[4096] = {0};\n"
			"\tvoid *args[256];\n"
			"\tsize_t offset, size, n = 0;\n",
			a->side[0].line, a->side[1].line, path, real, args, (int)(args - name),
			name);
	base_buf_puts(&b, "\tstatic const struct { size_t offset, size; unsigned long long "
			  "value; } given[] = {\n");
	for (uint32_t i = 0; i < a->nparams; i++)
		base_buf_printf(&b, "\t\t{%llu, %u, %lluull},\n",
				(unsigned long long)a->param[i].off, a->param[i].bytes,
				(unsigned long long)a->param[i].value);
	base_buf_printf(
		&b,
		"\t\t{4096, 0, 0}};\n"
		"\tcudaFuncGetAttributes(&attributes, (const void *)kernel);\n"
		"\twhile (n < 256 && cudaFuncGetParamInfo((const void *)kernel, n, &offset, &size) "
		"== cudaSuccess) {\n"
		"\t\tbool is_given = false;\n"
		"\t\tfor (auto &g : given) {\n"
		"\t\t\tif (g.offset < offset || g.offset >= offset + size)\n\t\t\t\tcontinue;\n"
		"\t\t\tmemcpy(block + g.offset, &g.value, g.size);\n"
		"\t\t\tis_given = true;\n\t\t}\n"
		"\t\tif (!is_given && size == 8) { // an array of zeros\n"
		"\t\t\tvoid *p;\n"
		"\t\t\tcudaMalloc(&p, %zu);\n\t\t\tcudaMemset(p, 0, %zu);\n"
		"\t\t\tmemcpy(block + offset, &p, sizeof(p));\n\t\t}\n"
		"\t\targs[n++] = block + offset;\n\t}\n"
		"\tcudaLaunchKernel((const void *)kernel, dim3(%u, %u, %u), dim3(%u, %u, %u), "
		"args, "
		"%u, 0);\n"
		"\tprintf(\"%%s\\n\", cudaGetErrorString(cudaDeviceSynchronize()));\n"
		"\treturn 0;\n}\n",
		ARRAY_BYTES, ARRAY_BYTES, a->nctaid[0], a->nctaid[1], a->nctaid[2], a->ntid[0],
		a->ntid[1], a->ntid[2], CPU_SHARED_STATIC / 2);
	err = base_write_file(path, b.p, b.n);
	if (err)
		base_say("--reproducer: %s: %s", path, strerror(err));
	base_buf_free(&b);
	free(real);
	return !err;
}

/* ---- all alarms ---------------------------------------------------------------------------- */

static bool is_small(const struct race_alarm *a)
{
	uint64_t n = 1;

	for (unsigned d = 0; d < 3; d++) {
		if (!a->ntid[d] || !a->nctaid[d] || a->ntid[d] > MAX_THREADS ||
		    a->nctaid[d] > MAX_THREADS)
			return false;
		n *= (uint64_t)a->ntid[d] * a->nctaid[d];
		if (n > MAX_THREADS)
			return false;
	}
	return true;
}

static enum race_confirmed confirm(const char *text, size_t size, const char *kernel,
				   const struct race_alarm *a)
{
	int status = 0;

	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return RACE_NOT_TRIED;
	if (!pid) {
		alarm(SECONDS);
		_exit(run_launch(text, size, kernel, a));
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status))
		return RACE_NOT_TRIED;
	return WEXITSTATUS(status) == SAID_CONFIRMED ? RACE_CONFIRMED
	       : WEXITSTATUS(status) == SAID_NOT     ? RACE_NOT_CONFIRMED
						     : RACE_NOT_TRIED;
}

void prove_confirm(struct race_proofs *r, const char *text, size_t size, const char *source,
		   const char *dir)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->kernels.n; i++) {
		struct race_proof *k = &r->kernels.v[i];
		for (size_t j = 0; j < k->alarms.n; j++) {
			struct race_alarm *a = &k->alarms.v[j];
			if (!a->has_launch || !is_small(a))
				continue;
			a->confirmed = confirm(text, size, k->name, a);
			if (a->confirmed != RACE_CONFIRMED || !dir || !source)
				continue;
			const char *path = base_printf(&r->arena, "%s/race%u.cu", dir, ++n);
			if (write_reproducer(k, a, source, path))
				a->reproducer = path;
		}
	}
}
