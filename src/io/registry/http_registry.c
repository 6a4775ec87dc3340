// SPDX-License-Identifier: Apache-2.0
// Asking a Confluent-compatible server, over the first of several URLs that answers.
#include "io/registry/http_registry.h"

#include <stdio.h>

#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "base/text/uri.h"
#include "base/vec.h"
#include "io/http/client.h"
#include "io/registry/schema_json.h"

typedef struct http_registry {
    fz_registry registry;
    fz_http_client *client;
    FZ_VEC(char *) urls;  // without a slash at their end
    _Atomic size_t first; // index of the last URL that answered
    char *user;
    char *password;
    char *bearer;
    char *prefix; // ":.ctx:" or ""
    int64_t timeout_ms;
} http_registry;

// What a 404 with an error code of the registry means here.
typedef struct question {
    const char *what; // "schema id 5"
    const char *kind; // "unknown_schema_id"
} question;

static void release_text(char **text) {
    fz_free(*text);
    *text = NULL;
}

static char *percent(const char *prefix, fz_str text) {
    fz_buf out = {0};
    fz_percent_encode(&out, fz_str_from(prefix), "");
    fz_percent_encode(&out, text, "");
    char *encoded = fz_str_dup(fz_buf_view(&out));
    fz_buf_deinit(&out);
    return encoded;
}

// The context part of a subject (":.ctx:" of ":.ctx:name"), empty if it has none.
static fz_str context_of(fz_str subject) {
    if (!fz_str_starts_with(subject, FZ_STR(":."))) {
        return FZ_STR("");
    }
    size_t end = fz_str_find(subject, ':', 2);
    return end == SIZE_MAX ? FZ_STR("") : fz_str_slice(subject, 0, end + 1);
}

// A subject for a path: with the registry's context unless it names its own.
static char *subject_path(const http_registry *h, fz_str subject) {
    return percent(context_of(subject).size > 0 ? "" : h->prefix, subject);
}

// "?subject=%3A.ctx%3A" where ids are not those of the default context, else "".
static char *context_query(const http_registry *h, fz_str subject) {
    fz_str context = context_of(subject);
    if (context.size == 0) {
        context = fz_str_from(h->prefix);
    }
    if (context.size == 0 || fz_str_equal(context, FZ_STR(":.:"))) {
        return fz_str_dup(FZ_STR(""));
    }
    FZ_CLEANUP(release_text) char *encoded = percent("", context);
    return fz_str_printf("?subject=%s", encoded);
}

static fz_code denied(const http_registry *h, const fz_http_request *request, int status,
                      fz_err *err) {
    fz_buf url = {0};
    fz_uri uri;
    fz_str user = fz_str_from(h->user);
    fz_http_url_redact(&url, request->url);
    if (user.size == 0 && fz_uri_parse(request->url, &uri, NULL) == FZ_OK) {
        user = fz_str_slice(uri.user_info, 0, fz_str_find(uri.user_info, ':', 0));
    }
    const char *who = h->bearer       ? "the bearer token"
                      : user.size > 0 ? "user"
                                      : "nobody (no credentials given)";
    fz_err_set_kind(err, FZ_DENIED, "denied", "the schema registry answers %d to %s%s%.*s%s for %s",
                    status, who, h->bearer || user.size == 0 ? "" : " \"",
                    h->bearer ? 0 : (int)user.size, user.data ? user.data : "",
                    h->bearer || user.size == 0 ? "" : "\"", fz_buf_cstr(&url));
    fz_buf_deinit(&url);
    return FZ_DENIED;
}

// {"error_code": 40403, "message": ...} -> both; 0 when the body is not that.
static int64_t error_code_of(const fz_http_response *response, char *message, size_t size) {
    json_t *json = NULL;
    int64_t code = 0;
    message[0] = 0;
    if (fz_json_parse(fz_buf_view(&response->body), &json, NULL) == FZ_OK && json_is_object(json)) {
        code = fz_json_int_or(json, "error_code", 0);
        snprintf(message, size, "%.*s", FZ_STR_ARGS(fz_json_str_or(json, "message")));
    }
    fz_json_release(&json);
    return code;
}

