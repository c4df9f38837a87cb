/*
 * spawn.c - fork, exec and wait, with the shared file of race/file/shm.h around it.
 *
 * The file is a memfd: it has no name that could be left behind, is sparse, and
 * lives as long as a process holds it (if we are killed: keeper.c). The program stays in our
 * process group, so that the terminal's job control works as without us; signals are received with
 * sigtimedwait, so that no handler runs here. This process is the reaper of orphans
 * (PR_SET_CHILD_SUBREAPER) only to be able to end a program's children at the time limit.
 *
 * Misses: children that outlive a program which ends by itself are not waited
 * for; what they find later is lost. Costs: nothing while the program runs.
 */
#include "agent/await.h"
#include "agent/given.h"
#include "agent/keeper.h"
#include "base/clock.h"
#include "race/layout/history.h"
#include "race/file/nvtx.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHM_FD_MIN  200 /* shells and programs use the low numbers explicitly */
#define COMMAND_MAX 65536
#define NS_PER_MS   1000000ull
#define LIB_FOLDER  "lib/collider"
#define AGENT_FILE  "libcollider_agent.so"
#define CUDART_FILE "cpu/libcudart.so.13"
#define LIBCUDA	    "libcuda.so.1" /* beside it: the driver's functions */
#define INJECT_ENV  "CUDA_INJECTION64_PATH"
#define LOADING_ENV "CUDA_MODULE_LOADING"
#define CPU_ENV	    "COLLIDER_CPU"

static const int taken[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD};

static void say_error(struct base_sink *sink, const char *what, const char *why)
{
	base_report(sink, BASE_ERROR, NULL, (struct base_span){0}, "%s: %s", what, why);
}

/* One of our files: what `env` names, or `file` beside the folder of this executable. */
static const char *find_file(struct base_arena *a, const char *env, const char *file,
			     const char *what, struct base_sink *sink)
{
	const char *path = getenv(env);
	char exe[PATH_MAX];

	if (!path || !*path) {
		ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
		if (n < 0) {
			say_error(sink, "/proc/self/exe", strerror(errno));
			return NULL;
		}
		exe[n] = 0;
		for (int up = 0; up < 2; up++) {
			char *slash = strrchr(exe, '/');
			if (slash)
				*slash = 0;
		}
		path = base_printf(a, "%s/" LIB_FOLDER "/%s", exe, file);
	} else if (*path != '/') {
		/* The program may change its folder before CUDA starts. */
		char *full = realpath(path, NULL);
		if (full)
			path = base_strdup(a, full);
		free(full);
	}
	if (access(path, R_OK)) {
		int err = errno;
		base_report(sink, BASE_ERROR, NULL, (struct base_span){0},
			    "%s %s: %s (%s can name another)", what, path, strerror(err), env);
		return NULL;
	}
	return path;
}

const char *spawn_find_agent(struct base_arena *a, struct base_sink *sink)
{
	return find_file(a, "COLLIDER_AGENT", AGENT_FILE, "the agent", sink);
}

const char *spawn_find_cudart(struct base_arena *a, struct base_sink *sink)
{
	return find_file(a, "COLLIDER_CUDART", CUDART_FILE, "the CPU device's runtime", sink);
}

bool spawn_has_driver(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);

	if (lib)
		dlclose(lib);
	return lib != NULL;
}

/* In a child: cuInit and cuDeviceGetCount of the driver's library. */
static bool count_gpus(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *init = lib ? dlsym(lib, "cuInit") : NULL;
	void *count = lib ? dlsym(lib, "cuDeviceGetCount") : NULL;
	int (*cu_init)(unsigned);
	int (*cu_count)(int *);
	int n = 0;

	if (!init || !count)
		return false;
	memcpy(&cu_init, &init, sizeof(cu_init));
	memcpy(&cu_count, &count, sizeof(cu_count));
	return cu_init(0) == 0 && cu_count(&n) == 0 && n > 0;
}

bool spawn_has_gpu(void)
{
	int status = 1;

	if (!spawn_has_driver())
		return false;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0)
		_exit(count_gpus() ? 0 : 1);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* ---- the shared file ---------------------------------------------------------------- */

/* The program and its arguments as the first chunk, for a report without us. */
static void put_command(struct race_shm *s, char *const *argv)
{
	struct race_chunk *c = (struct race_chunk *)(void *)((char *)s + RACE_SHM_HEAP);
	char *text = (char *)(c + 1);
	size_t n = 0;

	for (size_t i = 0; argv[i]; i++) {
		size_t len = strlen(argv[i]);
		if (n + len + 2 > COMMAND_MAX)
			break;
		if (i)
			text[n++] = ' ';
		memcpy(text + n, argv[i], len);
		n += len;
	}
	text[n++] = 0;
	c->kind = RACE_CHUNK_COMMAND;
	c->room = (uint32_t)((sizeof(*c) + n + 15) & ~(size_t)15);
	c->bytes = (uint32_t)n;
	s->heap_used = c->room;
}

