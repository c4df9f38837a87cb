/*
 * ask.c - questions about a history: what was found when, what two commits or days differ in, what
 * no run has checked.
 *
 * Two sets of runs are compared by how many runs of each saw a finding. New: only the second has
 * it; gone: only the first; still: every run of both; flaky: both, but not every run. A race shows
 * in some runs and not in others, so "gone" is said with the chance that it is there and was only
 * missed: the share of the first set's runs that missed it, to the power of the second's runs.
 */
#include "history/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void add_print(cJSON *o, int64_t print)
{
	char text[24];

	snprintf(text, sizeof(text), "%016" PRIx64, (uint64_t)print);
	cJSON_AddStringToObject(o, "fingerprint", text);
}

/* ---- list --------------------------------------------------------------------------------- */

static void list_json(cJSON *all, sqlite3_stmt *s, struct base_arena *a)
{
	cJSON *o = cJSON_CreateObject();

	add_print(o, sqlite3_column_int64(s, 0));
	cJSON_AddStringToObject(o, "rule", history_text(s, 1));
	cJSON_AddStringToObject(o, "text", history_text(s, 2));
	cJSON_AddNumberToObject(o, "runs", (double)sqlite3_column_int64(s, 3));
	cJSON_AddStringToObject(o, "first", history_day(a, sqlite3_column_int64(s, 4)));
	cJSON_AddStringToObject(o, "first_commit", history_text(s, 5));
	cJSON_AddStringToObject(o, "last", history_day(a, sqlite3_column_int64(s, 6)));
	cJSON_AddStringToObject(o, "last_commit", history_text(s, 7));
	cJSON_AddItemToArray(all, o);
}

static void list_text(struct base_buf *out, sqlite3_stmt *s, struct base_arena *a)
{
	int64_t runs = sqlite3_column_int64(s, 3);

	base_buf_printf(out, "%s\n    %016" PRIx64 "  in %lld run%s, from %s %s to %s %s\n",
			history_text(s, 2), (uint64_t)sqlite3_column_int64(s, 0), (long long)runs,
			history_s(runs), history_day(a, sqlite3_column_int64(s, 4)),
			history_short(a, history_text(s, 5)),
			history_day(a, sqlite3_column_int64(s, 6)),
			history_short(a, history_text(s, 7)));
}

int history_list(struct history *h, bool is_json, struct base_buf *out)
{
	struct base_arena a = {0};
	cJSON *o = cJSON_CreateObject(), *all = cJSON_AddArrayToObject(o, "findings");
	int64_t runs = history_number(h, "SELECT count(*) FROM runs"), n = 0;
	int more = 0;
	sqlite3_stmt *s = history_prepare(
		h, "SELECT print, rule, line, seen, f.at, f.commit_id, l.at,"
		   " l.commit_id FROM findings JOIN runs f ON f.id = first"
		   " JOIN runs l ON l.id = last ORDER BY l.at DESC, seen DESC, line");

	while (s && runs >= 0 && (more = history_step(h, s)) == 1) {
		n++;
		if (is_json)
			list_json(all, s, &a);
		else
			list_text(out, s, &a);
	}
	sqlite3_finalize(s);
	if (is_json) {
		cJSON_AddNumberToObject(o, "runs", (double)runs);
		history_put_json(out, o);
	} else {
		base_buf_printf(out, "%s%lld finding%s in %lld run%s\n", n ? "\n" : "",
				(long long)n, history_s(n), (long long)runs, history_s(runs));
		cJSON_Delete(o);
	}
	base_arena_free(&a);
	return runs < 0 || !s || more < 0 ? BASE_EXIT_INPUT : 0;
}

/* ---- compare ------------------------------------------------------------------------------ */

enum change { NEW, GONE, FLAKY, STILL, CHANGES };
static const char *const words[CHANGES] = {"new", "gone", "flaky", "still"};

struct set {
	const char *text;
	int64_t runs;
};

