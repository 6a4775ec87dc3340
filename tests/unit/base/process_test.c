// SPDX-License-Identifier: Apache-2.0
// Threads, the pool, clocks, the log and the metrics.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/text/json.h"
#include "base/thread.h"

static _Atomic int runs;

static void count_run(void *arg) {
    atomic_fetch_add(&runs, *(int *)arg);
}

static void pool_runs_all(void **state) {
    (void)state;
    int two = 2;
    fz_pool *pool = fz_pool_new("a-name-longer-than-fifteen", 3);
    for (int i = 0; i < 1000; i++) {
        fz_pool_submit(pool, count_run, &two);
    }
    fz_pool_free(pool);
    assert_int_equal(atomic_load(&runs), 2000);
    fz_pool_free(NULL);
    fz_thread never = {0};
    fz_thread_join(&never);
    fz_thread thread = {0};
    fz_thread_start(&thread, "t", count_run, &two);
    fz_thread_join(&thread);
    fz_thread_join(&thread);
    assert_int_equal(atomic_load(&runs), 2002);
}

static void condition_times_out(void **state) {
    (void)state;
    fz_mutex mutex;
    fz_cond cond;
    fz_mutex_init(&mutex);
    fz_cond_init(&cond);
    fz_mutex_lock(&mutex);
    int64_t before = fz_clock_mono_ms(fz_clock_real());
    assert_false(fz_cond_wait_ms(&cond, &mutex, 20));
    assert_true(fz_clock_mono_ms(fz_clock_real()) - before >= 19);
    assert_false(fz_cond_wait_ms(&cond, &mutex, -5));
    fz_mutex_unlock(&mutex);
    fz_cond_deinit(&cond);
    fz_mutex_deinit(&mutex);
}

static void clocks(void **state) {
    (void)state;
    fz_clock_sim sim;
    fz_clock_sim_init(&sim, 5000000);
    assert_int_equal(fz_clock_wall_us(&sim.clock), 5000000);
    fz_clock_sleep_ms(&sim.clock, 250);
    fz_clock_sleep_ms(&sim.clock, -1);
    assert_int_equal(fz_clock_mono_ms(&sim.clock), 5250);
    fz_clock_sim_advance(&sim, 1);
    assert_int_equal(fz_clock_mono_us(&sim.clock), 5250001);
    fz_clock_sim_init(&sim, -1);
    assert_int_equal(fz_clock_wall_ms(&sim.clock), -1);
    int64_t before = fz_clock_mono_us(fz_clock_real());
    fz_clock_sleep_ms(fz_clock_real(), 5);
    assert_true(fz_clock_mono_us(fz_clock_real()) - before >= 5000);
    assert_true(fz_clock_wall_ms(fz_clock_real()) > INT64_C(1600000000000));
}

// What `log` wrote into the pipe so far.
static const char *read_pipe(int fd) {
    static char text[65536];
    ssize_t got = read(fd, text, sizeof(text) - 1);
    text[got > 0 ? got : 0] = 0;
    return text;
}

