// SPDX-License-Identifier: Apache-2.0
// Schemas by id, subject and configuration over a registry in memory and a simulated clock.
#include "flow/ingest/writer_schemas.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/memory.h"
#include "base/thread.h"
#include "io/registry/memory_registry.h"

static const char v1[] = "{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"n\",\"fields\":["
                         "{\"name\":\"a\",\"type\":\"int\"}]}";
static const char v2[] = "{\"type\":\"record\",\"name\":\"R\",\"namespace\":\"n\",\"fields\":["
                         "{\"name\":\"a\",\"type\":\"int\"},"
                         "{\"name\":\"b\",\"type\":[\"null\",\"n.E\"]}]}";
static const char e[] =
    "{\"type\":\"enum\",\"name\":\"E\",\"namespace\":\"n\",\"symbols\":[\"X\"]}";

typedef struct fixture {
    fz_registry *registry;
    fz_clock_sim clock;
    fz_config_side side;
    fz_writer_schemas_options options;
    fz_writer_schemas *schemas;
    fz_err err;
} fixture;

static void start(fixture *f) {
    *f = (fixture){0};
    f->registry = fz_registry_memory_new();
    fz_clock_sim_init(&f->clock, 1000000000);
    f->side.format = FZ_CONFIG_FORMAT_AUTO;
    f->options = (fz_writer_schemas_options){.registry = f->registry,
                                             .side = &f->side,
                                             .topic = FZ_STR("orders"),
                                             .mapping = {.format_version = 2},
                                             .clock = &f->clock.clock,
                                             .side_name = "value"};
}

static void open_schemas(fixture *f) {
    fz_writer_schemas_free(f->schemas);
    f->schemas = fz_writer_schemas_new(&f->options);
}

static void stop(fixture *f) {
    fz_writer_schemas_free(f->schemas);
    fz_registry_free(f->registry);
}

static void add(fixture *f, const char *subject, int32_t id, fz_registry_type type,
                const char *text, const fz_registry_reference *references, size_t count) {
    assert_int_equal(fz_registry_memory_add(f->registry, fz_str_from(subject), id, 0, NULL, type,
                                            fz_str_from(text), references, count, &f->err),
                     FZ_OK);
}

static fz_code latest(fixture *f, fz_writer_schema_entry **out) {
    f->err = (fz_err){0};
    return fz_writer_schemas_latest(f->schemas, out, NULL, &f->err);
}

static fz_code find(fixture *f, int32_t id, fz_writer_schema_entry **out) {
    fz_registry_frame frame = {.id = id};
    f->err = (fz_err){0};
    return fz_writer_schemas_find(f->schemas, &frame, out, &f->err);
}

static void expect_text(const fixture *f, const char *part) {
    if (!strstr(f->err.text, part)) {
        print_error("\"%s\" lacks \"%s\"\n", f->err.text, part);
    }
    assert_non_null(strstr(f->err.text, part));
}

static void by_subject_and_by_id(void **state) {
    (void)state;
    fixture f;
    start(&f);
    fz_registry_reference reference = {
        .name = FZ_STR("n.E"), .subject = FZ_STR("e"), .version = 1, .text = {0}};
    add(&f, "e", 5, FZ_REGISTRY_AVRO, e, NULL, 0);
    add(&f, "orders-value", 7, FZ_REGISTRY_AVRO, v1, NULL, 0);
    open_schemas(&f);
    fz_writer_schema_entry *one = NULL;
    fz_writer_schema_entry *two = NULL;
    assert_int_equal(latest(&f, &one), FZ_OK);
    assert_int_equal(one->frame.id, 7);
    assert_int_equal(one->version, 1);
    assert_true(one->may_change);
    assert_true(fz_str_equal(one->subject, FZ_STR("orders-value")));
    assert_int_equal(one->shape->root.field_count, 1);
    uint64_t calls = f.registry->calls;
    assert_int_equal(find(&f, 7, &two), FZ_OK);
    assert_ptr_equal(one, two); // known from its subject
    assert_int_equal(f.registry->calls, calls);
    assert_false(fz_writer_schemas_is_older(f.schemas, one));
    // a new version with a reference
    add(&f, "orders-value", 9, FZ_REGISTRY_AVRO, v2, &reference, 1);
    assert_int_equal(find(&f, 9, &two), FZ_OK);
    assert_int_equal(two->version, 2);
    assert_int_equal(two->shape->root.field_count, 2);
    assert_true(fz_writer_schemas_is_older(f.schemas, one));
    assert_false(fz_writer_schemas_is_older(f.schemas, two));
    assert_int_equal(latest(&f, &one), FZ_OK);
    assert_ptr_equal(one, two);
    // of another subject: decodes, never evolves
    assert_int_equal(find(&f, 5, &two), FZ_OK);
    assert_false(two->may_change);
    calls = f.registry->calls;
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(find(&f, 5, &two), FZ_OK);
    }
    assert_int_equal(f.registry->calls, calls);
    stop(&f);
}

