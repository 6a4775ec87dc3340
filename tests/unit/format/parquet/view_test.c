// SPDX-License-Identifier: Apache-2.0
// Schemas of other writers: the backward-compatibility rules of LogicalTypes.md, converted types
// alone, hostile trees.
#include "format/parquet/metadata.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#define GROUP(n, rep, children, conv)                                                              \
    {                                                                                              \
        .name = {n, sizeof(n) - 1}, .physical = -1, .repetition = rep, .child_count = children,    \
        .converted = conv, .field_id = -1                                                          \
    }
#define LEAF(n, rep, phys, conv)                                                                   \
    {                                                                                              \
        .name = {n, sizeof(n) - 1}, .physical = phys, .repetition = rep, .converted = conv,        \
        .field_id = -1                                                                             \
    }
enum { REQ = 0, OPT = 1, REP = 2, NONE = -1, LIST = 3, MAP = 1, KV = 2, UTF8 = 0 };

typedef struct example {
    const char *type; // of the root, NULL: refused
    fz_parquet_element elements[8];
    size_t count;
} example;

static const example EXAMPLES[] = {
    {"struct<a: list<string not null> not null>", // rule 1: a repeated leaf
     {GROUP("m", REQ, 1, NONE), GROUP("a", REQ, 1, LIST), LEAF("element", REP, 6, UTF8)},
     3},
    {"struct<a: list<struct<str: string not null, num: int not null> not null>>", // rule 2: several
                                                                                  // fields
     {GROUP("m", REQ, 1, NONE), GROUP("a", OPT, 1, LIST), GROUP("element", REP, 2, NONE),
      LEAF("str", REQ, 6, UTF8), LEAF("num", REQ, 1, NONE)},
     5},
    {"struct<a: list<struct<str: string not null> not null>>", // rule 4: named array
     {GROUP("m", REQ, 1, NONE), GROUP("a", OPT, 1, LIST), GROUP("array", REP, 1, NONE),
      LEAF("str", REQ, 6, UTF8)},
     4},
    {"struct<a: list<struct<str: string not null> not null>>", // rule 4: named a_tuple
     {GROUP("m", REQ, 1, NONE), GROUP("a", OPT, 1, LIST), GROUP("a_tuple", REP, 1, NONE),
      LEAF("str", REQ, 6, UTF8)},
     4},
    {"struct<a: list<string>>", // three levels, other names
     {GROUP("m", REQ, 1, NONE), GROUP("a", OPT, 1, LIST), GROUP("bag", REP, 1, NONE),
      LEAF("array_element", OPT, 6, UTF8)},
     4},
    {"struct<a: map<string, int>>", // MAP_KEY_VALUE on the outer group
     {GROUP("m", REQ, 1, NONE), GROUP("a", OPT, 1, KV), GROUP("map", REP, 2, NONE),
      LEAF("k", REQ, 6, UTF8), LEAF("v", OPT, 1, NONE)},
     5},
    {"struct<a: list<int not null> not null>", // repeated without a list around
     {GROUP("m", REQ, 1, NONE), LEAF("a", REP, 1, NONE)},
     2},
    {"struct<b: int>", // an interval is left out
     {GROUP("m", REQ, 2, NONE),
      {.name = {"a", 1}, .physical = 7, .type_length = 12, .converted = 21, .field_id = -1},
      LEAF("b", OPT, 1, NONE)},
     3},
    {"struct<t: timestamptz>", // a converted type alone means UTC
     {GROUP("m", REQ, 1, NONE), LEAF("t", OPT, 2, 10)},
     2},
    {NULL, {GROUP("m", REQ, 2, NONE), LEAF("a", OPT, 1, NONE)}, 2},                          // cut
    {NULL, {GROUP("m", REQ, 1, NONE), LEAF("a", OPT, 1, NONE), LEAF("b", OPT, 1, NONE)}, 3}, // more
    {NULL, {GROUP("m", REQ, 1, NONE), GROUP("a", OPT, 1, LIST), GROUP("l", REP, 1, NONE)}, 3},
    {NULL, {GROUP("m", REQ, 1, NONE), GROUP("a", OPT, 1 << 30, NONE)}, 2},
};

static void shapes(void **state) {
    (void)state;
    for (size_t i = 0; i < FZ_COUNT(EXAMPLES); i++) {
        const example *e = &EXAMPLES[i];
        fz_parquet_metadata m = {0};
        fz_parquet_limits limits;
        fz_parquet_limits_init(&limits);
        m.elements = FZ_ARENA_ARRAY(&m.arena, fz_parquet_element, e->count);
        memcpy(m.elements, e->elements, e->count * sizeof *m.elements);
        m.element_count = e->count;
        fz_err err = {0};
        fz_code code = fz_parquet_view_build(&m, &limits, &err);
        assert_int_equal(code, e->type ? FZ_OK : FZ_CORRUPT);
        if (e->type) {
            fz_schema *schema = fz_parquet_view_schema(&m);
            fz_buf text = {0};
            fz_type_format(&schema->root, &text);
            assert_string_equal(fz_buf_cstr(&text), e->type);
            fz_buf_deinit(&text);
            fz_schema_unref(schema);
        }
        fz_parquet_metadata_deinit(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
