// SPDX-License-Identifier: Apache-2.0
// Updates of schemas, partition specs and sort orders.
#include "table/iceberg/metadata_rules.h"
#include "table/iceberg/update_state.h"

/** An id of -1 is the one added last. */
static fz_code resolve_id(const fz_iceberg_update_state *state, const json_t *update,
                          const char *key, const char *array, const char *id_key,
                          int64_t last_added, int64_t *out, fz_err *err) {
    int64_t id;
    FZ_TRY(fz_json_get_int(update, key, "update", &id, err));
    if (id == -1) {
        id = last_added;
        if (id == FZ_ICEBERG_NONE) {
            return fz_err_set(err, FZ_INVALID, "\"%s\" is -1, but nothing was added before", key);
        }
    }
    if (!fz_iceberg_rules_find(json_object_get(state->root, array), id_key, id)) {
        return fz_err_set(err, FZ_INVALID, "\"%s\" is %lld, which \"%s\" does not hold", key,
                          (long long)id, array);
    }
    *out = id;
    return FZ_OK;
}

static int64_t next_id(const json_t *array, const char *id_key, int64_t first) {
    int64_t next = first;
    for (size_t i = 0; i < json_array_size(array); i++) {
        int64_t id = fz_json_int_or(json_array_get(array, i), id_key, -1);
        next = id >= next ? id + 1 : next;
    }
    return next;
}

/** One spelling of a schema for comparison: through our own types where they know it. New
 * reference. */
static json_t *canonical_schema(const json_t *json) {
    fz_schema *schema;
    if (fz_schema_from_json(json, &schema, NULL) == FZ_OK) {
        json_t *canonical = fz_schema_to_json(schema);
        fz_schema_unref(schema);
        (void)json_object_del(canonical, "schema-id");
        return canonical;
    }
    json_t *copy = json_copy((json_t *)json);
    (void)json_object_del(copy, "schema-id");
    return copy;
}

static int64_t equal_schema(const json_t *schemas, const json_t *schema) {
    json_t *wanted = canonical_schema(schema);
    int64_t found = FZ_ICEBERG_NONE;
    for (size_t i = json_array_size(schemas); i-- > 0 && found == FZ_ICEBERG_NONE;) {
        const json_t *other = json_array_get(schemas, i);
        json_t *canonical = canonical_schema(other);
        if (json_equal(canonical, wanted)) {
            found = fz_json_int_or(other, "schema-id", FZ_ICEBERG_NONE);
        }
        json_decref(canonical);
    }
    json_decref(wanted);
    return found;
}

fz_code fz_iceberg_update_add_schema(fz_iceberg_update_state *state, const json_t *update,
                                     fz_err *err) {
    const json_t *schema = json_object_get(update, "schema");
    FZ_TRY(fz_iceberg_rules_schema(schema, fz_iceberg_update_version(state), err));
    int64_t last = fz_json_int_or(state->root, "last-column-id", 0);
    int64_t given = fz_json_int_or(update, "last-column-id", last);
    if (given < last || given > INT32_MAX) {
        return fz_err_set(err, FZ_INVALID, "\"last-column-id\" is %lld, the table's is %lld",
                          (long long)given, (long long)last);
    }
    int64_t highest = fz_iceberg_rules_highest_id(schema);
    json_t *schemas = fz_iceberg_update_array(state, "schemas");
    int64_t id = equal_schema(schemas, schema);
    if (id == FZ_ICEBERG_NONE) {
        id = next_id(schemas, "schema-id", 0);
        json_t *copy = json_copy((json_t *)schema);
        fz_json_set_int(copy, "schema-id", id);
        json_array_append_new(schemas, copy);
    }
    last = given > last ? given : last;
    fz_json_set_int(state->root, "last-column-id", highest > last ? highest : last);
    state->last_schema_id = id;
    return FZ_OK;
}

