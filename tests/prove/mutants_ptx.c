/*
 * mutants_ptx.c - texts that are nearly PTX, through the CPU device's loader and through prove:
 * each may be refused, and nothing may die of it.
 *
 *   mutants_ptx FROM COUNT PROVE FILE.ptx...
 *
 * Number FROM and the COUNT - 1 after it; of PROVE one is analysed. A mutant is one of the files
 * with one to three changes of its statements: a token is gone, doubled, exchanged for one of
 * another statement, brackets are gone, a number is another one, a type is; a line is gone,
 * doubled. What the parser and the verifier accept is loaded, each kernel decoded, and analysed by
 * prove's children. A batch runs in a process of its own, so that a signal is seen with its number.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cpu/load/load.h"
#include "prove/prove.h"
#include "race/proof/proof.h"

#define BATCH 100

static uint64_t state;

static unsigned draw(unsigned n)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return n ? (unsigned)(state >> 33) % n : 0;
}

struct lines {
	BASE_VEC(char *) v;
};

static bool is_token(char c)
{
	return c == '%' || c == '_' || c == '$' || c == '.' || (c >= '0' && c <= '9') ||
	       (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The k-th token of the line, its length in *n; NULL: there are fewer. */
static char *token(char *s, unsigned k, size_t *n)
{
	while (*s) {
		while (*s && !is_token(*s))
			s++;
		for (*n = 0; is_token(s[*n]);)
			++*n;
		if (*n && !k--)
			return s;
		s += *n;
	}
	return NULL;
}

static unsigned tokens(char *s)
{
	size_t n;
	unsigned k = 0;

	while (token(s, k, &n))
		k++;
	return k;
}

static char *replaced(struct base_arena *a, const char *s, const char *at, size_t n, const char *by,
		      size_t len)
{
	return base_printf(a, "%.*s%.*s%s", (int)(at - s), s, (int)len, by, at + n);
}

/* A statement of a body: its first word is an opcode or a guard. */
static bool is_statement(const char *s)
{
	s += strspn(s, " \t");
	return strchr(s, ';') && (*s == '@' || (*s >= 'a' && *s <= 'z'));
}

static char **pick(struct lines *l)
{
	for (unsigned i = 0; i < 100; i++) {
		char **s = &l->v.v[draw((unsigned)l->v.n)];
		if (is_statement(*s))
			return s;
	}
	return &l->v.v[draw((unsigned)l->v.n)];
}

static void mutate(struct lines *l, struct base_arena *a)
{
	static const char *const numbers[] = {
		"-1", "0", "7", "0x7fffffff", "0x8000000000000000", "99999999999"};
	static const char *const types[] = {".u8",  ".b16",  ".u32",  ".s64",  ".f32",
					    ".f64", ".b128", ".pred", ".f16x2"};
	char **s = pick(l), **t = pick(l), *at, *other;
	size_t n = 0, m = 0;

	at = token(*s, draw(tokens(*s)), &n);
	other = token(*t, draw(tokens(*t)), &m);
	if (!at || !other)
		return;
	switch (draw(9)) {
	case 0: /* with the comma before it */
		if (at > *s + 1 && at[-2] == ',')
			at -= 2, n += 2;
		*s = replaced(a, *s, at, n, "", 0);
		break;
	case 1:
		*s = replaced(a, *s, at, n, other, m);
		break;
	case 2: {
		const char *bracket = strchr(*s, '[');
		if (bracket)
			*s = replaced(a, *s, bracket, 1, "", 0);
		bracket = strchr(*s, ']');
		if (bracket && draw(4))
			*s = replaced(a, *s, bracket, 1, "", 0);
		break;
	}
	case 3:
		for (unsigned k = 0; (at = token(*s, k, &n)); k++)
			if ((*at >= '0' && *at <= '9') && draw(2))
				break;
		other = (char *)(uintptr_t)numbers[draw(BASE_COUNTOF(numbers))];
		if (at)
			*s = replaced(a, *s, at, n, other, strlen(other));
		break;
	case 4: {
		const char *dot = strrchr(*s, '.'), *type = types[draw(BASE_COUNTOF(types))];
		if (dot)
			*s = replaced(a, *s, dot,
				      1 + strspn(dot + 1, "abcdefghijklmnopqrstuvwxyz0123456789"),
				      type, strlen(type));
		break;
	}
	case 5:
		*s = (char *)(uintptr_t) "";
		break;
	case 6:
		*s = base_printf(a, "%s\n%s", *s, *t);
		break;
	case 7: /* its opcode */
		at = token(*s, 0, &n);
		other = token(*t, 0, &m);
		*s = replaced(a, *s, at, n, other, m);
		break;
	default:
		*s = replaced(a, *s, at, n, base_printf(a, "%.*s, %.*s", (int)n, at, (int)m, other),
			      n + m + 2);
		break;
	}
}

