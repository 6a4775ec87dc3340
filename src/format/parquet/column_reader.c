// SPDX-License-Identifier: Apache-2.0
// Page headers, decompression, levels.
#include "format/parquet/column_reader.h"

#include "base/codec/hash.h"
#include "format/parquet/lz4_hadoop.h"
#include "format/parquet/thrift.h"

enum {
    HEADER_FIRST = 4096,   // bytes looked at for a page header
    HEADER_MAX = 16 << 20, // old writers put whole values into it
    READ_AHEAD = 1 << 20,  // bytes asked of the source at a time
};

typedef struct page_header {
    int type;
    int32_t raw_size;
    int32_t size;
    int32_t values;
    int encoding;
    int def_encoding;
    int rep_encoding;
    int32_t def_size; // V2
    int32_t rep_size;
    bool compressed;
    bool has_crc;
    uint32_t crc; // of the body as it stands in the file
    size_t header_size;
} page_header;

void fz_parquet_column_reader_init(fz_parquet_column_reader *r, fz_parquet_source *source,
                                   const fz_parquet_limits *limits, fz_compressor *compressor,
                                   const fz_parquet_leaf_meta *leaf, fz_budget *budget) {
    *r = (fz_parquet_column_reader){.source = source,
                                    .limits = limits,
                                    .compressor = compressor,
                                    .budget = budget,
                                    .leaf = *leaf};
    fz_buf_init(&r->window, 0, budget);
    fz_buf_init(&r->page, 0, budget);
    fz_buf_init(&r->rep, 0, budget);
    fz_buf_init(&r->def, 0, budget);
    fz_parquet_values_init(&r->dictionary, budget);
    fz_parquet_values_init(&r->values, budget);
    fz_parquet_decoder_init(&r->decoder, leaf->element->physical, leaf->element->type_length,
                            budget);
}

void fz_parquet_column_reader_deinit(fz_parquet_column_reader *r) {
    fz_buf_deinit(&r->window);
    fz_buf_deinit(&r->page);
    fz_buf_deinit(&r->rep);
    fz_buf_deinit(&r->def);
    fz_parquet_values_deinit(&r->dictionary);
    fz_parquet_values_deinit(&r->values);
    fz_parquet_decoder_deinit(&r->decoder);
}

fz_code fz_parquet_column_reader_begin(fz_parquet_column_reader *r,
                                       const fz_parquet_chunk_meta *chunk, fz_err *err) {
    if (chunk->physical != r->leaf.element->physical) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                               "parquet column \"%.*s\" has physical type %d, its schema %d",
                               FZ_STR_ARGS(r->leaf.element->name), chunk->physical,
                               r->leaf.element->physical);
    }
    r->chunk = *chunk;
    r->at = chunk->start;
    r->end = chunk->start + chunk->size;
    r->levels_left = chunk->values;
    r->has_dictionary = false;
    r->page_left = 0;
    r->slice_count = r->slice_next = 0;
    fz_buf_reset(&r->window);
    r->window_at = r->at;
    return FZ_OK;
}

/** Codec of the chunk; false if it is not known. */
static bool codec_of(int codec, fz_codec *out) {
    switch (codec) {
    case FZ_PARQUET_CODEC_UNCOMPRESSED:
        *out = FZ_CODEC_NONE;
        return true;
    case FZ_PARQUET_CODEC_SNAPPY:
        *out = FZ_CODEC_SNAPPY;
        return true;
    case FZ_PARQUET_CODEC_GZIP:
        *out = FZ_CODEC_GZIP;
        return true;
    case FZ_PARQUET_CODEC_BROTLI:
        *out = FZ_CODEC_BROTLI;
        return true;
    case FZ_PARQUET_CODEC_ZSTD:
        *out = FZ_CODEC_ZSTD;
        return true;
    case FZ_PARQUET_CODEC_LZ4_RAW:
        *out = FZ_CODEC_LZ4_RAW;
        return true;
    default:
        return false;
    }
}

