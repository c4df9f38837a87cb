/*
 * test_x86.c - instructions of host code: what each accesses, and what doing it elsewhere changes.
 *
 * Each row has an instruction's bytes, as an assembler writes them, and what must come out.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include <ucontext.h>

#include "cpu/arch/x86.h"

#define RAX 0x1000u
#define RBX 0x2000u
#define RCX 3u
#define R9  0x9000u

struct row {
	const char *text;
	const char *code; /* 15 bytes and more are read */
	uint8_t length, move, bytes, reg, reg_bytes;
	bool is_signed;
	uint64_t address;
	int64_t imm;
};

static const struct row rows[] = {
	{"mov (%rbx),%eax", "\x8b\x03", 2, X86_LOAD, 4, 0, 4, false, RBX, 0},
	{"mov 8(%rbx,%rcx,4),%r9", "\x4c\x8b\x4c\x8b\x08", 5, X86_LOAD, 8, 9, 8, false,
	 RBX + 12 + 8, 0},
	{"mov %al,(%rbx)", "\x88\x03", 2, X86_STORE, 1, 0, 1, false, RBX, 0},
	{"mov %spl,(%rbx)", "\x40\x88\x23", 3, X86_STORE, 1, 4, 1, false, RBX, 0},
	{"mov %ah,(%rbx): not done here", "\x88\x23", 2, X86_OTHER, 1, 0, 0, false, RBX, 0},
	{"movw $0xfffe,(%r9)", "\x66\x41\xc7\x01\xfe\xff", 6, X86_STORE_IMM, 2, 0, 0, false, R9,
	 -2},
	{"movslq (%rbx),%rcx", "\x48\x63\x0b", 3, X86_LOAD, 4, 1, 8, true, RBX, 0},
	{"movsbl (%rbx),%ecx", "\x0f\xbe\x0b", 3, X86_LOAD, 1, 1, 4, true, RBX, 0},
	{"movzwl (%rbx),%ecx", "\x0f\xb7\x0b", 3, X86_LOAD, 2, 1, 4, false, RBX, 0},
	{"movups (%rbx),%xmm3", "\x0f\x10\x1b", 3, X86_LOAD_VEC, 16, 3, 0, false, RBX, 0},
	{"movsd %xmm9,(%rbx)", "\xf2\x44\x0f\x11\x0b", 5, X86_STORE_VEC, 8, 9, 0, false, RBX, 0},
	{"vmovdqu (%rbx),%ymm1", "\xc5\xfe\x6f\x0b", 4, X86_LOAD_VEC, 32, 1, 0, false, RBX, 0},
	{"mov %fs:(%rbx),%eax: its base isn't known", "\x64\x8b\x03", 3, X86_OTHER, 4, 0, 0, false,
	 RBX, 0},
	{"lock add %eax,(%rbx)", "\xf0\x01\x03", 3, X86_OTHER, 4, 0, 0, false, RBX, 0},
	{"testl $0x8000,(%rbx)", "\xf7\x03\x00\x80\x00\x00", 6, X86_OTHER, 4, 0, 0, false, RBX, 0},
	{"flds (%rax)", "\xd9\x00", 2, X86_OTHER, 4, 0, 0, false, RAX, 0},
	{"vmovdqu32 (%rbx),%zmm1", "\x62\xf1\x7e\x48\x6f\x0b", 6, X86_OTHER, 64, 0, 0, false, RBX,
	 0},
};

static uint8_t code[64];

static ucontext_t context_of(const char *bytes)
{
	ucontext_t u;
	greg_t *g = u.uc_mcontext.gregs;

	memset(&u, 0, sizeof(u));
	memset(code, 0x90, sizeof(code));
	memcpy(code, bytes, 16);
	g[REG_RAX] = RAX;
	g[REG_RBX] = RBX;
	g[REG_RCX] = RCX;
	g[REG_R9] = R9;
	g[REG_RIP] = (greg_t)(uintptr_t)code;
	return u;
}

