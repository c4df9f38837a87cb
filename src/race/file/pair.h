/*
 * pair.h - two accesses that raced, as the CPU device's oracle writes them to the shared file.
 *
 * A chunk RACE_CHUNK_PAIR holds one struct race_pair, its frames and its strings. PTX that was
 * never instrumented has no site table, so all words are here; strings are offsets from the start
 * of the strings, NUL-terminated, offset 0 being "". `count` is kept up to date in the file.
 * RACE_CHUNK_ORACLE holds a struct race_oracle, kept up to date, too.
 */
#ifndef COLLIDER_RACE_FILE_PAIR_H
#define COLLIDER_RACE_FILE_PAIR_H

#include "race/site/site.h"

/* race_pair_side.flags */
#define RACE_SIDE_VOLATILE 1u
#define RACE_SIDE_ASYNC	   2u /* an asynchronous copy of this thread */
#define RACE_SIDE_HOST	   4u /* no thread: a copy, fill or host code */
#define RACE_SIDE_READS	   8u
#define RACE_SIDE_WRITES   16u
#define RACE_SIDE_MBARRIER 32u	/* an operation on an mbarrier object */
#define RACE_SIDE_GRAPH	   64u	/* a launch or operation that is a node of a CUDA graph */
#define RACE_SIDE_FREES	   128u /* with _HOST: frees the memory */
/* Of struct race_side only: some thread that this one came after, or that accessed the memory with
 * it, is meant; which one wasn't kept. */
#define RACE_SIDE_SOME 256u
/* A load that only begins a compare-and-swap loop. In struct race_pair_side: is_seed. */
#define RACE_SIDE_SEED 512u

/* The memory at the address. */
enum race_memory {
	RACE_MEMORY_UNKNOWN,
	RACE_MEMORY_SHARED,	/* of block `owner`; base is its address in the shared window */
	RACE_MEMORY_VARIABLE,	/* of a module */
	RACE_MEMORY_DEVICE,	/* cudaMalloc and the like */
	RACE_MEMORY_MANAGED,	/* cudaMallocManaged */
	RACE_MEMORY_HOST,	/* cudaMallocHost */
	RACE_MEMORY_REGISTERED, /* cudaHostRegister */
	RACE_MEMORY_HEAP,	/* malloc in a kernel */
	RACE_MEMORY_TENSOR	/* of block `owner`: 128 lanes of a column, then the next one */
};

/* A load and a store of one location in one thread, where the stored value is computed from the
 * loaded one: `x += 1`. Names the function that would do it in one atomic step. */
enum race_update {
	RACE_UPDATE_NONE,
	RACE_UPDATE_ADD,
	RACE_UPDATE_MIN,
	RACE_UPDATE_MAX,
	RACE_UPDATE_AND,
	RACE_UPDATE_OR,
	RACE_UPDATE_XOR,
	RACE_UPDATE_OTHER,
	RACE_UPDATE_CHECK /* whether it stores depends on what it loaded: `if (x == 0) x = 1` */
};

/* What would have ordered the two, or comes nearest to it; see layout/missing.def. */
enum race_missing {
#define MISSING(id, name, ...) RACE_MISSING_##id,
#include "race/layout/missing.def"
	RACE_MISSING_COUNT
};

/* How far apart the two threads are, rising. */
enum race_apart {
	RACE_APART_LANES,
	RACE_APART_WARPS,
	RACE_APART_CLUSTER, /* blocks of one cluster */
	RACE_APART_BLOCKS,
	RACE_APART_STREAM, /* launches in one stream */
	RACE_APART_LAUNCHES,
	RACE_APART_DEVICES,
	RACE_APART_HOST,
	RACE_APART_COUNT
};

