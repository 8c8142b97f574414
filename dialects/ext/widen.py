"""Subclasses of xDSL operations with wider constraints: what MLIR allows and xDSL's definition refuses.

A subclass, rather than an operation of its own, keeps `isinstance` tests and canonicalization patterns.
xDSL binds verification to the definition of the class that declared it, hence `verify_` here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from xdsl.irdl import AttrConstraint, OpDef, OperandDef, ResultDef


def widen(
    parent: Any,
    operands: Mapping[str, AttrConstraint | OperandDef] | None = None,
    results: Mapping[str, AttrConstraint] | None = None,
) -> OpDef:
    """The definition of `parent` with other constraints for the named operands and results."""
    definition: OpDef = parent.get_irdl_definition()
    wider_operands, wider_results = operands or {}, results or {}
    return replace(
        definition,
        operands=[(name, _operand(wider_operands.get(name, old))) for name, old in definition.operands],
        results=[
            (name, ResultDef(wider_results[name]) if name in wider_results else old)
            for name, old in definition.results
        ],
    )


def _operand(constraint: AttrConstraint | OperandDef) -> OperandDef:
    return OperandDef(constraint) if isinstance(constraint, AttrConstraint) else constraint


class Widened:
    """Mixed in before an xDSL operation whose definition `widened` replaces."""

    widened: ClassVar[OpDef]

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        return cls.widened

    def verify_(self) -> None:
        self.widened.verify(self)  # type: ignore[arg-type]
        self.verify_types()

    def verify_types(self) -> None:
        """What the constraints do not say."""
