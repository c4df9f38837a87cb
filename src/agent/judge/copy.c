/*
 * copy.c - before a launch: is it taken, and then its memory as it is before it.
 *
 * What a launch can reach at once are the allocations that its parameters point into and the
 * variables of its module. They are copied by the device, in the launch's own stream, so that the
 * copies have what the launch will find and the program waits for nothing. Where other work may go
 * on meanwhile (there is more than one stream, or host code can write to the memory) all is copied
 * twice, one copy after the other; bytes that are the same in both were so at one moment between
 * the two, and other bytes are not used (answer.c). A kernel without any strong read or fence for
 * the whole GPU needs one copy: it may find each word as it was before or after.
 *
 * Misses: what is reached through pointers in memory, if the program has allocated much
 * (allocated.c), until a launch of the kernel asked for it;
 * a value that was changed and changed back between the two copies.
 * Costs: the time of the copies in the stream; memory (rooms.c); a few driver calls of the
 * launching thread for each allocation.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"
#include "agent/order.h"
#include "base/clock.h"
#include "race/file/shm_write.h"
#include "race/race.h"

#define ALIGN	    512ull
#define LOW_ADDRESS 65536u
#define VARIABLES   256u /* of a module, at most: each is a copy */
#define DEVICES	    64
#define NAME_CHARS  160		  /* of a kernel's name, in lines */
#define FAR_MOST    (64ull << 20) /* bytes that are copied as pointers in memory may lead there */
#define AGAIN	    64u /* launches of a kernel that can't be judged, until it is tried again */

/* All under the lock of code.c. */
static uint64_t launches;
static uint64_t next;	 /* which one comes right after the last that the order has seen; or 0 */
static bool has_streams; /* atomic */

struct plan {
	struct judge_range r[JUDGE_RANGES];
	uint32_t n, sure; /* the first `sure` of them are reached, if anything is */
	bool is_full, is_twice, is_verified;
};
static struct plan plan;

void judge_note_stream(void)
{
	if (judge_has_streams())
		return;
	__atomic_store_n(&has_streams, true, __ATOMIC_RELAXED);
	agent_order_change();
}

bool judge_has_streams(void)
{
	return __atomic_load_n(&has_streams, __ATOMIC_RELAXED);
}

/* ---- what is reached ------------------------------------------------------------- */

