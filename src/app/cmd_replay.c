// SPDX-License-Identifier: Apache-2.0
// frazil replay: dead letters that decode now go into their table.
#include <stdio.h>
#include <stdlib.h>

#include "app/commands.h"
#include "app/host.h"
#include "flow/audit/replay.h"

typedef struct printing {
    bool json;
    bool told; // of some topic
    json_t *topics;
} printing;

static json_t *failing_json(const fz_audit_replay_report *report) {
    json_t *kinds = json_object();
    for (size_t i = 0; i < report->kinds.count; i++) {
        fz_json_set_int(kinds, report->kinds.data[i].kind, report->kinds.data[i].count);
    }
    return kinds;
}

static void add_json(printing *to, const fz_stream *stream, const fz_audit_replay_report *report,
                     const fz_err *err) {
    json_t *topic = json_object();
    fz_json_set_str(topic, "topic", fz_str_from(stream->topic));
    fz_json_set_str(topic, "table", fz_str_from(stream->full_name));
    if (report) {
        fz_json_set_int(topic, "letters", report->letters);
        fz_json_set_int(topic, "replayed", report->replayed);
        fz_json_set_int(topic, "already_replayed", report->already);
        fz_json_set_int(topic, "in_table", report->in_table);
        fz_json_set_int(topic, "beyond", report->beyond);
        fz_json_set_int(topic, "failing", report->failing);
        json_object_set_new(topic, "failing_by_kind", failing_json(report));
        json_object_set_new(topic, "snapshot_id",
                            report->snapshot_id < 0 ? json_null()
                                                    : json_integer(report->snapshot_id));
        json_object_set_new(topic, "error", json_null());
    } else {
        json_t *error = json_object();
        fz_json_set_str(error, "kind",
                        fz_str_from(err->kind ? err->kind : fz_code_name(err->code)));
        fz_json_set_str(error, "message", fz_str_from(fz_err_text(err)));
        json_object_set_new(topic, "error", error);
    }
    json_array_append_new(to->topics, topic);
}

static void print_text(const fz_stream *stream, const fz_audit_replay_report *report) {
    printf("%s from topic %s: %lld letters, %lld replayed, %lld replayed before, %lld still fail\n",
           stream->full_name, stream->topic, (long long)report->letters,
           (long long)report->replayed, (long long)report->already, (long long)report->failing);
    if (report->in_table > 0) {
        printf("  %lld are rows already: they were read again after a rollback\n",
               (long long)report->in_table);
    }
    if (report->beyond > 0) {
        printf(
            "  %lld are not below the table's position: they are read again, or of an older log\n",
            (long long)report->beyond);
    }
    for (size_t i = 0; i < report->kinds.count; i++) {
        const fz_audit_failing *kind = &report->kinds.data[i];
        printf("  %s: %lld, first partition %d offset %lld: %s\n", kind->kind,
               (long long)kind->count, kind->partition, (long long)kind->offset, kind->text);
    }
}

static void print_topic(void *context, const fz_stream *stream,
                        const fz_audit_replay_report *report, const fz_err *err) {
    printing *to = (printing *)context;
    to->told = true;
    if (to->json) {
        add_json(to, stream, report, err);
    } else if (report) {
        print_text(stream, report);
    }
    if (!report) {
        fprintf(stderr, "frazil replay: topic \"%s\": %s\n", stream->topic, fz_err_text(err));
    }
}

static int replay(fz_host *host, const fz_arguments *arguments) {
    printing to = {.json = arguments->json, .topics = json_array()};
    fz_err err = {0};
    fz_code code = fz_audit_replay(&host->ingest, fz_str_from(arguments->operands.data[0]),
                                   print_topic, &to, &err);
    bool none = json_array_size(to.topics) == 0 && !to.told;
    if (to.json && !none) {
        json_t *report = json_pack("{s:O}", "topics", to.topics);
        char *text = json_dumps(report, JSON_COMPACT);
        puts(text);
        free(text);
        json_decref(report);
    }
    json_decref(to.topics);
    if (code != FZ_OK && none) {
        fprintf(stderr, "frazil replay: %s\n", fz_err_text(&err));
    }
    if (code == FZ_OK) {
        return FZ_EXIT_OK;
    }
    return err.kind ? FZ_EXIT_SUSPENDED : FZ_EXIT_FAILED;
}

static int cmd_replay(const fz_arguments *arguments) {
    fz_config config;
    if (!fz_arguments_config(arguments, &config)) {
        return FZ_EXIT_USAGE;
    }
    fz_host host;
    fz_err err = {0};
    int code;
    if (fz_host_init(&host, &config, &err) == FZ_OK) {
        code = replay(&host, arguments);
    } else {
        fprintf(stderr, "frazil replay: %s\n", fz_err_text(&err));
        code = err.code == FZ_INVALID ? FZ_EXIT_USAGE : FZ_EXIT_FAILED;
    }
    fz_host_deinit(&host);
    fz_config_deinit(&config);
    return code;
}

const fz_command fz_command_replay = {
    .name = "replay",
    .operands = "TABLE",
    .doc = "dead letters that decode now go into the table, once",
    .least = 1,
    .most = 1,
    .run = cmd_replay,
};
