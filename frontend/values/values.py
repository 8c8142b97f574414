"""What a Python expression is worth during compilation: compile-time objects, run-time numbers, arrays and views."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass, replace
from enum import IntEnum
from itertools import count
from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ...runtime.real_parts import PARTS
from ..interface.captured import Captured, can_change
from ..interface.errors import UnsupportedError
from ..interface.ordinary import is_ordinary
from ..interface.structures import build
from .extents import Affine
from .promotion import WEAK_DTYPES, Operand

Extents = tuple[Affine, ...]

UNKNOWN_LENGTH = "how many elements a mask selects is known at run time only, and shapes are compiled"
INSTEAD = "reduce it at once (x[mask].sum()), assign under it (x[mask] = v), or choose with np.where(mask, x, other)"


class Static:
    """A Python object known at compile time: `raw` is the object, `value` all that it consists of."""

    value: Any

    def __init__(self, value: Any):
        self.raw = value
        if can_change(value):
            self.__class__ = Outside
        else:
            self.value = value

    def __repr__(self) -> str:
        return f"Static({self.raw!r})"


class Outside(Static):
    """A list, a dict, an array or another object whose contents can change before the next call.

    Whoever takes its `value` has read it as a whole, which calls compare with what it is then. What looks at parts
    only takes `raw`, and notes the parts (`outside.py`).
    """

    @property
    def value(self) -> Any:
        captured = READING.get()
        if captured is not None:
            captured.whole(self.raw)
        return self.raw


READING: ContextVar[Captured | None] = ContextVar("READING", default=None)
"""Where what is read from outside is noted: the program that is being compiled."""


@dataclass(frozen=True, eq=False)
class Index:
    """A Python integer known at run time, affine in extents, loop variables and integer arguments."""

    affine: Affine


@dataclass(frozen=True, eq=False)
class Group:
    """A tuple, list, dict, NamedTuple or object of a class (`kind`) of values; `names` are the keys or attributes.

    `ref` tells objects that can change apart: what it holds by now is in the variable of that name (`objects.py`).
    `fixed` says of an object that is made of another one's numbers why it must not be changed.
    """

    items: tuple[Value, ...]
    kind: type = tuple
    names: tuple[Any, ...] | None = None
    ref: str | None = None
    fixed: str | None = None

    def built(self, items: Sequence[Any]) -> Any:
        """The Python object of this kind that has `items`."""
        return build(self.kind, self.names, items)

    @property
    def is_mutable(self) -> bool:
        """Whether all of its names show one object, whose content may change: a list, a dict, an object of a class."""
        if self.kind in (tuple, list, dict):
            return self.kind is not tuple
        return is_dataclass(self.kind) or is_ordinary(self.kind)


@dataclass(frozen=True, eq=False)
class Tensor:
    """An immutable tensor. `weak` is the Python type of a scalar that promotes weakly; `scalar` says that NumPy would
    return a scalar and not an array. `order` is the memory order NumPy would choose, outermost axis first.
    `arguments` are the scalar arguments it is computed from, when it is computed from nothing else.
    """

    ssa: SSAValue
    dtype: np.dtype
    extents: Extents = ()
    scalar: bool = False
    weak: type | None = None
    order: tuple[int, ...] | None = None
    arguments: frozenset[int] | None = None


@dataclass(frozen=True)
class Scalar:
    """A number inside an island: an SSA scalar."""

    ssa: SSAValue
    dtype: np.dtype
    weak: type | None = None


serials = count()
"""Numbers of what is made while a program is compiled, in order."""


@dataclass(eq=False)
class Buffer:
    """The memory of an array variable: at the level of tensors its present value, in an island a memref.

    `argument` is its position when it is an argument, and `is_outside` says that the program reads it from outside;
    `local` is the memref of a buffer that lives in an island.
    `borrowed` names the array that it may be on some path, `lenders` are all such with their ages;
    `aliases` are those of them that a result must share memory with (`aliases.py`), and `tag` says which one
    it is. `dense` says that its elements lie one after the other, in the order `order`. `version` counts
    writes; `overlapping` are the arguments of its alias set `shared`, itself among them. `frozen` says why it
    cannot be written through (a copy that NumPy would share). `joined` says that control flow gave it: it may be
    one of several arrays of the program: of the loop or branch that gave it, these are the `sources`. `place` says
    which of the arrays that change places in a loop it was before. `serial` orders buffers by when they were made.
    `selection` is what a mask selects that it holds, as long as its value is that.
    `through` is the array whose memory it shows in another shape (`reshaped.py`): its `value` is what that held when it was
    last read. `is_shown` says that there are such views of it.
    """

    value: SSAValue | None
    dtype: np.dtype
    extents: Extents
    name: str = ""
    order: tuple[int, ...] | None = None
    argument: int | None = None
    is_outside: bool = False
    local: SSAValue | None = None
    version: int = 0
    frozen: str | None = None
    borrowed: str | None = None
    lenders: tuple[tuple[Buffer, int], ...] = ()
    aliases: tuple[int, ...] = ()
    tag: SSAValue | None = None
    origin: tuple[Buffer, int] | None = None
    read_only: bool = False
    shared: int | None = None
    overlapping: Sequence[Buffer] = ()
    dense: bool = True
    derived: tuple[Any, ...] | None = None
    through: Array | None = None
    is_shown: bool = False
    joined: bool = False
    selection: tuple[Masked, SSAValue] | None = None
    sources: frozenset[Buffer] = frozenset()
    place: SSAValue | None = None
    serial: int = field(default_factory=serials.__next__)

    @property
    def is_callers(self) -> bool:
        """Whether the memory is an argument's, or outside of the function: the caller sees what is written to it."""
        return self.argument is not None or self.is_outside

    @property
    def age(self) -> int:
        """Counts the writes to its memory: those to arguments that overlap it are such."""
        return sum([b.version for b in self.overlapping]) if self.overlapping else self.version

    def may_be(self, lenders: Sequence[tuple[Buffer, int]]) -> None:
        """On some path it is one of these, of these ages."""
        self.lenders = tuple(dict.fromkeys((*self.lenders, *lenders)))


