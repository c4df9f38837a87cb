/*
 * texture_op.c - tex, tld4 (fetches), suld.b, sust.b (surfaces), PTX ISA 9.7.10, 9.7.11.
 *
 * Objects are found by the number in a 64-bit register (the unified mode, which is all that CUDA
 * C++ has). Lanes that name the same object are handled together: for each corner of their
 * footprints there is first an event for the oracle, in the texture proxy, then the texels are
 * loaded. Fetches and surfaces work on memory itself, past the caches of the weak models: what the
 * same launch wrote there is undefined to them anyway.
 *
 * Not implemented, refused by name: texture references, separate samplers, cube maps,
 * multisampling, offsets, depth compare, sparse residence, packed half results; sust.p, sured, txq
 * and suq. .level and .grad choose among mipmaps; there is one level, so they change nothing.
 */
#include "cpu/async/async.h"
#include "cpu/memory/resolve.h"
#include "cpu/exec/texture.h"
#include "cpu/events.h"

#include <string.h>

enum bounds { TRAP, CLAMP, ZERO };

struct tex_aux {
	uint32_t object; /* slot, 64 bits */
	uint32_t at[3], layer;
	uint32_t elem[8]; /* slots: results, or what is stored */
	uint8_t dims, nelems, width /* bytes of an element in memory */;
	uint8_t bounds; /* enum bounds */
	bool is_layered, is_int, is_store;
	bool is_gather;
	uint8_t component;
};

/* The lanes of mask that name the same object as the first of them. */
static uint32_t same_object(const uint64_t *handle, uint32_t mask)
{
	uint64_t h = handle[__builtin_ctz(mask)];
	uint32_t same = 0;

	CPU_EACH_LANE (l, mask)
		same |= (uint32_t)(handle[l] == h) << l;
	return same;
}

static const struct cpu_texture *object_of(struct cpu_warp *w, const struct cpu_inst *in,
					   uint32_t mask, bool is_surface)
{
	const struct tex_aux *x = in->aux;
	unsigned l = (unsigned)__builtin_ctz(mask);
	uint64_t h = cpu_u64(w, x->object)[l];
	const struct cpu_texture *t = cpu_texture_find(w->grid->m, h, is_surface);
	const char *what = is_surface ? "surface" : "texture";
	unsigned dims = t ? 1u + (t->height != 0) + (t->depth != 0 && !t->is_layered) : 0;

	if (!t && w->grid->m->opt.is_guest)
		cpu_fault(w, in, l, CPU_FAULT_UNSUPPORTED,
			  "%s 0x%llx, which has mipmaps, a view or another kind that isn't judged, "
			  "or was destroyed",
			  what, (unsigned long long)h);
	else if (!t || t->is_surface != is_surface)
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "0x%llx is no %s object, or was destroyed",
			  (unsigned long long)h, what);
	else if (t->is_layered != x->is_layered || (t->is_array && dims != x->dims))
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "a %s%uD access to a %s%uD %s",
			  x->is_layered ? "layered " : "", x->dims, t->is_layered ? "layered " : "",
			  dims, what);
	else if (!t->is_array && x->dims > dims)
		cpu_fault(w, in, l, CPU_FAULT_ILLEGAL, "a %uD access to a texture of linear memory",
			  x->dims);
	else if (!t->is_array && !t->height && !x->is_int)
		cpu_fault(w, in, l, CPU_FAULT_UNSUPPORTED,
			  "a texture of linear memory with coordinates that are no whole numbers");
	else
		return t;
	return NULL;
}

/* ---- fetches ------------------------------------------------------------------------ */

/* One corner of many lanes' footprints. */
struct corner {
	uint64_t addr[CPU_WARP];
	uint32_t mask; /* of lanes whose corner isn't in the border */
};

static struct cpu_footprint footprint(struct cpu_warp *w, const struct tex_aux *x,
				      const struct cpu_texture *t, unsigned l)
{
	struct cpu_tex_place p = {.layer = -1, .dims = x->dims, .is_int = x->is_int};
	struct cpu_footprint out;

	for (unsigned d = 0; d < x->dims; d++)
		p.at[d] = x->is_int ? (double)(int32_t)cpu_u32(w, x->at[d])[l]
				    : (double)cpu_f32(w, x->at[d])[l];
	if (x->is_layered)
		p.layer = cpu_u32(w, x->layer)[l];
	cpu_texture_footprint(t, &p, x->is_gather, &out);
	/* tex1Dfetch reads 0 beyond its memory. */
	if (!t->is_array && !t->height && !(p.at[0] >= 0 && p.at[0] < (double)t->width))
		out.texel[0] = 0;
	return out;
}

