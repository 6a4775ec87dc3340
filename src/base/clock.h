// SPDX-License-Identifier: Apache-2.0
// Time and waiting, real or simulated; every wait goes through a clock.
#ifndef FZ_BASE_CLOCK_H
#define FZ_BASE_CLOCK_H

#include "base/attr.h"

typedef struct fz_clock fz_clock;

typedef struct fz_clock_ops {
    const char *name;
    int64_t (*wall_us)(fz_clock *clock); // microseconds since 1970, UTC
    int64_t (*mono_us)(fz_clock *clock); // never goes back
    void (*sleep_us)(fz_clock *clock, int64_t us);
} fz_clock_ops;

/** First member of every implementation. Any thread. */
struct fz_clock {
    const fz_clock_ops *ops;
};

/** The system's clock; static. */
fz_clock *fz_clock_real(void);

/** A clock that moves only when told, or when somebody sleeps on it. */
typedef struct fz_clock_sim {
    fz_clock clock;
    _Atomic int64_t now_us;
} fz_clock_sim;
void fz_clock_sim_init(fz_clock_sim *sim, int64_t start_us);
void fz_clock_sim_advance(fz_clock_sim *sim, int64_t us);

int64_t fz_clock_wall_us(fz_clock *clock);
int64_t fz_clock_wall_ms(fz_clock *clock);
int64_t fz_clock_mono_us(fz_clock *clock);
int64_t fz_clock_mono_ms(fz_clock *clock);
void fz_clock_sleep_ms(fz_clock *clock, int64_t ms);

#endif
