/*
 * ptx.h - the front header of src/ptx: PTX text in, IR, PTX text out.
 *
 *   ptx_parse (lexer + parser)  ->  struct ptx_module  ->  ptx_print
 *
 * Glossary. A *form* is one full dotted spelling of an instruction
 * ("ld.global.nc.v4.f32") decoded once per module against the ISA table
 * (isa.def) and shared by every instruction with that spelling: what it reads, writes,
 * its space, width, strength, scope. A *statement* is one line of a function
 * body: instruction, label, declaration, directive, brace. A *register* is a
 * small dense number within its function; nested scopes give distinct numbers
 * to equal names.
 *
 * Everything lives in the module's arena and points into the source text or
 * the arena; nothing is freed one by one. Names and texts are (pointer, length)
 * spans, not NUL-terminated.
 *
 * isa.c form.c lexer.c parser.c printer.c edit.c clone.c template.c verify.c, in the order of use;
 * this header groups the prototypes in that order.
 */
#ifndef COLLIDER_PTX_H
#define COLLIDER_PTX_H

#include "base/base.h"

/* ---- text spans ------------------------------------------------------- */

/* Packed to 12 bytes: this keeps an operand at 32 bytes, and memory limits the parser's speed. */
struct __attribute__((packed, aligned(4))) ptx_str {
	const char *p;
	uint32_t n;
};

bool ptx_str_eq(struct ptx_str a, struct ptx_str b);
bool ptx_str_is(struct ptx_str a, const char *s);
#define PTX_STR(lit) ((struct ptx_str){(lit), (uint32_t)sizeof(lit) - 1})

/* ---- isa.c, form.c: what is known about an opcode ----------------------- */

/* One enumerator per row of isa.def: PTX_OP_LD, PTX_OP_ST, ... */
enum ptx_op {
	PTX_OP_UNKNOWN, /* carried through unchanged, unknown effect, counted */
#define OP(id, ...) PTX_OP_##id,
#include "ptx/isa.def"
#undef OP
	PTX_OP_COUNT
};

/* One per row of mods.def (every dotted modifier that is not a type). */
enum ptx_mod {
	PTX_MOD_UNKNOWN, /* spelled in the form's text, meaning unknown */
#define MOD(id, ...) PTX_MOD_##id,
#include "ptx/mods.def"
#undef MOD
	PTX_MOD_COUNT
};

enum ptx_type {
	PTX_TYPE_NONE,
#define TYPE(id, name, bytes, cls) PTX_TYPE_##id,
#include "ptx/types.def"
#undef TYPE
	PTX_TYPE_COUNT
};

enum ptx_type_class {
	PTX_CLASS_NONE,
	PTX_CLASS_BITS,
	PTX_CLASS_UINT,
	PTX_CLASS_SINT,
	PTX_CLASS_FLOAT,
	PTX_CLASS_PRED,
	PTX_CLASS_PACKED,
	PTX_CLASS_OPAQUE
};

unsigned ptx_type_bytes(enum ptx_type t); /* 0 where a size makes no sense; pred: 1 */
enum ptx_type_class ptx_type_class(enum ptx_type t);
const char *ptx_type_name(enum ptx_type t); /* "f32", no dot */

enum ptx_space {
	PTX_SPACE_NONE,	   /* not a memory instruction, or no address */
	PTX_SPACE_GENERIC, /* no space given */
	PTX_SPACE_REG,
	PTX_SPACE_GLOBAL,
	PTX_SPACE_SHARED,	  /* .shared, .shared::cta */
	PTX_SPACE_SHARED_CLUSTER, /* .shared::cluster */
	PTX_SPACE_LOCAL,
	PTX_SPACE_CONST,
	PTX_SPACE_PARAM, /* .param, .param::entry, .param::func */
	PTX_SPACE_TMEM,	 /* tcgen05 tensor memory */
	PTX_SPACE_TEX	 /* through a texture or surface reference */
};

