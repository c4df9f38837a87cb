/*
 * syscalls.c - functions that CUDA programs call without defining them.
 *
 * vprintf (arguments in a buffer that the caller filled), malloc, free and the
 * aligned form, __assertfail. malloc returns an allocation of its own in the map of memory, so that
 * overruns and uses after free are reported; the heap's limit is only counted.
 *
 * Misses: %n; the legacy cooperative groups interface (cudaCG*); launches from kernels.
 * Costs: one write of the printer for each warp's call; a search of the map for
 * each malloc.
 */
#include "cpu/memory/space.h"
#include "cpu/events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define HEAP_UNIT  16u /* what a malloc takes from the limit: a multiple of this, and one more */
#define MAX_STRING (1u << 20) /* bytes of a format or %s */

struct device_heap {
	uint64_t limit, used;
	bool is_in_use; /* a kernel that may call malloc or free has been launched */
};

struct cpu_heap {
	pthread_mutex_t lock;
	struct device_heap *on; /* by device */
	pthread_mutex_t print_lock;
	cpu_print_fn *print;
};

static struct cpu_heap *heap_of(struct cpu_machine *m)
{
	struct cpu_heap *h = __atomic_load_n(&m->heap, __ATOMIC_ACQUIRE), *none = NULL;

	if (h)
		return h;
	h = calloc(1, sizeof(*h));
	unsigned n = m->opt.devices ? m->opt.devices : 1;
	struct device_heap *on = calloc(n, sizeof(*on));
	if (!h || !on) {
		free(h);
		free(on);
		return NULL;
	}
	h->on = on;
	for (unsigned d = 0; d < n; d++)
		on[d].limit = CPU_HEAP;
	pthread_mutex_init(&h->lock, NULL);
	pthread_mutex_init(&h->print_lock, NULL);
	if (!__atomic_compare_exchange_n(&m->heap, &none, h, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		free(h);
		free(on);
		h = none;
	}
	return h;
}

void cpu_heap_free(struct cpu_machine *m)
{
	struct cpu_heap *h = m->heap;

	if (!h)
		return;
	pthread_mutex_destroy(&h->lock);
	pthread_mutex_destroy(&h->print_lock);
	free(h->on);
	free(h);
	m->heap = NULL;
}

void cpu_heap_forked(struct cpu_machine *m)
{
	if (!m->heap)
		return;
	pthread_mutex_init(&m->heap->lock, NULL);
	pthread_mutex_init(&m->heap->print_lock, NULL);
}

bool cpu_heap_set_limit(struct cpu_machine *m, unsigned device, uint64_t bytes)
{
	struct cpu_heap *h = heap_of(m);

	if (!h || device >= m->opt.devices)
		return false;
	pthread_mutex_lock(&h->lock);
	bool is_ok = !h->on[device].is_in_use;
	if (is_ok)
		h->on[device].limit = bytes;
	pthread_mutex_unlock(&h->lock);
	return is_ok;
}

void cpu_heap_use(struct cpu_machine *m, unsigned device)
{
	struct cpu_heap *h = heap_of(m);

	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->on[device].is_in_use = true;
	pthread_mutex_unlock(&h->lock);
}

void cpu_heap_reset(struct cpu_machine *m, unsigned device)
{
	struct cpu_heap *h = heap_of(m);

	if (!h || device >= m->opt.devices)
		return;
	pthread_mutex_lock(&h->lock);
	cpu_space_heap_clear(m, device);
	h->on[device] = (struct device_heap){.limit = CPU_HEAP};
	pthread_mutex_unlock(&h->lock);
}

void cpu_set_printf(struct cpu_machine *m, cpu_print_fn *fn)
{
	struct cpu_heap *h = heap_of(m);

	if (h)
		h->print = fn;
}

static void print(struct cpu_machine *m, bool is_error, const struct base_buf *b)
{
	struct cpu_heap *h = heap_of(m);

	if (!b->n || !h)
		return;
	pthread_mutex_lock(&h->print_lock);
	if (h->print)
		h->print(m, is_error, b->p, b->n);
	else
		fwrite(b->p, 1, b->n, is_error ? stderr : stdout);
	pthread_mutex_unlock(&h->print_lock);
}

/* ---- arguments ---------------------------------------------------------------------- */

static uint64_t arg64(const uint8_t *params, uint32_t stride, unsigned lane, uint32_t offset)
{
	uint64_t v;

	memcpy(&v, params + (size_t)lane * stride + offset, sizeof(v));
	return v;
}

static uint32_t arg32(const uint8_t *params, uint32_t stride, unsigned lane, uint32_t offset)
{
	uint32_t v;

	memcpy(&v, params + (size_t)lane * stride + offset, sizeof(v));
	return v;
}

static void ret64(uint8_t *params, uint32_t stride, unsigned lane, uint32_t offset, uint64_t v)
{
	memcpy(params + (size_t)lane * stride + offset, &v, sizeof(v));
}

/* Appends the program's string at a generic address; false: a fault was raised. */
static bool put_string(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane, uint64_t addr,
		       struct base_buf *out)
{
	for (uint32_t i = 0; i < MAX_STRING; i++) {
		const uint8_t *p = cpu_resolve(w, in, lane,
					       &(struct cpu_range){.space = PTX_SPACE_GENERIC,
								   .addr = addr + i,
								   .bytes = 1});
		if (!p)
			return false;
		if (!*p)
			return true;
		base_buf_put(out, p, 1);
	}
	return true;
}

/* ---- vprintf ------------------------------------------------------------------------- */

struct print_args {
	struct cpu_warp *w;
	const struct cpu_inst *in;
	unsigned lane;
	uint64_t addr; /* of the next one */
	uint32_t n;
	bool is_bad; /* a fault was raised */
};

static uint64_t next_arg(struct print_args *a, uint32_t bytes)
{
	uint64_t v = 0;

	a->addr = (a->addr + bytes - 1) & ~(uint64_t)(bytes - 1);
	const uint8_t *p = cpu_resolve(
		a->w, a->in, a->lane,
		&(struct cpu_range){.space = PTX_SPACE_GENERIC, .addr = a->addr, .bytes = bytes});
	a->addr += bytes;
	a->n++;
	if (!p)
		a->is_bad = true;
	else
		memcpy(&v, p, bytes);
	return v;
}

/* %s: the precision bounds the bytes, so that it is formatted here. */
static void put_s(struct print_args *a, const char *spec, struct base_buf *out)
{
	struct base_buf s = {0};
	uint64_t addr = next_arg(a, 8);

	if (a->is_bad)
		return;
	if (!addr)
		base_buf_puts(&s, "(null)");
	else if (!put_string(a->w, a->in, a->lane, addr, &s))
		a->is_bad = true;
	base_buf_put(&s, "", 1);
	if (!a->is_bad)
		base_buf_printf(out, spec, s.p);
	base_buf_free(&s);
}

/* One conversion; `size` is 0, 4 (int) or 8 (l, ll, z, j, t), -2 and -1 for h and hh. */
static void put_conversion(struct print_args *a, const char *spec, char type, int size,
			   struct base_buf *out)
{
	uint64_t v;
	double d;

