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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "race/file/shm_write.h"
#include "race/file/transfer.h"

#define KNOWN	  8u   /* files whose paths are kept */
#define NAME_MOST 512u /* bytes of such a name and of its path */

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

/*
 * The whole path of a file that code lies in. It is looked up once: a call of the system for each
 * of its folders takes as long as many a kernel runs, and two kernels that the program launches one
 * after the other would not meet.
 */
static uint32_t put_path(struct writer *wr, const Dl_info *info)
{
	static struct {
		const void *base;
		char name[NAME_MOST], path[NAME_MOST];
	} known[KNOWN];
	static bool is_taken; /* atomic; in a child of fork it may be so for ever */
	static unsigned nknown;
	unsigned i = 0;
	char path[PATH_MAX];

	bool is_ours = !__atomic_exchange_n(&is_taken, true, __ATOMIC_ACQUIRE);
	while (is_ours && i < nknown && i < KNOWN &&
	       (known[i].base != info->dli_fbase || strcmp(known[i].name, info->dli_fname) != 0))
		i++;
	bool is_known = is_ours && i < nknown && i < KNOWN;
	const char *found = is_known ? known[i].path : realpath(info->dli_fname, path);
	if (!found)
		found = info->dli_fname;
	uint32_t at = put_string(wr, found);
	if (is_ours && !is_known && strlen(info->dli_fname) < NAME_MOST &&
	    strlen(found) < NAME_MOST) {
		i = nknown++ % KNOWN;
		known[i].base = info->dli_fbase;
		memcpy(known[i].name, info->dli_fname, strlen(info->dli_fname) + 1);
		memcpy(known[i].path, found, strlen(found) + 1);
	}
	if (is_ours)
		__atomic_store_n(&is_taken, false, __ATOMIC_RELEASE);
	return at;
}

static void put_frames(struct writer *wr, void *const *pcs, int n)
{
	const char *last = "";
	uint32_t module = 0;
	Dl_info info;

	for (int i = 0; i < n && wr->t.nframes < RACE_TRANSFER_FRAMES; i++) {
		if (!dladdr(pcs[i], &info) || !info.dli_fname || is_plumbing(info.dli_fname))
			continue;
		if (strcmp(last, info.dli_fname) != 0)
			module = put_path(wr, &info);
		last = info.dli_fname;
		wr->frames[wr->t.nframes++] = (struct race_transfer_frame){
			.offset = (uint64_t)((char *)pcs[i] - (char *)info.dli_fbase),
			.module = module,
			.symbol = put_string(wr, info.dli_sname)};
	}
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