static fz_code check_reply(const http_registry *h, const fz_http_request *request,
                           const fz_http_response *response, const question *q, fz_err *err) {
    int status = response->status;
    char message[256];
    if (status >= 200 && status < 300) {
        return FZ_OK;
    }
    if (status == 401 || status == 403) {
        return denied(h, request, status, err);
    }
    int64_t code = error_code_of(response, message, sizeof message);
    if (status == 404 && code >= 40400 && code < 40500) {
        return fz_err_set_kind(err, FZ_NOT_FOUND, q->kind,
                               "the schema registry has no %s: %s (error %lld)", q->what, message,
                               (long long)code);
    }
    fz_code answer = fz_http_response_check(request, response, err);
    if (status == 404) {
        // Not the registry's own word: a wrong path, or a proxy while the registry restarts. Never
        // take it for an answer about a record.
        answer = FZ_UNAVAILABLE;
        fz_err_prepend(err, "the URL does not answer like a schema registry");
        if (err) {
            err->code = answer;
        }
    }
    return answer;
}

static bool may_ask_another(fz_code code) {
    return code == FZ_UNAVAILABLE;
}

// Ask the URLs in turn, from the one that answered last, until one answers.
static fz_code ask(http_registry *h, const char *method, const char *path, fz_str body,
                   const question *q, json_t **out, fz_err *err) {
    const fz_http_header headers[] = {
        {FZ_STR("Accept"),
         FZ_STR(FZ_REGISTRY_MEDIA_TYPE ", application/vnd.schemaregistry+json, application/json")},
        {FZ_STR("Content-Type"), FZ_STR(FZ_REGISTRY_MEDIA_TYPE)},
    };
    size_t first = atomic_load(&h->first);
    fz_code code = FZ_INTERNAL;
    for (size_t i = 0; i < h->urls.count; i++) {
        size_t index = (first + i) % h->urls.count;
        FZ_CLEANUP(release_text) char *url = fz_str_printf("%s%s", h->urls.data[index], path);
        fz_http_request request = {
            .method = method,
            .url = fz_str_from(url),
            .headers = headers,
            .header_count = body.size > 0 ? 2 : 1,
            .body = body,
            .timeout_ms = h->timeout_ms,
            .user = h->user,
            .password = h->password,
            .bearer = h->bearer,
            .response_ceiling = FZ_REGISTRY_REPLY_MAX,
        };
        FZ_CLEANUP(fz_http_response_deinit) fz_http_response response = {0};
        code = fz_http_client_send(h->client, &request, &response, err);
        if (code == FZ_OK) {
            code = check_reply(h, &request, &response, q, err);
        }
        if (code == FZ_OK) {
            code = fz_json_parse(fz_buf_view(&response.body), out, err);
            if (code != FZ_OK) {
                fz_err_prepend(err, "reply of the schema registry about %s", q->what);
            }
        }
        if (!may_ask_another(code)) {
            atomic_store(&h->first, index);
            break;
        }
    }
    return code;
}

static fz_code ask_schema(http_registry *h, const char *path, const question *q,
                          fz_registry_raw *raw, fz_err *err) {
    FZ_CLEANUP(fz_json_release) json_t *json = NULL;
    FZ_TRY(ask(h, "GET", path, FZ_STR(""), q, &json, err));
    fz_code code = fz_registry_schema_json_read(json, raw, err);
    if (code != FZ_OK) {
        fz_err_prepend(err, "reply of the schema registry about %s", q->what);
    }
    return code;
}

