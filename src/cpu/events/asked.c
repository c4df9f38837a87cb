/*
 * asked.c - which accesses the oracle judges, if --variable asks for some variables only.
 *
 * The rule is that of checks in the code (instrument/select.c): a weak load or store whose address
 * leads to one object (flow_address_object) is judged if a pattern has one of that object's names.
 * All others are: strong accesses, which order threads, copies, and what leads to no one object.
 *
 * A weak access orders nothing, except for two fence.sc's: where a race of it shows which one came
 * first (docs/soundness.md, rule 8). The first of the two accesses comes after a fence.sc of its
 * thread, so that until one has been executed accesses that weren't asked for are dropped. From
 * then on they are events all the same, and races of theirs are dropped. Where stores are late a
 * write that precedes all fences may count as well: nothing is dropped at once.
 *
 * Costs: the object of each address, once a function.
 */
#include "cpu/events/internal.h"
#include "flow/flow.h"
#include "race/race.h"
#include "race/file/shm_write.h"

bool events_is_other(struct cpu_events *x, struct cpu_func *f, struct flow *fl,
		     const struct ptx_stmt *s)
{
	const char *list = x->m->opt.variable, *names[FLOW_OBJECT_NAMES];
	struct base_arena scratch = {0};
	struct flow_object o;

	if ((s->form->effects != PTX_EFF_READ && s->form->effects != PTX_EFF_WRITE) ||
	    (s->form->sem != PTX_SEM_WEAK && s->form->sem != PTX_SEM_NONE) ||
	    s->form->space == PTX_SPACE_PARAM || !flow_address_object(fl, s, &o))
		return false;
	size_t n = flow_object_names(&scratch, f->part, f->ptx, &o, names);
	uint64_t patterns = race_variable_patterns(list, names, n);
	base_arena_free(&scratch);
	x->patterns |= patterns;
	return !patterns;
}

void events_others_note(const struct cpu_func *f, uint64_t n)
{
	char text[200];

	snprintf(text, sizeof(text), "%s" RACE_GAP_IN_CALLED,
		 race_gap_rows[RACE_GAP_NOT_ASKED].text);
	if (n && f->ptx->is_entry)
		race_shm_gap(RACE_GAP_NOT_ASKED, f->name, "", n);
	else if (n)
		race_shm_gap(RACE_GAP_NOT_ASKED, "", text, n);
}

bool events_drops_others(const struct cpu_events *x)
{
	return !x->has_fence_sc && x->m->opt.model == CPU_MODEL_SC;
}
