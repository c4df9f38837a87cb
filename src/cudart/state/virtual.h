/*
 * virtual.h - memory that the program maps at addresses which it has reserved (virtual.c).
 */
#ifndef COLLIDER_CUDART_VIRTUAL_H
#define COLLIDER_CUDART_VIRTUAL_H

#include "cudart/state/internal.h"

#define RT_GRANULE (2ull << 20) /* of physical memory and of addresses, as on a GPU */

/* Sizes are multiples of RT_GRANULE. align 0: RT_GRANULE; hint: where it would be wanted. */
enum rt_error rt_virtual_reserve(uint64_t bytes, uint64_t align, uint64_t hint, uint64_t *out);
enum rt_error rt_virtual_free(uint64_t base, uint64_t bytes);
/* Physical memory of a device. `kept`: what the API wants back by rt_physical_kept. */
enum rt_error rt_physical_new(unsigned device, uint64_t bytes, const void *kept, size_t n,
			      uint64_t *handle);
enum rt_error rt_physical_release(uint64_t handle);
enum rt_error rt_physical_retain(uint64_t address, uint64_t *handle);
enum rt_error rt_physical_kept(uint64_t handle, void *kept, size_t n);
/* Maps the whole of it; no kernel may access it before rt_virtual_set_access. */
enum rt_error rt_virtual_map(uint64_t base, uint64_t bytes, uint64_t handle);
enum rt_error rt_virtual_unmap(uint64_t base, uint64_t bytes);
enum rt_error rt_virtual_set_access(uint64_t base, uint64_t bytes, unsigned device, bool is_on);
enum rt_error rt_virtual_get_access(uint64_t address, unsigned device, bool *is_on);

/* ---- multicast objects: handles as those of physical memory, and mapped like it ---- */

/* Of `ndevices` devices, to each of which `bytes` can be bound. */
enum rt_error rt_multicast_new(unsigned ndevices, uint64_t bytes, uint64_t *handle);
enum rt_error rt_multicast_add_device(uint64_t handle, unsigned device);
/* [at, at + bytes) of the object stands for the memory from `offset` on, too, on its device. Not
 * ready: devices are missing (a driver waits). */
enum rt_error rt_multicast_bind(uint64_t handle, uint64_t at, uint64_t memory, uint64_t offset,
				uint64_t bytes);
/* The same for what is mapped at an address. */
enum rt_error rt_multicast_bind_address(uint64_t handle, uint64_t at, uint64_t address,
					uint64_t bytes);
/* Bindings that lie within the range. */
enum rt_error rt_multicast_unbind(uint64_t handle, unsigned device, uint64_t at, uint64_t bytes);

/* What was mapped at once and holds the address; false: nothing. */
bool rt_virtual_find(uint64_t address, uint64_t *base, uint64_t *bytes);

#endif
