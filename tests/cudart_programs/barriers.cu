/*
 * barriers.cu - what each form of a barrier waits for: the rows of docs/cpu-device.md.
 *
 * A thread marks itself before it arrives (M), or before it leaves the kernel late; one that has
 * passed the barrier counts the marks (SEEN): those of a thread that it should have waited for are
 * missing if it didn't. S notes another number, E that a thread came to its end. A row says what
 * each range of threads noted, "hang" or "illegal", on the CPU device and, where that differs, on
 * an H100 (`barriers` alone runs all, on either; `barriers NAME` one). Each row is a process of its
 * own; on a GPU one that hasn't ended after 1.5 seconds hangs.
 */
#include <ctime>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"

#define MARKS 256
struct row_mem { volatile int marks[MARKS]; int out[MARKS]; volatile int flag; };
#define D __device__ __forceinline__
#define BAR(name, text)                                                                            \
	D void name(int id, int n) { asm volatile(text ::"r"(id), "r"(n) : "memory"); }
BAR(sync_n, "bar.sync %0, %1;")
BAR(arrive_n, "bar.arrive %0, %1;")
D void sync_(int id) { asm volatile("bar.sync %0;" ::"r"(id) : "memory"); }
/* Not .aligned: by lanes. */
BAR(lsync_n, "barrier.sync %0, %1;")
BAR(larrive_n, "barrier.arrive %0, %1;")
D void lsync(int id) { asm volatile("barrier.sync %0;" ::"r"(id) : "memory"); }
#define RED(name, text)                                                                            \
	D int name(int id, int n, int v)                                                           \
	{                                                                                          \
		int r;                                                                             \
		asm volatile(text : "=r"(r) : "r"(id), "r"(n), "r"(v) : "memory");                 \
		return r;                                                                          \
	}
RED(popc_n, "{.reg .pred p;\nsetp.ne.u32 p, %3, 0;\nbar.red.popc.u32 %0, %1, %2, p;}")
RED(lpopc_n, "{.reg .pred p;\nsetp.ne.u32 p, %3, 0;\nbarrier.red.popc.u32 %0, %1, %2, p;}")
RED(and_n, "{.reg .pred p, q;\nsetp.ne.u32 p, %3, 0;\nbar.red.and.pred q, %1, %2, p;\n"
	   "selp.u32 %0, 1, 0, q;}")
RED(or_n, "{.reg .pred p, q;\nsetp.ne.u32 p, %3, 0;\nbar.red.or.pred q, %1, %2, p;\n"
	  "selp.u32 %0, 1, 0, q;}")
#define RED0(name, text)                                                                           \
	D int name(int id, int v)                                                                  \
	{                                                                                          \
		int r;                                                                             \
		asm volatile(text : "=r"(r) : "r"(id), "r"(v) : "memory");                         \
		return r;                                                                          \
	}
RED0(popc_, "{.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nbar.red.popc.u32 %0, %1, p;}")
RED0(lpopc_, "{.reg .pred p;\nsetp.ne.u32 p, %2, 0;\nbarrier.red.popc.u32 %0, %1, p;}")
RED0(and_, "{.reg .pred p, q;\nsetp.ne.u32 p, %2, 0;\nbar.red.and.pred q, %1, p;\n"
	   "selp.u32 %0, 1, 0, q;}")
RED0(or_, "{.reg .pred p, q;\nsetp.ne.u32 p, %2, 0;\nbar.red.or.pred q, %1, p;\n"
	  "selp.u32 %0, 1, 0, q;}")
#define c_arrive() asm volatile("barrier.cluster.arrive.release;" ::: "memory")
#define c_wait() asm volatile("barrier.cluster.wait.acquire;" ::: "memory")
#define c_arrive_al() asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory")
#define c_wait_al() asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory")
#define warp_sync(m) asm volatile("bar.warp.sync %0;" ::"r"(m) : "memory")
typedef unsigned long long bar_t;
#define SA(p) ((unsigned)__cvta_generic_to_shared(p))
#define MB_OP(name, text)                                                                          \
	D void name(bar_t *b, int n)                                                               \
	{                                                                                          \
		asm volatile(text ::"r"(SA(b)), "r"(n) : "memory");                                \
	}
MB_OP(m_init, "mbarrier.init.shared::cta.b64 [%0], %1;")
MB_OP(m_arrive, "mbarrier.arrive.release.cta.shared::cta.b64 _, [%0], %1;")
MB_OP(m_drop, "mbarrier.arrive_drop.release.cta.shared::cta.b64 _, [%0], %1;")
MB_OP(m_expect, "mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;")
MB_OP(m_noinc, "cp.async.mbarrier.arrive.noinc.shared.b64 [%0];")
MB_OP(m_inc, "cp.async.mbarrier.arrive.shared.b64 [%0];")
MB_OP(m_remote, "{.reg .b32 a;\nmapa.shared::cluster.u32 a, %0, %1;\n"
		"mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a];}")
