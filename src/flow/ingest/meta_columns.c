// SPDX-License-Identifier: Apache-2.0
// Filling `_kafka` and promoted columns.
#include "flow/ingest/meta_columns.h"

#include "base/codec/text_codec.h"
#include "base/memory.h"

/** One leaf; -1: a column that others added, null. */
typedef struct meta_leaf {
    fz_column *column;
    int field;
} meta_leaf;

struct fz_meta_columns {
    fz_source *source;
    fz_str topic;
    int32_t partition;
    meta_leaf *leaves;
    size_t leaf_count;
    fz_column **structs; // pushed after their leaves
    size_t struct_count;
};

static void add_top(fz_meta_columns *meta, const fz_layout *layout, fz_batch *batch, size_t top) {
    fz_column *column = &batch->columns[top];
    size_t children = column->field->type.kind == FZ_TYPE_STRUCT ? column->child_count : 0;
    for (size_t c = 0; c < (children ? children : 1); c++) {
        meta_leaf *leaf = &meta->leaves[meta->leaf_count++];
        leaf->column = children ? &column->children[c] : column;
        leaf->field = -1;
        for (size_t i = 0; i < layout->meta_count; i++) {
            const fz_layout_meta *item = &layout->meta[i];
            if (item->top == (int32_t)top && item->child == (children ? (int32_t)c : -1)) {
                leaf->field = (int)item->field;
            }
        }
    }
    if (children) {
        meta->structs[meta->struct_count++] = column;
    }
}

fz_meta_columns *fz_meta_columns_new(const fz_layout *layout, fz_batch *batch, fz_source *source,
                                     fz_str topic) {
    fz_meta_columns *meta = (fz_meta_columns *)fz_calloc(1, sizeof *meta);
    meta->source = source;
    meta->topic = topic;
    size_t leaves = 0;
    for (size_t i = 0; i < batch->column_count; i++) {
        leaves += batch->columns[i].child_count + 1;
    }
    meta->leaves = (meta_leaf *)fz_calloc(leaves + 1, sizeof *meta->leaves);
    meta->structs = (fz_column **)fz_calloc(batch->column_count + 1, sizeof *meta->structs);
    for (size_t i = 0; i < batch->column_count; i++) {
        if (layout->owned[FZ_EVOLVE_METADATA][i]) {
            add_top(meta, layout, batch, i);
        }
    }
    return meta;
}

void fz_meta_columns_free(fz_meta_columns *meta) {
    if (meta) {
        fz_free(meta->leaves);
        fz_free(meta->structs);
        fz_free(meta);
    }
}

void fz_meta_columns_set_partition(fz_meta_columns *meta, int32_t partition) {
    meta->partition = partition;
}

static fz_code append_headers(fz_meta_columns *meta, fz_column *list, const fz_record *record,
                              fz_err *err) {
    fz_column *element = &list->children[0];
    fz_str name, value;
    bool is_null;
    for (size_t i = 0; fz_record_header(meta->source, record, i, &name, &value, &is_null); i++) {
        if (FZ_UNLIKELY(!fz_utf8_valid(name.data, name.size))) {
            return fz_err_set_kind(err, FZ_CORRUPT, "invalid_utf8",
                                   "name of header %zu is not UTF-8", i);
        }
        FZ_TRY(fz_column_append_bytes(&element->children[0], name.data, name.size, err));
        FZ_TRY(is_null
                   ? fz_column_append_null(&element->children[1], err)
                   : fz_column_append_bytes(&element->children[1], value.data, value.size, err));
        FZ_TRY(fz_column_append_struct(element, err));
    }
    return fz_column_append_list(list, err);
}

static fz_code append_leaf(fz_meta_columns *meta, const meta_leaf *leaf, const fz_record *record,
                           int32_t schema_id, fz_err *err) {
    fz_column *column = leaf->column;
    switch (leaf->field) {
    case FZ_METADATA_PARTITION:
        return fz_column_append_i32(column, meta->partition, err);
    case FZ_METADATA_OFFSET:
        return fz_column_append_i64(column, record->offset, err);
    case FZ_METADATA_TIMESTAMP:
        // milliseconds that do not fit micros are no instant that a table can hold
        if (record->timestamp_ms < 0 || record->timestamp_ms > INT64_MAX / 1000) {
            break;
        }
        return fz_column_append_i64(column, record->timestamp_ms * 1000, err);
    case FZ_METADATA_TOPIC:
        return fz_column_append_bytes(column, meta->topic.data, meta->topic.size, err);
    case FZ_METADATA_TIMESTAMP_TYPE: {
        fz_str text = record->timestamp_type == 2 ? FZ_STR("LogAppendTime") : FZ_STR("CreateTime");
        if (record->timestamp_type == 0) {
            break;
        }
        return fz_column_append_bytes(column, text.data, text.size, err);
    }
    case FZ_METADATA_LEADER_EPOCH:
        if (record->leader_epoch < 0) {
            break;
        }
        return fz_column_append_i32(column, record->leader_epoch, err);
    case FZ_METADATA_SCHEMA_ID:
        if (schema_id < 0) {
            break;
        }
        return fz_column_append_i32(column, schema_id, err);
    case FZ_METADATA_KEY:
        if (!record->key) {
            break;
        }
        return fz_column_append_bytes(column, record->key, record->key_size, err);
    case FZ_METADATA_HEADERS:
        return append_headers(meta, column, record, err);
    default:
        break;
    }
    return fz_column_append_null(column, err);
}

fz_code fz_meta_columns_append(fz_meta_columns *meta, const fz_record *record, int32_t schema_id,
                               fz_err *err) {
    for (size_t i = 0; i < meta->leaf_count; i++) {
        FZ_TRY(append_leaf(meta, &meta->leaves[i], record, schema_id, err));
    }
    for (size_t i = 0; i < meta->struct_count; i++) {
        FZ_TRY(fz_column_append_struct(meta->structs[i], err));
    }
    return FZ_OK;
}
