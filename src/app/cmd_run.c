// SPDX-License-Identifier: Apache-2.0
// frazil run: the service, or one pass.
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/host.h"
#include "base/text/time.h"
#include "flow/ingest/service.h"

static volatile sig_atomic_t signals;

static void on_signal(int number) {
    (void)number;
    signals++;
}

static fz_service_stop asked_to_stop(void *context) {
    (void)context;
    return signals == 0 ? FZ_SERVICE_GO : signals == 1 ? FZ_SERVICE_FINISH : FZ_SERVICE_ABORT;
}

static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

static bool parse_until(const fz_arguments *arguments, int64_t *until_ms) {
    const char *until = fz_arguments_find(arguments, "--until");
    *until_ms = -1;
    if (!until) {
        return true;
    }
    fz_err err;
    int64_t micros;
    if (fz_timestamp_parse(fz_str_from(until), true, &micros, &err) != FZ_OK) {
        fprintf(stderr, "frazil run: --until \"%s\": %s\n", until, err.text);
        return false;
    }
    *until_ms = fz_floor_div(micros, 1000);
    return true;
}

static void print_report(const fz_service *service, const fz_arguments *arguments) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    if (arguments->json) {
        fz_service_report(service, &text);
    } else {
        fz_service_report_text(service, &text);
    }
    fputs(fz_buf_cstr(&text), stdout);
    fflush(stdout);
}

static int run_service(fz_host *host, const fz_arguments *arguments) {
    fz_err err = {0};
    if (host->ingest.once && host->ingest.config->entry_count == 0) {
        fprintf(stderr, "frazil run: no topic: give --topic, or -c FILE with a tableflow entry\n");
        return FZ_EXIT_USAGE;
    }
    fz_service *service = NULL;
    if (fz_service_new(&host->ingest, &service, &err) != FZ_OK) {
        fprintf(stderr, "frazil run: %s\n", fz_err_text(&err));
        return err.code == FZ_INVALID ? FZ_EXIT_USAGE : FZ_EXIT_FAILED;
    }
    catch_signals();
    int code = fz_service_run(service, asked_to_stop, NULL);
    if (host->ingest.once) {
        print_report(service, arguments);
    }
    if (signals > 1) {
        _exit(FZ_EXIT_FAILED); // at once: the commit protocol makes it safe
    }
    fz_service_free(service);
    return code;
}

static int cmd_run(const fz_arguments *arguments) {
    fz_config config;
    int64_t until_ms;
    if (!parse_until(arguments, &until_ms) || !fz_arguments_config(arguments, &config)) {
        return FZ_EXIT_USAGE;
    }
    fz_host host;
    fz_err err = {0};
    int code = FZ_EXIT_FAILED;
    if (fz_host_init(&host, &config, &err) == FZ_OK) {
        host.ingest.once = until_ms >= 0 || fz_arguments_find(arguments, "--once") != NULL;
        host.ingest.until_ms = until_ms;
        code = run_service(&host, arguments);
    } else {
        fprintf(stderr, "frazil run: %s\n", fz_err_text(&err));
        code = err.code == FZ_INVALID ? FZ_EXIT_USAGE : FZ_EXIT_FAILED;
    }
    fz_host_deinit(&host);
    fz_config_deinit(&config);
    return code;
}

static const fz_command_flag flags[] = {
    {"--once", NULL, "one pass over what is there now, then end"},
    {"--until", "TIMESTAMP", "one pass up to the first record at or after this time"},
    {NULL, NULL, NULL},
};

const fz_command fz_command_run = {
    .name = "run",
    .operands = "",
    .doc = "bring topics into their tables: as a service, or one pass (--once)",
    .flags = flags,
    .run = cmd_run,
};
