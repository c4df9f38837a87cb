/*
 * given.h - what `collider run` hands to the library that stands in for the driver: the
 * environment variable COLLIDER_LOAD, a line for each field. spawn.c writes it, forward/given.c
 * reads it.
 */
#ifndef COLLIDER_AGENT_GIVEN_H
#define COLLIDER_AGENT_GIVEN_H

#define AGENT_GIVEN_ENV "COLLIDER_LOAD"

struct agent_given {
	const char *driver;  /* path of the real library */
	const char *tool;    /* of the program `collider`; "": nothing is replaced */
	const char *cache;   /* folder of instrumented code; "": none is kept */
	const char *key;     /* what instrumented code depends on, beside the code: versions */
	const char *options; /* COLLIDER_TOOL_OPTIONS for the tool */
	const char *flags;   /* letters: a: --any-ptx; d: --detector was given */
	const char *agent;   /* path of libcollider_agent.so; "": the driver loads it */
};

#define AGENT_GIVEN_FIELDS 7u

/* Of this process; NULL: it wasn't started by `collider run`. */
const struct agent_given *agent_given(void);

#endif
