/*
 * text.c - results of prove as text and as JSON (prove.h).
 */
#include "prove/prove.h"

#include <string.h>

static const char *access_name(const struct prove_side *s)
{
	return s->kind == RACE_OP_READ ? "reads" : s->kind == RACE_OP_WRITE ? "writes" : "updates";
}

static void print_place(struct base_buf *out, const char *file, uint32_t line, uint32_t ptx_line)
{
	if (line)
		base_buf_printf(out, "%s:%u", *file ? file : "?", line);
	else
		base_buf_printf(out, "PTX line %u", ptx_line);
}

static void print_side(struct base_buf *out, const struct prove_alarm *a, unsigned i)
{
	const struct prove_side *s = &a->side[i];

	base_buf_printf(out, "    %c  %s %u byte%s at ", 'A' + (int)i, access_name(s), s->bytes,
			s->bytes == 1 ? "" : "s");
	print_place(out, s->file, s->line, s->ptx_line);
	base_buf_printf(out, "\n       %s\n", s->text);
}

static void print_launch(struct base_buf *out, const struct prove_alarm *a)
{
	static const char *const dims[] = {"x", "y", "z"};

	base_buf_printf(out, "    found with blockDim (%u, %u, %u), gridDim (%u, %u, %u)",
			a->ntid[0], a->ntid[1], a->ntid[2], a->nctaid[0], a->nctaid[1],
			a->nctaid[2]);
	for (uint32_t i = 0; i < a->nparams; i++)
		base_buf_printf(out, ", parameter bytes at %llu = %llu",
				(unsigned long long)a->param[i].off,
				(unsigned long long)a->param[i].value);
	base_buf_puts(out, "\n                      A         B\n");
	for (unsigned d = 0; d < 3; d++) {
		if (a->ntid[d] > 1)
			base_buf_printf(out, "    threadIdx.%s %10u%10u\n", dims[d],
					a->side[0].tid[d], a->side[1].tid[d]);
	}
	for (unsigned d = 0; d < 3; d++) {
		if (a->nctaid[d] > 1)
			base_buf_printf(out, "    blockIdx.%s  %10u%10u\n", dims[d],
					a->side[0].ctaid[d], a->side[1].ctaid[d]);
	}
	if (a->is_true)
		base_buf_printf(out, "    byte        %10llu%10llu\n",
				(unsigned long long)a->side[0].offset,
				(unsigned long long)a->side[1].offset);
}

static void print_alarm(struct base_buf *out, const struct prove_alarm *a)
{
	bool cd = a->side[0].is_approx_path || a->side[1].is_approx_path;
	bool dd = a->side[0].is_approx_index || a->side[1].is_approx_index;

	base_buf_printf(out, "  %s %s on %s, threads of %s\n", a->is_true ? "true" : "potential",
			a->cls == RACE_CLASS_VOLATILE ? "unordered volatile conflict" : "data race",
			a->object, a->level == PROVE_GRID ? "different blocks" : "one block");
	print_side(out, a, 0);
	print_side(out, a, 1);
	if (a->is_exited)
		base_buf_puts(out,
			      "    one of the threads has ended: later barriers do not order it\n");
	if (a->has_launch)
		print_launch(out, a);
	base_buf_printf(out, "    %s accesses, %s index (C%cD%c)%s%s\n",
			cd ? "potentially unreachable" : "reachable",
			dd ? "potentially inexact" : "exact", cd ? 'D' : 'I', dd ? 'D' : 'I',
			*a->reason ? "; " : "", a->reason);
}

static void print_free_names(struct base_buf *out, unsigned free, const char *quote)
{
	static const char *const names[] = {"blockDim.x", "blockDim.y", "blockDim.z",
					    "gridDim.x",  "gridDim.y",	"gridDim.z"};
	bool is_next = false;

	for (unsigned d = 0; d < BASE_COUNTOF(names); d++) {
		if (!(free >> d & 1))
			continue;
		base_buf_printf(out, "%s%s%s%s", is_next ? ", " : "", quote, names[d], quote);
		is_next = true;
	}
}

