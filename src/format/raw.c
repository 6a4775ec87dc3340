// SPDX-License-Identifier: Apache-2.0
// Values without a schema: bytes and text as they are, JSON text after a strict check (RFC 8259).
#include "format/raw.h"

#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "format/fill.h"

#define MAX_JSON_DEPTH 512

typedef struct raw_schema {
    fz_writer_schema base;
    fz_raw_kind kind;
    bool optional;
    fz_str column; // owned
} raw_schema;

typedef struct raw_decoder {
    fz_decoder base;
    fz_raw_kind kind;
    size_t *columns; // owned ones of the batch
    fz_value *fills; // of each, what it gets when it is not the bound one
    size_t column_count;
    size_t bound;   // index of the column that takes the value, SIZE_MAX: none
    fz_arena arena; // bytes of the fills
} raw_decoder;

// --- JSON ---

typedef struct json_cursor {
    const uint8_t *data;
    size_t size;
    size_t at;
    size_t depth;
    uint8_t is_object[MAX_JSON_DEPTH / 8]; // a bit a level
    fz_err *err;
} json_cursor;

static fz_code json_bad(json_cursor *c, const char *kind, const char *what) {
    fz_code code = fz_err_set_kind(c->err, FZ_CORRUPT, kind, "json: %s at byte %zu", what, c->at);
    if (c->err) {
        c->err->offset = (int64_t)c->at;
    }
    return code;
}

static int json_peek(const json_cursor *c) {
    return c->at < c->size ? c->data[c->at] : -1;
}

static void json_space(json_cursor *c) {
    while (c->at < c->size && (c->data[c->at] == ' ' || c->data[c->at] == '\t' ||
                               c->data[c->at] == '\n' || c->data[c->at] == '\r')) {
        c->at++;
    }
}

// Four hex digits at the cursor, -1 if they are none.
static int32_t json_hex(json_cursor *c) {
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int byte = json_peek(c);
        int digit = byte >= '0' && byte <= '9'   ? byte - '0'
                    : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
                    : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                                 : -1;
        if (digit < 0) {
            return -1;
        }
        value = value * 16 + digit;
        c->at++;
    }
    return value;
}

static fz_code json_escape(json_cursor *c) {
    int byte = json_peek(c);
    if (byte != 'u') {
        if (byte <= 0 || !strchr("\"\\/bfnrt", byte)) {
            return json_bad(c, "malformed", "unknown escape");
        }
        c->at++;
        return FZ_OK;
    }
    c->at++;
    int32_t unit = json_hex(c);
    if (unit < 0) {
        return json_bad(c, "malformed", "\\u without four hex digits");
    }
    if (unit < 0xD800 || unit > 0xDFFF) {
        return FZ_OK;
    }
    if (unit > 0xDBFF || c->size - c->at < 2 || c->data[c->at] != '\\' ||
        c->data[c->at + 1] != 'u') {
        return json_bad(c, "invalid_utf8", "lone surrogate");
    }
    c->at += 2;
    unit = json_hex(c);
    if (unit < 0) {
        return json_bad(c, "malformed", "\\u without four hex digits");
    }
    return unit >= 0xDC00 && unit <= 0xDFFF ? FZ_OK : json_bad(c, "invalid_utf8", "lone surrogate");
}

static fz_code json_text(json_cursor *c) {
    if (json_peek(c) != '"') {
        return json_bad(c, "malformed", "no text where one is wanted");
    }
    c->at++;
    for (;;) {
        int byte = json_peek(c);
        if (byte < 0x20) {
            return json_bad(c, "malformed", byte < 0 ? "end inside a text" : "control character");
        }
        c->at++;
        if (byte == '"') {
            return FZ_OK;
        }
        if (byte == '\\') {
            FZ_TRY(json_escape(c));
        }
    }
}

static bool json_digits(json_cursor *c) {
    size_t from = c->at;
    while (json_peek(c) >= '0' && json_peek(c) <= '9') {
        c->at++;
    }
    return c->at > from;
}

