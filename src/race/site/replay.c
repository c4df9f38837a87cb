/*
 * replay.c - places and addresses of an earlier report, for detector watch (layout/replay.h).
 *
 * Both ends are here: the launcher's, which makes the chunk and reads what became of it, and that
 * of the program, which compares the places with the sites of each module that is loaded. Misses:
 * sites and addresses beyond the room of a block, which are counted; an address of shared memory is
 * not of one block, so only its sites are watched. Costs: a comparison of each site with each place
 * when a module is loaded.
 */
#include <pthread.h>
#include <string.h>

#include "race/site/replay.h"
#include "race/file/shm_write.h"

/* Generic addresses below are offsets in a block's window. */
#define WINDOW (16ull << 20)

/* ---- the launcher ---------------------------------------------------------------------------- */

struct making {
	BASE_VEC(struct race_replay_place) places;
	BASE_VEC(struct race_watch_range) ranges;
	struct base_buf text;
};

static uint32_t add_text(struct making *m, const char *text)
{
	size_t at = m->text.n;

	base_buf_put(&m->text, text, strlen(text) + 1);
	return (uint32_t)at;
}

static void add_place(struct making *m, const char *func, const char *file, uint32_t line,
		      uint32_t ptx_line)
{
	if (!*func || (!line && !ptx_line))
		return;
	for (size_t i = 0; i < m->places.n; i++) {
		const struct race_replay_place *p = &m->places.v[i];
		if (p->line == line && (line || p->ptx_line == ptx_line) &&
		    strcmp(m->text.p + p->func, func) == 0 &&
		    strcmp(m->text.p + p->file, file) == 0)
			return;
	}
	struct race_replay_place p = {.func = add_text(m, func),
				      .file = add_text(m, file),
				      .line = line,
				      .ptx_line = ptx_line};
	base_vec_push(&m->places, p);
}

static void add_range(struct making *m, enum race_space space, uint64_t at, uint32_t bytes)
{
	struct race_watch_range r = {at, bytes ? bytes : 1};

	if (at < WINDOW || (space != RACE_SPACE_GLOBAL && space != RACE_SPACE_GENERIC))
		return;
	for (size_t i = 0; i < m->ranges.n; i++)
		if (m->ranges.v[i].at == r.at && m->ranges.v[i].bytes == r.bytes)
			return;
	base_vec_push(&m->ranges, r);
}

static bool is_on_gpu(const struct race_finding *f)
{
	return !f->transfer && f->access != RACE_ACCESS_TRANSFER &&
	       f->space != RACE_SPACE_MANAGED && f->space != RACE_SPACE_PINNED &&
	       f->space != RACE_SPACE_SYSTEM;
}

static void add_finding(struct making *m, const struct race_finding *f)
{
	for (unsigned i = 0; f->sides && i < 2; i++) {
		const struct race_side *s = &f->sides[i];
		if (s->flags & RACE_SIDE_HOST)
			continue;
		add_place(m, s->func, s->file, s->line, s->ptx_line);
		add_range(m, s->space, s->address, s->bytes);
	}
	if (!is_on_gpu(f))
		return;
	for (size_t i = 0; i < f->nsites; i++) {
		add_place(m, f->func, f->file, f->line, f->sites[i].ptx_line);
		for (size_t j = 0; j < f->nfunctions; j++)
			add_place(m, f->functions[j], f->file, f->line, f->sites[i].ptx_line);
	}
	add_range(m, f->space, f->first.address, f->first.width);
}

bool race_replay_make(struct base_buf *out, const struct race_results *r)
{
	struct making m = {0};
	struct race_replay head = {0};

	for (size_t i = 0; i < r->findings.n; i++)
		add_finding(&m, &r->findings.v[i]);
	head.nplaces = (uint32_t)m.places.n;
	head.lost = m.ranges.n > RACE_WATCH_RANGES ? (uint32_t)m.ranges.n - RACE_WATCH_RANGES : 0;
	m.ranges.n -= head.lost;
	head.nranges = (uint32_t)m.ranges.n;
	uint32_t text = (uint32_t)(sizeof(head) + m.ranges.n * sizeof(*m.ranges.v) +
				   m.places.n * sizeof(*m.places.v));
	for (size_t i = 0; i < m.places.n; i++) {
		m.places.v[i].func += text;
		m.places.v[i].file += text;
	}
	base_buf_put(out, (const char *)&head, sizeof(head));
	if (m.ranges.n)
		base_buf_put(out, (const char *)m.ranges.v, m.ranges.n * sizeof(*m.ranges.v));
	if (m.places.n) {
		base_buf_put(out, (const char *)m.places.v, m.places.n * sizeof(*m.places.v));
		base_buf_put(out, m.text.p, m.text.n);
	}
	base_vec_free(&m.places);
	base_vec_free(&m.ranges);
	base_buf_free(&m.text);
	return head.nplaces != 0;
}

