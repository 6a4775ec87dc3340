// SPDX-License-Identifier: Apache-2.0
// The tests of every registry; each gets an empty one.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance/registry_suite.h"

#include "base/memory.h"
#include "io/registry/memory_registry.h"

static const registry_suite *suite;
static fz_registry *registry;
static fz_registry *back;

static int setup(void **state) {
    (void)state;
    suite->open(&registry, &back);
    return registry && back ? 0 : -1;
}

static int teardown(void **state) {
    (void)state;
    suite->close();
    return 0;
}

static const uint8_t *guid_of(uint8_t last) {
    static uint8_t guid[16] = {0xab, 0xcd};
    guid[15] = last;
    return guid;
}

static void give(const char *subject, int32_t id, int32_t version, fz_registry_type type,
                 const char *text, const fz_registry_reference *references, size_t count) {
    fz_err err;
    if (fz_registry_memory_add(back, fz_str_from(subject), id, version, guid_of((uint8_t)id), type,
                               fz_str_from(text), references, count, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
}

static fz_registry_reference refer(const char *name, const char *subject, int32_t version) {
    return (fz_registry_reference){
        .name = fz_str_from(name), .subject = fz_str_from(subject), .version = version};
}

#define assert_str(s, text) assert_true(fz_str_equal((s), fz_str_from(text)))

static void test_by_id(void **state) {
    (void)state;
    fz_registry_schema *s = NULL;
    give("t-value", 5, 0, FZ_REGISTRY_AVRO, "\"long\"", NULL, 0);
    give("u-value", 6, 0, FZ_REGISTRY_JSON, "{\"title\":\"Zoë \\u0001\"}", NULL, 0);
    give("p-value", 7, 0, FZ_REGISTRY_PROTOBUF, "syntax = \"proto3\";\nmessage M {}\n", NULL, 0);
    assert_int_equal(fz_registry_schema_by_id(registry, 5, FZ_STR(""), &s, NULL), FZ_OK);
    assert_int_equal(s->id, 5);
    assert_int_equal(s->type, FZ_REGISTRY_AVRO);
    assert_str(s->text, "\"long\"");
    assert_int_equal(s->reference_count, 0);
    assert_int_equal(s->version, -1);
    assert_true(s->has_guid);
    assert_memory_equal(s->guid, guid_of(5), 16);
    fz_registry_schema_unref(s);
    assert_int_equal(fz_registry_schema_by_id(registry, 6, FZ_STR("u-value"), &s, NULL), FZ_OK);
    assert_int_equal(s->type, FZ_REGISTRY_JSON);
    assert_str(s->text, "{\"title\":\"Zoë \\u0001\"}");
    fz_registry_schema_unref(s);
    assert_int_equal(fz_registry_schema_by_id(registry, 7, FZ_STR(""), &s, NULL), FZ_OK);
    assert_int_equal(s->type, FZ_REGISTRY_PROTOBUF);
    assert_str(s->text, "syntax = \"proto3\";\nmessage M {}\n");
    fz_registry_schema_unref(s);
    fz_registry_schema_unref(NULL);
}

static void test_by_guid(void **state) {
    (void)state;
    fz_registry_schema *s = NULL;
    fz_err err;
    give("t-value", 5, 0, FZ_REGISTRY_JSON, "{}", NULL, 0);
    assert_int_equal(fz_registry_schema_by_guid(registry, guid_of(5), &s, NULL), FZ_OK);
    assert_str(s->text, "{}");
    assert_true(s->has_guid);
    assert_memory_equal(s->guid, guid_of(5), 16);
    fz_registry_schema_release(&s);
    assert_null(s);
    assert_int_equal(fz_registry_schema_by_guid(registry, guid_of(9), &s, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "unknown_schema_id");
    assert_non_null(strstr(err.text, "abcd0000-0000-0000-0000-000000000009"));
    assert_null(s);
}

static void test_unknown(void **state) {
    (void)state;
    fz_registry_schema *s = NULL;
    fz_registry_versions versions = {0};
    fz_err err;
    assert_int_equal(fz_registry_schema_by_id(registry, 999, FZ_STR(""), &s, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "unknown_schema_id");
    assert_non_null(strstr(err.text, "999"));
    assert_int_equal(fz_registry_schema_by_id(registry, -7, FZ_STR(""), &s, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "unknown_schema_id");
    assert_int_equal(fz_registry_latest(registry, FZ_STR("no-value"), &s, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "no_schema");
    assert_non_null(strstr(err.text, "no-value"));
    assert_int_equal(fz_registry_latest(registry, FZ_STR(""), &s, &err), FZ_INVALID);
    assert_int_equal(fz_registry_versions_of_id(registry, 999, FZ_STR(""), &versions, &err),
                     FZ_NOT_FOUND);
    assert_string_equal(err.kind, "unknown_schema_id");
    assert_null(s);
}

static void test_latest(void **state) {
    (void)state;
    fz_registry_schema *s = NULL;
    fz_err err;
    const char *odd[] = {"t-value", "a/b c", ":colon:", "100%", "ünï", "a?b#c&d=e+f", ".."};
    for (size_t i = 0; i < FZ_COUNT(odd); i++) {
        int32_t id = (int32_t)(10 * i + 10);
        char text[32];
        snprintf(text, sizeof text, "{\"n\":%zu}", i);
        give(odd[i], id, 1, FZ_REGISTRY_JSON, "{\"old\":true}", NULL, 0);
        give(odd[i], id + 1, 3, FZ_REGISTRY_JSON, text, NULL, 0);
        if (fz_registry_latest(registry, fz_str_from(odd[i]), &s, &err) != FZ_OK) {
            fail_msg("%s: %s", odd[i], err.text);
        }
        assert_int_equal(s->id, id + 1);
        assert_int_equal(s->version, 3);
        assert_str(s->subject, odd[i]);
        assert_str(s->text, text);
        fz_registry_schema_unref(s);
        assert_int_equal(fz_registry_memory_remove(back, fz_str_from(odd[i]), 3, NULL), FZ_OK);
        assert_int_equal(fz_registry_latest(registry, fz_str_from(odd[i]), &s, &err), FZ_OK);
        assert_int_equal(s->version, 1);
        fz_registry_schema_unref(s);
    }
    // deleted for readers of the subject, not for records written with it
    assert_int_equal(fz_registry_schema_by_id(registry, 11, FZ_STR(""), &s, NULL), FZ_OK);
    assert_str(s->text, "{\"n\":0}");
    fz_registry_schema_unref(s);
}

static void test_references(void **state) {
    (void)state;
    fz_registry_schema *s = NULL;
    // a -> b -> d, a -> c -> d; d was soft-deleted since
    fz_registry_reference of_b[] = {refer("n.D", "d/sub", 2)};
    fz_registry_reference of_c[] = {refer("n.D", "d/sub", 2)};
    fz_registry_reference of_a[] = {refer("n.B", "b", 1), refer("n.C", "c", 1)};
    give("d/sub", 1, 2, FZ_REGISTRY_AVRO, "\"D\"", NULL, 0);
    give("b", 2, 1, FZ_REGISTRY_AVRO, "\"B\"", of_b, 1);
    give("c", 3, 1, FZ_REGISTRY_AVRO, "\"C\"", of_c, 1);
    give("a", 4, 1, FZ_REGISTRY_AVRO, "\"A\"", of_a, 2);
    assert_int_equal(fz_registry_memory_remove(back, FZ_STR("d/sub"), 2, NULL), FZ_OK);
    assert_int_equal(fz_registry_schema_by_id(registry, 4, FZ_STR(""), &s, NULL), FZ_OK);
    assert_int_equal(s->reference_count, 3);
    const char *names[] = {"n.D", "n.B", "n.C"};
    const char *texts[] = {"\"D\"", "\"B\"", "\"C\""};
    for (size_t i = 0; i < 3; i++) {
        assert_str(s->references[i].name, names[i]);
        assert_str(s->references[i].text, texts[i]);
        assert_int_equal(s->references[i].type, FZ_REGISTRY_AVRO);
    }
    assert_str(s->references[0].subject, "d/sub");
    assert_int_equal(s->references[0].version, 2);
    fz_registry_schema_unref(s);
    assert_int_equal(fz_registry_latest(registry, FZ_STR("a"), &s, NULL), FZ_OK);
    assert_int_equal(s->reference_count, 3);
    fz_registry_schema_unref(s);
}

static void test_cycle(void **state) {
    (void)state;
    fz_registry_schema *s = NULL;
    fz_registry_reference to_y[] = {refer("y.proto", "y", 1)};
    fz_registry_reference to_x[] = {refer("x.proto", "x", 1)};
    fz_registry_reference to_self[] = {refer("z.proto", "z", 1)};
    give("x", 1, 1, FZ_REGISTRY_PROTOBUF, "X", to_y, 1);
    give("y", 2, 1, FZ_REGISTRY_PROTOBUF, "Y", to_x, 1);
    give("z", 3, 1, FZ_REGISTRY_PROTOBUF, "Z", to_self, 1);
    assert_int_equal(fz_registry_schema_by_id(registry, 1, FZ_STR(""), &s, NULL), FZ_OK);
    assert_int_equal(s->reference_count, 1);
    assert_str(s->references[0].text, "Y");
    fz_registry_schema_unref(s);
    assert_int_equal(fz_registry_schema_by_id(registry, 3, FZ_STR(""), &s, NULL), FZ_OK);
    assert_int_equal(s->reference_count, 0);
    fz_registry_schema_unref(s);
}

static void test_bad_references(void **state) {
    (void)state;
    fz_registry_schema *s = NULL;
    fz_err err;
    fz_registry_reference nowhere[] = {refer("n", "gone", 7)};
    give("a", 1, 1, FZ_REGISTRY_JSON, "A", nowhere, 1);
    assert_int_equal(fz_registry_schema_by_id(registry, 1, FZ_STR(""), &s, &err), FZ_NOT_FOUND);
    assert_string_equal(err.kind, "schema_parse");
    assert_non_null(strstr(err.text, "version 7 of \"gone\""));
    // a chain deeper than the limit
    char subject[32];
    char text[32];
    for (int i = 0; i <= FZ_REGISTRY_DEPTH_MAX + 1; i++) {
        char next[32];
        snprintf(subject, sizeof subject, "deep%d", i);
        snprintf(text, sizeof text, "{\"deep\":%d}", i);
        snprintf(next, sizeof next, "deep%d", i + 1);
        fz_registry_reference r[] = {refer(next, next, 1)};
        give(subject, 100 + i, 1, FZ_REGISTRY_JSON, text, r, i <= FZ_REGISTRY_DEPTH_MAX);
    }
    assert_int_equal(fz_registry_schema_by_id(registry, 100, FZ_STR(""), &s, &err), FZ_LIMIT);
    assert_int_equal(fz_registry_schema_by_id(registry, 101, FZ_STR(""), &s, &err), FZ_OK);
    assert_int_equal(s->reference_count, FZ_REGISTRY_DEPTH_MAX);
    fz_registry_schema_unref(s);
}

static void test_large_text(void **state) {
    (void)state;
    fz_registry_schema *s = NULL;
    size_t size = FZ_REGISTRY_TEXT_MAX + 1;
    char *text = fz_alloc(size + 1);
    memset(text, 'x', size);
    text[size] = 0;
    give("large", 1, 1, FZ_REGISTRY_JSON, text, NULL, 0);
    assert_int_equal(fz_registry_schema_by_id(registry, 1, FZ_STR(""), &s, NULL), FZ_LIMIT);
    text[size - 1] = 0;
    give("fits", 2, 1, FZ_REGISTRY_JSON, text, NULL, 0);
    assert_int_equal(fz_registry_schema_by_id(registry, 2, FZ_STR(""), &s, NULL), FZ_OK);
    assert_int_equal(s->text.size, size - 1);
    fz_registry_schema_unref(s);
    fz_free(text);
}

static void test_subjects_and_versions(void **state) {
    (void)state;
    fz_registry_names names = {0};
    fz_registry_versions versions = {0};
    assert_int_equal(fz_registry_subjects(registry, &names, NULL), FZ_OK);
    assert_int_equal(names.count, 0);
    give("orders-value", 1, 1, FZ_REGISTRY_JSON, "1", NULL, 0);
    give("Orders-key", 1, 4, FZ_REGISTRY_JSON, "1", NULL, 0);
    give("a/b", 2, 1, FZ_REGISTRY_JSON, "2", NULL, 0);
    fz_registry_names_deinit(&names);
    assert_int_equal(fz_registry_subjects(registry, &names, NULL), FZ_OK);
    assert_int_equal(names.count, 3);
    assert_str(names.items[0], "Orders-key");
    assert_str(names.items[1], "a/b");
    assert_str(names.items[2], "orders-value");
    fz_registry_names_deinit(&names);
    assert_int_equal(fz_registry_versions_of_id(registry, 1, FZ_STR(""), &versions, NULL), FZ_OK);
    assert_int_equal(versions.count, 2);
    assert_str(versions.items[0].subject, "orders-value");
    assert_int_equal(versions.items[0].version, 1);
    assert_str(versions.items[1].subject, "Orders-key");
    assert_int_equal(versions.items[1].version, 4);
    fz_registry_versions_deinit(&versions);
}

static void test_hints(void **state) {
    (void)state;
    fz_registry_names hints;
    const char *subjects[] = {"orders-value", "order-value", "payments-value", "orders-key", "zzz"};
    for (size_t i = 0; i < FZ_COUNT(subjects); i++) {
        give(subjects[i], (int32_t)i + 1, 1, FZ_REGISTRY_JSON, subjects[i], NULL, 0);
    }
    fz_registry_hint_subjects(registry, FZ_STR("Orders-Value"), 2, &hints);
    assert_int_equal(hints.count, 2);
    assert_str(hints.items[0], "orders-value");
    fz_registry_names_deinit(&hints);
    fz_registry_hint_subjects(registry, FZ_STR("ordesr-value"), 1, &hints);
    assert_int_equal(hints.count, 1);
    assert_true(fz_str_starts_with(hints.items[0], FZ_STR("order")));
    fz_registry_names_deinit(&hints);
    fz_registry_hint_subjects(registry, FZ_STR("qqqqqqqqqqqq"), 3, &hints);
    assert_int_equal(hints.count, 0);
    fz_registry_names_deinit(&hints);
    fz_registry_hint_subjects(registry, FZ_STR("orders"), 99, &hints);
    assert_int_equal(hints.count, 2);
    fz_registry_names_deinit(&hints);
    fz_registry_hint_subjects(registry, FZ_STR("orders"), 0, &hints);
    assert_int_equal(hints.count, 0);
}

static void test_add(void **state) {
    (void)state;
    int32_t first;
    int32_t again;
    int32_t second;
    int32_t elsewhere;
    fz_registry_schema *s = NULL;
    assert_int_equal(fz_registry_add(registry, FZ_STR("s"), FZ_REGISTRY_JSON, FZ_STR("{}"), NULL, 0,
                                     &first, NULL),
                     FZ_OK);
    assert_int_equal(fz_registry_add(registry, FZ_STR("s"), FZ_REGISTRY_JSON, FZ_STR("{}"), NULL, 0,
                                     &again, NULL),
                     FZ_OK);
    assert_int_equal(first, again);
    assert_int_equal(fz_registry_add(registry, FZ_STR("o"), FZ_REGISTRY_JSON, FZ_STR("{}"), NULL, 0,
                                     &elsewhere, NULL),
                     FZ_OK);
    assert_int_equal(first, elsewhere);
    fz_registry_reference r[] = {refer("n", "s", 1)};
    assert_int_equal(
        fz_registry_add(registry, FZ_STR("s"), FZ_REGISTRY_AVRO, FZ_STR("{}"), r, 1, &second, NULL),
        FZ_OK);
    assert_int_not_equal(first, second);
    assert_int_equal(fz_registry_latest(registry, FZ_STR("s"), &s, NULL), FZ_OK);
    assert_int_equal(s->id, second);
    assert_int_equal(s->version, 2);
    assert_int_equal(s->type, FZ_REGISTRY_AVRO);
    assert_int_equal(s->reference_count, 1);
    assert_str(s->references[0].name, "n");
    assert_int_equal(s->references[0].type, FZ_REGISTRY_JSON);
    fz_registry_schema_unref(s);
    r[0].version = 9;
    assert_int_equal(
        fz_registry_add(registry, FZ_STR("s"), FZ_REGISTRY_AVRO, FZ_STR("1"), r, 1, &second, NULL),
        FZ_INVALID);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int registry_suite_run(const registry_suite *which) {
    const struct CMUnitTest tests[] = {
        CASE(test_by_id),          CASE(test_by_guid),    CASE(test_unknown),
        CASE(test_latest),         CASE(test_references), CASE(test_cycle),
        CASE(test_bad_references), CASE(test_large_text), CASE(test_subjects_and_versions),
        CASE(test_hints),          CASE(test_add),
    };
    suite = which;
    return cmocka_run_group_tests_name(which->name, tests, NULL, NULL);
}
