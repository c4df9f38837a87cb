/*
 * plain.c - a kernel's own code once more, for launches that need no checks (race/plain.h).
 *
 * A word that the agent writes before a launch says which of the two runs. Where the kernel is
 * proven for some launches (inst_prune.is_whole), the copy tests at each access to global memory
 * that it is in the allocation of its pointer; what fails is only noted, and counted at the way out
 * (race_rt.left): the report says that such a launch was more than its proof.
 *
 * needs: called before anything is put into the body. Misses: kernels that can't be copied
 * (prune/plain.c), those that it would make much slower to load unless they are proven (pays),
 * parameters of other sizes than 8 bytes as pointers.
 * Costs: the kernel's size once more, a load and a branch at the entry; in the copy two or three
 * SASS instructions for each access to global memory that is tested.
 */
#include "instrument/collide/collide.h"
#include "instrument/templates.h"

#include "race/plain.h"

#include <string.h>

/* The variables of all kernels, in .const, have so many bytes at most, and never more than the
 * module leaves there (inst_ctx.const_left). */
#define CONST_MOST 8192u

/* Measured with ptxas 13.0, whose time for arithmetic alone grew by 41%. */
#define SAMPLE_LINES	  100u
#define SAMPLE_SITE_LINES 5u

struct tests {
	const struct inst_prune *k; /* NULL: none */
	struct ptx_opnd out;	    /* predicate: an access was not in its array */
	struct ptx_str space, state;
	uint32_t nth;
};

bool inst_wants_plain(const struct inst_ctx *cx)
{
	return cx->opt->plain && cx->f->is_entry && !cx->opt->trap && !cx->opt->relocatable &&
	       cx->opt->sanitize == 1u << RACE_DETECTOR_COLLIDE;
}

static struct ptx_str variable(struct inst_ctx *cx, const char *prefix)
{
	char *name = base_printf(cx->m->arena, "%s%.*s", prefix, (int)cx->f->name.n, cx->f->name.p);

	return (struct ptx_str){name, (uint32_t)strlen(name)};
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
			*out = (struct race_plain_pointer){index, (uint32_t)(off - at)};
			return true;
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

/* The declaration of its proof; false: it can't be tested as it is. */
static bool put_proof(struct inst_ctx *cx, const struct inst_prune *k)
{
	_Static_assert(RACE_PLAIN_CMPS == (int)INST_PRUNE_CMPS, "the same order");
	struct race_plain_proof head = {k->narrays, k->nterms};
	struct base_buf text = {0};
	bool ok = true;

	put_words(&text, &head, sizeof(head));
	for (uint32_t i = 0; i < k->narrays; i++) {
		struct race_plain_pointer p = {0, 0};
		ok &= find_param(cx->f, k->array[i], &p);
		put_words(&text, &p, sizeof(p));
	}
	for (uint32_t i = 0; i < k->nterms; i++) {
		const struct inst_prune_term *t = &k->term[i];
		struct race_plain_term out = {(uint32_t)t->cmp, t->is_rem,	  number_of(&t->a),
					      number_of(&t->b), number_of(&t->c), number_of(&t->d)};
		ok &= is_known(cx->f, &t->a) && is_known(cx->f, &t->b) && is_known(cx->f, &t->c) &&
		      is_known(cx->f, &t->d);
		put_words(&text, &out, sizeof(out));
	}
	size_t words = 1 + k->narrays + k->nterms * sizeof(struct race_plain_term) / 8;
	if (ok)
		inst_add_raw(
			cx, inst_first_code(cx->m),
			inst_module_text(cx, "words",
					 T(variable(cx, RACE_PLAIN_PROOF), inst_num((int64_t)words),
					   (struct ptx_str){text.p, (uint32_t)text.n})));
	base_buf_free(&text);
	return ok;
}

/* ---- the copy -------------------------------------------------------------------------------- */

static void put_test(struct inst_ctx *cx, struct tests *t, const struct ptx_stmt *s, uint32_t array)
{
	const struct ptx_opnd *addr = ptx_address(s);
	int64_t last = addr->off + (int64_t)s->form->vec * s->form->width - 1;
	size_t at = offsetof(struct race_plain_state, array[0]) +
		    array * sizeof(struct race_plain_array);
	struct ptx_opnd fails = inst_fresh(cx, PTX_TYPE_PRED);

	inst_emit(cx, NULL, "plain_test",
		  T(t->space, t->state, inst_num((int64_t)at),
		    inst_num((int64_t)(at + offsetof(struct race_plain_array, bytes))),
		    inst_num(last)),
		  H(fails, addr->sub[0]));
	if (s->pred != PTX_NO_REG)
		inst_emit(cx, NULL, s->is_pred_not ? "plain_fails_unless" : "plain_fails_if", NT,
			  H(t->out, fails, inst_reg(cx, s->pred)));
	else
		inst_emit(cx, NULL, "plain_fails", NT, H(t->out, fails));
}

static void before(struct inst_ctx *cx, const struct ptx_stmt *s, void *arg)
{
	struct tests *t = arg;
	uint32_t nth = t->nth;

	t->nth += !s->inserted;
	for (size_t i = 0; t->k && !s->inserted && i < t->k->tests.n; i++)
		if (t->k->tests.v[i].nth == nth)
			put_test(cx, t, s, t->k->tests.v[i].array);
}

/* Can it be tested: an address in a register of 64 bits? */
static bool is_testable(const struct inst_ctx *cx, const struct ptx_stmt *s)
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
			if (k->tests.v[i].nth == nth && is_testable(cx, s))
				found++;
		nth++;
	}
	return found == k->tests.n;
}

