/*
 * scenario.c - small CUDA programs, one per name, run on the stand-in driver.
 *
 * agent_scenario NAME FOLDER: FOLDER holds instrumented.cubin and plain.cubin.
 * Each prints "ok" when everything that it did itself went as without the
 * agent; agent_test.c looks at what the agent left in the shared file.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>
#undef cuCtxCreate
CUresult cuCtxCreate(CUcontext *c, unsigned flags, CUdevice dev); /* the stand-in's */

#include "fake.h"
#include "race/file/host.h"
#include "race/plain.h"
#include "race/layout/iguard.h"
#include "race/layout/history.h"
#include "race/file/shm_write.h"

static const char *folder;

#define MUST(x)                                                                                    \
	do {                                                                                       \
		CUresult r_ = (x);                                                                 \
		if (r_ != CUDA_SUCCESS) {                                                          \
			printf("%s: error %d\n", #x, (int)r_);                                     \
			_exit(9);                                                                  \
		}                                                                                  \
	} while (0)

/* An image with its size before it, as the stand-in wants it. */
static const char *image(const char *name)
{
	char path[4096];
	char *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s.cubin", folder, name);
	f = fopen(path, "rb");
	if (!f)
		_exit(8);
	p = malloc((1 << 20) + sizeof(n));
	if (!p)
		_exit(8);
	n = fread(p + sizeof(n), 1, 1 << 20, f);
	memcpy(p, &n, sizeof(n));
	fclose(f);
	return p + sizeof(n);
}

static CUcontext context(void)
{
	CUcontext c;

	MUST(cuCtxCreate(&c, 0, 0));
	return c;
}

static CUfunction function(CUmodule m, const char *name)
{
	CUfunction f;

	MUST(cuModuleGetFunction(&f, m, name));
	return f;
}

static CUmodule module(const char *name)
{
	CUmodule m;

	MUST(cuModuleLoadData(&m, image(name)));
	return m;
}

static CUresult launch(CUfunction f, CUstream s)
{
	return cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, s, NULL, NULL);
}

/* One context, one module, `n` launches. */
static CUfunction simple(const char *mod, const char *kernel, int n)
{
	CUfunction f;

	context();
	f = function(module(mod), kernel);
	for (int i = 0; i < n; i++)
		MUST(launch(f, NULL));
	return f;
}

/* Launches that don't run: refused by the driver, by both (once), by the runtime alone; the last
 * two do. */
static void refused(void)
{
	CUfunction f = simple("instrumented", "race", 0);

	if (cuLaunchKernel(f, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL) !=
		    CUDA_ERROR_INVALID_VALUE ||
	    fake_runtime_launch(f, "race", 2048) != 9 || fake_runtime_launch(f, "race", 0) != 9)
		_exit(7);
	if (fake_runtime_launch(f, "race", 32))
		_exit(7);
	MUST(launch(f, NULL));
	MUST(cuCtxSynchronize());
}

/* Code that the device can't run; other code does. */
static void unloadable(void)
{
	static const size_t nothing[2] = {0, 0};
	CUlibrary lib;
	CUkernel k;

	simple("instrumented", "clean", 1);
	MUST(cuLibraryLoadData(&lib, &nothing[1], NULL, NULL, 0, NULL, NULL, 0));
	if (cuLibraryGetKernel(&k, lib, "race") != CUDA_ERROR_NO_BINARY_FOR_GPU)
		_exit(7);
}

static void races(void)
{
	CUfunction f = simple("instrumented", "race", 3);

	MUST(cuCtxSynchronize());
	MUST(launch(f, NULL));	/* after the snapshot: counted by the one at exit */
	module("instrumented"); /* its table is known */
}

static void clean(void)
{
	simple("instrumented", "clean", 2);
}

static void plain(void)
{
	CUfunction f = simple("plain", "plain", 4);
	CUstream s;

	MUST(cuStreamCreate(&s, 0));
	MUST(launch(f, s));
	if (fake_loaded())
		_exit(6);
}

/* A module's kernels are loaded together, once, where they could run beside each other: with a
 * second stream. */
static void loaded(void)
{
	CUmodule m;
	CUfunction f;
	CUstream s;

	context();
	m = module("instrumented");
	f = function(m, "clean");
	MUST(launch(f, NULL));
	MUST(launch(f, CU_STREAM_LEGACY));
	if (fake_loaded())
		_exit(6);
	MUST(cuStreamCreate(&s, 0));
	MUST(launch(f, NULL));
	if (fake_loaded() != FAKE_KERNELS)
		_exit(6);
	MUST(launch(f, s));
	MUST(launch(function(m, "race"), s));
	if (fake_loaded() != FAKE_KERNELS)
		_exit(6);
}

/* The stream that each thread has needs no making. */
static void loaded_thread(void)
{
	MUST(launch(simple("instrumented", "clean", 1), CU_STREAM_PER_THREAD));
	if (fake_loaded() != FAKE_KERNELS)
		_exit(6);
}

static void library_before_context(void)
{
	CUlibrary lib;
	CUkernel k;

	MUST(cuLibraryLoadData(&lib, image("instrumented"), NULL, NULL, 0, NULL, NULL, 0));
	MUST(cuLibraryGetKernel(&k, lib, "race"));
	context();
	MUST(launch((CUfunction)(void *)k, NULL));
	context(); /* a second context has a module of its own */
	MUST(launch((CUfunction)(void *)k, NULL));
}

static void reset(void)
{
	for (int i = 0; i < 2; i++) {
		CUcontext c;
		CUfunction f;

		MUST(cuDevicePrimaryCtxRetain(&c, 0));
		MUST(cuCtxSetCurrent(c));
		f = function(module("instrumented"), "race");
		MUST(launch(f, NULL));
		if (i == 0)
			MUST(cuDevicePrimaryCtxReset_v2(0));
	}
}

static void destroy(void)
{
	CUcontext c = context();

	MUST(launch(function(module("instrumented"), "race"), NULL));
	MUST(cuCtxDestroy_v2(c));
}

static CUmodule shared_module;
static pthread_barrier_t start;

static void *one_thread(void *arg)
{
	CUfunction f;

	MUST(cuCtxSetCurrent(arg));
	f = function(shared_module, "race");
	pthread_barrier_wait(&start);
	for (int i = 0; i < 100; i++)
		MUST(launch(f, NULL));
	MUST(cuCtxSynchronize());
	return NULL;
}

static void threads(void)
{
	CUcontext c = context();
	pthread_t t[4];

	shared_module = module("instrumented");
	pthread_barrier_init(&start, NULL, 4);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, one_thread, c);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

static void *own_context(void *arg)
{
	simple("instrumented", "race", 7);
	return arg;
}

