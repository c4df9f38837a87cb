/*
 * keeper.h - inside src/agent: what is left when `collider run` itself is killed.
 */
#ifndef COLLIDER_AGENT_KEEPER_H
#define COLLIDER_AGENT_KEEPER_H

#include <sys/types.h>

struct keeper {
	pid_t pid; /* a child of ours; 0: there is none, and the run goes on without */
	int fd;	   /* through which it hears from us */
};

struct keeper keeper_start(int shm_fd);
/* Names the program that must end with us. */
void keeper_watch(const struct keeper *k, pid_t app);
/* All is well: the keeper exits and leaves nothing. Waits for it. */
void keeper_end(struct keeper *k);

#endif
