// SPDX-License-Identifier: Apache-2.0
// Schemas by id, by subject, from the configuration; what the registry denied is not asked for
// again at once.
#include "flow/ingest/writer_schemas.h"

#include "base/map.h"
#include "base/thread.h"
#include "base/vec.h"
#include "format/avro/schema.h"
#include "format/json/schema.h"
#include "format/raw.h"
#include "format/shape_names.h"

#define ASK_AGAIN_MS                                                                               \
    1000 // a producer registers just before it sends: an unknown id may be known in a moment
#define DENIAL_KEEP_MS 10000 // then it is taken as unknown for this long
#define FAILURE_KEEP_MS 500  // any other failure of the registry
#define MAX_SLOTS                                                                                  \
    100000 // denied ids beyond are forgotten; bytes that are no frame look like ids too
#define MAX_HINTS 3

/** An entry with what the contract does not show. */
typedef struct owned_entry {
    fz_writer_schema_entry entry; // first
    fz_buf warnings;
} owned_entry;

typedef enum slot_state { SLOT_LOADING, SLOT_READY, SLOT_FAILED } slot_state;

typedef struct slot {
    slot_state state;
    owned_entry *entry; // READY
    fz_err err;         // FAILED
    int64_t until_ms;   // FAILED: not asked again before; INT64_MAX: never
    bool asked_twice;   // FAILED: an unknown id is a denial now
} slot;

struct fz_writer_schemas {
    fz_writer_schemas_options options;
    fz_mutex mutex; // guards all below
    fz_cond cond;   // a slot left LOADING
    fz_map slots;
    FZ_VEC(owned_entry *) entries; // all that were given out
    owned_entry *fixed;            // raw or configured
    owned_entry *unframed;         // newest of the subject when it was first wanted
    char *record_name;             // of the first schema that a record named; NULL: none yet
};

fz_writer_schemas *fz_writer_schemas_new(const fz_writer_schemas_options *options) {
    fz_writer_schemas *schemas = (fz_writer_schemas *)fz_calloc(1, sizeof(*schemas));
    schemas->options = *options;
    fz_mutex_init(&schemas->mutex);
    fz_cond_init(&schemas->cond);
    return schemas;
}

static void entry_free(owned_entry *owned) {
    if (!owned) {
        return;
    }
    fz_writer_schema_free(owned->entry.schema);
    fz_schema_unref(owned->entry.shape);
    fz_schema_unref(owned->entry.bound);
    fz_free(owned->entry.texts);
    fz_buf_deinit(&owned->warnings);
    fz_free(owned);
}

void fz_writer_schemas_free(fz_writer_schemas *schemas) {
    if (!schemas) {
        return;
    }
    for (size_t i = 0; i < schemas->slots.count; i++) {
        fz_free(schemas->slots.entries[i].value);
    }
    fz_map_deinit(&schemas->slots);
    for (size_t i = 0; i < schemas->entries.count; i++) {
        entry_free(schemas->entries.data[i]);
    }
    fz_vec_deinit(&schemas->entries);
    fz_free(schemas->record_name);
    fz_cond_deinit(&schemas->cond);
    fz_mutex_deinit(&schemas->mutex);
    fz_free(schemas);
}

// --- subjects ---

static const char *strategy_name(fz_config_strategy strategy) {
    static const char *const names[] = {[FZ_STRATEGY_TOPIC_NAME] = "topic_name",
                                        [FZ_STRATEGY_RECORD_NAME] = "record_name",
                                        [FZ_STRATEGY_TOPIC_RECORD_NAME] = "topic_record_name"};
    return names[strategy];
}

