/*
 * litmus.c - litmus tests of the PTX memory model, each judged by the oracle and by the manual.
 *
 *	litmus [-n] FILE...		-n: only by the manual (naive.c)
 *
 * A file holds tests; list_text.c explains the lines of events. A test is one execution, in the
 * order in which its accesses take effect:
 *
 *	test NAME
 *	...events; without a grid line: grid 1 of 8 blocks of 64 threads, clusters of 2, device 0,
 *	and actors A=1.0.0 B=1.2.0 C=1.4.0 D=1.6.0 (four clusters), a=1.0.1 (A's warp),
 *	b=1.0.32 (A's block), c=1.1.0 (A's cluster)
 *	race W R			labels; all racing pairs must be reported
 *	norace
 *
 * race@program and norace@program hold only where fence.sc is ordered as far as forced,
 * @execution only in the order of the schedule; without either for both.
 */
#include "list.h"

#include <stdlib.h>
#include <string.h>

#define MAX_EXPECTED 64

struct test {
	char name[64];
	struct list list;
	struct {
		char first[LIST_LABEL], second[LIST_LABEL];
		bool in[2]; /* enum oracle_sc */
	} expected[MAX_EXPECTED];
	unsigned nexpected;
	bool is_told[2];
};

static bool is_by_manual_only;
static unsigned ntests, nfailed;

static unsigned find_label(const struct list *l, const char *s)
{
	for (unsigned i = 0; i < l->n; i++)
		if (!strcmp(l->labels[i], s))
			return i;
	return NAIVE_EVENTS;
}

static bool is_expected(const struct test *t, enum oracle_sc sc, const struct naive_pair *p)
{
	for (unsigned i = 0; i < t->nexpected; i++)
		if (t->expected[i].in[sc] &&
		    find_label(&t->list, t->expected[i].first) == p->first &&
		    find_label(&t->list, t->expected[i].second) == p->second)
			return true;
	return false;
}

static bool is_found(const struct test *t, unsigned i, const struct naive_result *r)
{
	for (unsigned k = 0; k < r->npairs; k++)
		if (find_label(&t->list, t->expected[i].first) == r->pairs[k].first &&
		    find_label(&t->list, t->expected[i].second) == r->pairs[k].second)
			return true;
	return false;
}

static void check(const struct test *t, enum oracle_sc sc)
{
	static struct naive_result r;
	const char *mode = sc == ORACLE_SC_PROGRAM ? "program" : "execution", *diff;
	bool is_ok = true;

	naive_judge(t->list.e, t->list.n, sc, &r);
	if (r.is_too_long || !t->is_told[sc]) {
		printf("%s (%s): %s\n", t->name, mode,
		       r.is_too_long ? "not judged" : "no race or norace line");
		is_ok = false;
	}
	for (unsigned i = 0; i < r.npairs; i++)
		if (!is_expected(t, sc, &r.pairs[i])) {
			printf("%s (%s): manual: events %u and %u race, not expected\n", t->name,
			       mode, r.pairs[i].first + 1, r.pairs[i].second + 1);
			is_ok = false;
		}
	for (unsigned i = 0; i < t->nexpected; i++)
		if (t->expected[i].in[sc] && !is_found(t, i, &r)) {
			printf("%s (%s): manual: %s and %s expected to race, they don't\n", t->name,
			       mode, t->expected[i].first, t->expected[i].second);
			is_ok = false;
		}
	diff = is_by_manual_only ? NULL : list_compare(&t->list, sc);
	if (diff) {
		printf("%s (%s): %s\n", t->name, mode, diff);
		is_ok = false;
	}
	if (!is_ok)
		list_print(&t->list, stdout);
	nfailed += !is_ok;
}

static void finish(struct test *t)
{
	if (!t->name[0])
		return;
	ntests++;
	check(t, ORACLE_SC_PROGRAM);
	check(t, ORACLE_SC_EXECUTION);
	t->name[0] = 0;
}

static void begin(struct test *t, const char *name)
{
	memset(t, 0, sizeof(*t));
	snprintf(t->name, sizeof(t->name), "%s", name);
}

/* race[@MODE] [LABEL LABEL], norace[@MODE]. Returns false for other lines. */
static bool parse_expectation(struct test *t, const char *line)
{
	char op[24] = "", x[LIST_LABEL] = "", y[LIST_LABEL] = "";
	int n = sscanf(line, " %23s %15s %15s", op, x, y);
	bool is_program = !strstr(op, "@execution"), is_execution = !strstr(op, "@program");
	bool is_race = n == 3 && !strncmp(op, "race", 4);

	if (!is_race && strncmp(op, "norace", 6) != 0)
		return false;
	t->is_told[ORACLE_SC_PROGRAM] |= is_program;
	t->is_told[ORACLE_SC_EXECUTION] |= is_execution;
	if (!is_race || t->nexpected == MAX_EXPECTED)
		return true;
	memcpy(t->expected[t->nexpected].first, x, LIST_LABEL);
	memcpy(t->expected[t->nexpected].second, y, LIST_LABEL);
	t->expected[t->nexpected].in[ORACLE_SC_PROGRAM] = is_program;
	t->expected[t->nexpected++].in[ORACLE_SC_EXECUTION] = is_execution;
	return true;
}

/* The first line of a test that makes no grid. */
static bool make_default_grid(struct list *l, const char *line)
{
	char grid[] = "grid 1 device 0 blocks 8 threads 64 cluster 2";
	char start[] = "start 1 grid 1";
	char actors[] = "actors A=1.0.0 B=1.2.0 C=1.4.0 D=1.6.0 a=1.0.1 b=1.0.32 c=1.1.0";

	if (l->n || !line[strspn(line, " \t\n")] || line[0] == '#' || !strncmp(line, "grid", 4))
		return true;
	return list_parse_line(l, grid) && list_parse_line(l, start) && list_parse_line(l, actors);
}

static bool read_file(const char *path)
{
	static struct test t;
	FILE *f = fopen(path, "r");
	char line[512], name[64];
	unsigned number = 0;

	if (!f) {
		perror(path);
		return false;
	}
	t.name[0] = 0;
	while (fgets(line, sizeof(line), f)) {
		number++;
		if (sscanf(line, "test %63s", name) == 1) {
			finish(&t);
			begin(&t, name);
			continue;
		}
		if (t.name[0] && parse_expectation(&t, line))
			continue;
		if (!make_default_grid(&t.list, line) || !list_parse_line(&t.list, line)) {
			printf("%s:%u: not understood\n", path, number);
			fclose(f);
			return false;
		}
	}
	fclose(f);
	finish(&t);
	return true;
}

int main(int argc, char **argv)
{
	bool is_ok = true;

	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-n"))
			is_by_manual_only = true;
		else
			is_ok &= read_file(argv[i]);
	}
	printf("%u tests, %u failed\n", ntests, nfailed);
	return is_ok && ntests && !nfailed ? 0 : 1;
}
