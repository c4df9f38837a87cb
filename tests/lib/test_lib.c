/*
 * test_lib.c - the C library: what a call returns, each fault of a kernel and the launch after it,
 * a race and its twin, several devices at once.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <collider/ptx.h>

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define BODY "{\n.reg .pred %p;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>;\n"

static const char text[] = HEAD
	".visible .global .align 4 .u32 level = 7;\n"
	/* p[i] = p[i] * v + level */
	".visible .entry scale(.param .u64 p, .param .u32 v)\n" BODY
	"ld.param.u64 %d1, [p];\nld.param.u32 %r1, [v];\n"
	"mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nmov.u32 %r4, %ntid.x;\n"
	"mad.lo.u32 %r2, %r3, %r4, %r2;\nmul.wide.u32 %d2, %r2, 4;\nadd.u64 %d1, %d1, %d2;\n"
	"ld.global.u32 %r3, [%d1];\nld.global.u32 %r5, [level];\n"
	"mad.lo.u32 %r3, %r3, %r1, %r5;\nst.global.u32 [%d1], %r3;\nret;\n}\n"
	".visible .entry stop()\n{\ntrap;\n}\n"
	/* what no device has */
	".visible .entry odd(.param .u64 p)\n" BODY
	"ld.param.u64 %d1, [p];\nfrobnicate.global.u32 [%d1], 1;\nret;\n}\n"
	/* warp 0 waits at a barrier for 64 threads, warp 1 at another */
	".visible .entry dead()\n" BODY
	"mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p, %r1, 32;\n@%p bra one;\n"
	"bar.sync 1, 64;\nret;\n"
	"one:\nbar.sync 2, 64;\nret;\n}\n"
	".visible .entry forever(.param .u64 p)\n" BODY "ld.param.u64 %d1, [p];\nmov.u32 %r1, 0;\n"
	"again:\nadd.u32 %r1, %r1, 1;\nst.volatile.global.u32 [%d1], %r1;\nbra again;\n}\n"
	/* p[0] += 1, by two blocks: as they come, and in one step */
	".visible .entry racy(.param .u64 p)\n" BODY
	"ld.param.u64 %d1, [p];\nld.global.u32 %r1, [%d1];\nadd.u32 %r1, %r1, 1;\n"
	"st.global.u32 [%d1], %r1;\nret;\n}\n"
	".visible .entry fixed(.param .u64 p)\n" BODY
	"ld.param.u64 %d1, [p];\nred.relaxed.gpu.global.add.u32 [%d1], 1;\nret;\n}\n"
	/* p[0] = the size of dynamic shared memory, p[1], p[2] = that of the cluster */
	".visible .entry sizes(.param .u64 p)\n" BODY
	"ld.param.u64 %d1, [p];\nmov.u32 %r1, %dynamic_smem_size;\nst.global.u32 [%d1], %r1;\n"
	"mov.u32 %r1, %cluster_nctaid.x;\nst.global.u32 [%d1+4], %r1;\n"
	"mov.u32 %r1, %cluster_nctaid.y;\nst.global.u32 [%d1+8], %r1;\nret;\n}\n"
	".extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"
	".global .align 1 .b8 words[4] = {104, 105, 10, 0};\n"
	".visible .entry speak()\n" BODY
	"mov.u64 %d1, words;\ncvta.global.u64 %d1, %d1;\nmov.u64 %d2, 0;\n{\n"
	".param .b64 p0;\nst.param.b64 [p0], %d1;\n.param .b64 p1;\nst.param.b64 [p1], %d2;\n"
	".param .b32 r0;\ncall.uni (r0), vprintf, (p0, p1);\n}\nret;\n}\n"
	".visible .entry bytes(.param .u8 a, .param .f64 b, .param .align 4 .b8 "
	"c[12])\n{\nret;\n}\n";

struct fixture {
	struct collider_ptx *d;
	struct collider_ptx_module *mod;
	uint32_t p[256];
	unsigned nfound;
	char line[400], what[2][20];
	uint32_t ptx_line[2];
	int rc_within;
	char said[20];
};