@dataclass(frozen=True, eq=False)
class Axis:
    """An axis of a view: `offset + stride * index` along `root` of the buffer; `root` None is a new axis of extent 1."""

    root: int | None
    offset: Affine
    stride: int
    extent: Affine


@dataclass(frozen=True, eq=False)
class Array:
    """An array variable: a buffer seen through a window of basic indexing. `fixed` gives the axes indexed away.

    `part` is `real` or `imag` where one part of complex numbers is assigned to.
    """

    buffer: Buffer
    axes: tuple[Axis, ...]
    fixed: tuple[tuple[int, Affine], ...] = ()
    part: str = ""

    @property
    def dtype(self) -> np.dtype:
        return PARTS[self.buffer.dtype] if self.part else self.buffer.dtype

    @property
    def extents(self) -> Extents:
        return tuple([axis.extent for axis in self.axes])

    @property
    def whole(self) -> bool:
        """Whether it is the buffer itself."""
        return not (self.fixed or self.part) and all(
            axis.root == k
            and axis.stride == 1
            and axis.offset.known == 0
            and axis.extent.equals(self.buffer.extents[k])
            for k, axis in enumerate(self.axes)
        )

    @property
    def is_row_major(self) -> bool:
        """Whether its elements lie one after the other in memory, in the order of its axes."""
        buffer = self.buffer
        if buffer.order is not None or not buffer.dense or self.part:
            return False
        axes = [axis for axis in self.axes if axis.root is not None]
        first = len(buffer.extents) - len(axes)
        return [axis.root for axis in axes] == list(range(first, len(buffer.extents))) and all(
            axis.stride == 1 and (k == 0 or axis.extent.equals(buffer.extents[first + k]))
            for k, axis in enumerate(axes)
        )


def memory_of(buffer: Buffer) -> Buffer:
    """The array whose memory a buffer shows."""
    while buffer.through is not None:
        buffer = buffer.through.buffer
    return buffer


def whole(buffer: Buffer) -> Array:
    """The array that is all of `buffer`."""
    axes = [Axis(k, Affine(0), 1, extent) for k, extent in enumerate(buffer.extents)]
    return Array(buffer, tuple(axes))


