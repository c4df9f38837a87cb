/*
 * async.h - inside src/cpu: copies and matrix products under way, shared by the files of this
 * folder; and what an oracle of happens-before needs to know about a copy.
 *
 * A *transfer* is one issued operation that ends later: of many lanes (cp.async, st.async, ...:
 * each lane's part is a copy of its own) or of one (bulk and tensor copies). In the memory model
 * each is a thread of its own: forked by its issuer, joined through its group or its mbarrier. Work
 * is done in pieces by cpu_async_step, between the turns of warps.
 */
#ifndef COLLIDER_CPU_ASYNC_H
#define COLLIDER_CPU_ASYNC_H

#include "cpu/machine.h"
#include "cpu/tmem.h"
#include "ptx/matrix.h"

/* An operation that has ended, of whatever kind; its memory is kept for the next one of its list.
 * In each kind .next comes first, so that a list under way can be freed as one, too. */
struct cpu_kept {
	struct cpu_kept *next;
};

enum cpu_transfer_kind {
	CPU_TR_COPY,   /* cp.async: a part for each lane */
	CPU_TR_ARRIVE, /* cp.async.mbarrier.arrive: when the lane's earlier copies are done */
	CPU_TR_STORE,  /* st.async */
	CPU_TR_RED,    /* red.async */
	CPU_TR_BULK,   /* cp.async.bulk, cp.reduce.async.bulk: one lane */
	CPU_TR_TENSOR  /* cp.async.bulk.tensor, cp.reduce.async.bulk.tensor: one lane */
};

/* How the program learns that a transfer has ended. */
enum cpu_completion {
	CPU_DONE_GROUP,	     /* cp.async.wait_group of the issuing thread */
	CPU_DONE_BULK_GROUP, /* cp.async.bulk.wait_group of the issuing thread */
	CPU_DONE_MBARRIER    /* complete_tx on an mbarrier */
};

/* The operation of a reduction; NONE stores. */
enum cpu_red_op {
	CPU_RED_NONE,
	CPU_RED_ADD,
	CPU_RED_MIN,
	CPU_RED_MAX,
	CPU_RED_INC,
	CPU_RED_DEC,
	CPU_RED_AND,
	CPU_RED_OR,
	CPU_RED_XOR
};

/* Parts of lanes. Shared addresses are those of the cluster (see cpu_shared_canonical). */
struct cpu_lane_parts {
	uint64_t src[CPU_WARP];	    /* COPY: global address */
	uint64_t data[CPU_WARP][2]; /* STORE, RED: the value; up to 16 bytes */
	uint32_t dst[CPU_WARP];
	uint32_t mbar[CPU_WARP]; /* ARRIVE, STORE, RED */
	uint8_t *host[CPU_WARP]; /* COPY: where dst is */
	uint8_t valid[CPU_WARP]; /* COPY: bytes that are read; the rest is zero */
	uint8_t bytes;		 /* of each part */
};

#define CPU_TENSOR_RANK 5u /* at most */
/* Packed types that have 16 elements in 16 bytes of shared memory, as cuda.h numbers them. */
enum { CPU_TENSOR_4X16_P64 = 14, CPU_TENSOR_6X16 = 15 };
/* Swizzles of spans of 128 bytes, whose units are of 32 and 64, as cuda.h numbers them. */
enum { CPU_SWIZZLE_ATOM_32 = 4, CPU_SWIZZLE_ATOM_32_FLIP_8 = 5, CPU_SWIZZLE_ATOM_64 = 6 };

/* The box of a tensor copy, as rows of its innermost dimension. */
struct cpu_tensor_box {
	uint64_t address; /* of element 0 */
	uint64_t strides[4];
	uint64_t dims[5];
	int32_t at[5];	   /* coordinates of the box */
	uint32_t count[5]; /* elements of the box along each dimension; 1 above the rank */
	uint32_t step[5];
	uint32_t bits;	/* of an element, in global memory */
	uint32_t inner; /* bytes of a row, in shared memory */
	uint32_t moved; /* ... in global memory, as it counts for an mbarrier */
	uint32_t pitch; /* between rows in shared memory */
	uint8_t type, swizzle, rank;
	bool is_nan_filled;
	bool is_rows;		    /* of dimension 1 those with the numbers at[1] and on */
	bool is_im2col;		    /* count[1] pixels, along dimensions 1 and on, in the box: */
	int64_t lower[3], upper[3]; /* its first and last coordinates */
	uint32_t offset[3];	    /* added afterwards */
	uint32_t each, halo;	    /* wide: after so many pixels, so many more; each 0: not wide */
};

