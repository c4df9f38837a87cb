/*
 * emit.c - short ways to use a template.
 */
#include "instrument/internal.h"

#include <string.h>

struct ptx_str inst_num(int64_t n)
{
	static _Thread_local char ring[16][24];
	static _Thread_local unsigned next;
	char *end = ring[next++ % 16] + sizeof(ring[0]), *p = end;
	uint64_t abs = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	/* Without snprintf: a large module calls this a hundred thousand times. */
	do
		*--p = (char)('0' + abs % 10);
	while (abs /= 10);
	if (n < 0)
		*--p = '-';
	return (struct ptx_str){p, (uint32_t)(end - p)};
}

struct ptx_opnd inst_reg(const struct inst_ctx *cx, uint32_t reg)
{
	return ptx_opnd_reg(cx->f, reg);
}

struct ptx_str inst_module_text(struct inst_ctx *cx, const char *name, unsigned ntexts,
				const struct ptx_str *texts)
{
	return ptx_template_text(cx->module_ts, name, ntexts, texts);
}

struct ptx_str inst_type_of(enum ptx_type t)
{
	const char *name = ptx_type_name(t);

	return (struct ptx_str){name, (uint32_t)strlen(name)};
}

struct ptx_opnd inst_fresh(struct inst_ctx *cx, enum ptx_type t)
{
	return inst_reg(cx, ptx_new_reg(cx->m, cx->f, t));
}

struct ptx_opnd inst_int(const struct inst_ctx *cx, int64_t v)
{
	return ptx_opnd_int(cx->m, v);
}

struct ptx_opnd inst_none(void)
{
	return (struct ptx_opnd){.kind = PTX_OPND_SINK, .text = PTX_STR("_")};
}

void inst_emit(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
	       const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes)
{
	ptx_emit(ptx_template_get(cx->ts, name, ntexts, texts), cx->f, at, NULL, nholes, holes);
}

void inst_emit_label(struct inst_ctx *cx, struct ptx_stmt *at, struct ptx_label *l)
{
	struct ptx_stmt *s = ptx_new_stmt(cx->m, PTX_STMT_LABEL);

	s->label = l;
	l->at = s;
	s->inserted = true;
	ptx_insert_before(cx->f, at, s);
}
