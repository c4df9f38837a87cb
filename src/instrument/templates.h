/*
 * templates.h - the texts of *.ptxt, embedded by the build: an array for each folder.
 */
#ifndef COLLIDER_INST_TEMPLATES_H
#define COLLIDER_INST_TEMPLATES_H

#include "ptx/ptx.h"

#define DETECTOR(id, word, ...) extern const struct ptx_template_file inst_##word##_templates[];
#include "base/detectors.def"

extern const struct ptx_template_file inst_module_templates[];
extern const struct ptx_template_file inst_called_templates[];
extern const struct ptx_template_file inst_doubt_templates[];
extern const struct ptx_template_file inst_nap_templates[];
extern const struct ptx_template_file inst_prune_templates[];
extern const struct ptx_template_file inst_shuffle_templates[];

#endif
