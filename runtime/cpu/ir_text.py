"""LLVM IR text written by hand: one function at a time, locals in stack slots, blocks where Python has `with`.

    f = FunctionText("i64", "@twice", "i64 %x")
    f.ret("i64", f.op("shl i64 %x, 1"))
    text = f.text()

LLVM's own passes turn the stack slots into registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class FunctionText:
    """A function that is being written. Values are `%v1`, `%v2`, ...; labels are made by `label`."""

    def __init__(self, result: str, name: str, parameters: str, attributes: str = ""):
        self._header = f"define {result} {name}({parameters}) {attributes}{{"
        self._slots: list[str] = []
        self._lines: list[str] = []
        self._count = 0
        self._open = True

    def text(self) -> str:
        """The whole function."""
        return "\n".join([self._header, "entry:", *self._slots, *self._lines, "}"])

    # ---- values -------------------------------------------------------------------------------------

    def _fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def line(self, text: str) -> None:
        """An instruction without a result."""
        self._lines.append(f"  {text}")

    def op(self, text: str) -> str:
        """An instruction; its result."""
        result = self._fresh("%v")
        self.line(f"{result} = {text}")
        return result

    def call(self, kind: str, function: str, *arguments: str) -> str:
        """A call; arguments are written with their types."""
        text = f"call {kind} {function}({', '.join(arguments)})"
        if kind != "void":
            return self.op(text)
        self.line(text)
        return ""

    def slot(self, kind: str, count: int = 1) -> str:
        """Memory that lives as long as the call."""
        result = self._fresh("%s")
        self._slots.append(f"  {result} = alloca [{count} x {kind}], align 16")
        return result

    def at(self, base: str, offset: int | str, scale: int = 1) -> str:
        """The address `offset * scale` bytes behind `base`."""
        if isinstance(offset, str) and scale != 1:
            offset = self.op(f"mul i64 {offset}, {scale}")
        elif isinstance(offset, int):
            offset *= scale
        return self.op(f"getelementptr i8, ptr {base}, i64 {offset}")

    def load(self, kind: str, base: str, offset: int | str = 0, scale: int = 1) -> str:
        return self.op(f"load {kind}, ptr {self.at(base, offset, scale)}")

    def store(self, kind: str, value: str | int, base: str, offset: int | str = 0, scale: int = 1) -> None:
        self.line(f"store {kind} {value}, ptr {self.at(base, offset, scale)}")

    def compare(self, how: str, left: str, right: str | int, kind: str = "i64") -> str:
        return self.op(f"icmp {how} {kind} {left}, {right}")

    def add(self, left: str, right: str | int, kind: str = "i64") -> str:
        return self.op(f"add {kind} {left}, {right}")

    def multiply(self, left: str, right: str | int) -> str:
        return self.op(f"mul i64 {left}, {right}")

    # ---- control ------------------------------------------------------------------------------------

    def new_label(self, hint: str) -> str:
        return self._fresh(f"{hint}.")

    def label(self, name: str) -> None:
        """The next instructions are those of block `name`; what is before goes on to it."""
        if self._open:
            self.jump(name)
        self._lines.append(f"{name}:")
        self._open = True

    def jump(self, name: str) -> None:
        self.line(f"br label %{name}")
        self._open = False

    def branch(self, condition: str, yes: str, no: str) -> None:
        self.line(f"br i1 {condition}, label %{yes}, label %{no}")
        self._open = False

    def switch(self, value: str, default: str, cases: dict[int, str]) -> None:
        arms = " ".join(f"i64 {key}, label %{name}" for key, name in cases.items())
        self.line(f"switch i64 {value}, label %{default} [ {arms} ]")
        self._open = False

    def ret(self, kind: str, value: str = "") -> None:
        self.line(f"ret {kind} {value}".rstrip())
        self._open = False

    def require(self, condition: str, otherwise: str) -> None:
        """Go on where the condition holds, else to block `otherwise`."""
        good = self.new_label("ok")
        self.branch(condition, good, otherwise)
        self.label(good)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What is written inside runs where the condition holds."""
        inside, after = self.new_label("then"), self.new_label("after")
        self.branch(condition, inside, after)
        self.label(inside)
        yield
        self.label(after)

    @contextmanager
    def loop(self, count: str) -> Iterator[str]:
        """What is written inside runs for 0, 1, ... below `count`: the number is the value given."""
        counter = self.slot("i64")
        head, body, after = self.new_label("head"), self.new_label("body"), self.new_label("done")
        self.store("i64", 0, counter)
        self.label(head)
        number = self.load("i64", counter)
        self.branch(self.compare("slt", number, count), body, after)
        self.label(body)
        yield number
        self.store("i64", self.add(number, 1), counter)
        self.jump(head)
        self.label(after)
