#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the metadata files of this folder: each is a small good one, with one thing more, other or missing; the name tells which."""
import copy, json, os

FIELDS = [{"id": 1, "name": "x", "required": True, "type": "long"}, {"id": 2, "name": "y", "required": True, "type": "long", "doc": "a comment"},
          {"id": 3, "name": "z", "required": False, "type": {"type": "list", "element-id": 4, "element": "string", "element-required": False}}]
SCHEMA = {"type": "struct", "schema-id": 0, "fields": FIELDS}
SPEC = [{"name": "x", "transform": "identity", "source-id": 1, "field-id": 1000}]
COMMON = {"table-uuid": "5f0c0bc6-6f1b-4e36-9f0a-0f9f1c3a7d11", "location": "s3://bucket/t", "last-updated-ms": 1700000000000, "last-column-id": 4}
V1 = {"format-version": 1, **COMMON, "schema": {"type": "struct", "fields": FIELDS}, "partition-spec": SPEC, "properties": {}, "current-snapshot-id": -1,
      "snapshots": []}
ORDER = {"order-id": 3, "fields": [{"transform": "identity", "source-id": 2, "direction": "asc", "null-order": "nulls-first"},
                                   {"transform": "bucket[4]", "source-id": 1, "direction": "desc", "null-order": "nulls-last"}]}
V2 = {"format-version": 2, **COMMON, "last-sequence-number": 34, "current-schema-id": 0, "schemas": [SCHEMA], "default-spec-id": 0,
      "partition-specs": [{"spec-id": 0, "fields": SPEC}], "last-partition-id": 1000, "default-sort-order-id": 3, "sort-orders": [ORDER]}
V3 = {**V2, "format-version": 3, "next-row-id": 0}
SNAPSHOTS = [{"snapshot-id": 3051729675574597004, "timestamp-ms": 1699999000000, "sequence-number": 0, "summary": {"operation": "append"},
              "manifest-list": "s3://a/b/1.avro"},
             {"snapshot-id": 3055729675574597004, "parent-snapshot-id": 3051729675574597004, "timestamp-ms": 1699999500000, "sequence-number": 1,
              "summary": {"operation": "append"}, "manifest-list": "s3://a/b/2.avro", "schema-id": 0}]
HISTORY = {"current-snapshot-id": SNAPSHOTS[1]["snapshot-id"], "snapshots": SNAPSHOTS,
           "snapshot-log": [{"snapshot-id": s["snapshot-id"], "timestamp-ms": s["timestamp-ms"]} for s in SNAPSHOTS],
           "metadata-log": [{"metadata-file": "s3://bucket/t/metadata/00000-a.metadata.json", "timestamp-ms": 1699999000000}],
           "refs": {"main": {"snapshot-id": SNAPSHOTS[1]["snapshot-id"], "type": "branch"},
                    "kept": {"snapshot-id": SNAPSHOTS[0]["snapshot-id"], "type": "tag", "max-ref-age-ms": 10000000}}}
STATISTICS = [{"snapshot-id": SNAPSHOTS[1]["snapshot-id"], "statistics-path": "s3://a/b/stats.puffin", "file-size-in-bytes": 413, "file-footer-size-in-bytes": 42,
               "key-metadata": "AAECAw==", "blob-metadata": [{"type": "ndv", "snapshot-id": SNAPSHOTS[1]["snapshot-id"], "sequence-number": 1, "fields": [1],
                                                              "properties": {"ndv": "7"}}]}]


def without(base, *keys):
    return {k: v for k, v in base.items() if k not in keys}


def with_schema(base, **more):
    out = copy.deepcopy(base)
    out["schemas"][0].update(more)
    return out


SPECS = [{"spec-id": 1, "fields": SPEC}, {"spec-id": 2, "fields": [{**SPEC[0], "source-id": 2, "name": "y"}]}]
FILES = {
    "valid_v1": V1,
    "valid_v1_without_uuid": without(V1, "table-uuid"),
    "valid_v1_schemas_without_current_id": {**V1, "schemas": [SCHEMA]},
    "valid_v1_specs_without_default_id": {**V1, "partition-specs": SPECS},
    "valid_v1_snapshot_null": {**V1, "current-snapshot-id": None},
    "valid_v1_snapshot_absent": without(V1, "current-snapshot-id"),
    "valid_v2_minimal": V2,
    "valid_v2_history": {**V2, **HISTORY},
    "valid_v2_statistics": {**V2, **HISTORY, "statistics": STATISTICS},
    "valid_v2_partition_statistics": {**V2, **HISTORY, "partition-statistics": [
        {"snapshot-id": SNAPSHOTS[1]["snapshot-id"], "statistics-path": "s3://a/b/partitions.parquet", "file-size-in-bytes": 43}]},
    "valid_v2_void": {**V2, "partition-specs": [{"spec-id": 0, "fields": [{**SPEC[0], "name": "x_null", "transform": "void"}]}]},
    "valid_v2_snapshot_minus_one": {**V2, "current-snapshot-id": -1, "refs": {}},
    "valid_v2_unknown_members": {**V2, **HISTORY, "x-new": {"deep": [1, None, {"a": "b"}]}, "snapshots": [{**s, "x-more": [1.5]} for s in SNAPSHOTS]},
    "valid_v3_minimal": V3,
    "valid_v3_encryption_keys": {**V3, "encryption-keys": [{"key-id": "k", "encrypted-key-metadata": "c29tZQ==", "encrypted-by-id": "m", "properties": {"a": "b"}}]},
    "valid_v3_defaults": with_schema(V3, fields=[*FIELDS, {"id": 5, "name": "w", "required": True, "type": "int", "initial-default": 1, "write-default": 2}]),
    "refused_UnsupportedVersion": {**V2, "format-version": 4},
    "refused_v1_MissingSchema": without(V1, "schema"),
    "refused_v1_MissingSchemaType": {**V1, "schema": {"fields": FIELDS}},
    "refused_v1_NoValidSchema": {**V1, "schemas": [{"type": "struct", "schema-id": 7, "fields": FIELDS}]},
    "refused_v2_MissingLocation": without(V2, "location"),
    "refused_v2_MissingUuid": without(V2, "table-uuid"),
    "refused_v2_MissingSchemas": {**without(V2, "schemas", "current-schema-id"), "schema": SCHEMA},
    "refused_v2_CurrentSchemaNotFound": {**V2, "current-schema-id": 2},
    "refused_v2_MissingPartitionSpecs": {**without(V2, "partition-specs"), "partition-spec": SPEC},
    "refused_v2_MissingLastPartitionId": without(V2, "last-partition-id"),
    "refused_v2_MissingSortOrder": without(V2, "sort-orders"),
    "refused_v2_MissingLastSequenceNumber": without(V2, "last-sequence-number"),
    "refused_v2_SnapshotNotFound": {**V2, **HISTORY, "snapshots": SNAPSHOTS[:1]},
    "refused_v2_main_is_not_current": {**V2, **HISTORY, "current-snapshot-id": SNAPSHOTS[0]["snapshot-id"]},
    "refused_v2_schema_ids_twice": with_schema(V2, fields=[*FIELDS, FIELDS[0]]),
    "refused_v3_MissingNextRowId": without(V3, "next-row-id"),
}


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    for name, document in FILES.items():
        with open(os.path.join(here, name + ".json"), "w", encoding="utf-8") as f:
            json.dump(document, f, separators=(",", ":"))
            f.write("\n")


if __name__ == "__main__":
    main()