/** File bytes [at, at + size) in the window; `size` fits the chunk. */
static fz_code see(fz_parquet_column_reader *r, int64_t at, size_t size, const uint8_t **out,
                   fz_err *err) {
    int64_t have = r->window_at + (int64_t)r->window.size;
    if (at < r->window_at || at > have || (int64_t)size > have - at) {
        int64_t left = r->end - at;
        int64_t want = (int64_t)size > READ_AHEAD ? (int64_t)size : READ_AHEAD;
        fz_buf_reset(&r->window);
        r->window_at = at;
        want = want < left ? want : left;
        FZ_TRY(r->source->read(r->source, at, (size_t)want, &r->window, err));
        FZ_TRY(fz_buf_check(&r->window, "parquet pages", err));
        if (r->window.size != (size_t)want) {
            return fz_err_set_kind(err, FZ_CORRUPT, "truncated",
                                   "the file has fewer bytes than its footer says");
        }
    }
    *out = r->window.data + (at - r->window_at);
    return FZ_OK;
}

static void parse_data_header(fz_cur *cur, page_header *header) {
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        switch (field.id) {
        case 1:
            header->values = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 2:
            header->encoding = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 3:
            header->def_encoding = (int)fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 4:
            header->rep_encoding = (int)fz_parquet_thrift_read_i32(cur, &field);
            break;
        default:
            fz_parquet_thrift_skip(cur, &field);
        }
    }
}

static void parse_dictionary_header(fz_cur *cur, page_header *header) {
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        if (field.id == 1) {
            header->values = fz_parquet_thrift_read_i32(cur, &field);
        } else if (field.id == 2) {
            header->encoding = fz_parquet_thrift_read_i32(cur, &field);
        } else {
            fz_parquet_thrift_skip(cur, &field);
        }
    }
}

static void parse_data_header_v2(fz_cur *cur, page_header *header) {
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        switch (field.id) {
        case 1:
            header->values = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 4:
            header->encoding = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 5:
            header->def_size = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 6:
            header->rep_size = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 7:
            header->compressed = fz_parquet_thrift_read_bool(cur, &field);
            break;
        default:
            fz_parquet_thrift_skip(cur, &field);
        }
    }
}

static void parse_header(fz_cur *cur, page_header *header) {
    *header = (page_header){.type = -1,
                            .encoding = -1,
                            .compressed = true,
                            .size = -1,
                            .def_encoding = FZ_PARQUET_ENCODING_RLE,
                            .rep_encoding = FZ_PARQUET_ENCODING_RLE,
                            .raw_size = -1};
    fz_parquet_thrift_field field = {0};
    while (fz_parquet_thrift_next(cur, &field)) {
        switch (field.id) {
        case 1:
            header->type = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 2:
            header->raw_size = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 3:
            header->size = fz_parquet_thrift_read_i32(cur, &field);
            break;
        case 4:
            header->crc = (uint32_t)fz_parquet_thrift_read_i32(cur, &field);
            header->has_crc = true;
            break;
        case 5:
            if (fz_parquet_thrift_read_struct(cur, &field)) {
                parse_data_header(cur, header);
            }
            break;
        case 7:
            if (fz_parquet_thrift_read_struct(cur, &field)) {
                parse_dictionary_header(cur, header);
            }
            break;
        case 8:
            if (fz_parquet_thrift_read_struct(cur, &field)) {
                parse_data_header_v2(cur, header);
            }
            break;
        default:
            fz_parquet_thrift_skip(cur, &field);
        }
    }
    header->header_size = cur->pos;
}

static fz_code read_header(fz_parquet_column_reader *r, page_header *header, fz_err *err) {
    for (int64_t size = HEADER_FIRST;; size *= 16) {
        int64_t left = r->end - r->at;
        int64_t look = size < left ? size : left;
        const uint8_t *bytes = NULL;
        FZ_TRY(see(r, r->at, (size_t)look, &bytes, err));
        fz_cur cur = fz_cur_make(bytes, (size_t)look);
        parse_header(&cur, header);
        if (cur.fault == FZ_CUR_OK) {
            break;
        }
        if (look == left || size >= HEADER_MAX) {
            return fz_cur_check(&cur, "parquet page header", err);
        }
    }
    int64_t left = r->end - r->at - (int64_t)header->header_size;
    if (header->size < 0 || header->raw_size < 0 || header->values < 0 || header->size > left) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                               "parquet page of %d bytes (%d raw, %d values) in %lld bytes",
                               header->size, header->raw_size, header->values, (long long)left);
    }
    if (header->size > r->limits->page_size || header->raw_size > r->limits->page_size) {
        return fz_err_set(err, FZ_LIMIT,
                          "parquet page of %d bytes (%d packed), at most %lld are read",
                          header->raw_size, header->size, (long long)r->limits->page_size);
    }
    return FZ_OK;
}

