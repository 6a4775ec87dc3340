// SPDX-License-Identifier: Apache-2.0
// Parses the footer; every count, place and size in it is checked.
#include "format/parquet/metadata.h"

#include "base/memory.h"
#include "format/parquet/thrift.h"

enum { PAIRS_MAX = 100000 }; // key/value pairs of a footer

void fz_parquet_metadata_deinit(fz_parquet_metadata *metadata) {
    fz_buf_deinit(&metadata->footer);
    fz_arena_deinit(&metadata->arena);
    *metadata = (fz_parquet_metadata){0};
}

static int parse_unit(fz_cur *cur, const fz_parquet_thrift_field *field) {
    int unit = 0;
    if (fz_parquet_thrift_read_struct(cur, field)) {
        fz_parquet_thrift_field choice = {0};
        while (fz_parquet_thrift_next(cur, &choice)) {
            unit = choice.id;
            fz_parquet_thrift_skip(cur, &choice);
        }
    }
    return unit;
}

static void parse_time(fz_cur *cur, fz_parquet_element *element) {
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        if (field.id == 1) {
            element->utc = fz_parquet_thrift_read_bool(cur, &field);
        } else if (field.id == 2) {
            element->unit = parse_unit(cur, &field);
        } else {
            fz_parquet_thrift_skip(cur, &field);
        }
    }
}

static void parse_decimal(fz_cur *cur, fz_parquet_element *element) {
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        if (field.id == 1) {
            element->scale = fz_parquet_thrift_read_i32(cur, &field);
        } else if (field.id == 2) {
            element->precision = fz_parquet_thrift_read_i32(cur, &field);
        } else {
            fz_parquet_thrift_skip(cur, &field);
        }
    }
}

static void parse_integer(fz_cur *cur, fz_parquet_element *element) {
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        if (field.id == 1) {
            element->bits = (int)fz_parquet_thrift_read_int(cur, &field);
        } else if (field.id == 2) {
            element->is_signed = fz_parquet_thrift_read_bool(cur, &field);
        } else {
            fz_parquet_thrift_skip(cur, &field);
        }
    }
}

static void parse_logical(fz_cur *cur, fz_parquet_element *element) {
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        element->logical = field.id;
        if (field.type != FZ_PARQUET_THRIFT_STRUCT) {
            fz_cur_fail(cur, FZ_CUR_MALFORMED);
        } else if (field.id == FZ_PARQUET_LOGICAL_TIME ||
                   field.id == FZ_PARQUET_LOGICAL_TIMESTAMP) {
            parse_time(cur, element);
        } else if (field.id == FZ_PARQUET_LOGICAL_DECIMAL) {
            parse_decimal(cur, element);
        } else if (field.id == FZ_PARQUET_LOGICAL_INTEGER) {
            parse_integer(cur, element);
        } else {
            fz_parquet_thrift_skip(cur, &field);
        }
    }
}

static void parse_element(fz_cur *cur, fz_parquet_element *element) {
    *element = (fz_parquet_element){.physical = -1, .field_id = -1, .converted = -1};
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        switch (field.id) {
        case 1:
            element->physical = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 2:
            element->type_length = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 3:
            element->repetition = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 4:
            element->name = fz_parquet_thrift_read_binary(cur, &field);
            break;
        case 5:
            element->child_count = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 6:
            element->converted = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 7:
            element->scale = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 8:
            element->precision = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 9:
            element->field_id = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 10:
            if (fz_parquet_thrift_read_struct(cur, &field)) {
                parse_logical(cur, element);
            }
            break;
        default:
            fz_parquet_thrift_skip(cur, &field);
        }
    }
}

static fz_code check_element(const fz_parquet_element *e, bool root, fz_err *err) {
    bool group = e->physical < 0;
    if (e->physical < -1 || e->physical > FZ_PARQUET_FIXED || e->repetition < 0 ||
        e->repetition > FZ_PARQUET_REPEATED || e->child_count < 0 ||
        (!group && e->child_count > 0) || (e->physical == FZ_PARQUET_FIXED && e->type_length < 0) ||
        (root && !group)) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                               "parquet schema element \"%.*s\" is malformed",
                               FZ_STR_ARGS(e->name));
    }
    return FZ_OK;
}