/* The lists of names as the second chunk. */
static void put_names(struct race_shm *s, const struct spawn_request *req)
{
	const char *const lists[RACE_CHOICE_LISTS] = {
		[RACE_CHOICE_KERNELS] = req->kernel_name,
		[RACE_CHOICE_KERNELS_EXCLUDE] = req->kernel_name_exclude,
		[RACE_CHOICE_PROCESSES] = req->target_processes,
		[RACE_CHOICE_NVTX_INCLUDE] = req->nvtx_include,
		[RACE_CHOICE_NVTX_EXCLUDE] = req->nvtx_exclude};
	struct race_chunk *c =
		(struct race_chunk *)(void *)((char *)s + RACE_SHM_HEAP + s->heap_used);
	size_t n = 0;

	for (size_t i = 0; i < BASE_COUNTOF(lists); i++)
		n += (lists[i] ? strlen(lists[i]) : 0) + 1;
	if (!s->choice.is_on || n > COMMAND_MAX)
		return;
	char *at = (char *)(c + 1);
	for (size_t i = 0; i < BASE_COUNTOF(lists); i++)
		at = stpcpy(at, lists[i] ? lists[i] : "") + 1;
	c->kind = RACE_CHUNK_CHOICE;
	c->room = (uint32_t)((sizeof(*c) + n + 15) & ~(size_t)15);
	c->bytes = (uint32_t)n;
	s->heap_used += c->room;
}

/* After the command. */
static void put_chunk(struct race_shm *s, enum race_chunk_kind kind, const void *data, size_t n)
{
	char *at = (char *)s + RACE_SHM_HEAP + s->heap_used;
	struct race_chunk *c = (struct race_chunk *)(void *)at;

	memcpy(c + 1, data, n);
	c->kind = kind;
	c->room = (uint32_t)((sizeof(*c) + n + 15) & ~(size_t)15);
	c->bytes = (uint32_t)n;
	s->heap_used += c->room;
}

/* A limit of file sizes (ulimit -f) is meant for what the program writes: this file is in memory.
 */
static int set_size(int fd, uint64_t bytes)
{
	struct rlimit old, high;
	bool is_raised = getrlimit(RLIMIT_FSIZE, &old) == 0 && old.rlim_cur < bytes;

	high = (struct rlimit){old.rlim_max, old.rlim_max};
	is_raised = is_raised && setrlimit(RLIMIT_FSIZE, &high) == 0;
	int rc = ftruncate(fd, (off_t)bytes), err = errno;
	if (is_raised)
		setrlimit(RLIMIT_FSIZE, &old);
	errno = err;
	return rc;
}

