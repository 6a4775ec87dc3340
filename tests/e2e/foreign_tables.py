#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables that somebody else made are written as they want: ids, required columns, spec, sort order, properties, version.

PyIceberg makes them empty in the catalog that the program is given; then come records, a second pass and compaction.
"""
import json, os, sys

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.sorting import NullOrder, SortDirection, SortField, SortOrder
from pyiceberg.transforms import BucketTransform, DayTransform, IdentityTransform, TruncateTransform
from pyiceberg.types import DecimalType, IntegerType, LongType, NestedField, StringType, TimestamptzType

import harness
from harness import DIR, Frazil, Kafka, Tally, judge, produce

ROWS = 20000
CONFIG = """
kafka:
  bootstrap_servers: %s
schema_registry:
  url: %s
server:
  listen: off
tableflow:
  topic: foreign
"""
PROPERTIES = {
    "write.object-storage.enabled": "true", "write.parquet.compression-codec": "gzip", "write.parquet.row-group-size-bytes": "65536",
    "write.parquet.page-version": "v2", "write.parquet.bloom-filter-enabled.column.customer_id": "true",
    "write.metadata.metrics.default": "counts", "write.metadata.metrics.column.event_time": "full",
    "write.metadata.compression-codec": "gzip",
    "write.metadata.previous-versions-max": "3", "somebody.wants": "this kept",
}
FIELDS = [NestedField(7, "event_time", TimestamptzType(), required=True), NestedField(3, "customer_id", StringType(), required=True),
          NestedField(9, "order_id", LongType(), required=True), NestedField(4, "price", DecimalType(10, 2), required=False),
          NestedField(5, "currency", StringType(), required=False), NestedField(6, "extra", IntegerType(), required=False)]


def create(frazil, version):
    """an empty table with a history of specs"""
    os.makedirs(os.path.join(frazil.directory, "warehouse"), exist_ok=True)
    catalog = SqlCatalog("frazil", uri="sqlite:///%s/warehouse/catalog.db" % frazil.directory,
                         warehouse="file://%s/warehouse" % frazil.directory)
    catalog.create_namespace("default")
    order = SortOrder(SortField(7, DayTransform(), SortDirection.DESC, NullOrder.NULLS_LAST),
                      SortField(3, IdentityTransform(), SortDirection.ASC, NullOrder.NULLS_FIRST),
                      SortField(9, IdentityTransform(), SortDirection.DESC, NullOrder.NULLS_LAST))
    table = catalog.create_table("default.foreign", Schema(*FIELDS), partition_spec=PartitionSpec(), sort_order=order,
                                 properties={**PROPERTIES, "format-version": str(version)})
    with table.update_spec() as update:
        update.add_field("currency", IdentityTransform(), "cur")
    with table.update_spec() as update:
        update.remove_field("cur")
        update.add_field("customer_id", BucketTransform(2), "b")
        update.add_field("customer_id", TruncateTransform(5), "t")
    return table


def check_files(tally, what, table, sorted_files):
    entries = table.inspect.files().to_pylist()
    tally.check("%s: there are files" % what, entries)
    by_id = {f.name: f.field_id for f in table.schema().fields}
    for entry in entries:
        path = entry["file_path"]
        local = path[len("file://"):]
        parts = local.split("/data/", 1)[1].split("/")
        tally.check("%s: object-store layout" % what, [len(p) for p in parts[:4]] == [4, 4, 4, 8] and parts[4].startswith("b="), parts)
        footer = pq.ParquetFile(local).metadata
        columns = {footer.row_group(0).column(i).path_in_schema: footer.row_group(0).column(i) for i in range(footer.num_columns)}
        tally.equal("%s: codec" % what, columns["order_id"].compression, "GZIP")
        bounds, counts = dict(entry["lower_bounds"] or []), dict(entry["value_counts"] or [])
        tally.check("%s: metrics by their modes" % what,
                    by_id["event_time"] in bounds and by_id["price"] in counts and by_id["price"] not in bounds,
                    (bounds, counts))
        tally.equal("%s: sort order of the file" % what, entry["sort_order_id"], 1 if sorted_files else 0)
        rows = pq.read_table(local).select(["event_time", "customer_id", "order_id"]).to_pylist()
        keys = [(-r["event_time"].date().toordinal(), r["customer_id"], -r["order_id"]) for r in rows]
        tally.check("%s: rows are in order" % what, keys == sorted(keys))
    return len(entries)


def check_table(tally, what, frazil, before, rows):
    table = frazil.table("default.foreign")
    after = {f.field_id: (f.name, f.required) for f in table.schema().fields}
    tally.check("%s: columns keep ids and requiredness" % what,
                all(after.get(f.field_id) == (f.name, f.required) for f in before.schema().fields), after)
    tally.equal("%s: spec" % what, [f.name for f in table.spec().fields if str(f.transform) != "void"], ["b", "t"])
    tally.equal("%s: sort order" % what, table.sort_order(), before.sort_order())
    tally.check("%s: properties stay" % what, all(table.properties.get(k) == v for k, v in PROPERTIES.items()), table.properties)
    tally.check("%s: metadata is compressed and its log short" % what,
                table.metadata_location.endswith(".gz.metadata.json") and len(table.metadata.metadata_log) <= 3, table.metadata_location)
    found = table.scan().to_arrow()
    tally.equal("%s: rows" % what, found.num_rows, rows)
    tally.equal("%s: every record once" % what, len(set(found["order_id"].to_pylist())), rows)
    tally.equal("%s: a column that records lack is null" % what, found["extra"].null_count, rows)
    judge(tally, table.metadata_location, rows)
    return table


def files_without_ids(tally, kafka, registry):
    """a file of pyarrow's joins the table by name mapping; its columns are renamed, read and compacted"""
    frazil = Frazil(os.path.join(DIR, "foreign_tables", "mapped"), CONFIG % (kafka.bootstrap, registry.url))
    os.makedirs(os.path.join(frazil.directory, "warehouse"), exist_ok=True)
    catalog = SqlCatalog("frazil", uri="sqlite:///%s/warehouse/catalog.db" % frazil.directory,
                         warehouse="file://%s/warehouse" % frazil.directory)
    catalog.create_namespace("default")
    catalog.create_table("default.foreign", Schema(*FIELDS))
    tally.equal("mapped: exit code", frazil.once()[0], 0)
    table = catalog.load_table("default.foreign")
    path = os.path.join(frazil.directory, "warehouse", "default", "foreign", "data", "without_ids.parquet")
    rows = [{"order_id": -i, "customer_id": "by name %d" % i, "event_time": i * 1000000, "currency": None, "extra": i} for i in range(1, 4)]
    schema = pa.schema([pa.field("order_id", pa.int64(), False), pa.field("customer_id", pa.string(), False),
                        pa.field("event_time", pa.timestamp("us", "UTC"), False), ("currency", pa.string()), ("extra", pa.int32())])
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    table.add_files(["file://" + path])
    with table.update_schema() as update:
        update.rename_column("extra", "more")
    table.refresh()
    tally.check("mapped: there is a mapping", "without_ids" in str(table.inspect.files()["file_path"].to_pylist()) and
                table.properties.get("schema.name-mapping.default"))
    mine = lambda: sorted((r["order_id"], r["more"], r["currency"]) for r in frazil.table("default.foreign").scan().to_arrow().to_pylist()
                          if r["order_id"] < 0)
    wanted = [(-3, 3, None), (-2, 2, None), (-1, 1, None)]
    code, _, _ = frazil.run("cat", "default.foreign", "-c", "frazil.yaml", "-o", "json")
    with open(os.path.join(frazil.directory, "run-%02d.stdout" % frazil.runs), encoding="utf-8") as f:
        lines = [json.loads(line) for line in f]
    found = sorted((r["order_id"], r["more"], r["currency"]) for r in lines if r["order_id"] < 0)
    tally.equal("mapped: as cat reads it", (code, found), (0, wanted))
    code, _, errors = frazil.run("maintain", "default.foreign", "--compact", "-c", "frazil.yaml")
    tally.check("mapped: compaction", code == 0, errors[-500:])
    tally.equal("mapped: after compaction", mine(), wanted)
    tally.check("mapped: the file was taken up", "without_ids" not in str(frazil.table("default.foreign").inspect.files()["file_path"].to_pylist()))


