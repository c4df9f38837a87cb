/*
 * cupti.h - inside src/agent: the functions of CUPTI, for callback.c.
 */
#ifndef COLLIDER_AGENT_CUPTI_H
#define COLLIDER_AGENT_CUPTI_H

#include <stdbool.h>

#include <cupti.h>

struct agent_cupti {
	__typeof__(cuptiSubscribe) *subscribe;
	__typeof__(cuptiUnsubscribe) *unsubscribe;
	__typeof__(cuptiEnableCallback) *enable_callback;
};

/* Loads the library, which stays; false: it wasn't found, or lacks a function. */
bool agent_cupti_find(struct agent_cupti *cupti);

#endif
