/*
 * nvtx.c - in which of the ranges that --nvtx-include and --nvtx-exclude name is this thread?
 *
 * A range's name is compared when it begins, and two bits say which lists have it. Ranges that are
 * pushed and popped count for their thread; those that are started and ended, by any thread, for
 * all threads of the process. So a launch asks for two counts. NVTX's numbers (tables, functions,
 * attributes) are its interface for tools and don't change.
 *
 * Misses: ranges below DEEP that a thread has pushed; those of extended payloads.
 * Costs: a comparison of names for each range that begins; nothing for a program whose run names no
 * ranges, as nothing listens then.
 */
#include "race/file/nvtx.h"
#include "race/file/shm_write.h"
#include "race/race.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

/* ---- NVTX's interface ------------------------------------------------------------------- */

enum { TABLE_CALLBACKS = 1, MODULE_CORE = 1, MODULE_CORE2 = 5 };

typedef void any_fn(void);

struct callbacks {
	size_t size;
	int (*get)(int module, any_fn ****table, unsigned *size);
};

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	uint32_t reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

RACE_STATIC_ASSERT(sizeof(struct attributes) == 48, "nvtxEventAttributes_t");

enum { MESSAGE_ASCII = 1, MESSAGE_WIDE = 2, MESSAGE_REGISTERED = 3 };

/* ---- names ------------------------------------------------------------------------------ */

/* A domain or a registered string; never freed, as ranges may name it as long as they like. */
struct named {
	struct named *next;
	char text[];
};

static struct named *all_named; /* so that a leak checker sees them */

static struct named *keep(const char *text)
{
	size_t n = strlen(text) + 1;
	struct named *d = malloc(sizeof(*d) + n);

	if (!d)
		return NULL;
	memcpy(d->text, text, n);
	d->next = __atomic_load_n(&all_named, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&all_named, &d->next, d, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
	return d;
}

#define NAME_MAX_BYTES 512

/* What isn't ASCII becomes '?', which is a pattern's character for any one. */
static const char *narrow(const wchar_t *w, char *out)
{
	size_t n = 0;

	for (; w && *w && n + 1 < NAME_MAX_BYTES; w++)
		out[n++] = *w > 0 && *w < 128 ? (char)*w : '?';
	out[n] = 0;
	return out;
}

static const char *message(const struct attributes *a, char *room)
{
	if (!a || !a->message)
		return "";
	if (a->message_type == MESSAGE_WIDE)
		return narrow(a->message, room);
	if (a->message_type == MESSAGE_REGISTERED)
		return ((const struct named *)a->message)->text;
	return a->message_type == MESSAGE_ASCII ? a->message : "";
}

/* ---- ranges ----------------------------------------------------------------------------- */

#define DEEP	 64u
#define INCLUDED 1u
#define EXCLUDED 2u

/* Those that a thread has pushed. */
struct pushed {
	const struct named *domain[DEEP];
	uint8_t bits[DEEP];
	uint32_t n, lost;
	uint32_t in, out;
};

static __thread struct pushed mine;
static uint32_t started_in, started_out, last_started; /* of the process; atomic */

/* Which lists name the range? "DOMAIN@NAME"; of the default domain NAME or "@NAME". */
static uint8_t bits_of(const struct named *domain, const char *name)
{
	char full[2 * NAME_MAX_BYTES];
	const char *names[2] = {full, full};
	struct race_shm *shm = race_shm_get();
	const char *list;
	uint8_t bits = 0;

	if (!shm)
		return 0;
	snprintf(full, sizeof(full), "%s@%s", domain ? domain->text : "", name);
	names[1] = domain ? full : name;
	list = race_choice_list(RACE_CHOICE_NVTX_INCLUDE);
	if (list && race_names_are_listed(list, names, 2))
		bits |= INCLUDED;
	list = race_choice_list(RACE_CHOICE_NVTX_EXCLUDE);
	if (list && race_names_are_listed(list, names, 2))
		bits |= EXCLUDED;
	if (bits)
		__atomic_fetch_or(&shm->choice.ranges, bits, __ATOMIC_RELAXED);
	return bits;
}

static int push(const struct named *domain, const char *name)
{
	uint8_t bits = bits_of(domain, name);

	if (mine.n == DEEP) {
		mine.lost++;
		return (int)(mine.n + mine.lost) - 1;
	}
	mine.domain[mine.n] = domain;
	mine.bits[mine.n] = bits;
	mine.in += bits & INCLUDED;
	mine.out += bits / EXCLUDED;
	return (int)mine.n++;
}

/* The innermost of the domain. */
static int pop(const struct named *domain)
{
	uint32_t i = mine.n;

	if (mine.lost) {
		mine.lost--;
		return (int)(mine.n + mine.lost);
	}
	while (i && mine.domain[i - 1] != domain)
		i--;
	if (!i)
		return -1;
	mine.in -= mine.bits[i - 1] & INCLUDED;
	mine.out -= mine.bits[i - 1] / EXCLUDED;
	mine.n--;
	memmove(&mine.domain[i - 1], &mine.domain[i], (mine.n - (i - 1)) * sizeof(mine.domain[0]));
	memmove(&mine.bits[i - 1], &mine.bits[i], mine.n - (i - 1));
	return (int)mine.n;
}

/* The range's number holds its bits, so that no table is needed. */
static uint64_t start(const struct named *domain, const char *name)
{
	uint8_t bits = bits_of(domain, name);

	__atomic_fetch_add(&started_in, bits & INCLUDED, __ATOMIC_RELAXED);
	__atomic_fetch_add(&started_out, bits / EXCLUDED, __ATOMIC_RELAXED);
	return (uint64_t)__atomic_add_fetch(&last_started, 1, __ATOMIC_RELAXED) << 2 | bits;
}

static void lower(uint32_t *count)
{
	uint32_t old = __atomic_load_n(count, __ATOMIC_RELAXED);

	while (old && !__atomic_compare_exchange_n(count, &old, old - 1, true, __ATOMIC_RELAXED,
						   __ATOMIC_RELAXED))
		;
}

static void end(uint64_t range)
{
	if (range & INCLUDED)
		lower(&started_in);
	if (range & EXCLUDED)
		lower(&started_out);
}

/* ---- NVTX's functions ------------------------------------------------------------------- */

static uint64_t start_ex(const struct attributes *a)
{
	char room[NAME_MAX_BYTES];

	return start(NULL, message(a, room));
}

static uint64_t start_a(const char *name)
{
	return start(NULL, name ? name : "");
}

static uint64_t start_w(const wchar_t *name)
{
	char room[NAME_MAX_BYTES];

	return start(NULL, narrow(name, room));
}

static int push_ex(const struct attributes *a)
{
	char room[NAME_MAX_BYTES];

	return push(NULL, message(a, room));
}

static int push_a(const char *name)
{
	return push(NULL, name ? name : "");
}

static int push_w(const wchar_t *name)
{
	char room[NAME_MAX_BYTES];

	return push(NULL, narrow(name, room));
}

static int pop_own(void)
{
	return pop(NULL);
}

static uint64_t domain_start(const struct named *domain, const struct attributes *a)
{
	char room[NAME_MAX_BYTES];

	return start(domain, message(a, room));
}

static void domain_end(const struct named *domain, uint64_t range)
{
	(void)domain;
	end(range);
}

static int domain_push(const struct named *domain, const struct attributes *a)
{
	char room[NAME_MAX_BYTES];

	return push(domain, message(a, room));
}

static struct named *register_a(const struct named *domain, const char *text)
{
	(void)domain;
	return keep(text ? text : "");
}

static struct named *register_w(const struct named *domain, const wchar_t *text)
{
	char room[NAME_MAX_BYTES];

