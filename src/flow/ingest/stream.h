// SPDX-License-Identifier: Apache-2.0
// One topic on its way into one table: state, layout, partitions, what is being collected and
// committed.
#ifndef FZ_FLOW_INGEST_STREAM_H
#define FZ_FLOW_INGEST_STREAM_H

#include "base/thread.h"
#include "base/vec.h"
#include "flow/ingest/content_proof.h"
#include "flow/ingest/layout.h"
#include "flow/ingest/writer_schemas.h"
#include "io/kafka/producer.h"
#include "io/kafka/source.h"
#include "io/registry/registry.h"
#include "table/commit/commit.h"

/** interface.md, "States". */
typedef enum fz_stream_state {
    FZ_STREAM_PENDING,
    FZ_STREAM_RUNNING,
    FZ_STREAM_DEGRADED,
    FZ_STREAM_SUSPENDED,
    FZ_STREAM_PAUSED,
    FZ_STREAM_DONE,
    FZ_STREAM_FAILED,
} fz_stream_state;

/** "running"; static. */
const char *fz_stream_state_name(fz_stream_state state);

/** What all streams of a process use. Borrowed; outlives them. */
typedef struct fz_ingest_host {
    const fz_config *config;
    fz_source *source;
    fz_clock *clock;
    fz_log *log;
    fz_budget *budget;
    fz_str instance; // random, of this process
    bool once;
    int64_t until_ms; // --until, -1: none
    void *context;
    /** Catalogs, stores and registries are shared between streams and owned by the application. */
    fz_code (*catalog)(void *context, const fz_config_catalog *config, fz_catalog **out,
                       fz_err *err);
    fz_code (*store)(void *context, const fz_config_storage *config, fz_str location,
                     fz_store **out, fz_err *err);
    fz_code (*registry)(void *context, const fz_config_registry *config, fz_registry **out,
                        fz_err *err);
    /** A producer to the same brokers, the caller's to free. */
    fz_code (*producer)(void *context, const fz_config *config, fz_log *log,
                        fz_kafka_producer **out, fz_err *err);
} fz_ingest_host;

/** A partition of the stream. Fields below "lane" belong to the lane that holds it. */
typedef struct fz_stream_part {
    int32_t partition;
    int64_t generation;
    int64_t committed; // watermark in the table
    int64_t target;    // --once: where it is done; -1: never
    fz_reader *reader; // NULL: not read by this process now
    _Atomic int lane;  // -1: none
    // lane
    fz_fetch fetch; // records taken from the reader, those from `at` on not yet looked at
    size_t at;
    int64_t start;    // where what is collected begins
    int64_t next;     // position
    int64_t last_row; // offset of the last row since `start`, -1: none
    fz_commit_fingerprint fingerprint;
    bool done;
    bool stopped;        // revoked: not read any more
    int64_t retry_at_ms; // registry away: not before
} fz_stream_part;

/** Rows, letters and the like that a cut or the whole run counts. */
typedef struct fz_stream_counts {
    int64_t rows;
    int64_t dead_letters;
    int64_t skipped;
    int64_t tombstones;
} fz_stream_counts;

void fz_stream_counts_add(fz_stream_counts *to, const fz_stream_counts *from);

/** A table of one record type beside the home (record_tables.h). */
typedef struct fz_record_table fz_record_table;
/** What a cut holds of one of them. */
typedef struct fz_stream_share fz_stream_share;

/** What lanes gave for one commit. */
typedef struct fz_stream_cut {
    fz_iceberg_append *files;
    char commit[37];
    FZ_VEC(fz_commit_move) moves;
    fz_stream_counts counts;
    json_t *letters;                       // URIs of staged dead letters
    FZ_VEC(struct fz_stream_share) shares; // files of record types
    int64_t oldest_file_ms;
    int64_t bytes;
} fz_stream_cut;

typedef enum fz_cut_stage {
    FZ_CUT_NONE,
    FZ_CUT_COLLECTING, // lanes are asked
    FZ_CUT_COMMITTING, // on the pool
} fz_cut_stage;

