/*
 * shuffle.c - block shuffling: %ctaid and %clusterid become logical ids.
 *
 * SuperCollider section 3.5.2, over the whole grid. At the entry of each kernel
 * and function that reads an id, the logical one is computed from the hardware's
 * and from the order that the knobs ask for (race/shuffle/blocks.h, shuffle.ptxt); the
 * reads take it from there. Which blocks a cluster is made of, %cluster_ctaid
 * and %cluster_ctarank stay. Functions compute the id again: they can't know which kernel they run
 * in, hence the rules of race_shuffle_allowed.
 *
 * Not supported, so that the module keeps its order (with a message): ids read otherwise than by
 * mov and cvt of 32 bits; clusterlaunchcontrol (it assigns ids of its own). Collider's own reads
 * (the seed of the draws, the record) stay physical; the host turns a record's block into the
 * logical one.
 *
 * Costs with --shuffle=off: one constant, a compare and a branch per kernel and
 * thread, and the id lives in a register from the entry on.
 */
#include "instrument/internal.h"

#include "instrument/templates.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum id_kind { ID_NONE, ID_BLOCK, ID_CLUSTER, ID_ODD };

#define SHUFFLE_SM 90 /* clusters exist from here on */

/* What an operand reads; *dim is 0, 1, 2 for x, y, z. */
static enum id_kind id_of(const struct ptx_opnd *op, unsigned *dim)
{
	static const char block[] = "%ctaid", cluster[] = "%clusterid";
	size_t n = 0;
	enum id_kind kind = ID_NONE;

	if (op->kind != PTX_OPND_SPECIAL)
		return ID_NONE;
	if (op->text.n >= sizeof(block) - 1 && memcmp(op->text.p, block, sizeof(block) - 1) == 0) {
		kind = ID_BLOCK;
		n = sizeof(block) - 1;
	} else if (op->text.n >= sizeof(cluster) - 1 &&
		   memcmp(op->text.p, cluster, sizeof(cluster) - 1) == 0) {
		kind = ID_CLUSTER;
		n = sizeof(cluster) - 1;
	} else {
		return ID_NONE;
	}
	if (op->text.n != n + 2 || op->text.p[n] != '.')
		return ID_ODD;
	const char *at = memchr("xyz", op->text.p[n + 1], 3);
	*dim = at ? (unsigned)(at - "xyz") : 0;
	return at ? kind : ID_ODD;
}

/* Can the operand of this statement be a .b32 register as well? */
static bool takes_register(const struct ptx_stmt *s, const struct ptx_opnd *op)
{
	const struct ptx_form *fm = s->form;

	if (s->nops != 2 || op != &s->ops[1] || !fm->ntypes)
		return false;
	if (fm->op != PTX_OP_MOV && fm->op != PTX_OP_CVT)
		return false;
	enum ptx_type t = (enum ptx_type)fm->types[fm->ntypes - 1];
	return ptx_type_bytes(t) == 4 && ptx_type_class(t) != PTX_CLASS_FLOAT;
}

typedef void id_fn(struct inst_ctx *cx, struct ptx_stmt *s, struct ptx_opnd *op, enum id_kind kind,
		   unsigned dim, void *arg);

static void each_id_in(struct inst_ctx *cx, struct ptx_stmt *s, struct ptx_opnd *op, id_fn *fn,
		       void *arg)
{
	unsigned dim = 0;
	enum id_kind kind = id_of(op, &dim);

	if (kind != ID_NONE)
		fn(cx, s, op, kind, dim, arg);
	if (op->kind == PTX_OPND_ADDR || op->kind == PTX_OPND_VEC || op->kind == PTX_OPND_LIST ||
	    op->kind == PTX_OPND_PAIR)
		for (unsigned i = 0; i < op->nsub; i++)
			each_id_in(cx, s, &op->sub[i], fn, arg);
}

/* Calls fn with each read of an id by the program in a function. */
static void each_id(struct inst_ctx *cx, struct ptx_func *f, id_fn *fn, void *arg)
{
	ptx_each_stmt(f, s)
	{
		if (s->kind != PTX_STMT_INST || s->inserted)
			continue;
		for (unsigned i = 0; i < s->nops; i++)
			each_id_in(cx, s, &s->ops[i], fn, arg);
	}
}

