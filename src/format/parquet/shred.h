// SPDX-License-Identifier: Apache-2.0
// Columns to repetition and definition levels: a walk over the schema that shares the work of
// siblings.
#ifndef FZ_FORMAT_PARQUET_SHRED_H
#define FZ_FORMAT_PARQUET_SHRED_H

#include "data/batch.h"

/**
 * The places that rows take on a level of the schema.
 *
 * A slot is a value of the column, or the place where the path to it ended in a null or an empty
 * list.
 */
typedef struct fz_parquet_slots {
    size_t count;
    const uint8_t *rep; // NULL: all 0
    const uint8_t *def; // NULL: all `def_value`
    uint8_t def_value;
    const int32_t
        *pos; // NULL: contiguous from `first`, none ended; else row of the column, -1 ended
    int64_t first;
} fz_parquet_slots;

/** A column of the file's schema, a leaf or not. */
typedef struct fz_parquet_node {
    const fz_field *field;
    uint8_t def; // definition level of a value that is there
    uint8_t rep; // repetition level of the innermost list around its values
    int leaf;    // index, -1: not a leaf
    struct fz_parquet_node *children;
    size_t child_count;
    struct fz_parquet_node *items; // LIST, MAP: holds the scratch of their items
    uint8_t *rep_scratch;
    uint8_t *def_scratch;
    int32_t *pos_scratch;
    size_t capacity;
} fz_parquet_node;

/** Takes the slots of each leaf in schema order. */
typedef fz_code (*fz_parquet_shred_fn)(void *context, int leaf, const fz_column *column,
                                       const fz_parquet_slots *slots, fz_err *err);

/** Build the nodes of a field; *leaf counts leaves. INVALID for a struct without fields, or over
 * 255 levels. */
FZ_CHECKED fz_code fz_parquet_node_init(fz_parquet_node *node, const fz_field *field, int def,
                                        int rep, int *leaf, fz_err *err);
void fz_parquet_node_deinit(fz_parquet_node *node);
/** Walk a column's slots; LIMIT when there is no memory, or what `fn` answers. */
FZ_CHECKED fz_code fz_parquet_node_shred(fz_parquet_node *node, const fz_column *column,
                                         const fz_parquet_slots *slots, fz_parquet_shred_fn fn,
                                         void *context, fz_err *err);
size_t fz_parquet_node_memory(const fz_parquet_node *node);

#endif
