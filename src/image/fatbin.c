/*
 * fatbin.c - reads fat binaries: the container in which nvcc embeds device code.
 *
 * Everything is bounds-checked and read by memcpy: the data may come from a
 * file. For fatbin_read the text's own .target decides, not the entry's header. Costs:
 * all PTX entries are unpacked (unpack.c) to read that line; programs contain one or two.
 */
#include "image/fatbin.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"

/* Family- and architecture-specific code runs on its own version only. */
static bool is_fit(const struct fatbin_ptx *p, unsigned device)
{
	return p->sm <= device && (!p->suffix || p->sm == device);
}

static bool is_better(const struct fatbin_ptx *p, const struct fatbin_ptx *best, unsigned device)
{
	if (!best->text || is_fit(p, device) != is_fit(best, device))
		return !best->text || is_fit(p, device);
	if (is_fit(p, device))
		return p->sm > best->sm || (p->sm == best->sm && p->suffix && !best->suffix);
	return p->sm < best->sm || (p->sm == best->sm && !p->suffix && best->suffix);
}

/* Takes the entry's text when it is better than what *best holds. False: damaged. */
static bool consider(const struct fatbin_entry *e, unsigned device, struct fatbin_ptx *best,
		     const char **why)
{
	struct fatbin_ptx ptx = {0};

	ptx.text = fatbin_unpack(e, &ptx.size, why);
	if (!ptx.text)
		return false;
	if (!ptx_read_head(ptx.text, &ptx.sm, &ptx.suffix) || !ptx.sm ||
	    !is_better(&ptx, best, device)) {
		free(ptx.text);
		return true;
	}
	free(best->text);
	*best = ptx;
	return true;
}

/* ------------------------------------------------------------------------ */

enum fatbin_result fatbin_read(const void *data, size_t size, unsigned sm, struct fatbin_ptx *out,
			       const char **why)
{
	const char *at;
	size_t left;
	struct fatbin_entry e;

	memset(out, 0, sizeof(*out));
	*why = "no fat binary";
	if (!fatbin_is(data, size))
		return FATBIN_DAMAGED;
	*why = "a fat binary that is cut off";
	if (!fatbin_entry_first(data, size, &at, &left))
		return FATBIN_DAMAGED;
	while (left) {
		*why = "a fat binary with a damaged entry";
		if (!fatbin_entry_next(&at, &left, &e) ||
		    (e.kind == FATBIN_KIND_PTX && !consider(&e, sm, out, why))) {
			free(out->text);
			memset(out, 0, sizeof(*out));
			return FATBIN_DAMAGED;
		}
	}
	return out->text ? FATBIN_FOUND : FATBIN_NO_PTX;
}
