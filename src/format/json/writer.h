// SPDX-License-Identifier: Apache-2.0
// The folder's own view of a writer's schema.
#ifndef FZ_FORMAT_JSON_WRITER_H
#define FZ_FORMAT_JSON_WRITER_H

#include "base/vec.h"
#include "format/json/schema.h"
#include "format/json/type.h"

typedef struct fz_json_schema {
    fz_writer_schema base;
    fz_arena arena;
    FZ_VEC(json_t *) documents; // texts of the types are copies, values of enums are borrowed
    fz_json_type *root;
} fz_json_schema;

/** Empty; fz_writer_schema_free. */
fz_json_schema *fz_json_schema_make(void);
fz_json_type *fz_json_type_new(fz_arena *arena, fz_json_kind kind);

/** fz_writer_schema_ops.shape and open. */
FZ_CHECKED fz_code fz_json_shape(const fz_writer_schema *schema, const fz_mapping_options *options,
                                 fz_buf *warnings, fz_schema **out, fz_err *err);
FZ_CHECKED fz_code fz_json_decoder_open(const fz_writer_schema *schema, const fz_schema *shape,
                                        fz_schema *target, const bool *owned, fz_decoder **out,
                                        fz_err *err);

#endif