static void subjects_by_strategy(void **state) {
    (void)state;
    fixture f;
    start(&f);
    const struct {
        fz_config_strategy strategy;
        bool is_key;
        const char *subject;
        const char *wanted;
    } cases[] = {
        {FZ_STRATEGY_TOPIC_NAME, false, "", "orders-value"},
        {FZ_STRATEGY_TOPIC_NAME, true, "", "orders-key"},
        {FZ_STRATEGY_RECORD_NAME, false, "", "n.R"},
        {FZ_STRATEGY_TOPIC_RECORD_NAME, false, "", "orders-n.R"},
        {FZ_STRATEGY_RECORD_NAME, false, "mine", "mine"},
    };
    for (size_t i = 0; i < FZ_COUNT(cases); i++) {
        f.side.subject_name_strategy = cases[i].strategy;
        f.side.subject = fz_str_from(cases[i].subject);
        f.options.is_key = cases[i].is_key;
        char *subject = fz_writer_schemas_subject(&f.options, FZ_STR("n.R"));
        assert_string_equal(subject, cases[i].wanted);
        fz_free(subject);
    }
    // by record name: the first record tells it
    f.options.is_key = false;
    f.side.subject = (fz_str){0};
    f.side.subject_name_strategy = FZ_STRATEGY_TOPIC_RECORD_NAME;
    add(&f, "orders-n.R", 3, FZ_REGISTRY_AVRO, v1, NULL, 0);
    open_schemas(&f);
    fz_writer_schema_entry *entry = NULL;
    assert_int_equal(latest(&f, &entry), FZ_NOT_FOUND);
    assert_string_equal(f.err.kind, "no_schema");
    expect_text(&f, "topic_record_name");
    assert_int_equal(find(&f, 3, &entry), FZ_OK);
    assert_true(entry->may_change);
    assert_int_equal(latest(&f, &entry), FZ_OK);
    assert_int_equal(entry->frame.id, 3);
    stop(&f);
}

static void what_is_missing_is_named(void **state) {
    (void)state;
    fixture f;
    start(&f);
    add(&f, "order-value", 1, FZ_REGISTRY_AVRO, v1, NULL, 0);
    open_schemas(&f);
    fz_writer_schema_entry *entry = NULL;
    assert_int_equal(latest(&f, &entry), FZ_NOT_FOUND);
    assert_string_equal(f.err.kind, "no_schema");
    expect_text(&f, "\"orders-value\"");
    expect_text(&f, "topic_name");
    expect_text(&f, "\"order-value\"");
    expect_text(&f, "value.subject");
    f.options.registry = NULL;
    open_schemas(&f);
    assert_int_equal(latest(&f, &entry), FZ_NOT_FOUND);
    assert_string_equal(f.err.kind, "no_schema");
    expect_text(&f, "schema_registry.url");
    expect_text(&f, "value.format");
    stop(&f);
}

