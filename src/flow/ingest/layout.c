// SPDX-License-Identifier: Apache-2.0
// Schema, owners of columns, metadata columns and partitioning of a table as rows are written now.
#include "flow/ingest/layout.h"

#include "base/memory.h"
#include "data/row_sort.h"

static const struct {
    const char *name;
    fz_type_kind kind;
} meta_columns[FZ_METADATA_COUNT] = {
    [FZ_METADATA_TOPIC] = {"topic", FZ_TYPE_STRING},
    [FZ_METADATA_PARTITION] = {"partition", FZ_TYPE_INT},
    [FZ_METADATA_OFFSET] = {"offset", FZ_TYPE_LONG},
    [FZ_METADATA_TIMESTAMP] = {"timestamp", FZ_TYPE_TIMESTAMPTZ},
    [FZ_METADATA_TIMESTAMP_TYPE] = {"timestamp_type", FZ_TYPE_STRING},
    [FZ_METADATA_LEADER_EPOCH] = {"leader_epoch", FZ_TYPE_INT},
    [FZ_METADATA_SCHEMA_ID] = {"schema_id", FZ_TYPE_INT},
    [FZ_METADATA_KEY] = {"key", FZ_TYPE_BINARY},
    [FZ_METADATA_HEADERS] = {"headers", FZ_TYPE_LIST},
};

fz_layout *fz_layout_ref(fz_layout *layout) {
    layout->references++;
    return layout;
}

void fz_layout_unref(fz_layout *layout) {
    if (!layout || --layout->references > 0) {
        return;
    }
    fz_iceberg_metadata_unref(layout->metadata);
    fz_schema_unref(layout->schema);
    json_decref(layout->link);
    fz_arena_deinit(&layout->arena);
    fz_free(layout);
}

void fz_layout_headers_type(fz_arena *arena, fz_type *type) {
    type->fields = FZ_ARENA_NEW(arena, fz_field);
    type->field_count = 1;
    fz_field *element = &type->fields[0];
    element->name = FZ_STR("element");
    element->required = true;
    element->type.kind = FZ_TYPE_STRUCT;
    element->type.fields = FZ_ARENA_ARRAY(arena, fz_field, 2);
    element->type.field_count = 2;
    element->type.fields[0] =
        (fz_field){.name = FZ_STR("key"), .required = true, .type = {.kind = FZ_TYPE_STRING}};
    element->type.fields[1] = (fz_field){.name = FZ_STR("value"), .type = {.kind = FZ_TYPE_BINARY}};
}

static void meta_field(fz_arena *arena, fz_config_metadata_field field, fz_str name,
                       fz_str identity, fz_field *out) {
    *out = (fz_field){.name = fz_arena_str(arena, name),
                      .identity = fz_arena_str(arena, identity),
                      .origin = (int32_t)field,
                      .type = {.kind = meta_columns[field].kind}};
    if (field == FZ_METADATA_HEADERS) {
        fz_layout_headers_type(arena, &out->type);
        fz_field *element = &out->type.fields[0];
        element->identity = FZ_STR("headers.element");
        element->type.fields[0].identity = FZ_STR("headers.element.key");
        element->type.fields[1].identity = FZ_STR("headers.element.value");
    }
}