	switch (type) {
	case 'd':
	case 'i':
		v = next_arg(a, size == 8 ? 8 : 4);
		if (size == 8)
			base_buf_printf(out, spec, (long long)v);
		else
			base_buf_printf(out, spec, (int)(uint32_t)v);
		break;
	case 'u':
	case 'o':
	case 'x':
	case 'X':
		v = next_arg(a, size == 8 ? 8 : 4);
		if (size == 8)
			base_buf_printf(out, spec, (unsigned long long)v);
		else
			base_buf_printf(out, spec, (unsigned)v);
		break;
	case 'c':
		base_buf_printf(out, spec, (int)(uint32_t)next_arg(a, 4));
		break;
	case 'p':
		base_buf_printf(out, spec, (void *)(uintptr_t)next_arg(a, 8));
		break;
	case 's':
		put_s(a, spec, out);
		break;
	default:
		v = next_arg(a, 8);
		memcpy(&d, &v, sizeof(d));
		base_buf_printf(out, spec, d);
		break;
	}
}

/* Copies one "%..." to spec with its stars filled in; returns what follows it. Spelled like C's,
 * l and its like become ll. */
static const char *parse_spec(struct print_args *a, const char *f, char *spec, size_t cap,
			      char *type, int *size)
{
	size_t n = 0;

	spec[n++] = *f++;
	while (*f && strchr("-+ #0123456789.*", *f)) {
		if (*f == '*' && n + 16 < cap)
			n += (size_t)snprintf(spec + n, cap - n, "%d", (int)next_arg(a, 4));
		else if (*f != '*' && n + 16 < cap)
			spec[n++] = *f;
		f++;
	}
	*size = 4;
	while (*f && strchr("hlqjzt", *f)) {
		*size = *f == 'h' ? (*size == -2 ? -1 : -2) : 8;
		f++;
	}
	*type = *f;
	if (*size == 8 && *f && strchr("diouxX", *f)) {
		spec[n++] = 'l';
		spec[n++] = 'l';
	} else if (*size < 0) {
		spec[n++] = 'h';
		if (*size == -1)
			spec[n++] = 'h';
	}
	spec[n++] = *f;
	spec[n] = '\0';
	return *f ? f + 1 : f;
}

static void format(struct print_args *a, const char *f, struct base_buf *out)
{
	char spec[64], type;
	int size;

	while (*f && !a->is_bad) {
		const char *p = strchr(f, '%');
		if (!p) {
			base_buf_puts(out, f);
			return;
		}
		base_buf_put(out, f, (size_t)(p - f));
		if (p[1] == '%') {
			base_buf_put(out, "%", 1);
			f = p + 2;
			continue;
		}
		f = parse_spec(a, p, spec, sizeof(spec), &type, &size);
		/* Unknown: copied verbatim, without an argument. */
		if (type && strchr("diouxXcpseEfFgGaA", type))
			put_conversion(a, spec, type, size, out);
		else
			base_buf_put(out, p, (size_t)(f - p));
	}
}

/* int vprintf(const char *format, void *arguments) */
static enum cpu_step do_vprintf(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				uint8_t *params, uint32_t stride)
{
	struct base_buf out = {0}, f = {0};
	bool is_bad = false;

