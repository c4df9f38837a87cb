/*
 * x86_decoded.h - an instruction as Zydis decodes it, between x86.c and x86_slot.c.
 */
#ifndef COLLIDER_CPU_ARCH_X86_DECODED_H
#define COLLIDER_CPU_ARCH_X86_DECODED_H

#include <stdbool.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

struct x86_decoded {
	ZydisDecodedInstruction inst;
	ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
};

bool x86_read(const uint8_t *p, struct x86_decoded *d);
/* The explicit memory operand of the instruction, or NULL. */
const ZydisDecodedOperand *x86_memory_of(const struct x86_decoded *d);

#endif
