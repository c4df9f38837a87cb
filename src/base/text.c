/*
 * text.c - byte buffers, whole files, hashing.
 *
 * base_write_file is the only way our tools write a result: a temporary file
 * and a rename, so that no failure leaves a half-written output behind.
 */
#include "base/base.h"
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void base_buf_room(struct base_buf *b, size_t extra)
{
	if (b->cap - b->n < extra)
		base_vec_grow((void **)&b->p, &b->cap, b->n + extra, 1);
}

void base_buf_put(struct base_buf *b, const void *s, size_t n)
{
	base_buf_room(b, n + 1);
	if (n)
		memcpy(b->p + b->n, s, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void base_buf_puts(struct base_buf *b, const char *s)
{
	base_buf_put(b, s, strlen(s));
}

#define SHORT 128 /* most texts: they fit at once */

void base_buf_vprintf(struct base_buf *b, const char *fmt, va_list ap)
{
	va_list again;

	base_buf_room(b, SHORT);
	va_copy(again, ap);
	int n = vsnprintf(b->p + b->n, b->cap - b->n, fmt, again);
	va_end(again);
	if (n >= 0 && (size_t)n >= b->cap - b->n) {
		base_buf_room(b, (size_t)n + 1);
		vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	}
	if (n >= 0)
		b->n += (size_t)n;
	else /* an encoding error: leave it out */
		b->p[b->n] = '\0';
}

void base_buf_printf(struct base_buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	base_buf_vprintf(b, fmt, ap);
	va_end(ap);
}

void base_buf_free(struct base_buf *b)
{
	free(b->p);
	memset(b, 0, sizeof(*b));
}

size_t base_utf8_length(const unsigned char *s, size_t n)
{
	size_t len = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : 4;

	if (!len || s[0] > 0xf4 || len > n)
		return 0;
	for (size_t i = 1; i < len; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
		return 0;
	return len;
}

/* More than any text that a compiler writes; what has no end (/dev/zero, a pipe) stops here. */
#define FILE_MAX ((size_t)1 << 30)

/* A pipe without its other end is waited for this long. */
#define PIPE_WAIT_MS 5000

/* Opened to be read; of a pipe something is there, or has been. -1 and errno: EPIPE: no program
 * writes to the pipe. */
static int open_input(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), flags;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode))
		return fd;
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int got = poll(&p, 1, PIPE_WAIT_MS);
	if (got > 0 && (flags = fcntl(fd, F_GETFL)) >= 0 &&
	    fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0)
		return fd;
	int err = got ? errno : EPIPE;
	close(fd);
	errno = err;
	return -1;
}

int base_read_file(const char *path, char **data, size_t *size)
{
	struct base_buf b = {0};
	int fd = strcmp(path, "-") ? open_input(path) : STDIN_FILENO;
	struct stat st;
	int err = 0;

	if (fd < 0)
		return errno;
	if (fstat(fd, &st) == 0) {
		if (S_ISDIR(st.st_mode)) {
			err = EISDIR;
			goto out;
		}
		if (st.st_size > (off_t)FILE_MAX) {
			err = EFBIG;
			goto out;
		}
		if (st.st_size > 0)
			base_buf_room(&b, (size_t)st.st_size + 2);
	}
	for (;;) {
		base_buf_room(&b, 4096);
		ssize_t n = read(fd, b.p + b.n, b.cap - b.n - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = errno;
		if (n <= 0)
			break;
		b.n += (size_t)n;
		if (b.n > FILE_MAX) {
			err = EFBIG;
			break;
		}
	}
out:
	if (fd != STDIN_FILENO)
		close(fd);
	if (err) {
		base_buf_free(&b);
		return err;
	}
	b.p[b.n] = 0;
	*data = b.p;
	*size = b.n;
	return 0;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = fd == STDOUT_FILENO ? write(fd, p, n) : base_write_unseen(fd, p, n);
		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

/* Opens what is no regular file to write to it. -1 and errno: EPIPE: no program reads the pipe. */
static int open_device(const char *path)
{
	const struct timespec pause = {.tv_nsec = 50000000};
	int fd, flags;

	for (int ms = 0; (fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0; ms += 50) {
		if (errno != ENXIO)
			return -1;
		if (ms >= PIPE_WAIT_MS) {
			errno = EPIPE;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	if ((flags = fcntl(fd, F_GETFL)) >= 0)
		(void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
	return fd;
}

const char *base_file_error(int err)
{
	return err == EPIPE ? "a pipe, and no program is at its other end" : strerror(err);
}

int base_write_file(const char *path, const void *data, size_t size)
{
	struct stat st;

	if (!strcmp(path, "-"))
		return write_all(STDOUT_FILENO, data, size);
	/* A device or a pipe (/dev/null, /dev/stdout) can't be replaced by a rename. */
	bool exists = stat(path, &st) == 0;
	if (exists && !S_ISREG(st.st_mode)) {
		int fd = open_device(path);
		if (fd < 0)
			return errno;
		int err = write_all(fd, data, size);
		if (close(fd) < 0 && !err)
			err = errno;
		return err;
	}
	struct base_buf tmp = {0};
	base_buf_printf(&tmp, "%s.XXXXXX", path);
	base_buf_put(&tmp, "", 1);
	int fd = mkstemp(tmp.p);
	int err = fd < 0 ? errno : 0;
	if (!err) {
		mode_t mask = umask(0);
		umask(mask);
		err = write_all(fd, data, size);
		if (fchmod(fd, exists ? st.st_mode & 07777 : 0666 & ~mask) < 0 && !err)
			err = errno;
		if (close(fd) < 0 && !err)
			err = errno;
		if (!err && rename(tmp.p, path) < 0)
			err = errno;
		if (err)
			unlink(tmp.p);
	}
	base_buf_free(&tmp);
	return err;
}