enum ptx_sem {
	PTX_SEM_NONE, /* not a memory or fence instruction */
	PTX_SEM_WEAK, /* no qualifier, .weak, or .cg/.cv/.wt etc. only */
	PTX_SEM_RELAXED,
	PTX_SEM_ACQUIRE,
	PTX_SEM_RELEASE,
	PTX_SEM_ACQ_REL,
	PTX_SEM_SC,
	PTX_SEM_VOLATILE, /* relaxed.sys to the model, a kind of its own to src/race */
	PTX_SEM_MMIO
};

enum ptx_scope { PTX_SCOPE_NONE, PTX_SCOPE_CTA, PTX_SCOPE_CLUSTER, PTX_SCOPE_GPU, PTX_SCOPE_SYS };

enum ptx_proxy { PTX_PROXY_GENERIC, PTX_PROXY_ASYNC, PTX_PROXY_TENSORMAP, PTX_PROXY_TEX };

/* Effect bits: what a pass queries instead of switching over opcodes. */
/* clang-format off */
enum {
	PTX_EFF_READ = 1 << 0,        /* reads memory at its address operand(s) */
	PTX_EFF_WRITE = 1 << 1,       /* writes memory */
	PTX_EFF_ATOMIC = 1 << 2,      /* read-modify-write, or a reduction */
	PTX_EFF_BARRIER = 1 << 3,     /* CTA or cluster barrier, mbarrier: orders memory */
	PTX_EFF_FENCE = 1 << 4,       /* fence, membar, proxy fence */
	PTX_EFF_CONVERGENT = 1 << 5,  /* needs named lanes together: shfl, vote, mma */
	PTX_EFF_BRANCH = 1 << 6,      /* bra, brx.idx */
	PTX_EFF_CALL = 1 << 7,
	PTX_EFF_EXIT = 1 << 8,        /* ret, exit, trap: control does not go on */
	PTX_EFF_ASYNC = 1 << 9,       /* starts work that completes later (cp.async, wgmma, ...) */
	PTX_EFF_WAIT = 1 << 10,       /* waits for such work (mbarrier.*wait) */
	PTX_EFF_WARP_SYNC = 1 << 11,  /* bar.warp.sync: orders the lanes of its mask */
	PTX_EFF_NONTEMPORAL = 1 << 12,/* ld.nc: the read-only path */
	PTX_EFF_COLLECTIVE_MEM = 1 << 13, /* one warp-wide memory access (ldmatrix) */
	PTX_EFF_SLEEP = 1 << 14,      /* nanosleep */
	PTX_EFF_PREFETCH = 1 << 15,   /* prefetch, applypriority: no access for the memory model */
	PTX_EFF_DISCARD = 1 << 16,    /* discard.L2: destroys the line's value */
	PTX_EFF_SIDE = 1 << 17,       /* another side effect: setmaxnreg, brkpt */
	PTX_EFF_UNKNOWN = 1 << 18     /* the table does not know it: assume anything */
};
/* clang-format on */

/* The role of an operand, by its position (the last role of a row repeats). */
enum ptx_role {
	PTX_ROLE_NONE,
	PTX_ROLE_DST,	 /* written */
	PTX_ROLE_SRC,	 /* read */
	PTX_ROLE_INOUT,	 /* read and written (wgmma accumulators) */
	PTX_ROLE_ADDR,	 /* [address]: its registers are read; memory per effects */
	PTX_ROLE_ADDR_R, /* of two addresses (copies): the one that is read */
	PTX_ROLE_ADDR_W, /* of two addresses (copies): the one that is written */
	PTX_ROLE_MBAR,	 /* an mbarrier's address */
	PTX_ROLE_LABEL,	 /* branch target, function name, .branchtargets label */
	PTX_ROLE_PARAMS	 /* parenthesised call arguments: read; before the callee: written */
};

#define PTX_MAX_MODS  16
#define PTX_MAX_ROLES 8
#define PTX_MAX_TYPES 4

enum ptx_legal { PTX_LEGAL_UNASKED, PTX_LEGAL_YES, PTX_LEGAL_NO };

