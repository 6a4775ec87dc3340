// SPDX-License-Identifier: Apache-2.0
// Records to rows, rows to files, files to a cut.
#include "flow/ingest/rows.h"

#include <stdio.h>

#include "base/memory.h"
#include "flow/ingest/files.h"
#include "flow/ingest/letters.h"
#include "flow/ingest/meta_columns.h"
#include "io/registry/frame.h"

/** Rows, and bytes of records, that are collected before they are encoded. */
#define BATCH_ROWS 8192
#define BATCH_BYTES (4 << 20)

/** How records of one writer schema become rows of the present layout. */
typedef struct plan {
    int32_t id;
    bool has_guid;
    uint8_t guid[16];
    fz_writer_schema_entry *schema;
    fz_decoder *decoder; // NULL: not opened for this layout yet
    fz_code refused;     // the schema cannot be brought into the table
    fz_err why;
} plan;

/** Plans of one side of the record. */
typedef struct plans {
    fz_evolve_side side;
    fz_writer_schemas *schemas;
    const fz_config_side *config;
    const char *header;
    FZ_VEC(plan *) all;
    plan *last;
} plans;

struct fz_rows {
    fz_stream *stream;
    const fz_ingest_host *host;
    int lane;
    fz_layout *layout;
    fz_batch *batch;
    fz_files *files;
    fz_meta_columns *meta;
    plans value;
    plans key; // schemas NULL: no key columns
    int64_t batch_bytes;
    fz_iceberg_append *early; // files of older layouts since the last cut
    int64_t early_bytes;
    int64_t early_oldest_ms;
    fz_stream_counts counts; // since the last cut
    fz_letters *letters;     // NULL: none since the last cut
    // of the rows in the batch, for errors that show late
    fz_stream_part *row_part[BATCH_ROWS];
    int64_t row_offset[BATCH_ROWS];
    int32_t record_schema_id; // of the record being taken, -1: not read yet
};

fz_rows *fz_rows_new(fz_stream *stream, int lane) {
    fz_rows *rows = (fz_rows *)fz_calloc(1, sizeof *rows);
    rows->stream = stream;
    rows->host = stream->host;
    rows->lane = lane;
    rows->value = (plans){.side = FZ_EVOLVE_VALUE,
                          .schemas = stream->schemas,
                          .config = &stream->entry->value,
                          .header = FZ_REGISTRY_VALUE_HEADER};
    rows->key = (plans){.side = FZ_EVOLVE_KEY,
                        .schemas = stream->key_schemas,
                        .config = &stream->entry->key,
                        .header = FZ_REGISTRY_KEY_HEADER};
    rows->early = fz_iceberg_append_new(FZ_STR("00000000-0000-0000-0000-000000000000"));
    return rows;
}

static void close_plans(plans *of) {
    for (size_t i = 0; i < of->all.count; i++) {
        fz_decoder_free(of->all.data[i]->decoder);
        of->all.data[i]->decoder = NULL;
        of->all.data[i]->refused = FZ_OK;
    }
}

static void free_plans(plans *of) {
    for (size_t i = 0; i < of->all.count; i++) {
        fz_free(of->all.data[i]);
    }
    fz_vec_deinit(&of->all);
}

static void drop_layout(fz_rows *rows) {
    close_plans(&rows->value);
    close_plans(&rows->key);
    fz_files_free(rows->files);
    rows->files = NULL;
    fz_meta_columns_free(rows->meta);
    rows->meta = NULL;
    fz_batch_free(rows->batch);
    rows->batch = NULL;
    fz_layout_unref(rows->layout);
    rows->layout = NULL;
}

void fz_rows_free(fz_rows *rows) {
    if (!rows) {
        return;
    }
    drop_layout(rows);
    fz_letters_free(rows->letters);
    free_plans(&rows->value);
    free_plans(&rows->key);
    fz_iceberg_append_free(rows->early);
    fz_free(rows);
}

// --- files

/** Encode what the batch holds. */
static fz_code spill(fz_rows *rows, fz_err *err);

static void earlier(int64_t *oldest, int64_t ms) {
    if (ms > 0 && (*oldest == 0 || ms < *oldest)) {
        *oldest = ms;
    }
}

