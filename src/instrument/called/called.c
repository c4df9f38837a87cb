/*
 * called.c - functions that are called: detectors with words follow kernels into them.
 *
 * What such a detector knows of a thread is in the kernel's registers and memory. So a function
 * that accesses memory which threads share, or synchronises, or calls one that does, gets a
 * variant: its own code once more, with one more parameter, the address of a frame in the kernel's
 * local memory (called.ptxt). Kernels and variants call variants and pass it on. The detectors'
 * passes treat a variant as they treat a kernel, but by calls only: the fast path wants what the
 * kernel has in registers.
 *
 * The function itself stays as it was, for calls through pointers and from other modules. Where
 * nothing of that kind is possible it is replaced: nothing runs it, and no pass looks at it.
 *
 * All of this is decided before anything is put in. One walk over each function plans its events
 * and forgets them; what they need of words, clocks and stamps is joined along the calls in both
 * directions, since a kernel and all that it may call must agree on it. What makes a kernel unsure
 * goes from the function to its callers only.
 *
 * Misses: functions with static shared variables of their own that can be called in other ways,
 * too (a variant would have others); with .reg parameters or unknown directives; calls that have a
 * guard. Costs: the function once more, a plan more for each function and its callers; two stores
 * and two loads around a call. Modules where no kernel calls such a function stay as they were.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "instrument/detector.h"

#include <string.h>

/* The letters of those detectors at work that have a frame, in the order of a variant's
 * parameters. */
static unsigned find_letters(const struct inst_ctx *cx, char out[RACE_DETECTORS_PUT])
{
	unsigned n = 0;

	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		if (cx->opt->sanitize & 1u << i && inst_detectors[i]->letter &&
		    !(cx->lent >> i & 1))
			out[n++] = inst_detectors[i]->letter;
	return n;
}

/* ---- names ----------------------------------------------------------------------------------- */

struct ptx_str inst_name_of(struct ptx_str name)
{
	const char *of = race_called_name(name.p, name.n);

	return of ? (struct ptx_str){of, (uint32_t)(name.p + name.n - of)} : name;
}

const struct inst_called *inst_called_here(const struct inst_ctx *cx)
{
	const struct inst_called *c =
		cx->f ? inst_find_called(cx, inst_name_of(cx->f->name)) : NULL;

	return c && c->variant == cx->f ? c : NULL;
}

struct ptx_func *inst_original(const struct inst_ctx *cx)
{
	const struct inst_called *c = inst_called_here(cx);

	return c ? c->f : cx->f;
}

static const struct inst_called *of_function(const struct inst_ctx *cx, const struct ptx_func *f)
{
	const struct inst_called *c = inst_find_called(cx, f->name);

	return c && c->f == f && c->variant != f ? c : NULL;
}

bool inst_has_variant(const struct inst_ctx *cx, const struct ptx_func *f)
{
	const struct inst_called *c = of_function(cx, f);

	return c && c->variant;
}

bool inst_is_replaced(const struct inst_ctx *cx, const struct ptx_func *f)
{
	return inst_has_variant(cx, f) && !of_function(cx, f)->is_open;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool is_call(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_INST && !s->inserted && s->form->effects & PTX_EFF_CALL;
}

/* The operand that names the function; NULL: it is called through a register. */
static struct ptx_opnd *callee_of(const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++)
		if (ptx_stmt_role(s, i) == PTX_ROLE_LABEL && s->ops[i].kind == PTX_OPND_SYM)
			return &s->ops[i];
	return NULL;
}

/* A call that could call a variant. */
static struct inst_called *direct(const struct inst_ctx *cx, const struct ptx_stmt *s)
{
	const struct ptx_opnd *to = is_call(s) && s->pred == PTX_NO_REG ? callee_of(s) : NULL;
	struct inst_called *c = to ? inst_find_called(cx, inst_name_of(to->text)) : NULL;

	return c && !c->f->is_entry ? c : NULL;
}

const struct inst_called *inst_callee(const struct inst_ctx *cx, const struct ptx_stmt *s)
{
	const struct ptx_opnd *to = is_call(s) ? callee_of(s) : NULL;

	return to && race_called_name(to->text.p, to->text.n) ? direct(cx, s) : NULL;
}

/* Marks what the function calls. True: that was new. */
static bool reach(const struct inst_ctx *cx, const struct ptx_func *f)
{
	bool changed = false;

	ptx_each_stmt(f, s)
	{
		struct inst_called *to = inst_callee(cx, s) ? direct(cx, s) : NULL;
		changed |= to && !to->is_reached;
		if (to)
			to->is_reached = true;
	}
	return changed;
}

