// SPDX-License-Identifier: Apache-2.0
// The decoder: runs a plan's ops over a record's bytes. Nothing is allocated but columns, and no
// call is made per value that the compiler could not put in line.
#include "base/memory.h"
#include "data/map_settle.h"
#include "format/avro/run_scalar.h"
#include "format/avro/schema_parser.h"
#include "format/avro/shape.h"

#define JSON_TEXT_SIZE ((size_t)64 << 20) // of one recursive value

const uint8_t *fz_avro_read_varint_slow(const uint8_t *p, const uint8_t *end, uint64_t *out) {
    uint64_t value = 0;
    for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) {
            return NULL;
        }
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return p;
        }
    }
    return NULL;
}

// --- nested values ---

static inline fz_column *column_of(const state *s, const fz_avro_op *op) {
    return op->column == FZ_AVRO_NO_COLUMN ? NULL : &s->columns[op->column];
}

static inline frame *push_frame(state *s, const fz_avro_op *op) {
    fz_column *column = column_of(s, op);
    frame *f = s->top++;
    *f = (frame){.columns = s->columns, .column = column, .op = op};
    if (column) {
        s->columns = column->children;
    }
    return f;
}

static inline frame *pop_frame(state *s) {
    frame *f = --s->top;
    s->columns = f->columns;
    return f;
}

// Headers of blocks until one has items to visit (f->left), or the last one was read (f->left is
// 0).
static const uint8_t *read_block(state *s, frame *f, const uint8_t *p) {
    const fz_avro_op *op = f->op;
    for (;;) {
        int64_t count = 0;
        int64_t size = -1;
        const uint8_t *at = p;
        p = read_long(s, op, p, &count);
        if (!p) {
            return NULL;
        }
        if (count < 0) {
            if (count == INT64_MIN) {
                return fail(s, op, at, "malformed", "a block's count is out of range");
            }
            count = -count;
            p = read_long(s, op, p, &size);
            if (!p) {
                return NULL;
            }
            if (size < 0 || size > s->end - p) {
                return fail_size(s, op, p, size);
            }
        }
        f->left = count;
        if (count == 0) {
            return p;
        }
        if (op->size && (uint64_t)count > (uint64_t)(s->end - p) / op->size) {
            return fail(s, op, at, "truncated", "a block of %lld items, %lld bytes are left",
                        (long long)count, (long long)(s->end - p));
        }
        if (op->size == 0) {
            continue; // items without bytes, and no column wants them
        }
        if (size < 0 || f->column) {
            return p;
        }
        p += size;
    }
}

// The list or map is complete: append it.
static const uint8_t *close_items(state *s, const uint8_t *p) {
    frame *f = pop_frame(s);
    if (!f->column) {
        return p;
    }
    if (f->op->code == FZ_AVRO_OP_MAP) {
        fz_code code = fz_map_column_settle(f->column, f->start, s->err);
        if (code != FZ_OK) {
            s->code = code;
            return NULL;
        }
    }
    return appended(s, fz_column_append_list(f->column, s->err), p);
}

// Begin of ARRAY or MAP (`f` just pushed) and end of an item: the next op is *next.
static inline const uint8_t *next_item(state *s, frame *f, const uint8_t *p,
                                       const fz_avro_op **next) {
    if (--f->left > 0) {
        *next = f->op + 1;
        return p;
    }
    p = read_block(s, f, p);
    if (!p) {
        return NULL;
    }
    if (f->left > 0) {
        *next = f->op + 1;
        return p;
    }
    *next = s->decoder->plan.ops.data + f->op->end;
    return close_items(s, p);
}

static const uint8_t *begin_items(state *s, const fz_avro_op *op, const uint8_t *p,
                                  const fz_avro_op **next) {
    frame *f = push_frame(s, op);
    f->start = f->column ? f->column->children[0].length : 0;
    return next_item(s, f, p, next);
}

static const uint8_t *append_absent(state *s, const fz_avro_op *op, const uint8_t *p,
                                    const uint8_t *next) {
    if (op->column == FZ_AVRO_NO_COLUMN) {
        return next;
    }
    if (FZ_UNLIKELY(!op->null_ok)) {
        return fail(s, op, p, "null_in_required", "null, and its column is required");
    }
    return appended(s, fz_column_append_null(column_of(s, op), s->err), next);
}

static const uint8_t *begin_union(state *s, const fz_avro_op *op, const uint8_t *p,
                                  const fz_avro_op **next) {
    int64_t index = 0;
    const uint8_t *after = read_long(s, op, p, &index);
    if (!after) {
        return NULL;
    }
    if (index < 0 || index >= op->size) {
        return fail(s, op, p, "malformed", "union index %lld, there are %u branches",
                    (long long)index, op->size);
    }
    const fz_avro_op *ops = s->decoder->plan.ops.data;
    uint32_t branch = op->as.branches[index];
    if (branch == FZ_AVRO_NULL_BRANCH) {
        *next = ops + op->end;
        return append_absent(s, op, p, after);
    }
    *next = ops + branch;
    if (op->column != FZ_AVRO_NO_COLUMN) {
        push_frame(s, op);
    }
    return after;
}

