/*
 * texture.c - texture and surface objects: the table of handles, addressing, filtering, formats.
 *
 * Texels lie row by row in ordinary memory, CUDA arrays too, so a fetch is a few loads.
 * Coordinates, address modes and linear filtering follow the appendix "Texture Fetching" of CUDA's
 * programming guide: weights have 8 bits after the point (rounded to nearest), and address modes
 * hold for each texel of a footprint. Coordinates are scaled in double precision; hardware does so
 * in fixed point, so a coordinate that is a rounding error away from a texel's border may fall on
 * its other side, and the last bits of filtered values may differ.
 *
 * Handles count from 1 and are not reused before a million objects have been created, so that the
 * use of a destroyed one is reported. Looking one up takes no lock.
 * Misses: mipmaps, cube maps, sRGB, views, anisotropy (cudart refuses them).
 */
#include "cpu/async/async.h"
#include "cpu/exec/texture.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK	   256u
#define MAX_CHUNKS 4096u

struct object {
	struct cpu_texture t;
	_Atomic bool is_live;
};

/* One of another machine's; these are few, and never destroyed. */
struct placed {
	struct placed *next;
	uint64_t handle;
	struct cpu_texture t;
};

struct cpu_textures {
	pthread_mutex_t lock;
	_Atomic(struct placed *) placed;
	uint32_t n;
	_Atomic(struct object *) chunk[MAX_CHUNKS];
};

bool cpu_textures_init(struct cpu_machine *m)
{
	m->textures = calloc(1, sizeof(*m->textures));
	if (m->textures)
		pthread_mutex_init(&m->textures->lock, NULL);
	return m->textures != NULL;
}

void cpu_textures_free(struct cpu_machine *m)
{
	struct cpu_textures *x = m->textures;
	struct placed *p;

	for (uint32_t i = 0; x && i < MAX_CHUNKS; i++)
		free(atomic_load(&x->chunk[i]));
	while (x && (p = atomic_load(&x->placed))) {
		atomic_store(&x->placed, p->next);
		free(p);
	}
	free(x);
}

static struct object *object_at(struct cpu_textures *x, uint64_t handle)
{
	uint64_t at = handle - 1;
	struct object *c;

	if (at >= (uint64_t)CHUNK * MAX_CHUNKS)
		return NULL;
	c = atomic_load_explicit(&x->chunk[at / CHUNK], memory_order_acquire);
	return c ? &c[at % CHUNK] : NULL;
}

/* An entry that nothing uses: the next one, or where all have been used one that was destroyed. */
static uint32_t free_entry(struct cpu_textures *x)
{
	if (x->n < CHUNK * MAX_CHUNKS)
		return x->n++;
	for (uint32_t i = 0; i < x->n; i++)
		if (!atomic_load(&object_at(x, i + 1ull)->is_live))
			return i;
	return UINT32_MAX;
}

/* Makes object `at`; with the lock held. */
static bool object_make(struct cpu_textures *x, uint32_t at, const struct cpu_texture *t)
{
	struct object *o = NULL;

	if (at < CHUNK * MAX_CHUNKS && !atomic_load(&x->chunk[at / CHUNK])) {
		struct object *c = calloc(CHUNK, sizeof(*c));
		atomic_store_explicit(&x->chunk[at / CHUNK], c, memory_order_release);
	}
	if (at < CHUNK * MAX_CHUNKS)
		o = object_at(x, at + 1ull);
	if (!o || atomic_load(&o->is_live))
		return false;
	o->t = *t;
	atomic_store(&o->is_live, true);
	return true;
}

uint64_t cpu_texture_new(struct cpu_machine *m, const struct cpu_texture *t)
{
	struct cpu_textures *x = m->textures;

	pthread_mutex_lock(&x->lock);
	uint32_t at = free_entry(x);
	bool is_made = object_make(x, at, t);
	pthread_mutex_unlock(&x->lock);
	return is_made ? at + 1ull : 0;
}

static struct placed *placed_find(struct cpu_textures *x, uint64_t handle, bool is_surface)
{
	struct placed *p = atomic_load_explicit(&x->placed, memory_order_acquire);

	while (p && (p->handle != handle || p->t.is_surface != is_surface))
		p = p->next;
	return p;
}

