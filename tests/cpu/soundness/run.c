/*
 * run.c - runs one program on the CPU device and judges it.
 *
 * The PTX is instrumented in this process. Of a race-free program neither collide nor the oracle
 * may say anything, and its memory must be the expected one. Of a racy one each report of collide
 * must stand on the source line (each access has its own) of a pair that the oracle found in the
 * same run, and each planted race must be among the oracle's pairs. Where the oracle doesn't judge
 * a model, racy programs are only run.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "run.h"

#include "history.h"
#include "second.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instrument/instrument.h"
#include "race/layout/iguard.h"
#include "race/layout/watch.h"
#include "race/layout/history.h"
#include "race/file/pair.h"
#include "race/race.h"

#define LINES	 512u
#define SLOT	 16u /* bytes of a thread's own */
#define PAIRS	 512u
#define DELAY_NS 3000u

const char *const run_verdict_names[RUN_VERDICTS] = {
	"fine",
	"a fault",
	"a wrong result",
	"another result when instrumented",
	"the detector reports a race in a race-free program",
	"the oracle finds a race in a race-free program",
	"the oracle doesn't confirm a report",
	"the oracle misses a planted race",
	"a detector with history has not found a race of its model",
	"the oracle has not judged all",
};
const char *const run_model_names[] = {"sc", "weak", "a1"};

struct run {
	const struct program *p;
	const struct run_config *c;
	struct cpu_machine *m;
	struct cpu_module *mod;
	unsigned char *mem;
	struct race_rt *rt;
	struct race_record *records;
	struct race_sites sites;
	bool has_sites;
	struct race_knobs *knobs;
	struct race_watch *watch;   /* of detector watch: the same block */
	struct race_history *block; /* of hirace or iguard, in place of collide */
	bool is_guard;
	struct history history;
	unsigned pair[PAIRS][2]; /* source lines of the oracle's pairs */
	struct race_pair_side side[PAIRS][2];
	bool on_line[LINES];		   /* is one of them here? */
	bool certain[LINES], found[LINES]; /* has the detector reported a data race, anything? */
	struct run_result r;
};

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "soundness: %s\n", what);
	exit(2);
}

/* Volatile accesses that count on lockstep: no data race in PTX, a class of its own. */
static bool is_lockstep(const struct race_pair *pair)
{
	const struct race_pair_side *a = &pair->side[0], *b = &pair->side[1];

	return a->flags & b->flags & RACE_SIDE_VOLATILE && a->address == b->address &&
	       a->bytes == b->bytes;
}

static struct race_pair *on_pair(void *arg, const struct race_pair *pair, size_t bytes)
{
	struct run *x = arg;

	(void)bytes;
	if (is_lockstep(pair))
		return NULL;
	if (x->r.pairs == PAIRS)
		die("too many pairs");
	for (unsigned i = 0; i < 2; i++) {
		unsigned line = pair->side[i].line;
		x->pair[x->r.pairs][i] = line;
		x->side[x->r.pairs][i] = pair->side[i];
		if (line < LINES)
			x->on_line[line] = true;
	}
	if (!x->r.pairs++)
		snprintf(x->r.text, sizeof(x->r.text), "lines %u and %u", pair->side[0].line,
			 pair->side[1].line);
	return NULL;
}

static void on_symbol(const char *name, uint64_t addr, uint64_t bytes, void *arg)
{
	struct run *x = arg;
	void *p = (void *)(uintptr_t)addr;

	if (!strcmp(name, RACE_WATCH_SYMBOL))
		x->watch = p;
	if (!strcmp(name, RACE_KNOBS_SYMBOL) || !strcmp(name, RACE_WATCH_SYMBOL))
		x->knobs = p;
	else if (!strcmp(name, RACE_HISTORY_SYMBOL) || !strcmp(name, RACE_IGUARD_SYMBOL)) {
		x->block = p;
		x->is_guard = !strcmp(name, RACE_IGUARD_SYMBOL);
	} else if (!strncmp(name, RACE_SITES_PREFIX, strlen(RACE_SITES_PREFIX)))
		x->has_sites = !race_sites_decode(p, bytes, &x->sites);
}

