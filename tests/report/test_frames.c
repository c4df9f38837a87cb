/*
 * test_frames.c - folded library frames, short names, one finding for all instances of a template,
 * and the program's line that launched a kernel.
 */
#include "fake.h"

#include "report/internal.h"

#include <stdlib.h>

#define CUB "/usr/local/cuda/include/cccl/cub/agent/agent_for.cuh"

static const char kernel[] =
	"void "
	"cub::CUB_300001_SM_900::detail::for_each::static_kernel<cub::policy_hub_t::policy_500_t, "
	"long, add>(long, add)";

/* An access in `file` that was inlined through two frames of CUB. */
static struct race_side side_of(struct race_inlined in[2], const char *file, uint32_t line)
{
	in[0] = (struct race_inlined){.func = "_ZN3addclEi",
				      .func_shown = "add::operator()(int) const",
				      .file = CUB,
				      .line = 75};
	in[1] = (struct race_inlined){
		.func = "f", .func_shown = "cub::helper()", .file = CUB, .line = 143};
	return (struct race_side){.func = "k",
				  .func_shown = kernel,
				  .kernel = kernel,
				  .file = file,
				  .line = line,
				  .inlined = in,
				  .ninlined = 2,
				  .access = RACE_ACCESS_STORE,
				  .space = RACE_SPACE_GLOBAL,
				  .width = 4,
				  .vec = 1,
				  .text = "",
				  .grid = 1,
				  .flags = RACE_SIDE_WRITES,
				  .launched = {.func = "", .file = ""},
				  .launched_shown = ""};
}

static void add(struct race_results *r, struct race_side sides[2])
{
	struct race_finding f = {.kind = RACE_KIND_UNORDERED,
				 .cls = RACE_CLASS_RACE,
				 .func = sides[0].func,
				 .func_shown = sides[0].func_shown,
				 .file = sides[0].file,
				 .line = sides[0].line,
				 .inlined = sides[0].inlined,
				 .ninlined = sides[0].ninlined,
				 .met = {.name = ""},
				 .module = "",
				 .target = "",
				 .sides = sides,
				 .count = 3};

	base_vec_push(&r->findings, f);
}

static char *text_of(struct race_results *r, bool is_full)
{
	const struct rep_options opt = {.full_frames = is_full};

	return fake_render(r, &opt);
}

static void must_have(const char *text, const char *what, bool is_there)
{
	if ((strstr(text, what) != NULL) != is_there)
		fail_msg("%s \"%s\" in:\n%s", is_there ? "no" : "wrong:", what, text);
}

static void library_frames_are_counted(void **state)
{
	struct race_inlined in[2][2];
	struct race_side s[2] = {side_of(in[0], "/home/me/app.cu", 11),
				 side_of(in[1], "/home/me/app.cu", 12)};
	struct race_results r = {0};
	char *text;

	(void)state;
	add(&r, s);
	text = text_of(&r, false);
	must_have(text, "at /home/me/app.cu:11 in add::operator()(int) const\n", true);
	must_have(text, "inlined through 2 frames of CUB into void cub::detail::for_each::", true);
	must_have(text, "static_kernel<...>(long, add)", true);
	must_have(text, "agent_for.cuh", false);
	must_have(text, "CUB_300001", false);
	free(text);
	text = text_of(&r, true);
	must_have(text, "inlined at " CUB ":75 in cub::helper()", true);
	must_have(text, "inlined at " CUB ":143 in void cub::CUB_300001_SM_900::detail", true);
	free(text);
	race_results_free(&r);
}

/* The access is in CUB; the program's function, into which CUB was inlined, is what counts. */
static void own_line_comes_first(void **state)
{
	struct race_inlined in[2][2];
	struct race_side s[2] = {side_of(in[0], CUB, 30), side_of(in[1], CUB, 31)};
	struct race_results r = {0};
	char *text;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		in[i][1].file = "/home/me/app.cu";
		in[i][1].line = 40 + i;
		s[i].func_shown = "scan(int*)";
	}
	add(&r, s);
	text = text_of(&r, false);
	must_have(text, "at /home/me/app.cu:40 in scan(int*)\n", true);
	must_have(text, "through 2 frames of CUB, to " CUB ":30 in add::operator()", true);
	must_have(text, "at /home/me/app.cu:41", true);
	free(text);
	race_results_free(&r);
}

/* Instances, inlined copies and the order of the sides make no further findings; other lines do. */
static void instances_are_one(void **state)
{
	struct race_inlined in[6][2];
	struct race_side s[3][2];
	struct race_results r = {0};
	char *text;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		s[i][0] = side_of(in[2 * i], "/home/me/app.cu", 11);
		s[i][1] = side_of(in[2 * i + 1], "/home/me/app.cu", i == 2 ? 13 : 12);
	}
	s[1][0].func_shown = s[1][1].func_shown = "void other<float>(float*)";
	struct race_side swap = s[1][0];
	s[1][0] = s[1][1];
	s[1][1] = swap;
	for (unsigned i = 0; i < 3; i++)
		add(&r, s[i]);
	text = text_of(&r, false);
	must_have(text, "2 data races found", true);
	must_have(text, "Occurrences  : 6", true);
	must_have(text, "The same in  : void other<float>(float*)", true);
	free(text);
	race_results_free(&r);
}