static void log_lines(void **state) {
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fz_log *log = fz_log_new(fds[1], FZ_LOG_TEXT, FZ_LOG_INFO);
    FZ_LOG(log, FZ_LOG_DEBUG, "hidden", FZ_KV_INT("n", 1));
    assert_false(fz_log_enabled(log, FZ_LOG_DEBUG));
    assert_false(fz_log_enabled(NULL, FZ_LOG_ERROR));
    FZ_LOG(NULL, FZ_LOG_ERROR, "nowhere", FZ_KV_INT("n", 1));
    FZ_LOG(log, FZ_LOG_WARN, "test.event", FZ_KV_TEXT("topic", "orders"), FZ_KV_INT("n", -5),
           FZ_KV_REAL("r", 0.5), FZ_KV_BOOL("b", true), FZ_KV_TEXT("e", ""),
           FZ_KV_TEXT("q", "a \"b\"\n\x01\\"), FZ_KV_STR("u", FZ_STR("\xff\xc3")),
           FZ_KV_TEXT("eq", "a=b"), FZ_KV_TEXT("null", NULL), FZ_KV_TEXT("ok", "\xc3\xa9"));
    const char *line = read_pipe(fds[0]);
    assert_int_equal(line[4], '-');
    assert_int_equal(line[10], 'T');
    assert_int_equal(line[23], 'Z');
    assert_string_equal(line + 24, " warn test.event topic=orders n=-5 r=0.5 b=true e=\"\" "
                                   "q=\"a \\\"b\\\"\\n\\u0001\\\\\" u=\"\xef\xbf\xbd\xef\xbf\xbd\" "
                                   "eq=\"a=b\" null=\"\" ok=\xc3\xa9\n");
    fz_log_set(log, FZ_LOG_JSON, FZ_LOG_DEBUG);
    FZ_LOG(log, FZ_LOG_DEBUG, "test.json", FZ_KV_TEXT("q", "a \"b\"\n\x01"),
           FZ_KV_REAL("r", 0.0 / 0.0), FZ_KV_INT("n", INT64_MIN), FZ_KV_BOOL("b", false));
    line = read_pipe(fds[0]);
    json_t *json = NULL;
    assert_int_equal(fz_json_parse(fz_str_from(line), &json, NULL), FZ_OK);
    assert_true(fz_str_equal(fz_json_str_or(json, "event"), FZ_STR("test.json")));
    assert_true(fz_str_equal(fz_json_str_or(json, "level"), FZ_STR("debug")));
    assert_true(fz_str_equal(fz_json_str_or(json, "q"), FZ_STR("a \"b\"\n\x01")));
    assert_true(fz_json_int_or(json, "n", 0) == INT64_MIN);
    assert_int_equal(fz_json_str_or(json, "time").size, 24);
    fz_json_release(&json);
    fz_log_write(log, FZ_LOG_INFO, "bare", NULL, 0);
    line = read_pipe(fds[0]);
    assert_int_equal(line[strlen(line) - 1], '\n');
    static char huge[400000];
    memset(huge, 'x', sizeof(huge));
    fz_kv many[60];
    for (size_t i = 0; i < FZ_COUNT(many); i++) {
        many[i] = FZ_KV_STR("k", fz_str_make(huge, i ? sizeof(huge) : 5));
    }
    fz_log_write(log, FZ_LOG_INFO, "large", many, 3);
    line = read_pipe(fds[0]);
    assert_true(strlen(line) < 20000);
    assert_int_equal(fz_json_parse(fz_str_from(line), &json, NULL), FZ_OK);
    fz_json_release(&json);
    fz_log_free(log);
    fz_log_free(NULL);
    close(fds[0]);
    close(fds[1]);
}

static size_t lines_in(const char *text) {
    size_t count = 0;
    for (; *text; text++) {
        count += *text == '\n';
    }
    return count;
}

static void log_suppresses(void **state) {
    (void)state;
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    fz_log *log = fz_log_new(fds[1], FZ_LOG_TEXT, FZ_LOG_INFO);
    // begin just behind the edge of a second
    int64_t ms = fz_clock_wall_ms(fz_clock_real());
    fz_clock_sleep_ms(fz_clock_real(), 1010 - ms % 1000);
    for (int i = 0; i < 20; i++) {
        FZ_LOG(log, FZ_LOG_WARN, "retry", FZ_KV_TEXT("topic", "a"), FZ_KV_INT("n", i));
        FZ_LOG(log, FZ_LOG_WARN, "retry", FZ_KV_TEXT("topic", i % 2 ? "b" : "c"));
    }
    const char *text = read_pipe(fds[0]);
    assert_int_equal(lines_in(text), 15);
    assert_null(strstr(text, "suppressed"));
    fz_clock_sleep_ms(fz_clock_real(), 1000);
    FZ_LOG(log, FZ_LOG_WARN, "retry", FZ_KV_TEXT("topic", "a"), FZ_KV_INT("n", 20));
    FZ_LOG(log, FZ_LOG_WARN, "retry", FZ_KV_TEXT("topic", "a"), FZ_KV_INT("n", 21));
    text = read_pipe(fds[0]);
    assert_non_null(strstr(text, "n=20 suppressed=15\n"));
    assert_non_null(strstr(text, "n=21\n"));
    fz_log_free(log);
    close(fds[0]);
    close(fds[1]);
}

