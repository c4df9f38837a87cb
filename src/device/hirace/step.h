/*
 * step.h - part of hirace.cu: the common accesses, by one word and one step, without a report.
 *
 *	__collider_hirace_step		global memory: 1 where hirace.cu must be asked
 *	__collider_hirace_step_s	shared memory, the same, of several words
 *	__collider_hirace_peers, _s	the same for all lanes of a warp that access one word
 *
 * The same machine as hirace/update.h, for the cases where nothing but the machine decides. Blocks
 * have a power of two of thread numbers (hirace_block_stride), so the relation of two threads is
 * seen in the difference of two words: above bit 32 nothing differs within a warp and one interval
 * between barriers, and less than `span` within a block. What is left to hirace.cu: races, states
 * beyond the table, threads that are aside. It judges the access again, which is safe: a word that
 * has this access stays as it is.
 *
 * Costs: some 60 instructions and a compare-and-swap for each word that moves on; no memory of the
 * thread's own.
 */
#ifndef COLLIDER_DEVICE_HIRACE_STEP_H
#define COLLIDER_DEVICE_HIRACE_STEP_H

enum step { STEP_STAYS, STEP_MOVES, STEP_ASK };

/* What all words of an access have in common. */
struct step_actor {
	uint64_t me;
	uint32_t span, access, stamp;
	const uint8_t *table;
	bool has_stamps;
};

DEV_FN enum step dev_step(const struct step_actor *a, uint64_t was, uint64_t *next)
{
	uint64_t differs = was ^ a->me;
	uint32_t low = (uint32_t)differs, high = (uint32_t)(differs >> 32);
	uint32_t state = (uint32_t)was & HIRACE_NEXT, stamp = a->stamp, entry;
	uint32_t clock_at = RACE_ACTOR_BITS(a->me) + HIRACE_PLACE_AT - 32u;
	uint32_t sync = HIRACE_SYNC_U, relation, place = high & ((1u << clock_at) - 1u);

	relation = place >= a->span	    ? HIRACE_GRID
		   : place		    ? HIRACE_BLOCK
		   : low >> HIRACE_PLACE_AT ? HIRACE_WARP
					    : HIRACE_SELF;
	if (high >> clock_at)
		sync = HIRACE_SYNC_B;
	else if (relation <= HIRACE_WARP && low & HIRACE_WARP_LAST << HIRACE_WARP_AT)
		sync = HIRACE_SYNC_W;
	if (low & HIRACE_LAUNCH_LAST << HIRACE_LAUNCH_AT)
		state = HIRACE_INIT;
	if (state >= HIRACE_STATES)
		return STEP_ASK;
	entry = a->table[hirace_entry(state, a->access, sync, relation)];
	/* What has raced is asked for the stamps' sake: hirace_open(). */
	if (state == HIRACE_RACE && a->has_stamps)
		return STEP_ASK;
	if (state != HIRACE_INIT && entry & HIRACE_KEEP)
		return STEP_STAYS;
	if ((entry & HIRACE_NEXT) == HIRACE_RACE)
		return STEP_ASK;
	if (state != HIRACE_INIT && !(entry & HIRACE_COVERS) &&
	    hirace_bits(was, HIRACE_STAMP_AT, HIRACE_STAMP_BITS) < stamp)
		stamp = hirace_bits(was, HIRACE_STAMP_AT, HIRACE_STAMP_BITS);
	*next = (a->me & ~(uint64_t)((1u << HIRACE_WARP_AT) - 1u)) | stamp << HIRACE_STAMP_AT |
		(entry & HIRACE_NEXT);
	return STEP_MOVES;
}

