/*
 * expr.h - private to src/prove: values of a kernel as a shared graph of exact machine arithmetic.
 *
 * A node is a value of w bits (1 to 64). Equal nodes are one node, so equality is a comparison of
 * pointers. Leaves are constants, special registers, parameters, addresses of objects, counters of
 * loops, and *approximated* values of which only the width is known. An approximated value that is
 * made in a loop has the counters of its loops as arguments: the same thread in the same iteration
 * gets the same value.
 *
 * The level says who shares a value: all threads of the grid, those of a CTA, or none.
 */
#ifndef COLLIDER_PROVE_EXPR_H
#define COLLIDER_PROVE_EXPR_H

#include "base/base.h"

enum ex_op {
	EX_CONST, /* imm */
	EX_SPEC,  /* imm: enum prove_ex_spec */
	EX_PARAM, /* imm: byte offset in the kernel's parameters */
	EX_SYM,	  /* imm: number of the object */
	EX_VAR,	  /* imm: identity; arguments: counters. Unknown in each execution */
	EX_PHI,	  /* imm: identity; a value carried around a loop, as a function of its counters */
	EX_CTR,	  /* imm: loop; the iterations done before this one */
	EX_KEXIT, /* imm: loop; the counter in the iteration that leaves; args: outer counters */
	EX_PURE,  /* imm: identity; unmodelled function of its arguments */
	EX_CLOAD, /* memory that the kernel doesn't write, at address a[0] */
	EX_ADD,
	EX_SUB,
	EX_MUL,
	EX_UDIV,
	EX_SDIV,
	EX_UREM,
	EX_SREM,
	EX_AND,
	EX_OR,
	EX_XOR,
	EX_NOT,
	EX_BREV, /* its bits, the last one first */
	EX_CLZ,	 /* the zeros before its first bit that is set; of 0 its width */
	EX_SHL,	 /* by the width or more: 0, as PTX has it; ASHR fills with the sign */
	EX_LSHR,
	EX_ASHR,
	EX_EQ,
	EX_ULT,
	EX_SLT,
	EX_ITE,
	EX_ZEXT,
	EX_SEXT,
	EX_TRUNC,
	EX_IND /* a[0] + a[1] * counter a[2]; imm: enum prove_ex_ind */
};

/* What is known of an induction's wrapping (docs/prove.md, "The launch contract"). */
enum prove_ex_ind { EX_IND_WRAPS, EX_IND_UNSIGNED, EX_IND_SIGNED };

enum prove_ex_spec {
	EX_TID_X,
	EX_TID_Y,
	EX_TID_Z,
	EX_CTAID_X,
	EX_CTAID_Y,
	EX_CTAID_Z,
	EX_NTID_X,
	EX_NTID_Y,
	EX_NTID_Z,
	EX_NCTAID_X,
	EX_NCTAID_Y,
	EX_NCTAID_Z,
	EX_SPEC_COUNT
};

enum ex_level { EX_THREAD, EX_CTA, EX_GRID };

struct ex {
	uint8_t op, w, level;
	bool is_approx; /* depends on a value that is not modelled */
	bool has_ctr;	/* depends on a counter that is bound by its place */
	uint32_t id, n; /* dense number; arguments */
	uint64_t imm;
	uint64_t lo, hi;      /* unsigned bounds under the contract */
	uint64_t zeros, ones; /* bits that are surely so (known.c) */
	uint64_t leaves;      /* a bit for each of its leaves, which some share */
	const struct ex *a[];
};

#define EX_MAX_SAME 16

/* What a launch must keep to; see prove.h. 0: any. */
struct ex_launch {
	uint32_t dim[6];     /* ntid.x y z, nctaid.x y z when fixed, else 0 */
	uint32_t max[6];     /* their upper bounds */
	uint32_t threads;    /* a block has no more */
	uint32_t cluster[3]; /* where it isn't given the grid has a multiple of that many blocks */
	/* Pointers at `off` that are those at `of` plus delta: one array, given twice. */
	struct ex_same {
		uint64_t off, of, delta;
	} same[EX_MAX_SAME];
	uint32_t nsame;
};

/* A parameter of `w` bits at `off` of which the contract gives the value, or bounds. */
struct ex_pin {
	uint64_t off, lo, hi; /* unsigned, both included */
	unsigned w;
};

/* What an array holds that no store of the kernel goes to, where all launches in question say it:
 * elements of `w` bits from the pointer at `param` on (contents.c). */
struct ex_held {
	uint64_t param, lo, hi; /* unsigned, both included */
	unsigned w;
	bool is_used; /* a load has these bounds, though it may have gone since, as what decides */
};

#define EX_MAX_HELD  32
#define EX_MAX_PINS  64
#define EX_MAX_READS 128

/* What the latest replacement did, by node. */
struct ex_memo {
	struct {
		uint64_t turn;
		const struct ex *v;
	} * e;
	const struct ex *from, *to;
	uint64_t turn;
	uint32_t n;
};

struct ex_pool {
	struct base_arena *arena;
	struct ex_launch launch;
	struct ex_pin pin[EX_MAX_PINS]; /* pins.c */
	uint32_t npins;
	struct ex_held held[EX_MAX_HELD];
	uint32_t nheld;
	/* Which words of the parameters were asked for. */
	struct ex_read {
		uint64_t off;
		unsigned w;
	} read[EX_MAX_READS];
	uint32_t nreads;
	const struct ex **table;
	uint32_t cap, n;
	struct ex_memo memo;
	/* root.c: sums without the base `from`; what keeps it. */
	struct ex_memo stripped, kept;
};

