#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads good/ and bad/ with parquet_dump: rows as in the .jsonl beside, or refused. `golden.py PARQUET_DUMP`; Python alone."""
import glob, json, os, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))


def run(program, path):
    p = subprocess.run([program, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
    return p.returncode, p.stdout.decode(), p.stderr.decode(errors="replace").strip()


def read_wrong(program, path):
    code, out, error = run(program, path)
    if code != 0:
        return error or "ended with %d" % code
    with open(path.replace(".parquet", ".jsonl"), encoding="utf-8") as f:
        wanted = [json.loads(x) for x in f]
    found = [json.loads(x) for x in out.splitlines()[1:]]
    if len(found) != len(wanted):
        return "%d rows, wanted %d" % (len(found), len(wanted))
    return next(("row %d is %s, wanted %s" % (n, a, b) for n, (a, b) in enumerate(zip(found, wanted)) if a != b), None)


def refuse_wrong(program, path):
    code, out, error = run(program, path)
    good = code == 1 and error.split(":")[0] in ("corrupt", "unsupported", "limit")
    return None if good else "exit code %d: %s%s" % (code, error, out[-200:])


def main():
    program, failed, passed = sys.argv[1], 0, 0
    for folder, wrong in (("good", read_wrong), ("bad", refuse_wrong)):
        for path in sorted(glob.glob(os.path.join(HERE, folder, "*.parquet"))):
            what = wrong(program, path)
            passed, failed = passed + (what is None), failed + (what is not None)
            if what:
                print("FAIL %s/%s: %.500s" % (folder, os.path.basename(path), what))
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
