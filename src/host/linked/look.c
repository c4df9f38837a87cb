/*
 * look.c - does an access of host code meet a watchpoint of a kernel (detector `watch`)?
 *
 * Kernels note watchpoints on memory that host and GPU share where host code can read them
 * (race/layout/mirror.h). An access looks beside itself, once: for weak accesses that is enough
 * (docs/soundness.md), so volatile ones don't look, and atomics never come here. One that is
 * checked by a delay looks before and during it; a watchpoint that has come and gone meanwhile has
 * left its stamp. The entry names the other side; nothing is written back. The looks are relaxed
 * loads, and order nothing.
 *
 * Misses: watchpoints whose entry another one has overwritten, or whose words are not all there
 * yet. Costs: a call and a load for each access to shared memory while the GPU works, and only
 * where the run has detector watch.
 */
#include "host/linked/runtime.h"
#include "race/file/shm_write.h"

#define WORD	4u
#define LARGEST 32u /* bytes of a watched access, which is aligned by them */

static const struct race_mirror *mirror_at(const struct race_host_area *a, unsigned i)
{
	uint64_t at = __atomic_load_n(&a->mirror[i], __ATOMIC_ACQUIRE);

	return at ? (const void *)((const char *)race_shm_get() + at) : NULL;
}

bool host_is_watched(const struct race_host_area *a)
{
	uint64_t any = 0;

	for (unsigned i = 0; i < RACE_MIRRORS; i++)
		any |= __atomic_load_n(&a->mirror[i], __ATOMIC_RELAXED);
	return any != 0;
}

/* The other side, if its words belong together and it conflicts with the access. */
static bool entry_read(const struct race_mirror_entry *e, uint64_t stamp,
		       const struct host_access *x, struct race_mirror_entry *out)
{
	uint64_t at = (uint64_t)(uintptr_t)x->p, from;

	*out = (struct race_mirror_entry){
		.table = __atomic_load_n(&e->table, __ATOMIC_RELAXED),
		.grid = __atomic_load_n(&e->grid, __ATOMIC_RELAXED),
		.half = __atomic_load_n(&e->half, __ATOMIC_RELAXED),
		.block = __atomic_load_n(&e->block, __ATOMIC_RELAXED),
		.shape = __atomic_load_n(&e->shape, __ATOMIC_RELAXED),
		.where = __atomic_load_n(&e->where, __ATOMIC_RELAXED),
	};
	from = RACE_MIRROR_ADDRESS(out);
	return from < at + x->n && at < from + RACE_MIRROR_BYTES(out) &&
	       (RACE_MIRROR_WRITES(out) || x->how & HOST_WRITE) && stamp == race_mirror_stamp(out);
}

/* Is the entry's last stamp another one than at the first look? */
static bool is_new(struct host_seen *seen, bool is_first, unsigned i, uint64_t k, uint64_t stamp)
{
	if (!seen || k >= HOST_SEEN)
		return false;
	if (is_first)
		seen->last[i][k] = stamp;
	return stamp != seen->last[i][k];
}

bool host_look(const struct host_access *x, struct host_seen *seen, bool is_first)
{
	uint64_t at = (uint64_t)(uintptr_t)x->p;
	uint64_t first = at / LARGEST * LARGEST / WORD, last = (at + x->n - 1) / WORD;

	for (unsigned i = 0; i < RACE_MIRRORS; i++) {
		const struct race_mirror *m = mirror_at(host_filter, i);
		if (seen && is_first)
			seen->mirror[i] = m;
		if (!m || (seen && seen->mirror[i] != m))
			continue;
		for (uint64_t w = first; w <= last; w++) {
			const struct race_mirror_entry *e = &m->entry[w % RACE_MIRROR_SLOTS];
			uint64_t word = __atomic_load_n(&e->word, __ATOMIC_RELAXED);
			uint64_t stamp = __atomic_load_n(&e->last, __ATOMIC_RELAXED);
			struct race_mirror_entry other;
			bool is_met = is_new(seen, is_first, i, w - first, stamp) || word;
			if (word)
				stamp = word & ~RACE_MIRROR_ACTIVE;
			if (!is_met || !entry_read(e, stamp, x, &other))
				continue;
			host_met(x, &other);
			return true;
		}
	}
	return false;
}
