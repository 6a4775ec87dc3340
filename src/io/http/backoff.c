// SPDX-License-Identifier: Apache-2.0
// Exponential growth with jitter, so that many callers do not come back at once.
#include "io/http/backoff.h"

#include "base/rand.h"

int64_t fz_http_backoff_next_ms(fz_http_backoff *backoff, int64_t retry_after_ms) {
    int64_t first = backoff->first_ms > 0 ? backoff->first_ms : 100;
    int64_t max = backoff->max_ms > 0 ? backoff->max_ms : 30000;
    int64_t wait = first < max ? first : max;
    for (unsigned i = 0; i < backoff->attempt && wait < max; i++) {
        wait = wait > max / 2 ? max : wait * 2;
    }
    if (backoff->attempt < 1000) {
        backoff->attempt++;
    }
    wait = wait - wait / 2 + (int64_t)fz_rand_below((uint64_t)(wait / 2) + 1);
    return retry_after_ms > wait ? retry_after_ms : wait;
}

int64_t fz_http_backoff_wait(fz_http_backoff *backoff, int64_t retry_after_ms) {
    int64_t wait = fz_http_backoff_next_ms(backoff, retry_after_ms);
    fz_clock_sleep_ms(backoff->clock ? backoff->clock : fz_clock_real(), wait);
    return wait;
}

void fz_http_backoff_reset(fz_http_backoff *backoff) {
    backoff->attempt = 0;
}
