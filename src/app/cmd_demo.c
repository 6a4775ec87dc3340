// SPDX-License-Identifier: Apache-2.0
// frazil demo: broker, registry, producer, service and warehouse in one process.
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/demo_orders.h"
#include "app/demo_place.h"
#include "app/demo_producer.h"
#include "app/host.h"
#include "base/memory.h"
#include "base/text/json.h"
#include "base/text/number.h"
#include "flow/ingest/service.h"
#include "io/http/server.h"
#include "io/registry/memory_registry.h"

#define RATE_MAX 10000000 // rows a second
/** After a signal: time for what was produced to be committed. */
#define FINISH_MS 30000

static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    signals++;
}

typedef struct demo_run {
    const fz_arguments *arguments;
    bool once;
    fz_demo_place place;
    fz_kafka_mock_broker *broker;
    fz_registry *registry;
    fz_http_server *server;
    fz_config config;
    fz_host host;
    fz_service *service;
    fz_demo_producer producer;
    bool explained;
    int64_t shown;          // rows of the last line of progress
    int64_t began_ms;       // monotonic
    int64_t finish_till_ms; // -1: nobody asked to end
    char location[1024];    // of the table, at the end
    int64_t files;          // -1: not known
    int64_t table_rows;
} demo_run;

// --- command line

static bool usage(const char *flag, const char *value, const char *wanted) {
    fprintf(stderr, "frazil demo: %s \"%s\": wanted %s\n", flag, value, wanted);
    return false;
}

/** "1000/s", "60/m", "5/h" or a bare number a second, as rows an hour. */
static bool parse_rate(const char *text, int64_t *per_hour) {
    static const struct {
        const char *unit;
        int64_t an_hour;
    } units[] = {{"/s", 3600}, {"/m", 60}, {"/h", 1}};
    fz_str number = fz_str_from(text);
    int64_t times = 3600, count;
    for (size_t i = 0; i < FZ_COUNT(units); i++) {
        if (fz_str_ends_with(number, fz_str_from(units[i].unit))) {
            number.size -= 2;
            times = units[i].an_hour;
            break;
        }
    }
    if (fz_int_parse(number, &count, NULL) != FZ_OK || count < 1 || count > RATE_MAX) {
        return usage("--rate", text, "a number of rows from 1 to 10000000 with /s, /m or /h");
    }
    *per_hour = count * times;
    return true;
}

/** Options for the configuration that the demo can do with. */
static bool check_overrides(const fz_arguments *arguments) {
    static const char *const allowed[] = {"log.format", "log.level", "memory_limit", "threads",
                                          "tableflow.commit_interval"};
    for (size_t i = 0; i < arguments->overrides.count; i++) {
        const fz_config_override *given = &arguments->overrides.data[i];
        bool good = false;
        for (size_t j = 0; !good && j < FZ_COUNT(allowed); j++) {
            good = fz_str_equal(fz_str_from(given->key), fz_str_from(allowed[j]));
        }
        if (!good) {
            fprintf(stderr, "frazil demo: %s: the demo makes its own configuration\n",
                    given->origin);
            return false;
        }
    }
    return true;
}

static bool parse_arguments(demo_run *demo) {
    const char *rows = fz_arguments_find(demo->arguments, "--rows");
    const char *rate = fz_arguments_find(demo->arguments, "--rate");
    demo->once = fz_arguments_find(demo->arguments, "--once") != NULL;
    demo->producer.rows = 100000;
    if (demo->arguments->files.count > 0) {
        fprintf(stderr, "frazil demo: -c \"%s\": the demo makes its own configuration\n",
                demo->arguments->files.data[0]);
        return false;
    }
    if (!check_overrides(demo->arguments)) {
        return false;
    }
    if (rows && (fz_int_parse(fz_str_from(rows), &demo->producer.rows, NULL) != FZ_OK ||
                 demo->producer.rows < 1 || demo->producer.rows > 1000000000)) {
        return usage("--rows", rows, "a number from 1 to 1000000000");
    }
    demo->producer.paced = demo->once && rate;
    demo->producer.endless = !demo->once;
    return parse_rate(rate ? rate : "1000/s", &demo->producer.per_hour);
}

