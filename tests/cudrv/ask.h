/*
 * ask.h - questions to the driver, with the answers that they should have. KEEP_GOING=1: all that
 * differ are listed, else the first ends the program.
 */
#ifndef ASK_H
#define ASK_H

#include <cuda.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned wrong, asked;

static void said(int line, const char *what, long is, long wants)
{
	asked++;
	if (is == wants)
		return;
	fprintf(stderr, "line %d: %s: %ld, expected %ld\n", line, what, is, wants);
	wrong++;
	if (!getenv("KEEP_GOING"))
		exit(1);
}
#define IS(expr, wants) said(__LINE__, #expr, (long)(expr), (long)(wants))
#define OK(expr)	IS(expr, CUDA_SUCCESS)
#define THAT(expr)	IS(!!(expr), 1)

#endif
