/*
 * waits.c - loops that wait for another block (flow/waits.c). Those kernels are not shuffled by
 * default.
 *
 * Clusters are moved as a whole. What waits by recursion is missed.
 */
#include "instrument/internal.h"

#include <string.h>

/* A function of the program, not one of the device's own (vprintf, malloc, ...)? NULL if not. */
static const struct ptx_func *find_function(struct inst_ctx *cx, struct ptx_str name,
					    bool *is_known)
{
	static const char *const system[] = {"vprintf", "malloc", "free", "__assertfail"};

	*is_known = false;
	for (size_t i = 0; i < BASE_COUNTOF(system); i++)
		*is_known |= ptx_str_is(name, system[i]);
	if (name.n > 4 && memcmp(name.p, "cuda", 4) == 0)
		*is_known = true;
	return inst_function_of(cx, name);
}

static bool call_waits(const struct ptx_stmt *s, void *arg)
{
	struct inst_ctx *cx = arg;
	int at = ptx_find_role(s, PTX_ROLE_LABEL);
	bool is_system = false;
	const struct ptx_func *f = NULL;

	if (at >= 0 && s->ops[at].kind == PTX_OPND_SYM) {
		f = find_function(cx, inst_name_of(s->ops[at].text), &is_system);
		if (is_system && !f)
			return false;
	}
	if (!f)
		cx->shuffle_flags |= RACE_SHUFFLE_CALLS;
	return (cx->shuffle_flags & RACE_SHUFFLE_STRONG) != 0;
}

static void add_poll(struct ptx_stmt *at, void *arg)
{
	struct inst_ctx *cx = arg;

	for (size_t i = 0; i < cx->polls.n; i++)
		if (cx->polls.v[i] == at)
			return;
	base_vec_push(&cx->polls, at);
}

bool inst_find_waits(struct inst_ctx *cx)
{
	const struct flow_wait_calls calls = {call_waits, cx};

	cx->polls.n = 0;
	return flow_find_waits(cx->fl, FLOW_WAIT_STRONG | FLOW_WAIT_WEAK | FLOW_WAIT_STORED, &calls,
			       add_poll, cx) != 0;
}

bool inst_is_strong_function(const struct ptx_func *f)
{
	ptx_each_stmt(f, s)
	{
		const struct ptx_form *fm = s->form;
		if (s->kind == PTX_STMT_INST && !s->inserted && (fm->effects & PTX_EFF_READ) &&
		    fm->sem != PTX_SEM_WEAK && fm->sem != PTX_SEM_NONE &&
		    fm->scope != PTX_SCOPE_CTA && fm->scope != PTX_SCOPE_CLUSTER &&
		    (fm->space == PTX_SPACE_GLOBAL || fm->space == PTX_SPACE_GENERIC))
			return true;
	}
	return false;
}
