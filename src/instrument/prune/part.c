/*
 * part.c - accesses that need no check in a launch: reads of arrays that it doesn't write, and of
 * arrays of which each thread has its own part (own.c).
 *
 * A kernel's reads by a pointer that it is given, and by which it writes nothing, race with no
 * access of the launch where none of its writes goes to the allocation that the pointer leads to.
 * So all writes of the kernel, atomics too, must be by pointers that it is given, and each is
 * tested to stay in its allocation; each read is tested, too, and keeps its check where it leaves
 * its own. That the allocations differ, and that nothing else runs beside the launch, the agent
 * finds out before it (agent/plain.c). What the pointers are called here is no proof of anything:
 * it says which allocation to test for.
 *
 * needs: flow. Misses: kernels that call functions, write through pointers from memory or to
 * variables, or copy asynchronously to global memory; reads that are strong. Costs: two or three
 * SASS instructions for each read and write, a predicate for the launch and one for what left its
 * array; no solver.
 */
#include "instrument/detector.h"
#include "instrument/launches.h"

#include "race/detector.h"
#include "race/race.h"

#include <string.h>

bool inst_is_table_read(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	struct flow_object o;

	return s->form->op == PTX_OP_LD && flow_address_object(cx->fl, s, &o) && !o.is_param &&
	       race_is_math_table(o.name.p, o.name.n);
}

/* Can't it be global memory's, or only of what nothing writes? */
static bool is_elsewhere(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	enum flow_origin origin;

	switch ((enum ptx_space)s->form->space) {
	case PTX_SPACE_GLOBAL:
		return inst_is_table_read(cx, s);
	case PTX_SPACE_GENERIC:
		origin = flow_address_origin(cx->fl, s);
		return origin == FLOW_ORIGIN_SHARED || origin == FLOW_ORIGIN_PRIVATE;
	case PTX_SPACE_SHARED:
	case PTX_SPACE_SHARED_CLUSTER:
	case PTX_SPACE_LOCAL:
	case PTX_SPACE_CONST:
	case PTX_SPACE_PARAM:
	case PTX_SPACE_TMEM:
		return true;
	default:
		return false;
	}
}

bool inst_is_global(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	const uint32_t any = PTX_EFF_READ | PTX_EFF_WRITE | PTX_EFF_ATOMIC | PTX_EFF_ASYNC;

	return s->form->effects & any && !is_elsewhere(cx, s);
}

enum inst_effect inst_effect_of(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	const uint32_t any = PTX_EFF_CALL | PTX_EFF_DISCARD | PTX_EFF_UNKNOWN;
	const uint32_t writes = PTX_EFF_WRITE | PTX_EFF_ATOMIC;
	const struct ptx_form *fm = s->form;

	if (fm->effects & any)
		return INST_EFFECT_ANY;
	if (!(fm->effects & writes))
		return fm->op == PTX_OP_LD && fm->sem == PTX_SEM_WEAK && !is_elsewhere(cx, s)
			       ? INST_EFFECT_READS
			       : INST_EFFECT_NONE;
	/* Their global side is read. */
	if (fm->op == PTX_OP_CP_ASYNC || fm->op == PTX_OP_STMATRIX)
		return INST_EFFECT_NONE;
	if (fm->op == PTX_OP_ST || fm->op == PTX_OP_ATOM || fm->op == PTX_OP_RED)
		return is_elsewhere(cx, s) ? INST_EFFECT_NONE : INST_EFFECT_WRITES;
	return fm->effects & PTX_EFF_ASYNC || !is_elsewhere(cx, s) ? INST_EFFECT_ANY
								   : INST_EFFECT_NONE;
}

/* The parameter that the address is computed from, whose address can be tested; false: none. */
bool inst_find_pointer(struct inst_ctx *cx, const struct ptx_stmt *s,
		       struct race_plain_pointer *out)
{
	struct flow_object o;
	uint32_t index = 0;

	if (!inst_is_testable(cx, s) || !flow_address_object(cx->fl, s, &o) || !o.is_param)
		return false;
	for (const struct ptx_param *p = cx->f->params; p; p = p->next, index++) {
		if (p->bytes != 8 || !ptx_str_eq(p->name, o.name))
			continue;
		*out = (struct race_plain_pointer){.index = index};
		return true;
	}
	return false;
}

