"""Calls of operations of the user's (nt.custom_op) in compiled code.

y = scaled(x, 2.0)
->  %y = nt.custom_call "prog.scaled"(%x, %by) {language = "c", entry = "scaled", source = "...", kinds = [...], ...}

Without C text, LLVM IR or a kernel the decomposition is inlined; without that the reference is called, as nt.custom_call
calls it: by all but GPUs, where there is a kernel. Where there are both, the program has both, and the target decides:

    %0 = nt.custom_call "prog.scaled"(nt.stop_gradient of %x, %by) ...      // what the CPU runs, or a GPU
    %1 = what the decomposition computes of %x, %by                         // other targets, derivatives, stacks of nt.vmap
    %y = nt.composite "scaled"(%0, %1) attributes {nt.native} { ^bb0(%a, %b): nt.yield %b }
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np
from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Block, Region

from ...dialects.attributes import NT_NATIVE
from ...dialects.custom_call_names import BLOCK, CUDA, ENTRY, GRID, LANGUAGE, PURE, SOURCE
from ...dialects.custom_call_names import ELEMENTWISE as ELEMENTWISE_CODE
from ...dialects.diagnostic import NestorError
from ...dialects.nt import CompositeOp, StopGradientOp, YieldOp
from ...dialects.nt.derivative_ops import is_differentiable
from ...runtime.custom_calls import name_of
from ..frame.frame import Frame
from ..frame.recursion import call
from ..interface.captured import Step
from ..interface.custom_ops import ELEMENTWISE, Code, CustomOp, result_dtypes
from ..interface.errors import DTypeError, ShapeError
from ..interface.forwarders import parameters_of
from ..interface.launch_rules import Cuda
from ..interface.op_signatures import parsed
from ..interface.spec import Spec
from ..numpy_api.custom_calls import Result, python_call
from ..numpy_api.families import FUNCTIONS
from ..values.arithmetic import index_value
from ..values.contents import as_tensor
from ..values.equal_extents import require_equal
from ..values.extents import Affine
from ..values.graph import element_type
from ..values.numbers import number_kind
from ..values.promotion import WEAK_DTYPES
from ..values.tensors import as_array
from ..values.values import (
    Array,
    Buffer,
    Group,
    Static,
    Tensor,
    Value,
    describe,
    extents_of,
    is_array,
    is_number,
    memory_of,
    shape_text,
)
from .own_call_values import is_several, kind_of_operand, specs_of


def op_call(frame: Frame, node: ast.Call, op: CustomOp, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`op(*args, **kwargs)`."""
    rule = frame.captured.read(op, Step.ATTRIBUTE, "rule")
    if rule is None:
        return primal_call(frame, node, op, args, kwargs)
    from ..derivatives.rules import ruled_call

    return ruled_call(frame, node, rule, args, kwargs)


