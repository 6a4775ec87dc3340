// SPDX-License-Identifier: Apache-2.0
// frazil config: the effective configuration, or the documented default file.
#include <stdio.h>

#include "app/commands.h"

static int cmd_config(const fz_arguments *arguments) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
    if (fz_arguments_find(arguments, "--defaults")) {
        fz_config_document_default(&text);
    } else if (fz_arguments_find(arguments, "--markdown")) {
        fz_config_document_markdown(&text);
    } else {
        fz_config config;
        if (!fz_arguments_config(arguments, &config)) {
            return FZ_EXIT_USAGE;
        }
        fz_config_print(&config, &text);
        fz_config_deinit(&config);
    }
    fputs(fz_buf_cstr(&text), stdout);
    return FZ_EXIT_OK;
}

static const fz_command_flag flags[] = {
    {"--defaults", NULL, "print the documented default file instead"},
    {"--markdown", NULL, "print docs/configuration.md instead"},
    {NULL, NULL, NULL},
};

const fz_command fz_command_config = {
    .name = "config",
    .operands = "",
    .doc = "print the effective configuration, secrets as ***",
    .flags = flags,
    .run = cmd_config,
};
