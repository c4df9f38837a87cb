/*
 * transfer_read.c - the host's copies that raced, from the shared file into findings.
 *
 * The call stands in the first frame that has a source line; without debug information in the
 * first that is no part of a CUDA library, which may be linked into the program itself. Nothing
 * in a chunk is trusted: offsets are checked, strings end within the chunk.
 */
#include "race/race.h"

#include <string.h>

struct source {
	struct race_results *out;
	struct race_transfer h;
	const unsigned char *frames;
	const char *strings;
};

static const char *text_at(const struct source *s, uint32_t at)
{
	if (at >= s->h.strings)
		return "";
	return race_text(&s->out->arena, s->strings + at, s->h.strings - at);
}

/* Is this code of the CUDA runtime or driver, by the function's name or its file's? */
static bool is_cuda(const char *module, const char *func)
{
	const char *name = strrchr(module, '/');

	name = name ? name + 1 : module;
	while (*func == '_')
		func++;
	return !strncmp(name, "libcuda", 7) || !strncmp(name, "libcupti", 8) ||
	       !strncmp(name, "libcollider", 11) || !strncmp(func, "cuda", 4) ||
	       !strncmp(func, "libcudart_", 10) || !strncmp(func, "cudart", 6);
}

/* Where the program called: fills in the place, returns the frame or NULL. */
static void place_fill(struct source *s, struct race_finding *f)
{
	struct base_arena *a = &s->out->arena;
	bool has_place = false;

	for (uint32_t i = 0; i < s->h.nframes && !f->line; i++) {
		struct race_transfer_frame fr;
		struct race_line l;
		memcpy(&fr, s->frames + i * sizeof(fr), sizeof(fr));
		const char *module = text_at(s, fr.module);
		/* A return address: the call is before it. */
		race_line_find(a, module, fr.offset - 1, &l);
		const char *func = *l.func ? l.func : text_at(s, fr.symbol);
		if (!l.line && (has_place || is_cuda(module, func)))
			continue;
		has_place = true;
		f->func = func;
		f->file = l.file;
		f->line = l.line;
		f->transfer->module = module;
		f->transfer->offset = fr.offset;
	}
	f->func_shown = race_demangle(a, f->func);
}

/* The name that the program called, when only that of the driver's function is known. */
static const char *describe(struct source *s, const struct race_transfer_op *op)
{
	return base_printf(&s->out->arena, "%s of %llu bytes on stream 0x%llx",
			   *op->api ? op->api : "copy", (unsigned long long)op->bytes,
			   (unsigned long long)op->stream);
}

static void finding_add(struct source *s, uint32_t pid)
{
	struct base_arena *a = &s->out->arena;
	struct race_finding f = {.kind = (enum race_kind)s->h.kind,
				 .cls = race_transfer_class(s->h.bytes),
				 .func = "",
				 .file = "",
				 .module = "",
				 .target = "",
				 .access = RACE_ACCESS_TRANSFER,
				 .space = RACE_SPACE_GLOBAL,
				 .width = s->h.width,
				 .vec = 1,
				 .count = s->h.count};
	struct race_context c = {
		.pid = pid, .context = s->h.context, .device = s->h.device, .device_name = ""};

	f.transfer = BASE_NEW(a, struct race_transfer_op);
	*f.transfer = (struct race_transfer_op){.api = text_at(s, s->h.api),
						.module = "",
						.stream = s->h.stream,
						.bytes = s->h.bytes,
						.at = s->h.at,
						.origin = s->h.origin};
	place_fill(s, &f);
	f.first.address = s->h.address;
	f.first.width = s->h.width;
	f.first.was[0] = s->h.was;
	f.first.now[0] = s->h.now;
	f.first.is_generic = true;
	struct race_finding_site fs = {
		.table = base_hash(f.transfer->module, strlen(f.transfer->module), BASE_FNV_INIT),
		.site = (uint32_t)f.transfer->offset,
		.text = describe(s, f.transfer),
		.count = s->h.count};
	race_site_count(a, &f, &fs);
	for (size_t i = 0; i < s->out->contexts.n; i++) {
		const struct race_context *o = &s->out->contexts.v[i];
		if (o->pid == pid && o->context == c.context)
			c = *o;
	}
	race_seen_add(a, &f, &c);
	base_vec_push(&s->out->findings, f);
}

/* ---- entry ---------------------------------------------------------------------------------- */

bool race_transfer_read(struct race_results *out, const void *payload, size_t n, uint32_t pid)
{
	struct source s = {.out = out};
	uint64_t frames;

	if (n < sizeof(s.h))
		return false;
	memcpy(&s.h, payload, sizeof(s.h));
	frames = (uint64_t)s.h.nframes * sizeof(struct race_transfer_frame);
	if ((s.h.kind != RACE_KIND_CLOBBERED_READ && s.h.kind != RACE_KIND_LOST_UPDATE) ||
	    s.h.nframes > RACE_TRANSFER_FRAMES || frames > n - sizeof(s.h) ||
	    s.h.strings > n - sizeof(s.h) - frames || s.h.width > 8 || !s.h.count)
		return false;
	s.frames = (const unsigned char *)payload + sizeof(s.h);
	s.strings = (const char *)s.frames + frames;
	finding_add(&s, pid);
	return true;
}

bool race_transfer_counts_read(struct race_results *out, const void *payload, size_t n)
{
	struct race_transfer_counts c;

	if (n < sizeof(c))
		return false;
	memcpy(&c, payload, sizeof(c));
	race_transfer_counts_add(&out->transfers, &c);
	return true;
}

void race_transfer_counts_add(struct race_transfer_counts *to,
			      const struct race_transfer_counts *from)
{
	to->checked += from->checked;
	to->bytes += from->bytes;
	for (unsigned i = 0; i < RACE_TRANSFER_SKIPS; i++)
		to->skipped[i] += from->skipped[i];
	to->lost += from->lost;
}

const char *race_transfer_skip_name(unsigned why)
{
	static const char *const names[RACE_TRANSFER_SKIPS] = {
		[RACE_TRANSFER_CAPTURED] = "captured",
		[RACE_TRANSFER_NULL_STREAM] = "null-stream",
		[RACE_TRANSFER_PAGEABLE] = "pageable",
		[RACE_TRANSFER_SHAPE] = "shape",
		[RACE_TRANSFER_BUSY] = "busy",
		[RACE_TRANSFER_SAMPLED] = "sampled",
		[RACE_TRANSFER_UNFINISHED] = "unfinished",
	};

	return why < RACE_TRANSFER_SKIPS ? names[why] : "unknown";
}

enum race_class race_transfer_class(uint64_t bytes)
{
	return bytes <= RACE_TRANSFER_FLAG_BYTES ? RACE_CLASS_POSSIBLE : RACE_CLASS_RACE;
}
