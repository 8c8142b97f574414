"""The results of a native call: their extents, and arrays to hold them."""

from __future__ import annotations

from .call_helpers import field
from .call_kinds import Form
from .call_layout import KEPT_ARRAYS, KEPT_BYTES, MAX_RANK, NO_SLOT, OUTPUT, OUTPUT_AXIS, WORD
from .call_match import CallMatch

_FRESH = 0x1 | 0x4 | 0x100 | 0x400
"""Flags of every fresh row-major array: contiguous, its own memory, aligned, writable."""


class CallOutputs(CallMatch):
    """Writes what is known of outputs before the kernel runs."""

    def plan_outputs(self, entry: str) -> None:
        """The extents of the outputs, and whether the caller's `out` has them."""
        f = self.f
        f.store("ptr", self.of(entry, "outputs", "ptr"), self.place)
        with f.loop(self.of(entry, "output_count")) as k:
            f.store("ptr", "null", self.results, k, WORD)
            output = f.load("ptr", self.place)
            mine = f.at(self.extents, k, MAX_RANK * WORD)
            given = field(f, OUTPUT, output, "given")
            rank = field(f, OUTPUT, output, "rank")
            count = f.slot("i64")
            f.store("i64", 1, count)
            with f.loop(rank) as axis:
                words = f.at(f.at(output, OUTPUT.size, WORD), axis, OUTPUT_AXIS.size * WORD)
                extent = self.output_extent(words)
                f.store("i64", extent, mine, axis, WORD)
                f.store("i64", f.multiply(f.load("i64", count), extent), count)
                with f.when(f.compare("sge", given, 0)):
                    thing = self.object(given)
                    theirs = f.load("i64", f.load("ptr", thing, self.offsets.array_extents), axis, WORD)
                    f.require(f.compare("eq", theirs, extent), "miss")
            total = f.load("i64", count)
            f.store("i64", f.multiply(total, field(f, OUTPUT, output, "item_size")), self.sizes, k, WORD)
            f.store("i64", f.add(f.load("i64", self.elements), total), self.elements)
            self.next_output(output)

    def output_extent(self, words: str) -> str:
        f = self.f
        linear = field(f, OUTPUT_AXIS, words, "linear", "ptr")
        result = f.slot("i64")
        f.store("i64", field(f, OUTPUT_AXIS, words, "extent"), result)
        with f.when(f.compare("ne", linear, "null", "ptr")):
            extent = f.call("i64", "@linear", f"ptr {linear}", f"ptr {self.names}")
            f.require(f.compare("sge", extent, 0), "miss")
            f.store("i64", extent, result)
            slot = field(f, OUTPUT_AXIS, words, "slot")
            with f.when(f.compare("ne", slot, NO_SLOT)):
                f.store("i64", extent, self.slots, slot, WORD)
        return f.load("i64", result)

    def next_output(self, output: str) -> None:
        f = self.f
        f.store("ptr", f.at(output, field(f, OUTPUT, output, "words"), WORD), self.place)

    # ---- arrays ------------------------------------------------------------------------------------

    def allocate(self, entry: str) -> None:
        """An array for each output, or a place for its number."""
        f = self.f
        f.store("ptr", self.of(entry, "outputs", "ptr"), self.place)
        with f.loop(self.of(entry, "output_count")) as k:
            output = f.load("ptr", self.place)
            slot = f.at(self.slots, field(f, OUTPUT, output, "slot"), WORD)
            array, number, after = f.new_label("array"), f.new_label("number"), f.new_label("allocated")
            f.branch(f.compare("eq", field(f, OUTPUT, output, "form"), Form.ARRAY), array, number)
            f.label(number)
            memory = f.at(self.numbers, k, WORD)
            f.store("i64", 0, memory)
            f.store("ptr", memory, slot)
            f.jump(after)
            f.label(array)
            extents, size = f.at(self.extents, k, MAX_RANK * WORD), f.load("i64", self.sizes, k, WORD)
            made = self.output_array(entry, output, extents, size)
            f.require(f.compare("ne", made, "null", "ptr"), "failed")
            f.store("ptr", made, self.results, k, WORD)
            f.store("ptr", f.load("ptr", made, self.offsets.array_data), slot)
            f.label(after)
            self.next_output(output)

    def output_array(self, entry: str, output: str, extents: str, size: str) -> str:
        """The caller's `out`; or an earlier result that nobody has any more; or a fresh array."""
        f = self.f
        result = f.slot("ptr")
        given = field(f, OUTPUT, output, "given")
        descr, rank = field(f, OUTPUT, output, "descr", "ptr"), field(f, OUTPUT, output, "rank")
        theirs, ours, fresh, after = (f.new_label(n) for n in ("given", "ours", "fresh", "made"))
        f.branch(f.compare("sge", given, 0), theirs, ours)
        f.label(theirs)
        thing = self.object(given)
        f.call("void", "@Py_IncRef", f"ptr {thing}")
        f.store("ptr", thing, result)
        f.jump(after)

        f.label(ours)
        kept = field(f, OUTPUT, output, "kept", "ptr")
        f.require(f.compare("ne", kept, "null", "ptr"), fresh)
        items = f.at(kept, self.offsets.tuple_items)
        for n in range(KEPT_ARRAYS):
            other = f.new_label("other")
            one = f.load("ptr", items, n * WORD)
            self.match_idle(one, descr, rank, extents, size, output, other)
            f.store("i32", 2, one, self.offsets.count)
            f.store("ptr", one, result)
            f.jump(after)
            f.label(other)
        f.jump(fresh)

        f.label(fresh)
        made = self.fresh_array(entry, output, extents, size)
        f.store("ptr", made, result)
        some = f.op(f"and i1 {f.compare('ne', kept, 'null', 'ptr')}, {f.compare('ne', made, 'null', 'ptr')}")
        f.require(some, after)
        f.require(f.compare("sle", size, KEPT_BYTES), after)
        self.keep(made, f.at(kept, self.offsets.tuple_items))
        f.label(after)
        return f.load("ptr", result)

    def match_idle(
        self, one: str, descr: str, rank: str, extents: str, size: str, output: str, other: str
    ) -> None:
        """Nothing but the entry refers to a kept array, and it is as fresh ones of these extents are."""
        f, off = self.f, self.offsets
        f.require(f.compare("eq", f.load("i32", one, off.count), 1, "i32"), other)
        f.require(f.compare("eq", f.load("ptr", one, off.array_references), "null", "ptr"), other)
        f.require(f.compare("eq", f.load("ptr", one, off.array_base), "null", "ptr"), other)
        f.require(f.compare("eq", f.load("ptr", one, off.array_descr), descr, "ptr"), other)
        flags = f.op(f"and i32 {f.load('i32', one, off.array_flags)}, {_FRESH}")
        f.require(f.compare("eq", flags, _FRESH, "i32"), other)
        found = f.op(f"zext i32 {f.load('i32', one, off.array_rank)} to i64")
        f.require(f.compare("eq", found, rank), other)
        theirs, strides = f.load("ptr", one, off.array_extents), f.load("ptr", one, off.array_strides)
        stride, empty = f.slot("i64"), f.compare("eq", size, 0)
        f.store("i64", field(f, OUTPUT, output, "item_size"), stride)
        with f.loop(rank) as k:
            axis = f.op(f"sub i64 {f.add(rank, -1)}, {k}")
            extent = f.load("i64", extents, axis, WORD)
            f.require(f.compare("eq", f.load("i64", theirs, axis, WORD), extent), other)
            wanted = f.load("i64", stride)
            same = f.compare("eq", f.load("i64", strides, axis, WORD), wanted)
            f.require(f.op(f"or i1 {empty}, {same}"), other)
            f.store("i64", f.multiply(wanted, extent), stride)

    def keep(self, made: str, items: str) -> None:
        """The entry keeps a result as the first of its arrays, and lets go of the last."""
        f = self.f
        f.store("i32", 2, made, self.offsets.count)
        last = f.load("ptr", items, (KEPT_ARRAYS - 1) * WORD)
        for n in reversed(range(1, KEPT_ARRAYS)):
            f.store("ptr", f.load("ptr", items, (n - 1) * WORD), items, n * WORD)
        f.store("ptr", made, items)
        f.call("void", "@Py_DecRef", f"ptr {last}")

    def fresh_array(self, entry: str, output: str, extents: str, size: str) -> str:
        f = self.f
        result, strides = f.slot("ptr"), f.slot("ptr")
        descr, rank = field(f, OUTPUT, output, "descr", "ptr"), field(f, OUTPUT, output, "rank")
        f.store("ptr", "null", strides)
        with f.when(f.compare("ne", field(f, OUTPUT, output, "ordered"), 0)):
            f.store("ptr", self.strides, strides)
            self.output_strides(output, rank, extents)
        pooled, plain, after = f.new_label("pooled"), f.new_label("plain"), f.new_label("allocated")
        f.branch(f.compare("sge", size, self.of(entry, "pool_bytes")), pooled, plain)
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
        f.store("i64", field(f, OUTPUT, output, "item_size"), running)
        with f.loop(rank) as k:
            words = f.at(f.at(output, OUTPUT.size, WORD), k, OUTPUT_AXIS.size * WORD)
            axis = field(f, OUTPUT_AXIS, words, "inner")
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
