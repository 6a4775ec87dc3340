// SPDX-License-Identifier: Apache-2.0
// Writing of log lines with a rate limit.
#include "base/log.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "base/codec/hash.h"
#include "base/codec/text_codec.h"
#include "base/memory.h"
#include "base/text/number.h"
#include "base/text/time.h"
#include "base/thread.h"

enum {
    LINES_A_SECOND = 5,
    RATES = 256,            // keys followed at a time
    RATE_PROBES = 4,        // places where a key may stand
    LONGEST_VALUE = 8192,   // bytes of one value
    LONGEST_LINE = 1 << 18, // bytes
};

/** How often one event with one first pair came in its second. */
typedef struct fz_log_rate {
    uint64_t key; // 0: free
    int64_t second;
    unsigned written;
    int64_t suppressed;
} fz_log_rate;

struct fz_log {
    int fd;
    _Atomic int format;
    _Atomic int level;
    fz_mutex mutex; // guards rates and line
    fz_log_rate rates[RATES];
    fz_buf line;
};

fz_log *fz_log_new(int fd, fz_log_format format, fz_log_level level) {
    fz_log *log = fz_calloc(1, sizeof(*log));
    log->fd = fd;
    fz_mutex_init(&log->mutex);
    fz_buf_init(&log->line, LONGEST_LINE, NULL);
    fz_log_set(log, format, level);
    return log;
}

void fz_log_free(fz_log *log) {
    if (log) {
        fz_buf_deinit(&log->line);
        fz_mutex_deinit(&log->mutex);
        fz_free(log);
    }
}

void fz_log_set(fz_log *log, fz_log_format format, fz_log_level level) {
    atomic_store(&log->format, (int)format);
    atomic_store(&log->level, (int)level);
}

bool fz_log_enabled(const fz_log *log, fz_log_level level) {
    return log && (int)level >= atomic_load(&log->level);
}

static uint64_t rate_key(const char *event, const fz_kv *pairs, size_t count) {
    uint64_t parts[3] = {fz_xxh3_64(event, strlen(event)), 0, 0};
    if (count) {
        parts[1] = fz_xxh3_64(pairs[0].key, strlen(pairs[0].key));
        parts[2] =
            pairs[0].kind == FZ_KV_KIND_TEXT   ? fz_xxh3_64(pairs[0].text.data, pairs[0].text.size)
            : pairs[0].kind == FZ_KV_KIND_REAL ? fz_xxh3_64(&pairs[0].real, sizeof(pairs[0].real))
                                               : (uint64_t)pairs[0].integer;
    }
    uint64_t key = fz_xxh3_64(parts, sizeof(parts));
    return key ? key : 1;
}

// The record of a key. A stranger's place is taken from the one longest silent; what was held back
// of it is counted on, so that the sum over all lines stays true.
static fz_log_rate *rate_of(fz_log *log, uint64_t key) {
    fz_log_rate *oldest = &log->rates[key % RATES];
    for (size_t i = 0; i < RATE_PROBES; i++) {
        fz_log_rate *rate = &log->rates[(key + i) % RATES];
        if (rate->key == key) {
            return rate;
        }
        if (rate->key == 0) {
            rate->key = key;
            return rate;
        }
        oldest = rate->second < oldest->second ? rate : oldest;
    }
    *oldest = (fz_log_rate){.key = key, .suppressed = oldest->suppressed};
    return oldest;
}

static bool is_plain(fz_str text) {
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) {
            return false;
        }
    }
    return text.size > 0 && fz_utf8_valid(text.data, text.size);
}

