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

bool flow_is_result_used(struct flow *fl, const struct ptx_stmt *s)
{
	for (unsigned i = 0; i < s->nops; i++) {
		uint32_t n = 0;
		if (ptx_stmt_role(s, i) != PTX_ROLE_DST || s->ops[i].kind == PTX_OPND_SINK)
			continue;
		if (s->ops[i].kind == PTX_OPND_REG && !s->ops[i].comp)
			(void)flow_uses(fl, s->ops[i].reg, &n);
		if (n || s->ops[i].kind != PTX_OPND_REG || s->ops[i].comp)
			return true;
	}
	return false;
}

/* No scope below the device's has threads of two kernels, nor has shared memory. */
static bool is_within_kernel(const struct ptx_form *f)
{
	return f->scope == PTX_SCOPE_CTA || f->scope == PTX_SCOPE_CLUSTER ||
	       f->space == PTX_SPACE_SHARED || f->space == PTX_SPACE_SHARED_CLUSTER;
}

/* What is relaxed orders nothing without a fence, a fence without semantics only proxies of one
 * thread. */
bool flow_orders_kernels(const struct ptx_form *f)
{
	return !is_within_kernel(f) &&
	       (f->effects & PTX_EFF_UNKNOWN || flow_strength(f->sem) > RACE_RELAXED);
}

bool flow_shows_kernels(const struct ptx_form *f)
{
	return !is_within_kernel(f) && f->effects & PTX_EFF_WRITE &&
	       flow_strength(f->sem) >= RACE_RELAXED;
}

bool flow_observes_kernels(struct flow *fl, const struct ptx_stmt *s)
{
	const struct ptx_form *f = s->form;

	return !is_within_kernel(f) && f->effects & PTX_EFF_READ &&
	       flow_strength(f->sem) >= RACE_RELAXED &&
	       (!(f->effects & PTX_EFF_WRITE) || flow_is_result_used(fl, s));
}
