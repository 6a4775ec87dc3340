// SPDX-License-Identifier: Apache-2.0
// Runs the Avro families of tests/cases through shape, open and decode.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/memory.h"
#include "format/avro/schema.h"
#include "unit/format/row_compare.h"

#define MAX_SCHEMAS 16

typedef struct writer {
    int64_t id;
    fz_writer_schema *schema;
    fz_schema *shape;
    fz_decoder *decoder;
    const char *kind; // of the error that keeps it from being opened
} writer;

typedef struct run {
    const json_t *c; // the case
    writer writers[MAX_SCHEMAS];
    size_t writer_count;
    fz_schema *target;
    fz_batch *batch;
    size_t failures;
    size_t records;
} run;

static void complain(run *r, const char *what, const char *detail) {
    if (r->failures++ < 5) {
        fprintf(stderr, "%s: %s %s\n", json_string_value(json_object_get(r->c, "id")), what,
                detail);
    }
}

// --- schemas ---

static void add_references(const json_t *schemas, const json_t *schema, fz_avro_reference *out,
                           size_t *count, bool *missing) {
    size_t i;
    size_t j;
    json_t *reference;
    json_t *other;
    json_array_foreach(json_object_get(schema, "references"), i, reference) {
        bool found = false;
        json_array_foreach(schemas, j, other) {
            if (json_equal(json_object_get(other, "subject"),
                           json_object_get(reference, "subject")) &&
                json_equal(json_object_get(other, "version"),
                           json_object_get(reference, "version"))) {
                found = true;
                add_references(schemas, other, out, count, missing);
                if (*count < MAX_SCHEMAS) {
                    out[(*count)++] = (fz_avro_reference){
                        .name = fz_json_view(json_object_get(reference, "name")),
                        .text = fz_json_view(json_object_get(other, "schema"))};
                }
                break;
            }
        }
        *missing = *missing || !found;
    }
}

// Parses and shapes every value schema; the kind of the first error, or NULL.
static const char *load_writers(run *r) {
    const json_t *schemas = json_object_get(r->c, "schemas");
    fz_mapping_options options = {.format_version = 3};
    size_t i;
    json_t *schema;
    json_array_foreach(schemas, i, schema) {
        if (strcmp(json_string_value(json_object_get(schema, "role")), "value") != 0) {
            continue;
        }
        fz_avro_reference references[MAX_SCHEMAS];
        size_t count = 0;
        bool missing = false;
        add_references(schemas, schema, references, &count, &missing);
        writer *w = &r->writers[r->writer_count++];
        w->id = json_integer_value(json_object_get(schema, "id"));
        fz_err err = {0};
        if (fz_avro_schema_new(fz_json_view(json_object_get(schema, "schema")), references, count,
                               NULL, &w->schema, &err) != FZ_OK ||
            fz_writer_schema_shape(w->schema, &options, NULL, &w->shape, &err) != FZ_OK) {
            if (!err.kind) {
                complain(r, "an error without a kind:", err.text);
            }
            return err.kind ? err.kind : "none";
        }
    }
    return NULL;
}

// --- columns ---

static const json_t *find_column(const json_t *columns, const json_t *path) {
    size_t i;
    json_t *column;
    json_array_foreach(columns, i, column) {
        if (json_equal(json_object_get(column, "path"), path)) {
            return column;
        }
    }
    return NULL;
}

// Compares a shape with the columns of the case; the number of fields met.
static size_t check_shape(run *r, const fz_type *type, const json_t *columns, const json_t *path) {
    size_t count = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        const fz_field *field = &type->fields[i];
        json_t *child = json_copy((json_t *)(uintptr_t)path);
        json_array_append_new(child, fz_json_string(field->name));
        const json_t *column = find_column(columns, child);
        char name[32];
        row_type_name(&field->type, name);
        if (!column) {
            complain(r, "column not wanted:", field->name.data);
        } else if (strcmp(name, json_string_value(json_object_get(column, "type"))) != 0 ||
                   field->required != json_is_true(json_object_get(column, "required"))) {
            complain(r, "column has another type:", field->name.data);
        }
        count += 1 + check_shape(r, &field->type, columns, child);
        json_decref(child);
    }
    return count;
}

// Children of the column at `path` (empty: the root), in the order of the case.
static void build_type(fz_arena *arena, const json_t *columns, const json_t *path, fz_type *out,
                       int32_t *last_id) {
    size_t depth = json_array_size(path);
    fz_field *fields = FZ_ARENA_ARRAY(arena, fz_field, json_array_size(columns) + 1);
    size_t i;
    json_t *column;
    json_array_foreach(columns, i, column) {
        json_t *own = json_object_get(column, "path");
        if (json_array_size(own) != depth + 1) {
            continue;
        }
        json_t *parent = json_copy(own);
        json_array_remove(parent, depth);
        if (json_equal(parent, path)) {
            fz_field *field = &fields[out->field_count++];
            field->id = ++*last_id;
            field->name = fz_arena_str(arena, fz_json_view(json_array_get(own, depth)));
            field->required = json_is_true(json_object_get(column, "required"));
            assert_true(
                row_type_parse(json_string_value(json_object_get(column, "type")), &field->type));
            build_type(arena, columns, own, &field->type, last_id);
        }
        json_decref(parent);
    }
    out->fields = fields;
}

