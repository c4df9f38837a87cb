/*
 * launch.c - which launches of a kernel are asked about: its dimensions (check.h).
 *
 * Dimensions that the kernel never reads are 1. One counts as read by where its value goes: what
 * only the inside of a library makes use of (the masks of a tiled partition, the check of a
 * grid.sync()) doesn't count in y and z, or each kernel that calls one would be asked about as if
 * it were written for blocks of several dimensions. What comes out of the library into an address,
 * a branch or a stored value of the program's own code does (thread_rank() as an index); the
 * lane's number in its warp doesn't, as in the special register %laneid.
 */
#include "prove/check.h"

#include <string.h>

const uint32_t launch_limits[6] = {1024, 1024, 64, 2147483647u, 65535, 65535};

uint64_t prove_launch_max_threads(const struct ir *ir)
{
	const uint32_t *m = ir->f->maxntid;

	return m[0] ? (uint64_t)m[0] * (m[1] ? m[1] : 1) * (m[2] ? m[2] : 1) : MAX_BLOCK_THREADS;
}

/* The pointers of a launch that lie in the array of an earlier one; more than EX_MAX_SAME: there
 * are so many. */
static uint32_t same_in(const struct prove_launch *l, struct ex_same *out)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < l->nwords; i++) {
		uint32_t k = 0;
		while (k < i && (!l->word[i].array || l->word[k].array != l->word[i].array))
			k++;
		if (k == i)
			continue;
		if (n < EX_MAX_SAME)
			out[n] = (struct ex_same){l->word[i].off, l->word[k].off,
						  l->word[i].at - l->word[k].at};
		n++;
	}
	return n;
}

static bool has_same_arrays(const struct prove_launch *a, const struct prove_launch *b)
{
	struct ex_same x[EX_MAX_SAME], y[EX_MAX_SAME];
	uint32_t n = same_in(a, x);

	return n <= EX_MAX_SAME && n == same_in(b, y) && !memcmp(x, y, n * sizeof(*x));
}

bool launch_is_alike(const struct prove_launch *a, const struct prove_launch *b)
{
	return !strcmp(a->kernel, b->kernel) && !memcmp(a->dim, b->dim, sizeof(a->dim)) &&
	       has_same_arrays(a, b);
}

bool launch_may_alias(const struct prove_launch *l, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!has_same_arrays(l, &l[i]))
			return true;
	return false;
}

/* What the recorded launches have: one dimension, or the largest of several. */
static void limit_to_launches(const struct prove_options *o, const char *kernel,
			      struct ex_launch *l)
{
	uint32_t lo[6], hi[6] = {0};

	memset(lo, 0xff, sizeof(lo));
	/* launches.c asks about launches of one kernel alone */
	if (o->nlaunches && !strcmp(o->launches[0].kernel, kernel) &&
	    !launch_may_alias(o->launches, o->nlaunches))
		l->nsame = same_in(&o->launches[0], l->same);
	for (size_t i = 0; i < o->nlaunches; i++) {
		for (unsigned d = 0; d < 6 && !strcmp(o->launches[i].kernel, kernel); d++) {
			uint32_t n = o->launches[i].dim[d];
			lo[d] = n < lo[d] ? n : lo[d];
			hi[d] = n > hi[d] ? n : hi[d];
		}
	}
	for (unsigned d = 0; d < 6 && hi[0]; d++) {
		l->dim[d] = lo[d] == hi[d] ? hi[d] : 0;
		l->max[d] = hi[d];
	}
}

void prove_launch_find(const struct ir *ir, const struct prove_options *o, const char *kernel,
		       const struct launch_reads *reads, struct ex_launch *l)
{
	memset(l, 0, sizeof(*l));
	for (unsigned d = 0; d < 6; d++) {
		l->dim[d] = o->dim[d];
		if (d < 3 && !l->dim[d] && ir->f->reqntid[0])
			l->dim[d] = ir->f->reqntid[d] ? ir->f->reqntid[d] : 1;
		if (!l->dim[d] && !reads->is_read[d] && !o->all_launches)
			l->dim[d] = 1;
		l->max[d] = l->dim[d] ? l->dim[d] : launch_limits[d];
		if (d < 3 && !l->dim[d] && prove_launch_max_threads(ir) < l->max[d])
			l->max[d] = (uint32_t)prove_launch_max_threads(ir);
	}
	uint64_t threads = prove_launch_max_threads(ir);
	l->threads = (uint32_t)(threads < MAX_BLOCK_THREADS ? threads : MAX_BLOCK_THREADS);
	if (!ptx_func_attr(ir->f, "reqnctapercluster", l->cluster))
		l->cluster[0] = 0;
	/* a grid that isn't read is one block, as it is for kernels without clusters */
	for (unsigned d = 0; d < 3; d++)
		l->cluster[d] =
			l->cluster[0] && l->cluster[d] && !l->dim[3 + d] ? l->cluster[d] : 1;
	if (o->launches)
		limit_to_launches(o, kernel, l);
}

/* ---- what is read ------------------------------------------------------------------------- */

/* Of a special register: blockDim x y z and threadIdx are 0 to 2, gridDim and blockIdx 3 to 5. */
static unsigned dim_of(uint64_t spec)
{
	bool is_grid = spec / 3 == EX_CTAID_X / 3 || spec / 3 == EX_NCTAID_X / 3;

	return (unsigned)(spec % 3) + (is_grid ? 3 : 0);
}

