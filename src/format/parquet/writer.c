// SPDX-License-Identifier: Apache-2.0
// The writer: rows to leaves, row groups to the sink, memory to the budget.
#include "format/parquet/writer.h"

#include "base/memory.h"
#include "format/parquet/bloom.h"
#include "format/parquet/footer.h"
#include "format/parquet/page.h"

enum {
    CHUNK_ROWS = 1000,     // shredded at a time: levels and values stay in the cache
    GUESS_ROWS = 200000,   // of a row group before anything is known
    PAGE_SLACK = 64 << 10, // what an append may take beyond its values
    NODE_SIZE = 512,       // about, of a leaf's node, path and small allocations
    DEPTH_MAX = 100,
};

#define OPEN_SHARE 0.4 // of an open page's bytes, what compression is likely to leave

static const uint8_t MAGIC[4] = {'P', 'A', 'R', '1'};

struct fz_parquet_writer {
    fz_schema *schema;
    const fz_schema *checked; // batch schema found equal last
    fz_parquet_options options;
    fz_arena arena; // of the options' texts
    fz_sink *sink;
    fz_budget *budget;
    int64_t charged;
    fz_parquet_workspace *own_work;
    fz_parquet_workspace *work;
    fz_parquet_node *roots;
    fz_parquet_leaf *leaves;
    size_t leaf_count;
    FZ_VEC(fz_parquet_group) groups;
    int64_t groups_memory;
    int64_t fixed;  // charged for leaves and nodes
    int64_t offset; // bytes given to the sink
    int64_t rows;
    int64_t group_rows;
    int64_t expected_rows; // of the present row group
    fz_code failed;
    bool overdraw; // the next append asks the budget for nothing
    bool closed;
};

fz_parquet_workspace *fz_parquet_workspace_new(void) {
    return fz_calloc(1, sizeof(fz_parquet_workspace));
}

void fz_parquet_workspace_free(fz_parquet_workspace *work) {
    if (!work) {
        return;
    }
    fz_compressor_deinit(&work->compressor);
    fz_buf_deinit(&work->body);
    fz_buf_deinit(&work->packed);
    fz_buf_deinit(&work->header);
    fz_buf_deinit(&work->values);
    fz_buf_deinit(&work->index);
    fz_free(work);
}

void fz_parquet_options_init(fz_parquet_options *options) {
    *options = (fz_parquet_options){
        .codec = FZ_CODEC_ZSTD,
        .level = 1,
        .row_group_size = 16 << 20,
        .page_size = 1 << 20,
        .page_rows = 20000,
        .dictionary_size = 2 << 20,
        .page_index = true,
        .bloom_fpp = 0.01,
        .version = FZ_STR("0"),
    };
}

static fz_code check_options(const fz_parquet_options *options, fz_err *err) {
    if (fz_parquet_footer_codec(options->codec) < 0) {
        return fz_err_set(err, FZ_UNSUPPORTED, "parquet has no codec \"%s\"",
                          fz_codec_name(options->codec));
    }
    if (options->row_group_size <= 0 || options->page_size <= 0 || options->page_rows <= 0 ||
        options->page_size > INT32_MAX / 2 || options->page_rows > INT32_MAX / 2 ||
        options->dictionary_size < 0 || options->dictionary_size > INT32_MAX / 2) {
        return fz_err_set(err, FZ_INVALID,
                          "parquet sizes must be positive and pages below 1 GiB, found row group "
                          "%lld, page %lld, rows %lld, dictionary %lld",
                          (long long)options->row_group_size, (long long)options->page_size,
                          (long long)options->page_rows, (long long)options->dictionary_size);
    }
    if (options->bloom_count > 0 && !(options->bloom_fpp > 0 && options->bloom_fpp < 1)) {
        return fz_err_set(err, FZ_INVALID, "bloom filters want a rate between 0 and 1, found %g",
                          options->bloom_fpp);
    }
    return FZ_OK;
}

