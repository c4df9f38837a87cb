/*
 * test_serve.c - the judge beside a program, whose half this test plays: it hands over a module and
 * launches, and answers questions about memory that is nowhere in the judge's process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "judge/judge.h"
#include "race/file/shm_write.h"
#include "race/judge/choice.h"
#include "race/judge/wire.h"
#include "race/race.h"

/* As long as a kernel's name in a template library. */
#define TEN(x) x x x x x x x x x x
#define LONG   "_ZN7cutlass13device_kernelINS_4gemm" TEN(TEN("4longE"))

static const char text[] =
	".version 9.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 4 .u32 level;\n"
	".visible .global .align 8 .u64 chain = level;\n"
	/* p[block] = 1 */
	".visible .entry right(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<9>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\n"
	"mul.wide.u32 %d2, %r1, 4;\nadd.u64 %d1, %d1, %d2;\nmov.u32 %r2, 1;\n"
	"st.global.u32 [%d1], %r2;\nret;\n}\n"
	/* every block stores to p[0] */
	".visible .entry racy(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<9>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [p];\nmov.u32 %r1, %ctaid.x;\n"
	"st.global.u32 [%d1], %r1;\nret;\n}\n"
	/* v blocks meet at p[0], which is 0 */
	".visible .entry meet(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"atom.add.acq_rel.gpu.global.u32 %r2, [%d1], 1;\n"
	"again:\nld.acquire.gpu.global.u32 %r2, [%d1];\nsetp.lt.u32 %p, %r2, %r1;\n"
	"@%p bra again;\nret;\n}\n"
	/* stores to p[0], then counts for ever */
	".visible .entry count(.param .u64 p, .param .u32 v)\n{\n"
	".reg .b32 %r<5>;\n.reg .b64 %d<4>;\nld.param.u64 %d1, [p];\nmov.u32 %r2, 0;\n"
	"st.global.u32 [%d1], %r2;\nagain:\nadd.u32 %r2, %r2, 1;\nbra again;\n}\n"
	/* traps unless *chain is 41, by the variable's address */
	".visible .entry follow(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<5>;\n.reg .b64 %d<4>;\n"
	"ld.global.u64 %d2, [chain];\nld.global.u32 %r2, [%d2];\nsetp.eq.u32 %p, %r2, 41;\n"
	"@%p bra good;\ntrap;\ngood:\nret;\n}\n"
	/* copies 16 words by the tensor map at p + v; traps unless the first is 41 */
	".visible .entry tensor(.param .u64 p, .param .u32 v)\n{\n"
	".reg .pred %p;\n.reg .b32 %r<6>;\n.reg .b64 %d<4>;\n"
	".shared .align 128 .b8 tile[64];\n.shared .align 8 .b64 full;\n"
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\ncvt.u64.u32 %d2, %r1;\n"
	"add.u64 %d1, %d1, %d2;\nmov.u32 %r2, full;\nmov.u32 %r3, tile;\nmov.u32 %r4, 0;\n"
	"mbarrier.init.shared.b64 [%r2], 1;\nfence.mbarrier_init.release.cluster;\n"
	"mbarrier.arrive.expect_tx.shared.b64 %d3, [%r2], 64;\n"
	"cp.async.bulk.tensor.1d.shared::cluster.global.tile"
	".mbarrier::complete_tx::bytes [%r3], [%d1, {%r4}], [%r2];\n"
	"again:\nmbarrier.try_wait.parity.shared.b64 %p, [%r2], 0;\n@!%p bra again;\n"
	"ld.shared.u32 %r5, [%r3];\nsetp.eq.u32 %p, %r5, 41;\n@%p bra good;\ntrap;\n"
	"good:\nret;\n}\n"
	".visible .entry " LONG "(.param .u64 p, .param .u32 v)\n{\nret;\n}\n";

/* The program's memory. */
#define THERE  0x7e0000000000ull
#define BYTES  0x100000ull
#define VAR    0x7e1000000000ull
#define NUMBER 17u

/* Tensor maps in it, in the driver's bytes: one in a page, one in two, one that it never made. */
#define TENSOR	   (THERE + 0x80000)
#define MAP	   0x80u
#define MAP_CUT	   (RACE_JUDGE_PAGE - 64)
#define MAP_OTHER  0x400u
#define MAP_BYTE   0xa0u /* and those that follow */
#define OTHER_BYTE 0x30u

