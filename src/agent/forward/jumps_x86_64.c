/*
 * jumps_x86_64.c - the functions of the driver's library: each jumps to where the table says.
 *
 * At first that is the lazy half below, which saves what a caller may have put into registers, has
 * the driver opened (forward_resolve fills the whole table) and jumps on. Nothing is known here of
 * what the functions take. A jump costs about 3 ns. jumps_aarch64.c is the same for aarch64.
 *
 * The entry of a function is endbr64 and the jump: forward_slot reads which place of the table
 * that one uses, so names and places may be assigned after linking (complete.c). Of a function
 * whose calls are counted the place leads to the second jump (trampolines.c). dlopen is here, too,
 * as it must leave the caller's frame as it is (dlopen.c).
 */
#include <stdint.h>
#include <string.h>

#include "agent/forward/forward.h"

/* clang-format off */
	__asm__("	.text\n"
#define EXPORT(name, i) \
	"	.globl	" name "\n" \
	"	.type	" name ", @function\n" \
	"	.p2align 4\n" name ":\n" \
	"	endbr64\n" \
	"	jmp	*forward_table+8*" #i "(%rip)\n" \
	"	.size	" name ", .-" name "\n"
#include "agent/forward/exports.inc"
#undef EXPORT
	"	.hidden	forward_lazy\n"
	"	.globl	forward_lazy\n"
	"forward_lazy:\n"
#define EXPORT(name, i) \
	".Llazy" #i ":\n" \
	"	push	$" #i "\n" \
	"	jmp	.Llazy\n"
#include "agent/forward/exports.inc"
#undef EXPORT
	".Llazy:\n"
	"	push	%rdi\n"
	"	push	%rsi\n"
	"	push	%rdx\n"
	"	push	%rcx\n"
	"	push	%r8\n"
	"	push	%r9\n"
	"	push	%rax\n"
	"	sub	$136, %rsp\n"
	"	movups	%xmm0, (%rsp)\n"
	"	movups	%xmm1, 16(%rsp)\n"
	"	movups	%xmm2, 32(%rsp)\n"
	"	movups	%xmm3, 48(%rsp)\n"
	"	movups	%xmm4, 64(%rsp)\n"
	"	movups	%xmm5, 80(%rsp)\n"
	"	movups	%xmm6, 96(%rsp)\n"
	"	movups	%xmm7, 112(%rsp)\n"
	"	mov	192(%rsp), %rdi\n" /* what .LlazyN has pushed */
	"	call	forward_resolve\n"
	"	mov	%rax, %r11\n"
	"	movups	(%rsp), %xmm0\n"
	"	movups	16(%rsp), %xmm1\n"
	"	movups	32(%rsp), %xmm2\n"
	"	movups	48(%rsp), %xmm3\n"
	"	movups	64(%rsp), %xmm4\n"
	"	movups	80(%rsp), %xmm5\n"
	"	movups	96(%rsp), %xmm6\n"
	"	movups	112(%rsp), %xmm7\n"
	"	add	$136, %rsp\n"
	"	pop	%rax\n"
	"	pop	%r9\n"
	"	pop	%r8\n"
	"	pop	%rcx\n"
	"	pop	%rdx\n"
	"	pop	%rsi\n"
	"	pop	%rdi\n"
	"	add	$8, %rsp\n"
	"	jmp	*%r11\n"
	"	.hidden	forward_lazy_end\n"
	"	.globl	forward_lazy_end\n"
	"forward_lazy_end:\n"
	"	.p2align 4\n"
	".Lcounted:\n"
#define EXPORT(name, i) \
	"	.p2align 4\n" \
	"	incl	forward_calls(%rip)\n" \
	"	jmp	*.Lcounted_table+8*" #i "(%rip)\n"
#include "agent/forward/exports.inc"
#undef EXPORT
	"	.p2align 4\n"
	".Lcounted_end:\n"
#include "agent/forward/tables.inc"
	"	.text\n"
	"	.globl	dlopen\n"
	"	.type	dlopen, @function\n"
	"	.p2align 4\n"
	"dlopen:\n"
	"	endbr64\n"
	"	push	%rsi\n"
	"	call	forward_dlopen_name\n"
	"	pop	%rsi\n"
	"	mov	%rax, %rdi\n"
	"	jmp	*forward_real_dlopen(%rip)\n"
	"	.size	dlopen, .-dlopen\n");
/* clang-format on */

#define JUMP_AT 4 /* after endbr64: ff 25, and the distance from its own end */

void **forward_slot(const void *entry)
{
	const unsigned char *p = entry;
	int32_t distance;
	uintptr_t at;

	if (p[JUMP_AT] != 0xff || p[JUMP_AT + 1] != 0x25)
		return NULL;
	memcpy(&distance, p + JUMP_AT + 2, sizeof(distance));
	at = (uintptr_t)p + JUMP_AT + 6 + (uintptr_t)(intptr_t)distance;
	if (at < (uintptr_t)forward_table || at >= (uintptr_t)forward_table_end)
		return NULL;
	return (void **)at;
}