typedef struct fz_stream {
    const fz_ingest_host *host;
    const fz_config_entry *entry;
    char *topic;
    char *space; // namespace
    char *table_name;
    char *full_name;    // namespace.table
    char *letters_name; // of the dead-letter table, with its namespace; NULL: none
    bool by_record;     // a table a record type; the stream's own, the home, is then that of dead
                        // letters
    char *location;     // wanted
    bool location_exact;
    bool several_topics; // others go into the same table
    char route[33];
    fz_commit_table table;
    fz_registry *registry; // NULL: none configured
    fz_writer_schemas *schemas;
    fz_writer_schemas *key_schemas; // NULL: no key columns
    fz_commit_options commit_options;
    fz_content_proof_context proof;
    fz_mutex tables_mutex; // held while tables of records are opened; taken before `mutex`
    _Atomic bool stop;     // waits inside commits end
    _Atomic bool halt;     // suspended: lanes read no further
    fz_mutex mutex;        // guards all below
    fz_cond cond;
    fz_stream_state state;
    fz_err err;            // why suspended, failed or degraded
    int32_t err_partition; // -1: none
    int64_t err_offset;
    int64_t retry_at_ms; // suspended, pending: look again then; -1: never
    bool opened;         // table, layout and positions are there
    char *uuid;
    fz_layout *layout;    // rows are written so
    fz_layout *committed; // the table is so
    fz_iceberg_metadata *metadata;
    fz_stream_part *parts;
    int32_t part_count;
    int64_t *targets; // [target_count] of a pass, kept over openings; -1: not fixed yet
    int32_t target_count;
    bool *held; // [held_count] partitions that the group gave to this process; the service's own
    int32_t held_count;
    FZ_VEC(fz_record_table *) tables; // of record types met so far
    int64_t layout_epoch;             // of their layouts
    int64_t epoch;                    // raised when everything uncommitted is dropped
    bool needs_rewind; // the service closes and opens the readers again at the table's position
    fz_cut_stage stage;
    int64_t cut_number; // of the cut that lanes are asked for
    int cut_missing;    // lanes that have not given theirs
    bool cut_failed;
    fz_stream_cut cut;
    _Atomic int64_t open_bytes; // written since the last cut
    _Atomic int64_t open_rows;
    _Atomic bool moved;     // positions moved since the last cut
    int64_t last_cut_ms;    // monotonic
    int64_t last_commit_ms; // wall
    fz_stream_counts run;   // committed by this run
    json_t *owed;           // outbox of the table as last seen, array; NULL: nothing (R20)
    json_t *delivered;      // ids of its entries whose sink has them
    int64_t deliver_at_ms;  // monotonic: try again then
    int64_t snapshot_id;    // of the last commit, -1
    int64_t commits, conflicts;
} fz_stream;

/** A stream of one topic of an entry; nothing is asked of anybody yet. */
fz_stream *fz_stream_new(const fz_ingest_host *host, const fz_config_entry *entry, fz_str topic,
                         bool several_topics);
void fz_stream_free(fz_stream *stream);

/**
 * Resolve the schema, load or create the table, find the position of every partition, look whether
 * the log is the one that the position counts in (R6, R13-R16, R22). May take long; on the pool.
 *
 * Errors: kind says which state it gets: no_topic, no_schema, denied ... (suspended), none
 * (UNAVAILABLE: try again).
 */
FZ_CHECKED fz_code fz_stream_open(fz_stream *stream, fz_err *err);

/** Registry and writer schemas of the entry, once; fz_stream_open does it too. */
FZ_CHECKED fz_code fz_stream_make_schemas(fz_stream *stream, fz_err *err);

/** Lines of a text as one: "; " between them, none at the end. In place. */
fz_str fz_stream_lines(fz_buf *text);

/** Set state and error; logged when it changes. err NULL: none. Takes the mutex. */
void fz_stream_set_state(fz_stream *stream, fz_stream_state state, const fz_err *err);
/** Suspend because of a record. Takes the mutex. */
void fz_stream_suspend(fz_stream *stream, const fz_err *err, int32_t partition, int64_t offset);
/** State that an error of opening or committing leads to; suspended kinds that are looked at again
 * get retry_at_ms. */
void fz_stream_fail(fz_stream *stream, const fz_err *err);

/**
 * The layout and bound shape for a record's writer schema; evolves the stream's layout if it must.
 *
 * table   NULL: the stream's own
 * schema  of stream->schemas or key_schemas
 * layout  a reference to the layout that `bound` belongs to
 * bound   a reference
 * Errors: UNSUPPORTED kind schema_incompatible...: suspend, or a record error by
 * evolution.incompatible. Any thread.
 */
FZ_CHECKED fz_code fz_stream_bind(fz_stream *stream, fz_record_table *table,
                                  fz_writer_schema_entry *schema, fz_evolve_side side,
                                  fz_layout **layout, fz_schema **bound, fz_err *err);

/** A commit without rows of the present table that only edits the state; the metadata is kept.
 * *state may be NULL. */
FZ_CHECKED fz_code fz_stream_commit_edit(fz_stream *stream, const char *op,
                                         void (*edit)(void *, fz_commit_state *,
                                                      fz_commit_source *),
                                         fz_str reason, fz_commit_state **state, fz_err *err);

/** Run the commit of a collected cut (stage COMMITTING), then deliver what is owed; on the pool. */
void fz_stream_commit(fz_stream *stream);

/** Deliver what is owed and take it out of the outbox (stage COMMITTING); on the pool. */
void fz_stream_settle_outbox(fz_stream *stream);

void fz_stream_cut_reset(fz_stream_cut *cut);

/** Name of the table of a record type; fz_free it. */
char *fz_stream_record_table(const fz_stream *stream, fz_str record);
/** Do records that cannot become rows go into a table? */
bool fz_stream_keeps_letters(const fz_stream *stream);

#endif
