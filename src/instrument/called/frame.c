/*
 * frame.c - what a kernel and the variants that it calls share, in the thread's own memory.
 *
 * The frame has what a detector keeps of the thread in registers: its numbers, the accesses
 * counted, and the addresses of its stamps and its block's table. It is written before a call and
 * read after one; a variant gets its address as a parameter (called.ptxt).
 */
#include "instrument/internal.h"

static void emit(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
		 const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes)
{
	ptx_emit(ptx_template_get(cx->called_ts, name, ntexts, texts), cx->f, at, NULL, nholes,
		 holes);
}

static struct ptx_str letter_of(const struct inst_frame *fr)
{
	return (struct ptx_str){&fr->detector, 1};
}

void inst_frame_of_kernel(struct inst_ctx *cx, struct inst_frame *fr, struct ptx_opnd stamps,
			  struct ptx_opnd table, bool ends, struct ptx_stmt *top)
{
	fr->at = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	emit(cx, top, "kernel", T(letter_of(fr), inst_num(ends)),
	     H(inst_reg(cx, fr->at), stamps, table));
}

void inst_frame_of_variant(struct inst_ctx *cx, struct inst_frame *fr, struct ptx_opnd stamps,
			   struct ptx_opnd table, struct ptx_stmt *top)
{
	fr->at = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
	emit(cx, top, "variant", T(letter_of(fr)),
	     H(inst_reg(cx, fr->at), inst_reg(cx, fr->me), stamps, table, inst_reg(cx, fr->cnt)));
}

static void keep(struct inst_ctx *cx, const struct inst_frame *fr, struct ptx_stmt *at)
{
	emit(cx, at, "keep", NT,
	     H(inst_reg(cx, fr->at), inst_reg(cx, fr->me), inst_reg(cx, fr->cnt)));
}

void inst_frame_call(struct inst_ctx *cx, const struct inst_frame *fr, struct ptx_stmt *s)
{
	keep(cx, fr, s);
	emit(cx, s, "pass", T(letter_of(fr)), H(inst_reg(cx, fr->at)));
	emit(cx, s->next, "take", NT,
	     H(inst_reg(cx, fr->at), inst_reg(cx, fr->me), inst_reg(cx, fr->cnt)));
}

bool inst_frame_returns(struct inst_ctx *cx, const struct inst_frame *fr, struct ptx_stmt *s)
{
	struct ptx_label *over;

	if (s->form->op != PTX_OP_RET)
		return false;
	over = inst_skip_unless(cx, s, s);
	keep(cx, fr, s);
	inst_end_skip(cx, over, s);
	return true;
}

struct ptx_label *inst_frame_ends(struct inst_ctx *cx, const struct inst_frame *fr,
				  struct ptx_stmt *at)
{
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);

	emit(cx, at, "ends", NT, H(inst_reg(cx, fr->at), ptx_opnd_label(over)));
	return over;
}
