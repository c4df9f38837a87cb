/*
 * confirm.c - runs the launches of alarms on the CPU device under the oracle (confirm.h).
 *
 * prove doesn't know the CPU device; this file connects the two. The launch of an alarm runs in a
 * child process with a time limit: the same PTX, arrays of zeros for the pointers, the model's
 * scalars. The oracle judges by happens-before, so one run is enough where values don't decide. If
 * it finds the alarm's two instructions unordered, the alarm is confirmed, and so is each other
 * one of the same launch whose instructions it finds. If it doesn't find a potential alarm, the
 * contents that the model chose for arrays are tried, then mixed small numbers, which sorts and
 * searches need, and words that hold their own numbers, so that arrays are sorted and have no
 * element twice; only those that keep what is assumed of contents. A potential alarm that is
 * confirmed stays potential: it raced with one input, and the analysis assumes none.
 *
 * A few blocks run first, the alarm's own among them: the others of that launch may begin when
 * these have ended, so what is found is the launch's. All of them run where it has at most
 * MAX_THREADS threads.
 *
 * Misses: structures as parameters (they are zero); launches that need clusters or cooperation.
 * Without being asked for it is tried of potential alarms alone, and in less time.
 *
 * Costs: a process and a CPU device for each alarm and each contents, until one confirms it; at
 * most KERNEL_SECONDS of processor time for a kernel, and what the last run needs.
 */
#include "confirm/confirm.h"
#include "cpu/cpu.h"
#include "race/file/pair.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS    65536
#define MAX_SEEDS      6
#define MAX_CHOSEN     7
#define SECONDS	       20
#define KERNEL_SECONDS 60
#define CALL_DEPTH     8
#define ARRAY_BYTES    CONFIRM_ARRAY_BYTES
#define DEVICE_BYTES   ((uint64_t)2 << 30)

enum { SAID_CONFIRMED = 40, SAID_NOT, SAID_NOTHING };

/* A launch to run. */
struct trial {
	const char *text; /* the PTX, of `size` bytes */
	size_t size;
	struct race_proof *k;
	const struct race_alarm *a; /* one of its */
	enum race_filled filled;
	unsigned seed;	/* of the schedule */
	bool is_chosen; /* a few blocks only */
	bool *is_found; /* by alarm of the kernel, shared with the child */
	bool may_choose;
	bool is_brief;	/* it ends when they are over */
	double seconds; /* that are left */
};

struct watch {
	const struct trial *t;
	const struct ptx_module *m;
	bool is_near; /* the alarm's instructions, other threads */
};

/* Are the two threads as far apart as the alarm says? */
static bool is_level(const struct race_pair *p, enum race_level level)
{
	bool same_block = !memcmp(p->side[0].block, p->side[1].block, sizeof(p->side[0].block));
	bool same_warp = same_block && p->side[0].warp == p->side[1].warp;

	if (level == RACE_LEVEL_THREAD)
		return same_block &&
		       !memcmp(p->side[0].thread, p->side[1].thread, sizeof(p->side[0].thread));
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
static bool is_line(const struct ptx_module *m, uint32_t alarm, uint32_t oracle)
{
	if (alarm == oracle)
		return true;
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || !is_within(it->func, alarm))
			continue;
		ptx_each_stmt(it->func, s)
		{
			if (s->line == alarm && s->form && s->form->op == PTX_OP_CALL)
				return is_called(m, s, oracle, CALL_DEPTH);
		}
	}
	return false;
}

/* Are the two sides the alarm's instructions, in either order? */
static bool is_pair(const struct ptx_module *m, const struct race_alarm *al,
		    const struct race_pair *p)
{
	uint32_t x = al->side[0].ptx_line, y = al->side[1].ptx_line;
	uint32_t a = p->side[0].ptx_line, b = p->side[1].ptx_line;

	return (is_line(m, x, a) && is_line(m, y, b)) || (is_line(m, y, a) && is_line(m, x, b));
}

static bool has_equal_contents(const struct race_alarm *a, const struct race_alarm *b)
{
	if (a->ncontents != b->ncontents)
		return false;
	for (uint32_t i = 0; i < a->ncontents; i++) {
		const struct race_alarm_content *x = &a->content[i], *y = &b->content[i];
		if (x->param != y->param || x->at != y->at || x->value != y->value ||
		    x->bytes != y->bytes)
			return false;
	}
	return true;
}

