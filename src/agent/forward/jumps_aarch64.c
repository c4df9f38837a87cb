/*
 * jumps_aarch64.c - the functions of the driver's library on aarch64 (jumps_x86_64.c explains it).
 *
 * An entry is adrp, ldr and br. x16 and x17 are free between a caller and what it calls.
 */
#include <stdint.h>

#include "agent/forward/forward.h"

/* clang-format off */
	__asm__("	.text\n"
#define LEAD(table, i) \
	"	adrp	x16, " #table "+8*" #i "\n" \
	"	ldr	x16, [x16, :lo12:" #table "+8*" #i "]\n" \
	"	br	x16\n"
#define EXPORT(name, i) \
	"	.globl	" name "\n" \
	"	.type	" name ", @function\n" \
	"	.p2align 4\n" name ":\n" \
	LEAD(forward_table, i) \
	"	.size	" name ", .-" name "\n"
#include "agent/forward/exports.inc"
#undef EXPORT
	"	.hidden	forward_lazy\n"
	"	.globl	forward_lazy\n"
	"forward_lazy:\n"
#define EXPORT(name, i) \
	".Llazy" #i ":\n" \
	"	mov	x17, #" #i "\n" \
	"	b	.Llazy\n"
#include "agent/forward/exports.inc"
#undef EXPORT
	".Llazy:\n"
	"	stp	x29, x30, [sp, #-224]!\n"
	"	mov	x29, sp\n"
	"	stp	x0, x1, [sp, #16]\n"
	"	stp	x2, x3, [sp, #32]\n"
	"	stp	x4, x5, [sp, #48]\n"
	"	stp	x6, x7, [sp, #64]\n"
	"	str	x8, [sp, #80]\n"
	"	stp	q0, q1, [sp, #96]\n"
	"	stp	q2, q3, [sp, #128]\n"
	"	stp	q4, q5, [sp, #160]\n"
	"	stp	q6, q7, [sp, #192]\n"
	"	mov	x0, x17\n"
	"	bl	forward_resolve\n"
	"	mov	x16, x0\n"
	"	ldp	x0, x1, [sp, #16]\n"
	"	ldp	x2, x3, [sp, #32]\n"
	"	ldp	x4, x5, [sp, #48]\n"
	"	ldp	x6, x7, [sp, #64]\n"
	"	ldr	x8, [sp, #80]\n"
	"	ldp	q0, q1, [sp, #96]\n"
	"	ldp	q2, q3, [sp, #128]\n"
	"	ldp	q4, q5, [sp, #160]\n"
	"	ldp	q6, q7, [sp, #192]\n"
	"	ldp	x29, x30, [sp], #224\n"
	"	br	x16\n"
	"	.hidden	forward_lazy_end\n"
	"	.globl	forward_lazy_end\n"
	"forward_lazy_end:\n"
	"	.p2align 5\n"
	".Lcounted:\n"
#define EXPORT(name, i) \
	"	.p2align 5\n" \
	"	adrp	x16, forward_calls\n" \
	"	ldr	w17, [x16, :lo12:forward_calls]\n" \
	"	add	w17, w17, #1\n" \
	"	str	w17, [x16, :lo12:forward_calls]\n" \
	LEAD(.Lcounted_table, i)
#include "agent/forward/exports.inc"
#undef EXPORT
	"	.p2align 5\n"
	".Lcounted_end:\n"
#include "agent/forward/tables.inc"
	"	.text\n"
	"	.globl	dlopen\n"
	"	.type	dlopen, @function\n"
	"	.p2align 4\n"
	"dlopen:\n"
	"	stp	x29, x30, [sp, #-32]!\n"
	"	mov	x29, sp\n"
	"	str	x1, [sp, #16]\n"
	"	bl	forward_dlopen_name\n"
	"	ldr	x1, [sp, #16]\n"
	"	ldp	x29, x30, [sp], #32\n"
	"	adrp	x16, forward_real_dlopen\n"
	"	ldr	x16, [x16, :lo12:forward_real_dlopen]\n"
	"	br	x16\n"
	"	.size	dlopen, .-dlopen\n");
/* clang-format on */

/* adrp x16, PAGE; ldr x16, [x16, #OFFSET] */
#define IS_ADRP(w) (((w)&0x9f00001fu) == 0x90000010u)
#define IS_LDR(w)  (((w)&0xffc003ffu) == 0xf9400210u)

void **forward_slot(const void *entry)
{
	const uint32_t *code = entry;
	uintptr_t at = (uintptr_t)entry & ~(uintptr_t)4095;

	if ((uintptr_t)entry % 16 || !IS_ADRP(code[0]) || !IS_LDR(code[1]))
		return NULL;
	/* The number of pages has its two low bits at 29, the others from 5 on; it is signed. */
	uint32_t pages = (code[0] >> 29 & 3) | (code[0] >> 5 & 0x7ffff) << 2;
	at += (uintptr_t)(((int64_t)pages << 43) >> 43) << 12;
	at += (code[1] >> 10 & 0xfff) * sizeof(void *);
	if (at < (uintptr_t)forward_table || at >= (uintptr_t)forward_table_end)
		return NULL;
	return (void **)at;
}
