// host_accesses.cu - loads and stores of host code beside a kernel: each case by its name, which is
// the argument. All print "ok" whatever is reported. host_accesses.sh says what must be reported.
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cuda/atomic>

#include "expect.h"

#define N 2048

static int *mem;
static cuda::atomic<int, cuda::thread_scope_system> *flag;
__managed__ int variable[N];
static bool is_racy;

__global__ void fill(int *p)
{
	for (int i = threadIdx.x; i < N; i += blockDim.x)
		p[i] = i + 1;
}

// Waits for the flag, then reads what the host wrote before it.
__global__ void wait_and_sum(int *p, cuda::atomic<int, cuda::thread_scope_system> *f, int is_acquire)
{
	if (threadIdx.x)
		return;
	while (!f->load(is_acquire ? cuda::memory_order_acquire : cuda::memory_order_relaxed))
		;
	p[1] = p[0] + 1;
}

// Writes, then raises the flag.
__global__ void write_and_tell(int *p, cuda::atomic<int, cuda::thread_scope_system> *f)
{
	if (threadIdx.x)
		return;
	p[0] = 41;
	f->store(1, cuda::memory_order_release);
}

static void join()
{
	OK(cudaDeviceSynchronize());
}

static void read_beside()
{
	fill<<<1, 64>>>(mem);
	int volatile sum = 0;
	for (int i = 0; i < N; i++)
		sum += mem[i];
	join();
	THAT(mem[N - 1] == N);
}

static void write_beside()
{
	fill<<<1, 64>>>(mem);
	mem[N / 2] = 5;
	join();
	THAT(mem[N - 1] == N);
}

static void read_behind()
{
	fill<<<1, 64>>>(mem);
	join();
	long sum = 0;
	for (int i = 0; i < N; i++)
		sum += mem[i];
	THAT(sum == (long)N * (N + 1) / 2);
}

static void write_before()
{
	memset(mem, 0, N * sizeof(int));
	fill<<<1, 64>>>(mem);
	join();
	mem[0] = 3;
	fill<<<1, 64>>>(mem);
	join();
	THAT(mem[0] == 1);
}

// The memory beside what the kernel uses, on the same page.
static void other_bytes()
{
	fill<<<1, 64>>>(mem);
	for (int i = 0; i < 100; i++)
		mem[N + i] = i;
	join();
	THAT(mem[N + 99] == 99 && mem[N - 1] == N);
}

static void by_variable()
{
	fill<<<1, 64>>>(variable);
	variable[3] = 9;
	join();
	THAT(variable[N - 1] == N);
}

/* A race, which is not seen: the report must say so. */
static void registered()
{
	int *own = (int *)malloc(2 * N * sizeof(int));

	OK(cudaHostRegister(own, N * sizeof(int), cudaHostRegisterMapped));
	OK(cudaHostRegister(own + N, N * sizeof(int), cudaHostRegisterMapped));
	fill<<<1, 64>>>(own);
	own[N / 2] = 5;
	mem[0] = 7;
	join();
	THAT(own[N - 1] == N);
	OK(cudaHostUnregister(own));
	OK(cudaHostUnregister(own + N));
	free(own);
}

static void to_kernel(int is_acquire)
{
	*flag = 0;
	wait_and_sum<<<1, 32>>>(mem, flag, is_acquire);
	mem[0] = 41;
	flag->store(1, cuda::memory_order_release);
	join();
	THAT(mem[1] == 42);
}

static void from_kernel()
{
	*flag = 0;
	write_and_tell<<<1, 32>>>(mem, flag);
	while (!flag->load(cuda::memory_order_acquire))
		;
	THAT(mem[0] == 41);
	join();
}