/* An alarm may need a launch that the program never makes: says so, and what to do about it. */
static void print_advice(struct base_buf *out, const struct prove_kernel *k)
{
	bool has_launch = false, has_params = false;

	for (size_t i = 0; i < k->alarms.n; i++) {
		has_launch |= k->alarms.v[i].has_launch;
		has_params |= k->alarms.v[i].has_launch && k->alarms.v[i].nparams;
	}
	if (!has_launch || (!k->free_dims && !has_params))
		return;
	base_buf_puts(out, "  These alarms are for any launch, because ");
	print_free_names(out, k->free_dims, "");
	base_buf_printf(out, "%s%s may be anything here.\n", k->free_dims && has_params ? ", " : "",
			has_params ? "scalar parameters" : "");
	base_buf_puts(out,
		      "  Each needs a launch like the one that stands after \"found with\". If "
		      "your program\n  never launches the kernel so, say what it uses:");
	if (k->free_dims & 7)
		base_buf_puts(out, " --block-dim=X,Y,Z");
	if (k->free_dims & 56)
		base_buf_puts(out, " --grid-dim=X,Y,Z");
	if (has_params)
		base_buf_puts(out, " --param=INDEX=VALUE");
	base_buf_puts(out, "\n");
}

static const char *const problem_words[] = {[PROVE_PROBLEM_UNPROVEN] = "not analysed",
					    [PROVE_PROBLEM_VACUOUS] = "contradiction",
					    [PROVE_PROBLEM_EXCLUDED] = "excluded"};

static void print_kernel(struct base_buf *out, const struct prove_kernel *k)
{
	static const char *const words[] = {[PROVE_FREE] = "race-free",
					    [PROVE_TRUE] = "true alarm",
					    [PROVE_POTENTIAL] = "potential alarms only",
					    [PROVE_UNPROVEN] = "could not prove",
					    [PROVE_VACUOUS] = "error: vacuous"};

	base_buf_printf(out, "%s: %s\n", k->name_shown, words[k->verdict]);
	for (size_t i = 0; i < k->alarms.n; i++)
		print_alarm(out, &k->alarms.v[i]);
	print_advice(out, k);
	for (size_t i = 0; i < k->problems.n; i++) {
		const struct prove_problem *p = &k->problems.v[i];
		base_buf_printf(out, "  %s: ", problem_words[p->kind]);
		if (p->ptx_line || p->line) {
			print_place(out, p->file, p->line, p->ptx_line);
			base_buf_puts(out, ": ");
		}
		base_buf_printf(out, "%s\n", p->text);
	}
	for (size_t i = 0; i < k->contract.n; i++)
		base_buf_printf(out, "%s%s%s", i ? "; " : "  contract: ", k->contract.v[i],
				i + 1 == k->contract.n ? "\n" : "");
	base_buf_printf(
		out,
		"  %u accesses, %u pairs; %u queries: %u by integers, %u by bit-vectors, %u not "
		"answered; %u replays, %u failed; %llu ms\n",
		k->counts.accesses, k->counts.pairs, k->counts.queries, k->counts.by_integers,
		k->counts.by_bits, k->counts.gave_up, k->counts.replays, k->counts.failed_replays,
		(unsigned long long)k->ms);
}

void prove_print_text(const struct prove_results *r, struct base_buf *out)
{
	unsigned n[5] = {0};

	for (size_t i = 0; i < r->kernels.n; i++) {
		print_kernel(out, &r->kernels.v[i]);
		n[r->kernels.v[i].verdict]++;
	}
	base_buf_printf(
		out,
		"%zu kernel%s: %u race-free, %u with true alarms, %u with potential alarms only, "
		"%u not proven, %u vacuous\n",
		r->kernels.n, r->kernels.n == 1 ? "" : "s", n[PROVE_FREE], n[PROVE_TRUE],
		n[PROVE_POTENTIAL], n[PROVE_UNPROVEN], n[PROVE_VACUOUS]);
}

/* ---- JSON ------------------------------------------------------------------------ */

static void text(struct base_buf *out, const char *key, const char *s)
{
	base_buf_printf(out, "\"%s\":\"", key);
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\')
			base_buf_printf(out, "\\%c", c);
		else if (c < 32)
			base_buf_printf(out, "\\u%04x", c);
		else
			base_buf_put(out, s, 1);
	}
	base_buf_puts(out, "\"");
}

static void triple(struct base_buf *out, const char *key, const uint32_t v[3])
{
	base_buf_printf(out, ",\"%s\":[%u,%u,%u]", key, v[0], v[1], v[2]);
}

