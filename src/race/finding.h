/*
 * finding.h - a race as data: how sure it is, its two sides with their places, and what is known of
 * the memory (finding.c); part of the front header race.h.
 */
#ifndef COLLIDER_FINDING_H
#define COLLIDER_FINDING_H

#include "base/base.h"
#include "race/detector.h"
#include "race/file/pair.h"
#include "race/file/transfer.h"
#include "race/record.h"
#include "race/rules.h"
#include "race/site/site.h"

/* How sure a finding is (DESIGN "Soundness"). Only the first counts for exit codes by default;
 * the order is that of reports. */
enum race_class {
	RACE_CLASS_RACE = 1,  /* data race, PTX ISA chapter 8 */
	RACE_CLASS_VOLATILE,  /* unordered volatile conflict: a race in C++, strong in PTX */
	RACE_CLASS_READ_ONLY, /* read-only load of memory that changed: outside the memory model */
	RACE_CLASS_SEED,      /* a load that only begins a compare-and-swap loop, beside atomics */
	RACE_CLASS_POSSIBLE,  /* the compiler may have invented the access */
	RACE_CLASS_UNDECIDED, /* something that the detector doesn't follow may order the two */
	RACE_CLASS_LOCKSTEP,  /* prove: no race if the lanes of a warp execute in step */
	RACE_CLASS_COUNT
};

/* Names for JSON, suppressions and options: "clobbered-read", "data-race", "load", "shared".
 * Unknown values give "unknown". */
const char *race_kind_name(unsigned kind);
const char *race_class_name(unsigned cls);
const char *race_access_name(unsigned access);
const char *race_space_name(unsigned space);
const char *race_why_name(unsigned why);
const char *race_agent_name(unsigned agent_state);
const char *race_memory_name(unsigned memory);
const char *race_update_name(unsigned update);
const char *race_may_name(unsigned may); /* "release" */
const char *race_may_text(unsigned may); /* what may order the two accesses of a pair, in words */
unsigned race_kind_parse(const char *name); /* RACE_KIND_NONE: there is none of the name */

struct race_finding;
/* Is it of a load that only begins a compare-and-swap loop, and an atomic? */
bool race_is_seed_pair(const struct race_finding *f);
/* The class of a record: a speculated read is a data race only where the value was used. */
enum race_class race_classify(unsigned kind, unsigned record_flags, unsigned site_flags);

struct race_finding;
/* What a record of this kind has of the earlier access, by its detector's row. */
enum race_keeps race_keeps(unsigned kind);
/* Do that detector's kinds say what of the order lacks? Has it a kind for a load that only begins a
 * compare-and-swap loop? */
bool race_has_causes(unsigned kind);
bool race_knows_seeds(unsigned kind);
/* Is it one of which both sides are known? And are they in one record: does it come from what a
 * detector has kept of the earlier access? (The oracle's are in a struct race_pair.) */
bool race_has_two_sides(unsigned kind);
bool race_is_kept_pair(unsigned kind);
/* Are both sides of such a record there, and of one block of one grid? */
bool race_is_one_block(const struct race_record *rec);
/* The same of the memory that they accessed: has one block of their cluster it? */
bool race_is_one_owner(const struct race_record *rec);
/* pair_read.c: fills f->sides of a record with RACE_REC_TWO_SIDES; `earlier` has what is known
 * about the earlier access's site; the flags are those of the two sites (RACE_SITE_*). */
void race_sides_fill(struct base_arena *a, const struct race_record *rec, int device,
		     const struct race_finding *earlier, uint32_t earlier_flags, uint32_t own_flags,
		     struct race_finding *f);

/* The code at the finding's place was inlined here (innermost first). */
struct race_inlined {
	const char *func;	/* mangled name of the inlined function, "" = unknown */
	const char *func_shown; /* demangled */
	const char *file;	/* where the call is */
	uint32_t line, col;
	bool is_unsure; /* ... or another one: the compiler's lines don't distinguish them */
};

/* One PTX instruction of a finding. */
struct race_finding_site {
	uint64_t table;
	uint32_t site;
	uint32_t ptx_line;
	const char *text; /* PTX instruction, "" = unknown */
	uint64_t count;
};

/* Where a finding or a checked kernel was: one CUDA context of one process. */
struct race_context {
	uint32_t pid, context;
	int32_t device;
	const char *device_name;
};

/* The first sighting, of any thread. */
struct race_first {
	uint32_t thread[3], block[3];
	uint64_t address;
	uint64_t was[2], now[2]; /* low and high 64 bits; of more than 16 bytes: FNV-1a sums */
	uint32_t width;		 /* bytes that were compared */
	uint32_t lanes;		 /* intra-warp: lanes that share the address */
	uint64_t grid;
	uint32_t sm;
	bool is_generic; /* the address is generic, else one of the site's space */
};

/* A place in host code. Strings are "" and numbers 0 where nothing is known. */
struct race_line {
	const char *func; /* mangled */
	const char *file;
	uint32_t line, col;
	struct race_inlined *inlined; /* innermost first */
	size_t ninlined;
};

