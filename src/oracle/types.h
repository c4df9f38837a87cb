/*
 * types.h - inside the oracle: what its files share. The forms of a word are in form.h.
 *
 * order/   tree.c: persistent tries; clock.c: clocks; patterns.c: releases and acquires;
 *          fence_sc.c: fences and the order of fence.sc; sync.c: barriers, copies, operations
 * shadow/  access.c: accesses by word, race checks; write.c: reads-from, strong writes; split.c: an
 *          access in parts; row.c: plain accesses by row; alike.c: words alike; word.c: records;
 *          spent.c, strong.c: of some; cell.c: where words are, and their memory; forget.c: memory
 *          that is new; late.c, retire.c: what nothing races with; form_*.c: one form each
 * here     oracle.c: actors, events, findings; place.c: where actors are; chain.c: what was seen
 *
 * Epochs. A thread counts its publications: an access has the epoch of its thread, each
 * publication (release, arrival, fork ...) passes on the clock with that epoch and starts the next.
 * X -> Y iff X's epoch <= the clock of Y's thread at X's actor. A thread's own components
 * are kept beside its clock (struct oracle_thread: own, fence), so that threads that have passed
 * one barrier share one clock, even while each of them executes fences.
 */
#ifndef COLLIDER_ORACLE_TYPES_H
#define COLLIDER_ORACLE_TYPES_H

#include "oracle/clock.h"
#include "oracle/form.h"

#include "base/table.h"

/* ---- threads -------------------------------------------------------------------------------- */

/* A publication: the clock at that time, where `actor` has `epoch` and `fence`. */
struct oracle_pub {
	struct oracle_clock *clock; /* NULL: none */
	uint32_t actor, epoch;
	uint32_t fence;	 /* epoch of the actor's last fence.sc, 0: none */
	bool is_arrival; /* at an mbarrier (ORACLE_HANDED) */
};

#define ORACLE_SCOPES 5 /* enum race_scope */

/* What a thread may still complete to a pattern: at one place in memory, or by fences. */
struct oracle_pend {
	uint64_t address;
	uint64_t bytes;
	struct oracle_pub release[ORACLE_SCOPES];    /* by the scope of its first operation */
	struct oracle_clock *acquire[ORACLE_SCOPES]; /* by the scope that the end needs */
};

/* A thread's mbarrier.init: each is performed by a pseudo-thread, so that fence.mbarrier_init can
 * release them alone. */
struct oracle_inits {
	struct oracle_clock *clock; /* NULL: none yet */
	uint32_t last;		    /* the pseudo-thread of the last one */
	struct oracle_pub fenced;   /* what such a fence released, */
	uint8_t scope;		    /* ... and its scope */
};

struct oracle_pends {
	struct oracle_pend fence;
	struct oracle_inits inits;
	BASE_VEC(struct oracle_pend) at;
	struct oracle_place
		*places; /* uthash: where in `at` a place lies; NULL while few are there */
};

struct oracle_thread {
	struct oracle_clock *clock;
	struct oracle_pends *pends;
	uint32_t own;	/* epoch, from 1 */
	uint32_t fence; /* epoch that the last fence.sc published; 0: none */
};

struct oracle_run {
	uint32_t first, n;
};

struct oracle_block {
	uint32_t pseudo, pseudo_end;   /* numbers for its next pseudo-threads */
	struct oracle_thread thread[]; /* stride of the grid */
};

/* Actors of one kind, numbered consecutively. */
#define ORACLE_MISC_GROUP 1024u /* of others than a grid's */
/* Numbers that a block's pseudo-threads get at once: who knows one of them mostly knows all, which
 * is one value in a tree then (tree.c). */
#define ORACLE_MISC_CHUNK 32u

struct oracle_group {
	uint32_t first, n;
	uint32_t shift;	  /* log2 of the stride; grids */
	uint32_t retired; /* of the others: the first ones, since the last time (retire.c) */
	bool is_grid, is_ended, has_fences /* some thread has executed fence.sc */;
	struct oracle_grid grid; /* cluster_of: ours */
	struct oracle_clock *start, *end;
	struct oracle_block **blocks;
	BASE_VEC(struct oracle_run) pseudos; /* its threads' */
	struct oracle_misc *misc;	     /* others */
	struct oracle_sc_log **fences;	     /* by actor; NULL: none yet */
};

