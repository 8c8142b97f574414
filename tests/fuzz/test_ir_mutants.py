"""opt-tool on mutated IR: 10,000 texts through random passes and targets, 200 of them where slow tests are left out.

Each is taken, or refused by diagnostics; none ends in a traceback, an internal error, a crash, invalid IR after a pass, more
than 10 s or 2 GiB. What was found so is in tests/filecheck/dialects/limits-invalid.mlir and its neighbours.
"""

from __future__ import annotations

import pytest
from ir_judge import Answer, Case, Worker, case, fault, faults

BATCH = 500
SAMPLE = 200


def check(seeds: range) -> None:
    found = [f"{wrong}: {asked}\n{answer.error[:2000]}" for asked, answer, wrong in faults(seeds)]
    assert not found, f"{len(found)} of {len(seeds)}:\n\n" + "\n\n".join(found[:3])


def test_some_mutants():
    check(range(SAMPLE))


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 10_000, BATCH))
def test_mutants(first):
    check(range(first, first + BATCH))


def test_a_seed_is_one_mutant():
    assert case(7) == case(7)
    assert len({case(seed).text for seed in range(50)}) > 40


VALID = "func.func @f() {\n  func.return\n}\n"
SAID = "input.mlir:1:1: error: no\nfunc.func\n^\n"

JUDGED = {
    "success": (Answer(0, "", 0.1), None),
    "a refusal": (Answer(1, SAID, 0.1), None),
    "a remark": (Answer(0, SAID.replace("error", "remark"), 0.1), None),
    "a crash": (Answer(-11, "", 0.1), "ended by SIGSEGV"),
    "too long": (Answer(-27, "", 10.0), "more than 10 s"),
    "an internal error": (Answer(3, "error: internal error in pass x", 0.1), "an internal error"),
    "a traceback": (Answer(1, SAID + "Traceback (most recent call last):", 0.1), "a traceback"),
    "nothing said": (Answer(1, "", 0.1), "exit code 1 with 0 errors"),
    "an error and success": (Answer(0, SAID, 0.1), "exit code 0 with 1 errors"),
    "no place": (Answer(1, "error: no\n", 0.1), "an error without a place"),
    "invalid IR": (
        Answer(1, SAID + "note: the IR was valid before pass 'x', which broke it", 0.1),
        "invalid IR after a pass",
    ),
}


@pytest.mark.parametrize(("answer", "wrong"), JUDGED.values(), ids=JUDGED)
def test_the_judge(answer, wrong):
    assert fault(answer) == wrong


def test_a_worker_goes_on_after_a_fault(tmp_path, monkeypatch):
    """A text that takes too long, one that takes too much memory, and a good one, in the same hands."""
    monkeypatch.setattr("ir_judge.SECONDS", 2.0)
    plugin = tmp_path / "plugin.py"
    plugin.write_text(PLUGIN)
    worker = Worker()
    load = f"--load-pass-plugin={plugin}"

    def run(*arguments: str) -> str | None:
        return fault(worker.answer(Case(0, "", VALID, arguments)))

    assert run() is None
    assert run(load, "-p", "endless") == "more than 2 s"
    assert run() is None
    assert run(load, "-p", "greedy") == "an internal error"
    assert run(load, "-p", "dying") == "ended by SIGSEGV"
    assert run() is None
    worker.close()


PLUGIN = """
import os, signal
from xdsl.passes import ModulePass

class Endless(ModulePass):
    name = "endless"
    def apply(self, ctx, op):
        while True:
            pass

class Greedy(ModulePass):
    name = "greedy"
    def apply(self, ctx, op):
        self.held = bytearray(3 << 30)

class Dying(ModulePass):
    name = "dying"
    def apply(self, ctx, op):
        os.kill(os.getpid(), signal.SIGSEGV)
"""
