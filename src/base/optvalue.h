/*
 * optvalue.h - private to src/base: an option's value, read as its row says.
 */
#ifndef COLLIDER_OPTVALUE_H
#define COLLIDER_OPTVALUE_H

#include "base/option.h"

/* Reads `text` (NULL: nothing was given) into *num. On failure *expected says what it should have
 * been. */
bool option_read_value(struct option_set *s, const struct option_row *row, const char *text,
		       int64_t *num, const char **expected);
/* The index of a word among those of "a|b|c", or -1. */
int64_t option_find_choice(const char *choices, const char *text);

#endif
