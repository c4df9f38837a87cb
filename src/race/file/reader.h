/*
 * reader.h - inside src/race/file: what reads the file shared with the agent, for shm_read.c and
 * shm_record.c.
 */
#ifndef COLLIDER_RACE_READER_H
#define COLLIDER_RACE_READER_H

#include "base/table.h"
#include "race/race.h"

/* A module's sites, by their hash. */
struct race_reader_table {
	uint64_t hash;
	struct race_sites sites;
	UT_hash_handle hh;
};

/* What one finding is about: shm_record.c. */
struct race_reader_key {
	uint64_t table;
	uint32_t site, kind;
	/* Of detector watch: */
	uint64_t other_table;
	uint32_t other_site, reserved;
};

struct race_reader_finding {
	struct race_reader_key key;
	size_t index; /* in results.findings */
	UT_hash_handle hh;
};

struct race_reader {
	const unsigned char *map;
	size_t bytes;
	struct race_results *out;
	struct base_arena nodes; /* of the two hash tables */
	struct race_reader_table *tables;
	struct race_reader_finding *known;
	uint32_t order; /* of struct race_shm */
	struct race_shuffle_keys keys;
};

/* shm_record.c. A record becomes a finding, or counts for one that is known; counted: what the
 * device has counted for its slot. */
void race_reader_record(struct race_reader *rd, const struct race_record *rec, uint64_t counted,
			const struct race_context *c);
/* The same of a chunk about host code that met a watchpoint of a kernel. */
void race_reader_host_pair(struct race_reader *rd, const struct race_chunk *c,
			   const unsigned char *payload);

#endif
