"""Many random programs of one kind, with seeds of one's own: what differs from Python, crashes, or takes too long.

    python tests/fuzz/campaign.py control --first 700000 --count 2000
    python tests/fuzz/campaign.py all --minutes 20 --seed-of "$(git rev-parse HEAD)"
    python tests/fuzz/campaign.py containers --first 61 --count 1          # one program again

Programs run in a process of their own; one that takes more than `--limit` seconds of the processor is too slow. The exit
status is 1 where something was found. Each line that begins with a kind and a seed names a program to run again; at the end
stands how many programs were refused, and why.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from workers import FOLDERS, Ended, Worker

sys.path[:0] = FOLDERS

from outcomes import Verdict  # noqa: E402


def _of(module: str, seed: int, folder: Path) -> Verdict:
    """Of a module whose `judge` gives the verdict."""
    return import_module(module).judge(seed, folder)


def _numpy(seed: int, folder: Path) -> Verdict:
    from judging import forget, judge
    from writing import write

    program = write(random.Random(seed))
    verdict = judge(program, folder, target="interp" if seed % 10 == 9 else "cpu", look_at_nests=False)
    forget(folder)
    if verdict.wrong is not None:
        return Verdict("wrong", f"{verdict.wrong}\n{program.script()}")
    return Verdict("right") if verdict.refused is None else Verdict("refused", verdict.refused)


def _outside(seed: int, folder: Path) -> Verdict:
    wrong = import_module("test_random_outside_state").judge(seed, folder)
    return Verdict("wrong", wrong) if wrong else Verdict("right")


def _shared(seed: int, folder: Path) -> Verdict:
    wrong, ends = import_module("shared_gradients").judge(seed, folder)
    if wrong:
        return Verdict("wrong", "\n".join(wrong))
    return Verdict("right") if ends["right"] else Verdict("refused", next(iter(ends)))


def _smooth(target: str, seed: int, folder: Path) -> Verdict:
    return import_module("smooth_judge").judge(seed, target)


def _chains(seed: int, folder: Path) -> Verdict:
    return import_module("chain_programs").judge(seed)


KINDS: dict[str, Callable[[int, Path], Verdict]] = {
    "control": partial(_of, "test_random_control"),
    "containers": partial(_of, "test_random_containers"),
    "rows": partial(_of, "row_programs"),
    "numpy": _numpy,
    "outside": _outside,
    "shared-gradients": _shared,
    "smooth": partial(_smooth, "cpu"),
    "smooth-interp": partial(_smooth, "interp"),
    "smooth-cuda-sim": partial(_smooth, "cuda-sim"),
    "chains-cuda-sim": _chains,
}

SECONDS = 60.0
"""What a program may take, of processor time."""


def seed_of(text: str) -> int:
    """The first seed that a commit draws."""
    return int(text[:8], 16) * 1000


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """The verdict of a program, in the process that runs it."""
    try:
        return vars(KINDS[question["kind"]](question["seed"], Path.cwd()))
    except BaseException:
        return vars(Verdict("crash", traceback.format_exc(limit=-6)))


REASONS = 12
"""So many reasons of refusals are printed, the most common first."""


def judged(kind: str, seeds: Iterable[int], limit: float = SECONDS) -> Iterator[tuple[int, Verdict]]:
    """The verdicts of programs, from a process that is begun again where one ends it or takes too long."""
    worker = Worker("campaign:answer", limit)
    try:
        for seed in seeds:
            got = worker.ask({"kind": kind, "seed": seed})
            if not isinstance(got, Ended):
                yield seed, Verdict(**got.value)
            elif got.is_late:
                yield seed, Verdict("slow", f"more than {limit:g} s")
            else:
                yield seed, Verdict("crash", f"the process was {got}: {got.said}")
    finally:
        worker.close()


def campaign(kind: str, first: int, count: int, limit: float, until: float) -> bool:
    """Judge seeds from `first` on, `count` of them or until a time; print what was found. Whether anything was."""
    ends, refusals = Counter[str](), Counter[str]()
    for seed, verdict in judged(kind, range(first, first + count), limit):
        ends[verdict.end] += 1
        if verdict.end == "refused":
            refusals[verdict.what] += 1
        if verdict.is_wrong:
            print(f"{kind} {seed} {verdict.end}\n{verdict.what}\n", flush=True)
        if time.monotonic() > until:
            break
    for why, number in refusals.most_common(REASONS):
        print(f"{number:5} {why}")
    if len(refusals) > REASONS:
        print(f"      and {len(refusals) - REASONS} other reasons")
    said = ", ".join(f"{number} {end}" for end, number in sorted(ends.items()))
    print(f"{kind} from {first}: {ends.total()} programs: {said}", flush=True)
    return any(end not in Verdict.FINE for end in ends)


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
        "--limit", type=float, default=SECONDS, help="seconds of the processor that one program may take"
    )
    given = parser.parse_args(arguments)
    if given.count == 10**9 and given.minutes == 1e6:
        parser.error("give --count or --minutes: how many programs, or how long")
    first = given.first if given.seed_of is None else seed_of(given.seed_of)
    kinds = list(KINDS) if given.kind == "all" else [given.kind]
    found, end = False, time.monotonic() + 60 * given.minutes
    for k, kind in enumerate(kinds):
        now = time.monotonic()
        found |= campaign(kind, first, given.count, given.limit, now + (end - now) / (len(kinds) - k))
    return int(found)


if __name__ == "__main__":
    sys.exit(main())
