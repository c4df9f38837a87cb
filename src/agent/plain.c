/*
 * plain.c - launches that run a kernel's own code, without checks: of what is proven, and of
 * kernels that have run clean so far (race/plain.h). And those of which a part is proven.
 *
 * A launch is *proven* where the kernel's proof holds for it and nothing else can access its memory
 * from its beginning to its end. The proof says that no two of its own accesses race in any
 * schedule; here is tested what it takes for granted: the terms on dimensions and scalars, and that
 * its pointers lead to different allocations of cuMemAlloc in the launch's own context. That its
 * accesses stay within these the copy of the code tests itself. Nothing else reaches the memory
 * while the launch runs: it is in the legacy default stream, which all streams but non-blocking
 * ones wait for, and which waits for them; no stream is non-blocking, no launch may begin before
 * the one before it has ended, there is one context, no memory of another process. Managed, pinned
 * and mapped memory isn't of cuMemAlloc, so no host code is beside it either. Once one of these
 * fails no launch is proven any more (in company); one that may be under way then is a gap.
 *
 * A launch is proven *in part* where the same is so of what is beside it, but the kernel has no
 * proof: reads of arrays that are of cuMemAlloc, and of another allocation than all that it writes,
 * race with nothing. That its writes stay within theirs the checked code tests itself.
 *
 * Of a kernel that has been launched CLEAN times with checks, in a run without any finding, one
 * launch of SPARSE is checked, chosen by a hash; the report names it. With hirace and iguard, whose
 * checks don't thin out within a launch, it is so after CLEAN_ALONE launches, but as long as
 * nothing can be beside a launch: else an unchecked one could order or race with others.
 *
 * The kernel's state is written in the launch's stream before it, where it changes, by the one
 * thread that launches; a word of it that ends this, at once. With graphs, a second thread that
 * launches or a second context nothing runs without checks from then on (is_over): who launches
 * when isn't known, or not in one order.
 *
 * What the launches of a kernel without a proof have in common is noted for a later one (proven.c).
 *
 * Misses: races of launches that aren't chosen; memory that other devices reach by RDMA. Costs: for
 * each launch of a kernel with a proof a question to the driver for each pointer, some 0.1 us, and
 * a small copy where the answer changes.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdlib.h>
#include <string.h>

#include <cupti.h>

/* Out of memory: the kernel is checked. */
#include "agent/table.h"

#include "agent/agent.h"
#include "agent/rows.h"
#include "base/base.h"
#include "base/random.h"
#include "race/noted.h"
#include "race/plain.h"

#define CLEAN	    1000u
#define CLEAN_ALONE 64u
#define SPARSE	    16u
#define NAME	    (sizeof(RACE_PLAIN_STATE) + 4096)

struct key {
	const void *context; /* struct agent_context */
	const void *f;
};

struct kernel {
	struct key key;
	struct kernel *same; /* the one with that state: another handle of the kernel; or NULL */
	CUdeviceptr at;	     /* of its state; 0: none */
	size_t bytes;
	struct agent_proof proof;
	struct agent_noted *noted; /* NULL: it is proven, or nothing asks for notes */
	bool is_read;
	struct race_plain_state now;	   /* as its last launch found it, where that is_known */
	CUstream written_in;		   /* `now` is so there, and in what waits for it */
	bool is_known, was_on, was_proven; /* was_on: it was more than checked */
	bool never_sampled, is_alone;	   /* its proof's flags */
	bool was_looked;		   /* for findings, when its sample began */
	uint64_t launches, hash;	   /* that weren't proven */
	UT_hash_handle hh;
};

/* Under the agent's lock; a kernel's fields are its thread's. Kernels are never freed. */
static struct kernel *kernels;
static CUcontext context;
static struct agent_context *owner;
static pthread_t launcher;
static bool has_launcher;
static unsigned ncontexts;
/* Atomic. */
static bool is_over, has_company, is_launching; /* a launch that is proven, in part or as a whole */
static const char *last_proven;			/* the kernel */
static bool was_found;				/* of the thread that launches */

/* The launch that this thread is in. */
static __thread struct {
	struct kernel *k;
	enum race_plain_on on;
} begun;