struct ptx_form {
	struct ptx_str text; /* "ld.global.nc.v4.f32" */
	enum ptx_op op;
	uint32_t effects;      /* PTX_EFF_* */
	uint8_t space, space2; /* enum ptx_space; space2: source of a copy */
	uint8_t sem, scope, proxy;
	uint8_t vec;   /* elements per lane: 1, 2, 4, 8 */
	uint8_t width; /* bytes of one element for memory forms, else 0 */
	uint8_t ntypes, nmods, nroles;
	uint8_t types[PTX_MAX_TYPES]; /* enum ptx_type, in order of appearance */
	uint8_t roles[PTX_MAX_ROLES]; /* enum ptx_role */
	uint16_t mods[PTX_MAX_MODS];  /* enum ptx_mod, in order; PTX_MOD_UNKNOWN kept */
	bool has_unknown_mod;	      /* effects include PTX_EFF_UNKNOWN then */
	bool explicit_weak;	      /* spelled ".weak" */
	uint8_t legal;		      /* enum ptx_legal: what verify.c has found */
	uint32_t count;		      /* instructions of this form in the module, by the parser */
};

bool ptx_form_has(const struct ptx_form *f, enum ptx_mod m);
/* Is the spelling one that isa_forms.def has, on target sm_NN with that letter (0: none) at
 * .version
 * `version` (times ten)? For what we insert; a front end's forms are left to ptxas.
 * pattern.c. */
bool ptx_form_legal(const struct ptx_form *f, unsigned sm, char suffix, unsigned version);
const char *ptx_op_name(enum ptx_op op);  /* "ld" */
const char *ptx_mod_name(enum ptx_mod m); /* "global", no dot */
/* ".global", as a text of a template; "" for PTX_MOD_UNKNOWN. */
struct ptx_str ptx_mod_suffix(enum ptx_mod m);

/* The role of operand i of a form. */
static inline enum ptx_role ptx_form_role(const struct ptx_form *f, unsigned i)
{
	if (!f->nroles)
		return PTX_ROLE_NONE;
	return (enum ptx_role)f->roles[i < f->nroles ? i : f->nroles - 1u];
}

/* ---- IR ----------------------------------------------------------------- */

enum ptx_opnd_kind {
	PTX_OPND_REG,	  /* .reg is its number; text its name */
	PTX_OPND_SPECIAL, /* %tid.x, %laneid, WARP_SZ ...: text */
	PTX_OPND_INT,  /* .imm is the value (sign or zero extended to 64 bits); text as written */
	PTX_OPND_F32,  /* 0f3F800000: .imm holds the bits */
	PTX_OPND_F64,  /* 0d... or a decimal float: .imm holds the double's bits */
	PTX_OPND_SYM,  /* variable, function, label, texture: text (+ .off) */
	PTX_OPND_SINK, /* _ */
	PTX_OPND_ADDR, /* [ sub[0] +- off, sub[1], ... ] */
	PTX_OPND_VEC,  /* { sub[0], sub[1], ... } */
	PTX_OPND_LIST, /* ( sub[0], ... ): call arguments */
	PTX_OPND_PAIR, /* sub[0] | sub[1]: predicate pair, shfl's dst|p */
	PTX_OPND_EXPR, /* any other constant expression, kept verbatim */
	PTX_OPND_HOLE  /* only inside templates: .imm is the hole's number */
};

enum {
	PTX_OPND_NOT = 1 << 0,	    /* !p */
	PTX_OPND_NEG = 1 << 1,	    /* -r or - immediate, as written before the text */
	PTX_OPND_UNSIGNED = 1 << 2, /* immediate with suffix U */
	PTX_OPND_MINUS = 1 << 3,    /* an address offset written with '-' (off is negative) */
	PTX_OPND_HAS_OFF = 1 << 4,  /* base and offset are both written */
	PTX_OPND_LABEL = 1 << 5,    /* SYM: .label is set */
	PTX_OPND_VAR = 1 << 6	    /* SYM: .var is set */
};

#define PTX_NO_REG	UINT32_MAX
#define PTX_COMP_SELECT 255

