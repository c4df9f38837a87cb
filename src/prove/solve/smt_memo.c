/*
 * smt_memo.c - what a query has made of each value, by pages (smt_impl.h).
 *
 * A query has some hundred of the values that there are, which may be a million (ranks/).
 *
 * Costs: 5 KB for each page of MEMO_PAGE values of which some query had one.
 */
#include "prove/solve/smt_impl.h"

#include <stdlib.h>
#include <string.h>

struct memo *prove_smt_memo_at(struct smt *s, const struct ex *v, unsigned t)
{
	uint32_t page = v->id / MEMO_PAGE;

	if (page >= s->nmemo) {
		uint32_t n = page + page / 2 + 8;
		s->memo = base_realloc(s->memo, n * sizeof(*s->memo));
		memset(s->memo + s->nmemo, 0, (n - s->nmemo) * sizeof(*s->memo));
		s->nmemo = n;
	}
	if (!s->memo[page])
		s->memo[page] = base_calloc(1, MEMO_BYTES);
	return &s->memo[page][2 * (v->id % MEMO_PAGE) + t];
}

void prove_smt_memo_clear(struct smt *s)
{
	for (uint32_t i = 0; i < s->nmemo; i++)
		if (s->memo[i])
			memset(s->memo[i], 0, MEMO_BYTES);
}

void prove_smt_memo_free(struct smt *s)
{
	for (uint32_t i = 0; i < s->nmemo; i++)
		free(s->memo[i]);
	free(s->memo);
}