static void on_finding(void *arg, const struct collider_ptx_finding *x)
{
	struct fixture *f = arg;

	f->nfound++;
	snprintf(f->line, sizeof(f->line), "%s", x->line);
	snprintf(f->what[0], sizeof(f->what[0]), "%s", x->first->what);
	snprintf(f->what[1], sizeof(f->what[1]), "%s", x->second->what);
	f->ptx_line[0] = x->first->ptx_line;
	f->ptx_line[1] = x->second->ptx_line;
	assert_int_equal(x->class_of, COLLIDER_PTX_RACE);
	f->rc_within = collider_ptx_share(f->d, f, 4);
	/* Neither does anything here. */
	collider_ptx_unload(f->mod);
	collider_ptx_close(f->d);
}

static void on_print(void *arg, bool is_error, const char *said, size_t n)
{
	struct fixture *f = arg;
	struct collider_ptx *other;

	assert_false(is_error);
	snprintf(f->said, sizeof(f->said), "%.*s", (int)n, said);
	f->rc_within = collider_ptx_open(NULL, &other);
}

static void open_device(struct fixture *f, bool judges)
{
	struct collider_ptx_options o = {.size = sizeof(o),
					 .seed = 3,
					 .judges = judges,
					 .arg = f,
					 .on_finding = on_finding,
					 .on_print = on_print};

	memset(f, 0, sizeof(*f));
	assert_int_equal(collider_ptx_open(&o, &f->d), 0);
	assert_int_equal(collider_ptx_load(f->d, "t.ptx", text, sizeof(text) - 1, &f->mod), 0);
	assert_int_equal(collider_ptx_share(f->d, f->p, sizeof(f->p)), 0);
}

static int run(struct fixture *f, const char *name, uint32_t blocks, uint32_t threads,
	       const void *const *arguments, size_t n)
{
	struct collider_ptx_launch l = {
		.size = sizeof(l), .grid = {blocks}, .block = {threads}, .limit_ms = 60000};
	struct collider_ptx_kernel *k;

	assert_int_equal(collider_ptx_find_kernel(f->mod, name, &k), 0);
	return collider_ptx_run(k, &l, arguments, n);
}

/* A launch of `name` with p, or another pointer, as its only parameter. */
static int run1(struct fixture *f, const char *name, uint32_t blocks, uint32_t threads, void *p)
{
	const void *arguments[] = {&p};

	return run(f, name, blocks, threads, arguments, 1);
}

/* The device works: 5 * 2 + level. */
static void scale_works(struct fixture *f)
{
	uint32_t *p = f->p, v = 2;
	const void *arguments[] = {&p, &v};

	for (unsigned i = 0; i < 256; i++)
		p[i] = 5;
	assert_int_equal(run(f, "scale", 4, 64, arguments, 2), 0);
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(p[i], 17);
}

static void kernels_run(void **state)
{
	struct collider_ptx_totals t = {.size = sizeof(t)};
	struct fixture f;
	void *level;
	size_t bytes;

	(void)state;
	for (int judges = 0; judges < 2; judges++) {
		open_device(&f, judges);
		scale_works(&f);
		assert_int_equal(collider_ptx_find_variable(f.mod, "level", &level, &bytes), 0);
		assert_int_equal(bytes, 4);
		void *again = NULL;
		assert_int_equal(collider_ptx_find_variable(f.mod, "level", &again, NULL), 0);
		assert_ptr_equal(again, level);
		*(uint32_t *)level = 1;
		uint32_t *p = f.p, v = 1;
		const void *arguments[] = {&p, &v};
		assert_int_equal(run(&f, "scale", 1, 1, arguments, 2), 0);
		assert_int_equal(p[0], 18);
		assert_int_equal(collider_ptx_get_totals(f.d, &t), 0);
		assert_int_equal(t.launches, 2);
		assert_int_equal(t.judged, judges ? 257 * 3 : 0);
		assert_int_equal(t.findings, 0);
		assert_false(t.is_partial);
		collider_ptx_close(f.d);
	}
}

