// SPDX-License-Identifier: Apache-2.0
// Writes the footer and the page index.
#include "format/parquet/footer.h"

#include "format/parquet/thrift.h"

/** Number of a codec in parquet.thrift, -1 if it has none. */
int fz_parquet_footer_codec(fz_codec codec) {
    switch (codec) {
    case FZ_CODEC_NONE:
        return FZ_PARQUET_CODEC_UNCOMPRESSED;
    case FZ_CODEC_SNAPPY:
        return FZ_PARQUET_CODEC_SNAPPY;
    case FZ_CODEC_GZIP:
        return FZ_PARQUET_CODEC_GZIP;
    case FZ_CODEC_ZSTD:
        return FZ_PARQUET_CODEC_ZSTD;
    case FZ_CODEC_LZ4_RAW:
        return FZ_PARQUET_CODEC_LZ4_RAW;
    case FZ_CODEC_BROTLI:
        return FZ_PARQUET_CODEC_BROTLI;
    default:
        return -1;
    }
}

static int plain_encoding(const fz_parquet_leaf *leaf) {
    bool integer = leaf->physical == FZ_PARQUET_INT32 || leaf->physical == FZ_PARQUET_INT64;
    return leaf->options->delta && integer ? FZ_PARQUET_ENCODING_DELTA_BINARY_PACKED
                                           : FZ_PARQUET_ENCODING_PLAIN;
}

static void write_encodings(fz_parquet_thrift_writer *thrift, const fz_parquet_leaf *leaf) {
    int list[4];
    size_t count = 0;
    int plain = plain_encoding(leaf);
    list[count++] = FZ_PARQUET_ENCODING_RLE; // of the levels
    if (leaf->dictionary_pages) {
        list[count++] = FZ_PARQUET_ENCODING_RLE_DICTIONARY;
    }
    if (leaf->dictionary_pages || plain == FZ_PARQUET_ENCODING_PLAIN) {
        list[count++] = FZ_PARQUET_ENCODING_PLAIN; // of the dictionary page too
    }
    if (leaf->plain_pages && plain != FZ_PARQUET_ENCODING_PLAIN) {
        list[count++] = plain;
    }
    fz_parquet_thrift_list(thrift, 2, FZ_PARQUET_THRIFT_I32, count);
    for (size_t i = 0; i < count; i++) {
        fz_parquet_thrift_item_int(thrift, list[i]);
    }
}

static void write_statistics(fz_parquet_thrift_writer *thrift, const fz_parquet_leaf *leaf) {
    fz_buf FZ_CLEANUP(fz_buf_deinit) min = {0};
    fz_buf FZ_CLEANUP(fz_buf_deinit) max = {0};
    const fz_parquet_range *range = &leaf->group_bounds.range;
    bool min_exact = false;
    bool max_exact = false;
    bool has_min = fz_parquet_range_encode(range, &leaf->bounds_type, false, &min, &min_exact);
    bool has_max = fz_parquet_range_encode(range, &leaf->bounds_type, true, &max, &max_exact);
    fz_parquet_thrift_struct(thrift, 12);
    fz_parquet_thrift_i64(thrift, 3, leaf->group_slots - leaf->group_values);
    if (has_min && has_max) {
        fz_parquet_thrift_binary(thrift, 5, fz_buf_view(&max));
        fz_parquet_thrift_binary(thrift, 6, fz_buf_view(&min));
        fz_parquet_thrift_bool(thrift, 7, max_exact);
        fz_parquet_thrift_bool(thrift, 8, min_exact);
    }
    fz_parquet_thrift_end(thrift);
}

static void write_encoding_stats(fz_parquet_thrift_writer *thrift, const fz_parquet_leaf *leaf) {
    struct {
        int page;
        int encoding;
        int64_t count;
    } rows[3] = {
        {FZ_PARQUET_PAGE_DICTIONARY, FZ_PARQUET_ENCODING_PLAIN, leaf->dictionary_pages > 0},
        {leaf->options->data_page_v2 ? FZ_PARQUET_PAGE_DATA_V2 : FZ_PARQUET_PAGE_DATA,
         FZ_PARQUET_ENCODING_RLE_DICTIONARY, leaf->dictionary_pages},
        {leaf->options->data_page_v2 ? FZ_PARQUET_PAGE_DATA_V2 : FZ_PARQUET_PAGE_DATA,
         plain_encoding(leaf), leaf->plain_pages},
    };
    size_t count = 0;
    for (size_t i = 0; i < FZ_COUNT(rows); i++) {
        count += rows[i].count > 0;
    }
    fz_parquet_thrift_list(thrift, 13, FZ_PARQUET_THRIFT_STRUCT, count);
    for (size_t i = 0; i < FZ_COUNT(rows); i++) {
        if (rows[i].count > 0) {
            fz_parquet_thrift_item_struct(thrift);
            fz_parquet_thrift_i32(thrift, 1, rows[i].page);
            fz_parquet_thrift_i32(thrift, 2, rows[i].encoding);
            fz_parquet_thrift_i32(thrift, 3, (int32_t)rows[i].count);
            fz_parquet_thrift_end(thrift);
        }
    }
}

