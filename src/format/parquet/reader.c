// SPDX-License-Identifier: Apache-2.0
// Opens files, resolves what is wanted, and reads row groups in batches.
#include "format/parquet/reader.h"

#include "base/memory.h"
#include "format/parquet/assemble.h"

enum {
    TAIL_SIZE = 64 << 10, // read at first: most footers fit
    TRAILER_SIZE = 8,     // length and magic
    SMALLEST_FILE = 12,
    FOOTER_COST = 4, // memory for a footer's bytes, times this
};

struct fz_parquet_reader {
    fz_parquet_source *source;
    fz_parquet_limits limits;
    fz_budget *budget;
    int64_t charged;
    fz_parquet_metadata metadata;
    fz_schema *schema; // of the file
    fz_compressor compressor;
    fz_schema *wanted;
    fz_arena plan_arena;
    fz_parquet_plan root;
    fz_parquet_column_reader **columns; // by leaf, NULL: not read
    fz_buf scratch;
    size_t group;
    int64_t rows_left; // of the row group; -1: not begun
    bool failed;
};

static fz_code memory_read(fz_parquet_source *base, int64_t at, size_t size, fz_buf *out,
                           fz_err *err) {
    fz_parquet_memory_source *source = (fz_parquet_memory_source *)base;
    if (at < 0 || (uint64_t)at > source->bytes.size || size > source->bytes.size - (size_t)at) {
        return fz_err_set_kind(err, FZ_CORRUPT, "truncated", "%zu bytes at %lld of a file of %zu",
                               size, (long long)at, source->bytes.size);
    }
    fz_buf_append(out, source->bytes.data + at, size);
    return fz_buf_check(out, "parquet file", err);
}

void fz_parquet_memory_source_init(fz_parquet_memory_source *source, fz_str bytes) {
    *source = (fz_parquet_memory_source){{(int64_t)bytes.size, memory_read}, bytes};
}

void fz_parquet_limits_init(fz_parquet_limits *limits) {
    *limits = (fz_parquet_limits){
        .footer_size = 256 << 20,
        .page_size = 256 << 20,
        .elements = 20000,
        .depth = 100,
        .row_groups = 1000000,
    };
}

static fz_code not_parquet(fz_err *err) {
    return fz_err_set_kind(err, FZ_CORRUPT, "malformed", "not a parquet file");
}

static fz_code read_footer(fz_parquet_reader *reader, fz_err *err) {
    fz_parquet_source *source = reader->source;
    if (source->size < SMALLEST_FILE) {
        return not_parquet(err);
    }
    fz_buf FZ_CLEANUP(fz_buf_deinit) tail = {0};
    fz_buf_init(&tail, 0, reader->budget);
    size_t size = source->size < TAIL_SIZE ? (size_t)source->size : TAIL_SIZE;
    FZ_TRY(source->read(source, source->size - (int64_t)size, size, &tail, err));
    FZ_TRY(fz_buf_check(&tail, "parquet footer", err));
    if (tail.size != size) {
        return not_parquet(err);
    }
    fz_str magic = fz_str_make(tail.data + size - 4, 4);
    if (fz_str_equal(magic, FZ_STR("PARE"))) {
        return fz_err_set(err, FZ_UNSUPPORTED, "parquet files with an encrypted footer");
    }
    uint32_t footer;
    memcpy(&footer, tail.data + size - TRAILER_SIZE, 4);
    if (!fz_str_equal(magic, FZ_STR("PAR1")) || footer > source->size - SMALLEST_FILE) {
        return not_parquet(err);
    }
    if (footer > reader->limits.footer_size) {
        return fz_err_set(err, FZ_LIMIT, "the parquet footer has %u bytes, at most %lld are read",
                          footer, (long long)reader->limits.footer_size);
    }
    int64_t cost = (int64_t)footer * FOOTER_COST;
    FZ_TRY(fz_budget_charge(reader->budget, cost, "parquet footer", err));
    reader->charged = cost;
    fz_buf *out = &reader->metadata.footer;
    fz_buf_init(out, 0, reader->budget);
    if (footer + TRAILER_SIZE <= size) {
        fz_buf_append(out, tail.data + size - TRAILER_SIZE - footer, footer);
    } else {
        FZ_TRY(source->read(source, source->size - TRAILER_SIZE - footer, footer, out, err));
    }
    FZ_TRY(fz_buf_check(out, "parquet footer", err));
    return out->size == footer ? FZ_OK : not_parquet(err);
}

