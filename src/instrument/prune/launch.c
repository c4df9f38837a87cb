/*
 * launch.c - which launches of a kernel need no checks, or not all (race/plain.h): its variables,
 * and its own code once more.
 *
 * A word that the agent writes before a launch says which of the two codes runs. Where the kernel
 * is proven for some launches (inst_prune.is_whole), the copy tests at each access to global memory
 * that it is in the allocation of its pointer; what fails is only noted, and counted at the way out
 * (race_rt.left): the report says that such a launch was more than its proof. For detectors with
 * words the same state says which reads of the checked code need no check (part.c).
 *
 * The first detector at work plans; the last one makes the copy and the branch to it, so that no
 * analysis sees the code twice.
 *
 * needs: called before anything of that detector is put into the body. Misses: kernels that can't
 * be copied (prune/plain.c), those without a proof that it would make much slower to load (pays),
 * and all of these in a build with collide, parameters of other sizes than 8 bytes as pointers.
 * Costs: the kernel's size once more, a load and a branch at the entry; in the copy two or three
 * SASS instructions for each access to global memory that is tested.
 */
#include "instrument/detector.h"
#include "instrument/launches.h"

#include "race/detector.h"
#include "race/noted.h"
#include "race/plain.h"

#include <string.h>

/* The variables of all kernels, in .const, have so many bytes at most, and never more than the
 * module leaves there (inst_ctx.const_left). */
#define CONST_MOST 8192u

/* Measured with ptxas 13.0, whose time for arithmetic alone grew by 41%. */
#define SAMPLE_LINES	  100u
#define SAMPLE_SITE_LINES 5u
/* Of detectors with words, whose checks are longer, also of what any kernel costs: so the time for
 * seven files of HeCBench grew by 0 to 13%. */
#define WORDS_LINES	 400u
#define WORDS_SITE_LINES 200u

/* Do all of the detectors thin out their checks of a launch, too? */
static bool is_for_default(const struct inst_ctx *cx)
{
	return !(cx->opt->sanitize & ~race_detectors_with(RACE_DEFAULT));
}

/* The copy is of code whose numbers of blocks have not been replaced (shuffle/), as collide's other
 * half does. */
static bool can_have_copy(const struct inst_ctx *cx)
{
	return (is_for_default(cx) || !(cx->opt->sanitize & ~race_detectors_with_words())) &&
	       inst_can_copy(cx);
}

/* Is the function at work a kernel that has them? */
static bool wants_launches(const struct inst_ctx *cx)
{
	return (cx->opt->plain || cx->opt->samples) && cx->f->is_entry && !cx->opt->trap &&
	       !cx->opt->relocatable;
}

static struct ptx_str variable(struct inst_ctx *cx, const char *prefix)
{
	char *name = base_printf(cx->m->arena, "%s%.*s", prefix, (int)cx->f->name.n, cx->f->name.p);

	return (struct ptx_str){name, (uint32_t)strlen(name)};
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/* One that is OWN or TESTED is apart from what the same pointer is for besides: the agent gives it
 * other bytes. */
static bool find_array(const struct inst_launches *l, struct race_plain_pointer p, uint16_t use,
		       uint32_t *at)
{
	const uint16_t apart = RACE_PLAIN_OWN | RACE_PLAIN_TESTED;

	for (*at = 0; *at < l->narrays; ++*at)
		if (l->array[*at].index == p.index && l->array[*at].inner == p.inner &&
		    !((l->array[*at].uses ^ use) & apart))
			return true;
	return false;
}

bool inst_has_array(const struct inst_launches *l, struct race_plain_pointer p, uint16_t use)
{
	uint32_t at;

	return find_array(l, p, use, &at) && l->array[at].uses & use;
}

bool inst_add_array(struct inst_launches *l, struct race_plain_pointer p, uint16_t use,
		    uint32_t *at)
{
	if (!find_array(l, p, use, at)) {
		if (l->narrays == RACE_PLAIN_ARRAYS)
			return false;
		p.uses = 0;
		l->array[l->narrays++] = p;
	}
	l->array[*at].uses |= use;
	return true;
}

/* ---- the proof, as the agent reads it -------------------------------------------------------- */

/* The parameter at that place in the parameter block; false: there is no pointer. */
static bool find_param(const struct ptx_func *f, uint64_t off, struct race_plain_pointer *out)
{
	uint64_t at = 0;
	uint32_t index = 0;

	for (const struct ptx_param *p = f->params; p; p = p->next, index++) {
		uint64_t bytes = p->bytes, align = p->align;
		if (!align)
			align = ptx_type_bytes((enum ptx_type)p->type);
		if (!align || !bytes)
			return false;
		at = (at + align - 1) / align * align;
		if (off >= at && off + 8 <= at + bytes) {
			*out = (struct race_plain_pointer){.index = index,
							   .inner = (uint16_t)(off - at)};
			return off - at <= UINT16_MAX;
		}
		at += bytes;
	}
	return false;
}

/* A scalar of 32 bits, as the contract reads it (prune/prune.c)? */
static bool is_known(const struct ptx_func *f, const struct inst_prune_number *n)
{
	const struct ptx_param *p = f->params;

	for (uint64_t i = n->n; n->kind == INST_PRUNE_PARAM && p && i; i--)
		p = p->next;
	return n->kind != INST_PRUNE_PARAM ||
	       (p && p->bytes == 4 && ptx_type_bytes((enum ptx_type)p->type) == 4);
}

static struct race_plain_number number_of(const struct inst_prune_number *n)
{
	static const uint64_t kinds[] = {[INST_PRUNE_CONST] = RACE_PLAIN_CONST,
					 [INST_PRUNE_DIM] = RACE_PLAIN_DIM,
					 [INST_PRUNE_PARAM] = RACE_PLAIN_PARAM};

