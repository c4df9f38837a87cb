/*
 * entries.c - a jump to our function at the entry of each function of a program's own CUDA runtime.
 *
 * An executable, or a shared library, that nvcc has linked as it does by default holds the runtime
 * itself. Its functions are found by their names (of the file's symbols) or, where those were
 * removed, by their code (known.c). This happens before any constructor has run: the libraries of a
 * program register their kernels in theirs, and these run before those of a preloaded library,
 * unless that is linked with -z initfirst. Later objects are seen when the loader has mapped them.
 * Several runtimes in one process so become one, with one state. NVIDIA's shared runtime, opened by
 * its path, is replaced in the same way.
 *
 * Misses: a runtime of CUDA 12 or older, whose structures differ, and one without symbols whose
 * code isn't known; both are named (rt_entries_report). Costs: a fraction of a millisecond for an
 * object with a runtime; for others a search through the names of their symbols.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cudart/entries/entries.h"
#include "cudart/entries/inner.h"

#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cudart/state/refuse.h"

#define MISSED_MAX 16u

/* Files whose runtime stays as it is. Written under the loader's lock. */
static struct {
	char path[256];
	const char *why;
	atomic_bool is_said;
} missed[MISSED_MAX];
static atomic_uint nmissed;

static void put_missed(const char *path, const char *why)
{
	unsigned n = atomic_load(&nmissed);

	if (n == MISSED_MAX)
		return;
	strncpy(missed[n].path, path, sizeof(missed[n].path) - 1);
	missed[n].why = why;
	atomic_store(&nmissed, n + 1);
}

/* The objects whose runtime was replaced. */
static const struct link_map *replaced[64];
static atomic_uint nreplaced;

static void put_replaced(const struct link_map *m)
{
	unsigned n = atomic_load(&nreplaced);

	if (n == sizeof(replaced) / sizeof(*replaced))
		return;
	replaced[n] = m;
	atomic_store(&nreplaced, n + 1);
}

bool rt_entries_is_replaced(const struct link_map *m)
{
	unsigned n = atomic_load(&nreplaced), i = 0;

	while (i < n && replaced[i] != m)
		i++;
	return i < n;
}

void rt_entries_report(void (*say)(const char *path, const char *why))
{
	unsigned n = atomic_load(&nmissed);

	for (unsigned i = 0; i < n; i++)
		if (!atomic_exchange(&missed[i].is_said, true))
			say(missed[i].path, missed[i].why);
}

/* ---- our functions ------------------------------------------------------------------------- */

/* The exported functions of this library, by its own hash table: dlsym allocates. */
static struct {
	uintptr_t base;
	const Elf64_Sym *symbols;
	const char *names;
	const uint32_t *hash; /* DT_GNU_HASH */
} ours;

static bool find_ours(void)
{
	extern const char begin[] __asm__("__ehdr_start") __attribute__((visibility("hidden")));

	for (struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		if (m->l_addr != (uintptr_t)begin)
			continue;
		ours.base = m->l_addr;
		for (const Elf64_Dyn *d = m->l_ld; d->d_tag != DT_NULL; d++) {
			const void *p = (const void *)d->d_un.d_ptr;
			if (d->d_tag == DT_SYMTAB)
				ours.symbols = p;
			else if (d->d_tag == DT_STRTAB)
				ours.names = p;
			else if (d->d_tag == DT_GNU_HASH)
				ours.hash = p;
		}
	}
	return ours.symbols && ours.names && ours.hash;
}

static void *our_function(const char *name)
{
	uint32_t h = 5381, nbuckets = ours.hash[0], first = ours.hash[1], filter = ours.hash[2];
	const uint32_t *buckets = ours.hash + 4 + (size_t)filter * 2, *chain = buckets + nbuckets;

	for (const char *s = name; *s; s++)
		h = h * 33 + (unsigned char)*s;
	uint32_t i = buckets[h % nbuckets];
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t is = chain[i - first];
		const Elf64_Sym *s = &ours.symbols[i];
		if ((is | 1) == (h | 1) && s->st_shndx != SHN_UNDEF &&
		    !strcmp(ours.names + s->st_name, name))
			return (void *)(ours.base + s->st_value);
		if (is & 1)
			return NULL;
	}
}

/* ---- an object ----------------------------------------------------------------------------- */

struct object {
	struct entries_file file;
	uintptr_t base;
	bool has_runtime, is_old;
	unsigned replaced;
};

/* What the names show: is the runtime defined here, and is it one of before CUDA 13? */
static bool look(void *ctx, const char *name, uint64_t at, uint64_t bytes)
{
	struct object *o = ctx;

	(void)at, (void)bytes;
	o->has_runtime |= !strcmp(name, "__cudaRegisterFatBinary");
	/* The first is CUDA 12's, the second that of those before. */
	o->is_old |=
		!strcmp(name, "cudaGetDeviceProperties_v2") || !strcmp(name, "cudaBindTexture");
	return true;
}

