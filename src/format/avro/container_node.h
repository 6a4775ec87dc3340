// SPDX-License-Identifier: Apache-2.0
// Schemas of object containers, parsed from JSON; shared by container reader and writer.
#ifndef FZ_FORMAT_AVRO_CONTAINER_NODE_H
#define FZ_FORMAT_AVRO_CONTAINER_NODE_H

#include "format/avro/container.h"

/** Parse into `arena`; CORRUPT, LIMIT. max_nodes and max_depth as in the container's limits. */
FZ_CHECKED fz_code fz_avro_container_node_parse(const json_t *schema, size_t max_nodes,
                                                unsigned max_depth, fz_arena *arena,
                                                const fz_avro_node **out, fz_err *err);

#endif
