"""Many random programs of one kind, with seeds of one's own: what differs from Python, crashes, or takes too long.

    python tests/fuzz/campaign.py control --first 700000 --count 2000
    python tests/fuzz/campaign.py all --minutes 20 --seed-of "$(git rev-parse HEAD)"
    python tests/fuzz/campaign.py containers --first 61 --count 1          # one program again

Programs run in a process of their own; one that takes more than `--limit` seconds of the processor is too slow, and the
process is ended and begun again where it takes five times as long by the clock. The exit status is 1 where something was
found. Each line that begins with a kind and a seed names a program to run again.
"""

from __future__ import annotations

import argparse
import importlib
import multiprocessing
import multiprocessing.connection
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

TESTS = Path(__file__).parent.parent
sys.path[:0] = [str(TESTS / "fuzz"), str(TESTS / "programs"), str(TESTS / "unit")]

Verdict = tuple[str, str]
"""`right`, `refused` or `wrong`, and what differs."""


def _counted(module: str) -> Callable[[int, Path], Verdict]:
    """Of a test whose `judge` gives what differs, and -1 where the program is refused."""

    def judge(seed: int, folder: Path) -> Verdict:
        wrong, count = importlib.import_module(module).judge(seed, folder)
        return ("wrong", wrong) if wrong else ("refused" if count < 0 else "right", "")

    return judge


def _numpy(seed: int, folder: Path) -> Verdict:
    from judging import forget, judge
    from writing import write

    program = write(random.Random(seed))
    verdict = judge(program, folder, target="interp" if seed % 10 == 9 else "cpu", look_at_nests=False)
    forget(folder)
    if verdict.wrong is not None:
        return "wrong", f"{verdict.wrong}\n{program.script()}"
    return ("right" if verdict.refused is None else "refused"), ""


def _outside(seed: int, folder: Path) -> Verdict:
    from test_random_outside_state import judge

    wrong = judge(seed, folder)
    return ("wrong", wrong) if wrong else ("right", "")


def _shared(seed: int, folder: Path) -> Verdict:
    from shared_gradients import judge

    wrong, ends = judge(seed, folder)
    if wrong:
        return "wrong", "\n".join(wrong)
    return ("right" if ends["right"] else "refused"), ""


KINDS: dict[str, Callable[[int, Path], Verdict]] = {
    "control": _counted("test_random_control"),
    "containers": _counted("test_random_containers"),
    "numpy": _numpy,
    "outside": _outside,
    "shared-gradients": _shared,
}


def seed_of(text: str) -> int:
    """The first seed that a commit draws."""
    return int(text[:8], 16) * 1000


def _work(kind: str, connection: Any) -> None:
    """Judge the seeds that come, until none does."""
    with tempfile.TemporaryDirectory() as folder:
        while (seed := connection.recv()) is not None:
            began = time.process_time()
            try:
                verdict = KINDS[kind](seed, Path(folder))
            except BaseException:
                verdict = ("crash", traceback.format_exc(limit=-6))
            connection.send((*verdict, time.process_time() - began))


class _Worker:
    """A process that judges one seed after the other; begun again where it hangs or dies."""

    PROGRAMS = 200
    """After so many the process is begun again: what a program leaves in memory is not what is looked for here."""

    def __init__(self, kind: str, limit: float):
        self.kind, self.limit = kind, limit
        self.process: Any = None
        self.done = 0

    def judge(self, seed: int) -> Verdict:
        if self.process is None:
            context = multiprocessing.get_context("spawn")
            self.connection, other = context.Pipe()
            self.process = context.Process(target=_work, args=(self.kind, other), daemon=True)
            self.process.start()
            other.close()
            self.done = 0
        self.connection.send(seed)
        if not self.connection.poll(5 * self.limit):
            self.end()
            return "slow", f"more than {5 * self.limit:.0f} s by the clock"
        try:
            end, what, seconds = self.connection.recv()
        except EOFError:
            self.process.join()
            code = self.process.exitcode
            self.end()
            return "crash", f"the process ended with {code}"
        self.done += 1
        if self.done == self.PROGRAMS:
            self.end()
        return (
            ("slow", f"{seconds:.0f} s")
            if end in ("right", "refused") and seconds > self.limit
            else (end, what)
        )

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
        self.process = None


def campaign(kind: str, first: int, count: int, limit: float, until: float) -> Counter[str]:
    """Judge seeds from `first` on, `count` of them or until a time; print what was found."""
    worker, ends = _Worker(kind, limit), Counter[str]()
    for seed in range(first, first + count):
        if time.monotonic() > until:
            break
        end, what = worker.judge(seed)
        ends[end] += 1
        if what:
            print(f"{kind} {seed} {end}\n{what}\n", flush=True)
    worker.end()
    said = ", ".join(f"{number} {end}" for end, number in sorted(ends.items()))
    print(f"{kind} from {first}: {ends.total()} programs: {said}", flush=True)
    return ends


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("kind", choices=[*KINDS, "all"])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--seed-of", metavar="COMMIT", help="take the first seed from the name of a commit")
    parser.add_argument("--count", type=int, default=10**9, help="how many programs, of each kind")
    parser.add_argument("--minutes", type=float, default=1e6, help="how long, all kinds together")
    parser.add_argument(
        "--limit", type=float, default=60.0, help="seconds of the processor that one program may take"
    )
    given = parser.parse_args(arguments)
    if given.count == 10**9 and given.minutes == 1e6:
        parser.error("give --count or --minutes: how many programs, or how long")
    first = given.first if given.seed_of is None else seed_of(given.seed_of)
    kinds = list(KINDS) if given.kind == "all" else [given.kind]
    found, end = Counter[str](), time.monotonic() + 60 * given.minutes
    for k, kind in enumerate(kinds):
        now = time.monotonic()
        found += campaign(kind, first, given.count, given.limit, now + (end - now) / (len(kinds) - k))
    return int(any(found[end] for end in ("wrong", "crash", "slow")))


if __name__ == "__main__":
    sys.exit(main())
