/*
 * debug.h - the programmer's variables, in PTX of nvcc -G (dwarf.c): names, types, places.
 */
#ifndef COLLIDER_PTX_DEBUG_H
#define COLLIDER_PTX_DEBUG_H

#include "ptx/ptx.h"

enum ptx_debug_kind { PTX_DEBUG_REG, PTX_DEBUG_OBJECT };

/* Where a variable is stored between two lines of the PTX text. */
struct ptx_debug_place {
	enum ptx_debug_kind kind;
	uint32_t from, to;  /* lines; `to` isn't one of them */
	uint32_t reg;	    /* REG */
	struct ptx_str sym; /* OBJECT: a parameter, a variable, the stack */
	uint64_t off;	    /* in it */
};

struct ptx_debug_type {
	bool is_pointer, is_signed, is_float;
	uint8_t bytes;	      /* of a scalar, else 0 */
	uint8_t signed_bytes; /* of what a pointer leads to, if that is a number with a sign */
};

/* A scalar in a structure: "p.size.width", "p.dims[1]". */
struct ptx_debug_member {
	const char *name;
	uint64_t off; /* in the structure */
	struct ptx_debug_type type;
};

struct ptx_debug_var {
	const char *name;
	bool is_param;
	struct ptx_debug_type type;
	struct ptx_debug_member *members; /* of a parameter that is a structure or an array */
	size_t nmembers;
	uint32_t from, to; /* lines in which the name denotes it */
	struct ptx_debug_place *places;
	size_t nplaces;
};

/* The parameters and variables of a function that have a place, in the order of their declaration,
 * in the module's arena. None where the text has no DWARF. */
const struct ptx_debug_var *ptx_debug_vars(struct ptx_module *m, const struct ptx_func *f,
					   size_t *n);

#endif
