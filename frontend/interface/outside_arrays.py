"""Arrays from outside a function, which its programs take as they take arguments: read at each call, behind the others.

    def f(x): return x * W            a program of x and W; Input(f, NAME, "W", "W")
    def f(self, x): return x @ self.w                       Input(self, ATTRIBUTE, "w", "self_w")

An input is a look at an object (`captured.py`), of which a call takes what is found then: its type is part of what the
program was compiled for, its elements are not. That the object is the one which the function would find again, the
guards say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .argument_types import is_element_type
from .captured import Step, looked_up, reader_of


class Input:
    """Where an array is found, and its name among the arguments of the program."""

    __slots__ = ("name", "owner", "place", "step")

    def __init__(self, owner: Any, step: Step, place: Any, name: str):
        self.owner = owner
        self.step = step
        self.place = place
        self.name = name

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells it from others, as long as its owner lives."""
        return key_of(self.owner, self.step, self.place)

    def present(self) -> Any:
        """What is there now."""
        return looked_up(self.owner, self.step, self.place)


def key_of(owner: Any, step: Step, place: Any) -> tuple[Any, ...]:
    """What tells one look from others."""
    return (step, id(reader_of(owner)), type(place), place)


class Inputs:
    """The inputs of a program, in the order of its last arguments."""

    def __init__(self, items: Sequence[Input] = ()):
        self._items = tuple(items)
        self.names = [one.name for one in items]
        self.key = tuple([one.key for one in items])

    def __iter__(self) -> Iterator[Input]:
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def present(self) -> list[Any]:
        """What is there now."""
        return [one.present() for one in self._items]


NO_INPUTS = Inputs()


def can_be_input(value: Any) -> bool:
    """Whether an array is of a kind that programs take as an argument."""
    return (type(value) is np.ndarray or type(value) is np.memmap) and is_element_type(value.dtype)


def input_name(owner: Any, step: Step, place: Any, name_of_owner: str, taken: Callable[[str], bool]) -> str:
    """A name among the arguments: that of the variable, or of the object and what was looked for in it."""
    text = str(place) if step == Step.NAME or not name_of_owner else f"{name_of_owner}_{place}"
    plain = re.sub(r"\W+", "_", text).strip("_")
    plain = plain if plain[:1].isalpha() else f"outside_{plain}"
    name, number = plain, 2
    while taken(name):
        name, number = f"{plain}_{number}", number + 1
    return name


MAX_FEW = 64
"""Maximum number of integers that are compiled in rather than refused: shapes, axes, permutations."""


def are_few_integers(array: np.ndarray) -> bool:
    """Whether an array is of integers that may have to be known while compiling."""
    return array.dtype.kind in "biu" and array.size <= MAX_FEW