	(void)domain;
	return keep(narrow(text, room));
}

static struct named *create_a(const char *name)
{
	return keep(name ? name : "");
}

static struct named *create_w(const wchar_t *name)
{
	char room[NAME_MAX_BYTES];

	return keep(narrow(name, room));
}

struct heard {
	unsigned id;
	any_fn *fn;
};

static const struct heard core[] = {
	{4, (any_fn *)start_ex}, {5, (any_fn *)start_a},  {6, (any_fn *)start_w},
	{7, (any_fn *)end},	 {8, (any_fn *)push_ex},  {9, (any_fn *)push_a},
	{10, (any_fn *)push_w},	 {11, (any_fn *)pop_own},
};
static const struct heard core2[] = {
	{2, (any_fn *)domain_start}, {3, (any_fn *)domain_end},	 {4, (any_fn *)domain_push},
	{5, (any_fn *)pop},	     {10, (any_fn *)register_a}, {11, (any_fn *)register_w},
	{12, (any_fn *)create_a},    {13, (any_fn *)create_w},
};

/* NVTX leaves out what its version doesn't have. */
static void hear(const struct callbacks *c, int module, const struct heard *rows, size_t n)
{
	any_fn ***table = NULL;
	unsigned size = 0;

	if (!c->get(module, &table, &size) || !table)
		return;
	for (size_t i = 0; i < n; i++)
		if (rows[i].id < size && table[rows[i].id])
			*table[rows[i].id] = rows[i].fn;
}

/* ========================================================================================= */

int race_nvtx_listen(race_nvtx_tables_fn *tables)
{
	const struct callbacks *c = tables ? tables(TABLE_CALLBACKS) : NULL;

	/* A program may call NVTX before CUDA. */
	if (!c || c->size < sizeof(*c) || (!race_shm_get() && !race_shm_open()))
		return 0;
	hear(c, MODULE_CORE, core, BASE_COUNTOF(core));
	hear(c, MODULE_CORE2, core2, BASE_COUNTOF(core2));
	return 1;
}

/* Are ranges asked for? Looked up once, for each launch asks; the list is there from the start. */
static bool has_include(void)
{
	static int known; /* atomic; 1: no, 2: yes */
	int k = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (!k && race_shm_get()) {
		const char *list = race_choice_list(RACE_CHOICE_NVTX_INCLUDE);
		k = list && *list ? 2 : 1;
		__atomic_store_n(&known, k, __ATOMIC_RELAXED);
	}
	return k == 2;
}

bool race_nvtx_is_outside(void)
{
	if (has_include() && !mine.in && !__atomic_load_n(&started_in, __ATOMIC_RELAXED))
		return true;
	return mine.out || __atomic_load_n(&started_out, __ATOMIC_RELAXED);
}
