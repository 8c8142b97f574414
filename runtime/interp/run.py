"""The reference interpreter of the nest level: the oracle of every loop transform and lowering.

A function is compiled to Python source once (`compiler.py`; NumPy scalars, exact wrap-around and
rounding) and runs in place on the arrays it is given:

    run_nest(function, [x, out])                            # program order
    run_nest(function, [x, out], mode="shuffled", seed=1)   # adversarial
    run_nest(function, [x, out], mode="threads", seed=1)    # with no barriers in kernels but those that are there

Buffers start poisoned, and every access is checked against its buffer: an access out of bounds is a
`TrapError`, not a negative index. The shuffled mode also runs parallel and bound loops in random order and
simple vectorized loops in lockstep, statement by statement, and traps on reads of what was never written,
so that a wrong mark shows. In mode "threads" the threads of a block run by themselves between barriers, and a
barrier that is missing traps as well (`team.py`). In mode "watching" the callable has a `watch`, which notes where the
first NaN and the first infinity of a run arise (`watching.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Block, Operation, SSAValue

from ...analysis.nest.check_sites import check_sites
from ...dialects.attributes import ROLE
from ...dialects.diagnostic import NestorError, fail, op_location
from .. import scalar_eval
from ..errors import KernelError
from .compiler import Compiler
from .team import Races, TeamCompiler, run_team
from .watching import WatchingCompiler

MODES = ("program", "shuffled", "threads", "watching")


class TrapError(NestorError):
    """The program did what no legal program does: out of bounds, a read of what was never written."""


def run_nest(func: func.FuncOp, args: Sequence[Any], *, mode: str = "program", seed: int = 0) -> None:
    """Run the nest-level function on NumPy arrays, in place.

    Arrays have the dtype of their memref (bool and unsigned ones are reinterpreted, bfloat16 is int16
    bits); scalars are Python or NumPy scalars. Raises `KernelError` where a check of the program fails and
    `TrapError` where the program is wrong. `seed` orders the loops of modes "shuffled" and "threads".
    """
    compile_nest(func, mode=mode)(*args, seed=seed)


def compile_nest(function: func.FuncOp, *, mode: str = "program") -> Callable[..., None]:
    """The function as a Python callable: `kernel(*args, seed=0)`."""
    if mode not in MODES:
        raise ValueError(f"mode is '{mode}', one of {', '.join(MODES)}")
    if len(function.body.blocks) != 1:
        raise fail(function, "the interpreter runs functions of one block")
    roles = [
        attrs.data.get(ROLE) if (attrs := _arg_attrs(function, k)) is not None else None
        for k in range(len(function.args))
    ]
    outputs = [k for k, role in enumerate(roles) if role is not None and role.data == "out"]  # pyright: ignore
    return compile_block(function.body.block, check_sites(function), mode=mode, unwritten=outputs)


def _arg_attrs(function: func.FuncOp, k: int):
    return function.arg_attrs.data[k] if function.arg_attrs is not None else None


def compile_block(
    block: Block,
    sites: dict[Operation, int],
    *,
    mode: str = "program",
    captured: Sequence[SSAValue] = (),
    unwritten: Sequence[int] = (),
) -> Callable[..., None]:
    """A block of nest operations as a callable of its arguments, then the values it captures from outside.

    `unwritten` are the positions of arguments that must not be read before they are written.
    """
    compiler_type = {"threads": TeamCompiler, "watching": WatchingCompiler}.get(mode, Compiler)
    is_adversarial = mode in ("shuffled", "threads")
    compiler = compiler_type(sites, is_adversarial, {**_SUPPORT, "races": Races(_trap_here)})
    parameters = [*block.args, *captured]
    source = compiler.function(block, parameters, set(unwritten))
    exec(compile(source, "<nest>", "exec"), compiler.namespace)
    kernel = compiler.namespace["kernel"]

    def run(*args: Any, seed: int = 0) -> None:
        if len(args) != len(parameters):
            raise ValueError(f"{len(args)} arguments for {len(parameters)} parameters")
        values = [_argument(value, p) for value, p in zip(args, parameters, strict=True)]
        with np.errstate(all="ignore"):
            kernel(random.Random(seed), *values)

    run.source = source  # type: ignore[attr-defined]
    run.watch = getattr(compiler, "watch", None)  # type: ignore[attr-defined]
    return run


def _argument(value: Any, parameter: SSAValue) -> Any:
    if not isinstance(parameter.type, MemRefType):
        return scalar_eval.scalar(value, parameter.type)
    dtype = scalar_eval.dtype_of(parameter.type.element_type)
    array = np.asarray(value)
    if array.dtype.itemsize != dtype.itemsize or array.ndim != parameter.type.get_num_dims():
        raise ValueError(f"an array of {array.dtype} and shape {array.shape} given for {parameter.type}")
    return array if array.dtype == dtype else array.view(dtype)


# ---- what a kernel calls -----------------------------------------------------------------------------


def _shuffled(rng: random.Random, span: range) -> list[int]:
    order = list(span)
    rng.shuffle(order)
    return order


def _trap(operations: list[Operation], k: int, index: tuple[int, ...], unwritten: bool = False) -> None:
    op = operations[k]
    place = f"[{', '.join(map(str, index))}]"
    problem = "reads what was never written" if unwritten else "is out of bounds"
    raise TrapError(f"'{op.name}' at {place} {problem}", op_location(op))


def _trap_here(op: Operation, problem: str) -> None:
    raise TrapError(f"'{op.name}' {problem}", op_location(op))


def _alias(array: np.ndarray, shape: tuple[int, ...], operations: list[Operation], k: int) -> np.ndarray:
    view = array.reshape(shape)
    if array.size and not np.shares_memory(view, array):
        op = operations[k]
        raise TrapError(f"'{op.name}' collapses dimensions that are not contiguous", op_location(op))
    return view


_SUPPORT = {
    "trap": _trap,
    "shuffled": _shuffled,
    "alias": _alias,
    "run_team": run_team,
    "product": product,
    "KernelError": KernelError,
}