struct ptx_opnd {
	uint8_t kind;	     /* enum ptx_opnd_kind */
	uint8_t flags;	     /* PTX_OPND_* bits */
	uint8_t nsub;	     /* ADDR, VEC, LIST, PAIR */
	uint8_t comp;	     /* REG: vector component .x .y .z .w + 1 (not in text), 0 = none,
			* PTX_COMP_SELECT = another selector (".b0", ".h10"), which is in text */
	struct ptx_str text; /* spelled name or literal; the printer writes it as it is.
			      * ADDR: what follows the ']' (".unified"). */
	union {
		uint32_t reg;
		int64_t imm;
		struct ptx_opnd *sub;
		struct ptx_label *label; /* SYM that resolved to a label */
		struct ptx_var *var;	 /* SYM that resolved to a variable, or NULL */
		struct ptx_name *name;	 /* only during parsing */
	};
	int64_t off; /* ADDR: byte offset beside the base; SYM: sym+off */
};

/* Half of the address of the grid's workspace, which cooperative_groups reads from the driver. */
bool ptx_opnd_is_workspace(const struct ptx_opnd *o);

enum ptx_stmt_kind {
	PTX_STMT_INST,
	PTX_STMT_LABEL,
	PTX_STMT_REG,	  /* .reg declaration */
	PTX_STMT_VAR,	  /* .shared .local .param .const .global inside a body */
	PTX_STMT_LOC,	  /* .loc */
	PTX_STMT_OPEN,	  /* { */
	PTX_STMT_CLOSE,	  /* } */
	PTX_STMT_TARGETS, /* label: .branchtargets / .calltargets list; */
	PTX_STMT_PROTO,	  /* label: .callprototype ...; */
	PTX_STMT_PRAGMA,  /* .pragma "..."; */
	PTX_STMT_RAW	  /* any other directive, verbatim to its end */
};

struct ptx_loc {
	uint32_t file, line, col;
	/* .loc ... , function_name sym[+off], inlined_at file line col; NULL text: not inlined */
	struct ptx_str func_sym;
	uint32_t func_off;
	uint32_t in_file, in_line, in_col;
	struct ptx_str text; /* verbatim, from ".loc" */
};

struct ptx_label {
	struct ptx_str name;
	struct ptx_stmt *at; /* NULL until defined */
	uint32_t id;	     /* dense within the function */
};

struct ptx_stmt {
	struct ptx_stmt *prev, *next;
	uint8_t kind; /* enum ptx_stmt_kind */
	uint8_t nops;
	bool inserted : 1;	   /* inserted by a pass, not the user's */
	bool is_copy : 1;	   /* inserted, but in the user's spelling */
	bool is_pred_not;	   /* @!p */
	uint32_t line, col;	   /* place in the PTX source; 0 for inserted ones */
	uint32_t mark;		   /* free for passes (flow: block number) */
	const struct ptx_loc *loc; /* the .loc in force here, or NULL; LOC: itself */
	union {
		struct {
			const struct ptx_form *form;
			struct ptx_opnd *ops;
			uint32_t pred; /* guard register, or PTX_NO_REG */
		};
		struct ptx_label *label;  /* LABEL; TARGETS and PROTO: their label */
		struct ptx_regdecl *regs; /* REG */
		struct ptx_var *var;	  /* VAR */
	};
	struct ptx_str text; /* RAW, PRAGMA, TARGETS, PROTO: verbatim; INST: source line's text */
	union {
		struct {
			struct ptx_opnd *targets; /* TARGETS: labels or functions */
			uint32_t ntargets;
		};
		struct ptx_str pred_text; /* INST in a template: the hole that is its guard */
	};
};

/* One name or family in a .reg declaration. */
struct ptx_regdecl {
	struct ptx_regdecl *next; /* others of the same statement */
	struct ptx_str name;	  /* "%r" for %r<37>, "p" for one register */
	uint8_t type;		  /* enum ptx_type */
	uint8_t vec;		  /* 1, 2, 4 */
	bool is_family;
	bool is_new;	/* by ptx_new_reg, not declared yet */
	uint32_t count; /* registers: names name0 .. name(count-1), or 1 */
	uint32_t first; /* number of the first */
};

