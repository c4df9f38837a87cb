/*
 * cudart.h - the front header of src/cudart: what `collider run` tells the facade.
 *
 * The room makes one shared object, build/lib/collider/cpu/libcudart.so.13, which stands in the place of
 * NVIDIA's runtime (same SONAME, same symbol version) and runs the program on src/cpu. It is found
 * by LD_PRELOAD or by its folder in the library path, and is told by one environment variable what
 * machine to make.
 */
#ifndef COLLIDER_CUDART_H
#define COLLIDER_CUDART_H

#include <stdbool.h>
#include <stddef.h>

#include "cpu/cpu.h"

/*
 * COLLIDER_CPU=key=value,key=value...: the machine's options. Keys:
 *   seed=N     of the schedule (default 1)
 *   threads=N  host threads that execute blocks (default 1: replayable), at most 256
 *   devices=N  virtual devices (default 1), at most RT_DEVICES
 *   sms=N      multiprocessors of each (default CPU_SMS), at most 1024
 *   memory=N   bytes of each device, with suffix K, M, G (default CPU_MEMORY)
 *   model=sc|weak|a1  memory model (default sc)
 *   stats=1    the end tells on stderr what was executed (bench/cpu)
 *   oracle=off|program|execution  judge every access (docs/soundness.md); with threads=1
 *              (default off)
 *   host-threads=one|separate  are host threads one actor to the oracle (default one)
 *   host-accesses=1  the oracle sees loads and stores of host code to managed and pinned memory
 * What is wrong is told once on stderr and left at its default.
 */
#define CUDART_OPTIONS_ENV "COLLIDER_CPU"

/* Below the folder of Collider's other libraries. */
#define CUDART_LIBRARY "cpu/libcudart.so.13"

#define RT_DEVICES 16u

/*
 * Reads an options text (NULL or "": all defaults) into *opt. Returns false for the first thing
 * that is wrong, described in why[why_size]; the rest of the text has been read nevertheless.
 */
bool cudart_parse_options(const char *text, struct cpu_options *opt, char *why, size_t why_size);

#endif