static bool load_corner(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_texture *t,
			const struct corner *c, uint32_t mask, uint32_t out[4][CPU_WARP])
{
	uint32_t bytes = cpu_texel_bytes(t);
	struct cpu_acc acc = {.kind = CPU_ACC_LOAD,
			      .space = PTX_SPACE_GLOBAL,
			      .sem = PTX_SEM_WEAK,
			      .proxy = PTX_PROXY_TEX};

	if (c->mask && cpu_event_takes(w, in))
		cpu_event_access(w, in, &acc, c->mask, c->addr, bytes);
	CPU_EACH_LANE (l, mask) {
		const uint8_t *p = NULL;
		uint32_t v[4];
		if (c->mask >> l & 1) {
			p = cpu_resolve(w, in, l,
					&(struct cpu_range){.space = PTX_SPACE_GLOBAL,
							    .addr = c->addr[l],
							    .bytes = bytes});
			if (!p)
				return false;
		}
		cpu_texel_decode(t, p, v);
		for (unsigned k = 0; k < 4; k++)
			out[k][l] = v[k];
	}
	return true;
}

/* Adds a corner to the result: by weight, or as one of a gather's values. */
static void blend(const struct tex_aux *x, unsigned k, const struct cpu_footprint *f,
		  uint32_t texel[4][CPU_WARP], uint32_t result[4][CPU_WARP], uint32_t mask)
{
	/* Where a gather's values go: (0,1), (1,1), (1,0), (0,0). */
	static const uint8_t place[4] = {3, 2, 0, 1};

	CPU_EACH_LANE (l, mask) {
		for (unsigned c = 0; c < 4 && !x->is_gather; c++) {
			float a, b;
			memcpy(&a, &result[c][l], 4);
			memcpy(&b, &texel[c][l], 4);
			if (f[l].n == 1) {
				result[c][l] = texel[c][l];
				continue;
			}
			/* A texel with weight 0 does not count, even if it is a NaN. */
			a = f[l].weight[k] != 0 ? a + f[l].weight[k] * b : a;
			memcpy(&result[c][l], &a, 4);
		}
		if (x->is_gather)
			result[place[k]][l] = texel[x->component][l];
	}
}

static enum cpu_step exec_tex(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct tex_aux *x = in->aux;
	uint32_t result[4][CPU_WARP] = {{0}}, texel[4][CPU_WARP];
	struct cpu_footprint f[CPU_WARP];

	for (uint32_t left = mask, now; left; left &= ~now) {
		now = same_object(cpu_u64(w, x->object), left);
		const struct cpu_texture *t = object_of(w, in, now, false);
		if (!t)
			return CPU_FAULTED;
		CPU_EACH_LANE (l, now)
			f[l] = footprint(w, x, t, l);
		for (uint32_t k = 0; k < f[__builtin_ctz(now)].n; k++) {
			struct corner c = {.mask = 0};
			CPU_EACH_LANE (l, now) {
				c.addr[l] = f[l].texel[k];
				c.mask |= (uint32_t)(c.addr[l] != 0) << l;
			}
			if (!load_corner(w, in, t, &c, now, texel))
				return CPU_FAULTED;
			blend(x, k, f, texel, result, now);
		}
	}
	for (unsigned c = 0; c < x->nelems; c++) {
		if (x->elem[c] == CPU_NOSLOT)
			continue;
		uint32_t *d = cpu_u32(w, x->elem[c]);
		CPU_LANES(l, mask, d[l] = result[c][l]);
	}
	return CPU_OK;
}

/* ---- surfaces ------------------------------------------------------------------------ */

/* The address of a lane's access, 0 where there is none (.zero); false: a fault was raised. */
static bool surface_at(struct cpu_warp *w, const struct cpu_inst *in, const struct cpu_texture *t,
		       unsigned l, uint32_t bytes, uint64_t *out)
{
	const struct tex_aux *x = in->aux;
	uint64_t size[3] = {t->width * cpu_texel_bytes(t), t->height, t->depth};
	uint64_t pitch[3] = {1, t->pitch, t->slice};
	uint64_t at = t->address;
	int64_t i[3] = {0, 0, 0};

	for (unsigned d = 0; d < x->dims; d++)
		i[d] = (int32_t)cpu_u32(w, x->at[d])[l];
	if (x->is_layered)
		i[2] = (int32_t)cpu_u32(w, x->layer)[l];
	for (unsigned d = 0; d < 3; d++) {
		int64_t n = size[d] ? (int64_t)size[d] : 1, need = d ? 1 : (int64_t)bytes;
		bool is_inside = i[d] >= 0 && i[d] <= n - need;
		*out = 0;
		if (!is_inside && x->bounds == TRAP) {
			cpu_fault(w, in, l, CPU_FAULT_ADDRESS,
				  "coordinate %lld of dimension %u of a surface, which has %lld",
				  (long long)i[d], d, (long long)n);
			return false;
		}
		if (!is_inside && (x->bounds == ZERO || n < need))
			return true;
		i[d] = i[d] < 0 ? 0 : is_inside ? i[d] : n - need;
		at += (uint64_t)i[d] * pitch[d];
	}
	if (at % bytes) {
		cpu_fault(w, in, l, CPU_FAULT_MISALIGNED,
			  "byte %lld of a surface's row for %u bytes", (long long)i[0], bytes);
		return false;
	}
	*out = at;
	return true;
}