static void write_meta(const fz_parquet_leaf *leaf, const fz_parquet_place *place, fz_buf *out) {
    fz_parquet_thrift_writer thrift;
    fz_parquet_thrift_init(&thrift, out);
    fz_parquet_thrift_i32(&thrift, 1, (int32_t)leaf->physical);
    write_encodings(&thrift, leaf);
    fz_parquet_thrift_list(&thrift, 3, FZ_PARQUET_THRIFT_BINARY, leaf->path_count);
    for (size_t i = 0; i < leaf->path_count; i++) {
        fz_parquet_thrift_item_binary(&thrift, leaf->path[i]);
    }
    fz_parquet_thrift_i32(&thrift, 4, fz_parquet_footer_codec(leaf->options->codec));
    fz_parquet_thrift_i64(&thrift, 5, leaf->group_slots);
    fz_parquet_thrift_i64(&thrift, 6, place->raw);
    fz_parquet_thrift_i64(&thrift, 7, place->size);
    fz_parquet_thrift_i64(&thrift, 9, place->data);
    if (place->dictionary >= 0) {
        fz_parquet_thrift_i64(&thrift, 11, place->dictionary);
    }
    write_statistics(&thrift, leaf);
    write_encoding_stats(&thrift, leaf);
    if (place->bloom >= 0) {
        fz_parquet_thrift_i64(&thrift, 14, place->bloom);
        fz_parquet_thrift_i32(&thrift, 15, (int32_t)place->bloom_size);
    }
    fz_parquet_thrift_end(&thrift);
}

/** Order of two encoded bounds. */
static int compare_encoded(const fz_parquet_bounds_type *type, fz_str a, fz_str b) {
    if (type->order >= FZ_PARQUET_ORDER_BYTES) {
        return fz_parquet_bounds_compare(type, a, b);
    }
    if (type->order == FZ_PARQUET_ORDER_FLOAT) {
        double x = 0;
        double y = 0;
        float narrow;
        if (type->width == 4) {
            memcpy(&narrow, a.data, 4);
            x = (double)narrow;
            memcpy(&narrow, b.data, 4);
            y = (double)narrow;
        } else {
            memcpy(&x, a.data, 8);
            memcpy(&y, b.data, 8);
        }
        return x < y ? -1 : x > y;
    }
    int64_t x = 0;
    int64_t y = 0;
    int32_t narrow;
    if (type->width == 8) {
        memcpy(&x, a.data, 8);
        memcpy(&y, b.data, 8);
    } else if (type->width == 4) {
        memcpy(&narrow, a.data, 4);
        x = narrow;
        memcpy(&narrow, b.data, 4);
        y = narrow;
    } else {
        x = a.data[0];
        y = b.data[0];
    }
    return x < y ? -1 : x > y;
}

enum { UNORDERED = 0, ASCENDING = 1, DESCENDING = 2 };

static int boundary_order(const fz_parquet_leaf *leaf) {
    bool ascending = true;
    bool descending = true;
    const fz_parquet_page *last = NULL;
    for (size_t i = 0; i < leaf->pages.count; i++) {
        const fz_parquet_page *page = &leaf->pages.data[i];
        if (page->null_page) {
            continue;
        }
        if (last) {
            int min = compare_encoded(&leaf->bounds_type, last->min, page->min);
            int max = compare_encoded(&leaf->bounds_type, last->max, page->max);
            ascending &= min <= 0 && max <= 0;
            descending &= min >= 0 && max >= 0;
        }
        last = page;
    }
    return ascending ? ASCENDING : descending ? DESCENDING : UNORDERED;
}

