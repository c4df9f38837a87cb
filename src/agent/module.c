/*
 * module.c - writes the knobs of instrumented modules before their kernels run.
 *
 * A module is patched once per context, at the first of: the exit of the call
 * that loaded it, of a call that looked up a kernel in it, or the entry of a launch. No kernel of
 * it can be running then, because no launch passes before its module is done: a second thread waits
 * for the first (agent_wait). The copy goes over a stream of our own, so it does not wait for the
 * user's work.
 *
 * A module that cannot be patched keeps its null runtime pointer: its results are the same, it runs
 * unchecked, and that is noted. Handles of unloaded modules are dropped, since the driver reuses
 * addresses.
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Out of memory: the next call finds nothing and tries again. */
#include "agent/table.h"

#include "agent/agent.h"
#include "base/clock.h"
#include "race/layout/history.h"

#define PATCH_WAIT_S 10
#define LOADED_MOST  256u /* kernels of a module */

/* A pair of handles that mean something in one context (or, with context NULL, everywhere). */
struct pair {
	const void *context; /* struct agent_context */
	const void *handle;
};

struct module {
	struct pair key; /* context, CUmodule */
	enum agent_module_state state;
	bool is_loaded; /* all of its kernels */
	UT_hash_handle hh;
};

struct library {
	struct pair key; /* context, CUlibrary; context NULL: the library is loaded */
	CUmodule module; /* in that context */
	UT_hash_handle hh;
};

struct kernel {
	CUkernel handle;
	CUlibrary library;
	UT_hash_handle hh;
};

/* All under the lock. */
static struct module *modules;
static struct library *libraries;
static struct kernel *kernels;
static uint64_t loaded; /* library loads so far */

static struct pair pair_of(const void *context, const void *handle)
{
	struct pair p = {context, handle};

	return p;
}

/* Finds or adds; `is_new` says which. NULL: no memory. The lock is held. */
static struct module *module_entry(struct pair key, bool *is_new)
{
	struct module *m;

	HASH_FIND(hh, modules, &key, sizeof(key), m);
	*is_new = !m;
	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (m)
		m->key = key;
	AGENT_TABLE_ADD(modules, key, m);
	if (!m)
		AGENT_NO_MEMORY("a module may be set up twice");
	return m;
}

static struct library *library_entry(struct pair key)
{
	struct library *l;

	HASH_FIND(hh, libraries, &key, sizeof(key), l);
	if (l)
		return l;
	l = calloc(1, sizeof(*l));
	if (l)
		l->key = key;
	AGENT_TABLE_ADD(libraries, key, l);
	if (!l)
		AGENT_NO_MEMORY("races in a library's kernels may go unchecked");
	return l;
}

static enum race_shuffle_verdict order_of(uint32_t id, void *arg)
{
	(void)arg;
	return agent_shuffle_of(id);
}

static bool has_symbol(CUmodule module, const char *name)
{
	CUdeviceptr at;
	size_t bytes;

	return agent_driver.module_get_global(&at, &bytes, module, name) == CUDA_SUCCESS;
}

/* Does the run want a detector's words for the module? Those of one that works for others, if they
 * are asked for. */
static bool wants_words(CUmodule module, const struct race_words *w)
{
	uint32_t flags = race_shm_get()->flags;

	if (!has_symbol(module, w->part))
		return RACE_RUN_WANTS(flags, w->detector);
	return w->traits & RACE_WORDS_LENT &&
	       RACE_RUN_DETECTORS(flags) & race_detectors_with(RACE_CAUSES);
}

/* Writes the runtime block of a detector at `at`, context current and guard entered. */
static CUresult write_block(struct agent_context *c, enum race_detector_id id, CUmodule module,
			    CUdeviceptr at)
{
	struct race_fill fill = {.rt = agent_context_rt(c), .order = order_of};
	const struct race_words *words = race_words_of(id);
	size_t bytes = race_detectors[id].block_bytes;
	CUstream stream = agent_context_stream(c);
	_Alignas(16) unsigned char block[RACE_BLOCK_MAX];
	CUresult r;

	/* Fields that the instrumenter sets are kept where the run does not determine them. */
	r = agent_driver.memcpy_dtoh_async(block, at, bytes, stream);
	if (r == CUDA_SUCCESS)
		r = agent_driver.stream_synchronize(stream);
	if (r != CUDA_SUCCESS)
		return r;
	bool is_off = agent_choice_is_off(agent_context_choice(c));
	/* Without tables a detector does nothing. */
	if (words && is_off) {
		agent_history_clear((struct race_history *)(void *)block);
	} else if (words && wants_words(module, words)) {
		struct agent_history *h = agent_context_history_make(c, race_words_id(words));
		if (h && has_symbol(module, words->scratch))
			agent_history_scratch(h);
		if (h)
			agent_history_fill(h, (struct race_history *)(void *)block);
	}
	if (race_detectors[id].layout == RACE_BLOCK_watch) {
		fill.context = agent_context_region(c)->context;
		fill.watch = agent_context_watch(c);
	}
	race_shm_block(id, block, &fill);
	if (is_off && race_detectors[id].layout == RACE_BLOCK_knobs) {
		((struct race_knobs *)(void *)block)->sample = RACE_SAMPLE_NEVER;
		((struct race_knobs *)(void *)block)->rt = 0;
	}
	r = agent_driver.memcpy_htod_async(at, block, bytes, stream);
	return r == CUDA_SUCCESS ? agent_driver.stream_synchronize(stream) : r;
}

