/*
 * transfer_write.c - writes a copy or fill that raced, and calls that launched kernels, from the
 * program's process into the shared file.
 *
 * The stack is kept as files and offsets; the reader, which has the symbol tables, finds out which
 * frame is the program's own call. Collider's own frames and those of CUPTI and the driver are left
 * out. Nothing here allocates; callers hold a lock of their own.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "race/file/shm_write.h"
#include "race/file/transfer.h"

#define KNOWN	    128u   /* return addresses that are kept */
#define KNOWN_BYTES 16384u /* of their names */

struct writer {
	struct race_transfer t;
	struct race_transfer_frame frames[RACE_TRANSFER_FRAMES];
	size_t n; /* bytes of strings */
	char strings[8192];
};

static uint32_t put_string(struct writer *wr, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	uint32_t at = (uint32_t)wr->n;

	if (!n || n >= sizeof(wr->strings) - wr->n)
		return 0;
	memcpy(wr->strings + wr->n, s, n + 1);
	wr->n += n + 1;
	return at;
}

/* Innermost frames that carry no information. */
static bool is_plumbing(const char *path)
{
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	return !strncmp(name, "libcuda.so", 10) || !strncmp(name, "libcupti", 8) ||
	       !strncmp(name, "libcollider", 11);
}

/* ---- what a return address is --------------------------------------------------------------- */

/*
 * To look one up takes as long as many a kernel runs: a search in its file's table of symbols, and
 * a call of the system for each folder of the file's path. Two kernels that the program launches
 * one after the other would not meet. So what has been looked up is kept, until a file is unloaded.
 */
struct place {
	const void *pc, *base; /* base: where its file is loaded */
	const char *path;      /* the whole path of the file; NULL: it says nothing */
	const char *symbol;
};

/* One thread at a time has it, others look up; a child of fork may never have it. */
static struct {
	bool is_taken; /* atomic */
	unsigned long long unloads;
	unsigned n;
	size_t used; /* bytes of strings */
	struct place v[KNOWN];
	char strings[KNOWN_BYTES];
} known;

static int read_unloads(struct dl_phdr_info *info, size_t size, void *arg)
{
	unsigned long long *n = arg;

	*n = size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof(info->dlpi_subs)
		     ? info->dlpi_subs
		     : *n + 1;
	return 1; /* each file says the same */
}

static bool take_known(void)
{
	unsigned long long unloads;

	if (__atomic_exchange_n(&known.is_taken, true, __ATOMIC_ACQUIRE))
		return false;
	unloads = known.unloads;
	dl_iterate_phdr(read_unloads, &unloads);
	if (unloads != known.unloads) {
		known.unloads = unloads;
		known.n = 0;
		known.used = 0;
	}
	return true;
}

static const char *keep_string(const char *s)
{
	size_t n = strlen(s) + 1;
	char *to = known.strings + known.used;

	if (n > sizeof(known.strings) - known.used)
		return NULL;
	known.used += n;
	return memcpy(to, s, n);
}

/* What isn't kept is looked up again: there is room for the calls of most programs. */
static void keep_place(struct place p)
{
	const char *path = p.path;

	for (unsigned i = 0; path && i < known.n; i++)
		if (known.v[i].path && !strcmp(known.v[i].path, path)) {
			path = known.v[i].path;
			break;
		}
	if (path == p.path && path)
		path = keep_string(path);
	const char *symbol = p.symbol ? keep_string(p.symbol) : NULL;
	if (known.n == KNOWN || (p.path && !path) || (p.symbol && !symbol))
		return;
	known.v[known.n++] = (struct place){p.pc, p.base, path, symbol};
}

/* room: PATH_MAX bytes for the path. is_ours: `known` is. */
static struct place find_place(const void *pc, bool is_ours, char *room)
{
	struct place p = {.pc = pc};
	Dl_info info;

	for (unsigned i = 0; is_ours && i < known.n; i++)
		if (known.v[i].pc == pc)
			return known.v[i];
	if (dladdr(pc, &info) && info.dli_fname && !is_plumbing(info.dli_fname)) {
		p.base = info.dli_fbase;
		p.symbol = info.dli_sname;
		for (unsigned i = 0; is_ours && i < known.n && !p.path; i++)
			p.path = known.v[i].base == p.base ? known.v[i].path : NULL;
		if (!p.path)
			p.path = realpath(info.dli_fname, room) ? room : info.dli_fname;
	}
	if (is_ours)
		keep_place(p);
	return p;
}