/** Files of the layout so far are finished; they go with the next cut. */
static fz_code finish_files(fz_rows *rows, fz_err *err) {
    if (!rows->files) {
        return FZ_OK;
    }
    FZ_TRY(spill(rows, err));
    int64_t bytes = 0;
    earlier(&rows->early_oldest_ms, fz_files_oldest_ms(rows->files));
    FZ_TRY(fz_files_finish(rows->files, rows->early, &bytes, err));
    rows->early_bytes += bytes;
    return FZ_OK;
}

/** Change over to a newer layout. */
static fz_code use_layout(fz_rows *rows, fz_layout *layout, fz_err *err) {
    if (rows->layout == layout) {
        return FZ_OK;
    }
    FZ_TRY(finish_files(rows, err));
    drop_layout(rows);
    rows->layout = fz_layout_ref(layout);
    rows->batch = fz_batch_new(layout->schema, rows->host->budget);
    rows->meta = fz_meta_columns_new(layout, rows->batch, rows->host->source,
                                     fz_str_from(rows->stream->topic));
    const fz_config_entry *entry = rows->stream->entry;
    fz_files_options options = {
        .layout = layout,
        .store = rows->stream->table.store,
        .location = fz_iceberg_metadata_base(rows->stream->metadata),
        .instance = rows->host->instance,
        .target_file_size = entry->target_file_size,
        .row_group_size = entry->row_group_size,
        .compression = entry->compression,
        .clock = rows->host->clock,
        .budget = rows->host->budget,
    };
    return fz_files_new(&options, rows->batch, &rows->files, err);
}

// --- bad records

/** Into the lane's letters; they are made with the first one. */
static fz_code dead_letter(fz_rows *rows, fz_stream_part *part, const fz_record *record,
                           const fz_err *why, fz_err *err) {
    if (!rows->letters) {
        rows->letters = fz_letters_new(rows->stream);
    }
    FZ_TRY(fz_letters_append(rows->letters, part->partition, record, why->kind, why->text,
                             rows->record_schema_id, err));
    rows->counts.dead_letters++;
    return FZ_OK;
}

/**
 * By the entry's rule: OK, the record is settled; CANCELLED, the stream is suspended at it.
 * record NULL: it is no longer there (a row that no partition can hold).
 */
static fz_code bad_record(fz_rows *rows, fz_stream_part *part, const fz_record *record,
                          int64_t offset, fz_err *err) {
    fz_stream *stream = rows->stream;
    fz_err why = *err;
    why.kind = why.kind ? why.kind : fz_code_name(why.code);
    FZ_LOG(rows->host->log, FZ_LOG_WARN, "bad_record", FZ_KV_TEXT("topic", stream->topic),
           FZ_KV_INT("partition", part->partition), FZ_KV_INT("offset", offset),
           FZ_KV_TEXT("kind", why.kind), FZ_KV_TEXT("error", why.text));
    if (stream->entry->on_error == FZ_ON_ERROR_SKIP) {
        rows->counts.skipped++;
        return FZ_OK;
    }
    if (stream->letters_name && record) {
        return dead_letter(rows, part, record, &why, err);
    }
    fz_err_set_kind(err, why.code, why.kind, "topic \"%s\" partition %d offset %lld: %s",
                    stream->topic, part->partition, (long long)offset, why.text);
    fz_stream_suspend(stream, err, part->partition, offset);
    err->code = FZ_CANCELLED;
    return FZ_CANCELLED;
}

/** A row that no partition can hold leaves the batch. */
static fz_code drop_row(fz_rows *rows, int64_t row, fz_err *err) {
    fz_stream_part *part = rows->row_part[row];
    FZ_TRY(bad_record(rows, part, NULL, rows->row_offset[row], err));
    uint32_t *index = (uint32_t *)fz_calloc((size_t)rows->batch->rows, sizeof *index);
    size_t count = 0;
    for (int64_t i = 0; i < rows->batch->rows; i++) {
        if (i != row) {
            rows->row_part[count] = rows->row_part[i];
            rows->row_offset[count] = rows->row_offset[i];
            index[count++] = (uint32_t)i;
        }
    }
    fz_batch *kept = fz_batch_new(rows->layout->schema, rows->host->budget);
    fz_code code = fz_batch_take(kept, rows->batch, index, count, err);
    if (code == FZ_OK) {
        fz_batch_reset(rows->batch);
        for (size_t i = 0; i < count; i++) {
            index[i] = (uint32_t)i;
        }
        code = fz_batch_take(rows->batch, kept, index, count, err);
    }
    fz_batch_free(kept);
    fz_free(index);
    rows->counts.rows--;
    return code;
}

