// SPDX-License-Identifier: Apache-2.0
// What others do to a table: rollback, expiry, compaction, replacement, cherry-picks, clean-up.
#ifndef FZ_TESTS_UNIT_TABLE_COMMIT_FOREIGN_H
#define FZ_TESTS_UNIT_TABLE_COMMIT_FOREIGN_H

#include "unit/table/commit/world.h"

static inline int64_t main_id(world *w) {
    return fz_iceberg_metadata_ref_id(w->pointer->now, FZ_ICEBERG_MAIN);
}

/** Apply an update or an array of them; taken. */
static inline void foreign(world *w, json_t *updates) {
    if (json_is_object(updates)) {
        json_t *array = json_array();
        json_array_append_new(array, updates);
        updates = array;
    }
    fz_clock_sim_advance(&w->clock, 1000000);
    json_t *none = json_array();
    fz_iceberg_metadata *after = NULL;
    fz_err err = {0};
    memory_catalog *c = w->pointer;
    fz_mutex_lock(&c->mutex);
    fz_code code = memory_apply(c, c->now, none, updates, false, &after, &err);
    fz_mutex_unlock(&c->mutex);
    if (code != FZ_OK) {
        fail_msg("foreign update: %s", err.text);
    }
    fz_iceberg_metadata_unref(after);
    json_decref(none);
    json_decref(updates);
}

static inline void rollback_to(world *w, int64_t id) {
    foreign(w, fz_iceberg_update_set_ref(FZ_ICEBERG_MAIN, id));
}

static inline json_t *expire_update(const int64_t *ids, size_t count) {
    json_t *update = fz_iceberg_update_new("remove-snapshots");
    json_t *array = json_array();
    for (size_t i = 0; i < count; i++) {
        json_array_append_new(array, json_integer(ids[i]));
    }
    json_object_set_new(update, "snapshot-ids", array);
    return update;
}

static inline void expire_one(world *w, int64_t id) {
    foreign(w, expire_update(&id, 1));
}

FZ_UNUSED static void note_path(void *context, fz_str path) {
    fz_map_put((fz_map *)context, path, context);
}

/** Remove data files that no listed snapshot reaches and that `before` reached, as expiry does. */
static inline void remove_unreachable(world *w, const fz_iceberg_metadata *before) {
    fz_map was = {0}, is = {0};
    fz_iceberg_snapshot snapshot;
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(before); i++) {
        fz_iceberg_metadata_snapshot_at(before, i, &snapshot);
        each_live(w, before, &snapshot, note_path, &was);
    }
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(w->pointer->now); i++) {
        fz_iceberg_metadata_snapshot_at(w->pointer->now, i, &snapshot);
        each_live(w, w->pointer->now, &snapshot, note_path, &is);
    }
    for (size_t i = 0; i < was.count; i++) {
        fz_str key;
        if (!fz_map_find(&is, was.entries[i].key)) {
            assert_int_equal(fz_store_key(w->lake, was.entries[i].key, &key, NULL), FZ_OK);
            assert_int_equal(fz_store_remove(w->lake, key, NULL), FZ_OK);
        }
    }
    fz_map_deinit(&was);
    fz_map_deinit(&is);
}

/** Expire everything but main (and `keep`), its files too. */
static inline void expire_all_but(world *w, int64_t keep) {
    int64_t ids[1000];
    size_t count = 0;
    fz_iceberg_metadata *before = world_load(w);
    for (size_t i = 0; i < fz_iceberg_metadata_snapshot_count(before); i++) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(before, i, &snapshot);
        if (snapshot.snapshot_id != main_id(w) && snapshot.snapshot_id != keep && count < 1000) {
            ids[count++] = snapshot.snapshot_id;
        }
    }
    if (count > 0) {
        foreign(w, expire_update(ids, count));
        remove_unreachable(w, before);
    }
    fz_iceberg_metadata_unref(before);
}

