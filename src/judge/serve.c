/*
 * serve.c - a process beside a program: its launches, judged as they come.
 *
 * The program's half hands over modules and launches and answers questions about memory (wire.h).
 * Each trial is a child (slots.c); several run at once, of different launches. Modules come over a
 * socket of their own, so that a program needn't wait for a trial's end.
 *
 * Misses: static variables of one name in several objects (-rdc), which the program's half can't
 * distinguish.
 */
#include "base/clock.h"
#include "judge/serve.h"
#include "race/file/shm_write.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAKE_NS 50000000ull   /* while a launch waits for a processor */
#define LAST_NS 2000000000ull /* after the program's end, for what doesn't need it */

/* ---- modules ---------------------------------------------------------------------------- */

static const char *add_images(struct judge_module *m, const struct race_judge_module *head,
			      const char *p, size_t n)
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

/* False: the message contradicts itself. */
static bool do_module(struct judge_server *s, int fd, const struct base_buf *b)
{
	struct race_judge_module head;
	struct judge_module *m;

	if (b->n < sizeof(head))
		return false;
	memcpy(&head, b->p, sizeof(head));
	if (head.images > RACE_JUDGE_IMAGES || head.images * sizeof(uint64_t) > b->n - sizeof(head))
		return false;
	HASH_FIND(hh, s->modules, &head.id, sizeof(head.id), m);
	if (m)
		return false;
	m = base_calloc(1, sizeof(*m));
	m->id = head.id;
	HASH_ADD(hh, s->modules, id, sizeof(m->id), m);
	const char *why = add_images(m, &head, b->p + sizeof(head), b->n - sizeof(head));
	if (why) {
		m->image.lines.n = 0;
		base_buf_printf(&m->image.lines, "%c %s\n", RACE_JUDGE_LINE_NOT, why);
		m->image.texts.n = 0;
	}
	return race_judge_send(fd, RACE_JUDGE_ANSWER, 0, m->image.lines.p, m->image.lines.n, NULL,
			       0);
}

/* ---- messages ------------------------------------------------------------------------- */

/* The bytes of a message whose head has come. */
static bool take(int fd, const struct race_judge_message *msg, struct base_buf *b)
{
	base_buf_room(b, msg->bytes + 1u);
	b->n = msg->bytes;
	return race_judge_read(fd, b->p, b->n);
}

/* It is closed if what it says can't be understood. */
void judge_serve_control(struct judge_server *s)
{
	struct race_judge_message msg;
	struct base_buf b = {0};

	if (!race_judge_next(s->control, &msg) || msg.op != RACE_JUDGE_MODULE ||
	    !take(s->control, &msg, &b) || !do_module(s, s->control, &b)) {
		close(s->control);
		s->control = -1;
	}
	base_buf_free(&b);
}

static bool do_launch(struct judge_server *s, const struct base_buf *b)
{
	struct judge_launch *l = judge_launch_new(s, b);

	if (!l)
		return false;
	s->program_began = base_now_ns() - l->head.program_ns;
	base_vec_push(&s->launches, l);
	return true;
}

static bool do_operation(struct judge_server *s, const struct base_buf *b)
{
	struct race_judge_operation op;

	if (b->n != sizeof(op))
		return false;
	memcpy(&op, b->p, sizeof(op));
	judge_past_operation(s, &op);
	return true;
}

static bool do_hurry(struct judge_server *s, const struct base_buf *b)
{
	uint32_t is_on;

	if (b->n != sizeof(is_on))
		return false;
	memcpy(&is_on, b->p, sizeof(is_on));
	s->waits_since = is_on ? base_now_ns() : 0;
	s->had_before = judge_launch_had(s);
	return true;
}

/* False: it can't be understood. */
bool judge_serve_message(struct judge_server *s, const struct race_judge_message *msg)
{
	struct base_buf b = {0};
	bool is_good = take(s->fd, msg, &b);

	if (is_good && msg->op == RACE_JUDGE_MODULE)
		is_good = do_module(s, s->fd, &b);
	else if (is_good && msg->op == RACE_JUDGE_LAUNCH)
		is_good = do_launch(s, &b);
	else if (is_good && msg->op == RACE_JUDGE_MAP)
		is_good = judge_maps_add(&s->maps, &b);
	else if (is_good && msg->op == RACE_JUDGE_OPERATION)
		is_good = do_operation(s, &b);
	else
		is_good = is_good && msg->op == RACE_JUDGE_HURRY && do_hurry(s, &b);
	base_buf_free(&b);
	return is_good;
}

/* ---- launches ------------------------------------------------------------------------- */

static void end_launch(struct judge_server *s, size_t i)
{
	struct judge_launch *l = s->launches.v[i];

	memmove(&s->launches.v[i], &s->launches.v[i + 1],
		(s->launches.n - i - 1) * sizeof(s->launches.v[0]));
	s->launches.n--;
	judge_launch_end(s, l);
}