static const struct inst_prune *proof_of(struct inst_ctx *cx)
{
	const struct inst_prune *k = inst_prunes_of(cx);

	return k && k->is_whole && are_testable(cx, k) && put_proof(cx, k) ? k : NULL;
}

/* For a sample only: does the copy take at most about 15% of the time that the code with checks
 * takes to assemble? That has 40 lines and more for each access, unless its checks are calls, and
 * what any kernel costs. */
static bool pays(const struct inst_ctx *cx)
{
	return !cx->by_call &&
	       cx->size.lines <= SAMPLE_LINES + SAMPLE_SITE_LINES * inst_accesses_of(cx->f);
}

struct ptx_label *inst_plain_copy(struct inst_ctx *cx)
{
	if (!inst_can_copy(cx))
		return NULL;
	struct tests t = {.k = proof_of(cx), .state = variable(cx, RACE_PLAIN_STATE)};
	if (!t.k && !pays(cx))
		return NULL;
	size_t words = 2 + (t.k ? t.k->narrays * sizeof(struct race_plain_array) / 8 : 0);
	uint32_t bytes = cx->plain_bytes + (uint32_t)(8 * words + 15) / 16 * 16; /* its alignment */
	bool fits = bytes <= CONST_MOST && bytes <= cx->const_left;

	t.space = fits ? PTX_STR("const") : PTX_STR("global");
	cx->plain_bytes = fits ? bytes : cx->plain_bytes;
	cx->plain_space = t.space;
	inst_add_raw(
		cx, inst_first_code(cx->m),
		inst_module_text(cx, "history", T(t.space, t.state, inst_num((int64_t)words))));
	if (t.k)
		t.out = inst_fresh(cx, PTX_TYPE_PRED);
	struct ptx_label *copy = inst_copy_body(cx, before, &t);
	if (!t.k)
		return copy;
	inst_emit(cx, copy->at->next, "plain_begin", NT, H(t.out));
	for (struct ptx_stmt *s = NULL; (s = inst_next_way_out(copy, s)) != NULL;)
		inst_emit(cx, s, "plain_left", T(cx->k, KNOB(rt), RT(left)), H(t.out));
	return copy;
}

void inst_plain_enter(struct inst_ctx *cx, struct ptx_label *copy, struct ptx_stmt *top)
{
	_Static_assert(offsetof(struct race_plain_state, over) == 0, "template plain_enter");
	_Static_assert(offsetof(struct race_plain_state, on) == 8, "template plain_enter");
	inst_emit(cx, top, "plain_enter", T(cx->plain_space, variable(cx, RACE_PLAIN_STATE)),
		  H(ptx_opnd_label(copy)));
}