/* ---- before anything is changed ------------------------------------------------ */

static void look_at_read(struct inst_ctx *cx, struct ptx_stmt *s, struct ptx_opnd *op,
			 enum id_kind kind, unsigned dim, void *arg)
{
	(void)dim;
	*(bool *)arg = true;
	if (kind == ID_ODD || !takes_register(s, op))
		cx->shuffle_flags |= RACE_SHUFFLE_FIXED;
}

static void look_at_function(struct inst_ctx *cx, struct ptx_func *f)
{
	bool reads = false;

	each_id(cx, f, look_at_read, &reads);
	cx->reads_ids |= reads;
	if (reads && !f->is_entry)
		cx->shuffle_flags |= RACE_SHUFFLE_FOLLOWER;
	if (!f->is_entry && inst_is_strong_function(f))
		cx->shuffle_flags |= RACE_SHUFFLE_STRONG;
	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_INST &&
		    s->form->op == PTX_OP_CLUSTERLAUNCHCONTROL_QUERY_CANCEL)
			cx->shuffle_flags |= RACE_SHUFFLE_FIXED;
	}
}

bool inst_shuffle_begin(struct inst_ctx *cx)
{
	uint64_t id = BASE_FNV_INIT;

	cx->shuffle_ts = ptx_templates_read(cx->m, inst_shuffle_templates, cx->sink);
	ptx_each_item(cx->m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		const struct ptx_str name = it->func->name;
		look_at_function(cx, it->func);
		base_vec_push(&cx->order_names, base_hash(name.p, name.n, BASE_FNV_INIT));
		id = base_hash(name.p, name.n, id);
	}
	cx->shuffle_id = (uint32_t)(id ^ id >> 32);
	if (cx->shuffle_flags & RACE_SHUFFLE_FIXED)
		race_sites_unchecked(cx->sites, 0, RACE_WHY_FIXED_ORDER, 0, 1);
	return cx->shuffle_ts != NULL;
}

/* ---- a function -------------------------------------------------------------------- */

struct ids {
	bool has[2]; /* blocks, clusters */
	struct ptx_opnd block[3], cluster[3];
};

static void note_id(struct inst_ctx *cx, struct ptx_stmt *s, struct ptx_opnd *op, enum id_kind kind,
		    unsigned dim, void *arg)
{
	struct ids *ids = arg;

	(void)cx;
	(void)s;
	(void)op;
	(void)dim;
	ids->has[kind == ID_CLUSTER] = true;
}

static void take_id(struct inst_ctx *cx, struct ptx_stmt *s, struct ptx_opnd *op, enum id_kind kind,
		    unsigned dim, void *arg)
{
	const struct ids *ids = arg;

	(void)cx;
	*op = kind == ID_CLUSTER ? ids->cluster[dim] : ids->block[dim];
	s->text = (struct ptx_str){"", 0}; /* it no longer is the source's text */
}

static struct ptx_opnd fresh(struct inst_ctx *cx, enum ptx_type t)
{
	return inst_reg(cx, ptx_new_reg(cx->m, cx->f, t));
}

static void fresh3(struct inst_ctx *cx, struct ptx_opnd v[3])
{
	for (int d = 0; d < 3; d++)
		v[d] = fresh(cx, PTX_TYPE_B32);
}

static void emit(struct inst_ctx *cx, struct ptx_stmt *at, const char *name, unsigned ntexts,
		 const struct ptx_str *texts, unsigned nholes, const struct ptx_opnd *holes)
{
	ptx_emit(ptx_template_get(cx->shuffle_ts, name, ntexts, texts), cx->f, at, NULL, nholes,
		 holes);
}

/* By a call of __collider_block, or its code where nothing may be called. */
static struct ptx_opnd logical_block(struct inst_ctx *cx, struct ptx_opnd order,
				     struct ptx_stmt *at)
{
	struct ptx_opnd packed = fresh(cx, PTX_TYPE_B64);

	if (cx->call_free || cx->no_calls)
		inst_splice(cx, cx->block, at, &order, &packed);
	else
		emit(cx, at, "block", NT, H(packed, order));
	return packed;
}

