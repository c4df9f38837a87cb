/*
 * control.c - branches, calls, returns, ends of threads, sleep.
 *
 * A branch that all lanes take alike never comes here: the run loop knows
 * cpu_exec_bra and moves pc itself. Lanes that a table or an address sends to different places are
 * split here; the rest of the split executes the instruction again. A call copies the bytes that
 * struct cpu_call names between the .param areas of two depths; registers stay, for each depth has
 * its own frame. Results are copied by the return, which finds the call before the place it returns
 * to.
 *
 * pmevent has no effect. nanosleep takes the longest time that
 * a lane of the split asks for, times a random factor in [0, 2], on the
 * machine's clock.
 */
#include "cpu/sched.h"
#include "cpu/repeat.h"

#include <string.h>

cpu_binder cpu_bind_control;

static uint32_t here(const struct cpu_warp *w, const struct cpu_inst *in)
{
	return (uint32_t)(in - w->cur->func->code);
}

/* ---- branches ------------------------------------------------------------------- */

enum cpu_step cpu_exec_bra(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	(void)mask;
	w->cur->pc = in->target;
	return CPU_MOVED;
}

static enum cpu_step exec_brx(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const uint32_t *index = cpu_u32(w, in->src[0]), *targets = in->aux;
	struct cpu_split *s = w->cur;
	uint32_t left = mask;

	s->pc = here(w, in);
	CPU_EACH_LANE (l, mask) {
		if (index[l] >= in->imm)
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "index %u of a branch table with %u targets", index[l],
					 (uint32_t)in->imm);
	}
	for (bool is_first = true;; is_first = false) {
		uint32_t target = targets[index[__builtin_ctz(left)]], same = 0;

		CPU_EACH_LANE (l, left) {
			same |= (uint32_t)(targets[index[l]] == target) << l;
		}
		if (same == left) {
			s->pc = target;
			return CPU_MOVED;
		}
		if (is_first)
			cpu_meet_after(w, in, mask);
		cpu_split_off(w, same, target);
		left &= ~same;
	}
}

/* ---- calls ------------------------------------------------------------------------- */

static uint8_t *area(const struct cpu_warp *w, uint32_t depth)
{
	return w->params + (size_t)depth * CPU_WARP * w->grid->func->layout->param;
}

static void copy_args(struct cpu_warp *w, const struct cpu_arg *args, uint32_t n, uint32_t depth,
		      bool is_result, uint32_t mask)
{
	size_t stride = w->grid->func->layout->param;
	uint8_t *mine = area(w, depth), *theirs = area(w, depth + 1);

	for (const struct cpu_arg *a = args; a < args + n; a++)
		CPU_EACH_LANE (l, mask) {
			uint8_t *p = mine + l * stride + a->here,
				*q = theirs + l * stride + a->there;
			if (is_result)
				memcpy(p, q, a->bytes);
			else
				memcpy(q, p, a->bytes);
		}
}

static enum cpu_step call_system(struct cpu_warp *w, const struct cpu_inst *in,
				 const struct cpu_call *c, uint32_t mask)
{
	uint32_t depth = w->cur->depth;
	enum cpu_step step;

	if (!cpu_apart_is_alone(w->worker))
		return CPU_RETRY;
	copy_args(w, c->args, c->nargs, depth, false, mask);
	cpu_repeat_spoil(w->grid->m);
	step = c->syscall(w, in, mask, area(w, depth + 1), w->grid->func->layout->param);
	if (step == CPU_OK || step == CPU_YIELD)
		copy_args(w, c->rets, c->nrets, depth, true, mask);
	return step;
}

/* Registers that the function may read before it writes them hold nothing of other calls: otherwise
 * it would depend on the worker what they hold. */
static void clear_unset(struct cpu_warp *w, const struct cpu_func *f, uint32_t mask)
{
	for (uint32_t i = 0; i < f->nunset; i++) {
		uint8_t *slot = w->base[0] + f->unset[i][0];
		uint32_t size = f->unset[i][1] / CPU_WARP;
		if (!size)
			cpu_set_pred(w, f->unset[i][0], 0, mask);
		CPU_EACH_LANE (l, size ? mask : 0) {
			for (uint32_t at = 0; at < size; at += 8)
				memset(slot + at * CPU_WARP + l * (size < 8 ? size : 8), 0,
				       size < 8 ? size : 8);
		}
	}
}

static enum cpu_step call_function(struct cpu_warp *w, const struct cpu_inst *in,
				   const struct cpu_call *c, struct cpu_func *f, uint32_t mask)
{
	struct cpu_split *s = w->cur;
	uint32_t depth = s->depth + 1u, pc = here(w, in);

	copy_args(w, c->args, c->nargs, depth - 1, false, mask);
	CPU_EACH_LANE (l, mask) {
		uint32_t base = (w->sp[l] + f->local_align - 1) & ~(f->local_align - 1);
		w->ret[depth][l] = (struct cpu_return){s->func, pc + 1};
		w->fp[depth][l] = base;
		w->sp[l] = base + f->local;
	}
	s->func = f;
	s->depth = (uint16_t)depth;
	s->pc = 0;
	cpu_warp_focus(w, s);
	clear_unset(w, f, mask);
	return CPU_MOVED;
}