/* Two calls of one library kernel are two findings: each has its own line in the program. */
static void launches_of_a_library_stay_apart(void **state)
{
	struct race_inlined in[4][2];
	struct race_side s[2][2];
	struct race_results r = {0};
	char *text;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		for (unsigned k = 0; k < 2; k++) {
			s[i][k] = side_of(in[2 * i + k], CUB, 30);
			s[i][k].launched = (struct race_line){
				.func = "main", .file = "/home/me/app.cu", .line = 50 + i};
			s[i][k].launched_shown = "main";
		}
		add(&r, s[i]);
	}
	text = text_of(&r, false);
	must_have(text, "2 data races found", true);
	must_have(text, "Launched     : /home/me/app.cu:50 in main", true);
	must_have(text, "Launched     : /home/me/app.cu:51 in main", true);
	free(text);
	race_results_free(&r);
}

static void launch_is_in_the_program(void **state)
{
	struct race_inlined in = {.func = "launch", .file = "/home/me/app.cu", .line = 22};
	struct race_call calls[] = {
		{.module = "/x/libcudart.so.13", .at = {.func = "cudaLaunchKernel", .file = ""}},
		{.module = "/x/app",
		 .at = {.func = "_Z16__device_stub__kPi", .file = "/tmp/app.stub.c", .line = 3}},
		{.module = "/x/app",
		 .at = {.func = "_Z1kPi", .file = "/home/me/app.cu", .line = 4}},
		{.module = "/x/app", .at = {.func = "f", .file = CUB, .line = 9}},
		{.module = "/x/app",
		 .at = {.func = "main", .file = CUB, .line = 60, .inlined = &in, .ninlined = 1}},
		{.module = "/x/libc.so.6", .at = {.func = "__libc_start_main", .file = ""}},
	};
	struct race_transfer_op op = {.calls = calls, .ncalls = BASE_COUNTOF(calls)};
	struct base_arena a = {0};
	struct race_line at = race_launch_place(&a, &op, "k(int*)");

	(void)state;
	assert_string_equal(at.file, "/home/me/app.cu");
	assert_int_equal(at.line, 22);
	assert_string_equal(at.func, "main");
	/* Without debug information: the function's name. */
	for (size_t i = 0; i < BASE_COUNTOF(calls); i++)
		calls[i].at = (struct race_line){.func = calls[i].at.func, .file = ""};
	calls[2].at.func = "libcudart_static_4d8b33a106dceb3c07a56e26de61f2d53bb62a68";
	calls[3].at.func = "_ZN3cub6launchEv";
	at = race_launch_place(&a, &op, "k(int*)");
	assert_int_equal(at.line, 0);
	assert_string_equal(at.func, "main");
	base_arena_free(&a);
}

static void names_for_people(void **state)
{
	static const struct {
		const char *name, *shown;
	} rows[] = {
		{"sum<256>(float*)", "sum<256>(float*)"},
		{"_ZZN3cub17CUB_300001_SM_9006detail9transform21transform_kernel_implINS2_"
		 "17prefetch_"
		 "policy_tILi256EEEi5shift",
		 "cub::detail::transform::transform_kernel_impl<...>(...)"},
		{"std::ostream& operator<< <very_long_argument_of_a_template, "
		 "another_argument>(std::"
		 "ostream&, (anonymous namespace)::thing const&)",
		 "std::ostream& operator<< <...>(...)"},
		{"a::b::operator()(int, some::very::long::list<of, many, arguments>, another one) "
		 "const "
		 "and what comes then",
		 "a::b::operator()(...) const and what comes then"},
	};
	const struct rep_options opt = {.full_frames = false};
	struct rep_view v = {.opt = &opt};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++)
		assert_string_equal(rep_name(&v, rows[i].name), rows[i].shown);
	base_arena_free(&v.arena);
}

static void libraries_by_their_headers(void **state)
{
	(void)state;
	assert_string_equal(race_library(CUB), "CUB");
	assert_string_equal(race_library("/opt/cuda-13.0/include/cuda_runtime.h"), "the toolkit");
	assert_string_equal(race_library("/x/targets/x86_64-linux/include/crt/f.h"), "the toolkit");
	assert_string_equal(race_library("/x/.deps/cuda/bin/../include/sm_60_atomic_functions.hpp"),
			    "the toolkit");
	assert_string_equal(
		race_library("/x/.deps/cuda/bin/..//include/sm_60_atomic_functions.hpp"),
		"the toolkit");
	assert_string_equal(race_library("/x/cutlass/include/cute/tensor.hpp"), "CUTLASS");
	assert_string_equal(race_library("/v/site-packages/torch/_inductor/runtime/run.py"),
			    "PyTorch");
	assert_string_equal(race_library("/r/.cache/collider/python/66/inductor/t7/c.py"),
			    "PyTorch");
	assert_string_equal(race_library("/v/site-packages/jax/_src/pjit.py"), "JAX");
	assert_null(race_library("/home/me/python/torch/run.py"));
	assert_null(race_library("/r/.cache/collider/python/66/cupy/source/sum-01.cu"));
	assert_null(race_library("/home/me/thrust/main.cu"));
	assert_null(race_library("/home/me/include/tile.cuh"));
	assert_null(race_library(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library_frames_are_counted),
		cmocka_unit_test(own_line_comes_first),
		cmocka_unit_test(instances_are_one),
		cmocka_unit_test(launches_of_a_library_stay_apart),
		cmocka_unit_test(launch_is_in_the_program),
		cmocka_unit_test(names_for_people),
		cmocka_unit_test(libraries_by_their_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
