/*
 * order.c - atomics and strong accesses of launches in the order of groups of blocks (apart.c).
 *
 * Where results of atomics are used, or global memory is loaded strongly, blocks may meet. One
 * worker executes group after group. Several leave the same if a group that comes to its first such
 * instruction waits until all groups before it have ended, and have carried out what they wrote
 * down; what it did until then it did beside them. Two kinds needn't wait:
 *
 * - A strong store is written down (deferred.c), and carried out when all groups before have ended,
 *   which is when one worker would do it: nothing else but strong accesses and atomics, which come
 *   after that, may access these words (touch.c).
 * - A *ticket*: one thread of each block increments a counter once, to number the blocks. One
 *   worker would give the n-th block to start what the counter was before the launch, and n. So a
 *   block gets that at once. Each block of each group must have taken one, of the same counter, and
 *   nothing else may access it (touch.c), or the launch is taken back. Which instruction it is the
 *   text says (load/traits.c).
 *
 * So of CUB's radix sort a block takes its number, sorts its keys and writes its counts down before
 * it waits, to look at what blocks before it have written.
 *
 * A block that waits for a later one, or for another stream's work, would wait for ever, as these
 * begin when it has ended. Loops that do so by what an atomic returns are found in the text
 * (flow/waits.c), but for those that store this to memory and read it back, which nothing
 * distinguishes from the end of a queue; and what is loaded strongly is mostly waited for, but
 * mostly of blocks before. So a group that has executed many instructions without an end *opens*
 * the launch: from then on it is one like all others, whose blocks take turns, with whatever else
 * can begin. On several workers it is taken back first, and repeated on one: when it is opened
 * follows from what the group does. Later launches of the kernel are like all others from the
 * start. Until then the launch isn't taken for a deadlock (deadlock.c).
 *
 * Costs: what comes after the first strong load or atomic has one worker. A launch that waits takes
 * a second more, once for each kernel.
 */
#include "cpu/arch.h"
#include "cpu/deferred.h"
#include "cpu/memory/resolve.h"
#include "cpu/sched.h"
#include "cpu/touch.h"

#include <sched.h>
#include <string.h>

#define PATIENCE      (1ull << 29) /* a group's instructions until its end is doubted */
#define WAIT_PATIENCE (1ull << 24) /* ... where the text says that it might wait */

static struct cpu_worker_priv *kp(const struct cpu_worker *k)
{
	return k->priv;
}

/* Is the worker's group the first of those that haven't ended? Another worker that has taken one
 * before it has said so before that. */
static bool is_first(const struct cpu_worker *k)
{
	const struct cpu_engine *e = k->m->engine;
	uint64_t mine = atomic_load(&kp(k)->at);

	if (k->deferred)
		return cpu_deferred_is_next(k->deferred);
	for (uint32_t i = 0; i < e->nworkers; i++)
		if (atomic_load(&kp(&e->workers[i])->at) < mine)
			return false;
	return true;
}

/* Have all groups before its own ended? */
static bool is_in_order(struct cpu_worker *k)
{
	kp(k)->is_first = kp(k)->is_first || is_first(k);
	return kp(k)->is_first;
}

/* The first group never waits, so this ends. A worker that must stop can't stay in the middle of an
 * instruction, and one that is tried again would change the schedule: the launch is taken back. */
bool cpu_apart_await_order(struct cpu_worker *k)
{
	struct cpu_engine *e = k->m->engine;

	for (uint32_t i = 0; !is_in_order(k); i++) {
		if (cpu_apart_must_stop(e)) {
			atomic_store(&e->apart.is_wrong, true);
			break;
		}
		if (i < e->spins)
			cpu_arch_relax();
		else
			sched_yield();
	}
	return kp(k)->is_first;
}

/* ---- strong stores --------------------------------------------------------------------------- */

static void store_later(struct cpu_worker *k, struct cpu_warp *w, const struct cpu_acc *acc,
			unsigned lane, uint8_t *host)
{
	for (unsigned e = 0; e < acc->vec; e++, host += acc->width) {
		const void *slot = cpu_slot(w, acc->values[e]);
		struct cpu_update u = {.to = host, .bytes = acc->width};
		u.value = acc->width == sizeof(uint32_t) ? ((const uint32_t *)slot)[lane]
							 : ((const uint64_t *)slot)[lane];
		cpu_deferred_add(k->deferred, u);
	}
}