/* Is what runs the launch of another alarm, too? */
static bool is_its_launch(const struct trial *t, const struct race_alarm *b)
{
	const struct race_alarm *a = t->a;

	if (!b->has_launch || memcmp(a->ntid, b->ntid, sizeof(a->ntid)) != 0 ||
	    memcmp(a->nctaid, b->nctaid, sizeof(a->nctaid)) != 0 || a->nparams != b->nparams)
		return false;
	for (uint32_t i = 0; i < a->nparams; i++)
		if (a->param[i].off != b->param[i].off || a->param[i].value != b->param[i].value ||
		    a->param[i].bytes != b->param[i].bytes)
			return false;
	return t->filled != RACE_FILLED_CONTENTS || has_equal_contents(a, b);
}

/*
 * The oracle reports a pair of instructions once, for the first threads that it sees; if these are
 * not the alarm's, the alarm stays unconfirmed.
 */
static struct race_pair *on_pair(void *arg, const struct race_pair *p, size_t bytes)
{
	struct watch *w = arg;
	const struct trial *t = w->t;

	for (size_t i = 0; i < t->k->alarms.n; i++) {
		const struct race_alarm *al = &t->k->alarms.v[i];
		if ((al != t->a && !is_its_launch(t, al)) || !is_pair(w->m, al, p))
			continue;
		t->is_found[i] |= is_level(p, al->level);
		w->is_near |= al == t->a;
	}
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
	for (uint32_t i = 0; i < ARRAY_BYTES / 4 && t->filled == RACE_FILLED_COUNTED; i++)
		memcpy(array + 4 * i, &i, 4);
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

/* The alarm's blocks, those after them, the first and the last: their numbers, rising. */
static uint64_t choose(const struct race_alarm *a, uint64_t *chosen)
{
	uint64_t all = (uint64_t)a->nctaid[0] * a->nctaid[1] * a->nctaid[2], n = 0;
	uint64_t want[MAX_CHOSEN] = {0, 1, all - 1};

	for (unsigned i = 0; i < 2; i++) {
		const uint32_t *at = a->side[i].ctaid;
		want[3 + i] = at[0] + a->nctaid[0] * (at[1] + (uint64_t)a->nctaid[1] * at[2]);
		want[5 + i] = want[3 + i] + 1;
	}
	for (unsigned i = 0; i < MAX_CHOSEN; i++) {
		uint64_t k = 0;
		while (k < n && chosen[k] < want[i])
			k++;
		if (want[i] >= all || (k < n && chosen[k] == want[i]))
			continue;
		memmove(chosen + k + 1, chosen + k, (n - k) * sizeof(*chosen));
		chosen[k] = want[i];
		n++;
	}
	return n;
}

/* Without such a variable an address beyond the others is outside of the block's memory. */
static bool has_dynamic_shared(const struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_VAR && it->var->space == PTX_SPACE_SHARED &&
		    (it->var->linkage & PTX_LINK_EXTERN))
			return true;
	}
	return false;
}

/* The functions by which the kernels assume something; NULL: they don't, or define them. */
static struct ptx_module *parse_assume(struct base_arena *arena, const struct ptx_module *m,
				       struct base_sink *sink)
{
	struct ptx_module *a =
		ptx_parse(arena, "assume", confirm_assume_ptx, strlen(confirm_assume_ptx), sink);
	bool is_called = false;