bool judge_memory_at(CUdeviceptr addr, struct judge_range *out)
{
	CUdeviceptr start = 0;
	size_t bytes = 0;
	unsigned type = 0;
	int is_managed = 0;
	CUpointer_attribute which[] = {
		CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE,
		CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
	void *data[] = {&start, &bytes, &type, &is_managed};

	if (addr < LOW_ADDRESS || addr >> 47 ||
	    judge_driver.pointer_get_attributes(4, which, data, addr) != CUDA_SUCCESS || !start ||
	    !bytes || addr - start >= bytes || judge_memory_is_freed(start))
		return false;
	*out = (struct judge_range){.base = start, .bytes = bytes};
	out->kind = is_managed			 ? RACE_JUDGE_MANAGED
		    : type == CU_MEMORYTYPE_HOST ? RACE_JUDGE_HOST
						 : RACE_JUDGE_DEVICE;
	return true;
}

static void add_range(const struct judge_range *r)
{
	if (plan.n == JUDGE_RANGES) {
		plan.is_full = true;
		return;
	}
	plan.r[plan.n++] = *r;
	plan.is_twice |= r->kind == RACE_JUDGE_MANAGED || r->kind == RACE_JUDGE_HOST;
}

static void add_address(CUdeviceptr addr)
{
	struct judge_range r;

	for (uint32_t i = 0; i < plan.n; i++)
		if (addr - plan.r[i].base < plan.r[i].bytes)
			return;
	if (judge_array_at(addr, &r) || judge_memory_at(addr, &r))
		add_range(&r);
}

static void add_variables(struct judge_code *c, CUcontext ctx)
{
	size_t n = 0;

	judge_code_place(c, ctx);
	for (size_t i = 0; i < c->nvariables; i++)
		n += c->variables[i].at && c->variables[i].bytes;
	if (n > VARIABLES) {
		plan.is_full = true;
		return;
	}
	for (size_t i = 0; i < c->nvariables; i++) {
		const struct judge_variable *v = &c->variables[i];
		if (v->at && v->bytes)
			add_range(&(struct judge_range){
				.base = v->at, .bytes = v->bytes, .kind = RACE_JUDGE_VARIABLE});
	}
}

/* What tensor maps lead to: those among the parameters; or, if its maps are elsewhere, those that
 * were made last. */
static void add_tensors(const struct judge_kernel *k, const uint8_t *params, uint32_t bytes)
{
	CUdeviceptr found[JUDGE_TENSORS];
	uint32_t n = judge_maps_find(params, bytes, found);

	if (!n && judge_kernel_has_maps(k))
		n = judge_maps_last(found);
	for (uint32_t i = 0; i < n; i++)
		add_address(found[i]);
}

static bool is_param(uint64_t v, const uint8_t *params, uint32_t bytes)
{
	for (uint32_t i = 0; i + 8 <= bytes; i += 8)
		if (!memcmp(params + i, &v, sizeof(v)))
			return true;
	return false;
}

/* The context's textures, and the memory of those whose numbers are among the parameters; if none
 * is, of all. NULL, or why not. */
static const char *take_textures(struct judge_job *j)
{
	struct race_judge_launch *h = &j->head;
	static struct race_judge_texture found[RACE_JUDGE_TEXTURES];
	bool has_named = false;

	if (!judge_kernel_has_textures(j->f->kernel))
		return NULL;
	uint32_t n = judge_textures_find(j->ctx, found);
	if (n > RACE_JUDGE_TEXTURES)
		return "there are too many textures";
	j->textures = malloc(n * sizeof(*found) + 1);
	if (!j->textures)
		return "there is no memory";
	memcpy(j->textures, found, n * sizeof(*found));
	h->textures = n;
	for (uint32_t i = 0; i < n; i++)
		has_named |= is_param(found[i].handle, j->params, h->params);
	for (uint32_t i = 0; i < n; i++)
		if (!has_named || is_param(found[i].handle, j->params, h->params))
			add_address(found[i].address);
	return NULL;
}

/* What pointers in memory may lead to. */
static void add_far(CUcontext ctx)
{
	static struct judge_allocation found[JUDGE_ALLOCATIONS];
	const uint32_t n = judge_allocations(ctx, found);
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n && plan.n < JUDGE_RANGES; i++)
		if (found[i].bytes <= FAR_MOST - bytes) {
			bytes += found[i].bytes;
			add_address(found[i].at);
		}
}

static void make_plan(struct judge_function *f, CUcontext ctx, const uint8_t *params, uint32_t n)
{
	plan.n = 0;
	plan.is_full = false;
	plan.is_twice = judge_has_streams();
	add_variables(f->code, ctx);
	for (uint32_t i = 0; i + 8 <= n; i += 8) {
		CUdeviceptr addr;
		memcpy(&addr, params + i, sizeof(addr));
		if (addr)
			add_address(addr);
	}
	add_tensors(f->kernel, params, n);
	for (unsigned i = 0; i < f->nmore; i++)
		add_address(f->more[i]);
}

/* Bytes of all copies. */
static uint64_t plan_bytes(void)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < plan.n; i++)
		all += (plan.r[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
	return all * (1u + plan.is_twice + plan.is_verified);
}

/* An array's texels row by row. */
static CUresult copy_array(CUdeviceptr to, const struct judge_range *r, CUstream s)
{
	const CUDA_MEMCPY3D c = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
				 .srcArray = r->array,
				 .dstMemoryType = CU_MEMORYTYPE_DEVICE,
				 .dstDevice = to,
				 .dstPitch = r->width,
				 .dstHeight = r->height,
				 .WidthInBytes = r->width,
				 .Height = r->height,
				 .Depth = r->depth};

	return judge_driver.memcpy_3d_async(&c, s);
}

