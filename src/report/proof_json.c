/*
 * proof_json.c - what collider prove found, as one JSON object: its keys as tables (keys.h), of
 * which the tables of docs/prove.md are made.
 */
#include "report/keys.h"

/* ---- names ----------------------------------------------------------------------------------- */

static const char *verdict_name(unsigned i)
{
	return race_verdict_name((enum race_verdict)i);
}

static const char *level_name(unsigned i)
{
	return race_level_name((enum race_level)i);
}

static const char *const accesses[] = {
	[RACE_OP_READ] = "load", [RACE_OP_WRITE] = "store", [RACE_OP_RMW] = "atomic"};
static const char *const problems[] = {[RACE_PROBLEM_UNPROVEN] = "unproven",
				       [RACE_PROBLEM_VACUOUS] = "vacuous",
				       [RACE_PROBLEM_EXCLUDED] = "excluded",
				       [RACE_PROBLEM_SINGLE] = "single",
				       [RACE_PROBLEM_BARRIER] = "barrier"};
static const char *const confirmed[] = {[RACE_NOT_TRIED] = "not-tried",
					[RACE_CONFIRMED] = "confirmed",
					[RACE_NOT_CONFIRMED] = "not-confirmed"};
static const char *const filled[] = {[RACE_FILLED_ZEROS] = "zeros",
				     [RACE_FILLED_CONTENTS] = "contents",
				     [RACE_FILLED_MIXED] = "mixed",
				     [RACE_FILLED_COUNTED] = "counted"};
static const char *const dims[] = {"blockDim.x", "blockDim.y", "blockDim.z",
				   "gridDim.x",	 "gridDim.y",  "gridDim.z"};

static const struct rep_names accesses_names = {
	.id = "accesses", .list = accesses, .first = RACE_OP_READ, .n = BASE_COUNTOF(accesses)};
LIST_OF(problems_names, problems);
LIST_OF(confirmed_names, confirmed);
LIST_OF(filled_names, filled);
LIST_OF(dims_names, dims);
static const struct rep_names verdict_names = {
	.id = "verdicts", .of = verdict_name, .n = RACE_VERDICT_COUNT};
static const struct rep_names level_names = {
	.id = "levels", .of = level_name, .n = RACE_LEVEL_GRID + 1};

#define APPROXIMATIONS "{\"enum\": [\"\", \"CIDI\", \"CIDD\", \"CDDI\", \"CDDD\"]}"
#define INT	       "{\"type\": \"integer\"}"
#define INT_OR_NULL    "{\"type\": [\"integer\", \"null\"]}"

/* ---- an alarm -------------------------------------------------------------------------------- */

#define S struct race_alarm_side
static const struct rep_key alarm_side_keys[] = {
	KEY("access", NAME, kind, "what it does", NAMES(accesses_names)),
	KEY("file", TEXT, file, "its source"),
	KEY("ptx", TEXT, text, "the instruction"),
	KEY("index", TEXT, index, "the element, as an expression, or `\"\"`"),
	KEY("line", NUMBER, line, NULL),
	KEY("column", NUMBER, col, NULL),
	KEY("ptx_line", NUMBER, ptx_line, "in the source, and in the PTX"),
	KEY("bytes", NUMBER, bytes, "of the access"),
	KEY("exact_index", NOT, is_approx_index, NULL),
	KEY("reachable", NOT, is_approx_path,
	    "the index, and whether it is reached, depend on no approximated value"),
	KEY("thread", DIM, tid, NULL),
	KEY("block", DIM, ctaid, "x, y, z"),
	KEY("offset", NUMBER, offset, "in the object"),
	KEY("phase", NUMBER, phase, "barriers before it"),
};
static REP_OBJECT(alarm_side, S);
#undef S

#define S struct race_alarm_var
static void value_put(struct base_json *o, const char *key, const struct race_alarm_var *v,
		      unsigned side)
{
	if (!v->is_known[side])
		base_json_null(o, key);
	else if (v->is_signed)
		base_json_int(o, key, (int64_t)v->value[side]);
	else
		base_json_number(o, key, (uint64_t)v->value[side]);
}

static void a_put(struct base_json *o, const char *key, const void *s)
{
	value_put(o, key, s, 0);
}

static void b_put(struct base_json *o, const char *key, const void *s)
{
	value_put(o, key, s, 1);
}

static void approximated_put(struct base_json *o, const char *key, const void *s)
{
	const struct race_alarm_var *v = s;

	base_json_bool(o, key, v->is_approx[0] || v->is_approx[1]);
}

static const struct rep_key variable_keys[] = {
	KEY("name", TEXT, name, "as the program has it"),
	KEY("global", BOOL, is_global, "the same in all threads"),
	MADE("approximated", "{\"type\": \"boolean\"}", "the analysis doesn't know it exactly",
	     .put = approximated_put),
	KEY("control", BOOL, is_control, NULL),
	KEY("data", BOOL, is_data, "it determines whether the access is reached, its index"),
	MADE("a", INT_OR_NULL, NULL, .put = a_put),
	MADE("b", INT_OR_NULL, "its values in the two threads; null: any", .put = b_put),
};
static REP_OBJECT(variable, S);
#undef S