char *fz_writer_schemas_subject(const fz_writer_schemas_options *options, fz_str record_name) {
    const fz_config_side *side = options->side;
    if (side->subject.size) {
        return fz_str_dup(side->subject);
    }
    switch (side->subject_name_strategy) {
    case FZ_STRATEGY_RECORD_NAME:
        return fz_str_dup(record_name);
    case FZ_STRATEGY_TOPIC_RECORD_NAME:
        return fz_str_printf("%.*s-%.*s", FZ_STR_ARGS(options->topic), FZ_STR_ARGS(record_name));
    case FZ_STRATEGY_TOPIC_NAME:
        break;
    }
    return fz_str_printf("%.*s-%s", FZ_STR_ARGS(options->topic), options->is_key ? "key" : "value");
}

static bool subject_needs_record(const fz_config_side *side) {
    return side->subject.size == 0 && side->subject_name_strategy != FZ_STRATEGY_TOPIC_NAME;
}

// `:.context:name` without the context, unless the wanted name has one.
static fz_str plain_subject(fz_str subject, fz_str wanted) {
    if (fz_str_starts_with(subject, FZ_STR(":.")) && !fz_str_starts_with(wanted, FZ_STR(":."))) {
        size_t end = fz_str_find(subject, ':', 1);
        return end == SIZE_MAX ? subject : fz_str_slice(subject, end + 1, subject.size);
    }
    return subject;
}

// --- making entries ---

static const char *format_name(fz_config_format format) {
    static const char *const names[] = {[FZ_CONFIG_FORMAT_NONE] = "none",
                                        [FZ_CONFIG_FORMAT_AUTO] = "auto",
                                        [FZ_CONFIG_FORMAT_AVRO] = "avro",
                                        [FZ_CONFIG_FORMAT_PROTOBUF] = "protobuf",
                                        [FZ_CONFIG_FORMAT_JSON_SCHEMA] = "json_schema",
                                        [FZ_CONFIG_FORMAT_JSON] = "json",
                                        [FZ_CONFIG_FORMAT_CONNECT_JSON] = "connect_json",
                                        [FZ_CONFIG_FORMAT_STRING] = "string",
                                        [FZ_CONFIG_FORMAT_BYTES] = "bytes"};
    return names[format];
}

static fz_code lacking(const char *side, const char *what, fz_err *err) {
    return fz_err_set_kind(err, FZ_UNSUPPORTED, "unsupported_type", "%s: this build cannot read %s",
                           side, what);
}

static fz_code parse_json(fz_str text, const fz_registry_reference *references, size_t count,
                          fz_writer_schema **out, fz_str *record_name, fz_err *err) {
    fz_json_reference *named = (fz_json_reference *)fz_calloc(count + 1, sizeof(*named));
    fz_code code = FZ_OK;
    for (size_t i = 0; i < count && code == FZ_OK; i++) {
        named[i] = (fz_json_reference){references[i].name, references[i].text};
        if (references[i].type != FZ_REGISTRY_JSON) {
            code = fz_err_set_kind(err, FZ_CORRUPT, "schema_parse",
                                   "reference \"%.*s\" is of type %s, wanted JSON",
                                   FZ_STR_ARGS(fz_str_slice(references[i].name, 0, 200)),
                                   fz_registry_type_name(references[i].type));
        }
    }
    if (code == FZ_OK) {
        code = fz_json_schema_new(text, named, count, out, err);
    }
    fz_free(named);
    if (code == FZ_OK) {
        *record_name = fz_json_schema_name(*out);
    }
    return code;
}

