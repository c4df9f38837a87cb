/*
 * order.h - release and acquire patterns (patterns.c): what orders threads, from events alone.
 *
 * Part of types.h, which includes it after the types.
 */
#ifndef COLLIDER_ORACLE_ORDER_H
#define COLLIDER_ORACLE_ORDER_H

/* place.c. Equal of actors that a scope narrower than a device's may include both: of a cluster. */
uint64_t oracle_near_key(struct oracle *o, uint32_t actor);
struct oracle_pub oracle_publish(struct oracle *o, struct oracle_thread *t, uint32_t actor);
void oracle_learn(struct oracle *o, struct oracle_clock **c, const struct oracle_pub *pub);
void oracle_release_add(struct oracle *o, struct oracle_release *r, uint8_t scope,
			const struct oracle_pub *pub);
/* The same by an arrival at an mbarrier: ordinary reads before it have been carried out. */
void oracle_release_arrival(struct oracle *o, struct oracle_release *r, uint8_t scope,
			    const struct oracle_pub *pub);
void oracle_release_copy(struct oracle *o, struct oracle_release *to,
			 const struct oracle_release *from);
void oracle_release_free(struct oracle *o, struct oracle_release *r);
/* Thread t acquires the part of r that its scope reaches now. */
void oracle_acquire(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		    const struct oracle_release *r, uint8_t scope);
/* ... or keeps it for an acquire that may follow; `taken`: the scope acquired already, or 0. */
void oracle_acquire_later(struct oracle *o, struct oracle_thread *t, uint32_t actor,
			  struct oracle_release *r, uint64_t address, uint64_t bytes,
			  uint8_t taken);
void oracle_acquire_at(struct oracle *o, struct oracle_thread *t, uint64_t address, uint64_t bytes,
		       uint8_t scope);
/* t has released by an operation on these bytes; takes ownership of pub. */
void oracle_release_at(struct oracle *o, struct oracle_thread *t, uint64_t address, uint64_t bytes,
		       uint8_t scope, struct oracle_pub pub);
/* All that a strong write of t to these bytes releases, besides itself. */
void oracle_release_pending(struct oracle *o, struct oracle_thread *t, uint64_t address,
			    uint64_t bytes, struct oracle_release *out);
void oracle_pends_free(struct oracle *o, struct oracle_pends *p);
/* t's access by mbarrier.init has been made by the pseudo-thread `init`. */
void oracle_init_done(struct oracle *o, struct oracle_thread *t, uint32_t init);
/* What an acquiring fence acquires, and what it and a releasing one leave to be completed. */
void oracle_fence_acquire(struct oracle *o, struct oracle_thread *t, uint8_t scope);
void oracle_fence_release(struct oracle *o, struct oracle_thread *t, uint8_t scope,
			  const struct oracle_pub *pub);
void oracle_fence_prune(struct oracle *o, struct oracle_thread *t, uint8_t strength, uint8_t scope);

/* lanes.c: the lanes of a warp. A mask of 0: the one thread. */
void oracle_lanes_from(uint32_t *warp, uint32_t *mask);
/* The threads of a grid's warp, side by side; NULL: they must be looked up one by one. */
struct oracle_thread *oracle_threads_of(struct oracle *o, uint32_t warp);
static inline struct oracle_thread *oracle_thread_at(struct oracle *o, struct oracle_thread *first,
						     uint32_t warp, uint32_t l)
{
	return first ? first + l : oracle_thread_of(o, warp + l);
}
/* The lanes that have the same epochs as the first one. */
struct oracle_part oracle_same_epoch(struct oracle *o, uint32_t warp, uint32_t lanes);
/* Adds the epochs of a part to a clock that the caller owns. */
void oracle_raise_part(struct oracle *o, struct oracle_clock *c, const struct oracle_part *p);
/* Each lane joins c. */
void oracle_lanes_join(struct oracle *o, uint32_t warp, uint32_t mask, struct oracle_clock *c,
		       uint32_t own);

/* maps.c: tensor maps. The thread executes the acquiring fence of the map at `address`. */
void oracle_map_acquire(struct oracle *o, const struct oracle_thread *t, uint32_t actor,
			uint64_t address);
/* While the thread's reading of the map is checked its clock has what the fences of the map have
 * taken across. True: oracle_map_end must follow, with *was. */
bool oracle_map_begin(struct oracle *o, struct oracle_thread *t, uint32_t actor, uint64_t address,
		      uint64_t *was);
void oracle_map_end(struct oracle *o, struct oracle_thread *t, uint64_t was);
void oracle_maps_free(struct oracle *o);

#endif