enum oracle_misc_kind {
	ORACLE_MISC_PSEUDO,
	ORACLE_MISC_HOST,
	ORACLE_MISC_OP,
	ORACLE_MISC_INIT, /* one mbarrier.init: findings name its thread */
	ORACLE_MISC_NONE  /* not used yet */
};

struct oracle_misc {
	struct oracle_thread thread;
	/* Of a pseudo-thread: fence.sc's (trees) after which its reads, and all its accesses, have
	 * communicated. They pass to a thread that waits for it, unlike those of its issuer. */
	uint64_t read_forced, all_forced;
	uint32_t issuer; /* whose place a pseudo-thread has */
	uint8_t kind;
	bool is_of_warp;   /* oracle_fork_lanes */
	bool is_collector; /* oracle_collect */
};

/* A fence.sc, for those that will be forced after it. */
struct oracle_sc_fence {
	struct oracle_pub pub;
	uint64_t at; /* event: later ones tend to include earlier ones */
	uint8_t scope;
};

struct oracle_sc_log {
	uint32_t actor;
	BASE_VEC(struct oracle_sc_fence) v;
	UT_hash_handle hh;
};

/* Fences in the order of execution: what those of one scope within one container have published. */
struct oracle_sc_sum {
	struct {
		uint64_t scope, level, a, b;
	} key;
	struct oracle_clock *clock;
	UT_hash_handle hh;
};

/* ---- releases -------------------------------------------------------------------------------- */

struct oracle_entry {
	struct oracle_pub pub;
	uint8_t scope;
};

/* What an acquire gets from here: release patterns by their first operation. Those of gpu and sys
 * scope are in `wide`, and joined in `sum` as long as all are of one device. */
struct oracle_release {
	BASE_VEC(struct oracle_entry) wide;
	BASE_VEC(struct oracle_entry) narrow;
	struct oracle_clock *sum;
	uint32_t device;
	bool is_mixed;		   /* of several devices: no sum */
	struct oracle_nears *near; /* of `wide`; NULL: not needed yet */
};

/* ---- writes ---------------------------------------------------------------------------------- */

struct oracle_seen {
	uint32_t actor, epoch;
	uint32_t pos : 31;
	uint32_t is_write : 1; /* by an RMW */
};

#define ORACLE_FEW_SEEN 2u

/* A strong write and the RMWs that follow it in observation order, by position. */
struct oracle_chain {
	uint64_t serial;
	uint32_t refs, live;	  /* live: writes of it that may still be read */
	struct oracle_seen *seen; /* at first `few` */
	uint32_t nseen, cap;
	struct oracle_seen few[ORACLE_FEW_SEEN];
};

/* The place of a strong write in its chain. */
struct oracle_link {
	struct oracle_chain *chain;
	uint32_t pos;
};

/* A strong write that may still be read. */
struct oracle_write {
	uint32_t refs, actor, pos;
	uint8_t scope, proxy;
	uint32_t bytes;
	uint64_t address, id;
	struct oracle_chain *chain;
	struct oracle_release *release; /* NULL: nothing */
};

struct oracle_name {
	uint64_t id;
	struct oracle_write *write;
	UT_hash_handle hh;
};

#define ORACLE_NO_SITE UINT32_MAX

/* ---- shadow ---------------------------------------------------------------------------------- */

/* What accesses have in common, interned. */
struct oracle_site {
	struct {
		const void *inst;
		uint32_t bytes;
		uint8_t kind, strength, scope, proxy, flags, pad[3];
		uint64_t fences; /* tree, held: ORACLE_FENCES before it; of plain ones */
	} a;
	uint32_t index, plain; /* plain: of the same without fences */
	UT_hash_handle hh;
};

/* Accesses to a word that have not been superseded: one actor's, or those of some lanes of a
 * warp. */
struct oracle_rec {
	uint32_t actor; /* lane 0's when mask != 0 */
	uint32_t mask;
	uint32_t epoch;
	uint32_t site;
	uint32_t pos;	/* in a chain: the first lane's; the others follow. Else the last lane */
	uint8_t bytes;	/* mask of the word's bytes */
	int8_t offset;	/* of the access's first byte, from the word; -128: a range */
	uint16_t raced; /* races reported of it */
	struct oracle_chain *chain;
};

