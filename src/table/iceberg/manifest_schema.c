// SPDX-License-Identifier: Apache-2.0
// Builds the Avro schemas of manifests and manifest lists.
#include "table/iceberg/manifest_schema.h"

#include <stdio.h>

typedef enum member_kind {
    MEMBER_PRIMITIVE, // `type`
    MEMBER_MAP,       // int -> `type`, ids `first` and `second`
    MEMBER_LIST,      // of `type`, id `first`
} member_kind;

typedef struct member {
    int id;
    const char *name;
    const char *type;
    bool required;
    int since; // format version
    member_kind kind;
    int first;
    int second;
    const char *doc;
} member;

/** Order as Java writes it; `partition` stands between file_format and record_count. */
static const member data_file[] = {
    {FZ_ICEBERG_ID_CONTENT, "content", "int", true, 2, MEMBER_PRIMITIVE, 0, 0,
     "Contents of the file: 0=data, 1=position deletes, 2=equality deletes"},
    {FZ_ICEBERG_ID_PATH, "file_path", "string", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Location URI with FS scheme"},
    {FZ_ICEBERG_ID_FORMAT, "file_format", "string", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "File format name: avro, orc, or parquet"},
    {FZ_ICEBERG_ID_PARTITION, "partition", NULL, true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Partition data tuple, schema based on the partition spec"},
    {FZ_ICEBERG_ID_RECORD_COUNT, "record_count", "long", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Number of records in the file"},
    {FZ_ICEBERG_ID_SIZE, "file_size_in_bytes", "long", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Total file size in bytes"},
    {FZ_ICEBERG_ID_COLUMN_SIZES, "column_sizes", "long", false, 1, MEMBER_MAP, 117, 118,
     "Map of column id to total size on disk"},
    {FZ_ICEBERG_ID_VALUE_COUNTS, "value_counts", "long", false, 1, MEMBER_MAP, 119, 120,
     "Map of column id to total count, including null and NaN"},
    {FZ_ICEBERG_ID_NULL_COUNTS, "null_value_counts", "long", false, 1, MEMBER_MAP, 121, 122,
     "Map of column id to null value count"},
    {FZ_ICEBERG_ID_NAN_COUNTS, "nan_value_counts", "long", false, 1, MEMBER_MAP, 138, 139,
     "Map of column id to number of NaN values in the column"},
    {FZ_ICEBERG_ID_LOWER, "lower_bounds", "bytes", false, 1, MEMBER_MAP, 126, 127,
     "Map of column id to lower bound"},
    {FZ_ICEBERG_ID_UPPER, "upper_bounds", "bytes", false, 1, MEMBER_MAP, 129, 130,
     "Map of column id to upper bound"},
    {FZ_ICEBERG_ID_KEY_METADATA, "key_metadata", "bytes", false, 1, MEMBER_PRIMITIVE, 0, 0,
     "Encryption key metadata blob"},
    {FZ_ICEBERG_ID_SPLITS, "split_offsets", "long", false, 1, MEMBER_LIST, 133, 0,
     "Splittable offsets"},
    {FZ_ICEBERG_ID_EQUALITY, "equality_ids", "int", false, 2, MEMBER_LIST, 136, 0,
     "Equality comparison field IDs"},
    {FZ_ICEBERG_ID_SORT_ORDER, "sort_order_id", "int", false, 1, MEMBER_PRIMITIVE, 0, 0,
     "Sort order ID"},
    {FZ_ICEBERG_ID_FIRST_ROW, "first_row_id", "long", false, 3, MEMBER_PRIMITIVE, 0, 0,
     "Starting row ID to assign to new rows"},
    {FZ_ICEBERG_ID_REFERENCED, "referenced_data_file", "string", false, 2, MEMBER_PRIMITIVE, 0, 0,
     "Fully qualified location (URI with FS scheme) of a data file that all deletes reference"},
    {FZ_ICEBERG_ID_CONTENT_OFFSET, "content_offset", "long", false, 3, MEMBER_PRIMITIVE, 0, 0,
     "The offset in the file where the content starts"},
    {FZ_ICEBERG_ID_CONTENT_SIZE, "content_size_in_bytes", "long", false, 3, MEMBER_PRIMITIVE, 0, 0,
     "The length of referenced content stored in the file"},
};

static const member entry[] = {
    {FZ_ICEBERG_ID_STATUS, "status", "int", true, 1, MEMBER_PRIMITIVE, 0, 0, NULL},
    {FZ_ICEBERG_ID_SNAPSHOT, "snapshot_id", "long", false, 1, MEMBER_PRIMITIVE, 0, 0, NULL},
    {FZ_ICEBERG_ID_SEQUENCE, "sequence_number", "long", false, 2, MEMBER_PRIMITIVE, 0, 0, NULL},
    {FZ_ICEBERG_ID_FILE_SEQUENCE, "file_sequence_number", "long", false, 2, MEMBER_PRIMITIVE, 0, 0,
     NULL},
};

static const member list_entry[] = {
    {FZ_ICEBERG_ID_LIST_PATH, "manifest_path", "string", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Location URI with FS scheme"},
    {FZ_ICEBERG_ID_LIST_LENGTH, "manifest_length", "long", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Total file size in bytes"},
    {FZ_ICEBERG_ID_LIST_SPEC, "partition_spec_id", "int", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Spec ID used to write"},
    {FZ_ICEBERG_ID_LIST_CONTENT, "content", "int", true, 2, MEMBER_PRIMITIVE, 0, 0,
     "Contents of the manifest: 0=data, 1=deletes"},
    {FZ_ICEBERG_ID_LIST_SEQUENCE, "sequence_number", "long", true, 2, MEMBER_PRIMITIVE, 0, 0,
     "Sequence number when the manifest was added"},
    {FZ_ICEBERG_ID_LIST_MIN_SEQUENCE, "min_sequence_number", "long", true, 2, MEMBER_PRIMITIVE, 0,
     0, "Lowest sequence number in the manifest"},
    {FZ_ICEBERG_ID_LIST_SNAPSHOT, "added_snapshot_id", "long", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Snapshot ID that added the manifest"},
    {FZ_ICEBERG_ID_LIST_ADDED, "added_files_count", "int", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Added entry count"},
    {FZ_ICEBERG_ID_LIST_EXISTING, "existing_files_count", "int", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Existing entry count"},
    {FZ_ICEBERG_ID_LIST_DELETED, "deleted_files_count", "int", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Deleted entry count"},
    {FZ_ICEBERG_ID_LIST_ADDED_ROWS, "added_rows_count", "long", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Added rows count"},
    {FZ_ICEBERG_ID_LIST_EXISTING_ROWS, "existing_rows_count", "long", true, 1, MEMBER_PRIMITIVE, 0,
     0, "Existing rows count"},
    {FZ_ICEBERG_ID_LIST_DELETED_ROWS, "deleted_rows_count", "long", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "Deleted rows count"},
    {FZ_ICEBERG_ID_LIST_PARTITIONS, "partitions", NULL, false, 1, MEMBER_LIST, 508, 0,
     "Summary for each partition"},
    {FZ_ICEBERG_ID_LIST_KEY_METADATA, "key_metadata", "bytes", false, 1, MEMBER_PRIMITIVE, 0, 0,
     "Encryption key metadata blob"},
    {FZ_ICEBERG_ID_LIST_FIRST_ROW, "first_row_id", "long", false, 3, MEMBER_PRIMITIVE, 0, 0,
     "Starting row ID to assign to new rows in ADDED data files"},
};

static const member field_summary[] = {
    {FZ_ICEBERG_ID_LIST_NULL, "contains_null", "boolean", true, 1, MEMBER_PRIMITIVE, 0, 0,
     "True if any file has a null partition value"},
    {FZ_ICEBERG_ID_LIST_NAN, "contains_nan", "boolean", false, 1, MEMBER_PRIMITIVE, 0, 0,
     "True if any file has a nan partition value"},
    {FZ_ICEBERG_ID_LIST_LOWER, "lower_bound", "bytes", false, 1, MEMBER_PRIMITIVE, 0, 0,
     "Partition lower bound for all files"},
    {FZ_ICEBERG_ID_LIST_UPPER, "upper_bound", "bytes", false, 1, MEMBER_PRIMITIVE, 0, 0,
     "Partition upper bound for all files"},
};

/** A record's JSON around its fields (stolen). */
static json_t *record(const char *name, json_t *fields) {
    return json_pack("{s:s, s:s, s:o}", "type", "record", "name", name, "fields", fields);
}

/** A field's JSON; `type` is stolen, and wrapped in a union with null where it is optional. */
static json_t *field(const char *name, json_t *type, bool required, int id, const char *doc) {
    json_t *json = json_object();
    json_object_set_new(json, "name", json_string(name));
    json_object_set_new(json, "type", required ? type : json_pack("[s, o]", "null", type));
    if (doc) {
        json_object_set_new(json, "doc", json_string(doc));
    }
    if (!required) {
        json_object_set_new(json, "default", json_null());
    }
    fz_json_set_int(json, "field-id", id);
    return json;
}

static json_t *member_type(const member *m, json_t *element) {
    switch (m->kind) {
    case MEMBER_MAP: {
        // Avro maps have text keys, so Iceberg writes arrays of pairs (spec, Appendix A).
        char name[32];
        (void)snprintf(name, sizeof(name), "k%d_v%d", m->first, m->second);
        json_t *fields = json_array();
        json_array_append_new(fields, field("key", json_string("int"), true, m->first, NULL));
        json_array_append_new(fields, field("value", json_string(m->type), true, m->second, NULL));
        return json_pack("{s:s, s:o, s:s}", "type", "array", "items", record(name, fields),
                         "logicalType", "map");
    }
    case MEMBER_LIST:
        return json_pack("{s:s, s:o, s:i}", "type", "array", "items",
                         element ? element : json_string(m->type), "element-id", m->first);
    case MEMBER_PRIMITIVE:
        break;
    }
    return element ? element : json_string(m->type);
}

/** Fields of the members that a version has; `nested` (stolen, may be NULL) is the type of the
 * member without one. */
static json_t *members_to_json(const member *members, size_t count, int version, json_t *nested) {
    json_t *fields = json_array();
    for (size_t i = 0; i < count; i++) {
        const member *m = &members[i];
        if (m->since <= version) {
            json_t *type = member_type(m, m->type ? NULL : nested);
            json_array_append_new(fields, field(m->name, type, m->required, m->id, m->doc));
        }
    }
    return fields;
}

static json_t *long_type(const char *logical, int utc) {
    json_t *type = json_pack("{s:s, s:s}", "type", "long", "logicalType", logical);
    if (utc >= 0) {
        json_object_set_new(type, "adjust-to-utc", json_boolean(utc));
    }
    return type;
}

/** A fixed type, or its name where the schema has defined it before. */
static json_t *fixed_type(json_t *seen, const char *name, int size) {
    if (json_object_get(seen, name)) {
        return json_string(name);
    }
    json_object_set_new(seen, name, json_true());
    return json_pack("{s:s, s:s, s:i}", "type", "fixed", "name", name, "size", size);
}

static json_t *value_type(const fz_type *type, json_t *seen) {
    char name[48];
    json_t *fixed;
    switch (type->kind) {
    case FZ_TYPE_BOOLEAN:
        return json_string("boolean");
    case FZ_TYPE_INT:
        return json_string("int");
    case FZ_TYPE_LONG:
        return json_string("long");
    case FZ_TYPE_FLOAT:
        return json_string("float");
    case FZ_TYPE_DOUBLE:
        return json_string("double");
    case FZ_TYPE_DATE:
        return json_pack("{s:s, s:s}", "type", "int", "logicalType", "date");
    case FZ_TYPE_TIME:
        return long_type("time-micros", -1);
    case FZ_TYPE_TIMESTAMP:
        return long_type("timestamp-micros", 0);
    case FZ_TYPE_TIMESTAMPTZ:
        return long_type("timestamp-micros", 1);
    case FZ_TYPE_TIMESTAMP_NS:
        return long_type("timestamp-nanos", 0);
    case FZ_TYPE_TIMESTAMPTZ_NS:
        return long_type("timestamp-nanos", 1);
    case FZ_TYPE_STRING:
        return json_string("string");
    case FZ_TYPE_BINARY:
        return json_string("bytes");
    case FZ_TYPE_UUID:
        fixed = fixed_type(seen, "uuid_fixed", 16);
        if (json_is_object(fixed)) {
            json_object_set_new(fixed, "logicalType", json_string("uuid"));
        }
        return fixed;
    case FZ_TYPE_FIXED:
        (void)snprintf(name, sizeof(name), "fixed_%d", type->length);
        return fixed_type(seen, name, type->length);
    case FZ_TYPE_DECIMAL:
        (void)snprintf(name, sizeof(name), "decimal_%d_%d", type->precision, type->scale);
        fixed = fixed_type(seen, name, fz_decimal_fixed_size(type->precision));
        if (json_is_object(fixed)) {
            json_object_set_new(fixed, "logicalType", json_string("decimal"));
            fz_json_set_int(fixed, "precision", type->precision);
            fz_json_set_int(fixed, "scale", type->scale);
        }
        return fixed;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        break;
    }
    return NULL;
}

static bool name_byte(char c, bool first) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (!first && c >= '0' && c <= '9');
}

/** A name that Avro allows (Java's AvroSchemaUtil.sanitize, over UTF-16 units there, code points
 * here). */
static void sanitize(fz_str name, fz_buf *out) {
    for (size_t i = 0; i < name.size;) {
        uint8_t c = (uint8_t)name.data[i];
        size_t more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;
        uint32_t point = more == 3 ? c & 0x07u : more == 2 ? c & 0x0fu : more == 1 ? c & 0x1fu : c;
        for (size_t k = 1; k <= more && i + k < name.size; k++) {
            point = point << 6 | ((uint8_t)name.data[i + k] & 0x3fu);
        }
        if (name_byte((char)c, i == 0)) {
            fz_buf_append_byte(out, c);
        } else if (c >= '0' && c <= '9') {
            fz_buf_printf(out, "_%c", c);
        } else if (point > 0xffff) {
            fz_buf_printf(out, "_x%X_x%X", 0xd800u + ((point - 0x10000) >> 10),
                          0xdc00u + ((point - 0x10000) & 0x3ffu));
        } else {
            fz_buf_printf(out, "_x%X", point);
        }
        i += 1 + more;
    }
}

static fz_code partition_type(const fz_partition_spec *spec, json_t **out, fz_err *err) {
    json_t *seen = json_object();
    json_t *fields = json_array();
    fz_code code = FZ_OK;
    for (size_t i = 0; i < spec->field_count && code == FZ_OK; i++) {
        const fz_partition_field *part = &spec->fields[i];
        json_t *type = value_type(&part->result_type, seen);
        if (!type) {
            code = fz_err_set(err, FZ_UNSUPPORTED, "partition \"%.*s\" has a nested type",
                              FZ_STR_ARGS(part->name));
            break;
        }
        fz_buf name = {0};
        sanitize(part->name, &name);
        json_t *json = field(fz_buf_cstr(&name), type, false, part->field_id, NULL);
        if (!fz_str_equal(fz_buf_view(&name), part->name)) {
            fz_json_set_str(json, "iceberg-field-name", part->name);
        }
        json_array_append_new(fields, json);
        fz_buf_deinit(&name);
    }
    json_decref(seen);
    *out = record("r102", fields);
    return code;
}

fz_code fz_iceberg_manifest_schema(int version, const fz_partition_spec *spec, json_t **out,
                                   fz_err *err) {
    json_t *partition;
    fz_code code = partition_type(spec, &partition, err);
    if (code != FZ_OK) {
        json_decref(partition);
        return code;
    }
    json_t *file =
        record("r2", members_to_json(data_file, FZ_COUNT(data_file), version, partition));
    json_t *fields = members_to_json(entry, FZ_COUNT(entry), version, NULL);
    json_array_append_new(fields, field("data_file", file, true, FZ_ICEBERG_ID_DATA_FILE, NULL));
    *out = record("manifest_entry", fields);
    return FZ_OK;
}

json_t *fz_iceberg_list_schema(int version) {
    json_t *summary =
        record("r508", members_to_json(field_summary, FZ_COUNT(field_summary), version, NULL));
    return record("manifest_file",
                  members_to_json(list_entry, FZ_COUNT(list_entry), version, summary));
}

fz_avro_datum fz_iceberg_partition_datum(const fz_value *value, const fz_type *type,
                                         fz_arena *arena) {
    if (value->is_null) {
        return fz_avro_datum_null();
    }
    switch (type->kind) {
    case FZ_TYPE_BOOLEAN:
        return fz_avro_datum_bool(value->as.integer != 0);
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        return fz_avro_datum_int((int32_t)value->as.integer);
    case FZ_TYPE_FLOAT:
        return (fz_avro_datum){.kind = FZ_AVRO_DATUM_FLOAT, .as.real32 = value->as.real32};
    case FZ_TYPE_DOUBLE:
        return (fz_avro_datum){.kind = FZ_AVRO_DATUM_DOUBLE, .as.real64 = value->as.real64};
    case FZ_TYPE_DECIMAL: {
        size_t size = (size_t)fz_decimal_fixed_size(type->precision);
        uint8_t *bytes = FZ_ARENA_ARRAY(arena, uint8_t, size);
        fz_decimal_to_be(value->as.decimal, bytes, size);
        return fz_avro_datum_fixed(fz_str_make(bytes, size));
    }
    case FZ_TYPE_STRING:
        return fz_avro_datum_string(value->as.bytes);
    case FZ_TYPE_BINARY:
        return fz_avro_datum_bytes(value->as.bytes);
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        return fz_avro_datum_fixed(value->as.bytes);
    default:
        return fz_avro_datum_long(value->as.integer);
    }
}

static bool is_integer(const fz_avro_datum *datum) {
    return datum->kind == FZ_AVRO_DATUM_INT || datum->kind == FZ_AVRO_DATUM_LONG;
}

static bool is_bytes(const fz_avro_datum *datum) {
    return datum->kind == FZ_AVRO_DATUM_BYTES || datum->kind == FZ_AVRO_DATUM_STRING ||
           datum->kind == FZ_AVRO_DATUM_FIXED;
}

/** Numbers: written before a promotion, they may be of the narrower type. */
static bool number_value(const fz_avro_datum *datum, const fz_type *type, fz_value *out) {
    switch (type->kind) {
    case FZ_TYPE_BOOLEAN:
        out->as.integer = datum->as.boolean;
        return datum->kind == FZ_AVRO_DATUM_BOOLEAN;
    case FZ_TYPE_FLOAT:
        out->as.real32 = datum->as.real32;
        return datum->kind == FZ_AVRO_DATUM_FLOAT;
    case FZ_TYPE_DOUBLE:
        out->as.real64 =
            datum->kind == FZ_AVRO_DATUM_FLOAT ? (double)datum->as.real32 : datum->as.real64;
        return datum->kind == FZ_AVRO_DATUM_FLOAT || datum->kind == FZ_AVRO_DATUM_DOUBLE;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        out->as.integer = datum->as.integer;
        return is_integer(datum) && datum->as.integer >= INT32_MIN &&
               datum->as.integer <= INT32_MAX;
    case FZ_TYPE_DECIMAL:
        return is_bytes(datum) && fz_decimal_from_be((const uint8_t *)datum->as.bytes.data,
                                                     datum->as.bytes.size, &out->as.decimal);
    default:
        out->as.integer = datum->as.integer;
        return is_integer(datum);
    }
}

fz_code fz_iceberg_partition_value(const fz_avro_datum *datum, const fz_type *type, fz_value *out,
                                   fz_err *err) {
    *out = (fz_value){.kind = type->kind};
    bool good;
    if (datum->kind == FZ_AVRO_DATUM_NULL) {
        out->is_null = true;
        return FZ_OK;
    }
    switch (type->kind) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
        out->as.bytes = datum->as.bytes;
        good = is_bytes(datum) && (type->kind != FZ_TYPE_UUID || datum->as.bytes.size == 16);
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        good = false;
        break;
    default:
        good = number_value(datum, type, out);
        break;
    }
    if (!good) {
        fz_buf text = {0};
        fz_type_format(type, &text);
        fz_code code =
            fz_err_set(err, FZ_CORRUPT, "partition value is not of type %s", fz_buf_cstr(&text));
        fz_buf_deinit(&text);
        return code;
    }
    return FZ_OK;
}