static void reach_all(const struct inst_ctx *cx)
{
	bool changed = inst_called_here(cx) && reach(cx, cx->f);

	while (changed) {
		changed = false;
		for (size_t i = 0; i < cx->called.n; i++)
			changed |= cx->called.v[i].is_reached && reach(cx, cx->called.v[i].variant);
	}
}

const struct inst_called *inst_next_callee(struct inst_ctx *cx, const struct inst_called *after)
{
	size_t at = after ? (size_t)(after - cx->called.v) + 1u : 0;

	for (size_t i = 0; i < cx->called.n && !after; i++)
		cx->called.v[i].is_reached = false;
	if (!after)
		reach_all(cx);
	while (at < cx->called.n && !cx->called.v[at].is_reached)
		at++;
	return at < cx->called.n ? &cx->called.v[at] : NULL;
}

static bool calls_any(const struct inst_ctx *cx, const struct ptx_func *f)
{
	ptx_each_stmt(f, s) if (direct(cx, s)) return true;
	return false;
}

/* ---- which functions can be called in other ways --------------------------------------------- */

static void open_name(const struct inst_ctx *cx, struct ptx_str name)
{
	struct inst_called *c = inst_find_called(cx, name);

	if (c)
		c->is_open = true;
}

static void open_operand(const struct inst_ctx *cx, const struct ptx_opnd *o)
{
	if (o->kind == PTX_OPND_SYM && !(o->flags & (PTX_OPND_LABEL | PTX_OPND_VAR)))
		open_name(cx, o->text);
	if (o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_LIST ||
	    o->kind == PTX_OPND_PAIR)
		for (unsigned i = 0; i < o->nsub; i++)
			open_operand(cx, &o->sub[i]);
}

static bool is_in_name(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_' || c == '$' || c == '%';
}

/* The names in a text: an initialiser, a directive. */
static void open_text(const struct inst_ctx *cx, struct ptx_str s)
{
	for (uint32_t i = 0, n; i < s.n; i += n) {
		for (n = 0; i + n < s.n && is_in_name(s.p[i + n]); n++)
			;
		if (n && (s.p[i] < '0' || s.p[i] > '9'))
			open_name(cx, (struct ptx_str){s.p + i, n});
		n += n == 0;
	}
}

static void open_body(const struct inst_ctx *cx, const struct ptx_func *f)
{
	ptx_each_stmt(f, s)
	{
		const struct ptx_opnd *to = is_call(s) ? callee_of(s) : NULL;
		bool is_direct = direct(cx, s) != NULL;

		for (unsigned i = 0; s->kind == PTX_STMT_INST && i < s->nops; i++)
			if (!is_direct || &s->ops[i] != to)
				open_operand(cx, &s->ops[i]);
		for (uint32_t i = 0; s->kind == PTX_STMT_TARGETS && i < s->ntargets; i++)
			open_operand(cx, &s->targets[i]);
		if (s->kind == PTX_STMT_RAW || (s->kind == PTX_STMT_VAR && s->var->has_init))
			open_text(cx, s->kind == PTX_STMT_RAW ? s->text : s->var->text);
	}
}

/* Addresses that are taken, and symbols that other objects see. */
static void open_roots(const struct inst_ctx *cx)
{
	ptx_each_item(cx->m, it)
	{
		if (it->kind == PTX_ITEM_FUNC && !it->func->is_proto)
			open_body(cx, it->func);
		else if (it->kind == PTX_ITEM_VAR && it->var->has_init)
			open_text(cx, it->var->text);
		else if (it->kind == PTX_ITEM_ALIAS || it->kind == PTX_ITEM_RAW)
			open_text(cx, it->text);
	}
	for (size_t i = 0; i < cx->called.n; i++) {
		struct inst_called *c = &cx->called.v[i];
		c->is_open |=
			cx->opt->relocatable && c->f->linkage & (PTX_LINK_VISIBLE | PTX_LINK_WEAK);
	}
}

/* A variable in the body that outlives the call: a variant would have one of its own. */
static bool is_static(const struct ptx_stmt *s)
{
	return s->kind == PTX_STMT_VAR && s->var->space != PTX_SPACE_LOCAL &&
	       s->var->space != PTX_SPACE_PARAM;
}

