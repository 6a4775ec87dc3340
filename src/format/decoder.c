// SPDX-License-Identifier: Apache-2.0
// The wrappers of the decoder interface.
#include "format/decoder.h"

fz_code fz_writer_schema_shape(const fz_writer_schema *schema, const fz_mapping_options *options,
                               fz_buf *warnings, fz_schema **out, fz_err *err) {
    FZ_ASSERT(schema && options && out);
    return schema->ops->shape(schema, options, warnings, out, err);
}

fz_code fz_decoder_open(const fz_writer_schema *schema, const fz_schema *shape, fz_schema *target,
                        const bool *owned, fz_decoder **out, fz_err *err) {
    FZ_ASSERT(schema && shape && target && owned && out);
    return schema->ops->open(schema, shape, target, owned, out, err);
}

void fz_writer_schema_free(fz_writer_schema *schema) {
    if (schema) {
        schema->ops->free(schema);
    }
}

void fz_decoder_free(fz_decoder *decoder) {
    if (decoder) {
        decoder->ops->free(decoder);
    }
}
