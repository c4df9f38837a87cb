/*
 * prune.h - private to src/cli: accesses that need no check, for collider nvcc --prune.
 */
#ifndef COLLIDER_PRUNE_PRUNE_H
#define COLLIDER_PRUNE_PRUNE_H

#include "instrument/instrument.h"
#include "toolchain/toolchain.h"

/* A tool_prover: adds to *out. Finding nothing is no error. */
void prune_find(const struct tool_prover_job *j, struct inst_prunes *out);

#endif
