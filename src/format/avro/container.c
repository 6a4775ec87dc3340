// SPDX-License-Identifier: Apache-2.0
// Reads Avro object container files into trees of data.
#include "format/avro/container.h"

#include "base/codec/hash.h"
#include "base/cursor.h"
#include "base/vec.h"
#include "format/avro/container_node.h"

typedef struct metadata_pair {
    fz_str key;
    fz_str value;
} metadata_pair;

struct fz_avro_container {
    fz_arena arena; // nodes
    fz_avro_container_limits limits;
    const fz_avro_node *schema;
    FZ_VEC(metadata_pair) metadata; // views into the file
    fz_codec codec;
    const uint8_t *sync;
    fz_cur file;  // at the next block
    fz_buf block; // decompressed
    fz_cur cur;   // in the block
    int64_t left; // records left in the block
    fz_compressor compressor;
};

enum { SYNC_SIZE = 16 };

static fz_avro_container_limits limits_or_default(const fz_avro_container_limits *given) {
    fz_avro_container_limits l = given ? *given : (fz_avro_container_limits){0};
    l.header_size = l.header_size ? l.header_size : (size_t)16 << 20;
    l.block_size = l.block_size ? l.block_size : (size_t)256 << 20;
    l.record_size = l.record_size ? l.record_size : (size_t)64 << 20;
    l.schema_nodes = l.schema_nodes ? l.schema_nodes : 20000;
    l.depth = l.depth ? l.depth : 64;
    return l;
}

/** A length-prefixed view. */
static fz_str read_bytes(fz_cur *cur) {
    int64_t size = fz_cur_zigzag(cur);
    if (size < 0) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return (fz_str){0};
    }
    if ((uint64_t)size > fz_cur_left(cur)) {
        fz_cur_fail(cur, FZ_CUR_TRUNCATED);
        return (fz_str){0};
    }
    const uint8_t *data = fz_cur_bytes(cur, (size_t)size);
    return data ? fz_str_make(data, (size_t)size) : (fz_str){0};
}

/** Count of an array's or map's next block, 0 at the end; a negative one is followed by its size in
 * bytes. */
static uint64_t read_block_count(fz_cur *cur) {
    int64_t count = fz_cur_zigzag(cur);
    if (count < 0) {
        (void)fz_cur_zigzag(cur);
        if (count == INT64_MIN) {
            fz_cur_fail(cur, FZ_CUR_MALFORMED);
            return 0;
        }
        count = -count;
    }
    return cur->fault == FZ_CUR_OK ? (uint64_t)count : 0;
}

static fz_code read_header(fz_avro_container *c, fz_err *err) {
    const uint8_t *magic = fz_cur_bytes(&c->file, 4);
    if (!magic || memcmp(magic, "Obj\1", 4) != 0) {
        return fz_err_set(err, FZ_CORRUPT,
                          "not an avro container: it does not start with \"Obj\" 1");
    }
    for (uint64_t count; (count = read_block_count(&c->file)) > 0;) {
        for (uint64_t i = 0; i < count && c->file.fault == FZ_CUR_OK; i++) {
            metadata_pair pair;
            pair.key = read_bytes(&c->file);
            pair.value = read_bytes(&c->file);
            if (c->file.fault == FZ_CUR_OK) {
                fz_vec_push(&c->metadata, pair);
            }
            if (c->file.pos > c->limits.header_size) {
                return fz_err_set(err, FZ_LIMIT, "avro header is larger than %zu bytes",
                                  c->limits.header_size);
            }
        }
    }
    c->sync = fz_cur_bytes(&c->file, SYNC_SIZE);
    return fz_cur_check(&c->file, "avro header", err);
}

static fz_code read_codec(fz_avro_container *c, fz_err *err) {
    fz_str name = FZ_STR("null");
    (void)fz_avro_container_find(c, FZ_STR("avro.codec"), &name);
    if (name.size == 0 || fz_str_equal(name, FZ_STR("null"))) {
        c->codec = FZ_CODEC_NONE;
    } else if (fz_str_equal(name, FZ_STR("deflate"))) {
        c->codec = FZ_CODEC_DEFLATE;
    } else if (fz_str_equal(name, FZ_STR("snappy"))) {
        c->codec = FZ_CODEC_SNAPPY;
    } else if (fz_str_equal(name, FZ_STR("zstandard"))) {
        c->codec = FZ_CODEC_ZSTD;
    } else {
        return fz_err_set(err, FZ_UNSUPPORTED, "avro codec \"%.*s\" is not known",
                          FZ_STR_ARGS(name));
    }
    return FZ_OK;
}

