/*
 * confirm.c - runs the launches of alarms on the CPU device under the oracle (confirm.h).
 *
 * prove doesn't know the CPU device; this file connects the two. Each alarm with a launch of at
 * most MAX_THREADS threads runs in a child process with a time limit: the same PTX, arrays of zeros
 * for the pointers, the model's scalars. The oracle judges by happens-before, so one run is enough
 * where values don't decide. If it finds the alarm's two instructions unordered, the alarm is
 * confirmed. If it doesn't find a potential alarm, the contents that the model chose for arrays are
 * tried, then mixed small numbers, which sorts and searches need. A potential alarm that is
 * confirmed stays potential: it raced with one input, and the analysis assumes none.
 *
 * Misses: structures as parameters (they are zero); launches that need clusters or cooperation.
 * Costs: a process and a CPU device for each alarm.
 */
#include "confirm/confirm.h"
#include "cpu/cpu.h"
#include "race/file/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS  65536
#define MAX_SEEDS    6
#define SECONDS	     20
#define CALL_DEPTH   8
#define ARRAY_BYTES  CONFIRM_ARRAY_BYTES
#define DEVICE_BYTES ((uint64_t)2 << 30)

enum { SAID_CONFIRMED = 40, SAID_NOT, SAID_NOTHING };

/* A launch to run. */
struct trial {
	const char *text; /* the PTX, of `size` bytes */
	size_t size;
	const char *kernel; /* mangled */
	const struct race_alarm *a;
	enum race_filled filled;
	unsigned seed; /* of the schedule */
};

struct watch {
	const struct race_alarm *a;
	const struct ptx_module *m;
	bool is_found, is_near; /* near: the same instructions, other threads */
};

/* Are the two threads as far apart as the alarm says? */
static bool is_level(const struct race_pair *p, enum race_level level)
{
	bool same_block = !memcmp(p->side[0].block, p->side[1].block, sizeof(p->side[0].block));
	bool same_warp = same_block && p->side[0].warp == p->side[1].warp;

	return level == RACE_LEVEL_WARP ? same_warp : same_block == (level == RACE_LEVEL_BLOCK);
}

static bool is_within(const struct ptx_func *f, uint32_t line)
{
	return f->first && line >= f->first->line && line <= f->last->line;
}

/* Is a line in a function that a statement calls, also through others? */
static bool is_called(const struct ptx_module *m, const struct ptx_stmt *call, uint32_t line,
		      unsigned depth)
{
	ptx_each_item(m, it)
	{
		bool is_callee = false;
		for (uint32_t i = 0; i < call->nops && it->kind == PTX_ITEM_FUNC; i++)
			is_callee |= call->ops[i].kind == PTX_OPND_SYM &&
				     ptx_str_eq(call->ops[i].text, it->func->name);
		if (!is_callee)
			continue;
		if (is_within(it->func, line))
			return true;
		ptx_each_stmt(it->func, s) if (s->form && s->form->op == PTX_OP_CALL && depth &&
					       is_called(m, s, line, depth - 1)) return true;
	}
	return false;
}

/* Does the alarm's line stand for the oracle's? That of a call stands for the copy within, where
 * prove knew the function by its name. */
static bool is_line(const struct watch *w, uint32_t alarm, uint32_t oracle)
{
	if (alarm == oracle)
		return true;
	ptx_each_item(w->m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || !is_within(it->func, alarm))
			continue;
		ptx_each_stmt(it->func, s)
		{
			if (s->line == alarm && s->form && s->form->op == PTX_OP_CALL)
				return is_called(w->m, s, oracle, CALL_DEPTH);
		}
	}
	return false;
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
	uint32_t a = p->side[0].ptx_line, b = p->side[1].ptx_line;

	bool is_it =
		(is_line(w, x, a) && is_line(w, y, b)) || (is_line(w, y, a) && is_line(w, x, b));
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

/* What the array behind the parameter at `off` holds. False: it is too small for that. */
static bool fill_array(const struct trial *t, uint32_t off, unsigned char *array)
{
	const struct race_alarm *a = t->a;

	memset(array, 0, ARRAY_BYTES);
	for (uint32_t i = 0; i < ARRAY_BYTES / 4 && t->filled == RACE_FILLED_MIXED; i++)
		memcpy(array + 4 * i, &(uint32_t){RACE_MIXED_WORD(i)}, 4);
	if (t->filled != RACE_FILLED_CONTENTS)
		return true;
	for (uint32_t i = 0; i < a->ncontents; i++) {
		const struct race_alarm_content *c = &a->content[i];
		if (c->param != off)
			continue;
		if (c->at > ARRAY_BYTES - c->bytes || c->bytes > 8)
			return false;
		memcpy(array + c->at, &c->value, c->bytes);
	}
	return true;
}