static bool copy_range(CUdeviceptr to, const struct judge_range *r, CUstream s)
{
	return (r->array ? copy_array(to, r, s)
			 : judge_driver.memcpy_async(to, r->base, r->bytes, s)) == CUDA_SUCCESS;
}

static bool copy_once(CUdeviceptr *at, const struct judge_dims *d, bool is_second)
{
	for (uint32_t i = 0; i < plan.n; i++) {
		struct judge_range *r = &plan.r[i];
		*(is_second ? &r->again : &r->copy) = *at;
		if (d->nodes ? r->array || !judge_nodes_copy(d->nodes, *at, r->base, r->bytes)
			     : !copy_range(*at, r, d->stream))
			return false;
		*at += (r->bytes + ALIGN - 1) / ALIGN * ALIGN;
	}
	return true;
}

/* NULL, or why it can't be done. */
static const char *copy_all(struct judge_job *j, const struct judge_dims *d)
{
	if (plan.is_full)
		return "it can reach too many allocations or variables";
	j->room = judge_room_get(j->ctx, plan_bytes());
	if (!j->room && plan.n > plan.sure) {
		plan.n = plan.sure;
		j->room = judge_room_get(j->ctx, plan_bytes());
	}
	if (!j->room)
		return "there is no room on the GPU for a copy of what it can reach";
	CUdeviceptr at = j->room->at;
	if (!copy_once(&at, d, false) || (plan.is_twice && !copy_once(&at, d, true)) ||
	    (!d->nodes && !plan.is_verified &&
	     judge_driver.event_record(j->room->event, d->stream) != CUDA_SUCCESS))
		return "what it can reach can't be copied";
	j->ranges = malloc(plan.n * sizeof(*j->ranges) + 1);
	if (!j->ranges)
		return "there is no memory";
	memcpy(j->ranges, plan.r, plan.n * sizeof(*j->ranges));
	j->nranges = plan.n;
	j->is_twice = plan.is_twice;
	for (uint32_t i = 0; i < plan.n && plan.is_verified; i++) {
		j->ranges[i].after = at;
		at += (plan.r[i].bytes + ALIGN - 1) / ALIGN * ALIGN;
	}
	return NULL;
}

/* Of the calling thread: a launch after which its memory is to be copied. */
static __thread struct judge_job *unfinished;

void judge_finish(void)
{
	struct judge_job *j = unfinished;
	struct judge_guard g;
	bool is_good = true;

	if (!j || judge_is_inside())
		return;
	unfinished = NULL;
	judge_enter(&g);
	for (uint32_t i = 0; i < j->nranges && is_good; i++)
		is_good = copy_range(j->ranges[i].after, &j->ranges[i], j->stream);
	if (!is_good)
		j->head.flags &= ~RACE_JUDGE_HAS_AFTER;
	is_good = judge_driver.event_record(j->room->event, j->stream) == CUDA_SUCCESS;
	judge_leave(&g);
	if (is_good) {
		judge_job_put(j);
		return;
	}
	judge_code_lock();
	judge_untake(j);
	judge_code_unlock();
}

/* It goes its way, at once or when its memory has been copied after it. */
static void put(struct judge_job *j)
{
	if (j->head.flags & RACE_JUDGE_HAS_AFTER)
		unfinished = j;
	else
		judge_job_put(j);
}

/* ---- the launch ------------------------------------------------------------------ */

/* Parameters as PTX lays them out, whatever the driver does. False: not all of them are there. */
static bool take_params(uint8_t *out, const struct judge_kernel *k, void **params, void **extra)
{
	uint32_t n, bytes;
	const struct judge_param *p = judge_kernel_params(k, &n, &bytes);

	for (uint32_t i = 0; params && i < n; i++) {
		if (!params[i])
			return false;
		memcpy(out + p[i].offset, params[i], p[i].bytes);
	}
	for (size_t i = 0; !params && extra && extra[i] != CU_LAUNCH_PARAM_END; i += 2)
		if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			memcpy(out, extra[i + 1], bytes);
	return !n || params || extra;
}