enum {
	PTX_LINK_EXTERN = 1 << 0,
	PTX_LINK_VISIBLE = 1 << 1,
	PTX_LINK_WEAK = 1 << 2,
	PTX_LINK_COMMON = 1 << 3
};

/* A variable, at module scope or in a function. */
struct ptx_var {
	uint8_t linkage;
	uint8_t space; /* enum ptx_space */
	uint8_t type;  /* enum ptx_type */
	uint8_t vec;
	uint32_t align; /* 0: natural */
	struct ptx_str name;
	uint64_t bytes; /* size; 0: unsized extern array ([]) or opaque */
	bool is_unsized;
	bool is_managed;
	bool has_init;
	bool is_family;	     /* .local .b8 x<10> style (rare) */
	struct ptx_str text; /* the declaration verbatim, without the final ';' */
	uint32_t line, col;
};

struct ptx_param {
	struct ptx_param *next;
	struct ptx_str name;
	uint8_t type;
	uint8_t space;	   /* PARAM, or REG for .reg parameters */
	uint8_t ptr_space; /* of .ptr.global etc.; NONE when not given */
	uint32_t ptr_align;
	uint32_t align;
	uint64_t bytes;
	uint32_t reg;	     /* .reg parameter: its number, else PTX_NO_REG */
	struct ptx_str text; /* verbatim */
};

struct ptx_func {
	uint8_t linkage;
	bool is_entry;
	bool is_noreturn;
	bool is_proto; /* no body */
	struct ptx_str name;
	struct ptx_param *rets, *params;
	uint32_t nrets, nparams;
	struct ptx_str head; /* everything before the body's '{' (or the final ';'), verbatim */
	struct ptx_str
		attrs; /* of the head: performance directives after the parameters, verbatim */
	uint32_t maxntid[3], reqntid[3]; /* 0: not given */
	uint32_t maxnreg, minnctapersm;
	bool has_cluster;
	uint32_t table_bytes; /* of shared variables that passes have added */
	/* Body, between the outer braces (which are not statements). */
	struct ptx_stmt *first, *last;
	uint32_t nregs;	   /* registers numbered 0 .. nregs-1 */
	uint8_t *reg_type; /* enum ptx_type by number; grows with ptx_new_reg */
	uint32_t reg_cap;
	struct ptx_regnames *names; /* what ptx_reg_name reads */
	uint32_t nlabels;
	uint32_t ninsts;
	uint32_t line, col;
	/* Directives a pass adds after attrs (".maxnreg 64"), in order, each with its text. */
	struct ptx_str extra_attrs;
};

enum ptx_item_kind {
	PTX_ITEM_VAR,
	PTX_ITEM_FUNC,
	PTX_ITEM_FILE,	  /* .file */
	PTX_ITEM_SECTION, /* .section name { ... }, verbatim */
	PTX_ITEM_ALIAS,
	PTX_ITEM_PRAGMA,
	PTX_ITEM_RAW /* any other directive, verbatim */
};

struct ptx_item {
	struct ptx_item *prev, *next;
	uint8_t kind;
	bool inserted;
	union {
		struct ptx_var *var;
		struct ptx_func *func;
		struct {
			uint32_t file_id;
			struct ptx_str file_name; /* without quotes */
		};
	};
	struct ptx_str text; /* verbatim, final ';' included; "" for FUNC and VAR */
	uint32_t line, col;
};

struct ptx_module {
	struct base_arena *arena; /* everything below; owned by the caller */
	const char *file;	  /* for diagnostics */
	struct ptx_str source;
	unsigned ver_major, ver_minor; /* .version */
	unsigned sm;		       /* 90 for sm_90, sm_90a, sm_90f */
	char sm_suffix;		       /* 'a', 'f' or 0 */
	bool debug;		       /* .target ..., debug */
	unsigned address_size;	       /* 32 or 64 */
	bool has_address_size;	       /* .address_size is written (else it is 32) */
	struct ptx_str target_text;    /* verbatim after ".target" */
	struct ptx_item *first, *last;
	uint32_t ninsts, nunknown;	    /* instructions; those of unknown opcode or modifier */
	struct ptx_forms *forms;	    /* the intern table of forms */
	struct ptx_str header;		    /* comments before .version, verbatim */
	struct ptx_debug *debug_strings;    /* made by the first ptx_debug_string */
	struct ptx_debug_known *debug_vars; /* what ptx_debug_vars has answered */
	uint8_t tiles;			    /* ptx_has_tiles: 0 not asked yet, 1 no, 2 yes */
};

