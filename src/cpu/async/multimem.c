/*
 * multimem.c - multimem.ld_reduce and multimem.st: one address, several memories.
 *
 * Each memory's access is one of its own (multicast.c says which there are), in the order in which
 * they were added; multimem.red is in exec/atomic.c. Sums of halves are rounded after each memory,
 * also with .acc::f32: with two that is the same.
 */
#include "cpu/async/async.h"
#include "cpu/memory/resolve.h"

#include <string.h>

#define MAX_VEC	  8u
#define MAX_BYTES 16u

struct multimem {
	struct cpu_acc acc;
	struct cpu_addr addr;
	enum cpu_red_op op;
	enum ptx_type type; /* of what is reduced: halves of packed types */
	uint8_t n, width;   /* registers, bytes of each */
	uint32_t slot[MAX_VEC];
};

/* Between registers and the lanes' bytes. */
static void move(struct cpu_warp *w, const struct multimem *x, uint32_t mask, uint8_t *data,
		 bool is_load)
{
	for (unsigned e = 0; e < x->n; e++) {
		if (x->slot[e] == CPU_NOSLOT)
			continue;
		uint8_t *reg = x->width == 2   ? (uint8_t *)cpu_u16(w, x->slot[e])
			       : x->width == 4 ? (uint8_t *)cpu_u32(w, x->slot[e])
					       : (uint8_t *)cpu_u64(w, x->slot[e]);
		CPU_EACH_LANE (l, mask) {
			uint8_t *in_reg = reg + l * x->width;
			uint8_t *in_data = data + l * x->n * x->width + e * x->width;
			memcpy(is_load ? in_reg : in_data, is_load ? in_data : in_reg, x->width);
		}
	}
}

static enum cpu_step exec_ld_reduce(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct multimem *x = in->aux;
	uint32_t bytes = (uint32_t)x->n * x->width, now;
	_Alignas(16) uint8_t all[CPU_WARP * MAX_BYTES], one[CPU_WARP * MAX_BYTES];
	uint64_t addr[CPU_WARP], at[CPU_WARP] = {0};

	cpu_addresses(w, &x->addr, addr);
	for (unsigned k = 0; (now = cpu_multicast_lanes(w, mask, addr, k, at)) != 0; k++) {
		enum cpu_step step = cpu_access(w, in, &x->acc, now, at, bytes, k ? one : all);
		if (step != CPU_OK)
			return step;
		CPU_EACH_LANE (l, k ? now : 0)
			cpu_reduce(all + l * bytes, one + l * bytes, bytes, x->op, x->type);
	}
	move(w, x, mask, all, true);
	return CPU_OK;
}

static enum cpu_step exec_st(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct multimem *x = in->aux;
	_Alignas(16) uint8_t data[CPU_WARP * MAX_BYTES];
	uint64_t addr[CPU_WARP], at[CPU_WARP] = {0};
	uint32_t now;

	cpu_addresses(w, &x->addr, addr);
	move(w, x, mask, data, false);
	for (unsigned k = 0; (now = cpu_multicast_lanes(w, mask, addr, k, at)) != 0; k++) {
		enum cpu_step step =
			cpu_access(w, in, &x->acc, now, at, (uint32_t)x->n * x->width, data);
		if (step != CPU_OK)
			return step;
	}
	return CPU_OK;
}

/* The element of a packed type. */
static enum ptx_type element_of(enum ptx_type t)
{
	return t == PTX_TYPE_F16X2 ? PTX_TYPE_F16 : t == PTX_TYPE_BF16X2 ? PTX_TYPE_BF16 : t;
}

static bool find_op(const struct ptx_form *f, struct multimem *x)
{
	static const struct {
		enum ptx_mod mod;
		enum cpu_red_op op;
	} ops[] = {{PTX_MOD_ADD, CPU_RED_ADD}, {PTX_MOD_MIN, CPU_RED_MIN},
		   {PTX_MOD_MAX, CPU_RED_MAX}, {PTX_MOD_AND, CPU_RED_AND},
		   {PTX_MOD_OR, CPU_RED_OR},   {PTX_MOD_XOR, CPU_RED_XOR}};

	for (size_t i = 0; i < BASE_COUNTOF(ops); i++)
		if (ptx_form_has(f, ops[i].mod))
			x->op = ops[i].op;
	return x->op != CPU_RED_NONE;
}

cpu_binder cpu_bind_multimem;

enum cpu_bound cpu_bind_multimem(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	bool is_load = f->op == PTX_OP_MULTIMEM_LD_REDUCE;
	struct multimem *x = cpu_dec_alloc(d, sizeof(*x));
	struct ptx_opnd el[MAX_VEC];

	if (!f->ntypes || f->has_unknown_mod || s->nops != 2 || f->vec > MAX_VEC ||
	    f->width * f->vec > MAX_BYTES || f->width < 2 || f->width > 8 ||
	    (is_load && !find_op(f, x)))
		return cpu_dec_unsupported(d, in, "no such operation or type");
	if (cpu_dec_elems(d, &s->ops[!is_load], el, MAX_VEC) != f->vec)
		return cpu_dec_unsupported(d, in, "the number of elements is not that of the form");
	x->n = f->vec;
	x->width = f->width;
	x->type = element_of((enum ptx_type)f->types[0]);
	for (unsigned e = 0; e < f->vec; e++)
		x->slot[e] = is_load ? cpu_dec_dst(d, &el[e])
				     : cpu_dec_src(d, &el[e], (enum ptx_type)f->types[0]);
	x->addr = cpu_dec_addr(d, s, &s->ops[is_load]);
	x->acc = (struct cpu_acc){.kind = is_load ? CPU_ACC_LOAD : CPU_ACC_STORE,
				  .space = PTX_SPACE_GLOBAL,
				  .sem = f->sem,
				  .scope = f->scope ? f->scope : PTX_SCOPE_SYS,
				  .proxy = f->proxy,
				  .width = f->width,
				  .vec = f->vec};
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = is_load ? exec_ld_reduce : exec_st;
	return CPU_BOUND;
}
