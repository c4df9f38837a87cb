/*
 * detector.h - the detectors, as rows (base/detectors.def): what each instruments, and the sets of
 * them that options, modules and runs have. A set is a bit mask by enum race_detector_id.
 */
#ifndef COLLIDER_RACE_DETECTOR_H
#define COLLIDER_RACE_DETECTOR_H

#include <stdbool.h>
#include <stddef.h>

enum race_detector_id {
#define DETECTOR(id, ...) RACE_DETECTOR_##id,
#define JUDGE(id, ...)	  RACE_DETECTOR_##id,
#include "base/detectors.def"
	RACE_DETECTORS
};

/* The set of one detector. */
#define RACE_DETECT(id) (1u << RACE_DETECTOR_##id)

/* Those whose checks are inserted into PTX come first in the table. */
enum {
	RACE_DETECTORS_PUT = 0
#define DETECTOR(...) +1
#include "base/detectors.def"
};
#define RACE_DETECT_PUT	  ((1u << RACE_DETECTORS_PUT) - 1u)
#define RACE_DETECT_JUDGE (((1u << RACE_DETECTORS) - 1u) & ~RACE_DETECT_PUT)

enum race_detector_strength { RACE_SEES_WEAK = 1, RACE_SEES_STRONG = 2 };
enum race_detector_space { RACE_SEES_GLOBAL = 1, RACE_SEES_SHARED = 2 };
enum race_detector_trait {
	RACE_HOLDS_REGISTERS = 1,
	RACE_SEES_HOST = 2,
	RACE_DEFAULT = 4,
	RACE_SLEEPS = 8,
	RACE_REPLAYS = 16,
	RACE_CAUSES = 32
};

/* What a record has of the earlier access; of a judge's pairs neither is in a record. */
enum race_keeps {
	RACE_KEEPS_PAIR,
	RACE_KEEPS_VALUES,
	RACE_KEEPS_WORD,
	RACE_KEEPS_ENTRY,
	RACE_KEEPS_POINT
};

/* The layout of the block at a detector's marker. */
enum race_block_layout { RACE_BLOCK_knobs, RACE_BLOCK_history, RACE_BLOCK_watch };

/* Detectors for whose words the host has memory: numbers of these, in rows of the shared file. */
enum race_words_id {
#define WORDS(id, ...) RACE_WORDS_##id,
#include "base/detectors.def"
	RACE_WORDS_COUNT
};

enum race_words_trait {
	RACE_WORDS_BESIDE = 1,
	RACE_WORDS_MACHINE = 2,
	RACE_WORDS_PAST = 4,
	RACE_WORDS_MODES = 8,
	RACE_WORDS_LENT = 16
};

struct race_words {
	enum race_detector_id detector;
	unsigned bytes;	     /* of one word */
	unsigned pieces;     /* blocks for memory that no allocation announced */
	size_t tables_bytes; /* of all tables; of those with release stamps: */
	size_t stamps_at, stamps_end;
	const char *scratch; /* the mark of a module that wants words in global memory */
	const char *narrow;  /* the mark of one that accesses bytes; NULL: words don't say so */
	const char *part;    /* the mark of one where not all kernels have its checks */
	unsigned traits;
};

struct race_detector {
	const char *name;
	const char *marker; /* NULL: nothing is inserted */
	unsigned strengths, spaces, traits;
	enum race_keeps keeps;
	enum race_block_layout layout;
	size_t block_bytes; /* of the block at the marker; up to RACE_BLOCK_MAX */
};
#define RACE_BLOCK_MAX 2048

extern const struct race_detector race_detectors[RACE_DETECTORS];
extern const struct race_words race_words[RACE_WORDS_COUNT];

/* The words of a detector; NULL: it has none. */
const struct race_words *race_words_of(unsigned id);
enum race_words_id race_words_id(const struct race_words *w);
/* The set of detectors with a trait; of those with words. */
unsigned race_detectors_with(unsigned trait);
unsigned race_detectors_with_words(void);
/* The names of a set, joined by commas, in the order of the rows: `out` has n bytes. */
#define RACE_DETECTORS_TEXT 160
const char *race_detectors_text(unsigned set, char *out, size_t n);

/* Is this a name that our passes give to a register (RACE_REG_PREFIX), a label, a variable, a
 * function or a parameter? Front ends produce no such names. */
bool race_is_inserted_name(const char *name, size_t n);

/* The name of the function of which the one of this name is a variant (RACE_CALLED_PREFIX), as a
 * part of the name; NULL: it is none. */
const char *race_called_name(const char *name, size_t n);

/* The detector that a symbol of a module marks, as a set; 0: none. */
unsigned race_detector_marked(const char *symbol, size_t n);
/* The detectors of which a symbol says that a module has them for another one only, as a set. */
unsigned race_detector_lent(const char *symbol, size_t n);
/* The detectors that check kernels for those that are asked for, a set, and aren't asked for
 * themselves, as a set. */
unsigned race_detectors_for(unsigned asked);
/* The detectors whose mark a PTX text contains, but for those it has for others, as a set. */
unsigned race_detectors_in(const char *text);

#endif