// A schema of one of the registry's types; *record_name is borrowed from it.
static fz_code parse_schema(const char *side, fz_registry_type type, fz_str text,
                            const fz_registry_reference *references, size_t count,
                            fz_writer_schema **out, fz_str *record_name, fz_err *err) {
    switch (type) {
    case FZ_REGISTRY_AVRO: {
        fz_avro_reference *named =
            (fz_avro_reference *)fz_calloc(count + 1, sizeof(fz_avro_reference));
        fz_code code = FZ_OK;
        for (size_t i = 0; i < count && code == FZ_OK; i++) {
            named[i] = (fz_avro_reference){references[i].name, references[i].text};
            if (references[i].type != FZ_REGISTRY_AVRO) {
                code = fz_err_set_kind(err, FZ_CORRUPT, "schema_parse",
                                       "reference \"%.*s\" is of type %s, wanted AVRO",
                                       FZ_STR_ARGS(fz_str_slice(references[i].name, 0, 200)),
                                       fz_registry_type_name(references[i].type));
            }
        }
        if (code == FZ_OK) {
            code = fz_avro_schema_new(text, named, count, NULL, out, err);
        }
        fz_free(named);
        if (code == FZ_OK) {
            *record_name = fz_avro_schema_name(*out);
        }
        return code;
    }
    case FZ_REGISTRY_PROTOBUF:
        return lacking(side, "Protobuf schemas", err);
    case FZ_REGISTRY_JSON:
        return parse_json(text, references, count, out, record_name, err);
    }
    return lacking(side, "schemas of this type", err);
}

// A key that is no record is one column `key`.
static void name_single_key(const fz_writer_schemas *schemas, owned_entry *owned) {
    fz_type *root = &owned->entry.shape->root;
    bool whole = root->field_count == 1 && root->fields[0].origin != FZ_SHAPE_ORIGIN_NONE &&
                 (root->fields[0].origin & FZ_SHAPE_ORIGIN_ROOT) != 0;
    if (schemas->options.is_key && whole) {
        root->fields[0].name = FZ_STR("key");
    }
}

// Takes `schema`, also on failure.
static fz_code make_entry(const fz_writer_schemas *schemas, fz_writer_schema *schema,
                          owned_entry **out, fz_err *err) {
    owned_entry *owned = (owned_entry *)fz_calloc(1, sizeof(*owned));
    owned->entry.schema = schema;
    owned->entry.frame.id = -1;
    owned->entry.version = -1;
    owned->entry.bound_number = -1;
    owned->entry.may_change = true;
    fz_code code = fz_writer_schema_shape(schema, &schemas->options.mapping, &owned->warnings,
                                          &owned->entry.shape, err);
    if (code != FZ_OK) {
        entry_free(owned);
        return code;
    }
    name_single_key(schemas, owned);
    *out = owned;
    return FZ_OK;
}

static fz_code check_format(const fz_writer_schemas *schemas, fz_registry_type type, fz_err *err) {
    fz_config_format format = schemas->options.side->format;
    bool good = format == FZ_CONFIG_FORMAT_AUTO || format == FZ_CONFIG_FORMAT_NONE ||
                (format == FZ_CONFIG_FORMAT_AVRO && type == FZ_REGISTRY_AVRO) ||
                (format == FZ_CONFIG_FORMAT_PROTOBUF && type == FZ_REGISTRY_PROTOBUF) ||
                (format == FZ_CONFIG_FORMAT_JSON_SCHEMA && type == FZ_REGISTRY_JSON);
    return good ? FZ_OK
                : fz_err_set_kind(err, FZ_UNSUPPORTED, "unsupported_type",
                                  "the schema is of type %s, and %s.format is %s",
                                  fz_registry_type_name(type), schemas->options.side_name,
                                  format_name(format));
}

// An entry of what the registry gave; *subject is the one by the strategy, fz_free it.
static fz_code entry_of_registry(fz_writer_schemas *schemas, const fz_registry_schema *from,
                                 owned_entry **out, char **subject, fz_str *record_name,
                                 fz_err *err) {
    fz_writer_schema *schema = NULL;
    *record_name = (fz_str){0};
    FZ_TRY(check_format(schemas, from->type, err));
    FZ_TRY(parse_schema(schemas->options.side_name, from->type, from->text, from->references,
                        from->reference_count, &schema, record_name, err));
    FZ_TRY(make_entry(schemas, schema, out, err));
    (*out)->entry.record = *record_name;
    *subject = fz_writer_schemas_subject(&schemas->options, *record_name);
    (*out)->entry.frame = (fz_registry_frame){.id = from->id};
    return FZ_OK;
}

