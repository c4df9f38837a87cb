/*
 * fast.c - detector `hirace`: the accesses that inlined code decides.
 *
 * An access whose words stay as they are takes no call; nor does one of a single word that takes a
 * common step (first_state, step_of), a load that the compiler may have invented and that doesn't
 * race, and one of a single byte of global memory. What stays and which steps are common is asked
 * of the machine's table when the code is made. Anything else goes to device/hirace/step.h, and
 * from there to hirace.cu.
 *
 * Misses: several words, and groups of reads, that don't all stay are called.
 * Costs on sm_90, in SASS instructions: a word of global memory that stays 34, with two loads; the
 * first access of a launch 35 with a compare-and-swap, another common step 71, in code that has
 * iguard, too, 32 more for the sites beside it; a word of shared memory that stays 26 (convolution
 * and triad of bench/overhead, spills not counted).
 */
#include "instrument/hirace/hirace.h"

#include "hirace/machine.h"

#include "hirace/hirace_table.h"

/* ---- what an access is ----------------------------------------------------------------------- */

uint32_t inst_hirace_access(const struct inst_event *e)
{
	if (e->strength != RACE_WEAK)
		return e->scope == RACE_SCOPE_CTA ? HIRACE_BA : HIRACE_GA;
	return e->writes ? HIRACE_W : HIRACE_R;
}

/* Does this kernel access bytes, too, where this access may go? */
static bool meets_bytes(const struct inst_hirace_kernel *k, const struct inst_event *e)
{
	return e->space == INST_IN_GLOBAL   ? k->f.ev.has_narrow_global
	       : e->space == INST_IN_SHARED ? k->f.ev.has_narrow_shared
					    : k->f.ev.has_narrow;
}

int64_t inst_hirace_what_bits(const struct inst_hirace_kernel *k, const struct inst_event *e)
{
	bool is_atomic = e->strength != RACE_WEAK;
	uint64_t what = e->access->site;

	what |= (uint64_t)inst_hirace_access(e) << RACE_HISTORY_ACCESS_AT;
	what |= is_atomic && !e->writes ? RACE_HISTORY_STRONG : 0;
	what |= e->stmt->form->sem == PTX_SEM_VOLATILE ? RACE_HISTORY_VOLATILE : 0;
	what |= e->is_judged ? RACE_HISTORY_SEED : 0;
	what |= e->is_lockstep ? RACE_HISTORY_LOCKSTEP : 0;
	what |= meets_bytes(k, e) ? RACE_HISTORY_BYTES : 0;
	what |= k->f.ev.only_observes ? RACE_HISTORY_OBSERVES : 0;
	what |= (uint64_t)e->narrow << RACE_HISTORY_NARROW_AT;
	what |= (uint64_t)e->sure << RACE_HISTORY_SURE_AT;
	what |= (uint64_t)e->maybe << RACE_HISTORY_MAYBE_AT;
	return (int64_t)what;
}

struct ptx_str inst_hirace_what(const struct inst_hirace_kernel *k, const struct inst_event *e)
{
	return inst_num(inst_hirace_what_bits(k, e));
}

/* ---- the fast path --------------------------------------------------------------------------- */

#define FAST_WORDS 4u /* of an access; more are called */

/* is_look: with the access, or does it only not race? */
static uint32_t kept(const uint8_t *table, uint32_t state, uint32_t access, uint32_t sync,
		     uint32_t relation, bool is_look)
{
	uint32_t entry = table[hirace_entry(state, access, sync, relation)];
	bool is_kept = is_look ? (entry & HIRACE_NEXT) != HIRACE_RACE : entry & HIRACE_KEEP;

	return is_kept ? 1u << state : 0;
}

struct inst_hirace_fast inst_hirace_fast(uint32_t access, bool is_look)
{
	static const uint8_t table[HIRACE_TABLE_SIZE] = HIRACE_TABLE_ENTRIES;
	struct inst_hirace_fast f = {0};

	for (uint32_t s = 0; s < HIRACE_STATES; s++) {
		uint32_t all = 1u << s, synced = all;

		if (s == HIRACE_INIT || s == HIRACE_RACE)
			continue;
		f.self |= kept(table, s, access, HIRACE_SYNC_U, HIRACE_SELF, is_look);
		f.warp |= kept(table, s, access, HIRACE_SYNC_U, HIRACE_WARP, is_look);
		f.block |= kept(table, s, access, HIRACE_SYNC_U, HIRACE_BLOCK, is_look);
		for (uint32_t rel = 0; rel < HIRACE_RELATIONS; rel++) {
			uint32_t here = kept(table, s, access, HIRACE_SYNC_B, rel, is_look);
			for (uint32_t sync = 0; sync < HIRACE_SYNCS; sync++)
				all &= kept(table, s, access, sync, rel, is_look);
			synced &= rel == HIRACE_GRID ? synced : here;
		}
		f.grid |= all;
		f.synced |= synced;
	}
	return f;
}