// System calls into memory of a kernel that is under way.
static void calls()
{
	char *text = (char *)(mem + N);
	struct iovec v[2] = {{text, 10}, {text + 20, 10}};
	int ends[2];

	fill<<<1, 64>>>(mem);
	int fd = open("/dev/zero", O_RDONLY);
	memset(text, 1, 4096);
	THAT(read(fd, text, 100) == 100 && !text[0] && !text[99] && text[100] == 1);
	memset(text, 1, 4096);
	THAT(readv(fd, v, 2) == 20 && !text[9] && text[10] == 1 && !text[29] && text[30] == 1);
	close(fd);
	FILE *f = fopen("/dev/zero", "rb");
	memset(text, 1, 10000);
	THAT(fread(text, 1, 9000, f) == 9000 && !text[8999] && text[9000] == 1);
	fclose(f);
	strcpy(text, "hello");
	THAT(!pipe(ends) && write(ends[1], text, 6) == 6);
	THAT(read(ends[0], text + 100, 6) == 6 && !strcmp(text + 100, "hello"));
	// What isn't there isn't there.
	char *volatile nowhere = (char *)8;
	THAT(write(ends[1], text, 1) == 1 && read(ends[0], nowhere, 1) == -1);
	join();
	THAT(mem[N - 1] == N);
}

static sigjmp_buf back;
static void on_fault(int sig)
{
	siglongjmp(back, sig);
}

// The program's own handler gets what isn't about this memory, and is what sigaction returns.
static void handler()
{
	struct sigaction a = {}, old;
	sigset_t all;

	a.sa_handler = on_fault;
	OK((cudaError_t)sigaction(SIGSEGV, &a, NULL));
	OK((cudaError_t)sigaction(SIGSEGV, NULL, &old));
	THAT(old.sa_handler == on_fault);
	sigfillset(&all);
	OK((cudaError_t)pthread_sigmask(SIG_BLOCK, &all, NULL));
	fill<<<1, 64>>>(mem);
	mem[N] = 7;
	if (!sigsetjmp(back, 1))
		*(volatile int *)8 = 1;
	THAT(mem[N] == 7);
	join();
}

static void *touch(void *p)
{
	for (int i = 0; i < 200; i++)
		((int *)p)[i]++;
	return NULL;
}

static void threads()
{
	pthread_t t[2];

	memset(mem + N, 0, 4000);
	fill<<<1, 64>>>(mem);
	for (int i = 0; i < 2; i++)
		OK((cudaError_t)pthread_create(&t[i], NULL, touch, mem + N + 200 * i));
	join();
	for (int i = 0; i < 2; i++)
		OK((cudaError_t)pthread_join(t[i], NULL));
	THAT(mem[N] == 1 && mem[N + 399] == 1 && mem[N - 1] == N);
}

// ---- every form of instruction, beside another thread -------------------------------------------

struct regs {
	uint64_t rax, rcx, rdx, flags;
	double xmm[2];
};

// FORM works on (%rdi), and on rax, rcx, rdx and xmm0; what it leaves there and in the flags is kept.
#define FORM(name, text, mask)                                                                     \
	static void name(void *p, struct regs *r)                                                  \
	{                                                                                          \
		asm volatile("mov (%%rbx), %%rax\n\tmov 8(%%rbx), %%rcx\n\tmov 16(%%rbx), %%rdx\n\t"       \
			     "movupd 32(%%rbx), %%xmm0\n\tpushq $" #mask "\n\tpopfq\n\tcld\n\t" text     \
			     "\n\tmov %%rax, (%%rbx)\n\tmov %%rcx, 8(%%rbx)\n\tmov %%rdx, 16(%%rbx)\n\t"  \
			     "movupd %%xmm0, 32(%%rbx)\n\tpushfq\n\tpop 24(%%rbx)"                       \
			     : "+D"(p)                                                             \
			     : "b"(r)                                                              \
			     : "rax", "rcx", "rdx", "rsi", "r8", "xmm0", "cc", "memory");          \
	}
