// SPDX-License-Identifier: Apache-2.0
// A new table has its state from the first instant (protocol.md 5.6, R13).
#include "base/memory.h"
#include "base/rand.h"
#include "table/commit/commit.h"

/** How long the empty snapshot of somebody else's creation is waited for. */
#define BIRTH_WAIT_MS 60000

/** Tries of a creation whose outcome is unknown and that turns out not to have happened. */
#define CREATE_TRIES 5

/** State of a table that has no snapshot yet, as properties added to `properties`. */
static void write_birth_state(const fz_commit_table *table, const char *nonce,
                              const fz_commit_source *source, json_t *properties) {
    fz_commit_state *state = (fz_commit_state *)fz_calloc(1, sizeof *state);
    state->nonce = fz_str_from(nonce);
    state->snapshot_id = FZ_ICEBERG_NONE;
    state->instance = table->instance;
    state->sources = FZ_ARENA_ARRAY(&state->arena, fz_commit_source, 1);
    state->sources[0] = *source;
    state->source_count = 1;
    fz_commit_state_write(state, properties);
    fz_commit_state_free(state);
}

/** What a creation leaves that died before its table was known: metadata of version 0 and nothing
 * else. */
static bool is_leftover(fz_str key) {
    size_t start = 0;
    for (size_t i = 0; i < key.size; i++) {
        start = key.data[i] == '/' ? i + 1 : start;
    }
    return fz_str_starts_with(fz_str_slice(key, start, key.size), FZ_STR("00000-"));
}

/** Is there an object below the location's metadata folder? With `exact`, leftovers do not count.
 */
static fz_code holds_metadata(const fz_commit_table *table, fz_str location, bool exact, bool *out,
                              fz_err *err) {
    char *folder = fz_str_printf("%.*s/metadata/", FZ_STR_ARGS(location));
    fz_str prefix;
    fz_page page = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf after = {0};
    fz_code code = fz_store_key(table->store, fz_str_from(folder), &prefix, err);
    *out = false;
    do {
        if (code == FZ_OK) {
            code = fz_store_list(table->store, prefix, fz_buf_view(&after), &page, err);
        }
        for (size_t i = 0; code == FZ_OK && i < page.objects.count && !*out; i++) {
            fz_str key = page.objects.data[i].key;
            *out = !exact || !is_leftover(key);
            fz_buf_reset(&after);
            fz_buf_append_str(&after, key);
        }
    } while (code == FZ_OK && !*out && page.more && page.objects.count > 0);
    fz_page_deinit(&page);
    fz_free(folder);
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
        fz_code code = holds_metadata(table, fz_str_from(location), options->exact, &taken, err);
        if (code == FZ_OK && !taken) {
            *out = location;
            return FZ_OK;
        }
        fz_free(location);
        FZ_TRY(code);
        if (options->exact) {
            return fz_err_set_kind(
                err, FZ_INVALID, "table_incompatible",
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
                           const char *nonce, fz_iceberg_metadata **out, fz_err *err) {
    char *location = NULL;
    FZ_TRY(free_location(table, options, &location, err));
    json_t *properties = options->properties ? json_deep_copy(options->properties) : json_object();
    write_birth_state(table, nonce, options->source, properties);
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
static fz_code first_snapshot(const fz_commit_table *table, const fz_commit_create_options *options,
                              fz_iceberg_metadata **metadata, fz_err *err) {
    char commit[37];
    fz_rand_uuid(commit);
    fz_iceberg_append *files = fz_iceberg_append_new(fz_str_from(commit));
    fz_commit_batch batch = {.op = "create",
                             .uuid = fz_iceberg_metadata_uuid(*metadata),
                             .source = options->source->name,
                             .files = files,
                             .commit = fz_str_from(commit),
                             .schema_id = fz_iceberg_metadata_schema_id(*metadata)};
    fz_commit_options defaults;
    fz_commit_options_init(&defaults);
    fz_commit_outcome outcome;
    fz_commit_run(table, &batch, options->commit ? options->commit : &defaults, &outcome);
    fz_code code = FZ_OK;
    if (outcome.metadata &&
        (outcome.result == FZ_COMMIT_DONE || outcome.result == FZ_COMMIT_FORGOTTEN)) {
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

static bool stopped(const fz_commit_create_options *options) {
    const fz_commit_options *commit = options->commit;
    return commit && commit->stop && commit->stop(commit->stop_context);
}

/** Create, or load what is there. An unknown outcome is looked up; not there after all: tried
 * again. */
static fz_code create_or_load(const fz_commit_table *table, const fz_commit_create_options *options,
                              const char *nonce, fz_iceberg_metadata **out, fz_err *err) {
    fz_code code = FZ_OK;
    for (int try = 0; try < CREATE_TRIES; try++) {
        code = create_once(table, options, nonce, out, err);
        if (code != FZ_EXISTS && code != FZ_UNKNOWN_OUTCOME) {
            return code;
        }
        code = fz_catalog_load(table->catalog, table->name, out, err);
        if (code != FZ_NOT_FOUND || stopped(options)) {
            return code;
        }
        fz_clock_sleep_ms(table->clock, 100);
    }
    return fz_err_set(err, FZ_UNAVAILABLE, "the table is neither created nor there: %s",
                      fz_code_name(code));
}

/** Has its state, and not yet the empty snapshot that ends a creation. */
static bool is_unborn(const fz_iceberg_metadata *metadata) {
    return fz_iceberg_metadata_property(metadata, "frazil.state").size > 0 &&
           fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN) == FZ_ICEBERG_NONE &&
           fz_iceberg_metadata_last_sequence(metadata) == 0;
}

static bool is_ours(const fz_iceberg_metadata *metadata, const char *nonce) {
    fz_commit_state *state = NULL;
    if (fz_commit_state_read(metadata, &state, NULL) != FZ_OK) {
        return false;
    }
    bool ours = fz_str_equal(state->nonce, fz_str_from(nonce));
    fz_commit_state_free(state);
    return ours;
}

/** Let the process that made the table finish it. */
static fz_code wait_for_birth(const fz_commit_table *table, const fz_commit_create_options *options,
                              fz_iceberg_metadata **metadata, fz_err *err) {
    int64_t until = fz_clock_mono_ms(table->clock) + BIRTH_WAIT_MS;
    while (is_unborn(*metadata) && fz_clock_mono_ms(table->clock) < until) {
        if (stopped(options)) {
            return fz_err_set(err, FZ_CANCELLED, "told to stop");
        }
        fz_clock_sleep_ms(table->clock, 500);
        fz_iceberg_metadata *now = NULL;
        FZ_TRY(fz_catalog_load(table->catalog, table->name, &now, err));
        fz_iceberg_metadata_unref(*metadata);
        *metadata = now;
    }
    return FZ_OK;
}

fz_code fz_commit_create(const fz_commit_table *table, const fz_commit_create_options *options,
                         fz_iceberg_metadata **out, fz_err *err) {
    fz_iceberg_metadata *metadata = NULL;
    char nonce[37];
    fz_rand_uuid(nonce);
    FZ_TRY(create_or_load(table, options, nonce, &metadata, err));
    fz_code code =
        is_ours(metadata, nonce) ? FZ_OK : wait_for_birth(table, options, &metadata, err);
    if (code == FZ_OK && is_unborn(metadata)) {
        code = first_snapshot(table, options, &metadata, err);
    }
    if (code != FZ_OK) {
        fz_iceberg_metadata_unref(metadata);
        return code;
    }
    *out = metadata;
    return FZ_OK;
}
