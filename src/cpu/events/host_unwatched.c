/*
 * host_unwatched.c - host_signal.c's functions for processors whose instructions no code reads: the
 * host's accesses to managed memory aren't seen, and no signal is taken.
 */
#include "cpu/events/host_access.h"

void cpu_host_thread(void)
{
}

void *cpu_host_pointer(const void *p)
{
	return (void *)(uintptr_t)p;
}

bool cpu_host_needs_signal(int sig)
{
	(void)sig;
	return false;
}

bool cpu_host_sigaction(int sig, const struct sigaction *act, struct sigaction *old)
{
	(void)sig, (void)act, (void)old;
	return false;
}

bool cpu_host_has_handlers(void)
{
	return false;
}

bool cpu_host_start(struct cpu_machine *m)
{
	(void)m;
	return false;
}

void cpu_host_stop(struct cpu_machine *m)
{
	(void)m;
}
