/*
 * alarm.c - an alarm as data: places, names, the values of the launch (check.h).
 *
 * The table of an alarm has the scalar parameters and dimensions, which are the same for all
 * threads, and for each side the variables that are visible at its access, with the values that the
 * replay had there. A variable is approximated where its value depends on one that isn't modelled;
 * it belongs to the control set if the way to the access contains it, to the data set if the index
 * does (FaialAA, figure 7).
 */
#include "prove/check.h"

#include <string.h>

static void place_of(struct check *c, const struct ptx_loc *l, const char **file, uint32_t *line)
{
	*file = "";
	*line = 0;
	if (!l)
		return;
	struct ptx_str name = ptx_file_name(c->e->ir->m, l->file);
	*file = base_strndup(c->arena, name.p, name.n);
	*line = l->line;
}

void prove_alarm_place(struct check *c, const struct ptx_stmt *s, const char **file, uint32_t *line)
{
	place_of(c, s ? ptx_near_loc(s) : NULL, file, line);
}

#define MAX_INLINED 32

/* Moves l to the place of the call by which nvcc inlined what is there. False: there are two. */
static bool inlined_at(const struct ptx_func *f, struct ptx_loc *l)
{
	struct ptx_loc out = {.file = l->in_file, .line = l->in_line, .col = l->in_col};
	bool is_unsure = false;
	const struct ptx_loc *outer = ptx_outer_loc(f, l, &is_unsure);

	if (is_unsure)
		return false;
	*l = outer ? *outer : out;
	return true;
}

/*
 * Where the program itself has the code at a statement, or the call by which control came to it in
 * a library, or in what the compiler has built in and has no lines (atomicInc). NULL: nowhere.
 */
static const struct ptx_loc *own_place(struct check *c, uint32_t call, const struct ptx_stmt *at)
{
	const struct ir *ir = c->e->ir;
	struct ptx_loc *own = NULL;

	for (uint32_t k = call;; k = ir->calls.v[k].outer) {
		const struct ptx_loc *l = ptx_near_loc(at);
		bool is_library = l && prove_launch_is_library_place(ir, c->o, l);
		if (l && !own)
			own = BASE_NEW(c->arena, struct ptx_loc);
		if (l)
			*own = *l;
		for (unsigned n = 0; is_library && n < MAX_INLINED && own->in_line &&
				     inlined_at(ir->calls.v[k].f, own);
		     n++)
			is_library = prove_launch_is_library_place(ir, c->o, own);
		if (!k || (l && !is_library))
			return own;
		at = ir->calls.v[k].at;
	}
}

/* That of a statement that some step of the analysis is at. */
static const struct ptx_loc *own_place_at(struct check *c, const struct ptx_stmt *at)
{
	const struct ir *ir = c->e->ir;

	for (size_t i = 0; i < ir->steps.n && at; i++)
		if (ir->steps.v[i].at == at)
			return own_place(c, ir->steps.v[i].call, at);
	return at ? ptx_near_loc(at) : NULL;
}

const char *prove_alarm_object(struct check *c, const struct ev_access *a)
{
	const struct ir *ir = c->e->ir;

	if (a->root.kind == EV_ROOT_OBJECT) {
		struct ptx_str n = ir->objects.v[a->root.id].name;
		const char *raw = base_strndup(c->arena, n.p, n.n);
		return base_printf(c->arena, "%s memory %s", a->is_shared ? "shared" : "global",
				   race_demangle(c->arena, raw));
	}
	if (a->root.kind == EV_ROOT_PARAM) {
		const struct names_param *p = prove_names_param_at(&c->names, a->root.id);
		if (p && p->is_known)
			return base_printf(c->arena, "the array of parameter %s", p->name);
		return base_printf(c->arena, "the array of parameter %u", p ? p->number : 0);
	}
	if (a->root.kind == EV_ROOT_PRIVATE)
		return "the thread's own memory";
	return a->root.kind == EV_ROOT_LOADED ? "an array whose address was loaded"
					      : "an address that is not understood";
}

void prove_alarm_problem(enum race_problem_kind kind, const struct ptx_stmt *at, const char *text,
			 void *arg)
{
	struct race_problem p = {.kind = kind, .text = text, .ptx_line = at ? at->line : 0};
	struct check *c = arg;

	place_of(c, own_place_at(c, at), &p.file, &p.line);
	if (strstr(text, "gave up"))
		p.cause = RACE_CAUSE_TIMEOUT;
	for (size_t i = 0; i < c->k->problems.n; i++)
		if (c->k->problems.v[i].ptx_line == p.ptx_line &&
		    !strcmp(c->k->problems.v[i].text, text))
			return;
	base_vec_push(&c->k->problems, p);
}

