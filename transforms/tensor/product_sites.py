"""The products of float32 of a program, each by the Python line that it comes from: sites of a calibration.

"prog.py:12.0" is the first product of line 12 in a function of the module, "prog.py:12.1" the second, in the order of the
program. So what a derivative makes of a function has the function's sites. Products in composites (attention) and in loops
over elements are theirs, and no sites.
"""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath

from xdsl.dialects.builtin import Float32Type, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from ...dialects.diagnostic import op_location
from ...dialects.nt import BroadcastOp, CompositeOp, DotOp, WindowOp
from ...dialects.nt.ops import element_of
from ...dialects.nt.work import role_of


def product_sites(function: Operation) -> dict[str, DotOp]:
    """The products of a function by their sites, in the order of the program."""
    found: dict[str, DotOp] = {}
    counts: Counter[str] = Counter()
    for op in _products(function):
        place = op_location(op)
        line = f"{PurePath(place.file).name}:{place.line}" if place is not None else "?:0"
        found[f"{line}.{counts[line]}"] = op
        counts[line] += 1
    return found


def functions_of(module: ModuleOp) -> list[FuncOp]:
    """The functions of a module that have a body."""
    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]


def _products(op: Operation) -> list[DotOp]:
    found: list[DotOp] = []
    for inner in [inner for region in op.regions for block in region.blocks for inner in block.ops]:
        if isinstance(inner, DotOp):
            if all(isinstance(element_of(v), Float32Type) for v in inner.operands):
                found.append(inner)
        elif not isinstance(inner, CompositeOp) and role_of(inner) is None:
            found += _products(inner)
    return found


def terms_of(op: DotOp) -> str:
    """Which axes a product sums over, as its text says it: a calibration is for these."""
    batch = "" if not op.batch[0] else f"batch {list(op.batch[0])} x {list(op.batch[1])} "
    return f"{batch}contract {list(op.contract[0])} x {list(op.contract[1])}"


def elements_of(op: DotOp, side: int) -> SSAValue:
    """A value with the elements of an operand, each once."""
    value = op.operands[side]
    while isinstance(value.owner, WindowOp | BroadcastOp):
        value = value.owner.operands[0]
    return value
