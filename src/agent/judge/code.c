/*
 * code.c - what a program has loaded: images, their kernels and variables, and the handles by which
 * the program knows them.
 *
 * An image that has PTX is handed to the judge, which says in lines (wire.h) how a kernel's
 * parameters lie and which variables there are; it needs as long as a parse for that. A small one
 * goes over before the driver loads it, so that the judge reads while the driver loads, and the
 * lines are there when the first kernel is launched (of the 0.7 ms that a first launch took, 0.5
 * were a wait for them). Others are copied, as the program may free them, until the first launch.
 *
 * Misses: code that the driver's linker has made; functions got in other ways than by name.
 * Costs: the memory of images with PTX, until a kernel of them is launched.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/table.h"

#include "agent/judge/judge.h"
#include "agent/order.h"
#include "image/fatbin.h"
#include "image/kept.h"

struct judge_kernel {
	UT_hash_handle hh;
	uint32_t bytes, n;
	bool is_sync, has_maps, has_textures, is_far;
	struct judge_param *params;
	char name[];
};

/* A handle of the driver's. */
struct entry {
	UT_hash_handle hh;
	const void *handle;
	struct judge_code *code;  /* a module or a library */
	struct judge_function *f; /* or a function */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct entry *owners, *functions;
static uint64_t last_id;
static struct judge_code *pending; /* its images were sent, and its lines not read yet */

void judge_code_lock(void)
{
	pthread_mutex_lock(&lock);
}

void judge_code_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

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

/* ---- images ---------------------------------------------------------------------- */

#define IMAGES	   4096u
#define CODE_MOST  (16u << 20)	/* bytes of machine code without a text */
#define AHEAD_MOST (128u << 10) /* bytes that a socket takes, whatever the judge does */

struct found {
	const void *image[IMAGES];
	uint64_t size[IMAGES];
	uint32_t n;
	bool has_text;
};

static void find_one(struct found *f, const void *p, size_t size, bool is_alone)
{
	uint32_t magic;

	memcpy(&magic, p, sizeof(magic));
	if (f->n == IMAGES)
		return;
	if (magic == FATBIN_MAGIC) {
		size = fatbin_size(p);
		f->has_text |= size && fatbin_has(p, FATBIN_KIND_PTX);
	} else if (!memcmp(p, "\177ELF", 4)) {
		/* The judge may find its text; machine code in fat binaries was made elsewhere. */
		size = is_alone ? image_elf_size(p, size) : 0;
		if (!size || size > CODE_MOST)
			return;
		f->has_text = true;
	} else {
		size = strnlen(p, size ? size : SIZE_MAX);
		f->has_text |= memmem(p, size < 4096 ? size : 4096, ".version", 8) != NULL;
	}
	f->image[f->n] = p;
	f->size[f->n++] = size;
}

/* Of an -rdc program the objects' images hold the text, and the linked one has none. */
static void find_images(struct found *f, const void *image, size_t size)
{
	struct fatbin_wrapper w;
	uint32_t magic;

	memcpy(&magic, image, sizeof(magic));
	if (magic != FATBIN_WRAPPER_MAGIC) {
		find_one(f, image, size, true);
		return;
	}
	memcpy(&w, image, sizeof(w));
	if (w.version == 2)
		for (const void *const *part = w.parts; part && *part; part++)
			find_one(f, *part, 0, false);
	if (!f->has_text && w.data) {
		f->n = 0;
		find_one(f, w.data, 0, false);
	}
}

static bool copy_images(struct judge_code *c, const struct found *f)
{
	uint64_t all = 0;
	char *at;

	for (uint32_t i = 0; i < f->n; i++)
		all += f->size[i];
	c->sizes = malloc(f->n * sizeof(*c->sizes));
	c->images = at = all <= RACE_JUDGE_MOST ? malloc(all) : NULL;
	for (uint32_t i = 0; c->sizes && at && i < f->n; i++) {
		memcpy(at, f->image[i], f->size[i]);
		c->sizes[i] = f->size[i];
		at += f->size[i];
	}
	c->nimages = f->n;
	return c->sizes && c->images;
}

/* ---- handles --------------------------------------------------------------------- */

/* A handle of a function is another one's now. */
static void set_function(struct entry *e, struct judge_function *f)
{
	e->f = f;
	agent_order_change();
}

static void function_add(const void *handle, const void *owner, const char *name)
{
	struct entry *o = entry_of(owners, owner), *e;
	struct judge_function *f;

	if (!o) {
		e = entry_of(functions, handle);
		if (e && e->f)
			set_function(e, NULL); /* something else has this handle now */
		return;
	}
	e = entry_get(&functions, handle);
	if (!e || (e->f && e->f->code == o->code && !strcmp(e->f->name, name)))
		return;
	f = calloc(1, sizeof(*f));
	if (f && !(f->name = strdup(name))) {
		free(f);
		f = NULL;
	}
	if (f)
		f->code = o->code;
	set_function(e, f);
}

void judge_function_add(const void *handle, const void *owner, const char *name)
{
	judge_code_lock();
	function_add(handle, owner, name);
	judge_code_unlock();
}

void judge_function_alias(const void *handle, const void *same)
{
	struct entry *of, *e;

	judge_code_lock();
	of = entry_of(functions, same);
	if (of && of->f && (e = entry_get(&functions, handle)) && e->f != of->f)
		set_function(e, of->f);
	judge_code_unlock();
}

void judge_module_alias(const void *module, const void *library)
{
	struct entry *of, *e;

	judge_code_lock();
	of = entry_of(owners, library);
	if (of && of->code && (e = entry_get(&owners, module)))
		e->code = of->code;
	judge_code_unlock();
}

struct judge_function *judge_function_find(const void *handle)
{
	struct entry *e = entry_of(functions, handle);