struct program {
	int fd;
	pid_t judge;
	uint64_t asked; /* the launch that the last question was about */
	unsigned pages, memories;
	bool has_lost;	/* copies that can't be had */
	bool is_remade; /* other memory lies in a part of it by the second question */
	bool has_maps;	/* in memory; else it is all 0 */
	struct race_judge_done done;
	char why[600];
};

static struct race_judge_policy policy;
static char folder[64], lines[2000]; /* what the judge has said of the module */

/* The default's choices, on a machine that is busy with others. */
static struct race_judge_policy patient(void)
{
	struct race_judge_policy p = race_judge_policy_default();

	p.limit_ns = p.at_least_ns = 60000000000ull;
	return p;
}

static void begin(struct program *p)
{
	const struct judge_serve opt = {.policy = &policy,
					.oracle = CPU_ORACLE_PROGRAM,
					.program = "test_serve",
					.folder = *folder ? folder : NULL,
					.control = -1};
	struct race_judge_module head = {.id = 7, .sm = 90, .images = 1};
	struct race_judge_message answer;
	char bytes[sizeof(uint64_t) + sizeof(text)];
	uint64_t size = sizeof(text) - 1;
	int fd[2];

	*p = (struct program){0};
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fd), 0);
	p->judge = fork();
	if (!p->judge) {
		close(fd[0]);
		judge_serve(fd[1], &opt);
		_exit(0);
	}
	close(fd[1]);
	p->fd = fd[0];
	memcpy(bytes, &size, sizeof(size));
	memcpy(bytes + sizeof(size), text, size);
	assert_true(race_judge_send(p->fd, RACE_JUDGE_MODULE, 0, &head, sizeof(head), bytes,
				    sizeof(size) + size));
	assert_true(race_judge_next(p->fd, &answer) && answer.op == RACE_JUDGE_ANSWER &&
		    answer.bytes > 2 && answer.bytes < sizeof(lines));
	assert_true(race_judge_read(p->fd, lines, answer.bytes));
	lines[answer.bytes] = 0;
}

static void end(struct program *p)
{
	int status;

	close(p->fd);
	assert_true(waitpid(p->judge, &status, 0) == p->judge && status == 0);
}

/* ---- answers ------------------------------------------------------------------------- */

static bool answer_memory(struct program *p, const void *question)
{
	struct race_judge_memory m = {0};
	uint64_t addr;

	memcpy(&addr, question, sizeof(addr));
	p->memories++;
	if (p->is_remade && addr - THERE < RACE_JUDGE_PAGE)
		m = (struct race_judge_memory){THERE, RACE_JUDGE_PAGE, CPU_MEM_DEVICE + 1, 0};
	else if (p->is_remade && addr - THERE < BYTES)
		m = (struct race_judge_memory){THERE + RACE_JUDGE_PAGE / 2, BYTES / 2,
					       CPU_MEM_DEVICE + 1, 0};
	else if (addr - THERE < BYTES)
		m = (struct race_judge_memory){THERE, BYTES, CPU_MEM_DEVICE + 1, 0};
	else if (addr - VAR < 16)
		m = (struct race_judge_memory){VAR, 16, CPU_MEM_MODULE + 1, 0};
	return race_judge_send(p->fd, RACE_JUDGE_ANSWER, p->asked, &m, sizeof(m), NULL, 0);
}

/* The byte of the program's memory. */
static uint8_t byte_at(uint64_t addr)
{
	static const struct {
		uint32_t at, first;
	} maps[] = {{MAP, MAP_BYTE}, {MAP_CUT, MAP_BYTE}, {MAP_OTHER, OTHER_BYTE}};

	for (unsigned i = 0; i < sizeof(maps) / sizeof(*maps); i++)
		if (addr - (THERE + maps[i].at) < RACE_JUDGE_MAP_BYTES)
			return (uint8_t)(maps[i].first + addr - (THERE + maps[i].at));
	return addr == TENSOR ? 41 : 0;
}