fz_schema *fz_layout_metadata_shape(const fz_config_entry *entry, bool several_topics) {
    size_t inside = 0, promoted = 0;
    bool has_topic = false;
    for (size_t i = 0; i < entry->metadata.count; i++) {
        bool out = entry->metadata.items[i].column.size > 0;
        inside += !out;
        promoted += out;
        has_topic = has_topic || entry->metadata.items[i].field == FZ_METADATA_TOPIC;
    }
    bool add_topic = several_topics && !has_topic;
    inside += add_topic;
    if (inside + promoted == 0) {
        return NULL;
    }
    fz_schema *shape = fz_schema_new();
    fz_arena *arena = &shape->arena;
    shape->root.kind = FZ_TYPE_STRUCT;
    shape->root.fields = FZ_ARENA_ARRAY(arena, fz_field, promoted + 1);
    fz_field *kafka = NULL;
    if (inside > 0) {
        kafka = &shape->root.fields[shape->root.field_count++];
        kafka->name = kafka->identity = FZ_STR("_kafka");
        kafka->type.kind = FZ_TYPE_STRUCT;
        kafka->type.fields = FZ_ARENA_ARRAY(arena, fz_field, inside);
        kafka->origin = -1;
    }
    if (add_topic) {
        meta_field(arena, FZ_METADATA_TOPIC, FZ_STR("topic"), FZ_STR("topic"),
                   &kafka->type.fields[kafka->type.field_count++]);
    }
    for (size_t i = 0; i < entry->metadata.count; i++) {
        const fz_config_metadata_item *item = &entry->metadata.items[i];
        fz_str name = fz_str_from(meta_columns[item->field].name);
        if (item->column.size > 0) {
            meta_field(arena, item->field, item->column, name,
                       &shape->root.fields[shape->root.field_count++]);
        } else {
            meta_field(arena, item->field, name, name,
                       &kafka->type.fields[kafka->type.field_count++]);
        }
    }
    return shape;
}

fz_schema *fz_layout_key_shape(const fz_config_entry *entry, const fz_schema *key) {
    const fz_config_side *side = &entry->key;
    fz_schema *shape = fz_schema_new();
    shape->root.kind = FZ_TYPE_STRUCT;
    if (side->mode == FZ_KEY_MODE_STRUCT) {
        shape->root.fields = FZ_ARENA_NEW(&shape->arena, fz_field);
        shape->root.field_count = 1;
        shape->root.fields[0] =
            (fz_field){.name = FZ_STR("key"), .identity = FZ_STR("key"), .origin = -1};
        shape->root.fields[0].type = fz_type_copy(&shape->arena, &key->root);
        return shape;
    }
    shape->root.fields = FZ_ARENA_ARRAY(&shape->arena, fz_field, key->root.field_count + 1);
    for (size_t i = 0; i < key->root.field_count; i++) {
        fz_field *field = &shape->root.fields[shape->root.field_count++];
        fz_field_copy(&shape->arena, &key->root.fields[i], field);
        field->required = false;
        if (side->prefix.size > 0) {
            field->name = fz_arena_printf(&shape->arena, "%.*s%.*s", FZ_STR_ARGS(side->prefix),
                                          FZ_STR_ARGS(field->name));
        }
    }
    return shape;
}

// --- making one

static fz_layout *layout_new(void) {
    fz_layout *layout = (fz_layout *)fz_calloc(1, sizeof *layout);
    layout->references = 1;
    return layout;
}

static void add_meta(fz_layout *layout, const fz_field *field, int32_t top, int32_t child) {
    for (int f = 0; f < FZ_METADATA_COUNT; f++) {
        fz_str key = fz_arena_printf(&layout->arena, "m:%s", meta_columns[f].name);
        const json_t *id = json_object_get(layout->link, key.data);
        if (id && json_integer_value(id) == field->id) {
            layout->meta[layout->meta_count++] =
                (fz_layout_meta){(fz_config_metadata_field)f, top, child};
        }
    }
}

/** Owners of the top-level columns, and the places of metadata, from the link. */
static void find_owners(fz_layout *layout) {
    const fz_type *root = &layout->schema->root;
    size_t leaves = root->field_count;
    for (int side = 0; side < 3; side++) {
        layout->owned[side] = FZ_ARENA_ARRAY(&layout->arena, bool, root->field_count + 1);
    }
    for (size_t i = 0; i < root->field_count; i++) {
        const fz_field *field = &root->fields[i];
        fz_evolve_side side = FZ_EVOLVE_VALUE;
        if (fz_evolve_link_has(layout->link, FZ_EVOLVE_METADATA, field->id)) {
            side = FZ_EVOLVE_METADATA;
        } else if (fz_evolve_link_has(layout->link, FZ_EVOLVE_KEY, field->id)) {
            side = FZ_EVOLVE_KEY;
        }
        layout->owned[side][i] = true;
        leaves += side == FZ_EVOLVE_METADATA ? field->type.field_count : 0;
    }
    layout->meta = FZ_ARENA_ARRAY(&layout->arena, fz_layout_meta, leaves + 1);
    layout->meta_count = 0;
    for (size_t i = 0; i < root->field_count; i++) {
        const fz_field *field = &root->fields[i];
        if (!layout->owned[FZ_EVOLVE_METADATA][i]) {
            continue;
        }
        if (field->type.kind != FZ_TYPE_STRUCT) {
            add_meta(layout, field, (int32_t)i, -1);
            continue;
        }
        for (size_t j = 0; j < field->type.field_count; j++) {
            add_meta(layout, &field->type.fields[j], (int32_t)i, (int32_t)j);
        }
    }
}

