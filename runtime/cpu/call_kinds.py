"""Kinds of guards, records, outputs and results in the words that the native call wrapper reads (`call_layout.py`)."""

from __future__ import annotations

from enum import IntEnum


class Guarded(IntEnum):
    """What a group of guards on captured values looks into."""

    DICT = 0
    CELL = 1
    LIST = 2
    """Keys are positions, from the end where they are negative."""
    ATTRIBUTES = 3
    FUNCTION = 4
    """Two pairs: its code and its defaults, those of parameters passed by name and nothing."""
    WORDS = 5
    """Of an object, as it lies in memory: keys are offsets, values what is there."""
    BYTES = 6
    """Of memory that words of the object point to: pairs of two, a size and nothing, an address and a copy's."""
    DICT_TAKEN = 7
    """Of a dict that arrays are taken from: what is found goes to the address that is the value."""
    CELL_TAKEN = 8
    LIST_TAKEN = 9


class Kind(IntEnum):
    """Of a record: what an argument must be, and where its value goes."""

    ARRAY = 0
    FLOAT = 1
    BOOL = 2
    INT = 3
    IDENTITY = 4
    SAME_INT = 5
    SAME_FLOAT = 6
    NUMPY_SCALAR = 7
    TUPLE = 8
    FIXED = 9


class Apart(IntEnum):
    """Whether an array may overlap others."""

    NO_MATTER = 0
    NOTED = 1
    """Where it lies is compared with arrays that come later."""
    CHECKED = 2
    """It must not overlap an array before it."""


class Payload(IntEnum):
    """How the value of a NumPy scalar is read."""

    U8 = 0
    U16 = 1
    U32 = 2
    I8 = 3
    I16 = 4
    I32 = 5
    WORD = 6


class Form(IntEnum):
    """What the caller gets for an output."""

    ARRAY = 0
    SCALAR = 1
    FLOAT = 2
    INT = 3
    BOOL = 4


class How(IntEnum):
    """Where a leaf of the result comes from."""

    OUTPUT = 0
    OBJECT = 1
    CONSTANT = 2
    INTEGER = 3


class Result(IntEnum):
    """What is made of the leaves: the only one, a tuple, or what a Python function makes of the tuple."""

    SINGLE = 0
    TUPLE = 1
    FINISHED = 2
