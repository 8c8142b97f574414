"""What the jitted function of a `nt.LossScale` does with structures; the object itself has no place in compiled code."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NoReturn

from ..frame.frame import Frame
from ..values.values import Group, Value
from .leaves import leaves_of, like, spread


def leaves_(frame: Frame, node: ast.Call, structure: Value) -> Value:
    return Group(tuple([leaf for _, leaf in leaves_of(frame, structure, "the gradient")]), list)


def with_leaves_(frame: Frame, node: ast.Call, structure: Value, leaves: Value) -> Value:
    given = spread(frame, leaves)
    assert isinstance(given, Group)
    return like(frame, structure, iter(given.items))


def find_by_trying_(frame: Frame, node: ast.Call) -> NoReturn:
    frame.fail(
        node,
        "the factor of a nt.LossScale is found by trying, call by call, which compiled code cannot do",
        "call what value_and_grad gives outside; or multiply the loss by a factor here, and divide the gradients by it",
    )


INSIDE_CALLS: dict[str, Callable[..., Value]] = {
    "leaves": leaves_,
    "with leaves": with_leaves_,
    "find by trying": find_by_trying_,
}
