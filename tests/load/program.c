/*
 * program.c - loads one kernel in every way that the driver has: program FOLDER WAY...
 *
 * FOLDER has the kernel as text and in fat binaries. Each way ends the program with 1 if the
 * driver refuses it. Linked with the driver's stub, as driver programs are.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cuda.h>

#include "image/fatbin.h"

#define CHECK(call)                                                                                \
	do {                                                                                       \
		CUresult r_ = (call);                                                              \
		if (r_ != CUDA_SUCCESS) {                                                          \
			fprintf(stderr, "%s: %d\n", #call, (int)r_);                               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static const char *folder;

static char *path_of(const char *name)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static char *read_file(const char *name, size_t *size)
{
	static char bytes[1 << 20]; /* a copy that changes once it is loaded */
	FILE *f = fopen(path_of(name), "r");

	if (!f) {
		perror(name);
		exit(2);
	}
	*size = fread(bytes, 1, sizeof(bytes) - 1, f);
	bytes[*size] = 0;
	fclose(f);
	return bytes;
}

static void load_wrapper(const char *name)
{
	size_t size;
	struct fatbin_wrapper w = {FATBIN_WRAPPER_MAGIC, 1, read_file(name, &size), NULL};
	CUlibrary l;

	CHECK(cuLibraryLoadData(&l, &w, NULL, NULL, 0, NULL, NULL, 0));
}

/* As the runtime does with an -rdc program: what was linked, and the objects ("+" between them). */
static void load_parts(const char *names)
{
	const void *parts[8] = {NULL};
	char list[512], *rest = list, *name;
	size_t size, n = 0;

	snprintf(list, sizeof(list), "%s", names);
	while ((name = strsep(&rest, "+")) && n < 7) {
		char *bytes = read_file(name, &size);
		void *copy = malloc(size);
		if (!copy)
			exit(2);
		parts[n++] = memcpy(copy, bytes, size);
	}
	struct fatbin_wrapper w = {FATBIN_WRAPPER_MAGIC, 2, parts[0], parts + 1};
	CUlibrary l;
	CHECK(cuLibraryLoadData(&l, &w, NULL, NULL, 0, NULL, NULL, 0));
}

static void load_linked(CUjitInputType type, const char *name, bool is_file)
{
	CUlinkState s;
	size_t size;

	CHECK(cuLinkCreate(0, NULL, NULL, &s));
	if (is_file) {
		CHECK(cuLinkAddFile(s, type, path_of(name), 0, NULL, NULL));
		return;
	}
	char *data = read_file(name, &size);
	size += type == CU_JIT_INPUT_PTX;
	CHECK(cuLinkAddData(s, type, data, size, name, 0, NULL, NULL));
}

/* As the CUDA runtime finds its functions. */
static void load_found(const char *name)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*find)(const char *, void **, int, cuuint64_t, void *) = NULL;
	CUresult (*load)(CUmodule *, const void *) = NULL;
	int status;
	size_t size;
	CUmodule m;

	*(void **)&find = lib ? dlsym(lib, "cuGetProcAddress_v2") : NULL;
	if (!find)
		exit(3);
	CHECK(find("cuGetProcAddress", (void **)&find, 13000, 0, &status));
	CHECK(find("cuModuleLoadData", (void **)&load, 13000, 0, &status));
	CHECK(load(&m, read_file(name, &size)));
}

/* Private functions of the driver, by 32 hexadecimal digits. */
static void ask_table(const char *digits)
{
	const void *table = NULL;
	CUuuid id;

	for (unsigned i = 0; i < sizeof(id.bytes); i++) {
		const char two[3] = {digits[2 * i], digits[2 * i + 1], 0};
		id.bytes[i] = (char)strtoul(two, NULL, 16);
	}
	CHECK(cuGetExportTable(&table, &id));
	if (!table)
		exit(5);
}

static volatile sig_atomic_t nsignals;

static void on_child(int sig)
{
	(void)sig;
	nsignals++;
}

static int count_files(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* That a program was started meanwhile is not to be seen: no signal, no child, no file. */
static void load_unseen(const char *name)
{
	int before = count_files(), status;
	size_t size;
	CUmodule m;

	signal(SIGCHLD, on_child);
	CHECK(cuModuleLoadData(&m, read_file(name, &size)));
	pid_t got = waitpid(-1, &status, WNOHANG);
	bool is_childless = got < 0 && errno == ECHILD;
	/* One more is the file that is shared with `collider run`, when it is opened by name. */
	int files = count_files() - before;
	printf("signals %d, children %d, files %d\n", (int)nsignals, !is_childless, files > 1);
	signal(SIGCHLD, SIG_DFL);
}

/* What the driver has beyond our list is there, and what it lacks isn't. */
static void look(void)
{
	void *lib = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult (*own)(int *, double) = NULL;
	int value = 0;

	*(void **)&own = lib ? dlsym(lib, "cuStandinPrivate") : NULL;
	if (own)
		CHECK(own(&value, 2));
	printf("private %d, lacking %d, spare %d\n", value,
	       lib && dlsym(lib, "cuMemAlloc_v2") != NULL,
	       lib && dlsym(lib, "collider_spare__________________________________________"
				 "00000300") != NULL);
}

static void load(const char *way, const char *name)
{
	static char log[512];
	CUjit_option options[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
				  CU_JIT_MAX_REGISTERS};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log), (void *)(uintptr_t)24};
	size_t size;
	CUmodule m;
	CUlibrary l;

	if (!strcmp(way, "data"))
		CHECK(cuModuleLoadData(&m, read_file(name, &size)));
	else if (!strcmp(way, "capped"))
		CHECK(cuModuleLoadDataEx(&m, read_file(name, &size), 3, options, values));
	else if (!strcmp(way, "fat"))
		CHECK(cuModuleLoadFatBinary(&m, read_file(name, &size)));
	else if (!strcmp(way, "file"))
		CHECK(cuModuleLoad(&m, path_of(name)));
	else if (!strcmp(way, "library"))
		CHECK(cuLibraryLoadData(&l, read_file(name, &size), NULL, NULL, 0, NULL, NULL, 0));
	else if (!strcmp(way, "library-file"))
		CHECK(cuLibraryLoadFromFile(&l, path_of(name), NULL, NULL, 0, NULL, NULL, 0));
	else if (!strcmp(way, "wrapper"))
		load_wrapper(name);
	else if (!strcmp(way, "parts"))
		load_parts(name);
	else if (!strcmp(way, "link"))
		load_linked(CU_JIT_INPUT_PTX, name, false);
	else if (!strcmp(way, "link-fat"))
		load_linked(CU_JIT_INPUT_FATBINARY, name, false);
	else if (!strcmp(way, "link-file"))
		load_linked(CU_JIT_INPUT_PTX, name, true);
	else if (!strcmp(way, "unseen"))
		load_unseen(name);
	else if (!strcmp(way, "found"))
		load_found(name);
	else if (!strcmp(way, "table"))
		ask_table(name);
	else
		exit(4);
}

int main(int argc, char **argv)
{
	folder = argv[1];
	CHECK(cuInit(0));
	for (int i = 2; i < argc; i++) {
		char *colon = strchr(argv[i], ':');
		if (!strcmp(argv[i], "look")) {
			look();
			continue;
		}
		*colon = 0;
		load(argv[i], colon + 1);
	}
	return 0;
}
