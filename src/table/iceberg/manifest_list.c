// SPDX-License-Identifier: Apache-2.0
// Reads and writes manifest lists.
#include <stdio.h>

#include "base/vec.h"
#include "table/iceberg/manifest.h"
#include "table/iceberg/manifest_schema.h"

/** Manifests of one snapshot; a table that is never merged gains one a commit. */
#define LIST_MANIFESTS_MAX 2000000

static int64_t long_or(const fz_avro_datum *record, int32_t id, const char *name,
                       int64_t fallback) {
    const fz_avro_datum *datum = fz_avro_datum_find(record, id, name);
    bool integer = datum && (datum->kind == FZ_AVRO_DATUM_INT || datum->kind == FZ_AVRO_DATUM_LONG);
    return integer ? datum->as.integer : fallback;
}

static fz_str bytes_or_none(const fz_avro_datum *record, int32_t id, const char *name,
                            fz_arena *arena) {
    const fz_avro_datum *datum = fz_avro_datum_find(record, id, name);
    if (datum && (datum->kind == FZ_AVRO_DATUM_STRING || datum->kind == FZ_AVRO_DATUM_BYTES)) {
        return fz_arena_str(arena, datum->as.bytes);
    }
    return (fz_str){0};
}

static void read_summaries(const fz_avro_datum *record, fz_arena *arena, fz_iceberg_manifest *out) {
    const fz_avro_datum *list =
        fz_avro_datum_find(record, FZ_ICEBERG_ID_LIST_PARTITIONS, "partitions");
    if (!list || list->kind != FZ_AVRO_DATUM_ARRAY) {
        return;
    }
    out->partition_count = list->as.list.count;
    out->partitions = FZ_ARENA_ARRAY(arena, fz_iceberg_field_summary, out->partition_count);
    for (size_t i = 0; i < out->partition_count; i++) {
        const fz_avro_datum *item = &list->as.list.items[i];
        fz_iceberg_field_summary *summary = &out->partitions[i];
        const fz_avro_datum *null =
            fz_avro_datum_find(item, FZ_ICEBERG_ID_LIST_NULL, "contains_null");
        const fz_avro_datum *nan = fz_avro_datum_find(item, FZ_ICEBERG_ID_LIST_NAN, "contains_nan");
        // What is not known may be there.
        summary->contains_null = !null || null->kind != FZ_AVRO_DATUM_BOOLEAN || null->as.boolean;
        summary->contains_nan = nan && nan->kind == FZ_AVRO_DATUM_BOOLEAN ? nan->as.boolean : -1;
        summary->lower = bytes_or_none(item, FZ_ICEBERG_ID_LIST_LOWER, "lower_bound", arena);
        summary->upper = bytes_or_none(item, FZ_ICEBERG_ID_LIST_UPPER, "upper_bound", arena);
    }
}

static fz_code read_line(const fz_avro_datum *record, fz_arena *arena, fz_iceberg_manifest *out,
                         fz_err *err) {
    *out = (fz_iceberg_manifest){0};
    out->path = bytes_or_none(record, FZ_ICEBERG_ID_LIST_PATH, "manifest_path", arena);
    out->size_bytes = long_or(record, FZ_ICEBERG_ID_LIST_LENGTH, "manifest_length", -1);
    int64_t spec = long_or(record, FZ_ICEBERG_ID_LIST_SPEC, "partition_spec_id", -1);
    int64_t content = long_or(record, FZ_ICEBERG_ID_LIST_CONTENT, "content", 0);
    if (out->path.size == 0 || out->size_bytes < 0 || spec < 0 || spec > INT32_MAX || content < 0 ||
        content > 1) {
        return fz_err_set(err, FZ_CORRUPT,
                          "manifest list line \"%.*s\" has length %lld, spec %lld, content %lld",
                          FZ_STR_ARGS(fz_str_slice(out->path, 0, 300)), (long long)out->size_bytes,
                          (long long)spec, (long long)content);
    }
    out->spec_id = (int32_t)spec;
    out->content = (int)content;
    out->sequence_number = long_or(record, FZ_ICEBERG_ID_LIST_SEQUENCE, "sequence_number", 0);
    out->min_sequence_number =
        long_or(record, FZ_ICEBERG_ID_LIST_MIN_SEQUENCE, "min_sequence_number", 0);
    out->added_snapshot_id =
        long_or(record, FZ_ICEBERG_ID_LIST_SNAPSHOT, "added_snapshot_id", FZ_ICEBERG_NONE);
    out->added_files =
        (int32_t)long_or(record, FZ_ICEBERG_ID_LIST_ADDED, "added_files_count", FZ_ICEBERG_NONE);
    out->existing_files = (int32_t)long_or(record, FZ_ICEBERG_ID_LIST_EXISTING,
                                           "existing_files_count", FZ_ICEBERG_NONE);
    out->deleted_files = (int32_t)long_or(record, FZ_ICEBERG_ID_LIST_DELETED, "deleted_files_count",
                                          FZ_ICEBERG_NONE);
    out->added_rows =
        long_or(record, FZ_ICEBERG_ID_LIST_ADDED_ROWS, "added_rows_count", FZ_ICEBERG_NONE);
    out->existing_rows =
        long_or(record, FZ_ICEBERG_ID_LIST_EXISTING_ROWS, "existing_rows_count", FZ_ICEBERG_NONE);
    out->deleted_rows =
        long_or(record, FZ_ICEBERG_ID_LIST_DELETED_ROWS, "deleted_rows_count", FZ_ICEBERG_NONE);
    read_summaries(record, arena, out);
    out->key_metadata =
        bytes_or_none(record, FZ_ICEBERG_ID_LIST_KEY_METADATA, "key_metadata", arena);
    out->first_row_id =
        long_or(record, FZ_ICEBERG_ID_LIST_FIRST_ROW, "first_row_id", FZ_ICEBERG_NONE);
    return FZ_OK;
}