/* The index of the launch's shape; -1: there were too many. */
static int shape_of(struct judge_function *f, const struct judge_dims *d)
{
	uint64_t h = 1469598103934665603ull;
	const uint64_t parts[] = {(uint64_t)d->grid[0] << 32 | d->grid[1],
				  (uint64_t)d->grid[2] << 32 | d->block[0],
				  (uint64_t)d->block[1] << 32 | d->block[2], d->shared};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		h = (h ^ parts[i]) * 1099511628211ull;
	for (int i = 0; i < (int)(sizeof(f->shape) / sizeof(*f->shape)); i++) {
		if (!f->taken[i])
			f->shape[i] = h;
		if (f->shape[i] == h)
			return i;
	}
	return -1;
}

static struct race_judge_question question_of(const struct judge_function *f, int shape,
					      const struct judge_dims *d)
{
	struct race_judge_question q = {.units = 1, .unit_blocks = 1};

	for (unsigned i = 0; i < 3; i++) {
		uint32_t each = d->cluster[i] ? d->cluster[i] : 1;
		q.units *= d->grid[i] / each;
		q.unit_blocks *= each;
	}
	q.earlier = shape < 0 ? UINT64_MAX : f->taken[shape];
	q.spent_ns = judge_spent_ns();
	q.program_ns = judge_age_ns();
	return q;
}

/* Version and processors of a device. */
static bool device_of(int *device, unsigned *sm, unsigned *sms)
{
	static struct {
		unsigned sm, sms;
	} known[DEVICES];
	const struct judge_driver *d = &judge_driver;
	int major = 0, minor = 0, n = 0;

	if (d->ctx_get_device(device) != CUDA_SUCCESS || *device < 0 || *device >= DEVICES)
		return false;
	if (!known[*device].sm &&
	    d->device_get_attribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
				    *device) == CUDA_SUCCESS &&
	    d->device_get_attribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
				    *device) == CUDA_SUCCESS &&
	    d->device_get_attribute(&n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, *device) ==
		    CUDA_SUCCESS) {
		known[*device].sm = (unsigned)(major * 10 + minor);
		known[*device].sms = (unsigned)n;
	}
	*sm = known[*device].sm;
	*sms = known[*device].sms;
	return *sm != 0;
}

/* It isn't one yet: its graph's launches are judged (graph.c). */
static const char captured[] = "it is captured into a graph";

/* The context, if the launch is one that can be followed. */
static const char *find_context(const struct judge_dims *d, CUcontext *ctx)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	CUcontext own = NULL;

	if (judge_driver.ctx_get_current(ctx) != CUDA_SUCCESS || !*ctx)
		return "there is no context";
	if (judge_driver.stream_is_capturing(d->stream, &status) != CUDA_SUCCESS ||
	    status != CU_STREAM_CAPTURE_STATUS_NONE)
		return captured;
	if (d->stream && d->stream != CU_STREAM_LEGACY && d->stream != CU_STREAM_PER_THREAD &&
	    (judge_driver.stream_get_ctx(d->stream, &own) != CUDA_SUCCESS || own != *ctx))
		return "its stream is another context's";
	return NULL;
}

