"""Results that a function allocates for its caller (`lowering/abi/handed_over.py`).

func.call @nestor_hand_over.f64.1(%y, %out, %n) : (memref<?xf64>, memref<2xi64>, index) -> ()
->
%p = llvm.call @aligned_alloc(64, ...)          // null: the kernel fails with MemoryError
llvm.call @memmove(%p, %y, %n * 8)
llvm.store %p, %out[0]; llvm.store %n, %out[1]

Where %y is a buffer of the block, all of which is handed over, and nothing is written after it, the buffer itself goes,
and is not freed.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ...dialects.diagnostic import LoweringError, fail
from ..abi.error_codes import MEMORY_ERROR
from ..abi.handed_over import HAND_OVER
from .builder import FunctionBuilder
from .types import PTR, UNIT, MemRef, Size, byte_size


def hand_over(b: FunctionBuilder, op: func.CallOp) -> None:
    """Copy or move the first elements of a buffer to the caller."""
    if b.parent is not None:
        raise fail(op, "a result is handed over inside scf.parallel", error=LoweringError)
    source, words = b.memref(op.arguments[0]), b.memref(op.arguments[1])
    extents = [b.index(extent) for extent in op.arguments[2:]]
    b.read.add(source.base)
    b.written.add(words.base)
    is_moved = _is_last(op) and source.offset == 0 and _same(source.sizes, extents) and b.disown(source)
    pointer = source.base if is_moved else _copy(b, source, extents)
    b.store(pointer, b.gep(words.base, words.offset, i64))
    for k, extent in enumerate(extents):
        b.store(b.size(extent), b.gep(words.base, b.add(words.offset, k + 1), i64))


def _copy(b: FunctionBuilder, source: MemRef, extents: Sequence[Size]) -> SSAValue:
    """New memory with the elements."""
    size: Size = byte_size(source.element)
    for extent in extents:
        size = b.multiply(size, extent)
    lines = b.binary(llvm.AndOp, b.size(b.add(size, 64)), b.integer(-64))
    allocate = b.module.declare("aligned_alloc", [i64, i64], PTR, res_attrs={"llvm.noalias": UNIT})
    pointer = b.call(allocate, [b.integer(64), lines], PTR)
    null = b.emit(llvm.ZeroOp, (), PTR)
    b.fail_unless(b.compare("ne", pointer, null), MEMORY_ERROR, 0)
    move = b.module.declare("memmove", [PTR, PTR, i64], PTR)
    b.call(move, [pointer, b.gep(source.base, source.offset, source.element), b.size(size)], PTR)
    return pointer


def _is_last(op: func.CallOp) -> bool:
    """Whether no operation after this one in its block writes memory: others are handed over, or nothing follows."""
    following = op.next_op
    while following is not None:
        is_call = isinstance(following, func.CallOp) and following.callee.string_value().startswith(HAND_OVER)
        if not is_call and not isinstance(following, func.ReturnOp) and following.name not in _PURE:
            return False
        following = following.next_op
    return True


_PURE = frozenset(
    ("memref.cast", "memref.dim", "memref.dealloc", "arith.constant", "arith.addi", "arith.muli")
)


def _same(sizes: Sequence[Size], extents: Sequence[Size]) -> bool:
    return len(sizes) == len(extents) and all(
        a == b if isinstance(a, int) or isinstance(b, int) else a is b
        for a, b in zip(sizes, extents, strict=True)
    )
