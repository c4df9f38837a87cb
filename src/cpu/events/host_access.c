/*
 * host_access.c - loads and stores of host code as the oracle's events, and when they are observed.
 *
 * A mov may be a plain access or an atomic with any order: the processor doesn't distinguish them.
 * So that no report is wrong, each counts as strong, acquiring or releasing, of scope .sys: with a
 * strong access of a kernel it never races (except for too small a scope of the kernel's), with a
 * weak one it does. Two accesses of host code are never a pair, nor are strong ones of different
 * sizes.
 *
 * With one actor for all host threads memory is protected only while something is under way, or has
 * ended without any host thread knowing it: otherwise all that ran comes before, and all that will
 * run comes after, what host code does. With is_host_apart memory is always protected.
 *
 * Misses: memory that the program has registered, which the report counts: it is the program's own,
 * with neighbours on its pages that system calls reach by any address, and it may be unmapped
 * without notice, so it can't be mapped twice. What host code does there might order what it does
 * elsewhere, so from then on no race of host code is reported; writes by system calls that take a
 * list of buffers. Costs: a signal for each access, see host_signal.c.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/clock.h"
#include "cpu/events/host_access.h"
#include "cpu/memory/space.h"
#include "cpu/events/internal.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <stddef.h>
#include <string.h>

/* With is_host_auto: so many accesses cost some seconds, and the program shall not wait longer. */
#define AUTO_MAX 200000u
/* Or such a time, where a signal is expensive (in a sandbox, up to 200 us): of accesses that follow
 * each other within a millisecond. */
#define AUTO_NS 3000000000u
#define GAP_NS	1000000u

bool events_sees_host(const struct cpu_events *x)
{
	if (x->m->opt.is_host_auto && !x->is_host_tried)
		return !x->is_blind; /* so far there is nothing to see */
	return x->m->alias && !x->is_blind;
}

void cpu_event_before_shared(struct cpu_machine *m)
{
	struct cpu_events *x = m->events;

	if (!x || x->is_host_tried || !m->alias)
		return;
	x->is_host_tried = true;
	x->has_handlers = m->opt.is_host_auto && cpu_host_has_handlers();
	if (x->has_handlers || !cpu_host_start(m))
		m->alias = 0; /* no memory is mapped twice yet */
}

/* Lock held. */
static void arm(struct cpu_events *x, bool is_on)
{
	if (!x->m->alias || !x->is_host_tried || x->is_armed == is_on || (is_on && x->is_host_off))
		return;
	x->is_armed = is_on;
	cpu_space_protect(x->m, is_on);
}

void events_mem_init(struct cpu_events *x)
{
	if (x->m->alias && x->m->opt.is_host_apart)
		arm(x, true);
}

void events_mem_submitted(struct cpu_events *x)
{
	x->inflight++;
	arm(x, true);
}

/* Has the host's only actor waited for all operations that have ended? */
static bool knows_all(struct cpu_events *x)
{
	bool is_all = true;

	for (unsigned d = 0; d < x->m->opt.devices; d++) {
		struct events_idle *i = &x->idle[d];
		size_t kept = 0;
		for (size_t k = 0; k < i->ended.n; k++)
			if (!oracle_host_knows(x->o, x->host, i->ended.v[k]))
				i->ended.v[kept++] = i->ended.v[k];
		i->ended.n = kept;
		is_all = is_all && !kept;
	}
	return is_all;
}

void events_mem_settle(struct cpu_events *x)
{
	if (x->is_armed && !x->inflight && !x->m->opt.is_host_apart && knows_all(x))
		arm(x, false);
}

bool cpu_event_is_armed(struct cpu_machine *m)
{
	bool is;

	events_lock(m->events);
	is = m->events->is_armed;
	events_unlock(m->events);
	return is;
}

void cpu_event_host_blind(struct cpu_machine *m)
{
	struct cpu_events *x = m->events;

	if (!x)
		return;
	events_lock(x);
	x->is_blind = true;
	events_unlock(x);
}

void cpu_host_unseen(struct cpu_machine *m, uint64_t bytes)
{
	struct cpu_events *x = m->events;

	if (!x)
		return;
	events_lock(x);
	x->is_blind = x->has_shared = true;
	x->nregistered++;
	x->registered_bytes += bytes;
	events_unlock(x);
}

void cpu_event_host_off(struct cpu_machine *m, bool has_handlers)
{
	struct cpu_events *x = m->events;

	if (!x || !m->opt.is_host_auto)
		return;
	events_lock(x);
	x->is_blind = x->is_host_off = true;
	x->has_handlers = x->has_handlers || has_handlers;
	x->is_host_dear = x->is_host_dear || !has_handlers;
	arm(x, false);
	events_unlock(x);
}

