// SPDX-License-Identifier: Apache-2.0
// The decoder: walks a record's text along a plan's nodes. The depth of calls is that of the plan;
// what no column wants is passed over without any.
#include "base/memory.h"
#include "data/json_value.h"
#include "data/map_settle.h"
#include "format/json/run.h"

#define TEXT_SIZE ((size_t)64 << 20)
#define MAX_TRIES 10000 // branches of unions that did not validate, in one record
#define MAX_LOOKS 64    // ahead in one record, for another member of the same name

static const uint8_t *decode_value(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                   const uint8_t *p);

static inline const uint8_t *space(const fz_json_run *run, const uint8_t *p) {
    return fz_json_space(p, run->reader.end);
}

static inline bool is_at(const fz_json_run *run, const uint8_t *p, char c) {
    return FZ_LIKELY(p < run->reader.end) && *p == (uint8_t)c;
}

// --- objects ---

static uint32_t find_member(const fz_json_plan *plan, const fz_json_node *node, fz_str name) {
    if (node->names) {
        return (uint32_t)(uintptr_t)fz_map_find(node->names, name) - 1;
    }
    for (uint32_t i = 0; i < node->count; i++) {
        if (fz_str_equal(plan->members.data[node->first + i].name, name)) {
            return i;
        }
    }
    return FZ_JSON_NONE;
}

// A member's name and its colon, `p` at the quote; the index of the member, or FZ_JSON_NONE. *hint
// is what came here the last time.
static inline const uint8_t *read_name(fz_json_run *run, const fz_json_node *node, const uint8_t *p,
                                       uint32_t *hint, uint32_t *index) {
    const fz_json_plan *plan = &run->decoder->plan;
    const uint8_t *end = run->reader.end;
    uint32_t guess = *hint;
    const fz_str *quoted =
        guess < node->count ? &plan->members.data[node->first + guess].quoted : NULL;
    if (FZ_LIKELY(quoted && quoted->size && (size_t)(end - p) > quoted->size &&
                  memcmp(p, quoted->data, quoted->size) == 0)) {
        *index = guess;
        p += quoted->size;
    } else {
        fz_str name;
        if (p >= end || *p != '"') {
            return fz_json_unexpected(&run->reader, p, "name");
        }
        p = fz_json_read_text(&run->reader, p, &name);
        if (!p) {
            return NULL;
        }
        *index = find_member(plan, node, name);
        *hint = *index == FZ_JSON_NONE ? guess : *index;
    }
    if (FZ_UNLIKELY(!is_at(run, p, ':'))) {
        p = space(run, p);
        if (!is_at(run, p, ':')) {
            return fz_json_unexpected(&run->reader, p, "colon");
        }
    }
    p = space(run, p + 1);
    return FZ_LIKELY(p < end) ? p : fz_json_unexpected(&run->reader, p, "value");
}

// Behind a member's or item's value: *more, or at `close`, which is passed.
static inline const uint8_t *read_comma(fz_json_run *run, const uint8_t *p, char close,
                                        bool *more) {
    p = space(run, p);
    if (is_at(run, p, ',')) {
        *more = true;
        return space(run, p + 1);
    }
    *more = false;
    return is_at(run, p, close) ? p + 1 : fz_json_unexpected(&run->reader, p, "comma or bracket");
}

// Is there another member `index` behind the value that ends at `p`?
static bool comes_again(fz_json_run *run, const fz_json_node *node, uint32_t index,
                        const uint8_t *p) {
    bool more = false;
    uint32_t hint = FZ_JSON_NONE;
    while (p && (p = read_comma(run, p, '}', &more)) && more) {
        uint32_t other = FZ_JSON_NONE;
        p = read_name(run, node, p, &hint, &other);
        if (p && other == index) {
            return true;
        }
        p = p ? fz_json_skip(&run->reader, p) : NULL;
    }
    return false;
}

// A member whose value is refused is forgiven when it comes again: the last one counts. Answers the
// position behind the refused value.
static const uint8_t *look_ahead(fz_json_run *run, const fz_json_node *node, uint32_t index,
                                 fz_column *column, int64_t base, const uint8_t *value) {
    if (!run->reader.soft || run->looks++ >= MAX_LOOKS) {
        return NULL;
    }
    fz_err kept = run->reader.err ? *run->reader.err : (fz_err){0};
    const uint8_t *behind = fz_json_skip(&run->reader, value);
    bool again = behind && comes_again(run, node, index, behind);
    if (!again) {
        if (behind && run->reader.err) {
            *run->reader.err = kept;
        }
        run->reader.soft = behind != NULL;
        run->reader.code = FZ_CORRUPT;
        return NULL;
    }
    run->reader.code = FZ_OK;
    run->reader.soft = false;
    fz_column_truncate(column, base);
    return fz_json_appended(run, fz_column_append_null(column, run->reader.err), behind);
}