/** Append the decompressed form of `bytes`, `size` long, to the page buffer. */
static fz_code unpack(fz_parquet_column_reader *r, fz_str bytes, size_t size, bool compressed,
                      fz_err *err) {
    fz_codec codec = FZ_CODEC_LZ4_RAW;
    bool hadoop = r->chunk.codec == FZ_PARQUET_CODEC_LZ4;
    if (!hadoop && !codec_of(r->chunk.codec, &codec)) {
        return fz_err_set(err, FZ_UNSUPPORTED, "parquet codec %d of column \"%.*s\"",
                          r->chunk.codec, FZ_STR_ARGS(r->leaf.element->name));
    }
    if (!compressed || codec == FZ_CODEC_NONE) {
        if (bytes.size != size) {
            return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                                   "parquet page of %zu bytes, its header says %zu", bytes.size,
                                   size);
        }
        fz_buf_append_str(&r->page, bytes);
        return fz_buf_check(&r->page, "parquet page", err);
    }
    if (size == 0) {
        return FZ_OK; // some writers leave nothing, others a frame around nothing
    }
    if (hadoop) {
        return fz_parquet_lz4_hadoop_decode(r->compressor, bytes, size, &r->page, err);
    }
    return fz_decompress(r->compressor, codec, bytes, size, &r->page, err);
}

static fz_code check_crc(const fz_parquet_column_reader *r, const page_header *header, fz_str body,
                         fz_err *err) {
    if (!header->has_crc || r->limits->ignore_crc ||
        fz_crc32(0, body.data, body.size) == header->crc) {
        return FZ_OK;
    }
    return fz_err_set_kind(err, FZ_CORRUPT, "checksum",
                           "a page of parquet column \"%.*s\" does not have the checksum of its "
                           "header",
                           FZ_STR_ARGS(r->leaf.element->name));
}

static fz_code begin_dictionary(fz_parquet_column_reader *r, const page_header *header, fz_str body,
                                fz_err *err) {
    if (r->has_dictionary || (header->encoding != FZ_PARQUET_ENCODING_PLAIN &&
                              header->encoding != FZ_PARQUET_ENCODING_PLAIN_DICTIONARY)) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                               "parquet dictionary page in encoding %d, or a second one",
                               header->encoding);
    }
    fz_buf_reset(&r->page);
    FZ_TRY(unpack(r, body, (size_t)header->raw_size, true, err));
    fz_parquet_values_reset(&r->dictionary);
    fz_parquet_decoder *d = &r->decoder;
    size_t count = (size_t)header->values;
    FZ_TRY(fz_parquet_decoder_begin(d, FZ_PARQUET_ENCODING_PLAIN, fz_buf_view(&r->page), count,
                                    NULL, 0, err));
    FZ_TRY(fz_parquet_decoder_read(d, count, &r->dictionary, err));
    r->dictionary_count = count;
    r->has_dictionary = true;
    return FZ_OK;
}

/** Levels of a V1 page: a length and runs. */
static fz_code begin_levels_v1(fz_parquet_column_reader *r, fz_cur *cur, uint8_t max, int encoding,
                               fz_parquet_rle *rle, fz_err *err) {
    if (max == 0) {
        return FZ_OK;
    }
    if (encoding != FZ_PARQUET_ENCODING_RLE) {
        return fz_err_set(err, FZ_UNSUPPORTED, "parquet levels in encoding %d of column \"%.*s\"",
                          encoding, FZ_STR_ARGS(r->leaf.element->name));
    }
    uint32_t size = fz_cur_le32(cur);
    const uint8_t *runs = fz_cur_bytes(cur, size);
    FZ_TRY(fz_cur_check(cur, "parquet levels", err));
    fz_parquet_rle_init(rle, fz_str_make(runs, size), fz_parquet_bit_width(max));
    return FZ_OK;
}