void inst_add_part(struct inst_ctx *cx, struct inst_launches *l, struct ptx_stmt *s, uint32_t array,
		   bool is_test)
{
	struct inst_part *p = BASE_NEW(cx->m->arena, struct inst_part);

	*p = (struct inst_part){.next = l->parts, .stmt = s, .array = array, .is_test = is_test};
	l->parts = p;
}

/* Is it known of each statement what it does to global memory? */
static bool are_effects_known(struct inst_ctx *cx)
{
	ptx_each_stmt(cx->f, s)
	{
		if (s->kind == PTX_STMT_RAW || s->kind == PTX_STMT_TARGETS ||
		    s->kind == PTX_STMT_PROTO)
			return false;
		if (s->kind == PTX_STMT_INST && !s->inserted &&
		    inst_effect_of(cx, s) == INST_EFFECT_ANY)
			return false;
	}
	return true;
}

bool inst_test_all(struct inst_ctx *cx, struct inst_launches *l, enum inst_effect effect,
		   uint16_t use)
{
	struct race_plain_pointer p;
	uint32_t array;

	ptx_each_stmt(cx->f, s)
	{
		if (s->kind != PTX_STMT_INST || s->inserted || inst_effect_of(cx, s) != effect)
			continue;
		if (!inst_find_pointer(cx, s, &p) || !inst_add_array(l, p, use, &array))
			return false;
		inst_add_part(cx, l, s, array, true);
	}
	return true;
}

static bool find_reads(struct inst_ctx *cx, struct inst_launches *l)
{
	struct race_plain_pointer p;
	uint32_t array;
	bool is_any = false;

	ptx_each_stmt(cx->f, s)
	{
		if (s->kind != PTX_STMT_INST || s->inserted ||
		    inst_effect_of(cx, s) != INST_EFFECT_READS || !inst_find_pointer(cx, s, &p) ||
		    inst_has_array(l, p, RACE_PLAIN_WRITTEN) ||
		    !inst_add_array(l, p, RACE_PLAIN_READ, &array))
			continue;
		inst_add_part(cx, l, s, array, false);
		is_any = true;
	}
	return is_any;
}

/* Does the kernel access nothing else that threads share? */
static bool is_all_left_out(struct inst_ctx *cx, const struct inst_launches *l)
{
	const uint32_t any = PTX_EFF_READ | PTX_EFF_WRITE | PTX_EFF_ATOMIC | PTX_EFF_ASYNC;

	ptx_each_stmt(cx->f, s)
	{
		const struct inst_part *p = l->parts;
		if (s->kind != PTX_STMT_INST || s->inserted || !(s->form->effects & any) ||
		    s->form->space == PTX_SPACE_PARAM || s->form->space == PTX_SPACE_CONST ||
		    s->form->space == PTX_SPACE_LOCAL || inst_is_table_read(cx, s))
			continue;
		while (p && (p->stmt != s || p->is_test))
			p = p->next;
		if (!p)
			return false;
	}
	return true;
}

void inst_plan_part(struct inst_ctx *cx, struct inst_launches *l)
{
	struct inst_launches was = *l;

	if (!are_effects_known(cx) ||
	    !inst_test_all(cx, l, INST_EFFECT_WRITES, RACE_PLAIN_WRITTEN)) {
		*l = was;
		return;
	}
	bool is_read = find_reads(cx, l), is_own = inst_plan_own(cx, l);
	if (!is_read && !is_own)
		*l = was;
	/* One proof is enough. */
	l->is_all = is_own && !l->proof && is_all_left_out(cx, l);
}

/* ---- the code -------------------------------------------------------------------------------- */

/* How far the access's last byte is from what its address register holds. */
static int64_t last_of(const struct ptx_stmt *s)
{
	return ptx_address(s)->off + (int64_t)s->form->vec * s->form->width - 1;
}

static size_t from_at(uint32_t array)
{
	return offsetof(struct race_plain_state, array[0]) +
	       array * sizeof(struct race_plain_array);
}

