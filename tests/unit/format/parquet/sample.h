// SPDX-License-Identifier: Apache-2.0
// Random schemas and rows, and rows as text: shared by the tests of writer and reader.
#ifndef FZ_TEST_PARQUET_SAMPLE_H
#define FZ_TEST_PARQUET_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "data/batch.h"
#include "data/decimal.h"
#include "format/parquet/writer.h"

static inline uint64_t sample_next(uint64_t *state) {
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static inline uint64_t sample_below(uint64_t *state, uint64_t n) {
    return sample_next(state) % n;
}

static inline fz_type sample_type(fz_arena *arena, uint64_t *state, int depth) {
    fz_type type = {0};
    uint64_t kinds = depth < 4 ? FZ_TYPE_MAP + 1 : FZ_TYPE_BINARY + 1;
    // Nested types are as likely as all others together, near the root.
    uint64_t kind = sample_below(state, kinds);
    if (depth < 3 && sample_below(state, 3) == 0) {
        kind = FZ_TYPE_STRUCT + sample_below(state, 3);
    }
    type.kind = (fz_type_kind)kind;
    if (type.kind == FZ_TYPE_DECIMAL) {
        static const int32_t precisions[] = {1, 5, 9, 10, 18, 19, 20, 30, 38};
        type.precision = precisions[sample_below(state, FZ_COUNT(precisions))];
        type.scale = (int32_t)sample_below(state, (uint64_t)type.precision + 1);
    } else if (type.kind == FZ_TYPE_FIXED) {
        type.length = 1 + (int32_t)sample_below(state, 20);
    } else if (fz_type_is_nested(&type)) {
        type.field_count = type.kind == FZ_TYPE_LIST  ? 1
                           : type.kind == FZ_TYPE_MAP ? 2
                                                      : 1 + (size_t)sample_below(state, 3);
        type.fields = FZ_ARENA_ARRAY(arena, fz_field, type.field_count);
        for (size_t i = 0; i < type.field_count; i++) {
            fz_field *field = &type.fields[i];
            bool key = type.kind == FZ_TYPE_MAP && i == 0;
            field->name = type.kind == FZ_TYPE_LIST  ? FZ_STR("element")
                          : key                      ? FZ_STR("key")
                          : type.kind == FZ_TYPE_MAP ? FZ_STR("value")
                                                     : fz_arena_printf(arena, "f%zu", i);
            field->required = key || sample_below(state, 3) == 0;
            field->type = sample_type(arena, state, key ? 9 : depth + 1);
        }
    }
    return type;
}

static inline fz_schema *sample_schema(uint64_t *state) {
    fz_schema *schema = fz_schema_new();
    size_t count = 1 + (size_t)sample_below(state, 6);
    schema->root.kind = FZ_TYPE_STRUCT;
    schema->root.field_count = count;
    schema->root.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, count);
    for (size_t i = 0; i < count; i++) {
        fz_field *field = &schema->root.fields[i];
        field->name = fz_arena_printf(&schema->arena, "c%zu", i);
        field->required = sample_below(state, 3) == 0;
        field->type = sample_type(&schema->arena, state, 1);
    }
    int32_t last = 0;
    fz_type_assign_ids(&schema->root, &last);
    fz_schema_finish(schema);
    return schema;
}

/** How a column's values are drawn; a function of the column. */
typedef struct sample_style {
    uint64_t salt;
    unsigned nulls; // of 16
    unsigned kind;  // 0 few values, 1 counter, 2 any, 3 extremes
} sample_style;

static inline uint64_t sample_bits(uint64_t *state, const sample_style *style, int64_t row) {
    uint64_t word = sample_next(state);
    switch (style->kind) {
    case 0:
        return (word % 5 + style->salt) * 0x9e3779b97f4a7c15u;
    case 1:
        return (uint64_t)row * 3 + style->salt % 1000;
    case 2:
        return word;
    default: {
        static const uint64_t edges[] = {
            0,          1,          UINT64_MAX,         INT64_MAX,  (uint64_t)INT64_MAX + 1,
            0x7fffffff, 0x80000000, 0x7ff8000000000000, 0x7fc00000, 0x8000000000000000};
        return edges[word % FZ_COUNT(edges)];
    }
    }
}

