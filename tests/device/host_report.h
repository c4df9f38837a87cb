/*
 * host_report.h - report_core.h on the host: C atomics in place of PTX.
 *
 * A call stands for a group of `host_group` lanes that run together; the lane
 * that is simulated is its leader. Used by the tests of src/device and by the
 * stand-in driver of tests/agent, whose "kernels" report races through it.
 */
#ifndef TESTS_DEVICE_HOST_REPORT_H
#define TESTS_DEVICE_HOST_REPORT_H

#include <stddef.h>
#include <stdint.h>

static unsigned host_group = 1;

#define HOST_P64(at) ((uint64_t *)(uintptr_t)(at))
#define HOST_P32(at) ((uint32_t *)(uintptr_t)(at))

static inline uint64_t host_cas64(uint64_t at, uint64_t old, uint64_t now)
{
	__atomic_compare_exchange_n(HOST_P64(at), &old, now, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	return old;
}

static inline void host_where(uint64_t at)
{
	for (uint32_t i = 0; i < 3; i++) {
		__atomic_store_n(HOST_P32(at + 4 * i), 10 + i, __ATOMIC_RELAXED);
		__atomic_store_n(HOST_P32(at + 12 + 4 * i), 20 + i, __ATOMIC_RELAXED);
	}
}

static inline void host_order(uint64_t at)
{
	for (uint32_t i = 0; i < 4; i++)
		__atomic_store_n(HOST_P32(at + 4 * i), 50 + i, __ATOMIC_RELAXED);
}

#define DEV_FN static inline
#define DEV_NO_UNROLL
#define DEV_LOAD64(at)		__atomic_load_n(HOST_P64(at), __ATOMIC_RELAXED)
#define DEV_CAS64(at, old, now) host_cas64(at, old, now)
#define DEV_ADD64(at, n)	__atomic_fetch_add(HOST_P64(at), (n), __ATOMIC_RELAXED)
#define DEV_INC64(at)		__atomic_fetch_add(HOST_P64(at), 1, __ATOMIC_RELAXED)
#define DEV_STORE32(at, v)	__atomic_store_n(HOST_P32(at), (v), __ATOMIC_RELAXED)
#define DEV_STORE64(at, v)	__atomic_store_n(HOST_P64(at), (v), __ATOMIC_RELAXED)
#define DEV_PEERS(slot)		((void)(slot), host_group == 32 ? ~0u : (1u << host_group) - 1)
#define DEV_IS_LEADER(peers)	((peers)&1u)
#define DEV_POPC(peers)		((uint64_t)__builtin_popcount(peers))
#define DEV_WHERE(at)		host_where(at)
#define DEV_ORDER(at)		host_order(at)
#define DEV_GRID()		33
#define DEV_SM()		44

#include "device/report_core.h"

#endif