// --- the pieces

static fz_code start_registry(demo_run *demo, fz_err *err) {
    demo->registry = fz_registry_memory_new();
    char *subject = fz_str_printf("%s-value", demo->place.topic);
    fz_code code = fz_registry_add(demo->registry, fz_str_from(subject), FZ_REGISTRY_AVRO,
                                   fz_str_from(fz_demo_orders_schema), NULL, 0,
                                   &demo->producer.schema_id, err);
    fz_free(subject);
    FZ_TRY(code);
    fz_http_server_options options = {.handler = fz_registry_memory_handle,
                                      .context = demo->registry};
    return fz_http_server_start(&options, &demo->server, err);
}

static fz_code start_broker(demo_run *demo, fz_err *err) {
    FZ_TRY(fz_kafka_mock_broker_new(1, &demo->broker, err));
    return fz_kafka_mock_broker_create(demo->broker, demo->place.topic, FZ_DEMO_PRODUCER_PARTITIONS,
                                       err);
}

static fz_code load_config(demo_run *demo, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    fz_demo_place_configure(&demo->place, fz_kafka_mock_broker_servers(demo->broker),
                            fz_http_server_url(demo->server), &text);
    FZ_TRY(fz_demo_place_keep(&demo->place, fz_buf_view(&text), err));
    fz_config_source source = {.text = fz_buf_view(&text),
                               .name = "the demo's configuration",
                               .folder = demo->place.folder,
                               .overrides = demo->arguments->overrides.data,
                               .override_count = demo->arguments->overrides.count,
                               .no_env = true};
    fz_config_faults faults = {0};
    fz_code code = fz_config_load(&source, &demo->config, &faults, err);
    fz_config_faults_deinit(&faults);
    return code;
}

static fz_code start(demo_run *demo, const char *folder, fz_err *err) {
    FZ_TRY(fz_demo_place_open(folder, &demo->place, err));
    FZ_TRY(start_broker(demo, err));
    FZ_TRY(start_registry(demo, err));
    FZ_TRY(load_config(demo, err));
    FZ_TRY(fz_host_init(&demo->host, &demo->config, err));
    FZ_TRY(fz_service_new(&demo->host.ingest, &demo->service, err));
    demo->producer.broker = demo->broker;
    demo->producer.topic = demo->place.topic;
    demo->producer.clock = demo->host.ingest.clock;
    fz_demo_producer_start(&demo->producer);
    return FZ_OK;
}

static void end(demo_run *demo) {
    fz_demo_producer_join(&demo->producer);
    fz_service_free(demo->service);
    fz_host_deinit(&demo->host);
    fz_config_deinit(&demo->config);
    fz_http_server_stop(demo->server);
    fz_registry_free(demo->registry);
    fz_kafka_mock_broker_free(demo->broker);
    fz_demo_place_deinit(&demo->place);
}

// --- what is told

static void print_start(const demo_run *demo) {
    if (demo->arguments->json) {
        return;
    }
    printf("topic   %s, %d partitions, at %s in this process\n", demo->place.topic,
           FZ_DEMO_PRODUCER_PARTITIONS, fz_kafka_mock_broker_servers(demo->broker));
    printf("schemas %s\n", fz_http_server_url(demo->server));
    printf("table   demo.%s in %s/warehouse\n", demo->place.topic, demo->place.folder);
    printf("config  %s\n", demo->place.configuration);
    if (demo->place.run > 1) {
        printf("run %d in this folder: a table of its own, those of earlier runs stay\n",
               demo->place.run);
    }
    printf("\n");
    fflush(stdout);
}

