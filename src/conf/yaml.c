// SPDX-License-Identifier: Apache-2.0
// YAML text to nodes, within limits: libyaml's events and a stack of our own.
#include "conf/yaml.h"

#include <yaml.h>

#include "base/codec/text_codec.h"
#include "base/map.h"
#include "conf/limits.h"

/** A list or mapping that is not finished. */
typedef struct frame {
    fz_conf_node *node;
    FZ_VEC(fz_conf_member) members;
    fz_conf_path path; // of what comes next
    bool has_key;      // a mapping's key was read, its value was not
    int key_line;
    int key_column;
} frame;

typedef struct loader {
    fz_conf_yaml *yaml;
    const fz_conf_place *place;
    frame frames[FZ_CONFIG_MAX_DEPTH];
    size_t depth;
    fz_map anchors; // name -> node; under construction: weight 0
    fz_conf_node *root;
    size_t nodes;
    size_t expanded; // bytes
    bool stopped;
} loader;

/** Of what is being read, for messages. */
static const fz_conf_path *loader_path(const loader *l) {
    if (l->depth == 0) {
        return NULL;
    }
    const frame *top = &l->frames[l->depth - 1];
    bool key = top->node->kind == FZ_CONF_MAP && !top->has_key;
    return key ? top->path.up : &top->path;
}

#define FAULT(l, mark, ...)                                                                        \
    fz_conf_fault_at((l)->yaml->faults, (l)->place, (int)(mark).line + 1, (int)(mark).column + 1,  \
                     loader_path(l), __VA_ARGS__)

static fz_conf_node *node_make(loader *l, fz_conf_node_kind kind, yaml_mark_t mark) {
    fz_conf_node *node = FZ_ARENA_NEW(l->yaml->arena, fz_conf_node);
    node->kind = kind;
    node->place = l->place;
    node->line = (int)mark.line + 1;
    node->column = (int)mark.column + 1;
    return node;
}

/** Count `weight` more nodes against the limit. */
static bool weight_take(loader *l, size_t weight, yaml_mark_t mark) {
    if (weight > FZ_CONFIG_MAX_NODES - l->nodes) {
        FAULT(l, mark, "more than %d values, aliases counted", FZ_CONFIG_MAX_NODES);
        l->stopped = true;
        return false;
    }
    l->nodes += weight;
    return true;
}

static bool anchor_put(loader *l, const yaml_char_t *name, fz_conf_node *node, yaml_mark_t mark) {
    if (!name) {
        return true;
    }
    if (l->anchors.count >= FZ_CONFIG_MAX_ANCHORS) {
        FAULT(l, mark, "more than %d anchors", FZ_CONFIG_MAX_ANCHORS);
        l->stopped = true;
        return false;
    }
    fz_map_put(&l->anchors, fz_str_from((const char *)name), node);
    return true;
}

static bool tag_known(const yaml_char_t *tag) {
    return !tag || fz_str_equal(fz_str_from((const char *)tag), FZ_STR("!")) ||
           fz_str_starts_with(fz_str_from((const char *)tag), FZ_STR("tag:yaml.org,2002:"));
}

/** A mapping's key. */
static void key_take(loader *l, frame *top, const fz_conf_node *node, yaml_mark_t mark) {
    top->has_key = true;
    top->key_line = node->line;
    top->key_column = node->column;
    top->path.name = node->text;
    if (node->text.size > FZ_CONFIG_MAX_KEY) {
        FAULT(l, mark, "a key is longer than %d bytes", FZ_CONFIG_MAX_KEY);
        l->stopped = true;
        return;
    }
    for (size_t i = 0; i < node->text.size; i++) {
        if ((unsigned char)node->text.data[i] < 0x20) {
            FAULT(l, mark, "a key has a control character");
            return;
        }
    }
}

/** Put a finished or opened value into what is open. */
static void value_put(loader *l, fz_conf_node *node) {
    if (l->depth == 0) {
        l->root = node;
        return;
    }
    frame *top = &l->frames[l->depth - 1];
    fz_conf_member member = {.line = node->line, .column = node->column, .value = node};
    if (top->node->kind == FZ_CONF_MAP) {
        member.key = top->path.name;
        member.line = top->key_line;
        member.column = top->key_column;
        top->has_key = false;
    } else {
        top->path.index++;
    }
    fz_vec_push(&top->members, member);
}

