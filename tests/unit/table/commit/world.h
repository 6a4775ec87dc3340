// SPDX-License-Identifier: Apache-2.0
// A table in a world of memory for the tests of commits: its catalog lies when told, others change
// the table, and every data file says in its name which offsets it holds.
#ifndef FZ_TESTS_UNIT_TABLE_COMMIT_WORLD_H
#define FZ_TESTS_UNIT_TABLE_COMMIT_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"
#include "base/memory.h"
#include "base/rand.h"
#include "base/thread.h"
#include "io/store/memory_store.h"
#include "table/catalog/fault.h"
#include "table/commit/commit.h"

#define PARTITIONS 2
#define DATA_SIZE 10
#define TABLE_LOCATION "memory://lake/t"

// --- a store that is shared, and that notes what was removed

typedef struct shared_store {
    fz_store store;
    fz_store *inner;
    _Atomic int removed;
} shared_store;

static fz_code shared_stat(fz_store *store, fz_str key, fz_object *out, fz_err *err) {
    return fz_store_stat(((shared_store *)store)->inner, key, out, err);
}
static fz_code shared_read(fz_store *store, fz_str key, int64_t at, size_t size, fz_buf *out,
                           fz_err *err) {
    return fz_store_read(((shared_store *)store)->inner, key, at, size, out, err);
}
static fz_code shared_put(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    return fz_store_put(((shared_store *)store)->inner, key, body, err);
}
static fz_code shared_put_new(fz_store *store, fz_str key, fz_str body, fz_err *err) {
    return fz_store_put_new(((shared_store *)store)->inner, key, body, err);
}
static fz_code shared_list(fz_store *store, fz_str prefix, fz_str after, fz_page *out,
                           fz_err *err) {
    return fz_store_list(((shared_store *)store)->inner, prefix, after, out, err);
}
static fz_code shared_remove(fz_store *store, fz_str key, fz_err *err) {
    ((shared_store *)store)->removed++;
    return fz_store_remove(((shared_store *)store)->inner, key, err);
}
static void shared_free(fz_store *store) {
    fz_free(store);
}
static const fz_store_ops shared_ops = {.name = "shared",
                                        .stat = shared_stat,
                                        .read = shared_read,
                                        .put = shared_put,
                                        .put_new = shared_put_new,
                                        .list = shared_list,
                                        .remove = shared_remove,
                                        .free = shared_free};

static inline fz_store *shared_store_new(fz_store *inner) {
    shared_store *s = (shared_store *)fz_calloc(1, sizeof *s);
    s->inner = inner;
    fz_store_init(&s->store, &shared_ops, fz_str_dup(FZ_STR("memory://lake")));
    return &s->store;
}

// --- a catalog that keeps a pointer in memory

typedef enum lie {
    LIE_NONE,
    LIE_SWALLOW, // yes, and nothing happens (A6)
    LIE_HOLD,    // the request arrives later (A5)
} lie;

typedef struct memory_catalog {
    fz_catalog catalog;
    fz_store *store; // borrowed
    fz_clock *clock;
    fz_mutex mutex;
    fz_iceberg_metadata *now; // NULL: no table
    bool loose;               // requirements alone decide, as REST servers do
    lie lie;                  // of the next commit
    json_t *held_requirements, *held_updates;
    fz_iceberg_metadata *held_base;
    bool copies; // each load gives an object of its own
} memory_catalog;

static inline void put_uri(fz_store *store, fz_str uri, fz_str body) {
    fz_str key;
    assert_int_equal(fz_store_key(store, uri, &key, NULL), FZ_OK);
    assert_int_equal(fz_store_put(store, key, body, NULL), FZ_OK);
}

static inline fz_iceberg_metadata *write_metadata(fz_store *store, const fz_iceberg_metadata *next,
                                                  fz_str previous) {
    fz_buf location = {0}, bytes = {0};
    fz_iceberg_metadata_next_location(next, previous, &location);
    assert_int_equal(fz_iceberg_metadata_format(next, &bytes, NULL), FZ_OK);
    put_uri(store, fz_buf_view(&location), fz_buf_view(&bytes));
    fz_iceberg_metadata *written = fz_iceberg_metadata_moved(next, fz_buf_view(&location));
    fz_buf_deinit(&location);
    fz_buf_deinit(&bytes);
    return written;
}

