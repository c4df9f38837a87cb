/*
 * state.c - the process: starting the machine, options, faults, fork.
 *
 * The machine is made at the first call that needs it, never at load: a
 * program that only links the runtime pays nothing. Each host thread has a
 * struct rt_thread (current device, last error). A device's fault is sticky:
 * every later call for the device returns it; its text goes to stderr once.
 *
 * What still runs at exit is dropped, as in CUDA (collider.c first gives it some time, for the
 * report); a fault that no call has returned is reported.
 */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/option.h"
#include "base/processors.h"
#include "cudart/state/capture.h"
#include "cudart/entries/entries.h"
#include "cudart/report/collider.h"
#include "cudart/state/context.h"
#include "cudart/state/internal.h"
#include "cudart/state/link.h"
#include "cudart/state/threads.h"
#include "race/detector.h"
#include "race/file/shm_write.h"

struct rt_state rt = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct rt_thread thread;
static pthread_key_t thread_key;

void rt_say(const char *fmt, ...)
{
	char line[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	/* One call, so that lines of several threads don't mix. */
	fprintf(stderr, "collider: %s\n", line);
}

/* ---- options ---------------------------------------------------------------- */

_Static_assert(RT_DEVICES == 16, "the range of --cpu-devices in options.def");

static enum cpu_oracle oracle_of(const struct option_set *s)
{
	if (!(option_list(s, OPTION_DETECTOR) & RACE_DETECT_JUDGE))
		return CPU_ORACLE_OFF;
	return option_is(s, OPTION_ORACLE, "execution") ? CPU_ORACLE_EXECUTION : CPU_ORACLE_PROGRAM;
}

static enum cpu_model model_of(const struct option_set *s)
{
	if (option_is(s, OPTION_MEMORY_MODEL, "weak"))
		return CPU_MODEL_WEAK;
	return option_is(s, OPTION_MEMORY_MODEL, "a1") ? CPU_MODEL_A1 : CPU_MODEL_SC;
}

static enum cpu_jit jit_of(const struct option_set *s)
{
	if (option_is(s, OPTION_JIT, "off"))
		return CPU_JIT_OFF;
	return option_is(s, OPTION_JIT, "verify") ? CPU_JIT_VERIFY : CPU_JIT_ON;
}

/* What copies of launches' memory may take (cpu_options.repeat_bytes). */
#define REPEAT_BYTES (4ull << 30)

static uint64_t repeat_bytes(const struct option_set *s)
{
	long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);
	uint64_t part = pages > 0 && bytes > 0 ? (uint64_t)pages * (uint64_t)bytes / 8 : 0;

	/* Without detectors all launches are executed, unless the user asks: that is what the time
	 * of a detector is compared with. */
	if (option_is(s, OPTION_REPEATS, "run") ||
	    (!option_list(s, OPTION_DETECTOR) && !option_text(s, OPTION_REPEATS)))
		return 0;
	if (option_int(s, OPTION_REPEAT_BYTES))
		return (uint64_t)option_int(s, OPTION_REPEAT_BYTES);
	return part < REPEAT_BYTES ? part : REPEAT_BYTES;
}

/* 0: as many as the process has processors. */
static unsigned threads_of(const struct option_set *s)
{
	unsigned n = (unsigned)option_int(s, OPTION_THREADS);

	/* ThreadSanitizer ends a process that starts threads after a fork, as for a proof. */
	if (dlsym(RTLD_DEFAULT, "__tsan_init"))
		return 1;
	return n ? n : base_processors();
}

