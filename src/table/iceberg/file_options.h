// SPDX-License-Identifier: Apache-2.0
// What configuration and table properties say of data files: where they lie, how they are written.
#ifndef FZ_TABLE_ICEBERG_FILE_OPTIONS_H
#define FZ_TABLE_ICEBERG_FILE_OPTIONS_H

#include "base/vec.h"
#include "conf/config.h"
#include "format/parquet/writer.h"
#include "table/iceberg/metadata.h"

/** Owns its texts and arrays; zeroed is empty. */
typedef struct fz_iceberg_file_options {
    fz_parquet_options parquet; // pairs, workspace and version are the caller's to set
    int64_t target_file_size;
    fz_buf root;               // folder of data files, without '/' at the end
    bool object_storage;       // a hash of the name stands before it
    bool partition_folders;    // in object storage: folders of partition values after the hash
    FZ_VEC(int32_t) bloom_ids; // parquet.bloom_ids points here
} fz_iceberg_file_options;

void fz_iceberg_file_options_deinit(fz_iceberg_file_options *options);

/**
 * What the configuration says, else the table's `write.*` properties, else our defaults.
 *
 * metadata  of the table; NULL: it has no properties
 * location  where the files belong; unless it is the table's own location, properties of places do
 *           not count
 * schema    of the files
 * out       written on OK only
 * Errors: INVALID kind "table_incompatible": a property that cannot be followed, named.
 * Source: Iceberg documentation, Configuration, "Write properties".
 */
FZ_CHECKED fz_code fz_iceberg_file_options_read(const fz_config_files *config,
                                                const fz_iceberg_metadata *metadata,
                                                fz_str location, const fz_schema *schema,
                                                fz_iceberg_file_options *out, fz_err *err);

/** Bytes of a file that writers and compaction aim at. */
int64_t fz_iceberg_file_options_target(const fz_config_files *config,
                                       const fz_iceberg_metadata *metadata);

/**
 * May files be written where the properties want data and metadata?
 *
 * properties  a table's, NULL: none
 * Errors: INVALID kind "table_incompatible": not below the table's location.
 */
FZ_CHECKED fz_code fz_iceberg_file_options_places(const json_t *properties, fz_str location,
                                                  fz_err *err);

/**
 * Append the folder of data files, without '/' at the end.
 * Errors: INVALID kind "table_incompatible": it is not below the table's location.
 */
FZ_CHECKED fz_code fz_iceberg_file_options_root(const fz_iceberg_metadata *metadata, fz_buf *out,
                                                fz_err *err);

/**
 * Append the URI of a data file.
 *
 * partition  `a=1/b=2`, empty without partitions
 * name       last part of the path
 */
void fz_iceberg_file_options_path(const fz_iceberg_file_options *options, fz_str partition,
                                  fz_str name, fz_buf *out);

#endif
