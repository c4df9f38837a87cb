/*
 * order.c - follows what the driver's API orders, by vectors of clocks (order.h).
 *
 * Each stream, each event and the host has the number of operations of each stream that come
 * before what it does next; a call joins these. All host threads are one, in the order of their
 * calls. The legacy stream of a context comes after all that its blocking streams did, and they
 * after it. What an event that we haven't seen made comes after isn't known: after everything.
 *
 * An operation may wait for one that is submitted later: where a wait for a value in memory, or for
 * another API, comes before it in its stream. Then its clock is open, and so is that of what comes
 * after it, until the host has waited for it; such an operation comes after all that was submitted
 * before it, and before all that is later. Functions of the host must not wait for what comes later
 * (cuLaunchHostFunc), and CUDA doesn't promise to run a kernel that another one waits for.
 *
 * Misses: what is unordered across a call that isn't known, or during a capture; more than
 * AGENT_ORDER_STREAMS streams with work at a time.
 * Costs: 64 comparisons for each clock that is joined; two stores for an operation that nothing is
 * compared with, whose effect the next call that takes the lock carries out. (What was passed
 * between the two isn't compared with anything either, so it makes no difference when.)
 */
#include <pthread.h>
#include <string.h>

#include "agent/order.h"

#define STREAMS AGENT_ORDER_STREAMS
#define GONE	((CUstream)(uintptr_t)-1)

