"""nt-fuse: group pure tensor operations into `nt.fusion` regions, each of which becomes one loop nest.

    %m = nt.reduce maximum %x over [1] : tensor<?x?xf32> -> tensor<?xf32>
    %0 = nt.broadcast %m along [0] sizes(%c) : tensor<?xf32> -> tensor<?x?xf32>
    %1 = nt.subtract %x, %0 : tensor<?x?xf32>
    %e = nt.exp %1 : tensor<?x?xf32>
  becomes
    %e = nt.fusion "e" {
      %m = nt.reduce maximum %x over [1] : tensor<?x?xf32> -> tensor<?xf32>
      %0 = nt.broadcast %m along [0] sizes(%c) : tensor<?xf32> -> tensor<?x?xf32>
      %1 = nt.subtract %x, %0 : tensor<?x?xf32>
      %2 = nt.exp %1 : tensor<?x?xf32>
      nt.yield %2 : tensor<?x?xf32>
    } : tensor<?x?xf32>

What a conversion may rely on. Axes of values are tied together through operands and results (elementwise:
axis k to axis k; broadcast: along; transpose: perm; reduce: the kept axes); extents of 1 are tied to
nothing. Each class of tied axes is a dimension of the fusion. Where operands leave it open (the reduced axis of
a maximum and that of what subtracts it), axes that read the same axis of the same outside value are one
dimension, and else axes of equal extents, in order.

* After the pass every elementwise op, cast and reduction is in a fusion, alone if need be. Broadcasts,
  transposes, slices, constants and `nt.from_scalar` are in the fusions that use them (copied where several
  do), or in one of their own when a return, an island or a reshape needs them. Only reshapes (other than of
  extents of 1) stay outside, as views or copies.
* SPACE. Some value of the fusion has all dimensions, no value has one twice, and every other value has a
  subset. So a fusion is loops over its space in which each value is computed at the point of its
  dimensions.
* SPACE = ROWS x REDUCED. All reductions of one fusion take operands over the full space and reduce the same
  dimensions; the others are the rows (none, for a whole-array reduction). Values that depend on a reduction
  may be over the rows ("e / sum": the second pass over a row) or over the full space. With no reduction all
  dimensions are rows.
* ORDER. The order of the dimensions is that of the axes of the (first) reduction's operand, rows first,
  then the reduced; with no reduction that of the first full value. A value over a leading part of it can be
  computed once, outside the inner loops. Any other value over fewer dimensions is recomputed along the
  missing ones: it is only inside when all its uses are, and cheap (no divide, sqrt, exp ... and no
  reduction); otherwise it is a fusion of its own before this one. So `(3)+(3)+(3x1000)` and
  `(1000)+(1000)+(3x1000)` are one loop nest each, `exp((1000))+(3x1000)` is two.
* SLICES read values from outside the fusion only (and so do broadcasts and transposes of slices): the
  points of a computed value never shift. A value that is sliced is a result of one fusion and an operand of
  the next.
* A product of a matrix that is computed here and a vector is a sum (matrix_vector_sums.py): it is fused as others are.
* Other products, and scans, are no part of a fusion, and neither are the views that only they read: those are read through.
* The first rows of what an island or a loop wrote, which the function hands over to its caller, stay a view.
* A body of control flow holds the views that its fusions read through; what they are views of is outside.
* Operations are in topological order. Results are what is used outside, over the full space or a leading
  part of ORDER. The label is the Python name of the first result.

Fusions never span an operation with effects: islands (`nt.loops`), calls, control flow. What reads a
function argument stays on its side of an island that may write it. Between two such barriers, operations
that only share operands are fused as well when their spaces agree ("sibling" fusion: one pass over the
memory that both read).
* With `through-reductions=false` nothing that reads a reduction is fused with it: its result is a tensor of its own, which
  may come from elsewhere (nest-restrict).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    FusedLoc,
    LocationAttr,
    ModuleOp,
    NoneAttr,
    StringAttr,
    TensorType,
)
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.traits import IsTerminator, Pure
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from ...analysis.tensor.extents import Extents
from ...dialects.attributes import NT_CALLEE_ALLOCATED
from ...dialects.nt import (
    BroadcastOp,
    CastOp,
    ConstantOp,
    FromScalarOp,
    FusionOp,
    LoopsOp,
    ReduceOp,
    ReshapeOp,
    SliceOp,
    YieldOp,
)
from ...dialects.nt.work import Role, role_of
from .fusion_access import Accesses
from .fusion_groups import Edge, Graph, Group, Node
from .matrix_vector_sums import open_matrix_vector_products


@dataclass(frozen=True, eq=False)
class NtFusePass(ModulePass):
    """Group pure tensor operations into nt.fusion regions, each of which becomes one loop nest."""

    name = "nt-fuse"

    through_reductions: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for function in op.walk():
            if isinstance(function, FuncOp) and function.body.blocks:
                fuse_function(function, self.through_reductions)


def fuse_function(function: FuncOp, through_reductions: bool = True) -> None:
    """Fuse what can be fused in `function`, block by block."""
    extents = Extents()
    labels = _Labels(function)
    blocks = list(_blocks(function.body))
    if len(blocks) > 1:
        from .sunk_views import sink_views

        for block in blocks:
            sink_views(block)
    for block in blocks:
        open_matrix_vector_products(block)
        _separate_sources(block)
        _separate_views(block)
        _separate_fills(block)
        for span in list(_spans(block)):
            _Span(span, extents, through_reductions).fuse(labels)


def explain_fusion(module: ModuleOp) -> list[str]:
    """One line per fusion, in text order: `iou: 15 ops, 8 loads, 1 store`."""
    return [_explain(op) for op in module.walk() if isinstance(op, FusionOp)]


def _explain(fusion: FusionOp) -> str:
    inside = list(fusion.body.block.ops)
    computing = sum(role_of(op) is Role.COMPUTES for op in inside)
    loads = {
        value
        for op in inside
        for value in op.operands
        if isinstance(value.type, TensorType) and value.owner not in inside
    }
    counts = ((computing, "op"), (len(loads), "load"), (len(fusion.results_), "store"))
    text = ", ".join(f"{n} {what}{'' if n == 1 else 's'}" for n, what in counts)
    return f"{fusion.label.data}: {text}"


class _Labels:
    """Labels of fusions, unique in a function: `x`, then `x.1`."""

    def __init__(self, function: FuncOp):
        self._used = {op.label.data for op in function.walk() if isinstance(op, FusionOp)}

    def take(self, name: str) -> str:
        label, count = name, 0
        while label in self._used:
            count += 1
            label = f"{name}.{count}"
        self._used.add(label)
        return label


def _blocks(region: Region) -> Iterator[Block]:
    """The blocks of `region` and of control flow in it; not the insides of fusions, islands and reductions."""
    for block in region.blocks:
        yield block
        for op in block.ops:
            if not isinstance(op, FusionOp | LoopsOp | ReduceOp):
                for inner in op.regions:
                    yield from _blocks(inner)


def _spans(block: Block) -> Iterator[list[Operation]]:
    """The runs of pure operations between those with effects; only runs with something to fuse."""
    span: list[Operation] = []
    for op in [*_live_ops(block), None]:
        if op is not None and op.has_trait(Pure) and not op.has_trait(IsTerminator):
            span.append(op)
            continue
        if any(role_of(o) in (Role.COMPUTES, Role.VIEW) for o in span):
            yield span
        span = []


def _live_ops(block: Block) -> list[Operation]:
    """The operations of `block`, of which the pure ones without uses are erased."""
    live: list[Operation] = []
    for op in reversed(list(block.ops)):
        if is_trivially_dead(op):
            op.detach()
            op.erase()
        else:
            live.append(op)
    return live[::-1]


def _separate_sources(block: Block) -> None:
    """Give each constant that is used by fusable and by other operations one copy for the others."""
    for op in list(block.ops):
        if role_of(op) is not Role.SOURCE:
            continue
        uses = list(op.results[0].uses)
        others = [use for use in uses if not _is_fusable(use.operation)]
        if not others or len(others) == len(uses):
            continue
        copy = op.clone()
        block.insert_op_after(copy, op)
        for use in others:
            use.operation.operands[use.index] = copy.results[0]


def _separate_views(block: Block) -> None:
    """Give each product and scan the views that it reads through for its own, where others use them as well."""
    for op in list(block.ops):
        if role_of(op) is Role.APART:
            for k, value in enumerate(op.operands):
                op.operands[k] = _own_view(value, op)


def _separate_fills(block: Block) -> None:
    """Give each run of pure operations its own copy of what repeats a number: one that runs share would be in memory."""
    runs: dict[Operation, int] = {}
    starts: list[Operation] = []
    for op in block.ops:
        if not starts or _ends_run(op) or _ends_run(starts[-1]):
            starts.append(op)
        runs[op] = len(starts) - 1
    if len(starts) < 3:
        return
    for op in reversed(list(block.ops)):
        if not _is_fill(op):
            continue
        copies: dict[int, Operation] = {}
        for use in list(op.results[0].uses):
            user = use.operation
            run = runs.get(user)
            if run is None or run == runs[op] or not _is_fusable(user):
                continue
            if run not in copies:
                copies[run] = copy = op.clone()
                block.insert_op_before(copy, starts[run])
                starts[run], runs[copy] = copy, run
            user.operands[use.index] = copies[run].results[0]


def _ends_run(op: Operation) -> bool:
    return not op.has_trait(Pure) or op.has_trait(IsTerminator)


def _is_fill(op: Operation) -> bool:
    """Whether an operation is a number, or a view of one: its elements are nowhere in memory."""
    while role_of(op) is Role.VIEW and isinstance(op, BroadcastOp) and isinstance(op.source.owner, Operation):
        op = op.source.owner
    return isinstance(op, FromScalarOp) or (isinstance(op, ConstantOp) and op.splat is not None)


def _own_view(value: SSAValue, user: Operation) -> SSAValue:
    view = value.owner
    if role_of(view) is not Role.VIEW or view.parent is not user.parent:
        return value
    assert isinstance(view, Operation)
    if not value.has_one_use():
        copy = view.clone()
        user.parent.insert_op_before(copy, user)  # pyright: ignore
        view = copy
    view.operands[0] = _own_view(view.operands[0], view)
    return view.results[0]


def _is_handed_over(op: Operation, use: Use) -> bool:
    """Whether a use of a view gives the first rows of what is in memory to the caller, who gets that memory."""
    function = op.parent_op()
    if (
        not isinstance(op, SliceOp)
        or not isinstance(use.operation, ReturnOp)
        or not isinstance(function, FuncOp)
    ):
        return False
    if not isinstance(op.source.owner, Operation) or _is_fusable(op.source.owner):
        return False
    attributes = function.res_attrs.data[use.index] if function.res_attrs is not None else None
    if attributes is None or NT_CALLEE_ALLOCATED not in attributes.data:
        return False
    from_start = all(offset.constants() == (0,) for offset in op.offsets)
    extents = [op.result.type.get_shape()[1:], op.source.type.get_shape()[1:]]  # pyright: ignore
    alike = extents[0] == extents[1] and -1 not in extents[0]
    return from_start and alike and op.stride_values == (1,) * len(op.offsets)


def _is_fusable(op: Operation) -> bool:
    return role_of(op) in (Role.COMPUTES, Role.VIEW, Role.SOURCE)


class _Span:
    """A run of pure operations of one block: dependence graph, groups, and their rewriting into fusions."""

    def __init__(self, ops: Sequence[Operation], extents: Extents, through_reductions: bool):
        self._ops = ops
        self._extents = extents
        self._accesses = Accesses(extents)
        self._inside = set(ops)
        self._of_dots: set[Operation] = set()
        """Views that only products and scans read: they stay views."""
        self._graph = Graph(through_reductions)
        self._nodes: dict[Operation, Node] = {}

    def fuse(self, labels: _Labels) -> None:
        for op in reversed(self._ops):
            if role_of(op) is Role.VIEW and all(self._reads_memory(op, use) for use in op.results[0].uses):
                self._of_dots.add(op)
        self._classify()
        for index, op in enumerate(self._ops):
            if op not in self._accesses.inlined:
                self._nodes[op] = Node(op, index)
        for node in self._nodes.values():
            self._connect(node)
        for node in self._nodes.values():
            self._place(node)
        self._fuse_siblings()
        self._rewrite(labels)

    def _reads_memory(self, op: Operation, use: Use) -> bool:
        return (
            role_of(use.operation) is Role.APART or use.operation in self._of_dots or _is_handed_over(op, use)
        )

    def _classify(self) -> None:
        """Find the operations that only say where elements come from and that belong to their users."""
        inlined = self._accesses.inlined
        inlined.update(v.owner for op in self._ops for v in op.operands if role_of(v.owner) is Role.SOURCE)  # pyright: ignore
        inlined -= {op for op in inlined if not self._is_private(op)}
        for op in self._ops:
            if not self._is_private(op):
                continue
            if isinstance(op, CastOp):
                root = self._accesses.of(op.source).root
                if root.owner not in self._inside or root.owner in inlined:
                    inlined.add(op)
            elif self._is_view(op):
                inlined.add(op)

    def _is_private(self, op: Operation) -> bool:
        """Whether every user of `op` could hold a copy of it (of a source: in any block)."""
        anywhere = role_of(op) is Role.SOURCE
        return all(
            (anywhere or use.operation in self._inside)
            and (role_of(use.operation) is Role.COMPUTES or self._is_view(use.operation))
            for use in op.results[0].uses
        )

    def _is_view(self, op: Operation) -> bool:
        if role_of(op) is not Role.VIEW or op in self._of_dots:
            return False
        return type(op) is not ReshapeOp or self._accesses.is_unit_reshape(op)

    def _connect(self, node: Node) -> None:
        """Find what `node` reads and who reads it."""
        op = node.op
        node.escapes = any(not self._is_fused(use.operation) for r in op.results for use in r.uses)
        if not self._can_fuse(op):
            return
        for value in op.operands:
            if not isinstance(value.type, TensorType):
                continue
            access = self._accesses.of(value)
            if self._is_view(op):
                access = self._accesses.through(op)
            producer = self._nodes.get(access.root.owner)  # pyright: ignore
            if producer is None or producer is node:
                continue
            producer.users[node] = None
            pairs = None if access.shifted else [(a, k) for k, a in enumerate(access.axes) if a is not None]
            node.edges.append(Edge(producer, node, pairs))

    def _is_fused(self, op: Operation) -> bool:
        return op in self._accesses.inlined or (op in self._nodes and self._can_fuse(op))

    def _can_fuse(self, op: Operation) -> bool:
        return role_of(op) is Role.COMPUTES or self._is_view(op)

    def _place(self, node: Node) -> None:
        """Make a group of `node` and join it with those of its operands, the nearest first."""
        upstream = 0
        for value in self._reads(node.op):
            if (producer := self._nodes.get(value.owner)) is not None:  # pyright: ignore
                upstream |= producer.group.members | producer.group.upstream
        fusable = self._can_fuse(node.op)
        extents = self._extents.of(node.op.points) if fusable else ()  # pyright: ignore
        group = Group(node, extents, upstream, fusable=fusable)
        self._graph.groups.append(group)
        if not fusable:
            return
        self._record_loads(node, group)
        producers = sorted({edge.producer.index: edge.producer for edge in node.edges}.items(), reverse=True)
        for _, producer in producers:
            self._graph.merge(producer.group, node.group)

    def _reads(self, op: Operation) -> Iterator[SSAValue]:
        """The operands of `op` and of what it holds, through the inlined operations."""
        pending = [op]
        while pending:
            current = pending.pop()
            for inner in current.walk():
                for value in inner.operands:
                    if value.owner in self._accesses.inlined:
                        pending.append(value.owner)  # pyright: ignore
                    else:
                        yield value

    def _record_loads(self, node: Node, group: Group) -> None:
        for value in node.op.operands:
            if not isinstance(value.type, TensorType):
                continue
            access = self._accesses.of(value)
            if self._is_view(node.op):
                access = self._accesses.through(node.op)
            if access.shifted or access.root.owner in self._nodes:
                continue
            for k, axis in enumerate(access.axes):
                dim = node.space[k]
                if axis is not None and dim is not None:
                    group.loads.setdefault((access.root, axis), dim)

    def _fuse_siblings(self) -> None:
        """Join groups of one space that read the same values, and then with what computes these where that is cheap."""
        readers: dict[SSAValue, list[Node]] = {}
        for group in self._graph.groups:
            for root, _ in group.loads:
                readers.setdefault(root, []).append(group.nodes[0])
        for nodes in readers.values():
            for first, second in pairwise(nodes):
                self._graph.merge(first.group, second.group, same_space=True)
        for node in self._nodes.values():
            if len(node.users) > 1 and node.is_recomputable:
                self._fuse_users(node)
        for group in list(self._graph.groups):
            self._fuse_reductions_of(group)

    def _fuse_reductions_of(self, group: Group) -> None:
        """Join what reduces different values of one group in the same way: then one nest reads what these are made of."""
        users = dict.fromkeys(user for node in group.nodes for user in node.users if user.group is not group)
        reducing = [user for user in users if isinstance(user.op, ReduceOp)]
        for first, second in pairwise(reducing):
            self._graph.merge(first.group, second.group, same_space=True)

    def _fuse_users(self, node: Node) -> None:
        """Join what reads a value over fewer dimensions, which is inside of one fusion or of none."""
        users = [user for user in node.users if user.group is not node.group]
        for first, second in pairwise(users):
            self._graph.merge(first.group, second.group, same_space=True)
        if users:
            self._graph.merge(node.group, users[0].group)

    # ---- rewriting ----------------------------------------------------------------------------------

    def _rewrite(self, labels: _Labels) -> None:
        block = self._ops[0].parent
        assert block is not None
        end = self._ops[-1].next_op
        for group in self._in_order():
            op = self._fusion(group, labels) if group.fusable else group.nodes[0].op
            if op.parent is not None:
                op.detach()
            _insert(block, op, end)

    def _fusion(self, group: Group, labels: _Labels) -> FusionOp:
        return _make_fusion(self._contents(group), self._accesses.inlined, labels)

    def _in_order(self) -> Iterator[Group]:
        """The groups, each after those it depends on, otherwise in the order of their last operations."""
        pending = sorted(self._graph.groups, key=lambda g: g.members.bit_length())
        done = 0
        while pending:
            group = next(g for g in pending if not g.upstream & ~done)
            pending.remove(group)
            done |= group.members
            yield group

    def _contents(self, group: Group) -> list[Operation]:
        """The operations of a fusion in order: the members, and the inlined operations they read through."""
        contents: list[Operation] = []
        seen: set[Operation] = set()
        for node in sorted(group.nodes, key=lambda n: n.index):
            self._collect(node.op, seen, contents)
        return contents

    def _collect(self, op: Operation, seen: set[Operation], contents: list[Operation]) -> None:
        seen.add(op)
        for value in op.operands:
            if value.owner in self._accesses.inlined and value.owner not in seen:
                self._collect(value.owner, seen, contents)  # pyright: ignore
        contents.append(op)


def _insert(block: Block, op: Operation, before: Operation | None) -> None:
    if before is None:
        block.add_op(op)
    else:
        block.insert_op_before(op, before)


def _make_fusion(contents: Sequence[Operation], inlined: set[Operation], labels: _Labels) -> FusionOp:
    """Move `contents` into a new fusion; an inlined operation that others need as well is copied."""
    moved = set(contents)
    for op in reversed(contents):
        # What an inlined operation that stays behind reads stays behind as well, or is a result.
        if op in inlined and _outside_results(op, moved):
            moved.remove(op)
    body = Block()
    copies: dict[SSAValue, SSAValue] = {}
    results: list[SSAValue] = []
    for op in contents:
        if op not in moved:
            copy = op.clone(copies)
            copies[op.results[0]] = copy.results[0]
            body.add_op(copy)
            continue
        results += _outside_results(op, moved)
        op.detach()
        body.add_op(op)
        if copies:
            op.operands = [copies.get(v, v) for v in op.operands]
    return _yield_results(body, results, contents, labels)


def _outside_results(op: Operation, inside: set[Operation]) -> list[SSAValue]:
    """The results of `op` that operations other than those `inside` use."""
    return [r for r in op.results if any(not _is_in(use.operation, inside) for use in r.uses)]


def _is_in(op: Operation | None, members: set[Operation]) -> bool:
    while op is not None and op not in members:
        op = op.parent_op()
    return op is not None


def _yield_results(
    body: Block, results: Sequence[SSAValue], contents: Sequence[Operation], labels: _Labels
) -> FusionOp:
    types = [r.type for r in results]
    owner = results[0].owner
    assert isinstance(owner, Operation)
    label = labels.take(results[0].name_hint or owner.name.removeprefix("nt."))
    fusion = FusionOp.create(
        result_types=types, properties={"label": StringAttr(label)}, regions=[Region(body)]
    )
    fusion.location = _fused_location(contents)
    for inner, outer in zip(results, fusion.results, strict=True):
        outer.name_hint = inner.name_hint
        inner.replace_uses_with_if(outer, lambda use: use.operation.parent is not body)
    end = YieldOp.create(operands=results)
    end.location = fusion.location
    body.add_op(end)
    return fusion


def _fused_location(ops: Sequence[Operation]) -> LocationAttr:
    locations = list(dict.fromkeys(op.location for op in ops if op.location is not UNKNOWN_LOC))
    if len(locations) < 2:
        return locations[0] if locations else UNKNOWN_LOC
    return FusedLoc(tuple(locations), NoneAttr())
