/*
 * pattern.h - private to src/ptx: the patterns of isa_forms.def, which say how a form is spelled.
 *
 * A pattern is read as the manual's syntax lines are:
 *
 *   .word      that word        {a|b}   one of them, or none
 *   (a|b)      one of them      $name   a SET of isa_forms.def, as if it stood in parentheses
 *
 * A pattern whose first characters are none of these begins with the opcode's own words; otherwise
 * these are implied.
 */
#ifndef COLLIDER_PTX_PATTERN_H
#define COLLIDER_PTX_PATTERN_H

#include "ptx/ptx.h"

/* One FORM row. */
struct ptx_form_row {
	uint16_t op;
	uint8_t version;      /* first PTX version, times ten */
	const char *targets;  /* as isa_forms.def explains */
	const char *pattern;  /* what the form's words are */
	const char *operands; /* what the tests write after it */
};

/* All rows, in the table's order; *n of them. */
const struct ptx_form_row *ptx_form_rows(unsigned *n);

/* How many spellings a row has, the opcode's words included; at most UINT32_MAX. */
uint64_t ptx_row_count(const struct ptx_form_row *row);
/* Appends spelling number k of them. */
void ptx_row_spell(const struct ptx_form_row *row, uint64_t k, struct base_buf *out);
/* Is `text` one of them? */
bool ptx_row_has(const struct ptx_form_row *row, struct ptx_str text);
/* Does a target of that name and a .version (times ten) have the row's form, spelled so? */
bool ptx_row_fits(const struct ptx_form_row *row, struct ptx_str text, unsigned sm, char suffix,
		  unsigned version);

#endif
