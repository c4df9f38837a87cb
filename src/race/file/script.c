/*
 * script.c - the Python lines that lead to a call: of a Python program the return addresses are the
 * interpreter's, and say nothing.
 *
 * Python's own functions are looked up in the process; where it isn't loaded, or the thread is none
 * of its threads, there are no lines. Its lock (GIL) is needed for the walk. Libraries release it
 * for the call that we are in, and a thread that waited for it there, with locks of its own held,
 * could wait for ever: so another thread takes it and looks at this one, which waits for that only
 * so long. Frames of libraries (race_library) between the program and the driver are left out.
 *
 * Misses: interpreters before 3.9; a lock that is held for longer than WAIT_MS. Costs: 30 to 60
 * microseconds a call, for the thread's start.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "race/race.h"
#include "race/file/shm_write.h"

#define WAIT_MS	  100
#define WAITS_MAX 8 /* in vain: then the lines aren't looked for any more */
#define FRAMES	  16

/* Of Python's interface, with its objects as addresses. */
#define PYTHON(X)                                                                                  \
	X(int, Py_IsInitialized, (void))                                                           \
	X(void *, PyGILState_GetThisThreadState, (void))                                           \
	X(int, PyGILState_Ensure, (void))                                                          \
	X(void, PyGILState_Release, (int))                                                         \
	X(void *, PyThreadState_GetFrame, (void *))                                                \
	X(void *, PyFrame_GetBack, (void *))                                                       \
	X(void *, PyFrame_GetCode, (void *))                                                       \
	X(int, PyFrame_GetLineNumber, (void *))                                                    \
	X(void *, PyObject_GetAttrString, (void *, const char *))                                  \
	X(const char *, PyUnicode_AsUTF8, (void *))                                                \
	X(void, PyErr_Fetch, (void **, void **, void **))                                          \
	X(void, PyErr_Restore, (void *, void *, void *))                                           \
	X(void, Py_DecRef, (void *))

static struct {
#define X(type, name, args) type(*name) args;
	PYTHON(X)
#undef X
	void *(*current)(void); /* the thread that has the lock, or this one if it has it */
} py;

/* One thread looks at another one, which waits. The last of the two frees it. */
struct look {
	pthread_mutex_t lock;
	pthread_cond_t done;
	void *thread; /* Python's, of the one that waits */
	bool is_done, is_left;
	char text[RACE_SCRIPT_BYTES];
};

/* Looked for at each call until it is there: it may be loaded late. */
static bool is_there(void)
{
	static bool is_found;
	bool is_whole = true;

	if (__atomic_load_n(&is_found, __ATOMIC_ACQUIRE))
		return true;
	if (!dlsym(RTLD_DEFAULT, "Py_IsInitialized"))
		return false;
#define X(type, name, args)                                                                        \
	*(void **)&py.name = dlsym(RTLD_DEFAULT, #name);                                           \
	is_whole = is_whole && py.name;
	PYTHON(X)
#undef X
	*(void **)&py.current = dlsym(RTLD_DEFAULT, "PyThreadState_GetUnchecked");
	if (!py.current)
		*(void **)&py.current = dlsym(RTLD_DEFAULT, "_PyThreadState_UncheckedGet");
	is_whole = is_whole && py.current;
	if (is_whole)
		__atomic_store_n(&is_found, true, __ATOMIC_RELEASE);
	return is_whole;
}

/* "file TAB line TAB function NL" of a frame; returns the text's new length. */
static size_t put_frame(char *text, size_t n, void *frame)
{
	void *code = py.PyFrame_GetCode(frame);
	void *file = code ? py.PyObject_GetAttrString(code, "co_filename") : NULL;
	void *func = code ? py.PyObject_GetAttrString(code, "co_name") : NULL;
	const char *path = file ? py.PyUnicode_AsUTF8(file) : NULL;
	const char *name = func ? py.PyUnicode_AsUTF8(func) : NULL;

	if (path && name && *path != '<' && !race_library(path)) {
		int m = snprintf(text + n, RACE_SCRIPT_BYTES - n, "%s\t%d\t%s\n", path,
				 py.PyFrame_GetLineNumber(frame), name);
		if (m > 0 && (size_t)m < RACE_SCRIPT_BYTES - n)
			n += (size_t)m;
	}
	text[n] = 0;
	py.Py_DecRef(func);
	py.Py_DecRef(file);
	py.Py_DecRef(code);
	return n;
}

/* With Python's lock held. */
static void put_frames(char *text, void *thread)
{
	void *error[3], *frame;
	size_t n = 0;

	py.PyErr_Fetch(&error[0], &error[1], &error[2]);
	frame = py.PyThreadState_GetFrame(thread);
	for (int i = 0; frame && i < FRAMES; i++) {
		n = put_frame(text, n, frame);
		void *back = py.PyFrame_GetBack(frame);
		py.Py_DecRef(frame);
		frame = back;
	}
	py.Py_DecRef(frame);
	py.PyErr_Restore(error[0], error[1], error[2]);
}

/* True: the other one has left it. The lock is held, and is no longer then. */
static bool leave(struct look *l)
{
	bool is_last = l->is_left;

	l->is_left = true;
	pthread_mutex_unlock(&l->lock);
	if (is_last) {
		pthread_cond_destroy(&l->done);
		pthread_mutex_destroy(&l->lock);
		free(l);
	}
	return is_last;
}

static void *look(void *arg)
{
	struct look *l = arg;
	int state = py.PyGILState_Ensure();

	pthread_mutex_lock(&l->lock);
	/* Where the thread goes on already, its frames may be gone. */
	if (!l->is_left) {
		put_frames(l->text, l->thread);
		l->is_done = true;
		pthread_cond_signal(&l->done);
	}
	leave(l);
	py.PyGILState_Release(state);
	return NULL;
}

/* The program's signals are for its own threads. */
static bool start(struct look *l)
{
	sigset_t all, old;
	pthread_t id;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	bool is_started = pthread_create(&id, NULL, look, l) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (is_started)
		pthread_detach(id);
	return is_started;
}

static void let_look(char *text, void *thread)
{
	static unsigned in_vain; /* atomic */
	struct look *l = __atomic_load_n(&in_vain, __ATOMIC_RELAXED) < WAITS_MAX
				 ? calloc(1, sizeof(*l))
				 : NULL;
	struct timespec until;
	int r = 0;

	if (!l)
		return;
	pthread_mutex_init(&l->lock, NULL);
	pthread_cond_init(&l->done, NULL);
	l->thread = thread;
	until = base_clock_after(CLOCK_REALTIME, WAIT_MS);
	pthread_mutex_lock(&l->lock);
	if (!start(l))
		l->is_left = true;
	while (!l->is_done && !l->is_left && r == 0)
		r = pthread_cond_timedwait(&l->done, &l->lock, &until);
	if (l->is_done)
		memcpy(text, l->text, RACE_SCRIPT_BYTES);
	else
		__atomic_fetch_add(&in_vain, 1, __ATOMIC_RELAXED);
	leave(l);
}

bool race_script(char text[RACE_SCRIPT_BYTES])
{
	void *thread;

	text[0] = 0;
	if (!is_there() || !py.Py_IsInitialized() || !(thread = py.PyGILState_GetThisThreadState()))
		return false;
	if (py.current() == thread)
		put_frames(text, thread);
	else
		let_look(text, thread);
	return text[0] != 0;
}
