/*
 * stack.c - the memory of a warp that grows with calls: frames, return
 * addresses, .param areas, local memory.
 *
 * Everything starts small and doubles, so that a hundred thousand threads that
 * call nothing cost their registers only. Depth is limited to DEPTH_MAX,
 * local memory to LOCAL_MAX bytes a thread as on hardware, one warp's
 * frames to FRAMES_MAX. A finished warp's memory is kept for the next one of the same grid; local
 * memory and what may be read of the first frame are cleared then, of deeper ones at each call
 * (control.c).
 */
#include "cpu/sched.h"

#include <stdlib.h>
#include <string.h>

#define DEPTH_MAX  1024u
#define LOCAL_MAX  (512u << 10)
#define FRAMES_MAX (64u << 20)

static void *grow(void *old, size_t old_bytes, size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) & ~(size_t)63);

	if (!p)
		return NULL;
	if (old_bytes)
		memcpy(p, old, old_bytes);
	memset((uint8_t *)p + old_bytes, 0, bytes - old_bytes);
	free(old);
	return p;
}

bool cpu_stack_frames(struct cpu_warp *w, uint32_t depth)
{
	const struct cpu_layout *l = w->grid->func->layout;
	size_t had = w->depth_cap, want = had ? had * 2 : 1;
	size_t param = (size_t)l->param * CPU_WARP;
	void *p;

	if (depth < had)
		return true;
	while (want <= depth)
		want *= 2;
	if (depth >= DEPTH_MAX || want * l->frame > FRAMES_MAX)
		return false;
	p = grow(w->frames, had * l->frame, want * l->frame + 64);
	if (!p)
		return false;
	w->frames = p;
	if (!(p = grow(w->ret, had * sizeof(*w->ret), want * sizeof(*w->ret))))
		return false;
	w->ret = p;
	if (!(p = grow(w->fp, had * sizeof(*w->fp), want * sizeof(*w->fp))))
		return false;
	w->fp = p;
	if (param) {
		if (!(p = grow(w->params, had * param, want * param)))
			return false;
		w->params = p;
	}
	w->depth_cap = (uint32_t)want;
	cpu_warp_focus(w, w->cur);
	return true;
}

/* Large stacks come from calloc: their pages cost nothing until they are accessed. */
static bool grow_local(struct cpu_warp *w, uint32_t need)
{
	uint32_t stride = w->local_stride ? w->local_stride * 2 : 64;

	if (need > LOCAL_MAX)
		return false;
	while (stride < need)
		stride *= 2;

	uint8_t *p = calloc(CPU_WARP, stride);

	if (!p)
		return false;
	for (unsigned l = 0; l < CPU_WARP && w->local; l++)
		memcpy(p + (size_t)l * stride, w->local + (size_t)l * w->local_stride,
		       w->sp[l] < w->local_stride ? w->sp[l] : w->local_stride);
	free(w->local);
	w->local = p;
	w->local_stride = stride;
	return true;
}

bool cpu_stack_local(struct cpu_warp *w, uint32_t lanes, uint32_t bytes)
{
	uint32_t top = 0;

	CPU_EACH_LANE (l, lanes) {
		if (w->sp[l] > top)
			top = w->sp[l];
	}
	if (bytes > LOCAL_MAX || top > LOCAL_MAX)
		return false;
	return top + bytes <= w->local_stride || grow_local(w, top + bytes);
}

bool cpu_stack_init(struct cpu_warp *w)
{
	const struct cpu_func *f = w->grid->func;

	if (w->depth_cap) {
		for (uint32_t i = 0; i < f->nunset; i++)
			memset(w->frames + f->unset[i][0], 0, f->unset[i][1]);
	} else {
		w->cur = &w->split[0];
		w->cur->func = w->grid->func;
		w->cur->depth = 0;
		if (!cpu_stack_frames(w, 0))
			return false;
	}
	if (w->local) {
		if ((size_t)w->local_stride * CPU_WARP > 1u << 20) {
			free(w->local);
			w->local = NULL;
			w->local_stride = 0;
		} else {
			memset(w->local, 0, (size_t)w->local_stride * CPU_WARP);
		}
	}
	memset(w->sp, 0, sizeof(w->sp));
	memset(w->fp[0], 0, sizeof(w->fp[0]));
	if (f->local > LOCAL_MAX || (f->local > w->local_stride && !grow_local(w, f->local)))
		return false;
	for (unsigned l = 0; l < CPU_WARP; l++)
		w->sp[l] = f->local;
	return true;
}

void cpu_stack_free(struct cpu_warp *w)
{
	free(w->frames);
	free(w->ret);
	free(w->fp);
	free(w->params);
	free(w->local);
	w->frames = w->params = w->local = NULL;
	w->ret = NULL;
	w->fp = NULL;
	w->depth_cap = w->local_stride = 0;
}
