/*
 * image.c - images: from embedded text to a module on a device, and look-up.
 *
 * A program registers its fat binaries before main; nothing is read then. The
 * first use of a kernel or variable parses the image's PTX (all objects of an
 * -rdc program, else one text) and loads it on the device that needs it. Text and
 * parsed modules live as long as the image, since the CPU device points into
 * them. An image that has no PTX, or PTX that doesn't parse or link, keeps its error: each use
 * returns it, the reason is printed once on stderr.
 *
 * Managed variables lie in the module of the device that used them first, and are
 * lost when that device is reset. cudaDeviceReset unloads what the device has;
 * kernels' handles stay valid.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cudart/report/collider.h"
#include "image/fatbin.h"
#include "cudart/report/gap.h"
#include "cudart/state/link.h"
#include "instrument/instrument.h"
#include "race/file/shm_write.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct rt_image *images;
static struct rt_kern *by_function;
static struct rt_var *by_symbol;

void rt_images_lock(void)
{
	pthread_mutex_lock(&lock);
}

void rt_images_unlock(void)
{
	pthread_mutex_unlock(&lock);
}

/* ---- messages ---------------------------------------------------------------------- */

static _Thread_local char load_log[1024];

const char *rt_load_log(void)
{
	return load_log;
}

/* ---- parsing -------------------------------------------------------------------- */

/* Reports on stderr and in the report why an image can't be used. */
__attribute__((format(printf, 1, 2))) static void say_failed(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	snprintf(load_log, sizeof(load_log), "%s", line);
	rt_say("%s", line);
	rt_collider_failed(line);
}

/* The same for errors of its text, which stay on stderr. */
static void print_failed(const struct rt_image *im, const struct base_sink *sink)
{
	char line[600];

	base_sink_print(sink, stderr);
	snprintf(load_log, sizeof(load_log), "%s", sink->diags.n ? sink->diags.v[0].text : "");
	snprintf(line, sizeof(line), "%.300s: its GPU code could not be loaded%s%.200s", im->where,
		 sink->diags.n ? ": " : "", sink->diags.n ? sink->diags.v[0].text : "");
	rt_collider_failed(line);
}

static void say_no_ptx(const struct rt_image *im)
{
	say_failed("%s%s holds machine code only, which the CPU device cannot run; build it with "
		   "`collider nvcc`, or embed PTX with -gencode arch=compute_90,code=compute_90",
		   im->parts.n ? "an object linked into " : "", im->where);
}

/* Are there bytes? A program's table of fat binaries, and what a header says of its size, may be
 * damaged. */
static bool is_there(const void *p, size_t n)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), at = (uintptr_t)p, from = at - at % page;

	return p && n && n < UINTPTR_MAX - at && !msync((void *)from, at + n - from, MS_ASYNC);
}

/* The file that the image's data was loaded from. */
static void name_image(struct rt_image *im)
{
	const void *p = im->data ? im->data : im->relocatable ? im->relocatable[0] : NULL;
	Dl_info info;

	if (im->where)
		return;
	im->where = p && dladdr(p, &info) && info.dli_fname
			    ? base_strdup(&im->arena, info.dli_fname)
			    : "a library loaded at run time";
}

/* Replaces the module's checks by those that the run requests. The result is printed and parsed
 * again, since what passes insert is text that only the parser resolves. Without a sound result the
 * module runs unchanged, and the report says so. */
static struct ptx_module *prepare(struct rt_image *im, const char *file, struct ptx_module *m)
{
	unsigned has = inst_detectors_of(m), wants = rt.detectors & RACE_DETECT_PUT;
	struct inst_options opt = rt.inst;
	bool differs = opt.variable || opt.all_loads;
	if (!rt.has_detectors && differs && has)
		wants = has;
	opt.sanitize = wants;
	opt.relocatable = im->relocatable;
	struct inst_stats stats = {0};
	struct base_sink sink = {0};
	struct base_buf out = {0};

	/* Judges ignore inserted instructions. */
	bool is_as_built = (!rt.has_detectors || has == wants) && !differs;
	if (is_as_built || (!wants && rt.detectors))
		return m;
	bool is_good = !has || inst_strip(m, &sink);
	if (is_good && wants)
		is_good = !inst_run(m, &opt, &stats, &sink);
	rt_collider_patterns(stats.patterns);
	if (is_good) {
		ptx_print(m, &out);
		base_buf_put(&out, "", 1);
		base_vec_push(&im->texts, out.p);
	}
	struct ptx_module *done = NULL;
	if (is_good)
		done = ptx_parse(&im->arena, file, out.p, out.n - 1, &sink);
	if (!done || sink.errors) {
		base_sink_print(&sink, stderr);
		race_shm_gap_note(RACE_GAP_NOT_INSTRUMENTED,
				  "a module could not be prepared for the detectors asked for; it "
				  "runs as it was built: %s",
				  file);
		done = NULL;
	}
	base_sink_free(&sink);
	return done; /* out.p lives as long as the image */
}

