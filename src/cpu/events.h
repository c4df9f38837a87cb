/*
 * events.h - inside src/cpu: the machine's events that a judge of accesses needs (events/).
 *
 * The files that execute instructions call these for everything that orders or accesses memory.
 * machine.events is NULL when nothing is judged: then the binders of ld and st choose handlers
 * without events, and all other handlers test machine.events first. Every call takes the judge's
 * lock, the innermost one; the order of the calls is the order of events.
 *
 * Instructions with CPU_I_INSERTED make no event.
 */
#ifndef COLLIDER_CPU_EVENTS_H
#define COLLIDER_CPU_EVENTS_H

#include "cpu/machine.h"
#include "cpu/touch.h"

struct cpu_events;
struct cpu_async_warp;
struct cpu_transfer;

/* What judges the block: the machine's, its worker's own; or NULL. */
static inline struct cpu_events *cpu_events_at(const struct cpu_cta *cta)
{
	return cta->grid->events ? cta->events : NULL;
}

static inline struct cpu_events *cpu_events_of(const struct cpu_warp *w)
{
	return cpu_events_at(w->cta);
}

/* ---- events/events.c: the machine, grids, operations of the host ----------------------------- */

/* False: no memory, or options that the oracle doesn't support. */
bool cpu_event_init(struct cpu_machine *m);
void cpu_event_free(struct cpu_machine *m);
/* From now on nothing is judged; only sets a flag. m->events isn't NULL. */
void cpu_event_stop(struct cpu_machine *m);

/* All below: nothing happens when m->events is NULL. Operations are named by their id. */
void cpu_event_submit(struct cpu_op *op, struct cpu_op *const *deps, size_t n);
/* The operation starts (a kernel: its grid has been made and numbered). */
void cpu_event_start(struct cpu_op *op);
/* The calling thread begins to run a host function. */
void cpu_event_host(struct cpu_op *op);
void cpu_event_end(struct cpu_op *op);
/* The calling thread knows that it has ended; that all of the device's (UINT_MAX: of all) have. */
void cpu_event_waited(struct cpu_op *op);
void cpu_event_idle(struct cpu_machine *m, unsigned device);
/* griddepcontrol.wait has succeeded. */
void cpu_event_grid_wait(struct cpu_warp *w, uint32_t mask);
/* `number` of the block in its grid, clusters being contiguous; k: its worker. */
void cpu_event_block_start(struct cpu_worker *k, struct cpu_cta *cta, uint64_t number);
void cpu_event_block_end(struct cpu_cta *cta);
/* What the launch does from now on is not seen (after the end of all its blocks that began). */
void cpu_event_cut(struct cpu_op *op);
/* Memory that host code may access is about to be allocated: from now on its accesses are seen. */
void cpu_event_before_shared(struct cpu_machine *m);
/* There is memory that host code may access. */
void cpu_event_shared(struct cpu_machine *m);
/* Memory that begins to be used for something new. */
void cpu_event_forget(struct cpu_machine *m, uint64_t address, uint64_t bytes);
void cpu_event_heap(struct cpu_warp *w, unsigned lane, bool is_free, uint64_t address,
		    uint64_t bytes);
/* A piece of a copy or fill; a stream's read or write of a value. */
void cpu_event_op_range(struct cpu_op *op, bool is_write, uint64_t address, uint64_t bytes);
void cpu_event_op_value(struct cpu_op *op, bool is_write);

/* ---- events/proven.c: launches that are proven --------------------------------------------- */

/* The kernel is about to start. True: it is proven, and its launch has the text without checks. */
bool cpu_proven_begin(struct cpu_op *op);
/* Lanes are about to access memory that may be global: addresses in acc's space. False: they are
 * not to, as the launch isn't what was proven; it is taken back. */
bool cpu_proven_access(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		       uint32_t mask, const uint64_t addr[CPU_WARP], uint32_t bytes);
/* The same of all lanes of a launch that no worker judges, at one address or side by side from
 * `host` on. False: nothing was noted, and cpu_proven_access must. */
bool cpu_proven_near(struct cpu_warp *w, const struct cpu_inst *in, uint64_t host, uint32_t bytes,
		     bool is_one);