struct stream {
	CUstream handle; /* NULL: the legacy stream of its context; GONE */
	CUcontext context;
	pthread_t owner; /* of a thread's own default stream */
	bool is_apart;	 /* from the legacy stream */
	bool is_known;	 /* we have seen it made, so its context is right */
	uint32_t made;	 /* operations */
	struct agent_clock tail;
	/* If its last operation was a launch, after which nothing was: what came before it. */
	uint32_t last;
	struct agent_clock before_last;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct stream streams[STREAMS];
static unsigned top;		/* streams from here on were never used */
static struct agent_clock host; /* what it has seen the end of; never open */
static unsigned captures;	/* under way: all that happens meanwhile is ordered */
/* Anything may wait for anything; graphs may contain what waits for anything, or records events. */
static bool is_all_open, do_graphs_open, do_graphs_record;
static CUcontext first; /* that was seen, and whether there was another one */
static bool has_contexts;

/* Effects of operations that were passed; the next call that takes the lock carries them out.
 * Atomic. */
#define OF_STREAM 255u /* its place, and 1 */
#define IS_OPAQUE 256u
static struct {
	bool has_any, is_opaque;
	bool has[STREAMS]; /* of each stream */
} passed;
uint32_t agent_order_changes = 1;

/* ---- clocks -------------------------------------------------------------------------------- */

static void join(struct agent_clock *to, const struct agent_clock *from)
{
	for (unsigned i = 0; i < top; i++)
		to->of[i] = from->of[i] > to->of[i] ? from->of[i] : to->of[i];
	to->is_open |= from->is_open;
}

static void join_all(struct agent_clock *to)
{
	for (unsigned i = 0; i < top; i++)
		to->of[i] = streams[i].made;
}

static void order_all(void)
{
	join_all(&host);
}

/* The host has waited for what has this clock. */
static void join_host(const struct agent_clock *c)
{
	join(&host, c);
	if (c->is_open)
		order_all();
	host.is_open = false;
}

static void close_all(void)
{
	/* It was one context's streams that the host has waited for. */
	if (has_contexts)
		return;
	for (unsigned i = 0; i < top; i++)
		streams[i].tail.is_open = false;
	is_all_open = false;
}

static bool is_default(CUstream handle)
{
	return !handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

/* The host has waited for all of a context. */
static void wait_context(CUcontext context)
{
	if (!has_contexts || !context) {
		order_all();
		return;
	}
	for (unsigned i = 0; i < top; i++) {
		const struct agent_clock c = streams[i].tail;
		if (streams[i].context == context ||
		    (!streams[i].is_known && !is_default(streams[i].handle)))
			join_host(&c);
	}
}

/* ---- streams ------------------------------------------------------------------------------- */

static bool is_over(const struct stream *s)
{
	for (unsigned i = 0; i < top; i++)
		if (s->tail.of[i] > host.of[i])
			return false;
	return !s->tail.is_open;
}

static struct stream *find_over(void)
{
	struct stream *s = NULL;

	for (unsigned i = 0; i < top && (!s || s->handle != GONE); i++)
		if (is_over(&streams[i]))
			s = &streams[i];
	return s;
}

/* A place for another one. It may have been another stream's, after whose operations those of the
 * new one come then. */
static struct stream *take_place(void)
{
	struct stream *s = NULL;

	if (top < STREAMS)
		return &streams[top++];
	s = find_over();
	if (!s) {
		order_all();
		s = find_over();
	}
	if (!s) {
		is_all_open = true;
		s = &streams[0];
	}
	agent_order_change();
	return s;
}

static struct stream *find_known(CUstream handle, CUcontext context)
{
	const bool is_named = !is_default(handle);
	const pthread_t self = pthread_self();

	for (unsigned i = 0; i < top; i++) {
		struct stream *s = &streams[i];
		if (s->handle == handle && (is_named || s->context == context) &&
		    (handle != CU_STREAM_PER_THREAD || pthread_equal(s->owner, self)))
			return s;
	}
	return NULL;
}

/* A stream whose making we haven't seen is taken to be ordered with the legacy stream. */
static struct stream *find(CUstream handle, CUcontext context)
{
	struct stream *s;

	if (handle == CU_STREAM_LEGACY)
		handle = NULL;
	has_contexts |= first && context != first;
	first = context;
	s = find_known(handle, context);
	if (s)
		return s;
	s = take_place();
	s->handle = handle;
	s->context = context;
	s->owner = pthread_self();
	s->is_apart = s->is_known = false;
	return s;
}

static void add_stream(const struct agent_order_call *c)
{
	struct stream *s = find_known(c->stream, c->context);

	if (!c->stream)
		return;
	if (s)
		s->handle = GONE; /* the handle is another stream's now */
	agent_order_change();
	s = find(c->stream, c->context);
	s->is_apart = c->is_apart;
	s->is_known = true;
}

static void drop_stream(const struct agent_order_call *c)
{
	struct stream *s = is_default(c->stream) ? NULL : find_known(c->stream, c->context);

	if (s)
		s->handle = GONE;
	agent_order_change();
}

/* What an operation of the stream would come after now. */
static struct agent_clock clock_of(const struct stream *s)
{
	struct agent_clock c = s->tail;

	join(&c, &host);
	for (unsigned i = 0; i < top; i++) {
		const struct stream *t = &streams[i];
		if (t != s && t->context == s->context && !(s->handle ? s : t)->is_apart &&
		    (!s->handle || !t->handle))
			join(&c, &t->tail);
	}
	c.is_open |= is_all_open;
	return c;
}

/* ---- operations ---------------------------------------------------------------------------- */

/* With the lock: the effects of what was passed. */
static void carry_passed(void)
{
	for (unsigned i = 0; i < top; i++) {
		struct stream *s = &streams[i];
		if (!__atomic_exchange_n(&passed.has[i], false, __ATOMIC_RELAXED))
			continue;
		s->last = 0;
		if (!s->handle)
			s->tail = clock_of(s);
	}
	if (__atomic_exchange_n(&passed.is_opaque, false, __ATOMIC_RELAXED))
		order_all();
}

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	if (__atomic_load_n(&passed.has_any, __ATOMIC_RELAXED) &&
	    __atomic_exchange_n(&passed.has_any, false, __ATOMIC_ACQUIRE))
		carry_passed();
}

static uint32_t submit(struct stream *s, uint32_t n, struct agent_clock *before)
{
	*before = clock_of(s);
	if (before->is_open || captures)
		join_all(before);
	s->made += n;
	s->last = 0;
	s->tail = *before;
	s->tail.of[s - streams] = s->made;
	if (before->is_open || captures)
		order_all();
	return s->made;
}

void agent_order_submit(struct agent_order *o, CUstream s, CUcontext context, uint32_t n)
{
	take_lock();
	struct stream *at = find(s, context);
	o->stream = (uint32_t)(at - streams);
	o->nth = submit(at, n, &o->before);
	if (captures)
		o->nth = 0;
	pthread_mutex_unlock(&lock);
}

/* A launch that may begin before the last one has ended. What that one comes after, this one does;
 * what comes after this one comes after both. */
static uint32_t submit_early(struct stream *s, struct agent_clock *before)
{
	struct agent_clock all = clock_of(s);

	s->tail = s->before_last;
	*before = clock_of(s);
	all.of[s - streams] = ++s->made;
	s->tail = all;
	s->last = 0;
	return s->made;
}

void agent_order_launch(struct agent_order *o, CUstream s, CUcontext context, bool is_early)
{
	take_lock();
	struct stream *at = find(s, context);
	const uint32_t last = at->last;
	*o = (struct agent_order){.stream = (uint32_t)(at - streams)};
	if (is_early && last && !captures && !clock_of(at).is_open) {
		o->early = last;
		o->nth = submit_early(at, &o->before);
	} else {
		o->nth = submit(at, 1, &o->before);
		at->last = captures || o->before.is_open ? 0 : o->nth;
		at->before_last = o->before;
	}
	if (captures)
		o->nth = 0;
	pthread_mutex_unlock(&lock);
}

/* ---- graphs -------------------------------------------------------------------------------- */

/*
 * Nodes that come one after the other share a stream's number: a graph's first ones that of the
 * stream in which it is launched, others one that no stream has now.
 */
struct chains {
	bool is_taken[STREAMS];
	uint32_t end[STREAMS]; /* the last node of each, plus 1 */
};

/* NULL: there is none. */
static struct stream *new_chain(const struct chains *c, CUcontext context)
{
	struct stream *s = NULL;

