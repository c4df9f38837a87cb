/*
 * shm_read.c - reads the file that the agent left, in whatever state it was left.
 *
 * The program may have been killed at any instruction, and its stray stores can have hit the
 * mapping. Therefore sizes are clamped to the bytes there are; a record counts once its `valid`
 * word is set, a chunk once its size is; both are copied before they are examined, and
 * inconsistent ones are counted as damaged. What a record becomes: shm_record.c.
 */
#include "race/file/process.h"
#include "race/file/reader.h"
#include "race/file/shm_write.h"
#include "race/site/replay.h"
#include "race/site/sample.h"

#include <stdlib.h>
#include <string.h>

/* ---- heap chunks ------------------------------------------------------------ */

static const char *text_copy(struct race_reader *rd, const char *s)
{
	return race_text(&rd->out->arena, s, strlen(s));
}

/* Which kernels were not shuffled: noted only if shuffling was requested. */
static void order_note(struct race_reader *rd, const char *func, unsigned why)
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
static void together_note(struct race_reader *rd, const char *func)
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

static void skips_take(struct race_reader *rd, const struct race_sites *t)
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

static void chunk_take_sites(struct race_reader *rd, const struct race_chunk *c,
			     const unsigned char *payload)
{
	struct race_sites sites;
	struct race_reader_table *t;

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
	t = BASE_NEW(&rd->nodes, struct race_reader_table);
	t->hash = sites.h.hash;
	t->sites = sites;
	HASH_ADD(hh, rd->tables, hash, sizeof(uint64_t), t);
	rd->out->tables++;
	skips_take(rd, &sites);
}

static void chunk_take_kernel(struct race_reader *rd, const struct race_chunk *c,
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
				  .cut_of = k.cut_of,
				  .proven = k.proven,
				  .left = k.left,
				  .sampled = k.sampled};
	out.name =
		race_text(&rd->out->arena, (const char *)payload + sizeof(k), c->bytes - sizeof(k));
	out.name_shown = race_demangle(&rd->out->arena, out.name);
	race_kernel_add(rd->out, &out);
}

static uint32_t only_process; /* 0: all */

void race_process_only(uint32_t pid)
{
	only_process = pid;
}

static bool is_other_process(uint32_t pid)
{
	return only_process && pid != only_process;
}

/* One chunk; those of the host's copies, and pairs of host code and kernels, are read in a second
 * pass (`is_last`), when contexts and tables are known. */
static void chunk_take(struct race_reader *rd, const struct race_chunk *c,
		       const unsigned char *payload, bool is_last)
{
	static const char published[] = "--hirace=published: the machine of HiRace's authors as it "
					"was; its data races include its false alarms";
	struct race_results *out = rd->out;

	if (is_other_process(c->pid) && c->kind != RACE_CHUNK_SITES)
		return;
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
	case RACE_CHUNK_BESIDE:
		out->damaged += !race_beside_read(out, payload, c->bytes);
		break;
	case RACE_CHUNK_BESIDE_KERNEL:
		out->damaged += !race_beside_kernel_read(out, payload, c->bytes);
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
			race_reader_host_pair(rd, c, payload);
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

static void heap_read(struct race_reader *rd, const struct race_shm *head, bool is_last)
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

static void region_read(struct race_reader *rd, const unsigned char *at)
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
	out->no_causes += head.no_causes;
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
		race_reader_record(rd, &rec, counted, &c);
	}
}

static void regions_read(struct race_reader *rd, const struct race_shm *head)
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
		/* (The text of a file that was read may lie at any address.) */
		uint32_t pid;
		memcpy(&pid, rd->map + at + offsetof(struct race_region, pid), sizeof(pid));
		if (!is_other_process(pid))
			region_read(rd, rd->map + at);
	}
}

static void cover_read(struct race_reader *rd)
{
	const struct race_sites **list =
		BASE_NEWN(&rd->nodes, const struct race_sites *, HASH_COUNT(rd->tables) + 1);
	struct race_reader_table *t, *next;
	size_t n = 0;

	HASH_ITER(hh, rd->tables, t, next)
	list[n++] = &t->sites;
	race_cover_read(rd->out, rd->map, rd->bytes, list, n);
}

int race_shm_read(const void *map, size_t bytes, struct race_results *out)
{
	struct race_reader rd = {.map = map, .bytes = bytes, .out = out};
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
	out->ranges |= head.choice.ranges;
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
	struct race_reader_table *t, *next;
	HASH_ITER(hh, rd.tables, t, next)
	{
		race_sites_close(&t->sites);
		HASH_DEL(rd.tables, t);
	}
	HASH_CLEAR(hh, rd.known);
	base_arena_free(&rd.nodes);
	return 0;
}
