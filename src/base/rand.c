// SPDX-License-Identifier: Apache-2.0
// Random bytes of the system, and UUIDs.
#include "base/rand.h"

#include <errno.h>
#include <sys/random.h>

#include "base/codec/text_codec.h"

void fz_rand_bytes(void *out, size_t size) {
    uint8_t *at = out;
    while (size) {
        ssize_t got = getrandom(at, size, 0);
        if (got < 0) {
            FZ_ASSERT(errno == EINTR);
            continue;
        }
        at += got;
        size -= (size_t)got;
    }
}

uint64_t fz_rand_u64(void) {
    uint64_t value;
    fz_rand_bytes(&value, sizeof(value));
    return value;
}

uint64_t fz_rand_below(uint64_t below) {
    FZ_ASSERT(below > 0);
    // values under 2^64 mod below would come once too often
    uint64_t skip = -below % below;
    uint64_t value;
    do {
        value = fz_rand_u64();
    } while (value < skip);
    return value % below;
}

void fz_rand_uuid(char out[37]) {
    uint8_t bytes[16];
    fz_rand_bytes(bytes, sizeof(bytes));
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    fz_uuid_format(bytes, out);
}