static void two_contexts(void)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, own_context, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void forks(void)
{
	CUfunction f = simple("instrumented", "race", 1);
	int status = 0;
	pid_t child = fork();

	if (child == 0) { /* the stand-in lets a child start anew */
		MUST(cuCtxSetCurrent(NULL));
		simple("instrumented", "race", 2);
		exit(0);
	}
	waitpid(child, &status, 0);
	if (status)
		_exit(7);
	MUST(launch(f, NULL));
}

static void exits(void)
{
	simple("instrumented", "race", 1);
	puts("ok");
	fflush(stdout);
	_exit(0);
}

static void killed(void)
{
	simple("instrumented", "race", 1);
	puts("ok");
	fflush(stdout);
	raise(SIGKILL);
}

static void traps(void)
{
	CUmodule m;

	context();
	m = module("instrumented");
	MUST(launch(function(m, "race"), NULL));
	MUST(cuCtxSynchronize());
	MUST(launch(function(m, "trap"), NULL));
	if (cuCtxSynchronize() != CUDA_ERROR_LAUNCH_FAILED)
		_exit(6);
}

static void traps_before_snapshot(void)
{
	context();
	MUST(launch(function(module("instrumented"), "race"), NULL));
	MUST(launch(function(module("instrumented"), "trap"), NULL));
}

static void graph(void)
{
	CUfunction f;
	CUgraphExec exec;
	CUgraph g;
	CUstream s;

	f = simple("instrumented", "race", 1);
	MUST(cuStreamCreate(&s, 0));
	MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(launch(f, s));
	MUST(launch(f, s));
	MUST(cuStreamEndCapture(s, &g));
	MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (int i = 0; i < 5; i++)
		MUST(cuGraphLaunch(exec, s));
}

/* The agent sets up its context while the program captures: that must not break the capture. */
static void first_use_in_capture(void)
{
	CUgraphExec exec;
	CUgraph g;
	CUstream s;

	context();
	MUST(cuStreamCreate(&s, 0));
	MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(launch(function(module("instrumented"), "race"), s));
	MUST(cuStreamEndCapture(s, &g));
	MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
	MUST(cuGraphLaunch(exec, s));
}

static void many_contexts(void)
{
	for (int i = 0; i < 66; i++) {
		simple("instrumented", "race", 1);
		if (i % 2)
			MUST(cuCtxSetCurrent(NULL));
	}
}

/* The stand-in uses a handle again at once. */
static void handle_again(void)
{
	CUmodule m, again;

	context();
	m = module("plain");
	MUST(launch(function(m, "plain"), NULL));
	MUST(cuModuleUnload(m));
	again = module("instrumented");
	if (again != m)
		_exit(5);
	MUST(launch(function(again, "race"), NULL));
	MUST(cuModuleUnload(again));
	module("plain");
}

/* ---- devices, processes ---- */

static void two_devices(void)
{
	CUcontext c;

	for (int dev = 0; dev < 2; dev++) {
		MUST(cuCtxCreate(&c, 0, dev));
		MUST(launch(function(module("instrumented"), "race"), NULL));
	}
}

/* A program that starts another one, as a shell or Python's subprocess would. */
static void start_program(const char *name, int closes_all)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
		for (int fd = 3; closes_all && fd < 1024; fd++)
			close(fd);
		execl("/proc/self/exe", "agent_scenario", name, folder, (char *)NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	if (status)
		_exit(7);
}

static void two_programs(void)
{
	simple("instrumented", "race", 1);
	start_program("races", 0);
}

static void two_programs_closed(void)
{
	simple("instrumented", "race", 1);
	start_program("races", 1);
}

/* ---- copies ---- */

#define COPY 4096u

struct memory {
	CUstream stream;
	CUdeviceptr device, other;
	unsigned char *pinned;
};

static struct memory memory_of_context(void)
{
	struct memory m;
	void *p;

	context();
	MUST(cuStreamCreate(&m.stream, CU_STREAM_NON_BLOCKING));
	MUST(cuMemAlloc_v2(&m.device, COPY));
	MUST(cuMemAlloc_v2(&m.other, COPY));
	MUST(cuMemHostAlloc(&p, COPY, 0));
	m.pinned = p;
	memset(p, 7, COPY);
	return m;
}

/* The program's own results are those without the agent. */
static void expect_byte(const void *p, unsigned char want)
{
	if (*(const unsigned char *)p != want)
		_exit(4);
}

static void copy_all_ways(struct memory *m)
{
	MUST(cuMemcpyHtoDAsync_v2(m->device, m->pinned, COPY, m->stream));
	expect_byte((const void *)(uintptr_t)(m->device + 99), 7);
	MUST(cuMemsetD8Async(m->device, 9, COPY, m->stream));
	MUST(cuMemcpyDtoHAsync_v2(m->pinned, m->device, COPY, m->stream));
	expect_byte(m->pinned + 99, 9);
	MUST(cuMemcpyDtoDAsync_v2(m->other, m->device, COPY, m->stream));
	expect_byte((const void *)(uintptr_t)(m->other + 99), 9);
	MUST(cuCtxSynchronize());
}

static void copies_clean(void)
{
	struct memory m = memory_of_context();

	copy_all_ways(&m);
}

/* What takes long was done before the program's first copy. */
static void copies_first(void)
{
	struct memory m = memory_of_context();
	unsigned before = fake_pinned();

	if (before != 2) /* the program's and the agent's */
		_exit(4);
	MUST(cuMemcpyHtoDAsync_v2(m.device, m.pinned, COPY, m.stream));
	if (fake_pinned() != before)
		_exit(5);
}

static void copies_racy(void)
{
	struct memory m = memory_of_context();

	fake_unruly(m.device + 1001);
	MUST(cuMemcpyHtoDAsync_v2(m.device, m.pinned, COPY, m.stream));
	MUST(cuMemcpyDtoHAsync_v2(m.pinned, m.device, COPY, m.stream));
	for (int i = 0; i < 5; i++) /* one place */
		MUST(cuMemsetD8Async(m.device, 9, COPY, m.stream));
	MUST(cuMemsetD8Async(m.device, 0, 1001, m.stream)); /* ends before that byte */
	MUST(cuStreamSynchronize(m.stream));
}

