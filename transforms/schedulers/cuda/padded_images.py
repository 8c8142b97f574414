"""Padded images on a GPU (part of nest-schedule-cuda): no kernel writes them where only copies to shared memory read them.

    nest.for ... { nest.store %zero, %p[%b, %k, %l, %c] ... nest.store %a, %p[%b, %k, %l, %c] where (%k >= 1, %k < 17 ...) }
    ... a convolution copies what a step needs of %p to shared memory
  becomes
    ... it copies elements of the image, and zeros where the border is

The tiles of the convolution come first (convolutions.py, matrix_convolutions.py): to them a border is a part of the image.
Then nest-compute-inline makes the border a domain of their copies, which an asynchronous copy has in its source size.
"""

from __future__ import annotations

from xdsl.dialects.func import FuncOp

from ....analysis.nest.buffers import declared_space
from ....analysis.nest.loop_structure import enclosing_loops
from ....dialects.nest import AllocOp, LoadOp, StoreOp
from ...nest.producers.compute_inline import compute_inline
from ...nest.rewrite.steps import Steps
from ...nest.rewrite.views import merged_views
from .grid import is_scheduled


def inline_padded_images(function: FuncOp, steps: Steps) -> None:
    """Compute the elements of padded images where tiles copy them, of those that nothing else reads."""
    for alloc in [op for op in function.walk() if isinstance(op, AllocOp)]:
        if _is_copied_only(alloc):
            steps.attempt(compute_inline, alloc)


def _is_copied_only(alloc: AllocOp) -> bool:
    """Whether two stores in a nest that is no kernel yet set the elements, and copies in kernels are all that reads them."""
    views = merged_views(alloc)
    values = [alloc.memref, *(view.result for view in views)]
    users = [use.operation for value in values for use in value.uses if use.operation not in views]
    stores = [op for op in users if isinstance(op, StoreOp)]
    loads = [op for op in users if isinstance(op, LoadOp)]
    if len(stores) != 2 or not loads or len(stores) + len(loads) != len(users):
        return False
    tops = [loops[0] for op in stores if (loops := enclosing_loops(op))]
    if len(tops) < len(stores) or tops[0] is not tops[-1] or is_scheduled(tops[0]):
        return False
    return all(_is_copy(load) for load in loads)


def _is_copy(load: LoadOp) -> bool:
    """Whether a kernel does nothing with an element but keep it in shared memory, perhaps by way of a register."""
    users = [use.operation for use in load.result.uses]
    if not users or not all(isinstance(op, StoreOp) for op in users):
        return False
    spaces = {declared_space(op.memref.type) for op in users}  # pyright: ignore
    return spaces <= {"shared", "local"} and is_scheduled(enclosing_loops(load)[0])
