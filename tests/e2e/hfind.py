#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks one engine for the rows that a condition holds for, one query a condition: `hfind.py ENGINE METADATA < questions`.

A question is {"column": path, "type": Iceberg's word, "value": ..., "op": one of = < >= null some} with dates, times and instants as
numbers, decimals and floats as text, bytes as hexadecimal digits; without `op` it is `=`, and `null`, `some` (not null) have no value.
The answer, one JSON line, is a list of {"ids": [...]} or {"error": text}. Runs in the venv of the judge; spark in that of pyspark with
SPARK_JARS naming a folder, trino with TRINO an address, flink with FLINK_JARS.
"""
import datetime, decimal, glob, importlib.util, json, os, sys, uuid

EPOCH = datetime.datetime(1970, 1, 1)


def instant(micros):
    return EPOCH + datetime.timedelta(microseconds=micros)


def python_value(q):
    """the value as Python has it"""
    kind, v = q["type"].split("(")[0].split("[")[0], q["value"]
    if kind in ("float", "double"):
        return float(v)
    if kind == "decimal":
        return decimal.Decimal(v)
    if kind in ("fixed", "binary"):
        return bytes.fromhex(v)
    if kind == "uuid":
        return uuid.UUID(v)
    if kind == "date":
        return instant(v * 86400000000).date()
    if kind == "time":
        return instant(v).time()
    if kind == "timestamp":
        return instant(v)
    return instant(v).replace(tzinfo=datetime.timezone.utc) if kind == "timestamptz" else v


def op(q):
    return q.get("op", "=")


def bare(q):
    """whether the condition has no value"""
    return op(q) in ("null", "some")


def nan(q):
    return q["type"] in ("float", "double") and q.get("value") == "nan"


def path(q, quote):
    return ".".join(quote + p + quote for p in q["column"].split("."))


def bare_sql(q, quote='"'):
    return "%s is%s null" % (path(q, quote), " not" if op(q) == "some" else "")


def compared(q, column, value):
    """for libraries whose columns have Python's operators"""
    return {"=": lambda: column == value, "<": lambda: column < value, ">=": lambda: column >= value}[op(q)]()


class PyIceberg:
    def __init__(self, metadata):
        from pyiceberg.table import StaticTable
        self.table = StaticTable.from_metadata(metadata)

    def ask(self, q):
        from pyiceberg.expressions import EqualTo, GreaterThanOrEqual, IsNaN, IsNull, LessThan, NotNull
        from pyiceberg.expressions.literals import DateLiteral, FloatLiteral, TimeLiteral, TimestampLiteral
        if bare(q):
            e = (IsNull if op(q) == "null" else NotNull)(q["column"])
        elif nan(q):
            e = IsNaN(q["column"])
        else:
            raw = {"date": DateLiteral, "time": TimeLiteral, "timestamp": TimestampLiteral, "timestamptz": TimestampLiteral}.get(q["type"])
            value = raw(q["value"]) if raw else python_value(q)
            if q["type"] == "float":
                value = FloatLiteral(value)  # a double literal of infinity is beyond a float, it says
            e = {"=": EqualTo, "<": LessThan, ">=": GreaterThanOrEqual}[op(q)](q["column"], value)
        return self.table.scan(row_filter=e, selected_fields=("id",)).to_arrow()["id"].to_pylist()


class DuckDB:
    def __init__(self, metadata):
        import duckdb
        self.metadata, self.c = metadata, duckdb.connect(config={"allow_unsigned_extensions": "true"})
        self.c.execute("set TimeZone = 'UTC'")
        for e in ("avro", "httpfs", "iceberg"):
            folder = os.path.dirname(importlib.util.find_spec("duckdb_extension_" + e).origin)
            self.c.execute("LOAD '%s'" % glob.glob(folder + "/extensions/*/%s.duckdb_extension" % e)[0])

    def ask(self, q):
        v, kind = q.get("value"), q["type"]
        text, params = "?", [v]
        if bare(q):
            params = []
        elif kind in ("fixed[4]", "binary"):
            params = [bytes.fromhex(v)]
        elif kind == "timestamptz":
            text, params = "make_timestamptz(?::bigint)", [v]
        elif kind == "timestamp":
            text, params = "make_timestamp(?::bigint)", [v]
        elif kind == "date":
            text, params = "make_date(?::integer)", [v]
        elif kind == "time":
            text, params = "?::time", [python_value(q).isoformat()]
        elif kind not in ("string", "int", "long", "boolean"):
            text = "?::" + kind
        column = path(q, '"')
        where = bare_sql(q) if bare(q) else "%s %s %s" % (column, op(q), text)
        if nan(q):  # `= 'nan'` is tested against bounds, and no bound holds a NaN
            where, params = "isnan(%s)" % column, []
        return [r[0] for r in self.c.execute("select id from iceberg_scan(?) where " + where, [self.metadata] + params).fetchall()]


class Polars:
    def __init__(self, metadata):
        import polars
        self.pl, self.frame = polars, polars.scan_iceberg(metadata, reader_override="native")

    def ask(self, q):
        pl, kind = self.pl, q["type"]
        column = pl.col(q["column"].split(".")[0])
        for part in q["column"].split(".")[1:]:
            column = column.struct.field(part)
        simple = {"float": pl.Float32, "double": pl.Float64, "int": pl.Int32, "long": pl.Int64, "date": pl.Date, "time": pl.Time,
                  "timestamp": pl.Datetime("us"), "timestamptz": pl.Datetime("us", "UTC")}
        if bare(q):
            e = column.is_null() if op(q) == "null" else column.is_not_null()
        elif nan(q):
            e = column.is_nan()
        elif kind == "time":
            e = compared(q, column, pl.lit(q["value"] * 1000).cast(pl.Time))
        elif kind in ("date", "timestamp", "timestamptz"):
            e = compared(q, column, pl.lit(q["value"]).cast(simple[kind]))
        elif kind.startswith("decimal"):
            p, s = kind[8:-1].split(",")
            e = compared(q, column, pl.lit(decimal.Decimal(q["value"]), dtype=pl.Decimal(int(p), int(s))))
        elif kind == "uuid":
            e = compared(q, column, pl.lit(python_value(q).bytes))
        else:
            e = compared(q, column, pl.lit(python_value(q), dtype=simple.get(kind)))
        return self.frame.filter(e).select("id").collect()["id"].to_list()


class Chdb:
    def __init__(self, metadata):
        import chdb
        self.chdb = chdb
        folder, name = os.path.split(metadata)
        self.source = "icebergLocal('%s', SETTINGS iceberg_metadata_file_path='metadata/%s')" % (os.path.dirname(folder), name)

    def ask(self, q):
        v, kind, column = q.get("value"), q["type"], path(q, "`")
        if bare(q):
            where = bare_sql(q, "`")
        elif nan(q):
            where = "isNaN(%s)" % column
        else:
            if kind == "string":
                text = "unhex('%s')" % v.encode().hex()
            elif kind in ("binary", "fixed[4]"):
                text = "unhex('%s')" % v
            elif kind == "uuid":
                text = "toUUID('%s')" % v
            elif kind.startswith("decimal"):
                text = "toDecimal128('%s', %s)" % (v, kind[8:-1].split(",")[1])
            elif kind == "date":
                text = "toDate32('%s')" % python_value(q)
            elif kind in ("timestamp", "timestamptz"):
                text = "fromUnixTimestamp64Micro(toInt64(%d), 'UTC')" % v
            elif kind in ("timestamp_ns", "timestamptz_ns"):
                text = "fromUnixTimestamp64Nano(toInt64(%d), 'UTC')" % v
            elif kind == "float":
                text = "toFloat32('%s')" % v
            elif kind == "double":
                text = "toFloat64('%s')" % v
            elif kind == "time":
                text = "'%s'" % python_value(q)
            else:
                text = json.dumps(v)
            where = "%s %s %s" % (column, op(q), text)
        answer = str(self.chdb.query("select id from %s where %s" % (self.source, where), "CSV"))
        return [int(x) for x in answer.split()]


class Daft:
    def __init__(self, metadata):
        import daft
        self.daft, self.frame = daft, daft.read_iceberg(metadata)

    def ask(self, q):
        d, kind = self.daft, q["type"]
        column = d.col(q["column"].split(".")[0])
        for part in q["column"].split(".")[1:]:
            column = column.get(part)
        if bare(q):
            e = column.is_null() if op(q) == "null" else column.not_null()
        elif nan(q):
            e = column.is_nan()
        elif kind == "float":
            e = compared(q, column, d.lit(python_value(q)).cast(d.DataType.float32()))
        elif kind in ("timestamp_ns", "timestamptz_ns"):
            e = compared(q, column, d.lit(q["value"]).cast(d.DataType.timestamp("ns", "UTC" if kind == "timestamptz_ns" else None)))
        elif kind == "uuid":
            e = compared(q, column, d.lit(python_value(q).bytes))
        else:
            e = compared(q, column, d.lit(python_value(q)))
        return self.frame.where(e).select("id").to_pydict()["id"]


def main():
    engine = {"pyiceberg": PyIceberg, "duckdb": DuckDB, "polars": Polars, "chdb": Chdb, "daft": Daft}[sys.argv[1]](sys.argv[2])
    answers = []
    for q in json.load(sys.stdin):
        try:
            answers.append({"ids": engine.ask(q)})
        except BaseException as e:  # an engine's panic is none of Exception
            answers.append({"error": "%s: %s" % (type(e).__name__, " ".join(str(e).split())[:300])})
    print(json.dumps(answers))


if __name__ == "__main__":
    main()
