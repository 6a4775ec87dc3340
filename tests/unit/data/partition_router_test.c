// SPDX-License-Identifier: Apache-2.0
// Routing rows to partitions: against the transforms of single values, over every type.
#include "data/transform.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define OK(call) assert_int_equal((call), FZ_OK)

static const struct {
    const char *type;
    const char *transforms[6];
} columns[] = {
    {"int", {"identity", "bucket[7]", "truncate[10]", "void"}},
    {"long", {"identity", "bucket[7]", "truncate[10]"}},
    {"boolean", {"identity"}},
    {"float", {"identity"}},
    {"double", {"identity"}},
    {"decimal(20, 2)", {"identity", "bucket[7]", "truncate[10]"}},
    {"date", {"identity", "bucket[7]", "year", "month", "day"}},
    {"time", {"identity", "bucket[7]"}},
    {"timestamp", {"year", "month", "day", "hour", "bucket[7]"}},
    {"timestamptz_ns", {"identity", "day", "hour", "bucket[7]"}},
    {"string", {"identity", "bucket[7]", "truncate[2]"}},
    {"binary", {"identity", "bucket[7]", "truncate[2]"}},
    {"fixed[3]", {"identity", "bucket[7]"}},
    {"uuid", {"identity", "bucket[7]"}},
};

// A schema with one optional struct "s" that holds every column (id 10...), so that nulls come from
// parents too.
static fz_schema *make_schema(void) {
    fz_schema *schema = fz_schema_new();
    schema->root.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, 1);
    schema->root.field_count = 1;
    fz_field *s = schema->root.fields;
    *s = (fz_field){.id = 1, .name = FZ_STR("s"), .type = {.kind = FZ_TYPE_STRUCT}};
    s->type.field_count = FZ_COUNT(columns);
    s->type.fields = FZ_ARENA_ARRAY(&schema->arena, fz_field, FZ_COUNT(columns));
    for (size_t i = 0; i < FZ_COUNT(columns); i++) {
        fz_field *field = &s->type.fields[i];
        *field = (fz_field){.id = 10 + (int32_t)i, .name = fz_str_from(columns[i].type)};
        field->required = i % 3 == 2;
        assert_true(fz_type_parse(field->name, &field->type));
    }
    fz_schema_finish(schema);
    return schema;
}

static void append_random(fz_column *column) {
    const fz_type *type = &column->field->type;
    int64_t value = rand() % 40 - 20;
    uint8_t bytes[16] = {(uint8_t)(rand() % 5), (uint8_t)(rand() % 2)};
    fz_err err;
    if (!column->field->required && rand() % 8 == 0) {
        OK(fz_column_append_null(column, &err));
        return;
    }
    switch (type->kind) {
    case FZ_TYPE_BOOLEAN:
        OK(fz_column_append_bool(column, value & 1, &err));
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        OK(fz_column_append_i32(column, (int32_t)value * 100, &err));
        break;
    case FZ_TYPE_FLOAT: {
        const float reals[] = {0.0f, -0.0f, NAN, -NAN, 1.5f, INFINITY};
        OK(fz_column_append_float(column, reals[rand() % 6], &err));
        break;
    }
    case FZ_TYPE_DOUBLE: {
        const double reals[] = {0.0, -0.0, (double)NAN, -(double)NAN, 1.5, -INFINITY};
        OK(fz_column_append_double(column, reals[rand() % 6], &err));
        break;
    }
    case FZ_TYPE_DECIMAL: {
        fz_i128 decimal = (fz_i128)value * 7;
        OK(fz_column_append_fixed(column, &decimal, &err));
        break;
    }
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        OK(fz_column_append_fixed(column, bytes, &err));
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        OK(fz_column_append_bytes(column, &"abcdefg"[rand() % 3], (size_t)rand() % 5, &err));
        break;
    default:
        OK(fz_column_append_i64(column, value * INT64_C(1800000000), &err));
        break;
    }
}

static fz_batch *make_rows(fz_schema *schema, int rows) {
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_column *s = batch->columns;
    fz_err err;
    for (int row = 0; row < rows; row++) {
        if (rand() % 10 == 0) {
            OK(fz_column_append_null(s, &err));
        } else {
            for (size_t i = 0; i < s->child_count; i++) {
                append_random(&s->children[i]);
            }
            OK(fz_column_append_struct(s, &err));
        }
        batch->rows++;
    }
    return batch;
}

static bool same(const fz_value *a, const fz_value *b) {
    if (a->is_null || b->is_null) {
        return a->is_null == b->is_null && a->kind == b->kind;
    }
    return fz_value_compare(a, b) == 0;
}

// What a row's value in a partition field must be, by the transform of single values.
static fz_value expected(fz_batch *batch, const fz_partition_field *field, int64_t row) {
    const fz_column *s = batch->columns;
    const fz_column *column = fz_batch_find(batch, field->source_id);
    fz_value value = {.kind = column->field->type.kind, .is_null = true};
    fz_value out;
    if (!fz_column_is_null(s, row)) {
        fz_column_value(column, row, &value);
    }
    OK(fz_transform_apply(field->transform, &column->field->type, &value, &out, NULL));
    return out;
}