/** Name of a partition field as Iceberg's builders give it: event_time_day, id_bucket_16, x. */
static fz_str partition_name(fz_arena *arena, fz_transform transform, fz_str path) {
    switch (transform.kind) {
    case FZ_TRANSFORM_YEAR:
        return fz_arena_printf(arena, "%.*s_year", FZ_STR_ARGS(path));
    case FZ_TRANSFORM_MONTH:
        return fz_arena_printf(arena, "%.*s_month", FZ_STR_ARGS(path));
    case FZ_TRANSFORM_DAY:
        return fz_arena_printf(arena, "%.*s_day", FZ_STR_ARGS(path));
    case FZ_TRANSFORM_HOUR:
        return fz_arena_printf(arena, "%.*s_hour", FZ_STR_ARGS(path));
    case FZ_TRANSFORM_BUCKET:
        return fz_arena_printf(arena, "%.*s_bucket_%d", FZ_STR_ARGS(path), transform.parameter);
    case FZ_TRANSFORM_TRUNCATE:
        return fz_arena_printf(arena, "%.*s_trunc_%d", FZ_STR_ARGS(path), transform.parameter);
    default:
        return fz_arena_str(arena, path);
    }
}

static const fz_field *field_by_path(const fz_schema *schema, const fz_config_texts *path,
                                     fz_buf *dotted) {
    const fz_type *type = &schema->root;
    const fz_field *field = NULL;
    for (size_t i = 0; i < path->count; i++) {
        fz_buf_printf(dotted, "%s%.*s", i ? "." : "", FZ_STR_ARGS(path->items[i]));
        if (type) {
            field = type->kind == FZ_TYPE_STRUCT ? fz_type_find(type, path->items[i]) : NULL;
            type = field ? &field->type : NULL;
        }
    }
    return field;
}

fz_code fz_layout_wanted_spec(const fz_layout *layout, const fz_config_entry *entry,
                              fz_arena *arena, fz_partition_spec *out, fz_err *err) {
    memset(out, 0, sizeof *out);
    out->fields = FZ_ARENA_ARRAY(arena, fz_partition_field, entry->partitioning.count + 1);
    for (size_t i = 0; i < entry->partitioning.count; i++) {
        const fz_config_term *term = &entry->partitioning.items[i];
        FZ_CLEANUP(fz_buf_deinit) fz_buf path = {0};
        const fz_field *source = field_by_path(layout->schema, &term->path, &path);
        if (!source) {
            return fz_err_set(err, FZ_NOT_FOUND,
                              "%.*s: partitioning names column \"%s\", which is not there",
                              FZ_STR_ARGS(entry->where), fz_buf_cstr(&path));
        }
        fz_partition_field *field = &out->fields[out->field_count++];
        FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
        fz_transform_format(term->transform, &text);
        field->source_id = source->id;
        field->field_id = 1000 + (int32_t)i;
        field->transform = term->transform;
        field->transform_text = fz_arena_str(arena, fz_buf_view(&text));
        field->source_type = fz_type_copy(arena, &source->type);
        field->name = partition_name(arena, term->transform, fz_buf_view(&path));
        if (fz_transform_result(term->transform, &source->type, &field->result_type, err) !=
            FZ_OK) {
            return fz_err_prepend(err, "%.*s: partitioning %s of column \"%s\"",
                                  FZ_STR_ARGS(entry->where), fz_buf_cstr(&text),
                                  fz_buf_cstr(&path));
        }
    }
    return FZ_OK;
}

