/*
 * code.c - what a program has loaded, and the handles by which it knows its kernels.
 *
 * An image is kept until it is unloaded, or a kernel of it is launched: then `collider`, in a
 * process of its own, finds the text that the device runs, takes checks out of it and makes lines
 * of it.
 *
 * Misses: what the driver's linker has made; functions got in other ways than those of hooks.c.
 * Costs: memory for a copy of each image with PTX until then; of the first launch some 10 ms.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/table.h"

#include "agent/forward/forward.h"
#include "agent/record/record.h"
#include "base/child.h"

#define PARAMS_MOST 4096u

/* What one load has brought. Never freed. */
struct record_code {
	struct record_image image; /* bytes: NULL once its text was asked for */
	bool has_text;
};

/* A handle of the driver's. */
struct entry {
	UT_hash_handle hh;
	const void *handle;
	struct record_code *code; /* a module or a library */
	struct record_kernel *k;  /* or a kernel, */
	bool is_function;	  /* as a function of a module */
	bool is_asked;		  /* how its parameters lie */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *owners, *kernels;

static struct entry *entry_of(struct entry *table, const void *handle)
{
	struct entry *e;

	HASH_FIND_PTR(table, &handle, e);
	return e;
}

/* Finds or makes; NULL: no memory. */
static struct entry *entry_get(struct entry **table, const void *handle)
{
	struct entry *e;

	AGENT_TABLE_GET(*table, handle, handle, e);
	return e;
}

void record_loaded(const struct record_image *im, const void *handle)
{
	struct record_code *c = calloc(1, sizeof(*c));

	pthread_mutex_lock(&lock);
	struct entry *e = entry_get(&owners, handle);
	if (c && e) {
		c->image = *im;
		e->code = c;
	} else {
		free(im->bytes);
		free(c);
	}
	pthread_mutex_unlock(&lock);
}

struct record_code *record_code_of(const void *handle)
{
	pthread_mutex_lock(&lock);
	const struct entry *e = entry_of(owners, handle);
	struct record_code *c = e ? e->code : NULL;
	pthread_mutex_unlock(&lock);
	return c;
}

void record_module_alias(const void *module, const void *library)
{
	pthread_mutex_lock(&lock);
	const struct entry *of = entry_of(owners, library);
	struct entry *e = of ? entry_get(&owners, module) : NULL;
	if (e)
		e->code = of->code;
	pthread_mutex_unlock(&lock);
}

/* ---- kernels --------------------------------------------------------------------------------- */

static const char *driver_name(const void *handle, bool is_function)
{
	CUresult (*get)(const char **, const void *);
	const char *name = NULL;

	*(void **)&get = forward_find(is_function ? "cuFuncGetName" : "cuKernelGetName");
	return get && get(&name, handle) == CUDA_SUCCESS ? name : NULL;
}

void record_kernel_add(const void *handle, const void *owner, const char *name, bool is_function)
{
	struct record_kernel *k = calloc(1, sizeof(*k));

	if (!name)
		name = driver_name(handle, is_function);
	pthread_mutex_lock(&lock);
	const struct entry *o = entry_of(owners, owner);
	struct record_code *code = o ? o->code : NULL;
	struct entry *e = entry_get(&kernels, handle);
	bool is_same = e && e->k && name && e->k->code == code && !strcmp(e->k->name, name);
	if (k && e && name && !is_same && (k->name = strdup(name))) {
		k->code = code;
		e->k = k;
		e->is_function = is_function;
		e->is_asked = false;
		k = NULL;
	} else if (e && !is_same) {
		e->k = NULL; /* something else has this handle now */
	}
	pthread_mutex_unlock(&lock);
	free(k);
}

void record_kernel_alias(const void *handle, const void *same)
{
	pthread_mutex_lock(&lock);
	const struct entry *of = entry_of(kernels, same);
	struct entry *e = of ? entry_get(&kernels, handle) : NULL;
	if (e && e->k != of->k) {
		e->k = of->k;
		e->is_function = true;
		e->is_asked = false;
	}
	pthread_mutex_unlock(&lock);
}

/* The driver's answer, since 12.4. */
static void ask_params(const struct entry *e)
{
	CUresult (*get)(const void *, size_t, size_t *, size_t *);
	struct record_kernel *k = e->k;
	size_t off, bytes;
	uint32_t n = 0;

	*(void **)&get =
		forward_find(e->is_function ? "cuFuncGetParamInfo" : "cuKernelGetParamInfo");
	if (k->param || !get)
		return;
	while (n < PARAMS_MOST && get(e->handle, n, &off, &bytes) == CUDA_SUCCESS)
		n++;
	struct record_param *p = calloc(n + 1u, sizeof(*p));
	if (!p)
		return;
	for (uint32_t i = 0; i < n; i++) {
		(void)get(e->handle, i, &off, &bytes);
		p[i] = (struct record_param){(uint32_t)off, (uint32_t)bytes};
		k->nwords += race_param_words_most((uint32_t)bytes);
	}
	k->nparams = n;
	k->param = p;
}

const struct record_kernel *record_kernel_find(const void *handle)
{
	pthread_mutex_lock(&lock);
	struct entry *e = entry_of(kernels, handle);
	if (e && e->k && !e->is_asked) {
		ask_params(e);
		e->is_asked = true;
	}
	const struct record_kernel *k = e ? e->k : NULL;
	pthread_mutex_unlock(&lock);
	return k;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* malloc'd; NULL: it says nothing. */
static char *ask_tool(const struct record_image *im, size_t *n)
{
	int in = memfd_create("collider-image", MFD_CLOEXEC);
	int out = memfd_create("collider-text", MFD_CLOEXEC);
	char version[16], *text = NULL, *env[] = {NULL};
	char *argv[] = {"collider-text", version, im->has_parts ? "r" : "", NULL};
	off_t size = 0;

	snprintf(version, sizeof(version), "%u", im->sm);
	if (in >= 0 && out >= 0 && base_write_all_unseen(in, im->bytes, im->n) &&
	    lseek(in, 0, SEEK_SET) == 0 && base_child_run(record_tool(), argv, env, in, out) == 0)
		size = lseek(out, 0, SEEK_END);
	if (size > 0 && (text = malloc((size_t)size)) &&
	    pread(out, text, (size_t)size, 0) != (ssize_t)size) {
		free(text);
		text = NULL;
	}
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	*n = (size_t)size;
	return text;
}

void record_code_drop(struct record_code *c)
{
	free(c->image.bytes);
	c->image.bytes = NULL;
}

bool record_code_text(struct record_code *c)
{
	size_t left;
	char *text = c->image.bytes ? ask_tool(&c->image, &left) : NULL;

	record_code_drop(c);
	for (char *p = text, *end; p && left && (end = memchr(p, '\n', left)); p = end + 1) {
		size_t n = (size_t)(end - p) + 1;
		record_text_line(p, n);
		left -= n;
		c->has_text = true;
	}
	free(text);
	return c->has_text;
}
