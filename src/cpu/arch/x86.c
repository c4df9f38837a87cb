/*
 * x86.c - host instructions that access protected memory: what they access, and their emulation at
 * another address.
 *
 * Zydis decodes them. The handler of the fault emulates mov, movzx, movsx, the moves of SSE and AVX
 * (vectors of 16 and 32 bytes, scalars of 4 and 8), rep movs and rep stos. Other instructions are
 * executed by the processor (x86_slot.c), and so are those relative to fs and gs and those of
 * AVX-512. Nothing here allocates or locks: it runs in a signal handler.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpu/arch/x86.h"

#include "cpu/arch/x86_decoded.h"

#include <string.h>
#include <ucontext.h>

static const int gregs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
			      REG_RSI, REG_RDI, REG_R8,	 REG_R9,  REG_R10, REG_R11,
			      REG_R12, REG_R13, REG_R14, REG_R15};

static uint64_t greg(const ucontext_t *u, unsigned r)
{
	return (uint64_t)u->uc_mcontext.gregs[gregs[r]];
}

/* ---- decoding ----------------------------------------------------------------------------- */

bool x86_read(const uint8_t *p, struct x86_decoded *d)
{
	size_t page = 4096 - ((uintptr_t)p & 4095);
	ZydisDecoder decoder;

	/* The next page is read only if the instruction continues there. */
	for (size_t n = page < ZYDIS_MAX_INSTRUCTION_LENGTH ? page : ZYDIS_MAX_INSTRUCTION_LENGTH;;
	     n = ZYDIS_MAX_INSTRUCTION_LENGTH) {
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		ZyanStatus s = ZydisDecoderDecodeFull(&decoder, p, n, &d->inst, d->op);
		if (s != ZYDIS_STATUS_NO_MORE_DATA || n == ZYDIS_MAX_INSTRUCTION_LENGTH)
			return ZYAN_SUCCESS(s);
	}
}

static bool is_general(ZydisRegister r)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	return c == ZYDIS_REGCLASS_GPR8 || c == ZYDIS_REGCLASS_GPR16 || c == ZYDIS_REGCLASS_GPR32 ||
	       c == ZYDIS_REGCLASS_GPR64;
}

static bool is_high_byte(ZydisRegister r)
{
	return r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH;
}

/* The number of the 64-bit register that it is a part of. */
static uint8_t number_of(ZydisRegister r)
{
	return (uint8_t)ZydisRegisterGetId(
		ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r));
}

static uint64_t address_of(const ucontext_t *u, const struct x86_decoded *d,
			   const ZydisDecodedOperand *m)
{
	uint64_t a = m->mem.disp.has_displacement ? (uint64_t)m->mem.disp.value : 0;

	if (m->mem.base == ZYDIS_REGISTER_RIP || m->mem.base == ZYDIS_REGISTER_EIP)
		a += x86_pc(u) + d->inst.length;
	else if (m->mem.base != ZYDIS_REGISTER_NONE)
		a += greg(u, number_of(m->mem.base));
	if (m->mem.index != ZYDIS_REGISTER_NONE)
		a += greg(u, number_of(m->mem.index)) * m->mem.scale;
	return d->inst.address_width == 32 ? (uint32_t)a : a;
}

