/*
 * cudart.h - the front header of src/cudart: what `collider run` passes to the facade.
 *
 * The room makes one shared object, build/lib/collider/cpu/libcudart.so.13, which replaces NVIDIA's
 * runtime (same SONAME, same symbol version) and runs the program on src/cpu. It is found by
 * LD_PRELOAD or by its folder in the library path, and one environment variable describes the
 * machine.
 */
#ifndef COLLIDER_CUDART_H
#define COLLIDER_CUDART_H

#include <stdbool.h>
#include <stddef.h>

#include "cpu/cpu.h"
#include "instrument/instrument.h"

/*
 * COLLIDER_CPU=key=value:key=value...: the machine's options, by their names in base/options.def
 * (the list DEVICE). Without --seed the schedule is that of seed 1; without --detector modules run
 * unchanged. A wrong option gets one message on stderr and keeps its default.
 */
#define CUDART_OPTIONS_ENV "COLLIDER_CPU"

#define RT_DEVICES 16u

/* The options, for the machine and for this room. */
struct cudart_options {
	struct cpu_options cpu;
	bool has_detectors;	  /* --detector was given */
	struct inst_options inst; /* of modules that a run instruments; its texts stay */
	bool stages_copies;	  /* --host-copies=staged */
	unsigned detectors;	  /* a set of race/detector.h */
	char *launches;		  /* --record-launches, malloc'd; NULL: not given */
	char *capsules;		  /* --capsules, the same */
	char *prover;		  /* who proves kernels, the same; NULL: no one */
	bool proves_all;	  /* --prune=proved: however little they do */
	int64_t proof_guess;	  /* ms (report/proven.c); -1: not given */
};

/* Reads an options text (NULL or "": all defaults). Returns false when something is wrong, with a
 * message for each in `sink`; the rest of the text has been read nevertheless. */
bool cudart_read_options(const char *text, struct cudart_options *opt, struct base_sink *sink);

#endif
