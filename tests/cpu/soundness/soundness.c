/*
 * soundness.c - are collide's reports true? Random kernels, judged by the oracle.
 *
 *   soundness KERNELS [FIRST]      kernels FIRST, FIRST+1, ...; every second one is racy
 *
 * Each kernel is instrumented in this process and runs on the CPU device in all memory models. A
 * race-free one must compute what generate.c says, without a report of collide or, in the sc
 * model, of the oracle. Of a racy one each report of collide in the sc model must stand on the
 * source line (each access has its own) of a pair that the oracle found in the same run. The
 * oracle knows the sc model alone: racy kernels run in that one only.
 *
 * A failing kernel is reduced: statements are taken out while it still fails in the same way.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cpu/cpu.h"
#include "generate.h"
#include "instrument/instrument.h"
#include "race/pair.h"
#include "race/race.h"

#define LINES	 256u
#define SEEDS	 2u
#define DELAY_NS 3000u

enum verdict { FINE, FAULT, WRONG_RESULT, FALSE_REPORT, FALSE_PAIR, UNCONFIRMED, NOT_JUDGED };

static const char *const verdict_names[] = {
	"fine",
	"a fault",
	"a wrong result",
	"collide reports a race in a race-free kernel",
	"the oracle finds a race in a race-free kernel",
	"the oracle doesn't confirm a report of collide",
	"the oracle has not judged all",
};
static const char *const model_names[] = {"sc", "weak", "a1"};

struct run {
	struct race_rt *rt;
	struct race_record *records;
	struct race_sites sites;
	bool has_sites;
	struct race_knobs *knobs;
	bool pairs[LINES]; /* source lines of the oracle's pairs */
	unsigned npairs, nreports;
	uint64_t count; /* where pairs are counted: nobody asks */
	char text[256]; /* what failed */
};

static struct {
	uint64_t runs, reports, pairs, racy_runs, racy_reported;
} total;

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "soundness: %s\n", what);
	exit(2);
}

static uint64_t *on_pair(void *arg, const struct race_pair *pair, size_t bytes)
{
	struct run *r = arg;

	(void)bytes;
	for (unsigned i = 0; i < 2; i++)
		if (pair->side[i].line < LINES)
			r->pairs[pair->side[i].line] = true;
	if (!r->npairs++)
		snprintf(r->text, sizeof(r->text), "lines %u and %u", pair->side[0].line,
			 pair->side[1].line);
	return &r->count;
}

