// SPDX-License-Identifier: Apache-2.0
// The tests of every decoder; the table of each is made from the schema's own shape.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "conformance/decoder_suite.h"

#include "base/memory.h"

#define EXTRA 4 // columns that a table may have besides: see extend()

static const decoder_suite *suite;

// A schema, its shape, a table and a decoder onto it.
typedef struct bench {
    fz_writer_schema *schema;
    fz_schema *shape;
    fz_schema *table;
    fz_decoder *decoder;
    bool *owned;
    size_t own; // columns of the shape; the extra ones come behind
} bench;

// --- tables ---

static void shape(bench *b) {
    fz_mapping_options options = {.format_version = 3, .recursive_json = true};
    fz_err err = {0};
    *b = (bench){.schema = suite->open()};
    assert_non_null(b->schema);
    if (fz_writer_schema_shape(b->schema, &options, NULL, &b->shape, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    b->own = b->shape->root.field_count;
}

static void bind(fz_type *from, const fz_type *to) {
    for (size_t i = 0; i < from->field_count; i++) {
        from->fields[i].id = to->fields[i].id;
        bind(&from->fields[i].type, &to->fields[i].type);
    }
}

// Columns that no record fills: a null, two with a write default, and one that is not the
// decoder's.
static void extend(fz_field *to) {
    to[0] = (fz_field){.name = FZ_STR("none"), .type = {.kind = FZ_TYPE_LONG}};
    to[1] = (fz_field){.name = FZ_STR("text"),
                       .type = {.kind = FZ_TYPE_STRING},
                       .initial_default = FZ_STR("\"old\""),
                       .write_default = FZ_STR("\"new\"")};
    to[2] = (fz_field){.name = FZ_STR("number"),
                       .type = {.kind = FZ_TYPE_INT},
                       .required = true,
                       .initial_default = FZ_STR("1"),
                       .write_default = FZ_STR("7")};
    to[3] =
        (fz_field){.name = FZ_STR("callers"), .type = {.kind = FZ_TYPE_DOUBLE}, .required = true};
}

static void make_table(bench *b, size_t extra) {
    b->table = fz_schema_new();
    fz_type *root = &b->table->root;
    fz_arena *arena = &b->table->arena;
    *root = fz_type_copy(arena, &b->shape->root);
    fz_field *fields = FZ_ARENA_ARRAY(arena, fz_field, b->own + EXTRA);
    memcpy(fields, root->fields, b->own * sizeof *fields);
    extend(fields + b->own);
    root->fields = fields;
    root->field_count = b->own + extra;
    int32_t last = 0;
    fz_type_assign_ids(root, &last);
    fz_schema_finish(b->table);
    b->owned = (bool *)fz_calloc(root->field_count + 1, sizeof(bool));
    for (size_t i = 0; i < root->field_count; i++) {
        b->owned[i] = i < b->own + EXTRA - 1;
    }
}

static void open_decoder(bench *b) {
    fz_err err = {0};
    if (fz_decoder_open(b->schema, b->shape, b->table, b->owned, &b->decoder, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
}

static void start(bench *b, size_t extra) {
    shape(b);
    make_table(b, extra);
    bind(&b->shape->root, &b->table->root);
    open_decoder(b);
}

static void stop(bench *b) {
    fz_decoder_free(b->decoder);
    fz_schema_unref(b->table);
    fz_schema_unref(b->shape);
    fz_writer_schema_free(b->schema);
    fz_free(b->owned);
}

// --- batches ---

static int64_t items(const fz_column *column) {
    return column->offsets && column->length ? column->offsets[column->length] : 0;
}

// Lengths, offsets and counts of nulls fit together, at every depth.
static void assert_whole(const fz_column *column, int64_t length) {
    assert_int_equal(column->length, length);
    int64_t nulls = 0;
    for (int64_t i = 0; i < length; i++) {
        nulls += fz_column_is_null(column, i);
    }
    assert_int_equal(column->null_count, nulls);
    if (column->field->required) {
        assert_null(column->validity);
    }
    switch (column->field->type.kind) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        assert_int_equal(column->data_size, items(column));
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        for (size_t i = 0; i < column->child_count; i++) {
            assert_whole(&column->children[i],
                         column->field->type.kind == FZ_TYPE_STRUCT ? length : items(column));
        }
        break;
    default:
        break;
    }
}

static void assert_batch(const bench *b, const fz_batch *batch) {
    for (size_t i = 0; i < batch->column_count; i++) {
        assert_whole(&batch->columns[i], b->owned[i] ? batch->rows : 0);
    }
}

static void assert_same(const fz_column *x, int64_t i, const fz_column *y, int64_t j);

static void assert_same_items(const fz_column *x, int64_t i, const fz_column *y, int64_t j) {
    int32_t count = x->offsets[i + 1] - x->offsets[i];
    assert_int_equal(count, y->offsets[j + 1] - y->offsets[j]);
    for (size_t c = 0; c < x->child_count; c++) {
        for (int32_t k = 0; k < count; k++) {
            assert_same(&x->children[c], x->offsets[i] + k, &y->children[c], y->offsets[j] + k);
        }
    }
}

static void assert_same(const fz_column *x, int64_t i, const fz_column *y, int64_t j) {
    assert_int_equal(fz_column_is_null(x, i), fz_column_is_null(y, j));
    if (fz_column_is_null(x, i)) {
        return;
    }
    const uint8_t *a = (const uint8_t *)x->values;
    const uint8_t *b = (const uint8_t *)y->values;
    switch (x->field->type.kind) {
    case FZ_TYPE_STRUCT:
        for (size_t c = 0; c < x->child_count; c++) {
            assert_same(&x->children[c], i, &y->children[c], j);
        }
        break;
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        assert_same_items(x, i, y, j);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        assert_true(fz_str_equal(fz_column_bytes(x, i), fz_column_bytes(y, j)));
        break;
    case FZ_TYPE_BOOLEAN:
        assert_int_equal(a[i >> 3] >> (i & 7) & 1, b[j >> 3] >> (j & 7) & 1);
        break;
    default:
        assert_true(x->width > 0);
        assert_memory_equal(a + i * x->width, b + j * x->width, (size_t)x->width);
        break;
    }
}

static void assert_row(const fz_batch *x, int64_t i, const fz_batch *y, int64_t j) {
    for (size_t c = 0; c < x->column_count; c++) {
        if (x->columns[c].length > 0) { // else the caller's
            assert_same(&x->columns[c], i, &y->columns[c], j);
        }
    }
}

// --- records ---

static size_t good_count(void) {
    size_t count = 0;
    while (count < FZ_COUNT(suite->good) && suite->good[count].bytes) {
        count++;
    }
    assert_true(count >= 2);
    return count;
}

// A row, or an error after which the batch is cut back and whole.
static fz_code decode(const bench *b, const char *bytes, size_t size, fz_batch *batch,
                      fz_err *err) {
    uint8_t *copy = (uint8_t *)fz_alloc(size); // exactly as large, for sanitizers
    if (size) {
        memcpy(copy, bytes, size);
    }
    fz_err own = {0};
    fz_code code = fz_decoder_decode(b->decoder, copy, size, batch, err ? err : &own);
    memset(copy, 0xAA, size); // nothing is borrowed
    fz_free(copy);
    if (code == FZ_OK) {
        batch->rows++;
    } else {
        fz_batch_truncate(batch, batch->rows);
    }
    assert_batch(b, batch);
    return code;
}

static void decode_good(const bench *b, size_t which, fz_batch *batch) {
    fz_err err = {0};
    const decoder_record *r = &suite->good[which];
    if (decode(b, r->bytes, r->size, batch, &err) != FZ_OK) {
        fail_msg("record %zu: %s", which, err.text);
    }
}

static fz_batch *all_good(const bench *b) {
    fz_batch *batch = fz_batch_new(b->table, NULL);
    for (size_t i = 0; i < good_count(); i++) {
        decode_good(b, i, batch);
    }
    return batch;
}

static void refuse(const bench *b, const decoder_record *r, fz_batch *batch) {
    int64_t rows = batch->rows;
    fz_err err = {0};
    assert_int_equal(decode(b, r->bytes, r->size, batch, &err), FZ_CORRUPT);
    assert_int_equal(err.code, FZ_CORRUPT);
    assert_non_null(err.kind);
    if (r->kind) {
        assert_string_equal(err.kind, r->kind);
    }
    assert_true(err.text[0] != 0);
    assert_int_equal(batch->rows, rows);
}

// --- tests ---

static void assert_unbound(const fz_type *type) {
    for (size_t i = 0; i < type->field_count; i++) {
        assert_int_equal(type->fields[i].id, 0);
        assert_unbound(&type->fields[i].type);
    }
}

static void test_shape(void **state) {
    (void)state;
    bench a;
    bench b;
    shape(&a);
    shape(&b);
    assert_true(a.own > 0);
    assert_unbound(&a.shape->root);
    assert_true(fz_type_equal(&a.shape->root, &b.shape->root));
    for (size_t i = 0; i < a.own; i++) {
        assert_true(a.shape->root.fields[i].name.size > 0);
        for (size_t j = 0; j < i; j++) {
            assert_false(
                fz_str_equal(a.shape->root.fields[i].identity, a.shape->root.fields[j].identity));
        }
    }
    stop(&a);
    stop(&b);
}

static void test_all_bound(void **state) {
    (void)state;
    bench b;
    start(&b, 0);
    fz_batch *batch = all_good(&b);
    assert_int_equal(batch->rows, good_count());
    for (size_t i = 0; i < FZ_COUNT(suite->bad) && suite->bad[i].bytes; i++) {
        refuse(&b, &suite->bad[i], batch);
    }
    fz_batch_free(batch);
    stop(&b);
}

static void test_none_bound(void **state) {
    (void)state;
    bench b;
    shape(&b);
    make_table(&b, EXTRA);
    for (size_t i = 0; i < b.own; i++) {
        b.table->root.fields[i].required = false;
    }
    open_decoder(&b);
    fz_batch *batch = all_good(&b);
    for (size_t i = 0; i < b.own; i++) {
        assert_int_equal(batch->columns[i].null_count, batch->rows);
    }
    if (!suite->open_ended) { // what is skipped has an end too
        const decoder_record *r = &suite->good[0];
        refuse(&b, &(decoder_record){r->bytes, r->size - 1, NULL}, batch);
    }
    fz_batch_free(batch);
    fz_decoder_free(b.decoder);
    b.decoder = NULL;
    fz_err err = {0};
    b.table->root.fields[0].required = true; // nothing to put there
    assert_int_equal(fz_decoder_open(b.schema, b.shape, b.table, b.owned, &b.decoder, &err),
                     FZ_UNSUPPORTED);
    assert_string_equal(err.kind, "schema_incompatible");
    assert_null(b.decoder);
    stop(&b);
}

static void test_extra_columns(void **state) {
    (void)state;
    bench plain;
    bench b;
    start(&plain, 0);
    start(&b, EXTRA);
    fz_batch *want = all_good(&plain);
    fz_batch *batch = all_good(&b);
    const fz_column *extra = batch->columns + b.own;
    for (int64_t row = 0; row < batch->rows; row++) {
        assert_row(want, row, batch, row);
        assert_true(fz_column_is_null(&extra[0], row));
        assert_true(fz_str_equal(fz_column_bytes(&extra[1], row), FZ_STR("new")));
        assert_int_equal(((const int32_t *)extra[2].values)[row], 7);
    }
    assert_int_equal(extra[3].length, 0);
    fz_batch_free(want);
    fz_batch_free(batch);
    stop(&plain);
    stop(&b);
}

static void test_same_bytes_same_row(void **state) {
    (void)state;
    bench b;
    start(&b, EXTRA);
    fz_decoder *first = b.decoder;
    fz_batch *batch = all_good(&b);
    open_decoder(&b); // a second one, by turns with the first
    fz_decoder *both[] = {first, b.decoder};
    int64_t count = batch->rows;
    fz_batch *other = fz_batch_new(b.table, NULL);
    for (int64_t i = 0; i < 20 * count; i++) {
        b.decoder = both[i % 2];
        decode_good(&b, (size_t)(i % count), batch);
        assert_row(batch, i % count, batch, count + i);
        decode_good(&b, (size_t)(i % count), other); // one decoder, two batches
        assert_row(batch, i % count, other, i);
    }
    fz_batch_free(other);
    fz_batch_free(batch);
    fz_decoder_free(first);
    b.decoder = both[1];
    stop(&b);
}

// Every part of a record and every record with a byte changed: an error leaves no trace.
static void test_failures_leave_no_trace(void **state) {
    (void)state;
    bench b;
    start(&b, EXTRA);
    fz_batch *want = all_good(&b);
    fz_batch *batch = all_good(&b);
    int64_t count = want->rows;
    for (size_t i = 0; i < (size_t)count; i++) {
        const decoder_record *r = &suite->good[i];
        char *bytes = (char *)fz_alloc(r->size);
        for (size_t at = 0; at < 2 * r->size; at++) {
            memcpy(bytes, r->bytes, r->size);
            size_t size = at < r->size ? at : r->size;
            if (size == r->size) {
                bytes[at - r->size] = (char)~bytes[at - r->size];
            }
            fz_err err = {0};
            fz_code code = decode(&b, bytes, size, batch, &err);
            if (code == FZ_OK) {
                assert_true(suite->open_ended || size == r->size);
                fz_batch_truncate(batch, --batch->rows);
            } else {
                assert_int_equal(code, FZ_CORRUPT);
                assert_non_null(err.kind);
            }
            assert_int_equal(batch->rows, count);
            decode_good(&b, i, batch);
            for (int64_t row = 0; row < count; row++) {
                assert_row(want, row, batch, row);
            }
            assert_row(want, (int64_t)i, batch, count);
            fz_batch_truncate(batch, --batch->rows);
        }
        fz_free(bytes);
    }
    fz_batch_free(batch);
    fz_batch_free(want);
    stop(&b);
}

static void test_empty_and_tail(void **state) {
    (void)state;
    bench b;
    start(&b, 0);
    fz_batch *batch = all_good(&b);
    if (suite->empty) {
        assert_int_equal(decode(&b, "", 0, batch, NULL), FZ_OK);
    } else {
        refuse(&b, &(decoder_record){"", 0, NULL}, batch);
    }
    if (!suite->open_ended) {
        const decoder_record *r = &suite->good[0];
        char *longer = (char *)fz_calloc(1, r->size + 1);
        memcpy(longer, r->bytes, r->size);
        refuse(&b, &(decoder_record){longer, r->size + 1, NULL}, batch);
        fz_free(longer);
    }
    fz_batch_free(batch);
    stop(&b);
}

static void test_reset_and_reuse(void **state) {
    (void)state;
    bench b;
    start(&b, EXTRA);
    fz_batch *want = all_good(&b);
    fz_batch *batch = all_good(&b);
    for (int round = 0; round < 3; round++) {
        fz_batch_reset(batch);
        assert_int_equal(batch->rows, 0);
        assert_batch(&b, batch);
        for (size_t i = good_count(); i-- > 0;) { // in another order than before
            decode_good(&b, i, batch);
            assert_row(want, (int64_t)i, batch, batch->rows - 1);
        }
    }
    fz_batch_free(want);
    fz_batch_free(batch);
    stop(&b);
}

// Grown until a budget of `limit` bytes is used up; false when `rows` fit.
static bool fills_up(const bench *b, const fz_batch *want, int64_t limit, int64_t rows) {
    fz_budget budget;
    fz_budget_init(&budget, limit);
    fz_batch *batch = fz_batch_new(b->table, &budget);
    fz_code code = FZ_OK;
    int64_t count = want->rows;
    for (int64_t i = 0; i < rows && code == FZ_OK; i++) {
        const decoder_record *r = &suite->good[i % count];
        fz_err err = {0};
        code = decode(b, r->bytes, r->size, batch, &err);
        if (code != FZ_OK) {
            assert_int_equal(code, FZ_LIMIT);
            assert_int_equal(err.code, FZ_LIMIT);
        }
    }
    for (int64_t row = 0; row < batch->rows; row++) {
        assert_row(want, row % count, batch, row);
    }
    assert_true(fz_budget_used(&budget) <= limit);
    if (code != FZ_OK && batch->rows > 0) { // the batch is handed on and used again
        fz_batch_reset(batch);
        decode_good(b, 0, batch);
        assert_row(want, 0, batch, 0);
    }
    fz_batch_free(batch);
    assert_int_equal(fz_budget_used(&budget), 0);
    return code != FZ_OK;
}

static void test_budget(void **state) {
    (void)state;
    bench b;
    start(&b, EXTRA);
    fz_batch *want = all_good(&b);
    int64_t limit = 1;
    int64_t limits = 0;
    for (; fills_up(&b, want, limit, 300); limit += limit / 32 + 1) {
        assert_true(limit < (1 << 24));
        limits++;
    }
    assert_true(limits > 10);
    fz_batch_free(want);
    stop(&b);
}

int decoder_suite_run(const decoder_suite *which) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shape),
        cmocka_unit_test(test_all_bound),
        cmocka_unit_test(test_none_bound),
        cmocka_unit_test(test_extra_columns),
        cmocka_unit_test(test_same_bytes_same_row),
        cmocka_unit_test(test_failures_leave_no_trace),
        cmocka_unit_test(test_empty_and_tail),
        cmocka_unit_test(test_reset_and_reuse),
        cmocka_unit_test(test_budget),
    };
    suite = which;
    return cmocka_run_group_tests_name(which->name, tests, NULL, NULL);
}