#define S struct race_alarm_param
static const struct rep_key param_keys[] = {
	KEY("name", TEXT, name, "where it isn't known its number, as `$2`, or place"),
	KEY("offset", NUMBER, off, "in the parameter block"),
	KEY("bytes", NUMBER, bytes, NULL),
	KEY("value", NUMBER, value, "of the value"),
};
static REP_OBJECT(param, S);
#undef S

#define S struct race_alarm_content
static void content_put(struct base_json *o, const char *key, const void *s)
{
	const struct race_alarm_content *c = s;

	if (c->is_signed)
		base_json_int(o, key, race_alarm_number(c));
	else
		base_json_number(o, key, c->value);
}

static const struct rep_key content_keys[] = {
	KEY("array", TEXT, name, "the parameter, or `\"\"`"),
	KEY("param_offset", NUMBER, param, "the pointer's place in the parameter block"),
	KEY("offset", NUMBER, at, "byte in its array"),
	KEY("bytes", NUMBER, bytes, NULL),
	MADE("value", INT, "of the value, with the sign of its type", .put = content_put),
};
static REP_OBJECT(content, S);
#undef S

#define S struct race_alarm
static bool is_confirmed(const void *s)
{
	return ((const S *)s)->confirmed == RACE_CONFIRMED;
}

static bool has_launch(const void *s)
{
	return ((const S *)s)->has_launch;
}

static void alarm_class_put(struct base_json *o, const char *key, const void *s)
{
	base_json_text(o, key, race_alarm_class(s));
}

static const struct rep_key alarm_keys[] = {
	KEY("true", BOOL, is_true, "a true alarm; else a potential one"),
	KEY("benign", BOOL, is_benign, "both store the same value (`--benign=same-value`)"),
	KEY("equal_values", BOOL, has_equal_values,
	    "stores of one value for all threads, which that option would excuse"),
	KEY("level", NAME, level,
	    "how far apart the two threads are at most (`thread`: one thread does both)",
	    NAMES(level_names)),
	KEY("exited", BOOL, is_exited,
	    "one thread has ended: no later barrier orders its accesses"),
	KEY("class", NAME, cls,
	    "a data race, an unordered volatile conflict, a read-only load of what the launch "
	    "writes, or one that needs lockstep",
	    NAMES(rep_class_names)),
	KEY("stands_for", NUMBER, stands_for, "so many pairs of accesses"),
	MADE("approximation", APPROXIMATIONS,
	     "whether control and data (index) are independent of approximated values",
	     .put = alarm_class_put),
	KEY("object", TEXT, object, "what both access"),
	KEY("reason", TEXT, reason, "why it is only potential, or `\"\"`"),
	KEY("order", TEXT, order, "the operation that may order the two, or `\"\"`"),
	KEY("confirmed", NAME, confirmed,
	    "by a run; without `--confirm` of potential alarms only, and never "
	    "`not-confirmed`",
	    NAMES(confirmed_names)),
	KEY("filled", NAME, filled, "what arrays held then, or null", NAMES(filled_names),
	    OR_NULL(is_confirmed)),
	KEY("seed", NUMBER, seed, "of the schedule of that run, or null", OR_NULL(is_confirmed)),
	KEY("reproducer", TEXT, reproducer, "a program that shows it", IF_SET),
	KEY("blockDim", DIM, ntid, NULL, IF(has_launch)),
	KEY("gridDim", DIM, nctaid, "a launch in which it happens", IF(has_launch)),
	KEY("params", ARRAY, param, "its parameters", REP_COUNT(nparams), OF_OBJECT(param),
	    IF(has_launch)),
	KEY("contents", ARRAY, content, "what arrays hold that the kernel only reads",
	    REP_COUNT(ncontents), OF_OBJECT(content), IF(has_launch)),
	KEY("sides", ARRAY, side, "the two accesses", .arg = 2, OF_OBJECT(alarm_side)),
	KEY("variables", ARRAY, var, "the rows of the table", REP_COUNT(nvars),
	    OF_OBJECT(variable)),
};
static REP_OBJECT(alarm, S);
#undef S

/* ---- a kernel -------------------------------------------------------------------------------- */

#define S struct race_problem
static const struct rep_key problem_keys[] = {
	KEY("kind", NAME, kind,
	    "`single`: what a proof for one thread or block doesn't cover; `barrier`: one that "
	    "some "
	    "threads or blocks end without",
	    NAMES(problems_names)),
	KEY("text", TEXT, text, "in words"),
	KEY("file", TEXT, file, NULL),
	KEY("line", NUMBER, line, NULL),
	KEY("ptx_line", NUMBER, ptx_line, "where"),
};
static REP_OBJECT(problem, S);
#undef S