/* Its blocks are over. Is it to be taken back? Then memory is as before it, and it is no longer
 * proven. */
bool cpu_proven_is_wrong(const struct cpu_op *op);
void cpu_proven_undo(struct cpu_op *op);
/* Memory is as before it, nothing has been noted, and it begins anew. */
void cpu_proven_restart(struct cpu_op *op);
void cpu_proven_free(struct cpu_op *op);
/* The same of an atomic, one element a lane, also where only touch.h notes it. */
static inline bool cpu_note_update(struct cpu_warp *w, const struct cpu_inst *in,
				   const struct cpu_acc *acc, uint32_t mask,
				   const uint64_t addr[CPU_WARP])
{
	uint32_t bytes = (uint32_t)acc->width * acc->vec;

	if (w->grid->has_judges)
		return cpu_proven_access(w, in, acc, mask, addr, bytes);
	if (w->worker->touch)
		cpu_touch_lanes(w->worker->touch, w, mask, addr, bytes, TOUCH_UPDATE);
	return true;
}

/* ---- events/judges.c: launches that each worker judges for itself ---------------------------- */

/* The kernel is about to start, apart (apart.c), and isn't proven. True: it is to be judged so;
 * when it has ended it is one that is proven. */
bool cpu_judges_begin(struct cpu_op *op);
/* There is something that the machine's judge is to see: the launch is to be taken back. */
void cpu_judges_leave(struct cpu_op *op);
/* The worker is about to have blocks of the grid. False: it can't judge them. */
bool cpu_judge_start(struct cpu_worker *k, struct cpu_grid *g);
/* The launch has no blocks for the worker any more: by this worker, as others execute. */
void cpu_judge_done(struct cpu_worker *k);
/* Has the worker's judge found nothing, and seen all? No worker executes, here and below. */
bool cpu_judge_is_clean(const struct cpu_worker *k);
/* The launch has ended; `counts`: and isn't taken back. */
void cpu_judge_end(struct cpu_worker *k, bool counts);
void cpu_judge_free(struct cpu_worker *k);

/* ---- events/access.c: accesses and fences ------------------------------------------------- */

/* Is the instruction one of those that are judged? */
static inline bool cpu_event_takes(const struct cpu_warp *w, const struct cpu_inst *in)
{
	return __builtin_expect(w->grid->events != NULL, 0) && !(in->flags & CPU_I_INSERTED);
}

/* Before an instruction with CPU_I_NOTED executes: the lanes are those of the current split, of
 * which the guard hasn't been looked at. A second call before it executes is no other one. */
void cpu_event_noted(struct cpu_warp *w, const struct cpu_inst *in);

/* What lanes access, before it happens: `addr` in acc's space. Lanes whose memory is private, or
 * none at all, make no event. */
void cpu_event_access(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		      uint32_t mask, const uint64_t addr[CPU_WARP], uint32_t bytes);
/* All 32 lanes at one address, or side by side; or it isn't known. */
enum cpu_lanes_shape { CPU_LANES_ANY, CPU_LANES_SAME, CPU_LANES_SIDE };
struct cpu_lanes {
	uint32_t mask;
	enum cpu_place place; /* of all */
	uint64_t *at;	      /* by lane: where on the host; changed */
	uint8_t shape;	      /* enum cpu_lanes_shape */
};
/* The same where it is known where they are. */
void cpu_event_access_at(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
			 const struct cpu_lanes *lanes, uint32_t bytes);
/* What an atomic did to one element. */
struct cpu_rmw {
	bool is_write;	     /* false: a compare-and-swap that failed */
	bool is_red;	     /* returns nothing */
	const uint32_t *ids; /* weak model: the numbers that its bytes had; else NULL */
};
/* Such events of several lanes will come, one by one: their memory's history is fetched. */
void cpu_event_fetch(const struct cpu_warp *w, const struct cpu_lanes *lanes, uint32_t bytes);
/* Returns the number of a write in the weak model, to be given to its bytes; otherwise 0. */
uint32_t cpu_event_atomic(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
			  const struct cpu_elem *e, const struct cpu_rmw *rmw);
