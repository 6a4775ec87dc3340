// SPDX-License-Identifier: Apache-2.0
// What a writer's schema asks of the table: columns bound by identity, and the updates that it
// needs.
#ifndef FZ_FLOW_INGEST_EVOLVE_H
#define FZ_FLOW_INGEST_EVOLVE_H

#include "conf/config.h"
#include "data/type.h"

/** Which part of a record a shape describes; identities are unique within a side. */
typedef enum fz_evolve_side {
    FZ_EVOLVE_KEY,
    FZ_EVOLVE_VALUE,
    FZ_EVOLVE_METADATA,
} fz_evolve_side;

/** What is compared. Borrowed. */
typedef struct fz_evolve_input {
    const fz_schema *table; // the table's current schema
    int32_t last_column_id; // greatest id that was ever given
    const json_t
        *link; // property frazil.columns, parsed: {"v:<identity>": field id, ...}; NULL: none yet
    const fz_schema *shape; // what one writer schema asks for (fz_writer_schema_shape), ids 0
    fz_evolve_side side;
    fz_config_evolution policy;
    bool may_change; // false: an id that is not registered under the entry's subjects (decodes,
                     // never evolves)
    bool older;      // not the newest of its subject: what it lacks was added later and is no drop
    int format_version; // of the table: defaults and date -> timestamp need 3
} fz_evolve_input;

/** What comes out. Deinit it. */
typedef struct fz_evolve_result {
    fz_schema *table; // after the updates; the input's own (one more reference is NOT taken: NULL)
                      // when nothing changes
    fz_schema *shape; // copy of the shape with `id` of every field set to its column, 0 where
                      // values are skipped
    json_t *link;     // after, a new reference; equal to the input's when nothing new was linked
    bool link_changed;
    int32_t last_column_id;
    fz_buf changes; // one line a change: "add column \"a.b\" int", "widen column \"a\" int to long"
    size_t change_count; // schema updates (a link alone is none)
} fz_evolve_result;

void fz_evolve_result_deinit(fz_evolve_result *result);

/**
 * Compare a shape with the table (types.md, "Evolution"; pure, no I/O).
 *
 * A shape field is the column that its identity is linked to; else the one an alias is linked to (a
 * rename); else an unlinked column of the same name and fitting type at that level (a table made by
 * others, a foreign ADD COLUMN); else new. Linked columns of this side that the shape lacks stay
 * and become optional (drop). Foreign renames, reorders and comments are respected: the link is by
 * id. New names that clash with a column of another identity, or differ from one only in case, are
 * refused.
 *
 * Errors: UNSUPPORTED with kind schema_incompatible naming path, old and new type, and what to do;
 * the same kind where a policy says suspend (the text names the policy key); kind unsupported_type
 * for name clashes.
 */
FZ_CHECKED fz_code fz_ingest_evolve(const fz_evolve_input *input, fz_evolve_result *out,
                                    fz_err *err);

/** A new column from a field of a shape: ids 0, no identity; defaults only where the version has
 * them. */
void fz_evolve_column(fz_arena *arena, const fz_field *shape, int format_version, fz_field *out);
/** Is a value of type `from` written into a column of type `to` without loss of range (types.md,
 * narrower writers too)? */
bool fz_evolve_fits(const fz_type *from, const fz_type *to);

/** Parse the property frazil.columns of a table, NULL for none; CORRUPT if it is not an object of
 * integers. */
FZ_CHECKED fz_code fz_evolve_link_parse(fz_str property, json_t **out, fz_err *err);
/** Name of the table property. */
#define FZ_EVOLVE_LINK_PROPERTY "frazil.columns"
/** Ids of top-level columns that a side has linked are in the link under "k:", "v:", "m:". True if
 * `id` is one of `side`. */
bool fz_evolve_link_has(const json_t *link, fz_evolve_side side, int32_t id);

#endif
