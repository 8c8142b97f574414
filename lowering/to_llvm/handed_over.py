"""Results that a function allocates for its caller (`lowering/abi/handed_over.py`).

func.call @nestor_hand_over.f64.1(%y, %out, %n) : (memref<?xf64>, memref<2xi64>, index) -> ()
->
%p = llvm.call @aligned_alloc(64, ...)          // null: the kernel fails with MemoryError
llvm.call @memmove(%p, %y, %n * 8)
llvm.store %p, %out[0]; llvm.store %n, %out[1]

Where %y is a buffer of the block, of which the first rows are handed over, and nothing is written after it, the buffer
itself goes, and is not freed: `realloc` gives back what is behind them, and copies nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import func, llvm, memref
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
    alike = _same(source.sizes[1:], extents[1:]) and len(source.sizes) == len(extents)
    is_moved = alike and source.offset == 0 and _is_last(op) and b.disown(source)
    pointer = source.base if is_moved else _copy(b, source, extents)
    if is_moved and not _same(source.sizes, extents):
        pointer = _shrunk(b, source, extents)
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


def _root(buffer: SSAValue) -> SSAValue:
    """The buffer that one is a cast of."""
    while isinstance(buffer.owner, memref.CastOp):
        buffer = buffer.owner.source
    return buffer


def _shrunk(b: FunctionBuilder, source: MemRef, extents: Sequence[Size]) -> SSAValue:
    """The memory of a buffer, of which only the first elements are kept: what is behind them is given back."""
    size: Size = byte_size(source.element)
    for extent in extents:
        size = b.multiply(size, extent)
    lines = b.binary(llvm.AndOp, b.size(b.add(size, 64)), b.integer(-64))
    reallocate = b.module.declare("realloc", [PTR, i64], PTR)
    smaller = b.call(reallocate, [source.base, lines], PTR)
    is_given = b.compare("ne", smaller, b.emit(llvm.ZeroOp, (), PTR))
    return b.select(is_given, smaller, source.base)


def _is_last(op: func.CallOp) -> bool:
    """Whether no operation after this one in its block writes memory, or needs this buffer: others are handed over, or
    nothing follows."""
    following = op.next_op
    while following is not None:
        is_call = isinstance(following, func.CallOp) and following.callee.string_value().startswith(HAND_OVER)
        if is_call and _root(following.operands[0]) is _root(op.operands[0]):
            return False
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