static fz_code append_fills(const fz_json_plan *plan, uint32_t first, uint32_t count,
                            fz_column *columns, fz_err *err) {
    for (uint32_t i = 0; i < count; i++) {
        const fz_json_fill *fill = &plan->fills.data[first + i];
        FZ_TRY(fz_column_append_value(&columns[fill->column], fill->value, err));
    }
    return FZ_OK;
}

// Null for members that were not there.
static const uint8_t *fill_absent(fz_json_run *run, const fz_json_node *node, fz_column *columns,
                                  int64_t base, const uint8_t *p) {
    const fz_json_plan *plan = &run->decoder->plan;
    for (uint32_t i = 0; i < node->count; i++) {
        const fz_json_member *member = &plan->members.data[node->first + i];
        if (member->node == FZ_JSON_NONE || columns[member->column].length != base) {
            continue;
        }
        const fz_json_node *child = &run->nodes[member->node];
        if (!child->null_ok) {
            return fz_json_refuse(run, child, p, "null_in_required",
                                  "it is absent, and its column is required");
        }
        fz_code code = fz_column_append_null(&columns[member->column], run->reader.err);
        if (code != FZ_OK) {
            return fz_json_appended(run, code, p);
        }
    }
    return p;
}

static const uint8_t *decode_member(fz_json_run *run, const fz_json_node *node, uint32_t index,
                                    fz_column *columns, int64_t base, uint32_t *filled,
                                    const uint8_t *p) {
    const fz_json_member *member = &run->decoder->plan.members.data[node->first + index];
    if (member->node == FZ_JSON_NONE) {
        return fz_json_skip(&run->reader, p);
    }
    fz_column *column = &columns[member->column];
    if (FZ_UNLIKELY(column->length != base)) {
        fz_column_truncate(column, base); // the last one counts
        --*filled;
    }
    ++*filled;
    const uint8_t *next = decode_value(run, &run->nodes[member->node], column, p);
    return FZ_LIKELY(next != NULL) ? next : look_ahead(run, node, index, column, base, p);
}

// Members into `columns`, of which each has `base` values; `p` at the brace.
static const uint8_t *decode_members(fz_json_run *run, const fz_json_node *node, fz_column *columns,
                                     int64_t base, const uint8_t *p) {
    fz_json_decoder *decoder = run->decoder;
    uint32_t *hint = &decoder->hints[node->hint];
    uint32_t filled = 0;
    p = space(run, p + 1);
    bool more = !is_at(run, p, '}');
    p += !more;
    while (more) {
        uint32_t index = FZ_JSON_NONE;
        p = read_name(run, node, p, hint, &index);
        if (FZ_UNLIKELY(!p)) {
            return NULL;
        }
        if (index != FZ_JSON_NONE) {
            hint = &decoder->hints[node->hint + 1 + index];
            p = decode_member(run, node, index, columns, base, &filled, p);
        } else if (run->strict && node->type->closed) {
            return fz_json_refuse(run, node, p, "invalid_value", "a member it must not have");
        } else {
            p = fz_json_skip(&run->reader, p);
        }
        p = p ? read_comma(run, p, '}', &more) : NULL;
        if (FZ_UNLIKELY(!p)) {
            return NULL;
        }
    }
    if (FZ_UNLIKELY(filled != node->wanted)) {
        p = fill_absent(run, node, columns, base, p);
    }
    if (p && node->fill_count) {
        fz_code code =
            append_fills(&decoder->plan, node->fill, node->fill_count, columns, run->reader.err);
        p = fz_json_appended(run, code, p);
    }
    return p;
}

static const uint8_t *decode_object(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                    const uint8_t *p) {
    p = decode_members(run, node, column->children, column->length, p);
    return p ? fz_json_appended(run, fz_column_append_struct(column, run->reader.err), p) : NULL;
}

// --- arrays and maps ---

