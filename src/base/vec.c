// SPDX-License-Identifier: Apache-2.0
// The one checked grow behind the typed vectors.
#include "base/vec.h"

void *fz_vec_grow(void *data, size_t *capacity, size_t want, size_t size) {
    size_t next = *capacity < SIZE_MAX / 2 ? *capacity * 2 : SIZE_MAX;
    next = next < 8 ? 8 : next;
    next = next < want ? want : next;
    data = fz_realloc(data, next, size);
    *capacity = next;
    return data;
}
