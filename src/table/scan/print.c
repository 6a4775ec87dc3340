// SPDX-License-Identifier: Apache-2.0
// Printing rows: JSON lines, CSV and aligned text.
#include "table/scan/print.h"

#include "base/vec.h"
#include "data/transform.h"
#include "table/scan/print_cell.h"

// The first rows of text are held back, since they decide the widths: at most so many, and so many
// bytes.
#define HELD_ROWS 1000
#define HELD_BYTES ((size_t)1 << 22)

struct fz_scan_printer {
    fz_scan_format format;
    fz_schema *schema;
    bool started;   // names are out
    size_t *widths; // characters a column, of text
    fz_buf cell;
    fz_buf held;         // cells of text
    FZ_VEC(size_t) ends; // of the cells in it
};

fz_scan_printer *fz_scan_printer_new(fz_scan_format format, fz_schema *schema) {
    fz_scan_printer *printer = (fz_scan_printer *)fz_calloc(1, sizeof(*printer));
    printer->format = format;
    printer->schema = fz_schema_ref(schema);
    printer->widths = (size_t *)fz_calloc(schema->root.field_count + 1, sizeof(size_t));
    return printer;
}

void fz_scan_printer_free(fz_scan_printer *printer) {
    if (printer) {
        fz_schema_unref(printer->schema);
        fz_free(printer->widths);
        fz_buf_deinit(&printer->cell);
        fz_buf_deinit(&printer->held);
        fz_vec_deinit(&printer->ends);
        fz_free(printer);
    }
}

// Text of one cell in printer->cell, not escaped for its format; nested values as JSON.
static fz_str format_cell(fz_scan_printer *printer, const fz_column *column, int64_t row) {
    fz_buf_reset(&printer->cell);
    if (fz_type_is_nested(&column->field->type)) {
        fz_scan_print_json(column, row, &printer->cell);
    } else {
        fz_value value;
        fz_column_value(column, row, &value);
        fz_value_format(&value, &column->field->type, &printer->cell);
    }
    return fz_buf_view(&printer->cell);
}

// --- JSON lines ---

static void json_row(const fz_batch *batch, int64_t row, fz_buf *out) {
    for (size_t i = 0; i < batch->column_count; i++) {
        fz_buf_append_byte(out, i ? ',' : '{');
        fz_scan_print_json_text(batch->columns[i].field->name, out);
        fz_buf_append_byte(out, ':');
        fz_scan_print_json(&batch->columns[i], row, out);
    }
    fz_buf_append_str(out, batch->column_count ? FZ_STR("}\n") : FZ_STR("{}\n"));
}

// --- CSV ---

static void csv_cell(fz_str text, fz_buf *out) {
    bool quote = text.size == 0; // nothing at all is null
    for (size_t i = 0; i < text.size && !quote; i++) {
        char c = text.data[i];
        quote = c == '"' || c == ',' || c == '\n' || c == '\r';
    }
    // White space at the ends is lost by some readers unless quoted.
    quote = quote || text.data[0] == ' ' || text.data[text.size - 1] == ' ';
    if (!quote) {
        fz_buf_append_str(out, text);
        return;
    }
    fz_buf_append_byte(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '"') {
            fz_buf_append_byte(out, '"');
        }
        fz_buf_append_byte(out, (uint8_t)text.data[i]);
    }
    fz_buf_append_byte(out, '"');
}

static void csv_names(fz_scan_printer *printer, fz_buf *out) {
    const fz_type *root = &printer->schema->root;
    for (size_t i = 0; i < root->field_count; i++) {
        fz_buf_append_str(out, i ? FZ_STR(",") : FZ_STR(""));
        csv_cell(root->fields[i].name, out);
    }
    fz_buf_append_str(out, FZ_STR("\r\n"));
}

static void csv_row(fz_scan_printer *printer, const fz_batch *batch, int64_t row, fz_buf *out) {
    for (size_t i = 0; i < batch->column_count; i++) {
        const fz_column *column = &batch->columns[i];
        fz_buf_append_str(out, i ? FZ_STR(",") : FZ_STR(""));
        if (!fz_column_is_null(column, row)) {
            csv_cell(format_cell(printer, column, row), out);
        }
    }
    fz_buf_append_str(out, FZ_STR("\r\n"));
}

// --- aligned text ---

static size_t characters(fz_str text) {
    size_t count = 0;
    for (size_t i = 0; i < text.size; i++) {
        count += ((uint8_t)text.data[i] & 0xc0) != 0x80;
    }
    return count;
}

// Text that keeps its line and cannot steer a terminal, in printer->cell.
static fz_str text_cell(fz_scan_printer *printer, fz_str text, bool json) {
    size_t size = text.size;
    fz_buf *cell = &printer->cell;
    if (text.data != (const char *)cell->data) {
        fz_buf_reset(cell);
        fz_buf_append_str(cell, text);
    }
    // The escaped form is put behind the plain one, which is then left out.
    for (size_t i = 0; i < size && !cell->failed; i++) {
        uint8_t byte = cell->data[i];
        bool c1 = byte == 0xc2 && i + 1 < size && cell->data[i + 1] < 0xa0; // U+0080 to U+009F
        if (c1) {
            fz_buf_printf(cell, "\\x%02x", cell->data[++i]);
        } else if (byte == '\\' && !json) {
            fz_buf_append_str(cell, FZ_STR("\\\\"));
        } else if (byte == '\n') {
            fz_buf_append_str(cell, FZ_STR("\\n"));
        } else if (byte == '\t') {
            fz_buf_append_str(cell, FZ_STR("\\t"));
        } else if (byte < 0x20 || byte == 0x7f) {
            fz_buf_printf(cell, "\\x%02x", byte);
        } else {
            fz_buf_append_byte(cell, byte);
        }
    }
    return cell->failed ? (fz_str){0} : fz_str_slice(fz_buf_view(cell), size, cell->size);
}

