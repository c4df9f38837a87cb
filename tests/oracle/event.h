/*
 * event.h - events of the oracle as data, for lists of them (list.h): each becomes the call of its
 * type. The machine calls the functions themselves.
 */
#ifndef COLLIDER_TESTS_ORACLE_EVENT_H
#define COLLIDER_TESTS_ORACLE_EVENT_H

#include "oracle/oracle.h"

enum event_type {
	EVENT_GRID,	  /* a grid's threads become actors: geometry in `grid` */
	EVENT_ACCESS,	  /* lanes of a warp access memory */
	EVENT_FENCE,	  /* of the lanes in mask */
	EVENT_PROXY,	  /* proxy fence of the lanes in mask; kinds in `proxy_kinds` */
	EVENT_ARRIVE,	  /* barrier: see oracle_arrive */
	EVENT_LEAVE,	  /* barrier: see oracle_leave */
	EVENT_WARP_SYNC,  /* the lanes in mask */
	EVENT_MB_ARRIVE,  /* mbarrier: see oracle_mbarrier_arrive */
	EVENT_MB_WAIT,	  /* mbarrier: see oracle_mbarrier_wait */
	EVENT_FORK,	  /* actor, or lanes in mask, start pseudo-thread `other` */
	EVENT_JOIN,	  /* these have waited for `other`; `join` says for which part */
	EVENT_HOST,	  /* from here on, `actor` is a host thread */
	EVENT_SUBMIT,	  /* host thread `actor` submits operation `key` */
	EVENT_DEPEND,	  /* operation `key` starts after operation `key2` has ended */
	EVENT_START,	  /* operation `key` starts: `actor` is the grid's first, or the copy's */
	EVENT_END,	  /* operation `key` has ended */
	EVENT_HOST_WAIT,  /* host thread `actor` knows that operation `key` has ended */
	EVENT_BLOCK_END,  /* all threads of the block of `actor` have exited */
	EVENT_FORGET,	  /* address, bytes: the memory is new, has no past */
	EVENT_HEAP_FREE,  /* device free of address, bytes by actor: releases; forgets */
	EVENT_HEAP_ALLOC, /* device malloc by actor: acquires frees of the range; forgets */
	EVENT_TYPES
};

/* One event. Fields that a type doesn't name are 0. */
struct list_event {
	uint8_t type;			/* enum event_type */
	uint8_t kind;			/* ACCESS: enum race_op_kind */
	uint8_t strength, scope, proxy; /* ACCESS, FENCE, MB_*: enums of race/rules.h */
	uint8_t flags;			/* ACCESS: ORACLE_RED ...; ARRIVE: ORACLE_BAR_* */
	uint8_t join;			/* JOIN: enum oracle_join */
	uint8_t proxy_kinds;		/* PROXY */
	uint32_t actor;		   /* thread; with a mask: lane 0 of the warp (a multiple of 32) */
	uint32_t mask;		   /* lanes; 0: the actor alone */
	uint32_t other;		   /* FORK, JOIN: the pseudo-thread */
	uint32_t count;		   /* ARRIVE: threads expected in the generation, 0: not known */
	uint64_t bytes;		   /* ACCESS: of each lane; ranges */
	uint64_t key;		   /* barrier, mbarrier, operation */
	uint64_t key2;		   /* generation, phase, operation */
	uint64_t id;		   /* ACCESS that writes: its name for later `saw`; 0: none */
	uint64_t saw;		   /* with ORACLE_SAW: the id of the write */
	uint64_t address;	   /* of the actor alone; ranges */
	const uint64_t *addresses; /* with a mask: 32 of them */
	const void *inst;	   /* who accesses: an identity for findings */
	const struct oracle_grid *grid;
};

/* Performs the event through the calls of oracle.h. For EVENT_GRID, FORK, HOST and the actors of
 * START numbers are assigned in the order of the calls; the return value is the first new actor, or
 * ORACLE_NO_ACTOR. */
uint32_t list_feed(struct oracle *o, const struct list_event *e);

#endif
