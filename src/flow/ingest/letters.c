// SPDX-License-Identifier: Apache-2.0
// Dead letters on the lane's side: columns, batch, staged files.
#include "flow/ingest/letters.h"

#include "base/codec/text_codec.h"
#include "base/memory.h"

/** Letters collected before they are encoded. */
#define LETTER_ROWS 256
#define LETTER_BYTES (1 << 20)

struct fz_letters {
    fz_stream *stream;
    fz_layout *layout;
    fz_batch *batch;
    fz_files *files;
    int64_t bytes;
};

static const struct {
    const char *name;
    fz_type_kind kind;
    bool required;
} columns[FZ_LETTERS_COLUMNS] = {
    [FZ_LETTERS_TOPIC] = {"topic", FZ_TYPE_STRING, true},
    [FZ_LETTERS_PARTITION] = {"partition", FZ_TYPE_INT, true},
    [FZ_LETTERS_OFFSET] = {"offset", FZ_TYPE_LONG, true},
    [FZ_LETTERS_TIMESTAMP] = {"timestamp", FZ_TYPE_TIMESTAMPTZ, false},
    [FZ_LETTERS_KEY] = {"key", FZ_TYPE_BINARY, false},
    [FZ_LETTERS_VALUE] = {"value", FZ_TYPE_BINARY, false},
    [FZ_LETTERS_HEADERS] = {"headers", FZ_TYPE_LIST, false},
    [FZ_LETTERS_ERROR] = {"error", FZ_TYPE_STRING, true},
    [FZ_LETTERS_MESSAGE] = {"message", FZ_TYPE_STRING, false},
    [FZ_LETTERS_SCHEMA_ID] = {"schema_id", FZ_TYPE_INT, false},
    [FZ_LETTERS_FAILED_AT] = {"failed_at", FZ_TYPE_TIMESTAMPTZ, true},
};

fz_schema *fz_letters_schema(void) {
    fz_schema *schema = fz_schema_new();
    schema->root.kind = FZ_TYPE_STRUCT;
    schema->root.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, FZ_LETTERS_COLUMNS);
    schema->root.field_count = FZ_LETTERS_COLUMNS;
    for (int i = 0; i < FZ_LETTERS_COLUMNS; i++) {
        fz_field *field = &schema->root.fields[i];
        field->name = fz_str_from(columns[i].name);
        field->required = columns[i].required;
        field->type.kind = columns[i].kind;
        if (columns[i].kind == FZ_TYPE_LIST) {
            fz_layout_headers_type(&schema->arena, &field->type);
        }
    }
    int32_t last = 0;
    fz_type_assign_ids(&schema->root, &last);
    fz_schema_finish(schema);
    return schema;
}

fz_layout *fz_letters_layout(fz_iceberg_metadata *metadata) {
    fz_layout *layout = (fz_layout *)fz_calloc(1, sizeof *layout);
    layout->references = 1;
    layout->metadata = metadata ? fz_iceberg_metadata_ref(metadata) : NULL;
    layout->schema = fz_letters_schema();
    layout->format_version = 2;
    // a home's position can be proven by its rows
    layout->link = json_pack("{s:i,s:i,s:i}", "m:topic", FZ_LETTERS_TOPIC + 1, "m:partition",
                             FZ_LETTERS_PARTITION + 1, "m:offset", FZ_LETTERS_OFFSET + 1);
    return layout;
}

fz_letters *fz_letters_new(fz_stream *stream) {
    fz_letters *letters = (fz_letters *)fz_calloc(1, sizeof *letters);
    letters->stream = stream;
    fz_mutex_lock(&stream->mutex);
    letters->layout = fz_letters_layout(stream->metadata);
    fz_mutex_unlock(&stream->mutex);
    letters->batch = fz_batch_new(letters->layout->schema, stream->host->budget);
    return letters;
}

void fz_letters_free(fz_letters *letters) {
    if (letters) {
        fz_files_free(letters->files);
        fz_batch_free(letters->batch);
        fz_layout_unref(letters->layout);
        fz_free(letters);
    }
}

/** A home's own files are its data; others are staged below the main table, in no table until the
 * outbox delivers them. */
static fz_code open_files(fz_letters *letters, fz_err *err) {
    if (letters->files) {
        return FZ_OK;
    }
    const fz_stream *stream = letters->stream;
    char *location =
        fz_str_printf("%.*s%s", FZ_STR_ARGS(fz_iceberg_metadata_base(letters->layout->metadata)),
                      stream->by_record ? "" : "/data/_dead_letters");
    fz_files_options options = {
        .layout = letters->layout,
        .store = stream->table.store,
        .location = fz_str_from(location),
        .instance = stream->host->instance,
        .config = &stream->entry->files,
        .clock = stream->host->clock,
        .budget = stream->host->budget,
    };
    fz_code code = fz_files_new(&options, letters->batch, &letters->files, err);
    fz_free(location);
    return code;
}

