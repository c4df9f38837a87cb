/*
 * image.c - a program's GPU code, as it is handed to the driver: the text of it that a GPU would
 * run, without checks, and what the program's half must know of it.
 *
 * Which text of a fat binary stands for its machine code is image/choose.c's to say; one that may
 * be another program is none. A program of several objects (-rdc) has a text for each, and none if
 * one of them lacks it (only NVIDIA's own device runtime may).
 *
 * Costs: a parse for each image whose kernels are launched.
 */
#include "image/choose.h"
#include "image/fatbin.h"
#include "image/kept.h"
#include "instrument/instrument.h"
#include "judge/internal.h"
#include "race/judge/wire.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* is_source: the program has made the text itself; it is the source of what it lacks lines of. */
static const char *parse(struct judge_image *im, const struct image_text *t, bool is_source,
			 struct ptx_module **out)
{
	char *text = base_strndup(&im->arena, t->text, t->size);
	struct base_sink sink = {0};
	struct ptx_module *m = ptx_parse(&im->arena, "module.ptx", text, t->size, &sink);
	struct base_buf plain = {0};
	const char *why = NULL;

	if (!m || sink.errors)
		why = "its PTX can't be read";
	else if (inst_detectors_of(m) && !inst_strip(m, &sink))
		why = "the checks in its PTX can't be removed";
	if (!why) {
		if (is_source)
			image_give_lines(m, t->text, t->size);
		ptx_print(m, &plain);
		base_vec_push(
			&im->texts,
			((struct judge_text){.file = "module.ptx",
					     .text = base_strndup(&im->arena, plain.p, plain.n),
					     .bytes = plain.n}));
		*out = m;
	}
	base_buf_free(&plain);
	base_sink_free(&sink);
	return why;
}

/* ---- lines for the program's half ------------------------------------------------------ */

static uint64_t align_up(uint64_t at, uint64_t align)
{
	return align > 1 ? (at + align - 1) / align * align : at;
}

static void put_kernel(struct base_buf *out, const struct ptx_func *f)
{
	struct base_buf params = {0};
	uint64_t at = 0;

	for (const struct ptx_param *p = f->params; p; p = p->next) {
		at = align_up(at, p->align ? p->align : ptx_type_bytes(p->type));
		base_buf_printf(&params, " %" PRIu64 ":%" PRIu64, at, p->bytes);
		at += p->bytes;
	}
	base_buf_printf(out, "%c %.*s %" PRIu64 "%.*s\n", RACE_JUDGE_LINE_KERNEL, (int)f->name.n,
			f->name.p, at, (int)params.n, params.n ? params.p : "");
	base_buf_free(&params);
}

static void put_variable(struct base_buf *out, const struct ptx_var *v)
{
	bool is_const = v->space == PTX_SPACE_CONST;

	if ((!is_const && v->space != PTX_SPACE_GLOBAL) || v->linkage == PTX_LINK_EXTERN ||
	    race_is_inserted_name(v->name.p, v->name.n))
		return;
	base_buf_printf(out, "%c %.*s %" PRIu64 "\n",
			is_const ? RACE_JUDGE_LINE_CONST : RACE_JUDGE_LINE_GLOBAL, (int)v->name.n,
			v->name.p, v->bytes);
}

/* Does the form order its thread with others of the GPU, or may it? */
static bool is_sync_form(const struct ptx_form *f)
{
	bool is_wide = f->scope != PTX_SCOPE_CTA && f->scope != PTX_SCOPE_CLUSTER;

	if (f->effects & PTX_EFF_UNKNOWN)
		return true;
	if (f->effects & PTX_EFF_FENCE)
		return is_wide && f->proxy == PTX_PROXY_GENERIC && f->sem != PTX_SEM_NONE;
	switch (f->sem) {
	case PTX_SEM_ACQUIRE:
	case PTX_SEM_RELEASE:
	case PTX_SEM_ACQ_REL:
	case PTX_SEM_SC:
		return is_wide && !(f->effects & PTX_EFF_BARRIER);
	case PTX_SEM_VOLATILE:
	case PTX_SEM_MMIO:
		return f->space != PTX_SPACE_SHARED;
	default:
		return false;
	}
}

