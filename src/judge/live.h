/*
 * live.h - inside src/judge: a trial's questions, asked of the process that has the program's
 * socket (serve.c), over a socket of their own.
 */
#ifndef COLLIDER_JUDGE_LIVE_H
#define COLLIDER_JUDGE_LIVE_H

#include "judge/internal.h"

/* In the trial's process: a source that asks over fd. */
struct judge_source judge_live_source(int *fd);

#endif