#define FORMS(X)                                                                                   \
	X(add_imm, "addl $10, (%%rdi)") X(add_reg, "add %%rax, (%%rdi)")                           \
	X(add_byte, "add %%ah, (%%rdi)") X(adc_reg, "adc %%eax, (%%rdi)")                          \
	X(sub_imm, "subw $3, 2(%%rdi)") X(sbb_reg, "sbb %%rcx, 8(%%rdi)")                          \
	X(and_imm, "andl $-16, (%%rdi)") X(or_reg, "or %%edx, (%%rdi)")                            \
	X(xor_reg, "xor %%rax, (%%rdi)") X(inc_q, "incq (%%rdi)") X(dec_b, "decb 1(%%rdi)")        \
	X(neg_l, "negl (%%rdi)") X(not_q, "notq (%%rdi)") X(shl_i, "shll $3, (%%rdi)")             \
	X(shr_cl, "shrq %%cl, (%%rdi)") X(sar_1, "sarl (%%rdi)") X(rol_i, "roll $5, (%%rdi)")      \
	X(ror_cl, "rorw %%cl, (%%rdi)") X(rcl_i, "rcll $2, (%%rdi)")                               \
	X(rcr_i, "rcrb $1, (%%rdi)") X(shld_i, "shld $4, %%eax, (%%rdi)")                          \
	X(shrd_cl, "shrd %%cl, %%rax, (%%rdi)") X(bts_i, "btsl $7, (%%rdi)")                       \
	X(btr_i, "btrl $3, (%%rdi)") X(btc_i, "btcq $40, (%%rdi)")                                 \
	X(xchg_l, "xchg %%eax, (%%rdi)") X(xadd_q, "xadd %%rax, (%%rdi)")                          \
	X(lock_add, "lock addl $1, (%%rdi)") X(lock_xadd, "lock xaddl %%eax, (%%rdi)")             \
	X(lock_inc, "lock incb 3(%%rdi)") X(lock_or, "lock orq $1, (%%rdi)")                       \
	X(lock_bts, "lock btsl $30, (%%rdi)") X(lock_neg, "lock negq (%%rdi)")                     \
	X(cas_same, "mov (%%rdi), %%eax\n\tlock cmpxchg %%ecx, (%%rdi)")                           \
	X(cas_other, "lock cmpxchg %%rcx, (%%rdi)") X(cas_plain, "cmpxchg %%cl, (%%rdi)")          \
	X(cas_8b, "push %%rbx\n\tmov $5, %%ebx\n\tlock cmpxchg8b (%%rdi)\n\tpop %%rbx")            \
	X(cas_16b, "push %%rbx\n\tmov $5, %%ebx\n\tlock cmpxchg16b (%%rdi)\n\tpop %%rbx")          \
	X(add_from, "add (%%rdi), %%rax") X(imul_from, "imul (%%rdi), %%rcx")                      \
	X(mul_from, "mulq (%%rdi)") X(cmp_from, "cmp (%%rdi), %%eax")                              \
	X(test_imm, "testl $0x8000, (%%rdi)") X(cmov_from, "cmovz (%%rdi), %%rax")                 \
	X(bt_reg, "btl $9, (%%rdi)") X(popcnt_from, "popcnt (%%rdi), %%rax")                        \
	X(setcc, "setz (%%rdi)") X(movbe_to, "bswap %%rax\n\tmov %%rax, (%%rdi)")                  \
	X(push_from, "pushq (%%rdi)\n\tpop %%rax") X(pop_to, "push %%rax\n\tpopq (%%rdi)")         \
	X(rdi_both, "add %%rdi, 8(%%rdi)\n\tsub %%rdi, 8(%%rdi)")                                  \
	X(indexed, "mov $4, %%r8d\n\taddl $1, 4(%%rdi,%%r8,2)")                                    \
	X(xmm_add, "addsd (%%rdi), %%xmm0") X(xmm_logic, "xorps (%%rdi), %%xmm0")                  \
	X(xmm_high, "movhpd %%xmm0, (%%rdi)") X(x87, "filds (%%rdi)\n\tfistpl 4(%%rdi)")           \
	X(x87_ext, "fldl (%%rdi)\n\tfstpt 16(%%rdi)") X(movs_one, "mov %%rdi, %%rsi\n\tadd $32, %%rsi\n\tmovsl") \
	X(stos_one, "stosw") X(lods_one, "mov %%rdi, %%rsi\n\tlodsb")                              \
	X(scas_rep, "mov $6, %%ecx\n\trepne scasb") X(cmps_rep, "mov %%rdi, %%rsi\n\tadd $16, %%rsi\n\tmov $8, %%ecx\n\trepe cmpsb")
