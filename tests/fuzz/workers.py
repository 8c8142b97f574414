"""A process that answers questions one by one, and another in its place where one of them ends it: by a crash, or too late.

    worker = Worker("ir_judge:run_opt_tool", seconds=10, megabytes=2048)
    worker.ask({"text": ..., "arguments": [...]})     # what run_opt_tool gives for it, or Ended

Questions and answers are JSON. SIGPROF ends the process when a question takes too many seconds of processor time, even
inside of a library: other work on the machine does not count.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDERS = [str(Path(__file__).parent.parent / name) for name in ("fuzz", "programs", "unit")]

IDLE = 5.0
"""How many times as long a question may take by the clock: one that waits for something uses no processor."""


@dataclass(frozen=True)
class Answer:
    """What a question was answered with, and seconds of processor time."""

    value: Any
    seconds: float


@dataclass(frozen=True)
class Ended:
    """The process has ended; the code is negative where a signal did it. `said` is the end of its messages."""

    code: int
    said: str

    @property
    def is_late(self) -> bool:
        """Whether it took too long."""
        return -self.code in (signal.SIGPROF, signal.SIGKILL)

    def __str__(self) -> str:
        return f"ended by {signal.Signals(-self.code).name}" if self.code < 0 else f"exit code {self.code}"


class Worker:
    """Answers questions by a function `module:name` in a process of its own, which is begun again after `most` of them:
    what one leaves in memory is not what is looked for. `megabytes` is how much it may allocate."""

    def __init__(self, job: str, seconds: float, megabytes: int = 0, most: int = 200):
        self.job, self.seconds, self.megabytes, self.most = job, seconds, megabytes, most
        self._folder = tempfile.TemporaryDirectory()
        self._process: subprocess.Popen[str] | None = None
        self._asked = 0

    def ask(self, question: Any) -> Answer | Ended:
        if self._asked == self.most:
            self._end()
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps(question) + "\n")
        process.stdin.flush()
        self._asked += 1
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            ready = selector.select(IDLE * self.seconds + 60)
        line = process.stdout.readline() if ready else ""
        if line:
            return Answer(*json.loads(line))
        if not ready:
            process.kill()
        self._process = None
        with process:
            code = process.wait()
        return Ended(code, Path(self._folder.name, "stderr").read_text(errors="replace")[-2000:])

    def close(self) -> None:
        """End the process."""
        self._end()
        self._folder.cleanup()

    def _end(self) -> None:
        if self._process is not None:
            with self._process as process:
                assert process.stdin is not None
                process.stdin.close()
        self._process = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._asked = 0
            command = [sys.executable, "-W", "ignore", __file__, self.job]
            with open(Path(self._folder.name, "stderr"), "w") as messages:
                self._process = subprocess.Popen(
                    [*command, str(self.seconds), str(self.megabytes)],
                    cwd=self._folder.name,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=messages,
                    text=True,
                    env={**os.environ, "NESTOR_CACHE": "0"},
                )
        return self._process


def work(job: str, seconds: float, megabytes: int) -> None:
    """Answer the questions on the standard input, one line each, in the current folder."""
    sys.path[:0] = FOLDERS
    module, name = job.split(":")
    answer = getattr(importlib.import_module(module), name)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    if megabytes:
        limit_memory(megabytes)
    gc.freeze()
    for line in sys.stdin:
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, seconds)
        value = answer(json.loads(line))
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps([value, time.process_time() - began]), file=answers, flush=True)


def limit_memory(megabytes: int) -> None:
    """So much more than what is used now."""
    pages = int(Path("/proc/self/statm").read_text().split()[5])
    limit = pages * resource.getpagesize() + (megabytes << 20)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    work(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
