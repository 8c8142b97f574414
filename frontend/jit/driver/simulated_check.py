"""What `check` of a compiled program does beside running it where accesses are seen.

unaligned([x, 3])                            # x at an odd address: kernels then move element by element
differences(arguments, kernel, reference)    # elements that the kernels and the interpreter disagree about
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....runtime.cuda_sim.faults import Fault
from ...interface.errors import UnsupportedError

SMALL = 1 << 16
"""Elements of all arrays together that the interpreter goes through."""

ROUNDING = {2: 3e-2, 4: 1e-4, 8: 1e-10}
"""How far results may be apart, relative to the largest one, by bytes of a floating-point number: sums have other orders."""


def unaligned(arguments: Sequence[Any]) -> list[Any]:
    """Copies of arrays that begin an element past a multiple of 64 bytes; those that are not in row-major order stay."""
    return [
        _shifted(one) if isinstance(one, np.ndarray) and one.flags.c_contiguous else one for one in arguments
    ]


def _shifted(array: np.ndarray) -> np.ndarray:
    memory = np.empty(array.nbytes + 128, np.uint8)
    start = -memory.ctypes.data % 64 + array.itemsize
    copy = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def differences(
    arguments: Sequence[Any],
    kernel: Callable[[Sequence[Any]], Any],
    reference: Callable[[str], Callable[[Sequence[Any]], Any]],
    names: Sequence[str],
) -> list[Fault]:
    """A fault for each array that a kernel leaves otherwise than the program for a target that `reference` compiles."""
    arrays = [one for one in arguments if isinstance(one, np.ndarray)]
    target = "interp" if sum(array.size for array in arrays) <= SMALL else "cpu"
    try:
        other = reference(target)
    except UnsupportedError:  # a kernel of the user's, which runs on GPUs only
        return []
    got, wanted = (
        [one.copy() if isinstance(one, np.ndarray) else one for one in arguments] for _ in range(2)
    )
    kernel(got)
    other(wanted)
    found = []
    for name, one, known in zip(names, got, wanted, strict=True):
        if isinstance(one, np.ndarray) and (index := first_difference(one, known)) is not None:
            element = f"{name}[{', '.join(map(str, index))}]"
            text = f'{element} is {one[index]}, and {known[index]} by target "{target}"'
            found.append(Fault("value", "", text, element, None, None, 1))
    return found


def first_difference(got: np.ndarray, wanted: np.ndarray) -> tuple[int, ...] | None:
    """The index of the first element that differs by more than rounding."""
    if got.dtype.kind in "biu":
        wrong = got != wanted
    else:
        one, other = got.astype(np.float64), wanted.astype(np.float64)
        finite = np.abs(other[np.isfinite(other)])
        bound = ROUNDING[got.itemsize] * finite.max(initial=0.0)
        with np.errstate(invalid="ignore"):
            is_near = (np.abs(one - other) <= bound) | (one == other) | (np.isnan(one) & np.isnan(other))
        wrong = ~is_near
    places = np.argwhere(wrong)
    return tuple(map(int, places[0])) if len(places) else None
