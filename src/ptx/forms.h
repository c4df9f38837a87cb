/*
 * forms.h - private to src/ptx: the rows of isa.def as data, and the table
 * that gives each full spelling of an instruction its one struct ptx_form.
 */
#ifndef COLLIDER_PTX_FORMS_H
#define COLLIDER_PTX_FORMS_H

#include "ptx/ptx.h"

/* One row of isa.def. */
struct ptx_op_info {
	const char *name;
	const char *roles; /* letters as isa.def explains */
	uint32_t effects;  /* PTX_EFF_* */
	uint8_t space, sem, scope, proxy;
	uint8_t version; /* first PTX version, times ten */
	uint8_t sm;	 /* lowest target */
	const char *section;
};

/* What a modifier sets in a form; isa.c. */
enum ptx_mod_class {
	PTX_MODC_OTHER,
	PTX_MODC_SPACE,
	PTX_MODC_SEM,
	PTX_MODC_SCOPE,
	PTX_MODC_PROXY,
	PTX_MODC_VEC,
	PTX_MODC_CACHE,
	PTX_MODC_CMP,
	PTX_MODC_ROUND,
	PTX_MODC_ATOM
};

struct ptx_mod_info {
	const char *name;
	uint8_t len;
	uint8_t cls;   /* enum ptx_mod_class */
	uint8_t value; /* of the field that the class sets */
};

/* ---- isa.c -------------------------------------------------------------- */

/* The row of an opcode; PTX_OP_UNKNOWN has one too. */
const struct ptx_op_info *ptx_op_info(enum ptx_op op);
const struct ptx_mod_info *ptx_mod_info(enum ptx_mod m);
/* How many operands an opcode takes. */
void ptx_op_arity(enum ptx_op op, unsigned *min, unsigned *max);
/* The opcode of a spelling: the longest dotted prefix that is a row, unless a row of more words
 * has them all in another order (ptxas takes vote.ballot.sync for vote.sync.ballot). */
enum ptx_op ptx_op_find(struct ptx_str text);
/* By a dotted part without its dot; NONE or UNKNOWN if there is no such type or modifier. */
enum ptx_type ptx_type_find(struct ptx_str part);
enum ptx_mod ptx_mod_find(struct ptx_str part);

/* ---- form.c ------------------------------------------------------------- */

struct ptx_forms;

struct ptx_forms *ptx_forms_new(struct base_arena *arena);
/* The form of a spelling, decoded on its first use (the text is copied then). About 20 ns when it
 * is known already. Never NULL; an unknown spelling has PTX_EFF_UNKNOWN. Forms are not const in
 * memory: the parser counts in them. */
const struct ptx_form *ptx_forms_intern(struct ptx_forms *forms, struct ptx_str text);

#endif
