// SPDX-License-Identifier: Apache-2.0
// The memory registry as a Confluent-compatible server: routes, replies, error codes.
#include "io/registry/memory_answer.h"

#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "base/text/number.h"
#include "io/registry/memory_registry.h"
#include "io/registry/schema_json.h"

enum { MAX_PARTS = 6 };

typedef struct answer {
    fz_registry *registry;
    const fz_http_call *call;
    fz_http_reply *reply;
    fz_str parts[MAX_PARTS];
    size_t count;
} answer;

static void give(answer *a, json_t *json) {
    fz_err err;
    a->reply->content_type = FZ_STR(FZ_REGISTRY_MEDIA_TYPE);
    if (fz_json_format(json, &a->reply->body, &err) != FZ_OK) {
        a->reply->status = 500;
    }
    json_decref(json);
}

static void refuse(answer *a, int status, int code, const char *message) {
    json_t *json = json_object();
    fz_json_set_int(json, "error_code", code);
    fz_json_set_str(json, "message", fz_str_from(message));
    a->reply->status = status;
    give(a, json);
}

static bool part_is(const answer *a, size_t index, const char *text) {
    return index < a->count && fz_str_equal(a->parts[index], fz_str_from(text));
}

static bool parse_number(fz_str text, int32_t *out) {
    int64_t v;
    if (fz_int_parse(text, &v, NULL) != FZ_OK || v < 0 || v > INT32_MAX) {
        return false;
    }
    *out = (int32_t)v;
    return true;
}

static void give_names(answer *a, const fz_registry_names *names, fz_str prefix) {
    json_t *list = json_array();
    for (size_t i = 0; i < names->count; i++) {
        if (fz_str_starts_with(names->items[i], prefix)) {
            json_array_append_new(list, fz_json_string(names->items[i]));
        }
    }
    give(a, list);
}

static void get_subjects(answer *a) {
    fz_registry_names names = {0};
    fz_str prefix = FZ_STR("");
    fz_http_call_parameter(a->call, "subjectPrefix", &a->reply->arena, &prefix);
    if (fz_registry_subjects(a->registry, &names, NULL) == FZ_OK) {
        give_names(a, &names, prefix);
    } else {
        refuse(a, 500, 50001, "subjects cannot be listed");
    }
    fz_registry_names_deinit(&names);
}

static void get_versions(answer *a) {
    fz_registry_raw newest = {.id = -1, .version = -1};
    if (!fz_registry_memory_find_version(a->registry, a->parts[1], FZ_REGISTRY_MEMORY_NEWEST, false,
                                         &newest)) {
        refuse(a, 404, 40401, "Subject not found.");
        return;
    }
    json_t *list = json_array();
    for (int32_t n = 1; n <= newest.version; n++) {
        fz_registry_raw raw = {.id = -1, .version = -1};
        if (fz_registry_memory_find_version(a->registry, a->parts[1], n, false, &raw)) {
            json_array_append_new(list, json_integer(n));
        }
        fz_registry_raw_deinit(&raw);
    }
    fz_registry_raw_deinit(&newest);
    give(a, list);
}

static void get_version(answer *a) {
    int32_t number = FZ_REGISTRY_MEMORY_NEWEST;
    fz_str deleted = FZ_STR("");
    fz_registry_raw raw = {.id = -1, .version = -1};
    if (!part_is(a, 3, "latest") && !part_is(a, 3, "-1") && !parse_number(a->parts[3], &number)) {
        refuse(a, 422, 42202, "The specified version is not a valid version id.");
        return;
    }
    fz_http_call_parameter(a->call, "deleted", &a->reply->arena, &deleted);
    bool removed_too = fz_str_equal(deleted, FZ_STR("true"));
    if (fz_registry_memory_find_version(a->registry, a->parts[1], number, removed_too, &raw)) {
        give(a, fz_registry_schema_json_make(&raw));
    } else {
        bool known = fz_registry_memory_find_version(a->registry, a->parts[1],
                                                     FZ_REGISTRY_MEMORY_NEWEST, removed_too, &raw);
        refuse(a, 404, known ? 40402 : 40401, known ? "Version not found." : "Subject not found.");
    }
    fz_registry_raw_deinit(&raw);
}

// An id says nothing of subjects.
static void give_schema(answer *a, bool found, fz_registry_raw *raw, bool with_id) {
    if (found) {
        raw->id = with_id ? raw->id : -1;
        give(a, fz_registry_schema_json_make(raw));
    } else {
        refuse(a, 404, 40403, "Schema not found");
    }
    fz_registry_raw_deinit(raw);
}

