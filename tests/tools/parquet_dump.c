// SPDX-License-Identifier: Apache-2.0
// A Parquet file's own columns as JSON lines, for scripts that compare them with another reader's.
//
// usage: parquet_dump FILE
//
// First line: [[name, type]...], then one array a row: floats, texts and bytes as "x" and
// hexadecimal digits, decimals, dates and times as numbers, maps as lists of pairs. A file that
// cannot be read: exit 1, and on standard error the code's name and the text.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text/json.h"
#include "format/parquet/reader.h"
#include "unit/format/parquet/sample.h"

typedef struct file_source {
    fz_parquet_source source;
    int file;
} file_source;

static fz_code read_at(fz_parquet_source *source, int64_t at, size_t size, fz_buf *out,
                       fz_err *err) {
    // A block of exactly that size, so that a sanitizer sees a read behind it.
    uint8_t *block = malloc(size ? size : 1);
    FZ_ASSERT(block);
    ssize_t got = pread(((file_source *)source)->file, block, size, at);
    if (got == (ssize_t)size) {
        fz_buf_append(out, block, size);
    }
    free(block);
    return got == (ssize_t)size ? fz_buf_check(out, "the file", err)
                                : fz_err_set(err, FZ_IO, "short read");
}

static void print_columns(const fz_schema *schema) {
    json_t *columns = json_array();
    for (size_t i = 0; i < schema->root.field_count; i++) {
        const fz_field *field = &schema->root.fields[i];
        fz_buf type = {0};
        fz_type_format(&field->type, &type);
        json_array_append_new(columns,
                              json_pack("[os]", fz_json_string(field->name), fz_buf_cstr(&type)));
        fz_buf_deinit(&type);
    }
    char *text = json_dumps(columns, JSON_COMPACT);
    printf("%s\n", text);
    free(text);
    json_decref(columns);
}

static fz_code dump(fz_parquet_reader *reader, fz_err *err) {
    enum { STEP = 777 };
    fz_schema *schema = fz_parquet_reader_schema(reader);
    FZ_TRY(fz_parquet_reader_project(reader, schema, err));
    print_columns(schema);
    int64_t rows = 1, total = 0;
    fz_code code = FZ_OK;
    while (code == FZ_OK && rows > 0) {
        fz_batch *batch = fz_batch_new(schema, NULL);
        code = fz_parquet_reader_next(reader, batch, STEP, &rows, err);
        if (code == FZ_OK) {
            sample_dump_rows(stdout, batch);
            total += rows;
        }
        fz_batch_free(batch);
    }
    FZ_ASSERT(code != FZ_OK || total == fz_parquet_reader_rows(reader));
    return code;
}

int main(int argc, char **argv) {
    struct stat status;
    file_source source = {.source.read = read_at, .file = argc == 2 ? open(argv[1], O_RDONLY) : -1};
    if (source.file < 0 || fstat(source.file, &status) != 0) {
        fprintf(stderr, "usage: parquet_dump FILE\n");
        return 2;
    }
    source.source.size = status.st_size;
    fz_budget budget;
    fz_budget_init(&budget, INT64_C(1) << 30);
    fz_parquet_reader *reader = NULL;
    fz_err err = {0};
    fz_code code = fz_parquet_reader_open(&source.source, NULL, &budget, &reader, &err);
    if (code == FZ_OK) {
        code = dump(reader, &err);
    }
    fz_parquet_reader_free(reader);
    close(source.file);
    FZ_ASSERT(fz_budget_used(&budget) == 0);
    if (code != FZ_OK) {
        fprintf(stderr, "%s: %s\n", fz_code_name(code), fz_err_text(&err));
        return 1;
    }
    return 0;
}