D bool m_test(bar_t *b, int parity)
{
	int r;
	asm volatile("{.reg .pred p;\n"
		     "mbarrier.test_wait.parity.acquire.cta.shared::cta.b64 p, [%1], %2;\n"
		     "selp.u32 %0, 1, 0, p;}"
		     : "=r"(r)
		     : "r"(SA(b)), "r"(parity)
		     : "memory");
	return r;
}
/* Copies whose end arrives at b (noinc: as one of the arrivals that it expects): 4 bytes, 128. */
D void copy_4(int *to, const int *from, bar_t *b, bool noinc)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(SA(to)), "l"(from)
		     : "memory");
	if (noinc)
		m_noinc(b, 0);
	else
		m_inc(b, 0);
}
D void copy_bulk(int *to, const int *from, bar_t *b)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		     "[%0], [%1], 128, [%2];" ::"r"(SA(to)), "l"(from), "r"(SA(b)) : "memory");
}
D void nap(int us)
{
	for (int i = 0; i < us; i += 50)
		__nanosleep(50000);
}
D void mark(row_mem *m, int t) { m->marks[t] = 1; __threadfence(); }
D int seen(row_mem *m)
{
	int s = 0;
	for (int i = 0; i < MARKS; i++)
		s += m->marks[i];
	return s;
}
/* Is the flag set within 3 ms? */
D bool flagged(row_mem *m)
{
	for (int i = 0; i < 60; i++) {
		if (m->flag)
			return true;
		__nanosleep(50000);
	}
	return false;
}
D bool m_wait(bar_t *b, int parity)
{
	for (int i = 0; i < 2000; i++) {
		if (m_test(b, parity))
			return true;
		__nanosleep(2000);
	}
	return false;
}

struct row {
	const char *name;
	void (*k)(row_mem *, int, int);
	int blocks, threads, n, n2;
	const char *want;
};
static row rows[200];
static int nrows;
struct adds { adds(row r) { rows[nrows++] = r; } };
#define ROWC(name, blocks, threads, n_, n2_, want, ...)                                            \
	__global__ void name(row_mem *m, int n, int n2)                                            \
	{                                                                                          \
		const int t = threadIdx.x + blockIdx.x * blockDim.x, w = t / 32, l = t % 32;       \
		(void)w, (void)l;                                                         \
		__VA_ARGS__                                                                        \
	}                                                                                          \
	static adds add_##name({#name, name, blocks, threads, n_, n2_, want});
#define ROW(name, threads, n, n2, ...) ROWC(name, 1, threads, n, n2, __VA_ARGS__)
#define SAME(s)	      s
#define OTHER(c, g)   c "|" g /* CPU device, H100 */
#define M mark(m, t)
#define S(r) (m->out[t] = (r))
#define SEEN S(seen(m))
#define E (*(volatile int *)&m->out[t] = -2) /* it ended without having passed */

/* ---- a count, whole warps -------------------------------------------------------------------- */
ROW(arrive_exit, 64, 64, 0, SAME("32-63:64"),
	if (w == 0) { nap(200); M; arrive_n(1, n); return; } M; sync_n(1, n); SEEN;)
ROW(arrive_exit_first, 64, 64, 0, SAME("32-63:64"),
	if (w == 0) { M; arrive_n(1, n); return; } nap(200); M; sync_n(1, n); SEEN;)
ROW(arrive_exit_all, 96, 96, 0, SAME("32-95:96"),
	if (w == 0) { M; arrive_n(1, n); return; } if (w == 2) nap(300); M; sync_n(1, n); SEEN;)
ROW(arrive_stay, 96, 96, 0, SAME("32-95:96"),
	if (w == 0) { M; arrive_n(1, n); nap(600); return; } if (w == 2) nap(300); M;
	sync_n(1, n); SEEN;)
ROW(exit_count, 96, 96, 0, SAME("hang"),
	if (w == 2) return; M; sync_n(1, n); SEEN;)
ROW(exit_count_late, 96, 96, 0, SAME("hang"),
	if (w == 2) { nap(200); M; return; } M; sync_n(1, n); SEEN;)
ROW(exit_count_0, 96, 96, 0, SAME("hang"),
	if (w == 2) return; M; sync_n(0, n); SEEN;)
ROW(exit_fewer, 96, 64, 0, SAME("0-63:64"),
	if (w == 2) { nap(300); M; return; } M; sync_n(1, n); SEEN;)
ROW(arrive_twice, 64, 96, 0, SAME("32-63:64"),
	if (w == 0) { M; arrive_n(1, n); arrive_n(1, n); return; } nap(100); M; sync_n(1, n);
	SEEN;)
ROW(arrive_twice_alone, 64, 64, 0, SAME("hang"),
	if (w == 0) { arrive_n(1, n); arrive_n(1, n); return; } nap(100); M; sync_n(1, n); SEEN;)
ROW(arrive_thrice, 128, 64, 0, SAME("96-127:128"),
	if (w < 3) { M; arrive_n(1, n); return; } nap(100); M; sync_n(1, n); SEEN;)
ROW(sync_thrice, 96, 64, 0, SAME("hang"),
	nap(w * 100); M; sync_n(1, n); SEEN;)
ROW(left_open, 64, 64, 0, SAME("0-63:64"),
	if (w == 0) arrive_n(1, n); M; SEEN;)
ROW(two_rounds, 96, 64, 0, SAME("32-95:96"),
	M; if (w == 0) { sync_n(1, n); sync_n(2, 32); arrive_n(1, n); return; } if (w == 1) {
	sync_n(1, n); SEEN; return; } nap(200); sync_n(1, n); SEEN;)