static fz_code fetch_version(void *context, fz_str subject, int32_t version, fz_registry_raw *out,
                             fz_err *err) {
    http_registry *h = context;
    FZ_CLEANUP(release_text) char *encoded = subject_path(h, subject);
    // a version that was deleted since is still what the writer used
    FZ_CLEANUP(release_text)
    char *path = fz_str_printf("/subjects/%s/versions/%d?deleted=true", encoded, version);
    FZ_CLEANUP(release_text)
    char *what = fz_str_printf("version %d of subject \"%.*s\"", version, FZ_STR_ARGS(subject));
    question q = {what, "unknown_schema_id"};
    return ask_schema(h, path, &q, out, err);
}

static fz_code resolve(http_registry *h, const fz_registry_raw *raw, const question *q,
                       fz_registry_schema **out, fz_err *err) {
    return fz_registry_resolve(raw, q->what, fetch_version, h, out, err);
}

static fz_code http_schema_by_id(fz_registry *registry, int32_t id, fz_str subject,
                                 fz_registry_schema **out, fz_err *err) {
    http_registry *h = (http_registry *)registry;
    char what[32];
    snprintf(what, sizeof what, "schema id %d", id);
    question q = {what, "unknown_schema_id"};
    FZ_CLEANUP(release_text) char *query = context_query(h, subject);
    FZ_CLEANUP(release_text) char *path = fz_str_printf("/schemas/ids/%d%s", id, query);
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
    FZ_TRY(ask_schema(h, path, &q, &raw, err));
    raw.id = id;
    raw.subject = FZ_STR("");
    raw.version = -1;
    return resolve(h, &raw, &q, out, err);
}

static fz_code http_schema_by_guid(fz_registry *registry, const uint8_t guid[16],
                                   fz_registry_schema **out, fz_err *err) {
    http_registry *h = (http_registry *)registry;
    char text[37];
    fz_uuid_format(guid, text);
    FZ_CLEANUP(release_text) char *what = fz_str_printf("schema guid %s", text);
    question q = {what, "unknown_schema_id"};
    FZ_CLEANUP(release_text) char *path = fz_str_printf("/schemas/guids/%s", text);
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
    FZ_TRY(ask_schema(h, path, &q, &raw, err));
    raw.has_guid = true;
    memcpy(raw.guid, guid, sizeof raw.guid);
    raw.subject = FZ_STR("");
    raw.version = -1;
    return resolve(h, &raw, &q, out, err);
}

static fz_code http_latest(fz_registry *registry, fz_str subject, fz_registry_schema **out,
                           fz_err *err) {
    http_registry *h = (http_registry *)registry;
    FZ_CLEANUP(release_text) char *what = fz_str_printf("subject \"%.*s\"", FZ_STR_ARGS(subject));
    question q = {what, "no_schema"};
    FZ_CLEANUP(release_text) char *encoded = subject_path(h, subject);
    FZ_CLEANUP(release_text) char *path = fz_str_printf("/subjects/%s/versions/latest", encoded);
    FZ_CLEANUP(fz_registry_raw_deinit) fz_registry_raw raw = {.id = -1, .version = -1};
    FZ_TRY(ask_schema(h, path, &q, &raw, err));
    if (raw.id < 0 || raw.version < 0) {
        return fz_err_set(err, FZ_CORRUPT,
                          "reply of the schema registry about %s has no id or no version", q.what);
    }
    raw.subject = subject; // as it was asked for, without the registry's context
    return resolve(h, &raw, &q, out, err);
}

// Without the registry's own context in front.
static fz_str plain_subject(const http_registry *h, fz_str subject) {
    fz_str prefix = fz_str_from(h->prefix);
    return prefix.size > 0 && fz_str_starts_with(subject, prefix)
               ? fz_str_slice(subject, prefix.size, subject.size)
               : subject;
}

