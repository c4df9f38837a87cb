/*
 * questions.c - what trials ask: memory, pages, places.
 *
 * A trial asks this process, which asks the program: so a trial that dies in the middle of a
 * question leaves the program's socket in order, and what one trial of a launch has asked for is
 * there for the next.
 *
 * While the program is asked, it may have other things to say first: launches; and modules, over
 * the other socket, by a thread for which the one that would answer waits.
 *
 * Costs: a page of 64 KiB is copied twice more than over one socket; other trials' questions wait
 * meanwhile.
 */
#include "judge/serve.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

/* The answer's head. False: the program is gone. */
static bool next_answer(struct judge_server *s, struct race_judge_message *msg)
{
	while (!s->is_gone) {
		struct pollfd p[2] = {{.fd = s->fd, .events = POLLIN},
				      {.fd = s->control, .events = POLLIN}};
		if (poll(p, 2, -1) < 0) {
			s->is_gone = errno != EINTR;
			continue;
		}
		if (p[1].revents)
			judge_serve_control(s);
		if (!p[0].revents)
			continue;
		s->is_gone = !race_judge_next(s->fd, msg);
		if (!s->is_gone && msg->op == RACE_JUDGE_ANSWER)
			return true;
		s->is_gone = s->is_gone || !judge_serve_message(s, msg);
	}
	return false;
}

/* Asks the program; the answer has exactly n bytes, or there is none. */
static bool ask(struct judge_server *s, const struct judge_launch *l, enum race_judge_op op,
		const struct base_buf *question, void *to, size_t n)
{
	struct race_judge_message msg;

	s->is_gone = s->is_gone ||
		     !race_judge_send(s->fd, op, l->head.number, question->p, question->n, NULL, 0);
	if (!next_answer(s, &msg))
		return false;
	if (msg.bytes != n || msg.launch != l->head.number) {
		s->is_gone = !race_judge_skip(s->fd, msg.bytes);
		return false;
	}
	s->is_gone = !race_judge_read(s->fd, to, n);
	return !s->is_gone;
}

static bool answer(const struct judge_launch *l, const void *p, size_t n)
{
	return race_judge_send(l->fd, RACE_JUDGE_ANSWER, 0, p, n, NULL, 0);
}

static void keep_memory(struct judge_launch *l, const struct race_judge_memory *m)
{
	struct cpu_mem_info info = {
		.base = m->base, .bytes = m->bytes, .kind = (enum cpu_mem_kind)(m->kind - 1)};

	base_vec_push(&l->capsule.memory, info);
}

/* Memory that was allocated after the launch may lie where the launch's own was: it is none of the
 * launch's. */
static bool is_later(const struct judge_launch *l, const struct race_judge_memory *m)
{
	for (size_t i = 0; i < l->capsule.memory.n; i++) {
		const struct cpu_mem_info *k = &l->capsule.memory.v[i];
		if (m->base < k->base + k->bytes && k->base < m->base + m->bytes)
			return true;
	}
	return false;
}

static bool answer_memory(struct judge_server *s, struct judge_launch *l, const struct base_buf *q)
{
	struct race_judge_memory m = {0};
	uint64_t addr;

	if (q->n != sizeof(addr))
		return false;
	memcpy(&addr, q->p, sizeof(addr));
	for (size_t i = 0; i < l->capsule.memory.n; i++) {
		const struct cpu_mem_info *k = &l->capsule.memory.v[i];
		if (addr - k->base < k->bytes)
			m = (struct race_judge_memory){k->base, k->bytes, k->kind + 1u, 0};
	}
	if (!m.kind && ask(s, l, RACE_JUDGE_ASK_MEMORY, q, &m, sizeof(m)) && m.kind) {
		if (is_later(l, &m))
			m.bytes = 0;
		if (m.bytes)
			keep_memory(l, &m);
	}
	return answer(l, &m, sizeof(m));
}

/* Our maps for the program's in what it has answered, also where a map lies in two pages: these may
 * be of different ages, but a map that was changed isn't found. */