void prove_launch_reads_of(const struct ir *ir, const struct prove_options *o,
			   struct launch_reads *out)
{
	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < ir->steps.n; i++)
		if (ir->steps.v[i].kind == IR_SPEC)
			out->is_read[dim_of(ir->steps.v[i].imm)] = true;
	bool is_given = o->all_launches || o->launches || !o->tries_many;
	bool *r = out->is_read;
	out->is_one_thread = !is_given && !r[0] && !r[1] && !r[2] && !o->dim[0] &&
			     !ir->f->reqntid[0] && prove_launch_max_threads(ir) > 1;
	out->is_one_block = !is_given && !r[3] && !r[4] && !r[5] && !o->dim[3];
}

/* ---- libraries ---------------------------------------------------------------------------- */

bool prove_launch_is_library(const struct ir *ir, const struct prove_options *o,
			     const struct ptx_stmt *at)
{
	const struct ptx_loc *l = at ? ptx_near_loc(at) : NULL;

	return l && prove_launch_is_library_place(ir, o, l);
}

bool prove_launch_is_library_place(const struct ir *ir, const struct prove_options *o,
				   const struct ptx_loc *l)
{
	struct base_arena tmp = {0};
	bool is = false;

	struct ptx_str name = ptx_file_name(ir->m, l->file);
	const char *file = base_strndup(&tmp, name.p, name.n);
	is = race_library(file) != NULL;
	for (size_t i = 0; i < o->nsystem && !is; i++) {
		size_t n = strlen(o->system[i]);
		is = n && !strncmp(file, o->system[i], n) &&
		     (file[n] == '/' || o->system[i][n - 1] == '/');
	}
	base_arena_free(&tmp);
	return is;
}

/* Does a value depend on a special register, other than by the lane's number? */
static bool depends(const struct ex *v, const struct ex *spec, unsigned char *seen)
{
	bool is_lane = v->op == EX_UREM && v->a[1]->op == EX_CONST && v->a[1]->imm <= 32;

	if (v == spec)
		return true;
	if (v->id < spec->id || is_lane || seen[v->id])
		return false;
	seen[v->id] = 1;
	for (uint32_t i = 0; i < v->n; i++)
		if (depends(v->a[i], spec, seen))
			return true;
	return false;
}

struct use {
	const struct ev *e;
	const struct prove_options *o;
	const struct ex *spec;
	bool is_found;
};

static void look_at(struct use *u, const struct ex *v)
{
	struct base_arena tmp = {0};

	if (v && v->id >= u->spec->id && !u->is_found)
		u->is_found = depends(v, u->spec, base_zalloc(&tmp, v->id + 1u));
	base_arena_free(&tmp);
}

/* Does a special register's value go into an address, a stored value or a branch of own code? */
static bool is_used(const struct ev *e, const struct prove_options *o, unsigned which)
{
	struct use u = {.e = e, .o = o, .spec = prove_ex_spec(e->pool, (enum prove_ex_spec)which)};
	const struct ir *ir = e->ir;

	if (u.spec->op != EX_SPEC)
		return false;
	for (size_t i = 0; i < e->accesses.n && !u.is_found; i++) {
		const struct ev_access *x = &e->accesses.v[i];
		if (prove_launch_is_library(ir, o, x->step->at))
			continue;
		look_at(&u, x->off);
		look_at(&u, x->value);
	}
	for (uint32_t i = 0; i < ir->nrpo && !u.is_found; i++) {
		const struct ir_block *b = &ir->blocks.v[ir->rpo[i]];
		if (b->nsucc > 1 && !prove_launch_is_library(ir, o, b->at))
			look_at(&u, e->cond[ir->rpo[i]]);
	}
	return u.is_found;
}

bool prove_launch_refine(const struct ev *e, const struct prove_options *o,
			 struct launch_reads *reads)
{
	static const unsigned of_dim[6][2] = {{EX_TID_X, EX_NTID_X},	 {EX_TID_Y, EX_NTID_Y},
					      {EX_TID_Z, EX_NTID_Z},	 {EX_CTAID_X, EX_NCTAID_X},
					      {EX_CTAID_Y, EX_NCTAID_Y}, {EX_CTAID_Z, EX_NCTAID_Z}};
	bool is_own[6] = {false}, changed = false;
	const struct ir *ir = e->ir;

	/* of a kernel that is a library's own nothing is known better */
	if (o->all_launches || !ir->f->first || prove_launch_is_library(ir, o, ir->f->first))
		return false;
	for (size_t i = 0; i < ir->steps.n; i++)
		if (ir->steps.v[i].kind == IR_SPEC &&
		    !prove_launch_is_library(ir, o, ir->steps.v[i].at))
			is_own[dim_of(ir->steps.v[i].imm)] = true;
	for (unsigned d = 0; d < 6; d++) {
		if (d % 3 == 0 || !reads->is_read[d] || is_own[d])
			continue;
		if (is_used(e, o, of_dim[d][0]) || is_used(e, o, of_dim[d][1]))
			continue;
		reads->is_read[d] = false;
		changed = true;
	}
	return changed;
}
