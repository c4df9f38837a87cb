/*
 * helps.c - what usually helps against an alarm: as a run would say it of the two accesses
 * (race/advice), if they race without doubt.
 *
 * A load and a store of one element by one statement are an update. What it does isn't known here.
 * Misses: alarms of which only the memory's contents decide; another cause than a missing order.
 */
#include <string.h>

#include "race/proof/proof.h"

/* Do both sides access the thread's own element, as `a[i] += x` does? */
static bool is_update(const struct race_alarm *al)
{
	const struct race_alarm_side *a = &al->side[0], *b = &al->side[1];
	bool is_pair = (a->kind == RACE_OP_READ && b->kind == RACE_OP_WRITE) ||
		       (a->kind == RACE_OP_WRITE && b->kind == RACE_OP_READ);
	const char *x = strchr(a->text, '['), *y = strchr(b->text, '[');

	if (!is_pair || !a->line || a->line != b->line || a->col != b->col ||
	    strcmp(a->file, b->file) != 0)
		return false;
	if (*a->index || *b->index)
		return !strcmp(a->index, b->index);
	return x && y && strchr(y, ']') && !strncmp(x, y, (size_t)(strchr(y, ']') - y) + 1);
}

static bool is_sure(const struct race_alarm *al)
{
	return (al->is_true || al->confirmed == RACE_CONFIRMED) && !al->is_benign;
}

static bool are_of_one_pair(const struct race_alarm *a, const struct race_alarm *b)
{
	const struct race_alarm_side *s = a->side, *t = b->side;

	return a->cls == b->cls && !strcmp(a->object, b->object) &&
	       ((s[0].line == t[0].line && s[1].line == t[1].line) ||
		(s[0].line == t[1].line && s[1].line == t[0].line));
}

/* A barrier of the block is no help where the lines race between blocks, too. */
static enum race_level widest(const struct race_proof *k, const struct race_alarm *al)
{
	enum race_level level = al->level;

	for (size_t i = 0; i < k->alarms.n; i++) {
		const struct race_alarm *b = &k->alarms.v[i];
		if (b->level > level && is_sure(b) && are_of_one_pair(al, b))
			level = b->level;
	}
	return level;
}

static struct race_side side_of(const struct race_alarm *al, unsigned i, enum race_level level)
{
	const struct race_alarm_side *s = &al->side[i];
	struct race_side out = {.func = "k",
				.file = s->file,
				.text = s->text,
				.line = s->line,
				.col = s->col,
				.bytes = s->bytes,
				.cluster = level == RACE_LEVEL_GRID ? i : 0,
				.warp = level == RACE_LEVEL_WARP ? 0 : i,
				.block = {level >= RACE_LEVEL_CLUSTER ? i : 0}};

	out.flags = s->kind != RACE_OP_READ ? RACE_SIDE_WRITES : 0;
	out.strength = s->strength;
	out.scope = RACE_SCOPE_SYS; /* what is too small, the alarm's own words say */
	out.space = strncmp(al->object, "shared", 6) ? RACE_SPACE_GLOBAL : RACE_SPACE_SHARED;
	return out;
}

const char *race_proof_helps(struct base_arena *a, const struct race_proof *k,
			     const struct race_alarm *al)
{
	struct race_side sides[2];
	struct race_finding f = {.kind = RACE_KIND_UNORDERED, .cls = al->cls, .count = 1};

	if (!is_sure(al) || al->is_exited || al->level == RACE_LEVEL_THREAD ||
	    (al->cls != RACE_CLASS_RACE && al->cls != RACE_CLASS_VOLATILE))
		return "";
	if (is_update(al))
		return "one atomic step for the whole update (atomicAdd() and the like), or an "
		       "element for\neach thread. A barrier doesn't help: both threads update it "
		       "in "
		       "the same step.";
	for (unsigned i = 0; i < 2; i++)
		sides[i] = side_of(al, i, widest(k, al));
	f.sides = sides;
	f.space = sides[0].space;
	return race_advice(a, &f);
}
