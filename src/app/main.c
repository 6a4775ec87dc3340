// SPDX-License-Identifier: Apache-2.0
// The program: finds the command, takes the command line apart, prints help.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/command.h"
#include "app/commands.h"
#include "base/memory.h"
#include "base/version.h"
#include "io/kafka/consumer.h"

static const fz_command *const commands[] = {
    &fz_command_demo,   &fz_command_run,      &fz_command_check,
    &fz_command_cat,    &fz_command_maintain, &fz_command_replay,
    &fz_command_verify, &fz_command_config,   NULL,
};

static const fz_command *command_find(const char *name) {
    for (size_t i = 0; commands[i]; i++) {
        if (strcmp(commands[i]->name, name) == 0) {
            return commands[i];
        }
    }
    return NULL;
}

static void print_help(FILE *to) {
    fprintf(to, "usage: frazil COMMAND [-c FILE] [-o text|json] [--log-level L] ...\n\n"
                "Frazil makes a Kafka topic be a live Apache Iceberg table.\n\ncommands:\n");
    for (size_t i = 0; commands[i]; i++) {
        fprintf(to, "  %-9s %s\n", commands[i]->name, commands[i]->doc);
    }
    fprintf(to, "\n'frazil COMMAND --help' tells more; 'frazil --version' the version.\n");
}

static void print_command_help(const fz_command *command, FILE *to) {
    fprintf(to, "usage: frazil %s%s%s [-c FILE] [options]\n\n%s\n\noptions:\n", command->name,
            command->operands[0] ? " " : "", command->operands, command->doc);
    for (const fz_command_flag *flag = command->flags; flag && flag->name; flag++) {
        char left[64];
        snprintf(left, sizeof left, "%s%s%s", flag->name, flag->value ? " " : "",
                 flag->value ? flag->value : "");
        fprintf(to, "  %-28s %s\n", left, flag->doc);
    }
    fprintf(to, "  %-28s %s\n  %-28s %s\n", "-c FILE", "configuration file; several are merged",
            "-o text|json", "how results are printed");
    size_t count;
    const fz_config_flag *flags = fz_config_flags(&count);
    for (size_t i = 0; i < count; i++) {
        char left[64];
        snprintf(left, sizeof left, "%s VALUE", flags[i].flag);
        fprintf(to, "  %-28s %s (%s)\n", left, flags[i].doc, flags[i].key);
    }
}

static void print_version(void) {
    printf("frazil %s\nlibrdkafka %s\n", FZ_VERSION, fz_kafka_version());
}

const char *fz_arguments_find(const fz_arguments *arguments, const char *flag) {
    const char *found = NULL;
    for (size_t i = 0; i < arguments->given.count; i++) {
        if (fz_str_equal(arguments->given.data[i].key, fz_str_from(flag))) {
            found = arguments->given.data[i].value.data;
        }
    }
    return found;
}

static const fz_command_flag *own_flag(const fz_command *command, const char *name) {
    for (const fz_command_flag *flag = command->flags; flag && flag->name; flag++) {
        if (strcmp(flag->name, name) == 0) {
            return flag;
        }
    }
    return NULL;
}

static const fz_config_flag *config_flag(const char *name) {
    size_t count;
    const fz_config_flag *flags = fz_config_flags(&count);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(flags[i].flag, name) == 0) {
            return &flags[i];
        }
    }
    return NULL;
}

static bool usage_error(const fz_command *command, const char *text, const char *word) {
    fprintf(stderr, "frazil %s: %s \"%s\"; see 'frazil %s --help'\n", command->name, text, word,
            command->name);
    return false;
}