/* ---- a count, parts of warps ----------------------------------------------------------------- */
ROW(half_exit, 64, 64, 0, SAME("0-47:48"),
	if (w == 1 && l >= 16) return; M; sync_n(1, n); SEEN;)
ROW(half_exit_arrive, 64, 64, 0, SAME("0-31:48"),
	if (w == 1 && l >= 16) return; M; if (w == 1) { arrive_n(1, n); return; } sync_n(1, n);
	SEEN;)
ROW(half_exit_late, 64, 64, 0, SAME("0-47:64"),
	if (w == 1 && l >= 16) { nap(300); M; return; } M; lsync_n(1, n); SEEN;)
ROW(half_exit_late_al, 64, 64, 0, SAME("0-47:64"),
	if (w == 1 && l >= 16) { nap(300); M; return; } M; sync_n(1, n); SEEN;)
ROW(half_exit_late_arrive, 64, 64, 0, SAME("0-31:64"),
	if (w == 1 && l >= 16) { nap(300); M; return; } M; if (w == 1) { larrive_n(1, n); return;
	} lsync_n(1, n); SEEN;)
ROW(half_exit_late_arrive_al, 64, 64, 0, SAME("0-31:64"),
	if (w == 1 && l >= 16) { nap(300); M; return; } M; if (w == 1) { arrive_n(1, n); return;
	} sync_n(1, n); SEEN;)
ROW(half_away, 64, 64, 0, SAME("0-47:48 48-63:1001"),
	if (w == 1 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; } M; lsync_n(1, n);
	m->flag = 1; SEEN;)
ROW(half_away_al, 64, 64, 0, SAME("0-47:48 48-63:1001"),
	if (w == 1 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; } M; sync_n(1, n);
	m->flag = 1; SEEN;)
ROW(half_away_arrive, 64, 64, 0, SAME("0-31:48 48-63:1001"),
	if (w == 1 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; } M; if (w == 1) {
	larrive_n(1, n); return; } lsync_n(1, n); m->flag = 1; SEEN;)
ROW(half_away_arrive_al, 64, 64, 0, SAME("0-31:48 48-63:1001"),
	if (w == 1 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; } M; if (w == 1) {
	arrive_n(1, n); return; } sync_n(1, n); m->flag = 1; SEEN;)
ROW(halves, 64, 64, 0, SAME("0-47:64 48-63:164"),
	if (w == 1 && l >= 16) { nap(300); M; lsync_n(1, n); S(seen(m) + 100); return; } M;
	lsync_n(1, n); SEEN;)
ROW(halves_al, 64, 64, 0, SAME("hang"),
	if (w == 1 && l >= 16) { nap(300); M; sync_n(1, n); S(seen(m) + 100); return; } M;
	sync_n(1, n); SEEN;)
ROW(halves_arrive_sync, 64, 64, 0, SAME("hang"),
	if (w == 1 && l >= 16) { nap(300); M; lsync_n(1, n); S(seen(m) + 100); return; } M;
	if (w == 1) { larrive_n(1, n); E; return; } lsync_n(1, n); SEEN;)
ROW(halves_arrive_exit, 64, 64, 0, SAME("0-31:64 48-63:-2"),
	if (w == 1 && l >= 16) { nap(300); M; larrive_n(1, n); E; return; } M; if (w == 1) {
	larrive_n(1, n); return; } lsync_n(1, n); SEEN;)
ROW(halves_sync_arrive, 64, 64, 0, SAME("hang"),
	if (w == 1 && l >= 16) { nap(300); M; larrive_n(1, n); return; } M; lsync_n(1, n); SEEN;)
ROW(elected_arrive, 64, 64, 0, SAME("hang"),
	if (w == 1) { M; if (l == 0) larrive_n(1, n); nap(300); sync_(0); return; } M;
	lsync_n(1, n); SEEN; sync_(0);)
ROW(elected_arrive_al, 64, 64, 0, SAME("hang"),
	if (w == 1) { M; if (l == 0) arrive_n(1, n); nap(300); sync_(0); return; } M;
	sync_n(1, n); SEEN; sync_(0);)
ROW(elected_arrive_exit, 64, 64, 0, SAME("0-31:64"),
	if (w == 1) { M; if (l == 0) larrive_n(1, n); nap(300); return; } M; lsync_n(1, n); SEEN;)
ROW(lanes_32_each, 64, 64, 0, SAME("0-31:64 32-63:-2"),
	if (w == 1) { M; if (l == 0) { larrive_n(1, n); } if (l == 1) { larrive_n(1, n); } E;
	return; } nap(300); M; lsync_n(1, n); SEEN;)
ROW(half_twice, 64, 64, 0, SAME("0-31:48 32-47:1000 48-63:1001"),
	if (w == 1 && l < 16) { M; larrive_n(1, n); larrive_n(1, n); S(flagged(m) ? 1000 : 1001);
	return; } if (w == 1) { S(flagged(m) ? 1000 : 1001); return; } M; lsync_n(1, n);
	m->flag = 1; SEEN;)

