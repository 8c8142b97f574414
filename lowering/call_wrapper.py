"""The native call wrapper: LLVM IR text of the routine that a compiled function is called through.

    ptr @nestor_call(ptr callable, ptr args, i64 nargsf, ptr names)      a vectorcall function (PEP 590)

It tries the entries of the callable one after the other (`call_layout.py` says what they consist of). The first one whose
records and guards hold runs: outputs are allocated through NumPy's C interface, the kernel's slots are filled, the kernel
is called, and its results are put together. Where no entry fits, the Python function `slow` of the callable gets the same
arguments. Whatever this routine does not know for certain, it leaves to that function.

Objects that can be immortal are counted by Python itself (`Py_IncRef`), never by writing to them.
"""

from __future__ import annotations

from .call_layout import (
    ANY,
    ARRAY,
    AXIS,
    CALLABLE,
    CONDITION,
    ENTRY,
    EXCLUSION,
    FIXED,
    GUARD_GROUP,
    KNOWN,
    LEAF,
    LINEAR,
    MAX_ENTRIES,
    MAX_NAMES,
    MAX_OBJECTS,
    MAX_OUTPUTS,
    MAX_RANK,
    MAX_SLOTS,
    NO_SLOT,
    NUMBER,
    OUTPUT,
    OUTPUT_AXIS,
    RECORD,
    TUPLE,
    WORD,
    Apart,
    Form,
    Guarded,
    How,
    Kind,
    Layout,
    Offsets,
    Payload,
    Result,
)
from .ir_text import FunctionText

NAME = "nestor_call"

FUNCTIONS = {
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyErr_Clear": "void ()",
    "PyErr_Occurred": "ptr ()",
    "PyErr_NoMemory": "ptr ()",
    "PyMem_Malloc": "ptr (i64)",
    "PyMem_Free": "void (ptr)",
    "PyLong_AsLongLongAndOverflow": "i64 (ptr, ptr)",
    "PyLong_FromLongLong": "ptr (i64)",
    "PyFloat_FromDouble": "ptr (double)",
    "PyBool_FromLong": "ptr (i64)",
    "PyTuple_New": "ptr (i64)",
    "PyTuple_SetItem": "i32 (ptr, i64, ptr)",
    "PyEval_SaveThread": "ptr ()",
    "PyEval_RestoreThread": "void (ptr)",
}
"""Functions of Python's C interface that the wrapper calls."""

NUMPY_FUNCTIONS = {
    "PyArray_NewFromDescr": ("ptr (ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)", 94),
    "PyArray_Scalar": ("ptr (ptr, ptr, ptr)", 60),
}
"""Functions of NumPy's C interface, with their places in its table (part of NumPy's stable ABI)."""

OBJECTS = ("ndarray_type", "float_type", "int_type", "bool_type", "true_object")
"""Objects whose addresses the wrapper compares with: symbols `nestor_<name>`."""


def emit_call_wrapper(offsets: Offsets) -> str:
    """The text of a module with `@nestor_call`."""
    declarations = [f"@nestor_{name} = external global i8" for name in OBJECTS]
    declarations += [f"declare i64 @llvm.{name}.i64(i64, i64)" for name in ("smin", "smax")]
    for name, kind in [*FUNCTIONS.items(), *((n, k) for n, (k, _) in NUMPY_FUNCTIONS.items())]:
        result, parameters = kind.split(" ", 1)
        declarations.append(f"declare {result} @{name}{parameters}")
    functions = [_linear(), _integers(), _slow(offsets), _match_guards(offsets), _Call(offsets).text()]
    return "\n".join([*declarations, "", *functions, ""])


def _field(f: FunctionText, layout: Layout, base: str, name: str, kind: str = "i64") -> str:
    return f.load(kind, base, layout.offset(name))


def _linear() -> str:
    """The value of a LINEAR."""
    f = FunctionText("i64", "@linear", "ptr %words, ptr %names", "nounwind ")
    total = f.slot("i64")
    f.store("i64", _field(f, LINEAR, "%words", "constant"), total)
    with f.loop(_field(f, LINEAR, "%words", "count")) as k:
        term = f.at(f.at("%words", LINEAR.size, WORD), k, 2 * WORD)
        known = f.load("i64", "%names", f.load("i64", term), WORD)
        f.store("i64", f.add(f.load("i64", total), f.multiply(known, f.load("i64", term, WORD))), total)
    f.ret("i64", f.load("i64", total))
    return f.text().replace("define", "define internal", 1)


def _integers() -> str:
    """A tuple of integers; null, with an exception, where there is no memory."""
    f = FunctionText("ptr", "@integers", "ptr %words, i64 %count", "nounwind ")
    result = f.call("ptr", "@PyTuple_New", "i64 %count")
    f.require(f.compare("ne", result, "null", "ptr"), "nothing")
    with f.loop("%count") as k:
        number = f.call("ptr", "@PyLong_FromLongLong", f"i64 {f.load('i64', '%words', k, WORD)}")
        f.require(f.compare("ne", number, "null", "ptr"), "drop")
        f.call("i32", "@PyTuple_SetItem", f"ptr {result}", f"i64 {k}", f"ptr {number}")
    f.ret("ptr", result)
    f.label("drop")
    f.call("void", "@Py_DecRef", f"ptr {result}")
    f.jump("nothing")
    f.label("nothing")
    f.ret("ptr", "null")
    return f.text().replace("define", "define internal", 1)


