/*
 * objects.h - part of the front header (cpu.h): what kernels know by a number or by opaque bytes,
 * textures, surfaces and tensor maps.
 */
#ifndef COLLIDER_CPU_OBJECTS_H
#define COLLIDER_CPU_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_machine;

/* ---- textures and surfaces (texture.c) ------------------------------------------------ */

/* Numbered as CUDA's address modes. */
enum cpu_tex_mode { CPU_TEX_WRAP, CPU_TEX_CLAMP, CPU_TEX_MIRROR, CPU_TEX_BORDER };
enum cpu_tex_type { CPU_TEX_SIGNED, CPU_TEX_UNSIGNED, CPU_TEX_FLOAT };

/* Texels row by row in device memory. */
struct cpu_texture {
	uint64_t address;
	uint64_t width, height, depth; /* texels; 0: no such dimension; depth: or layers */
	uint64_t pitch, slice;	       /* bytes from row to row, from slice (layer) to slice */
	uint8_t channels, bits, type;  /* 1, 2 or 4; 8, 16 or 32 of each; enum cpu_tex_type */
	uint8_t mode[3];	       /* enum cpu_tex_mode, by dimension */
	bool is_surface, is_layered;
	bool is_array;	    /* otherwise linear memory: `tex.1d` takes whole numbers only */
	bool is_filtered;   /* linearly */
	bool is_normalized; /* coordinates are of [0, 1) */
	bool is_unit;	    /* integers are read as floats of [0, 1] or [-1, 1] */
	float border[4];
};

/* How a program wants a texture's texels, as both APIs say it. */
struct cpu_sampling {
	int mode[3]; /* enum cpu_tex_mode, if the program is right */
	bool is_linear, is_normalized;
	bool is_element;      /* integers as they are, not as fractions */
	bool is_wide_element; /* those of 32 bits in any case (the driver's); else an error */
	float border[4];
};
enum cpu_sampling_error {
	CPU_SAMPLING_GOOD,
	CPU_SAMPLING_NO_FRACTIONS, /* 32-bit integers as fractions */
	CPU_SAMPLING_NO_FILTER,	   /* between integers */
	CPU_SAMPLING_NO_MODE	   /* an unknown one */
};
/* Fills in what depends on it, where the rest of *t is there. */
enum cpu_sampling_error cpu_texture_sample(struct cpu_texture *t, const struct cpu_sampling *d);

/* The handle by which kernels know it; 0: no memory, or too many. The texels are not read. */
uint64_t cpu_texture_new(struct cpu_machine *m, const struct cpu_texture *t);
/* The same under a handle of another machine's, before a launch; a texture and a surface may have
 * the same one. False: another object has it, or there is no memory. */
bool cpu_texture_place(struct cpu_machine *m, uint64_t handle, const struct cpu_texture *t);
/* Calls fn for each object that there is. */
void cpu_texture_each(struct cpu_machine *m,
		      void (*fn)(void *arg, uint64_t handle, const struct cpu_texture *t),
		      void *arg);
/* False: no such object. */
bool cpu_texture_free(struct cpu_machine *m, uint64_t handle);

/* ---- tensor maps (tensormap.c) -------------------------------------------------- */

/* A 128-byte descriptor, opaque to programs, in our own layout. Types, interleave, swizzle and
 * out-of-bounds fill are numbered as in the driver API (cuda.h, CUtensorMap*). */
struct cpu_tensormap_desc {
	uint32_t type, rank, interleave, swizzle, l2, fill;
	uint64_t address;
	uint64_t dims[5], strides[4]; /* strides in bytes of dimensions 1.. */
	uint32_t box[5], element_strides[5];
	bool is_im2col;
	int32_t lower[3], upper[3];
	uint32_t channels, pixels;
	uint32_t wide; /* enum below; im2col along W only: lower[0], upper[0] */
};
/* CUtensorMapIm2ColWideMode, plus 1. */
enum { CPU_TENSOR_NOT_WIDE, CPU_TENSOR_WIDE_W, CPU_TENSOR_WIDE_W128 };
/* Returns NULL and fills out[128], or returns what is wrong with the description. */
const char *cpu_tensormap_encode(const struct cpu_tensormap_desc *d, void *out);
/* Has cpu_tensormap_encode filled these 128 bytes (which a kernel may have changed since)? */
bool cpu_tensormap_is(const void *map);
/* Gives a map another address; NULL, or what is wrong, and then the map is as it was. */
const char *cpu_tensormap_move(void *map, uint64_t address);

#endif
