// SPDX-License-Identifier: Apache-2.0
// Retention of snapshots: what refs want, then age, then number.
#include "table/iceberg/expire.h"

#include <stdlib.h>

#include "base/vec.h"

/** A snapshot and why it stays. */
typedef struct item {
    int64_t id;
    int64_t parent_id;
    int64_t sequence_number;
    int64_t timestamp_ms;
    bool hard; // a ref, the caller or min_count wants it
    bool soft; // young enough
} item;

typedef struct work {
    const fz_iceberg_metadata *metadata;
    const fz_iceberg_expire_options *options;
    item *items; // by sequence number, then time
    size_t count;
    item **by_id;
} work;

void fz_iceberg_expire_plan_deinit(fz_iceberg_expire_plan *plan) {
    fz_arena_deinit(&plan->arena);
    *plan = (fz_iceberg_expire_plan){0};
}

static int compare_age(const void *left, const void *right) {
    const item *a = (const item *)left;
    const item *b = (const item *)right;
    if (a->sequence_number != b->sequence_number) {
        return a->sequence_number < b->sequence_number ? -1 : 1;
    }
    return (a->timestamp_ms > b->timestamp_ms) - (a->timestamp_ms < b->timestamp_ms);
}

static int compare_id(const void *left, const void *right) {
    const item *a = *(const item *const *)left;
    const item *b = *(const item *const *)right;
    return (a->id > b->id) - (a->id < b->id);
}

