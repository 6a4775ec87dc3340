// SPDX-License-Identifier: Apache-2.0
// C11 threads over pthread for the ThreadSanitizer build: glibc's own are not intercepted, and
// librdkafka uses them.
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

// The symbols are linked into the program and exported (-rdynamic), so that they come before libc's
// for librdkafka too.
_Static_assert(sizeof(mtx_t) >= sizeof(pthread_mutex_t), "mtx_t holds a pthread_mutex_t");
_Static_assert(sizeof(cnd_t) >= sizeof(pthread_cond_t), "cnd_t holds a pthread_cond_t");

static int result(int error) {
    switch (error) {
    case 0:
        return thrd_success;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    case ENOMEM:
        return thrd_nomem;
    default:
        return thrd_error;
    }
}

typedef struct start {
    thrd_start_t fn;
    void *arg;
} start;

static void *run(void *arg) {
    start s = *(start *)arg;
    free(arg);
    return (void *)(intptr_t)s.fn(s.arg);
}

int thrd_create(thrd_t *thread, thrd_start_t fn, void *arg) {
    start *s = malloc(sizeof *s);
    if (s == NULL) {
        return thrd_nomem;
    }
    *s = (start){fn, arg};
    int error = pthread_create(thread, NULL, run, s);
    if (error != 0) {
        free(s);
    }
    return result(error == EAGAIN ? ENOMEM : error);
}

int thrd_join(thrd_t thread, int *code) {
    void *value = NULL;
    int error = pthread_join(thread, &value);
    if (code != NULL) {
        *code = (int)(intptr_t)value;
    }
    return result(error);
}

int thrd_detach(thrd_t thread) {
    return result(pthread_detach(thread));
}

thrd_t thrd_current(void) {
    return pthread_self();
}

int thrd_equal(thrd_t a, thrd_t b) {
    return pthread_equal(a, b);
}

void thrd_yield(void) {
    sched_yield();
}

void thrd_exit(int code) {
    pthread_exit((void *)(intptr_t)code);
}

int mtx_init(mtx_t *mutex, int type) {
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, (type & mtx_recursive) != 0 ? PTHREAD_MUTEX_RECURSIVE
                                                                 : PTHREAD_MUTEX_NORMAL);
    int error = pthread_mutex_init((pthread_mutex_t *)mutex, &attr);
    pthread_mutexattr_destroy(&attr);
    return result(error);
}

int mtx_lock(mtx_t *mutex) {
    return result(pthread_mutex_lock((pthread_mutex_t *)mutex));
}

int mtx_trylock(mtx_t *mutex) {
    return result(pthread_mutex_trylock((pthread_mutex_t *)mutex));
}

int mtx_timedlock(mtx_t *restrict mutex, const struct timespec *restrict until) {
    return result(pthread_mutex_timedlock((pthread_mutex_t *)mutex, until));
}

int mtx_unlock(mtx_t *mutex) {
    return result(pthread_mutex_unlock((pthread_mutex_t *)mutex));
}

void mtx_destroy(mtx_t *mutex) {
    pthread_mutex_destroy((pthread_mutex_t *)mutex);
}

int cnd_init(cnd_t *cond) {
    return result(pthread_cond_init((pthread_cond_t *)cond, NULL));
}

int cnd_signal(cnd_t *cond) {
    return result(pthread_cond_signal((pthread_cond_t *)cond));
}

int cnd_broadcast(cnd_t *cond) {
    return result(pthread_cond_broadcast((pthread_cond_t *)cond));
}

int cnd_wait(cnd_t *cond, mtx_t *mutex) {
    return result(pthread_cond_wait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex));
}

int cnd_timedwait(cnd_t *restrict cond, mtx_t *restrict mutex,
                  const struct timespec *restrict until) {
    return result(pthread_cond_timedwait((pthread_cond_t *)cond, (pthread_mutex_t *)mutex, until));
}

void cnd_destroy(cnd_t *cond) {
    pthread_cond_destroy((pthread_cond_t *)cond);
}
