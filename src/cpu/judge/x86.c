/*
 * x86.c - host instructions that touch protected memory, decoded as far as that needs.
 *
 * Understood in full, and done in the handler of the fault: mov, movzx, movsx, the moves of SSE and
 * AVX (vectors of 16 and 32 bytes, scalars of 4 and 8), rep movs and rep stos. Of other
 * instructions with a memory operand the width is found where the opcode says it; they are
 * executed in a single step by the processor. Addresses relative to fs and gs, AVX-512 and legacy modes are
 * left to that, too.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpu/judge/x86.h"

#include <string.h>

#if defined(__x86_64__) && defined(__linux__)
#include <ucontext.h>

static const int gregs[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
			      REG_RSI, REG_RDI, REG_R8,	 REG_R9,  REG_R10, REG_R11,
			      REG_R12, REG_R13, REG_R14, REG_R15};

static uint64_t greg(const ucontext_t *u, unsigned r)
{
	return (uint64_t)u->uc_mcontext.gregs[gregs[r]];
}

/* What comes before the opcode, and which map it is of. */
struct head {
	const uint8_t *p; /* behind the opcode */
	uint8_t op, map;  /* map: 0 one byte, 1 0F */
	bool is_16, is_f2, is_f3, is_lock, is_segment;
	bool has_rex, is_w, is_vex, is_long;
	uint8_t r, x, b; /* 8 or 0 */
};

static bool read_vex(struct head *h)
{
	const uint8_t *p = h->p;
	uint8_t last;

	h->is_vex = true;
	if (h->op == 0xc5) {
		last = p[0];
		h->r = last & 0x80 ? 0 : 8;
		h->map = 1;
		h->p = p + 2;
		h->op = p[1];
	} else {
		h->r = p[0] & 0x80 ? 0 : 8;
		h->x = p[0] & 0x40 ? 0 : 8;
		h->b = p[0] & 0x20 ? 0 : 8;
		h->map = p[0] & 31;
		last = p[1];
		h->is_w = last & 0x80;
		h->p = p + 3;
		h->op = p[2];
	}
	h->is_long = last & 4;
	h->is_16 = (last & 3) == 1;
	h->is_f3 = (last & 3) == 2;
	h->is_f2 = (last & 3) == 3;
	return h->map == 1;
}

static bool read_head(const uint8_t *p, struct head *h)
{
	for (;; p++) {
		if (*p == 0x66)
			h->is_16 = true;
		else if (*p == 0xf2)
			h->is_f2 = true;
		else if (*p == 0xf3)
			h->is_f3 = true;
		else if (*p == 0xf0)
			h->is_lock = true;
		else if (*p == 0x64 || *p == 0x65)
			h->is_segment = true;
		else if (*p != 0x2e && *p != 0x3e && *p != 0x26 && *p != 0x36)
			break;
	}
	if ((*p & 0xf0) == 0x40) {
		h->has_rex = true;
		h->is_w = *p & 8;
		h->r = *p & 4 ? 8 : 0;
		h->x = *p & 2 ? 8 : 0;
		h->b = *p & 1 ? 8 : 0;
		p++;
	}
	h->op = *p++;
	h->p = p;
	if (h->op == 0xc4 || h->op == 0xc5)
		return read_vex(h);
	if (h->op == 0x62)
		return false; /* AVX-512 */
	if (h->op == 0x0f) {
		h->map = 1;
		h->op = *h->p++;
	}
	return !(h->map && (h->op == 0x38 || h->op == 0x3a));
}