static void kernels_are_described(void **state)
{
	struct collider_ptx_kernel_info info = {.size = sizeof(info)};
	struct collider_ptx_parameter par = {.size = sizeof(par)};
	struct collider_ptx_kernel *k;
	struct fixture f;
	size_t n = 0;

	(void)state;
	open_device(&f, false);
	while (!collider_ptx_kernel_at(f.mod, n, &k))
		n++;
	assert_int_equal(n, 10);
	assert_int_equal(collider_ptx_find_kernel(f.mod, "bytes", &k), 0);
	assert_int_equal(collider_ptx_get_kernel(k, &info), 0);
	assert_string_equal(info.name, "bytes");
	assert_int_equal(info.parameters, 3);
	assert_int_equal(info.parameter_bytes, 28);
	assert_null(info.refused);
	static const struct {
		const char *name, *type;
		size_t bytes, offset;
	} want[] = {{"a", "u8", 1, 0}, {"b", "f64", 8, 8}, {"c", "b8", 12, 16}};
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(collider_ptx_get_parameter(k, i, &par), 0);
		assert_string_equal(par.name, want[i].name);
		assert_string_equal(par.type, want[i].type);
		assert_int_equal(par.bytes, want[i].bytes);
		assert_int_equal(par.offset, want[i].offset);
	}
	assert_int_equal(collider_ptx_get_parameter(k, 3, &par), COLLIDER_PTX_ARGUMENT);
	collider_ptx_close(f.d);
}

static void is_unset(int rc, const char *name)
{
	char begin[60];

	assert_int_equal(rc, COLLIDER_PTX_ARGUMENT);
	snprintf(begin, sizeof(begin), "the size of struct collider_ptx_%s is ", name);
	assert_int_equal(strncmp(collider_ptx_error(), begin, strlen(begin)), 0);
}

/* Callers that were built with other versions, and those that forgot to set a size. */
static void sizes_are_checked(void **state)
{
	static const size_t garbage[] = {0, 8, SIZE_MAX, SIZE_MAX / 3 * 2};
	struct later_totals {
		struct collider_ptx_totals now;
		uint64_t then[4];
	} t = {{.size = sizeof(t)}, {1, 1, 1, 1}};
	struct later_launch {
		struct collider_ptx_launch now;
		uint64_t then[4];
	} l = {{.size = sizeof(l)}, {0}};
	struct collider_ptx_options o = {.seed = 1};
	struct collider_ptx_kernel *k;
	struct collider_ptx *d;
	struct fixture f;

	(void)state;
	open_device(&f, false);
	void *p = f.p;
	const void *arguments[] = {&p};
	assert_int_equal(collider_ptx_find_kernel(f.mod, "fixed", &k), 0);
	assert_int_equal(collider_ptx_run(k, &l.now, arguments, 1), 0);
	assert_int_equal(collider_ptx_get_totals(f.d, &t.now), 0);
	assert_int_equal(t.now.launches, 1);
	assert_int_equal(t.then[0] | t.then[3], 0);
	l.then[3] = 1;
	assert_int_equal(collider_ptx_run(k, &l.now, arguments, 1), COLLIDER_PTX_ARGUMENT);
	/* What lies behind the size that was given stays. */
	memset(&t, 0xaa, sizeof(t));
	t.now.size = sizeof(t.now);
	assert_int_equal(collider_ptx_get_totals(f.d, &t.now), 0);
	assert_int_equal(t.now.size, sizeof(t.now));
	assert_true(t.then[0] == 0xaaaaaaaaaaaaaaaau);
	for (size_t i = 0; i < sizeof(garbage) / sizeof(*garbage); i++) {
		struct collider_ptx_kernel_info info = {.size = garbage[i]};
		struct collider_ptx_parameter par = {.size = garbage[i]};
		t.now.size = l.now.size = o.size = garbage[i];
		is_unset(collider_ptx_get_totals(f.d, &t.now), "totals");
		is_unset(collider_ptx_run(k, &l.now, arguments, 1), "launch");
		is_unset(collider_ptx_open(&o, &d), "options");
		is_unset(collider_ptx_get_kernel(k, &info), "kernel_info");
		is_unset(collider_ptx_get_parameter(k, 0, &par), "parameter");
	}
	scale_works(&f);
	collider_ptx_close(f.d);
}

