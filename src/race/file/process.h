/*
 * process.h - what one process of a run has found.
 */
#ifndef COLLIDER_RACE_FILE_PROCESS_H
#define COLLIDER_RACE_FILE_PROCESS_H

#include <stdint.h>

/* From now on race_shm_read takes only what this process has written down (0: all). */
void race_process_only(uint32_t pid);

#endif
