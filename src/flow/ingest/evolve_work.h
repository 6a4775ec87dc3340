// SPDX-License-Identifier: Apache-2.0
// One comparison under way, shared by the files of evolution.
#ifndef FZ_FLOW_INGEST_EVOLVE_WORK_H
#define FZ_FLOW_INGEST_EVOLVE_WORK_H

#include "base/map.h"
#include "flow/ingest/evolve_link.h"

/** A doc that goes along if anything else changes. */
typedef struct fz_evolve_doc {
    fz_field *column;
    fz_str doc;
} fz_evolve_doc;

typedef struct fz_evolve_work {
    const fz_evolve_input *input;
    fz_schema *table; // a copy that is changed
    fz_evolve_link link;
    int32_t last_id;
    size_t change_count;
    fz_buf changes;
    fz_buf path; // of the level that is compared
    FZ_VEC(fz_evolve_doc) docs;
    fz_err *err;
} fz_evolve_work;

/** Where a level of the table stands. */
typedef struct fz_evolve_place {
    bool top;
    bool in_key;   // of a map: its type never changes
    bool relinked; // the parent is another column than before: what its children had counts no more
} fz_evolve_place;

#define FZ_EVOLVE_NEW (-1)  // no column yet
#define FZ_EVOLVE_SKIP (-2) // none, and none is wanted

/** The columns of one struct beside the fields of a shape's. */
typedef struct fz_evolve_level {
    fz_type *columns;
    fz_type *shape;
    fz_evolve_place place;
    size_t old_count; // columns that were there before
    bool grown;       // columns has room for all of shape
    fz_map by_id;     // index + 1
    fz_map by_name;
    fz_map by_lower;
    int32_t *column; // [shape field] its column, or NEW or SKIP
    bool *renamed;   // [shape field] found by an alias
    bool *relinked;  // [shape field] not the column that it was linked to before
    bool *taken;     // [old column]
} fz_evolve_level;

void fz_evolve_level_init(fz_evolve_level *level, fz_type *columns, fz_type *shape,
                          fz_evolve_place place);
void fz_evolve_level_deinit(fz_evolve_level *level);
/** Index of the old column with that id, -1: none. */
int32_t fz_evolve_level_find_id(const fz_evolve_level *level, int32_t id);
/** Enter a column's name. */
void fz_evolve_level_put_name(fz_evolve_level *level, size_t index);
void fz_evolve_level_drop_name(fz_evolve_level *level, size_t index);
/**
 * May a column be named so?
 * self    index of the column that is to have the name, -1: a new one
 * Errors: UNSUPPORTED kind unsupported_type.
 */
FZ_CHECKED fz_code fz_evolve_level_check_name(fz_evolve_work *work, const fz_evolve_level *level,
                                              fz_str name, int32_t self);
/** Find the column of every field of the shape: by link, alias, name. */
FZ_CHECKED fz_code fz_evolve_match(fz_evolve_work *work, fz_evolve_level *level);

/** Could one be brought to the other, as far as their own kinds tell? */
bool fz_evolve_related(const fz_type *a, const fz_type *b);

/** Append a step to the path; the size to go back to. */
size_t fz_evolve_path_push(fz_evolve_work *work, fz_str step);

#endif