static item *find(const work *w, int64_t id) {
    size_t low = 0, high = w->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (w->by_id[middle]->id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < w->count && w->by_id[low]->id == id ? w->by_id[low] : NULL;
}

static void list_items(work *w, fz_arena *arena) {
    w->count = fz_iceberg_metadata_snapshot_count(w->metadata);
    w->items = FZ_ARENA_ARRAY(arena, item, w->count);
    w->by_id = FZ_ARENA_ARRAY(arena, item *, w->count);
    for (size_t i = 0; i < w->count; i++) {
        fz_iceberg_snapshot snapshot;
        fz_iceberg_metadata_snapshot_at(w->metadata, i, &snapshot);
        w->items[i] = (item){.id = snapshot.snapshot_id,
                             .parent_id = snapshot.parent_id,
                             .sequence_number = snapshot.sequence_number,
                             .timestamp_ms = snapshot.timestamp_ms};
    }
    if (w->count > 0) {
        qsort(w->items, w->count, sizeof(*w->items), compare_age);
    }
    for (size_t i = 0; i < w->count; i++) {
        w->by_id[i] = &w->items[i];
    }
    if (w->count > 0) {
        qsort(w->by_id, w->count, sizeof(*w->by_id), compare_id);
    }
}

/** What a branch asks for itself: its ancestors up to its own limits. */
static void keep_branch(const work *w, const json_t *ref, item *head) {
    int64_t least = fz_json_int_or(ref, "min-snapshots-to-keep", 1);
    int64_t age = fz_json_int_or(ref, "max-snapshot-age-ms", -1);
    int64_t since = age < 0 ? INT64_MAX : w->options->now_ms - age;
    size_t left = w->count; // a chain is never longer
    for (item *at = head; at && left > 0; at = find(w, at->parent_id), left--) {
        if (least <= 0 && at->timestamp_ms < since) {
            return;
        }
        at->hard = true;
        least--;
    }
}

static void keep_refs(work *w, fz_iceberg_expire_plan *out) {
    const json_t *refs = json_object_get(w->metadata->root, "refs");
    out->refs = FZ_ARENA_ARRAY(&out->arena, fz_str, json_object_size(refs));
    const char *name;
    json_t *ref;
    json_object_foreach((json_t *)refs, name, ref) {
        item *head = find(w, fz_json_int_or(ref, "snapshot-id", FZ_ICEBERG_NONE));
        int64_t age = fz_json_int_or(ref, "max-ref-age-ms", -1);
        bool is_main = strcmp(name, FZ_ICEBERG_MAIN) == 0;
        if (head && age >= 0 && !is_main && head->timestamp_ms < w->options->now_ms - age) {
            out->refs[out->ref_count++] = fz_str_from(name);
        } else if (head && fz_str_equal_nocase(fz_json_str_or(ref, "type"), FZ_STR("tag"))) {
            head->hard = true;
        } else if (head) {
            keep_branch(w, ref, head);
        }
    }
    item *main = find(w, fz_iceberg_metadata_ref_id(w->metadata, FZ_ICEBERG_MAIN));
    if (main) {
        main->hard = true;
    }
}

static void keep_young(work *w) {
    const fz_iceberg_expire_options *options = w->options;
    for (size_t i = 0; i < w->count; i++) {
        item *at = &w->items[i];
        bool newest = (int64_t)(w->count - i) <= options->min_count;
        if (newest || (options->keep && options->keep(options->context, at->id))) {
            at->hard = true;
        }
        at->soft = !at->hard && at->timestamp_ms >= options->now_ms - options->max_age_ms;
    }
}

/** Time slots with a soft item among items[0..end). */
static int64_t count_slots(const work *w, size_t end, unsigned shift) {
    int64_t count = 0, last = INT64_MIN;
    for (size_t i = 0; i < end; i++) {
        int64_t slot = w->items[i].timestamp_ms >> shift;
        if (w->items[i].soft && slot != last) {
            count++;
            last = slot;
        }
    }
    return count;
}

/** Leave one soft item a slot in items[0..end), so that at most `most` stay. */
static void thin(work *w, size_t end, int64_t most) {
    unsigned shift = 0;
    while (shift < 62 && count_slots(w, end, shift) > most) {
        shift++;
    }
    int64_t last = INT64_MIN, count = 0;
    for (size_t i = 0; i < end; i++) {
        item *at = &w->items[i];
        if (at->soft) {
            int64_t slot = at->timestamp_ms >> shift;
            at->soft = slot != last && count < most;
            count += at->soft;
            last = slot;
        }
    }
}

static void limit_count(work *w) {
    int64_t hard = 0, soft = 0;
    for (size_t i = 0; i < w->count; i++) {
        hard += w->items[i].hard;
        soft += w->items[i].soft;
    }
    int64_t room = w->options->max_count > hard ? w->options->max_count - hard : 0;
    if (soft <= room) {
        return;
    }
    int64_t newest = (room + 1) / 2;
    size_t end = w->count;
    for (int64_t left = newest; end > 0 && left > 0; end--) {
        left -= w->items[end - 1].soft;
    }
    thin(w, end, room - newest);
}

void fz_iceberg_expire_plan_make(const fz_iceberg_metadata *metadata,
                                 const fz_iceberg_expire_options *options,
                                 fz_iceberg_expire_plan *out) {
    *out = (fz_iceberg_expire_plan){0};
    fz_arena arena = {0};
    work w = {.metadata = metadata, .options = options};
    list_items(&w, &arena);
    keep_refs(&w, out);
    keep_young(&w);
    limit_count(&w);
    out->snapshots = FZ_ARENA_ARRAY(&out->arena, int64_t, w.count);
    for (size_t i = 0; i < w.count; i++) {
        if (!w.items[i].hard && !w.items[i].soft) {
            out->snapshots[out->snapshot_count++] = w.items[i].id;
        }
    }
    out->kept = w.count - out->snapshot_count;
    fz_arena_deinit(&arena);
}

json_t *fz_iceberg_expire_updates(const fz_iceberg_expire_plan *plan) {
    json_t *updates = json_array();
    for (size_t i = 0; i < plan->ref_count; i++) {
        json_t *remove = fz_iceberg_update_new("remove-snapshot-ref");
        fz_json_set_str(remove, "ref-name", plan->refs[i]);
        json_array_append_new(updates, remove);
    }
    if (plan->snapshot_count > 0) {
        json_t *ids = json_array();
        for (size_t i = 0; i < plan->snapshot_count; i++) {
            json_array_append_new(ids, json_integer(plan->snapshots[i]));
        }
        json_t *remove = fz_iceberg_update_new("remove-snapshots");
        json_object_set_new(remove, "snapshot-ids", ids);
        json_array_append_new(updates, remove);
    }
    return updates;
}

json_t *fz_iceberg_expire_requirements(const fz_iceberg_metadata *metadata) {
    json_t *requirements = json_array();
    json_array_append_new(requirements,
                          fz_iceberg_require_uuid(fz_iceberg_metadata_uuid(metadata)));
    json_array_append_new(
        requirements, fz_iceberg_require_ref(
                          FZ_ICEBERG_MAIN, fz_iceberg_metadata_ref_id(metadata, FZ_ICEBERG_MAIN)));
    const char *name;
    json_t *ref;
    json_object_foreach(json_object_get(metadata->root, "refs"), name, ref) {
        if (strcmp(name, FZ_ICEBERG_MAIN) != 0) {
            json_array_append_new(
                requirements,
                fz_iceberg_require_ref(name, fz_json_int_or(ref, "snapshot-id", FZ_ICEBERG_NONE)));
        }
    }
    return requirements;
}
