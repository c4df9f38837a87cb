/*
 * hirace.h - what the files of detector `hirace` in this room share: hirace.c, fast.c.
 */
#ifndef COLLIDER_INSTRUMENT_HIRACE_H
#define COLLIDER_INSTRUMENT_HIRACE_H

#include "instrument/follower.h"

#define LAUNCH_BITS ((int64_t)HIRACE_LAUNCH_LAST << HIRACE_LAUNCH_AT)
#define SAME_BITS   (LAUNCH_BITS | (int64_t)HIRACE_WARP_LAST << HIRACE_WARP_AT)

struct inst_hirace_kernel {
	struct inst_follow f;	     /* its state: release stamps */
	uint32_t span, first, fresh; /* registers */
	bool has_fresh;		     /* words of other launches are replaced by inlined code */
	bool has_left;		     /* ... which leaves the site beside them, if the run asks */
	bool has_stamps, has_table, has_sites;
	uint32_t tracked;
};

/* What the machine does with an access of this kind: a bit for each state that stays, by the thread
 * that made the word since the last barriers: this one, one of its warp, of its block; `grid`: any
 * thread, at any time. */
struct inst_hirace_fast {
	uint32_t self, warp, block, grid;
	uint32_t synced; /* in the block, after its barrier */
};

/* fast.c. enum hirace_access of an access; is_look: it is judged only. */
uint32_t inst_hirace_access(const struct inst_event *e);
struct inst_hirace_fast inst_hirace_fast(uint32_t access, bool is_look);

/* What a check is given: site, access and words (RACE_HISTORY_*), also as a
 * number's text. */
int64_t inst_hirace_what_bits(const struct inst_hirace_kernel *k, const struct inst_event *e);
struct ptx_str inst_hirace_what(const struct inst_hirace_kernel *k, const struct inst_event *e);

/* The words that inlined code decides, 4 bytes each; 0: the access is called. */
unsigned inst_hirace_words(const struct inst_hirace_kernel *k, const struct inst_event *e);
bool inst_hirace_is_byte(const struct inst_hirace_kernel *k, const struct inst_event *e);

/* The inlined code: what it decides goes to `over`, what it doesn't falls through to the call. */
void inst_hirace_put_fast(struct inst_hirace_kernel *k, const struct inst_event *e, unsigned words,
			  struct ptx_opnd at, struct ptx_label *over);
void inst_hirace_put_byte(struct inst_hirace_kernel *k, const struct inst_event *e,
			  struct ptx_opnd at, struct ptx_label *over);

#endif
