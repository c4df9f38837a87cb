/*
 * refuse.h - for refused.c, which can't see CUDA's prototypes.
 */
#ifndef COLLIDER_CUDART_REFUSE_H
#define COLLIDER_CUDART_REFUSE_H

/* Reports that the entry point isn't available, once per name; keeps and returns
 * RT_ERROR_NOT_SUPPORTED. */
int rt_refuse_entry(const char *name);

#endif
