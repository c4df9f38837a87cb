/*
 * host_read.c - turns what the host half left in the shared file into findings.
 *
 * As with all that comes from the program's memory, nothing is trusted: sizes are checked, texts
 * end within their chunk.
 */
#include "race/layout/watch.h"
#include "race/race.h"

#include <string.h>

bool race_host_area_read(struct race_results *out, const void *payload, size_t n)
{
	struct race_host_area head;

	if (n < sizeof(head))
		return false;
	memcpy(&head, payload, offsetof(struct race_host_area, map));
	out->has_host = true;
	out->host_checked += head.checked;
	out->host_lost += head.skipped;
	out->host_ranges_lost += head.nlost;
	return true;
}

bool race_host_find_is_pair(const void *payload, size_t n)
{
	struct race_host_find h;

	if (n < sizeof(h))
		return false;
	memcpy(&h, payload, sizeof(h));
	return h.kind == RACE_KIND_WATCH && race_space_is_host(h.space) &&
	       RACE_WATCH_HALF_SITE(h.half);
}

bool race_host_find_read(struct race_results *out, const void *payload, size_t n)
{
	struct base_arena *a = &out->arena;
	struct race_host_find h;
	struct race_finding f = {.func = "", .func_shown = "", .file = "", .module = ""};

	if (n < sizeof(h))
		return false;
	memcpy(&h, payload, sizeof(h));
	if ((h.kind != RACE_KIND_CLOBBERED_READ && h.kind != RACE_KIND_LOST_UPDATE) ||
	    !race_space_is_host(h.space))
		return false;
	f.kind = (enum race_kind)h.kind;
	f.is_volatile = h.is_volatile != 0;
	f.cls = race_classify(h.kind, 0, f.is_volatile ? RACE_SITE_VOLATILE : 0);
	f.access = h.kind == RACE_KIND_LOST_UPDATE ? RACE_ACCESS_STORE : RACE_ACCESS_LOAD;
	f.space = (enum race_space)h.space;
	f.width = h.bytes;
	f.vec = 1;
	f.target = "";
	f.object = race_text(a, (const char *)payload + sizeof(h), n - sizeof(h));
	f.offset = h.offset;
	f.first.thread[0] = h.thread;
	f.first.address = h.address;
	memcpy(f.first.was, h.was, sizeof(h.was));
	memcpy(f.first.now, h.now, sizeof(h.now));
	f.first.width = h.width;
	f.count = h.count ? h.count : 1;
	struct race_finding_site fs = {
		.table = base_hash(f.object, strlen(f.object), BASE_FNV_INIT),
		.site = (uint32_t)h.offset,
		.text = base_printf(a, "%s+0x%llx", f.object, (unsigned long long)h.offset),
		.count = f.count};
	race_site_count(a, &f, &fs);
	base_vec_push(&out->findings, f);
	return true;
}
