/*
 * iguard90.cu - iguard.cu for targets from sm_90 on: both words of an entry are swapped at once.
 */
#define IGUARD_SWAPS_PAIRS
#include "iguard.cu"
