// SPDX-License-Identifier: Apache-2.0
// A command of the program: what the command line gave, and the table of commands.
#ifndef FZ_APP_COMMAND_H
#define FZ_APP_COMMAND_H

#include "base/vec.h"
#include "conf/config.h"

/** Exit codes of interface.md section 2. */
enum {
    FZ_EXIT_OK = 0,
    FZ_EXIT_FAILED = 1,
    FZ_EXIT_USAGE = 2,
    FZ_EXIT_SUSPENDED = 3,
    FZ_EXIT_DIFFERS = 4,
};

/** A flag of one command beside the common ones. */
typedef struct fz_command_flag {
    const char *name;  // "--limit"
    const char *value; // what follows it, for help: "N"; NULL: nothing does
    const char *doc;
} fz_command_flag;

typedef struct fz_arguments fz_arguments;

typedef struct fz_command {
    const char *name;
    const char *operands;         // for help: "TABLE"
    const char *doc;              // one line
    const fz_command_flag *flags; // ends with a NULL name; NULL: none
    int least;                    // operands
    int most;
    int (*run)(const fz_arguments *arguments);
} fz_command;

/** The command line, taken apart. */
struct fz_arguments {
    const fz_command *command;
    FZ_VEC(const char *) files;           // -c
    FZ_VEC(fz_config_override) overrides; // flags that stand for configuration keys
    FZ_VEC(const char *) operands;
    FZ_VEC(fz_config_pair) given; // flags of the command
    bool json;                    // -o json
    bool log_level_given;
};

/** Value of a flag of the command; NULL if not given, "" if it takes none. */
const char *fz_arguments_find(const fz_arguments *arguments, const char *flag);

/**
 * Load the configuration that the arguments name: files, else FRAZIL_CONFIG, else none. Faults go
 * to standard error, one a line; false then, the exit code is FZ_EXIT_USAGE.
 */
bool fz_arguments_config(const fz_arguments *arguments, fz_config *out);

#endif
