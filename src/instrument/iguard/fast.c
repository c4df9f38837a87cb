/*
 * fast.c - iguard's inlined code: entries that stay as they are, and the usual swaps.
 *
 * An access of global memory, or of shared memory with a table of the block's own, looks at its
 * entries in the program's own code. Where each stays as it is, or may be swapped for one with this
 * access in the usual way (from sm_90 on, both words at once), nothing is called. The rules are
 * those of iguard/update.h, for weak accesses and atomics that race with nothing.
 *
 * Misses: entries of bytes, except for one byte of global memory; more than FAST_WORDS words;
 * called functions: all are called. Costs: swap.ptxt and iguard.ptxt have the instructions.
 */
#include "instrument/iguard/iguard.h"

#include "device/device.h"

#define CONTEXT_LOW  inst_num((uint32_t)IGUARD_CONTEXT_MASK)
#define CONTEXT_HIGH inst_num((int64_t)(IGUARD_CONTEXT_MASK >> 32))
#define KINDS	     ((1u << IGUARD_SITE_AT) - 1u)

#define FAST_WORDS 4u /* of an access; more are called */

/* Of one byte, with the entries of bytes. */
static bool is_byte(const struct inst_iguard_kernel *k, const struct inst_event *e)
{
	return e->space == INST_IN_GLOBAL && k->has_bytes[0] && e->narrow == 1 &&
	       (e->sure | e->maybe) == 1;
}

/* The words of a weak access, counted; 0: it is called. */
unsigned inst_iguard_words(const struct inst_iguard_kernel *k, const struct inst_event *e)
{
	bool is_shared = e->space == INST_IN_SHARED;
	uint32_t all = e->sure | e->maybe;
	unsigned n = 0;

	if (k->f.is_variant || !(is_shared ? k->tracked != 0 : e->space == INST_IN_GLOBAL))
		return 0;
	if ((e->maybe && e->sure) || e->lanes || e->lines || e->is_copy)
		return 0;
	/* Where entries are those of bytes, of global memory and one byte. */
	if (k->has_bytes[is_shared])
		return is_byte(k, e) && e->strength == RACE_WEAK ? 1 : 0;
	/* Of strong accesses: atomics that all threads may use. */
	if (e->strength != RACE_WEAK && (!e->writes || e->scope == RACE_SCOPE_CTA))
		return 0;
	while (n < 8 && all >> n & 1u)
		n++;
	return n <= FAST_WORDS && !(all >> n) ? n : 0;
}

/* One entry: does it stay as it is? */
static void put_fast_entry(struct inst_iguard_kernel *k, const struct inst_event *e,
			   struct ptx_opnd w, struct ptx_opnd a, struct ptx_opnd stays)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd me = inst_reg(cx, k->f.me), spans = inst_reg(cx, k->spans);
	struct ptx_opnd own = inst_fresh(cx, PTX_TYPE_PRED), none, among;
	bool is_strong = e->strength != RACE_WEAK;

	if (!is_strong)
		inst_emit(cx, e->stmt, "fast_own", T(CONTEXT_LOW, inst_num(KINDS)), H(me, w, own));
	if (e->writes && !is_strong) {
		inst_emit(cx, e->stmt, "fast_write", NT, H(own, a, stays));
		return;
	}
	none = inst_fresh(cx, PTX_TYPE_PRED);
	among = inst_fresh(cx, PTX_TYPE_PRED);
	if (!e->maybe)
		inst_emit(cx, e->stmt, "fast_among",
			  T(inst_num((uint32_t)IGUARD_CONTEXT_MASK | (KINDS & ~3u)),
			    inst_num(is_strong ? IGUARD_STRONG : 0), CONTEXT_HIGH, inst_num(3),
			    inst_num(0x4440)),
			  H(me, is_strong ? w : a, spans, among));
	if (is_strong && e->space == INST_IN_SHARED) {
		/* What was weak before the block's last barrier is ordered before all of them. */
		struct ptx_opnd behind = inst_fresh(cx, PTX_TYPE_PRED);

		inst_emit(cx, e->stmt, "fast_among",
			  T(inst_num((uint32_t)IGUARD_CONTEXT_MASK | (KINDS & ~3u)),
			    inst_num(IGUARD_STRONG | IGUARD_AFTER_BLOCK << IGUARD_AFTER_AT),
			    CONTEXT_HIGH, inst_num(3), inst_num(0x4440)),
			  H(me, w, spans, behind));
		inst_emit(cx, e->stmt, "either", NT, H(among, behind));
	}
	if (is_strong) {
		inst_emit(cx, e->stmt, "fast_write", NT, H(among, a, stays));
		return;
	}
	/* A copy that is under way is not over at a barrier. */
	if (e->space == INST_IN_SHARED && k->is_plain && !k->f.ev.tracks_copies)
		inst_emit(cx, e->stmt, "fast_before", T(CONTEXT_LOW, CONTEXT_HIGH), H(me, w, none));
	else
		inst_emit(cx, e->stmt, "fast_unwritten", NT, H(w, none));
	if (e->maybe)
		inst_emit(cx, e->stmt, "fast_look", NT, H(own, none, stays));
	else
		inst_emit(cx, e->stmt, "fast_read", NT, H(own, none, among, stays));
}

