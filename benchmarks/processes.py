"""Processes of peers, asked one line at a time."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
from pathlib import Path
from typing import Any

from .peers import environment

ROOT = Path(__file__).resolve().parent.parent


class Process:
    """One peer's process. It is started at the first request, and again after it died or was late."""

    def __init__(self, name: str, threads: int):
        self.name = name
        self.threads = threads
        self._process: subprocess.Popen | None = None

    def send(self, **request: Any) -> None:
        if self._process is None or self._process.poll() is not None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", self.name, str(self.threads)],
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

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
