"""nt.grad and its kin in compiled code: each gives a function, and a call of that is an operation beside a private function.

g = nt.grad(loss)(w)        %y, %g = nt.vjp @loss(%w) cotangents(%one) wrt [0] of [0]
y, t = nt.jvp(f, (x,), (v,))       nt.jvp @f(%x) tangents(%v) wrt [0] of [0]
y, pullback = nt.vjp(f, x)         the body of f; each call of pullback is a nt.vjp replay
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from xdsl.ir import SSAValue

from ...dialects.nt import JvpOp, StopGradientOp, VjpOp
from ..control.forms import Form, built, flatten
from ..frame.frame import Frame
from ..frame.outside import class_attribute
from ..frame.recursion import call
from ..interface.captured import Absent
from ..interface.errors import DTypeError, ShapeError
from ..values.arithmetic import require_static
from ..values.callees import Callee
from ..values.tensors import constant
from ..values.values import (
    NOTHING,
    Closure,
    Extents,
    Group,
    Method,
    Static,
    Value,
    describe,
    extents_of,
    shape_text,
)
from .directions import differs
from .leaves import dtype_of_number, kind_of_number, leaves_in_objects, leaves_of, like, mismatch, spread
from .outlined import Outlined, Result, form_of_argument, hint_of, outline, tensors_of
from .parameters import Selected, label_of, parameters_of, select

FALSE = Static(False)
FIRST = Static(None)


@dataclass(eq=False)
class Active:
    """The arguments that a function is differentiated with respect to, one after the other, with their leaves.

    `kept` are attributes of objects that have no derivatives (a name, a size): None for each leaf that has.
    """

    arguments: list[Value]
    paths: list[str]
    values: list[Value]
    forms: list[Form]
    kept: list[Value | None]

    def tensors(self, frame: Frame) -> list[SSAValue]:
        return tensors_of(frame, zip(self.forms, self.values, strict=True))

    def like(self, frame: Frame, leaves: Sequence[Value]) -> list[Value]:
        """The arguments with other leaves."""
        run = iter(leaves)
        rest = iter([next(run) if one is None else one for one in self.kept])
        return [like(frame, argument, rest) for argument in self.arguments]

    def gradients(self, frame: Frame, leaves: Sequence[Value]) -> list[Value]:
        """The same with None for what has no derivative: what gradients and tangents are."""
        run = iter(leaves)
        rest = iter([next(run) if one is None else Static(None) for one in self.kept])
        return [like(frame, argument, rest) for argument in self.arguments]


def active_of(
    frame: Frame,
    node: ast.expr,
    what: str,
    named: Sequence[tuple[str, Value]],
    instead: str,
    kinds: str = "fc",
) -> Active:
    """The leaves of the arguments `named`; `instead` says what to do about one that has no derivative."""
    found = Active([], [], [], [], [])
    for name, argument in named:
        argument = spread(frame, argument)
        before = len(found.values)
        for path, leaf, in_object in leaves_in_objects(frame, argument, name):
            kind = kind_of_number(frame, leaf)
            is_kept = in_object and kind not in ("f", "c")
            if not is_kept and kind not in tuple(kinds):
                _refuse_leaf(frame, node, what, path, leaf, kind, instead)
            found.kept.append(leaf if is_kept else None)
            if not is_kept:
                found.paths.append(path)
                found.values.append(leaf)
                found.forms.append(form_of_argument(frame, leaf))
        if len(found.values) == before:
            frame.fail(node, f"{what}: {name} has no floats in it", instead, DTypeError)
        found.arguments.append(argument)
    return found


def _refuse_leaf(
    frame: Frame, node: ast.expr, what: str, path: str, leaf: Value, kind: str, instead: str
) -> NoReturn:
    if kind == "c":
        frame.fail(
            node,
            f"{what}: {path} is {describe(leaf)}: gradients are of real numbers",
            "of a holomorphic function, holomorphic=True gives the complex derivative; else use nt.vjp, whose pullback "
            "says what is done with complex numbers",
            DTypeError,
        )
    why = (
        "a holomorphic function is of complex numbers"
        if kind == "f"
        else "only floats and complex numbers have derivatives"
        if kind
        else "only numbers and arrays have derivatives"
    )
    frame.fail(node, f"{what}: {path} is {describe(leaf)}: {why}", instead, DTypeError)


# ---- grad and value_and_grad ------------------------------------------------------------------------


def options_of(frame: Frame, argnums: Value, argnames: Value, has_aux: Value) -> tuple[Any, Any, bool]:
    """`argnums`, `argnames` and `has_aux`, which are known when compiling."""
    numbers = require_static(frame.graph, as_constant(argnums), "argnums")
    names = require_static(frame.graph, as_constant(argnames), "argnames")
    return numbers, names, bool(require_static(frame.graph, has_aux, "has_aux"))


def _gradient(name: str, with_value: bool) -> Callable[..., Value]:
    def transform(
        frame: Frame,
        node: ast.Call,
        fun: Value,
        argnums: Value = FIRST,
        *,
        argnames: Value = NOTHING,
        has_aux: Value = FALSE,
        holomorphic: Value = FALSE,
    ) -> Value:
        label = label_of_function(frame, node, fun, name)
        numbers, names, aux = options_of(frame, argnums, argnames, has_aux)
        of_complex = bool(require_static(frame.graph, holomorphic, "holomorphic"))

        def called(frame: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
            what = f"nt.{name} of {label}"
            selected = select(frame, node, what, fun, args, kwargs, numbers, names)
            return _gradients(frame, node, what, label, fun, selected, with_value, aux, of_complex)

        return callee(frame, called, f"what nt.{name} gives for {label}", f"{name}_of_{label}", fun)

    return transform


def _gradients(
    frame: Frame,
    node: ast.Call,
    what: str,
    label: str,
    fun: Value,
    selected: Selected,
    with_value: bool,
    has_aux: bool,
    holomorphic: bool = False,
) -> Value:
    graph = frame.graph
    instead = "leave holomorphic=True out" if holomorphic else selected.instead
    active = active_of(frame, node, what, selected.named, instead, "c" if holomorphic else "f")

    def run(leaves: list[Value]) -> Value:
        args, kwargs = selected.given(active.like(frame, leaves))
        value = call(frame, node, fun, args, kwargs)
        frame.at(node)
        return value

    outlined = outline(frame, node, label, active.forms, active.paths, run, given_from=active.values)
    position = _loss_of(frame, node, what, outlined, has_aux, holomorphic)
    loss = outlined.results[position]
    one = constant(graph, 1, loss.form.dtype)
    op = VjpOp(
        outlined.name,
        [*active.tensors(frame), *outlined.captured],
        [one],
        range(len(active.forms)),
        [loss.position],
        outlined.types,
    )
    graph.insert(op)
    outlined.take_effect(frame, op.primals)
    gradients = selected.packed(active.gradients(frame, _of_forms(frame, active, op.derivatives)))
    value = outlined.python_value(frame, op.primals)
    if with_value:
        return Group((value, gradients))
    if not has_aux:
        return gradients
    assert isinstance(value, Group)
    return Group((gradients, value.items[1]))


def _of_forms(frame: Frame, active: Active, tensors: Sequence[SSAValue]) -> list[Value]:
    """Gradients as values of the forms of the arguments."""
    for tensor, path in zip(tensors, active.paths, strict=True):
        tensor.name_hint = tensor.name_hint or hint_of(path, "d_")
    return [
        built(frame, form, iter([tensor]), "") for form, tensor in zip(active.forms, tensors, strict=True)
    ]


def _loss_of(
    frame: Frame, node: ast.Call, what: str, outlined: Outlined, has_aux: bool, holomorphic: bool = False
) -> int:
    """Which result the loss is. Raises unless it is one real number, or a complex one of a holomorphic function."""
    value = outlined.value
    if has_aux:
        if not isinstance(value, Group) or value.kind is not tuple or len(value.items) != 2:
            frame.fail(
                node,
                f"{what}: with has_aux=True the function returns (loss, aux), this one returns {describe(value)}",
                "leave has_aux=True out, or return (loss, aux)",
                DTypeError,
            )
        value = value.items[0]
    if isinstance(value, Static) and value.raw is None:
        frame.fail(node, f"{what}: the function returns None", "let it return its loss", DTypeError)
    if isinstance(value, Group):
        frame.fail(
            node,
            f"{what}: the function returns {describe(value)} instead of one number",
            "with has_aux=True it may return (loss, aux); nt.vjp takes functions of several results",
            DTypeError,
        )
    kind = kind_of_number(frame, value)
    if kind == "c" and not holomorphic:
        frame.fail(
            node,
            f"{what}: the loss is {describe(value)}, a complex number",
            "return a real one, np.abs(z) or z.real; nt.vjp takes complex results",
            DTypeError,
        )
    if holomorphic and kind != "c":
        frame.fail(
            node,
            f"{what}: the loss is {describe(value)}, and that of a holomorphic function is complex",
            "leave holomorphic=True out: nt.vjp takes complex arguments of real functions",
            DTypeError,
        )
    if not holomorphic and kind != "f":
        frame.fail(
            node, f"{what}: the loss is {describe(value)}, not a floating-point number", None, DTypeError
        )
    if extents_of(value):
        dtype = dtype_of_number(frame, value)
        frame.fail(
            node,
            f"{what}: the loss is an array of shape {shape_text(extents_of(value))} and dtype {dtype}, not one number",
            "sum it; nt.vjp gives the product of any cotangent with the Jacobian",
            ShapeError,
        )
    return 0


# ---- jvp, vjp, linearize, hvp -----------------------------------------------------------------------


def jvp_(
    frame: Frame,
    node: ast.Call,
    fun: Value,
    primals: Value,
    tangents: Value,
    has_aux: Value = FALSE,
) -> Value:
    """`nt.jvp(f, primals, tangents)`: (the result, its tangent)."""
    label = label_of_function(frame, node, fun, "jvp")
    aux = bool(require_static(frame.graph, has_aux, "has_aux"))
    what = f"nt.jvp of {label}"
    made = _outlined(frame, node, what, label, fun, _primals(frame, node, what, primals))
    directions = made.tangents(frame, node, tangents)
    differentiated = made.differentiated(frame, node, aux)
    op = JvpOp(
        made.outlined.name,
        made.operands,
        directions,
        range(len(made.active.forms)),
        [r.position for r in differentiated],
        made.outlined.types,
    )
    frame.graph.insert(op)
    made.outlined.take_effect(frame, op.primals)
    value = made.outlined.python_value(frame, op.primals)
    return _with_aux(value, made.derivative(frame, op.derivatives, aux), aux)


def vjp_(frame: Frame, node: ast.Call, fun: Value, *primals: Value, has_aux: Value = FALSE) -> Value:
    """`nt.vjp(f, *primals)`: (the result, the function of its cotangent that gives the gradients)."""
    label = label_of_function(frame, node, fun, "vjp")
    aux = bool(require_static(frame.graph, has_aux, "has_aux"))
    what = f"nt.vjp of {label}"
    made, value = _run(frame, node, what, label, fun, primals, aux)
    pulled = value.items[0] if aux and isinstance(value, Group) else value

    def pullback(frame: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
        _one_argument(frame, node, f"the pullback of {label}", args, kwargs)
        made.check_visible(frame, node, f"the pullback of {label}")
        return Group(tuple(made.pulled_back(frame, node, pulled, args[0], aux)))

    back = callee(frame, pullback, f"the pullback of {label}", f"pullback_of_{label}")
    if not aux:
        return Group((value, back))
    assert isinstance(value, Group)
    return Group((value.items[0], back, value.items[1]))


def run_forward_(frame: Frame, node: ast.Call, fun: Value, name: Value, primals: Value, aux: Value) -> Value:
    """The result alone, where its derivative is to be asked for: what `nt.vjp` and `nt.linearize` of Python call first."""
    kind = require_static(frame.graph, name, "the name")
    label = label_of_function(frame, node, fun, kind)
    what, has_aux = f"nt.{kind} of {label}", bool(require_static(frame.graph, aux, "has_aux"))
    return _run(frame, node, what, label, fun, _primals(frame, node, what, primals), has_aux)[1]


def pull_back_(
    frame: Frame, node: ast.Call, fun: Value, primals: Value, cotangent: Value, aux: Value
) -> Value:
    """The gradients alone, of a function that has run: what a pullback of Python calls."""
    label = label_of_function(frame, node, fun, "vjp")
    what, has_aux = f"nt.vjp of {label}", bool(require_static(frame.graph, aux, "has_aux"))
    made = _outlined(frame, node, what, label, fun, _primals(frame, node, what, primals))
    return Group(tuple(made.pulled_back(frame, node, made.outlined.value, cotangent, has_aux, inner=True)))


def linearize_(frame: Frame, node: ast.Call, fun: Value, *primals: Value, has_aux: Value = FALSE) -> Value:
    """`nt.linearize(f, *primals)`: (the result, the function of tangents that gives its tangent)."""
    label = label_of_function(frame, node, fun, "linearize")
    aux = bool(require_static(frame.graph, has_aux, "has_aux"))
    what = f"nt.linearize of {label}"
    made, value = _run(frame, node, what, label, fun, primals, aux)

    def linear(frame: Frame, node: ast.Call, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if kwargs:
            frame.fail(node, f"the derivative of {label} takes tangents by position", None, DTypeError)
        made.check_visible(frame, node, f"the derivative of {label}")
        return made.pushed_forward(frame, node, Group(tuple(args)), aux)

    forward = callee(frame, linear, f"the derivative of {label}", f"derivative_of_{label}")
    if not aux:
        return Group((value, forward))
    assert isinstance(value, Group)
    return Group((value.items[0], forward, value.items[1]))


def push_forward_(
    frame: Frame, node: ast.Call, fun: Value, primals: Value, tangents: Value, aux: Value
) -> Value:
    """The tangent alone, of a function that has run: what the derivative of Python calls."""
    label = label_of_function(frame, node, fun, "linearize")
    what, has_aux = f"nt.linearize of {label}", bool(require_static(frame.graph, aux, "has_aux"))
    made = _outlined(frame, node, what, label, fun, _primals(frame, node, what, primals))
    return made.pushed_forward(frame, node, tangents, has_aux)


def hvp_(frame: Frame, node: ast.Call, fun: Value, primals: Value, tangents: Value) -> Value:
    """`nt.hvp(f, primals, tangents)`: the tangent of the gradient."""
    label = label_of_function(frame, node, fun, "hvp")
    given = _primals(frame, node, f"nt.hvp of {label}", primals)
    argnums = Static(0 if len(given) == 1 else tuple(range(len(given))))
    gradient = _gradient("hvp", False)(frame, node, fun, argnums)
    both = jvp_(frame, node, gradient, Group(tuple(given)), tangents)
    assert isinstance(both, Group)
    return both.items[1]


@dataclass(eq=False)
class Made:
    """A function outlined of all its arguments, and what it is called with."""

    what: str
    label: str
    active: Active
    outlined: Outlined
    operands: list[SSAValue]

    def run(self, frame: Frame) -> Value:
        """The function where the program stands: its Python result."""
        tensors = self.outlined.inlined(frame.graph, self.operands[: len(self.active.forms)])
        self.outlined.take_effect(frame, tensors)
        return self.outlined.python_value(frame, tensors)

    def differentiated(self, frame: Frame, node: ast.expr, has_aux: bool) -> list[Result]:
        """The results that have derivatives: all but those of aux. Raises where another is no float."""
        count = len(self.outlined.results)
        if has_aux:
            value = self.outlined.value
            if not isinstance(value, Group) or value.kind is not tuple or len(value.items) != 2:
                frame.fail(
                    node,
                    f"{self.what}: with has_aux=True the function returns (result, aux), this one returns {describe(value)}",
                    "leave has_aux=True out, or return (result, aux)",
                    DTypeError,
                )
            count = len(leaves_of(frame, value.items[0], ""))
        found = list(self.outlined.results[:count])
        values = [leaf for _, leaf in leaves_of(frame, self.outlined.value, "result")][:count]
        for result, leaf in zip(found, values, strict=True):
            if kind_of_number(frame, leaf) not in ("f", "c"):
                frame.fail(
                    node,
                    f"{self.what}: {result.path} is {describe(leaf)}: only floats and complex numbers have derivatives",
                    "with has_aux=True the function may return (result, aux), and aux has none",
                    DTypeError,
                )
        if not found:
            frame.fail(
                node, f"{self.what}: the function returns {describe(self.outlined.value)}", None, DTypeError
            )
        return found

    def derivative(self, frame: Frame, tensors: Sequence[SSAValue], has_aux: bool) -> Value:
        """The tangents of the results as a value of the structure of the result."""
        rest = iter(tensors)
        value = self.outlined.value
        if has_aux:
            assert isinstance(value, Group)
            value = value.items[0]
        leaves = [
            self.outlined.leaf(frame, r, tensor)
            for r, tensor in zip(self.outlined.results, rest, strict=False)
        ]
        return like(frame, value, iter(leaves))

    def tangents(self, frame: Frame, node: ast.expr, tangents: Value) -> list[SSAValue]:
        """The tensors of tangents that belong to the arguments."""
        tangents = spread(frame, tangents)
        if not isinstance(tangents, Group) or len(tangents.items) != len(self.active.arguments):
            count = len(tangents.items) if isinstance(tangents, Group) else 1
            frame.fail(
                node,
                f"{self.what}: {len(self.active.arguments)} primals, and {count} tangents",
                "give a tangent for each primal, in a tuple",
                DTypeError,
            )
        primals = self.active.gradients(frame, self.active.values)
        pairs = zip(primals, tangents.items, strict=True)
        found: list[Value] = []
        for k, (primal, tangent) in enumerate(pairs):
            self._check(frame, node, primal, tangent, f"tangent {k}")
            found += [leaf for _, leaf in leaves_of(frame, tangent, "")]
        return [
            ssa
            for form, leaf in zip(self.active.forms, found, strict=True)
            for ssa in flatten(frame, form, leaf)
        ]

    def _check(self, frame: Frame, node: ast.expr, value: Value, direction: Value, name: str) -> None:
        def of_leaf(path: str, one: Value, other: Value) -> str | None:
            return differs(frame, path, one, other)

        wrong = mismatch(frame, value, direction, name, of_leaf)
        if wrong is not None:
            frame.fail(node, f"{self.what}: {wrong}", None, ShapeError)

    def pulled_back(
        self,
        frame: Frame,
        node: ast.expr,
        value: Value,
        cotangent: Value,
        has_aux: bool,
        inner: bool = False,
    ) -> list[Value]:
        """The gradients for a cotangent of `value`, one for each argument."""
        results = self.differentiated(frame, node, has_aux)
        if inner and has_aux:
            assert isinstance(value, Group)
            value = value.items[0]
        if not inner or all(_is_known(frame, r.form.extents or ()) for r in results):
            self._check(frame, node, value, cotangent, "the cotangent")
        leaves = [leaf for _, leaf in leaves_of(frame, cotangent, "")]
        directions = [
            ssa for r, leaf in zip(results, leaves, strict=True) for ssa in flatten(frame, r.form, leaf)
        ]
        op = VjpOp(
            self.outlined.name,
            self.operands,
            directions,
            range(len(self.active.forms)),
            [r.position for r in results],
            self.outlined.types,
            replay=True,
        )
        frame.graph.insert(op)
        return self.active.gradients(frame, _of_forms(frame, self.active, op.derivatives))

    def pushed_forward(self, frame: Frame, node: ast.expr, tangents: Value, has_aux: bool) -> Value:
        """The tangent of the result for tangents of the arguments."""
        results = self.differentiated(frame, node, has_aux)
        op = JvpOp(
            self.outlined.name,
            self.operands,
            self.tangents(frame, node, tangents),
            range(len(self.active.forms)),
            [r.position for r in results],
            self.outlined.types,
            replay=True,
        )
        frame.graph.insert(op)
        return self.derivative(frame, op.derivatives, has_aux)

    def check_visible(self, frame: Frame, node: ast.expr, what: str) -> None:
        """Raise where what the function was given is not computed on every path that leads here."""
        if not all(map(frame.graph.is_visible, self.operands)):
            frame.fail(
                node, f"{what} is called here, and was made on another path", "call it where it is made"
            )


def _is_known(frame: Frame, extents: Extents) -> bool:
    return all(frame.graph.visible(e) is not None for e in extents)


def _outlined(
    frame: Frame, node: ast.Call, what: str, label: str, fun: Value, primals: Sequence[Value]
) -> Made:
    """The function outlined of all its arguments."""
    kind = what.split()[0]
    rest = "(x,), (t,)" if kind == "nt.jvp" else "x"
    instead = f"only what is differentiated is given here: {kind}(lambda x: f(x, n), {rest})"
    names = parameters_of(fun) or []
    named = [(names[k] if k < len(names) else f"argument {k}", value) for k, value in enumerate(primals)]
    if not named:
        frame.fail(node, f"{what}: there are no arguments to differentiate with respect to", None, DTypeError)
    active = active_of(frame, node, what, named, instead)

    def run(leaves: list[Value]) -> Value:
        value = call(frame, node, fun, active.like(frame, leaves), {})
        frame.at(node)
        return value

    outlined = outline(frame, node, label, active.forms, active.paths, run, given_from=active.values)
    return Made(what, label, active, outlined, [*active.tensors(frame), *outlined.captured])


def _run(
    frame: Frame, node: ast.Call, what: str, label: str, fun: Value, primals: Sequence[Value], has_aux: bool
) -> tuple[Made, Value]:
    """The function outlined and run where the program stands, and its result, which has derivatives."""
    made = _outlined(frame, node, what, label, fun, primals)
    value = made.run(frame)
    made.differentiated(frame, node, has_aux)
    return made, value


def _with_aux(value: Value, tangent: Value, has_aux: bool) -> Value:
    if not has_aux:
        return Group((value, tangent))
    assert isinstance(value, Group)
    return Group((value.items[0], tangent, value.items[1]))


# ---- stop_gradient ----------------------------------------------------------------------------------


def stop_gradient_(frame: Frame, node: ast.Call, x: Value) -> Value:
    """`nt.stop_gradient(x)`: the same values, which are constants for derivatives."""
    x = spread(frame, x)
    leaves = []
    for _, leaf in leaves_of(frame, x, "x"):
        if kind_of_number(frame, leaf) not in ("f", "c") or isinstance(leaf, Static):
            leaves.append(leaf)
            continue
        form = form_of_argument(frame, leaf)
        op = StopGradientOp(*flatten(frame, form, leaf))
        frame.graph.insert(op)
        leaves.append(built(frame, form, iter(op.results), ""))
    return like(frame, x, iter(leaves))


# ---- shared -----------------------------------------------------------------------------------------


def label_of_function(frame: Frame, node: ast.Call, fun: Value, name: str) -> str:
    """What a function is called that is to be differentiated. Raises for what is none."""
    is_known = isinstance(fun, Closure | Method) or (isinstance(fun, Static) and callable(fun.raw))
    is_object = isinstance(fun, Group) and class_attribute(fun.kind, "__call__") is not Absent
    if not is_known and not is_object:
        frame.fail(node, f"nt.{name} takes a function, not {describe(fun)}", None, DTypeError)
    return label_of(fun)


def _primals(frame: Frame, node: ast.expr, what: str, primals: Value) -> Sequence[Value]:
    given = spread(frame, primals)
    if not isinstance(given, Group) or given.kind not in (tuple, list):
        frame.fail(
            node,
            f"{what}: primals is {describe(primals)}, not a tuple of arguments",
            "(x,) for one",
            DTypeError,
        )
    return given.items


def as_constant(value: Value) -> Value:
    """A tuple or list of constants as a constant."""
    if isinstance(value, Group) and all(isinstance(item, Static) for item in value.items):
        return Static(tuple([item.raw for item in value.items]))  # pyright: ignore
    return value


def _one_argument(
    frame: Frame, node: ast.expr, what: str, args: Sequence[Value], kwargs: dict[str, Value]
) -> None:
    if len(args) != 1 or kwargs:
        count = len(args) + len(kwargs)
        frame.fail(
            node, f"{what} takes one argument, the cotangent of the result ({count} given)", None, DTypeError
        )


def callee(
    frame: Frame, called: Callable[..., Value], what: str, label: str, function: Value | None = None
) -> Static:
    made = Callee(called, what, label, function)
    frame.graph.made_objects[id(made)] = made
    return Static(made)


INSIDE_CALLS: dict[Any, Callable[..., Value]] = {
    "grad": _gradient("grad", False),
    "value_and_grad": _gradient("value_and_grad", True),
    "jvp": jvp_,
    "vjp": vjp_,
    "linearize": linearize_,
    "hvp": hvp_,
    "stop_gradient": stop_gradient_,
    "run forward": run_forward_,
    "pull back": pull_back_,
    "push forward": push_forward_,
}
"""What stands in compiled code for functions of Nestor, by the names that they are marked with (`interface/inside.py`)."""