static void *pages(size_t bytes)
{
	bytes = (bytes + 4095) & ~(size_t)4095;
	void *p = aligned_alloc(4096, bytes);

	if (!p)
		die("no memory");
	memset(p, 0, bytes);
	return p;
}

static void set_up_collide(struct run *x)
{
	size_t nrecords = sizeof(struct race_record) * RACE_SLOTS;

	cpu_module_each_symbol(x->mod, on_symbol, x);
	if ((!x->knobs && !x->block) || !x->has_sites)
		die("the instrumented module has no knobs or no site table");
	x->rt = pages(sizeof(*x->rt));
	x->records = pages(nrecords);
	if (!cpu_mem_register(x->m, x->rt, sizeof(*x->rt)) ||
	    !cpu_mem_register(x->m, x->records, nrecords))
		die("memory for reports was refused");
	x->rt->records = (uint64_t)(uintptr_t)x->records;
	if (x->block) {
		if (!history_begin(&x->history, x->m, x->block, (uint64_t)(uintptr_t)x->rt,
				   x->is_guard, x->c->seed & 1))
			die("no address space for history words");
		return;
	}
	x->knobs->rt = (uint64_t)(uintptr_t)x->rt;
	if (x->watch)
		x->watch->table = (uint64_t)(uintptr_t)&x->rt->watch;
	x->knobs->rsleep = x->knobs->wsleep = DELAY_NS;
	x->knobs->sample = 1;
	x->knobs->seed = (uint32_t)x->c->seed;
	x->knobs->dense = RACE_DENSE_ALL;
	x->knobs->sparse = UINT32_MAX;
}

/* ---- PTX --------------------------------------------------------------------------------- */

/* The first ']' of a line that reads again, or NULL. */
static const char *reread_of(const char *line, const char *end)
{
	static const char reread[] = "\tld.relaxed.sys";
	const char *at = memchr(line, ']', (size_t)(end - line));
	const char *ours = strstr(line, "%collider_");

	return at && ours && ours < at && !strncmp(line, reread, strlen(reread)) ? at : NULL;
}

/*
 * Self-test. RUN_REREAD: each re-read reads 16 bytes beside the access. RUN_VALUE: each thread's
 * result is changed before it is stored.
 */
static void damage(struct base_buf *text, enum run_damage how)
{
	static const char result[] = "\tst.global.u64 [%at+16384]";
	struct base_buf out = {0};

	base_buf_put(text, "", 1);
	for (const char *p = text->p, *end; *p; p = end) {
		end = strchr(p, '\n');
		end = end ? end + 1 : p + strlen(p);
		const char *at = reread_of(p, end);
		if (how == RUN_VALUE && !strncmp(p, result, strlen(result)))
			base_buf_puts(&out, "\tadd.u64 %acc, %acc, 1;\n");
		if (how != RUN_REREAD || !at) {
			base_buf_put(&out, p, (size_t)(end - p));
			continue;
		}
		const char *plus = memchr(p, '+', (size_t)(at - p));
		long offset = plus ? strtol(plus, NULL, 10) : 0;
		base_buf_put(&out, p, (size_t)((plus ? plus : at) - p));
		base_buf_printf(&out, "+%ld", offset + 16);
		base_buf_put(&out, at, (size_t)(end - at));
	}
	base_buf_free(text);
	*text = out;
}

bool run_has_history(void)
{
	const char *detector = getenv("COLLIDER_SOUNDNESS");

	return detector && (!strncmp(detector, "hirace", 6) || !strcmp(detector, "iguard"));
}

