// SPDX-License-Identifier: Apache-2.0
// Opening files of a table in their stores.
#include "table/scan/source.h"

static fz_code source_read(fz_parquet_source *base, int64_t at, size_t size, fz_buf *out,
                           fz_err *err) {
    fz_scan_source *source = (fz_scan_source *)base;
    return fz_store_read_exact(source->store, source->key, at, size, out, err);
}

static void map_names(fz_parquet_reader *reader, const fz_iceberg_metadata *metadata) {
    fz_str text = metadata ? fz_iceberg_metadata_property(metadata, "schema.name-mapping.default")
                           : (fz_str){0};
    FZ_CLEANUP(fz_json_release) json_t *mapping = NULL;
    if (text.size > 0 && fz_json_parse(text, &mapping, NULL) == FZ_OK) {
        fz_parquet_reader_map_names(reader, mapping);
    }
}

fz_code fz_scan_source_open(fz_scan_source *source, fz_scan_files files,
                            const fz_iceberg_metadata *metadata, const fz_iceberg_file *file,
                            fz_budget *budget, fz_parquet_reader **out, fz_err *err) {
    if (!fz_str_equal_nocase(file->format, FZ_STR("PARQUET"))) {
        return fz_err_set(err, FZ_UNSUPPORTED, "files of format \"%.*s\" are not read",
                          FZ_STR_ARGS(file->format));
    }
    if (file->key_metadata.data) {
        return fz_err_set(err, FZ_UNSUPPORTED, "encrypted files are not read");
    }
    FZ_TRY(files.find(files.context, file->path, &source->store, &source->key, err));
    source->source.size = file->file_size_bytes;
    source->source.read = source_read;
    fz_parquet_reader *reader = NULL;
    FZ_TRY(fz_parquet_reader_open(&source->source, NULL, budget, &reader, err));
    int64_t rows = fz_parquet_reader_rows(reader);
    if (rows != file->record_count) {
        fz_parquet_reader_free(reader);
        return fz_err_set(err, FZ_CORRUPT, "it has %lld rows, its manifest says %lld",
                          (long long)rows, (long long)file->record_count);
    }
    map_names(reader, metadata);
    *out = reader;
    return FZ_OK;
}