bool cudart_read_options(const char *text, struct cudart_options *opt, struct base_sink *sink)
{
	static struct base_arena texts; /* as long as the process */
	struct option_set s;
	int rc = 0;

	option_init(&s, OPTION_CMD_DEVICE);
	if (text)
		rc = option_read_own(&s, CUDART_OPTIONS_ENV, text, sink);
	uint64_t memory = (uint64_t)option_int(&s, OPTION_DEVICE_MEMORY);
	bool has_seed = option_source(&s, OPTION_SEED) != OPTION_FROM_DEFAULT;
	opt->has_detectors = option_source(&s, OPTION_DETECTOR) != OPTION_FROM_DEFAULT;
	opt->detectors = option_list(&s, OPTION_DETECTOR);
	const char *launches = option_text(&s, OPTION_RECORD_LAUNCHES);
	opt->launches = launches ? strdup(launches) : NULL;
	const char *capsules = option_text(&s, OPTION_CAPSULES);
	opt->capsules = capsules ? strdup(capsules) : NULL;
	const char *prover = option_is(&s, OPTION_PRUNE, "none") || capsules
				     ? NULL
				     : option_text(&s, OPTION_PROVER);
	opt->prover = prover ? strdup(prover) : NULL;
	opt->proves_all = !option_is(&s, OPTION_PRUNE, "auto");
	opt->proof_guess = option_source(&s, OPTION_PROOF_GUESS) != OPTION_FROM_DEFAULT
				   ? option_int(&s, OPTION_PROOF_GUESS)
				   : -1;
	opt->inst = (struct inst_options){.shared_room = CPU_SHARED_OPTIN};
	inst_options_read(&opt->inst, &s, &texts);
	const char *delay = option_text(&s, OPTION_DELAY), *only = option_text(&s, OPTION_ONLY);
	opt->stages_copies = option_is(&s, OPTION_HOST_COPIES, "staged");
	opt->cpu = (struct cpu_options){
		.seed = has_seed ? (uint64_t)option_int(&s, OPTION_SEED) : 1,
		.threads = threads_of(&s),
		.devices = (unsigned)option_int(&s, OPTION_CPU_DEVICES),
		.sms = option_int(&s, OPTION_SMS) ? (unsigned)option_int(&s, OPTION_SMS) : CPU_SMS,
		.memory = memory ? memory : CPU_MEMORY,
		.model = model_of(&s),
		.jit = jit_of(&s),
		.prints_stats = option_flag(&s, OPTION_DEVICE_STATS),
		.oracle = opt->has_detectors ? oracle_of(&s) : CPU_ORACLE_OFF,
		.sees_host =
			option_flag(&s, OPTION_HOST_ACCESSES) || option_flag(&s, OPTION_HOST_AUTO),
		.is_host_auto = option_flag(&s, OPTION_HOST_AUTO),
		.steps_aside = option_flag(&s, OPTION_ORACLE_ASIDE),
		.variable = opt->inst.variable,
		.is_exact = option_flag(&s, OPTION_VERIFY),
		.is_host_apart = option_is(&s, OPTION_HOST_THREADS, "separate"),
		.repeat_bytes = repeat_bytes(&s),
		.calm_from = option_source(&s, OPTION_RANDOM_TURNS) != OPTION_FROM_DEFAULT
				     ? (uint64_t)option_int(&s, OPTION_RANDOM_TURNS) + 1
				     : 0,
		.delay = delay ? strdup(delay) : NULL,
		.only = only ? strdup(only) : NULL,
		.tries_repeats = option_is(&s, OPTION_REPEATS, "try"),
		.oracle_actors = (uint32_t)option_int(&s, OPTION_ORACLE_ACTORS),
		.oracle_records = (uint32_t)option_int(&s, OPTION_ORACLE_RECORDS),
	};
	option_free(&s);
	return !rc;
}

/* ---- start, threads, fork ------------------------------------------------------ */

/* The child has none of the other threads: what one of them was loading would never be complete,
 * and its lock never free. */
static void fork_prepare(void)
{
	rt_images_lock();
	pthread_mutex_lock(&rt.lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&rt.lock);
	rt_images_unlock();
}

static void fork_child(void)
{
	rt.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	rt_images_unlock();
	rt.is_forked = true;
	cpu_machine_forked(rt.m);
}

/* The thread's own default streams are freed when their work is done. */
static void thread_end(void *p)
{
	struct rt_thread *t = p;

	if (rt.is_forked)
		return;
	rt_lock();
	for (unsigned d = 0; d < RT_DEVICES; d++) {
		if (!t->per_thread[d])
			continue;
		rt_stream_end(t->per_thread[d]);
		t->per_thread[d] = NULL;
	}
	rt_unlock();
}