void run_instrument(const struct program *p, enum run_damage how, struct base_buf *out)
{
	const char *detector = getenv("COLLIDER_SOUNDNESS");
	bool is_scratch = detector && !strcmp(detector, "hirace-scratch");
	bool is_hirace = detector && !strncmp(detector, "hirace", 6);
	bool is_iguard = detector && !strcmp(detector, "iguard");
	bool is_watch = detector && !strcmp(detector, "watch");
	struct inst_options opt = {.sanitize = is_hirace   ? RACE_DETECT(HIRACE)
					       : is_iguard ? RACE_DETECT(IGUARD)
					       : is_watch  ? RACE_DETECT(WATCH)
							   : RACE_DETECT(COLLIDE),
				   /* No room for a table: words of shared memory in scratch. */
				   .shared_room = is_scratch ? 1 : 0,
				   /* Half of the programs with what barriers alone show. */
				   .all_loads = p->text.n & 1,
				   .inline_groups = getenv("COLLIDER_CALLS") ? -1 : 0};
	struct inst_stats stats = {0};
	struct base_sink sink = {0};

	if (inst_text("random.ptx", p->text.p, p->text.n, &opt, out, &stats, &sink)) {
		base_sink_print(&sink, stderr);
		die("the program was not instrumented");
	}
	if (how != RUN_WHOLE)
		damage(out, how);
	base_sink_free(&sink);
}

/* ---- operations ---------------------------------------------------------------------------- */

static struct cpu_work work_of(struct run *x, const struct program_op *o, void **params)
{
	unsigned char *region = x->mem + (size_t)o->region * x->p->bytes;
	uint64_t at = (uint64_t)(uintptr_t)region;
	struct cpu_work w = {0};

	switch (o->kind) {
	case PROGRAM_KERNEL:
		params[0] = region;
		params[1] = x->mem + (size_t)x->p->regions * x->p->bytes;
		w.kind = CPU_WORK_KERNEL;
		w.launch.kernel = cpu_module_kernel(x->mod, o->kernel);
		if (!w.launch.kernel)
			die("a kernel that the module doesn't have");
		w.launch.params = params;
		for (unsigned i = 0; i < 3; i++) {
			w.launch.grid[i] = i < 2 ? o->grid[i] : 1;
			w.launch.block[i] = i < 2 ? o->block[i] : 1;
			w.launch.cluster[i] = o->cluster ? i ? 1 : o->cluster : 0;
		}
		break;
	case PROGRAM_COPY:
		w.kind = CPU_WORK_COPY;
		w.copy = (struct cpu_copy){.dst = at + o->dst,
					   .src = at + o->src,
					   .width = o->bytes,
					   .height = 1,
					   .depth = 1};
		break;
	case PROGRAM_FILL:
		w.kind = CPU_WORK_FILL;
		w.fill = (struct cpu_fill){.dst = at + o->dst,
					   .width = o->bytes,
					   .height = 1,
					   .depth = 1,
					   .value = o->value,
					   .size = 1};
		break;
	}
	return w;
}

static struct cpu_op *submit(struct run *x, const struct cpu_work *w, struct cpu_op **deps,
			     unsigned n)
{
	struct cpu_fault refused = {0};
	struct cpu_op *op = cpu_submit(x->m, w, deps, n, &refused);

	if (!op)
		die(refused.text);
	return op;
}

/* All are handed over before the first one starts, except for those that the host waits for. */
static void run_ops(struct run *x)
{
	struct cpu_op *ops[PROGRAM_OPS], *deps[PROGRAM_OPS];
	struct cpu_work empty = {.kind = CPU_WORK_EMPTY};
	void *params[2];

	for (unsigned i = 0; i < x->p->nops; i++) {
		const struct program_op *o = &x->p->op[i];
		unsigned n = 0;
		for (unsigned j = 0; j < i; j++) {
			if (!(o->after >> j & 1))
				continue;
			if (o->how == PROGRAM_HOST_WAITS)
				cpu_op_wait(ops[j]);
			else
				deps[n++] = ops[j];
		}
		struct cpu_op *event = NULL;
		if (o->how == PROGRAM_EVENT && n)
			event = submit(x, &empty, deps, n);
		struct cpu_work w = work_of(x, o, params);
		ops[i] = event ? submit(x, &w, &event, 1) : submit(x, &w, deps, n);
		if (event)
			cpu_op_put(event);
	}
	for (unsigned i = 0; i < x->p->nops; i++) {
		cpu_op_wait(ops[i]);
		cpu_op_put(ops[i]);
	}
}

