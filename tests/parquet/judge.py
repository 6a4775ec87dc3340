#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Let independent readers judge the Parquet writer, and let the reader read what other writers make.

usage: judge.py write WRITER_TEST [FROM [TO]]     files of seeds FROM..TO, read by pyarrow and DuckDB
       judge.py read PARQUET_DUMP [FROM [TO]]     files that pyarrow writes in every encoding, codec and page version

WRITER_TEST is unit_format_parquet_writer, PARQUET_DUMP that of tests/tools; pyarrow, duckdb must be importable. Values, statistics, nulls,
page index, bloom filters and the metrics for Iceberg are compared with the rows that went in. Exit 1 at the first difference.
"""
import decimal, json, os, random, struct, subprocess, sys, tempfile

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from rows import rows_of, values

decimal.getcontext().prec = 80


class Thrift:
    """just enough of the compact protocol to look at page headers and the page index"""

    def __init__(self, data, at=0):
        self.d, self.at = data, at

    def varint(self):
        n = shift = 0
        while True:
            b = self.d[self.at]
            self.at += 1
            n |= (b & 127) << shift
            shift += 7
            if b < 128:
                return n

    def zigzag(self):
        n = self.varint()
        return n >> 1 ^ -(n & 1)

    def value(self, kind, item=False):
        if kind in (1, 2):
            if item:
                self.at += 1
                return self.d[self.at - 1] == 1
            return kind == 1
        if kind == 3:
            self.at += 1
            return self.d[self.at - 1]
        if kind in (4, 5, 6):
            return self.zigzag()
        if kind == 8:
            n = self.varint()
            self.at += n
            return self.d[self.at - n:self.at]
        if kind == 9:
            head = self.d[self.at]
            self.at += 1
            n = head >> 4 if head >> 4 < 15 else self.varint()
            return [self.value(head & 15, True) for _ in range(n)]
        assert kind == 12, kind
        out, last = {}, 0
        while True:
            head = self.d[self.at]
            self.at += 1
            if head == 0:
                return out
            last = last + (head >> 4) if head >> 4 else self.zigzag()
            out[last] = self.value(head & 15)


def leaves(element, path=()):
    """leaf columns of a file's schema elements, depth first: consumes the list"""
    e = element.pop(0)
    path += (e[4].decode(),)
    n = e.get(5, 0)
    return [x for _ in range(n) for x in leaves(element, path)] if n else [(e, path)]


def leaf_values(row, steps):
    """the leaf's values in one row's value, None where a path ends"""
    if row is None:
        return [None]
    if not steps:
        return [row]
    step = steps[0]
    if step[0] == "struct":
        return leaf_values(row[step[1]], steps[1:])
    if not row:
        return [None]
    if step[0] == "list":
        return [v for item in row for v in leaf_values(item, steps[1:])]
    return [v for pair in row for v in leaf_values(pair[step[1]], steps[1:])]


def steps_of(field_type):
    """paths to the leaves of an Arrow type: [(steps, type)]"""
    t = field_type
    if isinstance(t, pa.BaseExtensionType):
        return [([], t)]
    if pa.types.is_struct(t):
        return [([("struct", i)] + s, leaf) for i in range(t.num_fields) for s, leaf in steps_of(t.field(i).type)]
    if pa.types.is_map(t):
        return [([("map", 0)] + s, leaf) for s, leaf in steps_of(t.key_type)] + [([("map", 1)] + s, leaf) for s, leaf in steps_of(t.item_type)]
    if pa.types.is_list(t):
        return [([("list",)] + s, leaf) for s, leaf in steps_of(t.value_type)]
    return [([], t)]


def ordered(v, t):
    """a value as something that orders rightly; None for NaN"""
    if isinstance(v, bool) or isinstance(v, int):
        return int(v)
    raw = bytes.fromhex(v[1:])
    if pa.types.is_floating(t):
        x = struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0]
        return None if x != x else x
    return raw


def plain(raw, t):
    """a bound in a file as `ordered` gives values"""
    if pa.types.is_boolean(t):
        return raw[0]
    if pa.types.is_decimal(t):
        return int.from_bytes(raw, "little" if t.precision <= 18 else "big", signed=True)
    if pa.types.is_floating(t):
        return struct.unpack("<f" if len(raw) == 4 else "<d", raw)[0]
    if pa.types.is_integer(t) or pa.types.is_temporal(t):
        return int.from_bytes(raw, "little", signed=True)
    return raw


def single(raw, t):
    """Iceberg's single-value form as `ordered` gives values"""
    return int.from_bytes(raw, "big", signed=True) if pa.types.is_decimal(t) else plain(raw, t)


def zero_rule(low, high):
    assert not (low == 0 and isinstance(low, float) and struct.pack("<d", low)[7] == 0), "min +0.0"
    assert not (high == 0 and isinstance(high, float) and struct.pack("<d", high)[7]), "max -0.0"