/* ---- tiles.c ------------------------------------------------------------ */

/* Did a compiler write the module that lays tensors out over a block's threads, so that several of
 * them may hold, and store, the same element? */
bool ptx_has_tiles(struct ptx_module *m);

/* ---- head.c ------------------------------------------------------------- */

/* Does a text begin as PTX does, with .version, after blanks and comments? And its first .target,
 * if that follows at once: sm_NN with the letter after it, or 0 for sm. */
bool ptx_read_head(const char *text, unsigned *sm, char *suffix);

/* ---- lexer.c, parser.c -------------------------------------------------- */

/*
 * Parses a whole PTX text. `text` must stay alive as long as the module and
 * have a NUL at text[size]. Linear in size; nesting depth is limited to 64.
 * Errors go to `sink` as file:line:col; returns NULL if there was one that
 * leaves no usable module (then nothing but the arena is held).
 * Unknown opcodes and modifiers are no error.
 */
struct ptx_module *ptx_parse(struct base_arena *arena, const char *file, const char *text,
			     size_t size, struct base_sink *sink);

/* The form of a spelling; made on first use. Never NULL. */
const struct ptx_form *ptx_form_get(struct ptx_module *m, struct ptx_str text);
/* The form with one type: "mov.u32"; without: "ret" (PTX_TYPE_NONE). */
const struct ptx_form *ptx_form_of(struct ptx_module *m, enum ptx_op op, enum ptx_type t);
/* The same form in another space, where its spelling names one. */
const struct ptx_form *ptx_form_in_space(struct ptx_module *m, const struct ptx_form *f,
					 enum ptx_space space);

/* The full name of a register ("%r5"); built on first use, kept in the module's arena. */
struct ptx_str ptx_reg_name(const struct ptx_func *f, uint32_t reg);

/* A C string literal's bytes at label `sym` + off in .debug_str-like sections, or an
 * empty string; for the function names of inlined .loc lines. */
struct ptx_str ptx_debug_string(struct ptx_module *m, struct ptx_str sym, uint32_t off);

/* ---- walking ------------------------------------------------------------ */

#define ptx_each_item(m, it) for (struct ptx_item *it = (m)->first; it; it = it->next)
/* The place in the source that a statement belongs to: its own, or, if that has no line (`.loc 1
 * 0`: generated by the compiler), that of the nearest statement with one. NULL: no statement has
 * one. */
const struct ptx_loc *ptx_near_loc(const struct ptx_stmt *s);
/* The .loc of the place that l was inlined at, if that was inlined, too (PTX ISA 11.3, .loc); NULL:
 * it wasn't. *is_unsure is set where calls from several places lead there. */
const struct ptx_loc *ptx_outer_loc(const struct ptx_func *f, const struct ptx_loc *l,
				    bool *is_unsure);
/* What .file says of the file of that number; "" where there is none. */
struct ptx_str ptx_file_name(const struct ptx_module *m, uint32_t id);

#define ptx_each_stmt(f, s) for (struct ptx_stmt *s = (f)->first; s; s = s->next)

/* Calls fn(reg, is_write, arg) for every register the statement reads or writes, reads
 * first, guard predicate included (a read). Writes under a guard are still writes: ask
 * s->pred. Vector elements are visited one by one, sinks not at all. */
typedef void ptx_reg_fn(uint32_t reg, bool is_write, void *arg);
void ptx_each_reg(const struct ptx_stmt *s, ptx_reg_fn *fn, void *arg);
/* A set of registers, true by number, that values are followed with. Does the statement read one of
 * them? Adds those that it writes; was any new? */