static fz_code read_schema(fz_avro_container *c, fz_err *err) {
    fz_str text;
    if (!fz_avro_container_find(c, FZ_STR("avro.schema"), &text)) {
        return fz_err_set(err, FZ_CORRUPT, "avro container has no \"avro.schema\"");
    }
    json_t *json = NULL;
    fz_code code = fz_json_parse(text, &json, err);
    if (code != FZ_OK) {
        return fz_err_prepend(err, "avro schema");
    }
    code = fz_avro_container_node_parse(json, c->limits.schema_nodes, c->limits.depth, &c->arena,
                                        &c->schema, err);
    json_decref(json);
    return code;
}

fz_code fz_avro_container_open(fz_str bytes, const fz_avro_container_limits *limits,
                               fz_avro_container **out, fz_err *err) {
    fz_avro_container *c = fz_calloc(1, sizeof(*c));
    c->limits = limits_or_default(limits);
    c->file = fz_cur_make(bytes.data, bytes.size);
    fz_buf_init(&c->block, c->limits.block_size, NULL);
    fz_code code = read_header(c, err);
    if (code == FZ_OK) {
        code = read_codec(c, err);
    }
    if (code == FZ_OK) {
        code = read_schema(c, err);
    }
    if (code != FZ_OK) {
        fz_avro_container_free(c);
        return code;
    }
    *out = c;
    return FZ_OK;
}

void fz_avro_container_free(fz_avro_container *container) {
    if (container) {
        fz_vec_deinit(&container->metadata);
        fz_buf_deinit(&container->block);
        fz_compressor_deinit(&container->compressor);
        fz_arena_deinit(&container->arena);
        fz_free(container);
    }
}

const fz_avro_node *fz_avro_container_schema(const fz_avro_container *container) {
    return container->schema;
}

bool fz_avro_container_find(const fz_avro_container *container, fz_str key, fz_str *out) {
    for (size_t i = 0; i < container->metadata.count; i++) {
        if (fz_str_equal(container->metadata.data[i].key, key)) {
            *out = container->metadata.data[i].value;
            return true;
        }
    }
    return false;
}

/** Header of the block at `file`, its bytes, and its sync marker; *count 0 at the end of the file.
 */
static fz_code read_block_frame(const fz_avro_container *c, fz_cur *file, int64_t *count,
                                fz_str *bytes, fz_err *err) {
    *count = 0;
    if (fz_cur_left(file) == 0) {
        return FZ_OK;
    }
    size_t at = file->pos;
    int64_t records = fz_cur_zigzag(file);
    *bytes = read_bytes(file);
    const uint8_t *sync = fz_cur_bytes(file, SYNC_SIZE);
    FZ_TRY(fz_cur_check(file, "avro block", err));
    if (records < 0 || memcmp(sync, c->sync, SYNC_SIZE) != 0) {
        fz_code code = fz_err_set(err, FZ_CORRUPT,
                                  records < 0 ? "avro block has a negative count"
                                              : "avro block does not end in the sync marker");
        if (err) {
            err->offset = (int64_t)at;
        }
        return code;
    }
    *count = records;
    return FZ_OK;
}

fz_code fz_avro_container_count(const fz_avro_container *container, int64_t *out, fz_err *err) {
    fz_cur file = container->file;
    int64_t total = container->left;
    while (fz_cur_left(&file) > 0) {
        int64_t count;
        fz_str bytes;
        FZ_TRY(read_block_frame(container, &file, &count, &bytes, err));
        if (__builtin_add_overflow(total, count, &total)) {
            return fz_err_set(err, FZ_CORRUPT, "avro container counts more than 2^63 records");
        }
    }
    *out = total;
    return FZ_OK;
}

