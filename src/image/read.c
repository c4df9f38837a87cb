/*
 * read.c - reads entries of kept.h, and heads of machine code; runs in the user's process.
 */
#include "image/kept.h"

#include <elf.h>
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

size_t image_elf_size(const void *elf, size_t most)
{
	const char *p = elf;
	Elf64_Ehdr e;
	size_t size;

	if (most && most < sizeof(e))
		return 0;
	memcpy(&e, p, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 || e.e_ident[EI_CLASS] != ELFCLASS64 ||
	    e.e_shentsize != sizeof(Elf64_Shdr) || (most && e.e_shoff > most))
		return 0;
	size = e.e_shoff + (size_t)e.e_shnum * sizeof(Elf64_Shdr);
	if (e.e_phoff && e.e_phoff + (size_t)e.e_phnum * e.e_phentsize > size)
		size = e.e_phoff + (size_t)e.e_phnum * e.e_phentsize;
	for (unsigned i = 0; i < e.e_shnum && (!most || size <= most); i++) {
		Elf64_Shdr s;
		memcpy(&s, p + e.e_shoff + i * sizeof(s), sizeof(s));
		if (s.sh_type != SHT_NOBITS && s.sh_offset + s.sh_size > size)
			size = s.sh_offset + s.sh_size;
	}
	return !most || size <= most ? size : 0;
}