/* Lists of a word's accesses. */
enum oracle_class { ORACLE_WRITES /* weak */, ORACLE_READS /* weak */, ORACLE_STRONG };
#define ORACLE_CLASSES 3

#define ORACLE_SPENT_PLACES  7u
#define ORACLE_SPENT_MANY    UINT16_MAX
#define ORACLE_SPENT_UNKNOWN (UINT16_MAX - 1u)

struct oracle_list {
	uint32_t n, cap, compact_at;
	uint32_t has_spent; /* 1: spent.c */
	/* For accesses of these families (and bytes, in the low bits) all are spent, and their
	 * pairs known; 0: none. Dropped when one is added. */
	uint32_t spent_for[2];
	/* Where the spent records are; n may be ORACLE_SPENT_MANY or _UNKNOWN (spent.c). */
	struct {
		uint16_t n, at[ORACLE_SPENT_PLACES];
	} spent;
	/* All are generic and known to this clock; dropped when one is added. */
	struct oracle_clock *known_to;
	struct oracle_rec v[];
};

/* Epochs of fence.sc's by actor: a tree, and that of one actor beside it (fence 0: none). */
struct oracle_past {
	uint64_t tree;
	uint32_t actor, fence;
};

/* Which fence.sc's came before accesses of some bytes, for ORACLE_FORCED. */
struct oracle_fenced {
	uint32_t refs;		       /* bytes */
	struct oracle_past all, write; /* before any access; before the last write */
};

/* What can differ between a word's bytes, or is rare. */
struct oracle_bytes {
	struct oracle_write *from[4];
	struct oracle_fenced *fences[4]; /* NULL: none */
};

struct oracle_ext {
	struct oracle_list *list[ORACLE_CLASSES]; /* NULL: empty */
	struct oracle_write *from;  /* where the bytes' values come from; NULL: a weak write */
	struct oracle_bytes *bytes; /* NULL: all bytes are from `from`, and no fences */
	/* All strong recs are generic, access as many bytes, the same as another or none of its
	 * (same_address_of), and are of gpu or sys scope and one device, or of one block, or all of
	 * sys scope: morally strong with another such access. 0 bytes: not so. */
	uint64_t same_address;
	uint32_t same_bytes : 31, are_sys : 1;
	uint32_t same_place; /* oracle_place_key */
};

/*
 * Reads of the words that share the set. is_mask: by the lanes in `at` of each of the 1 + warps
 * warps from actor on; else word w (number of the word, 32 bits) by actor + ((w - at) >> shift), or
 * by several lanes from actor + ((w - at) << 1 or 2) on.
 */
struct oracle_reader {
	uint32_t actor, epoch, at;
	uint32_t site : ORACLE_SITE_BITS;
	uint32_t warps : 10;
	uint32_t shift : 5;
	uint32_t is_mask : 1;
};

/* Special values of a shift. */
#define ORACLE_ONE_ACTOR 31u /* one for all words */
#define ORACLE_BYTES	 30u /* four lanes a word */
#define ORACLE_HALVES	 29u /* two */

struct oracle_readers {
	uint32_t refs; /* words */
	uint32_t n, cap;
	uint32_t has_nc : 1, is_single : 1 /* of one word: lanes are masks */;
	uint32_t is_packed : 1;	 /* ... each of one lane: in place of v are packed reads */
	uint32_t compact_at : 6; /* log2 of n */
	struct oracle_reader v[];
};

#define ORACLE_PAGE_SHIFT   8
#define ORACLE_PAGE_WORDS   (1u << (ORACLE_PAGE_SHIFT - 2))
#define ORACLE_REGION_SHIFT 14
#define ORACLE_REGION_PAGES (1u << (ORACLE_REGION_SHIFT - ORACLE_PAGE_SHIFT))
#define ORACLE_REGION_CACHE 512u

/* The cells of the words that were accessed, in order; if more than half of the words were, all
 * cells. */
struct oracle_page {
	uint64_t words; /* bits */
	uint64_t pad;	/* no cell lies in two lines of the cache */
	struct oracle_cell cell[];
};

struct oracle_region {
	uint64_t key;
	uint64_t pages; /* bits: those that are there, */
	uint64_t full;	/* ... and that have all cells */
	struct oracle_page *page[ORACLE_REGION_PAGES];
	UT_hash_handle hh;
};