	return e ? e->f : NULL;
}

struct judge_function *judge_function_named(const void *handle, const char *name)
{
	struct judge_function *f = judge_function_find(handle), *found = NULL;
	struct entry *e, *next;

	if (f || !name)
		return f;
	HASH_ITER(hh, functions, e, next)
	{
		if (!e->f || strcmp(e->f->name, name) != 0)
			continue;
		if (found && found->code != e->f->code)
			return NULL;
		found = e->f;
	}
	if (found && (e = entry_get(&functions, handle)))
		e->f = found;
	return found;
}

/* ---- the judge's lines ----------------------------------------------------------- */

static bool read_kernel(struct judge_code *c, char *line)
{
	char *name = line + 2, *end = strchr(name, ' ');
	struct judge_kernel *k, *old;
	uint32_t n = 0;

	if (!end)
		return false;
	*end++ = 0;
	k = calloc(1, sizeof(*k) + strlen(name) + 1);
	if (!k)
		return false;
	strcpy(k->name, name);
	k->bytes = (uint32_t)strtoul(end, &end, 10);
	for (const char *p = end; *p; p++)
		n += *p == ':';
	k->params = calloc(n + 1u, sizeof(*k->params));
	for (; k->params && k->n < n && *end == ' '; k->n++) {
		k->params[k->n].offset = (uint32_t)strtoul(end + 1, &end, 10);
		if (*end != ':')
			break;
		k->params[k->n].bytes = (uint32_t)strtoul(end + 1, &end, 10);
	}
	HASH_FIND_STR(c->kernels, name, old);
	was_added = k->n == n && !old;
	if (was_added)
		HASH_ADD_STR(c->kernels, name, k);
	return was_added || old;
}

/* A property of a kernel, whose line came before. False: it isn't one, or of no kernel. */
static bool read_property(const struct judge_code *c, const char *line)
{
	struct judge_kernel *k;

	HASH_FIND_STR(c->kernels, line + 2, k);
	if (!k)
		return false;
	k->is_sync |= *line == RACE_JUDGE_LINE_SYNC;
	k->has_maps |= *line == RACE_JUDGE_LINE_MAPS;
	k->has_textures |= *line == RACE_JUDGE_LINE_TEX;
	k->is_far |= *line == RACE_JUDGE_LINE_FAR;
	return true;
}

static bool read_variable(struct judge_code *c, char *line, size_t room)
{
	char *name = line + 2, *end = strchr(name, ' ');

	if (!end || c->nvariables == room)
		return false;
	*end++ = 0;
	struct judge_variable *v = &c->variables[c->nvariables++];
	v->name = name;
	v->bytes = strtoull(end, NULL, 10);
	v->is_const = *line == RACE_JUDGE_LINE_CONST;
	return true;
}

/* The lines stay: names are in them. */
static const char *read_lines(struct judge_code *c, char *lines)
{
	size_t n = 0;
	bool is_good = true;

	for (const char *p = lines; *p; p++)
		n += *p == '\n';
	c->variables = calloc(n + 1, sizeof(*c->variables));
	for (char *line = lines, *end; c->variables && is_good && *line; line = end + 1) {
		end = strchr(line, '\n');
		if (!end)
			return "the judge said nothing of it";
		*end = 0;
		if (*line == RACE_JUDGE_LINE_NOT)
			return line + 2;
		if (*line == RACE_JUDGE_LINE_KERNEL)
			is_good = read_kernel(c, line);
		else if (*line == RACE_JUDGE_LINE_GLOBAL || *line == RACE_JUDGE_LINE_CONST)
			is_good = read_variable(c, line, n);
		else
			is_good = read_property(c, line);
	}
	return c->variables && is_good ? NULL : "there is no memory";
}

/* ---- the way to the judge, with the lock ------------------------------------------ */

static void free_images(struct judge_code *c)
{
	free(c->images);
	free(c->sizes);
	c->images = NULL;
	c->sizes = NULL;
}

static void send_images(struct judge_code *c, unsigned sm)
{
	const struct race_judge_module head = {.id = c->id, .sm = sm, .images = c->nimages};
	const void **images = calloc(c->nimages + 1u, sizeof(*images));
	const char *at = c->images;

	for (uint32_t i = 0; images && i < c->nimages; at += c->sizes[i++])
		images[i] = at;
	c->why = images ? judge_send_images(&head, images, c->sizes) : "there is no memory";
	c->is_asked = c->why != NULL;
	pending = c->why ? NULL : c;
	free(images);
	free_images(c);
}

static void take_lines(struct judge_code *c)
{
	char *lines = judge_read_lines();

	c->why = lines ? read_lines(c, lines) : "the judge has ended";
	c->is_asked = true;
	pending = NULL;
}

static void ask_lines(struct judge_code *c, unsigned sm)
{
	if (pending && pending != c)
		take_lines(pending);
	if (!pending)
		send_images(c, sm);
	if (pending)
		take_lines(c);
}

/* Not where the program would have to wait: the judge takes one at a time. */
static void ask_ahead(struct judge_code *c, unsigned sm)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < c->nimages; i++)
		all += c->sizes[i];
	if (!sm || all > AHEAD_MOST)
		return;
	if (pending && judge_has_lines())
		take_lines(pending);
	if (!pending)
		send_images(c, sm);
}