/* None of these may get anything put after it. */
static void copies_skipped(void)
{
	struct memory m = memory_of_context();
	unsigned char *pageable = malloc(COPY);
	CUgraphNode node = NULL;
	CUgraph g;

	fake_unruly(m.device);
	MUST(cuMemcpyDtoHAsync_v2(m.pinned, m.device, COPY, NULL));
	MUST(cuMemcpyDtoHAsync_v2(m.pinned, m.device, COPY, CU_STREAM_LEGACY));
	MUST(cuMemcpyDtoHAsync_v2(pageable, m.device, COPY, m.stream));
	MUST(cuMemcpyPeerAsync(m.device, NULL, m.other, NULL, COPY, m.stream));
	MUST(cuStreamBeginCapture(m.stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(cuMemcpyDtoHAsync_v2(m.pinned, m.device, COPY, m.stream));
	MUST(cuStreamEndCapture(m.stream, &g));
	MUST(cuGraphAddMemsetNode(&node, g, NULL, 0, NULL, NULL));
	if (fake_reads() != 4) /* and the agent's first, when it was set up */
		_exit(4);
}

/* More copies than buffers, none of them complete before the wait. */
static void copies_late(void)
{
	struct memory m = memory_of_context();

	fake_late();
	for (int i = 0; i < 20; i++)
		MUST(cuMemcpyHtoDAsync_v2(m.device, m.pinned, COPY, m.stream));
	MUST(cuStreamSynchronize(m.stream));
	MUST(cuMemcpyHtoDAsync_v2(m.device, m.pinned, COPY, m.stream)); /* room again */
}

#define LARGE (700u << 10)

static void copies_large(void)
{
	struct memory m = memory_of_context();
	CUdeviceptr p;

	MUST(cuMemAlloc_v2(&p, LARGE));
	fake_unruly(p + LARGE - 1);
	MUST(cuMemsetD8Async(p, 1, LARGE, m.stream));
}

static void copies_unfinished(void)
{
	struct memory m = memory_of_context();

	fake_late();
	MUST(cuMemcpyHtoDAsync_v2(m.device, m.pinned, COPY, m.stream));
	puts("ok");
	fflush(stdout);
	_exit(0);
}

/* ---- streams ---- */

#define LAUNCHES 40

/* Two streams, and everything that is never held back. */
static void streams(void)
{
	CUfunction f = simple("instrumented", "clean", 1);
	unsigned long long want = 0;
	CUlaunchAttribute early = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
				   .value.programmaticStreamSerializationAllowed = 1};
	CUlaunchConfig config = {.attrs = &early, .numAttrs = 1};
	CUstream one, two;
	CUgraphExec exec;
	CUgraph g;

	MUST(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&two, 0));
	for (unsigned i = 0; i < LAUNCHES; i++) {
		MUST(launch(f, one));
		MUST(launch(f, two));
		want += race_hold_ns(7, 0, i) + race_hold_ns(7, 1, i);
	}
	MUST(launch(f, NULL));
	MUST(launch(f, CU_STREAM_LEGACY));
	config.hStream = two;
	MUST(cuLaunchKernelEx(&config, f, NULL, NULL));
	MUST(cuStreamBeginCapture(one, CU_STREAM_CAPTURE_MODE_GLOBAL));
	for (unsigned i = 0; i < 8; i++)
		MUST(launch(f, one));
	MUST(cuStreamEndCapture(one, &g));
	MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
	MUST(cuGraphLaunch(exec, one)); /* as one */
	if (fake_held())
		want += race_hold_ns(7, 0, LAUNCHES);
	else
		want = 0;
	if (fake_held_ns() != want) {
		printf("held back for %llu ns, expected %llu\n", fake_held_ns(), want);
		_exit(9);
	}
}

/* ---- a program with the host half --------------------------------------------------- */

static struct race_host_area *area;

static void expect(bool is_good, const char *what)
{
	if (is_good)
		return;
	printf("expected: %s\n", what);
	fflush(stdout);
	_exit(9);
}

static bool knows(const void *p, unsigned space)
{
	struct race_host_range r;

	return race_host_lookup(area, (uint64_t)(uintptr_t)p, &r) && r.space == space;
}

/* What the agent passes to host code: which memory it shares with the GPU, and when work is in
 * flight. The area is there before CUDA starts, as the runtime of the host half makes it. */
static void host_half(void)
{
	static char registered[8192] __attribute__((aligned(4096)));
	CUstream one, two;
	CUdeviceptr managed, device;
	void *pinned;
	CUfunction f;

	context();
	f = function(module("instrumented"), "clean");
	MUST(cuMemAllocManaged(&managed, 100, CU_MEM_ATTACH_GLOBAL));
	MUST(cuMemHostAlloc(&pinned, 100, 0));
	MUST(cuMemHostRegister(registered, 4096, 0));
	MUST(cuMemAlloc(&device, 100));
	expect(knows((void *)(uintptr_t)managed, RACE_SPACE_MANAGED), "managed memory is known");
	expect(knows((char *)pinned + 99, RACE_SPACE_PINNED), "pinned memory is known");
	expect(knows(registered, RACE_SPACE_PINNED), "registered memory is known");
	expect(!knows(registered + 4096, RACE_SPACE_PINNED), "no more than was registered");
	expect(area->nranges == 3, "device memory is not host code's");
	expect(area->span == 0, "nothing is in flight yet");

	MUST(cuStreamCreate(&one, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&two, CU_STREAM_NON_BLOCKING));
	MUST(launch(f, one));
	expect(area->span != 0, "a launch is in flight");
	MUST(cuMemcpyDtoHAsync(pinned, device, 100, two));
	MUST(cuStreamSynchronize(one));
	expect(area->span != 0, "the copy is in flight");
	MUST(launch(f, two));
	MUST(cuStreamSynchronize(two));
	expect(area->span == 0, "both streams were waited for");
	MUST(cuMemsetD8Async(device, 0, 100, one));
	MUST(cuStreamSynchronize(one));
	expect(area->span != 0, "a fill's stream is not followed");
	MUST(launch(f, NULL));
	MUST(cuCtxSynchronize());
	expect(area->span == 0, "the context was waited for");

	MUST(launch(f, one));
	MUST(cuMemFree(managed));
	MUST(cuMemFreeHost(pinned));
	expect(!knows(pinned, RACE_SPACE_PINNED), "freed memory is forgotten");
	expect(area->nranges == 1, "and the registered is left");
}

/* ---- history words ------------------------------------------------------------------ */

#define MIB ((size_t)1 << 20)

/* What the agent has put into a module with detector hirace; the memory is the host's here. */
static const struct race_history *history_of(CUmodule m)
{
	CUdeviceptr at = 0;
	size_t bytes = 0;

	MUST(cuModuleGetGlobal(&at, &bytes, m, RACE_HISTORY_SYMBOL));
	expect(bytes == sizeof(struct race_history), "a runtime block");
	return (const struct race_history *)(uintptr_t)at;
}

/* Pools grow before the launch that needs them, numbers begin anew before they are all taken, a
 * graph's launches have epochs of their own, and the program's memory comes first. */
