/*
 * shm.h - the file that `collider run` and the agent share.
 *
 * A memfd (its descriptor number in the environment variable COLLIDER_SHM_FD)
 * that the agent maps in every process of the program, forked children
 * included, and registers with each CUDA context. Layout: one header page,
 * RACE_REGIONS regions (one per context that ever existed), then a heap of
 * chunks that only grows. The parent reads it after the program has ended,
 * however it ended.
 *
 * Concurrency: regions and heap space are claimed with an atomic add on the
 * header; a chunk counts once its `bytes` field is set (release store, last).
 */
#ifndef COLLIDER_RACE_FILE_SHM_H
#define COLLIDER_RACE_FILE_SHM_H

#include <stddef.h>

#include "race/file/box.h"
#include "race/launched.h"
#include "race/shuffle/hold.h"
#include "race/shuffle/blocks.h"
#include "race/record.h"

#define RACE_SHM_MAGIC	 0x4d48534352444c43ull /* "CLDRCSHM" */
#define RACE_SHM_VERSION 14u
#define RACE_SHM_ENV	 "COLLIDER_SHM_FD"
/* The same file by name, for processes that were started without the descriptor. */
#define RACE_SHM_PATH_ENV "COLLIDER_SHM_PATH"
#define RACE_REGIONS	  RACE_CONTEXTS

/* What the agent of one context keeps up to date. */
struct race_region {
	uint32_t state; /* enum race_region_state */
	uint32_t pid;
	uint32_t context; /* number of the context within its process, from 0 */
	int32_t device;	  /* CUDA device ordinal */
	char device_name[64];
	/* The device counters at one moment, summed; `exact` is 1 after the last kernel. */
	uint64_t checked, warp_checked, launches, overflow, unboxed;
	uint32_t exact;
	uint32_t modules;	/* instrumented modules patched in this context */
	uint32_t plain_modules; /* modules without Collider's marker */
	uint32_t error;		/* CUresult that killed the context, 0 = none */
	/* 1: the device counts in `rt` below, in the file itself, so that nothing is lost with the
	 * program: the sums of its threads that have ended. Then `checked` is that of all threads,
	 * and `warp_checked` to `unboxed` and `counts` are not used. */
	uint32_t is_live;
	uint32_t has_history;				 /* some module has hirace or iguard */
	uint64_t threads_aside, accesses_aside;		 /* of these, see history.h */
	uint64_t watches, watch_busy, watch_lost, looks; /* as in struct race_rt */
	uint32_t watches_alone; /* other devices of the machine have watchpoints of their own */
	uint32_t no_causes;	/* modules of which race_shm_lacks_causes; atomic */
	uint64_t host_launches; /* kernel launches seen by the agent (all kernels) */
	uint64_t host_launches_plain; /* of those: kernels of modules without instrumentation */
	struct race_holds holds;      /* --shuffle-streams; atomic */
	uint64_t counts[RACE_SLOTS];  /* exact count of each slot, from the last snapshot */
	/* With is_live: the runtime block of a device that works in host memory. */
	struct race_rt rt __attribute__((aligned(4096)));
	struct race_record records[RACE_SLOTS] __attribute__((aligned(4096)));
	/* Not 0: loops that wait are to end their kernel (--timeout under --shuffle=all). The
	 * device sees this page after the records. */
	uint32_t stop __attribute__((aligned(4096)));
	/* Not 0: release stamps of hirace, or of iguard, stand beside locations (history.h). */
	uint32_t ordered[2];
	/* Not 0: a pool of words of hirace, or of iguard, had no block or page left. */
	uint32_t short_of[2];
	/* The coverage map (sample.h), as race_rt.cover; here it survives any death. */
	uint8_t cover[RACE_COVER] __attribute__((aligned(4096)));
	/* Keys of speculated reads whose value was used (record.h). */
	uint64_t used[RACE_USED] __attribute__((aligned(4096)));
	struct race_maps maps __attribute__((aligned(4096))); /* seen by the device, too */
};

/* The part of a region that the device sees: its records and what follows; and the offsets of two
 * of these. */
#define RACE_REGION_MAPPED (sizeof(struct race_region) - offsetof(struct race_region, records))
#define RACE_REGION_MAPS                                                                           \
	(offsetof(struct race_region, maps) - offsetof(struct race_region, records))
#define RACE_REGION_STOP    (sizeof(struct race_record) * RACE_SLOTS) /* after the records */
#define RACE_REGION_ORDERED (RACE_REGION_STOP + 4u)
#define RACE_REGION_COVER   (RACE_REGION_STOP + 4096u)
#define RACE_REGION_USED    (RACE_REGION_COVER + RACE_COVER)

