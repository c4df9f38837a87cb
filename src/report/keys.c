/*
 * keys.c - the lines of a report as tables: each key, where its value is, and what it means. A
 * finding's are in keys_finding.c.
 */
#include "report/keys.h"

#include <string.h>

/* ---- names ---------------------------------------------------------------------------------- */

static const char *gap_name(unsigned i)
{
	return race_gap_rows[i].name;
}

static const char *const verdicts[] = {
	[REP_VERDICT_RACES] = "races",
	[REP_VERDICT_OTHER] = "other-findings",
	[REP_VERDICT_CLEAN] = "no-race-seen",
	[REP_VERDICT_NOTHING] = "nothing-checked",
};
static const char *const executions[] = {"program", "execution"};

OF(whys, race_why_name, 1, RACE_WHY_LOOKED_AT + 1);
OF(agents, race_agent_name, 0, RACE_AGENT_FAILED + 1);
OF(transfer_skips, race_transfer_skip_name, 0, RACE_TRANSFER_SKIPS);
OF(completeness, rep_completeness_name, 0, RACE_NOTHING + 1);
OF(hold_skips, race_hold_skip_name, 0, RACE_HOLD_SKIPS);
LIST_OF(report_verdicts, verdicts);
LIST_OF(fence_sc, executions);
static const struct rep_names gaps = {
	.id = "gaps", .of = gap_name, .first = 1, .n = RACE_GAPS, .is_long = true};

/* ---- what many objects have ----------------------------------------------------------------- */

#define S struct race_context
static const struct rep_key context_keys[] = {
	KEY("pid", NUMBER, pid, "the process"),
	KEY("context", NUMBER, context, "its number within the process"),
	KEY("device", INT, device, "the device's number"),
	KEY("device_name", TEXT, device_name, "as CUDA has it"),
};
REP_OBJECT(context, S);
#undef S

/* ---- other lines ---------------------------------------------------------------------------- */

static void runs_put(struct base_json *o, const char *key, const void *s)
{
	const struct race_results *r = s;

	base_json_number(o, key, r->runs ? r->runs : 1);
}

