/*
 * link.c - the way to the judge: found by RACE_JUDGE_ENV, connected at the first load of code.
 *
 * A process that `collider run` has not started, or whose judge has gone, has none. A forked child
 * has none either: its parent's thread isn't there, nor are its contexts.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/forward/forward.h"
#include "agent/judge/judge.h"
#include "base/clock.h"
#include "race/file/shm_write.h"

#define ANSWER_S 5 /* for a module, at most */

struct judge_driver judge_driver;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int data_fd = -1, control_fd = -1;
static bool is_on;	/* atomic */
static bool is_over;	/* atomic: it won't be on any more */
static char given[160]; /* RACE_JUDGE_ENV, as it was at the start */
static uint64_t began;
static struct race_judge_policy policy;
static __thread int inside;

void judge_enter(struct judge_guard *g)
{
	inside++;
	g->mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	g->is_swapped = judge_driver.thread_exchange_capture_mode(&g->mode) == CUDA_SUCCESS;
}

void judge_leave(struct judge_guard *g)
{
	if (g->is_swapped)
		judge_driver.thread_exchange_capture_mode(&g->mode);
	inside--;
}

bool judge_is_inside(void)
{
	return inside > 0 || forward_is_agents();
}

/* For the agent, which may hear of our calls by CUPTI. */
__attribute__((visibility("default"))) bool __collider_events_inside(void);
bool __collider_events_inside(void)
{
	return inside > 0;
}

/* ---- the connection -------------------------------------------------------------- */

static int connect_to(const char *name)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	size_t n = strlen(name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || n + 1 > sizeof(to.sun_path))
		return fd;
	memcpy(to.sun_path + 1, name, n); /* an abstract name begins with a NUL */
	if (connect(fd, (void *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* One end of a new pair goes over. */
static int send_control(int fd)
{
	char room[CMSG_SPACE(sizeof(int))] = {0}, byte = 'j';
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -1;
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &pair[1], sizeof(int));
	bool is_sent = sendmsg(fd, &msg, MSG_NOSIGNAL) == 1;
	close(pair[1]);
	if (!is_sent) {
		close(pair[0]);
		return -1;
	}
	struct timeval limit = {.tv_sec = ANSWER_S};
	setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return pair[0];
}

static bool find_driver(void)
{
	bool has_all = true;

#define F(field, symbol)                                                                           \
	*(void **)&judge_driver.field = forward_find(#symbol);                                     \
	has_all = has_all && judge_driver.field;
	JUDGE_DRIVER(F)
#undef F
	*(void **)&judge_driver.library_get_global = forward_find("cuLibraryGetGlobal");
	*(void **)&judge_driver.library_get_managed = forward_find("cuLibraryGetManaged");
	return has_all;
}

static void after_fork(void)
{
	judge_set_off();
	judge_rooms_forget(NULL);
}

/* Before the program can change its environment. */
__attribute__((constructor)) static void read_env(void)
{
	const char *env = getenv(RACE_JUDGE_ENV);

	if (env && getenv(RACE_SHM_ENV) && strlen(env) < sizeof(given))
		strcpy(given, env);
}

bool forward_has_judge(void)
{
	return *given != 0;
}

static void start(void)
{
	char name[64];
	unsigned mode, budget;
	unsigned long long blocks;

	if (sscanf(given, "%63s %u %llu %u", name, &mode, &blocks, &budget) != 4 ||
	    mode == RACE_JUDGE_OFF || !race_shm_open() || !find_driver())
		return;
	policy = race_judge_policy_of((enum race_judge_mode)mode);
	policy.blocks = blocks;
	policy.budget = budget;
	began = base_now_ns();
	data_fd = connect_to(name);
	control_fd = data_fd >= 0 ? send_control(data_fd) : -1;
	if (control_fd < 0) {
		race_shm_note("no launch is judged beside the GPU: the judge can't be reached");
		return;
	}
	pthread_atfork(NULL, NULL, after_fork);
	__atomic_store_n(&is_on, true, __ATOMIC_RELEASE);
}

/* ------------------------------------------------------------------------ */

bool judge_is_on(void)
{
	pthread_once(&once, start);
	if (!__atomic_load_n(&is_on, __ATOMIC_ACQUIRE))
		__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	return __atomic_load_n(&is_on, __ATOMIC_ACQUIRE);
}

bool judge_may_be_on(void)
{
	return *given && !__atomic_load_n(&is_over, __ATOMIC_RELAXED);
}

void judge_set_off(void)
{
	__atomic_store_n(&is_on, false, __ATOMIC_RELEASE);
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
}

const struct race_judge_policy *judge_policy(void)
{
	return &policy;
}

int judge_socket(void)
{
	return data_fd;
}

uint64_t judge_age_ns(void)
{
	return base_now_ns() - began;
}

static uint64_t bytes_of(const struct race_judge_module *head, const uint64_t *sizes)
{
	uint64_t all = sizeof(*head);

	for (uint32_t i = 0; i < head->images; i++)
		all += sizes[i] + sizeof(sizes[i]);
	return all;
}

static bool send_module(const struct race_judge_module *head, const void *const *images,
			const uint64_t *sizes)
{
	size_t n = head->images;
	struct race_judge_message msg = {.op = RACE_JUDGE_MODULE,
					 .bytes = (uint32_t)bytes_of(head, sizes)};

	if (!race_judge_write(control_fd, &msg, sizeof(msg)) ||
	    !race_judge_write(control_fd, head, sizeof(*head)) ||
	    !race_judge_write(control_fd, sizes, n * sizeof(*sizes)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!race_judge_write(control_fd, images[i], sizes[i]))
			return false;
	return true;
}

const char *judge_send_images(const struct race_judge_module *head, const void *const *images,
			      const uint64_t *sizes)
{
	if (head->images > RACE_JUDGE_IMAGES || bytes_of(head, sizes) > RACE_JUDGE_MOST)
		return "its GPU code is too large";
	if (judge_is_on() && send_module(head, images, sizes))
		return NULL;
	judge_set_off(); /* a part of it may be there */
	return "the judge has ended";
}

bool judge_has_lines(void)
{
	struct pollfd p = {.fd = control_fd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

char *judge_read_lines(void)
{
	struct race_judge_message msg;
	char *lines = NULL;

	if (judge_is_on() && race_judge_next(control_fd, &msg) && msg.op == RACE_JUDGE_ANSWER &&
	    (lines = malloc(msg.bytes + 1u)) && !race_judge_read(control_fd, lines, msg.bytes)) {
		free(lines);
		lines = NULL;
	}
	if (lines)
		lines[msg.bytes] = 0;
	else
		judge_set_off(); /* what it will say is for another question */
	return lines;
}
