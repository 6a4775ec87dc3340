// SPDX-License-Identifier: Apache-2.0
// The greatest offsets by the columns that the link names, wherever they are and whatever they are
// called.
#define _GNU_SOURCE
#include <stddef.h>
#include <stdint.h>

#include "unit/table/scan/scan_table.h"

#include "flow/ingest/content_proof.h"

#define FIELDS                                                                                     \
    "{\"id\":1,\"name\":\"id\",\"required\":false,\"type\":\"long\"},"                             \
    "{\"id\":2,\"name\":\"origin\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":["  \
    "{\"id\":4,\"name\":\"part\",\"required\":false,\"type\":\"int\"},"                            \
    "{\"id\":5,\"name\":\"offset\",\"required\":false,\"type\":\"long\"}]}},"                      \
    "{\"id\":3,\"name\":\"topic\",\"required\":false,\"type\":\"string\"}"

static void set_properties(scan_table *t, const char *link, bool two_sources) {
    json_t *updates =
        json_pack("[{s:s,s:{s:s,s:s}}]", "action", "set-properties", "updates", "frazil.columns",
                  link, "frazil.state", "{\"v\":1,\"table\":\"n\",\"k\":1,\"snapshot\":1}");
    json_t *pairs = json_object_get(json_array_get(updates, 0), "updates");
    json_object_set_new(pairs, "frazil.source.a", json_string("{\"parts\":[[0,10,9,-1]]}"));
    if (two_sources) {
        json_object_set_new(pairs, "frazil.source.b", json_string("{\"parts\":[[0,10,9,-1]]}"));
    }
    fz_iceberg_metadata *next;
    OK(fz_iceberg_update_apply(t->metadata, updates, t->now_ms, &next, NULL));
    fz_iceberg_metadata_unref(t->metadata);
    t->metadata = next;
    json_decref(updates);
}

static void test_content(void **unused) {
    (void)unused;
    static const char *const both = "{\"m:partition\":4,\"m:offset\":5}";
    scan_table t;
    scan_table_init(&t, 2, FIELDS, 0, NULL);
    scan_table_add(&t, FIELDS,
                   "[[1,{\"4\":0,\"5\":8},\"a\"],[2,{\"4\":0,\"5\":9},\"a\"],"
                   "[3,{\"4\":1,\"5\":40},\"b\"],[4,null,null]]",
                   NULL);
    fz_content_proof_context context = {.store = &t.store};
    const fz_commit_source source = {.name = FZ_STR("a"), .topic = FZ_STR("a"), .known = 3};
    int64_t greatest[3];
    fz_err err = {0};
    set_properties(&t, "{}", false);
    assert_int_equal(fz_content_proof(&context, t.metadata, &source, greatest, &err), FZ_NOT_FOUND);
    set_properties(&t, "{\"m:partition\":4,\"m:offset\":77}", false);
    assert_int_equal(fz_content_proof(&context, t.metadata, &source, greatest, &err), FZ_NOT_FOUND);
    set_properties(&t, both, false);
    if (fz_content_proof(&context, t.metadata, &source, greatest, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(greatest[0], 9);
    assert_int_equal(greatest[1], 40);
    assert_int_equal(greatest[2], -1);
    set_properties(&t, both, true); // whose row 40 is cannot be told
    assert_int_equal(fz_content_proof(&context, t.metadata, &source, greatest, &err),
                     FZ_UNSUPPORTED);
    set_properties(&t, "{\"m:partition\":4,\"m:offset\":5,\"m:topic\":3}", true);
    OK(fz_content_proof(&context, t.metadata, &source, greatest, &err));
    assert_int_equal(greatest[0], 9);
    assert_int_equal(greatest[1], -1);
    scan_table_deinit(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_content)};
    return cmocka_run_group_tests_name("content proof", tests, NULL, NULL);
}
