// SPDX-License-Identifier: Apache-2.0
// Any text as an Iceberg schema: no crash, and what is read is written and read again as the same.
//
// Links: fz_data
#include <stdlib.h>

#include "data/json_value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

// Defaults are texts of the schema too: they become cells, or are refused and leave nothing behind.
static void check_defaults(fz_schema *schema) {
    fz_batch *batch = fz_batch_new(schema, NULL);
    for (size_t i = 0; i < batch->column_count; i++) {
        fz_column *column = &batch->columns[i];
        json_t *json = NULL;
        fz_err err = {0};
        if (!column->field->initial_default.size) {
            continue;
        }
        require(fz_json_parse(column->field->initial_default, &json, &err) == FZ_OK);
        fz_code code = fz_column_append_json(column, json, &err);
        require(code == FZ_OK || code == FZ_CORRUPT || code == FZ_LIMIT);
        require(code != FZ_OK || column->length == 1);
        fz_column_truncate(column, 0);
        require(column->length == 0 && column->null_count == 0);
        json_decref(json);
    }
    fz_batch_free(batch);
}

static void check_paths(const fz_schema *schema) {
    for (int32_t id = 0; id <= schema->highest_id && id < 50; id++) {
        const fz_field *field = fz_schema_find_id(schema, id);
        fz_buf path = {0};
        fz_schema_path(schema, id, &path);
        require(field || path.size == 0);
        if (field) {
            // Names with dots can make two paths one, but there is always a field at the path.
            require(fz_schema_find_path(schema, fz_buf_view(&path)) != NULL);
        }
        fz_buf_deinit(&path);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *json = NULL;
    fz_schema *schema = NULL;
    fz_schema *again = NULL;
    fz_err err = {0};
    if (fz_json_parse(fz_str_make(data, size), &json, &err) != FZ_OK) {
        return 0;
    }
    fz_code code = fz_schema_from_json(json, &schema, &err);
    require(code == FZ_OK || code == FZ_CORRUPT || code == FZ_UNSUPPORTED || code == FZ_LIMIT);
    json_decref(json);
    if (code != FZ_OK) {
        return 0;
    }
    json = fz_schema_to_json(schema);
    require(fz_schema_from_json(json, &again, &err) == FZ_OK);
    require(fz_type_equal(&schema->root, &again->root));
    json_t *json_again = fz_schema_to_json(again);
    require(json_equal(json, json_again));
    json_decref(json_again);
    json_decref(json);
    fz_buf text = {0};
    fz_type_format(&schema->root, &text);
    fz_buf_deinit(&text);
    check_paths(schema);
    check_defaults(schema);
    fz_schema_unref(again);
    fz_schema_unref(schema);
    return 0;
}
