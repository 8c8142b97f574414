"""nt.jacfwd, nt.jacrev and nt.hessian in compiled code: derivatives along every vector of a basis, by nt.batch.

nt.jacfwd(f)(x)    ->    func.func private @f.push(%t, %x) { nt.jvp replay @f(%x) tangents(%t) ... }
                         %j = nt.batch @f.push(%basis, %x) along [0, -1]     // a column of the Jacobian a slice
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence

import numpy as np
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Block, Region, SSAValue

from ...dialects.nt import BatchOp, JvpOp, VjpOp
from ...dialects.nt.batch_op import WHOLE
from ...dialects.nt.ops import element_of, shape_of
from ..control.forms import Form, built
from ..frame.frame import Frame
from ..frame.recursion import call
from ..interface.errors import DTypeError
from ..numpy_api.families import FUNCTIONS
from ..values.arithmetic import index_value, operate
from ..values.contents import as_tensor
from ..values.tensors import constant
from ..values.values import NOTHING, Extents, Group, Static, Tensor, Value
from .compiled import FALSE, FIRST, Made, active_of, callee, label_of_function, options_of
from .leaves import like
from .outlined import Result, outline
from .parameters import select


def _jacobian(name: str, forward: bool, of: str | None = None) -> Callable[..., Value]:
    """`of` is what messages call the function."""

    def transform(
        frame: Frame,
        node: ast.Call,
        fun: Value,
        argnums: Value = FIRST,
        *,
        argnames: Value = NOTHING,
        has_aux: Value = FALSE,
    ) -> Value:
        label = label_of_function(frame, node, fun, name)
        numbers, names, aux = options_of(frame, argnums, argnames, has_aux)

        def called(frame: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
            what = f"nt.{name} of {of or label}"
            selected = select(frame, node, what, fun, args, kwargs, numbers, names)
            active = active_of(frame, node, what, selected.named, selected.instead, "f")

            def run(leaves: list[Value]) -> Value:
                own = selected.given(active.like(frame, leaves))
                value = call(frame, node, fun, *own)
                frame.at(node)
                return value

            outlined = outline(frame, node, label, active.forms, active.paths, run, given_from=active.values)
            made = Made(what, label, active, outlined, [*active.tensors(frame), *outlined.captured])
            value = made.run(frame)
            results = made.differentiated(frame, node, aux)
            for result in results:
                if result.form.dtype.kind == "c":
                    frame.fail(
                        node,
                        f"{what}: {result.path} is complex",
                        "Jacobians are of real functions: return z.real and z.imag",
                        DTypeError,
                    )
            rows = (_by_columns if forward else _by_rows)(frame, made, results)
            blocks = iter([selected.packed(active.gradients(frame, row)) for row in rows])
            shape = outlined.value
            if aux:
                assert isinstance(shape, Group) and isinstance(value, Group)
                return Group((like(frame, shape.items[0], blocks), value.items[1]))
            return like(frame, shape, blocks)

        return callee(frame, called, f"what nt.{name} gives for {label}", f"{name}_of_{label}", fun)

    return transform


def hessian_(
    frame: Frame,
    node: ast.Call,
    fun: Value,
    argnums: Value = FIRST,
    *,
    argnames: Value = NOTHING,
    has_aux: Value = FALSE,
) -> Value:
    """`nt.hessian(f)`: the Jacobian, column by column, of the Jacobian, row by row."""
    label = label_of_function(frame, node, fun, "hessian")
    options: dict[str, Value] = {"argnames": argnames, "has_aux": has_aux}
    inner = _jacobian("hessian", False)(frame, node, fun, argnums, **options)
    return _jacobian("hessian", True, label)(frame, node, inner, argnums, **options)


# ---- columns and rows -----------------------------------------------------------------------------------


def _by_columns(frame: Frame, made: Made, results: Sequence[Result]) -> list[list[Value]]:
    """Of each result, with respect to each argument: the tangents for all unit vectors of the argument."""
    columns: list[list[Value]] = []
    of = [r.position for r in results]
    for k, form in enumerate(made.active.forms):

        def push(own: Sequence[SSAValue], tangent: SSAValue, k: int = k) -> JvpOp:
            return JvpOp(made.outlined.name, own, [tangent], [k], of, made.outlined.types, replay=True)

        shape = form.extents or ()
        basis = _basis(frame, form.dtype, shape)
        tangents = _along(frame, made, f"{made.label}.push", basis, push)
        column: list[Value] = []
        for result, tensor in zip(results, tangents, strict=True):
            extents = made.outlined.extents_of(frame, result)
            stack = _stacked(tensor, frame, result.form.dtype, basis, extents)
            if shape:
                stack = FUNCTIONS[np.moveaxis](frame.graph, stack, Static(0), Static(-1))
            column.append(_shaped(frame, stack, (*extents, *shape)))
        columns.append(column)
    return [list(row) for row in zip(*columns, strict=True)]


def _by_rows(frame: Frame, made: Made, results: Sequence[Result]) -> list[list[Value]]:
    """Of each result, with respect to each argument: the gradients for all unit vectors of the result."""
    rows: list[list[Value]] = []
    forms = made.active.forms
    for result in results:

        def pull(own: Sequence[SSAValue], cotangent: SSAValue, position: int = result.position) -> VjpOp:
            of, types = [position], made.outlined.types
            return VjpOp(made.outlined.name, own, [cotangent], range(len(forms)), of, types, replay=True)

        extents = made.outlined.extents_of(frame, result)
        basis = _basis(frame, result.form.dtype, extents)
        gradients = _along(frame, made, f"{made.label}.pull", basis, pull)
        row: list[Value] = []
        for form, tensor in zip(forms, gradients, strict=True):
            shape = form.extents or ()
            stack = _stacked(tensor, frame, form.dtype, basis, shape)
            row.append(_shaped(frame, stack, (*extents, *shape)))
        rows.append(row)
    return rows


def _basis(frame: Frame, dtype: np.dtype, extents: Extents) -> Tensor:
    """The unit vectors of a shape, one after the other; of a number the one."""
    graph = frame.graph
    if not extents:
        return Tensor(constant(graph, 1, dtype), dtype, (), True)
    total: Value = Static(1)
    for extent in extents:
        total = operate(graph, "multiply", total, index_value(extent))
    unit = FUNCTIONS[np.eye](graph, total, dtype=Static(dtype))
    shape = Group((total, *[index_value(extent) for extent in extents]))
    return as_tensor(graph, FUNCTIONS[np.reshape](graph, unit, shape))


def _along(
    frame: Frame,
    made: Made,
    label: str,
    basis: Tensor,
    derivative: Callable[[Sequence[SSAValue], SSAValue], VjpOp | JvpOp],
) -> Sequence[SSAValue]:
    """The derivatives for all unit vectors, stacked; of a number, that for 1."""
    graph = frame.graph
    if not basis.extents:
        op = derivative(made.operands, basis.ssa)
        graph.insert(op)
        return op.derivatives
    kind = TensorType(element_of(basis.ssa), shape_of(basis.ssa)[1:])
    block = Block(arg_types=[kind, *[v.type for v in made.operands]])
    direction, *own = block.args
    inner = derivative(own, direction)
    types = [v.type for v in inner.derivatives]
    block.add_ops([inner, func.ReturnOp(*inner.derivatives)])
    function = func.FuncOp(
        graph.new_function(label), ([a.type for a in block.args], types), Region(block), "private"
    )
    inner.location = function.location = graph.location
    graph.functions[function.sym_name.data] = function
    along = [0, *[WHOLE] * len(own)]
    op = BatchOp(function.sym_name.data, [basis.ssa, *made.operands], along, types)
    graph.insert(op)
    return op.results_


def _stacked(tensor: SSAValue, frame: Frame, dtype: np.dtype, basis: Tensor, extents: Extents) -> Value:
    """A stack of derivatives of this shape as a value."""
    form = Form(dtype, (*basis.extents[:1], *extents)) if basis.extents or extents else Form(dtype)
    return built(frame, form, iter([tensor]), "")


def _shaped(frame: Frame, value: Value, extents: Extents) -> Value:
    """The same elements in another shape; a number as it is."""
    if not extents:
        return value
    return FUNCTIONS[np.reshape](frame.graph, value, Group(tuple(map(index_value, extents))))


INSIDE_CALLS: dict[str, Callable[..., Value]] = {
    "jacfwd": _jacobian("jacfwd", True),
    "jacrev": _jacobian("jacrev", False),
    "hessian": hessian_,
}