	for (unsigned i = 0; i < top && !s; i++)
		if (streams[i].handle == GONE && !c->is_taken[i] && is_over(&streams[i]))
			s = &streams[i];
	if (!s && top < STREAMS)
		s = &streams[top++];
	if (s) {
		s->handle = GONE;
		s->context = context;
		s->is_apart = s->is_known = true;
		s->last = 0;
	}
	return s;
}

static struct stream *chain_of(const struct chains *c, const struct agent_order_node *v, uint32_t i,
			       struct stream *own)
{
	struct stream *s = NULL;

	for (uint32_t k = 0; k < v[i].nbefore; k++)
		if (c->end[v[v[i].before[k]].order.stream] == v[i].before[k] + 1)
			return &streams[v[v[i].before[k]].order.stream];
	if (c->is_taken[own - streams])
		s = new_chain(c, own->context);
	return s ? s : own; /* (That one: it comes after all that is there.) */
}

static void submit_node(struct chains *c, struct agent_order_node *v, uint32_t i,
			struct stream *own, const struct agent_clock *from)
{
	struct stream *s = chain_of(c, v, i, own);
	const uint32_t at = (uint32_t)(s - streams);
	struct agent_clock before = *from;

	for (uint32_t k = 0; k < v[i].nbefore; k++) {
		const struct agent_order *b = &v[v[i].before[k]].order;
		join(&before, &b->before);
		before.of[b->stream] =
			b->nth > before.of[b->stream] ? b->nth : before.of[b->stream];
	}
	c->is_taken[at] = true;
	c->end[at] = i + 1;
	v[i].order = (struct agent_order){.stream = at, .nth = ++s->made, .before = before};
	if (s == own)
		return;
	s->tail = before;
	s->tail.of[at] = s->made;
}

void agent_order_graph(struct agent_order_node *v, uint32_t n, CUstream s, CUcontext context,
		       struct agent_order_last *last)
{
	struct chains c = {0};

