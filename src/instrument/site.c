/*
 * site.c - the source location of an access, for the site table.
 *
 * The place is the .loc in force; without any it is the text's own line, where the text is kept
 * (toolchain/text.c). Inlined code carries "inlined_at file line
 * col"; that call may itself be in inlined code, and PTX shows this by an earlier .loc with exactly
 * that location: the chain is followed through an index of the function's .loc locations (PTX ISA
 * 11.3, .loc).
 */
#include "instrument/internal.h"
#include "race/file/pair.h"
#include "race/race.h"

#include <stdlib.h>
#include <string.h>
#include "base/table.h"

#define MAX_INLINE_DEPTH 32

struct inst_loc_index {
	struct {
		uint32_t file, line, col;
	} key;
	const struct ptx_loc *loc;
	bool is_unsure; /* code of another call has this place, too */
	UT_hash_handle hh;
};

void inst_read_files(struct inst_ctx *cx)
{
	ptx_each_item(cx->m, it)
	{
		if (it->kind != PTX_ITEM_FILE || it->file_id > 1u << 20)
			continue;
		while (cx->files.n <= it->file_id)
			base_vec_push(&cx->files, ((struct ptx_str){"", 0}));
		cx->files.v[it->file_id] = it->file_name;
	}
}

/* Were both inlined by one call? */
static bool is_one_call(const struct ptx_loc *a, const struct ptx_loc *b)
{
	return a->in_file == b->in_file && a->in_line == b->in_line && a->in_col == b->in_col;
}

/* Only inlined places are entered: the others end a chain. */
void inst_read_locs(struct inst_ctx *cx)
{
	const struct ptx_loc *last = NULL;

	ptx_each_stmt(cx->f, s)
	{
		const struct ptx_loc *l = s->loc;
		struct inst_loc_index *e;

		if (!l || l == last || !l->in_line)
			continue;
		last = l;
		struct inst_loc_index *n = BASE_NEW(&cx->scratch, struct inst_loc_index);
		n->key.file = l->file;
		n->key.line = l->line;
		n->key.col = l->col;
		n->loc = l;
		HASH_FIND(hh, cx->locs, &n->key, sizeof(n->key), e);
		if (!e)
			HASH_ADD(hh, cx->locs, key, sizeof(n->key), n);
		else
			e->is_unsure |= !is_one_call(e->loc, l);
	}
}

void inst_forget_locs(struct inst_ctx *cx)
{
	HASH_CLEAR(hh, cx->locs);
}

static uint32_t file_string(struct inst_ctx *cx, uint32_t file)
{
	if (file >= cx->files.n)
		return 0;
	return race_sites_string(cx->sites, cx->files.v[file].p, cx->files.v[file].n);
}

static const struct ptx_loc *outer_loc(struct inst_ctx *cx, const struct ptx_loc *l,
				       bool *is_unsure)
{
	struct inst_loc_index k, *e;

	memset(&k, 0, sizeof(k));
	k.key.file = l->in_file;
	k.key.line = l->in_line;
	k.key.col = l->in_col;
	HASH_FIND(hh, cx->locs, &k.key, sizeof(k.key), e);
	*is_unsure = e && e->is_unsure;
	return e && e->loc != l ? e->loc : NULL;
}

static uint32_t add_frames(struct inst_ctx *cx, const struct ptx_loc *l)
{
	const struct ptx_loc *chain[MAX_INLINE_DEPTH];
	bool is_unsure[MAX_INLINE_DEPTH + 1] = {false};
	unsigned n = 0;
	uint32_t next = 0;

	for (; l && l->in_line && n < MAX_INLINE_DEPTH; l = outer_loc(cx, l, &is_unsure[n]))
		chain[n++] = l;
	while (n--) { /* the outermost first: an inner frame names its outer one */
		struct ptx_str func =
			ptx_debug_string(cx->m, chain[n]->func_sym, chain[n]->func_off);
		/* In two statements: the table's bytes, and so its hash, depend on the order. */
		uint32_t name = race_sites_string(cx->sites, func.p, func.n);
		uint32_t file = file_string(cx, chain[n]->in_file);
		struct race_frame fr = {
			.func = name,
			.file = file,
			.line = chain[n]->in_line,
			.col = chain[n]->in_col | (is_unsure[n] ? RACE_FRAME_UNSURE : 0),
			.next = next,
		};
		next = race_sites_frame(cx->sites, &fr);
	}
	return next;
}

static bool is_annotated(struct ptx_str func)
{
	const size_t n = sizeof(RACE_ANNOTATION) - 1;

	for (size_t i = 0; i + n <= func.n; i++)
		if (!memcmp(func.p + i, RACE_ANNOTATION, n))
			return true;
	return false;
}

bool inst_is_meant(struct inst_ctx *cx, const struct ptx_stmt *s)
{
	const struct ptx_loc *l = s->loc;
	bool is = is_annotated(cx->f->name), is_unsure;

	for (unsigned n = 0; l && l->in_line && n < MAX_INLINE_DEPTH && !is; n++) {
		is = is_annotated(ptx_debug_string(cx->m, l->func_sym, l->func_off));
		l = outer_loc(cx, l, &is_unsure);
	}
	if (is)
		inst_unchecked(cx, PTX_STR("access in collider_data_race()"), RACE_WHY_MEANT,
			       false);
	return is;
}

