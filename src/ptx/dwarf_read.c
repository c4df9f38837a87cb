/*
 * dwarf_read.c - the sections and entries of the DWARF in a PTX text (dwarf_impl.h).
 *
 * PTX carries DWARF as lists of numbers and label names in .section blocks. A section is read into
 * bytes, with the names apart (libdw requires an object file and there is none, so only its
 * constants are used).
 *
 * Costs: linear in the sections; an entry costs a search of its unit's abbreviations.
 */
#include "ptx/dwarf_impl.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* ---- sections ------------------------------------------------------------------------ */

static bool is_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
	       c == '_' || c == '$' || c == '.' || c == '%';
}

static void put_number(struct dwarf_section *s, uint64_t v, unsigned bytes)
{
	unsigned char le[8];

	for (unsigned i = 0; i < 8; i++)
		le[i] = (unsigned char)(v >> (8 * i));
	base_buf_put(&s->bytes, le, bytes);
}

/* One element of a list after .b8 to .b64: a number, or name[+number]. */
static const char *read_element(struct dwarf_section *s, const char *p, const char *end,
				unsigned bytes)
{
	char *next;

	if ((*p >= '0' && *p <= '9') || *p == '-') {
		put_number(s, (uint64_t)strtoll(p, &next, 0), bytes);
		return next;
	}
	const char *from = p;
	while (p < end && is_name(*p))
		p++;
	struct dwarf_reloc r = {.at = s->bytes.n, .sym = {from, (uint32_t)(p - from)}};
	if (p < end && *p == '+') {
		r.off = strtoull(p + 1, &next, 0);
		p = next;
	}
	base_vec_push(&s->relocs, r);
	put_number(s, r.off, bytes);
	return p > from ? p : p + 1;
}

void dwarf_read_section(struct dwarf_section *s, struct ptx_str text)
{
	const char *p = memchr(text.p, '{', text.n), *end = text.p + text.n;
	unsigned bytes = 0;

	while (p && p < end) {
		if (end - p > 3 && p[0] == '.' && p[1] == 'b' && p[2] >= '1' && p[2] <= '8') {
			bytes = (unsigned)strtoul(p + 2, NULL, 10) / 8;
			for (p += 2; p < end && *p >= '0' && *p <= '9';)
				p++;
		} else if (*p == '\n') {
			bytes = 0;
			p++;
		} else if (bytes && bytes <= 8 && (is_name(*p) || *p == '-')) {
			p = read_element(s, p, end, bytes);
		} else {
			p++;
		}
	}
}

bool dwarf_is_section(struct ptx_str text, const char *name)
{
	const char *p = text.p + sizeof(".section") - 1, *end = text.p + text.n;
	size_t n = strlen(name);

	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p + n < end && !memcmp(p, name, n) && !is_name(p[n]);
}

const struct dwarf_reloc *dwarf_reloc_at(const struct dwarf_section *s, size_t at)
{
	size_t lo = 0, hi = s->relocs.n;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;
		if (s->relocs.v[mid].at < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < s->relocs.n && s->relocs.v[lo].at == at ? &s->relocs.v[lo] : NULL;
}

uint64_t dwarf_fixed(struct dwarf_reader *r, const struct dwarf_section *s, size_t *at,
		     unsigned bytes)
{
	uint64_t v = 0;

	if (*at + bytes > s->bytes.n || *at + bytes < *at) {
		r->is_bad = true;
		return 0;
	}
	for (unsigned i = 0; i < bytes && i < 8; i++)
		v |= (uint64_t)(unsigned char)s->bytes.p[*at + i] << (8 * i);
	*at += bytes;
	return v;
}

uint64_t dwarf_leb(struct dwarf_reader *r, const struct dwarf_section *s, size_t *at)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint64_t b = dwarf_fixed(r, s, at, 1);
		v |= shift < 64 ? (b & 127) << shift : 0;
		if (!(b & 128) || r->is_bad)
			return v;
	}
}

/* ---- the tree ------------------------------------------------------------------------- */

static void read_text(struct dwarf_reader *r, struct dwarf_attr *a)
{
	const char *p = r->info.bytes.p + r->at;
	size_t left = r->info.bytes.n - r->at, n = strnlen(p, left);

	a->p = (const unsigned char *)p;
	a->is_string = true;
	r->is_bad |= n == left;
	r->at += n + 1;
}