	ptx_each_item(m, it)
	{
		for (const struct ptx_item *own = a ? a->first : NULL; own; own = own->next)
			is_called |= own->kind == PTX_ITEM_FUNC && it->kind == PTX_ITEM_FUNC &&
				     it->func->linkage & PTX_LINK_EXTERN &&
				     ptx_str_eq(own->func->name, it->func->name);
	}
	return is_called ? a : NULL;
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
	struct watch w = {.t = t};
	uint64_t chosen[MAX_CHOSEN];
	struct cpu_kernel_info info;
	struct cpu_fault fault;
	struct ptx_module *m = ptx_parse(&arena, "confirm", t->text, t->size, &sink);
	struct ptx_module *parts[2] = {m, m ? parse_assume(&arena, m, &sink) : NULL};
	struct cpu_machine *machine = m ? cpu_machine_new(&o) : NULL;
	struct cpu_module *mod =
		machine ? cpu_module_load(machine, 0, parts, parts[1] ? 2 : 1, &sink) : NULL;
	struct cpu_kernel *k = mod ? cpu_module_kernel(mod, t->k->name) : NULL;

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
	if (has_dynamic_shared(m) && info.shared_static < CPU_SHARED_STATIC)
		work.launch.shared_dyn = CPU_SHARED_STATIC - info.shared_static;
	if (!fill_params(machine, k, t, block))
		return SAID_NOTHING;
	if (t->is_chosen && !info.cluster[0]) {
		work.launch.chosen = chosen;
		work.launch.nchosen = choose(a, chosen);
	}
	cpu_on_pair(machine, on_pair, &w);
	struct cpu_op *op = cpu_submit(machine, &work, NULL, 0, &fault);
	if (!op)
		return SAID_NOTHING;
	cpu_op_wait(op);
	cpu_fault_get(machine, 0, &fault);
	/* an access outside of its array, an assumption that is broken: no launch of the contract
	 * with these contents */
	if (!a->is_true &&
	    (fault.kind == CPU_FAULT_ADDRESS || (parts[1] && fault.kind == CPU_FAULT_TRAP))) {
		for (size_t i = 0; i < t->k->alarms.n; i++)
			t->is_found[i] &= t->k->alarms.v[i].is_true;
		return SAID_NOTHING;
	}
	if (t->is_found[a - t->k->alarms.v])
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

/* Do such contents keep to what is assumed? A true alarm needs none. */
static bool is_kept(const struct race_proof *k, const struct race_alarm *a, enum race_filled filled)
{
	uint8_t broken = RACE_RESTS_OTHER;

	if (filled == RACE_FILLED_ZEROS)
		broken |= RACE_RESTS_INJECTIVE;
	else if (filled != RACE_FILLED_COUNTED)
		broken |= RACE_RESTS_INJECTIVE | RACE_RESTS_SORTED;
	return a->is_true || !(k->rests_on & broken);
}

/* Must all threads run, so that it is seen that none breaks an assumption? */
static bool asks_threads(const struct race_proof *k, const struct race_alarm *a)
{
	return !a->is_true && k->rests_on & RACE_RESTS_THREADS;
}

/* Others that the launch has confirmed by the way. */
static void confirm_others(const struct trial *t)
{
	for (size_t i = 0; i < t->k->alarms.n; i++) {
		struct race_alarm *al = &t->k->alarms.v[i];
		if (!t->is_found[i] || al == t->a || al->confirmed == RACE_CONFIRMED ||
		    !is_kept(t->k, al, t->filled) || (t->is_chosen && asks_threads(t->k, al)))
			continue;
		al->confirmed = RACE_CONFIRMED;
		al->filled = t->filled;
		al->seed = t->seed;
	}
}

/* A run's time in its process: of the processor where it is to be brief. */
static void limit(const struct trial *t)
{
	time_t whole = (time_t)t->seconds;
	suseconds_t rest = (suseconds_t)((t->seconds - (double)whole) * 1e6) + 1;
	struct itimerval left = {.it_value = {whole, rest < 1000000 ? rest : 999999}};

	alarm(SECONDS);
	if (t->is_brief)
		setitimer(ITIMER_PROF, &left, NULL);
}

static enum race_confirmed confirm(struct trial *t)
{
	struct rusage used;
	int status = 0;

