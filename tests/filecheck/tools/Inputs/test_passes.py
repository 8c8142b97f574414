"""Passes that misbehave on purpose, to test what opt-tool makes of it."""

from dataclasses import dataclass
from typing import Literal

from nestor.dialects.diagnostic import fail
from nestor.dialects.remarks import remark, warn
from xdsl.context import Context
from xdsl.dialects.arith import AddiOp, MuliOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass


@dataclass(frozen=True)
class TestFailPass(ModulePass):
    """Fail at every multiplication. The second sentence is not listed."""

    name = "test-fail"

    message: str = "cannot multiply"
    limit: int | None = None
    ratio: float = 0.5
    sizes: tuple[int, ...] = ()
    mode: Literal["fast", "slow"] = "fast"
    really: bool = True

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, MuliOp) and self.really:
                raise fail(inner, self.message, hint="add instead", notes=[(inner.lhs.owner, "this operand")])


@dataclass(frozen=True)
class TestCrashPass(ModulePass):
    """Raise an exception that no pass should raise."""

    name = "test-crash"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        raise KeyError("no such thing")


@dataclass(frozen=True)
class TestBreakDominancePass(ModulePass):
    """Move every multiplication to the start of its block, before its operands."""

    name = "test-break-dominance"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            block = inner.parent_block()
            if isinstance(inner, MuliOp) and block is not None and block.first_op is not None:
                inner.detach()
                block.insert_op_before(inner, block.first_op)


@dataclass(frozen=True)
class TestRemarkPass(ModulePass):
    """Remark on additions and warn about multiplications."""

    name = "test-remark"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in op.walk():
            if isinstance(inner, AddiOp):
                remark(inner, "this adds")
            if isinstance(inner, MuliOp):
                warn(inner, "this multiplies", notes=[(inner.lhs.owner, "this operand")])


@dataclass(frozen=True)
class TestCountFunctionsPass(ModulePass):
    """Remark how many functions the module that the pass sees holds."""

    name = "test-count-functions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        remark(op, f"{sum(1 for inner in op.walk() if inner.name == 'func.func')} functions")
