/*
 * test_write.c - base/write.c: a write within the user's process sends it no signal.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/child.h"

static volatile sig_atomic_t got;

static void take(int sig)
{
	got = sig;
}

/* Is none sent, and are ours as they were? By default they end the program. */
static void check_rest(int sig, void (*how)(int))
{
	sigset_t now;

	assert_int_equal(sigpending(&now), 0);
	assert_false(sigismember(&now, sig));
	assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &now), 0);
	assert_false(sigismember(&now, SIGXFSZ) || sigismember(&now, SIGPIPE));
	assert_int_equal(got, 0);
	if (how == take) {
		raise(sig);
		assert_int_equal(got, sig);
	}
}

static void (*const ways[])(int) = {SIG_DFL, SIG_IGN, take};

static void full_file(void **state)
{
	struct rlimit was, now;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		FILE *f = tmpfile();
		assert_non_null(f);
		got = 0;
		signal(SIGXFSZ, ways[i]);
		now = (struct rlimit){4, was.rlim_max};
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
		ssize_t first = base_write_unseen(fileno(f), "abcdef", 6);
		ssize_t next = base_write_unseen(fileno(f), "gh", 2);
		int err = errno;
		assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
		assert_int_equal(first, 4);
		assert_int_equal(next, -1);
		assert_int_equal(err, EFBIG);
		check_rest(SIGXFSZ, ways[i]);
		fclose(f);
	}
}

static void no_reader(void **state)
{
	int p[2];

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		assert_int_equal(pipe(p), 0);
		got = 0;
		signal(SIGPIPE, ways[i]);
		assert_int_equal(base_write_unseen(p[1], "ab", 2), 2);
		close(p[0]);
		assert_int_equal(base_write_unseen(p[1], "cd", 2), -1);
		assert_int_equal(errno, EPIPE);
		check_rest(SIGPIPE, ways[i]);
		close(p[1]);
	}
}

/* One that the program has blocked, and that waits for it, still waits. */
static void pending_before(void **state)
{
	sigset_t one, now;
	int p[2];

	(void)state;
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	raise(SIGPIPE);
	assert_int_equal(pipe(p), 0);
	close(p[0]);
	assert_int_equal(base_write_unseen(p[1], "ab", 2), -1);
	assert_int_equal(errno, EPIPE);
	sigpending(&now);
	assert_true(sigismember(&now, SIGPIPE));
	signal(SIGPIPE, SIG_IGN); /* discards it */
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	close(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(full_file), cmocka_unit_test(no_reader),
					   cmocka_unit_test(pending_before)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
