// SPDX-License-Identifier: Apache-2.0
// Values from flags and the environment, put into the tree before it is read.
#ifndef FZ_CONF_OVERRIDE_H
#define FZ_CONF_OVERRIDE_H

#include "conf/option.h"

/** The tree of a configuration before it is read. */
typedef struct fz_conf_tree {
    const fz_conf_node *top;      // without the two below
    const fz_conf_node *defaults; // NULL if none
    const fz_conf_node **entries; // room for one more than `entry_count`
    size_t entry_count;
} fz_conf_tree;

/** Put one value in; an unknown key is a fault at `place`. */
void fz_conf_override_apply(fz_arena *arena, fz_config_faults *faults, fz_conf_tree *tree,
                            const fz_conf_place *place, fz_str key, fz_str value);

#endif