struct cpu_bulk_part {
	uint64_t src, dst;
	uint8_t src_space, dst_space; /* enum ptx_space; shared ones are SHARED_CLUSTER */
	bool is_store;		      /* tensor: from shared to global memory */
	bool is_staged;		      /* all is read (staged) before anything is written */
	uint16_t byte_mask;	      /* of each 16 bytes, the ones that are written */
	uint32_t mbar;
	uint32_t units, unit;	/* pieces are whole units: 16 bytes, or a row of a tensor's box */
	uint32_t first;		/* the unit that is done first; the others follow, around */
	uint32_t read, written; /* units done */
	uint8_t *buffer;	/* staged bytes, or NULL */
	struct cpu_tensor_box box;
};

struct cpu_site;

struct cpu_transfer {
	struct cpu_transfer *next, *prev; /* of the same warp, in the order of issue */
	struct cpu_warp *warp;		  /* of the issuers */
	const struct cpu_inst *in;
	uint64_t id;			    /* order of issue in the block, from 1 */
	uint32_t index;			    /* in cpu_async.all */
	uint32_t lanes;			    /* issuers */
	uint32_t left;			    /* lanes whose part has not ended */
	uint32_t reading;		    /* lanes whose source is still to be read */
	uint8_t kind, completion, op, type; /* enum ptx_type of a reduction's elements */
	uint32_t group[CPU_WARP];	    /* of each lane's thread, for the two kinds of group */
	const struct cpu_site *site;	    /* events/async.c: NULL when nothing is judged */
	uint32_t actor[CPU_WARP]; /* events/async.c: the pseudo-thread of each lane's part */
	union {
		struct cpu_lane_parts lane;
		struct cpu_bulk_part bulk;
	};
};

/* events/async.c: a part of a group that has ended. */
struct cpu_event_part {
	uint64_t id; /* the transfer's */
	uint32_t actor, group;
	uint8_t lane, completion, kind;
	bool has_arrived; /* on an mbarrier */
};

/* Per warp: its transfers and the groups of its threads. */
struct cpu_async_warp {
	struct cpu_transfer *first, *last;
	uint32_t group[CPU_WARP];	       /* the open group of cp.async */
	uint32_t bulk_group[CPU_WARP];	       /* the open bulk group */
	BASE_VEC(struct cpu_event_part) parts; /* events/async.c: ended, not waited for */
};

/* ---- wgmma.c: matrix products of warpgroups ------------------------------------ */

/* One product, by one instruction of four warps. */
struct cpu_product {
	struct cpu_product *next; /* of the same warpgroup, in the order of issue */
	const struct cpu_inst *in;
	const struct cpu_wgmma *x;
	struct cpu_warp *first; /* of the warpgroup */
	uint64_t desc_a, desc_b;
	uint8_t issued, waited, is_added; /* a bit for each warp */
	bool is_eager, is_stepped, is_done;
	uint16_t depth[4];
	uint32_t group[4];	    /* by warp: of its products */
	struct cpu_site *site;	    /* events/product.c: NULL when nothing is judged */
	uint32_t actor[4];	    /* events/product.c: the pseudo-thread of each share */
	uint32_t meta[4][CPU_WARP]; /* sparse: metadata, as it was at issue */
};

struct cpu_wgmma_group {
	struct cpu_product *first, *last; /* not waited for by all, the oldest first */
	struct cpu_kept *unused;
	uint32_t open[4]; /* by warp: its open group */
};

/* ---- tcgen05.c, tmem.c: tensor memory -------------------------------------------- */

/* An operation of tcgen05 that ends later: a product, a copy, a shift; or a commit. */
struct cpu_tc_op {
	struct cpu_tc_op *next; /* of the same block, in the order of issue */
	struct cpu_warp *warp;
	const struct cpu_inst *in;
	const struct cpu_tc *x;
	uint8_t lane; /* of the issuer */
	bool is_added;
	uint32_t d, a, meta, sfa, sfb; /* addresses in tensor memory */
	uint64_t desc_a, desc_b;
	uint32_t idesc, mask[8];
	struct cpu_tc_shape shape;
	struct cpu_tc_zeros zeros; /* .ws; else no column is zero */
	uint32_t mbar, ctas;	   /* COMMIT: canonical; blocks of the cluster */
	struct cpu_site *site;	   /* events/tmem.c: NULL when nothing is judged */
	uint32_t actor;		   /* events/tmem.c: its pseudo-thread */
	uint64_t after;		   /* events/tmem.c: pipes that it comes after, as bits */
};

