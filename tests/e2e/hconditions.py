# SPDX-License-Identifier: Apache-2.0
"""Conditions on the columns of a table whose rows are known, and whether an engine's answers are right."""
import decimal

import extremes

ORDERED = ("string", "int", "long", "float", "double", "date", "timestamp", "timestamptz", "time", "timestamp_ns", "timestamptz_ns")
DAY = extremes.DAY


def is_nan(v, kind):
    return kind in ("float", "double") and v == "nan"


def sortable(v, kind):
    """a value as something that compares as the type does"""
    if kind in ("float", "double"):
        return float(v)
    if kind.startswith("decimal"):
        return decimal.Decimal(v)
    return v.encode() if kind == "string" else v


def holds(q, v):
    """-> True, False or None: engines differ (NaN in an order, the two zeros)"""
    op, kind = q["op"], q["type"]
    if op == "all":
        return True
    if op in ("null", "some"):
        return (v is None) == (op == "null")
    if v is None:
        return False
    if is_nan(v, kind) or is_nan(q["value"], kind):
        return v == q["value"] if op == "=" else None
    a, b = sortable(v, kind), sortable(q["value"], kind)
    if kind in ("float", "double") and a == 0 and b == 0 and v != q["value"]:
        return None
    return {"=": a == b, "<": a < b, ">=": a >= b}[op]


def questions(t, more):
    """a few conditions a column; `more` asks for every value of it"""
    out = []
    for c, kind in t.kinds.items():
        ask = lambda op, **v: out.append({"column": c, "type": kind, "op": op, **v})
        ask("null")
        if more or kind in ("struct", "list", "map"):
            ask("some")
        if kind in ("struct", "list", "map"):
            continue
        values = []
        for v in t.truth[c].values():
            if v is not None and v not in values:
                values.append(v)
        for n, v in enumerate(values):
            if more or n < 2:
                ask("=", value=v)
        if kind in ORDERED or kind.startswith("decimal"):
            plain = [v for v in values if not is_nan(v, kind)]
            for op, v in (("<", plain[-1]), (">=", plain[0])) if plain else ():
                ask(op, value=v)
    return out


def wrong(t, q, answer):
    """what is wrong with an answer, None if nothing is"""
    if "error" in answer:
        return answer["error"]
    verdicts = {n: holds(q, v) for n, v in t.truth[q["column"]].items()} if q["op"] != "all" else dict.fromkeys(range(t.count), True)
    ids = answer["ids"]
    lost = [n for n, v in verdicts.items() if v is True and n not in set(ids)]
    invented = [n for n in ids if verdicts.get(n, False) is False]
    if lost or invented or len(ids) != len(set(ids)):
        return "lost %s, invented %s of %d" % (lost[:5], invented[:5], len(ids))
    return None


def text(q):
    v = str(q.get("value", ""))
    return "%s %s %s" % (q["column"], q["op"], v if len(v) < 40 else v[:40] + "...")


def check(tally, running, t, engine, metadata, more):
    """ask all, count what an engine cannot do by itself, and report what is wrong"""
    asked, left = [], {}
    for q in questions(t, more):
        reason = beyond(engine, t.label, q)
        if reason:
            left[reason] = left.get(reason, 0) + 1
        else:
            asked.append(q)
    found = [(q, wrong(t, q, a)) for q, a in zip(asked, running.find(engine, metadata, asked))]
    faults = ["%s: %s" % (text(q), w) for q, w in found if w]
    for reason, count in sorted(left.items()):
        print("     not asked of %s, %d of %s: %s" % (engine, count, t.label, reason), flush=True)
    tally.check("%s: %s answers %d conditions on %d columns" % (t.label, engine, len(asked), len(t.kinds)), not faults,
                "%d wrong\n      %s" % (len(faults), "\n      ".join(faults[:12])))


def beyond(engine, label, q):
    """what an engine itself gets wrong or cannot say (tests/judge/ENGINES.md, and seen here): the reason"""
    return next((why for holds_here, why in RULES.get(engine, lambda *_: ())(label, q["type"], q["op"], q.get("value"), q) if holds_here), None)


def by_pyiceberg(label, kind, op, v, q):
    return ((kind in ("list", "map"), "PyIceberg projects no list and no map"),
            (kind.endswith("_ns") and v is not None, "PyIceberg has no literal of nanoseconds"),
            (label == "evolved" and q["column"] in "abc" and op == "<", "PyIceberg: a bound beyond the type of an older file lets its nulls pass"),
            (label == "odd" and kind == "uuid", "PyIceberg compares bytes with the uuid of a partition"),
            (label == "floats" and kind == "double" and v is not None, "PyIceberg reads a double of a partition as a float"),
            (first_of_time(q), "PyIceberg looks for the value before the first one of Python"))


