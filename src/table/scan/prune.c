// SPDX-License-Identifier: Apache-2.0
// Ranges against column bounds and partition summaries.
#include "table/scan/prune.h"

int64_t fz_scan_count_of(const fz_iceberg_counts *counts, int32_t field_id) {
    for (size_t i = 0; i < counts->count; i++) {
        if (counts->ids[i] == field_id) {
            return counts->values[i];
        }
    }
    return -1;
}

bool fz_scan_bound_of(const fz_iceberg_bounds *bounds, int32_t field_id, const fz_type *type,
                      fz_value *out) {
    for (size_t i = 0; i < bounds->count; i++) {
        if (bounds->ids[i] == field_id) {
            return fz_value_decode(type, bounds->values[i], out, NULL) == FZ_OK;
        }
    }
    return false;
}

static bool is_real(fz_type_kind kind) {
    return kind == FZ_TYPE_FLOAT || kind == FZ_TYPE_DOUBLE;
}

// a < b, when both are known and comparable
static bool less(bool known, const fz_value *a, const fz_value *b) {
    return known && a->kind == b->kind && !a->is_null && !b->is_null && fz_value_compare(a, b) < 0;
}

static bool file_may_match(const fz_iceberg_file *file, const fz_type *type,
                           const fz_scan_range *range) {
    int64_t values = fz_scan_count_of(&file->value_counts, range->field_id);
    int64_t nulls = fz_scan_count_of(&file->null_counts, range->field_id);
    if (values >= 0 && nulls == values) {
        return false;
    }
    fz_value bound;
    bool known = fz_scan_bound_of(&file->lower_bounds, range->field_id, type, &bound);
    if (range->has_upper && less(known, &range->upper, &bound)) {
        return false;
    }
    // NaN is greater than every number and never in a bound.
    if (is_real(type->kind) && fz_scan_count_of(&file->nan_counts, range->field_id) != 0) {
        return true;
    }
    known = fz_scan_bound_of(&file->upper_bounds, range->field_id, type, &bound);
    return !(range->has_lower && less(known, &bound, &range->lower));
}

bool fz_scan_file_may_match(const fz_iceberg_file *file, const fz_schema *schema,
                            const fz_scan_range *ranges, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const fz_field *field = fz_schema_find_id(schema, ranges[i].field_id);
        if (field && !fz_type_is_nested(&field->type) &&
            !file_may_match(file, &field->type, &ranges[i])) {
            return false;
        }
    }
    return true;
}

// Order is kept by the transform, or the range is one value: then the range's ends can be
// transformed too.
static bool can_transform(const fz_partition_field *field, const fz_scan_range *range) {
    if (field->transform.kind == FZ_TRANSFORM_BUCKET) {
        return range->has_lower && range->has_upper && range->lower.kind == range->upper.kind &&
               fz_value_compare(&range->lower, &range->upper) == 0;
    }
    return field->transform.kind != FZ_TRANSFORM_VOID &&
           field->transform.kind != FZ_TRANSFORM_UNKNOWN;
}

static bool transformed(const fz_partition_field *field, const fz_value *value, fz_value *out) {
    return value->kind == field->source_type.kind && !value->is_null &&
           fz_transform_apply(field->transform, &field->source_type, value, out, NULL) == FZ_OK;
}

static bool summary_may_match(const fz_iceberg_field_summary *summary,
                              const fz_partition_field *field, const fz_scan_range *range) {
    fz_value bound;
    fz_value end;
    if (!can_transform(field, range)) {
        return true;
    }
    if (range->has_upper && summary->lower.data && transformed(field, &range->upper, &end) &&
        fz_value_decode(&field->result_type, summary->lower, &bound, NULL) == FZ_OK &&
        less(true, &end, &bound)) {
        return false;
    }
    if (is_real(field->result_type.kind) && summary->contains_nan != 0) {
        return true;
    }
    return !(range->has_lower && summary->upper.data && transformed(field, &range->lower, &end) &&
             fz_value_decode(&field->result_type, summary->upper, &bound, NULL) == FZ_OK &&
             less(true, &bound, &end));
}

bool fz_scan_manifest_may_match(const fz_iceberg_manifest *manifest, const fz_partition_spec *spec,
                                const fz_scan_range *ranges, size_t count) {
    if (!manifest->partitions || manifest->content != 0) {
        return true;
    }
    size_t fields = manifest->partition_count < spec->field_count ? manifest->partition_count
                                                                  : spec->field_count;
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < fields; k++) {
            if (spec->fields[k].source_id == ranges[i].field_id &&
                !summary_may_match(&manifest->partitions[k], &spec->fields[k], &ranges[i])) {
                return false;
            }
        }
    }
    return true;
}
