/*
 * host_signal.c - faults of host code at protected memory, and system calls on such memory.
 *
 * The handler of SIGSEGV takes the engine's lock, so that no kernel does anything meanwhile,
 * records the access and does it at the machine's address of the memory (x86.c). Instructions that
 * it can't emulate are executed by the processor, with that address, in a single step (x86_slot.c;
 * the trap flag), and the lock is released in the handler of SIGTRAP. For the few that x86_slot.c
 * can't redirect the page is opened for the step. Another host thread that uses that page in
 * between isn't seen: if the program has other threads, no race of host code is reported from then
 * on.
 *
 * The kernel can't write to protected memory: a system call with such an address would fail with
 * EFAULT. A seccomp filter sends those with an argument in the machine's range of addresses to
 * SIGSYS; the handler makes the call again with the machine's addresses. Where filters are not
 * allowed host code is not watched at all, rather than change what the program does. The filter is
 * inherited by programs that this one starts and does nothing to them, as they have nothing at
 * those addresses; it needs no_new_privs, so set-user-id programs that are started this way run
 * without privileges.
 *
 * On x86-64; for other processors CMakeLists.txt chooses host_unwatched.c. The program's own
 * handlers of the three signals are called for what is not ours (src/cudart/state/signals.c keeps
 * them from replacing ours).
 * Costs: one signal for an access, two with a step: 3 to 40 us.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "cpu/events/host_access.h"
#include "cpu/sched.h"
#include "cpu/memory/space.h"
#include "cpu/arch/x86.h"
#include "race/rules.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

static struct cpu_machine *_Atomic machine; /* whose memory it is; one in a process */
static _Atomic bool has_threads;

void cpu_host_thread(void)
{
	atomic_store(&has_threads, true);
}

void *cpu_host_pointer(const void *p)
{
	struct cpu_machine *m = atomic_load(&machine);
	uint64_t a = (uint64_t)(uintptr_t)p;

	return (void *)(uintptr_t)(m ? cpu_space_machine(m, a) : a);
}

static const int signals[] = {SIGSEGV, SIGTRAP, SIGSYS};
#define SIGNALS ((int)(sizeof(signals) / sizeof(signals[0])))

static struct sigaction theirs[SIGNALS];

static int index_of(int sig)
{
	for (int i = 0; i < SIGNALS; i++)
		if (signals[i] == sig)
			return i;
	return -1;
}

bool cpu_host_needs_signal(int sig)
{
	return atomic_load(&machine) && index_of(sig) >= 0;
}

static bool is_handler(const struct sigaction *a)
{
	return (a->sa_flags & SA_SIGINFO) || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

bool cpu_host_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	int i = index_of(sig);
	struct sigaction was;

	if (!atomic_load(&machine) || i < 0)
		return false;
	was = theirs[i];
	if (act)
		theirs[i] = *act;
	if (old)
		*old = was;
	if (act && is_handler(act) && sig != SIGSYS)
		cpu_event_host_off(atomic_load(&machine), true);
	return true;
}

bool cpu_host_has_handlers(void)
{
	struct sigaction a;

	for (int i = 0; i < SIGNALS; i++)
		if (signals[i] != SIGSYS && !sigaction(signals[i], NULL, &a) && is_handler(&a))
			return true;
	return false;
}

/* Does what the program has set for the signal. */
static void hand_on(int sig, siginfo_t *info, void *context)
{
	const struct sigaction a = theirs[index_of(sig)];

	if (a.sa_flags & SA_SIGINFO && a.sa_sigaction) {
		a.sa_sigaction(sig, info, context);
		return;
	}
	if (a.sa_handler == SIG_IGN && info->si_code <= 0)
		return;
	if (a.sa_handler != SIG_DFL && a.sa_handler != SIG_IGN) {
		a.sa_handler(sig);
		return;
	}
	/* The default ends the process, when the fault or the signal comes again. */
	struct sigaction dfl = {.sa_handler = SIG_DFL};
	sigaction(sig, &dfl, NULL);
	if (info->si_code <= 0 || sig != SIGSEGV)
		raise(sig);
}

