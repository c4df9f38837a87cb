/*
 * shm_record.c - from a record of the shared file to a finding.
 *
 * A record whose table is lost is still a finding, without a place. The same (table, site, kind) of
 * several contexts becomes one finding: the first sighting is that of the first region, counts are
 * summed; of a slot's two counts the larger one is taken.
 */
#include "race/file/reader.h"
#include "race/layout/history.h"
#include "race/layout/watch.h"

#include <string.h>

/* Inlining is never this deep; a cycle in a damaged table ends here. */
#define INLINE_MAX 64u

static const char *text_copy(struct race_reader *rd, const char *s)
{
	return race_text(&rd->out->arena, s, strlen(s));
}

static struct race_reader_table *table_find(const struct race_reader *rd, uint64_t hash)
{
	struct race_reader_table *t;

	HASH_FIND(hh, rd->tables, &hash, sizeof(hash), t);
	return t;
}

/* The table that has this site, which is copied; NULL: it is lost. */
static struct race_reader_table *site_get(const struct race_reader *rd, uint64_t table,
					  uint32_t site, struct race_site *out)
{
	struct race_reader_table *t = table_find(rd, table);

	return t && race_sites_get(&t->sites, site, out) ? t : NULL;
}

static void inlined_fill(struct race_reader *rd, const struct race_sites *t, uint32_t frame,
			 struct race_finding *f)
{
	struct race_inlined chain[INLINE_MAX];
	struct race_frame fr;
	size_t n = 0;

	for (; frame && n < INLINE_MAX && race_sites_get_frame(t, frame - 1, &fr);
	     frame = fr.next) {
		struct race_inlined *in = &chain[n++];
		in->func = text_copy(rd, race_sites_text(t, fr.func));
		in->func_shown = race_demangle(&rd->out->arena, in->func);
		in->file = text_copy(rd, race_sites_text(t, fr.file));
		in->line = fr.line;
		in->col = fr.col & ~RACE_FRAME_UNSURE;
		in->is_unsure = (fr.col & RACE_FRAME_UNSURE) != 0;
	}
	f->ninlined = n;
	f->inlined = base_alloc(&rd->out->arena, n * sizeof(*chain));
	memcpy(f->inlined, chain, n * sizeof(*chain));
}

/* Looks up the record's site and fills in what it holds. */
static void site_fill(struct race_reader *rd, const struct race_record *rec, struct race_finding *f,
		      struct race_finding_site *fs)
{
	struct race_site s = {0};
	struct race_reader_table *t = site_get(rd, rec->table, rec->site, &s);

	f->func = f->func_shown = f->file = f->module = f->target = fs->text = "";
	if (!t) {
		rd->out->damaged++;
		f->width = rec->width;
		f->vec = 1;
		f->cls = race_classify(f->kind, rec->flags, 0);
		return;
	}
	f->func = text_copy(rd, race_sites_text(&t->sites, s.func));
	f->func_shown = race_demangle(&rd->out->arena, f->func);
	f->file = text_copy(rd, race_sites_text(&t->sites, s.file));
	f->line = s.line;
	f->col = s.col;
	f->access = (enum race_access)s.access;
	f->space = (enum race_space)s.space;
	f->width = s.width;
	f->vec = s.vec;
	f->is_volatile = (s.flags & RACE_SITE_VOLATILE) != 0;
	f->is_near = (s.flags & RACE_SITE_NEAR) != 0;
	f->update = (enum race_update)RACE_SITE_UPDATE(s.flags);
	f->missing = s.flags & RACE_SITE_FLAGGED ? 1u << RACE_MISSING_HALF : 0;
	f->module = text_copy(rd, race_sites_text(&t->sites, t->sites.h.module_name));
	f->target = text_copy(rd, race_sites_text(&t->sites, t->sites.h.target));
	f->cls = race_classify(f->kind, rec->flags, s.flags);
	fs->text = text_copy(rd, race_sites_text(&t->sites, s.text));
	fs->ptx_line = s.ptx_line;
	inlined_fill(rd, &t->sites, s.frame, f);
}

static void block_fill(struct race_reader *rd, const struct race_record *rec, uint32_t block[3])
{
	const uint32_t size[3] = {rec->grid_x, rec->grid_yz & 0xffff, rec->grid_yz >> 16};
	const uint32_t cluster[3] = {rec->cluster & 0xff, rec->cluster >> 8 & 0xff,
				     rec->cluster >> 16};
	struct race_site s = {0};

	memcpy(block, rec->block, sizeof(rec->block));
	if (!site_get(rd, rec->table, rec->site, &s))
		return;
	race_shuffle_block(s.flags & RACE_SITE_WAITS ? rec->order >> 8 : rec->order & 0xff,
			   &rd->keys, rec->grid, size, cluster, block);
}

