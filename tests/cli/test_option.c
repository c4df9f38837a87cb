/*
 * test_option.c - the option engine: values, sources, nearest names, rendered help.
 *
 * Works on the real rows of options.def; each "must take" has a "must refuse".
 */
#include "base/option.h"
#include "race/detector.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MAX_WORDS 16

/* Parses `env` (NULL: none) and the words of `line`, split at spaces. Returns the exit code. */
static int parse(struct option_set *s, struct base_sink *sink, enum option_cmd cmd, const char *env,
		 const char *line)
{
	static char copy[512];
	static char *words[MAX_WORDS];
	int n = 0, rc = 0;

	memset(sink, 0, sizeof(*sink));
	option_init(s, cmd);
	if (env)
		rc = option_read_env(s, "ENV", env, sink);
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok(copy, " "); w && n < MAX_WORDS; w = strtok(NULL, " "))
		words[n++] = w;
	return rc ? rc : option_parse(s, n, words, sink);
}

static void drop(struct option_set *s, struct base_sink *sink)
{
	option_free(s);
	base_sink_free(sink);
}

/* The line must be refused with exactly this message. */
static void refuse(enum option_cmd cmd, const char *env, const char *line, const char *message)
{
	struct option_set s;
	struct base_sink sink;

	assert_int_equal(parse(&s, &sink, cmd, env, line), BASE_EXIT_USAGE);
	assert_int_equal(sink.errors, 1);
	assert_string_equal(sink.diags.v[sink.diags.n - 1].text, message);
	drop(&s, &sink);
}

static void test_defaults(void **state)
{
	struct option_set s;
	struct base_sink sink;

	(void)state;
	assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN, NULL, ""), 0);
	assert_int_equal(option_int(&s, OPTION_RDELAY), 5000);
	assert_int_equal(option_int(&s, OPTION_WDELAY), 1);
	assert_int_equal(option_int(&s, OPTION_PRINT_LIMIT), 100);
	assert_true(option_is(&s, OPTION_DEVICE, "auto"));
	assert_false(option_is(&s, OPTION_DEVICE, "gpu"));
	assert_null(option_text(&s, OPTION_SPEED));
	assert_false(option_is(&s, OPTION_SPEED, "fast"));
	assert_false(option_flag(&s, OPTION_QUIET));
	assert_int_equal(option_source(&s, OPTION_RDELAY), OPTION_FROM_DEFAULT);
	assert_int_equal(s.args.n, 0);
	drop(&s, &sink);
}

static void test_spellings(void **state)
{
	static const char *const lines[] = {"-o x --stats in.ptx", "-ox in.ptx --stats",
					    "--output=x --stats=yes in.ptx",
					    "in.ptx --stats --output x", "--stats -o x -- in.ptx"};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(lines); i++) {
		struct option_set s;
		struct base_sink sink;

		assert_int_equal(parse(&s, &sink, OPTION_CMD_INSTRUMENT, NULL, lines[i]), 0);
		assert_string_equal(option_text(&s, OPTION_OUTPUT), "x");
		assert_true(option_flag(&s, OPTION_STATS));
		assert_int_equal(s.args.n, 1);
		assert_string_equal(s.args.v[0], "in.ptx");
		assert_null(s.args.v[1]);
		drop(&s, &sink);
	}
}

static void test_run_stops_at_the_program(void **state)
{
	struct option_set s;
	struct base_sink sink;

	(void)state;
	assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN, NULL, "--rdelay 7 ./app --rdelay 9 -- x"),
			 0);
	assert_int_equal(option_int(&s, OPTION_RDELAY), 7);
	assert_int_equal(s.args.n, 5);
	assert_string_equal(s.args.v[3], "--");
	drop(&s, &sink);
	assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN, NULL, "-- --odd-name -q"), 0);
	assert_string_equal(s.args.v[0], "--odd-name");
	assert_false(option_flag(&s, OPTION_QUIET));
	drop(&s, &sink);
}

static void test_pass_through_keeps_the_rest(void **state)
{
	struct option_set s;
	struct base_sink sink;

	(void)state;
	assert_int_equal(parse(&s, &sink, OPTION_CMD_NVCC, NULL, "--rdelay=3 -o x -- --help -h"),
			 0);
	assert_int_equal(s.args.n, 6);
	assert_string_equal(s.args.v[0], "--rdelay=3");
	drop(&s, &sink);
}

