/*
 * soundness.c - are collide's and the oracle's words true? Random programs that say what they are.
 *
 *   soundness KERNELS [FIRST]    programs FIRST, FIRST+1, ...; every second one is racy
 *   soundness --self-test        are failures found, and reduced?
 *   soundness --kept FILE...     programs that failed once (kept/)
 *   soundness --print NUMBER     one of the random programs, as a file
 *
 * docs/soundness.md says what is demanded. A failing program is reduced and written to
 * soundness-NUMBER.ptx in the current folder.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "reduce.h"
#include "second.h"

#define SEEDS	 2u /* of each program and model */
#define FAILURES 5u /* then it stops */
#define SECONDS	 60 /* of the processor for one program: the longest take about one */

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "soundness: %s\n", what);
	exit(2);
}

/* ---- counts ------------------------------------------------------------------------------ */

/* Plants of one kind: in how many runs they were present, reported by the oracle, seen by
 * collide. */
struct tally {
	char what[32];
	uint64_t runs, told, seen, found;
};

static struct {
	uint64_t programs[2], runs[2]; /* race-free, racy */
	uint64_t judged[2];	       /* runs with an oracle */
	uint64_t reports, reported;    /* of collide; runs with some */
	uint64_t pairs, paired;	       /* of the oracle */
	uint64_t hidden, hidden_told;  /* racy runs without a plant that must be reported */
	uint64_t stmts[GEN_KINDS];     /* of race-free programs */
	struct tally tally[80];
	unsigned ntally;
} total;

static struct tally *tally_of(const char *what)
{
	for (unsigned i = 0; i < total.ntally; i++)
		if (!strcmp(total.tally[i].what, what))
			return &total.tally[i];
	if (total.ntally == sizeof(total.tally) / sizeof(*total.tally))
		die("too many kinds of plants");
	struct tally *t = &total.tally[total.ntally++];
	memcpy(t->what, what, sizeof(t->what));
	return t;
}

static void count(const struct program *p, const struct run_config *c, const struct run_result *r)
{
	bool is_judged = run_has_oracle(c->model);

	total.runs[p->is_racy]++;
	total.judged[p->is_racy] += is_judged;
	total.reports += r->reports;
	total.reported += r->reports > 0;
	total.pairs += r->pairs;
	total.paired += r->pairs > 0;
	if (!p->is_racy || !is_judged || !c->checked)
		return;
	total.hidden += !p->nplants;
	total.hidden_told += !p->nplants && r->pairs;
	for (unsigned i = 0; i < p->nplants; i++) {
		struct tally *t = tally_of(p->plant[i].what);
		t->runs++;
		t->told += r->told >> i & 1;
		t->seen += r->seen >> i & 1;
		t->found += r->found >> i & 1;
	}
}

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct tally *)a)->what, ((const struct tally *)b)->what);
}

static void print_counts(void)
{
	for (unsigned i = 0; i < 2; i++)
		printf("%s: %" PRIu64 " programs, %" PRIu64 " runs, %" PRIu64
		       " of them judged by the oracle\n",
		       i ? "racy" : "race-free", total.programs[i], total.runs[i], total.judged[i]);
	printf("reports of the detector: %" PRIu64 " in %" PRIu64
	       " runs; pairs of the oracle: %" PRIu64 " in %" PRIu64 " runs\n",
	       total.reports, total.reported, total.pairs, total.paired);
	printf("racy runs without a race that no schedule hides: %" PRIu64
	       ", the oracle told %" PRIu64 "\n",
	       total.hidden, total.hidden_told);
	printf("second judge: %" PRIu64 " bytes race where barriers decide\n", second_racy_bytes());
	printf("statements of race-free programs:");
	for (unsigned i = 0; i < GEN_KINDS; i++)
		printf(" %s %" PRIu64, gen_kind_names[i], total.stmts[i]);
	printf("\nplanted races: kind/way, instrumented runs, told by the oracle, seen by "
	       "the detector, seen at least as possible\n");
	qsort(total.tally, total.ntally, sizeof(*total.tally), by_name);
	for (unsigned i = 0; i < total.ntally; i++)
		printf("  %-14s %6" PRIu64 " %6" PRIu64 " %6" PRIu64 " %6" PRIu64 "\n",
		       total.tally[i].what, total.tally[i].runs, total.tally[i].told,
		       total.tally[i].seen, total.tally[i].found);
}

/* ---- failures ---------------------------------------------------------------------------- */

static void print_failure(const char *name, const struct program *p, const struct reduce_case *c,
			  const struct run_result *r)
{
	printf("FAILED: %s (%s), %s, model %s, seed %" PRIu64 ": %s: %s\n", name,
	       p->is_racy ? "racy" : "race-free", c->is_plain ? "plain" : "instrumented",
	       run_model_names[c->model], c->seed, run_verdict_names[r->verdict], r->text);
}

static void write_file(const char *path, const struct gen_program *k, uint64_t seed)
{
	struct base_buf out = {0};
	struct program p = {.seed = seed};
	FILE *f = fopen(path, "w");

	gen_print(k, &p);
	program_print(&p, &out);
	if (!f || fwrite(out.p, 1, out.n, f) != out.n || fclose(f))
		die("the reduced program cannot be written");
	base_buf_free(&out);
	program_free(&p);
}