static const char *fill(struct judge_job *j, const struct judge_dims *d, void **params,
			void **extra, const struct race_judge_order *order)
{
	struct judge_function *f = j->f;
	struct race_judge_launch *h = &j->head;
	unsigned sm, sms;
	uint32_t n, bytes;
	int device;
	const char *why = find_context(d, &j->ctx);

	if (!why && !device_of(&device, &sm, &sms))
		why = "its device can't be asked";
	if (!why)
		why = judge_function_prepare(f, sm);
	if (why)
		return why;
	judge_kernel_params(f->kernel, &n, &bytes);
	*h = (struct race_judge_launch){.module = f->code->id,
					.number = launches,
					.shared = d->shared,
					.device = (uint32_t)device,
					.sms = sms,
					.flags = d->is_cooperative ? RACE_JUDGE_COOPERATIVE : 0,
					.seed = race_shm_get()->seed,
					.kernel = (uint32_t)strlen(f->name),
					.params = bytes};
	if (judge_has_streams() && !judge_kernel_is_sync(f->kernel) && !d->is_opaque)
		h->order = *order;
	memcpy(h->grid, d->grid, sizeof(h->grid));
	memcpy(h->block, d->block, sizeof(h->block));
	memcpy(h->cluster, d->cluster, sizeof(h->cluster));
	j->params = calloc(1, bytes + 8u);
	if (!j->params)
		return "there is no memory";
	if (!take_params(j->params, f->kernel, params, extra))
		return "its parameters aren't all there";
	j->may_mix = !judge_kernel_is_sync(f->kernel);
	make_plan(f, j->ctx, j->params, bytes);
	if ((why = take_textures(j)))
		return why;
	plan.sure = plan.n;
	if (judge_kernel_is_far(f->kernel))
		add_far(j->ctx);
	plan.is_twice &= !j->may_mix;
	plan.is_verified = judge_policy()->mode == RACE_JUDGE_VERIFY && !d->nodes;
	h->flags |= plan.is_verified ? RACE_JUDGE_HAS_AFTER : 0;
	j->stream = d->stream;
	return copy_all(j, d);
}

static void say_not(struct judge_function *f, const char *why)
{
	struct base_arena a = {0};

	if (f->is_said || why == captured)
		return;
	f->is_said = true;
	race_shm_remark("not judged beside the GPU: a launch of %.*s: %s", NAME_CHARS,
			race_short_name(&a, f->name), why);
	base_arena_free(&a);
}

/* With the lock held. NULL: it isn't taken; *again: for how many launches it needn't be asked. */
static struct judge_job *make(struct judge_function *f, int shape, const struct judge_dims *d,
			      void **params, void **extra, const struct race_judge_order *order,
			      uint16_t *again)
{
	struct race_judge_question q = question_of(f, shape, d);
	struct race_judge_decision what = race_judge_decide(judge_policy(), &q);
	uint64_t began = base_now_ns();
	struct judge_guard g;
	struct judge_job *j;

	if (what.why == RACE_JUDGE_NO_TIME)
		say_not(f, race_judge_why_text(what.why));
	*again = what.why == RACE_JUDGE_TRY ? 0 : AGAIN;
	if (what.why != RACE_JUDGE_TRY || !judge_has_place() || !(j = calloc(1, sizeof(*j))))
		return NULL;
	uint64_t rested = judge_rest_counted();
	launches += rested;
	next += next ? rested : 0;
	j->f = f;
	j->shape = shape < 0 ? 0 : (unsigned)shape;
	judge_enter(&g);
	const char *why = fill(j, d, params, extra, order);
	judge_leave(&g);
	j->head.earlier = shape < 0 ? 0 : q.earlier;
	if (why) {
		*again = f->is_said ? AGAIN : 0;
		say_not(f, why);
		if (j->room)
			j->room->is_used = false;
		judge_job_free(j);
		return NULL;
	}
	if (shape >= 0)
		f->taken[shape]++;
	j->head.held_ns = base_now_ns() - began;
	return j;
}

/* No launch of it is judged, which was said; or nothing is known of it. */
static bool is_foreign(const struct judge_function *f)
{
	return !f || (f->code->why && f->is_said);
}

/* Launches like it were judged: the way of nearly all. */
static bool is_seen(const struct judge_function *f, int shape)
{
	return f->kernel &&
	       race_judge_is_seen(judge_policy(), shape < 0 ? UINT64_MAX : f->taken[shape]);
}

/* May it order anything? */
static bool is_opaque(const struct judge_function *f, const struct judge_dims *d)
{
	return is_foreign(f) || !f->kernel || d->is_opaque || judge_kernel_is_sync(f->kernel);
}

