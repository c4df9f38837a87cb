/*
 * call.c - a group of accesses checked by calls (src/device/collide/check.cu) in place of inlined
 * code.
 *
 * In a function with many groups, inlined blocks would dominate the time of ptxas and the
 * registers. There a group becomes the draw (template `draw`) and straight-line code: addresses (a
 * null address where the guard is false), values, and a call for every four items. The call returns
 * which second readings differed; only uses of speculated values test that, and a use that counts
 * is one predicated store.
 *
 * Misses nothing that inlined code finds; what has another shape (shared::cluster, more than four
 * pieces) stays inlined; for groups of ahead.c see ahead_call.c. Costs: see
 * src/device/collide/check.cu.
 */
#include "instrument/collide/collide.h"

#include <string.h>

enum call_class { CLASS_GLOBAL, CLASS_SHARED, CLASS_GENERIC };

/* One call. */
struct inst_call {
	struct inst_call *next;
	enum call_class cls;
	bool is_mixed;	 /* sizes differ, or aren't 4 or 8 throughout */
	bool is_wide;	 /* all of 8 bytes */
	bool wants_mask; /* some element is speculated */
	bool is_sure;	 /* no guard and no test for private memory */
	bool has_lanes;
	uint32_t site, naccesses, n;
	uint32_t mask; /* register: what changed */
	struct inst_item {
		struct inst_access *a;
		unsigned elem; /* the first, or only, one */
		bool is_pair, is_step, is_head;
		uint8_t half; /* of 128 bits: 1 low, 2 high */
	} item[RACE_CHECK_ITEMS];
};

/* ---- accesses as items ------------------------------------------------------------ */

static bool is_joined(const struct inst_access *a, unsigned i)
{
	return a->bits == 32 && a->width == 4 && i % 2 == 0 && i + 1 < a->vec &&
	       a->elem[i].checked && a->elem[i + 1].checked && !a->elem[i].speculated &&
	       !a->elem[i + 1].speculated;
}

/* Fills `item` (or only counts, NULL). More than four, or 0: this access can't be checked by a
 * call. */
static unsigned items_of(struct inst_access *a, struct inst_item *item)
{
	unsigned n = 0;

	for (unsigned i = 0; i < a->vec; i++) {
		struct inst_item it = {.a = a, .elem = i, .is_head = n == 0};

		if (!a->elem[i].checked) {
			/* The lanes of a store are compared by its whole value. */
			if (a->kind == RACE_ACCESS_STORE)
				return 0;
			continue;
		}
		if (a->bits == 128) {
			it.half = 1;
			if (item && n < RACE_CHECK_ITEMS)
				item[n] = it;
			n++;
			it.half = 2;
			it.is_head = false;
		} else if (is_joined(a, i)) {
			it.is_pair = true;
			i++;
		}
		if (item && n < RACE_CHECK_ITEMS)
			item[n] = it;
		n++;
	}
	return n;
}

static bool class_of(const struct inst_access *a, enum call_class *cls)
{
	bool is_register = a->where->sub[0].kind == PTX_OPND_REG;

	switch (a->space) {
	case PTX_SPACE_GLOBAL:
		*cls = CLASS_GLOBAL;
		return true;
	case PTX_SPACE_SHARED:
		*cls = CLASS_SHARED;
		return true;
	case PTX_SPACE_GENERIC:
		*cls = CLASS_GENERIC;
		return is_register;
	default:
		return false;
	}
}

static unsigned item_bytes(const struct inst_item *it)
{
	return it->is_pair || it->half ? 8 : it->a->width;
}

static void add_items(struct inst_call *c, struct inst_access *a)
{
	struct inst_item item[RACE_CHECK_ITEMS];
	unsigned n = items_of(a, item);

	if (!c->naccesses)
		c->site = a->site;
	for (unsigned i = 0; i < n; i++) {
		unsigned bytes = item_bytes(&item[i]);
		const struct inst_elem *e = &a->elem[item[i].elem];

		item[i].is_step = i == 0 && c->naccesses > 0;
		c->wants_mask |= e->speculated && a->kind != RACE_ACCESS_NC_LOAD;
		c->is_mixed |= bytes < 4 || (c->n && c->is_wide != (bytes == 8)) ||
			       (bytes == 4 && a->bits != 32);
		c->is_wide = bytes == 8;
		c->item[c->n++] = item[i];
	}
	c->naccesses++;
	c->is_sure &= a->stmt->pred == PTX_NO_REG;
	c->has_lanes |= a->kind == RACE_ACCESS_STORE;
}

/*
 * The calls of a group, in order; NULL: the group must be inlined. Consecutive accesses
 * share a call where their addresses are of one kind; their sites count up.
 */
struct inst_call *inst_plan_calls(struct inst_ctx *cx, struct inst_group *g)
{
	struct inst_call *first = NULL, *c = NULL;
	enum call_class cls;

