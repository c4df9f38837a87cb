/*
 * shm_read.c - reads the file that the agent left, in whatever state it was left.
 *
 * The program may have been killed at any instruction, and its stray stores can have hit the
 * mapping. Therefore sizes are clamped to the bytes there are; a record counts once its `valid`
 * word is set, a chunk once its size is; both are copied before they are examined, and
 * inconsistent ones are counted as damaged. A record whose table is lost is still a finding,
 * without a place.
 *
 * The same (table, site, kind) of several contexts becomes one finding: the first sighting is that
 * of the first region, counts are summed; of a slot's two counts the larger one is taken.
 */
#include "race/layout/watch.h"
#include "race/site/replay.h"
#include "race/layout/history.h"
#include "race/race.h"
#include "race/file/shm_write.h"
#include "race/site/sample.h"

#include <stdlib.h>
#include <string.h>
#include "base/table.h"

/* Inlining is never this deep; a cycle in a damaged table ends here. */
#define INLINE_MAX 64u

struct table {
	uint64_t hash;
	struct race_sites sites;
	UT_hash_handle hh;
};

struct finding_key {
	uint64_t table;
	uint32_t site, kind;
	/* Of detector watch: */
	uint64_t other_table;
	uint32_t other_site, reserved;
};

struct finding_entry {
	struct finding_key key;
	size_t index; /* in results.findings */
	UT_hash_handle hh;
};

struct reader {
	const unsigned char *map;
	size_t bytes;
	struct race_results *out;
	struct base_arena nodes; /* of the two hash tables */
	struct table *tables;
	struct finding_entry *known;
	uint32_t order; /* of struct race_shm */
	struct race_shuffle_keys keys;
};

/* ---- heap chunks ------------------------------------------------------------ */

static const char *text_copy(struct reader *rd, const char *s)
{
	return race_text(&rd->out->arena, s, strlen(s));
}

/* Which kernels were not shuffled: noted only if shuffling was requested. */
static void order_note(struct reader *rd, const char *func, unsigned why)
{
	if (!(rd->order & ~(uint32_t)RACE_SHUFFLE_ALL) ||
	    (why == RACE_WHY_WAITS && (rd->order & RACE_SHUFFLE_ALL)))
		return;
	const char *text =
		why == RACE_WHY_WAITS
			? base_printf(&rd->out->arena,
				      "the blocks of %s keep their order: one of its loops waits "
				      "for other blocks (--shuffle=all)",
				      race_demangle(&rd->out->arena, func))
			: "the blocks of a module keep their order: it reads their ids in a way "
			  "that can't be replaced";
	race_note_add(rd->out, text, strlen(text));
}

/* The answer isn't wrong, but it is another one than without checks. */
static void together_note(struct reader *rd, const char *func)
{
	const char *text = base_printf(
		&rd->out->arena,
		"%s asks which lanes of its warp run together (activemask, "
		"cooperative_groups::coalesced_threads()): lanes take different ways through the "
		"checks, so the answer may have fewer of them; code that counts on a whole warp "
		"there may compute something else than without checks",
		race_demangle(&rd->out->arena, func));

	race_note_add(rd->out, text, strlen(text));
}

static void skips_take(struct reader *rd, const struct race_sites *t)
{
	struct race_unchecked u;

	for (uint32_t i = 0; race_sites_get_unchecked(t, i, &u); i++) {
		bool is_called = (u.why & RACE_WHY_CALLED) != 0;
		u.why &= ~RACE_WHY_CALLED;
		if (u.why == RACE_WHY_WAITS || u.why == RACE_WHY_FIXED_ORDER) {
			order_note(rd, race_sites_text(t, u.func), u.why);
			continue;
		}
		if (u.why == RACE_WHY_TOGETHER) {
			together_note(rd, race_sites_text(t, u.func));
			continue;
		}
		struct race_skip s = {.what = text_copy(rd, race_sites_text(t, u.what)),
				      .func = text_copy(rd, race_sites_text(t, u.func)),
				      .why = (enum race_unchecked_why)u.why,
				      .is_called = is_called,
				      .count = u.count};
		s.func_shown = race_demangle(&rd->out->arena, s.func);
		race_skip_add(rd->out, &s);
	}
}