/* What it may order is asked for even if it isn't judged. Inside a guard. */
static void prepare(struct judge_function *f)
{
	unsigned sm, sms;
	int device;

	if (device_of(&device, &sm, &sms))
		(void)judge_function_prepare(f, sm);
}

/* Was this launch not asked for (--kernel-name, --launch-skip and others)? Counts it. */
static bool is_left_out(struct judge_function *f, const struct judge_dims *d)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	bool is_first = f && !f->listed, is_left;
	struct judge_guard g;

	if (!f || !race_choice_is_on())
		return false;
	judge_enter(&g);
	if (!d->nodes)
		(void)judge_driver.stream_is_capturing(d->stream, &status);
	is_left = status == CU_STREAM_CAPTURE_STATUS_NONE &&
		  race_choice_beside(&f->listed, f->name, forward_is_outside()) != 0;
	if (is_left && is_first)
		prepare(f);
	judge_leave(&g);
	return is_left;
}

void judge_launched_otherwise(void)
{
	judge_code_lock();
	next = 0;
	judge_code_unlock();
}

/* Is this launch right after the one before, and not after one that left no trace (rest.c)? Each
 * thread's first launch comes by here, so it is known whether there are several. */
static bool is_next(const struct judge_dims *d)
{
	static __thread bool has_launched;
	static unsigned threads;
	bool is_good;

	threads += !has_launched;
	has_launched = true;
	if (d->is_early)
		launches += judge_rest_counted();
	is_good = d->is_early && threads == 1 && launches == next;
	next = launches + 1;
	return is_good;
}

void judge_before_launch(const void *handle, const struct judge_dims *d, void **params,
			 void **extra)
{
	const uint32_t changes = __atomic_load_n(&agent_order_changes, __ATOMIC_ACQUIRE);
	uint32_t effect = AGENT_ORDER_SUBMIT;
	uint16_t again = UINT16_MAX;
	struct race_judge_order order;
	struct judge_function *f;
	struct judge_job *j;

	if (judge_is_inside() || !judge_is_on())
		return;
	if (d->stream == CU_STREAM_PER_THREAD)
		judge_note_stream();
	judge_finish();
	judge_code_lock();
	launches++;
	bool is_early = is_next(d);
	f = judge_function_find(handle);
	bool is_left = is_left_out(f, d);
	int shape = is_foreign(f) ? -1 : shape_of(f, d);
	if (is_left || is_foreign(f) || is_seen(f, shape)) {
		effect = judge_order_pass(d->stream, is_opaque(f, d));
	} else {
		judge_order_launch(&order, d->stream, is_early);
		j = make(f, shape, d, params, extra, &order, &again);
		if (j)
			put(j);
		if (is_opaque(f, d))
			agent_order_all();
		if (again)
			effect = judge_order_effect(d->stream, is_opaque(f, d));
	}
	/* (All launches are to come by here while one of them may be unfinished.) */
	if (effect != AGENT_ORDER_SUBMIT && !d->is_opaque &&
	    judge_policy()->mode != RACE_JUDGE_VERIFY && !race_choice_changes())
		launches += judge_rest_note(handle, d, changes, effect, again);
	judge_code_unlock();
}

struct judge_job *judge_take_node(struct judge_function *f, const struct judge_dims *d,
				  void **params, void **extra, const struct race_judge_order *order)
{
	struct judge_job *j = NULL;
	uint16_t unused;

	launches++;
	bool is_left = is_left_out(f, d);
	int shape = is_foreign(f) ? -1 : shape_of(f, d);
	if (!is_left && !is_foreign(f) && !is_seen(f, shape))
		j = make(f, shape, d, params, extra, order, &unused);
	return j;
}

void judge_untake(struct judge_job *j)
{
	if (j->f->taken[j->shape])
		j->f->taken[j->shape]--;
	j->room->is_used = false;
	judge_job_free(j);
}