static bool is_raw(const fz_config_side *side) {
    if (side->mode == FZ_KEY_MODE_BYTES) {
        return true; // whatever the key's format is
    }
    switch (side->format) {
    case FZ_CONFIG_FORMAT_JSON:
    case FZ_CONFIG_FORMAT_CONNECT_JSON:
    case FZ_CONFIG_FORMAT_STRING:
    case FZ_CONFIG_FORMAT_BYTES:
        return true;
    default:
        return false;
    }
}

// Raw values, and schemas that the configuration holds: neither needs the registry.
static bool is_fixed(const fz_writer_schemas *schemas) {
    return is_raw(schemas->options.side) || schemas->options.side->schema.size > 0;
}

// JSON without a schema, into the columns of the configuration.
static fz_code given_columns(const fz_config_columns *columns, fz_writer_schema **out,
                             fz_err *err) {
    fz_field *fields = (fz_field *)fz_calloc(columns->count, sizeof(*fields));
    for (size_t i = 0; i < columns->count; i++) {
        fields[i] = (fz_field){.name = columns->items[i].name,
                               .type = columns->items[i].type,
                               .required = columns->items[i].required};
    }
    fz_code code = fz_json_columns_new(fields, columns->count, out, err);
    fz_free(fields);
    return code;
}

static fz_code make_fixed(fz_writer_schemas *schemas, owned_entry **out, fz_err *err) {
    const fz_config_side *side = schemas->options.side;
    const char *name = schemas->options.side_name;
    fz_str column = schemas->options.is_key ? FZ_STR("key") : FZ_STR("value");
    bool optional = schemas->options.is_key;
    fz_str record_name = {0};
    fz_writer_schema *schema = NULL;
    if (side->mode == FZ_KEY_MODE_BYTES) {
        return make_entry(schemas, fz_raw_schema_new(FZ_RAW_BYTES, column, optional), out, err);
    }
    switch (side->format) {
    case FZ_CONFIG_FORMAT_STRING:
        schema = fz_raw_schema_new(FZ_RAW_STRING, column, optional);
        break;
    case FZ_CONFIG_FORMAT_BYTES:
        schema = fz_raw_schema_new(FZ_RAW_BYTES, column, optional);
        break;
    case FZ_CONFIG_FORMAT_JSON:
        if (side->infer > 0) {
            return lacking(name, "JSON into inferred columns", err);
        }
        if (side->columns.count > 0) {
            FZ_TRY(given_columns(&side->columns, &schema, err));
            break;
        }
        schema = fz_raw_schema_new(FZ_RAW_JSON, column, true);
        break;
    case FZ_CONFIG_FORMAT_CONNECT_JSON:
        return lacking(name, "JSON envelopes of Kafka Connect", err);
    case FZ_CONFIG_FORMAT_AVRO:
        FZ_TRY(parse_schema(name, FZ_REGISTRY_AVRO, side->schema, NULL, 0, &schema, &record_name,
                            err));
        break;
    case FZ_CONFIG_FORMAT_PROTOBUF:
        return parse_schema(name, FZ_REGISTRY_PROTOBUF, side->schema, NULL, 0, &schema,
                            &record_name, err);
    case FZ_CONFIG_FORMAT_JSON_SCHEMA:
        return parse_schema(name, FZ_REGISTRY_JSON, side->schema, NULL, 0, &schema, &record_name,
                            err);
    default:
        return fz_err_set_kind(err, FZ_NOT_FOUND, "no_schema",
                               "%s.schema is of a format that is not told: set %s.format", name,
                               name);
    }
    FZ_TRY(make_entry(schemas, schema, out, err));
    (*out)->entry.record = record_name;
    return FZ_OK;
}

