/*
 * order.c - what orders the pair in hand beside barriers of all threads (order.h, check.h).
 *
 * Where what memory holds at first may not count (prove_options.any_contents), nothing is: a check
 * at run time is left out by none of it. Named barriers and mbarriers rest on no contents, but some
 * detectors don't know them, and should say the same with checks left out. Where anything may be
 * one array, only these two are looked for.
 */
#include "prove/order/order.h"

struct order {
	struct order_links links;
	struct flags *flags;
	struct sent *sent;
	struct locks *locks;
	struct claims *claims;
	struct leaders *leaders;
	struct draws *draws;
	struct named *named;
	struct paired *paired;
	struct mbarriers *mbarriers;
};

void order_find(struct check *c)
{
	struct order *o = BASE_NEW(c->arena, struct order);

	c->order = o;
	if (c->o->any_contents)
		return;
	o->named = named_look(c);
	o->paired = paired_look(c);
	o->mbarriers = mbarriers_look(c);
	if (c->o->all_launches || c->o->may_alias)
		return;
	order_find_links(c, &o->links);
	o->flags = flags_look(c, &o->links);
	o->sent = sent_look(c, &o->links);
	o->locks = locks_look(c);
	o->claims = claims_look(c);
	o->leaders = leaders_look(c);
	o->draws = draws_look(c);
}

/* Is it a copy of a group, which only barriers are asked about? */
static bool is_waited_for(const struct ev_access *a)
{
	return a->mem->is_async && !products_is_one(a);
}

bool order_is_kept(struct check *c)
{
	struct order *o = c->order;

	if (!o || c->pair.a->is_late || c->pair.b->is_late || is_waited_for(c->pair.a) ||
	    is_waited_for(c->pair.b))
		return false;
	if (o->mbarriers && mbarriers_order(c, o->mbarriers))
		return true;
	if (c->pair.a->mem->is_bulk || c->pair.b->mem->is_bulk || c->pair.a->mem->is_async ||
	    c->pair.b->mem->is_async)
		return false;
	return (o->named && named_order(c, o->named)) ||
	       (o->paired && paired_order(c, o->paired)) ||
	       (o->flags && flags_order(c, o->flags)) || (o->sent && sent_order(c, o->sent)) ||
	       (o->locks && locks_order(c, o->locks));
}

void order_check_assumed(struct check *c)
{
	struct check_assumed was = c->assumed;

	if (!answers_are_possible(c))
		prove_nothing_is_proven(c);
	c->assumed = was;
}

bool order_has_any(const struct check *c)
{
	const struct order *o = c->order;

	for (size_t i = 0; i < c->e->accesses.n; i++)
		if (c->e->accesses.v[i].mem->strength != RACE_WEAK ||
		    c->e->accesses.v[i].mem->is_volatile)
			return true;
	return o->named || o->paired || o->mbarriers;
}

void order_hold(struct check *c)
{
	if (!c->order || c->pair.a->is_late || c->pair.b->is_late)
		return;
	if (c->order->claims)
		claims_hold(c, c->order->claims);
	if (c->order->leaders)
		leaders_hold(c, c->order->leaders);
	if (c->order->draws)
		draws_hold(c, c->order->draws);
}

void order_check_copies(struct check *c)
{
	mbarriers_own_copies(c, c->order->mbarriers);
	mbarriers_set_up(c);
	proxies_check(c);
	surfaces_check(c);
}

bool order_assume_zero(struct check *c, const struct ev_access *a, bool counts)
{
	for (unsigned k = 0; k < CHECK_COUNTERS; k++) {
		struct check_zero *z = &c->assumed.zero[k];
		if (!z->at)
			*z = (struct check_zero){a, counts};
		if (prove_ev_same_root(&z->at->root, &a->root) && z->counts == counts)
			return true;
	}
	return false;
}
