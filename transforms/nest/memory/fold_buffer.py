"""nest-fold-buffer: an axis of a buffer becomes circular, so that the buffer keeps the elements that are still needed.

    %u = nest.alloc "u"(%n) : memref<?x64xf32>
    nest.for "i" %i = 1 to %n {
      nest.for "j" %j = 0 to 64 {
        nest.store "u" %a, %u[%i, %j] : memref<?x64xf32>
      }
      nest.for "k" %k = 0 to 64 {
        %b = nest.load %u[%i - 1, %k] : memref<?x64xf32>
        ...
      }
    }

with buffer=u, factor=2 (and dimension=0) becomes

    %u = nest.alloc "u" : memref<2x64xf32>
    nest.for "i" %i = 1 to %n {
      nest.for "j" %j = 0 to 64 {
        nest.store "u" %a, %u[%i mod 2, %j] : memref<2x64xf32>
      }
      nest.for "k" %k = 0 to 64 {
        %b = nest.load %u[(%i - 1) mod 2, %k] : memref<2x64xf32>
        ...
      }
    }

Elements whose indices along the axis differ by a multiple of the factor share a place. Refused unless isl proves that
no two of them are needed at the same time: between the write of an element and each read of it none of the others is
written, nor another one at once, by iterations of a parallel loop (`folding.py`); for arguments, and for buffers seen
through views. nest-transform-layout folds an axis and changes others at the same time. `fold_storage` in Halide; the
circular buffer of `rolling_buffer` in TVM; `resize_dim` with a fold in Exo; without a name in NNC.
"""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType
from xdsl.ir import Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind

from ....analysis.nest.sets.folding import overwritten_while_needed, written_at_once
from ....analysis.nest.sets.own_buffers import name_of, why_not_of_function
from ....dialects.affine import AffineList
from ....dialects.diagnostic import NestorError, fail
from ....dialects.nest import AllocOp
from ..rewrite.reshaping import extents_of, reshape, why_not_dimension, why_not_reshape, with_index


def why_not_fold_buffer(alloc: AllocOp | SSAValue, factor: int, dimension: int = 0) -> NestorError | None:
    """The diagnostic that refuses to fold the axis, None when it is legal."""

    def refuse(reason: str, hint: str | None = None, notes=(), at: Operation | None = None) -> NestorError:
        where = alloc if isinstance(alloc, AllocOp) else at
        assert where is not None
        return fail(where, f'cannot fold the buffer "{name_of(alloc)}": {reason}', hint=hint, notes=notes)

    if (refusal := why_not_of_function(alloc, refuse)) is not None:
        return refusal
    assert isinstance(alloc, AllocOp) and isinstance(alloc.memref.type, MemRefType)
    refusal = why_not_reshape(alloc, refuse) or why_not_dimension(alloc, dimension, refuse)
    if refusal is not None:
        return refusal
    if factor < 1:
        return refuse(f"the factor is {factor}, it must be positive")
    extent = alloc.memref.type.get_shape()[dimension]
    if extent != DYNAMIC_INDEX and extent <= factor:
        return refuse(f"its dimension {dimension} has {extent} elements, no more than the factor")

    def place(indices: AffineList) -> AffineList:
        return _folded(indices, dimension, factor)

    if (lost := overwritten_while_needed(alloc, place)) is not None:
        read, write = lost
        return refuse(
            f"two elements that are {factor} or a multiple of it apart are needed at the same time",
            hint="use a larger factor",
            notes=[(write, "one is written here"), (read, "when the other one is still to be read here")],
        )
    if (at_once := written_at_once(alloc, place)) is not None:
        return refuse(
            f"two elements that are {factor} or a multiple of it apart may be written at the same time",
            hint="use a larger factor, or fold it before loops run in parallel",
            notes=[(at_once[0], "one is written here"), (at_once[1], "and the other one here")],
        )
    return None


def fold_buffer(alloc: AllocOp | SSAValue, factor: int, dimension: int = 0) -> AllocOp:
    """Fold an axis to `factor` elements; the new allocation. Raises the diagnostic of `why_not_fold_buffer`."""
    if (refusal := why_not_fold_buffer(alloc, factor, dimension)) is not None:
        raise refusal
    assert isinstance(alloc, AllocOp)
    extents = extents_of(alloc)
    extents[dimension] = AffineList.of(factor)

    return reshape(alloc, extents, lambda indices: _folded(indices, dimension, factor))


def _folded(indices: AffineList, dimension: int, factor: int) -> AffineList:
    return with_index(indices, dimension, indices[dimension].divided(AffineBinaryOpKind.Mod, factor))
