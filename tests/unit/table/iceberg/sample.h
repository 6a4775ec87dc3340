// SPDX-License-Identifier: Apache-2.0
// Small tables for the tests of this folder.
#ifndef FZ_TESTS_UNIT_TABLE_ICEBERG_SAMPLE_H
#define FZ_TESTS_UNIT_TABLE_ICEBERG_SAMPLE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "table/iceberg/append.h"
#include "table/iceberg/update.h"

static inline json_t *sample_json(const char *text) {
    json_error_t error;
    json_t *json = json_loads(text, 0, &error);
    if (!json) {
        fail_msg("%s in %s", error.text, text);
    }
    return json;
}

/** id long required, name string, at timestamptz, f double, by day(at) and name. */
static inline fz_iceberg_metadata *sample_table(int version, bool partitioned) {
    json_t *json =
        sample_json("{\"type\":\"struct\",\"schema-id\":0,\"fields\":["
                    "{\"id\":1,\"name\":\"id\",\"required\":true,\"type\":\"long\"},"
                    "{\"id\":2,\"name\":\"name\",\"required\":false,\"type\":\"string\"},"
                    "{\"id\":3,\"name\":\"at\",\"required\":false,\"type\":\"timestamptz\"},"
                    "{\"id\":4,\"name\":\"f\",\"required\":false,\"type\":\"double\"}]}");
    fz_schema *schema;
    assert_int_equal(fz_schema_from_json(json, &schema, NULL), FZ_OK);
    fz_partition_field fields[2] = {
        {.source_id = 3, .name = FZ_STR("at_day"), .transform = {FZ_TRANSFORM_DAY, 0}},
        {.source_id = 2, .name = FZ_STR("name"), .transform = {FZ_TRANSFORM_IDENTITY, 0}},
    };
    const fz_partition_spec spec = {.fields = fields, .field_count = 2};
    const fz_iceberg_new_options options = {.schema = schema,
                                            .spec = partitioned ? &spec : NULL,
                                            .location = FZ_STR("file:///warehouse/db/t"),
                                            .format_version = version,
                                            .now_ms = 1000000};
    fz_iceberg_metadata *metadata;
    fz_err err;
    if (fz_iceberg_metadata_new(&options, &metadata, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_schema_unref(schema);
    json_decref(json);
    return metadata;
}

/** Apply updates given as text; they must hold. The result has a location. */
static inline fz_iceberg_metadata *sample_apply(const fz_iceberg_metadata *base,
                                                const json_t *updates, int64_t now_ms) {
    fz_iceberg_metadata *next;
    fz_err err;
    if (fz_iceberg_update_apply(base, updates, now_ms, &next, &err) != FZ_OK) {
        fail_msg("%s", err.text);
    }
    fz_buf location = {0};
    fz_iceberg_metadata_next_location(next, base ? base->location : FZ_STR(""), &location);
    fz_iceberg_metadata *moved = fz_iceberg_metadata_moved(next, fz_buf_view(&location));
    fz_iceberg_metadata_unref(next);
    fz_buf_deinit(&location);
    return moved;
}

static inline fz_iceberg_metadata *sample_apply_text(const fz_iceberg_metadata *base,
                                                     const char *updates, int64_t now_ms) {
    json_t *json = sample_json(updates);
    fz_iceberg_metadata *next = sample_apply(base, json, now_ms);
    json_decref(json);
    return next;
}

/** Code of applying updates given as text; err holds the reason. */
static inline fz_code sample_refused(const fz_iceberg_metadata *base, const char *updates,
                                     fz_err *err) {
    json_t *json = sample_json(updates);
    fz_iceberg_metadata *next;
    fz_code code = fz_iceberg_update_apply(base, json, 2000000, &next, err);
    if (code == FZ_OK) {
        fz_iceberg_metadata_unref(next);
    }
    json_decref(json);
    return code;
}

#endif