static const uint8_t *decode_array(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                   const uint8_t *p) {
    const fz_json_node *item = &run->nodes[node->first];
    p = space(run, p + 1);
    bool more = !is_at(run, p, ']');
    p += !more;
    while (more) {
        p = decode_value(run, item, &column->children[0], p);
        p = p ? read_comma(run, p, ']', &more) : NULL;
        if (!p) {
            return NULL;
        }
    }
    return fz_json_appended(run, fz_column_append_list(column, run->reader.err), p);
}

// The entries from `start` on are there: the last of a key counts.
static const uint8_t *close_map(fz_json_run *run, fz_column *column, int64_t start,
                                const uint8_t *p) {
    fz_code code = fz_map_column_settle(column, start, run->reader.err);
    code = code == FZ_OK ? fz_column_append_list(column, run->reader.err) : code;
    return fz_json_appended(run, code, p);
}

static const uint8_t *decode_map(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                 const uint8_t *p) {
    int64_t start = column->children[0].length;
    p = space(run, p + 1);
    bool more = !is_at(run, p, '}');
    p += !more;
    while (more) {
        if (!is_at(run, p, '"')) {
            return fz_json_unexpected(&run->reader, p, "name");
        }
        p = decode_value(run, &run->nodes[node->key], &column->children[0], p);
        p = p ? space(run, p) : NULL;
        if (p && !is_at(run, p, ':')) {
            return fz_json_unexpected(&run->reader, p, "colon");
        }
        p = p ? decode_value(run, &run->nodes[node->first], &column->children[1], p + 1) : NULL;
        p = p ? read_comma(run, p, '}', &more) : NULL;
        if (!p) {
            return NULL;
        }
    }
    return close_map(run, column, start, p);
}

// {"key": key, "value": value}
static const uint8_t *decode_entry(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                   const uint8_t *p) {
    static const fz_str names[] = {{"key", 3}, {"value", 5}};
    const fz_json_node *nodes[] = {&run->nodes[node->key], &run->nodes[node->first]};
    int64_t base = column->children[0].length;
    bool more = true;
    const uint8_t *start = p;
    p = space(run, p + 1);
    if (is_at(run, p, '}')) {
        return fz_json_refuse(run, node, start, "null_in_required", "an entry without a key");
    }
    while (more) {
        fz_str name;
        if (!is_at(run, p, '"')) {
            return fz_json_unexpected(&run->reader, p, "name");
        }
        p = fz_json_read_text(&run->reader, p, &name);
        int part = !p                             ? -1
                   : fz_str_equal(name, names[0]) ? 0
                   : fz_str_equal(name, names[1]) ? 1
                                                  : -1;
        p = p ? space(run, p) : NULL;
        if (p && !is_at(run, p, ':')) {
            return fz_json_unexpected(&run->reader, p, "colon");
        }
        if (p && part >= 0) {
            fz_column_truncate(&column->children[part], base);
            p = decode_value(run, nodes[part], &column->children[part], p + 1);
        } else if (p) {
            p = fz_json_skip(&run->reader, p + 1);
        }
        p = p ? read_comma(run, p, '}', &more) : NULL;
        if (!p) {
            return NULL;
        }
    }
    for (int i = 0; i < 2; i++) {
        if (column->children[i].length > base) {
            continue;
        }
        if (i == 0 || !nodes[i]->null_ok) {
            return fz_json_refuse(run, nodes[i], start, "null_in_required", "it is absent");
        }
        p = fz_json_appended(run, fz_column_append_null(&column->children[i], run->reader.err), p);
    }
    return p;
}

static const uint8_t *decode_entries(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                     const uint8_t *p) {
    int64_t start = column->children[0].length;
    p = space(run, p + 1);
    bool more = !is_at(run, p, ']');
    p += !more;
    while (more) {
        if (is_at(run, p, '{')) {
            p = decode_entry(run, node, column, p);
        } else {
            p = fz_json_skip(&run->reader, p);
            return p ? fz_json_refuse(run, node, p, "invalid_value", "an item that is no entry")
                     : NULL;
        }
        p = p ? read_comma(run, p, ']', &more) : NULL;
        if (!p) {
            return NULL;
        }
    }
    return close_map(run, column, start, p);
}

// --- unions ---

