"""Calls of functions with derivatives of the user's (nt.custom_vjp, nt.custom_jvp), where something is differentiated.

    y = f(x)     ->    %0 = nt.stop_gradient %x, %1 = what f computes of that
                       %y = nt.composite "f"(%x, %1) attributes {nt.vjp_rule = @f_vjp} { nt.yield %1 }

So the function may be anything (a loop that writes in place, a call of Python), and runs once. The rule is a private
function of the inputs, and of a cotangent for each result of floats; the inputs are the arguments, the results, and what
the rule uses from outside. Only arguments may have derivatives: the others are refused.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from xdsl.dialects import func
from xdsl.dialects.arith import IndexCastOp
from xdsl.dialects.builtin import FunctionType, IndexType, IntegerAttr, SymbolRefAttr, TensorType, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ...dialects.attributes import NT_JVP_RULE, NT_RULE_INPUTS, NT_VJP_RULE
from ...dialects.nt import CompositeOp, FromScalarOp, StopGradientOp, ToScalarOp, YieldOp
from ...dialects.nt.derivative_ops import is_differentiable
from ...transforms.autodiff.builder import Builder
from ..control.forms import Form, built
from ..control.same_values import is_same
from ..control.sweeps import NotElementwise
from ..frame.frame import Frame
from ..frame.recursion import call
from ..interface.captured import Step
from ..interface.custom_rules import CustomRule, CustomVjp
from ..interface.errors import DTypeError, ShapeError
from ..interface.forwarders import parameters_of
from ..values.arithmetic import convert
from ..values.contents import as_tensor
from ..values.graph import Graph, is_inside
from ..values.tensors import broadcast, constant
from ..values.values import Group, Static, Tensor, Value, describe, extents_of, is_number
from .directions import differs
from .leaves import kind_of_number, leaves_of, like, mismatch, spread
from .outlined import Outlined, form_of_argument, hint_of, outline, refuse_writes, tensors_of
from .parameters import label_of


def ruled_call(
    frame: Frame, node: ast.expr, target: CustomRule, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`target(*args, **kwargs)`; where nothing is differentiated, a call of the function."""
    function = Static(frame.captured.read(target, Step.ATTRIBUTE, "function"))
    graph = frame.graph
    if not graph.outlining:
        return call(frame, node, function, args, kwargs)  # pyright: ignore
    if graph.island is not None:
        raise NotElementwise(
            f"{label_of(function)}, which has a derivative of its own, is called in a loop over elements",
            frame.source.place(node),
            hint="call it for whole arrays, or use nt.vmap",
        )
    made = _Ruled(frame, node, target, function, args, kwargs)
    around = next((one for one in graph.open_rules if one.is_same_call(made)), None)
    if around is not None:
        return around.called_by_rule(made)
    return made.call()


