// SPDX-License-Identifier: Apache-2.0
// Writes Avro object container files from trees of data.
#include "format/avro/container.h"

#include "base/memory.h"
#include "base/rand.h"
#include "format/avro/container_node.h"

enum {
    SYNC_SIZE = 16,
    BLOCK_TARGET = 64 << 10, // bytes, as Java's sync interval
    MAX_NODES = 20000,
    MAX_DEPTH = 64,
};

struct fz_avro_writer {
    fz_arena arena;
    const fz_avro_node *schema;
    fz_codec codec;
    fz_buf *out;
    fz_buf block;
    int64_t records; // in the block
    fz_compressor compressor;
    fz_buf packed;
    uint8_t sync[SYNC_SIZE];
};

static void put_long(fz_buf *out, int64_t value) {
    uint64_t v = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);
    uint8_t bytes[10];
    size_t size = 0;
    while (v >= 0x80) {
        bytes[size++] = (uint8_t)(v | 0x80);
        v >>= 7;
    }
    bytes[size++] = (uint8_t)v;
    fz_buf_append(out, bytes, size);
}

static void put_bytes(fz_buf *out, fz_str bytes) {
    put_long(out, (int64_t)bytes.size);
    fz_buf_append_str(out, bytes);
}

static void put_pair(fz_buf *out, fz_str key, fz_str value) {
    put_bytes(out, key);
    put_bytes(out, value);
}

static fz_code put_header(fz_avro_writer *w, const json_t *schema, const json_t *metadata,
                          fz_err *err) {
    fz_buf text = {0};
    fz_code code = fz_json_format(schema, &text, err);
    if (code != FZ_OK) {
        fz_buf_deinit(&text);
        return code;
    }
    fz_buf_append(w->out, "Obj\1", 4);
    put_long(w->out, (int64_t)(2 + json_object_size(metadata)));
    put_pair(w->out, FZ_STR("avro.schema"), fz_buf_view(&text));
    put_pair(w->out, FZ_STR("avro.codec"),
             w->codec == FZ_CODEC_DEFLATE ? FZ_STR("deflate") : FZ_STR("null"));
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)metadata, key, value) {
        put_pair(w->out, fz_str_from(key), fz_json_view(value));
    }
    put_long(w->out, 0);
    fz_buf_append(w->out, w->sync, SYNC_SIZE);
    fz_buf_deinit(&text);
    return fz_buf_check(w->out, "avro container", err);
}

fz_code fz_avro_writer_new(const json_t *schema, const json_t *metadata, fz_codec codec,
                           fz_buf *out, fz_avro_writer **writer, fz_err *err) {
    if (codec != FZ_CODEC_NONE && codec != FZ_CODEC_DEFLATE) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "avro containers are written with null or deflate, not \"%s\"",
                          fz_codec_name(codec));
    }
    fz_avro_writer *w = fz_calloc(1, sizeof(*w));
    w->codec = codec;
    w->out = out;
    fz_rand_bytes(w->sync, SYNC_SIZE);
    fz_code code =
        fz_avro_container_node_parse(schema, MAX_NODES, MAX_DEPTH, &w->arena, &w->schema, err);
    if (code == FZ_CORRUPT && err) {
        err->code = FZ_INVALID; // the schema is ours, not a file's
    }
    code = code == FZ_CORRUPT ? FZ_INVALID : code;
    if (code == FZ_OK) {
        code = put_header(w, schema, metadata, err);
    }
    if (code != FZ_OK) {
        fz_avro_writer_free(w);
        return code;
    }
    *writer = w;
    return FZ_OK;
}

static const char *const kind_names[] = {
    [FZ_AVRO_DATUM_NULL] = "null",     [FZ_AVRO_DATUM_BOOLEAN] = "boolean",
    [FZ_AVRO_DATUM_INT] = "int",       [FZ_AVRO_DATUM_LONG] = "long",
    [FZ_AVRO_DATUM_FLOAT] = "float",   [FZ_AVRO_DATUM_DOUBLE] = "double",
    [FZ_AVRO_DATUM_BYTES] = "bytes",   [FZ_AVRO_DATUM_STRING] = "string",
    [FZ_AVRO_DATUM_FIXED] = "fixed",   [FZ_AVRO_DATUM_ENUM] = "enum",
    [FZ_AVRO_DATUM_RECORD] = "record", [FZ_AVRO_DATUM_ARRAY] = "array",
    [FZ_AVRO_DATUM_MAP] = "map",       [FZ_AVRO_DATUM_UNION] = "union",
};

static bool fits(const fz_avro_node *node, const fz_avro_datum *datum) {
    return node->kind == datum->kind ||
           (node->kind == FZ_AVRO_DATUM_LONG && datum->kind == FZ_AVRO_DATUM_INT);
}

static fz_code mismatch(const fz_avro_node *node, const fz_avro_datum *datum, fz_err *err) {
    return fz_err_set(err, FZ_INVALID, "avro datum is %s where the schema wants %s",
                      kind_names[datum->kind], kind_names[node->kind]);
}

static fz_code put_datum(fz_buf *out, const fz_avro_node *node, const fz_avro_datum *datum,
                         fz_err *err);

static fz_code put_union(fz_buf *out, const fz_avro_node *node, const fz_avro_datum *datum,
                         fz_err *err) {
    for (size_t i = 0; i < node->child_count; i++) {
        if (fits(node->children[i], datum)) {
            put_long(out, (int64_t)i);
            return put_datum(out, node->children[i], datum, err);
        }
    }
    return mismatch(node, datum, err);
}

