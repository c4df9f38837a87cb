/*
 * state.c - the process: starting the machine, options, faults, fork.
 *
 * The machine is made at the first call that needs it, never at load: a
 * program that only links the runtime pays nothing. Each host thread has a
 * struct rt_thread (current device, last error). A device's fault is sticky:
 * every later call for the device returns it; its text goes to stderr once.
 *
 * What still runs at exit is dropped, as CUDA does (collider.c gives it some
 * time first, for the report); a fault nobody asked for is told.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cudart/state/capture.h"
#include "cudart/state/collider.h"
#include "cudart/state/internal.h"
#include "cudart/state/threads.h"

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

static bool parse_number(const char *s, size_t n, uint64_t *out)
{
	char text[32];
	char *end;

	if (n == 0 || n >= sizeof(text) || *s < '0' || *s > '9')
		return false;
	memcpy(text, s, n);
	text[n] = 0;
	errno = 0;
	*out = strtoull(text, &end, 0);
	if (errno)
		return false;
	unsigned shift = 0;
	switch (*end) {
	case 'k':
	case 'K':
		shift = 10;
		break;
	case 'm':
	case 'M':
		shift = 20;
		break;
	case 'g':
	case 'G':
		shift = 30;
		break;
	}
	if (shift)
		end++;
	if (*end || *out > UINT64_MAX >> shift)
		return false;
	*out <<= shift;
	return true;
}

static bool parse_model(const char *s, size_t n, enum cpu_model *out)
{
	static const char *const names[] = {
		[CPU_MODEL_SC] = "sc", [CPU_MODEL_WEAK] = "weak", [CPU_MODEL_A1] = "a1"};

	for (size_t i = 0; i < BASE_COUNTOF(names); i++) {
		if (strlen(names[i]) == n && memcmp(names[i], s, n) == 0) {
			*out = (enum cpu_model)i;
			return true;
		}
	}
	return false;
}

static bool parse_oracle(const char *s, size_t n, enum cpu_oracle *out)
{
	static const char *const names[] = {[CPU_ORACLE_OFF] = "off",
					    [CPU_ORACLE_PROGRAM] = "program",
					    [CPU_ORACLE_EXECUTION] = "execution"};

	for (size_t i = 0; i < BASE_COUNTOF(names); i++) {
		if (strlen(names[i]) == n && memcmp(names[i], s, n) == 0) {
			*out = (enum cpu_oracle)i;
			return true;
		}
	}
	return false;
}

static bool is_key(const char *s, size_t n, const char *key)
{
	return strlen(key) == n && memcmp(s, key, n) == 0;
}

/* One key=value. Returns NULL, or what was expected. */
static const char *parse_option(const char *s, size_t n, struct cpu_options *opt)
{
	const char *eq = memchr(s, '=', n);

	if (!eq)
		return "key=value";
	size_t nkey = (size_t)(eq - s);
	const char *v = eq + 1;
	size_t nv = n - nkey - 1;

	if (is_key(s, nkey, "model"))
		return parse_model(v, nv, &opt->model) ? NULL : "model=sc, weak or a1";
	if (is_key(s, nkey, "oracle"))
		return parse_oracle(v, nv, &opt->oracle) ? NULL
							 : "oracle=off, program or execution";

	if (is_key(s, nkey, "host-threads")) {
		opt->is_host_apart = is_key(v, nv, "separate");
		return opt->is_host_apart || is_key(v, nv, "one") ? NULL
								  : "host-threads=one or separate";
	}

	uint64_t x = 0;
	bool is_number = parse_number(v, nv, &x);
	if (is_key(s, nkey, "seed")) {
		if (!is_number)
			return "seed=NUMBER";
		opt->seed = x;
	} else if (is_key(s, nkey, "threads")) {
		if (!is_number || x < 1 || x > 256)
			return "threads=1..256";
		opt->threads = (unsigned)x;
	} else if (is_key(s, nkey, "devices")) {
		if (!is_number || x < 1 || x > RT_DEVICES)
			return "devices=1..16";
		opt->devices = (unsigned)x;
	} else if (is_key(s, nkey, "sms")) {
		if (!is_number || x < 1 || x > 1024)
			return "sms=1..1024";
		opt->sms = (unsigned)x;
	} else if (is_key(s, nkey, "memory")) {
		if (!is_number || x < 1 << 20)
			return "memory=BYTES, at least 1M";
		opt->memory = x;
	} else if (is_key(s, nkey, "host-accesses")) {
		if (!is_number || x > 1)
			return "host-accesses=0 or 1";
		opt->sees_host = x;
	} else if (is_key(s, nkey, "stats")) {
		if (!is_number || x > 1)
			return "stats=0 or 1";
		opt->tells_stats = x;
	} else if (is_key(s, nkey, "oracle-actors")) {
		if (!is_number || x < 1 || x > UINT32_MAX)
			return "oracle-actors=NUMBER";
		opt->oracle_actors = (uint32_t)x;
	} else if (is_key(s, nkey, "oracle-records")) {
		if (!is_number || x < 2 || x > UINT32_MAX)
			return "oracle-records=NUMBER, at least 2";
		opt->oracle_records = (uint32_t)x;
	} else {
		return "one of seed, threads, devices, sms, memory, model, stats, oracle, "
		       "host-threads, host-accesses";
	}
	return NULL;
}