static void first_fill(struct race_reader *rd, const struct race_record *rec, struct race_first *o)
{
	memcpy(o->thread, rec->thread, sizeof(o->thread));
	block_fill(rd, rec, o->block);
	memcpy(o->was, rec->was, sizeof(o->was));
	memcpy(o->now, rec->now, sizeof(o->now));
	o->address = rec->address;
	o->width = rec->width;
	if (rec->width == RACE_WIDTH_SUM) {
		o->width = (uint32_t)(rec->was[0] >> 32);
		o->was[0] = (uint32_t)rec->was[0];
		o->now[0] = (uint32_t)rec->now[0];
	}
	o->lanes = rec->lanes;
	o->grid = rec->grid;
	o->sm = race_keeps(rec->kind) == RACE_KEEPS_POINT ? RACE_WATCH_SM(rec->sm) : rec->sm;
	o->is_generic = (rec->flags & RACE_REC_GENERIC) != 0;
}

static uint32_t site_flags(struct race_reader *rd, uint64_t table, uint32_t site)
{
	struct race_site s = {0};

	return site_get(rd, table, site, &s) ? s.flags : 0;
}

static bool has_seeds(struct race_reader *rd, uint64_t table)
{
	const struct race_reader_table *t = table_find(rd, table);
	struct race_site s;

	for (uint32_t i = 0; t && race_sites_get(&t->sites, i, &s); i++)
		if (RACE_SITE_SEED(s.flags))
			return true;
	return false;
}

static const struct race_region *region_at(const struct race_reader *rd, uint32_t i)
{
	size_t at = RACE_SHM_REGION0 + (size_t)i * sizeof(struct race_region);
	const struct race_region *r = (const void *)(rd->map + at);

	return at + sizeof(*r) <= rd->bytes && r->state != RACE_REGION_FREE ? r : NULL;
}

/* Of a context of the process; -1 is the host's. */
static int device_of(struct race_reader *rd, uint32_t pid, uint32_t context, int otherwise)
{
	for (uint32_t i = 0; i < RACE_REGIONS; i++) {
		const struct race_region *r = region_at(rd, i);
		if (r && r->pid == pid && r->context == context && r->device >= 0)
			return r->device;
	}
	return otherwise;
}

/* The other side of a watchpoint was gone before it could be named: beside an atomic it may have
 * been the seed of a compare-and-swap loop, beside a seed an atomic. */
static enum race_class class_alone(struct race_reader *rd, const struct race_record *rec,
				   const struct race_finding *f)
{
	if (RACE_SITE_SEED(site_flags(rd, rec->table, rec->site)))
		return RACE_CLASS_SEED;
	return f->access == RACE_ACCESS_ATOMIC && has_seeds(rd, rec->table) ? RACE_CLASS_POSSIBLE
									    : RACE_CLASS_RACE;
}

/* A store of shared memory in a module whose compiler lets lanes and warps store their copies of
 * one element (docs/soundness.md). */
static bool stores_copies(struct race_reader *rd, uint64_t table, uint32_t site)
{
	struct race_site s = {0};
	const struct race_reader_table *t = site_get(rd, table, site, &s);

	return t && t->sites.h.flags & RACE_SITES_TILES && s.space == RACE_SPACE_SHARED &&
	       s.access == RACE_ACCESS_STORE;
}

/* The earlier of two accesses, as far as its site is known. */
static void sides_fill(struct race_reader *rd, const struct race_record *rec,
		       const struct race_context *c, struct race_finding *f)
{
	struct race_finding none = {.kind = f->kind, .func = "", .func_shown = "", .file = ""};
	struct race_finding earlier = none;
	struct race_finding_site fs = {.table = rec->table, .text = ""};
	struct race_record at = *rec;
	uint32_t flags = 0, number = RACE_EARLIER_SITE(rec->now[0]);
	if (race_keeps(rec->kind) == RACE_KEEPS_POINT) {
		number = RACE_WATCH_HALF_SITE(rec->now[0]);
		at.table = fs.table = rec->was[0];
	}
	at.site = number - 1u;
	if (number) {
		site_fill(rd, &at, &earlier, &fs);
		flags = site_flags(rd, at.table, at.site);
	}
	/* Two loads don't race: the word's thread loaded after the store that is meant. */
	if (number && race_is_load(f) && race_is_load(&earlier)) {
		earlier = none, flags = 0;
		fs = (struct race_finding_site){.table = rec->table, .text = ""};
	}
	race_site_count(&rd->out->arena, &earlier, &fs);
	race_sides_fill(&rd->out->arena, rec, c->device, &earlier, flags,
			site_flags(rd, rec->table, rec->site), f);
	if (race_keeps(rec->kind) == RACE_KEEPS_POINT && !number && f->cls == RACE_CLASS_RACE)
		f->cls = class_alone(rd, rec, f);
	/* Equal values would be no race, and these detectors know none. */
	if (number && at.table == rec->table && at.site == rec->site && f->cls == RACE_CLASS_RACE &&
	    stores_copies(rd, rec->table, rec->site)) {
		f->cls = RACE_CLASS_UNDECIDED;
		f->may = RACE_MAY_COPY;
	}
	if (race_keeps(rec->kind) == RACE_KEEPS_POINT && number &&
	    !(rec->flags & RACE_REC_ONE_OWNER))
		f->sides[1].device =
			device_of(rd, c->pid, RACE_WATCH_HALF_RANK(rec->now[0]), c->device);
}

