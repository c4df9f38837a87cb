/*
 * rows.c - the row of an instruction's handler.
 *
 * Handlers of alu/ and their rows, in each of the files' builds, by a hash of the handler's
 * address.
 */
#include "cpu/jit/rows.h"

#include <string.h>

#define HANDLERS(isa)                                                                              \
	extern const struct jit_handler cpu_handlers_int##isa[], cpu_handlers_logic##isa[],        \
		cpu_handlers_move##isa[], cpu_handlers_compare##isa[], cpu_handlers_float##isa[],  \
		cpu_handlers_approx##isa[], cpu_handlers_cvt##isa[], cpu_handlers_ldst##isa[];
#define TABLES(isa)                                                                                \
	cpu_handlers_int##isa, cpu_handlers_logic##isa, cpu_handlers_move##isa,                    \
		cpu_handlers_compare##isa, cpu_handlers_float##isa, cpu_handlers_approx##isa,      \
		cpu_handlers_cvt##isa, cpu_handlers_ldst##isa
HANDLERS(_base)
#ifdef CPU_HAS_V3
HANDLERS(_v3)
#endif

static const struct jit_handler *const tables[] = {TABLES(_base),
#ifdef CPU_HAS_V3
						   TABLES(_v3)
#endif
};

#define HASH_ROOM 2048u
static struct jit_handler by_fn[HASH_ROOM]; /* open addressing */
_Static_assert(JIT_ROWS * 4 < HASH_ROOM, "two builds of each, half full");

static struct jit_handler *entry_of(cpu_exec *fn)
{
	uintptr_t h;

	memcpy(&h, &fn, sizeof(h));
	h = h * 0x9e3779b97f4a7c15ull >> 40;
	while (by_fn[h % HASH_ROOM].fn && by_fn[h % HASH_ROOM].fn != fn)
		h++;
	return &by_fn[h % HASH_ROOM];
}

void jit_rows_start(void)
{
	for (size_t i = 0; i < BASE_COUNTOF(tables); i++)
		for (const struct jit_handler *h = tables[i]; h->fn; h++)
			*entry_of(h->fn) = *h;
}

enum jit_row jit_row_of(cpu_exec *fn)
{
	return entry_of(fn)->row;
}
