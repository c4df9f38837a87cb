/*
 * agent_gpu.c - the agent and __collider_report on a real GPU and a real driver.
 *
 * Like agent_test.c, with hand-made PTX in place of instrumented code: every
 * thread of the kernel reports, so all counts are known. Prints one line per
 * case; exit code 77 (skipped) where there is no driver or no GPU.
 * usage: agent_gpu AGENT PTX      (PTX: report function + gpu_kernel.ptxt)
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <inttypes.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda.h>

#include "race/file/shm.h"

#define SKIPPED 77
#define TABLE	0xc0ffee01u

#define FUNCTIONS(F)                                                                               \
	F(cuInit)                                                                                  \
	F(cuDevicePrimaryCtxRetain)                                                                \
	F(cuDevicePrimaryCtxReset_v2)                                                              \
	F(cuCtxSetCurrent)                                                                         \
	F(cuCtxSynchronize)                                                                        \
	F(cuModuleLoad)                                                                            \
	F(cuModuleGetFunction)                                                                     \
	F(cuLaunchKernel)

static struct {
#define F(name) __typeof__(name) *name;
	FUNCTIONS(F)
#undef F
} cu;

#define MUST(x)                                                                                    \
	do {                                                                                       \
		CUresult r_ = cu.x;                                                                \
		if (r_ != CUDA_SUCCESS) {                                                          \
			printf("%s: error %d\n", #x, (int)r_);                                     \
			_exit(9);                                                                  \
		}                                                                                  \
	} while (0)

/* ---- the programs --------------------------------------------------------- */

static CUmodule start(const char *ptx)
{
	CUmodule m;
	CUcontext c;

	MUST(cuDevicePrimaryCtxRetain(&c, 0));
	MUST(cuCtxSetCurrent(c));
	MUST(cuModuleLoad(&m, ptx));
	return m;
}

static void launch(CUmodule m, const char *name, unsigned blocks, uint32_t nsites)
{
	void *params[] = {&nsites};
	CUfunction f;

	MUST(cuModuleGetFunction(&f, m, name));
	MUST(cuLaunchKernel(f, blocks, 1, 1, 64, 1, 1, 0, NULL, params, NULL));
}

static int program(const char *name, const char *ptx)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUmodule m;

	if (!lib)
		return SKIPPED;
#define F(f)                                                                                       \
	do {                                                                                       \
		void *p_ = dlsym(lib, #f);                                                         \
		memcpy(&cu.f, &p_, sizeof(p_));                                                    \
		if (!p_)                                                                           \
			return SKIPPED;                                                            \
	} while (0);
	FUNCTIONS(F)
#undef F
	if (cu.cuInit(0) != CUDA_SUCCESS)
		return SKIPPED;
	m = start(ptx);
	if (strcmp(name, "count") == 0) {
		for (int i = 0; i < 10; i++)
			launch(m, "race", 100, 4);
	} else if (strcmp(name, "mute") == 0) {
		launch(m, "race", 100000, 1);
	} else if (strcmp(name, "overflow") == 0) {
		launch(m, "race", 20000, 20000);
	} else if (strcmp(name, "reset") == 0) {
		launch(m, "race", 1, 1);
		MUST(cuDevicePrimaryCtxReset_v2(0));
		m = start(ptx);
		launch(m, "race", 2, 1);
	} else if (strcmp(name, "exit") == 0) {
		launch(m, "race", 1, 1);
		MUST(cuCtxSynchronize());
		_exit(0);
	} else if (strcmp(name, "kill") == 0) {
		launch(m, "race", 1, 1);
		MUST(cuCtxSynchronize());
		raise(SIGKILL);
	} else if (strcmp(name, "trap") == 0) {
		launch(m, "race", 1, 1);
		MUST(cuCtxSynchronize());
		launch(m, "dies", 1, 1);
		if (cu.cuCtxSynchronize() == CUDA_SUCCESS)
			_exit(9);
	}
	return 0;
}

/* ---- the checks ------------------------------------------------------------ */

static struct race_shm *shm;
static int failures;

static struct race_region *region(uint32_t i)
{
	return (struct race_region *)(void *)((char *)shm + RACE_SHM_REGION0) + i;
}

