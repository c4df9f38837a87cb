/*
 * wire.c - one kernel's result as bytes, from the child process that found it (pairs.h).
 *
 * Strings have their length in front. Both ends are one program, so layouts need no version; a
 * child that dies in between leaves bytes that are cut off, which the reader notices.
 */
#include "prove/pairs.h"

#include <string.h>

static void put_text(struct base_buf *b, const char *s)
{
	uint32_t n = (uint32_t)strlen(s);

	base_buf_put(b, &n, sizeof(n));
	base_buf_put(b, s, n);
}

void wire_write(const struct prove_kernel *k, struct base_buf *out)
{
	uint64_t head[6] = {k->verdict,	   k->alarms.n, k->problems.n,
			    k->contract.n, k->ms,	k->free_dims};

	base_buf_put(out, head, sizeof(head));
	base_buf_put(out, &k->counts, sizeof(k->counts));
	put_text(out, k->name);
	put_text(out, k->name_shown);
	for (size_t i = 0; i < k->alarms.n; i++) {
		const struct prove_alarm *a = &k->alarms.v[i];
		base_buf_put(out, a, sizeof(*a));
		put_text(out, a->object);
		put_text(out, a->reason ? a->reason : "");
		for (unsigned s = 0; s < 2; s++) {
			put_text(out, a->side[s].file);
			put_text(out, a->side[s].text);
		}
	}
	for (size_t i = 0; i < k->problems.n; i++) {
		base_buf_put(out, &k->problems.v[i], sizeof(k->problems.v[i]));
		put_text(out, k->problems.v[i].text);
		put_text(out, k->problems.v[i].file);
	}
	for (size_t i = 0; i < k->contract.n; i++)
		put_text(out, k->contract.v[i]);
}

struct reader {
	struct base_arena *arena;
	const char *p;
	size_t n;
	bool is_short;
};

static void take(struct reader *r, void *to, size_t n)
{
	if (r->is_short || r->n < n) {
		r->is_short = true;
		memset(to, 0, n);
		return;
	}
	memcpy(to, r->p, n);
	r->p += n;
	r->n -= n;
}

static const char *take_text(struct reader *r)
{
	uint32_t n;

	take(r, &n, sizeof(n));
	if (r->is_short || r->n < n) {
		r->is_short = true;
		return "";
	}
	const char *s = base_strndup(r->arena, r->p, n);
	r->p += n;
	r->n -= n;
	return s;
}

bool wire_read(struct base_arena *arena, const char *p, size_t n, struct prove_kernel *k)
{
	struct reader r = {arena, p, n, false};
	uint64_t head[6];

	memset(k, 0, sizeof(*k));
	take(&r, head, sizeof(head));
	take(&r, &k->counts, sizeof(k->counts));
	k->verdict = (enum prove_verdict)head[0];
	k->ms = head[4];
	k->free_dims = (uint8_t)head[5];
	k->name = take_text(&r);
	k->name_shown = take_text(&r);
	for (uint64_t i = 0; i < head[1] && !r.is_short; i++) {
		struct prove_alarm a;
		take(&r, &a, sizeof(a));
		a.object = take_text(&r);
		a.reason = take_text(&r);
		for (unsigned s = 0; s < 2; s++) {
			a.side[s].file = take_text(&r);
			a.side[s].text = take_text(&r);
		}
		base_vec_push(&k->alarms, a);
	}
	for (uint64_t i = 0; i < head[2] && !r.is_short; i++) {
		struct prove_problem q;
		take(&r, &q, sizeof(q));
		q.text = take_text(&r);
		q.file = take_text(&r);
		base_vec_push(&k->problems, q);
	}
	for (uint64_t i = 0; i < head[3] && !r.is_short; i++) {
		const char *s = take_text(&r);
		base_vec_push(&k->contract, s);
	}
	return !r.is_short;
}
