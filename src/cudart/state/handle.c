/*
 * handle.c - which handles are alive: streams, events, graphs and the like.
 *
 * A handle is the address of one of our structs. Programs pass stale ones (a destroyed stream, an
 * event of another library); those must be refused, not dereferenced. One hash table by address
 * serves all kinds; an entry costs about 80 bytes. An address that malloc reuses for the same kind
 * makes a stale handle valid again, as in CUDA itself.
 */
#include <stdlib.h>

#include "cudart/state/internal.h"
#include "base/table.h"

struct handle {
	UT_hash_handle hh;
	const void *p;
	enum rt_handle kind;
};

static struct handle *handles;

void rt_handle_add(const void *p, enum rt_handle kind)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h)
		return; /* then it will be refused when it is used */
	h->p = p;
	h->kind = kind;
	HASH_ADD_PTR(handles, p, h);
}

void rt_handle_remove(const void *p)
{
	struct handle *h;

	HASH_FIND_PTR(handles, &p, h);
	if (h) {
		HASH_DEL(handles, h);
		free(h);
	}
}

bool rt_handle_is(const void *p, enum rt_handle kind)
{
	struct handle *h;

	HASH_FIND_PTR(handles, &p, h);
	return h && h->kind == kind;
}