def check_bounds(what, have, stats, t):
    """have: values that count; stats: (min, max, min exact, max exact) or None"""
    if stats is None:
        return
    low, high, low_exact, high_exact = stats
    assert have, what + ": bounds without values"
    assert low <= min(have), (what, low, min(have))
    assert high >= max(have), (what, high, max(have))
    assert not low_exact or low == min(have), (what, low, min(have))
    assert not high_exact or high == max(have), (what, high, max(have))
    zero_rule(low, high)
    if pa.types.is_string(t):
        low.decode(), high.decode()


def check_pages(data, chunk, meta, column, t, required_bounds):
    """page index and page headers of a column chunk; column: rows -> leaf values"""
    if 4 not in chunk:
        return 0
    oi = Thrift(data, chunk[4]).value(12)
    ci = Thrift(data, chunk[6]).value(12) if 6 in chunk else None
    pages = oi[1]
    firsts = [p[3] for p in pages] + [len(column)]
    assert firsts[0] == 0 and firsts == sorted(set(firsts)), firsts
    for i, p in enumerate(pages):
        header = Thrift(data, p[1])
        h = header.value(12)
        assert header.at - p[1] + h[3] == p[2], "page size"
        mine = [v for r in column[firsts[i]:firsts[i + 1]] for v in r]
        assert (h.get(5) or h.get(8))[1] == len(mine), "page values"
        if ci:
            nulls = sum(v is None for v in mine)
            assert ci[5][i] == nulls, ("null count", ci[5][i], nulls)
            assert ci[1][i] == (nulls == len(mine)), "null page"
            have = [x for x in (ordered(v, t) for v in mine if v is not None) if x is not None]
            if nulls < len(mine):
                check_bounds("page", have, (plain(ci[2][i], t), plain(ci[3][i], t), False, False), t)
    if ci:
        low = [plain(v, t) for v, null in zip(ci[2], ci[1]) if not null]
        high = [plain(v, t) for v, null in zip(ci[3], ci[1]) if not null]
        if ci[4] == 1:
            assert low == sorted(low) and high == sorted(high), "ascending"
        if ci[4] == 2:
            assert low[::-1] == sorted(low) and high[::-1] == sorted(high), "descending"
    return len(pages)


def check_statistics(data, expected, schema):
    size = struct.unpack("<I", data[-8:-4])[0]
    footer = Thrift(data, len(data) - 8 - size).value(12)
    assert footer[6].startswith(b"frazil version"), footer[6]
    assert {p[1]: p[2] for p in footer[5]} == {b"hello": b"world"}
    elements = leaves(list(footer[2]))
    paths = [(i, steps, t) for i, f in enumerate(schema) for steps, t in steps_of(f.type)]
    assert len(elements) == len(paths) == len(footer[7])
    at, pages = 0, 0
    for group in footer[4]:
        rows = expected[at:at + group[3]]
        at += group[3]
        for chunk, (i, steps, t), (element, path) in zip(group[1], paths, elements):
            t = t.storage_type if isinstance(t, pa.BaseExtensionType) else t
            meta = chunk[3]
            assert [p.decode() for p in meta[3]] == list(path[1:]), (meta[3], path)
            column = [leaf_values(r[i], steps) for r in rows]
            flat = [v for r in column for v in r]
            assert meta[5] == len(flat), ("values", meta[5], len(flat))
            stats = meta[12]
            assert stats[3] == sum(v is None for v in flat), "null count"
            have = [x for x in (ordered(v, t) for v in flat if v is not None) if x is not None]
            if 5 in stats:
                check_bounds("chunk %s" % (path,), have, (plain(stats[6], t), plain(stats[5], t), stats[8], stats[7]), t)
            else:
                assert not have or (isinstance(have[0], bytes) and max(map(len, have)) > 64), "no statistics"
            pages += check_pages(data, chunk, meta, column, t, 5 in stats)
    assert at == len(expected) == footer[3]
    return elements, paths, footer, pages


def check_metrics(metrics, expected, elements, paths, footer, data):
    assert metrics["rows"] == len(expected) and metrics["size"] == len(data)
    assert metrics["splits"] == [min(c[3].get(11, c[3][9]) for c in g[1]) for g in footer[4]]
    assert len(metrics["columns"]) == len(paths)
    for c, (i, steps, t), (element, path), k in zip(metrics["columns"], paths, elements, range(len(paths))):
        t = t.storage_type if isinstance(t, pa.BaseExtensionType) else t
        flat = [v for r in expected for v in leaf_values(r[i], steps)]
        assert c["id"] == element[9] and c["values"] == len(flat) and c["nulls"] == sum(v is None for v in flat), (c, path)
        assert c["repeated"] == any(s[0] != "struct" for s in steps)
        assert c["size"] == sum(g[1][k][3][7] for g in footer[4])
        have = [ordered(v, t) for v in flat if v is not None]
        nans = sum(v is None for v in have)
        assert c["nans"] == (nans if pa.types.is_floating(t) else -1)
        have = [v for v in have if v is not None]
        assert ("lower" in c) == bool(have), (path, c)
        if have:
            low, high = single(bytes.fromhex(c["lower"][1:]), t), single(bytes.fromhex(c["upper"][1:]), t)
            check_bounds("metrics %s" % (path,), have, (low, high, True, True), t)


