// SPDX-License-Identifier: Apache-2.0
// Asks the table for the greatest offset of each partition.
#include "flow/ingest/content_proof.h"

#include "flow/ingest/evolve.h"
#include "table/scan/greatest.h"

/** Dotted path of a metadata column; empty: the table has none. */
static void column_path(const json_t *link, const fz_schema *schema, const char *identity,
                        fz_buf *out) {
    int64_t id = fz_json_int_or(link, identity, 0);
    if (id > 0 && id <= INT32_MAX) {
        fz_schema_path(schema, (int32_t)id, out);
    }
}

static bool has_other_sources(const fz_iceberg_metadata *metadata) {
    fz_commit_state *state = NULL;
    if (fz_commit_state_read(metadata, &state, NULL) != FZ_OK) {
        return true;
    }
    bool others = state->source_count > 1;
    fz_commit_state_free(state);
    return others;
}

static fz_code ask(const fz_content_proof_context *context, const fz_iceberg_metadata *metadata,
                   const json_t *link, const fz_schema *schema, const fz_commit_source *source,
                   int64_t *greatest, fz_err *err) {
    FZ_CLEANUP(fz_buf_deinit) fz_buf partition = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf offset = {0};
    FZ_CLEANUP(fz_buf_deinit) fz_buf topic = {0};
    column_path(link, schema, "m:partition", &partition);
    column_path(link, schema, "m:offset", &offset);
    column_path(link, schema, "m:topic", &topic);
    if (partition.size == 0 || offset.size == 0) {
        return fz_err_set(err, FZ_NOT_FOUND,
                          "the table has no columns with the partition and the offset of its rows");
    }
    if (topic.size == 0 && has_other_sources(metadata)) {
        return fz_err_set(err, FZ_UNSUPPORTED,
                          "the table takes several topics and has no column that names them");
    }
    const fz_scan_greatest_options options = {.partition = fz_buf_view(&partition),
                                              .offset = fz_buf_view(&offset),
                                              .topic = fz_buf_view(&topic),
                                              .topic_name = source->topic,
                                              .budget = context->budget};
    return fz_scan_greatest(fz_scan_files_in(*context->store), (fz_iceberg_metadata *)metadata,
                            &options, greatest, (size_t)source->known, err);
}

fz_code fz_content_proof(void *context, const fz_iceberg_metadata *metadata,
                         const fz_commit_source *source, int64_t *greatest, fz_err *err) {
    FZ_CLEANUP(fz_json_release) json_t *link = NULL;
    fz_schema *schema = NULL;
    FZ_TRY(fz_evolve_link_parse(fz_iceberg_metadata_property(metadata, FZ_EVOLVE_LINK_PROPERTY),
                                &link, err));
    FZ_TRY(fz_iceberg_metadata_schema(metadata, fz_iceberg_metadata_schema_id(metadata), &schema,
                                      err));
    fz_code code = ask((const fz_content_proof_context *)context, metadata, link, schema, source,
                       greatest, err);
    fz_schema_unref(schema);
    return code;
}
