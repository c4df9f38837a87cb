/*
 * test_inside.c - what can't be seen from outside: options, sticky faults.
 */
#include "check.h"

#include "cudart/state/internal.h"

void fake_fault(unsigned device, enum cpu_fault_kind kind, const char *text);

static void bad(const char *text, const char *expected)
{
	struct cpu_options o;
	char why[160] = "";

	CHECK(!cudart_parse_options(text, &o, why, sizeof(why)));
	if (!strstr(why, expected)) {
		fprintf(stderr, "%s: %s\n", text, why);
		exit(1);
	}
}

static void test_options(void)
{
	struct cpu_options o;
	char why[160];

	CHECK(cudart_parse_options(NULL, &o, why, sizeof(why)));
	CHECK(o.seed == 1 && o.threads == 1 && o.devices == 1 && o.sms == CPU_SMS);
	CHECK(cudart_parse_options("seed=0x10,threads=4,devices=3,model=weak,sms=2,memory=3M", &o,
				   why, sizeof(why)));
	CHECK(o.seed == 16 && o.threads == 4 && o.devices == 3 && o.model == CPU_MODEL_WEAK);
	CHECK(o.sms == 2 && o.memory == 3 << 20);
	bad("seed", "key=value");
	bad("seed=", "seed=NUMBER");
	bad("seed=1x", "seed=NUMBER");
	bad("seed=99999999999999999999999", "seed=NUMBER");
	bad("threads=0", "threads=1..256");
	bad("devices=17", "devices=1..16");
	bad("memory=1", "at least 1M");
	bad("memory=99999999999G", "at least 1M");
	bad("model=tso", "sc, weak or a1");
	bad("speed=9", "one of seed");
	/* The rest is read nevertheless. */
	CHECK(!cudart_parse_options("speed=9,seed=7", &o, why, sizeof(why)));
	CHECK(o.seed == 7);
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
	CHECK(rt_fault_error(CPU_FAULT_ASSERT) == cudaErrorAssert);
	CHECK(rt_fault_error(CPU_FAULT_MISALIGNED) == cudaErrorMisalignedAddress);
}

int main(void)
{
	CHECK(setenv("COLLIDER_CPU", "devices=2", 1) == 0);
	test_options();
	test_fault();
	return 0;
}