@dataclass(frozen=True, eq=False)
class Lazy:
    """An array expression inside an island: `at(indices)` emits one element as an SSA scalar.

    `reads` lists the arrays it depends on, for the overlap check of assignments.
    """

    dtype: np.dtype
    extents: Extents
    at: Callable[[Sequence[Affine]], SSAValue]
    reads: tuple[Array, ...] = ()


@dataclass(frozen=True, eq=False)
class Masked:
    """`values[mask]`, the mask over the first axes: elements in a number that only the run knows.

    It is computed with as long as nobody asks for the elements side by side (`selection.py`); `compact` gives them
    where it was computed from others that are side by side already.
    """

    values: Array
    mask: Array
    compact: Callable[[], Value] | None = None


@dataclass(frozen=True, eq=False)
class Range:
    """`range(start, stop, step)`; the step is a constant."""

    start: Affine
    stop: Affine
    step: int


@dataclass(frozen=True, eq=False)
class Late:
    """The variable of a loop after it (`loop_variables.py`): `value`, where `turns` is positive, else as `before`."""

    value: Value
    turns: Affine | None = None
    before: Value | None = None


@dataclass(frozen=True, eq=False)
class Iteration:
    """What `zip`, `enumerate` and `reversed` give: `count` items, the k-th of which `at` makes.

    `unrolled`: `at` wants a constant. `once`: an iterator, which is used up when it has been looped over.
    """

    count: Affine
    at: Callable[[Value], Value]
    unrolled: bool = False
    once: bool = False


@dataclass(frozen=True, eq=False)
class Method:
    """A bound method: `x.sum` of an array; of an object of a class with its `function`."""

    receiver: Value
    name: str
    function: Any = None


@dataclass(frozen=True, eq=False)
class Super:
    """`super()`: the attributes that `owner` has from the classes behind `after`."""

    owner: Value
    after: type


@dataclass(frozen=True, eq=False)
class Rows:
    """A list that a loop makes (`rows.py`): its first `count` items are those of `buffer`.

    `kind` says how an item takes part in promotion; `is_open` that the loop which appends to it is around. Where that
    appends on some paths only, the number of items is in `cell`, and there is room for what `places` of the source append.
    A list of tuples has a list for each item of these, its `columns`, of which `buffer` is the first one's; `names` and
    `record` are those of a NamedTuple. Where items are taken from the end (`shrinks`), others come to their places.
    """

    buffer: Buffer
    count: Affine
    kind: Operand
    is_array: bool
    is_open: bool
    ref: str | None = None
    cell: Array | None = None
    places: frozenset[Any] = frozenset()
    columns: tuple[Rows, ...] = ()
    record: type = tuple
    names: tuple[Any, ...] | None = None
    shrinks: bool = False


@dataclass(frozen=True, eq=False)
class Closure:
    """A function defined in the function being compiled: `home` is the frame whose variables it reads when called."""

    node: ast.FunctionDef
    home: Any
    defaults: tuple[Value, ...] = ()
    keyword_defaults: tuple[Value | None, ...] = ()


@dataclass(frozen=True, eq=False)
class Text:
    """An f-string with numbers that are known at run time: values, each with its conversion and format."""

    parts: tuple[tuple[Value, Callable[[Any], str] | None, str], ...]


@dataclass(frozen=True, eq=False)
class Chosen:
    """One of several strings: `which` is its number among them, known at run time."""

    options: tuple[Any, ...]
    which: Value


@dataclass(frozen=True, eq=False)
class Exceptional:
    """An exception that the program makes: Python makes it when it is raised."""

    kind: type
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...] = ()


Value = (
    Text
    | Chosen
    | Exceptional
    | Rows
    | Closure
    | Static
    | Index
    | Group
    | Tensor
    | Scalar
    | Array
    | Lazy
    | Masked
    | Range
    | Late
    | Iteration
    | Method
    | Super
)


UNBOUND = Static(None)
"""What stands in a variable that has no value."""


def flag_of(name: str) -> str:
    """The variable that says whether another one has a value (`control/unbound_names.py`)."""
    return f".bound_{name}"


