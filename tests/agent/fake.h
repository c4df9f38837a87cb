/*
 * fake.h - between the stand-in driver and the stand-in CUPTI.
 */
#ifndef TESTS_AGENT_FAKE_H
#define TESTS_AGENT_FAKE_H

#include <stdbool.h>

#include <cuda.h>
#include <cupti.h>

/* Variables that each module has, of FAKE_VARIABLE bytes. */
#define FAKE_MANAGED  "counter"
#define FAKE_GLOBAL   "global"
#define FAKE_VARIABLE (4u << 20)

struct fake_subscriber {
	CUpti_CallbackFunc call; /* NULL: no subscriber */
	void *user;
	bool driver[CUPTI_DRIVER_TRACE_CBID_SIZE];
	bool resource[CUPTI_CBID_RESOURCE_SIZE];
	bool runtime[CUPTI_RUNTIME_TRACE_CBID_SIZE];
};

/* The runtime's cudaLaunchKernel: it refuses a block of no threads, and asks the driver about
 * others. */
int fake_runtime_launch(CUfunction f, const char *name, unsigned threads);
/* Owned by the stand-in driver. */
struct fake_subscriber *fake_subscriber(void);

/* The byte at p changes after each copy to the host that reads it. */
void fake_unruly(CUdeviceptr p);
/* Events are complete only when a thread has waited. */
void fake_late(void);
/* The context never becomes idle. */
void fake_busy(bool is_on);
/* What is copied to the device in this stream doesn't get there yet; NULL: in none. */
void fake_wait(CUstream s);
/* How long streams were held back by the agent's kernel so far, in ns; how often. */
unsigned long long fake_held_ns(void);
unsigned fake_held(void);
/* Copies to the host so far, by any caller. */
unsigned fake_reads(void);
/* Bytes of memory behind reserved addresses. */
size_t fake_mapped(void);
/* Its kernels don't come one after the other, as they were captured, but after nothing. */
void fake_branch(CUgraph g);
/* From now on the card has so many bytes left. */
void fake_leave(size_t bytes);
/* Launches so far that ran their kernel's own code, without checks: `proven`, which has a proof for
 * blocks of 32 threads and one array, its first parameter; `often`, which has none; and `alone`,
 * whose module says that it is left out for a sample where nothing is beside it. */
unsigned fake_plain(void);
/* May the next launches of `proven` do so? */
bool fake_plain_is_on(CUmodule m);
/* By this the launches of kernel `noted` are noted (race/noted.h). */
#define FAKE_NOTED 0x1234abcdull
/* What kernel `partly` of the module finds at its next launch. */
const struct race_plain_state *fake_partly(CUmodule m);
const struct race_plain_state *fake_own(CUmodule m);
/* From now on they access memory outside of their array. */
void fake_leaves(void);
/* Each module has so many kernels; those that were loaded before they were launched. */
#define FAKE_KERNELS 2u
unsigned fake_loaded(void);
/* Calls of the stand-in so far, whoever made them; a launch isn't counted. */
unsigned fake_calls(void);
/* How often pinned memory was asked for, by the agent as well. */
unsigned fake_pinned(void);

#endif
