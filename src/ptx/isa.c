/*
 * isa.c - the rows of isa.def, mods.def and types.def as arrays, and look-up by name.
 *
 * Look-ups are linear over the rows with a length and first-letter test before
 * the compare: about half a microsecond each, done once per distinct spelling of a
 * module (form.c remembers), so a hash or a sorted copy would make no measurable difference.
 *
 * A user's modifier is known or unknown by its name alone; whether it is legal on its opcode is
 * left to ptxas (our own forms are held to isa_forms.def, pattern.c). A modifier with a new meaning
 * on an old opcode is therefore not noticed.
 */
#include "ptx/ptx.h"
#include "ptx/forms.h"

#include <limits.h>
#include <string.h>

/* Effect names as isa.def spells them. */
enum {
	READ = PTX_EFF_READ,
	WRITE = PTX_EFF_WRITE,
	ATOMIC = PTX_EFF_ATOMIC,
	BARRIER = PTX_EFF_BARRIER,
	FENCE = PTX_EFF_FENCE,
	CONVERGENT = PTX_EFF_CONVERGENT,
	BRANCH = PTX_EFF_BRANCH,
	CALL = PTX_EFF_CALL,
	EXIT = PTX_EFF_EXIT,
	ASYNC = PTX_EFF_ASYNC,
	WAIT = PTX_EFF_WAIT,
	WARP_SYNC = PTX_EFF_WARP_SYNC,
	COLLECTIVE_MEM = PTX_EFF_COLLECTIVE_MEM,
	SLEEP = PTX_EFF_SLEEP,
	PREFETCH = PTX_EFF_PREFETCH,
	DISCARD = PTX_EFF_DISCARD,
	SIDE = PTX_EFF_SIDE
};

static const struct ptx_op_info ops[] = {
	{"?", "?DS*", PTX_EFF_UNKNOWN, 0, 0, 0, 0, 0, 0, ""},
#define OP(id, spelling, effects, roles, space, sem, scope, proxy, version, sm, section)           \
	{spelling,                                                                                 \
	 roles,                                                                                    \
	 effects,                                                                                  \
	 PTX_SPACE_##space,                                                                        \
	 PTX_SEM_##sem,                                                                            \
	 PTX_SCOPE_##scope,                                                                        \
	 PTX_PROXY_##proxy,                                                                        \
	 version,                                                                                  \
	 sm,                                                                                       \
	 section},
#include "ptx/isa.def"
#undef OP
};
_Static_assert(BASE_COUNTOF(ops) == PTX_OP_COUNT, "one row per opcode");
_Static_assert(PTX_OP_COUNT < UINT16_MAX && PTX_MOD_COUNT < UINT16_MAX, "mods[] holds 16 bits");
_Static_assert(PTX_TYPE_COUNT < UINT8_MAX, "types[] holds 8 bits");

/* Every spelling with its opcode: rows first, then aliases. */
static const struct {
	const char *name;
	uint8_t len;
	uint16_t op;
} spellings[] = {
#define OP(id, spelling, ...) {spelling, sizeof(spelling) - 1, PTX_OP_##id},
#define ALIAS(id, spelling)   {spelling, sizeof(spelling) - 1, PTX_OP_##id},
#include "ptx/isa.def"
#undef OP
};
_Static_assert(BASE_COUNTOF(spellings) >= PTX_OP_COUNT - 1, "aliases come on top");

#define OP(id, spelling, effects, roles, ...)                                                      \
	_Static_assert(sizeof(roles) - 1 <= PTX_MAX_ROLES + 1, "too many roles: " spelling);
#include "ptx/isa.def"
#undef OP

static const struct ptx_mod_info mods[] = {
	{"?", 0, PTX_MODC_OTHER, 0},
#define MOD(id, name, cls, value) {&("." name)[1], sizeof(name) - 1, PTX_MODC_##cls, value},
#include "ptx/mods.def"
#undef MOD
};
_Static_assert(BASE_COUNTOF(mods) == PTX_MOD_COUNT, "one row per modifier");

static const struct {
	const char *name;
	uint8_t len, bytes, cls;
} types[] = {
	{"", 0, 0, PTX_CLASS_NONE},
#define TYPE(id, name, bytes, cls) {name, sizeof(name) - 1, bytes, PTX_CLASS_##cls},
#include "ptx/types.def"
#undef TYPE
};
_Static_assert(BASE_COUNTOF(types) == PTX_TYPE_COUNT, "one row per type");

/* Whether `part` is a shape: numbers joined by the letters of m16n8k16, m8n8, 32x32b, 16x32bx2. */
static bool is_shape(struct ptx_str part)
{
	uint32_t i = 0, letters = 0, digits = 0;

	if (part.n < 3)
		return false;
	if (part.p[0] == 'm') {
		while (i < part.n && letters < 3 && part.p[i] == "mnk"[letters]) {
			uint32_t from = ++i;
			while (i < part.n && part.p[i] >= '0' && part.p[i] <= '9')
				i++;
			if (i == from)
				return false;
			letters++;
		}
		return i == part.n && letters >= 2;
	}
	while (i < part.n && part.p[i] >= '0' && part.p[i] <= '9')
		i++, digits++;
	if (!digits || i == part.n || part.p[i++] != 'x')
		return false;
	uint32_t from = i;
	while (i < part.n && part.p[i] >= '0' && part.p[i] <= '9')
		i++;
	if (i == from || i == part.n || part.p[i++] != 'b')
		return false;
	return i == part.n || (part.n - i == 2 && part.p[i] == 'x' && part.p[i + 1] == '2');
}

