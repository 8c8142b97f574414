"""Runs opt-tool on mutated IR and judges it: success, or diagnostics in opt-tool's form and a non-zero exit code.

python tests/fuzz/ir_judge.py 0 10000      the kinds of faults among these seeds, each with its first text
"""

from __future__ import annotations

import json
import os
import random
import re
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ir_corpus import Piece, pieces, request
from ir_mutations import mutate

SECONDS = 10.0
"""What a text may take, of processor time: other work on the machine does not count."""

MEGABYTES = 2048
"""What it may allocate."""

_WALL = 120.0
"""What waiting may take: a text that waits for something uses no processor."""

_SAID = re.compile(
    r"^(?:(?P<place>[^:\s]+(?::\d+:\d+)?): )?(?P<kind>error|warning|note|remark): .", re.MULTILINE
)


@dataclass(frozen=True)
class Case:
    """A text, and what opt-tool is to do with it."""

    seed: int
    origin: str
    text: str
    arguments: tuple[str, ...]

    def __str__(self) -> str:
        return f"seed {self.seed}, of {self.origin}: opt-tool {' '.join(self.arguments)}\n{self.text}"


@dataclass(frozen=True)
class Answer:
    """What a run said; the code is negative where a signal ended it."""

    code: int
    error: str
    seconds: float


@cache
def corpus() -> list[Piece]:
    return pieces()


def case(seed: int) -> Case:
    """The mutant of a seed."""
    generator = random.Random(f"ir {seed}")
    piece, other = generator.choice(corpus()), generator.choice(corpus())
    text = mutate(piece.text, other.text, generator)
    return Case(seed, piece.name, text, request(generator, piece, corpus()))


def fault(answer: Answer) -> str | None:
    """What is wrong with an answer; None where nothing is."""
    if answer.code < 0:
        name = signal.Signals(-answer.code).name
        return f"more than {SECONDS:g} s" if name in ("SIGPROF", "SIGKILL") else f"ended by {name}"
    if "Traceback" in answer.error:
        return "a traceback"
    if answer.code == 3 or "internal error" in answer.error:
        return "an internal error"
    said = list(_SAID.finditer(answer.error))
    errors = [one for one in said if one["kind"] == "error"]
    if answer.code not in (0, 1, 2):
        return f"exit code {answer.code}"
    if (answer.code == 0) == bool(errors):
        return f"exit code {answer.code} with {len(errors)} errors"
    if answer.code == 1 and not all(one["place"] for one in errors):
        return "an error without a place"
    if "which broke it" in answer.error:
        return "invalid IR after a pass"
    if "roundtrip failed" in answer.error:
        return "IR that does not read back"
    return None


class Worker:
    """A process that answers cases one by one, started again where one has ended it."""

    def __init__(self, folder: str):
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None

    def answer(self, asked: Case) -> Answer:
        process = self._started()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(json.dumps({"text": asked.text, "arguments": asked.arguments}) + "\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            ready = selector.select(_WALL)
        line = process.stdout.readline() if ready else ""
        if line:
            return Answer(**json.loads(line))
        if not ready:
            process.kill()
        self._process = None
        with process:
            code = process.wait()
        return Answer(code, Path(self._folder, "stderr").read_text(errors="replace")[-2000:], SECONDS)

    def close(self) -> None:
        if self._process is not None:
            with self._process as process:
                assert process.stdin is not None
                process.stdin.close()

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("ir_worker.py"))]
            with open(Path(self._folder, "stderr"), "w") as messages:
                self._process = subprocess.Popen(
                    [*command, str(SECONDS), str(MEGABYTES)],
                    cwd=self._folder,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=messages,
                    text=True,
                    env={**os.environ, "NESTOR_CACHE": "0"},
                )
        return self._process


def faults(seeds: Iterable[int]) -> Iterator[tuple[Case, Answer, str]]:
    """The mutants that opt-tool does not take as it should."""
    with tempfile.TemporaryDirectory() as folder:
        worker = Worker(folder)
        for seed in seeds:
            asked = case(seed)
            answer = worker.answer(asked)
            if (wrong := fault(answer)) is not None:
                yield asked, answer, wrong
        worker.close()


def main() -> None:
    first, last = map(int, sys.argv[1:3])
    kinds: dict[str, list[Case]] = defaultdict(list)
    for asked, answer, wrong in faults(range(first, last)):
        lines = [line for line in answer.error.splitlines() if "rror" in line] or [
            "" if wrong.startswith("more") else answer.error[-300:]
        ]
        kind = wrong + ": " + re.sub(r"\S+:\d+:\d+:|'[^']*'|\"[^\"]*\"|\d+", "*", lines[0])[:160]
        if kind not in kinds:
            print(f"==== {kind}\n{asked}\n{answer.error[:1500]}", flush=True)
        kinds[kind].append(asked)
    for kind, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        print(f"{len(found):5} {kind}   {[one.seed for one in found[:8]]}")


if __name__ == "__main__":
    main()