static void decoding(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		char bytes[16] = {0};
		struct x86_inst in;

		memcpy(bytes, r->code, r->length);
		ucontext_t u = context_of(bytes);
		if (!x86_decode(&u, &in))
			fail_msg("%s: not understood", r->text);
		if (in.length != r->length || in.move != r->move || in.bytes != r->bytes ||
		    in.address != r->address)
			fail_msg("%s: length %u, move %d, %u bytes at %#lx", r->text, in.length,
				 (int)in.move, in.bytes, (unsigned long)in.address);
		if (r->move == X86_OTHER)
			continue;
		if (in.imm != r->imm || in.is_signed != r->is_signed)
			fail_msg("%s: constant %ld, signed %d", r->text, (long)in.imm,
				 in.is_signed);
		if (r->move != X86_STORE_IMM && in.reg != r->reg)
			fail_msg("%s: register %u", r->text, in.reg);
		if (r->move == X86_LOAD)
			assert_int_equal(in.reg_bytes, r->reg_bytes);
	}
}

static void nothing_in_memory(void **state)
{
	static const char *const codes[] = {"\x48\x8d\x03" /* lea */,
					    "\x89\xd8" /* mov %ebx,%eax */, "\x90" /* nop */,
					    "\x06" /* no instruction */};

	(void)state;
	for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
		char bytes[16] = {0};
		struct x86_inst in;

		strcpy(bytes, codes[i]);
		ucontext_t u = context_of(bytes);
		assert_false(x86_decode(&u, &in));
	}
}

/* A load of 4 bytes clears the upper half, one of 1 byte leaves the rest. */
static void doing(void **state)
{
	uint64_t memory = 0x1122334455667788;
	struct x86_inst in;
	ucontext_t u = context_of("\x8b\x03\0\0\0\0\0\0\0\0\0\0\0\0\0");

	(void)state;
	u.uc_mcontext.gregs[REG_RAX] = -1;
	assert_true(x86_decode(&u, &in));
	assert_true(x86_do(&u, &in, &memory));
	assert_int_equal(u.uc_mcontext.gregs[REG_RAX], 0x55667788);
	assert_int_equal(u.uc_mcontext.gregs[REG_RIP], (greg_t)(uintptr_t)code + 2);
	u = context_of("\x8a\x03\0\0\0\0\0\0\0\0\0\0\0\0\0");
	assert_true(x86_decode(&u, &in));
	assert_true(x86_do(&u, &in, &memory));
	assert_int_equal(u.uc_mcontext.gregs[REG_RAX], RAX | 0x88);
	u = context_of("\xc6\x03\x84\0\0\0\0\0\0\0\0\0\0\0\0");
	assert_true(x86_decode(&u, &in));
	assert_true(x86_do(&u, &in, &memory));
	assert_true(memory == 0x1122334455667784);
}

static void strings(void **state)
{
	struct x86_inst in;
	uint64_t from = 0;
	ucontext_t u = context_of("\xf3\x48\xa5\0\0\0\0\0\0\0\0\0\0\0\0"); /* rep movsq */

	(void)state;
	u.uc_mcontext.gregs[REG_RDI] = 0x5000;
	u.uc_mcontext.gregs[REG_RSI] = 0x6000;
	assert_true(x86_decode(&u, &in));
	assert_int_equal(in.move, X86_STRING);
	assert_true(in.is_string_copy && in.bytes == 8 && in.address == 0x5000);
	assert_int_equal(x86_string_left(&u, &in, &from), 24);
	assert_int_equal(from, 0x6000);
	u.uc_mcontext.gregs[REG_EFL] = 0x400; /* backwards: the processor's */
	assert_true(x86_decode(&u, &in));
	assert_int_equal(in.move, X86_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoding),
		cmocka_unit_test(nothing_in_memory),
		cmocka_unit_test(doing),
		cmocka_unit_test(strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
