"""`raise` in compiled code: a check that always fails, on the path it stands on.

    if n < 0:                                  scf.if %neg {
        raise ValueError(f"{n} < 0")             func.call @nestor_raise_1(%n) {
                                                   nestor.kind = "Raised", nestor.raises = 7,
                                                   nestor.exception = "ValueError(f'{n} < 0')"}
                                               }

Without numbers that are known at run time only, it is `cf.assert false`. What is raised is data of this process
(`exceptions.py`), by the number in `nestor.raises`; it goes into the table of checks. `nestor.exception` is its text, for a
reader. The rest of the path is not compiled: `Stopped` ends it, up to the branch or loop that it is in.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np
from xdsl.dialects import arith, cf, func
from xdsl.dialects.builtin import FunctionType, IntegerAttr, StringAttr, i1, i64
from xdsl.ir import Attribute, SSAValue

from ...dialects.attributes import EXCEPTION, KIND, RAISES
from ...lowering.abi.error_codes import RAISE, RAISED_WORDS
from ..frame.frame import Frame
from ..frame.objects import current
from ..frame.recursion import evaluate
from ..interface.captured import can_change
from ..interface.errors import Stopped
from ..values import exceptions
from ..values.contents import as_tensor
from ..values.graph import Graph
from ..values.numbers import number_kind
from ..values.tensors import cast, to_scalar
from ..values.values import (
    Chosen,
    Exceptional,
    Group,
    Index,
    Static,
    Text,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
)
from .chosen import as_text

MAX_TEXT = 80
"""Characters of the text of a `raise` in the IR."""

FLOAT, INT = np.dtype(np.float64), np.dtype(np.int64)


def raise_(frame: Frame, node: ast.Raise) -> None:
    """`raise exception from cause`."""
    if node.exc is None:
        frame.fail(
            node,
            "a raise without an exception is not supported: it raises again what the caller is handling",
            "name the exception: raise ValueError(...)",
        )
    exception = evaluate(frame, node.exc)
    cause = None if node.cause is None else evaluate(frame, node.cause)
    frame.at(node)
    stop(frame, node, exception, cause)


def stop(frame: Frame, node: ast.stmt, exception: Value, cause: Value | None = None) -> None:
    """End the path with an exception. Raises Stopped."""
    words: list[SSAValue] = []
    made = _part(frame, node, exception, words)
    because = None if cause is None else _part(frame, node, cause, words)
    if len(words) > RAISED_WORDS:
        frame.fail(
            node, f"an exception with {len(words)} numbers that are known at run time only is not supported",
            f"at most {RAISED_WORDS}",
        )  # fmt: skip
    raised = exceptions.Raise(made, because, cause is not None)
    frame.graph.raises.append(raised)
    _insert(frame.graph, words, exceptions.register(raised), _text(node))
    raise Stopped


def _insert(graph: Graph, words: list[SSAValue], number: int, text: str) -> None:
    graph.may_stop = True
    attributes: dict[str, Attribute] = {KIND: StringAttr("Raised"), RAISES: IntegerAttr(number, i64)}
    if not words:
        never = graph.emitter().const(0, i1)
        properties = {"msg": StringAttr(text)}
        graph.insert(cf.AssertOp.create(operands=(never,), properties=properties, attributes=attributes))
        return
    name = f"{RAISE}{len(words)}"
    graph.externals[name] = FunctionType.from_lists([i64] * len(words), [])
    call = func.CallOp(name, words, [])
    call.attributes.update(attributes)
    call.attributes[EXCEPTION] = StringAttr(text)
    graph.insert(call)


def _text(node: ast.stmt) -> str:
    """What the IR says is raised."""
    what = node.exc if isinstance(node, ast.Raise) else node
    text = ast.unparse(what) if what is not None else ""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 3]}..."


def _part(frame: Frame, node: ast.stmt, value: Value, words: list[SSAValue]) -> object:
    """How an object is made when the exception is raised; the numbers that it takes are added to `words`."""
    part: Callable[[Value], object] = lambda item: _part(frame, node, item, words)  # noqa: E731
    if isinstance(value, Static):
        if can_change(value.raw):  # the object itself, with what it holds then
            frame.captured.unkeyed = "an object that an exception is given"
        return exceptions.Constant(value.raw)
    if isinstance(value, Exceptional):
        keywords = tuple([(name, part(item)) for name, item in value.keywords])
        return exceptions.Call(value.kind, tuple(map(part, value.args)), keywords)
    if isinstance(value, Chosen):
        value = as_text(value)
    if isinstance(value, Text):
        return exceptions.Text(tuple([(part(item), convert, spec) for item, convert, spec in value.parts]))
    if isinstance(value, Group):
        now = current(frame, value)
        assert isinstance(now, Group)
        return exceptions.Items(now.kind, now.names, tuple(map(part, now.items)))
    if not is_number(value) or is_array(value) or extents_of(value):
        frame.fail(
            node,
            f"an exception with {describe(value)} is not supported",
            "give it numbers and strings: an element, a sum, a shape",
        )
    kind = number_kind(frame.graph, value)
    if kind is complex or (isinstance(kind, np.dtype) and kind.kind == "c"):
        frame.fail(
            node,
            "an exception with a complex number known at run time is not supported",
            "give it the parts: z.real and z.imag",
        )
    words.append(_word(frame.graph, value, exceptions.is_float(kind)))
    return exceptions.Number(len(words) - 1, kind)


def _word(graph: Graph, value: Value, is_float: bool) -> SSAValue:
    """A number as 64 bits."""
    wire = FLOAT if is_float else INT
    if graph.island is not None:
        scalar = graph.island.scalar(value, wire)
    elif isinstance(value, Index):
        scalar = graph.integer(value.affine)
    else:
        scalar = to_scalar(graph, cast(graph, as_tensor(graph, value), wire))
    if not is_float:
        return scalar
    bits = graph.insert(arith.BitcastOp.create(operands=[scalar], result_types=[i64]))
    assert bits is not None
    return bits
