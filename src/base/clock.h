/*
 * clock.h - the time of the host's clocks, in one number. (clock_gettime(2))
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds of a clock; 0 if there is no such one. */
static inline uint64_t base_clock_ns(clockid_t clock)
{
	struct timespec t = {0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Since some moment before the process began; never set back. */
static inline uint64_t base_now_ns(void)
{
	return base_clock_ns(CLOCK_MONOTONIC);
}

static inline uint64_t base_now_ms(void)
{
	return base_now_ns() / 1000000;
}

/* The clock's time in so many milliseconds, as pthread_cond_timedwait and the like want it. */
static inline struct timespec base_clock_after(clockid_t clock, uint64_t ms)
{
	uint64_t ns = base_clock_ns(clock) + ms * 1000000;

	return (struct timespec){.tv_sec = (time_t)(ns / 1000000000u),
				 .tv_nsec = (long)(ns % 1000000000u)};
}

#endif
