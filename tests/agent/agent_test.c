/*
 * agent_test.c - the agent against a stand-in driver, without a GPU.
 *
 * Each test runs one program of scenario.c with the agent injected, as
 * `collider run` would, and looks at the shared file afterwards. Every
 * program must print "ok": the agent changes no result, whatever happens.
 * usage: agent_test SCENARIO_PROGRAM AGENT FAKE_CUPTI FOLDER [FORWARDED FAKE_DRIVER]
 * With the last two the agent hears of everything from the library that stands in for the driver's:
 * the same tests without CUPTI.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "agent/forward/complete.h"
#include "race/gap.h"
#include "race/noted.h"
#include "race/file/shm_write.h"
#include "race/file/shm.h"
#include "race/site/site.h"
#include "race/file/transfer.h"

static char **args;
static char forwarded[4096]; /* "": the agent listens to the stand-in CUPTI */
static struct race_shm *shm;
static char out[65536], err[65536];
static int status;
static uint64_t heap_bytes = RACE_SHM_HEAP_BYTES;
static uint32_t sample = 32, dense;
static bool unset_path;
static uint32_t window = 1024;
static uint32_t run_flags;
static struct race_choice choice;
static const char *names, *others; /* --kernel-name, --kernel-name-exclude */

static void slurp(int fd, char *text, size_t room)
{
	ssize_t n;

	lseek(fd, 0, SEEK_SET);
	n = read(fd, text, room - 1);
	text[n > 0 ? n : 0] = 0;
	close(fd);
}

static const char *script; /* in place of a scenario */

/* As `collider run` sets it, with nothing to instrument by. */
static void set_forwarded(void)
{
	char given[5000];

	snprintf(given, sizeof(given), "%s\n\n\n\n\n\n", args[6]);
	setenv("LD_PRELOAD", forwarded, 1);
	setenv("COLLIDER_LOAD", given, 1);
	unsetenv("COLLIDER_CUPTI");
}

static void child(const char *name, int file, int out_fd, int err_fd, const char *env)
{
	char number[16], path[64];

	snprintf(number, sizeof(number), "%d", file);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)getppid(), file);
	if (file >= 0 && (setenv(RACE_SHM_ENV, number, 1) || setenv(RACE_SHM_PATH_ENV, path, 1)))
		_exit(127);
	setenv("CUDA_INJECTION64_PATH", args[2], 1);
	if (*forwarded)
		set_forwarded();
	else
		setenv("COLLIDER_CUPTI", args[3], 1);
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* entries of contexts stay on purpose */
	if (unset_path)
		unsetenv(RACE_SHM_PATH_ENV);
	if (env)
		putenv((char *)(uintptr_t)env);
	dup2(out_fd, STDOUT_FILENO);
	dup2(err_fd, STDERR_FILENO);
	if (script)
		execlp("python3", "python3", script, args[4], (char *)NULL);
	else
		execl(args[1], args[1], name, args[4], (char *)NULL);
	_exit(127);
}

/* As the launcher does. */
static void write_names(void)
{
	struct race_chunk *c = (void *)((char *)shm + RACE_SHM_HEAP);
	size_t n = strlen(names) + 1, m = strlen(others) + 1;

	c->kind = RACE_CHUNK_CHOICE;
	c->bytes = (uint32_t)(n + m);
	c->room = (uint32_t)((sizeof(*c) + n + m + 15) & ~15ull);
	memcpy(c + 1, names, n);
	memcpy((char *)(c + 1) + n, others, m);
	shm->heap_used = c->room;
}