enum race_region_state { RACE_REGION_FREE, RACE_REGION_OPEN, RACE_REGION_CLOSED };

/* Heap chunks. */
enum race_chunk_kind {
	RACE_CHUNK_SITES = 1, /* a race_site_blob with its bytes; `hash` = the table's */
	RACE_CHUNK_NOTE = 2,  /* a line of text for the report ("another CUPTI subscriber ...") */
	RACE_CHUNK_KERNEL =
		3, /* launch count of one kernel: u64 count, u32 instrumented, u32 0, name */
	RACE_CHUNK_PLAIN = 4,	  /* name or description of an uninstrumented module or kernel */
	RACE_CHUNK_PAIR = 5,	  /* two accesses that raced: struct race_pair (pair.h) */
	RACE_CHUNK_ORACLE = 6,	  /* what the oracle of one process judged: struct race_oracle */
	RACE_CHUNK_HOST_AREA = 7, /* struct race_host_area (host.h); `hash` = the process */
	RACE_CHUNK_HOST_FIND = 8, /* a race seen by host code: struct race_host_find, path */
	RACE_CHUNK_TRANSFER =
		9, /* a copy of the host that raced: struct race_transfer (transfer.h) */
	RACE_CHUNK_TRANSFERS = 10, /* of one process: struct race_transfer_counts */
	RACE_CHUNK_FAULT = 11,	   /* what stopped a device: struct race_fault (pair.h), its text */
	RACE_CHUNK_COMMAND = 12,   /* the program and its arguments, as one line */
	RACE_CHUNK_ORIGIN =
		13, /* a call that asked for an operation of a pair: struct race_transfer */
	RACE_CHUNK_LAUNCH = 14,	 /* a call that launched a kernel: struct race_transfer, api = it */
	RACE_CHUNK_CHOICE = 15,	 /* lists of names (race_choice_list_id) */
	RACE_CHUNK_MACHINE = 16, /* --hirace: the table of the machine (hirace/machine.h) */
	RACE_CHUNK_REPLAY = 17,	 /* --replay: places and addresses (layout/replay.h) */
	RACE_CHUNK_MIRROR = 18,	 /* a struct race_mirror (layout/mirror.h), and room to align it */
	RACE_CHUNK_GAP = 19,	 /* why not all was checked: struct race_gap_count, two strings */
	RACE_CHUNK_BESIDE = 20,	 /* what a judge beside a GPU judged: struct race_beside (pair.h) */
	RACE_CHUNK_BESIDE_KERNEL = 21 /* of one kernel: struct race_beside_kernel, its name */
};

#define RACE_REPLAY_MAX (1u << 20) /* bytes of such a chunk */

struct race_chunk {
	uint32_t bytes; /* payload bytes after this header; 0: not complete yet */
	uint32_t kind;	/* enum race_chunk_kind */
	uint64_t hash;
	uint32_t pid;
	uint32_t room; /* bytes to the next chunk header, header included; multiple of 16 */
	uint32_t reserved[2];
};

/* race_shm.agent_state */
enum race_agent_state {
	RACE_AGENT_NONE = 0, /* never loaded: the program did not start CUDA */
	RACE_AGENT_ATTACHED = 1,
	RACE_AGENT_NO_CUPTI = 2, /* libcupti was not found */
	RACE_AGENT_BUSY = 3,	 /* another CUPTI subscriber */
	RACE_AGENT_FAILED = 4	 /* see the notes */
};

/* What left a launch out, as bits of race_kernel_count.why. */
#define RACE_LEFT_NAME	  1u
#define RACE_LEFT_SKIP	  2u
#define RACE_LEFT_COUNT	  4u
#define RACE_LEFT_BUDGET  8u
#define RACE_LEFT_BUSY	  16u /* on a GPU: work under way kept the checks from being switched on */
#define RACE_LEFT_PROCESS 32u
#define RACE_LEFT_RANGE	  64u /* by the NVTX ranges around it */

/* What a launcher puts into the file: 0 and UINT64_MAX stand for no limit where that makes sense.
 * The lists follow each other as strings in a chunk RACE_CHUNK_CHOICE. */
struct race_choice {
	uint64_t skip, count, budget_ns; /* count, budget_ns UINT64_MAX: all */
	uint64_t seen;			 /* launches whose name matched so far; atomic */
	uint64_t seen_beside;		 /* the same, by the judge beside a GPU */
	uint32_t is_on;
	uint32_t root;	 /* the one process whose launches are checked; 0: all */
	uint32_t ranges; /* bits of the lists of NVTX ranges that a range was in; atomic */
	uint32_t reserved;
};

