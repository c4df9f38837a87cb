/*
 * pair_read.c - turns the oracle's pairs in the shared file into findings.
 *
 * Nothing in a chunk is trusted: offsets are checked, strings end within the chunk. A pair becomes
 * one finding whose place is that of its first side.
 */
#include "race/layout/iguard.h"
#include "race/layout/watch.h"
#include "race/race.h"
#include "race/layout/history.h"

#include <string.h>

struct source {
	struct race_results *out;
	struct race_pair p;
	const unsigned char *frames;
	const char *strings;
	uint32_t pid;
};

static const char *text_at(struct source *s, uint32_t at)
{
	if (at >= s->p.strings)
		return "";
	return race_text(&s->out->arena, s->strings + at, s->p.strings - at);
}

static void inlined_fill(struct source *s, const struct race_pair_side *from, struct race_side *o)
{
	struct base_arena *a = &s->out->arena;
	uint32_t n = from->nframes;

	if (from->frame > s->p.nframes || n > s->p.nframes - from->frame)
		return;
	o->inlined = base_zalloc(a, (n ? n : 1) * sizeof(*o->inlined));
	o->ninlined = n;
	for (uint32_t i = 0; i < n; i++) {
		struct race_frame fr;
		memcpy(&fr, s->frames + (from->frame + i) * sizeof(fr), sizeof(fr));
		o->inlined[i] = (struct race_inlined){
			.func = text_at(s, fr.func),
			.file = text_at(s, fr.file),
			.line = fr.line,
			.col = fr.col & ~RACE_FRAME_UNSURE,
			.is_unsure = (fr.col & RACE_FRAME_UNSURE) != 0,
		};
		o->inlined[i].func_shown = race_demangle(a, o->inlined[i].func);
	}
}

static void side_fill(struct source *s, const struct race_pair_side *from, struct race_side *o)
{
	struct base_arena *a = &s->out->arena;

	*o = (struct race_side){
		.func = text_at(s, from->func),
		.kernel = race_demangle(a, text_at(s, from->kernel)),
		.file = text_at(s, from->file),
		.line = from->line,
		.col = from->col,
		.access = (enum race_access)from->access,
		.space = (enum race_space)from->space,
		.width = from->width,
		.vec = from->vec,
		.bytes = from->bytes,
		.text = text_at(s, from->text),
		.ptx_line = from->ptx_line,
		.address = from->address,
		.grid = from->grid,
		.strength = (enum race_strength)from->strength,
		.scope = (enum race_scope)from->scope,
		.proxy = (enum race_proxy)from->proxy,
		.flags = from->flags | (from->is_seed ? RACE_SIDE_SEED : 0u),
		.device = from->device,
		.cluster = from->cluster,
		.warp = from->warp,
		.pid = s->pid,
		.launch = from->launch,
		.launched = {.func = "", .file = ""},
		.launched_shown = "",
		.is_near = from->is_near != 0,
		.stream = from->stream,
		.update = from->update <= RACE_UPDATE_CHECK ? (enum race_update)from->update
							    : RACE_UPDATE_OTHER,
	};
	memcpy(o->thread, from->thread, sizeof(o->thread));
	memcpy(o->block, from->block, sizeof(o->block));
	o->func_shown = race_demangle(a, o->func);
	inlined_fill(s, from, o);
}

/* A load that only begins a compare-and-swap loop, and an atomic of the same bytes: what it loads
 * may be old, and the loop corrects it. */
bool race_is_seed_pair(const struct race_finding *f)
{
	const struct race_side *s = f->sides;
	unsigned load = s && s[1].flags & RACE_SIDE_SEED ? 1 : 0;

	return s && s[load].flags & RACE_SIDE_SEED && s[!load].access == RACE_ACCESS_ATOMIC &&
	       s[0].address == s[1].address && s[0].width == s[1].width && s[!load].vec == 1;
}

