/*
 * fault.c - the text of a fault of the device.
 *
 * A fault's text is one line: what happened, the thread, its block, the
 * kernel, the line in the source (.loc, or else in the PTX) and the
 * instruction as it is spelled. The engine keeps the first one of a device.
 */
#include "cpu/machine.h"

#include "race/race.h"

#include <stdarg.h>
#include <string.h>
#include <stdio.h>

#define INLINED_MAX 32

struct text {
	char *p;
	size_t n, cap;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(t->p + t->n, t->cap - t->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->n += (size_t)n < t->cap - t->n ? (size_t)n : t->cap - t->n - 1;
}

void cpu_lane_tid(const struct cpu_warp *w, unsigned lane, uint32_t tid[3])
{
	const uint32_t *block = w->grid->block;
	uint32_t i = w->index * CPU_WARP + lane;

	tid[0] = i % block[0];
	tid[1] = i / block[0] % block[1];
	tid[2] = i / block[0] / block[1];
}

static const struct ptx_stmt *statement_of(const struct cpu_func *f, const struct cpu_inst *in)
{
	if (in && f && f->code && in >= f->code && in < f->code + f->ninsts && f->stmts)
		return f->stmts[in - f->code];
	return NULL;
}

static void name_instruction(struct cpu_fault *out, const struct cpu_func *f,
			     const struct cpu_inst *in)
{
	const struct ptx_stmt *s = statement_of(f, in);

	if (!s || !f->name)
		return;
	snprintf(out->func, sizeof(out->func), "%s", f->name);
	out->ptx_line = s->line;
}

static bool is_library(const struct ptx_module *m, uint32_t file)
{
	struct ptx_str name = ptx_file_name(m, file);
	char path[1024];

	snprintf(path, sizeof(path), "%.*s", (int)name.n, name.p);
	return race_library(path) != NULL;
}

/* " (inlined at file:line)", the program's own line, where l is in a library's header. */
static void put_own_place(struct text *t, const struct cpu_func *f, const struct ptx_loc *l)
{
	bool is_unsure = false;

	if (!is_library(f->part, l->file))
		return;
	for (unsigned n = 0; l && l->in_line && n < INLINED_MAX && !is_unsure; n++) {
		if (!is_library(f->part, l->in_file)) {
			struct ptx_str name = ptx_file_name(f->part, l->in_file);
			put(t, " (inlined at %.*s:%u)", (int)name.n, name.p, l->in_line);
			return;
		}
		l = ptx_outer_loc(f->ptx, l, &is_unsure);
	}
}

/* ", file:line: `text`" of an instruction of f. */
static void put_place(struct text *t, const struct cpu_func *f, const struct cpu_inst *in)
{
	const struct ptx_stmt *s = statement_of(f, in);
	struct ptx_str name = {NULL, 0};

	if (!s)
		return;
	const struct ptx_loc *loc = ptx_near_loc(s);
	if (loc)
		name = ptx_file_name(f->part, loc->file);
	if (name.n) {
		put(t, ", %.*s:%u", (int)name.n, name.p, loc->line);
		put_own_place(t, f, loc);
	} else if (s->line)
		put(t, ", %s:%u", f->part->file ? f->part->file : "PTX", s->line);
	if (s->kind != PTX_STMT_INST)
		return;
	struct base_buf b = {0};
	ptx_print_stmt(f->ptx, s, &b);
	size_t from = 0, n = b.n;
	while (from < n && (b.p[from] == ' ' || b.p[from] == '\t'))
		from++;
	while (n > from && (b.p[n - 1] == '\n' || b.p[n - 1] == ' '))
		n--;
	if (n > from)
		put(t, ": %.*s%s", (int)(n - from > 120 ? 120 : n - from), b.p + from,
		    n - from > 120 ? "..." : "");
	base_buf_free(&b);
}

/* Names of template instances may be long even when short; the line comes after them. */
#define NAME_MAX_SHOWN 100

static void put_kernel(struct text *t, const char *mangled)
{
	struct base_arena arena = {0};
	const char *name = race_short_name(&arena, race_demangle(&arena, mangled));

	put(t, " in %.*s%s", NAME_MAX_SHOWN, name, strlen(name) > NAME_MAX_SHOWN ? "..." : "");
	base_arena_free(&arena);
}

enum cpu_step cpu_fault(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
			enum cpu_fault_kind kind, const char *fmt, ...)
{
	struct cpu_fault f = {.kind = kind};
	struct text t = {f.text, 0, sizeof(f.text)};
	const uint32_t *c = w->cta->id;
	uint32_t tid[3];
	va_list ap;

	va_start(ap, fmt);
	int n = vsnprintf(f.text, sizeof(f.text) - 200, fmt, ap);
	va_end(ap);
	t.n = n < 0 ? 0 : (size_t)n < sizeof(f.text) - 200 ? (size_t)n : sizeof(f.text) - 201;
	cpu_lane_tid(w, lane, tid);
	put(&t, "; thread (%u,%u,%u) of block (%u,%u,%u)", tid[0], tid[1], tid[2], c[0], c[1],
	    c[2]);
	put_kernel(&t, w->grid->func->name);
	if (w->cur) {
		put_place(&t, w->cur->func, in);
		name_instruction(&f, w->cur->func, in);
	}
	if (kind != CPU_FAULT_DEADLOCK || !cpu_engine_waits(w->grid, f.text))
		cpu_engine_fault(w->grid->m, w->grid->device, &f);
	return CPU_FAULTED;
}

void cpu_fault_op(struct cpu_machine *m, unsigned device, enum cpu_fault_kind kind, const char *fmt,
		  ...)
{
	struct cpu_fault f = {.kind = kind};
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(f.text, sizeof(f.text), fmt, ap);
	va_end(ap);
	cpu_engine_fault(m, device, &f);
}
