/*
 * demangle.c - C++ names as the programmer wrote them.
 *
 * Uses __cxa_demangle of the C++ ABI (Itanium C++ ABI, 3.4). The runtime library
 * is opened at the first mangled name, so that neither the tools nor the agent need it to start;
 * without it names are shown unchanged, as are internal names of nvcc (`_INTERNAL_...`,
 * `__nv_static_...`) that it can't read.
 */
#include "race/race.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*demangle_fn)(const char *, char *, size_t *, int *);

static demangle_fn demangle_find(void)
{
	static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
	static demangle_fn found;
	static bool is_known;

	if (is_known)
		return found;
	for (size_t i = 0; i < BASE_COUNTOF(libraries) && !found; i++) {
		void *lib = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
		void *sym = lib ? dlsym(lib, "__cxa_demangle") : NULL;
		/* ISO C has no cast from an object to a function pointer; POSIX promises it. */
		if (sym)
			memcpy(&found, &sym, sizeof(found));
	}
	is_known = true;
	return found;
}

const char *race_demangle(struct base_arena *a, const char *name)
{
	/* Only mangled names: __cxa_demangle would read the kernel name "f" as the type float. */
	if (strncmp(name, "_Z", 2))
		return name;
	demangle_fn fn = demangle_find();
	if (!fn)
		return name;
	int status = 0;
	char *text = fn(name, NULL, NULL, &status);
	const char *out = text && status == 0 ? race_text(a, text, strlen(text)) : name;
	free(text);
	return out;
}