/* A conflict of two volatile accesses is strong to PTX; here at least one side has too narrow a
 * scope, another size, or is weak. Volatile on both sides is reported as such. */
static enum race_class pair_class(const struct race_finding *f)
{
	if (f->sides[0].flags & f->sides[1].flags & RACE_SIDE_VOLATILE)
		return RACE_CLASS_VOLATILE;
	if (race_is_seed_pair(f))
		return RACE_CLASS_SEED;
	return race_classify(f->kind, 0, 0);
}

static void finding_add(struct source *s)
{
	struct base_arena *a = &s->out->arena;
	struct race_finding f = {.kind = (enum race_kind)s->p.kind, .module = "", .target = ""};
	struct race_finding_site fs = {.count = s->p.count};
	struct race_side *o;

	f.sides = BASE_NEWN(a, struct race_side, 2);
	side_fill(s, &s->p.side[0], &f.sides[0]);
	side_fill(s, &s->p.side[1], &f.sides[1]);
	o = &f.sides[0];
	f.cls = s->p.is_possible ? RACE_CLASS_POSSIBLE : pair_class(&f);
	f.func = o->func;
	f.func_shown = o->func_shown;
	f.file = o->file;
	f.line = o->line;
	f.col = o->col;
	f.inlined = o->inlined;
	f.ninlined = o->ninlined;
	f.access = o->access;
	f.space = o->space;
	f.width = o->width;
	f.vec = o->vec;
	f.is_volatile = (o->flags & RACE_SIDE_VOLATILE) != 0;
	f.count = s->p.count;
	f.is_same_value = s->p.is_same != 0;
	f.missing = s->p.missing & ((1u << RACE_MISSING_COUNT) - 1);
	f.apart = s->p.apart & ((1u << RACE_APART_COUNT) - 1);
	f.judged = s->p.judged ? text_at(s, s->p.judged) : NULL;
	memcpy(f.first.thread, o->thread, sizeof(o->thread));
	memcpy(f.first.block, o->block, sizeof(o->block));
	f.first.address = s->p.address;
	f.first.grid = o->grid;
	f.first.is_generic = true;
	f.met = (struct race_object){.memory = s->p.memory <= RACE_MEMORY_TENSOR
						       ? (enum race_memory)s->p.memory
						       : RACE_MEMORY_UNKNOWN,
				     .name = race_demangle(a, text_at(s, s->p.name)),
				     .base = s->p.base,
				     .bytes = s->p.bytes};
	memcpy(f.met.owner, s->p.owner, sizeof(f.met.owner));
	fs.text = o->text;
	fs.ptx_line = o->ptx_line;
	fs.site = (uint32_t)s->out->findings.n;
	race_site_count(a, &f, &fs);
	base_vec_push(&s->out->findings, f);
}

bool race_pair_read(struct race_results *out, const void *payload, size_t n, uint32_t pid)
{
	struct source s = {.out = out, .pid = pid};
	uint64_t frames;

	if (n < sizeof(s.p))
		return false;
	memcpy(&s.p, payload, sizeof(s.p));
	frames = (uint64_t)s.p.nframes * sizeof(struct race_frame);
	if (!race_has_two_sides(s.p.kind) || frames > n - sizeof(s.p) ||
	    s.p.strings > n - sizeof(s.p) - frames)
		return false;
	s.frames = (const unsigned char *)payload + sizeof(s.p);
	s.strings = (const char *)s.frames + frames;
	finding_add(&s);
	return true;
}

bool race_beside_read(struct race_results *out, const void *payload, size_t n)
{
	struct race_beside b;

	if (n < sizeof(b))
		return false;
	memcpy(&b, payload, sizeof(b));
	out->beside += b.accesses;
	out->beside_launches += b.launches;
	return true;
}

