/*
 * pages.h - memory that is followed page by page, inside src/cpu (pages.c).
 */
#ifndef COLLIDER_CPU_PAGES_H
#define COLLIDER_CPU_PAGES_H

#include "cpu/repeat.h"

struct cpu_op;

/*
 * A device is about to use [addr, addr + bytes) of the live allocation [*base, *end), in this way.
 * Narrows *base and *end to what needs no further call; false: the pager can't provide it. A range
 * of more than CPU_PAGES_STEP bytes, of which only some may be used, is refused as long as it
 * would bring pages: its parts are asked for then.
 */
#define CPU_PAGES_STEP 4096u
bool cpu_pages_use(struct cpu_machine *m, uint64_t addr, uint64_t bytes, bool is_whole,
		   enum cpu_use use, uint64_t *base, uint64_t *end);
/* No memory is at addr: has the pager put some there? */
bool cpu_pages_missing(struct cpu_machine *m, uint64_t addr);
/* Memory has been placed there: pages that held other memory are to be asked for again. */
void cpu_pages_placed(struct cpu_machine *m, uint64_t base, uint64_t end);
/* space.c: the first live allocation that ends above addr; false: there is none. */
bool cpu_space_from(const struct cpu_machine *m, uint64_t addr, struct cpu_mem_info *out);
/* Has the pager refused a page? Then faults are CPU_FAULT_UNKNOWN. */
bool cpu_pages_refused(const struct cpu_machine *m);
/* A kernel starts; ends. With the engine's lock held. */
void cpu_pages_begin(struct cpu_op *op);
void cpu_pages_end(struct cpu_op *op);
void cpu_pages_free(struct cpu_machine *m);

/* Is anything followed now? */
static inline bool cpu_pages_are_on(const struct cpu_machine *m)
{
	return __builtin_expect(m->pages != NULL, 0);
}

#endif
