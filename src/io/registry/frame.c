// SPDX-License-Identifier: Apache-2.0
// The rare forms of a frame, and what is wrong with bad ones.
#include "io/registry/frame.h"

enum { MAGIC_ID = 0, MAGIC_GUID = 1, ID_END = 5, GUID_END = 17 };

static fz_code too_short(size_t size, size_t wanted, fz_err *err) {
    return fz_err_set_kind(err, FZ_CORRUPT, "bad_frame", "schema frame of %zu bytes, wanted %zu",
                           size, wanted);
}

fz_code fz_registry_frame_parse_slow(const uint8_t *data, size_t size, fz_registry_frame *out,
                                     fz_err *err) {
    if (size == 0) {
        return fz_err_set_kind(err, FZ_CORRUPT, "bad_frame", "empty value, wanted a schema frame");
    }
    switch (data[0]) {
    case MAGIC_ID:
        if (size < ID_END) {
            return too_short(size, ID_END, err);
        }
        return fz_registry_frame_parse(data, size, out, err);
    case MAGIC_GUID:
        if (size < GUID_END) {
            return too_short(size, GUID_END, err);
        }
        out->has_guid = true;
        out->id = -1;
        memcpy(out->guid, data + 1, sizeof out->guid);
        out->payload_at = GUID_END;
        return FZ_OK;
    default:
        return fz_err_set_kind(err, FZ_CORRUPT, "bad_magic",
                               "first byte is %02x, wanted 00 or 01 of a schema frame", data[0]);
    }
}

fz_code fz_registry_frame_parse_header(fz_str value, fz_registry_frame *out, fz_err *err) {
    fz_registry_frame frame;
    FZ_TRY(fz_registry_frame_parse((const uint8_t *)value.data, value.size, &frame, err));
    if (frame.payload_at != value.size) {
        return fz_err_set_kind(err, FZ_CORRUPT, "bad_frame",
                               "schema header of %zu bytes, wanted %zu", value.size,
                               frame.payload_at);
    }
    frame.payload_at = 0;
    *out = frame;
    return FZ_OK;
}
