# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays as the rows that the program's tools print: floats, texts and bytes as "x" and hexadecimal digits, times as numbers."""
import struct

import pyarrow as pa

p = pa.types


def ints(array, kind):
    return array.cast(kind).to_pylist()


def times(array, t):
    """micros, or nanos where the file counts those"""
    numbers = array.view(pa.int64() if t.bit_width == 64 else pa.int32()).to_pylist()
    factor = {"s": 1000000, "ms": 1000}.get(t.unit, 1)
    if p.is_time(t) and t.unit == "ns":
        return [None if n is None else n // 1000 for n in numbers]
    return [None if n is None else n * factor for n in numbers]


def values(array):
    """maps as lists of pairs, structs as lists"""
    t = array.type
    if isinstance(array, pa.ChunkedArray):
        return [v for c in array.chunks for v in values(c)]
    if isinstance(t, pa.BaseExtensionType):
        return values(array.storage)
    if p.is_dictionary(t):
        return values(array.dictionary_decode())
    if p.is_null(t):
        return [None] * len(array)
    valid = array.is_valid().to_pylist()
    if p.is_struct(t):
        fields = [values(array.field(i)) for i in range(t.num_fields)]
        return [[f[r] for f in fields] if ok else None for r, ok in enumerate(valid)]
    if p.is_map(t):
        keys, items, at = values(array.keys), values(array.items), array.offsets.to_pylist()
        return [[[keys[i], items[i]] for i in range(at[r], at[r + 1])] if ok else None for r, ok in enumerate(valid)]
    if p.is_list(t) or p.is_large_list(t):
        items, at = values(array.values), array.offsets.to_pylist()
        return [items[at[r]:at[r + 1]] if ok else None for r, ok in enumerate(valid)]
    if p.is_float16(t):
        array, t = array.cast(pa.float32()), pa.float32()
    if p.is_floating(t):
        form, view = ("<I", pa.uint32()) if p.is_float32(t) else ("<Q", pa.uint64())
        return [None if v is None else "x" + struct.pack(form, v).hex() for v in array.view(view).to_pylist()]
    if p.is_decimal(t):
        return [None if v is None else int(v.scaleb(t.scale)) for v in array.to_pylist()]
    if p.is_date32(t):
        return ints(array, pa.int32())
    if p.is_timestamp(t) or p.is_time(t):
        return times(array, t)
    if p.is_duration(t):
        return array.view(pa.int64()).to_pylist()
    if p.is_string(t) or p.is_large_string(t):
        array = array.cast(pa.large_binary())
    if p.is_integer(t) or p.is_boolean(t):
        return array.to_pylist()
    return [None if v is None else "x" + v.hex() for v in array.to_pylist()]


def rows_of(table):
    return [list(r) for r in zip(*[values(c) for c in table.columns])]