static void print_explanation(demo_run *demo) {
    if (demo->arguments->json || demo->explained) {
        return;
    }
    demo->explained = true;
    char program[1024];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size > 0 ? size : 0] = 0;
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    fz_demo_place_explain(&demo->place, size > 0 ? program : "frazil", &text);
    fputs(fz_buf_cstr(&text), stdout);
    if (!demo->once) {
        printf("\nCtrl-C commits what is there and ends.\n");
    }
    fflush(stdout);
}

static void print_summary(const demo_run *demo, int64_t rows) {
    double seconds = (double)(fz_clock_mono_ms(demo->host.ingest.clock) - demo->began_ms) / 1000.0;
    if (demo->arguments->json) {
        json_t *root = json_object();
        char *table = fz_str_printf("demo.%s", demo->place.topic);
        fz_json_set_str(root, "topic", fz_str_from(demo->place.topic));
        fz_json_set_str(root, "table", fz_str_from(table));
        fz_json_set_str(root, "location", fz_str_from(demo->location));
        json_object_set_new(root, "rows", json_integer(rows));
        json_object_set_new(root, "files",
                            demo->files < 0 ? json_null() : json_integer(demo->files));
        json_object_set_new(root, "seconds", json_real(seconds));
        char *line = json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(6));
        printf("%s\n", line ? line : "{}");
        free(line);
        fz_free(table);
        json_decref(root);
    } else {
        printf("\n%" PRId64 " rows in %" PRId64 " files, %.1f seconds: demo.%s at %s\n", rows,
               demo->files, seconds, demo->place.topic, demo->location);
    }
    fflush(stdout);
}

// --- the run

typedef struct demo_view {
    fz_stream_state state;
    fz_err err;
    int64_t committed; // sum of the watermarks
} demo_view;

/** On the service's thread: only it begins an opening, so `parts` stay while the stream is open. */
static void look(demo_run *demo, demo_view *out) {
    fz_stream *stream = fz_service_stream_at(demo->service, 0);
    memset(out, 0, sizeof *out);
    fz_mutex_lock(&stream->mutex);
    out->state = stream->state;
    out->err = stream->err;
    for (int32_t p = 0; stream->opened && p < stream->part_count && p < FZ_DEMO_PRODUCER_PARTITIONS;
         p++) {
        demo->producer.committed[p] = stream->parts[p].committed;
    }
    fz_mutex_unlock(&stream->mutex);
    for (int32_t p = 0; p < FZ_DEMO_PRODUCER_PARTITIONS; p++) {
        out->committed += demo->producer.committed[p];
    }
}

static void show_progress(demo_run *demo, int64_t committed) {
    if (committed > 0) {
        if (!demo->once) {
            print_explanation(demo);
        }
        if (committed != demo->shown && isatty(STDERR_FILENO)) {
            fprintf(stderr, "\r%" PRId64 " rows in the table ", committed);
        }
        demo->shown = committed;
    }
}

static fz_service_stop asked_to_stop(void *context) {
    demo_run *demo = (demo_run *)context;
    int64_t now = fz_clock_mono_ms(demo->host.ingest.clock);
    demo_view view;
    look(demo, &view);
    show_progress(demo, view.committed);
    if (signals > 1) {
        return FZ_SERVICE_ABORT;
    }
    bool broken = view.state == FZ_STREAM_SUSPENDED || view.state == FZ_STREAM_FAILED ||
                  (demo->producer.done && demo->producer.err.code != FZ_OK);
    if (broken) {
        return FZ_SERVICE_FINISH;
    }
    if (signals == 1 && demo->finish_till_ms < 0) {
        demo->producer.stop = true;
        demo->finish_till_ms = now + FINISH_MS;
    }
    bool all = demo->producer.done && view.committed >= demo->producer.produced;
    bool late = demo->finish_till_ms >= 0 && now >= demo->finish_till_ms;
    return all || late ? FZ_SERVICE_FINISH : FZ_SERVICE_GO;
}

