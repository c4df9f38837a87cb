/*
 * dwarf_impl.h - private to src/ptx: the sections and entries that dwarf_read.c reads, for dwarf.c.
 */
#ifndef COLLIDER_PTX_DWARF_IMPL_H
#define COLLIDER_PTX_DWARF_IMPL_H

#include "ptx/debug.h"

/* A name that stands for a number: at byte `at` of its section. */
struct dwarf_reloc {
	size_t at;
	struct ptx_str sym;
	uint64_t off;
};

struct dwarf_section {
	struct base_buf bytes;
	BASE_VEC(struct dwarf_reloc) relocs;
};

struct dwarf_attr {
	uint32_t name;
	uint64_t value;		/* a number, or where a block lies: its bytes may contain names */
	uint64_t nblock;	/* bytes of a block */
	const unsigned char *p; /* of a string */
	struct ptx_str sym;	/* a name in its place */
	bool is_block, is_string, is_there;
};

struct dwarf_die {
	uint32_t tag;
	bool has_children;
	struct dwarf_attr name, linkage, location, type, low, high, bytes, encoding, member, count,
		bit_size;
};

struct dwarf_reader {
	struct ptx_module *m;
	const struct ptx_func *f;
	struct dwarf_section info, abbrev, loc;
	size_t at, unit; /* in info; where its unit begins */
	size_t abbrevs;	 /* of the unit */
	unsigned version, address;
	bool is_bad;
	BASE_VEC(struct ptx_debug_var) vars;
};

/* The bytes and names of a .section block; is its name that? */
void dwarf_read_section(struct dwarf_section *s, struct ptx_str text);
bool dwarf_is_section(struct ptx_str text, const char *name);
/* The name that stands at a byte, or NULL. */
const struct dwarf_reloc *dwarf_reloc_at(const struct dwarf_section *s, size_t at);
/* Numbers at *at, which moves on: of so many bytes; as LEB128. Past the end r->is_bad is set. */
uint64_t dwarf_fixed(struct dwarf_reader *r, const struct dwarf_section *s, size_t *at,
		     unsigned bytes);
uint64_t dwarf_leb(struct dwarf_reader *r, const struct dwarf_section *s, size_t *at);
/* The entry at r->at. False: the end of a list of children. */
bool dwarf_read_die(struct dwarf_reader *r, struct dwarf_die *d);

#endif
