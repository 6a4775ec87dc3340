// SPDX-License-Identifier: Apache-2.0
// Where encoders put bytes.
#ifndef FZ_BASE_SINK_H
#define FZ_BASE_SINK_H

#include "base/buf.h"

typedef struct fz_sink fz_sink;

/** First member of every implementation. write takes all bytes or fails for good. One thread. */
struct fz_sink {
    fz_code (*write)(fz_sink *sink, const void *data, size_t size, fz_err *err);
};

FZ_CHECKED fz_code fz_sink_write(fz_sink *sink, const void *data, size_t size, fz_err *err);

/** A sink that appends to a buffer (borrowed). */
typedef struct fz_buf_sink {
    fz_sink sink;
    fz_buf *buf;
} fz_buf_sink;

void fz_buf_sink_init(fz_buf_sink *sink, fz_buf *buf);

#endif
