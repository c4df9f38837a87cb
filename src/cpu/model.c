/* model.c - the memory models' common part; so far every model is sc. */
#include "cpu/model.h"

#include <string.h>

void cpu_model_load(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		    const struct cpu_acc *acc, enum cpu_place place, const uint8_t *host,
		    uint32_t bytes, void *out)
{
	(void)w, (void)in, (void)lane, (void)acc, (void)place;
	memcpy(out, host, bytes);
}

void cpu_model_store(struct cpu_warp *w, unsigned lane, const struct cpu_acc *acc,
		     enum cpu_place place, uint8_t *host, uint32_t bytes, const void *data)
{
	(void)w, (void)lane, (void)acc, (void)place;
	memcpy(host, data, bytes);
}

void cpu_model_bypass_cta(struct cpu_cta *cta, uint8_t *host, uint64_t bytes)
{
	(void)cta, (void)host, (void)bytes;
}

void cpu_release(struct cpu_warp *w, uint32_t mask, enum ptx_scope scope)
{
	(void)w, (void)mask, (void)scope;
}

void cpu_acquire(struct cpu_warp *w, uint32_t mask, enum ptx_scope scope)
{
	(void)w, (void)mask, (void)scope;
}

void cpu_model_bypass(struct cpu_warp *w, unsigned lane, uint8_t *host, uint64_t bytes)
{
	(void)w, (void)lane, (void)host, (void)bytes;
}

void cpu_model_tick(struct cpu_warp *w)
{
	(void)w;
}

void cpu_model_flush(struct cpu_warp *w)
{
	(void)w;
}

void cpu_model_cta_init(struct cpu_cta *cta)
{
	cta->l1 = NULL;
}

void cpu_model_cta_free(struct cpu_cta *cta)
{
	(void)cta;
}