/* ---- accesses -------------------------------------------------------------------------------- */

#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1 /* si_code; older C libraries lack it */
#endif
#define STEP_PAGES 32 /* 16 elements of a gather, each on two pages */

/* The instruction that this thread executes in a single step. */
static _Thread_local struct {
	bool is_on;
	bool is_held; /* the engine */
	uint64_t caller;
	struct x86_slot slot;
	unsigned npages;
	uint64_t page[STEP_PAGES];
	sigset_t mask;
} step;

static void begin_step(ucontext_t *u)
{
	if (step.is_on)
		return;
	step.is_on = true;
	step.mask = u->uc_sigmask;
	sigfillset(&u->uc_sigmask);
	for (int i = 0; i < SIGNALS; i++)
		sigdelset(&u->uc_sigmask, signals[i]);
	sigdelset(&u->uc_sigmask, SIGBUS);
	sigdelset(&u->uc_sigmask, SIGFPE);
	sigdelset(&u->uc_sigmask, SIGILL);
	x86_step(u, true);
}

static void end_step(struct cpu_machine *m, ucontext_t *u)
{
	x86_slot_leave(u, &step.slot);
	for (unsigned i = 0; i < step.npages; i++)
		cpu_space_protect_page(m, step.page[i], true);
	step.npages = 0;
	step.is_on = false;
	u->uc_sigmask = step.mask;
	x86_step(u, false);
	if (step.is_held)
		cpu_engine_let_go(m);
}

/* The page of an access is open until the instruction has been executed. */
static void open_page(struct cpu_machine *m, ucontext_t *u, uint64_t addr)
{
	x86_slot_leave(u, &step.slot);
	cpu_space_protect_page(m, addr, false);
	if (atomic_load(&has_threads))
		cpu_event_host_blind(m);
	begin_step(u);
	step.page[step.npages++] = addr;
}

static void fill(uint8_t *to, uint64_t value, uint32_t size, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> i % size * 8);
}

/* rep movs, rep stos: at once, as far as the allocations go. */
static bool do_string(struct cpu_machine *m, ucontext_t *u, const struct x86_inst *in, uint64_t pc)
{
	uint64_t from, to = in->address, left = x86_string_left(u, in, &from), n = left;
	uint64_t to_n = cpu_space_twice(m, to), from_n = 0;

	if (in->is_string_copy)
		from_n = cpu_space_twice(m, from);
	if (to_n && to_n < n)
		n = to_n;
	if (from_n && from_n < n)
		n = from_n;
	n -= n % in->bytes;
	/* Overlapping ranges are copied byte by byte, forwards. */
	if (!n || (in->is_string_copy && to - from < n))
		return false;
	if (!in->is_string_copy) {
		fill((void *)(uintptr_t)cpu_space_machine(m, to), x86_string_value(u), in->bytes,
		     n);
	} else {
		cpu_event_host_range(m, from, n, false, pc);
		memmove((void *)(uintptr_t)cpu_space_machine(m, to),
			(const void *)(uintptr_t)cpu_space_machine(m, from), n);
	}
	cpu_event_host_range(m, to, n, true, pc);
	x86_string_done(u, in, n, n == left);
	return true;
}

static uint8_t kind_of(const struct x86_inst *in, bool is_write)
{
	if (in->is_string)
		return is_write ? RACE_OP_WRITE : RACE_OP_READ;
	if (!in->reads && !in->writes)
		return is_write ? RACE_OP_RMW : RACE_OP_READ;
	return !in->writes ? RACE_OP_READ : in->reads ? RACE_OP_RMW : RACE_OP_WRITE;
}

/* Where the access at which the fault was begins; is_whole: all of it is in one allocation. The
 * fault's address is in the operand, or where that goes on on the next page. */
