/*
 * nvtx.h - the ranges that a program marks by NVTX, for --nvtx-include and --nvtx-exclude.
 *
 * NVTX's headers load the library that NVTX_INJECTION64_PATH names at the program's first call of
 * theirs and call InitializeInjectionNvtx2 there: the agent's, or that of the CPU device, which
 * hand their argument to race_nvtx_listen. The launcher sets the variable only if ranges matter.
 */
#ifndef COLLIDER_RACE_FILE_NVTX_H
#define COLLIDER_RACE_FILE_NVTX_H

#include <stdbool.h>
#include <stdint.h>

#define RACE_NVTX_ENV	  "NVTX_INJECTION64_PATH"
#define RACE_NVTX_OUTSIDE "agent_is_outside" /* the agent's race_nvtx_is_outside, for dlsym */

/* What the entry of NVTX's injection is given, and what it returns: 1, it listens. */
typedef const void *race_nvtx_tables_fn(uint32_t id);
int race_nvtx_listen(race_nvtx_tables_fn *tables);

/* Is a launch that this thread makes now left out, by the ranges that it is in? */
bool race_nvtx_is_outside(void);

#endif