fz_code fz_iceberg_list_read(fz_str bytes, fz_arena *arena, fz_iceberg_list *out, fz_err *err) {
    fz_avro_container *container;
    fz_code code = fz_avro_container_open(bytes, NULL, &container, err);
    if (code != FZ_OK) {
        return fz_err_prepend(err, "manifest list");
    }
    FZ_VEC(fz_iceberg_manifest) manifests = {0};
    for (;;) {
        fz_arena scratch = {0};
        fz_avro_datum *record = NULL;
        fz_iceberg_manifest manifest;
        code = fz_avro_container_next(container, &scratch, &record, err);
        if (code == FZ_OK && record) {
            code = read_line(record, arena, &manifest, err);
        }
        fz_arena_deinit(&scratch);
        if (code != FZ_OK || !record) {
            break;
        }
        if (manifests.count == LIST_MANIFESTS_MAX) {
            code = fz_err_set(err, FZ_LIMIT, "manifest list has more than %d manifests",
                              LIST_MANIFESTS_MAX);
            break;
        }
        fz_vec_push(&manifests, manifest);
    }
    fz_avro_container_free(container);
    if (code == FZ_OK) {
        out->count = manifests.count;
        out->manifests = FZ_ARENA_ARRAY(arena, fz_iceberg_manifest, manifests.count);
        if (manifests.count) {
            memcpy(out->manifests, manifests.data, manifests.count * sizeof(*manifests.data));
        }
    }
    fz_vec_deinit(&manifests);
    return code;
}

static fz_avro_datum optional_bytes(fz_str bytes) {
    return bytes.data ? fz_avro_datum_bytes(bytes) : fz_avro_datum_null();
}

static fz_avro_datum summaries_datum(const fz_iceberg_manifest *manifest, fz_arena *arena) {
    if (!manifest->partitions) {
        return fz_avro_datum_null();
    }
    fz_avro_datum list = fz_avro_datum_list(arena, FZ_AVRO_DATUM_ARRAY, manifest->partition_count);
    for (size_t i = 0; i < manifest->partition_count; i++) {
        const fz_iceberg_field_summary *summary = &manifest->partitions[i];
        fz_avro_datum item = fz_avro_datum_list(arena, FZ_AVRO_DATUM_RECORD, 4);
        item.as.list.items[0] = fz_avro_datum_bool(summary->contains_null);
        item.as.list.items[1] = summary->contains_nan < 0
                                    ? fz_avro_datum_null()
                                    : fz_avro_datum_bool(summary->contains_nan != 0);
        item.as.list.items[2] = optional_bytes(summary->lower);
        item.as.list.items[3] = optional_bytes(summary->upper);
        list.as.list.items[i] = item;
    }
    return list;
}

static fz_code check_line(const fz_iceberg_manifest *m, fz_err *err) {
    // Version 1 may leave counts out; zeros would make readers skip the manifest.
    if (m->added_files < 0 || m->existing_files < 0 || m->deleted_files < 0 || m->added_rows < 0 ||
        m->existing_rows < 0 || m->deleted_rows < 0) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "manifest \"%.*s\" has no counts: rewrite the table's manifests first",
                          FZ_STR_ARGS(fz_str_slice(m->path, 0, 300)));
    }
    return FZ_OK;
}