static void history(void)
{
	CUgraphExec exec;
	CUdeviceptr p;
	CUstream s;
	CUgraph g;

	context();
	MUST(cuMemAllocManaged(&p, 48 * MIB, CU_MEM_ATTACH_GLOBAL));
	CUmodule m = module("history");
	CUfunction f = function(m, "clean");
	const struct race_history *h = history_of(m);
	struct race_history_tables *t = (struct race_history_tables *)(uintptr_t)h->tables;
	expect(h->knobs.rt && h->directory && h->words && h->pages && h->bytes, "addresses");
	expect(!h->sites, "nothing beside the words");
	expect(t->words.limit == 0, "no memory before a launch");
	MUST(launch(f, NULL));
	expect(t->words.limit >= 16 + 24, "spare blocks, and those of memory got before");
	uint64_t spare = t->words.limit;
	MUST(cuMemAllocManaged(&p, 64 * MIB, CU_MEM_ATTACH_GLOBAL));
	MUST(launch(f, NULL));
	expect(t->words.limit >= spare + 32, "a block for each piece");
	expect(t->unseen & RACE_HISTORY_HOST_ORDERS, "host code shares managed memory");
	uint64_t *word = (uint64_t *)(uintptr_t)h->words;
	word[0] = 1;
	t->words.used = 1;
	t->launches[5] = 7;
	for (unsigned i = 0; i < RACE_HISTORY_LAUNCHES / 2 - 4; i++)
		MUST(launch(f, NULL));
	expect(word[0] == 1 && t->launches[5] == 7, "no sweep yet");
	for (unsigned i = 0; i < 8; i++)
		MUST(launch(f, NULL));
	expect(word[0] == 0 && t->launches[5] == 0 && t->words.used == 0, "a sweep");

	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(launch(f, s));
	MUST(cuStreamEndCapture(s, &g));
	MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
	MUST(cuGraphLaunch(exec, s));
	uint64_t epoch = t->epoch;
	MUST(cuGraphLaunch(exec, s));
	expect(epoch && t->epoch != epoch, "epochs");

	size_t before = fake_mapped();
	word[0] = 1;
	MUST(cuMemAllocManaged(&p, 3800 * MIB, CU_MEM_ATTACH_GLOBAL));
	expect(fake_mapped() < before, "the program's memory comes first");
	expect(t->words.limit < spare + 32, "and the device knows");
	MUST(launch(f, NULL));
}

/* Launches of several streams, each ordered with those before by the API: by an event, the host
 * (one query, too), the legacy stream between two that block, and a copy in it. */
static void ordered(void)
{
	CUstream a, b, c, d;
	CUdeviceptr p;
	CUevent e;

	context();
	CUfunction f = function(module("history"), "clean");
	MUST(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&c, CU_STREAM_DEFAULT));
	MUST(cuStreamCreate(&d, CU_STREAM_DEFAULT));
	MUST(cuEventCreate(&e, 0));
	MUST(cuMemAlloc(&p, 64));
	MUST(launch(f, a));
	MUST(launch(f, a));
	MUST(cuEventRecord(e, a));
	MUST(cuStreamWaitEvent(b, e, 0));
	MUST(launch(f, b));
	MUST(cuStreamSynchronize(b)); /* and so after a's */
	MUST(launch(f, c));
	MUST(launch(f, NULL));
	MUST(launch(f, d));
	MUST(cuMemsetD8Async(p, 0, 64, NULL));
	MUST(launch(f, c));
	MUST(cuEventRecord(e, c));
	MUST(cuEventQuery(e));
	MUST(launch(f, a));
	MUST(cuCtxSynchronize());
	MUST(launch(f, b));
}

/* Six that are not: of streams that block, beside the legacy stream, by an event that was recorded
 * too early, after a wait for another stream. And kernels access managed memory. */
static void unordered(void)
{
	CUstream a, b, c, d;
	CUdeviceptr p;
	CUevent e;

	context();
	CUmodule m = module("history");
	CUfunction f = function(m, "clean");
	const struct race_history *h = history_of(m);
	MUST(cuMemAllocManaged(&p, 4 * MIB, CU_MEM_ATTACH_GLOBAL));
	MUST(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&c, CU_STREAM_DEFAULT));
	MUST(cuStreamCreate(&d, CU_STREAM_DEFAULT));
	MUST(cuEventCreate(&e, 0));
	MUST(launch(f, c));
	MUST(launch(f, d)); /* 1 */
	MUST(cuCtxSynchronize());
	MUST(launch(f, NULL));
	MUST(launch(f, a)); /* 2 */
	MUST(cuEventRecord(e, a));
	MUST(launch(f, a)); /* 3: the legacy stream's is still unordered */
	MUST(cuStreamWaitEvent(b, e, 0));
	MUST(launch(f, b)); /* 4: after a's first */
	MUST(cuStreamSynchronize(b));
	MUST(launch(f, b)); /* 5 */
	MUST(launch(f, c)); /* 6: after the legacy stream's, not a's second */
	if (h->directory)   /* as the device does at a first access */
		((uint64_t *)(uintptr_t)h->directory)[p / RACE_HISTORY_PIECE] = h->words;
	MUST(cuCtxSynchronize());
}

/* Two kernels of a graph, one after the other; or in branches. */
static void launch_graph(bool is_branched)
{
	CUgraphExec exec;
	CUstream s;
	CUgraph g;

	context();
	CUfunction f = function(module("history"), "clean");
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(launch(f, s));
	MUST(launch(f, s));
	MUST(cuStreamEndCapture(s, &g));
	if (is_branched)
		fake_branch(g);
	MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
	MUST(cuCtxSynchronize()); /* fake_branch could have ordered anything */
	for (unsigned i = 0; i < 3; i++)
		MUST(cuGraphLaunch(exec, s));
	MUST(cuCtxSynchronize());
}

static void chain(void)
{
	launch_graph(false);
}

static void branches(void)
{
	launch_graph(true);
}

/* A kernel accesses what begins at p, or another one does; host code has it, too, or not. */
static void use_variable(CUmodule m, CUdeviceptr p, bool is_accessed, bool is_hosts)
{
	const struct race_history *h = history_of(m);
	const struct race_history_tables *t =
		(const struct race_history_tables *)(uintptr_t)h->tables;

	MUST(launch(function(m, "clean"), NULL));
	expect(h->directory && !(t->unseen & RACE_HISTORY_HOST_ORDERS) == !is_hosts,
	       "what host code may order is known");
	if (is_accessed)
		((uint64_t *)(uintptr_t)h->directory)[p / RACE_HISTORY_PIECE] = h->words;
	MUST(cuCtxSynchronize());
}

/* The runtime asks for managed variables while no context is current, and perhaps not for their
 * sizes. */
static void use_managed(size_t *bytes, bool is_accessed)
{
	CUdeviceptr p;

	MUST(cuLibraryGetManaged(&p, bytes, NULL, FAKE_MANAGED));
	context();
	use_variable(module("history"), p, is_accessed, true);
}

static void variable(void)
{
	size_t bytes;

	use_managed(&bytes, true);
}

static void variable_unsized(void)
{
	use_managed(NULL, true);
}

static void variable_unused(void)
{
	use_managed(NULL, false);
}