static uint64_t begin_of(struct cpu_machine *m, const struct x86_inst *in, uint64_t addr,
			 bool *is_whole)
{
	uint64_t at = in->is_string || addr - in->address >= in->bytes ? addr : in->address;

	*is_whole = (in->is_string || at == in->address) && in->bytes &&
		    cpu_space_twice(m, at) >= in->bytes;
	return *is_whole ? at : addr;
}

/* One access of host code at protected memory; the engine is held. False: it needs a single
 * step. pc: the program's, 0: nothing is recorded. */
static bool do_access(struct cpu_machine *m, ucontext_t *u, uint64_t addr, uint64_t pc)
{
	struct x86_inst in;
	bool is_known = x86_decode(u, &in), is_write = x86_is_write(u), is_whole;
	uint64_t at = begin_of(m, &in, addr, &is_whole);

	if (is_known && in.move == X86_STRING && pc && !step.is_on && do_string(m, u, &in, pc))
		return true;
	bool is_load = in.move == X86_LOAD || in.move == X86_LOAD_VEC;
	bool is_ours = is_whole && in.move != X86_OTHER && in.move != X86_STRING;
	if (pc && is_whole && !in.is_masked)
		cpu_event_host_access(m, at, in.bytes, kind_of(&in, is_write), pc);
	else if (pc)
		cpu_event_host_access(m, addr, 1, kind_of(&in, is_write), pc);
	return is_ours && is_load == !is_write &&
	       x86_do(u, &in, (void *)(uintptr_t)cpu_space_machine(m, at));
}

/* Lets the processor execute the instruction at the machine's address; false: it can't be. */
static bool redirect(struct cpu_machine *m, ucontext_t *u, uint64_t addr)
{
	struct x86_inst in;
	bool is_whole = false;
	uint64_t at = x86_decode(u, &in) ? begin_of(m, &in, addr, &is_whole) : addr;

	if (step.npages || !is_whole ||
	    !x86_slot_enter(u, at, (void *)(uintptr_t)cpu_space_machine(m, at), &step.slot))
		return false;
	begin_step(u);
	return true;
}

static void on_segv(int sig, siginfo_t *info, void *context)
{
	struct cpu_machine *m = atomic_load(&machine);
	uint64_t addr = (uint64_t)(uintptr_t)info->si_addr;
	ucontext_t *u = context;
	int saved = errno;

	if (!m || info->si_code != SEGV_ACCERR || !cpu_space_twice(m, addr & ~4095ull)) {
		if (m && step.is_on)
			end_step(m, u);
		errno = saved;
		hand_on(sig, info, context);
		return;
	}
	bool is_inside = cpu_engine_is_held(m), is_first = !step.is_on;
	if (is_first)
		step.caller = is_inside ? 0 : cpu_host_caller(x86_pc(u));
	if (!is_inside)
		cpu_engine_hold(m);
	/* Meanwhile it may have been opened. */
	bool is_done = (is_first && !is_inside && !cpu_event_is_armed(m)) ||
		       do_access(m, u, addr, step.caller);
	if (!is_done && is_first)
		step.is_held = !is_inside;
	if (!is_done && !redirect(m, u, addr) && step.npages < STEP_PAGES)
		open_page(m, u, addr);
	else if (is_done && is_first && !is_inside)
		cpu_engine_let_go(m);
	errno = saved;
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	struct cpu_machine *m = atomic_load(&machine);
	int saved = errno;

	if (m && step.is_on)
		end_step(m, context);
	else
		hand_on(sig, info, context);
	errno = saved;
}

/* ---- system calls ---------------------------------------------------------------------------- */

