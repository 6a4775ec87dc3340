// SPDX-License-Identifier: Apache-2.0
// Verification: files first, then the log of each topic.
#include "flow/audit/verify.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/memory.h"
#include "flow/ingest/open.h"
#include "flow/ingest/service.h"
#include "table/scan/source.h"

void fz_audit_report_deinit(fz_audit_report *report) {
    for (size_t i = 0; i < report->topics.count; i++) {
        fz_audit_topic *topic = report->topics.data[i];
        fz_vec_deinit(&topic->parts);
        fz_free(topic->topic);
        fz_free(topic);
    }
    fz_vec_deinit(&report->topics);
    fz_vec_deinit(&report->first);
    fz_map_deinit(&report->bad_files);
}

void fz_audit_report_add(fz_audit_report *report, const char *kind, const char *topic,
                         int32_t partition, int64_t offset, const char *format, ...) {
    report->differences++;
    if (report->first.count >= FZ_AUDIT_NAMED) {
        return;
    }
    fz_audit_difference one = {
        .kind = kind, .topic = topic, .partition = partition, .offset = offset};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(one.text, sizeof one.text, format, arguments);
    va_end(arguments);
    fz_vec_push(&report->first, one);
}

// --- files

/** Is what was answered a fact about the file, not about the store? */
static bool is_of_file(fz_code code) {
    return code == FZ_NOT_FOUND || code == FZ_CORRUPT || code == FZ_INVALID;
}

static void bad_file(fz_audit_report *report, fz_str path, const char *kind, const char *text) {
    fz_map_put(&report->bad_files, path, report);
    fz_audit_report_add(report, kind, NULL, -1, -1, "file \"%.*s\": %s", FZ_STR_ARGS(path), text);
}

/** Rows as the footer says them. */
static fz_code check_rows(fz_store *store, const fz_iceberg_file *file, fz_budget *budget,
                          fz_audit_report *report, fz_err *err) {
    if (!fz_str_equal_nocase(file->format, FZ_STR("PARQUET")) || file->key_metadata.data) {
        return FZ_OK;
    }
    fz_scan_source source;
    fz_parquet_reader *reader = NULL;
    fz_err why = {0};
    fz_code code =
        fz_scan_source_open(&source, fz_scan_files_in(store), NULL, file, budget, &reader, &why);
    if (code == FZ_OK) {
        fz_parquet_reader_free(reader);
    } else if (is_of_file(code)) {
        bad_file(report, file->path, code == FZ_CORRUPT ? "file_rows" : "file_unreadable",
                 why.text);
    } else {
        *err = why;
        return code;
    }
    return FZ_OK;
}

static fz_code check_file(fz_store *store, const fz_iceberg_file *file, fz_budget *budget,
                          fz_audit_report *report, fz_err *err) {
    fz_str key;
    fz_object object;
    char text[100];
    report->files++;
    report->rows += file->content == FZ_ICEBERG_DATA ? file->record_count : 0;
    fz_code code = fz_store_key(store, file->path, &key, err);
    if (code == FZ_OK) {
        code = fz_store_stat(store, key, &object, err);
    }
    if (code == FZ_NOT_FOUND || code == FZ_INVALID) {
        bad_file(report, file->path, "file_missing", "is listed and not there");
        return FZ_OK;
    }
    FZ_TRY(code);
    if (object.size_bytes != file->file_size_bytes) {
        snprintf(text, sizeof text, "has %lld bytes, %lld are listed", (long long)object.size_bytes,
                 (long long)file->file_size_bytes);
        bad_file(report, file->path, "file_size", text);
        return FZ_OK;
    }
    return check_rows(store, file, budget, report, err);
}

fz_code fz_audit_check_files(fz_store *store, fz_iceberg_metadata *metadata, fz_budget *budget,
                             fz_audit_report *report, fz_err *err) {
    const fz_scan_plan_options options = {.deletes = true, .budget = budget};
    fz_scan_plan *plan = NULL;
    const fz_iceberg_entry *entry = NULL;
    fz_err why = {0};
    fz_code code = fz_scan_plan_open(fz_scan_files_in(store), metadata, &options, &plan, &why);
    while (code == FZ_OK && (code = fz_scan_plan_next(plan, &entry, &why)) == FZ_OK && entry) {
        code = check_file(store, &entry->file, budget, report, &why);
        if (code != FZ_OK) {
            break;
        }
    }
    fz_scan_plan_free(plan);
    if (is_of_file(code)) { // a manifest or the list of them
        fz_audit_report_add(report, code == FZ_NOT_FOUND ? "file_missing" : "file_unreadable", NULL,
                            -1, -1, "%s", why.text);
        return FZ_OK;
    }
    if (code != FZ_OK) {
        *err = why;
    }
    return code;
}

// --- all of it

static fz_code open_table(fz_stream *stream, fz_commit_state **state, fz_err *err) {
    const fz_ingest_host *host = stream->host;
    FZ_TRY(fz_open_load(stream, &stream->metadata, err));
    FZ_TRY(host->store(host->context, &stream->entry->storage,
                       fz_iceberg_metadata_base(stream->metadata), &stream->table.store, err));
    return fz_commit_position(&stream->table, stream->metadata, stream->commit_options.content,
                              stream->commit_options.content_context, state, NULL, err);
}

static fz_code verify_stream(fz_stream *stream, bool files, fz_audit_report *report, fz_err *err) {
    fz_commit_state *state = NULL;
    fz_code code = open_table(stream, &state, err);
    if (code == FZ_OK && files) {
        code = fz_audit_check_files(stream->table.store, stream->metadata, stream->host->budget,
                                    report, err);
    }
    if (code == FZ_OK) {
        code = fz_audit_check_log(stream, state, report, err);
    }
    fz_commit_state_free(state);
    return code;
}

fz_code fz_audit_verify(const fz_ingest_host *host, fz_str table, fz_audit_report *report,
                        fz_err *err) {
    fz_service *service = NULL;
    FZ_TRY(fz_service_new(host, &service, err));
    fz_code code = FZ_OK;
    bool found = false;
    for (size_t i = 0; i < fz_service_stream_count(service) && code == FZ_OK; i++) {
        fz_stream *stream = fz_service_stream_at(service, i);
        if (fz_str_equal(table, fz_str_from(stream->full_name)) ||
            fz_str_equal(table, fz_str_from(stream->table_name))) {
            code = verify_stream(stream, !found, report, err);
            found = true;
        }
    }
    fz_service_free(service);
    return found ? code
                 : fz_err_set(err, FZ_NOT_FOUND,
                              "no entry of the configuration writes table \"%.*s\"",
                              FZ_STR_ARGS(table));
}