static void unknown_ids_are_not_asked_for_again_at_once(void **state) {
    (void)state;
    fixture f;
    start(&f);
    add(&f, "orders-value", 1, FZ_REGISTRY_AVRO, v1, NULL, 0);
    open_schemas(&f);
    fz_writer_schema_entry *entry = NULL;
    // a minute of records with an id that nobody knows, one a millisecond
    uint64_t calls = f.registry->calls;
    int denied = 0;
    for (int ms = 0; ms < 60000; ms++) {
        fz_code code = find(&f, 999, &entry);
        assert_int_equal(code, ms < 1000 ? FZ_UNAVAILABLE : FZ_NOT_FOUND);
        assert_string_equal(f.err.kind, "unknown_schema_id");
        denied += code == FZ_NOT_FOUND;
        fz_clock_sim_advance(&f.clock, 1000);
    }
    assert_int_equal(denied, 59000);
    assert_true(f.registry->calls - calls <= 8);
    // registered at last, without the reference that it needs
    add(&f, "orders-value", 999, FZ_REGISTRY_AVRO, v2, NULL, 0);
    fz_clock_sim_advance(&f.clock, 10001 * 1000);
    fz_code code = find(&f, 999, &entry);
    assert_int_equal(code, FZ_CORRUPT);
    assert_string_equal(f.err.kind, "schema_parse");
    calls = f.registry->calls;
    fz_clock_sim_advance(&f.clock, 3600 * 1000000ll);
    assert_int_equal(find(&f, 999, &entry), FZ_CORRUPT); // kept
    assert_int_equal(f.registry->calls, calls);
    assert_int_equal(find(&f, 1, &entry), FZ_OK);
    // registered within the second
    assert_int_equal(find(&f, 50, &entry), FZ_UNAVAILABLE);
    add(&f, "orders-value", 50, FZ_REGISTRY_AVRO, "\"string\"", NULL, 0);
    fz_clock_sim_advance(&f.clock, 1000 * 1000);
    assert_int_equal(find(&f, 50, &entry), FZ_OK);
    // bytes that only look like ids do not pile up
    for (int32_t id = 1000; id < 31000; id++) {
        assert_int_equal(find(&f, id, &entry), FZ_UNAVAILABLE);
    }
    assert_int_equal(find(&f, -1, &entry), FZ_UNAVAILABLE);
    stop(&f);
}

static void other_types_are_refused(void **state) {
    (void)state;
    fixture f;
    start(&f);
    add(&f, "orders-value", 1, FZ_REGISTRY_PROTOBUF, "syntax = \"proto3\"; message M {}", NULL, 0);
    open_schemas(&f);
    fz_writer_schema_entry *entry = NULL;
    assert_int_equal(latest(&f, &entry), FZ_UNSUPPORTED);
    assert_string_equal(f.err.kind, "unsupported_type");
    expect_text(&f, "Protobuf");
    assert_int_equal(find(&f, 1, &entry), FZ_UNSUPPORTED);
    f.side.format = FZ_CONFIG_FORMAT_AVRO;
    open_schemas(&f);
    assert_int_equal(find(&f, 1, &entry), FZ_UNSUPPORTED);
    expect_text(&f, "value.format is avro");
    stop(&f);
}

static void without_a_registry(void **state) {
    (void)state;
    fixture f;
    start(&f);
    f.options.registry = NULL;
    f.side.format = FZ_CONFIG_FORMAT_AVRO;
    f.side.framing = FZ_FRAMING_NONE;
    f.side.schema = fz_str_from(v1);
    open_schemas(&f);
    fz_writer_schema_entry *one = NULL;
    fz_writer_schema_entry *two = NULL;
    assert_int_equal(latest(&f, &one), FZ_OK);
    assert_int_equal(one->frame.id, -1);
    assert_true(one->may_change);
    assert_int_equal(find(&f, -1, &two), FZ_OK);
    assert_ptr_equal(one, two);
    f.side.schema = FZ_STR("{");
    open_schemas(&f);
    assert_int_equal(latest(&f, &one), FZ_CORRUPT);
    assert_string_equal(f.err.kind, "schema_parse");

    f.side.schema = (fz_str){0};
    static const fz_config_format raw[] = {FZ_CONFIG_FORMAT_STRING, FZ_CONFIG_FORMAT_BYTES,
                                           FZ_CONFIG_FORMAT_JSON};
    for (size_t i = 0; i < FZ_COUNT(raw); i++) {
        f.side.format = raw[i];
        open_schemas(&f);
        assert_int_equal(latest(&f, &one), FZ_OK);
        assert_true(fz_str_equal(one->shape->root.fields[0].name, FZ_STR("value")));
        assert_int_equal(one->shape->root.fields[0].type.kind,
                         raw[i] == FZ_CONFIG_FORMAT_BYTES ? FZ_TYPE_BINARY : FZ_TYPE_STRING);
        assert_int_equal(find(&f, -1, &two), FZ_OK);
        assert_ptr_equal(one, two);
    }
    f.side.infer = 10;
    open_schemas(&f);
    assert_int_equal(latest(&f, &one), FZ_UNSUPPORTED);
    stop(&f);
}

