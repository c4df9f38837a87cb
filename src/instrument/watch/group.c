/*
 * group.c - looks for several accesses at once.
 *
 * A group is what comes between two statements that may acquire or release, branch or are branched
 * to: weak accesses only, at most sixteen. Those of global memory look at their slots beside
 * themselves, and the words are examined together at the end of the group. Those of the block's
 * shared memory ask one word of the block whether a watchpoint stands in its table at all, and look
 * at their slots only then, at the end. There one of the accesses may be watched, too, which is as
 * good as before it, since nothing has been ordered in between. Accesses at constant distances
 * from one register share looks: of any run of offsets the first, the last, and those between
 * that are at most 32 bytes apart, meet every slot of the run.
 *
 * Misses: nothing that a look for each access would find, but for watchpoints that are taken back
 * between the look and the end of the group, and in shared memory those that are published between
 * the group's first access and its end by a block that had none. Costs: see watch.ptxt.
 */
#include "instrument/watch/watch_internal.h"

static const struct ptx_opnd *base_of(const struct inst_event *e)
{
	return &e->access->where->sub[0];
}

/* Is the address at a constant distance from the other one's, for sure? */
static bool is_same_base(const struct inst_watch *k, const struct inst_event *a,
			 const struct inst_event *b)
{
	const struct ptx_opnd *x = base_of(a), *y = base_of(b);
	uint32_t n;

	if (a->space != b->space || a->stmt->pred != PTX_NO_REG || b->stmt->pred != PTX_NO_REG ||
	    x->kind != y->kind)
		return false;
	if (x->kind == PTX_OPND_SYM)
		return ptx_str_eq(x->text, y->text);
	if (x->kind != PTX_OPND_REG || x->reg != y->reg)
		return false;
	flow_defs(k->f.cx->fl, x->reg, &n);
	return n == 1;
}

static bool is_wide_space(const struct inst_event *e)
{
	return e->space != INST_IN_GLOBAL && e->space != INST_IN_SHARED;
}

/* Of the items with the base of item `first` those that look, in the order of their offsets. */
static void choose_looks(struct inst_watch *k, unsigned first)
{
	struct inst_watch_group *g = &k->group;
	int64_t off[RACE_WATCH_GROUP], at;
	unsigned same[RACE_WATCH_GROUP], n = 1;

	off[0] = g->item[first].e->access->where->off;
	same[0] = first;
	for (unsigned i = first + 1; i < g->planned; i++) {
		if (!is_same_base(k, g->item[first].e, g->item[i].e))
			continue;
		unsigned j = n++;
		int64_t o = g->item[i].e->access->where->off;
		for (; j > 0 && off[j - 1] > o; j--) {
			off[j] = off[j - 1];
			same[j] = same[j - 1];
		}
		off[j] = o;
		same[j] = i;
		g->item[i].looks = false;
	}
	g->item[same[0]].looks = true;
	at = off[0];
	for (unsigned i = 1; i < n; i++) {
		bool is_last = i + 1 == n || off[i + 1] - at > (1 << RACE_WATCH_GRANULE);
		if (off[i] == at || !is_last)
			continue;
		g->item[same[i]].looks = true;
		at = off[i];
	}
}

/* No group goes across it. */
static bool ends_group(const struct ptx_stmt *s, const struct inst_event *e)
{
	if (s->inserted || s->kind == PTX_STMT_LOC)
		return false;
	if (s->kind != PTX_STMT_INST)
		return true;
	return s->form->effects & (PTX_EFF_BRANCH | PTX_EFF_EXIT | PTX_EFF_ATOMIC) ||
	       inst_watch_may_release(s) ||
	       (e && e->stmt == s && (e->kind != INST_EVENT_ACCESS || e->strength != RACE_WEAK));
}

/* From e on, as far as the group goes. */
static void plan_group(struct inst_watch *k, const struct inst_event *e)
{
	struct inst_watch_group *g = &k->group;
	bool done[RACE_WATCH_GROUP] = {false};

	*g = (struct inst_watch_group){.planned = 0};
	for (const struct ptx_stmt *s = e->stmt; s && g->planned < RACE_WATCH_GROUP; s = s->next) {
		if (s->inserted)
			continue;
		if (ends_group(s, e))
			break;
		for (; e && e->stmt == s; e = e->next)
			if (inst_watch_joins(k, e) && g->planned < RACE_WATCH_GROUP)
				g->item[g->planned++] = (struct inst_watch_item){.e = e};
		if (!e)
			break;
	}
	for (unsigned i = 0; i < g->planned; i++) {
		if (done[i])
			continue;
		for (unsigned j = i + 1; j < g->planned; j++)
			done[j] |= is_same_base(k, g->item[i].e, g->item[j].e);
		if (is_wide_space(g->item[i].e) || g->item[i].e->stmt->pred != PTX_NO_REG)
			g->item[i].looks = true;
		else
			choose_looks(k, i);
	}
	for (unsigned i = 0; i < g->planned; i++)
		g->item[i].looks |= is_wide_space(g->item[i].e);
}

