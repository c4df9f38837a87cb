/*
 * entries.c - the driver's functions by name, and those that are refused.
 *
 * The toolkit's header is not included here: it renames functions by macros. A function that is
 * refused ignores its arguments, so one signature serves all.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "cudrv/cudrv.h"
#include "cudrv/refuse.h"

typedef int entry_fn(void);

#define F(fn, name, since)	extern entry_fn fn;
#define FP(fn, pt, name, since) extern entry_fn fn, pt;
#define A(symbol, fn, name, since)
#define N(fn, name, since)
#define R(fn, name, since)                                                                         \
	static int refused_##fn(void)                                                              \
	{                                                                                          \
		return drv_refuse(#fn);                                                            \
	}
#define RP(fn, pt, name, since) R(fn, name, since)
#include "cudrv/entries.def"

/* What libcuda.so.1 jumps to, in the order of entries.def (library/libcuda.c). */
__attribute__((visibility("default"))) entry_fn *const collider_cpu_driver[] = {
#define F(fn, name, since)	   fn,
#define FP(fn, pt, name, since)	   fn, pt,
#define A(symbol, fn, name, since) fn,
#define N(fn, name, since)
#define R(fn, name, since)	refused_##fn,
#define RP(fn, pt, name, since) refused_##fn, refused_##fn,
#include "cudrv/entries.def"
};

static const struct entry {
	const char *name;
	unsigned since;
	entry_fn *fn, *per_thread;
} entries[] = {
#define F(fn, name, since)	   {name, since, fn, fn},
#define FP(fn, pt, name, since)	   {name, since, fn, pt},
#define A(symbol, fn, name, since) {name, since, fn, fn},
#define N(fn, name, since)	   {name, since, fn, fn},
#define R(fn, name, since)	   {name, since, refused_##fn, refused_##fn},
#define RP(fn, pt, name, since)	   {name, since, refused_##fn, refused_##fn},
#include "cudrv/entries.def"
};

void *drv_find(const char *name, unsigned version, bool is_per_thread, enum drv_found *why)
{
	const struct entry *best = NULL;

	*why = DRV_NO_SYMBOL;
	for (size_t i = 0; i < sizeof(entries) / sizeof(*entries); i++) {
		const struct entry *e = &entries[i];
		if (strcmp(e->name, name) != 0)
			continue;
		if (e->since > version && !best)
			*why = DRV_TOO_OLD;
		else if (e->since <= version && (!best || e->since >= best->since))
			best = e;
	}
	if (!best)
		return NULL;
	*why = DRV_FOUND;
	return (void *)(uintptr_t)(is_per_thread ? best->per_thread : best->fn);
}