bool ptx_reads_of(const struct ptx_stmt *s, const bool *set);
bool ptx_add_written(const struct ptx_stmt *s, bool *set);

/* The role of operand i of an instruction. Unlike ptx_form_role this knows calls: lists are
 * PARAMS (written before the callee, read after it), the callee and the prototype LABEL. */
enum ptx_role ptx_stmt_role(const struct ptx_stmt *s, unsigned i);
/* The index of the operand with the given role, or -1. */
int ptx_find_role(const struct ptx_stmt *s, enum ptx_role role);
/* The address operand of a memory instruction (ADDR, ADDR_R or ADDR_W; first), or NULL. */
struct ptx_opnd *ptx_address(const struct ptx_stmt *s);
/* The branch target label of bra, or NULL. */
struct ptx_label *ptx_target(const struct ptx_stmt *s);

/* ---- init.c: text that the parser keeps, read for a loader ------------------ */

/* One element of an initialiser: a number, or the address of a name. */
struct ptx_init {
	uint64_t off;	    /* bytes from the start of the variable */
	uint8_t bytes;	    /* of the element */
	uint64_t bits;	    /* a number's, converted to the variable's type (low 64 of 128) */
	struct ptx_str sym; /* n 0: a number; else the address of sym + addend */
	int64_t addend;
	bool is_generic; /* generic(sym): as a generic address */
	uint8_t shift;	 /* 0xff00(sym): the address is shifted right by this and truncated */
};
typedef void ptx_init_fn(const struct ptx_init *in, void *arg);
/* Calls fn for each element that the initialiser of v gives, in order (the others are zero);
 * textures and samplers have none. *bytes is the variable's size, also of `x[] = {...}`. Errors
 * go to sink; returns false then. */
bool ptx_each_init(const struct ptx_module *m, const struct ptx_var *v, ptx_init_fn *fn, void *arg,
		   uint64_t *bytes, struct base_sink *sink);
/* ".alias alias, of;". False: the item is something else. */
bool ptx_read_alias(const struct ptx_item *it, struct ptx_str *alias, struct ptx_str *of);
/* The up to three numbers after directive `word` (no dot) of a function's head, where those not
 * given are 1. False: there is no such directive, or it has no numbers. */
bool ptx_func_attr(const struct ptx_func *f, const char *word, uint32_t v[3]);

/* ---- changing ------------------------------------------------------------ */

/* A new register of the function; `name` must be unused there (reserved prefix
 * "%collider_"), copied into the arena. Declared by ptx_declare_new_regs. */
uint32_t ptx_new_reg(struct ptx_module *m, struct ptx_func *f, enum ptx_type t);
/* Writes .reg statements for all registers made by ptx_new_reg since the last call, at the start
 * of the body. */
void ptx_declare_new_regs(struct ptx_module *m, struct ptx_func *f);
/* A new label named with the reserved prefix; a LABEL statement with it defines it (label->at is
 * set by the insertion). */
struct ptx_label *ptx_new_label(struct ptx_module *m, struct ptx_func *f);

struct ptx_stmt *ptx_new_stmt(struct ptx_module *m, enum ptx_stmt_kind kind);
/* Insert s before `at` (NULL: at the end of the body). */
void ptx_insert_before(struct ptx_func *f, struct ptx_stmt *at, struct ptx_stmt *s);
void ptx_insert_after(struct ptx_func *f, struct ptx_stmt *at, struct ptx_stmt *s);
void ptx_remove(struct ptx_func *f, struct ptx_stmt *s);
struct ptx_item *ptx_new_item(struct ptx_module *m, enum ptx_item_kind kind);
void ptx_remove_item(struct ptx_module *m, struct ptx_item *it);
/* Insert before `at` (NULL: at the end of the module). */
void ptx_insert_item(struct ptx_module *m, struct ptx_item *at, struct ptx_item *it);

/* clone.c: a function of that name, local to the module, with the body of f and n more parameters
 * of 64 bits at the end; and the declaration of a function. Neither is in the module yet. */