static fz_code http_subjects(fz_registry *registry, fz_registry_names *out, fz_err *err) {
    http_registry *h = (http_registry *)registry;
    question q = {"list of subjects", "no_schema"};
    FZ_CLEANUP(release_text) char *encoded = percent(h->prefix, FZ_STR(""));
    FZ_CLEANUP(release_text)
    char *path = fz_str_printf("/subjects%s%s", encoded[0] ? "?subjectPrefix=" : "", encoded);
    FZ_CLEANUP(fz_json_release) json_t *json = NULL;
    FZ_TRY(ask(h, "GET", path, FZ_STR(""), &q, &json, err));
    size_t count = json_array_size(json);
    if (!json_is_array(json)) {
        return fz_err_set(err, FZ_CORRUPT,
                          "the schema registry's list of subjects is not an array");
    }
    if (count > FZ_REGISTRY_SUBJECTS_MAX) {
        return fz_err_set(err, FZ_LIMIT, "%zu subjects, at most %d", count,
                          FZ_REGISTRY_SUBJECTS_MAX);
    }
    fz_registry_names names = {0};
    names.items = FZ_ARENA_ARRAY(&names.arena, fz_str, count);
    for (size_t i = 0; i < count; i++) {
        fz_str name = plain_subject(h, fz_json_view(json_array_get(json, i)));
        if (name.size > 0) {
            names.items[names.count++] = fz_arena_str(&names.arena, name);
        }
    }
    *out = names;
    return FZ_OK;
}

static fz_code http_versions_of_id(fz_registry *registry, int32_t id, fz_str subject,
                                   fz_registry_versions *out, fz_err *err) {
    http_registry *h = (http_registry *)registry;
    char what[32];
    snprintf(what, sizeof what, "schema id %d", id);
    question q = {what, "unknown_schema_id"};
    FZ_CLEANUP(release_text) char *query = context_query(h, subject);
    FZ_CLEANUP(release_text) char *path = fz_str_printf("/schemas/ids/%d/versions%s", id, query);
    FZ_CLEANUP(fz_json_release) json_t *json = NULL;
    FZ_TRY(ask(h, "GET", path, FZ_STR(""), &q, &json, err));
    size_t count = json_array_size(json);
    if (!json_is_array(json) || count > FZ_REGISTRY_SUBJECTS_MAX) {
        return fz_err_set(err, FZ_CORRUPT,
                          "the schema registry's versions of %s are not a short array", q.what);
    }
    fz_registry_versions versions = {0};
    versions.items = FZ_ARENA_ARRAY(&versions.arena, fz_registry_version, count);
    for (size_t i = 0; i < count; i++) {
        const json_t *item = json_array_get(json, i);
        fz_str name = plain_subject(h, fz_json_str_or(item, "subject"));
        if (name.size > 0) {
            versions.items[versions.count++] = (fz_registry_version){
                fz_arena_str(&versions.arena, name), fz_registry_json_int32(item, "version")};
        }
    }
    *out = versions;
    return FZ_OK;
}

static fz_code http_add(fz_registry *registry, fz_str subject, fz_registry_type type, fz_str text,
                        const fz_registry_reference *references, size_t reference_count,
                        int32_t *id, fz_err *err) {
    http_registry *h = (http_registry *)registry;
    FZ_CLEANUP(release_text) char *what = fz_str_printf("subject \"%.*s\"", FZ_STR_ARGS(subject));
    question q = {what, "no_schema"};
    FZ_CLEANUP(release_text) char *encoded = subject_path(h, subject);
    FZ_CLEANUP(release_text) char *path = fz_str_printf("/subjects/%s/versions", encoded);
    fz_registry_raw raw = {.id = -1,
                           .version = -1,
                           .type = type,
                           .text = text,
                           .references = (fz_registry_reference *)(uintptr_t)references,
                           .reference_count = reference_count};
    FZ_CLEANUP(fz_json_release) json_t *request = fz_registry_schema_json_make(&raw);
    FZ_CLEANUP(fz_json_release) json_t *json = NULL;
    FZ_CLEANUP(fz_buf_deinit) fz_buf body = {0};
    FZ_TRY(fz_json_format(request, &body, err));
    FZ_TRY(ask(h, "POST", path, fz_buf_view(&body), &q, &json, err));
    int32_t found = fz_registry_json_int32(json, "id");
    if (found < 0) {
        return fz_err_set(err, FZ_CORRUPT,
                          "reply of the schema registry to a registration has no id");
    }
    *id = found;
    return FZ_OK;
}

