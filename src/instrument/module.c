/*
 * module.c - what every instrumented module contains besides its functions: the knobs (which are
 * also the marker), the report function, the site table.
 *
 * Knobs lie in .const, where an instruction takes them as an operand for free;
 * in .global where the program's own constants leave no room. All symbols are
 * .weak, so that objects linked with -rdc share one copy; the site table's
 * name carries its content hash, so that each object keeps its own.
 */
#include "instrument/detector.h"

#include "race/layout/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONST_BYTES 65536u

/* Defaults of a module that no agent has modified: check nothing, except under --trap. */
#define DEFAULT_RSLEEP 2500u /* half of 5000 ns: nanosleep takes up to twice its operand */
#define DEFAULT_WSLEEP 1u

static uint64_t const_bytes(const struct ptx_module *m)
{
	uint64_t n = 0;

	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_VAR && it->var->space == PTX_SPACE_CONST) {
			uint64_t align = it->var->align ? it->var->align : 16;
			n = (n + align - 1) / align * align + it->var->bytes;
		}
	}
	return n;
}

struct ptx_item *inst_first_code(struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_VAR || it->kind == PTX_ITEM_FUNC)
			return it;
	}
	return NULL;
}

void inst_add_raw(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str text)
{
	struct ptx_item *it = ptx_new_item(cx->m, PTX_ITEM_RAW);

	it->inserted = true;
	it->text = text;
	ptx_insert_item(cx->m, at, it);
}

void inst_add_knobs(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str symbol, size_t bytes,
		    uint32_t sample, uint32_t flags)
{
	_Static_assert(offsetof(struct race_knobs, rsleep) == 8, "template knobs");
	_Static_assert(offsetof(struct race_knobs, wsleep) == 12, "template knobs");
	_Static_assert(offsetof(struct race_knobs, sample) == 16, "template knobs");
	_Static_assert(offsetof(struct race_knobs, flags) == 24, "template knobs");
	_Static_assert(offsetof(struct race_knobs, dense) == 28, "template knobs");
	_Static_assert(offsetof(struct race_knobs, sparse) == 56, "template knobs");
	_Static_assert(offsetof(struct race_knobs, shuffle_id) == 60, "template knobs");
	_Static_assert(offsetof(struct race_knobs, window) == 52, "template knobs");
	inst_add_raw(cx, at,
		     inst_module_text(cx, "knobs",
				      T(cx->k, symbol, inst_num((int64_t)(bytes / 4)),
					inst_num(DEFAULT_RSLEEP), inst_num(DEFAULT_WSLEEP),
					inst_num(sample),
					inst_num(flags | (cx->elects ? RACE_KNOB_ELECTS : 0)),
					inst_num(RACE_DENSE_ALL), inst_num(RACE_WINDOW),
					inst_num(sample == RACE_SAMPLE_NEVER ? 0 : RACE_DENSE_ALL),
					inst_num(cx->shuffle_id))));
}

/* The functions of our own read runtime blocks from .const, and nothing else; where those lie in
 * .global, so do they. */
static void read_knobs_in_global(struct inst_ctx *cx, struct ptx_func *f)
{
	ptx_each_stmt(f, s)
	{
		const struct ptx_opnd *a = s->kind == PTX_STMT_INST ? ptx_address(s) : NULL;

		if (!a || !a->nsub || s->form->space != PTX_SPACE_CONST)
			continue;
		s->form = ptx_form_in_space(cx->m, s->form, PTX_SPACE_GLOBAL);
		s->text = (struct ptx_str){"", 0};
	}
}

const struct ptx_func *inst_add_functions(struct inst_ctx *cx, struct ptx_item *at, const char *ptx,
					  size_t size)
{
	const struct ptx_func *last = NULL;
	const char *text = base_strndup(cx->m->arena, ptx, size);

	struct ptx_module *d = ptx_parse(cx->m->arena, "device.ptx", text, size, cx->sink);
	if (!d)
		return NULL;
	for (struct ptx_item *it = d->first, *next; it; it = next) {
		next = it->next;
		if (it->kind != PTX_ITEM_FUNC && it->kind != PTX_ITEM_VAR)
			continue;
		if (it->kind == PTX_ITEM_FUNC && it->func->is_proto)
			continue;
		it->prev = it->next = NULL;
		it->inserted = true;
		ptx_insert_item(cx->m, at, it);
		if (it->kind != PTX_ITEM_FUNC)
			continue;
		if (ptx_str_is(cx->k, "global"))
			read_knobs_in_global(cx, it->func);
		inst_fill_clusters(cx, it->func, true);
		last = it->func;
	}
	return last;
}

void inst_put_hash(struct inst_ctx *cx, const struct ptx_func *f)
{
	ptx_each_stmt(f, s)
	{
		if (s->kind == PTX_STMT_INST && s->form->op == PTX_OP_MOV && s->nops == 2 &&
		    s->ops[1].kind == PTX_OPND_INT && (uint64_t)s->ops[1].imm == RACE_CHECK_TABLE) {
			s->ops[1] = cx->hash;
			s->text = (struct ptx_str){"", 0};
		}
	}
}

void inst_add_mark(struct inst_ctx *cx, struct ptx_item *at, const char *symbol)
{
	struct ptx_str name = {symbol, (uint32_t)strlen(symbol)};

	inst_add_raw(cx, at, inst_module_text(cx, "words", T(name, inst_num(1), inst_num(1))));
}

void inst_choose_space(struct inst_ctx *cx, size_t bytes)
{
	uint64_t used = const_bytes(cx->m) + bytes + 64;

	cx->k = used <= CONST_BYTES ? PTX_STR("const") : PTX_STR("global");
	cx->const_left = used <= CONST_BYTES ? (uint32_t)(CONST_BYTES - used) : 0;
}