fz_code fz_parquet_reader_open(fz_parquet_source *source, const fz_parquet_limits *limits,
                               fz_budget *budget, fz_parquet_reader **out, fz_err *err) {
    fz_parquet_reader *reader = fz_calloc(1, sizeof *reader);
    reader->source = source;
    reader->budget = budget;
    reader->rows_left = -1;
    if (limits) {
        reader->limits = *limits;
    } else {
        fz_parquet_limits_init(&reader->limits);
    }
    fz_buf_init(&reader->scratch, 0, budget);
    fz_code code = read_footer(reader, err);
    if (code == FZ_OK) {
        code = fz_parquet_metadata_parse(&reader->metadata, source->size, &reader->limits, err);
    }
    if (code != FZ_OK) {
        fz_parquet_reader_free(reader);
        return code;
    }
    reader->schema = fz_parquet_view_schema(&reader->metadata);
    *out = reader;
    return FZ_OK;
}

static void free_projection(fz_parquet_reader *reader) {
    for (size_t i = 0; reader->columns && i < reader->metadata.leaf_count; i++) {
        if (reader->columns[i]) {
            fz_parquet_column_reader_deinit(reader->columns[i]);
            fz_free(reader->columns[i]);
        }
    }
    fz_free(reader->columns);
    reader->columns = NULL;
    fz_arena_deinit(&reader->plan_arena);
    reader->plan_arena = (fz_arena){0};
    fz_schema_unref(reader->wanted);
    reader->wanted = NULL;
    reader->root = (fz_parquet_plan){0};
}

void fz_parquet_reader_free(fz_parquet_reader *reader) {
    if (!reader) {
        return;
    }
    free_projection(reader);
    fz_compressor_deinit(&reader->compressor);
    fz_schema_unref(reader->schema);
    fz_parquet_metadata_deinit(&reader->metadata);
    fz_buf_deinit(&reader->scratch);
    fz_budget_release(reader->budget, reader->charged);
    fz_free(reader);
}

int64_t fz_parquet_reader_rows(const fz_parquet_reader *reader) {
    return reader->metadata.rows;
}

size_t fz_parquet_reader_row_groups(const fz_parquet_reader *reader) {
    return reader->metadata.group_count;
}

int64_t fz_parquet_reader_row_group_rows(const fz_parquet_reader *reader, size_t row_group) {
    return row_group < reader->metadata.group_count ? reader->metadata.groups[row_group].rows : 0;
}

bool fz_parquet_reader_pair(const fz_parquet_reader *reader, fz_str key, fz_str *value) {
    for (size_t i = 0; i < reader->metadata.pair_count; i++) {
        if (fz_str_equal(reader->metadata.pairs[i].key, key)) {
            *value = reader->metadata.pairs[i].value;
            return true;
        }
    }
    return false;
}

fz_str fz_parquet_reader_created_by(const fz_parquet_reader *reader) {
    return reader->metadata.created_by;
}

bool fz_parquet_reader_has_ids(const fz_parquet_reader *reader) {
    return reader->metadata.has_ids;
}

void fz_parquet_reader_map_names(fz_parquet_reader *reader, const json_t *mapping) {
    if (json_is_array(mapping) && !reader->metadata.has_ids) {
        fz_parquet_view_map(&reader->metadata.root, mapping);
        reader->metadata.has_ids = true;
    }
}

fz_schema *fz_parquet_reader_schema(const fz_parquet_reader *reader) {
    return reader->schema;
}

/** The reader of a leaf, made when first wanted. */
static fz_parquet_column_reader *column_of(fz_parquet_reader *reader, int leaf) {
    fz_parquet_column_reader **slot = &reader->columns[leaf];
    if (!*slot) {
        *slot = fz_alloc(sizeof **slot);
        fz_parquet_column_reader_init(*slot, reader->source, &reader->limits, &reader->compressor,
                                      &reader->metadata.leaves[leaf], reader->budget);
    }
    return *slot;
}

static const fz_parquet_view *find_view(const fz_parquet_reader *reader,
                                        const fz_parquet_view *parent, const fz_field *field,
                                        size_t place) {
    // The file's own schema is its readable columns in their order; ids of some of them are made
    // up.
    bool own = reader->wanted == reader->schema;
    for (size_t i = 0; i < parent->child_count; i++) {
        const fz_parquet_view *view = &parent->children[i];
        if (own) {
            if (view->readable && place-- == 0) {
                return view;
            }
            continue;
        }
        if (reader->metadata.has_ids ? view->id >= 0 && view->id == field->id
                                     : fz_str_equal(view->name, field->name)) {
            return view;
        }
    }
    return NULL;
}

static fz_code make_plan(fz_parquet_reader *reader, const fz_field *field,
                         const fz_parquet_view *view, fz_parquet_plan *plan, fz_err *err);

static fz_code plan_children(fz_parquet_reader *reader, const fz_type *type,
                             const fz_parquet_view *view, fz_parquet_plan *plan, fz_err *err) {
    plan->child_count = type->field_count;
    plan->children = FZ_ARENA_ARRAY(&reader->plan_arena, fz_parquet_plan, type->field_count);
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_parquet_view *child = type->kind == FZ_TYPE_STRUCT
                                           ? find_view(reader, view, &type->fields[i], i)
                                           : &view->children[i];
        FZ_TRY(make_plan(reader, &type->fields[i], child, &plan->children[i], err));
    }
    return FZ_OK;
}