/* The operand in memory; `imm` bytes follow it. False: it is a register. */
static bool read_operand(const ucontext_t *u, struct head *h, struct x86_inst *out, unsigned imm)
{
	const uint8_t *p = h->p;
	uint8_t modrm = *p++, mod = modrm >> 6, rm = modrm & 7;
	uint64_t a = 0;
	bool is_relative = false;
	int32_t disp = 0;

	out->reg = (uint8_t)((modrm >> 3 & 7) | h->r);
	if (mod == 3)
		return false;
	if (rm == 4) {
		uint8_t sib = *p++, index = (uint8_t)((sib >> 3 & 7) | h->x);
		if (index != 4)
			a = greg(u, index) << (sib >> 6);
		if ((sib & 7) == 5 && !mod)
			mod = 4; /* a displacement of four bytes, no base */
		else
			a += greg(u, (sib & 7u) | h->b);
	} else if (rm == 5 && !mod) {
		is_relative = true;
		mod = 4;
	} else {
		a = greg(u, rm | h->b);
	}
	if (mod == 1) {
		disp = (int8_t)*p++;
	} else if (mod) {
		memcpy(&disp, p, 4);
		p += 4;
	}
	h->p = p;
	out->length = (uint8_t)(p + imm - (const uint8_t *)(uintptr_t)x86_pc(u));
	out->address = a + (uint64_t)(int64_t)disp + (is_relative ? x86_pc(u) + out->length : 0);
	return true;
}

static uint8_t word_bytes(const struct head *h)
{
	return h->is_w ? 8 : h->is_16 ? 2 : 4;
}

/* ah, ch, dh, bh have the numbers of spl and the others. */
static bool is_high_byte(const struct head *h, uint8_t reg)
{
	return !h->has_rex && reg >= 4 && reg < 8;
}

static unsigned imm_bytes(const struct head *h)
{
	if (h->map)
		return h->op == 0xc2 || h->op == 0xc6 || (h->op >= 0x70 && h->op <= 0x73) ||
		       h->op == 0xc4 || h->op == 0xba || h->op == 0xa4 || h->op == 0xac;
	if (h->op == 0xc7 || h->op == 0x81 || h->op == 0x69)
		return h->is_16 && !h->is_w ? 2 : 4;
	return h->op == 0xc6 || h->op == 0x80 || h->op == 0x83 || h->op == 0x6b || h->op == 0xc0 ||
	       h->op == 0xc1;
}

static void decode_plain(struct head *h, struct x86_inst *out)
{
	uint8_t op = h->op;

	out->bytes = op & 1 ? word_bytes(h) : 1;
	if (op == 0x63)
		out->bytes = 4;
	if (h->is_lock || h->is_segment)
		return;
	if (op == 0x8a || op == 0x8b || op == 0x63) {
		out->move = X86_LOAD;
		out->is_signed = op == 0x63;
		out->reg_bytes = op == 0x63 ? word_bytes(h) : out->bytes;
	} else if (op == 0x88 || op == 0x89) {
		out->move = X86_STORE;
	} else if ((op == 0xc6 || op == 0xc7) && !(out->reg & 7)) {
		int32_t v = 0;
		out->move = X86_STORE_IMM;
		memcpy(&v, h->p, out->bytes < 4 ? out->bytes : 4u);
		out->imm = v;
	}
	if (out->bytes == 1 && op != 0xc6 && is_high_byte(h, out->reg))
		out->move = X86_OTHER;
}

static uint8_t vector_bytes(const struct head *h)
{
	uint8_t op = h->op;

	if (op == 0x6e || (op == 0x7e && !h->is_f3))
		return h->is_w ? 8 : 4;
	if (op == 0xd6 || op == 0x7e || (op >= 0x12 && op <= 0x17))
		return 8;
	if (op != 0x6f && op != 0x7f && h->is_f3)
		return 4;
	if (op != 0x6f && op != 0x7f && h->is_f2)
		return 8;
	return h->is_long ? 32 : 16;
}