static bool has_managed(const struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_VAR && it->var->is_managed)
			return true;
	}
	return false;
}

void inst_add_history_block(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str symbol)
{
	/* Other detectors' blocks do not count as constants of the program. */
	inst_choose_space(cx, 2 * sizeof(struct race_history) + sizeof(struct race_knobs));
	inst_add_raw(cx, at,
		     inst_module_text(cx, "history",
				      T(cx->k, symbol, inst_num(sizeof(struct race_history) / 8))));
	if (!cx->is_host_marked && has_managed(cx->m))
		inst_add_mark(cx, at, RACE_HISTORY_HOST_SYMBOL);
	cx->is_host_marked = true;
}

bool inst_add_hashed_functions(struct inst_ctx *cx, struct ptx_item *at, const char *ptx,
			       size_t size)
{
	if (!inst_add_functions(cx, at, ptx, size))
		return false;
	ptx_each_item(cx->m, it)
	{
		if (it == at)
			break;
		if (it->kind != PTX_ITEM_FUNC || !it->inserted)
			continue;
		inst_put_hash(cx, it->func);
		if (cx->elects)
			inst_stay_awake(it->func);
	}
	return true;
}

struct ptx_opnd inst_late_opnd(struct inst_ctx *cx, enum inst_late_kind kind, uint32_t site,
			       enum race_kind race)
{
	struct ptx_opnd op = inst_int(cx, 0);
	struct inst_late l = {.text = base_alloc(cx->m->arena, INST_LATE_DIGITS + 1),
			      .kind = kind,
			      .site = site,
			      .race = race};

	memset(l.text, '0', INST_LATE_DIGITS);
	op.text = (struct ptx_str){l.text, INST_LATE_DIGITS};
	base_vec_push(&cx->late, l);
	return op;
}

/* `off` stays where it is until the module is printed. */
void inst_late_offset(struct inst_ctx *cx, int64_t *off, uint32_t site, enum race_kind race)
{
	struct inst_late l = {.off = off, .site = site, .race = race};

	base_vec_push(&cx->late, l);
}

static void fill_late(struct inst_ctx *cx, uint64_t hash)
{
	for (size_t i = 0; i < cx->late.n; i++) {
		const struct inst_late *l = &cx->late.v[i];
		uint64_t key = race_slot_key(hash, l->site, l->race);
		uint64_t slot = race_slot_index(key), v = hash;
		char digits[INST_LATE_DIGITS + 1];

		if (l->off) {
			*l->off = (int64_t)(RACE_REGION_USED +
					    race_used_place(key) * sizeof(uint64_t));
			continue;
		}
		if (l->kind == INST_LATE_KEY)
			v = key;
		else if (l->kind == INST_LATE_SLOT)
			v = offsetof(struct race_rt, slots) + slot * sizeof(struct race_slot);
		else if (l->kind == INST_LATE_RECORD)
			v = slot * sizeof(struct race_record);
		snprintf(digits, sizeof(digits), "0x%016" PRIx64, v);
		memcpy(l->text, digits, INST_LATE_DIGITS);
	}
}

/* The site table; hexadecimal by hand, a table can have megabytes. */
static struct ptx_str table_text(struct inst_ctx *cx, const unsigned char *blob, size_t size,
				 uint64_t hash)
{
	static const char hex[] = "0123456789abcdef";
	char *name = base_printf(cx->m->arena, "%s%016" PRIx64, RACE_SITES_PREFIX, hash);
	size_t words = size / 8;
	struct base_buf b = {0};

	base_buf_room(&b, words * 19);
	char *p = b.p;
	for (size_t i = 0; i < words; i++) {
		uint64_t w;
		memcpy(&w, blob + 8 * i, 8);
		*p++ = '0';
		*p++ = 'x';
		for (int s = 60; s >= 0; s -= 4)
			*p++ = hex[w >> s & 15];
		*p++ = ',';
	}
	b.n = words ? words * 19 - 1 : 0;
	struct ptx_str text =
		inst_module_text(cx, "words",
				 T((struct ptx_str){name, (uint32_t)strlen(name)},
				   inst_num((int64_t)words), (struct ptx_str){b.p, (uint32_t)b.n}));
	base_buf_free(&b);
	return text;
}

bool inst_add_sites(struct inst_ctx *cx)
{
	char target[32];
	void *blob;
	size_t size;
	uint64_t hash;

	if (race_sites_count(cx->sites) > RACE_WHAT_SITES) {
		base_report(cx->sink, BASE_ERROR, cx->m->file, (struct base_span){0, 0},
			    "found %u accesses to check, expected at most %u in one module",
			    race_sites_count(cx->sites), RACE_WHAT_SITES);
		return false;
	}
	snprintf(target, sizeof(target), "sm_%u%c", cx->m->sm, cx->m->sm_suffix);
	race_sites_flags(cx->sites, ptx_has_tiles(cx->m) ? RACE_SITES_TILES : 0);
	if (!race_sites_finish(cx->sites, cx->m->file ? cx->m->file : "", target, &blob, &size,
			       &hash)) {
		base_report(cx->sink, BASE_ERROR, cx->m->file, (struct base_span){0, 0},
			    "the site table of this module does not fit");
		return false;
	}
	struct ptx_str text = table_text(cx, blob, size, hash);
	free(blob);
	fill_late(cx, hash);
	inst_add_raw(cx, inst_first_code(cx->m), text);
	for (unsigned i = 0; i < RACE_DETECTORS_PUT; i++)
		if (cx->opt->sanitize & 1u << i && inst_detectors[i]->put_tables)
			inst_detectors[i]->put_tables(cx);
	return true;
}
