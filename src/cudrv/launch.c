/*
 * launch.c - the attributes of launches. Those that only tune are accepted and have no effect.
 */
#include "cudrv/drv.h"

enum rt_error drv_shape_read(const CUlaunchAttribute *attrs, unsigned n, struct rt_shape *out)
{
	*out = (struct rt_shape){.is_cooperative = false};
	if (n && !attrs)
		return RT_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		const CUlaunchAttributeValue *v = &attrs[i].value;
		switch ((int)attrs[i].id) {
		case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
			out->is_cooperative = v->cooperative != 0;
			break;
		case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
			out->cluster[0] = v->clusterDim.x;
			out->cluster[1] = v->clusterDim.y;
			out->cluster[2] = v->clusterDim.z;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
			out->is_programmatic = v->programmaticStreamSerializationAllowed != 0;
			break;
		case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
			out->event = v->programmaticEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
			out->event = v->launchCompletionEvent.event;
			break;
		case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
			if (v->deviceUpdatableKernelNode.deviceUpdatable)
				return rt_refuse(
					"CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE");
			break;
		default:
			if ((int)attrs[i].id < 0 ||
			    attrs[i].id > CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)
				return RT_ERROR_INVALID_VALUE;
			break; /* tunes only */
		}
	}
	return RT_OK;
}