	for (struct inst_access *a = g->first; a; a = a->next) {
		unsigned n = items_of(a, NULL);
		if (g->ahead || !n || n > RACE_CHECK_ITEMS || !class_of(a, &cls))
			return NULL;
	}
	for (struct inst_access *a = g->first; a; a = a->next) {
		unsigned n = items_of(a, NULL);

		class_of(a, &cls);
		if (!c || c->cls != cls || c->n + n > RACE_CHECK_ITEMS ||
		    a->site != c->site + c->naccesses) {
			struct inst_call *next = BASE_NEW(&cx->scratch, struct inst_call);
			next->cls = cls;
			next->is_sure = cls != CLASS_GENERIC;
			next->mask = PTX_NO_REG;
			if (c)
				c->next = next;
			else
				first = next;
			c = next;
		}
		add_items(c, a);
	}
	return first;
}

/* ---- before the accesses ------------------------------------------------------------- */

/* Assigns bits to the speculated elements. `top`: where the words of bits are set to 0, before any
 * check. */
void inst_begin_calls(struct inst_ctx *cx, struct inst_call *c, struct ptx_stmt *top)
{
	for (; c; c = c->next) {
		if (!c->wants_mask)
			continue;
		if (cx->used_base == PTX_NO_REG) {
			cx->used_base = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B64);
			inst_emit(cx, top, "used_base", T(cx->k, KNOB(rt)),
				  H(inst_reg(cx, cx->used_base)));
		}
		c->mask = ptx_new_reg(cx->m, cx->f, PTX_TYPE_B32);
		inst_emit(cx, top, "zero", NT, H(inst_reg(cx, c->mask)));
		for (unsigned i = 0; i < c->n; i++) {
			struct inst_elem *e = &c->item[i].a->elem[c->item[i].elem];
			e->mask = c->mask;
			e->mask_bits |= 1u << i;
		}
	}
}

_Static_assert(offsetof(struct race_rt, records) == 0, "used_base");

/* Did the second reading of this element differ? A predicate, before `at`. */
uint32_t inst_take_hit(struct inst_ctx *cx, const struct inst_elem *e, struct ptx_stmt *at)
{
	uint32_t hit = ptx_new_reg(cx->m, cx->f, PTX_TYPE_PRED);

	inst_emit(cx, at, "hit", T(inst_num(e->mask_bits)),
		  H(inst_reg(cx, hit), inst_reg(cx, e->mask)));
	return hit;
}

void inst_put_used(struct inst_ctx *cx, const struct inst_access *a, uint32_t hit,
		   struct ptx_stmt *at)
{
	enum race_kind kind = RACE_KIND_SPECULATED_READ;
	struct ptx_opnd base = inst_reg(cx, cx->used_base);
	struct ptx_opnd place = {.kind = PTX_OPND_ADDR, .nsub = 1, .sub = &base};

	inst_emit(cx, at, "used", NT,
		  H(inst_reg(cx, hit), place, inst_late_opnd(cx, INST_LATE_KEY, a->site, kind)));
	struct ptx_opnd *emitted = &at->prev->ops[0];
	emitted->sub = BASE_NEW(cx->m->arena, struct ptx_opnd);
	emitted->sub[0] = base;
	inst_late_offset(cx, &emitted->off, a->site, kind);
}

/* ---- the call ------------------------------------------------------------------------ */

static bool is_signed_narrow(const struct inst_access *a)
{
	return a->kind != RACE_ACCESS_STORE && a->width * 8u < a->bits &&
	       ptx_type_class(a->type) == PTX_CLASS_SINT;
}

/* What the access loaded or stored, in 4 or 8 bytes. */
static struct ptx_opnd value_of(struct inst_ctx *cx, const struct inst_call *c,
				const struct inst_item *it, struct ptx_stmt *at)
{
	const struct inst_access *a = it->a;
	struct ptx_opnd v = inst_reg(cx, a->elem[it->elem].was);
	unsigned bits = a->bits;

	if (it->half) {
		struct ptx_opnd lo = inst_fresh(cx, PTX_TYPE_B64),
				hi = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "split128", NT, H(lo, hi, v));
		return it->half == 1 ? lo : hi;
	}
	if (it->is_pair) {
		struct ptx_opnd both = inst_fresh(cx, PTX_TYPE_B64);
		inst_emit(cx, at, "join32", NT,
			  H(both, v, inst_reg(cx, a->elem[it->elem + 1].was)));
		return both;
	}
	if (is_signed_narrow(a)) {
		struct ptx_opnd t = inst_reg(cx, inst_value_reg(cx, bits));
		uint64_t mask = (1ull << (8 * a->width)) - 1;
		inst_emit(cx, at, "truncate", T(inst_num(bits), inst_num((int64_t)mask)), H(t, v));
		v = t;
	}
	if (!c->is_mixed || bits == 64)
		return v;
	if (!inst_is_integer(cx, v.reg)) {
		struct ptx_opnd t = inst_reg(cx, inst_value_reg(cx, bits));
		inst_emit(cx, at, "copy", T(PTX_STR("b32")), H(t, v));
		v = t;
	}
	struct ptx_opnd w = inst_fresh(cx, PTX_TYPE_B64);
	inst_emit(cx, at, "widen", T(PTX_STR("64"), inst_num(bits)), H(w, v));
	return w;
}