fz_code fz_iceberg_update_set_current_schema(fz_iceberg_update_state *state, const json_t *update,
                                             fz_err *err) {
    int64_t id;
    FZ_TRY(resolve_id(state, update, "schema-id", "schemas", "schema-id", state->last_schema_id,
                      &id, err));
    fz_json_set_int(state->root, "current-schema-id", id);
    return FZ_OK;
}

static fz_code remove_ids(fz_iceberg_update_state *state, const json_t *update, const char *key,
                          const char *array, const char *id_key, const char *current, fz_err *err) {
    const json_t *ids = json_object_get(update, key);
    if (!json_is_array(ids)) {
        return fz_err_set(err, FZ_INVALID, "update has no array \"%s\"", key);
    }
    int64_t kept = fz_json_int_or(state->root, current, FZ_ICEBERG_NONE);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        int64_t id = json_integer_value(json_array_get(ids, i));
        if (id == kept) {
            return fz_err_set(err, FZ_INVALID, "\"%s\" names %lld, which is \"%s\"", key,
                              (long long)id, current);
        }
        (void)fz_iceberg_update_remove(fz_iceberg_update_array(state, array), id_key, id);
    }
    return FZ_OK;
}

fz_code fz_iceberg_update_remove_schemas(fz_iceberg_update_state *state, const json_t *update,
                                         fz_err *err) {
    return remove_ids(state, update, "schema-ids", "schemas", "schema-id", "current-schema-id",
                      err);
}

fz_code fz_iceberg_update_remove_specs(fz_iceberg_update_state *state, const json_t *update,
                                       fz_err *err) {
    return remove_ids(state, update, "spec-ids", "partition-specs", "spec-id", "default-spec-id",
                      err);
}

static bool same_partition_field(const json_t *a, const json_t *b) {
    return fz_json_int_or(a, "source-id", -1) == fz_json_int_or(b, "source-id", -1) &&
           fz_str_equal(fz_json_str_or(a, "transform"), fz_json_str_or(b, "transform"));
}

/** Field id of the same transform of the same column in an older spec, which must be used again
 * (spec, "Partition Evolution"); 0 if none. */
static int64_t older_field_id(const json_t *specs, const json_t *field) {
    for (size_t i = 0; i < json_array_size(specs); i++) {
        const json_t *fields = json_object_get(json_array_get(specs, i), "fields");
        for (size_t k = 0; k < json_array_size(fields); k++) {
            const json_t *other = json_array_get(fields, k);
            if (same_partition_field(field, other) &&
                fz_str_equal(fz_json_str_or(field, "name"), fz_json_str_or(other, "name"))) {
                int64_t id = fz_json_int_or(other, "field-id", 0);
                return id > 0 && id <= INT32_MAX ? id : 0;
            }
        }
    }
    return 0;
}

static json_t *number_fields(const json_t *specs, const json_t *fields, int64_t *last) {
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(fields); i++) {
        json_t *field = json_copy(json_array_get(fields, i));
        int64_t id = fz_json_int_or(field, "field-id", 0);
        if (id <= 0) {
            id = older_field_id(specs, field);
            id = id > 0 ? id : *last + 1;
            fz_json_set_int(field, "field-id", id);
        }
        *last = id > *last ? id : *last;
        json_array_append_new(out, field);
    }
    return out;
}

static int64_t equal_spec(const json_t *specs, const json_t *fields) {
    for (size_t i = 0; i < json_array_size(specs); i++) {
        const json_t *spec = json_array_get(specs, i);
        const json_t *others = json_object_get(spec, "fields");
        bool equal = json_array_size(others) == json_array_size(fields);
        for (size_t k = 0; equal && k < json_array_size(fields); k++) {
            const json_t *a = json_array_get(fields, k);
            const json_t *b = json_array_get(others, k);
            equal = same_partition_field(a, b) &&
                    fz_str_equal(fz_json_str_or(a, "name"), fz_json_str_or(b, "name")) &&
                    fz_json_int_or(a, "field-id", 0) == fz_json_int_or(b, "field-id", 0);
        }
        if (equal) {
            return fz_json_int_or(spec, "spec-id", FZ_ICEBERG_NONE);
        }
    }
    return FZ_ICEBERG_NONE;
}