struct seen {
	uint32_t reg;
	bool is_read, is_written;
};

static void look_at(uint32_t reg, bool is_write, void *arg)
{
	struct seen *x = arg;

	if (reg == x->reg)
		*(is_write ? &x->is_written : &x->is_read) = true;
}

static void take_written(uint32_t reg, bool is_write, void *arg)
{
	if (is_write)
		*(uint32_t *)arg = reg;
}

/* A strong read, by which a loop may wait for others, whether or not the model has it that this
 * orders anything: of an atomic only if what it returns is used. */
static bool may_wait(const struct ptx_func *f, const struct ptx_stmt *st)
{
	const struct ptx_form *form = st->form;
	struct seen x = {.reg = PTX_NO_REG};

	if (form->sem != PTX_SEM_RELAXED || !(form->effects & PTX_EFF_READ) ||
	    form->space == PTX_SPACE_SHARED || form->op == PTX_OP_RED)
		return false;
	ptx_each_reg(st, take_written, &x.reg);
	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_INST && s != st)
			ptx_each_reg(s, look_at, &x);
	}
	return x.reg == PTX_NO_REG ? !(form->effects & PTX_EFF_ATOMIC) : x.is_read;
}

/* Does the form use a tensor map? */
static bool is_map_form(const struct ptx_form *f)
{
	return f->op == PTX_OP_CP_ASYNC_BULK_TENSOR || f->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR;
}

/* ---- pointers in memory ------------------------------------------------------------ */

/* Is a whole number of 64 bits read in memory? Parameters and local memory have what the thread was
 * given, or has had in a register. */
static bool loads_number(const struct ptx_form *f)
{
	return f->effects & PTX_EFF_READ && f->space != PTX_SPACE_PARAM &&
	       f->space != PTX_SPACE_LOCAL && f->width == 8 && f->ntypes &&
	       f->types[0] != PTX_TYPE_F64;
}

/* `far`, by register: has it such a number, or what was made of one? */
static bool has_far(const struct ptx_opnd *o, const bool *far)
{
	bool has = o->kind == PTX_OPND_REG && far[o->reg];

	for (unsigned i = 0; i < o->nsub && !has; i++)
		has = has_far(&o->sub[i], far);
	return has;
}

/* Does such a number lead to memory, as an address or as a tensor map's? */
static bool leads_far(const struct ptx_stmt *s, const bool *far)
{
	const struct ptx_form *f = s->form;
	bool leads = false;

	if (!(f->effects & (PTX_EFF_READ | PTX_EFF_WRITE)) || f->space == PTX_SPACE_PARAM ||
	    f->space == PTX_SPACE_LOCAL)
		return false;
	for (unsigned i = 0; i < s->nops && !leads; i++)
		leads = (f->op == PTX_OP_TENSORMAP_REPLACE || s->ops[i].kind == PTX_OPND_ADDR) &&
			has_far(&s->ops[i], far);
	return leads;
}

/* May the function use pointers that it has read in memory? */
static bool is_far(const struct ptx_func *f)
{
	bool *far = base_calloc(f->nregs + 1u, sizeof(*far)), is_new = true, is = false;

	while (is_new && !is) {
		is_new = false;
		ptx_each_stmt(f, s)
		{
			if (s->kind != PTX_STMT_INST)
				continue;
			is |= leads_far(s, far);
			if (loads_number(s->form) ||
			    (!(s->form->effects & PTX_EFF_READ) && ptx_reads_of(s, far)))
				is_new |= ptx_add_written(s, far);
		}
	}
	free(far);
	return is;
}

/* What functions do; `or`ed. */
struct doings {
	bool is_sync, has_maps, has_textures, is_far, calls;
};

static void add_func(struct doings *d, const struct ptx_func *f)
{
	d->is_far |= is_far(f);
	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST)
			continue;
		d->is_sync = d->is_sync || is_sync_form(s->form) || may_wait(f, s);
		d->has_maps |= is_map_form(s->form);
		d->has_textures |= s->form->space == PTX_SPACE_TEX;
		d->calls |= (s->form->effects & PTX_EFF_CALL) != 0;
	}
}

static void put_property(struct base_buf *out, char letter, const struct ptx_func *f, bool has)
{
	if (has)
		base_buf_printf(out, "%c %.*s\n", letter, (int)f->name.n, f->name.p);
}