static bool has_alias(const fz_field *field, fz_str identity) {
    for (size_t i = 0; i < field->alias_count; i++) {
        if (fz_str_equal(field->aliases[i], identity)) {
            return true;
        }
    }
    return false;
}

// Binds by name, or by an alias that a field of the newest shape (which names the columns) has.
static void bind(fz_type *shape, const fz_type *newest, fz_type *target) {
    for (size_t i = 0; i < shape->field_count; i++) {
        fz_field *field = &shape->fields[i];
        fz_str name = field->name;
        const fz_field *known = newest ? fz_type_find(newest, name) : NULL;
        for (size_t j = 0; newest && !known && j < newest->field_count; j++) {
            if (has_alias(&newest->fields[j], field->identity)) {
                known = &newest->fields[j];
                name = known->name;
            }
        }
        fz_field *column = (fz_field *)(uintptr_t)fz_type_find(target, name);
        if (!column) {
            continue;
        }
        field->id = column->id;
        if (field->initial_default.size) {
            column->write_default = field->initial_default;
        }
        bind(&field->type, known ? &known->type : NULL, &column->type);
    }
}

static void open_writers(run *r, const json_t *columns) {
    json_t *root = json_array();
    int32_t last_id = 0;
    r->target = fz_schema_new();
    r->target->root.kind = FZ_TYPE_STRUCT;
    build_type(&r->target->arena, columns, root, &r->target->root, &last_id);
    fz_schema_finish(r->target);
    if (r->writer_count == 1) {
        size_t count = check_shape(r, &r->writers[0].shape->root, columns, root);
        if (count != json_array_size(columns)) {
            complain(r, "a column is missing", "");
        }
    }
    json_decref(root);
    bool *owned = fz_calloc(r->target->root.field_count + 1, sizeof(bool));
    memset(owned, 1, r->target->root.field_count);
    const writer *newest = &r->writers[r->writer_count - 1];
    for (size_t i = 0; i < r->writer_count; i++) {
        bind(&r->writers[i].shape->root, &newest->shape->root, &r->target->root);
    }
    for (size_t i = 0; i < r->writer_count; i++) {
        writer *w = &r->writers[i];
        fz_err err = {0};
        if (fz_decoder_open(w->schema, w->shape, r->target, owned, &w->decoder, &err) != FZ_OK) {
            w->kind = err.kind ? err.kind : "none";
        }
    }
    fz_free(owned);
    r->batch = fz_batch_new(r->target, NULL);
}

// --- records ---

static bool kind_fits(const json_t *c, const char *kind, const char *want) {
    if (strcmp(kind, want) == 0) {
        return true;
    }
    size_t i;
    json_t *also;
    json_array_foreach(json_object_get(c, "error_also"), i, also) {
        if (strcmp(kind, json_string_value(also)) == 0) {
            return true;
        }
    }
    return false;
}

static writer *find_writer(run *r, const fz_buf *value) {
    if (value->size < 5 || value->data[0] != 0) {
        return NULL;
    }
    int64_t id =
        (int64_t)value->data[1] << 24 | value->data[2] << 16 | value->data[3] << 8 | value->data[4];
    for (size_t i = 0; i < r->writer_count; i++) {
        if (r->writers[i].id == id) {
            return &r->writers[i];
        }
    }
    return NULL;
}

// The kind of the error, or NULL for a row.
static const char *decode(run *r, writer *w, const fz_buf *value) {
    if (w->kind) {
        return w->kind;
    }
    // A copy of exactly that size, so that a sanitizer sees a read behind it.
    size_t size = value->size - 5;
    uint8_t *data = malloc(size ? size : 1);
    memcpy(data, value->data + 5, size);
    fz_err err = {0};
    fz_code code = fz_decoder_decode(w->decoder, data, size, r->batch, &err);
    free(data);
    if (code == FZ_OK) {
        r->batch->rows++;
        return NULL;
    }
    assert_int_equal(code, FZ_CORRUPT);
    assert_true(err.offset >= 0 && err.offset <= (int64_t)size);
    fz_batch_truncate(r->batch, r->batch->rows);
    return err.kind ? err.kind : "none";
}