#define EXPECT(a, b)                                                                               \
	do {                                                                                       \
		uint64_t a_ = (a), b_ = (b);                                                       \
		if (a_ != b_) {                                                                    \
			printf("  line %d: %s is %" PRIu64 ", expected %" PRIu64 "\n", __LINE__,   \
			       #a, a_, b_);                                                        \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

static uint64_t total(uint32_t i)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < RACE_SLOTS; s++)
		sum += region(i)->counts[s];
	return sum;
}

static unsigned records(uint32_t i)
{
	unsigned n = 0;

	for (uint32_t s = 0; s < RACE_SLOTS; s++)
		n += region(i)->records[s].valid == RACE_RECORD_VALID;
	return n;
}

static void check_record(uint32_t i, uint32_t site)
{
	const struct race_record *r =
		&region(i)->records[race_slot_index(race_slot_key(TABLE, site, 1))];

	EXPECT(r->valid, RACE_RECORD_VALID);
	EXPECT(r->table, TABLE);
	EXPECT(r->site, site);
	EXPECT(r->kind, 1);
	EXPECT(r->address, 0x7000);
	/* The knobs that the kernel read: rsleep and wsleep, sample and seed. */
	EXPECT(r->was[0], 2501 | 1ull << 32);
	EXPECT(r->was[1], 0);
	EXPECT(r->now[0], 32 | 7ull << 32);
	EXPECT(r->now[1], 0);
	EXPECT(r->width, 4);
	EXPECT(r->thread[0] < 64, 1);
	EXPECT(r->count > 0 && r->count <= RACE_MUTE_COUNT + (1u << 18), 1);
}

static void check(const char *name)
{
	EXPECT(shm->agent_state, RACE_AGENT_ATTACHED);
	EXPECT(region(0)->modules, 1);
	if (strcmp(name, "count") == 0) {
		EXPECT(records(0), 4);
		EXPECT(total(0), 10 * 100 * 64);
		EXPECT(region(0)->checked, 10 * 100 * 64);
		EXPECT(region(0)->host_launches, 10);
		EXPECT(region(0)->exact, 1);
		for (uint32_t s = 0; s < 4; s++)
			check_record(0, s);
	} else if (strcmp(name, "mute") == 0) {
		EXPECT(total(0) >= RACE_MUTE_COUNT, 1);
		/* Past the limit by at most one group of lanes per resident warp. */
		EXPECT(total(0) < RACE_MUTE_COUNT + 148u * 64u * 32u, 1);
		EXPECT(region(0)->checked, 100000 * 64);
		check_record(0, 0);
	} else if (strcmp(name, "overflow") == 0) {
		EXPECT(records(0) > RACE_SLOTS * 9 / 10, 1);
		EXPECT(region(0)->overflow > 0, 1);
		EXPECT(total(0) + region(0)->overflow, 20000 * 64);
	} else if (strcmp(name, "reset") == 0) {
		EXPECT(shm->nregions, 2);
		EXPECT(region(0)->state, RACE_REGION_CLOSED);
		EXPECT(region(0)->exact, 1);
		EXPECT(total(0), 64);
		EXPECT(region(1)->exact, 1);
		EXPECT(total(1), 128);
	} else {
		check_record(0, 0);
		EXPECT(total(0), 64);
	}
	if (strcmp(name, "trap") == 0) {
		EXPECT(region(0)->error != 0, 1);
		EXPECT(region(0)->exact, 0);
	}
}

static int play(const char *self, const char *name, const char *agent, const char *ptx)
{
	int file = memfd_create("shm", 0), status = 0, before = failures;
	char number[16];
	pid_t pid;

	if (file < 0 || ftruncate(file, (off_t)RACE_SHM_BYTES) != 0)
		return 1;
	shm = mmap(NULL, RACE_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (shm == MAP_FAILED)
		return 1;
	shm->magic = RACE_SHM_MAGIC;
	shm->version = RACE_SHM_VERSION;
	shm->heap_limit = RACE_SHM_HEAP_BYTES;
	shm->rdelay = 5001;
	shm->wdelay = 1;
	shm->sample = 32;
	shm->seed = 7;
	pid = fork();
	if (pid == 0) {
		snprintf(number, sizeof(number), "%d", file);
		setenv(RACE_SHM_ENV, number, 1);
		setenv("CUDA_INJECTION64_PATH", agent, 1);
		execl(self, self, "--program", name, ptx, (char *)NULL);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED)
		return SKIPPED;
	if (WIFEXITED(status))
		EXPECT((uint64_t)WEXITSTATUS(status), 0);
	check(name);
	printf("%s %s\n", failures == before ? "ok  " : "FAIL", name);
	munmap(shm, RACE_SHM_BYTES);
	close(file);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"count", "mute", "overflow", "reset",
					    "exit",  "kill", "trap"};

	if (argc == 4 && strcmp(argv[1], "--program") == 0)
		return program(argv[2], argv[3]);
	if (argc != 3)
		return 2;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int r = play("/proc/self/exe", names[i], argv[1], argv[2]);

		if (r == SKIPPED)
			puts("skipped: no CUDA driver or no GPU");
		if (r)
			return r;
	}
	return failures != 0;
}