static void wrong_calls_are_refused(void **state)
{
	static const char bad[] = HEAD ".visible .entry x()\n{\nadd.u32 %r1, 1;\n}\n";
	static const char narrow[] = ".version 9.0\n.target sm_90\n.address_size 32\n";
	struct collider_ptx_launch l = {.size = sizeof(l), .block = {2000}};
	struct collider_ptx_module *m;
	struct collider_ptx_kernel *k;
	struct fixture f;
	void *p;

	(void)state;
	open_device(&f, false);
	assert_int_equal(collider_ptx_find_kernel(f.mod, "scole", &k), COLLIDER_PTX_NO_NAME);
	assert_string_equal(collider_ptx_error(), "t.ptx has no kernel scole; its first is scale");
	assert_null(k);
	assert_int_equal(collider_ptx_find_variable(f.mod, "x", &p, NULL), COLLIDER_PTX_NO_NAME);
	assert_int_equal(collider_ptx_load(f.d, "bad.ptx", bad, sizeof(bad) - 1, &m),
			 COLLIDER_PTX_TEXT);
	assert_null(m);
	assert_int_equal(strncmp(collider_ptx_error(), "bad.ptx:6:", 10), 0);
	assert_int_equal(collider_ptx_load(f.d, "no.ptx", "int main", 8, &m), COLLIDER_PTX_TEXT);
	assert_int_equal(collider_ptx_load(f.d, "narrow.ptx", narrow, sizeof(narrow), &m),
			 COLLIDER_PTX_TEXT);
	assert_string_equal(collider_ptx_error(),
			    "narrow.ptx: found .address_size 32, expected 64");
	/* One NUL may end a text, two may not. */
	static const char two[] = HEAD "\0";
	assert_int_equal(collider_ptx_load(f.d, "two.ptx", two, sizeof(two) - 1, &m), 0);
	assert_int_equal(collider_ptx_load(f.d, "two.ptx", two, sizeof(two), &m),
			 COLLIDER_PTX_TEXT);
	assert_int_equal(collider_ptx_share(f.d, f.p + 1, 4), COLLIDER_PTX_ARGUMENT);
	assert_int_equal(collider_ptx_share(f.d, NULL, 4), COLLIDER_PTX_ARGUMENT);
	assert_int_equal(collider_ptx_forget(f.d, f.p + 1), COLLIDER_PTX_ARGUMENT);
	assert_int_equal(run(&f, "scale", 1, 1, NULL, 0), COLLIDER_PTX_ARGUMENT);
	assert_string_equal(collider_ptx_error(), "scale has 2 parameters, 0 were given");
	assert_int_equal(run(&f, "scale", 1, 1, NULL, 2), COLLIDER_PTX_ARGUMENT);
	assert_int_equal(collider_ptx_find_kernel(f.mod, "stop", &k), 0);
	assert_int_equal(collider_ptx_run(k, &l, NULL, 0), COLLIDER_PTX_REFUSED);
	assert_string_equal(collider_ptx_error(), "stop: a block of 2000x1x1 threads, expected 1 "
						  "to 1024x1024x64, and 1024 in all");
	assert_int_equal(collider_ptx_find_kernel(NULL, "stop", &k), COLLIDER_PTX_ARGUMENT);
	assert_null(k);
	assert_int_equal(collider_ptx_find_kernel(f.mod, "stop", &k), 0);
	assert_int_equal(collider_ptx_run(k, NULL, NULL, 0), COLLIDER_PTX_ARGUMENT);
	assert_int_equal(collider_ptx_open(NULL, NULL), COLLIDER_PTX_ARGUMENT);
	assert_int_equal(collider_ptx_get_totals(NULL, NULL), COLLIDER_PTX_ARGUMENT);
	collider_ptx_close(NULL);
	scale_works(&f);
	collider_ptx_close(f.d);
}

