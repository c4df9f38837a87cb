/*
 * store.c - the history's file: its tables, and how a run gets into them.
 *
 *	runs       one row a run: when, commit, command, seed, verdict, accesses checked
 *	findings   one row a fingerprint: its last words, first and last run, how many runs saw it
 *	sightings  which run saw which finding
 *	tables     one row a site table (by content hash): module, target, sites, runs that noted it
 *	sites      how many runs checked a site
 *
 * A run's findings are those that its report would show by default, each once. What a list shows
 * is kept beside the finding, so that no question reads all sightings.
 *
 * SQLite's rollback journal, not its write-ahead log, which needs shared memory and fails on
 * network file systems. Costs: about 40 bytes a sighting.
 */
#include "history/internal.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define APPLICATION 0x436f6c6c /* "Coll", in SQLite's header */
#define VERSION	    1
#define WAIT_MS	    30000 /* for another writer */

static const char schema[] =
	"CREATE TABLE runs(id INTEGER PRIMARY KEY, content INTEGER UNIQUE, at INTEGER, commit_id "
	"TEXT,"
	" command TEXT, seed INTEGER, verdict INTEGER, checked INTEGER);"
	"CREATE INDEX runs_by_commit ON runs(commit_id);"
	"CREATE INDEX runs_by_time ON runs(at);"
	"CREATE TABLE findings(id INTEGER PRIMARY KEY, print INTEGER UNIQUE, rule TEXT, line TEXT,"
	" first INTEGER, last INTEGER, seen INTEGER);"
	"CREATE TABLE sightings(finding INTEGER, run INTEGER, PRIMARY KEY(finding, run)) WITHOUT "
	"ROWID;"
	"CREATE INDEX sightings_by_run ON sightings(run);"
	"CREATE TABLE tables(hash INTEGER PRIMARY KEY, module TEXT, target TEXT, nsites INTEGER,"
	" runs INTEGER);"
	"CREATE TABLE sites(hash INTEGER, site INTEGER, checked INTEGER, PRIMARY KEY(hash, site))"
	" WITHOUT ROWID;";

/* ---- SQLite ------------------------------------------------------------------------------- */

int history_say(struct history *h)
{
	base_say("error: %s: %s", h->path, sqlite3_errmsg(h->db));
	return sqlite3_errcode(h->db) == SQLITE_FULL || sqlite3_errcode(h->db) == SQLITE_IOERR
		       ? BASE_EXIT_ENV
		       : BASE_EXIT_INPUT;
}

sqlite3_stmt *history_prepare(struct history *h, const char *sql)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(h->db, sql, -1, &s, NULL) != SQLITE_OK)
		history_say(h);
	return s;
}

int history_step(struct history *h, sqlite3_stmt *s)
{
	int rc = sqlite3_step(s);

	if (rc == SQLITE_ROW)
		return 1;
	if (rc == SQLITE_DONE)
		return 0;
	history_say(h);
	return -1;
}

const char *history_text(sqlite3_stmt *s, int column)
{
	const unsigned char *text = sqlite3_column_text(s, column);

	return text ? (const char *)text : "";
}

