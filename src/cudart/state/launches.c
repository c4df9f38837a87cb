/*
 * launches.c - records the launches that a program made (collider run --record-launches).
 *
 * A line of JSON for each launch that is new by its kernel, dimensions and parameters: what
 * `collider prove --launches` reads. Lines are appended in one write each, so that several
 * processes may share the file. Launches are distinguished by a 64-bit hash.
 *
 * Misses: launches through CUDA graphs that change parameters after capture.
 * Costs: a hash and a look-up for each launch; memory for 65,536 launches, later ones are left out.
 */
#include "base/table.h"
#include "cudart/state/internal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_SEEN 65536

struct seen {
	uint64_t hash;
	UT_hash_handle hh;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *path;
static struct seen *seen;

void rt_launches_open(const char *file)
{
	if (!file)
		return;
	path = strdup(file);
}

/* True: it is new. */
static bool remember(uint64_t hash)
{
	struct seen *s;

	HASH_FIND(hh, seen, &hash, sizeof(hash), s);
	if (s || HASH_COUNT(seen) == MAX_SEEN)
		return false;
	s = base_calloc(1, sizeof(*s));
	s->hash = hash;
	HASH_ADD(hh, seen, hash, sizeof(s->hash), s);
	return true;
}

static void put_params(struct base_buf *out, const struct cpu_launch *l)
{
	const unsigned char *p = l->params;
	uint32_t off, n;

	for (uint32_t i = 0; cpu_kernel_param(l->kernel, i, &off, &n); i++) {
		uint64_t v = 0;
		if (n > 8)
			continue;
		memcpy(&v, p + off, n);
		base_buf_printf(out, "%s{\"offset\":%u,\"bytes\":%u,\"value\":%llu}",
				out->p[out->n - 1] == '[' ? "" : ",", off, n,
				(unsigned long long)v);
	}
}

void rt_launches_record(const struct cpu_launch *l)
{
	struct cpu_kernel_info info;
	struct base_buf out = {0};
	int fd;

	if (!path)
		return;
	cpu_kernel_get_info(l->kernel, &info);
	base_buf_printf(&out,
			"{\"kernel\":\"%s\",\"block\":[%u,%u,%u],\"grid\":[%u,%u,%u],\"params\":[",
			info.name, l->block[0], l->block[1], l->block[2], l->grid[0], l->grid[1],
			l->grid[2]);
	put_params(&out, l);
	base_buf_puts(&out, "]}\n");
	pthread_mutex_lock(&lock);
	if (remember(base_hash(out.p, out.n, BASE_FNV_INIT))) {
		fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
		if (fd < 0 || write(fd, out.p, out.n) != (ssize_t)out.n) {
			base_say("--record-launches: %s can't be written: %m", path);
			free(path);
			path = NULL;
		}
		if (fd >= 0)
			close(fd);
	}
	pthread_mutex_unlock(&lock);
	base_buf_free(&out);
}