static bool has_word(struct ptx_str text, struct ptx_str word)
{
	for (uint32_t i = 0; i + word.n <= text.n; i++) {
		bool is_start = i == 0 || text.p[i - 1] == '.';
		bool is_end = i + word.n == text.n || text.p[i + word.n] == '.';
		if (is_start && is_end && memcmp(text.p + i, word.p, word.n) == 0)
			return true;
	}
	return false;
}

static uint32_t count_words(const char *name)
{
	uint32_t n = 1;

	for (; *name; name++)
		n += *name == '.';
	return n;
}

/* Whether `text` starts with the first word of `name` and holds all others, in any order. */
static bool has_words(struct ptx_str text, const char *name)
{
	size_t n = strcspn(name, ".");

	if (n > text.n || memcmp(text.p, name, n) != 0 || (n < text.n && text.p[n] != '.'))
		return false;
	while (name[n]) {
		const char *word = name + n + 1;
		size_t len = strcspn(word, ".");
		if (!has_word(text, (struct ptx_str){word, (uint32_t)len}))
			return false;
		n += len + 1;
	}
	return true;
}

/* ---- public ------------------------------------------------------------- */

const struct ptx_op_info *ptx_op_info(enum ptx_op op)
{
	return &ops[(unsigned)op < PTX_OP_COUNT ? op : PTX_OP_UNKNOWN];
}

const struct ptx_mod_info *ptx_mod_info(enum ptx_mod m)
{
	return &mods[(unsigned)m < PTX_MOD_COUNT ? m : PTX_MOD_UNKNOWN];
}

void ptx_op_arity(enum ptx_op op, unsigned *min, unsigned *max)
{
	bool is_optional = false;

	*min = *max = 0;
	for (const char *r = ptx_op_info(op)->roles; *r; r++) {
		if (*r == '?') {
			is_optional = true;
		} else if (*r == '*') {
			*max = UINT_MAX;
		} else {
			*min += !is_optional;
			*max += 1;
		}
	}
}

enum ptx_op ptx_op_find(struct ptx_str text)
{
	enum ptx_op best = PTX_OP_UNKNOWN;
	uint32_t best_len = 0, best_words = 0;

	for (size_t i = 0; i < BASE_COUNTOF(spellings); i++) {
		uint32_t n = spellings[i].len;
		if (n <= best_len || n > text.n || spellings[i].name[0] != text.p[0])
			continue;
		if (n < text.n && text.p[n] != '.')
			continue;
		if (memcmp(spellings[i].name, text.p, n) != 0)
			continue;
		best = (enum ptx_op)spellings[i].op;
		best_len = n;
		best_words = count_words(spellings[i].name);
	}
	for (size_t i = 0; i < BASE_COUNTOF(spellings); i++) {
		uint32_t words = count_words(spellings[i].name);
		if (words <= best_words || !has_words(text, spellings[i].name))
			continue;
		best = (enum ptx_op)spellings[i].op;
		best_words = words;
	}
	return best;
}

enum ptx_type ptx_type_find(struct ptx_str part)
{
	for (unsigned i = 1; i < PTX_TYPE_COUNT; i++)
		if (types[i].len == part.n && memcmp(types[i].name, part.p, part.n) == 0)
			return (enum ptx_type)i;
	return PTX_TYPE_NONE;
}

enum ptx_mod ptx_mod_find(struct ptx_str part)
{
	if (!part.n)
		return PTX_MOD_UNKNOWN;
	for (unsigned i = 1; i < PTX_MOD_COUNT; i++)
		if (mods[i].len == part.n && memcmp(mods[i].name, part.p, part.n) == 0)
			return (enum ptx_mod)i;
	return is_shape(part) ? PTX_MOD_SHAPE : PTX_MOD_UNKNOWN;
}

const char *ptx_op_name(enum ptx_op op)
{
	return ptx_op_info(op)->name;
}

const char *ptx_mod_name(enum ptx_mod m)
{
	return ptx_mod_info(m)->name;
}

struct ptx_str ptx_mod_suffix(enum ptx_mod m)
{
	const struct ptx_mod_info *info = ptx_mod_info(m);

	/* Each name but the first row's is preceded by a dot. */
	return m == PTX_MOD_UNKNOWN ? (struct ptx_str){"", 0}
				    : (struct ptx_str){info->name - 1, info->len + 1u};
}

unsigned ptx_type_bytes(enum ptx_type t)
{
	return (unsigned)t < PTX_TYPE_COUNT ? types[t].bytes : 0;
}

enum ptx_type_class ptx_type_class(enum ptx_type t)
{
	return (unsigned)t < PTX_TYPE_COUNT ? (enum ptx_type_class)types[t].cls : PTX_CLASS_NONE;
}

const char *ptx_type_name(enum ptx_type t)
{
	return (unsigned)t < PTX_TYPE_COUNT ? types[t].name : "";
}

bool ptx_str_eq(struct ptx_str a, struct ptx_str b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

bool ptx_str_is(struct ptx_str a, const char *s)
{
	return strlen(s) == a.n && (a.n == 0 || memcmp(a.p, s, a.n) == 0);
}
