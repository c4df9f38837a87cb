/*
 * place.c - the memory at an address, as a programmer knows it.
 *
 * Events carry addresses on the host. A report needs the block and its variable for shared memory,
 * the variable's name for a module's, and the allocation for the rest. Blocks that run and modules
 * that are loaded are listed for that; both lists are searched only when a pair is reported for the
 * first time.
 *
 * Misses: pointers are not followed, so a part of a pool is named as the whole allocation.
 * Costs: 32 bytes for each running block, a walk over those of the machine when one ends.
 */
#include "cpu/load/load.h"
#include "cpu/memory/space.h"
#include "cpu/events/internal.h"

#include "race/detector.h"

#include <string.h>

#include <string.h>

void events_block_add(struct cpu_events *x, const struct cpu_cta *cta, uint64_t number)
{
	struct events_block b = {.base = (uint64_t)(uintptr_t)cta->shared,
				 .bytes = cta->shared_bytes,
				 .number = (uint32_t)number,
				 .grid = cta->grid};

	base_vec_push(&x->blocks, b);
}

void events_block_remove(struct cpu_events *x, const struct cpu_cta *cta)
{
	for (size_t i = 0; i < x->blocks.n; i++)
		if (x->blocks.v[i].base == (uint64_t)(uintptr_t)cta->shared) {
			x->blocks.v[i] = x->blocks.v[--x->blocks.n];
			return;
		}
}

void events_tensor_add(struct cpu_events *x, const struct cpu_cta *cta, uint64_t base,
		       uint32_t bytes)
{
	struct events_block b = {.base = base, .bytes = bytes, .grid = cta->grid};

	for (size_t i = 0; i < x->blocks.n; i++)
		if (x->blocks.v[i].base == (uint64_t)(uintptr_t)cta->shared)
			b.number = x->blocks.v[i].number;
	base_vec_push(&x->tensors, b);
}

void events_tensor_remove(struct cpu_events *x, uint64_t base)
{
	for (size_t i = 0; i < x->tensors.n; i++)
		if (x->tensors.v[i].base == base) {
			x->tensors.v[i] = x->tensors.v[--x->tensors.n];
			return;
		}
}

void cpu_event_module(struct cpu_module *mod)
{
	struct cpu_events *x = mod->m->events;

	if (!x)
		return;
	events_lock(x);
	base_vec_push(&x->modules, mod);
	events_unlock(x);
}

void events_module_remove(struct cpu_events *x, const struct cpu_module *mod)
{
	for (size_t i = 0; i < x->modules.n; i++)
		if (x->modules.v[i] == mod) {
			x->modules.v[i] = x->modules.v[--x->modules.n];
			return;
		}
}

static bool is_reached(const struct load_var *v, const struct cpu_kernel *k)
{
	for (uint32_t i = 0; i < v->nkernels; i++)
		if (k->mod->kernels.v[v->kernels[i]] == k)
			return true;
	return false;
}

/* The __shared__ variable of the block's kernel at an address of the window. */
static void name_shared(const struct events_block *b, uint64_t at, struct events_memory *out)
{
	const struct cpu_kernel *k = b->grid->kernel;

	for (size_t i = 0; i < k->mod->vars.n; i++) {
		const struct load_var *v = k->mod->vars.v[i];
		uint64_t end = v->is_dynamic ? CPU_SHARED_BASE + b->bytes : v->addr + v->bytes;
		if (v->decl->space != PTX_SPACE_SHARED || at < v->addr || at >= end ||
		    !is_reached(v, k))
			continue;
		const char *called = race_called_name(v->name, strlen(v->name));
		out->name = called ? called : v->name;
		out->base = v->addr;
		out->bytes = end - v->addr;
		return;
	}
}

static bool find_shared(const struct cpu_events *x, uint64_t host, struct events_memory *out)
{
	for (size_t i = 0; i < x->blocks.n; i++) {
		const struct events_block *b = &x->blocks.v[i];
		if (host - (b->base - CPU_SHARED_BASE) >= b->bytes + CPU_SHARED_BASE)
			continue;
		*out = (struct events_memory){.kind = RACE_MEMORY_SHARED,
					      .name = "",
					      .base = CPU_SHARED_BASE,
					      .bytes = b->bytes,
					      .shift = CPU_SHARED_BASE - b->base,
					      .grid = b->grid->id,
					      .block = b->number};
		if (host < b->base) {
			out->name = "(the system's part)";
			out->base = 0;
			out->bytes = CPU_SHARED_BASE;
			return true;
		}
		name_shared(b, host + out->shift, out);
		return true;
	}
	return false;
}

static bool find_tensor(const struct cpu_events *x, uint64_t host, struct events_memory *out)
{
	for (size_t i = 0; i < x->tensors.n; i++) {
		const struct events_block *b = &x->tensors.v[i];
		if (host - b->base >= b->bytes)
			continue;
		*out = (struct events_memory){.kind = RACE_MEMORY_TENSOR,
					      .name = "",
					      .bytes = b->bytes,
					      .shift = 0 - b->base,
					      .grid = b->grid->id,
					      .block = b->number};
		return true;
	}
	return false;
}

static void name_variable(const struct cpu_events *x, uint64_t at, struct events_memory *out)
{
	for (size_t i = 0; i < x->modules.n; i++) {
		const struct cpu_module *mod = x->modules.v[i];
		for (size_t k = 0; k < mod->vars.n; k++) {
			const struct load_var *v = mod->vars.v[k];
			if (v->decl->space == PTX_SPACE_SHARED || at < v->addr ||
			    at - v->addr >= v->bytes)
				continue;
			out->kind = RACE_MEMORY_VARIABLE;
			out->name = v->name;
			out->base = v->addr;
			out->bytes = v->bytes;
			return;
		}
	}
}

void events_memory_at(const struct cpu_events *x, uint64_t host, struct events_memory *out)
{
	struct cpu_mem_info info;

	*out = (struct events_memory){.name = ""};
	if (find_shared(x, host, out) || find_tensor(x, host, out))
		return;
	uint64_t at = cpu_space_program(x->m, host);
	out->shift = at - host;
	if (!cpu_mem_find(x->m, at, &info))
		return;
	out->base = info.base;
	out->bytes = info.bytes;
	switch (info.kind) {
	case CPU_MEM_DEVICE:
		out->kind = info.is_heap ? RACE_MEMORY_HEAP : RACE_MEMORY_DEVICE;
		return;
	case CPU_MEM_HOST:
		out->kind = info.is_registered ? RACE_MEMORY_REGISTERED : RACE_MEMORY_HOST;
		return;
	case CPU_MEM_MANAGED:
		out->kind = RACE_MEMORY_MANAGED;
		break;
	case CPU_MEM_MODULE:
		break;
	}
	name_variable(x, at, out);
}
