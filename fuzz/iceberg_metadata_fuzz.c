// SPDX-License-Identifier: Apache-2.0
// Any text as table metadata, or as metadata and updates: no crash, and what was parsed or made
// parses again.
//
// Links: fz_iceberg
// Seeds: golden/iceberg/metadata
#include "table/iceberg/update.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void again(const fz_iceberg_metadata *metadata) {
    fz_buf text = {0};
    fz_err err;
    FZ_ASSERT(fz_iceberg_metadata_format(metadata, &text, &err) == FZ_OK);
    fz_iceberg_metadata *same;
    FZ_ASSERT(fz_iceberg_metadata_parse(fz_buf_view(&text), FZ_STR("again"), &same, &err) == FZ_OK);
    fz_iceberg_metadata_unref(same);
    fz_buf_deinit(&text);
}

static void ask(const fz_iceberg_metadata *metadata) {
    fz_arena arena = {0};
    fz_partition_spec spec;
    fz_sort_order order;
    fz_iceberg_snapshot snapshot;
    fz_code code = fz_iceberg_metadata_spec(metadata, fz_iceberg_metadata_spec_id(metadata), NULL,
                                            &arena, &spec, NULL);
    code = fz_iceberg_metadata_order(metadata, &arena, &order, NULL);
    (void)code;
    (void)fz_iceberg_metadata_main(metadata, &snapshot);
    (void)fz_iceberg_metadata_time_ms(metadata, 0);
    json_decref(fz_iceberg_update_from_new(metadata));
    fz_arena_deinit(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *json;
    fz_iceberg_metadata *metadata;
    if (fz_json_parse(fz_str_make(data, size), &json, NULL) != FZ_OK) {
        return 0;
    }
    // {"metadata":..., "requirements":[...], "updates":[...]}, or metadata alone
    json_t *root = json_object_get(json, "metadata");
    if (fz_iceberg_metadata_from_json(root ? root : json,
                                      FZ_STR("file:///t/metadata/00001-a.metadata.json"), &metadata,
                                      NULL) == FZ_OK) {
        again(metadata);
        ask(metadata);
        fz_code code =
            fz_iceberg_update_check(metadata, json_object_get(json, "requirements"), NULL);
        (void)code;
        fz_iceberg_metadata *next;
        if (fz_iceberg_update_apply(metadata, json_object_get(json, "updates"), 1, &next, NULL) ==
            FZ_OK) {
            FZ_ASSERT(fz_iceberg_metadata_last_updated_ms(next) >=
                      fz_iceberg_metadata_last_updated_ms(metadata));
            again(next);
            fz_iceberg_metadata_unref(next);
        }
        fz_iceberg_metadata_unref(metadata);
    }
    json_decref(json);
    return 0;
}
