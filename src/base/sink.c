// SPDX-License-Identifier: Apache-2.0
// Sinks.
#include "base/sink.h"

fz_code fz_sink_write(fz_sink *sink, const void *data, size_t size, fz_err *err) {
    FZ_ASSERT(sink && (data || size == 0));
    return size ? sink->write(sink, data, size, err) : FZ_OK;
}

static fz_code buf_write(fz_sink *sink, const void *data, size_t size, fz_err *err) {
    fz_buf_sink *self = (fz_buf_sink *)sink;
    fz_buf_append(self->buf, data, size);
    return fz_buf_check(self->buf, "output buffer", err);
}

void fz_buf_sink_init(fz_buf_sink *sink, fz_buf *buf) {
    sink->sink.write = buf_write;
    sink->buf = buf;
}