bool inst_watch_joins(const struct inst_watch *k, const struct inst_event *e)
{
	const struct ptx_form *fm = e->stmt->form;

	if (e->kind != INST_EVENT_ACCESS || e->strength != RACE_WEAK || e->access->is_copy ||
	    fm->effects & (PTX_EFF_ASYNC | PTX_EFF_COLLECTIVE_MEM))
		return false;
	if ((e->access->space == PTX_SPACE_SHARED_CLUSTER && k->rank == PTX_NO_REG) ||
	    (e->space == INST_IN_SHARED && k->block == PTX_NO_REG && k->key == PTX_NO_REG))
		return false;
	return !e->maybe || e->sure || e->writes;
}

struct ptx_opnd inst_watch_standing(struct inst_watch *k, const struct inst_event *e)
{
	if (k->has_standing)
		return k->standing;
	k->has_standing = true;
	k->standing = inst_fresh(k->f.cx, PTX_TYPE_B32);
	inst_emit(k->f.cx, e->stmt, "standing", T(inst_num(RACE_WATCH_STANDING_AT)),
		  H(k->standing, inst_reg(k->f.cx, k->block)));
	return k->standing;
}

/*
 * In global memory, or by a table of the block: no branch. Of shared memory the looks are at the
 * end of the group, where watchpoints stand in the block's table at all: a word says so.
 */
static void put_plain(struct inst_watch *k, struct inst_watch_item *it)
{
	struct inst_ctx *cx = k->f.cx;
	struct inst_watch_group *g = &k->group;
	const struct inst_event *e = it->e;
	struct ptx_opnd guard = inst_watch_guard(k, e), low, base;
	bool is_narrow;

	if (e->stmt->pred == PTX_NO_REG)
		g->nchecks++;
	else
		inst_watch_count(k, e->stmt, guard, 1);
	if (e->space == INST_IN_SHARED) {
		inst_watch_standing(k, e);
		g->has_shared = true;
	}
	if (e->space == INST_IN_SHARED || !it->looks)
		return;
	it->has_word = true;
	it->word = inst_fresh(cx, PTX_TYPE_B32);
	low = inst_fresh(cx, PTX_TYPE_B32);
	base = inst_watch_base(k, e, e->stmt, &is_narrow);
	inst_emit(cx, e->stmt, is_narrow ? "low32" : "low64", T(inst_num(e->access->where->off)),
		  H(low, base));
	inst_emit(cx, e->stmt, "see", NT,
		  H(it->word, low, inst_reg(cx, k->table), inst_reg(cx, k->mask), guard));
}

static void put_guarded(struct inst_watch *k, struct inst_watch_item *it)
{
	struct inst_ctx *cx = k->f.cx;
	const struct inst_event *e = it->e;
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);

	it->has_word = it->has_at = true;
	it->word = inst_fresh(cx, PTX_TYPE_B32);
	it->at = inst_fresh(cx, PTX_TYPE_B64);
	it->w = inst_fresh(cx, PTX_TYPE_B64);
	inst_emit(cx, e->stmt, "nowhere", NT, H(it->at, it->w, it->word));
	if (e->stmt->pred != PTX_NO_REG)
		inst_emit(cx, e->stmt, "unless", NT,
			  H(inst_sense(inst_reg(cx, e->stmt->pred), e->stmt->is_pred_not),
			    ptx_opnd_label(over)));
	struct inst_watch_look l = inst_watch_table(k, e, over, true);
	inst_emit(cx, e->stmt, "same", NT, H(it->at, l.at));
	inst_emit(cx, e->stmt, "same", NT, H(it->w, l.w));
	inst_emit(cx, e->stmt, "see_any", NT, H(it->word, l.at, l.tab, l.m));
	inst_emit_label(cx, e->stmt, over);
}

void inst_watch_join(struct inst_watch *k, const struct inst_event *e)
{
	struct inst_watch_group *g = &k->group;
	struct inst_watch_item *it;

	if (g->n == g->planned)
		plan_group(k, e);
	it = &g->item[g->n++];
	if (is_wide_space(e) || (e->space == INST_IN_SHARED && k->key != PTX_NO_REG))
		put_guarded(k, it);
	else
		put_plain(k, it);
}

/* Is the register assigned to from a statement on, before another one that is its successor? */
static bool is_changed(const struct inst_watch *k, uint32_t reg, const struct ptx_stmt *from,
		       const struct ptx_stmt *to)
{
	uint32_t n;
	struct ptx_stmt *const *defs = flow_defs(k->f.cx->fl, reg, &n);

	for (; from != to; from = from->next)
		for (uint32_t i = 0; i < n; i++)
			if (defs[i] == from)
				return true;
	return false;
}

