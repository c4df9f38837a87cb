/*
 * test_forks.c - one thread forks while another is in the runtime: the child can end as nvcc's code
 * wants it, which takes back at exit what it has registered.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

enum { FORKS = 100, HUNG_S = 60 };

/* What nvcc's host code calls before main and at exit. */
void **__cudaRegisterFatBinary(void *data);
void __cudaUnregisterFatBinary(void **handle);

static atomic_bool has_ended;

static void *register_on(void *arg)
{
	while (!atomic_load(&has_ended))
		__cudaUnregisterFatBinary(__cudaRegisterFatBinary(NULL));
	return arg;
}

int main(void)
{
	void **handle = __cudaRegisterFatBinary(NULL);
	pthread_t t;
	int status;

	OK(cudaFree(NULL)); /* the runtime starts: it learns of forks from now on */
	CHECK(pthread_create(&t, NULL, register_on, NULL) == 0);
	for (int i = 0; i < FORKS; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			alarm(HUNG_S); /* where it waits for a lock of the other thread's */
			__cudaUnregisterFatBinary(handle);
			_exit(0);
		}
		CHECK(pid > 0 && waitpid(pid, &status, 0) == pid && status == 0);
	}
	atomic_store(&has_ended, true);
	CHECK(pthread_join(t, NULL) == 0);
	__cudaUnregisterFatBinary(handle);
	return 0;
}
