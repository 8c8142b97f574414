"""The errors of the frontend: each is a diagnostic with a Python location, and the exception Python or NumPy would raise.

Their docstrings are docs/errors.md: what the error means, a program that raises it, and the mend.
"""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np

from ...dialects.diagnostic import FileError as FileError
from ...dialects.diagnostic import NestorError, SourceLocation


class UnsupportedError(NestorError):
    """Valid Python and NumPy that Nestor does not compile.

        @nt.jit
        def f(x):
            with open("log.txt") as file:
                return x + len(file.read())

        f(np.ones(3))

    The message says what can be written instead; often it is to do that part around the call. `nt.custom_call` calls a
    function of Python in the middle of a compiled one, and `nt.jit(f, fallback="numpy")` runs the plain function where
    it is not compiled.
    """


class ShapeError(NestorError, ValueError):
    """Shapes, axes or values that do not go together.

        @nt.jit
        def f(x, y):
            return x + y

        f(np.ones(3), np.ones(4))

    Extents are equal or 1, counted from the last axis: `x[:, None]` adds an axis, `x.T` turns them round. Where the
    shapes are right outside and wrong inside, `print(f.lower(x, y))` shows the shape of every value.
    """


class AxisError(NestorError, np.exceptions.AxisError):
    """An axis that the array does not have.

        @nt.jit
        def f(x):
            return x.sum(axis=1)

        f(np.ones(3))

    An array of n axes has the axes 0 to n - 1, and -n to -1 counted from the last: `axis=-1` is the last of any array.
    """


class DTypeError(NestorError, TypeError):
    """Element types, options, or arguments of a call, that do not go together.

        @nt.jit
        def f(x, y):
            return x + y

        f(np.ones(3))

    Look at the signature that the message shows; arrays are converted by `x.astype(...)`, numbers by `float(...)`.
    """


class NonFiniteError(NestorError, FloatingPointError):
    """NaN or an infinity, where `nt.debug_nans()` asks for none.

        @nt.jit
        def f(x):
            return np.log(x - 1)

        with nt.debug_nans():
            f(np.ones(3))

    The message names the first operation that made it, its operands and its line. Where it is meant, call outside of
    `nt.debug_nans()`.
    """


class IndexRangeError(NestorError, IndexError):
    """An index outside its axis, or too many indices.

        @nt.jit
        def f(x, k):
            return x[k]

        f(np.ones(3), 3)

    An axis of n elements has the indices 0 to n - 1, and -n to -1 from its end. `np.clip(k, 0, len(x) - 1)` keeps an
    index inside; `np.where(k < len(x), ..., 0.0)` still reads: put the read into an `if`.
    """


class RangeError(NestorError, OverflowError):
    """A Python integer that its element type cannot hold.

        @nt.jit
        def f(x):
            return x + 300

        f(np.ones(3, np.uint8))

    A Python integer takes the type of the array that it meets, as in NumPy: `x.astype(np.int64) + 300`, or `x +
    np.int64(300)`.
    """


class UndefinedNameError(NestorError, NameError):
    """A name without a value.

        @nt.jit
        def f(x):
            return x * scale

        f(np.ones(3))

    Names are looked up when the function is called first: define it in the function, or in its module before the call.
    """


class UnboundError(UndefinedNameError, UnboundLocalError):
    """A local variable without a value: it was not assigned yet, or is that of a loop that had no iteration.

        @nt.jit
        def f(x):
            if x[0] > 5:
                y = 2.0
            return x * y

        f(np.ones(3))

    Give the variable a value on each path: before the branch, or in its `else`.
    """


class MissingKeyError(UnsupportedError, KeyError):
    """A key that a dict does not have.

        @nt.jit
        def f(x, options):
            return x * options["scale"]

        f(np.ones(3), {"rate": 0.5})

    Ask first: `if "scale" in options`, or `options.get("scale", 1.0)`. Both are decided while compiling.
    """


class MissingAttributeError(NestorError, AttributeError):
    """An attribute that the value does not have.

        @nt.jit
        def f(x):
            return np.sine(x)

        f(np.ones(3))

    The message names an attribute that is spelled alike, where there is one. docs/numpy.md lists what of NumPy is compiled.
    """


