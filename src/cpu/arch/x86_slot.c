/*
 * x86_slot.c - an instruction of host code, executed with its operand at another address.
 *
 * Whatever the instruction does (a read-modify-write, an addition from memory, x87, AVX-512), the
 * processor does it: a copy of the instruction, in which the memory operand is a register that the
 * instruction doesn't use otherwise, is written into a slot, that register holds the other address,
 * and the thread goes on there for one step. So the program's own page stays protected, and no
 * other thread gets past it meanwhile. Of string instructions without an operand in the text rsi or
 * rdi is moved for the step.
 *
 * Not done: call and jmp through memory, division (a fault of its own would show the slot to the
 * program's handler), operands relative to fs and gs, gathers and scatters, and implicit operands
 * of other instructions (xlat, maskmovq). Costs: decoding twice and encoding, some microseconds,
 * beside the two signals of a step.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* mremap */
#endif
#include "cpu/arch/x86.h"
#include "cpu/arch/x86_decoded.h"

#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SLOT_BYTES 4096u

/* One page, mapped twice: to be written, and to be executed. */
static uint8_t *slot_write, *slot_run;

bool x86_slot_make(void)
{
	void *p, *q = MAP_FAILED;

	if (slot_run)
		return true;
	p = mmap(NULL, SLOT_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		q = mremap(p, 0, SLOT_BYTES, MREMAP_MAYMOVE);
	if (q == MAP_FAILED || mprotect(q, SLOT_BYTES, PROT_READ | PROT_EXEC))
		return false;
	slot_write = p;
	slot_run = q;
	return true;
}

/* Numbers of general registers as instructions encode them. */
enum { RSP = 4, RSI = 6, RDI = 7, GENERAL = 16, LEGACY = 8 };

static const int gregs[GENERAL] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
				   REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
				   REG_R12, REG_R13, REG_R14, REG_R15};

/* A general register that only the memory operand uses, or none at all; -1: there is none. */
static int free_register(const struct x86_decoded *d, const ZydisDecodedOperand *m)
{
	unsigned used = 1u << RSP;
	int n = GENERAL;

	for (unsigned i = 0; i < d->inst.operand_count; i++) {
		const ZydisDecodedOperand *o = &d->op[i];
		bool is_stack = o->mem.base == ZYDIS_REGISTER_RSP; /* push and pop */
		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o != m && !is_stack)
			return -1;
		if (o->type != ZYDIS_OPERAND_TYPE_REGISTER)
			continue;
		ZydisRegister r = o->reg.value;
		ZydisRegister all = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
		if (all >= ZYDIS_REGISTER_RAX && all <= ZYDIS_REGISTER_R15)
			used |= 1u << ZydisRegisterGetId(all);
		/* ah and its like exist only without a REX prefix. */
		if (r >= ZYDIS_REGISTER_AH && r <= ZYDIS_REGISTER_BH)
			n = LEGACY;
	}
	for (int i = 0; i < n; i++)
		if (!(used >> i & 1))
			return i;
	return -1;
}

static bool can_run(const struct x86_decoded *d, const ZydisDecodedOperand *m)
{
	return d->inst.meta.branch_type == ZYDIS_BRANCH_TYPE_NONE &&
	       d->inst.mnemonic != ZYDIS_MNEMONIC_DIV && d->inst.mnemonic != ZYDIS_MNEMONIC_IDIV &&
	       m->mem.segment != ZYDIS_REGISTER_FS && m->mem.segment != ZYDIS_REGISTER_GS;
}

/* Is it the same instruction, but for how its memory operand is written? */
static bool is_same(const uint8_t *code, ZyanUSize n, const struct x86_decoded *d)
{
	struct x86_decoded e;

	if (!x86_read(code, &e) || e.inst.length != n || e.inst.mnemonic != d->inst.mnemonic ||
	    e.inst.encoding != d->inst.encoding || e.inst.operand_width != d->inst.operand_width ||
	    (e.inst.attributes ^ d->inst.attributes) & ZYDIS_ATTRIB_HAS_LOCK ||
	    e.inst.operand_count_visible != d->inst.operand_count_visible ||
	    e.inst.avx.mask.reg != d->inst.avx.mask.reg ||
	    e.inst.avx.mask.mode != d->inst.avx.mask.mode ||
	    e.inst.avx.broadcast.mode != d->inst.avx.broadcast.mode ||
	    e.inst.avx.rounding.mode != d->inst.avx.rounding.mode)
		return false;
	for (unsigned i = 0; i < d->inst.operand_count_visible; i++) {
		const ZydisDecodedOperand *a = &e.op[i], *b = &d->op[i];
		if (a->type != b->type || a->size != b->size ||
		    (a->type == ZYDIS_OPERAND_TYPE_REGISTER && a->reg.value != b->reg.value) ||
		    (a->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && a->imm.value.u != b->imm.value.u))
			return false;
	}
	return true;
}

