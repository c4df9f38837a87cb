/*
 * boxes.c - how many bytes tensor copies access in shared memory (check.h).
 *
 * The box is in the host's tensor map, and not in the text. But a copy that completes on an
 * mbarrier has its bytes expected there: they are a number that an arrival gives. Of one copy that
 * is its box, less what bulk copies of known sizes complete there; of several it is the sum. If
 * the distances to the next stages add up to it, these are the boxes, else equal parts, where each
 * stage has room for one. What is taken here is an assumption, which the contract names, and on
 * which no check at run time depends. A copy to global memory reads no more than the rest of its
 * variable.
 *
 * Misses: boxes where no number is expected, or in unequal parts that aren't the stages' sizes.
 */
#include "prove/check.h"

#define MAX_COPIES    8	   /* on one mbarrier */
#define DYNAMIC_ALIGN 1024 /* of dynamic shared memory that is all of it */

struct copy {
	const struct ev_mbar *op;
	struct ir_step *box; /* NULL: a bulk copy, whose bytes are known */
	uint64_t room;	     /* up to the next stage, or its variable's end; 0: not known */
};

/* The step of which a register of the instruction's is the box; NULL: there is none. */
static struct ir_step *box_of(struct ev *e, uint32_t index, uint32_t reg)
{
	for (uint32_t i = index; i-- > 0 && e->ir->steps.v[i].at == e->ir->steps.v[index].at;)
		if (e->ir->steps.v[i].kind == IR_BOX && e->ir->steps.v[i].dst == reg)
			return &e->ir->steps.v[i];
	return NULL;
}

/* The offset in an iteration of the loop, if that is a number. */
static bool is_at(struct ev *e, const struct ex *off, uint32_t loop, uint64_t k, uint64_t *out)
{
	if (loop != IR_NONE) {
		const struct ex *ctr = e->loops[loop].ctr;
		off = prove_ex_replace(e->pool, off, ctr, prove_ex_const(e->pool, ctr->w, k));
	}
	*out = off->imm;
	return off->op == EX_CONST;
}

static uint64_t room_of(struct ev *e, const struct ev_access *a)
{
	const struct ex *addr = prove_ev_read_reg(e, a->block, a->index, a->mem->base);
	uint32_t loop = e->ir->blocks.v[a->block].loop;
	uint64_t first, next;

	if (a->root.kind != EV_ROOT_OBJECT)
		return 0;
	addr = prove_ex_bin(e->pool, EX_ADD, addr,
			    prove_ex_const(e->pool, addr->w, (uint64_t)a->mem->off));
	const struct ex *off = prove_ev_offset(e, addr, &a->root);
	if (!is_at(e, off, loop, 0, &first))
		return 0;
	if (loop != IR_NONE && is_at(e, off, loop, 1, &next) && next != first)
		return next > first ? next - first : first - next;
	uint64_t bytes = e->ir->objects.v[a->root.id].bytes;
	return bytes > first ? bytes - first : 0;
}

/* The copies that complete on the mbarrier of op; false: there are too many. */
static bool list_copies(struct ev *e, const struct ev_mbar *op, struct copy *copy, unsigned *n)
{
	*n = 0;
	for (size_t i = 0; i < e->mbars.n; i++) {
		const struct ev_mbar *m = &e->mbars.v[i];
		if (m->mbar->kind != IR_MBAR_COPY || !prove_ev_same_root(&m->root, &op->root) ||
		    m->off != op->off)
			continue;
		if (*n == MAX_COPIES)
			return false;
		copy[*n] = (struct copy){.op = m, .box = box_of(e, m->index, m->mbar->arg)};
		for (size_t k = 0; k < e->accesses.n; k++)
			if (e->accesses.v[k].step->at == m->step->at &&
			    e->accesses.v[k].step->call == m->step->call)
				copy[*n].room = room_of(e, &e->accesses.v[k]);
		++*n;
	}
	return true;
}

/* The number that arrivals at the mbarrier expect, or 0. */
static uint64_t expected_at(const struct ev *e, const struct ev_mbar *op)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < e->mbars.n; i++) {
		const struct ev_mbar *m = &e->mbars.v[i];
		if (m->mbar->kind != IR_MBAR_ARRIVE || !m->arg ||
		    !prove_ev_same_root(&m->root, &op->root) || m->off != op->off)
			continue;
		if (m->arg->op != EX_CONST || (bytes && bytes != m->arg->imm))
			return 0;
		bytes = m->arg->imm;
	}
	return bytes;
}