// As a JSON string. A byte that is no UTF-8 becomes U+FFFD.
static void append_quoted(fz_buf *out, fz_str text) {
    bool valid = fz_utf8_valid(text.data, text.size);
    fz_buf_append_byte(out, '"');
    for (size_t i = 0; i < text.size; i++) {
        unsigned char c = (unsigned char)text.data[i];
        if (c == '"' || c == '\\') {
            fz_buf_append_byte(out, '\\');
            fz_buf_append_byte(out, c);
        } else if (c == '\n' || c == '\r' || c == '\t') {
            fz_buf_append_byte(out, '\\');
            fz_buf_append_byte(out, c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
        } else if (c < ' ' || c == 0x7f) {
            fz_buf_printf(out, "\\u%04x", c);
        } else if (c < 0x80 || valid) {
            fz_buf_append_byte(out, c);
        } else {
            fz_utf8_append(out, 0xfffd);
        }
    }
    fz_buf_append_byte(out, '"');
}

static void append_text(fz_buf *out, bool json, fz_str text) {
    fz_str shown = text;
    bool cut = text.size > LONGEST_VALUE;
    if (cut) {
        size_t size = LONGEST_VALUE;
        while (size > LONGEST_VALUE - 4 && ((unsigned char)text.data[size] & 0xc0) == 0x80) {
            size--;
        }
        shown = fz_str_slice(text, 0, size);
    }
    if (json || cut || !is_plain(shown)) {
        append_quoted(out, shown);
    } else {
        fz_buf_append_str(out, shown);
    }
    if (cut && !out->failed) {
        out->size--; // inside the quotes
        fz_buf_append_str(out, FZ_STR("...\""));
    }
}

static void append_pair(fz_buf *out, bool json, const fz_kv *pair) {
    if (json) {
        fz_buf_append_byte(out, ',');
        append_quoted(out, fz_str_from(pair->key));
        fz_buf_append_byte(out, ':');
    } else {
        fz_buf_printf(out, " %s=", pair->key);
    }
    switch (pair->kind) {
    case FZ_KV_KIND_TEXT:
        append_text(out, json, pair->text);
        break;
    case FZ_KV_KIND_INT:
        fz_buf_printf(out, "%lld", (long long)pair->integer);
        break;
    case FZ_KV_KIND_BOOL:
        fz_buf_append_str(out, pair->integer ? FZ_STR("true") : FZ_STR("false"));
        break;
    case FZ_KV_KIND_REAL: {
        char text[32];
        size_t size = fz_real_format(pair->real, text);
        bool number = text[size - 1] >= '0' && text[size - 1] <= '9';
        if (json && !number) { // JSON has no NaN
            append_quoted(out, fz_str_make(text, size));
        } else {
            fz_buf_append(out, text, size);
        }
        break;
    }
    }
}

static void append_head(fz_buf *out, bool json, int64_t wall_ms, fz_log_level level,
                        const char *event) {
    static const char *const levels[] = {"debug", "info", "warn", "error"};
    FZ_ASSERT((size_t)level < FZ_COUNT(levels));
    fz_buf_append_str(out, json ? FZ_STR("{\"time\":\"") : FZ_STR(""));
    fz_timestamp_format(out, wall_ms * 1000, false);
    out->size -= out->failed ? 0 : 3; // milliseconds are enough
    if (json) {
        fz_buf_printf(out, "Z\",\"level\":\"%s\",\"event\":", levels[level]);
        append_quoted(out, fz_str_from(event));
    } else {
        fz_buf_printf(out, "Z %s %s", levels[level], event);
    }
}

static void write_line(const fz_log *log) {
    fz_str left = fz_buf_view(&log->line);
    while (left.size) {
        ssize_t put = write(log->fd, left.data, left.size);
        if (put < 0 && errno == EINTR) {
            continue;
        }
        if (put <= 0) {
            return; // nowhere to tell
        }
        left = fz_str_slice(left, (size_t)put, left.size);
    }
}

void fz_log_write(fz_log *log, fz_log_level level, const char *event, const fz_kv *pairs,
                  size_t count) {
    if (!fz_log_enabled(log, level)) {
        return;
    }
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    bool json = atomic_load(&log->format) == FZ_LOG_JSON;
    fz_mutex_lock(&log->mutex);
    fz_log_rate *rate = rate_of(log, rate_key(event, pairs, count));
    if (rate->second != (int64_t)now.tv_sec) {
        rate->second = (int64_t)now.tv_sec;
        rate->written = 0;
    }
    if (rate->written == LINES_A_SECOND) {
        rate->suppressed++;
        fz_mutex_unlock(&log->mutex);
        return;
    }
    rate->written++;
    fz_buf *line = &log->line;
    fz_buf_reset(line);
    append_head(line, json, (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000, level, event);
    size_t complete = line->size;
    for (size_t i = 0; i < count; i++) {
        append_pair(line, json, &pairs[i]);
        if (line->failed) { // the line is full: leave out this pair and those behind it
            fz_buf_reset(line);
            line->size = complete;
            break;
        }
        complete = line->size < LONGEST_LINE - 64 ? line->size : complete;
    }
    line->size = complete < line->size ? complete : line->size;
    if (rate->suppressed) {
        append_pair(line, json, &FZ_KV_INT("suppressed", rate->suppressed));
        rate->suppressed = 0;
    }
    fz_buf_append_str(line, json ? FZ_STR("}\n") : FZ_STR("\n"));
    write_line(log);
    fz_mutex_unlock(&log->mutex);
}
