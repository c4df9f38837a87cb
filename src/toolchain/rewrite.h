/*
 * rewrite.h - what rewrite.c knows of a text while it looks for checks that fit: its functions and
 * their limits, the last trial, and what it has cost. Only rewrite.c, limits.c, scan.c, refused.c,
 * prune.c and slow.c use it.
 */
#ifndef COLLIDER_TOOLCHAIN_REWRITE_H
#define COLLIDER_TOOLCHAIN_REWRITE_H

#include "instrument/instrument.h"
#include "toolchain/internal.h"

#define TOOL_REGS_MAX 255u
#define REGS_ABI      24u /* of a function that is called, at least; ptxas raises a smaller cap */
/* What bounds of 1024 threads twice on a multiprocessor leave: the tightest in use. */
#define REGS_SHARED 32u
/* The most registers that the functions we add use where nothing caps them. */
#define REGS_CALLED 64u

struct tool_func {
	char *name;
	bool is_entry;
	bool is_bounded; /* .maxntid, .reqntid or .maxnreg */
	bool has_maxnreg;
	bool has_grid_sync;
	bool has_wgmma, is_specialised; /* setmaxnreg */
	bool has_call, has_access;
	unsigned bound;	  /* registers its bounds leave; 255: no bounds */
	unsigned before;  /* registers of the original, 0: unknown */
	unsigned cap;	  /* most registers allowed afterwards; 255: any */
	unsigned maxnreg; /* the directive to put, 0: none */
	bool call_free, skip;
	bool is_left_out; /* by --kernel-name and the like */
	const char *why;
};

struct tool_work {
	const struct tool_job *job;
	const char *text;
	size_t size;
	struct base_arena arena;
	BASE_VEC(struct tool_func) funcs;
	bool has_proto, is_idle; /* calls functions of other objects; inst_is_idle */
	unsigned maxreg;	 /* the cap for tool_ptxas, 0: none */
	bool call_free;
	struct inst_prunes prunes; /* --prune */
	struct inst_options io;	   /* but for the limits */
	struct inst_stats stats;
	struct tool_sizes sizes; /* of the functions, as the last attempt left them */
	struct costs {
		unsigned trials;
		double pass, original, trial; /* seconds of this processor */
		double proofs;		      /* on the clock */
		size_t lines, lines_after;
	} costs;
	struct tool_reglist after;
	const char *in, *cubin; /* what the last trial read and wrote */
	const char *only;	/* the kernel that a trial is about; NULL: all */
	bool is_whole;		/* the way by an object (trial.c) has failed */
	bool is_object;		/* the last trial went that way */
	bool is_refused_known;	/* refused.c */
	bool is_old_ptxas;	/* it knows no -split-compile */
	bool is_cut_off;	/* a trial found no room, or was ended by a signal */
};

/* limits.c: do the first limits need the register counts of the original? */
bool tool_needs_counts(const struct tool_work *w);
/* The limits of the first attempt. */
void tool_first_limits(struct tool_work *w, const struct tool_reglist *before);
/* Has it device functions that need more than REGS_SHARED, or (is_large false) no more? */
bool tool_has_func(const struct tool_work *w, bool is_large);
/* Caps the whole file. */
void tool_cap_file(struct tool_work *w, unsigned maxreg);
/* One step tighter for one function; false when there is no step left. */
bool tool_tighten(struct tool_work *w, struct tool_func *f, const char *why);
/* scan.c: what the functions of the text are; false when it is no PTX, the sink says why. */
bool tool_scan(struct tool_work *w, struct base_sink *sink);
/* prune.c: adds the accesses that need no check to w->prunes, where --prune asks for it. */
void tool_find_prunes(struct tool_work *w);
/* Makes the job's late_file where a later process may prove more of the code that was made. */
void tool_say_late(const struct tool_work *w);
/* slow.c: leaves out the kernels that cost most, as --load-limit says; false: none. */
bool tool_skip_slow(struct tool_work *w);
/* refused.c: leaves out the kernels that only an object can hold; false: there are none. */
bool tool_skip_refused(struct tool_work *w);

#endif
