/*
 * module.c - modules, their kernels and variables, what is known about them.
 */
#include "lib/lib.h"

#include <stdlib.h>
#include <string.h>

static void add_kernel(struct collider_ptx_module *mod, const struct ptx_func *f,
		       struct collider_ptx_kernel **end)
{
	struct base_arena *a = &mod->arena;
	struct collider_ptx_kernel *k = BASE_NEW(a, struct collider_ptx_kernel);
	size_t i = 0;

	k->module = mod;
	k->text = f;
	k->name = base_strndup(a, f->name.p, f->name.n);
	k->kernel = cpu_module_kernel(mod->module, k->name);
	k->parameters = BASE_NEWN(a, const char *, f->nparams + 1);
	for (const struct ptx_param *p = f->params; p; p = p->next)
		k->parameters[i++] = base_strndup(a, p->name.p, p->name.n);
	*end = k;
}

/* The text, parsed and linked. */
static int load(struct collider_ptx_module *mod, const char *text, size_t bytes)
{
	struct base_sink sink = {0};
	int rc = COLLIDER_PTX_OK;

	struct ptx_module *m = ptx_parse(&mod->arena, mod->name, text, bytes, &sink);
	/* ptxas takes a text that says nothing as one of 64 bits, too. */
	if (m && m->has_address_size && m->address_size != 64)
		rc = lib_fail(COLLIDER_PTX_TEXT, "%s: found .address_size %u, expected 64",
			      mod->name, m->address_size);
	else if (m && !sink.errors && !ptx_verify(m, &sink))
		mod->module = cpu_module_load(mod->device->machine, 0, &m, 1, &sink);
	if (!rc && !mod->module) {
		const struct base_diag *d = sink.diags.n ? &sink.diags.v[0] : NULL;
		rc = lib_fail(COLLIDER_PTX_TEXT, "%s:%u:%u: %s", mod->name, d ? d->at.line : 0,
			      d ? d->at.col : 0, d ? d->text : "no reason is known");
	}
	base_sink_free(&sink);
	struct collider_ptx_kernel **end = &mod->kernels;
	if (!rc)
		ptx_each_item(m, it)
		{
			if (it->kind != PTX_ITEM_FUNC || !it->func->is_entry || it->func->is_proto)
				continue;
			add_kernel(mod, it->func, end);
			end = &(*end)->next;
		}
	return rc;
}

int collider_ptx_load(struct collider_ptx *d, const char *name, const char *text, size_t bytes,
		      struct collider_ptx_module **out)
{
	int rc;

	if (!out || !text || !name)
		return lib_fail(COLLIDER_PTX_ARGUMENT, "NULL was given for a name, a text or a "
						       "result");
	*out = NULL;
	rc = lib_enter(d);
	if (rc)
		return rc;
	/* sizeof a string literal */
	if (bytes && !text[bytes - 1])
		bytes--;
	struct collider_ptx_module *mod = base_calloc(1, sizeof(*mod));
	mod->device = d;
	mod->name = base_strdup(&mod->arena, name);
	rc = lib_settle(load(mod, base_strndup(&mod->arena, text, bytes), bytes));
	if (rc) {
		lib_module_free(mod);
	} else {
		mod->next = d->modules;
		d->modules = mod;
		*out = mod;
	}
	return lib_end(d, rc);
}

void lib_module_free(struct collider_ptx_module *mod)
{
	if (mod->module)
		cpu_module_unload(mod->module);
	base_arena_free(&mod->arena);
	free(mod);
}

void collider_ptx_unload(struct collider_ptx_module *mod)
{
	struct collider_ptx *d = mod ? mod->device : NULL;

	if (!mod || lib_enter(d))
		return;
	struct collider_ptx_module **at = &d->modules;
	while (*at != mod)
		at = &(*at)->next;
	*at = mod->next;
	lib_module_free(mod);
	lib_leave(d, 0);
}