static bool answer_page(struct program *p, const void *question)
{
	static uint8_t data[RACE_JUDGE_PAGE];
	uint64_t vars[2] = {41, VAR};
	struct race_judge_range r;

	memcpy(&r, question, sizeof(r));
	p->pages++;
	assert_true(r.bytes <= RACE_JUDGE_PAGE);
	if (p->has_lost)
		return race_judge_send(p->fd, RACE_JUDGE_ANSWER, p->asked, NULL, 0, NULL, 0);
	memset(data, 0, r.bytes);
	for (uint64_t i = 0; p->has_maps && i < r.bytes; i++)
		data[i] = byte_at(r.addr + i);
	return race_judge_send(p->fd, RACE_JUDGE_ANSWER, p->asked,
			       r.addr < VAR ? (void *)data : vars, r.bytes, NULL, 0);
}

static bool answer_place(struct program *p, const void *question, size_t n)
{
	const char *name = (const char *)question + sizeof(struct race_judge_symbol);
	size_t bytes = n - sizeof(struct race_judge_symbol);
	uint64_t addr = 0;

	if (bytes == 5 && !memcmp(name, "level", 5))
		addr = VAR;
	if (bytes == 5 && !memcmp(name, "chain", 5))
		addr = VAR + 8;
	return race_judge_send(p->fd, RACE_JUDGE_ANSWER, p->asked, &addr, sizeof(addr), NULL, 0);
}

/* True: the launch is done. */
static bool answer(struct program *p)
{
	struct race_judge_message msg;
	char data[600] = {0};

	assert_true(race_judge_next(p->fd, &msg) && msg.bytes < sizeof(data));
	assert_true(race_judge_read(p->fd, data, msg.bytes));
	p->asked = msg.launch;
	switch (msg.op) {
	case RACE_JUDGE_ASK_MEMORY:
		return !answer_memory(p, data);
	case RACE_JUDGE_ASK_PAGE:
		return !answer_page(p, data);
	case RACE_JUDGE_ASK_PLACE:
		return !answer_place(p, data, msg.bytes);
	default:
		assert_int_equal(msg.op, RACE_JUDGE_DONE);
		memcpy(&p->done, data, sizeof(p->done));
		snprintf(p->why, sizeof(p->why), "%s", data + sizeof(p->done));
		return true;
	}
}

static struct race_judge_order order; /* of the next launch */

static void send_launch(struct program *p, const char *kernel, uint64_t number, uint32_t blocks,
			uint32_t value)
{
	unsigned char bytes[sizeof(LONG) + 64] = {0};
	uint64_t there = THERE;
	size_t n = strlen(kernel);
	struct race_judge_launch l = {.module = 7,
				      .order = order,
				      .number = number,
				      .grid = {blocks, 1, 1},
				      .block = {1, 1, 1},
				      .sms = 132,
				      .seed = 1,
				      .kernel = (uint32_t)n,
				      .params = 12};

	memcpy(bytes, kernel, n);
	memcpy(bytes + n, &there, 8);
	memcpy(bytes + n + 8, &value, 4);
	assert_true(race_judge_send(p->fd, RACE_JUDGE_LAUNCH, 0, &l, sizeof(l), bytes, n + 12));
}

static void launch(struct program *p, const char *kernel, uint32_t blocks, uint32_t value)
{
	p->pages = p->memories = 0;
	send_launch(p, kernel, NUMBER, blocks, value);
	while (!answer(p))
		;
	assert_int_equal(p->done.number, NUMBER);
	assert_int_equal(p->done.asked, p->pages);
}

static char place[600]; /* file:line of the last finding, as count_found saw it */

static size_t count_found(const char **judged)
{
	struct race_results r = {0};
	static char words[200];

	assert_int_equal(race_shm_read(race_shm_get(), RACE_SHM_BYTES, &r), 0);
	size_t n = r.findings.n;
	*words = 0;
	if (n && r.findings.v[n - 1].judged)
		snprintf(words, sizeof(words), "%s", r.findings.v[n - 1].judged);
	if (n)
		snprintf(place, sizeof(place), "%s:%u", r.findings.v[n - 1].file,
			 r.findings.v[n - 1].line);
	*judged = words;
	race_results_free(&r);
	return n;
}

/* ---- tests ----------------------------------------------------------------------------- */