bool race_beside_kernel_read(struct race_results *out, const void *payload, size_t n)
{
	struct race_beside_kernel b;
	const char *name = (const char *)payload + sizeof(b);

	if (n <= sizeof(b) || !memchr(name, 0, n - sizeof(b)))
		return false;
	memcpy(&b, payload, sizeof(b));
	base_vec_push(&out->beside_kernels,
		      ((struct race_judged_kernel){race_text(&out->arena, name, strlen(name)),
						   b.blocks, b.of}));
	return true;
}

bool race_oracle_read(struct race_results *out, const void *payload, size_t n)
{
	struct race_oracle o;

	if (n < sizeof(o))
		return false;
	memcpy(&o, payload, sizeof(o));
	out->has_oracle = true;
	out->is_oracle_full = out->is_oracle_full || o.is_full;
	out->is_sc_execution = out->is_sc_execution || o.is_execution;
	out->is_judged_inexact = out->is_judged_inexact || o.running;
	out->has_stepped_aside = out->has_stepped_aside || o.is_aside;
	out->judged += o.accesses;
	out->judged_kernels += o.kernel_accesses;
	out->judged_launches += o.launches;
	out->shadow_words += o.words;
	out->shadow_bytes += o.shadow_bytes;
	out->clock_bytes += o.clock_bytes;
	out->dropped += o.dropped;
	out->raced_out += o.raced_out;
	out->actors += o.actors;
	out->host_accesses += o.host_accesses;
	out->host_registered += o.registered;
	out->host_registered_bytes += o.registered_bytes;
	out->is_host_seen = out->is_host_seen || o.sees_host;
	out->is_host_unseen = out->is_host_unseen || (o.has_shared && !o.sees_host);
	return true;
}

bool race_fault_read(struct race_results *out, const void *payload, size_t n)
{
	const char *text = (const char *)payload + sizeof(struct race_fault);
	struct race_fault f;

	if (n < sizeof(f))
		return false;
	memcpy(&f, payload, sizeof(f));
	n -= sizeof(f);
	if (f.func > n)
		return false;
	struct race_stop stop = {.text = race_text(&out->arena, text, f.func),
				 .func = race_text(&out->arena, text + f.func, n - f.func),
				 .ptx_line = f.ptx_line,
				 .device = f.device};
	base_vec_push(&out->stops, stop);
	return true;
}

bool race_explains(const struct race_finding *f, const struct race_stop *stop)
{
	for (unsigned i = 0; f->sides && stop->ptx_line && i < 2; i++)
		if (f->sides[i].ptx_line == stop->ptx_line &&
		    !(f->sides[i].flags & RACE_SIDE_HOST) && !strcmp(f->sides[i].func, stop->func))
			return true;
	return false;
}

/* ---- records with two sides (history.h) --------------------------------------------------- */

/* This access is the finding's own; the earlier one's thread comes from its history word, its place
 * in the source from the site stored beside the word, which may be unknown: the two are not written
 * atomically. Numbers of threads and blocks are the hardware's. */
static uint32_t ways_of(enum race_access access)
{
	switch (access) {
	case RACE_ACCESS_STORE:
		return RACE_SIDE_WRITES;
	case RACE_ACCESS_ATOMIC:
		return RACE_SIDE_READS | RACE_SIDE_WRITES;
	case RACE_ACCESS_LOAD:
	case RACE_ACCESS_NC_LOAD:
		return RACE_SIDE_READS;
	default:
		return 0;
	}
}

/* A linear number as coordinates; a size of 0 counts as 1. */
static void place_of(uint64_t n, const uint32_t size[3], uint32_t place[3])
{
	for (unsigned i = 0; i < 3; i++) {
		uint32_t s = size[i] ? size[i] : 1;
		place[i] = (uint32_t)(i < 2 ? n % s : n);
		n /= s;
	}
}

static uint32_t linear(const uint32_t place[3], const uint32_t size[3])
{
	return (place[2] * size[1] + place[1]) * size[0] + place[0];
}

