/*
 * forms.c - reads instruction patterns and makes kernels and inputs of them.
 *
 * Each thread loads its inputs from 8-byte cells at in[operand][thread], executes the instruction
 * and stores each result in a cell at out[result][thread]. Inputs depend on the operand's type, its
 * place and the thread only: first all pairs of sixteen special values, then random ones.
 */
#include "forms.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct form_type types[] = {
	{"pred", "pred", 4},   {"b8", "b16", 2},     {"u8", "b16", 2},	    {"s8", "b16", 2},
	{"b16", "b16", 2},     {"u16", "u16", 2},    {"s16", "s16", 2},	    {"b32", "b32", 4},
	{"u32", "u32", 4},     {"s32", "s32", 4},    {"b64", "b64", 8},	    {"u64", "u64", 8},
	{"s64", "s64", 8},     {"f32", "f32", 4},    {"f64", "f64", 8},	    {"f16", "b16", 2},
	{"bf16", "b16", 2},    {"f16x2", "b32", 4},  {"bf16x2", "b32", 4},  {"f32x2", "b64", 8},
	{"e4m3x2", "b16", 2},  {"e5m2x2", "b16", 2}, {"sh", "b32", 4},	    {"lane", "b32", 4},
	{"few", "b32", 4},     {"nf32", "f32", 4},   {"nf64", "f64", 8},    {"nf16x2", "b32", 4},
	{"nbf16x2", "b32", 4}, {"ntf32", "b32", 4},  {"ne4m3x4", "b32", 4}, {"ne5m2x4", "b32", 4},
	{"trig", "f32", 4},    {"key", "b32", 4},    {"key64", "b64", 8},   {"mask", "b32", 4},
};

static bool is_result_letter(char c)
{
	return c >= 'd' && c <= 'h';
}

/* ---- reading ------------------------------------------------------------------ */

static const struct form_type *type_find(const char *s, size_t n)
{
	for (size_t i = 0; i < BASE_COUNTOF(types); i++) {
		if (strlen(types[i].name) == n && !strncmp(types[i].name, s, n))
			return &types[i];
	}
	return NULL;
}

/* Reads "$a0:f32" at p; returns its length, or 0. */
static size_t read_operand(const char *p, struct form_operand *o)
{
	size_t n = 1, m;

	while (isalnum((unsigned char)p[n]) && n < 4)
		n++;
	if (n < 2 || p[n] != ':')
		return 0;
	memset(o->letter, 0, sizeof(o->letter));
	memcpy(o->letter, p + 1, n - 1);
	for (m = n + 1; isalnum((unsigned char)p[m]); m++)
		;
	o->type = type_find(p + n + 1, m - n - 1);
	o->is_result = is_result_letter(p[1]);
	return o->type ? m : 0;
}

static bool add_form(struct form_list *l, const char *text, char kind, uint64_t tolerance,
		     unsigned line, const char *path)
{
	struct form f = {.kind = kind, .tolerance = tolerance, .line = line};

	f.text = base_strdup(&l->arena, text);
	f.hash = base_hash(text, strlen(text), BASE_FNV_INIT);
	for (const char *p = text; *p; p++) {
		struct form_operand o;
		size_t n = *p == '$' ? read_operand(p, &o) : 0;
		if (*p == '$' && !n) {
			fprintf(stderr, "%s:%u: expected $letter:type at '%s'\n", path, line, p);
			return false;
		}
		if (!n)
			continue;
		bool is_known = false;
		for (unsigned i = 0; i < f.noperands; i++)
			is_known |= !strcmp(f.operand[i].letter, o.letter);
		if (!is_known && f.noperands < FORM_OPERANDS) {
			f.operand[f.noperands++] = o;
			f.nresults += o.is_result;
		}
		p += n - 1;
	}
	base_vec_push(&l->forms, f);
	return true;
}

