/*
 * guard90.cu - guard.cu for targets from sm_90 on: both words of an entry are swapped at once.
 */
#define GUARD_SWAPS_PAIRS
#include "guard.cu"