static void launches_have_shapes(void **state)
{
	struct collider_ptx_launch l = {
		.size = sizeof(l), .grid = {4}, .cluster = {2}, .dynamic_shared_bytes = 80};
	struct collider_ptx_kernel *k;
	struct fixture f;

	(void)state;
	open_device(&f, false);
	void *p = f.p;
	const void *arguments[] = {&p};
	assert_int_equal(collider_ptx_find_kernel(f.mod, "sizes", &k), 0);
	assert_int_equal(collider_ptx_run(k, &l, arguments, 1), 0);
	assert_int_equal(f.p[0], 80);
	assert_int_equal(f.p[1], 2);
	l.grid[0] = 3;
	assert_int_equal(collider_ptx_run(k, &l, arguments, 1), COLLIDER_PTX_REFUSED);
	/* Without a first part it is {1,2,1}. */
	l.cluster[0] = 0;
	l.cluster[1] = 2;
	assert_int_equal(collider_ptx_run(k, &l, arguments, 1), COLLIDER_PTX_REFUSED);
	assert_non_null(strstr(collider_ptx_error(), "no multiple of the cluster"));
	l.grid[1] = 2;
	assert_int_equal(collider_ptx_run(k, &l, arguments, 1), 0);
	assert_int_equal(f.p[1], 1);
	assert_int_equal(f.p[2], 2);
	l.cluster[1] = l.grid[1] = 0;
	l.dynamic_shared_bytes = 1 << 20;
	assert_int_equal(collider_ptx_run(k, &l, arguments, 1), COLLIDER_PTX_REFUSED);
	assert_string_equal(collider_ptx_error(),
			    "sizes: a block with 0 bytes of shared memory of its text and 1048576 "
			    "of the launch, expected 232448 at most");
	l.dynamic_shared_bytes = 0;
	l.is_cooperative = true;
	assert_int_equal(collider_ptx_run(k, &l, arguments, 1), 0);
	assert_int_equal(f.p[1], 1);
	l.grid[0] = 1 << 20;
	assert_int_equal(collider_ptx_run(k, &l, arguments, 1), COLLIDER_PTX_REFUSED);
	collider_ptx_close(f.d);
}

static void kernels_print(void **state)
{
	struct fixture f;

	(void)state;
	open_device(&f, true);
	assert_int_equal(run(&f, "speak", 1, 1, NULL, 0), 0);
	assert_string_equal(f.said, "hi\n");
	assert_int_equal(f.rc_within, COLLIDER_PTX_BUSY);
	scale_works(&f);
	collider_ptx_close(f.d);
}

/* A kernel's fault is its launch's; the next one runs. */
static void faults_are_codes(void **state)
{
	struct fixture f;

	(void)state;
	for (int judges = 0; judges < 2; judges++) {
		open_device(&f, judges);
		assert_int_equal(run(&f, "stop", 2, 64, NULL, 0), COLLIDER_PTX_TRAP);
		assert_non_null(strstr(collider_ptx_error(), "stop"));
		scale_works(&f);
		assert_int_equal(run1(&f, "fixed", 1, 1, f.p + 256), COLLIDER_PTX_ADDRESS);
		scale_works(&f);
		assert_int_equal(run1(&f, "fixed", 1, 1, (char *)f.p + 1), COLLIDER_PTX_ADDRESS);
		assert_int_equal(run1(&f, "fixed", 1, 1, NULL), COLLIDER_PTX_ADDRESS);
		scale_works(&f);
		assert_int_equal(run1(&f, "odd", 1, 1, f.p), COLLIDER_PTX_REFUSED);
		assert_non_null(strstr(collider_ptx_error(), "frobnicate"));
		scale_works(&f);
		assert_int_equal(run(&f, "dead", 1, 64, NULL, 0), COLLIDER_PTX_DEADLOCK);
		scale_works(&f);
		assert_int_equal(collider_ptx_forget(f.d, f.p), 0);
		assert_int_equal(run1(&f, "fixed", 1, 1, f.p), COLLIDER_PTX_ADDRESS);
		assert_int_equal(collider_ptx_share(f.d, f.p, sizeof(f.p)), 0);
		scale_works(&f);
		assert_int_equal(f.nfound, 0);
		collider_ptx_close(f.d);
	}
}

