/*
 * textures.c - texture and surface objects, as the driver was asked for them, and the arrays that
 * they read and write.
 *
 * A launch of a kernel that may use such objects hands over those of its context (copy.c). What an
 * array holds lies where only the hardware finds it, so an array gets an address of ours when the
 * first object of it is made: there the judge sees its texels row by row, as the driver copies them
 * out before a launch.
 *
 * Misses: mipmaps, views, cube maps, sRGB, anisotropy, packed formats, which the CPU device doesn't
 * have (the kernel stops there, by name); texture references; arrays in graphs.
 * Costs: nothing for other kernels; a copy of the array otherwise.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/judge/judge.h"

/* Addresses of arrays: where neither a GPU nor a process has anything, nor the CPU device. */
#define FIRST 0x680000000000ull
#define END   0x700000000000ull
#define ALIGN 0x100000ull

struct array {
	struct array *next;
	CUarray a;
	CUcontext ctx;
	struct race_judge_texture shape; /* address, sizes, format */
	uint64_t bytes;
};

struct texture {
	struct texture *next;
	CUcontext ctx;
	CUarray array; /* NULL: of memory */
	struct race_judge_texture t;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct texture *textures;
static struct array *arrays;
static uint64_t next_address = FIRST;

/* False: the CPU device has no such format. */
static bool set_format(struct race_judge_texture *t, CUarray_format f, unsigned channels)
{
	static const struct {
		CUarray_format f;
		uint32_t bits, type;
	} rows[] = {{CU_AD_FORMAT_UNSIGNED_INT8, 8, RACE_JUDGE_TEX_UNSIGNED},
		    {CU_AD_FORMAT_UNSIGNED_INT16, 16, RACE_JUDGE_TEX_UNSIGNED},
		    {CU_AD_FORMAT_UNSIGNED_INT32, 32, RACE_JUDGE_TEX_UNSIGNED},
		    {CU_AD_FORMAT_SIGNED_INT8, 8, RACE_JUDGE_TEX_SIGNED},
		    {CU_AD_FORMAT_SIGNED_INT16, 16, RACE_JUDGE_TEX_SIGNED},
		    {CU_AD_FORMAT_SIGNED_INT32, 32, RACE_JUDGE_TEX_SIGNED},
		    {CU_AD_FORMAT_HALF, 16, RACE_JUDGE_TEX_FLOAT},
		    {CU_AD_FORMAT_FLOAT, 32, RACE_JUDGE_TEX_FLOAT}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].f == f) {
			t->bits = rows[i].bits;
			t->type = rows[i].type;
			t->channels = channels;
			return channels == 1 || channels == 2 || channels == 4;
		}
	return false;
}

static uint64_t at_least_one(uint64_t n)
{
	return n ? n : 1;
}

/* ---- arrays, with the lock ------------------------------------------------------- */

static bool set_shape(struct array *x)
{
	struct race_judge_texture *t = &x->shape;
	CUDA_ARRAY3D_DESCRIPTOR d;
	struct judge_guard g;

	judge_enter(&g);
	CUresult r = judge_driver.array_get_descriptor(&d, x->a);
	judge_leave(&g);
	if (r != CUDA_SUCCESS || !set_format(t, d.Format, d.NumChannels) ||
	    d.Flags & CUDA_ARRAY3D_CUBEMAP)
		return false;
	t->width = d.Width;
	t->height = d.Height;
	t->depth = d.Depth;
	t->pitch = d.Width * t->channels * t->bits / 8;
	t->slice = t->pitch * at_least_one(d.Height);
	t->flags = RACE_JUDGE_TEX_ARRAY;
	if (d.Flags & CUDA_ARRAY3D_LAYERED)
		t->flags |= RACE_JUDGE_TEX_LAYERED;
	x->bytes = t->slice * at_least_one(d.Depth);
	return x->bytes && x->bytes < END - next_address;
}

static struct array *array_find(CUarray a)
{
	struct array *x = arrays;

	while (x && x->a != a)
		x = x->next;
	return x;
}

/* NULL: it isn't one that can be judged. */
static const struct array *array_get(CUarray a, CUcontext ctx)
{
	struct array *x = array_find(a);

	if (x || !(x = calloc(1, sizeof(*x))))
		return x;
	x->a = a;
	x->ctx = ctx;
	if (!set_shape(x)) {
		free(x);
		return NULL;
	}
	x->shape.address = next_address;
	next_address += (x->bytes + 2 * ALIGN - 1) / ALIGN * ALIGN;
	x->next = arrays;
	arrays = x;
	return x;
}

bool judge_array_at(CUdeviceptr addr, struct judge_range *out)
{
	const struct array *x;

	if (addr < FIRST || addr >= END)
		return false;
	pthread_mutex_lock(&lock);
	for (x = arrays; x && addr - x->shape.address >= x->bytes; x = x->next)
		;
	if (x)
		*out = (struct judge_range){.base = x->shape.address,
					    .bytes = x->bytes,
					    .kind = RACE_JUDGE_DEVICE,
					    .array = x->a,
					    .width = x->shape.pitch,
					    .height = at_least_one(x->shape.height),
					    .depth = at_least_one(x->shape.depth)};
	pthread_mutex_unlock(&lock);
	return x != NULL;
}

struct race_judge_place judge_array_place(CUarray a)
{
	struct race_judge_place p = {0};

	pthread_mutex_lock(&lock);
	const struct array *x = array_find(a);
	if (x)
		p = (struct race_judge_place){x->shape.address, x->shape.pitch, x->shape.slice};
	pthread_mutex_unlock(&lock);
	return p;
}