static bool expand(struct form_list *l, const char *text, char kind, uint64_t tolerance,
		   unsigned line, const char *path)
{
	char *s = base_strdup(&l->arena, text);
	char *open = strchr(s, '<');

	if (!open)
		return add_form(l, s, kind, tolerance, line, path);
	char *close = strchr(open, '>');
	if (!close) {
		fprintf(stderr, "%s:%u: '<' without '>'\n", path, line);
		return false;
	}
	*open = *close = 0;
	bool ok = true;
	for (char *p = open + 1; ok;) {
		size_t n = strcspn(p, ",");
		ok = expand(l, base_printf(&l->arena, "%s%.*s%s", s, (int)n, p, close + 1), kind,
			    tolerance, line, path);
		if (!p[n])
			break;
		p += n + 1;
	}
	return ok;
}

bool forms_read(struct form_list *l, const char *path)
{
	char *text, *save = NULL;
	unsigned line = 0;
	size_t size;
	bool ok = true;

	if (base_read_file(path, &text, &size)) {
		fprintf(stderr, "%s: cannot be read\n", path);
		return false;
	}
	for (char *p = text; *p && ok; p = save) {
		size_t n = strcspn(p, "\n");
		save = p + n + (p[n] == '\n');
		p[n] = 0;
		line++;
		if (!strchr("=~^", *p) || !*p)
			continue;
		char *body;
		uint64_t tolerance = strtoull(p + 1, &body, 10);
		body += strspn(body, " ");
		ok = expand(l, body, *p, tolerance, line, path);
	}
	free(text);
	return ok;
}

/* ---- kernels -------------------------------------------------------------------- */

static void emit_loads(const struct form *f, struct base_buf *out)
{
	unsigned cell = 0;

	for (unsigned i = 0; i < f->noperands; i++) {
		const struct form_operand *o = &f->operand[i];
		const char *reg = o->type->reg;
		if (o->is_result)
			continue;
		uint64_t at = 8ull * FORM_THREADS * cell++;
		if (!strcmp(reg, "pred")) {
			base_buf_printf(out, "\tld.global.u32 %%t, [%%in+%llu];\n",
					(unsigned long long)at);
			base_buf_printf(out, "\tsetp.ne.u32 %%_%s, %%t, 0;\n", o->letter);
		} else {
			base_buf_printf(out, "\tld.global.%s %%_%s, [%%in+%llu];\n", reg, o->letter,
					(unsigned long long)at);
		}
	}
}

static void emit_stores(const struct form *f, struct base_buf *out)
{
	unsigned cell = 0;

	for (unsigned i = 0; i < f->noperands; i++) {
		const struct form_operand *o = &f->operand[i];
		const char *reg = o->type->reg;
		if (!o->is_result)
			continue;
		uint64_t at = 8ull * FORM_THREADS * cell++;
		if (!strcmp(reg, "pred")) {
			base_buf_printf(out, "\tselp.u32 %%t, 1, 0, %%_%s;\n", o->letter);
			base_buf_printf(out, "\tst.global.u32 [%%out+%llu], %%t;\n",
					(unsigned long long)at);
		} else {
			base_buf_printf(out, "\tst.global.%s [%%out+%llu], %%_%s;\n", reg,
					(unsigned long long)at, o->letter);
		}
	}
}

/* The instructions with registers for $x:type, each under the guard. */
static void emit_body(const struct form *f, const char *guard, struct base_buf *out)
{
	bool is_block = !strncmp(f->text, "{ ", 2);

	base_buf_printf(out, "\t%s", guard);
	for (const char *p = f->text; *p; p++) {
		struct form_operand o;
		size_t n = *p == '$' ? read_operand(p, &o) : 0;
		if (n) {
			base_buf_printf(out, "%%_%s", o.letter);
			p += n - 1;
			continue;
		}
		base_buf_put(out, p, 1);
		if (*p == ';')
			base_buf_printf(out, " %s", guard);
	}
	base_buf_puts(out, is_block ? "\n" : ";\n");
}