static long call(long nr, const uint64_t a[6])
{
	register uint64_t r10 __asm__("r10") = a[3];
	register uint64_t r8 __asm__("r8") = a[4];
	register uint64_t r9 __asm__("r9") = a[5];
	long rc;

	__asm__ volatile("syscall"
			 : "=a"(rc)
			 : "a"(nr), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return rc;
}

/* The bytes that a call has written to or read from its buffer. */
static void report_call(struct cpu_machine *m, long nr, const uint64_t a[6], long rc, uint64_t pc)
{
	bool is_write = nr == SYS_read || nr == SYS_pread64 || nr == SYS_recvfrom;
	bool is_read = nr == SYS_write || nr == SYS_pwrite64 || nr == SYS_sendto;
	uint64_t at = nr == SYS_getrandom ? a[0] : a[1];

	if (rc <= 0 || !(is_write || is_read || nr == SYS_getrandom) || cpu_engine_is_held(m))
		return;
	cpu_engine_hold(m);
	if (cpu_event_is_armed(m))
		cpu_event_host_range(m, at, (uint64_t)rc, !is_read, pc);
	cpu_engine_let_go(m);
}

static void on_sys(int sig, siginfo_t *info, void *context)
{
	struct cpu_machine *m = atomic_load(&machine);
	ucontext_t *u = context;
	greg_t *g = u->uc_mcontext.gregs;
	uint64_t a[6] = {(uint64_t)g[REG_RDI], (uint64_t)g[REG_RSI], (uint64_t)g[REG_RDX],
			 (uint64_t)g[REG_R10], (uint64_t)g[REG_R8],  (uint64_t)g[REG_R9]};
	uint64_t to[6];

	if (!m || info->si_code != SYS_SECCOMP || info->si_arch != AUDIT_ARCH_X86_64) {
		hand_on(sig, info, context);
		return;
	}
	for (unsigned i = 0; i < 6; i++)
		to[i] = cpu_space_machine(m, a[i]);
	long rc = call(info->si_syscall, to);
	report_call(m, info->si_syscall, a, rc, cpu_host_caller(x86_pc(u)));
	g[REG_RAX] = rc;
}

/* How many arguments the system calls of x86-64 take, by number: from 0 on, and from CALLS2 on.
 * What the other registers hold is left from before, and may be any number. */
#define CALLS2 424u
static const char nargs[] = "33312223363214403443321505333333120221304333663323233455"
			    "50031421334124533211223211221221232233312221140301100200"
			    "02222333311112224322231122232322311122210032152121012522"
			    "14221323215435553303555444333222216331215331314453104434"
			    "21122241443256354155234554532032443453434534336512364446"
			    "46321442442132144455254532142366533453325351336664215640";
static const char nargs2[] = "426435253322343456543421254443464444433665455540";

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field))
#define ALLOW	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define CHECK	    4u /* statements for one argument */

/* Calls that manage memory use the addresses themselves. */
static const uint16_t own_calls[] = {SYS_mmap,	 SYS_mprotect, SYS_munlock,	SYS_munmap,
				     SYS_mremap, SYS_madvise,  SYS_mincore,	SYS_mlock,
				     SYS_mbind,	 SYS_brk,      SYS_rt_sigreturn};

/* A call of number nr goes to the test of its last argument: all of them are 6 * CHECK statements
 * from `tests` on, the last argument first. Returns the statements so far. */
static unsigned put_call(struct sock_filter *code, unsigned n, unsigned tests, uint32_t nr,
			 unsigned narg)
{
	code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1);
	code[n + 1] = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA,
						   tests + (6u - narg) * CHECK - n - 2u);
	return n + 2u;
}

enum { HEAD = 4, NCALLS = sizeof(nargs) - 1 + sizeof(nargs2) - 1 + BASE_COUNTOF(own_calls) };

/* The kernel's part for all threads; false: it isn't allowed. An argument whose upper half is one
 * of the region's is sent to SIGSYS. */
