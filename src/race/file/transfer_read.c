/*
 * transfer_read.c - turns the host's copies that raced, from the shared file, into findings.
 *
 * The call is in the first frame that has a source line; without debug information, in the first
 * that is not part of a CUDA library, which may be linked into the program itself. Lines are not
 * looked up here: this is linked into the agent, too, and libdw must not be loaded into the user's
 * process. src/host/symbol.c adds them and then sets the place again. Nothing in a chunk is
 * trusted: offsets are checked, strings end within the chunk.
 */
#include "race/race.h"

#include <string.h>

struct source {
	struct race_results *out;
	struct race_transfer t;
	const unsigned char *frames;
	const char *strings;
};

static const char *text_at(const struct source *s, uint32_t at)
{
	if (at >= s->t.strings)
		return "";
	return race_text(&s->out->arena, s->strings + at, s->t.strings - at);
}

/* Is this code of the CUDA runtime, by the file's name or (linked into the program) its own? */
static bool is_cuda(const char *module, const char *func)
{
	const char *name = strrchr(module, '/');

	name = name ? name + 1 : module;
	while (*func == '_')
		func++;
	return !strncmp(name, "libcuda", 7) || !strncmp(func, "cuda", 4) ||
	       !strncmp(func, "libcudart_", 10) || !strncmp(func, "cudart", 6);
}

/* "cudaMemcpyAsync", from a name with the suffixes of default streams and versions. */
static const char *api_of(struct base_arena *a, const char *func)
{
	static const char *const ends[] = {"_ptsz", "_ptds", "_v2"};
	size_t n = strlen(func);

	for (size_t i = 0; i < BASE_COUNTOF(ends); i++) {
		size_t m = strlen(ends[i]);
		if (n > m && !strcmp(func + n - m, ends[i]))
			func = base_strndup(a, func, n -= m);
	}
	return func;
}

static const char *describe(struct base_arena *a, const struct race_transfer_op *op)
{
	return base_printf(a, "%s of %llu bytes on stream 0x%llx", *op->api ? op->api : "copy",
			   (unsigned long long)op->bytes, (unsigned long long)op->stream);
}

/* Return addresses, the innermost first; only exported functions are known by name. */
static void calls_fill(struct source *s, struct race_transfer_op *op)
{
	op->ncalls = s->t.nframes;
	op->calls = base_alloc(&s->out->arena, op->ncalls * sizeof(*op->calls));
	for (size_t i = 0; i < op->ncalls; i++) {
		struct race_transfer_frame fr;
		memcpy(&fr, s->frames + i * sizeof(fr), sizeof(fr));
		if (fr.offset & RACE_FRAME_SCRIPT) {
			op->calls[i] = (struct race_call){.module = "",
							  .at = {.func = text_at(s, fr.symbol),
								 .file = text_at(s, fr.module),
								 .line = (uint32_t)fr.offset}};
			continue;
		}
		op->calls[i] =
			(struct race_call){.module = text_at(s, fr.module),
					   .offset = fr.offset,
					   .at = {.func = text_at(s, fr.symbol), .file = ""}};
	}
}

static void finding_add(struct source *s, uint32_t pid)
{
	struct base_arena *a = &s->out->arena;
	struct race_finding f = {.kind = (enum race_kind)s->t.kind,
				 .cls = race_transfer_class(s->t.bytes),
				 .func = "",
				 .file = "",
				 .module = "",
				 .target = "",
				 .access = RACE_ACCESS_TRANSFER,
				 .space = RACE_SPACE_GLOBAL,
				 .width = s->t.width,
				 .vec = 1,
				 .count = s->t.count};
	struct race_context c = {
		.pid = pid, .context = s->t.context, .device = s->t.device, .device_name = ""};

	f.transfer = BASE_NEW(a, struct race_transfer_op);
	*f.transfer = (struct race_transfer_op){.api = text_at(s, s->t.api),
						.module = "",
						.stream = s->t.stream,
						.bytes = s->t.bytes,
						.at = s->t.at,
						.origin = s->t.origin};
	calls_fill(s, f.transfer);
	f.nsites = 1;
	f.sites = BASE_NEW(a, struct race_finding_site);
	f.sites->count = s->t.count;
	race_transfer_place(a, &f);
	f.first.address = s->t.address;
	f.first.width = s->t.width;
	f.first.was[0] = s->t.was;
	f.first.now[0] = s->t.now;
	f.first.is_generic = true;
	for (size_t i = 0; i < s->out->contexts.n; i++) {
		const struct race_context *o = &s->out->contexts.v[i];
		if (o->pid == pid && o->context == c.context)
			c = *o;
	}
	race_seen_add(a, &f, &c);
	base_vec_push(&s->out->findings, f);
}

