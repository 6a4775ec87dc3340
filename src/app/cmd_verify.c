// SPDX-License-Identifier: Apache-2.0
// frazil verify: the ledger of a table.
#include <stdio.h>
#include <stdlib.h>

#include "app/commands.h"
#include "app/host.h"
#include "flow/audit/verify.h"

static json_t *part_json(const fz_audit_part *part) {
    json_t *json = json_object();
    const struct {
        const char *key;
        int64_t value;
    } pairs[] = {{"partition", part->partition},   {"generation", part->generation},
                 {"log_start", part->log_start},   {"checked_from", part->checked_from},
                 {"checked_to", part->checked_to}, {"records", part->records},
                 {"tombstones", part->tombstones}, {"rows", part->rows},
                 {"dead_letters", part->letters},  {"skipped", part->skipped},
                 {"missing", part->missing},       {"twice", part->twice},
                 {"not_in_log", part->not_in_log}};
    for (size_t i = 0; i < FZ_COUNT(pairs); i++) {
        fz_json_set_int(json, pairs[i].key, pairs[i].value);
    }
    return json;
}

static json_t *topic_json(const fz_audit_topic *topic) {
    json_t *json = json_object();
    json_t *parts = json_array();
    for (size_t i = 0; i < topic->parts.count; i++) {
        json_array_append_new(parts, part_json(&topic->parts.data[i]));
    }
    fz_json_set_str(json, "topic", fz_str_from(topic->topic));
    json_object_set_new(json, "partitions", parts);
    fz_json_set_int(json, "skipped_records", topic->skipped_records);
    json_object_set_new(json, "not_checked",
                        topic->not_checked[0] ? json_string(topic->not_checked) : json_null());
    return json;
}

static json_t *difference_json(const fz_audit_difference *one) {
    json_t *json = json_object();
    fz_json_set_str(json, "kind", fz_str_from(one->kind));
    if (one->topic) {
        fz_json_set_str(json, "topic", fz_str_from(one->topic));
        fz_json_set_int(json, "partition", one->partition);
        fz_json_set_int(json, "offset", one->offset);
    }
    fz_json_set_str(json, "text", fz_str_from(one->text));
    return json;
}

static void print_json(const char *table, const fz_audit_report *report) {
    json_t *json = json_object();
    json_t *topics = json_array();
    json_t *first = json_array();
    for (size_t i = 0; i < report->topics.count; i++) {
        json_array_append_new(topics, topic_json(report->topics.data[i]));
    }
    for (size_t i = 0; i < report->first.count; i++) {
        json_array_append_new(first, difference_json(&report->first.data[i]));
    }
    fz_json_set_str(json, "table", fz_str_from(table));
    fz_json_set_int(json, "differences", report->differences);
    json_object_set_new(json, "first", first);
    fz_json_set_int(json, "files", report->files);
    fz_json_set_int(json, "rows", report->rows);
    json_object_set_new(json, "topics", topics);
    char *text = json_dumps(json, JSON_COMPACT);
    puts(text);
    free(text);
    json_decref(json);
}

static void print_part(const fz_audit_topic *topic, const fz_audit_part *part) {
    printf("  %s %d: offsets %lld to %lld: %lld records, %lld tombstones; %lld rows, %lld dead "
           "letters, "
           "%lld skipped; %lld missing, %lld twice\n",
           topic->topic, part->partition, (long long)part->checked_from,
           (long long)part->checked_to, (long long)part->records, (long long)part->tombstones,
           (long long)part->rows, (long long)part->letters, (long long)part->skipped,
           (long long)part->missing, (long long)part->twice);
    if (part->log_start > 0 && part->checked_from == part->log_start) {
        printf("    the log reaches back to %lld only\n", (long long)part->log_start);
    }
    if (part->not_in_log > 0) {
        printf("    %lld of them are not in the log any more (compaction)\n",
               (long long)part->not_in_log);
    }
}

static void print_text(const char *table, const fz_audit_report *report) {
    printf("%s: %lld files, %lld rows\n", table, (long long)report->files, (long long)report->rows);
    for (size_t i = 0; i < report->topics.count; i++) {
        const fz_audit_topic *topic = report->topics.data[i];
        for (size_t p = 0; p < topic->parts.count; p++) {
            print_part(topic, &topic->parts.data[p]);
        }
        if (topic->skipped_records > 0) {
            printf("  %s: %lld records were skipped as bad, which ones is not recorded\n",
                   topic->topic, (long long)topic->skipped_records);
        }
        if (topic->not_checked[0]) {
            printf("  %s: not compared with its log: %s\n", topic->topic, topic->not_checked);
        }
    }
    printf("%lld differences\n", (long long)report->differences);
    for (size_t i = 0; i < report->first.count; i++) {
        printf("  %s: %s\n", report->first.data[i].kind, report->first.data[i].text);
    }
}

static int verify(fz_host *host, const fz_arguments *arguments) {
    const char *table = arguments->operands.data[0];
    fz_audit_report report = {0};
    fz_err err = {0};
    fz_code code = fz_audit_verify(&host->ingest, fz_str_from(table), &report, &err);
    int exit_code = report.differences > 0 ? FZ_EXIT_DIFFERS : FZ_EXIT_OK;
    if (code != FZ_OK) {
        fprintf(stderr, "frazil verify: %s\n", fz_err_text(&err));
        exit_code = err.kind ? FZ_EXIT_SUSPENDED : FZ_EXIT_FAILED;
    } else if (arguments->json) {
        print_json(table, &report);
    } else {
        print_text(table, &report);
    }
    fz_audit_report_deinit(&report);
    return exit_code;
}

static int cmd_verify(const fz_arguments *arguments) {
    fz_config config;
    if (!fz_arguments_config(arguments, &config)) {
        return FZ_EXIT_USAGE;
    }
    fz_host host;
    fz_err err = {0};
    int code;
    if (fz_host_init(&host, &config, &err) == FZ_OK) {
        code = verify(&host, arguments);
    } else {
        fprintf(stderr, "frazil verify: %s\n", fz_err_text(&err));
        code = err.code == FZ_INVALID ? FZ_EXIT_USAGE : FZ_EXIT_FAILED;
    }
    fz_host_deinit(&host);
    fz_config_deinit(&config);
    return code;
}

const fz_command fz_command_verify = {
    .name = "verify",
    .operands = "TABLE",
    .doc = "the ledger: each record once, each file as it is listed; exit 4 if not",
    .least = 1,
    .most = 1,
    .run = cmd_verify,
};
