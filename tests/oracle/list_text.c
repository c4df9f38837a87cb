/*
 * list_text.c - lists of events as text (list.h): one line for each event.
 *
 *	grid 1 device 0 blocks 8 threads 64 cluster 2	grid 1's threads, see below
 *	actors A=1.0.0 B=1.2.33			short names: grid.block.thread
 *	A st.relaxed.gpu x			OP: ld, st, atom, red; a failed cas is an ld
 *	W: B ld.b16 y+2				a label; .b8 to .b64, b32 if none
 *	B ld.relaxed.gpu x saw W	the write that a stale read saw; `saw 0`: an older one
 *	A/5 st x x+4			lanes 0 and 2 of A's warp (hexadecimal), their addresses
 *	A fence.sc.gpu;  A proxy.shared;  A/3 syncwarp;  A proxy.tmap x		the map at x
 *	A fence.release.cluster.mbar	mbarrier_init
 *	A,B,C bar 0				all arrive, then all leave
 *	A arrive 0 [GENERATION] [relaxed];  A leave 0 [GENERATION]
 *	A mbarrive.release.cta m 0;  B mbwait.acquire.cta m 0	object, phase
 *	A fork p1;  p1 ld.async x;  A join p1;  A joinread p1
 *	h1 host;  h1 submit 5;  depend 6 5;  start 5 grid 1;  start 6 copy c1;  end 5;  h1 wait 5
 *	forget x 4;  A free x 4;  A malloc x 4
 *
 * Modifiers of accesses: semantics, scope, size, .volatile (relaxed.sys), .nc, .async, .tmap,
 * .tex (proxies), .shared (where the bytes are), .mbar (the object of an mbarrier).
 */
#include "list.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_PSEUDO 30000u
#define FIRST_HOST   31000u
#define FIRST_COPY   32000u

struct word {
	const char *text;
	uint8_t value;
};

static const struct word semantics[] = {
	{"weak", RACE_WEAK},	   {"relaxed", RACE_RELAXED}, {"acquire", RACE_ACQUIRE},
	{"release", RACE_RELEASE}, {"acq_rel", RACE_ACQ_REL}, {"sc", RACE_SC},
};
static const struct word scopes[] = {
	{"cta", RACE_SCOPE_CTA},
	{"cluster", RACE_SCOPE_CLUSTER},
	{"gpu", RACE_SCOPE_GPU},
	{"sys", RACE_SCOPE_SYS},
};
static const struct word proxies[] = {
	{"async", RACE_PROXY_ASYNC},
	{"tmap", RACE_PROXY_TENSORMAP},
	{"tex", RACE_PROXY_TEXTURE},
};
static const struct word sizes[] = {{"b8", 1}, {"b16", 2}, {"b32", 4}, {"b64", 8}, {"b128", 16}};
static const struct word flags[] = {
	{"volatile", ORACLE_VOLATILE}, {"nc", ORACLE_NC},	 {"shared", ORACLE_SHARED},
	{"mbar", ORACLE_MBARRIER},     {"ins", ORACLE_INSERTED},
};
static const struct word kinds[] = {{"global", ORACLE_PROXY_GLOBAL},
				    {"shared", ORACLE_PROXY_SHARED},
				    {"tmap", ORACLE_PROXY_TMAP},
				    {"tmaprel", ORACLE_PROXY_TMAP_RELEASE},
				    {"all", ORACLE_PROXY_ALL}};
static const struct word accesses[] = {
	{"ld", RACE_OP_READ}, {"st", RACE_OP_WRITE}, {"atom", RACE_OP_RMW}, {"red", RACE_OP_RMW}};
/* A word, then numbers or actors. */
static const struct word plain[] = {
	{"syncwarp", EVENT_WARP_SYNC}, {"arrive", EVENT_ARRIVE},      {"leave", EVENT_LEAVE},
	{"fork", EVENT_FORK},	       {"join", EVENT_JOIN},	      {"joinread", EVENT_JOIN},
	{"host", EVENT_HOST},	       {"submit", EVENT_SUBMIT},      {"wait", EVENT_HOST_WAIT},
	{"fence", EVENT_FENCE},	       {"proxy", EVENT_PROXY},	      {"mbarrive", EVENT_MB_ARRIVE},
	{"mbwait", EVENT_MB_WAIT},     {"malloc", EVENT_HEAP_ALLOC},  {"free", EVENT_HEAP_FREE},
	{"depend", EVENT_DEPEND},      {"start", EVENT_START},	      {"end", EVENT_END},
	{"forget", EVENT_FORGET},      {"blockend", EVENT_BLOCK_END},
};