bool cpu_texture_place(struct cpu_machine *m, uint64_t handle, const struct cpu_texture *t)
{
	struct cpu_textures *x = m->textures;
	const struct placed *there = placed_find(x, handle, t->is_surface);
	struct placed *p;

	if (there)
		return there->t.address == t->address && there->t.width == t->width &&
		       there->t.height == t->height;
	p = calloc(1, sizeof(*p));
	if (!p)
		return false;
	p->handle = handle;
	p->t = *t;
	pthread_mutex_lock(&x->lock);
	p->next = atomic_load(&x->placed);
	atomic_store_explicit(&x->placed, p, memory_order_release);
	pthread_mutex_unlock(&x->lock);
	return true;
}

void cpu_texture_each(struct cpu_machine *m,
		      void (*fn)(void *arg, uint64_t handle, const struct cpu_texture *t),
		      void *arg)
{
	struct cpu_textures *x = m->textures;

	pthread_mutex_lock(&x->lock);
	for (uint64_t i = 1; i <= x->n; i++) {
		struct object *o = object_at(x, i);
		if (o && atomic_load(&o->is_live))
			fn(arg, i, &o->t);
	}
	pthread_mutex_unlock(&x->lock);
}

bool cpu_texture_free(struct cpu_machine *m, uint64_t handle)
{
	struct object *o = object_at(m->textures, handle);

	atomic_fetch_add(&m->settings, 1);
	return o && atomic_exchange(&o->is_live, false);
}

const struct cpu_texture *cpu_texture_find(struct cpu_machine *m, uint64_t handle, bool is_surface)
{
	const struct placed *p = placed_find(m->textures, handle, is_surface);
	struct object *o = object_at(m->textures, handle);

	if (p)
		return &p->t;
	return o && atomic_load_explicit(&o->is_live, memory_order_acquire) ? &o->t : NULL;
}

/* ---- descriptions ---------------------------------------------------------------- */

enum cpu_sampling_error cpu_texture_sample(struct cpu_texture *t, const struct cpu_sampling *d)
{
	bool is_int = t->type != CPU_TEX_FLOAT, is_line = !t->is_array && !t->height;

	t->is_unit = is_int && !d->is_element && !(d->is_wide_element && t->bits == 32);
	if (t->is_unit && t->bits == 32)
		return CPU_SAMPLING_NO_FRACTIONS;
	t->is_filtered = !is_line && d->is_linear;
	if (t->is_filtered && is_int && !t->is_unit)
		return CPU_SAMPLING_NO_FILTER;
	t->is_normalized = !is_line && d->is_normalized;
	for (unsigned i = 0; i < 3; i++) {
		if (d->mode[i] < CPU_TEX_WRAP || d->mode[i] > CPU_TEX_BORDER)
			return CPU_SAMPLING_NO_MODE;
		t->mode[i] = (uint8_t)d->mode[i];
		/* The manual: these two are switched to clamping then. */
		if (!t->is_normalized && t->mode[i] != CPU_TEX_BORDER)
			t->mode[i] = CPU_TEX_CLAMP;
	}
	/* Beyond its end a line of memory reads as 0. */
	if (!is_line)
		memcpy(t->border, d->border, sizeof(t->border));
	return CPU_SAMPLING_GOOD;
}

/* ---- addressing ------------------------------------------------------------------ */

#define FAR 1e15 /* texels: beyond all textures, and exact in a double */

/* Texel i of n: its number by the address mode, or -1: the border. */
static int64_t address_of(uint8_t mode, int64_t i, int64_t n)
{
	int64_t turn;

	if (i >= 0 && i < n)
		return i;
	switch (mode) {
	case CPU_TEX_WRAP:
		i %= n;
		return i < 0 ? i + n : i;
	case CPU_TEX_MIRROR:
		turn = i % (2 * n);
		turn = turn < 0 ? turn + 2 * n : turn;
		return turn < n ? turn : 2 * n - 1 - turn;
	case CPU_TEX_BORDER:
		return -1;
	default:
		return i < 0 ? 0 : n - 1;
	}
}

static int64_t size_of(const struct cpu_texture *t, unsigned dim)
{
	uint64_t n = dim == 0 ? t->width : dim == 1 ? t->height : t->depth;

	return n ? (int64_t)n : 1;
}