static void move_element(struct cpu_warp *w, const struct tex_aux *x, unsigned c, unsigned l,
			 uint8_t *p)
{
	uint64_t v = 0;

	if (x->is_store) {
		v = x->width == 8   ? cpu_u64(w, x->elem[c])[l]
		    : x->width == 4 ? cpu_u32(w, x->elem[c])[l]
				    : cpu_u16(w, x->elem[c])[l];
		if (p)
			memcpy(p, &v, x->width);
		return;
	}
	if (p)
		memcpy(&v, p, x->width);
	if (x->elem[c] == CPU_NOSLOT)
		return;
	if (x->width == 8)
		cpu_u64(w, x->elem[c])[l] = v;
	else if (x->width == 4)
		cpu_u32(w, x->elem[c])[l] = (uint32_t)v;
	else
		cpu_u16(w, x->elem[c])[l] = (uint16_t)v;
}

static enum cpu_step exec_surface(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask)
{
	const struct tex_aux *x = in->aux;
	uint32_t bytes = (uint32_t)x->width * x->nelems, there = 0;
	uint64_t addr[CPU_WARP] = {0};
	struct cpu_acc acc = {.kind = x->is_store ? CPU_ACC_STORE : CPU_ACC_LOAD,
			      .space = PTX_SPACE_GLOBAL,
			      .sem = PTX_SEM_WEAK,
			      .proxy = PTX_PROXY_TEX};

	for (uint32_t left = mask, now; left; left &= ~now) {
		now = same_object(cpu_u64(w, x->object), left);
		const struct cpu_texture *t = object_of(w, in, now, true);
		if (!t)
			return CPU_FAULTED;
		CPU_EACH_LANE (l, now) {
			if (!surface_at(w, in, t, l, bytes, &addr[l]))
				return CPU_FAULTED;
			there |= (uint32_t)(addr[l] != 0) << l;
		}
	}
	if (there && cpu_event_takes(w, in))
		cpu_event_access(w, in, &acc, there, addr, bytes);
	CPU_EACH_LANE (l, mask) {
		uint8_t *p = NULL;
		if (there >> l & 1) {
			p = cpu_resolve(w, in, l,
					&(struct cpu_range){.space = PTX_SPACE_GLOBAL,
							    .addr = addr[l],
							    .bytes = bytes,
							    .is_write = x->is_store});
			if (!p)
				return CPU_FAULTED;
			if (x->is_store)
				cpu_model_bypass(w, l, p, bytes);
		}
		for (unsigned c = 0; c < x->nelems; c++)
			move_element(w, x, c, l, p ? p + c * x->width : NULL);
		if (p && x->is_store && cpu_model_has_ids(w))
			cpu_ids_mark(w->grid->m->events, p, bytes, 0);
	}
	return CPU_OK;
}

/* ---- binding --------------------------------------------------------------------------- */

static bool bind_geometry(const struct ptx_form *f, struct tex_aux *x)
{
	static const struct {
		uint16_t mod;
		uint8_t dims;
		bool is_layered;
	} known[] = {
		{PTX_MOD_N1D, 1, false}, {PTX_MOD_N2D, 2, false}, {PTX_MOD_N3D, 3, false},
		{PTX_MOD_A1D, 1, true},	 {PTX_MOD_A2D, 2, true},
	};

	for (unsigned i = 0; i < BASE_COUNTOF(known); i++)
		if (ptx_form_has(f, (enum ptx_mod)known[i].mod)) {
			x->dims = known[i].dims;
			x->is_layered = known[i].is_layered;
			return true;
		}
	return false;
}

/* [object, {coordinates}] */
static bool bind_place(struct cpu_dec *d, const struct ptx_opnd *op, struct tex_aux *x)
{
	struct ptx_opnd at[5];

	if (op->kind != PTX_OPND_ADDR || op->nsub != 2 || op->sub[0].kind != PTX_OPND_REG)
		return false;
	unsigned n = cpu_dec_elems(d, &op->sub[1], at, 5), k = 0;
	if (n < (unsigned)x->dims + x->is_layered)
		return false;
	x->object = cpu_dec_src(d, &op->sub[0], PTX_TYPE_B64);
	if (x->is_layered)
		x->layer = cpu_dec_src(d, &at[k++], PTX_TYPE_U32);
	for (unsigned i = 0; i < x->dims; i++)
		x->at[i] = cpu_dec_src(d, &at[k++], x->is_int ? PTX_TYPE_S32 : PTX_TYPE_F32);
	return true;
}