static void put_maps(struct judge_server *s, struct judge_launch *l, enum race_judge_op op,
		     const struct race_judge_range *r, uint8_t *data)
{
	judge_maps_put(s->maps, r->addr, data, r->bytes);
	for (unsigned at_end = 0; at_end < 2; at_end++) {
		uint8_t other[RACE_JUDGE_MAP_ALIGN];
		struct race_judge_range beside = {
			at_end ? r->addr + r->bytes : r->addr - sizeof(other), sizeof(other)};
		struct base_buf q = {.p = (char *)&beside, .n = sizeof(beside)};
		if (beside.addr % sizeof(other) ||
		    !judge_maps_is_cut(s->maps, data, r->bytes, at_end))
			continue;
		l->asked++;
		l->asked_bytes += sizeof(other);
		if (ask(s, l, op, &q, other, sizeof(other)))
			judge_maps_join(s->maps, data, r->bytes, at_end, other);
	}
}

static bool answer_page(struct judge_server *s, struct judge_launch *l, const struct base_buf *q)
{
	struct race_judge_range r;
	struct judge_kept_page *k;

	if (q->n != sizeof(r))
		return false;
	memcpy(&r, q->p, sizeof(r));
	if (!r.bytes || r.bytes > RACE_JUDGE_PAGE)
		return false;
	HASH_FIND(hh, l->pages, &r.addr, sizeof(r.addr), k);
	if (!k || k->page.bytes != r.bytes) {
		uint8_t *data = base_alloc(&l->capsule.arena, r.bytes);
		l->asked++;
		l->asked_bytes += r.bytes;
		if (k || !ask(s, l, RACE_JUDGE_ASK_PAGE, q, data, r.bytes))
			return answer(l, NULL, 0);
		put_maps(s, l, RACE_JUDGE_ASK_PAGE, &r, data);
		k = BASE_NEW(&l->capsule.arena, struct judge_kept_page);
		k->addr = r.addr;
		k->page = (struct judge_page){r.addr, (uint32_t)r.bytes, data};
		HASH_ADD(hh, l->pages, addr, sizeof(k->addr), k);
	}
	return answer(l, k->page.data, k->page.bytes);
}

/* It isn't kept: each trial compares once. */
static bool answer_after(struct judge_server *s, struct judge_launch *l, const struct base_buf *q)
{
	struct race_judge_range r;

	if (q->n != sizeof(r))
		return false;
	memcpy(&r, q->p, sizeof(r));
	if (!r.bytes || r.bytes > RACE_JUDGE_PAGE)
		return false;
	uint8_t *data = base_calloc(r.bytes, 1);
	bool is_there = ask(s, l, RACE_JUDGE_ASK_AFTER, q, data, r.bytes);
	if (is_there)
		put_maps(s, l, RACE_JUDGE_ASK_AFTER, &r, data);
	bool is_sent = answer(l, data, is_there ? r.bytes : 0);
	free(data);
	return is_sent;
}

static const struct judge_place *place_of(const struct judge_launch *l, const char *name,
					  const struct race_judge_symbol *x)
{
	for (size_t i = 0; i < l->capsule.places.n; i++) {
		const struct judge_place *p = &l->capsule.places.v[i];
		if (p->nth == x->nth && p->bytes == x->bytes && !strcmp(p->name, name))
			return p;
	}
	return NULL;
}

static bool answer_place(struct judge_server *s, struct judge_launch *l, struct base_buf *q)
{
	struct race_judge_symbol x;
	uint64_t addr = 0;

	if (q->n <= sizeof(x))
		return false;
	memcpy(&x, q->p, sizeof(x));
	x.module = l->head.module;
	memcpy(q->p, &x, sizeof(x));
	const char *name = base_strndup(&l->capsule.arena, q->p + sizeof(x), q->n - sizeof(x));
	const struct judge_place *known = place_of(l, name, &x);
	if (known)
		addr = known->addr;
	else if (!ask(s, l, RACE_JUDGE_ASK_PLACE, q, &addr, sizeof(addr)))
		addr = 0;
	if (!known && addr)
		base_vec_push(&l->capsule.places,
			      ((struct judge_place){0, x.nth, name, addr, x.bytes}));
	return answer(l, &addr, sizeof(addr));
}

bool judge_answer(struct judge_server *s, struct judge_launch *l, uint32_t op, struct base_buf *q)
{
	switch (op) {
	case RACE_JUDGE_ASK_MEMORY:
		return answer_memory(s, l, q);
	case RACE_JUDGE_ASK_PAGE:
		return answer_page(s, l, q);
	case RACE_JUDGE_ASK_AFTER:
		return answer_after(s, l, q);
	case RACE_JUDGE_ASK_PLACE:
		return answer_place(s, l, q);
	default:
		return false;
	}
}
