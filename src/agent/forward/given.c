/*
 * given.c - reads COLLIDER_LOAD, as it was when the process started.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/forward/forward.h"
#include "agent/given.h"

#define TEXT_MAX 16384

static char text[TEXT_MAX];
static struct agent_given given;
static bool is_given;

/* Before the program can change its environment. */
__attribute__((constructor)) static void read_given(void)
{
	const char *env = getenv(AGENT_GIVEN_ENV);
	const char *fields[AGENT_GIVEN_FIELDS];
	size_t n = 0;

	if (!env || strlen(env) >= sizeof(text))
		return;
	strcpy(text, env);
	for (char *p = text; p && n < AGENT_GIVEN_FIELDS; n++) {
		char *end = strchr(p, '\n');
		fields[n] = p;
		if (end)
			*end = 0;
		p = end ? end + 1 : NULL;
	}
	if (n < AGENT_GIVEN_FIELDS)
		return;
	given = (struct agent_given){fields[0], fields[1], fields[2], fields[3],
				     fields[4], fields[5], fields[6]};
	is_given = true;
}

const struct agent_given *agent_given(void)
{
	return is_given ? &given : NULL;
}