/* One detector's block in a module, as its row of base/detectors.def names it. */
static enum agent_module_state patch_block(struct agent_context *c, CUmodule module,
					   enum race_detector_id id)
{
	const struct race_detector *d = &race_detectors[id];
	CUdeviceptr at = 0;
	size_t bytes = 0;
	CUresult r = agent_driver.module_get_global(&at, &bytes, module, d->marker);

	if (r == CUDA_ERROR_NOT_FOUND)
		return AGENT_MODULE_PLAIN;
	if (r == CUDA_SUCCESS && !agent_context_rt(c))
		return AGENT_MODULE_FAILED; /* the context's own note has said why */
	if (r == CUDA_SUCCESS && bytes < d->block_bytes) {
		race_shm_gap_note(
			RACE_GAP_NOT_INSTRUMENTED,
			"a module was instrumented by another version of Collider; races in it "
			"go unchecked");
		return AGENT_MODULE_FAILED;
	}
	if (r == CUDA_SUCCESS)
		r = write_block(c, id, module, at);
	if (r != CUDA_SUCCESS) {
		race_shm_gap_note(
			RACE_GAP_NOT_INSTRUMENTED,
			"cannot set the knobs of a module (error %d); races in it go unchecked",
			(int)r);
		return AGENT_MODULE_FAILED;
	}
	return AGENT_MODULE_PATCHED;
}

/* What a module orders is followed by the detectors that it has, a set. */
static void note_unseen(struct agent_context *c, CUmodule module, unsigned found)
{
	if (has_symbol(module, RACE_HISTORY_HOST_SYMBOL))
		agent_context_unseen(c, RACE_HISTORY_HOST_ORDERS);
	for (unsigned i = 0; i < RACE_WORDS_COUNT; i++) {
		const struct race_words *w = &race_words[i];
		if (w->narrow && has_symbol(module, w->narrow))
			agent_context_unseen_by(c, RACE_HISTORY_HAS_BYTES, race_words_id(w));
		if (found && !(found >> w->detector & 1u))
			agent_context_unseen_by(c, RACE_HISTORY_GRID_ORDERS, race_words_id(w));
	}
}

static enum agent_module_state patch(struct agent_context *c, CUmodule module)
{
	struct race_region *region = agent_context_region(c);
	enum agent_module_state state = AGENT_MODULE_PLAIN;
	unsigned found = 0; /* detectors, as a set */

	for (unsigned id = 0; id < RACE_DETECTORS_PUT; id++) {
		enum agent_module_state one = patch_block(c, module, (enum race_detector_id)id);
		if (one == AGENT_MODULE_FAILED)
			return one;
		if (one == AGENT_MODULE_PATCHED)
			state = one;
		found |= one == AGENT_MODULE_PATCHED ? 1u << id : 0;
	}
	note_unseen(c, module, found);
	if (race_shm_lacks_causes(found))
		__atomic_fetch_add(&region->no_causes, 1, __ATOMIC_RELAXED);
	if (state == AGENT_MODULE_PATCHED)
		__atomic_fetch_add(&region->modules, 1, __ATOMIC_RELAXED);
	else if (region)
		__atomic_fetch_add(&region->plain_modules, 1, __ATOMIC_RELAXED);
	return state;
}

/* The state of an entry that another thread may be working on; the lock is held. */
static enum agent_module_state settled(struct pair key)
{
	struct timespec deadline = base_clock_after(CLOCK_MONOTONIC, 1000 * PATCH_WAIT_S);
	struct module *m;