static fz_code find_fixed(fz_writer_schemas *schemas, owned_entry **out, fz_err *err) {
    fz_mutex_lock(&schemas->mutex);
    fz_code code = FZ_OK;
    if (!schemas->fixed) {
        code = make_fixed(schemas, &schemas->fixed, err);
        if (code == FZ_OK) {
            fz_vec_push(&schemas->entries, schemas->fixed);
        }
    }
    *out = schemas->fixed;
    fz_mutex_unlock(&schemas->mutex);
    return code;
}

// --- the newest of a subject ---

static fz_code no_registry(const fz_writer_schemas *schemas, fz_err *err) {
    const char *name = schemas->options.side_name;
    return fz_err_set_kind(err, FZ_NOT_FOUND, "no_schema",
                           "topic \"%.*s\": %s.format is %s and there is no schema registry: set "
                           "schema_registry.url, or %s.format to one that needs none",
                           FZ_STR_ARGS(fz_str_slice(schemas->options.topic, 0, 249)), name,
                           format_name(schemas->options.side->format), name);
}

static fz_code no_subject(const fz_writer_schemas *schemas, fz_str subject, fz_err *err) {
    const fz_config_side *side = schemas->options.side;
    const char *name = schemas->options.side_name;
    FZ_CLEANUP(fz_buf_deinit) fz_buf near = {0};
    fz_registry_names hints = {0};
    fz_registry_hint_subjects(schemas->options.registry, subject, MAX_HINTS, &hints);
    for (size_t i = 0; i < hints.count; i++) {
        fz_buf_printf(&near, "%s\"%.*s\"", i ? ", " : "; there are ",
                      FZ_STR_ARGS(fz_str_slice(hints.items[i], 0, 100)));
    }
    fz_registry_names_deinit(&hints);
    return fz_err_set_kind(
        err, FZ_NOT_FOUND, "no_schema",
        "topic \"%.*s\": the schema registry has no subject \"%.*s\" (%s.%s: %s)%s; register the "
        "schema there, or set %s.subject or %s.subject_name_strategy",
        FZ_STR_ARGS(fz_str_slice(schemas->options.topic, 0, 100)),
        FZ_STR_ARGS(fz_str_slice(subject, 0, 150)), name,
        side->subject.size ? "subject" : "subject_name_strategy",
        side->subject.size ? "as given" : strategy_name(side->subject_name_strategy),
        fz_buf_cstr(&near), name, name);
}

// An answer that is none of a registry's is somebody between us and it, and passes.
static fz_code registry_failed(fz_code code, fz_err *err) {
    if (code == FZ_CORRUPT && err && !err->kind) {
        err->code = FZ_UNAVAILABLE;
        return FZ_UNAVAILABLE;
    }
    return code;
}

static fz_str slot_key(const fz_registry_frame *frame) {
    return frame->has_guid ? fz_str_make(frame->guid, sizeof(frame->guid))
                           : fz_str_make(&frame->id, sizeof(frame->id));
}

static void set_subject(owned_entry *owned, char *subject, int32_t version) {
    owned->entry.texts = subject;
    owned->entry.subject = fz_str_from(subject);
    owned->entry.version = version;
}

// Give the entry to the map, unless an equal one is there: then that one, and this one is freed.
static owned_entry *settle_latest(fz_writer_schemas *schemas, owned_entry *owned) {
    fz_mutex_lock(&schemas->mutex);
    fz_str key = slot_key(&owned->entry.frame);
    slot *s = (slot *)fz_map_find(&schemas->slots, key);
    if (owned->entry.frame.id < 0) {
        fz_vec_push(&schemas->entries, owned); // a registry that does not tell the id
    } else if (s && s->state == SLOT_READY && s->entry->entry.may_change &&
               s->entry->entry.version == owned->entry.version) {
        entry_free(owned);
        owned = s->entry;
    } else {
        if (!s) {
            s = (slot *)fz_calloc(1, sizeof(*s));
            s->state = SLOT_FAILED;
            fz_map_put(&schemas->slots, key, s);
        }
        if (s->state != SLOT_LOADING) { // what is being loaded comes out the same
            s->entry = owned;
            s->state = SLOT_READY;
        }
        fz_vec_push(&schemas->entries, owned);
    }
    fz_mutex_unlock(&schemas->mutex);
    return owned;
}