/* Takes ownership of a malloc'd text. */
static enum rt_error parse_text(struct rt_image *im, char *text, size_t size, unsigned sm)
{
	struct base_sink sink = {0};
	const char *file = base_printf(&im->arena, "%s[ptx %zu]", im->where, im->texts.n + 1);

	base_vec_push(&im->texts, text);
	base_vec_push(&im->sources, ((struct rt_source){file, text, size}));
	struct ptx_module *m = ptx_parse(&im->arena, file, text, size, &sink);
	if (m && !sink.errors && !ptx_verify(m, &sink)) {
		struct ptx_module *done = prepare(im, file, m);
		/* A pass that failed may have left the module half changed. */
		m = done ? done : ptx_parse(&im->arena, file, text, size, &sink);
	}
	if (!m || sink.errors)
		print_failed(im, &sink);
	bool is_good = m && !sink.errors;
	base_sink_free(&sink);
	if (!is_good) {
		im->sources.n--;
		return RT_ERROR_INVALID_PTX;
	}
	base_vec_push(&im->parts, m);
	if (sm > im->sm)
		im->sm = sm;
	return RT_OK;
}

static enum rt_error parse_fatbin(struct rt_image *im, const void *data, size_t size)
{
	struct fatbin_ptx ptx;
	const char *why;

	switch (fatbin_read(data, size, CPU_SM_VERSION, &ptx, &why)) {
	case FATBIN_FOUND:
		return parse_text(im, ptx.text, ptx.size, ptx.sm);
	case FATBIN_NO_PTX:
		return RT_ERROR_NO_KERNEL_IMAGE_FOR_DEVICE;
	case FATBIN_DAMAGED:
		break;
	}
	say_failed("%s: %s", im->where, why);
	return RT_ERROR_INVALID_KERNEL_IMAGE;
}

/* size 0: as its header says. */
static enum rt_error parse_at(struct rt_image *im, const void *data, size_t size)
{
	if (!size && is_there(data, FATBIN_HEADER_BYTES)) {
		size = fatbin_size(data);
		if (!size)
			return parse_fatbin(im, data, 0); /* says why */
	}
	if (is_there(data, size))
		return parse_fatbin(im, data, size);
	say_failed("%s: the fat binary's address or size is damaged", im->where);
	return RT_ERROR_INVALID_KERNEL_IMAGE;
}

/* All objects of an -rdc program. Some may hold machine code only: NVIDIA's libcudadevrt does, and
 * the functions that programs call from it are part of the device here. Anything else that is
 * missing is reported at linking or at its use. */
static enum rt_error parse_relocatable(struct rt_image *im)
{
	const void *const *list = im->relocatable;

	for (size_t i = 0; is_there(list + i, sizeof(*list)) && list[i]; i++) {
		enum rt_error e = parse_at(im, list[i], 0);
		if (e == RT_ERROR_NO_KERNEL_IMAGE_FOR_DEVICE)
			im->has_code_only = true;
		else if (e != RT_OK)
			return e;
	}
	return im->parts.n ? RT_OK : RT_ERROR_NO_KERNEL_IMAGE_FOR_DEVICE;
}

/* One text, or several that are linked, each with its NUL. */
static enum rt_error parse_texts(struct rt_image *im)
{
	enum rt_error e = RT_OK;
	unsigned sm;
	char suffix;
	size_t n;

	for (size_t at = 0; e == RT_OK && at < im->data_size; at += n + 1) {
		n = strlen(im->text + at);
		if (!ptx_read_head(im->text + at, &sm, &suffix)) {
			say_failed("%s: neither PTX nor a file that holds it", im->where);
			return RT_ERROR_INVALID_KERNEL_IMAGE;
		}
		char *text = strdup(im->text + at);
		e = text ? parse_text(im, text, n, sm ? sm : CPU_SM_VERSION)
			 : RT_ERROR_MEMORY_ALLOCATION;
	}
	return im->parts.n || e != RT_OK ? e : RT_ERROR_INVALID_KERNEL_IMAGE;
}

static enum rt_error parse(struct rt_image *im)
{
	if (im->relocatable && !is_there(im->relocatable, sizeof(*im->relocatable)))
		im->relocatable = NULL;
	name_image(im);
	if (im->text)
		return parse_texts(im);
	if (im->relocatable && im->relocatable[0])
		return parse_relocatable(im);
	return parse_at(im, im->data, im->data_size);
}