static void on_symbol(const char *name, uint64_t addr, uint64_t bytes, void *arg)
{
	struct run *r = arg;
	void *p = (void *)(uintptr_t)addr;

	if (!strcmp(name, RACE_KNOBS_SYMBOL))
		r->knobs = p;
	else if (!strncmp(name, RACE_SITES_PREFIX, strlen(RACE_SITES_PREFIX)))
		r->has_sites = !race_sites_decode(p, bytes, &r->sites);
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

static void set_up(struct run *r, struct cpu_machine *m, struct cpu_module *mod, uint64_t seed)
{
	size_t nrecords = sizeof(struct race_record) * RACE_SLOTS;

	cpu_module_each_symbol(mod, on_symbol, r);
	if (!r->knobs || !r->has_sites)
		die("the instrumented module has no knobs or no site table");
	r->rt = pages(sizeof(*r->rt));
	r->records = pages(nrecords);
	if (!cpu_mem_register(m, r->rt, sizeof(*r->rt)) ||
	    !cpu_mem_register(m, r->records, nrecords))
		die("memory for reports was refused");
	r->rt->records = (uint64_t)(uintptr_t)r->records;
	r->knobs->rt = (uint64_t)(uintptr_t)r->rt;
	r->knobs->rsleep = r->knobs->wsleep = DELAY_NS;
	r->knobs->sample = 1;
	r->knobs->seed = (uint32_t)seed;
	r->knobs->dense = RACE_DENSE_ALL;
	r->knobs->sparse = UINT32_MAX;
}

static void launch(struct cpu_machine *m, struct cpu_module *mod, const struct gen_kernel *k,
		   void *mem)
{
	struct cpu_work w = {.kind = CPU_WORK_KERNEL};
	struct cpu_fault refused = {0};

	w.launch.kernel = cpu_module_kernel(mod, "k");
	w.launch.grid[0] = k->blocks;
	w.launch.block[0] = k->threads;
	w.launch.grid[1] = w.launch.grid[2] = w.launch.block[1] = w.launch.block[2] = 1;
	w.launch.params = &mem;
	struct cpu_op *op = cpu_submit(m, &w, NULL, 0, &refused);
	if (!op)
		die(refused.text);
	cpu_op_wait(op);
	cpu_op_put(op);
}

/* Counts collide's reports; false: one of them has no pair of the oracle (r->text says which). */
static bool look_at_reports(struct run *r)
{
	bool is_confirmed = true;

	for (unsigned i = 0; i < RACE_SLOTS; i++) {
		const struct race_record *c = &r->records[i];
		struct race_site s = {0};
		if (c->valid != RACE_RECORD_VALID)
			continue;
		if (!race_sites_get(&r->sites, c->site, &s))
			die("a report names no site");
		r->nreports++;
		if (s.line < LINES && r->pairs[s.line])
			continue;
		is_confirmed = false;
		snprintf(r->text, sizeof(r->text), "%s at line %u: %s", race_kind_name(c->kind),
			 s.line, race_sites_text(&r->sites, s.text));
	}
	return is_confirmed;
}

static enum verdict judge(struct run *r, struct cpu_machine *m, const struct gen_kernel *k,
			  bool is_racy, bool has_oracle, const unsigned char *mem)
{
	static unsigned char expected[GEN_BYTES];
	struct cpu_oracle_stats st;
	struct cpu_fault f;

	cpu_fault_get(m, 0, &f);
	if (f.kind != CPU_FAULT_NONE) {
		snprintf(r->text, sizeof(r->text), "%.250s", f.text);
		return FAULT;
	}
	cpu_get_oracle_stats(m, &st);
	if (has_oracle && (st.is_full || st.dropped || !st.accesses))
		return NOT_JUDGED;
	if (!is_racy && r->npairs)
		return FALSE_PAIR;
	bool is_confirmed = look_at_reports(r);
	if (r->rt->overflow)
		die("too many reports");
	if (is_racy)
		return is_confirmed ? FINE : UNCONFIRMED;
	if (r->nreports)
		return FALSE_REPORT;
	gen_initial(expected);
	gen_expect(k, expected);
	for (unsigned i = 0; i < 8 * k->blocks * k->threads; i++)
		if (mem[GEN_OUT + i] != expected[GEN_OUT + i])
			snprintf(r->text, sizeof(r->text), "in the result of thread %u", i / 8);
	return memcmp(mem, expected, GEN_BYTES) ? WRONG_RESULT : FINE;
}

static enum verdict run_model(const struct gen_kernel *k, struct ptx_module *ptx, bool is_racy,
			      enum cpu_model model, uint64_t seed, char *text)
{
	bool has_oracle = model == CPU_MODEL_SC;
	struct cpu_options opt = {.seed = seed,
				  .threads = 1,
				  .devices = 1,
				  .sms = 4,
				  .model = model,
				  .memory = 64 << 20,
				  .oracle = has_oracle ? CPU_ORACLE_PROGRAM : CPU_ORACLE_OFF};
	struct cpu_machine *m = cpu_machine_new(&opt);
	struct base_sink sink = {0};
	struct run r = {0};
	struct cpu_module *mod = m ? cpu_module_load(m, 0, &ptx, 1, &sink) : NULL;

	if (!mod)
		die("the module was not loaded");
	if (has_oracle)
		cpu_on_pair(m, on_pair, &r);
	set_up(&r, m, mod, seed);
	unsigned char *mem = cpu_mem_alloc(m, 0, GEN_BYTES, CPU_MEM_DEVICE);
	if (!mem)
		die("no device memory");
	gen_initial(mem);
	launch(m, mod, k, mem);
	enum verdict v = judge(&r, m, k, is_racy, has_oracle, mem);
	total.runs++;
	total.reports += r.nreports;
	total.pairs += r.npairs;
	total.racy_runs += is_racy;
	total.racy_reported += is_racy && r.nreports;
	memcpy(text, r.text, sizeof(r.text));
	race_sites_close(&r.sites);
	cpu_module_unload(mod);
	cpu_machine_free(m);
	free(r.rt);
	free(r.records);
	base_sink_free(&sink);
	return v;
}

static enum verdict try_kernel(const struct gen_kernel *k, bool is_racy, enum cpu_model model,
			       uint64_t seed, char *text)
{
	struct inst_options opt = {.sanitize = INST_SANITIZE_COLLIDE};
	struct base_buf plain = {0}, checked = {0};
	struct base_arena arena = {0};
	struct inst_stats stats = {0};
	struct base_sink sink = {0};

	gen_print(k, &plain);
	int rc = inst_text("random.ptx", plain.p, plain.n, &opt, &checked, &stats, &sink);
	struct ptx_module *ptx =
		rc ? NULL : ptx_parse(&arena, "checked.ptx", checked.p, checked.n, &sink);
	base_sink_print(&sink, stderr);
	if (!ptx) {
		fwrite(plain.p, 1, plain.n, stdout);
		die("the kernel was not instrumented");
	}
	enum verdict v = run_model(k, ptx, is_racy, model, seed, text);
	base_arena_free(&arena);
	base_sink_free(&sink);
	base_buf_free(&plain);
	base_buf_free(&checked);
	return v;
}

/* Takes out what can go, prints the rest. */
static void tell(struct gen_kernel *k, uint64_t number, enum verdict v, bool is_racy,
		 enum cpu_model model, uint64_t seed)
{
	struct base_buf out = {0};
	char text[256] = "";

	for (unsigned i = 0; i < k->n; i++) {
		k->stmt[i].is_removed = true;
		if (try_kernel(k, is_racy, model, seed, text) != v)
			k->stmt[i].is_removed = false;
	}
	try_kernel(k, is_racy, model, seed, text);
	gen_print(k, &out);
	printf("FAILED: kernel %" PRIu64 " (%s), model %s, seed %" PRIu64 ": %s: %s\n", number,
	       is_racy ? "racy" : "race-free", model_names[model], seed, verdict_names[v], text);
	fwrite(out.p, 1, out.n, stdout);
	base_buf_free(&out);
}

static bool check(uint64_t number)
{
	bool is_racy = number & 1;
	struct gen_kernel k;
	char text[256];

	gen_draw(&k, number, is_racy);
	for (enum cpu_model model = CPU_MODEL_SC; model <= CPU_MODEL_A1; model++) {
		for (uint64_t i = 0; i < SEEDS; i++) {
			uint64_t seed = number * SEEDS + i + 1;
			enum verdict v = try_kernel(&k, is_racy, model, seed, text);
			if (v == FINE)
				continue;
			tell(&k, number, v, is_racy, model, seed);
			return false;
		}
		if (is_racy)
			break;
	}
	return true;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	unsigned failures = 0;

	if (!n) {
		fprintf(stderr, "usage: soundness KERNELS [FIRST]\n");
		return 2;
	}
	for (uint64_t i = first; i < first + n && failures < 5; i++)
		failures += !check(i);
	printf("%" PRIu64 " runs: %" PRIu64 " reports of collide, in %" PRIu64 " of %" PRIu64
	       " racy runs; %" PRIu64 " pairs of the oracle; %u failures\n",
	       total.runs, total.reports, total.racy_reported, total.racy_runs, total.pairs,
	       failures);
	if (n >= 100 && (!total.reports || !total.pairs)) {
		printf("FAILED: no report or no pair in so many kernels: nothing was tested\n");
		return 1;
	}
	return failures ? 1 : 0;
}