/* The swaps of most accesses: of an entry of another launch, in shared memory of another interval;
 * then, in global memory, of readers and atomics that join others of their kind. */
static void put_swap(struct inst_iguard_kernel *k, const struct inst_event *e,
		     struct ptx_opnd entry, struct ptx_opnd w, struct ptx_opnd a,
		     struct ptx_label *over, struct ptx_label *again)
{
	struct inst_ctx *cx = k->f.cx;
	struct ptx_opnd me = inst_reg(cx, k->f.me), spans = inst_reg(cx, k->spans), joined;
	struct ptx_opnd to = ptx_opnd_label(over), back = ptx_opnd_label(again);
	struct ptx_label *slow = ptx_new_label(cx->m, cx->f);
	uint32_t site = e->access->site + 1u, kind = e->strength == RACE_WEAK ? 0 : IGUARD_STRONG;
	struct ptx_str as;

	as = inst_num((site <= IGUARD_SITE_LAST + 1u ? (int64_t)site << IGUARD_SITE_AT : 0) | kind);
	if (e->space == INST_IN_SHARED) {
		inst_emit(cx, e->stmt, e->writes ? "fast_write_next" : "fast_read_next",
			  T(CONTEXT_LOW, as), H(me, w, a, entry, to, back));
		return;
	}
	if (e->writes && !kind) {
		inst_emit(cx, e->stmt, "fast_write_first",
			  T(cx->k, BLOCK(tables), CONTEXTS_AT, CONTEXT_LOW, as),
			  H(me, w, a, entry, inst_reg(cx, k->launch), to, back));
		return;
	}
	inst_emit(cx, e->stmt, kind ? "fast_strong_first" : "fast_read_first",
		  T(cx->k, BLOCK(tables), CONTEXTS_AT, CONTEXT_LOW, as, BLOCK(modes),
		    inst_num(RACE_IGUARD_MODE_ALONE)),
		  H(me, w, a, entry, inst_reg(cx, k->launch), to, back));
	joined = inst_fresh(cx, PTX_TYPE_B64);
	inst_emit(cx, e->stmt, "join",
		  T(CONTEXT_LOW, inst_num(kind), inst_num((int64_t)RACE_IGUARD_SPANS_UNKNOWN)),
		  H(me, kind ? w : a, kind ? a : w, spans, joined, ptx_opnd_label(slow)));
	inst_emit(cx, e->stmt, kind ? "join_writers" : "join_readers",
		  T(cx->k, BLOCK(modes), inst_num(RACE_IGUARD_MODE_ALONE)),
		  H(w, a, joined, entry, to, back, ptx_opnd_label(slow)));
	inst_emit_label(cx, e->stmt, slow);
}