static inline void expire_all(world *w) {
    expire_all_but(w, FZ_ICEBERG_NONE);
}

/** Older metadata files are gone from the store. */
static inline void remove_older_metadata(world *w) {
    fz_page page = {0};
    assert_int_equal(fz_store_list(w->lake, FZ_STR("t/metadata/"), FZ_STR(""), &page, NULL), FZ_OK);
    fz_str now;
    assert_int_equal(fz_store_key(w->lake, w->pointer->now->location, &now, NULL), FZ_OK);
    for (size_t i = 0; i < page.objects.count; i++) {
        fz_str key = page.objects.data[i].key;
        if (fz_str_ends_with(key, FZ_STR(".metadata.json")) && !fz_str_equal(key, now)) {
            assert_int_equal(fz_store_remove(w->lake, key, NULL), FZ_OK);
        }
    }
    fz_page_deinit(&page);
}

/** Add a snapshot over a list of manifests; taken: summary. */
static inline int64_t add_snapshot(world *w, int64_t parent, const fz_iceberg_list *list,
                                   json_t *summary, int64_t timestamp_ms) {
    const fz_iceberg_metadata *now = w->pointer->now;
    int64_t id = fz_iceberg_snapshot_id_new(now);
    int64_t sequence = fz_iceberg_metadata_last_sequence(now) + 1;
    fz_buf bytes = {0};
    const fz_iceberg_list_options options = {
        .version = 2, .snapshot_id = id, .parent_id = parent, .sequence_number = sequence};
    assert_int_equal(fz_iceberg_list_write(list, &options, &bytes, NULL, NULL), FZ_OK);
    char *path = fz_str_printf(TABLE_LOCATION "/metadata/snap-%lld.avro", (long long)id);
    put_uri(w->lake, fz_str_from(path), fz_buf_view(&bytes));
    json_t *snapshot = json_object();
    fz_json_set_int(snapshot, "snapshot-id", id);
    if (parent != FZ_ICEBERG_NONE) {
        fz_json_set_int(snapshot, "parent-snapshot-id", parent);
    }
    fz_json_set_int(snapshot, "sequence-number", sequence);
    fz_json_set_int(snapshot, "timestamp-ms",
                    timestamp_ms
                        ? timestamp_ms
                        : fz_iceberg_metadata_time_ms(now, fz_clock_wall_ms(&w->clock.clock)));
    fz_json_set_str(snapshot, "manifest-list", fz_str_from(path));
    fz_json_set_int(snapshot, "schema-id", fz_iceberg_metadata_schema_id(now));
    json_object_set_new(snapshot, "summary", summary);
    json_t *updates = json_array();
    json_t *add = fz_iceberg_update_new("add-snapshot");
    json_object_set_new(add, "snapshot", snapshot);
    json_array_append_new(updates, add);
    json_array_append_new(updates, fz_iceberg_update_set_ref(FZ_ICEBERG_MAIN, id));
    foreign(w, updates);
    fz_free(path);
    fz_buf_deinit(&bytes);
    return id;
}

static inline void read_list(world *w, int64_t id, fz_arena *arena, fz_iceberg_list *out) {
    fz_iceberg_snapshot snapshot;
    fz_buf bytes = {0};
    assert_true(fz_iceberg_metadata_snapshot(w->pointer->now, id, &snapshot));
    read_uri(w->lake, snapshot.manifest_list, &bytes);
    fz_str copy = fz_arena_str(arena, fz_buf_view(&bytes));
    assert_int_equal(fz_iceberg_list_read(copy, arena, out, NULL), FZ_OK);
    fz_buf_deinit(&bytes);
}

/** A foreign snapshot with the same files on top of main. */
static inline int64_t foreign_replace(world *w) {
    fz_arena arena = {0};
    fz_iceberg_list list;
    read_list(w, main_id(w), &arena, &list);
    int64_t id = add_snapshot(w, main_id(w), &list, json_pack("{s:s}", "operation", "replace"), 0);
    fz_arena_deinit(&arena);
    return id;
}

