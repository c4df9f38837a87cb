/*
 * wire.h - what a program's half and the judge beside it say to each other.
 *
 * Two stream sockets; each message is a struct race_judge_message and its bytes. Over one, the
 * program's half hands over its modules, whenever it likes, and each is answered. Over the other it
 * sends launches, many before the first one's end if it likes. Of each the judge asks what it
 * needs, one question at a time; JUDGE_DONE ends it. Memory is as it was before the launch until
 * then: all of it from a copy, or the answer is that there is none.
 *
 * A program finds its judge by RACE_JUDGE_ENV: an abstract name of the system's local sockets and
 * the run's policy. It connects, and sends one byte and with it the other socket's end.
 *
 * Both ends are processes of one machine and of one build.
 */
#ifndef COLLIDER_RACE_JUDGE_WIRE_H
#define COLLIDER_RACE_JUDGE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RACE_JUDGE_ENV	"COLLIDER_JUDGE" /* NAME MODE BLOCKS BUDGET, the last three numbers */
#define RACE_JUDGE_PAGE (64u << 10)	 /* bytes that are copied at a time */

enum race_judge_op {
	/* From the program. */
	RACE_JUDGE_MODULE = 1, /* struct race_judge_module, sizes, images: answered by lines */
	RACE_JUDGE_LAUNCH,     /* struct race_judge_launch, kernel, parameters */
	RACE_JUDGE_MAP,	       /* struct race_judge_map, its bytes: before launches that use it */
	RACE_JUDGE_OPERATION,  /* struct race_judge_operation: a copy, a set, a free */
	RACE_JUDGE_HURRY,      /* uint32_t: the program waits for the judge now, or doesn't */
	/* From the judge, and what is answered. */
	RACE_JUDGE_ASK_MEMORY, /* uint64_t address: struct race_judge_memory */
	RACE_JUDGE_ASK_PAGE,   /* struct race_judge_range: its bytes, or none */
	RACE_JUDGE_ASK_AFTER,  /* the same as it was after the launch; if that was copied */
	RACE_JUDGE_ASK_PLACE,  /* struct race_judge_symbol, name: uint64_t address, 0: not known */
	RACE_JUDGE_ANSWER,
	RACE_JUDGE_DONE /* struct race_judge_done, why in words */
};

struct race_judge_message {
	uint32_t op;
	uint32_t bytes;	 /* that follow */
	uint64_t launch; /* its number: of questions and their answers; else 0 */
};
#define RACE_JUDGE_MOST (256u << 20) /* of a message */

/* What a GPU of version sm has loaded: fat binaries or PTX, `images` of them, more than one if the
 * program was linked of several objects. Their sizes follow, a uint64_t each, then their bytes. */
struct race_judge_module {
	uint64_t id; /* the program's, one for each module */
	uint32_t sm, images;
};
#define RACE_JUDGE_IMAGES 4096u /* at most */

/* The answer's lines: a letter, then words. */
#define RACE_JUDGE_LINE_NOT    '!' /* why it can't be judged */
#define RACE_JUDGE_LINE_KERNEL 'k' /* name, bytes of all parameters, OFFSET:BYTES of each */
#define RACE_JUDGE_LINE_SYNC   's' /* name of a kernel that may wait for others in memory */
#define RACE_JUDGE_LINE_MAPS   'm' /* ... that may use tensor maps */
#define RACE_JUDGE_LINE_TEX    't' /* ... that may use textures or surfaces */
#define RACE_JUDGE_LINE_FAR    'p' /* ... that may use pointers that it has read in memory */
#define RACE_JUDGE_LINE_GLOBAL 'v' /* a variable: name, bytes */
#define RACE_JUDGE_LINE_CONST  'c' /* one in constant memory */

#define RACE_JUDGE_COOPERATIVE 1u
#define RACE_JUDGE_IS_PROVEN   2u
#define RACE_JUDGE_HAS_AFTER   4u /* memory after it was copied, too */

/*
 * What the API orders. Operations of a stream are numbered from 1; of two operations A and B, A
 * comes before B if B's before[A.stream] is at least A.nth. Streams are numbers of ours, and
 * several may share one: then they are taken for ordered.
 */
#define RACE_JUDGE_STREAMS 64u
struct race_judge_order {
	uint32_t stream, nth; /* nth 0: nothing is known of its order */
	/* A programmatic launch, which may begin before this operation of its stream has ended: it
	 * isn't among those before it. 0: none. */
	uint32_t early, reserved;
	uint32_t before[RACE_JUDGE_STREAMS];
};

/* Bytes of an operation: `depth` slices of `height` rows of `bytes`. addr 0: an array, or none. */
struct race_judge_place {
	uint64_t addr, pitch, slice;
};

