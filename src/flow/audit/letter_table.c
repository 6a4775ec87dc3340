// SPDX-License-Identifier: Apache-2.0
// Reading dead letters back.
#include "flow/audit/letter_table.h"

#include "base/memory.h"
#include "base/text/time.h"

/** Letters read at a time: each may be as large as a record may be. */
#define LETTER_ROWS 256

/** Columns that are read, in this order. */
enum { TOPIC, PARTITION, OFFSET, TIMESTAMP, KEY, VALUE, HEADERS, COLUMNS };

static const struct {
    fz_str name;
    fz_type_kind kind;
} columns[COLUMNS] = {
    [TOPIC] = {{"topic", 5}, FZ_TYPE_STRING},
    [PARTITION] = {{"partition", 9}, FZ_TYPE_INT},
    [OFFSET] = {{"offset", 6}, FZ_TYPE_LONG},
    [TIMESTAMP] = {{"timestamp", 9}, FZ_TYPE_TIMESTAMPTZ},
    [KEY] = {{"key", 3}, FZ_TYPE_BINARY},
    [VALUE] = {{"value", 5}, FZ_TYPE_BINARY},
    [HEADERS] = {{"headers", 7}, FZ_TYPE_LIST},
};

/** What a record's `native` points to. */
typedef struct letter {
    const fz_column *headers;
    int64_t row;
} letter;

struct fz_audit_letter_scan {
    fz_scan *scan;
    fz_str topic;
    fz_batch *batch;
    int64_t row;
    letter letter;
};

fz_code fz_audit_letter_table_open(const fz_stream *stream, const char *name,
                                   fz_audit_letter_table *out, fz_err *err) {
    const fz_ingest_host *host = stream->host;
    const char *dot = strrchr(name, '.');
    FZ_ASSERT(dot);
    fz_catalog_name table = {fz_str_make(name, (size_t)(dot - name)), fz_str_from(dot + 1)};
    *out = (fz_audit_letter_table){.budget = host->budget, .topic = fz_str_from(stream->topic)};
    fz_code code = fz_catalog_load(stream->table.catalog, table, &out->metadata, err);
    if (code == FZ_NOT_FOUND) {
        out->metadata = NULL;
        return FZ_OK;
    }
    FZ_TRY(code);
    code = host->store(host->context, &stream->entry->storage,
                       fz_iceberg_metadata_base(out->metadata), &out->store, err);
    if (code != FZ_OK) {
        fz_audit_letter_table_deinit(out);
    }
    return code;
}

void fz_audit_letter_table_deinit(fz_audit_letter_table *table) {
    fz_iceberg_metadata_unref(table->metadata);
    memset(table, 0, sizeof *table);
}

fz_code fz_audit_letter_table_places(const fz_audit_letter_table *table, int64_t first,
                                     int64_t last,
                                     bool (*each)(void *context, int64_t partition, int64_t offset),
                                     void *context, fz_err *err) {
    if (!table->metadata) {
        return FZ_OK;
    }
    fz_audit_columns paths;
    fz_audit_columns_of_letters(&paths);
    const fz_audit_places_options options = {.columns = &paths,
                                             .topic = table->topic,
                                             .first = first,
                                             .last = last,
                                             .each = each,
                                             .context = context,
                                             .budget = table->budget};
    fz_code code = fz_audit_places_scan(table->store, table->metadata, &options, err);
    fz_audit_columns_deinit(&paths);
    return code;
}

static bool is_headers(const fz_type *list) {
    const fz_type *element = &list->fields[0].type;
    return element->kind == FZ_TYPE_STRUCT && element->field_count == 2 &&
           element->fields[0].type.kind == FZ_TYPE_STRING &&
           element->fields[1].type.kind == FZ_TYPE_BINARY;
}

static fz_code check_columns(const fz_schema *schema, fz_err *err) {
    for (size_t i = 0; i < COLUMNS; i++) {
        const fz_type *type = &schema->root.fields[i].type;
        if (type->kind != columns[i].kind || (i == HEADERS && !is_headers(type))) {
            return fz_err_set_kind(err, FZ_INVALID, "table_incompatible",
                                   "column \"%.*s\" is not that of a dead-letter table",
                                   FZ_STR_ARGS(columns[i].name));
        }
    }
    return FZ_OK;
}

