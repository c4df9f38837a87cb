/*
 * bisect.c - between which commits a finding came: history_bisect.
 *
 * Commits with runs are put in order (the caller's, that of git; else that of their first runs).
 * The finding came after the newest commit all of whose runs are older than its first sighting and
 * don't have it. A race may be there and not show: the chance that the runs of that commit missed
 * it is computed from the share of runs that see it where it is known to be, and said. Commits
 * between the two that have no run are where to go on; the middle one is named.
 */
#include "history/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct point {
	const char *commit;
	int64_t runs, seen; /* of the commit's runs; runs 0: it has none */
};

struct bisect {
	struct base_arena arena;
	int64_t finding;
	const char *line;
	BASE_VEC(struct point) points; /* oldest first */
	size_t good, bad;	       /* of points; good SIZE_MAX: none without it before */
};

static int find_finding(struct history *h, struct bisect *b, const char *text)
{
	char low[17] = "0000000000000000", high[17] = "ffffffffffffffff", *end;
	size_t n = strlen(text);
	sqlite3_stmt *s;

	if (n >= 4 && n <= 16) {
		memcpy(low, text, n);
		memcpy(high, text, n);
	}
	uint64_t from = strtoull(low, &end, 16);
	if (n < 4 || n > 16 || *end || strspn(text, "0123456789abcdefABCDEF") != n) {
		base_say("error: found '%s', expected a fingerprint: 4 to 16 hexadecimal digits",
			 text);
		return BASE_EXIT_USAGE;
	}
	uint64_t to = strtoull(high, NULL, 16);
	/* Prints are stored as signed numbers; a prefix never spans both signs. */
	s = history_prepare(h, "SELECT id, line FROM findings WHERE print BETWEEN ?1 AND ?2");
	if (!s)
		return BASE_EXIT_INPUT;
	sqlite3_bind_int64(s, 1, (int64_t)from);
	sqlite3_bind_int64(s, 2, (int64_t)to);
	int found = history_step(h, s);
	if (found == 1) {
		b->finding = sqlite3_column_int64(s, 0);
		b->line = base_strdup(&b->arena, history_text(s, 1));
		found += history_step(h, s) == 1;
	}
	sqlite3_finalize(s);
	if (found == 1)
		return 0;
	if (found >= 0)
		base_say("error: %s: %s '%s'", h->path,
			 found ? "several findings' fingerprints begin with"
			       : "no finding's fingerprint begins with",
			 text);
	return BASE_EXIT_INPUT;
}

/* The commits with runs, by the time of their first one. */
static int read_points(struct history *h, struct bisect *b)
{
	sqlite3_stmt *s =
		history_prepare(h, "SELECT commit_id, count(*), count(finding) FROM runs LEFT JOIN"
				   " sightings ON run = id AND finding = ?1 WHERE commit_id != ''"
				   " GROUP BY commit_id ORDER BY min(at)");
	int more = 0;

	if (!s)
		return BASE_EXIT_INPUT;
	sqlite3_bind_int64(s, 1, b->finding);
	while ((more = history_step(h, s)) == 1) {
		struct point p = {base_strdup(&b->arena, history_text(s, 0)),
				  sqlite3_column_int64(s, 1), sqlite3_column_int64(s, 2)};
		base_vec_push(&b->points, p);
	}
	sqlite3_finalize(s);
	return more < 0 ? BASE_EXIT_INPUT : 0;
}

/* In git's order, with the commits between that have no run. Those that git doesn't name, and those
 * with changes of their own, are left out. */
static void put_in_order(struct bisect *b, const char *const *order, size_t norder)
{
	BASE_VEC(struct point) to = {0};

	for (size_t i = 0; i < norder; i++) {
		struct point p = {order[i], 0, 0};
		for (size_t k = 0; k < b->points.n; k++)
			if (!strcmp(b->points.v[k].commit, order[i]))
				p = b->points.v[k];
		base_vec_push(&to, p);
	}
	base_vec_free(&b->points);
	b->points.v = to.v;
	b->points.n = to.n;
	b->points.cap = to.cap;
}

/* Returns false if no commit has the finding. */
static bool find_step(struct bisect *b)
{
	b->good = SIZE_MAX;
	for (b->bad = 0; b->bad < b->points.n && !b->points.v[b->bad].seen; b->bad++)
		if (b->points.v[b->bad].runs)
			b->good = b->bad;
	return b->bad < b->points.n;
}

static void put_text(const struct bisect *b, struct base_arena *a, struct base_buf *out)
{
	const struct point *bad = &b->points.v[b->bad];

	base_buf_printf(out, "%s\nfirst seen in %s, in %lld of %lld runs\n", b->line,
			history_short(a, bad->commit), (long long)bad->seen, (long long)bad->runs);
	if (b->good == SIZE_MAX) {
		base_buf_puts(out, "no older commit has a run\n");
		return;
	}
	const struct point *good = &b->points.v[b->good];
	size_t between = b->bad - b->good - 1;
	base_buf_printf(out, "last commit without it: %s, %lld run%s",
			history_short(a, good->commit), (long long)good->runs,
			history_s(good->runs));
	double chance =
		history_chance((uint64_t)bad->seen, (uint64_t)bad->runs, (uint64_t)good->runs);
	if (chance >= 1)
		base_buf_printf(out, ", which would miss it by chance in %.0f%%", chance);
	base_buf_puts(out, "\n");
	if (between)
		base_buf_printf(out, "%zu commit%s between %s no run; the middle: %s\n", between,
				between == 1 ? "" : "s", between == 1 ? "has" : "have",
				b->points.v[b->good + (between + 1) / 2].commit);
	else
		base_buf_printf(out, "it came with %s\n", bad->commit);
}

static void put_json(const struct bisect *b, struct base_buf *out)
{
	const struct point *bad = &b->points.v[b->bad];
	cJSON *o = cJSON_CreateObject();

	cJSON_AddStringToObject(o, "text", b->line);
	cJSON_AddStringToObject(o, "first_with", bad->commit);
	cJSON_AddNumberToObject(o, "runs_with", (double)bad->runs);
	cJSON_AddNumberToObject(o, "seen", (double)bad->seen);
	if (b->good != SIZE_MAX) {
		const struct point *good = &b->points.v[b->good];
		size_t between = b->bad - b->good - 1;
		cJSON_AddStringToObject(o, "last_without", good->commit);
		cJSON_AddNumberToObject(o, "runs_without", (double)good->runs);
		cJSON_AddNumberToObject(o, "between", (double)between);
		if (between)
			cJSON_AddStringToObject(o, "next",
						b->points.v[b->good + (between + 1) / 2].commit);
	}
	history_put_json(out, o);
}

int history_bisect(struct history *h, const char *fingerprint, const char *const *order,
		   size_t norder, bool is_json, struct base_buf *out)
{
	struct bisect b = {0};
	int rc = find_finding(h, &b, fingerprint);

	if (!rc)
		rc = read_points(h, &b);
	if (!rc && norder)
		put_in_order(&b, order, norder);
	if (!rc && !find_step(&b)) {
		base_say("error: %s: no run of a commit%s has the finding", h->path,
			 norder ? " of this repository" : "");
		rc = BASE_EXIT_INPUT;
	} else if (!rc && is_json) {
		put_json(&b, out);
	} else if (!rc) {
		put_text(&b, &b.arena, out);
	}
	base_vec_free(&b.points);
	base_arena_free(&b.arena);
	return rc;
}
