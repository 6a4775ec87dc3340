# SPDX-License-Identifier: Apache-2.0
"""Avro as the tests see it, by the specification and the type map only: an encoder, a strict reader, the rows that values become.

Values are raw: what stands on the wire, before logical types (an int for a date, bytes for a decimal). A union's value is (branch
index, value), or None where the branch is null. Rows are in the canonical form of tests/cases/README.md, floats as `Real`.
"""
import json, re, struct

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "bytes", "string")
DAY_MS = 86400000


class Bad(Exception):
    """A record that must be rejected; args[0] is the kind. `lax` names what fastavro lets pass."""

    def __init__(self, kind, lax=None):
        super().__init__(kind)
        self.kind, self.lax = kind, lax


class Real:
    """A floating value that is compared by its bits; all NaN are one."""

    def __init__(self, value, wide):
        self.wide, self.bits = wide, self.pack(value, wide)

    @staticmethod
    def pack(value, wide):
        value = float({"Infinity": "inf", "-Infinity": "-inf"}.get(value, value)) if isinstance(value, str) else float(value)
        if value != value:
            return b"nan"
        try:
            return struct.pack("<d" if wide else "<f", value)
        except OverflowError:
            return b"beyond a float"

    def same(self, found):
        if isinstance(found, Real):
            return (self.wide, self.bits) == (found.wide, found.bits)
        return not isinstance(found, bool) and isinstance(found, (int, float, str)) and self.pack(found, self.wide) == self.bits

    def __repr__(self):
        return "Real(%s)" % self.bits.hex() if self.bits != b"nan" else "Real(nan)"


def same(wanted, found):
    """whether `found`, out of JSON, is the row `wanted`"""
    if isinstance(wanted, Real):
        return wanted.same(found)
    if isinstance(wanted, dict):
        return isinstance(found, dict) and wanted.keys() == found.keys() and all(same(v, found[k]) for k, v in wanted.items())
    if isinstance(wanted, list):
        return isinstance(found, list) and len(wanted) == len(found) and all(map(same, wanted, found))
    return type(wanted) is type(found) and wanted == found


# ---------------------------------------------------------------------------------------------------------- schemas

class Names:
    """The named types of one schema, with its own copy in which each use of a name is the type itself."""

    def __init__(self, schema):
        self.types = {}
        self.root = self.resolve(schema, "")

    def resolve(self, s, space):
        if isinstance(s, list):
            return [self.resolve(b, space) for b in s]
        if isinstance(s, str):
            if s in PRIMITIVES:
                return {"type": s}
            full = s if "." in s or not space else space + "." + s
            return self.types[full if full in self.types else s]
        kind = s["type"]
        if isinstance(kind, (dict, list)):
            return self.resolve(kind, space)
        if kind not in ("record", "enum", "fixed", "array", "map"):
            return self.resolve(kind, space) if kind not in PRIMITIVES else dict(s)
        out = dict(s)
        if kind == "array":
            out["items"] = self.resolve(s["items"], space)
        elif kind == "map":
            out["values"] = self.resolve(s["values"], space)
        else:
            full = s["name"] if "." in s["name"] else ".".join(filter(None, [s.get("namespace", space), s["name"]]))
            out["full"], own = full, full.rpartition(".")[0]
            self.types[full] = out
            if kind == "record":
                out["fields"] = [dict(f, type=self.resolve(f["type"], own)) for f in s["fields"]]
        return out


def logical(t):
    """the logical type if it fits its base, else None"""
    name, kind = t.get("logicalType"), t["type"]
    if name == "decimal" and kind in ("bytes", "fixed"):
        p, s = t.get("precision"), t.get("scale", 0)
        if isinstance(p, int) and isinstance(s, int) and p > 0 and 0 <= s <= p and (kind == "bytes" or p <= digits_of(t["size"])):
            return name
        return None
    if name == "map" and kind == "array":
        i = t["items"]
        return name if isinstance(i, dict) and i["type"] == "record" and [f["name"] for f in i["fields"]] == ["key", "value"] else None
    bases = {"uuid": ("string", "fixed"), "date": ("int",), "time-millis": ("int",)}
    long_bases = ("time-micros", "timestamp-millis", "timestamp-micros", "timestamp-nanos", "local-timestamp-millis",
                  "local-timestamp-micros", "local-timestamp-nanos")
    if kind not in bases.get(name, ("long",) if name in long_bases else ()):
        return None
    return None if name == "uuid" and kind == "fixed" and t["size"] != 16 else name


