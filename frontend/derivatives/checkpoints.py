"""nt.checkpoint in compiled code: the call becomes a nt.checkpoint where something is differentiated, else just the call.

y = nt.checkpoint(f, policy="save-products")(x)     %y = nt.checkpoint "save-products"(%x : ...) -> (...) {...}
y = nt.checkpoint(f, snapshots=8)(x)                the loops of f have nt.snapshots = 8
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

from xdsl.dialects.func import ReturnOp
from xdsl.ir import Region

from ...dialects.nt.checkpoint_ops import CheckpointOp
from ...dialects.nt.ops import YieldOp
from ...transforms.autodiff.control.snapshots import Bound, ask_for_snapshots
from ..frame.frame import Frame
from ..frame.recursion import call
from ..interface.checkpoints import settings_of
from ..values.arithmetic import require_static
from ..values.values import NOTHING, Array, Static, Value, memory_of, serials
from .compiled import callee, label_of_function
from .leaves import leaves_of
from .outlined import Outlined, outline


def checkpoint_(
    frame: Frame,
    node: ast.Call,
    fun: Value = NOTHING,
    *,
    policy: Value = NOTHING,
    snapshots: Value = NOTHING,
    bytes: Value = NOTHING,
) -> Value:
    """`nt.checkpoint(f)`: a function that computes the same."""
    given = {"policy": policy, "snapshots": snapshots, "bytes": bytes}
    known = {name: require_static(frame.graph, value, name) for name, value in given.items()}
    if isinstance(fun, Static) and fun.raw is None:
        settings_of("a function", **known)

        def with_function(frame: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
            if len(args) != 1 or kwargs:
                frame.fail(node, "what nt.checkpoint(policy=...) gives takes one argument, a function")
            return _checkpointed(frame, node, args[0], known)

        return callee(frame, with_function, "what nt.checkpoint gives without a function", "checkpoint")
    return _checkpointed(frame, node, fun, known)


def _checkpointed(frame: Frame, node: ast.Call, fun: Value, known: dict[str, Any]) -> Value:
    label = label_of_function(frame, node, fun, "checkpoint")
    settings = settings_of(label, **known)

    def called(frame: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
        run = partial(call, frame, node, fun, args, kwargs)
        # In a loop over elements there are no values of whole arrays to keep.
        if not frame.graph.outlining or frame.graph.island is not None:
            return run()
        return _kept_apart(
            frame, node, label, run, settings.policy, Bound(settings.snapshots, settings.bytes)
        )

    return callee(frame, called, f"what nt.checkpoint gives for {label}", f"checkpoint_of_{label}", fun)


def _kept_apart(
    frame: Frame, node: ast.Call, label: str, run: Callable[[], Value], policy: str | None, bound: Bound
) -> Value:
    graph, since = frame.graph, next(serials)

    def value(_: list[Value]) -> Value:
        result = run()
        frame.at(node)
        for path, leaf in leaves_of(frame, result, "the result"):
            if isinstance(leaf, Array) and memory_of(leaf.buffer).serial < since:
                frame.fail(
                    node,
                    f"nt.checkpoint of {label}: {path} is an array from outside of it, or a view of one",
                    "return a copy: .copy()",
                )
        return result

    done = "a function of nt.checkpoint"
    made = outline(frame, node, label, (), (), value, done)
    if bound != Bound():
        ask_for_snapshots(made.function, bound)
    if policy is None:
        tensors = made.inlined(graph, ())
    else:
        op = _as_operation(made, policy)
        graph.insert(op)
        tensors = list(op.results_)
    del graph.functions[made.name]
    made.take_effect(frame, tensors)
    return made.python_value(frame, tensors)


def _as_operation(made: Outlined, policy: str) -> CheckpointOp:
    """The function as a region, of what it uses from outside."""
    region = made.function.detach_region(made.function.body)
    end = region.block.last_op
    assert isinstance(end, ReturnOp)
    given = YieldOp(*end.operands)
    given.location = end.location
    region.block.erase_op(end)
    region.block.add_op(given)
    assert isinstance(region, Region)
    return CheckpointOp(policy, made.captured, region, made.types)


INSIDE_CALLS: dict[str, Callable[..., Value]] = {"checkpoint": checkpoint_}