enum rt_error rt_image_parse(struct rt_image *im)
{
	if (im->is_parsed)
		return im->error;
	im->is_parsed = true;
	im->error = parse(im);
	if (im->error == RT_ERROR_NO_KERNEL_IMAGE_FOR_DEVICE)
		say_no_ptx(im);
	return im->error;
}

/* ---- loading ------------------------------------------------------------------------ */

/* Managed variables are those of the first device; the host is given their addresses. */
static void bind_managed(struct rt_image *im, unsigned device, struct cpu_module *mod)
{
	uint64_t addr, bytes;

	for (unsigned d = 0; d < RT_DEVICES; d++) {
		if (d != device && im->on[d]) {
			cpu_module_share_managed(mod, im->on[d]);
			return;
		}
	}
	for (struct rt_var *v = im->vars; v; v = v->next) {
		if (v->managed && cpu_module_symbol(mod, v->name, &addr, &bytes)) {
			*v->managed = (void *)(uintptr_t)addr;
			rt_host_memory(addr, bytes, CPU_MEM_MANAGED);
		}
	}
}

enum rt_error rt_image_load(struct rt_image *im, unsigned device, struct cpu_module **out)
{
	struct base_sink sink = {0};
	enum rt_error e = rt_image_parse(im);

	if (e != RT_OK)
		return e;
	if (!im->on[device]) {
		struct cpu_module *mod =
			cpu_module_load(rt.m, device, im->parts.v, (unsigned)im->parts.n, &sink);
		if (!mod) {
			print_failed(im, &sink);
			if (im->has_code_only)
				say_no_ptx(im);
			im->error = RT_ERROR_INVALID_PTX;
		} else {
			im->is_instrumented = rt_collider_module(device, im, mod, &im->has_history);
			bind_managed(im, device, mod);
		}
		base_sink_free(&sink);
		im->on[device] = mod;
	}
	if (out)
		*out = im->on[device];
	return im->error;
}

static void unload(struct rt_image *im, unsigned device)
{
	if (im->plain[device] && !rt.is_forked)
		cpu_module_unload(im->plain[device]);
	if (im->on[device] && !rt.is_forked)
		cpu_module_unload(im->on[device]);
	im->on[device] = im->plain[device] = NULL;
	for (struct rt_kern *k = im->kerns; k; k = k->next)
		k->on[device] = k->plain[device] = NULL;
}

void rt_modules_reset(unsigned device)
{
	rt_images_lock();
	for (struct rt_image *im = images; im; im = im->next)
		unload(im, device);
	rt_images_unlock();
}

/* ---- images ------------------------------------------------------------------------- */

struct rt_image *rt_image_new(void)
{
	struct rt_image *im = calloc(1, sizeof(*im));

	if (!im)
		return NULL;
	im->next = images;
	if (images)
		images->prev = im;
	images = im;
	return im;
}

bool rt_image_is(const void *p)
{
	const struct rt_image *im = images;

	while (im && im != p)
		im = im->next;
	return im != NULL;
}

struct rt_image *rt_image_first(void)
{
	return images;
}

/* Removes it from the list, so that it is no longer found. */
static void unlink_image(struct rt_image *im)
{
	struct rt_kern *found_kern;
	struct rt_var *found_var;

	for (struct rt_kern *k = im->kerns; k; k = k->next) {
		HASH_FIND_PTR(by_function, &k->host, found_kern);
		if (found_kern == k)
			HASH_DEL(by_function, k);
		rt_lock();
		rt_handle_remove(k);
		rt_unlock();
	}
	for (struct rt_var *v = im->vars; v; v = v->next) {
		HASH_FIND_PTR(by_symbol, &v->host, found_var);
		if (found_var == v)
			HASH_DEL(by_symbol, v);
	}
	if (im->prev)
		im->prev->next = im->next;
	else
		images = im->next;
	if (im->next)
		im->next->prev = im->prev;
}

void rt_image_retire(struct rt_image *im)
{
	unlink_image(im);
	for (struct rt_kern *k = im->kerns; k; k = k->next)
		k->host = NULL;
}

void rt_image_free(struct rt_image *im)
{
	for (unsigned d = 0; d < RT_DEVICES; d++)
		unload(im, d);
	unlink_image(im);
	for (struct rt_kern *k = im->kerns, *next; k; k = next) {
		next = k->next;
		rt_proven_forget(k);
		free(k);
	}
	for (struct rt_var *v = im->vars, *next; v; v = next) {
		next = v->next;
		free(v);
	}
	for (size_t i = 0; i < im->texts.n; i++)
		free(im->texts.v[i]);
	base_vec_free(&im->texts);
	base_vec_free(&im->parts);
	base_vec_free(&im->sources);
	base_vec_free(&im->plain_parts);
	base_arena_free(&im->arena);
	free(im->text);
	free(im->copy);
	free(im);
}