/* A block's tensor memory. */
struct cpu_tmem {
	uint32_t (*word)[CPU_TMEM_LANES];	      /* by column */
	uint8_t owner[CPU_TMEM_COLS / CPU_TMEM_UNIT]; /* number of the allocation; 0: free */
	const struct cpu_inst *alloc[CPU_TMEM_COLS / CPU_TMEM_UNIT]; /* by owner - 1 */
	uint8_t blocks;	      /* the cta_group of its first instruction; 0: none yet */
	bool is_relinquished; /* no more allocations */
	uint8_t pair;	      /* cta_group::2: 1 this block's warp waits for the peer's, 2 it met */
	uint32_t pair_cols, pair_at;
	struct cpu_tc_op *first, *last;
	struct cpu_kept *unused;
	struct events_tensor *events; /* events/tmem.c */
};

struct cpu_async {
	struct cpu_transfer **all;
	uint32_t n, cap;
	uint64_t issued;
	struct cpu_kept *unused;
	struct cpu_wgmma_group *groups; /* by warpgroup; NULL: no product yet */
	struct cpu_tmem *tmem;		/* NULL: not used yet */
	struct cpu_async_warp warps[];
};

/* ---- kept.c ---------------------------------------------------------------- */

/* One of the list, or a new one, its content as it is; NULL: no memory. */
void *cpu_kept_take(struct cpu_kept **list, size_t bytes);
void cpu_kept_put(struct cpu_kept **list, void *op);
/* All that begins with `first`. */
void cpu_kept_free(void *first);

/* ---- async.c --------------------------------------------------------------- */

/* The block's, made when it is new; NULL: no memory. */
struct cpu_async *cpu_async_get(struct cpu_cta *cta);
/* A new transfer of the lanes of `mask`, with group and completion set; the caller fills in the
 * rest and calls cpu_async_start. NULL: no memory, a fault was raised. */
struct cpu_transfer *cpu_async_new(struct cpu_warp *w, const struct cpu_inst *in, uint32_t mask,
				   enum cpu_transfer_kind kind, enum cpu_completion completion);
void cpu_async_start(struct cpu_transfer *t);
/* Frees one that was not started. */
void cpu_async_abandon(struct cpu_transfer *t);
/* The lane that a fault of the transfer names. */
static inline unsigned cpu_transfer_lane(const struct cpu_transfer *t)
{
	return t->left ? (unsigned)__builtin_ctz(t->left) : (unsigned)__builtin_ctz(t->lanes);
}

/* An address of .shared::cta, .shared::cluster or (shared) generic as one of .shared::cluster,
 * which means the same in every block of the cluster. */
uint32_t cpu_shared_canonical(const struct cpu_cta *cta, enum ptx_space space, uint64_t addr);

/* ---- bulk.c ------------------------------------------------------------------ */

enum cpu_bound cpu_bind_bulk(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in);
/* How an instruction's transfers are issued. */
struct cpu_bulk_job {
	enum cpu_transfer_kind kind;
	enum cpu_completion completion;
	uint8_t op, type;  /* of a reduction; 0: a copy */
	uint32_t cta_mask; /* slot: one transfer for each block of the mask; CPU_NOSLOT: one */
	bool is_pair;	   /* ... whose mbarrier is that of one block of each pair */
	const char *what;  /* for faults: "a bulk copy" */
};
/* Issues the transfer of lane l, whose part is made except for .first and .buffer. False: a fault
 * was raised. */
bool cpu_bulk_issue(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
		    const struct cpu_bulk_job *job, struct cpu_bulk_part *part);
/* One piece of a bulk or tensor transfer, of a size drawn by k (NULL: all that is left).
 * Returns false when a fault was raised. t->left is 0 when it has ended. */
bool cpu_bulk_advance(struct cpu_worker *k, struct cpu_transfer *t);

/* ---- tensor.c ------------------------------------------------------------------ */

enum cpu_bound cpu_bind_tensor(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in);

/* ---- tensor_rows.c ------------------------------------------------------------- */

/* Reads (or writes) rows [row, row + n) of a tensor's box: global memory on one side, the staging
 * buffer or shared memory on the other. False: a fault was raised. */
bool cpu_tensor_rows(struct cpu_transfer *t, uint32_t row, uint32_t n, bool is_read, bool is_write);

/* ---- reduce.c ------------------------------------------------------------------- */

float cpu_half_to_float(uint16_t h);
/* The operation and type of a form; false: not one that PTX has. */
bool cpu_reduce_find(const struct ptx_form *f, enum cpu_red_op *op, enum ptx_type *type);
/* Combines `bytes` of src into dst (both on the host), element by element, each atomically. */
void cpu_reduce(uint8_t *dst, const uint8_t *src, uint32_t bytes, enum cpu_red_op op,
		enum ptx_type type);

/* ---- mbarrier.c -------------------------------------------------------------------- */