static fz_code memory_load(fz_catalog *catalog, fz_catalog_name name, fz_iceberg_metadata **out,
                           fz_err *err) {
    (void)name;
    memory_catalog *c = (memory_catalog *)catalog;
    fz_mutex_lock(&c->mutex);
    *out = c->now ? fz_iceberg_metadata_ref(c->now) : NULL;
    if (c->now &&
        c->copies) { // as if parsed: jansson's counts are not to be shared between threads
        json_t *root = json_deep_copy(c->now->root);
        fz_iceberg_metadata_unref(*out);
        FZ_ASSERT(fz_iceberg_metadata_from_json(root, c->now->location, out, NULL) == FZ_OK);
        json_decref(root);
    }
    fz_mutex_unlock(&c->mutex);
    return *out ? FZ_OK : fz_err_set(err, FZ_NOT_FOUND, "no such table");
}

static fz_code memory_create(fz_catalog *catalog, fz_catalog_name name,
                             const fz_iceberg_metadata *initial, fz_iceberg_metadata **out,
                             fz_err *err) {
    (void)name;
    memory_catalog *c = (memory_catalog *)catalog;
    fz_mutex_lock(&c->mutex);
    fz_code code = FZ_OK;
    if (c->now) {
        code = fz_err_set(err, FZ_EXISTS, "the table exists");
    } else {
        c->now = write_metadata(c->store, initial, FZ_STR(""));
        *out = fz_iceberg_metadata_ref(c->now);
    }
    fz_mutex_unlock(&c->mutex);
    return code;
}

/** Locked. */
static fz_code memory_apply(memory_catalog *c, const fz_iceberg_metadata *base,
                            const json_t *requirements, const json_t *updates, bool swallow,
                            fz_iceberg_metadata **out, fz_err *err) {
    if (!c->now) {
        return fz_err_set(err, FZ_NOT_FOUND, "no such table");
    }
    if (!c->loose && !fz_str_equal(base->location, c->now->location)) {
        return fz_err_set(err, FZ_CONFLICT, "another writer was first");
    }
    fz_iceberg_metadata *next = NULL;
    FZ_TRY(fz_iceberg_update_check(c->now, requirements, err));
    FZ_TRY(fz_iceberg_update_apply(c->now, updates, fz_clock_wall_ms(c->clock), &next, err));
    fz_iceberg_metadata *written = write_metadata(c->store, next, c->now->location);
    fz_iceberg_metadata_unref(next);
    if (swallow) {
        *out = fz_iceberg_metadata_ref(c->now);
        fz_iceberg_metadata_unref(written);
        return FZ_OK;
    }
    fz_iceberg_metadata_unref(c->now);
    c->now = written;
    if (c->copies) {
        json_t *root = json_deep_copy(written->root);
        fz_code code = fz_iceberg_metadata_from_json(root, written->location, out, err);
        json_decref(root);
        return code;
    }
    *out = fz_iceberg_metadata_ref(written);
    return FZ_OK;
}

static fz_code memory_commit(fz_catalog *catalog, fz_catalog_name name,
                             const fz_iceberg_metadata *base, const json_t *requirements,
                             const json_t *updates, fz_iceberg_metadata **out, fz_err *err) {
    (void)name;
    memory_catalog *c = (memory_catalog *)catalog;
    fz_mutex_lock(&c->mutex);
    lie told = c->lie;
    c->lie = LIE_NONE;
    fz_code code;
    if (told == LIE_HOLD && !c->held_base) {
        c->held_base = fz_iceberg_metadata_ref((fz_iceberg_metadata *)base);
        c->held_requirements = json_deep_copy(requirements);
        c->held_updates = json_deep_copy(updates);
        code = fz_err_set(err, FZ_UNKNOWN_OUTCOME, "time-out");
    } else {
        code = memory_apply(c, base, requirements, updates, told == LIE_SWALLOW, out, err);
    }
    fz_mutex_unlock(&c->mutex);
    return code;
}