/* The runs of a commit or a day, as a table of their ids. */
static int make_set(struct history *h, const char *name, struct set *set)
{
	struct tm tm = {0};
	const char *end = strptime(set->text, "%Y-%m-%d", &tm);
	bool is_day = end && !*end;
	struct base_arena a = {0};
	sqlite3_stmt *s = history_prepare(
		h, base_printf(&a,
			       is_day ? "CREATE TEMP TABLE %s AS SELECT id FROM runs WHERE at >= ?1"
					" AND at < ?1 + 86400"
				      : "CREATE TEMP TABLE %s AS SELECT id FROM runs"
					" WHERE commit_id >= ?1 AND commit_id < ?1 || '~'"
					" AND (instr(commit_id, '+') > 0) = (instr(?1, '+') > 0)",
			       name));
	int rc = s ? 0 : BASE_EXIT_INPUT;

	if (!rc && !is_day && strlen(set->text) < 4) {
		base_say("error: found '%s', expected a commit of at least 4 characters or a day "
			 "(2026-11-26)",
			 set->text);
		rc = BASE_EXIT_USAGE;
	}
	if (!rc) {
		/* (What a prepared CREATE ... AS may not have is bound as a literal by SQLite.) */
		if (is_day)
			sqlite3_bind_int64(s, 1, (int64_t)timegm(&tm));
		else
			sqlite3_bind_text(s, 1, set->text, -1, SQLITE_TRANSIENT);
		rc = history_step(h, s) < 0 ? BASE_EXIT_INPUT : 0;
	}
	sqlite3_finalize(s);
	if (!rc) {
		set->runs = history_number(h, base_printf(&a, "SELECT count(*) FROM %s", name));
		rc = set->runs < 0 ? BASE_EXIT_INPUT : 0;
	}
	if (!rc && !set->runs) {
		base_say("error: %s: no run of %s", h->path, set->text);
		rc = BASE_EXIT_INPUT;
	}
	base_arena_free(&a);
	return rc;
}

static enum change change_of(const struct set *one, const struct set *two, int64_t n1, int64_t n2)
{
	if (!n1)
		return NEW;
	if (!n2)
		return GONE;
	return n1 == one->runs && n2 == two->runs ? STILL : FLAKY;
}

static void compare_text(struct base_buf *out, sqlite3_stmt *s, enum change change,
			 const struct set *one, const struct set *two)
{
	int64_t n1 = sqlite3_column_int64(s, 2), n2 = sqlite3_column_int64(s, 3);
	double chance = 0;

	base_buf_printf(
		out, "%-6s %016" PRIx64 "  %s\n       in %lld of %lld runs, then in %lld of %lld",
		words[change], (uint64_t)sqlite3_column_int64(s, 0), history_text(s, 1),
		(long long)n1, (long long)one->runs, (long long)n2, (long long)two->runs);
	if (change == GONE)
		chance = history_chance((uint64_t)n1, (uint64_t)one->runs, (uint64_t)two->runs);
	else if (change == NEW)
		chance = history_chance((uint64_t)n2, (uint64_t)two->runs, (uint64_t)one->runs);
	if (chance >= 1)
		base_buf_printf(out, ": by chance in %.0f%%, if nothing has changed", chance);
	base_buf_puts(out, "\n");
}

static void compare_json(cJSON *all, sqlite3_stmt *s, enum change change)
{
	cJSON *o = cJSON_CreateObject();

	add_print(o, sqlite3_column_int64(s, 0));
	cJSON_AddStringToObject(o, "change", words[change]);
	cJSON_AddStringToObject(o, "text", history_text(s, 1));
	cJSON_AddNumberToObject(o, "runs_before", (double)sqlite3_column_int64(s, 2));
	cJSON_AddNumberToObject(o, "runs_after", (double)sqlite3_column_int64(s, 3));
	cJSON_AddItemToArray(all, o);
}

int history_compare(struct history *h, const char *first, const char *second, bool is_json,
		    struct base_buf *out, uint64_t *nnew)
{
	struct set one = {first, 0}, two = {second, 0};
	uint64_t n[CHANGES] = {0};
	sqlite3_stmt *s = NULL;
	int rc = make_set(h, "one", &one), more = 0;
	cJSON *o = cJSON_CreateObject(), *all = cJSON_AddArrayToObject(o, "findings");

