/*
 * serve.c - a process beside a program: its launches, judged one after the other.
 *
 * The program's half hands over modules and launches and answers questions about memory (wire.h).
 * Each trial is a child, which asks this process, which asks the program: so a trial that dies in
 * the middle of a question leaves the program's socket in order, and what one trial has asked for
 * is there for the next. Which trials there are is race/judge/choice.c's to decide.
 *
 * Modules come over a socket of their own, so that a program needn't wait for a trial's end.
 *
 * Misses: static variables of one name in several objects (-rdc), which the program's half can't
 * distinguish.
 * Costs: a fork for each trial; a page of 64 KiB is copied twice more than over one socket.
 */
#include "base/table.h"
#include "judge/live.h"
#include "race/judge/choice.h"
#include "race/judge/wire.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GRACE_MS 2000 /* from a trial's limit to the end of its child */

struct module {
	uint64_t id;
	struct judge_image image;
	UT_hash_handle hh;
};

struct kept_page {
	uint64_t addr;
	struct judge_page page;
	UT_hash_handle hh;
};

/* One launch, with what its trials have asked for. */
struct launch {
	struct race_judge_launch head;
	struct judge_capsule capsule;
	struct kept_page *pages;
	struct race_judge_question q;
	uint64_t asked, asked_bytes;
	uint64_t accesses; /* that were judged */
};

struct server {
	int fd, control; /* control: modules; -1: there is none */
	uint64_t judged; /* launches */
	struct judge_tally *tally;
	BASE_VEC(uint64_t) held;
	const struct judge_serve *opt;
	struct module *modules;
	bool is_gone; /* the program's half */
	unsigned files;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void serve_control(struct server *s);

/* ---- questions ---------------------------------------------------------------------- */

/* Asks the program; the answer has exactly n bytes, or there is none. */
static bool ask(struct server *s, enum race_judge_op op, const struct base_buf *question, void *to,
		size_t n)
{
	struct race_judge_message msg;

	if (s->is_gone || !race_judge_send(s->fd, op, question->p, question->n, NULL, 0) ||
	    !race_judge_next(s->fd, &msg) || msg.op != RACE_JUDGE_ANSWER) {
		s->is_gone = true;
		return false;
	}
	if (msg.bytes != n) {
		s->is_gone = !race_judge_skip(s->fd, msg.bytes);
		return false;
	}
	s->is_gone = !race_judge_read(s->fd, to, n);
	return !s->is_gone;
}

static void keep_memory(struct launch *l, const struct race_judge_memory *m)
{
	struct cpu_mem_info info = {
		.base = m->base, .bytes = m->bytes, .kind = (enum cpu_mem_kind)(m->kind - 1)};

	base_vec_push(&l->capsule.memory, info);
}

static bool answer_memory(struct server *s, struct launch *l, const struct base_buf *q, int fd)
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
	if (!m.kind && ask(s, RACE_JUDGE_ASK_MEMORY, q, &m, sizeof(m)) && m.kind)
		keep_memory(l, &m);
	return race_judge_send(fd, RACE_JUDGE_ANSWER, &m, sizeof(m), NULL, 0);
}

static bool answer_page(struct server *s, struct launch *l, const struct base_buf *q, int fd)
{
	struct race_judge_range r;
	struct kept_page *k;

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
		if (k || !ask(s, RACE_JUDGE_ASK_PAGE, q, data, r.bytes))
			return race_judge_send(fd, RACE_JUDGE_ANSWER, NULL, 0, NULL, 0);
		k = BASE_NEW(&l->capsule.arena, struct kept_page);
		k->addr = r.addr;
		k->page = (struct judge_page){r.addr, (uint32_t)r.bytes, data};
		HASH_ADD(hh, l->pages, addr, sizeof(k->addr), k);
	}
	return race_judge_send(fd, RACE_JUDGE_ANSWER, k->page.data, k->page.bytes, NULL, 0);
}