def primal_call(
    frame: Frame, node: ast.Call, op: CustomOp, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """The same without the derivative that the operation has."""
    return _OpCall(frame, node, op, args, kwargs).made()


class _OpCall:
    """One call: its operands, what its rule says, and who computes it."""

    def __init__(
        self, frame: Frame, node: ast.Call, op: CustomOp, args: list[Value], kwargs: dict[str, Value]
    ):
        self.frame, self.node, self.op = frame, node, op
        self.graph = frame.graph
        self.name = op.name
        self.reference = self._read("reference")
        self.operands = self._bound(args, kwargs)
        self.kinds = [
            kind_of_operand(frame, node, v, f"argument {k} of {self.name} is")
            for k, v in enumerate(self.operands)
        ]

    def _read(self, name: str) -> Any:
        return self.frame.captured.read(self.op, Step.ATTRIBUTE, name)

    def _bound(self, args: list[Value], kwargs: dict[str, Value]) -> list[Value]:
        """The arguments by position, defaults among them."""
        try:
            bound = parameters_of(self.reference).bind(*args, **kwargs)
        except TypeError as error:
            self.frame.fail(self.node, f"{self.name}(): {error}", None, DTypeError)
        bound.apply_defaults()
        if bound.kwargs:
            what = f"{self.name} has arguments that are given by keyword only"
            self.frame.fail(self.node, what, "an operation takes its arguments by position", DTypeError)
        return [v if isinstance(v, Value) else Static(v) for v in bound.args]  # pyright: ignore

    def made(self) -> Value:
        code: Code | None = self._read("code")
        cuda: Cuda | None = self._read("cuda")
        decomposition = self._read("decomposition")
        results, several = self._results()
        has_code = code is not None or cuda is not None
        if decomposition is not None and (not has_code or self.graph.island is not None):
            return self._decomposed(decomposition, results, several)
        if decomposition is None:
            return self._whole(self._call(self.operands, results, several, code, cuda), several)
        return self._either(code, cuda, decomposition, results, several)

    def _call(
        self,
        operands: Sequence[Value],
        results: Sequence[Result],
        several: bool,
        code: Code | None,
        cuda: Cuda | None,
        is_either: bool = False,
    ) -> list[Value]:
        """The call: of the reference, which may raise, or of code, which does nothing but fill its results. A kernel goes
        with both; where a decomposition takes its place elsewhere, the reference is never called."""
        facts: dict[str, Any] = {PURE: True} if code is None else {}
        if code is not None:
            facts = dict(zip((LANGUAGE, ENTRY, SOURCE), code, strict=True))
            self._check_code(code[0], results)
        if cuda is not None:
            facts[CUDA] = dict(zip((ENTRY, SOURCE, GRID, BLOCK), cuda, strict=True))
            self._check_code(CUDA, results)
        if (code is not None or cuda is not None) and self._read("shape") == ELEMENTWISE:
            operands = self._broadcast(operands, results[0])
            facts[ELEMENTWISE_CODE] = True
        target = name_of(self.reference)
        return python_call(
            self.graph,
            target,
            operands,
            results,
            ordered=code is None and not is_either,
            kinds=tuple(self.kinds),
            several=several,
            **facts,
        )

    def _check_code(self, language: str, results: Sequence[Result]) -> None:
        operands = [self._dtype(k) for k in range(len(self.operands))]
        dtypes = [*operands, *[one.dtype for one in results]]
        for dtype in dtypes:
            if dtype.name in ("float16", "bfloat16"):
                what = f"{self.name} has {dtype} among its types, and its code is {_LANGUAGES[language]}"
                self.frame.fail(
                    self.node, what, "convert to float32 before it, and back after it", DTypeError
                )
        is_elementwise = self._read("shape") == ELEMENTWISE
        numbers = [
            d for d, kind in zip(operands, self.kinds, strict=True) if is_elementwise or kind != "array"
        ]
        if language == "llvm" and any(d.kind == "c" for d in (*numbers, *(dtypes if is_elementwise else ()))):
            what = f"{self.name} takes or returns complex numbers, which LLVM IR has no type for"
            hint = "pass arrays, with another rule than 'elementwise': a complex array is one of pairs"
            self.frame.fail(self.node, what, hint, DTypeError)

    def _broadcast(self, operands: Sequence[Value], result: Result) -> list[Value]:
        """Arrays of the shape of the result; numbers as they are."""
        shape = Group(tuple(map(index_value, result.extents)))
        return [
            FUNCTIONS[np.broadcast_to](self.graph, v, shape) if kind == "array" else v  # pyright: ignore
            for v, kind in zip(operands, self.kinds, strict=True)
        ]

    def _whole(self, given: Sequence[Value], several: bool) -> Value:
        return Group(tuple(given)) if several else given[0]

    # ---- what the rule says -------------------------------------------------------------------------------

    def _dtype(self, position: int) -> np.dtype:
        kind = number_kind(self.graph, self.operands[position])
        return WEAK_DTYPES[kind] if isinstance(kind, type) else kind

    def _results(self) -> tuple[list[Result], bool]:
        shape = self._read("shape")
        if callable(shape):
            return self._ruled(shape)
        kinds = [number_kind(self.graph, v) for v in self.operands]
        if shape == ELEMENTWISE:
            shapes = [self._joined()]
        else:
            shapes = self._of_text(shape)
        self._read("dtype")
        found = [kind(0) if isinstance(kind, type) else kind for kind in kinds]
        dtypes = result_dtypes(self.op, found, len(shapes))
        for dtype in dtypes:
            element_type(dtype, self.graph.place)
        results = [Result(d, e, bool(e)) for d, e in zip(dtypes, shapes, strict=True)]
        return results, len(results) > 1

    def _joined(self) -> Any:
        """The extents of the operands broadcast together."""
        arrays = [v for v in self.operands if extents_of(v)]
        if len(arrays) < 2:
            return extents_of(arrays[0]) if arrays else ()
        together = FUNCTIONS[np.broadcast_arrays](self.graph, *arrays)
        assert isinstance(together, Group)
        return extents_of(together.items[0])

    def _of_text(self, text: str) -> list[Any]:
        signature = parsed(text)

        def same(known: Any, extent: Any) -> bool:
            return require_equal(self.graph, _affine(known), extent, self.name)

        try:
            found = signature.bound([extents_of(v) for v in self.operands], same, self.name, _shown)
        except ShapeError as error:
            self.frame.fail(self.node, error.diagnostic.message, error.diagnostic.hint, ShapeError)
        return [tuple([_affine(e) for e in shape]) for shape in signature.results(found)]

    def _ruled(self, shape: Any) -> tuple[list[Result], bool]:
        """What a function of the operands' specs says: it is compiled as all else, so that extents may be unknown."""
        given = [
            Group(
                (Group(tuple(map(index_value, extents_of(v)))), Static(self._dtype(k))),
                Spec,
                ("shape", "dtype"),
            )
            for k, v in enumerate(self.operands)
        ]
        value = call(self.frame, self.node, Static(shape), given, {})  # pyright: ignore
        self.frame.at(self.node)
        what = f"what the shape rule of {self.name} returns"
        results = specs_of(self.frame, self.node, value, what)
        if results is None:
            self.frame.fail(
                self.node, f"{what} is None", "it returns an nt.spec, or a tuple of them", DTypeError
            )
        return results, is_several(value)

    # ---- the decomposition --------------------------------------------------------------------------------

    def _decomposed(self, function: Any, results: Sequence[Result], several: bool) -> Value:
        parts = self._parts(self._inlined(function), results, several)
        return self._whole([self._of_its_own(part) for part in parts], several)

    def _inlined(self, function: Any) -> Value:
        """What the decomposition computes. Operands are read-only in it, as the reference has them."""
        buffers = {b for v in self.operands if isinstance(v, Array) for b in _memory(v)}
        closed = [b for b in buffers if not b.read_only]
        for buffer in closed:
            buffer.read_only = True
        try:
            with self.graph.scheduled(self.name, self._schedules()):
                value = call(self.frame, self.node, Static(function), self.operands, {})  # pyright: ignore
        finally:
            for buffer in closed:
                buffer.read_only = False
        self.frame.at(self.node)
        return value

    def _schedules(self) -> dict[str, str]:
        """The schedules of the decomposition's nests, by target."""
        given: tuple[tuple[str, str], ...] = self._read("schedules")
        for target, text in given:
            from ...dialects.parse import parse_module
            from ...transforms.schedule.apply_schedule import sequences_in

            try:
                sequences_in(parse_module(text, f"<schedule of {self.name} for {target}>"))
            except NestorError as error:
                what = f"the schedule of {self.name} is none: {error.diagnostic.message}"
                hint = "schedule= takes what compile(schedule=) takes: nt.schedule makes one"
                self.frame.fail(self.node, what, hint, DTypeError)
        return dict(given)

    def _of_its_own(self, value: Value) -> Value:
        """A result that shares no memory with what it was computed of."""
        if not isinstance(value, Array):
            return value
        if self.graph.island is not None:
            return FUNCTIONS[np.copy](self.graph, value)
        tensor = as_tensor(self.graph, value)
        return as_array(Tensor(tensor.ssa, tensor.dtype, tensor.extents, order=tensor.order))

    def _parts(self, value: Value, results: Sequence[Result], several: bool) -> list[Value]:
        """The results of a decomposition, which must be as the rule says."""
        parts = list(value.items) if several and isinstance(value, Group) else [value]
        if len(parts) != len(results) or not all(map(is_number, parts)):
            what = f"the decomposition of {self.name} returns {describe(value)}, and its rule says {len(results)} results"
            self.frame.fail(self.node, what, None, ShapeError)
        for part, result in zip(parts, results, strict=True):
            kind = number_kind(self.graph, part)
            extents = extents_of(part)
            same = len(extents) == len(result.extents) and all(
                require_equal(self.graph, a, b, f"the decomposition of {self.name}")
                for a, b in zip(extents, result.extents, strict=True)
            )
            if kind != result.dtype or not same:
                what = (
                    f"the decomposition of {self.name} computes {getattr(kind, '__name__', kind)} of shape "
                    f"{shape_text(extents)}, and its rule says {result.dtype} of shape {shape_text(result.extents)}"
                )
                self.frame.fail(self.node, what, "mend the decomposition, or shape= and dtype=", ShapeError)
        return parts

    def _either(
        self,
        code: Code | None,
        cuda: Cuda | None,
        decomposition: Any,
        results: Sequence[Result],
        several: bool,
    ) -> Value:
        """Both, and an operation that chooses when the target is known."""
        stopped = [self._stopped(v) for v in self.operands]
        native = self._call(stopped, results, several, code, cuda, is_either=True)
        parts = self._parts(self._inlined(decomposition), results, several)
        tensors = [as_tensor(self.graph, v).ssa for v in (*native, *parts)]
        block = Block(arg_types=[t.type for t in tensors])
        block.add_op(YieldOp(*block.args[len(native) :]))
        made = CompositeOp(self.name, tensors, Region(block), [t.type for t in tensors[len(native) :]])
        made.attributes[NT_NATIVE] = UnitAttr()
        self.graph.insert(made)
        chosen = [
            as_array(Tensor(ssa, one.dtype, one.extents))
            if one.is_array
            else Tensor(ssa, one.dtype, (), True)
            for ssa, one in zip(made.results_, results, strict=True)
        ]
        return self._whole(chosen, several)

    def _stopped(self, value: Value) -> Value:
        """An operand as a constant for derivatives: they are those of the decomposition."""
        if isinstance(value, Static) or not is_array(value):
            return value
        tensor = as_tensor(self.graph, value)
        if not is_differentiable(tensor.ssa.type):
            return value
        stopped = StopGradientOp(tensor.ssa)
        self.graph.insert(stopped)
        return as_array(Tensor(stopped.result, tensor.dtype, tensor.extents, order=tensor.order))


_LANGUAGES = {"c": "C", "llvm": "LLVM IR", CUDA: "CUDA C"}


def _memory(array: Array) -> tuple[Buffer, ...]:
    """The buffers that a write to an array is a write to."""
    return array.buffer, memory_of(array.buffer), *array.buffer.overlapping


def _affine(extent: Any) -> Affine:
    return Affine(extent) if isinstance(extent, int) else extent


def _shown(extent: Any) -> str:
    return shape_text((_affine(extent),)).strip("(),")