static char *subject_of_topic(fz_writer_schemas *schemas) {
    if (!subject_needs_record(schemas->options.side)) {
        return fz_writer_schemas_subject(&schemas->options, (fz_str){0});
    }
    fz_mutex_lock(&schemas->mutex);
    char *subject =
        schemas->record_name
            ? fz_writer_schemas_subject(&schemas->options, fz_str_from(schemas->record_name))
            : NULL;
    fz_mutex_unlock(&schemas->mutex);
    return subject;
}

static fz_code find_latest(fz_writer_schemas *schemas, owned_entry **out, fz_err *err) {
    const fz_writer_schemas_options *options = &schemas->options;
    if (!options->registry) {
        return no_registry(schemas, err);
    }
    char *subject = subject_of_topic(schemas);
    if (!subject) {
        return fz_err_set_kind(
            err, FZ_NOT_FOUND, "no_schema",
            "topic \"%.*s\": %s.subject_name_strategy is %s, and no record has "
            "named its schema yet; set %s.subject to start without one",
            FZ_STR_ARGS(fz_str_slice(options->topic, 0, 249)), options->side_name,
            strategy_name(options->side->subject_name_strategy), options->side_name);
    }
    fz_registry_schema *from = NULL;
    fz_code code = fz_registry_latest(options->registry, fz_str_from(subject), &from, err);
    // the subject is there, but a schema that it refers to is not: another matter
    bool reference = err && err->kind && strcmp(err->kind, "schema_parse") == 0;
    if (code == FZ_NOT_FOUND && !reference) {
        code = no_subject(schemas, fz_str_from(subject), err);
        fz_free(subject);
        return code;
    }
    code = registry_failed(code, err);
    owned_entry *owned = NULL;
    char *by_strategy = NULL;
    fz_str record_name;
    if (code == FZ_OK) {
        code = entry_of_registry(schemas, from, &owned, &by_strategy, &record_name, err);
        if (code != FZ_OK) {
            (void)fz_err_prepend(err, "subject \"%.100s\" version %d (schema id %d)", subject,
                                 from->version, from->id);
        }
    }
    fz_free(by_strategy);
    if (code == FZ_OK) {
        set_subject(owned, subject, from->version);
        *out = settle_latest(schemas, owned);
    } else {
        fz_free(subject);
    }
    fz_registry_schema_unref(from);
    return code;
}

fz_code fz_writer_schemas_latest(fz_writer_schemas *schemas, fz_writer_schema_entry **out,
                                 fz_buf *warnings, fz_err *err) {
    owned_entry *owned = NULL;
    FZ_TRY(is_fixed(schemas) ? find_fixed(schemas, &owned, err)
                             : find_latest(schemas, &owned, err));
    if (warnings) {
        fz_buf_append_str(warnings, fz_buf_view(&owned->warnings));
    }
    *out = &owned->entry;
    return FZ_OK;
}

// --- by id ---

// Under which version of the entry's subject is the id registered? A registry that cannot tell is
// taken to mean yes.
static fz_code find_version(fz_writer_schemas *schemas, owned_entry *owned, fz_str subject,
                            int32_t *version, fz_err *err) {
    *version = -1;
    if (owned->entry.frame.id < 0) {
        return FZ_OK;
    }
    fz_registry_versions versions = {0};
    fz_code code = fz_registry_versions_of_id(schemas->options.registry, owned->entry.frame.id,
                                              subject, &versions, err);
    if (code == FZ_UNAVAILABLE) {
        return code;
    }
    if (code != FZ_OK || versions.count == 0) {
        fz_registry_versions_deinit(&versions);
        return FZ_OK;
    }
    owned->entry.may_change = false;
    for (size_t i = 0; i < versions.count; i++) {
        if (fz_str_equal(plain_subject(versions.items[i].subject, subject), subject)) {
            owned->entry.may_change = true;
            *version = versions.items[i].version > *version ? versions.items[i].version : *version;
        }
    }
    fz_registry_versions_deinit(&versions);
    return FZ_OK;
}