static bool is_set(const bool *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static bool is_default(CUstream s)
{
	return !s || s == CU_STREAM_LEGACY;
}

/* May nothing else run from the launch's beginning to its end? */
static bool is_by_itself(CUstream stream)
{
	return !is_set(&has_company) && is_default(stream);
}

/* Inside a guard. */
static enum race_plain_on what_is_proven(const struct kernel *k, const struct agent_launch_call *l,
					 struct race_plain_state *out)
{
	if (!is_by_itself(l->stream))
		return RACE_PLAIN_CHECKED;
	return agent_proven(&k->proof, l, out);
}

/* Has anything been found in this process? */
static bool has_findings(void)
{
	const struct race_region *region = agent_context_region(owner);

	for (unsigned i = 0; region && i < RACE_SLOTS; i++)
		if (__atomic_load_n(&region->records[i].valid, __ATOMIC_RELAXED))
			return true;
	return false;
}

/* Is this launch left out, as all of the kernel's were clean so far? Whether they were is looked up
 * with those that are checked, for its cost. */
static bool is_sampled(struct kernel *k, CUstream stream)
{
	uint64_t state = k->hash + k->launches * 0x9e3779b97f4a7c15ull + race_shm_get()->seed;
	uint64_t clean = k->is_alone ? CLEAN_ALONE : CLEAN;
	bool is_chosen = base_random(&state) % SPARSE == 0;

	/* In other streams it isn't known which arrays are written, if it was proven before. */
	if (!race_shm_get()->dense || k->launches < clean || k->never_sampled ||
	    (k->is_alone ? !is_by_itself(stream) : k->was_proven))
		return false;
	if (!was_found && (is_chosen || !k->was_looked))
		was_found = has_findings();
	k->was_looked = true;
	return !was_found && !is_chosen;
}

/* ---- what a launch finds --------------------------------------------------------------------- */

#define AFTER_OVER offsetof(struct race_plain_state, on)

/* Has what was written for an earlier launch reached the memory before one in this stream? The
 * default stream waits for all others, and they for it; two others don't wait for each other. With
 * a non-blocking stream there is company, and `over` counts. */
static bool is_written(const struct kernel *k, CUstream stream)
{
	return k->is_known && (!k->was_on || k->written_in == stream || is_default(stream) ||
			       is_default(k->written_in));
}

/* In the launch's stream. False: it may be any. */
static bool write_state(struct kernel *k, const struct race_plain_state *s, CUstream stream)
{
	const void *from = &s->on;
	size_t n = k->bytes - AFTER_OVER;
	struct agent_guard g;

	if (is_written(k, stream) && !memcmp(from, &k->now.on, n))
		return true;
	k->now = *s;
	k->was_on |= s->on != RACE_PLAIN_CHECKED;
	k->written_in = stream;
	agent_enter(&g);
	k->is_known =
		agent_driver.memcpy_htod_async(k->at + AFTER_OVER, from, n, stream) == CUDA_SUCCESS;
	agent_leave(&g);
	return k->is_known;
}

/* The arrays stay: a launch in another stream may be at them. */
static bool switch_off(struct kernel *k, CUstream stream)
{
	struct race_plain_state s = k->now;

	s.on = RACE_PLAIN_CHECKED;
	return write_state(k, &s, stream);
}

/* At once, whatever is in the program's streams, by one of our own; inside a guard. */
static void write_over(const struct kernel *k)
{
	enum race_plain_on company = k->is_alone ? RACE_PLAIN_SAMPLED : RACE_PLAIN_PROVEN;
	uint64_t over = is_set(&is_over)       ? RACE_PLAIN_SAMPLED
			: is_set(&has_company) ? company
					       : RACE_PLAIN_CHECKED;

	(void)agent_driver.memcpy_htod_async(k->at, &over, sizeof(over),
					     agent_context_stream(owner));
}

/* ---- a kernel's variables -------------------------------------------------------------------- */

static bool find_variable(CUmodule m, const char *prefix, const char *name, CUdeviceptr *at,
			  size_t *bytes)
{
	char text[NAME];
	int n = snprintf(text, sizeof(text), "%s%s", prefix, name);

	return n > 0 && (size_t)n < sizeof(text) &&
	       agent_driver.module_get_global(at, bytes, m, text) == CUDA_SUCCESS;
}

static bool read_proof(struct kernel *k, CUmodule m, const char *name, CUstream stream)
{
	unsigned char text[AGENT_PROOF_BYTES];
	CUdeviceptr at;
	size_t bytes;

	if (!find_variable(m, RACE_PLAIN_PROOF, name, &at, &bytes) || bytes > sizeof(text) ||
	    agent_driver.memcpy_dtoh_async(text, at, bytes, stream) != CUDA_SUCCESS ||
	    agent_driver.stream_synchronize(stream) != CUDA_SUCCESS)
		return false;
	k->never_sampled = true;
	if (!agent_proof_read(&k->proof, text, bytes))
		return false;
	k->never_sampled = k->proof.head.flags & RACE_PLAIN_NO_SAMPLE;
	k->is_alone = k->proof.head.flags & RACE_PLAIN_ALONE;
	return k->bytes == offsetof(struct race_plain_state, array) +
				   k->proof.head.narrays * sizeof(k->now.array[0]);
}

/* Do its launches count for a later proof? */
static void find_noted(struct kernel *k, CUmodule m, const char *name, CUstream stream)
{
	struct race_noted_kernel of;
	CUdeviceptr at;
	size_t bytes;

	if (agent_notes_launches() && find_variable(m, RACE_NOTED, name, &at, &bytes) &&
	    bytes == sizeof(of) &&
	    agent_driver.memcpy_dtoh_async(&of, at, bytes, stream) == CUDA_SUCCESS &&
	    agent_driver.stream_synchronize(stream) == CUDA_SUCCESS)
		k->noted = agent_noted_new(&of);
}

/* A kernel may be launched by a CUfunction and by a CUkernel: what its state is must be known of
 * both at once. Under the lock. */
static struct kernel *find_same(const struct kernel *of)
{
	struct kernel *k, *tmp;

	HASH_ITER(hh, kernels, k, tmp)
	{
		if (k != of && of->at && k->at == of->at && k->key.context == of->key.context)
			return k->same ? k->same : k;
	}
	return NULL;
}

/* Without the lock. NULL: no memory. */
static struct kernel *kernel_make(struct key key, const char *name)
{
	struct kernel *k = calloc(1, sizeof(*k));

	if (!k) {
		AGENT_NO_MEMORY("a kernel is checked that needs no checks");
		return NULL;
	}
	k->key = key;
	k->hash = base_hash(name, strlen(name), BASE_FNV_INIT);
	agent_lock();
	AGENT_TABLE_ADD(kernels, key, k);
	agent_unlock();
	return k;
}

/* Its variables, and that nothing is left out yet. Without the lock, the context current. */
static void kernel_read(struct kernel *k, const char *name, CUfunction f)
{
	CUstream stream = agent_context_stream(owner);
	CUmodule m = agent_function_module(owner, f);
	CUdeviceptr at = 0;
	struct agent_guard g;

	k->is_read = true;
	agent_enter(&g);
	if (m && find_variable(m, RACE_PLAIN_STATE, name, &at, &k->bytes) &&
	    k->bytes <= sizeof(k->now) && k->bytes > AFTER_OVER)
		k->proof.head.flags = read_proof(k, m, name, stream) ? k->proof.head.flags : 0;
	else
		at = 0;
	if (m)
		find_noted(k, m, name, stream);
	agent_leave(&g);
	agent_lock();
	k->at = at;
	k->same = find_same(k);
	agent_unlock();
	if (!at || k->same)
		return;
	/* Who ends it from now on finds the kernel in the table. */
	agent_enter(&g);
	write_over(k);
	(void)agent_driver.stream_synchronize(stream);
	agent_leave(&g);
}

/*
 * A kernel that can't be proven is read when it could be left out for the first time: reading takes
 * longer than many a kernel, and two kernels that the program starts one after the other in two
 * streams would no longer meet.
 */
static struct kernel *kernel_of(const char *name, CUfunction f)
{
	struct key key = {owner, f};
	struct kernel *k;

	agent_lock();
	HASH_FIND(hh, kernels, &key, sizeof(key), k);
	agent_unlock();
	if (!k)
		k = kernel_make(key, name);
	if (k && !k->is_read && (!is_set(&has_company) || k->launches >= CLEAN))
		kernel_read(k, name, f);
	return k && k->same ? k->same : k;
}

/* ---- when it ends ---------------------------------------------------------------------------- */

/* Does the run leave launches out by more than their kernels' names? Those have no checks. */
static bool has_choice(const struct race_choice *c)
{
	return c->is_on && (c->skip || c->count != UINT64_MAX || c->budget_ns != UINT64_MAX ||
			    c->root || race_choice_list(RACE_CHOICE_PROCESSES) ||
			    race_choice_list(RACE_CHOICE_NVTX_INCLUDE) ||
			    race_choice_list(RACE_CHOICE_NVTX_EXCLUDE));
}

bool agent_plain_is_wanted(void)
{
	const struct race_shm *shm = race_shm_get();

	return shm && !shm->order && !has_choice(&shm->choice) &&
	       agent_driver.pointer_get_attributes;
}

/* The kernels that may run without checks now; the caller frees the array. */
static struct kernel **list(size_t *n)
{
	struct kernel *k, *tmp, **v;

	*n = 0;
	agent_lock();
	v = calloc(HASH_COUNT(kernels) + 1, sizeof(struct kernel *));
	HASH_ITER(hh, kernels, k, tmp)
	{
		if (v && k->at)
			v[(*n)++] = k;
	}
	agent_unlock();
	if (!v)
		AGENT_NO_MEMORY("launches may be left unchecked that aren't counted so");
	return v;
}

/* What is over is over for all kernels, whoever launches them, and whatever waits in a stream to be
 * written. Inside a guard. */
static void end_at_once(void)
{
	struct kernel **v;
	size_t n;

	v = list(&n);
	for (size_t i = 0; i < n; i++)
		write_over(v[i]);
	(void)agent_driver.stream_synchronize(agent_context_stream(owner));
	free(v);
}

void agent_plain_end_all(void)
{
	struct agent_guard g;
	CUcontext old;

	if (__atomic_exchange_n(&is_over, true, __ATOMIC_SEQ_CST) || !owner)
		return;
	agent_enter(&g);
	if (agent_driver.ctx_push_current(context) == CUDA_SUCCESS) {
		end_at_once();
		agent_driver.ctx_pop_current(&old);
	}
	agent_leave(&g);
}

void agent_plain_begin_company(void)
{
	struct agent_guard g;
	bool is_idle = false;
	CUcontext old;

	if (__atomic_exchange_n(&has_company, true, __ATOMIC_SEQ_CST) || !owner)
		return;
	const char *name = __atomic_load_n(&last_proven, __ATOMIC_SEQ_CST);
	agent_enter(&g);
	if (agent_driver.ctx_push_current(context) == CUDA_SUCCESS) {
		end_at_once();
		is_idle = !name || agent_becomes_idle(context, 0);
		agent_driver.ctx_pop_current(&old);
	}
	agent_leave(&g);
	if (name && (!is_idle || is_set(&is_launching)))
		race_shm_gap(RACE_GAP_LAUNCHES, name,
			     "unchecked, as proven, and perhaps under way when other work could "
			     "begin beside it (--prune=none: checked)",
			     1);
}

void agent_plain_context(void)
{
	agent_lock();
	bool is_second = ++ncontexts > 1;
	agent_unlock();
	if (is_second)
		agent_plain_begin_company();
}

void agent_plain_context_end(struct agent_context *c)
{
	agent_lock();
	bool is_owner = owner && owner == c;
	agent_unlock();
	if (!is_owner)
		return;
	agent_plain_end_all();
	/* Its stream and its kernels' states go with it. */
	agent_lock();
	owner = NULL;
	agent_unlock();
}

/* ---- a launch -------------------------------------------------------------------------------- */

/* Is this thread the one that launches, in the one context? */
static bool is_ours(struct agent_context *c, CUcontext handle)
{
	agent_lock();
	if (!has_launcher) {
		has_launcher = true;
		launcher = pthread_self();
		owner = c;
		context = handle;
	}
	bool is = owner == c && pthread_equal(launcher, pthread_self());
	agent_unlock();
	if (!is)
		agent_plain_end_all();
	return is;
}

/* In a guard. What the launch finds; false: it may find anything. */
static bool decide(struct kernel *k, const struct agent_launch_call *l, const char *name)
{
	struct race_plain_state s = {0};
	enum race_plain_on on = what_is_proven(k, l, &s);

	if (on == RACE_PLAIN_CHECKED)
		s = k->now;
	if (on != RACE_PLAIN_PROVEN && is_sampled(k, l->stream))
		on = RACE_PLAIN_SAMPLED;
	bool is_proven = on == RACE_PLAIN_PARTLY || on == RACE_PLAIN_PROVEN;
	k->was_proven |= on == RACE_PLAIN_PROVEN;
	for (uint32_t i = 0; on == RACE_PLAIN_SAMPLED && i < RACE_PLAIN_ARRAYS; i++)
		s.array[i] = (struct race_plain_array){0, UINT64_MAX};
	s.on = begun.on = on;
	/* Who begins company beside the first one names it, too. */
	if (is_proven)
		__atomic_store_n(&last_proven, name, __ATOMIC_SEQ_CST);
	__atomic_store_n(&is_launching, is_proven, __ATOMIC_SEQ_CST);
	/* Another thread may have ended it all since. */
	bool needs_none = is_proven || (on == RACE_PLAIN_SAMPLED && k->is_alone);
	return write_state(k, &s, l->stream) && !is_set(&is_over) &&
	       !(needs_none && is_set(&has_company));
}

static void begin(struct agent_context *c, struct agent_kernel *k,
		  const struct agent_launch_call *l)
{
	struct agent_guard g;

	begun.k = NULL;
	if (!agent_plain_is_wanted())
		return;
	if (l->is_programmatic)
		agent_plain_begin_company();
	if (is_set(&is_over) || !is_ours(c, l->context) || !agent_kernel_is_instrumented(k))
		return;
	struct kernel *x = kernel_of(agent_kernel_name(k), l->f);
	if (!x)
		return;
	if (x->noted && l->is_simple && is_by_itself(l->stream))
		agent_noted_launch(x->noted, l);
	if (!x->at) { /* as its code is until it has been read */
		begun.k = x;
		begun.on = RACE_PLAIN_CHECKED;
		return;
	}
	agent_enter_safe(&g);
	bool is_good = decide(x, l, agent_kernel_name(k));
	if (!is_good) {
		begun.on = RACE_PLAIN_CHECKED;
		is_good = switch_off(x, l->stream);
	}
	agent_leave(&g);
	if (!is_good)
		agent_plain_end_all();
	begun.k = x;
}

void agent_plain_begin(struct agent_context *c, struct agent_kernel *k, uint32_t id,
		       const void *data, CUstream stream, bool is_programmatic)
{
	const CUpti_CallbackData *d = data;
	const cuLaunchKernel_params *p = d->functionParams;
	const cuLaunchKernelEx_params *ex = d->functionParams;
	bool is_ex = id == ID(cuLaunchKernelEx) || id == ID(cuLaunchKernelEx_ptsz);
	struct agent_launch_call l = {.context = d->context,
				      .stream = stream,
				      .f = is_ex ? ex->f : p->f,
				      .is_programmatic = is_programmatic};

	if (is_ex && ex->config) {
		const CUlaunchConfig *x = ex->config;
		l.is_simple = !x->numAttrs;
		l.params = ex->kernelParams;
		memcpy(l.grid, (unsigned[]){x->gridDimX, x->gridDimY, x->gridDimZ}, sizeof(l.grid));
		memcpy(l.block, (unsigned[]){x->blockDimX, x->blockDimY, x->blockDimZ},
		       sizeof(l.block));
	} else if (id == ID(cuLaunchKernel) || id == ID(cuLaunchKernel_ptsz)) {
		l.is_simple = true;
		l.params = p->kernelParams;
		memcpy(l.grid, (unsigned[]){p->gridDimX, p->gridDimY, p->gridDimZ}, sizeof(l.grid));
		memcpy(l.block, (unsigned[]){p->blockDimX, p->blockDimY, p->blockDimZ},
		       sizeof(l.block));
	}
	begin(c, k, &l);
}

void agent_plain_end(struct agent_kernel *k, bool is_launched)
{
	struct race_kernel_count *count = agent_kernel_count(k);
	struct kernel *x = begun.k;

	begun.k = NULL;
	if (!x)
		return;
	x->launches += is_launched && begun.on != RACE_PLAIN_PROVEN;
	if (is_launched && count && begun.on > RACE_PLAIN_PARTLY)
		__atomic_fetch_add(begun.on == RACE_PLAIN_PROVEN ? &count->proven : &count->sampled,
				   1, __ATOMIC_RELAXED);
	if (begun.on == RACE_PLAIN_PARTLY || begun.on == RACE_PLAIN_PROVEN)
		__atomic_store_n(&is_launching, false, __ATOMIC_SEQ_CST);
}

void agent_plain_left(void)
{
	static int was_said;

	if (__atomic_exchange_n(&was_said, 1, __ATOMIC_RELAXED))
		return;
	race_shm_gap(RACE_GAP_LAUNCHES, "",
		     "unchecked, as proven, but an access was in none of its arrays "
		     "(--prune=none: checked)",
		     1);
	agent_plain_end_all();
}

void agent_plain_unload(void)
{
	if (kernels)
		agent_plain_end_all();
}

void agent_plain_reset(void)
{
	kernels = NULL;
	owner = NULL;
	last_proven = NULL;
	ncontexts = 0;
	has_launcher = is_over = has_company = is_launching = was_found = false;
}
