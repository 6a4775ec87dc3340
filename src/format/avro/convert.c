// SPDX-License-Identifier: Apache-2.0
// Which writer types may fill which columns, and by which op.
#include "format/avro/plan.h"

#include "format/fill.h"

static fz_avro_opcode plain_op(const fz_avro_type *type, const fz_type *to) {
    fz_type_kind kind = to->kind;
    switch (type->kind) {
    case FZ_AVRO_BOOLEAN:
        return kind == FZ_TYPE_BOOLEAN ? FZ_AVRO_OP_BOOLEAN : FZ_AVRO_OP_END;
    case FZ_AVRO_INT:
        if (kind == FZ_TYPE_LONG) {
            return FZ_AVRO_OP_INT_AS_LONG;
        }
        return kind == FZ_TYPE_INT ? FZ_AVRO_OP_INT : FZ_AVRO_OP_END;
    case FZ_AVRO_LONG:
        return kind == FZ_TYPE_LONG ? FZ_AVRO_OP_LONG : FZ_AVRO_OP_END;
    case FZ_AVRO_FLOAT:
        if (kind == FZ_TYPE_DOUBLE) {
            return FZ_AVRO_OP_FLOAT_AS_DOUBLE;
        }
        return kind == FZ_TYPE_FLOAT ? FZ_AVRO_OP_FLOAT : FZ_AVRO_OP_END;
    case FZ_AVRO_DOUBLE:
        return kind == FZ_TYPE_DOUBLE ? FZ_AVRO_OP_DOUBLE : FZ_AVRO_OP_END;
    case FZ_AVRO_BYTES:
        return kind == FZ_TYPE_BINARY ? FZ_AVRO_OP_BYTES : FZ_AVRO_OP_END;
    case FZ_AVRO_STRING:
        return kind == FZ_TYPE_STRING ? FZ_AVRO_OP_STRING : FZ_AVRO_OP_END;
    case FZ_AVRO_ENUM:
        return kind == FZ_TYPE_STRING ? FZ_AVRO_OP_ENUM : FZ_AVRO_OP_END;
    case FZ_AVRO_FIXED:
        if (kind == FZ_TYPE_BINARY) {
            return FZ_AVRO_OP_FIXED_AS_BYTES;
        }
        return kind == FZ_TYPE_FIXED && to->length == type->size ? FZ_AVRO_OP_FIXED
                                                                 : FZ_AVRO_OP_END;
    default:
        return FZ_AVRO_OP_END;
    }
}

static fz_avro_opcode uuid_op(const fz_avro_type *type, fz_type_kind kind) {
    bool text = type->kind == FZ_AVRO_STRING;
    if (kind == FZ_TYPE_UUID) {
        return text ? FZ_AVRO_OP_UUID_TEXT : FZ_AVRO_OP_FIXED;
    }
    if (kind == FZ_TYPE_STRING) {
        return text ? FZ_AVRO_OP_UUID_TEXT_AS_TEXT : FZ_AVRO_OP_UUID_FIXED_AS_TEXT;
    }
    return FZ_AVRO_OP_END;
}

static fz_avro_opcode instant_op(fz_avro_logical logical, fz_type_kind kind) {
    bool zone = kind == FZ_TYPE_TIMESTAMPTZ || kind == FZ_TYPE_TIMESTAMPTZ_NS;
    bool nanos = kind == FZ_TYPE_TIMESTAMP_NS || kind == FZ_TYPE_TIMESTAMPTZ_NS;
    if (kind < FZ_TYPE_TIMESTAMP || kind > FZ_TYPE_TIMESTAMPTZ_NS) {
        return FZ_AVRO_OP_END;
    }
    switch (logical) {
    case FZ_AVRO_LOGICAL_TIMESTAMP_MILLIS:
        return zone && !nanos ? FZ_AVRO_OP_MILLIS : FZ_AVRO_OP_END;
    case FZ_AVRO_LOGICAL_TIMESTAMP_MICROS:
        return zone && !nanos ? FZ_AVRO_OP_LONG : FZ_AVRO_OP_END;
    case FZ_AVRO_LOGICAL_LOCAL_MILLIS:
        return !zone && !nanos ? FZ_AVRO_OP_MILLIS : FZ_AVRO_OP_END;
    case FZ_AVRO_LOGICAL_LOCAL_MICROS:
        return !zone && !nanos ? FZ_AVRO_OP_LONG : FZ_AVRO_OP_END;
    case FZ_AVRO_LOGICAL_TIMESTAMP_NANOS:
        return !zone ? FZ_AVRO_OP_END : nanos ? FZ_AVRO_OP_LONG : FZ_AVRO_OP_NANOS;
    case FZ_AVRO_LOGICAL_LOCAL_NANOS:
        return zone ? FZ_AVRO_OP_END : nanos ? FZ_AVRO_OP_LONG : FZ_AVRO_OP_NANOS;
    default:
        return FZ_AVRO_OP_END;
    }
}

static fz_avro_opcode logical_op(const fz_avro_type *type, const fz_type *to) {
    fz_type_kind kind = to->kind;
    switch (type->logical) {
    case FZ_AVRO_LOGICAL_DECIMAL:
        if (kind != FZ_TYPE_DECIMAL || to->scale != type->scale ||
            to->precision < type->precision) {
            return FZ_AVRO_OP_END;
        }
        return type->kind == FZ_AVRO_BYTES ? FZ_AVRO_OP_DECIMAL_BYTES : FZ_AVRO_OP_DECIMAL_FIXED;
    case FZ_AVRO_LOGICAL_UUID:
        return uuid_op(type, kind);
    case FZ_AVRO_LOGICAL_DATE:
        if (kind == FZ_TYPE_TIMESTAMP) {
            return FZ_AVRO_OP_DATE_AS_MICROS;
        }
        return kind == FZ_TYPE_DATE ? FZ_AVRO_OP_INT : FZ_AVRO_OP_END;
    case FZ_AVRO_LOGICAL_TIME_MILLIS:
    case FZ_AVRO_LOGICAL_TIME_MICROS:
        if (kind != FZ_TYPE_TIME && kind != FZ_TYPE_LONG) {
            return FZ_AVRO_OP_END;
        }
        return type->logical == FZ_AVRO_LOGICAL_TIME_MILLIS ? FZ_AVRO_OP_TIME_MILLIS
                                                            : FZ_AVRO_OP_TIME_MICROS;
    case FZ_AVRO_LOGICAL_DURATION:
        return plain_op(type, to);
    default:
        return instant_op(type->logical, kind);
    }
}

fz_avro_opcode fz_avro_plan_scalar(const fz_avro_type *type, const fz_type *shape,
                                   const fz_type *to) {
    if (!fz_fill_widens(shape, to)) {
        return FZ_AVRO_OP_END;
    }
    return type->logical == FZ_AVRO_LOGICAL_NONE ? plain_op(type, to) : logical_op(type, to);
}
