"""The program of a chunk: the code of a restricted function, as data that other processes can run.

program.run(numbers, parts, results)   # numbers: an integer or a scalar for each argument that is no array, None for arrays
                                       # parts: the parts of the inputs, in order; results: where the box is written
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .chunk_code import Code, code_of
from .memory import HOST, Memory

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp


class ChunkTarget(NamedTuple):
    """What the programs of a call are compiled for, and where its chunks are."""

    name: str = "cpu"
    machine: str | None = None
    memory: Memory = HOST
    is_large: bool = False
    """Whether arrays have so many elements that indices may need 64 bits."""
    one_thread: bool = False
    """Whether other programs run beside each one, so that it shares its loops with no other thread."""

    def beside(self, count: int) -> ChunkTarget:
        """The same for programs of a step of so many tasks. Which thread takes one is up to the scheduler; where there are
        enough, rows are best read whole, in order. The number is fixed, for results must not depend on the machine."""
        return self._replace(one_thread=count >= MANY_TASKS)


MANY_TASKS = 8
"""Tasks of a step from which on each program has one thread."""


MOST_KNOWN = 256
_KNOWN: dict[Any, ChunkProgram] = {}
"""Programs by their text at nest level, and by what they were compiled for."""


class ChunkProgram:
    """A compiled restricted function.

    `results` are the places of its results among its arguments, with their dtypes. `strides` are those of each argument that
    is an array, in elements: None for one that is passed, and for all of an array that is row-major."""

    def __init__(
        self,
        name: str,
        code: Code,
        strides: Sequence[tuple[int | None, ...] | None],
        results: dict[int, np.dtype],
        memory: Memory,
    ):
        self.name = name
        self.memory = memory
        self.results = results
        self._code = code
        self._strides = tuple(strides)

    def run(self, numbers: Sequence[Any], parts: Sequence[Any], results: Sequence[Any]) -> None:
        """Run on the parts of the inputs, and write the results."""
        from ....runtime.cpu.threads import counted_call

        memory = self.memory
        arguments, given = list(numbers), iter(parts)
        copies: list[tuple[Any, Any]] = []
        for k, array in zip(self.results, results, strict=True):
            arguments[k] = array if self._fits(k, array) else memory.empty(array.shape, array.dtype)
            if arguments[k] is not array:
                copies.append((array, arguments[k]))
        for k, number in enumerate(numbers):
            if number is None and k not in self.results:
                part = next(given)
                arguments[k] = part if self._fits(k, part) else memory.in_order(part)
        with counted_call():
            self._kernel(arguments)
        for array, made in copies:
            array[...] = made

    def _fits(self, place: int, array: Any) -> bool:
        """Whether the program takes an array as it lies in memory."""
        strides = self._strides[place]
        if not self.memory.is_aligned(array):
            return False
        if array.flags.c_contiguous or strides is None:
            return array.flags.c_contiguous
        return all(
            size % array.itemsize == 0 and (stride is None or extent < 2 or size == stride * array.itemsize)
            for extent, size, stride in zip(array.shape, array.strides, strides, strict=True)
        )

    def combined(self, partials: Sequence[Any]) -> Any:
        """The partial results of a reduction as one, in order; `self` is what combines two."""
        from ....runtime.cpu.threads import counted_call

        with self.memory.on(partials):
            first, *others = [one if isinstance(one, tuple) else (one,) for one in partials]
            totals = [array.copy() for array in first]
            with counted_call():
                for other in others:
                    self._kernel([*totals, *map(self.memory.in_order, other)])
        return totals[0] if len(totals) == 1 else tuple(totals)

    @cached_property
    def _kernel(self) -> Callable[[Sequence[Any]], None]:
        return self._code.load(self.name)

    @property
    def size_of_code(self) -> int:
        """Bytes of machine code."""
        return self._code.size

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_kernel"}

    def __dask_tokenize__(self) -> Any:
        return "nestor program", self.name, self._code.token, self._strides, self.memory


def chunk_program(
    module: ModuleOp, name: str, results: dict[int, np.dtype], target: ChunkTarget
) -> ChunkProgram:
    """Compile a module of one restricted function. Raises UnsupportedError where it calls Python, NumPy aside."""
    from xdsl.dialects.builtin import UnitAttr

    from ....analysis.nest.loop_structure import functions
    from ....dialects.attributes import ONE_THREAD
    from ....runtime.abi import MemrefForm, Packer
    from ..specialise.stages import build, lowered_copy, print_module

    key = print_module(module, places=True), target, tuple(results.items())
    if (known := _KNOWN.get(key)) is not None:
        return known
    module = lowered_copy(module, ("chunk-to-nest",), machine=target.machine)
    function = next(one for one in functions(module) if one.sym_name.data == name)
    if target.one_thread:
        function.attributes[ONE_THREAD] = UnitAttr()
    kernel, engine = build(module, name, target.name, machine=target.machine)
    code = code_of(name, kernel, engine, target.name, is_large=target.is_large)
    forms = Packer.for_function(function).forms
    strides = [one.strides if isinstance(one, MemrefForm) else None for one in forms]
    made = ChunkProgram(name, code, strides, results, target.memory)
    _KNOWN[key] = made
    while len(_KNOWN) > MOST_KNOWN:
        _KNOWN.pop(next(iter(_KNOWN)))
    return made
