/*
 * texture.h - texture and surface objects, as both APIs describe them (texture.c).
 */
#ifndef COLLIDER_CUDART_TEXTURE_H
#define COLLIDER_CUDART_TEXTURE_H

#include "cudart/state/internal.h"

enum rt_resource_kind { RT_RESOURCE_ARRAY, RT_RESOURCE_LINE, RT_RESOURCE_ROWS };

struct rt_resource {
	enum rt_resource_kind kind;
	rt_ref array;
	uint64_t address, width, height, pitch; /* width: texels; LINE: bytes */
	struct rt_format format;		/* not ARRAY */
	/* The runtime's rules: a line has bytes, and a surface's array was made for surfaces. */
	bool is_strict;
};

/* `kept`: what the API wants back. Sampling NULL: a surface. */
enum rt_error rt_texture_new(const struct rt_resource *res, const struct cpu_sampling *sampling,
			     const void *kept, size_t n, uint64_t *out);
enum rt_error rt_texture_free(uint64_t handle, bool is_surface);
/* What was kept: n bytes, else it is of the other API; NULL: no such object. */
const void *rt_texture_kept(uint64_t handle, bool is_surface, size_t n);

#endif