/* The state that the first access of a launch leaves. */
static uint32_t first_state(uint32_t access)
{
	static const uint8_t table[HIRACE_TABLE_SIZE] = HIRACE_TABLE_ENTRIES;

	return table[hirace_entry(HIRACE_INIT, access, HIRACE_SYNC_U, HIRACE_SELF)] & HIRACE_NEXT;
}

/* ---- steps that are taken inline ------------------------------------------------------------- */

/*
 * One step for each way that the word's thread may be related to this one: the next state, and a
 * bit for each state that goes there, in one number. Other states are left to the call.
 */
#define STEP_AT		   27u
#define STEP_TO(n, states) ((int64_t)(n) << STEP_AT | (int64_t)(states))
RACE_STATIC_ASSERT(HIRACE_STATES <= STEP_AT, "a bit for each state of the table");

/* Words that only reads, only atomics or a write have left are common; others have a history. */
static uint32_t weight(uint32_t state)
{
	switch (state) {
	case HIRACE_WRITE:
	case HIRACE_READ:
	case HIRACE_WREAD:
	case HIRACE_BREAD:
	case HIRACE_GATOM:
	case HIRACE_GATOM_W:
	case HIRACE_GATOM_B:
		return 8;
	default:
		return 1;
	}
}

/* The next state of `state`, if it is one whatever the labels and relations are; else RACE. */
static uint32_t next_of(const uint8_t *table, uint32_t state, uint32_t access, uint32_t syncs,
			uint32_t relations)
{
	uint32_t next = HIRACE_STATES;

	for (uint32_t i = 0; i < 16; i++) {
		uint32_t to = table[hirace_entry(state, access, i >> 2, i & 3)] & HIRACE_NEXT;

		if (!(syncs >> (i >> 2) & 1u) || !(relations >> (i & 3u) & 1u))
			continue;
		if (next != HIRACE_STATES && to != next)
			return HIRACE_RACE;
		next = to;
	}
	return next;
}

/* The step that takes most; syncs, relations: a bit for each. */
static int64_t step_of(uint32_t access, uint32_t syncs, uint32_t relations)
{
	static const uint8_t table[HIRACE_TABLE_SIZE] = HIRACE_TABLE_ENTRIES;
	uint32_t most = 0;
	int64_t best = 0;

	for (uint32_t n = 0; n < HIRACE_STATES; n++) {
		uint32_t states = 0, sum = 0;

		for (uint32_t s = HIRACE_INIT + 1u; s < HIRACE_STATES && n != HIRACE_RACE; s++) {
			if (s == HIRACE_RACE || next_of(table, s, access, syncs, relations) != n)
				continue;
			states |= 1u << s;
			sum += s == n ? 0 : weight(s);
		}
		if (sum > most) {
			most = sum;
			best = STEP_TO(n, states);
		}
	}
	return best;
}

#define ONLY(x)	     (1u << (x))
#define OF_THE_BLOCK (ONLY(HIRACE_SELF) | ONLY(HIRACE_WARP) | ONLY(HIRACE_BLOCK))
#define ALL_SYNCS    ((1u << HIRACE_SYNCS) - 1u)

/* What the same access of a second lane makes of this state. */
static uint32_t by_lanes(uint32_t state, uint32_t access)
{
	static const uint8_t table[HIRACE_TABLE_SIZE] = HIRACE_TABLE_ENTRIES;

	return table[hirace_entry(state, access, HIRACE_SYNC_U, HIRACE_WARP)] & HIRACE_NEXT;
}

/* States that stay, whichever lanes of a warp follow with this access. */
static uint32_t closed_under(uint32_t access)
{
	static const uint8_t table[HIRACE_TABLE_SIZE] = HIRACE_TABLE_ENTRIES;
	uint32_t states = 0;

	for (uint32_t s = HIRACE_INIT + 1u; s < HIRACE_STATES; s++) {
		uint32_t own = table[hirace_entry(s, access, HIRACE_SYNC_U, HIRACE_SELF)];
		uint32_t other = table[hirace_entry(s, access, HIRACE_SYNC_U, HIRACE_WARP)];

		if (s != HIRACE_RACE && own & other & HIRACE_KEEP && by_lanes(s, access) == s)
			states |= 1u << s;
	}
	return states;
}

