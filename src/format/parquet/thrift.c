// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol, written into a buffer and read from a cursor.
#include "format/parquet/thrift.h"

static void write_varint(fz_buf *out, uint64_t value) {
    uint8_t bytes[10];
    size_t size = 0;
    while (value > 0x7f) {
        bytes[size++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[size++] = (uint8_t)value;
    fz_buf_append(out, bytes, size);
}

static void write_zigzag(fz_buf *out, int64_t value) {
    write_varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

static void write_head(fz_parquet_thrift_writer *writer, int16_t id, uint8_t type) {
    int delta = id - writer->last[writer->depth];
    if (delta > 0 && delta <= 15) {
        fz_buf_append_byte(writer->out, (uint8_t)(delta << 4 | type));
    } else {
        fz_buf_append_byte(writer->out, type);
        write_zigzag(writer->out, id);
    }
    writer->last[writer->depth] = id;
}

static void enter(fz_parquet_thrift_writer *writer) {
    FZ_ASSERT(writer->depth + 1 < FZ_PARQUET_THRIFT_DEPTH);
    writer->last[++writer->depth] = 0;
}

void fz_parquet_thrift_init(fz_parquet_thrift_writer *writer, fz_buf *out) {
    *writer = (fz_parquet_thrift_writer){.out = out};
}

void fz_parquet_thrift_bool(fz_parquet_thrift_writer *writer, int16_t id, bool value) {
    write_head(writer, id, value ? FZ_PARQUET_THRIFT_TRUE : FZ_PARQUET_THRIFT_FALSE);
}

void fz_parquet_thrift_byte(fz_parquet_thrift_writer *writer, int16_t id, int8_t value) {
    write_head(writer, id, FZ_PARQUET_THRIFT_BYTE);
    fz_buf_append_byte(writer->out, (uint8_t)value);
}

void fz_parquet_thrift_i16(fz_parquet_thrift_writer *writer, int16_t id, int16_t value) {
    write_head(writer, id, FZ_PARQUET_THRIFT_I16);
    write_zigzag(writer->out, value);
}

void fz_parquet_thrift_i32(fz_parquet_thrift_writer *writer, int16_t id, int32_t value) {
    write_head(writer, id, FZ_PARQUET_THRIFT_I32);
    write_zigzag(writer->out, value);
}

void fz_parquet_thrift_i64(fz_parquet_thrift_writer *writer, int16_t id, int64_t value) {
    write_head(writer, id, FZ_PARQUET_THRIFT_I64);
    write_zigzag(writer->out, value);
}

void fz_parquet_thrift_binary(fz_parquet_thrift_writer *writer, int16_t id, fz_str value) {
    write_head(writer, id, FZ_PARQUET_THRIFT_BINARY);
    fz_parquet_thrift_item_binary(writer, value);
}

void fz_parquet_thrift_struct(fz_parquet_thrift_writer *writer, int16_t id) {
    write_head(writer, id, FZ_PARQUET_THRIFT_STRUCT);
    enter(writer);
}

void fz_parquet_thrift_list(fz_parquet_thrift_writer *writer, int16_t id, uint8_t type,
                            size_t count) {
    write_head(writer, id, FZ_PARQUET_THRIFT_LIST);
    if (count < 15) {
        fz_buf_append_byte(writer->out, (uint8_t)(count << 4 | type));
    } else {
        fz_buf_append_byte(writer->out, (uint8_t)(0xf0 | type));
        write_varint(writer->out, count);
    }
}

void fz_parquet_thrift_item_int(fz_parquet_thrift_writer *writer, int64_t value) {
    write_zigzag(writer->out, value);
}

void fz_parquet_thrift_item_bool(fz_parquet_thrift_writer *writer, bool value) {
    fz_buf_append_byte(writer->out, value ? FZ_PARQUET_THRIFT_TRUE : FZ_PARQUET_THRIFT_FALSE);
}

void fz_parquet_thrift_item_binary(fz_parquet_thrift_writer *writer, fz_str value) {
    write_varint(writer->out, value.size);
    fz_buf_append_str(writer->out, value);
}

void fz_parquet_thrift_item_struct(fz_parquet_thrift_writer *writer) {
    enter(writer);
}

void fz_parquet_thrift_end(fz_parquet_thrift_writer *writer) {
    fz_buf_append_byte(writer->out, FZ_PARQUET_THRIFT_STOP);
    if (writer->depth > 0) {
        writer->depth--;
    }
}

bool fz_parquet_thrift_next(fz_cur *cur, fz_parquet_thrift_field *field) {
    uint8_t head = fz_cur_u8(cur);
    if (cur->fault != FZ_CUR_OK || head == FZ_PARQUET_THRIFT_STOP) {
        return false;
    }
    field->type = head & 0x0f;
    int64_t id = head >> 4 ? field->id + (head >> 4) : fz_cur_zigzag(cur);
    if (id < INT16_MIN || id > INT16_MAX || field->type > FZ_PARQUET_THRIFT_STRUCT ||
        field->type == FZ_PARQUET_THRIFT_STOP) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
    }
    field->id = (int16_t)id;
    return cur->fault == FZ_CUR_OK;
}

int64_t fz_parquet_thrift_read_int(fz_cur *cur, const fz_parquet_thrift_field *field) {
    switch (field->type) {
    case FZ_PARQUET_THRIFT_BYTE:
        return (int8_t)fz_cur_u8(cur);
    case FZ_PARQUET_THRIFT_I16:
    case FZ_PARQUET_THRIFT_I32:
    case FZ_PARQUET_THRIFT_I64:
        return fz_cur_zigzag(cur);
    default:
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return 0;
    }
}

int32_t fz_parquet_thrift_read_i32(fz_cur *cur, const fz_parquet_thrift_field *field) {
    int64_t value = fz_parquet_thrift_read_int(cur, field);
    if (value < INT32_MIN || value > INT32_MAX) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return 0;
    }
    return (int32_t)value;
}

bool fz_parquet_thrift_read_bool(fz_cur *cur, const fz_parquet_thrift_field *field) {
    if (field->type != FZ_PARQUET_THRIFT_TRUE && field->type != FZ_PARQUET_THRIFT_FALSE) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
    }
    return field->type == FZ_PARQUET_THRIFT_TRUE;
}