// Carry, zero and the direction's flag in turn.
#define MAKE(name, text) FORM(name, text, 0x43)
FORMS(MAKE)

static void *wait_for_end(void *stop)
{
	while (!*(volatile int *)stop)
		usleep(1000);
	return NULL;
}

// Beside a thread, whose accesses would get past an open page; each form does there what it does in
// memory of the program's own.
static void all_forms()
{
#define ENTRY(name, text) {#name, name},
	static const struct {
		const char *name;
		void (*fn)(void *, struct regs *);
	} forms[] = {FORMS(ENTRY)};
	alignas(64) static unsigned char own[64];
	volatile int stop = 0;
	pthread_t t;

	OK((cudaError_t)pthread_create(&t, NULL, wait_for_end, (void *)&stop));
	fill<<<1, 64>>>(mem);
	for (auto &f : forms) {
		struct regs a = {0x1122334455667788, 0x3, 0x0102030405060708, 0, {2.5, -1}}, b = a;
		unsigned char *there = (unsigned char *)(mem + N);
		for (int i = 0; i < 64; i++)
			own[i] = there[i] = (unsigned char)(i * 37 + 11);
		f.fn(own, &a);
		f.fn(there, &b);
		a.flags &= 0xcd5, b.flags &= 0xcd5;
		if (memcmp(&a, &b, sizeof(a)) || memcmp(own, there, 64)) {
			fprintf(stderr, "%s differs\n", f.name);
			exit(1);
		}
	}
	join();
	fill<<<1, 64>>>(mem);
	if (is_racy)
		mem[3] += 6;
	join();
	stop = 1;
	OK((cudaError_t)pthread_join(t, NULL));
	THAT(mem[N - 1] == N);
}

static void child()
{
	int status = 0;

	mem[N] = 4;
	fill<<<1, 64>>>(mem);
	pid_t pid = fork();
	if (!pid) {
		mem[N]++;
		_exit(mem[N]);
	}
	THAT(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 5);
	THAT(mem[N] == 4);
	THAT(!system("test $(echo x | cat) = x"));
	pid = fork();
	if (!pid) {
		execl("/proc/self/exe", "host_accesses", "bare", (char *)NULL);
		_exit(127);
	}
	THAT(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	join();
}

// In a program that a watched one has started: registers that are no arguments hold anything.
static int bare()
{
	long rc = 21; // access
	register long r10 asm("r10") = 0x200000002000;

	asm volatile("syscall"
		     : "+a"(rc)
		     : "D"("/"), "S"(R_OK), "d"(0x200000002000), "r"(r10)
		     : "rcx", "r11", "memory");
	return rc != 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	void *p;

	if (!strcmp(how, "bare"))
		return bare();
	OK(cudaMallocManaged(&mem, 10 * N * sizeof(int)));
	OK(cudaMallocHost(&p, sizeof(*flag)));
	flag = new (p) cuda::atomic<int, cuda::thread_scope_system>(0);
	if (!strcmp(how, "read_beside"))
		read_beside();
	else if (!strcmp(how, "write_beside"))
		write_beside();
	else if (!strcmp(how, "read_behind"))
		read_behind();
	else if (!strcmp(how, "write_before"))
		write_before();
	else if (!strcmp(how, "other_bytes"))
		other_bytes();
	else if (!strcmp(how, "variable"))
		by_variable();
	else if (!strcmp(how, "registered"))
		registered();
	else if (!strcmp(how, "to_kernel"))
		to_kernel(1);
	else if (!strcmp(how, "to_kernel_relaxed"))
		to_kernel(0);
	else if (!strcmp(how, "from_kernel"))
		from_kernel();
	else if (!strcmp(how, "calls"))
		calls();
	else if (!strcmp(how, "handler"))
		handler();
	else if (!strcmp(how, "threads"))
		threads();
	else if (!strcmp(how, "forms") || (is_racy = !strcmp(how, "forms_race")))
		all_forms();
	else if (!strcmp(how, "child"))
		child();
	else
		return 2;
	OK(cudaFreeHost(flag));
	OK(cudaFree(mem));
	puts("ok");
	return 0;
}
