"""The arrays from outside that a program under way takes: they become its last arguments as lowering finds them.

What an array overlaps decides what may be compiled: where one is found to overlap an argument that may be written,
lowering begins again with it among the arguments from the start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from ....dialects.records import changed
from ...interface.argument_types import ArgumentType, argument_type, generalised, overlap_partition
from ...interface.captured import Captured, Step
from ...interface.errors import Respecialise
from ...interface.outside_arrays import Input, can_be_input, input_name
from ...interface.spec import Spec

Pattern = tuple[ArgumentType, ...]


class Libraries(Protocol):
    """What knows the arrays of other libraries."""

    def has(self, value: Any) -> bool:
        """Whether a value is an array of another library, in host memory."""
        ...

    def array_of(self, name: str, value: Any) -> np.ndarray:
        """The array of NumPy that argument `name` is. Raises UnsupportedError."""
        ...


class OutsideArrays:
    """Inputs of a program under way; `types` and `values` are those of all of its arguments.

    `libraries` says which values are arrays of other libraries, and makes arrays of NumPy of them; `compiled_in` which
    arrays are no arguments: what is read of them is part of the program.
    """

    def __init__(
        self,
        types: Pattern,
        values: Sequence[Any],
        inputs: Sequence[Input] = (),
        *,
        mutates: bool = False,
        is_open: bool = False,
        libraries: Libraries,
        compiled_in: Callable[[np.ndarray], bool] = lambda _: False,
    ):
        self.types = types
        self.values = list(values)
        self.inputs = list(inputs)
        self._mutates = mutates and not any(isinstance(v, Spec) for v in values)
        self._written = mutates
        self._open = is_open
        self._libraries = libraries
        self._compiled_in = compiled_in

    def takes(self, value: Any) -> bool:
        """Whether what was found is an array that becomes an argument."""
        if isinstance(value, np.ndarray):
            return can_be_input(value) and not self._compiled_in(value)
        return self._libraries.has(value)

    def take(self, captured: Captured, owner: Any, step: Step, place: Any, value: Any) -> ArgumentType:
        """The argument that a found array becomes. Raises Respecialise where others have to be told from it."""
        whose = captured.name_of(owner) or next((t.name for t in self.types if t.value is owner), "")
        names = {t.name for t in self.types} | {t.group for t in self.types}
        name = input_name(owner, step, place, whose, names.__contains__)
        array = self._libraries.array_of(name, value)
        made = argument_type(name, array, mutates=self._written)
        self.inputs.append(Input(owner, step, place, name))
        self.types = (*self.types, made)
        self.values.append(array)
        if self._mutates:
            partition = overlap_partition(self.types, self.values)
            if partition != self.types:
                self.types = partition
                raise Respecialise(overlap=True, why=f"'{name}' from outside overlaps an argument")
        return self.opened((made,))[0]

    def opened(self, types: Pattern) -> Pattern:
        """The types with unknown extents, where that was asked for."""
        if not self._open:
            return types
        return generalised(types, [(k, axis) for k, t in enumerate(types) for axis in range(len(t.extents))])

    def joined(self, pattern: Pattern) -> Pattern:
        """The pattern of all arguments from one of the first of them: how they overlap, and those that follow."""
        first = [
            changed(t, extents=p.extents) if t.kind == p.kind else t
            for t, p in zip(self.types, pattern, strict=False)
        ]
        return (*first, *self.opened(self.types[len(pattern) :]))
