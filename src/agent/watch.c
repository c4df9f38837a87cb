/*
 * watch.c - one table of watchpoints for the GPUs of a process (detector `watch`).
 *
 * A watchpoint meets the accesses of another GPU only where both look into one table. Its words are
 * exchanged by atomic operations, so the GPUs must have these on each other's memory
 * (cudaDevP2PAttrNativeAtomicSupported). Where the machine has several GPUs, the table of the first
 * context lies in memory of its own, mapped by the driver's memory management: a later device gets
 * access to that alone. cuCtxEnablePeerAccess would change what the program's own call of it
 * returns. A device without such atomics, or where the mapping fails, keeps the table of its
 * context, and the report says so.
 *
 * All accesses to global memory use that table, since a look can't know cheaply whether an address
 * is of managed or peer memory. So on several GPUs the looks of all but the first one go over the
 * link between them; a program on one GPU has the same look as ever.
 *
 * The memory may end with the first device's context. Before that one goes, the others get their
 * own tables, as far as they become idle.
 *
 * Misses: contexts of one device that don't share memory with each other (each has its table but
 * where they share this one). Not run on several GPUs so far.
 */
#include "agent/agent.h"
#include "race/layout/watch.h"

#include <string.h>

#define ALIGN (2ull << 20) /* of such memory, on all devices */

static struct {
	pthread_mutex_t lock;
	CUdeviceptr at; /* 0: there is none */
	uint64_t bytes;
	CUdevice home;
	bool is_tried;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool has_functions(void)
{
	const struct agent_driver *d = &agent_driver;

	return d->device_get_count && d->device_get_p2p_attribute && d->device_get_attribute &&
	       d->mem_address_reserve && d->mem_create && d->mem_release && d->mem_map &&
	       d->mem_unmap && d->mem_set_access;
}

static bool is_one_of_several(CUdevice device)
{
	int n = 0, maps = 0;

	return has_functions() && agent_driver.device_get_count(&n) == CUDA_SUCCESS && n > 1 &&
	       agent_driver.device_get_attribute(
		       &maps, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device) ==
		       CUDA_SUCCESS &&
	       maps;
}

static bool can(CUdevice_P2PAttribute what, CUdevice a, CUdevice b)
{
	int one = 0, two = 0;

	return agent_driver.device_get_p2p_attribute(&one, what, a, b) == CUDA_SUCCESS && one &&
	       agent_driver.device_get_p2p_attribute(&two, what, b, a) == CUDA_SUCCESS && two;
}

static CUresult allow(CUdevice device)
{
	CUmemAccessDesc d;

	memset(&d, 0, sizeof(d));
	d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	d.location.id = device;
	d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return agent_driver.mem_set_access(shared.at, shared.bytes, &d, 1);
}

/* The table, on this device; without one `shared.at` stays 0. */
static void make(CUdevice device, CUstream stream)
{
	CUmemGenericAllocationHandle handle;
	CUmemAllocationProp p;
	CUresult r;

	memset(&p, 0, sizeof(p));
	p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
	p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	p.location.id = device;
	shared.home = device;
	shared.bytes = (sizeof(struct race_watch_table) + ALIGN - 1) / ALIGN * ALIGN;
	if (agent_driver.mem_address_reserve(&shared.at, shared.bytes, 0, 0, 0) != CUDA_SUCCESS) {
		shared.at = 0;
		return;
	}
	r = agent_driver.mem_create(&handle, shared.bytes, &p, 0);
	if (r == CUDA_SUCCESS) {
		r = agent_driver.mem_map(shared.at, shared.bytes, 0, handle, 0);
		agent_driver.mem_release(handle); /* the mapping keeps it */
	}
	if (r == CUDA_SUCCESS)
		r = allow(device);
	if (r == CUDA_SUCCESS)
		r = agent_driver.memset_d8_async(shared.at, 0, sizeof(struct race_watch_table),
						 stream);
	if (r == CUDA_SUCCESS)
		r = agent_driver.stream_synchronize(stream);
	if (r != CUDA_SUCCESS)
		shared.at = 0; /* the addresses stay reserved */
}

/* Where a context's records are, for the threads of others. */
static CUresult enter(uint32_t number, uint64_t records, CUstream stream)
{
	CUdeviceptr at = shared.at + offsetof(struct race_watch_table, records) + number * 8ull;
	CUresult r = agent_driver.memcpy_htod_async(at, &records, sizeof(records), stream);

	return r == CUDA_SUCCESS ? agent_driver.stream_synchronize(stream) : r;
}

static bool join(CUdevice device)
{
	if (device == shared.home)
		return true;
	if (!can(CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device, shared.home) ||
	    !can(CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, device, shared.home))
		return false;
	return allow(device) == CUDA_SUCCESS;
}

uint64_t agent_watch_join(CUdevice device, uint32_t number, uint64_t records, CUstream stream,
			  bool *is_alone)
{
	bool is_in = false;

	*is_alone = false;
	if (!is_one_of_several(device))
		return 0;
	pthread_mutex_lock(&shared.lock);
	if (!shared.is_tried)
		make(device, stream);
	shared.is_tried = true;
	if (shared.at)
		is_in = join(device) && enter(number, records, stream) == CUDA_SUCCESS;
	pthread_mutex_unlock(&shared.lock);
	*is_alone = !is_in;
	return is_in ? shared.at : 0;
}

bool agent_watch_leave(CUdevice device, uint32_t number, CUstream stream)
{
	bool is_home;

	pthread_mutex_lock(&shared.lock);
	is_home = shared.at && device == shared.home;
	if (shared.at)
		(void)enter(number, 0, stream);
	if (is_home)
		shared.at = 0; /* for those to come there is none */
	pthread_mutex_unlock(&shared.lock);
	return is_home;
}

void agent_watch_reset(void)
{
	shared.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	shared.at = 0;
	shared.is_tried = true;
}