class ReadOnlyError(NestorError, ValueError):
    """A write to an array that NumPy marks read-only.

        @nt.jit
        def f(x):
            x[0] = 1.0

        f(np.broadcast_to(1.0, 3))

    Write to a copy and return it: `y = x.copy()`. What `np.broadcast_to` gives is read-only, since its elements share
    memory.
    """


class DivisionError(NestorError, ZeroDivisionError):
    """A Python number divided by zero.

        @nt.jit
        def f(x, n):
            return x.sum() / n + 1 / n

        f(np.ones(3), 0)

    Numbers of Python raise as in Python. Test the divisor first, or pass `np.float64(n)`: NumPy's numbers give inf or nan.
    """


class KernelAssertionError(NestorError, AssertionError):
    """An `assert` of the program that does not hold.

        @nt.jit
        def f(x):
            assert x[0] > 5, "x must be large"
            return x

        f(np.ones(3))

    What is asserted is the program's own affair. In a loop the first iteration that fails is the one that raises.
    """


class KernelMemoryError(NestorError, MemoryError):
    """A kernel that could not allocate.

        @nt.jit
        def f(x):
            return np.sort(x[:, None] * x[None, :], axis=0)

        f(np.ones(10_000_000))

    `f.lower(x).memory_analysis()` says which value takes how much. What is summed or compared at once is never stored:
    sum in the same expression, or work on blocks in a loop.
    """

    __new__ = Exception.__new__  # MemoryError's makes no subclass, and who unpickles one may ask for it


class NotPickledError(UnsupportedError, TypeError, pickle.PicklingError):
    """What cannot be pickled: no other process can have it.

        import pickle

        lock = __import__("threading").Lock()

        @nt.jit
        def f(x):
            return x + len(str(lock))

        pickle.dumps(f)

    Functions are sent with what they read outside. Pass such an object's numbers as arguments, or define the function
    in a module that the other process imports too (docs/processes.md).
    """


class SavedProgramError(NestorError, ValueError):
    """A file that holds no saved program, or one that is damaged or of another version.

        with open("x.nestor", "wb") as file:
            file.write(b"no program")
        nt.load("x.nestor")

    Write the file again with this version: `f.lower(x).compile().save("x.nestor")`.
    """


def kind_of(error: Exception) -> type[NestorError]:
    """The class of this file for what Python raised in a call on constants."""
    kinds = {
        OverflowError: RangeError,
        ZeroDivisionError: DivisionError,
        IndexError: IndexRangeError,
        KeyError: MissingKeyError,
        AttributeError: MissingAttributeError,
        ValueError: ShapeError,
    }
    return next((kind for python, kind in kinds.items() if isinstance(error, python)), DTypeError)


class Stopped(Exception):
    """Internal: a `raise` was compiled, and what follows on its path is not reached."""


class ListGrows(Exception):
    """Internal: a loop appends `item` to the list `ref`, which has no room for what this `place` of the source appends.
    `turns` are the iterations of the loops around, None where they are not counted; None where an item is taken away."""

    def __init__(self, ref: str, item: Any, place: Any, turns: tuple[Any, ...] | None):
        super().__init__(ref)
        self.ref = ref
        self.item = item
        self.place = place
        self.turns = turns


class Respecialise(Exception):
    """Internal: lowering needs the values of scalar `arguments`, or all extents (`shapes`), at compile time; or
    arguments are written (`writes`), so that read-only and overlapping ones must be distinguished; or the attributes of
    `objects` that are arguments; or an array from outside overlaps an argument (`overlap`); or
    whether variables have a value has to be kept (`unbound`: the places of functions, and names)."""

    def __init__(
        self,
        arguments: frozenset[int] = frozenset(),
        *,
        shapes: bool = False,
        writes: bool = False,
        objects: bool = False,
        overlap: bool = False,
        unbound: frozenset[Any] = frozenset(),
        why: str = "",
    ):
        super().__init__(why)
        self.arguments = arguments
        self.shapes = shapes
        self.writes = writes
        self.objects = objects
        self.overlap = overlap
        self.unbound = unbound
        self.why = why
        self.place: SourceLocation | None = None
        """Where in the source it was found; known once the lowering has ended."""
