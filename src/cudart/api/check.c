/*
 * check.c - asserts that state/ and graph/ number things as the runtime's headers do
 * (state/types.h), so that an entry point may cast.
 */
#include "cudart/api/api.h"

#define SAME(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #theirs)

/* Names of errors are strings there: a few, from the beginning to the end. */
SAME(RT_ERROR_MEMORY_ALLOCATION, cudaErrorMemoryAllocation);
SAME(RT_ERROR_INVALID_CONFIGURATION, cudaErrorInvalidConfiguration);
SAME(RT_ERROR_INVALID_DEVICE, cudaErrorInvalidDevice);
SAME(RT_ERROR_INVALID_PTX, cudaErrorInvalidPtx);
SAME(RT_ERROR_INVALID_RESOURCE_HANDLE, cudaErrorInvalidResourceHandle);
SAME(RT_ERROR_LAUNCH_TIMEOUT, cudaErrorLaunchTimeout);
SAME(RT_ERROR_NOT_SUPPORTED, cudaErrorNotSupported);
SAME(RT_ERROR_STREAM_CAPTURE_UNSUPPORTED, cudaErrorStreamCaptureUnsupported);
SAME(RT_ERROR_INVALID_CLUSTER_SIZE, cudaErrorInvalidClusterSize);
SAME(RT_ERROR_UNKNOWN, cudaErrorUnknown);

#define A(name, number, value) SAME(number, cudaDevAttr##name);
#define N(number, value)
#include "cudart/state/attrs.def"
#undef N
#undef A