#define COUNT(t)    (sizeof(t) / sizeof((t)[0]))
#define FIND(t, s)  find(t, COUNT(t), s)
#define NAME(t, v)  name(t, COUNT(t), v)
#define MAX_WORDS   48
#define IS_OP(a, b) (!strcmp(a, b))

static struct {
	char name[LIST_LABEL];
	uint32_t actor;
} aliases[32];
static unsigned naliases;

static int find(const struct word *t, size_t n, const char *s)
{
	for (size_t i = 0; i < n; i++)
		if (IS_OP(t[i].text, s))
			return t[i].value;
	return -1;
}

static const char *name(const struct word *t, size_t n, unsigned value)
{
	for (size_t i = 0; i < n; i++)
		if (t[i].value == value)
			return t[i].text;
	return "?";
}

/* ---- parse -------------------------------------------------------------------- */

static bool parse_thread(const struct list *l, const char *s, uint32_t *actor)
{
	unsigned g, b, t;

	for (unsigned i = 0; i < naliases; i++)
		if (IS_OP(aliases[i].name, s)) {
			*actor = aliases[i].actor;
			return true;
		}
	if (sscanf(s, "%u.%u.%u", &g, &b, &t) == 3 && g >= 1 && g <= LIST_GRIDS) {
		*actor = g * LIST_GRID + b * ((l->grids[g - 1].block_threads + 31) / 32 * 32) + t;
		return true;
	}
	if (strchr("phc", s[0]) && s[1] >= '0' && s[1] <= '9') {
		*actor = (uint32_t)atoi(s + 1) + (s[0] == 'p'	? FIRST_PSEUDO
						  : s[0] == 'h' ? FIRST_HOST
								: FIRST_COPY);
		return true;
	}
	return false;
}

/* ACTOR or ACTOR/MASK: then the actor is its warp's lane 0. */
static bool parse_actor(const struct list *l, char *s, struct list_event *e)
{
	char *slash = strchr(s, '/');

	if (slash)
		*slash = 0;
	if (!parse_thread(l, s, &e->actor))
		return false;
	if (slash) {
		e->mask = (uint32_t)strtoul(slash + 1, NULL, 16);
		e->actor -= e->actor % 32;
	}
	return true;
}

static bool parse_address(const char *s, uint64_t *address)
{
	if (s[0] < 'a' || s[0] > 'z' || (s[1] && s[1] != '+'))
		return false;
	*address = LIST_MEMORY + (uint64_t)(s[0] - 'a') * LIST_SPACING;
	if (s[1])
		*address += (uint64_t)atoi(s + 2);
	return true;
}

static bool parse_modifier(const char *m, struct list_event *e)
{
	int v;

	if ((v = FIND(semantics, m)) >= 0) {
		e->strength = (uint8_t)v;
	} else if ((v = FIND(scopes, m)) >= 0) {
		e->scope = (uint8_t)v;
	} else if ((v = FIND(sizes, m)) >= 0) {
		e->bytes = (uint64_t)v;
	} else if ((v = FIND(proxies, m)) >= 0) {
		e->proxy = (uint8_t)v;
	} else if ((v = FIND(flags, m)) >= 0) {
		e->flags |= (uint8_t)v;
	} else {
		return false;
	}
	if (e->flags & ORACLE_VOLATILE) {
		e->strength = RACE_RELAXED;
		e->scope = RACE_SCOPE_SYS;
	}
	return true;
}

/* OP.MODIFIER... in place. */
static bool parse_op(char *s, struct list_event *e)
{
	char *save, *op = strtok_r(s, ".", &save);
	int kind = FIND(accesses, op), type = FIND(plain, op);

	if (kind < 0 && type < 0)
		return false;
	e->type = kind >= 0 ? EVENT_ACCESS : (uint8_t)type;
	if (kind >= 0) {
		e->kind = (uint8_t)kind;
		e->bytes = 4;
	}
	if (kind == RACE_OP_RMW) {
		e->strength = RACE_RELAXED;
		e->scope = RACE_SCOPE_GPU;
	}
	if (IS_OP(op, "red"))
		e->flags |= ORACLE_RED;
	if (IS_OP(op, "joinread"))
		e->join = ORACLE_JOIN_READ;
	for (char *m; (m = strtok_r(NULL, ".", &save));) {
		int v = FIND(kinds, m);

		if (type == EVENT_PROXY && v >= 0)
			e->proxy_kinds |= (uint8_t)v;
		else if (!parse_modifier(m, e))
			return false;
	}
	return true;
}

