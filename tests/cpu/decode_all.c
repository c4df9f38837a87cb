/*
 * decode_all.c - links and decodes PTX files for the CPU device without running them.
 *
 *   decode_all [-u] FILE.ptx[,FILE.ptx...]...    files joined by commas are linked
 *
 * Every kernel of every file is made ready. Counts instructions, and by spelling those that the
 * device does not execute (-u prints the table). Checks what must hold for any code: branch targets
 * and joins lie inside, every instruction has a handler, slots lie inside the frame, registers that
 * live at the same time have different ones. Exit status 1 when a file can't be loaded or a check
 * fails; an instruction that is not executed is no failure.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cpu/load/load.h"

#define MAX_PARTS 8

struct form_count {
	char text[160];
	uint64_t n;
	UT_hash_handle hh;
};

static struct form_count *counts;
static uint64_t ninsts, nunbound, nbad, nslots, nfuncs;
static double worst_ns;

static double now(void)
{
	return (double)base_clock_ns(CLOCK_MONOTONIC);
}

static void count(const struct ptx_stmt *s, const char *why)
{
	struct form_count *c;
	char text[160];

	memset(text, 0, sizeof(text));
	snprintf(text, sizeof(text), "%.*s (%s)", (int)s->form->text.n, s->form->text.p, why);
	HASH_FIND_STR(counts, text, c);
	if (!c) {
		c = calloc(1, sizeof(*c));
		memcpy(c->text, text, sizeof(text));
		HASH_ADD_STR(counts, text, c);
	}
	c->n++;
}

static void complain(const struct cpu_func *f, uint32_t pc, const char *what)
{
	nbad++;
	fprintf(stderr, "%s: %s, instruction %u (%.*s): %s\n", f->part->file, f->name, pc,
		(int)f->stmts[pc]->text.n, f->stmts[pc]->text.p, what);
}

static void check_slot(const struct cpu_func *f, uint32_t pc, uint32_t ref)
{
	if (ref == CPU_NOSLOT || (ref & CPU_SLOT_CONST))
		return;
	if (ref >= f->layout->frame)
		complain(f, pc, "a slot outside of the frame");
}

static void check_func(struct cpu_func *f)
{
	for (uint32_t pc = 0; pc < f->ninsts; pc++) {
		const struct cpu_inst *in = &f->code[pc];
		ninsts++;
		if (!in->fn)
			complain(f, pc, "no handler");
		if (in->target != CPU_NOPC && in->target >= f->ninsts)
			complain(f, pc, "a target outside");
		if (in->join != CPU_NOPC &&
		    (in->join >= f->ninsts || !(f->code[in->join].flags & CPU_I_JOIN)))
			complain(f, pc, "a join that is none");
		if (cpu_dec_is_unsupported(in)) {
			nunbound++;
			count(f->stmts[pc], in->aux);
			continue;
		}
		check_slot(f, pc, in->guard);
		for (int i = 0; i < 2; i++)
			check_slot(f, pc, in->dst[i]);
		for (int i = 0; i < 4; i++)
			check_slot(f, pc, in->src[i]);
	}
}

/* ---- no two registers that live at the same time share a slot --------------------- */

struct lives {
	const struct load_func *lf;
	uint8_t *live; /* by register */
	uint32_t *list, n, *at;
	bool is_guarded;
	const struct ptx_stmt *s;
};

static void add_live(struct lives *lv, uint32_t reg)
{
	if (!lv->live[reg]) {
		lv->live[reg] = 1;
		lv->at[reg] = lv->n;
		lv->list[lv->n++] = reg;
	}
}

static void drop_live(struct lives *lv, uint32_t reg)
{
	if (lv->live[reg]) {
		uint32_t last = lv->list[--lv->n];
		lv->live[reg] = 0;
		lv->list[lv->at[reg]] = last;
		lv->at[last] = lv->at[reg];
	}
}

/* Does `reg` share its slot with a live register? */
static void check_alone(const struct lives *lv, uint32_t reg)
{
	const struct cpu_slots *sl = lv->lf->slots;

	for (uint32_t i = 0; i < lv->n; i++) {
		uint32_t r = lv->list[i];
		if (r != reg && sl->cls[r] == sl->cls[reg] && sl->slot[r] == sl->slot[reg] &&
		    sl->slot[r] != CPU_NOSLOT) {
			nbad++;
			fprintf(stderr, "%s: %s: registers %u and %u share a slot at line %u\n",
				lv->lf->f.part->file, lv->lf->f.name, r, reg, lv->s->line);
		}
	}
}

static void visit_write(uint32_t reg, bool is_write, void *arg)
{
	struct lives *lv = arg;

	if (!is_write)
		return;
	check_alone(lv, reg);
	if (!lv->is_guarded)
		drop_live(lv, reg);
}

