"""The native call wrapper: LLVM IR text of the routine that a compiled function is called through.

    ptr @nestor_call(ptr callable, ptr args, i64 nargsf, ptr names)      a vectorcall function (PEP 590)

It tries the entries of the callable one after the other (`call_layout.py` says what they consist of). The first one whose
records and guards hold runs: outputs are allocated through NumPy's C interface, the kernel's slots are filled, the kernel
is called, and its results are put together. Where no entry fits, the Python function `slow` of the callable gets the same
arguments. Whatever this routine does not know for certain, it leaves to that function.

Objects that can be immortal are counted by Python itself (`Py_IncRef`); to an entry's owner, which is none, it writes.
"""

from __future__ import annotations

from ...lowering.abi.error_codes import FACTS, RAISED_WORDS
from .call_helpers import field, integers, linear, match_guards, slow
from .call_kinds import Form, How, Result
from .call_layout import CALLABLE, LEAF, MAX_ENTRIES, OUTPUT, WORD, Offsets
from .call_outputs import CallOutputs
from .thread_pool import CALLS

NAME = "nestor_call"

FUNCTIONS = {
    "Py_IncRef": "void (ptr)",
    "Py_DecRef": "void (ptr)",
    "PyObject_Vectorcall": "ptr (ptr, ptr, i64, ptr)",
    "PyDict_GetItemWithError": "ptr (ptr, ptr)",
    "PyObject_GetAttr": "ptr (ptr, ptr)",
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
    declarations.append(f"@{CALLS} = external global i64")
    declarations.append("declare i32 @memcmp(ptr, ptr, i64)")
    declarations += [f"declare i64 @llvm.{name}.i64(i64, i64)" for name in ("smin", "smax")]
    for name, kind in [*FUNCTIONS.items(), *((n, k) for n, (k, _) in NUMPY_FUNCTIONS.items())]:
        result, parameters = kind.split(" ", 1)
        declarations.append(f"declare {result} @{name}{parameters}")
    functions = [linear(), integers(), slow(offsets), match_guards(offsets), _Call(offsets).text()]
    return "\n".join([*declarations, "", *functions, ""])


class _Call(CallOutputs):
    """Writes `@nestor_call`."""

    def __init__(self, offsets: Offsets):
        super().__init__(offsets, NAME)

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
        owner = self.of(entry, "owner", "ptr")
        f.store("i32", f.add(f.load("i32", owner, self.offsets.count), 1, "i32"), owner, self.offsets.count)
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
        self.count_held(entry, "@Py_IncRef")
        self.allocate(entry)
        self.run(entry)
        self.convert(entry)
        self.assemble(entry)
        f.jump("finish")

        f.label("failed")  # with an exception
        f.store("ptr", "null", self.result)
        f.jump("finish")
        f.label("finish")
        self.count_held(entry, "@Py_DecRef")
        with f.loop(self.of(entry, "output_count")) as k:
            left = f.load("ptr", self.results, k, WORD)
            with f.when(f.compare("ne", left, "null", "ptr")):
                f.call("void", "@Py_DecRef", f"ptr {left}")
        self.release(entry)
        f.ret("ptr", f.load("ptr", self.result))

        f.label("miss")
        tried = f.load("ptr", self.entry_slot)
        f.store("i64", f.add(f.load("i64", self.position), 1), self.position)
        self.release(tried)
        f.jump("try")
        f.label("slow")
        slow = f.call("ptr", "@slow", "ptr %callable", "ptr %args", "i64 %nargsf", "ptr %keywords")
        f.ret("ptr", slow)
        return f.text()

    def count_held(self, entry: str, function: str) -> None:
        """Arrays from outside live as long as the call, whatever is bound to their names meanwhile."""
        f = self.f
        target = f.at(self.spread, self.of(entry, "held_target"), WORD)
        with f.loop(self.of(entry, "held_count")) as k:
            f.call("void", function, f"ptr {f.load('ptr', target, k, WORD)}")

    def release(self, entry: str) -> None:
        """The entry is no longer in use: where it has left the chain meanwhile, it goes."""
        f = self.f
        owner = self.of(entry, "owner", "ptr")
        count = f.load("i32", owner, self.offsets.count)
        last, others, after = f.new_label("last"), f.new_label("others"), f.new_label("released")
        f.branch(f.compare("eq", count, 1, "i32"), last, others)
        f.label(last)
        f.call("void", "@Py_DecRef", f"ptr {owner}")
        f.jump(after)
        f.label(others)
        f.store("i32", f.add(count, -1, "i32"), owner, self.offsets.count)
        f.jump(after)
        f.label(after)

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

    def run(self, entry: str) -> None:
        """The kernel; other threads may run Python meanwhile when it is long."""
        f = self.f
        for word in range(FACTS):
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
        f.op(f"atomicrmw add ptr @{CALLS}, i64 1 monotonic")
        f.store("i32", f.call("i32", kernel, *arguments), self.status)
        f.op(f"atomicrmw sub ptr @{CALLS}, i64 1 monotonic")
        f.call("void", "@PyEval_RestoreThread", f"ptr {state}")
        f.label(after)
        with f.when(f.compare("ne", f.load("i32", self.status), 0, "i32")):
            self.fail(entry)

    def fail(self, entry: str) -> None:
        """A check failed in the kernel: the Python function `fail` raises its exception."""
        f = self.f
        record = f.call("ptr", "@integers", f"ptr {self.error}", f"i64 {FACTS + RAISED_WORDS}")
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
                field(f, OUTPUT, output, "form"), after, {k: v for k, v in cases.items() if k != Form.ARRAY}
            )
            makers = {
                Form.SCALAR: lambda: f.call(
                    "ptr",
                    "@PyArray_Scalar",
                    f"ptr {number}",
                    f"ptr {field(f, OUTPUT, output, 'descr', 'ptr')}",
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
        moved, made = f.new_label("moved"), f.new_label("made")
        f.branch(f.compare("eq", field(f, LEAF, leaves, "how"), How.OUTPUT), moved, made)
        f.label(moved)  # the only reference becomes the caller's
        place = field(f, LEAF, leaves, "value")
        f.store("ptr", f.load("ptr", self.results, place, WORD), self.result)
        f.store("ptr", "null", self.results, place, WORD)
        f.jump(after)
        f.label(made)
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
        value, result = field(f, LEAF, words, "value"), f.slot("ptr")
        cases = {int(how): f.new_label(how.name.lower()) for how in How}
        shared, after = f.new_label("shared"), f.new_label("leaf")
        f.switch(field(f, LEAF, words, "how"), cases[How.OUTPUT], cases)
        f.label(cases[How.OUTPUT])
        f.store("ptr", f.load("ptr", self.results, value, WORD), result)
        f.jump(shared)
        f.label(cases[How.OBJECT])
        f.store("ptr", self.object(value), result)
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
