/*
 * serve.h - inside src/judge: the process beside a program, of which serve.c is the page.
 *
 *   serve.c      messages: modules, launches, the program's end
 *   launch.c     a launch from its message to what is said of it
 *   slots.c      its trials, each a child
 *   questions.c  what they ask, answered from what is known, or by the program
 *   maps.c       the program's tensor maps, in what it hands over
 *   past.c       launches that were judged, set against others, copies, sets and frees
 */
#ifndef COLLIDER_JUDGE_SERVE_H
#define COLLIDER_JUDGE_SERVE_H

#include <sys/types.h>

#include "base/table.h"
#include "judge/internal.h"
#include "race/judge/choice.h"
#include "race/judge/wire.h"

struct judge_module {
	uint64_t id;
	struct judge_image image;
	UT_hash_handle hh;
};

struct judge_kept_page {
	uint64_t addr;
	struct judge_page page;
	UT_hash_handle hh;
};

/* A launch that was judged: past.c. */
struct judge_past {
	struct race_judge_order order;
	struct judge_capsule capsule;
	uint64_t seed, blocks; /* of its last trial */
	unsigned uses;	       /* trials that need it */
	bool is_whole;	       /* that was all of its grid, to its end */
	/* Not a launch but this; made for one trial. */
	bool is_alone;
	struct race_judge_operation operation;
};

/* One launch, with what its trials have asked for; or two operations of the past. */
struct judge_launch {
	struct race_judge_launch head;
	struct judge_capsule capsule;
	struct judge_kept_page *pages;
	struct race_judge_question q;
	struct race_judge_done done;
	uint64_t asked, asked_bytes;
	uint64_t accesses; /* that were judged */
	bool is_over;	   /* no trial follows */
	/* The trial that runs. pid 0: none. Times in ns; until: it is asked to stop then. */
	pid_t pid;
	int fd;
	uint64_t began, until;
	bool is_stopped;
	struct judge_trial t;
	uint64_t units;			 /* of it */
	struct judge_outcome o;		 /* of the last one */
	struct judge_compared compared;	 /* of the first that was */
	bool is_by_order;		 /* others are different */
	uint64_t good_blocks, good_seed; /* of the last that could be judged; 0: none */
	/* first: not a launch of the program's, but this one beside the second, or beside the
	 * operation. */
	struct judge_past *first, *second;
	struct race_judge_operation operation;
};

struct judge_map;

struct judge_server {
	int fd, control; /* control: modules; -1: there is none */
	uint64_t judged; /* launches */
	struct judge_tally *tally;
	BASE_VEC(uint64_t) held;
	const struct judge_serve *opt;
	struct judge_module *modules;
	struct judge_map *maps;
	BASE_VEC(struct judge_launch *) launches; /* in the order in which they came */
	unsigned running;			  /* trials */
	uint64_t spent;				  /* ns in which there were some, but for: */
	uint64_t busy_since;			  /* if there are some now */
	uint64_t program_began, waits_since;	  /* 0: it doesn't wait for us */
	uint64_t had_before;			  /* judge_launch_had() then */
	bool is_gone;				  /* the program's half */
	unsigned files;				  /* the last one's number */
	unsigned kept;				  /* files that were written */
	BASE_VEC(struct judge_past *) pasts;
	BASE_VEC(struct race_judge_operation) operations;
	struct judge_met *met;
	uint64_t past_bytes;
};

/* serve.c: the program's next message over the socket for modules, or the other one, which may be
 * one that isn't an answer. */
void judge_serve_control(struct judge_server *s);
bool judge_serve_message(struct judge_server *s, const struct race_judge_message *msg);

/* questions.c: answers a trial's question; false: it isn't one. */
bool judge_answer(struct judge_server *s, struct judge_launch *l, uint32_t op, struct base_buf *q);

/* launch.c: a launch that has come; NULL: its message contradicts itself. */
struct judge_launch *judge_launch_new(struct judge_server *s, const struct base_buf *b);
/* Asks the choice for its next trial; false: there is none, and it is over. */
bool judge_launch_next(struct judge_server *s, struct judge_launch *l);
/* What all trials have had of a processor so far, ns. */
uint64_t judge_launch_had(const struct judge_server *s);
/* When its trial ends at the latest, whoever waits for it. */
uint64_t judge_launch_latest(const struct judge_launch *l);
/* The program waits for its trial: it gets no more time than it is worth. */
void judge_launch_hurry(const struct judge_server *s, struct judge_launch *l, uint64_t now);
/* Notes the trial that has ended. */
void judge_launch_tried(struct judge_launch *l);
/* It is over: says so, keeps its capsule, frees it. */
void judge_launch_end(struct judge_server *s, struct judge_launch *l);

/* slots.c: starts l->t. False: no process can be had now, and none runs that will end. */
bool judge_slot_start(struct judge_server *s, struct judge_launch *l);
/* Its next message, or its end: pid is 0 then. */
void judge_slot_serve(struct judge_server *s, struct judge_launch *l);
/* Stops it when its time has come; ns until there is something to do. */
uint64_t judge_slot_watch(struct judge_server *s, struct judge_launch *l, uint64_t now);
/* The program is gone. */
void judge_slot_kill(struct judge_server *s, struct judge_launch *l);

/* past.c: the launch has been judged; its capsule may be taken. Adds what is to be tried to
 * s->launches. */
void judge_past_add(struct judge_server *s, struct judge_launch *l);
void judge_past_operation(struct judge_server *s, const struct race_judge_operation *op);
void judge_past_ended(struct judge_launch *l);
void judge_past_free(struct judge_server *s);

/* maps.c: takes a RACE_JUDGE_MAP; false: it contradicts itself. */
bool judge_maps_add(struct judge_map **all, const struct base_buf *b);
void judge_maps_free(struct judge_map **all);
/* Puts our maps where the program's are in these bytes, which lie at addr. */
void judge_maps_put(const struct judge_map *all, uint64_t addr, uint8_t *bytes, size_t n);
/* May a map be cut by the bytes' begin, or end? Then judge_maps_join, with the RACE_JUDGE_MAP_ALIGN
 * bytes on the other side, makes this side ours. */
bool judge_maps_is_cut(const struct judge_map *all, const uint8_t *bytes, size_t n, bool at_end);
void judge_maps_join(const struct judge_map *all, uint8_t *bytes, size_t n, bool at_end,
		     const uint8_t *other);

/* idle.c: how many trials may run at once, if so many do: half of the processors that others leave
 * idle, at least one. */
unsigned judge_jobs(unsigned running);

#endif