static void json_alarm(struct base_buf *out, const struct prove_alarm *a)
{
	base_buf_printf(out, "{\"true\":%s,\"level\":\"%s\",\"exited\":%s,",
			a->is_true ? "true" : "false", a->level == PROVE_GRID ? "grid" : "block",
			a->is_exited ? "true" : "false");
	text(out, "class", race_class_name(a->cls));
	base_buf_puts(out, ",");
	text(out, "object", a->object);
	base_buf_puts(out, ",");
	text(out, "reason", a->reason);
	if (a->has_launch) {
		triple(out, "blockDim", a->ntid);
		triple(out, "gridDim", a->nctaid);
		base_buf_puts(out, ",\"params\":[");
		for (uint32_t i = 0; i < a->nparams; i++)
			base_buf_printf(out, "%s{\"offset\":%llu,\"bytes\":%u,\"value\":%llu}",
					i ? "," : "", (unsigned long long)a->param[i].off,
					a->param[i].bytes, (unsigned long long)a->param[i].value);
		base_buf_puts(out, "]");
	}
	base_buf_puts(out, ",\"sides\":[");
	for (unsigned i = 0; i < 2; i++) {
		const struct prove_side *s = &a->side[i];
		base_buf_printf(out, "%s{", i ? "," : "");
		text(out, "access",
		     s->kind == RACE_OP_READ	? "load"
		     : s->kind == RACE_OP_WRITE ? "store"
						: "atomic");
		base_buf_puts(out, ",");
		text(out, "file", s->file);
		base_buf_puts(out, ",");
		text(out, "ptx", s->text);
		base_buf_printf(out,
				",\"line\":%u,\"ptx_line\":%u,\"bytes\":%u,\"exact_index\":%s,"
				"\"reachable\":%s",
				s->line, s->ptx_line, s->bytes,
				s->is_approx_index ? "false" : "true",
				s->is_approx_path ? "false" : "true");
		triple(out, "thread", s->tid);
		triple(out, "block", s->ctaid);
		base_buf_puts(out, "}");
	}
	base_buf_puts(out, "]}");
}

static const char *const problem_names[] = {[PROVE_PROBLEM_UNPROVEN] = "unproven",
					    [PROVE_PROBLEM_VACUOUS] = "vacuous",
					    [PROVE_PROBLEM_EXCLUDED] = "excluded"};

void prove_print_json(const struct prove_results *r, struct base_buf *out)
{
	base_buf_puts(out, "{");
	text(out, "file", r->file);
	base_buf_puts(out, ",\"kernels\":[");
	for (size_t i = 0; i < r->kernels.n; i++) {
		const struct prove_kernel *k = &r->kernels.v[i];
		base_buf_puts(out, i ? ",{" : "{");
		text(out, "name", k->name_shown);
		base_buf_puts(out, ",");
		text(out, "verdict", prove_verdict_name(k->verdict));
		base_buf_puts(out, ",\"alarms\":[");
		for (size_t a = 0; a < k->alarms.n; a++) {
			base_buf_puts(out, a ? "," : "");
			json_alarm(out, &k->alarms.v[a]);
		}
		base_buf_puts(out, "],\"free\":[");
		print_free_names(out, k->free_dims, "\"");
		base_buf_puts(out, "],\"problems\":[");
		for (size_t p = 0; p < k->problems.n; p++) {
			base_buf_puts(out, p ? ",{" : "{");
			text(out, "kind", problem_names[k->problems.v[p].kind]);
			base_buf_puts(out, ",");
			text(out, "text", k->problems.v[p].text);
			base_buf_puts(out, ",");
			text(out, "file", k->problems.v[p].file);
			base_buf_printf(out, ",\"line\":%u,\"ptx_line\":%u}", k->problems.v[p].line,
					k->problems.v[p].ptx_line);
		}
		base_buf_puts(out, "],\"contract\":[");
		for (size_t c = 0; c < k->contract.n; c++) {
			base_buf_puts(out, c ? ",{" : "{");
			text(out, "text", k->contract.v[c]);
			base_buf_puts(out, "}");
		}
		base_buf_printf(out,
				"],\"accesses\":%u,\"pairs\":%u,\"queries\":%u,\"gave_up\":%u,"
				"\"replays\":%u,\"failed_replays\":%u,\"ms\":%llu}",
				k->counts.accesses, k->counts.pairs, k->counts.queries,
				k->counts.gave_up, k->counts.replays, k->counts.failed_replays,
				(unsigned long long)k->ms);
	}
	base_buf_puts(out, "]}\n");
}