static fz_code json_number(json_cursor *c) {
    c->at += json_peek(c) == '-';
    bool zero = json_peek(c) == '0';
    size_t from = c->at;
    bool good = json_digits(c) && (!zero || c->at == from + 1);
    if (good && json_peek(c) == '.') {
        c->at++;
        good = json_digits(c);
    }
    if (good && (json_peek(c) == 'e' || json_peek(c) == 'E')) {
        c->at++;
        c->at += json_peek(c) == '+' || json_peek(c) == '-';
        good = json_digits(c);
    }
    return good ? FZ_OK : json_bad(c, "malformed", "no number");
}

static fz_code json_word(json_cursor *c) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < FZ_COUNT(words); i++) {
        size_t size = strlen(words[i]);
        if (c->size - c->at >= size && memcmp(c->data + c->at, words[i], size) == 0) {
            c->at += size;
            return FZ_OK;
        }
    }
    return json_bad(c, "malformed", "no value");
}

static fz_code json_enter(json_cursor *c, bool object) {
    if (c->depth == MAX_JSON_DEPTH) {
        return json_bad(c, "depth_limit", "nested deeper than 512 levels");
    }
    uint8_t bit = (uint8_t)(1u << (c->depth & 7));
    uint8_t *bits = &c->is_object[c->depth >> 3];
    *bits = (uint8_t)(object ? *bits | bit : *bits & ~bit);
    c->depth++;
    c->at++;
    return FZ_OK;
}

static bool json_in_object(const json_cursor *c) {
    size_t level = c->depth - 1;
    return c->is_object[level >> 3] >> (level & 7) & 1;
}

static fz_code json_member_name(json_cursor *c) {
    json_space(c);
    FZ_TRY(json_text(c));
    json_space(c);
    if (json_peek(c) != ':') {
        return json_bad(c, "malformed", "no colon behind a name");
    }
    c->at++;
    return FZ_OK;
}

// A scalar, or the start of a container; *opened: its first item comes next.
static fz_code json_value(json_cursor *c, bool *opened) {
    json_space(c);
    *opened = false;
    int byte = json_peek(c);
    if (byte == '{' || byte == '[') {
        FZ_TRY(json_enter(c, byte == '{'));
        json_space(c);
        if (json_peek(c) == byte + 2) { // ASCII: '}' and ']' stand two behind
            c->at++;
            c->depth--;
            return FZ_OK;
        }
        *opened = true;
        return byte == '{' ? json_member_name(c) : FZ_OK;
    }
    if (byte == '"') {
        return json_text(c);
    }
    return byte == '-' || (byte >= '0' && byte <= '9') ? json_number(c) : json_word(c);
}

static fz_code json_check(const uint8_t *data, size_t size, fz_err *err) {
    json_cursor c = {.data = data, .size = size, .err = err};
    if (!fz_utf8_valid(data, size)) {
        return json_bad(&c, "invalid_utf8", "text is not UTF-8");
    }
    for (;;) {
        bool opened = false;
        FZ_TRY(json_value(&c, &opened));
        if (opened) {
            continue;
        }
        // behind a value: close what ends here, go on behind a comma
        for (;;) {
            json_space(&c);
            if (c.depth == 0) {
                return c.at == c.size ? FZ_OK : json_bad(&c, "malformed", "bytes behind the value");
            }
            bool object = json_in_object(&c);
            int byte = json_peek(&c);
            if (byte == (object ? '}' : ']')) {
                c.at++;
                c.depth--;
                continue;
            }
            if (byte != ',') {
                return json_bad(&c, "malformed", "no comma between items");
            }
            c.at++;
            if (object) {
                FZ_TRY(json_member_name(&c));
            }
            break;
        }
    }
}

// --- decoding ---

static fz_code raw_decode(fz_decoder *base, const uint8_t *data, size_t size, fz_batch *batch,
                          fz_err *err) {
    const raw_decoder *decoder = (const raw_decoder *)base;
    if (decoder->kind == FZ_RAW_JSON) {
        FZ_TRY(json_check(data, size, err));
    } else if (decoder->kind == FZ_RAW_STRING && !fz_utf8_valid(data, size)) {
        return fz_err_set_kind(err, FZ_CORRUPT, "invalid_utf8", "the text is not UTF-8");
    }
    for (size_t i = 0; i < decoder->column_count; i++) {
        fz_column *column = &batch->columns[decoder->columns[i]];
        if (decoder->columns[i] == decoder->bound) {
            FZ_TRY(fz_column_append_bytes(column, data, size, err));
        } else {
            FZ_TRY(fz_column_append_value(column, &decoder->fills[i], err));
        }
    }
    return FZ_OK;
}