// Could a value of the kind begin like this? Saves a try.
static bool may_begin(fz_json_kind kind, uint8_t c) {
    switch (kind) {
    case FZ_JSON_ANY:
    case FZ_JSON_RECURSIVE:
    case FZ_JSON_SCALAR_TEXT:
    case FZ_JSON_UNION:
        return true;
    case FZ_JSON_BOOLEAN:
        return c == 't' || c == 'f';
    case FZ_JSON_INTEGER:
    case FZ_JSON_NUMBER:
    case FZ_JSON_FLOAT:
    case FZ_JSON_DATE_DAYS:
    case FZ_JSON_TIME_MILLIS:
    case FZ_JSON_TIMESTAMP_MILLIS:
        return fz_json_is_number(c);
    case FZ_JSON_DECIMAL:
        return fz_json_is_number(c) || c == '"';
    case FZ_JSON_ARRAY:
    case FZ_JSON_ENTRIES:
        return c == '[';
    case FZ_JSON_MAP:
    case FZ_JSON_OBJECT:
        return c == '{';
    default:
        return c == '"';
    }
}

// One branch has its value, or none has a column for it: null for the others.
static const uint8_t *close_union(fz_json_run *run, fz_column *column, const uint8_t *p) {
    for (size_t i = 0; i < column->child_count; i++) {
        if (column->children[i].length == column->length) {
            fz_code code = fz_column_append_null(&column->children[i], run->reader.err);
            if (code != FZ_OK) {
                return fz_json_appended(run, code, p);
            }
        }
    }
    return fz_json_appended(run, fz_column_append_struct(column, run->reader.err), p);
}

static const uint8_t *decode_union(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                   const uint8_t *p) {
    const fz_json_plan *plan = &run->decoder->plan;
    for (uint32_t i = 0; i < node->count; i++) {
        const fz_json_member *branch = &plan->members.data[node->first + i];
        if (!may_begin(branch->kind, *p)) {
            continue;
        }
        if (branch->node == FZ_JSON_NONE) {
            p = fz_json_skip(&run->reader, p);
            return p ? close_union(run, column, p) : NULL;
        }
        fz_column *child = &column->children[branch->column];
        run->strict++;
        run->reader.quiet++;
        const uint8_t *next = decode_value(run, &run->nodes[branch->node], child, p);
        run->strict--;
        run->reader.quiet--;
        if (next) {
            return close_union(run, column, next);
        }
        if (!run->reader.soft) {
            return NULL;
        }
        if (++run->tries > MAX_TRIES) {
            return fz_json_bad(&run->reader, p, "invalid_value", "too many branches do not fit");
        }
        run->reader.code = FZ_OK;
        run->reader.soft = false;
        fz_column_truncate(child, column->length);
    }
    return fz_json_skip(&run->reader, p)
               ? fz_json_refuse(run, node, p, "invalid_value", "no branch of its schema takes it")
               : NULL;
}

// --- any value ---

static const uint8_t *decode_null(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                  const uint8_t *p) {
    const uint8_t *next = fz_json_read_word(&run->reader, p, "null", 4);
    if (!next) {
        return NULL;
    }
    if (!node->null_ok || (run->strict && !node->nullable)) {
        return fz_json_refuse(run, node, p, "null_in_required", "null, and its column is required");
    }
    return fz_json_appended(run, fz_column_append_null(column, run->reader.err), next);
}

static const uint8_t *decode_value(fz_json_run *run, const fz_json_node *node, fz_column *column,
                                   const uint8_t *p) {
    p = space(run, p);
    if (FZ_UNLIKELY(p >= run->reader.end)) {
        return fz_json_unexpected(&run->reader, p, "value");
    }
    if (*p == 'n') {
        return decode_null(run, node, column, p);
    }
    if (FZ_UNLIKELY(run->strict && node->type->value_count) && !fz_json_run_listed(run, node, p)) {
        return run->reader.code == FZ_OK
                   ? fz_json_refuse(run, node, p, "invalid_value", "not one of its values")
                   : NULL;
    }
    switch ((fz_json_kind)node->kind) {
    case FZ_JSON_OBJECT:
        return *p == '{' ? decode_object(run, node, column, p)
                         : fz_json_run_scalar(run, node, column, p);
    case FZ_JSON_ARRAY:
        return *p == '[' ? decode_array(run, node, column, p)
                         : fz_json_run_scalar(run, node, column, p);
    case FZ_JSON_MAP:
        return *p == '{' ? decode_map(run, node, column, p)
                         : fz_json_run_scalar(run, node, column, p);
    case FZ_JSON_ENTRIES:
        return *p == '[' ? decode_entries(run, node, column, p)
                         : fz_json_run_scalar(run, node, column, p);
    case FZ_JSON_UNION:
        return decode_union(run, node, column, p);
    default:
        return fz_json_run_scalar(run, node, column, p);
    }
}