/** A manifest with one file of these ranges (NULL: a foreign row). */
static inline void write_manifest(world *w, const held_ranges *ranges, fz_arena *arena,
                                  fz_iceberg_manifest *out) {
    char uuid[37];
    fz_rand_uuid(uuid);
    fz_buf path = {0}, bytes = {0};
    fz_buf_printf(&path, TABLE_LOCATION "/data/%s", uuid);
    for (size_t i = 0; ranges && i < ranges->count; i++) {
        const range *r = &ranges->data[i].r;
        fz_buf_printf(&path, "%s%d.%lld.%lld.%lld", i ? "_" : "~", r->partition,
                      (long long)r->generation, (long long)r->start, (long long)r->end);
    }
    fz_buf_printf(&path, ".parquet");
    put_uri(w->lake, fz_buf_view(&path), FZ_STR("0123456789"));
    fz_iceberg_entry entry = {.status = FZ_ICEBERG_ADDED,
                              .snapshot_id = FZ_ICEBERG_NONE,
                              .sequence_number = FZ_ICEBERG_NONE,
                              .file_sequence_number = FZ_ICEBERG_NONE,
                              .file = fz_iceberg_file_make(fz_buf_view(&path), 0)};
    entry.file.record_count = 1;
    entry.file.file_size_bytes = DATA_SIZE;
    entry.file.sort_order_id = FZ_ICEBERG_NONE;
    fz_partition_spec spec;
    fz_iceberg_manifest_writer *writer;
    assert_int_equal(fz_iceberg_metadata_spec(w->pointer->now, 0, NULL, arena, &spec, NULL), FZ_OK);
    assert_int_equal(
        fz_iceberg_manifest_writer_new(2, fz_iceberg_metadata_schema_json(w->pointer->now, 0),
                                       &spec, 0, &bytes, &writer, NULL),
        FZ_OK);
    assert_int_equal(fz_iceberg_manifest_writer_append(writer, &entry, NULL), FZ_OK);
    assert_int_equal(fz_iceberg_manifest_writer_finish(writer, arena, out, NULL), FZ_OK);
    fz_iceberg_manifest_writer_free(writer);
    out->path = fz_arena_printf(arena, TABLE_LOCATION "/metadata/%s-m.avro", uuid);
    put_uri(w->lake, out->path, fz_buf_view(&bytes));
    fz_buf_deinit(&path);
    fz_buf_deinit(&bytes);
}

/** Rewrite all files of main into one. */
static inline int64_t compact(world *w) {
    fz_arena arena = {0};
    held_ranges held = {0}, joined = {0};
    live_ranges(w, w->pointer->now, false, &held);
    if (held.count > 0) {
        qsort(held.data, held.count, sizeof *held.data, by_start);
    }
    for (size_t i = 0; i < held.count; i++) {
        held_range *last = joined.count ? &joined.data[joined.count - 1] : NULL;
        if (last && last->r.partition == held.data[i].r.partition &&
            last->r.end == held.data[i].r.start) {
            last->r.end = held.data[i].r.end;
        } else {
            fz_vec_push(&joined, held.data[i]);
        }
    }
    fz_iceberg_manifest manifest;
    write_manifest(w, &joined, &arena, &manifest);
    fz_iceberg_list list = {&manifest, 1};
    int64_t id = add_snapshot(w, main_id(w), &list, json_pack("{s:s}", "operation", "replace"), 0);
    fz_vec_deinit(&held);
    fz_vec_deinit(&joined);
    fz_arena_deinit(&arena);
    return id;
}

