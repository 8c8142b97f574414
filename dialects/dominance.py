"""Dominance: every operand must be defined before it is used, on every path.

xDSL's `verify()` accepts a use before its definition; `dominance_errors` finds them. It handles nested
regions (a value of an enclosing block is visible inside), multi-block regions (through the dominator
tree), graph regions (the order inside `builtin.module` does not matter), and dead blocks (where, as in
MLIR, every value dominates).
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, Region, SSAValue

from .diagnostic import Diagnostic, op_location


def walk(op: Operation) -> Iterator[Operation]:
    """`op` and all operations inside it in text order, without recursion (deep nesting is legal input)."""
    pending = [op]
    while pending:
        current = pending.pop()
        yield current
        children = [child for region in current.regions for block in region.blocks for child in block.ops]
        pending.extend(reversed(children))


def dominance_errors(root: Operation) -> Iterator[Diagnostic]:
    """One error for each operand inside `root` whose definition does not dominate it."""
    checker = _Checker(root)
    for op in walk(root):
        for index, operand in enumerate(op.operands):
            if not checker.dominates(operand, op):
                yield _error(op, index, operand)


def _error(op: Operation, index: int, operand: SSAValue) -> Diagnostic:
    owner = operand.owner
    place = op_location(owner if isinstance(owner, Operation) else owner.parent_op())
    name = f" (%{operand.name_hint})" if operand.name_hint else ""
    return Diagnostic(
        "error",
        f"operand #{index}{name} does not dominate this use",
        op_location(op),
        [Diagnostic("note", "operand defined here", place)],
    )


class _Checker:
    def __init__(self, root: Operation):
        self._order = {op: number for number, op in enumerate(walk(root))}
        self._trees: dict[Region, DominatorTree] = {}

    def dominates(self, value: SSAValue, user: Operation) -> bool:
        owner = value.owner
        home = owner.parent if isinstance(owner, Operation) else owner
        if home is None or home.parent is None:
            return False
        ancestor = _ancestor_in_region(user, home.parent)
        if ancestor is None or ancestor.parent is None:
            return False
        if ancestor.parent is not home:
            return self._tree(home.parent).dominates(home, ancestor.parent)
        if not isinstance(owner, Operation) or isinstance(home.parent_op(), ModuleOp):
            return True
        return self._order[owner] < self._order[ancestor]

    def _tree(self, region: Region) -> DominatorTree:
        if region not in self._trees:
            self._trees[region] = DominatorTree(region)
        return self._trees[region]


def _ancestor_in_region(op: Operation, region: Region) -> Operation | None:
    """The operation directly in a block of `region` that is `op` or holds it."""
    current: Operation | None = op
    while current is not None:
        block = current.parent
        if block is None or block.parent is region:
            return current if block is not None else None
        current = block.parent_op()
    return None


class DominatorTree:
    """Immediate dominators of the blocks of one region (Cooper, Harvey and Kennedy, 2001)."""

    def __init__(self, region: Region):
        entry = region.blocks.first
        self._postorder = _postorder(entry) if entry is not None else []
        self._number = {block: number for number, block in enumerate(self._postorder)}
        self._parent: dict[Block, Block] = {entry: entry} if entry is not None else {}
        predecessors = self._predecessors()
        changed = True
        while changed:
            changed = self._sweep(predecessors)
        self._entered, self._left = self._intervals()

    def dominates(self, block: Block, other: Block) -> bool:
        """Whether every path from the entry to `other` passes `block` (always so if there is no path)."""
        if other not in self._number:
            return True
        if block not in self._number:
            return False
        return self._entered[block] <= self._entered[other] and self._left[other] <= self._left[block]

    def _intervals(self) -> tuple[dict[Block, int], dict[Block, int]]:
        """When a walk over the tree enters and leaves each block: what it dominates it enters and leaves in between."""
        children: dict[Block, list[Block]] = {block: [] for block in self._postorder}
        for block, parent in self._parent.items():
            if parent is not block:
                children[parent].append(block)
        entered: dict[Block, int] = {}
        left: dict[Block, int] = {}
        stack = self._postorder[-1:]
        while stack:
            block = stack[-1]
            if block in entered:
                left[stack.pop()] = len(entered)
                continue
            entered[block] = len(entered)
            stack += children[block]
        return entered, left

    def _predecessors(self) -> dict[Block, list[Block]]:
        result: dict[Block, list[Block]] = {block: [] for block in self._postorder}
        for block in self._postorder:
            for successor in _successors(block):
                result[successor].append(block)
        return result

    def _sweep(self, predecessors: dict[Block, list[Block]]) -> bool:
        changed = False
        for block in reversed(self._postorder[:-1]):
            known = [p for p in predecessors[block] if p in self._parent]
            nearest = known[0]
            for other in known[1:]:
                nearest = self._common(nearest, other)
            if self._parent.get(block) is not nearest:
                self._parent[block] = nearest
                changed = True
        return changed

    def _common(self, left: Block, right: Block) -> Block:
        while left is not right:
            if self._number[left] < self._number[right]:
                left = self._parent[left]
            else:
                right = self._parent[right]
        return left


def _successors(block: Block) -> tuple[Block, ...]:
    return tuple(block.last_op.successors) if block.last_op is not None else ()


def _postorder(entry: Block) -> list[Block]:
    order: list[Block] = []
    seen = {entry}
    stack = [(entry, iter(_successors(entry)))]
    while stack:
        block, rest = stack[-1]
        successor = next((s for s in rest if s not in seen), None)
        if successor is None:
            order.append(block)
            stack.pop()
        else:
            seen.add(successor)
            stack.append((successor, iter(_successors(successor))))
    return order