static const char *instruction(struct check *c, const struct ir_step *st)
{
	struct base_buf text = {0};
	size_t skip = 0;

	if (!st->at->form)
		return "";
	ptx_print_stmt(c->e->ir->calls.v[st->call].f, st->at, &text);
	while (skip < text.n && (text.p[skip] == '\t' || text.p[skip] == ' '))
		skip++;
	const char *s = base_strndup(c->arena, text.p ? text.p + skip : "", text.n - skip);
	base_buf_free(&text);
	return s;
}

static void fill_side(struct check *c, struct race_alarm_side *s, const struct ev_access *a)
{
	struct names_var vars[RACE_ALARM_VARS];
	uint32_t n = prove_names_at(&c->names, a->index, a->block, vars, RACE_ALARM_VARS);

	s->kind = a->mem->kind;
	s->strength = a->mem->strength;
	s->bytes = a->mem->bytes;
	s->ptx_line = a->step->at->line;
	s->is_approx_index = a->off->is_approx;
	s->is_approx_path = a->guard->is_approx;
	const struct ptx_loc *shown = own_place(c, a->step->call, a->step->at);
	place_of(c, shown, &s->file, &s->line);
	s->col = shown ? shown->col : 0;
	s->text = instruction(c, a->step);
	s->index = prove_names_write(&c->names, a->off, vars, n);
}

/* ---- variables ---------------------------------------------------------------------------- */

void prove_alarm_watch(struct check *c, const struct ev_access *a, struct replay_watch *w)
{
	struct names_var vars[RACE_ALARM_VARS];

	w->n = prove_names_at(&c->names, a->index, a->block, vars, RACE_ALARM_VARS);
	for (uint32_t i = 0; i < w->n; i++) {
		w->what[i].reg = vars[i].reg;
		w->what[i].object = vars[i].object;
		w->what[i].off = vars[i].off;
		w->what[i].bytes = vars[i].bytes;
	}
}

static uint64_t extended(uint64_t v, unsigned bytes, bool is_signed)
{
	unsigned w = bytes && bytes < 8 ? 8 * bytes : 64;

	return is_signed ? (uint64_t)prove_ex_signed(v, w) : v & prove_ex_mask(w);
}

static struct race_alarm_var *add_var(struct race_alarm *al, const char *name)
{
	for (uint32_t i = 0; i < al->nvars; i++)
		if (!al->var[i].is_global && !strcmp(al->var[i].name, name))
			return &al->var[i];
	if (al->nvars == RACE_ALARM_VARS)
		return NULL;
	struct race_alarm_var *v = &al->var[al->nvars++];
	memset(v, 0, sizeof(*v));
	v->name = name;
	return v;
}

/* What all threads have: scalar parameters that the launch gives a value. */
static void add_globals(struct check *c, struct race_alarm *al)
{
	for (uint32_t i = 0; i < al->nparams; i++) {
		const struct names_param *p = prove_names_param_at(&c->names, al->param[i].off);
		if (!p || !p->is_known || p->bytes != al->param[i].bytes || p->is_pointer ||
		    p->is_float || al->nvars == RACE_ALARM_VARS)
			continue;
		struct race_alarm_var *v = &al->var[al->nvars++];
		memset(v, 0, sizeof(*v));
		v->name = p->name;
		v->is_global = true;
		v->is_signed = p->is_signed;
		v->is_known[0] = v->is_known[1] = true;
		v->value[0] = v->value[1] =
			extended(al->param[i].value, (unsigned)p->bytes, p->is_signed);
	}
}

/* What the model chose for arrays, where the alarm depends on it. */
static void add_contents(struct check *c, struct race_alarm *al, const struct smt_model *m)
{
	_Static_assert(SMT_MAX_CONTENTS <= RACE_ALARM_CONTENTS, "all contents of a model fit");

	for (uint32_t i = 0; i < m->ncontents && !al->is_true; i++) {
		const struct names_param *p = prove_names_param_at(&c->names, m->content[i].param);
		bool is_signed = p && p->signed_bytes == m->content[i].bytes;
		uint32_t k = al->ncontents++;
		/* array by array, as a reader looks for them */
		for (; k && (m->content[i].param < al->content[k - 1].param ||
			     (m->content[i].param == al->content[k - 1].param &&
			      m->content[i].at < al->content[k - 1].at));
		     k--)
			al->content[k] = al->content[k - 1];
		al->content[k] = (struct race_alarm_content){.param = m->content[i].param,
							     .at = m->content[i].at,
							     .value = m->content[i].value,
							     .bytes = m->content[i].bytes,
							     .is_signed = is_signed,
							     .name = p ? p->name : ""};
	}
}

static bool depends(const struct ex *v, const struct ex *on)
{
	while ((on->op == EX_SEXT || on->op == EX_ZEXT || on->op == EX_TRUNC) && on->n)
		on = on->a[0];
	return v && on->is_approx && prove_ex_contains(v, on);
}

