// SPDX-License-Identifier: Apache-2.0
// The columns that an Avro schema asks for, and the decoder onto a table's columns.
#ifndef FZ_FORMAT_AVRO_SHAPE_H
#define FZ_FORMAT_AVRO_SHAPE_H

#include "format/avro/schema.h"
#include "format/shape_names.h"

// What fz_field.origin holds in a shape besides shape_names.h: how the value becomes a column.
#define FZ_AVRO_ORIGIN_JSON (1 << 30)  // a recursive type, kept as JSON text
#define FZ_AVRO_ORIGIN_UNION (1 << 29) // a union as a struct of its branches

/** fz_writer_schema_ops.shape. */
FZ_CHECKED fz_code fz_avro_shape(const fz_writer_schema *schema, const fz_mapping_options *options,
                                 fz_buf *warnings, fz_schema **out, fz_err *err);
/** fz_writer_schema_ops.open. */
FZ_CHECKED fz_code fz_avro_decoder_open(const fz_writer_schema *schema, const fz_schema *shape,
                                        fz_schema *target, const bool *owned, fz_decoder **out,
                                        fz_err *err);

#endif