static const struct rep_key contract_keys[] = {
	{.name = "text",
	 .form = REP_FORM_TEXT,
	 .bytes = sizeof(const char *),
	 .means = "a sentence"},
};
static REP_OBJECT(contract, const char *);

#define S struct race_remedy
static bool is_asked(const void *s)
{
	return ((const S *)s)->seen >= 0;
}

static const struct rep_key remedy_keys[] = {
	KEY("assume", TEXT, assume, "for `--assume`"),
	KEY("alarms", NUMBER, alarms, "that it takes away"),
	KEY("all", BOOL, is_all, "with it the kernel is proven"),
	KEY("holds_in_recorded_launches", BOOL, seen, "with `--run`, `--launches`", IF(is_asked)),
};
static REP_OBJECT(remedy, S);
#undef S

#define S struct race_proof_launch
static const struct rep_key proof_launch_keys[] = {
	KEY("blockDim", DIM, ntid, NULL),
	KEY("gridDim", DIM, nctaid, "the shape"),
	KEY("count", NUMBER, n, "launches of it"),
	KEY("scalars", TEXT, scalars, "their parameters, in words"),
	KEY("verdict", NAME, verdict, "of these", NAMES(verdict_names)),
};
static REP_OBJECT(proof_launch, S);
#undef S

#define S struct race_proof
static bool has_others(const void *s)
{
	const struct race_proof *k = s;

	return k->launches.n && k->others;
}

static void has_remedy_put(struct base_json *o, const char *key, const void *s)
{
	base_json_bool(o, key, race_proof_has_remedy(s));
}

static void proof_class_put(struct base_json *o, const char *key, const void *s)
{
	base_json_text(o, key, race_proof_class(s));
}

#define LIST(key, member, text, object, ...)                                                       \
	KEY(key, LIST, member.v, text, REP_COUNT(member.n), OF_OBJECT(object), __VA_ARGS__)
static const struct rep_key proven_keys[] = {
	KEY("name", TEXT, name_shown, NULL),
	KEY("mangled", TEXT, name, "its name, and as the PTX spells it"),
	KEY("verdict", NAME, verdict, "the result", NAMES(verdict_names)),
	MADE("approximation", APPROXIMATIONS, "of the whole kernel", .put = proof_class_put),
	LIST("alarms", alarms, "pairs that may race", alarm),
	KEY("free", BITS, free_dims, "the dimensions that may have any value", NAMES(dims_names)),
	LIST("problems", problems, "why nothing is proven, or what the verdict doesn't cover",
	     problem),
	LIST("contract", contract, "what was assumed", contract),
	LIST("remedies", remedies, "assumptions that would help", remedy),
	MADE("proven_with_remedy", "{\"type\": \"boolean\"}", "one of them takes all alarms away",
	     .put = has_remedy_put),
	KEY("rests_on_contents", BOOL, rests_on_contents,
	    "proven by what arrays held in recorded launches, as `contract` has it"),
	KEY("protocol", TEXTS, protocol.v, "lines, with `--protocol`", REP_COUNT(protocol.n),
	    IF_SET),
	LIST("launches", launches, "with `--run`, `--launches`: each shape", proof_launch, IF_SET),
	KEY("other_launches", TEXT, others, "then: what is known of others, in words",
	    IF(has_others)),
	KEY("accesses", NUMBER, counts.accesses, NULL),
	KEY("pairs", NUMBER, counts.pairs, "that may conflict"),
	KEY("cases", NUMBER, counts.cases, "ways to be concurrent"),
	KEY("quick", NUMBER, counts.quick, "cases decided by arithmetic"),
	KEY("by_trying", NUMBER, counts.by_trying, "pairs that race in a small launch"),
	KEY("queries", NUMBER, counts.queries, NULL),
	KEY("recalled", NUMBER, counts.recalled, "to the solver; answered from the cache"),
	KEY("gave_up", NUMBER, counts.gave_up, "not answered"),
	KEY("replays", NUMBER, counts.replays, NULL),
	KEY("failed_replays", NUMBER, counts.failed_replays, "launches run on numbers"),
	KEY("memory_kb", NUMBER, counts.memory_kb, "the most memory"),
	KEY("ms", NUMBER, ms, "processor time"),
	KEY("cached", BOOL, is_cached, "the result is an earlier one"),
};
static REP_OBJECT(proven, S);
#undef S

#define S struct race_proofs
static const struct rep_key proof_keys[] = {
	KEY("file", TEXT, file, "what was analysed"),
	LIST("kernels", kernels, "its kernels", proven),
};
REP_OBJECT(proof, S);
#undef S

void rep_proof_json(const struct race_proofs *r, const struct rep_options *opt,
		    struct base_buf *out)
{
	(void)opt;
	rep_line_put(out, &rep_proof_object, r);
}
