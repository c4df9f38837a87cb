/*
 * capture.h - stream capture, as streams and events see it. Everything with the lock held.
 *
 * A capture has a graph under construction and the streams that take part; each of those has a
 * front: the nodes that its next node depends on.
 */
#ifndef COLLIDER_CUDART_CAPTURE_H
#define COLLIDER_CUDART_CAPTURE_H

#include "cudart/state/internal.h"

struct rt_graph;

struct rt_capture {
	uint64_t id;
	struct rt_graph *graph;
	bool is_own_graph; /* made by us: the caller gets it at the end */
	bool is_invalid;
	struct rt_stream *origin;
	enum rt_capture_mode mode;
	struct rt_thread *thread; /* that began it */
	BASE_VEC(struct rt_stream *) streams;
	BASE_VEC(struct rt_node *) left; /* fronts of streams destroyed meanwhile */
	struct rt_capture *next;
};

/* Adds a node for the work after the stream's front, which it becomes. */
enum rt_error rt_capture_add(struct rt_stream *s, const struct rt_work *w);
/* A node that waits for or records an event outside of the capture. */
enum rt_error rt_capture_add_event(struct rt_stream *s, struct rt_event *event, bool is_record);
/* RT_ERROR_STREAM_CAPTURE_IMPLICIT when work on the legacy stream would join a captured stream,
 * which this invalidates. */
enum rt_error rt_capture_check_legacy(unsigned device);
/* Keeps the stream's front in the event. */
void rt_capture_record(struct rt_stream *s, struct rt_event *event);
/* Brings the event's front into the stream, which joins the event's capture if it is in none. */
enum rt_error rt_capture_wait(struct rt_stream *s, struct rt_event *event);
/* Invalidates the capture; ending it returns an error. */
void rt_capture_spoil(struct rt_capture *c);
/* The same for a call that can't be captured (launches of graphs); returns its error. */
enum rt_error rt_capture_refuse(struct rt_capture *c);
/* Ends the capture: streams leave it, and a graph that it still owns is freed. */
void rt_capture_drop(struct rt_capture *c);
/* A stream is destroyed: if it is the origin its capture ends; what others captured has to be
 * joined. */
void rt_capture_forget_stream(struct rt_stream *s);
/* Is this still the capture that had this id? */
bool rt_capture_is_alive(const struct rt_capture *c, uint64_t id);

/* graph entry points of streams: the bodies behind pt_capture.c (lock not held). */
enum rt_error rt_capture_begin(rt_ref s, bool is_per_thread, struct rt_graph *graph,
			       const rt_ref *deps, size_t ndeps, enum rt_capture_mode mode);
enum rt_error rt_capture_end(rt_ref s, bool is_per_thread, rt_ref *out);
enum rt_error rt_capture_update(rt_ref s, bool is_per_thread, const rt_ref *deps, size_t ndeps,
				unsigned flags);

#endif
