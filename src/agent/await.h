/*
 * await.h - private to src/agent: the launcher's wait for the program that it started (await.c).
 */
#ifndef COLLIDER_AGENT_AWAIT_H
#define COLLIDER_AGENT_AWAIT_H

#include <signal.h>
#include <sys/types.h>

#include "agent/spawn.h"
#include "race/race.h"

/* Until the program `pid` has ended; `set` has the signals that are passed on, blocked. The keeper
 * is a child that stays. -1: it can't be waited for. */
int spawn_await(pid_t pid, const sigset_t *set, const struct spawn_request *req,
		struct race_shm *shm, pid_t keeper, struct spawn_result *res);

#endif
