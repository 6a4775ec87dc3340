// SPDX-License-Identifier: Apache-2.0
// Reading and writing of {"schema", "schemaType", "references", ...}.
#include "io/registry/schema_json.h"

#include "base/codec/text_codec.h"

int32_t fz_registry_json_int32(const json_t *object, const char *key) {
    int64_t v = fz_json_int_or(object, key, -1);
    return v >= 0 && v <= INT32_MAX ? (int32_t)v : -1;
}

static fz_code read_references(const json_t *list, fz_registry_raw *raw, fz_err *err) {
    if (!list || json_is_null(list)) {
        return FZ_OK;
    }
    if (!json_is_array(list)) {
        return fz_err_set(err, FZ_CORRUPT, "\"references\" of a schema is not an array");
    }
    size_t count = json_array_size(list);
    if (count > FZ_REGISTRY_REFERENCES_MAX) {
        return fz_err_set(err, FZ_LIMIT, "%zu references of a schema, at most %d", count,
                          FZ_REGISTRY_REFERENCES_MAX);
    }
    raw->references = FZ_ARENA_ARRAY(&raw->arena, fz_registry_reference, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(list, i);
        fz_registry_reference *r = &raw->references[i];
        fz_str name;
        fz_str subject;
        FZ_TRY(fz_json_get_str(item, "name", "a reference", &name, err));
        FZ_TRY(fz_json_get_str(item, "subject", "a reference", &subject, err));
        r->name = fz_arena_str(&raw->arena, name);
        r->subject = fz_arena_str(&raw->arena, subject);
        r->version = fz_registry_json_int32(item, "version");
        if (r->version < 0) {
            // -1 is the newest one: the registry resolves it at registration, a reply never has it
            return fz_err_set(err, FZ_CORRUPT, "reference \"%.*s\" has no version",
                              FZ_STR_ARGS(name));
        }
    }
    raw->reference_count = count;
    return FZ_OK;
}

fz_code fz_registry_schema_json_read(const json_t *json, fz_registry_raw *raw, fz_err *err) {
    fz_str text;
    if (!json_is_object(json)) {
        return fz_err_set(err, FZ_CORRUPT, "a schema is not a JSON object");
    }
    FZ_TRY(fz_json_get_str(json, "schema", "a schema", &text, err));
    if (text.size > FZ_REGISTRY_TEXT_MAX) {
        return fz_err_set(err, FZ_LIMIT, "a schema of %zu bytes, at most %u", text.size,
                          FZ_REGISTRY_TEXT_MAX);
    }
    FZ_TRY(fz_registry_type_parse(fz_json_str_or(json, "schemaType"), &raw->type, err));
    FZ_TRY(read_references(json_object_get(json, "references"), raw, err));
    raw->text = fz_arena_str(&raw->arena, text);
    raw->subject = fz_arena_str(&raw->arena, fz_json_str_or(json, "subject"));
    raw->version = fz_registry_json_int32(json, "version");
    raw->id = fz_registry_json_int32(json, "id");
    raw->has_guid = fz_uuid_parse(fz_json_str_or(json, "guid"), raw->guid);
    return FZ_OK;
}

json_t *fz_registry_schema_json_make(const fz_registry_raw *raw) {
    json_t *json = json_object();
    if (raw->subject.size > 0) {
        fz_json_set_str(json, "subject", raw->subject);
    }
    if (raw->version >= 0) {
        fz_json_set_int(json, "version", raw->version);
    }
    if (raw->id >= 0) {
        fz_json_set_int(json, "id", raw->id);
    }
    if (raw->has_guid) {
        char guid[37];
        fz_uuid_format(raw->guid, guid);
        fz_json_set_str(json, "guid", fz_str_from(guid));
    }
    if (raw->type != FZ_REGISTRY_AVRO) {
        fz_json_set_str(json, "schemaType", fz_str_from(fz_registry_type_name(raw->type)));
    }
    if (raw->reference_count > 0) {
        json_t *list = json_array();
        for (size_t i = 0; i < raw->reference_count; i++) {
            json_t *item = json_object();
            fz_json_set_str(item, "name", raw->references[i].name);
            fz_json_set_str(item, "subject", raw->references[i].subject);
            fz_json_set_int(item, "version", raw->references[i].version);
            json_array_append_new(list, item);
        }
        json_object_set_new(json, "references", list);
    }
    fz_json_set_str(json, "schema", raw->text);
    return json;
}