/* The ids, at the entry. */
static void compute(struct inst_ctx *cx, struct ids *ids, struct ptx_stmt *at)
{
	struct ptx_opnd order = fresh(cx, PTX_TYPE_B32), *b = ids->block, *c = ids->cluster;
	struct ptx_label *skip = ptx_new_label(cx->m, cx->f);

	emit(cx, at, "ids", NT, H(b[0], b[1], b[2]));
	if (ids->has[1])
		emit(cx, at, "cluster_ids", NT, H(c[0], c[1], c[2]));
	emit(cx, at, "gate", T(cx->k, cx->waits ? KNOB(shuffle_waiting) : KNOB(order)),
	     H(order, ptx_opnd_label(skip)));
	emit(cx, at, "unpack", NT, H(b[0], b[1], b[2], logical_block(cx, order, at)));
	if (ids->has[1])
		emit(cx, at, "clusters_of", NT, H(c[0], c[1], c[2], b[0], b[1], b[2]));
	inst_emit_label(cx, at, skip);
}

void inst_fill_clusters(struct inst_ctx *cx, struct ptx_func *f, bool is_ours)
{
	cx->f = f;
	for (struct ptx_stmt *s = f->first, *next; s; s = next) {
		next = s->next;
		if (s->kind != PTX_STMT_INST || s->form->op != PTX_OP_MOV || s->nops != 2 ||
		    !(is_ours || s->inserted) || s->ops[1].kind != PTX_OPND_SPECIAL ||
		    !ptx_str_is(s->ops[1].text, "%nsmid"))
			continue;
		emit(cx, s, cx->m->sm >= SHUFFLE_SM ? "clusters" : "no_clusters", NT, H(s->ops[0]));
		ptx_remove(f, s);
	}
	ptx_declare_new_regs(cx->m, f);
}

static void poll_loops(struct inst_ctx *cx)
{
	_Static_assert(offsetof(struct race_rt, records) == 0, "poll");
	for (size_t i = 0; i < cx->polls.n; i++) {
		struct ptx_stmt *at = cx->polls.v[i];
		while (at && at->kind != PTX_STMT_INST && at->kind != PTX_STMT_OPEN)
			at = at->next;
		emit(cx, at, "poll",
		     T(cx->k, KNOB(shuffle_waiting), KNOB(rt), inst_num((int64_t)RACE_REGION_STOP)),
		     NH);
	}
}

/* needs: inst_find_waits before anything was changed.  breaks: flow. */
void inst_shuffle_function(struct inst_ctx *cx)
{
	struct ids ids = {0};

	inst_fill_clusters(cx, cx->f, false);
	if (cx->waits) {
		cx->shuffle_flags |= RACE_SHUFFLE_WAITS;
		if (!cx->f->is_entry)
			cx->shuffle_flags |= RACE_SHUFFLE_FOLLOWER;
		race_sites_unchecked(cx->sites, 0, RACE_WHY_WAITS, cx->func_name, 1);
	}
	if (cx->shuffle_flags & RACE_SHUFFLE_FIXED)
		return;
	poll_loops(cx);
	each_id(cx, cx->f, note_id, &ids);
	if (ids.has[0] || ids.has[1]) {
		fresh3(cx, ids.block);
		fresh3(cx, ids.cluster);
		each_id(cx, cx->f, take_id, &ids);
		compute(cx, &ids, inst_body_start(cx->f));
	}
	ptx_declare_new_regs(cx->m, cx->f);
}

/* ---- what belongs to the module ---------------------------------------------------- */

struct ptx_str inst_shuffle_table(struct inst_ctx *cx)
{
	struct base_buf b = {0};
	unsigned flags = cx->shuffle_flags;

	char *name = base_printf(cx->m->arena, "%s%08" PRIx32 "%02x", RACE_SHUFFLE_PREFIX,
				 cx->shuffle_id, flags);

	base_buf_printf(&b, "0x%x", flags);
	for (size_t i = 0; i < cx->order_names.n; i++)
		base_buf_printf(&b, ",0x%016" PRIx64, cx->order_names.v[i]);
	struct ptx_str text = inst_module_text(cx, "words",
					       T((struct ptx_str){name, (uint32_t)strlen(name)},
						 inst_num((int64_t)cx->order_names.n + 1),
						 (struct ptx_str){b.p, (uint32_t)b.n}));
	base_buf_free(&b);
	return text;
}