/* ---- objects --------------------------------------------------------------------- */

static bool set_resource(struct texture *x, const CUDA_RESOURCE_DESC *d)
{
	struct race_judge_texture *t = &x->t;
	const struct array *a;

	switch (d->resType) {
	case CU_RESOURCE_TYPE_ARRAY:
		x->array = d->res.array.hArray;
		a = array_get(x->array, x->ctx);
		if (a)
			*t = a->shape;
		return a != NULL;
	case CU_RESOURCE_TYPE_LINEAR:
		if (!set_format(t, d->res.linear.format, d->res.linear.numChannels))
			return false;
		t->address = d->res.linear.devPtr;
		t->width = d->res.linear.sizeInBytes * 8 / (t->channels * t->bits);
		return true;
	case CU_RESOURCE_TYPE_PITCH2D:
		t->address = d->res.pitch2D.devPtr;
		t->width = d->res.pitch2D.width;
		t->height = d->res.pitch2D.height;
		t->pitch = d->res.pitch2D.pitchInBytes;
		return set_format(t, d->res.pitch2D.format, d->res.pitch2D.numChannels);
	default:
		return false;
	}
}

static bool set_sampling(struct race_judge_texture *t, const CUDA_TEXTURE_DESC *d)
{
	if (d->flags & (CU_TRSF_SRGB | CU_TRSF_SEAMLESS_CUBEMAP) || d->maxAnisotropy > 1)
		return false;
	if (d->filterMode == CU_TR_FILTER_MODE_LINEAR)
		t->flags |= RACE_JUDGE_TEX_LINEAR;
	if (d->flags & CU_TRSF_READ_AS_INTEGER)
		t->flags |= RACE_JUDGE_TEX_INTEGERS;
	if (d->flags & CU_TRSF_NORMALIZED_COORDINATES)
		t->flags |= RACE_JUDGE_TEX_NORMALIZED;
	for (unsigned i = 0; i < 3; i++)
		t->mode[i] = (int32_t)d->addressMode[i];
	memcpy(t->border, d->borderColor, sizeof(t->border));
	return true;
}

/* With the lock: takes out those that `is` names. */
static void remove_some(bool (*is)(const struct texture *x, const void *arg), const void *arg)
{
	for (struct texture **at = &textures, *x; (x = *at);) {
		if (!is(x, arg)) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		free(x);
	}
}

static CUcontext current(void)
{
	CUcontext ctx = NULL;
	struct judge_guard g;

	judge_enter(&g);
	if (judge_driver.ctx_get_current(&ctx) != CUDA_SUCCESS)
		ctx = NULL;
	judge_leave(&g);
	return ctx;
}

static bool is_same(const struct texture *x, const void *arg)
{
	const struct texture *y = arg;

	return x->ctx == y->ctx && x->t.handle == y->t.handle &&
	       !((x->t.flags ^ y->t.flags) & RACE_JUDGE_TEX_SURFACE);
}

void judge_texture_add(uint64_t handle, const CUDA_RESOURCE_DESC *res, const CUDA_TEXTURE_DESC *tex,
		       bool is_whole)
{
	struct texture *x;

	if (!judge_is_on())
		return;
	if (!(x = calloc(1, sizeof(*x)))) {
		judge_set_off(); /* the handle may have been another texture's */
		return;
	}
	x->ctx = current();
	pthread_mutex_lock(&lock);
	bool is_good = is_whole && set_resource(x, res) && (!tex || set_sampling(&x->t, tex));
	x->t.handle = handle;
	x->t.flags |= tex ? 0 : RACE_JUDGE_TEX_SURFACE;
	remove_some(is_same, x);
	if (is_good) {
		x->next = textures;
		textures = x;
	}
	pthread_mutex_unlock(&lock);
	if (!is_good)
		free(x);
}

void judge_texture_remove(uint64_t handle, bool is_surface)
{
	if (!judge_is_on())
		return;
	struct texture x = {
		.ctx = current(),
		.t = {.handle = handle, .flags = is_surface ? RACE_JUDGE_TEX_SURFACE : 0}};
	pthread_mutex_lock(&lock);
	remove_some(is_same, &x);
	pthread_mutex_unlock(&lock);
}

static bool has_array(const struct texture *x, const void *arg)
{
	return x->array == arg;
}

void judge_array_remove(CUarray a)
{
	struct array **at = &arrays, *x;

	pthread_mutex_lock(&lock);
	while (*at && (*at)->a != a)
		at = &(*at)->next;
	x = *at;
	if (x) {
		*at = x->next;
		remove_some(has_array, a);
		free(x);
	}
	pthread_mutex_unlock(&lock);
}

static bool has_context(const struct texture *x, const void *arg)
{
	return !arg || x->ctx == arg;
}

void judge_textures_forget(CUcontext ctx)
{
	pthread_mutex_lock(&lock);
	remove_some(has_context, ctx);
	for (struct array **at = &arrays, *x; (x = *at);) {
		if (ctx && x->ctx != ctx) {
			at = &x->next;
			continue;
		}
		*at = x->next;
		free(x);
	}
	pthread_mutex_unlock(&lock);
}

uint32_t judge_textures_find(CUcontext ctx, struct race_judge_texture *out)
{
	uint32_t n = 0;

	pthread_mutex_lock(&lock);
	for (const struct texture *x = textures; x; x = x->next) {
		if (x->ctx != ctx)
			continue;
		if (n < RACE_JUDGE_TEXTURES)
			out[n] = x->t;
		n++;
	}
	pthread_mutex_unlock(&lock);
	return n <= RACE_JUDGE_TEXTURES ? n : UINT32_MAX;
}