/** In the order of the schema (manifest_schema.c). */
static fz_avro_datum line_datum(const fz_iceberg_manifest *m,
                                const fz_iceberg_list_options *options, int64_t first_row_id,
                                fz_arena *arena) {
    int64_t sequence =
        m->sequence_number == FZ_ICEBERG_NONE ? options->sequence_number : m->sequence_number;
    int64_t least = m->min_sequence_number == FZ_ICEBERG_NONE ? sequence : m->min_sequence_number;
    fz_avro_datum line =
        fz_avro_datum_list(arena, FZ_AVRO_DATUM_RECORD, options->version >= 3 ? 16 : 15);
    fz_avro_datum *at = line.as.list.items;
    *at++ = fz_avro_datum_string(m->path);
    *at++ = fz_avro_datum_long(m->size_bytes);
    *at++ = fz_avro_datum_int(m->spec_id);
    *at++ = fz_avro_datum_int(m->content);
    *at++ = fz_avro_datum_long(sequence);
    *at++ = fz_avro_datum_long(least);
    *at++ = fz_avro_datum_long(m->added_snapshot_id == FZ_ICEBERG_NONE ? options->snapshot_id
                                                                       : m->added_snapshot_id);
    *at++ = fz_avro_datum_int(m->added_files);
    *at++ = fz_avro_datum_int(m->existing_files);
    *at++ = fz_avro_datum_int(m->deleted_files);
    *at++ = fz_avro_datum_long(m->added_rows);
    *at++ = fz_avro_datum_long(m->existing_rows);
    *at++ = fz_avro_datum_long(m->deleted_rows);
    *at++ = summaries_datum(m, arena);
    *at++ = optional_bytes(m->key_metadata);
    if (options->version >= 3) {
        *at++ = first_row_id == FZ_ICEBERG_NONE ? fz_avro_datum_null()
                                                : fz_avro_datum_long(first_row_id);
    }
    FZ_ASSERT(at == line.as.list.items + line.as.list.count);
    return line;
}

static void put_number(json_t *metadata, const char *key, int64_t value) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    json_object_set_new(metadata, key, json_string(text));
}

static json_t *header(const fz_iceberg_list_options *options) {
    json_t *metadata = json_object();
    put_number(metadata, "snapshot-id", options->snapshot_id);
    if (options->parent_id == FZ_ICEBERG_NONE) {
        json_object_set_new(metadata, "parent-snapshot-id", json_string("null")); // as Java
    } else {
        put_number(metadata, "parent-snapshot-id", options->parent_id);
    }
    put_number(metadata, "sequence-number", options->sequence_number);
    if (options->version >= 3) {
        put_number(metadata, "first-row-id", options->first_row_id);
    }
    put_number(metadata, "format-version", options->version);
    return metadata;
}

fz_code fz_iceberg_list_write(const fz_iceberg_list *list, const fz_iceberg_list_options *options,
                              fz_buf *out, int64_t *added_rows, fz_err *err) {
    json_t *schema = fz_iceberg_list_schema(options->version);
    json_t *metadata = header(options);
    fz_avro_writer *writer = NULL;
    fz_code code = fz_avro_writer_new(schema, metadata, FZ_CODEC_DEFLATE, out, &writer, err);
    json_decref(schema);
    json_decref(metadata);
    int64_t next_row_id = options->first_row_id;
    for (size_t i = 0; i < list->count && code == FZ_OK; i++) {
        const fz_iceberg_manifest *m = &list->manifests[i];
        code = check_line(m, err);
        int64_t first = m->first_row_id;
        if (code == FZ_OK && options->version >= 3 && m->content == 0 && first == FZ_ICEBERG_NONE) {
            first = next_row_id;
            if (__builtin_add_overflow(next_row_id, m->added_rows, &next_row_id) ||
                __builtin_add_overflow(next_row_id, m->existing_rows, &next_row_id)) {
                code = fz_err_set(err, FZ_LIMIT, "row ids of the table are used up");
            }
        }
        if (code == FZ_OK) {
            fz_arena arena = {0};
            fz_avro_datum line = line_datum(m, options, first, &arena);
            code = fz_avro_writer_append(writer, &line, err);
            fz_arena_deinit(&arena);
        }
    }
    if (code == FZ_OK) {
        code = fz_avro_writer_finish(writer, err);
    }
    fz_avro_writer_free(writer);
    if (code == FZ_OK && added_rows) {
        *added_rows = next_row_id - options->first_row_id;
    }
    return code;
}
