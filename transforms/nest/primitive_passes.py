"""The passes of schedule primitives, made from the rows of `dialects/schedule/table.py`: `nest-split{loop=i factor=16}`.

A pass has an option for each target, the name of what it stands for; the options of the row; and `func`, the function
in which names are looked up (all of the module where it is left out). A primitive without targets is done to functions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Literal

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...analysis.nest.buffers import find_alloc, find_buffer
from ...analysis.nest.loop_structure import find_loop, functions
from ...dialects.schedule.table import BUFFER, LOOP, Option, Primitive, Target


@cache
def pass_of(row: Primitive) -> type[ModulePass]:
    """The pass class of a primitive."""
    if row.own_pass:
        return getattr(_module(row), row.pass_class)
    function = function_of(row)
    named = [(target, target.in_pass or target.name) for target in row.targets if target.in_pass is not None]
    options = {option.name: option.in_pass or option.name for option in row.options}

    def apply(self: Any, ctx: Context, op: ModuleOp) -> None:
        values = {name: getattr(self, field) for name, field in options.items()}
        if not named:
            for one in functions(op, self.func):
                function(one, **values)
            return
        function(*(_find(op, target, getattr(self, field), self.func) for target, field in named), **values)

    fields = [(field, tuple[str, ...] if target.variadic else str) for target, field in named]
    fields += [_field(option) for option in row.options]
    fields.append(("func", str | None, dataclasses.field(default=None)))
    made = dataclasses.make_dataclass(
        row.pass_class,
        fields,
        bases=(ModulePass,),
        namespace={"name": row.pass_name, "__doc__": row.summary, "apply": apply},
        frozen=True,
        eq=False,
        kw_only=True,
    )
    made.__module__ = function.__module__
    return made


def function_of(row: Primitive) -> Callable[..., Any]:
    """What does the primitive: the function that the row names."""
    return getattr(_module(row), row.function.partition(":")[2])


def _module(row: Primitive) -> Any:
    return import_module(f"...{row.function.partition(':')[0]}", __package__)


def _field(option: Option) -> tuple[str, Any] | tuple[str, Any, Any]:
    """An option as a field of a dataclass, with the type that the pass manager reads values by."""
    kind: Any = {
        "int": int,
        "ints": tuple[int, ...],
        "string": str,
        "place": str | int,
        "flag": bool,
    }.get(option.type) or Literal[option.choices]
    name = option.in_pass or option.name
    if option.required:
        return name, kind
    return name, kind | None if option.default is None else kind, dataclasses.field(default=option.default)


def _find(module: ModuleOp, target: Target, name: Any, function: str | None) -> Any:
    if target.variadic:
        return [_FINDERS[target.kind](module, one, function) for one in name]
    find = find_alloc if target.kind == BUFFER and target.consumed else _FINDERS[target.kind]
    return find(module, name, function)


_FINDERS: dict[str, Callable[[ModuleOp, str, str | None], Any]] = {LOOP: find_loop, BUFFER: find_buffer}
