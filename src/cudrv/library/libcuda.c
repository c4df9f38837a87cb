/*
 * libcuda.c - the driver's library on the CPU device: names only.
 *
 * Each function jumps to where the table of the runtime's library says (entries.c), which this
 * library needs and finds by its name: it was preloaded before. Nothing is known here of what the
 * functions take. The assembler counts the places of the table.
 */
/* clang-format off */
#if defined(__x86_64__)
#define LEAD \
	"	endbr64\n" \
	"	movq	collider_cpu_driver@GOTPCREL(%rip), %r11\n" \
	"	jmp	*8*place(%r11)\n"
#else /* aarch64 */
#define LEAD \
	"	adrp	x16, :got:collider_cpu_driver\n" \
	"	ldr	x16, [x16, :got_lo12:collider_cpu_driver]\n" \
	"	ldr	x16, [x16, #8*place]\n" \
	"	br	x16\n"
#endif

#define JUMP(fn) \
	"	.globl	" #fn "\n" \
	"	.type	" #fn ", @function\n" \
	"	.p2align 4\n" #fn ":\n" LEAD \
	"	.size	" #fn ", .-" #fn "\n" \
	"	.set	place, place+1\n"
/* clang-format on */

#define F(fn, name, since)	   JUMP(fn)
#define FP(fn, pt, name, since)	   JUMP(fn) JUMP(pt)
#define A(symbol, fn, name, since) JUMP(symbol)
#define N(fn, name, since)
#define R(fn, name, since)	JUMP(fn)
#define RP(fn, pt, name, since) JUMP(fn) JUMP(pt)

__asm__("	.text\n"
	"	.set	place, 0\n"
#include "cudrv/entries.def"
);
