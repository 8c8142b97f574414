"""What the native call wrapper calls: sums over extents, tuples of integers, guards, and the way back to Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .call_kinds import Guarded
from .call_layout import CALLABLE, GUARD_GROUP, LINEAR, WORD, Layout, Offsets
from .ir_text import FunctionText


def field(f: FunctionText, layout: Layout, base: str, name: str, kind: str = "i64") -> str:
    return f.load(kind, base, layout.offset(name))


def linear() -> str:
    """The value of a LINEAR."""
    f = FunctionText("i64", "@linear", "ptr %words, ptr %names", "nounwind ")
    total = f.slot("i64")
    f.store("i64", field(f, LINEAR, "%words", "constant"), total)
    with f.loop(field(f, LINEAR, "%words", "count")) as k:
        term = f.at(f.at("%words", LINEAR.size, WORD), k, 2 * WORD)
        known = f.load("i64", "%names", f.load("i64", term), WORD)
        f.store("i64", f.add(f.load("i64", total), f.multiply(known, f.load("i64", term, WORD))), total)
    f.ret("i64", f.load("i64", total))
    return f.text().replace("define", "define internal", 1)


def integers() -> str:
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


def slow(offsets: Offsets) -> str:
    """The same call of the Python function, which gets the callable as its first argument.

    A caller that says so (the top bit of `nargsf`) lends the place before the first argument.
    """
    f = FunctionText("ptr", "@slow", "ptr %callable, ptr %args, i64 %nargsf, ptr %names", "noinline ")
    function = field(f, CALLABLE, "%callable", "slow", "ptr")
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


def match_guards(offsets: Offsets) -> str:
    """Whether what was read outside is what was compiled in: objects by identity.

    A dict whose version is the one last seen has not changed. Otherwise each name is looked up, and the version noted.
    """
    f = FunctionText("i1", "@guards_hold", "ptr %words, i64 %count", "")
    place = f.slot("ptr")
    f.store("ptr", "%words", place)
    with f.loop("%count"):
        group = f.load("ptr", place)
        container = field(f, GUARD_GROUP, group, "object", "ptr")
        pairs = f.at(group, GUARD_GROUP.size, WORD)
        count = field(f, GUARD_GROUP, group, "count")
        f.store("ptr", f.at(pairs, count, 2 * WORD), place)
        cases = {int(kind): f.new_label(kind.name.lower()) for kind in Guarded}
        after = f.new_label("next")
        f.switch(field(f, GUARD_GROUP, group, "kind"), "changed", cases)
        for kind, label in cases.items():
            f.label(label)
            _GUARDS[Guarded(kind)](f, offsets, group, container, pairs, count, after)
            f.jump(after)
        f.label(after)
    f.ret("i1", "true")
    f.label("changed")
    f.ret("i1", "false")
    return f.text().replace("define", "define internal", 1)


def _require_same(f: FunctionText, found: str, pair: str) -> None:
    f.require(f.compare("eq", found, f.load("ptr", pair, WORD), "ptr"), "changed")


def _guard_cell(
    f: FunctionText, offsets: Offsets, group: str, cell: str, pairs: str, count: str, after: str
) -> None:
    _require_same(f, f.load("ptr", cell, offsets.cell_value), pairs)


@contextmanager
def _items_of_a_new_version(
    f: FunctionText, offsets: Offsets, group: str, table: str, pairs: str, count: str, after: str
) -> Iterator[tuple[str, str]]:
    """What a dict holds for the key of each of the pairs, or null; where its version is still the same, go on at `after`."""
    version = ""
    if offsets.dict_version is not None:
        version = f.load("i64", table, offsets.dict_version)
        search = f.new_label("search")
        f.branch(f.compare("eq", version, field(f, GUARD_GROUP, group, "version")), after, search)
        f.label(search)
    with f.loop(count) as k:
        pair = f.at(pairs, k, 2 * WORD)
        found = f.call("ptr", "@PyDict_GetItemWithError", f"ptr {table}", f"ptr {f.load('ptr', pair)}")
        with f.when(f.compare("eq", found, "null", "ptr")):
            f.call("void", "@PyErr_Clear")
        yield found, pair
    if version:
        f.store("i64", version, group, GUARD_GROUP.offset("version"))


def _guard_dict(
    f: FunctionText, offsets: Offsets, group: str, table: str, pairs: str, count: str, after: str
) -> None:
    with _items_of_a_new_version(f, offsets, group, table, pairs, count, after) as (found, pair):
        _require_same(f, found, pair)


def _guard_list(
    f: FunctionText, offsets: Offsets, group: str, owner: str, pairs: str, count: str, after: str
) -> None:
    with f.loop(count) as k:
        pair = f.at(pairs, k, 2 * WORD)
        _require_same(f, _list_item(f, offsets, owner, f.load("i64", pair)), pair)


def _take(f: FunctionText, found: str, pair: str) -> None:
    f.store("ptr", found, f.load("ptr", pair, WORD))


def _take_from_cell(
    f: FunctionText, offsets: Offsets, group: str, cell: str, pairs: str, count: str, after: str
) -> None:
    found = f.load("ptr", cell, offsets.cell_value)
    f.require(f.compare("ne", found, "null", "ptr"), "changed")
    with f.loop(count) as k:
        _take(f, found, f.at(pairs, k, 2 * WORD))


def _take_from_dict(
    f: FunctionText, offsets: Offsets, group: str, table: str, pairs: str, count: str, after: str
) -> None:
    with _items_of_a_new_version(f, offsets, group, table, pairs, count, after) as (found, pair):
        f.require(f.compare("ne", found, "null", "ptr"), "changed")
        _take(f, found, pair)


def _take_from_list(
    f: FunctionText, offsets: Offsets, group: str, owner: str, pairs: str, count: str, after: str
) -> None:
    with f.loop(count) as k:
        pair = f.at(pairs, k, 2 * WORD)
        _take(f, _list_item(f, offsets, owner, f.load("i64", pair)), pair)


def _list_item(f: FunctionText, offsets: Offsets, owner: str, key: str) -> str:
    """An item of a list; where there is none, control goes to `changed`."""
    size = f.load("i64", owner, offsets.size)
    from_end = f.op(f"select i1 {f.compare('slt', key, 0)}, i64 {size}, i64 0")
    position = f.add(key, from_end)
    f.require(f.compare("ult", position, size), "changed")
    return f.load("ptr", f.load("ptr", owner, offsets.list_items), position, WORD)


def _guard_attributes(
    f: FunctionText, offsets: Offsets, group: str, owner: str, pairs: str, count: str, after: str
) -> None:
    with f.loop(count) as k:
        pair = f.at(pairs, k, 2 * WORD)
        found = f.call("ptr", "@PyObject_GetAttr", f"ptr {owner}", f"ptr {f.load('ptr', pair)}")
        absent, there, compared = f.new_label("absent"), f.new_label("there"), f.new_label("compared")
        f.branch(f.compare("eq", found, "null", "ptr"), absent, there)
        f.label(absent)
        f.call("void", "@PyErr_Clear")
        f.jump(compared)
        f.label(there)
        f.call("void", "@Py_DecRef", f"ptr {found}")  # compared only: it may be gone
        f.label(compared)
        _require_same(f, found, pair)


def _guard_function(
    f: FunctionText, offsets: Offsets, group: str, owner: str, pairs: str, count: str, after: str
) -> None:
    for k, offset in enumerate((offsets.function_code, offsets.function_defaults, offsets.function_keywords)):
        found = f.load("ptr", owner, offset)
        f.require(f.compare("eq", found, f.load("ptr", pairs, k, WORD), "ptr"), "changed")


def _guard_words(
    f: FunctionText, offsets: Offsets, group: str, owner: str, pairs: str, count: str, after: str
) -> None:
    with f.loop(count) as k:
        pair = f.at(pairs, k, 2 * WORD)
        _require_same(f, f.load("ptr", owner, f.load("i64", pair)), pair)


def _guard_bytes(
    f: FunctionText, offsets: Offsets, group: str, owner: str, pairs: str, count: str, after: str
) -> None:
    with f.loop(f.op(f"lshr i64 {count}, 1")) as k:
        size, place = f.at(pairs, k, 4 * WORD), f.at(f.at(pairs, 2 * WORD), k, 4 * WORD)
        here, copy = f.load("ptr", place), f.load("ptr", place, WORD)
        found = f.call("i32", "@memcmp", f"ptr {here}", f"ptr {copy}", f"i64 {f.load('i64', size)}")
        f.require(f.compare("eq", found, 0, "i32"), "changed")


_GUARDS = {
    Guarded.DICT: _guard_dict,
    Guarded.CELL: _guard_cell,
    Guarded.LIST: _guard_list,
    Guarded.ATTRIBUTES: _guard_attributes,
    Guarded.FUNCTION: _guard_function,
    Guarded.WORDS: _guard_words,
    Guarded.BYTES: _guard_bytes,
    Guarded.DICT_TAKEN: _take_from_dict,
    Guarded.CELL_TAKEN: _take_from_cell,
    Guarded.LIST_TAKEN: _take_from_list,
}
"""Who writes the check of a group; what has changed goes to block `changed`."""