static fz_str text_of(fz_scan_printer *printer, const fz_column *column, int64_t row) {
    return text_cell(printer, format_cell(printer, column, row),
                     fz_type_is_nested(&column->field->type));
}

static bool is_number(const fz_type *type) {
    return type->kind >= FZ_TYPE_INT && type->kind <= FZ_TYPE_DECIMAL;
}

static void pad(fz_buf *out, size_t width, size_t used, uint8_t byte) {
    for (; used < width; used++) {
        fz_buf_append_byte(out, byte);
    }
}

static void text_put(fz_str text, size_t width, bool right, bool last, fz_buf *out) {
    size_t used = characters(text);
    if (right) {
        pad(out, width, used, ' ');
    }
    fz_buf_append_str(out, text);
    if (!right && !last) {
        pad(out, width, used, ' ');
    }
}

// A cell with what stands before it; the last one ends the line.
static void text_cell_put(fz_scan_printer *printer, fz_str text, size_t column, fz_buf *out) {
    const fz_type *root = &printer->schema->root;
    bool last = column + 1 == root->field_count;
    fz_buf_append_str(out, column ? FZ_STR("  ") : FZ_STR(""));
    text_put(text, printer->widths[column], is_number(&root->fields[column].type), last, out);
    if (last) {
        fz_buf_append_byte(out, '\n');
    }
}

static void text_names(fz_scan_printer *printer, fz_buf *out) {
    const fz_type *root = &printer->schema->root;
    for (size_t i = 0; i < root->field_count; i++) {
        text_cell_put(printer, text_cell(printer, root->fields[i].name, false), i, out);
    }
    for (size_t i = 0; i < root->field_count; i++) {
        fz_buf_append_str(out, i ? FZ_STR("  ") : FZ_STR(""));
        pad(out, printer->widths[i], 0, '-');
    }
    fz_buf_append_byte(out, '\n');
}

// Names and what was held back, now that widths are known.
static void text_release(fz_scan_printer *printer, fz_buf *out) {
    const fz_type *root = &printer->schema->root;
    size_t columns = root->field_count;
    for (size_t i = 0; i < columns; i++) {
        printer->widths[i] = characters(text_cell(printer, root->fields[i].name, false));
    }
    size_t at = 0;
    for (size_t i = 0; i < printer->ends.count; i++) {
        size_t end = printer->ends.data[i];
        size_t used = characters(fz_str_slice(fz_buf_view(&printer->held), at, end));
        size_t *width = &printer->widths[i % columns];
        *width = used > *width ? used : *width;
        at = end;
    }
    text_names(printer, out);
    at = 0;
    for (size_t i = 0; i < printer->ends.count; i++) {
        size_t end = printer->ends.data[i];
        text_cell_put(printer, fz_str_slice(fz_buf_view(&printer->held), at, end), i % columns,
                      out);
        at = end;
    }
    printer->started = true;
    fz_buf_deinit(&printer->held);
    fz_vec_deinit(&printer->ends);
}

static void text_row(fz_scan_printer *printer, const fz_batch *batch, int64_t row, fz_buf *out) {
    for (size_t i = 0; i < batch->column_count; i++) {
        fz_str text = text_of(printer, &batch->columns[i], row);
        if (printer->started) {
            text_cell_put(printer, text, i, out);
        } else {
            fz_buf_append_str(&printer->held, text);
            fz_vec_push(&printer->ends, printer->held.size);
        }
    }
    if (!printer->started && (printer->ends.count >= HELD_ROWS * batch->column_count ||
                              printer->held.size >= HELD_BYTES)) {
        text_release(printer, out);
    }
}

// --- all of them ---

static void csv_start(fz_scan_printer *printer, fz_buf *out) {
    if (!printer->started) {
        printer->started = true;
        csv_names(printer, out);
    }
}

void fz_scan_printer_rows(fz_scan_printer *printer, const fz_batch *batch, int64_t from,
                          int64_t count, fz_buf *out) {
    for (int64_t row = from; row < from + count; row++) {
        switch (printer->format) {
        case FZ_SCAN_JSON:
            json_row(batch, row, out);
            break;
        case FZ_SCAN_CSV:
            csv_start(printer, out);
            csv_row(printer, batch, row, out);
            break;
        case FZ_SCAN_TEXT:
            text_row(printer, batch, row, out);
            break;
        }
    }
}

void fz_scan_printer_finish(fz_scan_printer *printer, fz_buf *out) {
    if (printer->format == FZ_SCAN_CSV) {
        csv_start(printer, out);
    } else if (printer->format == FZ_SCAN_TEXT && !printer->started) {
        text_release(printer, out);
    }
}
