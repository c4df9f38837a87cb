/*
 * complete.h - for `collider run`: the forwarded library with exactly the functions of a driver.
 */
#ifndef COLLIDER_AGENT_FORWARD_COMPLETE_H
#define COLLIDER_AGENT_FORWARD_COMPLETE_H

/*
 * Writes a copy of our library `ours` to `to`, whole or not at all: it exports the functions that
 * the driver's library `real` exports. NULL, or why it can't (a static text).
 */
const char *forward_complete(const char *ours, const char *real, const char *to);

#endif