static fz_code put_record(fz_buf *out, const fz_avro_node *node, const fz_avro_datum *datum,
                          fz_err *err) {
    if (datum->as.list.count != node->field_count) {
        return fz_err_set(err, FZ_INVALID, "avro record \"%.*s\" has %zu items for %zu fields",
                          FZ_STR_ARGS(node->name), datum->as.list.count, node->field_count);
    }
    for (size_t i = 0; i < node->field_count; i++) {
        fz_code code = put_datum(out, node->fields[i].node, &datum->as.list.items[i], err);
        if (code != FZ_OK) {
            return fz_err_prepend(err, "field \"%.*s\"", FZ_STR_ARGS(node->fields[i].name));
        }
    }
    return FZ_OK;
}

static fz_code put_items(fz_buf *out, const fz_avro_node *node, const fz_avro_datum *datum,
                         fz_err *err) {
    size_t per = node->kind == FZ_AVRO_DATUM_MAP ? 2 : 1;
    if (datum->as.list.count > 0) {
        put_long(out, (int64_t)(datum->as.list.count / per));
    }
    for (size_t i = 0; i + per <= datum->as.list.count; i += per) {
        if (per == 2) {
            put_bytes(out, datum->as.list.items[i].as.bytes);
        }
        FZ_TRY(put_datum(out, node->children[0], &datum->as.list.items[i + per - 1], err));
    }
    put_long(out, 0);
    return FZ_OK;
}

static fz_code put_enum(fz_buf *out, const fz_avro_node *node, fz_str symbol, fz_err *err) {
    for (size_t i = 0; i < node->symbol_count; i++) {
        if (fz_str_equal(node->symbols[i], symbol)) {
            put_long(out, (int64_t)i);
            return FZ_OK;
        }
    }
    return fz_err_set(err, FZ_INVALID, "avro enum \"%.*s\" has no symbol \"%.*s\"",
                      FZ_STR_ARGS(node->name), FZ_STR_ARGS(symbol));
}

static fz_code put_datum(fz_buf *out, const fz_avro_node *node, const fz_avro_datum *datum,
                         fz_err *err) {
    if (node->kind != FZ_AVRO_DATUM_UNION && !fits(node, datum)) {
        return mismatch(node, datum, err);
    }
    switch (node->kind) {
    case FZ_AVRO_DATUM_NULL:
        return FZ_OK;
    case FZ_AVRO_DATUM_BOOLEAN:
        fz_buf_append_byte(out, datum->as.boolean ? 1 : 0);
        return FZ_OK;
    case FZ_AVRO_DATUM_INT:
    case FZ_AVRO_DATUM_LONG:
        put_long(out, datum->as.integer);
        return FZ_OK;
    case FZ_AVRO_DATUM_FLOAT: {
        uint32_t bits;
        memcpy(&bits, &datum->as.real32, sizeof(bits));
        fz_buf_append_le32(out, bits);
        return FZ_OK;
    }
    case FZ_AVRO_DATUM_DOUBLE: {
        uint64_t bits;
        memcpy(&bits, &datum->as.real64, sizeof(bits));
        fz_buf_append_le64(out, bits);
        return FZ_OK;
    }
    case FZ_AVRO_DATUM_BYTES:
    case FZ_AVRO_DATUM_STRING:
        put_bytes(out, datum->as.bytes);
        return FZ_OK;
    case FZ_AVRO_DATUM_FIXED:
        if (datum->as.bytes.size != node->size) {
            return fz_err_set(err, FZ_INVALID, "avro fixed of %zu bytes is given %zu", node->size,
                              datum->as.bytes.size);
        }
        fz_buf_append_str(out, datum->as.bytes);
        return FZ_OK;
    case FZ_AVRO_DATUM_ENUM:
        return put_enum(out, node, datum->as.bytes, err);
    case FZ_AVRO_DATUM_RECORD:
        return put_record(out, node, datum, err);
    case FZ_AVRO_DATUM_ARRAY:
    case FZ_AVRO_DATUM_MAP:
        return put_items(out, node, datum, err);
    case FZ_AVRO_DATUM_UNION:
        return put_union(out, node, datum, err);
    }
    return fz_err_set(err, FZ_INTERNAL, "avro schema node has an unknown kind");
}

static fz_code flush_block(fz_avro_writer *w, fz_err *err) {
    if (w->records == 0) {
        return FZ_OK;
    }
    fz_str body = fz_buf_view(&w->block);
    if (w->codec == FZ_CODEC_DEFLATE) {
        fz_buf_reset(&w->packed);
        FZ_TRY(fz_compress(&w->compressor, FZ_CODEC_DEFLATE, 0, body, &w->packed, err));
        body = fz_buf_view(&w->packed);
    }
    put_long(w->out, w->records);
    put_bytes(w->out, body);
    fz_buf_append(w->out, w->sync, SYNC_SIZE);
    fz_buf_reset(&w->block);
    w->records = 0;
    return fz_buf_check(w->out, "avro container", err);
}

fz_code fz_avro_writer_append(fz_avro_writer *writer, const fz_avro_datum *record, fz_err *err) {
    size_t before = writer->block.size;
    fz_code code = put_datum(&writer->block, writer->schema, record, err);
    if (code != FZ_OK) {
        writer->block.size = before;
        return code;
    }
    writer->records++;
    return writer->block.size >= BLOCK_TARGET ? flush_block(writer, err) : FZ_OK;
}

fz_code fz_avro_writer_finish(fz_avro_writer *writer, fz_err *err) {
    FZ_TRY(flush_block(writer, err));
    return fz_buf_check(writer->out, "avro container", err);
}

void fz_avro_writer_free(fz_avro_writer *writer) {
    if (writer) {
        fz_buf_deinit(&writer->block);
        fz_buf_deinit(&writer->packed);
        fz_compressor_deinit(&writer->compressor);
        fz_arena_deinit(&writer->arena);
        fz_free(writer);
    }
}