static int do_sql(struct history *h, const char *sql)
{
	return sqlite3_exec(h->db, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : history_say(h);
}

int64_t history_number(struct history *h, const char *sql)
{
	sqlite3_stmt *s = history_prepare(h, sql);
	int64_t n = s && history_step(h, s) == 1 ? sqlite3_column_int64(s, 0) : -1;

	sqlite3_finalize(s);
	return n;
}

/* ---- opening ------------------------------------------------------------------------------ */

/* A file of ours, of this version; an empty one gets the tables. */
static int check_schema(struct history *h)
{
	int64_t app = history_number(h, "PRAGMA application_id");
	int64_t version = app < 0 ? -1 : history_number(h, "PRAGMA user_version");
	int64_t size = version < 0 ? -1 : history_number(h, "SELECT count(*) FROM sqlite_master");
	struct base_buf sql = {0};
	int rc = size < 0 ? BASE_EXIT_INPUT : 0;

	if (!rc && !size && !sqlite3_db_readonly(h->db, "main")) {
		base_buf_printf(
			&sql,
			"BEGIN IMMEDIATE; PRAGMA application_id=%d; PRAGMA user_version=%d; "
			"%s COMMIT;",
			APPLICATION, VERSION, schema);
		rc = do_sql(h, sql.p);
		base_buf_free(&sql);
	} else if (!rc && app != APPLICATION) {
		base_say("error: %s: found another kind of file, expected a history", h->path);
		rc = BASE_EXIT_INPUT;
	} else if (!rc && version != VERSION) {
		base_say("error: %s: found version %lld of a history, expected %d", h->path,
			 (long long)version, VERSION);
		rc = BASE_EXIT_INPUT;
	}
	return rc;
}

int history_open(struct history **out, const char *path, bool is_new_ok)
{
	struct history *h = base_calloc(1, sizeof(*h));
	int flags = is_new_ok ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
	int rc = 0;

	*out = NULL;
	h->path = path;
	if (!is_new_ok && access(path, R_OK)) {
		base_say("error: --db: %s: %s", path, strerror(errno));
		rc = BASE_EXIT_INPUT;
	} else if (sqlite3_open_v2(path, &h->db, flags, NULL) != SQLITE_OK) {
		rc = history_say(h);
	} else {
		sqlite3_busy_timeout(h->db, WAIT_MS);
		rc = check_schema(h);
	}
	if (rc)
		history_close(h);
	else
		*out = h;
	return rc;
}

void history_close(struct history *h)
{
	if (!h)
		return;
	sqlite3_close(h->db);
	free(h);
}

int history_begin(struct history *h)
{
	return do_sql(h, "BEGIN IMMEDIATE");
}

int history_commit(struct history *h)
{
	return do_sql(h, "COMMIT");
}

/* ---- adding a run ------------------------------------------------------------------------- */

/* Executes an insert with the values that `bind` are for: i an int64_t, s a text. */
static int insert(struct history *h, const char *sql, const char *kinds, ...)
{
	sqlite3_stmt *s = history_prepare(h, sql);
	va_list ap;
	int rc;

	if (!s)
		return BASE_EXIT_INPUT;
	va_start(ap, kinds);
	for (int i = 0; kinds[i]; i++) {
		if (kinds[i] == 'i')
			sqlite3_bind_int64(s, i + 1, va_arg(ap, int64_t));
		else
			sqlite3_bind_text(s, i + 1, va_arg(ap, const char *), -1, SQLITE_TRANSIENT);
	}
	va_end(ap);
	rc = history_step(h, s) < 0 ? BASE_EXIT_INPUT : 0;
	sqlite3_finalize(s);
	return rc;
}

static int add_finding(struct history *h, const struct rep_brief *f, int64_t run)
{
	int rc = insert(h,
			"INSERT INTO findings(print, rule, line, first, last, seen)"
			" VALUES(?1, ?2, ?3, ?4, ?4, 0)"
			" ON CONFLICT(print) DO UPDATE SET line = ?3",
			"issi", (int64_t)f->print, f->rule, f->line, run);

	if (!rc)
		rc = insert(h,
			    "INSERT OR IGNORE INTO sightings"
			    " SELECT id, ?2 FROM findings WHERE print = ?1",
			    "ii", (int64_t)f->print, run);
	if (!rc && sqlite3_changes(h->db))
		/* Runs are added in any order: first and last go by their time. */
		rc = insert(h,
			    "UPDATE findings SET seen = seen + 1,"
			    " first = CASE WHEN (SELECT at FROM runs WHERE id = ?2)"
			    " < (SELECT at FROM runs WHERE id = first) THEN ?2 ELSE first END,"
			    " last = CASE WHEN (SELECT at FROM runs WHERE id = ?2)"
			    " >= (SELECT at FROM runs WHERE id = last) THEN ?2 ELSE last END"
			    " WHERE print = ?1",
			    "ii", (int64_t)f->print, run);
	return rc;
}

static int add_table(struct history *h, const struct race_coverage *t, uint32_t runs)
{
	int rc = insert(h,
			"INSERT INTO tables VALUES(?1, ?2, ?3, ?4, ?5)"
			" ON CONFLICT(hash) DO UPDATE SET runs = runs + ?5",
			"issii", (int64_t)t->table, t->module, t->target, (int64_t)t->nsites,
			(int64_t)runs);
	sqlite3_stmt *s = rc ? NULL
			     : history_prepare(h, "INSERT INTO sites VALUES(?1, ?2, ?3)"
						  " ON CONFLICT(hash, site)"
						  " DO UPDATE SET checked = checked + ?3");

	for (uint32_t i = 0; i < t->nsites && !rc; i++) {
		sqlite3_bind_int64(s, 1, (int64_t)t->table);
		sqlite3_bind_int64(s, 2, i);
		sqlite3_bind_int64(s, 3, t->checked[i]);
		rc = history_step(h, s) < 0 ? BASE_EXIT_INPUT : 0;
		sqlite3_reset(s);
	}
	sqlite3_finalize(s);
	return rc;
}

int history_add(struct history *h, const struct history_run *run, bool *was_new)
{
	const struct race_results *r = run->results;
	const struct rep_options plain = {0};
	struct base_arena a = {0};
	struct rep_brief *all;
	int rc = insert(h,
			"INSERT OR IGNORE INTO runs(content, at, commit_id, command, seed, verdict,"
			" checked) VALUES(?, ?, ?, ?, ?, ?, ?)",
			"iissiii", (int64_t)run->content, run->at, run->commit,
			r->command ? r->command : "", (int64_t)r->seed,
			(int64_t)rep_get_verdict(r, &plain), (int64_t)r->checked);
	*was_new = !rc && sqlite3_changes(h->db) > 0;
	if (!*was_new)
		return rc;
	int64_t id = sqlite3_last_insert_rowid(h->db);
	size_t n = rep_briefs(&a, r, &all);

	for (size_t i = 0; i < n && !rc; i++)
		rc = add_finding(h, &all[i], id);
	for (size_t i = 0; run->coverage && i < run->coverage->tables.n && !rc; i++)
		rc = add_table(h, &run->coverage->tables.v[i], run->coverage->runs);
	base_arena_free(&a);
	return rc;
}

/* ---- what the questions share --------------------------------------------------------------- */

const char *history_s(int64_t n)
{
	return n == 1 ? "" : "s";
}

const char *history_day(struct base_arena *a, int64_t at)
{
	time_t t = (time_t)at;
	struct tm tm;
	char text[32] = "unknown";

	if (gmtime_r(&t, &tm))
		strftime(text, sizeof(text), "%Y-%m-%d", &tm);
	return base_strdup(a, text);
}

void history_put_json(struct base_buf *out, cJSON *o)
{
	char *text = cJSON_PrintUnformatted(o);

	base_buf_printf(out, "%s\n", text);
	cJSON_free(text);
	cJSON_Delete(o);
}

const char *history_short(struct base_arena *a, const char *commit)
{
	size_t n = strcspn(commit, "+");

	if (!*commit)
		return "-";
	return base_printf(a, "%.12s%s", commit, commit[n] ? "+" : "");
}

double history_chance(uint64_t seen, uint64_t runs, uint64_t without)
{
	return 100 * pow(1 - (double)seen / (double)(runs ? runs : 1), (double)without);
}
