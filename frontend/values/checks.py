"""Checks at run time: `assert`, and what Python refuses of its numbers.

assert n > 0, "empty"      cf.assert %0, "empty" {nestor.kind = "AssertionError"}
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np
from xdsl.dialects import arith, cf
from xdsl.dialects.builtin import ComplexType, StringAttr, i1
from xdsl.ir import SSAValue

from ...dialects.attributes import KIND
from ...dialects.diagnostic import NestorError
from ...lowering.nt_to_nest.scalars import convert
from ..interface.errors import Stopped
from .contents import as_tensor
from .graph import Graph
from .tensors import to_scalar
from .values import Static, Value


def as_bool(graph: Graph, value: Value) -> SSAValue:
    """A number as an i1, where the code stands: in an island, or among whole arrays."""
    if graph.island is not None:
        return graph.island.scalar(value, np.dtype(np.bool_))
    scalar = to_scalar(graph, as_tensor(graph, value))
    if scalar.type == i1:
        return scalar
    emitter = graph.emitter()
    if isinstance(scalar.type, ComplexType):
        return convert(emitter, scalar, scalar.type, i1)
    zero = emitter.const(0, scalar.type)
    return emitter.cmp("ne" if scalar.type.name.startswith("integer") else "une", scalar, zero)


def fail(graph: Graph, error: NestorError, kind: str) -> NoReturn:
    """An operation that always fails: `error` now where the program gets there for certain, else when it does."""
    if graph.is_certain:
        raise error
    check(graph, Static(False), kind, error.diagnostic.message)
    raise Stopped


def opposite(graph: Graph, holds: SSAValue) -> SSAValue:
    """`not holds`."""
    emitter = graph.emitter()
    return emitter.op(arith.XOrIOp, (holds, emitter.const(1, i1)))


def check(graph: Graph, holds: Value, kind: str, message: str) -> None:
    """Raise the exception `kind` (one of lowering/abi/error_codes.py) at run time unless `holds`."""
    op = cf.AssertOp.create(
        operands=(as_bool(graph, holds),),
        properties={"msg": StringAttr(message)},
        attributes={KIND: StringAttr(kind)},
    )
    graph.insert(op)
    graph.may_stop = True