/* Runs a scenario; `env` ("NAME=value") may be NULL. The file is left in `shm`. */
static void start(const char *name, const char *env, int has_file)
{
	int file = memfd_create("shm", 0);
	int out_fd = memfd_create("out", 0), err_fd = memfd_create("err", 0);
	pid_t pid;

	assert_true(file >= 0 && out_fd >= 0 && err_fd >= 0);
	assert_int_equal(ftruncate(file, (off_t)RACE_SHM_BYTES), 0);
	shm = mmap(NULL, RACE_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(shm != MAP_FAILED);
	shm->magic = RACE_SHM_MAGIC;
	shm->version = RACE_SHM_VERSION;
	shm->heap_limit = heap_bytes;
	shm->rdelay = 5001;
	shm->wdelay = 1;
	shm->sample = sample;
	shm->dense = dense;
	shm->seed = 7;
	shm->window = window;
	shm->flags = run_flags;
	shm->choice = choice;
	if (names || others)
		write_names();
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		child(name, has_file ? file : -1, out_fd, err_fd, env);
	waitpid(pid, &status, 0);
	close(file);
	slurp(out_fd, out, sizeof(out));
	slurp(err_fd, err, sizeof(err));
	if (strcmp(out, "ok\n") != 0)
		print_error("%s: status %x, stdout '%s', stderr '%s'\n", name, (unsigned)status,
			    out, err);
	assert_string_equal(out, "ok\n");
}

static void play(const char *name)
{
	start(name, NULL, 1);
}

static int teardown(void **state)
{
	(void)state;
	if (shm)
		munmap(shm, RACE_SHM_BYTES);
	shm = NULL;
	return 0;
}

static struct race_region *region(uint32_t i)
{
	return (struct race_region *)(void *)((char *)shm + RACE_SHM_REGION0) + i;
}

static uint32_t slot_of(uint32_t kind)
{
	return race_slot_index(race_slot_key(0xc0ffee01, 3, kind));
}

/* The n-th chunk of a kind, or NULL. */
static struct race_chunk *chunk(uint32_t kind, unsigned n)
{
	for (uint64_t at = 0; at < shm->heap_used;) {
		struct race_chunk *c = (void *)((char *)shm + RACE_SHM_HEAP + at);

		assert_true(c->room >= sizeof(*c) && c->room % 16 == 0 && c->bytes > 0);
		if (c->kind == kind && n-- == 0)
			return c;
		at += c->room;
	}
	return NULL;
}

static unsigned lines(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void expect_kernel(const char *name, uint32_t instrumented, uint64_t count)
{
	struct race_chunk *c;

	for (unsigned n = 0; (c = chunk(RACE_CHUNK_KERNEL, n)); n++) {
		const size_t at = sizeof(struct race_kernel_count);
		const char *p = (const char *)(c + 1);
		uint64_t got;
		uint32_t flag;

		memcpy(&got, p, 8);
		memcpy(&flag, p + 8, 4);
		assert_int_equal(c->bytes, at + strlen(p + at) + 1);
		if (strcmp(p + at, name) != 0 || flag != instrumented)
			continue;
		assert_int_equal(got, count);
		return;
	}
	fail_msg("no chunk for kernel %s", name);
}

/* The count of a gap of a kernel; UINT64_MAX: there is none. */
static uint64_t gap(uint32_t why, const char *kernel, const char *what)
{
	struct race_chunk *c;

	for (unsigned n = 0; (c = chunk(RACE_CHUNK_GAP, n)); n++) {
		const struct race_gap_count *g = (const void *)(c + 1);
		const char *text = (const char *)(g + 1);
		if (g->why == why && !strcmp(text, kernel) && !strcmp(text + g->what, what))
			return g->count;
	}
	return UINT64_MAX;
}

/* A region whose kernels reported `n` races of the one site. */
static void expect_races(uint32_t i, uint64_t n, uint32_t exact)
{
	uint32_t slot = slot_of(RACE_KIND_CLOBBERED_READ);
	struct race_record *r = &region(i)->records[slot];

	assert_int_equal(r->valid, RACE_RECORD_VALID);
	assert_int_equal(r->table, 0xc0ffee01);
	assert_int_equal(r->site, 3);
	assert_int_equal(region(i)->exact, exact);
	if (exact)
		assert_int_equal(region(i)->counts[slot], n);
}

static void races_are_recorded_with_the_knobs_asked_for(void **state)
{
	struct race_region *r;
	struct race_chunk *c;

	(void)state;
	play("races");
	r = region(0);
	assert_int_equal(shm->agent_state, RACE_AGENT_ATTACHED);
	assert_int_equal(shm->nprocesses, 1);
	assert_int_equal(shm->nregions, 1);
	assert_int_equal(r->state, RACE_REGION_OPEN);
	assert_string_equal(r->device_name, "Fake GPU");
	expect_races(0, 4, 1);
	assert_int_equal(r->records[slot_of(1)].was[0], 2501); /* half of 5001, rounded up */
	assert_int_equal(r->records[slot_of(1)].was[1], 1);
	assert_int_equal(r->records[slot_of(1)].now[0], 32);
	assert_int_equal(r->records[slot_of(1)].now[1], 7);
	assert_int_equal(r->records[slot_of(1)].lanes, RACE_KNOB_TRAP); /* the module's flags */
	assert_int_equal(r->checked, 4 * 32);
	assert_int_equal(r->launches, 4);
	assert_int_equal(r->modules, 2);
	assert_int_equal(r->plain_modules, 0);
	assert_int_equal(r->host_launches, 4);
	assert_int_equal(r->host_launches_plain, 0);
	expect_kernel("race", 1, 4);
	c = chunk(RACE_CHUNK_SITES, 0);
	assert_non_null(c);
	assert_int_equal(c->hash, 0xc0ffee01);
	assert_int_equal(c->bytes, sizeof(struct race_site_blob) + 16);
	assert_memory_equal((char *)(c + 1) + sizeof(struct race_site_blob),
			    "\x88\x77\x66\x55\x44\x33\x22\x11\x00\xff", 10);
	assert_null(chunk(RACE_CHUNK_SITES, 1));
	assert_null(chunk(RACE_CHUNK_NOTE, 0));
	assert_string_equal(err, "");
}

static void clean_program_has_no_record(void **state)
{
	(void)state;
	play("clean");
	for (uint32_t i = 0; i < RACE_SLOTS; i++)
		assert_int_equal(region(0)->records[i].valid, 0);
	assert_int_equal(region(0)->checked, 64);
	assert_int_equal(region(0)->exact, 1);
}

static void plain_program_is_told_apart(void **state)
{
	(void)state;
	play("plain");
	assert_int_equal(region(0)->modules, 0);
	assert_int_equal(region(0)->plain_modules, 1);
	assert_int_equal(region(0)->host_launches, 5);
	assert_int_equal(region(0)->host_launches_plain, 5);
	expect_kernel("plain", 0, 5);
	assert_null(chunk(RACE_CHUNK_SITES, 0));
}

static void kernels_that_may_overlap_are_loaded_together(void **state)
{
	(void)state;
	play("loaded");
	expect_kernel("clean", 1, 4);
	play("loaded_thread");
	expect_kernel("clean", 1, 2);
}

static void library_loaded_before_the_context_is_patched(void **state)
{
	(void)state;
	play("library_before_context");
	assert_int_equal(shm->nregions, 2);
	expect_races(0, 1, 1);
	expect_races(1, 1, 1);
	assert_int_equal(region(0)->host_launches_plain, 0);
	expect_kernel("race", 1, 2);
}

static void reset_keeps_what_was_found(void **state)
{
	(void)state;
	play("reset");
	assert_int_equal(shm->nregions, 2);
	assert_int_equal(region(0)->state, RACE_REGION_CLOSED);
	assert_int_equal(region(1)->state, RACE_REGION_OPEN);
	expect_races(0, 1, 1);
	expect_races(1, 1, 1);
}

static void destroyed_context_is_closed(void **state)
{
	(void)state;
	play("destroy");
	assert_int_equal(region(0)->state, RACE_REGION_CLOSED);
	expect_races(0, 1, 1);
}

static void threads_lose_no_launch(void **state)
{
	(void)state;
	play("threads");
	assert_int_equal(shm->nregions, 1);
	assert_int_equal(region(0)->modules, 1);
	assert_int_equal(region(0)->host_launches, 400);
	expect_races(0, 400, 1);
	expect_kernel("race", 1, 400);
}

static void contexts_have_their_own_regions(void **state)
{
	(void)state;
	play("two_contexts");
	assert_int_equal(shm->nregions, 2);
	expect_races(0, 7, 1);
	expect_races(1, 7, 1);
	expect_kernel("race", 1, 14);
	assert_null(chunk(RACE_CHUNK_SITES, 1));
}

static void forked_child_leaves_the_parents_region_alone(void **state)
{
	(void)state;
	play("forks");
	assert_int_equal(shm->nregions, 2);
	assert_int_equal(shm->nprocesses, 2);
	assert_int_not_equal(region(0)->pid, region(1)->pid);
	expect_races(0, 2, 1);
	expect_races(1, 2, 1);
	assert_null(chunk(RACE_CHUNK_SITES, 1)); /* once per file, not per process */
}

static void record_survives_underscore_exit(void **state)
{
	(void)state;
	play("exits");
	expect_races(0, 1, 0);
	assert_int_equal(region(0)->host_launches, 1);
}

static void record_survives_sigkill(void **state)
{
	(void)state;
	play("killed");
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	expect_races(0, 1, 0);
	expect_kernel("race", 1, 1);
}

static void dead_context_keeps_its_last_snapshot(void **state)
{
	(void)state;
	play("traps");
	expect_races(0, 1, 0);
	assert_int_equal(region(0)->error, 719);
	assert_int_equal(region(0)->counts[slot_of(1)], 1);
	assert_int_equal(region(0)->checked, 32);
}

static void trap_seen_first_at_exit(void **state)
{
	(void)state;
	play("traps_before_snapshot");
	expect_races(0, 1, 0);
	assert_int_equal(region(0)->error, 719);
}

static void graph_launches_count_its_kernels(void **state)
{
	(void)state;
	play("graph");
	expect_races(0, 11, 1);
	assert_int_equal(region(0)->host_launches, 11); /* not the two captured ones */
	expect_kernel("race", 1, 11);
}

static void set_up_does_not_break_a_capture(void **state)
{
	(void)state;
	play("first_use_in_capture");
	expect_races(0, 1, 1);
}

static void too_many_contexts_are_told(void **state)
{
	(void)state;
	play("many_contexts");
	assert_int_equal(shm->nregions, 66);
	expect_races(RACE_REGIONS - 1, 1, 1);
	assert_non_null(chunk(RACE_CHUNK_GAP, 0));
	assert_null(chunk(RACE_CHUNK_GAP, 1));
	assert_non_null(strstr(err, "more than 64 contexts"));
}

static void handle_used_again_is_patched_again(void **state)
{
	(void)state;
	play("handle_again");
	expect_races(0, 1, 1);
	assert_int_equal(region(0)->modules, 1);
	assert_int_equal(region(0)->plain_modules, 2);
	assert_int_equal(region(0)->host_launches, 2);
	assert_int_equal(region(0)->host_launches_plain, 1);
}

static void another_subscriber_is_told(void **state)
{
	(void)state;
	start("races", "FAKE_CUPTI_BUSY=1", 1);
	if (*forwarded) { /* not asked: a profiler may have it */
		assert_int_equal(shm->agent_state, RACE_AGENT_ATTACHED);
		expect_races(0, 4, 1);
		return;
	}
	assert_int_equal(shm->agent_state, RACE_AGENT_BUSY);
	assert_int_equal(shm->nregions, 0);
	assert_non_null(chunk(RACE_CHUNK_GAP, 0));
	assert_non_null(strstr(err, "another tool"));
	assert_int_equal(lines(err), 1);
}

static void missing_cupti_is_told(void **state)
{
	(void)state;
	start("races", "COLLIDER_CUPTI=/nowhere/libcupti.so", 1);
	assert_int_equal(shm->agent_state, RACE_AGENT_NO_CUPTI);
	assert_non_null(strstr(err, "libcupti was not found"));
	assert_int_equal(lines(err), 1);
}

static void refused_registration_is_told(void **state)
{
	(void)state;
	start("races", "FAKE_NO_REGISTER=1", 1);
	assert_int_equal(shm->agent_state, RACE_AGENT_ATTACHED);
	assert_int_equal(region(0)->modules, 0);
	assert_int_equal(region(0)->host_launches, 4);
	assert_int_equal(region(0)->host_launches_plain, 4);
	assert_non_null(strstr(err, "mem_host_register"));
	assert_int_equal(lines(err), 1);
}

static void wrong_descriptor_is_told(void **state)
{
	(void)state;
	unset_path = true; /* or it would be found all the same */
	start("races", RACE_SHM_ENV "=999", 1);
	unset_path = false;
	assert_int_equal(shm->agent_state, RACE_AGENT_NONE);
	assert_non_null(strstr(err, "is not a file made by"));
	assert_int_equal(lines(err), 1);
}

static unsigned times(const char *text, const char *what)
{
	unsigned n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static void without_collider_run_the_agent_reports_itself(void **state)
{
	(void)state;
	start("races", NULL, 0);
	assert_int_equal(shm->heap_used, 0);
	assert_non_null(strstr(err, "lobbered read")); /* the one kind there is */
	assert_non_null(strstr(err, "128"));	       /* checked accesses */
	start("clean", NULL, 0);
	assert_null(strstr(err, "lobbered read"));
	start("forks", NULL, 0);
	assert_int_equal(times(err, "1. DATA RACE"), 1); /* the child does not report */
}

static void full_heap_is_survived(void **state)
{
	(void)state;
	heap_bytes = 64;
	start("races", NULL, 1);
	heap_bytes = RACE_SHM_HEAP_BYTES;
	assert_int_equal(region(0)->host_launches, 4);
	expect_races(0, 4, 1);
	assert_true(shm->heap_used <= 64);
	assert_non_null(strstr(err, "the shared file is full"));
}

static void devices_have_their_own_regions(void **state)
{
	(void)state;
	play("two_devices");
	assert_int_equal(shm->nregions, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(region(i)->device, i);
		assert_int_equal(region(i)->context, i);
		expect_races(i, 1, 1);
	}
}

/* Each process has regions of its own, all in one file. */
static void expect_two_programs(void)
{
	assert_int_equal(shm->nprocesses, 2);
	assert_int_equal(shm->nregions, 2);
	assert_int_not_equal(region(0)->pid, region(1)->pid);
	expect_races(0, 1, 1);
	expect_races(1, 4, 1);
	assert_string_equal(err, "");
}

static void another_program_reports_into_the_same_file(void **state)
{
	(void)state;
	play("two_programs");
	expect_two_programs();
}

static void even_without_the_descriptor(void **state)
{
	(void)state;
	play("two_programs_closed");
	expect_two_programs();
}

/* ---- copies of the host ---- */

static void play_copies(const char *name)
{
	sample = 1;
	play(name);
	sample = 32;
}

static struct race_transfer_counts counts(void)
{
	struct race_chunk *c = chunk(RACE_CHUNK_TRANSFERS, 0);
	struct race_transfer_counts t;

	assert_non_null(c);
	assert_null(chunk(RACE_CHUNK_TRANSFERS, 1));
	assert_int_equal(c->bytes, sizeof(t));
	memcpy(&t, c + 1, sizeof(t));
	return t;
}

static void host_code_is_told(void **state)
{
	(void)state;
	play("host_half");
	assert_string_equal(err, "");
}

static void clean_copies_are_checked(void **state)
{
	struct race_transfer_counts t;

	(void)state;
	play_copies("copies_clean");
	t = counts();
	assert_int_equal(t.checked, 4);
	assert_int_equal(t.bytes, 4 * 4096);
	for (unsigned i = 0; i < RACE_TRANSFER_SKIPS; i++)
		assert_int_equal(t.skipped[i], 0);
	assert_null(chunk(RACE_CHUNK_TRANSFER, 0));
	assert_string_equal(err, "");
}

static void the_first_copy_finds_all_ready(void **state)
{
	(void)state;
	play_copies("copies_first");
	assert_int_equal(counts().checked, 1);
}

static void expect_transfer(unsigned n, uint32_t kind, uint64_t count, const char *api)
{
	struct race_chunk *c = chunk(RACE_CHUNK_TRANSFER, n);
	const char *strings;
	struct race_transfer t;

	assert_non_null(c);
	memcpy(&t, c + 1, sizeof(t));
	strings =
		(const char *)(c + 1) + sizeof(t) + t.nframes * sizeof(struct race_transfer_frame);
	assert_int_equal(t.kind, kind);
	assert_int_equal(t.count, count);
	assert_int_equal(t.at, 1000); /* 1001, where 4 bytes begin */
	assert_int_equal(t.bytes, 4096);
	assert_int_equal(t.width, 4);
	assert_int_equal(t.now - t.was, 1 << 8); /* the second of these bytes */
	assert_true(t.nframes > 0);
	assert_string_equal(strings + t.api, api);
}

static void memory_that_changes_behind_a_copy_is_told(void **state)
{
	(void)state;
	play_copies("copies_racy");
	expect_transfer(0, RACE_KIND_LOST_UPDATE, 1, "cuMemcpyHtoDAsync_v2");
	expect_transfer(1, RACE_KIND_CLOBBERED_READ, 1, "cuMemcpyDtoHAsync_v2");
	expect_transfer(2, RACE_KIND_LOST_UPDATE, 5, "cuMemsetD8Async");
	assert_null(chunk(RACE_CHUNK_TRANSFER, 3));
	assert_int_equal(counts().checked, 8);
}

static void nothing_is_put_where_it_could_be_seen(void **state)
{
	struct race_transfer_counts t;

	(void)state;
	play_copies("copies_skipped");
	t = counts();
	assert_int_equal(t.checked, 0);
	assert_int_equal(t.skipped[RACE_TRANSFER_NULL_STREAM], 2);
	assert_int_equal(t.skipped[RACE_TRANSFER_PAGEABLE], 1);
	assert_int_equal(t.skipped[RACE_TRANSFER_SHAPE], 1);
	assert_int_equal(t.skipped[RACE_TRANSFER_CAPTURED], 2);
	assert_null(chunk(RACE_CHUNK_TRANSFER, 0));
}

static void buffers_are_used_again(void **state)
{
	struct race_transfer_counts t;

	(void)state;
	play_copies("copies_late");
	t = counts();
	assert_int_equal(t.checked + t.skipped[RACE_TRANSFER_BUSY], 21);
	assert_true(t.checked >= 2 && t.skipped[RACE_TRANSFER_BUSY] > 0);
	assert_int_equal(t.skipped[RACE_TRANSFER_UNFINISHED], 0);
}

static void copies_are_read_to_the_end_if_asked_for(void **state)
{
	struct race_transfer_counts t;

	(void)state;
	play_copies("copies_large");
	t = counts();
	assert_int_equal(t.checked, 1);
	assert_int_equal(t.bytes, 256 << 10);
	teardown(NULL);
	window = 0;
	play_copies("copies_large");
	window = 1024;
	t = counts();
	assert_int_equal(t.checked, 3);
	assert_int_equal(t.bytes, 700 << 10);
	assert_non_null(chunk(RACE_CHUNK_TRANSFER, 0));
}

static void unfinished_copies_are_counted(void **state)
{
	struct race_transfer_counts t;

	(void)state;
	play_copies("copies_unfinished");
	t = counts();
	assert_int_equal(t.checked, 0);
	assert_int_equal(t.skipped[RACE_TRANSFER_UNFINISHED], 1);
}

static void copies_are_sampled_like_accesses(void **state)
{
	(void)state;
	sample = RACE_SAMPLE_NEVER;
	play("copies_racy");
	sample = 32;
	assert_null(chunk(RACE_CHUNK_TRANSFERS, 0));
	assert_null(chunk(RACE_CHUNK_TRANSFER, 0));
}

/* ---- the order of streams ---- */

static void launches_are_held_back_by_seed(void **state)
{
	struct race_holds h;

	(void)state;
	run_flags = RACE_RUN_STREAMS;
	play("streams");
	run_flags = 0;
	h = region(0)->holds;
	assert_true(h.held > 20 && h.passed > 20);
	assert_int_equal(h.held + h.passed, 2 * 40 + 1);
	assert_int_equal(h.skipped[RACE_HOLD_NULL_STREAM], 3);
	assert_int_equal(h.skipped[RACE_HOLD_PROGRAMMATIC], 1);
	assert_int_equal(h.skipped[RACE_HOLD_CAPTURED], 8);
	assert_int_equal(h.skipped[RACE_HOLD_REFUSED], 0);
	assert_int_equal(region(0)->host_launches, 3 + 80 + 1 + 8); /* ours are not counted */
	assert_int_equal(region(0)->plain_modules, 0);
	assert_string_equal(err, "");
}

static void streams_are_left_alone_unless_asked(void **state)
{
	static const struct race_holds none;

	(void)state;
	play("streams");
	assert_memory_equal(&region(0)->holds, &none, sizeof(none));
}

/* ---- launches that are left out ----------------------------------------------------------- */

static struct race_kernel_count count_of(const char *name)
{
	struct race_kernel_count k = {0};
	struct race_chunk *c;

	for (unsigned n = 0; (c = chunk(RACE_CHUNK_KERNEL, n)); n++) {
		if (strcmp((const char *)(c + 1) + sizeof(k), name) == 0)
			memcpy(&k, c + 1, sizeof(k));
	}
	return k;
}

static void play_chosen(const char *name, struct race_choice what)
{
	choice = what;
	choice.is_on = 1;
	play(name);
	choice.is_on = 0;
	names = others = NULL;
	assert_string_equal(err, "");
}

static void expect_chosen(const char *name, uint64_t started, uint64_t checked, uint64_t first,
			  uint32_t why)
{
	struct race_kernel_count k = count_of(name);

	assert_int_equal(k.started, started);
	assert_int_equal(k.checked, checked);
	assert_int_equal(k.first, first);
	assert_int_equal(k.why, why);
}

static void launches_are_left_out_by_number(void **state)
{
	(void)state;
	play_chosen("races", (struct race_choice){.skip = 1, .count = 2, .budget_ns = UINT64_MAX});
	expect_races(0, 2, 1);
	assert_int_equal(region(0)->checked, 2 * 32);
	assert_int_equal(region(0)->host_launches, 4);
	expect_chosen("race", 4, 2, 2, RACE_LEFT_SKIP | RACE_LEFT_COUNT);
}

static void launches_are_left_out_by_name(void **state)
{
	static const char *const lists[][2] = {{"clean,rac*", ""}, {"", "clean"}, {"", "race"}};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		bool is_left = i == 2;
		names = lists[i][0];
		others = lists[i][1];
		play_chosen("races",
			    (struct race_choice){.count = UINT64_MAX, .budget_ns = UINT64_MAX});
		assert_int_equal(region(0)->checked, is_left ? 0 : 4 * 32);
		expect_chosen("race", 4, is_left ? 0 : 4, is_left ? 0 : 1,
			      is_left ? RACE_LEFT_NAME : 0);
		if (i < 2)
			teardown(NULL);
	}
}

static void launches_are_left_out_by_time(void **state)
{
	(void)state;
	play_chosen("chosen_budget",
		    (struct race_choice){.count = UINT64_MAX, .budget_ns = 25000000});
	expect_chosen("race", 4, 2, 1, RACE_LEFT_BUDGET); /* the third would begin at 20 of 25 ms */
	expect_chosen("clean", 1, 1, 1, 0);
	assert_int_equal(region(0)->checked, 3 * 32);
}

static void checks_change_only_when_nothing_runs(void **state)
{
	(void)state;
	play_chosen("chosen_busy",
		    (struct race_choice){.skip = 1, .count = 1, .budget_ns = UINT64_MAX});
	expect_chosen("race", 3, 0, 0, RACE_LEFT_SKIP | RACE_LEFT_BUSY | RACE_LEFT_COUNT);
	assert_int_equal(region(0)->checked, 0);
}

static void a_graph_is_checked_as_a_whole(void **state)
{
	(void)state;
	names = "clean";
	others = "";
	play_chosen("chosen_graph",
		    (struct race_choice){.skip = 1, .count = 1, .budget_ns = UINT64_MAX});
	expect_chosen("race", 3, 1, 2, RACE_LEFT_NAME);
	expect_chosen("clean", 3, 1, 2, RACE_LEFT_SKIP | RACE_LEFT_COUNT);
	assert_int_equal(region(0)->checked, 2 * 32);
}

static void words_are_taken_away_and_come_back(void **state)
{
	(void)state;
	play_chosen("chosen_history",
		    (struct race_choice){.skip = 1, .count = UINT64_MAX, .budget_ns = UINT64_MAX});
	expect_chosen("clean", 2, 1, 2, RACE_LEFT_SKIP);
}

static void history_words_follow_the_program(void **state)
{
	(void)state;
	play("history");
	assert_int_equal(region(0)->has_history, 1);
	assert_int_equal(region(0)->modules, 1);
	assert_int_equal(region(0)->threads_aside, 0);
}

static void launches_without_an_order_are_a_gap(void **state)
{
	(void)state;
	play("ordered");
	assert_int_equal(gap(RACE_GAP_LAUNCHES, "clean", RACE_GAP_OVERLAPPING), UINT64_MAX);
	assert_int_equal(gap(RACE_GAP_HOST, "", RACE_GAP_OF_HOST), UINT64_MAX);
	play("unordered");
	assert_int_equal(gap(RACE_GAP_LAUNCHES, "clean", RACE_GAP_OVERLAPPING), 6);
	assert_int_equal(gap(RACE_GAP_HOST, "", RACE_GAP_OF_HOST), 1);
	play("chain");
	assert_int_equal(gap(RACE_GAP_LAUNCHES, "", RACE_GAP_OVERLAPPING), UINT64_MAX);
	play("branches");
	assert_int_equal(gap(RACE_GAP_LAUNCHES, "", RACE_GAP_OVERLAPPING), 6);
	play("newer");
	assert_int_equal(gap(RACE_GAP_LAUNCHES, "clean", RACE_GAP_OVERLAPPING), *forwarded ? 1 : 2);
	/* The default compares values: whoever changes one. */
	run_flags = RACE_DETECT(COLLIDE) << RACE_RUN_DETECTORS_AT;
	play("unordered");
	assert_int_equal(gap(RACE_GAP_LAUNCHES, "clean", RACE_GAP_OVERLAPPING), UINT64_MAX);
	run_flags = 0;
}

static void managed_variables_are_a_gap(void **state)
{
	static const char *const shared[] = {"variable", "variable_unsized", "variable_late",
					     "global_managed"};
	static const char *const apart[] = {"variable_unused", "global_device"};

	(void)state;
	run_flags = RACE_DETECT(HIRACE) << RACE_RUN_DETECTORS_AT;
	for (size_t i = 0; i < sizeof(shared) / sizeof(shared[0]); i++) {
		play(shared[i]);
		assert_int_equal(gap(RACE_GAP_HOST, "", RACE_GAP_OF_HOST), 1);
	}
	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++) {
		play(apart[i]);
		assert_int_equal(gap(RACE_GAP_HOST, "", RACE_GAP_OF_HOST), UINT64_MAX);
	}
	run_flags = 0;
}

static void two_detectors_have_tables_of_their_own(void **state)
{
	(void)state;
	play("guard");
	assert_int_equal(region(0)->has_history, 1);
	assert_int_equal(region(0)->modules, 2);
}

static void hirace_works_for_iguard(void **state)
{
	(void)state;
	run_flags = RACE_DETECT(IGUARD) << RACE_RUN_DETECTORS_AT;
	play("split_asked");
	assert_int_equal(region(0)->has_history, 1);
	run_flags = RACE_DETECT(HIRACE) << RACE_RUN_DETECTORS_AT;
	play("split_unasked");
	run_flags = 0;
}

static void scarce_memory_is_shared(void **state)
{
	(void)state;
	play("scarce");
	assert_int_equal(region(0)->has_history, 1);
}

static void launches_of_a_plain_kernel_count(void **state)
{
	(void)state;
	play("again");
	assert_int_equal(region(0)->host_launches, 9);
	assert_int_equal(region(0)->host_launches_plain, 7);
	expect_kernel("plain", 0, 7);
	expect_kernel("clean", 1, 2);
	assert_int_equal(gap(RACE_GAP_INVALID, "plain", "cudaErrorInvalidValue"), 1);
}

/* Two lines launch, and each is named by Python's own frames. (The agent is in Python's process:
 * not under the sanitizers.) */
static void python_launches_have_lines(void **state)
{
	static const char *const functions[] = {"launch", "<module>"};

	(void)state;
	if (!*forwarded)
		return;
	script = args[7];
	setenv("LD_LIBRARY_PATH", args[8], 1);
	play("launch.py");
	unsetenv("LD_LIBRARY_PATH");
	script = NULL;
	expect_kernel("race", 1, 6);
	for (unsigned i = 0; i < 2; i++) {
		const struct race_chunk *c = chunk(RACE_CHUNK_LAUNCH, i);
		assert_non_null(c);
		assert_non_null(memmem(c + 1, c->bytes, "launch.py", 10));
		for (unsigned k = 0; k < 2; k++)
			assert_non_null(
				memmem(c + 1, c->bytes, functions[k], strlen(functions[k]) + 1));
	}
	assert_null(chunk(RACE_CHUNK_LAUNCH, 2));
}

static void refused_launches_are_told(void **state)
{
	(void)state;
	play("refused");
	if (!*forwarded)
		assert_int_equal(gap(RACE_GAP_INVALID, "race", "cudaErrorInvalidValue"), 1);
	/* What the runtime refuses without asking the driver is known by CUPTI only. */
	if (*forwarded)
		assert_int_equal(gap(RACE_GAP_INVALID, "race", "cudaErrorInvalidValue"), 2);
	else
		assert_int_equal(gap(RACE_GAP_INVALID, "race", "cudaErrorInvalidConfiguration"), 2);
	assert_null(chunk(RACE_CHUNK_GAP, *forwarded ? 1 : 2));
	expect_kernel("race", 1, 2);
}

static void unloadable_code_is_told(void **state)
{
	(void)state;
	play("unloadable");
	/* With CUPTI a launch of it would count, by its kernel's name. */
	assert_int_equal(gap(RACE_GAP_NOT_LOADED, "", "cudaErrorNoKernelImageForDevice"),
			 *forwarded ? 1 : UINT64_MAX);
}

/* ---- launches without checks (agent/plain.c) ------------------------------------------------- */

static void expect_proven(const char *scenario, uint64_t count, uint64_t proven)
{
	play(scenario);
	assert_int_equal(count_of("proven").count, count);
	assert_int_equal(count_of("proven").proven, proven);
	assert_int_equal(region(0)->checked, (count - proven) * 32);
}

static void what_is_proven_runs_without_checks(void **state)
{
	(void)state;
	expect_proven("proven", 19, 12);
	assert_null(chunk(RACE_CHUNK_GAP, 0));
}

static void launches_cost_few_calls(void **state)
{
	(void)state;
	play("launch_calls");
	expect_kernel("clean", 1, 11);
}

static void both_handles_have_one_state(void **state)
{
	(void)state;
	expect_proven("proven_handles", 4, 2);
}

static void what_may_be_under_way_is_a_gap(void **state)
{
	(void)state;
	expect_proven("proven_late", 11, 10);
	assert_int_equal(gap(RACE_GAP_LAUNCHES, "proven",
			     "unchecked, as proven, and perhaps under way when other work could "
			     "begin beside it (--prune=none: checked)"),
			 1);
}

static void a_context_takes_its_proofs_along(void **state)
{
	(void)state;
	play("proven_reset");
	assert_int_equal(count_of("proven").count, 11);
	assert_int_equal(count_of("proven").proven, 10);
	assert_int_equal(region(0)->checked, 0);
	assert_int_equal(region(1)->checked, 32);
	assert_null(chunk(RACE_CHUNK_GAP, 0));
}

static void graphs_and_threads_end_it(void **state)
{
	(void)state;
	expect_proven("proven_graph", 12, 10);
	teardown(NULL);
	expect_proven("proven_threads", 12, 10);
}

static void what_leaves_its_arrays_is_a_gap(void **state)
{
	(void)state;
	expect_proven("proven_leaves", 12, 11);
	assert_int_equal(gap(RACE_GAP_LAUNCHES, "",
			     "unchecked, as proven, but an access was in none of its arrays "
			     "(--prune=none: checked)"),
			 1);
}

static void reads_alone_may_need_no_check(void **state)
{
	(void)state;
	dense = 64;
	play("partly");
	assert_int_equal(count_of("partly").count, 1110);
	assert_int_equal(count_of("partly").proven, 0);
	assert_int_equal(count_of("partly").sampled, 0);
	assert_null(chunk(RACE_CHUNK_GAP, 0));
}

static void threads_may_have_parts_of_their_own(void **state)
{
	(void)state;
	play("own");
	assert_int_equal(count_of("own").count, 8);
	assert_int_equal(count_of("own").proven, 2);
	assert_null(chunk(RACE_CHUNK_GAP, 0));
}

static void streams_are_written_each(void **state)
{
	(void)state;
	play("partly_streams");
	assert_int_equal(count_of("partly").count, 4);
	assert_null(chunk(RACE_CHUNK_GAP, 0));
}

static void clean_kernels_are_sampled(void **state)
{
	(void)state;
	dense = 64;
	play("often");
	/* One of sixteen of the second thousand is checked, by chance. */
	uint64_t sampled = count_of("often").sampled;
	assert_true(sampled > 1000 - 120 && sampled < 1000 - 20);
	assert_int_equal(region(0)->checked, (2000 - sampled) * 32);
	teardown(NULL);
	play("often_racy");
	assert_int_equal(count_of("often").sampled, 0);
	teardown(NULL);
	dense = 0; /* all are to be checked */
	play("often");
	assert_int_equal(count_of("often").sampled, 0);
}

static void others_are_sampled_by_themselves(void **state)
{
	(void)state;
	dense = 64;
	play("often_alone");
	uint64_t sampled = count_of("alone").sampled;
	assert_int_equal(count_of("alone").count, 1364);
	assert_true(sampled > 1100 - 130 && sampled < 1100 - 20);
	assert_int_equal(region(0)->checked, (1364 - sampled) * 32);
	teardown(NULL);
	play("alone_racy");
	assert_int_equal(count_of("alone").count, 1000);
	assert_int_equal(count_of("alone").sampled, 0);
	teardown(NULL);
	play("alone_late");
	assert_int_equal(count_of("alone").count, 1064);
	sampled = count_of("alone").sampled;
	assert_true(sampled > 350 && sampled < 660);
}

static void all_launches_may_be_asked_for(void **state)
{
	(void)state;
	dense = 0;
	play("alone_late");
	assert_int_equal(count_of("alone").sampled, 0);
}

/* By the number that the stand-in driver gives the kernel (fake.h). */
#define NOTED 0x1234abcdull

static void expect_noted(const char *folder, uint32_t most)
{
	struct race_noted all;

	assert_true(race_noted_read(folder, NOTED, &all));
	assert_int_equal(all.dim[0].least, 32);
	assert_int_equal(all.dim[0].most, 32);
	assert_int_equal(all.dim[3].least, 4);
	assert_int_equal(all.dim[3].most, 15);
	assert_int_equal(all.scalars, 6);
	assert_int_equal(all.scalar[1].least, 16);
	assert_int_equal(all.scalar[1].most, most);
	assert_int_equal(all.scalar[2].least, 0);
	assert_int_equal(all.scalar[2].most, 3);
}

static void launches_are_noted_for_a_later_proof(void **state)
{
	char folder[] = "/tmp/agent.XXXXXX", given[5000], path[64];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/%016llx-launches", folder, NOTED);
	play("noted"); /* code isn't instrumented as it is loaded */
	teardown(NULL);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(given, sizeof(given), "COLLIDER_LOAD=%s\n/nonexistent\n%s\nkey\n\n\n",
		 *forwarded ? args[6] : "", folder);
	for (int i = 0; i < 2; i++) {
		start("noted", given, 1);
		teardown(NULL);
		expect_noted(folder, 16);
	}
	start("noted_other", given, 1);
	expect_noted(folder, 31);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(rmdir(folder), 0);
}

#define TEST(f) cmocka_unit_test_teardown(f, teardown)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(races_are_recorded_with_the_knobs_asked_for),
		TEST(clean_program_has_no_record),
		TEST(refused_launches_are_told),
		TEST(unloadable_code_is_told),
		TEST(plain_program_is_told_apart),
		TEST(kernels_that_may_overlap_are_loaded_together),
		TEST(library_loaded_before_the_context_is_patched),
		TEST(reset_keeps_what_was_found),
		TEST(destroyed_context_is_closed),
		TEST(threads_lose_no_launch),
		TEST(contexts_have_their_own_regions),
		TEST(forked_child_leaves_the_parents_region_alone),
		TEST(record_survives_underscore_exit),
		TEST(record_survives_sigkill),
		TEST(dead_context_keeps_its_last_snapshot),
		TEST(trap_seen_first_at_exit),
		TEST(graph_launches_count_its_kernels),
		TEST(set_up_does_not_break_a_capture),
		TEST(too_many_contexts_are_told),
		TEST(handle_used_again_is_patched_again),
		TEST(another_subscriber_is_told),
		TEST(missing_cupti_is_told),
		TEST(refused_registration_is_told),
		TEST(wrong_descriptor_is_told),
		TEST(without_collider_run_the_agent_reports_itself),
		TEST(full_heap_is_survived),
		TEST(devices_have_their_own_regions),
		TEST(another_program_reports_into_the_same_file),
		TEST(even_without_the_descriptor),
		TEST(host_code_is_told),
		TEST(clean_copies_are_checked),
		TEST(the_first_copy_finds_all_ready),
		TEST(memory_that_changes_behind_a_copy_is_told),
		TEST(nothing_is_put_where_it_could_be_seen),
		TEST(buffers_are_used_again),
		TEST(copies_are_read_to_the_end_if_asked_for),
		TEST(unfinished_copies_are_counted),
		TEST(copies_are_sampled_like_accesses),
		TEST(launches_are_held_back_by_seed),
		TEST(streams_are_left_alone_unless_asked),
		TEST(history_words_follow_the_program),
		TEST(launches_without_an_order_are_a_gap),
		TEST(managed_variables_are_a_gap),
		TEST(two_detectors_have_tables_of_their_own),
		TEST(hirace_works_for_iguard),
		TEST(scarce_memory_is_shared),
		TEST(launches_of_a_plain_kernel_count),
		TEST(python_launches_have_lines),
		TEST(launches_are_left_out_by_number),
		TEST(launches_are_left_out_by_name),
		TEST(launches_are_left_out_by_time),
		TEST(checks_change_only_when_nothing_runs),
		TEST(a_graph_is_checked_as_a_whole),
		TEST(words_are_taken_away_and_come_back),
		TEST(what_is_proven_runs_without_checks),
		TEST(reads_alone_may_need_no_check),
		TEST(threads_may_have_parts_of_their_own),
		TEST(streams_are_written_each),
		TEST(launches_cost_few_calls),
		TEST(both_handles_have_one_state),
		TEST(what_may_be_under_way_is_a_gap),
		TEST(a_context_takes_its_proofs_along),
		TEST(graphs_and_threads_end_it),
		TEST(what_leaves_its_arrays_is_a_gap),
		TEST(clean_kernels_are_sampled),
		TEST(others_are_sampled_by_themselves),
		TEST(launches_are_noted_for_a_later_proof),
		TEST(all_launches_may_be_asked_for),
	};

	if (argc != 5 && argc != 9)
		return 2;
	args = argv;
	if (argc == 9) {
		snprintf(forwarded, sizeof(forwarded), "%s/forwarded/libcuda.so.1", args[4]);
		const char *why = forward_complete(args[5], args[6], forwarded);
		if (why) {
			fprintf(stderr, "%s\n", why);
			return 2;
		}
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