	for (;;) {
		/* Looked up again after each wait: it may be unloaded meanwhile. */
		HASH_FIND(hh, modules, &key, sizeof(key), m);
		if (!m)
			return AGENT_MODULE_UNKNOWN;
		if (m->state != AGENT_MODULE_BUSY)
			return m->state;
		if (!agent_wait(&deadline))
			return AGENT_MODULE_FAILED;
	}
}

/* ------------------------------------------------------------------------ */

enum agent_module_state agent_module_patch(struct agent_context *c, CUmodule module, bool is_fresh)
{
	struct pair key = pair_of(c, module);
	enum agent_module_state state;
	struct agent_guard g;
	struct module *m;
	bool is_new;

	agent_lock();
	m = module_entry(key, &is_new);
	if (m && !is_new && !is_fresh) {
		state = settled(key);
		agent_unlock();
		return state;
	}
	if (m) {
		m->state = AGENT_MODULE_BUSY;
		m->is_loaded = false; /* another one may have had the handle */
	}
	agent_unlock();

	agent_choice_hold(agent_context_choice(c));
	agent_enter(&g);
	state = patch(c, module);
	agent_leave(&g);
	agent_choice_release(agent_context_choice(c));

	agent_lock();
	HASH_FIND(hh, modules, &key, sizeof(key), m);
	if (m)
		m->state = state;
	pthread_cond_broadcast(&agent.changed);
	agent_unlock();
	return state;
}

enum agent_module_state agent_library_patch(struct agent_context *c, CUlibrary library)
{
	struct pair key = pair_of(c, library);
	CUmodule module = NULL;
	struct agent_guard g;
	struct library *l;
	CUresult r;

	if (!agent_driver.library_get_module)
		return AGENT_MODULE_UNKNOWN;
	agent_lock();
	HASH_FIND(hh, libraries, &key, sizeof(key), l);
	if (l)
		module = l->module;
	agent_unlock();
	if (!module) {
		agent_enter(&g);
		r = agent_driver.library_get_module(&module, library);
		agent_leave(&g);
		/* For example no image for this device: the program's own use of it fails the same
		 * way. */
		if (r != CUDA_SUCCESS)
			return AGENT_MODULE_UNKNOWN;
		agent_lock();
		l = library_entry(key);
		if (l)
			l->module = module;
		agent_unlock();
	}
	return agent_module_patch(c, module, false);
}

/* A loaded library that this context has not tried yet, marked as tried; the lock is held. */
static CUlibrary next_untried(struct agent_context *c)
{
	struct library *l, *tmp, *here;

	HASH_ITER(hh, libraries, l, tmp)
	{
		struct pair key = pair_of(c, l->key.handle);

		if (l->key.context)
			continue;
		HASH_FIND(hh, libraries, &key, sizeof(key), here);
		if (!here)
			return library_entry(key) ? (CUlibrary)(uintptr_t)l->key.handle : NULL;
	}
	*agent_context_libraries(c) = loaded;
	return NULL;
}

void agent_library_patch_all(struct agent_context *c)
{
	CUlibrary next;

	do {
		agent_lock();
		next = *agent_context_libraries(c) == loaded ? NULL : next_untried(c);
		agent_unlock();
		if (next)
			agent_library_patch(c, next);
	} while (next);
}

void agent_library_add(CUlibrary library)
{
	agent_lock();
	library_entry(pair_of(NULL, library));
	loaded++;
	agent_unlock();
}

void agent_kernel_add(CUkernel handle, CUlibrary library)
{
	struct kernel *k;

	agent_lock();
	HASH_FIND_PTR(kernels, &handle, k);
	if (!k && (k = calloc(1, sizeof(*k)))) {
		k->handle = handle;
		AGENT_TABLE_ADD(kernels, handle, k);
	}
	if (k)
		k->library = library;
	else
		AGENT_NO_MEMORY("races in a library's kernels may go unchecked");
	agent_unlock();
}

bool agent_kernel_is_known(CUkernel handle)
{
	struct kernel *k;

	agent_lock();
	HASH_FIND_PTR(kernels, &handle, k);
	agent_unlock();
	return k != NULL;
}

/* What holds the kernel: a library, or the module that the driver names; both NULL: not known. */
static void find_holder(CUfunction f, CUmodule *module, CUlibrary *library)
{
	CUkernel handle = (CUkernel)(void *)f;
	struct agent_guard g;
	struct kernel *k;

	*module = NULL;
	*library = NULL;
	agent_lock();
	HASH_FIND_PTR(kernels, &handle, k);
	if (k)
		*library = k->library;
	agent_unlock();
	if (*library)
		return;
	agent_enter(&g);
	if (!agent_driver.func_get_module ||
	    agent_driver.func_get_module(module, f) != CUDA_SUCCESS)
		*module = NULL;
	/* A kernel handle that came from a call we do not watch. */
	if (!*module && (!agent_driver.kernel_get_library ||
			 agent_driver.kernel_get_library(library, handle) != CUDA_SUCCESS))
		*library = NULL;
	agent_leave(&g);
}