static void decode_vector(const struct head *h, struct x86_inst *out)
{
	uint8_t op = h->op;
	bool is_mmx = (op == 0x6f || op == 0x7f || op == 0x6e || op == 0x7e || op == 0xe7) &&
		      !h->is_16 && !h->is_f3;

	out->bytes = vector_bytes(h);
	out->is_vex = h->is_vex;
	if (is_mmx) {
		out->bytes = op == 0x6e || op == 0x7e ? 4 : 8;
		return;
	}
	if (h->is_segment)
		return;
	if (op == 0x10 || op == 0x28 || op == 0x6f || op == 0x6e || (op == 0x7e && h->is_f3))
		out->move = X86_LOAD_VEC;
	if (op == 0x11 || op == 0x29 || op == 0x7f || op == 0xe7 || op == 0x2b || op == 0xd6 ||
	    (op == 0x7e && h->is_16))
		out->move = X86_STORE_VEC;
}

static void decode_0f(struct head *h, struct x86_inst *out)
{
	uint8_t op = h->op;

	if (op == 0xb6 || op == 0xb7 || op == 0xbe || op == 0xbf) {
		out->bytes = op & 1 ? 2 : 1;
		out->reg_bytes = word_bytes(h);
		out->is_signed = op >= 0xbe;
		out->move = h->is_segment ? X86_OTHER : X86_LOAD;
	} else if (op == 0xb0 || op == 0xb1 || op == 0xc0 || op == 0xc1) {
		out->bytes = op & 1 ? word_bytes(h) : 1;
	} else if (op == 0xc3 || (op >= 0x40 && op <= 0x4f) || op == 0xaf) {
		out->bytes = word_bytes(h);
	} else if (op == 0xc7) {
		out->bytes = h->is_w ? 16 : 8; /* cmpxchg8b, 16b */
	} else if ((op >= 0x10 && op <= 0x17) || (op >= 0x28 && op <= 0x2f) ||
		   (op >= 0x50 && op <= 0x7f) || op >= 0xd0 || op == 0xc2 || op == 0xc6) {
		decode_vector(h, out);
	}
}

static bool decode_string(const ucontext_t *u, const struct head *h, struct x86_inst *out)
{
	bool is_copy = h->op == 0xa4 || h->op == 0xa5;
	bool is_backwards = (uint64_t)u->uc_mcontext.gregs[REG_EFL] >> 10 & 1;

	if (!is_copy && h->op != 0xaa && h->op != 0xab)
		return false;
	out->bytes = h->op & 1 ? word_bytes(h) : 1;
	out->address = greg(u, 7);
	out->length = (uint8_t)(h->p - (const uint8_t *)(uintptr_t)x86_pc(u));
	out->is_string_copy = is_copy;
	if (h->is_f3 && !h->is_segment && !is_backwards)
		out->move = X86_STRING;
	return true;
}

bool x86_decode(const void *ucontext, struct x86_inst *out)
{
	const ucontext_t *u = ucontext;
	struct head h = {0};

	memset(out, 0, sizeof(*out));
	if (!read_head((const uint8_t *)(uintptr_t)x86_pc(u), &h))
		return false;
	if (!h.map && decode_string(u, &h, out))
		return true;
	bool has_modrm = h.map || h.op == 0x63 || h.op == 0x69 || h.op == 0x6b ||
			 (h.op < 0x40 && (h.op & 4) == 0) || (h.op >= 0x80 && h.op <= 0x8f) ||
			 h.op == 0xc0 || h.op == 0xc1 || h.op == 0xc6 || h.op == 0xc7 ||
			 (h.op >= 0xd0 && h.op <= 0xd3) || h.op >= 0xf6;
	if (!has_modrm || !read_operand(u, &h, out, imm_bytes(&h)))
		return false;
	if (h.map)
		decode_0f(&h, out);
	else
		decode_plain(&h, out);
	return true;
}

/* The vector register's lower and upper halves; false: the context has no place for what is needed. */
static bool vector_at(ucontext_t *u, const struct x86_inst *in, void **low, void **high)
{
	/* The frame as the kernel writes it: 512 bytes of fxsave, which end in what follows (struct
	 * _fpx_sw_bytes), a header that tells which parts hold something, the upper halves at 576. */
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

/* One access by the processor where the program's would be one. */
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
#endif