static void chunk_take_sites(struct reader *rd, const struct race_chunk *c,
			     const unsigned char *payload)
{
	struct race_sites sites;
	struct table *t;

	if (race_sites_decode(payload, c->bytes, &sites)) {
		rd->out->damaged++;
		return;
	}
	/* Every context and process brings its own copy. */
	HASH_FIND(hh, rd->tables, &sites.h.hash, sizeof(uint64_t), t);
	if (t) {
		race_sites_close(&sites);
		return;
	}
	t = BASE_NEW(&rd->nodes, struct table);
	t->hash = sites.h.hash;
	t->sites = sites;
	HASH_ADD(hh, rd->tables, hash, sizeof(uint64_t), t);
	rd->out->tables++;
	skips_take(rd, &sites);
}

static void host_pair_take(struct reader *rd, const struct race_chunk *c,
			   const unsigned char *payload);

static void chunk_take_kernel(struct reader *rd, const struct race_chunk *c,
			      const unsigned char *payload)
{
	struct race_kernel_count k;

	if (c->bytes < sizeof(k)) {
		rd->out->damaged++;
		return;
	}
	memcpy(&k, payload, sizeof(k));
	struct race_kernel out = {.launches = k.count,
				  .is_instrumented = k.instrumented != 0,
				  .started = k.started,
				  .checked = k.checked,
				  .first = k.first,
				  .last = k.last,
				  .why = k.why,
				  .cuts = k.cuts,
				  .cut_blocks = k.cut_blocks,
				  .cut_of = k.cut_of};
	out.name =
		race_text(&rd->out->arena, (const char *)payload + sizeof(k), c->bytes - sizeof(k));
	out.name_shown = race_demangle(&rd->out->arena, out.name);
	race_kernel_add(rd->out, &out);
}

/* One chunk; those of the host's copies, and pairs of host code and kernels, are read in a second
 * pass (`is_last`), when contexts and tables are known. */
static void chunk_take(struct reader *rd, const struct race_chunk *c, const unsigned char *payload,
		       bool is_last)
{
	static const char published[] = "--hirace=published: the machine of HiRace's authors as it "
					"was; its data races include its false alarms";
	struct race_results *out = rd->out;

	bool is_pair = c->kind == RACE_CHUNK_HOST_FIND && race_host_find_is_pair(payload, c->bytes);
	if (!c->bytes || is_last != (c->kind == RACE_CHUNK_TRANSFER || is_pair))
		return;
	switch (c->kind) {
	case RACE_CHUNK_SITES:
		chunk_take_sites(rd, c, payload);
		break;
	case RACE_CHUNK_KERNEL:
		chunk_take_kernel(rd, c, payload);
		break;
	case RACE_CHUNK_NOTE:
		race_note_add(out, (const char *)payload, c->bytes);
		break;
	case RACE_CHUNK_PLAIN:
		race_plain_add(out, (const char *)payload, c->bytes);
		break;
	case RACE_CHUNK_PAIR:
		out->damaged += !race_pair_read(out, payload, c->bytes, c->pid);
		break;
	case RACE_CHUNK_ORACLE:
		out->damaged += !race_oracle_read(out, payload, c->bytes);
		break;
	case RACE_CHUNK_FAULT:
		out->damaged += !race_fault_read(out, payload, c->bytes);
		break;
	case RACE_CHUNK_COMMAND:
		out->command = race_text(&out->arena, (const char *)payload, c->bytes);
		break;
	case RACE_CHUNK_MACHINE:
		race_note_add(out, published, sizeof(published));
		break;
	case RACE_CHUNK_REPLAY:
		out->damaged += !race_replay_note(out, payload, c->bytes);
		break;
	case RACE_CHUNK_HOST_AREA:
		out->damaged += !race_host_area_read(out, payload, c->bytes);
		break;
	case RACE_CHUNK_HOST_FIND:
		if (is_pair)
			host_pair_take(rd, c, payload);
		else
			out->damaged += !race_host_find_read(out, payload, c->bytes);
		break;
	case RACE_CHUNK_TRANSFER:
		out->damaged += !race_transfer_read(out, payload, c->bytes, c->pid);
		break;
	case RACE_CHUNK_ORIGIN:
		out->damaged += !race_origin_read(out, payload, c->bytes, c->pid);
		break;
	case RACE_CHUNK_LAUNCH:
		out->damaged += !race_launch_read(out, payload, c->bytes);
		break;
	case RACE_CHUNK_GAP:
		out->damaged += !race_gap_read(out, payload, c->bytes);
		break;
	case RACE_CHUNK_TRANSFERS:
		out->damaged += !race_transfer_counts_read(out, payload, c->bytes);
		break;
	case RACE_CHUNK_CHOICE: /* for the program */
	case RACE_CHUNK_MIRROR:
		break;
	default:
		out->damaged++;
		break;
	}
}

