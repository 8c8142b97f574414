"""Walks of operations as plain loops: analyses walk functions again and again, and generators in generators are slow."""

from __future__ import annotations

from xdsl.ir import Operation


def walk(op: Operation) -> list[Operation]:
    """`op` and all operations in it, each before those in it, as `op.walk()` has them."""
    found: list[Operation] = []
    _collect(op, found)
    return found


def _collect(op: Operation, found: list[Operation]) -> None:
    found.append(op)
    for region in op.regions:
        block = region.first_block
        while block is not None:
            inner = block.first_op
            while inner is not None:
                if inner.regions:
                    _collect(inner, found)
                else:
                    found.append(inner)
                inner = inner.next_op
            block = block.next_block


def walk_kind(op: Operation, kind: type[Operation]) -> list[Operation]:
    """Those of `walk(op)` that are exactly of a `kind` that has regions: what has none is passed by."""
    found: list[Operation] = [op] if type(op) is kind else []
    _collect_kind(op, kind, found)
    return found


def _collect_kind(op: Operation, kind: type[Operation], found: list[Operation]) -> None:
    for region in op.regions:
        block = region.first_block
        while block is not None:
            inner = block.first_op
            while inner is not None:
                if inner.regions:
                    if type(inner) is kind:
                        found.append(inner)
                    _collect_kind(inner, kind, found)
                inner = inner.next_op
            block = block.next_block
