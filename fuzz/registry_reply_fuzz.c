// SPDX-License-Identifier: Apache-2.0
// Replies of a schema registry: read, written and read again they are the same; frames never lead
// outside of their bytes. Links: fz_registry
#include <stdlib.h>

#include "base/attr.h"
#include "io/registry/frame.h"
#include "io/registry/schema_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_frame(const uint8_t *data, size_t size) {
    fz_registry_frame frame;
    if (fz_registry_frame_parse(data, size, &frame, NULL) == FZ_OK) {
        FZ_ASSERT(frame.payload_at <= size && frame.payload_at == (frame.has_guid ? 17 : 5));
    }
    if (fz_registry_frame_parse_header(fz_str_make(data, size), &frame, NULL) == FZ_OK) {
        FZ_ASSERT(frame.payload_at == 0 && size == (frame.has_guid ? 17 : 5));
    }
}

static void check_again(const fz_registry_raw *a) {
    json_t *json = fz_registry_schema_json_make(a);
    fz_registry_raw b = {.id = -1, .version = -1};
    FZ_ASSERT(fz_registry_schema_json_read(json, &b, NULL) == FZ_OK);
    FZ_ASSERT(a->type == b.type && a->id == b.id && a->version == b.version &&
              fz_str_equal(a->text, b.text));
    FZ_ASSERT(fz_str_equal(a->subject, b.subject) && a->has_guid == b.has_guid);
    FZ_ASSERT(!a->has_guid || memcmp(a->guid, b.guid, sizeof b.guid) == 0);
    FZ_ASSERT(a->reference_count == b.reference_count &&
              b.reference_count <= FZ_REGISTRY_REFERENCES_MAX);
    for (size_t i = 0; i < b.reference_count; i++) {
        FZ_ASSERT(fz_str_equal(a->references[i].name, b.references[i].name) &&
                  a->references[i].version == b.references[i].version);
    }
    fz_registry_raw_deinit(&b);
    json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    json_t *json = NULL;
    fz_registry_raw raw = {.id = -1, .version = -1};
    check_frame(data, size);
    if (fz_json_parse(fz_str_make(data, size), &json, NULL) == FZ_OK &&
        fz_registry_schema_json_read(json, &raw, NULL) == FZ_OK) {
        check_again(&raw);
    }
    fz_registry_raw_deinit(&raw);
    fz_json_release(&json);
    return 0;
}