// --- the record ---

// Members of the root, or one value; all columns in force have `base` values.
static const uint8_t *decode_root(fz_json_run *run, fz_column *columns, int64_t base,
                                  const uint8_t *p) {
    const fz_json_plan *plan = &run->decoder->plan;
    const fz_json_node *root = plan->root == FZ_JSON_NONE ? NULL : &run->nodes[plan->root];
    p = space(run, p);
    if (p >= run->reader.end) {
        return fz_json_unexpected(&run->reader, p, "value");
    }
    if (!root) {
        return fz_json_skip(&run->reader, p);
    }
    if (!plan->root_members) {
        return decode_value(run, root, &columns[root->column], p);
    }
    if (*p == '{') {
        return decode_members(run, root, columns, base, p);
    }
    // No column of its own: what stands there instead is refused.
    return *p == 'n' ? decode_null(run, root, NULL, p) : fz_json_run_scalar(run, root, NULL, p);
}

static fz_code json_decode(fz_decoder *base, const uint8_t *data, size_t size, fz_batch *batch,
                           fz_err *err) {
    static const uint8_t none[1] = {0};
    fz_json_decoder *decoder = (fz_json_decoder *)base;
    const fz_json_plan *plan = &decoder->plan;
    FZ_ASSERT(batch->column_count == plan->column_count);
    data = size ? data : none;
    fz_json_run run = {.decoder = decoder, .nodes = plan->nodes.data};
    run.reader = (fz_json_reader){
        .begin = data, .end = data + size, .text = &decoder->text, .err = err, .code = FZ_OK};
    fz_column *wrapper = plan->wrapper == FZ_JSON_NONE ? NULL : &batch->columns[plan->wrapper];
    fz_column *columns = wrapper ? wrapper->children : batch->columns;
    const uint8_t *p = decode_root(&run, columns, batch->rows, data);
    if (FZ_UNLIKELY(!p)) {
        return run.reader.code;
    }
    p = space(&run, p);
    if (FZ_UNLIKELY(p != run.reader.end)) {
        fz_json_bad(&run.reader, p, "trailing_bytes", "bytes behind the value");
        return run.reader.code;
    }
    if (plan->outer_count) {
        FZ_TRY(append_fills(plan, plan->outer_fill, plan->outer_count, columns, err));
    }
    return wrapper ? fz_column_append_struct(wrapper, err) : FZ_OK;
}

static void json_decoder_free(fz_decoder *base) {
    fz_json_decoder *decoder = (fz_json_decoder *)base;
    fz_json_plan_deinit(&decoder->plan);
    fz_free(decoder->hints);
    fz_buf_deinit(&decoder->text);
    fz_buf_deinit(&decoder->bytes);
    fz_free(decoder);
}

static const fz_decoder_ops json_decoder_ops = {.decode = json_decode, .free = json_decoder_free};

// At first the members are expected in the order of the schema.
static void init_hints(fz_json_decoder *decoder) {
    const fz_json_plan *plan = &decoder->plan;
    decoder->hints = (uint32_t *)fz_calloc(plan->hint_count + 1, sizeof(uint32_t));
    for (size_t i = 0; i < plan->nodes.count; i++) {
        const fz_json_node *node = &plan->nodes.data[i];
        for (uint32_t k = 0; node->kind == FZ_JSON_OBJECT && k <= node->count; k++) {
            decoder->hints[node->hint + k] = k;
        }
    }
}

fz_code fz_json_decoder_open(const fz_writer_schema *schema, const fz_schema *shape,
                             fz_schema *target, const bool *owned, fz_decoder **out, fz_err *err) {
    fz_json_decoder *decoder = (fz_json_decoder *)fz_calloc(1, sizeof(*decoder));
    decoder->base.ops = &json_decoder_ops;
    fz_buf_init(&decoder->text, TEXT_SIZE, NULL);
    fz_buf_init(&decoder->bytes, TEXT_SIZE, NULL);
    fz_code code = fz_json_plan_compile(&decoder->plan, (const fz_json_schema *)schema, shape,
                                        target, owned, err);
    if (code != FZ_OK) {
        json_decoder_free(&decoder->base);
        return code;
    }
    init_hints(decoder);
    *out = &decoder->base;
    return FZ_OK;
}
