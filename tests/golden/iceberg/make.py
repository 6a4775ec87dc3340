# Manifests and manifest lists of another writer (PyIceberg 0.12). Run: python make.py
import os, uuid
from decimal import Decimal
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestEntry, ManifestEntryStatus, write_manifest, write_manifest_list
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import *

here = os.path.dirname(os.path.abspath(__file__))
io = PyArrowFileIO()
schema = Schema(NestedField(1, "id", LongType(), required=True), NestedField(2, "name", StringType()),
                NestedField(3, "at", TimestamptzType()), NestedField(4, "price", DecimalType(9, 2)), NestedField(5, "ok", BooleanType()))
spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "name"), PartitionField(3, 1001, DayTransform(), "at_day"),
                     PartitionField(4, 1002, IdentityTransform(), "price"), PartitionField(1, 1003, BucketTransform(8), "id_bucket"), spec_id=3)

def data(i, version):
    return DataFile.from_args(_table_format_version=2, content=DataFileContent.DATA, file_path="s3://b/data/%d.parquet" % i,
        file_format=FileFormat.PARQUET, partition=Record(None if i == 2 else "n%d" % i, 17486 + i, Decimal("-14.20") * i, i % 8),
        record_count=10 * i, file_size_in_bytes=1000 + i, column_sizes={1: 11 * i, 2: 22}, value_counts={1: 10 * i}, null_value_counts={1: 0},
        nan_value_counts={}, lower_bounds={1: (i).to_bytes(8, "little")}, upper_bounds={1: (i + 9).to_bytes(8, "little"), 2: b""},
        key_metadata=None, split_offsets=[4, 400 * i], equality_ids=None, sort_order_id=0, spec_id=3)

def entry(i, status, snapshot, sequence, version):
    return ManifestEntry.from_args(_table_format_version=2, status=status, snapshot_id=snapshot, sequence_number=sequence,
        file_sequence_number=sequence, data_file=data(i, version))

for version in (1, 2):
    path = os.path.join(here, "manifest_v%d.avro" % version)
    S = ManifestEntryStatus
    with write_manifest(version, spec, schema, io.new_output(path), 77, "deflate") as w:
        w.add_entry(entry(1, S.ADDED, 77, None, version))
        w.add_entry(entry(2, S.EXISTING, 55, 4, version))
        w.add_entry(entry(3, S.DELETED, 77, 5, version))
    m = w.to_manifest_file()
    m._data[0] = "s3://b/metadata/m-v%d.avro" % version
    out = os.path.join(here, "list_v%d.avro" % version)
    with write_manifest_list(version, io.new_output(out), 77, 55, 9 if version == 2 else None, "null") as w:
        w.add_manifests([m])