/* ---- judgement ------------------------------------------------------------------------------- */

static bool is_within(unsigned line, const unsigned range[2])
{
	return line >= range[0] && line <= range[1];
}

static bool is_read(uint8_t access)
{
	return access == RACE_ACCESS_LOAD || access == RACE_ACCESS_NC_LOAD;
}

/*
 * Has the oracle found a race of this access? Of two accesses of one thread to a location it keeps
 * the later one, so either side of a report by history may be missing among its pairs: a check
 * comes a while after or before its access, and what is the later access for the detector may be
 * the earlier one. The second judge keeps them all, where only barriers order threads. Elsewhere
 * another access of the launch to the same bytes of a slot, in the same direction, will do. An
 * atomic is a write there: see is_write_reported.
 */
static bool is_paired(const struct run *x, const struct race_record *c, const struct race_site *s)
{
	if (s->line >= LINES)
		return false;
	if (x->on_line[s->line] || (x->block && second_has_raced(s->line)))
		return true;
	for (unsigned i = 0; i < 2u * x->r.pairs && x->block; i++) {
		const struct race_pair_side *o = &x->side[i / 2][i % 2];
		uint64_t from = o->address % SLOT, at = c->address % SLOT;
		if (o->grid == c->grid && is_read(o->access) == is_read(s->access) &&
		    at < from + o->bytes && from < at + (uint64_t)s->width * s->vec)
			return true;
	}
	return false;
}

/* Reports of the detector; false: one of them has no pair of the oracle (the text says which). */
static bool look_at_reports(struct run *x)
{
	bool is_confirmed = true;

	for (unsigned i = 0; i < RACE_SLOTS; i++) {
		const struct race_record *c = &x->records[i];
		struct race_site s = {0};
		if (c->valid != RACE_RECORD_VALID)
			continue;
		if (!race_sites_get(&x->sites, c->site, &s))
			die("a report names no site");
		for (unsigned j = 0; j < x->p->nplants; j++)
			if (is_within(s.line, x->p->plant[j].a) ||
			    is_within(s.line, x->p->plant[j].b))
				x->r.found |= 1u << j;
		if (s.line < LINES)
			x->found[s.line] = true;
		if (race_kinds[c->kind].cls >= RACE_CLASS_POSSIBLE) {
			x->r.possible++;
			continue;
		}
		x->r.reports++;
		if (s.line < LINES)
			x->certain[s.line] = true;
		for (unsigned j = 0; j < x->p->nplants; j++)
			if (is_within(s.line, x->p->plant[j].a) ||
			    is_within(s.line, x->p->plant[j].b))
				x->r.seen |= 1u << j;
		if (is_paired(x, c, &s))
			continue;
		is_confirmed = false;
		snprintf(x->r.text, sizeof(x->r.text), "%s at line %u: %s", race_kind_name(c->kind),
			 s.line, race_sites_text(&x->sites, s.text));
	}
	if (x->rt->overflow)
		die("too many reports");
	return is_confirmed;
}

/*
 * What hirace doesn't judge, of the planted races (docs/hirace.md): memory of other blocks of a
 * cluster, asynchronous copies, copies of the host, strong accesses that differ in size, a store
 * after the last strong load that was checked. A scope of .cluster counts as .gpu.
 */
static bool is_outside(const struct program *p, const char *what)
{
	static const char *const outside[] = {"cluster/", "copy/",    "bulk/",	  "launch/2",
					      "atomic/4", "strong/3", "strong/4", "message/4"};

	for (size_t i = 0; i < sizeof(outside) / sizeof(*outside); i++)
		if (!strncmp(what, outside[i], strlen(outside[i])))
			return true;
	/* By marks, as on a GPU, launches that ran one after the other count as ordered; by rows
	 * a location may have had a possible race with a third launch. */
	if (!strncmp(what, "launch/1", 8))
		return true;
	return strstr(what, "/3") && memmem(p->text.p, p->text.n, ".cluster.", 9);
}