fz_code fz_layout_wanted_order(const fz_layout *layout, const fz_config_entry *entry,
                               fz_arena *arena, fz_sort_order *out, fz_err *err) {
    *out = (fz_sort_order){.order_id = 1};
    out->fields = FZ_ARENA_ARRAY(arena, fz_sort_field, entry->sort_order.count + 1);
    for (size_t i = 0; i < entry->sort_order.count; i++) {
        const fz_config_sort *sort = &entry->sort_order.items[i];
        const fz_config_term *term = &sort->terms.items[0];
        FZ_CLEANUP(fz_buf_deinit) fz_buf path = {0};
        const fz_field *source = field_by_path(layout->schema, &term->path, &path);
        if (!source) {
            return fz_err_set(err, FZ_NOT_FOUND,
                              "%.*s: sort_order names column \"%s\", which is not there",
                              FZ_STR_ARGS(entry->where), fz_buf_cstr(&path));
        }
        out->fields[out->field_count++] =
            (fz_sort_field){source->id, term->transform, sort->descending, sort->nulls_last};
        const fz_sort_order one = {1, &out->fields[i], 1};
        if (!fz_row_sort_can(&one, layout->schema)) {
            return fz_err_set(err, FZ_UNSUPPORTED,
                              "%.*s: sort_order cannot be by column \"%s\" like this",
                              FZ_STR_ARGS(entry->where), fz_buf_cstr(&path));
        }
    }
    return FZ_OK;
}

static void evolve_input(const fz_layout *layout, const fz_config_entry *entry,
                         const fz_schema *shape, fz_evolve_side side, bool may_change,
                         fz_evolve_input *out) {
    *out = (fz_evolve_input){.table = layout->schema,
                             .last_column_id = layout->last_column_id,
                             .link = layout->link,
                             .shape = shape,
                             .side = side,
                             .policy = entry->evolution,
                             .may_change = may_change,
                             .format_version = layout->format_version};
    if (side == FZ_EVOLVE_METADATA) {
        // what the configuration asks for is wanted, whatever the policy for writers says
        out->policy.add = FZ_POLICY_APPLY;
        out->policy.drop = FZ_POLICY_KEEP;
    }
}

fz_code fz_layout_create(const fz_config_entry *entry, const fz_schema *key, const fz_schema *value,
                         const fz_schema *metadata_shape, fz_layout **out, fz_err *err) {
    // an empty table takes the columns by the same rules as one that exists; ids come out in
    // Iceberg's order afterwards
    fz_layout *layout = layout_new();
    layout->schema = fz_schema_new();
    layout->schema->root.kind = FZ_TYPE_STRUCT;
    layout->link = json_object();
    layout->format_version = (int)entry->format_version;
    const struct {
        const fz_schema *shape;
        fz_evolve_side side;
    } parts[] = {
        {value, FZ_EVOLVE_VALUE}, {key, FZ_EVOLVE_KEY}, {metadata_shape, FZ_EVOLVE_METADATA}};
    fz_schema *fresh = fz_schema_new();
    fresh->root.kind = FZ_TYPE_STRUCT;
    size_t count = 0;
    for (size_t i = 0; i < FZ_COUNT(parts); i++) {
        count += parts[i].shape ? parts[i].shape->root.field_count : 0;
    }
    fresh->root.fields = FZ_ARENA_ARRAY(&fresh->arena, fz_field, count + 1);
    static const int order[] = {1, 0, 2}; // key columns first, metadata last
    fz_code code = FZ_OK;
    for (size_t o = 0; o < FZ_COUNT(order) && code == FZ_OK; o++) {
        const fz_schema *shape = parts[order[o]].shape;
        for (size_t i = 0; shape && i < shape->root.field_count; i++) {
            fz_field *field = &fresh->root.fields[fresh->root.field_count];
            const fz_field *from = &shape->root.fields[i];
            if (parts[order[o]].side == FZ_EVOLVE_KEY && value &&
                fz_type_find(&value->root, from->name)) {
                continue; // the value's column wins
            }
            if (fz_type_find(&fresh->root, from->name)) {
                code = fz_err_set_kind(err, FZ_UNSUPPORTED, "unsupported_type",
                                       "two columns are named \"%.*s\": choose other names with "
                                       "key.prefix or metadata",
                                       FZ_STR_ARGS(from->name));
                break;
            }
            fz_evolve_column(&fresh->arena, from, layout->format_version, field);
            field->required = from->required && parts[order[o]].side == FZ_EVOLVE_VALUE;
            fresh->root.field_count++;
        }
    }
    fz_type_assign_ids(&fresh->root, &layout->last_column_id);
    fz_schema_finish(fresh);
    fz_schema_unref(layout->schema);
    layout->schema = fresh;
    layout->schema_changed = layout->link_changed = true;
    if (code == FZ_OK) {
        code = fz_layout_wanted_spec(layout, entry, &layout->arena, &layout->spec, err);
    }
    if (code == FZ_OK) {
        code = fz_layout_wanted_order(layout, entry, &layout->arena, &layout->order, err);
    }
    if (code == FZ_OK) {
        find_owners(layout);
        *out = layout;
        return FZ_OK;
    }
    fz_layout_unref(layout);
    return code;
}

