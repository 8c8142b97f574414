"""The first half of the native call wrapper: does an entry fit a call? Where it does not, control goes to block `miss`."""

from __future__ import annotations

from ...lowering.abi.error_codes import RECORD_WORDS
from .call_helpers import field
from .call_kinds import Apart, Kind, Payload
from .call_layout import (
    ANY,
    ARRAY,
    AXIS,
    CONDITION,
    ENTRY,
    EXCLUSION,
    FIXED,
    KNOWN,
    MAX_NAMES,
    MAX_OBJECTS,
    MAX_OUTPUTS,
    MAX_RANK,
    MAX_SLOTS,
    NUMBER,
    PLACE,
    RECORD,
    TUPLE,
    WORD,
    Layout,
    Offsets,
)
from .ir_text import FunctionText


class CallMatch:
    """Writes the checks of an entry; values that fit go to the slots of the kernel."""

    def __init__(self, offsets: Offsets, name: str):
        self.offsets = offsets
        f = self.f = FunctionText(
            "ptr", f"@{name}", "ptr %callable, ptr %args, i64 %nargsf, ptr %keywords", ""
        )
        self.position = f.slot("i64")
        self.entry_slot = f.slot("ptr")
        self.slots = f.slot("i64", MAX_SLOTS)
        self.names = f.slot("i64", MAX_NAMES + 1)
        self.spread = f.slot("ptr", MAX_OBJECTS)
        self.objects_slot = f.slot("ptr")
        self.lows = f.slot("i64", MAX_OBJECTS)
        self.highs = f.slot("i64", MAX_OBJECTS)
        self.array_count = f.slot("i64")
        self.elements = f.slot("i64")
        self.results = f.slot("ptr", MAX_OUTPUTS)
        self.numbers = f.slot("i64", MAX_OUTPUTS)
        self.extents = f.slot("i64", MAX_OUTPUTS * MAX_RANK)
        self.sizes = f.slot("i64", MAX_OUTPUTS)
        self.strides = f.slot("i64", MAX_RANK)
        self.place = f.slot("ptr")
        self.error = f.slot("i64", RECORD_WORDS)
        self.status = f.slot("i32")
        self.result = f.slot("ptr")

    def of(self, entry: str, name: str, kind: str = "i64") -> str:
        return field(self.f, ENTRY, entry, name, kind)

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
        f.store("ptr", "%args", self.objects_slot)
        with f.when(f.compare("ne", self.of(entry, "spread"), 0)):
            f.store("ptr", self.spread, self.objects_slot)
            with f.loop(f.add(self.of(entry, "positional"), self.of(entry, "keywords"))) as k:
                f.store("ptr", f.load("ptr", "%args", k, WORD), self.spread, k, WORD)
            held = self.of(entry, "held", "ptr")
            target = f.at(self.spread, self.of(entry, "held_target"), WORD)
            with f.loop(self.of(entry, "held_count")) as k:
                f.store("ptr", f.load("ptr", held, k, WORD), target, k, WORD)
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
            thing = self.object(field(f, RECORD, record, "source"))
            kind = f.load("ptr", thing, self.offsets.type)
            f.switch(field(f, RECORD, record, "kind"), "miss", cases)
            for case, label in cases.items():
                f.label(label)
                getattr(self, f"match_{Kind(case).name.lower()}")(record, thing, kind)
                f.jump(after)
            f.label(after)
            words = field(f, RECORD, record, "words")
            f.store("ptr", f.at(record, words, WORD), self.place)

    def fill(self, record: str, value: str, kind: str = "i64") -> None:
        self.f.store(kind, value, self.slots, field(self.f, RECORD, record, "slot"), WORD)

    def object(self, source: str) -> str:
        """An argument, or an item of one."""
        f = self.f
        return f.load("ptr", f.load("ptr", self.objects_slot), source, WORD)

    def match_fixed(self, record: str, thing: str, kind: str) -> None:
        f, off = self.f, self.offsets
        head = self.array_head(FIXED, record)
        wanted = f.at(record, FIXED.size, WORD)
        places = f.at(wanted, head["rank"], WORD)
        size, apart = field(f, FIXED, record, "bytes"), field(f, FIXED, record, "apart")
        with f.loop(field(f, FIXED, record, "count")) as n:
            place = f.at(places, n, PLACE.size * WORD)
            one = self.object(field(f, PLACE, place, "source"))
            self.match_head(head, one, f.load("ptr", one, off.type))
            extents = f.load("ptr", one, off.array_extents)
            with f.loop(head["rank"]) as k:
                same = f.compare("eq", f.load("i64", extents, k, WORD), f.load("i64", wanted, k, WORD))
                f.require(same, "miss")
            data = f.load("i64", one, off.array_data)
            f.store("i64", data, self.slots, field(f, PLACE, place, "slot"), WORD)
            with f.when(f.compare("ne", apart, Apart.NO_MATTER)):
                self.note(data, f.add(data, size), apart)

    def array_head(self, layout: Layout, record: str) -> dict[str, str]:
        """What an array must be, read once for all arrays of a record."""
        f = self.f
        head = {name: field(f, layout, record, name) for name in ("descr_word", "rank", "mask", "flags")}
        return {"descr": field(f, layout, record, "descr", "ptr"), **head}

    def match_head(self, head: dict[str, str], thing: str, kind: str) -> None:
        """An array of the right dtype, rank and flags."""
        f, off = self.f, self.offsets
        f.require(f.compare("eq", kind, "@nestor_ndarray_type", "ptr"), "miss")
        self.match_descr(head, f.load("ptr", thing, off.array_descr))
        found = f.op(f"zext i32 {f.load('i32', thing, off.array_rank)} to i64")
        f.require(f.compare("eq", found, head["rank"]), "miss")
        flags = f.op(f"zext i32 {f.load('i32', thing, off.array_flags)} to i64")
        flags = f.op(f"and i64 {flags}, {head['mask']}")
        f.require(f.compare("eq", flags, head["flags"]), "miss")

    def match_array(self, record: str, thing: str, kind: str) -> None:
        f, off = self.f, self.offsets
        head = self.array_head(ARRAY, record)
        self.match_head(head, thing, kind)
        rank = head["rank"]
        axes = f.at(record, ARRAY.size, WORD)
        extents, strides = f.load("ptr", thing, off.array_extents), f.load("ptr", thing, off.array_strides)
        count = f.slot("i64")
        f.store("i64", 1, count)
        with f.loop(rank) as k:
            extent = f.load("i64", extents, k, WORD)
            f.store("i64", f.multiply(f.load("i64", count), extent), count)
            self.match_axis(f.at(axes, k, AXIS.size * WORD), extent)
        with f.when(f.compare("ne", field(f, ARRAY, record, "strided"), 0)):
            wanted = f.at(axes, rank, AXIS.size * WORD)
            with f.loop(rank) as k:
                same = f.compare("eq", f.load("i64", strides, k, WORD), f.load("i64", wanted, k, WORD))
                f.require(same, "miss")
        f.store("i64", f.add(f.load("i64", self.elements), f.load("i64", count)), self.elements)
        data = f.load("i64", thing, off.array_data)
        self.fill(record, data)
        self.match_apart(record, data, rank, extents, strides)

    def match_descr(self, head: dict[str, str], descr: str) -> None:
        """The dtype itself, or another object for the same one."""
        f = self.f
        other, after = f.new_label("descr"), f.new_label("same")
        f.branch(f.compare("eq", descr, head["descr"], "ptr"), after, other)
        f.label(other)
        word = f.load("i64", descr, self.offsets.descr_word)
        f.require(f.compare("eq", word, head["descr_word"]), "miss")
        f.label(after)

    def match_axis(self, axis: str, extent: str) -> None:
        """A known extent; or one that is the same wherever its name stands, and neither 0 nor 1."""
        f = self.f
        name = field(f, AXIS, axis, "name")
        fixed, seen, first, again, after = (
            f.new_label(n) for n in ("fixed", "named", "first", "again", "axis")
        )
        f.switch(name, seen, {KNOWN: fixed, ANY: after})
        f.label(fixed)
        f.branch(f.compare("eq", extent, field(f, AXIS, axis, "extent")), after, "miss")
        f.label(seen)
        slot = field(f, AXIS, axis, "slot")
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
        apart = field(f, ARRAY, record, "apart")
        noted = f.new_label("noted")
        f.require(f.compare("ne", apart, Apart.NO_MATTER), noted)
        low, high = f.slot("i64"), f.slot("i64")
        f.store("i64", data, low)
        f.store("i64", f.add(data, field(f, ARRAY, record, "item_size")), high)
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
        value = f.op(f"zext i1 {f.compare('eq', thing, '@nestor_true_object', 'ptr')} to i64")
        self.fill(record, value)
        f.store("i64", value, self.names, field(f, NUMBER, record, "name"), WORD)

    def match_int(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        value = self.integer(thing, kind)
        self.fill(record, value)
        f.store("i64", value, self.names, field(f, NUMBER, record, "name"), WORD)

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
        f.require(f.compare("eq", thing, field(f, NUMBER, record, "value", "ptr"), "ptr"), "miss")

    def match_same_int(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", self.integer(thing, kind), field(f, NUMBER, record, "value")), "miss")

    def match_same_float(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", kind, "@nestor_float_type", "ptr"), "miss")
        bits = f.load("i64", thing, self.offsets.float_value)
        f.require(f.compare("eq", bits, field(f, NUMBER, record, "value")), "miss")

    def match_numpy_scalar(self, record: str, thing: str, kind: str) -> None:
        f = self.f
        f.require(f.compare("eq", kind, field(f, NUMBER, record, "value", "ptr"), "ptr"), "miss")
        cases = {int(one): f.new_label(one.name.lower()) for one in Payload}
        after = f.new_label("scalar")
        f.switch(field(f, NUMBER, record, "name"), "miss", cases)
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
        f.require(f.compare("eq", kind, field(f, TUPLE, record, "type", "ptr"), "ptr"), "miss")
        length = field(f, TUPLE, record, "length")
        f.require(f.compare("eq", f.load("i64", thing, off.size), length), "miss")
        target = f.at(self.spread, field(f, TUPLE, record, "target"), WORD)
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
            number = field(f, CONDITION, condition, "exact")
            exact, divides = f.compare("ne", number, 0), f.compare("sgt", number, 1)
            divisor = f.op(f"select i1 {divides}, i64 {number}, i64 1")
            rest = f.op(f"select i1 {divides}, i64 {f.op(f'srem i64 {total}, {divisor}')}, i64 {total}")
            zero, positive = f.compare("eq", rest, 0), f.compare("sge", total, 0)
            f.require(f.op(f"select i1 {exact}, i1 {zero}, i1 {positive}"), "miss")
            terms = field(f, CONDITION, condition, "count")
            f.store("ptr", f.at(f.at(condition, CONDITION.size, WORD), terms, 2 * WORD), self.place)

    def match_exclusions(self, entry: str) -> None:
        """Extents that programs compiled before are for."""
        f = self.f
        f.store("ptr", self.of(entry, "exclusion_words", "ptr"), self.place)
        with f.loop(self.of(entry, "exclusions")):
            exclusion, differ = f.load("ptr", self.place), f.slot("i1")
            pairs, count = f.at(exclusion, EXCLUSION.size, WORD), field(f, EXCLUSION, exclusion, "count")
            f.store("i1", "false", differ)
            with f.loop(count) as k:
                pair = f.at(pairs, k, 2 * WORD)
                known = f.load("i64", self.names, f.load("i64", pair), WORD)
                other = f.compare("ne", known, f.load("i64", pair, WORD))
                f.store("i1", f.op(f"or i1 {f.load('i1', differ)}, {other}"), differ)
            f.require(f.load("i1", differ), "miss")
            f.store("ptr", f.at(pairs, count, 2 * WORD), self.place)