/* Epochs of a copy. */
#define ORACLE_PSEUDO_READ  1u
#define ORACLE_PSEUDO_WRITE 2u

/* ---- barriers, operations -------------------------------------------------------------------- */

struct oracle_part {
	uint32_t warp, mask, epoch, fence;
};

struct oracle_bar {
	struct {
		uint64_t key, generation;
	} key;
	struct oracle_clock *clock; /* NULL: nothing released yet */
	BASE_VEC(struct oracle_part) parts;
	/* What fences before relaxed arrivals released. */
	struct oracle_release fenced;
	uint32_t max_epoch;
	uint32_t expected;
	uint64_t leaving; /* lanes that will leave */
	bool is_final;
	const void *inst;
	uint32_t actor;
	UT_hash_handle hh;
};

struct oracle_phase {
	uint64_t phase;
	struct oracle_release release;
};

#define ORACLE_PHASES 4

struct oracle_mbar {
	uint64_t address;
	struct oracle_phase phase[ORACLE_PHASES];
	uint32_t n;
	UT_hash_handle hh;
};

struct oracle_opn {
	uint64_t key;
	struct oracle_clock *start, *end;
	BASE_VEC(uint64_t) after; /* operations that end before it starts */
	uint32_t actor;		  /* or ORACLE_NO_ACTOR: not started */
	bool is_ended, is_running;
	uint64_t nhost; /* late.h, when it was submitted */
	UT_hash_handle hh;
};

struct oracle_freed {
	uint64_t address, bytes;
	struct oracle_clock *clock;
};

/* A long log, as it was then: all of it is known to each thread that has this clock. */
struct oracle_known_log {
	const struct oracle_log *log;
	struct oracle_clock *clock;
	uint32_t n, count;
	bool is_write; /* its reads, too */
};

#define ORACLE_KNOWN_LOGS 64u

/* Pieces of memory of up to ORACLE_SMALL bytes are kept for reuse, by size (cell.c). */
#define ORACLE_PIECE 16u
#define ORACLE_SMALL 1040u /* a page of cells */

#define ORACLE_LAST_SITES 256u /* by instruction */

#define ORACLE_NEAR_GROUPS 16u

/* Have all lanes of a warp one clock? True or not as long as there are only plain accesses. */
struct oracle_one_clock {
	const struct oracle_thread *t;
	uint64_t event; /* number of events but for plain ones, plus 1 */
	bool is_one;
};
#define ORACLE_ONE_CLOCKS 64u
#define ORACLE_GONE_NEAR  4096u