static void copy_options(fz_parquet_writer *writer, const fz_parquet_options *from) {
    fz_parquet_options *to = &writer->options;
    *to = *from;
    to->version =
        fz_arena_printf(&writer->arena, "frazil version %.*s", FZ_STR_ARGS(from->version));
    fz_parquet_pair *pairs = FZ_ARENA_ARRAY(&writer->arena, fz_parquet_pair, from->pair_count);
    for (size_t i = 0; i < from->pair_count; i++) {
        pairs[i].key = fz_arena_str(&writer->arena, from->pairs[i].key);
        pairs[i].value = fz_arena_str(&writer->arena, from->pairs[i].value);
    }
    to->pairs = pairs;
    int32_t *ids = FZ_ARENA_ARRAY(&writer->arena, int32_t, from->bloom_count);
    for (size_t i = 0; i < from->bloom_count; i++) {
        ids[i] = from->bloom_ids[i];
    }
    to->bloom_ids = ids;
}

static void init_leaves(fz_parquet_writer *writer, const fz_parquet_node *node, const fz_str *path,
                        size_t count) {
    fz_str names[2 * DEPTH_MAX + 2];
    FZ_ASSERT(count + 2 < FZ_COUNT(names));
    if (count) {
        memcpy(names, path, count * sizeof *names);
    }
    names[count++] = node->field->name;
    if (node->leaf >= 0) {
        fz_str *own = fz_alloc(count * sizeof *own);
        memcpy(own, names, count * sizeof *own);
        fz_parquet_leaf_init(&writer->leaves[node->leaf], node, own, count, &writer->options,
                             writer->work);
        return;
    }
    if (node->field->type.kind != FZ_TYPE_STRUCT) {
        names[count++] =
            node->field->type.kind == FZ_TYPE_LIST ? FZ_STR("list") : FZ_STR("key_value");
    }
    for (size_t i = 0; i < node->child_count; i++) {
        init_leaves(writer, &node->children[i], names, count);
    }
}

/**
 * What an open file takes before its first row. It cannot be flushed away, so that it is counted
 * only while it leaves a quarter of the budget to rows: more files than that are open at the price
 * of the limit.
 */
static void charge_fixed(fz_parquet_writer *writer) {
    int64_t size = (int64_t)(writer->leaf_count * (sizeof *writer->leaves + NODE_SIZE));
    if (writer->budget && fz_budget_used(writer->budget) + size <= writer->budget->limit / 4 * 3 &&
        fz_budget_charge(writer->budget, size, "parquet writer", NULL) == FZ_OK) {
        writer->fixed = writer->charged = size;
    }
}

static int type_depth(const fz_type *type) {
    int depth = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        int below = type_depth(&type->fields[i].type);
        depth = below > depth ? below : depth;
    }
    return depth + 1;
}

fz_code fz_parquet_writer_new(fz_schema *schema, const fz_parquet_options *options, fz_sink *sink,
                              fz_budget *budget, fz_parquet_writer **out, fz_err *err) {
    FZ_TRY(check_options(options, err));
    size_t fields = schema->root.field_count;
    if (fields == 0 || type_depth(&schema->root) > DEPTH_MAX) {
        return fz_err_set(err, FZ_INVALID, "a parquet file needs a column, and at most depth %d",
                          DEPTH_MAX);
    }
    fz_parquet_writer *writer = fz_calloc(1, sizeof *writer);
    writer->schema = fz_schema_ref(schema);
    writer->checked = schema;
    writer->sink = sink;
    writer->budget = budget;
    copy_options(writer, options);
    writer->expected_rows = GUESS_ROWS;
    writer->own_work = options->workspace ? NULL : fz_parquet_workspace_new();
    writer->work = options->workspace ? options->workspace : writer->own_work;
    writer->roots = fz_calloc(fields, sizeof *writer->roots);
    int leaves = 0;
    for (size_t i = 0; i < fields; i++) {
        fz_code code =
            fz_parquet_node_init(&writer->roots[i], &schema->root.fields[i], 0, 0, &leaves, err);
        if (code != FZ_OK) {
            fz_parquet_writer_free(writer);
            return code;
        }
    }
    writer->leaf_count = (size_t)leaves;
    writer->leaves = fz_calloc((size_t)leaves, sizeof *writer->leaves);
    for (size_t i = 0; i < fields; i++) {
        init_leaves(writer, &writer->roots[i], NULL, 0);
    }
    charge_fixed(writer);
    *out = writer;
    return FZ_OK;
}

