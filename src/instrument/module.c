/*
 * module.c - what every instrumented module contains besides its functions: the knobs (which are
 * also the marker), the report function, the site table.
 *
 * Knobs lie in .const, where an instruction takes them as an operand for free;
 * in .global where the program's own constants leave no room. All symbols are
 * .weak, so that objects linked with -rdc share one copy; the site table's
 * name carries its content hash, so that each object keeps its own.
 */
#include "instrument/internal.h"

#include "device/device.h"
#include "race/layout/iguard.h"
#include "race/layout/watch.h"
#include "race/layout/history.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define CONST_BYTES 65536u

/* What the second text of iguard.cu needs: atom.cas.b128. */
#define IGUARD90_SM	   90u
#define IGUARD90_PTX_MAJOR 8
#define IGUARD90_PTX_MINOR 4

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

static struct ptx_item *first_code(struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind == PTX_ITEM_VAR || it->kind == PTX_ITEM_FUNC)
			return it;
	}
	return NULL;
}

static void add_raw(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str text)
{
	struct ptx_item *it = ptx_new_item(cx->m, PTX_ITEM_RAW);

	it->inserted = true;
	it->text = text;
	ptx_insert_item(cx->m, at, it);
}

/* The default knobs under a detector's symbol. */
static void add_knobs_as(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str symbol,
			 size_t bytes, uint32_t sample, uint32_t flags)
{
	_Static_assert(offsetof(struct race_knobs, rsleep) == 8, "template knobs");
	_Static_assert(offsetof(struct race_knobs, wsleep) == 12, "template knobs");
	_Static_assert(offsetof(struct race_knobs, sample) == 16, "template knobs");
	_Static_assert(offsetof(struct race_knobs, flags) == 24, "template knobs");
	_Static_assert(offsetof(struct race_knobs, dense) == 28, "template knobs");
	_Static_assert(offsetof(struct race_knobs, sparse) == 56, "template knobs");
	_Static_assert(offsetof(struct race_knobs, shuffle_id) == 60, "template knobs");
	_Static_assert(offsetof(struct race_knobs, window) == 52, "template knobs");
	add_raw(cx, at,
		inst_module_text(cx, "knobs",
				 T(cx->k, symbol, inst_num((int64_t)(bytes / 4)),
				   inst_num(DEFAULT_RSLEEP), inst_num(DEFAULT_WSLEEP),
				   inst_num(sample), inst_num(flags), inst_num(RACE_DENSE_ALL),
				   inst_num(RACE_WINDOW), inst_num(RACE_DENSE_ALL),
				   inst_num(cx->shuffle_id))));
}

static void add_knobs(struct inst_ctx *cx, struct ptx_item *at)
{
	bool trap = cx->opt->trap;

	add_knobs_as(cx, at, PTX_STR(RACE_KNOBS_SYMBOL), sizeof(struct race_knobs),
		     trap ? 1 : RACE_SAMPLE_NEVER, trap ? RACE_KNOB_TRAP : 0);
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

/* Adds functions from PTX that the build made; the items move into the module. Returns the last
 * one, or NULL. */
static const struct ptx_func *add_functions(struct inst_ctx *cx, struct ptx_item *at,
					    const char *ptx, size_t size)
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

/* One of several functions of a text of ours, with the text's head, for ptx_parse. NULL: it isn't
 * there. */
static char *one_function_of(struct inst_ctx *cx, const char *ptx, const char *name, size_t *n)
{
	const char *body = ptx, *head = strchr(strstr(ptx, ".address_size"), '\n');

	/* A definition has its parameters after the name, a call has blanks before it. */
	while ((body = strstr(body, name)) != NULL && body[strlen(name)] != '(')
		body += strlen(name);
	if (!body)
		return NULL;
	const char *end = strstr(body, "\n}\n");
	while (body > ptx && body[-1] != '\n')
		body--;
	char *text = base_printf(cx->m->arena, "%.*s\n%.*s\n", (int)(head - ptx), ptx,
				 (int)(end + 3 - body), body);
	*n = strlen(text);
	return text;
}

void inst_want_check(struct inst_ctx *cx, const char *suffix)
{
	for (size_t i = 0; i < cx->checks.n; i++)
		if (strcmp(cx->checks.v[i], suffix) == 0)
			return;
	base_vec_push(&cx->checks, suffix);
}

/* Replaces the number that stands for the site table's hash in check.cu by a late literal. */
static void put_hash(struct inst_ctx *cx, const struct ptx_func *f)
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

bool inst_add_checks(struct inst_ctx *cx)
{
	struct ptx_item *at = cx->m->first;
	size_t n;

	if (!cx->has_calls)
		return true;
	while (at && (at->inserted || (at->kind != PTX_ITEM_VAR && at->kind != PTX_ITEM_FUNC)))
		at = at->next;
	if (!add_functions(cx, at, race_device_check_cold, race_device_check_cold_size))
		return false;
	for (size_t i = 0; i < cx->checks.n; i++) {
		char *name = base_printf(cx->m->arena, "__collider_check%s", cx->checks.v[i]);
		char *text = one_function_of(cx, race_device_check, name, &n);
		if (!text)
			text = one_function_of(cx, race_device_check_ahead, name, &n);
		const struct ptx_func *f = text ? add_functions(cx, at, text, n) : NULL;
		if (!f)
			return false;
		put_hash(cx, f);
	}
	return true;
}

static bool has_tensor_copies(const struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		ptx_each_stmt(it->func, s)
		{
			if (s->kind == PTX_STMT_INST &&
			    (s->form->op == PTX_OP_CP_ASYNC_BULK_TENSOR ||
			     s->form->op == PTX_OP_CP_REDUCE_ASYNC_BULK_TENSOR))
				return true;
		}
	}
	return false;
}