fz_code fz_layout_load(const fz_config_entry *entry, fz_iceberg_metadata *metadata, fz_layout **out,
                       fz_err *err) {
    (void)entry;
    fz_layout *layout = layout_new();
    layout->metadata = fz_iceberg_metadata_ref(metadata);
    layout->base_schema_id = fz_iceberg_metadata_schema_id(metadata);
    layout->last_column_id = fz_iceberg_metadata_last_column_id(metadata);
    layout->format_version = fz_iceberg_metadata_version(metadata);
    fz_code code =
        fz_iceberg_metadata_schema(metadata, layout->base_schema_id, &layout->schema, err);
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_spec(metadata, fz_iceberg_metadata_spec_id(metadata),
                                        layout->schema, &layout->arena, &layout->spec, err);
    }
    if (code == FZ_OK) {
        code = fz_iceberg_metadata_order(metadata, &layout->arena, &layout->order, err);
    }
    if (code == FZ_OK) {
        code = fz_evolve_link_parse(fz_iceberg_metadata_property(metadata, FZ_EVOLVE_LINK_PROPERTY),
                                    &layout->link, err);
    }
    if (code != FZ_OK) {
        fz_layout_unref(layout);
        return code;
    }
    if (!layout->link) {
        layout->link = json_object();
    }
    find_owners(layout);
    *out = layout;
    return FZ_OK;
}

static int32_t greatest_id(const fz_type *type) {
    int32_t greatest = 0;
    for (size_t i = 0; i < type->field_count; i++) {
        int32_t below = greatest_id(&type->fields[i].type);
        greatest = type->fields[i].id > greatest ? type->fields[i].id : greatest;
        greatest = below > greatest ? below : greatest;
    }
    return greatest;
}

fz_code fz_layout_restore(const fz_config_entry *entry, const json_t *schema, const json_t *link,
                          fz_iceberg_metadata *metadata, fz_layout **out, fz_err *err) {
    fz_schema *restored = NULL;
    fz_layout *layout = NULL;
    FZ_TRY(fz_schema_from_json(schema, &restored, err));
    fz_code code = FZ_OK;
    if (metadata) {
        code = fz_layout_load(entry, metadata, &layout, err);
    } else {
        layout = layout_new();
        layout->format_version = (int)entry->format_version;
    }
    if (code != FZ_OK) {
        fz_schema_unref(restored);
        return code;
    }
    fz_schema_unref(layout->schema);
    layout->schema = restored;
    json_decref(layout->link);
    layout->link = json_deep_copy(link);
    int32_t greatest = greatest_id(&restored->root);
    layout->last_column_id = greatest > layout->last_column_id ? greatest : layout->last_column_id;
    layout->schema_changed = layout->link_changed = true;
    code = json_is_object(layout->link)
               ? FZ_OK
               : fz_err_set(err, FZ_CORRUPT, "columns of an outbox entry are no object");
    if (code == FZ_OK && !metadata) {
        code = fz_layout_wanted_spec(layout, entry, &layout->arena, &layout->spec, err);
    }
    if (code == FZ_OK && !metadata) {
        code = fz_layout_wanted_order(layout, entry, &layout->arena, &layout->order, err);
    }
    if (code != FZ_OK) {
        fz_layout_unref(layout);
        return code;
    }
    find_owners(layout);
    *out = layout;
    return FZ_OK;
}