	take_lock();
	struct stream *own = find(s, context);
	struct agent_clock tail, from = clock_of(own);
	if (from.is_open || captures) {
		for (uint32_t i = 0; i < n; i++)
			v[i].order.nth = 0;
		submit(own, 1, &tail);
		pthread_mutex_unlock(&lock);
		return;
	}
	if (last->nth > from.of[last->stream])
		from.of[last->stream] = last->nth;
	for (uint32_t i = 0; i < n; i++)
		submit_node(&c, v, i, own, &from);
	tail = from;
	for (unsigned i = 0; i < top; i++)
		if (c.is_taken[i])
			tail.of[i] = streams[i].made;
	tail.of[own - streams] = ++own->made; /* its end has a number, too */
	own->tail = tail;
	own->last = 0;
	*last = (struct agent_order_last){(uint32_t)(own - streams), own->made};
	pthread_mutex_unlock(&lock);
}

/* What the operation comes after isn't stored: clock_of gives each operation after it the same
 * again, from the host's clock and the legacy stream's. Only that it has work itself is
 * (carry_passed). */
uint32_t agent_order_effect(CUstream handle, CUcontext context, bool is_opaque)
{
	uint32_t effect = AGENT_ORDER_SUBMIT;

	take_lock();
	const struct stream *s = find(handle, context);
	if (!captures)
		effect = (uint32_t)(s - streams + 1) | (is_opaque ? IS_OPAQUE : 0);
	pthread_mutex_unlock(&lock);
	return effect;
}

void agent_order_pass(uint32_t effect)
{
	if (!effect)
		return;
	__atomic_store_n(&passed.has[(effect & OF_STREAM) - 1], true, __ATOMIC_RELAXED);
	if (effect & IS_OPAQUE)
		__atomic_store_n(&passed.is_opaque, true, __ATOMIC_RELAXED);
	__atomic_store_n(&passed.has_any, true, __ATOMIC_RELEASE);
}

void agent_order_carry(CUstream s, CUcontext context)
{
	take_lock();
	struct stream *at = find(s, context);
	at->tail = clock_of(at);
	at->last = 0;
	pthread_mutex_unlock(&lock);
}

bool agent_order_is_unordered(const struct agent_order *o, CUcontext context, bool is_across)
{
	bool is_unordered = false;

	take_lock();
	for (unsigned i = 0; i < top && !is_unordered; i++)
		is_unordered = i != o->stream && streams[i].made > o->before.of[i] &&
			       (is_across || streams[i].context == context);
	pthread_mutex_unlock(&lock);
	return is_unordered;
}

void agent_order_all(void)
{
	take_lock();
	order_all();
	pthread_mutex_unlock(&lock);
}

static void open_stream(CUstream s, CUcontext context)
{
	order_all();
	find(s, context)->tail.is_open = true;
}

void agent_order_unheard(unsigned calls)
{
	static unsigned known;

	if (__atomic_exchange_n(&known, calls, __ATOMIC_RELAXED) == calls)
		return;
	take_lock();
	order_all();
	is_all_open = true;
	pthread_mutex_unlock(&lock);
}

/* ---- events -------------------------------------------------------------------------------- */

/* What the event comes after; one that isn't known, or that graphs may record, after anything. */
static struct agent_clock clock_of_event(CUevent handle)
{
	const struct agent_clock *e = do_graphs_record ? NULL : agent_order_event(handle);
	struct agent_clock c = {.is_open = true};

