/*
 * prune.c - --prune: the prover that finds the accesses that need no check (toolchain.h).
 */
#include "toolchain/toolchain.h"
#include "toolchain/internal.h"

static tool_prover *prover;

void tool_set_prover(tool_prover *fn)
{
	prover = fn;
}

void tool_find_prunes(const struct tool_job *job, const char *text, size_t size,
		      struct inst_prunes *out)
{
	struct tool_prover_job j = {.name = job->name,
				    .text = text,
				    .size = size,
				    .wants_global =
					    job->opt->prune_global || job->opt->inst.prune_alone};

	if (job->opt->prune && prover)
		prover(&j, out);
}
