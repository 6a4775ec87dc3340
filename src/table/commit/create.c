// SPDX-License-Identifier: Apache-2.0
// A new table has its state from the first instant (protocol.md 5.6, R13).
#include "base/memory.h"
#include "base/rand.h"
#include "table/commit/commit.h"

/** How long the empty snapshot of somebody else's creation is waited for. */
#define BIRTH_WAIT_MS 60000

/** State of a table that has no snapshot yet, as properties added to `properties`. */
static void write_birth_state(const fz_commit_table *table, const fz_commit_source *source,
                              json_t *properties) {
    fz_commit_state *state = (fz_commit_state *)fz_calloc(1, sizeof *state);
    char nonce[37];
    fz_rand_uuid(nonce);
    state->nonce = fz_str_from(nonce);
    state->snapshot_id = FZ_ICEBERG_NONE;
    state->instance = table->instance;
    state->sources = FZ_ARENA_ARRAY(&state->arena, fz_commit_source, 1);
    state->sources[0] = *source;
    state->source_count = 1;
    fz_commit_state_write(state, properties);
    fz_commit_state_free(state);
}

/** Is there an object below the location's metadata folder? */
static fz_code holds_metadata(const fz_commit_table *table, fz_str location, bool *out, fz_err *err) {
    char *prefix = fz_str_printf("%.*s/metadata/", FZ_STR_ARGS(location));
    fz_str key;
    fz_page page = {0};
    fz_code code = fz_store_key(table->store, fz_str_from(prefix), &key, err);
    if (code == FZ_OK) {
        code = fz_store_list(table->store, key, (fz_str){0}, &page, err);
    }
    *out = code == FZ_OK && page.objects.count > 0;
    fz_page_deinit(&page);
    fz_free(prefix);
    return code;
}

/** The wanted place, or a free one beside it. */
static fz_code free_location(const fz_commit_table *table, const fz_commit_create_options *options,
                             char **out, fz_err *err) {
    fz_str wanted = options->location;
    for (int try = 0; try < 10; try++) {
        char *location = try == 0 ? fz_str_dup(wanted)
                                  : fz_str_printf("%.*s-%08x", FZ_STR_ARGS(wanted),
                                                  (unsigned)(fz_rand_u64() & 0xffffffffu));
        bool taken = false;
        fz_code code = holds_metadata(table, fz_str_from(location), &taken, err);
        if (code == FZ_OK && !taken) {
            *out = location;
            return FZ_OK;
        }
        fz_free(location);
        FZ_TRY(code);
        if (options->exact) {
            return fz_err_set_kind(err, FZ_INVALID, "table_incompatible",
                                   "location \"%.*s\" holds another table's metadata, and the catalog has "
                                   "no table \"%.*s.%.*s\": use another storage.bucket, or register that "
                                   "table",
                                   FZ_STR_ARGS(wanted), FZ_STR_ARGS(table->name.space),
                                   FZ_STR_ARGS(table->name.table));
        }
    }
    return fz_err_set(err, FZ_EXISTS, "no free location beside \"%.*s\"", FZ_STR_ARGS(wanted));
}

static fz_code create_once(const fz_commit_table *table, const fz_commit_create_options *options,
                           fz_iceberg_metadata **out, fz_err *err) {
    char *location = NULL;
    FZ_TRY(free_location(table, options, &location, err));
    json_t *properties = options->properties ? json_deep_copy(options->properties) : json_object();
    write_birth_state(table, options->source, properties);
    fz_iceberg_new_options fresh = {.schema = options->schema,
                                    .spec = options->spec,
                                    .order = options->order,
                                    .location = fz_str_from(location),
                                    .properties = properties,
                                    .format_version = options->format_version,
                                    .now_ms = fz_clock_wall_ms(table->clock)};
    fz_iceberg_metadata *initial = NULL;
    fz_code code = fz_iceberg_metadata_new(&fresh, &initial, err);
    if (code == FZ_OK) {
        code = fz_catalog_create(table->catalog, table->name, initial, out, err);
    }
    fz_iceberg_metadata_unref(initial);
    json_decref(properties);
    fz_free(location);
    return code;
}

/** The empty own snapshot, so that no data ever asserts a null ref (C4). */
static fz_code first_snapshot(const fz_commit_table *table, fz_str source,
                              fz_iceberg_metadata **metadata, fz_err *err) {
    char commit[37];
    fz_rand_uuid(commit);
    fz_iceberg_append *files = fz_iceberg_append_new(fz_str_from(commit));
    fz_commit_batch batch = {.op = "create",
                             .uuid = fz_iceberg_metadata_uuid(*metadata),
                             .source = source,
                             .files = files,
                             .commit = fz_str_from(commit),
                             .schema_id = fz_iceberg_metadata_schema_id(*metadata)};
    fz_commit_options options;
    fz_commit_options_init(&options);
    fz_commit_outcome outcome;
    fz_commit_run(table, &batch, &options, &outcome);
    fz_code code = FZ_OK;
    if (outcome.metadata && (outcome.result == FZ_COMMIT_DONE || outcome.result == FZ_COMMIT_FORGOTTEN)) {
        fz_iceberg_metadata_unref(*metadata);
        *metadata = fz_iceberg_metadata_ref(outcome.metadata);
    } else {
        if (err) {
            *err = outcome.err;
        }
        code = outcome.err.code == FZ_OK ? FZ_CANCELLED : outcome.err.code;
    }
    fz_commit_outcome_deinit(&outcome);
    fz_iceberg_append_free(files);
    return code;
}

fz_code fz_commit_create(const fz_commit_table *table, const fz_commit_create_options *options,
                         fz_iceberg_metadata **out, fz_err *err) {
    fz_iceberg_metadata *metadata = NULL;
    fz_code code = create_once(table, options, &metadata, err);
    bool ours = code == FZ_OK;
    if (code == FZ_EXISTS || code == FZ_UNKNOWN_OUTCOME) {
        code = fz_catalog_load(table->catalog, table->name, &metadata, err);
    }
    FZ_TRY(code);
    int64_t until = fz_clock_mono_ms(table->clock) + BIRTH_WAIT_MS;
    while (!ours && fz_iceberg_metadata_property(metadata, "frazil.state").size > 0 &&
           fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN) == FZ_ICEBERG_NONE &&
           fz_clock_mono_ms(table->clock) < until) {
        fz_clock_sleep_ms(table->clock, 500);
        fz_iceberg_metadata_unref(metadata);
        metadata = NULL;
        FZ_TRY(fz_catalog_load(table->catalog, table->name, &metadata, err));
    }
    if (fz_iceberg_metadata_property(metadata, "frazil.state").size > 0 &&
        fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN) == FZ_ICEBERG_NONE &&
        fz_iceberg_metadata_last_sequence(metadata) == 0) {
        code = first_snapshot(table, options->source->name, &metadata, err);
    }
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(metadata);
        return code;
    }
    *out = metadata;
    return FZ_OK;
}