/* Is all of the chunk within its bytes? Strings may be read then. */
static bool is_whole(const char *chunk, size_t n, const struct race_replay *head)
{
	struct race_replay_place p;
	uint64_t at, text;

	if (n < sizeof(*head) || chunk[n - 1])
		return false;
	at = sizeof(*head) + (uint64_t)head->nranges * sizeof(struct race_watch_range);
	text = at + (uint64_t)head->nplaces * sizeof(p);
	if (text >= n)
		return false;
	for (uint32_t i = 0; i < head->nplaces; i++) {
		memcpy(&p, chunk + at + i * sizeof(p), sizeof(p));
		if (p.func < text || p.func >= n || p.file < text || p.file >= n)
			return false;
	}
	return true;
}

bool race_replay_note(struct race_results *out, const void *payload, size_t n)
{
	struct race_replay head;
	struct race_replay_place p;
	const char *chunk = payload;
	struct base_buf b = {0};
	uint32_t found = 0;

	if (n < sizeof(head))
		return false;
	memcpy(&head, chunk, sizeof(head));
	if (!is_whole(chunk, n, &head))
		return false;
	const char *places = chunk + sizeof(head) + head.nranges * sizeof(struct race_watch_range);
	for (uint32_t i = 0; i < head.nplaces; i++) {
		memcpy(&p, places + i * sizeof(p), sizeof(p));
		found += p.is_found != 0;
	}
	base_buf_printf(&b,
			"--replay: watchpoints only at %u of the report's %u place%s, which this "
			"program has, and at %u address%s",
			found, head.nplaces, head.nplaces == 1 ? "" : "s", head.nranges,
			head.nranges == 1 ? "" : "es");
	if (head.lost)
		base_buf_printf(&b, "; NOT watched for lack of room: %u more", head.lost);
	race_note_add(out, b.p, b.n);
	base_buf_free(&b);
	return true;
}

/* ---- the program ----------------------------------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t keys[RACE_WATCH_KEYS]; /* in ascending order */
static uint32_t nkeys;

/* The chunk, if there is one and it is whole. */
static struct race_replay *the_chunk(void)
{
	size_t n = 0;
	struct race_replay *r = race_shm_find(RACE_CHUNK_REPLAY, 0, &n);

	return r && n >= sizeof(*r) && is_whole((const char *)r, n, r) ? r : NULL;
}

static void add_key(struct race_replay *chunk, uint64_t key)
{
	uint32_t i = nkeys;

	for (uint32_t j = 0; j < nkeys; j++)
		if (keys[j] == key)
			return;
	if (nkeys == RACE_WATCH_KEYS) {
		__atomic_fetch_add(&chunk->lost, 1, __ATOMIC_RELAXED);
		return;
	}
	for (; i && keys[i - 1] > key; i--)
		keys[i] = keys[i - 1];
	keys[i] = key;
	nkeys++;
}

static bool is_there(const struct race_replay *chunk, const struct race_replay_place *p,
		     const struct race_sites *t, const struct race_site *s)
{
	const char *text = (const char *)chunk;

	if (p->line ? p->line != s->line : p->ptx_line != s->ptx_line)
		return false;
	return strcmp(text + p->func, race_sites_text(t, s->func)) == 0 &&
	       (!p->line || strcmp(text + p->file, race_sites_text(t, s->file)) == 0);
}

void race_replay_sites(const struct race_sites *t)
{
	struct race_replay *chunk = the_chunk();
	struct race_replay_place *places;
	struct race_site s;

	if (!chunk)
		return;
	places = (struct race_replay_place *)(void *)((char *)(chunk + 1) +
						      chunk->nranges *
							      sizeof(struct race_watch_range));
	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; race_sites_get(t, i, &s); i++) {
		for (uint32_t j = 0; j < chunk->nplaces; j++) {
			if (!is_there(chunk, &places[j], t, &s))
				continue;
			places[j].is_found = 1;
			add_key(chunk, race_slot_key(t->h.hash, i, RACE_KIND_NONE));
		}
	}
	pthread_mutex_unlock(&lock);
}

bool race_replay_fill(struct race_watch *w)
{
	const struct race_replay *chunk = the_chunk();

	if (!chunk)
		return false;
	const struct race_watch_range *ranges = (const struct race_watch_range *)(chunk + 1);
	pthread_mutex_lock(&lock);
	memcpy(w->keys, keys, nkeys * sizeof(*keys));
	w->nkeys = nkeys;
	pthread_mutex_unlock(&lock);
	w->nranges = chunk->nranges < RACE_WATCH_RANGES ? chunk->nranges : RACE_WATCH_RANGES;
	memcpy(w->ranges, ranges, w->nranges * sizeof(*ranges));
	w->knobs.flags |= RACE_KNOB_REPLAY;
	return true;
}