/* An access whose entries stay as they are goes to `over`. */
void inst_iguard_put_fast(struct inst_iguard_kernel *k, const struct inst_event *e, unsigned words,
			  struct ptx_opnd at, struct ptx_opnd what, struct ptx_label *over)
{
	struct inst_ctx *cx = k->f.cx;
	bool is_shared = e->space == INST_IN_SHARED;
	struct ptx_label *far = ptx_new_label(cx->m, cx->f);
	struct ptx_opnd me = inst_reg(cx, k->f.me), state = inst_reg(cx, k->f.state);
	struct ptx_opnd entry = inst_fresh(cx, is_shared ? PTX_TYPE_B32 : PTX_TYPE_B64);
	struct ptx_opnd stays = inst_fresh(cx, PTX_TYPE_PRED);
	struct ptx_str space = is_shared ? PTX_STR("shared") : PTX_STR("global");

	inst_emit(cx, e->stmt, "what", T(inst_num(inst_iguard_what(k, e))), H(what));
	if (is_shared)
		inst_emit(cx, e->stmt, "fast_shared",
			  T(inst_num(k->tracked - 4 * words),
			    inst_num((int64_t)sizeof(struct race_history_shared))),
			  H(at, entry, inst_reg(cx, k->near), ptx_opnd_label(far)));
	else
		inst_emit(cx, e->stmt, "fast_global",
			  T(cx->k, BLOCK(directory), inst_num(RACE_HISTORY_PIECE_BITS - 3u),
			    inst_num((int64_t)(RACE_HISTORY_PIECES - 1u) << 3),
			    inst_num((int64_t)(RACE_HISTORY_PIECE - 4u))),
			  H(at, entry, inst_reg(cx, k->spans), ptx_opnd_label(far)));
	if (is_byte(k, e))
		inst_emit(cx, e->stmt, "fast_byte",
			  T(cx->k, BLOCK(words), BLOCK(pages),
			    inst_num(RACE_HISTORY_PIECE_BITS + 2), inst_num(RACE_HISTORY_PAGE_BITS),
			    inst_num(RACE_HISTORY_PAGES - 1), inst_num(RACE_HISTORY_PIECE_BITS)),
			  H(at, entry, ptx_opnd_label(far)));
	/* An atomic of shared memory is called. */
	bool is_swap = k->can_swap && !(is_shared && k->f.ev.tracks_copies) && words == 1 &&
		       !e->maybe && (e->strength == RACE_WEAK || !is_shared);
	struct ptx_label *again = is_swap ? ptx_new_label(cx->m, cx->f) : NULL;
	struct ptx_opnd w, a;
	if (!is_swap)
		inst_emit(cx, e->stmt, "fast_begin", NT, H(stays));
	for (unsigned i = 0; i < words; i++) {
		w = inst_fresh(cx, PTX_TYPE_B64);
		a = inst_fresh(cx, PTX_TYPE_B64);

		inst_emit(cx, e->stmt, "fast_load", T(space, inst_num(IGUARD_ENTRY_BYTES * i)),
			  H(entry, w, a));
		if (is_swap) {
			inst_emit_label(cx, e->stmt, again);
			inst_emit(cx, e->stmt, "fast_begin", NT, H(stays));
		}
		put_fast_entry(k, e, w, a, stays);
	}
	inst_emit(cx, e->stmt, "fast_end", NT, H(stays, ptx_opnd_label(over)));
	if (is_swap)
		put_swap(k, e, entry, w, a, over, again);
	if (e->strength == RACE_WEAK && !e->maybe) {
		struct ptx_opnd left = inst_fresh(cx, PTX_TYPE_B32);

		inst_emit(cx, e->stmt, is_shared ? "step_shared" : "step_global",
			  T(inst_num(inst_iguard_what(k, e))),
			  H(me, state, entry, inst_reg(cx, k->spans), left));
		inst_emit(cx, e->stmt, "step_left",
			  T(inst_num(inst_iguard_what(k, e)), inst_num(RACE_IGUARD_FOR_ALL_AT)),
			  H(left, what, ptx_opnd_label(over)));
	}
	inst_emit_label(cx, e->stmt, far);
}