static void put_frames(struct writer *wr, void *const *pcs, int n)
{
	bool is_ours = take_known();
	uint32_t module = 0;
	char room[PATH_MAX];

	for (int i = 0; i < n && wr->t.nframes < RACE_TRANSFER_FRAMES; i++) {
		struct place p = find_place(pcs[i], is_ours, room);
		if (!p.path)
			continue;
		if (!module || strcmp(wr->strings + module, p.path) != 0)
			module = put_string(wr, p.path);
		wr->frames[wr->t.nframes++] = (struct race_transfer_frame){
			.offset = (uint64_t)((char *)pcs[i] - (const char *)p.base),
			.module = module,
			.symbol = put_string(wr, p.symbol)};
	}
	if (is_ours)
		__atomic_store_n(&known.is_taken, false, __ATOMIC_RELEASE);
}

/* Lines of "file TAB line TAB function". */
static void put_script(struct writer *wr, const char *s)
{
	char file[PATH_MAX], func[256];
	unsigned line;

	for (; *s && wr->t.nframes < RACE_TRANSFER_FRAMES; s += strcspn(s, "\n"), s += *s != 0) {
		if (sscanf(s, "%4095[^\t\n]\t%u\t%255[^\n]", file, &line, func) != 3)
			continue;
		wr->frames[wr->t.nframes++] =
			(struct race_transfer_frame){.offset = RACE_FRAME_SCRIPT | line,
						     .module = put_string(wr, file),
						     .symbol = put_string(wr, func)};
	}
}

static void *put_chunk(enum race_chunk_kind kind, const struct race_transfer *t, const char *api,
		       struct race_stack stack)
{
	struct {
		struct race_transfer t;
		struct race_transfer_frame frames[RACE_TRANSFER_FRAMES];
	} head;
	struct writer wr;

	memset(&wr, 0, sizeof(wr));
	wr.n = 1;
	wr.t = *t;
	wr.t.count = 1;
	wr.t.nframes = 0;
	wr.t.api = put_string(&wr, api);
	if (stack.script)
		put_script(&wr, stack.script);
	else
		put_frames(&wr, stack.pcs, stack.n);
	wr.t.strings = (uint32_t)wr.n;
	head.t = wr.t;
	memcpy(head.frames, wr.frames, sizeof(head.frames));
	return race_shm_chunk(kind, 0, &head,
			      sizeof(head.t) + wr.t.nframes * sizeof(head.frames[0]), wr.strings,
			      wr.n);
}

/* ------------------------------------------------------------------------------------------ */

uint64_t *race_transfer_report(const struct race_transfer *t, const char *api,
			       struct race_stack stack)
{
	return put_chunk(RACE_CHUNK_TRANSFER, t, api, stack);
}

void race_origin_report(uint32_t origin, struct race_stack stack)
{
	const struct race_transfer t = {.origin = origin};

	put_chunk(RACE_CHUNK_ORIGIN, &t, NULL, stack);
}

bool race_launch_is_wanted(struct race_launches *l)
{
	return l->n < RACE_LAUNCH_PLACES && (l->count++ < 1024 || l->count % 64 == 0);
}

void race_launch_note(struct race_launches *l, const char *kernel, const char *script)
{
	const struct race_transfer t = {.origin = 0};
	void *pcs[RACE_TRANSFER_FRAMES];
	uint64_t hash;
	int n;

	if (script) {
		n = 0;
		hash = base_hash(script, strlen(script), BASE_FNV_INIT);
	} else {
		n = backtrace(pcs, RACE_TRANSFER_FRAMES);
		hash = base_hash(pcs, (size_t)n * sizeof(pcs[0]), BASE_FNV_INIT);
	}
	for (uint32_t i = 0; i < l->n; i++)
		if (l->seen[i] == hash)
			return;
	if (l->n == RACE_LAUNCH_PLACES) /* another thread's was the last */
		return;
	l->seen[l->n++] = hash;
	put_chunk(RACE_CHUNK_LAUNCH, &t, kernel, (struct race_stack){pcs, n, script});
}

struct race_transfer_counts *race_transfer_counts_new(void)
{
	struct race_transfer_counts zero;

	memset(&zero, 0, sizeof(zero));
	return race_shm_chunk(RACE_CHUNK_TRANSFERS, 0, &zero, sizeof(zero), NULL, 0);
}