/* Host code that met a watchpoint of a kernel. Where an error has stopped a context, threads left
 * theirs behind, and host code may have come later. (The CPU device ends them with the error.) */
void race_reader_host_pair(struct race_reader *rd, const struct race_chunk *c,
			   const unsigned char *payload)
{
	struct race_finding f = {.kind = RACE_KIND_WATCH};
	struct race_finding_site fs = {.text = ""};
	struct race_host_find h;

	memcpy(&h, payload, sizeof(h));
	struct race_record rec = {.table = h.table,
				  .site = RACE_WATCH_HALF_SITE(h.half) - 1u,
				  .kind = RACE_KIND_WATCH};
	for (uint32_t i = 0; i < RACE_REGIONS; i++) {
		const struct race_region *r = region_at(rd, i);
		if (r && r->pid == c->pid && r->error && !r->is_live) {
			rd->out->watch_lost++;
			return;
		}
	}
	fs.table = rec.table;
	fs.site = rec.site;
	fs.count = h.count ? h.count : 1;
	site_fill(rd, &rec, &f, &fs);
	race_site_count(&rd->out->arena, &f, &fs);
	race_host_pair_fill(&rd->out->arena, payload, c->bytes, site_flags(rd, rec.table, rec.site),
			    device_of(rd, c->pid, RACE_WATCH_HALF_RANK(h.half), 0), &f);
	base_vec_push(&rd->out->findings, f);
}

/* Lanes that store their copies of one element: one store (docs/soundness.md). */
static bool is_copy(struct race_reader *rd, const struct race_record *rec)
{
	return rec->kind == RACE_KIND_INTRA_WARP_SAME && stores_copies(rd, rec->table, rec->site);
}

/* The finding of this record, new or known. */
static struct race_finding *finding_get(struct race_reader *rd, const struct race_record *rec,
					const struct race_context *c)
{
	struct race_results *out = rd->out;
	struct race_reader_key key = {rec->table, rec->site, rec->kind, 0, 0, 0};
	struct race_reader_finding *e;

	/* One access may have been met by several. */
	if (race_keeps(rec->kind) == RACE_KEEPS_POINT) {
		key.other_table = rec->was[0];
		key.other_site = RACE_WATCH_HALF_SITE(rec->now[0]);
	}

	HASH_FIND(hh, rd->known, &key, sizeof(key), e);
	if (e)
		return &out->findings.v[e->index];
	struct race_finding f = {.kind = (enum race_kind)rec->kind};
	struct race_finding_site fs = {.table = rec->table, .site = rec->site};
	site_fill(rd, rec, &f, &fs);
	first_fill(rd, rec, &f.first);
	race_site_count(&out->arena, &f, &fs);
	if (rec->flags & RACE_REC_TWO_SIDES)
		sides_fill(rd, rec, c, &f);
	e = BASE_NEW(&rd->nodes, struct race_reader_finding);
	e->key = key;
	e->index = out->findings.n;
	HASH_ADD(hh, rd->known, key, sizeof(key), e);
	base_vec_push(&out->findings, f);
	return &out->findings.v[e->index];
}

void race_reader_record(struct race_reader *rd, const struct race_record *rec, uint64_t counted,
			const struct race_context *c)
{
	uint64_t count = rec->count > counted ? rec->count : counted;

	bool is_pair = race_is_kept_pair(rec->kind);
	if ((!is_pair && race_keeps(rec->kind) != RACE_KEEPS_VALUES) ||
	    is_pair != ((rec->flags & RACE_REC_TWO_SIDES) != 0)) {
		rd->out->damaged++;
		return;
	}
	/* Two blocks that share a key in a table, or one half (layout/watch.h). */
	if ((rec->flags & RACE_REC_ONE_BLOCK && !race_is_one_block(rec)) ||
	    (rec->flags & RACE_REC_ONE_OWNER && !race_is_one_owner(rec))) {
		rd->out->watch_lost += !RACE_WATCH_HALF_SITE(rec->now[0]);
		return;
	}
	if (is_copy(rd, rec))
		return;
	struct race_finding *f = finding_get(rd, rec, c);
	if (!count)
		count = 1; /* the record is there, so it happened */
	if (count >= RACE_MUTE_COUNT)
		f->is_muted = true;
	f->count += count;
	f->sites[0].count += count;
	if (f->kind == RACE_KIND_WATCH_POSSIBLE && (rec->flags & RACE_REC_USED))
		f->kind = RACE_KIND_WATCH;
	if (f->cls == RACE_CLASS_POSSIBLE && (rec->flags & RACE_REC_USED))
		f->cls =
			race_classify(f->kind, rec->flags, f->is_volatile ? RACE_SITE_VOLATILE : 0);
	race_seen_add(&rd->out->arena, f, c);
}