static fz_code parse_schema(fz_cur *cur, const fz_parquet_thrift_field *field,
                            fz_parquet_metadata *m, const fz_parquet_limits *limits, fz_err *err) {
    size_t count = fz_parquet_thrift_read_list(cur, field, FZ_PARQUET_THRIFT_STRUCT);
    if (count > (size_t)limits->elements) {
        return fz_err_set(err, FZ_LIMIT, "the parquet schema has %zu elements, at most %d are read",
                          count, limits->elements);
    }
    m->elements = FZ_ARENA_ARRAY(&m->arena, fz_parquet_element, count);
    m->element_count = count;
    for (size_t i = 0; i < count && cur->fault == FZ_CUR_OK; i++) {
        parse_element(cur, &m->elements[i]);
        if (cur->fault == FZ_CUR_OK) {
            FZ_TRY(check_element(&m->elements[i], i == 0, err));
        }
    }
    return FZ_OK;
}

static void parse_column_meta(fz_cur *cur, fz_parquet_chunk_meta *chunk) {
    int64_t data = 0;
    int64_t dictionary = 0;
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        switch (field.id) {
        case 1:
            chunk->physical = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 4:
            chunk->codec = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 5:
            chunk->values = fz_parquet_thrift_read_int(cur, &field);
            break;
        case 7:
            chunk->size = fz_parquet_thrift_read_int(cur, &field);
            break;
        case 9:
            data = fz_parquet_thrift_read_int(cur, &field);
            break;
        case 11:
            dictionary = fz_parquet_thrift_read_int(cur, &field);
            break;
        default:
            fz_parquet_thrift_skip(cur, &field);
        }
    }
    // A place of 0 is the magic: old writers put it for "no dictionary".
    chunk->start = dictionary > 0 && dictionary < data ? dictionary : data;
}

static fz_code parse_chunk(fz_cur *cur, fz_parquet_chunk_meta *chunk, int64_t file_size,
                           fz_err *err) {
    *chunk = (fz_parquet_chunk_meta){.physical = -1};
    bool has_meta = false;
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        if (field.id == 1) {
            return fz_err_set(err, FZ_UNSUPPORTED, "parquet column chunks in other files");
        }
        if (field.id == 9 || field.id == 8) {
            return fz_err_set(err, FZ_UNSUPPORTED, "encrypted parquet columns");
        }
        if (field.id == 3 && fz_parquet_thrift_read_struct(cur, &field)) {
            has_meta = true;
            parse_column_meta(cur, chunk);
        } else {
            fz_parquet_thrift_skip(cur, &field);
        }
    }
    if (cur->fault == FZ_CUR_OK &&
        (!has_meta || chunk->values < 0 || chunk->size < 0 || chunk->start < 0 ||
         chunk->start > file_size || chunk->size > file_size - chunk->start)) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                               "parquet column chunk of %lld bytes at %lld in a file of %lld bytes",
                               (long long)chunk->size, (long long)chunk->start,
                               (long long)file_size);
    }
    return FZ_OK;
}

static fz_code parse_group(fz_cur *cur, fz_parquet_metadata *m, fz_parquet_group_meta *group,
                           int64_t file_size, fz_err *err) {
    size_t chunks = 0;
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        if (field.id == 1) {
            chunks = fz_parquet_thrift_read_list(cur, &field, FZ_PARQUET_THRIFT_STRUCT);
            if (cur->fault != FZ_CUR_OK || chunks != m->leaf_count || group->chunks) {
                return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                                       "a parquet row group has %zu column chunks, the schema %zu",
                                       chunks, m->leaf_count);
            }
            group->chunks = FZ_ARENA_ARRAY(&m->arena, fz_parquet_chunk_meta, chunks);
            for (size_t i = 0; i < chunks && cur->fault == FZ_CUR_OK; i++) {
                FZ_TRY(parse_chunk(cur, &group->chunks[i], file_size, err));
            }
        } else if (field.id == 3) {
            group->rows = fz_parquet_thrift_read_int(cur, &field);
        } else {
            fz_parquet_thrift_skip(cur, &field);
        }
    }
    bool bad = group->rows < 0 || (!group->chunks && m->leaf_count > 0);
    for (size_t i = 0; cur->fault == FZ_CUR_OK && !bad && i < m->leaf_count; i++) {
        bad = group->chunks[i].values < group->rows; // each row has a level at least
    }
    if (cur->fault == FZ_CUR_OK && bad) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed", "a parquet row group is malformed");
    }
    return FZ_OK;
}