def _slow(offsets: Offsets) -> str:
    """The same call of the Python function, which gets the callable as its first argument.

    A caller that says so (the top bit of `nargsf`) lends the place before the first argument.
    """
    f = FunctionText("ptr", "@slow", "ptr %callable, ptr %args, i64 %nargsf, ptr %names", "noinline ")
    function = _field(f, CALLABLE, "%callable", "slow", "ptr")
    given = f.op(f"and i64 %nargsf, {(1 << 63) - 1}")
    count = f.add(given, 1)
    f.branch(f.compare("slt", "%nargsf", 0), "lent", "copied")
    f.label("lent")
    before = f.at("%args", -WORD)
    kept = f.load("ptr", before)
    f.store("ptr", "%callable", before)
    result = f.call(
        "ptr", "@PyObject_Vectorcall", f"ptr {function}", f"ptr {before}", f"i64 {count}", "ptr %names"
    )
    f.store("ptr", kept, before)
    f.ret("ptr", result)
    f.label("copied")
    total = f.slot("i64")
    f.store("i64", given, total)
    with f.when(f.compare("ne", "%names", "null", "ptr")):
        f.store("i64", f.add(given, f.load("i64", "%names", offsets.size)), total)
    every = f.load("i64", total)
    memory = f.call("ptr", "@PyMem_Malloc", f"i64 {f.multiply(f.add(every, 1), WORD)}")
    f.require(f.compare("ne", memory, "null", "ptr"), "nothing")
    f.store("ptr", "%callable", memory)
    with f.loop(every) as k:
        f.store("ptr", f.load("ptr", "%args", k, WORD), f.at(memory, WORD), k, WORD)
    result = f.call(
        "ptr", "@PyObject_Vectorcall", f"ptr {function}", f"ptr {memory}", f"i64 {count}", "ptr %names"
    )
    f.call("void", "@PyMem_Free", f"ptr {memory}")
    f.ret("ptr", result)
    f.label("nothing")
    f.ret("ptr", f.call("ptr", "@PyErr_NoMemory"))
    return f.text().replace("define", "define internal", 1)


def _match_guards(offsets: Offsets) -> str:
    """Whether captured globals and closures are the objects that were compiled in.

    A dict whose version is the one last seen has not changed. Otherwise each name is looked up, and the version noted.
    """
    f = FunctionText("i1", "@guards_hold", "ptr %words, i64 %count", "")
    place = f.slot("ptr")
    f.store("ptr", "%words", place)
    with f.loop("%count"):
        group = f.load("ptr", place)
        container = _field(f, GUARD_GROUP, group, "object", "ptr")
        pairs = f.at(group, GUARD_GROUP.size, WORD)
        count = _field(f, GUARD_GROUP, group, "count")
        f.store("ptr", f.at(pairs, count, 2 * WORD), place)
        cell, table, after = f.new_label("cell"), f.new_label("dict"), f.new_label("next")
        f.branch(f.compare("eq", _field(f, GUARD_GROUP, group, "kind"), Guarded.CELL), cell, table)
        f.label(cell)
        f.require(
            f.compare("eq", f.load("ptr", container, offsets.cell_value), f.load("ptr", pairs, WORD), "ptr"),
            "changed",
        )
        f.jump(after)
        f.label(table)
        version = ""
        if offsets.dict_version is not None:
            version = f.load("i64", container, offsets.dict_version)
            search = f.new_label("search")
            f.branch(f.compare("eq", version, _field(f, GUARD_GROUP, group, "version")), after, search)
            f.label(search)
        with f.loop(count) as k:
            pair = f.at(pairs, k, 2 * WORD)
            found = f.call(
                "ptr", "@PyDict_GetItemWithError", f"ptr {container}", f"ptr {f.load('ptr', pair)}"
            )
            with f.when(f.compare("eq", found, "null", "ptr")):
                f.call("void", "@PyErr_Clear")
            f.require(f.compare("eq", found, f.load("ptr", pair, WORD), "ptr"), "changed")
        if version:
            f.store("i64", version, group, GUARD_GROUP.offset("version"))
        f.label(after)
    f.ret("i1", "true")
    f.label("changed")
    f.ret("i1", "false")
    return f.text().replace("define", "define internal", 1)