static bool has_text(const struct program *p, const char *text)
{
	return memmem(p->text.p, p->text.n, text, strlen(text)) != NULL;
}

/* Memory of other blocks of a cluster isn't checked. */
static bool is_left_out(const struct program *p)
{
	return has_text(p, "mapa.");
}

/* False: the detector has not found what the second judge demands of a history. */
static bool look_at_second(struct run *x)
{
	const char *detector = getenv("COLLIDER_SOUNDNESS");

	if (is_left_out(x->p))
		return true;
	/* To test the judge: nothing has been reported. */
	if (detector && strstr(detector, "-deaf")) {
		memset(x->certain, 0, sizeof(x->certain));
		memset(x->found, 0, sizeof(x->found));
	}
	/* Pairs with a group of lanes that a partial mask has ordered are possible. */
	if (!second_agrees(has_text(x->p, "bar.warp.sync 0x55555555") ? x->found : x->certain,
			   LINES, x->r.text, sizeof(x->r.text)))
		return false;
	if (has_text(x->p, ".cluster.")) /* counts as .gpu */
		return true;
	for (unsigned i = 0; i < x->r.pairs; i++) {
		const unsigned *line = x->pair[i];
		if (second_has_found(line[0], line[1], x->found, LINES))
			continue;
		snprintf(x->r.text, sizeof(x->r.text), "nothing at the bytes of lines %u and %u",
			 line[0], line[1]);
		return false;
	}
	return true;
}

/*
 * False: hirace has not reported a planted race of its model, not even as possible. A location is
 * reported once: where there is a data race, another one may be at the same location.
 */
static bool look_at_found(struct run *x)
{
	if (x->r.reports)
		return true;
	for (unsigned i = 0; i < x->p->nplants; i++) {
		const struct program_plant *t = &x->p->plant[i];
		if (x->r.found >> i & 1 || is_outside(x->p, t->what))
			continue;
		snprintf(x->r.text, sizeof(x->r.text), "%s: lines %u-%u and %u-%u", t->what,
			 t->a[0], t->a[1], t->b[0], t->b[1]);
		return false;
	}
	return true;
}

/*
 * All threads write plainly behind their atomics. The last atomic has seen the others, so its
 * thread's write is ordered behind all of them and replaces them: if it is the first one, only the
 * races of the writes are left to be reported.
 */
static bool is_write_reported(const struct program_plant *t, const unsigned *pair)
{
	return (!strcmp(t->what, "atomic/2") || !strcmp(t->what, "common/2")) &&
	       is_within(pair[0], t->b) && is_within(pair[1], t->b);
}

/* False: a planted race was not reported. */
static bool look_at_plants(struct run *x)
{
	for (unsigned i = 0; i < x->p->nplants; i++) {
		const struct program_plant *t = &x->p->plant[i];
		for (unsigned j = 0; j < x->r.pairs; j++)
			if ((is_within(x->pair[j][0], t->a) && is_within(x->pair[j][1], t->b)) ||
			    (is_within(x->pair[j][0], t->b) && is_within(x->pair[j][1], t->a)) ||
			    is_write_reported(t, x->pair[j]))
				x->r.told |= 1u << i;
		if (x->r.told >> i & 1)
			continue;
		snprintf(x->r.text, sizeof(x->r.text), "%s: lines %u-%u and %u-%u", t->what,
			 t->a[0], t->a[1], t->b[0], t->b[1]);
		return false;
	}
	return true;
}

static enum run_verdict events_memory(struct run *x, const unsigned char *expected)
{
	size_t at;

	if (!expected)
		return RUN_FINE;
	at = program_differs(x->p, x->mem, expected);
	if (at == program_memory(x->p))
		return RUN_FINE;
	snprintf(x->r.text, sizeof(x->r.text), "byte %zu of region %zu: %u, not %u",
		 at % x->p->bytes, at / x->p->bytes, x->mem[at], expected[at]);
	return x->c->checked ? RUN_DIFFERENT : RUN_WRONG;
}

static enum run_verdict judge(struct run *x, bool has_oracle, const unsigned char *expected)
{
	struct cpu_oracle_stats st;
	struct cpu_fault f;

