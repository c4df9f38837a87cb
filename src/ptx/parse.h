/*
 * parse.h - what the files of the parser share (private to src/ptx).
 *
 * names.c keeps what every identifier means at this point of the text;
 * operand.c, body.c, decl.c and parser.c are the grammar, from the inside out.
 * A parse function that returns false has reported its error; the caller then
 * recovers at the next ';'.
 */
#ifndef COLLIDER_PTX_PARSE_H
#define COLLIDER_PTX_PARSE_H

#include "ptx/lexer.h"
#include "ptx/ptx.h"

/* uthash with our hash and comparison: names are short. */
#define HASH_KEYCMP(a, b, n)	       (!ptx_mem_eq((const char *)(a), (const char *)(b), (n)))
#define HASH_FUNCTION(key, len, hashv) ((hashv) = ptx_hash((key), (len)))
#include <string.h>

static inline unsigned ptx_hash(const void *key, size_t len)
{
	const char *p = key;
	uint64_t h = len * 0x9e3779b97f4a7c15ull, w;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = (h ^ w) * 0x9fb21c651e98df25ull;
		h ^= h >> 32;
	}
	if (len) {
		w = 0;
		memcpy(&w, p, len);
		h = (h ^ w) * 0x9fb21c651e98df25ull;
		h ^= h >> 32;
	}
	return (unsigned)(h ^ h >> 17);
}

/* Tables live as long as the module's arena; a function that adds to one names that arena
 * hash_arena. */
#define uthash_malloc(size)  base_alloc(hash_arena, (size))
#define uthash_free(p, size) ((void)0)
#include <uthash.h>

#define PTX_MAX_NESTING	  64	     /* scopes */
#define PTX_MAX_OPERANDS  255	     /* of one instruction */
#define PTX_MAX_OPND_NEST 6	     /* brackets in one operand */
#define PTX_MAX_REGS	  (1u << 24) /* of one function */
#define PTX_MAX_ALL_REGS  (1u << 26) /* of all functions together */
#define PTX_FORM_CACHE	  512
#define PTX_FAMILY_SLOTS  64

enum ptx_sym_kind { PTX_SYM_REG, PTX_SYM_VAR, PTX_SYM_OTHER };

/* What a name stands for in one scope; the newest first. */
struct ptx_sym {
	struct ptx_sym *outer;
	enum ptx_sym_kind kind;
	uint32_t depth;
	union {
		uint32_t reg;
		struct ptx_var *var;
	};
};

struct ptx_labsym {
	struct ptx_labsym *outer;
	struct ptx_label *label;
	uint32_t depth;
};

struct ptx_name {
	struct ptx_str text;
	struct ptx_sym *sym;
	struct ptx_labsym *label;
	UT_hash_handle hh;
};

/* A register family in scope: prefix<count>. */
struct ptx_family {
	struct ptx_family *outer; /* next of the same slot, older */
	struct ptx_str prefix;
	uint64_t key; /* of ptx_family_key; 0: prefix too long for one */
	uint32_t first, count;
	uint32_t depth;
	bool is_shadowed; /* a single name declared later has this prefix and digits */
};

struct ptx_undo {
	struct ptx_name *name; /* NULL: a family */
	bool is_label;
	uint32_t slot;
};

/* A symbol that may be a label further down. */
struct ptx_pending {
	struct ptx_opnd *o;
	struct ptx_name *name;
	uint32_t line, col;
	bool must; /* a branch target: undefined is an error */
};

struct ptx_block {
	size_t undo, pending;
	uint32_t line, col;
};

struct ptx_parser {
	struct ptx_lex l;
	struct ptx_module *m;
	struct base_arena *a;
	struct base_sink *sink;
	struct ptx_func *f; /* the current function */
	const struct ptx_loc *loc;
	const char *file;
	bool is_fragment; /* $name is a hole */
	bool is_flow;	  /* the current instruction may name labels */
	uint32_t depth;	  /* 0: module */
	uint32_t all_regs;
	struct ptx_name *names;
	struct ptx_family *families[PTX_FAMILY_SLOTS];
	struct ptx_block scopes[PTX_MAX_NESTING + 2];
	BASE_VEC(struct ptx_undo) undo;
	BASE_VEC(struct ptx_pending) pending;
	BASE_VEC(struct ptx_opnd) ops; /* operands of the current instruction, a stack */
	struct ptx_form *forms[PTX_FORM_CACHE];
};