// One branch got its value: null for the others.
static const uint8_t *end_branch(state *s, const fz_avro_op *op, const uint8_t *p) {
    if (op->column == FZ_AVRO_NO_COLUMN) {
        return p;
    }
    fz_column *column = pop_frame(s)->column;
    for (size_t i = 0; i < column->child_count; i++) {
        if (column->children[i].length == column->length) {
            fz_code code = fz_column_append_null(&column->children[i], s->err);
            if (code != FZ_OK) {
                s->code = code;
                return NULL;
            }
        }
    }
    return appended(s, fz_column_append_struct(column, s->err), p);
}

// The index of a union of null and one type, or of one type; *absent: it was null.
static inline const uint8_t *read_form(state *s, const fz_avro_op *op, const uint8_t *p,
                                       bool *absent) {
    int64_t index = 0;
    const uint8_t *next = read_long(s, op, p, &index);
    if (FZ_UNLIKELY(!next)) {
        return NULL;
    }
    int64_t branches = op->form == FZ_AVRO_FORM_SINGLE ? 1 : 2;
    if (FZ_UNLIKELY(index < 0 || index >= branches)) {
        return fail(s, op, p, "malformed", "union index %lld, there are %lld branches",
                    (long long)index, (long long)branches);
    }
    *absent = index == op->form;
    return *absent ? append_absent(s, op, p, next) : next;
}

// --- the loop ---

static fz_code run(state *s, const uint8_t *p) {
    const fz_avro_op *ops = s->decoder->plan.ops.data;
    const fz_avro_op *op = ops;
    while (p) {
        if (op->form != FZ_AVRO_FORM_PLAIN) {
            bool absent = false;
            p = read_form(s, op, p, &absent);
            if (absent || !p) {
                op = ops + op->end;
                continue;
            }
        }
        const fz_avro_op *next = op + 1;
        switch ((fz_avro_opcode)op->code) {
        case FZ_AVRO_OP_END:
            if (FZ_UNLIKELY(p != s->end)) {
                s->code = fz_err_set_kind(s->err, FZ_CORRUPT, "trailing_bytes",
                                          "%lld bytes are left behind the record",
                                          (long long)(s->end - p));
                if (s->err) {
                    s->err->offset = p - s->begin;
                }
            }
            return s->code;
        case FZ_AVRO_OP_STRUCT:
            push_frame(s, op);
            break;
        case FZ_AVRO_OP_STRUCT_END:
            p = appended(s, fz_column_append_struct(pop_frame(s)->column, s->err), p);
            break;
        case FZ_AVRO_OP_ARRAY:
        case FZ_AVRO_OP_MAP:
            p = begin_items(s, op, p, &next);
            break;
        case FZ_AVRO_OP_ITEM_END:
            p = next_item(s, s->top - 1, p, &next);
            break;
        case FZ_AVRO_OP_UNION:
            p = begin_union(s, op, p, &next);
            break;
        case FZ_AVRO_OP_BRANCH_END:
            p = end_branch(s, op, p);
            next = ops + op->end;
            break;
        default:
            p = run_scalar(s, op, column_of(s, op), p);
            break;
        }
        op = next;
    }
    return s->code;
}

static fz_code avro_decode(fz_decoder *base, const uint8_t *data, size_t size, fz_batch *batch,
                           fz_err *err) {
    static const uint8_t none[1] = {0};
    avro_decoder *decoder = (avro_decoder *)base;
    FZ_ASSERT(batch->column_count == decoder->plan.column_count);
    data = size ? data : none;
    state s = {
        .decoder = decoder,
        .begin = data,
        .end = data + size,
        .columns = batch->columns,
        .top = decoder->frames,
        .err = err,
        .code = FZ_OK,
    };
    return run(&s, data);
}

static void avro_decoder_free(fz_decoder *base) {
    avro_decoder *decoder = (avro_decoder *)base;
    fz_avro_plan_deinit(&decoder->plan);
    fz_free(decoder->frames);
    fz_buf_deinit(&decoder->text);
    fz_free(decoder);
}

static const fz_decoder_ops avro_decoder_ops = {.decode = avro_decode, .free = avro_decoder_free};

fz_code fz_avro_decoder_open(const fz_writer_schema *schema, const fz_schema *shape,
                             fz_schema *target, const bool *owned, fz_decoder **out, fz_err *err) {
    avro_decoder *decoder = (avro_decoder *)fz_calloc(1, sizeof(*decoder));
    decoder->base.ops = &avro_decoder_ops;
    fz_buf_init(&decoder->text, JSON_TEXT_SIZE, NULL);
    fz_code code = fz_avro_plan_compile(&decoder->plan, ((const fz_avro_schema *)schema)->root,
                                        shape, target, owned, err);
    if (code != FZ_OK) {
        avro_decoder_free(&decoder->base);
        return code;
    }
    decoder->frames = (frame *)fz_calloc(decoder->plan.frames + 1, sizeof(frame));
    *out = &decoder->base;
    return FZ_OK;
}