static void read_block(struct dwarf_reader *r, struct dwarf_attr *a, uint64_t n)
{
	a->value = r->at;
	a->nblock = n;
	a->is_block = true;
	if (n > r->info.bytes.n - r->at)
		r->is_bad = true;
	else
		r->at += n;
}

static void read_form(struct dwarf_reader *r, uint32_t form, struct dwarf_attr *a)
{
	const struct dwarf_reloc *sym = dwarf_reloc_at(&r->info, r->at);
	const struct dwarf_section *s = &r->info;

	a->is_there = true;
	if (sym)
		a->sym = sym->sym;
	switch (form) {
	case DW_FORM_addr:
		a->value = dwarf_fixed(r, s, &r->at, r->address);
		return;
	case DW_FORM_string:
		read_text(r, a);
		return;
	case DW_FORM_strp: {
		uint64_t off = dwarf_fixed(r, s, &r->at, 4);
		struct ptx_str t = ptx_debug_string(r->m, sym ? sym->sym : PTX_STR(".debug_str"),
						    (uint32_t)off);
		a->p = (const unsigned char *)t.p;
		a->is_string = true;
		return;
	}
	case DW_FORM_block1:
		read_block(r, a, dwarf_fixed(r, s, &r->at, 1));
		return;
	case DW_FORM_block2:
		read_block(r, a, dwarf_fixed(r, s, &r->at, 2));
		return;
	case DW_FORM_block4:
		read_block(r, a, dwarf_fixed(r, s, &r->at, 4));
		return;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		read_block(r, a, dwarf_leb(r, s, &r->at));
		return;
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
		a->value = dwarf_fixed(r, s, &r->at, 1);
		return;
	case DW_FORM_data2:
	case DW_FORM_ref2:
		a->value = dwarf_fixed(r, s, &r->at, 2);
		return;
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_sec_offset:
		a->value = dwarf_fixed(r, s, &r->at, 4);
		return;
	case DW_FORM_data8:
	case DW_FORM_ref8:
		a->value = dwarf_fixed(r, s, &r->at, 8);
		return;
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
		a->value = dwarf_leb(r, s, &r->at);
		return;
	case DW_FORM_flag_present:
		return;
	default:
		r->is_bad = true;
	}
}

static struct dwarf_attr *slot_of(struct dwarf_die *d, uint64_t name, struct dwarf_attr *none)
{
	switch (name) {
	case DW_AT_name:
		return &d->name;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return &d->linkage;
	case DW_AT_location:
		return &d->location;
	case DW_AT_type:
		return &d->type;
	case DW_AT_low_pc:
		return &d->low;
	case DW_AT_high_pc:
		return &d->high;
	case DW_AT_byte_size:
		return &d->bytes;
	case DW_AT_encoding:
		return &d->encoding;
	case DW_AT_data_member_location:
		return &d->member;
	case DW_AT_bit_size:
		return &d->bit_size;
	case DW_AT_count:
		return &d->count;
	default:
		return none;
	}
}

bool dwarf_read_die(struct dwarf_reader *r, struct dwarf_die *d)
{
	uint64_t code = dwarf_leb(r, &r->info, &r->at), found;
	size_t at = r->abbrevs;

	memset(d, 0, sizeof(*d));
	if (!code || r->is_bad)
		return false;
	for (;;) {
		found = dwarf_leb(r, &r->abbrev, &at);
		if (!found || r->is_bad) {
			r->is_bad = true;
			return false;
		}
		d->tag = (uint32_t)dwarf_leb(r, &r->abbrev, &at);
		d->has_children = dwarf_fixed(r, &r->abbrev, &at, 1);
		for (;;) {
			uint64_t name = dwarf_leb(r, &r->abbrev, &at),
				 form = dwarf_leb(r, &r->abbrev, &at);
			struct dwarf_attr ignored = {0}, *a = slot_of(d, name, &ignored);
			if ((!name && !form) || r->is_bad)
				break;
			if (found == code)
				read_form(r, (uint32_t)form, a);
		}
		if (found == code)
			return !r->is_bad;
	}
}