/* Where the inlined steps of an access go on. */
struct next {
	struct ptx_label *again, *first;
	struct ptx_opnd to; /* the next state */
};

/* The sites beside a word of global memory that was w and is now n, in a run that keeps them. Where
 * one lane has changed it for others, these found another x. */
static void put_left(struct inst_hirace_kernel *k, const struct inst_event *e, struct ptx_opnd w,
		     struct ptx_opnd word, struct ptx_opnd n, struct ptx_opnd x,
		     struct ptx_label *over)
{
	struct inst_ctx *cx = k->f.cx;
	uint32_t a = inst_hirace_access(e), site = e->access->site;
	struct ptx_opnd left = inst_fresh(cx, PTX_TYPE_B64), older = inst_int(cx, 0);
	int64_t own = race_history_sites(site, a == HIRACE_W, false, 0);
	int64_t writes = (int64_t)RACE_LEFT_SITES << RACE_LEFT_WRITE_AT;

	inst_emit(cx, e->stmt, "left_of",
		  T(cx->k, e->narrow ? BLOCK(bytes) : BLOCK(words),
		    e->narrow ? BLOCK(byte_sites) : BLOCK(sites)),
		  H(w, word, n, x, left, ptx_opnd_label(over)));
	if (a != HIRACE_W) {
		older = inst_fresh(cx, PTX_TYPE_B32);
		inst_emit(cx, e->stmt, "left_older",
			  T(inst_num(LAUNCH_BITS), inst_num(RACE_LEFT_HASH_SHIFT),
			    inst_num(RACE_LEFT_HASH), inst_num(writes)),
			  H(inst_reg(cx, k->f.me), w, left, older));
	}
	if (a > HIRACE_W)
		inst_emit(cx, e->stmt, "left_first",
			  T(inst_num((int64_t)race_history_sites(site, true, true, 0) & writes)),
			  H(older));
	inst_emit(cx, e->stmt, "left_store", T(inst_num(RACE_LEFT_HASH_SHIFT), inst_num(own)),
		  H(n, left, older, ptx_opnd_label(over)));
}

/*
 * A word of global memory that moves on: the first access of a launch; else by the other thread's
 * relation. Only in kernels without release stamps, so that all stamps are 0.
 */
static void put_next(struct inst_hirace_kernel *k, const struct inst_event *e, struct ptx_opnd w,
		     struct ptx_opnd word, const struct next *n, struct ptx_label *over)
{
	struct inst_ctx *cx = k->f.cx;
	uint32_t a = inst_hirace_access(e), u = ONLY(HIRACE_SYNC_U);
	struct ptx_label *slow = ptx_new_label(cx->m, cx->f), *done = over;
	struct ptx_opnd now = inst_fresh(cx, PTX_TYPE_B64), found = inst_fresh(cx, PTX_TYPE_B64);

	if (k->has_left)
		done = ptx_new_label(cx->m, cx->f);
	inst_emit(cx, e->stmt, "fast_step",
		  T(inst_num(step_of(a, u, ONLY(HIRACE_SELF))),
		    inst_num(step_of(a, u, ONLY(HIRACE_WARP))),
		    inst_num(step_of(a, u, ONLY(HIRACE_BLOCK))),
		    inst_num(step_of(a, ALL_SYNCS, ONLY(HIRACE_GRID))),
		    inst_num(step_of(a, ONLY(HIRACE_SYNC_B), OF_THE_BLOCK)),
		    inst_num((int64_t)1 << HIRACE_PLACE_AT)),
		  H(inst_reg(cx, k->f.me), w, inst_reg(cx, k->span), inst_reg(cx, k->fresh), n->to,
		    ptx_opnd_label(slow)));
	inst_emit_label(cx, e->stmt, n->first);
	inst_emit(cx, e->stmt, "fast_swap",
		  T(inst_num(0xffffffff - ((1 << HIRACE_WARP_AT) - 1)), inst_num(first_state(a)),
		    inst_num(by_lanes(first_state(a), a)), inst_num(closed_under(a))),
		  H(inst_reg(cx, k->f.me), w, word, inst_reg(cx, k->fresh), n->to, now, found,
		    ptx_opnd_label(done), ptx_opnd_label(n->again)));
	if (k->has_left) {
		inst_emit(cx, e->stmt, "go", NT, H(ptx_opnd_label(slow)));
		inst_emit_label(cx, e->stmt, done);
		put_left(k, e, w, word, now, found, over);
	}
	inst_emit_label(cx, e->stmt, slow);
}

