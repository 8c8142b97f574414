"""The dominator tree against the definition: `a` dominates `b` when no path from the entry avoids `a`."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from nestor.dialects.dominance import DominatorTree
from xdsl.dialects import test
from xdsl.ir import Block, Region

graphs = st.integers(1, 8).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, size - 1), max_size=3), min_size=size, max_size=size)
)


def build(edges: list[list[int]]) -> tuple[Region, list[Block]]:
    blocks = [Block() for _ in edges]
    region = Region(blocks)
    for block, targets in zip(blocks, edges, strict=True):
        block.add_op(test.TestTermOp.create(successors=[blocks[target] for target in targets]))
    return region, blocks


def reachable(edges: list[list[int]], avoiding: int | None) -> set[int]:
    seen: set[int] = set()
    pending = [] if avoiding == 0 else [0]
    while pending:
        node = pending.pop()
        if node in seen or node == avoiding:
            continue
        seen.add(node)
        pending += edges[node]
    return seen


@settings(max_examples=150, deadline=None)
@given(graphs)
def test_agrees_with_the_definition(edges):
    region, blocks = build(edges)
    tree = DominatorTree(region)
    live = reachable(edges, avoiding=None)
    for a in range(len(edges)):
        without = reachable(edges, avoiding=a)
        for b in range(len(edges)):
            expected = b not in live or (a in live and b not in without)
            assert tree.dominates(blocks[a], blocks[b]) == expected, (a, b)