DEV_FN struct step_actor dev_step_actor(uint64_t me, uint64_t stamps, uint64_t what, uint32_t span)
{
	struct step_actor a = {
		me, span, RACE_HISTORY_ACCESS(what), 0, __collider_hirace_table, stamps != 0};

	if (stamps)
		a.stamp = ((const struct race_stamps *)stamps)->own.now;
	if (a.stamp > HIRACE_STAMP_FULL)
		a.stamp = HIRACE_STAMP_FULL;
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

/*
 * All lanes that are here, if there are several and all of them are here for the same word with the
 * same clocks; else 0. Lanes of one warp take three steps together at most (dev_step_peers), so one
 * of them does the work. Kernels with release stamps have numbers of each thread's own: there a
 * lane is alone. match.all and not match.any: most accesses are of different words, and must not
 * pay.
 */
DEV_FN uint32_t dev_step_peers_of(uint64_t me, uint64_t word, uint64_t what, uint64_t stamps)
{
	uint32_t same_word, same_clock;

	if (stamps)
		return 0;
	/* Lanes of two calls could meet here: addresses leave bits for the site. */
	word ^= (uint64_t)RACE_HISTORY_SITE(what) << RACE_HISTORY_ADDRESS_BITS;
	/* One block, see dev_peers. */
	asm volatile("{\n\t"
		     ".reg .b32 dev_here;\n\t"
		     "activemask.b32 dev_here;\n\t"
		     "match.all.sync.b64 %0, %2, dev_here;\n\t"
		     "match.all.sync.b64 %1, %3, dev_here;\n\t"
		     "}"
		     : "=&r"(same_word), "=&r"(same_clock)
		     : "l"(word), "l"(me & ~(31ull << HIRACE_PLACE_AT)));
	same_word &= same_clock;
	return same_word & (same_word - 1u) ? same_word : 0;
}

/*
 * What the same access of all `peers` makes of a word, one after the other. The lane in the word
 * goes first. After a lane that changes nothing and isn't the word's own, all others change
 * nothing: they are related to the word as that one is.
 */
DEV_FN enum step dev_step_peers(const struct step_actor *a, uint32_t peers, uint64_t was,
				uint64_t *next)
{
	uint64_t others = a->me & ~(31ull << HIRACE_PLACE_AT), now = was, then;
	uint32_t lane = (uint32_t)(a->me >> HIRACE_PLACE_AT) & 31u;
	enum step s = STEP_STAYS;
	struct step_actor as = *a;

	if (peers & (peers - 1u))
		lane = (uint32_t)(was >> HIRACE_PLACE_AT) & 31u;
	if (!(peers >> lane & 1u))
		lane = (uint32_t)__ffs((int)peers) - 1u;
#pragma unroll 1
	for (uint32_t i = 0; peers && i < 4u; i++) {
		bool is_own = ((uint32_t)(now >> HIRACE_PLACE_AT) & 31u) == lane;
		as.me = others | (uint64_t)lane << HIRACE_PLACE_AT;
		s = dev_step(&as, now, &then);
		if (s == STEP_ASK)
			return s;
		if (s == STEP_STAYS && !is_own) {
			peers = 0;
			break;
		}
		if (s == STEP_MOVES)
			now = then;
		peers &= ~(1u << lane);
		lane = (uint32_t)__ffs((int)peers) - 1u;
	}
	*next = now;
	return peers ? STEP_ASK : now == was ? STEP_STAYS : STEP_MOVES;
}

/* What lies beside a word that has moved on from `was` to `next`; left: where, or 0. Of shared
 * memory it has the last access alone. */
template <bool is_shared>
DEV_FN void dev_step_left(const struct step_actor *a, uint64_t left, uint64_t what, uint64_t was,
			  uint64_t next)
{
	uint32_t older = 0, now;

	if (!left)
		return;
	if (!is_shared && !((was ^ a->me) >> HIRACE_LAUNCH_AT & HIRACE_LAUNCH_LAST)) {
		older = dev_word32((const void *)left);
		older = race_history_is_of(older, was) ? older : 0;
	}
	now = race_history_mix(next) |
	      race_history_sites(RACE_HISTORY_SITE(what), RACE_HISTORY_ACCESS(what) == HIRACE_W,
				 RACE_HISTORY_ACCESS(what) > HIRACE_W, older);
	if (is_shared)
		asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" ::"r"((uint32_t)left), "r"(now));
	else
		asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(left), "r"(now));
}

/* One word at `at`, for this lane, and what lies beside it at `left`, or 0. */
template <bool is_shared>
DEV_FN enum step dev_step_word(const struct step_actor *a, uint64_t at, uint64_t left,
			       uint64_t what)
{
	uint64_t was = dev_word_load<is_shared>(at), found, next;

#pragma unroll 1
	for (;;) {
		enum step s = dev_step(a, was, &next);
		if (s != STEP_MOVES)
			return s;
		found = dev_word_cas<is_shared>(at, was, next);
		if (found == was) {
			dev_step_left<is_shared>(a, left, what, was, next);
			return s;
		}
		was = found;
	}
}