/* ---- entry ---------------------------------------------------------------------------------- */

/* Takes the chunk apart. False: it contradicts itself. */
static bool source_open(struct source *s, const void *payload, size_t n)
{
	uint64_t frames;

	if (n < sizeof(s->t))
		return false;
	memcpy(&s->t, payload, sizeof(s->t));
	frames = (uint64_t)s->t.nframes * sizeof(struct race_transfer_frame);
	if (s->t.nframes > RACE_TRANSFER_FRAMES || frames > n - sizeof(s->t) ||
	    s->t.strings > n - sizeof(s->t) - frames)
		return false;
	s->frames = (const unsigned char *)payload + sizeof(s->t);
	s->strings = (const char *)s->frames + frames;
	return true;
}

bool race_transfer_read(struct race_results *out, const void *payload, size_t n, uint32_t pid)
{
	struct source s = {.out = out};

	if (!source_open(&s, payload, n) ||
	    (s.t.kind != RACE_KIND_CLOBBERED_READ && s.t.kind != RACE_KIND_LOST_UPDATE) ||
	    s.t.width > 8 || !s.t.count)
		return false;
	finding_add(&s, pid);
	return true;
}

bool race_origin_read(struct race_results *out, const void *payload, size_t n, uint32_t pid)
{
	struct race_origin o = {.pid = pid};
	struct source s = {.out = out};

	if (!source_open(&s, payload, n))
		return false;
	o.number = s.t.origin;
	o.op = BASE_NEW(&out->arena, struct race_transfer_op);
	*o.op = (struct race_transfer_op){
		.api = text_at(&s, s.t.api), .module = "", .origin = s.t.origin};
	calls_fill(&s, o.op);
	base_vec_push(&out->origins, o);
	return true;
}

bool race_launch_read(struct race_results *out, const void *payload, size_t n)
{
	struct source s = {.out = out};
	struct race_transfer_op *op;

	if (!source_open(&s, payload, n))
		return false;
	op = BASE_NEW(&out->arena, struct race_transfer_op);
	*op = (struct race_transfer_op){.api = text_at(&s, s.t.api), .module = ""};
	calls_fill(&s, op);
	base_vec_push(&out->launched, op);
	return true;
}

/* The call in the program's own code: its place is stored in the operation and returned. */
static struct race_line op_place(struct base_arena *a, struct race_transfer_op *op)
{
	const struct race_call *place = NULL;

	for (size_t i = 0; i < op->ncalls && !(place && place->at.line); i++) {
		const struct race_call *c = &op->calls[i];
		bool is_cudas = is_cuda(c->module, c->at.func);
		if (is_cudas && !strncmp(c->at.func, "cuda", 4))
			op->api = c->at.func;
		if (!is_cudas && (!place || c->at.line))
			place = c;
	}
	op->api = api_of(a, op->api);
	if (!place)
		return (struct race_line){.func = "", .file = ""};
	op->module = place->module;
	op->offset = place->offset;
	return place->at;
}

void race_transfer_place(struct base_arena *a, struct race_finding *f)
{
	struct race_transfer_op *op = f->transfer;
	struct race_line l = op_place(a, op);

	f->func = l.func;
	f->file = l.file;
	f->line = l.line;
	f->col = l.col;
	f->inlined = l.inlined;
	f->ninlined = l.ninlined;
	f->func_shown = race_demangle(a, f->func);
	f->sites->table = base_hash(op->module, strlen(op->module), BASE_FNV_INIT);
	f->sites->site = (uint32_t)op->offset;
	f->sites->text = describe(a, op);
}

