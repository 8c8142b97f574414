"""Runs random programs with gradients in processes of their own, and judges them: Python's values, and central differences.

python tests/fuzz/smooth_judge.py 0 1000 [target]      what is wrong among these seeds, each with its program
"""

from __future__ import annotations

import json
import linecache
import math
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

SECONDS = 60.0
"""What compiling and running a program may take, with its gradient, of processor time: other work does not count."""

_WALL = 5 * SECONDS

MOST_PROGRAMS = 50
"""What a process judges before another takes its place."""

STEP = 1e-6
CLOSE = 2e-5
"""How far a gradient may be from differences, beside their own error."""


@dataclass(frozen=True)
class Answer:
    """`status`: right, refused (`detail` says why), undecided (Python raises, or is not finite), or what is wrong."""

    seed: int
    status: str
    detail: str
    seconds: float


# ---- in the process -------------------------------------------------------------------------------------


def function_of(text: str, name: str) -> Any:
    import numpy as np

    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    values: dict[str, Any] = {"np": np}
    exec(compile(text, name, "exec"), values)
    return values["f"]


def answer(seed: int, target: str) -> Answer:
    """What becomes of the program of a seed."""
    import nestor as nt
    import numpy as np
    from nestor.dialects.diagnostic import LoweringError, NestorError
    from nestor.frontend.interface.errors import UnsupportedError
    from smooth_programs import Writer

    writer = Writer(seed)
    text = writer.text()
    f, start = function_of(text, f"<program {seed}>"), time.process_time()
    compiled, with_gradient = (
        nt.jit(f, target=target),
        nt.jit(nt.value_and_grad(f, argnums=(0, 1)), target=target),
    )

    def said(status: str, detail: str = "") -> Answer:
        return Answer(seed, status, detail, time.process_time() - start)

    for call in range(2):
        random = np.random.default_rng([seed, call])
        a, w, n = random.random((writer.rows, writer.columns)), random.random(writer.length), 1 + 2 * call
        with np.errstate(all="ignore"):
            expected = float(f(a.copy(), w.copy(), n))
        if not math.isfinite(expected) or abs(expected) > 1e6:
            return said("undecided", "not finite")
        try:
            value = compiled(a.copy(), w.copy(), n)
            if not _close(value, expected, 1e-9):
                return said("wrong value", f"{value}, Python's {expected} (call {call})")
            value, gradients = with_gradient(a.copy(), w.copy(), n)
        except (UnsupportedError, LoweringError) as error:
            return said("refused", error.diagnostic.message)
        except NestorError as error:
            return said(f"refused by {type(error).__name__}", str(error))
        except Exception as error:
            return said("another exception", f"{type(error).__name__}: {error}")
        if not _close(value, expected, 1e-9):
            return said("wrong value", f"{value} with the gradient, Python's {expected} (call {call})")
        found = _wrong_gradient(f, (a, w, n), gradients)
        if found is not None:
            return said("wrong gradient", f"{found} (call {call})")
    return said("right")


def _close(value: Any, expected: float, tolerance: float) -> bool:
    return abs(float(value) - expected) <= tolerance * (1 + abs(expected))


def _wrong_gradient(f: Any, given: tuple[Any, ...], gradients: tuple[Any, ...]) -> str | None:
    """The first element of a gradient that differences contradict; not at kinks, where they depend on the side."""
    import numpy as np

    middle = float(f(*_copies(given)))
    for k, gradient in enumerate(gradients):
        for place in np.ndindex(given[k].shape):
            sides = []
            for step in (STEP, -STEP, 8 * STEP, -8 * STEP):
                moved = _copies(given)
                moved[k][place] += step
                sides.append((float(f(*moved)) - middle) / step)
            estimate = (sides[0] + sides[1]) / 2
            room = CLOSE * (1 + abs(estimate)) + 2 * max(abs(s - estimate) for s in sides) * STEP**0.25
            is_smooth = max(sides) - min(sides) <= 1e-3 * (1 + abs(estimate))
            if is_smooth and not abs(float(gradient[place]) - estimate) <= room:
                return f"argument {k}, element {place}: {float(gradient[place])}, differences {estimate}"
    return None


def _copies(given: tuple[Any, ...]) -> list[Any]:
    return [one.copy() if hasattr(one, "copy") else one for one in given]


def work() -> None:
    """Answer the seeds on the standard input, one line each."""
    import warnings

    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    for line in sys.stdin:
        seed, target = line.split()
        print(json.dumps(vars(answer(int(seed), target))), file=answers, flush=True)


# ---- around it ------------------------------------------------------------------------------------------


def judged(seeds: Iterable[int], target: str = "cpu") -> Iterator[Answer]:
    """The answers for seeds, from a process that is started again where a program ends it or takes too long."""
    process: subprocess.Popen[str] | None = None
    for count, seed in enumerate(seeds):
        if process is not None and count % MOST_PROGRAMS == 0:
            _end(process)
            process = None
        if process is None:
            process = _worker()
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write(f"{seed} {target}\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            ready = selector.select(_WALL)
        line = process.stdout.readline() if ready else ""
        if line:
            found = Answer(**json.loads(line))
            is_slow = found.status in FINE and found.seconds > SECONDS
            yield replace(found, status="too slow") if is_slow else found
            continue
        if not ready:
            process.kill()
        code, process = process.wait(), None
        yield Answer(seed, "ended by itself" if ready else "too slow", f"exit code {code}", _WALL)
    if process is not None:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait()


def _worker() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, "worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parent,
        env={**os.environ, "NESTOR_CACHE": "0"},
    )


FINE = ("right", "refused", "undecided")


def main(first: int, last: int, target: str) -> None:
    from collections import Counter

    from smooth_programs import Writer

    counts: Counter[str] = Counter()
    refusals: Counter[str] = Counter()
    for one in judged(range(first, last), target):
        counts[one.status] += 1
        if one.status == "refused":
            refusals[one.detail] += 1
        if one.status not in FINE or one.seconds > SECONDS / 6:
            print(
                f"seed {one.seed}: {one.status}: {one.detail} ({one.seconds:.1f} s)\n{Writer(one.seed).text()}",
                flush=True,
            )
    print(dict(counts))
    for why, count in refusals.most_common():
        print(f"{count:5} {why}")


if __name__ == "__main__":
    work() if sys.argv[1] == "worker" else main(
        int(sys.argv[1]), int(sys.argv[2]), *(sys.argv[3:] or ["cpu"])
    )
