/*
 * program.c - programs as files: comments that begin with "//!" hold what isn't PTX.
 *
 *   //! racy                                  or race-free
 *   //! memory regions=2 bytes=98304 pattern=8192+4608 loose=28672+1024
 *   //! op kernel=k0 grid=2,1 block=64,1 cluster=0 region=0 after=0 how=0
 *   //! op copy=20480 from=16384 bytes=512 region=0 after=1 how=0
 *   //! op fill=16384 value=7 bytes=256 region=0 after=2 how=0
 *   //! seed 17                               of the run that once failed
 *   //! must 12-12 14-15 exchange/1          lines of the two sides, reported in each seed
 *
 * "after" is a mask of earlier operations, "how" an enum program_how.
 */
#include "program.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void program_free(struct program *p)
{
	base_buf_free(&p->text);
}

size_t program_memory(const struct program *p)
{
	return (size_t)p->regions * p->bytes + PROGRAM_COMMON;
}

void program_initial(const struct program *p, unsigned char *mem)
{
	memset(mem, 0, program_memory(p));
	for (unsigned r = 0; r < p->regions; r++)
		for (unsigned i = 0; i < p->pattern[1]; i++)
			mem[r * p->bytes + p->pattern[0] + i] = (unsigned char)(i * 37 + i / 256);
}

size_t program_differs(const struct program *p, const unsigned char *a, const unsigned char *b)
{
	size_t n = program_memory(p);

	for (size_t i = 0; i < n; i++) {
		size_t at = i % p->bytes;
		bool is_loose = i < (size_t)p->regions * p->bytes && at >= p->loose[0] &&
				at < p->loose[0] + p->loose[1];
		if (a[i] != b[i] && !is_loose)
			return i;
	}
	return n;
}

void program_print(const struct program *p, struct base_buf *out)
{
	base_buf_printf(out, "//! %s\n", p->is_racy ? "racy" : "race-free");
	base_buf_printf(out, "//! memory regions=%u bytes=%u pattern=%u+%u loose=%u+%u\n",
			p->regions, p->bytes, p->pattern[0], p->pattern[1], p->loose[0],
			p->loose[1]);
	for (unsigned i = 0; i < p->nops; i++) {
		const struct program_op *o = &p->op[i];
		if (o->kind == PROGRAM_KERNEL)
			base_buf_printf(out, "//! op kernel=%s grid=%u,%u block=%u,%u cluster=%u",
					o->kernel, o->grid[0], o->grid[1], o->block[0], o->block[1],
					o->cluster);
		else if (o->kind == PROGRAM_COPY)
			base_buf_printf(out, "//! op copy=%u from=%u bytes=%u", o->dst, o->src,
					o->bytes);
		else
			base_buf_printf(out, "//! op fill=%u value=%u bytes=%u", o->dst, o->value,
					o->bytes);
		base_buf_printf(out, " region=%u after=%u how=%u\n", o->region, o->after, o->how);
	}
	if (p->seed)
		base_buf_printf(out, "//! seed %" PRIu64 "\n", p->seed);
	for (unsigned i = 0; i < p->nplants; i++) {
		const struct program_plant *t = &p->plant[i];
		base_buf_printf(out, "//! must %u-%u %u-%u %s\n", t->a[0], t->a[1], t->b[0],
				t->b[1], t->what);
	}
	base_buf_put(out, p->text.p, p->text.n);
}

static const char *read_op(const char *line, struct program *p)
{
	struct program_op o = {0};
	unsigned how;

	if (p->nops == PROGRAM_OPS)
		return "too many operations";
	if (sscanf(line,
		   "//! op kernel=%15[^ ] grid=%u,%u block=%u,%u cluster=%u region=%u "
		   "after=%u how=%u",
		   o.kernel, &o.grid[0], &o.grid[1], &o.block[0], &o.block[1], &o.cluster,
		   &o.region, &o.after, &how) == 9)
		o.kind = PROGRAM_KERNEL;
	else if (sscanf(line, "//! op copy=%u from=%u bytes=%u region=%u after=%u how=%u", &o.dst,
			&o.src, &o.bytes, &o.region, &o.after, &how) == 6)
		o.kind = PROGRAM_COPY;
	else if (sscanf(line, "//! op fill=%u value=%u bytes=%u region=%u after=%u how=%u", &o.dst,
			&o.value, &o.bytes, &o.region, &o.after, &how) == 6)
		o.kind = PROGRAM_FILL;
	else
		return "an operation that isn't one";
	if (o.region >= p->regions || o.after >> p->nops || how > PROGRAM_HOST_WAITS)
		return "an operation with a wrong region, after or how";
	if ((uint64_t)o.dst + o.bytes > p->bytes || (uint64_t)o.src + o.bytes > p->bytes)
		return "an operation outside its region";
	o.how = (enum program_how)how;
	p->op[p->nops++] = o;
	return NULL;
}

static const char *read_line(const char *line, struct program *p, bool *is_told)
{
	struct program_plant t = {0};

	if (!strncmp(line, "//! racy", 8) || !strncmp(line, "//! race-free", 13)) {
		p->is_racy = line[7] == 'y';
		*is_told = true;
		return NULL;
	}
	if (sscanf(line, "//! memory regions=%u bytes=%u pattern=%u+%u loose=%u+%u", &p->regions,
		   &p->bytes, &p->pattern[0], &p->pattern[1], &p->loose[0], &p->loose[1]) == 6)
		return NULL;
	if (sscanf(line, "//! seed %" SCNu64, &p->seed) == 1)
		return NULL;
	if (!strncmp(line, "//! op ", 7))
		return read_op(line, p);
	if (sscanf(line, "//! must %u-%u %u-%u %31s", &t.a[0], &t.a[1], &t.b[0], &t.b[1], t.what) ==
	    5) {
		if (p->nplants == PROGRAM_PLANTS)
			return "too many lines of must";
		p->plant[p->nplants++] = t;
		return NULL;
	}
	return "a //! comment that isn't known";
}

const char *program_read(const char *text, size_t n, struct program *out)
{
	bool is_told = false;

	for (const char *p = text; p && *p; p = strchr(p, '\n'), p = p ? p + 1 : p) {
		const char *why = strncmp(p, "//!", 3) ? NULL : read_line(p, out, &is_told);
		if (why)
			return why;
	}
	if (!is_told || !out->nops || !out->bytes || out->bytes > 1 << 20 || out->regions > 16)
		return "not a program of this test: no verdict, memory or operation";
	if ((uint64_t)out->pattern[0] + out->pattern[1] > out->bytes)
		return "a pattern outside the memory";
	base_buf_put(&out->text, text, n);
	return NULL;
}
