/*
 * live.c - a trial's memory, asked for over a socket (race/judge/wire.h).
 *
 * The process that answers is not the program: it keeps what other trials of the launch have asked
 * for already. If it is gone, nothing can be had, and the trial ends as one that reads memory which
 * isn't known.
 */
#include "judge/live.h"
#include "race/judge/wire.h"

#include <string.h>

_Static_assert(RACE_JUDGE_DEVICE == CPU_MEM_DEVICE + 1 &&
		       RACE_JUDGE_MANAGED == CPU_MEM_MANAGED + 1 &&
		       RACE_JUDGE_HOST == CPU_MEM_HOST + 1 &&
		       RACE_JUDGE_VARIABLE == CPU_MEM_MODULE + 1,
	       "as the program's half numbers them");

/* Asks; the answer's bytes are to be read then. -1: there is none. */
static int64_t ask(int fd, enum race_judge_op op, const void *head, size_t n, const char *name)
{
	struct race_judge_message msg;

	if (!race_judge_send(fd, op, 0, head, n, name, name ? strlen(name) : 0) ||
	    !race_judge_next(fd, &msg) || msg.op != RACE_JUDGE_ANSWER)
		return -1;
	return msg.bytes;
}

static bool answer(int fd, int64_t got, void *to, size_t n)
{
	if (got < 0)
		return false;
	if ((size_t)got == n)
		return race_judge_read(fd, to, n);
	(void)race_judge_skip(fd, (size_t)got);
	return false;
}

static bool memory(void *arg, uint64_t addr, struct cpu_mem_info *out)
{
	int fd = *(int *)arg;
	struct race_judge_memory m;

	if (!answer(fd, ask(fd, RACE_JUDGE_ASK_MEMORY, &addr, sizeof(addr), NULL), &m, sizeof(m)) ||
	    !m.kind || m.kind > CPU_MEM_MODULE + 1u)
		return false;
	*out = (struct cpu_mem_info){
		.base = m.base, .bytes = m.bytes, .kind = (enum cpu_mem_kind)(m.kind - 1)};
	return true;
}

static bool page(void *arg, uint64_t addr, uint64_t bytes, void *to)
{
	int fd = *(int *)arg;
	struct race_judge_range r = {addr, bytes};

	return answer(fd, ask(fd, RACE_JUDGE_ASK_PAGE, &r, sizeof(r), NULL), to, bytes);
}

static bool after(void *arg, uint64_t addr, uint64_t bytes, void *to)
{
	int fd = *(int *)arg;
	struct race_judge_range r = {addr, bytes};

	return answer(fd, ask(fd, RACE_JUDGE_ASK_AFTER, &r, sizeof(r), NULL), to, bytes);
}

static uint64_t place(void *arg, const char *name, unsigned nth, uint64_t bytes)
{
	int fd = *(int *)arg;
	struct race_judge_symbol s = {.bytes = bytes, .nth = nth, .is_function = bytes == 0};
	uint64_t addr = 0;

	return answer(fd, ask(fd, RACE_JUDGE_ASK_PLACE, &s, sizeof(s), name), &addr, sizeof(addr))
		       ? addr
		       : 0;
}

struct judge_source judge_live_source(int *fd)
{
	return (struct judge_source){.memory = memory,
				     .page = page,
				     .after = after,
				     .place = place,
				     .page_bytes = RACE_JUDGE_PAGE,
				     .arg = fd};
}
