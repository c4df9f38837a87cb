/*
 * plain.c - HiRace's Algorithm 1 a second time, as plainly as possible.
 */
#include "plain.h"

#include <stdio.h>
#include <string.h>

#define ROWS 1200

static struct row {
	char access[4], sync[4], relation[4], state[16], next[16];
} rows[ROWS];

/* What the published table gets wrong, and what is right. */
static const struct row corrections[] = {
	{"BA", "W", "S", "READ", "WSYNC-ATOM"},		{"BA", "W", "W", "READ", "WSYNC-ATOM"},
	{"GA", "W", "S", "READ", "WSYNC-ATOM"},		{"GA", "W", "W", "READ", "WSYNC-ATOM"},
	{"BA", "B", "S", "READ", "BSYNC-ATOM"},		{"BA", "B", "W", "READ", "BSYNC-ATOM"},
	{"BA", "B", "B", "READ", "BSYNC-ATOM"},		{"GA", "B", "S", "READ", "BSYNC-ATOM"},
	{"GA", "B", "W", "READ", "BSYNC-ATOM"},		{"GA", "B", "B", "READ", "BSYNC-ATOM"},
	{"BA", "B", "S", "BATOM-B", "BATOM"},		{"BA", "B", "W", "BATOM-B", "BATOM"},
	{"GA", "B", "S", "BATOM-B", "BATOM"},		{"GA", "B", "W", "BATOM-B", "BATOM"},
	{"GA", "U", "W", "WSYNC-ATOM", "WSYNC-ATOM-M"},
};

static struct row *find(const char *state, const char *access, const char *sync,
			const char *relation)
{
	for (int i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].state, state) && !strcmp(rows[i].access, access) &&
		    !strcmp(rows[i].sync, sync) && !strcmp(rows[i].relation, relation))
			return &rows[i];
	fprintf(stderr, "no row %s %s %s %s\n", state, access, sync, relation);
	return NULL;
}

bool plain_read_table(const char *csv, bool is_corrected)
{
	FILE *f = fopen(csv, "r");
	char line[100];
	int n = 0;

	if (!f || !fgets(line, sizeof(line), f)) {
		perror(csv);
		return false;
	}
	for (; n < ROWS && fgets(line, sizeof(line), f); n++) {
		struct row *r = &rows[n];

		if (sscanf(line, "%3[^,],%3[^,],%3[^,],%15[^,],%15[^\n]", r->access, r->sync,
			   r->relation, r->state, r->next) != 5)
			break;
	}
	fclose(f);
	if (n != ROWS) {
		fprintf(stderr, "%s:%d: not a row of the table\n", csv, n + 2);
		return false;
	}
	for (size_t i = 0; is_corrected && i < sizeof(corrections) / sizeof(*corrections); i++) {
		const struct row *c = &corrections[i];

		strcpy(find(c->state, c->access, c->sync, c->relation)->next, c->next);
	}
	return true;
}

bool plain_update(struct plain_word *w, const struct plain_thread *t, const char *access)
{
	const char *state = w->state, *relation = "G", *sync = "U";
	const struct row *r;

	if (!state || w->launch != t->launch)
		state = "INIT";
	if (w->thread == t->thread)
		relation = "S";
	else if (w->warp == t->warp)
		relation = "W";
	else if (w->block == t->block)
		relation = "B";
	if (w->block_clock != t->block_clock)
		sync = "B";
	else if (w->warp_clock != t->warp_clock)
		sync = "W";
	r = find(state, access, sync, relation);
	w->state = r->next;
	w->thread = t->thread;
	w->block = t->block;
	w->warp = t->warp;
	w->block_clock = t->block_clock;
	w->warp_clock = t->warp_clock;
	w->launch = t->launch;
	return !strcmp(r->next, "RACE") && strcmp(state, "RACE") != 0;
}
