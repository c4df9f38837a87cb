/*
 * beside.c - collider run: the judge beside a program on a GPU, a process that executes launches
 * once more on the CPU device (src/judge).
 *
 * It is started before the program, which finds it by an abstract socket's name in its environment
 * (race/judge/wire.h), and serves each process of the program in a process of its own. It has a
 * process group of its own, so that Ctrl-C reaches the program alone: when the program has ended,
 * its sockets are closed, and so the judge ends. What it has found is in the shared file.
 *
 * Misses: after the program's end it is waited for END_MS at most; what it still does then is lost.
 */
#include "cli/cli.h"
#include "judge/judge.h"
#include "race/file/shm_write.h"
#include "race/judge/choice.h"
#include "race/judge/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define END_MS 15000
#define NICE   5

static struct {
	int listener; /* -1: there is no judge */
	int life;     /* closed by us: the program has ended */
	int ended;    /* the last process of the judge closes it */
	pid_t pid;
	struct race_judge_policy policy;
	const char *program, *folder;
} beside = {.listener = -1, .life = -1, .ended = -1};

bool cli_beside_is_on(const struct option_set *set)
{
	if (option_source(set, OPTION_BESIDE) == OPTION_FROM_DEFAULT &&
	    (option_is(set, OPTION_LOAD, "off") ||
	     !(option_list(set, OPTION_DETECTOR) & RACE_DETECT_PUT)))
		return false;
	return !option_is(set, OPTION_BESIDE, "off");
}

static int listen_at(struct base_arena *a, const char **name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	socklen_t n = sizeof(at);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	/* Bound without a name, the system chooses an abstract one. */
	if (fd < 0 || bind(fd, (void *)&at, sizeof(sa_family_t)) || listen(fd, 64) ||
	    getsockname(fd, (void *)&at, &n) || n <= sizeof(sa_family_t) + 1) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	*name = base_strndup(a, at.sun_path + 1, n - sizeof(sa_family_t) - 1);
	return fd;
}

const char *cli_beside_choose(struct option_set *set)
{
	struct race_judge_policy *p = &beside.policy;
	const char *name;

	if (!cli_beside_is_on(set))
		return NULL;
	*p = race_judge_policy_of(option_is(set, OPTION_BESIDE, "all")	    ? RACE_JUDGE_ALL
				  : option_is(set, OPTION_BESIDE, "verify") ? RACE_JUDGE_VERIFY
									    : RACE_JUDGE_AUTO);
	p->blocks = (uint64_t)option_int(set, OPTION_JUDGE_BLOCKS);
	p->budget = (uint32_t)option_int(set, OPTION_JUDGE_BUDGET);
	beside.program = set->args.v[0];
	beside.folder = option_text(set, OPTION_CAPSULES);
	beside.listener = listen_at(&set->arena, &name);
	if (beside.listener < 0) {
		base_say("no launch is judged beside the GPU: no socket: %s", strerror(errno));
		return NULL;
	}
	return base_printf(&set->arena, RACE_JUDGE_ENV "=%s %u %llu %u", name, (unsigned)p->mode,
			   (unsigned long long)p->blocks, p->budget);
}

/* ---- the judge's processes --------------------------------------------------------------- */

static int take_control(int fd)
{
	char room[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	int got = -1;

	if (recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) != 1)
		return -1;
	const struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
		memcpy(&got, CMSG_DATA(c), sizeof(got));
	return got;
}

/* Of this user? The name can be guessed. */
static bool is_own(int fd)
{
	struct ucred c;
	socklen_t n = sizeof(c);

	return !getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &n) && c.uid == getuid();
}

static void serve(int fd)
{
	const struct judge_serve opt = {.policy = &beside.policy,
					.oracle = CPU_ORACLE_PROGRAM,
					.program = beside.program,
					.folder = beside.folder,
					.control = take_control(fd)};

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (opt.control >= 0)
		judge_serve(fd, &opt);
}

static bool accept_one(void)
{
	int fd = accept4(beside.listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return false;
	pid_t pid = is_own(fd) ? fork() : -1;
	if (pid == 0) {
		close(beside.listener);
		serve(fd);
		_exit(0);
	}
	close(fd);
	return true;
}

static _Noreturn void judge(int life, int shm_fd)
{
	struct pollfd p[2] = {{.fd = life, .events = POLLIN},
			      {.fd = beside.listener, .events = POLLIN}};
	char number[16];
	sigset_t none;

	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)!nice(NICE);
	snprintf(number, sizeof(number), "%d", shm_fd);
	setenv(RACE_SHM_ENV, number, 1);
	if (!race_shm_open())
		_exit(BASE_EXIT_ENV);
	while (poll(p, 2, -1) > 0 || errno == EINTR) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		if (p[0].revents)
			break;
		if (p[1].revents)
			(void)accept_one();
	}
	/* A short program may have begun and ended before this process came to run. */
	while (poll(&p[1], 1, 0) > 0 && accept_one())
		;
	close(beside.listener);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
	_exit(0);
}

/* ------------------------------------------------------------------------ */

void cli_beside_start(void *arg, int shm_fd)
{
	int life[2] = {-1, -1}, ended[2] = {-1, -1};

	(void)arg;
	if (beside.listener < 0)
		return;
	if (pipe2(life, O_CLOEXEC) || pipe2(ended, O_CLOEXEC)) {
		base_say("no launch is judged beside the GPU: %s", strerror(errno));
		return;
	}
	fflush(NULL);
	beside.pid = fork();
	if (beside.pid == 0) {
		setpgid(0, 0);
		close(life[1]);
		close(ended[0]);
		judge(life[0], shm_fd);
	}
	close(life[0]);
	close(ended[1]);
	close(beside.listener);
	beside.listener = -1;
	beside.life = life[1];
	beside.ended = ended[0];
}

void cli_beside_end(void)
{
	struct pollfd p = {.fd = beside.ended, .events = POLLIN};

	if (beside.life < 0)
		return;
	close(beside.life);
	beside.life = -1;
	if (beside.pid > 0 && poll(&p, 1, END_MS) == 0) {
		kill(-beside.pid, SIGKILL);
		race_shm_say("the judge beside the GPU hadn't ended: some of what it did is lost");
	}
	while (beside.pid > 0 && waitpid(beside.pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(beside.ended);
}
