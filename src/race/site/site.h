/*
 * site.h - the table that turns a record's site number into words.
 *
 * Written by src/instrument into each module as
 * `.weak .global .align 8 .b64 __collider_sites_<hash>[n]`, copied unchanged by the agent into the
 * shared file, read by src/report. Little-endian, offsets from the start of the raw image. The
 * image is: race_site_header, files, functions are string offsets; then race_site[nsites],
 * race_frame[nframes], strings. In the module it is zstd-compressed after a race_site_blob header.
 */
#ifndef COLLIDER_RACE_SITE_SITE_H
#define COLLIDER_RACE_SITE_SITE_H

#include "race/record.h"

#define RACE_SITE_MAGIC	  0x54495343u /* "CSIT" */
#define RACE_SITE_VERSION 1u

/* In the module, before the compressed image. */
struct race_site_blob {
	uint32_t magic; /* RACE_SITE_MAGIC */
	uint16_t version;
	uint16_t flags; /* bit 0: image is zstd-compressed */
	uint64_t hash;	/* of the raw image with its own hash field zero (FNV-1a 64) */
	uint32_t raw_bytes;
	uint32_t stored_bytes; /* bytes that follow */
};

enum race_access {
	RACE_ACCESS_LOAD = 1,
	RACE_ACCESS_STORE = 2,
	RACE_ACCESS_NC_LOAD = 3,
	RACE_ACCESS_ATOMIC = 4,
	RACE_ACCESS_COPY = 5,	  /* a side of an asynchronous copy; its space says which */
	RACE_ACCESS_TRANSFER = 6, /* a copy or fill that the host asked for (transfer.h) */
	RACE_ACCESS_PRODUCT = 7	  /* a matrix product that ends later (wgmma) */
};

enum race_space {
	RACE_SPACE_GENERIC = 0,
	RACE_SPACE_GLOBAL = 1,
	RACE_SPACE_SHARED = 2,
	RACE_SPACE_SHARED_CLUSTER = 3,
	/* Of host code's accesses only: */
	RACE_SPACE_MANAGED = 4,
	RACE_SPACE_PINNED = 5, /* cudaHostAlloc, cudaHostRegister */
	RACE_SPACE_SYSTEM = 6, /* any other memory of the process */
	/* Of a block: addresses are a lane << 16 | a column. */
	RACE_SPACE_TENSOR = 7,
	RACE_SPACE_REGISTERS = 8 /* of the thread; no address */
};

/* race_site.flags */
#define RACE_SITE_SPECULATED 1u /* nvcc may have invented this load */
#define RACE_SITE_VOLATILE   2u
#define RACE_SITE_LEADS	     8u	 /* the first of its group, which ends before the next such site */
#define RACE_SITE_NEAR	     16u /* the instruction has no line: this is a neighbour's */
/* enum race_update (pair.h): three bits; CHECK is OTHER with the bit of seeds. */
#define RACE_SITE_SEED_BIT	  0x4000u
#define RACE_SITE_CHECK_BITS	  0x40e0u
#define RACE_SITE_SEED(f)	  (((f)&RACE_SITE_CHECK_BITS) == RACE_SITE_SEED_BIT)
#define RACE_SITE_IS_CHECK(f)	  (((f)&RACE_SITE_CHECK_BITS) == RACE_SITE_CHECK_BITS)
#define RACE_SITE_UPDATE(f)	  (RACE_SITE_IS_CHECK(f) ? 8u : (f) >> 5 & 7u)
#define RACE_SITE_UPDATE_FLAGS(u) ((u) == 8u ? RACE_SITE_CHECK_BITS : ((u)&7u) << 5)
#define RACE_SITE_WAITS		  4u /* of a kernel or function with a loop that waits (blocks.h) */
#define RACE_SITE_FLAGGED	  0x8000u /* ... whose strong reads decide something: flags */
/* Of accesses that are checked whatever their strength; 0: weak (rules.h). */
#define RACE_SITE_STRENGTH(f) ((f) >> 8 & 7u)  /* enum race_strength */
#define RACE_SITE_SCOPE(f)    ((f) >> 11 & 7u) /* enum race_scope */
#define RACE_SITE_STRENGTH_AT 8u
#define RACE_SITE_SCOPE_AT    11u