bool cpu_apart_store(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		     uint32_t mask, const uint64_t addr[CPU_WARP])
{
	struct cpu_worker *k = w->worker;
	uint32_t bytes = (uint32_t)acc->width * acc->vec;
	struct cpu_window win;

	if (!mask || !k->deferred || !acc->values || acc->each != acc->width ||
	    (acc->width != sizeof(uint32_t) && acc->width != sizeof(uint64_t)) || is_in_order(k))
		return false;
	struct cpu_span s = cpu_span_of(addr, mask);
	if (s.all & (bytes - 1) || s.hi > UINT64_MAX - bytes ||
	    !cpu_window_find(w, in, (enum ptx_space)acc->space, s.lo, s.hi - s.lo + bytes, true,
			     &win) ||
	    win.place != CPU_PLACE_GLOBAL)
		return false;
	CPU_EACH_LANE (l, mask) {
		store_later(k, w, acc, l, (uint8_t *)(uintptr_t)(addr[l] + win.delta));
	}
	return true;
}

/* ---- tickets --------------------------------------------------------------------------------- */

bool cpu_apart_ticket(struct cpu_worker *k, uint64_t host, unsigned bytes, uint64_t *value)
{
	struct cpu_apart *a = &k->m->engine->apart;
	struct cpu_worker_priv *p = kp(k);
	uint64_t first = 0;

	*value = 0;
	if ((!atomic_compare_exchange_strong(&a->ticket, &first, host) && first != host) ||
	    cpu_grid_unit(a->grid) != 1 || !cpu_touch_before(k->touch, host, value, bytes)) {
		atomic_store(&a->is_wrong, true);
		return false;
	}
	*value += p->group - a->first + p->ntickets++;
	return true;
}

bool cpu_apart_has_tickets(const struct cpu_worker *k)
{
	const struct cpu_apart *a = &k->m->engine->apart;

	return !a->grid->kernel->traits.ticket || kp(k)->ntickets == kp(k)->ngroup;
}

/* ---- launches that wait ---------------------------------------------------------------------- */

static uint64_t patience(const struct cpu_engine *e)
{
	const struct cpu_traits *t = &e->apart.grid->kernel->traits;

	if (t->has_order && e->m->opt.apart_patience)
		return e->m->opt.apart_patience;
	return t->may_wait ? WAIT_PATIENCE : PATIENCE;
}

bool cpu_apart_is_long(const struct cpu_worker *k)
{
	return k->warp_insts - kp(k)->group_start > patience(k->m->engine);
}

bool cpu_apart_may_open(const struct cpu_engine *e)
{
	const struct cpu_apart *a = &e->apart;

	return a->grid && !a->is_beside && a->grid->kernel->traits.has_order &&
	       !a->grid->priv->is_over;
}

/* Blocks of groups hold no multiprocessors; those of other launches give theirs back. */
static void hold_sms(struct cpu_device *dev, const struct cpu_grid *g)
{
	for (const struct cpu_unit *u = g->priv->resident; u; u = u->next)
		for (uint32_t r = 0; r < u->cluster.size; r++)
			cpu_block_hold(&dev->sms[u->blocks[r].cta.sm], g);
}

/* Units that are to start next are those that haven't: the window is theirs, if there is one. */
static void keep_window(struct cpu_grid_priv *p)
{
	uint32_t left = p->fetched > p->started ? (uint32_t)(p->fetched - p->started) : 0;

	memmove(p->window, p->window + p->nwindow - left, left * sizeof(p->window[0]));
	p->nwindow = left;
	if (p->fetched < p->started)
		p->fetched = p->started;
}

void cpu_apart_look(struct cpu_engine *e)
{
	struct cpu_worker *k = e->workers;
	struct cpu_grid *g = e->apart.grid;

	if (!kp(k)->nblocks || !cpu_apart_may_open(e) || !cpu_apart_is_long(k))
		return;
	g->kernel->has_waited = true;
	keep_window(g->priv);
	hold_sms(&e->devices[g->device], g);
	cpu_apart_open(e);
}
