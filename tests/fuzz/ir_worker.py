"""The process that runs opt-tool on mutated texts: one JSON line in for each, one out with its exit code and what it said.

It is killed by SIGPROF when a text takes too many seconds of processor time, even inside of a library, and by its memory
limit; who reads the lines starts another then (`ir_judge.py`).
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import signal
import sys
import time
from pathlib import Path


def main(seconds: float, megabytes: int) -> None:
    from nestor.tools.opt_tool.main import main as opt_tool

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    limit_memory(megabytes)
    gc.freeze()
    for line in sys.stdin:
        case = json.loads(line)
        Path("input.mlir").write_text(case["text"])
        out, err, start = io.StringIO(), io.StringIO(), time.process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = run(opt_tool, ["input.mlir", *case["arguments"]])
        signal.setitimer(signal.ITIMER_PROF, 0)
        taken = time.process_time() - start
        print(
            json.dumps({"code": code, "error": err.getvalue()[:20_000], "seconds": taken}),
            file=answers,
            flush=True,
        )


def run(opt_tool, arguments: list[str]) -> int:
    """The exit code; 99 with a traceback for what comes out of it as an exception."""
    try:
        return opt_tool(arguments)
    except BaseException:
        import traceback

        traceback.print_exc()
        return 99


def limit_memory(megabytes: int) -> None:
    """So much more than what is used now."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    limit = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]))