/** The request that was held arrives. */
static inline fz_code memory_deliver(memory_catalog *c) {
    if (!c->held_base) {
        return FZ_NOT_FOUND;
    }
    fz_iceberg_metadata *after = NULL;
    fz_mutex_lock(&c->mutex);
    fz_code code =
        memory_apply(c, c->held_base, c->held_requirements, c->held_updates, false, &after, NULL);
    fz_iceberg_metadata_unref(after);
    fz_iceberg_metadata_unref(c->held_base);
    json_decref(c->held_requirements);
    json_decref(c->held_updates);
    c->held_base = NULL;
    c->held_requirements = c->held_updates = NULL;
    fz_mutex_unlock(&c->mutex);
    return code;
}

static void memory_free(fz_catalog *catalog) {
    memory_catalog *c = (memory_catalog *)catalog;
    fz_iceberg_metadata_unref(c->now);
    fz_iceberg_metadata_unref(c->held_base);
    json_decref(c->held_requirements);
    json_decref(c->held_updates);
    fz_mutex_deinit(&c->mutex);
    fz_free(c);
}

static const fz_catalog_ops memory_ops = {.name = "memory",
                                          .load = memory_load,
                                          .create = memory_create,
                                          .commit = memory_commit,
                                          .free = memory_free};

// --- the world

/** Paths of the live files of a manifest. Manifests never change: each is read once. */
typedef FZ_VEC(fz_str) live_paths;

typedef struct world {
    fz_store *lake;  // all objects
    fz_store *store; // what commits see
    memory_catalog *pointer;
    fz_catalog *catalog; // fault around pointer
    fz_clock_sim clock;
    fz_commit_table table;
    fz_commit_options options;
    int waits;        // left before stop; -1: any number
    fz_map manifests; // what is in them, by path
    fz_arena paths;
} world;

static bool world_stop(void *context) {
    world *w = (world *)context;
    return w->waits == 0;
}

static void world_waiting(void *context, const fz_err *err) {
    (void)err;
    world *w = (world *)context;
    w->waits -= w->waits > 0;
}

static inline void world_init(world *w) {
    memset(w, 0, sizeof *w);
    w->lake = fz_store_memory_new("lake", 0);
    w->store = shared_store_new(w->lake);
    fz_clock_sim_init(&w->clock, 1700000000000000LL);
    w->pointer = (memory_catalog *)fz_calloc(1, sizeof *w->pointer);
    w->pointer->catalog.ops = &memory_ops;
    w->pointer->store = w->lake;
    w->pointer->clock = &w->clock.clock;
    fz_mutex_init(&w->pointer->mutex);
    w->catalog = fz_catalog_fault_new(&w->pointer->catalog);
    w->table = (fz_commit_table){.catalog = w->catalog,
                                 .name = {FZ_STR("db"), FZ_STR("t")},
                                 .store = w->store,
                                 .clock = &w->clock.clock,
                                 .instance = FZ_STR("worker")};
    fz_commit_options_init(&w->options);
    w->options.stop = world_stop;
    w->options.waiting = world_waiting;
    w->options.stop_context = w->options.waiting_context = w;
    w->waits = -1;
}

static inline void forget_manifests(world *w) {
    for (size_t i = 0; i < w->manifests.count; i++) {
        live_paths *paths = (live_paths *)w->manifests.entries[i].value;
        fz_vec_deinit(paths);
        fz_free(paths);
    }
    fz_map_deinit(&w->manifests);
    fz_arena_deinit(&w->paths);
}

static inline void world_deinit(world *w) {
    forget_manifests(w);
    // R8: nothing was ever removed by a writer
    assert_int_equal(((shared_store *)w->store)->removed, 0);
    fz_catalog_free(w->catalog);
    fz_store_free(w->store);
    fz_store_free(w->lake);
}

static inline fz_schema *world_schema(void) {
    json_t *json = json_loads("{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
                              "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"}]}",
                              0, NULL);
    fz_schema *schema = NULL;
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    json_decref(json);
    return schema;
}

static inline fz_code world_try_create(world *w, fz_commit_create_options *options,
                                       const fz_commit_source *source, fz_err *err) {
    fz_schema *schema = world_schema();
    fz_commit_create_options wanted = {.location = FZ_STR(TABLE_LOCATION),
                                       .format_version = 2,
                                       .schema = schema,
                                       .source = source,
                                       .commit = &w->options};
    if (options) {
        wanted.exact = options->exact;
        wanted.properties = options->properties;
    }
    fz_iceberg_metadata *made = NULL;
    fz_code code = fz_commit_create(&w->table, &wanted, &made, err);
    fz_iceberg_metadata_unref(made);
    fz_schema_unref(schema);
    return code;
}