static fz_code make_plan(fz_parquet_reader *reader, const fz_field *field,
                         const fz_parquet_view *view, fz_parquet_plan *plan, fz_err *err) {
    *plan = (fz_parquet_plan){.field = field, .view = view};
    if (!view) {
        return FZ_OK;
    }
    bool nested = fz_type_is_nested(&field->type);
    if (!nested || view->kind != field->type.kind || !view->readable) {
        FZ_TRY(fz_parquet_plan_convert(plan, err));
        plan->reader = column_of(reader, view->leaf);
        return FZ_OK;
    }
    FZ_TRY(plan_children(reader, &field->type, view, plan, err));
    // Levels of the group: from a leaf that is read anyway, if there is one.
    for (size_t i = 0; i < plan->child_count && !plan->reader; i++) {
        plan->reader = plan->children[i].reader;
    }
    if (!plan->reader) {
        plan->reader = column_of(reader, view->leaf);
    }
    return FZ_OK;
}

fz_code fz_parquet_reader_project(fz_parquet_reader *reader, fz_schema *schema, fz_err *err) {
    fz_schema *wanted = fz_schema_ref(schema);
    free_projection(reader);
    reader->wanted = wanted;
    reader->columns =
        fz_calloc(reader->metadata.leaf_count + 1, sizeof(fz_parquet_column_reader *));
    reader->group = 0;
    reader->rows_left = -1;
    reader->failed = false;
    fz_code code = plan_children(reader, &schema->root, &reader->metadata.root, &reader->root, err);
    if (code != FZ_OK) {
        free_projection(reader);
    }
    return code;
}

static bool has_field(const fz_parquet_plan *plan, int32_t id) {
    if (plan->field && plan->field->id == id) {
        return plan->view != NULL;
    }
    for (size_t i = 0; i < plan->child_count; i++) {
        if (has_field(&plan->children[i], id)) {
            return true;
        }
    }
    return false;
}

bool fz_parquet_reader_has(const fz_parquet_reader *reader, int32_t field_id) {
    return has_field(&reader->root, field_id);
}

fz_code fz_parquet_reader_seek(fz_parquet_reader *reader, size_t row_group, fz_err *err) {
    if (row_group >= reader->metadata.group_count) {
        return fz_err_set(err, FZ_INVALID, "row group %zu of a parquet file of %zu", row_group,
                          reader->metadata.group_count);
    }
    reader->group = row_group;
    reader->rows_left = -1;
    reader->failed = false;
    return FZ_OK;
}

static fz_code begin_group(fz_parquet_reader *reader, fz_err *err) {
    const fz_parquet_group_meta *group = &reader->metadata.groups[reader->group];
    for (size_t i = 0; i < reader->metadata.leaf_count; i++) {
        if (reader->columns[i]) {
            FZ_TRY(fz_parquet_column_reader_begin(reader->columns[i], &group->chunks[i], err));
        }
    }
    reader->rows_left = group->rows;
    return FZ_OK;
}

static fz_code read_rows(fz_parquet_reader *reader, fz_batch *batch, int64_t rows, fz_err *err) {
    for (size_t i = 0; i < reader->metadata.leaf_count; i++) {
        if (reader->columns[i]) {
            FZ_TRY(fz_parquet_column_reader_read(reader->columns[i], rows, err));
        }
    }
    for (size_t i = 0; i < batch->column_count; i++) {
        FZ_TRY(fz_parquet_plan_assemble(&reader->root.children[i], &batch->columns[i], rows,
                                        &reader->scratch, err));
    }
    return FZ_OK;
}

fz_code fz_parquet_reader_next(fz_parquet_reader *reader, fz_batch *batch, int64_t max_rows,
                               int64_t *rows, fz_err *err) {
    if (!reader->wanted || batch->schema != reader->wanted || reader->failed || max_rows <= 0) {
        return fz_err_set(
            err, FZ_INVALID,
            "the parquet reader failed, has no projection, or the batch is not of it");
    }
    *rows = 0;
    fz_code code = FZ_OK;
    while (code == FZ_OK && reader->rows_left <= 0) {
        if (reader->rows_left == 0) {
            reader->group++;
            reader->rows_left = -1;
        }
        if (reader->group >= reader->metadata.group_count) {
            return FZ_OK;
        }
        code = begin_group(reader, err);
    }
    int64_t n = max_rows < reader->rows_left ? max_rows : reader->rows_left;
    if (code == FZ_OK) {
        code = read_rows(reader, batch, n, err);
    }
    if (code != FZ_OK) {
        fz_batch_truncate(batch, batch->rows);
        reader->failed = true;
        return fz_err_prepend(err, "while reading row group %zu", reader->group);
    }
    batch->rows += n;
    reader->rows_left -= n;
    *rows = n;
    return FZ_OK;
}