struct oracle {
	uint64_t races; /* reported, each sighting */
	struct oracle_options opt;
	struct oracle_pool pool;
	BASE_VEC(struct oracle_group *) groups;	       /* by first */
	struct oracle_group *last;		       /* found last */
	struct oracle_group *near[ORACLE_NEAR_GROUPS]; /* by actor / ORACLE_MISC_GROUP */
	struct oracle_group *misc;		       /* with room for more */
	uint32_t nactors;
	bool is_full;
	struct oracle_clock *zero;
	BASE_VEC(struct oracle_site *) sites;
	BASE_VEC(uint32_t) families; /* of each: the plain one of its line's representative */
	struct oracle_site *site_table, *last_sites[ORACLE_LAST_SITES];
	uint32_t nfenced, nlogs /* made */, ngone_bits /* set in gone_filter */;
	struct oracle_region *regions;
	struct oracle_region *region_cache[ORACLE_REGION_CACHE];
	struct base_arena memory;
	struct oracle_piece *pieces[ORACLE_SMALL / ORACLE_PIECE + 1];
	uint64_t shadow_live, words; /* bytes of shadow now, and words that have one */
	struct oracle_known_log known_logs[ORACLE_KNOWN_LOGS];
	struct oracle_last_tile last_tiles[ORACLE_LAST_TILES];
	struct oracle_tile *same_tiles[ORACLE_SAME_TILES];
	uint64_t ntiles; /* made or changed so far: their serial numbers */
	struct oracle_name *named;
	struct oracle_sc_log *sc_logs;
	uint64_t nforced;     /* fence.sc's that others were placed after */
	bool has_wide_fences; /* fence.sc's of a scope beyond the block */
	struct oracle_sc_sum *sc_sums;
	struct oracle_map *maps; /* maps.c: tensor maps that a fence has named, by address */
	struct oracle_bar *bars;
	struct oracle_mbar *mbars;
	struct oracle_opn *ops;
	BASE_VEC(struct oracle_freed) freed;
	BASE_VEC(struct oracle_finding) findings;
	struct oracle_pair *pairs, *pair_last;
	void *race_arg, (*on_race)(void *arg, const struct oracle_finding *f);
	const void *(*line_of)(void *arg, const void *inst);
	uint64_t *(*count_at)(void *arg, const struct oracle_finding *f, bool *is_same);
	struct oracle_stored stored;
	struct oracle_repeat *repeats; /* shadow.h */
	bool is_hot;		       /* the last race was of a pair that is only counted */
	struct oracle_gone *gone;      /* gone.c, by word; and which words may be there */
	uint64_t gone_filter[4096];
	struct oracle_gone *gone_near[ORACLE_GONE_NEAR]; /* those found last, by word */
	struct oracle_stats stats;
	uint64_t nplain; /* of the events: weak accesses of a warp, which change no clock */
	struct oracle_one_clock one_clock[ORACLE_ONE_CLOCKS]; /* by warp */
	uint64_t nchains;
	/* retire.c: the host threads; operations that haven't ended; the first whose end the
	 * host thread may not know, NULL: ask all. */
	uint32_t nhosts;
	uint64_t nopen;
	struct oracle_opn *unknown;
	uint64_t clock_peak;	    /* of the stats, before the last time */
	struct oracle_lates *lates; /* late.h */
	uint64_t nlate;		    /* of their accesses */
};

/* oracle.c */
struct oracle_group *oracle_group_of(struct oracle *o, uint32_t actor);
struct oracle_thread *oracle_thread_of(struct oracle *o, uint32_t actor);
/* NULL when the thread's block has ended. */
uint32_t oracle_misc_new(struct oracle *o, enum oracle_misc_kind kind, uint32_t issuer,
			 struct oracle_clock *clock);
/* NULL: no pseudo-thread, host thread or copy. */
struct oracle_misc *oracle_misc_of(struct oracle *o, uint32_t actor);
bool oracle_is_pseudo(struct oracle *o, uint32_t actor);
/* The lanes of a warp that its block has no threads for. */
uint32_t oracle_absent_lanes(struct oracle *o, uint32_t warp);
void oracle_block_free(struct oracle *o, struct oracle_group *g, uint32_t index);
void oracle_group_free(struct oracle *o, struct oracle_group *g);
void oracle_sites_free(struct oracle *o);
/* The narrowest scope that includes both; equal actors: CTA. */
enum race_scope oracle_level(struct oracle *o, uint32_t a, uint32_t b);
uint32_t oracle_device(struct oracle *o, uint32_t actor); /* of its place */
/* Accesses with the same key, not 0, include each other in their scopes: from gpu scope on it is
 * the device's, otherwise the block's. */
uint32_t oracle_place_key(struct oracle *o, uint32_t actor, uint8_t scope);
#define ORACLE_PLACE_BLOCK (1u << 30)
/* As oracle_site (look.h), for one that isn't the last. */
uint32_t oracle_site_find(struct oracle *o, const struct oracle_acc *acc, uint64_t fences);
/* found.c. Reports a race, and gives the number of its finding. Returns where a repeat is counted
 * without another call (oracle_count_repeats), or NULL. */
uint64_t *oracle_found(struct oracle *o, enum oracle_kind kind, const struct oracle_side *first,
		       const struct oracle_side *second, uint64_t address, uint64_t *index,
		       bool *is_same);
void oracle_pairs_free(struct oracle *o);
/* Has a race of the two instructions been reported? */
bool oracle_is_found(struct oracle *o, enum oracle_kind kind, const void *a, const void *b);

#include "oracle/order.h"

/* fence_sc.c */
/* The epoch of the actor's last fence.sc before that epoch; 0: none. */
uint32_t oracle_fence_before(struct oracle *o, uint32_t actor, uint32_t epoch);
/* The block's threads have ended. */
void oracle_sc_block_end(struct oracle *o, uint32_t first, uint32_t n);
/* An access of thread t to the bytes in mask: the fences that it communicates with are forced
 * before later ones, and the fences before it are kept. */
