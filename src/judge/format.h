/*
 * format.h - inside src/judge: a capsule's file, as both its writer and its reader know it.
 *
 *   struct judge_head, then one zstd frame with the body
 *
 * The body is a sequence of numbers (4 or 8 bytes, little endian), and of byte strings with their
 * length (4 bytes) before them, in the order of capsule_write.c: the launch, parameters, chosen
 * blocks, texts, allocations, places, textures, contents, and pages. A page names its content by
 * number: equal pages are kept once. Lists have their length (4 bytes) before them.
 */
#ifndef COLLIDER_JUDGE_FORMAT_H
#define COLLIDER_JUDGE_FORMAT_H

#include <stdint.h>

#define JUDGE_MAGIC   0x53504143444c4f43ull /* "COLDCAPS" */
#define JUDGE_VERSION 1u
#define JUDGE_MAX     (4ull << 30) /* bytes of a body */

struct judge_head {
	uint64_t magic;
	uint32_t version, reserved;
	uint64_t bytes; /* of the body */
	uint64_t sum;	/* base_hash of it */
};
_Static_assert(sizeof(struct judge_head) == 32, "the head of a file");

/* Of an allocation. */
#define JUDGE_MEMORY_HEAP 1u
/* The size of a page, at least and at most. */
#define JUDGE_PAGE_MIN 4096u
#define JUDGE_PAGE_MAX (2u << 20)
/* Addresses that a process can have. */
#define JUDGE_ADDRESS_MIN 0x10000ull
#define JUDGE_ADDRESS_MAX (1ull << 47)

#endif
