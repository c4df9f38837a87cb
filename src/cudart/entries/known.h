/*
 * known.h - the form of known.inc, between known.c and learn.c, which runs at build time.
 */
#ifndef COLLIDER_CUDART_ENTRIES_KNOWN_H
#define COLLIDER_CUDART_ENTRIES_KNOWN_H

#include <stdint.h>

#define ENTRIES_PIECE  32u /* bytes of code without an address in them */
#define ENTRIES_PIECES 16u

struct entries_piece {
	uint32_t at; /* from the beginning of the section */
	unsigned char bytes[ENTRIES_PIECE];
};

#endif