/* The launch without the parameters that may be pointers, which have no number to show. */
static struct smt_model *numbers_of(struct check *c, const struct smt_model *m)
{
	struct smt_model *to = BASE_NEW(c->arena, struct smt_model);
	uint32_t n = 0;

	*to = *m;
	for (uint32_t i = 0; i < m->nparams; i++)
		if (m->param[i].bytes < 8)
			to->param[n++] = m->param[i];
	to->nparams = n;
	return to;
}

static void add_locals(struct check *c, struct race_alarm *al, unsigned side,
		       const struct ev_access *a, const struct alarm_facts *f)
{
	const struct replay_meeting *met = f->met;
	struct names_var vars[RACE_ALARM_VARS];
	uint32_t n = prove_names_at(&c->names, a->index, a->block, vars, RACE_ALARM_VARS);
	struct ev_trial t = {0};

	if (f->m)
		t = prove_ev_trial_of(numbers_of(c, f->m), side);
	for (uint32_t i = n; i-- > 0;) { /* in the order of the source */
		if (prove_names_param_called(&c->names, vars[i].name, strlen(vars[i].name)) &&
		    c->e->ir->steps.v[a->index].call == 0)
			continue;
		struct race_alarm_var *v = add_var(al, vars[i].name);
		if (!v)
			return;
		v->is_signed = vars[i].is_signed;
		v->is_approx[side] = vars[i].value && vars[i].value->is_approx;
		if (vars[i].value) {
			v->is_control |= depends(a->guard, vars[i].value);
			v->is_data |= depends(a->off, vars[i].value);
		}
		v->is_known[side] = met && met->is_known[side][i];
		if (v->is_known[side])
			v->value[side] =
				extended(met->value[side][i], vars[i].bytes, vars[i].is_signed);
		/* where the replay didn't come so far: what launch and thread say */
		uint64_t value;
		if (v->is_known[side] || !f->m || !vars[i].value ||
		    !prove_ev_number(&t, vars[i].value, &value))
			continue;
		v->is_known[side] = true;
		v->value[side] = extended(value, vars[i].bytes, vars[i].is_signed);
	}
}

/* ---- alarms ------------------------------------------------------------------------------- */

struct race_alarm *prove_alarm_find(struct check *c)
{
	for (size_t i = 0; i < c->k->alarms.n; i++) {
		struct race_alarm *al = &c->k->alarms.v[i];
		if (al->level == c->level.apart &&
		    al->side[0].ptx_line == c->pair.a->step->at->line &&
		    al->side[1].ptx_line == c->pair.b->step->at->line)
			return al;
	}
	return NULL;
}

static const char *order_of(struct check *c, const struct replay_meeting *met)
{
	const struct ir_step *st;
	const char *file;
	uint32_t line;

	if (!met || met->order == IR_NONE || !*(met->why ? met->why : ""))
		return "";
	st = &c->e->ir->steps.v[met->order];
	if (!st->at)
		return "";
	place_of(c, own_place(c, st->call, st->at), &file, &line);
	return base_printf(c->arena, "line %u: %s", line ? line : st->at->line, instruction(c, st));
}

/* Does the launch keep to what is assumed of numbers, so that these say it? What code assumes on
 * its way they don't. */
static bool is_within(const struct check *c, const struct smt_model *m)
{
	struct ev_trial t = prove_ev_trial_of(m, 0);

	for (size_t i = 0; i < c->e->assumes.n; i++) {
		const struct ev_assume *as = &c->e->assumes.v[i];
		if (as->kind == IR_ASSUME_TICKET)
			continue; /* what atomics do, whatever is assumed */
		if (as->kind == IR_ASSUME_INJECTIVE || as->kind == IR_ASSUME_SORTED)
			continue; /* race_proof.rests_on */
		if (!prove_ev_is_of_launch(as) || !prove_ev_holds(&t, as->fact))
			return false;
	}
	return true;
}