static bool bind_elems(struct cpu_dec *d, const struct ptx_opnd *op, struct tex_aux *x,
		       enum ptx_type type)
{
	struct ptx_opnd elem[8];
	unsigned n = cpu_dec_elems(d, op, elem, 8);

	if (n != x->nelems)
		return false;
	for (unsigned i = 0; i < n; i++)
		x->elem[i] =
			x->is_store ? cpu_dec_src(d, &elem[i], type) : cpu_dec_dst(d, &elem[i]);
	return true;
}

static enum cpu_bound bind_fetch(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	static const enum ptx_mod components[] = {PTX_MOD_R, PTX_MOD_G, PTX_MOD_B, PTX_MOD_A};
	const struct ptx_form *f = s->form;
	struct tex_aux *x = cpu_dec_alloc(d, sizeof(*x));
	unsigned extra = ptx_form_has(f, PTX_MOD_LEVEL) + 2u * ptx_form_has(f, PTX_MOD_GRAD);

	x->is_gather = f->op == PTX_OP_TLD4;
	for (uint8_t i = 0; x->is_gather && i < BASE_COUNTOF(components); i++)
		if (ptx_form_has(f, components[i]))
			x->component = i;
	if (f->has_unknown_mod || !bind_geometry(f, x) || (x->is_gather && x->dims != 2))
		return cpu_dec_unsupported(d, in, "a texture of this geometry");
	if (f->ntypes != 2 || (f->types[0] != PTX_TYPE_U32 && f->types[0] != PTX_TYPE_S32 &&
			       f->types[0] != PTX_TYPE_F32))
		return cpu_dec_unsupported(d, in, "a texture fetch of this type");
	x->is_int = f->types[1] == PTX_TYPE_S32;
	x->nelems = 4;
	if (s->nops != 2 + extra)
		return cpu_dec_unsupported(d, in, "a texture fetch with offsets or a comparison");
	if (!bind_place(d, &s->ops[1], x))
		return cpu_dec_unsupported(d, in, "a texture reference or a separate sampler");
	if (!bind_elems(d, &s->ops[0], x, (enum ptx_type)f->types[0]))
		return cpu_dec_unsupported(d, in, "operands of a texture fetch");
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_tex;
	return CPU_BOUND;
}

static enum cpu_bound bind_surface(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	const struct ptx_form *f = s->form;
	struct tex_aux *x = cpu_dec_alloc(d, sizeof(*x));
	unsigned at = f->op == PTX_OP_SUST ? 0 : 1;

	x->is_store = f->op == PTX_OP_SUST;
	x->is_int = true;
	x->bounds = ptx_form_has(f, PTX_MOD_CLAMP)  ? CLAMP
		    : ptx_form_has(f, PTX_MOD_ZERO) ? ZERO
						    : TRAP;
	if (f->has_unknown_mod || !ptx_form_has(f, PTX_MOD_B) || f->ntypes != 1)
		return cpu_dec_unsupported(d, in, "a surface access with conversion");
	if (!bind_geometry(f, x))
		return cpu_dec_unsupported(d, in, "a surface of this geometry");
	x->width = (uint8_t)ptx_type_bytes((enum ptx_type)f->types[0]);
	x->nelems = f->vec ? f->vec : 1;
	if (s->nops != 2 || !bind_place(d, &s->ops[at], x) ||
	    !bind_elems(d, &s->ops[1 - at], x, (enum ptx_type)f->types[0]))
		return cpu_dec_unsupported(d, in, "a surface reference");
	in->aux = x;
	in->flags |= CPU_I_MEMORY;
	in->fn = exec_surface;
	return CPU_BOUND;
}

cpu_binder cpu_bind_texture;

enum cpu_bound cpu_bind_texture(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in)
{
	switch (s->form->op) {
	case PTX_OP_TEX:
	case PTX_OP_TLD4:
		return bind_fetch(d, s, in);
	case PTX_OP_SULD:
	case PTX_OP_SUST:
		return bind_surface(d, s, in);
	case PTX_OP_TXQ:
	case PTX_OP_SUQ:
	case PTX_OP_SURED:
		return cpu_dec_unsupported(d, in, "queries of textures, reductions on surfaces");
	default:
		return CPU_NOT_MINE;
	}
}