static bool set_box(struct ir_step *box, uint64_t bytes)
{
	if (!box || box->imm || !bytes || bytes > UINT32_MAX)
		return false;
	box->imm = bytes;
	return true;
}

/* Of all copies that complete where op does. */
static bool share_out(struct ev *e, const struct ev_mbar *op)
{
	struct copy copy[MAX_COPIES];
	uint64_t left = expected_at(e, op), rooms = 0, least = UINT64_MAX;
	unsigned n, ntensor = 0;
	bool is_new = false;

	if (!left || !list_copies(e, op, copy, &n))
		return false;
	for (unsigned i = 0; i < n; i++) {
		const struct ex *bytes = copy[i].op->arg;
		if (copy[i].box) {
			ntensor++;
			rooms += copy[i].room;
			least = copy[i].room < least ? copy[i].room : least;
		} else if (bytes && bytes->op == EX_CONST && bytes->imm <= left) {
			left -= bytes->imm;
		} else {
			return false;
		}
	}
	bool is_by_room = ntensor > 1 && least && rooms == left;
	if (!ntensor ||
	    (!is_by_room && (left % ntensor || (ntensor > 1 && left / ntensor > least))))
		return false;
	for (unsigned i = 0; i < n; i++)
		is_new |= set_box(copy[i].box, is_by_room ? copy[i].room : left / ntensor);
	return is_new;
}

bool prove_boxes_find(struct ev *e)
{
	bool is_new = false;

	if (e->no_assumes)
		return false;
	for (size_t i = 0; i < e->mbars.n; i++)
		if (e->mbars.v[i].mbar->kind == IR_MBAR_COPY)
			is_new |= share_out(e, &e->mbars.v[i]);
	for (size_t i = 0; i < e->accesses.n; i++) {
		const struct ev_access *a = &e->accesses.v[i];
		struct ir_step *box = a->mem->is_range && a->mem->kind == RACE_OP_READ
					      ? box_of(e, a->index, a->mem->count)
					      : NULL;
		if (box && box->op == IR_MOST && a->root.kind == EV_ROOT_OBJECT)
			is_new |= set_box(box, e->ir->objects.v[a->root.id].bytes);
	}
	return is_new;
}

void prove_boxes_check(struct ev *e)
{
	for (size_t i = 0; i < e->ir->steps.n; i++) {
		const struct ir_step *st = &e->ir->steps.v[i];
		if (st->kind == IR_BOX && (!st->imm || e->no_assumes))
			prove_ir_problem(e->ir, st->at,
					 st->op == IR_MOST
						 ? "how much of its array a tensor copy reads "
						   "isn't known"
						 : "the box of a tensor copy isn't known by what "
						   "its mbarrier expects");
	}
}

static void say_dynamic(struct check *c)
{
	for (size_t i = 0; i < c->e->accesses.n; i++) {
		const struct ev_access *a = &c->e->accesses.v[i];
		const struct ptx_var *var =
			a->root.kind == EV_ROOT_OBJECT ? c->e->ir->objects.v[a->root.id].var : NULL;
		if (!a->mem->matrix || !var || var->align >= DYNAMIC_ALIGN ||
		    !prove_ev_is_all_dynamic(c->e->ir, a->root.id))
			continue;
		base_vec_push(&c->k->contract,
			      "dynamic shared memory begins at a multiple of 1024 bytes");
		return;
	}
}

void prove_boxes_say(struct check *c)
{
	bool has_some = false, has_stores = false;

	say_dynamic(c);
	for (size_t i = 0; i < c->e->ir->steps.n; i++) {
		const struct ir_step *st = &c->e->ir->steps.v[i];
		const char *file;
		uint32_t line;
		if (st->kind != IR_BOX)
			continue;
		has_some = true;
		has_stores |= st->op == IR_MOST;
		if (st->op == IR_MOST || !st->imm)
			continue;
		prove_alarm_place(c, st->at, &file, &line);
		base_vec_push(&c->k->contract,
			      base_printf(c->arena,
					  "the box of the tensor copy at line %u is of %llu bytes, "
					  "as its mbarrier expects",
					  line ? line : st->at->line, (unsigned long long)st->imm));
	}
	if (has_some)
		base_vec_push(&c->k->contract,
			      "what tensor maps name is no other array of the launch");
	if (has_stores)
		base_vec_push(&c->k->contract,
			      "what a tensor copy stores is in no other tensor copy's box");
}
