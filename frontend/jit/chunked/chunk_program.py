"""The program of a chunk: machine code of a restricted function, as data that other processes can run.

program.run(numbers, parts, results)   # numbers: an integer or a scalar for each argument that is no array, None for arrays
                                       # parts: the parts of the inputs, in order; results: where the box is written
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..call.cpu_kernel import CpuKernel, load_cpu
from ..disk.conditions import check_conditions, conditions_of

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


MOST_KNOWN = 256
_KNOWN: dict[Any, ChunkProgram] = {}
"""Programs by their text at nest level, and by what they were compiled for."""


class ChunkProgram:
    """A compiled restricted function. `results` are the places of its results among its arguments, with their dtypes."""

    def __init__(
        self,
        name: str,
        code: bytes,
        forms: Sequence[Any],
        sites: list[dict[str, Any]],
        conditions: bytes,
        results: dict[int, np.dtype],
    ):
        self.name = name
        self._code = code
        self._forms = tuple(forms)
        self._sites = sites
        self._conditions = conditions
        self.results = results

    def run(self, numbers: Sequence[Any], parts: Sequence[np.ndarray], results: Sequence[np.ndarray]) -> None:
        """Run on the parts of the inputs, and write the results."""
        from ....runtime.cpu.threads import counted_call

        arguments, given = list(numbers), iter(parts)
        copies: list[tuple[np.ndarray, np.ndarray]] = []
        for k, array in zip(self.results, results, strict=True):
            arguments[k] = array if self._fits(k, array) else np.empty(array.shape, array.dtype)
            if arguments[k] is not array:
                copies.append((array, arguments[k]))
        for k, number in enumerate(numbers):
            if number is None and k not in self.results:
                part = next(given)
                arguments[k] = part if self._fits(k, part) else _in_order(part)
        with counted_call():
            self._kernel(arguments)
        for array, made in copies:
            array[...] = made

    def _fits(self, place: int, array: np.ndarray) -> bool:
        """Whether the program takes an array as it lies in memory."""
        flags, strides = array.flags, self._forms[place].strides
        if not flags.aligned or flags.c_contiguous or strides is None:
            return flags.aligned and flags.c_contiguous
        return all(
            size % array.itemsize == 0 and (stride is None or extent < 2 or size == stride * array.itemsize)
            for extent, size, stride in zip(array.shape, array.strides, strides, strict=True)
        )

    def combined(self, partials: Sequence[Any]) -> Any:
        """The partial results of a reduction as one, in order; `self` is what combines two."""
        from ....runtime.cpu.threads import counted_call

        first, *others = [one if isinstance(one, tuple) else (one,) for one in partials]
        totals = [array.copy() for array in first]
        with counted_call():
            for other in others:
                self._kernel([*totals, *map(_in_order, other)])
        return totals[0] if len(totals) == 1 else tuple(totals)

    @cached_property
    def _kernel(self) -> CpuKernel:
        check_conditions(f"the program of '{self.name}'", self._conditions)
        return load_cpu(self._code, self.name, self._forms, self._sites)

    @property
    def size_of_code(self) -> int:
        """Bytes of machine code, with the tables of its object file."""
        return len(self._code)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kernel"}

    def __dask_tokenize__(self) -> Any:
        return "nestor program", self.name, self._code, self._forms, repr(self._sites)


def _in_order(array: np.ndarray) -> np.ndarray:
    """The array in row-major order, with aligned elements: those that came from other processes may lie anywhere."""
    flags = array.flags
    return array if flags.c_contiguous and flags.aligned else np.require(array, requirements=("C", "A"))


def chunk_program(
    module: ModuleOp, name: str, results: dict[int, np.dtype], machine: str | None
) -> ChunkProgram:
    """Compile a module of one restricted function. Raises UnsupportedError where it calls Python."""
    from ...interface.errors import UnsupportedError
    from ..specialise.stages import build, lowered_copy, print_module

    key = print_module(module, places=True), machine, tuple(results.items())
    if (known := _KNOWN.get(key)) is not None:
        return known
    module = lowered_copy(module, ("chunk-to-nest",), machine=machine)
    kernel, engine = build(module, name, "cpu", machine=machine)
    forms, sites, frozen = kernel.as_data()  # pyright: ignore[reportFunctionMemberAccess]
    if not kernel.can_be_kept or frozen is not None:  # pyright: ignore[reportFunctionMemberAccess]
        raise UnsupportedError(
            f"'{name}' calls Python, or has constants=, and other processes cannot compute it",
            hint="take what it prints or calls back out of it, and pass arrays as arguments",
        )
    made = ChunkProgram(name, engine.object_code, forms, sites, conditions_of(engine), results)
    _KNOWN[key] = made
    while len(_KNOWN) > MOST_KNOWN:
        _KNOWN.pop(next(iter(_KNOWN)))
    return made