/* ---- loads ------------------------------------------------------------------------ */

struct judge_code *judge_loading(const void *image, size_t size, unsigned sm)
{
	struct judge_code *c;
	struct found *f;

	if (judge_is_inside() || !image || (size && size < sizeof(struct fatbin_wrapper)) ||
	    !judge_is_on() || !(f = calloc(1, sizeof(*f))))
		return NULL;
	find_images(f, image, size);
	c = calloc(1, sizeof(*c));
	if (c && !f->has_text)
		c->why = "its code has no PTX";
	else if (c && !copy_images(c, f))
		c->why = "its GPU code is too large";
	free(f);
	if (!c)
		return NULL;
	judge_code_lock();
	c->id = ++last_id;
	if (!c->why)
		ask_ahead(c, sm);
	judge_code_unlock();
	return c;
}

void judge_loaded(struct judge_code *c, const void *handle, bool is_library)
{
	struct entry *e;

	if (!c)
		return;
	judge_code_lock();
	e = entry_get(&owners, handle);
	if (e) {
		c->handle = handle;
		c->is_library = is_library;
		e->code = c;
	}
	judge_code_unlock();
}

/* (What is left of it stays: the judge's answer may be under way.) */
void judge_not_loaded(struct judge_code *c)
{
	if (c)
		free_images(c);
}

/* ---- kernels ---------------------------------------------------------------------- */

const char *judge_function_prepare(struct judge_function *f, unsigned sm)
{
	struct judge_kernel *k;

	if (!f->code->why && !f->code->is_asked)
		ask_lines(f->code, sm);
	if (f->code->why)
		return f->code->why;
	if (!f->kernel) {
		HASH_FIND_STR(f->code->kernels, f->name, k);
		f->kernel = k;
	}
	return f->kernel ? NULL : "its PTX has no such kernel";
}

const struct judge_param *judge_kernel_params(const struct judge_kernel *k, uint32_t *n,
					      uint32_t *bytes)
{
	*n = k->n;
	*bytes = k->bytes;
	return k->params;
}

bool judge_kernel_is_sync(const struct judge_kernel *k)
{
	return k->is_sync;
}

bool judge_kernel_has_maps(const struct judge_kernel *k)
{
	return k->has_maps;
}

bool judge_kernel_is_far(const struct judge_kernel *k)
{
	return k->is_far;
}

bool judge_kernel_has_textures(const struct judge_kernel *k)
{
	return k->has_textures;
}

/* ---- variables ------------------------------------------------------------------- */

static CUdeviceptr place_of(const struct judge_code *c, const struct judge_variable *v)
{
	const struct judge_driver *d = &judge_driver;
	CUdeviceptr at = 0;
	size_t n = 0;

	if (!c->is_library)
		return d->module_get_global(&at, &n, (CUmodule)(uintptr_t)c->handle, v->name) ==
				       CUDA_SUCCESS
			       ? at
			       : 0;
	CUlibrary lib = (CUlibrary)(uintptr_t)c->handle;
	if (d->library_get_global && d->library_get_global(&at, &n, lib, v->name) == CUDA_SUCCESS)
		return at;
	if (d->library_get_managed && d->library_get_managed(&at, &n, lib, v->name) == CUDA_SUCCESS)
		return at;
	return 0;
}

void judge_code_place(struct judge_code *c, CUcontext ctx)
{
	if (c->ctx == ctx)
		return;
	for (size_t i = 0; i < c->nvariables; i++)
		c->variables[i].at = place_of(c, &c->variables[i]);
	c->ctx = ctx;
}

void judge_codes_forget(void)
{
	struct entry *e, *next;

	judge_code_lock();
	HASH_ITER(hh, owners, e, next)
	if (e->code)
		e->code->ctx = NULL;
	judge_code_unlock();
}