/* Lane 7 alone; of the others some, in no regular pattern, then the rest. */
static void emit_split(const struct form *f, struct base_buf *out)
{
	base_buf_puts(out, "\t.reg .pred %one, %half, %rest;\n\tmul.lo.u32 %t, %i, 0x9e3779b1;\n"
			   "\tsetp.lt.s32 %half, %t, 0;\n\tand.b32 %t, %i, 31;\n"
			   "\tsetp.eq.u32 %one, %t, 7;\n\tor.pred %rest, %half, %one;\n"
			   "\tnot.pred %rest, %rest;\n\txor.pred %half, %rest, %one;\n"
			   "\tnot.pred %half, %half;\n");
	emit_body(f, "@%one ", out);
	emit_body(f, "@%half ", out);
	emit_body(f, "@%rest ", out);
}

static void emit_kernel(const struct form *f, size_t number, bool is_split, struct base_buf *out)
{
	base_buf_printf(out, ".visible .entry form_%zu(.param .u64 in, .param .u64 out)\n{\n",
			number);
	base_buf_puts(out, "\t.reg .b32 %t, %i, %j;\n\t.reg .b64 %in, %out, %o;\n"
			   "\t.shared .align 128 .b8 shared_bytes[4096];\n");
	for (unsigned i = 0; i < f->noperands; i++)
		base_buf_printf(out, "\t.reg .%s %%_%s;\n", f->operand[i].type->reg,
				f->operand[i].letter);
	base_buf_puts(out, "\tmov.u32 %i, %tid.x;\n\tmov.u32 %j, %ctaid.x;\n"
			   "\tmad.lo.u32 %i, %j, 128, %i;\n\tmul.wide.u32 %o, %i, 8;\n"
			   "\tld.param.u64 %in, [in];\n\tadd.u64 %in, %in, %o;\n"
			   "\tld.param.u64 %out, [out];\n\tadd.u64 %out, %out, %o;\n");
	emit_loads(f, out);
	if (is_split && strncmp(f->text, "{ ", 2))
		emit_split(f, out);
	else
		emit_body(f, "", out);
	emit_stores(f, out);
	base_buf_puts(out, "\tret;\n}\n\n");
}

void forms_emit(const struct form_list *l, size_t first, size_t n, struct base_buf *out)
{
	base_buf_puts(out, ".version 8.6\n.target sm_90\n.address_size 64\n\n");
	for (size_t i = first; i < first + n && i < l->forms.n; i++)
		emit_kernel(&l->forms.v[i], i, l->is_split, out);
}

unsigned forms_result_bytes(const struct form *f)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->noperands; i++)
		n += f->operand[i].is_result ? f->operand[i].type->bytes : 0;
	return n;
}

/* ---- inputs ------------------------------------------------------------------------ */

static uint64_t mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static const uint64_t special_int[16] = {0,
					 1,
					 0xffffffffffffffffull,
					 2,
					 0x7fffffff,
					 0x80000000,
					 0x7fff,
					 0x8000,
					 0x7fffffffffffffffull,
					 0x8000000000000000ull,
					 31,
					 32,
					 0x00ff00ff,
					 0x12345678,
					 0xdeadbeefcafebabeull,
					 3};
static const uint32_t special_f32[16] = {0x00000000, 0x80000000, 0x3f800000, 0xbf800000,
					 0x7f800000, 0xff800000, 0x7fc00000, 0xffa00001,
					 0x00000001, 0x807fffff, 0x00800000, 0x7f7fffff,
					 0x3fc00000, 0x4b800001, 0x42f70a3d, 0xc2c80000};
static const uint64_t special_f64[16] = {
	0x0000000000000000ull, 0x8000000000000000ull, 0x3ff0000000000000ull, 0xbff0000000000000ull,
	0x7ff0000000000000ull, 0xfff0000000000000ull, 0x7ff8000000000000ull, 0xfff4000000000001ull,
	0x0000000000000001ull, 0x800fffffffffffffull, 0x0010000000000000ull, 0x7fefffffffffffffull,
	0x3ff8000000000000ull, 0x4340000000000001ull, 0x405edccccccccccdull, 0xc059000000000000ull};
