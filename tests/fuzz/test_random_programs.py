"""Random NumPy programs, compiled and run by NumPy: none differs, and most are fused and run as machine code.

Hypothesis shrinks a program that differs; what is shown then is a script of its own.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from judging import Program, Verdict, forget, judge
from writing import write


class Statistics:
    """What was drawn, and what became of it."""

    def __init__(self):
        self.programs = self.raised = self.undecided = self.fused = 0
        self.looked_at = self.other_errors = 0
        self.refused: Counter[str] = Counter()

    def add(self, verdict: Verdict, looked: bool) -> None:
        self.programs += 1
        self.raised += verdict.raised
        self.undecided += verdict.undecided
        self.other_errors += verdict.other_error
        self.looked_at += looked
        self.fused += verdict.fused
        if verdict.refused is not None:
            self.refused[verdict.refused] += 1

    def __str__(self) -> str:
        return (
            f"{self.programs} programs: {self.raised} raise, {self.undecided} undecided; of {self.looked_at} looked at "
            f"{self.fused} fuse two operations or more; {self.refused.total()} refused:\n"
            + "\n".join(f"{count:5} {why}" for why, count in self.refused.most_common())
        )


def run(count: int, folder: Path, look_every: int = 1, part: int = 0) -> Statistics:
    """Judge that many programs, others for each part. Raises AssertionError with a script that shows what is wrong."""
    drawn = Statistics()

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),  # pyright: ignore[reportArgumentType]
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
    )
    @given(st.randoms(use_true_random=False))
    def check(rng: random.Random) -> None:
        program = write(rng)
        number = drawn.programs
        verdict = judge(program, folder, look_at_nests=number % look_every == 0)
        wrong = verdict.wrong
        if wrong is None and number % 10 == 9:
            wrong = judge(program, folder, target="interp", look_at_nests=False).wrong
        forget(folder)
        assert wrong is None, f"{wrong}\n\n{program.script()}"
        drawn.add(verdict, number % look_every == 0)

    (seed(part)(check) if part else check)()
    return drawn


def hold(drawn: Statistics, count: int, fused: float = 0.8) -> None:
    """Shares, but one program of a kind is never too many: few are drawn by default."""
    print(drawn)
    assert drawn.programs >= count
    assert drawn.fused >= fused * drawn.looked_at, str(drawn)
    assert drawn.refused.total() <= max(1, 0.1 * drawn.programs), str(drawn)
    assert drawn.other_errors <= max(1, 0.02 * drawn.programs), str(drawn)
    assert drawn.undecided <= max(1, 0.02 * drawn.programs), str(drawn)
    assert drawn.raised <= max(1, 0.1 * drawn.programs), str(drawn)


def test_random_programs_compute_what_numpy_computes(tmp_path: Path):
    """The slow tests draw two thousand."""
    hold(run(24, tmp_path), 24, fused=0.65)  # the share varies with so few


@pytest.mark.slow
@pytest.mark.parametrize("part", range(1, 9))
def test_more_random_programs_compute_what_numpy_computes(part: int, tmp_path: Path):
    """Two thousand in all."""
    hold(run(250, tmp_path, look_every=2, part=part), 250, fused=0.7)


@pytest.mark.filterwarnings("ignore")  # of means of nothing
def test_some_programs_raise():
    """What NumPy raises is compared, too: a few in a thousand of the programs that are drawn."""
    raised = 0
    for k in range(350):
        program = write(random.Random(k))
        names: dict[str, Any] = {"np": np}
        exec(program.setup, names)
        exec(program.source, names)
        try:
            with np.errstate(all="ignore"):
                names["f"](*[names[name] for name in program.names])
        except Exception:
            raised += 1
    assert 3 <= raised <= 35


WRONG = [
    ("return a * b", "return b * a + 1"),
    ("return a.sum()", "return a.sum() * (1 + 1e-9)"),
    ("return np.sin(a)", "return np.sin(a) * (1 + 2e-15)"),
    ("return np.maximum(a, b), a", "return np.maximum(a, b), a + 0"),
    ("return a + b", "return (a + b).T.copy().T"),
    ("return a", "return a.astype(np.float32)"),
    ("return a[0, 0]", "return a[:1, 0]"),
    ("a[0] = 2.0", "a[0] = 3.0"),
    ("return a[0, 0] > 0, 1", "return a[0, 0] > 0, True"),
    ("return -(a - a)", "return a - a"),
    ("raise ValueError", "raise TypeError"),
    ("return a", "raise ValueError"),
]


@pytest.mark.parametrize(("right", "wrong"), WRONG)
def test_differences_are_found(right: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The comparison tells these pairs of programs apart, and none of them from itself."""
    import judging

    setup = "a = np.resize(np.array([1.0, 2.5, -3.0]), (4, 5))\nb = np.resize(np.array([0.5, -1.0]), 5)\n"
    programs = [Program(f"def f(a, b):\n    {body}", setup, ("a", "b")) for body in (right, wrong)]
    other = judging.load(programs[1].source, tmp_path)
    same = judging.load(programs[0].source, tmp_path)
    monkeypatch.setattr(judging.nt, "jit", lambda function, target: other)
    assert judge(programs[0], tmp_path, look_at_nests=False).wrong is not None
    monkeypatch.setattr(judging.nt, "jit", lambda function, target: same)
    if "raise" not in right:  # where the error is not a diagnostic of ours, it counts as a crash
        assert judge(programs[0], tmp_path, look_at_nests=False).wrong is None


def test_a_failure_shows_a_script_that_runs(tmp_path: Path):
    program = write(random.Random(5))
    exec(compile(program.script(), "script", "exec"), {})
    assert program.source in program.script()