/* What the two have in common, and where they are in the grid. */
static void side_place(const struct race_record *rec, const uint32_t threads[3],
		       struct race_side *s)
{
	const uint32_t c[3] = {rec->cluster & 0xff, rec->cluster >> 8 & 0xff, rec->cluster >> 16};
	const uint32_t grid[3] = {rec->grid_x, rec->grid_yz & 0xffff, rec->grid_yz >> 16};
	uint32_t cluster[3], clusters[3];

	for (unsigned i = 0; i < 3; i++) {
		cluster[i] = s->block[i] / (c[i] ? c[i] : 1);
		clusters[i] = grid[i] / (c[i] ? c[i] : 1);
	}
	s->cluster = linear(cluster, clusters);
	s->warp = linear(s->thread, threads) / 32;
	s->address = rec->address;
	s->grid = rec->grid;
	s->proxy = RACE_PROXY_GENERIC;
	s->launched = (struct race_line){.func = "", .file = ""};
	s->launched_shown = "";
}

/* What the site of a side holds. */
static void side_of_site(const struct race_finding *of, uint32_t flags, int device,
			 struct race_side *s)
{
	s->func = of->func;
	s->func_shown = s->kernel = of->func_shown;
	s->file = of->file;
	s->line = of->line;
	s->col = of->col;
	s->inlined = of->inlined;
	s->ninlined = of->ninlined;
	s->access = of->access;
	s->space = of->space;
	s->width = of->width;
	s->vec = of->vec;
	s->bytes = of->width * of->vec;
	s->text = of->nsites ? of->sites[0].text : "";
	s->ptx_line = of->nsites ? of->sites[0].ptx_line : 0;
	s->is_near = of->is_near;
	s->update = of->update;
	s->strength = (enum race_strength)RACE_SITE_STRENGTH(flags);
	s->scope = (enum race_scope)RACE_SITE_SCOPE(flags);
	s->flags = ways_of(s->access) | (RACE_SITE_SEED(flags) ? RACE_SIDE_SEED : 0);
	if (s->access == RACE_ACCESS_COPY)
		s->flags = RACE_SIDE_ASYNC |
			   (s->space == RACE_SPACE_SHARED ? RACE_SIDE_WRITES : RACE_SIDE_READS);
	s->device = device;
}

bool race_is_one_block(const struct race_record *rec)
{
	return RACE_WATCH_HALF_SITE(rec->now[0]) && rec->was[1] == rec->grid &&
	       rec->now[1] == ((uint64_t)rec->block[2] << 48 | (uint64_t)rec->block[1] << 32 |
			       rec->block[0]);
}

/* The shape of the grid's clusters; false: the record is damaged. */
static bool cluster_shape(const struct race_record *rec, uint32_t c[3])
{
	c[0] = rec->cluster & 0xff;
	c[1] = rec->cluster >> 8 & 0xff;
	c[2] = rec->cluster >> 16;
	return c[0] && c[1] && c[2];
}

bool race_is_one_owner(const struct race_record *rec)
{
	const uint32_t other[3] = {(uint32_t)rec->now[1], (uint32_t)(rec->now[1] >> 32 & 0xffff),
				   (uint32_t)(rec->now[1] >> 48)};
	uint32_t c[3];

	if (!RACE_WATCH_HALF_SITE(rec->now[0]) || rec->was[1] != rec->grid ||
	    RACE_WATCH_HALF_RANK(rec->now[0]) != RACE_WATCH_SM_RANK(rec->sm) ||
	    !cluster_shape(rec, c))
		return false;
	for (unsigned i = 0; i < 3; i++)
		if (rec->block[i] / c[i] != other[i] / c[i])
			return false;
	return true;
}

/* The block of the record's cluster that has the memory, by its rank. */
static void owner_fill(const struct race_record *rec, struct race_object *met)
{
	uint32_t rank = RACE_WATCH_SM_RANK(rec->sm), c[3];

	if (!cluster_shape(rec, c))
		return;
	met->memory = RACE_MEMORY_SHARED;
	for (unsigned i = 0; i < 3; i++) {
		met->owner[i] = rec->block[i] - rec->block[i] % c[i] + (i < 2 ? rank % c[i] : rank);
		rank /= c[i];
	}
}