/* Atomics of several lanes that all wrote, one element each, where there is no weak model. */
void cpu_event_atomics(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		       bool is_red, const struct cpu_lanes *lanes);
/* A strong ld or st of a lane in the weak model, one element. `ids`: the numbers that its bytes
 * have (read); returns that of a write, which its bytes get then. */
uint32_t cpu_event_strong(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
			  const struct cpu_elem *e, const uint32_t *ids);
/* maps: of an acquire by the tensormap proxy, the lanes' addresses of maps; else NULL. */
void cpu_event_fence(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
		     const struct ptx_form *f, const uint64_t *maps);
void cpu_event_warp_sync(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask);

/* Barriers: the block's (id below CPU_BARRIERS) or the cluster's. */
#define CPU_EVENT_CLUSTER CPU_BARRIERS
struct cpu_arrival {
	uint32_t id;
	uint64_t generation;
	uint32_t expected; /* threads; 0: all */
	bool releases;
	bool leaves; /* the lanes will wait, too */
};
void cpu_event_arrive(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
		      const struct cpu_arrival *a);
void cpu_event_leave(struct cpu_warp *w, uint32_t mask, uint32_t id, uint64_t generation);

/* ---- events/async.c: mbarriers and asynchronous copies --------------------------------------- */

enum cpu_mbar_event {
	CPU_MBAR_INIT,
	CPU_MBAR_ARRIVE, /* counts for the phase that is open */
	CPU_MBAR_OTHER	 /* expect_tx, complete_tx, inval */
};
/* What happened to an mbarrier, and how strongly (enum ptx_sem, ptx_scope). */
struct cpu_mbar_use {
	enum cpu_mbar_event what;
	uint8_t sem, scope;
	bool ended; /* the open phase */
};
void cpu_event_mbarrier(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
			const uint8_t *host, const struct cpu_mbar_use *u);
/* Lanes wait for, or test, the mbarriers at host[lane]: those in `done` saw the phase before the
 * open one complete. */
void cpu_event_mbarrier_wait(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			     uint32_t done, uint8_t *const *host, const struct cpu_mbar_use *u);

/* The mbarrier there isn't initialised, and the lane uses it. False: the time in which another
 * thread might have initialised it is over. */
bool cpu_event_early(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		     const uint8_t *host);

void cpu_event_issue(struct cpu_transfer *t);
/* A part of the copy of `lane` accesses memory. */
void cpu_event_part(struct cpu_transfer *t, unsigned lane, bool is_write, const uint8_t *host,
		    uint64_t bytes);
/* The lane's part (or lanes' arrival) completes on an mbarrier. */
void cpu_event_complete(struct cpu_transfer *t, unsigned lane, const uint8_t *host, bool ended);
/* The lane's part has ended and waits for a wait of its thread. */
void cpu_event_done(struct cpu_transfer *t, unsigned lane);
/* A wait has succeeded: joined are parts of lanes in mask with `completion` (enum cpu_completion)
 * whose group is older than the newest `keep` of open[lane]; is_all: all copies. */
void cpu_event_group_wait(struct cpu_warp *w, uint32_t mask, uint8_t completion,
			  const uint32_t *open, uint32_t keep, bool is_read, bool is_all);
/* The warp's block ends. */
void cpu_event_async_free(struct cpu_async_warp *aw);

/* ---- events/product.c: matrix products of warpgroups ----------------------------------------- */

struct cpu_product;
struct ptx_matrix_shape;

/* Warp `m` of the group issues its share. */
void cpu_event_product_issue(struct cpu_product *p, unsigned m, uint32_t mask);
/* It reads units of 16 bytes: of A, each share its rows; of B, each share all n. */
void cpu_event_product_a(struct cpu_product *p, const struct ptx_matrix_shape *s,
			 const uint8_t *const *unit);
void cpu_event_product_b(struct cpu_product *p, const uint8_t *const *unit, uint32_t n);
/* The warp has waited for those before `end` that it hadn't waited for. */
void cpu_event_products_wait(struct cpu_warp *w, uint32_t mask, const struct cpu_product *first,
			     const struct cpu_product *end);
/* The warp uses registers of its share, for which it hasn't waited. */
void cpu_event_product_touched(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			       const struct cpu_product *p, bool is_write);
/* The same by the product that the warp issues; `first`: the oldest one. */
void cpu_event_product_registers(struct cpu_warp *w, const struct cpu_inst *in,
				 const struct cpu_product *first, const struct cpu_product *p);

