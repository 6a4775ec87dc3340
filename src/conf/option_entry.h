// SPDX-License-Identifier: Apache-2.0
// Tables of an entry's blocks that stand in files of their own.
#ifndef FZ_CONF_OPTION_ENTRY_H
#define FZ_CONF_OPTION_ENTRY_H

#include "conf/option.h"

extern const fz_conf_table fz_conf_value_table;
extern const fz_conf_table fz_conf_key_table;
extern const fz_conf_table fz_conf_maintenance_table;
extern const fz_conf_table fz_conf_parquet_table;

#endif
