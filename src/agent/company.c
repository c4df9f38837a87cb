/*
 * company.c - calls after which something may access a launch's memory while it runs: plain.c then
 * checks all launches, or takes none for proven any more. And whether the program makes streams.
 *
 * Memory of other processes and of graphics (external memory, mapped resources) is accessed by
 * what no stream orders. What launches the kernels of an executable graph doesn't ask plain.c.
 *
 * Misses: memory that is exported as a file descriptor, which is of cuMemCreate: plain.c takes it
 * for no array. Costs: a test of two words for each of these calls.
 */
#include <cupti.h>

#include "agent/agent.h"
#include "agent/rows.h"
#include "base/base.h"

enum way { STREAM, PRIORITY, COMPANY, GRAPH };

static const struct {
	CUpti_CallbackId id;
	enum way way;
} rows[] = {
	ROW(cuStreamCreate, STREAM),
	ROW(cuStreamCreateWithPriority, PRIORITY),
	ROW(cuGreenCtxStreamCreate, COMPANY),
	ROW(cuIpcGetMemHandle, COMPANY),
	ROW(cuIpcOpenMemHandle, COMPANY),
	ROW(cuIpcOpenMemHandle_v2, COMPANY),
	ROW(cuMemGetHandleForAddressRange, COMPANY),
	ROW(cuImportExternalMemory, COMPANY),
	ROW(cuGraphicsMapResources, COMPANY),
	ROW(cuGraphicsMapResources_ptsz, COMPANY),
	ROW(cuGraphInstantiate, GRAPH),
	ROW(cuGraphInstantiate_v2, GRAPH),
	ROW(cuGraphInstantiateWithFlags, GRAPH),
	BOTH(cuGraphInstantiateWithParams, GRAPH),
};

static unsigned char row_of[CUPTI_DRIVER_TRACE_CBID_SIZE]; /* its row + 1; 0: none */

void agent_plain_enable(agent_enable_fn *enable, void *arg)
{
	for (size_t i = 0; i < BASE_COUNTOF(rows); i++) {
		row_of[rows[i].id] = (unsigned char)(i + 1);
		enable(arg, rows[i].id);
	}
}

void agent_plain_call(uint32_t id, const void *data)
{
	const CUpti_CallbackData *d = data;

	if (id >= CUPTI_DRIVER_TRACE_CBID_SIZE || !row_of[id] || d->callbackSite != CUPTI_API_ENTER)
		return;
	enum way way = rows[row_of[id] - 1].way;
	if (way == STREAM || way == PRIORITY || id == ID(cuGreenCtxStreamCreate))
		__atomic_store_n(&agent.has_streams, true, __ATOMIC_RELAXED);
	if (!agent_plain_is_wanted())
		return;
	switch (way) {
	case STREAM:
		if (PARAMS(cuStreamCreate)->Flags & CU_STREAM_NON_BLOCKING)
			agent_plain_begin_company();
		break;
	case PRIORITY:
		if (PARAMS(cuStreamCreateWithPriority)->flags & CU_STREAM_NON_BLOCKING)
			agent_plain_begin_company();
		break;
	case COMPANY:
		agent_plain_begin_company();
		break;
	case GRAPH:
		agent_plain_end_all();
		break;
	}
}
