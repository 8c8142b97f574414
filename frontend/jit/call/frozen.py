"""What a program computes once for arrays that are the same in every call: weights in the order in which they are read.

frozen = Frozen(kernel, (1,))          # what fills them, and the arguments that it takes
kernel_of_program([*arguments, *results, *frozen.of(values)])
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.pool import aligned_empty

if TYPE_CHECKING:
    from .cpu_kernel import CpuKernel

MOST = 64
"""Sets of arrays that are remembered per program; the oldest one is forgotten."""


class Frozen:
    """The buffers of a program for each set of arrays, known by identity. They go when an array of the set does."""

    def __init__(self, kernel: CpuKernel, arguments: Sequence[int]):
        self.kernel = kernel
        self.arguments = tuple(arguments)
        self.count = 0
        """How often buffers have been filled."""
        self._made: dict[tuple[int, ...], tuple[list[Any], list[np.ndarray]]] = {}

    def of(self, arrays: Sequence[np.ndarray], passed: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The buffers for `arrays` of the caller, which the kernel takes as `passed`."""
        key = tuple([id(array) for array in arrays])
        found = self._made.get(key)
        if found is None:
            buffers = [_empty(form) for form in self.kernel.packer.forms[len(passed) :]]
            self.kernel([*passed, *buffers])
            self.count += 1
            if len(self._made) >= MOST:
                self._made.pop(next(iter(self._made)), None)
            forget = _forgetting(weakref.ref(self), key)
            found = self._made[key] = [weakref.ref(array, forget) for array in arrays], buffers
        return found[1]


def _forgetting(owner: weakref.ref[Frozen], key: tuple[int, ...]) -> Callable[[Any], None]:
    def forget(_: Any) -> None:
        frozen = owner()
        if frozen is not None:
            frozen._made.pop(key, None)

    return forget


def _empty(form: Any) -> np.ndarray:
    """A buffer that a kernel was promised: of known extents, in rows, at the start of a line."""
    dtype = np.dtype(f"{'i' if 'i' in form.kinds else 'f'}{form.item_size}")
    return aligned_empty(form.extents, dtype)