struct race_pair_side {
	uint64_t address, grid;		   /* address: in the window, if it is shared memory */
	uint32_t func, file, text, kernel; /* strings */
	uint32_t line, col;
	uint32_t ptx_line; /* RACE_SIDE_HOST: race_transfer.origin */
	uint32_t bytes;	   /* of the whole access */
	uint32_t thread[3], block[3];
	uint32_t frame, nframes;	/* inlined calls, innermost first: first and number */
	uint8_t access, space;		/* enum race_access, race_space */
	uint8_t width, vec;		/* bytes of an element, elements */
	uint8_t strength, scope, proxy; /* race/rules.h */
	uint8_t flags;			/* RACE_SIDE_* */
	int32_t device;			/* -1: the host */
	uint32_t cluster, warp;		/* numbers in the grid, in the block */
	uint16_t update;		/* enum race_update */
	uint8_t is_near;		/* the line is a neighbour's: it has none itself */
	uint8_t is_seed;		/* a load that only begins a compare-and-swap loop */
	uint32_t launch; /* race_transfer.origin of the call that launched it; 0: unknown */
	uint32_t stream; /* number of the launch's or operation's, plus 1; 0: unknown */
};

struct race_pair {
	uint64_t count;	  /* sightings */
	uint64_t address; /* the first common byte of the first sighting, as the sides' addresses */
	uint64_t base, bytes; /* of the object that holds it */
	uint32_t memory;      /* enum race_memory */
	uint32_t name;	      /* string: the variable's name, mangled */
	uint32_t owner[3];    /* shared memory: its block */
	uint32_t kind;	      /* enum race_kind */
	int32_t device;
	uint32_t nframes;     /* struct race_frame after this; their `next` is not used */
	uint32_t strings;     /* bytes of strings after the frames */
	uint16_t is_possible; /* the compiler may have invented one of the two */
	uint16_t is_same;     /* two stores of equal values, in each sighting */
	uint32_t missing;     /* bits of enum race_missing that sightings showed */
	uint32_t apart;	      /* bits of enum race_apart */
	uint32_t judged;      /* string: by whom, of what (src/judge); "": as the program ran */
	uint32_t reserved;
	struct race_pair_side side[2];
};

struct race_oracle {
	uint64_t accesses, words, shadow_bytes, clock_bytes, dropped, raced_out;
	uint32_t actors;
	uint32_t is_execution; /* --oracle=execution */
	uint32_t is_full;
	uint32_t launches;
	uint64_t host_accesses; /* of host code */
	uint32_t sees_host;	/* accesses of host code are judged */
	uint32_t has_shared;	/* there is memory that host code and kernels can access */
	/* --host-accesses: memory that the program registered, where host code isn't seen */
	uint64_t registered, registered_bytes;
	uint64_t running;	  /* operations that had not ended: the counters are lower bounds */
	uint64_t unreported;	  /* races in doubt, because of launches that were left out */
	uint64_t kernel_accesses; /* of `accesses`, those of kernels' threads */
	uint32_t is_aside;	  /* it was full, and the detectors went on without it */
	uint32_t reserved;
};

/* Of one process's launches. */
struct race_beside {
	uint64_t accesses, launches; /* accesses: of all trials */
};

/* Of one kernel: the most blocks of a launch that were judged, of how many; its name (mangled)
 * follows, with its NUL. */
struct race_beside_kernel {
	uint64_t blocks, of;
};

/* The first fault of a device: its text and the function's name follow, each with its NUL. A race
 * of the same instruction explains it. */
struct race_fault {
	int32_t device;
	uint32_t ptx_line; /* 0: no instruction did it */
	uint32_t func;	   /* offset of the name (mangled) after this struct */
	uint32_t reserved;
};

RACE_STATIC_ASSERT(sizeof(struct race_fault) == 16, "fault layout");
RACE_STATIC_ASSERT(sizeof(struct race_pair_side) == 112, "side layout");
RACE_STATIC_ASSERT(sizeof(struct race_pair) == 88 + 2 * 112, "pair layout");
RACE_STATIC_ASSERT(sizeof(struct race_oracle) == 128, "oracle layout");

#endif