/* ---- names.c ---- */

/* The first bytes of a prefix as a number: equal keys are equal prefixes. */
static inline uint64_t ptx_family_key(const char *p, size_t n)
{
	/* the caller makes sure that 8 bytes can be read */
	return (ptx_load64(p) & (~0ull >> (64 - 8 * n))) | (uint64_t)n << 56;
}

#define PTX_KEY_PREFIX 7 /* longest prefix with a key */
static inline unsigned ptx_key_slot(uint64_t key)
{
	return (unsigned)(key * 0x9fb21c651e98df25ull >> 58) % PTX_FAMILY_SLOTS;
}

struct ptx_name *ptx_name_get(struct ptx_parser *ps, struct ptx_str text);
bool ptx_scope_open(struct ptx_parser *ps);
/* Ends the innermost scope: resolves its labels, forgets its names. */
void ptx_scope_close(struct ptx_parser *ps);
void ptx_declare_var(struct ptx_parser *ps, struct ptx_var *v);
/* A name that is no register and no variable with a ptx_var: parameters, functions. */
void ptx_declare_other(struct ptx_parser *ps, struct ptx_str name);
/* Numbers the registers of d and declares their names. False: too many. */
bool ptx_declare_regs(struct ptx_parser *ps, struct ptx_regdecl *d);
struct ptx_label *ptx_define_label(struct ptx_parser *ps, struct ptx_str name, struct base_span at);
/* The register `text` names, or PTX_NO_REG; *name gets its entry unless a family has it. */
uint32_t ptx_find_reg(struct ptx_parser *ps, struct ptx_str text, struct ptx_name **name);
/* Is text "%r99" where a family "%r" is in scope? Surely an undeclared register then. */
bool ptx_is_beyond_family(struct ptx_parser *ps, struct ptx_str text);
void ptx_names_free(struct ptx_parser *ps);

/* ---- edit.c ---- */

struct ptx_regnames {
	struct base_arena *arena;
	struct ptx_regdecl **decls; /* by first register */
	uint32_t n, cap;
	struct ptx_str *cache; /* by register, filled on demand */
	uint32_t cache_cap;
	uint32_t declared; /* decls before this one have a .reg statement */
};

void ptx_regnames_add(struct ptx_module *m, struct ptx_func *f, struct ptx_regdecl *d);
/* Room for n more registers in reg_type, and their numbers: returns the first. */
uint32_t ptx_regs_room(struct base_arena *a, struct ptx_func *f, uint32_t n, enum ptx_type t);

/* ---- operand.c ---- */

bool ptx_parse_error(struct ptx_parser *ps, const char *expected);
/* Operands up to the ';', which is taken; they are left on ps->ops from `base` on. */
bool ptx_parse_operands(struct ptx_parser *ps);
bool ptx_is_hole(const struct ptx_parser *ps, struct ptx_str name);

/* ---- decl.c ---- */

/* Parses ".space ... name[dims] = init, ...;" and calls emit for each declared variable. */
bool ptx_parse_vars(struct ptx_parser *ps, unsigned linkage, const char *start,
		    void (*emit)(struct ptx_parser *ps, struct ptx_var *v));
bool ptx_is_var_space(struct ptx_str word);
/* .func and .entry, whose word has been consumed: head and body. */
bool ptx_parse_func(struct ptx_parser *ps, unsigned linkage, bool is_entry, const char *start);

/* ---- body.c ---- */

/* Statements up to the '}' that closes the function's body, or (fragment) to the end. */
bool ptx_parse_body(struct ptx_parser *ps);
/* .loc, whose word has been consumed. */
struct ptx_loc *ptx_parse_loc(struct ptx_parser *ps, const char *start);

/* ---- parser.c ---- */

/*
 * Parses body statements (instructions, labels, .reg declarations) into scratch's statement list.
 * An operand $name becomes PTX_OPND_HOLE with that text, unless it starts with "$L_"; "$name:" is a
 * label; @$name leaves pred at PTX_NO_REG and sets pred_text. Text is copied.
 */
bool ptx_parse_fragment(struct ptx_module *m, struct ptx_func *scratch, const char *name,
			const char *text, size_t n, struct base_sink *sink);

/* ---- forms.h's part that the parser needs ---- */
#include "ptx/forms.h"

#endif
