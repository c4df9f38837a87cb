/*
 * transfer.c - the words for copies and fills of the host: those that raced, and which were
 * checked.
 *
 * Such a finding has no thread: it names the call, its stream and the place in the copied bytes.
 */
#include "report/internal.h"

#include <string.h>

static bool is_source(const struct race_finding *f)
{
	return f->kind == RACE_KIND_CLOBBERED_READ;
}

const char *rep_transfer_title(const struct race_finding *f)
{
	return is_source(f) ? "memory changed while the host's copy read it"
			    : "memory changed while the host's copy wrote it";
}

const char *rep_transfer_sentence(const struct race_finding *f)
{
	if (f->cls == RACE_CLASS_POSSIBLE)
		return "The memory of this small copy or fill changed directly after it. It may "
		       "be a "
		       "flag\n"
		       "that a running kernel is meant to change; else nothing orders the two.";
	if (is_source(f))
		return "The host asked for this copy, and something else (a kernel, a copy of "
		       "another "
		       "stream\n"
		       "or process) changed its source meanwhile: nothing orders the two.";
	return "The host asked for this copy or fill, and something else (a kernel, a copy of "
	       "another\n"
	       "stream or process) wrote to its destination meanwhile: nothing orders the two.";
}

/* Printed in place of thread and block. */
void rep_transfer_first(struct base_buf *out, struct rep_view *v, const struct race_finding *f,
			const char *indent)
{
	const struct race_transfer_op *o = f->transfer;
	struct base_arena *a = &v->arena;

	if (*o->module)
		base_buf_printf(
			out, "%sCalled from  : %s+0x%llx%s\n", indent, o->module,
			(unsigned long long)o->offset,
			f->line ? ""
				: " (for its line: host code built with -g, and collider run)");
	base_buf_printf(out, "%sFirst noticed: byte %s of %s, Address 0x%llx\n", indent,
			rep_number(a, o->at), rep_number(a, o->bytes),
			(unsigned long long)f->first.address);
}

void rep_transfer_checked(struct base_buf *out, struct rep_view *v)
{
	const struct race_transfer_counts *c = &v->r->transfers;
	struct base_arena *a = &v->arena;

	if (c->checked)
		base_buf_printf(out, "  %s %s %s of the host, %s of %s read again\n",
				rep_count(a, c->checked, "copy"), c->checked == 1 ? "or" : "and",
				rep_noun(a, c->checked, "fill"), rep_count(a, c->bytes, "byte"),
				c->checked == 1 ? "it" : "them");
}

const char *rep_transfer_unchecked(struct rep_view *v, unsigned why)
{
	static const char *const reasons[RACE_TRANSFER_SKIPS] = {
		[RACE_TRANSFER_CAPTURED] = "written into a graph",
		[RACE_TRANSFER_NULL_STREAM] = "on the legacy default stream, which others wait for",
		[RACE_TRANSFER_PAGEABLE] = "to or from pageable memory",
		[RACE_TRANSFER_SHAPE] = "of rows, slices or arrays, or of another context",
		[RACE_TRANSFER_BUSY] = "while no buffer of Collider's was free",
		[RACE_TRANSFER_SAMPLED] = "not drawn (--rate)",
		[RACE_TRANSFER_UNFINISHED] = "not complete when the program ended",
	};
	uint64_t n = v->r->transfers.skipped[why];

	if (!n)
		return NULL;
	return base_printf(&v->arena, "%s or %s of the host: %s", rep_count(&v->arena, n, "copy"),
			   rep_noun(&v->arena, n, "fill"), reasons[why]);
}
