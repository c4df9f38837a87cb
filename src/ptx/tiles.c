/*
 * tiles.c - recognises what compilers of tensor programs write.
 *
 * Triton's modules (and those of all that compile through it) have their shared memory in one
 * external array, global_smem, and sources in Python. XLA's name no source; there the names of
 * functions decide, which C++ mangles. Costs: a walk over the module's items, once.
 */
#include "ptx/ptx.h"

#include <string.h>

static bool ends_with(struct ptx_str s, const char *end)
{
	size_t n = strlen(end);

	return s.n >= n && !memcmp(s.p + s.n - n, end, n);
}

bool ptx_has_tiles(struct ptx_module *m)
{
	bool has_smem = false, has_python = false, has_others = false, has_mangled = false;

	for (const struct ptx_item *i = m->first; i && !m->tiles; i = i->next) {
		if (i->kind == PTX_ITEM_VAR && i->var->space == PTX_SPACE_SHARED &&
		    ptx_str_is(i->var->name, "global_smem"))
			has_smem = true;
		if (i->kind == PTX_ITEM_FUNC && i->func->name.n > 2 &&
		    !memcmp(i->func->name.p, "_Z", 2))
			has_mangled = true;
		if (i->kind == PTX_ITEM_FILE) {
			/* Its own text: it has no lines of a source (image/text.c). */
			bool is_own = ends_with(i->file_name, ".ptx");
			bool is_python = ends_with(i->file_name, ".py");
			has_python = has_python || is_python;
			has_others = has_others || !(is_python || is_own);
		}
	}
	if (!m->tiles)
		m->tiles = has_smem && !has_others && (has_python || !has_mangled) ? 2 : 1;
	return m->tiles == 2;
}
