"""A program run by the reference interpreter after each pass: what a pass makes of it means what it meant before.

`--verify-each` looks at the form of what a pass leaves; this at its meaning. At the nt level what a pass leaves becomes
nests by the passes that have to be there (derivatives written out, batches and composites taken apart); a nest runs as it
is. A pass that changes nothing is not run for.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import nestor as nt
from nestor.dialects.registry import make_context
from nestor.frontend.jit.driver.lowered import Compiled, Lowered
from nestor.frontend.jit.specialise.stages import passes_of, print_module
from nestor.runtime.interp.run import compile_nest
from nestor.transforms.pass_manager import PassManager
from nestor.transforms.pipelines import PIPELINES, expand, name_and_options
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

NEEDED = ("nt-differentiate", "nt-batch", "nt-decompose")
"""What comes before nests in any case."""

REAL = "nest-expand-complex"
"""The interpreter has no complex numbers."""

TENSORS = tuple(expand(["to-fusions"]))
NESTS = tuple(
    name for name in expand(["cpu-to-scf"]) if name not in TENSORS and name != "convert-nest-to-scf"
)


@dataclass(frozen=True)
class Step:
    """What a program is after a pass, and how it is run."""

    name: str
    run: Callable[..., Any]


def steps(low: Lowered) -> Iterator[Step]:
    """The program after each pass that changes it, first as the frontend made it."""
    module = low.program.module.clone()
    yield Step("the frontend", _callable(low, _as_nests(module, NEEDED)))
    text = print_module(module)
    for place, wanted in enumerate((*TENSORS, *NESTS)):
        _run(module, [wanted])
        before, text = text, print_module(module)
        if text == before and name_and_options(wanted)[0] != "convert-nt-to-nest":
            continue
        if place < len(TENSORS):
            nests = _as_nests(module, [one for one in NEEDED if one in TENSORS[place + 1 :]])
        else:
            nests = module.clone()
            _run(nests, [one for one in (REAL,) if one in NESTS[place - len(TENSORS) + 1 :]])
        yield Step(wanted, _callable(low, nests))


def _run(module: ModuleOp, names: Sequence[str]) -> None:
    PassManager(make_context(), verify=True).run(passes_of(module, names), module)


def _as_nests(module: ModuleOp, needed: Sequence[str]) -> ModuleOp:
    copy = module.clone()
    _run(copy, [*needed, *PIPELINES["fusions-to-loops"]])
    return copy


def _callable(low: Lowered, module: ModuleOp) -> Callable[..., Any]:
    function = next(
        op for op in module.walk() if isinstance(op, FuncOp) and op.sym_name.data == low.program.name
    )
    run = compile_nest(function)
    program = copy.copy(low.program)
    program.may_change = (
        False  # no call here raises: lists and objects need not be as Python leaves them then
    )
    return Compiled(low.owner, program, lambda arguments: run(*arguments), None)


def first_difference(
    function: nt.JitFunction, arguments: Callable[[], Sequence[Any]], differs: Callable[[Any], str | None]
) -> str | None:
    """The first pass after which the program gives something else, and what; None where none does.

    `differs` says what is wrong with the outcome of a call: its result, and its arguments after it.
    """
    low = function.lower(*arguments())
    for step in steps(low):
        given = arguments()
        wrong = differs((step.run(*given), list(given)))
        if wrong:
            return f"after {step.name}: {wrong}"
    return None
