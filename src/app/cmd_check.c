// SPDX-License-Identifier: Apache-2.0
// frazil check: connects, resolves schemas, prints the derived DDL and what would change; changes
// nothing.
#include <stdio.h>

#include "app/commands.h"
#include "app/host.h"
#include "base/memory.h"
#include "flow/ingest/open.h"
#include "flow/ingest/record_tables.h"
#include "flow/ingest/service.h"

/** What was found of one topic. */
typedef struct finding {
    fz_stream *stream;
    fz_err err;
    fz_code code;
    bool exists;
    bool changes;
    fz_buf ddl;
    fz_buf text;     // changes, a line each
    fz_buf warnings; // a line each
} finding;

static void print_field(const fz_field *field, fz_buf *out) {
    fz_buf_printf(out, "  \"%.*s\" ", FZ_STR_ARGS(field->name));
    fz_type_format(&field->type, out);
    if (field->required) {
        fz_buf_append_str(out, FZ_STR(" NOT NULL"));
    }
    if (field->doc.size > 0) {
        fz_buf_append_str(out, FZ_STR(" COMMENT '"));
        for (size_t i = 0; i < field->doc.size; i++) {
            char c = field->doc.data[i];
            fz_buf_append_byte(out, (uint8_t)(c == '\n' ? ' ' : c));
            if (c == '\'') {
                fz_buf_append_byte(out, '\'');
            }
        }
        fz_buf_append_byte(out, '\'');
    }
}

static void print_ddl(const char *name, const char *location, const fz_layout *layout,
                      fz_buf *out) {
    fz_buf_printf(out, "CREATE TABLE %s (\n", name);
    const fz_type *root = &layout->schema->root;
    for (size_t i = 0; i < root->field_count; i++) {
        print_field(&root->fields[i], out);
        fz_buf_append_str(out, i + 1 < root->field_count ? FZ_STR(",\n") : FZ_STR("\n"));
    }
    fz_buf_append_byte(out, ')');
    for (size_t i = 0; i < layout->spec.field_count; i++) {
        const fz_partition_field *field = &layout->spec.fields[i];
        FZ_CLEANUP(fz_buf_deinit) fz_buf path = {0};
        fz_schema_path(layout->schema, field->source_id, &path);
        fz_buf_append_str(out, i == 0 ? FZ_STR("\nPARTITIONED BY (") : FZ_STR(", "));
        if (field->transform.kind == FZ_TRANSFORM_IDENTITY) {
            fz_buf_printf(out, "%s", fz_buf_cstr(&path));
        } else if (field->transform.kind == FZ_TRANSFORM_BUCKET ||
                   field->transform.kind == FZ_TRANSFORM_TRUNCATE) {
            fz_buf_printf(out, "%s(%d, %s)",
                          field->transform.kind == FZ_TRANSFORM_BUCKET ? "bucket" : "truncate",
                          field->transform.parameter, fz_buf_cstr(&path));
        } else {
            fz_buf_printf(out, "%.*s(%s)", FZ_STR_ARGS(field->transform_text), fz_buf_cstr(&path));
        }
    }
    if (layout->spec.field_count > 0) {
        fz_buf_append_byte(out, ')');
    }
    fz_buf_printf(out, "\nLOCATION '%s';\n", location);
}

static fz_code look_at_table(finding *f, const fz_open_shapes *shapes,
                             fz_iceberg_metadata *metadata, fz_layout **layout) {
    if (!metadata) {
        return fz_open_new_layout(f->stream, shapes, layout, &f->err);
    }
    FZ_TRY(fz_layout_load(f->stream->entry, metadata, layout, &f->err));
    return f->stream->by_record ? FZ_OK
                                : fz_open_bind_all(f->stream, shapes, layout, &f->text, &f->err);
}

/** The table of the newest record beside the home; others come with their first records. */
static fz_code look_at_record(finding *f) {
    char *name = NULL, *location = NULL;
    fz_layout *layout = NULL;
    bool exists = false;
    fz_code code =
        fz_record_table_preview(f->stream, &name, &location, &exists, &layout, &f->text, &f->err);
    if (code == FZ_OK) {
        f->changes = exists && f->text.size > 0;
        print_ddl(name, location, layout, &f->ddl);
    }
    fz_layout_unref(layout);
    fz_free(name);
    fz_free(location);
    return code == FZ_NOT_FOUND ? FZ_OK : code; // no subject of that name: records name theirs
}

static fz_code look(finding *f) {
    int32_t partitions;
    FZ_TRY(fz_open_supported(f->stream->entry, &f->err));
    FZ_TRY(fz_source_partitions(f->stream->host->source, fz_str_from(f->stream->topic), &partitions,
                                &f->err));
    fz_open_shapes shapes;
    FZ_TRY(fz_open_shapes_find(f->stream, &shapes, &f->err));
    fz_buf_append_str(&f->warnings, fz_buf_view(&shapes.warnings));
    fz_iceberg_metadata *metadata = NULL;
    fz_layout *layout = NULL;
    fz_code code = fz_open_load(f->stream, &metadata, &f->err);
    if (code == FZ_OK || code == FZ_NOT_FOUND) {
        f->exists = code == FZ_OK;
        code = look_at_table(f, &shapes, code == FZ_OK ? metadata : NULL, &layout);
    }
    if (f->stream->by_record && code == FZ_OK) {
        fz_buf_printf(
            &f->warnings,
            "catalog.table is \"%.*s\": tables of record types come with their first record, "
            "this one holds what cannot become a row\n",
            FZ_STR_ARGS(f->stream->entry->catalog.items[0].table));
    }
    if (code == FZ_OK) {
        f->changes = f->exists && f->text.size > 0;
        print_ddl(f->stream->full_name, f->stream->location, layout, &f->ddl);
    }
    if (f->stream->by_record && code == FZ_OK) {
        code = look_at_record(f);
    }
    fz_layout_unref(layout);
    fz_iceberg_metadata_unref(metadata);
    fz_open_shapes_deinit(&shapes);
    return code;
}