static void test_finds(void **state)
{
	struct program p;
	const char *judged;

	(void)state;
	begin(&p);
	assert_non_null(strstr(lines, "k right 12 0:8 8:4\n"));
	assert_non_null(strstr(lines, "v level 4\nv chain 8\n"));
	/* 100,000 blocks: 6, 24, 96, 256 of them, then other seeds, as long as that is quick
	 * (race.test_judge_choice has the numbers); a page is asked for once. */
	launch(&p, "right", 100000, 0);
	assert_true(p.done.why == RACE_JUDGE_ENDED || p.done.why == RACE_JUDGE_DEAR);
	assert_int_equal(p.done.end, JUDGE_WHOLE);
	assert_in_range(p.done.trials, 1, 6);
	assert_in_range(p.done.blocks, 6, 256);
	assert_int_equal(p.done.of, 100000);
	assert_int_equal(p.memories, 2); /* the variables, and what p points to */
	assert_in_range(p.pages, 2, 16); /* start, middle and end */
	assert_int_equal(count_found(&judged), 0);
	launch(&p, "racy", 100000, 0);
	assert_int_equal(p.pages, 1);
	assert_int_equal(count_found(&judged), 1);
	assert_string_equal(judged, "on the CPU device: launch 17, from the GPU's memory, seed 1");
	/* The text has no line of a source: it is its own, kept under its first kernel's name. */
	assert_non_null(strstr(place, "/collider/text/right-"));
	assert_non_null(strstr(place, ".ptx:24"));
	/* Variables are where the program has them, with what they hold there. */
	launch(&p, "follow", 1, 0);
	assert_int_equal(p.done.end, JUDGE_WHOLE);
	assert_int_equal(p.pages, 1);
	end(&p);
}

static void test_ends(void **state)
{
	struct program p;
	const char *judged;

	(void)state;
	begin(&p);
	/* Blocks that wait get others, until all are there, or 256. */
	launch(&p, "meet", 64, 64);
	assert_int_equal(p.done.end, JUDGE_WHOLE);
	assert_int_equal(p.done.blocks, 64);
	launch(&p, "meet", 5000, 5000);
	assert_int_equal(p.done.end, JUDGE_WAITS);
	assert_int_equal(p.done.blocks, 256);
	assert_non_null(strstr(p.why, "deadlock"));
	/* A loop that counts is ended, and what was found is kept. */
	size_t before = count_found(&judged);
	policy.limit_ns = 200000000;
	end(&p);
	begin(&p);
	launch(&p, "count", 8, 0);
	policy = patient();
	assert_int_equal(p.done.end, JUDGE_LATE);
	assert_int_equal(p.done.trials, 1);
	assert_int_equal(count_found(&judged), before + 1);
	/* Not all of it from the copy: no verdict. */
	p.has_lost = true;
	launch(&p, "racy", 4, 0);
	assert_int_equal(p.done.end, JUDGE_UNKNOWN);
	assert_int_equal(p.done.why, RACE_JUDGE_FAILED);
	p.has_lost = false;
	launch(&p, "nothing", 4, 0);
	assert_int_equal(p.done.end, JUDGE_REFUSED);
	assert_non_null(strstr(p.why, "no kernel nothing"));
	launch(&p, "right", 4, 0);
	assert_int_equal(p.done.end, JUDGE_WHOLE);
	end(&p);
}

/* Launches needn't wait for one another; each is asked about by its number. */
static void test_many(void **state)
{
	const char *const kernels[] = {"right", "follow", "racy", "right"};
	const char *judged;
	struct program p;
	unsigned seen = 0;

	(void)state;
	begin(&p);
	for (unsigned i = 0; i < 4; i++)
		send_launch(&p, kernels[i], 100 + i, 4 + i, 0);
	for (unsigned i = 0; i < 4; i++) {
		while (!answer(&p))
			;
		assert_in_range(p.done.number, 100, 103);
		assert_int_equal(p.done.of, p.done.number - 100 + 4);
		assert_int_equal(p.done.end, JUDGE_WHOLE);
		seen |= 1u << (p.done.number - 100);
	}
	assert_int_equal(seen, 15);
	assert_true(count_found(&judged) > 0);
	end(&p);
}

