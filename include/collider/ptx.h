/*
 * collider/ptx.h - libcollider-ptx: PTX kernels executed by the processor, in the caller's process.
 *
 * A device has modules (PTX text), a module kernels and variables. Kernels are launched with
 * pointers to the caller's own memory and have ended when collider_ptx_run returns. On a device
 * that judges, a race is found by the PTX memory model, whatever the schedule of the run; findings
 * come by a callback. No GPU, driver or CUDA toolkit is needed. docs/library.md has more.
 *
 * Errors: each function that can fail returns a code, 0 being success; collider_ptx_error() has one
 * line that says why. The library installs no handlers, prints nothing but what kernels print, and
 * doesn't end the process. Strings and arrays that it hands out are its own.
 *
 * Threads: any thread may call; calls about one device wait for each other, those about different
 * devices go on at the same time. A callback may not call about its own device, on_print about none
 * (COLLIDER_PTX_BUSY; collider_ptx_unload and _close then do nothing). on_finding may call about
 * another, but where two threads' callbacks call about each other's device, both wait for ever. A
 * callback returns: no longjmp or C++ exception out of it. After fork the child can't use what its
 * parent opened.
 *
 * Structures that the caller fills in begin with their size: what a later version adds at the end
 * is 0 for programs that were built with this one. 0 is the default everywhere. A size that no
 * version can have is refused (COLLIDER_PTX_ARGUMENT); one left to chance may look like one.
 */
#ifndef COLLIDER_LIBPTX_H
#define COLLIDER_LIBPTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What the library exports, when it is built with everything else hidden. */
#pragma GCC visibility push(default)

struct collider_ptx;
struct collider_ptx_module;
struct collider_ptx_kernel;

enum collider_ptx_code {
	COLLIDER_PTX_OK = 0,
	COLLIDER_PTX_ARGUMENT = 1, /* the call itself is wrong */
	COLLIDER_PTX_BUSY = 2,	   /* a callback called */
	COLLIDER_PTX_MEMORY = 3,   /* the process has none left */
	COLLIDER_PTX_TEXT = 4,	   /* no PTX for 64-bit addresses, or no memory for its variables */
	COLLIDER_PTX_NO_NAME = 5,  /* the module has no kernel or variable of that name */
	COLLIDER_PTX_REFUSED = 6,  /* the device can't execute the launch, or the instruction */
	COLLIDER_PTX_TIME = 7,	   /* the launch was stopped at its limit */
	/* Faults of a kernel: its launch ended there, and the device goes on with the next. */
	COLLIDER_PTX_ADDRESS = 16,   /* no memory that the device knows, or misaligned */
	COLLIDER_PTX_TRAP = 17,	     /* trap, brkpt */
	COLLIDER_PTX_ASSERT = 18,    /* a failed assert */
	COLLIDER_PTX_UNDEFINED = 19, /* something that PTX leaves undefined: counts of barriers */
	COLLIDER_PTX_STACK = 20,     /* call depth, or local memory */
	COLLIDER_PTX_DEADLOCK = 21   /* all threads wait for each other */
};

/* Why the calling thread's last call that failed did so, in one line; "" if none has. Valid until
 * its next call. */
const char *collider_ptx_error(void);

/* ---- a device --------------------------------------------------------------------------- */

struct collider_ptx_finding;

struct collider_ptx_options {
	size_t size;   /* sizeof(struct collider_ptx_options) */
	uint64_t seed; /* of the schedule: the same one gives the same results. 0: 1 */
	bool judges;   /* every access is judged; some times slower */
	void *arg;     /* of the callbacks */
	/* For each pair of instructions of a module that raced, once, at the end of the launch that
	 * showed it; called by the thread that launched. NULL: findings are counted only. */
	void (*on_finding)(void *arg, const struct collider_ptx_finding *finding);
	/* Text that a kernel prints, or a failed assert (is_error); not NUL-terminated. NULL: it
	 * goes to stdout and stderr. */
	void (*on_print)(void *arg, bool is_error, const char *text, size_t bytes);
};

/* *out: the device, which collider_ptx_close frees. options: NULL for the defaults. */
int collider_ptx_open(const struct collider_ptx_options *options, struct collider_ptx **out);
/* With its modules. NULL, or within a callback of the device: nothing. Not beside another call
 * about it. */
void collider_ptx_close(struct collider_ptx *device);

/*
 * Kernels may use these bytes, which are the caller's, at this address: until collider_ptx_forget,
 * or the device is closed. An access beyond them is a fault. They may not overlap others that the
 * device knows. The program itself doesn't access them during a launch, and they stay mapped and
 * writable all the time: where they aren't, a kernel's access is a fault of the process (SIGSEGV).
 */
int collider_ptx_share(struct collider_ptx *device, void *memory, size_t bytes);
int collider_ptx_forget(struct collider_ptx *device, void *memory);