/* The time that accesses of host code take. Lock held. */
static void add_time(struct cpu_events *x)
{
	uint64_t now = base_now_ns();

	if (now - x->host_last < GAP_NS)
		x->host_ns += now - x->host_last;
	x->host_last = now;
}

/* ---- events ------------------------------------------------------------------------------- */

static struct cpu_site *site_at(struct cpu_events *x, uint64_t pc, uint32_t bytes, uint8_t kind)
{
	struct events_host_site *s;
	uint64_t key = pc << 2 | kind;

	HASH_FIND(hh, x->host_sites, &key, sizeof(key), s);
	if (s)
		return &s->site;
	s = BASE_NEW(&x->arena, struct events_host_site);
	s->key = key;
	s->site.is_host = s->site.is_host_code = true;
	s->site.access = kind == RACE_OP_READ	 ? RACE_ACCESS_LOAD
			 : kind == RACE_OP_WRITE ? RACE_ACCESS_STORE
						 : RACE_ACCESS_ATOMIC;
	s->site.pc = bytes;
	HASH_ADD(hh, x->host_sites, key, sizeof(key), s);
	return &s->site;
}

void cpu_event_host_access(struct cpu_machine *m, uint64_t addr, uint32_t bytes, uint8_t kind,
			   uint64_t pc)
{
	struct cpu_events *x = m->events;

	if (!cpu_space_twice(m, addr))
		return; /* after the end of an allocation, on its last page */
	events_lock(x);
	struct oracle_acc acc = {.inst = site_at(x, pc, bytes, kind),
				 .kind = kind,
				 .strength = kind == RACE_OP_READ    ? RACE_ACQUIRE
					     : kind == RACE_OP_WRITE ? RACE_RELEASE
								     : RACE_ACQ_REL,
				 .scope = RACE_SCOPE_SYS,
				 .bytes = bytes ? bytes : 1};
	events_direct(x, events_self(x), &acc, cpu_space_machine(m, addr));
	x->nhost_accesses++;
	add_time(x);
	bool is_dear = m->opt.is_host_auto && !x->is_host_off &&
		       (x->nhost_accesses >= AUTO_MAX || x->host_ns > AUTO_NS);
	events_unlock(x);
	if (is_dear)
		cpu_event_host_off(m, false);
}

void cpu_event_host_range(struct cpu_machine *m, uint64_t addr, uint64_t bytes, bool is_write,
			  uint64_t pc)
{
	struct cpu_events *x = m->events;
	uint64_t n = cpu_space_twice(m, addr);
	uint8_t kind = is_write ? RACE_OP_WRITE : RACE_OP_READ;

	if (!n || !bytes)
		return;
	events_lock(x);
	events_wrote_all(x);
	oracle_access_range(x->o, events_self(x), site_at(x, pc, 0, kind), kind,
			    cpu_space_machine(m, addr), n < bytes ? n : bytes);
	x->nhost_accesses++;
	events_unlock(x);
	if (x->ids && is_write)
		cpu_ids_mark(x, (const uint8_t *)(uintptr_t)cpu_space_machine(m, addr),
			     n < bytes ? n : bytes, 0);
}

/* ---- words ----------------------------------------------------------------------------------- */

void events_host_fill(struct cpu_events *x, struct cpu_site *s)
{
	const struct events_host_site *h =
		(const struct events_host_site *)(const void *)((const char *)s -
								offsetof(struct events_host_site,
									 site));
	uint64_t pc = h->key >> 2;
	const char *what = s->access == RACE_ACCESS_LOAD    ? "load"
			   : s->access == RACE_ACCESS_STORE ? "store"
							    : "atomic";
	const char *module = "?";
	uint64_t off = pc;
	Dl_info info;

	s->is_ready = true;
	s->name = s->file = "";
	if (dladdr((void *)(uintptr_t)pc, &info) && info.dli_fname) {
		char path[PATH_MAX];
		module = realpath(info.dli_fname, path) ? base_strdup(&x->arena, path)
							: info.dli_fname;
		off = pc - (uint64_t)(uintptr_t)info.dli_fbase;
		if (info.dli_sname)
			s->name = base_strdup(&x->arena, info.dli_sname);
		else
			s->name = cpu_elf_symbol(&x->arena, info.dli_fname, off);
	}
	s->text = base_printf(&x->arena, "%s at %s+0x%llx", what, module, (unsigned long long)off);
}