static void heap_read(struct reader *rd, const struct race_shm *head, bool is_last)
{
	if (rd->bytes <= RACE_SHM_HEAP)
		return;
	size_t end = rd->bytes - RACE_SHM_HEAP;
	const unsigned char *heap = rd->map + RACE_SHM_HEAP;

	if (end > head->heap_used)
		end = head->heap_used;
	for (size_t at = 0; at + sizeof(struct race_chunk) <= end;) {
		struct race_chunk c;
		memcpy(&c, heap + at, sizeof(c));
		/* A room of 0 was claimed but never filled in: what follows can't be found. */
		if (c.room < sizeof(c) || c.room % 16 || c.room > end - at ||
		    c.bytes > c.room - sizeof(c)) {
			rd->out->damaged += !is_last;
			return;
		}
		chunk_take(rd, &c, heap + at + sizeof(c), is_last);
		at += c.room;
	}
}

/* ---- records ------------------------------------------------------------------ */

static void inlined_fill(struct reader *rd, const struct race_sites *t, uint32_t frame,
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
static void site_fill(struct reader *rd, const struct race_record *rec, struct race_finding *f,
		      struct race_finding_site *fs)
{
	struct race_site s = {0};
	struct table *t;

	f->func = f->func_shown = f->file = f->module = f->target = fs->text = "";
	HASH_FIND(hh, rd->tables, &rec->table, sizeof(uint64_t), t);
	if (!t || !race_sites_get(&t->sites, rec->site, &s)) {
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

static void block_fill(struct reader *rd, const struct race_record *rec, uint32_t block[3])
{
	const uint32_t size[3] = {rec->grid_x, rec->grid_yz & 0xffff, rec->grid_yz >> 16};
	const uint32_t cluster[3] = {rec->cluster & 0xff, rec->cluster >> 8 & 0xff,
				     rec->cluster >> 16};
	struct race_site s = {0};
	struct table *t;

	memcpy(block, rec->block, sizeof(rec->block));
	HASH_FIND(hh, rd->tables, &rec->table, sizeof(uint64_t), t);
	if (!t || !race_sites_get(&t->sites, rec->site, &s))
		return;
	race_shuffle_block(s.flags & RACE_SITE_WAITS ? rec->order >> 8 : rec->order & 0xff,
			   &rd->keys, rec->grid, size, cluster, block);
}

static void first_fill(struct reader *rd, const struct race_record *rec, struct race_first *o)
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
	o->sm = race_is_watched(rec->kind) ? RACE_WATCH_SM(rec->sm) : rec->sm;
	o->is_generic = (rec->flags & RACE_REC_GENERIC) != 0;
}

static uint32_t site_flags(struct reader *rd, uint64_t table, uint32_t site)
{
	struct race_site s = {0};
	struct table *t;

	HASH_FIND(hh, rd->tables, &table, sizeof(uint64_t), t);
	return t && race_sites_get(&t->sites, site, &s) ? s.flags : 0;
}

static const struct race_region *region_at(const struct reader *rd, uint32_t i)
{
	size_t at = RACE_SHM_REGION0 + (size_t)i * sizeof(struct race_region);
	const struct race_region *r = (const void *)(rd->map + at);

	return at + sizeof(*r) <= rd->bytes && r->state != RACE_REGION_FREE ? r : NULL;
}

/* Of a context of the process; -1 is the host's. */
static int device_of(struct reader *rd, uint32_t pid, uint32_t context, int otherwise)
{
	for (uint32_t i = 0; i < RACE_REGIONS; i++) {
		const struct race_region *r = region_at(rd, i);
		if (r && r->pid == pid && r->context == context && r->device >= 0)
			return r->device;
	}
	return otherwise;
}

/* The earlier of two accesses, as far as its site is known. */
static void sides_fill(struct reader *rd, const struct race_record *rec,
		       const struct race_context *c, struct race_finding *f)
{
	struct race_finding none = {.kind = f->kind, .func = "", .func_shown = "", .file = ""};
	struct race_finding earlier = none;
	struct race_finding_site fs = {.table = rec->table, .text = ""};
	struct race_record at = *rec;
	uint32_t flags = 0, number = RACE_EARLIER_SITE(rec->now[0]);
	if (race_is_watched(rec->kind)) {
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
	if (race_is_watched(rec->kind) && number && !(rec->flags & RACE_REC_ONE_OWNER))
		f->sides[1].device =
			device_of(rd, c->pid, RACE_WATCH_HALF_RANK(rec->now[0]), c->device);
}

/* Host code that met a watchpoint of a kernel. Where an error has stopped a context, threads left
 * theirs behind, and host code may have come later. (The CPU device ends them with the error.) */
static void host_pair_take(struct reader *rd, const struct race_chunk *c,
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

/* The finding of this record, new or known. */
static struct race_finding *finding_get(struct reader *rd, const struct race_record *rec,
					const struct race_context *c)
{
	struct race_results *out = rd->out;
	struct finding_key key = {rec->table, rec->site, rec->kind, 0, 0, 0};
	struct finding_entry *e;

	/* One access may have been met by several. */
	if (race_is_watched(rec->kind)) {
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
	e = BASE_NEW(&rd->nodes, struct finding_entry);
	e->key = key;
	e->index = out->findings.n;
	HASH_ADD(hh, rd->known, key, sizeof(key), e);
	base_vec_push(&out->findings, f);
	return &out->findings.v[e->index];
}

static void record_take(struct reader *rd, const struct race_record *rec, uint64_t counted,
			const struct race_context *c)
{
	uint64_t count = rec->count > counted ? rec->count : counted;

	bool is_pair = rec->kind >= RACE_KIND_HISTORY && rec->kind < RACE_KIND_COUNT;
	if ((!is_pair && (rec->kind == RACE_KIND_NONE || rec->kind >= RACE_KIND_UNORDERED)) ||
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

/* ---- regions -------------------------------------------------------------------- */

/* Was the value of a speculated read used (record.h)? */
static bool is_used(const unsigned char *region, const struct race_record *rec)
{
	uint64_t key = race_slot_key(rec->table, rec->site, rec->kind), found;

	if (rec->kind != RACE_KIND_SPECULATED_READ)
		return false;
	memcpy(&found,
	       region + offsetof(struct race_region, used) + race_used_place(key) * sizeof(found),
	       sizeof(found));
	return found == key;
}

/* Where the exact count of a slot is. */
static const unsigned char *host_count(const unsigned char *at, size_t slot)
{
	return at + offsetof(struct race_region, counts) + slot * sizeof(uint64_t);
}

static const unsigned char *slot_count(const unsigned char *at, size_t slot)
{
	return at + offsetof(struct race_region, rt.slots) + slot * sizeof(struct race_slot) +
	       offsetof(struct race_slot, count);
}

/* The counters that the device keeps in the file itself. */
static void live_read(const unsigned char *at, struct race_region *head)
{
	const unsigned char *rt = at + offsetof(struct race_region, rt);
	struct race_rt now;
	uint64_t checked = 0;

	memcpy(&now, rt, offsetof(struct race_rt, slots));
	head->warp_checked = head->launches = 0;
	head->overflow = now.overflow;
	head->unboxed = now.unboxed;
	head->watches = 0;
	head->watch_busy = now.watch_busy;
	head->watch_lost = now.watch_lost;
	head->looks = now.looks;
	for (size_t i = 0; i < RACE_COUNTERS; i++) {
		checked += now.counters[i].checked;
		head->warp_checked += now.counters[i].warp;
		head->launches += now.counters[i].launches;
		head->watches += now.counters[i].watches;
	}
	/* Threads add their counts when they end; the head has those of the threads that had
	 * not. */
	if (head->checked < checked)
		head->checked = checked;
}

static void region_read(struct reader *rd, const unsigned char *at)
{
	struct race_region head;
	struct race_results *out = rd->out;

	/* Only the head: the arrays after it are half a megabyte and mostly untouched. */
	memcpy(&head, at, offsetof(struct race_region, counts));
	if (head.state == RACE_REGION_FREE)
		return;
	if (head.is_live)
		live_read(at, &head);
	struct race_context c = {.pid = head.pid, .context = head.context, .device = head.device};
	c.device_name = race_text(&out->arena, head.device_name, sizeof(head.device_name));
	race_context_add(out, &c);
	out->checked += head.checked;
	out->warp_checked += head.warp_checked;
	out->launches += head.launches;
	out->overflow += head.overflow;
	out->has_history |= head.has_history != 0;
	out->hirace_alone += head.hirace_alone;
	out->threads_aside += head.threads_aside;
	out->accesses_aside += head.accesses_aside;
	out->watches += head.watches;
	out->watch_busy += head.watch_busy;
	out->watch_lost += head.watch_lost;
	out->has_looks |= head.looks != 0;
	out->watches_alone |= head.watches_alone && head.watches;
	out->unboxed += head.unboxed;
	out->modules += head.modules;
	out->plain_modules += head.plain_modules;
	out->host_launches += head.host_launches;
	out->host_launches_plain += head.host_launches_plain;
	race_holds_add(&out->holds, &head.holds);
	out->is_inexact = out->is_inexact || head.exact != 1;
	if (!out->cuda_error)
		out->cuda_error = head.error;
	for (size_t i = 0; i < RACE_SLOTS; i++) {
		const unsigned char *p =
			at + offsetof(struct race_region, records) + i * sizeof(struct race_record);
		uint32_t valid;
		memcpy(&valid, p + offsetof(struct race_record, valid), sizeof(valid));
		if (valid != RACE_RECORD_VALID)
			continue;
		/* `valid` was written last; what it covers must not be read before it. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		struct race_record rec;
		uint64_t counted;
		memcpy(&rec, p, sizeof(rec));
		memcpy(&counted, head.is_live ? slot_count(at, i) : host_count(at, i), 8);
		if (is_used(at, &rec) || rec.flags & RACE_REC_USED_LATER)
			rec.flags |= RACE_REC_USED;
		record_take(rd, &rec, counted, &c);
	}
}

static void regions_read(struct reader *rd, const struct race_shm *head)
{
	uint32_t n = head->nregions;

	if (n > RACE_REGIONS) {
		rd->out->lost_contexts += n - RACE_REGIONS;
		n = RACE_REGIONS;
	}
	for (uint32_t i = 0; i < n; i++) {
		size_t at = RACE_SHM_REGION0 + (size_t)i * sizeof(struct race_region);
		if (at + sizeof(struct race_region) > rd->bytes) {
			rd->out->damaged++;
			return;
		}
		region_read(rd, rd->map + at);
	}
}

static void cover_read(struct reader *rd)
{
	const struct race_sites **list =
		BASE_NEWN(&rd->nodes, const struct race_sites *, HASH_COUNT(rd->tables) + 1);
	struct table *t, *next;
	size_t n = 0;

	HASH_ITER(hh, rd->tables, t, next)
	list[n++] = &t->sites;
	race_cover_read(rd->out, rd->map, rd->bytes, list, n);
}

int race_shm_read(const void *map, size_t bytes, struct race_results *out)
{
	struct reader rd = {.map = map, .bytes = bytes, .out = out};
	struct race_shm head;

	if (bytes < sizeof(head))
		return BASE_EXIT_INPUT;
	memcpy(&head, map, sizeof(head));
	if (head.magic != RACE_SHM_MAGIC || head.version != RACE_SHM_VERSION)
		return BASE_EXIT_INPUT;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	out->agent_state = (enum race_agent_state)head.agent_state;
	out->processes += head.nprocesses;
	out->failed_modules += head.failed_modules;
	out->patterns |= head.patterns;
	out->rdelay = head.rdelay;
	out->wdelay = head.wdelay;
	out->sample = head.sample;
	out->seed = head.seed;
	out->dense = head.dense;
	out->sites = head.sites == UINT32_MAX ? 0 : head.sites;
	out->runs++;
	rd.order = head.order;
	rd.keys = race_shuffle_keys(head.seed);
	heap_read(&rd, &head, false); /* tables first: records are explained by them */
	regions_read(&rd, &head);
	heap_read(&rd, &head, true);
	cover_read(&rd);
	race_origins_place(out);
	race_gaps_find(out);
	struct table *t, *next;
	HASH_ITER(hh, rd.tables, t, next)
	{
		race_sites_close(&t->sites);
		HASH_DEL(rd.tables, t);
	}
	HASH_CLEAR(hh, rd.known);
	base_arena_free(&rd.nodes);
	return 0;
}