@dataclass(eq=False)
class _Ruled:
    frame: Frame
    node: ast.expr
    target: CustomRule
    function: Value
    args: list[Value]
    kwargs: dict[str, Value]

    def __post_init__(self) -> None:
        self.pending: list[CompositeOp] = []
        self.attribute = ""
        self.value: Value = Static(None)
        self.results: list[Value] = []
        self.result_forms: list[Form] = []
        self.own: list[SSAValue] = []
        self.computed: list[SSAValue] = []
        """What the rule is given: the arguments, and what the function has computed of them."""
        self.label = label_of(self.function)
        read = lambda name: self.frame.captured.read(self.target, Step.ATTRIBUTE, name)  # noqa: E731
        names = ("forward", "backward") if isinstance(self.target, CustomVjp) else ("tangent",)
        self.parts = [read(name) for name in names]
        if None in self.parts:
            self._fail(f"{self.label} has no derivative yet", f"{self.label}{self.target.form} gives it one")
        self.positional = self._bound()
        self.nondiff = set(read("nondiff_argnums"))
        if any(k >= len(self.positional) for k in self.nondiff):
            self._fail(
                f"nondiff_argnums of {self.label} names argument {max(self.nondiff)}, and it has {len(self.positional)}"
            )
        self.places = [k for k in range(len(self.positional)) if k not in self.nondiff]
        self.arguments = [spread(self.frame, self.positional[k]) for k in self.places]
        self.all: list[Value] = []
        """The leaves of the arguments; constants among them are no operands."""
        self.paths: list[str] = []
        self.values: list[Value] = []
        self.counts: list[int] = []
        for place, argument in zip(self.places, self.arguments, strict=True):
            self._take(place, argument)
        self.forms = [form_of_argument(self.frame, leaf) for leaf in self.values]
        self.floats = [
            k for k, leaf in enumerate(self.values) if kind_of_number(self.frame, leaf) in ("f", "c")
        ]

    def _fail(self, message: str, hint: str | None = None, error: Any = DTypeError) -> NoReturn:
        self.frame.fail(self.node, message, hint, error)

    def _bound(self) -> list[Value]:
        """The arguments by position, defaults among them."""
        function = self.function.raw if isinstance(self.function, Static) else None
        try:
            bound = parameters_of(function).bind(*self.args, **self.kwargs)
        except TypeError as error:
            self._fail(f"{self.label}(): {error}")
        bound.apply_defaults()
        if bound.kwargs:
            self._fail(
                f"{self.label} has arguments that are given by keyword only",
                "a function with a derivative of its own takes its arguments by position",
            )
        return [v if _is_value(v) else Static(v) for v in bound.args]

    def _take(self, place: int, argument: Value) -> None:
        leaves = leaves_of(self.frame, argument, f"argument {place}")
        for path, leaf in leaves:
            if not is_number(leaf):
                self._fail(
                    f"{path} of {self.label} is {describe(leaf)}, and the function has a derivative of its own",
                    f"name it in nondiff_argnums=({place},)",
                )
        self.all += [leaf for _, leaf in leaves]
        self.paths += [path for path, leaf in leaves if not isinstance(leaf, Static)]
        self.values += [leaf for _, leaf in leaves if not isinstance(leaf, Static)]
        self.counts.append(len(leaves))

    def _like(
        self, leaves: Sequence[Value], known: Callable[[Static], Value] = lambda one: one
    ) -> list[Value]:
        """The arguments with other leaves; constants among them are what they are, or what `known` says."""
        run = iter(leaves)
        rest = iter([known(leaf) if isinstance(leaf, Static) else next(run) for leaf in self.all])
        return [like(self.frame, argument, rest) for argument in self.arguments]

    def _all(self, leaves: Sequence[Value]) -> list[Value]:
        """All arguments, those that are differentiated of these leaves."""
        args = list(self.positional)
        for place, value in zip(self.places, self._like(leaves), strict=True):
            args[place] = value
        return args

    def _nondiff(self) -> list[Value]:
        return [self.positional[k] for k in sorted(self.nondiff)]

    # ---- the call ---------------------------------------------------------------------------------------

    def call(self) -> Value:
        frame, graph = self.frame, self.frame.graph
        operands = tensors_of(frame, zip(self.forms, self.values, strict=True))
        self._compute()
        differentiated = [leaf for leaf in self.results if self._has_derivative(leaf)]
        if not differentiated:
            return self.value
        self.result_forms = [form_of_argument(frame, leaf) for leaf in differentiated]
        results = tensors_of(frame, zip(self.result_forms, differentiated, strict=True))
        is_vjp = isinstance(self.target, CustomVjp)
        graph.open_rules.append(self)
        try:
            rule = self._vjp() if is_vjp else self._jvp()
        finally:
            graph.open_rules.remove(self)
        self.attribute = NT_VJP_RULE if is_vjp else NT_JVP_RULE
        captured = _as_tensors(graph, rule, len(self.forms) + len(results))
        own, block = len(operands) + len(results), rule.function.body.block
        outside = block.args[own : own + len(captured)]
        _complete(rule.function, block.args[len(operands) : own + len(captured)], is_vjp)
        for op in self.pending:
            if outside and not is_inside(op.results[0], block):
                self._fail(f"{self.label} is differentiated in its own rule, which uses values from outside")
            self._close(op, rule, outside)
        made = self._composite([*operands, *results], results)
        self._close(made, rule, captured)
        return self._with_results(made.results)

    def _compute(self) -> None:
        """The function of arguments that are constants for derivatives: its result, and the numbers in that."""
        graph, given = self.frame.graph, []
        for form, value, path in zip(self.forms, self.values, self.paths, strict=True):
            (tensor,) = tensors_of(self.frame, [(form, value)])
            if is_differentiable(tensor.type):
                stopped = StopGradientOp(tensor)
                graph.insert(stopped)
                tensor = stopped.result
            tensor.name_hint = tensor.name_hint or hint_of(path)
            given.append(built(self.frame, form, iter([tensor]), tensor.name_hint or ""))
        with graph.journal() as written:
            self.value = self._called(self.function, self._all(given))
        label, given_as = f"{self.label}, which has a derivative of its own,", "of which it is a function"
        refuse_writes(self.frame, self.node, label, given_as, self.paths, given, self.values, list(written))
        self.results = [leaf for _, leaf in leaves_of(self.frame, self.value, "result")]

    def _composite(self, inputs: Sequence[SSAValue], results: Sequence[SSAValue]) -> CompositeOp:
        """The results, with the arguments beside them that they are differentiated by."""
        block = Block(arg_types=[v.type for v in inputs])
        for argument, value in zip(block.args, inputs, strict=True):
            argument.name_hint = value.name_hint
        block.add_op(YieldOp(*block.args[len(inputs) - len(results) :]))
        op = CompositeOp(self.label, inputs, Region(block), [v.type for v in results])
        self.frame.graph.insert(op)
        return op

    def _close(self, op: CompositeOp, rule: Outlined, outside: Sequence[SSAValue]) -> None:
        """Give a composite what the rule uses from outside, and the rule."""
        op.operands = [*op.operands, *outside]
        for value in outside:
            argument = op.body.block.insert_arg(value.type, len(op.body.block.args))
            argument.name_hint = value.name_hint
        op.attributes[self.attribute] = SymbolRefAttr(rule.name)
        op.attributes[NT_RULE_INPUTS] = IntegerAttr(len(self.forms), i64)

    def _with_results(self, tensors: Sequence[SSAValue]) -> Value:
        """The Python result, of these tensors."""
        made = [
            built(self.frame, form, iter([tensor]), "")
            for form, tensor in zip(self.result_forms, tensors, strict=True)
        ]
        run = iter(made)
        leaves = [next(run) if self._has_derivative(leaf) else leaf for leaf in self.results]
        return like(self.frame, self.value, iter(leaves))

    def _has_derivative(self, leaf: Value) -> bool:
        return not isinstance(leaf, Static) and self._is_float_leaf(leaf)

    # ---- the call that the rule itself makes -------------------------------------------------------------

    def is_same_call(self, other: _Ruled) -> bool:
        """Whether another call is of the same function with arguments of the same types."""
        if self.target is not other.target or self.nondiff != other.nondiff:
            return False
        kinds = [[t for form in one.forms for t in form.types()] for one in (self, other)]
        constants = [[v for v in one.all if isinstance(v, Static)] for one in (self, other)]
        same = all(map(is_same, self._nondiff(), other._nondiff())) and len(constants[0]) == len(constants[1])
        return same and all(map(is_same, *constants)) and kinds[0] == kinds[1]

    def called_by_rule(self, other: _Ruled) -> Value:
        """The function in its own rule: what it has computed, and derivatives of that are by the rule again."""
        frame = other.frame
        operands = tensors_of(frame, zip(other.forms, other.values, strict=True))
        if operands == self.own:
            results = self.computed
            value = self
        else:
            other._compute()
            other.result_forms = self.result_forms
            differentiated = [leaf for leaf in other.results if other._has_derivative(leaf)]
            results = tensors_of(frame, zip(self.result_forms, differentiated, strict=True))
            value = other
        op = other._composite([*operands, *results], results)
        self.pending.append(op)
        return value._with_results(op.results)

    def _run_rule(self, given: list[Value]) -> tuple[list[Value], list[Value]]:
        """The arguments and the cotangents or tangents that a rule has got; what it is given is noted."""
        own, results = len(self.forms), len(self.result_forms)
        tensors = [as_tensor(self.frame.graph, v).ssa for v in given]
        self.own, self.computed = tensors[:own], tensors[own : own + results]
        return given[:own], given[own + results :]

    def _vjp(self) -> Outlined:
        forward, backward = map(Static, self.parts)

        def run(given: list[Value]) -> Value:
            leaves, cotangents = self._run_rule(given)
            both = self._called(forward, self._all(leaves))
            if not isinstance(both, Group) or both.kind is not tuple or len(both.items) != 2:
                self._fail(
                    f"fwd of {self.label} returns (result, residuals), this one returns {describe(both)}"
                )
            self._check_result(both.items[0])
            rest = iter(cotangents)
            chosen = [next(rest) if self._has_derivative(leaf) else Static(None) for leaf in self.results]
            cotangent = like(self.frame, self.value, iter(chosen))
            found = spread(self.frame, self._called(backward, [*self._nondiff(), both.items[1], cotangent]))
            if not isinstance(found, Group) or len(found.items) != len(self.arguments):
                given_ = f"{len(found.items)} of them" if isinstance(found, Group) else describe(found)
                wanted = f"a tuple of {len(self.arguments)}, one for each argument"
                self._fail(f"bwd of {self.label} returns cotangents in {wanted}, this one returns {given_}")
            return Group(tuple(self._of_floats(found.items, leaves, "bwd", "the cotangent of argument")))

        names = [*self._names(), *[f"c_{k}" for k in range(len(self.result_forms))]]
        return self._outlined(
            f"{self.label}_vjp", [*self.forms, *self.result_forms, *self.result_forms], names, run
        )

    def _jvp(self) -> Outlined:
        (tangent,) = map(Static, self.parts)

        def run(given: list[Value]) -> Value:
            leaves, directions = self._run_rule(given)
            rest = iter(directions)
            tangents = [next(rest) if k in self.floats else Static(None) for k in range(len(leaves))]
            primals = Group(tuple(self._like(leaves)))
            given_tangents = Group(tuple(self._like(tangents, self._zero)))
            both = self._called(tangent, [*self._nondiff(), primals, given_tangents])
            if not isinstance(both, Group) or both.kind is not tuple or len(both.items) != 2:
                self._fail(
                    f"the rule of {self.label} returns (result, tangent), this one returns {describe(both)}"
                )
            self._check_result(both.items[0])
            results = [leaf for _, leaf in leaves_of(self.frame, both.items[0], "")]
            primal = [
                self._as(one, leaf)
                for one, leaf in zip(self.results, results, strict=True)
                if self._has_derivative(one)
            ]
            return Group((*primal, *self._tangents(both.items[1])))

        names = [*self._names(), *[f"t_{self.paths[k]}" for k in self.floats]]
        forms = [*self.forms, *self.result_forms, *[self.forms[k] for k in self.floats]]
        return self._outlined(f"{self.label}_jvp", forms, names, run)

    def _names(self) -> list[str]:
        return [*self.paths, *[f"y_{k}" for k in range(len(self.result_forms))]]

    def _outlined(
        self, label: str, forms: Sequence[Form], names: Sequence[str], run: Callable[[list[Value]], Value]
    ) -> Outlined:
        made = outline(self.frame, self.node, label, forms, names, run)
        if made.extents or made.written or any(r.known is not None for r in made.results):
            self._fail(f"{label} writes to arrays outside, or returns shapes that are known at run time only")
        return made

    def _called(self, function: Value, args: list[Value]) -> Value:
        value = call(self.frame, self.node, function, args, {})  # pyright: ignore
        self.frame.at(self.node)
        return value

    # ---- what rules give --------------------------------------------------------------------------------

    def _check_result(self, value: Value) -> None:
        """Raise where the rule gives another result than the function: another structure, dtype or shape."""

        def check(path: str, one: Value, other: Value) -> str | None:
            return differs(self.frame, path, one, other) if is_number(one) else None

        wrong = mismatch(self.frame, self.value, value, "the result", check)
        if wrong is not None:
            self._fail(
                f"the rule of {self.label} computes another result than {self.label}: {wrong}",
                None,
                ShapeError,
            )

    def _of_floats(
        self, given: Sequence[Value], leaves: Sequence[Value], rule: str, what: str
    ) -> list[Value]:
        """The cotangents of the leaves of floats, in their dtypes; zeros for None."""
        found: list[Value] = []
        run, rest = iter(leaves), iter(self.all)
        arguments = zip(self.places, self.counts, self._like(leaves), given, strict=True)
        for place, count, argument, one in arguments:
            own = [leaf if isinstance(leaf := next(rest), Static) else next(run) for _ in range(count)]
            if isinstance(one, Static) and one.raw is None:
                parts: list[Value] = [one] * count
            else:
                parts = self._leaves_like(argument, one, f"{what} {place}", rule)
            found += [
                self._as(leaf, part)
                for leaf, part in zip(own, parts, strict=True)
                if not isinstance(leaf, Static) and self._is_float_leaf(leaf)
            ]
        return found

    def _leaves_like(self, example: Value, given: Value, what: str, rule: str) -> list[Value]:
        """The leaves of `given`, which has the structure of `example`; None for those without derivatives."""

        def check(path: str, one: Value, other: Value) -> str | None:
            return differs(self.frame, path, one, other) if self._is_float_leaf(one) else None

        def of(one: Value, other: Value, path: str) -> list[Value]:
            one, other = spread(self.frame, one), spread(self.frame, other)
            if isinstance(other, Static) and other.raw is None:
                return [other for _ in leaves_of(self.frame, one, "")]
            if isinstance(one, Group) and isinstance(other, Group) and _are_alike(one, other):
                pairs = zip(one.items, other.items, strict=True)
                return [leaf for k, (a, b) in enumerate(pairs) for leaf in of(a, b, f"{path}[{k}]")]
            wrong = mismatch(self.frame, one, other, path, check)
            if wrong is not None:
                self._fail(f"{rule} of {self.label}: {wrong}", None, ShapeError)
            return [other]

        return of(example, given, what)

    def _zero(self, leaf: Static) -> Static:
        """The tangent of a constant."""
        return Static(type(leaf.raw)(0)) if self._is_float_leaf(leaf) else Static(None)

    def _is_float_leaf(self, leaf: Value) -> bool:
        return kind_of_number(self.frame, leaf) in ("f", "c")

    def _as(self, leaf: Value, given: Value) -> Value:
        """A cotangent in the dtype and shape of its leaf."""
        form, graph = form_of_argument(self.frame, leaf), self.frame.graph
        if isinstance(given, Static) and given.raw is None:
            zero = Tensor(constant(graph, 0, form.dtype), form.dtype, (), True)
            return broadcast(graph, zero, form.extents or ())
        tensor = convert(graph, given, form.dtype)
        return broadcast(graph, tensor, extents_of(leaf))

    def _tangents(self, given: Value) -> list[Value]:
        leaves = self._leaves_like(self.value, given, "the tangent of the result", "the rule")
        pairs = zip(self.results, leaves, strict=True)
        return [self._as(one, leaf) for one, leaf in pairs if self._has_derivative(one)]


