# SPDX-License-Identifier: Apache-2.0
"""The same work by Spark Structured Streaming: a topic in Confluent's Avro framing into an Iceberg table, with the coordinates.

usage: spark-submit peer_spark.py BROKERS TOPIC SCHEMA_FILE WAREHOUSE
Prints what the query took besides the start of the JVM, as JSON: {"query_cpu_seconds": ..., "rows": ...}.
"""
import json, os, sys

from pyspark.sql import SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import expr, struct

brokers, topic, schema_file, warehouse = sys.argv[1:]
spark = (SparkSession.builder.config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
         .config("spark.sql.catalog.lake.type", "hadoop").config("spark.sql.catalog.lake.warehouse", warehouse).getOrCreate())
spark.sparkContext.setLogLevel("ERROR")
with open(schema_file, encoding="utf-8") as f:
    schema = f.read()


def cpu_seconds():
    """of the JVM, which is this process's parent"""
    with open("/proc/%d/stat" % os.getppid(), encoding="utf-8") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


records = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", brokers).option("subscribe", topic)
           .option("startingOffsets", "earliest").load())
rows = records.select(from_avro(expr("substring(value, 6)"), schema).alias("row"),
                      struct("topic", "partition", "offset", "timestamp", "timestampType").alias("_kafka")).select("row.*", "_kafka")
columns = ", ".join("`%s` %s" % (f.name, f.dataType.simpleString()) for f in rows.schema.fields)
spark.sql("create table lake.default.bench (%s) using iceberg tblproperties ('write.parquet.compression-codec'='zstd', "
          "'write.parquet.compression-level'='1')" % columns)
before = cpu_seconds()
(rows.writeStream.format("iceberg").option("checkpointLocation", warehouse + "/checkpoint").option("fanout-enabled", "true")
 .trigger(availableNow=True).toTable("lake.default.bench").awaitTermination())
print(json.dumps({"query_cpu_seconds": round(cpu_seconds() - before, 2), "rows": spark.table("lake.default.bench").count()}))
spark.stop()