static void runs_get(struct base_arena *a, const cJSON *v, void *s)
{
	uint64_t n = rep_number_get(v);

	(void)a;
	((struct race_results *)s)->runs = n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

#define S struct race_results
static const struct rep_key header_keys[] = {
	TYPE("header"),
	{.name = "schema",
	 .form = REP_FORM_CONST,
	 .shape = REP_SCHEMA,
	 .means = "`" REP_SCHEMA "`"},
	{.name = "version", .form = REP_FORM_VERSION, .means = "of this format"},
	KEY("command", TEXT, command, "what ran"),
	KEY("agent", NAME, agent_state,
	    "`none`: CUDA never started; `busy`: CUPTI was needed, and had another user",
	    NAMES(agents)),
	MADE("runs", "{\"type\": \"integer\", \"minimum\": 1}", "runs merged into this report",
	     .put = runs_put, .get = runs_get),
	KEY("rdelay", NUMBER, rdelay, NULL),
	KEY("wdelay", NUMBER, wdelay, "bounds of the delay after reads and writes, ns"),
	KEY("sample", NUMBER, sample,
	    "one execution in `sample` per warp was checked; 0 and 1: all; 4294967295: none"),
	KEY("dense", NUMBER, dense,
	    "a thread's checks that are all made, later ones ever fewer; 0: all are made and "
	    "delayed"),
	KEY("seed", NUMBER, seed, "of the delays"),
	KEY("contexts", LIST, contexts.v, "CUDA contexts", REP_COUNT(contexts.n),
	    OF_OBJECT(context)),
};
REP_OBJECT(header, S);
#undef S

#define S struct race_stop
static const struct rep_key fault_keys[] = {
	TYPE("fault"),
	KEY("text", TEXT, text, "what happened"),
	KEY("function_mangled", TEXT, func, NULL),
	KEY("ptx_line", NUMBER, ptx_line, "of the instruction (`\"\"` and 0: none)"),
	KEY("device", INT, device, "the device's number"),
};
REP_OBJECT(fault, S);
#undef S

#define S struct race_skip
static const struct rep_key unchecked_keys[] = {
	TYPE("unchecked"),
	KEY("why", NAME, why,
	    "`private`: the thread's own memory; `dead`: value never used; `undisturbed`: barriers "
	    "keep all writes apart; `proven` and `proven-within`: for any launch, or for some "
	    "(`--prune`); `proven-global`, `proven-alone`: within a launch, in global memory",
	    NAMES(whys)),
	KEY("what", TEXT, what, "opcode, or with `kernel-as-it-was` the reason"),
	KEY("function", TEXT, func_shown, NULL),
	KEY("function_mangled", TEXT, func, "only there; `\"\"`: the whole program"),
	KEY("instructions", NUMBER, count, "instructions in the program (not executions)"),
};
REP_OBJECT(unchecked, S);
#undef S

#define S struct race_kernel
static const struct rep_key kernel_keys[] = {
	TYPE("kernel"),
	KEY("function", TEXT, name_shown, NULL),
	KEY("function_mangled", TEXT, name, "its name, for people and as PTX spells it"),
	KEY("instrumented", BOOL, is_instrumented, "it had checks"),
	KEY("launches", NUMBER, launches, "so many were seen"),
	KEY("proven", NUMBER, proven,
	    "of them, where there are any: proven race-free in every schedule", IF_SET),
	KEY("sampled", NUMBER, sampled,
	    "of them, where there are any: not checked, as the kernel had run clean so far "
	    "(on a GPU)",
	    IF_SET),
};
REP_OBJECT(kernel, S);
#undef S

#define S struct race_gap
static const struct rep_key gap_keys[] = {
	TYPE("gap"),
	KEY("why", NAME, why,
	    "the reason, as in [that table](reading-a-report.md#complete-partial-nothing)",
	    NAMES(gaps)),
	KEY("function", TEXT, kernel_shown, NULL),
	KEY("function_mangled", TEXT, kernel, "the kernel; `\"\"`: the run"),
	KEY("what", TEXT, what, "what happened; `\"\"`: no more than `why` says"),
	KEY("count", NUMBER, count, NULL),
	KEY("of", NUMBER, of,
	    "launches, instructions or what the reason counts, and of how many; 0: not counted"),
	KEY("judged_blocks", NUMBER, judged, NULL, IF_SET),
	KEY("judged_of", NUMBER, judged_of,
	    "blocks of one of its launches that were judged beside a GPU (`--judge`), and of how "
	    "many, where there are any",
	    IF_SET),
};
REP_OBJECT(gap, S);
#undef S

#define TEXT_AT(key, text)                                                                         \
	{                                                                                          \
		.name = (key), .form = REP_FORM_TEXT, .bytes = sizeof(const char *),               \
		.means = (text)                                                                    \
	}
static const struct rep_key plain_keys[] = {
	TYPE("plain"),
	TEXT_AT("name", "a module or kernel without instrumentation"),
};
REP_OBJECT(plain, const char *);
static const struct rep_key note_keys[] = {
	TYPE("note"),
	TEXT_AT("text", "what else a reader should know"),
};
REP_OBJECT(note, const char *);

/* ---- the summary ---------------------------------------------------------------------------- */

#define S struct race_transfer_counts
static const struct rep_key transfers_keys[] = {
	KEY("checked", NUMBER, checked, "operations"),
	KEY("bytes", NUMBER, bytes, "read again"),
	KEY(NULL, COUNTS, skipped, "not checked: `shape` (rows, arrays, peers), `busy` (no buffer)",
	    NAMES(transfer_skips)),
	KEY("lost", NUMBER, lost, "reports"),
};
static REP_OBJECT(transfers, S);
#undef S

#define S struct race_holds
static const struct rep_key streams_keys[] = {
	KEY("held", NUMBER, held, NULL),
	KEY("passed", NUMBER, passed, "launches held back, and passed on"),
	KEY(NULL, COUNTS, skipped, "launches never held back; `refused`: by the driver",
	    NAMES(hold_skips)),
};
static REP_OBJECT(streams, S);
#undef S

#define S struct race_results
static const struct rep_key oracle_keys[] = {
	{.form = REP_FORM_COUNTERS, .arg = RACE_IN_ORACLE},
	KEY("fence_sc", NAME, is_sc_execution, "how fence.sc was ordered (`--oracle`)",
	    NAMES(fence_sc)),
};
static REP_OBJECT(oracle, S);

static bool has_transfers(const void *s)
{
	const struct race_transfer_counts *c = &((const struct race_results *)s)->transfers;
	uint64_t any = c->checked | c->lost;

	for (unsigned i = 0; i < RACE_TRANSFER_SKIPS; i++)
		any |= c->skipped[i];
	return any;
}

static bool has_holds(const void *s)
{
	const struct race_holds *h = &((const struct race_results *)s)->holds;
	uint64_t any = h->held | h->passed;

	for (unsigned i = 0; i < RACE_HOLD_SKIPS; i++)
		any |= h->skipped[i];
	return any;
}

static bool has_oracle(const void *s)
{
	return ((const struct race_results *)s)->has_oracle;
}

static const struct rep_key totals_keys[] = {
	{.form = REP_FORM_COUNTERS, .arg = RACE_IN_SUMMARY},
	KEY("cuda_error", NUMBER, cuda_error, "CUresult that killed a context, 0 = none"),
	KEY("transfers", OBJECT, transfers, "only if the host copied or filled asynchronously",
	    IF(has_transfers), OF_OBJECT(transfers)),
	KEY("streams", OBJECT, holds, "only with `--shuffle-streams`", IF(has_holds),
	    OF_OBJECT(streams)),
	{.name = "oracle",
	 .form = REP_FORM_OBJECT,
	 .means = "only if the oracle judged",
	 IF(has_oracle),
	 OF_OBJECT(oracle)},
};
REP_OBJECT(totals, S);
#undef S

static void text_put(struct base_json *o, const char *key, const void *s)
{
	base_json_text(o, key, rep_result_sentence((struct rep_view *)s));
}

static void accesses_put(struct base_json *o, const char *key, const void *s)
{
	base_json_number(o, key, race_kernel_accesses(((const struct rep_view *)s)->r));
}

static bool has_proven(const void *s)
{
	return rep_count_proven(((const struct rep_view *)s)->r).launches;
}

static void proven_put(struct base_json *o, const char *key, const void *s)
{
	const struct race_results *r = ((const struct rep_view *)s)->r;
	struct rep_proven n = rep_count_proven(r);

	base_json_object(o, key);
	base_json_bool(o, "all", rep_is_all_proven(r));
	base_json_number(o, "kernels_proven", n.all);
	base_json_number(o, "kernels_checked", n.none);
	base_json_number(o, "kernels_partial", n.some);
	base_json_number(o, "launches", n.launches);
	base_json_object_end(o);
}

static bool has_known(const void *s)
{
	return ((const struct rep_view *)s)->opt->known;
}

static void unused_put(struct base_json *o, const char *key, const void *s)
{
	const struct rep_view *v = s;
	const struct race_ignore *ig = v->opt->ignore;

	base_json_array(o, key);
	for (size_t i = 0; ig && i < ig->rules.n; i++)
		if (!v->hits[i])
			base_json_text(o, NULL, ig->rules.v[i].text);
	base_json_array_end(o);
}

#define S	     struct rep_view
#define NUMBER_SHAPE "{\"type\": \"integer\", \"minimum\": 0}"
static const struct rep_key summary_keys[] = {
	TYPE("summary"),
	KEY("verdict", NAME, verdict, "the result", NAMES(report_verdicts)),
	MADE("text", "{\"type\": \"string\"}", "the same as a sentence", .put = text_put),
	KEY("completeness", NAME, completeness, "the `gap` lines say why it is partial",
	    NAMES(completeness)),
	KEY("reason", TEXT, reason, "with `nothing-checked` only: why", IF_SET),
	MADE("kernel_accesses", NUMBER_SHAPE, "accesses of kernels that the verdict stands for",
	     .put = accesses_put),
	KEY("races", NUMBER, races, NULL),
	KEY("other_findings", NUMBER, others, "`finding` lines that aren't ignored, by class"),
	KEY("suppressed", NUMBER, ignored[RACE_IGNORED_SUPPRESSED], NULL),
	KEY("ignored_same_value", NUMBER, ignored[RACE_IGNORED_SAME_VALUE], NULL),
	KEY("ignored_possible", NUMBER, ignored[RACE_IGNORED_POSSIBLE], "`finding` lines that are"),
	KEY("undecided", NUMBER, ignored[RACE_IGNORED_UNDECIDED],
	    "undecided pairs, where there are any and they aren't shown", IF_SET),
	KEY("annotated", NUMBER, ignored[RACE_IGNORED_ANNOTATED],
	    "findings in a `collider_data_race()` of the program, where there are any", IF_SET),
	KEY("known", NUMBER, ignored[RACE_IGNORED_KNOWN],
	    "with `--new-since`: findings that the earlier report has", IF(has_known)),
	MADE("proven",
	     "{\"type\": \"object\", \"required\": [\"all\"], \"properties\": {\"all\": "
	     "{\"type\": \"boolean\"}, \"kernels_proven\": {\"type\": \"integer\"}, "
	     "\"kernels_checked\": {\"type\": \"integer\"}, \"kernels_partial\": {\"type\": "
	     "\"integer\"}, \"launches\": {\"type\": \"integer\"}}, "
	     "\"additionalProperties\": false}",
	     "only if launches were proven: `all` (no schedule of any launch has a race), "
	     "`kernels_proven`, `kernels_checked`, `kernels_partial` (whose launches were all "
	     "proven, not proven, some of them), `launches` (that were proven)",
	     .put = proven_put, IF(has_proven)),
	KEY(NULL, WITHIN, r, NULL, OF_OBJECT(totals)),
	MADE("unused_suppressions", "{\"type\": \"array\", \"items\": {\"type\": \"string\"}}",
	     "lines of the suppressions file that hid nothing", .put = unused_put),
};
REP_OBJECT(summary, S);
#undef S