/* The words of an access, or of several; `peers` share them out. shape: RACE_STEP_SHAPE. */
template <bool is_shared>
DEV_FN bool dev_step_shared_out(const struct step_actor *a, uint32_t peers, uint64_t word,
				uint64_t left, uint64_t what, uint32_t shape)
{
	uint32_t n = RACE_STEP_WORDS(shape), far = RACE_STEP_FAR(shape), below;
	bool asks = false;
	uint64_t next;

	DEV_SREG32(below, "%lanemask_lt");
#pragma unroll 1
	for (uint32_t i = (uint32_t)__popc(peers & below); i < n; i += (uint32_t)__popc(peers)) {
		uint64_t at = word + 8u * far * i, was = dev_word_load<is_shared>(at), found;
		enum step s;
#pragma unroll 1
		for (;;) {
			s = dev_step_peers(a, peers, was, &next);
			if (s != STEP_MOVES)
				break;
			found = dev_word_cas<is_shared>(at, was, next);
			if (found == was)
				break;
			was = found;
		}
		asks |= s == STEP_ASK;
		if (s == STEP_MOVES)
			dev_step_left<is_shared>(a, left ? left + 4u * far * i : 0, what, was,
						 next);
	}
	return asks;
}

/* The two for all lanes together: functions of their own, so that others don't pay in registers. */
extern "C" __device__ __noinline__ uint32_t __collider_hirace_peers(uint64_t me, uint32_t peers,
								    uint64_t word, uint64_t left,
								    uint64_t what, uint32_t span)
{
	struct step_actor a = dev_step_actor(me, 0, what, span);

	return (uint32_t)__any_sync(
		peers, dev_step_shared_out<false>(&a, peers, word, left, what,
						  RACE_STEP_SHAPE(dev_step_words(what), 1u)));
}

/* Where the sites of a word of global memory are, or of a byte's; 0: the run keeps none. */
DEV_FN uint64_t dev_step_beside(uint64_t word, uint64_t what)
{
	uint64_t sites, pool;

	FIELD(sites, 80);
	if (!sites)
		return 0;
	FIELD(pool, 72);
	if (RACE_HISTORY_NARROW((uint32_t)what)) {
		FIELD(sites, 104);
		FIELD(pool, 96);
	}
	return dev_beside(word, pool, sites);
}

extern "C" __device__ __noinline__ uint32_t __collider_hirace_peers_s(uint64_t me, uint32_t peers,
								      uint32_t left, uint32_t word,
								      uint64_t what, uint32_t span,
								      uint32_t shape)
{
	struct step_actor a = dev_step_actor(me, 0, what, span);

	return (uint32_t)__any_sync(peers,
				    dev_step_shared_out<true>(&a, peers, word, left, what, shape));
}

extern "C" __device__ __noinline__ uint32_t __collider_hirace_step(uint64_t me, uint64_t stamps,
								   uint64_t at, uint64_t word,
								   uint64_t what, uint32_t span)
{
	struct step_actor a;
	uint32_t n = dev_step_words(what), peers;
	uint64_t left;

	if (span & RACE_HISTORY_ASKS || at >> RACE_HISTORY_ADDRESS_BITS ||
	    RACE_ACTOR_HAS(me) == 0 || me & (RACE_ACTOR_ASIDE | RACE_ACTOR_BESIDE))
		return 1;
	left = dev_step_beside(word, what);
	peers = dev_step_peers_of(me, word, what, stamps);
	if (peers)
		return __collider_hirace_peers(me, peers, word, left, what, span);
	a = dev_step_actor(me, stamps, what, span);
#pragma unroll 1
	for (uint32_t i = 0; i < n; i++, word += 8, left += left ? 4 : 0)
		if (dev_step_word<false>(&a, word, left, what) == STEP_ASK)
			return 1;
	return 0;
}

/* left: where what lies beside the first word is, or 0. shape: RACE_STEP_SHAPE. */
extern "C" __device__ __noinline__ uint32_t __collider_hirace_step_s(uint64_t me, uint64_t stamps,
								     uint32_t left, uint32_t word,
								     uint64_t what, uint32_t span,
								     uint32_t shape)
{
	struct step_actor a;
	uint32_t n = RACE_STEP_WORDS(shape), far = RACE_STEP_FAR(shape), peers;

	if (span & RACE_HISTORY_ASKS || RACE_ACTOR_HAS(me) == 0 || me & RACE_ACTOR_ASIDE)
		return 1;
	peers = dev_step_peers_of(me, word, what, stamps);
	if (peers)
		return __collider_hirace_peers_s(me, peers, left, word, what, span, shape);
	a = dev_step_actor(me, stamps, what, span);
#pragma unroll 1
	for (uint32_t i = 0; i < n; i++, word += 8u * far) {
		enum step s = dev_step_word<true>(&a, word, left ? left + 4u * far * i : 0, what);
		if (s == STEP_ASK)
			return 1;
	}
	return 0;
}

#endif