void inst_put_test(struct inst_ctx *cx, const struct inst_launches *l, const struct ptx_stmt *s,
		   uint32_t array, struct ptx_opnd left, struct ptx_stmt *at)
{
	struct ptx_opnd fails = inst_fresh(cx, PTX_TYPE_PRED);
	size_t from = from_at(array);

	inst_put_pruned(cx, at, "plain_test",
			T(l->space, l->state, inst_num((int64_t)from),
			  inst_num((int64_t)(from + offsetof(struct race_plain_array, bytes))),
			  inst_num(last_of(s))),
			H(fails, ptx_address(s)->sub[0]));
	if (s->pred != PTX_NO_REG)
		inst_put_pruned(cx, at, s->is_pred_not ? "plain_fails_unless" : "plain_fails_if",
				NT, H(left, fails, inst_reg(cx, s->pred)));
	else
		inst_put_pruned(cx, at, "plain_fails", NT, H(left, fails));
}

static struct ptx_str block_of(const struct inst_ctx *cx)
{
	const char *symbol = race_detectors[cx->detector->id].marker;

	return (struct ptx_str){symbol, (uint32_t)strlen(symbol)};
}

void inst_put_left(struct inst_ctx *cx, struct ptx_opnd left, struct ptx_stmt *at)
{
	inst_put_pruned(cx, at, "plain_left", T(cx->k, block_of(cx), KNOB(rt), RT(left)), H(left));
}

/* The first detector that asks puts in what all need: it is at work when `partly` isn't set. */
void inst_begin_part(struct inst_ctx *cx, struct inst_launches *l, struct ptx_stmt *top)
{
	if (!l || !l->parts || l->partly != PTX_NO_REG)
		return;
	l->partly = inst_fresh(cx, PTX_TYPE_PRED).reg;
	l->by = cx->detector;
	struct ptx_opnd left = inst_fresh(cx, PTX_TYPE_PRED);
	inst_put_pruned(cx, top, "part_enter", T(l->space, l->state, inst_num(RACE_PLAIN_PARTLY)),
			H(inst_reg(cx, l->partly)));
	inst_put_pruned(cx, top, "plain_begin", NT, H(left));
	for (const struct inst_part *p = l->parts; p; p = p->next)
		if (p->is_test)
			inst_put_test(cx, l, p->stmt, p->array, left, p->stmt);
	for (struct ptx_stmt *s = cx->f->first; s; s = s->next) {
		if (!inst_leaves(s))
			continue;
		inst_put_pruned(cx, s, "part_left", NT, H(left, inst_reg(cx, l->partly)));
		inst_put_left(cx, left, s);
	}
}

/* The part that the access of an event may be left out by; NULL: none. */
static struct inst_part *part_of(const struct inst_launches *l, const struct inst_event *e)
{
	struct inst_part *p = l ? l->parts : NULL;
	bool is_here = e->kind == INST_EVENT_ACCESS && e->strength == RACE_WEAK && !e->is_pruned &&
		       !e->with && !e->is_grouped && !e->lines && !e->is_copy;

	while (is_here && p && (p->stmt != e->stmt || p->is_test))
		p = p->next;
	return is_here && p && l->partly != PTX_NO_REG ? p : NULL;
}

void inst_note_parts(const struct inst_launches *l, struct inst_events *ev)
{
	for (struct inst_event *e = ev->first; e; e = e->next)
		e->is_noted |= e->uses && part_of(l, e);
}

struct ptx_label *inst_skip_part(struct inst_ctx *cx, const struct inst_launches *l,
				 const struct inst_event *e)
{
	struct inst_part *p = part_of(l, e);

	if (!p)
		return NULL;
	if (l->by == cx->detector && !p->is_counted) {
		p->is_counted = true;
		cx->stats->pruned++;
		inst_unchecked(cx, PTX_STR("access to global memory"), RACE_WHY_PROVEN_ALONE, true);
	}
	if (e->uses)
		inst_note_nothing(cx, e);
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	size_t from = from_at(p->array);
	inst_put_pruned(
		cx, e->stmt, "part_skip",
		T(l->space, l->state, inst_num((int64_t)from),
		  inst_num((int64_t)(from + offsetof(struct race_plain_array, bytes))),
		  inst_num(last_of(e->stmt))),
		H(ptx_address(e->stmt)->sub[0], inst_reg(cx, l->partly), ptx_opnd_label(over)));
	return over;
}