/** Files and rows as the table's newest snapshot tells them. */
static void look_at_table(demo_run *demo) {
    fz_stream *stream = fz_service_stream_at(demo->service, 0);
    fz_iceberg_snapshot snapshot;
    demo->files = -1;
    snprintf(demo->location, sizeof demo->location, "%s/warehouse/demo/%s", demo->place.folder,
             demo->place.topic);
    if (stream->metadata && fz_iceberg_metadata_main(stream->metadata, &snapshot)) {
        if (fz_int_parse(fz_iceberg_snapshot_summary(&snapshot, "total-data-files"), &demo->files,
                         NULL) != FZ_OK) {
            demo->files = -1;
        }
        if (fz_int_parse(fz_iceberg_snapshot_summary(&snapshot, "total-records"), &demo->table_rows,
                         NULL) != FZ_OK) {
            demo->table_rows = -1;
        }
    }
}

/** Exit code of a run that ended: 0 only if all that was produced is in the table. */
static int settle(demo_run *demo, int code) {
    demo_view view;
    look(demo, &view);
    look_at_table(demo);
    fz_demo_producer_join(&demo->producer);
    if (demo->shown > 0 && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\n");
    }
    if (demo->producer.err.code != FZ_OK) {
        fprintf(stderr, "frazil demo: %s\n", fz_err_text(&demo->producer.err));
        return FZ_EXIT_FAILED;
    }
    if (view.state == FZ_STREAM_SUSPENDED || view.state == FZ_STREAM_FAILED) {
        fprintf(stderr, "frazil demo: %s: %s\n", fz_stream_state_name(view.state),
                fz_err_text(&view.err));
        return view.state == FZ_STREAM_FAILED ? FZ_EXIT_FAILED : FZ_EXIT_SUSPENDED;
    }
    if (view.committed != demo->producer.produced || demo->table_rows != view.committed) {
        fprintf(stderr,
                "frazil demo: %" PRId64 " rows were produced, %" PRId64
                " committed, the table has %" PRId64 "\n",
                (int64_t)demo->producer.produced, view.committed, demo->table_rows);
        return FZ_EXIT_FAILED;
    }
    print_explanation(demo);
    print_summary(demo, view.committed);
    return code;
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static int cmd_demo(const fz_arguments *arguments) {
    demo_run demo = {.arguments = arguments, .finish_till_ms = -1};
    if (!parse_arguments(&demo)) {
        return FZ_EXIT_USAGE;
    }
    const char *folder = fz_arguments_find(arguments, "--dir");
    fz_err err = {0};
    int code;
    demo.began_ms = fz_clock_mono_ms(fz_clock_real());
    setenv("no_proxy", "*", 1); // everything is on this machine
    catch_signals();
    if (start(&demo, folder ? folder : "frazil-demo", &err) != FZ_OK) {
        fprintf(stderr, "frazil demo: %s\n", fz_err_text(&err));
        code = err.code == FZ_INVALID ? FZ_EXIT_USAGE : FZ_EXIT_FAILED;
    } else {
        print_start(&demo);
        code = fz_service_run(demo.service, asked_to_stop, &demo);
        if (signals > 1) {
            _exit(FZ_EXIT_FAILED); // at once: the commit protocol makes it safe
        }
        code = settle(&demo, code);
    }
    end(&demo);
    return code;
}

static const fz_command_flag flags[] = {
    {"--rows", "N", "rows at the start, their event times over the last three days (100000)"},
    {"--rate", "N/s", "rows a second behind them (1000/s); with --once of all rows"},
    {"--dir", "D",
     "folder of warehouse and catalog (./frazil-demo); a run adds a table of its own"},
    {"--once", NULL, "end when all rows are committed"},
    {NULL, NULL, NULL},
};

const fz_command fz_command_demo = {
    .name = "demo",
    .operands = "",
    .doc = "a broker, a registry, a producer and a table in one process, to try it",
    .flags = flags,
    .run = cmd_demo,
};
