#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""frazil demo, from outside: all rows committed, a table a run, a signal that commits, folders that are not its own.

usage: demo.py FRAZIL
"""
import json, os, signal, subprocess, sys, tempfile, time

FRAZIL = os.path.abspath(sys.argv[1])
passed = failed = 0


def check(what, good, detail=""):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    print("%s %s%s" % ("ok  " if good else "FAIL", what, "" if good else ": %s" % (detail,)), flush=True)


def frazil(*args):
    return subprocess.run([FRAZIL, *args], stdin=subprocess.DEVNULL, text=True, capture_output=True, timeout=120)


def rows_of(table):
    return sum(1 for _ in frazil("cat", "-o", "json", table).stdout.splitlines())


with tempfile.TemporaryDirectory() as top:
    place = os.path.join(top, "it's a demo")
    p = frazil("demo", "--once", "--rows", "3000", "--dir", place, "-o", "json")
    report = json.loads(p.stdout or "{}")
    check("exit code", p.returncode == 0, p.stderr)
    check("nothing on standard error", p.stderr == "", p.stderr)
    check("rows of the summary", report.get("rows") == 3000, p.stdout)
    check("files and seconds", report.get("files", 0) > 0 and report.get("seconds", 0) > 0, p.stdout)
    check("rows of the table", rows_of(report.get("location", "-")) == 3000)

    two = [subprocess.Popen([FRAZIL, "demo", "--once", "--rows", "500", "--dir", place, "-o", "json"], text=True, stdout=subprocess.PIPE)
           for _ in range(2)]
    tables = sorted(json.loads(p.communicate(timeout=120)[0] or "{}").get("table", "-") for p in two)
    check("two at once: a table each", tables == ["demo.orders_2", "demo.orders_3"], tables)
    check("the first table is as it was", rows_of(report.get("location", "-")) == 3000)

    live = subprocess.Popen([FRAZIL, "demo", "--rows", "100", "--rate", "200/s", "--dir", place], text=True, stdout=subprocess.PIPE)
    told = ""
    while "Ctrl-C" not in told:
        line = live.stdout.readline()
        if not line:
            break
        told += line
    time.sleep(1)
    live.send_signal(signal.SIGINT)
    last = live.communicate(timeout=120)[0].strip().splitlines()[-1:]
    check("says how to query", "iceberg_scan(" in told and "SqlCatalog(" in told and " cat " in told, told)
    check("a signal commits and ends with 0", live.returncode == 0, live.returncode)
    rows = rows_of(os.path.join(place, "warehouse", "demo", "orders_4"))
    check("what was produced is in the table", last and last[0].startswith("%d rows in " % rows) and rows > 100, (last, rows))

    other = os.path.join(top, "other")
    os.mkdir(other)
    open(os.path.join(other, "mine"), "w").close()
    p = frazil("demo", "--once", "--dir", other)
    check("a folder of somebody else is left alone", p.returncode == 2 and os.listdir(other) == ["mine"], p.stderr)
    for bad in (["--rows", "0"], ["--rate", "x"], ["-c", "x.yaml"], ["--topic", "x"], ["word"]):
        p = frazil("demo", "--dir", os.path.join(top, "never"), *bad)
        check("usage: %s" % " ".join(bad), p.returncode == 2 and p.stderr.count("\n") == 1, (p.returncode, p.stderr))
    check("nothing was made of it", not os.path.exists(os.path.join(top, "never")))

print("%d passed, %d failed" % (passed, failed))
sys.exit(1 if failed else 0)