static void raw_decoder_free(fz_decoder *base) {
    raw_decoder *decoder = (raw_decoder *)base;
    fz_free(decoder->columns);
    fz_free(decoder->fills);
    fz_arena_deinit(&decoder->arena);
    fz_free(decoder);
}

static const fz_decoder_ops raw_decoder_ops = {.decode = raw_decode, .free = raw_decoder_free};

static fz_type_kind column_kind(fz_raw_kind kind) {
    return kind == FZ_RAW_BYTES ? FZ_TYPE_BINARY : FZ_TYPE_STRING;
}

static fz_code check_bound(const raw_decoder *decoder, const fz_field *field, fz_err *err) {
    fz_type_kind kind = column_kind(decoder->kind);
    return field->type.kind == kind
               ? FZ_OK
               : fz_err_set_kind(err, FZ_UNSUPPORTED, "schema_incompatible",
                                 "column \"%.*s\" is %s and the values are %s",
                                 FZ_STR_ARGS(field->name), fz_type_kind_name(field->type.kind),
                                 fz_type_kind_name(kind));
}

static fz_code raw_open(const fz_writer_schema *base, const fz_schema *shape, fz_schema *target,
                        const bool *owned, fz_decoder **out, fz_err *err) {
    const raw_schema *schema = (const raw_schema *)base;
    const fz_type *root = &target->root;
    raw_decoder *decoder = (raw_decoder *)fz_calloc(1, sizeof(*decoder));
    decoder->base.ops = &raw_decoder_ops;
    decoder->kind = schema->kind;
    decoder->bound = SIZE_MAX;
    decoder->columns = (size_t *)fz_calloc(root->field_count + 1, sizeof(size_t));
    decoder->fills = (fz_value *)fz_calloc(root->field_count + 1, sizeof(fz_value));
    int32_t id = shape->root.field_count ? shape->root.fields[0].id : 0;
    fz_code code = FZ_OK;
    for (size_t i = 0; i < root->field_count && code == FZ_OK; i++) {
        const fz_field *field = &root->fields[i];
        if (!owned[i]) {
            continue;
        }
        size_t at = decoder->column_count++;
        decoder->columns[at] = i;
        if (id != 0 && field->id == id) {
            decoder->bound = i;
            code = check_bound(decoder, field, err);
        } else {
            code = fz_fill_value(field, field->name, &decoder->arena, &decoder->fills[at], err);
        }
    }
    if (code != FZ_OK) {
        raw_decoder_free(&decoder->base);
        return code;
    }
    *out = &decoder->base;
    return FZ_OK;
}

static fz_code raw_shape(const fz_writer_schema *base, const fz_mapping_options *options,
                         fz_buf *warnings, fz_schema **out, fz_err *err) {
    (void)options;
    (void)warnings;
    (void)err;
    const raw_schema *schema = (const raw_schema *)base;
    fz_schema *shape = fz_schema_new();
    fz_field *field = FZ_ARENA_NEW(&shape->arena, fz_field);
    field->name = field->identity = fz_arena_str(&shape->arena, schema->column);
    field->required = !schema->optional;
    field->type.kind = column_kind(schema->kind);
    shape->root.fields = field;
    shape->root.field_count = 1;
    fz_schema_finish(shape);
    *out = shape;
    return FZ_OK;
}

static void raw_free(fz_writer_schema *base) {
    raw_schema *schema = (raw_schema *)base;
    fz_free((char *)(uintptr_t)schema->column.data);
    fz_free(schema);
}

static const fz_writer_schema_ops raw_ops = {
    .name = "raw", .shape = raw_shape, .open = raw_open, .free = raw_free};

fz_writer_schema *fz_raw_schema_new(fz_raw_kind kind, fz_str column, bool optional) {
    raw_schema *schema = (raw_schema *)fz_calloc(1, sizeof(*schema));
    schema->base.ops = &raw_ops;
    schema->kind = kind;
    schema->optional = optional;
    schema->column = fz_str_make(fz_str_dup(column), column.size);
    return &schema->base;
}