	return (struct race_plain_number){kinds[n->kind], n->n};
}

static void put_words(struct base_buf *out, const void *p, size_t bytes)
{
	const char *at = p;

	for (size_t i = 0; i < bytes; i += 8) {
		uint64_t w;
		memcpy(&w, at + i, sizeof(w));
		base_buf_printf(out, "%s0x%llx", out->n ? "," : "", (unsigned long long)w);
	}
}

/* Is each of its terms one that the agent can test, and each pointer a parameter's? Its arrays come
 * first, in its own order. */
static bool take_proof(struct inst_ctx *cx, struct inst_launches *l, const struct inst_prune *k)
{
	bool ok = true;

	for (uint32_t i = 0; i < k->narrays && ok; i++) {
		struct race_plain_pointer p;
		uint32_t at;
		ok = find_param(cx->f, k->array[i], &p) &&
		     inst_add_array(l, p, RACE_PLAIN_OF_PROOF, &at) && at == i;
	}
	for (uint32_t i = 0; i < k->nterms && ok; i++) {
		const struct inst_prune_term *t = &k->term[i];
		ok = is_known(cx->f, &t->a) && is_known(cx->f, &t->b) && is_known(cx->f, &t->c) &&
		     is_known(cx->f, &t->d);
	}
	if (!ok)
		l->narrays = 0;
	return ok;
}

/* Does it call a function of the module? */
static bool calls_code(struct inst_ctx *cx)
{
	ptx_each_stmt(cx->f, s)
	{
		if (s->kind != PTX_STMT_INST || !(s->form->effects & PTX_EFF_CALL))
			continue;
		for (unsigned i = 0; i < s->nops; i++)
			if (s->ops[i].kind == PTX_OPND_SYM && inst_function_of(cx, s->ops[i].text))
				return true;
	}
	return false;
}

/* May a launch be left out for a sample, and when? Detectors with words know what launches do to
 * each other, and what a function does that is called without checks is their own matter. */
static uint32_t sample_flags(struct inst_ctx *cx, const struct inst_launches *l)
{
	bool is_default = is_for_default(cx);

	return (l->has_copy && (is_default || !calls_code(cx)) ? 0 : RACE_PLAIN_NO_SAMPLE) |
	       (is_default ? 0 : RACE_PLAIN_ALONE);
}

/* The declaration of what the agent reads. */
static void put_proof(struct inst_ctx *cx, const struct inst_launches *l)
{
	_Static_assert(RACE_PLAIN_CMPS == (int)INST_PRUNE_CMPS, "the same order");
	uint32_t nterms = l->proof ? l->proof->nterms : 0;
	struct race_plain_proof head = {
		(uint16_t)l->narrays, (uint16_t)nterms,
		(uint16_t)((l->proof ? RACE_PLAIN_WHOLE : 0) | (l->parts ? RACE_PLAIN_PART : 0) |
			   (l->is_all ? RACE_PLAIN_ALL : 0) | sample_flags(cx, l)),
		(uint16_t)l->nown};
	struct base_buf text = {0};

	put_words(&text, &head, sizeof(head));
	put_words(&text, l->array, l->narrays * sizeof(l->array[0]));
	for (uint32_t i = 0; i < nterms; i++) {
		const struct inst_prune_term *t = &l->proof->term[i];
		struct race_plain_term out = {(uint32_t)t->cmp, t->is_rem,	  number_of(&t->a),
					      number_of(&t->b), number_of(&t->c), number_of(&t->d)};
		put_words(&text, &out, sizeof(out));
	}
	put_words(&text, l->own, l->nown * sizeof(l->own[0]));
	size_t words = 1 + l->narrays + nterms * sizeof(struct race_plain_term) / 8 +
		       l->nown * sizeof(l->own[0]) / 8;
	inst_add_raw(cx, inst_first_code(cx->m),
		     inst_module_text(cx, "words",
				      T(variable(cx, RACE_PLAIN_PROOF), inst_num((int64_t)words),
					(struct ptx_str){text.p, (uint32_t)text.n})));
	base_buf_free(&text);
}

/* ---- notes for a later proof ----------------------------------------------------------------- */

/* Is there nothing in it that no proof can stand for? */
static bool may_be_proven(const struct inst_ctx *cx)
{
	ptx_each_stmt(cx->f, s)
	{
		if (s->kind == PTX_STMT_INST && !s->inserted && flow_why_checked(s))
			return false;
	}
	return true;
}

static bool is_integer(const struct ptx_param *p)
{
	enum ptx_type type = (enum ptx_type)p->type;

	return p->bytes == 4 && ptx_type_bytes(type) == 4 && type != PTX_TYPE_F32;
}

/* What the agent reads where it is to note the launches. */
static void put_noted(struct inst_ctx *cx)
{
	struct race_noted_kernel k = {
		.id = race_noted_id(cx->opt->noted, cx->f->name.p, cx->f->name.n)};
	struct base_buf text = {0};
	uint32_t i = 0;

	for (const struct ptx_param *p = cx->f->params; p && i < RACE_NOTED_PARAMS; p = p->next)
		k.scalars |= (uint64_t)is_integer(p) << i++;
	put_words(&text, &k, sizeof(k));
	inst_add_raw(cx, inst_first_code(cx->m),
		     inst_module_text(cx, "words",
				      T(variable(cx, RACE_NOTED), inst_num(sizeof(k) / 8),
					(struct ptx_str){text.p, (uint32_t)text.n})));
	base_buf_free(&text);
	cx->stats->noted++;
}

/* ---- which launches -------------------------------------------------------------------------- */

bool inst_is_testable(const struct inst_ctx *cx, const struct ptx_stmt *s)
{
	const struct ptx_opnd *addr = ptx_address(s);

	return addr && addr->nsub && addr->sub[0].kind == PTX_OPND_REG &&
	       ptx_type_bytes((enum ptx_type)cx->f->reg_type[addr->sub[0].reg]) == 8 &&
	       s->form->vec && s->form->width;
}

/* Each of its accesses is of one array. */
static bool are_testable(const struct inst_ctx *cx, const struct inst_prune *k)
{
	uint32_t nth = 0, found = 0;

	for (size_t i = 0; i < k->tests.n; i++)
		for (size_t j = 0; j < i; j++)
			if (k->tests.v[i].nth == k->tests.v[j].nth)
				return false;
	ptx_each_stmt(cx->f, s)
	{
		if (s->kind != PTX_STMT_INST || s->inserted)
			continue;
		for (size_t i = 0; i < k->tests.n; i++)
			if (k->tests.v[i].nth == nth && inst_is_testable(cx, s))
				found++;
		nth++;
	}
	return found == k->tests.n;
}

/* For a sample only: does the copy take at most about 15% of the time that the code with checks
 * takes to assemble? That has 40 lines and more for each access, unless its checks are calls, and
 * what any kernel costs. */
static bool pays(struct inst_ctx *cx)
{
	bool is_default = is_for_default(cx);
	uint32_t base = is_default ? SAMPLE_LINES : WORDS_LINES;
	uint32_t most = is_default ? SAMPLE_SITE_LINES : WORDS_SITE_LINES;

	return cx->opt->samples && !(is_default ? cx->by_call : calls_code(cx)) &&
	       cx->size.lines <= base + most * inst_accesses_of(cx->f);
}

static void put_state(struct inst_ctx *cx, struct inst_launches *l)
{
	size_t words = 2 + l->narrays * sizeof(struct race_plain_array) / 8;
	uint32_t bytes = cx->plain_bytes + (uint32_t)(8 * words + 15) / 16 * 16; /* its alignment */
	bool fits = bytes <= CONST_MOST && bytes <= cx->const_left;

	l->space = fits ? PTX_STR("const") : PTX_STR("global");
	l->state = variable(cx, RACE_PLAIN_STATE);
	cx->plain_bytes = fits ? bytes : cx->plain_bytes;
	inst_add_raw(
		cx, inst_first_code(cx->m),
		inst_module_text(cx, "history", T(l->space, l->state, inst_num((int64_t)words))));
}

static struct inst_launches *find_launches(const struct inst_ctx *cx)
{
	struct inst_launches *l = cx->launches;

