/*
 * form.c - decodes the dotted spelling of an instruction once, and interns it.
 *
 * "ld.global.nc.v4.f32" is split at its dots; the opcode's row in isa.def gives
 * the defaults, and each modifier sets the field of its class (mods.def). The
 * rules of the memory chapter (PTX ISA 8) that depend on more than one part
 * are in settle_memory.
 *
 * Misses: more than PTX_MAX_TYPES types or PTX_MAX_MODS modifiers are not
 * recorded one by one (the text keeps them); only block-scaled mma has five types.
 * Costs: 2 to 5 us per new spelling; one hash of the spelling and one compare
 * for a known one.
 */
#include "ptx/ptx.h"
#include "ptx/forms.h"

#include <stdio.h>
#include <string.h>

/* Spellings are short: a multiply per eight bytes, with overlapping words at the end instead of a
 * loop over the rest. */
static inline unsigned spelling_hash(const char *p, size_t n)
{
	uint64_t h = (uint64_t)n * 0x9e3779b97f4a7c15ull, w = 0;
	uint32_t head, tail;

	if (n >= 8) {
		for (size_t i = 0; i + 8 < n; i += 8) {
			memcpy(&w, p + i, 8);
			h = (h ^ w) * 0x9fb21c651e98df25ull;
			h ^= h >> 32;
		}
		memcpy(&w, p + n - 8, 8);
	} else if (n >= 4) {
		memcpy(&head, p, 4);
		memcpy(&tail, p + n - 4, 4);
		w = (uint64_t)head << 32 | tail;
	} else if (n > 0) {
		w = (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
		    (unsigned char)p[n - 1];
	}
	h = (h ^ w) * 0x9fb21c651e98df25ull;
	return (unsigned)(h ^ h >> 32);
}

/* Whether n bytes are equal; n is seldom above 32, so a call of memcmp would cost more. */
static inline bool is_same(const char *a, const char *b, size_t n)
{
	uint64_t x, y;

	if (n < 8)
		return memcmp(a, b, n) == 0;
	for (size_t i = 0; i + 8 < n; i += 8) {
		memcpy(&x, a + i, 8);
		memcpy(&y, b + i, 8);
		if (x != y)
			return false;
	}
	memcpy(&x, a + n - 8, 8);
	memcpy(&y, b + n - 8, 8);
	return x == y;
}

/* The table's own memory comes from the module's arena and is freed with it; each function that
 * changes the table has `forms` in scope. */
#define HASH_FUNCTION(key, len, hash) (hash) = spelling_hash((key), (len))
#define uthash_malloc(size)	      base_alloc(forms->arena, (size))
#define uthash_free(p, size)	      ((void)(p))
#include <uthash.h>

#define RECENT 1024

struct entry {
	struct ptx_form form;
	struct entry *next; /* in the order of first use */
	UT_hash_handle hh;
};

struct ptx_forms {
	struct base_arena *arena;
	struct entry *table;
	struct entry *first, **tail;
	/* The last form found for each low part of the hash. A module has some hundred forms, so
	 * nearly every look-up ends here, in one compare. */
	struct {
		unsigned hash;
		uint32_t len;
		const struct entry *entry;
	} recent[RECENT];
};

static enum ptx_role role_of_letter(char c, const struct ptx_form *f)
{
	switch (c) {
	case 'D':
	case 'd':
	case 'Q':
		return PTX_ROLE_DST;
	case 'S':
		return PTX_ROLE_SRC;
	case 'X':
		return PTX_ROLE_INOUT;
	case 'A':
		return PTX_ROLE_ADDR;
	case 'R':
		return PTX_ROLE_ADDR_R;
	case 'W':
		return PTX_ROLE_ADDR_W;
	case 'M':
		return PTX_ROLE_MBAR;
	case 'm':
		return ptx_form_has(f, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES) ? PTX_ROLE_MBAR
									   : PTX_ROLE_SRC;
	case 'L':
		return PTX_ROLE_LABEL;
	case 'P':
		return PTX_ROLE_PARAMS;
	default:
		return PTX_ROLE_NONE;
	}
}

/* The modifiers that decide a field; the rest is only recorded. */
static void apply_mod(struct ptx_form *f, enum ptx_mod m, unsigned *nspaces)
{
	const struct ptx_mod_info *info = ptx_mod_info(m);

	switch ((enum ptx_mod_class)info->cls) {
	case PTX_MODC_SPACE:
		if ((*nspaces)++ == 0)
			f->space = info->value;
		else
			f->space2 = info->value;
		break;
	case PTX_MODC_SEM:
		/* ld.mmio.relaxed.sys: mmio stays. */
		if (f->sem != PTX_SEM_MMIO)
			f->sem = info->value;
		break;
	case PTX_MODC_SCOPE:
		f->scope = info->value;
		break;
	case PTX_MODC_PROXY:
		f->proxy = info->value;
		break;
	case PTX_MODC_VEC:
		f->vec = info->value;
		break;
	default:
		break;
	}
}

static void add_part(struct ptx_form *f, struct ptx_str part, unsigned *nspaces)
{
	enum ptx_type t = ptx_type_find(part);

	if (t != PTX_TYPE_NONE) {
		if (f->ntypes < PTX_MAX_TYPES)
			f->types[f->ntypes++] = (uint8_t)t;
		return;
	}
	enum ptx_mod m = ptx_mod_find(part);
	if (m == PTX_MOD_UNKNOWN)
		f->has_unknown_mod = true;
	if (f->nmods < PTX_MAX_MODS)
		f->mods[f->nmods++] = (uint16_t)m;
	apply_mod(f, m, nspaces);
}

/* What follows from several parts together. PTX ISA 8.3, 9.7.9.8 (ld), 9.7.13 (fences). */
static void settle_memory(struct ptx_form *f)
{
	if (f->op == PTX_OP_LD && ptx_form_has(f, PTX_MOD_NC)) {
		f->effects |= PTX_EFF_NONTEMPORAL;
		f->space = PTX_SPACE_GLOBAL;
	}
	f->explicit_weak = ptx_form_has(f, PTX_MOD_WEAK);
	/* 8.4: a volatile operation is relaxed with system scope, whatever the space. */
	if (f->sem == PTX_SEM_VOLATILE || f->sem == PTX_SEM_MMIO)
		f->scope = PTX_SCOPE_SYS;
	if (f->sem == PTX_SEM_WEAK)
		f->scope = PTX_SCOPE_NONE;
	if (ptx_form_has(f, PTX_MOD_ALIGNED))
		f->effects |= PTX_EFF_CONVERGENT;
	if (f->ntypes && f->space != PTX_SPACE_NONE &&
	    (f->effects & (PTX_EFF_READ | PTX_EFF_WRITE | PTX_EFF_BARRIER)))
		f->width = (uint8_t)ptx_type_bytes((enum ptx_type)f->types[0]);
}

/* Whether `part` is a word of the opcode's name that has not occurred before; `met` has a bit per
 * word. */
static bool is_op_word(const char *name, struct ptx_str part, unsigned *met)
{
	for (unsigned i = 0; *name; i++) {
		size_t n = strcspn(name, ".");
		if (n == part.n && memcmp(name, part.p, n) == 0 && !(*met & 1u << i)) {
			*met |= 1u << i;
			return true;
		}
		name += n + (name[n] == '.');
	}
	return false;
}

static void decode(struct ptx_form *f)
{
	unsigned nspaces = 0, met = 0;

	f->op = ptx_op_find(f->text);
	const struct ptx_op_info *info = ptx_op_info(f->op);
	f->effects = info->effects;
	f->space = info->space;
	f->sem = info->sem;
	f->scope = info->scope;
	f->proxy = info->proxy;
	f->vec = 1;
	for (uint32_t i = 0, from = 0; i <= f->text.n; i++) {
		if (i < f->text.n && f->text.p[i] != '.')
			continue;
		struct ptx_str part = {f->text.p + from, i - from};
		bool is_first = from == 0;
		from = i + 1;
		if (!is_op_word(info->name, part, &met) && !(is_first && !met))
			add_part(f, part, &nspaces);
	}
	settle_memory(f);
	if (f->has_unknown_mod)
		f->effects |= PTX_EFF_UNKNOWN;
	for (const char *r = info->roles; *r; r++)
		if (*r != '?' && *r != '*')
			f->roles[f->nroles++] = (uint8_t)role_of_letter(*r, f);
}

/* ---- public ------------------------------------------------------------- */

bool ptx_form_has(const struct ptx_form *f, enum ptx_mod m)
{
	for (unsigned i = 0; i < f->nmods; i++)
		if (f->mods[i] == m)
			return true;
	return false;
}

struct ptx_forms *ptx_forms_new(struct base_arena *arena)
{
	struct ptx_forms *forms = BASE_NEW(arena, struct ptx_forms);

	forms->arena = arena;
	forms->tail = &forms->first;
	return forms;
}

static struct entry *new_entry(struct ptx_forms *forms, struct ptx_str text, unsigned hash)
{
	struct entry *e = BASE_NEW(forms->arena, struct entry);

	e->form.text =
		(struct ptx_str){base_strndup(forms->arena, text.n ? text.p : "", text.n), text.n};
	decode(&e->form);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, forms->table, e->form.text.p, text.n, hash, e);
	*forms->tail = e;
	forms->tail = &e->next;
	return e;
}