static fz_code load(fz_writer_schemas *schemas, const fz_registry_frame *frame, owned_entry **out,
                    fz_err *err) {
    fz_registry *registry = schemas->options.registry;
    char *context = subject_of_topic(schemas);
    fz_registry_schema *from = NULL;
    fz_code code = frame->has_guid ? fz_registry_schema_by_guid(registry, frame->guid, &from, err)
                                   : fz_registry_schema_by_id(registry, frame->id,
                                                              fz_str_from(context), &from, err);
    fz_free(context);
    if (code != FZ_OK) {
        return registry_failed(code, err);
    }
    owned_entry *owned = NULL;
    char *subject = NULL;
    fz_str record_name;
    int32_t version = -1;
    code = entry_of_registry(schemas, from, &owned, &subject, &record_name, err);
    if (code == FZ_OK) {
        code = find_version(schemas, owned, fz_str_from(subject), &version, err);
    } else {
        (void)fz_err_prepend(err, "schema id %d", from->id);
    }
    if (code != FZ_OK) {
        entry_free(owned);
        fz_free(subject);
        fz_registry_schema_unref(from);
        return code;
    }
    set_subject(owned, subject, version);
    if (frame->has_guid) {
        owned->entry.frame.has_guid = true;
        memcpy(owned->entry.frame.guid, frame->guid, sizeof(frame->guid));
    }
    fz_mutex_lock(&schemas->mutex);
    fz_vec_push(&schemas->entries, owned);
    if (!schemas->record_name && record_name.size) {
        schemas->record_name = fz_str_dup(record_name);
    }
    fz_mutex_unlock(&schemas->mutex);
    fz_registry_schema_unref(from);
    *out = owned;
    return FZ_OK;
}

static void settle_failure(fz_writer_schemas *schemas, slot *s, fz_code code, fz_err *err) {
    int64_t now = fz_clock_mono_ms(schemas->options.clock);
    s->state = SLOT_FAILED;
    err->code = code;
    if (code == FZ_NOT_FOUND && s->asked_twice) {
        s->until_ms = now + DENIAL_KEEP_MS;
    } else if (code == FZ_NOT_FOUND) {
        s->asked_twice = true;
        s->until_ms = now + ASK_AGAIN_MS;
        err->code = FZ_UNAVAILABLE; // not yet the record's fault
        err->retry_after_ms = ASK_AGAIN_MS;
    } else if (code == FZ_CORRUPT || code == FZ_UNSUPPORTED || code == FZ_LIMIT) {
        s->until_ms = INT64_MAX;
    } else {
        s->until_ms = now + FAILURE_KEEP_MS;
    }
    s->err = *err;
}

// Forget denials when they are too many.
static void prune(fz_writer_schemas *schemas) {
    if (schemas->slots.count < MAX_SLOTS) {
        return;
    }
    for (size_t i = schemas->slots.count; i > 0; i--) {
        const fz_map_entry *entry = &schemas->slots.entries[i - 1];
        slot *s = (slot *)entry->value;
        if (s->state == SLOT_FAILED && s->until_ms != INT64_MAX) {
            fz_map_remove(&schemas->slots, entry->key);
            fz_free(s);
        }
    }
}