	while (l && l->f != cx->f)
		l = l->next;
	return l;
}

struct inst_launches *inst_plan_launches(struct inst_ctx *cx)
{
	const unsigned with_words = race_detectors_with_words();
	const struct inst_prune *k = inst_prunes_of(cx);
	struct inst_launches *l = find_launches(cx);

	if (l || !wants_launches(cx))
		return l;
	l = BASE_NEW(cx->m->arena, struct inst_launches);
	*l = (struct inst_launches){.next = cx->launches, .f = cx->f, .partly = PTX_NO_REG};
	cx->launches = l;
	bool can_copy = can_have_copy(cx), proves = cx->opt->plain;
	if (proves && can_copy && k && k->is_whole && are_testable(cx, k) && take_proof(cx, l, k))
		l->proof = k;
	if (proves && cx->opt->sanitize & with_words)
		inst_plan_part(cx, l);
	l->is_all &= can_copy;
	l->has_copy = can_copy && (l->proof || l->is_all || pays(cx));
	if (l->has_copy || l->parts)
		put_state(cx, l);
	if (l->proof || l->parts || (l->has_copy && !is_for_default(cx)))
		put_proof(cx, l);
	if (cx->opt->noted && can_copy && !l->proof && !l->is_all && may_be_proven(cx))
		put_noted(cx);
	return l;
}

/* ---- the copy -------------------------------------------------------------------------------- */

struct tests {
	const struct inst_launches *l;
	struct ptx_opnd left; /* predicate: an access was not in its array */
	uint32_t nth;
};

static void before(struct inst_ctx *cx, const struct ptx_stmt *s, void *arg)
{
	struct tests *t = arg;
	const struct inst_prune *k = t->l->proof;
	uint32_t nth = t->nth++;

	for (size_t i = 0; k && i < k->tests.n; i++)
		if (k->tests.v[i].nth == nth)
			inst_put_test(cx, t->l, s, k->tests.v[i].array, t->left, NULL);
	for (const struct inst_part *p = t->l->is_all ? t->l->parts : NULL; p; p = p->next)
		if (p->is_test && p->stmt == s)
			inst_put_test(cx, t->l, s, p->array, t->left, NULL);
}

struct ptx_label *inst_plain_copy(struct inst_ctx *cx, const struct inst_launches *l)
{
	bool is_last = !(cx->opt->sanitize >> cx->detector->id >> 1);

	if (!l || !l->has_copy || !is_last)
		return NULL;
	struct tests t = {.l = l};
	bool is_tested = l->proof || l->is_all;
	if (is_tested)
		t.left = inst_fresh(cx, PTX_TYPE_PRED);
	struct ptx_label *copy = inst_copy_body(cx, before, &t);
	if (!copy || !is_tested)
		return copy;
	inst_put_pruned(cx, copy->at->next, "plain_begin", NT, H(t.left));
	for (struct ptx_stmt *s = NULL; (s = inst_next_way_out(copy, s)) != NULL;)
		inst_put_left(cx, t.left, s);
	return copy;
}

void inst_plain_enter(struct inst_ctx *cx, const struct inst_launches *l, struct ptx_label *copy,
		      struct ptx_stmt *top)
{
	_Static_assert(offsetof(struct race_plain_state, over) == 0, "template plain_enter");
	_Static_assert(offsetof(struct race_plain_state, on) == 8, "template plain_enter");
	inst_put_pruned(cx, top, "plain_enter", T(l->space, l->state, inst_num(RACE_PLAIN_PARTLY)),
			H(ptx_opnd_label(copy)));
}
