// SPDX-License-Identifier: Apache-2.0
// The system's clock and the simulated one.
#include "base/clock.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

static int64_t read_us(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t real_wall_us(fz_clock *clock) {
    (void)clock;
    return read_us(CLOCK_REALTIME);
}

static int64_t real_mono_us(fz_clock *clock) {
    (void)clock;
    return read_us(CLOCK_MONOTONIC);
}

static void real_sleep_us(fz_clock *clock, int64_t us) {
    (void)clock;
    struct timespec rest = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, &rest) == EINTR) {
    }
}

fz_clock *fz_clock_real(void) {
    static const fz_clock_ops ops = {"real", real_wall_us, real_mono_us, real_sleep_us};
    static fz_clock clock = {&ops};
    return &clock;
}

static int64_t sim_now_us(fz_clock *clock) {
    return atomic_load(&((fz_clock_sim *)clock)->now_us);
}

static void sim_sleep_us(fz_clock *clock, int64_t us) {
    atomic_fetch_add(&((fz_clock_sim *)clock)->now_us, us);
}

void fz_clock_sim_init(fz_clock_sim *sim, int64_t start_us) {
    static const fz_clock_ops ops = {"sim", sim_now_us, sim_now_us, sim_sleep_us};
    sim->clock.ops = &ops;
    atomic_init(&sim->now_us, start_us);
}

void fz_clock_sim_advance(fz_clock_sim *sim, int64_t us) {
    FZ_ASSERT(us >= 0);
    atomic_fetch_add(&sim->now_us, us);
}

int64_t fz_clock_wall_us(fz_clock *clock) {
    return clock->ops->wall_us(clock);
}

int64_t fz_clock_wall_ms(fz_clock *clock) {
    int64_t us = fz_clock_wall_us(clock);
    return us / 1000 - (us % 1000 < 0);
}

int64_t fz_clock_mono_us(fz_clock *clock) {
    return clock->ops->mono_us(clock);
}

int64_t fz_clock_mono_ms(fz_clock *clock) {
    return fz_clock_mono_us(clock) / 1000;
}

void fz_clock_sleep_ms(fz_clock *clock, int64_t ms) {
    if (ms > 0) {
        clock->ops->sleep_us(clock, ms > INT64_MAX / 1000 ? INT64_MAX / 1000 : ms * 1000);
    }
}
