# Containers of another writer (fastavro 1.12): every kind, each codec. Run: python make.py
import os, fastavro
here = os.path.dirname(os.path.abspath(__file__))
schema = {"type": "record", "name": "all", "namespace": "t", "fields": [
    {"name": "n", "type": "null", "field-id": 1},
    {"name": "b", "type": "boolean", "field-id": 2},
    {"name": "i", "type": "int", "field-id": 3},
    {"name": "l", "type": "long", "field-id": 4},
    {"name": "f", "type": "float", "field-id": 5},
    {"name": "d", "type": "double", "field-id": 6},
    {"name": "y", "type": "bytes", "field-id": 7},
    {"name": "s", "type": "string", "field-id": 8},
    {"name": "x", "type": {"type": "fixed", "name": "x4", "size": 4}, "field-id": 9},
    {"name": "e", "type": {"type": "enum", "name": "colour", "symbols": ["RED", "GREEN"]}, "field-id": 10},
    {"name": "a", "type": {"type": "array", "items": "long"}, "field-id": 11},
    {"name": "m", "type": {"type": "map", "values": "string"}, "field-id": 12},
    {"name": "u", "type": ["null", "t.x4"], "field-id": 13},
    {"name": "r", "type": {"type": "record", "name": "inner", "fields": [{"name": "z", "type": "int", "field-id": 15}]}, "field-id": 14},
]}
rows = [{"n": None, "b": i % 2 == 0, "i": -i, "l": i << 40, "f": i / 2, "d": -i / 4, "y": bytes([i % 256]) * 3,
         "s": "row %d" % i, "x": b"abcd", "e": "GREEN" if i % 3 else "RED", "a": list(range(i % 4)),
         "m": {"k": "v%d" % i} if i % 2 else {}, "u": None if i % 2 else b"wxyz", "r": {"z": i}} for i in range(50)]
for codec in ("null", "deflate", "snappy", "zstandard"):
    with open(os.path.join(here, "all_%s.avro" % codec), "wb") as out:
        fastavro.writer(out, schema, rows, codec=codec, sync_interval=800, sync_marker=b"0123456789abcdef")
