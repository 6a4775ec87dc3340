// SPDX-License-Identifier: Apache-2.0
// Any bytes as records: no crash, the same rows twice, a failed record leaves no trace.
//
// Links: fz_avro
#include <stdlib.h>

#include "base/memory.h"
#include "format/avro/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const schemas[] = {
    // scalars and logical types
    "{\"type\":\"record\",\"name\":\"S\",\"fields\":["
    "{\"name\":\"b\",\"type\":\"boolean\"},{\"name\":\"i\",\"type\":[\"null\",\"int\"]},"
    "{\"name\":\"l\",\"type\":[\"long\",\"null\"]},{\"name\":\"f\",\"type\":\"float\"},"
    "{\"name\":\"s\",\"type\":\"string\"},{\"name\":\"y\",\"type\":[\"null\",\"bytes\"]},"
    "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"E\",\"symbols\":[\"A\",\"BB\"]}},"
    "{\"name\":\"d\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":20,"
    "\"scale\":3}},{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"F\",\"size\":3}},"
    "{\"name\":\"u\",\"type\":{\"type\":\"string\",\"logicalType\":\"uuid\"}},"
    "{\"name\":\"t\",\"type\":{\"type\":\"int\",\"logicalType\":\"time-millis\"}},"
    "{\"name\":\"m\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-millis\"}},"
    "{\"name\":\"n\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-nanos\"}},"
    "{\"name\":\"df\",\"type\":{\"type\":\"fixed\",\"name\":\"G\",\"size\":5,\"logicalType\":"
    "\"decimal\",\"precision\":10,\"scale\":10}}]}",
    // nested
    "{\"type\":\"record\",\"name\":\"N\",\"fields\":["
    "{\"name\":\"a\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"string\",\"int\"]}},"
    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":{\"type\":\"map\",\"values\":"
    "{\"type\":\"array\",\"items\":[\"null\",\"boolean\"]}}}},"
    "{\"name\":\"k\",\"type\":{\"type\":\"array\",\"logicalType\":\"map\",\"items\":{\"type\":"
    "\"record\",\"name\":\"P\",\"fields\":[{\"name\":\"key\",\"type\":\"int\"},{\"name\":\"value\","
    "\"type\":[\"null\",{\"type\":\"record\",\"name\":\"Q\",\"fields\":[{\"name\":\"q\",\"type\":"
    "[\"null\",\"double\"]}]}]}]}}},"
    "{\"name\":\"u\",\"type\":[\"null\",\"Q\",{\"type\":\"array\",\"items\":\"Q\"},\"string\"]},"
    "{\"name\":\"z\",\"type\":{\"type\":\"array\",\"items\":\"null\"}}]}",
    // recursive, as JSON text
    "{\"type\":\"record\",\"name\":\"T\",\"fields\":[{\"name\":\"v\",\"type\":[\"null\",\"string\","
    "\"double\"]},{\"name\":\"kids\",\"type\":{\"type\":\"array\",\"items\":\"T\"}},{\"name\":"
    "\"next\",\"type\":[\"null\",\"T\"]},{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":"
    "\"T\"}}]}",
};

static void require(bool holds) {
    if (!holds) {
        abort();
    }
}

static bool columns_equal(const fz_column *a, const fz_column *b, int64_t rows) {
    if (a->length != rows || b->length != rows || a->null_count != b->null_count) {
        return false;
    }
    for (int64_t i = 0; i < rows && a->validity; i++) {
        if (fz_column_is_null(a, i) != fz_column_is_null(b, i)) {
            return false;
        }
    }
    int64_t items = rows;
    if (a->offsets && b->offsets) {
        if (memcmp(a->offsets, b->offsets, (size_t)(rows + 1) * 4) != 0) {
            return false;
        }
        items = a->offsets[rows];
    } else if (a->offsets || b->offsets) {
        items = 0;
    }
    if (a->data_size != b->data_size ||
        (a->data_size && memcmp(a->data, b->data, (size_t)a->data_size) != 0) ||
        (a->values && b->values && a->width &&
         memcmp(a->values, b->values, (size_t)(rows * a->width)) != 0)) {
        return false;
    }
    for (size_t i = 0; i < a->child_count; i++) {
        if (!columns_equal(&a->children[i], &b->children[i], items)) {
            return false;
        }
    }
    return true;
}

static void require_equal(const fz_batch *a, const fz_batch *b) {
    require(a->rows == b->rows);
    for (size_t i = 0; i < a->column_count; i++) {
        require(columns_equal(&a->columns[i], &b->columns[i], a->rows));
    }
}

// Appends the record to `batch` or leaves it as it was.
static fz_code decode(fz_decoder *decoder, const uint8_t *data, size_t size, fz_batch *batch) {
    fz_err err = {0};
    fz_code code = fz_decoder_decode(decoder, data, size, batch, &err);
    if (code == FZ_OK) {
        batch->rows++;
        return code;
    }
    require(code == FZ_LIMIT || (code == FZ_CORRUPT && err.kind));
    require(code == FZ_LIMIT || (err.offset >= 0 && err.offset <= (int64_t)size));
    fz_batch_truncate(batch, batch->rows);
    return code;
}

static void check(size_t index, const uint8_t *data, size_t size) {
    static fz_writer_schema *writers[FZ_COUNT(schemas)];
    static fz_schema *shapes[FZ_COUNT(schemas)];
    static fz_decoder *decoders[FZ_COUNT(schemas)];
    if (!writers[index]) {
        fz_mapping_options options = {.format_version = 3, .recursive_json = true};
        bool owned[32];
        memset(owned, true, sizeof(owned));
        int32_t last_id = 0;
        require(fz_avro_schema_new(fz_str_from(schemas[index]), NULL, 0, NULL, &writers[index],
                                   NULL) == FZ_OK);
        require(fz_writer_schema_shape(writers[index], &options, NULL, &shapes[index], NULL) ==
                FZ_OK);
        fz_type_assign_ids(&shapes[index]->root, &last_id);
        require(fz_decoder_open(writers[index], shapes[index], shapes[index], owned,
                                &decoders[index], NULL) == FZ_OK);
    }
    // Two records, cut at the first byte's mark; then the same behind one that fails half-way.
    size_t cut = size ? data[0] % size : 0;
    fz_batch *clean = fz_batch_new(shapes[index], NULL);
    fz_batch *dirty = fz_batch_new(shapes[index], NULL);
    fz_code first = decode(decoders[index], data + (size ? 1 : 0), cut, clean);
    fz_code second = decode(decoders[index], data + cut, size - cut, clean);
    for (size_t part = 0; part < 8; part++) {
        if (decode(decoders[index], data + cut, (size - cut) * part / 8, dirty) == FZ_OK) {
            dirty->rows = 0;
            fz_batch_truncate(dirty, 0);
        }
    }
    require(decode(decoders[index], data + (size ? 1 : 0), cut, dirty) == first);
    require(decode(decoders[index], data + cut, size - cut, dirty) == second);
    require_equal(clean, dirty);
    fz_batch_reset(clean);
    fz_batch_reset(dirty);
    require_equal(clean, dirty);
    fz_batch_free(clean);
    fz_batch_free(dirty);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0) {
        check(data[0] % FZ_COUNT(schemas), data + 1, size - 1);
    }
    return 0;
}
