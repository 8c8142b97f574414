"""nt.vmap in compiled code: a function of slices is a private function, and a call of it an operation on stacks.

nt.vmap(f, in_axes=(0, None))(x, w)    ->    %r = nt.batch @f(%x, %w : tensor<8x4xf32>, tensor<4xf32>) along [0, -1]
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from xdsl.dialects.builtin import TensorType
from xdsl.ir import SSAValue

from ...dialects.nt import BatchOp
from ...dialects.nt.batch_op import WHOLE
from ..control.forms import Form, built
from ..frame.frame import Frame
from ..frame.recursion import call
from ..interface.axes import AXES, wrong_axis
from ..interface.errors import DTypeError, ShapeError, UnsupportedError
from ..values.arithmetic import require_static
from ..values.contents import as_tensor
from ..values.equal_extents import require_equal
from ..values.extents import Affine
from ..values.tensors import as_array, broadcast, transpose
from ..values.values import Array, Group, Static, Value, describe, extents_of, is_number, shape_text
from .compiled import callee, label_of_function
from .leaves import leaves_of, like, spread
from .outlined import Outlined, Result, form_of_argument, outline, tensors_of
from .parameters import all_parameters_of, parameters_of

FIRST = Static(0)


@dataclass(eq=False)
class _Leaf:
    """A value in an argument, and the axis along which it is sliced; None: each slice gets all of it."""

    path: str
    value: Value
    axis: int | None


def vmap_(frame: Frame, node: ast.Call, fun: Value, in_axes: Value = FIRST, out_axes: Value = FIRST) -> Value:
    """`nt.vmap(f, in_axes, out_axes)`."""
    label = label_of_function(frame, node, fun, "vmap")
    what = f"nt.vmap of {label}"
    axes = [_constants(frame, given, word) for given, word in ((in_axes, "in_axes"), (out_axes, "out_axes"))]
    for word, given in zip(("in_axes", "out_axes"), axes, strict=True):
        if (wrong := wrong_axis(given)) is not None:
            frame.fail(node, f"{what}: {word} has {wrong} in it", AXES, DTypeError)

    def called(frame: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return _Call(frame, node, what, label).of(fun, args, kwargs, *axes)

    return callee(frame, called, f"what nt.vmap gives for {label}", f"vmap_of_{label}", fun)


def _constants(frame: Frame, value: Value, what: str) -> Any:
    """A structure of constants as Python has it."""
    value = spread(frame, value)
    if not isinstance(value, Group):
        return require_static(frame.graph, value, what)
    items = [_constants(frame, item, what) for item in value.items]
    if value.names is not None:
        return dict(zip(value.names, items, strict=True))
    return list(items) if value.kind is list else tuple(items)


class _Call:
    """A call of what nt.vmap gave."""

    def __init__(self, frame: Frame, node: ast.Call, what: str, label: str):
        self.frame, self.node, self.what, self.label = frame, node, what, label

    def fail(self, message: str, hint: str | None = None, error: type[Exception] = ShapeError) -> NoReturn:
        self.frame.fail(self.node, f"{self.what}: {message}", hint, error)  # pyright: ignore

    def of(self, fun: Value, args: list[Value], kwargs: dict[str, Value], inward: Any, outward: Any) -> Value:
        """The stacked results."""
        frame = self.frame
        given = [spread(frame, v) for v in (*args, *kwargs.values())]
        known = all_parameters_of(fun)
        optional = {name for name, has_default in known.items() if has_default}
        parameters = parameters_of(fun) or list(known)
        names = [
            *parameters[: len(args)],
            *[f"argument{k}" for k in range(len(parameters), len(args))],
            *kwargs,
        ]
        axes = [*self._of_arguments(inward, names[: len(args)], optional), *[0] * len(kwargs)]
        leaves: list[_Leaf] = []
        for k, (value, name, axis) in enumerate(zip(given, names, axes, strict=True)):
            is_named = isinstance(inward, tuple | list) and k < len(inward)
            is_default = name in optional and not is_named and not extents_of_any(value)
            leaves += self._leaves(value, None if is_default else axis, name)
        sliced = [leaf for leaf in leaves if leaf.axis is not None]
        if not sliced:
            self.fail("no argument is sliced", "in_axes says along which axis each is: in_axes=(0, None)")
        count = self._count(sliced)
        forms = [self._form(leaf) for leaf in sliced]

        def run(slices: list[Value]) -> Value:
            rest = iter(slices)
            values = iter([next(rest) if leaf.axis is not None else leaf.value for leaf in leaves])
            own = [like(frame, value, values) for value in given]
            named = dict(zip(kwargs, own[len(args) :], strict=True))
            value = call(frame, self.node, fun, own[: len(args)], named)
            frame.at(self.node)
            return value

        outlined = outline(
            frame,
            self.node,
            self.label,
            forms,
            [leaf.path for leaf in sliced],
            run,
            "applied to slices",
            "of which it is given slices",
        )
        if outlined.written:
            self.fail(
                f"the function writes to '{outlined.written[0].name or 'an array'}', which all slices share",
                "return the new values, and write them after the call",
                UnsupportedError,
            )
        outer = tensors_of(frame, [(form_of_argument(frame, leaf.value), leaf.value) for leaf in sliced])
        along = [leaf.axis or 0 for leaf in sliced] + [WHOLE] * len(outlined.captured)
        to = self._of_results(outlined, outward)
        whole = [k for k, t in enumerate(outlined.types) if not isinstance(t, TensorType)]
        whole += [
            r.position
            for r, axis in zip(outlined.results, to, strict=True)
            if axis is None and r.known is None
        ]
        op = BatchOp(outlined.name, [*outer, *outlined.captured], along, outlined.types, sorted(whole))
        frame.graph.insert(op)
        outlined.take_effect(frame, list(op.results_))
        results = [
            self._result(outlined, result, op.results_, axis, count)
            for result, axis in zip(outlined.results, to, strict=True)
        ]
        return like(frame, outlined.value, iter(results))

    # ---- arguments --------------------------------------------------------------------------------------

    def _of_arguments(self, axes: Any, names: list[str], optional: set[str]) -> list[Any]:
        """The axes of the arguments that are given by position; those of parameters with defaults may be left out."""
        if not isinstance(axes, tuple | list):
            return [axes] * len(names)
        if len(axes) > len(names) or not optional.issuperset(names[len(axes) :]):
            self.fail(
                f"in_axes has {len(axes)} entries for {len(names)} arguments",
                "an axis (or None) for each argument; those of keyword-only parameters are sliced along axis 0",
            )
        return [*axes, *[0] * (len(names) - len(axes))]

    def _leaves(self, value: Value, axes: Any, path: str) -> Iterator[_Leaf]:
        """The values in an argument, with the axes that a structure of axes has for them."""
        value = spread(self.frame, value)
        if isinstance(axes, int | None):
            for name, leaf in leaves_of(self.frame, value, path):
                yield self._leaf(name, leaf, axes)
            return
        for name, item, axis in self._paired(value, axes, path, "in_axes"):
            yield from self._leaves(item, axis, name)

    def _paired(self, value: Value, axes: Any, path: str, word: str) -> Iterator[tuple[str, Value, Any]]:
        """The items of a structure with those of a structure of axes."""
        keys = list(axes) if isinstance(axes, dict) else list(range(len(axes)))
        names = [] if not isinstance(value, Group) else value.names
        own = list(range(len(value.items))) if names is None else list(names)  # pyright: ignore
        if not isinstance(value, Group) or sorted(map(str, own)) != sorted(map(str, keys)):
            self.fail(
                f"{word} has {axes!r} for {path}, which is {describe(value)}",
                "it has one axis for all of an argument, or the structure of the argument",
            )
        for key, item in zip(own, value.items, strict=True):
            is_attribute = names is not None and value.kind is not dict
            yield (f"{path}.{key}" if is_attribute else f"{path}[{key!r}]"), item, axes[key]

    def _leaf(self, path: str, value: Value, axis: int | None) -> _Leaf:
        if axis is None:
            return _Leaf(path, value, None)
        if not is_number(value):
            self.fail(f"{path} is {describe(value)}, which has no slices", "in_axes=None for it", DTypeError)
        rank = len(extents_of(value))
        if not -rank <= axis < rank:
            of = "a number" if not rank else f"an array with {rank} ax{'i' if rank == 1 else 'e'}s"
            self.fail(f"{path} is {of}, and has no axis {axis}", "in_axes=None gives all of it to each slice")
        return _Leaf(path, value, axis % rank)

    def _count(self, sliced: list[_Leaf]) -> Affine:
        """The number of slices, which is one."""
        first, *rest = sliced
        assert first.axis is not None
        count = extents_of(first.value)[first.axis]
        for leaf in rest:
            assert leaf.axis is not None
            other = extents_of(leaf.value)[leaf.axis]
            if not require_equal(self.frame.graph, count, other, self.what):
                self.fail(
                    f"{first.path} has {_number(count)} slices along axis {first.axis}, and {leaf.path} has "
                    f"{_number(other)} along axis {leaf.axis}",
                    "what is not sliced has None in in_axes",
                )
            count = other if count.known is None else count
        return count

    def _form(self, leaf: _Leaf) -> Form:
        """What a slice is: an array, or a number."""
        form = form_of_argument(self.frame, leaf.value)
        assert form.extents is not None and leaf.axis is not None
        extents = (*form.extents[: leaf.axis], *form.extents[leaf.axis + 1 :])
        return Form(form.dtype, extents) if extents else Form(form.dtype)

    # ---- results ----------------------------------------------------------------------------------------

    def _of_results(self, outlined: Outlined, axes: Any) -> list[int | None]:
        """Of each result: the axis along which it is stacked, None where it is given as it is."""
        return list(self._axes_of_result(outlined.value, axes, "the result"))

    def _axes_of_result(self, value: Value, axes: Any, path: str) -> Iterator[int | None]:
        if isinstance(axes, int | None):
            yield from [axes] * len(leaves_of(self.frame, value, ""))
            return
        for name, item, axis in self._paired(spread(self.frame, value), axes, path, "out_axes"):
            yield from self._axes_of_result(item, axis, name)

    def _result(
        self, outlined: Outlined, result: Result, tensors: Sequence[SSAValue], axis: int | None, count: Affine
    ) -> Value:
        frame = self.frame
        if axis is None:
            return (
                result.known
                if result.known is not None
                else outlined.leaf(frame, result, tensors[result.position])
            )
        if result.known is not None:
            return self._repeated(result, axis, count)
        extents = (count, *outlined.extents_of(frame, result))
        tensor = tensors[result.position]
        value = built(frame, Form(result.form.dtype, extents), iter([tensor]), "")
        return self._along(value, axis, result.path)

    def _repeated(self, result: Result, axis: int, count: Affine) -> Value:
        """A number that is the same for all slices."""
        assert result.known is not None
        if not is_number(result.known):
            self.fail(
                f"{result.path} is {describe(result.known)}, of which there are no stacks",
                "let the function return arrays and numbers; out_axes=None gives it as it is",
                DTypeError,
            )
        tensor = as_tensor(self.frame.graph, result.known)
        return self._along(as_array(broadcast(self.frame.graph, tensor, (count,))), axis, result.path)

    def _along(self, value: Value, axis: int, path: str) -> Value:
        """A stack with the slices along another axis than the first."""
        rank = len(extents_of(value))
        if not -rank <= axis < rank:
            self.fail(f"out_axes has {axis} for {path}, whose stack has {rank} axes")
        if not axis % rank:
            return value
        order = list(range(1, rank))
        order.insert(axis % rank, 0)
        assert isinstance(value, Array)
        return as_array(transpose(self.frame.graph, as_tensor(self.frame.graph, value), order))


def _number(extent: Affine) -> str:
    return shape_text((extent,)).strip("(,)")


def extents_of_any(value: Value) -> bool:
    """Whether a value has axes, or is a structure, which may hold what has."""
    return isinstance(value, Group) or (is_number(value) and bool(extents_of(value)))


INSIDE_CALLS = {"vmap": vmap_}