/** Nothing when a page with values has no bounds (NaN alone, nothing to cut a long value to). */
static void write_column_index(const fz_parquet_leaf *leaf, fz_buf *out) {
    size_t count = leaf->pages.count;
    const fz_parquet_page *pages = leaf->pages.data;
    for (size_t i = 0; i < count; i++) {
        if (!pages[i].null_page && !pages[i].has_bounds) {
            return;
        }
    }
    fz_parquet_thrift_writer thrift;
    fz_parquet_thrift_init(&thrift, out);
    fz_parquet_thrift_list(&thrift, 1, FZ_PARQUET_THRIFT_TRUE, count);
    for (size_t i = 0; i < count; i++) {
        fz_parquet_thrift_item_bool(&thrift, pages[i].null_page);
    }
    fz_parquet_thrift_list(&thrift, 2, FZ_PARQUET_THRIFT_BINARY, count);
    for (size_t i = 0; i < count; i++) {
        fz_parquet_thrift_item_binary(&thrift, pages[i].min);
    }
    fz_parquet_thrift_list(&thrift, 3, FZ_PARQUET_THRIFT_BINARY, count);
    for (size_t i = 0; i < count; i++) {
        fz_parquet_thrift_item_binary(&thrift, pages[i].max);
    }
    fz_parquet_thrift_i32(&thrift, 4, boundary_order(leaf));
    fz_parquet_thrift_list(&thrift, 5, FZ_PARQUET_THRIFT_I64, count);
    for (size_t i = 0; i < count; i++) {
        fz_parquet_thrift_item_int(&thrift, pages[i].null_count);
    }
    fz_parquet_thrift_end(&thrift);
}

static void write_offset_index(const fz_parquet_leaf *leaf, int64_t at, fz_buf *out) {
    fz_parquet_thrift_writer thrift;
    fz_parquet_thrift_init(&thrift, out);
    fz_parquet_thrift_list(&thrift, 1, FZ_PARQUET_THRIFT_STRUCT, leaf->pages.count);
    for (size_t i = 0; i < leaf->pages.count; i++) {
        const fz_parquet_page *page = &leaf->pages.data[i];
        fz_parquet_thrift_item_struct(&thrift);
        fz_parquet_thrift_i64(&thrift, 1, at);
        fz_parquet_thrift_i32(&thrift, 2, (int32_t)page->size);
        fz_parquet_thrift_i64(&thrift, 3, page->first_row);
        fz_parquet_thrift_end(&thrift);
        at += page->size;
    }
    fz_parquet_thrift_end(&thrift);
}

void fz_parquet_footer_chunk(const fz_parquet_leaf *leaf, const fz_parquet_place *place,
                             fz_parquet_group *group, fz_parquet_chunk *chunk) {
    fz_buf *out = &group->bytes;
    chunk->meta = out->size;
    write_meta(leaf, place, out);
    chunk->meta_size = out->size - chunk->meta;
    if (leaf->options->page_index) {
        chunk->column_index = out->size;
        write_column_index(leaf, out);
        chunk->column_index_size = out->size - chunk->column_index;
        chunk->offset_index = out->size;
        write_offset_index(leaf, place->data, out);
        chunk->offset_index_size = out->size - chunk->offset_index;
    }
}

static void write_time_type(fz_parquet_thrift_writer *thrift, int16_t kind, bool utc,
                            int16_t unit) {
    fz_parquet_thrift_struct(thrift, 10);
    fz_parquet_thrift_struct(thrift, kind);
    fz_parquet_thrift_bool(thrift, 1, utc);
    fz_parquet_thrift_struct(thrift, 2);
    fz_parquet_thrift_struct(thrift, unit);
    for (int i = 0; i < 4; i++) {
        fz_parquet_thrift_end(thrift);
    }
}

/** LogicalType of kinds without parameters. */
static void write_simple_type(fz_parquet_thrift_writer *thrift, int16_t kind) {
    fz_parquet_thrift_struct(thrift, 10);
    fz_parquet_thrift_struct(thrift, kind);
    fz_parquet_thrift_end(thrift);
    fz_parquet_thrift_end(thrift);
}

/** ConvertedType, scale and precision; -1 if there is none. */
static int converted_type(const fz_type *type) {
    switch (type->kind) {
    case FZ_TYPE_STRING:
        return FZ_PARQUET_CONVERTED_UTF8;
    case FZ_TYPE_DECIMAL:
        return FZ_PARQUET_CONVERTED_DECIMAL;
    case FZ_TYPE_DATE:
        return FZ_PARQUET_CONVERTED_DATE;
    case FZ_TYPE_TIME:
        return FZ_PARQUET_CONVERTED_TIME_MICROS;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        return FZ_PARQUET_CONVERTED_TIMESTAMP_MICROS;
    case FZ_TYPE_LIST:
        return FZ_PARQUET_CONVERTED_LIST;
    case FZ_TYPE_MAP:
        return FZ_PARQUET_CONVERTED_MAP;
    default:
        return FZ_PARQUET_CONVERTED_NONE;
    }
}