/* The address in the shared window, as 32 bits. */
struct ptx_opnd inst_shared_address(struct inst_ctx *cx, const struct inst_access *a, int64_t more,
				    struct ptx_stmt *at)
{
	struct ptx_opnd r = a->addr.sub[0];
	int64_t off = a->addr.off + more;

	if (r.kind != PTX_OPND_REG) {
		r = inst_fresh(cx, PTX_TYPE_B32);
		inst_emit(cx, at, "shared_symbol", NT, H(r, a->addr.sub[0]));
	} else if (ptx_type_bytes((enum ptx_type)cx->f->reg_type[r.reg]) == 8) {
		r = inst_fresh(cx, PTX_TYPE_B32);
		inst_emit(cx, at, "widen", T(PTX_STR("32"), PTX_STR("64")), H(r, a->addr.sub[0]));
	}
	if (off) {
		struct ptx_opnd sum = inst_fresh(cx, PTX_TYPE_B32);
		inst_emit(cx, at, "add_offset32", NT, H(sum, r, inst_int(cx, off)));
		r = sum;
	}
	return r;
}

static struct ptx_opnd address_of(struct inst_ctx *cx, const struct inst_call *c,
				  const struct inst_item *it, struct ptx_stmt *at)
{
	const struct inst_access *a = it->a;
	bool is_shared = c->cls == CLASS_SHARED;
	int64_t more = (int64_t)it->elem * a->width + (it->half == 2 ? 8 : 0);
	struct ptx_opnd r =
		is_shared ? inst_shared_address(cx, a, more, at) : inst_address(cx, a, more, at);
	struct ptx_opnd none = inst_int(cx, is_shared ? RACE_CHECK_NO_SHARED : 0);

	if (a->guard.kind == PTX_OPND_SINK)
		return r;
	struct ptx_opnd to = inst_fresh(cx, is_shared ? PTX_TYPE_B32 : PTX_TYPE_B64);
	struct ptx_opnd guard = inst_sense(a->guard, (a->guard.flags & PTX_OPND_NOT) == 0);
	struct ptx_str type = is_shared ? PTX_STR("b32") : PTX_STR("b64");
	if (a->guard.flags & PTX_OPND_NOT)
		inst_emit(cx, at, "either", T(type), H(to, none, r, guard));
	else
		inst_emit(cx, at, "either", T(type), H(to, r, none, guard));
	return to;
}

static uint32_t item_byte(const struct inst_item *it)
{
	const struct inst_access *a = it->a;
	uint32_t width = it->half ? 8 : a->width, b = 0, log2 = 0;

	while (1u << log2 < width)
		log2++;
	b |= log2 << RACE_ITEM_WIDTH_AT;
	if (a->kind == RACE_ACCESS_STORE)
		b |= RACE_ITEM_STORE;
	else if (a->elem[it->elem].speculated)
		b |= RACE_ITEM_SPECULATED;
	else if (a->kind == RACE_ACCESS_NC_LOAD)
		b |= RACE_ITEM_NC;
	if (it->is_pair)
		b |= RACE_ITEM_PAIR;
	if (it->is_step)
		b |= RACE_ITEM_STEP;
	if (a->kind == RACE_ACCESS_STORE && it->is_head)
		b |= RACE_ITEM_LANES | (a->rises_with_lane ? RACE_ITEM_RISES : 0);
	return b;
}

static int64_t what_of_call(const struct inst_call *c, bool follows, bool has_load)
{
	uint64_t what = c->site;

	what |= follows ? RACE_CHECK_FOLLOWS : 0;
	what |= has_load ? RACE_CHECK_LOADS : 0;
	what |= c->is_sure ? RACE_CHECK_SURE | c->naccesses << RACE_CHECK_COUNT_AT : 0;
	what |= c->has_lanes ? RACE_CHECK_LANES : 0;
	for (unsigned i = 0; i < c->n; i++)
		what |= (uint64_t)item_byte(&c->item[i]) << (32 + 8 * i);
	return (int64_t)what;
}

