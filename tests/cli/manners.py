#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Command line manners: help, version, exit code 2 for usage and configuration, all errors at once, each with its place.

usage: manners.py PROGRAM
"""
import os, subprocess, sys, tempfile

PASSED = FAILED = 0


def check(what, good, detail=""):
    global PASSED, FAILED
    PASSED, FAILED = PASSED + bool(good), FAILED + (not good)
    print("%s %s%s" % ("ok  " if good else "FAIL", what, "" if good else ": %s" % (detail,)))


def run(*args, config=None, env=None):
    """-> (exit code, standard output, standard error)"""
    with tempfile.TemporaryDirectory() as d:
        if config is not None:
            with open(os.path.join(d, "frazil.yaml"), "w", encoding="utf-8") as f:
                f.write(config)
        clean = {k: v for k, v in os.environ.items() if not k.startswith("FRAZIL_")}
        p = subprocess.run([sys.argv[1], *args], cwd=d, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                           env={**clean, **(env or {})})
        return p.returncode, p.stdout, p.stderr


def refused(what, config, *words, env=None):
    """exit code 2 and an error that holds the words, for run as for config"""
    code, out, err = run("run", "--once", "-c", "frazil.yaml", config=config, env=env)
    check("%s: exit code 2" % what, code == 2, (code, err[-300:]))
    check("%s: the error says %s" % (what, " and ".join(words)), all(w in err for w in words), err[-500:])
    check("%s: nothing on standard output" % what, out == "", out[:200])


def main():
    code, out, _ = run("--help")
    check("--help", code == 0 and "run" in out, (code, out[:200]))
    code, out, _ = run("run", "--help")
    check("run --help", code == 0 and "--once" in out, (code, out[:200]))
    code, out, _ = run("--version")
    check("--version", code == 0 and out.startswith("frazil "), (code, out[:200]))
    for args in ([], ["no-such-command"], ["run", "--no-such-option"]):
        code, out, err = run(*args)
        check("usage %s: exit code 2, on standard error" % args, code == 2 and err and not out, (code, out[:100], err[:200]))
    code, _, err = run("run", "--once", "-c", "missing.yaml")
    check("a configuration that is not there: exit code 2, named", code == 2 and "missing.yaml" in err, (code, err[:300]))
    refused("unknown key", "tableflow:\n  topic: t\n  comit_interval: 5s\n", "frazil.yaml:3", "comit_interval", "commit_interval")
    refused("bad value", "tableflow:\n  topic: t\n  commit_interval: soon\n", "frazil.yaml:3", "commit_interval", "soon")
    refused("two errors", "tableflow:\n  topic: t\n  on_eror: skip\n  commit_interval: soon\n", "on_eror", "soon")
    refused("not YAML", "tableflow: [\n", "frazil.yaml")
    refused("a variable that is not set", "tableflow:\n  topic: ${NO_SUCH_VARIABLE}\n", "NO_SUCH_VARIABLE")
    for key, value in (("table_format", "DELTA"), ("write_mode", "upsert"), ("value", "{ format: avro, framing: glue }")):
        code, out, err = run("run", "--once", "-c", "frazil.yaml",
                             config="tableflow:\n  topic: t\n  key: string\n  %s: %s\n" % (key, value))
        check("%s %s is not there yet: the entry failed, said with the place" % (key, value),
              code == 1 and "frazil.yaml:2" in out and "this build has no" in out, (code, out[:200], err[-300:]))
    print("%d passed, %d failed" % (PASSED, FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
