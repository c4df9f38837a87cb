/*
 * reproducer.c - a small program that makes the launch of a confirmed alarm (confirm.h).
 *
 * It includes the source, whose own main() gets another name, and fills the parameter block place
 * by place, as the runtime describes it: scalars with the model's values, pointers with arrays that
 * hold what they held when the alarm was confirmed.
 *
 * Misses: kernels in anonymous namespaces, which a pointer's declaration can't name; structures as
 * parameters are zero.
 */
#include "confirm/confirm.h"
#include "cpu/cpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The parameter's type and number of a demangled name: "void k<4>(float*, int)". */
static const char *signature(const char *shown, const char **args)
{
	const char *name = !strncmp(shown, "void ", 5) ? shown + 5 : shown;
	int depth = 0;

	for (const char *p = name; *p; p++) {
		depth += *p == '<';
		depth -= *p == '>';
		if (*p == '(' && !depth) {
			*args = p;
			return name;
		}
	}
	return NULL;
}

/*
 * The options of collider nvcc that make of the source the code that was confirmed, quoted for a
 * shell. Without checks, since a seed is another schedule in code that has more instructions.
 */
static const char *build_options(struct base_arena *arena, const struct confirm_source *src)
{
	struct base_buf b = {0};

	base_buf_printf(&b, " --sanitize=none%s%s", *src->adds ? " " : "", src->adds);
	for (size_t i = 0; i < src->nargs; i++) {
		base_buf_puts(&b, " '");
		for (const char *p = src->args[i]; *p; p++)
			base_buf_printf(&b, *p == '\'' ? "'\\''" : "%c", *p);
		base_buf_puts(&b, "'");
	}
	const char *text = base_strndup(arena, b.p, b.n);
	base_buf_free(&b);
	return text;
}

/* The launch as tables: scalars, and what arrays hold. */
static void put_launch(struct base_buf *b, const struct race_alarm *a)
{
	base_buf_puts(b, "static const struct { size_t offset, size; unsigned long long value; } "
			 "given[] = {\n");
	for (uint32_t i = 0; i < a->nparams; i++)
		base_buf_printf(b, "\t{%llu, %u, %lluull},\n", (unsigned long long)a->param[i].off,
				a->param[i].bytes, (unsigned long long)a->param[i].value);
	base_buf_puts(b,
		      "\t{~(size_t)0, 0, 0}};\n"
		      "// What arrays hold, by parameter and byte.\n"
		      "static const struct { size_t offset, at, size; unsigned long long value; } "
		      "held[] = {\n");
	for (uint32_t i = 0; a->filled == RACE_FILLED_CONTENTS && i < a->ncontents; i++)
		base_buf_printf(b, "\t{%llu, %llu, %u, %lluull},\n",
				(unsigned long long)a->content[i].param,
				(unsigned long long)a->content[i].at, a->content[i].bytes,
				(unsigned long long)a->content[i].value);
	base_buf_printf(b,
			"\t{~(size_t)0, 0, 0, 0}};\n"
			"static const size_t words = %zu; // of an array\n"
			"static const unsigned factor = %uu, step = %u; // 0, 0: zeros elsewhere\n"
			"static const dim3 grid(%u, %u, %u), threads(%u, %u, %u);\n"
			"static const unsigned shared = %u; // bytes, static and dynamic\n\n",
			CONFIRM_ARRAY_BYTES / 4,
			a->filled == RACE_FILLED_MIXED ? RACE_MIXED_FACTOR : 0,
			a->filled == RACE_FILLED_COUNTED, a->nctaid[0], a->nctaid[1], a->nctaid[2],
			a->ntid[0], a->ntid[1], a->ntid[2], CPU_SHARED_STATIC);
}

static const char functions[] =
	"static void *array_of(size_t offset)\n{\n"
	"\tunsigned *filled = new unsigned[words];\n"
	"\tchar *p;\n\n"
	"\tfor (size_t i = 0; i < words; i++)\n"
	"\t\tfilled[i] = (((unsigned)i + 1) * factor >> 24) + (unsigned)i * step;\n"
	"\tfor (auto &h : held)\n"
	"\t\tif (h.offset == offset)\n"
	"\t\t\tmemcpy((char *)filled + h.at, &h.value, h.size);\n"
	"\tcudaMalloc(&p, words * 4);\n"
	"\tcudaMemcpy(p, filled, words * 4, cudaMemcpyHostToDevice);\n"
	"\tdelete[] filled;\n"
	"\treturn p;\n}\n\n"
	"static void fill(unsigned char *block, size_t offset, size_t size)\n{\n"
	"\tbool is_given = false;\n\n"
	"\tfor (auto &g : given) {\n"
	"\t\tif (g.offset < offset || g.offset >= offset + size)\n\t\t\tcontinue;\n"
	"\t\tmemcpy(block + g.offset, &g.value, g.size);\n"
	"\t\tis_given = true;\n\t}\n"
	"\tif (!is_given && size == 8) {\n"
	"\t\tvoid *p = array_of(offset);\n"
	"\t\tmemcpy(block + offset, &p, sizeof(p));\n\t}\n}\n\n"
	"static int launch(const void *launched)\n{\n"
	"\tcudaFuncAttributes attributes;\n"
	"\tunsigned char block[32768] = {0}; // the most that a kernel takes\n"
	"\tvoid *args[256];\n"
	"\tsize_t offset, size, n = 0;\n\n"
	"\tcudaFuncGetAttributes(&attributes, launched);\n"
	"\twhile (n < 256 && cudaFuncGetParamInfo(launched, n, &offset, &size) == cudaSuccess) {\n"
	"\t\tfill(block, offset, size);\n"
	"\t\targs[n++] = block + offset;\n\t}\n"
	"\tcudaLaunchKernel(launched, grid, threads, args, shared - attributes.sharedSizeBytes, "
	"0);\n"
	"\tprintf(\"%s\\n\", cudaGetErrorString(cudaDeviceSynchronize()));\n"
	"\treturn 0;\n}\n}\n\n";

bool confirm_reproduce(const struct race_proof *k, const struct race_alarm *a,
		       const struct confirm_source *src, const char *path, struct base_arena *arena)
{
	const char *args = NULL, *name = signature(k->name_shown, &args);
	struct base_buf b = {0};
	char *real = realpath(src->path, NULL);

	if (!name || !real || strstr(k->name_shown, "(anonymous")) {
		free(real);
		return false;
	}
	base_buf_printf(&b,
			"// A launch that races, found by collider prove: lines %u and %u.\n"
			"//   collider nvcc%s -o race %s\n"
			"//   collider run --device=cpu --detector=oracle --seed=%u ./race\n"
			"#define main collider_main_of_the_program\n"
			"#include \"%s\"\n"
			"#undef main\n"
			"#include <cstdio>\n#include <cstring>\n\n"
			"namespace collider_reproducer\n{\n",
			a->side[0].line, a->side[1].line, build_options(arena, src), path, a->seed,
			real);
	put_launch(&b, a);
	base_buf_puts(&b, functions);
	base_buf_printf(&b,
			"int main()\n{\n"
			"\tvoid (*kernel)%s = %.*s;\n"
			"\treturn collider_reproducer::launch((const void *)kernel);\n}\n",
			args, (int)(args - name), name);
	int err = base_write_file(path, b.p, b.n);
	if (err)
		base_say("--reproducer: %s: %s", path, strerror(err));
	base_buf_free(&b);
	free(real);
	return !err;
}
