"""What a replay must not do: call Python once more. A derivative by itself computes what the function did, without effects.

    nt.vjp replay @f(...)      // @f: %r = nt.custom_call ordered "prog.draw"(%x); %y = nt.multiply %x, %r

A call whose result the derivative does not need is left out. One that it needs would give something else the second time:
that is refused. NumPy's functions give the same again, and so do operations (`nt.custom_op`).
"""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.ir import Block, Operation
from xdsl.traits import is_side_effect_free

from ...dialects.custom_call_names import NUMPY, PURE
from ...dialects.diagnostic import fail
from ...dialects.nt.ops import CustomCallOp


def drop_calls(block: Block, before: Operation | None, after: Operation | None) -> None:
    """Erase what a replay does not need among the operations between two of a block. Raises for calls that it needs."""
    made = list(_between(block, before, after))
    if not any(_calls_python(op) for op in made):
        return
    for op in reversed(made):
        is_needed = any(result.first_use is not None for result in op.results)
        if not is_needed and op.results and (is_side_effect_free(op) or _calls_python(op)):
            block.erase_op(op)
            continue
        for inner in op.walk():
            if isinstance(inner, CustomCallOp) and _is_of_program(inner):
                raise fail(
                    inner,
                    f"a derivative by itself needs what '{inner.target.data}' gives, and would call it once more",
                    hint="nt.grad, nt.value_and_grad and nt.jvp call it once; or pass what it gives as an argument",
                )


def _between(block: Block, before: Operation | None, after: Operation | None) -> Iterable[Operation]:
    op = block.first_op if before is None else before.next_op
    while op is not None and op is not after:
        yield op
        op = op.next_op


def _calls_python(op: Operation) -> bool:
    return any(isinstance(inner, CustomCallOp) and _is_of_program(inner) for inner in op.walk())


def _is_of_program(op: CustomCallOp) -> bool:
    """Whether the function may give something else each time."""
    return op.is_ordered and not op.target.data.startswith(NUMPY) and PURE not in op.arguments.data