void fz_parquet_writer_free(fz_parquet_writer *writer) {
    if (!writer) {
        return;
    }
    for (size_t i = 0; writer->leaves && i < writer->leaf_count; i++) {
        fz_parquet_leaf_deinit(&writer->leaves[i]);
    }
    for (size_t i = 0; i < writer->schema->root.field_count; i++) {
        fz_parquet_node_deinit(&writer->roots[i]);
    }
    for (size_t i = 0; i < writer->groups.count; i++) {
        fz_buf_deinit(&writer->groups.data[i].bytes);
        fz_free(writer->groups.data[i].chunks);
    }
    fz_vec_deinit(&writer->groups);
    fz_free(writer->leaves);
    fz_free(writer->roots);
    fz_parquet_workspace_free(writer->own_work);
    fz_budget_release(writer->budget, writer->charged);
    fz_schema_unref(writer->schema);
    fz_arena_deinit(&writer->arena);
    fz_free(writer);
}

static int64_t memory(const fz_parquet_writer *writer) {
    int64_t size = writer->groups_memory + writer->fixed;
    for (size_t i = 0; i < writer->leaf_count; i++) {
        size += fz_parquet_leaf_memory(&writer->leaves[i]);
    }
    for (size_t i = 0; i < writer->schema->root.field_count; i++) {
        size += (int64_t)fz_parquet_node_memory(&writer->roots[i]);
    }
    return size;
}

static int64_t group_size(const fz_parquet_writer *writer) {
    int64_t size = 0;
    for (size_t i = 0; i < writer->leaf_count; i++) {
        size += fz_parquet_leaf_size(&writer->leaves[i]);
    }
    return size;
}

int64_t fz_parquet_writer_buffered(const fz_parquet_writer *writer) {
    int64_t size = 0;
    for (size_t i = 0; writer->group_rows > 0 && i < writer->leaf_count; i++) {
        size += fz_parquet_leaf_memory(&writer->leaves[i]);
    }
    return size;
}

int64_t fz_parquet_writer_written(const fz_parquet_writer *writer) {
    int64_t size = writer->offset;
    for (size_t i = 0; i < writer->leaf_count; i++) {
        const fz_parquet_leaf *leaf = &writer->leaves[i];
        int64_t open = fz_parquet_leaf_size(leaf) - leaf->group_size;
        // The open page will shrink as the finished ones did.
        double ratio =
            leaf->group_raw > 0 ? (double)leaf->group_size / (double)leaf->group_raw : 0.5;
        size += leaf->group_size + (int64_t)((double)open * ratio);
    }
    return size;
}

int64_t fz_parquet_writer_rows(const fz_parquet_writer *writer) {
    return writer->rows;
}

bool fz_parquet_writer_failed(const fz_parquet_writer *writer) {
    return writer->failed != FZ_OK;
}

static fz_code fail(fz_parquet_writer *writer, fz_code code) {
    if (code != FZ_OK) {
        writer->failed = code;
    }
    return code;
}

static fz_code check_usable(const fz_parquet_writer *writer, fz_err *err) {
    if (writer->failed != FZ_OK) {
        return fz_err_set(err, writer->failed, "the parquet file failed before");
    }
    if (writer->closed) {
        return fz_err_set(err, FZ_INVALID, "the parquet file is closed");
    }
    return FZ_OK;
}

static fz_code emit(fz_parquet_writer *writer, const void *data, size_t size, fz_err *err) {
    if (size > 0) {
        FZ_TRY(fz_sink_write(writer->sink, data, size, err));
        writer->offset += (int64_t)size;
    }
    return FZ_OK;
}

static fz_code emit_buf(fz_parquet_writer *writer, const fz_buf *buf, fz_err *err) {
    return emit(writer, buf->data, buf->size, err);
}

