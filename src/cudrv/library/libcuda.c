/*
 * libcuda.c - the driver's library on the CPU device: names only.
 *
 * Each function jumps to where the table of the runtime's library says (entries.c), which this
 * library needs and finds by its name: it was preloaded before. Nothing is known here of what the
 * functions take. x86-64 only.
 */
#define SLOT(fn) SLOT_##fn

enum {
#define F(fn, name, since)	   SLOT(fn),
#define FP(fn, pt, name, since)	   SLOT(fn), SLOT(pt),
#define A(symbol, fn, name, since) SLOT(symbol),
#define N(fn, name, since)
#define R(fn, name, since)	SLOT(fn),
#define RP(fn, pt, name, since) SLOT(fn), SLOT(pt),
#include "cudrv/entries.def"
};

#define JUMP(fn)                                                                                   \
	__attribute__((visibility("default"), naked)) void fn(void);                               \
	void fn(void)                                                                              \
	{                                                                                          \
		__asm__("endbr64\n\t"                                                              \
			"movq collider_cpu_driver@GOTPCREL(%%rip), %%r11\n\t"                      \
			"jmp *%c0(%%r11)" ::"i"(8 * SLOT(fn)));                                    \
	}

#define F(fn, name, since)	   JUMP(fn)
#define FP(fn, pt, name, since)	   JUMP(fn) JUMP(pt)
#define A(symbol, fn, name, since) JUMP(symbol)
#define N(fn, name, since)
#define R(fn, name, since)	JUMP(fn)
#define RP(fn, pt, name, since) JUMP(fn) JUMP(pt)
#include "cudrv/entries.def"
