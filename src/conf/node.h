// SPDX-License-Identifier: Apache-2.0
// The tree that a configuration file is before options give it a meaning, and the list of what is
// wrong with it.
#ifndef FZ_CONF_NODE_H
#define FZ_CONF_NODE_H

#include "conf/config.h"

typedef enum fz_conf_node_kind {
    FZ_CONF_NULL,
    FZ_CONF_SCALAR,
    FZ_CONF_LIST,
    FZ_CONF_MAP,
} fz_conf_node_kind;

/** Where nodes come from. */
typedef struct fz_conf_place {
    fz_str name;        // file or flag, for messages
    const char *folder; // relative paths count from here; absolute
} fz_conf_place;

typedef struct fz_conf_node fz_conf_node;

typedef struct fz_conf_member {
    fz_str key; // empty in a list
    int line;
    int column;
    fz_conf_node *value;
} fz_conf_member;

/** Immutable once built, since aliases share nodes; fz_conf_node_with makes changed copies. */
struct fz_conf_node {
    fz_conf_node_kind kind;
    const fz_conf_place *place;
    int line; // from 1; 0: none
    int column;
    fz_str text;             // of a scalar; terminated
    fz_conf_member *members; // of a list or map
    size_t count;
    bool broken;   // a scalar that a fault was reported for already
    size_t weight; // nodes in it, aliases counted as what they stand for
};

/** A key path on the stack: names and indexes from the top. */
typedef struct fz_conf_path {
    const struct fz_conf_path *up;
    fz_str name; // empty: an index
    size_t index;
} fz_conf_path;

/** Value of a map's key, NULL when absent, null, or not a map. */
fz_conf_node *fz_conf_node_find(const fz_conf_node *node, fz_str key);
/** A copy of the map (or a new one for NULL) in which `key` is `value`; NULL value: without it. */
fz_conf_node *fz_conf_node_with(fz_arena *arena, const fz_conf_node *map, fz_str key,
                                fz_conf_node *value);
/** A scalar at a place without line. */
fz_conf_node *fz_conf_node_scalar(fz_arena *arena, const fz_conf_place *place, fz_str text);
/** An empty list or map at the place and line of `like`. */
fz_conf_node *fz_conf_node_new(fz_arena *arena, fz_conf_node_kind kind, const fz_conf_node *like);
/** "a text", "a list"... for messages. */
const char *fz_conf_node_kind_name(fz_conf_node_kind kind);

/** Append `tableflow[1].catalog.type`. */
void fz_conf_path_format(const fz_conf_path *path, fz_buf *out);
/** Add a fault at a position unless the same one is there. */
void fz_conf_fault_at(fz_config_faults *faults, const fz_conf_place *place, int line, int column,
                      const fz_conf_path *path, const char *format, ...) FZ_PRINTF(6, 7);

#endif
