// SPDX-License-Identifier: Apache-2.0
// Threads, locks and a bounded worker pool over pthread.
#ifndef FZ_BASE_THREAD_H
#define FZ_BASE_THREAD_H

#include <pthread.h>

#include "base/attr.h"

typedef struct fz_mutex {
    pthread_mutex_t native;
} fz_mutex;
typedef struct fz_cond {
    pthread_cond_t native; // on CLOCK_MONOTONIC
} fz_cond;
typedef struct fz_thread {
    pthread_t native;
    bool started;
} fz_thread;

void fz_mutex_init(fz_mutex *mutex);
void fz_mutex_deinit(fz_mutex *mutex);
void fz_mutex_lock(fz_mutex *mutex);
void fz_mutex_unlock(fz_mutex *mutex);
void fz_cond_init(fz_cond *cond);
void fz_cond_deinit(fz_cond *cond);
void fz_cond_signal(fz_cond *cond);
void fz_cond_broadcast(fz_cond *cond);
void fz_cond_wait(fz_cond *cond, fz_mutex *mutex);
/** Wait at most timeout_ms; false on time-out. */
bool fz_cond_wait_ms(fz_cond *cond, fz_mutex *mutex, int64_t timeout_ms);

/** Start `run(arg)` in a thread named `name` (15 bytes are kept); all signals are blocked in it. */
void fz_thread_start(fz_thread *thread, const char *name, void (*run)(void *arg), void *arg);
/** Wait for its end; nothing if it never started. */
void fz_thread_join(fz_thread *thread);

/** Fixed number of threads that run jobs in order of submission. */
typedef struct fz_pool fz_pool;
fz_pool *fz_pool_new(const char *name, size_t threads);
/** Queue a job; it runs once, on any thread of the pool. Any thread. */
void fz_pool_submit(fz_pool *pool, void (*run)(void *arg), void *arg);
/** Runs what is queued, then ends the threads. NULL allowed. */
void fz_pool_free(fz_pool *pool);

#endif
