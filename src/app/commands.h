// SPDX-License-Identifier: Apache-2.0
// The commands, each in cmd_<name>.c.
#ifndef FZ_APP_COMMANDS_H
#define FZ_APP_COMMANDS_H

#include "app/command.h"

extern const fz_command fz_command_demo;
extern const fz_command fz_command_run;
extern const fz_command fz_command_check;
extern const fz_command fz_command_cat;
extern const fz_command fz_command_maintain;
extern const fz_command fz_command_replay;
extern const fz_command fz_command_verify;
extern const fz_command fz_command_config;

#endif