static fz_code parse_groups(fz_cur *cur, const fz_parquet_thrift_field *field,
                            fz_parquet_metadata *m, int64_t file_size,
                            const fz_parquet_limits *limits, fz_err *err) {
    size_t count = fz_parquet_thrift_read_list(cur, field, FZ_PARQUET_THRIFT_STRUCT);
    if (count > (size_t)limits->row_groups) {
        return fz_err_set(err, FZ_LIMIT,
                          "the parquet file has %zu row groups, at most %lld are read", count,
                          (long long)limits->row_groups);
    }
    m->groups = FZ_ARENA_ARRAY(&m->arena, fz_parquet_group_meta, count);
    m->group_count = count;
    m->rows = 0;
    for (size_t i = 0; i < count && cur->fault == FZ_CUR_OK; i++) {
        FZ_TRY(parse_group(cur, m, &m->groups[i], file_size, err));
        if (__builtin_add_overflow(m->rows, m->groups[i].rows, &m->rows)) {
            return fz_err_set_kind(err, FZ_CORRUPT, "malformed", "parquet row counts overflow");
        }
    }
    return FZ_OK;
}

static void parse_pairs(fz_cur *cur, const fz_parquet_thrift_field *field, fz_parquet_metadata *m) {
    size_t count = fz_parquet_thrift_read_list(cur, field, FZ_PARQUET_THRIFT_STRUCT);
    if (count > PAIRS_MAX) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return;
    }
    m->pairs = FZ_ARENA_ARRAY(&m->arena, fz_parquet_pair_meta, count);
    m->pair_count = count;
    for (size_t i = 0; i < count && cur->fault == FZ_CUR_OK; i++) {
        fz_parquet_thrift_field part = {0};
        while (fz_parquet_thrift_next(cur, &part)) {
            if (part.id == 1) {
                m->pairs[i].key = fz_parquet_thrift_read_binary(cur, &part);
            } else if (part.id == 2) {
                m->pairs[i].value = fz_parquet_thrift_read_binary(cur, &part);
            } else {
                fz_parquet_thrift_skip(cur, &part);
            }
        }
    }
}

/** parquet-mr before 1.2.9 left the header of a dictionary page out of its chunk's size
 * (PARQUET-816). */
static bool leaves_header_out(fz_str created_by) {
    fz_str name = FZ_STR("parquet-mr");
    fz_str version = FZ_STR("parquet-mr version ");
    if (!fz_str_starts_with(created_by, version)) {
        return fz_str_equal(created_by, name);
    }
    fz_str number = fz_str_slice(created_by, version.size, created_by.size);
    return fz_str_starts_with(number, FZ_STR("1.0.")) ||
           fz_str_starts_with(number, FZ_STR("1.1.")) ||
           (fz_str_starts_with(number, FZ_STR("1.2.")) && number.size >= 5 &&
            number.data[4] < '9' &&
            (number.size == 5 || number.data[5] < '0' || number.data[5] > '9'));
}

/** Give each chunk the room of the largest such header, which its pages need not use. */
static void widen_chunks(fz_parquet_metadata *m, int64_t file_size) {
    enum { HEADER_MAX = 100 };
    for (size_t g = 0; g < m->group_count; g++) {
        for (size_t i = 0; i < m->leaf_count; i++) {
            fz_parquet_chunk_meta *chunk = &m->groups[g].chunks[i];
            int64_t left = file_size - chunk->start - chunk->size;
            chunk->size += left < HEADER_MAX ? left : HEADER_MAX;
        }
    }
}

fz_code fz_parquet_metadata_parse(fz_parquet_metadata *m, int64_t file_size,
                                  const fz_parquet_limits *limits, fz_err *err) {
    fz_cur cur = fz_cur_make(m->footer.data, m->footer.size);
    bool has_groups = false;
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(&cur, &field)) {
        switch (field.id) {
        case 2:
            if (m->elements) {
                return fz_err_set_kind(err, FZ_CORRUPT, "malformed", "two parquet schemas");
            }
            FZ_TRY(parse_schema(&cur, &field, m, limits, err));
            if (cur.fault == FZ_CUR_OK) {
                FZ_TRY(fz_parquet_view_build(m, limits, err));
            }
            break;
        case 4:
            if (!m->elements || has_groups) {
                return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                                       "parquet row groups without a schema");
            }
            has_groups = true;
            FZ_TRY(parse_groups(&cur, &field, m, file_size, limits, err));
            break;
        case 5:
            parse_pairs(&cur, &field, m);
            break;
        case 6:
            m->created_by = fz_parquet_thrift_read_binary(&cur, &field);
            break;
        default:
            fz_parquet_thrift_skip(&cur, &field);
        }
    }
    FZ_TRY(fz_cur_check(&cur, "parquet footer", err));
    if (!m->elements) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed", "the parquet footer has no schema");
    }
    if (leaves_header_out(m->created_by)) {
        widen_chunks(m, file_size);
    }
    return FZ_OK;
}
