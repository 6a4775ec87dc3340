// SPDX-License-Identifier: Apache-2.0
// Values of columns as canonical JSON text.
#include "table/scan/print.h"

#include <math.h>
#include <stdlib.h>

#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "base/text/number.h"
#include "data/transform.h"
#include "table/scan/print_cell.h"

#define SAFE_INTEGER ((INT64_C(1) << 53) - 1) // what every JSON reader takes exactly

// Bytes of the well-formed character at `at`, 0 if there is none.
static size_t character(fz_str text, size_t at) {
    uint8_t lead = (uint8_t)text.data[at];
    size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    return size <= text.size - at && fz_utf8_valid(text.data + at, size) ? size : 0;
}

static void append_escape(fz_buf *out, uint8_t byte) {
    switch (byte) {
    case '"':
        fz_buf_append_str(out, FZ_STR("\\\""));
        break;
    case '\\':
        fz_buf_append_str(out, FZ_STR("\\\\"));
        break;
    case '\n':
        fz_buf_append_str(out, FZ_STR("\\n"));
        break;
    case '\r':
        fz_buf_append_str(out, FZ_STR("\\r"));
        break;
    case '\t':
        fz_buf_append_str(out, FZ_STR("\\t"));
        break;
    default:
        fz_buf_printf(out, "\\u%04x", byte);
        break;
    }
}

void fz_scan_print_json_text(fz_str text, fz_buf *out) {
    if (text.size == 0) {
        fz_buf_append_str(out, FZ_STR("\"\""));
        return;
    }
    fz_buf_append_byte(out, '"');
    bool valid = fz_utf8_valid(text.data, text.size);
    size_t clean = 0; // start of what needs no change
    for (size_t i = 0; i < text.size;) {
        uint8_t byte = (uint8_t)text.data[i];
        bool escape = byte < 0x20 || byte == '"' || byte == '\\';
        size_t size = valid || byte < 0x80 ? 1 : character(text, i);
        if (escape || size == 0) {
            fz_buf_append(out, text.data + clean, i - clean);
            if (escape) {
                append_escape(out, byte);
            } else {
                fz_buf_append_str(out, FZ_STR("\xef\xbf\xbd")); // U+FFFD: other writers' bad text
            }
            size = 1;
            clean = i + size;
        }
        i += size;
    }
    fz_buf_append(out, text.data + clean, text.size - clean);
    fz_buf_append_byte(out, '"');
}

static void print_real(double value, fz_buf *out) {
    char text[32];
    size_t size = fz_real_format(value, text);
    if (!isfinite(value)) {
        fz_buf_append_byte(out, '"');
        fz_buf_append(out, text, size);
        fz_buf_append_byte(out, '"');
        return;
    }
    fz_buf_append(out, text, size);
    if (value == 0 && signbit(value) && size == 2) {
        fz_buf_append_str(out, FZ_STR(".0")); // "-0" is read as the integer 0
    }
}

static void print_primitive(const fz_column *column, int64_t row, fz_buf *out) {
    fz_value value;
    fz_column_value(column, row, &value);
    switch (value.kind) {
    case FZ_TYPE_BOOLEAN:
    case FZ_TYPE_INT:
        fz_value_format(&value, &column->field->type, out);
        break;
    case FZ_TYPE_LONG:
        if (value.as.integer >= -SAFE_INTEGER && value.as.integer <= SAFE_INTEGER) {
            fz_buf_printf(out, "%lld", (long long)value.as.integer);
        } else {
            fz_buf_printf(out, "\"%lld\"", (long long)value.as.integer);
        }
        break;
    case FZ_TYPE_FLOAT:
        print_real((double)value.as.real32, out);
        break;
    case FZ_TYPE_DOUBLE:
        print_real(value.as.real64, out);
        break;
    case FZ_TYPE_STRING:
        fz_scan_print_json_text(value.as.bytes, out);
        break;
    default: // none of their texts needs escapes
        fz_buf_append_byte(out, '"');
        fz_value_format(&value, &column->field->type, out);
        fz_buf_append_byte(out, '"');
        break;
    }
}

static void print_struct(const fz_column *column, int64_t row, fz_buf *out) {
    fz_buf_append_byte(out, '{');
    for (size_t i = 0; i < column->child_count; i++) {
        if (i) {
            fz_buf_append_byte(out, ',');
        }
        fz_scan_print_json_text(column->children[i].field->name, out);
        fz_buf_append_byte(out, ':');
        fz_scan_print_json(&column->children[i], row, out);
    }
    fz_buf_append_byte(out, '}');
}

static void print_list(const fz_column *column, int64_t row, fz_buf *out) {
    int64_t first = column->offsets[row];
    fz_buf_append_byte(out, '[');
    for (int64_t i = first; i < column->offsets[row + 1]; i++) {
        if (i > first) {
            fz_buf_append_byte(out, ',');
        }
        fz_scan_print_json(&column->children[0], i, out);
    }
    fz_buf_append_byte(out, ']');
}

typedef struct map_key {
    fz_value value;
    fz_str text; // of a key that is no primitive
    int64_t item;
} map_key;

static int compare_keys(const void *a, const void *b) {
    const map_key *x = (const map_key *)a;
    const map_key *y = (const map_key *)b;
    int order =
        x->text.data ? fz_str_compare(x->text, y->text) : fz_value_compare(&x->value, &y->value);
    // Equal keys should not be; if they are, their order stays.
    return order ? order : (x->item > y->item) - (x->item < y->item);
}

static void print_map(const fz_column *column, int64_t row, fz_buf *out) {
    const fz_column *keys = &column->children[0];
    int64_t first = column->offsets[row];
    size_t count = (size_t)(column->offsets[row + 1] - first);
    bool nested = fz_type_is_nested(&keys->field->type);
    map_key *sorted = (map_key *)fz_calloc(count + 1, sizeof(map_key));
    fz_arena arena = {0};
    for (size_t i = 0; i < count; i++) {
        sorted[i].item = first + (int64_t)i;
        if (nested) {
            fz_buf text = {0};
            fz_scan_print_json(keys, sorted[i].item, &text);
            sorted[i].text = fz_arena_str(&arena, fz_buf_view(&text));
            fz_buf_deinit(&text);
        } else {
            fz_column_value(keys, sorted[i].item, &sorted[i].value);
        }
    }
    if (count > 1) {
        qsort(sorted, count, sizeof(map_key), compare_keys);
    }
    fz_buf_append_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        fz_buf_append_str(out, i ? FZ_STR(",[") : FZ_STR("["));
        fz_scan_print_json(keys, sorted[i].item, out);
        fz_buf_append_byte(out, ',');
        fz_scan_print_json(&column->children[1], sorted[i].item, out);
        fz_buf_append_byte(out, ']');
    }
    fz_buf_append_byte(out, ']');
    fz_arena_deinit(&arena);
    fz_free(sorted);
}

void fz_scan_print_json(const fz_column *column, int64_t row, fz_buf *out) {
    if (fz_column_is_null(column, row)) {
        fz_buf_append_str(out, FZ_STR("null"));
        return;
    }
    switch (column->field->type.kind) {
    case FZ_TYPE_STRUCT:
        print_struct(column, row, out);
        break;
    case FZ_TYPE_LIST:
        print_list(column, row, out);
        break;
    case FZ_TYPE_MAP:
        print_map(column, row, out);
        break;
    default:
        print_primitive(column, row, out);
        break;
    }
}