static enum cpu_step exec_call(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct cpu_call *c = in->aux;
	struct cpu_split *s = w->cur;
	struct cpu_func *f = c->callee;
	unsigned lane = (unsigned)__builtin_ctz(mask);

	s->pc = here(w, in);
	if (!cpu_stack_frames(w, s->depth + 1u))
		return cpu_fault(w, in, lane, CPU_FAULT_STACK, "calls are nested %u deep",
				 s->depth + 1u);
	if (c->syscall)
		return call_system(w, in, c, mask);
	if (!f) {
		const uint64_t *to = cpu_u64(w, c->slot);
		uint32_t others = 0;

		CPU_EACH_LANE (l, mask) {
			others |= (uint32_t)(to[l] != to[lane]) << l;
		}
		if (others) {
			cpu_meet_after(w, in, mask);
			cpu_split_off(w, others, s->pc);
			mask &= ~others;
		}
		f = cpu_func_at(w->grid->kernel->mod, to[lane]);
		if (!f)
			return cpu_fault(w, in, lane, CPU_FAULT_ILLEGAL,
					 "a call to address 0x%llx, where no function is",
					 (unsigned long long)to[lane]);
	}
	if (!f->code)
		return cpu_fault(w, in, lane, CPU_FAULT_UNSUPPORTED, "a call of %s: %s", f->name,
				 cpu_func_refused(f));
	if (!cpu_stack_local(w, mask, f->local + f->local_align))
		return cpu_fault(w, in, lane, CPU_FAULT_STACK,
				 "the thread's local memory is exhausted by a call of %s", f->name);
	return call_function(w, in, c, f, mask);
}

static enum cpu_step exec_exit(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	w->cur->pc = here(w, in);
	if (!cpu_tmem_exit(w, mask))
		return CPU_FAULTED;
	cpu_warp_exit(w, mask);
	return CPU_MOVED;
}

static enum cpu_step exec_ret(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_split *s = w->cur;
	uint32_t depth = s->depth, others = 0;

	if (!depth)
		return exec_exit(w, in, mask);

	struct cpu_return to = w->ret[depth][__builtin_ctz(mask)];

	s->pc = here(w, in);
	CPU_EACH_LANE (l, mask) {
		const struct cpu_return *r = &w->ret[depth][l];
		others |= (uint32_t)(r->pc != to.pc || r->func != to.func) << l;
	}
	if (others) {
		cpu_split_off(w, others, s->pc);
		mask &= ~others;
	}
	const struct cpu_call *c = to.func->code[to.pc - 1].aux;

	copy_args(w, c->rets, c->nrets, depth - 1, true, mask);
	CPU_EACH_LANE (l, mask) {
		w->sp[l] = w->fp[depth][l];
	}
	cpu_meet_leave(w, depth, mask);
	s->func = to.func;
	s->depth = (uint16_t)(depth - 1);
	s->pc = to.pc;
	cpu_warp_focus(w, s);
	cpu_meet_arrive(w, s);
	return CPU_MOVED;
}

/* ---- the rest ------------------------------------------------------------------------ */

static enum cpu_step exec_trap(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	return cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_TRAP, "trap");
}

static enum cpu_step exec_brkpt(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	return cpu_fault(w, in, (unsigned)__builtin_ctz(mask), CPU_FAULT_TRAP,
			 "a breakpoint, and no debugger");
}

static enum cpu_step exec_nothing(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	(void)w, (void)in, (void)mask;
	return CPU_OK;
}

static enum cpu_step exec_nanosleep(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const uint32_t *t = cpu_u32(w, in->src[0]);
	struct cpu_split *s = w->cur;
	uint32_t longest = 0;

	CPU_EACH_LANE (l, mask) {
		if (t[l] > longest)
			longest = t[l];
	}
	if (!longest)
		return CPU_YIELD;
	if (longest > 1000000) /* the ISA's limit: 1 ms */
		longest = 1000000;
	s->pc = here(w, in) + 1;
	uint32_t slept = cpu_random_below(w->worker, 2 * longest + 1);
	s->wake = w->worker->clock + slept;
	/* A split that waits for these lanes, while they wait for it with nanosleep (the holder of
	 * a lock), must not wait for thousands of their attempts. */
	cpu_wp(w)->insts += slept / 16;
	cpu_split_state(w, s, CPU_SPLIT_SLEEP);
	return CPU_MOVED;
}

static enum cpu_step exec_launch(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	struct cpu_block *b = cpu_block_of(w->cta);

	(void)in, (void)mask;
	if (!b->has_triggered) {
		b->has_triggered = true;
		cpu_engine_launch_dependents(w->grid);
	}
	return CPU_OK;
}

/* ---- the stack: 9.7.17 ------------------------------------------------------------------ */