/* Before the word is looked at: one of another launch is taken at once. */
static struct next begin_next(struct inst_hirace_kernel *k, const struct inst_event *e,
			      struct ptx_opnd w)
{
	struct inst_ctx *cx = k->f.cx;
	struct next n = {ptx_new_label(cx->m, cx->f), NULL, inst_none()};

	inst_emit_label(cx, e->stmt, n.again);
	if (e->space == INST_IN_SHARED)
		return n;
	n.first = ptx_new_label(cx->m, cx->f);
	n.to = inst_fresh(cx, PTX_TYPE_B32);
	inst_emit(
		cx, e->stmt, "fast_old", T(inst_num(first_state(inst_hirace_access(e)))),
		H(inst_reg(cx, k->f.me), w, inst_reg(cx, k->fresh), n.to, ptx_opnd_label(n.first)));
	return n;
}

/*
 * The same of shared memory. A word of another interval between barriers, or empty, is as good
 * as new: only the block's threads access it, and the barrier orders what they did before what
 * they do (tests/hirace/rules/interval.c proves it of the table). RACE stays; GREAD and GATOM-G are
 * of two blocks.
 */
static void put_next_shared(struct inst_hirace_kernel *k, const struct inst_event *e,
			    struct ptx_opnd at, struct ptx_opnd w, struct ptx_opnd word,
			    struct ptx_label *over, struct ptx_label *again)
{
	struct inst_ctx *cx = k->f.cx;
	uint32_t a = inst_hirace_access(e), u = ONLY(HIRACE_SYNC_U);
	uint32_t not_new = ONLY(HIRACE_RACE) | ONLY(HIRACE_GREAD) | ONLY(HIRACE_GATOM_G);
	uint32_t all = ((1u << HIRACE_STATES) - 1u) & ~not_new;
	struct ptx_opnd next = inst_fresh(cx, PTX_TYPE_B64), found = inst_fresh(cx, PTX_TYPE_B64);
	struct ptx_opnd did = inst_fresh(cx, PTX_TYPE_PRED);
	struct ptx_label *slow = ptx_new_label(cx->m, cx->f);

	inst_emit(cx, e->stmt, "fast_next_shared",
		  T(inst_num(0xffffffff - ((1 << HIRACE_WARP_AT) - 1)),
		    inst_num(STEP_TO(first_state(a), all)),
		    inst_num(step_of(a, u, ONLY(HIRACE_SELF))),
		    inst_num(step_of(a, u, ONLY(HIRACE_WARP))),
		    inst_num(step_of(a, u, ONLY(HIRACE_BLOCK))),
		    inst_num((int64_t)1 << HIRACE_PLACE_AT), inst_num(LAUNCH_BITS)),
		  H(inst_reg(cx, k->f.me), w, word, inst_reg(cx, k->span), next, found, did,
		    ptx_opnd_label(slow)));
	if (k->has_sites && e->access->site < RACE_LEFT_SITES)
		inst_emit(cx, e->stmt, "fast_left",
			  T(inst_num(RACE_HISTORY_SHARED_WORDS(k->tracked)),
			    inst_num(RACE_LEFT_HASH_SHIFT),
			    inst_num((int64_t)race_history_sites(e->access->site, a == HIRACE_W,
								 a > HIRACE_W, 0))),
			  H(at, inst_reg(cx, k->first), next, did));
	inst_emit(cx, e->stmt, "fast_end", NT, H(did, ptx_opnd_label(over)));
	inst_emit(cx, e->stmt, "fast_again", NT, H(w, found, did, ptx_opnd_label(again)));
	inst_emit_label(cx, e->stmt, slow);
}

/* The words of a plain access, counted; 0: it is called. */
unsigned inst_hirace_words(const struct inst_hirace_kernel *k, const struct inst_event *e)
{
	bool has_words = e->space == INST_IN_GLOBAL || (e->space == INST_IN_SHARED && k->has_table);
	uint32_t all = e->sure | e->maybe;
	unsigned n = 0;

	if (k->f.is_variant || !has_words || meets_bytes(k, e) || e->narrow || e->lanes ||
	    e->lines || e->is_copy || (e->maybe && e->sure))
		return 0;
	if (e->strength != RACE_WEAK && !e->writes)
		return 0; /* a strong load is looked at only */
	while (n < 8 && all >> n & 1u)
		n++;
	return n <= FAST_WORDS && !(all >> n) ? n : 0;
}

