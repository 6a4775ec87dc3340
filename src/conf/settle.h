// SPDX-License-Identifier: Apache-2.0
// What needs more than one option to be known: derived values and contradictions.
#ifndef FZ_CONF_SETTLE_H
#define FZ_CONF_SETTLE_H

#include "conf/reader.h"

/** Checks and derived values outside entries. */
void fz_conf_top_settle(fz_conf_reader *reader, const fz_conf_node *node, fz_config *config);
/** Checks and derived values of one entry; `shared` is the top-level registry. */
void fz_conf_entry_settle(fz_conf_reader *reader, const fz_conf_path *path,
                          const fz_conf_node *node, const fz_config_registry *shared,
                          fz_config_entry *entry);

#endif