static void print_text(const finding *f) {
    if (f->code != FZ_OK) {
        printf("%s -> %s: %s: %s\n", f->stream->topic, f->stream->full_name,
               f->err.kind ? f->err.kind : fz_code_name(f->code), f->err.text);
        return;
    }
    printf("%s -> %s: %s\n", f->stream->topic, f->stream->full_name,
           !f->exists   ? "would be created"
           : f->changes ? "would change"
                        : "fits");
    if (f->warnings.size > 0) {
        printf("%.*s", FZ_STR_ARGS(fz_buf_view(&f->warnings)));
    }
    if (f->changes) {
        printf("%.*s", FZ_STR_ARGS(fz_buf_view(&f->text)));
    }
    printf("%.*s\n", FZ_STR_ARGS(fz_buf_view(&f->ddl)));
}

static json_t *finding_json(const finding *f) {
    json_t *json = json_object();
    fz_json_set_str(json, "topic", fz_str_from(f->stream->topic));
    fz_json_set_str(json, "table", fz_str_from(f->stream->full_name));
    if (f->code != FZ_OK) {
        json_t *error = json_object();
        fz_json_set_str(error, "kind",
                        fz_str_from(f->err.kind ? f->err.kind : fz_code_name(f->code)));
        fz_json_set_str(error, "message", fz_str_from(f->err.text));
        json_object_set_new(json, "error", error);
        return json;
    }
    json_object_set_new(json, "error", json_null());
    json_object_set_new(json, "exists", json_boolean(f->exists));
    fz_json_set_str(json, "changes", fz_buf_view(&f->text));
    fz_json_set_str(json, "warnings", fz_buf_view(&f->warnings));
    fz_json_set_str(json, "ddl", fz_buf_view(&f->ddl));
    return json;
}

static int exit_of(const finding *f) {
    if (f->code == FZ_OK) {
        return f->changes ? FZ_EXIT_DIFFERS : FZ_EXIT_OK;
    }
    bool could_not_ask = f->code == FZ_UNAVAILABLE || f->code == FZ_DENIED || f->code == FZ_IO ||
                         !f->err.kind || strcmp(f->err.kind, "unsupported") == 0;
    return could_not_ask ? FZ_EXIT_FAILED : FZ_EXIT_SUSPENDED;
}

/** Failed before suspended before changes. */
static int worse(int a, int b) {
    static const int order[] = {FZ_EXIT_FAILED, FZ_EXIT_SUSPENDED, FZ_EXIT_DIFFERS};
    for (size_t i = 0; i < FZ_COUNT(order); i++) {
        if (a == order[i] || b == order[i]) {
            return order[i];
        }
    }
    return FZ_EXIT_OK;
}

static int check_all(const fz_service *service, bool as_json) {
    int code = FZ_EXIT_OK;
    json_t *topics = json_array();
    for (size_t i = 0; i < fz_service_stream_count(service); i++) {
        finding f = {.stream = fz_service_stream_at(service, i)};
        f.code = look(&f);
        code = worse(code, exit_of(&f));
        if (as_json) {
            json_array_append_new(topics, finding_json(&f));
        } else {
            print_text(&f);
        }
        fz_buf_deinit(&f.ddl);
        fz_buf_deinit(&f.text);
        fz_buf_deinit(&f.warnings);
    }
    json_t *report = json_object();
    json_object_set_new(report, "topics", topics);
    if (as_json) {
        json_dumpf(report, stdout, JSON_COMPACT);
        putchar('\n');
    }
    json_decref(report);
    return code;
}

static int cmd_check(const fz_arguments *arguments) {
    fz_config config;
    if (!fz_arguments_config(arguments, &config)) {
        return FZ_EXIT_USAGE;
    }
    fz_host host;
    fz_err err = {0};
    fz_service *service = NULL;
    int code;
    if (fz_host_init(&host, &config, &err) == FZ_OK &&
        fz_service_new(&host.ingest, &service, &err) == FZ_OK) {
        code = check_all(service, arguments->json);
    } else {
        fprintf(stderr, "frazil check: %s\n", fz_err_text(&err));
        code = err.code == FZ_INVALID ? FZ_EXIT_USAGE : FZ_EXIT_FAILED;
    }
    fz_service_free(service);
    fz_host_deinit(&host);
    fz_config_deinit(&config);
    return code;
}

const fz_command fz_command_check = {
    .name = "check",
    .operands = "",
    .doc = "connect, resolve schemas, print the derived DDL and what would change; changes nothing",
    .run = cmd_check,
};