static const struct judge_place *place_of(const struct launch *l, const char *name,
					  const struct race_judge_symbol *x)
{
	for (size_t i = 0; i < l->capsule.places.n; i++) {
		const struct judge_place *p = &l->capsule.places.v[i];
		if (p->nth == x->nth && p->bytes == x->bytes && !strcmp(p->name, name))
			return p;
	}
	return NULL;
}

static bool answer_place(struct server *s, struct launch *l, struct base_buf *q, int fd)
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
	else if (!ask(s, RACE_JUDGE_ASK_PLACE, q, &addr, sizeof(addr)))
		addr = 0;
	if (!known && addr)
		base_vec_push(&l->capsule.places,
			      ((struct judge_place){0, x.nth, name, addr, x.bytes}));
	return race_judge_send(fd, RACE_JUDGE_ANSWER, &addr, sizeof(addr), NULL, 0);
}

/* ---- a trial -------------------------------------------------------------------------- */

static _Noreturn void child(const struct judge_trial *trial, int fd)
{
	struct judge_source live = judge_live_source(&fd);
	struct judge_trial t = *trial;
	struct judge_outcome o;

	t.live = &live;
	judge_execute(&t, judge_write_pair, &t, &o);
	_exit(race_judge_send(fd, RACE_JUDGE_DONE, &o, sizeof(o), NULL, 0) ? 0 : 1);
}

/* What a trial says next; false: it has ended, or died. */
static bool serve_one(struct server *s, struct launch *l, int fd, struct judge_outcome *out,
		      bool *is_done)
{
	struct race_judge_message msg;
	struct base_buf q = {0};
	bool goes_on = false;

	if (!race_judge_next(fd, &msg) || msg.bytes > RACE_JUDGE_PAGE)
		return false;
	base_buf_room(&q, msg.bytes + 1u);
	q.n = msg.bytes;
	if (!race_judge_read(fd, q.p, q.n)) {
		base_buf_free(&q);
		return false;
	}
	switch (msg.op) {
	case RACE_JUDGE_ASK_MEMORY:
		goes_on = answer_memory(s, l, &q, fd);
		break;
	case RACE_JUDGE_ASK_PAGE:
		goes_on = answer_page(s, l, &q, fd);
		break;
	case RACE_JUDGE_ASK_PLACE:
		goes_on = answer_place(s, l, &q, fd);
		break;
	case RACE_JUDGE_DONE:
		*is_done = q.n == sizeof(*out);
		if (*is_done)
			memcpy(out, q.p, sizeof(*out));
		break;
	default:
		break;
	}
	base_buf_free(&q);
	return goes_on;
}

static void say_died(struct judge_outcome *o, bool is_late, int status)
{
	*o = (struct judge_outcome){.end = is_late ? JUDGE_LATE : JUDGE_DIED};
	if (is_late)
		snprintf(o->why, sizeof(o->why), "the time was over");
	else
		snprintf(o->why, sizeof(o->why), "the process that judged it was killed by %s",
			 WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "itself");
}

static void try(struct server *s, struct launch *l, const struct judge_trial *t,
		struct judge_outcome *o)
{
	uint64_t until = now_ns() / 1000000 + t->limit_ms + GRACE_MS;
	bool is_done = false, is_late = false;
	int fd[2], status = 0;

	*o = (struct judge_outcome){.end = JUDGE_DIED};
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd)) {
		snprintf(o->why, sizeof(o->why), "no socket: %s", strerror(errno));
		return;
	}
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		close(fd[0]);
		close(s->fd);
		if (s->control >= 0)
			close(s->control);
		child(t, fd[1]);
	}
	close(fd[1]);
	while (pid > 0) {
		struct pollfd p[3] = {{.fd = fd[0], .events = POLLIN},
				      {.fd = s->control, .events = POLLIN},
				      {.fd = s->fd}}; /* has its other end gone? */
		uint64_t now = now_ns() / 1000000;
		is_late = now >= until;
		int got = is_late ? 0 : poll(p, 3, (int)(until - now));
		if (got > 0 && p[1].revents)
			serve_control(s);
		s->is_gone |= got > 0 && p[2].revents;
		if (is_late || s->is_gone ||
		    (got > 0 && p[0].revents && !serve_one(s, l, fd[0], o, &is_done)) ||
		    (got < 0 && errno != EINTR))
			break;
	}
	close(fd[0]);
	if (pid > 0 && !is_done)
		kill(pid, is_late ? SIGKILL : SIGTERM);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (!is_done || o->end >= JUDGE_ENDS)
		say_died(o, is_late, status);
}

