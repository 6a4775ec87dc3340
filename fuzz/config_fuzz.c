// SPDX-License-Identifier: Apache-2.0
// Configuration text: loads twice alike, and what is printed loads again and prints the same.
// Links: fz_conf
#include <stdio.h>

#include "conf/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *find_env(const char *name, void *context) {
    (void)context;
    return strcmp(name, "SET") == 0 ? "value" : strcmp(name, "EMPTY") == 0 ? "" : NULL;
}

static fz_code load(fz_str text, fz_buf *out) {
    const fz_config_source source = {
        .text = text, .folder = "/conf", .find_env = find_env, .no_env = true, .no_files = true};
    fz_config config;
    fz_config_faults faults = {0};
    fz_code code = fz_config_load(&source, &config, &faults, NULL);
    if (code == FZ_OK) {
        fz_config_print(&config, out);
        fz_config_deinit(&config);
    } else {
        FZ_ASSERT(faults.count > 0);
        fz_config_faults_format(&faults, out);
    }
    fz_config_faults_deinit(&faults);
    return code;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fz_buf first = {0};
    fz_buf second = {0};
    fz_code code = load(fz_str_make(data, size), &first);
    FZ_ASSERT(load(fz_str_make(data, size), &second) == code);
    FZ_ASSERT(fz_str_equal(fz_buf_view(&first), fz_buf_view(&second)));
    if (code == FZ_OK) {
        fz_buf_reset(&second);
        code = load(fz_buf_view(&first), &second);
        if (code != FZ_OK || !fz_str_equal(fz_buf_view(&first), fz_buf_view(&second))) {
            fprintf(stderr, "%.*s\n----\n%.*s\n", FZ_STR_ARGS(fz_buf_view(&first)),
                    FZ_STR_ARGS(fz_buf_view(&second)));
        }
        FZ_ASSERT(code == FZ_OK);
        FZ_ASSERT(fz_str_equal(fz_buf_view(&first), fz_buf_view(&second)));
    }
    fz_buf_deinit(&first);
    fz_buf_deinit(&second);
    return 0;
}