/* One access of a pair that raced: what the oracle knows about it. */
struct race_side {
	const char *func, *func_shown; /* as in a finding */
	const char *kernel; /* the launched kernel, demangled; "" = an operation of the host */
	const char *file;
	uint32_t line, col;
	struct race_inlined *inlined;
	size_t ninlined;
	enum race_access access;
	enum race_space space;
	uint32_t width, vec, bytes; /* bytes of all of it, 0: more than 2^32 */
	const char *text;	    /* PTX, or a description of the host's operation */
	uint32_t ptx_line;
	uint32_t thread[3], block[3];
	uint64_t address, grid;
	enum race_strength strength;
	enum race_scope scope;
	enum race_proxy proxy;
	unsigned flags; /* RACE_SIDE_* */
	int device;	/* -1: the host */
	uint32_t cluster, warp;
	enum race_update update;
	bool is_near; /* the line is that of a neighbour: the instruction has none */
	uint32_t pid;
	const struct race_origin *origin; /* of an operation of the host; NULL: unknown */
	uint32_t stream;		  /* as in struct race_pair_side */
	uint32_t launch;	    /* number of the call that launched the kernel; 0: unknown */
	struct race_line launched;  /* that call in the program's own code */
	const char *launched_shown; /* its function, demangled */
};

/* The object that two accesses share. */
struct race_object {
	enum race_memory memory;
	const char *name; /* the variable, demangled; "" = none, or unknown */
	uint64_t base, bytes;
	uint32_t owner[3]; /* shared memory: its block */
};

/* A call on the way to an operation of the host. */
struct race_call {
	const char *module; /* file, and the address after the call from where that was loaded */
	uint64_t offset;
	struct race_line at;
};

/* What raced was a copy or fill that the host asked for; no thread did it. */
struct race_transfer_op {
	const char *api;    /* "cudaMemcpyAsync", "" = unknown */
	const char *module; /* the file that called it, and where in it; "" = unknown */
	uint64_t offset;
	uint64_t stream, bytes; /* of the whole operation */
	uint64_t at;		/* where in it, in bytes */
	uint32_t origin;
	struct race_call *calls; /* the program's calls to it; none when read from JSON */
	size_t ncalls;
};

/* A call that asked for an operation of the host. */
struct race_origin {
	uint32_t pid, number;
	struct race_transfer_op *op; /* its api, and the calls */
};

/* How often a finding's pair of lines was seen as another kind. */
struct race_also {
	enum race_kind kind;
	uint64_t count;
};

struct race_finding {
	enum race_kind kind;
	enum race_class cls;
	const char *func;	/* mangled name of the PTX function */
	const char *func_shown; /* demangled, or as func */
	const char *file;	/* "" = unknown */
	uint32_t line, col;	/* 0 = unknown */
	struct race_inlined *inlined;
	size_t ninlined;
	enum race_access access; /* 0 = unknown */
	enum race_space space;
	uint32_t width, vec; /* of the widest site: bytes of an element, elements */
	bool is_volatile;
	bool is_near;		 /* the line is that of a neighbour: the instruction has none */
	enum race_update update; /* of an update, the load or the store */
	const char *module;	 /* source's name, "" = unknown */
	const char *target;	 /* "sm_90a" */
	struct race_first first;
	/* Of host code: the program or library that contains it, and where. NULL: GPU code. */
	const char *object;
	uint64_t offset; /* of the instruction after the access */
	uint64_t count;
	uint64_t print;	    /* the same in each run (report/form.c); 0: not made yet */
	bool is_same_value; /* two stores of equal values, in all sightings */
	enum race_may may;  /* undecided: what may order the two */
	bool is_muted;	    /* the true count is `count` or more */
	bool is_merged;	    /* race_merge: another finding stands for it */
	/* Kinds from RACE_KIND_UNORDERED on: both accesses, the finding's own place first. */
	struct race_side *sides; /* NULL or 2 */
	struct race_object met;	 /* what both accessed */
	uint32_t missing, apart; /* bits, as in struct race_pair; apart 0: as the sides are */
	const char *judged;	 /* by whom and of what; NULL: as the program ran */
	struct race_transfer_op *transfer; /* NULL, or with RACE_ACCESS_TRANSFER */
	struct race_finding_site *sites;
	size_t nsites;
	struct race_context *seen;
	size_t nseen;
	const char *
		*functions; /* of a saved report: all that have it, demangled; NULL: func_shown */
	size_t nfunctions;
	/* The program's calls that launched its kernel: not known to be those of this launch. */
	struct race_line *launched;
	size_t nlaunched;
	/* In a report: other kinds that the same pair of lines was seen as; within `count`. */
	struct race_also *also;
	size_t nalso;
};

static inline bool race_is_load(const struct race_finding *f)
{
	return f->access == RACE_ACCESS_LOAD || f->access == RACE_ACCESS_NC_LOAD;
}

#endif
