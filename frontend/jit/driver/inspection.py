"""`low.cost_analysis()` and `low.memory_analysis()`: a program and extents handed to the analyses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import MemRefType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ....analysis.costs.iterations import Extents
from ....analysis.costs.program_costs import CostAnalysis, cost_of
from ....analysis.costs.program_memory import MemoryAnalysis, ValueMemory, allocated_by, element_name
from ....analysis.tensor.amounts import Amount
from ....dialects.attributes import NT_WRITES_ARG
from ....dialects.diagnostic import SourceLocation, op_location
from ...interface.argument_types import ArgumentType
from ...interface.errors import UnsupportedError
from ..explain.derivatives import Halves
from ..specialise.stages import lowered_copy

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


def memory_analysis(
    program: Program, given: Given | None, threads: int | None, target: str, machine: str | None
) -> MemoryAnalysis:
    """What a call of a program takes in memory. Raises UnsupportedError where extents are missing or do not fit."""
    from ....runtime.cpu.threads import get_num_threads

    numbers = numbers_for(program, given)
    is_gpu = target.startswith("cuda")
    threads = 1 if is_gpu else get_num_threads() if threads is None else threads
    lowered = lowered_copy(program.module, ("cuda-small" if is_gpu else "cpu-to-scf",), machine=machine)
    function = function_of(lowered, program.name)
    extents = extents_of(program, function, numbers)
    found = allocated_by(lowered, function, extents, threads, is_gpu)
    reasons = dict.fromkeys(found.reasons)
    values = [
        *_arguments(program, numbers),
        *_results(program, function, numbers, reasons),
        *found.values,
        *_tape(program, numbers, reasons),
    ]

    def sum_of(kind: str) -> int:
        return sum(one.bytes * one.copies for one in values if one.kind == kind)

    return MemoryAnalysis(
        program.name,
        numbers,
        threads,
        arguments=sum_of("argument"),
        results=sum_of("result"),
        temporaries=sum_of("temporary"),
        peak=found.peak,
        stack=sum_of("stack"),
        tape=sum_of("tape"),
        values=tuple(values),
        reasons=tuple(reasons),
    )


def _arguments(program: Program, numbers: Mapping[str, int]) -> Iterator[ValueMemory]:
    for one in program.arguments:
        if one.kind == "array" and one.dtype is not None:
            shape = [e if isinstance(e, int) else numbers[e or ""] for e in one.extents]
            yield _array(one.name, "argument", one.dtype, shape, None)


def _results(
    program: Program, function: FuncOp, numbers: Mapping[str, int], reasons: dict[str, None]
) -> Iterator[ValueMemory]:
    arguments = function.body.blocks[0].args
    places = _places_of_results(program)
    for k, output in enumerate(program.outputs):
        if output.kind in ("tag", "told"):  # numbers for the caller's side of the call, no results
            continue
        name = arguments[len(arguments) - len(program.outputs) + k].name_hint or "result"
        try:
            if output.allocated is not None:
                raise KeyError
            shape = [one.value(numbers) for one in output.extents]
        except KeyError:
            reasons[f"the result '{name}': only the run knows its extents"] = None
            continue
        yield _array(name, "result", output.dtype, shape, places[k] if k < len(places) else None)


def _places_of_results(program: Program) -> list[SourceLocation | None]:
    """Where the results of a program are computed that are no arguments."""
    function = function_of(program.module, program.name)
    end = function.body.blocks[-1].last_op
    attributes = function.res_attrs.data if function.res_attrs is not None else []
    found: list[SourceLocation | None] = []
    for k, value in enumerate(end.operands if end is not None else ()):
        if k >= len(attributes) or NT_WRITES_ARG not in attributes[k].data:
            found.append(op_location(value.owner) if isinstance(value.owner, Operation) else None)
    return found


def _array(
    name: str, kind: str, dtype: np.dtype, shape: Sequence[int], where: SourceLocation | None
) -> ValueMemory:
    text = f"{dtype}[{', '.join(map(str, shape))}]"
    file, line = (where.file, where.line) if where is not None else ("", 0)
    return ValueMemory(name, kind, text, prod(shape) * dtype.itemsize, file, line)


def _tape(program: Program, numbers: Mapping[str, int], reasons: dict[str, None]) -> Iterator[ValueMemory]:
    """What derivatives keep, but for results, which are there anyway."""
    for derivative in Halves(program.module).derivatives:
        for kept in derivative.kept:
            if kept.is_result:
                continue
            where = op_location(kept.op)
            size = kept.bytes.value(numbers)
            if size is None:
                reasons[f"'{kept.name}' for the backward half of {derivative.name}: {kept.bytes} bytes"] = (
                    None
                )
                continue
            shape = [Amount.product(1, [e]).value(numbers) for e in kept.shape]
            text = f"{element_name(kept.element)}[{', '.join(map(str, shape))}]"
            file, line = (where.file, where.line) if where is not None else ("", 0)
            yield ValueMemory(kept.name, "tape", text, size, file, line)


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
    for one, value in zip(passed, arguments, strict=False):
        if one.kind == "int" and one.name in numbers:
            values[value] = numbers[one.name]
        if isinstance(value.type, MemRefType):
            sizes = [e if isinstance(e, int) else numbers[e or ""] for e in one.extents]
            shapes[value] = _in_memory(value.type, sizes, one.order)
    first = len(arguments) - len(program.outputs)
    for value, output in zip(arguments[max(first, 0) :], program.outputs, strict=False):
        if not isinstance(value.type, MemRefType):
            continue
        try:
            sizes = [one.value(numbers) for one in output.extents]
        except KeyError:  # an integer that the run knows
            continue
        if output.allocated is None:
            shapes[value] = _in_memory(value.type, sizes, output.order)
    return Extents(shapes, values)


def _in_memory(kind: MemRefType, sizes: Sequence[int], order: Sequence[int] | None) -> list[int]:
    """The shape of a buffer: axes in memory order, and one for the parts of complex numbers."""
    there = [sizes[axis] for axis in order] if order is not None else list(sizes)
    return [*there, *kind.get_shape()[len(there) :]]