static inline fz_i128 sample_decimal(uint64_t bits, int precision, uint64_t salt) {
    fz_i128 limit = fz_decimal_power(precision);
    fz_i128 wide = (fz_i128)((fz_u128)bits * 0x9e3779b97f4a7c15u * (salt | 1));
    return wide % limit;
}

static inline void sample_bytes(fz_column *column, uint64_t bits, uint64_t salt) {
    char data[400];
    size_t size = bits % (salt % 4 == 0 ? 300 : 20);
    bool text = column->field->type.kind == FZ_TYPE_STRING;
    size_t n = 0;
    while (n < size) {
        uint64_t c = bits >> (n % 8 * 8) & 0xff;
        if (text && salt % 3 == 0 && c % 3 == 0) {
            memcpy(data + n, c % 2 ? "\xc3\xa9" : "\xed\x9f\xbf", c % 2 ? 2 : 3); // é, U+D7FF
            n += c % 2 ? 2 : 3;
        } else {
            data[n++] = text ? (char)(' ' + c % 95) : (char)(salt % 5 == 0 ? 0xff : c);
        }
    }
    FZ_ASSERT(fz_column_append_bytes(column, data, n, NULL) == FZ_OK);
}

static inline void sample_value(fz_column *column, uint64_t *state) {
    const fz_field *field = column->field;
    uint64_t salt = (uint64_t)field->id * 7919;
    sample_style style = {salt, (unsigned)(salt >> 3 & 3) * 5, (unsigned)(salt >> 1 & 3)};
    if (!field->required && sample_below(state, 16) < style.nulls) {
        FZ_ASSERT(fz_column_append_null(column, NULL) == FZ_OK);
        return;
    }
    uint64_t bits = sample_bits(state, &style, column->length);
    fz_code code = FZ_OK;
    switch (field->type.kind) {
    case FZ_TYPE_BOOLEAN:
        code = fz_column_append_bool(column, bits & 1, NULL);
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        code = fz_column_append_i32(
            column, field->type.kind == FZ_TYPE_DATE ? (int32_t)(bits % 40000) : (int32_t)bits,
            NULL);
        break;
    case FZ_TYPE_FLOAT: {
        uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, 4);
        code = fz_column_append_float(column, value, NULL);
        break;
    }
    case FZ_TYPE_DOUBLE: {
        double value;
        memcpy(&value, &bits, 8);
        code = fz_column_append_double(column, value, NULL);
        break;
    }
    case FZ_TYPE_TIME:
        code = fz_column_append_i64(column, (int64_t)(bits % 86400000000), NULL);
        break;
    case FZ_TYPE_DECIMAL: {
        fz_i128 value = sample_decimal(bits, field->type.precision, salt);
        code = fz_column_append_fixed(column, &value, NULL);
        break;
    }
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        sample_bytes(column, bits, salt);
        break;
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED: {
        uint64_t data[4] = {bits, bits * 3, bits * 5, bits * 7};
        code = fz_column_append_fixed(column, data, NULL);
        break;
    }
    case FZ_TYPE_STRUCT:
        for (size_t i = 0; i < column->child_count; i++) {
            sample_value(&column->children[i], state);
        }
        code = fz_column_append_struct(column, NULL);
        break;
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP: {
        uint64_t items = sample_below(state, 4);
        if (sample_below(state, 200) == 0) {
            items = 100;
        }
        for (uint64_t n = 0; n < items; n++) {
            for (size_t i = 0; i < column->child_count; i++) {
                sample_value(&column->children[i], state);
            }
        }
        code = fz_column_append_list(column, NULL);
        break;
    }
    default:
        code = fz_column_append_i64(column, (int64_t)bits, NULL);
    }
    FZ_ASSERT(code == FZ_OK);
}

static inline fz_batch *sample_batch(fz_schema *schema, uint64_t *state, int64_t rows) {
    fz_batch *batch = fz_batch_new(schema, NULL);
    for (int64_t r = 0; r < rows; r++) {
        for (size_t i = 0; i < batch->column_count; i++) {
            sample_value(&batch->columns[i], state);
        }
        batch->rows++;
    }
    return batch;
}