/* How many items the function takes (*n: 1, 2 or 4), and the suffix of its name. */
static struct ptx_str suffix_of(struct inst_ctx *cx, const struct inst_call *c, unsigned *n)
{
	static const char *const names[3][3][3] = {
		{{"1_4g", "2_4g", "4_4g"}, {"1_8g", "2_8g", "4_8g"}, {"1_mg", "2_mg", "4_mg"}},
		{{"1_4s", "2_4s", "4_4s"}, {"1_ms", "2_ms", "4_ms"}, {"1_ms", "2_ms", "4_ms"}},
		{{"1_mx", "2_mx", "4_mx"}, {"1_mx", "2_mx", "4_mx"}, {"1_mx", "2_mx", "4_mx"}},
	};
	unsigned size = c->is_mixed ? 2 : c->is_wide;
	unsigned count = c->n > 2 ? 2 : c->n - 1;
	const char *s = names[c->cls][size][count];

	*n = 1u << count;
	inst_want_check(cx, s);
	return (struct ptx_str){s, (uint32_t)strlen(s)};
}

void inst_put_argument(struct inst_ctx *cx, struct ptx_stmt *at, char name, unsigned i,
		       bool is_wide, struct ptx_opnd v)
{
	char text[2] = {(char)('0' + i), name};
	struct ptx_str s = {text, 2};

	inst_emit(cx, at, "argument", T(s, is_wide ? PTX_STR("64") : PTX_STR("32")), H(v));
}

static void emit_call(struct inst_ctx *cx, struct inst_call *c, bool follows, bool has_load,
		      struct ptx_stmt *at)
{
	static const char *const call[] = {[1] = "check_1", [2] = "check_2", [4] = "check_4"};
	bool is_shared = c->cls == CLASS_SHARED;
	unsigned n;

	/* There is no function for these sizes. */
	c->is_mixed |= c->cls == CLASS_GENERIC || (is_shared && c->is_wide);
	struct ptx_str suffix = suffix_of(cx, c, &n);
	bool is_wide = c->is_mixed || c->is_wide;
	struct ptx_opnd addr[RACE_CHECK_ITEMS], value[RACE_CHECK_ITEMS];

	for (unsigned i = 0; i < c->n; i++) {
		addr[i] = address_of(cx, c, &c->item[i], at);
		value[i] = value_of(cx, c, &c->item[i], at);
	}
	inst_emit(cx, at, "check_head", NT,
		  H(inst_reg(cx, cx->cnt), inst_int(cx, what_of_call(c, follows, has_load))));
	for (unsigned i = 0; i < n; i++) {
		bool is_none = i >= c->n;
		inst_put_argument(cx, at, is_shared ? 's' : 'a', i, !is_shared,
				  is_none ? inst_int(cx, is_shared ? RACE_CHECK_NO_SHARED : 0)
					  : addr[i]);
		inst_put_argument(cx, at, is_wide ? 'w' : 'v', i, is_wide,
				  is_none ? inst_int(cx, 0) : value[i]);
	}
	inst_emit(cx, at, call[n],
		  T(suffix, is_shared ? PTX_STR("s") : PTX_STR("a"),
		    is_wide ? PTX_STR("w") : PTX_STR("v")),
		  NH);
	if (c->mask != PTX_NO_REG) {
		inst_emit(cx, at, "check_result", NT,
			  H(inst_reg(cx, cx->cnt), inst_reg(cx, c->mask)));
		inst_emit(cx, at, "found_in", NT,
			  H(inst_reg(cx, cx->found), inst_reg(cx, c->mask)));
	} else {
		inst_emit(cx, at, "check_state", NT, H(inst_reg(cx, cx->cnt)));
	}
}

/* What an earlier execution found is over where the draw skips this one. */
void inst_clear_hits(struct inst_ctx *cx, const struct inst_call *c, struct ptx_stmt *at)
{
	for (; c; c = c->next)
		if (c->mask != PTX_NO_REG)
			inst_emit(cx, at, "zero", NT, H(inst_reg(cx, c->mask)));
}

/* needs: captured accesses, the draw.  keeps: the user's instructions. */
void inst_emit_calls(struct inst_ctx *cx, const struct inst_group *g, struct inst_call *calls)
{
	struct ptx_stmt *at = g->flush;

	for (struct inst_call *c = calls; c; c = c->next)
		emit_call(cx, c, c != calls, g->has_load, at);
	/* Reports values that were used before they were checked. */
	for (struct inst_access *a = g->first; a; a = a->next)
		for (unsigned i = 0; i < a->vec; i++) {
			const struct inst_elem *e = &a->elem[i];
			if (!e->mask_bits || e->early == PTX_NO_REG)
				continue;
			struct ptx_opnd hit = inst_reg(cx, inst_take_hit(cx, e, at));
			inst_emit(cx, at, "and", NT, H(hit, hit, inst_reg(cx, e->early)));
			inst_put_used(cx, a, hit.reg, at);
		}
}
