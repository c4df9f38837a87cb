/*
 * choice.h - which launches a judge takes, which of their blocks, and how often (choice.c).
 *
 * Blocks may start in any order, so those that run are the beginning of an execution of the
 * program, whichever they are: the choice decides what is found, not whether it is true.
 */
#ifndef COLLIDER_RACE_JUDGE_CHOICE_H
#define COLLIDER_RACE_JUDGE_CHOICE_H

#include <stdbool.h>
#include <stdint.h>

enum race_judge_mode {
	RACE_JUDGE_OFF,
	RACE_JUDGE_AUTO,
	RACE_JUDGE_ALL,	  /* every launch, whatever it costs */
	RACE_JUDGE_VERIFY /* as auto, but all blocks: what they write is compared */
};

/* What the user asks for. */
struct race_judge_policy {
	enum race_judge_mode mode;
	uint64_t blocks;      /* of a launch; 0: as many as are worth it; UINT64_MAX: all */
	uint32_t budget;      /* percent of the program's time */
	uint64_t limit_ns;    /* of one launch, all its trials */
	uint64_t at_least_ns; /* of all launches, however short the program is */
	uint64_t grace_ns;    /* after the program's end, for more than a kernel's first trial */
	uint64_t first_ns;    /* after the program's end, for that; for all kernels' twice that */
};
struct race_judge_policy race_judge_policy_of(enum race_judge_mode mode);
struct race_judge_policy race_judge_policy_default(void); /* of AUTO */

/* What is known when the next trial is decided. A unit is a cluster, or a block without one. */
struct race_judge_question {
	uint64_t units; /* of the grid */
	uint32_t unit_blocks;
	uint32_t block_threads; /* 0: not known */
	uint64_t
		earlier; /* launches of this kernel with these dimensions and sizes, taken before */
	bool is_proven;	 /* free of races, by collider prove */
	/* In which there were trials, of any launch, so far; since the program's start; since it
	 * has nothing to do but to wait for the judge (0: it has). */
	uint64_t spent_ns, program_ns, waited_ns;
	bool is_known; /* a launch of this kernel has been judged */
	/* Of this launch: */
	uint32_t trials;     /* 0: whether it is taken at all is decided */
	uint64_t last_units; /* of the last trial */
	uint64_t last_ns;    /* that it took */
	uint32_t last_seeds; /* trials with so many units, the last one included */
	bool last_waits;     /* it ended as its blocks waited for others */
	bool last_failed;    /* it ended early for any other reason */
	uint64_t launch_ns;  /* of all its trials */
};

enum race_judge_why {
	RACE_JUDGE_TRY,	    /* a trial is to be made */
	RACE_JUDGE_NOT_ON,  /* --judge=off */
	RACE_JUDGE_PROVEN,  /* nothing can be found */
	RACE_JUDGE_SEEN,    /* launches like this one were judged */
	RACE_JUDGE_NO_TIME, /* the budget of all launches is spent */
	RACE_JUDGE_ENDED,   /* all blocks, or as many as are taken, with all seeds */
	RACE_JUDGE_DEAR,    /* more would take too long */
	RACE_JUDGE_FAILED,  /* a trial ended early: another one would, too */
	RACE_JUDGE_HASTE,   /* the program has ended, and has waited long enough */
	RACE_JUDGE_WHYS
};
/* "all chosen blocks were judged": why no trial follows, for the report. */
const char *race_judge_why_text(enum race_judge_why why);

struct race_judge_decision {
	enum race_judge_why why;
	uint64_t units; /* of the next trial */
	uint32_t seed;	/* to be added to the first one */
	uint64_t limit_ns;
};

struct race_judge_decision race_judge_decide(const struct race_judge_policy *p,
					     const struct race_judge_question *q);

/* How long the program waits, at its end, for a trial that has run for ran_ns: for a kernel's first
 * one longer than for others, but for all first ones no longer than for two. */
uint64_t race_judge_left_at_end(const struct race_judge_policy *p,
				const struct race_judge_question *q, uint64_t ran_ns);

/* Have so many launches of a kernel and size been taken that none is any more? */
bool race_judge_is_seen(const struct race_judge_policy *p, uint64_t earlier);

/*
 * The numbers of `want` of `units` units, rising: most from the start, as blocks wait for those
 * before them, some from the middle and from the end, where a grid's edges are. Returns how many
 * there are, at most `want`.
 */
uint64_t race_judge_pick(uint64_t units, uint64_t want, uint64_t *out);

#endif