/* Launches, and what the host does, that nothing orders. */
static size_t judge_two(uint32_t before, bool is_operation, uint64_t at)
{
	struct race_judge_operation op = {.order = {0},
					  .kind = RACE_JUDGE_SET,
					  .dst = {at, 0, 0},
					  .bytes = 4,
					  .height = 1,
					  .depth = 1};
	struct program p;
	const char *judged;
	size_t found = count_found(&judged);

	begin(&p);
	order = (struct race_judge_order){.stream = 2, .nth = 4};
	launch(&p, "right", 4, 0);
	order = (struct race_judge_order){.stream = 3, .nth = 1, .before[2] = before};
	op.order = order;
	if (is_operation)
		assert_true(
			race_judge_send(p.fd, RACE_JUDGE_OPERATION, 0, &op, sizeof(op), NULL, 0));
	else
		launch(&p, "follow", 1, 0);
	order = (struct race_judge_order){0};
	end(&p);
	return count_found(&judged) - found;
}

static void test_order(void **state)
{
	struct program p;

	(void)state;
	begin(&p);
	assert_non_null(strstr(lines, "s meet\n"));
	assert_null(strstr(lines, "s right\n"));
	end(&p);
	assert_int_equal(judge_two(4, true, THERE + 12), 0);
	assert_int_equal(judge_two(3, true, THERE + 16), 0); /* four blocks write 16 bytes */
	assert_int_equal(judge_two(3, false, 0), 0);	     /* other memory */
	assert_int_equal(judge_two(3, true, THERE + 12), 1);
}

/* A program that waits at its end waits for a kernel's first trial, as long as the policy says, and
 * for no other. */
static void test_haste(void **state)
{
	uint32_t is_on = 1;
	struct program p;

	(void)state;
	policy.first_ns = policy.grace_ns = 50000000;
	begin(&p);
	policy = patient();
	send_launch(&p, "count", 1, 8, 0);
	send_launch(&p, "count", 2, 8, 0);
	assert_true(race_judge_send(p.fd, RACE_JUDGE_HURRY, 0, &is_on, sizeof(is_on), NULL, 0));
	for (unsigned i = 0; i < 2; i++) {
		while (!answer(&p))
			;
		assert_in_range(p.done.ns, 0, 20000000000ull); /* of 60 s */
		assert_true(p.done.trials ? p.done.end == JUDGE_LATE
					  : p.done.why == RACE_JUDGE_HASTE);
	}
	end(&p);
}

/* A map that the driver has made is one wherever its bytes lie; what else is taken for one can't be
 * had. */
static void test_maps(void **state)
{
	struct race_judge_map m = {.type = 2, /* of 32 bits */
				   .rank = 1,
				   .address = TENSOR,
				   .dims = {16},
				   .box = {16},
				   .element_strides = {1}};
	uint8_t bytes[RACE_JUDGE_MAP_BYTES];
	struct program p;

	(void)state;
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(MAP_BYTE + i);
	begin(&p);
	assert_non_null(strstr(lines, "m tensor\n"));
	assert_null(strstr(lines, "m right\n"));
	p.has_maps = true;
	launch(&p, "tensor", 1, MAP);
	assert_int_equal(p.done.end, JUDGE_UNKNOWN);
	assert_true(race_judge_send(p.fd, RACE_JUDGE_MAP, 0, &m, sizeof(m), bytes, sizeof(bytes)));
	launch(&p, "tensor", 1, MAP);
	assert_int_equal(p.done.end, JUDGE_WHOLE);
	launch(&p, "tensor", 1, MAP_CUT);
	assert_int_equal(p.done.end, JUDGE_WHOLE);
	launch(&p, "tensor", 1, MAP_OTHER);
	assert_int_equal(p.done.end, JUDGE_UNKNOWN);
	assert_non_null(strstr(p.why, "no tensor map is known"));
	end(&p);
}

/* What isn't a message ends the judge, not the program. */
static void test_noise(void **state)
{
	struct race_judge_launch l = {.kernel = 1 << 30};
	struct program p;
	char c;

	(void)state;
	begin(&p);
	assert_true(race_judge_send(p.fd, RACE_JUDGE_LAUNCH, 0, &l, sizeof(l), NULL, 0));
	assert_true(recv(p.fd, &c, 1, 0) <= 0);
	end(&p);
	begin(&p);
	assert_int_equal(send(p.fd, "GET / HTTP/1.0\r\n\r\n", 18, MSG_NOSIGNAL), 18);
	assert_true(recv(p.fd, &c, 1, 0) <= 0);
	end(&p);
}