	if (!rc)
		rc = make_set(h, "two", &two);
	if (!rc)
		s = history_prepare(
			h, "WITH a AS (SELECT finding, count(*) n FROM one CROSS JOIN sightings"
			   " ON run = one.id GROUP BY finding),"
			   " b AS (SELECT finding, count(*) n FROM two CROSS JOIN sightings"
			   " ON run = two.id GROUP BY finding)"
			   " SELECT print, line, ifnull(a.n, 0) x, ifnull(b.n, 0) y FROM findings"
			   " LEFT JOIN a ON a.finding = id LEFT JOIN b ON b.finding = id"
			   " WHERE x + y > 0 ORDER BY x > 0, y > 0, line");
	while (s && (more = history_step(h, s)) == 1) {
		enum change change = change_of(&one, &two, sqlite3_column_int64(s, 2),
					       sqlite3_column_int64(s, 3));
		n[change]++;
		if (is_json)
			compare_json(all, s, change);
		else
			compare_text(out, s, change, &one, &two);
	}
	sqlite3_finalize(s);
	*nnew = n[NEW];
	if (!rc && is_json) {
		cJSON_AddNumberToObject(o, "runs_before", (double)one.runs);
		cJSON_AddNumberToObject(o, "runs_after", (double)two.runs);
		history_put_json(out, o);
	} else {
		cJSON_Delete(o);
		if (!rc)
			base_buf_printf(out, "%llu new, %llu gone, %llu flaky, %llu still there\n",
					(unsigned long long)n[NEW], (unsigned long long)n[GONE],
					(unsigned long long)n[FLAKY], (unsigned long long)n[STILL]);
	}
	return rc ? rc : !s || more < 0 ? BASE_EXIT_INPUT : 0;
}

/* ---- unchecked ---------------------------------------------------------------------------- */

int history_unchecked(struct history *h, bool is_json, struct base_buf *out)
{
	cJSON *o = cJSON_CreateObject(), *all = cJSON_AddArrayToObject(o, "modules");
	int64_t never = 0, sites = 0;
	int more = 0;
	sqlite3_stmt *s = history_prepare(
		h, "SELECT module, target, t.hash, runs, count(*), sum(checked = 0), min(checked)"
		   " FROM tables t JOIN sites s ON s.hash = t.hash GROUP BY t.hash"
		   " ORDER BY sum(checked = 0) DESC, module, target");

	while (s && (more = history_step(h, s)) == 1) {
		int64_t n = sqlite3_column_int64(s, 4), un = sqlite3_column_int64(s, 5);
		int64_t runs = sqlite3_column_int64(s, 3);
		never += un;
		sites += n;
		if (!is_json) {
			base_buf_printf(
				out, "%s (%s): %lld of %lld site%s never checked in %lld run%s\n",
				history_text(s, 0), history_text(s, 1), (long long)un, (long long)n,
				history_s(n), (long long)runs, history_s(runs));
			continue;
		}
		cJSON *m = cJSON_CreateObject();
		cJSON_AddStringToObject(m, "module", history_text(s, 0));
		cJSON_AddStringToObject(m, "target", history_text(s, 1));
		cJSON_AddNumberToObject(m, "runs", (double)runs);
		cJSON_AddNumberToObject(m, "sites", (double)n);
		cJSON_AddNumberToObject(m, "never_checked", (double)un);
		cJSON_AddItemToArray(all, m);
	}
	sqlite3_finalize(s);
	if (is_json) {
		history_put_json(out, o);
	} else {
		cJSON_Delete(o);
		base_buf_printf(out, "%lld of %lld site%s never checked%s\n", (long long)never,
				(long long)sites, history_s(sites),
				sites ? "" : ": no run was added with its --coverage");
	}
	return !s || more < 0 ? BASE_EXIT_INPUT : 0;
}
