/*
 * refuse.h - for entries.c, which can't see CUDA's prototypes.
 */
#ifndef COLLIDER_CUDRV_REFUSE_H
#define COLLIDER_CUDRV_REFUSE_H

/* Reports that the function isn't available, once; CUDA_ERROR_NOT_SUPPORTED. */
int drv_refuse(const char *name);

#endif