/* Where .const has no room for that many more bytes, runtime blocks lie in .global. */
static void choose_space(struct inst_ctx *cx, size_t bytes)
{
	cx->k = const_bytes(cx->m) + bytes + 64 <= CONST_BYTES ? PTX_STR("const")
							       : PTX_STR("global");
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

/* The runtime block of a detector with history. */
static void add_history_block(struct inst_ctx *cx, struct ptx_item *at, struct ptx_str symbol,
			      bool is_first)
{
	/* Other detectors' blocks do not count as constants of the program. */
	choose_space(cx, 2 * sizeof(struct race_history) + sizeof(struct race_knobs));
	add_raw(cx, at,
		inst_module_text(cx, "history",
				 T(cx->k, symbol, inst_num(sizeof(struct race_history) / 8))));
	if (is_first && has_managed(cx->m))
		add_raw(cx, at,
			inst_module_text(
				cx, "words",
				T(PTX_STR(RACE_HISTORY_HOST_SYMBOL), inst_num(1), inst_num(1))));
}

static void add_hirace_block(struct inst_ctx *cx, struct ptx_item *at)
{
	add_history_block(cx, at, PTX_STR(RACE_HISTORY_SYMBOL), true);
}

/* Does code of the program access memory by bytes or halfwords? */
static bool has_narrow(const struct ptx_module *m)
{
	ptx_each_item(m, it)
	{
		if (it->kind != PTX_ITEM_FUNC || it->func->is_proto)
			continue;
		ptx_each_stmt(it->func, s)
		{
			if (s->kind == PTX_STMT_INST && !s->inserted && s->form->width < 4 &&
			    s->form->effects & (PTX_EFF_READ | PTX_EFF_WRITE))
				return true;
		}
	}
	return false;
}

static void add_iguard_block(struct inst_ctx *cx, struct ptx_item *at)
{
	if (has_narrow(cx->m))
		add_raw(cx, at,
			inst_module_text(
				cx, "words",
				T(PTX_STR(RACE_IGUARD_BYTES_SYMBOL), inst_num(1), inst_num(1))));
	add_history_block(cx, at, PTX_STR(RACE_IGUARD_SYMBOL),
			  !(cx->opt->sanitize & RACE_DETECT(HIRACE)));
}

/* The functions of a detector whose site table's hash isn't passed, with the module's hash where
 * they name it. */
static bool add_history_functions(struct inst_ctx *cx, struct ptx_item *at, const char *ptx,
				  size_t size)
{
	if (!add_functions(cx, at, ptx, size))
		return false;
	ptx_each_item(cx->m, it)
	{
		if (it == at)
			break;
		if (it->kind == PTX_ITEM_FUNC && it->inserted)
			put_hash(cx, it->func);
	}
	return true;
}

bool inst_add_history(struct inst_ctx *cx)
{
	struct ptx_item *at = first_code(cx->m);

	add_hirace_block(cx, at);
	return add_history_functions(cx, at, race_device_hirace, race_device_hirace_size);
}

void inst_add_scratch(struct inst_ctx *cx, const char *symbol)
{
	struct ptx_str name = {symbol, (uint32_t)strlen(symbol)};

	if (cx->wants_scratch)
		add_raw(cx, first_code(cx->m),
			inst_module_text(cx, "words", T(name, inst_num(1), inst_num(1))));
}

bool inst_add_guard(struct inst_ctx *cx)
{
	struct ptx_item *at = first_code(cx->m);

	add_iguard_block(cx, at);
	if (cx->m->sm < IGUARD90_SM)
		return add_history_functions(cx, at, race_device_iguard, race_device_iguard_size);
	ptx_raise_version(cx->m, IGUARD90_PTX_MAJOR, IGUARD90_PTX_MINOR);
	return add_history_functions(cx, at, race_device_iguard90, race_device_iguard90_size);
}

static void add_watch_block(struct inst_ctx *cx, struct ptx_item *at)
{
	bool is_beside = cx->opt->sanitize & RACE_DETECT(COLLIDE);

	choose_space(cx, 2 * sizeof(struct race_history) + sizeof(struct race_knobs) +
				 sizeof(struct race_watch));
	add_knobs_as(cx, at, PTX_STR(RACE_WATCH_SYMBOL), sizeof(struct race_watch),
		     RACE_SAMPLE_NEVER, is_beside ? RACE_KNOB_BESIDE : 0);
	add_raw(cx, at, inst_module_text(cx, "watch_none", NT));
}

bool inst_add_watch(struct inst_ctx *cx)
{
	struct ptx_item *at = first_code(cx->m);

	add_watch_block(cx, at);
	return add_history_functions(cx, at, race_device_watch, race_device_watch_size);
}

void inst_add_blocks(struct inst_ctx *cx)
{
	struct ptx_item *at = first_code(cx->m);

	choose_space(cx, sizeof(struct race_knobs));
	if (cx->opt->sanitize & RACE_DETECT(COLLIDE))
		add_knobs(cx, at);
	if (cx->opt->sanitize & RACE_DETECT(HIRACE))
		add_hirace_block(cx, at);
	if (cx->opt->sanitize & RACE_DETECT(IGUARD))
		add_iguard_block(cx, at);
	if (cx->opt->sanitize & RACE_DETECT(WATCH))
		add_watch_block(cx, at);
}

bool inst_add_runtime(struct inst_ctx *cx)
{
	struct ptx_item *at = first_code(cx->m);

	choose_space(cx, sizeof(struct race_knobs));
	add_knobs(cx, at);
	bool has_tensor = has_tensor_copies(cx->m);
	unsigned tables = inst_fragment_tables(cx->m);
	for (unsigned bytes = 2; bytes <= 8; bytes *= 2)
		if (tables & 1u << bytes)
			add_raw(cx, at, inst_fragment_table(cx, bytes));
	if (!add_functions(cx, at, race_device_report, race_device_report_size))
		return false;
	if (has_tensor)
		cx->tensor = add_functions(cx, at, race_device_tensor, race_device_tensor_size);
	bool has_order = cx->reads_ids && !(cx->shuffle_flags & RACE_SHUFFLE_FIXED);
	if (has_order)
		cx->block = add_functions(cx, at, race_device_shuffle, race_device_shuffle_size);
	return (!has_tensor || cx->tensor) && (!has_order || cx->block);
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
	if (!race_sites_finish(cx->sites, cx->m->file ? cx->m->file : "", target, &blob, &size,
			       &hash)) {
		base_report(cx->sink, BASE_ERROR, cx->m->file, (struct base_span){0, 0},
			    "the site table of this module does not fit");
		return false;
	}
	struct ptx_str text = table_text(cx, blob, size, hash);
	free(blob);
	fill_late(cx, hash);
	add_raw(cx, first_code(cx->m), text);
	if (cx->opt->sanitize & RACE_DETECT(COLLIDE))
		add_raw(cx, first_code(cx->m), inst_shuffle_table(cx));
	return true;
}