static char *make(struct base_arena *a, const char *text, uint64_t number, size_t *size)
{
	struct base_buf out = {0};
	struct lines l = {0};
	char *copy = base_strdup(a, text), *rest = copy;

	state = number * 0x9e3779b97f4a7c15ull + 1;
	draw(1);
	for (char *s = strsep(&rest, "\n"); s; s = strsep(&rest, "\n"))
		base_vec_push(&l.v, s);
	for (unsigned k = 1 + draw(3); k; k--)
		mutate(&l, a);
	for (size_t i = 0; i < l.v.n; i++)
		base_buf_printf(&out, "%s\n", l.v.v[i]);
	base_vec_free(&l.v);
	*size = out.n;
	return out.p;
}

/* A kernel's analysis that ended by a signal; its own limits are none. */
static bool has_died(const struct race_proofs *r)
{
	for (size_t i = 0; i < r->kernels.n; i++)
		for (size_t k = 0; k < r->kernels.v[i].problems.n; k++)
			if (r->kernels.v[i].problems.v[k].cause == RACE_CAUSE_CRASH)
				return true;
	return false;
}

static bool prove(const char *text, size_t size)
{
	struct prove_options o = {.dim = {64, 1, 1, 2, 1, 1},
				  .level = {true, true, true, true},
				  .timeout_ms = 1000,
				  .memory_mb = 0}; /* the device has reserved much already */
	struct race_proofs r = {0};
	struct base_sink sink = {0};

	prove_text("mutant", text, size, &o, &r, &sink);
	bool is_good = !has_died(&r);
	base_sink_free(&sink);
	base_arena_free(&r.arena);
	return is_good;
}

struct shared {
	uint64_t number, accepted, died;
};

static void one(struct shared *sh, struct cpu_machine *m, const char *text, uint64_t number,
		uint64_t every)
{
	struct base_arena a = {0};
	struct base_sink sink = {0};
	size_t size;
	char *mutant = make(&a, text, number, &size);
	struct ptx_module *mod = ptx_parse(&a, "mutant", mutant, size, &sink);

	if (mod && !sink.errors && !ptx_verify(mod, &sink)) {
		struct cpu_module *loaded = cpu_module_load(m, 0, &mod, 1, &sink);
		sh->accepted++;
		for (size_t i = 0; loaded && i < loaded->kernels.n; i++)
			(void)cpu_kernel_ready(loaded->kernels.v[i]);
		cpu_module_unload(loaded);
		if (every && number % every == 0 && !prove(mutant, size)) {
			fprintf(stderr, "number %llu: an analysis died\n",
				(unsigned long long)number);
			sh->died++;
		}
	}
	base_sink_free(&sink);
	base_arena_free(&a);
	free(mutant);
}

static void batch(struct shared *sh, char **files, int nfiles, uint64_t from, uint64_t to,
		  uint64_t every)
{
	struct cpu_options opt = {.seed = 1, .threads = 1, .devices = 1};
	struct cpu_machine *m = cpu_machine_new(&opt);

	for (sh->number = from; m && sh->number < to; sh->number++) {
		char *text;
		size_t size;
		if (base_read_file(files[sh->number % (unsigned)nfiles], &text, &size))
			_exit(2);
		one(sh, m, text, sh->number, every);
		free(text);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	struct shared *sh =
		mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned bad = 0;

	if (argc < 5 || sh == MAP_FAILED)
		return 2;
	uint64_t at = strtoull(argv[1], NULL, 0), end = at + strtoull(argv[2], NULL, 0);
	uint64_t every = strtoull(argv[3], NULL, 0);
	if (every == 1 && argc == 5 && end == at + 1) { /* one is asked for: shown */
		struct base_arena a = {0};
		char *text;
		size_t size;
		if (base_read_file(argv[4], &text, &size))
			return 2;
		fputs(make(&a, text, at, &size), stdout);
	}
	while (at < end) {
		uint64_t to = at + BATCH < end ? at + BATCH : end;
		int status = 0;
		pid_t pid = fork();
		if (!pid)
			batch(sh, argv + 4, argc - 4, at, to, every);
		if (pid < 0 || waitpid(pid, &status, 0) != pid)
			return 2;
		at = to;
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			fprintf(stderr, "number %llu (%s): signal %d, exit code %d\n",
				(unsigned long long)sh->number,
				argv[4 + sh->number % (unsigned)(argc - 4)], WTERMSIG(status),
				WEXITSTATUS(status));
			at = sh->number + 1;
			bad++;
		}
	}
	printf("%llu accepted, %u deaths, %llu analyses died\n", (unsigned long long)sh->accepted,
	       bad, (unsigned long long)sh->died);
	return bad || sh->died;
}
