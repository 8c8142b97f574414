"""Random programs: each statement is tried by NumPy as it is written, and kept when it means something.

What may stand in an expression is found by evaluating it where it will stand: the program so far is run up to that
place, and its variables looked at. So the tables hold text only, and what is written has dtypes and shapes that go
together; a few programs raise all the same, on purpose.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy_tables as t
from judging import Program, quiet

MOST_ELEMENTS = 600
HERE = "raise Here(locals())"


class Here(Exception):
    """Stops a program at the place that is being written."""


@dataclass(eq=False)
class Line:
    """A statement: its text, and the statements under it."""

    text: str
    body: list[Line] = field(default_factory=list)

    def render(self, indent: str = "    ") -> list[str]:
        return [indent + self.text, *[line for one in self.body for line in one.render(indent + "    ")]]


class Writer:
    """Writes one program from random choices (which Hypothesis makes, and shrinks: 0 is the plainest one)."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.lines: list[Line] = []
        self.here = self.lines
        """The statements that the next one follows."""
        self.setup: list[str] = []
        self.parameters: list[str] = []
        self.fixed: set[str] = set()
        """Names that only loops may set."""
        self.depth = 0
        self.elements: list[str] = []
        """Counters of the loops over elements around this place."""
        self.in_loop = False
        self.names = 0
        self.visible: set[str] = set()
        """The variables that have a value here on every path."""
        self.values: dict[str, Any] = {}
        self.reached = True

    # ---- choices --------------------------------------------------------------------------------------

    def chance(self, percent: int) -> bool:
        return self.rng.randrange(100) >= 100 - percent

    def pick(self, options: Any) -> Any:
        options = list(options)
        return options[self.rng.randrange(len(options))]

    def number(self, low: int, high: int) -> int:
        return low + self.rng.randrange(high - low + 1)

    def fresh(self, prefix: str) -> str:
        self.names += 1
        return f"{prefix}{self.names}"

    # ---- arguments ------------------------------------------------------------------------------------

    def arguments(self) -> None:
        n, m = self.pick(t.EXTENTS), self.pick(t.EXTENTS)
        shapes = (
            (n,),
            (n, m),
            (n,),
            (n, m),
            (m,),
            (n, 1),
            (1, m),
            (m, n),
            (2, n, m),
            (n, n),
            (self.pick(t.EXTENTS),),
            (),
        )
        dtype = self.pick(t.DTYPES)
        for k in range(self.number(1, 3)):
            name = "abc"[k]
            shape = self.pick(shapes)
            if k and self.chance(7):
                view = self.pick(("a", "a[1:]", "a[::-1]", "a.T", "a[::2]", "a[:-1]"))
                self.setup.append(f"{name} = {view} if a.ndim else a")
            else:
                self._array(name, shape, self.pick(t.DTYPES) if self.chance(30) else dtype)
            self.parameters.append(name)
        if self.chance(35):
            self.setup.append(f"p = {self.pick(t.SCALARS)}")
            self.parameters.append("p")
        self.visible |= set(self.parameters)

    def _array(self, name: str, shape: tuple[int, ...], dtype: str) -> None:
        values = ", ".join([self._element(dtype) for _ in range(self.number(1, 7))])
        form = self.pick(
            (
                "c",
                "c",
                "c",
                "c",
                "reversed",
                "fortran",
                "strided",
                "columns",
                "offset",
                "transposed",
                "broadcast",
            )
        )
        wide = {
            "strided": lambda: (shape[0] * 2, *shape[1:]),
            "columns": lambda: (*shape[:-1], shape[-1] * 3),
        }
        wide |= {"offset": lambda: (shape[0] + 1, *shape[1:]), "transposed": lambda: shape[::-1]}
        wide["broadcast"] = lambda: shape[1:]
        if not shape or (form == "broadcast" and len(shape) == 1):
            form = "c"
        made = wide.get(form, lambda: shape)()
        self.setup.append(f"{name} = np.resize(np.array([{values}], '{dtype}'), {made})")
        change = {
            "reversed": f"{name}[::-1]",
            "fortran": f"np.asfortranarray({name})",
            "strided": f"{name}[::2]",
            "columns": f"{name}[..., ::3]",
            "offset": f"{name}[1:]",
            "transposed": f"{name}.T",
            "broadcast": f"np.broadcast_to({name}, {shape})",
        }.get(form)
        if change is not None:
            self.setup.append(f"{name} = {change}")
        if form != "broadcast" and self.chance(4):
            self.setup.append(f"{name}.flags.writeable = False")

    def _element(self, dtype: str) -> str:
        if dtype == "?":
            return self.pick(t.BOOLS)
        if dtype[0] == "f":
            return self.pick(t.FLOATS_F2 if dtype == "f2" else t.FLOATS)
        info = np.iinfo(dtype)
        text = self.pick(t.SIGNED if dtype[0] == "i" else t.UNSIGNED)
        return text.replace("MIN", str(info.min)).replace("MAX", str(info.max))

    # ---- the program so far ---------------------------------------------------------------------------

    def program(self) -> Program:
        return Program(self._text(), "\n".join(self.setup) + "\n", tuple(self.parameters))

    def _text(self) -> str:
        body = [line for one in self.lines for line in one.render()] or ["    pass"]
        return "\n".join([f"def f({', '.join(self.parameters)}):", *body])

    def _run(self) -> Any:
        """What the text gives now. Raises what it raises."""
        scope: dict[str, Any] = {"np": np, "Here": Here}
        with quiet():
            exec(self._text(), scope)
            return scope["f"](*self.program().arguments())

    def look(self) -> None:
        """Find the values of the variables at this place, and whether it is reached."""
        self.here.append(Line(HERE))
        self.reached = False
        try:
            self._run()
        except Here as reached:
            self.reached = True
            self.values = {k: v for k, v in reached.args[0].items() if k in self.visible}
        except Exception:
            pass
        finally:
            self.here.pop()

    def keep(self, line: Line, name: str = "", may_raise: int = 0) -> bool:
        """Add a statement if the program runs with it (or raises, in `may_raise` per cent of such cases).

        `name` is the variable to which it gives a value.
        """
        self.here.append(line)
        try:
            self._run()
        except Exception:
            if not self.chance(may_raise):
                self.here.pop()
                return False
        self.visible |= {name} - {""}
        self.look()
        return True

    # ---- expressions ----------------------------------------------------------------------------------

    def value(self, text: str) -> Any:
        """An expression's value at this place; None where it has none."""
        with quiet():
            try:
                found = eval(text, {"np": np}, dict(self.values))
            except Exception:
                return None
        if isinstance(found, np.ndarray | np.generic) and found.dtype.kind not in "fiub":
            return None
        if isinstance(found, np.ndarray) and (found.size > MOST_ELEMENTS or found.ndim > 4):
            return None
        if isinstance(found, int) and abs(found) >= 2**62:
            return None
        return found

    def arrays(self, least: int = 1) -> list[str]:
        return [k for k, v in self.values.items() if isinstance(v, np.ndarray) and v.ndim >= least]

    def numbers(self) -> list[str]:
        return [k for k, v in self.values.items() if isinstance(v, np.generic | float | int)]

    def filled(self, template: str, operand: Callable[[], str], otherwise: str) -> str:
        """A template with operands; `otherwise` where that means nothing."""
        holes = [int(k) for k in re.findall(r"\{(\d)\}", template)]
        parts = [operand() for _ in range(1 + max(holes, default=-1))]
        values = [self.value(part) for part in parts]
        if template in t.OF_ARRAYS and not all(isinstance(v, np.ndarray) for v in values):
            return otherwise
        if template in t.OF_ONE_KIND and len({str(_form(v)) for v in values}) > 1:
            return otherwise
        text = template.format(*parts)
        return text if self.value(text) is not None else otherwise

    def array(self, depth: int) -> str:
        """An expression on whole arrays."""
        names = self.arrays(0)
        if not names:
            return self.pick(self.numbers() or t.LITERALS)
        if depth <= 0 or self.chance(15):
            return self._leaf(names)
        inner = lambda: self.array(depth - 1)  # noqa: E731
        kind = self.number(0, 99)
        if kind < 50:
            return self.filled(self.pick(t.COMMON), inner, self._leaf(names))
        if kind < 82:
            return self.filled(self.pick(t.ELEMENTWISE), inner, self._leaf(names))
        if kind < 91:
            return self.filled(self.pick(t.VIEWS), inner, self._leaf(names))
        if kind < 96:
            return self.filled(self.pick(t.REDUCTIONS), inner, self._leaf(names))
        if kind < 98:
            return self.filled(self.pick(t.REARRANGED), inner, self._leaf(names))
        return self.filled(self.pick(t.CREATIONS), inner, self._leaf(names))

    def _leaf(self, names: list[str]) -> str:
        kind = self.number(0, 99)
        name = self.pick(names)
        if kind < 70:
            return name
        if kind < 82:
            return self.filled(self.pick(t.VIEWS), lambda: name, name)
        return self.pick(t.LITERALS) if kind < 94 or not self.numbers() else self.pick(self.numbers())

    def scalar(self, depth: int) -> str:
        """An expression on numbers: elements, sums, lengths."""
        if depth <= 0 or self.chance(15):
            return self._number()
        table = (*t.SCALAR_EXPRESSIONS, *t.CHOICES * 3) if self.elements else t.SCALAR_EXPRESSIONS
        text = self.filled(self.pick(table), lambda: self.scalar(depth - 1), "")
        return text if text and np.ndim(self.value(text)) == 0 else self._number()

    def _number(self) -> str:
        kind = self.number(0, 99)
        arrays = self.arrays()
        if arrays and self.elements and kind < 60:
            return self.element(self.pick(arrays))
        if arrays and kind < 45 and not self.elements:
            name = self.pick(arrays)
            text = self.filled(self.pick((*t.REDUCTIONS, *t.NUMBERS)), lambda: name, "")
            return text if text and np.ndim(self.value(text)) == 0 else self.pick(t.LITERALS)
        numbers = [*self.numbers(), *self.elements]
        return self.pick(numbers) if numbers and kind < 85 else self.pick(t.LITERALS)

    def element(self, name: str) -> str:
        """An element at the counters of the loops around."""
        i, j = self.elements[0], self.elements[-1]
        array = self.values[name]
        if array.ndim == 2:
            template = self.pick(t.ELEMENTS_2D) if i != j else "{0}[{i}, 0]"
        else:
            template = self.pick(t.ELEMENTS)
            i = self.pick(self.elements)
        text = template.format(name, i=i, j=j)
        return text if self.value(text) is not None or self.chance(2) else self.pick(t.LITERALS)

    def expression(self, depth: int = 2) -> str:
        if self.elements:
            return self.scalar(depth)
        return self.scalar(depth) if self.chance(12) else self.array(depth + 1)

    def condition(self) -> str:
        if self.elements or self.chance(50):
            left, right = self.scalar(1), self.scalar(1)
        else:
            left, right = (
                self.filled(self.pick(t.REDUCTIONS), lambda: self.array(1), "1"),
                self.pick(t.LITERALS),
            )
        text = f"{left} {self.pick(('>', '<', '>=', '==', '!='))} {right}"
        if self.value(text) is not None and np.ndim(self.value(text)) == 0:
            return text
        return f"{self.pick(self.arrays())}.size > {self.number(0, 9)}" if self.arrays() else "1 > 0"

    # ---- statements -----------------------------------------------------------------------------------

    def statements(self, most: int) -> None:
        for _ in range(self.number(1, most)):
            if self.reached or self.chance(4 if not self.depth else 40):
                self.statement()

    def statement(self) -> None:
        kind = self.number(0, 99)
        if kind < 45 or self.depth >= 2:
            if self.elements:
                return self.store() if self.chance(60) else self.assign()
            return self.assign() if self.depth == 0 or self.chance(50) else self.store()
        if kind < 62:
            return self.store()
        if kind < 66:
            return self.swap()
        makers = (self.loop_over_elements, self.branch, self.loop_over_arrays, self.count, self.early)
        self.pick((*makers[:1] * 4, *makers[1:2] * 3, *makers[2:]))()

    def assignable(self) -> list[str]:
        return [k for k in self.values if k not in self.fixed]

    def assign(self) -> None:
        """`x = ...`, `x += ...`."""
        existing = self.assignable()
        if existing and self.chance(30):
            name = self.pick(existing)
            self.keep(Line(f"{name} {self.pick(t.AUGMENTED)}= {self.expression(1)}"), may_raise=3)
            return
        if self.chance(15) and self.arrays():
            base = self.pick(self.arrays())
            text = self.filled(self.pick(t.WINDOWS), lambda: base, "")
            name = self.fresh("v")
            if text:
                self.keep(Line(f"{name} = {text}"), name)
            return
        text = self.expression()
        if not self.depth:
            name = self.pick(existing) if existing and self.chance(20) else self.fresh("x")
            self.keep(Line(f"{name} = {text}"), name)
            return
        name = self.pick(existing) if existing else None
        if name is None or self.chance(20):
            name = self.fresh("y")
            self.keep(Line(f"{name} = {text}"), name)
        elif _form(self.value(text)) == _form(self.values[name]) or self.chance(2):
            self.keep(Line(f"{name} = {text}"))
        elif isinstance(self.values[name], int | float):
            kind = type(self.values[name]).__name__
            self.keep(Line(f"{name} = {kind}({self.scalar(1)})"))

    def store(self) -> None:
        """`x[...] = ...`, `x[...] += ...`."""
        names = [k for k in self.arrays() if k not in self.fixed]
        if not names:
            return self.assign()
        name = self.pick([*names, *[k for k in names if k.startswith("v")] * 2])
        target = self.element(name) if self.elements and self.chance(85) else f"{name}[{self.pick(t.ITEMS)}]"
        if not target.startswith(name):
            return
        operator = self.pick(("=", "=", "+=", "*=", "-=", *[f"{o}=" for o in t.AUGMENTED]))
        text = self.expression(1 if self.elements else 2)
        new, old = self.value(text), self.values[name]
        if old.dtype.kind != "f" and (not _is_integral(new) or operator in ("/=", "**=")):
            text = f"({text} > 1)"  # what an integer type cannot hold is not defined
        self.keep(Line(f"{target} {operator} {text}"), may_raise=3)

    def swap(self) -> None:
        names = self.assignable()
        if not names:
            return
        a = self.pick(names)
        alike = [k for k in names if k != a and _form(self.values[k]) == _form(self.values[a])]
        if alike:
            b = self.pick(alike)
            self.keep(Line(f"{a}, {b} = {b}, {a}"))

    def _block(self, line: Line, write: Callable[[], None]) -> None:
        """A statement with others under it, which `write` writes."""
        around, values, visible = self.here, dict(self.values), set(self.visible)
        self.here.append(line)
        self.here = line.body
        self.depth += 1
        start = len(line.body)
        self.look()
        if self.reached or self.chance(25):
            write()
        if len(line.body) == start and not self.chance(5):
            around.remove(line)
            self.depth -= 1
            self.here, self.visible, self.values = around, visible, values
            self.look()
            return
        if not line.body:
            line.body.append(Line("pass"))
        self.depth -= 1
        self.here, self.visible = around, visible
        try:
            self._run()
        except Exception:
            if not self.chance(5):
                around.remove(line)
                self.values = values
                return
        self.values = values
        self.look()

    def branch(self) -> None:
        condition = self.condition()
        self._block(Line(f"if {condition}:"), lambda: self.statements(2))
        if self.here and self.here[-1].text.startswith("if ") and self.chance(40):
            self._block(Line("else:"), lambda: self.statements(2))

    def loop_over_elements(self) -> None:
        names = self.arrays()
        if not names:
            return
        if self.depth == 0 and self.chance(60):
            name = self.fresh("s")
            self.keep(Line(f"{name} = {self.pick(('0.0', '0', '1', '1.5', 'False'))}"), name)
        if self.depth == 0 and self.chance(40):
            name = self.fresh("o")
            self.keep(Line(f"{name} = np.zeros({self.pick(names)}.shape)"), name)
        counter = self.fresh("i")
        head = self.pick(t.RANGES).format(self.pick(names))
        if len(self.elements) == 1 and self.chance(50):
            array = self.pick(names)
            head = self.pick((f"range({array}.shape[-1])", f"range({self.elements[0]})"))

        def body() -> None:
            self.values.setdefault(counter, 0)
            self.fixed.add(counter)
            self.visible.add(counter)
            self.look()
            self.elements.append(counter)
            if self.chance(25):
                self._block(Line(f"if {self.condition()}:"), lambda: self.jump())
            if len(self.elements) == 1 and self.chance(30):
                self.loop_over_elements()
            self.statements(3)
            self.elements.pop()

        self._block(Line(f"for {counter} in {head}:"), body)

    def jump(self) -> None:
        if self.depth and self.chance(30):
            self.statement()
        self.here.append(Line(self.pick(("continue", "break"))))

    def loop_over_arrays(self) -> None:
        names = self.arrays()
        if not names:
            return
        name = self.fresh("k")
        head = self.pick(
            (f"range({self.number(0, 12)})", f"range({self.pick(names)}.shape[0])", self.pick(names))
        )

        def body() -> None:
            self.fixed.add(name)
            self.visible.add(name)
            self.look()
            if self.chance(10):
                self._block(Line(f"if {self.condition()}:"), lambda: self.jump())
            self.statements(3)

        self._block(Line(f"for {name} in {head}:"), body)

    def count(self) -> None:
        """A `while` with a counter."""
        name = self.fresh("n")
        self.keep(Line(f"{name} = 0"), name)
        self.fixed.add(name)
        extra = f" and {self.condition()}" if self.chance(50) else ""

        def body() -> None:
            if self.chance(50):
                self.elements.append(name)
            self.statements(2)
            if self.chance(15):
                self._block(Line(f"if {self.condition()}:"), lambda: self.jump())
            if self.elements[-1:] == [name]:
                self.elements.pop()

        line = Line(f"while {name} < {self.number(1, 5)}{extra}:", [Line(f"{name} += 1")])
        self._block(line, body)

    def early(self) -> None:
        """A return under a condition, of something like what is returned at the end."""
        self._block(Line(f"if {self.condition()}:"), lambda: self.here.append(Line(f"return {MARK}")))

    def end(self) -> None:
        """What is returned."""
        names = [k for k in self.values if k not in self.fixed]
        early = MARK in self._text()
        parts = [self.filled(self.pick(t.COMMON), lambda: self.array(2), "0")]
        if not early:
            made = [k for k in names if k not in self.parameters and self.chance(60)]
            parts += made[:3]
            if self.chance(25):
                parts.append(self.expression())
        elif self.arrays():
            name = self.pick(self.arrays())
            parts = [f"({name} + {self.pick(t.LITERALS)}) * {name}"]
            _replace(self.lines, MARK, f"{name} * {self.pick(t.LITERALS)} + {name}")
        else:
            parts = ["1"]
            _replace(self.lines, MARK, "2")
        text = ", ".join(parts) + ("," if len(parts) == 1 and self.chance(5) else "")
        if not early and self.chance(4):
            return
        self.here.append(Line(f"return {text}"))


MARK = "__EARLY__"


def _replace(lines: list[Line], old: str, new: str) -> None:
    for line in lines:
        line.text = line.text.replace(old, new)
        _replace(line.body, old, new)


def _form(value: Any) -> Any:
    return type(value), getattr(value, "dtype", None), getattr(value, "shape", None)


def _is_integral(value: Any) -> bool:
    return isinstance(value, int) or (value is not None and np.asarray(value).dtype.kind in "iub")


def write(rng: random.Random) -> Program:
    """A random program."""
    writer = Writer(rng)
    writer.arguments()
    writer.look()
    writer.statements(6)
    writer.end()
    return writer.program()