const ZydisDecodedOperand *x86_memory_of(const struct x86_decoded *d)
{
	for (unsigned i = 0; i < d->inst.operand_count_visible; i++)
		if (d->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    d->op[i].mem.type == ZYDIS_MEMOP_TYPE_MEM &&
		    d->op[i].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
			return &d->op[i];
	return NULL;
}

static bool is_vector_move(ZydisMnemonic m)
{
	switch (m) {
	case ZYDIS_MNEMONIC_MOVUPS:
	case ZYDIS_MNEMONIC_MOVUPD:
	case ZYDIS_MNEMONIC_MOVAPS:
	case ZYDIS_MNEMONIC_MOVAPD:
	case ZYDIS_MNEMONIC_MOVDQU:
	case ZYDIS_MNEMONIC_MOVDQA:
	case ZYDIS_MNEMONIC_MOVSS:
	case ZYDIS_MNEMONIC_MOVSD:
	case ZYDIS_MNEMONIC_MOVD:
	case ZYDIS_MNEMONIC_MOVQ:
	case ZYDIS_MNEMONIC_MOVNTPS:
	case ZYDIS_MNEMONIC_MOVNTPD:
	case ZYDIS_MNEMONIC_MOVNTDQ:
	case ZYDIS_MNEMONIC_VMOVUPS:
	case ZYDIS_MNEMONIC_VMOVUPD:
	case ZYDIS_MNEMONIC_VMOVAPS:
	case ZYDIS_MNEMONIC_VMOVAPD:
	case ZYDIS_MNEMONIC_VMOVDQU:
	case ZYDIS_MNEMONIC_VMOVDQA:
	case ZYDIS_MNEMONIC_VMOVSS:
	case ZYDIS_MNEMONIC_VMOVSD:
	case ZYDIS_MNEMONIC_VMOVD:
	case ZYDIS_MNEMONIC_VMOVQ:
	case ZYDIS_MNEMONIC_VMOVNTPS:
	case ZYDIS_MNEMONIC_VMOVNTPD:
	case ZYDIS_MNEMONIC_VMOVNTDQ:
		return true;
	default:
		return false;
	}
}

static void decode_vector(const struct x86_decoded *d, ZydisRegister r, bool is_load,
			  struct x86_inst *out)
{
	ZydisRegisterClass c = ZydisRegisterGetClass(r);

	/* AVX-512 has registers and masks that the context keeps elsewhere. */
	if (d->inst.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX ||
	    (c != ZYDIS_REGCLASS_XMM && c != ZYDIS_REGCLASS_YMM))
		return;
	out->reg = (uint8_t)ZydisRegisterGetId(r);
	out->is_vex = d->inst.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX;
	out->move = is_load ? X86_LOAD_VEC : X86_STORE_VEC;
}

/* Moves between memory and a register or constant, which x86_do can do. */
static void decode_move(const struct x86_decoded *d, bool is_load, struct x86_inst *out)
{
	const ZydisDecodedOperand *other = &d->op[is_load ? 0 : 1];
	ZydisMnemonic m = d->inst.mnemonic;
	bool is_extending = m == ZYDIS_MNEMONIC_MOVZX || m == ZYDIS_MNEMONIC_MOVSX ||
			    m == ZYDIS_MNEMONIC_MOVSXD;

	if (is_vector_move(m) && other->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		decode_vector(d, other->reg.value, is_load, out);
		return;
	}
	if (m != ZYDIS_MNEMONIC_MOV && !is_extending)
		return;
	if (other->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		out->move = X86_STORE_IMM;
		out->imm = other->imm.value.s;
		return;
	}
	if (other->type != ZYDIS_OPERAND_TYPE_REGISTER || !is_general(other->reg.value) ||
	    is_high_byte(other->reg.value))
		return;
	out->reg = number_of(other->reg.value);
	out->reg_bytes = (uint8_t)(other->size / 8);
	out->is_signed = is_extending && m != ZYDIS_MNEMONIC_MOVZX;
	out->move = is_load ? X86_LOAD : X86_STORE;
}

/* In bits: of its accesses to memory. */
static unsigned string_width(const struct x86_decoded *d)
{
	for (unsigned i = 0; i < d->inst.operand_count; i++)
		if (d->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return d->op[i].size;
	return 0;
}

static bool decode_string(const ucontext_t *u, const struct x86_decoded *d, struct x86_inst *out)
{
	bool is_backwards = (uint64_t)u->uc_mcontext.gregs[REG_EFL] >> 10 & 1;
	ZydisMnemonic m = d->inst.mnemonic;
	bool is_fill = m == ZYDIS_MNEMONIC_STOSB || m == ZYDIS_MNEMONIC_STOSW ||
		       m == ZYDIS_MNEMONIC_STOSD || m == ZYDIS_MNEMONIC_STOSQ;

	out->is_string = true;
	out->is_string_copy = m == ZYDIS_MNEMONIC_MOVSB || m == ZYDIS_MNEMONIC_MOVSW ||
			      m == ZYDIS_MNEMONIC_MOVSD || m == ZYDIS_MNEMONIC_MOVSQ;
	out->bytes = (uint8_t)(string_width(d) / 8);
	out->address = greg(u, 7);
	if (!is_fill && !out->is_string_copy)
		return true;
	if ((d->inst.attributes & ZYDIS_ATTRIB_HAS_REP) &&
	    !(d->inst.attributes & ZYDIS_ATTRIB_HAS_SEGMENT) && !is_backwards)
		out->move = X86_STRING;
	return true;
}

/* AVX-512's masks, and the instructions of AVX whose mask is a vector. */
static bool is_masked(const struct x86_decoded *d)
{
	ZydisMnemonic m = d->inst.mnemonic;

	return (d->inst.avx.mask.mode != ZYDIS_MASK_MODE_INVALID &&
		d->inst.avx.mask.mode != ZYDIS_MASK_MODE_DISABLED) ||
	       m == ZYDIS_MNEMONIC_VMASKMOVPS || m == ZYDIS_MNEMONIC_VMASKMOVPD ||
	       m == ZYDIS_MNEMONIC_VPMASKMOVD || m == ZYDIS_MNEMONIC_VPMASKMOVQ;
}

bool x86_decode(const void *ucontext, struct x86_inst *out)
{
	const ucontext_t *u = ucontext;
	const ZydisDecodedOperand *m;
	struct x86_decoded d;

	memset(out, 0, sizeof(*out));
	if (!x86_read((const uint8_t *)(uintptr_t)x86_pc(u), &d))
		return false;
	out->length = d.inst.length;
	if (d.inst.meta.category == ZYDIS_CATEGORY_STRINGOP)
		return decode_string(u, &d, out);
	m = x86_memory_of(&d);
	if (!m)
		return false;
	out->address = address_of(u, &d, m);
	out->bytes = m->size / 8 > UINT8_MAX ? 0 : (uint8_t)(m->size / 8);
	out->reads = m->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	out->writes = m->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
	out->is_masked = is_masked(&d);
	bool is_far = m->mem.segment == ZYDIS_REGISTER_FS || m->mem.segment == ZYDIS_REGISTER_GS;
	if (!is_far && !(d.inst.attributes & ZYDIS_ATTRIB_HAS_LOCK) &&
	    d.inst.operand_count_visible == 2)
		decode_move(&d, m == &d.op[1], out);
	return true;
}

/* ---- doing it ------------------------------------------------------------------------------- */

/* The vector register's lower and upper halves; false: the context has no place for what is
 * needed. */
static bool vector_at(ucontext_t *u, const struct x86_inst *in, void **low, void **high)
{
	/* The frame as the kernel writes it: 512 bytes of fxsave, which end in what follows (struct
	 * _fpx_sw_bytes), a header that says which parts hold something, the upper halves at
	 * 576. */
	uint8_t *fp = (uint8_t *)u->uc_mcontext.fpregs;
	uint32_t magic;
	uint64_t has, in_use;

	if (!fp)
		return false;
	memcpy(&magic, fp + 464, 4);
	memcpy(&has, fp + 472, 8);
	memcpy(&in_use, fp + 512, 8);
	*low = fp + 160 + 16 * in->reg;
	*high = fp + 576 + 16 * in->reg;
	if (magic != 0x46505853u)
		return !in->is_vex;
	if (in->is_vex && !(has & 4))
		return false;
	/* Parts that hold nothing read as zero. */
	if (!(in_use & 2))
		memset(fp + 160, 0, 256);
	if (in->is_vex && !(in_use & 4))
		memset(fp + 576, 0, 256);
	in_use |= in->is_vex ? 6 : 2;
	memcpy(fp + 512, &in_use, 8);
	return true;
}

static bool do_vector(ucontext_t *u, const struct x86_inst *in, void *at)
{
	uint8_t v[32] = {0};
	void *low, *high;

	if (!vector_at(u, in, &low, &high))
		return false;
	if (in->move == X86_LOAD_VEC) {
		memcpy(v, at, in->bytes);
		memcpy(low, v, 16);
		if (in->is_vex)
			memcpy(high, v + 16, 16);
		return true;
	}
	memcpy(v, low, 16);
	if (in->bytes > 16)
		memcpy(v + 16, high, 16);
	memcpy(at, v, in->bytes);
	return true;
}

/* One access by the processor wherever the program's would be one. */
static uint64_t load(const void *at, unsigned bytes)
{
	switch (bytes) {
	case 1:
		return *(const volatile uint8_t *)at;
	case 2:
		return *(const volatile uint16_t *)at;
	case 4:
		return *(const volatile uint32_t *)at;
	default:
		return *(const volatile uint64_t *)at;
	}
}

static void store(void *at, unsigned bytes, uint64_t v)
{
	switch (bytes) {
	case 1:
		*(volatile uint8_t *)at = (uint8_t)v;
		break;
	case 2:
		*(volatile uint16_t *)at = (uint16_t)v;
		break;
	case 4:
		*(volatile uint32_t *)at = (uint32_t)v;
		break;
	default:
		*(volatile uint64_t *)at = v;
		break;
	}
}

static void set_register(ucontext_t *u, const struct x86_inst *in, uint64_t v)
{
	greg_t *g = &u->uc_mcontext.gregs[gregs[in->reg]];
	unsigned unused = 64 - 8u * in->bytes;

	if (in->is_signed)
		v = (uint64_t)((int64_t)(v << unused) >> unused);
	if (in->reg_bytes == 8)
		*g = (greg_t)v;
	else if (in->reg_bytes == 4)
		*g = (greg_t)(uint32_t)v;
	else if (in->reg_bytes == 2)
		*g = (greg_t)(((uint64_t)*g & ~0xffffull) | (uint16_t)v);
	else
		*g = (greg_t)(((uint64_t)*g & ~0xffull) | (uint8_t)v);
}

bool x86_do(void *ucontext, const struct x86_inst *in, void *at)
{
	ucontext_t *u = ucontext;

	switch (in->move) {
	case X86_LOAD:
		set_register(u, in, load(at, in->bytes));
		break;
	case X86_STORE:
		store(at, in->bytes, greg(u, in->reg));
		break;
	case X86_STORE_IMM:
		store(at, in->bytes, (uint64_t)in->imm);
		break;
	case X86_LOAD_VEC:
	case X86_STORE_VEC:
		if (!do_vector(u, in, at))
			return false;
		break;
	default:
		return false;
	}
	u->uc_mcontext.gregs[REG_RIP] += in->length;
	return true;
}

uint64_t x86_string_left(const void *ucontext, const struct x86_inst *in, uint64_t *source)
{
	const ucontext_t *u = ucontext;

	*source = greg(u, 6);
	return greg(u, 1) * in->bytes;
}

void x86_string_done(void *ucontext, const struct x86_inst *in, uint64_t bytes, bool is_all)
{
	ucontext_t *u = ucontext;

	u->uc_mcontext.gregs[REG_RDI] += (greg_t)bytes;
	if (in->is_string_copy)
		u->uc_mcontext.gregs[REG_RSI] += (greg_t)bytes;
	u->uc_mcontext.gregs[REG_RCX] -= (greg_t)(bytes / in->bytes);
	if (is_all)
		u->uc_mcontext.gregs[REG_RIP] += in->length;
}

uint64_t x86_string_value(const void *ucontext)
{
	return greg(ucontext, 0);
}

uint64_t x86_pc(const void *ucontext)
{
	return (uint64_t)((const ucontext_t *)ucontext)->uc_mcontext.gregs[REG_RIP];
}

bool x86_is_write(const void *ucontext)
{
	return ((const ucontext_t *)ucontext)->uc_mcontext.gregs[REG_ERR] & 2;
}

void x86_step(void *ucontext, bool is_on)
{
	greg_t *flags = &((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_EFL];

	*flags = is_on ? *flags | 0x100 : *flags & ~0x100ll;
}