int collider_ptx_kernel_at(struct collider_ptx_module *mod, size_t i,
			   struct collider_ptx_kernel **out)
{
	if (out)
		*out = NULL;
	int rc = out ? lib_enter(mod ? mod->device : NULL)
		     : lib_fail(COLLIDER_PTX_ARGUMENT, "NULL was given for a result");

	if (rc)
		return rc;
	struct collider_ptx_kernel *k = mod->kernels;
	for (size_t left = i; k && left; left--)
		k = k->next;
	*out = k;
	return lib_leave(mod->device, k ? 0
					: lib_fail(COLLIDER_PTX_NO_NAME,
						   "%s has no kernel number %zu", mod->name, i));
}

int collider_ptx_find_kernel(struct collider_ptx_module *mod, const char *name,
			     struct collider_ptx_kernel **out)
{
	if (out)
		*out = NULL;
	int rc = out && name
			 ? lib_enter(mod ? mod->device : NULL)
			 : lib_fail(COLLIDER_PTX_ARGUMENT, "NULL was given for a name or a result");

	if (rc)
		return rc;
	struct collider_ptx_kernel *k = mod->kernels;
	while (k && strcmp(k->name, name) != 0)
		k = k->next;
	*out = k;
	if (!k)
		rc = lib_fail(COLLIDER_PTX_NO_NAME, "%s has no kernel %.200s%s%.200s", mod->name,
			      name, mod->kernels ? "; its first is " : " at all",
			      mod->kernels ? mod->kernels->name : "");
	return lib_leave(mod->device, rc);
}

int collider_ptx_find_variable(struct collider_ptx_module *mod, const char *name, void **address,
			       size_t *bytes)
{
	uint64_t at = 0, n = 0;
	int rc = address && name
			 ? lib_enter(mod ? mod->device : NULL)
			 : lib_fail(COLLIDER_PTX_ARGUMENT, "NULL was given for a name or a result");

	if (rc)
		return rc;
	if (!cpu_module_symbol(mod->module, name, &at, &n))
		rc = lib_fail(COLLIDER_PTX_NO_NAME, "%s has no variable %.200s", mod->name, name);
	*address = (void *)(uintptr_t)at;
	if (bytes)
		*bytes = n;
	return lib_leave(mod->device, rc);
}

int collider_ptx_get_kernel(struct collider_ptx_kernel *k, struct collider_ptx_kernel_info *out)
{
	struct cpu_kernel_info info;
	int rc = lib_enter(k ? k->module->device : NULL);

	if (rc)
		return rc;
	cpu_kernel_get_info(k->kernel, &info);
	struct collider_ptx_kernel_info t = {
		.name = k->name,
		.parameters = info.nparams,
		.parameter_bytes = cpu_kernel_param_bytes(k->kernel),
		.shared_bytes = info.shared_static,
		.local_bytes = info.local,
		.most_threads = info.max_threads,
		.refused = cpu_kernel_refused(k->kernel, NULL),
	};
	return lib_leave(k->module->device,
			 lib_give("kernel_info", out, &t, LIB_FIRST(t, refused), sizeof(t)));
}

int collider_ptx_get_parameter(struct collider_ptx_kernel *k, size_t i,
			       struct collider_ptx_parameter *out)
{
	uint32_t offset, bytes;
	int rc = lib_enter(k ? k->module->device : NULL);

	if (rc)
		return rc;
	const struct ptx_param *p = k->text->params;
	for (size_t left = i; p && left; left--)
		p = p->next;
	if (!p || !cpu_kernel_param(k->kernel, (uint32_t)i, &offset, &bytes)) {
		rc = lib_fail(COLLIDER_PTX_ARGUMENT, "%s has no parameter number %zu", k->name, i);
		return lib_leave(k->module->device, rc);
	}
	struct collider_ptx_parameter t = {.name = k->parameters[i],
					   .type = ptx_type_name((enum ptx_type)p->type),
					   .bytes = bytes,
					   .offset = offset};
	return lib_leave(k->module->device,
			 lib_give("parameter", out, &t, LIB_FIRST(t, offset), sizeof(t)));
}