def _are_alike(one: Group, other: Group) -> bool:
    return one.kind is other.kind and one.names == other.names and len(one.items) == len(other.items)


def _is_value(value: Any) -> bool:
    return isinstance(value, Value)  # pyright: ignore


def _as_tensors(graph: Graph, rule: Outlined, first: int) -> list[SSAValue]:
    """What a rule uses from outside, as tensors: they become its arguments from number `first` on."""
    function, block = rule.function, rule.function.body.block
    old = list(block.args[len(block.args) - len(rule.captured) :])
    captured: list[SSAValue] = []
    for k, (value, inner) in enumerate(zip(rule.captured, old, strict=True)):
        tensor = value if isinstance(value.type, TensorType) else _as_tensor(graph, value)
        argument = block.insert_arg(tensor.type, first + k)
        argument.name_hint = value.name_hint
        inner.replace_all_uses_with(argument if tensor is value else _as_scalar(block, argument, value.type))
        captured.append(tensor)
    for inner in old:
        block.erase_arg(inner)
    outputs = function.function_type.outputs
    function.function_type = FunctionType.from_lists([a.type for a in block.args], list(outputs))
    return captured


def _as_tensor(graph: Graph, scalar: SSAValue) -> SSAValue:
    if isinstance(scalar.type, IndexType):
        scalar = graph.insert(IndexCastOp.create(operands=[scalar], result_types=[i64]))  # pyright: ignore
    made = graph.insert(FromScalarOp.create(operands=[scalar], result_types=[TensorType(scalar.type, [])]))
    assert made is not None
    return made


def _as_scalar(block: Block, tensor: SSAValue, kind: Attribute) -> SSAValue:
    """The number in a tensor of rank 0, at the beginning of a block."""
    ops: list[Operation] = [ToScalarOp(tensor)]
    if isinstance(kind, IndexType):
        ops.append(IndexCastOp.create(operands=[ops[0].results[0]], result_types=[kind]))
    assert block.first_op is not None
    block.insert_ops_before(ops, block.first_op)
    return ops[-1].results[0]


def _complete(function: func.FuncOp, others: Sequence[SSAValue], is_vjp: bool) -> None:
    """Let a rule be one of all its inputs: `others`, which are no arguments, have the cotangent zero; tangents are taken."""
    block = function.body.block
    end = block.last_op
    assert isinstance(end, func.ReturnOp)
    floats = [v for v in others if is_differentiable(v.type)]
    if is_vjp:
        builder = Builder(block, end, end.location)
        end.operands = [*end.operands, *[builder.zeros(v) for v in floats]]
    else:
        for value in floats:
            block.insert_arg(value.type, len(block.args))
    function.function_type = FunctionType.from_lists(
        [a.type for a in block.args], [v.type for v in end.operands]
    )
