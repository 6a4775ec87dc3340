// SPDX-License-Identifier: Apache-2.0
// Any bytes as an object container, a manifest list and a manifest: no crash, within limits, and
// what was read is written and read again alike.
//
// Links: fz_iceberg
// Seeds: golden/avro golden/iceberg
#include <stdlib.h>

#include "format/avro/container.h"
#include "table/iceberg/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_container(fz_str bytes) {
    static const fz_avro_container_limits limits = {.header_size = 1 << 20,
                                                    .block_size = 1 << 20,
                                                    .record_size = 1 << 20,
                                                    .schema_nodes = 1000,
                                                    .depth = 32};
    fz_avro_container *container;
    fz_err err;
    if (fz_avro_container_open(bytes, &limits, &container, &err) != FZ_OK) {
        return;
    }
    fz_code code;
    fz_avro_datum *row = NULL;
    int rows = 0;
    do {
        fz_arena arena = {0};
        code = fz_avro_container_next(container, &arena, &row, &err);
        FZ_ASSERT(arena.used <= ((size_t)4 << 20));
        fz_arena_deinit(&arena);
    } while (code == FZ_OK && row && ++rows < 10000);
    fz_avro_container_free(container);
}

static void read_list(fz_str bytes) {
    fz_arena arena = {0};
    fz_iceberg_list list;
    fz_err err;
    if (fz_iceberg_list_read(bytes, &arena, &list, &err) == FZ_OK) {
        const fz_iceberg_list_options options = {
            .version = 3, .parent_id = FZ_ICEBERG_NONE, .sequence_number = 1};
        fz_buf out = {0};
        if (fz_iceberg_list_write(&list, &options, &out, NULL, &err) == FZ_OK) {
            fz_iceberg_list again;
            FZ_ASSERT(fz_iceberg_list_read(fz_buf_view(&out), &arena, &again, &err) == FZ_OK);
            FZ_ASSERT(again.count == list.count);
        }
        fz_buf_deinit(&out);
    }
    fz_arena_deinit(&arena);
}

static void read_manifest(fz_str bytes) {
    fz_partition_field field = {
        .field_id = 1000, .name = FZ_STR("p"), .result_type = {.kind = FZ_TYPE_STRING}};
    const fz_partition_spec spec = {.fields = &field, .field_count = 1};
    const fz_iceberg_manifest line = {
        .sequence_number = 3, .added_snapshot_id = 4, .first_row_id = 5};
    fz_iceberg_manifest_reader *reader;
    fz_err err;
    if (fz_iceberg_manifest_reader_open(bytes, &line, &spec, &reader, &err) != FZ_OK) {
        return;
    }
    bool found = true;
    for (int i = 0; i < 10000 && found; i++) {
        fz_arena arena = {0};
        fz_iceberg_entry entry;
        if (fz_iceberg_manifest_reader_next(reader, &arena, &entry, &found, &err) != FZ_OK) {
            found = false;
        }
        fz_arena_deinit(&arena);
    }
    fz_iceberg_manifest_reader_free(reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz_str bytes = fz_str_make(data, size);
    read_container(bytes);
    read_list(bytes);
    read_manifest(bytes);
    return 0;
}