def digits_of(size):
    """decimal digits that a two's complement number of so many bytes always holds"""
    return len(str((1 << (8 * size - 1)) - 1)) - 1 if size else 0


def absent(t):
    """no column comes of it"""
    return isinstance(t, dict) and (t["type"] == "null" or t["type"] == "record" and all(absent(f["type"]) for f in t["fields"]))


def branches(union):
    """(index, type) of the branches that are not null"""
    return [(i, b) for i, b in enumerate(union) if isinstance(b, list) or b["type"] != "null"]


def branch_names(some):
    short = [t["full"].rpartition(".")[2] if "full" in t else t["type"] for t in some]
    return [t["full"] if "full" in t and short.count(n) > 1 else n for t, n in zip(some, short)]


# ---------------------------------------------------------------------------------------------------------- writing

def varint(v, pad=0):
    """zigzag; `pad` adds bytes that say nothing"""
    u, out = ((v << 1) ^ (v >> 63)) & ((1 << 64) - 1), bytearray()
    while u > 127:
        out.append(u & 127 | 128)
        u >>= 7
    out.append(u)
    for _ in range(min(pad, 10 - len(out))):
        out[-1] |= 128
        out.append(0)
    return bytes(out)


def write(t, v, rng=None):
    """raw value -> bytes; with `rng` in odd but legal forms now and then"""
    odd = rng is not None and rng.random() < 0.05
    number = lambda n: varint(n, rng.randint(1, 3) if odd else 0)
    if isinstance(t, list):
        i, inner = v if v is not None else (next(i for i, b in enumerate(t) if b["type"] == "null"), None)
        return number(i) + write(t[i], inner, rng)
    kind = t["type"]
    if kind == "null":
        return b""
    if kind == "boolean":
        return b"\1" if v else b"\0"
    if kind in ("int", "long"):
        return number(v)
    if kind == "enum":
        return number(t["symbols"].index(v))
    if kind in ("float", "double"):
        return v if isinstance(v, bytes) else struct.pack("<f" if kind == "float" else "<d", v)
    if kind in ("bytes", "string"):
        data = v.encode() if isinstance(v, str) else v
        return number(len(data)) + data
    if kind == "fixed":
        return v
    if kind == "record":
        return b"".join(write(f["type"], v[f["name"]], rng) for f in t["fields"])
    if kind == "array":
        items = [write(t["items"], x, rng) for x in v]
    else:
        pairs = v.items() if isinstance(v, dict) else v
        items = [write({"type": "string"}, k, rng) + write(t["values"], x, rng) for k, x in pairs]
    out = b""
    while items:
        n = rng.randint(1, len(items)) if rng is not None and rng.random() < 0.3 else len(items)
        block, items = b"".join(items[:n]), items[n:]
        negative = rng is not None and rng.random() < 0.3
        out += (number(-n) + number(len(block)) if negative else number(n)) + block
    return out + number(0)


# ---------------------------------------------------------------------------------------------------------- reading

