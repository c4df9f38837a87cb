/*
 * test_inside.c - what can't be seen from outside: options, sticky faults.
 */
#include "check.h"

#include "cudart/state/internal.h"

void fake_fault(unsigned device, enum cpu_fault_kind kind, const char *text);
extern unsigned long fake_asked;

static void bad(const char *text, const char *expected)
{
	struct cudart_options o;
	struct base_sink sink = {0};

	CHECK(!cudart_read_options(text, &o, &sink));
	CHECK(sink.diags.n == 1);
	if (!strstr(sink.diags.v[0].text, expected)) {
		fprintf(stderr, "%s: %s\n", text, sink.diags.v[0].text);
		exit(1);
	}
	base_sink_free(&sink);
}

static void test_options(void)
{
	struct cudart_options o;
	struct base_sink sink = {0};

	CHECK(cudart_read_options(NULL, &o, &sink));
	CHECK(o.cpu.seed == 1 && o.cpu.threads >= 1 && o.cpu.devices == 1);
	CHECK(o.cpu.sms == CPU_SMS && o.cpu.memory == CPU_MEMORY);
	CHECK(!o.has_detectors && o.cpu.oracle == CPU_ORACLE_OFF);
	CHECK(cudart_read_options(
		"seed=0x10:threads=4:cpu-devices=3:memory-model=weak:sms=2:memory=3M", &o, &sink));
	CHECK(o.cpu.seed == 16 && o.cpu.threads == 4 && o.cpu.devices == 3);
	CHECK(o.cpu.model == CPU_MODEL_WEAK && o.cpu.sms == 2 && o.cpu.memory == 3 << 20);
	CHECK(cudart_read_options("detector=oracle:oracle=execution", &o, &sink));
	CHECK(o.has_detectors && o.cpu.oracle == CPU_ORACLE_EXECUTION);
	CHECK(cudart_read_options("detector=none", &o, &sink));
	CHECK(o.has_detectors && !o.detectors && o.cpu.oracle == CPU_ORACLE_OFF);
	bad("seed", "needs a value");
	bad("seed=", "whole number");
	bad("seed=1x", "whole number");
	bad("seed=99999999999999999999999", "whole number");
	bad("threads=257", "from 0 to 256");
	bad("cpu-devices=17", "from 1 to 16");
	bad("memory=1", "1048576 to");
	bad("memory=99999999999G", "1048576 to");
	bad("memory-model=tso", "sc|weak|a1");
	bad("speed=9", "unknown key 'speed'");
	bad("detector=collide,none", "a list of");
	/* The rest is read nevertheless. */
	CHECK(!cudart_read_options("speed=9:seed=7", &o, &sink));
	CHECK(o.cpu.seed == 7);
	base_sink_free(&sink);
}

static void test_fault(void)
{
	cudaStream_t s;
	void *p;
	int n;

	OK(cudaStreamCreate(&s));
	fake_fault(0, CPU_FAULT_ADDRESS, "out of bounds (this line belongs to the test)");
	CHECK_IS(cudaStreamSynchronize(s), cudaErrorIllegalAddress);
	CHECK_IS(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
	/* It's sticky: asking doesn't clear it. */
	CHECK_IS(cudaGetLastError(), cudaErrorIllegalAddress);
	CHECK_IS(cudaGetLastError(), cudaErrorIllegalAddress);
	OK(cudaGetDeviceCount(&n));
	/* Another device goes on. */
	OK(cudaSetDevice(1));
	OK(cudaMalloc(&p, 4));
	OK(cudaFree(p));
	CHECK_IS(cudaSetDevice(0), cudaErrorIllegalAddress);
	OK(cudaDeviceReset());
	OK(cudaGetLastError());
	OK(cudaMalloc(&p, 4));
	OK(cudaFree(p));
	CHECK(rt_fault_error(CPU_FAULT_ASSERT) == RT_ERROR_ASSERT);
	CHECK(rt_fault_error(CPU_FAULT_MISALIGNED) == RT_ERROR_MISALIGNED_ADDRESS);
}

/* Makes n streams, gives each a fill, waits for each and destroys it: how often an operation was
 * asked whether it has ended. */
static unsigned long asked_for(unsigned n)
{
	cudaStream_t *s = calloc(n, sizeof(*s));
	unsigned long before = fake_asked;
	char *p;

	CHECK(s != NULL);
	OK(cudaMalloc((void **)&p, n));
	for (unsigned i = 0; i < n; i++)
		OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
	for (unsigned i = 0; i < n; i++) {
		OK(cudaMemsetAsync(p + i, 1, 1, s[i]));
		/* Some end before their work has, and others are made meanwhile. */
		if (i % 2) {
			OK(cudaStreamDestroy(s[i]));
			OK(cudaStreamCreateWithFlags(&s[i], cudaStreamNonBlocking));
		}
	}
	for (unsigned i = 0; i < n; i++)
		OK(cudaStreamSynchronize(s[i]));
	for (unsigned i = 0; i < n; i++)
		OK(cudaStreamDestroy(s[i]));
	OK(cudaFree(p));
	free(s);
	return fake_asked - before;
}

/* Streams cost what they are, not their square. */
static void test_many_streams(void)
{
	unsigned long some = asked_for(250), all = asked_for(2000);

	CHECK(some >= 250 && some < 250 * 40);
	CHECK(all < 12 * some);
}

int main(void)
{
	CHECK(setenv("COLLIDER_CPU", "cpu-devices=2", 1) == 0);
	test_options();
	test_fault();
	test_many_streams();
	return 0;
}