static const struct race_origin *origin_find(const struct race_results *r, uint32_t pid,
					     uint32_t number)
{
	for (size_t i = 0; number && i < r->origins.n; i++)
		if (r->origins.v[i].pid == pid && r->origins.v[i].number == number)
			return &r->origins.v[i];
	return NULL;
}

/* The call that launched the side's kernel. */
static void launch_place(struct race_results *r, struct race_side *s)
{
	const struct race_origin *o = origin_find(r, s->pid, s->launch);

	if (!o)
		return;
	s->launched = race_launch_place(&r->arena, o->op, s->kernel);
	s->launched_shown = race_demangle(&r->arena, s->launched.func);
}

/* "cudaMemcpyAsync on stream 3" */
static void side_place(struct race_results *r, struct race_side *s)
{
	struct race_transfer_op *op = s->origin->op;
	struct race_line l = op_place(&r->arena, op);
	const char *where = strstr(s->text, " on stream ");

	s->func = l.func;
	s->func_shown = race_demangle(&r->arena, l.func);
	s->file = l.file;
	s->line = l.line;
	s->col = l.col;
	s->inlined = l.inlined;
	s->ninlined = l.ninlined;
	if (*op->api && where)
		s->text = base_printf(&r->arena, "%s%s", op->api, where);
}

/* The calls that launched the kernel of a finding that has one side only. */
static void launches_place(struct race_results *r, struct race_finding *f)
{
	f->launched = BASE_NEWN(&r->arena, struct race_line, r->launched.n + 1);
	f->nlaunched = 0;
	for (size_t i = 0; i < r->launched.n; i++) {
		const struct race_transfer_op *op = r->launched.v[i];
		bool is_new = true;
		if (strcmp(op->api, f->func) != 0)
			continue;
		struct race_line at = race_launch_place(&r->arena, op, f->func_shown);
		for (size_t k = 0; k < f->nlaunched; k++)
			is_new = is_new && (f->launched[k].line != at.line ||
					    strcmp(f->launched[k].file, at.file) ||
					    strcmp(f->launched[k].func, at.func));
		if (is_new && (at.line || *at.func))
			f->launched[f->nlaunched++] = at;
	}
}

void race_origins_place(struct race_results *r)
{
	for (size_t i = 0; i < r->findings.n; i++) {
		struct race_finding *f = &r->findings.v[i];
		if (!f->transfer && !f->object && (!f->sides || !f->sides[0].launch))
			launches_place(r, f);
		for (unsigned k = 0; f->sides && k < 2; k++) {
			struct race_side *s = &f->sides[k];
			launch_place(r, s);
			if (s->flags & RACE_SIDE_HOST && s->access == RACE_ACCESS_COPY)
				s->origin = origin_find(r, s->pid, s->ptx_line);
			if (s->origin)
				side_place(r, s);
		}
		if (!f->sides || !f->sides[0].origin)
			continue;
		f->func = f->sides[0].func;
		f->func_shown = f->sides[0].func_shown;
		f->file = f->sides[0].file;
		f->line = f->sides[0].line;
		f->col = f->sides[0].col;
		f->inlined = f->sides[0].inlined;
		f->ninlined = f->sides[0].ninlined;
	}
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

void race_holds_add(struct race_holds *to, const struct race_holds *from)
{
	to->held += from->held;
	to->passed += from->passed;
	for (unsigned i = 0; i < RACE_HOLD_SKIPS; i++)
		to->skipped[i] += from->skipped[i];
}

const char *race_hold_skip_name(unsigned why)
{
	static const char *const names[RACE_HOLD_SKIPS] = {
		[RACE_HOLD_NULL_STREAM] = "null-stream",
		[RACE_HOLD_CAPTURED] = "captured",
		[RACE_HOLD_PROGRAMMATIC] = "programmatic",
		[RACE_HOLD_REFUSED] = "refused",
	};

	return why < RACE_HOLD_SKIPS ? names[why] : "unknown";
}
