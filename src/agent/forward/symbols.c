/*
 * symbols.c - the dynamic symbols of a loaded library, read from its own tables.
 *
 * Not with dlsym: libraries that watch a program's use of CUDA put a dlsym of their own before the
 * C library's, and answer with functions of theirs that call us.
 */
#include <string.h>

#include "agent/forward/forward.h"

/* How many symbols a library with DT_GNU_HASH has: one more than the last of all chains. */
static size_t count_gnu(const uint32_t *h)
{
	uint32_t nbuckets = h[0], first = h[1], words = h[2], last = 0;
	const uint32_t *buckets = h + 4 + (size_t)words * (sizeof(ElfW(Addr)) / 4);
	const uint32_t *chains = buckets + nbuckets;

	for (uint32_t i = 0; i < nbuckets; i++)
		last = buckets[i] > last ? buckets[i] : last;
	if (last < first)
		return first;
	while (!(chains[last - first] & 1u))
		last++;
	return (size_t)last + 1;
}

bool forward_symbols_open(struct forward_symbols *s, const struct link_map *map)
{
	const uint32_t *gnu = NULL;

	memset(s, 0, sizeof(*s));
	s->base = map->l_addr;
	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		/* The loader has made addresses of these, but not in every library. */
		ElfW(Addr) at =
			d->d_un.d_ptr < map->l_addr ? map->l_addr + d->d_un.d_ptr : d->d_un.d_ptr;
		if (d->d_tag == DT_SYMTAB)
			s->v = (const ElfW(Sym) *)at;
		else if (d->d_tag == DT_STRTAB)
			s->names = (const char *)at;
		else if (d->d_tag == DT_HASH)
			s->hash = (const unsigned *)at;
		else if (d->d_tag == DT_GNU_HASH)
			gnu = (const uint32_t *)at;
	}
	s->n = s->hash ? s->hash[1] : gnu ? count_gnu(gnu) : 0;
	return s->v && s->names && s->n;
}

void *forward_symbols_at(const struct forward_symbols *s, size_t i, const char **name)
{
	const ElfW(Sym) *y = &s->v[i];
	unsigned type = ELF64_ST_TYPE(y->st_info), bind = ELF64_ST_BIND(y->st_info);

	if (y->st_shndx == SHN_UNDEF || !y->st_value || type != STT_FUNC || bind == STB_LOCAL)
		return NULL;
	*name = s->names + y->st_name;
	return (void *)(s->base + y->st_value);
}

static unsigned long hash_of(const char *name)
{
	unsigned long h = 0, high;

	for (; *name; name++) {
		h = (h << 4) + (unsigned char)*name;
		high = h & 0xf0000000ul;
		h ^= high >> 24;
		h &= ~high;
	}
	return h;
}

void *forward_symbols_find(const struct forward_symbols *s, const char *name)
{
	const unsigned *buckets = s->hash + 2, *chains = buckets + s->hash[0];
	const char *its;

	if (!s->hash[0])
		return NULL;
	for (unsigned i = buckets[hash_of(name) % s->hash[0]]; i; i = chains[i]) {
		void *at = forward_symbols_at(s, i, &its);
		if (at && !strcmp(its, name))
			return at;
	}
	return NULL;
}