	if (t->seconds <= 0)
		return RACE_NOT_TRIED;
	memset(t->is_found, 0, t->k->alarms.n);
	fflush(NULL);
	pid_t pid = fork();
	if (pid < 0)
		return RACE_NOT_TRIED;
	if (!pid) {
		limit(t);
		_exit(run_launch(t));
	}
	while (wait4(pid, &status, 0, &used) < 0 && errno == EINTR)
		;
	t->seconds -= (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
		      (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
	confirm_others(t);
	if (t->is_found[t->a - t->k->alarms.v])
		return RACE_CONFIRMED;
	return WIFEXITED(status) && WEXITSTATUS(status) == SAID_NOT ? RACE_NOT_CONFIRMED
								    : RACE_NOT_TRIED;
}

/* With these contents: a few blocks, then all of a small launch. Where something may order the two,
 * whether it does may depend on the schedule. */
static bool try_filled(struct trial *t, struct race_alarm *a, enum race_filled filled)
{
	enum race_confirmed x = RACE_NOT_TRIED;

	t->filled = a->filled = filled;
	t->seed = a->seed = 1;
	t->is_chosen = !is_small(a) || (t->may_choose && !asks_threads(t->k, a));
	if (t->is_chosen && asks_threads(t->k, a))
		return false;
	if (t->is_chosen)
		x = confirm(t);
	t->is_chosen = false;
	for (; x != RACE_CONFIRMED && is_small(a) && t->seed <= (*a->order ? MAX_SEEDS : 1);
	     t->seed++) {
		a->seed = t->seed;
		x = confirm(t);
		if (filled == RACE_FILLED_ZEROS && t->seed == 1)
			a->confirmed = x;
	}
	if (x == RACE_CONFIRMED)
		a->confirmed = x;
	return x == RACE_CONFIRMED;
}

/* A true alarm races whatever memory holds; a potential one may need more than zeros. */
static void try_contents(struct trial *t, struct race_alarm *a)
{
	for (int f = RACE_FILLED_ZEROS; f <= RACE_FILLED_COUNTED; f++) {
		if ((f == RACE_FILLED_CONTENTS && !a->ncontents) ||
		    !is_kept(t->k, a, (enum race_filled)f))
			continue;
		if (try_filled(t, a, (enum race_filled)f) || a->is_true)
			return;
	}
}

/* Is a race that its launch shows, whatever arrays hold, one within the contract? */
static bool is_conclusive(const struct race_alarm *a)
{
	return a->is_within && !a->is_benign;
}

static bool can_run(const struct race_alarm *a)
{
	uint64_t blocks = 1;

	for (unsigned d = 0; d < 3; d++)
		if (__builtin_mul_overflow(blocks, (uint64_t)a->nctaid[d], &blocks))
			return false;
	return a->has_launch && blocks && a->ntid[0] && a->ntid[1] && a->ntid[2];
}

/* True: *t is ready for a kernel's alarms. */
static bool open_trial(struct trial *t, struct race_proof *k, const char *text, size_t size,
		       double seconds)
{
	*t = (struct trial){.text = text, .size = size, .k = k, .seconds = seconds};
	t->is_found = mmap(NULL, k->alarms.n + 1, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return t->is_found != MAP_FAILED;
}

static void close_trial(struct trial *t)
{
	munmap(t->is_found, t->k->alarms.n + 1);
}

void confirm_alarms(struct race_proofs *r, const char *text, size_t size,
		    const struct confirm_source *src, const char *dir)
{
	unsigned n = 0;

	for (size_t i = 0; i < r->kernels.n; i++) {
		struct race_proof *k = &r->kernels.v[i];
		struct trial t;
		if (!open_trial(&t, k, text, size, KERNEL_SECONDS))
			return;
		/* a reproducer launches all blocks */
		t.may_choose = !dir;
		for (size_t j = 0; j < k->alarms.n; j++) {
			struct race_alarm *a = &k->alarms.v[j];
			t.a = a;
			if (can_run(a) && a->confirmed != RACE_CONFIRMED)
				try_contents(&t, a);
			if (a->confirmed != RACE_CONFIRMED || !dir || !src || !is_small(a))
				continue;
			const char *path = base_printf(&r->arena, "%s/race%u.cu", dir, ++n);
			if (confirm_reproduce(k, a, src, path, &r->arena))
				a->reproducer = path;
		}
		close_trial(&t);
	}
}

/* Hundredths of the time limit that potential alarms have. */
#define POTENTIAL_SHARE 10

void confirm_potential(struct race_proofs *r, const char *text, size_t size, unsigned timeout_ms)
{
	for (size_t i = 0; i < r->kernels.n; i++) {
		struct race_proof *k = &r->kernels.v[i];
		uint64_t most = (uint64_t)timeout_ms * POTENTIAL_SHARE / 100;
		uint64_t left = timeout_ms > k->ms ? timeout_ms - k->ms : 0;
		bool has_true = false;
		struct trial t;
		for (size_t j = 0; j < k->alarms.n; j++)
			has_true |= k->alarms.v[j].is_true;
		if (has_true || !k->may_hold_any || !k->alarms.n ||
		    !open_trial(&t, k, text, size, (double)(most < left ? most : left) / 1000))
			continue;
		t.may_choose = t.is_brief = true;
		for (size_t j = 0; j < k->alarms.n; j++) {
			struct race_alarm *a = &k->alarms.v[j];
			t.a = a;
			if (is_conclusive(a) && can_run(a) && a->confirmed != RACE_CONFIRMED)
				try_contents(&t, a);
			if (a->confirmed == RACE_NOT_CONFIRMED)
				a->confirmed = RACE_NOT_TRIED;
		}
		close_trial(&t);
	}
}