NOTHING = Static(None)
"""None, as the default of a parameter."""


@dataclass(eq=False)
class Scope:
    """The variables of one Python function during compilation."""

    variables: dict[str, Value] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    """Names that had a value only on some paths, and why."""


def is_array(value: Value) -> bool:
    """Whether NumPy would call it an array (rank 0 counts)."""
    return isinstance(value, Array | Lazy) or (
        isinstance(value, Tensor) and not value.scalar and value.weak is None
    )


FLAT = "flat"


def is_flat(value: Value) -> bool:
    """Whether it is `x.flat`."""
    return isinstance(value, Method) and value.name == FLAT


def is_number(value: Value) -> bool:
    """Whether it takes part in arithmetic."""
    if isinstance(value, Static):
        return isinstance(value.raw, bool | int | float | complex | np.generic)
    return isinstance(value, Index | Tensor | Scalar | Array | Lazy | Masked)


def operand_of(value: Value) -> Operand:
    """How `value` takes part in promotion: its dtype, or its Python type. TypeError when it is not a number."""
    if isinstance(value, Index):
        return int
    if isinstance(value, Static):
        if type(value.raw) in WEAK_DTYPES:
            return type(value.raw)
        if isinstance(value.raw, np.generic):
            return value.raw.dtype
        if isinstance(value.raw, IntEnum):  # to NumPy an object whose type it has to find out
            return WEAK_DTYPES[int]
        raise TypeError(f"{value.raw!r} is not a number")
    if isinstance(value, Tensor | Scalar):
        return value.weak or value.dtype
    if isinstance(value, Array | Lazy):
        return value.dtype
    if isinstance(value, Masked):
        return value.values.dtype
    raise TypeError(f"{describe(value)} is not a number")


def extents_of(value: Value) -> Extents:
    """The shape of a number or an array; () for scalars."""
    if isinstance(value, Masked):
        raise UnsupportedError(UNKNOWN_LENGTH, hint=INSTEAD)
    return value.extents if isinstance(value, Tensor | Array | Lazy) else ()


def describe(value: Value) -> str:
    """A few words for messages."""
    if isinstance(value, Exceptional):
        return f"an exception ({value.kind.__name__})"
    if isinstance(value, Chosen):
        return f"a string chosen at run time (one of {', '.join(map(repr, value.options))})"
    if isinstance(value, Text):
        return "a string made of numbers known at run time"
    if isinstance(value, Masked):
        return "what a mask selects, in a number known at run time only,"
    if isinstance(value, Static):
        array = isinstance(value.raw, np.ndarray)
        return f"an array of shape {value.raw.shape} from outside" if array else f"{value.raw!r}"
    if isinstance(value, Index):
        return "an integer known at run time"
    if isinstance(value, Group):
        return f"a {value.kind.__name__}"
    if isinstance(value, Rows):
        return "a list that a loop makes"
    if isinstance(value, Closure):
        return f"the function {value.node.name}"
    if isinstance(value, Array | Lazy):
        return f"{value.dtype} array of shape {shape_text(value.extents)}"
    if isinstance(value, Tensor):
        if value.extents or not (value.scalar or value.weak):
            return f"{value.dtype} array of shape {shape_text(value.extents)}"
        return f"a {value.weak.__name__ if value.weak else value.dtype} computed at run time"
    if isinstance(value, Scalar):
        return f"a {value.weak.__name__ if value.weak else value.dtype} computed at run time"
    if isinstance(value, Range | Iteration):
        return "a range" if isinstance(value, Range) else "an iterator"
    if isinstance(value, Late):
        return "the variable of a loop"
    if isinstance(value, Super):
        return "super()"
    return f"the method {value.name}"


def shape_text(extents: Extents) -> str:
    """`(3, ?)` as Python writes shapes; the extents of the call being compiled where they are known."""
    parts = []
    for extent in extents:
        value = extent.witness()
        parts.append("?" if value is None else str(value))
    return f"({parts[0]},)" if len(parts) == 1 else f"({', '.join(parts)})"


def renamed(tensor: Tensor, **changes: Any) -> Tensor:
    """`tensor` with some fields changed."""
    return replace(tensor, **changes)
