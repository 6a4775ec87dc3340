// SPDX-License-Identifier: Apache-2.0
// What a run did, for people and programs (interface.md section 3).
#include <stdio.h>
#include <stdlib.h>

#include "flow/ingest/record_tables.h"
#include "flow/ingest/service.h"

static json_t *report_error(const fz_stream *stream) {
    bool bad = stream->state == FZ_STREAM_SUSPENDED || stream->state == FZ_STREAM_FAILED ||
               stream->state == FZ_STREAM_DEGRADED || stream->state == FZ_STREAM_PAUSED;
    if (!bad || stream->err.text[0] == 0) {
        return json_null();
    }
    json_t *error = json_object();
    fz_json_set_str(
        error, "kind",
        fz_str_from(stream->err.kind ? stream->err.kind : fz_code_name(stream->err.code)));
    fz_json_set_str(error, "message", fz_str_from(stream->err.text));
    json_object_set_new(error, "partition",
                        stream->err_partition >= 0 ? json_integer(stream->err_partition)
                                                   : json_null());
    json_object_set_new(error, "offset",
                        stream->err_offset >= 0 ? json_integer(stream->err_offset) : json_null());
    return error;
}

static json_t *report_stream(fz_stream *stream) {
    json_t *object = json_object();
    fz_mutex_lock(&stream->mutex);
    fz_json_set_str(object, "topic", fz_str_from(stream->topic));
    fz_json_set_str(object, "table", fz_str_from(stream->full_name));
    fz_json_set_str(object, "state", fz_str_from(fz_stream_state_name(stream->state)));
    fz_json_set_int(object, "rows", stream->run.rows);
    fz_json_set_int(object, "dead_letters", stream->run.dead_letters);
    fz_json_set_int(object, "skipped", stream->run.skipped);
    fz_json_set_int(object, "tombstones", stream->run.tombstones);
    json_object_set_new(object, "error", report_error(stream));
    json_t *watermark = json_object();
    for (int32_t p = 0; stream->opened && p < stream->part_count; p++) {
        char key[16];
        snprintf(key, sizeof key, "%d", p);
        fz_json_set_int(watermark, key, stream->parts[p].committed);
    }
    json_object_set_new(object, "watermark", watermark);
    fz_iceberg_snapshot main;
    bool has_main = stream->metadata && fz_iceberg_metadata_main(stream->metadata, &main);
    json_object_set_new(object, "snapshot_id",
                        has_main ? json_integer(main.snapshot_id) : json_null());
    json_object_set_new(object, "metadata_location",
                        stream->metadata ? fz_json_string(stream->metadata->location)
                                         : json_null());
    fz_mutex_unlock(&stream->mutex);
    return object;
}

/** A record type's table: the home's object with what is its own. Watermarks are the home's (R21).
 */
static json_t *report_record_table(const fz_record_table *table, const json_t *home, bool refused) {
    json_t *object = json_deep_copy(home);
    fz_json_set_str(object, "table", fz_str_from(table->full_name));
    fz_json_set_int(object, "rows", table->run.rows);
    fz_json_set_int(object, "dead_letters", 0);
    fz_json_set_int(object, "skipped", 0);
    fz_json_set_int(object, "tombstones", 0);
    if (table->err.code != FZ_OK) {
        json_t *error = json_object();
        const char *kind = table->err.kind ? table->err.kind : fz_code_name(table->err.code);
        fz_json_set_str(error, "kind", fz_str_from(kind));
        fz_json_set_str(error, "message", fz_str_from(table->err.text));
        json_object_set_new(error, "partition", json_null());
        json_object_set_new(error, "offset", json_null());
        json_object_set_new(object, "error", error);
        bool person = table->err.code == FZ_INVALID;
        fz_json_set_str(object, "state", person ? FZ_STR("suspended") : FZ_STR("failed"));
    }
    if (table->err.code == FZ_OK && refused) { // another table's trouble is not this one's
        json_object_set_new(object, "error", json_null());
        fz_json_set_str(object, "state", FZ_STR("done"));
    }
    fz_iceberg_snapshot main;
    bool has_main = table->metadata && fz_iceberg_metadata_main(table->metadata, &main);
    json_object_set_new(object, "snapshot_id",
                        has_main ? json_integer(main.snapshot_id) : json_null());
    json_object_set_new(object, "metadata_location",
                        table->metadata ? fz_json_string(table->metadata->location) : json_null());
    return object;
}

static void report_all(fz_stream *stream, json_t *topics) {
    json_t *home = report_stream(stream);
    json_array_append_new(topics, home);
    bool refused = false; // a delivery failed the stream, not its records or its home
    for (size_t i = 0; i < stream->tables.count; i++) {
        refused = refused || stream->tables.data[i]->err.code != FZ_OK;
    }
    refused = refused && stream->state == FZ_STREAM_FAILED;
    for (size_t i = 0; i < stream->tables.count; i++) {
        json_array_append_new(topics, report_record_table(stream->tables.data[i], home, refused));
    }
}

void fz_service_report(const fz_service *service, fz_buf *out) {
    json_t *topics = json_array();
    for (size_t i = 0; i < fz_service_stream_count(service); i++) {
        report_all(fz_service_stream_at(service, i), topics);
    }
    json_t *report = json_object();
    json_object_set_new(report, "topics", topics);
    char *text = json_dumps(report, JSON_COMPACT);
    fz_buf_printf(out, "%s\n", text);
    free(text);
    json_decref(report);
}

void fz_service_report_text(const fz_service *service, fz_buf *out) {
    for (size_t i = 0; i < fz_service_stream_count(service); i++) {
        fz_stream *stream = fz_service_stream_at(service, i);
        fz_mutex_lock(&stream->mutex);
        fz_buf_printf(out, "%s -> %s: %s, %lld rows", stream->topic, stream->full_name,
                      fz_stream_state_name(stream->state), (long long)stream->run.rows);
        if (stream->run.dead_letters + stream->run.skipped + stream->run.tombstones > 0) {
            fz_buf_printf(out, ", %lld dead letters, %lld skipped, %lld tombstones",
                          (long long)stream->run.dead_letters, (long long)stream->run.skipped,
                          (long long)stream->run.tombstones);
        }
        if (stream->err.text[0] && stream->state != FZ_STREAM_DONE) {
            fz_buf_printf(out, ": %s", stream->err.text);
        }
        fz_buf_append_byte(out, '\n');
        for (size_t t = 0; t < stream->tables.count; t++) {
            const fz_record_table *table = stream->tables.data[t];
            fz_buf_printf(out, "%s -> %s: %lld rows%s%s\n", stream->topic, table->full_name,
                          (long long)table->run.rows, table->err.code != FZ_OK ? ": " : "",
                          table->err.code != FZ_OK ? table->err.text : "");
        }
        fz_mutex_unlock(&stream->mutex);
    }
}