/* ---- counts that differ ---------------------------------------------------------------------- */
ROW(mixed_arrive_first, 64, 64, 0, SAME("illegal"),
	M; if (w == 0) { arrive_n(1, n); return; } nap(200); sync_(1); SEEN;)
ROW(mixed_sync_first, 64, 64, 0, SAME("illegal"),
	M; if (w == 0) { nap(200); arrive_n(1, n); return; } sync_(1); SEEN;)
ROW(mixed_arrive_0, 64, 64, 0, SAME("illegal"),
	M; if (w == 0) { arrive_n(0, n); return; } nap(200); sync_(0); SEEN;)
ROW(mixed_arrive_0_late, 64, 64, 0, SAME("illegal"),
	M; if (w == 0) { nap(200); arrive_n(0, n); return; } sync_(0); SEEN;)
ROW(mixed_arrive_0_stay, 64, 64, 0, SAME("illegal"),
	M; if (w == 0) { arrive_n(0, n); nap(400); return; } nap(200); sync_(0); SEEN;)
ROW(mixed_sync_count_first, 64, 64, 0, SAME("illegal"),
	M; if (w == 0) sync_n(1, n); else { nap(200); sync_(1); } SEEN;)
ROW(mixed_sync_none_first, 64, 64, 0, SAME("illegal"),
	M; if (w == 0) { nap(200); sync_n(1, n); } else sync_(1); SEEN;)
ROW(mixed_counts, 96, 64, 96, SAME("illegal"),
	M; nap(w * 100); if (w == 0) sync_n(1, n); else sync_n(1, n2); SEEN;)
ROW(mixed_counts_down, 96, 64, 96, SAME("illegal"),
	M; nap(w * 100); if (w == 0) sync_n(1, n2); else sync_n(1, n); SEEN;)
ROW(mixed_after_exit, 96, 96, 0, SAME("illegal"),
	if (w == 2) return; M; nap(100 + w * 100); if (w == 0) sync_n(1, n); else sync_(1); SEEN;)
ROW(mixed_equal_left, 96, 64, 0, SAME("illegal"),
	if (w == 2) return; M; nap(100 + w * 100); if (w == 0) sync_n(1, n); else sync_(1); SEEN;)
ROW(arrive_0_count, 64, 64, 0, SAME("32-63:64"),
	M; if (w == 0) { arrive_n(0, n); return; } nap(200); sync_n(0, n); SEEN;)

/* ---- odd counts and numbers ------------------------------------------------------------------ */
ROW(count_48, 64, 48, 0, SAME("illegal"),
	M; sync_n(1, n); SEEN;)
ROW(count_16, 32, 16, 0, SAME("illegal"),
	M; sync_n(1, n); SEEN;)
ROW(count_33, 64, 33, 0, SAME("illegal"),
	M; nap(w * 200); sync_n(1, n); SEEN;)
ROW(count_0, 64, 0, 0, SAME("0-63:64"),
	M; nap(w * 200); sync_n(1, n); SEEN;)
ROW(count_0_arrive, 64, 0, 0, SAME("illegal"),
	M; if (w == 0) { arrive_n(1, n); return; } nap(200); sync_n(1, n); SEEN;)
ROW(count_32, 64, 32, 0, SAME("0-63:64"),
	M; sync_n(1, n); SEEN;)
ROW(count_128, 64, 128, 0, SAME("hang"),
	M; sync_n(1, n); SEEN;)
ROW(count_1056, 64, 1056, 0, SAME("hang"),
	M; sync_n(1, n); SEEN;)
ROW(count_4096, 64, 4096, 0, OTHER("hang", "0-63:64"),
	M; sync_n(1, n); SEEN;)
ROW(short_none, 48, 0, 0, SAME("0-47:48"),
	nap(w * 200); M; sync_(0); SEEN;)
ROW(short_48, 48, 48, 0, SAME("illegal"),
	nap(w * 200); M; sync_n(1, n); SEEN;)
ROW(short_64, 48, 64, 0, SAME("0-47:48"),
	nap(w * 200); M; sync_n(1, n); SEEN;)
ROW(id_15, 64, 15, 0, SAME("0-63:64"),
	nap(w * 200); M; sync_(n); SEEN;)
ROW(id_16, 64, 16, 0, OTHER("illegal", "0-63:64"),
	M; sync_(n); SEEN;)
ROW(id_lanes, 64, 1, 0, SAME("illegal"),
	nap(w * 200); M; lsync_n(n + (l >= 16), 64); SEEN;)

/* ---- no count -------------------------------------------------------------------------------- */
ROW(none_exit, 96, 0, 0, SAME("0-63:64"),
	if (w == 2) return; nap(w * 200); M; sync_(1); SEEN;)
ROW(none_exit_late, 96, 0, 0, SAME("0-63:96"),
	if (w == 2) { nap(300); M; return; } M; sync_(1); SEEN;)
ROW(none_exit_late_0, 96, 0, 0, SAME("0-63:96"),
	if (w == 2) { nap(300); M; return; } M; sync_(0); SEEN;)
ROW(none_half_exit, 64, 0, 0, SAME("0-47:48"),
	if (w == 1 && l >= 16) return; nap(w * 100); M; sync_(1); SEEN;)
ROW(none_half_exit_late, 64, 0, 0, SAME("0-47:64"),
	if (w == 1 && l >= 16) { nap(300); M; return; } M; lsync(1); SEEN;)
