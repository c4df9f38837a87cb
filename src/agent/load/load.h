/*
 * load.h - inside src/agent/load: instrumented code in place of what a program loads.
 *
 * Runs within the program's own calls of the driver. Whatever fails, the program's own image is
 * loaded, and one line says so.
 */
#ifndef COLLIDER_AGENT_LOAD_H
#define COLLIDER_AGENT_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

/* An image that is about to be loaded. */
struct load_image {
	const void *data;
	size_t size;		 /* 0: as its content says */
	bool is_library;	 /* for all devices */
	bool is_linked;		 /* the driver's linker gets it: text is wanted, not code */
	unsigned maxreg;	 /* the caller's cap on registers; 0: none */
	const void *caller;	 /* the return address */
	struct judge_code *code; /* the judge's, while the driver loads it; NULL: none */
};

/* What is to be loaded instead, which stays as long as the process. */
struct load_other {
	const void *data;
	size_t size;
	unsigned maxreg;  /* is_linked: the cap that the text's functions need; 0: none */
	const void *code; /* machine code, for the tables of sites in it; NULL: none is known */
	size_t ncode;
	char *unpacked; /* that code, where it is ours to free once the driver has loaded it */
};

/* piece.c: the same, if there is PTX in it. */
struct load_piece {
	const void *data;
	size_t size;
	const void *const *parts; /* an -rdc program's objects, to NULL; NULL: none */
};
bool load_piece_find(const struct load_image *im, struct load_piece *out);
/* A copy; out->sm is left to the caller. False: there is no PTX, or no memory. */
struct record_image;
bool load_piece_copy(const struct load_image *im, struct record_image *out);

/* ask.c: is code to be instrumented, and is there a run that hears of it? */
bool load_is_on(void);
/* False: the image itself is to be loaded; `code` may be set. */
bool load_find_other(const struct load_image *im, struct load_other *other);
/* The last part of the path of the file whose code or data lies there; NULL: it is none's. */
const char *load_file_of(const void *address);
/* The caller is our agent, whose kernels stay as they are. */
bool load_is_agent(const struct load_image *im);
/* The driver has refused it with this error; the image itself is loaded now. */
void load_refused(int error);

/* tables.c: the driver's private functions. */
CUresult load_hook_table(const void **table, const CUuuid *id);
extern CUresult (*load_real_table)(const void **, const CUuuid *);

/* code.c: an image's machine code for that device, as out->code; false: there is none, or it is
 * packed and has no tables of sites. */
bool load_find_code(const struct load_image *im, unsigned sm, struct load_other *out);

/* device.c: the version (90) of the current device, or, for a library, of all devices; 0: there is
 * none, or they differ. */
unsigned load_device(bool is_library);

#endif