/* Pointers get arrays; everything else the model's values, or zero. */
static bool fill_params(struct cpu_machine *m, struct cpu_kernel *k, const struct trial *t,
			unsigned char *block)
{
	const struct race_alarm *a = t->a;
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
		if (!fill_array(t, off, p))
			return false;
		memcpy(block + off, &p, sizeof(p));
	}
	return true;
}

/* In the child: runs the launch. */
static int run_launch(const struct trial *t)
{
	const struct race_alarm *a = t->a;
	struct cpu_options o = {.seed = t->seed,
				.threads = 1,
				.devices = 1,
				.sms = CPU_SMS,
				.memory = DEVICE_BYTES,
				.oracle = CPU_ORACLE_PROGRAM};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct watch w = {.a = a};
	struct cpu_kernel_info info;
	struct cpu_fault fault;
	struct ptx_module *m = ptx_parse(&arena, "confirm", t->text, t->size, &sink);
	struct cpu_machine *machine = m ? cpu_machine_new(&o) : NULL;
	struct cpu_module *mod = machine ? cpu_module_load(machine, 0, &m, 1, &sink) : NULL;
	struct cpu_kernel *k = mod ? cpu_module_kernel(mod, t->kernel) : NULL;

	if (!k)
		return SAID_NOTHING;
	w.m = m;
	unsigned char *block = base_zalloc(&arena, cpu_kernel_param_bytes(k) + 8u);
	struct cpu_work work = {.kind = CPU_WORK_KERNEL};
	work.launch.kernel = k;
	memcpy(work.launch.grid, a->nctaid, sizeof(a->nctaid));
	memcpy(work.launch.block, a->ntid, sizeof(a->ntid));
	work.launch.params = block;
	cpu_kernel_get_info(k, &info);
	if (info.shared_static < CPU_SHARED_STATIC)
		work.launch.shared_dyn = CPU_SHARED_STATIC - info.shared_static;
	if (!fill_params(machine, k, t, block))
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

static enum race_confirmed confirm(const struct trial *t)
{
	int status = 0;

	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return RACE_NOT_TRIED;
	if (!pid) {
		alarm(SECONDS);
		_exit(run_launch(t));
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!WIFEXITED(status))
		return RACE_NOT_TRIED;
	return WEXITSTATUS(status) == SAID_CONFIRMED ? RACE_CONFIRMED
	       : WEXITSTATUS(status) == SAID_NOT     ? RACE_NOT_CONFIRMED
						     : RACE_NOT_TRIED;
}

/*
 * A true alarm races whatever memory holds; a potential one may need more than zeros. Where
 * something may order the two, whether it does may depend on the schedule.
 */
static void try_contents(struct trial *t, struct race_alarm *a)
{
	for (int f = RACE_FILLED_ZEROS; f <= RACE_FILLED_MIXED; f++) {
		if (f == RACE_FILLED_CONTENTS && !a->ncontents)
			continue;
		t->filled = a->filled = (enum race_filled)f;
		for (t->seed = 1; t->seed <= (*a->order ? MAX_SEEDS : 1); t->seed++) {
			enum race_confirmed x = confirm(t);
			if (x == RACE_CONFIRMED || (f == RACE_FILLED_ZEROS && t->seed == 1))
				a->confirmed = x;
			a->seed = t->seed;
			if (x == RACE_CONFIRMED)
				return;
		}
		if (a->is_true)
			return;
	}
}

void confirm_alarms(struct race_proofs *r, const char *text, size_t size,
		    const struct confirm_source *src, const char *dir)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->kernels.n; i++) {
		struct race_proof *k = &r->kernels.v[i];
		for (size_t j = 0; j < k->alarms.n; j++) {
			struct race_alarm *a = &k->alarms.v[j];
			if (!a->has_launch || !is_small(a))
				continue;
			try_contents(
				&(struct trial){
					.text = text, .size = size, .kernel = k->name, .a = a},
				a);
			if (a->confirmed != RACE_CONFIRMED || !dir || !src)
				continue;
			const char *path = base_printf(&r->arena, "%s/race%u.cu", dir, ++n);
			if (confirm_reproduce(k, a, src, path, &r->arena))
				a->reproducer = path;
		}
	}
}