/* No process can be had, and none runs whose end would help. */
static void refuse(struct judge_launch *l)
{
	l->is_over = true;
	l->o.end = JUDGE_DIED;
	snprintf(l->o.why, sizeof(l->o.why), "no process could be started: %s", strerror(errno));
}

/* Ends launches that are over, starts trials where there is room. First those of kernels of which
 * nothing is known. True: some have ended. */
static bool schedule(struct judge_server *s)
{
	bool has_ended = false;

	unsigned jobs = s->launches.n ? judge_jobs(s->running) : 0;

	for (unsigned known = 0; known < 2; known++)
		for (size_t i = 0; i < s->launches.n; i++) {
			struct judge_launch *l = s->launches.v[i];
			bool is_known = l->first || l->q.trials ||
					judge_tally_has(s->tally, l->capsule.kernel);
			if (l->pid || l->is_over || is_known != known)
				continue;
			if (s->running >= jobs && !s->waits_since)
				continue;
			if (!judge_launch_next(s, l) || s->running >= jobs)
				continue;
			if (!judge_slot_start(s, l) && !s->running)
				refuse(l);
		}
	for (size_t i = s->launches.n; i-- > 0;)
		if (s->launches.v[i]->is_over) {
			end_launch(s, i);
			has_ended = true;
		}
	return has_ended;
}

/* When something must be done though no message comes, in ms; -1: never. */
static int watch(struct judge_server *s)
{
	uint64_t least = UINT64_MAX, now = base_now_ns();

	for (size_t i = 0; i < s->launches.n; i++) {
		struct judge_launch *l = s->launches.v[i];
		if (!l->pid) {
			least = least < WAKE_NS ? least : WAKE_NS;
			continue;
		}
		if (s->waits_since)
			judge_launch_hurry(s, l, now);
		uint64_t left = judge_slot_watch(s, l, now);
		if (!l->pid)
			judge_launch_tried(l);
		least = left < least ? left : least;
	}
	return least == UINT64_MAX ? -1 : (int)(least / 1000000) + 1;
}

static void serve_trials(struct judge_server *s, const struct pollfd *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct judge_launch *l = s->launches.v[i];
		if (!l->pid || p[i].fd != l->fd || !p[i].revents)
			continue;
		judge_slot_serve(s, l);
		if (!l->pid)
			judge_launch_tried(l);
	}
}

/* The program is gone, and what needs it. */
static void drop(struct judge_server *s)
{
	s->is_gone = true;
	for (size_t i = s->launches.n; i-- > 0;) {
		struct judge_launch *l = s->launches.v[i];
		if (l->first)
			continue;
		judge_slot_kill(s, l);
		end_launch(s, i);
	}
}

/* Waits for a message of anybody. */
static void serve_next(struct judge_server *s)
{
	struct race_judge_message msg;

	while (schedule(s))
		; /* an end may bring another trial */
	if (s->is_gone && !s->launches.n)
		return;
	int ms = watch(s);
	size_t n = s->launches.n;
	struct pollfd *p = base_calloc(n + 2, sizeof(*p));
	for (size_t i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = s->launches.v[i]->pid ? s->launches.v[i]->fd : -1,
				       .events = POLLIN};
	p[n] = (struct pollfd){.fd = s->control, .events = POLLIN};
	p[n + 1] = (struct pollfd){.fd = s->is_gone ? -1 : s->fd, .events = POLLIN};
	int got = poll(p, (nfds_t)(n + 2), ms);
	if (got < 0 && errno != EINTR)
		drop(s);
	/* First the modules: what is launched now was handed over before. */
	if (got > 0 && p[n].revents)
		judge_serve_control(s);
	if (got > 0 && p[n + 1].revents)
		s->is_gone = !race_judge_next(s->fd, &msg) || !judge_serve_message(s, &msg);
	/* Last, as their questions read both sockets. */
	if (got > 0)
		serve_trials(s, p, n);
	free(p);
}

uint64_t judge_serve(int fd, const struct judge_serve *opt)
{
	struct judge_server s = {.fd = fd, .control = opt->control, .opt = opt};
	struct judge_module *m, *next;

	while (!s.is_gone)
		serve_next(&s);
	drop(&s);
	/* What needs no program is tried all the same, as long as that may take at its end. */
	s.waits_since = base_now_ns();
	s.had_before = judge_launch_had(&s);
	while (s.launches.n && base_now_ns() - s.waits_since < LAST_NS)
		serve_next(&s);
	while (s.launches.n) {
		judge_slot_kill(&s, s.launches.v[0]);
		end_launch(&s, 0);
	}
	judge_past_free(&s);
	judge_maps_free(&s.maps);
	base_vec_free(&s.launches);
	HASH_ITER(hh, s.modules, m, next)
	{
		HASH_DEL(s.modules, m);
		judge_image_free(&m->image);
		free(m);
	}
	if (s.kept)
		race_shm_note("--capsules: %u launches were kept; the files hold the program's "
			      "data",
			      s.kept);
	judge_tally_say(&s.tally, s.held.v, s.held.n);
	base_vec_free(&s.held);
	return s.judged;
}