SAME(RT_STREAM_NON_BLOCKING, cudaStreamNonBlocking);
SAME(RT_EVENT_BLOCKING, cudaEventBlockingSync);
SAME(RT_EVENT_NO_TIMING, cudaEventDisableTiming);
SAME(RT_EVENT_INTERPROCESS, cudaEventInterprocess);
SAME(RT_EVENT_EXTERNAL, cudaEventRecordExternal);
SAME(RT_EVENT_EXTERNAL, cudaEventWaitExternal);
SAME(RT_HOST_PORTABLE, cudaHostAllocPortable);
SAME(RT_HOST_MAPPED, cudaHostAllocMapped);
SAME(RT_HOST_COMBINED, cudaHostAllocWriteCombined);
SAME(RT_HOST_PORTABLE, cudaHostRegisterPortable);
SAME(RT_HOST_MAPPED, cudaHostRegisterMapped);
SAME(RT_REGISTER_IO, cudaHostRegisterIoMemory);
SAME(RT_REGISTER_READ_ONLY, cudaHostRegisterReadOnly);
SAME(RT_ATTACH_GLOBAL, cudaMemAttachGlobal);
SAME(RT_ATTACH_HOST, cudaMemAttachHost);
SAME(RT_ARRAY_LAYERED, cudaArrayLayered);
SAME(RT_ARRAY_SURFACE, cudaArraySurfaceLoadStore);
SAME(RT_ARRAY_GATHER, cudaArrayTextureGather);
SAME(RT_INSTANTIATE_AUTO_FREE, cudaGraphInstantiateFlagAutoFreeOnLaunch);
SAME(RT_INSTANTIATE_UPLOAD, cudaGraphInstantiateFlagUpload);
SAME(RT_INSTANTIATE_DEVICE, cudaGraphInstantiateFlagDeviceLaunch);
SAME(RT_INSTANTIATE_PRIORITY, cudaGraphInstantiateFlagUseNodePriority);
SAME(RT_OBJECT_NO_SYNC, cudaUserObjectNoDestructorSync);
SAME(RT_OBJECT_MOVE, cudaGraphUserObjectMove);
SAME(RT_CAPTURE_SET_DEPENDENCIES, cudaStreamSetCaptureDependencies);
SAME(RT_CAPTURE_GLOBAL, cudaStreamCaptureModeGlobal);
SAME(RT_CAPTURE_THREAD_LOCAL, cudaStreamCaptureModeThreadLocal);
SAME(RT_CAPTURE_RELAXED, cudaStreamCaptureModeRelaxed);
SAME(RT_HOST_TO_HOST, cudaMemcpyHostToHost);
SAME(RT_HOST_TO_DEVICE, cudaMemcpyHostToDevice);
SAME(RT_DEVICE_TO_HOST, cudaMemcpyDeviceToHost);
SAME(RT_BETWEEN_DEVICES, cudaMemcpyDeviceToDevice);
SAME(RT_BY_ADDRESS, cudaMemcpyDefault);
SAME(RT_CHANNEL_SIGNED, cudaChannelFormatKindSigned);
SAME(RT_CHANNEL_UNSIGNED, cudaChannelFormatKindUnsigned);
SAME(RT_CHANNEL_FLOAT, cudaChannelFormatKindFloat);
SAME(RT_POOL_REUSE_EVENTS, cudaMemPoolReuseFollowEventDependencies);
SAME(RT_POOL_REUSE_OPPORTUNISTIC, cudaMemPoolReuseAllowOpportunistic);
SAME(RT_POOL_REUSE_INTERNAL, cudaMemPoolReuseAllowInternalDependencies);
SAME(RT_POOL_THRESHOLD, cudaMemPoolAttrReleaseThreshold);
SAME(RT_POOL_RESERVED, cudaMemPoolAttrReservedMemCurrent);
SAME(RT_POOL_RESERVED_HIGH, cudaMemPoolAttrReservedMemHigh);
SAME(RT_POOL_USED, cudaMemPoolAttrUsedMemCurrent);
SAME(RT_POOL_USED_HIGH, cudaMemPoolAttrUsedMemHigh);
SAME(RT_NODE_KERNEL, cudaGraphNodeTypeKernel);
SAME(RT_NODE_COPY, cudaGraphNodeTypeMemcpy);
SAME(RT_NODE_FILL, cudaGraphNodeTypeMemset);
SAME(RT_NODE_HOST, cudaGraphNodeTypeHost);
SAME(RT_NODE_GRAPH, cudaGraphNodeTypeGraph);
SAME(RT_NODE_EMPTY, cudaGraphNodeTypeEmpty);
SAME(RT_NODE_WAIT, cudaGraphNodeTypeWaitEvent);
SAME(RT_NODE_RECORD, cudaGraphNodeTypeEventRecord);
SAME(RT_NODE_ALLOC, cudaGraphNodeTypeMemAlloc);
SAME(RT_NODE_FREE, cudaGraphNodeTypeMemFree);
SAME(RT_UPDATE_OK, cudaGraphExecUpdateSuccess);
SAME(RT_UPDATE_ERROR, cudaGraphExecUpdateError);
SAME(RT_UPDATE_TOPOLOGY, cudaGraphExecUpdateErrorTopologyChanged);
SAME(RT_UPDATE_NODE_TYPE, cudaGraphExecUpdateErrorNodeTypeChanged);
SAME(RT_ATTR_DYNAMIC, cudaFuncAttributeMaxDynamicSharedMemorySize);
SAME(RT_ATTR_CARVEOUT, cudaFuncAttributePreferredSharedMemoryCarveout);
SAME(RT_ATTR_MUST_CLUSTER, cudaFuncAttributeClusterDimMustBeSet);
SAME(RT_ATTR_CLUSTER_WIDTH, cudaFuncAttributeRequiredClusterWidth);
SAME(RT_ATTR_CLUSTER_HEIGHT, cudaFuncAttributeRequiredClusterHeight);
SAME(RT_ATTR_CLUSTER_DEPTH, cudaFuncAttributeRequiredClusterDepth);
SAME(RT_ATTR_NON_PORTABLE, cudaFuncAttributeNonPortableClusterSizeAllowed);
SAME(RT_ATTR_POLICY, cudaFuncAttributeClusterSchedulingPolicyPreference);
SAME(sizeof(struct rt_edge), sizeof(cudaGraphEdgeData));
SAME(sizeof(struct rt_pitched), sizeof(struct cudaPitchedPtr));

#define SAME_ATTR(field, id, ours)                                                                 \
	RT_ATTR_SAME(cudaLaunchAttributeValue, field, cudaLaunchAttribute##id, ours)
SAME_ATTR(cooperative, Cooperative, RT_ATTR_COOPERATIVE);
SAME_ATTR(clusterDim, ClusterDimension, RT_ATTR_CLUSTER);
SAME_ATTR(syncPolicy, SynchronizationPolicy, RT_ATTR_SYNC_POLICY);
SAME_ATTR(priority, Priority, RT_ATTR_PRIORITY);
SAME_ATTR(programmaticStreamSerializationAllowed, ProgrammaticStreamSerialization,
	  RT_ATTR_PROGRAMMATIC);
SAME_ATTR(accessPolicyWindow, AccessPolicyWindow, RT_ATTR_ACCESS_POLICY);
SAME_ATTR(clusterSchedulingPolicyPreference, ClusterSchedulingPolicyPreference,
	  RT_ATTR_CLUSTER_POLICY);
SAME_ATTR(memSyncDomainMap, MemSyncDomainMap, RT_ATTR_SYNC_DOMAIN_MAP);
SAME_ATTR(memSyncDomain, MemSyncDomain, RT_ATTR_SYNC_DOMAIN);