ROW(none_half_exit_late_al, 64, 0, 0, SAME("0-47:64"),
	if (w == 1 && l >= 16) { nap(300); M; return; } M; sync_(0); SEEN;)
ROW(none_half_away, 64, 0, 0, SAME("0-47:48 48-63:1001"),
	if (w == 1 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; } M; lsync(1); m->flag = 1;
	SEEN;)
ROW(none_half_away_al, 64, 0, 0, SAME("0-47:48 48-63:1001"),
	if (w == 1 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; } M; sync_(0); m->flag = 1;
	SEEN;)
ROW(none_halves, 64, 0, 0, SAME("0-47:64 48-63:164"),
	if (w == 1 && l >= 16) { nap(300); M; lsync(0); S(seen(m) + 100); return; } M; lsync(0);
	SEEN;)
ROW(none_halves_al, 64, 0, 0, SAME("hang"),
	if (w == 1 && l >= 16) { nap(300); M; sync_(0); S(seen(m) + 100); return; } M; sync_(0);
	SEEN;)
ROW(none_arrive_all, 96, 96, 0, SAME("illegal"),
	M; if (w == 0) { arrive_n(1, n); return; } nap(200); sync_(1); SEEN;)
ROW(none_after_arrive, 64, 64, 0, SAME("32-63:32"),
	if (w == 0) { M; arrive_n(1, n); nap(300); return; } sync_n(1, n); sync_(1); SEEN;)
ROW(none_lone, 96, 0, 0, SAME("0-31:32"),
	if (w) return; nap(100); M; sync_(0); SEEN;)

/* ---- reductions ------------------------------------------------------------------------------ */
ROW(red_popc, 64, 64, 0, SAME("0-63:32"),
	nap(w * 100); S(popc_n(1, n, l & 1));)
ROW(red_popc_exit, 96, 0, 0, SAME("0-63:64"),
	if (w == 2) return; S(popc_(1, 1));)
ROW(red_popc_exit_late, 96, 0, 0, SAME("0-63:64"),
	if (w == 2) { nap(200); return; } S(popc_(1, 1));)
ROW(red_popc_half, 64, 0, 0, SAME("0-47:48"),
	if (w == 1 && l >= 16) return; S(popc_(1, 1));)
ROW(red_popc_half_count, 64, 64, 0, SAME("0-47:48"),
	if (w == 1 && l >= 16) return; S(popc_n(1, n, 1));)
ROW(red_and_half, 64, 0, 0, SAME("0-47:1"),
	if (w == 1 && l >= 16) return; S(and_(1, 1));)
ROW(red_and_half_count, 64, 64, 0, SAME("0-47:1"),
	if (w == 1 && l >= 16) return; S(and_n(1, n, 1));)
ROW(red_or_half, 64, 0, 0, SAME("0-47:0"),
	if (w == 1 && l >= 16) return; S(or_(1, 0));)
ROW(red_or_half_count, 64, 64, 0, SAME("0-47:0"),
	if (w == 1 && l >= 16) return; S(or_n(1, n, 0));)
ROW(red_popc_half_late, 64, 64, 0, SAME("0-47:48"),
	if (w == 1 && l >= 16) { nap(300); return; } S(lpopc_n(1, n, 1));)
ROW(red_and_exit, 96, 0, 0, SAME("0-63:1"),
	if (w == 2) return; S(and_(1, 1));)
ROW(red_or_exit, 96, 0, 0, SAME("0-63:0"),
	if (w == 2) return; S(or_(1, 0));)
ROW(red_popc_exit_count, 96, 96, 0, SAME("hang"),
	if (w == 2) return; S(popc_n(1, n, 1));)
ROW(red_popc_arrive, 64, 64, 0, SAME("illegal"),
	if (w == 0) { arrive_n(1, n); return; } nap(100); S(popc_n(1, n, 1));)
ROW(red_popc_arrive_late, 64, 64, 0, SAME("illegal"),
	if (w == 0) { nap(100); arrive_n(1, n); return; } S(popc_n(1, n, 1));)
ROW(red_and_arrive, 64, 64, 0, SAME("illegal"),
	if (w == 0) { arrive_n(1, n); return; } nap(100); S(and_n(1, n, 1));)
ROW(red_and_arrive_late, 64, 64, 0, SAME("illegal"),
	if (w == 0) { nap(100); arrive_n(1, n); return; } S(and_n(1, n, 1));)
ROW(red_or_arrive, 64, 64, 0, SAME("illegal"),
	if (w == 0) { arrive_n(1, n); return; } nap(100); S(or_n(1, n, 0));)
ROW(red_or_arrive_one, 64, 64, 0, SAME("illegal"),
	if (w == 0) { arrive_n(1, n); return; } nap(100); S(or_n(1, n, l == 3));)
ROW(red_popc_sync, 64, 64, 0, SAME("illegal"),
	if (w == 0) { sync_n(1, n); E; return; } nap(100); S(popc_n(1, n, 1));)
ROW(red_and_sync, 64, 64, 0, SAME("illegal"),
	if (w == 0) { sync_n(1, n); E; return; } nap(100); S(and_n(1, n, 1));)