static inline fz_commit_source world_source(fz_commit_part *parts, int32_t count) {
    for (int32_t p = 0; p < count; p++) {
        parts[p] = (fz_commit_part){.last_row = -1, .epoch = -1};
    }
    return (fz_commit_source){.name = FZ_STR("orders"),
                              .topic = FZ_STR("orders"),
                              .cluster = FZ_STR("cluster"),
                              .route = FZ_STR("route"),
                              .parts = parts,
                              .known = count};
}

static inline void world_create(world *w) {
    fz_commit_part parts[PARTITIONS];
    fz_commit_source source = world_source(parts, PARTITIONS);
    fz_err err = {0};
    if (world_try_create(w, NULL, &source, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
}

static inline fz_iceberg_metadata *world_load(world *w) {
    return fz_iceberg_metadata_ref(w->pointer->now);
}

// --- batches

typedef struct range {
    int32_t partition;
    int64_t generation, start, end;
} range;

typedef struct work {
    fz_commit_batch batch;
    fz_commit_move moves[8];
    char commit[37];
    char uuid[64];
} work;

/** A batch with one file that holds all of the ranges. count 0: no file. */
static inline void work_init(work *k, world *w, const range *ranges, size_t count) {
    memset(k, 0, sizeof *k);
    fz_rand_uuid(k->commit);
    fz_iceberg_append *files = fz_iceberg_append_new(fz_str_from(k->commit));
    fz_buf path = {0};
    fz_buf_printf(&path, TABLE_LOCATION "/data/%s~", k->commit);
    int64_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        fz_buf_printf(&path, "%s%d.%lld.%lld.%lld", i ? "_" : "", ranges[i].partition,
                      (long long)ranges[i].generation, (long long)ranges[i].start,
                      (long long)ranges[i].end);
        rows += ranges[i].end - ranges[i].start;
        k->moves[i] = (fz_commit_move){
            .partition = ranges[i].partition,
            .generation = ranges[i].generation,
            .start = ranges[i].start,
            .end = ranges[i].end,
            .last_row = ranges[i].end - 1,
            .fingerprint = {ranges[i].partition, ranges[i].end - 1, 7, (uint64_t)ranges[i].end}};
    }
    fz_buf_printf(&path, ".parquet");
    if (count > 0) {
        fz_iceberg_file file = fz_iceberg_file_make(fz_buf_view(&path), 0);
        file.record_count = rows;
        file.file_size_bytes = DATA_SIZE;
        file.sort_order_id = FZ_ICEBERG_NONE;
        put_uri(w->lake, file.path, FZ_STR("0123456789"));
        fz_iceberg_append_add(files, &file);
    }
    fz_buf_deinit(&path);
    snprintf(k->uuid, sizeof k->uuid, "%.*s",
             FZ_STR_ARGS(fz_iceberg_metadata_uuid(w->pointer->now)));
    k->batch = (fz_commit_batch){.op = count ? "append" : "offsets",
                                 .uuid = fz_str_from(k->uuid),
                                 .source = FZ_STR("orders"),
                                 .route = FZ_STR("route"),
                                 .moves = k->moves,
                                 .move_count = count,
                                 .files = files,
                                 .commit = fz_str_from(k->commit),
                                 .oldest_file_ms = count ? fz_clock_wall_ms(&w->clock.clock) : 0,
                                 .rows = rows};
}

static inline void work_deinit(work *k) {
    fz_iceberg_append_free((fz_iceberg_append *)k->batch.files);
}

static inline fz_commit_result work_run(work *k, world *w, fz_commit_outcome *out) {
    fz_clock_sim_advance(&w->clock, 1000000);
    fz_commit_run(&w->table, &k->batch, &w->options, out);
    return out->result;
}

/** Commit [start, end) of a partition; the result, and the outcome's kind in *kind (may be NULL).
 */
static inline fz_commit_result commit_range(world *w, int32_t partition, int64_t start, int64_t end,
                                            const char **kind) {
    work k;
    fz_commit_outcome out;
    work_init(&k, w, &(range){partition, 0, start, end}, 1);
    work_run(&k, w, &out);
    if (kind) {
        *kind = out.err.kind;
    }
    fz_commit_result result = out.result;
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
    return result;
}

static inline void must_commit(world *w, int32_t partition, int64_t start, int64_t end) {
    work k;
    fz_commit_outcome out;
    work_init(&k, w, &(range){partition, 0, start, end}, 1);
    if (work_run(&k, w, &out) != FZ_COMMIT_DONE) {
        fail_msg("result %d: %s", out.result, out.err.text);
    }
    fz_commit_outcome_deinit(&out);
    work_deinit(&k);
}

// --- what the table holds

typedef struct held_range {
    range r;
    int64_t added_by;
} held_range;

typedef FZ_VEC(held_range) held_ranges;

static inline void parse_ranges(fz_str path, held_ranges *out) {
    size_t at = path.size;
    while (at > 0 && path.data[at - 1] != '~') {
        at--;
    }
    if (at == 0) {
        return; // of a foreign writer
    }
    char *text = fz_str_dup(fz_str_slice(path, at, path.size - strlen(".parquet")));
    for (char *save = NULL, *item = strtok_r(text, "_", &save); item;
         item = strtok_r(NULL, "_", &save)) {
        long long generation, start, end;
        int partition;
        assert_int_equal(sscanf(item, "%d.%lld.%lld.%lld", &partition, &generation, &start, &end),
                         4);
        held_range held = {{partition, generation, start, end}, 0};
        fz_vec_push(out, held);
    }
    fz_free(text);
}

static inline void read_uri(fz_store *store, fz_str uri, fz_buf *out) {
    fz_str key;
    fz_err err = {0};
    assert_int_equal(fz_store_key(store, uri, &key, &err), FZ_OK);
    if (fz_store_read_all(store, key, out, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
}

typedef void (*live_fn)(void *context, fz_str path);

static inline const live_paths *paths_of(world *w, const fz_iceberg_metadata *metadata,
                                         const fz_iceberg_manifest *manifest) {
    live_paths *paths = (live_paths *)fz_map_find(&w->manifests, manifest->path);
    if (paths) {
        return paths;
    }
    paths = (live_paths *)fz_calloc(1, sizeof *paths);
    fz_buf body = {0};
    fz_arena arena = {0};
    fz_partition_spec spec;
    fz_iceberg_manifest_reader *reader;
    fz_iceberg_entry entry;
    bool found;
    assert_int_equal(fz_iceberg_metadata_spec(metadata, 0, NULL, &arena, &spec, NULL), FZ_OK);
    read_uri(w->lake, manifest->path, &body);
    assert_int_equal(
        fz_iceberg_manifest_reader_open(fz_buf_view(&body), manifest, &spec, &reader, NULL), FZ_OK);
    while (fz_iceberg_manifest_reader_next(reader, &arena, &entry, &found, NULL) == FZ_OK &&
           found) {
        if (entry.status != FZ_ICEBERG_DELETED) {
            fz_vec_push(paths, fz_arena_str(&w->paths, entry.file.path));
        }
    }
    fz_iceberg_manifest_reader_free(reader);
    fz_buf_deinit(&body);
    fz_arena_deinit(&arena);
    fz_map_put(&w->manifests, manifest->path, paths);
    return paths;
}

/** Each live file of a snapshot. */
static inline void each_live(world *w, const fz_iceberg_metadata *metadata,
                             const fz_iceberg_snapshot *snapshot, live_fn each, void *context) {
    fz_buf bytes = {0};
    fz_arena arena = {0};
    fz_iceberg_list list;
    read_uri(w->lake, snapshot->manifest_list, &bytes);
    assert_int_equal(fz_iceberg_list_read(fz_buf_view(&bytes), &arena, &list, NULL), FZ_OK);
    for (size_t i = 0; i < list.count; i++) {
        const live_paths *paths = paths_of(w, metadata, &list.manifests[i]);
        for (size_t n = 0; n < paths->count; n++) {
            each(context, paths->data[n]);
        }
    }
    fz_arena_deinit(&arena);
    fz_buf_deinit(&bytes);
}

typedef struct gathering {
    world *w;
    held_ranges *ranges;
    bool look; // whether each file is there
} gathering;

static void gather_ranges(void *context, fz_str path) {
    gathering *g = (gathering *)context;
    fz_str key;
    fz_object object;
    assert_int_equal(fz_store_key(g->w->lake, path, &key, NULL), FZ_OK);
    if (g->look &&
        fz_store_stat(g->w->lake, key, &object, NULL) != FZ_OK) { // P3: every listed file is there
        fail_msg("listed file %.*s is gone", FZ_STR_ARGS(path));
    }
    parse_ranges(path, g->ranges);
}

static inline void live_ranges(world *w, const fz_iceberg_metadata *metadata, bool look,
                               held_ranges *out) {
    fz_iceberg_snapshot main;
    if (fz_iceberg_metadata_main(metadata, &main)) {
        gathering g = {w, out, look};
        each_live(w, metadata, &main, gather_ranges, &g);
    }
}

static int by_start(const void *a, const void *b) {
    const range *x = &((const held_range *)a)->r;
    const range *y = &((const held_range *)b)->r;
    if (x->partition != y->partition) {
        return x->partition < y->partition ? -1 : 1;
    }
    return x->start < y->start ? -1 : x->start > y->start;
}

/** Of the schedule that is played, for messages. */
static uint64_t world_seed;

/** R1: the table holds [0, next) of each partition, every offset once. Generation 0 only. */
static inline void check_rows(world *w, const fz_commit_state *state) {
    held_ranges held = {0};
    int64_t reached[PARTITIONS] = {0};
    live_ranges(w, w->pointer->now, true, &held);
    if (held.count > 0) {
        qsort(held.data, held.count, sizeof *held.data, by_start);
    }
    for (size_t i = 0; i < held.count; i++) {
        const range *r = &held.data[i].r;
        if (r->start != reached[r->partition]) {
            fail_msg("seed %llu, partition %d: rows from %lld, wanted from %lld",
                     (unsigned long long)world_seed, r->partition, (long long)r->start,
                     (long long)reached[r->partition]);
        }
        reached[r->partition] = r->end;
    }
    for (int32_t p = 0; p < PARTITIONS; p++) {
        int64_t next = state->sources[0].parts[p].next;
        if (next != reached[p]) {
            fail_msg("seed %llu, partition %d: position %lld, rows up to %lld",
                     (unsigned long long)world_seed, p, (long long)next, (long long)reached[p]);
        }
    }
    fz_vec_deinit(&held);
}

static inline fz_code world_position(world *w, fz_commit_state **out, fz_commit_proof *proof,
                                     fz_err *err) {
    fz_iceberg_metadata *now = world_load(w);
    fz_code code = fz_commit_position(&w->table, now, w->options.content,
                                      w->options.content_context, out, proof, err);
    fz_iceberg_metadata_unref(now);
    return code;
}

/** The position is `next` on partition 0, and the rows are there once. */
static inline void check_position(world *w, int64_t next) {
    fz_commit_state *state = NULL;
    fz_err err = {0};
    if (world_position(w, &state, NULL, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(state->sources[0].parts[0].next, next);
    check_rows(w, state);
    fz_commit_state_free(state);
}

static inline void check_suspended(world *w, const char *kind) {
    fz_commit_state *state = NULL;
    fz_err err = {0};
    fz_code code = world_position(w, &state, NULL, &err);
    if (code == FZ_OK || !err.kind) {
        fail_msg("code %d, wanted kind %s: %s", code, kind, err.text);
    }
    assert_string_equal(err.kind, kind);
}

/** A fz_commit_content_fn: by the names of the files. */
FZ_UNUSED static fz_code content_of_names(void *context, const fz_iceberg_metadata *metadata,
                                          const fz_commit_source *source, int64_t *greatest,
                                          fz_err *err) {
    (void)err;
    held_ranges held = {0};
    live_ranges((world *)context, metadata, false, &held);
    for (int32_t p = 0; p < source->known; p++) {
        greatest[p] = -1;
        for (size_t i = 0; i < held.count; i++) {
            const range *r = &held.data[i].r;
            greatest[p] = r->partition == p && r->end - 1 > greatest[p] ? r->end - 1 : greatest[p];
        }
    }
    fz_vec_deinit(&held);
    return FZ_OK;
}

#endif
