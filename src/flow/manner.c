/*
 * manner.c - how an instruction accesses memory, in the memory model's words (race/rules.h).
 *
 * PTX ISA 8.2 and 9.7.9: .volatile and .mmio are relaxed accesses of the system's scope; a strong
 * access without a scope has the device's.
 */
#include "flow/flow.h"

enum race_strength flow_strength(uint8_t sem)
{
	switch (sem) {
	case PTX_SEM_RELAXED:
	case PTX_SEM_VOLATILE:
	case PTX_SEM_MMIO:
		return RACE_RELAXED;
	case PTX_SEM_ACQUIRE:
		return RACE_ACQUIRE;
	case PTX_SEM_RELEASE:
		return RACE_RELEASE;
	case PTX_SEM_ACQ_REL:
		return RACE_ACQ_REL;
	case PTX_SEM_SC:
		return RACE_SC;
	default:
		return RACE_WEAK;
	}
}

enum race_scope flow_scope(uint8_t sem, uint8_t scope)
{
	if (sem == PTX_SEM_VOLATILE || sem == PTX_SEM_MMIO)
		return RACE_SCOPE_SYS;
	if (sem == PTX_SEM_WEAK || sem == PTX_SEM_NONE)
		return RACE_SCOPE_NONE;
	switch (scope) {
	case PTX_SCOPE_CTA:
		return RACE_SCOPE_CTA;
	case PTX_SCOPE_CLUSTER:
		return RACE_SCOPE_CLUSTER;
	case PTX_SCOPE_SYS:
		return RACE_SCOPE_SYS;
	default:
		return RACE_SCOPE_GPU;
	}
}
