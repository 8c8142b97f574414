"""Where operations go while a function is compiled: the entry block or an island, with locations and assumptions."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    UNKNOWN_LOC,
    FileLineColLoc,
    FunctionType,
    IndexType,
    IntAttr,
    IntegerAttr,
    NameLoc,
    StringAttr,
    TensorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.ir.affine import AffineBinaryOpKind
from xdsl.traits import Pure

from ...dialects.attributes import SCHEDULED_OP
from ...dialects.diagnostic import NestorError, SourceLocation
from ...dialects.ext.arith import NO_OVERFLOW
from ...dialects.nt.expand import Emitter
from ...dialects.nt.types import BY_NAME
from ..interface.errors import IndexRangeError, Stopped, UnsupportedError
from .extents import Affine, Assumptions, Atom, Factors
from .language import Language
from .values import Array, Buffer, Extents

if TYPE_CHECKING:
    from .exceptions import Raise
    from .islands import Island

INDEX = IndexType()

NamePlace = tuple[str, int, int, str]
"""A variable: the file, line and column of its function, and its name."""


@dataclass(frozen=True)
class Joined:
    """What an object may be, where control flow says which: those of the caller by their refs, of which `number` says which
    one it is, -1 for none; and those that the program made."""

    given: tuple[str, ...] = ()
    number: SSAValue | None = None
    made: frozenset[str] = frozenset()

    def joined_with(self, other: Joined) -> Joined:
        """What one may be that is this one or the other."""
        return Joined(tuple(dict.fromkeys((*self.given, *other.given))), None, self.made | other.made)


NO_OTHER = Joined()
"""Of an object that is known."""


class Graph:
    """The function being built. `insert` adds an operation at the present place with the present location."""

    def __init__(self, language: Language, may_write: bool = True, boundscheck: bool = True) -> None:
        self.language = language
        self.may_write = may_write
        self.boundscheck = boundscheck
        self.entry = Block()
        self.block = self.entry
        self._around = [self.entry]
        """The present block and those around it."""
        self.tensors = self.entry
        """The block of whole arrays: the function's, or that of control flow on tensors."""
        self.externals: dict[str, FunctionType] = {}
        """Functions outside of the module that are called, and their types."""
        self.declarations: dict[str, FuncOp] = {}
        """The functions of Python that islands call (`lowering/nest_common/custom_calls.py`), by symbol."""
        self.functions: dict[str, FuncOp] = {}
        """The private functions that operations of the program are beside (`derivatives/outlined.py`), by symbol."""
        self.outlining = 0
        """How many functions are around that operations are to be beside."""
        self.open_rules: list[Any] = []
        """The functions with derivatives of their own whose rules are being compiled (`derivatives/rules.py`)."""
        self.symbol = ""
        """The symbol of the function being built."""
        self._bodies: set[Block] = set()
        """Bodies of private functions that run whenever the program does."""
        self._journals: list[dict[Buffer, tuple[SSAValue | None, int]]] = []
        self.place = SourceLocation("")
        self.location: Any = UNKNOWN_LOC
        self.own_schedules: dict[str, dict[str, str]] = {}
        """The schedules of operations of the user's, by the names that locations have for their calls."""
        self._own: StringAttr | None = None
        self.assumptions = Assumptions()
        self.island: Island | None = None
        self._head: Operation | None = None
        self.fixed_objects: dict[str, str] = {}
        """Lists and other objects that must not be changed, by their ref, and why."""
        self.given_objects: dict[str, int] = {}
        """Lists, dicts and objects of the arguments, by their ref: their numbers."""
        self.joined_objects: dict[str, Joined] = {}
        """Objects of which control flow says which one they are, by ref (`control/which_object.py`)."""
        self.hidden: dict[str, tuple[str, ...]] = {}
        """Attributes of objects of the arguments that could not be passed, by their ref."""
        self.spreads_objects = True
        """Whether objects of classes among the arguments came with their attributes; else they are constants."""
        self.changes_given = False
        """Whether an object of the arguments was changed anywhere."""
        self.made_objects: dict[int, Any] = {}
        """By id: what calls at compile time made, and Python makes anew in each call of the program."""
        self.made_refs: dict[int, str] = {}
        """By id: of those that can change the variable with their content (`objects.py`), contents included."""
        self.changed_made: set[str] = set()
        """Those variables that have been given another content."""
        self.raises: list[Raise] = []
        """What the `raise`s of the program raise, which the IR names by number."""
        self.frozen_buffers: list[tuple[Buffer, str | None]] = []
        """Arrays that became read-only because they are in lists, and what they were before."""
        self.shared_lists: set[str | None] = set()
        """Lists that a loop makes, by ref, of arrays that are known under other names too."""
        self.aliases: list[Array] = []
        """Views of arguments that other arrays are on some paths (`aliases.py`)."""
        self.untagged: set[Buffer] = set()
        """Arrays of which nothing says which alias they are, and something asked."""
        self.checked: set[Any] = set()
        """Checks of arguments that have been made, and the blocks they are in (`integer_ranges.py`); flags of names that
        have been checked, and where."""
        self.shapes: list[Extents] = []
        """The extents of the arguments that are arrays."""
        self.products: dict[SSAValue, Factors] = {}
        """Products of extents, and what they are products of (`overflow.py`)."""
        self.run_integers: dict[Hashable, list[Atom]] = {}
        """Numbers that only the run knows, as the integers that indices and extents are made of (`indices.py`)."""
        self.entered: list[str] = []
        """The functions that are being compiled, the one that was called last at the end."""
        self.may_stop = False
        """Whether something before may have ended the program: an `assert`, a `raise`."""
        self.has_acted = False
        """Whether something before may have printed, written to an array, or found an index out of bounds."""
        self.made_in_case: list[SSAValue] = []
        """Arrays that are dropped where nobody reads them (`selection.py`)."""
        self.turns: list[Affine | None] = []
        """The iterations of the loops around; None of those that are not counted."""
        self.growing: set[str] | None = None
        self.sweeps: Any = None
        """The loops that are being compiled, and what was found of them (`control/sweeps.py`)."""
        self.lists_of_named: set[str] = set()
        """The lists that loops append arrays to which other names show as well."""
        self.iterated: set[str] = set()
        """The lists that loops which are being compiled go through."""
        self.sequences: list[str] = []
        """The lists that were asked for their items, one after the other."""
        """The lists, by ref, whose length the run is to count, while their loop is compiled (`grown_lists.py`)."""
        self.counts: list[tuple[Array, Block, Affine]] = []
        """Masks of which the True elements were counted, in which block, and their number."""
        self.is_lazy = True
        """Whether arrays of what a mask selects may be computed with under the mask."""
        self.flagged: frozenset[NamePlace] = frozenset()
        """Names that may have no value where they are read, which have a flag."""
        self.unbound: set[NamePlace] = set()
        """Names that were read where nothing says whether they have a value."""
        self._names = 0

    def unfreeze(self, first: int) -> None:
        """Forget the latest of `frozen_buffers`, from number `first`: the attempt that froze them is given up."""
        while len(self.frozen_buffers) > first:
            buffer, frozen = self.frozen_buffers.pop()
            buffer.frozen = frozen

    def new_name(self, prefix: str) -> str:
        """A name that no other variable of this compilation has."""
        self._names += 1
        return f"{prefix}{self._names}"

    def insert(self, op: Operation) -> SSAValue | None:
        """Add `op`; returns its result when it has exactly one."""
        op.location = self.location
        self.block.add_op(op)
        return op.results[0] if len(op.results) == 1 else None

    def insert_at_entry(self, op: Operation) -> SSAValue:
        """Add `op` among the first operations of the function (extents, which every level may need)."""
        op.location = UNKNOWN_LOC
        if self._head is not None:
            self.entry.insert_ops_after([op], self._head)
        elif self.entry.first_op is not None:
            self.entry.insert_ops_before([op], self.entry.first_op)
        else:
            self.entry.add_op(op)
        self._head = op
        return op.results[0]

    def insert_early(self, block: Block) -> None:
        """Move the operations of `block`, of arguments alone, before the last pure ones of the present block."""
        target, ops = self.block, list(block.ops)
        for op in ops:
            op.detach()
        before = target.last_op
        while before is not None and before is not self._head and before.has_trait(Pure):
            before = before.prev_op
        if before is not None:
            target.insert_ops_after(ops, before)
        elif target.first_op is not None:
            target.insert_ops_before(ops, target.first_op)
        else:
            target.add_ops(ops)

    @contextmanager
    def inside(self, block: Block) -> Iterator[None]:
        """Insert into `block` for a while."""
        outer, self.block = self.block, block
        self._around.append(block)
        try:
            yield
        except Stopped:  # nobody answers for what the block is to give
            raise self.error(UnsupportedError, "a raise on every path of this is not supported") from None
        finally:
            self.block = outer
            self._around.pop()

    @contextmanager
    def tensors_inside(self, block: Block) -> Iterator[None]:
        """Work on whole arrays in `block` for a while: a body of control flow on tensors."""
        outer, self.tensors = self.tensors, block
        try:
            with self.inside(block):
                yield
        finally:
            self.tensors = outer

    @contextmanager
    def function_inside(self, block: Block) -> Iterator[None]:
        """Work on whole arrays in `block` for a while: the body of a function that runs where the program stands."""
        if self.is_straight:
            self._bodies.add(block)
        with self.tensors_inside(block):
            yield

    def new_function(self, name: str) -> str:
        """A symbol for a private function, `name` or one like it."""
        symbol, taken = name, {self.symbol, *self.functions, *self.externals, *self.declarations}
        counted = count(1)
        while symbol in taken:
            symbol = f"{name}.{next(counted)}"
        return symbol

    @contextmanager
    def at_function_level(self) -> Iterator[None]:
        """Insert before the island being built."""
        island, self.island = self.island, None
        try:
            with self.inside(self.tensors):
                yield
        finally:
            self.island = island

    @contextmanager
    def at_the_head(self) -> Iterator[None]:
        """Insert among the first operations of the function for a while: what every level may need."""
        block, (outer, island, tensors) = Block(), (self.block, self.island, self.tensors)
        self.block, self.island, self.tensors = block, None, self.entry
        try:
            yield
        finally:
            self.block, self.island, self.tensors = outer, island, tensors
        for op in list(block.ops):
            op.detach()
            self.insert_at_entry(op)

    @property
    def nesting(self) -> int:
        """How many bodies of loops and branches, and of functions, there are around what is inserted."""
        return len(self._around) - 1

    @property
    def is_certain(self) -> bool:
        """Whether what is inserted runs whenever the function does: it is in no loop and no branch,
        and nothing came before it that Python would see."""
        return not (self.may_stop or self.has_acted) and self.is_straight

    @property
    def is_straight(self) -> bool:
        """Whether what is inserted is in no loop and no branch."""
        first = self.tensors if self.island is None else self.island.body
        return (self.tensors is self.entry or self.tensors in self._bodies) and self.block is first

    @contextmanager
    def side_by_side(self) -> Iterator[None]:
        """For a while, arrays of what a mask selects are arrays like any other."""
        before, self.is_lazy = self.is_lazy, False
        try:
            yield
        finally:
            self.is_lazy = before

    @contextmanager
    def going_through(self, first: int) -> Iterator[None]:
        """A loop that goes through the lists that were asked for their items since there were `first` of `sequences`."""
        added = set(self.sequences[first:]) - self.iterated
        self.iterated |= added
        try:
            yield
        finally:
            self.iterated -= added

    @contextmanager
    def counting(self, turns: Affine | None) -> Iterator[None]:
        """Around the body of a loop of so many iterations."""
        self.turns.append(turns)
        try:
            yield
        finally:
            self.turns.pop()

    # ---- contents of arrays -------------------------------------------------------------------------

    def update(self, buffer: Buffer, value: SSAValue) -> None:
        """From here on the array has these contents."""
        self.has_acted = True
        if buffer.through is not None:
            return self.language.write_through(self, buffer, value)
        self.note_write(buffer)
        buffer.value = value
        buffer.version += 1

    def note_write(self, buffer: Buffer) -> None:
        """The array is written: what has been kept of it meanwhile holds no more."""
        for journal in self._journals:
            journal.setdefault(buffer, (buffer.value, buffer.version))

    @contextmanager
    def journal(self) -> Iterator[dict[Buffer, tuple[SSAValue | None, int]]]:
        """What the arrays written meanwhile had before; on an error they have it again."""
        written: dict[Buffer, tuple[SSAValue | None, int]] = {}
        self._journals.append(written)
        try:
            yield written
        except BaseException:
            self.restore(written)
            raise
        finally:
            # by identity: of two journals without entries either is found equal
            self._journals = [journal for journal in self._journals if journal is not written]

    @contextmanager
    def attempt(self, ends: tuple[type[Exception], ...]) -> Iterator[None]:
        """What is compiled meanwhile is undone where it fails; `ends` are what ends the statements and is no failure."""
        block, last, head = self.block, self.block.last_op, self._head
        before = (
            set(self.checked),
            self.may_stop,
            self.has_acted,
            {k: [*v] for k, v in self.run_integers.items()},
        )
        counts, cases, frozen = len(self.counts), len(self.made_in_case), len(self.frozen_buffers)
        ended: Exception | None = None
        try:
            with self.journal():
                try:
                    yield
                except ends as signal:
                    ended = signal
        except BaseException:
            self.checked, self.may_stop, self.has_acted, self.run_integers = before
            del self.counts[counts:], self.made_in_case[cases:]
            self.unfreeze(frozen)
            if last is None or last is head:  # what extents are made of has been added behind it, and stays
                last = self._head if block is self.entry else None
            self._drop_after(block, last)
            raise
        if ended is not None:
            raise ended

    @staticmethod
    def _drop_after(block: Block, last: Operation | None) -> None:
        """Erase the operations of a block behind one."""
        op = block.last_op
        while op is not None and op is not last:
            before = op.prev_op
            op.detach()
            op.drop_all_references()
            op = before

    def give_up(self, block: Block) -> None:
        """Drop what was compiled into `block`, and that arrays which were made there were written."""
        for journal in self._journals:
            for buffer in [b for b, (value, _) in journal.items() if is_inside(value, block)]:
                del journal[buffer]
        block.drop_all_references()

    @staticmethod
    def restore(written: dict[Buffer, tuple[SSAValue | None, int]]) -> None:
        """Give arrays back what they had."""
        for buffer, (value, version) in written.items():
            buffer.value, buffer.version = value, version

    def locate(self, place: SourceLocation) -> None:
        """Operations inserted from here on come from `place`."""
        if place == self.place:
            return
        self.place = place
        location = FileLineColLoc(StringAttr(place.file), IntAttr(place.line), IntAttr(place.column))
        self.location = location if self._own is None else NameLoc(self._own, location)

    @contextmanager
    def scheduled(self, name: str, schedules: Mapping[str, str]) -> Iterator[None]:
        """Operations inserted meanwhile are those of an operation that has schedules, by target."""
        if not schedules:
            yield
            return
        outer, place, location = self._own, self.place, self.location
        number = len(self.own_schedules) + 1
        self._own = StringAttr(f"{SCHEDULED_OP} {name}#{number}")
        self.own_schedules[f"{name}#{number}"] = dict(schedules)
        self.location = NameLoc(self._own, location)
        try:
            yield
        finally:
            self._own, self.place, self.location = outer, place, location

    def error(self, kind: type[NestorError], message: str, hint: str | None = None) -> NestorError:
        """Build (do not raise) an error at the present place."""
        return kind(message, self.place if self.place.file else None, hint=hint)

    def index_error(self, index: object, axis: int, size: int) -> NestorError:
        """The error of an index that an axis does not have."""
        hint = f"an index of this axis is from {-size} to {size - 1}" if size else "the axis has no elements"
        message = f"index {index} is out of bounds for axis {axis} with size {size}"
        return self.error(IndexRangeError, message, hint)

    def emitter(self) -> Emitter:
        """Creates scalar operations here."""
        return Emitter(self.insert, self.location)

    # ---- integers -----------------------------------------------------------------------------------

    def index(self, affine: Affine) -> SSAValue:
        """The SSA value (of type index) of `affine`."""
        total: SSAValue | None = None
        for atom, coefficient in affine.terms:
            term = self._atom(atom.root())
            if coefficient != 1:
                term = self._index_op(arith.MuliOp, term, self.constant_index(coefficient))
            total = term if total is None else self._index_op(arith.AddiOp, total, term)
        if total is None:
            return self.constant_index(affine.constant)
        if affine.constant:
            return self._index_op(arith.AddiOp, total, self.constant_index(affine.constant))
        return total

    def _atom(self, atom: Atom) -> SSAValue:
        if atom.key is None:
            return atom.value
        kind, numerator, divisor = atom.key
        inner, by = self.index(numerator), self.constant_index(divisor)
        floor_op = arith.FloorDivSIOp.create(operands=[inner, by], result_types=[INDEX])
        quotient = self.insert(floor_op)
        assert quotient is not None
        if kind is AffineBinaryOpKind.FloorDiv:
            return quotient
        return self._index_op(arith.SubiOp, inner, self._index_op(arith.MuliOp, quotient, by))

    def _index_op(self, op_type: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        op = op_type.create(operands=[a, b], result_types=[INDEX], properties=dict(NO_OVERFLOW))
        value = self.insert(op)
        assert value is not None
        return value

    def integer(self, affine: Affine) -> SSAValue:
        """The SSA value of `affine` as an i64."""
        if affine.known is not None:
            return self.emitter().const(affine.known, i64)
        op = arith.IndexCastOp.create(operands=[self.index(affine)], result_types=[i64])
        value = self.insert(op)
        assert value is not None
        return value

    def smaller(self, a: Affine, b: Affine) -> Affine:
        """min(a, b) as an SSA value."""
        return self._extreme(arith.MinSIOp, a, b, min)

    def larger(self, a: Affine, b: Affine, high: Affine | None = None) -> Affine:
        """max(a, b) as an SSA value, which is known never to exceed `high`."""
        return self._extreme(arith.MaxSIOp, a, b, max, high)

    def _extreme(
        self, op_type: type[Operation], a: Affine, b: Affine, choose: Any, high: Affine | None = None
    ) -> Affine:
        with self._computed_early(a, b):
            op = op_type.create(operands=[self.index(a), self.index(b)], result_types=[INDEX])
            value = self.insert(op)
        assert value is not None
        lows = [bound for bound in (a.lower_bound(), b.lower_bound()) if bound is not None]
        low = choose(lows) if len(lows) == 2 or (lows and choose is max) else None
        seen = [w for w in (a.witness(), b.witness()) if w is not None]
        witness = choose(seen) if len(seen) == 2 else None
        if choose is min and b.is_of_extents():
            high = b
        return Affine.of(Atom(value, low=low, high=high, witness=witness, extreme=(op_type.name, a, b)))

    def is_visible(self, value: SSAValue) -> bool:
        """Whether a value is computed in the present block or one around it."""
        return _is_computed_in(value, self._around)

    def is_known_around(self, affine: Affine) -> bool:
        """Whether an integer hangs on nothing that is computed in the present block."""
        return all(self._is_known_around(atom.root()) for atom, _ in affine.terms)

    def _is_known_around(self, atom: Atom) -> bool:
        if atom.key is not None:
            return self.is_known_around(atom.key[1])
        if atom.dim is not None or atom.argument is not None:
            return True
        return _is_computed_in(atom.value, self._around[:-1])

    def visible(self, affine: Affine) -> Affine | None:
        """An equal integer of values that are visible here: minima and maxima of others are computed again.

        None where it hangs on what is computed in a block beside this one, on one path of a branch.
        """
        total = Affine(affine.constant)
        for atom, coefficient in affine.terms:
            seen = self._visible_atom(atom.root())
            if seen is None:
                return None
            total += seen * coefficient
        return total

    def _visible_atom(self, atom: Atom) -> Affine | None:
        if atom.key is not None:
            kind, numerator, divisor = atom.key
            seen = self.visible(numerator)
            return None if seen is None else self.assumptions.divided(kind, seen, divisor)
        if atom.dim is not None or atom.argument is not None or self.is_visible(atom.value):
            return Affine.of(atom)
        if atom.extreme is None:
            return None
        name, *sides = atom.extreme
        a, b = [self.visible(side) for side in sides]
        if a is None or b is None:
            return None
        if name == "wrapped":
            return self.wrapped(a, b)
        return self.smaller(a, b) if name == arith.MinSIOp.name else self.larger(a, b, atom.high)

    def unchecked_index(self, index: Affine, extent: Affine) -> Affine:
        """A Python index that the user says is in bounds: wrapped where it may be negative."""
        low = index.least().lower_bound()
        if low is not None and low >= 0:
            return index
        return Affine.of(Atom(self._counted(index, extent), low=0, high=extent - 1))

    def wrapped(self, index: Affine, extent: Affine) -> Affine:
        """A bound of a slice that may be negative, and then counts from the end."""
        with self._computed_early(index, extent):
            return Affine.of(Atom(self._counted(index, extent), extreme=("wrapped", index, extent)))

    @contextmanager
    def _computed_early(self, *affines: Affine) -> Iterator[None]:
        """Among whole arrays: insert into the outermost block that sees these integers, behind what it has so far.

        Both sides of a branch then have one extent, which is known behind it.
        """
        if self.island is not None:
            yield
            return
        place = 0
        for atom in (atom for affine in affines for atom in affine.atoms()):
            if atom.dim is not None or atom.argument is not None or atom.key is not None:
                continue
            home = atom.value.owner if isinstance(atom.value.owner, Block) else atom.value.owner.parent
            found = [k for k, block in enumerate(self._around) if block is home]
            place = max([place, *(found or [len(self._around) - 1])])
        with self.inside(self._around[place]):
            yield

    def _counted(self, index: Affine, extent: Affine) -> SSAValue:
        """`index`, or where it is negative `index + extent`."""
        emitter, value = self.emitter(), self.index(index)
        negative = emitter.cmp("slt", value, self.constant_index(0))
        return emitter.select(negative, self.index(index + extent), value)

    def constant_index(self, value: int) -> SSAValue:
        result = self.insert(arith.ConstantOp(IntegerAttr(value, INDEX)))
        assert result is not None
        return result


def _is_computed_in(value: SSAValue, blocks: Sequence[Block]) -> bool:
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    return any(block is home for block in blocks)


def is_inside(value: SSAValue | None, block: Block) -> bool:
    """Whether a value is computed in the block, or in one inside of it."""
    if value is None:
        return False
    owner = value.owner
    around = owner if isinstance(owner, Block) else owner.parent
    while around is not None and around is not block:
        op = around.parent_op()
        around = None if op is None else op.parent
    return around is block


def element_type(dtype: np.dtype, place: SourceLocation | None = None) -> Attribute:
    """The element type of `dtype`. Raises UnsupportedError for one that nt does not have (complex, object, ...)."""
    element = BY_NAME.get(dtype.name)
    if element is None or not dtype.isnative:
        raise UnsupportedError(
            f"arrays of {dtype.newbyteorder('=').name if dtype.isnative else dtype.str} are not supported",
            place,
            hint=f"element types: {', '.join(BY_NAME)}, in native byte order",
        )
    return element


def static_shape(extents: Extents) -> list[int]:
    """Extents as a type has them: `DYNAMIC_INDEX` where unknown."""
    return [DYNAMIC_INDEX if e.known is None else e.known for e in extents]


def tensor_type(dtype: np.dtype, extents: Extents) -> TensorType:
    return TensorType(element_type(dtype), static_shape(extents))


def dynamic(extents: Sequence[Affine]) -> list[Affine]:
    """The extents that a type leaves open."""
    return [e for e in extents if e.known is None]