fz_str fz_parquet_thrift_read_item_binary(fz_cur *cur) {
    uint64_t size = fz_cur_varint(cur);
    const uint8_t *bytes = fz_cur_bytes(cur, size);
    return fz_str_make(bytes, bytes ? size : 0);
}

fz_str fz_parquet_thrift_read_binary(fz_cur *cur, const fz_parquet_thrift_field *field) {
    if (field->type != FZ_PARQUET_THRIFT_BINARY) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return fz_str_make(NULL, 0);
    }
    return fz_parquet_thrift_read_item_binary(cur);
}

size_t fz_parquet_thrift_read_list(fz_cur *cur, const fz_parquet_thrift_field *field,
                                   uint8_t type) {
    if (field->type != FZ_PARQUET_THRIFT_LIST && field->type != FZ_PARQUET_THRIFT_SET) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return 0;
    }
    uint8_t head = fz_cur_u8(cur);
    uint64_t count = head >> 4 == 15 ? fz_cur_varint(cur) : head >> 4;
    // An item takes a byte or more (an empty struct is its stop byte), so a greater count is a lie.
    if (cur->fault != FZ_CUR_OK || count > fz_cur_left(cur) ||
        (count > 0 && (head & 0x0f) != type)) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return 0;
    }
    return count;
}

int64_t fz_parquet_thrift_read_item_int(fz_cur *cur) {
    return fz_cur_zigzag(cur);
}

bool fz_parquet_thrift_read_struct(fz_cur *cur, const fz_parquet_thrift_field *field) {
    if (field->type != FZ_PARQUET_THRIFT_STRUCT) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
    }
    return cur->fault == FZ_CUR_OK;
}

static void skip_value(fz_cur *cur, uint8_t type, bool item, int depth);

static void skip_items(fz_cur *cur, uint8_t key, uint8_t value, uint64_t count, int depth) {
    if (count > fz_cur_left(cur)) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return;
    }
    for (uint64_t i = 0; i < count && cur->fault == FZ_CUR_OK; i++) {
        if (key != FZ_PARQUET_THRIFT_STOP) {
            skip_value(cur, key, true, depth);
        }
        skip_value(cur, value, true, depth);
    }
}

static void skip_value(fz_cur *cur, uint8_t type, bool item, int depth) {
    if (depth >= FZ_PARQUET_THRIFT_DEPTH) {
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
        return;
    }
    switch (type) {
    case FZ_PARQUET_THRIFT_TRUE:
    case FZ_PARQUET_THRIFT_FALSE:
        if (item) {
            fz_cur_u8(cur);
        }
        return;
    case FZ_PARQUET_THRIFT_BYTE:
        fz_cur_u8(cur);
        return;
    case FZ_PARQUET_THRIFT_I16:
    case FZ_PARQUET_THRIFT_I32:
    case FZ_PARQUET_THRIFT_I64:
        fz_cur_varint(cur);
        return;
    case FZ_PARQUET_THRIFT_DOUBLE:
        fz_cur_bytes(cur, 8);
        return;
    case FZ_PARQUET_THRIFT_BINARY:
        fz_parquet_thrift_read_item_binary(cur);
        return;
    case FZ_PARQUET_THRIFT_LIST:
    case FZ_PARQUET_THRIFT_SET: {
        uint8_t head = fz_cur_u8(cur);
        uint64_t count = head >> 4 == 15 ? fz_cur_varint(cur) : head >> 4;
        skip_items(cur, FZ_PARQUET_THRIFT_STOP, head & 0x0f, count, depth + 1);
        return;
    }
    case FZ_PARQUET_THRIFT_MAP: {
        uint64_t count = fz_cur_varint(cur);
        if (count > 0) {
            uint8_t types = fz_cur_u8(cur);
            skip_items(cur, types >> 4, types & 0x0f, count, depth + 1);
        }
        return;
    }
    case FZ_PARQUET_THRIFT_STRUCT: {
        fz_parquet_thrift_field field = {0};
        while (fz_parquet_thrift_next(cur, &field)) {
            skip_value(cur, field.type, false, depth + 1);
        }
        return;
    }
    default:
        fz_cur_fail(cur, FZ_CUR_MALFORMED);
    }
}

void fz_parquet_thrift_skip(fz_cur *cur, const fz_parquet_thrift_field *field) {
    skip_value(cur, field->type, false, 0);
}