/* ---- a launch --------------------------------------------------------------------------- */

static bool is_early(enum judge_end end)
{
	return end != JUDGE_WHOLE && end != JUDGE_WAITS;
}

static uint64_t units_of(const struct race_judge_launch *h, uint32_t *unit_blocks)
{
	uint64_t n = 1;

	*unit_blocks = 1;
	for (unsigned i = 0; i < 3; i++) {
		uint32_t each = h->cluster[0] && h->cluster[i] ? h->cluster[i] : 1;
		n *= h->grid[i] / each;
		*unit_blocks *= each;
	}
	return n ? n : 1;
}

/* All trials of the launch; how the last one ended, and why no other follows. */
static enum race_judge_why judge(struct server *s, struct launch *l, struct judge_outcome *o,
				 struct race_judge_done *done)
{
	struct judge_trial t = {.capsule = &l->capsule, .name = "", .oracle = s->opt->oracle};
	struct race_judge_question *q = &l->q;

	q->units = units_of(&l->head, &q->unit_blocks);
	q->earlier = l->head.earlier;
	q->is_proven = (l->head.flags & RACE_JUDGE_IS_PROVEN) != 0;
	q->spent_ns = l->head.spent_ns;
	q->program_ns = l->head.program_ns;
	for (;;) {
		struct race_judge_decision d = race_judge_decide(s->opt->policy, q);
		if (d.why != RACE_JUDGE_TRY || s->is_gone)
			return d.why;
		uint64_t start = now_ns();
		t.seed = l->head.seed + d.seed;
		t.blocks = d.units * q->unit_blocks;
		t.limit_ms = d.limit_ns / 1000000 + 1;
		try(s, l, &t, o);
		l->accesses += o->oracle.accesses;
		q->last_ns = now_ns() - start;
		q->last_seeds = d.units == q->last_units ? q->last_seeds + 1 : 1;
		q->last_units = d.units;
		q->last_waits = o->end == JUDGE_WAITS;
		q->last_failed = is_early(o->end);
		q->launch_ns += q->last_ns;
		q->spent_ns += q->last_ns;
		q->trials++;
		*done = (struct race_judge_done){.blocks = o->blocks,
						 .of = o->of,
						 .ns = q->launch_ns,
						 .trials = q->trials,
						 .end = o->end,
						 .is_unknown = o->end == JUDGE_UNKNOWN};
	}
}

