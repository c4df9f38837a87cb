/*
 * prove.h - what the files of `collider prove` share.
 */
#ifndef COLLIDER_CLI_PROVE_H
#define COLLIDER_CLI_PROVE_H

#include "base/option.h"
#include "confirm/confirm.h"
#include "prove/prove.h"

/* prove_launches.c: reads what collider run --record-launches wrote. texts: gets the PTX that it
 * holds, or NULL. Returns 0 or an exit code. */
struct prove_texts {
	const char **v;
	size_t n, cap;
};
int prove_read_launches(const char *path, struct prove_options *o, struct prove_texts *texts,
			struct base_arena *a);
/* Have two of the program's texts different kernels of that (mangled) name? */
bool prove_has_namesake(const struct prove_texts *texts, const char *kernel);
/* prove_run.c: runs the program of the arguments without checks and writes its launches to `path`.
 * Returns 0 or an exit code; how the program ends is said, and is no error. */
struct option_set;
int prove_record(const struct option_set *set, const char *path, struct base_arena *a);

/* "64", "8,8", "[4,2]" into dimensions, the missing ones 1. False: not numbers. */
bool prove_read_dims(const char *s, uint32_t *dim);
/*
 * prove_header.c: what the first lines of a source say, into *o and src->args. Two lines that
 * differ: BASE_EXIT_UNPROVEN, as for other contradictions; what isn't known: BASE_EXIT_INPUT.
 */
int prove_read_header(struct confirm_source *src, struct prove_options *o, struct base_arena *a);
/* The folders that the compiler's options give as a system's. */
void prove_find_system(const struct confirm_source *src, struct prove_options *o,
		       struct base_arena *a);

/*
 * prove_build.c: every .cu file of a compile_commands.json. Calls fn for each with nvcc's options,
 * in its folder, until that returns something else than 0. Returns that, or an exit code.
 */
typedef int prove_file_fn(const char *file, char *const *args, size_t nargs, size_t at, size_t of,
			  void *arg);
int prove_each_file(const char *dir, prove_file_fn *fn, void *arg);

/*
 * prove_optimised.c: asks again about the kernels that aren't proven, and have no true alarm, in
 * the text that nvcc optimises, with a share of their time. Where that is proven, and has each
 * access that matters, *r gets the proof; and so with its true alarms of stores. Else, or where the
 * text can't be read, *r stays as it is. text: as it is written, and optimised; may_prove: what
 * copies accesses was switched off, else only alarms are taken.
 */
struct prove_source_text {
	char *text;
	size_t size;
};
#define PROVE_OPTIMISED_SHARE 10 /* one in so many of a kernel's time limit */
bool prove_wants_optimised(const struct race_proofs *r);
void prove_take_optimised(const char *from, const struct prove_source_text text[2], bool may_prove,
			  const struct prove_options *options, struct race_proofs *r);

/* prove_template.c: a source that includes `source` and uses the instances ("k<float>;..."), in a
 * new file under dir. NULL after saying why not. */
const char *prove_instantiate(const char *source, const char *instances, const char *dir,
			      struct base_arena *a);
/* Adds an entry "not analysed" for each __global__ template of the source of which r has no
 * instance. */
void prove_name_templates(const char *source, struct race_proofs *r);

#endif
