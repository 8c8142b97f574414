"""Calls of functions marked `composite` (nt.nn.softmax): one operation with what it stands for inside.

    nn.softmax(x)   ->   %r = nt.composite "softmax"(%x : tensor<4x5xf32>) {axis = -1 : i64} -> tensor<4x5xf32> { ... }

The function is inlined as any other, and then what it computes moves into the region. A call that does more than
compute one new array from arrays (it checks something at run time, or returns a view) stays inlined.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    StringAttr,
    TensorType,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Pure

from ...dialects.nt import CompositeOp, YieldOp
from ..frame.frame import Frame
from ..values.graph import Graph
from ..values.values import Array, Group, Static, Tensor, Value

MARK = "nestor_composite"


def composite_call(
    frame: Frame,
    function: Callable[..., Any],
    args: list[Value],
    kwargs: dict[str, Value],
    inlined: Callable[[], Value],
) -> Value:
    """What `inlined` gives, computed by one nt.composite where that can be."""
    graph = frame.graph
    if graph.island is not None:
        return inlined()
    block, before, location = graph.block, graph.block.last_op, graph.location
    result = inlined()
    if graph.block is not block or graph.island is not None:
        return result
    made = _ops_after(block, before)
    value = _computed(result, made)
    if value is None or any(_is_written(v, made) for v in (*args, *kwargs.values())):
        return result
    inside = _slice(value, made)
    if inside is None:
        return result
    bound = inspect.signature(function).bind(*args, **kwargs)
    bound.apply_defaults()
    given = [v for a in bound.arguments.values() if (v := _contents(a)) is not None]
    op = _wrapped(getattr(function, MARK), value, inside, given, _parameters(bound.arguments))
    op.location = location
    block.add_op(op)
    return _with_value(graph, result, op.results[0])


def _ops_after(block: Block, before: Operation | None) -> list[Operation]:
    op = block.first_op if before is None else before.next_op
    found: list[Operation] = []
    while op is not None:
        found.append(op)
        op = op.next_op
    return found


def _computed(result: Value, made: list[Operation]) -> SSAValue | None:
    """The tensor behind a result that is new memory."""
    if isinstance(result, Tensor):
        value = result.ssa
    elif isinstance(result, Array) and result.whole:
        buffer = result.buffer
        if buffer.frozen is not None or buffer.origin is not None or buffer.derived is not None:
            return None
        value = buffer.value
    else:
        return None
    return value if value is not None and value.owner in made else None


def _is_written(value: Value, made: list[Operation]) -> bool:
    """Whether the call has changed an argument."""
    if isinstance(value, Group):
        return any(_is_written(v, made) for v in value.items)
    return isinstance(value, Array) and value.buffer.value is not None and value.buffer.value.owner in made


def _slice(value: SSAValue, made: list[Operation]) -> list[Operation] | None:
    """The operations on tensors that `value` is computed by; None where they do not stand alone."""
    new, wanted = set(made), [value.owner]
    inside: set[Operation] = set()
    while wanted:
        op = wanted.pop()
        if not isinstance(op, Operation) or op not in new or op in inside:
            continue
        if not op.has_trait(Pure) or not all(isinstance(r.type, TensorType) for r in op.results):
            return None
        inside.add(op)
        wanted.extend([v.owner for v in op.operands if isinstance(v.type, TensorType)])
    for op in inside:
        if any(use.operation not in inside for r in op.results if r is not value for use in r.uses):
            return None
    if any(True for _ in value.uses):
        return None
    return [op for op in made if op in inside]


def _contents(value: Any) -> SSAValue | None:
    """The tensor of an argument."""
    if isinstance(value, Tensor):
        return value.ssa
    return value.buffer.value if isinstance(value, Array) else None


def _wrapped(
    label: str,
    value: SSAValue,
    inside: list[Operation],
    given: list[SSAValue],
    parameters: DictionaryAttr,
) -> CompositeOp:
    """The operation; its operands are in the order of the call's arguments, others follow."""
    own = set(inside)
    used = {v for op in inside for v in op.operands}
    outer = [v for v in dict.fromkeys(given) if v in used]
    for op in inside:
        for operand in op.operands:
            if isinstance(operand.type, TensorType) and operand.owner not in own and operand not in outer:
                outer.append(operand)
    block = Block(arg_types=[v.type for v in outer])
    place = dict(zip(outer, block.args, strict=True))
    for argument, source in zip(block.args, outer, strict=True):
        argument.name_hint = source.name_hint
    for op in inside:
        op.detach()
        block.add_op(op)
        for k, operand in enumerate(op.operands):
            if operand in place:
                op.operands[k] = place[operand]
    block.add_op(YieldOp(value))
    return CompositeOp(label, outer, Region(block), [value.type], parameters)


def _with_value(graph: Graph, result: Value, value: SSAValue) -> Value:
    if isinstance(result, Tensor):
        return replace(result, ssa=value)
    assert isinstance(result, Array)
    result.buffer.value = value
    return result


def _parameters(arguments: dict[str, Any]) -> DictionaryAttr:
    """The compile-time arguments by name, defaults included."""
    found: dict[str, Attribute] = {}
    for name, value in arguments.items():
        attribute = _attribute(value)
        if attribute is not None:
            found[name] = attribute
    return DictionaryAttr(found)


def _attribute(value: Any) -> Attribute | None:
    if isinstance(value, Static):
        value = value.value
    if isinstance(value, Group):
        value = value.items
    if isinstance(value, tuple | list):
        items = [_attribute(v) for v in value]
        return None if None in items else ArrayAttr(items)  # pyright: ignore
    if isinstance(value, bool):
        return IntegerAttr(int(value), i1)
    if isinstance(value, int):
        return IntegerAttr(value, i64)
    if isinstance(value, float):
        return FloatAttr(value, f64)
    return StringAttr(value) if isinstance(value, str) else None