static fz_code flush_leaf(fz_parquet_writer *writer, fz_parquet_leaf *leaf, fz_parquet_group *group,
                          fz_parquet_chunk *chunk, fz_err *err) {
    fz_parquet_place place = {.dictionary = -1, .bloom = -1, .raw = leaf->group_raw};
    int64_t start = writer->offset;
    if (leaf->dictionary_pages > 0) {
        size_t raw_size = 0;
        FZ_TRY(fz_parquet_page_encode_dictionary(leaf, &raw_size, err));
        place.dictionary = writer->offset;
        place.raw += (int64_t)(raw_size + writer->work->header.size);
        FZ_TRY(emit_buf(writer, &writer->work->header, err));
        FZ_TRY(emit_buf(writer, &writer->work->packed, err));
    }
    place.data = writer->offset;
    for (size_t i = 0; i < leaf->pages.count; i++) {
        FZ_TRY(emit(writer, leaf->pages.data[i].data, leaf->pages.data[i].size, err));
    }
    place.size = writer->offset - start;
    if (leaf->bloom) {
        fz_buf *bits = &writer->work->body;
        fz_buf_reset(bits);
        fz_parquet_bloom_encode(bits, leaf->hashes.data, leaf->hashes.count,
                                writer->options.bloom_fpp, writer->options.bloom_max);
        FZ_TRY(fz_buf_check(bits, "bloom filter", err));
        place.bloom = writer->offset;
        place.bloom_size = (int64_t)bits->size;
        FZ_TRY(emit_buf(writer, bits, err));
    }
    fz_parquet_footer_chunk(leaf, &place, group, chunk);
    group->raw += place.raw;
    group->size += place.size;
    fz_parquet_leaf_end_group(leaf, place.size);
    return FZ_OK;
}

static fz_code flush_group(fz_parquet_writer *writer, fz_err *err) {
    if (writer->group_rows == 0) {
        return FZ_OK;
    }
    if (writer->offset == 0) {
        FZ_TRY(emit(writer, MAGIC, sizeof MAGIC, err));
    }
    // Pages first: compressing may fail for want of memory, and then nothing of the row group is
    // out.
    for (size_t i = 0; i < writer->leaf_count; i++) {
        FZ_TRY(fz_parquet_leaf_finish_page(&writer->leaves[i], err));
    }
    fz_parquet_group group = {
        .rows = writer->group_rows,
        .offset = writer->offset,
        .chunks = fz_calloc(writer->leaf_count, sizeof *group.chunks),
    };
    fz_vec_push(&writer->groups, group);
    fz_parquet_group *last = &writer->groups.data[writer->groups.count - 1];
    for (size_t i = 0; i < writer->leaf_count; i++) {
        FZ_TRY(flush_leaf(writer, &writer->leaves[i], last, &last->chunks[i], err));
    }
    writer->expected_rows = writer->group_rows;
    writer->group_rows = 0;
    writer->groups_memory +=
        (int64_t)(last->bytes.capacity + writer->leaf_count * sizeof *last->chunks);
    return fz_buf_check(&last->bytes, "parquet footer", err);
}

/** Let the charge be what is held; false when the budget refuses. */
static bool settle(fz_parquet_writer *writer) {
    int64_t held = memory(writer);
    if (held > writer->charged) {
        if (fz_budget_charge(writer->budget, held - writer->charged, "parquet writer", NULL) !=
            FZ_OK) {
            return false;
        }
    } else {
        fz_budget_release(writer->budget, writer->charged - held);
    }
    writer->charged = held;
    return true;
}

fz_code fz_parquet_writer_flush(fz_parquet_writer *writer, fz_err *err) {
    FZ_TRY(check_usable(writer, err));
    FZ_TRY(fail(writer, flush_group(writer, err)));
    for (size_t i = 0; i < writer->leaf_count; i++) {
        fz_parquet_leaf_shrink(&writer->leaves[i]); // the caller flushes to get memory back
    }
    (void)settle(writer);
    return FZ_OK;
}

/** Context of a shredded chunk. */
static fz_code take_slots(void *context, int leaf, const fz_column *column,
                          const fz_parquet_slots *slots, fz_err *err) {
    fz_parquet_writer *writer = (fz_parquet_writer *)context;
    return fz_parquet_leaf_append(&writer->leaves[leaf], column, slots, writer->expected_rows, err);
}

