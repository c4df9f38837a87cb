/*
 * read.c - reads entries of kept.h; runs in the user's process.
 */
#include "image/kept.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MIX_A 0x9e3779b97f4a7c15ull
#define MIX_B 0xd6e8feb86659fd93ull

uint64_t image_sum(const void *data, size_t n, uint64_t h)
{
	const unsigned char *p = data;
	uint64_t word;

	h ^= n * MIX_B;
	for (; n >= sizeof(word); n -= sizeof(word), p += sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * MIX_A;
		h ^= h >> 29;
	}
	word = 0;
	memcpy(&word, p, n);
	h = (h ^ word) * MIX_B;
	return h ^ h >> 32;
}

uint64_t image_kept_sum(const struct image_kept *k, size_t size)
{
	uint64_t h = image_sum(k, offsetof(struct image_kept, sum), 1);

	return image_sum(k + 1, size - sizeof(*k), h);
}

static bool is_sound(const struct image_kept *k, size_t size)
{
	if (size < sizeof(*k) || k->magic != IMAGE_KEPT_MAGIC || k->version != IMAGE_KEPT_VERSION ||
	    k->said > size || k->code > size)
		return false;
	return image_kept_code_at(k->said) + k->code == size && k->sum == image_kept_sum(k, size);
}

const struct image_kept *image_kept_map(int fd, size_t *size)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || st.st_size <= 0)
		return NULL;
	*size = (size_t)st.st_size;
	void *p = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return NULL;
	if (is_sound(p, *size))
		return p;
	munmap(p, *size);
	return NULL;
}