static inline void sample_options(fz_parquet_options *options, uint64_t *state) {
    static const fz_codec codecs[] = {FZ_CODEC_NONE, FZ_CODEC_SNAPPY,  FZ_CODEC_GZIP,
                                      FZ_CODEC_ZSTD, FZ_CODEC_LZ4_RAW, FZ_CODEC_BROTLI};
    fz_parquet_options_init(options);
    options->codec = codecs[sample_below(state, FZ_COUNT(codecs))];
    options->level = options->codec == FZ_CODEC_ZSTD;
    if (sample_below(state, 2)) {
        options->page_rows = 1 + (int64_t)sample_below(state, 300);
        options->page_size = 100 + (int64_t)sample_below(state, 5000);
        options->row_group_size = 1000 + (int64_t)sample_below(state, 200000);
    }
    options->dictionary_size =
        sample_below(state, 3) == 0 ? 0 : 100 + (int64_t)sample_below(state, 100000);
    options->data_page_v2 = sample_below(state, 3) == 0;
    options->page_crc = sample_below(state, 2) == 0;
    options->delta = sample_below(state, 3) == 0;
}

static inline void sample_dump_hex(FILE *out, const void *data, size_t size) {
    fputs("\"x", out);
    for (size_t i = 0; i < size; i++) {
        fprintf(out, "%02x", ((const uint8_t *)data)[i]);
    }
    fputc('"', out);
}

/** A value as JSON: numbers, floats and bytes in hex, lists, maps as lists of pairs, structs as
 * lists. */
static inline void sample_dump(FILE *out, const fz_column *column, int64_t row) {
    if (fz_column_is_null(column, row)) {
        fputs("null", out);
        return;
    }
    const fz_type *type = &column->field->type;
    switch (type->kind) {
    case FZ_TYPE_BOOLEAN:
        fputs(((const uint8_t *)column->values)[row >> 3] >> (row & 7) & 1 ? "true" : "false", out);
        return;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        fprintf(out, "%d", ((const int32_t *)column->values)[row]);
        return;
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        sample_dump_hex(out, (const uint8_t *)column->values + row * column->width,
                        (size_t)column->width);
        return;
    case FZ_TYPE_DECIMAL: {
        fz_i128 value;
        memcpy(&value, (const uint8_t *)column->values + row * 16, 16);
        fz_buf text = {0};
        fz_decimal_format(&text, value, 0);
        fprintf(out, "%s", fz_buf_cstr(&text));
        fz_buf_deinit(&text);
        return;
    }
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY: {
        fz_str bytes = fz_column_bytes(column, row);
        sample_dump_hex(out, bytes.data, bytes.size);
        return;
    }
    case FZ_TYPE_STRUCT:
        fputc('[', out);
        for (size_t i = 0; i < column->child_count; i++) {
            fputs(i ? "," : "", out);
            sample_dump(out, &column->children[i], row);
        }
        fputc(']', out);
        return;
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        fputc('[', out);
        for (int32_t i = column->offsets[row]; i < column->offsets[row + 1]; i++) {
            fputs(i > column->offsets[row] ? "," : "", out);
            if (type->kind == FZ_TYPE_MAP) {
                fputc('[', out);
                sample_dump(out, &column->children[0], i);
                fputc(',', out);
                sample_dump(out, &column->children[1], i);
                fputc(']', out);
            } else {
                sample_dump(out, &column->children[0], i);
            }
        }
        fputc(']', out);
        return;
    default:
        fprintf(out, "%lld", (long long)((const int64_t *)column->values)[row]);
    }
}

static inline void sample_dump_row(FILE *out, const fz_batch *batch, int64_t row) {
    fputc('[', out);
    for (size_t i = 0; i < batch->column_count; i++) {
        fputs(i ? "," : "", out);
        sample_dump(out, &batch->columns[i], row);
    }
    fputs("]\n", out);
}

static inline void sample_dump_rows(FILE *out, const fz_batch *batch) {
    for (int64_t r = 0; r < batch->rows; r++) {
        sample_dump_row(out, batch, r);
    }
}

#endif
