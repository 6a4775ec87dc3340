# SPDX-License-Identifier: Apache-2.0
"""Whole processes, counted by the kernel and by valgrind."""
import os, re, statistics, subprocess, tempfile, time

import hpeak


def usage(argv, directory, env=None):
    """-> dict of seconds, cpu_seconds (user + system, children included) and peak_rss_mb of a process that has to succeed"""
    began = time.monotonic()
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        code, cpu, peak = hpeak.measured(argv, directory, said, subprocess.STDOUT, env)
        said.seek(0)
        text = said.read()
    if code:
        raise RuntimeError("%s: exit code %d\n%s" % (argv[0], code, text[-2000:]))
    return {"seconds": time.monotonic() - began, "cpu_seconds": cpu, "peak_rss_mb": peak, "said": text}


def size_of(directory):
    """bytes of the files below"""
    return sum(os.path.getsize(os.path.join(d, f)) for d, _, files in os.walk(directory) for f in files)


def medians(runs):
    """the median of each number of dicts that are alike"""
    return {k: statistics.median(r[k] for r in runs) for k, v in runs[0].items() if not isinstance(v, str)}


def counts(argv, fresh):
    """-> (instructions, allocations) of the whole process, libraries included; `fresh` makes an empty folder for each of the two runs"""
    with tempfile.TemporaryDirectory() as folder:
        text = usage(["valgrind", "--tool=callgrind", "--callgrind-out-file=%s/out" % folder, *argv], fresh())["said"]
    instructions = int(re.search(r"Collected : (\d+)", text).group(1))
    text = usage(["valgrind", "--tool=memcheck", "--leak-check=no", "--undef-value-errors=no", *argv], fresh())["said"]
    return instructions, int(re.search(r"total heap usage: ([\d,]+) allocs", text).group(1).replace(",", ""))
