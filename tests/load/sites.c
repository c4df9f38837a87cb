/*
 * sites.c - the places in a cubin's tables of sites: load_sites CUBIN, a line for each: file:line.
 *
 * And what is unchecked, of kernels that are named: "unchecked KERNEL WHY COUNT".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "race/finding.h"
#include "race/race.h"

int main(int argc, char **argv)
{
	struct race_sites t;
	struct race_site s;
	struct race_unchecked u;
	char *p;
	size_t n;

	if (argc != 2 || base_read_file(argv[1], &p, &n) != 0)
		return 2;
	for (size_t i = 0; i + sizeof(struct race_site_blob) <= n; i++) {
		const uint32_t magic = RACE_SITE_MAGIC;
		if (memcmp(p + i, &magic, sizeof(magic)) != 0 ||
		    race_sites_decode(p + i, n - i, &t) != NULL)
			continue;
		for (uint32_t k = 0; race_sites_get(&t, k, &s); k++)
			printf("%s:%u\n", race_sites_text(&t, s.file), s.line);
		for (uint32_t k = 0; race_sites_get_unchecked(&t, k, &u); k++)
			if (u.func)
				printf("unchecked %s %s %u\n", race_sites_text(&t, u.func),
				       race_why_name(u.why), u.count);
		race_sites_close(&t);
	}
	free(p);
	return 0;
}