/* The lists of names, in the order of their strings. */
enum race_choice_list_id {
	RACE_CHOICE_KERNELS,
	RACE_CHOICE_KERNELS_EXCLUDE,
	RACE_CHOICE_PROCESSES,
	RACE_CHOICE_NVTX_INCLUDE,
	RACE_CHOICE_NVTX_EXCLUDE,
	RACE_CHOICE_LISTS
};

/* GPU code that was instrumented as it was loaded (--load); all atomic. */
struct race_load {
	uint32_t images;   /* that the program has loaded */
	uint32_t replaced; /* by instrumented ones */
	uint32_t kept;	   /* of these: from an earlier run */
	uint32_t failed;   /* that should have been replaced; the notes say why */
	uint32_t busy;	   /* being made now */
	uint32_t late;	   /* of which more is being proven, for later runs */
	uint64_t ns;	   /* the time that it took, of all threads */
};

struct race_shm {
	uint64_t magic;
	uint32_t version;
	uint32_t agent_state; /* enum race_agent_state; the best of all processes */
	uint64_t heap_used;   /* bytes claimed after RACE_SHM_HEAP; atomic */
	uint64_t heap_limit;  /* file size - RACE_SHM_HEAP */
	uint32_t nregions;    /* claimed; atomic; may exceed RACE_REGIONS (those had no room) */
	uint32_t nprocesses;
	/* What `collider run` requests of the agent. */
	uint32_t rdelay, wdelay, sample, seed;
	uint32_t flags;	 /* RACE_RUN_* */
	uint32_t dense;	 /* checks of a thread that are all made; 0: all its checks */
	uint32_t order;	 /* enum race_shuffle | RACE_SHUFFLE_ALL: --shuffle */
	uint32_t window; /* bytes checked of a bulk copy at most; 0: whole copies */
	uint32_t sites;	 /* --sample: check that many sites, and note which; 0: all, not noted */
	/* Groups below this number are checked, as computed from earlier runs' coverage; 0: it
	 * wasn't. And the highest limit that the agents have given a module; atomic. */
	uint32_t sites_limit, sites_limit_used;
	uint32_t failed_modules; /* that could not be loaded; atomic */
	uint64_t patterns;	 /* of --variable that match an access; atomic */
	struct race_load load;
	struct race_recorded recorded; /* --record-launches */
	struct race_choice choice;
};

#define RACE_RUN_VERBOSE  1u
#define RACE_RUN_HOST_ALL 2u /* host code: all memory, not only what the GPU shares */
#define RACE_RUN_STREAMS  4u /* --shuffle-streams */
#define RACE_RUN_BOTH	  8u /* --both-sides */
/* From bit 8 on: RACE_IGUARD_MODE_* (--iguard and its switches). */
#define RACE_RUN_IGUARD_AT     8u
#define RACE_RUN_IGUARD(flags) ((flags) >> RACE_RUN_IGUARD_AT & 15u)
/* From bit 16 on: the detectors of the run, as a set; 0: all. */
#define RACE_RUN_DETECTORS_AT 16u
#define RACE_RUN_DETECTORS(flags)                                                                  \
	((flags) >> RACE_RUN_DETECTORS_AT ? (flags) >> RACE_RUN_DETECTORS_AT : ~0u)
#define RACE_RUN_WANTS(flags, id) ((RACE_RUN_DETECTORS(flags) & 1u << (id)) != 0)

/* Offsets in the file. */
#define RACE_SHM_REGION0    4096ull
#define RACE_SHM_HEAP	    (RACE_SHM_REGION0 + (uint64_t)RACE_REGIONS * sizeof(struct race_region))
#define RACE_SHM_HEAP_BYTES (256ull << 20) /* sparse: only what is written takes memory */
#define RACE_SHM_BYTES	    (RACE_SHM_HEAP + RACE_SHM_HEAP_BYTES)

RACE_STATIC_ASSERT(sizeof(struct race_region) % 4096 == 0, "records are registered by page");
RACE_STATIC_ASSERT(offsetof(struct race_region, stop) ==
			   offsetof(struct race_region, records) + RACE_REGION_STOP,
		   "one range to map");
RACE_STATIC_ASSERT(offsetof(struct race_region, ordered) ==
			   offsetof(struct race_region, records) + RACE_REGION_ORDERED,
		   "one range to map");
RACE_STATIC_ASSERT(offsetof(struct race_region, cover) ==
			   offsetof(struct race_region, records) + RACE_REGION_COVER,
		   "one range to map");
RACE_STATIC_ASSERT(offsetof(struct race_region, used) ==
			   offsetof(struct race_region, records) + RACE_REGION_USED,
		   "one range to map");
RACE_STATIC_ASSERT(sizeof(struct race_chunk) == 32, "chunk");

#endif
