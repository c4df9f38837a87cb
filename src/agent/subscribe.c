/*
 * subscribe.c - what the agent listens to: the library that stands in for the driver's where it is
 * in the process and all calls have come by it, so that CUPTI is left to the user's own profiler;
 * else CUPTI.
 */
#include "agent/agent.h"
#include "agent/cupti.h"
#include "race/file/shm_write.h"
#include "race/gap.h"

/* By the library that stands in for the driver's. */
static bool subscribe_forward(void)
{
	CUpti_SubscriberHandle sub;
	struct agent_cupti events;

	if (!agent_forward_find(&events) ||
	    events.subscribe(&sub, agent_callback, NULL) != CUPTI_SUCCESS)
		return false;
	if (agent_enable(&events, sub))
		return true;
	events.unsubscribe(sub);
	return false;
}

/* ------------------------------------------------------------------------ */

enum race_agent_state agent_subscribe(void)
{
	CUpti_SubscriberHandle sub;
	struct agent_cupti cupti;
	CUptiResult r;

	if (subscribe_forward())
		return RACE_AGENT_ATTACHED;
	if (!agent_cupti_find(&cupti)) {
		race_shm_gap_note(
			RACE_GAP_NOT_INSTRUMENTED,
			"libcupti was not found (set COLLIDER_CUPTI to its path); races in this "
			"process go unchecked");
		return RACE_AGENT_NO_CUPTI;
	}
	r = cupti.subscribe(&sub, agent_callback, NULL);
	if (r == CUPTI_ERROR_MAX_LIMIT_REACHED ||
	    r == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
		race_shm_gap_note(
			RACE_GAP_NOT_INSTRUMENTED,
			"another tool (profiler, debugger) uses CUPTI in this process; races in "
			"it go unchecked");
		return RACE_AGENT_BUSY;
	}
	if (r == CUPTI_SUCCESS && !agent_enable(&cupti, sub)) {
		cupti.unsubscribe(sub);
		r = CUPTI_ERROR_UNKNOWN;
	}
	if (r != CUPTI_SUCCESS) {
		race_shm_gap_note(
			RACE_GAP_NOT_INSTRUMENTED,
			"cannot subscribe to CUPTI (error %d); races in this process go unchecked",
			(int)r);
		return RACE_AGENT_FAILED;
	}
	agent_runtime_heard();
	return RACE_AGENT_ATTACHED;
}
