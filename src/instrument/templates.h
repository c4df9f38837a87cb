/*
 * templates.h - the texts of *.ptxt, embedded by the build: an array for each folder.
 */
#ifndef COLLIDER_INST_TEMPLATES_H
#define COLLIDER_INST_TEMPLATES_H

#include "ptx/ptx.h"

extern const struct ptx_template_file inst_module_templates[];
extern const struct ptx_template_file inst_called_templates[];
extern const struct ptx_template_file inst_collide_templates[];
extern const struct ptx_template_file inst_doubt_templates[];
extern const struct ptx_template_file inst_hirace_templates[];
extern const struct ptx_template_file inst_iguard_templates[];
extern const struct ptx_template_file inst_prune_templates[];
extern const struct ptx_template_file inst_watch_templates[];
extern const struct ptx_template_file inst_shuffle_templates[];

#endif
