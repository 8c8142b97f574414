"""`low.cost_analysis()` and `low.memory_analysis()`: a program and extents handed to the analyses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, MemRefType, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue

from ....analysis.costs.iterations import Extents
from ....analysis.costs.program_costs import CostAnalysis, cost_of
from ....dialects.attributes import DIMS
from ...interface.argument_types import ArgumentType
from ...interface.errors import UnsupportedError
from .explain_derivatives import Halves

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...interface.program_parts import Program

Given = Mapping[str, int | Sequence[int]]
"""Extents by their names (`x_0`), or shapes by the names of arrays; integers by the names of arguments."""


def cost_analysis(program: Program, given: Given | None) -> CostAnalysis:
    """What a call of a program costs. Raises UnsupportedError where extents are missing or do not fit."""
    numbers = numbers_for(program, given)
    function = function_of(Halves(program.module).lowered(), program.name)
    return cost_of(function, program.name, extents_of(program, function, numbers), numbers)


def function_of(module: ModuleOp, name: str) -> FuncOp:
    """The function of a program."""
    return next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data == name)


# ---- what the caller gives ------------------------------------------------------------------------------


def numbers_for(program: Program, given: Given | None) -> dict[str, int]:
    """The extents that are unknown in a program, and integers, by their names.

    Raises UnsupportedError where one is missing, is not one of the program, or is not what the program is for.
    """
    arrays = {a.name: a for a in program.arguments if a.kind == "array"}
    open_extents = {e: a for a in arrays.values() for e in a.extents if isinstance(e, str)}
    integers = {a.name for a in program.arguments if a.kind == "int"}
    numbers: dict[str, int] = {}
    for name, value in (given or {}).items():
        if name in arrays and not isinstance(value, int):
            _take_shape(arrays[name], value, numbers)
        elif isinstance(value, int) and (name in open_extents or name in integers):
            _take(name, value, numbers)
        else:
            known = ", ".join([*open_extents, *arrays, *sorted(integers)]) or "there are none"
            raise UnsupportedError(f"'{name}' is no extent of {program.name}", hint=f"extents: {known}")
    missing = [name for name in open_extents if name not in numbers]
    if missing:
        arrays_of = dict.fromkeys(open_extents[name].name for name in missing)
        shapes = ", ".join(f'"{name}": ({_shape(arrays[name])})' for name in arrays_of)
        raise UnsupportedError(
            f"{program.name} is for any {', '.join(missing)}: without numbers for them nothing can be counted",
            hint=f"give shapes: extents={{{shapes}}}",
        )
    _check(program, numbers, open_extents)
    return numbers


def _shape(argument: ArgumentType) -> str:
    return ", ".join(map(str, argument.witness)) + ("," if len(argument.witness) == 1 else "")


def _take_shape(argument: ArgumentType, shape: Sequence[int], numbers: dict[str, int]) -> None:
    if len(shape) != len(argument.extents):
        raise UnsupportedError(f"'{argument.name}' has {len(argument.extents)} axes, not {len(shape)}")
    for extent, number in zip(argument.extents, shape, strict=True):
        if isinstance(extent, str):
            _take(extent, int(number), numbers)
        elif extent != number:
            raise UnsupportedError(
                f"'{argument.name}' has the extent {extent} where {number} is given",
                hint="lower the function for that shape, or with dynamic=True",
            )


def _take(name: str, number: int, numbers: dict[str, int]) -> None:
    if numbers.setdefault(name, number) != number:
        raise UnsupportedError(f"{name} is {numbers[name]} and {number} at once: arrays share it")


def _check(program: Program, numbers: Mapping[str, int], open_extents: Mapping[str, ArgumentType]) -> None:
    for name in open_extents:
        if numbers[name] < 2:
            raise UnsupportedError(
                f"{name} = {numbers[name]}: extents of 0 and 1 have programs of their own",
                hint="lower the function for that shape",
            )
    for guard in program.guards:
        if not guard.holds(numbers):
            raise UnsupportedError(
                f"the program is not for these extents: it assumes {guard}{f' ({guard.why})' if guard.why else ''}",
                hint="lower the function for arrays of these shapes",
            )


# ---- what that is in the IR ---------------------------------------------------------------------------------


def extents_of(program: Program, function: FuncOp, numbers: Mapping[str, int]) -> Extents:
    """What is known of the arguments of a function at the nest level, or below it."""
    passed = [a for a in program.arguments if a.kind not in ("static", "same")]
    arguments = function.body.blocks[0].args
    shapes: dict[SSAValue, list[int]] = {}
    values: dict[SSAValue, int] = {}
    for position, value in enumerate(arguments):
        if position < len(passed) and passed[position].kind == "int" and passed[position].name in numbers:
            values[value] = numbers[passed[position].name]
        if (
            isinstance(value.type, MemRefType)
            and (shape := _known_shape(function, position, numbers)) is not None
        ):
            shapes[value] = shape
    first = len(arguments) - len(program.outputs)
    for value, output in zip(arguments[max(first, 0) :], program.outputs, strict=False):
        if value in shapes or not isinstance(value.type, MemRefType):
            continue
        try:
            sizes = [one.value(numbers) for one in output.extents]
        except KeyError:  # an integer that the run knows
            continue
        sizes = [sizes[axis] for axis in output.order] if output.order is not None else sizes
        rank = len(value.type.get_shape())
        if len(sizes) <= rank:  # the parts of complex numbers are an axis more
            shapes[value] = [*sizes, *value.type.get_shape()[len(sizes) :]]
    return Extents(shapes, values)


def _known_shape(function: FuncOp, position: int, numbers: Mapping[str, int]) -> list[int] | None:
    kind = function.body.blocks[0].args[position].type
    assert isinstance(kind, MemRefType)
    shape = list(kind.get_shape())
    if DYNAMIC_INDEX not in shape:
        return shape
    attributes = function.arg_attrs.data[position].data if function.arg_attrs is not None else {}
    names = attributes.get(DIMS)
    if not isinstance(names, ArrayAttr) or len(names.data) != len(shape):
        return None
    for axis, name in enumerate(names.data):
        if shape[axis] == DYNAMIC_INDEX:
            known = numbers.get(name.data) if isinstance(name, StringAttr) else None
            if known is None:
                return None
            shape[axis] = known
    return shape