static bool has_static(const struct ptx_func *f)
{
	ptx_each_stmt(f, s) if (is_static(s)) return true;
	return false;
}

static bool is_odd(const struct ptx_func *f)
{
	for (const struct ptx_param *p = f->params; p; p = p->next)
		if (p->space == PTX_SPACE_REG || !p->bytes)
			return true;
	for (const struct ptx_param *p = f->rets; p; p = p->next)
		if (p->space == PTX_SPACE_REG)
			return true;
	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_RAW ||
		    (is_static(s) && (s->var->space != PTX_SPACE_SHARED || s->var->is_unsized)))
			return true;
	}
	return false;
}

/* What runs without a variant calls functions as they were. */
static void close_openness(const struct inst_ctx *cx)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < cx->called.n; i++) {
			struct inst_called *c = &cx->called.v[i];
			if (!c->f->is_entry && !c->is_lost && c->is_open && has_static(c->f))
				changed = c->is_lost = true;
			if (!c->is_open && !c->is_lost && !c->is_left)
				continue;
			if (c->f->is_entry && !c->is_left)
				continue;
			ptx_each_stmt(c->f, s)
			{
				struct inst_called *to = direct(cx, s);
				if (to && !to->is_open)
					changed = to->is_open = true;
			}
		}
	}
}

/* ---- what they do ---------------------------------------------------------------------------- */

/* The events of a function, only to see what there is. True: it has some. */
static bool plan_only(struct inst_ctx *cx, struct inst_called *c)
{
	struct race_site_builder *sites = cx->sites;
	struct inst_stats *stats = cx->stats, none = {0};

	cx->stats = &none;
	cx->sites = race_sites_new();
	cx->f = c->f;
	cx->func_name = 0;
	cx->fl = flow_build(&cx->scratch, cx->m, c->f);
	inst_read_locs(cx);
	c->all = (struct inst_events){.ignores_calls = true};
	inst_plan_events(cx, &c->all);
	inst_forget_locs(cx);
	bool has_events = c->all.first != NULL;
	c->all.first = c->all.last = NULL;
	race_sites_free(cx->sites);
	cx->sites = sites;
	cx->stats = stats;
	base_arena_reset(&cx->scratch);
	return has_events;
}

static bool join(bool *const to[], const bool more[], size_t n)
{
	bool changed = false;

	for (size_t i = 0; i < n; i++) {
		changed |= more[i] && !*to[i];
		*to[i] |= more[i];
	}
	return changed;
}

/* What the caller's words, clocks and stamps must be able to hold. True: that was new. */
static bool join_needs(struct inst_events *to, const struct inst_events *of)
{
	bool *const needs[] = {&to->has_narrow, &to->has_narrow_global, &to->has_narrow_shared,
			       &to->has_shared, &to->has_generic,	&to->has_order,
			       &to->has_lanes,	&to->has_fence,		&to->has_warp,
			       &to->has_update};
	const bool more[] = {of->has_narrow, of->has_narrow_global, of->has_narrow_shared,
			     of->has_shared, of->has_generic,	    of->has_order,
			     of->has_lanes,  of->has_fence,	    of->has_warp,
			     of->has_update};

	return join(needs, more, BASE_COUNTOF(needs));
}

/* What a kernel must not say for certain. */
static bool join_doubts(struct inst_events *to, const struct inst_events *of)
{
	bool *const doubts[] = {&to->is_unsure,	       &to->is_apart,	   &to->informs,
				&to->has_release,      &to->has_system,	   &to->orders_kernels,
				&to->observes_kernels, &to->shows_kernels, &to->has_barrier,
				&to->has_exit};
	const bool more[] = {of->is_unsure,	   of->is_apart,      of->informs,
			     of->has_release,	   of->has_system,    of->orders_kernels,
			     of->observes_kernels, of->shows_kernels, of->has_barrier,
			     of->has_exit};

	return join(doubts, more, BASE_COUNTOF(doubts));
}

void inst_join_called(const struct inst_ctx *cx, struct inst_events *ev)
{
	const struct inst_called *c = inst_called_here(cx);

	if (!c)
		return;
	join_needs(ev, &c->all);
	join_doubts(ev, &c->all);
}

