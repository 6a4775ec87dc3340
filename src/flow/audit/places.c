// SPDX-License-Identifier: Apache-2.0
// Scans only the columns that tell a row's coordinates.
#include "flow/audit/places.h"

#include "flow/ingest/evolve.h"

static void column_path(const json_t *link, const fz_schema *schema, const char *identity,
                        fz_buf *out) {
    int64_t id = fz_json_int_or(link, identity, 0);
    if (id > 0 && id <= INT32_MAX) {
        fz_schema_path(schema, (int32_t)id, out);
    }
}

fz_code fz_audit_columns_find(const fz_iceberg_metadata *metadata, fz_audit_columns *out,
                              fz_err *err) {
    memset(out, 0, sizeof *out);
    FZ_CLEANUP(fz_json_release) json_t *link = NULL;
    fz_schema *schema = NULL;
    FZ_TRY(fz_evolve_link_parse(fz_iceberg_metadata_property(metadata, FZ_EVOLVE_LINK_PROPERTY),
                                &link, err));
    FZ_TRY(fz_iceberg_metadata_schema(metadata, fz_iceberg_metadata_schema_id(metadata), &schema,
                                      err));
    column_path(link, schema, "m:partition", &out->partition);
    column_path(link, schema, "m:offset", &out->offset);
    column_path(link, schema, "m:topic", &out->topic);
    fz_schema_unref(schema);
    if (out->partition.size == 0 || out->offset.size == 0) {
        fz_audit_columns_deinit(out);
        return fz_err_set(err, FZ_NOT_FOUND,
                          "the table has no columns with the partition and the offset of its rows");
    }
    return FZ_OK;
}

void fz_audit_columns_of_letters(fz_audit_columns *out) {
    memset(out, 0, sizeof *out);
    fz_buf_append_str(&out->partition, FZ_STR("partition"));
    fz_buf_append_str(&out->offset, FZ_STR("offset"));
    fz_buf_append_str(&out->topic, FZ_STR("topic"));
}

void fz_audit_columns_deinit(fz_audit_columns *columns) {
    fz_buf_deinit(&columns->partition);
    fz_buf_deinit(&columns->offset);
    fz_buf_deinit(&columns->topic);
}

/** A column of a batch and the struct around it, NULL: none. */
typedef struct place {
    const fz_column *column;
    const fz_column *around;
} place;

static bool find_place(const fz_batch *batch, const fz_field *field, place *out) {
    for (size_t i = 0; i < batch->column_count; i++) {
        const fz_column *top = &batch->columns[i];
        if (top->field->id == field->id) {
            *out = (place){top, NULL};
            return true;
        }
        for (size_t c = 0; top->field->type.kind == FZ_TYPE_STRUCT && c < top->child_count; c++) {
            if (top->children[c].field->id == field->id) {
                *out = (place){&top->children[c], top};
                return true;
            }
        }
    }
    return false;
}

static bool value_at(const place *at, int64_t row, fz_value *out) {
    if (at->around && fz_column_is_null(at->around, row)) {
        return false; // a required child is but a placeholder there
    }
    fz_column_value(at->column, row, out);
    return !out->is_null;
}

/** The fields by path, of the types they must have; topic NULL where there is none. */
static fz_code find_fields(const fz_scan *scan, const fz_audit_columns *columns,
                           const fz_field *fields[3], fz_err *err) {
    const fz_schema *schema = fz_scan_schema((fz_scan *)scan);
    const fz_str paths[] = {fz_buf_view(&columns->partition), fz_buf_view(&columns->offset),
                            fz_buf_view(&columns->topic)};
    for (size_t i = 0; i < 3; i++) {
        fields[i] = paths[i].size > 0 ? fz_schema_find_path(schema, paths[i]) : NULL;
        fz_type_kind kind = fields[i] ? fields[i]->type.kind : FZ_TYPE_STRING;
        bool fits = i == 2 ? kind == FZ_TYPE_STRING : kind == FZ_TYPE_INT || kind == FZ_TYPE_LONG;
        if (!fits || (!fields[i] && i < 2)) {
            return fz_err_set(err, FZ_INVALID,
                              "column \"%.*s\" is not what tells where a row came from",
                              FZ_STR_ARGS(paths[i]));
        }
    }
    return FZ_OK;
}

/** false: enough. */
static fz_code give_rows(const fz_batch *batch, const fz_field *fields[3],
                         const fz_audit_places_options *options, bool *more, fz_err *err) {
    place places[3];
    size_t count = fields[2] ? 3 : 2;
    for (size_t i = 0; i < count; i++) {
        if (!find_place(batch, fields[i], &places[i])) {
            return fz_err_set(err, FZ_INVALID, "column \"%.*s\" is inside a list or too deep",
                              FZ_STR_ARGS(fields[i]->name));
        }
    }
    for (int64_t row = 0; row < batch->rows && *more; row++) {
        fz_value partition, offset, topic;
        if (!value_at(&places[0], row, &partition) || !value_at(&places[1], row, &offset) ||
            (count == 3 && (!value_at(&places[2], row, &topic) ||
                            !fz_str_equal(topic.as.bytes, options->topic)))) {
            continue;
        }
        *more = options->each(options->context, partition.as.integer, offset.as.integer);
    }
    return FZ_OK;
}

/** Files whose offsets are all outside of the range. false: the column cannot be used so. */
static bool make_range(fz_iceberg_metadata *metadata, const fz_audit_places_options *options,
                       fz_scan_range *out) {
    fz_schema *schema = NULL;
    if (fz_iceberg_metadata_schema(metadata, fz_iceberg_metadata_schema_id(metadata), &schema,
                                   NULL) != FZ_OK) {
        return false;
    }
    const fz_field *field = fz_schema_find_path(schema, fz_buf_view(&options->columns->offset));
    bool ok = field && field->type.kind == FZ_TYPE_LONG;
    if (ok) {
        *out = (fz_scan_range){.field_id = field->id,
                               .has_lower = true,
                               .has_upper = true,
                               .lower = {.kind = FZ_TYPE_LONG, .as.integer = options->first},
                               .upper = {.kind = FZ_TYPE_LONG, .as.integer = options->last}};
    }
    fz_schema_unref(schema);
    return ok;
}

fz_code fz_audit_places_scan(fz_store *store, fz_iceberg_metadata *metadata,
                             const fz_audit_places_options *options, fz_err *err) {
    const fz_str columns[] = {fz_buf_view(&options->columns->partition),
                              fz_buf_view(&options->columns->offset),
                              fz_buf_view(&options->columns->topic)};
    fz_scan_range range;
    bool ranged = make_range(metadata, options, &range);
    const fz_scan_options scan_options = {.columns = columns,
                                          .column_count = columns[2].size > 0 ? 3 : 2,
                                          .ranges = &range,
                                          .range_count = ranged ? 1 : 0,
                                          .skip = options->skip,
                                          .context = options->context,
                                          .budget = options->budget};
    fz_scan *scan = NULL;
    FZ_TRY(fz_scan_open(fz_scan_files_in(store), metadata, &scan_options, &scan, err));
    const fz_field *fields[3];
    fz_code code = find_fields(scan, options->columns, fields, err);
    fz_batch *batch = NULL;
    bool more = true;
    while (code == FZ_OK && more && (code = fz_scan_next(scan, &batch, err)) == FZ_OK && batch) {
        code = give_rows(batch, fields, options, &more, err);
    }
    fz_scan_free(scan);
    return code;
}