struct collider_ptx_totals {
	size_t size;	       /* sizeof(struct collider_ptx_totals) */
	uint64_t launches;     /* that began */
	uint64_t instructions; /* of threads */
	uint64_t judged;       /* accesses */
	uint64_t findings;     /* of all classes */
	uint64_t races;	       /* those that are data races */
	bool is_partial;       /* not all could be judged: too many threads, no memory */
};
/* Of the device since it was opened; fills in the first totals->size bytes. */
int collider_ptx_get_totals(struct collider_ptx *device, struct collider_ptx_totals *totals);

/* ---- modules and kernels ------------------------------------------------------------------ */

/*
 * Loads the PTX text of `bytes` bytes, which is copied; one final NUL may be among them. `name` is
 * what messages and findings call it. An instruction that the device doesn't execute is no error
 * here, but where it is executed.
 * *out: freed by collider_ptx_unload, or with the device.
 */
int collider_ptx_load(struct collider_ptx *device, const char *name, const char *text, size_t bytes,
		      struct collider_ptx_module **out);
/* NULL, or within a callback of its device: nothing. */
void collider_ptx_unload(struct collider_ptx_module *module);

/* The i-th .entry function of the text, from 0. COLLIDER_PTX_NO_NAME: there are fewer. */
int collider_ptx_kernel_at(struct collider_ptx_module *module, size_t i,
			   struct collider_ptx_kernel **out);
/* The one of this (mangled) name. It lives as long as the module. */
int collider_ptx_find_kernel(struct collider_ptx_module *module, const char *name,
			     struct collider_ptx_kernel **out);
/* Where a variable of .global or .const space lies, and its size (bytes: NULL if it isn't wanted);
 * the host may read and write it between launches. */
int collider_ptx_find_variable(struct collider_ptx_module *module, const char *name, void **address,
			       size_t *bytes);

struct collider_ptx_kernel_info {
	size_t size; /* sizeof(struct collider_ptx_kernel_info) */
	const char *name;
	size_t parameters;
	size_t parameter_bytes; /* of all, with their alignment */
	size_t shared_bytes;	/* of the block, that the text declares */
	size_t local_bytes;	/* of a thread */
	uint32_t most_threads;	/* of a block */
	const char *refused;	/* why no launch of it is possible; NULL: some are */
};
int collider_ptx_get_kernel(struct collider_ptx_kernel *kernel,
			    struct collider_ptx_kernel_info *info);

struct collider_ptx_parameter {
	size_t size; /* sizeof(struct collider_ptx_parameter) */
	const char *name;
	const char *type; /* as in the text: "u64", "f32", "b8" of an array */
	size_t bytes, offset;
};
int collider_ptx_get_parameter(struct collider_ptx_kernel *kernel, size_t i,
			       struct collider_ptx_parameter *parameter);

/* ---- launches --------------------------------------------------------------------------- */

struct collider_ptx_launch {
	size_t size;		    /* sizeof(struct collider_ptx_launch) */
	uint32_t grid[3], block[3]; /* x, y, z; 0 counts as 1 */
	/* In blocks. All 0: none, or what the kernel requires; beside one that isn't, 0 counts as
	 * 1. */
	uint32_t cluster[3];
	size_t dynamic_shared_bytes;
	bool is_cooperative; /* its blocks are all resident, and may meet */
	uint32_t limit_ms;   /* of the clock on the wall; 0: none */
};

/*
 * Launches the kernel and waits for its end. arguments[i] points to the value of parameter i, of
 * its bytes; n is the number of parameters. A pointer's value is an address in memory that is
 * shared with the device, or of a variable. What a launch did before a fault, or its limit, is
 * done, and its findings are true.
 */
int collider_ptx_run(struct collider_ptx_kernel *kernel, const struct collider_ptx_launch *launch,
		     const void *const *arguments, size_t n);

/* ---- findings --------------------------------------------------------------------------- */

enum collider_ptx_class {
	COLLIDER_PTX_RACE = 1,	   /* a data race by the PTX memory model */
	COLLIDER_PTX_VOLATILE = 2, /* unordered volatile accesses */
	COLLIDER_PTX_OTHER = 3	   /* a read-only load, or one that the compiler may have made */
};

struct collider_ptx_access {
	const char *kernel, *function; /* demangled */
	const char *file;	       /* by .loc; "" where the text has none */
	uint32_t line, column;	       /* of the file, 0: unknown */
	uint32_t ptx_line;	       /* of the module's text */
	const char *text;	       /* the instruction */
	const char *what, *space;      /* "load", "store", "atomic"; "global", "shared" */
	uint64_t address;	       /* in shared memory: in the block's window */
	uint32_t bytes;
	uint32_t thread[3], block[3]; /* of the first sighting */
};

/* Two accesses that nothing orders. Valid during the callback; later versions may add fields at the
 * end of both structures. */
struct collider_ptx_finding {
	enum collider_ptx_class class_of;
	const char *module; /* its name */
	const char *line;   /* all of it, in one line */
	const char *object; /* the variable that holds the memory; "" = none, or unknown */
	uint64_t address;   /* the first byte that both accessed */
	uint64_t count;	    /* sightings in this launch */
	const struct collider_ptx_access *first, *second;
};

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