/* Kernels that may order themselves with what runs beside them, that may use tensor maps, textures,
 * or pointers in memory. A kernel that calls anything is taken to call all functions that are
 * there. */
static void put_properties(struct base_buf *out, const struct ptx_module *m, bool is_part)
{
	struct doings all = {.is_sync = is_part,
			     .has_maps = is_part,
			     .has_textures = is_part,
			     .is_far = is_part};

	for (const struct ptx_item *it = m->first; it; it = it->next)
		if (it->kind == PTX_ITEM_FUNC && !it->func->is_entry)
			add_func(&all, it->func);
	for (const struct ptx_item *it = m->first; it; it = it->next) {
		struct doings d = {0};
		if (it->kind != PTX_ITEM_FUNC || !it->func->is_entry)
			continue;
		add_func(&d, it->func);
		put_property(out, RACE_JUDGE_LINE_SYNC, it->func,
			     d.is_sync || (d.calls && all.is_sync));
		put_property(out, RACE_JUDGE_LINE_MAPS, it->func,
			     d.has_maps || (d.calls && all.has_maps));
		put_property(out, RACE_JUDGE_LINE_TEX, it->func,
			     d.has_textures || (d.calls && all.has_textures));
		put_property(out, RACE_JUDGE_LINE_FAR, it->func,
			     d.is_far || (d.calls && all.is_far));
	}
}

static void put_lines(struct base_buf *out, const struct ptx_module *m)
{
	for (const struct ptx_item *it = m->first; it; it = it->next) {
		if (it->kind == PTX_ITEM_FUNC && it->func->is_entry && !it->func->is_proto)
			put_kernel(out, it->func);
		else if (it->kind == PTX_ITEM_VAR)
			put_variable(out, it->var);
	}
}

/* ======================================================================== */

static const char *add(struct judge_image *im, const struct image_text *t, bool is_part,
		       bool is_source)
{
	struct ptx_module *m = NULL;
	const char *why = parse(im, t, is_source, &m);

	if (why)
		return why;
	put_lines(&im->lines, m);
	put_properties(&im->lines, m, is_part);
	return NULL;
}

/* Machine code alone, of which our stand-in for ptxas has kept the text. */
static const char *add_origin(struct judge_image *im, const void *elf, size_t n)
{
	const char *path = image_origin(&im->arena, elf, n), *why = "its code has no PTX";
	char *text;
	size_t size;

	if (!path || base_read_file(path, &text, &size) != 0)
		return why;
	const struct image_text t = {.text = text, .size = size};
	why = add(im, &t, false, true);
	free(text);
	return why;
}

const char *judge_image_add(struct judge_image *im, const void *bytes, size_t n, unsigned sm,
			    bool is_part)
{
	struct image_text t;
	const char *why = NULL;

	if (!is_part && image_elf_size(bytes, n))
		return add_origin(im, bytes, n);
	switch (image_choose(bytes, n, sm, false, &t)) {
	case IMAGE_TEXT:
		why = add(im, &t, is_part, !fatbin_is(bytes, n));
		break;
	case IMAGE_NONE:
		why = is_part ? NULL : "it has no PTX for this GPU";
		break;
	case IMAGE_OTHER:
		why = base_strdup(&im->arena, t.why);
		break;
	case IMAGE_DAMAGED:
		why = "it is damaged";
		break;
	}
	image_text_free(&t);
	return why;
}

void judge_image_parse(struct judge_image *im)
{
	for (size_t i = 0; i < im->texts.n; i++) {
		struct judge_text *t = &im->texts.v[i];
		struct base_sink sink = {0};
		if (!t->parsed)
			t->parsed = ptx_parse(&im->arena, t->file, t->text, t->bytes, &sink);
		/* (A trial says what is wrong with it.) */
		if (t->parsed && (sink.errors || ptx_verify(t->parsed, &sink)))
			t->parsed = NULL;
		base_sink_free(&sink);
	}
}

void judge_image_free(struct judge_image *im)
{
	base_arena_free(&im->arena);
	base_vec_free(&im->texts);
	base_buf_free(&im->lines);
	memset(im, 0, sizeof(*im));
}