enum agent_module_state agent_function_patch(struct agent_context *c, CUfunction f)
{
	CUlibrary library;
	CUmodule module;

	find_holder(f, &module, &library);
	if (module)
		return agent_module_patch(c, module, false);
	return library ? agent_library_patch(c, library) : AGENT_MODULE_UNKNOWN;
}

CUmodule agent_function_module(struct agent_context *c, CUfunction f)
{
	CUlibrary library;
	CUmodule module;
	struct library *l;

	find_holder(f, &module, &library);
	struct pair key = pair_of(c, library);
	agent_lock();
	HASH_FIND(hh, libraries, &key, sizeof(key), l);
	if (library && l)
		module = l->module;
	agent_unlock();
	return module;
}

/* ---- kernels that may meet ----------------------------------------------------------------- */

/* Who asks for lazy loading gets it. Libraries, of which a program launches little, have more
 * kernels. */
static void load_kernels(CUmodule module)
{
	const char *asked = getenv("CUDA_MODULE_LOADING");
	CUfunction *f;
	unsigned n;

	if ((asked && *asked) || !agent_driver.func_load ||
	    !agent_driver.module_get_function_count || !agent_driver.module_enumerate_functions ||
	    agent_driver.module_get_function_count(&n, module) != CUDA_SUCCESS || n > LOADED_MOST)
		return;
	f = n ? calloc(n, sizeof(CUfunction)) : NULL;
	if (!f) /* they are loaded later */
		return;
	if (agent_driver.module_enumerate_functions(f, n, module) != CUDA_SUCCESS)
		n = 0;
	for (unsigned i = 0; i < n; i++)
		(void)agent_driver.func_load(f[i]);
	free(f);
}

void agent_module_load_kernels(struct agent_context *c, CUfunction f)
{
	CUmodule module = agent_function_module(c, f);
	struct pair key = pair_of(c, module);
	struct agent_guard g;
	struct module *m;

	agent_lock();
	HASH_FIND(hh, modules, &key, sizeof(key), m);
	bool is_first = m && m->state == AGENT_MODULE_PATCHED && !m->is_loaded;
	if (is_first)
		m->is_loaded = true;
	agent_unlock();
	if (!is_first)
		return;
	agent_enter(&g);
	load_kernels(module);
	agent_leave(&g);
}

/* ------------------------------------------------------------------------ */

void agent_module_switch(struct agent_context *c)
{
	struct module *m, *tmp;
	CUmodule *list = NULL;
	size_t n = 0;

	agent_lock();
	list = calloc(HASH_COUNT(modules) + 1, sizeof(CUmodule));
	HASH_ITER(hh, modules, m, tmp)
	{
		if (list && m->key.context == c && m->state == AGENT_MODULE_PATCHED)
			list[n++] = (CUmodule)(uintptr_t)m->key.handle;
	}
	agent_unlock();
	if (!list)
		AGENT_NO_MEMORY("launches may be checked that should be left out");
	for (size_t i = 0; i < n; i++)
		for (unsigned id = 0; id < RACE_DETECTORS_PUT; id++)
			(void)patch_block(c, list[i], (enum race_detector_id)id);
	free(list);
}

static void forget_module(const void *handle)
{
	struct module *m, *tmp;

	HASH_ITER(hh, modules, m, tmp)
	{
		if (m->key.handle == handle) {
			HASH_DEL(modules, m);
			free(m);
		}
	}
}

static void forget_library(const void *handle)
{
	struct library *l, *ltmp;
	struct kernel *k, *ktmp;

	HASH_ITER(hh, libraries, l, ltmp)
	{
		if (l->key.handle != handle)
			continue;
		if (l->module)
			forget_module(l->module);
		HASH_DEL(libraries, l);
		free(l);
	}
	HASH_ITER(hh, kernels, k, ktmp)
	{
		if (k->library != handle)
			continue;
		HASH_DEL(kernels, k);
		free(k);
	}
}

void agent_module_forget(CUmodule module, CUlibrary library)
{
	agent_lock();
	if (module)
		forget_module(module);
	if (library)
		forget_library(library);
	agent_unlock();
}

void agent_module_reset(void)
{
	modules = NULL;
	libraries = NULL;
	kernels = NULL;
}
