/*
 * choose.h - which text stands for an image that a GPU is to load.
 */
#ifndef COLLIDER_IMAGE_CHOOSE_H
#define COLLIDER_IMAGE_CHOOSE_H

#include "image/fatbin.h"

enum image_choice {
	IMAGE_TEXT,   /* take it */
	IMAGE_NONE,   /* there is no text that the device could run */
	IMAGE_OTHER,  /* there is, but of another program than the machine code: see why */
	IMAGE_DAMAGED /* see why */
};

struct image_text {
	char *text; /* malloc'd, followed by a NUL */
	size_t size;
	unsigned sm; /* to assemble it for, with the suffix 'a', 'f' or 0 */
	char suffix;
	unsigned maxreg; /* what ptxas was given with -maxrregcount; 0: nothing */
	bool has_lineinfo, is_debug;
	char name[128]; /* of the source; "": unknown */
	/* The machine code that would have run, unpacked; NULL: there is none, or other text than
	 * its own was taken. */
	char *code;
	size_t code_size;
	const char *why; /* static, or in why_room */
	char why_room[160];
};

/*
 * Chooses of an image, a fat binary or PTX text of `size` bytes, what a device of version `sm`
 * would run. Where it has machine code for the device, only text of the same architecture is the
 * same program (macros and intrinsics hang on it); is_any: other text is taken, too. *out is
 * freed by image_text_free in any case.
 */
enum image_choice image_choose(const char *data, size_t size, unsigned sm, bool is_any,
			       struct image_text *out);
void image_text_free(struct image_text *t);

#endif
