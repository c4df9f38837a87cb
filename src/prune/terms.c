/*
 * terms.c - a proof's contract and its assumptions as comparisons of dimensions and scalars, which
 * a kernel's entry evaluates (inst_prune_term).
 *
 * Misses: assumptions of another form than "a OP b && c OP d", whose sides are a number, a product
 * of two or a remainder.
 */
#include "prune/search.h"

#include <stdlib.h>
#include <string.h>

static const struct inst_prune_number one = {INST_PRUNE_CONST, 1};

static bool add_term(struct inst_prune *k, struct inst_prune_term t)
{
	if (k->nterms == INST_PRUNE_TERMS)
		return false;
	k->term[k->nterms++] = t;
	return true;
}

/* ---- an assumption as terms --------------------------------------------------------------- */

static bool take(const char **p, const char *word)
{
	size_t n = strlen(word);

	while (**p == ' ')
		++*p;
	if (strncmp(*p, word, n) != 0)
		return false;
	*p += n;
	return true;
}

/* blockDim.x, gridDim.y, $2, 64. False: something else. */
static bool read_number(const char **p, struct inst_prune_number *out)
{
	static const char *const dims[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					   "gridDim.x",	 "gridDim.y",  "gridDim.z"};
	char *end;

	for (unsigned d = 0; d < BASE_COUNTOF(dims); d++) {
		if (take(p, dims[d])) {
			*out = (struct inst_prune_number){INST_PRUNE_DIM, d};
			return true;
		}
	}
	out->kind = take(p, "$") ? INST_PRUNE_PARAM : INST_PRUNE_CONST;
	while (**p == ' ')
		++*p;
	if (**p < '0' || **p > '9')
		return false;
	out->n = strtoull(*p, &end, 10);
	*p = end;
	if (out->kind == INST_PRUNE_PARAM && out->n-- == 0)
		return false;
	return true;
}

static bool read_side(const char **p, struct inst_prune_number *a, struct inst_prune_number *b,
		      bool *is_rem)
{
	*b = one;
	*is_rem = false;
	if (!read_number(p, a))
		return false;
	if (take(p, "*"))
		return read_number(p, b);
	if (!take(p, "%"))
		return true;
	*is_rem = true;
	/* by 0 the machine has some result */
	return read_number(p, b) &&
	       (b->kind == INST_PRUNE_DIM || (b->kind == INST_PRUNE_CONST && b->n));
}

/* "a OP b && c OP d ..." False: not of that form; then nothing may be concluded from it. */
bool prune_add_assume(struct inst_prune *k, const char *p)
{
	static const struct {
		const char *text;
		enum inst_prune_cmp cmp;
	} ops[] = {{"==", INST_PRUNE_EQ}, {"!=", INST_PRUNE_NE}, {"<=", INST_PRUNE_LE},
		   {">=", INST_PRUNE_GE}, {"<", INST_PRUNE_LT},	 {">", INST_PRUNE_GT}};

	do {
		struct inst_prune_term t = {0};
		bool is_rem;
		size_t i = 0;
		if (!read_side(&p, &t.a, &t.b, &t.is_rem))
			return false;
		while (i < BASE_COUNTOF(ops) && !take(&p, ops[i].text))
			i++;
		if (i == BASE_COUNTOF(ops) || !read_side(&p, &t.c, &t.d, &is_rem) || is_rem)
			return false;
		t.cmp = ops[i].cmp;
		if (!add_term(k, t))
			return false;
	} while (take(&p, "&&"));
	return !*p;
}

/* ---- the launch contract as terms ---------------------------------------------------------- */

/* Dimensions that are 1 by the contract, and products below 2^31. */
bool prune_add_contract(struct inst_prune *k, const struct race_proof *proof)
{
	bool ok = true;

	for (uint64_t d = 0; d < 6; d++) {
		struct inst_prune_term t = {.a = {INST_PRUNE_DIM, d}, .b = one, .c = one, .d = one};
		if (!(proof->free_dims >> d & 1) && proof->fixed_dim[d]) {
			t.c.n = proof->fixed_dim[d];
			ok &= add_term(k, t);
		}
	}
	for (uint64_t d = 0; d < 3; d++) {
		struct inst_prune_term t = {.cmp = INST_PRUNE_LE,
					    .c = {INST_PRUNE_CONST, INT32_MAX}};
		t.a = (struct inst_prune_number){INST_PRUNE_DIM, d};
		t.b = (struct inst_prune_number){INST_PRUNE_DIM, d + 3};
		t.d = one;
		ok &= add_term(k, t);
	}
	return ok;
}

/* What keeps accesses to shared memory within their variables. */
bool prune_has_stays_if(const struct race_proof *proof)
{
	return proof->stays_if && *proof->stays_if;
}

bool prune_add_terms(struct inst_prune *k, const struct race_proof *proof, const char *assume)
{
	return prune_add_contract(k, proof) && (!*assume || prune_add_assume(k, assume)) &&
	       (!prune_has_stays_if(proof) || prune_add_assume(k, proof->stays_if));
}
