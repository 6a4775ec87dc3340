// SPDX-License-Identifier: Apache-2.0
// Plans the expiry of snapshots.
#include "table/iceberg/expire.h"

#include <stdlib.h>

#include "base/memory.h"

/** Java's MAX_SNAPSHOT_AGE_MS_DEFAULT and MIN_SNAPSHOTS_TO_KEEP_DEFAULT. */
#define MAX_AGE_MS INT64_C(432000000)
#define MIN_COUNT 1

typedef struct kept_snapshot {
    int64_t id;
    int64_t parent_id;
    int64_t timestamp_ms;
    bool retained;   // by a ref or on demand
    bool referenced; // an ancestor of a branch
} kept_snapshot;

typedef struct expire_plan {
    kept_snapshot *snapshots; // by id
    size_t count;
    int64_t now_ms;
    int64_t max_age_ms;
    int64_t min_count;
    int64_t max_count;
    int64_t max_ref_age_ms;
} expire_plan;

static int by_id(const void *a, const void *b) {
    const kept_snapshot *x = a;
    const kept_snapshot *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static kept_snapshot *find(const expire_plan *plan, int64_t id) {
    const kept_snapshot key = {.id = id};
    return plan->count ? bsearch(&key, plan->snapshots, plan->count, sizeof(key), by_id) : NULL;
}

/** Times in metadata are anybody's numbers: an age that does not fit is the greatest. */
static int64_t age_of(const expire_plan *plan, const kept_snapshot *s) {
    int64_t age;
    return __builtin_sub_overflow(plan->now_ms, s->timestamp_ms, &age) ? INT64_MAX : age;
}

static void retain_branch(expire_plan *plan, const json_t *ref, bool is_main) {
    int64_t min_count = fz_json_int_or(ref, "min-snapshots-to-keep", plan->min_count);
    int64_t max_age_ms = fz_json_int_or(ref, "max-snapshot-age-ms", plan->max_age_ms);
    int64_t kept = 0;
    bool keeping = true;
    kept_snapshot *s = find(plan, fz_json_int_or(ref, "snapshot-id", FZ_ICEBERG_NONE));
    // Every step goes to another snapshot; a ring of parents ends after all of them.
    for (size_t steps = 0; s && steps < plan->count; steps++) {
        bool young = age_of(plan, s) <= max_age_ms;
        bool room = !is_main || plan->max_count <= 0 || kept < plan->max_count;
        keeping = keeping && (kept == 0 || (room && (kept < min_count || young)));
        s->retained = s->retained || keeping;
        s->referenced = true;
        kept++;
        s = find(plan, s->parent_id);
    }
}

/** Refs that are too old go; the others hold their snapshots. */
static void visit_refs(expire_plan *plan, const fz_iceberg_metadata *metadata, json_t *updates) {
    const char *name;
    json_t *ref;
    json_object_foreach(json_object_get(metadata->root, "refs"), name, ref) {
        kept_snapshot *s = find(plan, fz_json_int_or(ref, "snapshot-id", FZ_ICEBERG_NONE));
        bool is_main = strcmp(name, FZ_ICEBERG_MAIN) == 0;
        int64_t max_age_ms = fz_json_int_or(ref, "max-ref-age-ms", plan->max_ref_age_ms);
        if (!is_main && (!s || age_of(plan, s) > max_age_ms)) {
            json_t *remove = fz_iceberg_update_new("remove-snapshot-ref");
            json_object_set_new(remove, "ref-name", json_string(name));
            json_array_append_new(updates, remove);
        } else if (s && fz_str_equal_nocase(fz_json_str_or(ref, "type"), FZ_STR("tag"))) {
            s->retained = true;
        } else {
            retain_branch(plan, ref, is_main);
        }
    }
    // Version 1 may have a current snapshot without refs.
    if (!json_object_get(json_object_get(metadata->root, "refs"), FZ_ICEBERG_MAIN)) {
        json_t *current = json_object();
        fz_json_set_int(current, "snapshot-id",
                        fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN));
        retain_branch(plan, current, true);
        json_decref(current);
    }
}

static expire_plan plan_of(const fz_iceberg_metadata *metadata,
                           const fz_iceberg_expire_options *options) {
    expire_plan plan = {.now_ms = options->now_ms,
                        .max_count = options->max_count,
                        .count = fz_iceberg_metadata_snapshot_count(metadata)};
    plan.max_age_ms = options->max_age_ms > 0
                          ? options->max_age_ms
                          : fz_iceberg_metadata_property_int(
                                metadata, "history.expire.max-snapshot-age-ms", MAX_AGE_MS);
    plan.min_count = options->min_count > 0
                         ? options->min_count
                         : fz_iceberg_metadata_property_int(
                               metadata, "history.expire.min-snapshots-to-keep", MIN_COUNT);
    plan.max_ref_age_ms =
        fz_iceberg_metadata_property_int(metadata, "history.expire.max-ref-age-ms", INT64_MAX);
    plan.snapshots = fz_calloc(plan.count, sizeof(*plan.snapshots));
    for (size_t i = 0; i < plan.count; i++) {
        fz_iceberg_snapshot s;
        fz_iceberg_metadata_snapshot_at(metadata, i, &s);
        plan.snapshots[i] = (kept_snapshot){
            .id = s.snapshot_id, .parent_id = s.parent_id, .timestamp_ms = s.timestamp_ms};
    }
    if (plan.count) {
        qsort(plan.snapshots, plan.count, sizeof(*plan.snapshots), by_id);
    }
    return plan;
}

json_t *fz_iceberg_expire_plan(const fz_iceberg_metadata *metadata,
                               const fz_iceberg_expire_options *options, size_t *count) {
    json_t *updates = json_array();
    json_t *ids = json_array();
    expire_plan plan = plan_of(metadata, options);
    visit_refs(&plan, metadata, updates);
    for (size_t i = 0; i < options->keep_count; i++) {
        kept_snapshot *s = find(&plan, options->keep[i]);
        if (s) {
            s->retained = true;
        }
    }
    for (size_t i = 0; i < plan.count; i++) {
        const kept_snapshot *s = &plan.snapshots[i];
        bool young = age_of(&plan, s) <= plan.max_age_ms;
        if (!s->retained && (s->referenced || !young)) {
            json_array_append_new(ids, json_integer(s->id));
        }
    }
    if (count) {
        *count = json_array_size(ids);
    }
    if (json_array_size(ids) > 0) {
        json_t *remove = fz_iceberg_update_new("remove-snapshots");
        json_object_set_new(remove, "snapshot-ids", ids);
        json_array_append_new(updates, remove);
    } else {
        json_decref(ids);
    }
    fz_free(plan.snapshots);
    return updates;
}
