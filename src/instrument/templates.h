/*
 * templates.h - the texts of *.ptxt, embedded by the build.
 */
#ifndef COLLIDER_INST_TEMPLATES_H
#define COLLIDER_INST_TEMPLATES_H

extern const char inst_collide_templates[];
extern const char inst_hirace_templates[];
extern const char inst_shuffle_templates[];

#endif
