/*
 * report_core.h - the algorithm of __collider_report, without its machine.
 *
 * Included by report.cu (the GPU) and by tests/ (host threads stand in for
 * lanes). The includer defines the DEV_* operations below first. All of them
 * are strong (relaxed) and none of them orders any other access: a fence here would order the
 * user's memory and hide the races that we look for.
 *
 *   DEV_LOAD64(addr)              ld.relaxed.gpu.global.u64
 *   DEV_CAS64(addr, old, new)     atom.relaxed.gpu.global.cas.b64
 *   DEV_ADD64(addr, n)            atom.relaxed.gpu.global.add.u64
 *   DEV_INC64(addr)               red.relaxed.gpu.global.add.u64 by one
 *   DEV_STORE32/64(addr, v)       st.relaxed.sys.global
 *   DEV_PEERS(slot)               lanes of the running group that hold this slot
 *   DEV_IS_LEADER(peers)          lowest lane of that set
 *   DEV_POPC(peers)
 *   DEV_WHERE(addr)               stores thread[3], block[3] at addr
 *   DEV_ORDER(addr)               stores grid_x, grid_yz, cluster, order at addr
 *   DEV_GRID(), DEV_SM()
 *   DEV_FN, DEV_NO_UNROLL         function specifiers, loop pragma
 *
 * What it misses: two milestones stored by two SMs may reach the record out of
 * order (the snapshot of the slots is exact; record.count is a lower bound);
 * and nothing orders `valid` after the other fields but the order of issue,
 * so a program that is killed within that microsecond may leave a record with
 * zeroes. Costs: a muted site two loads, a counted one an atomic per group of
 * lanes, the first one 128 bytes over the bus.
 */
#ifndef COLLIDER_DEVICE_REPORT_CORE_H
#define COLLIDER_DEVICE_REPORT_CORE_H

#include <stddef.h>

#include "race/record.h"

#define DEV_RT_OVERFLOW 8u
#define DEV_RT_SLOTS	(64u + RACE_COUNTERS * 32u)

/* Offsets are repeated as numbers because the code computes with addresses. */
RACE_STATIC_ASSERT(offsetof(struct race_rt, records) == 0, "rt layout");
RACE_STATIC_ASSERT(offsetof(struct race_rt, overflow) == DEV_RT_OVERFLOW, "rt layout");
RACE_STATIC_ASSERT(offsetof(struct race_rt, slots) == DEV_RT_SLOTS, "rt layout");
RACE_STATIC_ASSERT(offsetof(struct race_slot, count) == 8, "slot layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, site) == 8, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, address) == 16, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, was) == 24, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, now) == 40, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, lanes) == 56, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, thread) == 64, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, count) == 88, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, grid) == 96, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, grid_x) == 104, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, order) == 116, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, sm) == 120, "record layout");
RACE_STATIC_ASSERT(offsetof(struct race_record, valid) == 124, "record layout");

/*
 * Finds or claims the slot of `key`. Returns its number, with DEV_CLAIMED when this lane was
 * the first, or DEV_FULL when all RACE_PROBES slots belong to others.
 */
#define DEV_CLAIMED 0x80000000u
#define DEV_FULL    0xffffffffu

DEV_FN uint32_t dev_slot_find(uint64_t rt, uint64_t key)
{
	uint32_t index = race_slot_index(key);

	DEV_NO_UNROLL
	for (uint32_t i = 0; i < RACE_PROBES; i++) {
		uint64_t at = rt + DEV_RT_SLOTS + (uint64_t)index * 16u;
		uint64_t found = DEV_LOAD64(at);

		if (found == 0) {
			found = DEV_CAS64(at, 0, key);
			if (found == 0)
				return index | DEV_CLAIMED;
		}
		if (found == key)
			return index;
		index = (index + 1) & (RACE_SLOTS - 1u);
	}
	return DEV_FULL;
}

/* What a check found, as in struct race_record; `kind_flags` = kind | flags << 16. */
struct dev_found {
	uint64_t table;
	uint32_t site, kind_flags;
	uint64_t address, was[2], now[2];
	uint32_t lanes, width;
};

/* The whole of it; `rt` is the runtime block's address, 0: there is none. Inlined, so that the
 * struct is registers. */
DEV_FN void dev_report(const struct dev_found *f, uint64_t rt)
{
	uint64_t at, record, old, sum;
	uint32_t slot, index, peers;

	if (rt == 0)
		return;
	slot = dev_slot_find(rt, race_slot_key(f->table, f->site, f->kind_flags & 0xffffu));
	if (slot == DEV_FULL) {
		DEV_INC64(rt + DEV_RT_OVERFLOW);
		return;
	}
	index = slot & ~DEV_CLAIMED;
	record = DEV_LOAD64(rt) + (uint64_t)index * 128u;
	if (slot == index && f->kind_flags >> 16 & RACE_REC_USED) {
		/* A speculated read that was used after all: noted in its record. */
		DEV_STORE32(record + 12, f->kind_flags);
		return;
	}
	if (slot != index) {
		DEV_STORE64(record, f->table);
		DEV_STORE64(record + 8, (uint64_t)f->kind_flags << 32 | f->site);
		DEV_STORE64(record + 16, f->address);
		DEV_STORE64(record + 24, f->was[0]);
		DEV_STORE64(record + 32, f->was[1]);
		DEV_STORE64(record + 40, f->now[0]);
		DEV_STORE64(record + 48, f->now[1]);
		DEV_STORE64(record + 56, (uint64_t)f->width << 32 | f->lanes);
		DEV_WHERE(record + 64);
		DEV_STORE64(record + 96, DEV_GRID());
		DEV_ORDER(record + 104);
		DEV_STORE32(record + 120, DEV_SM());
		DEV_STORE32(record + 124, RACE_RECORD_VALID);
	}
	at = rt + DEV_RT_SLOTS + (uint64_t)index * 16u + 8u;
	if (DEV_LOAD64(at) >= RACE_MUTE_COUNT)
		return;
	peers = DEV_PEERS(index);
	if (!DEV_IS_LEADER(peers))
		return;
	sum = DEV_POPC(peers);
	old = DEV_ADD64(at, sum);
	sum += old;
	if ((old ^ sum) > old) /* a new highest bit: a power of two was reached */
		DEV_STORE64(record + 88, sum);
}

#endif