/** The schema that new specs are checked with: the current one, or the last added while a table is
 * made. */
static const json_t *current_schema(const fz_iceberg_update_state *state) {
    int64_t id = fz_json_int_or(state->root, "current-schema-id", FZ_ICEBERG_NONE);
    if (id == FZ_ICEBERG_NONE) {
        id = state->last_schema_id;
    }
    return fz_iceberg_rules_find(json_object_get(state->root, "schemas"), "schema-id", id);
}

fz_code fz_iceberg_update_add_spec(fz_iceberg_update_state *state, const json_t *update,
                                   fz_err *err) {
    const json_t *given = json_object_get(json_object_get(update, "spec"), "fields");
    if (!json_is_array(given)) {
        return fz_err_set(err, FZ_INVALID, "partition spec has no \"fields\"");
    }
    for (size_t i = 0; i < json_array_size(given); i++) {
        if (fz_json_int_or(json_array_get(given, i), "field-id", 0) > INT32_MAX) {
            return fz_err_set(err, FZ_INVALID, "partition field %zu has an id above 2^31", i + 1);
        }
    }
    FZ_TRY(fz_iceberg_rules_spec(given, current_schema(state), err));
    json_t *specs = fz_iceberg_update_array(state, "partition-specs");
    int64_t last =
        fz_json_int_or(state->root, "last-partition-id", FZ_ICEBERG_FIRST_PARTITION_ID - 1);
    json_t *fields = number_fields(specs, given, &last);
    int64_t id = equal_spec(specs, fields);
    if (id == FZ_ICEBERG_NONE) {
        id = next_id(specs, "spec-id", 0);
        json_array_append_new(specs,
                              json_pack("{s:I, s:O}", "spec-id", (json_int_t)id, "fields", fields));
    }
    json_decref(fields);
    fz_json_set_int(state->root, "last-partition-id", last);
    state->last_spec_id = id;
    return FZ_OK;
}

fz_code fz_iceberg_update_set_default_spec(fz_iceberg_update_state *state, const json_t *update,
                                           fz_err *err) {
    int64_t id;
    FZ_TRY(resolve_id(state, update, "spec-id", "partition-specs", "spec-id", state->last_spec_id,
                      &id, err));
    fz_json_set_int(state->root, "default-spec-id", id);
    return FZ_OK;
}

fz_code fz_iceberg_update_add_sort_order(fz_iceberg_update_state *state, const json_t *update,
                                         fz_err *err) {
    const json_t *fields = json_object_get(json_object_get(update, "sort-order"), "fields");
    if (!json_is_array(fields)) {
        return fz_err_set(err, FZ_INVALID, "sort order has no \"fields\"");
    }
    json_t *orders = fz_iceberg_update_array(state, "sort-orders");
    int64_t id = json_array_size(fields) == 0 ? 0 : next_id(orders, "order-id", 1);
    bool found = false;
    for (size_t i = 0; i < json_array_size(orders) && !found; i++) {
        const json_t *order = json_array_get(orders, i);
        if (json_equal(json_object_get(order, "fields"), fields)) {
            id = fz_json_int_or(order, "order-id", 0);
            found = true;
        }
    }
    if (!found) {
        json_array_append_new(
            orders, json_pack("{s:I, s:O}", "order-id", (json_int_t)id, "fields", fields));
    }
    state->last_order_id = id;
    return FZ_OK;
}

fz_code fz_iceberg_update_set_default_sort_order(fz_iceberg_update_state *state,
                                                 const json_t *update, fz_err *err) {
    int64_t id;
    FZ_TRY(resolve_id(state, update, "sort-order-id", "sort-orders", "order-id",
                      state->last_order_id, &id, err));
    fz_json_set_int(state->root, "default-sort-order-id", id);
    return FZ_OK;
}
