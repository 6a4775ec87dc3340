# SPDX-License-Identifier: Apache-2.0
"""What a process used: `python -S hpeak.py FILE ARGV...` runs ARGV and writes CPU seconds and peak MiB to FILE as JSON.

A child starts with the peak of its parent, and a script's parent has produced a million records: so a small process comes between.
"""
import json, os, sys


def measured(argv, cwd=None, stdout=None, stderr=None, env=None):
    """-> (exit code, CPU seconds, peak MiB)"""
    import subprocess, tempfile
    with tempfile.NamedTemporaryFile("r") as report:
        code = subprocess.run([sys.executable, "-S", os.path.abspath(__file__), report.name, *argv], cwd=cwd, stdin=subprocess.DEVNULL,
                              stdout=stdout, stderr=stderr, env=env).returncode
        used = json.load(report)
    return code, used["cpu_seconds"], used["peak_mib"]


if __name__ == "__main__":
    pid = os.fork()
    if pid == 0:
        os.execvp(sys.argv[2], sys.argv[2:])
    _, status, used = os.wait4(pid, 0)
    with open(sys.argv[1], "w", encoding="utf-8") as f:
        json.dump({"cpu_seconds": used.ru_utime + used.ru_stime, "peak_mib": used.ru_maxrss / 1024}, f)
    code = os.waitstatus_to_exitcode(status)
    sys.exit(code if code >= 0 else 128 - code)
