/*
 * library.c - which frames belong to a library, and which line of the program launched a kernel.
 *
 * Library frames are those in headers, or files of Python, below folders with known names. A
 * launch's call chain goes from the runtime through the kernel's stub and, perhaps, through Thrust
 * or CUB to the program: the first frame that is none of these is the one that its programmer
 * wrote.
 *
 * Misses: a library that is not in the table; code without debug information has no file, and is
 * known by the names of its functions only.
 */
#include "race/race.h"

#include <string.h>

struct library {
	const char *part; /* of a header's path */
	const char *name;
};

/* The first that fits counts: CCCL's headers lie below the toolkit's. */
static const struct library libraries[] = {
	{"/cub/", "CUB"},
	{"/thrust/", "Thrust"},
	{"/cuda/std/", "libcu++"},
	{"/cuda/__", "libcu++"},
	{"/libcudacxx/", "libcu++"},
	{"/cooperative_groups", "cooperative groups"},
	{"/cutlass/", "CUTLASS"},
	{"/include/cute/", "CUTLASS"},
	{"/include/crt/", "the toolkit"},
	{"/include/cccl/", "CCCL"},
	{"-linux/include/", "the toolkit"},
	{"/cuda/include/", "the toolkit"},
	{"/bin/../include/", "the toolkit"},  /* nvcc's own, wherever it was unpacked; */
	{"/bin/..//include/", "the toolkit"}, /* as nvcc.profile of the pip package spells it */
	{"/usr/include/", "the system"},
	{"/include/c++/", "C++"},
};

/* Of Python: what lies between a program and the driver, and what its kernels are made of. */
static const struct library packages[] = {
	{"/collider_triton/", "Collider"},
	{"/triton/runtime/", "Triton"},
	{"/triton/compiler/", "Triton"},
	{"/triton/language/", "Triton"},
	{"/triton/backends/", "Triton"},
	{"/triton/testing.py", "Triton"},
	{"/triton/experimental/gluon/", "Triton"},
	{"-packages/numba/", "Numba"},
	{"-packages/numba_cuda/", "Numba"},
	{"-packages/cupy/", "CuPy"},
	{"-packages/cuda/", "CUDA's for Python"},
	{"-packages/torch/", "PyTorch"},
	{"-packages/jax/", "JAX"},
	{"-packages/jaxlib/", "JAX"},
	/* What torch.compile has written. */
	{"/collider/python/", "PyTorch"},
	{"/torchinductor_", "PyTorch"},
};

static bool is_python(const char *file)
{
	size_t n = strlen(file);

	return n > 3 && !strcmp(file + n - 3, ".py");
}

/* Sources of programs lie in folders with such names, too. */
static bool is_header(const char *file)
{
	static const char *const ends[] = {".cu", ".cpp", ".cc", ".c", ".cxx", ".py", ".ptx"};
	const char *base = strrchr(file, '/'), *dot = strrchr(base ? base : file, '.');

	for (size_t i = 0; dot && i < BASE_COUNTOF(ends); i++)
		if (!strcmp(dot, ends[i]))
			return false;
	return true;
}

const char *race_library(const char *file)
{
	for (size_t i = 0; is_python(file) && i < BASE_COUNTOF(packages); i++)
		if (strstr(file, packages[i].part))
			return packages[i].name;
	for (size_t i = 0; is_header(file) && i < BASE_COUNTOF(libraries); i++)
		if (strstr(file, libraries[i].part))
			return libraries[i].name;
	/* /usr/local/cuda-13.0/include */
	const char *cuda = is_header(file) ? strstr(file, "/cuda-") : NULL;
	return cuda && strstr(cuda, "/include/") ? "the toolkit" : NULL;
}

bool race_is_math_table(const char *name, size_t n)
{
	static const char prefix[] = "__cudart_"; /* reserved, as all names that begin with "__" */

	return n >= sizeof(prefix) && !memcmp(name, prefix, sizeof(prefix) - 1);
}

/* ---- launches ------------------------------------------------------------------------ */

/* A function between the program and the runtime, by its name. */
static bool is_between(struct base_arena *a, const char *func, const char *kernel)
{
	/* In a program without debug information the static runtime's functions have one name, of
	 * the archive and a hash. */
	static const char *const parts[] = {
		"device_stub", "cudaLaunch", "__cudart", "libcudart_static_",
		"thrust::",    "cub::",	     "cuda::"};

	for (size_t i = 0; i < BASE_COUNTOF(parts); i++)
		if (strstr(func, parts[i]))
			return true;
	/* The host's function of that name calls the stub: "sum<4>" of "void sum<4>(int*)". */
	return *func && (!strcmp(func, kernel) || !strcmp(func, race_bare_name(a, kernel)));
}

/* The innermost place of a call, which may be inlined into others, that the program owns. */
static bool own_place(struct base_arena *a, const struct race_line *l, const char *kernel,
		      struct race_line *out)
{
	for (size_t i = 0; i <= l->ninlined; i++) {
		const struct race_inlined *in = i ? &l->inlined[i - 1] : NULL;
		const char *func = i < l->ninlined ? l->inlined[i].func : l->func;
		struct race_line at = {.func = func,
				       .file = in ? in->file : l->file,
				       .line = in ? in->line : l->line,
				       .col = in ? in->col : l->col};
		if (race_library(at.file) || is_between(a, race_demangle(a, func), kernel))
			continue;
		*out = at;
		return at.line || *func;
	}
	return false;
}

struct race_line race_launch_place(struct base_arena *a, const struct race_transfer_op *op,
				   const char *kernel)
{
	struct race_line best = {.func = "", .file = ""}, at;

	for (size_t i = 0; i < op->ncalls; i++) {
		const struct race_call *c = &op->calls[i];
		if (strstr(c->module, "/libcudart") || !own_place(a, &c->at, kernel, &at))
			continue;
		if (!*best.func || (at.line && !best.line))
			best = at;
		if (best.line)
			break;
	}
	return best;
}

/* Their kernels come with a runtime that is linked into them. */
static const char *const with_kernels[] = {"libcublas", "libcufft", "libcusparse", "libcusolver",
					   "libcurand", "libcudnn", "libcutensor", "libnccl",
					   "libnvjpeg", "libnpp",   "libnvshmem",  "libcudss",
					   "libnvblas"};

const char *race_kernel_library(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(with_kernels) / sizeof(*with_kernels); i++)
		if (!strncmp(name, with_kernels[i], strlen(with_kernels[i])))
			return name;
	return NULL;
}