static void test_numbers(void **state)
{
	struct option_set s;
	struct base_sink sink;

	(void)state;
	assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN, NULL, "--seed=0xff --rate=010"), 0);
	assert_int_equal(option_int(&s, OPTION_SEED), 255);
	assert_int_equal(option_int(&s, OPTION_RATE), 10);
	drop(&s, &sink);
	assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN, NULL, "--rdelay=1000000 --wdelay=0"), 0);
	drop(&s, &sink);
	refuse(OPTION_CMD_RUN, NULL, "--rdelay=1000001",
	       "--rdelay: found '1000001', expected a whole number from 0 to 1000000");
	refuse(OPTION_CMD_RUN, NULL, "--rdelay=-1",
	       "--rdelay: found '-1', expected a whole number from 0 to 1000000");
	refuse(OPTION_CMD_RUN, NULL, "--rate=0",
	       "--rate: found '0', expected a whole number from 1 to 2147483647");
	refuse(OPTION_CMD_RUN, NULL, "--seed=5x",
	       "--seed: found '5x', expected a whole number from 0 to 4294967295");
	refuse(OPTION_CMD_RUN, NULL,
	       "--seed=", "--seed: found '', expected a whole number from 0 to 4294967295");
	refuse(OPTION_CMD_RUN, NULL, "--seed=99999999999999999999",
	       "--seed: found '99999999999999999999', expected a whole number from 0 to "
	       "4294967295");
	refuse(OPTION_CMD_RUN, NULL, "--seed", "--seed needs a value: N");
}

static void test_times(void **state)
{
	static const struct {
		const char *line;
		int64_t ms;
	} good[] = {{"--timeout=10", 10000},  {"--timeout=1.5", 1500},	 {"--timeout=500ms", 500},
		    {"--timeout=2m", 120000}, {"--timeout=1h", 3600000}, {"--timeout=0", 0},
		    {"--timeout=.5s", 500},   {"--timeout=0.0001", 1}};
	static const char *const bad[] = {"ten", "-1", "5d", "0x10", "inf", "nan", "1e30", ""};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(good); i++) {
		struct option_set s;
		struct base_sink sink;

		assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN, NULL, good[i].line), 0);
		assert_int_equal(option_int(&s, OPTION_TIMEOUT), good[i].ms);
		drop(&s, &sink);
	}
	for (size_t i = 0; i < BASE_COUNTOF(bad); i++) {
		char line[64], message[128];

		snprintf(line, sizeof(line), "--timeout=%s", bad[i]);
		snprintf(message, sizeof(message),
			 "--timeout: found '%s', expected a time such as 10, 1.5, 500ms, 2m or 1h",
			 bad[i]);
		refuse(OPTION_CMD_RUN, NULL, line, message);
	}
}

static void test_choices(void **state)
{
	struct option_set s;
	struct base_sink sink;

	(void)state;
	assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN, NULL, "--speed=thorough --color never"),
			 0);
	assert_true(option_is(&s, OPTION_SPEED, "thorough"));
	assert_true(option_is(&s, OPTION_COLOR, "never"));
	drop(&s, &sink);
	refuse(OPTION_CMD_RUN, NULL, "--speed=fas",
	       "--speed: found 'fas', expected one of fast|balanced|thorough");
	refuse(OPTION_CMD_RUN, NULL, "--speed=fast|balanced",
	       "--speed: found 'fast|balanced', expected one of fast|balanced|thorough");
	refuse(OPTION_CMD_RUN, NULL,
	       "--speed=", "--speed: found '', expected one of fast|balanced|thorough");
	refuse(OPTION_CMD_RUN, NULL, "--log-file=", "--log-file: found '', expected a file name");
	refuse(OPTION_CMD_RUN, NULL, "--quiet=maybe", "--quiet: found 'maybe', expected yes or no");
}

static void test_unknown(void **state)
{
	(void)state;
	refuse(OPTION_CMD_RUN, NULL, "--rdelai=5 ./app",
	       "unknown option --rdelai (did you mean --rdelay?)");
	refuse(OPTION_CMD_RUN, NULL, "--rdealy=5",
	       "unknown option --rdealy (did you mean --rdelay?)");
	refuse(OPTION_CMD_RUN, NULL, "-rdelay", "unknown option -rdelay (did you mean --rdelay?)");
	refuse(OPTION_CMD_RUN, NULL, "--error-exit=5",
	       "unknown option --error-exit (did you mean --error-exitcode?)");
	refuse(OPTION_CMD_RUN, NULL, "--xyzzy",
	       "unknown option --xyzzy (collider help run lists them)");
	refuse(OPTION_CMD_RUN, NULL, "-z", "unknown option -z (collider help run lists them)");
	refuse(OPTION_CMD_RUN, NULL, "--stats",
	       "--stats is an option of collider instrument, not of collider run");
	refuse(OPTION_CMD_REPORT, NULL, "--quite",
	       "unknown option --quite (collider help report lists them)");
}

