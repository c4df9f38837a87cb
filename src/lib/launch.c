/*
 * launch.c - a launch: its parameters, its end, what it prints.
 *
 * The calling thread executes it. A fault is the launch's: it is cleared, and the next one starts
 * on a device without.
 */
#include "lib/lib.h"

#include <string.h>

#define PARAMS_MOST 32764u

/* Whose launch the calling thread executes; it is in on_print. */
static _Thread_local struct collider_ptx *current;
static _Thread_local bool is_printing;

bool lib_is_printing(void)
{
	return is_printing;
}

void lib_print(struct cpu_machine *m, bool is_error, const char *text, size_t n)
{
	(void)m;
	if (current && current->options.on_print) {
		is_printing = true;
		current->options.on_print(current->options.arg, is_error, text, n);
		is_printing = false;
		return;
	}
	FILE *out = is_error ? stderr : stdout;
	fwrite(text, 1, n, out);
	fflush(out);
}

/* The parameter block, of PARAMS_MOST bytes. */
static int gather(const struct collider_ptx_kernel *k, const void *const *arguments, size_t n,
		  unsigned char *out)
{
	struct cpu_kernel_info info;
	uint32_t offset, bytes;

	cpu_kernel_get_info(k->kernel, &info);
	if (n != info.nparams)
		return lib_fail(COLLIDER_PTX_ARGUMENT, "%s has %u parameters, %zu were given",
				k->name, info.nparams, n);
	if (cpu_kernel_param_bytes(k->kernel) > PARAMS_MOST)
		return lib_fail(COLLIDER_PTX_REFUSED, "the parameters of %s are too large",
				k->name);
	for (size_t i = 0; i < n; i++) {
		if (!arguments || !arguments[i])
			return lib_fail(COLLIDER_PTX_ARGUMENT,
					"NULL was given for the value of parameter %s of %s",
					k->parameters[i], k->name);
		if (cpu_kernel_param(k->kernel, (uint32_t)i, &offset, &bytes))
			memcpy(out + offset, arguments[i], bytes);
	}
	return COLLIDER_PTX_OK;
}

static int code_of(enum cpu_fault_kind kind)
{
	switch (kind) {
	case CPU_FAULT_ADDRESS:
	case CPU_FAULT_MISALIGNED:
		return COLLIDER_PTX_ADDRESS;
	case CPU_FAULT_UNSUPPORTED:
		return COLLIDER_PTX_REFUSED;
	case CPU_FAULT_TRAP:
		return COLLIDER_PTX_TRAP;
	case CPU_FAULT_ASSERT:
		return COLLIDER_PTX_ASSERT;
	case CPU_FAULT_STACK:
		return COLLIDER_PTX_STACK;
	case CPU_FAULT_DEADLOCK:
		return COLLIDER_PTX_DEADLOCK;
	case CPU_FAULT_RESOURCES:
		return COLLIDER_PTX_MEMORY;
	case CPU_FAULT_NONE:
	case CPU_FAULT_ILLEGAL:
	case CPU_FAULT_UNKNOWN:
		break;
	}
	return COLLIDER_PTX_UNDEFINED;
}

static int wait_for(struct collider_ptx *d, const struct collider_ptx_kernel *k, struct cpu_op *op,
		    uint32_t limit_ms)
{
	struct cpu_fault fault;
	int rc = COLLIDER_PTX_OK;

	if (limit_ms && !cpu_op_wait_for(op, limit_ms))
		cpu_op_stop(op);
	cpu_op_wait(op);
	cpu_fault_get(d->machine, 0, &fault);
	if (fault.kind != CPU_FAULT_NONE)
		rc = lib_fail((enum collider_ptx_code)code_of(fault.kind), "%s", fault.text);
	else if (cpu_op_how(op) == CPU_END_STOPPED)
		rc = lib_fail(COLLIDER_PTX_TIME, "%s was stopped after its %u ms", k->name,
			      limit_ms);
	cpu_op_put(op);
	/* What else is submitted then would end at once: there is nothing. */
	cpu_wait_idle(d->machine, 0);
	cpu_fault_clear(d->machine, 0);
	return rc;
}

int collider_ptx_run(struct collider_ptx_kernel *k, const struct collider_ptx_launch *launch,
		     const void *const *arguments, size_t n)
{
	_Alignas(16) unsigned char params[PARAMS_MOST] = {0};
	struct collider_ptx_launch l;
	struct cpu_fault fault = {0};
	struct collider_ptx *d = k ? k->module->device : NULL;
	int rc = lib_enter(d);

	if (rc)
		return rc;
	if (!launch)
		rc = lib_fail(COLLIDER_PTX_ARGUMENT, "NULL was given for a launch");
	if (!rc)
		rc = lib_take("launch", &l, launch, LIB_FIRST(l, limit_ms), sizeof(l));
	if (!rc)
		rc = gather(k, arguments, n, params);
	if (rc)
		return lib_leave(d, rc);
	struct cpu_work w = {.kind = CPU_WORK_KERNEL,
			     .launch = {.kernel = k->kernel,
					.shared_dyn = l.dynamic_shared_bytes,
					.params = params,
					.is_cooperative = l.is_cooperative}};
	bool has_cluster = l.cluster[0] || l.cluster[1] || l.cluster[2];
	for (unsigned i = 0; i < 3; i++) {
		w.launch.grid[i] = l.grid[i] ? l.grid[i] : 1;
		w.launch.block[i] = l.block[i] ? l.block[i] : 1;
		w.launch.cluster[i] = has_cluster && !l.cluster[i] ? 1 : l.cluster[i];
	}
	current = d;
	struct cpu_op *op = cpu_submit(d->machine, &w, NULL, 0, &fault);
	rc = op ? wait_for(d, k, op, l.limit_ms)
		: lib_fail(COLLIDER_PTX_REFUSED, "%s: %s", k->name, fault.text);
	current = NULL;
	if (op)
		lib_report(d, k->module->name);
	return lib_leave(d, rc);
}
