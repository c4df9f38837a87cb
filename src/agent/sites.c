/*
 * sites.c - copies the site tables of loaded modules to the shared file, and decides from the order
 * tables and the functions of each image whether its blocks may be shuffled
 * (race/shuffle/blocks.h).
 *
 * CUPTI provides the final cubin of each module, whatever it was loaded or
 * linked from. Each symbol __collider_sites_<hash> in it is one table (several
 * after -rdc linking). Reads the image only, calls no driver function: it runs
 * inside a resource callback. A table that does not parse is noted, not
 * copied: reports for it then show numbers in place of lines.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>

/* Out of memory: nothing is found later, and the order stays. */
#include "agent/table.h"

#include "base/base.h"

#include "agent/agent.h"

/* The verdict on the images that carry an order table with this id. */
struct verdict {
	uint32_t id;
	enum race_shuffle_verdict verdict;
	UT_hash_handle hh;
};

static struct verdict *verdicts; /* under the lock */

struct image {
	Elf *elf;
	struct race_shuffle_image order;
};

static bool has_prefix(const char *name, const char *prefix)
{
	return strncmp(name, prefix, strlen(prefix)) == 0;
}

static void note_verdict(uint32_t id, enum race_shuffle_verdict verdict)
{
	struct verdict *v;

	agent_lock();
	HASH_FIND(hh, verdicts, &id, sizeof(id), v);
	if (v && verdict < v->verdict) {
		v->verdict = verdict;
	} else if (!v) {
		v = calloc(1, sizeof(*v));
		if (v) {
			v->id = id;
			v->verdict = verdict;
		}
		AGENT_TABLE_ADD(verdicts, id, v);
		if (!v)
			AGENT_NO_MEMORY("blocks of a module's kernels keep their order");
	}
	agent_unlock();
}

typedef void symbol_fn(struct image *im, const GElf_Sym *sym, const char *name, const char *bytes,
		       size_t room, void *arg);

/* The id that a table's name carries: 8 hexadecimal digits, then its flags. */
static uint32_t id_in(const char *name)
{
	char digits[9] = {0};

	memcpy(digits, name + strlen(RACE_SHUFFLE_PREFIX),
	       strnlen(name + strlen(RACE_SHUFFLE_PREFIX), sizeof(digits) - 1));
	return (uint32_t)strtoul(digits, NULL, 16);
}

static void take_tables(struct image *im, const GElf_Sym *sym, const char *name, const char *bytes,
			size_t room, void *arg)
{
	(void)arg;
	if (!bytes)
		return;
	if (has_prefix(name, RACE_SITES_PREFIX)) {
		agent_lock(); /* two threads that load the same module */
		race_shm_sites(name, bytes, room);
		agent_unlock();
	} else if (has_prefix(name, RACE_SHUFFLE_PREFIX)) {
		race_shuffle_table(&im->order, bytes, sym->st_size < room ? sym->st_size : room);
	}
}

static void take_function(struct image *im, const GElf_Sym *sym, const char *name,
			  const char *bytes, size_t room, void *arg)
{
	(void)bytes;
	(void)room;
	(void)arg;
	if (GELF_ST_TYPE(sym->st_info) == STT_FUNC)
		race_shuffle_function(&im->order, name, strlen(name));
}

static void verdict_of_symbol(struct image *im, const GElf_Sym *sym, const char *name,
			      const char *bytes, size_t room, void *arg)
{
	(void)im;
	(void)sym;
	(void)bytes;
	(void)room;
	if (has_prefix(name, RACE_SHUFFLE_PREFIX))
		note_verdict(id_in(name), *(const enum race_shuffle_verdict *)arg);
}

static const char *bytes_of(Elf *elf, const GElf_Sym *sym, size_t *room)
{
	Elf_Scn *scn = elf_getscn(elf, sym->st_shndx);
	Elf_Data *data = scn ? elf_rawdata(scn, NULL) : NULL;

	*room = 0;
	if (!data || !data->d_buf || sym->st_value > data->d_size)
		return NULL;
	*room = data->d_size - sym->st_value;
	return (const char *)data->d_buf + sym->st_value;
}

/* All symbols that the image defines. */
static void each_symbol(struct image *im, symbol_fn *fn, void *arg)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Sym sym;

	while ((scn = elf_nextscn(im->elf, scn))) {
		Elf_Data *data;

		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_SYMTAB)
			continue;
		data = elf_getdata(scn, NULL);
		for (int i = 0; data && gelf_getsym(data, i, &sym); i++) {
			const char *name = elf_strptr(im->elf, sh.sh_link, sym.st_name), *bytes;
			size_t room;

			if (!name || sym.st_shndx == SHN_UNDEF)
				continue;
			bytes = bytes_of(im->elf, &sym, &room);
			fn(im, &sym, name, bytes, room, arg);
		}
	}
}

/* The variables of the module, for the history words of detector hirace. */
static void count_variables(Elf *elf)
{
	Elf_Scn *scn = NULL;
	uint64_t bytes = 0;
	size_t names;
	GElf_Shdr sh;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		if (!gelf_getshdr(scn, &sh) || !(name = elf_strptr(elf, names, sh.sh_name)))
			continue;
		if (has_prefix(name, ".nv.global"))
			bytes += sh.sh_size;
	}
	agent_history_static(bytes);
}

static void read_image(Elf *elf)
{
	struct image im = {.elf = elf};
	enum race_shuffle_verdict verdict;

	count_variables(elf);
	each_symbol(&im, take_tables, NULL);
	each_symbol(&im, take_function, NULL);
	verdict = race_shuffle_judge(&im.order);
	each_symbol(&im, verdict_of_symbol, &verdict);
}

/* ------------------------------------------------------------------------ */

void agent_sites_collect(const void *image, size_t size)
{
	Elf *elf;

	if (!image || size < SELFMAG || memcmp(image, ELFMAG, SELFMAG) != 0)
		return;
	/* Most modules of a process have no table: do not parse those. */
	if (!memmem(image, size, RACE_SITES_PREFIX, strlen(RACE_SITES_PREFIX)))
		return;
	if (elf_version(EV_CURRENT) == EV_NONE)
		return;
	elf = elf_memory((char *)(uintptr_t)image, size); /* libelf only reads it */
	if (!elf) {
		race_shm_note(
			"cannot read a module's symbols (%s); its races will be shown without "
			"lines",
			elf_errmsg(-1));
		return;
	}
	read_image(elf);
	elf_end(elf);
}

enum race_shuffle_verdict agent_shuffle_of(uint32_t id)
{
	enum race_shuffle_verdict verdict = RACE_SHUFFLE_KEEP;
	struct verdict *v;

	agent_lock();
	HASH_FIND(hh, verdicts, &id, sizeof(id), v);
	if (v)
		verdict = v->verdict;
	agent_unlock();
	return verdict;
}