def main():
    tally = Tally()
    with Kafka() as kafka, harness.schema_registry() as registry:
        kafka.create("foreign", 2)
        schema_id = registry.register("foreign-value", harness.ORDERS)
        made = {}
        for version in (2, 3):
            frazil = Frazil(os.path.join(DIR, "foreign_tables", "v%d" % version),
                            CONFIG % (kafka.bootstrap, registry.url) + ("  format_version: 3\n" if version == 3 else ""))
            made[version] = (frazil, create(frazil, 2))  # PyIceberg does not make version 3: the entry raises it
        old = Frazil(os.path.join(DIR, "foreign_tables", "v1"), CONFIG % (kafka.bootstrap, registry.url))
        create(old, 1)
        code, topics, errors = old.once()
        tally.equal("version 1: exit code", code, 1)
        tally.check("version 1 is refused, with what to do", "upgrade it to 2 first" in errors, errors[-500:])
        for half in (0, 1):
            produce(kafka, "foreign", ROWS // 2, half * ROWS // 2, schema_id, partitions=2)
            for version, (frazil, before) in made.items():
                code, topics, errors = frazil.once()
                if not tally.equal("version %d: exit code" % version, code, 0):
                    print(errors[-2000:])
        for version, (frazil, before) in made.items():
            what = "version %d" % version
            table = check_table(tally, what, frazil, before, ROWS)
            count = check_files(tally, what, table, True)
            tally.equal("%s: format version" % what, table.metadata.format_version, version)
            code, _, errors = frazil.run("maintain", "default.foreign", "--compact", "-c", "frazil.yaml")
            if not tally.equal("%s: compaction" % what, code, 0):
                print(errors[-2000:])
            what = "version %d, compacted" % version
            table = check_table(tally, what, frazil, before, ROWS)
            tally.check("%s: fewer files" % what, check_files(tally, what, table, True) < count)
        files_without_ids(tally, kafka, registry)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