static void get_versions_of_id(answer *a, int32_t id) {
    fz_registry_versions versions = {0};
    if (fz_registry_versions_of_id(a->registry, id, FZ_STR(""), &versions, NULL) != FZ_OK) {
        refuse(a, 404, 40403, "Schema not found");
        return;
    }
    json_t *list = json_array();
    for (size_t i = 0; i < versions.count; i++) {
        json_t *item = json_object();
        fz_json_set_str(item, "subject", versions.items[i].subject);
        fz_json_set_int(item, "version", versions.items[i].version);
        json_array_append_new(list, item);
    }
    fz_registry_versions_deinit(&versions);
    give(a, list);
}

static void get_schemas(answer *a) {
    fz_registry_raw raw = {.id = -1, .version = -1};
    uint8_t guid[16];
    int32_t id;
    if (a->count == 2 && part_is(a, 1, "types")) {
        give(a, json_pack("[s,s,s]", "JSON", "PROTOBUF", "AVRO"));
    } else if (a->count >= 3 && part_is(a, 1, "ids") && parse_number(a->parts[2], &id)) {
        if (a->count == 3) {
            give_schema(a, fz_registry_memory_find_id(a->registry, id, &raw), &raw, false);
        } else if (a->count == 4 && part_is(a, 3, "versions")) {
            get_versions_of_id(a, id);
        } else {
            refuse(a, 404, 404, "HTTP 404 Not Found");
        }
    } else if (a->count == 3 && part_is(a, 1, "guids") && fz_uuid_parse(a->parts[2], guid)) {
        give_schema(a, fz_registry_memory_find_guid(a->registry, guid, &raw), &raw, false);
    } else {
        refuse(a, 404, 404, "HTTP 404 Not Found");
    }
}

static void post_version(answer *a) {
    FZ_CLEANUP(fz_json_release) json_t *json = NULL;
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
    fz_err err;
    int32_t id;
    if (fz_json_parse(a->call->body, &json, &err) != FZ_OK ||
        fz_registry_schema_json_read(json, &raw, &err) != FZ_OK ||
        fz_registry_add(a->registry, a->parts[1], raw.type, raw.text, raw.references,
                        raw.reference_count, &id, &err) != FZ_OK) {
        refuse(a, 422, 42201, err.text);
        return;
    }
    give(a, json_pack("{s:i}", "id", (int)id));
}

// Is this schema registered under the subject?
static void post_lookup(answer *a) {
    FZ_CLEANUP(fz_json_release) json_t *json = NULL;
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw wanted = {.id = -1, .version = -1};
    fz_err err;
    if (fz_json_parse(a->call->body, &json, &err) != FZ_OK ||
        fz_registry_schema_json_read(json, &wanted, &err) != FZ_OK) {
        refuse(a, 422, 42201, err.text);
        return;
    }
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw newest = {.id = -1, .version = -1};
    if (!fz_registry_memory_find_version(a->registry, a->parts[1], FZ_REGISTRY_MEMORY_NEWEST, false,
                                         &newest)) {
        refuse(a, 404, 40401, "Subject not found.");
        return;
    }
    for (int32_t n = newest.version; n >= 1; n--) {
        FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
        if (fz_registry_memory_find_version(a->registry, a->parts[1], n, false, &raw) &&
            raw.type == wanted.type && fz_str_equal(raw.text, wanted.text)) {
            give(a, fz_registry_schema_json_make(&raw));
            return;
        }
    }
    refuse(a, 404, 40403, "Schema not found");
}

void fz_registry_memory_handle(void *registry, const fz_http_call *call, fz_http_reply *reply) {
    answer a = {.registry = registry, .call = call, .reply = reply};
    a.count = fz_http_call_parts(call, &reply->arena, a.parts, MAX_PARTS);
    bool get = fz_str_equal(call->method, FZ_STR("GET"));
    bool post = fz_str_equal(call->method, FZ_STR("POST"));
    if (get && a.count == 0) {
        give(&a, json_object());
    } else if (get && a.count <= MAX_PARTS && part_is(&a, 0, "schemas")) {
        get_schemas(&a);
    } else if (get && a.count == 1 && part_is(&a, 0, "subjects")) {
        get_subjects(&a);
    } else if (get && a.count == 3 && part_is(&a, 0, "subjects") && part_is(&a, 2, "versions")) {
        get_versions(&a);
    } else if (get && a.count == 4 && part_is(&a, 0, "subjects") && part_is(&a, 2, "versions")) {
        get_version(&a);
    } else if (post && a.count == 3 && part_is(&a, 0, "subjects") && part_is(&a, 2, "versions")) {
        post_version(&a);
    } else if (post && a.count == 2 && part_is(&a, 0, "subjects")) {
        post_lookup(&a);
    } else {
        refuse(&a, 404, 404, "HTTP 404 Not Found");
    }
}
