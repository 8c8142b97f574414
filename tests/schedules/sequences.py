"""Random sequences of schedule primitives on random programs, and what a program does before and after.

sequence = draw_sequence(random.Random(7))      # a program, and up to 12 requests that were accepted
sequence.disagreement()                         # None, or how the scheduled program differs
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from nestor.analysis.nest.check_sites import check_sites
from nestor.analysis.nest.loop_structure import functions
from nestor.dialects.diagnostic import NestorError, SourceLocation, op_location
from nestor.dialects.nest import ForOp
from nestor.dialects.verifier import verify
from nestor.runtime.errors import KernelError
from nestor.runtime.interp.run import TrapError, compile_nest
from nestor.transforms.nest.rewrite.mark_checks import why_not_compiled
from parsed import parse_module
from primitive_requests import NothingToDo, Request
from primitives import PRIMITIVES, apply
from program_drafts import Program
from programs import draw_program
from xdsl.dialects.builtin import ModuleOp

LONGEST = 12
LARGEST = 120
"""Operations a program may have before primitives that copy code are no longer asked for."""

ATTEMPTS = 60
"""Requests that are drawn for one schedule, accepted or not."""

SELDOM = {
    "block_relative": ("relative",),
    "block_scan": ("running",),
    "compute_root": ("window",),
    "decompose_reduction": ("reduction", "matmul"),
    "double_buffer": ("window",),
    "pipeline": ("window",),
    "atomic": ("found",),
    "exact_sum": ("found",),
    "expand_buffer": ("window",),
    "flatten": ("flat", "chain"),
    "fuse_epilogue": ("epilogue",),
    "hoist": ("rows", "branches"),
    "insert_barriers": ("kernel",),
    "last_write": ("found",),
    "lift": ("tuples",),
    "online_softmax": ("attention",),
    "reuse_buffers": ("chain",),
    "reverse_compute_inline": ("chain",),
    "rfactor": ("blocked",),
    "rolling_buffer": ("window",),
    "scatter_to_gather": ("scatter",),
    "sink": ("scaled",),
    "sink_alloc": ("window",),
    "skip_masked": ("masked",),
    "stage_factors": ("tiles",),
}
"""Primitives that are seldom legal, and families where they are; one is asked for first in two schedules of three."""

FIRST = 8
"""How often it is asked for then."""

ORDERS = (1, 2, 3)
"""Seeds of the adversarial orders."""


# ---- what a program does ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Stop:
    """A check of the program failed: which, by its place in the text, and on what."""

    code: int
    place: SourceLocation | None
    value: int
    extent: int


Outcome = list[np.ndarray] | Stop


class Runner:
    """A function, compiled for the interpreter once; runs it on one set of arguments after the other."""

    def __init__(self, module: ModuleOp, mode: str = "program"):
        function = functions(module)[0]
        self._places = [op_location(op) for op in check_sites(function)]
        self._kernel = compile_nest(function, mode=mode)

    def run(self, arrays: list[np.ndarray], order: int = 0) -> Outcome:
        """The arrays afterwards, or why the program stopped. Raises `TrapError` where the program is wrong."""
        try:
            self._kernel(*arrays, seed=order)
        except KernelError as e:
            return Stop(e.code, self._places[e.site], e.value, e.extent)
        return arrays


def difference(
    before: Outcome, after: Outcome, defined: Sequence[np.ndarray], tolerance: float = 0.0
) -> str | None:
    """How two runs differ where the elements are `defined`, None when every one of them is equal, or as near as asked."""
    if isinstance(before, Stop) or isinstance(after, Stop):
        return None if before == after else f"{before} before, {after} after"
    for k, (old, new, mask) in enumerate(zip(before, after, defined, strict=True)):
        wrong = np.argwhere(are_apart(old, new, tolerance) & mask)
        if len(wrong):
            at = tuple(wrong[0].tolist())
            return f"argument {k} of shape {old.shape} at {list(at)}: {old[at]} before, {new[at]} after"
    return None


def are_apart(old: np.ndarray, new: np.ndarray, tolerance: float) -> np.ndarray:
    """Which elements are farther apart than a program's tolerance."""
    return ~np.isclose(old, new, tolerance, tolerance) if tolerance else old != new


def defined_elements(
    runner: Runner, arrays: list[np.ndarray], program: Program, outcome: list[np.ndarray]
) -> list[np.ndarray]:
    """Where each argument is defined after a run: what comes of results that held something else before."""
    for buffer, array in zip(program.buffers, arrays, strict=True):
        if buffer.role == "out":
            array += 100
    again = runner.run(arrays)
    assert not isinstance(again, Stop)
    return [old == new for old, new in zip(outcome, again, strict=True)]