static int find_label(const struct list *l, const char *s)
{
	for (size_t i = 0; i < l->n; i++)
		if (l->labels[i][0] && IS_OP(l->labels[i], s))
			return (int)i;
	return -1;
}

static bool parse_saw(const struct list *l, const char *s, struct list_event *e)
{
	int w = find_label(l, s);

	e->flags |= ORACLE_SAW;
	if (w < 0)
		return IS_OP(s, "0");
	e->saw = l->e[w].id;
	return true;
}

static bool parse_access(struct list *l, struct list_event *e, char **w, unsigned n)
{
	unsigned lane = 0;

	if (!e->mask) {
		if (n < 1 || !parse_address(w[0], &e->address))
			return false;
		w++;
		n--;
	}
	for (; n && e->mask && !IS_OP(w[0], "saw"); w++, n--, lane++) {
		while (lane < 32 && !(e->mask >> lane & 1))
			lane++;
		if (lane >= 32 || !parse_address(w[0], &l->addresses[e - l->e][lane]))
			return false;
	}
	if (!e->mask && (e->kind & RACE_OP_WRITE))
		e->id = (uint64_t)(e - l->e) + 1;
	if (n == 2 && IS_OP(w[0], "saw"))
		return parse_saw(l, w[1], e);
	return n == 0;
}

/* What follows ACTOR OP, or OP. */
static bool parse_rest(struct list *l, struct list_event *e, char **w, unsigned n)
{
	uint64_t a = n > 0 ? strtoull(w[0], NULL, 10) : 0;
	uint64_t b = n > 1 ? strtoull(w[1], NULL, 10) : 0;

	switch (e->type) {
	case EVENT_ACCESS:
		return parse_access(l, e, w, n);
	case EVENT_PROXY:
		if (!(e->proxy_kinds & ORACLE_PROXY_TMAP))
			return n == 0;
		if (n != 1 || !parse_address(w[0], &e->address))
			return false;
		for (unsigned i = 0; i < ORACLE_LANES; i++)
			l->addresses[e - l->e][i] = e->address;
		return true;
	case EVENT_FORK:
	case EVENT_JOIN:
		return n == 1 && parse_thread(l, w[0], &e->other);
	case EVENT_ARRIVE:
		e->flags = ORACLE_BAR_RELEASE;
		if (n && IS_OP(w[n - 1], "relaxed"))
			e->flags = 0;
		e->key = a;
		e->key2 = b;
		return n >= 1;
	case EVENT_LEAVE:
	case EVENT_DEPEND:
		e->key2 = b;
		e->key = a;
		return n >= 1;
	case EVENT_SUBMIT:
	case EVENT_HOST_WAIT:
	case EVENT_END:
		e->key = a;
		return n == 1;
	case EVENT_START:
		e->key = a;
		e->actor = ORACLE_NO_ACTOR;
		if (n == 3 && IS_OP(w[1], "copy"))
			return parse_thread(l, w[2], &e->other);
		e->actor = (uint32_t)(n == 3 ? atoi(w[2]) : 0) * LIST_GRID;
		return n == 3;
	case EVENT_MB_ARRIVE:
	case EVENT_MB_WAIT:
		e->key2 = b;
		return n == 2 && parse_address(w[0], &e->address);
	case EVENT_FORGET:
	case EVENT_HEAP_ALLOC:
	case EVENT_HEAP_FREE:
		e->bytes = b;
		return n == 2 && parse_address(w[0], &e->address);
	default:
		return n == 0;
	}
}

static bool parse_grid(struct list *l, char **w, unsigned n)
{
	unsigned number = n == 10 ? (unsigned)atoi(w[1]) : 0;
	struct oracle_grid *g;
	struct list_event *e;

	if (number < 1 || number > LIST_GRIDS || !(e = list_add(l, EVENT_GRID)))
		return false;
	g = &l->grids[number - 1];
	memset(g, 0, sizeof(*g));
	g->grid = number;
	g->device = (uint32_t)atoi(w[3]);
	g->blocks = (uint32_t)atoi(w[5]);
	g->block_threads = (uint32_t)atoi(w[7]);
	g->cluster_blocks = (uint32_t)atoi(w[9]);
	e->other = number * LIST_GRID;
	return g->blocks && g->block_threads && g->cluster_blocks;
}

