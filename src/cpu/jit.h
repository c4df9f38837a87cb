/*
 * jit.h - inside src/cpu: runs of arithmetic as machine code (jit/), for run loop and loader.
 *
 * A run is a piece of a function without stores, branches and barriers, each of whose
 * instructions has a row in rows.def. The run loop asks cpu_jit_try where a run begins; where that
 * has happened often enough the run is made machine code for the host (AVX2) and called in place of
 * its handlers. Registers, counts and the order of everything are as the handlers leave them.
 *
 * Not run as machine code: hosts without AVX2 and FMA, instructions that the judge follows
 * (CPU_I_NOTED), and what is left of a turn that is shorter than the run.
 */
#ifndef COLLIDER_CPU_JIT_H
#define COLLIDER_CPU_JIT_H

#include "cpu/machine.h"

/* The runs of a decoded function are to be found, and marked where they begin (CPU_I_RUN): when it
 * has had some turns, or now. Nothing happens with CPU_JIT_OFF, on a host without AVX2, or without
 * memory. */
void cpu_jit_prepare(struct cpu_func *f, enum cpu_jit mode);
void cpu_jit_now(struct cpu_func *f, enum cpu_jit mode);
/* A turn begins in the function, whose jit_wait isn't 0. */
void cpu_jit_turn(const struct cpu_worker *k, struct cpu_func *f);
/* Flags of instructions have changed: the runs are found again. No other thread executes it. */
void cpu_jit_again(struct cpu_func *f);
/* Executes the run that begins at pc, or as much of it as `left` of the turn's budget has room for,
 * for the lanes of `mask` of w's current split. Returns how many instructions were executed, and
 * takes their weights from *left; 0: none, do it by the handlers. */
uint32_t cpu_jit_try(struct cpu_warp *w, struct cpu_func *f, uint32_t pc, uint32_t mask,
		     int32_t *left);
/* How much of its budget an instruction takes: turns end more often where other threads could
 * observe it. */
static inline int32_t cpu_inst_weight(uint32_t flags)
{
	_Static_assert(CPU_I_MEMORY == 1 << 5 && CPU_I_BACK == 1 << 6, "weight of an instruction");
	return 1 + (int32_t)(flags >> 5 & 3) * 4;
}
/* A place that may have code is looked at each so many visits of such places by a worker: of a loop
 * with several all have their turn, unless they are as many. Workers don't write what others read
 * at each visit. */
#define CPU_JIT_WAIT 19u
/* The same for the run loop, which has counted the first instruction: moves *pc on, and counts. */
static inline bool cpu_jit_go(struct cpu_warp *w, uint32_t *pc, uint32_t mask, int32_t *left,
			      uint32_t *n)
{
	struct cpu_func *f = w->cur->func;
	_Atomic bool *waits = &f->code[*pc].waits[mask == UINT32_MAX];
	bool is_look = atomic_load_explicit(waits, memory_order_relaxed);

	if (is_look && w->worker->jit_wait) {
		w->worker->jit_wait--;
		return false;
	}
	int32_t room = *left + cpu_inst_weight(f->code[*pc].flags);
	uint32_t done = cpu_jit_try(w, f, *pc, mask, &room);
	if (is_look)
		w->worker->jit_wait = CPU_JIT_WAIT;
	if (!done)
		return false;
	if (is_look)
		atomic_store_explicit(waits, false, memory_order_relaxed);
	*pc += done;
	*n += done - 1;
	*left = room;
	return true;
}
/* Unmaps the code of a function that is executed no more. */
void cpu_jit_free(struct cpu_func *f);
/* After fork, in the child. */
void cpu_jit_forked(void);

#endif
