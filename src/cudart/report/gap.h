/*
 * gap.h - inside src/cudart: launches that didn't run (gap.c).
 */
#ifndef COLLIDER_CUDART_GAP_H
#define COLLIDER_CUDART_GAP_H

#include "cudart/state/link.h"

/* The device can't run the kernel: `why`, with its place. The images' lock is held. */
void rt_gap_refused(struct rt_kern *k, const char *why);
/* A launch failed with this error; NULL: of no known kernel. */
void rt_gap_launch(struct rt_kern *k, enum rt_error e);

#endif