	if (e)
		return *e;
	join_all(&c);
	return c;
}

/* ---- calls --------------------------------------------------------------------------------- */

/* Of a capture nothing is known, so that all that happens during one orders all. */
static void begin_captured(const struct agent_order_call *c)
{
	order_all();
	do_graphs_open |= c->way == AGENT_ORDER_OPENS;
}

void agent_order_begin(const struct agent_order_call *c)
{
	take_lock();
	if (captures)
		begin_captured(c);
	switch (c->way) {
	case AGENT_ORDER_UNKNOWN:
	case AGENT_ORDER_OPENS:
	case AGENT_ORDER_CAPTURED:
		order_all();
		break;
	case AGENT_ORDER_CAPTURE:
		order_all();
		captures++;
		agent_order_change();
		break;
	case AGENT_ORDER_WAIT:
		if (!captures) {
			const struct agent_clock e = clock_of_event(c->event);
			struct stream *s = find(c->stream, c->context);
			join(&s->tail, &e);
			s->last = 0;
		}
		break;
	case AGENT_ORDER_STREAM_GONE:
		drop_stream(c);
		break;
	case AGENT_ORDER_EVENT_GONE:
		agent_order_event_drop(c->event);
		break;
	default:
		break;
	}
	pthread_mutex_unlock(&lock);
}

static void wait_stream(const struct agent_order_call *c)
{
	struct stream *s = find(c->stream, c->context);
	const struct agent_clock now = clock_of(s);

	join_host(&now);
	s->tail.is_open = false;
}

/* What makes or changes something, where the driver has done it. */
static void end_good(const struct agent_order_call *c)
{
	static const struct agent_clock never;
	struct agent_clock now;

	switch (c->way) {
	case AGENT_ORDER_STREAM_MADE:
		add_stream(c);
		break;
	case AGENT_ORDER_EVENT_MADE:
		agent_order_event_drop(c->event);
		agent_order_event_set(c->event, &never);
		break;
	case AGENT_ORDER_GRAPH_OPENS:
		do_graphs_open = true;
		break;
	case AGENT_ORDER_GRAPH_EVENT:
		do_graphs_record = true;
		break;
	case AGENT_ORDER_RECORD:
		if (captures)
			break;
		now = clock_of(find(c->stream, c->context));
		agent_order_event_set(c->event, &now);
		break;
	case AGENT_ORDER_WAITS_STREAM:
		wait_stream(c);
		break;
	case AGENT_ORDER_WAITS_EVENT:
		now = clock_of_event(c->event);
		join_host(&now);
		break;
	case AGENT_ORDER_WAITS_ALL:
		close_all();
		break;
	default:
		break;
	}
}

void agent_order_end(const struct agent_order_call *c, bool is_good)
{
	struct agent_clock now;

	take_lock();
	if (captures)
		order_all();
	switch (c->way) {
	case AGENT_ORDER_UNKNOWN:
		order_all();
		break;
	case AGENT_ORDER_WAITS_ALL:
		wait_context(c->context);
		break;
	case AGENT_ORDER_COPY:
		wait_stream(c);
		break;
	case AGENT_ORDER_HOST_CALL:
		now = clock_of(find(c->stream, c->context));
		join_host(&now);
		break;
	case AGENT_ORDER_OPENS:
		if (!captures)
			open_stream(c->stream, c->context);
		break;
	case AGENT_ORDER_GRAPH:
		if (!captures && do_graphs_open)
			open_stream(c->stream, c->context);
		break;
	case AGENT_ORDER_CAPTURE:
		captures -= !is_good && captures;
		break;
	case AGENT_ORDER_CAPTURED:
		captures -= captures != 0;
		break;
	default:
		break;
	}
	if (is_good)
		end_good(c);
	pthread_mutex_unlock(&lock);
}

void agent_order_reset(void)
{
	pthread_mutex_init(&lock, NULL);
	agent_order_event_drop_all();
	memset(streams, 0, sizeof(streams));
	memset(&host, 0, sizeof(host));
	top = captures = 0;
	memset(&passed, 0, sizeof(passed));
	agent_order_change();
	is_all_open = do_graphs_open = do_graphs_record = has_contexts = false;
	first = NULL;
}
