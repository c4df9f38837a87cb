/*
 * code.c - memory for machine code: written, then made executable, never both.
 *
 * Each run has pages of its own, so that no thread executes what another one writes, and a child
 * after fork has all that its parent had, as its own. Where a run begins within its pages varies:
 * else the runs of a loop would share few sets of the cache.
 * Costs: two system calls and 4 KiB a run.
 */
#include "cpu/jit/code.h"

#include <string.h>
#include <sys/mman.h>

#include "base/base.h"

#define PAGE 4096u
#define MOST (64u << 20)
#define STEP 320u

static _Atomic uint64_t taken, made;
static _Atomic int has_said;

static struct jit_code *refuse(void)
{
	if (!atomic_exchange(&has_said, 1))
		base_say("no executable memory: arithmetic is interpreted");
	return NULL;
}

struct jit_code *jit_code_new(const struct jit_text *t, const struct jit_gen *g, unsigned n)
{
	size_t groups = g->ngroups * sizeof(g->groups[0]);
	uint32_t head = (uint32_t)(sizeof(struct jit_code) + groups + 63) / 64u * 64u;
	uint32_t bytes = (head + t->n + PAGE - 1) / PAGE * PAGE;
	uint32_t room = bytes - head - t->n;
	uint32_t at =
		head + (uint32_t)(atomic_fetch_add(&made, 1) * STEP % (room + 1u)) / 64u * 64u;

	if (atomic_fetch_add(&taken, bytes) + bytes > MOST) {
		atomic_fetch_sub(&taken, bytes);
		return refuse();
	}
	uint8_t *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED) {
		atomic_fetch_sub(&taken, bytes);
		return refuse();
	}
	struct jit_code *c = (struct jit_code *)(void *)p;
	const uint8_t *entry = p + at;
	memcpy(p + at, t->p, t->n);
	memcpy(&c->call, &entry, sizeof(entry));
	c->pool = p + at + t->pool;
	c->bytes = bytes;
	c->n = (uint8_t)n;
	c->ngroups = (uint8_t)g->ngroups;
	c->ways = g->ways;
	memcpy(c->groups, g->groups, groups);
	if (mprotect(p, bytes, PROT_READ | PROT_EXEC)) {
		munmap(p, bytes);
		atomic_fetch_sub(&taken, bytes);
		return refuse();
	}
	return c;
}

void jit_code_free(struct jit_code *c)
{
	if (!c)
		return;
	atomic_fetch_sub(&taken, c->bytes);
	munmap(c, c->bytes);
}
