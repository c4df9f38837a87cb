/*
 * model.h - the memory models, for ld, st, atom and fences, inside src/cpu.
 *
 * model.c has the part that the models share and dispatches to model_weak.c and model_a1.c. In the
 * sc model cta->l1 is NULL and nothing here is called.
 */
#ifndef COLLIDER_CPU_MODEL_H
#define COLLIDER_CPU_MODEL_H

#include "cpu/machine.h"

static inline bool cpu_model_is_on(const struct cpu_warp *w)
{
	return w->cta->l1 != NULL;
}

/* cpu_resolve that says where the bytes are, too. */
uint8_t *cpu_resolve_place(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
			   const struct cpu_range *r, enum cpu_place *place);

/* One element (at most 16 bytes, not across a 16-byte line) read or written by a lane under the
 * model. The caller releases before a store and acquires after a load. */
void cpu_model_load(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		    const struct cpu_elem *e, void *out);
void cpu_model_store(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_acc *acc,
		     const struct cpu_elem *e, const void *data);
/* Where an atomic of that scope works: the memory itself, or the block's copy of it. */
uint8_t *cpu_model_atomic(struct cpu_warp *w, unsigned lane, enum ptx_scope scope,
			  enum cpu_place place, uint8_t *host, uint32_t bytes);
/* It has written the bytes at `at` (of cpu_model_atomic). A compare-and-swap that failed is a read
 * and doesn't call this: the copy may be older than memory, and must not be written back. */
void cpu_model_atomic_wrote(struct cpu_warp *w, const uint8_t *at, const uint8_t *host,
			    uint32_t bytes);
/* Does the model keep which strong write each byte comes from (events/ids.c)? Then for an atomic
 * that works at `at` (of cpu_model_atomic) in the place of `host`: the numbers of these bytes, and
 * their new one. */
bool cpu_model_has_ids(const struct cpu_warp *w);
void cpu_model_ids(struct cpu_warp *w, const uint8_t *at, const uint8_t *host, uint32_t bytes,
		   uint32_t *ids);
void cpu_model_mark(struct cpu_warp *w, const uint8_t *at, const uint8_t *host, uint32_t bytes,
		    uint32_t id);
/* The same as cpu_model_bypass for a copy that has no warp any more. */
void cpu_model_bypass_cta(struct cpu_cta *cta, uint8_t *host, uint64_t bytes);

/* ---- inside of the models --------------------------------------------------- */

#define CPU_PENDING 8 /* entries of a lane */

/* weak: a store on its way; a1: the lane's view of these bytes. Entries of one lane never
 * overlap each other. */
struct cpu_pending {
	uint8_t *host;
	uint8_t bytes;
	uint8_t place;
	uint8_t data[16];
};

struct cpu_lane_state {
	uint32_t n;
	struct cpu_pending e[CPU_PENDING];
};

struct cpu_sector; /* model_weak.c */

/* The memory model's state of a block. */
struct cpu_l1 {
	enum cpu_model model;
	uint32_t nwarps;
	struct cpu_lane_state *lanes; /* [warp * 32 + lane] */
	uint32_t *busy;		      /* by warp: lanes with entries */
	uint64_t epoch;		      /* of clean copies: older ones count as absent */
	struct cpu_sector *table;     /* weak: by address, at most CPU_L1_SECTORS that are clean */
	struct cpu_sector **sectors;
	uint32_t nsectors, cap;
	uint32_t ndirty; /* sectors[0..ndirty-1] hold bytes that memory doesn't have */
	uint64_t rng;	 /* for copies, which belong to no worker */
	/* weak, when accesses are judged (NULL: not): numbers of strong writes accompany the
	 * bytes. */
	struct cpu_events *events;
	uint32_t ids[16]; /* of what a strong load has just seen */
	uint32_t id;	  /* of the strong store under way */
};

static inline struct cpu_lane_state *cpu_lane_state(const struct cpu_warp *w, unsigned lane)
{
	return &w->cta->l1->lanes[w->index * CPU_WARP + lane];
}

static inline bool cpu_overlaps(const uint8_t *a, uint64_t na, const uint8_t *b, uint64_t nb)
{
	return a < b + nb && b < a + na;
}

/* Copies the bytes that lie in both [host, host + bytes) and the entry from the entry to out. */
void cpu_pending_overlay(const struct cpu_pending *p, const uint8_t *host, uint32_t bytes,
			 uint8_t *out);
/* Removes entry i of a lane. */
void cpu_pending_remove(struct cpu_warp *w, unsigned lane, uint32_t i);
struct cpu_pending *cpu_pending_add(struct cpu_warp *w, const struct cpu_elem *e, const void *data);

/* model_weak.c */
void cpu_weak_load(struct cpu_warp *w, bool is_inserted, const struct cpu_acc *acc,
		   const struct cpu_elem *e, void *out);
void cpu_weak_store(struct cpu_warp *w, const struct cpu_acc *acc, const struct cpu_elem *e,
		    const void *data);
uint8_t *cpu_weak_atomic(struct cpu_warp *w, unsigned lane, enum ptx_scope scope,
			 enum cpu_place place, uint8_t *host, uint32_t bytes);
void cpu_weak_atomic_wrote(struct cpu_l1 *l1, const uint8_t *host, uint32_t bytes);
/* The numbers of bytes: in the cache if is_cached, else in memory. */
void cpu_weak_ids(struct cpu_l1 *l1, bool is_cached, const uint8_t *host, uint32_t bytes,
		  uint32_t *ids);
void cpu_weak_mark(struct cpu_l1 *l1, bool is_cached, const uint8_t *host, uint32_t bytes,
		   uint32_t id);
void cpu_weak_release(struct cpu_warp *w, uint32_t mask, enum ptx_scope scope);
void cpu_weak_acquire(struct cpu_warp *w, enum ptx_scope scope);
void cpu_weak_bypass(struct cpu_warp *w, unsigned lane, uint8_t *host, uint64_t bytes);
/* Writes dirty bytes of the range to memory; drops the block's clean copies of it if is_drop. */
void cpu_weak_clean(struct cpu_l1 *l1, const uint8_t *host, uint64_t bytes, bool is_drop);
void cpu_weak_tick(struct cpu_warp *w);
void cpu_weak_flush(struct cpu_l1 *l1); /* all dirty bytes to memory */
void cpu_weak_free(struct cpu_l1 *l1);

/* model_a1.c */
void cpu_a1_load(struct cpu_warp *w, bool is_inserted, const struct cpu_acc *acc,
		 const struct cpu_elem *e, void *out);
void cpu_a1_store(struct cpu_warp *w, const struct cpu_elem *e, const void *data);
void cpu_a1_refresh(struct cpu_warp *w, unsigned lane, const uint8_t *host, uint64_t bytes);
void cpu_a1_synchronise(struct cpu_warp *w, uint32_t mask);
void cpu_a1_tick(struct cpu_warp *w);

/* Single host accesses of aligned 1, 2, 4, 8 bytes; others byte after byte or as two halves. */
void cpu_copy_in(void *out, const uint8_t *host, uint32_t bytes);
void cpu_copy_out(uint8_t *host, const void *data, uint32_t bytes);

#endif
