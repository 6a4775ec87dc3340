// SPDX-License-Identifier: Apache-2.0
// Confluent framing: which schema wrote a record, and where its payload starts.
#ifndef FZ_IO_REGISTRY_FRAME_H
#define FZ_IO_REGISTRY_FRAME_H

#include "base/error.h"
#include "base/str.h"

/** Names of the record headers that may carry the frame instead of the value or key. */
#define FZ_REGISTRY_VALUE_HEADER "__value_schema_id"
#define FZ_REGISTRY_KEY_HEADER "__key_schema_id"

/** The schema of a record, and its payload (for Protobuf that starts with the message indexes). */
typedef struct fz_registry_frame {
    bool has_guid;
    int32_t id;       // if not has_guid
    uint8_t guid[16]; // if has_guid, in textual order
    size_t payload_at;
} fz_registry_frame;

/** The rare part of fz_registry_frame_parse: guid or fault. */
FZ_CHECKED fz_code fz_registry_frame_parse_slow(const uint8_t *data, size_t size,
                                                fz_registry_frame *out, fz_err *err);

/**
 * Frame in front of a value: 00 + id (4 bytes, big-endian), or 01 + guid (16 bytes). A null value
 * (tombstone) has none: do not ask.
 *
 * Errors: CORRUPT with kind bad_magic or bad_frame.
 * Source: Confluent SchemaId.java.
 */
FZ_CHECKED static inline fz_code fz_registry_frame_parse(const uint8_t *data, size_t size,
                                                         fz_registry_frame *out, fz_err *err) {
    if (FZ_LIKELY(size >= 5 && data[0] == 0)) {
        uint32_t id =
            (uint32_t)data[1] << 24 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 8 | data[4];
        out->has_guid = false;
        out->id = (int32_t)id;
        out->payload_at = 5;
        return FZ_OK;
    }
    return fz_registry_frame_parse_slow(data, size, out, err);
}

/**
 * Frame in a record header; the record's value is all payload (payload_at 0). Of several headers of
 * the name the last one counts, if its value is not null: else the frame is in front of the value.
 *
 * Errors: CORRUPT with kind bad_magic or bad_frame (also for bytes behind id or guid).
 */
FZ_CHECKED fz_code fz_registry_frame_parse_header(fz_str value, fz_registry_frame *out,
                                                  fz_err *err);

#endif
