/*
 * types.h - inside src/cudart: errors, handles and descriptions, of neither of CUDA's two APIs.
 *
 * Numbers are those that CUDA's headers give, where both APIs have the same; api/check.c asserts
 * it for the runtime, cudrv/check.c for the driver. So an entry point casts, and translates only
 * what is laid out differently.
 */
#ifndef COLLIDER_CUDART_TYPES_H
#define COLLIDER_CUDART_TYPES_H

#include <stddef.h>
#include <stdint.h>

enum rt_error {
#define E(code, number, runtime, driver, text) code = (number),
#include "cudart/state/errors.def"
#undef E
};

/* A handle as the program passes it: of anything, or of nothing that lives (handle.c). */
typedef const void *rt_ref;

/* Handles of streams that aren't addresses. */
#define RT_STREAM_LEGACY     ((rt_ref)1)
#define RT_STREAM_PER_THREAD ((rt_ref)2)

/* ---- flags ---------------------------------------------------------------- */

enum { RT_STREAM_NON_BLOCKING = 1 };
enum { RT_EVENT_BLOCKING = 1, RT_EVENT_NO_TIMING = 2, RT_EVENT_INTERPROCESS = 4 };
/* Of recording and of waiting: of an event outside of the capture. */
enum { RT_EVENT_EXTERNAL = 1 };
/* RT_HOST_IO is refused by the entry points. */
enum { RT_HOST_PORTABLE = 1, RT_HOST_MAPPED = 2, RT_HOST_COMBINED = 4 };
enum { RT_REGISTER_IO = 4, RT_REGISTER_READ_ONLY = 8 };
enum { RT_ATTACH_GLOBAL = 1, RT_ATTACH_HOST = 2 };
enum { RT_ARRAY_LAYERED = 1, RT_ARRAY_SURFACE = 2, RT_ARRAY_GATHER = 8 };
enum {
	RT_INSTANTIATE_AUTO_FREE = 1,
	RT_INSTANTIATE_UPLOAD = 2,
	RT_INSTANTIATE_DEVICE = 4,
	RT_INSTANTIATE_PRIORITY = 8
};
enum { RT_OBJECT_NO_SYNC = 1, RT_OBJECT_MOVE = 1 };
enum { RT_CAPTURE_SET_DEPENDENCIES = 1 };

enum rt_capture_mode { RT_CAPTURE_GLOBAL, RT_CAPTURE_THREAD_LOCAL, RT_CAPTURE_RELAXED };

/* ---- copies ---------------------------------------------------------------- */

enum rt_copy_kind {
	RT_HOST_TO_HOST,
	RT_HOST_TO_DEVICE,
	RT_DEVICE_TO_HOST,
	RT_BETWEEN_DEVICES,
	RT_BY_ADDRESS
};

struct rt_extent {
	size_t width, height, depth;
};

/* Memory with rows `pitch` bytes apart, and ysize rows in a slice. */
struct rt_pitched {
	void *ptr;
	size_t pitch, xsize, ysize;
};

struct rt_pos {
	size_t x, y, z;
};

/* One end of a copy in three dimensions: an array (positions in texels), or memory (in bytes). */
struct rt_end_3d {
	rt_ref array; /* NULL: memory */
	struct rt_pitched memory;
	struct rt_pos pos;
};

/* The extent is in texels if an end is an array, otherwise in bytes. */
struct rt_copy_3d {
	struct rt_end_3d src, dst;
	struct rt_extent extent;
	enum rt_copy_kind kind;
};

/* ---- arrays ---------------------------------------------------------------- */

enum rt_channel { RT_CHANNEL_SIGNED, RT_CHANNEL_UNSIGNED, RT_CHANNEL_FLOAT };

/* Bits of each channel. */
struct rt_format {
	int x, y, z, w;
	enum rt_channel kind;
};

/* ---- pools ----------------------------------------------------------------- */

enum rt_pool_attr {
	RT_POOL_REUSE_EVENTS = 1,
	RT_POOL_REUSE_OPPORTUNISTIC,
	RT_POOL_REUSE_INTERNAL,
	RT_POOL_THRESHOLD,
	RT_POOL_RESERVED,
	RT_POOL_RESERVED_HIGH,
	RT_POOL_USED,
	RT_POOL_USED_HIGH
};

/* ---- graphs ---------------------------------------------------------------- */

enum rt_node_type {
	RT_NODE_KERNEL,
	RT_NODE_COPY,
	RT_NODE_FILL,
	RT_NODE_HOST,
	RT_NODE_GRAPH,
	RT_NODE_EMPTY,
	RT_NODE_WAIT,
	RT_NODE_RECORD,
	RT_NODE_ALLOC = 10,
	RT_NODE_FREE
};

/* What is between two nodes: plain edges only, all zeroes. */
struct rt_edge {
	unsigned char bytes[8];
};

/* Why an executable graph could not be updated. */
enum rt_update { RT_UPDATE_OK, RT_UPDATE_ERROR, RT_UPDATE_TOPOLOGY, RT_UPDATE_NODE_TYPE };

/* Memory of graphs. */
enum rt_graph_usage {
	RT_GRAPH_USED,
	RT_GRAPH_USED_HIGH,
	RT_GRAPH_RESERVED,
	RT_GRAPH_RESERVED_HIGH
};

/* ---- attributes of launches, kernel nodes and streams ------------------------ */

enum rt_attr_id {
	RT_ATTR_ACCESS_POLICY = 1,
	RT_ATTR_COOPERATIVE = 2,
	RT_ATTR_SYNC_POLICY = 3,
	RT_ATTR_CLUSTER = 4,
	RT_ATTR_CLUSTER_POLICY = 5,
	RT_ATTR_PROGRAMMATIC = 6,
	RT_ATTR_PRIORITY = 8,
	RT_ATTR_SYNC_DOMAIN_MAP = 9,
	RT_ATTR_SYNC_DOMAIN = 10,
	RT_ATTR_IDS
};
union rt_attr {
	int number;
	uint32_t cluster[3];
	unsigned char bytes[64];
};
#define RT_ATTR_SAME(value, field, id, ours)                                                       \
	_Static_assert(sizeof(value) == sizeof(union rt_attr) && !offsetof(value, field) &&        \
			       (int)(id) == (int)(ours),                                           \
		       "an attribute as in union rt_attr")

#endif