static fz_code append_chunk(fz_parquet_writer *writer, const fz_batch *batch, const uint32_t *index,
                            int64_t from, int64_t count, fz_err *err) {
    fz_parquet_slots slots = {
        .count = (size_t)count,
        .pos = (const int32_t *)index, // rows are below 2^31
        .first = from,
    };
    for (size_t i = 0; i < batch->column_count; i++) {
        FZ_TRY(fz_parquet_node_shred(&writer->roots[i], &batch->columns[i], &slots, take_slots,
                                     writer, err));
    }
    writer->rows += count;
    writer->group_rows += count;
    int64_t size = group_size(writer);
    if (size >= writer->options.row_group_size) {
        return flush_group(writer, err);
    }
    if (size > 0) {
        double rows =
            (double)writer->group_rows * (double)writer->options.row_group_size / (double)size;
        writer->expected_rows = rows < 1e12 ? (int64_t)rows : (int64_t)1e12;
    }
    return FZ_OK;
}

static fz_code check_batch(fz_parquet_writer *writer, const fz_batch *batch, fz_err *err) {
    if (batch->schema == writer->checked) {
        return FZ_OK;
    }
    if (!fz_type_equal(&batch->schema->root, &writer->schema->root)) {
        return fz_err_set(err, FZ_INVALID, "the batch is of another schema than the parquet file");
    }
    return FZ_OK;
}

/** Most that `count` of the batch's rows can take. */
static int64_t reserve_size(const fz_parquet_writer *writer, const fz_batch *batch, int64_t count) {
    double share = batch->rows ? (double)count / (double)batch->rows : 1;
    double size = (double)fz_batch_size(batch) * share;
    return (int64_t)(size * 2) + count * (int64_t)writer->leaf_count * 8 + PAGE_SLACK;
}

static fz_code append(fz_parquet_writer *writer, const fz_batch *batch, const uint32_t *index,
                      int64_t from, int64_t count, fz_err *err) {
    FZ_TRY(check_usable(writer, err));
    FZ_TRY(check_batch(writer, batch, err));
    FZ_ASSERT(from >= 0 && count >= 0 && from + count <= INT32_MAX);
    int64_t want = reserve_size(writer, batch, count);
    if (writer->overdraw) {
        writer->overdraw = false;
        fz_budget_overdraw(writer->budget, want);
    } else {
        FZ_TRY(fz_budget_charge(writer->budget, want, "parquet writer", err));
    }
    writer->charged += want;
    for (int64_t done = 0; done < count; done += CHUNK_ROWS) {
        int64_t n = count - done < CHUNK_ROWS ? count - done : CHUNK_ROWS;
        FZ_TRY(fail(writer,
                    append_chunk(writer, batch, index ? index + done : NULL, from + done, n, err)));
    }
    if (!settle(writer)) {
        // The budget is used up by what was appended after all: give the row group back.
        FZ_TRY(fail(writer, flush_group(writer, err)));
        (void)settle(writer);
    }
    return FZ_OK;
}

fz_code fz_parquet_writer_append(fz_parquet_writer *writer, const fz_batch *batch, int64_t from,
                                 int64_t count, fz_err *err) {
    FZ_ASSERT(from + count <= batch->rows);
    return append(writer, batch, NULL, from, count, err);
}

fz_code fz_parquet_writer_append_rows(fz_parquet_writer *writer, const fz_batch *batch,
                                      const uint32_t *index, int64_t count, fz_err *err) {
    return append(writer, batch, index, 0, count, err);
}

void fz_parquet_writer_overdraw(fz_parquet_writer *writer) {
    writer->overdraw = true;
}

static void fill_bound(const fz_parquet_leaf *leaf, bool upper, fz_arena *arena, fz_value *out) {
    const fz_parquet_range *range = &leaf->file_bounds.range;
    fz_str bytes = upper ? range->max_bytes : range->min_bytes;
    *out = (fz_value){.kind = leaf->field->type.kind};
    double real = upper ? range->max_real : range->min_real;
    if (real == 0) {
        real = upper ? 0.0 : -0.0;
    }
    switch (out->kind) {
    case FZ_TYPE_FLOAT:
        out->as.real32 = (float)real;
        return;
    case FZ_TYPE_DOUBLE:
        out->as.real64 = real;
        return;
    case FZ_TYPE_DECIMAL:
        if (leaf->physical != FZ_PARQUET_FIXED) {
            out->as.decimal = upper ? range->max_int : range->min_int;
        } else {
            FZ_ASSERT(
                fz_decimal_from_be((const uint8_t *)bytes.data, bytes.size, &out->as.decimal));
        }
        return;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        out->as.bytes = fz_arena_str(arena, bytes);
        return;
    default:
        out->as.integer = upper ? range->max_int : range->min_int;
    }
}