static void http_free(fz_registry *registry) {
    http_registry *h = (http_registry *)registry;
    fz_http_client_free(h->client);
    for (size_t i = 0; i < h->urls.count; i++) {
        fz_free(h->urls.data[i]);
    }
    fz_vec_deinit(&h->urls);
    fz_free(h->user);
    fz_free(h->password);
    fz_free(h->bearer);
    fz_free(h->prefix);
    fz_free(h);
}

static char *copy(const char *text) {
    return text && text[0] ? fz_str_dup(fz_str_from(text)) : NULL;
}

// ":.ctx:" of "ctx", ".ctx" or ":.ctx:"; "" for the default context.
static char *context_prefix(const char *context) {
    fz_str name = fz_str_from(context);
    while (name.size > 0 && (name.data[0] == ':' || name.data[0] == '.')) {
        name = fz_str_slice(name, 1, name.size);
    }
    while (name.size > 0 && name.data[name.size - 1] == ':') {
        name.size--;
    }
    return name.size > 0 ? fz_str_printf(":.%.*s:", FZ_STR_ARGS(name)) : fz_str_dup(FZ_STR(""));
}

static fz_code add_url(http_registry *h, const char *text, fz_err *err) {
    fz_uri uri;
    fz_str url = fz_str_trim(fz_str_from(text));
    while (fz_str_ends_with(url, FZ_STR("/"))) {
        url.size--;
    }
    FZ_TRY(fz_uri_parse(url, &uri, err));
    bool http = fz_str_equal_nocase(uri.scheme, FZ_STR("http")) ||
                fz_str_equal_nocase(uri.scheme, FZ_STR("https"));
    if (!http || uri.host.size == 0 || uri.query.size > 0) {
        fz_buf shown = {0};
        fz_http_url_redact(&shown, url);
        fz_err_set(err, FZ_INVALID,
                   "\"%s\" is not the URL of a schema registry, wanted http://host:port",
                   fz_buf_cstr(&shown));
        fz_buf_deinit(&shown);
        return FZ_INVALID;
    }
    char *own = fz_str_dup(url);
    fz_vec_push(&h->urls, own);
    return FZ_OK;
}

fz_code fz_registry_http_open(const fz_registry_http_options *options, fz_registry **out,
                              fz_err *err) {
    static const fz_registry_ops ops = {
        .name = "http",
        .schema_by_id = http_schema_by_id,
        .schema_by_guid = http_schema_by_guid,
        .latest = http_latest,
        .subjects = http_subjects,
        .versions_of_id = http_versions_of_id,
        .add = http_add,
        .free = http_free,
    };
    if (options->url_count == 0) {
        return fz_err_set(err, FZ_INVALID, "a schema registry needs a URL");
    }
    http_registry *h = fz_calloc(1, sizeof *h);
    h->registry.ops = &ops;
    h->user = copy(options->user);
    h->password = copy(options->password);
    h->bearer = copy(options->bearer);
    h->prefix = context_prefix(options->context);
    h->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : 10000;
    h->client = fz_http_client_new(&(fz_http_client_options){
        .tls_ca_file = options->tls_ca_file,
        .tls_cert_file = options->tls_cert_file,
        .tls_key_file = options->tls_key_file,
        .clock = options->clock,
    });
    for (size_t i = 0; i < options->url_count; i++) {
        fz_code code = add_url(h, options->urls[i], err);
        if (code != FZ_OK) {
            http_free(&h->registry);
            return code;
        }
    }
    *out = &h->registry;
    return FZ_OK;
}