static void check_spec(fz_batch *batch, fz_partition_field *fields, size_t count) {
    fz_partition_spec spec = {.fields = fields, .field_count = count};
    fz_partition_router *router = NULL;
    fz_err err;
    OK(fz_partition_router_new(&spec, batch, &router, &err));
    uint32_t *groups = (uint32_t *)calloc((size_t)batch->rows, sizeof(uint32_t));
    int64_t first = batch->rows / 3; // two calls, the second over more than one chunk
    OK(fz_partition_router_route(router, 0, first, groups, &err));
    OK(fz_partition_router_route(router, first, batch->rows - first, groups + first, &err));
    size_t seen = 0;
    for (int64_t row = 0; row < batch->rows; row++) {
        assert_true(groups[row] <= seen); // numbered as they come
        seen += groups[row] == seen;
        const fz_value *tuple = fz_partition_router_tuple(router, groups[row]);
        for (size_t i = 0; i < count; i++) {
            fz_value want = expected(batch, &fields[i], row);
            if (!same(&want, &tuple[i])) {
                fail_msg("row %lld, field %zu", (long long)row, i);
            }
        }
    }
    assert_int_equal(seen, fz_partition_router_count(router));
    // no two groups have the same tuple
    for (uint32_t a = 0; a < seen && a < 100; a++) {
        for (uint32_t b = 0; b < a; b++) {
            size_t equal = 0;
            for (size_t i = 0; i < count; i++) {
                equal += same(&fz_partition_router_tuple(router, a)[i],
                              &fz_partition_router_tuple(router, b)[i]);
            }
            assert_true(equal < count || count == 0);
        }
    }
    free(groups);
    fz_partition_router_free(router);
}

static fz_partition_field field_of(size_t column, const char *transform) {
    fz_partition_field field = {.source_id = 10 + (int32_t)column, .name = FZ_STR("p")};
    field.transform = fz_transform_parse(fz_str_from(transform));
    assert_true(fz_type_parse(fz_str_from(columns[column].type), &field.source_type));
    OK(fz_transform_result(field.transform, &field.source_type, &field.result_type, NULL));
    return field;
}

static void every_type_and_transform(void **state) {
    (void)state;
    srand(3);
    fz_schema *schema = make_schema();
    fz_batch *batch = make_rows(schema, 9000);
    fz_partition_field all[64];
    size_t count = 0;
    check_spec(batch, all, 0); // unpartitioned
    for (size_t i = 0; i < FZ_COUNT(columns); i++) {
        for (size_t k = 0; k < 6 && columns[i].transforms[k]; k++) {
            all[count] = field_of(i, columns[i].transforms[k]);
            check_spec(batch, &all[count], 1);
            count++;
        }
    }
    for (size_t i = 0; i + 3 <= count; i++) {
        check_spec(batch, &all[i], 3);
    }
    check_spec(batch, all, count);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

static void a_value_without_result_names_its_row(void **state) {
    (void)state;
    fz_schema *schema = make_schema();
    fz_batch *batch = make_rows(schema, 6000);
    fz_column *s = batch->columns;
    fz_column *timestamps = fz_batch_find(batch, 18);
    fz_partition_field field = field_of(8, "hour");
    fz_partition_spec spec = {.fields = &field, .field_count = 1};
    fz_partition_router *router = NULL;
    fz_err err;
    uint32_t groups[6000];
    int64_t bad = 5000;
    while (fz_column_is_null(s, bad) || fz_column_is_null(timestamps, bad)) {
        bad++;
    }
    ((int64_t *)timestamps->values)[bad] = INT64_MAX;
    OK(fz_partition_router_new(&spec, batch, &router, &err));
    assert_int_equal(fz_partition_router_route(router, 500, 5500, groups, &err), FZ_LIMIT);
    assert_int_equal(err.offset, bad);
    OK(fz_partition_router_route(router, 500, bad - 500, groups, &err));
    OK(fz_partition_router_route(router, bad + 1, 6000 - bad - 1, groups, &err));
    for (int64_t row = 4000; row < 6000; row++) {
        fz_code code = fz_partition_router_check(router, row, &err);
        assert_int_equal(code, row == bad ? FZ_LIMIT : FZ_OK);
        if (code != FZ_OK) {
            assert_memory_equal(err.text, "partition field \"", strlen("partition field \""));
        }
    }
    fz_partition_router_free(router);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

static void bad_specs_are_refused(void **state) {
    (void)state;
    fz_schema *schema = make_schema();
    fz_batch *batch = fz_batch_new(schema, NULL);
    fz_partition_router *router = NULL;
    fz_err err;
    fz_partition_field field = {.source_id = 99, .name = FZ_STR("gone")};
    fz_partition_spec spec = {.fields = &field, .field_count = 1};
    assert_int_equal(fz_partition_router_new(&spec, batch, &router, &err), FZ_INVALID);
    assert_non_null(strstr(err.text, "\"gone\""));
    field = (fz_partition_field){.source_id = 10, .transform = {.kind = FZ_TRANSFORM_UNKNOWN}};
    assert_int_equal(fz_partition_router_new(&spec, batch, &router, &err), FZ_UNSUPPORTED);
    field = (fz_partition_field){.source_id = 10, .transform = {.kind = FZ_TRANSFORM_DAY}};
    assert_int_equal(fz_partition_router_new(&spec, batch, &router, &err), FZ_UNSUPPORTED);
    assert_null(router);
    // a dropped source behind void is fine
    field = (fz_partition_field){.source_id = 99, .transform = {.kind = FZ_TRANSFORM_VOID}};
    OK(fz_partition_router_new(&spec, batch, &router, &err));
    fz_partition_router_free(router);
    fz_batch_free(batch);
    fz_schema_unref(schema);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_and_transform),
        cmocka_unit_test(a_value_without_result_names_its_row),
        cmocka_unit_test(bad_specs_are_refused),
    };
    return cmocka_run_group_tests_name("partition_router", tests, NULL, NULL);
}