static bool install_filter(struct cpu_machine *m)
{
	static struct sock_filter code[HEAD + 2 * NCALLS + 6 * CHECK + 1] = {
		LOAD(offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		ALLOW,
		LOAD(offsetof(struct seccomp_data, nr)),
	};
	unsigned n = HEAD, tests = HEAD + 2 * NCALLS;
	uint64_t first, last;

	cpu_space_region(m, &first, &last);
	for (unsigned i = 0; i < BASE_COUNTOF(own_calls); i++)
		n = put_call(code, n, tests, own_calls[i], 0);
	for (unsigned i = 0; nargs[i]; i++)
		n = put_call(code, n, tests, i, (unsigned)(nargs[i] - '0'));
	for (unsigned i = 0; nargs2[i]; i++)
		n = put_call(code, n, tests, CALLS2 + i, (unsigned)(nargs2[i] - '0'));
	for (unsigned i = 6; i--; n += CHECK) {
		struct sock_filter check[CHECK] = {
			LOAD(offsetof(struct seccomp_data, args) + 8 * i + 4),
			BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)(first >> 32), 0, 2),
			BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, (uint32_t)(last >> 32), 1, 0),
			BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		};
		memcpy(&code[n], check, sizeof(check));
	}
	code[n++] = (struct sock_filter)ALLOW;

	struct sock_fprog prog = {.len = (unsigned short)n, .filter = code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &prog);
}

/* ---- start ----------------------------------------------------------------------------------- */

/* What the probe's signal has shown; in its own process only. */
static volatile sig_atomic_t is_probed;

static void on_probe(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	is_probed = info->si_code == SYS_SECCOMP && info->si_arch == AUDIT_ARCH_X86_64 &&
		    info->si_syscall == SYS_access;
}

/*
 * Does the filter work here as described above? Some sandboxes accept one and then kill the process
 * or say less in the signal; a filter can't be taken back, so a child of ours tries. It has no exit
 * signal and isn't made by fork(), so that the program learns nothing of it.
 */
static bool probe_filter(struct cpu_machine *m)
{
	struct sigaction a = {.sa_sigaction = on_probe, .sa_flags = SA_SIGINFO};
	uint64_t first, bytes;
	int status = 1;

	cpu_space_region(m, &first, &bytes);
	/* The runtime has wrappers for the child's two functions, which look the real ones up when
	 * first called. The dynamic linker's lock may be another thread's while the child is made,
	 * which has no such thread to let it go; so they are called once here. */
	sigprocmask(SIG_UNBLOCK, NULL, NULL);
	sigaction(SIGSYS, NULL, NULL);
	long pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return false;
	if (pid == 0) {
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGSYS);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		/* The filter looks at all six arguments, so none is left to chance. */
		if (!sigaction(SIGSYS, &a, NULL) && install_filter(m))
			(void)!syscall(SYS_access, first, 0, 0, 0, 0, 0);
		for (;;)
			syscall(SYS_exit_group, is_probed ? 0 : 1, 0, 0, 0, 0, 0);
	}
	while (waitpid((pid_t)pid, &status, (int)__WCLONE) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool cpu_host_start(struct cpu_machine *m)
{
	static void (*const handlers[])(int, siginfo_t *, void *) = {on_segv, on_trap, on_sys};
	static bool has_filter;
	struct cpu_machine *none = NULL;

	/* A second machine's memory would be another range than the filter's. */
	(void)x86_slot_make();
	if (has_filter || !probe_filter(m) || !atomic_compare_exchange_strong(&machine, &none, m))
		return false;
	/* The handlers come first: threads that are under way meet the filter at once, and the
	 * registers that their calls don't use may hold any address. */
	for (int i = 0; i < SIGNALS; i++) {
		struct sigaction a = {.sa_sigaction = handlers[i], .sa_flags = SA_SIGINFO};
		sigemptyset(&a.sa_mask);
		sigaction(signals[i], &a, &theirs[i]);
	}
	sigset_t set;
	sigemptyset(&set);
	for (int i = 0; i < SIGNALS; i++)
		sigaddset(&set, signals[i]);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	has_filter = install_filter(m);
	for (int i = 0; i < SIGNALS && !has_filter; i++)
		sigaction(signals[i], &theirs[i], NULL);
	if (!has_filter)
		cpu_host_stop(m);
	return has_filter;
}

void cpu_host_stop(struct cpu_machine *m)
{
	struct cpu_machine *was = m;

	atomic_compare_exchange_strong(&machine, &was, NULL);
}
