/*
 * refused.c - the entry points of refused.def: each says its name and fails.
 *
 * The toolkit's headers are not included here: the functions ignore their arguments, so one
 * signature serves all (the caller cleans up its own arguments in every calling convention that
 * CUDA supports on Linux).
 */
#include "cudart/state/refuse.h"

#define R(name)                                                                                    \
	__attribute__((visibility("default"))) int name(void);                                     \
	int name(void)                                                                             \
	{                                                                                          \
		return rt_refuse_entry(#name);                                                     \
	}
#include "cudart/api/refused.def"
#undef R