static fz_code spill(fz_letters *letters, fz_err *err) {
    if (letters->batch->rows == 0) {
        return FZ_OK;
    }
    FZ_TRY(open_files(letters, err));
    FZ_TRY(fz_files_append(letters->files, err));
    fz_batch_reset(letters->batch);
    letters->bytes = 0;
    return FZ_OK;
}

static fz_code append_bytes(fz_column *column, const uint8_t *data, size_t size, fz_err *err) {
    return data ? fz_column_append_bytes(column, data, size, err)
                : fz_column_append_null(column, err);
}

/** Text out of a record, or that may quote it: a letter must be readable whatever it says. */
static fz_code append_text(fz_column *column, fz_str text, fz_err *err) {
    if (fz_utf8_valid(text.data, text.size)) {
        return fz_column_append_bytes(column, text.data, text.size, err);
    }
    FZ_CLEANUP(fz_buf_deinit) fz_buf valid = {0};
    fz_utf8_append_lossy(&valid, text);
    return fz_column_append_bytes(column, valid.data, valid.size, err);
}

static fz_code append_headers(fz_letters *letters, fz_column *list, const fz_record *record,
                              fz_err *err) {
    fz_column *element = &list->children[0];
    fz_str name, value;
    bool is_null;
    for (size_t i = 0;
         fz_record_header(letters->stream->host->source, record, i, &name, &value, &is_null); i++) {
        FZ_TRY(append_text(&element->children[0], name, err));
        FZ_TRY(append_bytes(&element->children[1],
                            is_null ? NULL : (const uint8_t *)(value.data ? value.data : ""),
                            value.size, err));
        FZ_TRY(fz_column_append_struct(element, err));
    }
    return fz_column_append_list(list, err);
}

static fz_code append_row(fz_letters *letters, int32_t partition, const fz_record *record,
                          const char *kind, const char *message, int32_t schema_id, fz_err *err) {
    fz_column *at = letters->batch->columns;
    const char *topic = letters->stream->topic;
    FZ_TRY(fz_column_append_bytes(&at[FZ_LETTERS_TOPIC], topic, strlen(topic), err));
    FZ_TRY(fz_column_append_i32(&at[FZ_LETTERS_PARTITION], partition, err));
    FZ_TRY(fz_column_append_i64(&at[FZ_LETTERS_OFFSET], record->offset, err));
    bool timed = record->timestamp_ms >= 0 && record->timestamp_ms <= INT64_MAX / 1000;
    FZ_TRY(timed ? fz_column_append_i64(&at[FZ_LETTERS_TIMESTAMP], record->timestamp_ms * 1000, err)
                 : fz_column_append_null(&at[FZ_LETTERS_TIMESTAMP], err));
    FZ_TRY(append_bytes(&at[FZ_LETTERS_KEY], record->key, record->key_size, err));
    FZ_TRY(append_bytes(&at[FZ_LETTERS_VALUE], record->value, record->value_size, err));
    FZ_TRY(append_headers(letters, &at[FZ_LETTERS_HEADERS], record, err));
    FZ_TRY(fz_column_append_bytes(&at[FZ_LETTERS_ERROR], kind, strlen(kind), err));
    FZ_TRY(append_text(&at[FZ_LETTERS_MESSAGE], fz_str_from(message), err));
    FZ_TRY(schema_id >= 0 ? fz_column_append_i32(&at[FZ_LETTERS_SCHEMA_ID], schema_id, err)
                          : fz_column_append_null(&at[FZ_LETTERS_SCHEMA_ID], err));
    return fz_column_append_i64(&at[FZ_LETTERS_FAILED_AT],
                                fz_clock_wall_us(letters->stream->host->clock), err);
}

fz_code fz_letters_append(fz_letters *letters, int32_t partition, const fz_record *record,
                          const char *kind, const char *message, int32_t schema_id, fz_err *err) {
    int64_t before = letters->batch->rows;
    fz_code code = append_row(letters, partition, record, kind, message, schema_id, err);
    if (code == FZ_LIMIT && before > 0) {
        fz_batch_truncate(letters->batch, before);
        FZ_TRY(spill(letters, err));
        before = 0;
        code = append_row(letters, partition, record, kind, message, schema_id, err);
    }
    if (code != FZ_OK) {
        fz_batch_truncate(letters->batch, before);
        return code;
    }
    letters->batch->rows = before + 1;
    letters->bytes += (int64_t)(record->key_size + record->value_size);
    bool full = letters->batch->rows >= LETTER_ROWS || letters->bytes >= LETTER_BYTES;
    return full ? spill(letters, err) : FZ_OK;
}

fz_code fz_letters_finish(fz_letters *letters, fz_iceberg_append *files, int64_t *bytes,
                          int64_t *oldest_ms, fz_err *err) {
    FZ_TRY(spill(letters, err));
    if (!letters->files) {
        return FZ_OK;
    }
    int64_t written = 0, begun_ms = fz_files_oldest_ms(letters->files);
    FZ_TRY(fz_files_finish(letters->files, files, &written, err));
    *bytes += written;
    if (begun_ms > 0 && (*oldest_ms == 0 || begun_ms < *oldest_ms)) {
        *oldest_ms = begun_ms;
    }
    return FZ_OK;
}