/* stats=1: what was executed, and the processor time of the whole process for it. */
static void print_stats(void)
{
	struct cpu_stats s;
	char beside[96] = "";

	if (rt.is_forked)
		return;
	cpu_get_stats(rt.m, &s);
	if (s.beside)
		snprintf(beside, sizeof(beside), ", %llu by several threads (%llu repeated by one)",
			 (unsigned long long)s.beside, (unsigned long long)s.taken_back);
	rt_say("%llu launches (%llu copied)%s, %llu blocks, %llu warp instructions, %llu thread "
	       "instructions, %.3f s",
	       (unsigned long long)s.launches, (unsigned long long)s.repeats, beside,
	       (unsigned long long)s.blocks, (unsigned long long)s.warp_insts,
	       (unsigned long long)s.thread_insts,
	       1e-9 * (double)base_clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

/* Reports faults that no call of the program has returned. */
static void report_faults(void)
{
	if (rt.is_forked)
		return;
	for (unsigned d = 0; d < rt.ndevices; d++)
		(void)rt_device_error(d);
}

/* The reserve for the calls in progress when memory is exhausted. */
#define RESERVE ((size_t)64 << 20)

static void when_short(void)
{
	cpu_machine_short(rt.m);
}

/* Before anything allocates: programs register their fat binaries before main. */
__attribute__((constructor)) static void hold_reserve(void)
{
	base_reserve(RESERVE, when_short);
}

/* Every call of the program passes through here: without memory it starts nothing new. */
static bool has_memory(void)
{
	static atomic_bool is_reported;

	if (!base_is_short())
		return true;
	if (!atomic_exchange(&is_reported, true))
		race_shm_note("the process ran out of memory: calls of CUDA failed, and what they "
			      "would have started went unchecked");
	return base_rearm();
}

/* A file whose own CUDA runtime stays: what it runs isn't seen. */
static void report_entry(const char *path, const char *why)
{
	char exe[512], text[768];
	ssize_t n = strcmp(path, "/proc/self/exe") ? -1 : readlink(path, exe, sizeof(exe) - 1);

	if (n > 0) {
		exe[n] = 0;
		path = exe;
	}
	snprintf(text, sizeof(text), "%s: %s", path, why);
	rt_say("%s", text);
	if (race_shm_open())
		race_shm_gap(RACE_GAP_NOT_LOADED, "", text, 1);
}

/* At the end of a process, as the program may have made no call that reaches us. */
__attribute__((destructor)) static void report_entries(void)
{
	if (!rt.is_forked)
		rt_entries_report(report_entry);
}

static void start(void)
{
	struct cudart_options o = {0};
	struct base_sink sink = {0};

	if (!cudart_read_options(getenv(CUDART_OPTIONS_ENV), &o, &sink)) {
		base_sink_print(&sink, stderr);
		rt_say("%s: defaults are used for what is wrong", CUDART_OPTIONS_ENV);
	}
	base_sink_free(&sink);
	rt.options = o.cpu;
	rt.has_detectors = o.has_detectors;
	rt.detectors = o.detectors;
	rt.inst = o.inst;
	rt.stages_copies = o.stages_copies;
	rt_launches_open(o.launches);
	free(o.launches);
	pthread_key_create(&thread_key, thread_end);
	struct cpu_machine *m = cpu_machine_new(&rt.options);
	if (!m) {
		rt_say("the CPU device cannot start: out of memory");
		return;
	}
	rt.ndevices = rt.options.devices;
	for (unsigned d = 0; d < rt.ndevices; d++)
		rt_device_init(d);
	rt.m = m;
	rt_launches_listen();
	rt_threads_check();
	if (rt.options.oracle && rt.options.is_host_apart)
		rt_threads_start(m);
	if (rt.options.prints_stats)
		atexit(print_stats);
	atexit(report_faults); /* runs after the handler that waits for the last work */
	rt_collider_start();
	rt_proven_start(o.prover, o.proves_all, o.proof_guess);
	free(o.prover);
	rt_capsules_start(o.capsules);
	free(o.capsules);
	pthread_atfork(fork_prepare, fork_parent, fork_child);
}

struct rt_thread *rt_thread(void)
{
	return &thread;
}

void rt_thread_watch(void)
{
	pthread_setspecific(thread_key, &thread);
}

enum rt_error rt_enter_any(void)
{
	if (thread.is_host_fn)
		return RT_ERROR_NOT_PERMITTED;
	if (rt.is_forked)
		return RT_ERROR_INITIALIZATION_ERROR;
	pthread_once(&once, start);
	if (!has_memory())
		return RT_ERROR_MEMORY_ALLOCATION;
	return rt.m ? RT_OK : RT_ERROR_INITIALIZATION_ERROR;
}

enum rt_error rt_enter(void)
{
	enum rt_error e = rt_enter_any();

	if (e != RT_OK)
		return e;
	if (!thread.context)
		rt_context_attach();
	return rt_device_error(thread.device);
}

/* ---- faults ------------------------------------------------------------------------ */

enum rt_error rt_fault_error(enum cpu_fault_kind kind)
{
	switch (kind) {
	case CPU_FAULT_NONE:
		return RT_OK;
	case CPU_FAULT_ADDRESS:
		return RT_ERROR_ILLEGAL_ADDRESS;
	case CPU_FAULT_MISALIGNED:
		return RT_ERROR_MISALIGNED_ADDRESS;
	case CPU_FAULT_UNSUPPORTED:
	case CPU_FAULT_ILLEGAL:
		return RT_ERROR_ILLEGAL_INSTRUCTION;
	case CPU_FAULT_TRAP:
		return RT_ERROR_LAUNCH_FAILURE;
	case CPU_FAULT_ASSERT:
		return RT_ERROR_ASSERT;
	case CPU_FAULT_STACK:
		return RT_ERROR_HARDWARE_STACK_ERROR;
	case CPU_FAULT_DEADLOCK:
		return RT_ERROR_LAUNCH_TIMEOUT;
	case CPU_FAULT_RESOURCES:
		return RT_ERROR_LAUNCH_OUT_OF_RESOURCES;
	case CPU_FAULT_UNKNOWN: /* a judge\'s: no memory of a program is */
		break;
	}
	return RT_ERROR_UNKNOWN;
}

enum rt_error rt_device_error(unsigned device)
{
	struct cpu_fault f;
	bool is_new = false;

	cpu_fault_get(rt.m, device, &f);
	if (f.kind == CPU_FAULT_NONE)
		return RT_OK;
	rt_lock();
	is_new = !rt.dev[device].is_fault_reported;
	rt.dev[device].is_fault_reported = true;
	rt_unlock();
	if (is_new)
		rt_say("%s", f.text);
	return rt_fault_error(f.kind);
}