_Static_assert(RT_DEVICES == 16, "the text of devices= above");

bool cudart_parse_options(const char *text, struct cpu_options *opt, char *why, size_t why_size)
{
	bool is_good = true;

	*opt = (struct cpu_options){.seed = 1,
				    .threads = 1,
				    .devices = 1,
				    .sms = CPU_SMS,
				    .memory = CPU_MEMORY,
				    .model = CPU_MODEL_SC};
	for (const char *s = text ? text : ""; *s;) {
		size_t n = strcspn(s, ",");
		const char *expected = n ? parse_option(s, n, opt) : NULL;
		if (expected && is_good) {
			is_good = false;
			snprintf(why, why_size, "found \"%.*s\", expected %s",
				 (int)(n < 60 ? n : 60), s, expected);
		}
		s += n;
		s += *s == ',';
	}
	return is_good;
}

/* ---- start, threads, fork ------------------------------------------------------ */

static void fork_prepare(void)
{
	pthread_mutex_lock(&rt.lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&rt.lock);
}

static void fork_child(void)
{
	rt.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	rt.is_forked = true;
	cpu_machine_forked(rt.m);
}

/* The thread's own default streams go when their work is done. */
static void thread_end(void *p)
{
	struct rt_thread *t = p;

	if (rt.is_forked)
		return;
	rt_lock();
	for (unsigned d = 0; d < RT_DEVICES; d++) {
		if (!t->per_thread[d])
			continue;
		rt_capture_forget_stream(t->per_thread[d]);
		t->per_thread[d]->is_ended = true;
		t->per_thread[d] = NULL;
	}
	rt_unlock();
}

/* stats=1: what was executed, and the processor time of the whole process for it. */
static void tell_stats(void)
{
	struct timespec t = {0};
	struct cpu_stats s;

	if (rt.is_forked)
		return;
	cpu_get_stats(rt.m, &s);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	rt_say("%llu launches, %llu blocks, %llu warp instructions, %llu thread instructions, %.3f "
	       "s",
	       (unsigned long long)s.launches, (unsigned long long)s.blocks,
	       (unsigned long long)s.warp_insts, (unsigned long long)s.thread_insts,
	       (double)t.tv_sec + (double)t.tv_nsec * 1e-9);
}

/* A fault that the program never asked for. */
static void tell_faults(void)
{
	if (rt.is_forked)
		return;
	for (unsigned d = 0; d < rt.ndevices; d++)
		(void)rt_device_error(d);
}

static void start(void)
{
	char why[160];
	const char *text = getenv(CUDART_OPTIONS_ENV);

	if (!cudart_parse_options(text, &rt.options, why, sizeof(why)))
		rt_say("%s: %s; the default is used", CUDART_OPTIONS_ENV, why);
	if (rt.options.oracle && rt.options.threads != 1) {
		rt_say("%s: the oracle goes with threads=1 only; it is not used",
		       CUDART_OPTIONS_ENV);
		rt.options.oracle = CPU_ORACLE_OFF;
	}
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
	if (rt.options.oracle && rt.options.is_host_apart)
		rt_threads_start(m);
	if (rt.options.tells_stats)
		atexit(tell_stats);
	atexit(tell_faults); /* runs after the handler that waits for the last work */
	rt_collider_start();
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

cudaError_t rt_enter_any(void)
{
	if (thread.is_host_fn)
		return cudaErrorNotPermitted;
	if (rt.is_forked)
		return cudaErrorInitializationError;
	pthread_once(&once, start);
	return rt.m ? cudaSuccess : cudaErrorInitializationError;
}

cudaError_t rt_enter(void)
{
	cudaError_t e = rt_enter_any();

	return e == cudaSuccess ? rt_device_error(thread.device) : e;
}

/* ---- faults ------------------------------------------------------------------------ */

cudaError_t rt_fault_error(enum cpu_fault_kind kind)
{
	switch (kind) {
	case CPU_FAULT_NONE:
		return cudaSuccess;
	case CPU_FAULT_ADDRESS:
		return cudaErrorIllegalAddress;
	case CPU_FAULT_MISALIGNED:
		return cudaErrorMisalignedAddress;
	case CPU_FAULT_UNSUPPORTED:
	case CPU_FAULT_ILLEGAL:
		return cudaErrorIllegalInstruction;
	case CPU_FAULT_TRAP:
		return cudaErrorLaunchFailure;
	case CPU_FAULT_ASSERT:
		return cudaErrorAssert;
	case CPU_FAULT_STACK:
		return cudaErrorHardwareStackError;
	case CPU_FAULT_DEADLOCK:
		return cudaErrorLaunchTimeout;
	case CPU_FAULT_RESOURCES:
		return cudaErrorLaunchOutOfResources;
	}
	return cudaErrorUnknown;
}

cudaError_t rt_device_error(unsigned device)
{
	struct cpu_fault f;
	bool is_new = false;

	cpu_fault_get(rt.m, device, &f);
	if (f.kind == CPU_FAULT_NONE)
		return cudaSuccess;
	rt_lock();
	is_new = !rt.dev[device].is_fault_told;
	rt.dev[device].is_fault_told = true;
	rt_unlock();
	if (is_new)
		rt_say("%s", f.text);
	return rt_fault_error(f.kind);
}
