/*
 * note.c - a launch becomes a line of the file, if it is new.
 *
 * Misses: memory of pools that the program has freed, and which the driver still calls an
 * allocation. Costs: for each launch a look-up, a question to the driver for each word of the
 * parameters that could be an address, and a hash.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/forward/forward.h"
#include "agent/record/record.h"
#include "base/base.h"
#include "race/file/shm_write.h"

#define LOW_ADDRESS 65536u
#define WORDS	    256u /* that need no memory of their own */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char tool[4096]; /* as it was at the start, with the file's name after it */
static const char *path;
static struct race_lines seen;
static bool is_broken; /* the file can't be written */

static struct {
	CUresult (*attributes)(unsigned, CUpointer_attribute *, void **, CUdeviceptr);
	CUresult (*exchange)(CUstreamCaptureMode *);
} driver;

/* Before the program can change its environment. */
__attribute__((constructor)) static void read_env(void)
{
	const char *env = getenv(RACE_LAUNCHED_ENV);
	char *end;

	if (!env || strlen(env) >= sizeof(tool) || !getenv(RACE_SHM_ENV))
		return;
	strcpy(tool, env);
	end = strchr(tool, '\n');
	if (!end)
		return;
	*end = 0;
	path = end + 1;
}

bool record_is_on(void)
{
	return path != NULL;
}

const char *record_tool(void)
{
	return tool;
}

/* ---- counts ---------------------------------------------------------------------------------- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static bool has_file;

static void after_fork(void)
{
	pthread_mutex_init(&lock, NULL);
}

static void start(void)
{
	*(void **)&driver.attributes = forward_find("cuPointerGetAttributes");
	*(void **)&driver.exchange = forward_find("cuThreadExchangeStreamCaptureMode");
	has_file = race_shm_open();
	pthread_atfork(NULL, NULL, after_fork);
}

static void add(uint64_t *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* Of the run; NULL: there are none. */
static struct race_recorded *counts(void)
{
	pthread_once(&once, start);
	return has_file ? &race_shm_get()->recorded : NULL;
}

void record_count(enum race_unnoted why)
{
	struct race_recorded *n = counts();

	if (n && why != RACE_UNNOTED_TEXT)
		add(&n->launches);
	if (n)
		add(&n->unnoted[why]);
}

/* ---- what pointers lead to ------------------------------------------------------------------- */

/* *arg: set where the driver doesn't answer. */
static bool find_memory(void *arg, uint64_t address, uint64_t *base, uint64_t *bytes)
{
	CUdeviceptr from = 0;
	size_t size = 0;
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
				       CU_POINTER_ATTRIBUTE_RANGE_SIZE};
	void *to[] = {&from, &size};

	if (address < LOW_ADDRESS || address >> 57)
		return false;
	CUresult r = driver.attributes(2, which, to, address);
	if (r != CUDA_SUCCESS)
		*(bool *)arg |= r != CUDA_ERROR_INVALID_VALUE;
	if (r != CUDA_SUCCESS || !from || address < from ||
	    (address - from >= size && address != from))
		return false;
	*base = from;
	*bytes = size;
	return true;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* With the lock. */
static void append(const char *line, size_t n)
{
	int err = is_broken ? 0 : race_launched_append(path, line, n);

	if (!err)
		return;
	is_broken = true;
	race_shm_note("--record-launches: %s can't be written: %s", path, strerror(err));
}

void record_text_line(const char *line, size_t n)
{
	if (race_lines_add(&seen, base_hash(line, n, BASE_FNV_INIT)) != RACE_LINES_BEFORE)
		append(line, n);
}

void record_unloaded(struct record_code *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&lock);
	record_code_drop(c);
	pthread_mutex_unlock(&lock);
}

/* With the lock. False: `why` it isn't there. */
static bool put(const struct record_kernel *k, const struct race_launched *l,
		enum race_unnoted *why)
{
	uint64_t hash = race_launched_hash(l);
	enum race_lines_as is = race_lines_add(&seen, hash);

	*why = is_broken ? RACE_UNNOTED_FILE : RACE_UNNOTED_MANY;
	if (is != RACE_LINES_NEW)
		return is == RACE_LINES_BEFORE && !is_broken;
	char *line = malloc(race_launched_most(l));
	if (!line) {
		race_lines_undo(&seen, hash); /* the same launch may be there next time */
		return false;
	}
	if (!k->code || !record_code_text(k->code))
		record_count(RACE_UNNOTED_TEXT);
	append(line, race_launched_line(l, NULL, line));
	free(line);
	if (!is_broken)
		add(&counts()->lines);
	*why = RACE_UNNOTED_FILE;
	return !is_broken;
}

/* Where the i-th parameter's bytes are; NULL: they aren't there. */
static const void *param_of(const struct record_kernel *k, uint32_t i, void *const *params,
			    void *const *extra)
{
	const struct record_param *p = &k->param[i];
	const char *buffer = NULL;
	size_t n = 0;

	if (params)
		return params[i];
	for (void *const *e = extra; e && *e != CU_LAUNCH_PARAM_END; e += 2) {
		if (*e == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = e[1];
		else if (*e == CU_LAUNCH_PARAM_BUFFER_SIZE)
			n = *(const size_t *)e[1];
		else
			return NULL;
	}
	return buffer && p->off + (uint64_t)p->bytes <= n ? buffer + p->off : NULL;
}

static bool read_words(const struct record_kernel *k, void *const *params, void *const *extra,
		       struct race_param_words *w)
{
	for (uint32_t i = 0; i < k->nparams; i++) {
		const void *p = param_of(k, i, params, extra);
		if (!p)
			return false;
		race_param_words_add(w, k->param[i].off, k->param[i].bytes, p);
	}
	return true;
}

/* False: `why` it isn't noted. */
static bool note(const struct record_kernel *k, const struct record_dims *d, void *const *params,
		 void *const *extra, struct race_param_word *room, enum race_unnoted *why)
{
	bool is_lost = false;
	struct race_param_words w = {.v = room, .find = find_memory, .arg = &is_lost};
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	/* What we ask is legal during a capture so. */
	*why = RACE_UNNOTED_MEMORY;
	if (!driver.attributes || !driver.exchange || driver.exchange(&mode) != CUDA_SUCCESS)
		return false;
	bool is_read = read_words(k, params, extra, &w);
	(void)driver.exchange(&mode);
	if (!is_read)
		*why = RACE_UNNOTED_LAYOUT;
	if (!is_read || is_lost)
		return false;
	struct race_launched l = {.kernel = k->name, .word = w.v, .nwords = w.n};
	memcpy(l.grid, d->grid, sizeof(l.grid));
	memcpy(l.block, d->block, sizeof(l.block));
	pthread_mutex_lock(&lock);
	bool is_there = put(k, &l, why);
	pthread_mutex_unlock(&lock);
	return is_there;
}

/* ------------------------------------------------------------------------ */

void record_launch(const void *handle, const struct record_dims *d, void *const *params,
		   void *const *extra)
{
	const struct record_kernel *k;
	struct race_param_word few[WORDS], *room = few;
	enum race_unnoted why = RACE_UNNOTED_LAYOUT;
	struct race_recorded *n = counts();

	if (!n || forward_is_agents())
		return;
	k = record_kernel_find(handle);
	if (k && k->nwords > WORDS)
		room = malloc(k->nwords * sizeof(*room));
	if (k && k->param && room && note(k, d, params, extra, room, &why))
		add(&n->launches);
	else
		record_count(room ? why : RACE_UNNOTED_MEMORY);
	if (room != few)
		free(room);
}
