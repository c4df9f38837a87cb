/*
 * caller.c - from an access in a library to the program's line that called it.
 *
 * A memcpy touches memory by ten instructions of the C library, and no reader of a report knows
 * them: the access is named after the call from the program's own code, the innermost one that is
 * neither in a library of the system nor in Collider's. So one call is one place, too. What lies in
 * /lib, /usr/lib and the like belongs to the system; the program's own file never does.
 *
 * The frames are those of the C compiler's unwinder, from the handler of the fault outwards; this
 * happens before the engine's lock is taken, since the loader has a lock of its own. Misses: code
 * without unwinding tables (then the access is named as it is). Costs: for accesses in libraries
 * some microseconds a frame; for others a look into a table.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpu/cpu.h"
#include "cpu/events/host_access.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <unwind.h>

#define OURS_MAX  64u
#define KNOWN_MAX 1024u
#define DEPTH	  128

/* Code that host code's checks consist of: in the program, and in each library that has them. */
static struct {
	uint64_t begin, end;
} ours[OURS_MAX];
static _Atomic uint32_t nours;

void cpu_host_ours(const void *begin, const void *end)
{
	uint32_t i = atomic_load(&nours);

	if (i == OURS_MAX)
		return;
	ours[i].begin = (uintptr_t)begin;
	ours[i].end = (uintptr_t)end;
	atomic_store(&nours, i + 1);
}

static bool is_ours(uint64_t pc)
{
	uint32_t n = atomic_load(&nours);

	for (uint32_t i = 0; i < n; i++)
		if (pc - ours[i].begin < ours[i].end - ours[i].begin)
			return true;
	return false;
}

static bool is_of_system(const char *path)
{
	static const char *const folders[] = {"/lib/",	   "/lib64/",	  "/lib32/",
					      "/usr/lib/", "/usr/lib64/", "/usr/libx32/"};

	for (size_t i = 0; i < BASE_COUNTOF(folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return true;
	return *path != '/'; /* linux-vdso.so.1 */
}

/* Where the program's own file begins. */
static const void *program_base(void)
{
	static _Atomic(const void *) base;
	const void *p = atomic_load(&base);
	unsigned long headers = getauxval(AT_PHDR);
	Dl_info info;

	if (!p && headers && dladdr((void *)headers, &info)) {
		p = info.dli_fbase;
		atomic_store(&base, p);
	}
	return p;
}

static bool find_is_library(uint64_t pc)
{
	Dl_info info, self;

	if (is_ours(pc))
		return true;
	if (!dladdr((void *)(uintptr_t)pc, &info) || !info.dli_fname)
		return false; /* made at run time */
	if (info.dli_fbase == program_base())
		return false;
	return is_of_system(info.dli_fname) || (dladdr((void *)(uintptr_t)cpu_host_ours, &self) &&
						self.dli_fbase == info.dli_fbase);
}

/* pc << 1, and whether it is a library's. */
static _Atomic uint64_t known[KNOWN_MAX];

static bool is_library(uint64_t pc)
{
	_Atomic uint64_t *slot = &known[(pc ^ pc >> 12) % KNOWN_MAX];
	uint64_t k = atomic_load_explicit(slot, memory_order_relaxed);

	if (k >> 1 != (pc & UINT64_MAX >> 1)) {
		k = pc << 1 | find_is_library(pc);
		atomic_store_explicit(slot, k, memory_order_relaxed);
	}
	return k & 1;
}

struct walk {
	uint64_t pc;	 /* of the access */
	uint64_t caller; /* 0: not yet found */
	int depth;
	bool is_past; /* the frames of the handler */
};

static _Unwind_Reason_Code on_frame(struct _Unwind_Context *c, void *arg)
{
	struct walk *w = arg;
	int is_exact = 0;
	uint64_t pc = _Unwind_GetIPInfo(c, &is_exact);

	if (++w->depth > DEPTH || !pc)
		return _URC_END_OF_STACK;
	if (!w->is_past) {
		w->is_past = is_exact && pc == w->pc;
		return _URC_NO_REASON;
	}
	/* A return address may lie after the function's end. */
	pc -= !is_exact;
	if (is_library(pc))
		return _URC_NO_REASON;
	w->caller = pc;
	return _URC_END_OF_STACK;
}

uint64_t cpu_host_caller(uint64_t pc)
{
	struct walk w = {.pc = pc};

	if (!is_library(pc))
		return pc;
	_Unwind_Backtrace(on_frame, &w);
	return w.caller ? w.caller : pc;
}