/* The other side of a watchpoint: its thread and block are in the record. */
static void sides_of_watch(const struct race_record *rec, struct race_side side[2])
{
	const uint32_t threads[3] = {rec->lanes & 0x7ffu, rec->lanes >> 11 & 0x7ffu,
				     rec->lanes >> 22};
	uint64_t half = rec->now[0];
	const uint32_t thread[3] = {RACE_WATCH_HALF_X(half), RACE_WATCH_HALF_Y(half),
				    RACE_WATCH_HALF_Z(half)};
	const uint32_t block[3] = {(uint32_t)rec->now[1], (uint32_t)(rec->now[1] >> 32 & 0xffff),
				   (uint32_t)(rec->now[1] >> 48)};

	memcpy(side[1].thread, thread, sizeof(thread));
	memcpy(side[1].block, block, sizeof(block));
	side_place(rec, threads, &side[0]);
	side_place(rec, threads, &side[1]);
	if (!half)
		return;
	side[1].grid = rec->was[1];
	side[1].address &= ~((1ull << RACE_WATCH_GRANULE) - 1);
	side[1].address += RACE_WATCH_SM_FROM(rec->sm);
}

/* Of a history word: the earlier thread is a number. */
static void sides_of_history(const struct race_record *rec, struct race_side side[2])
{
	uint64_t shape = rec->now[1];
	bool is_entry =
		race_keeps(rec->kind) == RACE_KEEPS_ENTRY && !(rec->flags & RACE_REC_OF_WORD);
	bool is_other = !is_entry && rec->was[1] & RACE_EARLIER_IS_OTHER;
	const uint32_t threads[3] = {(uint32_t)(shape & 0xffff), (uint32_t)(shape >> 16 & 0xffff),
				     (uint32_t)(shape >> 32 & 0xffff)};
	const uint32_t own[3] = {RACE_EARLIER_OWN_X(rec->now[0]), RACE_EARLIER_OWN_Y(rec->now[0]),
				 RACE_EARLIER_OWN_Z(rec->now[0])};
	const uint32_t grid[3] = {is_other ? UINT32_MAX : rec->grid_x, rec->grid_yz & 0xffff,
				  rec->grid_yz >> 16};
	uint32_t earlier_thread =
		is_entry ? iguard_decode(rec->was[0]).thread
			 : hirace_decode(rec->was[0], RACE_ACTOR_BITS(rec->was[1])).thread;
	uint32_t size = threads[0] * threads[1] * threads[2];
	uint32_t stride = is_entry ? size : hirace_block_stride(size);

	place_of(size ? earlier_thread % stride : 0, threads, side[1].thread);
	place_of(size ? earlier_thread / stride : 0, grid, side[1].block);
	side_place(rec, is_other ? own : threads, &side[0]);
	side_place(rec, threads, &side[1]);
	if (is_other) {
		side[1].grid = rec->was[1] >> RACE_EARLIER_GRID_AT;
		side[1].cluster = 0;
	}
	/* A word has one thread of a group; one that races with itself is another one of these. */
	if (rec->now[0] & RACE_EARLIER_IS_OLDER ||
	    (side[0].grid == side[1].grid &&
	     !memcmp(side[0].thread, side[1].thread, sizeof(side[0].thread)) &&
	     !memcmp(side[0].block, side[1].block, sizeof(side[0].block))))
		side[1].flags |= RACE_SIDE_SOME;
}

