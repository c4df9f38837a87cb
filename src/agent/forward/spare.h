/*
 * spare.h - the spare entries of the forwarded driver: how many, and what they are called until
 * `collider run` gives them the names of functions that the machine's driver has beyond our list.
 */
#ifndef COLLIDER_AGENT_FORWARD_SPARE_H
#define COLLIDER_AGENT_FORWARD_SPARE_H

#define FORWARD_SPARES	    512u
#define FORWARD_SPARE_START "collider_spare_"
/* A format for the number; each has room for the longest name. */
#define FORWARD_SPARE_NAME FORWARD_SPARE_START "_________________________________________%08u"
#define FORWARD_NAME_MAX   64u /* with its NUL */

#endif
