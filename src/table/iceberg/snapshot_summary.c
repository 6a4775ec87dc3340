// SPDX-License-Identifier: Apache-2.0
// Counts what a snapshot adds, and carries the table's totals forward.
#include "table/iceberg/snapshot_summary.h"

#include <stdio.h>

#include "base/map.h"

typedef struct tally {
    int64_t data_files;
    int64_t records;
    int64_t bytes;
    int64_t delete_files;
    int64_t equality_files;
    int64_t position_files;
    int64_t vectors;
    int64_t position_deletes;
    int64_t equality_deletes;
    int64_t partitions;
} tally;

const char *fz_iceberg_snapshot_operation(const fz_iceberg_file *files, size_t count) {
    bool data = false;
    bool deletes = false;
    for (size_t i = 0; i < count; i++) {
        data = data || files[i].content == FZ_ICEBERG_DATA;
        deletes = deletes || files[i].content != FZ_ICEBERG_DATA;
    }
    return !deletes ? "append" : data ? "overwrite" : "delete";
}

/** Spec and tuple as bytes, to count partitions. */
static void partition_key(const fz_iceberg_file *file, fz_buf *key) {
    fz_buf_reset(key);
    fz_buf_append_le32(key, (uint32_t)file->spec_id);
    for (size_t i = 0; i < file->partition_count; i++) {
        const fz_value *value = &file->partition[i];
        fz_buf_append_byte(key, value->is_null ? 0 : 1);
        if (!value->is_null) {
            size_t at = key->size;
            fz_buf_append_le32(key, 0);
            fz_value_encode(value, key);
            uint32_t size = (uint32_t)(key->size - at - 4);
            memcpy(key->data + at, &size, sizeof(size));
        }
    }
}

static tally count_files(const fz_iceberg_file *files, size_t count) {
    tally t = {0};
    fz_map seen = {0};
    fz_buf key = {0};
    for (size_t i = 0; i < count; i++) {
        const fz_iceberg_file *file = &files[i];
        t.bytes += file->file_size_bytes;
        switch (file->content) {
        case FZ_ICEBERG_DATA:
            t.data_files++;
            t.records += file->record_count;
            break;
        case FZ_ICEBERG_POSITION_DELETES:
            t.delete_files++;
            t.position_deletes += file->record_count;
            if (fz_str_equal_nocase(file->format, FZ_STR("puffin"))) {
                t.vectors++;
            } else {
                t.position_files++;
            }
            break;
        case FZ_ICEBERG_EQUALITY_DELETES:
            t.delete_files++;
            t.equality_files++;
            t.equality_deletes += file->record_count;
            break;
        }
        partition_key(file, &key);
        (void)fz_map_put(&seen, fz_buf_view(&key), &seen);
    }
    t.partitions = (int64_t)seen.count;
    fz_map_deinit(&seen);
    fz_buf_deinit(&key);
    return t;
}

static void put(json_t *summary, const char *key, int64_t value) {
    char text[24];
    (void)snprintf(text, sizeof(text), "%lld", (long long)value);
    json_object_set_new(summary, key, json_string(text));
}

static void put_positive(json_t *summary, const char *key, int64_t value) {
    if (value > 0) {
        put(summary, key, value);
    }
}

/** Parent's total plus `added`; left out where the parent does not tell. */
static void put_total(json_t *summary, const fz_iceberg_snapshot *parent, const char *key,
                      int64_t added) {
    int64_t total = 0;
    if (parent) {
        fz_str text = fz_iceberg_snapshot_summary(parent, key);
        if (text.size == 0) {
            return;
        }
        for (size_t i = 0; i < text.size; i++) {
            int digit = text.data[i] - '0';
            if (digit < 0 || digit > 9 || __builtin_mul_overflow(total, 10, &total) ||
                __builtin_add_overflow(total, digit, &total)) {
                return;
            }
        }
    }
    if (!__builtin_add_overflow(total, added, &total) && total >= 0) {
        put(summary, key, total);
    }
}

json_t *fz_iceberg_snapshot_summary_new(const fz_iceberg_added *added,
                                        const fz_iceberg_snapshot *parent, const json_t *custom) {
    tally t = count_files(added->files, added->count);
    tally gone = count_files(added->removed, added->removed_count);
    json_t *summary = json_object();
    json_object_set_new(
        summary, "operation",
        json_string(added->is_replace ? "replace"
                                      : fz_iceberg_snapshot_operation(added->files, added->count)));
    if (custom) {
        json_object_update(summary, (json_t *)custom);
    }
    put_positive(summary, "added-data-files", t.data_files);
    put_positive(summary, "added-delete-files", t.delete_files);
    put_positive(summary, "added-equality-delete-files", t.equality_files);
    put_positive(summary, "added-position-delete-files", t.position_files);
    put_positive(summary, "added-dvs", t.vectors);
    put_positive(summary, "added-records", t.records);
    put_positive(summary, "added-files-size", t.bytes);
    put_positive(summary, "added-position-deletes", t.position_deletes);
    put_positive(summary, "added-equality-deletes", t.equality_deletes);
    put_positive(summary, "deleted-data-files", gone.data_files);
    put_positive(summary, "removed-delete-files", gone.delete_files);
    put_positive(summary, "removed-equality-delete-files", gone.equality_files);
    put_positive(summary, "removed-position-delete-files", gone.position_files);
    put_positive(summary, "removed-dvs", gone.vectors);
    put_positive(summary, "deleted-records", gone.records);
    put_positive(summary, "removed-files-size", gone.bytes);
    put_positive(summary, "removed-position-deletes", gone.position_deletes);
    put_positive(summary, "removed-equality-deletes", gone.equality_deletes);
    put(summary, "changed-partition-count",
        added->removed_count > 0 ? gone.partitions : t.partitions);
    put(summary, "manifests-created", (int64_t)added->manifests_created);
    put(summary, "manifests-kept", (int64_t)added->manifests_kept);
    put(summary, "manifests-replaced", (int64_t)added->manifests_replaced);
    put_total(summary, parent, "total-records", t.records - gone.records);
    put_total(summary, parent, "total-files-size", t.bytes - gone.bytes);
    put_total(summary, parent, "total-data-files", t.data_files - gone.data_files);
    put_total(summary, parent, "total-delete-files", t.delete_files - gone.delete_files);
    put_total(summary, parent, "total-position-deletes",
              t.position_deletes - gone.position_deletes);
    put_total(summary, parent, "total-equality-deletes",
              t.equality_deletes - gone.equality_deletes);
    return summary;
}
