/*
 * names.h - private to src/prove: what the programmer calls parameters, variables and values.
 */
#ifndef COLLIDER_PROVE_NAMES_H
#define COLLIDER_PROVE_NAMES_H

#include "prove/replay.h"
#include "ptx/debug.h"

/* A parameter of the kernel, or a scalar member of one that is a structure ("p.width"); its name is
 * from the DWARF, or made of its number. */
struct names_param {
	const char *name;
	uint64_t off, bytes;				/* in the parameter block */
	unsigned number;				/* of the parameter, from 1 on */
	bool is_pointer, is_signed, is_float, is_known; /* known: the DWARF says so */
	bool is_struct, is_member, is_read;		/* read: the kernel does */
	unsigned signed_bytes; /* of what a pointer leads to, if that is a number with a sign */
};

struct names {
	const struct ev *e;
	struct base_arena *arena;
	struct names_param *param; /* parameters, then members */
	uint32_t nparams;
	struct names_call {
		const struct ptx_debug_var *v;
		size_t n;
		bool is_read;
	} * calls; /* by index of struct ir_call */
};

/* named: where parameters have names if the kernel's own text has none, or NULL. */
void prove_names_open(struct names *n, const struct ev *e, struct ptx_module *named,
		      struct base_arena *arena);
/* The member, or the parameter, at a place of the parameter block, or NULL. */
const struct names_param *prove_names_param_at(const struct names *n, uint64_t off);
/* The one that an expression is, whole; NULL: it is none, or a part of one. */
const struct names_param *prove_names_param_of(const struct names *n, const struct ex *v);
/* A number that an assumption may name, and that the kernel reads. */
bool prove_names_is_scalar(const struct names_param *p);
/* By name, "p.width", or number, "$2". */
const struct names_param *prove_names_param_called(const struct names *n, const char *name,
						   size_t len);

/* A variable that is visible at a step, and the value that the analysis has for it there. */
struct names_var {
	const char *name;
	bool is_signed;
	uint8_t bytes;
	uint32_t reg; /* or IR_NONE: bytes at `off` of `object` */
	uint32_t object;
	uint64_t off;
	const struct ex *value; /* NULL: not known */
};
/* The scalar variables at a step, inner scopes first; at most max. Returns how many. */
uint32_t prove_names_at(struct names *n, uint32_t step, uint32_t block, struct names_var *out,
			uint32_t max);
/* v as the programmer would write it, as far as names go; "" where that gets too long. */
const char *prove_names_write(struct names *n, const struct ex *v, const struct names_var *vars,
			      uint32_t nvars);

/* ---- assume.c ------------------------------------------------------------------------ */

/*
 * Reads an expression in C's syntax over blockDim.x and its like, parameters by name or number
 * ($2), and numbers; or distinct(VARIABLE), injective(PARAMETER[, N]), sorted(PARAMETER[, N]). All
 * arithmetic is that of 64-bit signed numbers. NULL: *out has the assumption; else what is wrong,
 * in n->arena. n->e NULL: only the syntax is looked at.
 */
const char *prove_assume_read(struct names *n, struct ev *e, const char *text,
			      struct ev_assume *out);

#endif