static fz_code begin_page(fz_parquet_column_reader *r, const page_header *header, fz_str body,
                          fz_err *err) {
    if (header->values > r->levels_left) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                               "parquet page of %d values, %lld are left in its column chunk",
                               header->values, (long long)r->levels_left);
    }
    if (header->values == 0) {
        return FZ_OK; // pyarrow ends some chunks with one
    }
    fz_buf_reset(&r->page);
    fz_str values;
    if (header->type == FZ_PARQUET_PAGE_DATA) {
        FZ_TRY(unpack(r, body, (size_t)header->raw_size, true, err));
        fz_cur cur = fz_cur_make(r->page.data, r->page.size);
        FZ_TRY(begin_levels_v1(r, &cur, r->leaf.max_rep, header->rep_encoding, &r->rep_rle, err));
        FZ_TRY(begin_levels_v1(r, &cur, r->leaf.max_def, header->def_encoding, &r->def_rle, err));
        values = fz_str_slice(fz_buf_view(&r->page), cur.pos, r->page.size);
    } else {
        size_t rep = (size_t)header->rep_size;
        size_t levels = rep + (size_t)header->def_size;
        if (header->rep_size < 0 || header->def_size < 0 || levels > body.size ||
            levels > (size_t)header->raw_size) {
            return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                                   "parquet levels of %zu bytes in %zu", levels, body.size);
        }
        fz_buf_append(&r->page, body.data, levels);
        FZ_TRY(unpack(r, fz_str_slice(body, levels, body.size), (size_t)header->raw_size - levels,
                      header->compressed, err));
        fz_str page = fz_buf_view(&r->page);
        fz_parquet_rle_init(&r->rep_rle, fz_str_slice(page, 0, rep),
                            fz_parquet_bit_width(r->leaf.max_rep));
        fz_parquet_rle_init(&r->def_rle, fz_str_slice(page, rep, levels),
                            fz_parquet_bit_width(r->leaf.max_def));
        values = fz_str_slice(page, levels, page.size);
    }
    FZ_TRY(fz_parquet_decoder_begin(&r->decoder, header->encoding, values, (size_t)header->values,
                                    r->has_dictionary ? &r->dictionary : NULL, r->dictionary_count,
                                    err));
    r->page_left = header->values;
    r->levels_left -= header->values;
    return FZ_OK;
}

/** Go on to the next data page with values; *done when the chunk has no more. */
static fz_code next_page(fz_parquet_column_reader *r, bool *done, fz_err *err) {
    *done = false;
    while (r->page_left == 0) {
        if (r->at >= r->end || r->levels_left == 0) {
            *done = true;
            return FZ_OK;
        }
        page_header header;
        FZ_TRY(read_header(r, &header, err));
        const uint8_t *bytes = NULL;
        FZ_TRY(see(r, r->at, header.header_size + (size_t)header.size, &bytes, err));
        fz_str body = fz_str_make(bytes + header.header_size, (size_t)header.size);
        r->at += (int64_t)header.header_size + header.size;
        FZ_TRY(check_crc(r, &header, body, err));
        if (header.type == FZ_PARQUET_PAGE_DICTIONARY) {
            FZ_TRY(begin_dictionary(r, &header, body, err));
        } else if (header.type == FZ_PARQUET_PAGE_DATA || header.type == FZ_PARQUET_PAGE_DATA_V2) {
            FZ_TRY(begin_page(r, &header, body, err));
        } else if (header.type != FZ_PARQUET_PAGE_INDEX) {
            return fz_err_set(err, FZ_UNSUPPORTED, "parquet page type %d", header.type);
        }
    }
    return FZ_OK;
}

static fz_code short_of_rows(const fz_parquet_column_reader *r, fz_err *err) {
    return fz_err_set_kind(err, FZ_CORRUPT, "truncated",
                           "parquet column \"%.*s\" has fewer rows than its row group",
                           FZ_STR_ARGS(r->leaf.element->name));
}

/** No level is above `max`. Where the bits cannot say more there is nothing to look at. */
static bool levels_fit(const uint8_t *levels, size_t count, uint8_t max) {
    if ((max & (max + 1)) == 0) {
        return true;
    }
    for (size_t i = 0; i < count; i++) {
        if (levels[i] > max) {
            return false;
        }
    }
    return true;
}