static void visit_read(uint32_t reg, bool is_write, void *arg)
{
	if (!is_write)
		add_live(arg, reg);
}

static void check_written_against_read(uint32_t reg, bool is_write, void *arg)
{
	if (is_write)
		check_alone(arg, reg);
}

static void check_lives(const struct load_func *lf)
{
	struct base_arena arena = {0};
	struct flow *fl = flow_build(&arena, lf->part->m, lf->f.ptx);
	uint32_t nregs = lf->f.ptx->nregs + 1u;
	struct lives lv = {.lf = lf, .live = BASE_NEWN(&arena, uint8_t, nregs)};

	lv.list = BASE_NEWN(&arena, uint32_t, nregs);
	lv.at = BASE_NEWN(&arena, uint32_t, nregs);
	for (uint32_t b = 0; b < fl->nblocks; b++) {
		const uint64_t *out = flow_live_out(fl, b);
		for (uint32_t r = 0; r < nregs - 1; r++)
			if (out[r >> 6] >> (r & 63) & 1)
				add_live(&lv, r);
		for (const struct ptx_stmt *s = fl->blocks[b].last; s; s = s->prev) {
			lv.s = s;
			if (s->kind == PTX_STMT_INST) {
				lv.is_guarded = s->pred != PTX_NO_REG;
				ptx_each_reg(s, visit_write, &lv);
				ptx_each_reg(s, visit_read, &lv);
				ptx_each_reg(s, check_written_against_read, &lv);
			}
			if (s == fl->blocks[b].first)
				break;
		}
		while (lv.n)
			drop_live(&lv, lv.list[0]);
	}
	base_arena_free(&arena);
}

static void check_module(struct cpu_module *mod)
{
	for (size_t i = 0; i < mod->kernels.n; i++) {
		struct load_func *lf = (struct load_func *)mod->kernels.v[i]->func;
		double t = now();
		if (!cpu_kernel_ready(mod->kernels.v[i]))
			nbad++;
		t = now() - t;
		if (t > worst_ns)
			worst_ns = t;
		for (int c = 0; c < CPU_CLASSES; c++)
			nslots += lf->slots->count[c];
	}
	for (size_t i = 0; i < mod->funcs.n; i++) {
		struct load_func *lf = mod->funcs.v[i];
		nfuncs++;
		if (lf->is_ready) {
			check_func(&lf->f);
			check_lives(lf);
		}
	}
}

/* Loads the files of a list with commas as one module. */
static void decode_files(struct cpu_machine *m, char *list)
{
	struct base_arena arena = {0};
	struct base_sink sink = {0};
	struct ptx_module *parts[MAX_PARTS];
	struct cpu_module *mod = NULL;
	char *text[MAX_PARTS] = {0}, *save = NULL;
	unsigned n = 0;
	size_t size;

	for (char *path = strtok_r(list, ",", &save); path && n < MAX_PARTS;
	     path = strtok_r(NULL, ",", &save)) {
		if (base_read_file(path, &text[n], &size) == 0)
			parts[n] = ptx_parse(&arena, path, text[n], size, &sink);
		else
			fprintf(stderr, "%s: can't be read\n", path);
		if (!text[n] || !parts[n])
			break;
		n++;
	}
	if (n && !sink.errors)
		mod = cpu_module_load(m, 0, parts, n, &sink);
	if (mod)
		check_module(mod);
	else
		nbad++;
	base_sink_print(&sink, stderr);
	cpu_module_unload(mod);
	base_sink_free(&sink);
	base_arena_free(&arena);
	for (unsigned i = 0; i < MAX_PARTS; i++)
		free(text[i]);
}

static int by_count(const struct form_count *a, const struct form_count *b)
{
	return (a->n < b->n) - (a->n > b->n);
}

int main(int argc, char **argv)
{
	struct cpu_options opt = {.seed = 1, .threads = 1, .devices = 1};
	struct cpu_machine *m = cpu_machine_new(&opt);
	bool has_table = false;

	if (!m)
		return BASE_EXIT_INTERNAL;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "-u") == 0)
			has_table = true;
		else
			decode_files(m, argv[i]);
	}
	HASH_SORT(counts, by_count);
	struct form_count *c, *next;
	HASH_ITER(hh, counts, c, next)
	{
		if (has_table)
			printf("%8" PRIu64 " %s\n", c->n, c->text);
		HASH_DEL(counts, c);
		free(c);
	}
	printf("%" PRIu64 " functions, %" PRIu64 " instructions, %" PRIu64 " not executed, %" PRIu64
	       " slots in kernels, slowest kernel %.1f ms, %" PRIu64 " failures\n",
	       nfuncs, ninsts, nunbound, nslots, worst_ns / 1e6, nbad);
	cpu_machine_free(m);
	return nbad ? 1 : 0;
}