static enum race_space site_space(enum ptx_space s)
{
	switch (s) {
	case PTX_SPACE_GLOBAL:
		return RACE_SPACE_GLOBAL;
	case PTX_SPACE_SHARED:
		return RACE_SPACE_SHARED;
	case PTX_SPACE_SHARED_CLUSTER:
		return RACE_SPACE_SHARED_CLUSTER;
	case PTX_SPACE_TMEM:
		return RACE_SPACE_TENSOR;
	default:
		return RACE_SPACE_GENERIC;
	}
}

_Static_assert((int)FLOW_UPDATE_ADD == RACE_UPDATE_ADD &&
		       (int)FLOW_UPDATE_CHECK == RACE_UPDATE_CHECK,
	       "RACE_SITE_UPDATE holds either");

/* Does the function read flags or locks: does a strong read's value decide something in it? */
static bool has_flags(struct inst_ctx *cx)
{
	if (cx->flags_of == cx->fl->f)
		return cx->has_flags;
	cx->flags_of = cx->fl->f;
	cx->has_flags = false;
	ptx_each_stmt(cx->fl->f, s)
	{
		const uint32_t effects = s->kind == PTX_STMT_INST ? s->form->effects : 0;
		int dst = effects & PTX_EFF_READ ? ptx_find_role(s, PTX_ROLE_DST) : -1;
		bool is_strong = effects & PTX_EFF_ATOMIC ||
				 (dst >= 0 && flow_strength(s->form->sem) != RACE_WEAK);
		if (dst >= 0 && is_strong && s->ops[dst].kind == PTX_OPND_REG && !s->inserted &&
		    !flow_is_only_place(cx->fl, s->ops[dst].reg)) {
			cx->has_flags = true;
			break;
		}
	}
	return cx->has_flags;
}

uint32_t inst_add_site(struct inst_ctx *cx, const struct inst_access *a)
{
	static _Thread_local struct base_buf text;
	const struct ptx_stmt *s = a->stmt;
	const struct ptx_loc *loc = ptx_near_loc(s);
	struct race_site site = {
		.func = cx->func_name,
		.access = (uint8_t)(a->is_copy ? RACE_ACCESS_COPY : a->kind),
		.space = (uint8_t)site_space(a->space),
		.width = a->width,
		.vec = a->vec,
		.ptx_line = s->line,
	};

	for (unsigned i = 0; i < a->vec; i++)
		if (a->elem[i].speculated)
			site.flags |= RACE_SITE_SPECULATED;
	if (!RACE_SITE_UPDATE(site.flags) && flow_is_seed(cx->fl, s))
		site.flags |= RACE_SITE_SEED_BIT;
	if (a->leads)
		site.flags |= RACE_SITE_LEADS;
	if (cx->waits)
		site.flags |= RACE_SITE_WAITS;
	if (has_flags(cx))
		site.flags |= RACE_SITE_FLAGGED;
	site.flags |= (uint16_t)RACE_SITE_UPDATE_FLAGS((unsigned)flow_update_of(cx->fl, s));
	site.flags |= (uint16_t)((unsigned)a->strength << RACE_SITE_STRENGTH_AT |
				 (unsigned)a->scope << RACE_SITE_SCOPE_AT);
	if (loc) {
		site.file = file_string(cx, loc->file);
		site.line = loc->line;
		site.col = (uint16_t)(loc->col > UINT16_MAX ? UINT16_MAX : loc->col);
		site.frame = add_frames(cx, loc);
		if (loc != s->loc)
			site.flags |= RACE_SITE_NEAR;
	} else if (cx->opt->text_file) {
		site.file = race_sites_string(cx->sites, cx->opt->text_file,
					      strlen(cx->opt->text_file));
		site.line = s->line;
	}
	text.n = 0;
	ptx_print_stmt(cx->f, s, &text);
	size_t skip = 0;
	while (skip < text.n && (text.p[skip] == '\t' || text.p[skip] == ' '))
		skip++;
	site.text = race_sites_string(cx->sites, text.p + skip, text.n - skip);
	return race_sites_add(cx->sites, &site);
}

void inst_unchecked(struct inst_ctx *cx, struct ptx_str what, enum race_unchecked_why why,
		    bool name_function)
{
	/* What may hide a race counts in kernels that ran. */
	bool hides = why == RACE_WHY_UNKNOWN_OPCODE || why == RACE_WHY_UNSUPPORTED ||
		     why == RACE_WHY_NOT_ASKED;
	bool has_name = (name_function || hides) && cx->f;
	uint32_t called = has_name && !cx->f->is_entry ? RACE_WHY_CALLED : 0;

	race_sites_unchecked(cx->sites, race_sites_string(cx->sites, what.p, what.n), why | called,
			     has_name ? cx->func_name : 0, 1);
}