/* ---- events/tmem.c: tensor memory ------------------------------------------------------------ */

struct cpu_tmem;
struct cpu_tc_op;

/* Lanes [lane, lane + lanes) of columns [at, at + n). */
struct cpu_tmem_area {
	uint32_t at, n, lane, lanes;
};
/* Memory that begins to be used; that is about to be freed. */
void cpu_event_tmem_new(struct cpu_warp *w, struct cpu_tmem *tm);
void cpu_event_tmem_free(struct cpu_cta *cta, struct cpu_tmem *tm);
void cpu_event_tmem_alloc(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
			  uint32_t at, uint32_t n);
void cpu_event_tmem_dealloc(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
			    struct cpu_tmem *tm, uint32_t at, uint32_t n);
/* Has the column been given back by a thread that nothing orders with the lane? Then its access is
 * a race, which the oracle reports. */
bool cpu_event_tmem_is_racy(struct cpu_warp *w, unsigned lane, struct cpu_tmem *tm, uint32_t col);
/* The warp loads or stores; it has waited for all its loads, or stores. */
void cpu_event_tmem_move(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
			 bool is_store, const struct cpu_tmem_area *area, unsigned n);
void cpu_event_tmem_wait(struct cpu_warp *w, uint32_t mask, struct cpu_tmem *tm, bool is_store);
void cpu_event_tmem_fence(struct cpu_warp *w, uint32_t mask, bool is_before);
/* An operation is issued; is executed: begin, what it accesses in a block, end. */
void cpu_event_tc_issue(struct cpu_tc_op *op, struct cpu_tmem *tm);
void cpu_event_tc_begin(struct cpu_tc_op *op);
void cpu_event_tc_units(struct cpu_tc_op *op, const struct cpu_cta *cta, const uint8_t *const *unit,
			uint32_t n);
/* Columns [at, at + n), in each the lanes of the mask. */
void cpu_event_tc_tmem(struct cpu_tc_op *op, const struct cpu_cta *cta, const struct cpu_tmem *tm,
		       bool is_write, uint32_t at, uint32_t n, const uint32_t lanes[4]);
/* Arrives on the mbarrier there; did that end the phase? */
void cpu_event_tc_commit(struct cpu_tc_op *op, const uint8_t *host, bool has_ended);
void cpu_event_tc_end(struct cpu_tc_op *op);

/* ---- events/ids.c: numbers of strong writes, by byte ----------------------------------------- */

/* Does the weak model keep them? */
bool cpu_ids_are_on(const struct cpu_events *x);
/* Of n bytes of memory; `ids` has n. mark: all get one number; 0: a weak write. */
void cpu_ids_get(struct cpu_events *x, const uint8_t *host, uint32_t n, uint32_t *ids);
void cpu_ids_put(struct cpu_events *x, const uint8_t *host, uint32_t n, const uint32_t *ids);
void cpu_ids_mark(struct cpu_events *x, const uint8_t *host, uint64_t n, uint32_t id);
/* Of a copy of bytes: gives them numbers (NULL: none). */
void cpu_ids_assign(struct cpu_events *x, uint32_t *ids, uint32_t n, const uint32_t *from);
/* The number that all n have, or 0. */
uint32_t cpu_ids_same(const uint32_t *ids, uint32_t n);
/* ---- events/place.c -------------------------------------------------------------------------- */

/* The module is complete: its variables have names from now on. */
void cpu_event_module(struct cpu_module *mod);

/* ---- events/site.c: the instruction and thread of an access, as words ----------------------- */

struct cpu_site;

/* Of the instruction that the warp's current split executes; lives as long as the machine. Lock
 * held. */
struct cpu_site *cpu_site_of(struct cpu_warp *w, const struct cpu_inst *in);
/* Of copies, fills and values of a stream. */
struct cpu_site *cpu_site_of_op(struct cpu_events *x, const struct cpu_op *op, bool is_write);
/* The functions' code is freed: copies what their sites need from it. */
void cpu_site_unload(struct cpu_module *mod);

#endif