/* The instruction with [r] as its memory operand, in the slot; its length, 0: it can't be. */
static ZyanUSize write_slot(const struct x86_decoded *d, int r)
{
	ZydisEncoderRequest q;
	uint8_t code[ZYDIS_MAX_INSTRUCTION_LENGTH];
	ZyanUSize n = sizeof(code);

	if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
		    &d->inst, d->op, d->inst.operand_count_visible, &q)))
		return 0;
	for (unsigned i = 0; i < q.operand_count; i++) {
		if (q.operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		q.operands[i].mem.base = ZydisRegisterEncode(ZYDIS_REGCLASS_GPR64, (ZyanU8)r);
		q.operands[i].mem.index = ZYDIS_REGISTER_NONE;
		q.operands[i].mem.scale = 0;
		q.operands[i].mem.displacement = 0;
	}
	q.address_size_hint = ZYDIS_ADDRESS_SIZE_HINT_NONE;
	q.prefixes &= ~(ZydisInstructionAttributes)ZYDIS_ATTRIB_HAS_SEGMENT;
	if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstruction(&q, code, &n)))
		return 0;
	/* Traps follow, so that a read past the instruction ends there. */
	memset(slot_write, 0xcc, 4 * sizeof(code));
	memcpy(slot_write, code, n);
	return is_same(slot_run, n, d) ? n : 0;
}

static bool enter_operand(ucontext_t *u, const struct x86_decoded *d, void *at, struct x86_slot *s)
{
	const ZydisDecodedOperand *m = x86_memory_of(d);
	greg_t *g = u->uc_mcontext.gregs;
	int r = m && slot_run && can_run(d, m) ? free_register(d, m) : -1;
	ZyanUSize n = r >= 0 ? write_slot(d, r) : 0;

	if (!n)
		return false;
	s->begin = (uint64_t)(uintptr_t)slot_run;
	s->end = s->begin + n;
	s->reg[0] = gregs[r];
	s->value[0] = (uint64_t)g[gregs[r]];
	s->nregs = 1;
	g[gregs[r]] = (greg_t)(uintptr_t)at;
	g[REG_RIP] = (greg_t)s->begin;
	return true;
}

/* rsi or rdi is moved, whichever is `addr`; the other one may follow by the next fault. */
static bool enter_string(ucontext_t *u, const struct x86_decoded *d, uint64_t addr, void *at,
			 struct x86_slot *s)
{
	greg_t *g = u->uc_mcontext.gregs;

	if (d->inst.address_width != 64 || d->inst.attributes & ZYDIS_ATTRIB_HAS_SEGMENT)
		return false;
	for (unsigned i = 0; i < d->inst.operand_count && s->nregs < 2; i++) {
		const ZydisDecodedOperand *o = &d->op[i];
		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
			continue;
		int reg = o->mem.base == ZYDIS_REGISTER_RSI ? REG_RSI : REG_RDI;
		if ((uint64_t)g[reg] != addr || (s->nregs && s->reg[0] == reg))
			continue;
		s->reg[s->nregs] = reg;
		s->value[s->nregs++] = (uint64_t)(uintptr_t)at - addr;
		g[reg] = (greg_t)(uintptr_t)at;
		return true;
	}
	return false;
}

bool x86_slot_enter(void *ucontext, uint64_t addr, void *at, struct x86_slot *s)
{
	ucontext_t *u = ucontext;
	struct x86_decoded d;
	uint64_t pc = x86_pc(u);

	if (s->begin || !x86_read((const uint8_t *)(uintptr_t)pc, &d))
		return false;
	s->pc = pc;
	s->next = pc + d.inst.length;
	if (d.inst.meta.category == ZYDIS_CATEGORY_STRINGOP)
		return enter_string(u, &d, addr, at, s);
	return !s->nregs && enter_operand(u, &d, at, s);
}

void x86_slot_leave(void *ucontext, struct x86_slot *s)
{
	greg_t *g = ((ucontext_t *)ucontext)->uc_mcontext.gregs;

	for (unsigned i = 0; i < s->nregs; i++)
		g[s->reg[i]] =
			(greg_t)(s->begin ? s->value[i] : (uint64_t)g[s->reg[i]] - s->value[i]);
	if (s->begin && (uint64_t)g[REG_RIP] == s->end)
		g[REG_RIP] = (greg_t)s->next;
	else if (s->begin && (uint64_t)g[REG_RIP] == s->begin)
		g[REG_RIP] = (greg_t)s->pc;
	memset(s, 0, sizeof(*s));
}
