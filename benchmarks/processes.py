"""Processes of peers, asked one line at a time."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .peers import environment

ROOT = Path(__file__).resolve().parent.parent

PAUSE, LONGEST_PAUSE = 0.004, 0.25
"""Seconds of waiting for threads to sleep, at least and at most; onnxruntime's search for work for 70 ms."""


class Process:
    """One peer's process. It is started at the first request, and again after it died or was late."""

    def __init__(self, name: str, threads: int | None):
        self.name = name
        self.threads = threads
        self._process: subprocess.Popen | None = None

    def send(self, **request: Any) -> None:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", self.name, str(self.threads or 1)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                env=os.environ | environment(self.threads),
                bufsize=0,
            )
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(request) + "\n").encode())

    def receive(self, seconds: float = 120) -> dict[str, Any]:
        """The answer; `{"missing": why}` where the process dies or takes longer than `seconds`."""
        assert self._process is not None and self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                self.close()
                return {"missing": f"no answer within {seconds:.0f} s"}
        answer = self._process.stdout.readline()
        if not answer:
            code = self._process.wait()
            self._process = None
            return {"missing": f"its process ended with code {code}"}
        return json.loads(answer)

    def ask(self, seconds: float = 120, **request: Any) -> dict[str, Any]:
        self.send(**request)
        return self.receive(seconds)

    def is_running(self) -> bool:
        """Whether any of its threads has a processor or waits for one; False where the system does not tell."""
        if self._process is None:
            return False
        for status in Path(f"/proc/{self._process.pid}/task").glob("*/stat"):
            try:
                if status.read_text().rpartition(")")[2].split()[0] == "R":
                    return True
            except OSError:  # the thread has ended
                continue
        return False

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def settle(processes: Iterable[Process]) -> None:
    """Wait until no thread of these processes runs: those of a thread pool spin for a while after their work.

    libgomp's do for 5 to 10 ms after a call, onnxruntime's for 70 (read from /proc); whoever is timed meanwhile has
    one processor less.
    """
    began = time.monotonic()
    time.sleep(PAUSE)
    while any(process.is_running() for process in processes) and time.monotonic() - began < LONGEST_PAUSE:
        time.sleep(PAUSE / 4)