static fz_code spill(fz_rows *rows, fz_err *err) {
    fz_code code = FZ_OK;
    fz_err why;
    while (rows->batch && rows->batch->rows > 0) {
        code = fz_files_append(rows->files, &why);
        if (code != FZ_LIMIT || !why.kind || strcmp(why.kind, "out_of_range") != 0) {
            break;
        }
        int64_t row = why.offset;
        code = drop_row(rows, row, &why);
        if (code != FZ_OK) {
            break;
        }
    }
    if (code != FZ_OK) {
        if (err) {
            *err = why;
        }
        return code;
    }
    if (rows->batch) {
        fz_batch_reset(rows->batch);
    }
    rows->batch_bytes = 0;
    return FZ_OK;
}

// --- records

static plan *plan_find(plans *of, const fz_registry_frame *frame) {
    plan *last = of->last;
    if (FZ_LIKELY(last && !frame->has_guid && !last->has_guid && last->id == frame->id)) {
        return last;
    }
    for (size_t i = 0; i < of->all.count; i++) {
        plan *p = of->all.data[i];
        if (p->has_guid == frame->has_guid &&
            (frame->has_guid ? memcmp(p->guid, frame->guid, 16) == 0 : p->id == frame->id)) {
            return of->last = p;
        }
    }
    return NULL;
}

/** Bind the schema and open its decoder on the layout that comes out, which may be a newer one. */
static fz_code plan_open(fz_rows *rows, plans *of, plan *p, fz_err *err) {
    fz_layout *layout = NULL;
    fz_schema *bound = NULL;
    fz_code code = fz_stream_bind(rows->stream, p->schema, of->side, &layout, &bound, err);
    if (code != FZ_OK) {
        p->refused = code;
        p->why = *err;
        return code;
    }
    code = use_layout(rows, layout, err);
    if (code == FZ_OK) {
        code = fz_decoder_open(p->schema->schema, bound, layout->schema, layout->owned[of->side],
                               &p->decoder, err);
        if (code != FZ_OK) {
            p->refused = code;
            p->why = *err;
        }
    }
    fz_schema_unref(bound);
    fz_layout_unref(layout);
    return code;
}

/** The plan of a frame, ready to decode. */
static fz_code plan_of(fz_rows *rows, plans *of, const fz_registry_frame *frame, plan **out,
                       fz_err *err) {
    plan *p = plan_find(of, frame);
    if (!p) {
        fz_writer_schema_entry *schema = NULL;
        FZ_TRY(fz_writer_schemas_find(of->schemas, frame, &schema, err));
        p = (plan *)fz_calloc(1, sizeof *p);
        p->id = frame->id;
        p->has_guid = frame->has_guid;
        memcpy(p->guid, frame->guid, 16);
        p->schema = schema;
        fz_vec_push(&of->all, p);
        of->last = p;
    }
    if (p->refused != FZ_OK) {
        *err = p->why;
        return p->refused;
    }
    if (!p->decoder) {
        FZ_TRY(plan_open(rows, of, p, err));
    }
    *out = p;
    return FZ_OK;
}

/** The frame of a value or key: of the last header of that name, else in front of it. */
static fz_code frame_of(fz_rows *rows, const plans *of, const fz_record *record, fz_str bytes,
                        fz_registry_frame *frame, fz_err *err) {
    fz_str name, value, found = {0};
    bool is_null;
    for (size_t i = 0;
         fz_record_header(rows->host->source, record, i, &name, &value, &is_null); i++) {
        if (fz_str_equal(name, fz_str_from(of->header))) {
            found = is_null ? (fz_str){0} : fz_str_make(value.data ? value.data : "", value.size);
        }
    }
    if (found.data) {
        return fz_registry_frame_parse_header(found, frame, err);
    }
    return fz_registry_frame_parse((const uint8_t *)bytes.data, bytes.size, frame, err);
}

/** Framed bytes name their schema; others have the one that the entry gives. */
static fz_code find_plan(fz_rows *rows, plans *of, const fz_record *record, fz_str bytes, plan **out,
                         size_t *payload_at, fz_err *err) {
    fz_registry_frame frame = {.id = -1};
    fz_config_format format = of->config->format;
    bool framed = of->config->framing == FZ_FRAMING_CONFLUENT && format != FZ_CONFIG_FORMAT_STRING &&
                  format != FZ_CONFIG_FORMAT_BYTES && of->config->mode != FZ_KEY_MODE_BYTES;
    if (framed) {
        FZ_TRY(frame_of(rows, of, record, bytes, &frame, err));
    }
    if (of->side == FZ_EVOLVE_VALUE) {
        rows->record_schema_id = frame.has_guid ? -1 : frame.id;
    }
    *payload_at = frame.payload_at;
    return plan_of(rows, of, &frame, out, err);
}

