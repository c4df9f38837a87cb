// nvtx.h - what NVTX's header-only library does, as far as tests need it (C and C++): the toolkit
// that `make setup` installs hasn't got it. At the first call the library that
// NVTX_INJECTION64_PATH names is loaded, and its InitializeInjectionNvtx2 fills in the functions of
// two tables.
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#ifdef __cplusplus
struct nvtx_attributes {
	uint16_t version = 3, size = 48;
	uint32_t category = 0;
	int32_t color_type = 0;
	uint32_t color = 0;
	int32_t payload_type = 0, reserved = 0;
	uint64_t payload = 0;
	int32_t message_type = 1;
	const void *message = NULL;
};
#endif

typedef void (*nvtx_fn)(void);
static nvtx_fn nvtx_core[16], nvtx_core2[16];
static nvtx_fn *nvtx_slots[2][17];

static int nvtx_get(int module, nvtx_fn ***table, unsigned *size)
{
	int at = module == 5;

	for (int i = 0; i < 16; i++)
		nvtx_slots[at][i] = i ? (at ? nvtx_core2 : nvtx_core) + i : NULL;
	*table = nvtx_slots[at];
	*size = 16;
	return module == 1 || module == 5;
}

static const void *nvtx_tables(uint32_t id)
{
	static const struct {
		size_t size;
		int (*get)(int, nvtx_fn ***, unsigned *);
	} callbacks = {sizeof(callbacks), nvtx_get};

	return id == 1 ? &callbacks : NULL;
}

static nvtx_fn nvtx_function(nvtx_fn *table, int id)
{
	static bool is_ready;

	if (!is_ready) {
		typedef int entry(const void *(*)(uint32_t));
		const char *path = getenv("NVTX_INJECTION64_PATH");
		void *lib = path ? dlopen(path, RTLD_LAZY) : NULL;
		entry *init = lib ? (entry *)dlsym(lib, "InitializeInjectionNvtx2") : NULL;
		if (init)
			init(nvtx_tables);
		is_ready = true;
	}
	return table[id];
}

/* Nothing happens without a tool. */
#define NVTX_CALL(type, table, id, ...)                                                            \
	(nvtx_function(table, id) ? ((type *)table[id])(__VA_ARGS__) : 0)