static const uint16_t special_f16[16] = {0x0000, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00,
					 0x7e00, 0xfd01, 0x0001, 0x83ff, 0x0400, 0x7bff,
					 0x3e00, 0x6801, 0x57b7, 0xd640};
static const uint16_t special_bf16[16] = {0x0000, 0x8000, 0x3f80, 0xbf80, 0x7f80, 0xff80,
					  0x7fc0, 0xffa1, 0x0001, 0x807f, 0x0080, 0x7f7f,
					  0x3fc0, 0x4b81, 0x42f7, 0xc2c8};

static uint32_t bits32(float f)
{
	uint32_t u;

	memcpy(&u, &f, 4);
	return u;
}

static uint64_t bits64(double f)
{
	uint64_t u;

	memcpy(&u, &f, 8);
	return u;
}

/* A float between -limit and limit with few digits. */
static double nice(uint64_t r, double limit)
{
	return ((double)(int32_t)(r & 0xffff) - 32768.0) / 32768.0 * limit;
}

/* Eighths from -4 to 4 as f16 or bf16 or smaller formats: sums of products stay exact. */
static uint16_t nice16(uint64_t r, bool is_bf16)
{
	float f = (float)((int)(r % 33) - 16) / 4.0f;
	uint32_t u = bits32(f);

	if (is_bf16)
		return (uint16_t)(u >> 16);
	if (!(u << 1))
		return 0;
	return (uint16_t)((u >> 16 & 0x8000) | ((u >> 23 & 0xff) - 112) << 10 | (u >> 13 & 0x3ff));
}

static uint32_t two(uint16_t lo, uint16_t hi)
{
	return lo | (uint32_t)hi << 16;
}

static uint64_t random_float(const char *name, uint64_t r)
{
	if (!strcmp(name, "f32")) {
		if (r >> 63)
			return bits32((float)nice(r, 1000.0) *
				      (float)ldexp(1, (int)(r >> 20 & 15)));
		return (uint32_t)mix(r);
	}
	if (r >> 63)
		return bits64(nice(r, 1000.0) *
			      ldexp(1 + (double)(r >> 40) * 0x1p-24, (int)(r >> 20 & 15)));
	return mix(r);
}

static uint64_t special(const char *name, unsigned i, uint64_t r)
{
	unsigned j = (unsigned)(r >> 8) & 15;

	if (!strcmp(name, "f32"))
		return special_f32[i];
	if (!strcmp(name, "f64"))
		return special_f64[i];
	if (!strcmp(name, "f16"))
		return special_f16[i];
	if (!strcmp(name, "bf16"))
		return special_bf16[i];
	if (!strcmp(name, "f16x2"))
		return two(special_f16[i], special_f16[j]);
	if (!strcmp(name, "bf16x2"))
		return two(special_bf16[i], special_bf16[j]);
	if (!strcmp(name, "f32x2"))
		return special_f32[i] | (uint64_t)special_f32[j] << 32;
	return special_int[i];
}

/* Values of types that have no special ones; false: another type. */
static bool limited(const char *name, uint64_t r, unsigned thread, uint64_t *v)
{
	if (!strcmp(name, "sh"))
		*v = r % 70;
	else if (!strcmp(name, "lane"))
		*v = r % 40;
	else if (!strcmp(name, "few"))
		*v = r % 5;
	else if (!strcmp(name, "key"))
		*v = r % 3 ? mix(thread / 32) & 0xffff : r % 7;
	else if (!strcmp(name, "key64"))
		*v = r % 3 ? mix(thread / 32) : r % 7;
	else if (!strcmp(name, "mask"))
		*v = 0xffffffff;
	else if (!strcmp(name, "nf32"))
		*v = bits32((float)nice(r, 100.0));
	else if (!strcmp(name, "trig"))
		*v = bits32((float)nice(r, 3.14159265));
	else if (!strcmp(name, "nf64"))
		*v = bits64(nice(r, 100.0));
	else if (!strcmp(name, "ntf32"))
		*v = bits32((float)((int)(r % 65) - 32) / 8.0f);
	else if (!strcmp(name, "nf16x2"))
		*v = two(nice16(r, false), nice16(r >> 20, false));
	else if (!strcmp(name, "nbf16x2"))
		*v = two(nice16(r, true), nice16(r >> 20, true));
	else if (!strcmp(name, "ne4m3x4"))
		*v = (r & 0x87878787u) | 0x30303030u;
	else if (!strcmp(name, "ne5m2x4"))
		*v = (r & 0x83838383u) | 0x38383838u;
	else
		return false;
	return true;
}

