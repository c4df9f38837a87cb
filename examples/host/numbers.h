/* numbers.h - what main.c and kernels.cu share. */
#ifndef NUMBERS_H
#define NUMBERS_H

#define COUNT 4096u

#ifdef __cplusplus
extern "C" {
#endif

unsigned *numbers_make(void); /* in memory that host and GPU share; NULL: there is none */
void numbers_fill(unsigned *numbers);
int numbers_wait(void); /* for the GPU; 0: it failed */

#ifdef __cplusplus
}
#endif
#endif