void prove_ex_pool_init(struct ex_pool *p, struct base_arena *arena,
			const struct ex_launch *launch);
void prove_ex_pool_free(struct ex_pool *p);

static inline uint64_t prove_ex_mask(unsigned w)
{
	return w >= 64 ? UINT64_MAX : (1ull << w) - 1;
}
static inline int64_t prove_ex_signed(uint64_t v, unsigned w)
{
	return (int64_t)(v << (64 - w)) >> (64 - w);
}

/* Unsigned bounds, both included. */
struct ex_range {
	uint64_t lo, hi;
};
static inline struct ex_range prove_ex_full(unsigned w)
{
	return (struct ex_range){0, prove_ex_mask(w)};
}

static inline bool prove_ex_is_spec(const struct ex *v, unsigned which)
{
	return v->op == EX_SPEC && v->imm == which;
}

/* blockDim.d, or the number that it is. */
static inline bool prove_ex_is_block_dim(const struct ex_pool *p, const struct ex *v, unsigned d)
{
	uint32_t fixed = p->launch.dim[d];

	return prove_ex_is_spec(v, EX_NTID_X + d) ||
	       (fixed && v->op == EX_CONST && v->imm == fixed);
}

/* forms.c: blockIdx.d * blockDim.d + threadIdx.d: which d, or 3. */
unsigned prove_ex_position(const struct ex_pool *p, const struct ex *v);

const struct ex *prove_ex_const(struct ex_pool *p, unsigned w, uint64_t v);
const struct ex *prove_ex_spec(struct ex_pool *p, enum prove_ex_spec s);
/* A parameter: the number that it is pinned to, else a leaf with its bounds; or always a leaf that
 * may have any value, for what is assumed itself. */
const struct ex *prove_ex_param(struct ex_pool *p, unsigned w, uint64_t off);
const struct ex *prove_ex_any_param(struct ex_pool *p, unsigned w, uint64_t off);
/* A leaf, or a function of its arguments; PHI, VAR, KEXIT, PURE get the level and bounds given. */
struct ex_args {
	uint32_t n;
	const struct ex *const *a;
	bool is_exact; /* PHI: its closed form is known (loop.c) */
};
#define EX_NO_ARGS ((struct ex_args){0, NULL, false})
const struct ex *prove_ex_leaf(struct ex_pool *p, enum ex_op op, unsigned w, uint64_t imm,
			       enum ex_level level, struct ex_range r, struct ex_args args);
/* Makes, folds and simplifies. w is the result's width. */
const struct ex *prove_ex_un(struct ex_pool *p, enum ex_op op, unsigned w, const struct ex *a);
const struct ex *prove_ex_bin(struct ex_pool *p, enum ex_op op, const struct ex *a,
			      const struct ex *b);
const struct ex *prove_ex_ite(struct ex_pool *p, const struct ex *c, const struct ex *a,
			      const struct ex *b);
const struct ex *prove_ex_ind(struct ex_pool *p, enum prove_ex_ind kind, const struct ex *init,
			      const struct ex *step, const struct ex *ctr);
const struct ex *prove_ex_cload(struct ex_pool *p, unsigned w, const struct ex *addr);
const struct ex *prove_ex_not(struct ex_pool *p, const struct ex *a);
const struct ex *prove_ex_and(struct ex_pool *p, const struct ex *a, const struct ex *b);
const struct ex *prove_ex_or(struct ex_pool *p, const struct ex *a, const struct ex *b);
/* v with `from` replaced by `to`, everywhere. */
const struct ex *prove_ex_replace(struct ex_pool *p, const struct ex *v, const struct ex *from,
				  const struct ex *to);
/* forms.c: a - b as a remainder, or NULL. Is c ? a : b the quotient or the remainder b, which a is
 * where c holds? */
const struct ex *prove_ex_rest(struct ex_pool *p, const struct ex *a, const struct ex *b);
bool prove_ex_is_bypass(struct ex_pool *p, const struct ex *c, const struct ex *a,
			const struct ex *b);
/* Room for v and all below it; what the memo holds of another question is forgotten. */
void prove_ex_memo_open(struct ex_memo *m, const struct ex *v, const struct ex *from,
			const struct ex *to);
bool prove_ex_contains(const struct ex *v, const struct ex *part);
/* Is it surely a negative number as a step: a constant, or 0 - x with x below half the range? */
bool prove_ex_is_down(const struct ex *step);
/* bounds.c: sets the bounds of a node that is about to be made of these arguments. */
void prove_ex_find_bounds(struct ex_pool *p, struct ex *k, const struct ex *const *a);
/* known.c: sets its known bits, after its bounds. */
void prove_ex_find_bits(struct ex *k, const struct ex *const *a);
/* Evaluates one operation on numbers; used by the simplifier and the replay. False: undefined
 * (division by zero). */
bool prove_ex_fold(enum ex_op op, unsigned w, unsigned wa, uint64_t a, uint64_t b, uint64_t *out);

#endif