static bool parse_actors(const struct list *l, char **w, unsigned n)
{
	naliases = 0;
	for (unsigned i = 1; i < n && naliases < COUNT(aliases); i++) {
		char *eq = strchr(w[i], '=');
		uint32_t actor;

		if (!eq || eq - w[i] >= LIST_LABEL || !parse_thread(l, eq + 1, &actor))
			return false;
		*eq = 0;
		memcpy(aliases[naliases].name, w[i], (size_t)(eq - w[i]) + 1);
		aliases[naliases++].actor = actor;
	}
	return true;
}

/* Uses of the barrier so far: the next generation. */
static bool parse_bar(struct list *l, char *actors, uint64_t key)
{
	uint64_t generation = 0;
	char copy[256];

	for (size_t i = 0; i < l->n; i++)
		if (l->e[i].type == EVENT_LEAVE && l->e[i].key == key)
			generation = l->e[i].key2 + 1;
	for (int leaves = 0; leaves < 2; leaves++) {
		char *save;

		snprintf(copy, sizeof(copy), "%s", actors);
		for (char *a = strtok_r(copy, ",", &save); a; a = strtok_r(NULL, ",", &save)) {
			struct list_event *e = list_add(l, leaves ? EVENT_LEAVE : EVENT_ARRIVE);

			if (!e || !parse_actor(l, a, e))
				return false;
			e->key = key;
			e->key2 = generation;
			e->flags = leaves ? 0 : ORACLE_BAR_RELEASE;
		}
	}
	return true;
}

static bool parse_event(struct list *l, char **w, unsigned n)
{
	static const char *const alone[] = {"depend", "start", "end", "forget"};
	struct list_event *e;

	if (n == 3 && IS_OP(w[1], "bar"))
		return parse_bar(l, w[0], strtoull(w[2], NULL, 10));
	e = list_add(l, EVENT_TYPES);
	if (!e)
		return false;
	for (unsigned i = 0; i < COUNT(alone); i++)
		if (IS_OP(alone[i], w[0]))
			return parse_op(w[0], e) && parse_rest(l, e, w + 1, n - 1);
	return n >= 2 && parse_actor(l, w[0], e) && parse_op(w[1], e) &&
	       parse_rest(l, e, w + 2, n - 2);
}

bool list_parse_line(struct list *l, char *line)
{
	char *w[MAX_WORDS], *save, *hash = strchr(line, '#');
	char label[LIST_LABEL] = "";
	unsigned n = 0, at = 0;
	size_t before = l->n;

	if (hash)
		*hash = 0;
	for (char *s = strtok_r(line, " \t\n", &save); s && n < MAX_WORDS;
	     s = strtok_r(NULL, " \t\n", &save))
		w[n++] = s;
	if (!n)
		return true;
	if (w[0][strlen(w[0]) - 1] == ':') {
		snprintf(label, sizeof(label), "%.*s", (int)strlen(w[0]) - 1, w[0]);
		at = 1;
	}
	if (n == at)
		return false;
	if (IS_OP(w[at], "grid")     ? !parse_grid(l, w + at, n - at)
	    : IS_OP(w[at], "actors") ? !parse_actors(l, w + at, n - at)
				     : !parse_event(l, w + at, n - at))
		return false;
	if (l->n > before)
		memcpy(l->labels[l->n - 1], label, sizeof(label));
	list_fix(l);
	return true;
}

/* ---- print -------------------------------------------------------------------- */

static void print_actor(const struct list *l, uint32_t actor, FILE *f)
{
	const struct oracle_grid *g = &l->grids[actor / LIST_GRID - 1];
	uint32_t stride;

	if (actor >= FIRST_COPY) {
		fprintf(f, "c%u", actor - FIRST_COPY);
	} else if (actor >= FIRST_HOST) {
		fprintf(f, "h%u", actor - FIRST_HOST);
	} else if (actor >= FIRST_PSEUDO) {
		fprintf(f, "p%u", actor - FIRST_PSEUDO);
	} else {
		stride = (g->block_threads + 31) / 32 * 32;
		fprintf(f, "%u.%u.%u", actor / LIST_GRID, actor % LIST_GRID / stride,
			actor % LIST_GRID % stride);
	}
}

static void print_address(uint64_t a, FILE *f)
{
	uint64_t n = a - LIST_MEMORY;

	fprintf(f, " %c", (char)('a' + n / LIST_SPACING));
	if (n % LIST_SPACING)
		fprintf(f, "+%u", (unsigned)(n % LIST_SPACING));
}