void oracle_communicate(struct oracle *o, struct oracle_thread *t, uint32_t actor, bool is_write,
			struct oracle_ext *e, uint32_t mask);
/* An access of t races with an earlier write of another thread, in that epoch: if no fence.sc has
 * made the write visible since, the access may have taken effect before it. */
void oracle_overtake(struct oracle *o, const struct oracle_thread *t, uint32_t actor,
		     uint32_t writer, uint32_t epoch);
/* An access to the bytes in mask, with the fences in the tree and those of the actor before it. */
void oracle_fenced_add(struct oracle *o, struct oracle_ext *e, uint32_t mask, uint64_t tree,
		       uint32_t actor, uint32_t fence, bool is_write);
/* Are a word's fences just those before this thread's last write? */
bool oracle_fenced_is(const struct oracle_ext *e, const struct oracle_thread *t, uint32_t actor);
/* These bytes lose their past. */
void oracle_fenced_drop(struct oracle *o, struct oracle_bytes *x, uint32_t mask);
void oracle_sc_free(struct oracle *o);
/* Adds to the clock the fences after which a pseudo-thread has communicated; is_read: by its
 * reads. */
void oracle_forced_by(struct oracle *o, struct oracle_clock **c, uint32_t pseudo, bool is_read);
void oracle_forced_drop(struct oracle *o, struct oracle_misc *m);

/* write.c */
struct oracle_chain *oracle_chain_new(struct oracle *o);
/* A strong write that may be read; the caller holds it. */
struct oracle_write *oracle_write_new(struct oracle *o, uint32_t actor,
				      const struct oracle_acc *acc, uint64_t address,
				      const struct oracle_link *link);
void oracle_chain_unref(struct oracle *o, struct oracle_chain *c);
void oracle_write_unref(struct oracle *o, struct oracle_write *w);
/* The strong write that a read of these bytes reads, or NULL. */
struct oracle_write *oracle_reads(struct oracle *o, uint64_t address, uint32_t bytes);
struct oracle_write *oracle_named(struct oracle *o, uint64_t id, uint64_t address, uint32_t bytes);
bool oracle_write_is_strong_with(struct oracle *o, const struct oracle_write *w, uint32_t actor,
				 const struct oracle_acc *acc, uint64_t address);
/* The actor has read w, in that epoch; is_write: by an RMW. */
void oracle_chain_see(struct oracle *o, const struct oracle_write *w, uint32_t actor,
		      uint32_t epoch, bool is_write);
/* Adds an observation of the write at `pos` without further checks. */
void oracle_chain_add(struct oracle *o, struct oracle_chain *c, uint32_t pos, uint32_t actor,
		      uint32_t epoch, bool is_write);
/* Is each observer of `a` (closed) one of `b` too, at least as early? */
bool oracle_chain_covers(const struct oracle_chain *b, uint32_t bpos, const struct oracle_chain *a,
			 uint32_t apos);
/* An access that is not plain, with all its steps. */
void oracle_access_strong(struct oracle *o, uint32_t actor, const struct oracle_acc *acc,
			  uint64_t address);
/* ... of these lanes of a warp of a grid; t: lane 0's thread. */
void oracle_strong_warp(struct oracle *o, struct oracle_thread *t, uint32_t warp, uint32_t mask,
			const struct oracle_acc *acc, const uint64_t *addresses);

/* cell.c */
/* Zeroed; counted in stats.shadow_bytes with what the C library uses for it. */
void *oracle_mem_new(struct oracle *o, size_t bytes);
/* realloc; the new part isn't zeroed. */
void *oracle_mem_resize(struct oracle *o, void *p, size_t from, size_t to);
void oracle_mem_free(struct oracle *o, void *p, size_t bytes);
/* As oracle_cells_at and oracle_cell_at (look.h), where it isn't simple. */
struct oracle_cell *oracle_cells_make(struct oracle *o, uint64_t address, uint32_t n);
struct oracle_cell *oracle_cell_find(struct oracle *o, uint64_t address);
struct oracle_page *oracle_page_at(struct oracle *o, uint64_t address);
uint32_t oracle_page_cells(const struct oracle_page *p); /* how many there are */
/* Drops the cell's plain accesses; the cell must not be an ext. */
void oracle_cell_clear(struct oracle *o, struct oracle_cell *c);
void oracle_readers_unref(struct oracle *o, struct oracle_readers *s, uint32_t words);
void oracle_page_free(struct oracle *o, uint64_t address);

