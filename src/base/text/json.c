// SPDX-License-Identifier: Apache-2.0
// Documents in JSON through jansson.
#include "base/text/json.h"

#include "base/codec/text_codec.h"

fz_code fz_json_parse(fz_str text, json_t **out, fz_err *err) {
    json_error_t error;
    json_t *json =
        json_loadb(text.data ? text.data : "", text.size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!json) {
        fz_err_set(err, FZ_CORRUPT, "bad json at line %d, column %d: %s", error.line, error.column,
                   error.text);
        if (err) {
            err->offset = error.position;
        }
        return FZ_CORRUPT;
    }
    *out = json;
    return FZ_OK;
}

static int dump_to_buf(const char *data, size_t size, void *arg) {
    fz_buf *out = arg;
    fz_buf_append(out, data, size);
    return out->failed ? -1 : 0;
}

fz_code fz_json_format(const json_t *json, fz_buf *out, fz_err *err) {
    int failed = json_dump_callback(json, dump_to_buf, out, JSON_COMPACT | JSON_ENCODE_ANY);
    FZ_TRY(fz_buf_check(out, "json text", err));
    if (failed) {
        return fz_err_set(err, FZ_INTERNAL, "a json value could not be written");
    }
    return FZ_OK;
}

// For text that is not UTF-8 against the contract: each bad byte becomes U+FFFD.
static json_t *string_of_bytes(fz_str text) {
    fz_buf clean = {0};
    size_t at = 0;
    while (at < text.size) {
        size_t size = 0;
        for (size_t n = 1; n <= 4 && n <= text.size - at && size == 0; n++) {
            size = fz_utf8_valid(text.data + at, n) ? n : 0;
        }
        if (size) {
            fz_buf_append(&clean, text.data + at, size);
        } else {
            fz_utf8_append(&clean, 0xfffd);
        }
        at += size ? size : 1;
    }
    json_t *json = json_stringn(fz_buf_cstr(&clean), clean.failed ? 0 : clean.size);
    fz_buf_deinit(&clean);
    return json;
}

json_t *fz_json_string(fz_str text) {
    json_t *json = json_stringn(text.data ? text.data : "", text.size);
    if (!json) {
        json = string_of_bytes(text);
    }
    FZ_ASSERT(json != NULL);
    return json;
}

void fz_json_set_str(json_t *object, const char *key, fz_str text) {
    int failed = json_object_set_new(object, key, fz_json_string(text));
    FZ_ASSERT(failed == 0);
}

void fz_json_set_int(json_t *object, const char *key, int64_t value) {
    int failed = json_object_set_new(object, key, json_integer(value));
    FZ_ASSERT(failed == 0);
}

fz_str fz_json_view(const json_t *json) {
    if (!json_is_string(json)) {
        return fz_str_make("", 0);
    }
    return fz_str_make(json_string_value(json), json_string_length(json));
}

static const char *type_name(const json_t *json) {
    if (!json) {
        return "nothing";
    }
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a real number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

static fz_code wrong_member(const json_t *object, const json_t *member, const char *key,
                            const char *where, const char *wanted, fz_err *err) {
    if (!json_is_object(object)) {
        return fz_err_set(err, FZ_CORRUPT, "%s is %s, wanted an object with \"%s\"", where,
                          type_name(object), key);
    }
    return fz_err_set(err, FZ_CORRUPT, "\"%s\" of %s is %s, wanted %s", key, where,
                      member ? type_name(member) : "missing", wanted);
}

fz_code fz_json_get_str(const json_t *object, const char *key, const char *where, fz_str *out,
                        fz_err *err) {
    const json_t *member = json_object_get(object, key);
    if (!json_is_string(member)) {
        return wrong_member(object, member, key, where, "a string", err);
    }
    *out = fz_json_view(member);
    return FZ_OK;
}

fz_code fz_json_get_int(const json_t *object, const char *key, const char *where, int64_t *out,
                        fz_err *err) {
    const json_t *member = json_object_get(object, key);
    if (!json_is_integer(member)) {
        return wrong_member(object, member, key, where, "an integer", err);
    }
    *out = json_integer_value(member);
    return FZ_OK;
}

int64_t fz_json_int_or(const json_t *object, const char *key, int64_t fallback) {
    const json_t *member = json_object_get(object, key);
    return json_is_integer(member) ? json_integer_value(member) : fallback;
}

fz_str fz_json_str_or(const json_t *object, const char *key) {
    return fz_json_view(json_object_get(object, key));
}

void fz_json_release(json_t **json) {
    json_decref(*json);
    *json = NULL;
}
