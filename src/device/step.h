/*
 * step.h - the common accesses of detector `hirace` on the device: one word, one step, no report.
 *
 *	__collider_history_step		global memory: 1 where history.cu must be asked
 *	__collider_history_step_s	shared memory, the same
 *
 * The same machine as shadow/update.h, for the cases where nothing but the machine decides. Blocks
 * have a power of two of thread numbers (shadow_block_stride), so the relation of two threads is
 * seen in the difference of two words: above bit 32 nothing differs within a warp and one interval
 * between barriers, and less than `span` within a block. What is left to history.cu: races, states
 * beyond the table, threads that are aside, words with sites beside them in global memory. It
 * judges the access again, which is safe: a word that has this access stays as it is.
 *
 * Costs: some 60 instructions and a compare-and-swap for each word that moves on; no memory of the
 * thread's own.
 */
#ifndef COLLIDER_DEVICE_STEP_H
#define COLLIDER_DEVICE_STEP_H

enum step { STEP_STAYS, STEP_MOVES, STEP_ASK };

/* What all words of an access have in common. */
struct step_actor {
	uint64_t me;
	uint32_t span, access, stamp;
	const uint8_t *table;
};

DEV_FN enum step dev_step(const struct step_actor *a, uint64_t was, uint64_t *next)
{
	uint64_t differs = was ^ a->me;
	uint32_t low = (uint32_t)differs, high = (uint32_t)(differs >> 32);
	uint32_t state = (uint32_t)was & SHADOW_NEXT, stamp = a->stamp, entry;
	uint32_t clock_at = RACE_ACTOR_BITS(a->me) + SHADOW_PLACE_AT - 32u;
	uint32_t sync = SHADOW_SYNC_U, relation, place = high & ((1u << clock_at) - 1u);

	relation = place >= a->span	    ? SHADOW_GRID
		   : place		    ? SHADOW_BLOCK
		   : low >> SHADOW_PLACE_AT ? SHADOW_WARP
					    : SHADOW_SELF;
	if (high >> clock_at)
		sync = SHADOW_SYNC_B;
	else if (relation <= SHADOW_WARP && low & SHADOW_WARP_LAST << SHADOW_WARP_AT)
		sync = SHADOW_SYNC_W;
	if (low & SHADOW_LAUNCH_LAST << SHADOW_LAUNCH_AT)
		state = SHADOW_INIT;
	if (state >= SHADOW_STATES)
		return STEP_ASK;
	entry = a->table[shadow_entry(state, a->access, sync, relation)];
	if (state != SHADOW_INIT && entry & SHADOW_KEEP)
		return STEP_STAYS;
	if ((entry & SHADOW_NEXT) == SHADOW_RACE)
		return STEP_ASK;
	if (state != SHADOW_INIT && !(entry & SHADOW_COVERS) &&
	    shadow_bits(was, SHADOW_STAMP_AT, SHADOW_STAMP_BITS) < stamp)
		stamp = shadow_bits(was, SHADOW_STAMP_AT, SHADOW_STAMP_BITS);
	*next = (a->me & ~(uint64_t)((1u << SHADOW_WARP_AT) - 1u)) | stamp << SHADOW_STAMP_AT |
		(entry & SHADOW_NEXT);
	return STEP_MOVES;
}

DEV_FN struct step_actor dev_step_actor(uint64_t me, uint64_t stamps, uint64_t what, uint32_t span)
{
	struct step_actor a = {me, span, RACE_HISTORY_ACCESS(what), 0, __collider_history_table};

	if (stamps)
		a.stamp = ((const struct shadow_stamps *)stamps)->own.now;
	if (a.stamp > SHADOW_STAMP_FULL)
		a.stamp = SHADOW_STAMP_FULL;
	return a;
}

DEV_FN uint32_t dev_step_words(uint64_t what)
{
	return 32u - __clz(RACE_HISTORY_SURE(what));
}

DEV_FN uint64_t dev_load_shared(uint32_t at)
{
	uint64_t v;

	asm volatile("ld.relaxed.cta.shared.u64 %0, [%1];" : "=l"(v) : "r"(at));
	return v;
}

DEV_FN uint64_t dev_cas_shared(uint32_t at, uint64_t old, uint64_t now)
{
	uint64_t v;

	asm volatile("atom.relaxed.cta.shared.cas.b64 %0, [%1], %2, %3;"
		     : "=l"(v)
		     : "r"(at), "l"(old), "l"(now));
	return v;
}

template <bool is_shared> DEV_FN uint64_t dev_word_load(uint64_t at)
{
	return is_shared ? dev_load_shared((uint32_t)at) : dev_load64(at);
}

template <bool is_shared> DEV_FN uint64_t dev_word_cas(uint64_t at, uint64_t old, uint64_t now)
{
	return is_shared ? dev_cas_shared((uint32_t)at, old, now) : dev_cas64(at, old, now);
}

/* One word at `at`. STEP_MOVES: *next is there now. */
template <bool is_shared>
DEV_FN enum step dev_step_word(const struct step_actor *a, uint64_t at, uint64_t *next)
{
	uint64_t was = dev_word_load<is_shared>(at), found;

#pragma unroll 1
	for (;;) {
		enum step s = dev_step(a, was, next);
		if (s != STEP_MOVES)
			return s;
		found = dev_word_cas<is_shared>(at, was, *next);
		if (found == was)
			return s;
		was = found;
	}
}

extern "C" __device__ __noinline__ uint32_t __collider_history_step(uint64_t me, uint64_t stamps,
								    uint64_t at, uint64_t word,
								    uint64_t what, uint32_t span)
{
	struct step_actor a = dev_step_actor(me, stamps, what, span);
	uint64_t sites, next;
	uint32_t n = dev_step_words(what);

	FIELD(sites, 80);
	if (span & RACE_HISTORY_ASKS || sites || at >> RACE_HISTORY_ADDRESS_BITS ||
	    RACE_ACTOR_HAS(me) == 0 || me & (RACE_ACTOR_ASIDE | RACE_ACTOR_BESIDE))
		return 1;
#pragma unroll 1
	for (uint32_t i = 0; i < n; i++, word += 8)
		if (dev_step_word<false>(&a, word, &next) == STEP_ASK)
			return 1;
	return 0;
}

/* left: where what lies beside the first word is, or 0. */
extern "C" __device__ __noinline__ uint32_t __collider_history_step_s(uint64_t me, uint64_t stamps,
								      uint32_t left, uint32_t word,
								      uint64_t what, uint32_t span)
{
	struct step_actor a = dev_step_actor(me, stamps, what, span);
	uint64_t next;
	uint32_t n = dev_step_words(what);

	if (span & RACE_HISTORY_ASKS || RACE_ACTOR_HAS(me) == 0 || me & RACE_ACTOR_ASIDE)
		return 1;
#pragma unroll 1
	for (uint32_t i = 0; i < n; i++, word += 8) {
		enum step s = dev_step_word<true>(&a, word, &next);
		if (s == STEP_ASK)
			return 1;
		if (s == STEP_MOVES && left)
			asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"(left + 4u * i),
				     "r"(race_history_left(RACE_HISTORY_SITE(what), next)));
	}
	return 0;
}

#endif
