// SPDX-License-Identifier: Apache-2.0
// frazil maintain: one round of maintenance of a table, now.
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/table_arg.h"
#include "base/rand.h"
#include "flow/maintain/maintain.h"

/** In the order in which they help each other. */
static const struct {
    fz_maintain_job job;
    const char *flag;
} jobs[] = {
    {FZ_MAINTAIN_COMPACT, "--compact"},
    {FZ_MAINTAIN_MANIFESTS, "--manifests"},
    {FZ_MAINTAIN_EXPIRE, "--expire"},
    {FZ_MAINTAIN_ORPHANS, "--orphans"},
};

static void print_each(void *context, const char *what, fz_str name) {
    (void)context;
    printf("would remove %s %.*s\n", what, FZ_STR_ARGS(name));
}

static bool is_enabled(const fz_config_maintenance *config, fz_maintain_job job) {
    switch (job) {
    case FZ_MAINTAIN_COMPACT:
        return config->enabled && config->compaction.enabled;
    case FZ_MAINTAIN_MANIFESTS:
        return config->enabled && config->rewrite_manifests.enabled;
    case FZ_MAINTAIN_EXPIRE:
        return config->enabled && config->expire_snapshots.enabled;
    case FZ_MAINTAIN_ORPHANS:
        return config->enabled && config->remove_orphans.enabled;
    case FZ_MAINTAIN_NONE:
    case FZ_MAINTAIN_JOBS:
        break;
    }
    return false;
}

static void print_json(fz_maintain_job job, const fz_maintain_report *r, const fz_err *failed) {
    json_t *json = json_object();
    fz_json_set_str(json, "job", fz_str_from(fz_maintain_job_name(job)));
    const struct {
        const char *key;
        int64_t value;
    } pairs[] = {{"snapshots", r->snapshots},
                 {"refs", r->refs},
                 {"data_files_deleted", r->data_files_deleted},
                 {"manifests_deleted", r->manifests_deleted},
                 {"manifest_lists_deleted", r->lists_deleted},
                 {"statistics_deleted", r->statistics_deleted},
                 {"manifests_before", r->manifests_before},
                 {"manifests_after", r->manifests_after},
                 {"files_in", r->files_in},
                 {"files_out", r->files_out},
                 {"rows", r->rows},
                 {"bytes_in", r->bytes_in},
                 {"bytes_out", r->bytes_out},
                 {"orphans", r->orphans},
                 {"orphan_bytes", r->orphan_bytes},
                 {"not_deleted", r->not_deleted},
                 {"conflicts", r->conflicts}};
    for (size_t i = 0; i < FZ_COUNT(pairs); i++) {
        fz_json_set_int(json, pairs[i].key, pairs[i].value);
    }
    fz_json_set_str(json, "skipped", fz_str_from(r->skipped));
    if (failed) {
        fz_json_set_str(json, "error", fz_str_from(fz_err_text(failed)));
    }
    char *text = json_dumps(json, JSON_COMPACT);
    puts(text);
    free(text);
    json_decref(json);
}

static void print_text(fz_maintain_job job, const fz_maintain_report *r) {
    printf("%s: ", fz_maintain_job_name(job));
    switch (job) {
    case FZ_MAINTAIN_COMPACT:
        printf("%lld files of %lld bytes into %lld of %lld, %lld rows", (long long)r->files_in,
               (long long)r->bytes_in, (long long)r->files_out, (long long)r->bytes_out,
               (long long)r->rows);
        break;
    case FZ_MAINTAIN_MANIFESTS:
        printf("%lld manifests into %lld", (long long)r->manifests_before,
               (long long)r->manifests_after);
        break;
    case FZ_MAINTAIN_EXPIRE:
        printf("%lld snapshots, %lld refs; %lld data files, %lld manifests, %lld manifest lists",
               (long long)r->snapshots, (long long)r->refs, (long long)r->data_files_deleted,
               (long long)r->manifests_deleted, (long long)r->lists_deleted);
        break;
    case FZ_MAINTAIN_ORPHANS:
        printf("%lld files of %lld bytes", (long long)r->orphans, (long long)r->orphan_bytes);
        break;
    case FZ_MAINTAIN_NONE:
    case FZ_MAINTAIN_JOBS:
        break;
    }
    printf("%s%s%s\n", r->skipped[0] ? " (" : "", r->skipped, r->skipped[0] ? ")" : "");
}

/** A topic's name as a table's: what is no letter or digit may have become '_'. */
static bool names_table(fz_str topic, const char *table) {
    if (topic.size != strlen(table)) {
        return false;
    }
    for (size_t i = 0; i < topic.size; i++) {
        char c = topic.data[i];
        if (c != table[i] && (isalnum((unsigned char)c) || table[i] != '_')) {
            return false;
        }
    }
    return true;
}