/** Decode the next levels into the slice; at most `most`. */
static fz_code next_slice(fz_parquet_column_reader *r, int64_t most, bool *done, fz_err *err) {
    FZ_TRY(next_page(r, done, err));
    if (*done) {
        return FZ_OK;
    }
    size_t n = FZ_PARQUET_LEVEL_SLICE;
    n = (int64_t)n < r->page_left ? n : (size_t)r->page_left;
    n = (int64_t)n < most ? n : (size_t)most;
    bool good = true;
    if (r->leaf.max_rep) {
        good = fz_parquet_rle_decode_levels(&r->rep_rle, r->slice_rep, n);
    }
    if (r->leaf.max_def) {
        good = good && fz_parquet_rle_decode_levels(&r->def_rle, r->slice_def, n);
    }
    good = good && levels_fit(r->slice_rep, n, r->leaf.max_rep) &&
           levels_fit(r->slice_def, n, r->leaf.max_def);
    if (!good) {
        return fz_err_set_kind(err, FZ_CORRUPT, "malformed", "parquet levels of column \"%.*s\"",
                               FZ_STR_ARGS(r->leaf.element->name));
    }
    r->page_left -= (int64_t)n;
    r->slice_count = n;
    r->slice_next = 0;
    return FZ_OK;
}

/** Take levels [slice_next, to) of the slice and their values. */
static fz_code take(fz_parquet_column_reader *r, size_t to, fz_err *err) {
    size_t from = r->slice_next;
    size_t n = to - from;
    size_t values = n;
    if (r->leaf.max_rep) {
        fz_buf_append(&r->rep, r->slice_rep + from, n);
    }
    if (r->leaf.max_def) {
        fz_buf_append(&r->def, r->slice_def + from, n);
        values = 0;
        for (size_t i = from; i < to; i++) {
            values += r->slice_def[i] == r->leaf.max_def;
        }
    }
    FZ_TRY(fz_buf_check(&r->rep, "parquet levels", err));
    FZ_TRY(fz_buf_check(&r->def, "parquet levels", err));
    FZ_TRY(fz_parquet_decoder_read(&r->decoder, values, &r->values, err));
    r->level_count += n;
    r->value_count += values;
    r->slice_next = to;
    return FZ_OK;
}

fz_code fz_parquet_column_reader_read(fz_parquet_column_reader *r, int64_t rows, fz_err *err) {
    fz_buf_reset(&r->rep);
    fz_buf_reset(&r->def);
    fz_parquet_values_reset(&r->values);
    r->level_count = r->value_count = 0;
    int64_t begun = 0;
    for (;;) {
        if (r->slice_next == r->slice_count) {
            if (!r->leaf.max_rep && begun == rows) {
                return FZ_OK;
            }
            bool done = false;
            FZ_TRY(next_slice(r, r->leaf.max_rep ? INT64_MAX : rows - begun, &done, err));
            if (done) {
                return begun == rows ? FZ_OK : short_of_rows(r, err);
            }
        }
        size_t to = r->slice_next;
        if (!r->leaf.max_rep) {
            to = r->slice_count;
            begun += (int64_t)(to - r->slice_next);
        } else if (r->level_count == 0 && to == r->slice_next && begun == 0 &&
                   r->slice_rep[to] != 0) {
            return fz_err_set_kind(err, FZ_CORRUPT, "malformed",
                                   "parquet column \"%.*s\" begins inside a row",
                                   FZ_STR_ARGS(r->leaf.element->name));
        } else {
            for (; to < r->slice_count; to++) {
                if (r->slice_rep[to] == 0 && begun++ == rows) {
                    begun = rows;
                    FZ_TRY(take(r, to, err));
                    return FZ_OK;
                }
            }
        }
        FZ_TRY(take(r, to, err));
        if (r->level_count > INT32_MAX) {
            return fz_err_set(err, FZ_LIMIT, "parquet column \"%.*s\" has 2^31 values in %lld rows",
                              FZ_STR_ARGS(r->leaf.element->name), (long long)rows);
        }
    }
}