/** A copy of `from` with another schema and link. */
static fz_layout *layout_changed(const fz_layout *from, fz_evolve_result *result) {
    fz_layout *layout = layout_new();
    layout->number = from->number + 1;
    layout->metadata = from->metadata ? fz_iceberg_metadata_ref(from->metadata) : NULL;
    layout->base_schema_id = from->base_schema_id;
    layout->format_version = from->format_version;
    layout->schema_changed = from->schema_changed || result->table != NULL;
    layout->link_changed = from->link_changed || result->link_changed;
    layout->schema = result->table ? fz_schema_ref(result->table) : fz_schema_ref(from->schema);
    layout->link = json_incref(result->link);
    layout->last_column_id = result->last_column_id;
    layout->spec = from->spec;
    layout->spec.fields =
        FZ_ARENA_ARRAY(&layout->arena, fz_partition_field, from->spec.field_count + 1);
    for (size_t i = 0; i < from->spec.field_count; i++) {
        fz_partition_field *field = &layout->spec.fields[i];
        *field = from->spec.fields[i];
        field->name = fz_arena_str(&layout->arena, field->name);
        field->transform_text = fz_arena_str(&layout->arena, field->transform_text);
        const fz_field *source = fz_schema_find_id(layout->schema, field->source_id);
        field->source_type =
            fz_type_copy(&layout->arena, source ? &source->type : &field->source_type);
        fz_code ignored =
            fz_transform_result(field->transform, &field->source_type, &field->result_type, NULL);
        (void)ignored;
    }
    layout->order = from->order;
    layout->order.fields =
        FZ_ARENA_ARRAY(&layout->arena, fz_sort_field, from->order.field_count + 1);
    if (from->order.field_count > 0) {
        memcpy(layout->order.fields, from->order.fields,
               from->order.field_count * sizeof *from->order.fields);
    }
    find_owners(layout);
    return layout;
}

fz_code fz_layout_bind(fz_layout **layout, const fz_config_entry *entry, const fz_schema *shape,
                       fz_evolve_side side, bool may_change, bool older, fz_schema **bound,
                       fz_buf *changes, fz_err *err) {
    fz_evolve_input input;
    fz_evolve_result result;
    evolve_input(*layout, entry, shape, side, may_change, &input);
    input.older = older;
    FZ_TRY(fz_ingest_evolve(&input, &result, err));
    if (result.table || result.link_changed) {
        fz_layout *changed = layout_changed(*layout, &result);
        fz_layout_unref(*layout);
        *layout = changed;
    }
    if (changes) {
        fz_buf_append_str(changes, fz_buf_view(&result.changes));
    }
    *bound = fz_schema_ref(result.shape);
    fz_evolve_result_deinit(&result);
    return FZ_OK;
}

static bool type_covers(const fz_type *big, const fz_type *small) {
    if (small->field_count == 0) {
        return fz_evolve_fits(small, big);
    }
    if (big->kind != small->kind) {
        return false;
    }
    for (size_t i = 0; i < small->field_count; i++) {
        const fz_field *field = &small->fields[i];
        const fz_field *found = NULL;
        for (size_t j = 0; j < big->field_count && !found; j++) {
            found = big->fields[j].id == field->id ? &big->fields[j] : NULL;
        }
        if (!found || (found->required && !field->required) ||
            !type_covers(&found->type, &field->type)) {
            return false;
        }
    }
    // what `small` lacks reads as null
    for (size_t j = 0; j < big->field_count; j++) {
        bool there = !big->fields[j].required;
        for (size_t i = 0; i < small->field_count && !there; i++) {
            there = small->fields[i].id == big->fields[j].id;
        }
        if (!there) {
            return false;
        }
    }
    return true;
}

bool fz_layout_covers(const fz_layout *big, const fz_layout *small) {
    const char *key;
    json_t *id;
    json_object_foreach(small->link, key, id) {
        const json_t *other = json_object_get(big->link, key);
        if (!other || !json_equal(other, id)) {
            return false;
        }
    }
    return type_covers(&big->schema->root, &small->schema->root);
}