/** One word that starts with '-'; *next is raised past what belongs to it. */
static bool parse_flag(fz_arguments *arguments, int argc, char **argv, int *next) {
    const fz_command *command = arguments->command;
    char *word = argv[*next];
    char *equals = strncmp(word, "--", 2) == 0 ? strchr(word, '=') : NULL;
    if (equals) {
        *equals = 0;
    }
    const fz_command_flag *own = own_flag(command, word);
    const fz_config_flag *key = config_flag(word);
    bool is_file = strcmp(word, "-c") == 0 || strcmp(word, "--config") == 0;
    bool is_output = strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0;
    if (!own && !key && !is_file && !is_output) {
        return usage_error(command, "unknown option", word);
    }
    const char *value = equals ? equals + 1 : NULL;
    if (!value && (!own || own->value)) {
        if (*next + 1 >= argc) {
            return usage_error(command, "a value is missing after", word);
        }
        value = argv[++*next];
    }
    if (own) {
        fz_vec_push(&arguments->given,
                    ((fz_config_pair){fz_str_from(own->name), fz_str_from(value ? value : "")}));
    } else if (key) {
        fz_vec_push(&arguments->overrides,
                    ((fz_config_override){key->key, fz_str_from(value), key->flag}));
    } else if (is_file) {
        fz_vec_push(&arguments->files, value);
    } else if (strcmp(value, "json") == 0 || strcmp(value, "text") == 0) {
        arguments->json = strcmp(value, "json") == 0;
    } else {
        return usage_error(command, "-o takes text or json, not", value);
    }
    return true;
}

static bool parse(fz_arguments *arguments, int argc, char **argv) {
    const fz_command *command = arguments->command;
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] == '-' && argv[i][1] != 0) {
            if (!parse_flag(arguments, argc, argv, &i)) {
                return false;
            }
        } else {
            fz_vec_push(&arguments->operands, argv[i]);
        }
    }
    int operands = (int)arguments->operands.count;
    if (operands < command->least) {
        return usage_error(command, "missing:", command->operands);
    }
    if (operands > command->most) {
        return usage_error(command, "unexpected:", arguments->operands.data[command->most]);
    }
    return true;
}

bool fz_arguments_config(const fz_arguments *arguments, fz_config *out) {
    const char *from_env = getenv("FRAZIL_CONFIG");
    fz_config_source source = {.paths = arguments->files.data,
                               .path_count = arguments->files.count,
                               .overrides = arguments->overrides.data,
                               .override_count = arguments->overrides.count};
    if (source.path_count == 0 && from_env && from_env[0]) {
        source.paths = &from_env;
        source.path_count = 1;
    }
    fz_config_faults faults = {0};
    fz_err err = {0};
    bool ok = fz_config_load(&source, out, &faults, &err) == FZ_OK;
    if (!ok && faults.count > 0) {
        FZ_CLEANUP(fz_buf_deinit) fz_buf text = {0};
        fz_config_faults_format(&faults, &text);
        fputs(fz_buf_cstr(&text), stderr);
    } else if (!ok) {
        fprintf(stderr, "frazil: %s\n", fz_err_text(&err));
    }
    fz_config_faults_deinit(&faults);
    return ok;
}

static bool asks_help(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2 || strcmp(argv[1], "help") == 0) {
        print_help(argc < 2 ? stderr : stdout);
        return argc < 2 ? FZ_EXIT_USAGE : FZ_EXIT_OK;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0 ||
        strcmp(argv[1], "version") == 0) {
        print_version();
        return FZ_EXIT_OK;
    }
    const fz_command *command = command_find(argv[1]);
    if (asks_help(argc, argv)) {
        if (command) {
            print_command_help(command, stdout);
        } else {
            print_help(stdout);
        }
        return FZ_EXIT_OK;
    }
    if (!command) {
        fprintf(stderr, "frazil: unknown command \"%s\"; 'frazil --help' lists them\n", argv[1]);
        return FZ_EXIT_USAGE;
    }
    fz_arguments arguments = {.command = command};
    int code = parse(&arguments, argc, argv) ? command->run(&arguments) : FZ_EXIT_USAGE;
    fz_vec_deinit(&arguments.files);
    fz_vec_deinit(&arguments.overrides);
    fz_vec_deinit(&arguments.operands);
    fz_vec_deinit(&arguments.given);
    return code;
}
