/*
 * random_run.c - one launch of a random program, judged by the oracle or by a detector in it.
 *
 * A detector's runtime block is filled in as cudart/report does (soundness/history.c).
 */
#include "random_run.h"

#include <stdlib.h>
#include <string.h>

#include "history.h"
#include "instrument/instrument.h"
#include "race/layout/history.h"
#include "race/layout/iguard.h"

/* ---- the oracle ---------------------------------------------------------------------------- */

static struct race_pair *on_pair(void *arg, const struct race_pair *pair, size_t bytes)
{
	struct random_run *r = arg;

	(void)bytes;
	if (r->npairs == RANDOM_PAIRS)
		exit(2);
	r->pairs[r->npairs] = *pair;
	return &r->pairs[r->npairs++];
}

/* ---- a detector ---------------------------------------------------------------------------- */

struct found {
	struct random_run *run;
	struct race_history *block;
};

static void on_symbol(const char *name, uint64_t addr, uint64_t bytes, void *arg)
{
	void *p = (void *)(uintptr_t)addr;
	struct found *f = arg;

	if (!strcmp(name, RACE_HISTORY_SYMBOL) || !strcmp(name, RACE_IGUARD_SYMBOL))
		f->block = p;
	else if (!strncmp(name, RACE_SITES_PREFIX, strlen(RACE_SITES_PREFIX)) &&
		 race_sites_decode(p, bytes, &f->run->sites))
		exit(2);
}

static void *pages(size_t bytes)
{
	void *p = aligned_alloc(4096, (bytes + 4095) & ~(size_t)4095);

	if (!p)
		exit(2);
	memset(p, 0, bytes);
	return p;
}

static bool is_iguard(const struct random_launch *l)
{
	return !strcmp(l->detector, "iguard");
}

static struct race_rt *set_up(struct random_run *r, const struct random_launch *l,
			      struct cpu_machine *m, struct cpu_module *mod, struct history *h)
{
	struct race_rt *rt = pages(sizeof(*rt));
	size_t n = sizeof(*r->records) * RACE_SLOTS;
	struct found f = {.run = r};

	r->records = pages(n);
	cpu_module_each_symbol(mod, on_symbol, &f);
	rt->records = (uint64_t)(uintptr_t)r->records;
	/* Without a checked access there is no block. */
	if (f.block &&
	    (!cpu_mem_register(m, rt, sizeof(*rt)) || !cpu_mem_register(m, r->records, n) ||
	     !history_begin(h, m, f.block, (uint64_t)(uintptr_t)rt, is_iguard(l), false)))
		exit(2);
	return rt;
}

static void instrument(const struct base_buf *text, const struct random_launch *l,
		       struct base_buf *out)
{
	struct inst_options opt = {.sanitize = is_iguard(l) ? RACE_DETECT(IGUARD)
							    : RACE_DETECT(HIRACE)};
	struct inst_stats stats = {0};
	struct base_sink sink = {0};

	if (inst_text("random.ptx", text->p, text->n, &opt, out, &stats, &sink)) {
		base_sink_print(&sink, stderr);
		exit(2);
	}
	base_sink_free(&sink);
}

uint32_t random_line(const struct random_run *r, unsigned record)
{
	const struct race_record *x = &r->records[record];
	struct race_site s = {0};

	return x->valid == RACE_RECORD_VALID && race_sites_get(&r->sites, x->site, &s) ? s.ptx_line
										       : 0;
}

/* ---- a launch ------------------------------------------------------------------------------ */

static bool launch(struct cpu_machine *m, struct cpu_module *mod, const struct random_launch *l,
		   uint64_t at)
{
	struct {
		uint64_t memory, out;
		uint32_t word;
	} params = {at, at + l->out, l->word};
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault fault = {0};

	w.launch.kernel = cpu_module_kernel(mod, "k");
	for (unsigned i = 0; i < 3; i++)
		w.launch.grid[i] = w.launch.block[i] = 1;
	w.launch.grid[0] = l->blocks;
	w.launch.block[0] = l->threads;
	for (unsigned i = 0; i < 3 && l->blocks > 1; i++)
		w.launch.cluster[i] = i ? 1 : l->blocks;
	w.launch.params = &params;
	struct cpu_op *op = cpu_submit(m, &w, NULL, 0, &fault);
	if (!op)
		return false;
	cpu_op_wait(op);
	cpu_op_put(op);
	cpu_fault_get(m, 0, &fault);
	if (fault.kind != CPU_FAULT_NONE)
		fprintf(stderr, "%s\n", fault.text);
	return fault.kind == CPU_FAULT_NONE;
}

bool random_run(struct random_run *r, const struct base_buf *text, const struct random_launch *l)
{
	struct cpu_options opt = {.seed = l->seed,
				  .threads = 1,
				  .devices = 1,
				  .jit = CPU_JIT_VERIFY,
				  .oracle = l->detector ? CPU_ORACLE_OFF : CPU_ORACLE_PROGRAM};
	struct base_buf checked = {0};
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct history h = {0};
	struct race_rt *rt = NULL;
	bool is_good = false;

	memset(r, 0, sizeof(*r));
	if (l->detector) {
		instrument(text, l, &checked);
		text = &checked;
	}
	struct cpu_machine *m = cpu_machine_new(&opt);
	struct ptx_module *ptx = ptx_parse(&arena, "random.ptx", text->p, text->n, &sink);
	struct cpu_module *mod = ptx && m ? cpu_module_load(m, 0, &ptx, 1, &sink) : NULL;
	base_sink_print(&sink, stderr);
	if (mod) {
		void *g = cpu_mem_alloc(m, 0, l->bytes, CPU_MEM_DEVICE);
		if (l->detector)
			rt = set_up(r, l, m, mod, &h);
		else
			cpu_on_pair(m, on_pair, r);
		memcpy(g, l->memory, l->bytes);
		r->at = (uint64_t)(uintptr_t)g;
		is_good = launch(m, mod, l, r->at);
		memcpy(l->memory, g, l->bytes);
		cpu_module_unload(mod);
	}
	cpu_machine_free(m);
	if (l->detector)
		history_end(&h);
	free(rt);
	base_arena_free(&arena);
	base_sink_free(&sink);
	base_buf_free(&checked);
	return is_good;
}

void random_run_end(struct random_run *r)
{
	race_sites_close(&r->sites);
	free(r->records);
	memset(r, 0, sizeof(*r));
}