static void tell(struct gen_program *k, uint64_t number, struct reduce_case *c,
		 const struct run_result *r)
{
	struct program p = {.is_racy = k->is_racy};
	char name[64];
	unsigned was = reduce_size(k);

	snprintf(name, sizeof(name), "program %" PRIu64, number);
	print_failure(name, &p, c, r);
	reduce_program(k, c, r->verdict);
	struct run_result now = reduce_run(k, c);
	snprintf(name, sizeof(name), "soundness-%" PRIu64 ".ptx", number);
	write_file(name, k, c->seed);
	printf("reduced from %u statements to %u, seed %" PRIu64 ": %s: %s\n"
	       "see %s; mend what is wrong, then keep it as a test:\n"
	       "  cp %s tests/cpu/soundness/kept/\n",
	       was, reduce_size(k), c->seed, run_verdict_names[now.verdict], now.text, name, name);
}

/* A program that says it hangs, rather than a time limit of the whole test. */
static char current[64];

static void on_limit(int signal)
{
	static const char text[] = ": no end after a minute of work\n";

	(void)signal;
	if (write(STDOUT_FILENO, current, strlen(current)) < 0 ||
	    write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
		_exit(3);
	_exit(1);
}

static void set_limit(time_t seconds)
{
	struct itimerval t = {.it_value = {.tv_sec = seconds}};

	setitimer(ITIMER_VIRTUAL, &t, NULL);
}

static struct run_result check(const struct gen_program *k, uint64_t number, enum run_damage damage,
			       struct reduce_case *c, bool is_counted)
{
	struct program p = {0};
	unsigned char *expected = NULL;

	snprintf(current, sizeof(current), "FAILED: program %" PRIu64, number);
	set_limit(SECONDS);
	gen_print(k, &p);
	if (!k->is_racy) {
		expected = malloc(program_memory(&p));
		if (!expected)
			die("no memory");
		program_initial(&p, expected);
		gen_expect(k, &p, expected);
	}
	struct reduce_case start = {.seed = number * SEEDS + 1, .damage = damage};
	struct run_result r =
		reduce_check(&p, &start, SEEDS, expected, c, is_counted ? count : NULL);
	free(expected);
	program_free(&p);
	set_limit(0);
	return r;
}

/* An interrupt ends the run after the program that it is at: the counts are printed. */
static volatile sig_atomic_t is_stopped;

static void on_interrupt(int signal)
{
	(void)signal;
	is_stopped = 1;
}

static int run_numbers(uint64_t first, uint64_t n)
{
	unsigned failures = 0;

	signal(SIGINT, on_interrupt);
	for (uint64_t i = first; i < first + n && failures < FAILURES && !is_stopped; i++) {
		struct gen_program k;
		struct reduce_case c;
		gen_draw(&k, i, i & 1, run_has_history() && i & 2);
		struct run_result r = check(&k, i, RUN_WHOLE, &c, true);
		total.programs[i & 1]++;
		for (unsigned j = 0; j < k.n && !k.is_racy; j++)
			total.stmts[k.stmt[j].kind]++;
		if (r.verdict != RUN_FINE)
			tell(&k, i, &c, &r);
		failures += r.verdict != RUN_FINE;
	}
	print_counts();
	printf("%u failures\n", failures);
	if (n >= 100 && !is_stopped &&
	    (!total.reports || !total.pairs || !total.ntally ||
	     (run_has_history() && !second_racy_bytes()))) {
		printf("FAILED: no report, pair or plant in so many programs: nothing was "
		       "tested\n");
		return 1;
	}
	return failures || is_stopped;
}

/* ---- kept ones --------------------------------------------------------------------------- */

static void read_kept(const char *path, struct program *p)
{
	struct base_buf text = {0};
	FILE *f = fopen(path, "r");
	char part[4096];
	size_t n;

	while (f && (n = fread(part, 1, sizeof(part), f)) > 0)
		base_buf_put(&text, part, n);
	if (!f || fclose(f))
		die("the file cannot be read");
	base_buf_put(&text, "", 1);
	const char *why = program_read(text.p, text.n - 1, p);
	base_buf_free(&text);
	if (why)
		die(why);
}

/* What a race-free one computes is what it computes without instrumentation. */
static int run_kept(const char *path)
{
	struct program p = {0};
	struct reduce_case c;
	struct run_result r;

	read_kept(path, &p);
	r = reduce_check(&p, &(struct reduce_case){.seed = 1}, 8, NULL, &c, NULL);
	if (r.verdict == RUN_FINE && p.seed)
		r = reduce_check(&p, &(struct reduce_case){.seed = p.seed}, 1, NULL, &c, NULL);
	if (r.verdict != RUN_FINE)
		print_failure(path, &p, &c, &r);
	program_free(&p);
	return r.verdict != RUN_FINE;
}

/* ---- the self-test ----------------------------------------------------------------------- */

#define TRIES 3u /* of each hook */

struct hook {
	const char *name;
	bool is_racy, drops, claims; /* what is drawn, and what is done to it */
	enum run_damage damage;
	enum run_verdict verdicts[2]; /* one of them must come out */
	unsigned most;		      /* statements that may be left */
};

static const struct hook hooks[] = {
	{"a race-free program without one of its orders",
	 false,
	 true,
	 false,
	 RUN_WHOLE,
	 {RUN_FALSE_PAIR, RUN_FALSE_PAIR},
	 1},
	{"a planted race that isn't there",
	 true,
	 false,
	 true,
	 RUN_WHOLE,
	 {RUN_MISSED, RUN_MISSED},
	 1},
	{"a re-read beside the access, race-free",
	 false,
	 false,
	 false,
	 RUN_REREAD,
	 {RUN_FALSE_REPORT, RUN_FALSE_REPORT},
	 1},
	{"a re-read beside the access, racy",
	 true,
	 false,
	 false,
	 RUN_REREAD,
	 {RUN_UNCONFIRMED, RUN_UNCONFIRMED},
	 1},
	{"instrumentation that changes a value",
	 false,
	 false,
	 false,
	 RUN_VALUE,
	 {RUN_DIFFERENT, RUN_DIFFERENT},
	 1},
};

/* The reduced program, read back from its file, fails in the same way. */
static bool fails_as_file(const char *path, const struct reduce_case *c, enum run_verdict verdict)
{
	struct program p = {0};
	struct run_config plain = {.seed = c->seed};

	read_kept(path, &p);
	unsigned char *mem = malloc(program_memory(&p));
	if (!mem)
		die("no memory");
	run_program(&p, &plain, NULL, mem);
	struct run_result r = reduce_rerun(&p, c, mem);
	free(mem);
	program_free(&p);
	return r.verdict == verdict;
}

/* 0: failed and was reduced as it should; 1: not; -1: nothing of this program can be broken. */
static int try_hook(const struct hook *h, uint64_t number)
{
	struct gen_program k;
	struct reduce_case c;
	uint64_t random = number;
	char path[64];

	gen_draw(&k, number, h->is_racy, false);
	if (check(&k, number, RUN_WHOLE, &c, false).verdict != RUN_FINE) {
		printf("FAILED: program %" PRIu64 " fails as it is\n", number);
		return 1;
	}
	if (h->drops && !gen_break(&k, &random))
		return -1;
	k.claims = h->claims;
	struct run_result r = check(&k, number, h->damage, &c, false);
	if (r.verdict == RUN_FINE && h->is_racy)
		return -1; /* its races aren't certain, or all its lines race */
	if (r.verdict != h->verdicts[0] && r.verdict != h->verdicts[1]) {
		printf("FAILED: %s, program %" PRIu64 ": %s: %s\n", h->name, number,
		       run_verdict_names[r.verdict], r.text);
		return 1;
	}
	unsigned was = reduce_size(&k);
	reduce_program(&k, &c, r.verdict);
	snprintf(path, sizeof(path), "selftest-%td-%" PRIu64 ".ptx", h - hooks, number);
	write_file(path, &k, c.seed);
	bool is_ok = reduce_size(&k) < was && reduce_size(&k) <= h->most;
	if (!is_ok)
		printf("FAILED: %s, program %" PRIu64 ": reduced from %u to %u statements\n",
		       h->name, number, was, reduce_size(&k));
	if (!fails_as_file(path, &c, r.verdict)) {
		printf("FAILED: %s: %s doesn't fail as program %" PRIu64 " did\n", h->name, path,
		       number);
		is_ok = false;
	}
	if (is_ok)
		printf("%s: program %" PRIu64 ": %s; %u statements, then %u\n", h->name, number,
		       run_verdict_names[r.verdict], was, reduce_size(&k));
	return !is_ok;
}

static int self_test(void)
{
	int failures = 0;

	for (size_t i = 0; i < sizeof(hooks) / sizeof(*hooks); i++) {
		unsigned tried = 0;
		for (uint64_t n = 0; n < 40 && tried < TRIES; n++) {
			int r = try_hook(&hooks[i], 100000 + 2 * n + hooks[i].is_racy);
			tried += r >= 0;
			failures += r > 0;
		}
		if (tried < TRIES) {
			printf("FAILED: %s: tried with %u programs only\n", hooks[i].name, tried);
			failures++;
		}
	}
	return failures != 0;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	int failures = 0;

	signal(SIGVTALRM, on_limit);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 2 && !strcmp(argv[1], "--self-test"))
		return self_test();
	if (argc > 2 && !strcmp(argv[1], "--kept")) {
		for (int i = 2; i < argc; i++)
			failures |= run_kept(argv[i]);
		return failures;
	}
	if (argc == 3 && !strcmp(argv[1], "--print")) {
		struct gen_program k;
		gen_draw(&k, first, first & 1, false);
		write_file("/dev/stdout", &k, 0);
		return 0;
	}
	if (!n) {
		fprintf(stderr, "usage: soundness KERNELS [FIRST] | --self-test | --kept FILE... | "
				"--print NUMBER\n");
		return 2;
	}
	return run_numbers(first, n);
}
