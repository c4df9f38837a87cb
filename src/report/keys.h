/*
 * keys.h - private to src/report: JSON objects as tables, of a run's report (keys.c) and of what
 * collider prove found (proof_json.c).
 *
 * A row is a key of an object: in what form it is written, which member of a struct it is, when it
 * is left out, and what it means. keys_put.c writes an object by its rows, keys_get.c reads it
 * back; the tables of docs/report-format.md and docs/prove.md and both schemas are made from the
 * same rows (tests/report/formats.c), so that a key is added in one place.
 */
#ifndef COLLIDER_REPORT_KEYS_H
#define COLLIDER_REPORT_KEYS_H

#include <cjson/cJSON.h>

#include "base/json.h"
#include "report/internal.h"

enum rep_form {
	REP_FORM_CONST,	   /* the text in `means`; in no struct */
	REP_FORM_VERSION,  /* of the schema; in no struct */
	REP_FORM_TEXT,	   /* const char *; NULL is "" */
	REP_FORM_NUMBER,   /* unsigned, of 1 to 8 bytes */
	REP_FORM_INT,	   /* int32_t */
	REP_FORM_BOOL,	   /* a bool, or a number that isn't 0 */
	REP_FORM_NOT,	   /* a bool, written as its opposite */
	REP_FORM_FLAG,	   /* bool: are bits of `arg` set in an unsigned? */
	REP_FORM_HEX,	   /* a number, or two uint64_t (low, high), as "0x..." */
	REP_FORM_PRINT,	   /* uint64_t as 16 hexadecimal digits */
	REP_FORM_DIM,	   /* uint32_t[3] */
	REP_FORM_NAME,	   /* a number, by its name in `names` */
	REP_FORM_BITS,	   /* a set: the names of its bits */
	REP_FORM_OBJECT,   /* a struct within this one */
	REP_FORM_POINTER,  /* the same, which a pointer leads to (element `arg` there) */
	REP_FORM_LIST,	   /* structs: a pointer, and their count at `count_at` */
	REP_FORM_ARRAY,	   /* the same within this struct; `arg`: always so many */
	REP_FORM_TEXTS,	   /* const char *[]: a pointer, and their count */
	REP_FORM_COUNTS,   /* uint64_t[]: a key for each, by `names` */
	REP_FORM_COUNTERS, /* rows of counters.def at place `arg`: a key for each */
	REP_FORM_WITHIN, /* the keys of `object`, of the same struct or (bytes != 0) by a pointer */
	REP_FORM_MADE	 /* by `put`, and read by `get` */
};

enum rep_when {
	REP_ALWAYS,
	REP_IF_SET /* not 0, not "" */,
	REP_IF /* `has` */,
	REP_OR_NULL /* `has` */
};

/* Names of numbers: by a function or as an array, from `first` to below n. */
struct rep_names {
	const char *id; /* in the schemas */
	const char *(*of)(unsigned);
	const char *const *list;
	unsigned first, n;
	bool is_long; /* the documentation lists them elsewhere */
};

struct rep_key {
	const char *name;
	enum rep_form form;
	enum rep_when when;
	size_t at, bytes, count_at, count_bytes;
	unsigned arg;
	const struct rep_names *names;
	const struct rep_object *object;
	bool (*has)(const void *s);
	void (*put)(struct base_json *o, const char *key, const void *s);
	void (*get)(struct base_arena *a, const cJSON *v, void *s);
	const char *shape; /* MADE: as the schema says it */
	const char *means; /* NULL: as the next row's */
};

struct rep_object {
	const char *id; /* in the schemas; a line's type */
	const struct rep_key *keys;
	size_t n, bytes; /* of the struct */
};

/* Rows of a struct S, which is defined where they stand. */
#define REP_KEY(key, f, member, text, ...)                                                         \
	{                                                                                          \
		.name = (key), .form = REP_FORM_##f, .at = offsetof(S, member),                    \
		.bytes = sizeof(((S *)0)->member), .means = (text), __VA_ARGS__                    \
	}
#define REP_COUNT(member) .count_at = offsetof(S, member), .count_bytes = sizeof(((S *)0)->member)
#define REP_MADE(key, shaped, text, ...)                                                           \
	{                                                                                          \
		.name = (key), .form = REP_FORM_MADE, .shape = (shaped), .means = (text),          \
		__VA_ARGS__                                                                        \
	}
#define REP_OBJECT(name, type)                                                                     \
	const struct rep_object rep_##name##_object = {#name, name##_keys,                         \
						       BASE_COUNTOF(name##_keys), sizeof(type)}

/* How the tables spell them. */
#define KEY	     REP_KEY
#define MADE	     REP_MADE
#define NAMES(list)  .names = &(list)
#define OF_OBJECT(o) .object = &rep_##o##_object
#define IF_SET	     .when = REP_IF_SET
#define IF(fn)	     .when = REP_IF, .has = (fn)
#define OR_NULL(fn)  .when = REP_OR_NULL, .has = (fn)
#define TYPE(id)                                                                                   \
	{                                                                                          \
		.name = "type", .form = REP_FORM_CONST, .shape = (id), .means = "`" id "`"         \
	}
/* A place in the source, by the names of the members. */
#define PLACE(shown, mangled, in, at_line, at_col)                                                 \
	KEY("function", TEXT, shown, NULL), KEY("function_mangled", TEXT, mangled, NULL),          \
		KEY("file", TEXT, in,                                                              \
		    "the function, for people and as PTX spells it; the source"),                  \
		KEY("line", NUMBER, at_line, NULL), KEY("column", NUMBER, at_col, "in the source")

#define OF(name, fn, from, to)                                                                     \
	static const struct rep_names name = {.id = #name, .of = (fn), .first = (from), .n = (to)}
#define LIST_OF(name, names)                                                                       \
	static const struct rep_names name = {                                                     \
		.id = #name, .list = (names), .n = BASE_COUNTOF(names)}

/* A line of a report: what its type says. In the order of the documentation. */
extern const struct rep_object rep_header_object;    /* struct race_results */
extern const struct rep_object rep_finding_object;   /* struct rep_entry */
extern const struct rep_object rep_fault_object;     /* struct race_stop */
extern const struct rep_object rep_unchecked_object; /* struct race_skip */
extern const struct rep_object rep_kernel_object;    /* struct race_kernel */
extern const struct rep_object rep_gap_object;	     /* struct race_gap */
extern const struct rep_object rep_plain_object;     /* const char * */
extern const struct rep_object rep_note_object;	     /* const char * */
extern const struct rep_object rep_summary_object;   /* struct rep_view */
extern const struct rep_object rep_context_object;   /* struct race_context */
extern const struct rep_object rep_totals_object;    /* struct race_results: keys of the summary */
extern const struct rep_object rep_proof_object;     /* struct race_proofs */
extern const struct rep_names rep_class_names;

/* keys_put.c */
void rep_keys_put(struct base_json *o, const struct rep_object *d, const void *s);
/* The same as a line of its own. */
void rep_line_put(struct base_buf *out, const struct rep_object *d, const void *s);
const char *rep_name_of(const struct rep_names *names, unsigned i);
uint64_t rep_key_number(const struct rep_key *k, const void *s);
/* Is it a list; where are its elements, how many, and what is an element's size? */
const char *rep_key_list(const struct rep_key *k, const void *s, size_t *n);

/* keys_get.c: reads what is there; 0 or "" where a key is missing or its value of another type. */
void rep_keys_get(struct base_arena *a, const cJSON *o, const struct rep_object *d, void *s);
uint64_t rep_number_get(const cJSON *v);

#endif