static int by_address(const void *a, const void *b)
{
	const struct judge_page *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static int by_base(const void *a, const void *b)
{
	const struct cpu_mem_info *x = a, *y = b;

	return x->base < y->base ? -1 : x->base > y->base;
}

/* What was asked for is what a capsule holds. */
static void keep(struct server *s, struct launch *l)
{
	struct judge_capsule *c = &l->capsule;
	struct kept_page *k, *next;

	HASH_ITER(hh, l->pages, k, next)
	{
		HASH_DEL(l->pages, k);
		if (s->opt->folder)
			base_vec_push(&c->pages, k->page);
	}
	if (!s->opt->folder || !c->memory.n)
		return;
	if (c->pages.n)
		qsort(c->pages.v, c->pages.n, sizeof(c->pages.v[0]), by_address);
	qsort(c->memory.v, c->memory.n, sizeof(c->memory.v[0]), by_base);
	int err = judge_capsule_keep(c, s->opt->folder, &s->files);
	if (err)
		base_say("--capsules: %s: %s", s->opt->folder, strerror(err));
}

/* The program's maps become maps of the CPU device. */
static void put_maps(uint8_t *params, const struct race_judge_launch *h, const char *maps)
{
	for (uint32_t i = 0; i < h->maps; i++) {
		struct cpu_tensormap_desc d = {0};
		struct race_judge_map m;
		memcpy(&m, maps + i * sizeof(m), sizeof(m));
		if (m.offset > h->params || h->params - m.offset < RACE_JUDGE_MAP_BYTES)
			continue;
		d.type = m.type;
		d.rank = m.rank;
		d.interleave = m.interleave;
		d.swizzle = m.swizzle;
		d.l2 = m.l2;
		d.fill = m.fill;
		d.address = m.address;
		memcpy(d.dims, m.dims, sizeof(d.dims));
		memcpy(d.strides, m.strides, sizeof(d.strides));
		memcpy(d.box, m.box, sizeof(d.box));
		memcpy(d.element_strides, m.element_strides, sizeof(d.element_strides));
		/* (One that can't be encoded stays, and the kernel stops at it.) */
		(void)cpu_tensormap_encode(&d, params + m.offset);
	}
}

static void fill(struct server *s, struct launch *l, const char *bytes, const struct module *m)
{
	const struct race_judge_launch *h = &l->head;
	struct judge_capsule *c = &l->capsule;

	c->program = s->opt->program;
	c->kernel = base_strndup(&c->arena, bytes, h->kernel);
	c->number = h->number;
	c->device = h->device;
	c->sms = h->sms;
	c->seed = h->seed;
	memcpy(c->grid, h->grid, sizeof(c->grid));
	memcpy(c->block, h->block, sizeof(c->block));
	memcpy(c->cluster, h->cluster, sizeof(c->cluster));
	c->shared = h->shared;
	c->flags = h->flags & RACE_JUDGE_COOPERATIVE ? JUDGE_COOPERATIVE : 0;
	c->page = RACE_JUDGE_PAGE;
	c->nparam_bytes = h->params;
	uint8_t *params = base_alloc(&c->arena, h->params + 1u);
	memcpy(params, bytes + h->kernel, h->params);
	put_maps(params, h, bytes + h->kernel + h->params);
	c->params = params;
	for (size_t i = 0; i < m->image.texts.n; i++)
		base_vec_push(&c->texts, m->image.texts.v[i]);
}

/* False: the message contradicts itself. */
static bool do_launch(struct server *s, const struct base_buf *b)
{
	struct race_judge_done done = {.why = RACE_JUDGE_FAILED, .end = JUDGE_REFUSED};
	struct judge_outcome o = {.end = JUDGE_REFUSED};
	struct launch l = {0};
	struct module *m;

	if (b->n < sizeof(l.head))
		return false;
	memcpy(&l.head, b->p, sizeof(l.head));
	if (l.head.maps > RACE_JUDGE_MAPS ||
	    (uint64_t)l.head.kernel + l.head.params + l.head.maps * sizeof(struct race_judge_map) !=
		    b->n - sizeof(l.head))
		return false;
	HASH_FIND(hh, s->modules, &l.head.module, sizeof(l.head.module), m);
	if (m && m->image.texts.n) {
		fill(s, &l, b->p + sizeof(l.head), m);
		done.why = judge(s, &l, &o, &done);
	} else {
		snprintf(o.why, sizeof(o.why), "its module has no PTX");
	}
	if (done.trials)
		keep(s, &l);
	else if (!*o.why)
		snprintf(o.why, sizeof(o.why), "%s", race_judge_why_text(done.why));
	base_vec_push(&s->held, l.head.held_ns);
	judge_tally_add(&s->tally, l.capsule.kernel ? l.capsule.kernel : "?", &done, l.accesses,
			o.why);
	done.number = l.head.number;
	done.asked = l.asked;
	done.asked_bytes = l.asked_bytes;
	judge_capsule_free(&l.capsule);
	s->judged++;
	return !s->is_gone &&
	       race_judge_send(s->fd, RACE_JUDGE_DONE, &done, sizeof(done), o.why, strlen(o.why));
}

/* ---- modules ---------------------------------------------------------------------------- */

static const char *add_images(struct module *m, const struct race_judge_module *head, const char *p,
			      size_t n)
{
	const char *at = p + head->images * sizeof(uint64_t), *why = NULL;
	size_t left = n - head->images * sizeof(uint64_t);

	for (uint32_t i = 0; i < head->images && !why; i++) {
		uint64_t bytes;
		memcpy(&bytes, p + i * sizeof(bytes), sizeof(bytes));
		if (bytes > left)
			return "it was cut off";
		why = judge_image_add(&m->image, at, bytes, head->sm, head->images > 1);
		at += bytes;
		left -= bytes;
	}
	return why ? why : m->image.texts.n ? NULL : "it has no PTX for this GPU";
}

/* False: the message contradicts itself, or no trial waits for its answer. */
static bool do_module(struct server *s, int fd, const struct base_buf *b)
{
	struct race_judge_module head;
	struct module *m;

	if (b->n < sizeof(head))
		return false;
	memcpy(&head, b->p, sizeof(head));
	if (head.images > RACE_JUDGE_IMAGES || head.images * sizeof(uint64_t) > b->n - sizeof(head))
		return false;
	HASH_FIND(hh, s->modules, &head.id, sizeof(head.id), m);
	if (m) {
		judge_image_free(&m->image);
	} else {
		m = base_calloc(1, sizeof(*m));
		m->id = head.id;
		HASH_ADD(hh, s->modules, id, sizeof(m->id), m);
	}
	const char *why = add_images(m, &head, b->p + sizeof(head), b->n - sizeof(head));
	if (why) {
		m->image.lines.n = 0;
		base_buf_printf(&m->image.lines, "%c %s\n", RACE_JUDGE_LINE_NOT, why);
		m->image.texts.n = 0;
	}
	return race_judge_send(fd, RACE_JUDGE_ANSWER, m->image.lines.p, m->image.lines.n, NULL, 0);
}

/* The next message of a socket. */
static bool take(int fd, struct race_judge_message *msg, struct base_buf *b)
{
	b->n = 0;
	if (!race_judge_next(fd, msg))
		return false;
	base_buf_room(b, msg->bytes + 1u);
	b->n = msg->bytes;
	return race_judge_read(fd, b->p, b->n);
}

/* What the other socket says; it is closed if that is nothing that can be understood. */
static void serve_control(struct server *s)
{
	struct race_judge_message msg;
	struct base_buf b = {0};

	if (!take(s->control, &msg, &b) || msg.op != RACE_JUDGE_MODULE ||
	    !do_module(s, s->control, &b)) {
		close(s->control);
		s->control = -1;
	}
	base_buf_free(&b);
}

/* Waits for one of the two. False: the program has ended. */
static bool serve_next(struct server *s)
{
	struct pollfd p[2] = {{.fd = s->fd, .events = POLLIN},
			      {.fd = s->control, .events = POLLIN}};
	struct race_judge_message msg;
	struct base_buf b = {0};

	if (poll(p, 2, -1) < 0)
		return errno == EINTR;
	/* First the modules: what is launched now was handed over before. */
	if (p[1].revents) {
		serve_control(s);
		return true;
	}
	bool is_good = take(s->fd, &msg, &b);
	if (is_good && msg.op == RACE_JUDGE_MODULE)
		is_good = do_module(s, s->fd, &b);
	else if (is_good && msg.op == RACE_JUDGE_LAUNCH)
		is_good = do_launch(s, &b);
	else
		is_good = false;
	base_buf_free(&b);
	return is_good;
}

uint64_t judge_serve(int fd, const struct judge_serve *opt)
{
	struct server s = {.fd = fd, .control = opt->control, .opt = opt};
	struct module *m, *next;

	while (serve_next(&s))
		;
	HASH_ITER(hh, s.modules, m, next)
	{
		HASH_DEL(s.modules, m);
		judge_image_free(&m->image);
		free(m);
	}
	judge_tally_say(&s.tally, s.held.v, s.held.n);
	base_vec_free(&s.held);
	return s.judged;
}
