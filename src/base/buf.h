// SPDX-License-Identifier: Apache-2.0
// Owned bytes that grow up to a ceiling; the first failure sticks.
#ifndef FZ_BASE_BUF_H
#define FZ_BASE_BUF_H

#include "base/budget.h"
#include "base/str.h"

/** Zeroed is empty and valid (no ceiling, no budget). After a failure appends do nothing; ask
 * fz_buf_check once. */
typedef struct fz_buf {
    uint8_t *data;
    size_t size;
    size_t capacity;
    size_t ceiling;    // bytes; 0: none
    fz_budget *budget; // charged with the capacity; NULL: none
    bool failed;
} fz_buf;

/** ceiling in bytes (0 none), budget may be NULL and must outlive the buffer. */
void fz_buf_init(fz_buf *buf, size_t ceiling, fz_budget *budget);
/** Frees and zeroes, also half built. */
void fz_buf_deinit(fz_buf *buf);
/** size 0, capacity kept, failure forgotten. */
void fz_buf_reset(fz_buf *buf);
/** Room for `more` bytes behind size; false (and sticky failure) when ceiling, budget or system say
 * no. */
bool fz_buf_reserve(fz_buf *buf, size_t more);
void fz_buf_append(fz_buf *buf, const void *data, size_t size);
void fz_buf_append_str(fz_buf *buf, fz_str s);
void fz_buf_append_byte(fz_buf *buf, uint8_t byte);
void fz_buf_append_le32(fz_buf *buf, uint32_t value);
void fz_buf_append_le64(fz_buf *buf, uint64_t value);
void fz_buf_printf(fz_buf *buf, const char *format, ...) FZ_PRINTF(2, 3);
/** LIMIT naming `what` if anything failed since init or reset. */
FZ_CHECKED fz_code fz_buf_check(const fz_buf *buf, const char *what, fz_err *err);
/** Terminate with a zero byte behind size (not counted) and borrow as C text; "" after a failure.
 */
const char *fz_buf_cstr(fz_buf *buf);
static inline fz_str fz_buf_view(const fz_buf *buf) {
    return fz_str_make(buf->data, buf->size);
}

#endif
