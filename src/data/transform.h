// SPDX-License-Identifier: Apache-2.0
// Partition transforms, specs and sort orders.
#ifndef FZ_DATA_TRANSFORM_H
#define FZ_DATA_TRANSFORM_H

#include "data/batch.h"
#include "data/value.h"

typedef enum fz_transform_kind {
    FZ_TRANSFORM_IDENTITY,
    FZ_TRANSFORM_BUCKET,   // parameter: number of buckets
    FZ_TRANSFORM_TRUNCATE, // parameter: width
    FZ_TRANSFORM_YEAR,
    FZ_TRANSFORM_MONTH,
    FZ_TRANSFORM_DAY,
    FZ_TRANSFORM_HOUR,
    FZ_TRANSFORM_VOID,
    FZ_TRANSFORM_UNKNOWN, // carried through, never written with
} fz_transform_kind;

typedef struct fz_transform {
    fz_transform_kind kind;
    int32_t parameter;
} fz_transform;

typedef struct fz_partition_field {
    int32_t source_id;
    int32_t field_id; // 1000...
    fz_str name;
    fz_transform transform;
    fz_str transform_text; // as spelt in the metadata
    fz_type source_type;   // of the source column in the schema it was resolved with
    fz_type result_type;
} fz_partition_field;

typedef struct fz_partition_spec {
    int32_t spec_id;
    fz_partition_field *fields;
    size_t field_count;
} fz_partition_spec;

typedef struct fz_sort_field {
    int32_t source_id;
    fz_transform transform;
    bool descending;
    bool nulls_last;
} fz_sort_field;

typedef struct fz_sort_order {
    int32_t order_id; // 0: unsorted
    fz_sort_field *fields;
    size_t field_count;
} fz_sort_order;

/** `identity`, `bucket[16]`, `day`... as in metadata; an unknown text is FZ_TRANSFORM_UNKNOWN. */
fz_transform fz_transform_parse(fz_str text);
void fz_transform_format(fz_transform transform, fz_buf *out);
/** Result type; UNSUPPORTED when the transform does not take `source` (formats.md 1.6). */
FZ_CHECKED fz_code fz_transform_result(fz_transform transform, const fz_type *source, fz_type *out,
                                       fz_err *err);
/** Apply to one value of `source` type; the result's bytes point into the value's. LIMIT when it
 * does not fit (hour of extreme micros). */
FZ_CHECKED fz_code fz_transform_apply(fz_transform transform, const fz_type *source,
                                      const fz_value *value, fz_value *out, fz_err *err);
/** Part of a partition path: `2017-12-01`, `2017-12-01-10`, `null`, text as it is; append to `out`,
 * not escaped. */
void fz_transform_human(const fz_partition_field *field, const fz_value *value, fz_buf *out);

/** Value of a primitive column at a row; bytes are borrowed from the column. */
void fz_column_value(const fz_column *column, int64_t row, fz_value *out);

/** A row's place among partitions. */
typedef struct fz_partition_router fz_partition_router;
/** For batches of one schema; sources are found by id, nested ones through structs. INVALID if a
 * source is absent. */
FZ_CHECKED fz_code fz_partition_router_new(const fz_partition_spec *spec, fz_batch *batch,
                                           fz_partition_router **out, fz_err *err);
void fz_partition_router_free(fz_partition_router *router);
/**
 * Group rows [from, from + count) of the router's batch by partition tuple, over whole columns at a
 * time.
 *
 * groups  [count] for each row the index of its tuple among those this router has seen since its
 * creation (0, 1, 2...) Errors: LIMIT with err->offset = the row whose value has no result.
 */
FZ_CHECKED fz_code fz_partition_router_route(fz_partition_router *router, int64_t from,
                                             int64_t count, uint32_t *groups, fz_err *err);
/** Whether a row's values have a partition at all: LIMIT, naming the field, where one has no
 * result. Next to nothing where no transform of the spec can fail. */
FZ_CHECKED fz_code fz_partition_router_check(const fz_partition_router *router, int64_t row,
                                             fz_err *err);
/** Tuple of a group: [field_count], valid while the router lives. */
const fz_value *fz_partition_router_tuple(const fz_partition_router *router, uint32_t group);
size_t fz_partition_router_count(const fz_partition_router *router);
/** `name=value/name=value` with values percent-encoded for a path, at most 200 bytes a value (then
 * its hash); empty if unpartitioned. */
void fz_partition_path(const fz_partition_spec *spec, const fz_value *tuple, fz_buf *out);

#endif