struct race_site {
	uint32_t func; /* string: mangled name of the PTX function that contains it */
	uint32_t file; /* string: source path as in .file, 0 = unknown */
	uint32_t line; /* 0 = unknown */
	uint16_t col;
	uint8_t access;	   /* enum race_access */
	uint8_t space;	   /* enum race_space */
	uint8_t width;	   /* bytes of one element */
	uint8_t vec;	   /* elements; 0: a copy of any size */
	uint16_t flags;	   /* RACE_SITE_* */
	uint32_t frame;	   /* index + 1 of the innermost inlined call, 0 = not inlined */
	uint32_t text;	   /* string: the PTX instruction */
	uint32_t ptx_line; /* line in the PTX text */
};

/* "inlined at": the code of `func` was inlined at file:line:col, which may itself be inlined code
 * (next). */
/* The lines of several calls lead here: it is this one or another. */
#define RACE_FRAME_UNSURE 0x80000000u

struct race_frame {
	uint32_t func; /* string: name of the inlined function, 0 = unknown */
	uint32_t file; /* string: where the call is */
	uint32_t line;
	uint32_t col;  /* | RACE_FRAME_UNSURE */
	uint32_t next; /* index + 1 of the next outer frame, 0 = none */
};

/* What instrumentation did not check, by opcode or reason: for the report's footer. */
struct race_unchecked {
	uint32_t what;	/* string: "tcgen05.foo", "cp.async", "private (own stack)" */
	uint32_t count; /* instructions in this module */
	uint32_t why;	/* enum race_unchecked_why, and RACE_WHY_CALLED */
	uint32_t func;	/* string: only there, 0 = whole module */
};

#define RACE_WHY_CALLED 0x10000u /* func is no kernel */

enum race_unchecked_why {
	RACE_WHY_UNKNOWN_OPCODE = 1,   /* not in the ISA table */
	RACE_WHY_UNSUPPORTED = 2,      /* known, but collide has no check for it (yet) */
	RACE_WHY_PRIVATE = 3,	       /* proven to be the thread's own memory: nothing to check */
	RACE_WHY_DEAD = 4,	       /* value never used */
	RACE_WHY_KERNEL_AS_IT_WAS = 5, /* a kernel that could not be instrumented, named in func */
	RACE_WHY_STRONG = 6,	       /* volatile, atomic, ...: not weak, so not for collide */
	RACE_WHY_ORDERS = 7,	       /* orders threads in a way that isn't followed, in func */
	RACE_WHY_PROVEN = 8,	       /* --prune: no two threads of any launch race there */
	RACE_WHY_PROVEN_WITHIN = 9,    /* ... of a launch within a contract; others are checked */
	RACE_WHY_PROVEN_GLOBAL = 10,   /* ... in global memory: other kernels may */
	RACE_WHY_NOT_ASKED = 11,       /* --variable names others */
	RACE_WHY_PROVEN_ALONE = 12,    /* as 10, and followed where another kernel runs beside */
	RACE_WHY_UNDISTURBED = 13,     /* barriers keep all writes to shared memory apart */
	RACE_WHY_MEANT = 14,	       /* in a collider_data_race() of the program */
	RACE_WHY_EXITS = 15,	       /* before an exit, where others go on to a barrier: func */
	RACE_WHY_LOOKED_AT = 16,       /* looked at, but whether its value is used isn't seen */
	/* About the order of blocks, not about checks: reported if shuffling was requested. */
	RACE_WHY_WAITS = 100,	    /* func: a loop waits for another block */
	RACE_WHY_FIXED_ORDER = 101, /* the module reads block ids in a way that isn't replaced */
	/* A note: func asks which lanes of its warp run together, and checks part them. */
	RACE_WHY_TOGETHER = 102
};

/* Of a module: threads hold copies of elements (ptx_has_tiles), and store them as one. */
#define RACE_SITES_TILES 1u

struct race_site_header {
	uint32_t magic; /* RACE_SITE_MAGIC */
	uint16_t version;
	uint16_t flags; /* RACE_SITES_* */
	uint64_t hash;
	uint32_t nsites, sites; /* count, offset */
	uint32_t nframes, frames;
	uint32_t nunchecked, unchecked;
	uint32_t strings_bytes, strings; /* NUL-terminated; offset 0 of it is "" */
	uint32_t module_name;		 /* string: the source's name, or "" */
	uint32_t target;		 /* string: "sm_90a" */
};

RACE_STATIC_ASSERT(sizeof(struct race_site) == 32, "site layout");
RACE_STATIC_ASSERT(sizeof(struct race_frame) == 20, "frame layout");
RACE_STATIC_ASSERT(sizeof(struct race_site_blob) == 24, "blob layout");
RACE_STATIC_ASSERT(sizeof(struct race_site_header) == 56, "header layout");

#endif
