/*
 * stream.c - the stream that a driver's call means, and whether it is captured (callback.c).
 */
#include <string.h>

#include "agent/agent.h"
#include "agent/cupti.h"

bool agent_is_captured(CUstream stream)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
	struct agent_guard g;
	CUresult r;

	if (!stream || stream == CU_STREAM_LEGACY ||
	    !__atomic_load_n(&agent.captures, __ATOMIC_RELAXED))
		return false;
	agent_enter(&g);
	r = agent_driver.stream_is_capturing(stream, &status);
	agent_leave(&g);
	return r == CUDA_SUCCESS && status != CU_STREAM_CAPTURE_STATUS_NONE;
}

/* Is the default stream of this function's name that of the calling thread? */
static bool is_per_thread(const char *name)
{
	size_t n = name ? strlen(name) : 0;

	return n > 5 && memcmp(name + n - 5, "_ptsz", 5) == 0;
}

CUstream agent_own_stream(CUstream stream, const CUpti_CallbackData *d)
{
	return !stream && is_per_thread(d->functionName) ? CU_STREAM_PER_THREAD : stream;
}
