"""The source that the reference interpreter writes: lines, expressions, buffers with their checks, and views of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import (
    AffineBinaryOpExpr,
    AffineBinaryOpKind,
    AffineConstantExpr,
    AffineDimExpr,
    AffineExpr,
)

from ...analysis.nest.sets.domains import Domain, LoadGuards
from ...dialects.affine import AffineList
from ...dialects.diagnostic import LoweringError, fail
from .. import scalar_eval

_OPERATORS = {
    AffineBinaryOpKind.Add: "({} + {})",
    AffineBinaryOpKind.Mul: "({} * {})",
    AffineBinaryOpKind.Mod: "({} % {})",
    AffineBinaryOpKind.FloorDiv: "({} // {})",
    AffineBinaryOpKind.CeilDiv: "(-(-{} // {}))",
}


class Source:
    """The lines of a function of Python. `names` maps each value to the expression that reads it.

    `namespace` is what the source refers to; `support` are the functions of the runtime in it.
    """

    def __init__(self, sites: dict[Operation, int], adversarial: bool, support: Mapping[str, Any]):
        self.sites = sites
        self.adversarial = adversarial
        self.guards = LoadGuards()
        self.names: dict[SSAValue, str] = {}
        self.namespace: dict[str, Any] = {**scalar_eval.NAMESPACE, **support, "operations": []}
        self.shadowed: set[SSAValue] = set()
        self.calls: list[func.FuncOp] = []
        self.lines: list[str] = []
        self.indent = ""
        self.counter = 0
        self.lane = ""

    # ---- text ----

    def line(self, text: str) -> None:
        self.lines.append(self.indent + text)

    def nested(self, head: str, body: Callable[[], None]) -> None:
        self.line(head)
        outer, self.indent = self.indent, self.indent + " "
        start = len(self.lines)
        body()
        if len(self.lines) == start:
            self.line("pass")
        self.indent = outer

    def fresh(self, prefix: str = "v") -> str:
        self.counter += 1
        while f"{prefix}{self.counter}" in self.namespace:  # `i64` is a type there
            self.counter += 1
        return f"{prefix}{self.counter}"

    def define(self, value: SSAValue, expression: str) -> None:
        """Assign `expression` to a new variable (a list with one entry per lane, in lockstep) for `value`."""
        name = self.fresh()
        self.names[value] = name + self.lane
        self.line(f"{name}{self.lane} = {expression}")

    def known(self, op: Operation) -> int:
        """The number of `op` in the table that traps refer to."""
        self.namespace["operations"].append(op)
        return len(self.namespace["operations"]) - 1

    # ---- affine expressions and domains ----

    def affine(self, expr: AffineExpr, operands: Sequence[SSAValue]) -> str:
        if isinstance(expr, AffineConstantExpr):
            return str(expr.value)
        if isinstance(expr, AffineDimExpr):
            return self.names[operands[expr.position]]
        assert isinstance(expr, AffineBinaryOpExpr)
        lhs, rhs = self.affine(expr.lhs, operands), self.affine(expr.rhs, operands)
        return _OPERATORS[expr.kind].format(lhs, rhs)

    def affines(self, exprs: AffineList) -> list[str]:
        return [self.affine(e, exprs.operands) for e in exprs.exprs]

    def condition(self, domain: Domain) -> str:
        parts = [f"{self.affines(c)[0]} >= 0" for c in domain.constraints]
        if domain.mask is not None:
            parts.append(self.names[domain.mask])
        return " and ".join(parts) if parts else "True"

    # ---- buffers ----

    def bind_buffer(self, value: SSAValue, name: str) -> None:
        assert isinstance(value.type, MemRefType)
        rank = value.type.get_num_dims()
        if rank:
            self.line(", ".join(f"{name}_n{d}" for d in range(rank)) + f", = {name}.shape")

    def shadow(self, value: SSAValue, *, fresh: bool) -> None:
        if fresh:
            self.shadowed.add(value)
            self.line(f"{self.names[value]}_w = np.zeros({self.names[value]}.shape, bool)")

    def checked_indices(self, op: Operation, buffer: str, indices: AffineList) -> str:
        """The subscript of an access, after a line that traps where it is out of bounds."""
        texts = self.affines(indices)
        if not texts:
            return "()"
        tests = [f"0 <= {t} < {buffer}_n{d}" for d, t in enumerate(texts)]
        subscript = ", ".join(texts)
        self.line(f"if not ({' and '.join(tests)}): trap(operations, {self.known(op)}, ({subscript},))")
        return subscript

    def read(self, op: Operation, buffer: SSAValue, indices: AffineList, target: str) -> str:
        """Emit a checked read of an element into the variable `target`; gives the subscript."""
        name = self.names[buffer]
        subscript = self.checked_indices(op, name, indices)
        if buffer in self.shadowed:
            self.line(
                f"if not {name}_w[{subscript}]: trap(operations, {self.known(op)}, ({subscript},), True)"
            )
        text = f"{name}[{subscript}]"
        self.line(f"{target} = {'bf16_from_bits(' + text + ')' if _is_bf16(buffer) else text}")
        return subscript

    def write(self, buffer: SSAValue, subscript: str, value: str) -> None:
        name = self.names[buffer]
        self.line(f"{name}[{subscript}] = {'bf16_to_bits(' + value + ')' if _is_bf16(buffer) else value}")
        if buffer in self.shadowed:
            self.line(f"{name}_w[{subscript}] = True")

    # ---- views ----

    def collapse_shape(self, op: memref.CollapseShapeOp) -> None:
        source, name = self.names[op.src], self.fresh("b")
        groups = [[d.value.data for d in group] for group in op.reassociation]  # pyright: ignore
        extents = [" * ".join(f"{source}_n{d}" for d in group) or "1" for group in groups]
        shape = f"({''.join(e + ', ' for e in extents)})"
        self.names[op.result] = name
        self.line(f"{name} = alias({source}, {shape}, operations, {self.known(op)})")
        self.bind_buffer(op.result, name)
        if self.inherits_shadow(op.result, op.src):
            self.line(f"{name}_w = {source}_w.reshape({shape})")

    def inherits_shadow(self, view: SSAValue, source: SSAValue) -> bool:
        """Whether it is known of `view` which elements are written, as it is of what it is a view of."""
        known = source in self.shadowed
        (self.shadowed.add if known else self.shadowed.discard)(view)
        return known

    def cast(self, op: memref.CastOp) -> None:
        self.names[op.dest] = self.names[op.source]
        self.inherits_shadow(op.dest, op.source)

    def subview(self, op: memref.SubviewOp) -> None:
        source, name = self.names[op.source], self.fresh("b")
        offsets, sizes, steps = (
            self.mixed(static, values)
            for static, values in (
                (op.static_offsets, op.offsets),
                (op.static_sizes, op.sizes),
                (op.static_strides, op.strides),
            )
        )
        extents = [f"{source}_n{d}" for d in range(len(offsets))]
        tests = [
            f"0 <= {o} and 0 <= {s} and {o} + {s} * {t} < {n} + {t}"
            for o, s, t, n in zip(offsets, sizes, steps, extents, strict=True)
        ]
        place = "".join(f"{o}, " for o in offsets)
        self.line(f"if not ({' and '.join(tests) or 'True'}): trap(operations, {self.known(op)}, ({place}))")
        dropped = self.dropped_axes(op)
        parts = [
            o if d in dropped else f"{o}:{o} + {s} * {t}:{t}"
            for d, (o, s, t) in enumerate(zip(offsets, sizes, steps, strict=True))
        ]
        subscript = "".join(f"{part}, " for part in parts) + "..."
        self.names[op.result] = name
        self.line(f"{name} = {source}[{subscript}]")
        self.bind_buffer(op.result, name)
        if self.inherits_shadow(op.result, op.source):
            self.line(f"{name}_w = {source}_w[{subscript}]")

    def mixed(self, static: Any, values: Sequence[SSAValue]) -> list[str]:
        """Numbers, some of them values, as expressions."""
        rest = iter(values)
        return [f"({self.names[next(rest)]})" if n == DYNAMIC_INDEX else str(n) for n in static.iter_values()]

    def dropped_axes(self, op: memref.SubviewOp) -> set[int]:
        """The axes of the buffer that the view has not."""
        assert isinstance(op.result.type, MemRefType)
        sizes = list(op.static_sizes.iter_values())
        if op.result.type.get_num_dims() == len(sizes):
            return set()
        ones = {d for d, size in enumerate(sizes) if size == 1}
        if op.result.type.get_num_dims() != len(sizes) - len(ones):
            raise fail(op, "which axes of size 1 the subview drops is ambiguous", error=LoweringError)
        return ones


def _is_bf16(buffer: SSAValue) -> bool:
    return scalar_eval.type_name(buffer.type.element_type) == "bf16"  # pyright: ignore