class Reader:
    """Reads as the specification says and no more; raises Bad."""

    def __init__(self, data):
        self.data, self.at = data, 0

    def varint(self):
        value, shift = 0, 0
        while True:
            if self.at >= len(self.data):
                raise Bad("truncated")
            byte = self.data[self.at]
            self.at += 1
            if shift == 63 and byte > 1:
                raise Bad("malformed", "a number of more than 64 bits")
            value |= (byte & 127) << shift
            if byte < 128:
                return (value >> 1) ^ -(value & 1)
            shift += 7

    def take(self, size):
        if size > len(self.data) - self.at:
            raise Bad("truncated", "a fixed that is cut")
        self.at += size
        return self.data[self.at - size:self.at]

    def size(self):
        n = self.varint()
        if n < 0:
            raise Bad("malformed", "a negative length")
        return n

    def index(self, count, what):
        i = self.varint()
        if not 0 <= i < count:
            raise Bad("malformed", "a negative index of %s" % what if i < 0 else None)
        return i

    def items(self, least, read):
        out = []
        while True:
            n = self.varint()
            if n == 0:
                return out
            if n < 0:
                if n == -(1 << 63):
                    raise Bad("malformed", "a count of the least number")
                n, size = -n, self.varint()
                if size < 0:
                    raise Bad("malformed", "a negative size of a block")
                if size > len(self.data) - self.at:
                    raise Bad("truncated", "a size of a block that points past the end")
            if least and n > (len(self.data) - self.at) // least:
                raise Bad("too few bytes for the items")   # or whatever an item shows before the bytes end
            for _ in range(n):
                out.append(read())

    def read(self, t):
        if isinstance(t, list):
            i = self.index(len(t), "a union")
            if t[i] == {"type": "null"} or t[i]["type"] == "null":
                return None
            return (i, self.read(t[i]))
        kind = t["type"]
        value = self.raw(t, kind)
        check(t, value)
        return value

    def raw(self, t, kind):
        if kind == "null":
            return None
        if kind == "boolean":
            b = self.take(1)[0]
            if b > 1:
                raise Bad("malformed", "a boolean that is neither 0 nor 1")
            return b == 1
        if kind == "int":
            v = self.varint()
            if not -(1 << 31) <= v < 1 << 31:
                raise Bad("malformed", "an int of more than 32 bits")
            return v
        if kind == "long":
            return self.varint()
        if kind == "float":
            return struct.unpack("<f", self.take(4))[0]
        if kind == "double":
            return struct.unpack("<d", self.take(8))[0]
        if kind == "bytes":
            return self.take(self.size())
        if kind == "string":
            try:
                return self.take(self.size()).decode("utf-8")
            except UnicodeDecodeError:
                raise Bad("invalid_value" if logical(t) == "uuid" else "invalid_utf8")
        if kind == "fixed":
            return self.take(t["size"])
        if kind == "enum":
            return t["symbols"][self.index(len(t["symbols"]), "an enum")]
        if kind == "array":
            return self.items(least(t["items"]), lambda: self.read(t["items"]))
        if kind == "map":
            return self.items(1 + least(t["values"]), lambda: (self.read({"type": "string"}), self.read(t["values"])))
        return {f["name"]: self.read(f["type"]) for f in t["fields"]}


def least(t):
    """bytes that a value has at least"""
    if isinstance(t, list):
        return 1 + min(least(b) for b in t)
    fixed = {"null": 0, "boolean": 1, "float": 4, "double": 8}
    if t["type"] == "record":
        return sum(least(f["type"]) for f in t["fields"])
    return t["size"] if t["type"] == "fixed" else fixed.get(t["type"], 1)


def read(t, data):
    """bytes -> raw value; Bad also for what is left"""
    r = Reader(data)
    value = r.read(t)
    if r.at != len(data):
        raise Bad("trailing_bytes")
    return value


# ------------------------------------------------------------------------------------------------------------- rows

UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\Z")


def check(t, v):
    """what a logical type refuses"""
    kind = logical(t)
    if kind == "decimal":
        data = v
        if not data:
            raise Bad("invalid_value", "a decimal of no bytes")
        if abs(int.from_bytes(data, "big", signed=True)) >= 10 ** t["precision"]:
            raise Bad("out_of_range")
    elif kind == "uuid" and t["type"] == "string" and not UUID.match(v):
        raise Bad("invalid_value")
    elif kind in ("time-millis", "time-micros") and not 0 <= v < DAY_MS * (1 if kind == "time-millis" else 1000):
        raise Bad("out_of_range")
    elif kind in ("timestamp-millis", "local-timestamp-millis") and not -(1 << 63) <= v * 1000 < 1 << 63:
        raise Bad("out_of_range")