uint64_t forms_input(const struct form *f, unsigned operand, unsigned thread)
{
	const struct form_type *t = f->operand[operand].type;
	unsigned place = 0;
	uint64_t r, v;

	for (unsigned i = 0; i < operand; i++)
		place += !f->operand[i].is_result;
	r = mix(thread * 8191ull + place * 131ull + 7);
	if (limited(t->name, r, thread, &v))
		return v;
	if (!strcmp(t->name, "pred"))
		return r & 1;
	unsigned i = place == 0 ? thread & 15 : place == 1 ? thread >> 4 & 15 : (unsigned)r & 15;
	if (thread < FORM_RAW || r >> 62 == 0)
		v = special(t->name, i, r);
	else if (!strcmp(t->name, "f32") || !strcmp(t->name, "f64"))
		v = random_float(t->name, r);
	else
		v = mix(r) >> (r >> 61 == 3 ? 48 : 0);
	return t->bytes == 8 ? v : v & ((1ull << 8 * t->bytes) - 1);
}

/* ---- comparing ---------------------------------------------------------------------- */

/* Orders the bits of a float of `bits` bits like its value. */
static int64_t ordered(uint64_t v, unsigned bits)
{
	uint64_t sign = 1ull << (bits - 1);

	return v & sign ? -(int64_t)(v & (sign - 1)) : (int64_t)v;
}

static bool near(uint64_t want, uint64_t got, unsigned bits, unsigned exponent, uint64_t tolerance)
{
	uint64_t inf = ((1ull << exponent) - 1) << (bits - 1 - exponent);
	uint64_t body = (1ull << (bits - 1)) - 1;
	bool nan_want = (want & body) > inf, nan_got = (got & body) > inf;

	if (nan_want || nan_got)
		return nan_want && nan_got;
	int64_t d = ordered(want, bits) - ordered(got, bits);
	return (d < 0 ? -d : d) <= (int64_t)tolerance;
}

bool forms_match(const struct form *f, const struct form_operand *o, uint64_t want, uint64_t got)
{
	const char *name = o->type->name;

	if (want == got)
		return true;
	if (f->kind == '^') {
		float a, b;
		uint32_t u = (uint32_t)want, v = (uint32_t)got;
		memcpy(&a, &u, 4);
		memcpy(&b, &v, 4);
		return fabsf(a - b) <= (float)f->tolerance * 0x1p-20f * fmaxf(1.0f, fabsf(a));
	}
	if (f->kind != '~')
		return false;
	if (!strcmp(name, "f32"))
		return near(want, got, 32, 8, f->tolerance);
	if (!strcmp(name, "f64"))
		return near(want, got, 64, 11, f->tolerance);
	if (!strcmp(name, "f16"))
		return near(want, got, 16, 5, f->tolerance);
	if (!strcmp(name, "bf16"))
		return near(want, got, 16, 8, f->tolerance);
	if (!strcmp(name, "f16x2"))
		return near(want & 0xffff, got & 0xffff, 16, 5, f->tolerance) &&
		       near(want >> 16, got >> 16, 16, 5, f->tolerance);
	if (!strcmp(name, "bf16x2"))
		return near(want & 0xffff, got & 0xffff, 16, 8, f->tolerance) &&
		       near(want >> 16, got >> 16, 16, 8, f->tolerance);
	return false;
}
