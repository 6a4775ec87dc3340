// SPDX-License-Identifier: Apache-2.0
// Decodes Avro records for a script that asks line by line: verdict, and the row as JSON.
//
// Standard input: "S SCHEMA" (JSON on one line) sets the writer's schema, "R HEX" is a payload
// without frame. Each line is answered by one: "ok" with the row for R, or "error KIND OFFSET
// TEXT".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "format/avro/schema.h"
#include "table/scan/print.h"

#define ROWS_KEPT                                                                                  \
    64 // rows of a batch, so that appends happen behind other rows and behind undone ones

typedef struct avro_rows {
    fz_writer_schema *writer;
    fz_schema *shape;
    fz_decoder *decoder;
    fz_batch *batch;
} avro_rows;

static void print_error(const fz_err *err) {
    printf("error %s %lld %.*s\n", err->kind ? err->kind : "none", (long long)err->offset,
           (int)strcspn(err->text, "\n"), err->text);
}

static void close_schema(avro_rows *r) {
    fz_decoder_free(r->decoder);
    fz_batch_free(r->batch);
    fz_schema_unref(r->shape);
    fz_writer_schema_free(r->writer);
    *r = (avro_rows){0};
}

static fz_code open_schema(avro_rows *r, fz_str text, fz_err *err) {
    fz_mapping_options options = {.format_version = 3};
    int32_t last_id = 0;
    FZ_TRY(fz_avro_schema_new(text, NULL, 0, NULL, &r->writer, err));
    FZ_TRY(fz_writer_schema_shape(r->writer, &options, NULL, &r->shape, err));
    fz_type_assign_ids(&r->shape->root, &last_id);
    bool *owned = fz_calloc(r->shape->root.field_count + 1, sizeof(bool));
    memset(owned, 1, r->shape->root.field_count);
    fz_code code = fz_decoder_open(r->writer, r->shape, r->shape, owned, &r->decoder, err);
    fz_free(owned);
    FZ_TRY(code);
    r->batch = fz_batch_new(r->shape, NULL);
    return FZ_OK;
}

static void print_row(const fz_batch *batch, int64_t row) {
    fz_buf out = {0};
    for (size_t i = 0; i < batch->column_count; i++) {
        fz_buf_append_str(&out, i ? FZ_STR(",") : FZ_STR(""));
        json_t *name = fz_json_string(batch->columns[i].field->name);
        char *text = json_dumps(name, JSON_ENCODE_ANY);
        fz_buf_printf(&out, "%s:", text);
        free(text);
        json_decref(name);
        fz_scan_print_json(&batch->columns[i], row, &out);
    }
    printf("ok {%s}\n", fz_buf_cstr(&out));
    fz_buf_deinit(&out);
}

static void decode(avro_rows *r, fz_str hex) {
    fz_err err = {0};
    fz_buf bytes = {0};
    if (!r->batch || fz_hex_decode(&bytes, hex, &err) != FZ_OK) {
        printf("error usage -1 a payload in hex, after a schema\n");
        fz_buf_deinit(&bytes);
        return;
    }
    // A copy of exactly that size, so that a sanitizer sees a read behind it.
    uint8_t *data = malloc(bytes.size ? bytes.size : 1);
    if (!data) {
        abort();
    }
    if (bytes.size) {
        memcpy(data, bytes.data, bytes.size);
    }
    if (r->batch->rows == ROWS_KEPT) {
        fz_batch_reset(r->batch);
    }
    if (fz_decoder_decode(r->decoder, data, bytes.size, r->batch, &err) == FZ_OK) {
        r->batch->rows++;
        print_row(r->batch, r->batch->rows - 1);
    } else {
        fz_batch_truncate(r->batch, r->batch->rows);
        print_error(&err);
    }
    free(data);
    fz_buf_deinit(&bytes);
}

int main(void) {
    avro_rows r = {0};
    char *line = NULL;
    size_t size = 0;
    for (ssize_t got; (got = getline(&line, &size, stdin)) > 0;) {
        fz_str text = fz_str_trim(fz_str_make(line, (size_t)got));
        fz_str rest = fz_str_slice(text, text.size < 2 ? text.size : 2, text.size);
        fz_err err = {0};
        if (text.size > 0 && text.data[0] == 'S') {
            close_schema(&r);
            if (open_schema(&r, rest, &err) == FZ_OK) {
                printf("ok\n");
            } else {
                print_error(&err);
                close_schema(&r);
            }
        } else {
            decode(&r, rest);
        }
        fflush(stdout);
    }
    close_schema(&r);
    free(line);
    return 0;
}