static const fz_metric_def defs[] = {
    {.name = "frazil_rows_total",
     .type = FZ_METRIC_COUNTER,
     .help = "Rows \\ written",
     .labels = {"topic", "table"}},
    {.name = "frazil_lag_seconds", .type = FZ_METRIC_GAUGE, .help = "Lag", .scale = 1e-3},
    {.name = "frazil_commit_seconds",
     .type = FZ_METRIC_HISTOGRAM,
     .help = "Commits",
     .scale = 1e-3,
     .bounds = {100, 2500},
     .labels = {"table"}},
    {.name = "frazil_never_total", .type = FZ_METRIC_COUNTER, .help = "Never", .labels = {"x"}},
};

static void bump(void *arg) {
    for (int i = 0; i < 1000; i++) {
        const char *values[] = {"o\"r\\d\ners", "t"};
        fz_metric_add(fz_metrics_get(arg, 0, values), 1);
    }
}

static void metrics_print(void **state) {
    (void)state;
    fz_metrics *metrics = fz_metrics_new(defs, FZ_COUNT(defs));
    fz_pool *pool = fz_pool_new("m", 4);
    for (int i = 0; i < 4; i++) {
        fz_pool_submit(pool, bump, metrics);
    }
    fz_pool_free(pool);
    fz_metric_set(fz_metrics_get(metrics, 1, NULL), -2500);
    const char *table[] = {"t"};
    fz_metric *commits = fz_metrics_get(metrics, 2, table);
    fz_metric_observe(commits, 100);
    fz_metric_observe(commits, 101);
    fz_metric_observe(commits, 99999);
    fz_buf buf = {0};
    fz_metrics_format(metrics, &buf);
    assert_string_equal(fz_buf_cstr(&buf),
                        "# HELP frazil_rows_total Rows \\\\ written\n"
                        "# TYPE frazil_rows_total counter\n"
                        "frazil_rows_total{topic=\"o\\\"r\\\\d\\ners\",table=\"t\"} 4000\n"
                        "# HELP frazil_lag_seconds Lag\n"
                        "# TYPE frazil_lag_seconds gauge\n"
                        "frazil_lag_seconds -2.5\n"
                        "# HELP frazil_commit_seconds Commits\n"
                        "# TYPE frazil_commit_seconds histogram\n"
                        "frazil_commit_seconds_bucket{table=\"t\",le=\"0.1\"} 1\n"
                        "frazil_commit_seconds_bucket{table=\"t\",le=\"2.5\"} 2\n"
                        "frazil_commit_seconds_bucket{table=\"t\",le=\"+Inf\"} 3\n"
                        "frazil_commit_seconds_sum{table=\"t\"} 100.2\n"
                        "frazil_commit_seconds_count{table=\"t\"} 3\n");
    assert_int_equal(fz_metric_value(commits), 100200);
    fz_metric_hide(commits);
    fz_buf_reset(&buf);
    fz_metrics_format(metrics, &buf);
    assert_null(strstr(fz_buf_cstr(&buf), "commit"));
    assert_ptr_equal(fz_metrics_get(metrics, 2, table), commits);
    fz_buf_reset(&buf);
    fz_metrics_format(metrics, &buf);
    assert_non_null(strstr(fz_buf_cstr(&buf), "commit"));
    fz_buf_deinit(&buf);
    fz_metrics_free(metrics);
    fz_metrics_free(NULL);
    assert_null(fz_metrics_get(NULL, 0, NULL));
    fz_metric_add(NULL, 1);
    fz_metric_set(NULL, 1);
    fz_metric_observe(NULL, 1);
    fz_metric_hide(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pool_runs_all),  cmocka_unit_test(condition_times_out),
        cmocka_unit_test(clocks),         cmocka_unit_test(log_lines),
        cmocka_unit_test(log_suppresses), cmocka_unit_test(metrics_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
