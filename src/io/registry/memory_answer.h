// SPDX-License-Identifier: Apache-2.0
// What the HTTP face of the memory registry looks up in it.
#ifndef FZ_IO_REGISTRY_MEMORY_ANSWER_H
#define FZ_IO_REGISTRY_MEMORY_ANSWER_H

#include "io/registry/resolve.h"

/** As a version number: the newest. */
#define FZ_REGISTRY_MEMORY_NEWEST (-1)

/** Copies into `out` (zeroed, deinit it); false if there is none. The registry must be a memory
 * registry. */
bool fz_registry_memory_find_id(fz_registry *registry, int32_t id, fz_registry_raw *out);
bool fz_registry_memory_find_guid(fz_registry *registry, const uint8_t guid[16],
                                  fz_registry_raw *out);
/** removed_too: also versions that were soft-deleted. */
bool fz_registry_memory_find_version(fz_registry *registry, fz_str subject, int32_t number,
                                     bool removed_too, fz_registry_raw *out);

#endif