/** Decompress the next block that has records; left stays 0 at the end of the file. */
static fz_code next_block(fz_avro_container *c, fz_err *err) {
    while (c->left == 0 && fz_cur_left(&c->file) > 0) {
        int64_t count;
        fz_str bytes;
        FZ_TRY(read_block_frame(c, &c->file, &count, &bytes, err));
        if (c->codec != FZ_CODEC_NONE) {
            fz_buf_reset(&c->block);
            fz_str body = bytes;
            if (c->codec == FZ_CODEC_SNAPPY) {
                if (bytes.size < 4) {
                    return fz_err_set(err, FZ_CORRUPT, "avro snappy block has no checksum");
                }
                body.size -= 4;
            }
            FZ_TRY(fz_decompress_stream(&c->compressor, c->codec, body, c->limits.block_size,
                                        &c->block, err));
            if (c->codec == FZ_CODEC_SNAPPY) {
                fz_cur tail = fz_cur_make(body.data + body.size, 4);
                if (fz_cur_be32(&tail) != fz_crc32(0, c->block.data, c->block.size)) {
                    return fz_err_set(err, FZ_CORRUPT, "avro snappy block has a wrong checksum");
                }
            }
            bytes = fz_buf_view(&c->block);
        }
        // Records without a single byte would let a few bytes claim any number of them.
        if ((uint64_t)count > bytes.size) {
            return fz_err_set(err, FZ_CORRUPT, "avro block of %zu bytes claims %lld records",
                              bytes.size, (long long)count);
        }
        c->cur = fz_cur_make(bytes.data, bytes.size);
        c->left = count;
    }
    return FZ_OK;
}

typedef struct datum_reader {
    fz_cur *cur;
    fz_arena *arena;
    size_t limit; // of arena->used
    unsigned max_depth;
    bool over;
} datum_reader;

static bool room(datum_reader *r, size_t items) {
    if (items > (SIZE_MAX / 2) / sizeof(fz_avro_datum) || r->arena->used > r->limit ||
        items * sizeof(fz_avro_datum) > r->limit - r->arena->used) {
        r->over = true;
        fz_cur_fail(r->cur, FZ_CUR_MALFORMED);
        return false;
    }
    return true;
}

static void read_datum(datum_reader *r, const fz_avro_node *node, unsigned depth,
                       fz_avro_datum *out);

/** Items of an ARRAY or MAP; room grows with what was really read, not with what is claimed. */
static void read_items(datum_reader *r, const fz_avro_node *node, unsigned depth,
                       fz_avro_datum *out) {
    size_t per = node->kind == FZ_AVRO_DATUM_MAP ? 2 : 1;
    size_t capacity = 0;
    size_t used = 0;
    fz_avro_datum *items = NULL;
    for (uint64_t count; (count = read_block_count(r->cur)) > 0;) {
        for (uint64_t i = 0; i < count && r->cur->fault == FZ_CUR_OK; i++) {
            if (used + per > capacity) {
                uint64_t likely = count - i < 64 ? count - i : 64;
                size_t want =
                    capacity * 2 > (size_t)likely * per ? capacity * 2 : (size_t)likely * per;
                if (!room(r, want)) {
                    return;
                }
                fz_avro_datum *grown = FZ_ARENA_ARRAY(r->arena, fz_avro_datum, want);
                if (used) {
                    memcpy(grown, items, used * sizeof(*grown));
                }
                items = grown;
                capacity = want;
            }
            if (per == 2) {
                items[used].kind = FZ_AVRO_DATUM_STRING;
                items[used++].as.bytes = read_bytes(r->cur);
            }
            read_datum(r, node->children[0], depth + 1, &items[used++]);
        }
    }
    out->as.list.items = items;
    out->as.list.count = used;
}

static void read_record(datum_reader *r, const fz_avro_node *node, unsigned depth,
                        fz_avro_datum *out) {
    if (!room(r, node->field_count)) {
        return;
    }
    out->as.list.items = FZ_ARENA_ARRAY(r->arena, fz_avro_datum, node->field_count);
    out->as.list.count = node->field_count;
    for (size_t i = 0; i < node->field_count; i++) {
        read_datum(r, node->fields[i].node, depth + 1, &out->as.list.items[i]);
    }
}

static void read_float(fz_cur *cur, fz_avro_datum *out) {
    if (out->kind == FZ_AVRO_DATUM_FLOAT) {
        uint32_t bits = fz_cur_le32(cur);
        memcpy(&out->as.real32, &bits, sizeof(bits));
    } else {
        uint64_t bits = fz_cur_le64(cur);
        memcpy(&out->as.real64, &bits, sizeof(bits));
    }
}