def by_polars(label, kind, op, v, q):
    return ((label == "floats" and kind == "double" and v is not None, "PyIceberg, which plans for it, reads a double of a partition as a float"),
            (first_of_time(q), "PyIceberg, which plans for it, looks for the value before the first one of Python"))


def by_duckdb(label, kind, op, v, q):
    return ((label in ("evolved", "times", "hours") and part_of_a_day(kind, v), "DuckDB rounds times before 1970 up"),
            (label == "buckets" and kind == "uuid", "DuckDB looks in another bucket than the specification's"),
            (label == "cut" and kind.startswith("decimal") and v is not None, "DuckDB truncates negative decimals with an error"))


def by_chdb(label, kind, op, v, q):
    timed = kind in ("timestamp", "timestamptz", "date")
    return ((kind in ("struct", "list", "map") and op in ("null", "some"), "ClickHouse has no null struct, list or map"),
            (timed and v is not None and beyond_years(kind, v), "years of ClickHouse"),
            (timed and v is not None and v < 0 and label in ("evolved", "times", "hours"), "ClickHouse rounds times before 1970 up"),
            (kind.endswith("_ns") and v is not None and v < 0, "ClickHouse rounds times before 1970 up"),
            (kind == "uuid" and v is not None, "ClickHouse orders the bounds of UUIDs otherwise"),
            (kind == "time", "ClickHouse cuts a time to seconds"))


def by_daft(label, kind, op, v, q):
    return ((kind in ("uuid", "fixed[4]") and v is not None, "Daft compares no uuid and no fixed with a value"),
            (kind == "float" and v in ("inf", "-inf"), "PyIceberg, which plans for it: infinity is beyond a float"),
            (label == "floats" and kind == "double" and v is not None, "PyIceberg, which plans for it, reads a double of a partition as a float"),
            (kind.endswith("_ns") and v is not None, "PyIceberg, which plans for it, has no literal of nanoseconds"),
            (label == "evolved", "Daft plans by one spec only"),
            (label == "void" and op == "some", "Daft takes the null of a void field for the column's"),
            (label == "buckets" and kind.startswith("decimal") and v is not None, "Daft looks in another bucket than the specification's"),
            (label == "cut" and kind == "string" and v is not None, "Daft cuts texts inside a character"),
            (label in ("times", "hours") and part_of_a_day(kind, v), "Daft rounds times before 1970 up"),
            (first_of_time(q), "PyIceberg, which plans for it, looks for the value before the first one of Python"))


def by_flink(label, kind, op, v, q):
    return ((kind == "time" and v is not None, "Flink cuts a time to milliseconds"),
            (kind in ("list", "map"), "Flink casts its own arrays and maps to Java's, and fails"),
            (kind.endswith("_ns") and v is not None, "no literal of nanoseconds is asked of Flink"),
            (kind == "uuid" and v is not None, "Flink pushes a uuid down as bytes, which Iceberg refuses"),
            (v in ("nan", "inf", "-inf"), "Flink's texts have no NaN and no infinity"),
            (label == "evolved" and v == "-0.0", "Flink loses -0.0 of a float that became a double: cause not found"),
            (label == "cut" and kind == "string" and op == "<", "Flink loses a row below a text of U+10FFFF: cause not found"))


def by_spark(label, kind, op, v, q):
    return ((kind == "uuid" and v is not None, "Spark pushes a uuid down as text, and finds none in PyIceberg's files either"),)


def by_trino(label, kind, op, v, q):
    return ((kind == "fixed[4]", "Trino fails on conditions of a fixed: cause not found"),
            (label == "evolved" and q["column"] == "b", "Trino calls the statistics of a float that became a double corrupted: cause not found"))


RULES = {"pyiceberg": by_pyiceberg, "polars": by_polars, "duckdb": by_duckdb, "chdb": by_chdb, "daft": by_daft,
         "flink": by_flink, "trino": by_trino, "spark": by_spark}


def part_of_a_day(kind, v):
    return kind in ("timestamp", "timestamptz") and v is not None and v < 0 and v % DAY != 0


def first_of_time(q):
    return q["op"] == ">=" and q["value"] == {"timestamptz": extremes.YEAR_1, "timestamp": extremes.YEAR_1, "date": extremes.YEAR_1 // DAY}.get(q["type"])


def beyond_years(kind, v):
    return not extremes.CHDB_RANGE[0] <= v * (DAY if kind == "date" else 1) < extremes.CHDB_RANGE[1]