/* It asks again, in a context that has words already; the first module's kernel accesses it. */
static void variable_late(void)
{
	CUdeviceptr p;
	size_t bytes;

	context();
	CUmodule m = module("history");
	MUST(launch(function(m, "clean"), NULL));
	for (unsigned i = 0; i < 2; i++)
		MUST(cuLibraryGetManaged(&p, &bytes, NULL, FAKE_MANAGED));
	use_variable(m, p, true, true);
}

/* A program of the driver's API asks for a variable of whatever kind. */
static void use_global(const char *name, bool is_hosts)
{
	CUdeviceptr p;
	size_t bytes;

	context();
	CUmodule m = module("history");
	MUST(cuModuleGetGlobal(&p, &bytes, m, name));
	use_variable(m, p, true, is_hosts);
}

static void global_managed(void)
{
	use_global(FAKE_MANAGED, true);
}

static void global_device(void)
{
	use_global(FAKE_GLOBAL, false);
}

/* By a function of the driver that none of our headers has: where it is heard at all, it may order
 * anything, until the context is waited for. */
CUresult cuNewOrder(void);

static void newer(void)
{
	CUstream a, b;

	context();
	CUfunction f = function(module("history"), "clean");
	MUST(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
	MUST(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
	MUST(launch(f, a));
	MUST(cuNewOrder());
	MUST(launch(f, b));
	MUST(cuCtxSynchronize());
	MUST(launch(f, a));
	MUST(launch(f, b));
	MUST(cuCtxSynchronize());
}

/* Whose words does a module get of which hirace checks all kernels for iguard? */
static void split(bool is_asked)
{
	CUdeviceptr at = 0;
	size_t bytes = 0;

	context();
	CUmodule m = module("split");
	const struct race_history *h = history_of(m);
	MUST(cuModuleGetGlobal(&at, &bytes, m, RACE_IGUARD_SYMBOL));
	const struct race_history *g = (const struct race_history *)(uintptr_t)at;
	expect(!g->tables && !g->knobs.rt, "iguard, which has no kernel, has none");
	expect(!h->tables == !is_asked && !h->knobs.rt == !is_asked,
	       "hirace, if iguard is asked for");
	MUST(launch(function(m, "clean"), NULL));
}

static void split_asked(void)
{
	split(true);
}

static void split_unasked(void)
{
	split(false);
}

/* Two detectors with history in one module: tables of their own, entries twice as large, contexts
 * that are swept, and nothing of the other's is touched. */
static void guard(void)
{
	CUdeviceptr p, at = 0;
	size_t bytes = 0;

	context();
	CUmodule m = module("guard");
	CUfunction f = function(m, "clean");
	const struct race_history *h = history_of(m);
	MUST(cuModuleGetGlobal(&at, &bytes, m, RACE_IGUARD_SYMBOL));
	expect(bytes == sizeof(struct race_history), "a runtime block");
	const struct race_history *g = (const struct race_history *)(uintptr_t)at;
	struct race_iguard_tables *t = (struct race_iguard_tables *)(uintptr_t)g->tables;
	const struct race_history_tables *th =
		(const struct race_history_tables *)(uintptr_t)h->tables;

	expect(g->knobs.rt && g->directory && g->words && g->pages && g->bytes, "addresses");
	expect(!g->sites && !g->byte_sites, "nothing lies beside an entry");
	expect(g->tables != h->tables && g->words != h->words, "tables of its own");
	MUST(cuMemAllocManaged(&p, 64 * MIB, CU_MEM_ATTACH_GLOBAL));
	MUST(launch(f, NULL));
	expect(t->words.limit >= 32 && th->words.limit >= 32, "a block for each piece, for both");
	expect(!(t->unseen & RACE_HISTORY_GRID_ORDERS), "both follow what the module orders");
	uint64_t *entry = (uint64_t *)(uintptr_t)g->words;
	entry[0] = t->contexts_of[7] = t->nows[7] = 1;
	t->sides[3].launch = t->is_ordered = 1;
	t->contexts = IGUARD_CONTEXTS;
	MUST(launch(f, NULL));
	expect(entry[0] == 1 && t->contexts_of[7] == 1, "not before the agent has looked");
	MUST(cuCtxSynchronize());
	MUST(launch(f, NULL));
	expect(entry[0] == 0 && t->contexts_of[7] == 0 && t->nows[7] == 0, "a sweep");
	expect(t->sides[3].launch == 0 && t->contexts == 0, "of all tables");

	/* A module with one of the two orders unseen by the other. */
	m = module("history");
	MUST(launch(function(m, "clean"), NULL));
	expect(t->unseen & RACE_HISTORY_GRID_ORDERS, "iguard doesn't follow that module");
	expect(!(th->unseen & RACE_HISTORY_GRID_ORDERS), "hirace does");
}

/* A program that takes the card's memory in advance, as JAX does: both detectors have blocks for
 * what it touches of it. */
static void scarce(void)
{
	CUdeviceptr p, at = 0;
	size_t bytes = 0, before = fake_mapped();

	context();
	CUmodule m = module("guard");
	CUfunction f = function(m, "clean");
	const struct race_history_tables *h =
		(const struct race_history_tables *)(uintptr_t)history_of(m)->tables;
	MUST(cuModuleGetGlobal(&at, &bytes, m, RACE_IGUARD_SYMBOL));
	const struct race_history_tables *g =
		(const struct race_history_tables
			 *)(uintptr_t)((const struct race_history *)(uintptr_t)at)
			->tables;
	fake_leave(640 * MIB);
	before = fake_mapped();
	MUST(cuMemAllocManaged(&p, 1200 * MIB, CU_MEM_ATTACH_GLOBAL));
	MUST(launch(f, NULL));
	expect(h->words.limit >= 16 && h->words.limit < 600, "blocks for a part of it");
	expect(h->bytes.limit >= 64, "and pages for bytes");
	expect(g->words.limit >= 8 && g->words.limit < 600, "for the other detector, too");
	expect(fake_mapped() - before <= 384 * MIB, "the program keeps some");
	before = fake_mapped();
	MUST(launch(f, NULL));
	expect(fake_mapped() == before, "and that once");
}

/* A kernel without checks that is launched again and again, before and after one with words: each
 * launch counts, and what it may order isn't known to the words. */
static void again(void)
{
	CUfunction plain = simple("plain", "plain", 3);
	CUmodule m = module("history");
	CUfunction f = function(m, "clean");

	MUST(launch(f, NULL));
	const struct race_history_tables *t =
		(const struct race_history_tables *)(uintptr_t)history_of(m)->tables;
	expect(t->unseen & RACE_HISTORY_GRID_ORDERS, "the earlier kernel's order");
	MUST(launch(plain, NULL));
	MUST(launch(plain, NULL));
	MUST(launch(f, NULL));
	MUST(cuModuleUnload(m));
	MUST(launch(plain, NULL));
	if (cuLaunchKernel(plain, 1, 1, 1, 2048, 1, 1, 0, NULL, NULL, NULL) !=
	    CUDA_ERROR_INVALID_VALUE)
		_exit(7);
	MUST(launch(plain, NULL));
	MUST(cuCtxSynchronize());
}

/* ---- launches that are left out ------------------------------------------------------- */

/* Launch 1 is to be left out: its modules' blocks are empty, that of a module loaded meanwhile,
 * too, and filled again before launch 2. */
static void chosen_history(void)
{
	CUmodule m, late;
	CUfunction f;

	context();
	m = module("history");
	f = function(m, "clean");
	expect(history_of(m)->tables != 0, "all is checked until a launch says otherwise");
	MUST(launch(f, NULL));
	expect(!history_of(m)->tables && !history_of(m)->directory && !history_of(m)->knobs.rt,
	       "no table for a launch that is left out");
	late = module("history");
	function(late, "clean");
	expect(!history_of(late)->tables, "nor for a module loaded meanwhile");
	MUST(launch(f, NULL));
	expect(history_of(m)->tables && history_of(m)->directory && history_of(m)->knobs.rt,
	       "all is back");
	expect(history_of(late)->tables != 0, "in both");
}

/* Something runs all the time from launch 2 on. */
static void chosen_busy(void)
{
	CUfunction f = simple("instrumented", "race", 1);

	fake_busy(true);
	MUST(launch(f, NULL));
	fake_busy(false);
	MUST(launch(f, NULL));
}

/* The last launch of a kernel, and the first of another one. */
static void chosen_budget(void)
{
	CUfunction f = simple("instrumented", "race", 4);

	(void)f;
	MUST(launch(function(module("instrumented"), "clean"), NULL));
}

/* Launches 2 to 4 of one kernel beside those of another one. */
static void chosen_graph(void)
{
	CUgraphExec exec;
	CUmodule m;
	CUgraph g;
	CUstream s;

	context();
	m = module("instrumented");
	MUST(cuStreamCreate(&s, 0));
	MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	MUST(launch(function(m, "race"), s));
	MUST(launch(function(m, "clean"), s));
	MUST(cuStreamEndCapture(s, &g));
	MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
	for (int i = 0; i < 3; i++)
		MUST(cuGraphLaunch(exec, s));
}

/* ---- launches without checks ----------------------------------------------------------------- */

/* `n` launches of a kernel that gets one pointer; so many of all before ran without checks then. */
static void launch_with(CUfunction f, CUdeviceptr p, unsigned threads, CUstream s, int n,
			unsigned plains)
{
	void *params[] = {&p};

	for (int i = 0; i < n; i++)
		MUST(cuLaunchKernel(f, 1, 1, 1, threads, 1, 1, 0, s, params, NULL));
	if (fake_plain() != plains) {
		printf("%u without checks, expected %u\n", fake_plain(), plains);
		_exit(7);
	}
}

static CUmodule proven_module;

static CUfunction proven_begin(CUdeviceptr *p)
{
	context();
	proven_module = module("instrumented");
	MUST(cuMemAlloc(p, 4096));
	CUfunction f = function(proven_module, "proven");
	launch_with(f, *p, 32, NULL, 10, 10);
	return f;
}

/* What a launch must be like, and what may be beside it. */
static void proven(void)
{
	CUdeviceptr p, managed;
	CUfunction f = proven_begin(&p);
	CUstream s;

	launch_with(f, p, 64, NULL, 1, 10); /* not what the proof is about */
	launch_with(f, p + 4095, 32, CU_STREAM_LEGACY, 1, 11);
	launch_with(f, p + 4096, 32, NULL, 1, 11); /* in no allocation */
	MUST(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	launch_with(f, managed, 32, NULL, 1, 11);
	MUST(cuStreamCreate(&s, CU_STREAM_DEFAULT)); /* waits for the default stream */
	launch_with(f, p, 32, s, 1, 11);
	launch_with(f, p, 32, NULL, 1, 12);
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	launch_with(f, p, 32, NULL, 1, 12);
	launch_with(f, p, 32, s, 1, 12);
	launch_with(f, p, 32, NULL, 1, 12);
}

static void expect_calls(CUfunction f, CUdeviceptr p, unsigned threads, unsigned calls)
{
	unsigned before, plains;

	/* The first one may write the kernel's state. */
	launch_with(f, p, threads, NULL, 1, fake_plain() + (threads == 32));
	before = fake_calls();
	plains = fake_plain();
	launch_with(f, p, threads, NULL, 10, plains + (threads == 32 ? 10 : 0));
	if (fake_calls() - before != calls * 10) {
		printf("%u calls for 10 launches, expected %u each\n", fake_calls() - before,
		       calls);
		_exit(6);
	}
}

/* What a launch costs in calls of the driver, once its kernel is known: one for each pointer of a
 * proof, whether that holds or not. */
static void launch_calls(void)
{
	CUdeviceptr p;
	CUfunction f = proven_begin(&p);

	expect_calls(f, p, 32, 1);
	expect_calls(f, p, 64, 1);
	expect_calls(f, p, 32, 1);
	expect_calls(function(proven_module, "clean"), p, 64, 0);
}

/* Launches of a kernel that is to be proven later, and one that something may run beside. */
static void noted(void)
{
	struct {
		unsigned threads, blocks;
		int n, k;
	} const launches[] = {{32, 4, 16, 0}, {32, 4, 16, 1}, {32, 8, 16, 2}};
	CUdeviceptr p;
	CUstream s;

	context();
	CUfunction f = function(module("instrumented"), "noted");
	MUST(cuMemAlloc(&p, 4096));
	for (int i = 0; i < 3; i++) {
		int n = launches[i].n, k = launches[i].k;
		void *params[] = {&p, &n, &k};
		MUST(cuLaunchKernel(f, launches[i].blocks, 1, 1, launches[i].threads, 1, 1, 0, NULL,
				    params, NULL));
	}
	int n = 15, k = 100;
	void *params[] = {&p, &n, &k};
	MUST(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	MUST(cuLaunchKernel(f, 1, 1, 1, 64, 1, 1, 0, s, params, NULL));
}

static void noted_other(void)
{
	CUdeviceptr p;
	int n = 17, k = 3;
	void *params[] = {&p, &n, &k};

	context();
	CUfunction f = function(module("instrumented"), "noted");
	MUST(cuMemAlloc(&p, 4096));
	MUST(cuLaunchKernel(f, 4, 1, 1, 32, 1, 1, 0, NULL, params, NULL));
}

/* A kernel by both of its handles, which have one state. */
static void proven_handles(void)
{
	CUlibrary lib;
	CUdeviceptr p;
	CUmodule m;
	CUkernel k;

	context();
	MUST(cuMemAlloc(&p, 4096));
	MUST(cuLibraryLoadData(&lib, image("instrumented"), NULL, NULL, 0, NULL, NULL, 0));
	MUST(cuLibraryGetKernel(&k, lib, "proven"));
	launch_with((CUfunction)(void *)k, p, 64, NULL, 1, 0);
	MUST(cuLibraryGetModule(&m, lib));
	CUfunction f = function(m, "proven");
	launch_with(f, p, 32, NULL, 1, 1);
	launch_with((CUfunction)(void *)k, p, 64, NULL, 1, 1);
	launch_with((CUfunction)(void *)k, p, 32, NULL, 1, 2);
}

/* A launch may be under way when a second stream comes. */
static void proven_late(void)
{
	CUdeviceptr p;
	CUfunction f = proven_begin(&p);
	CUstream s;

	fake_busy(true);
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	fake_busy(false);
	launch_with(f, p, 32, NULL, 1, 10);
}

/* The context goes, with the kernel's state in it. */
static void proven_reset(void)
{
	CUcontext c;
	CUdeviceptr p;

	(void)proven_begin(&p);
	MUST(cuCtxGetCurrent(&c));
	MUST(cuCtxDestroy_v2(c));
	context();
	CUfunction f = function(module("instrumented"), "proven");
	MUST(cuMemAlloc(&p, 4096));
	launch_with(f, p, 32, NULL, 1, 10);
}

/* An executable graph may launch the kernel at any time. */
static void proven_graph(void)
{
	CUdeviceptr p;
	CUfunction f = proven_begin(&p);
	CUgraphExec exec;
	CUgraph g;
	CUstream s;

	MUST(cuStreamCreate(&s, 0));
	MUST(cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_GLOBAL));
	launch_with(f, p, 32, s, 1, 10);
	MUST(cuStreamEndCapture(s, &g));
	if (!fake_plain_is_on(proven_module))
		_exit(6);
	MUST(cuGraphInstantiateWithFlags(&exec, g, 0));
	if (fake_plain_is_on(proven_module))
		_exit(6);
	MUST(cuGraphLaunch(exec, s));
	launch_with(f, p, 32, NULL, 1, 10);
}

static CUdeviceptr thread_memory;
static CUfunction thread_kernel;
static CUcontext thread_context;

static void *another_thread(void *unused)
{
	MUST(cuCtxPushCurrent(thread_context));
	launch_with(thread_kernel, thread_memory, 32, NULL, 1, 10);
	return unused;
}

static void proven_threads(void)
{
	pthread_t t;

	thread_kernel = proven_begin(&thread_memory);
	MUST(cuCtxGetCurrent(&thread_context));
	if (pthread_create(&t, NULL, another_thread, NULL) || pthread_join(t, NULL))
		_exit(7);
	launch_with(thread_kernel, thread_memory, 32, NULL, 1, 10);
}

/* Seen when the counters are read. */
static void proven_leaves(void)
{
	CUdeviceptr p;
	CUfunction f = proven_begin(&p);

	fake_leaves();
	launch_with(f, p, 32, NULL, 1, 11);
	/* From one snapshot to the next. */
	nanosleep(&(struct timespec){.tv_nsec = 250000000}, NULL);
	MUST(cuCtxSynchronize());
	launch_with(f, p, 32, NULL, 1, 11);
}

/* A launch that writes by p and reads by q: how many bytes of q need no check? */
static void launch_partly(CUmodule m, CUdeviceptr p, CUdeviceptr q, CUstream s, uint64_t bytes)
{
	const struct race_plain_state *is = fake_partly(m);
	void *params[] = {&p, &q};

	MUST(cuLaunchKernel(function(m, "partly"), 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
	bool is_on = is->on == RACE_PLAIN_PARTLY && is->on > is->over;
	if (is_on != (bytes != 0) || (is_on && is->array[1].bytes != bytes) ||
	    (is_on && p && (is->array[0].from > p || !is->array[0].bytes))) {
		printf("%d, %llu bytes, expected %llu\n", is_on,
		       (unsigned long long)is->array[1].bytes, (unsigned long long)bytes);
		_exit(7);
	}
}

/* Which reads need no check, and when. */
static void partly(void)
{
	CUdeviceptr p, q, managed;
	CUstream s;
	CUmodule m;

	context();
	m = module("instrumented");
	MUST(cuMemAlloc(&p, 4096));
	MUST(cuMemAlloc(&q, 512));
	MUST(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	launch_partly(m, p, q, NULL, 512);
	launch_partly(m, p + 4095, q + 511, CU_STREAM_LEGACY, 512);
	launch_partly(m, q, q + 256, NULL, 0); /* one allocation */
	launch_partly(m, 0, q, NULL, 512);     /* it writes nothing */
	launch_partly(m, managed, q, NULL, 512);
	launch_partly(m, p, managed, NULL, 0); /* the host may write */
	launch_partly(m, p, q + 512, NULL, 0); /* in no allocation */
	launch_partly(m, p + 4096, q, NULL, 0);
	MUST(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	launch_partly(m, p, q, s, 0);
	/* Never left out, however often it was clean. */
	for (int i = 0; i < 1100; i++)
		launch_partly(m, p, q, NULL, 512);
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	if (fake_partly(m)->over < RACE_PLAIN_PARTLY)
		_exit(6);
	launch_partly(m, p, q, NULL, 0);
}

/* The bytes of arrays WRITTEN, READ, OWN, TESTED; all ones: any access is in it. */
static void launch_own(CUmodule m, CUdeviceptr p, CUdeviceptr q, unsigned threads,
		       const uint64_t bytes[4])
{
	const struct race_plain_state *is = fake_own(m);
	void *params[] = {&p, &q};

	MUST(cuLaunchKernel(function(m, "own"), 1, 1, 1, threads, 1, 1, 0, NULL, params, NULL));
	enum race_plain_on on = bytes[1] && bytes[2] ? RACE_PLAIN_PROVEN : RACE_PLAIN_PARTLY;
	bool is_on = is->on == on && is->on > is->over;
	for (unsigned i = 0; i < 4; i++)
		if (is_on != (bytes[1] || bytes[2]) || (is_on && is->array[i].bytes != bytes[i])) {
			printf("%d, array %u: %llu bytes, expected %llu\n", is_on, i,
			       (unsigned long long)is->array[i].bytes,
			       (unsigned long long)bytes[i]);
			_exit(7);
		}
}

/* When each thread has its own part of an array. */
static void own(void)
{
	const uint64_t any = UINT64_MAX;
	CUdeviceptr p, q, managed;
	CUmodule m;

	context();
	m = module("instrumented");
	MUST(cuMemAlloc(&p, 4096));
	MUST(cuMemAlloc(&q, 512));
	MUST(cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL));
	launch_own(m, p, q, 32, (const uint64_t[]){4096, 512, 4096, 512});
	/* Its term doesn't hold: reads may be anywhere. */
	launch_own(m, p, q, 33, (const uint64_t[]){4096, 512, 0, any});
	launch_own(m, p + 64, q, 1, (const uint64_t[]){4096, 512, 4096, 512});
	/* It reads what it writes, by the other pointer. */
	launch_own(m, q, q + 256, 32, (const uint64_t[]){512, 0, 0, any});
	/* The host may access either. */
	launch_own(m, managed, q, 32, (const uint64_t[]){64, 512, 0, any});
	launch_own(m, p, managed, 32, (const uint64_t[]){4096, 0, 4096, 64});
	/* Where it reads isn't known. */
	launch_own(m, p, q + 512, 32, (const uint64_t[]){4096, 0, 0, any});
	/* It reads nothing. */
	launch_own(m, p, 0, 32, (const uint64_t[]){4096, 0, 4096, 0});
}

/* Two streams that don't wait for each other: what is written in one isn't yet so for the other. */
static void partly_streams(void)
{
	CUstream s, t;
	CUmodule m;
	CUdeviceptr p, q;
	void *params[] = {&p, &q};

	context();
	m = module("instrumented");
	MUST(cuMemAlloc(&p, 4096));
	MUST(cuMemAlloc(&q, 512));
	MUST(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	MUST(cuStreamCreate(&t, CU_STREAM_DEFAULT));
	launch_partly(m, p, q, NULL, 512);
	fake_wait(s);
	MUST(cuLaunchKernel(function(m, "partly"), 1, 1, 1, 32, 1, 1, 0, s, params, NULL));
	launch_partly(m, p, q, t, 0);
	fake_wait(NULL);
	launch_partly(m, p, q, NULL, 512); /* it waits for both */
}

/* Clean a thousand times. */
static void often(void)
{
	CUfunction f = simple("instrumented", "often", 1000);

	if (fake_plain())
		_exit(6);
	for (int i = 0; i < 1000; i++)
		MUST(launch(f, NULL));
	MUST(cuCtxSynchronize());
}

/* Clean 64 times, by itself; then in a stream, and beside one that doesn't wait. */
static void often_alone(void)
{
	CUfunction f = simple("instrumented", "alone", 64);
	unsigned plain;
	CUstream s;

	if (fake_plain())
		_exit(6);
	for (int i = 0; i < 1000; i++)
		MUST(launch(f, NULL));
	plain = fake_plain();
	MUST(cuStreamCreate(&s, CU_STREAM_DEFAULT));
	for (int i = 0; i < 100; i++)
		MUST(launch(f, s));
	if (!plain || fake_plain() != plain)
		_exit(7);
	for (int i = 0; i < 100; i++)
		MUST(launch(f, NULL));
	if (fake_plain() == plain)
		_exit(8);
	plain = fake_plain();
	MUST(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
	for (int i = 0; i < 100; i++)
		MUST(launch(f, NULL));
	if (fake_plain() != plain)
		_exit(9);
	MUST(cuCtxSynchronize());
}

/* Beside a race nothing is left out. */
static void often_racy(void)
{
	MUST(launch(simple("instrumented", "race", 1), NULL));
	CUmodule m = module("instrumented");
	CUfunction f = function(m, "often");
	for (int i = 0; i < 2000; i++)
		MUST(launch(f, NULL));
	if (fake_plain())
		_exit(6);
}

/* The same for one that is left out by itself: with a race before its first launch none is. */
static void alone_racy(void)
{
	MUST(launch(simple("instrumented", "race", 1), NULL));
	CUmodule m = module("instrumented");
	CUfunction f = function(m, "alone");
	for (int i = 0; i < 1000; i++)
		MUST(launch(f, NULL));
	if (fake_plain())
		_exit(6);
}

/* And with a race between two of its launches none is once one has been checked after it. */
static void alone_late(void)
{
	CUfunction f = simple("instrumented", "alone", 64);
	unsigned plain;

	for (int i = 0; i < 500; i++)
		MUST(launch(f, NULL));
	CUmodule m = module("instrumented");
	MUST(launch(function(m, "race"), NULL));
	for (int i = 0; i < 200; i++)
		MUST(launch(f, NULL));
	plain = fake_plain();
	for (int i = 0; i < 300; i++)
		MUST(launch(f, NULL));
	if (fake_plain() != plain)
		_exit(7);
}

static const struct scenario {
	const char *name;
	void (*run)(void);
} scenarios[] = {
	{"races", races},
	{"refused", refused},
	{"unloadable", unloadable},
	{"clean", clean},
	{"plain", plain},
	{"loaded", loaded},
	{"loaded_thread", loaded_thread},
	{"library_before_context", library_before_context},
	{"reset", reset},
	{"destroy", destroy},
	{"threads", threads},
	{"two_contexts", two_contexts},
	{"forks", forks},
	{"exits", exits},
	{"killed", killed},
	{"traps", traps},
	{"traps_before_snapshot", traps_before_snapshot},
	{"graph", graph},
	{"first_use_in_capture", first_use_in_capture},
	{"many_contexts", many_contexts},
	{"handle_again", handle_again},
	{"two_devices", two_devices},
	{"two_programs", two_programs},
	{"two_programs_closed", two_programs_closed},
	{"copies_clean", copies_clean},
	{"copies_first", copies_first},
	{"copies_racy", copies_racy},
	{"copies_skipped", copies_skipped},
	{"copies_late", copies_late},
	{"copies_large", copies_large},
	{"copies_unfinished", copies_unfinished},
	{"streams", streams},
	{"host_half", host_half},
	{"history", history},
	{"ordered", ordered},
	{"unordered", unordered},
	{"newer", newer},
	{"guard", guard},
	{"split_asked", split_asked},
	{"split_unasked", split_unasked},
	{"scarce", scarce},
	{"again", again},
	{"chosen_history", chosen_history},
	{"chosen_busy", chosen_busy},
	{"chosen_budget", chosen_budget},
	{"chain", chain},
	{"branches", branches},
	{"variable", variable},
	{"variable_unsized", variable_unsized},
	{"variable_unused", variable_unused},
	{"variable_late", variable_late},
	{"global_managed", global_managed},
	{"global_device", global_device},
	{"chosen_graph", chosen_graph},
	{"proven", proven},
	{"noted", noted},
	{"noted_other", noted_other},
	{"launch_calls", launch_calls},
	{"proven_handles", proven_handles},
	{"proven_late", proven_late},
	{"proven_reset", proven_reset},
	{"proven_graph", proven_graph},
	{"proven_threads", proven_threads},
	{"proven_leaves", proven_leaves},
	{"partly", partly},
	{"own", own},
	{"partly_streams", partly_streams},
	{"often", often},
	{"often_alone", often_alone},
	{"often_racy", often_racy},
	{"alone_racy", alone_racy},
	{"alone_late", alone_late},
};

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	folder = argv[2];
	if (!strcmp(argv[1], "host_half") && race_shm_open())
		area = race_host_make();
	MUST(cuInit(0));
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		if (strcmp(scenarios[i].name, argv[1]) != 0)
			continue;
		scenarios[i].run();
		puts("ok");
		return 0;
	}
	return 3;
}