/** Null in every column of a side. */
static fz_code take_nulls(fz_rows *rows, fz_evolve_side side, fz_err *err) {
    for (size_t i = 0; i < rows->batch->column_count; i++) {
        if (rows->layout->owned[side][i]) {
            FZ_TRY(fz_column_append_null(&rows->batch->columns[i], err));
        }
    }
    return FZ_OK;
}

static fz_code decode_side(fz_rows *rows, plan *p, const uint8_t *data, size_t size, fz_err *err) {
    return p ? fz_decoder_decode(p->decoder, data, size, rows->batch, err)
             : take_nulls(rows, FZ_EVOLVE_KEY, err);
}

/** Both plans on one layout: opening one may bring a newer layout, on which the other must be opened again. */
static fz_code find_plans(fz_rows *rows, const fz_record *record, plan **value, size_t *value_at,
                          plan **key, size_t *key_at, fz_err *err) {
    const fz_layout *layout;
    *key = NULL;
    do {
        layout = rows->layout;
        if (rows->key.schemas && record->key) {
            fz_str bytes = fz_str_make(record->key, record->key_size);
            FZ_TRY(find_plan(rows, &rows->key, record, bytes, key, key_at, err));
        }
        fz_str bytes = fz_str_make(record->value, record->value_size);
        FZ_TRY(find_plan(rows, &rows->value, record, bytes, value, value_at, err));
    } while (FZ_UNLIKELY(rows->layout != layout));
    return FZ_OK;
}

static fz_code take_value(fz_rows *rows, int32_t partition, const fz_record *record, fz_err *err) {
    plan *value = NULL, *key = NULL;
    size_t value_at = 0, key_at = 0;
    FZ_TRY(find_plans(rows, record, &value, &value_at, &key, &key_at, err));
    int64_t before = rows->batch->rows;
    fz_code code = fz_decoder_decode(value->decoder, record->value + value_at,
                                     record->value_size - value_at, rows->batch, err);
    if (FZ_LIKELY(code == FZ_OK) && rows->key.schemas) {
        code = decode_side(rows, key, key ? record->key + key_at : NULL,
                           key ? record->key_size - key_at : 0, err);
    }
    if (FZ_LIKELY(code == FZ_OK)) {
        fz_meta_columns_set_partition(rows->meta, partition);
        code = fz_meta_columns_append(rows->meta, record, rows->record_schema_id, err);
    }
    if (FZ_UNLIKELY(code != FZ_OK)) {
        fz_batch_truncate(rows->batch, before);
        return code;
    }
    rows->batch->rows = before + 1;
    return FZ_OK;
}

/** Is the failure the record's own, not ours or the network's? */
static bool of_record(const fz_rows *rows, fz_code code, const fz_err *err) {
    bool of_schema = code == FZ_UNSUPPORTED ||
                     (code == FZ_CORRUPT && err->kind && strcmp(err->kind, "schema_parse") == 0);
    if (of_schema) {
        return rows->stream->entry->evolution.incompatible == FZ_POLICY_RECORD_ERROR;
    }
    if (code == FZ_CORRUPT || code == FZ_NOT_FOUND) {
        return true;
    }
    return code == FZ_LIMIT && err->kind != NULL;
}

