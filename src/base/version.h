// SPDX-License-Identifier: Apache-2.0
// The version of the program.
#ifndef FZ_BASE_VERSION_H
#define FZ_BASE_VERSION_H

#define FZ_VERSION "0.1.0"

#endif