static void unframed_values_have_the_newest(void **state) {
    (void)state;
    fixture f;
    start(&f);
    f.side.framing = FZ_FRAMING_NONE;
    add(&f, "orders-value", 4, FZ_REGISTRY_AVRO, v1, NULL, 0);
    open_schemas(&f);
    fz_writer_schema_entry *entry = NULL;
    assert_int_equal(find(&f, -1, &entry), FZ_OK);
    assert_int_equal(entry->frame.id, 4);
    stop(&f);
}

static void keys_that_are_no_record(void **state) {
    (void)state;
    fixture f;
    start(&f);
    f.options.is_key = true;
    f.side.mode = FZ_KEY_MODE_COLUMNS;
    add(&f, "orders-key", 1, FZ_REGISTRY_AVRO, "\"long\"", NULL, 0);
    open_schemas(&f);
    fz_writer_schema_entry *entry = NULL;
    assert_int_equal(latest(&f, &entry), FZ_OK);
    assert_true(fz_str_equal(entry->shape->root.fields[0].name, FZ_STR("key")));
    assert_int_equal(entry->shape->root.fields[0].type.kind, FZ_TYPE_LONG);
    f.side.mode = FZ_KEY_MODE_BYTES;
    open_schemas(&f);
    assert_int_equal(latest(&f, &entry), FZ_OK);
    assert_int_equal(entry->shape->root.fields[0].type.kind, FZ_TYPE_BINARY);
    assert_false(entry->shape->root.fields[0].required);
    stop(&f);
}

typedef struct seeker {
    fz_writer_schemas *schemas;
    fz_thread thread;
    fz_writer_schema_entry *entries[20];
} seeker;

static void seek(void *arg) {
    seeker *s = (seeker *)arg;
    for (int32_t id = 1; id <= 20; id++) {
        fz_registry_frame frame = {.id = id};
        if (fz_writer_schemas_find(s->schemas, &frame, &s->entries[id - 1], NULL) != FZ_OK) {
            s->entries[id - 1] = NULL;
        }
    }
}

static void threads_share_one_request(void **state) {
    (void)state;
    fixture f;
    start(&f);
    for (int32_t id = 1; id <= 20; id++) {
        char text[200];
        snprintf(text, sizeof(text),
                 "{\"type\":\"record\",\"name\":\"R\",\"fields\":[{\"name\":\"a%d\",\"type\":"
                 "\"int\"}]}",
                 id);
        add(&f, "orders-value", id, FZ_REGISTRY_AVRO, text, NULL, 0);
    }
    open_schemas(&f);
    seeker seekers[4] = {0};
    for (size_t i = 0; i < 4; i++) {
        seekers[i].schemas = f.schemas;
        fz_thread_start(&seekers[i].thread, "seek", seek, &seekers[i]);
    }
    for (size_t i = 0; i < 4; i++) {
        fz_thread_join(&seekers[i].thread);
        for (size_t k = 0; k < 20; k++) {
            assert_non_null(seekers[i].entries[k]);
            assert_ptr_equal(seekers[i].entries[k], seekers[0].entries[k]);
        }
    }
    assert_int_equal(f.registry->calls, 20 + 20); // each schema once, and where it is registered
    stop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_subject_and_by_id),
        cmocka_unit_test(subjects_by_strategy),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(unknown_ids_are_not_asked_for_again_at_once),
        cmocka_unit_test(other_types_are_refused),
        cmocka_unit_test(without_a_registry),
        cmocka_unit_test(unframed_values_have_the_newest),
        cmocka_unit_test(keys_that_are_no_record),
        cmocka_unit_test(threads_share_one_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