/* Where the group ends, or beside the access, where its registers have other values by then. */
static void put_address(struct inst_watch *k, struct inst_watch_item *it, struct ptx_stmt *s)
{
	struct inst_ctx *cx = k->f.cx;
	const struct inst_event *e = it->e;
	const struct ptx_opnd *base = base_of(e);

	if ((base->kind == PTX_OPND_REG && is_changed(k, base->reg, e->stmt, s)) ||
	    (e->stmt->pred != PTX_NO_REG && is_changed(k, e->stmt->pred, e->stmt, s)))
		s = e->stmt;
	it->has_at = true;
	it->at = inst_watch_address(k, e, s);
	it->w = inst_fresh(cx, PTX_TYPE_B64);
	inst_emit(cx, s, "is", T(inst_num((int64_t)inst_watch_what(k, e))), H(it->w));
	if (e->stmt->pred != PTX_NO_REG)
		inst_emit(cx, s, "nowhere_unless", NT, H(it->at, it->w, inst_watch_guard(k, e)));
}

/* Watchpoints stand in the block's table: of these bytes? */
static void put_block_looks(struct inst_watch *k, struct ptx_stmt *s, struct ptx_opnd seen)
{
	struct inst_ctx *cx = k->f.cx;
	struct inst_watch_group *g = &k->group;

	for (unsigned i = 0; i < g->n; i++) {
		struct ptx_opnd word;
		if (g->item[i].e->space != INST_IN_SHARED || !g->item[i].looks)
			continue;
		word = inst_fresh(cx, PTX_TYPE_B32);
		inst_emit(cx, s, "see_block", T(inst_num(RACE_WATCH_SHARED_MASK)),
			  H(word, g->item[i].at, inst_reg(cx, k->block)));
		inst_emit(cx, s, "or", NT, H(seen, word));
	}
}

/* Before s; before what a detector beside this one has put there, which may sleep. */
static void put_end_of_group(struct inst_watch *k, struct ptx_stmt *s)
{
	struct inst_ctx *cx = k->f.cx;
	struct inst_watch_group *g = &k->group;
	struct ptx_label *over = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd due = inst_fresh(cx, PTX_TYPE_B32), tab = inst_fresh(cx, PTX_TYPE_B64);
	struct ptx_opnd cnt = inst_reg(cx, k->f.cnt), next = inst_reg(cx, k->next);
	struct ptx_opnd seen = inst_fresh(cx, PTX_TYPE_B32), some = inst_fresh(cx, PTX_TYPE_B32);

	if (g->nchecks)
		inst_watch_count(k, s, inst_none(), g->nchecks);
	inst_emit(cx, s, "begins", NT, H(due, next, cnt));
	inst_emit(cx, s, "nothing", NT, H(seen));
	for (unsigned i = 0; i < g->n; i++)
		if (g->item[i].has_word)
			inst_emit(cx, s, "or", NT, H(seen, g->item[i].word));
	inst_emit(cx, s, "or_of", NT, H(some, due, seen));
	if (g->has_shared)
		inst_emit(cx, s, "or", NT, H(some, k->standing));
	inst_emit(cx, s, "unless_due", NT, H(some, ptx_opnd_label(over)));
	for (unsigned i = 0; i < g->n; i++)
		if (!g->item[i].has_at)
			put_address(k, &g->item[i], s);
	if (g->has_shared) {
		put_block_looks(k, s, seen);
		inst_emit(cx, s, "or", NT, H(due, seen));
		inst_emit(cx, s, "unless_due", NT, H(due, ptx_opnd_label(over)));
	}
	for (unsigned i = 0; i < g->n; i++) {
		unsigned at = RACE_WATCH_ITEMS_AT + 16u * i;
		inst_emit(cx, s, "item", T(inst_num(at), inst_num(at + 8u)),
			  H(g->item[i].at, g->item[i].w));
	}
	if (k->block != PTX_NO_REG)
		inst_emit(cx, s, "block_table", NT, H(tab, inst_reg(cx, k->block)));
	else
		inst_emit(cx, s, "no_table", NT, H(tab));
	inst_emit(cx, s, "group", T(inst_num(g->n)),
		  H(tab, seen, cnt, next, inst_reg(cx, k->held)));
	inst_emit_label(cx, s, over);
}

void inst_watch_end_group(struct inst_watch *k, struct ptx_stmt *s, const struct inst_event *e)
{
	struct inst_watch_group *g = &k->group;
	bool is_end = ends_group(s, e);

	if (g->n &&
	    (is_end || (g->n == g->planned && e && e->stmt == s && inst_watch_joins(k, e)))) {
		struct ptx_stmt *at = inst_before_arguments(s);
		if (inst_watch_is_beside(k->f.cx))
			while (at->prev && at->prev->inserted)
				at = at->prev;
		put_end_of_group(k, at);
		*g = (struct inst_watch_group){.planned = 0};
	}
	if (is_end)
		k->has_standing = false;
}