static void write_logical_type(fz_parquet_thrift_writer *thrift, const fz_type *type) {
    switch (type->kind) {
    case FZ_TYPE_STRING:
        write_simple_type(thrift, FZ_PARQUET_LOGICAL_STRING);
        return;
    case FZ_TYPE_DECIMAL:
        fz_parquet_thrift_struct(thrift, 10);
        fz_parquet_thrift_struct(thrift, FZ_PARQUET_LOGICAL_DECIMAL);
        fz_parquet_thrift_i32(thrift, 1, type->scale);
        fz_parquet_thrift_i32(thrift, 2, type->precision);
        fz_parquet_thrift_end(thrift);
        fz_parquet_thrift_end(thrift);
        return;
    case FZ_TYPE_DATE:
        write_simple_type(thrift, FZ_PARQUET_LOGICAL_DATE);
        return;
    case FZ_TYPE_TIME:
        write_time_type(thrift, FZ_PARQUET_LOGICAL_TIME, false, FZ_PARQUET_UNIT_MICROS);
        return;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        write_time_type(thrift, FZ_PARQUET_LOGICAL_TIMESTAMP, type->kind == FZ_TYPE_TIMESTAMPTZ,
                        FZ_PARQUET_UNIT_MICROS);
        return;
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        write_time_type(thrift, FZ_PARQUET_LOGICAL_TIMESTAMP, type->kind == FZ_TYPE_TIMESTAMPTZ_NS,
                        FZ_PARQUET_UNIT_NANOS);
        return;
    case FZ_TYPE_UUID:
        write_simple_type(thrift, FZ_PARQUET_LOGICAL_UUID);
        return;
    case FZ_TYPE_LIST:
        write_simple_type(thrift, FZ_PARQUET_LOGICAL_LIST);
        return;
    case FZ_TYPE_MAP:
        write_simple_type(thrift, FZ_PARQUET_LOGICAL_MAP);
        return;
    default:
        return;
    }
}

static void write_group(fz_parquet_thrift_writer *thrift, int repetition, fz_str name,
                        size_t children) {
    fz_parquet_thrift_item_struct(thrift);
    if (repetition >= 0) {
        fz_parquet_thrift_i32(thrift, 3, repetition);
    }
    fz_parquet_thrift_binary(thrift, 4, name);
    fz_parquet_thrift_i32(thrift, 5, (int32_t)children);
}

static void write_field(fz_parquet_thrift_writer *thrift, const fz_field *field) {
    const fz_type *type = &field->type;
    int repetition = field->required ? FZ_PARQUET_REQUIRED : FZ_PARQUET_OPTIONAL;
    bool repeated = type->kind == FZ_TYPE_LIST || type->kind == FZ_TYPE_MAP;
    if (fz_type_is_nested(type)) {
        write_group(thrift, repetition, field->name, repeated ? 1 : type->field_count);
    } else {
        int32_t length;
        fz_parquet_physical physical = fz_parquet_leaf_physical(type, &length);
        fz_parquet_thrift_item_struct(thrift);
        fz_parquet_thrift_i32(thrift, 1, (int32_t)physical);
        if (physical == FZ_PARQUET_FIXED) {
            fz_parquet_thrift_i32(thrift, 2, length);
        }
        fz_parquet_thrift_i32(thrift, 3, repetition);
        fz_parquet_thrift_binary(thrift, 4, field->name);
    }
    int converted = converted_type(type);
    if (converted >= 0) {
        fz_parquet_thrift_i32(thrift, 6, converted);
    }
    if (type->kind == FZ_TYPE_DECIMAL) {
        fz_parquet_thrift_i32(thrift, 7, type->scale);
        fz_parquet_thrift_i32(thrift, 8, type->precision);
    }
    fz_parquet_thrift_i32(thrift, 9, field->id);
    write_logical_type(thrift, type);
    fz_parquet_thrift_end(thrift);
    if (repeated) {
        fz_str middle = type->kind == FZ_TYPE_LIST ? FZ_STR("list") : FZ_STR("key_value");
        write_group(thrift, FZ_PARQUET_REPEATED, middle, type->field_count);
        fz_parquet_thrift_end(thrift);
    }
    for (size_t i = 0; i < type->field_count; i++) {
        write_field(thrift, &type->fields[i]);
    }
}

