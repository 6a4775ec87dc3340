// SPDX-License-Identifier: Apache-2.0
// Threads, locks and the worker pool over pthread.
#define _GNU_SOURCE
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"

// These calls fail only on our own mistakes.
static void must(int error_number, const char *what) {
    if (FZ_UNLIKELY(error_number != 0)) {
        fprintf(stderr, "frazil: %s: %s\n", what, strerrordesc_np(error_number));
        abort();
    }
}

void fz_mutex_init(fz_mutex *mutex) {
    must(pthread_mutex_init(&mutex->native, NULL), "mutex init");
}

void fz_mutex_deinit(fz_mutex *mutex) {
    must(pthread_mutex_destroy(&mutex->native), "mutex destroy");
}

void fz_mutex_lock(fz_mutex *mutex) {
    must(pthread_mutex_lock(&mutex->native), "mutex lock");
}

void fz_mutex_unlock(fz_mutex *mutex) {
    must(pthread_mutex_unlock(&mutex->native), "mutex unlock");
}

void fz_cond_init(fz_cond *cond) {
    pthread_condattr_t attr;
    must(pthread_condattr_init(&attr), "condition attributes");
    must(pthread_condattr_setclock(&attr, CLOCK_MONOTONIC), "condition clock");
    must(pthread_cond_init(&cond->native, &attr), "condition init");
    pthread_condattr_destroy(&attr);
}

void fz_cond_deinit(fz_cond *cond) {
    must(pthread_cond_destroy(&cond->native), "condition destroy");
}

void fz_cond_signal(fz_cond *cond) {
    must(pthread_cond_signal(&cond->native), "condition signal");
}

void fz_cond_broadcast(fz_cond *cond) {
    must(pthread_cond_broadcast(&cond->native), "condition broadcast");
}

void fz_cond_wait(fz_cond *cond, fz_mutex *mutex) {
    must(pthread_cond_wait(&cond->native, &mutex->native), "condition wait");
}

bool fz_cond_wait_ms(fz_cond *cond, fz_mutex *mutex, int64_t timeout_ms) {
    const int64_t longest_ms = INT64_C(365) * 86400 * 1000;
    timeout_ms = timeout_ms < 0 ? 0 : timeout_ms > longest_ms ? longest_ms : timeout_ms;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += timeout_ms % 1000 * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    int result = pthread_cond_timedwait(&cond->native, &mutex->native, &until);
    if (result == ETIMEDOUT) {
        return false;
    }
    must(result, "condition wait");
    return true;
}

typedef struct fz_start {
    void (*run)(void *arg);
    void *arg;
    char name[16];
} fz_start;

static void *thread_main(void *arg) {
    fz_start start = *(fz_start *)arg;
    fz_free(arg);
    pthread_setname_np(pthread_self(), start.name);
    start.run(start.arg);
    return NULL;
}

void fz_thread_start(fz_thread *thread, const char *name, void (*run)(void *arg), void *arg) {
    fz_start *start = fz_calloc(1, sizeof(*start));
    start->run = run;
    start->arg = arg;
    snprintf(start->name, sizeof(start->name), "%s", name);
    // a new thread inherits the mask, so it is blocked from its first instruction
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    must(pthread_sigmask(SIG_BLOCK, &all, &before), "signal mask");
    must(pthread_create(&thread->native, NULL, thread_main, start), "thread start");
    thread->started = true;
    must(pthread_sigmask(SIG_SETMASK, &before, NULL), "signal mask");
}

void fz_thread_join(fz_thread *thread) {
    if (thread->started) {
        must(pthread_join(thread->native, NULL), "thread join");
        thread->started = false;
    }
}

typedef struct fz_job {
    struct fz_job *next;
    void (*run)(void *arg);
    void *arg;
} fz_job;

struct fz_pool {
    fz_mutex mutex; // guards all below but threads
    fz_cond work;
    fz_job *first;
    fz_job *last;
    bool ending;
    size_t count;
    fz_thread *threads;
};

static void worker_main(void *arg) {
    fz_pool *pool = arg;
    fz_mutex_lock(&pool->mutex);
    for (;;) {
        fz_job *job = pool->first;
        if (!job) {
            if (pool->ending) {
                break;
            }
            fz_cond_wait(&pool->work, &pool->mutex);
            continue;
        }
        pool->first = job->next;
        pool->last = pool->first ? pool->last : NULL;
        fz_mutex_unlock(&pool->mutex);
        job->run(job->arg);
        fz_free(job);
        fz_mutex_lock(&pool->mutex);
    }
    fz_mutex_unlock(&pool->mutex);
}

fz_pool *fz_pool_new(const char *name, size_t threads) {
    FZ_ASSERT(threads > 0);
    fz_pool *pool = fz_calloc(1, sizeof(*pool));
    fz_mutex_init(&pool->mutex);
    fz_cond_init(&pool->work);
    pool->count = threads;
    pool->threads = fz_calloc(threads, sizeof(*pool->threads));
    for (size_t i = 0; i < threads; i++) {
        fz_thread_start(&pool->threads[i], name, worker_main, pool);
    }
    return pool;
}

void fz_pool_submit(fz_pool *pool, void (*run)(void *arg), void *arg) {
    fz_job *job = fz_calloc(1, sizeof(*job));
    job->run = run;
    job->arg = arg;
    fz_mutex_lock(&pool->mutex);
    if (pool->last) {
        pool->last->next = job;
    } else {
        pool->first = job;
    }
    pool->last = job;
    fz_cond_signal(&pool->work);
    fz_mutex_unlock(&pool->mutex);
}

void fz_pool_free(fz_pool *pool) {
    if (!pool) {
        return;
    }
    fz_mutex_lock(&pool->mutex);
    pool->ending = true;
    fz_cond_broadcast(&pool->work);
    fz_mutex_unlock(&pool->mutex);
    for (size_t i = 0; i < pool->count; i++) {
        fz_thread_join(&pool->threads[i]);
    }
    fz_cond_deinit(&pool->work);
    fz_mutex_deinit(&pool->mutex);
    fz_free(pool->threads);
    fz_free(pool);
}