	cpu_fault_get(x->m, 0, &f);
	if (f.kind != CPU_FAULT_NONE) {
		snprintf(x->r.text, sizeof(x->r.text), "%.250s", f.text);
		return RUN_FAULT;
	}
	cpu_get_oracle_stats(x->m, &st);
	if (has_oracle && (st.is_full || st.dropped || !st.accesses))
		return RUN_NOT_JUDGED;
	if (!x->p->is_racy && x->r.pairs)
		return RUN_FALSE_PAIR;
	bool is_confirmed = !x->c->checked || look_at_reports(x);
	if (!x->p->is_racy && x->r.reports)
		return RUN_FALSE_REPORT;
	if (!x->p->is_racy)
		return events_memory(x, expected);
	if (!has_oracle)
		return RUN_FINE;
	if (!is_confirmed)
		return RUN_UNCONFIRMED;
	if (!look_at_plants(x))
		return RUN_MISSED;
	if (x->block && x->c->checked && !look_at_second(x))
		return RUN_UNSEEN;
	return !x->block || x->is_guard || look_at_found(x) ? RUN_FINE : RUN_UNSEEN;
}

/* ---- one run --------------------------------------------------------------------------------- */

/* COLLIDER_SOUNDNESS_THREADS: so many, for all launches that may have them, and machine code is
 * executed both ways. */
static struct cpu_machine *machine(enum cpu_model model, uint64_t seed, bool has_oracle)
{
	const char *threads = getenv("COLLIDER_SOUNDNESS_THREADS");
	struct cpu_options opt = {.seed = seed,
				  .threads = threads ? (uint32_t)atoi(threads) : 1,
				  .apart_from = threads ? 1 : 0,
				  .jit = threads ? CPU_JIT_VERIFY : CPU_JIT_OFF,
				  .devices = 1,
				  .sms = 4,
				  .model = model,
				  .memory = 64 << 20,
				  .oracle = has_oracle ? CPU_ORACLE_PROGRAM : CPU_ORACLE_OFF};

	return cpu_machine_new(&opt);
}

bool run_has_oracle(enum cpu_model model)
{
	static int has[CPU_MODEL_A1 + 1]; /* 0: not tried */

	if (!has[model]) {
		struct cpu_machine *m = machine(model, 1, true);
		has[model] = m ? 1 : -1;
		if (m)
			cpu_machine_free(m);
	}
	return has[model] > 0;
}

struct run_result run_program(const struct program *p, const struct run_config *c,
			      const unsigned char *expected, unsigned char *mem)
{
	bool has_oracle = run_has_oracle(c->model);
	const struct base_buf *text = c->checked ? c->checked : &p->text;
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct run x = {.p = p, .c = c, .m = machine(c->model, c->seed, has_oracle)};
	struct ptx_module *ptx = ptx_parse(&arena, "random.ptx", text->p, text->n, &sink);

	x.mod = ptx && x.m ? cpu_module_load(x.m, 0, &ptx, 1, &sink) : NULL;
	base_sink_print(&sink, stderr);
	if (!x.mod) {
		fwrite(p->text.p, 1, p->text.n, stdout);
		die("the program was not loaded");
	}
	if (has_oracle)
		cpu_on_pair(x.m, on_pair, &x);
	if (c->checked)
		set_up_collide(&x);
	x.mem = cpu_mem_alloc(x.m, 0, program_memory(p), CPU_MEM_DEVICE);
	if (!x.mem)
		die("no device memory");
	program_initial(p, x.mem);
	if (x.block)
		second_begin();
	run_ops(&x);
	x.r.verdict = judge(&x, has_oracle, expected);
	second_end();
	if (mem)
		memcpy(mem, x.mem, program_memory(p));
	if (c->checked)
		race_sites_close(&x.sites);
	cpu_module_unload(x.mod);
	cpu_machine_free(x.m);
	history_end(&x.history);
	free(x.rt);
	free(x.records);
	base_arena_free(&arena);
	base_sink_free(&sink);
	return x.r;
}
