/*
 * script.c - the Python lines that lead to a call: of a Python program the return addresses are the
 * interpreter's, and say nothing.
 *
 * Python's own functions are looked up in the process; where it isn't loaded, or the thread is none
 * of its threads, there are no lines. Its lock (GIL) is taken for the walk, so no lock of ours may
 * be held. The interpreter's and Collider's frames between the program and the library stay; which
 * of them are a library's is decided by the report.
 *
 * Misses: interpreters before 3.9. Costs: a few microseconds a call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "cudart/report/collider.h"

#define FRAMES 16

/* Of Python's interface, with its objects as addresses. */
#define PYTHON(X)                                                                                  \
	X(int, Py_IsInitialized, (void))                                                           \
	X(void *, PyGILState_GetThisThreadState, (void))                                           \
	X(int, PyGILState_Ensure, (void))                                                          \
	X(void, PyGILState_Release, (int))                                                         \
	X(void *, PyEval_GetFrame, (void))                                                         \
	X(void *, PyFrame_GetBack, (void *))                                                       \
	X(void *, PyFrame_GetCode, (void *))                                                       \
	X(int, PyFrame_GetLineNumber, (void *))                                                    \
	X(void *, PyObject_GetAttrString, (void *, const char *))                                  \
	X(const char *, PyUnicode_AsUTF8, (void *))                                                \
	X(void, PyErr_Fetch, (void **, void **, void **))                                          \
	X(void, PyErr_Restore, (void *, void *, void *))                                           \
	X(void, Py_IncRef, (void *))                                                               \
	X(void, Py_DecRef, (void *))

static struct {
#define X(type, name, args) type(*name) args;
	PYTHON(X)
#undef X
} py;
static _Thread_local char text[4096];

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
	if (is_whole)
		__atomic_store_n(&is_found, true, __ATOMIC_RELEASE);
	return is_whole;
}

/* "file TAB line TAB function NL" of a frame; returns the text's new length. */
static size_t put_frame(size_t n, void *frame)
{
	void *code = py.PyFrame_GetCode(frame);
	void *file = code ? py.PyObject_GetAttrString(code, "co_filename") : NULL;
	void *func = code ? py.PyObject_GetAttrString(code, "co_name") : NULL;
	const char *path = file ? py.PyUnicode_AsUTF8(file) : NULL;
	const char *name = func ? py.PyUnicode_AsUTF8(func) : NULL;

	if (path && name && *path != '<') {
		int m = snprintf(text + n, sizeof(text) - n, "%s\t%d\t%s\n", path,
				 py.PyFrame_GetLineNumber(frame), name);
		if (m > 0 && (size_t)m < sizeof(text) - n)
			n += (size_t)m;
	}
	text[n] = 0;
	py.Py_DecRef(func);
	py.Py_DecRef(file);
	py.Py_DecRef(code);
	return n;
}

const char *rt_script(void)
{
	void *error[3], *frame;
	size_t n = 0;

	text[0] = 0;
	if (!is_there() || !py.Py_IsInitialized() || !py.PyGILState_GetThisThreadState())
		return text;
	int state = py.PyGILState_Ensure();
	py.PyErr_Fetch(&error[0], &error[1], &error[2]);
	frame = py.PyEval_GetFrame();
	py.Py_IncRef(frame);
	for (int i = 0; frame && i < FRAMES; i++) {
		n = put_frame(n, frame);
		void *back = py.PyFrame_GetBack(frame);
		py.Py_DecRef(frame);
		frame = back;
	}
	py.Py_DecRef(frame);
	py.PyErr_Restore(error[0], error[1], error[2]);
	py.PyGILState_Release(state);
	return text;
}

const char *rt_script_last(void)
{
	return text;
}