static void test_lists_get_longer(void **state)
{
	struct option_set s;
	struct base_sink sink;

	(void)state;
	assert_int_equal(parse(&s, &sink, OPTION_CMD_PROVE, NULL,
			       "--param=w=3 --block-dim=8 --assume=w>1 --param h=4 --block-dim=16 "
			       "--assume=h>1 a.ptx"),
			 0);
	assert_string_equal(option_text(&s, OPTION_PARAM), "w=3,h=4");
	assert_string_equal(option_text(&s, OPTION_ASSUME), "w>1;h>1");
	assert_string_equal(option_text(&s, OPTION_BLOCK_DIM), "16");
	drop(&s, &sink);
}

static void test_environment(void **state)
{
	struct option_set s;
	struct base_sink sink;

	(void)state;
	assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN,
			       "rdelay=7: quiet :log-file='a:b':wdelay=3:verbose=0", "--wdelay=9"),
			 0);
	assert_int_equal(option_int(&s, OPTION_RDELAY), 7);
	assert_int_equal(option_source(&s, OPTION_RDELAY), OPTION_FROM_ENV);
	assert_int_equal(option_int(&s, OPTION_WDELAY), 9);
	assert_int_equal(option_source(&s, OPTION_WDELAY), OPTION_FROM_ARGV);
	assert_string_equal(option_text(&s, OPTION_LOG_FILE), "a:b");
	assert_false(option_flag(&s, OPTION_VERBOSE));
	assert_int_equal(sink.diags.n, 0);
	drop(&s, &sink);
}

static void test_environment_warns(void **state)
{
	struct option_set s;
	struct base_sink sink;

	(void)state;
	assert_int_equal(parse(&s, &sink, OPTION_CMD_RUN, "rdelai=7:stats=1:zzzzz:rdelay=8", ""),
			 0);
	assert_int_equal(sink.warnings, 3);
	assert_string_equal(sink.diags.v[0].text,
			    "ENV: unknown key 'rdelai' ignored (did you mean rdelay?)");
	assert_string_equal(sink.diags.v[1].text,
			    "ENV: 'stats' works on the command line only, ignored");
	assert_string_equal(sink.diags.v[2].text, "ENV: unknown key 'zzzzz' ignored");
	assert_int_equal(option_int(&s, OPTION_RDELAY), 8);
	drop(&s, &sink);
	/* A key of another command is no mistake; not even its value is looked at. */
	assert_int_equal(parse(&s, &sink, OPTION_CMD_REPORT, "rdelay=x:verbose", ""), 0);
	assert_int_equal(sink.diags.n, 0);
	assert_true(option_flag(&s, OPTION_VERBOSE));
	drop(&s, &sink);
	refuse(OPTION_CMD_RUN, "rdelay=x", "",
	       "ENV: rdelay: found 'x', expected a whole number from 0 to 1000000");
	refuse(OPTION_CMD_RUN, "rdelay", "", "ENV: rdelay needs a value: NS");
}

/* Every row can be said, has its words, and its default is a value of its own. */
static void test_rows(void **state)
{
	(void)state;
	for (int i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *row = &option_rows[i];

		assert_true(row->cmds != 0);
		assert_true(row->help[0] && row->help[strlen(row->help) - 1] != '.');
		assert_true((row->type == OPTION_TYPE_FLAG) == !row->arg[0]);
		for (int j = 0; j < i; j++) {
			bool together = (row->cmds & option_rows[j].cmds) != 0;
			assert_true(strcmp(row->name, option_rows[j].name) != 0);
			assert_false(together && row->letter &&
				     row->letter == option_rows[j].letter);
		}
	}
	for (int c = 0; c < OPTION_CMD_COUNT; c++) {
		struct option_set s;
		option_init(&s, (enum option_cmd)c); /* asserts on a bad default */
		if (c < OPTION_CMD_SHOWN)
			assert_int_equal(option_find_cmd(option_cmd_name((enum option_cmd)c)), c);
		option_free(&s);
	}
}