static void check_record(run *r, const json_t *record, const json_t *want, const char *error) {
    const json_t *hex = json_object_get(record, "value");
    fz_buf value = {0};
    if (!json_is_string(hex) || fz_hex_decode(&value, fz_json_view(hex), NULL) != FZ_OK) {
        fz_buf_deinit(&value);
        return; // a tombstone
    }
    writer *w = find_writer(r, &value);
    const char *wanted = error ? error : json_string_value(json_object_get(want, "$error"));
    if (w) {
        r->records++;
        const char *kind = decode(r, w, &value);
        fz_buf why = {0};
        if (kind ? !wanted || !kind_fits(r->c, kind, wanted) : wanted != NULL) {
            complain(r, kind ? kind : "a row", wanted ? wanted : "instead of a row");
        } else if (!kind && !row_equal(r->batch, r->batch->rows - 1, want, &why)) {
            complain(r, "another row:", fz_buf_cstr(&why));
        }
        fz_buf_deinit(&why);
    }
    fz_buf_deinit(&value);
}

static void close_run(run *r) {
    for (size_t i = 0; i < r->writer_count; i++) {
        fz_decoder_free(r->writers[i].decoder);
        fz_schema_unref(r->writers[i].shape);
        fz_writer_schema_free(r->writers[i].schema);
    }
    fz_batch_free(r->batch);
    fz_schema_unref(r->target);
}

// The choices for which the type map takes the first alternative.
static const json_t *answer_of(const json_t *c) {
    const json_t *open = json_object_get(c, "open");
    size_t i;
    json_t *tag;
    json_array_foreach(open, i, tag) {
        const char *text = json_string_value(tag);
        if (strcmp(text, "O-empty-record") == 0 || strcmp(text, "O-null-type") == 0) {
            return json_array_get(json_object_get(c, "alt"), 0);
        }
    }
    return c;
}

static void run_case(const json_t *c, size_t *failed, size_t *records) {
    const json_t *answer = answer_of(c);
    const char *error = json_string_value(json_object_get(answer, "error"));
    const char *scope = json_string_value(json_object_get(c, "error_scope"));
    run r = {.c = c};
    const char *kind = load_writers(&r);
    if (error && scope && strcmp(scope, "schema") == 0) {
        if (!kind || !kind_fits(c, kind, error)) {
            complain(&r, kind ? kind : "no error", error);
        }
    } else if (kind) {
        complain(&r, "schema error", kind);
    } else {
        const json_t *columns = json_object_get(answer, "columns");
        columns = columns ? columns : json_object_get(json_object_get(c, "reader"), "columns");
        open_writers(&r, columns);
        size_t i;
        json_t *record;
        json_array_foreach(json_object_get(c, "records"), i, record) {
            check_record(&r, record, json_array_get(json_object_get(answer, "expect"), i), error);
        }
    }
    *records += r.records;
    *failed += r.failures > 0;
    close_run(&r);
}

static void run_family(const char *family) {
    char path[512];
    snprintf(path, sizeof(path), "%s/cases/%s/cases.jsonl", FZ_TEST_DATA, family);
    fz_buf text = {0};
    if (!fz_file_exists(path)) {
        skip();
    }
    assert_int_equal(fz_file_read(path, &text, NULL), FZ_OK);
    size_t cases = 0;
    size_t failed = 0;
    size_t records = 0;
    fz_str all = fz_buf_view(&text);
    for (size_t at = 0; at < all.size;) {
        size_t end = fz_str_find(all, '\n', at);
        end = end == SIZE_MAX ? all.size : end;
        json_t *c = NULL;
        fz_str line = fz_str_slice(all, at, end);
        at = end + 1;
        if (fz_str_trim(line).size == 0) {
            continue;
        }
        assert_int_equal(fz_json_parse(line, &c, NULL), FZ_OK);
        run_case(c, &failed, &records);
        json_decref(c);
        cases++;
    }
    fz_buf_deinit(&text);
    fprintf(stderr, "%s: %zu cases, %zu records, %zu failed\n", family, cases, records, failed);
    assert_true(cases > 0);
    assert_int_equal(failed, 0);
}

#define FAMILY(name, folder)                                                                       \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        run_family(folder);                                                                        \
    }
FAMILY(primitives, "avro-primitive")
FAMILY(logical_types, "avro-logical")
FAMILY(nested, "avro-nested")
FAMILY(unions, "avro-union")
FAMILY(names, "avro-names")
FAMILY(random_schemas, "avro-random")
FAMILY(evolution, "avro-evolution")
FAMILY(frames, "avro-frame")
FAMILY(poison, "poison-avro")
FAMILY(extremes, "extremes-avro")

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(primitives), cmocka_unit_test(logical_types),
        cmocka_unit_test(nested),     cmocka_unit_test(unions),
        cmocka_unit_test(names),      cmocka_unit_test(random_schemas),
        cmocka_unit_test(evolution),  cmocka_unit_test(frames),
        cmocka_unit_test(poison),     cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