/** Append a row of somebody else's; at 0: now. */
static inline int64_t foreign_append(world *w, int64_t timestamp_ms) {
    fz_arena arena = {0};
    fz_iceberg_list list, next;
    read_list(w, main_id(w), &arena, &list);
    next.count = list.count + 1;
    next.manifests = FZ_ARENA_ARRAY(&arena, fz_iceberg_manifest, next.count);
    memcpy(next.manifests + 1, list.manifests, list.count * sizeof *list.manifests);
    write_manifest(w, NULL, &arena, &next.manifests[0]);
    int64_t id =
        add_snapshot(w, main_id(w), &next, json_pack("{s:s}", "operation", "append"), timestamp_ms);
    fz_arena_deinit(&arena);
    return id;
}

/** CREATE OR REPLACE: main goes, a new root comes. */
static inline int64_t replace_table(world *w) {
    json_t *update = fz_iceberg_update_new("remove-snapshot-ref");
    fz_json_set_str(update, "ref-name", FZ_STR(FZ_ICEBERG_MAIN));
    foreign(w, update);
    fz_arena arena = {0};
    fz_iceberg_manifest manifest;
    write_manifest(w, NULL, &arena, &manifest);
    fz_iceberg_list list = {&manifest, 1};
    int64_t id =
        add_snapshot(w, FZ_ICEBERG_NONE, &list, json_pack("{s:s}", "operation", "append"), 0);
    fz_arena_deinit(&arena);
    return id;
}

/** Add what snapshot `id` added to main, as Java does: nothing of the summary but where it came
 * from. */
static inline int64_t cherry_pick(world *w, int64_t id) {
    fz_arena arena = {0};
    fz_iceberg_list list, picked, next;
    read_list(w, main_id(w), &arena, &list);
    read_list(w, id, &arena, &picked);
    next.count = 0;
    next.manifests = FZ_ARENA_ARRAY(&arena, fz_iceberg_manifest, list.count + picked.count);
    for (size_t i = 0; i < picked.count; i++) {
        if (picked.manifests[i].added_snapshot_id == id) {
            next.manifests[next.count++] = picked.manifests[i];
        }
    }
    memcpy(next.manifests + next.count, list.manifests, list.count * sizeof *list.manifests);
    next.count += list.count;
    char source[24];
    snprintf(source, sizeof source, "%lld", (long long)id);
    int64_t made = add_snapshot(
        w, main_id(w), &next,
        json_pack("{s:s, s:s}", "operation", "append", "source-snapshot-id", source), 0);
    fz_arena_deinit(&arena);
    return made;
}

static inline void set_property(world *w, const char *key, fz_str value) {
    json_t *update = fz_iceberg_update_new("set-properties");
    json_t *pairs = json_object();
    fz_json_set_str(pairs, key, value);
    json_object_set_new(update, "updates", pairs);
    foreign(w, update);
}

static inline void remove_property(world *w, const char *key) {
    json_t *update = fz_iceberg_update_new("remove-properties");
    json_t *keys = json_array();
    json_array_append_new(keys, json_string(key));
    json_object_set_new(update, "removals", keys);
    foreign(w, update);
}

/** The catalog's pointer is put back to older metadata; taken. */
static inline void put_pointer_back(world *w, fz_iceberg_metadata *older) {
    fz_iceberg_metadata_unref(w->pointer->now);
    w->pointer->now = older;
}

/** Play `act` between the answer of the commit and the load that follows it: before the second
 * load. */
static world *acting_in;
static void (*acting)(world *w);
static int acting_loads;

FZ_UNUSED static fz_code acting_load(fz_catalog *catalog, fz_catalog_name name,
                                     fz_iceberg_metadata **out, fz_err *err) {
    if (acting && acting_in && --acting_loads == 0) {
        void (*act)(world *) = acting;
        acting = NULL;
        act(acting_in);
    }
    return memory_load(catalog, name, out, err);
}

static fz_catalog_ops acting_ops;

static inline void act_before_load(world *w, int loads, void (*act)(world *w)) {
    acting_ops = memory_ops;
    acting_ops.load = acting_load;
    w->pointer->catalog.ops = &acting_ops;
    acting_in = w;
    acting = act;
    acting_loads = loads;
}

#endif