def check_duckdb(path, expected, schema):
    con = duckdb.connect()
    con.execute("set timezone='UTC'")
    simple = [i for i, f in enumerate(schema) if not (pa.types.is_nested(f.type) or isinstance(f.type, pa.BaseExtensionType)
                                                      or pa.types.is_temporal(f.type))]
    for i in simple:
        got = values(con.execute('select "c%d" from \'%s\'' % (i, path)).to_arrow_table().column(0))
        assert got == [r[i] for r in expected], "duckdb column %d" % i
    for i, f in enumerate(schema):
        name = '"c%d"' % i
        got = con.execute("select count(*), count(%s) from '%s'" % (name, path)).fetchone()
        assert got == (len(expected), sum(r[i] is not None for r in expected)), "duckdb count"
        if pa.types.is_nested(f.type):  # all of it is read and assembled
            try:
                con.execute("select count(distinct hash(%s)) from '%s'" % (name, path)).fetchone()
            except duckdb.ConversionException as e:  # its timestamps end before ours
                assert "out of range" in str(e), e
        # every value must be found: statistics, page index and bloom filters may hide none
        if i in simple and (pa.types.is_integer(f.type) or pa.types.is_string(f.type)):
            counts = {}
            for r in expected:
                if r[i] is not None:
                    counts[r[i]] = counts.get(r[i], 0) + 1
            for v in sorted(counts, key=str)[:15]:
                key = bytes.fromhex(v[1:]).decode() if isinstance(v, str) else v
                n = con.execute("select count(*) from '%s' where %s = ?" % (path, name), [key]).fetchone()[0]
                assert n == counts[v], "duckdb finds %d of %d %r" % (n, counts[v], key)


def judge_write(program, seed, folder):
    path, rows_path, metrics_path = (os.path.join(folder, n) for n in ("w.parquet", "w.jsonl", "w.json"))
    count = random.Random(seed).choice([0, 1, 7, 300, 3000] if seed < 10000 else [30000, 60000])
    subprocess.run([program, "write", str(seed), str(count), path, rows_path, metrics_path], check=True)
    with open(rows_path) as f:
        expected = [json.loads(line) for line in f]
    with open(path, "rb") as f:
        data = f.read()
    file = pq.ParquetFile(path, page_checksum_verification=True)
    table = file.read()
    got = rows_of(table)
    for r, (a, b) in enumerate(zip(got, expected)):
        assert a == b, "row %d\n  read     %s\n  expected %s" % (r, a, b)
    assert len(got) == len(expected)
    elements, paths, footer, pages = check_statistics(data, expected, table.schema)
    with open(metrics_path) as f:
        check_metrics(json.load(f), expected, elements, paths, footer, data)
    check_duckdb(path, expected, table.schema)
    return len(footer[4]), pages