/* Makes the file and writes its header. Returns the descriptor, or -1 with errno. */
static int make_shm(const struct spawn_request *req, struct race_shm **shm)
{
	int low = memfd_create("collider", MFD_CLOEXEC);

	if (low < 0)
		return -1;
	int fd = fcntl(low, F_DUPFD_CLOEXEC, SHM_FD_MIN);
	if (fd < 0)
		fd = low;
	else
		close(low);
	if (set_size(fd, RACE_SHM_BYTES) < 0)
		goto fail;
	struct race_shm *s = mmap(NULL, RACE_SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (s == MAP_FAILED)
		goto fail;
	s->version = RACE_SHM_VERSION;
	s->heap_limit = RACE_SHM_HEAP_BYTES;
	s->rdelay = req->rdelay;
	s->wdelay = req->wdelay;
	s->dense = req->dense;
	s->window = req->window;
	s->sample = req->sample;
	s->seed = req->seed;
	s->flags = req->flags;
	s->order = req->order;
	s->sites = req->sites;
	s->sites_limit = req->sites_limit;
	s->choice = req->choice;
	put_command(s, req->argv);
	put_names(s, req);
	if (req->machine)
		put_chunk(s, RACE_CHUNK_MACHINE, req->machine, RACE_HISTORY_MACHINE);
	if (req->replay && req->replay->n && req->replay->n < RACE_REPLAY_MAX)
		put_chunk(s, RACE_CHUNK_REPLAY, req->replay->p, req->replay->n);
	s->magic = RACE_SHM_MAGIC;
	*shm = s;
	return fd;
fail:;
	int err = errno;
	close(fd);
	errno = err;
	return -1;
}

void spawn_free(struct spawn_result *res)
{
	if (res->shm)
		munmap((void *)(uintptr_t)res->shm, RACE_SHM_BYTES);
	memset(res, 0, sizeof(*res));
}

/* What the program finds; we ignore it from the start on, so that a report that is too large for
 * `ulimit -f` is an error and not our end. */
static struct sigaction old_xfsz;

/* ---- the child ---------------------------------------------------------------------- */

/* Puts a library before or after what the user preloads. */
static int preload(const char *library, bool is_first)
{
	const char *old = getenv("LD_PRELOAD");
	char *list = NULL;

	if (old && *old &&
	    asprintf(&list, "%s:%s", is_first ? library : old, is_first ? old : library) < 0)
		return -1;
	int rc = setenv("LD_PRELOAD", list ? list : library, 1);
	free(list);
	return rc;
}

/*
 * What makes the program find the agent, and the library that stands in for the driver's. The
 * latter comes after what the user preloads: a library that watches the driver's functions is
 * called first then, as without us, and calls ours. But a driver's library there would take our
 * place. It loads the agent, too, so a tool of the user's may have the variable for that.
 * Returns 0, or errno is set.
 */
static int set_gpu(const struct spawn_request *req)
{
	const char *old = getenv("LD_PRELOAD");

	if (req->forward && (preload(req->forward, old && strstr(old, "libcuda.so")) ||
			     setenv(AGENT_GIVEN_ENV, req->given, 1)))
		return -1;
	/* Code that is instrumented as it is loaded is so when the driver loads it: at its first
	 * use. */
	return (req->agent && setenv(INJECT_ENV, req->agent, !req->forward)) ||
	       (!req->is_lazy && setenv(LOADING_ENV, "EAGER", 0));
}

/* The driver's library of the CPU device, which lies beside the runtime's and jumps into that. */
static int preload_driver(const char *cudart)
{
	const char *slash = strrchr(cudart, '/');
	char path[PATH_MAX];
	int n = slash ? snprintf(path, sizeof(path), "%.*s/" LIBCUDA, (int)(slash - cudart), cudart)
		      : snprintf(path, sizeof(path), LIBCUDA);

	if (n < 0 || (size_t)n >= sizeof(path) || access(path, R_OK))
		return 0; /* $COLLIDER_CUDART may be elsewhere */
	return preload(path, true);
}

/*
 * The CPU device's library has the name of the real one, so it replaces it once it is loaded.
 * Addresses are the same in every run, as far as the system allows, so that a replay is exact to
 * the last byte.
 */
static int set_cpu(const struct spawn_request *req)
{
	int rc = preload_driver(req->cudart) || preload(req->cudart, true) ||
		 setenv(CPU_ENV, req->cpu_options, 1);
	int now = personality(0xffffffff);
	if (now >= 0)
		personality((unsigned long)now | ADDR_NO_RANDOMIZE);
	return rc;
}

/* Runs in the child; sends errno through the pipe when exec fails. */
__attribute__((noreturn)) static void become_app(const struct spawn_request *req, int shm_fd,
						 int error_pipe, pid_t parent,
						 const sigset_t *old_mask)
{
	char number[16], path[64];

	snprintf(number, sizeof(number), "%d", shm_fd);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)parent, shm_fd);
	/* A program whose report can no longer be written must not continue. */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() != parent)
		_exit(128 + SIGTERM);
	if (fcntl(shm_fd, F_SETFD, 0) < 0 || setenv(RACE_SHM_ENV, number, 1) ||
	    setenv(RACE_SHM_PATH_ENV, path, 1) || (req->cudart ? set_cpu(req) : set_gpu(req)))
		goto fail;
	if ((req->nvtx_include || req->nvtx_exclude) &&
	    setenv(RACE_NVTX_ENV, req->cudart ? req->cudart : req->agent, 1))
		goto fail;
	for (char *const *e = req->environment; e && *e; e++)
		if (putenv(*e))
			goto fail;
	uint32_t root = (uint32_t)getpid();
	if (req->choice.root && pwrite(shm_fd, &root, sizeof(root),
				       offsetof(struct race_shm, choice.root)) != sizeof(root))
		goto fail;
	sigaction(SIGXFSZ, &old_xfsz, NULL);
	sigprocmask(SIG_SETMASK, old_mask, NULL);
	execvp(req->argv[0], req->argv);
fail:;
	int err = errno;
	if (write(error_pipe, &err, sizeof(err)) < 0)
		_exit(126);
	_exit(127);
}