def civil(days):
    """days since 1970 -> date text, any year"""
    z = days + 719468
    era, doe = divmod(z, 146097)
    yoe = (doe - doe // 1460 + doe // 36524 - doe // 146096) // 365
    doy = doe - (365 * yoe + yoe // 4 - yoe // 100)
    mp = (5 * doy + 2) // 153
    month = mp + 3 if mp < 10 else mp - 9
    year = yoe + era * 400 + (month <= 2)
    text = "%04d" % year if 0 <= year <= 9999 else "%+05d" % year if year > 0 else "-%04d" % -year
    return "%s-%02d-%02d" % (text, month, doy - (153 * mp + 2) // 5 + 1)


def clock(v, digits):
    seconds, fraction = divmod(v, 10 ** digits)
    return "%02d:%02d:%02d.%0*d" % (seconds // 3600, seconds // 60 % 60, seconds % 60, digits, fraction)


def instant(v, digits):
    days, rest = divmod(v, 86400 * 10 ** digits)
    return civil(days) + "T" + clock(rest, digits)


def decimal_text(n, scale):
    digits = str(abs(n)).rjust(scale + 1, "0")
    return ("-" if n < 0 else "") + (digits[:-scale] + "." + digits[-scale:] if scale else digits)


def cell(t, v):
    """raw value -> canonical"""
    if isinstance(t, list):
        some = branches(t)
        if len(some) == 1:
            return None if v is None else cell(some[0][1], v[1])
        if v is None:
            return None
        names = branch_names([b for _, b in some])
        return {n: cell(b, v[1]) if i == v[0] else None for (i, b), n in zip(some, names)}
    check(t, v)
    kind, log = t["type"], logical(t)
    if log == "decimal":
        return decimal_text(int.from_bytes(v, "big", signed=True), t.get("scale", 0))
    if log == "uuid":
        h = v.hex() if kind == "fixed" else v.lower().replace("-", "")
        return "-".join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))
    if log == "date":
        return civil(v)
    if log in ("time-millis", "time-micros"):
        return clock(v * 1000 if log == "time-millis" else v, 6)
    if log and "timestamp" in log:
        v = v * 1000 if log.endswith("millis") else v
        return instant(v, 9 if log.endswith("nanos") else 6) + ("" if log.startswith("local") else "+00:00")
    if log == "map":
        return pairs(t["items"]["fields"][0]["type"], t["items"]["fields"][1]["type"], [(x["key"], x["value"]) for x in v])
    if kind == "long" or kind == "int":
        return v if abs(v) < 1 << 53 else str(v)
    if kind in ("float", "double"):
        return Real(v, kind == "double")
    if kind in ("bytes", "fixed"):
        return v.hex()
    if kind == "array":
        return [cell(t["items"], x) for x in v]
    if kind == "map":
        return pairs({"type": "string"}, t["values"], v.items() if isinstance(v, dict) else v)
    if kind == "record":
        return {f["name"]: cell(f["type"], v[f["name"]]) for f in t["fields"] if not absent(f["type"])}
    return v


def pairs(key_type, value_type, items):
    last = {}
    for k, v in items:
        last[k] = v
    order = (lambda k: k.encode()) if key_type["type"] == "string" and not logical(key_type) else (lambda k: k)
    return [[cell(key_type, k), cell(value_type, last[k])] for k in sorted(last, key=order)]


def row(t, v):
    """raw value of the root -> row"""
    if isinstance(t, list) and len(t) == 1:
        return row(t[0], v[1] if v else None)
    return cell(t, v) if isinstance(t, dict) and t["type"] == "record" else {"value": cell(t, v)}


# --------------------------------------------------------------------------------- rows as PyIceberg and Arrow see them

def arrow_cell(kind, v):
    """a Python value out of Arrow -> canonical; `kind` is the Arrow type"""
    import pyarrow.types as p
    if v is None:
        return None
    if p.is_struct(kind):
        return {kind.field(i).name: arrow_cell(kind.field(i).type, v[kind.field(i).name]) for i in range(kind.num_fields)}
    if p.is_map(kind):
        order = lambda x: x[0].encode() if isinstance(x[0], str) else x[0]
        return [[arrow_cell(kind.key_type, k), arrow_cell(kind.item_type, x)] for k, x in sorted(v, key=order)]
    if p.is_list(kind) or p.is_large_list(kind):
        return [arrow_cell(kind.value_type, x) for x in v]
    if p.is_integer(kind):
        return v if abs(v) < 1 << 53 else str(v)
    if p.is_floating(kind):
        return Real(v, kind.bit_width == 64)
    if isinstance(v, (bytes, bytearray)):
        return bytes(v).hex()
    if p.is_timestamp(kind):
        digits = 9 if kind.unit == "ns" else 6
        return instant(v, digits) + ("+00:00" if kind.tz else "")
    if p.is_date(kind):
        return civil(v)
    if p.is_time(kind):
        return clock(v, 6)
    return format(v, "f") if p.is_decimal(kind) else str(v) if not isinstance(v, bool) else v


def raw_types(kind):
    """the Arrow type with dates and times as numbers, which Python's own types cannot all hold"""
    import pyarrow as pa
    p = pa.types
    if p.is_timestamp(kind) or p.is_time64(kind):
        return pa.int64()
    if p.is_date32(kind):
        return pa.int32()
    if p.is_struct(kind):
        return pa.struct([kind.field(i).with_type(raw_types(kind.field(i).type)) for i in range(kind.num_fields)])
    if p.is_map(kind):
        return pa.map_(raw_types(kind.key_type), raw_types(kind.item_type))
    if p.is_list(kind) or p.is_large_list(kind):
        return pa.list_(raw_types(kind.value_type))
    if isinstance(kind, pa.UuidType):
        return pa.binary(16)
    return kind


def table_rows(table, metadata="_kafka"):
    """Arrow table of a scan -> {(partition, offset): row}, rows canonical and without the metadata column; a doubled one raises"""
    names = [n for n in table.column_names if n != metadata]
    kinds = [table.schema.field(n).type for n in names]
    columns = []
    for n, kind in zip(names, kinds):
        columns.append([arrow_cell(kind, x) for x in plain(table[n], kind)])
    k = table[metadata].combine_chunks()
    out = {}
    for i, place in enumerate(zip(k.field("partition").to_pylist(), k.field("offset").to_pylist())):
        if place in out:
            raise ValueError("twice in the table: partition %d offset %d" % place)
        out[place] = {n: c[i] for n, c in zip(names, columns)}
    return out


def plain(column, kind):
    raw = raw_types(kind)
    if raw == kind:
        return column.to_pylist()
    import pyarrow as pa
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return [x for c in chunks for x in recast(c, kind).to_pylist()]


def recast(a, kind):
    """view dates and times as numbers, without a conversion that could fail"""
    import pyarrow as pa
    p = pa.types
    if isinstance(a, pa.ExtensionArray):
        return recast(a.storage, kind.storage_type) if not isinstance(kind, pa.UuidType) else uuid_text(a.storage)
    if p.is_timestamp(kind) or p.is_time64(kind):
        return a.view(pa.int64())
    if p.is_date32(kind):
        return a.view(pa.int32())
    mask = a.is_null()
    if p.is_struct(kind):
        fields = [recast(a.field(i), kind.field(i).type) for i in range(kind.num_fields)]
        names = [kind.field(i).name for i in range(kind.num_fields)]
        if any(isinstance(f, Rows) for f in fields):
            rows = zip(mask.to_pylist(), *(f.to_pylist() for f in fields))
            return Rows([None if gone else dict(zip(names, values)) for gone, *values in rows], None)
        return pa.StructArray.from_arrays(fields, names, mask=mask)
    if p.is_map(kind):
        raw = pa.map_(raw_types(kind.key_type), raw_types(kind.item_type))
        rows = []
        keys, items = recast(a.keys, kind.key_type).to_pylist(), recast(a.items, kind.item_type).to_pylist()
        starts, base = a.offsets.to_pylist(), a.offsets.to_pylist()[0] if len(a.offsets) else 0
        for i, gone in enumerate(mask.to_pylist()):
            s = slice(starts[i] - base, starts[i + 1] - base)
            rows.append(None if gone else list(zip(keys[s], items[s])))
        return Rows(rows, raw)
    if p.is_list(kind) or p.is_large_list(kind):
        values = recast(a.values, kind.value_type).to_pylist()
        starts = a.offsets.to_pylist()
        return Rows([None if gone else values[starts[i]:starts[i + 1]] for i, gone in enumerate(mask.to_pylist())], None)
    return a


class Rows:
    """enough of an Arrow array for what is built out of Python lists"""

    def __init__(self, rows, kind):
        self.rows, self.type = rows, kind

    def to_pylist(self):
        return self.rows


def uuid_text(a):
    return Rows([None if v is None else "-".join((v.hex()[:8], v.hex()[8:12], v.hex()[12:16], v.hex()[16:20], v.hex()[20:]))
                 for v in a.to_pylist()], None)


def text(schema):
    return json.dumps(schema, separators=(",", ":"))
