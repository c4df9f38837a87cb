/*
 * second.h - a second judge beside the oracle, as plain as possible: what a detector with history
 * must find of the execution that was recorded.
 *
 * It keeps every access of every thread to every byte, and a vector clock for each thread over its
 * block, which only barriers of the block and __syncwarps move. Two accesses of one launch to one
 * byte *race* if they are of different threads, not both reads, not both strong with scopes that
 * hold both threads, and no barrier orders them. In a launch that has nothing else that orders
 * (fences, strong reads, mbarriers, other barriers) that is exact: one access of those that race
 * at a byte must be reported as a data race. In other launches a pair of the oracle's must be
 * reported, at least as possible, or another race at the same bytes.
 *
 * A detector keeps the history of one launch at a byte, so where launches that ran at the same time
 * have accessed it nothing is demanded.
 *
 * Events are taken from the calls by which the machine hands them to the oracle (--wrap of the
 * linker). Not taken: copies, the host, strong reads (a store after one is outside of the model).
 */
#ifndef SOUNDNESS_SECOND_H
#define SOUNDNESS_SECOND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void second_begin(void);
/* is_certain: by lines below `nlines`, whether a detector has reported a data race there. False:
 * one is missing; `text` says which. */
bool second_agrees(const bool *is_certain, unsigned nlines, char *text, size_t room);
/* Of a pair of the oracle's (lines), is any line of lines[] at a byte where both race by barriers,
 * and one is weak (strong ones may differ in size)? True if there is no such byte. */
bool second_has_found(unsigned a, unsigned b, const bool *lines, unsigned nlines);
/* Has an access of this line raced, in a launch where barriers are all that orders? */
bool second_has_raced(unsigned line);
/* Bytes where barriers decide and something races, in all programs so far. */
uint64_t second_racy_bytes(void);
void second_end(void);

#endif
