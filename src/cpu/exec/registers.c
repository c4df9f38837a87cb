/*
 * registers.c - setmaxnreg: a block's registers, given back and taken (PTX ISA 9.7.19).
 *
 * Registers here cost nothing; what is kept is how many each warp would have. setmaxnreg.inc waits
 * until the block has enough that no warp holds, as on a GPU: where other warps never give theirs
 * back, the kernel ends as one that waits for ever. With .maxnreg a block has that many for each of
 * its threads. Without, ptxas chooses, so only what no block can have is waited for: more than the
 * 65,536 of a multiprocessor. A warp that has exited holds none.
 *
 * Misses: a warpgroup whose warps disagree, undefined by the ISA: single warps that change their
 * number are common on Blackwell. What registers hold after an .inc stays as it was.
 */
#include "cpu/sched.h"

#define ALL_OF_WARPS 2048u /* registers of a thread, summed over warps: 65,536 */
#define MOST	     256u
#define UNIT	     8u

cpu_binder cpu_bind_registers;

/* Those of a thread at launch. */
static uint32_t at_launch(const struct cpu_grid *g)
{
	uint32_t limit = g->func->ptx->maxnreg, n = ALL_OF_WARPS / g->nwarps / UNIT * UNIT;

	if (limit)
		return (limit + UNIT - 1) / UNIT * UNIT;
	return n < MOST ? n : MOST;
}

static uint32_t held_by(const struct cpu_warp *w)
{
	if (!(w->lanes & ~w->exited))
		return 0;
	return w->registers ? w->registers : at_launch(w->grid);
}

/* Would the block's warps hold more than it has, if this one had `n`? */
static bool is_too_many(const struct cpu_warp *w, uint32_t n)
{
	const struct cpu_cta *cta = w->cta;
	uint32_t all =
		w->grid->func->ptx->maxnreg ? at_launch(w->grid) * cta->nwarps : ALL_OF_WARPS;

	for (uint32_t i = 0; i < cta->nwarps; i++)
		if (&cta->warps[i] != w)
			n += held_by(&cta->warps[i]);
	return n > all;
}

/* in->imm: the registers of a thread; in->sub: 1 of .inc */
static enum cpu_step exec_setmaxnreg(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint32_t n = (uint32_t)in->imm, now = held_by(w);

	(void)mask;
	if (in->sub ? n <= now : n >= now)
		return CPU_OK;
	if (in->sub && is_too_many(w, n))
		return CPU_RETRY;
	w->registers = (uint16_t)n;
	cpu_proof_fail(w->worker);
	return CPU_OK;
}

enum cpu_bound cpu_bind_registers(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_opnd *n = s->ops;

	if (s->nops != 1 || n->kind != PTX_OPND_INT || n->imm < 24 || n->imm > MOST ||
	    n->imm % UNIT)
		return cpu_dec_unsupported(d, in, "a number of registers that setmaxnreg lacks");
	in->imm = (uint64_t)n->imm;
	in->sub = ptx_form_has(s->form, PTX_MOD_INC);
	in->flags |= CPU_I_GATHER;
	in->gather = CPU_GATHER_ALL;
	in->fn = exec_setmaxnreg;
	return CPU_BOUND;
}