	CPU_EACH_LANE (l, mask) {
		struct print_args a = {
			.w = w, .in = in, .lane = l, .addr = arg64(params, stride, l, 8)};
		f.n = 0;
		if (!put_string(w, in, l, arg64(params, stride, l, 0), &f)) {
			is_bad = true;
			break;
		}
		base_buf_put(&f, "", 1);
		format(&a, f.p, &out);
		is_bad = a.is_bad;
		if (is_bad)
			break;
		memcpy(params + (size_t)l * stride + 16, &a.n, sizeof(a.n));
	}
	print(w->grid->m, false, &out);
	base_buf_free(&out);
	base_buf_free(&f);
	return is_bad ? CPU_FAULTED : CPU_OK;
}

/* ---- assert ------------------------------------------------------------------------------ */

/* void __assertfail(const char *message, const char *file, unsigned line, const char *function,
 * size_t char_size) */
static enum cpu_step do_assertfail(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				   uint8_t *params, uint32_t stride)
{
	const uint32_t *c = w->cta->id;
	struct base_buf out = {0};
	unsigned first = (unsigned)__builtin_ctz(mask);
	char text[160] = "";

	CPU_EACH_LANE (l, mask) {
		uint32_t tid[3];
		size_t from = out.n;
		cpu_lane_tid(w, l, tid);
		bool is_ok = put_string(w, in, l, arg64(params, stride, l, 8), &out);
		base_buf_printf(&out, ":%u: ", arg32(params, stride, l, 16));
		is_ok = is_ok && put_string(w, in, l, arg64(params, stride, l, 24), &out);
		base_buf_printf(&out, ": block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `", c[0],
				c[1], c[2], tid[0], tid[1], tid[2]);
		is_ok = is_ok && put_string(w, in, l, arg64(params, stride, l, 0), &out);
		base_buf_puts(&out, "` failed.\n");
		if (!is_ok) {
			base_buf_free(&out);
			return CPU_FAULTED;
		}
		if (l == first)
			snprintf(text, sizeof(text), "%.*s", (int)(out.n - from - 1), out.p + from);
	}
	print(w->grid->m, true, &out);
	base_buf_free(&out);
	return cpu_fault(w, in, first, CPU_FAULT_ASSERT, "%s", text);
}

/* ---- malloc and free ------------------------------------------------------------------------ */

static uint64_t cost(uint64_t bytes)
{
	return ((bytes + HEAP_UNIT - 1) & ~(uint64_t)(HEAP_UNIT - 1)) + HEAP_UNIT;
}

static uint64_t heap_take(struct cpu_machine *m, unsigned device, uint64_t bytes)
{
	struct cpu_heap *h = heap_of(m);
	void *p = NULL;

	if (!h || bytes > 1ull << 40)
		return 0;
	pthread_mutex_lock(&h->lock);
	struct device_heap *on = &h->on[device];
	on->is_in_use = true;
	if (cost(bytes) <= on->limit - on->used) {
		p = cpu_space_heap_alloc(m, device, bytes);
		if (p)
			on->used += cost(bytes);
	}
	pthread_mutex_unlock(&h->lock);
	return (uint64_t)(uintptr_t)p;
}

/* Allocation and free order what the threads do with the memory. */
static void order(struct cpu_warp *w, uint32_t mask)
{
	cpu_release(w, mask, PTX_SCOPE_GPU);
	cpu_acquire(w, mask, PTX_SCOPE_GPU);
}

/* void *malloc(size_t bytes) */
static enum cpu_step do_malloc(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			       uint8_t *params, uint32_t stride)
{
	(void)in;
	CPU_EACH_LANE (l, mask) {
		uint64_t bytes = arg64(params, stride, l, 0);
		uint64_t at = heap_take(w->grid->m, w->grid->device, bytes);
		cpu_event_heap(w, l, false, at, bytes);
		ret64(params, stride, l, 8, at);
	}
	order(w, mask);
	return CPU_OK;
}

/* void *__nv_aligned_device_malloc(size_t bytes, size_t alignment) */
static enum cpu_step do_aligned_malloc(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				       uint8_t *params, uint32_t stride)
{
	CPU_EACH_LANE (l, mask) {
		uint64_t align = arg64(params, stride, l, 8);
		if (align > CPU_SPACE_ALIGN)
			return cpu_fault(w, in, l, CPU_FAULT_UNSUPPORTED,
					 "malloc with an alignment of %" PRIu64, align);
		uint64_t bytes = arg64(params, stride, l, 0);
		uint64_t at = heap_take(w->grid->m, w->grid->device, bytes);
		cpu_event_heap(w, l, false, at, bytes);
		ret64(params, stride, l, 16, at);
	}
	order(w, mask);
	return CPU_OK;
}

/* void free(void *) */
static enum cpu_step do_free(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			     uint8_t *params, uint32_t stride)
{
	struct cpu_machine *m = w->grid->m;
	unsigned device = w->grid->device;
	struct cpu_heap *h = heap_of(m);
	uint64_t bytes;
	char why[160];

