// SPDX-License-Identifier: Apache-2.0
// Thrift's compact protocol: what Parquet's headers and footer are written in.
#ifndef FZ_FORMAT_PARQUET_THRIFT_H
#define FZ_FORMAT_PARQUET_THRIFT_H

#include "base/buf.h"
#include "base/cursor.h"

/** Types of a field or of a list's items. */
enum {
    FZ_PARQUET_THRIFT_STOP = 0,
    FZ_PARQUET_THRIFT_TRUE = 1,
    FZ_PARQUET_THRIFT_FALSE = 2,
    FZ_PARQUET_THRIFT_BYTE = 3,
    FZ_PARQUET_THRIFT_I16 = 4,
    FZ_PARQUET_THRIFT_I32 = 5,
    FZ_PARQUET_THRIFT_I64 = 6,
    FZ_PARQUET_THRIFT_DOUBLE = 7,
    FZ_PARQUET_THRIFT_BINARY = 8,
    FZ_PARQUET_THRIFT_LIST = 9,
    FZ_PARQUET_THRIFT_SET = 10,
    FZ_PARQUET_THRIFT_MAP = 11,
    FZ_PARQUET_THRIFT_STRUCT = 12,
    FZ_PARQUET_THRIFT_DEPTH = 16, // of nested structs, read or written
};

/** A struct being written. Failures stick in the buffer. */
typedef struct fz_parquet_thrift_writer {
    fz_buf *out;
    int16_t last[FZ_PARQUET_THRIFT_DEPTH]; // field id written last, by depth
    int depth;
} fz_parquet_thrift_writer;

/** Begin the outermost struct at the end of `out`; close it with _end. */
void fz_parquet_thrift_init(fz_parquet_thrift_writer *writer, fz_buf *out);
void fz_parquet_thrift_bool(fz_parquet_thrift_writer *writer, int16_t id, bool value);
void fz_parquet_thrift_byte(fz_parquet_thrift_writer *writer, int16_t id, int8_t value);
void fz_parquet_thrift_i16(fz_parquet_thrift_writer *writer, int16_t id, int16_t value);
void fz_parquet_thrift_i32(fz_parquet_thrift_writer *writer, int16_t id, int32_t value);
void fz_parquet_thrift_i64(fz_parquet_thrift_writer *writer, int16_t id, int64_t value);
void fz_parquet_thrift_binary(fz_parquet_thrift_writer *writer, int16_t id, fz_str value);
/** Begin a struct as a field; _end closes it. */
void fz_parquet_thrift_struct(fz_parquet_thrift_writer *writer, int16_t id);
/** Begin a list of `count` items of `type`; then exactly as many _item calls. */
void fz_parquet_thrift_list(fz_parquet_thrift_writer *writer, int16_t id, uint8_t type,
                            size_t count);
void fz_parquet_thrift_item_int(fz_parquet_thrift_writer *writer, int64_t value);
void fz_parquet_thrift_item_bool(fz_parquet_thrift_writer *writer, bool value);
void fz_parquet_thrift_item_binary(fz_parquet_thrift_writer *writer, fz_str value);
/** Begin a struct as an item; _end closes it. */
void fz_parquet_thrift_item_struct(fz_parquet_thrift_writer *writer);
void fz_parquet_thrift_end(fz_parquet_thrift_writer *writer);

/** A field's head as read. */
typedef struct fz_parquet_thrift_field {
    int16_t id;
    uint8_t type;
} fz_parquet_thrift_field;

/** The next field of a struct; start with a zeroed field. False at the end or after a failure of
 * the cursor. */
bool fz_parquet_thrift_next(fz_cur *cur, fz_parquet_thrift_field *field);
/** Value of a field of type BYTE, I16, I32 or I64; another type fails the cursor. */
int64_t fz_parquet_thrift_read_int(fz_cur *cur, const fz_parquet_thrift_field *field);
/** As read_int, MALFORMED outside 32 bits. */
int32_t fz_parquet_thrift_read_i32(fz_cur *cur, const fz_parquet_thrift_field *field);
bool fz_parquet_thrift_read_bool(fz_cur *cur, const fz_parquet_thrift_field *field);
/** In place. */
fz_str fz_parquet_thrift_read_binary(fz_cur *cur, const fz_parquet_thrift_field *field);
/** Head of a list whose items are of `type`; at most as many items as bytes left, else the cursor
 * fails and 0 is returned. */
size_t fz_parquet_thrift_read_list(fz_cur *cur, const fz_parquet_thrift_field *field, uint8_t type);
/** An item of a list of I32 or I64. */
int64_t fz_parquet_thrift_read_item_int(fz_cur *cur);
fz_str fz_parquet_thrift_read_item_binary(fz_cur *cur);
/** Fails the cursor unless the field is a struct. */
bool fz_parquet_thrift_read_struct(fz_cur *cur, const fz_parquet_thrift_field *field);
/** Pass over a field's value; nesting deeper than FZ_PARQUET_THRIFT_DEPTH fails the cursor. */
void fz_parquet_thrift_skip(fz_cur *cur, const fz_parquet_thrift_field *field);

#endif