/* Along one function's calls. */
static bool join_calls(struct inst_ctx *cx, struct inst_called *c)
{
	bool changed = false;

	ptx_each_stmt(c->variant, s)
	{
		struct inst_called *to = inst_callee(cx, s) ? direct(cx, s) : NULL;
		struct inst_events of = {0};

		if (to) {
			changed |= join_needs(&c->all, &to->all);
			changed |= join_needs(&to->all, &c->all);
			changed |= join_doubts(&c->all, &to->all);
		} else if (is_call(s)) {
			inst_join_call(cx, &of, s);
			changed |= join_doubts(&c->all, &of);
		}
	}
	return changed;
}

static void join_all(struct inst_ctx *cx)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < cx->called.n; i++)
			if (cx->called.v[i].variant)
				changed |= join_calls(cx, &cx->called.v[i]);
	}
}

/* ---- variants -------------------------------------------------------------------------------- */

/* Marks what is to be followed, in place of `variant`: the function itself, for now. */
static bool choose(struct inst_ctx *cx)
{
	bool changed = true, has_kernel = false;

	for (size_t i = 0; i < cx->called.n; i++) {
		struct inst_called *c = &cx->called.v[i];
		bool has_calls = calls_any(cx, c->f);
		if (c->is_left || c->is_lost || (c->f->is_entry && !has_calls))
			continue;
		if (plan_only(cx, c) && !c->f->is_entry)
			c->variant = c->f;
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i < cx->called.n; i++) {
			struct inst_called *c = &cx->called.v[i];
			if (c->is_left || c->is_lost || c->variant)
				continue;
			ptx_each_stmt(c->f, s)
			{
				const struct inst_called *to = direct(cx, s);
				if (!to || !to->variant)
					continue;
				c->variant = c->f;
				changed = true;
				break;
			}
		}
	}
	for (size_t i = 0; i < cx->called.n; i++)
		has_kernel |= cx->called.v[i].f->is_entry && cx->called.v[i].variant;
	return has_kernel;
}

static unsigned params_of(const struct inst_ctx *cx, const char *prefix,
			  struct ptx_str out[RACE_DETECTORS_PUT])
{
	char letters[RACE_DETECTORS_PUT];
	unsigned n = find_letters(cx, letters);

	for (unsigned i = 0; i < n; i++) {
		char *name = base_printf(cx->m->arena, "%s%c", prefix, letters[i]);
		out[i] = (struct ptx_str){name, (uint32_t)strlen(name)};
	}
	return n;
}

static struct ptx_str variant_name(const struct inst_ctx *cx, struct ptx_str name)
{
	char *p = base_printf(cx->m->arena, "%s%.*s", RACE_CALLED_PREFIX, (int)name.n, name.p);

	return (struct ptx_str){p, (uint32_t)strlen(p)};
}

static void add_function(struct inst_ctx *cx, struct ptx_item *at, struct ptx_func *f)
{
	struct ptx_item *it = ptx_new_item(cx->m, PTX_ITEM_FUNC);

	it->func = f;
	it->inserted = false; /* it is the program's code */
	ptx_insert_item(cx->m, at, it);
}

static void rename_in(struct ptx_opnd *o, const struct ptx_var *from, struct ptx_var *to)
{
	if (o->kind == PTX_OPND_SYM && o->flags & PTX_OPND_VAR && o->var == from) {
		o->var = to;
		o->text = to->name;
	}
	if (o->kind == PTX_OPND_ADDR || o->kind == PTX_OPND_VEC || o->kind == PTX_OPND_LIST ||
	    o->kind == PTX_OPND_PAIR)
		for (unsigned i = 0; i < o->nsub; i++)
			rename_in(&o->sub[i], from, to);
}

static struct ptx_var *renamed(const struct inst_ctx *cx, const struct ptx_var *v)
{
	struct ptx_var *to = BASE_NEW(cx->m->arena, struct ptx_var);
	const char *at = memmem(v->text.p, v->text.n, v->name.p, v->name.n);

	*to = *v;
	to->name = variant_name(cx, v->name);
	char *text = base_printf(
		cx->m->arena, "%.*s%s%.*s", (int)(at - v->text.p), v->text.p, to->name.p,
		(int)(v->text.p + v->text.n - at - (ptrdiff_t)v->name.n), at + v->name.n);
	to->text = (struct ptx_str){text, (uint32_t)strlen(text)};
	return to;
}

/* Shared variables of a function that is replaced become variables of the module, so that the
 * table of a kernel can have them, too. */