	order(w, mask);
	CPU_EACH_LANE (l, mask) {
		uint64_t addr = arg64(params, stride, l, 0);
		if (!addr || !h)
			continue;
		pthread_mutex_lock(&h->lock);
		bool is_ok = cpu_space_heap_free(m, addr, &bytes);
		/* (What another machine allocated, and this one was given, isn't counted.) */
		if (is_ok && cost(bytes) <= h->on[device].used)
			h->on[device].used -= cost(bytes);
		pthread_mutex_unlock(&h->lock);
		if (is_ok) {
			cpu_event_heap(w, l, true, addr, bytes);
			continue;
		}
		cpu_space_explain(m, device, addr, 1, why, sizeof(why));
		return cpu_fault(w, in, l, CPU_FAULT_ADDRESS,
				 "free of 0x%" PRIx64 ", which is nothing that malloc gave: %s",
				 addr, why);
	}
	return CPU_OK;
}

/* ---- machine.h ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	cpu_syscall *fn;
	uint32_t rets; /* after the arguments, which start at 0 */
} calls[] = {
	{"vprintf", do_vprintf, 16},
	{"malloc", do_malloc, 8},
	{"free", do_free, 8},
	{"__nv_aligned_device_malloc", do_aligned_malloc, 16},
	{"__assertfail", do_assertfail, 40},
};

cpu_syscall *cpu_syscall_find(const char *name, uint32_t *args, uint32_t *rets)
{
	for (size_t i = 0; i < BASE_COUNTOF(calls); i++)
		if (!strcmp(calls[i].name, name)) {
			*args = 0;
			*rets = calls[i].rets;
			return calls[i].fn;
		}
	return NULL;
}

bool cpu_syscall_is_heap(cpu_syscall *fn)
{
	return fn == do_malloc || fn == do_aligned_malloc || fn == do_free;
}

/* Beginnings of names, the longer ones first. */
static const struct {
	const char *prefix, *feature;
} lacking[] = {
	{"cudaGraphSetConditional", "conditional graph nodes"},
	{"cudaGraphKernelNode", "graphs that kernels change"},
	{"cudaGraphLaunch", "graphs that kernels launch"},
	{"cudaGetCurrentGraphExec", "graphs that kernels launch"},
	{"__cudaCDP2", "dynamic parallelism"},
	{"__cuda_syscall_cnp", "dynamic parallelism"}, /* what its library calls */
	{"cudaGetParameterBuffer", "dynamic parallelism"},
	{"cudaLaunchDevice", "dynamic parallelism"},
};

const char *cpu_syscall_lacks(const char *name, size_t n)
{
	for (size_t i = 0; i < BASE_COUNTOF(lacking); i++) {
		size_t m = strlen(lacking[i].prefix);
		if (n >= m && !strncmp(name, lacking[i].prefix, m))
			return lacking[i].feature;
	}
	return NULL;
}