// The slot of a frame when this thread has to load it, NULL when there is an outcome. Locked.
static slot *claim(fz_writer_schemas *schemas, fz_str key, owned_entry **out, fz_code *code,
                   fz_err *err) {
    for (;;) {
        slot *s = (slot *)fz_map_find(&schemas->slots, key);
        if (!s) {
            prune(schemas);
            s = (slot *)fz_calloc(1, sizeof(*s));
            fz_map_put(&schemas->slots, key, s);
            s->state = SLOT_LOADING;
            return s;
        }
        if (s->state == SLOT_READY) {
            *out = s->entry;
            *code = FZ_OK;
            return NULL;
        }
        if (s->state == SLOT_FAILED) {
            if (fz_clock_mono_ms(schemas->options.clock) >= s->until_ms) {
                s->state = SLOT_LOADING;
                return s;
            }
            *code = s->err.code;
            if (err) {
                *err = s->err;
            }
            return NULL;
        }
        fz_cond_wait(&schemas->cond, &schemas->mutex);
    }
}

static fz_code find_framed(fz_writer_schemas *schemas, const fz_registry_frame *frame,
                           owned_entry **out, fz_err *err) {
    fz_str key = slot_key(frame);
    fz_code code = FZ_OK;
    fz_mutex_lock(&schemas->mutex);
    slot *s = claim(schemas, key, out, &code, err);
    fz_mutex_unlock(&schemas->mutex);
    if (!s) {
        return code;
    }
    fz_err why = {0};
    owned_entry *owned = NULL;
    code = load(schemas, frame, &owned, &why);
    fz_mutex_lock(&schemas->mutex);
    if (code == FZ_OK) {
        s->state = SLOT_READY;
        s->entry = owned;
        *out = owned;
    } else {
        settle_failure(schemas, s, code, &why);
        code = s->err.code;
        if (err) {
            *err = s->err;
        }
    }
    fz_cond_broadcast(&schemas->cond);
    fz_mutex_unlock(&schemas->mutex);
    return code;
}

// Values without a frame under a registry: all are of the subject's newest schema.
static fz_code find_unframed(fz_writer_schemas *schemas, owned_entry **out, fz_err *err) {
    fz_mutex_lock(&schemas->mutex);
    owned_entry *owned = schemas->unframed;
    fz_mutex_unlock(&schemas->mutex);
    if (!owned) {
        FZ_TRY(find_latest(schemas, &owned, err));
        fz_mutex_lock(&schemas->mutex);
        schemas->unframed = schemas->unframed ? schemas->unframed : owned;
        owned = schemas->unframed;
        fz_mutex_unlock(&schemas->mutex);
    }
    *out = owned;
    return FZ_OK;
}

fz_code fz_writer_schemas_find(fz_writer_schemas *schemas, const fz_registry_frame *frame,
                               fz_writer_schema_entry **out, fz_err *err) {
    const fz_writer_schemas_options *options = &schemas->options;
    bool by_registry = options->registry && options->side->framing == FZ_FRAMING_CONFLUENT &&
                       !is_raw(options->side);
    owned_entry *owned = NULL;
    if (is_fixed(schemas) && !by_registry) {
        FZ_TRY(find_fixed(schemas, &owned, err));
    } else if (!options->registry) {
        return no_registry(schemas, err);
    } else if (options->side->framing != FZ_FRAMING_CONFLUENT) {
        FZ_TRY(find_unframed(schemas, &owned, err));
    } else {
        FZ_TRY(find_framed(schemas, frame, &owned, err));
    }
    *out = &owned->entry;
    return FZ_OK;
}

bool fz_writer_schemas_is_older(fz_writer_schemas *schemas, const fz_writer_schema_entry *entry) {
    fz_mutex_lock(&schemas->mutex);
    bool older = false;
    for (size_t i = 0; entry->version > 0 && i < schemas->entries.count && !older; i++) {
        const fz_writer_schema_entry *other = &schemas->entries.data[i]->entry;
        older = other->version > entry->version &&
                (!schemas->options.by_record || (fz_str_equal(other->record, entry->record) &&
                                                 fz_str_equal(other->subject, entry->subject)));
    }
    fz_mutex_unlock(&schemas->mutex);
    return older;
}