void race_sides_fill(struct base_arena *a, const struct race_record *rec, int device,
		     const struct race_finding *earlier, uint32_t earlier_flags, uint32_t own_flags,
		     struct race_finding *f)
{
	f->sides = BASE_NEWN(a, struct race_side, 2);
	side_of_site(f, own_flags, device, &f->sides[0]);
	side_of_site(earlier, earlier_flags, device, &f->sides[1]);
	memcpy(f->sides[0].thread, rec->thread, sizeof(rec->thread));
	memcpy(f->sides[0].block, rec->block, sizeof(rec->block));
	if (race_keeps(rec->kind) == RACE_KEEPS_POINT)
		sides_of_watch(rec, f->sides);
	else
		sides_of_history(rec, f->sides);
	/* A detector that sees one race of a location only says it by a kind of its own. */
	if (!race_knows_seeds(rec->kind) && f->cls == RACE_CLASS_RACE && race_is_seed_pair(f))
		f->cls = RACE_CLASS_SEED;
	f->met.name = "";
	if (rec->flags & RACE_REC_ONE_OWNER)
		owner_fill(rec, &f->met);
	if (race_kinds[rec->kind].cls == RACE_CLASS_UNDECIDED && rec->lanes < RACE_MAY_COUNT)
		f->may = (enum race_may)rec->lanes;
	/* Such kinds say more than how far apart the first ones were. */
	if (race_has_causes(rec->kind))
		f->apart = 1u << race_apart_of(f);
	f->first.lanes = 0;
	/* These are not values. */
	memset(f->first.was, 0, sizeof(f->first.was));
	memset(f->first.now, 0, sizeof(f->first.now));
}

void race_host_pair_fill(struct base_arena *a, const void *payload, size_t n, uint32_t flags,
			 int device, struct race_finding *f)
{
	struct race_host_find h;

	memcpy(&h, payload, sizeof(h));
	const char *path = race_text(a, (const char *)payload + sizeof(h), n - sizeof(h));
	const uint32_t size[3] = {(uint32_t)h.shape & 0x7ffu, (uint32_t)h.shape >> 11 & 0x7ffu,
				  (uint32_t)h.shape >> 22};
	const uint32_t thread[3] = {RACE_WATCH_HALF_X(h.half), RACE_WATCH_HALF_Y(h.half),
				    RACE_WATCH_HALF_Z(h.half)};
	const uint32_t block[3] = {(uint32_t)h.block, (uint32_t)(h.block >> 32 & 0xffff),
				   (uint32_t)(h.block >> 48)};
	struct race_side *s = BASE_NEWN(a, struct race_side, 2);

	side_of_site(f, flags, device, &s[0]);
	memcpy(s[0].thread, thread, sizeof(thread));
	memcpy(s[0].block, block, sizeof(block));
	s[0].warp = linear(thread, size) / 32;
	s[0].address = s[1].address = h.address;
	s[0].grid = h.grid;
	s[1].func = s[1].func_shown = s[1].kernel = s[1].file = "";
	s[1].access = h.is_write ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD;
	s[1].space = (enum race_space)h.space;
	s[1].width = s[1].bytes = h.bytes;
	s[1].vec = 1;
	s[1].flags = RACE_SIDE_HOST | (h.is_write ? RACE_SIDE_WRITES : RACE_SIDE_READS);
	s[1].device = -1;
	/* As the oracle's: the place of the instruction, from which symbol.c finds the line. */
	s[1].text = base_printf(a, "%s at %s+0x%llx", h.is_write ? "store" : "load", path,
				(unsigned long long)h.offset - 1);
	for (unsigned i = 0; i < 2; i++) {
		s[i].launched = (struct race_line){.func = "", .file = ""};
		s[i].launched_shown = "";
	}
	f->cls = race_classify(f->kind, 0, 0);
	f->sides = s;
	f->met.name = "";
	memcpy(f->first.thread, thread, sizeof(thread));
	memcpy(f->first.block, block, sizeof(block));
	f->first.address = h.address;
	f->first.grid = h.grid;
	f->first.is_generic = true;
	f->count = h.count ? h.count : 1;
}