static void limits_stop_launches(void **state)
{
	struct collider_ptx_launch l = {.size = sizeof(l), .limit_ms = 20};
	struct collider_ptx_kernel *k;
	struct fixture f;

	(void)state;
	open_device(&f, false);
	void *p = f.p;
	const void *arguments[] = {&p};
	assert_int_equal(collider_ptx_find_kernel(f.mod, "forever", &k), 0);
	assert_int_equal(collider_ptx_run(k, &l, arguments, 1), COLLIDER_PTX_TIME);
	scale_works(&f);
	collider_ptx_close(f.d);
}

static void races_are_found(void **state)
{
	struct collider_ptx_totals t = {.size = sizeof(t)};
	struct fixture f;

	(void)state;
	open_device(&f, true);
	assert_int_equal(run1(&f, "fixed", 2, 1, f.p), 0);
	assert_int_equal(f.p[0], 2);
	assert_int_equal(f.nfound, 0);
	/* Launches are ordered. */
	assert_int_equal(run1(&f, "racy", 1, 1, f.p), 0);
	assert_int_equal(run1(&f, "racy", 1, 1, f.p), 0);
	assert_int_equal(f.p[0], 4);
	assert_int_equal(f.nfound, 0);
	assert_int_equal(run1(&f, "racy", 2, 1, f.p), 0);
	assert_int_equal(f.nfound, 2); /* the load and the store, and the stores */
	assert_non_null(strstr(f.line, "t.ptx:"));
	assert_non_null(strstr(f.line, "races with"));
	assert_string_equal(f.what[1], "store");
	assert_int_equal(f.rc_within, COLLIDER_PTX_BUSY);
	assert_int_equal(run1(&f, "racy", 2, 1, f.p), 0);
	assert_int_equal(f.nfound, 2); /* each once */
	assert_int_equal(collider_ptx_get_totals(f.d, &t), 0);
	assert_int_equal(t.races, 2);
	scale_works(&f);
	collider_ptx_close(f.d);
	open_device(&f, false);
	assert_int_equal(run1(&f, "racy", 2, 1, f.p), 0);
	assert_int_equal(f.nfound, 0);
	collider_ptx_close(f.d);
}

/* A device reserves many. An emulator of another processor may not have them for several, nor know
 * the limit that the host's kernel was given. */
static void needs_addresses(void)
{
	size_t bytes = (size_t)1 << 40;
	void *p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		skip();
	munmap(p, bytes);
}

/* A device of its own, or one for all. */
static void *many(void *arg)
{
	struct fixture *f = arg, own;

	for (int i = 0; i < 20; i++) {
		open_device(&own, true);
		scale_works(&own);
		assert_int_equal(run1(&own, "racy", 2, 1, own.p), 0);
		assert_int_equal(own.nfound, 2);
		collider_ptx_close(own.d);
		assert_int_equal(run1(f, "fixed", 2, 32, f->p), 0);
	}
	return NULL;
}

static void threads_share_devices(void **state)
{
	pthread_t thread[3];
	struct fixture f;

	(void)state;
	needs_addresses();
	open_device(&f, true);
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, many, &f), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(f.p[0], 3 * 20 * 64);
	assert_int_equal(f.nfound, 0);
	collider_ptx_close(f.d);
}