/** The entry that writes the table, else the one whose catalog it was found in. */
static const fz_config_entry *entry_of(const fz_config *config, const fz_table_arg *table) {
    for (size_t i = 0; i < config->entry_count; i++) {
        const fz_config_entry *entry = &config->entries[i];
        if (fz_str_equal(entry->catalog.items[0].table, fz_str_from(table->name))) {
            return entry;
        }
        for (size_t t = 0; t < entry->topics.count; t++) {
            if (names_table(entry->topics.items[t], table->name)) {
                return entry;
            }
        }
    }
    return table->entry;
}

static bool is_wanted(const fz_arguments *arguments, const fz_config_maintenance *config, size_t i,
                      bool any_given) {
    return any_given ? fz_arguments_find(arguments, jobs[i].flag) != NULL
                     : is_enabled(config, jobs[i].job);
}

/** Run the jobs; an exit code. */
static int run_jobs(const fz_arguments *arguments, const fz_maintain_options *options) {
    bool any_given = false;
    for (size_t i = 0; i < FZ_COUNT(jobs); i++) {
        any_given = any_given || fz_arguments_find(arguments, jobs[i].flag);
    }
    int exit_code = FZ_EXIT_OK;
    for (size_t i = 0; i < FZ_COUNT(jobs); i++) {
        if (!is_wanted(arguments, &options->config, i, any_given)) {
            continue;
        }
        fz_maintain_report report = {0};
        fz_err err = {0};
        fz_code code = fz_maintain_do(jobs[i].job, options, &report, &err);
        if (arguments->json) {
            print_json(jobs[i].job, &report, code == FZ_OK ? NULL : &err);
        } else if (code == FZ_OK) {
            print_text(jobs[i].job, &report);
        }
        if (code != FZ_OK) {
            fprintf(stderr, "frazil maintain: %s: %s\n", fz_maintain_job_name(jobs[i].job),
                    fz_err_text(&err));
            exit_code = err.kind ? FZ_EXIT_SUSPENDED : FZ_EXIT_FAILED;
        }
    }
    return exit_code;
}

static int maintain(const fz_arguments *arguments, fz_wiring *wiring, const fz_config *config,
                    fz_log *log) {
    fz_table_arg table;
    fz_err err = {0};
    fz_code code = fz_table_arg_open(wiring, config, arguments->operands.data[0], &table, &err);
    if (code == FZ_OK && !table.catalog) {
        code = fz_err_set(&err, FZ_INVALID,
                          "name the table as database.table of a catalog in the configuration");
    }
    int exit_code = code == FZ_INVALID ? FZ_EXIT_USAGE : FZ_EXIT_FAILED;
    if (code == FZ_OK) {
        const fz_config_entry *entry = entry_of(config, &table);
        fz_budget budget;
        fz_budget_init(&budget, config->memory_limit);
        char instance[37];
        fz_rand_uuid(instance);
        bool dry_run = fz_arguments_find(arguments, "--dry-run") != NULL;
        const fz_maintain_options options = {
            .table = {.catalog = table.catalog,
                      .name = {fz_str_from(table.space), fz_str_from(table.name)},
                      .store = table.store,
                      .clock = fz_clock_real(),
                      .instance = fz_str_make(instance, 8)},
            .config = entry->maintenance,
            .files = entry->files,
            .budget = &budget,
            .log = log,
            .dry_run = dry_run,
            .thorough = true,
            .each = dry_run && !arguments->json ? print_each : NULL};
        exit_code = run_jobs(arguments, &options);
    } else {
        fprintf(stderr, "frazil maintain: %s\n", fz_err_text(&err));
    }
    fz_table_arg_deinit(&table);
    return exit_code;
}

static int cmd_maintain(const fz_arguments *arguments) {
    fz_config config;
    if (!fz_arguments_config(arguments, &config)) {
        return FZ_EXIT_USAGE;
    }
    fz_wiring wiring;
    fz_wiring_init(&wiring, fz_clock_real());
    fz_log *log = fz_log_new(STDERR_FILENO, config.log.format, config.log.level);
    int exit_code = maintain(arguments, &wiring, &config, log);
    fz_wiring_deinit(&wiring);
    fz_log_free(log);
    fz_config_deinit(&config);
    return exit_code;
}

static const fz_command_flag flags[] = {
    {"--compact", NULL, "small files into large ones"},
    {"--manifests", NULL, "small manifests into large ones"},
    {"--expire", NULL, "old snapshots go, with the files that only they have"},
    {"--orphans", NULL, "old files go that nothing names"},
    {"--dry-run", NULL, "tell what would be done"},
    {NULL, NULL, NULL},
};

const fz_command fz_command_maintain = {
    .name = "maintain",
    .operands = "TABLE",
    .doc = "compact, merge manifests, expire snapshots, remove orphans: one round now",
    .flags = flags,
    .least = 1,
    .most = 1,
    .run = cmd_maintain,
};