ROW(red_and_sync_late, 64, 64, 0, SAME("illegal"),
	if (w == 0) { nap(100); sync_n(1, n); E; return; } S(and_n(1, n, 1));)
ROW(red_popc_and, 64, 64, 0, SAME("illegal"),
	if (w == 0) { S(popc_n(1, n, 1)); return; } nap(100); S(and_n(1, n, l != 5));)
ROW(red_and_or, 64, 64, 0, SAME("illegal"),
	if (w == 0) { S(and_n(1, n, 1)); return; } nap(100); S(or_n(1, n, 0));)
ROW(red_popc_halves, 64, 64, 0, OTHER("0-47:40 48-63:140", "0-31:40 32-47:64 48-63:140"),
	if (w == 1 && l >= 16) { nap(300); S(lpopc_n(1, n, 1) + 100); return; }
	S(lpopc_n(1, n, l & 1));)
ROW(red_popc_halves_al, 64, 64, 0, SAME("hang"),
	if (w == 1 && l >= 16) { nap(300); S(popc_n(1, n, 1) + 100); return; }
	S(popc_n(1, n, l & 1));)
ROW(red_popc_halves_none, 64, 0, 0, OTHER("0-47:40 48-63:140", "0-31:40 32-47:1 48-63:140"),
	if (w == 1 && l >= 16) { nap(300); S(lpopc_(1, 1) + 100); return; } S(lpopc_(1, l & 1));)
ROW(red_popc_half_away, 64, 64, 0, SAME("0-47:48 48-63:1001"),
	if (w == 1 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; } int r = lpopc_n(1, n, 1);
	m->flag = 1; S(r);)
ROW(red_popc_short, 48, 0, 0, SAME("0-47:48"),
	nap(w * 100); S(popc_(1, 1));)
ROW(red_and_short, 48, 64, 0, SAME("0-47:1"),
	nap(w * 100); S(and_n(1, n, 1));)

/* ---- the cluster's barrier ------------------------------------------------------------------- */
ROWC(cluster_arrive_exit, 2, 64, 0, 0, SAME("0-63:128"),
	if (blockIdx.x) { nap(200); M; c_arrive(); return; } M; c_arrive(); c_wait(); SEEN;)
ROWC(cluster_exit, 2, 64, 0, 0, SAME("0-63:128"),
	if (blockIdx.x) { nap(200); M; return; } M; c_arrive(); c_wait(); SEEN;)
ROWC(cluster_exit_al, 2, 64, 0, 0, SAME("0-63:128"),
	if (blockIdx.x) { nap(200); M; return; } M; c_arrive_al(); c_wait_al(); SEEN;)
ROWC(cluster_warp_exit, 2, 64, 0, 0, SAME("0-95:128"),
	if (w == 3) { nap(200); M; return; } M; c_arrive(); c_wait(); SEEN;)
ROWC(cluster_half_exit, 2, 64, 0, 0, SAME("0-111:128"),
	if (w == 3 && l >= 16) { nap(200); M; return; } M; c_arrive(); c_wait(); SEEN;)
ROWC(cluster_half_exit_al, 2, 64, 0, 0, SAME("0-111:128"),
	if (w == 3 && l >= 16) { nap(200); M; return; } M; c_arrive_al(); c_wait_al(); SEEN;)
ROWC(cluster_half_away, 2, 64, 0, 0, SAME("0-111:112 112-127:1001"),
	if (w == 3 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; } M; c_arrive(); c_wait();
	m->flag = 1; SEEN;)
ROWC(cluster_halves, 2, 64, 0, 0, SAME("0-111:128 112-127:328"),
	if (w == 3 && l >= 16) { nap(200); M; c_arrive(); c_wait(); S(seen(m) + 200); return; }
	M; c_arrive(); c_wait(); SEEN;)
ROWC(cluster_half_arrive_exit, 2, 64, 0, 0, SAME("0-111:128"),
	if (w == 3 && l >= 16) { nap(200); M; c_arrive(); return; } M; c_arrive(); c_wait();
	SEEN;)
ROWC(cluster_half_arrived_exit, 2, 64, 0, 0, SAME("0-111:112"),
	if (w == 3 && l >= 16) { c_arrive(); return; } if (w == 3) nap(200); M; c_arrive();
	c_wait(); SEEN;)
ROWC(cluster_second, 2, 64, 0, 0, SAME("0-95:96"),
	if (w == 3) { c_arrive(); return; } c_arrive(); c_wait(); if (w == 2) nap(200); M;
	c_arrive(); c_wait(); SEEN;)
ROWC(cluster_arrive_twice, 2, 64, 0, 0, OTHER("illegal", "0-63:128 64-127:-2"),
	if (blockIdx.x) { M; c_arrive(); c_arrive(); c_wait(); E; return; } nap(200); M;
	c_arrive(); c_wait(); SEEN;)
ROWC(cluster_wait_alone, 2, 64, 0, 0, OTHER("illegal", "0-63:128 64-127:64"),
	if (blockIdx.x) { M; c_wait(); SEEN; return; } nap(200); M; c_arrive(); c_wait(); SEEN;)
ROWC(cluster_second_arrive, 2, 64, 0, 0, SAME("0-95:128"),
	if (w == 3) { c_arrive(); c_wait(); M; c_arrive(); return; } c_arrive(); c_wait(); M;
	nap(100); c_arrive(); c_wait(); SEEN;)