def pyarrow_file(seed, path):
    """a file of pyarrow's in some encodings -> (description, rows)"""
    rng = random.Random(seed)
    n = rng.choice([0, 1, 10, 1000, 5000])

    def nulls(make):
        return [None if rng.random() < 0.2 else make() for _ in range(n)]

    def text():
        return rng.choice(["", "a", "abc" * rng.randrange(5), "Öl-%d" % rng.randrange(50), "prefix/common/%06d" % rng.randrange(10**6)])
    columns = {
        "b": pa.array(nulls(lambda: rng.random() < 0.5), pa.bool_()),
        "i": pa.array(nulls(lambda: rng.randrange(-2**31, 2**31)), pa.int32()),
        "l": pa.array(nulls(lambda: rng.choice([rng.randrange(100), rng.randrange(-2**63, 2**63)])), pa.int64()),
        "f": pa.array(nulls(lambda: rng.uniform(-5, 5)), pa.float32()),
        "d": pa.array(nulls(lambda: rng.uniform(-1e300, 1e300)), pa.float64()),
        "s": pa.array(nulls(text), pa.string()),
        "bin": pa.array(nulls(lambda: rng.randbytes(rng.randrange(30))), pa.binary()),
        "fix": pa.array(nulls(lambda: rng.randbytes(7)), pa.binary(7)),
        "dec9": pa.array(nulls(lambda: decimal.Decimal(rng.randrange(-10**7, 10**7)).scaleb(-2)), pa.decimal128(9, 2)),
        "dec38": pa.array(nulls(lambda: decimal.Decimal(rng.randrange(-10**36, 10**36)).scaleb(-2)), pa.decimal128(38, 2)),
        "day": pa.array(nulls(lambda: rng.randrange(-10000, 40000)), pa.date32()),
        "ts": pa.array(nulls(lambda: rng.randrange(-10**15, 10**16)), pa.timestamp("us", "UTC")),
        "seq": pa.array(range(n), pa.int64()),
        "list": pa.array(nulls(lambda: [None if rng.random() < 0.1 else rng.randrange(9) for _ in range(rng.randrange(5))]), pa.list_(pa.int32())),
        "deep": pa.array(nulls(lambda: [{"x": rng.randrange(5), "y": [text() for _ in range(rng.randrange(3))]} if rng.random() < 0.8 else None
                                        for _ in range(rng.randrange(4))]), pa.list_(pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))]))),
        "map": pa.array(nulls(lambda: [(text() + str(k), rng.random()) for k in range(rng.randrange(4))]), pa.map_(pa.string(), pa.float64())),
        "st": pa.array(nulls(lambda: {"p": None if rng.random() < 0.5 else 3, "q": {"r": text()}}),
                       pa.struct([("p", pa.int32()), ("q", pa.struct([("r", pa.string())]))])),
    }
    table = pa.table(columns)
    dictionary = rng.random() < 0.4
    options = {
        "compression": rng.choice(["none", "snappy", "gzip", "zstd", "brotli", "lz4"]),
        "data_page_version": rng.choice(["1.0", "2.0"]),
        "data_page_size": rng.choice([64, 1000, 1 << 20]),
        "row_group_size": rng.choice([100, 1000, 100000]),
        "use_dictionary": dictionary,
        "dictionary_pagesize_limit": rng.choice([200, 1 << 20]),
        "write_statistics": rng.random() < 0.5,
    }
    if not dictionary:
        bss = rng.random() < 0.4
        ints_ = rng.choice(["PLAIN", "DELTA_BINARY_PACKED"] + ["BYTE_STREAM_SPLIT"] * bss)
        options["column_encoding"] = {
            "b": rng.choice(["PLAIN", "RLE"]), "i": ints_, "l": ints_, "seq": ints_, "ts": ints_, "day": ints_,
            "f": rng.choice(["PLAIN", "BYTE_STREAM_SPLIT"]), "d": rng.choice(["PLAIN", "BYTE_STREAM_SPLIT"]),
            "s": rng.choice(["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]),
            "bin": rng.choice(["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY"]),
            "fix": rng.choice(["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"]),
            "dec38": rng.choice(["PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BYTE_ARRAY"]),
            "list.list.element": rng.choice(["PLAIN", "DELTA_BINARY_PACKED"]),
            "deep.list.element.y.list.element": rng.choice(["PLAIN", "DELTA_BYTE_ARRAY"]),
        }
    if rng.random() < 0.2:
        options["use_deprecated_int96_timestamps"] = True
        options.get("column_encoding", {})["ts"] = "PLAIN"
    if rng.random() < 0.3:
        options["use_compliant_nested_type"] = True
    pq.write_table(table, path, **options)
    return options, rows_of(table)


def judge_read(program, seed, folder):
    path = os.path.join(folder, "r.parquet")
    options, expected = pyarrow_file(seed, path)
    try:
        pq.ParquetFile(path).read()
    except (pa.ArrowInvalid, OSError):
        print("seed %d: pyarrow cannot read back what it wrote" % seed)  # 25.0.1, tiny pages of DELTA_BYTE_ARRAY
        return 0, 0
    run = subprocess.run([program, path], capture_output=True, text=True)
    assert run.returncode == 0, "%s\n%s" % (run.stderr, options)
    got = [json.loads(line) for line in run.stdout.splitlines()[1:]]
    for r, (a, b) in enumerate(zip(got, expected)):
        assert a == b, "row %d\n  read     %s\n  expected %s\n%s" % (r, a, b, options)
    assert len(got) == len(expected), (len(got), len(expected), options)
    return len(got), 0


def main(args):
    if len(args) < 2 or args[0] not in ("write", "read"):
        sys.exit(__doc__)
    first = int(args[2]) if len(args) > 2 else 0
    last = int(args[3]) if len(args) > 3 else first + 50
    total = [0, 0]
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, last):
            try:
                counts = (judge_write if args[0] == "write" else judge_read)(args[1], seed, folder)
            except Exception:
                print("seed %d" % seed)
                raise
            total = [a + b for a, b in zip(total, counts)]
    print("%d files agree (%s)" % (last - first, "%d row groups, %d pages" % tuple(total) if args[0] == "write" else "%d rows" % total[0]))


main(sys.argv[1:])