class _Call:
    """Writes `@nestor_call`."""

    def __init__(self, offsets: Offsets):
        self.offsets = offsets
        f = self.f = FunctionText(
            "ptr", f"@{NAME}", "ptr %callable, ptr %args, i64 %nargsf, ptr %keywords", ""
        )
        self.position = f.slot("i64")
        self.entry_slot = f.slot("ptr")
        self.slots = f.slot("i64", MAX_SLOTS)
        self.names = f.slot("i64", MAX_NAMES)
        self.objects = f.slot("ptr", MAX_OBJECTS)
        self.lows = f.slot("i64", MAX_OBJECTS)
        self.highs = f.slot("i64", MAX_OBJECTS)
        self.array_count = f.slot("i64")
        self.elements = f.slot("i64")
        self.results = f.slot("ptr", MAX_OUTPUTS)
        self.numbers = f.slot("i64", MAX_OUTPUTS)
        self.extents = f.slot("i64", MAX_OUTPUTS * MAX_RANK)
        self.strides = f.slot("i64", MAX_RANK)
        self.place = f.slot("ptr")
        self.error = f.slot("i64", 4)
        self.status = f.slot("i32")
        self.result = f.slot("ptr")

    def text(self) -> str:
        f = self.f
        given = f.op(f"and i64 %nargsf, {(1 << 63) - 1}")
        passed = f.slot("i64")
        f.store("i64", given, passed)
        f.store("i64", 0, self.position)
        f.label("try")
        position = f.load("i64", self.position)
        f.require(f.compare("slt", position, MAX_ENTRIES), "slow")
        entry = f.load("ptr", f.at("%callable", CALLABLE.offset("entry0")), position, WORD)
        f.require(f.compare("ne", entry, "null", "ptr"), "slow")
        f.store("ptr", entry, self.entry_slot)
        f.call("void", "@Py_IncRef", f"ptr {self.of(entry, 'owner', 'ptr')}")
        self.match_keywords(entry, given)
        guarded = self.of(entry, "guard_groups")
        good = f.call("i1", "@guards_hold", f"ptr {self.of(entry, 'guards', 'ptr')}", f"i64 {guarded}")
        f.require(good, "miss")
        self.prepare(entry)
        self.match_records(entry)
        self.match_conditions(entry)
        self.match_exclusions(entry)
        self.plan_outputs(entry)
        self.hit(position, entry)
        self.allocate(entry)
        self.run(entry)
        self.convert(entry)
        self.assemble(entry)
        f.jump("finish")

        f.label("failed")  # with an exception
        f.store("ptr", "null", self.result)
        f.jump("finish")
        f.label("finish")
        with f.loop(self.of(entry, "output_count")) as k:
            f.call("void", "@Py_DecRef", f"ptr {f.load('ptr', self.results, k, WORD)}")
        f.call("void", "@Py_DecRef", f"ptr {self.of(entry, 'owner', 'ptr')}")
        f.ret("ptr", f.load("ptr", self.result))

        f.label("miss")
        tried = f.load("ptr", self.entry_slot)
        f.store("i64", f.add(f.load("i64", self.position), 1), self.position)
        f.call("void", "@Py_DecRef", f"ptr {self.of(tried, 'owner', 'ptr')}")
        f.jump("try")
        f.label("slow")
        slow = f.call("ptr", "@slow", "ptr %callable", "ptr %args", "i64 %nargsf", "ptr %keywords")
        f.ret("ptr", slow)
        return f.text()

    def of(self, entry: str, name: str, kind: str = "i64") -> str:
        return _field(self.f, ENTRY, entry, name, kind)

    # ---- does the entry fit? ------------------------------------------------------------------------

    def match_keywords(self, entry: str, given: str) -> None:
        """As many arguments as the entry has, and the keywords it has, in their order."""
        f, off = self.f, self.offsets
        f.require(f.compare("eq", given, self.of(entry, "positional")), "miss")
        expected = self.of(entry, "keywords")
        some, none, after = f.new_label("keywords"), f.new_label("plain"), f.new_label("named")
        f.branch(f.compare("ne", "%keywords", "null", "ptr"), some, none)
        f.label(none)
        f.branch(f.compare("eq", expected, 0), after, "miss")
        f.label(some)
        f.require(f.compare("eq", f.load("i64", "%keywords", off.size), expected), "miss")
        wanted = self.of(entry, "keyword_names", "ptr")
        with f.loop(expected) as k:
            name = f.load("ptr", f.at("%keywords", off.tuple_items), k, WORD)
            f.require(f.compare("eq", name, f.load("ptr", wanted, k, WORD), "ptr"), "miss")
        f.label(after)

    def prepare(self, entry: str) -> None:
        """The objects of the call, the constants among the slots, nothing known of extents yet."""
        f = self.f
        with f.loop(f.add(self.of(entry, "positional"), self.of(entry, "keywords"))) as k:
            f.store("ptr", f.load("ptr", "%args", k, WORD), self.objects, k, WORD)
        constants = self.of(entry, "slots", "ptr")
        with f.loop(self.of(entry, "slot_count")) as k:
            f.store("i64", f.load("i64", constants, k, WORD), self.slots, k, WORD)
        with f.loop(self.of(entry, "names")) as k:
            f.store("i64", 0, self.names, k, WORD)
        f.store("i64", 0, self.array_count)
        f.store("i64", self.of(entry, "elements"), self.elements)

    def match_records(self, entry: str) -> None:
        f = self.f
        f.store("ptr", self.of(entry, "record_words", "ptr"), self.place)
        cases = {int(kind): f.new_label(kind.name.lower()) for kind in Kind}
        after = f.new_label("next")
        with f.loop(self.of(entry, "records")):
            record = f.load("ptr", self.place)
            thing = f.load("ptr", self.objects, _field(f, RECORD, record, "source"), WORD)
            kind = f.load("ptr", thing, self.offsets.type)
            f.switch(_field(f, RECORD, record, "kind"), "miss", cases)
            for case, label in cases.items():
                f.label(label)
                getattr(self, f"match_{Kind(case).name.lower()}")(record, thing, kind)
                f.jump(after)
            f.label(after)
            words = _field(f, RECORD, record, "words")
            f.store("ptr", f.at(record, words, WORD), self.place)

    def fill(self, record: str, value: str, kind: str = "i64") -> None:
        self.f.store(kind, value, self.slots, _field(self.f, RECORD, record, "slot"), WORD)

    def match_fixed(self, record: str, thing: str, kind: str) -> None:
        f, off = self.f, self.offsets
        rank = self.match_head(FIXED, record, thing, kind)
        extents, wanted = f.load("ptr", thing, off.array_extents), f.at(record, FIXED.size, WORD)
        with f.loop(rank) as k:
            same = f.compare("eq", f.load("i64", extents, k, WORD), f.load("i64", wanted, k, WORD))
            f.require(same, "miss")
        data = f.load("i64", thing, off.array_data)
        self.fill(record, data)
        apart = _field(f, FIXED, record, "apart")
        with f.when(f.compare("ne", apart, Apart.NO_MATTER)):
            self.note(data, f.add(data, _field(f, FIXED, record, "bytes")), apart)

    def match_head(self, layout: Layout, record: str, thing: str, kind: str) -> str:
        """An array of the right dtype, rank and flags; its rank."""
        f, off = self.f, self.offsets
        f.require(f.compare("eq", kind, "@nestor_ndarray_type", "ptr"), "miss")
        self.match_descr(layout, record, f.load("ptr", thing, off.array_descr))
        rank = _field(f, layout, record, "rank")
        found = f.op(f"zext i32 {f.load('i32', thing, off.array_rank)} to i64")
        f.require(f.compare("eq", found, rank), "miss")
        flags = f.op(f"zext i32 {f.load('i32', thing, off.array_flags)} to i64")
        flags = f.op(f"and i64 {flags}, {_field(f, layout, record, 'mask')}")
        f.require(f.compare("eq", flags, _field(f, layout, record, "flags")), "miss")
        return rank

    def match_array(self, record: str, thing: str, kind: str) -> None:
        f, off = self.f, self.offsets
        rank = self.match_head(ARRAY, record, thing, kind)
        axes = f.at(record, ARRAY.size, WORD)
        extents, strides = f.load("ptr", thing, off.array_extents), f.load("ptr", thing, off.array_strides)
        count = f.slot("i64")
        f.store("i64", 1, count)
        with f.loop(rank) as k:
            extent = f.load("i64", extents, k, WORD)
            f.store("i64", f.multiply(f.load("i64", count), extent), count)
            self.match_axis(f.at(axes, k, AXIS.size * WORD), extent)
        with f.when(f.compare("ne", _field(f, ARRAY, record, "strided"), 0)):
            wanted = f.at(axes, rank, AXIS.size * WORD)
            with f.loop(rank) as k:
                same = f.compare("eq", f.load("i64", strides, k, WORD), f.load("i64", wanted, k, WORD))
                f.require(same, "miss")
        f.store("i64", f.add(f.load("i64", self.elements), f.load("i64", count)), self.elements)
        data = f.load("i64", thing, off.array_data)
        self.fill(record, data)
        self.match_apart(record, data, rank, extents, strides)

    def match_descr(self, layout: Layout, record: str, descr: str) -> None:
        """The dtype itself, or another object for the same one."""
        f = self.f
        other, after = f.new_label("descr"), f.new_label("same")
        f.branch(f.compare("eq", descr, _field(f, layout, record, "descr", "ptr"), "ptr"), after, other)
        f.label(other)
        word = f.load("i64", descr, self.offsets.descr_word)
        f.require(f.compare("eq", word, _field(f, layout, record, "descr_word")), "miss")
        f.label(after)

    def match_axis(self, axis: str, extent: str) -> None:
        """A known extent; or one that is the same wherever its name stands, and neither 0 nor 1."""
        f = self.f
        name = _field(f, AXIS, axis, "name")
        fixed, seen, first, again, after = (
            f.new_label(n) for n in ("fixed", "named", "first", "again", "axis")
        )
        f.switch(name, seen, {KNOWN: fixed, ANY: after})
        f.label(fixed)
        f.branch(f.compare("eq", extent, _field(f, AXIS, axis, "extent")), after, "miss")
        f.label(seen)
        slot = _field(f, AXIS, axis, "slot")
        with f.when(f.compare("sge", slot, 0)):
            f.store("i64", extent, self.slots, slot, WORD)
        known = f.load("i64", self.names, name, WORD)
        f.branch(f.compare("eq", known, 0), first, again)
        f.label(again)
        f.branch(f.compare("eq", known, extent), after, "miss")
        f.label(first)
        f.require(f.compare("sgt", extent, 1), "miss")
        f.store("i64", extent, self.names, name, WORD)
        f.label(after)

    def match_apart(self, record: str, data: str, rank: str, extents: str, strides: str) -> None:
        """The bytes that an array spans; those of a written one are no other's."""
        f = self.f
        apart = _field(f, ARRAY, record, "apart")
        noted = f.new_label("noted")
        f.require(f.compare("ne", apart, Apart.NO_MATTER), noted)
        low, high = f.slot("i64"), f.slot("i64")
        f.store("i64", data, low)
        f.store("i64", f.add(data, _field(f, ARRAY, record, "item_size")), high)
        with f.loop(rank) as k:
            last = f.add(f.load("i64", extents, k, WORD), -1)
            span = f.multiply(last, f.load("i64", strides, k, WORD))
            back, forth = (f.call("i64", f"@llvm.{m}.i64", f"i64 {span}", "i64 0") for m in ("smin", "smax"))
            f.store("i64", f.add(f.load("i64", low), back), low)
            f.store("i64", f.add(f.load("i64", high), forth), high)
        self.note(f.load("i64", low), f.load("i64", high), apart)
        f.label(noted)

    def note(self, begin: str, end: str, apart: str) -> None:
        """Remember where an array lies, and compare with those before it where that is asked for."""
        f = self.f
        before = f.load("i64", self.array_count)
        f.store("i64", begin, self.lows, before, WORD)
        f.store("i64", end, self.highs, before, WORD)
        f.store("i64", f.add(before, 1), self.array_count)
        with f.when(f.compare("eq", apart, Apart.CHECKED)), f.loop(before) as k:
            left = f.compare("ule", end, f.load("i64", self.lows, k, WORD))
            right = f.compare("ule", f.load("i64", self.highs, k, WORD), begin)
            f.require(f.op(f"or i1 {left}, {right}"), "miss")

    def match_float(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", kind, "@nestor_float_type", "ptr"), "miss")
        self.fill(record, f.load("i64", thing, self.offsets.float_value))

    def match_bool(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", kind, "@nestor_bool_type", "ptr"), "miss")
        self.fill(record, f.op(f"zext i1 {f.compare('eq', thing, '@nestor_true_object', 'ptr')} to i64"))

    def match_int(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        value = self.integer(thing, kind)
        self.fill(record, value)
        f.store("i64", value, self.names, _field(f, NUMBER, record, "name"), WORD)

    def integer(self, thing: str, kind: str) -> str:
        """The value of an int of 64 bits."""
        f = self.f
        f.require(f.compare("eq", kind, "@nestor_int_type", "ptr"), "miss")
        overflow = f.slot("i32")
        value = f.call("i64", "@PyLong_AsLongLongAndOverflow", f"ptr {thing}", f"ptr {overflow}")
        f.require(f.compare("eq", f.load("i32", overflow), 0, "i32"), "miss")
        return value

    def match_identity(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", thing, _field(f, NUMBER, record, "value", "ptr"), "ptr"), "miss")

    def match_same_int(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", self.integer(thing, kind), _field(f, NUMBER, record, "value")), "miss")

    def match_same_float(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", kind, "@nestor_float_type", "ptr"), "miss")
        bits = f.load("i64", thing, self.offsets.float_value)
        f.require(f.compare("eq", bits, _field(f, NUMBER, record, "value")), "miss")

    def match_numpy_scalar(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", kind, _field(f, NUMBER, record, "value", "ptr"), "ptr"), "miss")
        cases = {int(one): f.new_label(one.name.lower()) for one in Payload}
        after = f.new_label("scalar")
        f.switch(_field(f, NUMBER, record, "name"), "miss", cases)
        for payload, label in cases.items():
            f.label(label)
            name = Payload(payload).name
            if payload == Payload.WORD:
                value = f.load("i64", thing, self.offsets.scalar_value)
            else:
                narrow = f"i{name[1:]}"
                extend = "zext" if name[0] == "U" else "sext"
                value = f.load(narrow, thing, self.offsets.scalar_value)
                value = f.op(f"{extend} {narrow} {value} to i64")
            self.fill(record, value)
            f.jump(after)
        f.label(after)

    def match_tuple(self, record: str, thing: str, kind: str) -> None:
        f, off = self.f, self.offsets
        f.require(f.compare("eq", kind, _field(f, TUPLE, record, "type", "ptr"), "ptr"), "miss")
        length = _field(f, TUPLE, record, "length")
        f.require(f.compare("eq", f.load("i64", thing, off.size), length), "miss")
        target = f.at(self.objects, _field(f, TUPLE, record, "target"), WORD)
        with f.loop(length) as k:
            f.store("ptr", f.load("ptr", f.at(thing, off.tuple_items), k, WORD), target, k, WORD)

    def match_conditions(self, entry: str) -> None:
        """What the program assumes of unknown extents."""
        f = self.f
        f.store("ptr", self.of(entry, "condition_words", "ptr"), self.place)
        with f.loop(self.of(entry, "conditions")):
            condition = f.load("ptr", self.place)
            form = f.at(condition, CONDITION.offset("constant"))
            total = f.call("i64", "@linear", f"ptr {form}", f"ptr {self.names}")
            exact = f.compare("ne", _field(f, CONDITION, condition, "exact"), 0)
            zero, positive = f.compare("eq", total, 0), f.compare("sge", total, 0)
            f.require(f.op(f"select i1 {exact}, i1 {zero}, i1 {positive}"), "miss")
            terms = _field(f, CONDITION, condition, "count")
            f.store("ptr", f.at(f.at(condition, CONDITION.size, WORD), terms, 2 * WORD), self.place)

    def match_exclusions(self, entry: str) -> None:
        """Extents that programs compiled before are for."""
        f = self.f
        f.store("ptr", self.of(entry, "exclusion_words", "ptr"), self.place)
        with f.loop(self.of(entry, "exclusions")):
            exclusion, differ = f.load("ptr", self.place), f.slot("i1")
            pairs, count = f.at(exclusion, EXCLUSION.size, WORD), _field(f, EXCLUSION, exclusion, "count")
            f.store("i1", "false", differ)
            with f.loop(count) as k:
                pair = f.at(pairs, k, 2 * WORD)
                known = f.load("i64", self.names, f.load("i64", pair), WORD)
                other = f.compare("ne", known, f.load("i64", pair, WORD))
                f.store("i1", f.op(f"or i1 {f.load('i1', differ)}, {other}"), differ)
            f.require(f.load("i1", differ), "miss")
            f.store("ptr", f.at(pairs, count, 2 * WORD), self.place)

    def plan_outputs(self, entry: str) -> None:
        """The extents of the outputs, and whether the caller's `out` has them."""
        f = self.f
        f.store("ptr", self.of(entry, "outputs", "ptr"), self.place)
        with f.loop(self.of(entry, "output_count")) as k:
            f.store("ptr", "null", self.results, k, WORD)
            output = f.load("ptr", self.place)
            mine = f.at(self.extents, k, MAX_RANK * WORD)
            given = _field(f, OUTPUT, output, "given")
            rank = _field(f, OUTPUT, output, "rank")
            count = f.slot("i64")
            f.store("i64", 1, count)
            with f.loop(rank) as axis:
                words = f.at(f.at(output, OUTPUT.size, WORD), axis, OUTPUT_AXIS.size * WORD)
                extent = self.output_extent(words)
                f.store("i64", extent, mine, axis, WORD)
                f.store("i64", f.multiply(f.load("i64", count), extent), count)
                with f.when(f.compare("sge", given, 0)):
                    thing = f.load("ptr", self.objects, given, WORD)
                    theirs = f.load("i64", f.load("ptr", thing, self.offsets.array_extents), axis, WORD)
                    f.require(f.compare("eq", theirs, extent), "miss")
            f.store("i64", f.add(f.load("i64", self.elements), f.load("i64", count)), self.elements)
            self.next_output(output)

    def output_extent(self, words: str) -> str:
        f = self.f
        linear = _field(f, OUTPUT_AXIS, words, "linear", "ptr")
        result = f.slot("i64")
        f.store("i64", _field(f, OUTPUT_AXIS, words, "extent"), result)
        with f.when(f.compare("ne", linear, "null", "ptr")):
            extent = f.call("i64", "@linear", f"ptr {linear}", f"ptr {self.names}")
            f.require(f.compare("sge", extent, 0), "miss")
            f.store("i64", extent, result)
            slot = _field(f, OUTPUT_AXIS, words, "slot")
            with f.when(f.compare("ne", slot, NO_SLOT)):
                f.store("i64", extent, self.slots, slot, WORD)
        return f.load("i64", result)

    def next_output(self, output: str) -> None:
        f = self.f
        f.store("ptr", f.at(output, _field(f, OUTPUT, output, "words"), WORD), self.place)

    # ---- it does ------------------------------------------------------------------------------------

    def hit(self, position: str, entry: str) -> None:
        """Count; the entry moves one place to the front."""
        f = self.f
        hits = CALLABLE.offset("hits")
        f.store("i64", f.add(f.load("i64", "%callable", hits), 1), "%callable", hits)
        with f.when(f.compare("ne", position, 0)):
            mine = f.at(f.at("%callable", CALLABLE.offset("entry0")), position, WORD)
            other = f.at(mine, -WORD)
            before = f.load("ptr", other)
            # The chain may have been renewed by code that ran meanwhile.
            with f.when(f.compare("eq", f.load("ptr", mine), entry, "ptr")):
                f.store("ptr", entry, other)
                f.store("ptr", before, mine)

    def allocate(self, entry: str) -> None:
        """An array for each output, or a place for its number."""
        f = self.f
        f.store("ptr", self.of(entry, "outputs", "ptr"), self.place)
        with f.loop(self.of(entry, "output_count")) as k:
            output = f.load("ptr", self.place)
            slot = f.at(self.slots, _field(f, OUTPUT, output, "slot"), WORD)
            array, number, after = f.new_label("array"), f.new_label("number"), f.new_label("allocated")
            f.branch(f.compare("eq", _field(f, OUTPUT, output, "form"), Form.ARRAY), array, number)
            f.label(number)
            memory = f.at(self.numbers, k, WORD)
            f.store("i64", 0, memory)
            f.store("ptr", memory, slot)
            f.jump(after)
            f.label(array)
            made = self.output_array(entry, output, f.at(self.extents, k, MAX_RANK * WORD))
            f.require(f.compare("ne", made, "null", "ptr"), "failed")
            f.store("ptr", made, self.results, k, WORD)
            f.store("ptr", f.load("ptr", made, self.offsets.array_data), slot)
            f.label(after)
            self.next_output(output)

    def output_array(self, entry: str, output: str, extents: str) -> str:
        f = self.f
        result, strides = f.slot("ptr"), f.slot("ptr")
        given = _field(f, OUTPUT, output, "given")
        descr, rank = _field(f, OUTPUT, output, "descr", "ptr"), _field(f, OUTPUT, output, "rank")
        theirs, ours, after = f.new_label("given"), f.new_label("fresh"), f.new_label("made")
        f.branch(f.compare("sge", given, 0), theirs, ours)
        f.label(theirs)
        thing = f.load("ptr", self.objects, given, WORD)
        f.call("void", "@Py_IncRef", f"ptr {thing}")
        f.store("ptr", thing, result)
        f.jump(after)
        f.label(ours)
        f.store("ptr", "null", strides)
        size = f.slot("i64")
        f.store("i64", _field(f, OUTPUT, output, "item_size"), size)
        with f.loop(rank) as axis:
            f.store("i64", f.multiply(f.load("i64", size), f.load("i64", extents, axis, WORD)), size)
        with f.when(f.compare("ne", _field(f, OUTPUT, output, "ordered"), 0)):
            f.store("ptr", self.strides, strides)
            self.output_strides(output, rank, extents)
        pooled, plain = f.new_label("pooled"), f.new_label("plain")
        f.branch(f.compare("sge", f.load("i64", size), self.of(entry, "pool_bytes")), pooled, plain)
        f.label(plain)
        f.call("void", "@Py_IncRef", f"ptr {descr}")  # which the next call takes
        made = f.call(
            "ptr",
            "@PyArray_NewFromDescr",
            "ptr @nestor_ndarray_type",
            f"ptr {descr}",
            f"i32 {f.op(f'trunc i64 {rank} to i32')}",
            f"ptr {extents}",
            f"ptr {f.load('ptr', strides)}",
            "ptr null",
            "i32 0",
            "ptr null",
        )
        f.store("ptr", made, result)
        f.jump(after)
        f.label(pooled)
        f.store("ptr", self.pool_array(entry, descr, rank, extents, f.load("ptr", strides)), result)
        f.label(after)
        return f.load("ptr", result)

    def output_strides(self, output: str, rank: str, extents: str) -> None:
        """Strides of a result that is not row-major; an extent of 0 counts as 1, as NumPy does it."""
        f = self.f
        running = f.slot("i64")
        f.store("i64", _field(f, OUTPUT, output, "item_size"), running)
        with f.loop(rank) as k:
            words = f.at(f.at(output, OUTPUT.size, WORD), k, OUTPUT_AXIS.size * WORD)
            axis = _field(f, OUTPUT_AXIS, words, "inner")
            stride = f.load("i64", running)
            f.store("i64", stride, self.strides, axis, WORD)
            extent = f.load("i64", extents, axis, WORD)
            extent = f.call("i64", "@llvm.smax.i64", f"i64 {extent}", "i64 1")
            f.store("i64", f.multiply(stride, extent), running)

    def pool_array(self, entry: str, descr: str, rank: str, extents: str, strides: str) -> str:
        """A large result: the pool's Python function, called as pool(shape, dtype[, strides])."""
        f = self.f
        arguments, count, result = f.slot("ptr", 3), f.slot("i64"), f.slot("ptr")
        f.store("ptr", "null", result)
        f.store("ptr", "null", arguments, 2 * WORD)
        f.store("i64", 2, count)
        shape = f.call("ptr", "@integers", f"ptr {extents}", f"i64 {rank}")
        no_shape, ready, drop = f.new_label("no.shape"), f.new_label("ready"), f.new_label("drop")
        f.require(f.compare("ne", shape, "null", "ptr"), no_shape)
        f.store("ptr", shape, arguments)
        f.store("ptr", descr, arguments, WORD)
        with f.when(f.compare("ne", strides, "null", "ptr")):
            steps = f.call("ptr", "@integers", f"ptr {strides}", f"i64 {rank}")
            f.require(f.compare("ne", steps, "null", "ptr"), drop)
            f.store("ptr", steps, arguments, 2 * WORD)
            f.store("i64", 3, count)
        f.label(ready)
        made = f.call(
            "ptr",
            "@PyObject_Vectorcall",
            f"ptr {self.of(entry, 'pool', 'ptr')}",
            f"ptr {arguments}",
            f"i64 {f.load('i64', count)}",
            "ptr null",
        )
        f.store("ptr", made, result)
        f.label(drop)
        f.call("void", "@Py_DecRef", f"ptr {f.load('ptr', arguments, 2 * WORD)}")
        f.call("void", "@Py_DecRef", f"ptr {shape}")
        f.label(no_shape)
        return f.load("ptr", result)

    def run(self, entry: str) -> None:
        """The kernel; other threads may run Python meanwhile when it is long."""
        f = self.f
        for word in range(4):
            f.store("i64", 0, self.error, word, WORD)
        kernel = self.of(entry, "kernel", "ptr")
        long, short, after = f.new_label("long"), f.new_label("short"), f.new_label("ran")
        quick = f.compare("sle", f.load("i64", self.elements), self.of(entry, "held_elements"))
        f.branch(quick, short, long)
        arguments = (f"ptr {self.slots}", f"ptr {self.error}")
        f.label(short)
        f.store("i32", f.call("i32", kernel, *arguments), self.status)
        f.jump(after)
        f.label(long)
        state = f.call("ptr", "@PyEval_SaveThread")
        f.store("i32", f.call("i32", kernel, *arguments), self.status)
        f.call("void", "@PyEval_RestoreThread", f"ptr {state}")
        f.label(after)
        with f.when(f.compare("ne", f.load("i32", self.status), 0, "i32")):
            self.fail(entry)

    def fail(self, entry: str) -> None:
        """A check failed in the kernel: the Python function `fail` raises its exception."""
        f = self.f
        record = f.call("ptr", "@integers", f"ptr {self.error}", "i64 4")
        f.require(f.compare("ne", record, "null", "ptr"), "failed")
        arguments = f.slot("ptr")
        f.store("ptr", record, arguments)
        raised = f.call(
            "ptr",
            "@PyObject_Vectorcall",
            f"ptr {self.of(entry, 'fail', 'ptr')}",
            f"ptr {arguments}",
            "i64 1",
            "ptr null",
        )
        f.call("void", "@Py_DecRef", f"ptr {raised}")  # null: it raises
        f.call("void", "@Py_DecRef", f"ptr {record}")
        f.jump("failed")

    def convert(self, entry: str) -> None:
        """Numbers that the kernel wrote become Python objects."""
        f = self.f
        f.store("ptr", self.of(entry, "outputs", "ptr"), self.place)
        cases = {int(form): f.new_label(form.name.lower()) for form in Form}
        with f.loop(self.of(entry, "output_count")) as k:
            output = f.load("ptr", self.place)
            after, store = f.new_label("converted"), f.new_label("store")
            made = f.slot("ptr")
            number = f.at(self.numbers, k, WORD)
            f.switch(
                _field(f, OUTPUT, output, "form"), after, {k: v for k, v in cases.items() if k != Form.ARRAY}
            )
            makers = {
                Form.SCALAR: lambda: f.call(
                    "ptr",
                    "@PyArray_Scalar",
                    f"ptr {number}",
                    f"ptr {_field(f, OUTPUT, output, 'descr', 'ptr')}",
                    "ptr null",
                ),
                Form.FLOAT: lambda: f.call(
                    "ptr", "@PyFloat_FromDouble", f"double {f.load('double', number)}"
                ),
                Form.INT: lambda: f.call("ptr", "@PyLong_FromLongLong", f"i64 {f.load('i64', number)}"),
                Form.BOOL: lambda: f.call(
                    "ptr", "@PyBool_FromLong", "i64 " + f.op(f"zext i8 {f.load('i8', number)} to i64")
                ),
            }
            for form, make in makers.items():
                f.label(cases[form])
                f.store("ptr", make(), made)
                f.jump(store)
            f.label(store)
            f.require(f.compare("ne", f.load("ptr", made), "null", "ptr"), "failed")
            f.store("ptr", f.load("ptr", made), self.results, k, WORD)
            f.label(after)
            self.next_output(output)

    def assemble(self, entry: str) -> None:
        f = self.f
        count = self.of(entry, "leaf_count")
        leaves = self.of(entry, "leaves", "ptr")
        single, several, after = f.new_label("single"), f.new_label("tuple"), f.new_label("assembled")
        form = self.of(entry, "form")
        f.branch(f.compare("eq", form, Result.SINGLE), single, several)
        f.label(single)
        only = self.leaf(leaves)
        f.require(f.compare("ne", only, "null", "ptr"), "failed")
        f.store("ptr", only, self.result)
        f.jump(after)
        f.label(several)
        items = f.call("ptr", "@PyTuple_New", f"i64 {count}")
        f.require(f.compare("ne", items, "null", "ptr"), "failed")
        drop = f.new_label("drop")
        with f.loop(count) as k:
            item = self.leaf(f.at(leaves, k, LEAF.size * WORD))
            f.require(f.compare("ne", item, "null", "ptr"), drop)
            f.call("i32", "@PyTuple_SetItem", f"ptr {items}", f"i64 {k}", f"ptr {item}")
        f.store("ptr", items, self.result)
        finished = f.new_label("finished")
        f.branch(f.compare("eq", form, Result.FINISHED), finished, after)
        f.label(drop)
        f.call("void", "@Py_DecRef", f"ptr {items}")
        f.jump("failed")
        f.label(finished)
        arguments = f.slot("ptr")
        f.store("ptr", items, arguments)
        made = f.call(
            "ptr",
            "@PyObject_Vectorcall",
            f"ptr {self.of(entry, 'finish', 'ptr')}",
            f"ptr {arguments}",
            "i64 1",
            "ptr null",
        )
        f.call("void", "@Py_DecRef", f"ptr {items}")
        f.store("ptr", made, self.result)
        f.label(after)

    def leaf(self, words: str) -> str:
        """A new reference to one leaf of the result; null, with an exception, where there is no memory."""
        f = self.f
        value, result = _field(f, LEAF, words, "value"), f.slot("ptr")
        cases = {int(how): f.new_label(how.name.lower()) for how in How}
        shared, after = f.new_label("shared"), f.new_label("leaf")
        f.switch(_field(f, LEAF, words, "how"), cases[How.OUTPUT], cases)
        for how, memory in ((How.OUTPUT, self.results), (How.OBJECT, self.objects)):
            f.label(cases[how])
            f.store("ptr", f.load("ptr", memory, value, WORD), result)
            f.jump(shared)
        f.label(cases[How.CONSTANT])
        f.store("i64", value, result)
        f.jump(shared)
        f.label(cases[How.INTEGER])
        linear = f.op(f"inttoptr i64 {value} to ptr")
        number = f.call("i64", "@linear", f"ptr {linear}", f"ptr {self.names}")
        f.store("ptr", f.call("ptr", "@PyLong_FromLongLong", f"i64 {number}"), result)
        f.jump(after)
        f.label(shared)
        f.call("void", "@Py_IncRef", f"ptr {f.load('ptr', result)}")
        f.label(after)
        return f.load("ptr", result)