/* A copy of bytes from src to dst, a set of dst, a free of dst. */
enum race_judge_operation_kind { RACE_JUDGE_COPY, RACE_JUDGE_SET, RACE_JUDGE_FREE };
struct race_judge_operation {
	struct race_judge_order order;
	uint32_t kind, reserved;
	struct race_judge_place dst, src;
	uint64_t bytes, height, depth;
};
/* Bytes from a place's first one to its last. */
uint64_t race_judge_extent(const struct race_judge_operation *op, const struct race_judge_place *p);

struct race_judge_launch {
	struct race_judge_order order;
	uint64_t module, number;
	uint64_t earlier;    /* launches of this shape that were judged */
	uint64_t program_ns; /* as in struct race_judge_question */
	uint64_t held_ns;    /* the launching thread's, to copy memory and so on */
	uint64_t shared;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t device, sms, flags, seed;
	uint32_t kernel, params;     /* bytes of each, after this struct; the name without a NUL */
	uint32_t textures, reserved; /* struct race_judge_texture, so many, after those */
};

/* A tensor map, as cuTensorMapEncodeTiled, ...Im2col or ...Im2colWide was asked for it; 128 bytes
 * that only the driver understands follow. Wherever the judge sees them, in parameters or memory,
 * they stand for it. */
struct race_judge_map {
	uint32_t type, rank, interleave, swizzle, l2, fill, is_im2col;
	uint32_t wide; /* ...Wide: its mode, plus 1; then only lower[0] and upper[0] */
	uint64_t address, dims[5], strides[4];
	uint32_t box[5], element_strides[5];
	/* im2col: corners of the box of pixels, and what a copy takes. */
	int32_t lower[3], upper[3];
	uint32_t channels, pixels;
};
#define RACE_JUDGE_MAP_BYTES 128u
#define RACE_JUDGE_MAP_ALIGN 64u   /* of CUtensorMap (cuda.h) */
#define RACE_JUDGE_MAPS	     4096u /* known at a time, at most */

/* A texture or surface object. Arrays have addresses of ours, at which their texels lie row by row:
 * their memory is asked for like any other. */
struct race_judge_texture {
	uint64_t handle, address;
	uint64_t width, height, depth; /* texels; depth: or layers */
	uint64_t pitch, slice;	       /* bytes */
	uint32_t channels, bits;
	uint32_t type; /* enum race_judge_tex_type */
	uint32_t flags;
	int32_t mode[3]; /* CUaddress_mode */
	float border[4];
	uint32_t reserved;
};
enum race_judge_tex_type { RACE_JUDGE_TEX_SIGNED, RACE_JUDGE_TEX_UNSIGNED, RACE_JUDGE_TEX_FLOAT };
#define RACE_JUDGE_TEX_SURFACE	  1u
#define RACE_JUDGE_TEX_LAYERED	  2u
#define RACE_JUDGE_TEX_ARRAY	  4u
#define RACE_JUDGE_TEX_LINEAR	  8u  /* filtered */
#define RACE_JUDGE_TEX_INTEGERS	  16u /* not as fractions */
#define RACE_JUDGE_TEX_NORMALIZED 32u
#define RACE_JUDGE_TEXTURES	  256u /* of a launch, at most */

/* Its kind is enum cpu_mem_kind, plus 1; 0: there is none. */
#define RACE_JUDGE_DEVICE   1u
#define RACE_JUDGE_MANAGED  2u
#define RACE_JUDGE_HOST	    3u
#define RACE_JUDGE_VARIABLE 4u
struct race_judge_memory {
	uint64_t base, bytes; /* bytes 0: what lies there was allocated after the launch */
	uint32_t kind, reserved;
};

struct race_judge_range {
	uint64_t addr, bytes;
};

struct race_judge_symbol {
	uint64_t module, bytes;
	uint32_t nth, is_function;
};

struct race_judge_done {
	uint64_t number;
	uint64_t ns;		     /* of all its trials */
	uint64_t spent_ns;	     /* as in struct race_judge_question */
	uint64_t blocks, of;	     /* judged in the last one; of the grid */
	uint32_t trials, why;	     /* why: enum race_judge_why */
	uint32_t end;		     /* of the last trial: enum judge_end */
	uint32_t is_unknown;	     /* it ended as it read memory that couldn't be had */
	uint64_t asked, asked_bytes; /* pages */
};

/* wire.c. False: the other end is gone, or said something else. */
bool race_judge_send(int fd, enum race_judge_op op, uint64_t launch, const void *head, size_t n,
		     const void *more, size_t m);
/* Bytes of a message whose head was sent by itself. */
bool race_judge_write(int fd, const void *p, size_t n);
/* Reads a message's head; then its bytes are to be read. */
bool race_judge_next(int fd, struct race_judge_message *msg);
bool race_judge_read(int fd, void *to, size_t n);
bool race_judge_skip(int fd, size_t n);

#endif