/* ---- more of one warp's lanes ---------------------------------------------------------------- */
ROW(arrive_halves_al, 64, 64, 0, SAME("hang"),
	if (w == 1 && l >= 16) { nap(300); M; arrive_n(1, n); E; return; }
	M; if (w == 1) { arrive_n(1, n); return; } sync_n(1, n); SEEN;)
ROW(halves_meet, 64, 64, 0, SAME("0-63:64"),
	if (w == 1 && l >= 16) nap(300);
	M; sync_n(1, n); SEEN;)
ROW(halves_numbers, 64, 64, 0, OTHER("hang", "illegal"),
	M; if (l < 16) { lsync_n(1, n); SEEN; } else { nap(200); lsync_n(2, n); S(100); })
ROW(halves_counts, 64, 64, 32, SAME("illegal"),
	M; if (l < 16) { lsync_n(1, n); SEEN; } else { nap(200); lsync_n(1, n2); S(100); })
ROW(count_lanes, 64, 64, 96, SAME("illegal"),
	M; lsync_n(1, l < 16 ? n : n2); SEEN;)
ROW(counts_in_turn, 96, 64, 96, SAME("0-95:96"),
	if (w < 2) sync_n(1, n);
	nap(w * 100); M; sync_n(1, n2); SEEN;)
ROW(red_then_sync, 64, 64, 0, SAME("0-63:128"),
	int r = popc_n(1, n, 1); nap(w * 100); M; sync_n(1, n); S(r + seen(m));)
ROWC(cluster_halves_al, 2, 64, 0, 0, SAME("hang"),
	if (w == 3 && l >= 16) { nap(200); M; c_arrive_al(); c_wait_al(); S(seen(m) + 200);
		return; }
	M; c_arrive_al(); c_wait_al(); SEEN;)
ROWC(cluster_half_away_al, 2, 64, 0, 0, SAME("0-111:112 112-127:1001"),
	if (w == 3 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; }
	M; c_arrive_al(); c_wait_al(); m->flag = 1; SEEN;)
ROWC(cluster_half_away_arrive, 2, 64, 0, 0, SAME("0-95:112 112-127:1001"),
	if (w == 3 && l >= 16) { S(flagged(m) ? 1000 : 1001); return; }
	M; c_arrive(); if (w == 3) { m->flag = 1; return; } c_wait(); m->flag = 1; SEEN;)

/* ---- mbarriers: 3000: a wait did not end within 4 ms ----------------------------------------- */
#define MB(count)                                                                                  \
	__shared__ bar_t b[1];                                                                     \
	if (threadIdx.x == 0)                                                                      \
		m_init(b, count);                                                                  \
	__syncthreads();
#define MW(parity) S(m_wait(b, parity) ? seen(m) : 3000)
ROW(mb_arrive_exit, 64, 64, 0, SAME("32-63:64"),
	MB(n) if (w == 0) { nap(200); M; m_arrive(b, 1); return; } M; m_arrive(b, 1); MW(0);)
ROW(mb_exit, 64, 64, 0, SAME("32-63:3000"),
	MB(n) if (w == 0) { nap(200); M; return; } M; m_arrive(b, 1); MW(0);)
ROW(mb_half, 64, 48, 0, SAME("0-15:48 32-63:48"),
	MB(n) if (w == 0 && l >= 16) return; M; m_arrive(b, 1); MW(0);)
ROW(mb_half_more, 64, 64, 0, SAME("0-15:3000 32-63:3000"),
	MB(n) if (w == 0 && l >= 16) return; M; m_arrive(b, 1); MW(0);)
ROW(mb_elected, 64, 2, 0, SAME("0-63:64"),
	MB(n) M; __syncwarp(); if (l == 0) m_arrive(b, 1); MW(0);)
ROW(mb_count, 64, 64, 0, SAME("0-63:64"),
	MB(n) M; if (w == 0) { nap(200); if (l == 0) m_arrive(b, 32); } else m_arrive(b, 1);
	MW(0);)
ROW(mb_drop_exit, 64, 64, 0, SAME("32-63:32"),
	MB(n) if (w == 0) { m_drop(b, 1); return; } m_arrive(b, 1); m_wait(b, 0); M; m_arrive(b, 1);
	MW(1);)
ROW(mb_no_drop, 64, 64, 0, SAME("32-63:3000"),
	MB(n) if (w == 0) { m_arrive(b, 1); return; } m_arrive(b, 1); m_wait(b, 0); M;
	m_arrive(b, 1); MW(1);)
ROW(mb_too_often, 64, 32, 0, SAME("32-63:10"),
	MB(n) if (w == 0) { m_arrive(b, 1); M; m_arrive(b, 1); return; } nap(100);
	bool even = m_test(b, 1); bool odd = m_test(b, 0); S((int)even * 10 + (int)odd);)
ROW(mb_expect_no_copy, 64, 1, 0, SAME("0-63:3000"),
	MB(n) M; if (t == 0) m_expect(b, 16); MW(0);)