static fz_code take_record(fz_rows *rows, fz_stream_part *part, const fz_record *record, fz_err *err) {
    rows->record_schema_id = -1;
    if (FZ_UNLIKELY(!record->value)) {
        rows->counts.tombstones++;
        return FZ_OK;
    }
    if (FZ_UNLIKELY((int64_t)(record->value_size + record->key_size) >
                    rows->host->config->max_record_size)) {
        fz_err_set_kind(err, FZ_CORRUPT, "too_large", "%zu bytes, max_record_size is %lld",
                        record->value_size + record->key_size,
                        (long long)rows->host->config->max_record_size);
        return bad_record(rows, part, record, record->offset, err);
    }
    fz_code code = take_value(rows, part->partition, record, err);
    if (code == FZ_LIMIT && !err->kind && rows->batch && rows->batch->rows > 0) {
        FZ_TRY(spill(rows, err)); // memory: encode what is there and try once more
        code = take_value(rows, part->partition, record, err);
    }
    if (FZ_UNLIKELY(code != FZ_OK)) {
        if (of_record(rows, code, err)) {
            return bad_record(rows, part, record, record->offset, err);
        }
        if (code == FZ_UNSUPPORTED || code == FZ_CORRUPT) {
            fz_stream_suspend(rows->stream, err, -1, -1);
            return FZ_CANCELLED;
        }
        return code;
    }
    int64_t row = rows->batch->rows - 1;
    rows->row_part[row] = part;
    rows->row_offset[row] = record->offset;
    rows->counts.rows++;
    rows->batch_bytes += (int64_t)(record->value_size + record->key_size);
    part->last_row = record->offset;
    if (row + 1 >= BATCH_ROWS || rows->batch_bytes >= BATCH_BYTES) {
        return spill(rows, err);
    }
    return FZ_OK;
}

fz_code fz_rows_take(fz_rows *rows, fz_stream_part *part, fz_err *err) {
    fz_fetch *fetch = &part->fetch;
    size_t first = part->at;
    int64_t bytes = 0;
    fz_code code = FZ_OK;
    while (part->at < fetch->count && code == FZ_OK) {
        const fz_record *record = &fetch->records[part->at];
        if (part->target >= 0 && record->offset >= part->target) {
            part->next = part->target;
            part->done = true;
            break;
        }
        code = take_record(rows, part, record, err);
        if (code == FZ_OK) {
            part->next = record->offset + 1;
            part->at++;
            bytes += (int64_t)(record->value_size + record->key_size);
        }
    }
    if (part->at > first) {
        const fz_record *last = &fetch->records[part->at - 1];
        part->fingerprint = (fz_commit_fingerprint){part->partition, last->offset, last->timestamp_ms,
                                                    fz_record_hash(last)};
    }
    if (code == FZ_OK && part->at == fetch->count && fetch->end && fetch->end_offset > part->next) {
        part->next = fetch->end_offset;
    }
    part->done = part->done || (part->target >= 0 && part->next >= part->target);
    rows->stream->moved = rows->stream->moved || part->next > part->start;
    rows->stream->open_rows += (int64_t)(part->at - first);
    rows->stream->open_bytes += bytes;
    if (code == FZ_UNAVAILABLE) {
        part->retry_at_ms = fz_clock_mono_ms(rows->host->clock) + 500;
    }
    return code;
}

fz_code fz_rows_cut(fz_rows *rows, fz_stream_part *const *parts, size_t count, fz_err *err) {
    FZ_TRY(finish_files(rows, err));
    fz_stream *stream = rows->stream;
    FZ_CLEANUP(fz_json_release) json_t *letters = json_array();
    if (rows->letters) {
        FZ_TRY(fz_letters_finish(rows->letters, letters, err));
        fz_letters_free(rows->letters);
        rows->letters = NULL;
    }
    fz_mutex_lock(&stream->mutex);
    json_array_extend(stream->cut.letters, letters);
    for (size_t i = 0; i < fz_iceberg_append_count(rows->early); i++) {
        fz_iceberg_append_add(stream->cut.files, fz_iceberg_append_at(rows->early, i));
    }
    for (size_t i = 0; i < count; i++) {
        fz_stream_part *part = parts[i];
        if (part->next > part->start) {
            fz_commit_move move = {.partition = part->partition,
                                   .generation = part->generation,
                                   .start = part->start,
                                   .end = part->next,
                                   .last_row = part->last_row,
                                   .fingerprint = part->fingerprint};
            fz_vec_push(&stream->cut.moves, move);
            part->start = part->next;
            part->last_row = -1;
        }
    }
    fz_stream_counts_add(&stream->cut.counts, &rows->counts);
    stream->cut.bytes += rows->early_bytes;
    earlier(&stream->cut.oldest_file_ms, rows->early_oldest_ms);
    fz_mutex_unlock(&stream->mutex);
    memset(&rows->counts, 0, sizeof rows->counts);
    fz_iceberg_append_free(rows->early);
    rows->early = fz_iceberg_append_new(FZ_STR("00000000-0000-0000-0000-000000000000"));
    rows->early_bytes = rows->early_oldest_ms = 0;
    return FZ_OK;
}