/* Starts the program. Returns 0 or an exit code. */
static int start_app(const struct spawn_request *req, int shm_fd, const sigset_t *old_mask,
		     pid_t *pid, struct base_sink *sink)
{
	pid_t self = getpid();
	int pipe_fd[2], err = 0;

	if (pipe2(pipe_fd, O_CLOEXEC) < 0) {
		say_error(sink, "pipe", strerror(errno));
		return BASE_EXIT_ENV;
	}
	fflush(NULL);
	*pid = fork();
	if (*pid == 0)
		become_app(req, shm_fd, pipe_fd[1], self, old_mask);
	int fork_err = errno;
	close(pipe_fd[1]);
	if (*pid < 0) {
		close(pipe_fd[0]);
		say_error(sink, "fork", strerror(fork_err));
		return BASE_EXIT_ENV;
	}
	/* The pipe closes by itself when exec succeeds. */
	ssize_t n;
	while ((n = read(pipe_fd[0], &err, sizeof(err))) < 0 && errno == EINTR)
		;
	close(pipe_fd[0]);
	if (n != (ssize_t)sizeof(err))
		return 0;
	waitpid(*pid, NULL, 0);
	say_error(sink, req->argv[0], strerror(err));
	return err == ENOENT || err == ENOTDIR ? 127 : 126;
}

/* ---- entry --------------------------------------------------------------------------------- */

/* LD_PRELOAD takes a space or colon in a path for its end: the library is named by way of a
 * descriptor of ours then, which is open while the program runs. -1: there is no need. */
static int open_folder(const char *library, char *link, size_t room)
{
	const char *slash = library ? strrchr(library, '/') : NULL;
	char folder[PATH_MAX];

	if (!slash || !library[strcspn(library, ": \t\n$")] ||
	    (size_t)(slash - library) >= sizeof(folder))
		return -1;
	memcpy(folder, library, (size_t)(slash - library));
	folder[slash - library] = 0;
	int fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		snprintf(link, room, "/proc/%d/fd/%d%s", (int)getpid(), fd, slash);
	return fd;
}

static int spawn_in(const struct spawn_request *req, struct spawn_result *res,
		    struct base_sink *sink)
{
	sigset_t set, old_mask;
	struct sigaction dfl = {.sa_handler = SIG_DFL}, old_chld;
	struct race_shm *shm;

	memset(res, 0, sizeof(*res));
	int fd = make_shm(req, &shm);
	if (fd < 0) {
		say_error(sink, "the shared file for findings",
			  errno == EFBIG ? "the limit of file sizes is too low (ulimit -f)"
					 : strerror(errno));
		return BASE_EXIT_ENV;
	}
	res->shm = shm;
	res->is_eager = !req->cudart && !req->is_lazy && !getenv(LOADING_ENV);
	const char *other = getenv(INJECT_ENV);
	if (!req->cudart && !req->forward && other && *other && strcmp(other, req->agent) != 0)
		base_report(sink, BASE_WARNING, NULL, (struct base_span){0},
			    INJECT_ENV "=%s is replaced by Collider's agent", other);
	/* An ignored SIGCHLD would make waitpid find nothing. */
	sigaction(SIGCHLD, &dfl, &old_chld);
	struct keeper keeper = keeper_start(fd);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	sigemptyset(&set);
	for (size_t i = 0; i < BASE_COUNTOF(taken); i++)
		sigaddset(&set, taken[i]);
	sigprocmask(SIG_BLOCK, &set, &old_mask);
	if (req->beside)
		req->beside(req->arg, fd);
	uint64_t start = base_now_ns();
	int rc = start_app(req, fd, &old_mask, &res->pid, sink);
	if (!rc)
		keeper_watch(&keeper, res->pid);
	if (!rc && spawn_await(res->pid, &set, req, shm, keeper.pid, res) < 0) {
		say_error(sink, "waiting for the program", strerror(errno));
		rc = BASE_EXIT_ENV;
	}
	keeper_end(&keeper);
	close(fd); /* kept until here for children without it: RACE_SHM_PATH_ENV */
	res->wall_ns = base_now_ns() - start;
	/* A further Ctrl-C that came too late for the program must not end us before the report. */
	struct timespec none = {0};
	while (sigtimedwait(&set, NULL, &none) > 0)
		;
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
	sigaction(SIGCHLD, &old_chld, NULL);
	if (rc)
		spawn_free(res);
	return rc;
}

int spawn_app(const struct spawn_request *req, struct spawn_result *res, struct base_sink *sink)
{
	struct sigaction ignored = {.sa_handler = SIG_IGN};
	struct spawn_request q = *req;
	char link[PATH_MAX + 64];
	int folder = open_folder(req->cudart ? req->cudart : req->forward, link, sizeof(link));

	if (folder >= 0 && req->cudart)
		q.cudart = link;
	else if (folder >= 0)
		q.forward = link;
	sigaction(SIGXFSZ, &ignored, &old_xfsz);
	int rc = spawn_in(&q, res, sink);
	if (folder >= 0)
		close(folder);
	return rc;
}
