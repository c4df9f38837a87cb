/*
 * fake_app.c - a program that leaves in the shared file what an agent would, then ends.
 *
 * Built from race/file/shm.h alone, so that the way from the file to the report is tested without a
 * GPU. Its arguments are done in order:
 *
 *	attach        an agent is there, one instrumented kernel ran, nothing found
 *	race          the same with a clobbered read at fake.cu:42, seen 3 times
 *	possible      the same with a speculated read, which is only possible
 *	half-record   the same with a record whose `valid` was never written
 *	exit=N        _exit(N) (no handlers, no flushing)
 *	kill=N        raise signal N
 *	sleep=S       sleep S seconds
 *	stubborn      ignore SIGTERM from here on
 *	fork          go on in a child; the parent waits for it and ends as the child did
 *	orphan        go on in a child; the parent ends with 0 at once
 *	env=NAME      print the variable on standard output
 *	say=TEXT      print TEXT and a newline on standard output
 */
#include "race/file/shm_write.h"
#include "race/file/shm.h"
#include "race/site/site_build.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static struct race_shm *map_file(void)
{
	const char *fd = getenv(RACE_SHM_ENV);

	if (!fd) {
		fprintf(stderr, "fake_app: %s is not set\n", RACE_SHM_ENV);
		exit(99);
	}
	struct race_shm *shm =
		mmap(NULL, RACE_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), 0);
	if (shm == MAP_FAILED || shm->magic != RACE_SHM_MAGIC) {
		fprintf(stderr, "fake_app: no shared file at %s\n", fd);
		exit(99);
	}
	return shm;
}

/* Claims a chunk of the heap and fills it; `bytes` goes last. */
static void put_chunk(struct race_shm *shm, uint32_t kind, uint64_t hash, const void *data,
		      size_t size)
{
	size_t room = (sizeof(struct race_chunk) + size + 15) & ~(size_t)15;
	uint64_t at = __atomic_fetch_add(&shm->heap_used, room, __ATOMIC_RELAXED);
	struct race_chunk *c = (void *)((char *)shm + RACE_SHM_HEAP + at);

	c->kind = kind;
	c->hash = hash;
	c->pid = (uint32_t)getpid();
	c->room = (uint32_t)room;
	memcpy(c + 1, data, size);
	__atomic_store_n(&c->bytes, (uint32_t)size, __ATOMIC_RELEASE);
}

/* One module with one site: a 4-byte load in `fake_kernel` at fake.cu:42. */
static uint64_t put_sites(struct race_shm *shm)
{
	struct race_site_builder *b = race_sites_new();
	static const char text[] = "ld.global.u32 %r1, [%rd1]";
	struct race_site site = {.line = 42,
				 .col = 7,
				 .access = RACE_ACCESS_LOAD,
				 .space = RACE_SPACE_GLOBAL,
				 .width = 4,
				 .vec = 1,
				 .ptx_line = 12};
	void *blob = NULL;
	size_t size = 0;
	uint64_t hash = 0;

	site.func = race_sites_string(b, "fake_kernel", strlen("fake_kernel"));
	site.file = race_sites_string(b, "fake.cu", strlen("fake.cu"));
	site.text = race_sites_string(b, text, strlen(text));
	race_sites_add(b, &site);
	if (!race_sites_finish(b, "fake", "sm_90", &blob, &size, &hash)) {
		fprintf(stderr, "fake_app: race_sites_finish failed\n");
		exit(99);
	}
	put_chunk(shm, RACE_CHUNK_SITES, hash, blob, size);
	free(blob);
	race_sites_free(b);
	return hash;
}

static void put_kernel(struct race_shm *shm)
{
	struct {
		struct race_kernel_count count;
		char name[16];
	} k = {{.count = 1, .instrumented = 1}, "fake_kernel"};

	put_chunk(shm, RACE_CHUNK_KERNEL, 0, &k, sizeof(k.count) + strlen(k.name));
}

static void be_agent(int kind, uint32_t valid)
{
	struct race_shm *shm = map_file();
	uint32_t n = __atomic_fetch_add(&shm->nregions, 1, __ATOMIC_RELAXED);
	struct race_region *r =
		(void *)((char *)shm + RACE_SHM_REGION0 + n * sizeof(struct race_region));
	uint64_t table = put_sites(shm);

	put_kernel(shm);
	__atomic_fetch_add(&shm->nprocesses, 1, __ATOMIC_RELAXED);
	shm->agent_state = RACE_AGENT_ATTACHED;
	r->pid = (uint32_t)getpid();
	r->modules = 1;
	r->launches = r->host_launches = 1;
	r->checked = 1000;
	r->exact = 1;
	snprintf(r->device_name, sizeof(r->device_name), "Fake GPU");
	r->state = RACE_REGION_OPEN;
	if (kind == RACE_KIND_NONE)
		return;
	struct race_record *rec = &r->records[5];
	rec->table = table;
	rec->kind = (uint16_t)kind;
	rec->address = 0x7f0000001000;
	rec->was[0] = 1;
	rec->now[0] = 2;
	rec->width = 4;
	rec->thread[0] = 3;
	rec->block[0] = 4;
	rec->count = 3;
	r->counts[5] = 3;
	__atomic_store_n(&rec->valid, valid, __ATOMIC_RELEASE);
}

static void go_on_in_child(int wait_for_it)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		return;
	if (!wait_for_it)
		_exit(0);
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		raise(WTERMSIG(status));
	_exit(WEXITSTATUS(status));
}

static int act(const char *what)
{
	const char *value = strchr(what, '=');

	value = value ? value + 1 : "";
	if (!strcmp(what, "attach"))
		be_agent(RACE_KIND_NONE, 0);
	else if (!strcmp(what, "race"))
		be_agent(RACE_KIND_CLOBBERED_READ, RACE_RECORD_VALID);
	else if (!strcmp(what, "possible"))
		be_agent(RACE_KIND_SPECULATED_READ, RACE_RECORD_VALID);
	else if (!strcmp(what, "half-record"))
		be_agent(RACE_KIND_CLOBBERED_READ, 0);
	else if (!strncmp(what, "exit=", 5))
		_exit(atoi(value));
	else if (!strncmp(what, "kill=", 5))
		raise(atoi(value));
	else if (!strncmp(what, "sleep=", 6))
		sleep((unsigned)atoi(value));
	else if (!strcmp(what, "stubborn"))
		signal(SIGTERM, SIG_IGN);
	else if (!strcmp(what, "fork"))
		go_on_in_child(1);
	else if (!strcmp(what, "orphan"))
		go_on_in_child(0);
	else if (!strncmp(what, "env=", 4))
		printf("%s\n", getenv(value) ? getenv(value) : "(unset)");
	else if (!strncmp(what, "say=", 4))
		printf("%s\n", value);
	else
		return 98;
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (act(argv[i])) {
			fprintf(stderr, "fake_app: unknown action '%s'\n", argv[i]);
			return 98;
		}
	return 0;
}