/* One dimension: the lower texel and the upper one's weight. */
static int64_t split(const struct cpu_texture *t, const struct cpu_tex_place *p, unsigned dim,
		     bool is_between, float *weight)
{
	double x = p->at[dim], low;

	*weight = 0;
	if (x != x)
		x = 0;
	if (!p->is_int && t->is_normalized)
		x *= (double)size_of(t, dim);
	x = x > FAR ? FAR : x < -FAR ? -FAR : x;
	if (p->is_int || !is_between)
		return (int64_t)floor(x);
	x -= 0.5;
	low = floor(x);
	*weight = (float)(floor((x - low) * 256 + 0.5) / 256);
	return (int64_t)low;
}

void cpu_texture_footprint(const struct cpu_texture *t, const struct cpu_tex_place *p,
			   bool is_gather, struct cpu_footprint *out)
{
	bool is_between = is_gather || (t->is_filtered && !p->is_int);
	uint64_t pitch[3] = {cpu_texel_bytes(t), t->pitch, t->slice};
	int64_t low[3] = {0, 0, 0};
	float up[3] = {0, 0, 0};

	out->n = is_between ? 1u << p->dims : 1;
	for (unsigned d = 0; d < p->dims; d++)
		low[d] = split(t, p, d, is_between, &up[d]);
	for (uint32_t k = 0; k < out->n; k++) {
		uint64_t at = t->address;
		float w = 1;
		bool is_inside = true;
		if (p->layer >= 0)
			at += (uint64_t)address_of(CPU_TEX_CLAMP, p->layer, size_of(t, 2)) *
			      t->slice;
		for (unsigned d = 0; d < p->dims; d++) {
			bool is_up = k >> d & 1;
			int64_t i = address_of(t->mode[d], low[d] + is_up, size_of(t, d));
			w *= is_up ? up[d] : 1 - up[d];
			is_inside = is_inside && i >= 0;
			at += (uint64_t)i * pitch[d];
		}
		out->texel[k] = is_inside ? at : 0;
		out->weight[k] = is_gather ? 1 : w;
	}
}

/* ---- formats ------------------------------------------------------------------------ */

uint32_t cpu_texel_bytes(const struct cpu_texture *t)
{
	return (uint32_t)t->channels * t->bits / 8;
}

bool cpu_texture_is_float(const struct cpu_texture *t)
{
	return t->type == CPU_TEX_FLOAT || t->is_unit;
}

/* An integer of 8 or 16 bits as a float from 0, or -1, to 1. */
static float unit(const struct cpu_texture *t, uint32_t v)
{
	float most = (float)((1u << (t->bits - (t->type == CPU_TEX_SIGNED))) - 1), f;

	if (t->type != CPU_TEX_SIGNED)
		return (float)v / most;
	f = (float)(int32_t)v / most;
	return f < -1 ? -1 : f;
}

static uint32_t bits_of(float f)
{
	uint32_t v;

	memcpy(&v, &f, 4);
	return v;
}

static uint32_t whole(float f)
{
	return f > -2147483648.0f && f < 2147483648.0f ? (uint32_t)(int32_t)f : 0;
}

static uint32_t channel(const struct cpu_texture *t, const uint8_t *p)
{
	uint32_t v = 0;

	memcpy(&v, p, t->bits / 8);
	if (t->type == CPU_TEX_FLOAT)
		return t->bits == 16 ? bits_of(cpu_half_to_float((uint16_t)v)) : v;
	if (t->type == CPU_TEX_SIGNED && t->bits < 32)
		v = (uint32_t)((int32_t)(v << (32 - t->bits)) >> (32 - t->bits));
	return t->is_unit ? bits_of(unit(t, v)) : v;
}

void cpu_texel_decode(const struct cpu_texture *t, const uint8_t *texel, uint32_t out[4])
{
	bool is_float = cpu_texture_is_float(t);

	/* Channels that the format doesn't have are 0, 0, 1. */
	out[0] = out[1] = out[2] = 0;
	out[3] = is_float ? bits_of(1) : 1;
	for (unsigned c = 0; c < t->channels; c++) {
		if (texel)
			out[c] = channel(t, texel + c * t->bits / 8);
		else
			out[c] = is_float ? bits_of(t->border[c]) : whole(t->border[c]);
	}
}
