/*
 * hash.c - FNV-1a, alone in its file: the host half links nothing else from base.
 */
#include "base/base.h"

uint64_t base_hash(const void *data, size_t n, uint64_t h)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3ull;
	return h;
}
