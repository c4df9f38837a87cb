/*
 * fake_cupti.c - stands in for libcupti.so.13: one subscriber, single callbacks.
 *
 * FAKE_CUPTI_BUSY=1 in the environment: another tool has subscribed already.
 */
#include <stdlib.h>

#include "fake.h"

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback,
			   void *userdata)
{
	struct fake_subscriber *s = fake_subscriber();

	if (getenv("FAKE_CUPTI_BUSY") || s->call)
		return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
	s->call = callback;
	s->user = userdata;
	*subscriber = (CUpti_SubscriberHandle)(void *)s;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	((struct fake_subscriber *)(void *)subscriber)->call = NULL;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
				CUpti_CallbackDomain domain, CUpti_CallbackId cbid)
{
	struct fake_subscriber *s = (struct fake_subscriber *)(void *)subscriber;

	if (domain == CUPTI_CB_DOMAIN_DRIVER_API && cbid < CUPTI_DRIVER_TRACE_CBID_SIZE)
		s->driver[cbid] = enable != 0;
	else if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid < CUPTI_CBID_RESOURCE_SIZE)
		s->resource[cbid] = enable != 0;
	else if (domain == CUPTI_CB_DOMAIN_RUNTIME_API && cbid < CUPTI_RUNTIME_TRACE_CBID_SIZE)
		s->runtime[cbid] = enable != 0;
	else
		return CUPTI_ERROR_INVALID_PARAMETER;
	return CUPTI_SUCCESS;
}
