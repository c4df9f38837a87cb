/*
 * fatbin.h - fat binaries: what nvcc embeds, and the PTX in it. Pure: no state, no CUDA.
 */
#ifndef COLLIDER_IMAGE_FATBIN_H
#define COLLIDER_IMAGE_FATBIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FATBIN_MAGIC	     0xba55ed50u
#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_TEXT_MAX	     (1ull << 30) /* bytes of one PTX text; more is taken for damage */

/* What __cudaRegisterFatBinary gets. */
struct fatbin_wrapper {
	uint32_t magic; /* FATBIN_WRAPPER_MAGIC */
	/* 1: data is all there is. 2: an -rdc program: data is what the device linker made, and
	 * parts a NULL-terminated array of the objects' own fat binaries. */
	uint32_t version;
	const void *data;
	const void *const *parts;
};

enum fatbin_result {
	FATBIN_FOUND,
	FATBIN_NO_PTX, /* well-formed, but holds nothing that this device can read */
	FATBIN_DAMAGED /* see why */
};

struct fatbin_ptx {
	char *text;  /* malloc'd, followed by a NUL */
	size_t size; /* without the NUL */
	unsigned sm; /* of its .target */
	char suffix; /* 'a', or 0 */
};

/* Kinds of entries, and flags. */
#define FATBIN_KIND_PTX	 1u
#define FATBIN_KIND_CODE 2u
#define FATBIN_FLAG_LZ4	 0x2000u
#define FATBIN_FLAG_ZSTD 0x8000u
/* For one version of an architecture (sm_90a), for a family (sm_100f). */
#define FATBIN_FLAG_ARCH   0x100000u
#define FATBIN_FLAG_FAMILY 0x200000u

/* One image of a fat binary; pointers into it. */
struct fatbin_entry {
	const char *payload;
	size_t bytes; /* of the payload */
	unsigned kind, sm;
	uint32_t packed; /* compressed bytes, without padding; 0: not compressed */
	uint64_t flags, unpacked;
	/* Not terminated; "" if there are none: options for ptxas, and the source's name. */
	const char *options, *name;
	size_t noptions, nname;
};

/* entry.c: the image at *at of `left` bytes, which go on to the next. False: damaged. */
bool fatbin_entry_next(const char **at, size_t *left, struct fatbin_entry *e);
/* Where the first one is, and how many bytes there are; false: no fat binary of `size` bytes. */
bool fatbin_entry_first(const void *data, size_t size, const char **at, size_t *left);
/* Has it an image of that kind? (What is damaged has none.) */
bool fatbin_has(const void *data, unsigned kind);
/* unpack.c: what an image holds, unpacked: malloc'd, followed by a NUL. NULL sets *why. */
char *fatbin_unpack(const struct fatbin_entry *e, size_t *size, const char **why);
/* Its first bytes, at most so many; *size of them are there: none, if it is damaged. malloc'd. */
char *fatbin_unpack_front(const struct fatbin_entry *e, size_t most, size_t *size);

#define FATBIN_HEADER_BYTES 16u

/* Does a fat binary start here (`size` bytes are readable)? */
bool fatbin_is(const void *data, size_t size);
/* Bytes of the fat binary at `data`, its header included; 0: there is none. */
size_t fatbin_size(const void *data);
/*
 * Finds the PTX with the highest target that a device of version `sm` accepts: up to sm, or sm
 * itself with suffix a; where there is none, that with the lowest one above. Equal ones: the
 * first. `size` bounds every access. *why (a static text) is set when the result is
 * FATBIN_DAMAGED.
 */
enum fatbin_result fatbin_read(const void *data, size_t size, unsigned sm, struct fatbin_ptx *out,
			       const char **why);

#endif