class Reference:
    """What a program computes on some arguments before anything was done to it.

    Elements of results that the program does not write are undefined, and not compared.
    """

    def __init__(self, program: Program, seeds: Sequence[int]):
        self.program = program
        self._runs: list[tuple[int, Outcome, list[np.ndarray]]] = []
        runner = Runner(parse_module(program.text))
        for seed in seeds:
            outcome = runner.run(program.arguments(seed))
            if isinstance(outcome, Stop):
                self._runs.append((seed, outcome, []))
            elif program.is_exact(outcome):
                self._runs.append(
                    (seed, outcome, defined_elements(runner, program.arguments(seed), program, outcome))
                )

    @property
    def runs(self) -> int:
        """On how many of the arguments the program says something: sums that round say nothing."""
        return len(self._runs)

    def disagreement(self, module: ModuleOp, orders: Sequence[int] = ORDERS) -> str | None:
        """How `module` differs from the program, in program order and in adversarial ones; None if nowhere."""
        runners = [(Runner(module), (0,))]
        if any(isinstance(op, ForOp) and op.kind != "serial" for op in module.walk()):
            runners.append((Runner(module, "shuffled"), tuple(orders)))
        for seed, before, defined in self._runs:
            for runner, seeds in runners:
                for order in seeds:
                    try:
                        after = runner.run(self.program.arguments(seed), order)
                        found = difference(before, after, defined, self.program.tolerance)
                    except TrapError as e:
                        found = str(e)
                    if found is not None:
                        return f"arguments {seed}, order {order}: {found}"
        return None


# ---- sequences --------------------------------------------------------------------------------------


@dataclass
class Schedule:
    """A program, the requests that were accepted, the IR they left, and how many requests were refused."""

    program: Program
    module: ModuleOp
    steps: list[Request] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)
    without_code: Counter[str] = field(default_factory=Counter)
    """Steps that a primitive accepts, and a schedule refuses: what is marked could not be compiled afterwards."""

    def disagreement(self, seeds: Sequence[int], orders: Sequence[int] = ORDERS) -> str | None:
        """How the scheduled program differs from the program, with all that is needed to look at it."""
        reference = Reference(self.program, seeds)
        verify(self.module)
        found = reference.disagreement(self.module, orders)
        if found is None:
            return None
        return "\n".join([found, self.program.text, *self._replayed(reference, orders)])

    def _replayed(self, reference: Reference, orders: Sequence[int]) -> list[str]:
        """The steps up to the first one after which the program is wrong, and the IR around that step."""
        module, lines = parse_module(self.program.text), []
        for request in self.steps:
            before = str(module)
            apply(module, request)
            lines.append(f"  {request}")
            if (found := reference.disagreement(module, orders)) is not None:
                return [*lines, f"WRONG: {found}", before, "BECOMES", str(module)]
        return [*lines, "right when replayed"]


def draw_schedule(
    rng: random.Random,
    program: Program | None = None,
    longest: int = LONGEST,
    marks: bool = True,
    early: bool = False,
) -> Schedule:
    """A random program, and requests drawn until enough were accepted or too many were not.

    Marks come in the second half, for marked loops stay as they are; `early`: at any time.
    """
    favoured = rng.choice(list(SELDOM)) if program is None and rng.random() < 0.67 else None
    program = program or draw_program(rng, rng.choice(SELDOM[favoured]) if favoured else None)
    schedule = Schedule(program, parse_module(program.text))
    wanted = rng.randint(min(4, longest), longest)
    present = _state(schedule.module)
    for attempt in range(ATTEMPTS):
        if len(schedule.steps) == wanted:
            break
        if favoured is not None and attempt < FIRST:
            request = PRIMITIVES[favoured].draw(rng, schedule.module)
        else:
            request = _draw_request(
                rng, schedule.module, marks and (early or 2 * len(schedule.steps) >= wanted)
            )
        if request is None:
            continue
        before = schedule.module.clone()
        try:
            apply(schedule.module, request)
            schedule.steps.append(request)
        except NothingToDo:
            schedule.refused[request.primitive] += 1
        except NestorError as refusal:
            _check_refusal(refusal, present, schedule, request)
            schedule.refused[request.primitive] += 1
            continue
        if (refusal := why_not_compiled(functions(schedule.module)[0])) is not None:
            assert refusal.diagnostic.message.startswith("cannot "), f"{request}: {refusal}"
            schedule.module = before  # as a schedule does that asks this after each step
            schedule.without_code[schedule.steps.pop().primitive] += 1
        present = _state(schedule.module)
    return schedule


def _state(module: ModuleOp) -> list[tuple[object, ...]]:
    """All that a primitive could change, to compare: operations and values are equal to themselves only."""
    return [(op, *op.operands, *op.properties.values(), *op.attributes.items()) for op in module.walk()]


def _check_refusal(
    refusal: NestorError, present: list[tuple[object, ...]], schedule: Schedule, request: Request
) -> None:
    """A refusal says what cannot be done (or what is wrong with a text), and leaves the program as it was."""
    message = refusal.diagnostic.message
    assert message.startswith(("cannot ", "bad condition", "bad layout")), f"{request}: {message}"
    assert _state(schedule.module) == present, f"{request} was refused, and changed the program"


def _draw_request(rng: random.Random, module: ModuleOp, marks: bool) -> Request | None:
    """A request; loops are marked late, since a marked loop stays as it is."""
    is_large = sum(1 for _ in module.walk()) > LARGEST
    rows = [(n, p) for n, p in PRIMITIVES.items() if (marks or not p.is_mark) and not (is_large and p.copies)]
    name = rng.choices([n for n, _ in rows], [p.weight for _, p in rows])[0]
    return PRIMITIVES[name].draw(rng, module)
