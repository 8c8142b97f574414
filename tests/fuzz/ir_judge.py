"""Runs opt-tool on mutated IR and judges it: success, or diagnostics in opt-tool's form and a non-zero exit code.

python tests/fuzz/ir_judge.py 0 10000      the kinds of faults among these seeds, each with its first text
"""

from __future__ import annotations

import contextlib
import io
import random
import re
import signal
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import workers
from ir_corpus import Piece, pieces, request
from ir_mutations import mutate

SECONDS = 10.0
"""What a text may take, of processor time: other work on the machine does not count."""

MEGABYTES = 2048
"""What it may allocate."""

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
    """Runs opt-tool on cases, one by one."""

    def __init__(self) -> None:
        self._worker = workers.Worker("ir_judge:run_opt_tool", SECONDS, MEGABYTES, most=10**9)

    def answer(self, asked: Case) -> Answer:
        """What opt-tool says to a case."""
        got = self._worker.ask({"text": asked.text, "arguments": asked.arguments})
        if isinstance(got, workers.Ended):
            return Answer(got.code, got.said, SECONDS)
        return Answer(*got.value, got.seconds)

    def close(self) -> None:
        """End the process."""
        self._worker.close()


def run_opt_tool(case: dict[str, Any]) -> tuple[int, str]:
    """The exit code and the messages; 99 with a traceback for what comes out of it as an exception."""
    from nestor.tools.opt_tool.main import main as opt_tool

    Path("input.mlir").write_text(case["text"])
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = opt_tool(["input.mlir", *case["arguments"]])
        except BaseException:
            traceback.print_exc()
            code = 99
    return code, err.getvalue()[:20_000]


def faults(seeds: Iterable[int]) -> Iterator[tuple[Case, Answer, str]]:
    """The mutants that opt-tool does not take as it should."""
    worker = Worker()
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
