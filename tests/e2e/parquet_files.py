#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Parquet of other writers, read as pyarrow reads it, and ours read by pyarrow and DuckDB.

Always: the files of tests/parquet/good and bad, and some seeds of tests/parquet/judge.py. With PARQUET_TESTING naming a clone of
apache/parquet-testing, its files too. PARQUET_DUMP names another build of the tool than build/tests/tools/parquet_dump (one with sanitizers).
"""
import glob, json, os, subprocess, sys

import htables
from harness import BUILD, ROOT, Tally

sys.path.insert(0, os.path.join(ROOT, "tests", "parquet"))
import pyarrow.parquet as pq
import rows

DUMP = os.environ.get("PARQUET_DUMP", os.path.join(BUILD, "tests", "tools", "parquet_dump"))
SEEDS = int(os.environ.get("PARQUET_SEEDS", "40"))

# What a file of apache/parquet-testing does that is not "as pyarrow": the code that ours answers, and why.
REFUSED = {
    "data/large_string_map.brotli.parquet": ("limit", "a page of 1 GiB"),
    "data/datapage_v1-corrupt-checksum.parquet": ("corrupt", "a page without its checksum"),
    "data/rle-dict-uncompressed-corrupt-checksum.parquet": ("corrupt", "a page without its checksum"),
}
# Columns whose values pyarrow gets wrong, and what they are.
VALUES = {"data/int96_from_spark.parquet": [[1704141296123456], [1704070800000000], [253402225200000000], [1735599600000000], [None],
                                            [9089380393200000000]],
          # its key is optional, which pyarrow refuses and Java's reader does not
          "data/incorrect_map_schema.parquet": [[[["x706172656e74", "x616e6f74686572"], ["x6e616d65", "x7265706f7274"]]]]}


def dump(path):
    """-> (columns, rows, None) or (None, None, error)"""
    p = subprocess.run([DUMP, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=600)
    if p.returncode == 1:
        return None, None, p.stderr.decode(errors="replace").strip()
    if p.returncode != 0:
        raise RuntimeError("%s ended with %d: %s" % (path, p.returncode, p.stderr[-2000:].decode(errors="replace")))
    lines = p.stdout.splitlines()
    return json.loads(lines[0]), [json.loads(x) for x in lines[1:]], None


def pyarrow_rows(path, names):
    """the columns of those names, in that order; rows may repeat a name"""
    f = pq.ParquetFile(path, page_checksum_verification=True, coerce_int96_timestamp_unit="us")
    table = f.read(columns=names) if len(set(names)) == len(names) else f.read()
    wanted = [table.column(n) for n in names] if len(set(names)) == len(names) else table.columns
    return [list(r) for r in zip(*[rows.values(c) for c in wanted])] if wanted else []


def difference(found, wanted):
    if len(found) != len(wanted):
        return "%d rows, pyarrow has %d" % (len(found), len(wanted))
    for n, (a, b) in enumerate(zip(found, wanted)):
        if a != b:
            return "row %d is %.300s, wanted %.300s" % (n, a, b)
    return None


def compare(tally, name, path):
    columns, found, error = dump(path)
    if name in REFUSED or name in VALUES:
        if name in REFUSED:
            tally.check("%s: refused (%s)" % (name, REFUSED[name][1]), error is not None and error.startswith(REFUSED[name][0] + ":"), error)
        else:
            tally.equal("%s: as its documentation says" % name, found, VALUES[name])
        return
    try:
        wanted = pyarrow_rows(path, [c[0] for c in columns or []])
    except Exception as e:  # pyarrow's own types, OSError, NotImplementedError
        tally.check("%s: refused, as pyarrow does (%.60s)" % (name, str(e).split("\n")[0]), error is not None, "%s" % columns)
        return
    if error:
        tally.check("%s: read" % name, False, error)
        return
    what = difference(found, wanted)
    tally.check("%s: %d columns, %d rows as pyarrow reads them" % (name, len(columns), len(found)), what is None, what)


def refused(tally, name, path):
    _, _, error = dump(path)
    tally.check("%s: refused" % name, error is not None and error.split(":")[0] in ("corrupt", "unsupported", "limit"), error)


def own(tally):
    folder = os.path.join(ROOT, "tests", "parquet")
    p = subprocess.run([sys.executable, os.path.join(folder, "golden.py"), DUMP], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    tally.check("good and bad files: %s" % p.stdout.strip().splitlines()[-1:], p.returncode == 0, p.stdout[-2000:])
    for part, program in (("read", DUMP), ("write", os.path.join(BUILD, "unit_format_parquet_writer"))):
        p = subprocess.run([htables.python(), os.path.join(folder, "judge.py"), part, program, "0", str(SEEDS)], text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        tally.check("judge.py %s: %s" % (part, p.stdout.strip().splitlines()[-1:]), p.returncode == 0, p.stdout[-2000:])


# Bad only in a way that harms no reader: a dictionary of one entry with indices of no bits.
HARMLESS = ("bad_data/ARROW-GH-43605.parquet",)


def published(tally, folder):
    found = sorted(os.path.relpath(x, folder) for x in glob.glob(os.path.join(folder, "**", "*.parquet"), recursive=True))
    for name in found:
        if name.startswith("bad_data/") and name not in HARMLESS:
            refused(tally, name, os.path.join(folder, name))
        else:
            compare(tally, name, os.path.join(folder, name))
    for path in sorted(glob.glob(os.path.join(folder, "data", "**", "*.parquet.encrypted"), recursive=True)):
        _, _, error = dump(path)
        tally.check("%s: refused as encrypted" % os.path.basename(path), "encrypted" in (error or ""), error)


def main():
    tally = Tally()
    own(tally)
    if "PARQUET_TESTING" in os.environ:
        published(tally, os.environ["PARQUET_TESTING"])
    else:
        print("PARQUET_TESTING is not set: the files of apache/parquet-testing are left out", flush=True)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
