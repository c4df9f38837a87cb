/*
 * check.h - the words that a check hands to the function it calls (src/device/check.cu).
 *
 * Accesses that are checked together are split into *items*: up to 8 bytes at one address. A call
 * takes up to RACE_CHECK_ITEMS of them, with what the access loaded or stored:
 *
 *	state' | changed << 32 = check(state, what, (address, was)...)
 *
 * `state` is a thread's word (RACE_STATE_*), `what` says what the items are, `changed` has a bit for
 * each item whose second reading differed. An item whose access did not happen (false guard) has
 * the address 0, RACE_CHECK_NO_SHARED for addresses in the shared window. The next detectors call
 * functions of their own with the same words.
 */
#ifndef COLLIDER_RACE_CHECK_H
#define COLLIDER_RACE_CHECK_H

#include "race/record.h"

#define RACE_CHECK_TABLE     0xC011DE55C011DE55u /* in check.cu, for the hash of the site table */
#define RACE_CHECK_ITEMS     4u
#define RACE_CHECK_NO_SHARED 0xffffffffu

/* Low word of `what`: the site of the first item, and about the call as a whole. */
#define RACE_CHECK_SITE(w)  ((w)&0xffffffu)
#define RACE_CHECK_FOLLOWS  (1u << 24) /* of the group of the call before: no draw, no delay */
#define RACE_CHECK_LOADS    (1u << 25) /* the group has a load: its delay is that of reads */
#define RACE_CHECK_SURE	    (1u << 26) /* no guard: RACE_CHECK_COUNT accesses happened */
#define RACE_CHECK_LANES    (1u << 27) /* some item has RACE_ITEM_LANES */
#define RACE_CHECK_COUNT(w) ((w) >> 28 & 7u)
#define RACE_CHECK_COUNT_AT 28u

/* High word: a byte for each item. */
#define RACE_ITEM_LOAD	     0u /* kinds */
#define RACE_ITEM_STORE	     1u
#define RACE_ITEM_NC	     2u
#define RACE_ITEM_SPECULATED 3u
#define RACE_ITEM_KIND(b)    ((b)&3u)
#define RACE_ITEM_WIDTH(b)   (1u << ((b) >> 2 & 3u)) /* bytes of an element */
#define RACE_ITEM_WIDTH_AT   2u
#define RACE_ITEM_PAIR	     0x10u /* two elements of 4 bytes */
#define RACE_ITEM_STEP	     0x20u /* of the next site: a new access */
#define RACE_ITEM_LANES	     0x40u /* the first of a store: compare the lanes */
#define RACE_ITEM_RISES	     0x80u /* addresses rise with tid.x: not where rows are whole warps */
#define RACE_ITEM_EACH(b)    ((b)*0x01010101u)

/* A thread's word. */
#define RACE_STATE_DRAWN    1u /* the last group was drawn */
#define RACE_STATE_COUNT    2u /* one checked access */
#define RACE_STATE_COUNT_AT 1u

/* The record's kind for an item's. */
RACE_FN uint32_t race_item_kind(uint32_t item)
{
	uint32_t kind = RACE_ITEM_KIND(item);

	return kind < RACE_ITEM_NC ? kind + RACE_KIND_CLOBBERED_READ
				   : kind - RACE_ITEM_NC + RACE_KIND_NC_READ;
}

RACE_STATIC_ASSERT(RACE_KIND_LOST_UPDATE == RACE_KIND_CLOBBERED_READ + 1, "race_item_kind");
RACE_STATIC_ASSERT(RACE_KIND_SPECULATED_READ == RACE_KIND_NC_READ + 1, "race_item_kind");

/*
 * Uses of speculated values. Where a value whose second reading differed is really used, the key of
 * (table, site, speculated) is stored at race_used_place(key) of a table in the host's memory; a
 * record whose key is found there was used. Two keys of one place: the last one stays (a miss).
 */
#define RACE_USED (1u << 15)

RACE_FN uint32_t race_used_place(uint64_t key)
{
	return (uint32_t)(key >> 32) & (RACE_USED - 1u);
}

#endif
