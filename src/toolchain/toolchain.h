/*
 * toolchain.h - the front header of src/toolchain: stand-ins for nvcc, cicc, ptxas.
 *
 * nvcc looks for its helpers beside argv[0]. tool_nvcc runs the real nvcc from a cached mirror
 * of the toolkit (symbolic links) in which nvvm/bin/cicc and bin/ptxas are this executable;
 * nvcc then calls tool_cicc, which rewrites the PTX that the real cicc wrote, and tool_ptxas,
 * which rewrites PTX that is not instrumented yet.
 *
 * tool_cc and tool_cxx are apart from that: the host's compilers with their -fsanitize=thread,
 * whose calls src/host answers.
 *
 * The executable must dispatch by the last part of argv[0]: see tool_by_name.
 */
#ifndef COLLIDER_TOOLCHAIN_H
#define COLLIDER_TOOLCHAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Drop-in replacements: same arguments (plus Collider's own, base/options.def), same output,
 * same exit codes as the real tool. They may replace the process by the real tool, so they may
 * not return. BASE_EXIT_ENV without a CUDA toolkit, BASE_EXIT_USAGE for a wrong option of ours.
 *
 * Environment: CUDA_HOME, CUDA_PATH, PATH (where the toolkit is), COLLIDER_DISABLE=1 (the real
 * tool, nothing changed), XDG_CACHE_HOME (the mirror), TMPDIR, COLLIDER_TOOL_OPTIONS (from
 * tool_nvcc to the other two; `sanitize=collide:keep-races:...`, may be set by hand for them).
 */
int tool_nvcc(int argc, char **argv);
int tool_cicc(int argc, char **argv);
int tool_ptxas(int argc, char **argv);

/*
 * The C and C++ compilers (COLLIDER_CC, COLLIDER_CXX; cc and c++), gcc or clang, with checks in
 * host code: same arguments, plus --host-filter=PATTERN,... COLLIDER_DISABLE=1 as above.
 */
int tool_cc(int argc, char **argv);
int tool_cxx(int argc, char **argv);

/*
 * The CUDA toolkit that these would use: its folder and nvcc's version ("13.0.88"), in the arena.
 * False, without a message: there is none.
 */
struct base_arena;
bool tool_kit_show(struct base_arena *a, const char **root, const char **version);

/*
 * The unoptimised PTX of a CUDA source (ptx.c), for analysis. `extra`: options for nvcc. *text is
 * malloc'd. Returns 0, BASE_EXIT_ENV without a toolkit, BASE_EXIT_INPUT when nvcc fails (it says
 * why).
 */
int tool_ptx(const char *source, char *const *extra, size_t nextra, char **text, size_t *size);

/* What tool_ptx puts before these options, where they don't say it: no optimiser, and a target.
 * Words with a space between; a constant. */
const char *tool_ptx_adds(char *const *extra, size_t nextra);

/*
 * Finds accesses of a PTX text that need no check (inst_prune), for --prune. The toolchain knows
 * no prover: main() sets one before it calls a tool. Without one nothing is left out.
 */
struct inst_prunes;
struct tool_prover_job {
	const char *name, *text; /* the file the user knows; the PTX, of `size` bytes */
	size_t size;
	bool wants_global;	    /* --prune=proved-global, or proved-alone */
	bool wants_whole;	    /* kernels of which nothing is left (inst_prune.is_whole) */
	unsigned wall_ms;	    /* what isn't found by then isn't found; 0: any */
	const char *const *kernels; /* those of interest, nkernels; 0: all */
	size_t nkernels;
	/* What launches of these had in common may be taken for granted: a folder, and the text's
	 * hash (race/noted.h); NULL: it isn't. */
	const char *noted_folder;
	uint64_t noted;
};
typedef void tool_prover(const struct tool_prover_job *j, struct inst_prunes *out);
void tool_set_prover(tool_prover *fn);

/*
 * Code that is instrumented as it is loaded (load.c). Not for users: the library in the program's
 * process calls it by the name collider-load.
 */
int tool_load(int argc, char **argv);
/* What `collider run` asks for of that library. */
struct tool_load_asked {
	unsigned detectors; /* a set */
	bool leaves_plain;  /* iguard leaves plain kernels to hirace */
	const char *kernels,
		*others; /* lists of --kernel-name and --kernel-name-exclude, or NULL */
	const char *prune;
	int64_t limit_ms; /* --load-limit */
};
/* That as COLLIDER_TOOL_OPTIONS, NULL with a message if the user's own are wrong; and what the
 * result depends on beside them, of this executable, NULL with a message where there is no CUDA
 * toolkit. */
struct base_arena;
char *tool_load_options(const struct tool_load_asked *asked, struct base_arena *a);
char *tool_load_key(const char *self, struct base_arena *a);
/* For programs that call ptxas themselves: a folder like the toolkit's, with ours in its bin; NULL
 * with a message. And a sum that other options, or another version of ours, change (caller.c). */
char *tool_load_toolkit(struct base_arena *a);
uint64_t tool_load_sum(const char *options, struct base_arena *a);

typedef int tool_main(int argc, char **argv);

/* The tool that a program called `argv0` stands in for: its last part is collider-nvcc,
 * collider-cc, collider-c++, collider-load, cicc, ptxas or collider-ptxas. NULL for any other name
 * (then the program is `collider` itself). */
tool_main *tool_by_name(const char *argv0);

#endif