static void print_access(const struct list *l, const struct list_event *e, FILE *f)
{
	static const char *const ops[] = {"", "ld", "st", "atom"};

	fputs(e->flags & ORACLE_RED ? "red" : ops[e->kind], f);
	if (e->flags & ORACLE_VOLATILE)
		fputs(".volatile", f);
	else if (e->strength != RACE_WEAK)
		fprintf(f, ".%s.%s", NAME(semantics, e->strength), NAME(scopes, e->scope));
	fprintf(f, ".%s", NAME(sizes, (unsigned)e->bytes));
	if (e->proxy)
		fprintf(f, ".%s", NAME(proxies, e->proxy));
	for (unsigned i = 1; i < COUNT(flags); i++)
		if (e->flags & flags[i].value)
			fprintf(f, ".%s", flags[i].text);
	for (unsigned i = 0; i < ORACLE_LANES && e->mask; i++)
		if (e->mask >> i & 1)
			print_address(e->addresses[i], f);
	if (!e->mask)
		print_address(e->address, f);
	if (!(e->flags & ORACLE_SAW))
		return;
	for (size_t i = 0; i < l->n; i++)
		if (e->saw && l->e[i].id == e->saw) {
			fprintf(f, " saw L%zu", i + 1);
			return;
		}
	fputs(" saw 0", f);
}

static void print_ranges(const struct list_event *e, FILE *f)
{
	print_address(e->address, f);
	fprintf(f, " %u", (unsigned)e->bytes);
}

static void print_words(const struct list *l, const struct list_event *e, FILE *f)
{
	switch (e->type) {
	case EVENT_ACCESS:
		print_access(l, e, f);
		return;
	case EVENT_JOIN:
	case EVENT_FORK:
		fprintf(f, "%s ",
			e->type == EVENT_FORK	      ? "fork"
			: e->join == ORACLE_JOIN_READ ? "joinread"
						      : "join");
		print_actor(l, e->other, f);
		return;
	case EVENT_FENCE:
		fprintf(f, "fence.%s.%s%s", NAME(semantics, e->strength), NAME(scopes, e->scope),
			e->flags & ORACLE_MBARRIER ? ".mbar" : "");
		return;
	case EVENT_PROXY:
		fputs("proxy", f);
		for (unsigned i = 0; i < 4; i++)
			if (e->proxy_kinds & kinds[i].value)
				fprintf(f, ".%s", kinds[i].text);
		if (e->proxy_kinds & ORACLE_PROXY_TMAP)
			print_address(e->address, f);
		return;
	default:
		fputs(NAME(plain, e->type), f);
	}
	switch (e->type) {
	case EVENT_MB_ARRIVE:
	case EVENT_MB_WAIT:
		fprintf(f, ".%s.%s", NAME(semantics, e->strength), NAME(scopes, e->scope));
		print_address(e->address, f);
		fprintf(f, " %u", (unsigned)e->key2);
		break;
	case EVENT_ARRIVE:
	case EVENT_LEAVE:
	case EVENT_DEPEND:
		fprintf(f, " %u %u", (unsigned)e->key, (unsigned)e->key2);
		if (e->type == EVENT_ARRIVE && !(e->flags & ORACLE_BAR_RELEASE))
			fputs(" relaxed", f);
		break;
	case EVENT_FORGET:
	case EVENT_HEAP_ALLOC:
	case EVENT_HEAP_FREE:
		print_ranges(e, f);
		break;
	case EVENT_HOST:
	case EVENT_WARP_SYNC:
	case EVENT_BLOCK_END:
		break;
	default:
		fprintf(f, " %u", (unsigned)e->key);
	}
}

void list_print(const struct list *l, FILE *f)
{
	for (size_t i = 0; i < l->n; i++) {
		const struct list_event *e = &l->e[i];

		if (e->type == EVENT_GRID) {
			fprintf(f, "grid %u device %u blocks %u threads %u cluster %u\n",
				(unsigned)e->grid->grid, e->grid->device, e->grid->blocks,
				e->grid->block_threads, e->grid->cluster_blocks);
			continue;
		}
		fprintf(f, "L%zu: ", i + 1);
		if (e->type == EVENT_START && e->other) {
			fprintf(f, "start %u copy ", (unsigned)e->key);
			print_actor(l, e->other, f);
		} else if (e->type == EVENT_START) {
			fprintf(f, "start %u grid %u", (unsigned)e->key, e->actor / LIST_GRID);
		} else {
			bool is_alone = e->type == EVENT_DEPEND || e->type == EVENT_END ||
					e->type == EVENT_FORGET;

			if (!is_alone)
				print_actor(l, e->actor, f);
			if (e->mask)
				fprintf(f, "/%x", e->mask);
			if (!is_alone)
				fputc(' ', f);
			print_words(l, e, f);
		}
		fputc('\n', f);
	}
}