#define BOX __shared__ alignas(128) int box[32]
ROW(mb_cp_async_noinc, 64, 32, 0, SAME("32-63:7"),
	MB(n) BOX; if (w == 0) { copy_4(box + l, m->out + 128 + l, b, true); return; }
	S(m_wait(b, 0) ? box[l] : 3000);)
ROW(mb_cp_async_inc, 64, 32, 0, SAME("32-63:7"),
	MB(n) BOX; if (w == 0) { copy_4(box + l, m->out + 128 + l, b, false);
		m_arrive(b, 1); return; }
	S(m_wait(b, 0) ? box[l] : 3000);)
ROW(mb_bulk_exit, 64, 1, 0, SAME("32-63:7"),
	MB(n) BOX; if (t == 0) { m_expect(b, 128); copy_bulk(box, m->out + 128, b); }
	if (w == 0) return; S(m_wait(b, 0) ? box[l] : 3000);)
ROWC(mb_remote_exit, 2, 32, 1, 0, SAME("0-31:32"),
	MB(n) c_arrive(); c_wait();
	if (blockIdx.x) { nap(100); M; if (l == 0) m_remote(b, 0); return; }
	MW(0);)

/* ---- lanes of a warp ------------------------------------------------------------------------- */
ROW(warp_exited, 32, 0, 0, SAME("0-15:16"),
	if (l >= 16) return; M; warp_sync(-1); SEEN;)
ROW(warp_exit_late, 32, 0, 0, SAME("0-15:32"),
	if (l >= 16) { nap(200); M; return; } M; warp_sync(-1); SEEN;)
ROW(warp_away, 32, 0, 0, SAME("0-15:16 16-31:1001"),
	if (l >= 16) { S(flagged(m) ? 1000 : 1001); return; } M; warp_sync(-1); m->flag = 1;
	SEEN;)
ROW(warp_places, 32, 0, 0, SAME("0-15:32 16-31:132"),
	if (l >= 16) { nap(200); M; warp_sync(-1); S(seen(m) + 100); return; } M; warp_sync(-1);
	SEEN;)

/* "0-31:64 48-63:1": what ranges of threads noted. */
static void show(const int *o, int n, char *text)
{
	*text = 0;
	for (int i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && o[j] == o[i]; j++)
			;
		if (o[i] != -1)
			sprintf(text + strlen(text), "%s%d-%d:%d", *text ? " " : "", i, j - 1,
				o[i]);
	}
}

/* The end of one that doesn't end. */
static void wait_for(const char **text)
{
	struct timespec ms = {0, 1000000};
	cudaError_t e = cudaErrorNotReady;

	for (int k = 0; k < 1500 && (e = cudaStreamQuery(0)) == cudaErrorNotReady; k++)
		nanosleep(&ms, 0);
	if (e == cudaErrorNotReady || e == cudaErrorLaunchTimeout)
		*text = "hang";
	else if (e == cudaErrorIllegalInstruction)
		*text = "illegal";
	else
		*text = e == cudaSuccess ? NULL : cudaGetErrorName(e);
}

static const char *wanted(const row *r)
{
	static char cpu[128];
	const char *gpu = strchr(r->want, '|');

	if (!gpu)
		return r->want;
	snprintf(cpu, sizeof(cpu), "%.*s", (int)(gpu - r->want), r->want);
	return is_cpu_device() ? cpu : gpu + 1;
}

static void run(const row *r)
{
	static row_mem h;
	static char buf[4096];
	const char *text;
	row_mem *d;
	cudaLaunchConfig_t c = {};
	cudaLaunchAttribute a = {};

	memset((void *)&h, 0, sizeof(h));
	memset(h.out, 0xff, sizeof(h.out));
	for (int i = 0; i < 32; i++)
		h.out[128 + i] = 7; /* what copies bring */
	OK(cudaMalloc(&d, sizeof(h)));
	OK(cudaMemcpy(d, (void *)&h, sizeof(h), cudaMemcpyHostToDevice));
	c.gridDim = r->blocks;
	c.blockDim = r->threads;
	a.id = cudaLaunchAttributeClusterDimension;
	a.val.clusterDim.x = r->blocks;
	a.val.clusterDim.y = a.val.clusterDim.z = 1;
	c.attrs = &a;
	c.numAttrs = r->blocks > 1;
	OK(cudaLaunchKernelEx(&c, r->k, d, r->n, r->n2));
	wait_for(&text);
	if (!text) {
		OK(cudaMemcpy((void *)&h, d, sizeof(h), cudaMemcpyDeviceToHost));
		show(h.out, r->blocks * r->threads, buf);
		text = buf;
	}
	const char *want = wanted(r);
	if (strcmp(text, want))
		fprintf(stderr, "%s: found \"%s\", expected \"%s\"\n", r->name, text, want);
	fflush(stderr);
	if (!strcmp(text, "hang"))
		kill(getpid(), strcmp(want, "hang") ? SIGTERM : SIGKILL);
	_exit(strcmp(text, want) != 0);
}

static bool is_right(const row *r)
{
	int status = 0;
	pid_t child = fork();

	if (!child)
		run(r);
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : !WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	int bad = 0;

	for (int i = 0; i < nrows; i++)
		if (argc < 2 || !strcmp(rows[i].name, argv[1]))
			bad += !is_right(rows + i);
	if (!bad)
		puts("ok");
	return bad != 0;
}