struct ptx_func *ptx_clone_func(struct ptx_module *m, const struct ptx_func *f, struct ptx_str name,
				const struct ptx_str *params, unsigned n);
struct ptx_func *ptx_proto_of(struct ptx_module *m, const struct ptx_func *f);

struct ptx_opnd ptx_opnd_reg(const struct ptx_func *f, uint32_t reg);
struct ptx_opnd ptx_opnd_int(struct ptx_module *m, int64_t value);
struct ptx_opnd ptx_opnd_sym(struct ptx_str name);
struct ptx_opnd ptx_opnd_label(struct ptx_label *l);

/* Raises .version to at least major.minor. */
void ptx_raise_version(struct ptx_module *m, unsigned major, unsigned minor);
/* Sets .target to sm_NN; `debug` stays. */
void ptx_set_target(struct ptx_module *m, unsigned sm);

/* ---- printer.c ----------------------------------------------------------- */

/* Prints the module as PTX text, from the IR (not by copying the source). */
void ptx_print(const struct ptx_module *m, struct base_buf *out);
/* One function. */
void ptx_print_func(const struct ptx_func *f, struct base_buf *out);
/* One statement, without the final newline: for dumps and site tables. */
void ptx_print_stmt(const struct ptx_func *f, const struct ptx_stmt *s, struct base_buf *out);

/* ---- template.c: instruction sequences for passes ------------------------- */

/*
 * A template file is PTX text in named blocks:
 *
 *	.template reread(addr, was, now, differ; space, vec, type)
 *		ld.relaxed.sys@space@vec.@type  $now, [$addr];
 *		setp.ne.or.b32 $differ, $was, $now, $differ;
 *	.end
 *
 * $name is an operand hole filled by ptx_emit; @name is text pasted before
 * parsing (opcode suffixes) chosen by ptx_template; the names before ';' are
 * holes, those after it are texts. A label "$name:" and a branch to $name
 * take a label operand. "%new:b32 a, b;" lines declare scratch registers, new ones at each
 * ptx_emit. Inserted statements have .inserted set and no span.
 */
struct ptx_templates;
struct ptx_template;

struct ptx_template_file {
	const char *name, *text;
};

/* Reads template files (embedded texts; the last one has no name) whose blocks all have different
 * names; reports errors to sink; NULL on error. Lives in the module's arena. */
struct ptx_templates *ptx_templates_read(struct ptx_module *m,
					 const struct ptx_template_file *files,
					 struct base_sink *sink);
/* A block without holes, its texts set: for what isn't a statement (a variable, a directive). In
 * the module's arena, NUL-terminated. Aborts on an unknown name (our bug). */
struct ptx_str ptx_template_text(struct ptx_templates *ts, const char *name, unsigned n,
				 const struct ptx_str *texts);
/* The template `name` with its text parameters set (n of them, in declared order). Parsed once
 * per distinct set of texts, then cached. Aborts on an unknown name or a parse error (our bug). */
const struct ptx_template *ptx_template_get(struct ptx_templates *ts, const char *name, unsigned n,
					    const struct ptx_str *texts);
/* Inserts the template's statements before `at` (NULL: end), holes replaced by copies of
 * holes[0..n-1] in declared order. `loc` becomes the statements' .loc. */
void ptx_emit(const struct ptx_template *t, struct ptx_func *f, struct ptx_stmt *at,
	      const struct ptx_loc *loc, unsigned n, const struct ptx_opnd *holes);

/* ---- verify.c ------------------------------------------------------------ */

/* Checks what every pass must keep: branch targets defined, registers declared, operand counts
 * and kinds per isa.def, register classes per type. Returns the number of problems reported. */
unsigned ptx_verify(const struct ptx_module *m, struct base_sink *sink);
/* The same for one function of the module. */
unsigned ptx_verify_func(const struct ptx_module *m, const struct ptx_func *f,
			 struct base_sink *sink);
/* Is no opcode of the program newer than the module's version and target? ptxas refuses such
 * text. */
bool ptx_has_its_version(const struct ptx_module *m);

#endif
