// SPDX-License-Identifier: Apache-2.0
// From a record's bytes to a row of a column batch: one interface for Avro, Protobuf, JSON and raw
// values.
#ifndef FZ_FORMAT_DECODER_H
#define FZ_FORMAT_DECODER_H

#include "data/batch.h"

/** How source types become columns (interface.md, keys types.*). */
typedef struct fz_mapping_options {
    bool nanos_keep;     // types.timestamp_nanos: keep (needs format version 3)
    bool nanos_truncate; // truncate to micros
    bool uint64_long;
    bool recursive_json;
    bool unions_struct;  // types.unions: struct, also for [null, T] and single types that become
                         // unions later
    int format_version;  // 2 or 3
    bool names_any_case; // names that differ only in case are let through: types.names settles them
                         // later
} fz_mapping_options;

/**
 * A writer's schema, parsed: format-specific, immutable, any thread. It tells the columns that it
 * asks for (its shape) and opens decoders.
 */
typedef struct fz_writer_schema fz_writer_schema;
typedef struct fz_decoder fz_decoder;

typedef struct fz_writer_schema_ops {
    const char *name; // "avro"
    /**
     * The columns that the schema asks for (types.md), not bound: a new schema whose fields carry
     * identity, aliases, origin. Errors: UNSUPPORTED with kind unsupported_type or recursive_type,
     * naming the path. warnings: text lines appended for what is left out or taken as its base
     * type, may be NULL.
     */
    fz_code (*shape)(const fz_writer_schema *schema, const fz_mapping_options *options,
                     fz_buf *warnings, fz_schema **out, fz_err *err);
    /**
     * A decoder onto batches of `target` (the table's schema).
     *
     * shape   what shape() gave, with `id` of each field set to the target column it fills (0:
     * value is skipped) owned   [target->root.field_count] true for the top-level columns that this
     * decoder appends to: those without a bound field get null (or the write default of the
     * column). The others are the caller's. Errors: UNSUPPORTED with kind schema_incompatible,
     * naming path, old and new type.
     */
    fz_code (*open)(const fz_writer_schema *schema, const fz_schema *shape, fz_schema *target,
                    const bool *owned, fz_decoder **out, fz_err *err);
    void (*free)(fz_writer_schema *schema);
} fz_writer_schema_ops;

/** First member of every implementation. */
struct fz_writer_schema {
    const fz_writer_schema_ops *ops;
};

typedef struct fz_decoder_ops {
    /**
     * Append one row to the owned columns of `batch`; batch->rows is the caller's to raise.
     *
     * Errors: CORRUPT, this record only, err->kind one of the record error kinds (interface.md),
     * err->offset in the payload; columns may hold part of the row then: the caller truncates.
     * LIMIT: memory or a named limit.
     */
    fz_code (*decode)(fz_decoder *decoder, const uint8_t *data, size_t size, fz_batch *batch,
                      fz_err *err);
    void (*free)(fz_decoder *decoder);
} fz_decoder_ops;

/** First member of every implementation. One thread; opening again for another batch object of the
 * same schema is not needed. */
struct fz_decoder {
    const fz_decoder_ops *ops;
};

FZ_CHECKED fz_code fz_writer_schema_shape(const fz_writer_schema *schema,
                                          const fz_mapping_options *options, fz_buf *warnings,
                                          fz_schema **out, fz_err *err);
FZ_CHECKED fz_code fz_decoder_open(const fz_writer_schema *schema, const fz_schema *shape,
                                   fz_schema *target, const bool *owned, fz_decoder **out,
                                   fz_err *err);
/** NULL allowed. */
void fz_writer_schema_free(fz_writer_schema *schema);
FZ_CHECKED static inline fz_code fz_decoder_decode(fz_decoder *decoder, const uint8_t *data,
                                                   size_t size, fz_batch *batch, fz_err *err) {
    return decoder->ops->decode(decoder, data, size, batch, err);
}
/** NULL allowed. */
void fz_decoder_free(fz_decoder *decoder);

#endif