static void fill_metrics(const fz_parquet_writer *writer, fz_file_metrics *out) {
    *out = (fz_file_metrics){
        .row_count = writer->rows,
        .file_size = writer->offset,
        .split_count = writer->groups.count,
        .column_count = writer->leaf_count,
    };
    out->split_offsets = FZ_ARENA_ARRAY(&out->arena, int64_t, writer->groups.count);
    for (size_t i = 0; i < writer->groups.count; i++) {
        out->split_offsets[i] = writer->groups.data[i].offset;
    }
    out->columns = FZ_ARENA_ARRAY(&out->arena, fz_column_metrics, writer->leaf_count);
    for (size_t i = 0; i < writer->leaf_count; i++) {
        const fz_parquet_leaf *leaf = &writer->leaves[i];
        const fz_parquet_range *range = &leaf->file_bounds.range;
        fz_column_metrics *column = &out->columns[i];
        column->field_id = leaf->field->id;
        column->type = fz_type_copy(&out->arena, &leaf->field->type);
        column->in_repeated = leaf->max_rep > 0;
        column->column_size = leaf->file_size;
        column->value_count = leaf->file_slots;
        column->null_count = leaf->file_slots - leaf->file_values;
        column->nan_count = leaf->bounds_type.order == FZ_PARQUET_ORDER_FLOAT ? range->nans : -1;
        column->has_bounds = range->has && !range->no_lower && !range->no_upper;
        column->lower = column->upper = (fz_value){.is_null = true};
        if (column->has_bounds) {
            fill_bound(leaf, false, &out->arena, &column->lower);
            fill_bound(leaf, true, &out->arena, &column->upper);
        }
    }
}

static fz_code write_end(fz_parquet_writer *writer, fz_err *err) {
    if (writer->offset == 0) {
        FZ_TRY(emit(writer, MAGIC, sizeof MAGIC, err));
    }
    for (size_t kind = 0; kind < 2; kind++) {
        for (size_t g = 0; g < writer->groups.count; g++) {
            const fz_parquet_group *group = &writer->groups.data[g];
            for (size_t i = 0; i < writer->leaf_count; i++) {
                fz_parquet_chunk *chunk = &group->chunks[i];
                size_t at = kind == 0 ? chunk->column_index : chunk->offset_index;
                size_t size = kind == 0 ? chunk->column_index_size : chunk->offset_index_size;
                *(kind == 0 ? &chunk->column_index_at : &chunk->offset_index_at) = writer->offset;
                FZ_TRY(emit(writer, group->bytes.data + at, size, err));
            }
        }
    }
    fz_buf *footer = &writer->work->body;
    fz_buf_reset(footer);
    fz_parquet_footer_encode(writer->schema, &writer->options, writer->groups.data,
                             writer->groups.count, writer->leaf_count, writer->rows, footer);
    FZ_TRY(fz_buf_check(footer, "parquet footer", err));
    if (footer->size > INT32_MAX) {
        return fz_err_set(err, FZ_LIMIT, "the parquet footer has %zu bytes", footer->size);
    }
    fz_buf_append_le32(footer, (uint32_t)footer->size);
    fz_buf_append(footer, MAGIC, sizeof MAGIC);
    FZ_TRY(fz_buf_check(footer, "parquet footer", err));
    return emit_buf(writer, footer, err);
}

fz_code fz_parquet_writer_close(fz_parquet_writer *writer, fz_file_metrics *metrics, fz_err *err) {
    FZ_TRY(check_usable(writer, err));
    FZ_TRY(fail(writer, flush_group(writer, err)));
    FZ_TRY(fail(writer, write_end(writer, err)));
    writer->closed = true;
    if (metrics) {
        fill_metrics(writer, metrics);
    }
    (void)settle(writer);
    return FZ_OK;
}