static enum cpu_step exec_stacksave(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	CPU_EACH_LANE (l, mask) {
		if (in->sub == 8)
			cpu_u64(w, in->dst[0])[l] = w->sp[l];
		else
			cpu_u32(w, in->dst[0])[l] = w->sp[l];
	}
	return CPU_OK;
}

static enum cpu_step exec_stackrestore(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	CPU_EACH_LANE (l, mask) {
		uint64_t sp = in->sub == 8 ? cpu_u64(w, in->src[0])[l] : cpu_u32(w, in->src[0])[l];
		if (sp > w->sp[l])
			return cpu_fault(w, in, l, CPU_FAULT_ILLEGAL,
					 "stackrestore to 0x%llx, above the top of the stack 0x%x",
					 (unsigned long long)sp, w->sp[l]);
		w->sp[l] = (uint32_t)sp;
	}
	return CPU_OK;
}

static enum cpu_step exec_alloca(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	uint32_t align = (uint32_t)in->imm;

	CPU_EACH_LANE (l, mask) {
		uint64_t n = in->sub == 8 ? cpu_u64(w, in->src[0])[l] : cpu_u32(w, in->src[0])[l];
		if (n > UINT32_MAX / 2 || !cpu_stack_local(w, 1u << l, (uint32_t)n + align))
			return cpu_fault(w, in, l, CPU_FAULT_STACK,
					 "alloca of %llu bytes exhausts local memory",
					 (unsigned long long)n);
		uint32_t base = (w->sp[l] + align - 1) & ~(align - 1);
		w->sp[l] = base + (uint32_t)n;
		if (in->sub == 8)
			cpu_u64(w, in->dst[0])[l] = base;
		else
			cpu_u32(w, in->dst[0])[l] = base;
	}
	return CPU_OK;
}

static enum cpu_bound bind_stack(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	enum ptx_type t = s->form->ntypes ? (enum ptx_type)s->form->types[0] : PTX_TYPE_U32;
	enum ptx_op op = s->form->op;

	in->sub = (uint8_t)ptx_type_bytes(t);
	if (in->sub != 4 && in->sub != 8)
		return cpu_dec_unsupported(d, in, "the type is neither .u32 nor .u64");
	if (op == PTX_OP_STACKRESTORE) {
		in->fn = exec_stackrestore;
		in->src[0] = cpu_dec_src(d, &s->ops[0], t);
		return CPU_BOUND;
	}
	in->dst[0] = cpu_dec_dst(d, &s->ops[0]);
	in->fn = op == PTX_OP_ALLOCA ? exec_alloca : exec_stacksave;
	if (op == PTX_OP_ALLOCA) {
		in->src[0] = cpu_dec_src(d, &s->ops[1], t);
		in->imm = 16;
		if (s->nops > 2)
			in->imm = (uint64_t)s->ops[2].imm;
		if (!in->imm || in->imm & (in->imm - 1) || in->imm > 4096)
			return cpu_dec_unsupported(d, in, "the alignment is no power of two");
	}
	return CPU_BOUND;
}

/* ---- binding ------------------------------------------------------------------------------ */

static enum cpu_bound bind_table(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	uint32_t n = 0;

	in->fn = exec_brx;
	in->flags |= CPU_I_PARTS;
	in->src[0] = cpu_dec_src(d, &s->ops[0], PTX_TYPE_U32);
	in->aux = cpu_dec_targets(d, s, &n);
	in->imm = n;
	return in->aux ? CPU_BOUND : cpu_dec_unsupported(d, in, "it names no .branchtargets list");
}

static enum cpu_bound bind_plain(struct cpu_inst *in, cpu_exec *fn, bool parts)
{
	in->fn = fn;
	if (parts)
		in->flags |= CPU_I_PARTS;
	return CPU_BOUND;
}

enum cpu_bound cpu_bind_control(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	switch (s->form->op) {
	case PTX_OP_BRA:
		return bind_plain(in, cpu_exec_bra, true);
	case PTX_OP_BRX_IDX:
		return bind_table(d, s, in);
	case PTX_OP_CALL:
		in->aux = cpu_dec_call(d, s, in);
		return in->aux ? bind_plain(in, exec_call, true) : CPU_BAD;
	case PTX_OP_RET:
		return bind_plain(in, exec_ret, true);
	case PTX_OP_EXIT:
		return bind_plain(in, exec_exit, true);
	case PTX_OP_TRAP:
		return bind_plain(in, exec_trap, true);
	case PTX_OP_BRKPT:
		return bind_plain(in, exec_brkpt, true);
	case PTX_OP_NANOSLEEP:
		in->src[0] = cpu_dec_src(d, &s->ops[0], PTX_TYPE_U32);
		return bind_plain(in, exec_nanosleep, true);
	case PTX_OP_PMEVENT:
		return bind_plain(in, exec_nothing, false);
	case PTX_OP_GRIDDEPCONTROL_LAUNCH_DEPENDENTS:
		return bind_plain(in, exec_launch, false);
	case PTX_OP_STACKSAVE:
	case PTX_OP_STACKRESTORE:
	case PTX_OP_ALLOCA:
		return bind_stack(d, s, in);
	default:
		return CPU_NOT_MINE;
	}
}