/* A function that a newer runtime has: it is refused by its name. The name stays, as the code. */
static const void *refusal(const char *name)
{
	static unsigned char *at, *end;
	const size_t room = 1u << 16;
	int (*refuse)(const char *) = rt_refuse_entry;
	size_t n = strlen(name) + 1, bytes = (ENTRIES_CALL + n + 15) & ~(size_t)15;
	void *to;

	if ((size_t)(end - at) < bytes) {
		long p = syscall(SYS_mmap, NULL, room, PROT_READ | PROT_WRITE | PROT_EXEC,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
		if ((p < 0 && p > -4096) || bytes > room)
			return NULL;
		at = (unsigned char *)p;
		end = at + room;
	}
	unsigned char *code = at;
	char *kept = (char *)code + ENTRIES_CALL;
	memcpy(kept, name, n);
	memcpy(&to, &refuse, sizeof(to));
	entries_put_call(code, kept, to);
	at += bytes;
	return code;
}

static bool replace(void *ctx, const char *name, uint64_t at, uint64_t bytes)
{
	struct object *o = ctx;
	const void *to = our_function(name);

	if (bytes < entries_jump || !entries_file_is_code(&o->file, at, entries_jump))
		return true;
	if (!to)
		to = refusal(name);
	if (to) {
		entries_put_jump((void *)(o->base + at), to);
		o->replaced++;
	}
	return true;
}

/* Makes all code of the object writable, or not. False: the system doesn't allow it. */
static bool set_writable(const struct object *o, bool is_writable)
{
	bool is_done = true;

	for (size_t i = 0; i < o->file.nsegments; i++) {
		const Elf64_Phdr *p = &o->file.segments[i];
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		void *at = (void *)(o->base + p->p_vaddr);
		if (is_writable)
			is_done &= entries_unlock(at, p->p_memsz);
		else
			entries_lock(at, p->p_memsz);
	}
	return is_done;
}

/* The tables of symbols that may define the runtime, one by one. */
static const Elf64_Shdr *next_table(const struct object *o, const Elf64_Shdr *last)
{
	const struct entries_file *f = &o->file;
	size_t i = last ? (size_t)(last - f->sections) + 1 : 0;

	for (; i < f->nsections; i++) {
		const Elf64_Shdr *s = &f->sections[i];
		if ((s->sh_type == SHT_SYMTAB || s->sh_type == SHT_DYNSYM) &&
		    entries_file_mentions(f, s, "__cudaRegisterFatBinary"))
			return s;
	}
	return NULL;
}

/*
 * Does the file hold GPU code, but no symbols that would show whose runtime it uses? One that calls
 * the driver imports its functions; a static runtime opens the driver's library instead.
 */
static bool is_stripped(const struct object *o)
{
	const struct entries_file *f = &o->file;

	if (!entries_file_has_section(f, ".nvFatBinSegment"))
		return false;
	for (size_t i = 0; i < f->nsections; i++) {
		const Elf64_Shdr *s = &f->sections[i];
		if (s->sh_type == SHT_SYMTAB ||
		    (s->sh_type == SHT_DYNSYM && entries_file_mentions(f, s, "cuInit")))
			return false;
	}
	return true;
}

/* Returns why the object's runtime stays; NULL: it was replaced, or there is none. */
static const char *replace_runtime(struct object *o)
{
	const Elf64_Shdr *table = next_table(o, NULL);

	if (!table && !is_stripped(o))
		return NULL;
	for (const Elf64_Shdr *t = table; t; t = next_table(o, t))
		entries_file_functions(&o->file, t, look, o);
	if (table && !o->has_runtime)
		return NULL; /* it imports a shared one */
	if (o->is_old)
		return "its CUDA runtime is that of CUDA 12 or older, and the CPU device has that "
		       "of 13";
	if (!set_writable(o, true)) {
		set_writable(o, false);
		return "the system doesn't let its CUDA runtime be replaced";
	}
	if (table)
		for (const Elf64_Shdr *t = table; t; t = next_table(o, t))
			entries_file_functions(&o->file, t, replace, o);
	else
		entries_known(&o->file, replace, o);
	set_writable(o, false);
	return o->replaced ? NULL
			   : "its CUDA runtime has no symbols (strip), and its code isn't that of "
			     "the version that Collider was built with: link it with -cudart "
			     "shared, or keep the symbols";
}

/* NVIDIA's libraries of kernels bring machine code only, and are named where they are refused. */
static bool is_vendor(const char *path)
{
	static const char *const names[] = {"libcu", "libnv", "libnpp", "libnccl"};
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strncmp(base, names[i], strlen(names[i])) &&
		    strncmp(base, "libcudart", 9) != 0)
			return true;
	return false;
}

static void see_object(const struct link_map *m)
{
	struct object o = {.base = m->l_addr};
	const char *path = *m->l_name ? m->l_name : "/proc/self/exe";

	if (m->l_addr == ours.base || is_vendor(path) || !entries_file_open(&o.file, path))
		return;
	const char *why = replace_runtime(&o);
	if (why)
		put_missed(path, why);
	else if (o.replaced)
		put_replaced(m);
	entries_file_close(&o.file);
}

/* ---- the list of objects ------------------------------------------------------------------- */

/* The last object that was seen: new ones come after it. The loader's lock is held. */
static struct link_map *last;

static void see_new(void)
{
	static bool adds;

	if (_r_debug.r_state != RT_CONSISTENT) {
		adds = _r_debug.r_state == RT_ADD;
		return;
	}
	struct link_map *m = adds && last ? last->l_next : NULL;
	for (; m; m = m->l_next)
		see_object(m);
	for (m = _r_debug.r_map; m; m = m->l_next)
		last = m;
}

/* Of ThreadSanitizer's runtime. clang links it into the program, so that its functions stand in for
 * the C library's before the program's own constructor has called this; and call NULL. */
extern void __tsan_init(void) __attribute__((weak));

__attribute__((constructor(101))) static void start(void)
{
	if (__tsan_init)
		__tsan_init();
	if (!find_ours())
		return;
	for (struct link_map *m = _r_debug.r_map; m; m = m->l_next) {
		see_object(m);
		last = m;
	}
	entries_listen(see_new);
}