const struct ptx_form *ptx_forms_intern(struct ptx_forms *forms, struct ptx_str text)
{
	unsigned hash = spelling_hash(text.p, text.n), slot = hash % RECENT;
	struct entry *e = NULL;

	if (forms->recent[slot].hash == hash && forms->recent[slot].len == text.n &&
	    forms->recent[slot].entry &&
	    is_same(forms->recent[slot].entry->form.text.p, text.p, text.n))
		return &forms->recent[slot].entry->form;
	HASH_FIND_BYHASHVALUE(hh, forms->table, text.p, text.n, hash, e);
	if (!e)
		e = new_entry(forms, text, hash);
	forms->recent[slot].hash = hash;
	forms->recent[slot].len = text.n;
	forms->recent[slot].entry = e;
	return &e->form;
}

const struct ptx_form *ptx_form_get(struct ptx_module *m, struct ptx_str text)
{
	if (!m->forms)
		m->forms = ptx_forms_new(m->arena);
	return ptx_forms_intern(m->forms, text);
}

const struct ptx_form *ptx_form_of(struct ptx_module *m, enum ptx_op op, enum ptx_type t)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s%s%s", ptx_op_name(op), t ? "." : "",
			 ptx_type_name(t));

	return ptx_form_get(m, (struct ptx_str){text, (uint32_t)n});
}

const struct ptx_form *ptx_form_in_space(struct ptx_module *m, const struct ptx_form *f,
					 enum ptx_space space)
{
	const char *end = f->text.p + f->text.n;
	struct base_buf b = {0};

	for (const char *p = f->text.p, *q; p < end; p = q) {
		const char *dot = memchr(p + 1, '.', (size_t)(end - p - 1));
		q = dot ? dot : end;
		struct ptx_str part = {p + 1, (uint32_t)(q - p - 1)};
		const struct ptx_mod_info *info = ptx_mod_info(*p == '.' ? ptx_mod_find(part) : 0);
		if (info->cls != PTX_MODC_SPACE || info->value != f->space) {
			base_buf_put(&b, p, (size_t)(q - p));
			continue;
		}
		for (unsigned i = 1; i < PTX_MOD_COUNT; i++) {
			info = ptx_mod_info((enum ptx_mod)i);
			if (info->cls != PTX_MODC_SPACE || info->value != space)
				continue;
			base_buf_printf(&b, ".%s", info->name);
			break;
		}
	}
	const struct ptx_form *form = ptx_form_get(m, (struct ptx_str){b.p, (uint32_t)b.n});
	base_buf_free(&b);
	return form;
}
