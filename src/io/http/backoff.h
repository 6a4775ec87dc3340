// SPDX-License-Identifier: Apache-2.0
// How long to wait before the next attempt: exponential, with full jitter.
#ifndef FZ_IO_HTTP_BACKOFF_H
#define FZ_IO_HTTP_BACKOFF_H

#include "base/clock.h"

/** Zeroed: 100 ms doubling to 30 s on the real clock. One thread. */
typedef struct fz_http_backoff {
    fz_clock *clock;  // NULL: real
    int64_t first_ms; // 0: 100
    int64_t max_ms;   // 0: 30000
    unsigned attempt; // waits so far
} fz_http_backoff;

/** The next wait: between half and all of first * 2^attempt, at most max, at least retry_after_ms
 * (-1: none). */
int64_t fz_http_backoff_next_ms(fz_http_backoff *backoff, int64_t retry_after_ms);
/** Sleep it on the clock; what was slept. */
int64_t fz_http_backoff_wait(fz_http_backoff *backoff, int64_t retry_after_ms);
/** After a success. */
void fz_http_backoff_reset(fz_http_backoff *backoff);

#endif