/* Does this word leave the access alone? */
static void put_fast_word(struct inst_hirace_kernel *k, const struct inst_event *e,
			  const struct inst_hirace_fast *f, struct ptx_opnd w,
			  struct ptx_opnd stays)
{
	struct inst_ctx *cx = k->f.cx;
	bool is_shared = e->space == INST_IN_SHARED;
	struct ptx_opnd me = inst_reg(cx, k->f.me), span = inst_reg(cx, k->span), fresh;
	struct ptx_str place = inst_num((int64_t)1 << HIRACE_PLACE_AT);

	if (!e->maybe) {
		inst_emit(cx, e->stmt, "fast_word",
			  T(inst_num(f->self), inst_num(f->warp), inst_num(f->block),
			    inst_num(f->grid), inst_num(SAME_BITS), inst_num(HIRACE_NEXT), place),
			  H(me, w, span, stays));
		return;
	}
	/* Shared memory has words of this launch alone, and all threads are of the block. */
	fresh = is_shared      ? inst_int(cx, LAUNCH_BITS)
		: k->has_fresh ? inst_reg(cx, k->fresh)
			       : inst_int(cx, 0);
	inst_emit(cx, e->stmt, "fast_look",
		  T(inst_num(f->self), inst_num(f->warp), inst_num(f->block),
		    inst_num(is_shared ? f->synced : f->grid), inst_num(SAME_BITS),
		    inst_num(is_shared ? LAUNCH_BITS : SAME_BITS), inst_num(HIRACE_NEXT), place),
		  H(me, w, span, fresh, stays));
}

/* A weak access of one byte of global memory, where words of other launches are replaced. */
bool inst_hirace_is_byte(const struct inst_hirace_kernel *k, const struct inst_event *e)
{
	return !k->f.is_variant && e->space == INST_IN_GLOBAL && e->strength == RACE_WEAK &&
	       e->narrow == 1 && e->sure == 1 && !e->maybe && k->has_fresh;
}

static void put_directory(struct inst_hirace_kernel *k, const struct inst_event *e,
			  struct ptx_opnd at, struct ptx_opnd word, struct ptx_label *over,
			  struct ptx_label *far)
{
	struct inst_ctx *cx = k->f.cx;

	inst_emit(cx, e->stmt, "fast_global",
		  T(cx->k, BLOCK(directory), inst_num(RACE_HISTORY_PIECE_BITS - 3u),
		    inst_num((int64_t)(RACE_HISTORY_PIECES - 1u) << 3),
		    inst_num((int64_t)(RACE_HISTORY_PIECE - 4u))),
		  H(at, word, inst_reg(cx, k->span), ptx_opnd_label(over), ptx_opnd_label(far)));
}

/* The byte's own word first, then it looks at that of its 4 bytes: of two accesses that check at
 * the same time one sees the other. */
void inst_hirace_put_byte(struct inst_hirace_kernel *k, const struct inst_event *e,
			  struct ptx_opnd at, struct ptx_label *over)
{
	struct inst_ctx *cx = k->f.cx;
	const struct inst_hirace_fast f = inst_hirace_fast(inst_hirace_access(e), false);
	struct ptx_label *far = ptx_new_label(cx->m, cx->f), *look = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd me = inst_reg(cx, k->f.me), span = inst_reg(cx, k->span);
	struct ptx_opnd word = inst_fresh(cx, PTX_TYPE_B64), whole = inst_fresh(cx, PTX_TYPE_B64);
	struct ptx_opnd stays = inst_fresh(cx, PTX_TYPE_PRED), w = inst_fresh(cx, PTX_TYPE_B64);

