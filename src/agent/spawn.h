/*
 * spawn.h - start a program with Collider's agent in it and wait for its end.
 *
 * The library collider_spawn (this header and spawn.c) is linked into the
 * `collider` program, not into the agent: it is the other end of the shared
 * file of race/file/shm.h. It owns that file, so whatever the agent wrote there
 * survives any death of the program.
 */
#ifndef COLLIDER_AGENT_SPAWN_H
#define COLLIDER_AGENT_SPAWN_H

#include "base/base.h"
#include "race/file/shm.h"

#include <sys/types.h>

struct spawn_request {
	char *const *argv; /* the program and its arguments, NULL at the end */
	/* Path of libcollider_agent.so; copied nowhere, outlives the call. NULL: none is loaded. */
	const char *agent;
	uint32_t rdelay, wdelay, dense, window, sample, seed; /* as in struct race_shm */
	uint32_t flags;					      /* RACE_RUN_* */
	uint32_t order, sites, sites_limit;		      /* as in struct race_shm */
	/* Which launches are checked (race/file/shm_write.h); lists of names or NULL. */
	struct race_choice choice;
	const char *kernel_name, *kernel_name_exclude, *target_processes;
	const char *nvtx_include, *nvtx_exclude;
	const uint8_t *machine;	       /* RACE_HISTORY_MACHINE bytes; NULL: that of the modules */
	const struct base_buf *replay; /* a chunk RACE_CHUNK_REPLAY; NULL or empty: none */
	uint64_t timeout_ms;	       /* 0: none */
	/* The CPU device: its runtime library, put before the program's own, and its options
	 * (COLLIDER_CPU). NULL: the program runs on the GPU, with the agent. */
	const char *cudart, *cpu_options;
	/* The GPU: the library that stands in for the driver's (agent/forward), preloaded, and what
	 * it is handed (agent/given.h). NULL: code is loaded as it was built. */
	const char *forward, *given;
	bool is_lazy; /* code is instrumented as it is loaded, whenever that is */
	/* Called before the program is started: the shared file is this descriptor. NULL: never. */
	void (*beside)(void *arg, int shm_fd);
	/* More for the program's environment: "NAME=VALUE", to NULL; or NULL. */
	char *const *environment;
	/* Called about ten times a second while the program runs: true ends it, with SIGTERM and
	 * half a second later SIGKILL. NULL: never. */
	bool (*is_over)(void *arg, const struct race_shm *shm);
	/* Called about twice a second meanwhile, with the time since the start. NULL: never. */
	void (*tick)(void *arg, const struct race_shm *shm, uint64_t ns);
	void *arg;
};

struct spawn_result {
	const struct race_shm
		*shm;  /* the shared file, RACE_SHM_BYTES long; never NULL on success */
	pid_t pid;     /* of the program */
	int exit_code; /* its own, or 128 + signal */
	int signal;    /* that killed it, 0: none */
	bool is_timed_out;
	bool is_halted;	  /* by is_over */
	bool is_eager;	  /* CUDA_MODULE_LOADING=EAGER was set here, not by the user */
	uint64_t wall_ns; /* from start to end */
};

/*
 * Runs the program to its end. SIGINT, SIGTERM, SIGHUP and SIGQUIT that are sent to this process
 * are passed on (those from the terminal have reached the program already). At the time limit the
 * program gets SIGTERM and, 2 s later, it and all it started get SIGKILL. If kernels with loops
 * that wait were shuffled (RACE_SHUFFLE_ALL), these are stopped first, 1 s before SIGTERM.
 *
 * If this process is killed, the program gets SIGTERM, and what it left in the shared file is saved
 * in spawn_rescue_folder (keeper.c).
 *
 * Returns 0 with *res filled (spawn_free it), or an exit code with one line in `sink`: 127 and
 * 126 when the program can't be found or started, BASE_EXIT_ENV when the shared file can't be
 * made. Must not be called from a process with threads.
 */
int spawn_app(const struct spawn_request *req, struct spawn_result *res, struct base_sink *sink);
void spawn_free(struct spawn_result *res);

/*
 * The agent's file: $COLLIDER_AGENT, or lib/collider/libcollider_agent.so beside the folder of this
 * executable. Returns a path in the arena, or NULL with one line in `sink`.
 */
const char *spawn_find_agent(struct base_arena *a, struct base_sink *sink);

/*
 * The CPU device's runtime library: $COLLIDER_CUDART, or lib/collider/cpu/libcudart.so.13 beside
 * the folder of this executable. Returns a path in the arena, or NULL with one line in `sink`.
 */
const char *spawn_find_cudart(struct base_arena *a, struct base_sink *sink);

/* forward/preload.c. The library that stands in for the driver's: $COLLIDER_GPU, or
 * lib/collider/gpu/libcuda.so.1 beside the folder of this executable, in a copy that exports what
 * `driver`, the real one, does. Returns a path in the arena, or NULL with *why. */
const char *spawn_find_forward(struct base_arena *a, const char *driver, const char **why);
/* Path of the driver's library, as the loader finds it for a program of ours; NULL: none. */
const char *spawn_find_driver(struct base_arena *a);
/* Would the loader ignore what is preloaded: a program with another user's or group's rights? */
bool spawn_has_rights(const char *program);

/* Where files go that a killed `collider run` left: $XDG_RUNTIME_DIR/collider, or collider-UID in
 * $TMPDIR or /tmp. Their names end in SPAWN_RESCUE_END; the content is the shared file's. */
const char *spawn_rescue_folder(struct base_arena *a);
#define SPAWN_RESCUE_END ".rescue"

/* Can the CUDA driver's library be loaded? (Says nothing about a GPU being there.) */
bool spawn_has_driver(void);
/* What the driver's library says of this machine, asked in a child. */
#define SPAWN_GPUS 8 /* those beyond are counted only */
struct spawn_driver {
	bool has_library; /* libcuda.so.1 can be loaded */
	bool has_cupti;
	int version; /* 13000: of CUDA; 0: the driver doesn't start */
	int ngpus;
	int sm[SPAWN_GPUS]; /* 90 */
	char name[SPAWN_GPUS][64];
};
void spawn_driver_look(struct spawn_driver *out);
/* Does the driver find a GPU? Determined in a child, since the driver starts threads. */
bool spawn_has_gpu(void);

#endif
