"""What the native call wrapper reads: the words of a callable, of an entry, and of the records in it.

A compiled specialisation is described by words of 8 bytes, and one routine (`call_wrapper.py`) interprets them: it checks
the arguments of a call against the records, fills the slots of the packed entry point, runs the kernel and puts the
result together. The frontend writes the words (`frontend/jit/native_call/entry.py`). What words that
name a kind of thing can be is in `call_kinds.py`.
"""

from __future__ import annotations

WORD = 8


class Layout:
    """Names for consecutive words."""

    def __init__(self, names: str):
        self.names = tuple(names.split())
        self.size = len(self.names)

    def offset(self, name: str) -> int:
        """The offset of a word, in bytes."""
        return self.names.index(name) * WORD

    def pack(self, **values: int) -> list[int]:
        """The words, 0 where none is given."""
        unknown = set(values) - set(self.names)
        assert not unknown, unknown
        return [values.get(name, 0) for name in self.names]


MAX_ENTRIES = 4
"""Specialisations that a callable tries natively, the one used last first."""

MAX_SLOTS = 128
MAX_NAMES = 16
NO_NAME = MAX_NAMES
"""The name of a number that nothing depends on."""
MAX_OBJECTS = 64
MAX_OUTPUTS = 16
MAX_RANK = 8

KEPT_ARRAYS, KEPT_BYTES = 2, 1 << 16
"""Results that an entry keeps for later calls, an output, and up to which size: making and freeing a small array takes
longer than all else in a call. Two, as the caller often has the last one when the next is made."""

CALLABLE = Layout("references type vectorcall slow hits entry0 entry1 entry2 entry3")
"""An instance of the callable type: `slow` is the Python function that answers every other call."""

ENTRY = Layout(
    "owner kernel positional keywords keyword_names guard_groups guards names conditions condition_words exclusions "
    "exclusion_words records record_words spread held held_count held_target slot_count slots output_count outputs "
    "leaf_count leaves form finish fail pool pool_bytes elements held_elements"
)
"""A specialisation. `owner` is the Python object that keeps everything alive which the words point to. `spread`: whether
items of tuples and `held_count` objects of the words `held` (constant, or where guards put what they find), from the
object `held_target` on, are among the objects, which otherwise are the arguments. Up to `held_elements` elements of
arrays the kernel runs without letting other Python threads in: `elements` of them are in FIXED arrays. The first
`slot_count` slots have a value that is the same in every call, or get theirs later."""

GUARD_GROUP = Layout("kind object version count")
"""Then `count` pairs of key and value; a value of 0 is a key that must be absent. `version`: the last one seen of a DICT."""

RECORD = Layout("kind words source slot")
"""What every record begins with: its length, the object it speaks of, the slot that takes the value."""

ARRAY = Layout("kind words source slot descr descr_word rank mask flags item_size apart strided")
"""Then an AXIS for each axis, and, where `strided`, the stride of each in bytes."""

FIXED = Layout("kind words source slot descr descr_word rank mask flags bytes apart count")
"""`count` row-major arrays that are alike, of known extents: the common case, in fewer steps. The extents follow, then the
source and the slot of each array (a PLACE)."""

PLACE = Layout("source slot")

AXIS = Layout("name extent slot")
"""`name` is the number of an unknown extent; KNOWN: it is `extent`; ANY: it is compared elsewhere."""

KNOWN, ANY, NO_SLOT, NO_SOURCE = -1, -2, -1, -1

NUMBER = Layout("kind words source slot name value")
"""A scalar. `value`: the object or the bits that it must have; of NumPy scalars the type, with `name` the Payload."""

TUPLE = Layout("kind words source slot type length target")
"""Its items become the objects from `target` on."""

LINEAR = Layout("constant count")
"""Then `count` pairs of name and coefficient."""

CONDITION = Layout("exact constant count")
"""A LINEAR that must be at least 0, 0 (`exact` is 1), or a multiple of `exact`, where that is more."""

EXCLUSION = Layout("count")
"""Then `count` pairs of name and extent: where all are equal, another program is the one to run."""

OUTPUT = Layout("words form descr rank item_size ordered slot given kept")
"""Then an OUTPUT_AXIS for each axis. `given`: the object that is the caller's `out`. `kept`: a tuple of KEPT_ARRAYS arrays,
results of earlier calls, of which one that nobody else refers to becomes the result; or 0."""

OUTPUT_AXIS = Layout("linear extent slot inner")
"""`linear` points to a LINEAR, or is 0 for a known `extent`; `inner` is the n-th axis of memory from the innermost."""

LEAF = Layout("how value")


class Offsets:
    """Where things are in CPython's and NumPy's objects, in bytes. `runtime/cpu/fast_call.py` tests them on probes."""

    count: int = 0
    type: int = 8
    size: int = 16
    tuple_items: int = 24
    float_value: int = 16
    cell_value: int = 16
    scalar_value: int = 16
    array_data: int = 16
    array_rank: int = 24
    array_extents: int = 32
    array_strides: int = 40
    array_base: int = 48
    array_descr: int = 56
    array_flags: int = 64
    array_references: int = 72
    """Weak references to it."""
    descr_word: int = 24
    """Kind, character, byte order and number of a dtype, in one word."""
    list_items: int = 24
    function_code: int = 48
    function_defaults: int = 56
    function_keywords: int = 64
    """Defaults of parameters that are passed by name."""
    dict_version: int | None = 24
    """A word that changes whenever a dict does; None where there is none."""

    def __init__(self, **others: int | None):
        assert all(hasattr(Offsets, name) for name in others), others
        self.__dict__.update(others)

    def __repr__(self) -> str:
        return repr([getattr(self, name) for name in Offsets.__annotations__])