/* A change of an mbarrier; it is atomic. */
struct cpu_mbar_change {
	uint32_t more;	    /* is added to the pending count (cp.async.mbarrier.arrive) */
	int32_t tx;	    /* is added to the tx-count: positive expects, negative completes */
	uint32_t arrive;    /* arrivals */
	uint32_t drop;	    /* is subtracted from the expected count of later phases */
	bool is_incomplete; /* .noComplete: must not end the phase */
};
/* NULL, or what is wrong. *was: the state before, if not NULL. */
const char *cpu_mbarrier_apply(uint8_t *at, const struct cpu_mbar_change *c, uint64_t *was);
/* The same; *ended: did it end the phase? */
const char *cpu_mbarrier_change(uint8_t *at, const struct cpu_mbar_change *c, bool *ended);
/* The same on behalf of a transfer, at a canonical shared address. False: fault raised. */
bool cpu_mbarrier_signal(struct cpu_transfer *t, unsigned lane, uint32_t mbar,
			 const struct cpu_mbar_change *c);

/* ---- tensormap.c --------------------------------------------------------------------- */

/* Our layout of the 128 bytes. */
struct cpu_tensormap {
	uint64_t magic;
	uint64_t address;
	uint64_t strides[4];
	uint32_t dims[5]; /* less 1: a dimension may have 2^32 elements */
	uint16_t box[5];
	uint8_t element_strides[5];
	uint8_t type, rank, interleave, swizzle, l2, fill, is_im2col;
	int16_t lower[3], upper[3];
	uint16_t channels, pixels;
	uint8_t wide;	   /* CPU_TENSOR_WIDE_*; 0: not */
	uint8_t atomicity; /* of tensormap.replace, for a swizzle of 128 bytes */
	uint8_t unused[18];
};
_Static_assert(sizeof(struct cpu_tensormap) == 128, "what cuTensorMapEncode fills");
/* NULL, or what is wrong with the map (replace may have broken it). */
const char *cpu_tensormap_check(const struct cpu_tensormap *tm);
/* On a judge's machine: are these another device's bytes, of which nothing is known? Then a fault
 * was raised that doesn't blame the program. */
bool cpu_tensormap_foreign(struct cpu_warp *w, const struct cpu_inst *in, unsigned l,
			   const void *map, uint64_t addr);
unsigned cpu_tensormap_elem_bits(unsigned type); /* in global memory */
enum cpu_bound cpu_bind_tensormap(struct cpu_dec *d, const struct ptx_stmt *s, struct cpu_inst *in);

/* lanes.c: the lanes of t whose part can be done; does those of `now`. False: one has faulted. */
uint32_t cpu_async_ready_lanes(const struct cpu_transfer *t);
/* The lanes of `mask` without those that store the same tile to the same place as its first one. */
uint32_t cpu_async_distinct(struct cpu_warp *w, uint32_t mask, const uint64_t *map,
			    const uint64_t *shared, const uint32_t *at, unsigned rank);
bool cpu_async_do_lanes(struct cpu_transfer *t, uint32_t now);

/* ---- wgmma.c --------------------------------------------------------------------------- */

/* Is one ready that is executed between turns? */
bool cpu_products_pending(const struct cpu_async *as, uint32_t nwarps);
/* Executes such a one; false: there is none. */
bool cpu_products_step(struct cpu_worker *k, struct cpu_cta *cta);
void cpu_products_free(struct cpu_cta *cta);

/* ---- tcgen05.c, tmem.c ------------------------------------------------------------------- */

/* The block's, made when it is new; NULL: no memory, a fault was raised. */
struct cpu_tmem *cpu_tmem_get(struct cpu_warp *w, const struct cpu_inst *in);
/* Are the columns [at, at + n) allocated? A fault otherwise, with `what`. */
bool cpu_tmem_check(struct cpu_warp *w, const struct cpu_inst *in, unsigned lane,
		    struct cpu_tmem *tm, uint32_t at, uint32_t n, const char *what);
/* All that a block's threads use have one cta_group. False: a fault was raised. */
bool cpu_tmem_group(struct cpu_warp *w, const struct cpu_inst *in, struct cpu_tmem *tm,
		    unsigned blocks);
/* The block beside it in its pair; NULL: there is none. */
struct cpu_cta *cpu_tmem_peer(const struct cpu_cta *cta);
void cpu_tmem_free(struct cpu_cta *cta);
/* Is an operation under way? */
static inline bool cpu_tc_pending(const struct cpu_async *as)
{
	return as->tmem && as->tmem->first;
}
/* Executes the oldest one, all of them. */
void cpu_tc_step(struct cpu_cta *cta);
void cpu_tc_finish(struct cpu_cta *cta);

#endif
