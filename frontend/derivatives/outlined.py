"""A Python function as a private function of the module, for operations beside it (nt.vjp, nt.jvp).

    nt.grad(lambda v: (s * v).sum())(x)

->  func.func private @lambda(%v: tensor<8xf32>, %s: tensor<f32>) -> tensor<f32> { ... }

Its body is inlined as any function is, into a block of its own: first come its tensors, then what it uses from outside.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from xdsl.dialects import func
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import Pure

from ..control.forms import Form, built, flatten, form_of
from ..control.sweeps import NotElementwise
from ..frame.frame import Frame
from ..frame.objects import refuse_changes
from ..interface.errors import UnsupportedError
from ..values.arithmetic import index_value
from ..values.extents import Affine, Atom
from ..values.graph import Graph
from ..values.names import ir_name
from ..values.values import (
    Array,
    Buffer,
    Extents,
    Index,
    Static,
    Value,
    describe,
    is_number,
    serials,
)
from ..values.writes import memory_among
from .leaves import Leaf, kind_of_number, leaves_of, like


@dataclass(eq=False)
class Result:
    """A number or an array that the function gives: which of its results it is; the form of the value it becomes.

    A `known` value is none of its results: a constant, or an integer of extents.
    """

    path: str
    form: Form
    position: int = -1
    known: Value | None = None


@dataclass(eq=False)
class Outlined:
    """A private function, and what its results are in Python.

    `captured` comes after its own tensors when it is called. Its results are those of `results`, extents that only it
    knows, and the final contents of the arrays outside that it has `written`.
    """

    function: func.FuncOp
    forms: tuple[Form, ...]
    captured: tuple[SSAValue, ...]
    value: Value
    results: tuple[Result, ...]
    extents: tuple[Affine, ...]
    written: tuple[Buffer, ...]
    _known: list[tuple[Affine, Affine]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.function.sym_name.data

    @property
    def types(self) -> tuple[Attribute, ...]:
        """The types of its results."""
        return tuple(self.function.function_type.outputs)

    def inlined(self, graph: Graph, tensors: Sequence[SSAValue]) -> list[SSAValue]:
        """Its body where the program stands: its results."""
        block = self.function.body.block
        values: dict[SSAValue, SSAValue] = dict(zip(block.args, (*tensors, *self.captured), strict=True))
        for op in block.ops:
            if isinstance(op, func.ReturnOp):
                return [values.get(v, v) for v in op.arguments]
            graph.block.add_op(op.clone(values))
        raise AssertionError("a function without a return")

    def take_effect(self, frame: Frame, tensors: Sequence[SSAValue]) -> None:
        """What follows from a call with these results: extents are known, arrays outside have new contents."""
        rest = tensors[len(self.types) - len(self.extents) - len(self.written) :]
        for affine, ssa in zip(self.extents, rest, strict=False):
            self._known.append((affine, Affine.of(Atom(ssa, low=0))))
        for buffer, ssa in zip(self.written, rest[len(self.extents) :], strict=True):
            frame.graph.update(buffer, ssa)

    def python_value(self, frame: Frame, tensors: Sequence[SSAValue]) -> Value:
        """The Python result of a call with these results."""
        return self.like_result(
            frame, [None if r.known is not None else tensors[r.position] for r in self.results]
        )

    def like_result(self, frame: Frame, tensors: Sequence[SSAValue | None]) -> Value:
        """A value with the structure of the Python result, of a tensor for each number or array that is not known."""
        leaves = [
            self.leaf(frame, r, ssa) if ssa is not None else r.known if r.known is not None else Static(None)
            for r, ssa in zip(self.results, tensors, strict=True)
        ]
        return like(frame, self.value, iter(leaves))

    def like_forms(self, frame: Frame) -> Value:
        """A value with the structure and the types of the Python result, of nothing that is computed: to compare with."""
        stand_ins = Block(arg_types=[t for r in self.results if r.known is None for t in r.form.types()])
        rest = iter(stand_ins.args)
        return self.like_result(frame, [next(rest) if r.known is None else None for r in self.results])

    def leaf(self, frame: Frame, result: Result, tensor: SSAValue) -> Value:
        """A tensor as a value of the form of a result."""
        return built(frame, self.visible(frame.graph, result.form), iter([tensor]), "")

    def extents_of(self, frame: Frame, result: Result) -> Extents:
        """The shape of a result, as it is known outside."""
        return self.visible(frame.graph, result.form).extents or ()

    def visible(self, graph: Graph, form: Form) -> Form:
        """The form of a result, of extents that are known outside."""
        if form.extents is None:
            return form
        return Form(form.kind, tuple([self._extent(graph, e) for e in form.extents]), order=form.order)

    def _extent(self, graph: Graph, extent: Affine) -> Affine:
        known = next((seen for inner, seen in self._known if inner.equals(extent)), None)
        known = graph.visible(extent) if known is None else known
        assert known is not None
        return known


def outline(
    frame: Frame,
    node: ast.expr,
    label: str,
    forms: Sequence[Form],
    names: Sequence[str],
    run: Callable[[list[Value]], Value],
    done: str = "differentiated",
    given_as: str = "with respect to which it is differentiated",
    given_from: Sequence[Value] = (),
) -> Outlined:
    """The function that `run` computes, of numbers and arrays of these forms; `names` are theirs, `label` is to be its own.

    `done` says in messages what is done with it, `given_as` what its arguments are; `given_from` are these, outside of it.

    Raises a diagnostic where it changes objects from outside, or writes to the arrays that it is a function of.
    """
    graph, before = frame.graph, dict(frame.variables)
    if graph.island is not None:
        raise NotElementwise(
            f"{label} is {done} in a loop over elements",
            frame.source.place(node),
            hint="write the loop in Python (for i in range(n): ...), or use nt.vmap",
        )
    since = next(serials)
    block = Block(arg_types=[t for form in forms for t in form.types()])
    for argument, name in zip(block.args, names, strict=True):
        argument.name_hint = hint_of(name)
    try:
        with graph.journal() as written, graph.function_inside(block):
            given = [
                built(frame, form, iter([argument]), argument.name_hint or "")
                for form, argument in zip(forms, block.args, strict=True)
            ]
            graph.outlining += 1
            try:
                value = run(given)
            finally:
                graph.outlining -= 1
            frame.at(node)
            refuse_writes(frame, node, label, given_as, names, given, given_from, written)
            refuse_changes(frame, node, before, f"by {label}, which is {done}")
            leaves = leaves_of(frame, value, "result")
            shape = like(frame, value, iter([leaf for _, leaf in leaves]))
            outer = [b for b in written if b.value is not None and b.serial < since]
            contents = [b.value for b in outer if b.value is not None]
        # Arrays made inside keep what was written to them: only the function sees them.
        graph.restore({b: written[b] for b in outer})
    finally:
        frame.scope.variables = before
    results, extents = _results(frame, node, label, leaves)
    with graph.function_inside(block):
        frame.at(node)
        returned: list[SSAValue] = []
        for result, (_, leaf) in zip(results, leaves, strict=True):
            if result.known is None:
                result.position = len(returned)
                returned += flatten(frame, result.form, leaf)
        returned += [graph.index(e) for e in extents]
        graph.insert(func.ReturnOp(*returned, *contents))
    captured = _isolated(block)
    if forms:
        _refuse_overlaps(frame, node, f"{label}, which is {done},", outer, captured)
    types = [v.type for v in (*returned, *contents)]
    function = func.FuncOp(
        graph.new_function(label), ([a.type for a in block.args], types), Region(block), "private"
    )
    function.location = graph.location
    graph.functions[function.sym_name.data] = function
    return Outlined(function, tuple(forms), captured, shape, tuple(results), tuple(extents), tuple(outer))


def refuse_writes(
    frame: Frame,
    node: ast.AST,
    label: str,
    given_as: str,
    names: Sequence[str],
    given: Sequence[Value],
    given_from: Sequence[Value],
    written: Iterable[Buffer],
) -> None:
    """Refuse writes to an argument, and to memory that it has outside: the function has a copy, which would not change."""
    touched = memory_among(written)
    for name, inner, outer in zip_longest(names, given, given_from):
        owner = name.partition("[")[0].partition(".")[0]
        copy = f"{owner}.copy()" if owner.isidentifier() else "x.copy()"
        if isinstance(inner, Array) and inner.buffer in touched:
            frame.fail(node, f"{label} writes to {name}, {given_as}", f"let it work on a copy: {copy}")
        if isinstance(outer, Array) and not touched.isdisjoint(memory_among([outer.buffer])):
            frame.fail(
                node,
                f"{label} writes to an array that shares memory with {name}, {given_as}",
                f"give it arrays that do not share memory: {copy}",
            )


def _refuse_overlaps(
    frame: Frame, node: ast.AST, what: str, written: Sequence[Buffer], captured: Sequence[SSAValue]
) -> None:
    """Refuse writes to arrays outside that another one overlaps which is used: derivatives are those of separate tensors."""
    used = {*captured, *[b.value for b in written]}
    for buffer in written:
        other = next((b for b in buffer.overlapping if b is not buffer and b.value in used), None)
        if other is not None:
            frame.fail(
                node,
                f"{what} writes to {_named(buffer)} and uses {_named(other)}, which overlaps it",
                "use one of them, and views of it",
            )


def _named(buffer: Buffer) -> str:
    return f"'{buffer.name}'" if buffer.name else "an array"


def _results(
    frame: Frame, node: ast.AST, label: str, leaves: Sequence[Leaf]
) -> tuple[list[Result], list[Affine]]:
    """What the leaves of a result are outside of the function, and the extents that have to be told."""
    graph = frame.graph
    results: list[Result] = []
    extents: list[Affine] = []
    for path, leaf in leaves:
        if isinstance(leaf, Index) and (seen := graph.visible(leaf.affine)) is not None:
            results.append(Result(path, Form(), known=index_value(seen)))
        elif isinstance(leaf, Static) and kind_of_number(frame, leaf) not in ("f", "c"):
            results.append(Result(path, Form(), known=leaf))
        elif not is_number(leaf):
            frame.fail(
                node,
                f"{path} of {label} is {describe(leaf)}",
                "let it return arrays, numbers, and structures of them",
                UnsupportedError,
            )
        else:
            form = form_of(frame, "", leaf)
            results.append(Result(path, Form(form.kind, form.extents, order=form.order)))
            for extent in form.extents or ():
                if graph.visible(extent) is None and not any(e.equals(extent) for e in extents):
                    extents.append(extent)
    return results, extents


def _isolated(block: Block) -> tuple[SSAValue, ...]:
    """Give a block arguments for what it uses from outside: that. Constants are made in it."""
    ops = list(block.walk())
    own: set[Operation | Block] = {block, *ops, *(b for op in ops for r in op.regions for b in r.blocks)}
    places: dict[SSAValue, SSAValue] = {}
    captured: list[SSAValue] = []
    for op in ops:
        for k, operand in enumerate(op.operands):
            if operand.owner in own:
                continue
            if operand not in places:
                places[operand] = _constant_in(block, operand) or _argument_of(block, operand, captured)
            op.operands[k] = places[operand]
    return tuple(captured)


def _constant_in(block: Block, value: SSAValue) -> SSAValue | None:
    op = value.owner
    if not isinstance(op, Operation) or op.operands or op.regions or not op.has_trait(Pure):
        return None
    if len(op.results) != 1:
        return None
    made = op.clone()
    assert block.first_op is not None
    block.insert_ops_before([made], block.first_op)
    return made.results[0]


def _argument_of(block: Block, value: SSAValue, captured: list[SSAValue]) -> SSAValue:
    argument = block.insert_arg(value.type, len(block.args))
    argument.name_hint = value.name_hint
    captured.append(value)
    return argument


def tensors_of(frame: Frame, values: Iterable[tuple[Form, Value]]) -> list[SSAValue]:
    """The tensors of numbers and arrays of these forms."""
    return [ssa for form, value in values for ssa in flatten(frame, form, value)]


def form_of_argument(frame: Frame, value: Value) -> Form:
    """The form of a number or an array that a function is given."""
    form = form_of(frame, "", value)
    return Form(form.kind, form.extents, order=form.order)


def hint_of(path: str, prefix: str = "") -> str | None:
    """The path of a leaf as the name of an SSA value: `params['w']` is `params_w`."""
    name = (
        "".join([c if c.isalnum() else "_" for c in ir_name(path)])
        .strip("_")
        .replace("___", "_")
        .replace("__", "_")
    )
    return f"{prefix}{name}" if name.isidentifier() else None
