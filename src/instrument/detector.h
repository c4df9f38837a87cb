/*
 * detector.h - what a detector is to the pipeline: the steps in which its checks get into a module,
 * in the order in which they run. The folder of a detector's name (base/detectors.def) has one.
 */
#ifndef COLLIDER_INST_DETECTOR_H
#define COLLIDER_INST_DETECTOR_H

#include "instrument/internal.h"
#include "instrument/templates.h"

struct inst_detector {
	enum race_detector_id id;
	enum inst_pass pass;
	const struct ptx_template_file *templates;
	/* The letter in the names of what is put beside a function that is called, for detectors
	 * that follow kernels into those (called/called.c); or 0. */
	char letter;
	/* Lanes that a check leaves don't come back together: activemask may change. */
	bool parts_lanes;

	/* Puts its runtime block, the mark of an instrumented module, before `at`; that alone where
	 * there is nothing to check. */
	void (*put_block)(struct inst_ctx *cx, struct ptx_item *at);
	/* Once for a module, with the templates in cx->ts: the block and what checks call. */
	bool (*begin_module)(struct inst_ctx *cx);
	/* Each function that has a body and isn't ours: plans, and runs the passes over it. */
	bool (*function)(struct inst_ctx *cx, struct ptx_func *f);
	/* Its own pass, over the function at work. */
	void (*put_checks)(struct inst_ctx *cx);
	/* Once more for the module, after all functions. */
	bool (*end_module)(struct inst_ctx *cx);
	/* What follows the table of sites, or NULL. */
	void (*put_tables)(struct inst_ctx *cx);
};

/* By enum race_detector_id. */
extern const struct inst_detector *const inst_detectors[RACE_DETECTORS_PUT];

#define DETECTOR(id, word, ...) extern const struct inst_detector inst_detector_##word;
#include "base/detectors.def"

#endif
