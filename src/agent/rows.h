/*
 * rows.h - inside src/agent: rows of tables by function of the driver, for files that listen to
 * many: the number that CUPTI gives it, and what that file does about it.
 */
#ifndef COLLIDER_AGENT_ROWS_H
#define COLLIDER_AGENT_ROWS_H

#include <cupti.h>

#define ID(f) CUPTI_DRIVER_TRACE_CBID_##f
#define ROW(f, way)                                                                                \
	{                                                                                          \
		ID(f), way                                                                         \
	}
/* And its twin, whose default stream is the calling thread's: of functions that name a stream, and
 * of those that don't. */
#define BOTH(f, way)                                                                               \
	{ID(f), way},                                                                              \
	{                                                                                          \
		ID(f##_ptsz), way                                                                  \
	}
#define DEFAULT(f, way)                                                                            \
	{ID(f), way},                                                                              \
	{                                                                                          \
		ID(f##_ptds), way                                                                  \
	}
/* What the call was given; d: CUPTI's data about it. */
#define PARAMS(f) ((const f##_params *)d->functionParams)

#endif