/* form_log.c */
/* Checks and keeps an access if a log can; false: nothing is done. */
bool oracle_log_access(struct oracle *o, struct oracle_thread *t, uint32_t actor,
		       const struct oracle_acc *acc, uint64_t address);
/* Moves the log's accesses to e, which is empty; returns the packed write before them, or 0.
 * *own: the chain that this write begins, with a reference for its record; left alone if it begins
 * none. */
uint64_t oracle_log_expand(struct oracle *o, struct oracle_cell *c, struct oracle_ext *e,
			   uint64_t word, struct oracle_chain **own);
void oracle_log_free(struct oracle *o, struct oracle_cell *c);
void oracle_known_logs_free(struct oracle *o);

/* access.c */
/* Checks and keeps one access, word by word. link: of a strong write; else NULL. */
void oracle_shadow_access(struct oracle *o, struct oracle_thread *t, uint32_t actor,
			  const struct oracle_acc *acc, uint64_t address, uint64_t bytes,
			  const struct oracle_link *link);
/* Weak accesses of a warp of a grid; t: lane 0's thread. */
void oracle_shadow_warp(struct oracle *o, struct oracle_thread *t, uint32_t warp, uint32_t mask,
			const struct oracle_acc *acc, const uint64_t *addresses);
struct oracle_ext *oracle_ext_of(struct oracle *o, struct oracle_cell *c, uint64_t word);
void oracle_ext_free(struct oracle *o, struct oracle_cell *c);
/* The fence.sc's before its accesses no longer count. */
void oracle_ext_forget_fences(struct oracle *o, struct oracle_ext *e);
/* From now on the bytes in mask come from w (NULL: a weak write). Each byte holds a reference. */
void oracle_ext_from(struct oracle *o, struct oracle_ext *e, uint32_t mask, struct oracle_write *w);
struct oracle_bytes *oracle_ext_bytes(struct oracle *o, struct oracle_ext *e);

static inline struct oracle_write *oracle_ext_source(const struct oracle_ext *e, unsigned byte)
{
	return e->bytes ? e->bytes->from[byte] : e->from;
}

static inline void oracle_words_peak(struct oracle *o)
{
	if (o->words > o->stats.words)
		o->stats.words = o->words;
}

/* retire.c */
/* The host thread has learned something: if nothing can race any more with what is kept, that is
 * freed. */
void oracle_retire(struct oracle *o, uint32_t host);

/* forget.c */
/* gone.c: accesses of actors first + lane of the mask are forgotten; a later access; the end of
 * memory. */
struct oracle_actors {
	uint32_t first, mask, epoch;
};
void oracle_gone_add(struct oracle *o, uint64_t word, uint32_t bytes, uint32_t site,
		     struct oracle_actors a);
void oracle_gone_look(struct oracle *o, const struct oracle_thread *t, uint32_t actor,
		      const struct oracle_acc *acc, uint64_t address, uint64_t bytes);
void oracle_gone_look_warp(struct oracle *o, const struct oracle_thread *t, uint32_t warp,
			   uint32_t mask, const struct oracle_acc *acc, const uint64_t *addresses);
void oracle_gone_forget(struct oracle *o, uint64_t address, uint64_t bytes);
void oracle_gone_free(struct oracle *o);
void oracle_shadow_retire(struct oracle *o); /* all of memory loses its past */
void oracle_shadow_forget(struct oracle *o, uint64_t address, uint64_t bytes);
void oracle_shadow_free(struct oracle *o);
/* What any of the lanes of a warp has done or knows is known to all of them. */
void oracle_lanes_meet(struct oracle *o, uint32_t warp, uint32_t mask);
void oracle_sync_free(struct oracle *o);

#define ORACLE_EACH(l, mask)                                                                       \
	for (uint32_t l##_m = (mask), l; l##_m && (l = (uint32_t)__builtin_ctz(l##_m), 1);         \
	     l##_m &= l##_m - 1)

#endif
