/*
 * confirm.h - the front header of src/confirm: alarms of prove, run on the CPU device.
 *
 * prove and cpu don't know each other; this room joins them.
 */
#ifndef COLLIDER_CONFIRM_CONFIRM_H
#define COLLIDER_CONFIRM_CONFIRM_H

#include "base/base.h"
#include "race/proof/proof.h"

/* What the kernels were compiled from. */
struct confirm_source {
	const char *path;
	char *const *args; /* options for nvcc */
	size_t nargs;
	const char *adds; /* those that stood before them, for a shell */
};

/*
 * confirm.c: runs the launches of a kernel's alarms on the CPU device under the oracle, and fills
 * in what they showed. src: NULL where PTX was given; dir: where reproducers go, or NULL.
 */
void confirm_alarms(struct race_proofs *r, const char *text, size_t size,
		    const struct confirm_source *src, const char *dir);
/*
 * The same of potential alarms, in kernels that have no true one, where a race that is found is one
 * within the contract: in a tenth of timeout_ms of processor time, and what the kernel's analysis
 * has left of it. What isn't confirmed stays not tried.
 */
void confirm_potential(struct race_proofs *r, const char *text, size_t size, unsigned timeout_ms);

/* What each pointer of a launch gets. */
#define CONFIRM_ARRAY_BYTES ((size_t)16 << 20)

/* assume.ptx: the functions of collider/assume.h, for a run. */
extern const char confirm_assume_ptx[];

/* reproducer.c: a program for a confirmed alarm, as a new file. False: not written, said why where
 * the reason is the file. */
bool confirm_reproduce(const struct race_proof *k, const struct race_alarm *a,
		       const struct confirm_source *src, const char *path,
		       struct base_arena *arena);

#endif