void prove_alarm_raise(struct check *c, const struct alarm_facts *facts)
{
	struct alarm_facts own = *facts, *f = &own;
	struct race_alarm al = {.is_true = f->is_true,
				.cls = c->level.cls,
				.stands_for = 1,
				.is_exited = f->is_exited};
	struct race_alarm *old = prove_alarm_find(c);
	bool has_equal_values = benign_would_be(c);

	if (f->met && f->met->is_no_launch) /* its numbers would mislead */
		f->m = NULL;
	/* whether all cases are of equal values is to be known */
	c->level.is_done |= f->is_true && !f->is_benign && !has_equal_values;
	if (old)
		old->has_equal_values &= has_equal_values;
	if (old && !old->is_benign && (old->is_true || !f->is_true || f->is_benign))
		return;
	if (old && old->is_benign && f->is_benign)
		return;
	al.level = c->level.apart;
	al.is_benign = f->is_benign;
	al.has_equal_values = has_equal_values;
	al.object = prove_alarm_object(c, c->pair.a);
	al.reason = f->reason ? f->reason : "";
	al.order = f->is_true ? "" : order_of(c, f->met);
	al.reproducer = "";
	fill_side(c, &al.side[0], c->pair.a);
	fill_side(c, &al.side[1], c->pair.b);
	if (f->m) {
		al.has_launch = true;
		al.is_within = is_within(c, f->m);
		memcpy(al.ntid, f->m->ntid, sizeof(al.ntid));
		memcpy(al.nctaid, f->m->nctaid, sizeof(al.nctaid));
		for (unsigned i = 0; i < 2; i++) {
			memcpy(al.side[i].tid, f->m->tid[i], sizeof(al.side[i].tid));
			memcpy(al.side[i].ctaid, f->m->ctaid[i], sizeof(al.side[i].ctaid));
			al.side[i].offset = f->met->offset[i];
			al.side[i].phase = f->met->phase[i];
		}
		al.nparams = f->m->nparams;
		for (uint32_t i = 0; i < al.nparams; i++) {
			const struct names_param *n =
				prove_names_param_at(&c->names, f->m->param[i].off);
			al.param[i] = (struct race_alarm_param){.off = f->m->param[i].off,
								.value = f->m->param[i].value,
								.bytes = f->m->param[i].bytes};
			al.param[i].name =
				n && n->bytes == al.param[i].bytes
					? n->name
					: base_printf(c->arena, "parameter bytes at %llu",
						      (unsigned long long)f->m->param[i].off);
		}
		add_globals(c, &al);
		add_contents(c, &al, f->m);
	}
	add_locals(c, &al, 0, c->pair.a, f);
	add_locals(c, &al, 1, c->pair.b, f);
	if (old)
		*old = al;
	else if (c->k->alarms.n < RACE_PROOF_ALARMS)
		base_vec_push(&c->k->alarms, al);
	else
		c->is_full = true;
}

/* Those that fn names become one alarm, the surest of them. */
void alarm_merge(struct check *c, bool (*fn)(const struct race_alarm *, void *), void *arg)
{
	struct race_alarm *one = NULL;
	size_t n = 0;

	for (size_t i = 0; i < c->k->alarms.n; i++) {
		struct race_alarm *al = &c->k->alarms.v[i];
		if (!fn(al, arg)) {
			c->k->alarms.v[n++] = *al;
			continue;
		}
		/* a volatile conflict is none of those that count as a race */
		al->is_true &= al->cls == RACE_CLASS_RACE;
		al->cls = RACE_CLASS_LOCKSTEP;
		if (!one) {
			one = &c->k->alarms.v[n++];
			*one = *al;
			continue;
		}
		al->stands_for = ++one->stands_for;
		if (al->is_true && !one->is_true)
			*one = *al;
	}
	c->k->alarms.n = n;
}

/* ---- access protocols ------------------------------------------------------------- */

/* What, at which byte, under which condition, as far as names go: the paper's section 2.2. */
static void write_access(struct check *c, const struct ev_access *a)
{
	static const char *const kinds[] = {
		[RACE_OP_READ] = "read", [RACE_OP_WRITE] = "write", [RACE_OP_RMW] = "update"};
	struct names_var vars[RACE_ALARM_VARS];
	uint32_t n = prove_names_at(&c->names, a->index, a->block, vars, RACE_ALARM_VARS), line;
	const char *file, *at = prove_names_write(&c->names, a->off, vars, n), *when, *text;

	prove_alarm_place(c, a->step->at, &file, &line);
	when = a->guard->op == EX_CONST ? NULL : prove_names_write(&c->names, a->guard, vars, n);
	text = base_printf(c->arena, "%s: %s %u at %s%s%s%s (line %u)", prove_alarm_object(c, a),
			   kinds[a->mem->kind], a->mem->bytes, *at ? at : "...",
			   a->off->is_approx ? " [approximated]" : "", when ? " if " : "",
			   !when   ? ""
			   : *when ? when
				   : "...",
			   line ? line : a->step->at->line);
	base_vec_push(&c->k->protocol, text);
}

void prove_write_protocol(struct check *c)
{
	const struct ev *e = c->e;

	/* array by array, in the order of their first accesses */
	for (size_t i = 0; i < e->accesses.n; i++) {
		bool is_first = true;
		for (size_t k = 0; k < i; k++)
			is_first &=
				!prove_ev_same_root(&e->accesses.v[k].root, &e->accesses.v[i].root);
		for (size_t k = i; k < e->accesses.n && is_first; k++)
			if (!e->accesses.v[k].is_late &&
			    prove_ev_same_root(&e->accesses.v[k].root, &e->accesses.v[i].root))
				write_access(c, &e->accesses.v[k]);
	}
}
