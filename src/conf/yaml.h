// SPDX-License-Identifier: Apache-2.0
// YAML text to nodes, within limits.
#ifndef FZ_CONF_YAML_H
#define FZ_CONF_YAML_H

#include "base/vec.h"
#include "conf/expand.h"
#include "conf/node.h"

typedef FZ_VEC(fz_conf_node *) fz_conf_documents;

typedef struct fz_conf_yaml {
    fz_arena *arena;          // holds the nodes
    fz_config_faults *faults; // syntax, duplicate keys, unset variables, limits
    fz_conf_find_env find;    // NULL: texts are taken as they are
    void *context;
} fz_conf_yaml;

/**
 * Append the documents of `text` to `out`; an empty document is a null node.
 *
 * Anchors, aliases and merge keys (`<<`) are followed; aliases count as what they stand for, and
 * one inside its own anchor is a fault. The first syntax fault ends the text. Source: YAML 1.1;
 * libyaml's event API.
 */
void fz_conf_yaml_parse(fz_conf_yaml *yaml, const fz_conf_place *place, fz_str text,
                        fz_conf_documents *out);

#endif