fz_code fz_audit_letter_scan_open(const fz_audit_letter_table *table, int64_t first, int64_t last,
                                  fz_audit_letter_scan **out, fz_err *err) {
    fz_str names[COLUMNS];
    for (size_t i = 0; i < COLUMNS; i++) {
        names[i] = columns[i].name;
    }
    fz_schema *schema = NULL;
    FZ_TRY(fz_iceberg_metadata_schema(
        table->metadata, fz_iceberg_metadata_schema_id(table->metadata), &schema, err));
    const fz_field *offset = fz_schema_find_path(schema, names[OFFSET]);
    const fz_scan_range range = {.field_id = offset ? offset->id : 0,
                                 .has_lower = true,
                                 .has_upper = true,
                                 .lower = {.kind = FZ_TYPE_LONG, .as.integer = first},
                                 .upper = {.kind = FZ_TYPE_LONG, .as.integer = last}};
    bool ranged = offset && offset->type.kind == FZ_TYPE_LONG;
    fz_schema_unref(schema);
    const fz_scan_options options = {.columns = names,
                                     .column_count = COLUMNS,
                                     .ranges = &range,
                                     .range_count = ranged ? 1 : 0,
                                     .batch_rows = LETTER_ROWS,
                                     .budget = table->budget};
    fz_scan *scan = NULL;
    FZ_TRY(fz_scan_open(fz_scan_files_in(table->store), table->metadata, &options, &scan, err));
    fz_code code = check_columns(fz_scan_schema(scan), err);
    if (code != FZ_OK) {
        fz_scan_free(scan);
        return code;
    }
    *out = (fz_audit_letter_scan *)fz_calloc(1, sizeof **out);
    (*out)->scan = scan;
    (*out)->topic = table->topic;
    return FZ_OK;
}

void fz_audit_letter_scan_free(fz_audit_letter_scan *scan) {
    if (scan) {
        fz_scan_free(scan->scan);
        fz_free(scan);
    }
}

/** Bytes of a column that may be null. */
static const uint8_t *bytes_at(const fz_column *column, int64_t row, size_t *size) {
    *size = 0;
    if (fz_column_is_null(column, row)) {
        return NULL;
    }
    fz_str bytes = fz_column_bytes(column, row);
    *size = bytes.size;
    return (const uint8_t *)(bytes.data ? bytes.data : "");
}

static void fill_record(fz_audit_letter_scan *scan, int64_t row, fz_record *out) {
    const fz_column *at = scan->batch->columns;
    scan->letter = (letter){&at[HEADERS], row};
    *out = (fz_record){.offset = ((const int64_t *)at[OFFSET].values)[row],
                       .timestamp_ms = -1,
                       .leader_epoch = -1,
                       .native = &scan->letter};
    if (!fz_column_is_null(&at[TIMESTAMP], row)) {
        out->timestamp_ms = fz_floor_div(((const int64_t *)at[TIMESTAMP].values)[row], 1000);
    }
    out->key = bytes_at(&at[KEY], row, &out->key_size);
    out->value = bytes_at(&at[VALUE], row, &out->value_size);
}

fz_code fz_audit_letter_scan_next(fz_audit_letter_scan *scan, int64_t *partition, fz_record *out,
                                  bool *found, fz_err *err) {
    for (;;) {
        if (!scan->batch || scan->row >= scan->batch->rows) {
            scan->row = 0;
            FZ_TRY(fz_scan_next(scan->scan, &scan->batch, err));
            *found = scan->batch != NULL;
            if (!*found) {
                return FZ_OK;
            }
        }
        int64_t row = scan->row++;
        const fz_column *at = scan->batch->columns;
        if (!fz_column_is_null(&at[TOPIC], row) && !fz_column_is_null(&at[PARTITION], row) &&
            !fz_column_is_null(&at[OFFSET], row) &&
            fz_str_equal(fz_column_bytes(&at[TOPIC], row), scan->topic)) {
            *partition = ((const int32_t *)at[PARTITION].values)[row];
            fill_record(scan, row, out);
            *found = true;
            return FZ_OK;
        }
    }
}

static bool letter_header(const fz_record *record, size_t index, fz_str *name, fz_str *value,
                          bool *is_null) {
    const letter *from = (const letter *)record->native;
    const fz_column *list = from->headers;
    if (fz_column_is_null(list, from->row)) {
        return false;
    }
    int64_t first = list->offsets[from->row], end = list->offsets[from->row + 1];
    if (index >= (size_t)(end - first)) {
        return false;
    }
    const fz_column *element = &list->children[0];
    size_t size;
    int64_t row = first + (int64_t)index;
    *name = fz_column_is_null(&element->children[0], row)
                ? fz_str_make("", 0)
                : fz_column_bytes(&element->children[0], row);
    const uint8_t *data = bytes_at(&element->children[1], row, &size);
    *value = fz_str_make(data, size);
    *is_null = data == NULL;
    return true;
}

fz_source *fz_audit_letter_source(void) {
    static const fz_source_ops ops = {.name = "dead letters", .header = letter_header};
    static fz_source source = {&ops};
    return &source;
}
