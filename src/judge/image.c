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
#include "instrument/instrument.h"
#include "judge/internal.h"
#include "race/judge/wire.h"

#include <inttypes.h>
#include <string.h>

static const char *parse(struct judge_image *im, const struct image_text *t,
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
		ptx_print(m, &plain);
		base_vec_push(&im->texts,
			      ((struct judge_text){"module.ptx",
						   base_strndup(&im->arena, plain.p, plain.n),
						   plain.n, NULL}));
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

const char *judge_image_add(struct judge_image *im, const void *bytes, size_t n, unsigned sm,
			    bool is_part)
{
	struct ptx_module *m = NULL;
	struct image_text t;
	const char *why = NULL;

	switch (image_choose(bytes, n, sm, false, &t)) {
	case IMAGE_TEXT:
		why = parse(im, &t, &m);
		if (!why)
			put_lines(&im->lines, m);
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
