"""The entry of a specialisation for the native call wrapper: from what is known about a call to the words it reads.

    entry = native_entry(call, invocation)     # None where such calls stay in Python

`cpu/call_layout.py` says what the words mean. An entry stands for calls whose arguments are what those of `call` were:
the same types, dtypes, shapes and strides, in the same places. Where the program has unknown extents, and all arrays with
such are row-major, it stands for calls of any extents that the program takes.
"""

from __future__ import annotations

import struct
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....runtime.cpu.call_kinds import Apart, Form, How, Kind, Payload, Result
from ....runtime.cpu.call_layout import (
    ANY,
    ARRAY,
    AXIS,
    ENTRY,
    FIXED,
    KEPT_ARRAYS,
    KNOWN,
    LEAF,
    MAX_NAMES,
    MAX_OBJECTS,
    MAX_OUTPUTS,
    MAX_RANK,
    MAX_SLOTS,
    NO_NAME,
    NO_SLOT,
    NO_SOURCE,
    NUMBER,
    OUTPUT,
    OUTPUT_AXIS,
    TUPLE,
    WORD,
    Offsets,
)
from ....runtime.cpu.fast_call import Entry, word_at
from ....runtime.pool import POOL, SMALLEST
from ....runtime.real_parts import PARTS
from ...interface.captured import Read
from ...interface.structures import build
from ..call.invoke import VIEWS, Invocation, addressable, late_result, read_only
from .extents import ExtentWriter
from .guards import guards
from .leaves import Call, Declined

if TYPE_CHECKING:
    from ...interface.program_parts import Leaf, Linear, OutputType

_C_CONTIGUOUS, _ALIGNED, _WRITEABLE = 0x1, 0x100, 0x400
_DESCR_WORD = Offsets().descr_word

HELD_ELEMENTS = 20_000
"""Keep the GIL for kernels that touch at most this many elements."""

_NEVER = -1
_FORMS = {"array": Form.ARRAY, "scalar": Form.SCALAR, "float": Form.FLOAT, "int": Form.INT, "bool": Form.BOOL}
_NUMBERS = {Form.FLOAT: np.dtype(np.float64), Form.INT: np.dtype(np.int64), Form.BOOL: np.dtype(np.bool_)}
_PAYLOADS = {
    "?": Payload.U8,
    "B": Payload.U8,
    "H": Payload.U16,
    "e": Payload.U16,
    "I": Payload.U32,
    "f": Payload.U32,
    "b": Payload.I8,
    "h": Payload.I16,
    "i": Payload.I32,
    "l": Payload.WORD,
    "L": Payload.WORD,
    "d": Payload.WORD,
}


def native_entry(call: Call, invocation: Invocation) -> Entry | None:
    """The entry for calls like this one; None where they stay in Python."""
    kernel = invocation.native
    if kernel is None:
        return None
    try:
        return _Writer(call, invocation, _is_open(call, invocation), kernel=kernel).entry()
    except Declined:
        return None


def _is_open(call: Call, invocation: Invocation) -> bool:
    """Whether the entry can leave unknown extents open."""
    program = invocation.program
    arguments = program.arguments
    open_arrays = [k for k, a in enumerate(arguments) if any(isinstance(e, str) for e in a.extents)]
    forms = [e for o in program.outputs for e in o.extents] + [
        leaf.value for leaf in _leaves(program.results) if leaf.how == "integer"
    ]
    names = {e for a in arguments for e in a.extents if isinstance(e, str)}
    return (
        bool(open_arrays)
        and len(names) + len(invocation.integers) <= MAX_NAMES
        and all(arguments[k].layout == "c" and not arguments[k].order for k in open_arrays)
        and all(isinstance(key, str | int) for form in forms for key, _ in form.terms)
        and not any(leaf.how in VIEWS for leaf in _leaves(program.results))
        and all(guard.is_linear or guard.divided is not None for guard in program.guards)
    )


def _leaves(results: Any) -> list[Leaf]:
    if isinstance(results, tuple):
        return [leaf for item in results[2] for leaf in _leaves(item)]
    return [results]