/** The text of a scalar, with variables put in. */
static void text_set(loader *l, fz_conf_node *node, fz_str text, yaml_mark_t mark) {
    fz_conf_yaml *yaml = l->yaml;
    if (!yaml->find || fz_str_find_str(text, FZ_STR("${")) == SIZE_MAX) {
        node->text = fz_arena_str(yaml->arena, text);
        return;
    }
    fz_buf out;
    fz_buf_init(&out, FZ_CONFIG_MAX_EXPANDED - l->expanded + 1, NULL);
    fz_err err = {0};
    if (fz_conf_expand(text, yaml->find, yaml->context, &out, &err) != FZ_OK) {
        FAULT(l, mark, "%s", fz_err_text(&err));
        node->broken = true;
    } else if (!fz_utf8_valid(out.data, out.size)) {
        FAULT(l, mark, "the text is not UTF-8 once its variables are put in");
        node->broken = true;
    }
    l->expanded += out.size <= FZ_CONFIG_MAX_EXPANDED - l->expanded ? out.size : 0;
    node->text = fz_arena_str(yaml->arena, fz_buf_view(&out));
    fz_buf_deinit(&out);
}

static bool text_is_null(fz_str text) {
    return text.size == 0 || fz_str_equal(text, FZ_STR("~")) ||
           fz_str_equal_nocase(text, FZ_STR("null"));
}

static void scalar_read(loader *l, const yaml_event_t *event) {
    fz_str text = fz_str_make(event->data.scalar.value, event->data.scalar.length);
    fz_conf_node *node = node_make(l, FZ_CONF_SCALAR, event->start_mark);
    node->weight = 1;
    if (!weight_take(l, 1, event->start_mark)) {
        return;
    }
    frame *top = l->depth ? &l->frames[l->depth - 1] : NULL;
    if (top && top->node->kind == FZ_CONF_MAP && !top->has_key) {
        node->text = fz_arena_str(l->yaml->arena, text);
        key_take(l, top, node, event->start_mark);
        (void)anchor_put(l, event->data.scalar.anchor, node, event->start_mark);
        return;
    }
    if (!tag_known(event->data.scalar.tag)) {
        FAULT(l, event->start_mark, "unknown tag \"%s\"", (const char *)event->data.scalar.tag);
    }
    if (text.size && memchr(text.data, 0, text.size)) {
        FAULT(l, event->start_mark, "a text has a zero byte");
    }
    text_set(l, node, text, event->start_mark);
    if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && text_is_null(node->text)) {
        node->kind = FZ_CONF_NULL;
    }
    if (anchor_put(l, event->data.scalar.anchor, node, event->start_mark)) {
        value_put(l, node);
    }
}

static void alias_read(loader *l, const yaml_event_t *event) {
    const char *name = (const char *)event->data.alias.anchor;
    fz_conf_node *node = fz_map_find(&l->anchors, fz_str_from(name));
    frame *top = l->depth ? &l->frames[l->depth - 1] : NULL;
    if (!node || node->weight == 0) {
        FAULT(l, event->start_mark,
              node ? "the alias \"%s\" is inside its own anchor" : "the alias \"%s\" has no anchor",
              name);
        l->stopped = true;
    } else if (top && top->node->kind == FZ_CONF_MAP && !top->has_key) {
        FAULT(l, event->start_mark, "an alias cannot be a key");
        l->stopped = true;
    } else if (weight_take(l, node->weight, event->start_mark)) {
        value_put(l, node);
    }
}

static void container_open(loader *l, fz_conf_node_kind kind, const yaml_char_t *anchor,
                           const yaml_char_t *tag, yaml_mark_t mark) {
    frame *top = l->depth ? &l->frames[l->depth - 1] : NULL;
    if (top && top->node->kind == FZ_CONF_MAP && !top->has_key) {
        FAULT(l, mark, "%s cannot be a key", fz_conf_node_kind_name(kind));
        l->stopped = true;
        return;
    }
    if (l->depth == FZ_CONFIG_MAX_DEPTH) {
        FAULT(l, mark, "nested deeper than %d", FZ_CONFIG_MAX_DEPTH);
        l->stopped = true;
        return;
    }
    if (!tag_known(tag)) {
        FAULT(l, mark, "unknown tag \"%s\"", (const char *)tag);
    }
    fz_conf_node *node = node_make(l, kind, mark);
    if (!weight_take(l, 1, mark) || !anchor_put(l, anchor, node, mark)) {
        return;
    }
    const fz_conf_path *up = top ? &top->path : NULL;
    frame *opened = &l->frames[l->depth++];
    *opened = (frame){.node = node, .path = {.up = up}};
}

/** Members of `from` that `into` does not have. */
static void merge_take(loader *l, const fz_conf_node *from, fz_map *seen, frame *into,
                       yaml_mark_t mark) {
    if (from->kind != FZ_CONF_MAP) {
        FAULT(l, mark, "\"<<\" wants a mapping, found %s", fz_conf_node_kind_name(from->kind));
        return;
    }
    for (size_t i = 0; i < from->count; i++) {
        if (!fz_map_find(seen, from->members[i].key)) {
            fz_map_put(seen, from->members[i].key, from->members[i].value);
            fz_vec_push(&into->members, from->members[i]);
        }
    }
}