static void test_documents_name_every_option(void **state)
{
	struct base_buf man = {0}, markdown = {0};

	(void)state;
	option_doc_man(&man, "1");
	option_doc_markdown(&markdown);
	base_buf_put(&man, "", 1);
	base_buf_put(&markdown, "", 1);
	for (int i = 0; i < OPTION_COUNT; i++) {
		struct base_buf roff = {0}, plain = {0};

		/* Those of lists without a user stand nowhere. */
		if (!(option_rows[i].cmds & ((1u << OPTION_CMD_SHOWN) - 1)))
			continue;

		base_buf_puts(&roff, "\\-\\-");
		for (const char *p = option_rows[i].name; *p; p++)
			base_buf_printf(&roff, *p == '-' ? "\\%c" : "%c", *p);
		base_buf_put(&roff, "", 1);
		base_buf_printf(&plain, "--%s", option_rows[i].name);
		base_buf_put(&plain, "", 1);
		assert_non_null(strstr(man.p, roff.p));
		assert_non_null(strstr(markdown.p, plain.p));
		for (unsigned c = 0; c < OPTION_CMD_SHOWN; c++) {
			struct base_buf help = {0};

			option_doc_cmd(&help, (enum option_cmd)c);
			base_buf_put(&help, "", 1);
			if (option_belongs((enum option_id)i, (enum option_cmd)c))
				assert_non_null(strstr(help.p, plain.p));
			base_buf_free(&help);
		}
		base_buf_free(&roff);
		base_buf_free(&plain);
	}
	base_buf_free(&man);
	base_buf_free(&markdown);
}

/* What travels between our own programs has no command of a user's, and comes out as it went in. */
static void test_lists_travel(void **state)
{
	struct base_sink sink = {0};
	struct option_set from, to;
	char *argv[] = {"--seed=7", "--detector=oracle,collide", "--threads", "2", "app"};

	(void)state;
	assert_int_equal(option_find_cmd(""), -1);
	option_init(&from, OPTION_CMD_RUN);
	assert_int_equal(option_parse(&from, 5, argv, &sink), 0);
	option_init(&to, OPTION_CMD_DEVICE);
	assert_int_equal(option_read_own(&to, "X", option_encode(&from, OPTION_CMD_DEVICE), &sink),
			 0);
	assert_int_equal(option_int(&to, OPTION_SEED), 7);
	assert_int_equal(option_int(&to, OPTION_THREADS), 2);
	assert_int_equal(option_list(&to, OPTION_DETECTOR), option_list(&from, OPTION_DETECTOR));
	/* A wrong value leaves the rest to be read; an option of another list is wrong. */
	assert_int_equal(option_read_own(&to, "X", "seed=x:threads=3", &sink), BASE_EXIT_USAGE);
	assert_int_equal(option_int(&to, OPTION_THREADS), 3);
	assert_int_equal(option_read_own(&to, "X", "log-file=a", &sink), BASE_EXIT_USAGE);
	assert_int_equal(option_read_own(&to, "X", "memory=3M", &sink), 0);
	assert_int_equal(option_int(&to, OPTION_DEVICE_MEMORY), 3 << 20);
	option_free(&from);
	option_free(&to);
	base_sink_free(&sink);
}

static void test_detector_lists(void **state)
{
	static const struct {
		const char *text;
		int rc;
		unsigned bits;
	} cases[] = {{"none", 0, 0},
		     {"collide", 0, 1},
		     {"oracle", 0, RACE_DETECT(ORACLE)},
		     {"collide,oracle", 0, RACE_DETECT(COLLIDE) | RACE_DETECT(ORACLE)},
		     {"oracle,collide", 0, RACE_DETECT(COLLIDE) | RACE_DETECT(ORACLE)},
		     {"collide,none", BASE_EXIT_USAGE, 0},
		     {"collide,", BASE_EXIT_USAGE, 0},
		     {"", BASE_EXIT_USAGE, 0},
		     {"collide,nonsense", BASE_EXIT_USAGE, 0}};

	(void)state;
	for (size_t i = 0; i < BASE_COUNTOF(cases); i++) {
		char word[64], *argv[] = {word, "app"};
		struct base_sink sink = {0};
		struct option_set s;

		snprintf(word, sizeof(word), "--detector=%s", cases[i].text);
		option_init(&s, OPTION_CMD_RUN);
		assert_int_equal(option_parse(&s, 2, argv, &sink), cases[i].rc);
		if (!cases[i].rc)
			assert_int_equal(option_list(&s, OPTION_DETECTOR), cases[i].bits);
		option_free(&s);
		base_sink_free(&sink);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_spellings),
		cmocka_unit_test(test_run_stops_at_the_program),
		cmocka_unit_test(test_pass_through_keeps_the_rest),
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_times),
		cmocka_unit_test(test_choices),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_lists_get_longer),
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_environment_warns),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_documents_name_every_option),
		cmocka_unit_test(test_lists_travel),
		cmocka_unit_test(test_detector_lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