@dataclass(eq=False)
class _Writer(ExtentWriter):
    kernel: Any = field(kw_only=True)
    result: Entry = field(default_factory=Entry)
    slots: list[int] = field(default_factory=list)
    records: list[list[int]] = field(default_factory=list)
    bases: dict[int, int] = field(default_factory=dict)
    elements: int = 0
    constant_slots: int = 0
    """How many slots there are up to the last one whose value is the same in every call."""

    def entry(self) -> Entry:
        call, invocation, entry = self.call, self.invocation, self.result
        program = invocation.program
        objects = len(call.passed) + sum(length for _, _, length, _ in call.tuples)
        held, objects = objects, objects + len(call.held)
        self._need(objects <= MAX_OBJECTS and len(program.outputs) <= MAX_OUTPUTS)
        self._need(
            not invocation.allocates and not invocation.told
        )  # memory of the kernel's is taken in Python
        self._need(
            not invocation.outside
        )  # where an argument lies in the memory of such an array is looked at in Python
        self._place_slots()
        for source, kind, length, first in call.tuples:
            words = TUPLE.pack(
                kind=Kind.TUPLE, source=source, type=entry.keep(kind), length=length, target=first
            )
            self._record(words)
        for k, argument in enumerate(program.arguments):
            if call.sources[k] != NO_SOURCE:
                self._argument(k, argument, call.values[k])
            else:
                self._need(argument.kind == "static")
        given = self._out()
        outputs = [self._output(k, one, given) for k, one in enumerate(program.outputs)]
        form, leaves, finish = self._results()
        held_words = entry.block([id(array) for array in call.held])
        for array in call.held[: len(call.held) - len(program.inputs)]:
            entry.keep(array)
        groups = guards(program.captured, entry.keep, self._taken(held_words))
        conditions = [self._condition(guard) for guard in program.guards] if self.open else []
        exclusions = self._exclusions() if self.open else []
        conditions += self._not_negative()
        exclusions += self._own_values()
        self._need(len(self.slots) <= MAX_SLOTS and len(self.names) <= MAX_NAMES)
        entry.address = entry.block(
            ENTRY.pack(
                owner=id(entry),
                kernel=self.kernel.address,
                positional=call.positional,
                keywords=len(call.keywords),
                keyword_names=entry.block([entry.keep(sys.intern(name)) for name in call.keywords]),
                guard_groups=len(groups),
                guards=entry.block(_joined(groups)),
                names=len(self.names),
                conditions=len(conditions),
                condition_words=entry.block(_joined(conditions)),
                exclusions=len(exclusions),
                exclusion_words=entry.block(_joined(exclusions)),
                records=len(self.records),
                record_words=entry.block(_joined(self.records)),
                spread=bool(call.tuples or call.held),
                held=held_words,
                held_count=len(call.held),
                held_target=held,
                slot_count=self.constant_slots,
                slots=entry.block(self.slots),
                output_count=len(outputs),
                outputs=entry.block(_joined(outputs)),
                leaf_count=len(leaves),
                leaves=entry.block(_joined(leaves)),
                form=form,
                finish=entry.keep(finish),
                fail=entry.keep(self.kernel.fail),
                pool=entry.keep(POOL.empty),
                pool_bytes=SMALLEST,
                elements=self.elements,
                held_elements=_NEVER if call.long or invocation.integers else HELD_ELEMENTS,
            )
        )
        entry.keep(self.kernel)
        return entry

    def _taken(self, words: int) -> list[tuple[Read, int]]:
        """Where arrays from outside are found, and the addresses of the words for them, the last ones."""
        inputs, held = self.invocation.program.inputs, self.call.held
        first = len(held) - len(inputs)
        return [
            (Read(one.owner, one.step, one.place, held[first + k]), words + (first + k) * WORD)
            for k, one in enumerate(inputs)
        ]

    def _record(self, words: list[int]) -> None:
        words[1] = len(words)
        self.records.append(words)

    # ---- slots --------------------------------------------------------------------------------------

    def _place_slots(self) -> None:
        """Where each argument and output of the kernel has its slots; what is the same in all calls is written now."""
        call, invocation = self.call, self.invocation
        shapes = invocation.output_shapes(call.values)
        layouts = self.kernel.packer.layouts
        for position, k in enumerate(invocation.passed):
            self.bases[k] = len(self.slots)
            layout = layouts[position]
            value = call.values[k]
            if layout is None:
                self.slots.append(0)
                continue
            self._need(type(value) is np.ndarray and addressable(value))
            if k in invocation.orders:
                value = value.transpose(invocation.orders[k])
            element = PARTS.get(value.dtype, value.dtype)
            self._array_slots(layout, value.shape, [s // element.itemsize for s in value.strides])
            if invocation.program.arguments[k].constant:
                self._same_address(self.bases[k], call.values[k])
        for k, (one, shape) in enumerate(zip(invocation.outputs, shapes, strict=True)):
            self.bases[-1 - k] = len(self.slots)
            layout = layouts[len(invocation.passed) + k]
            self._need(not layout[1])
            self._array_slots(layout, [shape[a] for a in one.order] if one.order else shape, ())
        frozen = self._frozen()
        for buffer in frozen:
            self._same_address(len(self.slots), buffer)
        self._need(len(layouts) == len(invocation.passed) + len(shapes) + len(frozen))

    def _frozen(self) -> Sequence[np.ndarray]:
        """The buffers that were computed once for the arrays of this call."""
        invocation, values = self.invocation, self.call.values
        if invocation.frozen is None:
            return ()
        arguments, copies = invocation._arguments(values)
        self._need(not copies)
        return invocation.frozen_buffers(values, arguments)

    def _same_address(self, slot: int, array: np.ndarray) -> None:
        """The address of an array that is the same in every call of the entry, which keeps it alive."""
        if slot == len(self.slots):
            self.slots.append(0)
        self.slots[slot] = array.__array_interface__["data"][0]
        self.constant_slots = max(self.constant_slots, len(self.slots))
        self.result.keep(array)

    def _array_slots(self, layout: Any, extents: Sequence[int], strides: Sequence[int]) -> None:
        dynamic, free = layout
        self.slots += [0, *[extents[a] for a in dynamic], *[strides[a] for a in free]]
        if dynamic or free:
            self.constant_slots = len(self.slots)

    def _extent_slot(self, k: int, layout: Any, axis: int) -> int:
        """The slot of an extent in memory order."""
        return self.bases[k] + 1 + layout[0].index(axis) if axis in layout[0] else NO_SLOT

    # ---- arguments ----------------------------------------------------------------------------------

    def _argument(self, k: int, argument: Any, value: Any) -> None:
        if argument.kind == "static":
            self._static(self.call.sources[k], value)
            return
        write = {
            "array": self._array_argument,
            "scalar": self._scalar,
            "int": self._number,
            "float": self._number,
            "bool": self._number,
        }.get(argument.kind)
        if write is None:
            raise Declined
        write(k, argument, value)

    def _static(self, source: int, value: Any) -> None:
        entry = self.result
        if type(value) is int and -(1 << 63) <= value < 1 << 63:
            self._record(NUMBER.pack(kind=Kind.SAME_INT, source=source, value=value))
        elif type(value) is float:
            bits = struct.unpack("<q", struct.pack("<d", value))[0]
            self._record(NUMBER.pack(kind=Kind.SAME_FLOAT, source=source, value=bits))
        else:
            self._record(NUMBER.pack(kind=Kind.IDENTITY, source=source, value=entry.keep(value)))

    def _number(self, k: int, argument: Any, value: Any) -> None:
        kinds = {"int": Kind.INT, "float": Kind.FLOAT, "bool": Kind.BOOL}
        is_named = argument.kind == "int" or any(k in own for own in self.call.own)
        name = self._name(k) if is_named else NO_NAME
        self._need(type(value).__name__ == argument.kind)
        self._record(
            NUMBER.pack(kind=kinds[argument.kind], source=self.call.sources[k], slot=self.bases[k], name=name)
        )

    def _scalar(self, k: int, argument: Any, value: Any) -> None:
        payload = _PAYLOADS.get(argument.dtype.char)
        self._need(payload is not None and type(value) is argument.dtype.type)
        kind = self.result.keep(type(value))
        source, slot = self.call.sources[k], self.bases[k]
        self._record(
            NUMBER.pack(kind=Kind.NUMPY_SCALAR, source=source, slot=slot, name=payload or 0, value=kind)
        )

    def _array_argument(self, k: int, argument: Any, value: np.ndarray) -> None:
        layout = self.kernel.packer.layouts[self.invocation.passed.index(k)]
        mask = _C_CONTIGUOUS | _ALIGNED | (_WRITEABLE if self.call.mutates else 0)
        apart = Apart.CHECKED if self.call.mutates else Apart.NOTED if self.call.out >= 0 else Apart.NO_MATTER
        if argument.constant:
            self._need(not self.call.mutates and self.call.out < 0)
            self._static(self.call.sources[k], value)
            return
        self._need(argument.overlap is None)  # such calls are answered in Python: an entry would not fit one
        names = [extent if self.open and isinstance(extent, str) else None for extent in argument.extents]
        source, slot = self.call.sources[k], self.bases[k]
        if value.flags.c_contiguous and not any(names):
            self._fixed(source, slot, value, mask, apart)
            return
        axes = []
        for axis, name in enumerate(names):
            if name is None:
                axes += AXIS.pack(name=KNOWN, extent=value.shape[axis], slot=NO_SLOT)
            else:
                axes += AXIS.pack(name=self._name(name), slot=self._extent_slot(k, layout, axis))
        self._array(source, slot, value, axes, mask, apart)

    def _fixed(self, source: int, slot: int, value: np.ndarray, mask: int, apart: int) -> None:
        self._need(value.ndim <= MAX_RANK)
        words = FIXED.pack(
            kind=Kind.FIXED,
            source=source,
            slot=slot,
            descr=self.result.keep(value.dtype),
            descr_word=word_at(value.dtype, _DESCR_WORD),
            rank=value.ndim,
            mask=mask,
            flags=value.flags.num & mask,
            bytes=value.nbytes,
            apart=apart,
            count=1,
        )
        self.elements += value.size
        words += value.shape
        before = self.records[-1] if self.records else []
        if before and _alike(before, words):
            before[_COUNT] += 1
            before += [source, slot]
            before[1] = len(before)
        else:
            self._record([*words, source, slot])

    def _array(
        self, source: int, slot: int, value: np.ndarray, axes: list[int], mask: int, apart: int
    ) -> None:
        self._need(value.ndim <= MAX_RANK)
        entry, strided = self.result, not value.flags.c_contiguous
        words = ARRAY.pack(
            kind=Kind.ARRAY,
            source=source,
            slot=slot,
            descr=entry.keep(value.dtype),
            descr_word=word_at(value.dtype, _DESCR_WORD),
            rank=value.ndim,
            mask=mask,
            flags=value.flags.num & mask,
            item_size=value.itemsize,
            apart=apart,
            strided=strided,
        )
        self._record([*words, *axes, *(value.strides if strided else ())])

    def _out(self) -> int:
        """The caller's `out`, where it is one that the kernel can fill."""
        source = self.call.out
        if source == NO_SOURCE:
            return NO_SOURCE
        out = self.call.passed[source]
        if out is None:
            self._static(source, None)
            return NO_SOURCE
        outputs = self.invocation.outputs
        self._need(type(out) is np.ndarray and len(outputs) == 1)
        (one,) = outputs
        self._need(one.kind == "array" and one.order is None and out.dtype == one.dtype)
        mask = _C_CONTIGUOUS | _ALIGNED | _WRITEABLE
        self._need(out.flags.num & mask == mask)
        axes = AXIS.pack(name=ANY, slot=NO_SLOT) * out.ndim
        self._array(source, self.bases[-1], out, axes, mask, Apart.CHECKED)
        return source

    # ---- outputs and results ------------------------------------------------------------------------

    def _output(self, k: int, one: OutputType, given: int) -> list[int]:
        form = _FORMS.get(one.kind)
        if form is None:
            raise Declined
        if form != Form.ARRAY:
            self._need(not one.extents and _NUMBERS.get(form, one.dtype) == one.dtype)
        rank = len(one.extents)
        self._need(rank <= MAX_RANK)
        order = one.order or tuple(range(rank))
        layout = self.kernel.packer.layouts[len(self.invocation.passed) + k]
        shape = self.invocation.output_shapes(self.call.values)[k]
        axes = []
        for axis, extent in enumerate(one.extents):
            varies = self._varies(extent)
            axes += OUTPUT_AXIS.pack(
                linear=self.result.block(self._linear(extent)) if varies else 0,
                extent=shape[axis],
                slot=self._extent_slot(-1 - k, layout, order.index(axis)) if varies else NO_SLOT,
                inner=order[rank - 1 - axis],
            )
        words = OUTPUT.pack(
            form=form,
            descr=self.result.keep(one.dtype),
            rank=rank,
            item_size=one.dtype.itemsize,
            ordered=one.order is not None,
            slot=self.bases[-1 - k],
            given=given,
            kept=self._kept(one) if form == Form.ARRAY and one.order is None and given < 0 else 0,
        )
        words[0] = len(words) + len(axes)
        return [*words, *axes]

    def _kept(self, one: OutputType) -> int:
        """A tuple whose items the wrapper replaces by results; 0 where none are to be kept."""
        if not POOL.limit:
            return 0
        return self.result.keep(
            tuple(np.empty((0,) * len(one.extents), one.dtype) for _ in range(KEPT_ARRAYS))
        )

    def _results(self) -> tuple[int, list[list[int]], Any]:
        results = self.invocation.program.results
        late: list[Callable[[Any], Any] | None] = []
        leaves = [self._leaf(leaf, late) for leaf in _leaves(results)]
        if not any(late):
            if not isinstance(results, tuple):
                return Result.SINGLE, leaves, None
            if results[0] is tuple and not any(isinstance(item, tuple) for item in results[2]):
                return Result.TUPLE, leaves, None
        return Result.FINISHED, leaves, _Finish(results, late)

    def _leaf(self, leaf: Leaf, late: list[Callable[[Any], Any] | None]) -> list[int]:
        late.append(None)
        if leaf.how == "constant":
            return LEAF.pack(how=How.CONSTANT, value=self.result.keep(leaf.value))
        if leaf.how == "output":
            return LEAF.pack(how=How.OUTPUT, value=leaf.output)
        if leaf.how == "integer" and self._varies(leaf.value):
            self._need(_is_short(leaf.value))  # Python's integers have any length, native ones 64 bits
            return LEAF.pack(how=How.INTEGER, value=self.result.block(self._linear(leaf.value)))
        if leaf.how == "integer":
            value = leaf.value.value(self.invocation.names)
            return LEAF.pack(how=How.CONSTANT, value=self.result.keep(value))
        if leaf.how == "read-only":
            late[-1] = read_only
            return LEAF.pack(how=How.OUTPUT, value=leaf.output)
        if leaf.how == "rows":
            late[-1] = list if leaf.value is None else np.ndarray.tolist
            return LEAF.pack(how=How.OUTPUT, value=leaf.output)
        self._need(leaf.argument >= 0)
        source = self.call.sources[leaf.argument]
        self._need(source != NO_SOURCE and (leaf.how == "argument" or leaf.how in VIEWS))
        if leaf.how != "argument":
            self._need(not self.open and not self.invocation.integers)
            late[-1] = late_result(leaf, self.invocation)
        return LEAF.pack(how=How.OBJECT, value=source)


_LARGEST_EXTENT = 1 << 48
"""Maximum extent: no memory holds more elements."""


def _is_short(form: Linear) -> bool:
    """Whether 64 bits hold the form in every call: an argument itself, or a small multiple of extents."""
    if not form.constant and len(form.terms) == 1 and form.terms[0][1] == 1:
        return True
    if any(isinstance(key, int) for key, _ in form.terms):
        return False
    return abs(form.constant) + sum(abs(c) for _, c in form.terms) * _LARGEST_EXTENT < 1 << 63


_COUNT = FIXED.names.index("count")


def _alike(record: Sequence[int], words: Sequence[int]) -> bool:
    """Whether a FIXED record without its places says of its arrays what another record says of its own."""
    head = slice(FIXED.names.index("descr"), _COUNT)
    rank = words[FIXED.names.index("rank")]
    same = (record[0], *record[head]) == (words[0], *words[head])
    return same and list(record[FIXED.size : FIXED.size + rank]) == list(words[FIXED.size :])


class _Finish:
    """Makes the result of a program of its leaves."""

    def __init__(self, results: Any, late: Sequence[Callable[[Any], Any] | None]):
        self.results = results
        self.late = late

    def __call__(self, leaves: tuple) -> Any:
        done = iter(
            [leaf if make is None else make(leaf) for leaf, make in zip(leaves, self.late, strict=True)]
        )
        return self._built(self.results, done)

    def _built(self, results: Any, leaves: Any) -> Any:
        if not isinstance(results, tuple):
            return next(leaves)
        kind, names, items = results
        return build(kind, names, [self._built(item, leaves) for item in items])


def _joined(rows: Iterable[Sequence[int]]) -> list[int]:
    return [word for row in rows for word in row]