/** Duplicate keys are faults; merge keys are replaced by what they stand for. */
static void map_finish(loader *l, frame *top, yaml_mark_t mark) {
    fz_map seen = {0};
    size_t count = top->members.count;
    size_t kept = 0;
    FZ_VEC(fz_conf_node *) merges = {0};
    for (size_t i = 0; i < count; i++) {
        fz_conf_member member = top->members.data[i];
        if (fz_str_equal(member.key, FZ_STR("<<"))) {
            fz_vec_push(&merges, member.value);
            continue;
        }
        if (fz_map_find(&seen, member.key)) {
            top->path.name = member.key;
            fz_conf_fault_at(l->yaml->faults, l->place, member.line, member.column, &top->path,
                             "the key \"%.*s\" is there twice", FZ_STR_ARGS(member.key));
            continue;
        }
        fz_map_put(&seen, member.key, member.value);
        top->members.data[kept++] = member;
    }
    top->members.count = kept;
    for (size_t i = 0; i < merges.count; i++) {
        const fz_conf_node *from = merges.data[i];
        if (from->kind != FZ_CONF_LIST) {
            merge_take(l, from, &seen, top, mark);
            continue;
        }
        for (size_t k = 0; k < from->count; k++) {
            merge_take(l, from->members[k].value, &seen, top, mark);
        }
    }
    fz_vec_deinit(&merges);
    fz_map_deinit(&seen);
}

static void container_close(loader *l, yaml_mark_t mark) {
    frame *top = &l->frames[l->depth - 1];
    if (top->node->kind == FZ_CONF_MAP) {
        map_finish(l, top, mark);
    }
    fz_conf_node *node = top->node;
    node->count = top->members.count;
    node->weight = 1;
    node->members = FZ_ARENA_ARRAY(l->yaml->arena, fz_conf_member, node->count);
    for (size_t i = 0; i < node->count; i++) {
        node->members[i] = top->members.data[i];
        node->weight += node->members[i].value->weight;
    }
    fz_vec_deinit(&top->members);
    l->depth--;
    value_put(l, node);
}

static void document_end(loader *l, fz_conf_documents *out, yaml_mark_t mark) {
    if (out->count >= FZ_CONFIG_MAX_DOCUMENTS) {
        FAULT(l, mark, "more than %d documents", FZ_CONFIG_MAX_DOCUMENTS);
        l->stopped = true;
        return;
    }
    if (l->root) {
        fz_vec_push(out, l->root);
    }
    l->root = NULL;
    fz_map_deinit(&l->anchors);
}

static void event_read(loader *l, const yaml_event_t *event, fz_conf_documents *out) {
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        scalar_read(l, event);
        break;
    case YAML_ALIAS_EVENT:
        alias_read(l, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        container_open(l, FZ_CONF_LIST, event->data.sequence_start.anchor,
                       event->data.sequence_start.tag, event->start_mark);
        break;
    case YAML_MAPPING_START_EVENT:
        container_open(l, FZ_CONF_MAP, event->data.mapping_start.anchor,
                       event->data.mapping_start.tag, event->start_mark);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        container_close(l, event->start_mark);
        break;
    case YAML_DOCUMENT_END_EVENT:
        document_end(l, out, event->start_mark);
        break;
    case YAML_STREAM_END_EVENT:
        l->stopped = true;
        break;
    default:
        break;
    }
}

static void syntax_fault(loader *l, const yaml_parser_t *parser) {
    yaml_mark_t mark = parser->problem_mark;
    if (parser->error == YAML_READER_ERROR) {
        FAULT(l, parser->mark, "not YAML: %s at byte %zu", parser->problem, parser->problem_offset);
        return;
    }
    const char *context = parser->context ? parser->context : "";
    FAULT(l, mark, "not YAML: %s%s%s", parser->problem ? parser->problem : "out of memory",
          *context ? ", " : "", context);
}

void fz_conf_yaml_parse(fz_conf_yaml *yaml, const fz_conf_place *place, fz_str text,
                        fz_conf_documents *out) {
    loader *l = fz_calloc(1, sizeof(loader));
    l->yaml = yaml;
    l->place = place;
    yaml_parser_t parser;
    FZ_ASSERT(yaml_parser_initialize(&parser));
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.data ? text.data : ""),
                                 text.size);
    while (!l->stopped) {
        yaml_event_t event;
        if (!yaml_parser_parse(&parser, &event)) {
            syntax_fault(l, &parser);
            break;
        }
        event_read(l, &event, out);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    while (l->depth) {
        l->depth--;
        fz_vec_deinit(&l->frames[l->depth].members);
    }
    fz_map_deinit(&l->anchors);
    fz_free(l);
}
