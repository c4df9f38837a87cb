/*
 * texture.h - inside src/cpu: textures and surfaces, for the instructions (texture_op.c).
 */
#ifndef COLLIDER_CPU_TEXTURE_H
#define COLLIDER_CPU_TEXTURE_H

#include "cpu/machine.h"

struct cpu_textures;

/* The object of a handle, of this kind if there are two; NULL: it doesn't exist, or no longer. Any
 * thread. */
const struct cpu_texture *cpu_texture_find(struct cpu_machine *m, uint64_t handle, bool is_surface);

#define CPU_TEX_CORNERS 8u

/* Which texels a fetch reads, and how much of each. */
struct cpu_footprint {
	uint32_t n;			 /* corners: 1, 2, 4 or 8 */
	uint64_t texel[CPU_TEX_CORNERS]; /* address; 0: outside, the border's colour */
	float weight[CPU_TEX_CORNERS];
};

/* Where a fetch is: layer (-1: not layered) and coordinates, `is_int` of them as numbers of
 * texels. */
struct cpu_tex_place {
	int64_t layer;
	double at[3];
	uint32_t dims;
	bool is_int;
};

/* is_gather: the four texels of a 2D footprint, whatever the filter is, with weights 1. */
void cpu_texture_footprint(const struct cpu_texture *t, const struct cpu_tex_place *p,
			   bool is_gather, struct cpu_footprint *out);
/* Bytes of a texel. */
uint32_t cpu_texel_bytes(const struct cpu_texture *t);
/* A texel (NULL: the border) as four values of 32 bits: floats if is_float comes back true. */
void cpu_texel_decode(const struct cpu_texture *t, const uint8_t *texel, uint32_t out[4]);
/* Are its values floats to the program: float texels, or normalized ones? */
bool cpu_texture_is_float(const struct cpu_texture *t);

#endif