static void read_datum(datum_reader *r, const fz_avro_node *node, unsigned depth,
                       fz_avro_datum *out) {
    if (depth > r->max_depth) {
        fz_cur_fail(r->cur, FZ_CUR_MALFORMED);
    }
    if (r->cur->fault != FZ_CUR_OK) {
        *out = fz_avro_datum_null();
        return;
    }
    out->kind = node->kind;
    out->node = node;
    switch (node->kind) {
    case FZ_AVRO_DATUM_NULL:
        break;
    case FZ_AVRO_DATUM_BOOLEAN:
        out->as.boolean = fz_cur_u8(r->cur) != 0;
        break;
    case FZ_AVRO_DATUM_INT:
    case FZ_AVRO_DATUM_LONG:
        out->as.integer = fz_cur_zigzag(r->cur);
        if (node->kind == FZ_AVRO_DATUM_INT &&
            (out->as.integer < INT32_MIN || out->as.integer > INT32_MAX)) {
            fz_cur_fail(r->cur, FZ_CUR_MALFORMED);
        }
        break;
    case FZ_AVRO_DATUM_FLOAT:
    case FZ_AVRO_DATUM_DOUBLE:
        read_float(r->cur, out);
        break;
    case FZ_AVRO_DATUM_BYTES:
    case FZ_AVRO_DATUM_STRING:
        out->as.bytes = read_bytes(r->cur);
        break;
    case FZ_AVRO_DATUM_FIXED: {
        const uint8_t *data = fz_cur_bytes(r->cur, node->size);
        out->as.bytes = data ? fz_str_make(data, node->size) : (fz_str){0};
        break;
    }
    case FZ_AVRO_DATUM_ENUM: {
        int64_t index = fz_cur_zigzag(r->cur);
        if (index < 0 || (uint64_t)index >= node->symbol_count) {
            fz_cur_fail(r->cur, FZ_CUR_MALFORMED);
        } else {
            out->as.bytes = node->symbols[index];
        }
        break;
    }
    case FZ_AVRO_DATUM_RECORD:
        read_record(r, node, depth, out);
        break;
    case FZ_AVRO_DATUM_ARRAY:
    case FZ_AVRO_DATUM_MAP:
        read_items(r, node, depth, out);
        break;
    case FZ_AVRO_DATUM_UNION: {
        int64_t branch = fz_cur_zigzag(r->cur);
        if (branch < 0 || (uint64_t)branch >= node->child_count) {
            fz_cur_fail(r->cur, FZ_CUR_MALFORMED);
        } else {
            read_datum(r, node->children[branch], depth + 1, out);
        }
        break;
    }
    }
    if (r->cur->fault != FZ_CUR_OK) {
        *out = fz_avro_datum_null();
    }
}

fz_code fz_avro_container_next(fz_avro_container *container, fz_arena *arena, fz_avro_datum **out,
                               fz_err *err) {
    FZ_TRY(next_block(container, err));
    if (container->left == 0) {
        *out = NULL;
        return FZ_OK;
    }
    datum_reader reader = {.cur = &container->cur,
                           .arena = arena,
                           .limit = arena->used + container->limits.record_size,
                           .max_depth = container->limits.depth * 2};
    fz_avro_datum *datum = FZ_ARENA_NEW(arena, fz_avro_datum);
    read_datum(&reader, container->schema, 0, datum);
    if (reader.over) {
        return fz_err_set(err, FZ_LIMIT, "avro record takes more than %zu bytes",
                          container->limits.record_size);
    }
    FZ_TRY(fz_cur_check(&container->cur, "avro record", err));
    container->left--;
    if (container->left == 0 && fz_cur_left(&container->cur) > 0) {
        return fz_err_set(err, FZ_CORRUPT, "avro block has %zu bytes behind its last record",
                          fz_cur_left(&container->cur));
    }
    *out = datum;
    return FZ_OK;
}

const fz_avro_datum *fz_avro_datum_find(const fz_avro_datum *record, int32_t field_id,
                                        const char *name) {
    if (record->kind != FZ_AVRO_DATUM_RECORD || !record->node) {
        return NULL;
    }
    const fz_avro_node *node = record->node;
    bool ids = false;
    for (size_t i = 0; i < node->field_count; i++) {
        if (node->fields[i].field_id == field_id) {
            return &record->as.list.items[i];
        }
        ids = ids || node->fields[i].field_id >= 0;
    }
    if (ids || !name) {
        return NULL;
    }
    for (size_t i = 0; i < node->field_count; i++) {
        if (fz_str_equal(node->fields[i].name, fz_str_from(name))) {
            return &record->as.list.items[i];
        }
    }
    return NULL;
}
