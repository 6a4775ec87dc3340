// SPDX-License-Identifier: Apache-2.0
// The state that a table holds of its sources: watermarks, identity of the log, counters
// (protocol.md 5.1).
#ifndef FZ_TABLE_COMMIT_STATE_H
#define FZ_TABLE_COMMIT_STATE_H

#include "table/iceberg/metadata.h"

/** A last row that is not known: the position was rebuilt from a summary. Proves nothing. */
#define FZ_COMMIT_ROW_UNKNOWN (-2)

/** A partition's watermark. */
typedef struct fz_commit_part {
    int64_t generation;
    int64_t next;     // next offset to write
    int64_t last_row; // offset of the last row in the table of this generation, -1 none
                      // or FZ_COMMIT_ROW_UNKNOWN
    int64_t epoch;    // leader epoch of it, -1 unknown
} fz_commit_part;

/** A record that was delivered once, to know the log again by (R16). */
typedef struct fz_commit_fingerprint {
    int32_t partition;
    int64_t offset;
    int64_t timestamp_ms;
    uint64_t hash;
} fz_commit_fingerprint;

typedef struct fz_commit_range {
    int32_t partition;
    int64_t generation;
    int64_t start;
    int64_t end;
    fz_str reason; // "skip-to", "lost"
} fz_commit_range;

/** One configured source: property frazil.source.<name>. */
typedef struct fz_commit_source {
    fz_str name; // topic
    fz_str cluster;
    fz_str topic;
    fz_str topic_id;       // empty: unknown
    fz_str route;          // hash of the route (R22)
    fz_commit_part *parts; // [known]
    int32_t known;
    fz_commit_fingerprint
        *fingerprints; // a ring of at most 8 a partition (2 above 200 partitions), oldest first
    size_t fingerprint_count;
    int64_t rows, dead_letters, skipped, tombstones; // since the table was made
    fz_commit_range *ranges;                         // skipped or lost
    size_t range_count;
    bool paused;
} fz_commit_source;

/** All of a table's state, in its arena. */
typedef struct fz_commit_state {
    fz_arena arena;
    fz_str nonce;   // of the table
    int64_t number; // k: own commits so far
    fz_str commit;  // id of the own commit that wrote it
    int64_t snapshot_id;
    fz_str digest; // over the sorted (source, partition, generation, next) and frazil.replayed
    fz_str instance;
    fz_commit_source *sources;
    size_t source_count;
    json_t *outbox;   // array of {"id", "sink", "source", "files", "moves"}, NULL: none (R20)
    json_t *replayed; // array, NULL: none (R25)
    // of a position, not stored
    bool rolled_back;  // own commits after it were taken out of main (`on_rollback`)
    int64_t abandoned; // number of the newest own commit that the properties know
} fz_commit_state;

void fz_commit_state_free(fz_commit_state *state);
/** Source by name, NULL if absent. */
fz_commit_source *fz_commit_state_find(const fz_commit_state *state, fz_str name);
/** Deep copy, to be changed by an attempt. */
fz_commit_state *fz_commit_state_copy(const fz_commit_state *state);
/** From the table's properties; NOT_FOUND when the table has none; CORRUPT naming the property. */
FZ_CHECKED fz_code fz_commit_state_read(const fz_iceberg_metadata *metadata, fz_commit_state **out,
                                        fz_err *err);
/** Add the frazil.* properties of the state to an object of texts; the digest is recomputed and
 * kept in the state. */
void fz_commit_state_write(fz_commit_state *state, json_t *properties);
/**
 * Are the ends of all moves of an outbox entry ([[partition, generation, start, end], ...], of
 * `source`, or of any source where the entry does not say) at or below the vector?
 */
bool fz_commit_state_reached(const fz_commit_state *state, const json_t *entry);
/** Append to `out` the names of properties of `metadata` that belong to sources that the state has
 * not. */
void fz_commit_state_stale(const fz_commit_state *state, const fz_iceberg_metadata *metadata,
                           json_t *out);
/** XXH3-128 of the vector and the replayed coordinates, 32 hex digits. */
void fz_commit_state_digest(const fz_commit_state *state, char out[33]);

#endif
