#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes good/ and bad/: small Parquet files of several writers, and of none, that the reader must read or refuse.

usage: make.py         in the venv of the judge, with fastparquet 2026.9.0 and pandas beside

Beside each good file stands what pyarrow reads in it, as parquet_dump prints rows (NAME.jsonl); golden.py compares. Files that a library
makes differ from one version to the next; they were made with pyarrow 25.0.1, duckdb 1.5.5, polars 2.1.0, fastparquet 2026.9.0.
"""
import decimal, json, os, random, struct, zlib

import pyarrow as pa
import pyarrow.parquet as pq

import rows

HERE = os.path.dirname(os.path.abspath(__file__))
GOOD, BAD = os.path.join(HERE, "good"), os.path.join(HERE, "bad")
RNG = random.Random(5)
N = 40


def nulls(make, n=N):
    return [None if RNG.random() < 0.2 else make(i) for i in range(n)]


def text(i):
    return RNG.choice(["", "a", "Öl", "prefix/common/%03d" % i, "\U0001f600" * 3])


def simple():
    return pa.table({
        "b": pa.array(nulls(lambda i: i % 3 == 0), pa.bool_()),
        "i": pa.array(nulls(lambda i: RNG.randrange(-2**31, 2**31)), pa.int32()),
        "l": pa.array(nulls(lambda i: RNG.choice([i, -2**63, 2**63 - 1])), pa.int64()),
        "f": pa.array(nulls(lambda i: RNG.choice([float("nan"), -0.0, float("inf"), i / 3])), pa.float32()),
        "d": pa.array(nulls(lambda i: RNG.choice([float("nan"), -0.0, 5e-324, i / 3])), pa.float64()),
        "s": pa.array(nulls(text), pa.string()),
        "x": pa.array(nulls(lambda i: RNG.randbytes(i % 5)), pa.binary()),
        "fix": pa.array(nulls(lambda i: RNG.randbytes(7)), pa.binary(7)),
        "day": pa.array(nulls(lambda i: RNG.randrange(-719162, 2932896)), pa.date32()),
        "ts": pa.array(nulls(lambda i: RNG.randrange(-10**15, 10**16)), pa.timestamp("us", "UTC")),
        "seq": pa.array(range(N), pa.int64()),
    })


def kinds():
    def number(digits, scale):
        return pa.array(nulls(lambda i: decimal.Decimal(RNG.randrange(1 - 10**digits, 10**digits)).scaleb(-scale)), pa.decimal128(digits, scale))
    decimal.getcontext().prec = 60
    columns = {"d%d" % p: number(p, s) for p, s in ((1, 0), (9, 2), (10, 10), (18, 4), (19, 0), (38, 37))}
    for bits in (8, 16, 32, 64):
        columns["i%d" % bits] = pa.array(nulls(lambda i: RNG.choice([0, -2**(bits - 1), 2**(bits - 1) - 1])), getattr(pa, "int%d" % bits)())
        columns["u%d" % bits] = pa.array(nulls(lambda i: RNG.choice([0, 2**bits - 1])), getattr(pa, "uint%d" % bits)())
    for unit, most in (("ms", 86400000), ("us", 86400000000), ("ns", 86400000000000)):
        kind = pa.time32("ms") if unit == "ms" else pa.time64(unit)
        columns["time_" + unit] = pa.array(nulls(lambda i: RNG.randrange(most)), pa.int32() if unit == "ms" else pa.int64()).cast(kind)
        for zone in (None, "UTC"):
            columns["ts_%s_%s" % (unit, zone)] = pa.array(nulls(lambda i: RNG.randrange(-10**12, 10**12)), pa.timestamp(unit, zone))
    columns["half"] = pa.array(nulls(lambda i: i / 4), pa.float32()).cast(pa.float16())
    columns["dict"] = pa.array(nulls(lambda i: "v%d" % (i % 3))).dictionary_encode()
    columns["none"] = pa.nulls(N)
    return pa.table(columns)


def nested():
    item = pa.struct([("x", pa.int64()), ("y", pa.list_(pa.string()))])
    deep = pa.list_(pa.struct([("m", pa.map_(pa.string(), pa.list_(item)))]))

    def some(make, i):
        return [None if RNG.random() < 0.2 else make(i) for _ in range(RNG.randrange(3))]

    def thing(i):
        return {"x": None if i % 3 else i, "y": None if i % 5 == 0 else some(text, i)}
    return pa.table({
        "list": pa.array(nulls(lambda i: some(lambda k: k, i)), pa.list_(pa.int32())),
        "lists": pa.array(nulls(lambda i: some(lambda k: some(text, k), i)), pa.list_(pa.list_(pa.string()))),
        "map": pa.array(nulls(lambda i: [("k%d" % k, None if k == 1 else i) for k in range(i % 4)]), pa.map_(pa.string(), pa.int64())),
        "struct": pa.array(nulls(lambda i: {"p": None if i % 2 else 3, "q": {"r": text(i)}}),
                           pa.struct([("p", pa.int32()), ("q", pa.struct([("r", pa.string())]))])),
        "deep": pa.array(nulls(lambda i: some(lambda k: {"m": [("a%d" % j, None if j else some(thing, j)) for j in range(k % 3)]}, i)), deep),
    })


def good(name):
    return os.path.join(GOOD, name + ".parquet")


def by_pyarrow():
    delta = {"i": "DELTA_BINARY_PACKED", "l": "DELTA_BINARY_PACKED", "day": "DELTA_BINARY_PACKED", "ts": "DELTA_BINARY_PACKED",
             "seq": "DELTA_BINARY_PACKED", "s": "DELTA_BYTE_ARRAY", "x": "DELTA_LENGTH_BYTE_ARRAY", "fix": "DELTA_BYTE_ARRAY", "b": "RLE"}
    split = {c: "BYTE_STREAM_SPLIT" for c in ("i", "l", "f", "d", "fix")}
    table = simple()
    for name, encoding, codec, version in (
            ("plain_none_v1", {c: "PLAIN" for c in table.column_names}, "none", "1.0"), ("plain_snappy_v2", {c: "PLAIN" for c in table.column_names}, "snappy", "2.0"),
            ("delta_zstd_v1", delta, "zstd", "1.0"), ("delta_gzip_v2", delta, "gzip", "2.0"), ("split_lz4_v1", split, "lz4", "1.0"),
            ("split_brotli_v2", split, "brotli", "2.0")):
        pq.write_table(table, good("pyarrow_" + name), use_dictionary=False, column_encoding=encoding, compression=codec, data_page_version=version,
                       store_schema=False, data_page_size=300, write_page_checksum=version == "2.0")
    pq.write_table(table, good("pyarrow_dictionary_index"), data_page_size=200, write_page_index=True, row_group_size=15, store_schema=False)
    pq.write_table(table, good("pyarrow_dictionary_full"), dictionary_pagesize_limit=20, compression="zstd", store_schema=False)
    pq.write_table(table.select(["ts", "seq"]), good("pyarrow_int96"), use_deprecated_int96_timestamps=True)
    pq.write_table(table.slice(0, 0), good("pyarrow_no_rows"))
    pq.write_table(kinds(), good("pyarrow_kinds"), version="2.6")
    pq.write_table(kinds().select(["d1", "d9", "d10", "d18"]), good("pyarrow_decimal_integer"), store_decimal_as_integer=True)
    pq.write_table(nested(), good("pyarrow_nested"), data_page_size=64, write_page_checksum=True)
    pq.write_table(nested(), good("pyarrow_nested_item_v2"), use_compliant_nested_type=False, data_page_version="2.0", compression="gzip")
    blank = pa.table({c: pa.nulls(10, t) for c, t in (("s", pa.string()), ("l", pa.list_(pa.int32())), ("d", pa.float64()))})
    pq.write_table(blank, good("pyarrow_only_nulls_v2"), data_page_version="2.0", compression="snappy")


def by_others():
    import duckdb, fastparquet, pandas, polars
    table = pq.read_table(good("pyarrow_dictionary_full"))
    con = duckdb.connect()
    con.register("t", table)
    con.register("n", nested())
    con.execute("copy (select * from t) to '%s' (format parquet, compression zstd, parquet_version v2, row_group_size 2048)" % good("duckdb_v2"))
    con.execute("copy (select i %% 7 as i, s, d from t) to '%s' (format parquet)" % good("duckdb_bloom"))
    con.execute("copy (select list, map, struct from n) to '%s' (format parquet, compression lz4_raw)" % good("duckdb_nested"))
    polars.from_arrow(table).write_parquet(good("polars_zstd"), compression="zstd", statistics=True)
    polars.from_arrow(nested().select(["list", "lists", "struct"])).write_parquet(good("polars_nested"), compression="snappy")
    frame = pandas.DataFrame({"i": range(N), "d": [i / 3 for i in range(N)], "s": ["t%d" % (i % 5) for i in range(N)],
                              "t": pandas.date_range("1969-12-31", periods=N, freq="7h"), "c": pandas.Categorical(["x", "y"] * (N // 2))})
    fastparquet.write(good("fastparquet_gzip"), frame, compression="GZIP")
    fastparquet.write(good("fastparquet_int96"), frame, times="int96", compression="SNAPPY", row_group_offsets=15)


# ------------------------------------------------------------------------------------- files that no library of today writes

class Thrift:
    """the compact protocol, written; a struct is {field id: (kind, value)}"""

    @staticmethod
    def varint(n):
        out = bytearray()
        while n > 127:
            out.append(n & 127 | 128)
            n >>= 7
        return bytes([*out, n])

    @classmethod
    def value(cls, kind, v):
        if kind == "i32" or kind == "i64":
            return cls.varint(((v << 1) ^ (v >> 63)) & (2**64 - 1))
        if kind == "text":
            v = v.encode() if isinstance(v, str) else v
            return cls.varint(len(v)) + v
        if kind == "list":
            of, items = v
            head = bytes([len(items) << 4 | cls.CODES[of]]) if len(items) < 15 else bytes([0xf0 | cls.CODES[of]]) + cls.varint(len(items))
            return head + b"".join(cls.value(of, i) for i in items)
        out, last = b"", 0
        for number in sorted(v):
            k, x = v[number]
            code = (1 if x else 2) if k == "bool" else cls.CODES[k]
            near = number - last < 16
            out += (bytes([(number - last) << 4 | code]) if near else bytes([code]) + cls.value("i32", number)) + (b"" if k == "bool" else cls.value(k, x))
            last = number
        return out + b"\0"

    CODES = {"i32": 5, "i64": 6, "text": 8, "list": 9, "struct": 12}


REQ, OPT, REP = 0, 1, 2
BOOL, INT32, INT64, INT96, FLOAT, DOUBLE, BYTES, FIXED = range(8)


def group(name, rep, children, converted=None, **more):
    return dict(name=name, rep=rep, children=children, converted=converted, **more)


def leaf(name, rep, kind, converted=None, **more):
    return dict(name=name, rep=rep, kind=kind, converted=converted, **more)


def element(e):
    out = {3: ("i32", e["rep"]), 4: ("text", e["name"])}
    for key, number in (("kind", 1), ("length", 2), ("children", 5), ("converted", 6), ("scale", 7), ("precision", 8), ("id", 9)):
        if e.get(key) is not None:
            out[number] = ("i32", e[key])
    if "logical" in e:
        out[10] = ("struct", {e["logical"]: ("struct", e.get("of", {}))})
    return out


def levels(values, bits):
    """one bit-packed run, with its length in front"""
    if not bits:
        return b""
    n = (len(values) + 7) // 8
    packed = sum(v << (i * bits) for i, v in enumerate(values)).to_bytes(n * bits, "little")
    body = Thrift.varint(n << 1 | 1) + packed
    return struct.pack("<I", len(body)) + body


def texts(*values):
    return b"".join(struct.pack("<I", len(v)) + v for v in (x.encode() if isinstance(x, str) else x for x in values))


def longs(*values):
    return struct.pack("<%dq" % len(values), *values)


def build(path, elements, rows_count, columns, created="nobody", codec=0, pack=lambda body: body, tweak=None):
    """columns: (rep levels, their bits, def levels, their bits, values as PLAIN bytes[, encoding]); one V1 page each"""
    out, chunks = b"PAR1", []
    leaves, path_of = [e for e in elements[1:] if "kind" in e], {}
    for e, (rep, rep_bits, define, def_bits, data, *encoding) in zip(leaves, columns):
        body = levels(rep, rep_bits) + levels(define, def_bits) + data
        count = len(define) or len(rep) or rows_count
        packed = pack(body)
        header = {1: ("i32", 0), 2: ("i32", len(body)), 3: ("i32", len(packed)), 4: ("i32", zlib.crc32(packed) - (zlib.crc32(packed) >> 31 << 32)),
                  5: ("struct", {1: ("i32", count), 2: ("i32", encoding[0] if encoding else 0), 3: ("i32", 3), 4: ("i32", 3)})}
        if tweak:
            header, packed = tweak(header, packed)
        at = len(out)
        out += Thrift.value("struct", header) + packed
        size = len(out) - at
        chunks.append({2: ("i64", at), 3: ("struct", {
            1: ("i32", e["kind"]), 2: ("list", ("i32", [0, 3])), 3: ("list", ("text", [e["name"]])), 4: ("i32", codec), 5: ("i64", count),
            6: ("i64", size), 7: ("i64", size), 9: ("i64", at)})})
    groups = [{1: ("list", ("struct", chunks)), 2: ("i64", len(out)), 3: ("i64", rows_count)}]
    footer = Thrift.value("struct", {1: ("i32", 1), 2: ("list", ("struct", [element(e) for e in elements])), 3: ("i64", rows_count),
                                     4: ("list", ("struct", groups)), 6: ("text", created)})
    with open(path, "wb") as f:
        f.write(out + footer + struct.pack("<I", len(footer)) + b"PAR1")


MAP, MAP_KEY_VALUE, LIST, UTF8 = 1, 2, 3, 0
ROOT = group("m", REQ, 1)


def legacy_shapes():
    int_list = ([0, 1, 0, 0], 1)
    build(good("legacy_list_two_levels"), [ROOT, group("a", OPT, 1, LIST), leaf("array", REP, INT64)], 3,
          [(*int_list, [2, 2, 1, 0], 2, longs(1, 2))])
    build(good("legacy_list_of_tuples"), [ROOT, group("a", OPT, 1, LIST), group("a_tuple", REP, 2), leaf("x", OPT, INT64), leaf("y", REQ, BYTES, UTF8)], 3,
          [(*int_list, [3, 2, 1, 0], 2, longs(7)), (*int_list, [2, 2, 1, 0], 2, texts("p", "q"))])
    build(good("legacy_list_bag"), [ROOT, group("a", OPT, 1, LIST), group("bag", REP, 1), leaf("array_element", OPT, INT64)], 3,
          [(*int_list, [3, 2, 1, 0], 2, longs(5))])
    build(good("legacy_repeated"), [group("m", REQ, 2), leaf("a", REP, INT64), leaf("b", REQ, INT64)], 3,
          [([0, 1, 0, 0], 1, [1, 1, 0, 1], 1, longs(1, 2, 3)), ([], 0, [], 0, longs(7, 8, 9))])
    build(good("legacy_map_key_value"), [ROOT, group("a", OPT, 1, MAP_KEY_VALUE), group("map", REP, 2), leaf("key", REQ, BYTES, UTF8), leaf("value", OPT, INT64)],
          3, [(*int_list, [2, 2, 1, 0], 2, texts("k", "l")), (*int_list, [3, 2, 1, 0], 2, longs(4))])


def legacy_kinds():
    one = lambda *values: ([], 0, [], 0, b"".join(values))
    unsigned = [leaf("u8", REQ, INT32, 11), leaf("u32", REQ, INT32, 13), leaf("u64", REQ, INT64, 14), leaf("enum", REQ, BYTES, 4), leaf("json", REQ, BYTES, 19),
                leaf("bson", REQ, BYTES, 20), leaf("date", REQ, INT32, 6), leaf("tms", REQ, INT32, 7), leaf("tus", REQ, INT64, 8), leaf("sms", REQ, INT64, 9),
                leaf("sus", REQ, INT64, 10), leaf("dec", REQ, BYTES, 5, scale=2, precision=5), leaf("dec4", REQ, FIXED, 5, length=3, scale=1, precision=4)]
    build(good("legacy_converted_types"), [group("m", REQ, len(unsigned)), *unsigned], 2, [
        one(struct.pack("<2I", 255, 0)), one(struct.pack("<2I", 2**32 - 1, 0)), one(struct.pack("<2Q", 2**64 - 1, 0)), one(texts("A", "B")),
        one(texts("{}", "1")), one(texts(b"\5\0\0\0\0", b"")), one(struct.pack("<2i", -1, 2932896)), one(struct.pack("<2i", 0, 86399999)),
        one(longs(0, 86399999999)), one(longs(-1, 1)), one(longs(-1, 1)), one(texts(b"\x80\0", b"\1")), one(b"\xff\xff\xff" + b"\0\1\0")])
    build(good("int96_extremes"), [ROOT, leaf("t", OPT, INT96)], 4,
          [([], 0, [1, 0, 1, 1], 1, struct.pack("<qiqiqi", 0, 2440588, 86399999999999, 2440587, 1, 1721426))])
    build(good("boolean_rle"), [ROOT, leaf("b", REQ, BOOL)], 8, [([], 0, [], 0, levels([1, 0, 1, 1, 0, 0, 1, 0], 1), 3)])
    build(good("text_not_utf8"), [ROOT, leaf("a", REQ, BYTES, UTF8)], 1, [one(texts(b"\xff"))])
    old = [group("m", REQ, 2), leaf("a", REQ, INT64), leaf("z", OPT, FIXED, 21, length=12)]  # an interval has no type here: left out
    build(good("interval_beside"), old, 2, [one(longs(1, 2)), ([], 0, [1, 0], 1, bytes(12))])
    variant = [group("m", REQ, 2), leaf("id", REQ, INT32, id=1), group("var", OPT, 2, None, id=2, logical=16), leaf("metadata", REQ, BYTES), leaf("value", REQ, BYTES)]
    build(good("variant_ids_outside_only"), variant, 2,
          [one(struct.pack("<2i", 1, 2)), ([], 0, [1, 0], 1, texts(b"\1\0\0")), ([], 0, [1, 0], 1, texts(b"\x0c\x22"))])


def lz4_literals(body):
    """an LZ4 block without a match: one sequence"""
    rest = len(body) - 15
    return bytes([0xf0]) + b"\xff" * (rest // 255) + bytes([rest % 255]) + body if rest >= 0 else bytes([len(body) << 4]) + body


def codecs():
    schema, column = [ROOT, leaf("a", REQ, INT64)], [([], 0, [], 0, longs(*[i % 3 for i in range(60)]))]

    def frames(body):
        out = b""
        for part in (body[:200], body[200:]):
            block = lz4_literals(part)
            out += struct.pack(">II", len(part), len(block)) + block
        return out
    build(good("lz4_hadoop_frames"), schema, 60, column, codec=5, pack=frames)
    build(good("lz4_bare_block"), schema, 60, column, codec=5, pack=lz4_literals)

    def members(body):
        import gzip
        return gzip.compress(body[:100], mtime=0) + gzip.compress(body[100:], mtime=0)
    build(good("gzip_two_members"), schema, 60, column, codec=2, pack=members)


def bad():
    os.makedirs(BAD, exist_ok=True)
    path = lambda name: os.path.join(BAD, name + ".parquet")
    schema, column = [ROOT, leaf("a", REQ, INT64)], [([], 0, [], 0, longs(1, 2, 3))]
    crc = lambda header, body: ({**header, 4: ("i32", 17)}, body)
    build(path("checksum"), schema, 3, column, tweak=crc)
    build(path("fewer_values"), schema, 3, [([], 0, [], 0, longs(1, 2))])
    build(path("page_past_the_chunk"), schema, 3, column, tweak=lambda h, b: ({**h, 3: ("i32", 1 << 20)}, b))
    build(path("negative_size"), schema, 3, column, tweak=lambda h, b: ({**h, 2: ("i32", -1)}, b))
    build(path("page_of_2_gib"), schema, 3, column, tweak=lambda h, b: ({**h, 2: ("i32", 2**31 - 1)}, b), codec=1)
    build(path("unknown_codec"), schema, 3, column, codec=9)
    build(path("unknown_encoding"), schema, 3, [(*column[0], 33)])
    build(path("dictionary_without_page"), schema, 3, [([], 0, [], 0, b"\2\x03\x00", 8)])
    build(path("begins_inside_a_row"), [ROOT, leaf("a", REP, INT64)], 2, [([1, 0], 1, [1, 1], 1, longs(1, 2))])
    build(path("level_above_the_most"), [ROOT, group("a", OPT, 1, LIST), leaf("array", REP, INT64)], 1, [([0], 1, [3], 2, longs(1))])
    build(path("children_missing"), [ROOT, group("a", OPT, 3), leaf("x", REQ, INT64)], 1, [([], 0, [1], 1, longs(1))])
    build(path("lz4_neither"), schema, 3, column, codec=5, pack=lambda body: b"\0\0\0\x18\0\0\0\x05hello")
    with open(good("pyarrow_nested"), "rb") as f:
        data = f.read()
    for name, bytes_ in (("cut_in_the_footer", data[:-9]), ("only_magic", b"PAR1PAR1"), ("empty", b""), ("footer_longer_than_the_file", b"PAR1" + b"\xff" * 4 + b"PAR1")):
        with open(path(name), "wb") as f:
            f.write(bytes_)
    encrypted(path)


def encrypted(path):
    import base64
    import pyarrow.parquet.encryption as pe

    class Kms(pe.KmsClient):  # keeps keys in the open: the files only have to look encrypted
        def __init__(self, config):
            pe.KmsClient.__init__(self)

        def wrap_key(self, key_bytes, master_key_identifier):
            return base64.b64encode(key_bytes)

        def unwrap_key(self, wrapped_key, master_key_identifier):
            return base64.b64decode(wrapped_key)
    factory = pe.CryptoFactory(Kms)
    for name, plain in (("encrypted_footer", False), ("encrypted_column", True)):
        config = pe.EncryptionConfiguration(footer_key="f", column_keys={"c": ["a"]}, plaintext_footer=plain)
        properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), config)
        with pq.ParquetWriter(path(name), pa.schema([("a", pa.int64())]), encryption_properties=properties) as writer:
            writer.write_table(pa.table({"a": pa.array([1, 2], pa.int64())}))


def expectations():
    for name in sorted(os.listdir(GOOD)):
        if name.endswith(".parquet"):
            path = os.path.join(GOOD, name)
            if name == "duckdb_v2.parquet":  # pyarrow 25 cannot read its DELTA_BINARY_PACKED
                table = pq.read_table(good("pyarrow_dictionary_full"))
            else:
                table = pq.ParquetFile(path, page_checksum_verification=True, coerce_int96_timestamp_unit="us").read()
            table = table.select([n for n in table.column_names if n != "z"])
            with open(path.replace(".parquet", ".jsonl"), "w", encoding="utf-8") as f:
                for r in rows.rows_of(table):
                    f.write(json.dumps(r, separators=(",", ":")) + "\n")


def main():
    os.makedirs(GOOD, exist_ok=True)
    by_pyarrow()
    by_others()
    legacy_shapes()
    legacy_kinds()
    codecs()
    bad()
    expectations()


if __name__ == "__main__":
    main()