/* A launch of a program that runs becomes a file that is judged without it. */
static void test_kept(void **state)
{
	struct judge_trial t = {.name = "kept", .seed = 1, .oracle = CPU_ORACLE_PROGRAM};
	struct judge_capsule c;
	struct program p;
	const char *judged;
	char path[100];

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/collider-serve-XXXXXX");
	assert_non_null(mkdtemp(folder));
	begin(&p);
	launch(&p, "racy", 8, 0);
	end(&p);
	size_t before = count_found(&judged);
	snprintf(path, sizeof(path), "%s/0001-racy.capsule", folder);
	assert_null(judge_capsule_read(&c, path));
	unlink(path);
	rmdir(folder);
	*folder = 0;
	assert_int_equal(c.pages.n, 1);
	assert_int_equal(c.number, NUMBER);
	t.capsule = &c;
	judge_run(&t, 1, 1, NULL, NULL);
	/* The pair is one that the program's judge has found: it isn't there twice. */
	assert_int_equal(count_found(&judged), before);
	struct race_results r = {0};
	assert_int_equal(race_shm_read(race_shm_get(), RACE_SHM_BYTES, &r), 0);
	assert_true(r.judged_launches > 0 && r.judged > 0);
	race_results_free(&r);
	judge_capsule_free(&c);
}

/* Memory that was made after the launch, where memory of it was, is none of the launch's. */
static void test_remade(void **state)
{
	struct judge_capsule c;
	struct program p;
	char path[100];
	size_t n = 0;

	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/collider-serve-XXXXXX");
	assert_non_null(mkdtemp(folder));
	begin(&p);
	p.is_remade = true;
	/* Its first blocks are in the one, its last ones in the other. */
	launch(&p, "right", 100000, 0);
	assert_int_equal(p.done.end, JUDGE_UNKNOWN);
	assert_non_null(strstr(p.why, "freed before it was asked for"));
	end(&p);
	snprintf(path, sizeof(path), "%s/0001-right.capsule", folder);
	assert_null(judge_capsule_read(&c, path));
	unlink(path);
	rmdir(folder);
	*folder = 0;
	for (size_t i = 0; i < c.memory.n; i++)
		n += c.memory.v[i].base - THERE < BYTES;
	assert_int_equal(n, 1);
	judge_capsule_free(&c);
}

/* The lines about a kernel whose name is longer than a line have their ends. */
static void test_names(void **state)
{
	static const char *const starts[] = {
		"judged beside the GPU: cutlass::device_kernel<...>(...): 4 of 4 blocks, 1 launch",
		"not judged beside the GPU: cutlass::device_kernel<...>(...): "};
	struct race_results r = {0};
	struct program p;
	unsigned found = 0;

	(void)state;
	begin(&p);
	launch(&p, LONG, 4, 0);
	assert_int_equal(p.done.end, JUDGE_WHOLE);
	end(&p);
	begin(&p);
	launch(&p, LONG "0", 4, 0);
	assert_int_equal(p.done.end, JUDGE_REFUSED);
	end(&p);
	assert_int_equal(race_shm_read(race_shm_get(), RACE_SHM_BYTES, &r), 0);
	for (size_t i = 0; i < r.notes.n; i++) {
		const char *line = r.notes.v[i];
		size_t last = strlen(line) - 1;
		if (!strncmp(line, starts[0], strlen(starts[0])))
			found |= strstr(line, " s") ? 1 : 0;
		if (!strncmp(line, starts[1], strlen(starts[1])))
			found |= last > strlen(starts[1]) ? 2 : 0;
	}
	race_results_free(&r);
	assert_int_equal(found, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds),  cmocka_unit_test(test_ends),
		cmocka_unit_test(test_many),   cmocka_unit_test(test_haste),
		cmocka_unit_test(test_order),  cmocka_unit_test(test_noise),
		cmocka_unit_test(test_kept),   cmocka_unit_test(test_maps),
		cmocka_unit_test(test_remade), cmocka_unit_test(test_names),
	};

	unsetenv(RACE_SHM_ENV);
	policy = patient();
	if (!race_shm_open())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