static void children_are_refused(void **state)
{
	struct fixture f;
	int status;

	(void)state;
	open_device(&f, true);
	scale_works(&f);
	pid_t pid = fork();
	if (!pid) {
		struct collider_ptx *d;
		int rc = collider_ptx_forget(f.d, f.p) != COLLIDER_PTX_ARGUMENT;
		rc |= collider_ptx_open(NULL, &d);
		collider_ptx_close(d);
		_exit(rc);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	scale_works(&f);
	collider_ptx_close(f.d);
}

/* No memory but `more` bytes; -1: as much as there is. */
static int limit_memory(long more)
{
	unsigned long pages = 0;
	struct rlimit limit;

	FILE *in = fopen("/proc/self/statm", "r");
	if (!in || fscanf(in, "%lu", &pages) != 1)
		return 3;
	fclose(in);
	getrlimit(RLIMIT_AS, &limit);
	limit.rlim_cur =
		more < 0 ? limit.rlim_max : pages * (rlim_t)sysconf(_SC_PAGESIZE) + (rlim_t)more;
	return setrlimit(RLIMIT_AS, &limit) ? 3 : 0;
}

/* Without memory calls fail, what runs isn't judged, and the process goes on. */
static int is_short(void)
{
	struct collider_ptx_totals t = {.size = sizeof(t)};
	const uint32_t words = 8u << 20;
	uint32_t *p = calloc(words, 4), v = 2;
	const void *arguments[] = {&p, &v};
	struct fixture f;

	open_device(&f, true);
	scale_works(&f);
	if (!p || collider_ptx_share(f.d, p, (size_t)words * 4))
		return 2;
	if (limit_memory(8 << 20))
		return 3;
	int rc = run(&f, "scale", words / 256, 256, arguments, 2);
	for (uint32_t i = 0; i < words; i++)
		if (p[i] != 7)
			return 4;
	limit_memory(-1);
	if (rc != COLLIDER_PTX_MEMORY || collider_ptx_get_totals(f.d, &t) || !t.is_partial)
		return 5;
	scale_works(&f);
	collider_ptx_close(f.d);
	return 0;
}

/* The same text again and again, until it isn't loaded: then there is no module. */
static int is_short_of_modules(void)
{
	struct collider_ptx_module *m;
	struct collider_ptx_kernel *k;
	struct fixture f;
	int rc = 0, n = 0;

	open_device(&f, true);
	scale_works(&f);
	if (limit_memory(4 << 20))
		return 3;
	for (; n < 10000 && !rc; n++) {
		m = NULL;
		rc = collider_ptx_load(f.d, "u.ptx", text, sizeof(text) - 1, &m);
		if (!rc != !!m)
			return 4;
	}
	limit_memory(-1);
	if (rc != COLLIDER_PTX_MEMORY)
		return 5;
	if (collider_ptx_load(f.d, "u.ptx", text, sizeof(text) - 1, &m) ||
	    collider_ptx_find_kernel(m, "scale", &k))
		return 6;
	scale_works(&f);
	collider_ptx_close(f.d);
	return 0;
}

/* The limit is a child's. */
static void ends_well(int (*child)(void))
{
	int status;

#ifdef LIB_IS_SANITIZED
	skip(); /* its own memory has no limit */
#endif
	pid_t pid = fork();
	if (!pid)
		_exit(child());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void memory_runs_out(void **state)
{
	(void)state;
	needs_addresses();
	ends_well(is_short);
}

static void modules_run_out(void **state)
{
	(void)state;
	needs_addresses();
	ends_well(is_short_of_modules);
}

static void modules_come_and_go(void **state)
{
	struct collider_ptx_module *m;
	struct fixture f;

	(void)state;
	open_device(&f, true);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(collider_ptx_load(f.d, "u.ptx", text, sizeof(text) - 1, &m), 0);
		collider_ptx_unload(f.mod);
		f.mod = m;
		scale_works(&f);
	}
	assert_int_equal(run1(&f, "racy", 2, 1, f.p), 0);
	assert_non_null(strstr(f.line, "u.ptx:"));
	collider_ptx_close(f.d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernels_run),		cmocka_unit_test(kernels_are_described),
		cmocka_unit_test(sizes_are_checked),	cmocka_unit_test(wrong_calls_are_refused),
		cmocka_unit_test(launches_have_shapes), cmocka_unit_test(kernels_print),
		cmocka_unit_test(faults_are_codes),	cmocka_unit_test(limits_stop_launches),
		cmocka_unit_test(races_are_found),	cmocka_unit_test(threads_share_devices),
		cmocka_unit_test(children_are_refused), cmocka_unit_test(modules_come_and_go),
		cmocka_unit_test(memory_runs_out),	cmocka_unit_test(modules_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