static size_t count_elements(const fz_type *type) {
    size_t count = type->kind == FZ_TYPE_LIST || type->kind == FZ_TYPE_MAP;
    for (size_t i = 0; i < type->field_count; i++) {
        count += 1 + count_elements(&type->fields[i].type);
    }
    return count;
}

static void write_row_group(fz_parquet_thrift_writer *thrift, const fz_parquet_group *group,
                            size_t leaf_count, size_t ordinal) {
    fz_parquet_thrift_item_struct(thrift);
    fz_parquet_thrift_list(thrift, 1, FZ_PARQUET_THRIFT_STRUCT, leaf_count);
    for (size_t i = 0; i < leaf_count; i++) {
        const fz_parquet_chunk *chunk = &group->chunks[i];
        fz_parquet_thrift_item_struct(thrift);
        // Deprecated; 0 is what readers are told to expect where metadata stands in the footer
        // alone.
        fz_parquet_thrift_i64(thrift, 2, 0);
        fz_parquet_thrift_struct(thrift, 3);
        // The struct was encoded when the row group ended, its stop byte included.
        fz_buf_append(thrift->out, group->bytes.data + chunk->meta, chunk->meta_size - 1);
        fz_parquet_thrift_end(thrift);
        if (chunk->offset_index_size) {
            fz_parquet_thrift_i64(thrift, 4, chunk->offset_index_at);
            fz_parquet_thrift_i32(thrift, 5, (int32_t)chunk->offset_index_size);
        }
        if (chunk->column_index_size) {
            fz_parquet_thrift_i64(thrift, 6, chunk->column_index_at);
            fz_parquet_thrift_i32(thrift, 7, (int32_t)chunk->column_index_size);
        }
        fz_parquet_thrift_end(thrift);
    }
    fz_parquet_thrift_i64(thrift, 2, group->raw);
    fz_parquet_thrift_i64(thrift, 3, group->rows);
    fz_parquet_thrift_i64(thrift, 5, group->offset);
    fz_parquet_thrift_i64(thrift, 6, group->size);
    if (ordinal <= INT16_MAX) {
        fz_parquet_thrift_i16(thrift, 7, (int16_t)ordinal);
    }
    fz_parquet_thrift_end(thrift);
}

void fz_parquet_footer_encode(const fz_schema *schema, const fz_parquet_options *options,
                              const fz_parquet_group *groups, size_t group_count, size_t leaf_count,
                              int64_t rows, fz_buf *out) {
    fz_parquet_thrift_writer thrift;
    fz_parquet_thrift_init(&thrift, out);
    fz_parquet_thrift_i32(&thrift, 1, 1); // version
    fz_parquet_thrift_list(&thrift, 2, FZ_PARQUET_THRIFT_STRUCT, 1 + count_elements(&schema->root));
    write_group(&thrift, -1, FZ_STR("table"), schema->root.field_count);
    fz_parquet_thrift_end(&thrift);
    for (size_t i = 0; i < schema->root.field_count; i++) {
        write_field(&thrift, &schema->root.fields[i]);
    }
    fz_parquet_thrift_i64(&thrift, 3, rows);
    fz_parquet_thrift_list(&thrift, 4, FZ_PARQUET_THRIFT_STRUCT, group_count);
    for (size_t i = 0; i < group_count; i++) {
        write_row_group(&thrift, &groups[i], leaf_count, i);
    }
    if (options->pair_count) {
        fz_parquet_thrift_list(&thrift, 5, FZ_PARQUET_THRIFT_STRUCT, options->pair_count);
        for (size_t i = 0; i < options->pair_count; i++) {
            fz_parquet_thrift_item_struct(&thrift);
            fz_parquet_thrift_binary(&thrift, 1, options->pairs[i].key);
            fz_parquet_thrift_binary(&thrift, 2, options->pairs[i].value);
            fz_parquet_thrift_end(&thrift);
        }
    }
    fz_parquet_thrift_binary(&thrift, 6, options->version);
    fz_parquet_thrift_list(&thrift, 7, FZ_PARQUET_THRIFT_STRUCT, leaf_count);
    for (size_t i = 0; i < leaf_count; i++) {
        fz_parquet_thrift_item_struct(&thrift);
        fz_parquet_thrift_struct(&thrift, 1); // TYPE_ORDER: without it readers ignore min and max
        fz_parquet_thrift_end(&thrift);
        fz_parquet_thrift_end(&thrift);
    }
    fz_parquet_thrift_end(&thrift);
}
