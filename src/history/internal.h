/*
 * internal.h - inside src/history: the open file (store.c) and what the questions share.
 */
#ifndef COLLIDER_HISTORY_INTERNAL_H
#define COLLIDER_HISTORY_INTERNAL_H

#include "history/history.h"

#include <cjson/cJSON.h>
#include <sqlite3.h>

struct history {
	sqlite3 *db;
	const char *path; /* the caller's */
};

/* Says what SQLite has found wrong; returns the exit code. */
int history_say(struct history *h);
/* A statement; NULL after saying why not. Finalized by the caller. */
sqlite3_stmt *history_prepare(struct history *h, const char *sql);
/* The next row: 1, none: 0, an error that was said: -1. */
int history_step(struct history *h, sqlite3_stmt *s);
/* The number that a statement gives; -1 after saying what is wrong. */
int64_t history_number(struct history *h, const char *sql);
/* A column's text; "" for NULL. */
const char *history_text(sqlite3_stmt *s, int column);

/* "" of one, else "s": the end of a noun. */
const char *history_s(int64_t n);
/* "2026-11-26" in UTC */
const char *history_day(struct base_arena *a, int64_t at);
/* A commit as it is shown: 12 characters, and "+" where it had changes of its own. */
const char *history_short(struct base_arena *a, const char *commit);
/* Appends an object as one line, and deletes it. */
void history_put_json(struct base_buf *out, cJSON *o);
/*
 * That a race which shows in `seen` of `runs` runs shows in none of `without`, by chance: in
 * percent, 0 to 100.
 */
double history_chance(uint64_t seen, uint64_t runs, uint64_t without);

#endif