	put_directory(k, e, at, whole, over, far);
	inst_emit(cx, e->stmt, "fast_byte",
		  T(cx->k, BLOCK(words), BLOCK(pages), inst_num(RACE_HISTORY_PIECE_BITS + 1),
		    inst_num(RACE_HISTORY_PAGE_BITS), inst_num(RACE_HISTORY_PAGES - 1),
		    inst_num(RACE_HISTORY_PIECE_BITS)),
		  H(at, word, whole, ptx_opnd_label(far)));
	inst_emit(cx, e->stmt, "fast_load", T(PTX_STR("global"), inst_num(0)), H(word, w));
	struct next next = begin_next(k, e, w);
	inst_emit(cx, e->stmt, "fast_begin", NT, H(span, stays));
	put_fast_word(k, e, &f, w, stays);
	inst_emit(cx, e->stmt, "fast_end", NT, H(stays, ptx_opnd_label(look)));
	put_next(k, e, w, word, &next, look);
	inst_emit(cx, e->stmt, "step_global", T(inst_hirace_what(k, e)),
		  H(me, inst_reg(cx, k->f.state), at, word, span, ptx_opnd_label(look)));
	inst_emit(cx, e->stmt, "go", NT, H(ptx_opnd_label(far)));
	inst_emit_label(cx, e->stmt, look);
	inst_emit(cx, e->stmt, "fast_whole", NT,
		  H(me, whole, inst_reg(cx, k->fresh), ptx_opnd_label(over)));
	inst_emit_label(cx, e->stmt, far);
}

/* An access that the machine leaves alone goes to `over`. */
void inst_hirace_put_fast(struct inst_hirace_kernel *k, const struct inst_event *e, unsigned words,
			  struct ptx_opnd at, struct ptx_label *over)
{
	struct inst_ctx *cx = k->f.cx;
	bool is_shared = e->space == INST_IN_SHARED;
	const struct inst_hirace_fast f = inst_hirace_fast(inst_hirace_access(e), e->maybe != 0);
	struct ptx_label *far = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd me = inst_reg(cx, k->f.me), span = inst_reg(cx, k->span);
	struct ptx_opnd first = inst_reg(cx, k->first), stamps = inst_reg(cx, k->f.state);
	struct ptx_opnd word = inst_fresh(cx, is_shared ? PTX_TYPE_B32 : PTX_TYPE_B64);
	struct ptx_opnd stays = inst_fresh(cx, PTX_TYPE_PRED);
	struct ptx_str space = is_shared ? PTX_STR("shared") : PTX_STR("global");

	if (is_shared)
		inst_emit(cx, e->stmt, "fast_shared", T(inst_num(k->tracked - 4 * words)),
			  H(at, word, first, span, ptx_opnd_label(over), ptx_opnd_label(far)));
	else
		put_directory(k, e, at, word, over, far);
	bool is_next = k->has_fresh && words == 1 && !e->maybe;
	struct next next = {0};
	struct ptx_opnd w[2];
	if (!is_next)
		inst_emit(cx, e->stmt, "fast_begin", NT, H(span, stays));
	for (unsigned i = 0; i < words; i += 2) {
		w[0] = inst_fresh(cx, PTX_TYPE_B64);
		w[1] = inst_fresh(cx, PTX_TYPE_B64);

		if (i + 1 < words)
			inst_emit(cx, e->stmt, "fast_load2", T(space, inst_num(8 * i)),
				  H(word, w[0], w[1]));
		else
			inst_emit(cx, e->stmt, "fast_load", T(space, inst_num(8 * i)),
				  H(word, w[0]));
		if (is_next) {
			next = begin_next(k, e, w[0]);
			inst_emit(cx, e->stmt, "fast_begin", NT, H(span, stays));
		}
		for (unsigned j = 0; j < 2 && i + j < words; j++)
			put_fast_word(k, e, &f, w[j], stays);
	}
	inst_emit(cx, e->stmt, "fast_end", NT, H(stays, ptx_opnd_label(over)));
	if (e->maybe) {
		inst_emit_label(cx, e->stmt, far);
		return;
	}
	if (is_next && is_shared)
		put_next_shared(k, e, at, w[0], word, over, next.again);
	else if (is_next)
		put_next(k, e, w[0], word, &next, over);
	if (is_shared)
		inst_emit(cx, e->stmt, "step_shared",
			  T(inst_hirace_what(k, e), inst_num(RACE_HISTORY_SHARED_WORDS(k->tracked)),
			    inst_num(k->has_sites), inst_num(RACE_STEP_SHAPE(words, 1))),
			  H(me, stamps, at, first, word, span, ptx_opnd_label(over)));
	else
		inst_emit(cx, e->stmt, "step_global", T(inst_hirace_what(k, e)),
			  H(me, stamps, at, word, span, ptx_opnd_label(over)));
	inst_emit_label(cx, e->stmt, far);
}