/* ---- kernels and variables -------------------------------------------------------------- */

struct rt_kern *rt_kern_add(struct rt_image *im, const char *name, const void *host)
{
	struct rt_kern *k = calloc(1, sizeof(*k)), *found;

	if (!k)
		return NULL;
	k->image = im;
	k->name = base_strdup(&im->arena, name);
	k->host = host;
	for (unsigned d = 0; d < RT_DEVICES; d++)
		k->attr[d] = (struct rt_kern_attr){.max_dynamic = -1, .carveout = -1};
	k->next = im->kerns;
	im->kerns = k;
	HASH_FIND_PTR(by_function, &host, found);
	/* A template's kernel in several fat binaries has one host function; the first one
	 * counts. */
	if (host && !found)
		HASH_ADD_PTR(by_function, host, k);
	rt_lock();
	rt_handle_add(k, RT_KERNEL);
	rt_unlock();
	return k;
}

struct rt_var *rt_var_add(struct rt_image *im, const char *name, const void *host, uint64_t size,
			  void **managed)
{
	struct rt_var *v = calloc(1, sizeof(*v)), *found;

	if (!v)
		return NULL;
	v->image = im;
	v->name = base_strdup(&im->arena, name);
	v->host = host;
	v->size = size;
	v->managed = managed;
	v->next = im->vars;
	im->vars = v;
	HASH_FIND_PTR(by_symbol, &host, found);
	if (!found)
		HASH_ADD_PTR(by_symbol, host, v);
	return v;
}

struct rt_kern *rt_kern_find(const void *func)
{
	struct rt_kern *k;
	bool is_handle;

	HASH_FIND_PTR(by_function, &func, k);
	if (k || !func)
		return k;
	rt_lock();
	is_handle = rt_handle_is(func, RT_KERNEL);
	rt_unlock();
	return is_handle ? (struct rt_kern *)(uintptr_t)func : NULL;
}

struct rt_var *rt_var_find(const void *symbol)
{
	struct rt_var *v;

	HASH_FIND_PTR(by_symbol, &symbol, v);
	if (v)
		return v;
	/* A managed variable: code of the host that was compiled before nvcc knew passes what the
	 * pointer holds. */
	for (struct rt_image *im = images; im && symbol; im = im->next) {
		for (v = im->vars; v; v = v->next) {
			if (v->managed && *v->managed == symbol)
				return v;
		}
	}
	return NULL;
}

enum rt_error rt_kern_load(struct rt_kern *k, unsigned device, struct cpu_kernel **out)
{
	struct cpu_module *mod;

	if (!k->on[device]) {
		enum rt_error e = rt_image_load(k->image, device, &mod);
		if (e != RT_OK)
			return e;
		k->on[device] = cpu_module_kernel(mod, k->name);
	}
	*out = k->on[device];
	if (*out)
		return RT_OK;
	if (!k->image->has_code_only)
		return RT_ERROR_INVALID_DEVICE_FUNCTION;
	if (!k->is_reported)
		say_no_ptx(k->image);
	k->is_reported = true;
	return RT_ERROR_NO_KERNEL_IMAGE_FOR_DEVICE;
}

bool rt_kern_is_refused(struct rt_kern *k, struct cpu_kernel *kernel)
{
	bool is_incomplete;
	const char *why = cpu_kernel_refused(kernel, &is_incomplete);

	if (why && !k->is_reported) {
		rt_say("kernel %s can't run on the CPU device: %s", k->name, why);
		if (is_incomplete && k->image->has_code_only)
			say_no_ptx(k->image);
		k->is_reported = true;
	}
	if (why)
		rt_gap_refused(k, why);
	return why != NULL;
}

enum rt_error rt_symbol_find(const void *symbol, unsigned device, uint64_t *addr, uint64_t *bytes)
{
	struct cpu_module *mod;
	enum rt_error e = RT_ERROR_INVALID_SYMBOL;

	rt_images_lock();
	struct rt_var *v = rt_var_find(symbol);
	if (v)
		e = rt_image_load(v->image, device, &mod);
	if (e == RT_OK && !cpu_module_symbol(mod, v->name, addr, bytes))
		e = RT_ERROR_INVALID_SYMBOL;
	rt_images_unlock();
	return e;
}
