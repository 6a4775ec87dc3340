// SPDX-License-Identifier: Apache-2.0
// Any text as an Avro schema: no crash, the same shape twice, and a decoder opens onto it.
//
// Links: fz_avro
#include <stdlib.h>

#include "base/memory.h"
#include "format/avro/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

// The shape's columns can be taken as a table, and the writer's records go into that.
static void check_open(const fz_writer_schema *schema, fz_schema *shape) {
    int32_t last_id = 0;
    fz_type_assign_ids(&shape->root, &last_id);
    fz_schema_finish(shape);
    bool *owned = fz_calloc(shape->root.field_count + 1, sizeof(bool));
    memset(owned, true, shape->root.field_count);
    fz_decoder *decoder = NULL;
    fz_err err = {0};
    fz_code code = fz_decoder_open(schema, shape, shape, owned, &decoder, &err);
    require(code == FZ_OK || (code == FZ_UNSUPPORTED && err.kind));
    if (code == FZ_OK) {
        static const uint8_t zeros[64];
        fz_batch *batch = fz_batch_new(shape, NULL);
        for (size_t length = 0; length <= sizeof(zeros); length += 16) {
            code = fz_decoder_decode(decoder, zeros, length, batch, &err);
            require(code == FZ_OK || code == FZ_LIMIT || (code == FZ_CORRUPT && err.kind));
            fz_batch_truncate(batch, 0);
        }
        fz_batch_free(batch);
    }
    fz_decoder_free(decoder);
    fz_free(owned);
}

static void check_shape(const fz_writer_schema *schema, const fz_mapping_options *options) {
    fz_buf warnings[2] = {0};
    fz_schema *shapes[2] = {NULL, NULL};
    fz_err err = {0};
    fz_code code = fz_writer_schema_shape(schema, options, &warnings[0], &shapes[0], &err);
    require(code == FZ_OK || (code == FZ_UNSUPPORTED && err.kind));
    require(fz_writer_schema_shape(schema, options, &warnings[1], &shapes[1], NULL) == code);
    if (code == FZ_OK) {
        require(fz_type_equal(&shapes[0]->root, &shapes[1]->root));
        require(fz_str_equal(fz_buf_view(&warnings[0]), fz_buf_view(&warnings[1])));
        require(shapes[0]->root.field_count > 0);
        check_open(schema, shapes[0]);
    }
    for (int i = 0; i < 2; i++) {
        fz_schema_unref(shapes[i]);
        fz_buf_deinit(&warnings[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    // A zero byte parts a reference from the schema that may use it.
    fz_str text = fz_str_make(data, size);
    fz_avro_reference reference = {.name = FZ_STR("ref.Name")};
    size_t cut = fz_str_find(text, '\0', 0);
    size_t count = 0;
    if (cut != SIZE_MAX) {
        reference.text = fz_str_slice(text, 0, cut);
        text = fz_str_slice(text, cut + 1, text.size);
        count = 1;
    }
    fz_writer_schema *schema = NULL;
    fz_err err = {0};
    fz_code code = fz_avro_schema_new(text, &reference, count, NULL, &schema, &err);
    if (code != FZ_OK) {
        require((code == FZ_CORRUPT || code == FZ_LIMIT) && err.kind &&
                strcmp(err.kind, "schema_parse") == 0);
        return 0;
    }
    static const fz_mapping_options options[] = {
        {.format_version = 3},
        {.format_version = 2, .nanos_truncate = true, .recursive_json = true},
        {.format_version = 3,
         .recursive_json = true,
         .unions_struct = true,
         .names_any_case = true},
    };
    for (size_t i = 0; i < FZ_COUNT(options); i++) {
        check_shape(schema, &options[i]);
    }
    fz_writer_schema_free(schema);
    return 0;
}
