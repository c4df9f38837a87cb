/*
 * dims.c - copies of two and three dimensions, as the judge hears of them.
 *
 * Arrays have an address if there is a texture or surface object of theirs (textures.c); of others
 * that side of a copy isn't judged.
 */
#include "agent/judge/judge.h"

/* One side: rows, and where in them it begins. */
struct side {
	CUmemorytype type;
	const void *host;
	CUdeviceptr device;
	CUarray array;
	size_t pitch, height, x, y, z;
};

static struct race_judge_place place(const struct side *s, size_t width, size_t height)
{
	struct race_judge_place p = {.pitch = s->pitch ? s->pitch : width};
	uint64_t at = s->type == CU_MEMORYTYPE_HOST ? (uint64_t)(uintptr_t)s->host : s->device;

	p.slice = p.pitch * (s->height ? s->height : height);
	if (s->type == CU_MEMORYTYPE_ARRAY) {
		p = judge_array_place(s->array);
		at = p.addr;
	}
	if (!at)
		return (struct race_judge_place){0};
	p.addr = at + s->x + s->y * p.pitch + s->z * p.slice;
	return p;
}

struct race_judge_operation judge_copy_2d(const CUDA_MEMCPY2D *c)
{
	const struct side to = {c->dstMemoryType, c->dstHost,  c->dstDevice,
				c->dstArray,	  c->dstPitch, 0,
				c->dstXInBytes,	  c->dstY,     0};
	const struct side from = {c->srcMemoryType, c->srcHost,	 c->srcDevice,
				  c->srcArray,	    c->srcPitch, 0,
				  c->srcXInBytes,   c->srcY,	 0};

	return (struct race_judge_operation){.kind = RACE_JUDGE_COPY,
					     .dst = place(&to, c->WidthInBytes, c->Height),
					     .src = place(&from, c->WidthInBytes, c->Height),
					     .bytes = c->WidthInBytes,
					     .height = c->Height,
					     .depth = 1};
}

struct race_judge_operation judge_copy_3d(const CUDA_MEMCPY3D *c)
{
	const struct side to = {c->dstMemoryType, c->dstHost,  c->dstDevice,
				c->dstArray,	  c->dstPitch, c->dstHeight,
				c->dstXInBytes,	  c->dstY,     c->dstZ};
	const struct side from = {c->srcMemoryType, c->srcHost,	 c->srcDevice,
				  c->srcArray,	    c->srcPitch, c->srcHeight,
				  c->srcXInBytes,   c->srcY,	 c->srcZ};

	return (struct race_judge_operation){.kind = RACE_JUDGE_COPY,
					     .dst = place(&to, c->WidthInBytes, c->Height),
					     .src = place(&from, c->WidthInBytes, c->Height),
					     .bytes = c->WidthInBytes,
					     .height = c->Height,
					     .depth = c->Depth};
}

struct race_judge_operation judge_copy_peer(const CUDA_MEMCPY3D_PEER *c)
{
	const CUDA_MEMCPY3D same = {.srcXInBytes = c->srcXInBytes,
				    .srcY = c->srcY,
				    .srcZ = c->srcZ,
				    .srcMemoryType = c->srcMemoryType,
				    .srcHost = c->srcHost,
				    .srcDevice = c->srcDevice,
				    .srcArray = c->srcArray,
				    .srcPitch = c->srcPitch,
				    .srcHeight = c->srcHeight,
				    .dstXInBytes = c->dstXInBytes,
				    .dstY = c->dstY,
				    .dstZ = c->dstZ,
				    .dstMemoryType = c->dstMemoryType,
				    .dstHost = c->dstHost,
				    .dstDevice = c->dstDevice,
				    .dstArray = c->dstArray,
				    .dstPitch = c->dstPitch,
				    .dstHeight = c->dstHeight,
				    .WidthInBytes = c->WidthInBytes,
				    .Height = c->Height,
				    .Depth = c->Depth};

	return judge_copy_3d(&same);
}

uint64_t judge_array_byte(CUarray a, size_t offset)
{
	uint64_t at = judge_array_place(a).addr;

	return at ? at + offset : 0;
}