static void move_statics(struct inst_ctx *cx, struct ptx_func *f, struct ptx_item *at)
{
	for (struct ptx_stmt *s = f->first, *next; s; s = next) {
		next = s->next;
		if (!is_static(s))
			continue;
		struct ptx_item *it = ptx_new_item(cx->m, PTX_ITEM_VAR);
		it->var = renamed(cx, s->var);
		it->inserted = false;
		ptx_insert_item(cx->m, at, it);
		ptx_each_stmt(f, u) for (unsigned i = 0; u->kind == PTX_STMT_INST && i < u->nops;
					 i++) rename_in(&u->ops[i], s->var, it->var);
		ptx_remove(f, s);
	}
}

/* After the functions, declared before all of them. */
static void add_variants(struct inst_ctx *cx)
{
	struct ptx_str params[RACE_DETECTORS_PUT];
	unsigned n = params_of(cx, "__collider_frame_", params);
	struct ptx_item *first = cx->m->first;

	while (first->kind != PTX_ITEM_FUNC)
		first = first->next;
	for (size_t i = 0; i < cx->called.n; i++) {
		struct inst_called *c = &cx->called.v[i];
		if (!c->variant || c->f->is_entry)
			continue;
		c->variant = ptx_clone_func(cx->m, c->f, variant_name(cx, c->f->name), params, n);
		move_statics(cx, c->variant, first);
		add_function(cx, first, ptx_proto_of(cx->m, c->variant));
		add_function(cx, c->item->next, c->variant);
	}
}

static void add_arguments(struct inst_ctx *cx, struct ptx_opnd *list)
{
	struct ptx_str names[RACE_DETECTORS_PUT];
	unsigned n = params_of(cx, "__collider_pass_", names), had = list->nsub;
	struct ptx_opnd *sub = BASE_NEWN(cx->m->arena, struct ptx_opnd, had + n);

	if (had)
		memcpy(sub, list->sub, had * sizeof(*sub));
	for (unsigned i = 0; i < n; i++)
		sub[had + i] = ptx_opnd_sym(names[i]);
	list->sub = sub;
	list->nsub = (uint8_t)(had + n);
}

/* Lets a call call the variant. */
static void redirect(struct inst_ctx *cx, struct ptx_stmt *s, const struct inst_called *to)
{
	unsigned at = (unsigned)(callee_of(s) - s->ops);
	struct ptx_opnd *ops = BASE_NEWN(cx->m->arena, struct ptx_opnd, s->nops + 1u);

	memcpy(ops, s->ops, s->nops * sizeof(*ops));
	s->ops = ops;
	ops[at] = ptx_opnd_sym(to->variant->name);
	if (s->nops == at + 1u)
		ops[s->nops++] = (struct ptx_opnd){.kind = PTX_OPND_LIST};
	add_arguments(cx, &ops[at + 1u]);
	s->text = PTX_STR("");
}

static void redirect_calls(struct inst_ctx *cx)
{
	for (size_t i = 0; i < cx->called.n; i++) {
		struct inst_called *c = &cx->called.v[i];
		if (!c->variant)
			continue;
		ptx_each_stmt(c->variant, s)
		{
			const struct inst_called *to = direct(cx, s);
			if (to && to->variant)
				redirect(cx, s, to);
		}
	}
}

static void find_functions(struct inst_ctx *cx)
{
	bool has_func = false;

	ptx_each_item(cx->m, it) has_func |= it->kind == PTX_ITEM_FUNC && !it->inserted &&
					     !it->func->is_proto && !it->func->is_entry;
	ptx_each_item(cx->m, it)
	{
		if (!has_func || it->kind != PTX_ITEM_FUNC || it->inserted || it->func->is_proto)
			continue;
		struct inst_called c = {.item = it, .f = it->func};
		c.is_left = inst_is_left(cx, it->func);
		c.is_lost = !it->func->is_entry && is_odd(it->func);
		base_vec_push(&cx->called, c);
	}
	inst_name_called(cx);
}

bool inst_begin_called(struct inst_ctx *cx)
{
	char letters[RACE_DETECTORS_PUT];

	if (!find_letters(cx, letters))
		return true;
	find_functions(cx);
	if (!cx->called.n)
		return true;
	cx->called_ts = ptx_templates_read(cx->m, inst_called_templates, cx->sink);
	if (!cx->called_ts)
		return false;
	open_roots(cx);
	close_openness(cx);
	if (!choose(cx)) {
		cx->called.n = 0;
		return true;
	}
	add_variants(cx);
	redirect_calls(cx);
	join_all(cx);
	return true;
}

void inst_end_called(struct inst_ctx *cx)
{
	base_vec_free(&cx->called);
	base_vec_free(&cx->called_names);
}
